// SPDX-License-Identifier: MIT
// Point caches that may use their file in place.
#ifndef SINEW_FORMATS_CACHES_POINTCACHE_H
#define SINEW_FORMATS_CACHES_POINTCACHE_H

#include "sinew/formats.h"

// Frames of an open file; out->file keeps it open if they are used in place, else it is closed.
sn_status sn_pc2_take(sn_context *ctx, const char *name, sn_file *file, sn_frames *out);
sn_status sn_mdd_take(sn_context *ctx, const char *name, sn_file *file, sn_frames *out);

#endif
