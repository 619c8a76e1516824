// SPDX-License-Identifier: MIT
// Seams: the rest mesh, its skin and its frames with one vertex where the file has several that are always together.
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

// The first file vertex of every welded one.
static sn_status first_of_each(sn_context *ctx, const sn_examples *out, sn_arena *memory, int **first) {
  *first = SN_NEW(ctx, memory, int, out->rest.vertex_count);
  if (!*first) return ctx->error.status;
  for (int s = out->source_count - 1; s >= 0; s--) (*first)[out->source[s]] = s;
  return SN_OK;
}

static sn_status weld_skin(sn_context *ctx, const int *first, sn_examples *out) {
  sn_skin split = out->skin;
  if (split.vertex_count == 0) return SN_OK;
  sn_status status = sn_skin_copy_rows(ctx, &split, first, out->rest.vertex_count, split.influences, &out->skin);
  sn_skin_free(&split);
  return status;
}

static sn_status weld_frames(sn_context *ctx, const int *first, sn_examples *out) {
  sn_frames split = out->frames;
  if (split.frame_count == 0) return SN_OK;
  sn_status status = sn_frames_new(ctx, out->rest.vertex_count, split.frame_count, &out->frames);
  out->frames.rate = split.rate;
  for (int f = 0; status == SN_OK && f < split.frame_count; f++)
    for (int i = 0; i < out->rest.vertex_count; i++) {
      memcpy(sn_frame_mutable(&out->frames, f)[i], sn_frame(&split, f)[first[i]], sizeof(float[3]));
    }
  sn_frames_free(&split);
  return status;
}

sn_status sn_load_weld(sn_context *ctx, const float (*normals)[3], sn_examples *out) {
  sn_mesh split = out->rest;
  int welded, *first;
  sn_arena scratch = sn_arena_new(ctx);
  out->rest = (sn_mesh){0};
  out->source = sn_mesh_weld(ctx, &split, out->skin.vertex_count > 0 ? &out->skin : NULL,
                             out->frames.frame_count > 0 ? &out->frames : NULL, &out->memory, &welded);
  sn_status status = out->source ? weld_mesh(ctx, &split, welded, out) : ctx->error.status;
  if (status == SN_OK) status = first_of_each(ctx, out, &scratch, &first);
  if (status == SN_OK) status = weld_skin(ctx, first, out);
  if (status == SN_OK && welded < split.vertex_count) status = weld_frames(ctx, first, out);
  if (status == SN_OK) status = sn_examples_shade(ctx, out, normals);
  sn_mesh_free(&split);
  sn_arena_free(&scratch);
  return status;
}
