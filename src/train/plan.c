// SPDX-License-Identifier: MIT
// The plan of a model: filled by a training method, encoded in the vertex order of the rest file.
#include "train/train.h"

sn_plan sn_plan_new(sn_context *ctx, const sn_examples *examples) {
  sn_plan plan = {.desc = sn_model_desc_default(), .memory = sn_arena_new(ctx)};
  plan.desc.rest = &examples->rest;
  if (examples->skeleton.joint_count > 0) plan.desc.skeleton = &examples->skeleton;
  return plan;
}

void sn_plan_free(sn_plan *plan) {
  sn_skin_free(&plan->skin);
  sn_arena_free(&plan->memory);
  *plan = (sn_plan){0};
}

void sn_plan_add(sn_plan *plan, sn_rt_section_id id, const void *bytes, size_t size) {
  plan->sections[plan->section_count++] = (sn_model_section){sn_rt_section_name(id), bytes, size, true};
}

void *sn_plan_section(sn_context *ctx, sn_plan *plan, sn_rt_section_id id, size_t count, size_t size) {
  void *bytes = sn_arena_alloc(ctx, &plan->memory, count, size);
  if (bytes) sn_plan_add(plan, id, bytes, count * size);
  return bytes;
}

// ---- the vertex order of the rest file ------------------------------------------------------------------------------

// The examples' arrays in the order of the rest file.
typedef struct file_order {
  sn_mesh mesh;
  sn_skin skin;
  sn_arena memory;
} file_order;

// Normals of the rest file's vertices.
static sn_status rest_normals(sn_context *ctx, const sn_examples *examples, sn_arena *memory,
                              const float (**out)[3]) {
  float(*normals)[3] = sn_arena_alloc(ctx, memory, (size_t)examples->source_count, sizeof *normals);
  if (!normals) return ctx->error.status;
  sn_examples_normals(examples, (const float(*)[3])examples->rest.positions, normals);
  *out = (const float(*)[3])normals;
  return SN_OK;
}

// For every file vertex, the first file vertex at the same place (seams).
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

static sn_status to_file_order(sn_context *ctx, const sn_examples *examples, file_order *file, sn_model_desc *desc) {
  sn_status status = sn_examples_file_mesh(ctx, examples, &file->mesh);
  if (status == SN_OK) status = sn_examples_file_skin(ctx, examples, desc->skin, &file->skin);
  if (status == SN_OK) status = rest_normals(ctx, examples, &file->memory, &desc->normals);
  if (status == SN_OK) status = file_centres(ctx, examples, &file->memory, &desc->centres);
  if (status == SN_OK) status = seam_places(ctx, examples, &file->memory, &desc->place_of);
  desc->rest = &file->mesh, desc->skin = &file->skin, desc->smooth_of = examples->shading.class_of;
  return status;
}

sn_status sn_plan_encode(sn_context *ctx, const sn_plan *plan, const sn_examples *examples, sn_model *out) {
  sn_model_desc desc = plan->desc;
  file_order file = {.memory = sn_arena_new(ctx)};
  sn_status status = SN_OK;
  desc.skin = &plan->skin, desc.sections = plan->sections, desc.section_count = plan->section_count;
  if (plan->corrections.kind != SN_RT_CORRECT_NONE) desc.corrections = &plan->corrections;
  if (examples->source) status = to_file_order(ctx, examples, &file, &desc);
  if (status == SN_OK) status = sn_model_build(ctx, &desc, out);
  sn_mesh_free(&file.mesh);
  sn_skin_free(&file.skin);
  sn_arena_free(&file.memory);
  return status;
}

sn_status sn_plan_palette_model(sn_context *ctx, const sn_plan *plan, sn_model *out, sn_rt_model *opened) {
  float place[1][3] = {{0, 0, 0}}, weight = 1;
  uint16_t joint = 0;
  const sn_mesh point = {.vertex_count = 1, .positions = place};
  sn_plan small = *plan;
  small.desc.rest = &point,
  small.skin = (sn_skin){.vertex_count = 1, .influences = 1, .joints = &joint, .weights = &weight};
  sn_status status = sn_plan_encode(ctx, &small, &(sn_examples){0}, out);
  return status == SN_OK ? sn_model_open(ctx, "palette", out->bytes, out->size, opened) : status;
}

sn_status sn_plan_measure(sn_context *ctx, const sn_plan *plan, const sn_examples *examples, const sn_limits *limits,
                          double *bytes, double *ratio) {
  sn_model model = {0};
  sn_rt_model opened;
  sn_status status = sn_plan_encode(ctx, plan, examples, &model);
  if (status == SN_OK && limits->ratio_of) status = sn_model_open(ctx, "model", model.bytes, model.size, &opened);
  if (status == SN_OK && limits->ratio_of) status = limits->ratio_of(ctx, &opened, examples, ratio);
  *bytes = (double)model.size;
  sn_model_free(&model);
  return status;
}
