// SPDX-License-Identifier: MIT
// Texture coordinates and tangents of the rest mesh. Malformed ones are dropped: only the computation of tangents needs them.
#include "examples/load.h"

// Copies the surface's texture coordinates, v upwards, and frees it. Of failures only a lack of memory counts.
static sn_status take(sn_context *ctx, sn_status status, sn_surface *surface, bool downwards, sn_examples *out) {
  size_t corners = status == SN_OK && surface->has_uvs ? 3 * (size_t)out->rest.triangle_count : 0;
  if (corners > 0) out->uvs = sn_arena_alloc(ctx, &out->memory, corners, sizeof *out->uvs);
  if (corners > 0 && !out->uvs) status = ctx->error.status;
  for (size_t c = 0; out->uvs && c < corners; c++) {
    out->uvs[c][0] = surface->uvs[c][0];
    out->uvs[c][1] = downwards ? 1 - surface->uvs[c][1] : surface->uvs[c][1];
  }
  sn_surface_free(surface);
  return status == SN_NO_MEMORY ? status : SN_OK;
}

sn_status sn_load_document_uvs(sn_context *ctx, const sn_gltf *gltf, sn_examples *out) {
  sn_surface surface = {0};
  sn_error before = ctx->error;
  sn_status status = sn_gltf_tangents(ctx, gltf, &out->memory, &out->tangents);
  if (status != SN_NO_MEMORY) status = sn_gltf_surface(ctx, gltf, &surface);
  if (status != SN_OK && status != SN_NO_MEMORY) ctx->error = before;
  return take(ctx, status, &surface, true, out);
}

sn_status sn_load_mesh(sn_context *ctx, const char *path, const sn_choice *choice, sn_examples *out) {
  sn_surface surface;
  sn_error before = ctx->error;
  sn_status status = sn_mesh_read_surface(ctx, path, choice, &out->rest, &surface);
  bool lies_badly = status != SN_OK && status != SN_NO_MEMORY && out->rest.vertex_count > 0;
  if (lies_badly) ctx->error = before;
  if (status == SN_OK || lies_badly) return take(ctx, status, &surface, false, out);
  sn_surface_free(&surface);
  return status;
}
