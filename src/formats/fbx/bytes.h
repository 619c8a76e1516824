// SPDX-License-Identifier: MIT
// Writes the binary FBX container (version 7.4): nested nodes with a name, properties and an end offset.
#ifndef SINEW_FORMATS_FBX_BYTES_H
#define SINEW_FORMATS_FBX_BYTES_H

#include "formats/common/reader.h"
#include "sinew/formats.h"

enum { FBX_VERSION = 7400, FBX_DEPTH = 16 };

typedef struct fbx {
  sn_context *ctx;
  sn_growing out;
  int depth;
  size_t open[FBX_DEPTH]; // offsets of the open nodes
  sn_status status;       // the first failure; writing stops after it
} fbx;

// Writes nodes in the syntax of text FBX, "Name: 3, 'text', %L { Child: %D }", on one line. A call may leave { open for a later
// call's }. % takes an argument: I int, L int64_t, D double, S text; R bytes, i l f d an array (pointer and size_t); N two texts,
// name and kind.
void sn_fbx_put(fbx *f, const char *text, ...);
sn_status sn_fbx_save(fbx *f, const char *path); // adds header and footer; frees

#endif
