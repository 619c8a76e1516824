// SPDX-License-Identifier: MIT
// The last step of every training: a model in the vertex order of the rest file.
#include "train/train.h"

// Normals of the rest file's vertices.
static sn_status rest_normals(sn_context *ctx, const sn_examples *examples, sn_arena *memory,
                              const float (**out)[3]) {
  float(*normals)[3] = sn_arena_alloc(ctx, memory, (size_t)examples->source_count, sizeof *normals);
  if (!normals) return ctx->error.status;
  sn_examples_normals(examples, (const float(*)[3])examples->rest.positions, normals);
  *out = (const float(*)[3])normals;
  return SN_OK;
}

// The first file vertex of every seam.
static sn_status seam_places(sn_context *ctx, const sn_examples *examples, sn_arena *memory, const int **out) {
  int *first = SN_NEW(ctx, memory, int, examples->rest.vertex_count);
  int *places = SN_NEW(ctx, memory, int, examples->source_count);
  if (!first || !places) return ctx->error.status;
  for (int s = examples->source_count - 1; s >= 0; s--) first[examples->source[s]] = s;
  for (int s = 0; s < examples->source_count; s++) places[s] = first[examples->source[s]];
  *out = places;
  return SN_OK;
}

// desc->centres in the order of the rest file.
static sn_status file_centres(sn_context *ctx, const sn_examples *examples, sn_arena *memory,
                              const float (**centres)[3]) {
  if (!*centres) return SN_OK;
  float(*out)[3] = sn_arena_alloc(ctx, memory, (size_t)examples->source_count, sizeof *out);
  if (!out) return ctx->error.status;
  sn_examples_to_file(examples, *centres, sizeof *out, out);
  *centres = (const float(*)[3])out;
  return SN_OK;
}

sn_status sn_train_build(sn_context *ctx, const sn_examples *examples, sn_model_desc desc, sn_model *out) {
  if (!examples->source) return sn_model_build(ctx, &desc, out);
  sn_mesh mesh = {0};
  sn_skin skin = {0};
  sn_arena scratch = sn_arena_new(ctx);
  sn_status status = sn_examples_file_mesh(ctx, examples, &mesh);
  if (status == SN_OK) status = sn_examples_file_skin(ctx, examples, desc.skin, &skin);
  if (status == SN_OK) status = rest_normals(ctx, examples, &scratch, &desc.normals);
  if (status == SN_OK) status = file_centres(ctx, examples, &scratch, &desc.centres);
  if (status == SN_OK) status = seam_places(ctx, examples, &scratch, &desc.place_of);
  desc.rest = &mesh, desc.skin = &skin, desc.smooth_of = examples->shading.class_of;
  if (status == SN_OK) status = sn_model_build(ctx, &desc, out);
  sn_mesh_free(&mesh);
  sn_skin_free(&skin);
  sn_arena_free(&scratch);
  return status;
}
