// SPDX-License-Identifier: MIT
// Texture coordinates and tangents of the rest mesh. Malformed ones are dropped: only the computation of tangents needs them.
#include "examples/load.h"

// Copies the surface's texture coordinates, v upwards, and frees it. Of failures (`status`) only a lack of memory counts.
static void take(sn_loading *l, sn_status status, sn_surface *surface, bool downwards) {
  size_t corners = status == SN_OK && surface->has_uvs ? 3 * (size_t)l->out->rest.triangle_count : 0;
  if (status == SN_NO_MEMORY) l->status = status;
  if (corners > 0) l->out->uvs = SN_ROOM(l, &l->out->memory, corners, sizeof *l->out->uvs);
  for (size_t c = 0; l->out->uvs && c < corners; c++) {
    l->out->uvs[c][0] = surface->uvs[c][0];
    l->out->uvs[c][1] = downwards ? 1 - surface->uvs[c][1] : surface->uvs[c][1];
  }
  sn_surface_free(surface);
}

void sn_load_document_uvs(sn_loading *l, const sn_gltf *gltf) {
  sn_surface surface = {0};
  sn_error before = l->ctx->error;
  sn_status status = sn_gltf_tangents(l->ctx, gltf, &l->out->memory, &l->out->tangents);
  if (status != SN_NO_MEMORY) status = sn_gltf_surface(l->ctx, gltf, &surface);
  if (status != SN_OK && status != SN_NO_MEMORY) l->ctx->error = before;
  take(l, status, &surface, true);
}

void sn_load_mesh(sn_loading *l, const char *path, const sn_choice *choice) {
  sn_surface surface;
  sn_error before = l->ctx->error;
  sn_status status = sn_mesh_read_surface(l->ctx, path, choice, &l->out->rest, &surface);
  if (l->out->rest.vertex_count == 0) l->status = status;
  if (status != SN_OK && status != SN_NO_MEMORY && l->status == SN_OK) l->ctx->error = before;
  take(l, status, &surface, false);
}
