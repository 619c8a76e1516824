// SPDX-License-Identifier: MIT
// The last step of every training: a model in the vertex order of the rest file.
#include "train/train.h"

#include <string.h>

static sn_status split_mesh(sn_context *ctx, const sn_examples *examples, const sn_mesh *welded, sn_mesh *out) {
  sn_status status = sn_mesh_new(ctx, examples->source_count, welded->triangle_count, out);
  if (status == SN_OK) {
    memcpy(out->triangles, examples->source_triangles, (size_t)welded->triangle_count * sizeof *out->triangles);
  }
  for (int s = 0; status == SN_OK && s < examples->source_count; s++) {
    memcpy(out->positions[s], welded->positions[examples->source[s]], sizeof *out->positions);
  }
  return status;
}

static sn_status split_skin(sn_context *ctx, const sn_examples *examples, const sn_skin *welded, sn_skin *out) {
  sn_status status = sn_skin_new(ctx, examples->source_count, welded->influences, out);
  size_t k = (size_t)welded->influences;
  for (int s = 0; status == SN_OK && s < examples->source_count; s++) {
    size_t from = (size_t)examples->source[s] * k, to = (size_t)s * k;
    memcpy(out->joints + to, welded->joints + from, k * sizeof *out->joints);
    memcpy(out->weights + to, welded->weights + from, k * sizeof *out->weights);
  }
  return status;
}

// Normals of the welded mesh, so that a seam stays smooth when its vertices are split.
static sn_status split_normals(sn_context *ctx, const sn_examples *examples, const sn_mesh *welded, sn_arena *memory,
                               const float (**out)[3]) {
  float(*whole)[3] = sn_arena_alloc(ctx, memory, (size_t)welded->vertex_count, sizeof *whole);
  float(*split)[3] = sn_arena_alloc(ctx, memory, (size_t)examples->source_count, sizeof *split);
  if (!whole || !split) return ctx->error.status;
  sn_mesh_normals(welded, (const float(*)[3])welded->positions, whole);
  for (int s = 0; s < examples->source_count; s++) memcpy(split[s], whole[examples->source[s]], sizeof *split);
  *out = (const float(*)[3])split;
  return SN_OK;
}

sn_status sn_train_build(sn_context *ctx, const sn_examples *examples, sn_model_desc desc, sn_model *out) {
  if (!examples->source) return sn_model_build(ctx, &desc, out);
  sn_mesh mesh = {0};
  sn_skin skin = {0};
  sn_arena scratch = sn_arena_new(ctx);
  sn_status status = split_mesh(ctx, examples, desc.rest, &mesh);
  if (status == SN_OK) status = split_skin(ctx, examples, desc.skin, &skin);
  if (status == SN_OK) status = split_normals(ctx, examples, desc.rest, &scratch, &desc.normals);
  desc.rest = &mesh, desc.skin = &skin;
  if (status == SN_OK) status = sn_model_build(ctx, &desc, out);
  sn_mesh_free(&mesh);
  sn_skin_free(&skin);
  sn_arena_free(&scratch);
  return status;
}
