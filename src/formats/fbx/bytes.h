// SPDX-License-Identifier: MIT
// The binary FBX container (version 7.4): nested nodes with a name, properties and an end that is known afterwards.
#ifndef SINEW_FORMATS_FBX_BYTES_H
#define SINEW_FORMATS_FBX_BYTES_H

#include "formats/common/reader.h"
#include "sinew/formats.h"

enum { FBX_VERSION = 7400, FBX_DEPTH = 16 };

typedef struct fbx {
  sn_context *ctx;
  uint8_t *bytes;
  size_t size, room;
  int depth;
  struct {
    size_t start;
    bool has_children;
  } open[FBX_DEPTH];
  sn_status status; // the first failure: nothing more is written then
  sn_arena memory;
} fbx;

fbx sn_fbx_new(sn_context *ctx);
// A node with the properties that `format` lists, as in the file: I int, L int64_t, D double, S text; R bytes, i l f d an array (a
// pointer and a size_t); N two texts, a name and its kind. { at the end: it has children, perhaps none.
void sn_fbx_begin(fbx *f, const char *name, const char *format, ...);
void sn_fbx_end(fbx *f);
#define sn_fbx_put(f, ...) (sn_fbx_begin(f, __VA_ARGS__), sn_fbx_end(f))
#define sn_fbx_put_array(f, name, type, values, count) sn_fbx_put(f, name, type, values, (size_t)(count))
#define sn_fbx_begin_object(f, node, id, ...) sn_fbx_begin(f, node, "LNS", (int64_t)(id), __VA_ARGS__)
sn_status sn_fbx_save(fbx *f, const char *path); // with header and footer; frees

// ---- mesh.c: the mesh with what lies on it ---------------------------------------------------------------------------

void sn_fbx_put_geometry(fbx *f, int64_t id, const sn_mesh *mesh, const sn_surface *surface);
// Numbered from `id` on. A mesh without materials gets one.
int sn_fbx_material_count(const sn_surface *surface);
void sn_fbx_put_materials(fbx *f, int64_t id, const sn_surface *surface);

#endif
