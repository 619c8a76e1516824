// SPDX-License-Identifier: MIT
// The binary FBX container (version 7.4): nested nodes with a name, properties and an end that is known afterwards.
#ifndef SINEW_FORMATS_FBX_BYTES_H
#define SINEW_FORMATS_FBX_BYTES_H

#include "sinew/formats.h"

enum { FBX_VERSION = 7400, FBX_DEPTH = 16 };

typedef struct fbx {
  sn_context *ctx;
  uint8_t *bytes;
  size_t size, room;
  int depth;
  struct {
    size_t start, properties; // of the node, and of its first property
    uint32_t count;
    bool has_children, closed; // closed: its list of properties
  } open[FBX_DEPTH];
  bool failed; // out of memory, told at the end
  sn_arena memory;
} fbx;

fbx sn_fbx_new(sn_context *ctx);
void sn_fbx_begin(fbx *f, const char *name);
void sn_fbx_end(fbx *f);
void sn_fbx_block(fbx *f);                       // the node has children, perhaps none
sn_status sn_fbx_save(fbx *f, const char *path); // with header and footer; frees

void sn_fbx_int(fbx *f, int value);
void sn_fbx_long(fbx *f, int64_t value);
void sn_fbx_double(fbx *f, double value);
void sn_fbx_text(fbx *f, const char *text);
void sn_fbx_name(fbx *f, const char *name, const char *kind); // the two with FBX's separator between them
void sn_fbx_raw(fbx *f, const void *bytes, size_t size);
// 'i', 'l', 'f' or 'd', as in the file.
void sn_fbx_array(fbx *f, char type, const void *values, size_t count);

// A node with one property.
void sn_fbx_put_int(fbx *f, const char *name, int value);
void sn_fbx_put_text(fbx *f, const char *name, const char *text);
void sn_fbx_put_array(fbx *f, const char *name, char type, const void *values, size_t count);
// Entries of a Properties70 list.
void sn_fbx_setting_int(fbx *f, const char *name, const char *type, int value);
void sn_fbx_setting_doubles(fbx *f, const char *name, const char *type, const char *label, const char *flags,
                            const double *values, int count);
void sn_fbx_setting_long(fbx *f, const char *name, const char *type, int64_t value);
void sn_fbx_begin_object(fbx *f, const char *node, int64_t id, const char *name, const char *kind, const char *type);

// ---- mesh.c: the mesh with what lies on it ---------------------------------------------------------------------------

sn_status sn_fbx_put_geometry(fbx *f, int64_t id, const sn_mesh *mesh, const sn_surface *surface);
// Numbered from `id` on. A mesh without materials gets one.
int sn_fbx_material_count(const sn_surface *surface);
void sn_fbx_put_materials(fbx *f, int64_t id, const sn_surface *surface);

#endif
