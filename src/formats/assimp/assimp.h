// SPDX-License-Identifier: MIT
// Formats read by libassimp. It is not trusted with malformed files, so it runs in a child process with limits on memory and time;
// the child writes a GLB, which is checked like any file.
#ifndef SINEW_FORMATS_ASSIMP_ASSIMP_H
#define SINEW_FORMATS_ASSIMP_ASSIMP_H

#include "sinew/formats.h"

// Whether files with this extension are read by assimp.
bool sn_assimp_reads(const char *path);
// The contents of `path` as a GLB in memory.
sn_status sn_assimp_open(sn_context *ctx, const char *path, sn_file *out);

// In the child: writes the scene as a document.
struct aiScene;
sn_status sn_assimp_write(sn_context *ctx, const struct aiScene *scene, const char *path);

#endif
