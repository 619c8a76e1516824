// SPDX-License-Identifier: MIT
// Tables of named values.
#ifndef SINEW_FORMATS_TABLES_VALUES_H
#define SINEW_FORMATS_TABLES_VALUES_H

#include "formats/common/reader.h"
#include "sinew/formats.h"

// CSV: `frame` and a column per value; a row per frame and, if the rest mesh has values other than 0, one called `rest`.
sn_status sn_values_parse(sn_context *ctx, const char *name, const char *text, size_t size, sn_values *out);
sn_status sn_values_read(sn_context *ctx, const char *path, sn_values *out);

#endif
