// SPDX-License-Identifier: MIT
// Point caches that keep their file.
#ifndef SINEW_FORMATS_CACHES_POINTCACHE_H
#define SINEW_FORMATS_CACHES_POINTCACHE_H

#include "sinew/formats.h"

// The frames of an opened file, which goes to out->file where they are left in it and is closed otherwise.
sn_status sn_pc2_take(sn_context *ctx, const char *name, sn_file *file, sn_frames *out);
sn_status sn_mdd_take(sn_context *ctx, const char *name, sn_file *file, sn_frames *out);

#endif
