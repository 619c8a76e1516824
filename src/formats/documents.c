// SPDX-License-Identifier: MIT
// Documents and meshes from files of any format, by their extensions.
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
  sn_file file;
  if ((sn_assimp_reads(path) ? sn_assimp_open : sn_file_open)(ctx, path, &file) != SN_OK) return ctx->error.status;
  if (sn_has_extension(path, ".fbx")) {
    sn_status status = sn_fbx_parse(ctx, path, file.bytes, file.size, out);
    sn_file_close(&file);
    return status;
  }
  sn_arena scratch = sn_arena_new(ctx);
  char *folder = sn_arena_text(ctx, &scratch, path), *slash = folder ? strrchr(folder, '/') : NULL;
  if (!folder) {
    sn_file_close(&file);
    return ctx->error.status;
  }
  if (slash == folder) slash++; // "/file": the root, written so that "folder/file" works
  *(slash ? slash : folder) = '\0';
  sn_status status = sn_gltf_open(ctx, path, folder, file, NULL, out);
  sn_arena_free(&scratch);
  return status;
}

static sn_status read_alembic_mesh(sn_context *ctx, const char *path, const sn_choice *choice, sn_mesh *out) {
  sn_abc *abc;
  sn_status status = sn_abc_open(ctx, path, &abc);
  if (status != SN_OK) return status;
  status = sn_abc_choose(ctx, abc, choice ? choice->objects : NULL, choice ? choice->object_count : 0);
  double start = status == SN_OK && choice ? choice->adjust.offset : 0;
  if (status == SN_OK) status = sn_abc_mesh(ctx, abc, sn_abc_frame_time(abc, 0) + start, out);
  sn_abc_free(abc);
  return status;
}

static sn_status read_mesh(sn_context *ctx, const char *path, const sn_choice *choice, sn_mesh *out) {
  *out = (sn_mesh){0};
  if (!sn_is_document(path)) {
    if (sn_has_extension(path, ".obj")) return sn_obj_read(ctx, path, out);
    if (sn_has_extension(path, ".abc")) return read_alembic_mesh(ctx, path, choice, out);
    if (access(path, F_OK) != 0) return sn_fail(ctx, SN_IO, "%s: no such file", path);
    return sn_fail(ctx, SN_UNSUPPORTED, "%s: a mesh comes as .obj, .abc, .glb, .gltf or .fbx", path);
  }
  sn_gltf *gltf;
  sn_status status = sn_gltf_read(ctx, path, &gltf);
  if (status != SN_OK) return status;
  status = sn_gltf_mesh(ctx, gltf, out);
  sn_gltf_free(gltf);
  if (status != SN_OK && !strstr(ctx->error.message, path)) sn_fail_prefix(ctx, "%s: ", path);
  return status;
}

sn_status sn_mesh_read(sn_context *ctx, const char *path, const sn_choice *choice, sn_mesh *out) {
  sn_status status = read_mesh(ctx, path, choice, out);
  if (status == SN_OK && choice) sn_adjust_mesh(&choice->adjust, out, NULL);
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
