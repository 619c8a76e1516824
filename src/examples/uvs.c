// SPDX-License-Identifier: MIT
// Texture coordinates and tangents of the rest mesh. Those that are not as they should be are none: only tangents ask for them.
#include "examples/load.h"

// Takes what the surface has, v upwards.
static sn_status keep(sn_context *ctx, sn_surface *surface, bool downwards, sn_examples *out) {
  size_t corners = surface->has_uvs ? 3 * (size_t)out->rest.triangle_count : 0;
  if (surface->has_uvs) out->uvs = sn_arena_alloc(ctx, &out->memory, corners, sizeof *out->uvs);
  for (size_t c = 0; out->uvs && c < corners; c++) {
    out->uvs[c][0] = surface->uvs[c][0];
    out->uvs[c][1] = downwards ? 1 - surface->uvs[c][1] : surface->uvs[c][1];
  }
  bool good = !surface->has_uvs || out->uvs;
  sn_surface_free(surface);
  return good ? SN_OK : ctx->error.status;
}

sn_status sn_load_document_uvs(sn_context *ctx, const sn_gltf *gltf, sn_examples *out) {
  sn_surface surface;
  sn_error before = ctx->error;
  sn_status status = sn_gltf_tangents(ctx, gltf, &out->memory, &out->tangents);
  if (status != SN_NO_MEMORY) status = sn_gltf_surface(ctx, gltf, &surface);
  if (status == SN_OK) return keep(ctx, &surface, true, out);
  if (status == SN_NO_MEMORY) return status;
  ctx->error = before;
  return SN_OK;
}

sn_status sn_load_alembic_uvs(sn_context *ctx, const char *path, const sn_choice *choice, sn_examples *out) {
  sn_abc *abc;
  sn_surface surface;
  sn_error before = ctx->error;
  sn_status status = sn_abc_open(ctx, path, &abc);
  if (status == SN_OK) {
    status = sn_abc_choose(ctx, abc, choice->objects, choice->object_count);
    if (status == SN_OK) status = sn_abc_surface(ctx, abc, sn_abc_frame_time(abc, 0), &surface);
    sn_abc_free(abc);
  }
  if (status == SN_OK) return keep(ctx, &surface, false, out);
  if (status == SN_NO_MEMORY) return status;
  ctx->error = before;
  return SN_OK;
}
