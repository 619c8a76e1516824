// SPDX-License-Identifier: MIT
// Reads documents and meshes of any format, by extension.
#include "formats/assimp/assimp.h"
#include "formats/common/adjust.h"
#include "formats/gltf/gltf.h"

#include <string.h>
#include <unistd.h>

bool sn_is_document(const char *path) {
  return (sn_format_does(path, SN_READS_MESH | SN_WRITES_RIG) || sn_assimp_reads(path)) && !sn_is_sequence(path);
}

sn_status sn_gltf_read(sn_context *ctx, const char *path, sn_gltf **out) {
  *out = NULL;
  SN_FREED_BY(sn_file_close) sn_file file = {0};
  SN_TRY((sn_assimp_reads(path) ? sn_assimp_open : sn_file_open)(ctx, path, &file));
  if (sn_has_extension(path, ".fbx")) return sn_fbx_parse(ctx, path, file.bytes, file.size, out);
  SN_SCRATCH(scratch, ctx);
  char *folder = sn_arena_text(ctx, &scratch, path), *slash = folder ? strrchr(folder, '/') : NULL;
  if (!folder) return ctx->error.status;
  if (slash == folder) slash++; // "/file": keep the root, so that "folder/file" works
  *(slash ? slash : folder) = '\0';
  sn_file given = file;
  file = (sn_file){0};
  return sn_gltf_open(ctx, path, folder, given, NULL, out);
}

static sn_status read_alembic(sn_context *ctx, const char *path, const sn_choice *choice, sn_mesh *out,
                              sn_surface *surface) {
  SN_FREED_BY(sn_abc_close) sn_abc *abc;
  SN_TRY(sn_abc_open(ctx, path, &abc));
  SN_TRY(sn_abc_choose(ctx, abc, choice->objects, choice->object_count));
  double start = sn_abc_frame_time(abc, 0) + choice->adjust.offset;
  SN_TRY(sn_abc_mesh(ctx, abc, start, out));
  return surface ? sn_abc_surface(ctx, abc, start, surface) : SN_OK;
}

static sn_status read_document(sn_context *ctx, const char *path, sn_mesh *out, sn_surface *surface) {
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf;
  SN_TRY(sn_gltf_read(ctx, path, &gltf));
  sn_status status = sn_gltf_mesh(ctx, gltf, out);
  if (status == SN_OK && surface) status = sn_gltf_surface(ctx, gltf, surface);
  return sn_fail_name(ctx, status, path);
}

sn_status sn_mesh_read(sn_context *ctx, const char *path, const sn_choice *choice, sn_mesh *out,
                       sn_surface *surface) {
  static const sn_choice plain = {0};
  sn_status status;
  *out = (sn_mesh){0};
  if (surface) *surface = (sn_surface){0};
  if (!choice) choice = &plain;
  if (sn_is_document(path)) {
    status = read_document(ctx, path, out, surface);
  } else if (sn_has_extension(path, ".obj")) {
    status = sn_obj_read(ctx, path, out, surface);
  } else if (sn_has_extension(path, ".abc")) {
    status = read_alembic(ctx, path, choice, out, surface);
  } else if (access(path, F_OK) != 0) {
    status = sn_fail(ctx, SN_IO, "%s: no such file", path);
  } else {
    status = sn_fail(ctx, SN_UNSUPPORTED,
                     "%s: a mesh comes as .obj, .abc, .glb, .gltf or .fbx; .pc2 and .mdd hold frames", path);
  }
  if (out->vertex_count > 0) sn_adjust_mesh(&choice->adjust, out, surface);
  return status;
}

sn_status sn_gltf_write(sn_context *ctx, const char *path, const sn_gltf_out *what) {
  if (sn_gltf_check_out(ctx, what) != SN_OK) return sn_fail_prefix(ctx, "%s: ", path);
  return (sn_has_extension(path, ".fbx") ? sn_fbx_write : sn_gltf_write_document)(ctx, path, what);
}

const char *sn_clip_path(sn_context *ctx, sn_arena *memory, const char *path, const char **clip) {
  const char *hash = strrchr(path, '#');
  *clip = NULL;
  if (!hash || hash == path || access(path, F_OK) == 0) return path;
  char *file = sn_arena_text(ctx, memory, path);
  if (!file) return NULL;
  file[hash - path] = '\0';
  if (!sn_is_document(file)) return path;
  *clip = hash + 1;
  return file;
}
