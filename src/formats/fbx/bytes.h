// SPDX-License-Identifier: MIT
// The binary FBX container (version 7.4): nested nodes with a name, properties and an end that is known afterwards.
#ifndef SINEW_FORMATS_FBX_BYTES_H
#define SINEW_FORMATS_FBX_BYTES_H

#include "formats/common/reader.h"
#include "sinew/formats.h"

enum { FBX_VERSION = 7400, FBX_DEPTH = 16 };

typedef struct fbx {
  sn_context *ctx;
  sn_growing out;
  int depth;
  size_t open[FBX_DEPTH]; // where the nodes begin that are not ended
  sn_status status;       // the first failure: nothing more is written then
} fbx;

// Nodes as text FBX has them, "Name: 3, 'text', %L { Child: %D }", all in one line. { may be left open and } close a node of an
// earlier call. A % stands for an argument: I int, L int64_t, D double, S text; R bytes, i l f d an array (a pointer and a size_t);
// N two texts, a name and its kind.
void sn_fbx_put(fbx *f, const char *text, ...);
sn_status sn_fbx_save(fbx *f, const char *path); // with header and footer; frees

#endif
