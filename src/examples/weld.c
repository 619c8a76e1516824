// SPDX-License-Identifier: MIT
// Welds seams in rest mesh, skin and frames: file vertices that coincide in all of them become one vertex.
#include "examples/load.h"

#include <string.h>

static sn_status weld_mesh(sn_context *ctx, sn_mesh *split, int welded, sn_examples *out) {
  size_t triangles = (size_t)split->triangle_count;
  sn_status status = sn_mesh_new(ctx, welded, split->triangle_count, &out->rest);
  out->source_triangles = sn_arena_alloc(ctx, &out->memory, triangles, sizeof *split->triangles);
  if (status != SN_OK || !out->source_triangles) return ctx->error.status;
  out->source_count = split->vertex_count;
  for (int s = 0; s < split->vertex_count; s++) {
    memcpy(out->rest.positions[out->source[s]], split->positions[s], sizeof *split->positions);
  }
  for (int t = 0; t < split->triangle_count; t++)
    for (int c = 0; c < 3; c++) out->rest.triangles[t][c] = out->source[split->triangles[t][c]];
  memcpy(out->source_triangles, split->triangles, triangles * sizeof *split->triangles);
  return SN_OK;
}

// `first`: the first file vertex of each welded vertex.
static sn_status weld_skin(sn_context *ctx, const int *first, sn_examples *out) {
  SN_FREED_BY(sn_skin_free) sn_skin split = out->skin;
  out->skin = (sn_skin){0};
  if (split.vertex_count == 0) return SN_OK;
  return sn_skin_copy_rows(ctx, &split, first, out->rest.vertex_count, split.influences, &out->skin);
}

static sn_status weld_frames(sn_context *ctx, const int *first, sn_examples *out) {
  SN_FREED_BY(sn_frames_free) sn_frames split = out->frames;
  out->frames = (sn_frames){0};
  if (split.frame_count == 0) return SN_OK;
  SN_TRY(sn_frames_new(ctx, out->rest.vertex_count, split.frame_count, &out->frames));
  out->frames.rate = split.rate;
  sn_load_gather(&split, first, 0, &out->frames);
  return SN_OK;
}

sn_status sn_load_weld(sn_context *ctx, const float (*normals)[3], sn_examples *out) {
  SN_FREED_BY(sn_mesh_free) sn_mesh split = out->rest;
  int welded;
  SN_SCRATCH(scratch, ctx);
  out->rest = (sn_mesh){0};
  out->source = sn_mesh_weld(ctx, &split, out->skin.vertex_count > 0 ? &out->skin : NULL,
                             out->frames.frame_count > 0 ? &out->frames : NULL, &out->memory, &welded);
  int *first = out->source ? SN_NEW(ctx, &scratch, int, welded) : NULL;
  if (!first) return ctx->error.status;
  SN_TRY(weld_mesh(ctx, &split, welded, out));
  for (int s = out->source_count - 1; s >= 0; s--) first[out->source[s]] = s;
  SN_TRY(weld_skin(ctx, first, out));
  if (welded < split.vertex_count) SN_TRY(weld_frames(ctx, first, out));
  return sn_examples_shade(ctx, out, normals);
}
