// SPDX-License-Identifier: MIT
// Traces the correction of one vertex over the frames.
#include <math.h>
#include <string.h>

#include "train/correct/correct.h"

// ---- one vertex over the frames (Murtagh 2008, figures 5.4 to 5.6) ---------------------------------------------------------

typedef struct tracer {
  sn_context *ctx;
  const sn_rt_model *model;
  const sn_examples *examples;
  sn_skin skin; // in the model's vertex order
  sn_local_rotation *rotations;
  sn_arena memory;
  sn_model_input input;
  float (*positions)[3], (*centres)[3];
  void *values, *scratch;
} tracer;

static void evaluate(const tracer *t, int f) {
  sn_rt_input in = sn_model_input_at(&t->input, f, t->values);
  sn_rt_output out = {.positions = t->positions[0]};
  sn_rt_evaluate(t->model, &in, t->scratch, &out, NULL);
}

// The residual of vertex i without corrections, in the pose and in the rest pose.
static sn_vec3 residual(const tracer *t, int i, const float target[3], sn_vec3 *before) {
  sn_affine blend = sn_blend_of(t->model, t->scratch, &t->skin, (const float(*)[3])t->centres, i);
  sn_vec3 rest = sn_vec3_from(t->examples->rest.positions[sn_examples_vertex(t->examples, i)]);
  sn_vec3 d = sn_vec3_sub(sn_vec3_from(target), sn_affine_apply(blend, rest));
  if (before) *before = sn_blend_solve(sn_affine_linear(blend), d);
  return d;
}

// The vertex with the largest residual in any frame.
static int worst_vertex(const tracer *t) {
  int worst = 0;
  double largest = -1;
  for (int f = 0; f < t->examples->frames.frame_count; f++) {
    evaluate(t, f);
    for (int i = 0; i < (int)t->model->info.vertex_count; i++) {
      double d =
        sn_vec3_length(residual(t, i, sn_frame(&t->examples->frames, f)[sn_examples_vertex(t->examples, i)], NULL));
      if (d > largest) largest = d, worst = i;
    }
  }
  return worst;
}

// The largest local rotation angle of any joint.
static double rotation_angle(const tracer *t, int f, const double *rest, double *vector) {
  int joint_count = t->examples->skeleton.joint_count;
  double largest = 0;
  sn_pose_vector(t->rotations, joint_count, sn_pose(&t->examples->poses, f), vector);
  for (int n = 0; n < joint_count; n++) {
    const double *a = vector + 3 * t->rotations[n].joint, *b = rest + 3 * t->rotations[n].joint;
    double d = sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
    if (t->rotations[n].parent >= 0 && d > largest) largest = d;
  }
  return largest;
}

static sn_status fill_trace(tracer *t, sn_correct_trace *out) {
  int frames = t->examples->frames.frame_count, joint_count = t->examples->skeleton.joint_count;
  double *rest = SN_NEW(t->ctx, &t->memory, double, 3 * joint_count),
         *vector = SN_NEW(t->ctx, &t->memory, double, 3 * joint_count);
  sn_vec3 *truth = SN_NEW(t->ctx, &t->memory, sn_vec3, frames), *given = SN_NEW(t->ctx, &t->memory, sn_vec3, frames);
  if (!rest || !vector || !truth || !given) return t->ctx->error.status;
  sn_pose_vector(t->rotations, joint_count, NULL, rest);
  out->vertex = worst_vertex(t);
  double largest = 0;
  for (int f = 0; f < frames; f++) {
    evaluate(t, f);
    residual(t, out->vertex, sn_frame(&t->examples->frames, f)[sn_examples_vertex(t->examples, out->vertex)],
             &truth[f]);
    residual(t, out->vertex, t->positions[out->vertex], &given[f]);
    out->angle[f] = rotation_angle(t, f, rest, vector);
    for (int axis = 0; axis < 3; axis++)
      if (fabs(sn_vec3_along(truth[f], axis)) > largest)
        largest = fabs(sn_vec3_along(truth[f], axis)), out->axis = axis;
  }
  for (int f = 0; f < frames; f++) {
    out->truth[f] = sn_vec3_along(truth[f], out->axis), out->given[f] = sn_vec3_along(given[f], out->axis);
  }
  return SN_OK;
}

sn_status sn_correct_trace_make(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                                sn_correct_trace *out) {
  if (model->info.value_count > 0) {
    *out = (sn_correct_trace){0};
    return sn_fail(ctx, SN_UNSUPPORTED, "corrections over named values have no angle to be plotted against");
  }
  size_t frames = (size_t)examples->frames.frame_count;
  *out = (sn_correct_trace){.frame_count = (int)frames, .memory = sn_arena_new(ctx)};
  tracer t = {.ctx = ctx, .model = model, .examples = examples, .memory = sn_arena_new(ctx)};
  out->angle = SN_NEW(ctx, &out->memory, double, frames);
  out->truth = SN_NEW(ctx, &out->memory, double, frames);
  out->given = SN_NEW(ctx, &out->memory, double, frames);
  sn_status status = sn_model_input_new(ctx, model, examples, &t.memory, &t.input);
  t.values = status == SN_OK ? sn_arena_alloc(ctx, &t.memory, sn_model_input_size(t.input.model), 1) : NULL;
  t.positions = sn_arena_alloc(ctx, &t.memory, model->info.vertex_count, sizeof *t.positions);
  t.centres = sn_arena_alloc(ctx, &t.memory, model->info.vertex_count, sizeof *t.centres);
  t.scratch = sn_arena_alloc(ctx, &t.memory, sn_rt_scratch_size(model), 1);
  sn_keys none = {0};
  bool all = out->angle && out->truth && out->given && t.values && t.positions && t.centres && t.scratch;
  if (all) sn_rt_get_rest(model, &(sn_rt_rest){.centres = t.centres}, NULL);
  status = all ? sn_model_skin(ctx, model, &t.skin) : ctx->error.status;
  if (status == SN_OK) status = sn_local_rotations_make(ctx, &t.memory, examples, &none, &t.rotations);
  if (status == SN_OK) status = fill_trace(&t, out);
  sn_skin_free(&t.skin);
  sn_arena_free(&t.memory);
  if (status != SN_OK) sn_correct_trace_free(out);
  return status;
}

SN_DEFINE_FREE(sn_correct_trace);
