// SPDX-License-Identifier: MIT
// Evaluates a model with the runtime on frames of the examples.
#include "eval/frames.h"

#include <string.h>

#include "base/scope.h"
#include "base/team.h"
#include "runtime/format.h"

// Number of frames whose value in column k of rows of `width` is outside the range.
static int count_outside(const double *rows, int frames, int width, int k, const float range[2]) {
  int count = 0;
  for (int f = 0; k >= 0 && f < frames; f++) {
    float number = (float)rows[(size_t)f * (size_t)width + (size_t)k];
    count += number < range[0] || number > range[1];
  }
  return count;
}

sn_clamped sn_assess_clamped(const sn_rt_model *model, const sn_examples *examples, uint32_t k) {
  const sn_torques *t = &examples->torques;
  const sn_values *v = &examples->values;
  if (k >= model->info.torque_count) {
    k -= model->info.torque_count;
    sn_clamped out = {"value ", sn_rt_value_name(model, k), .frames = v->frame_count};
    if (sn_rt_value_range(model, k, out.range))
      out.outside = count_outside(v->values, v->frame_count, v->count, sn_values_find(v, out.name), out.range);
    return out;
  }
  sn_clamped out = {"torque of ", sn_rt_joint_name(model, k), .frames = t->frame_count};
  int j = t->values ? sn_skeleton_find(&examples->skeleton, out.name) : -1;
  if (sn_rt_torque_range(model, k, out.range))
    out.outside = count_outside(t->values, t->frame_count, t->joint_count, j, out.range);
  return out;
}

static size_t align64(size_t size) { return (size + 63) / 64 * 64; }

typedef struct visiting {
  const sn_visit *visit;
  const sn_model_input *input;
  const sn_keys *keys;
  const uint32_t *order; // of a reordered model; else NULL
  char *buffers;         // one per worker: input, scratch memory, positions, normals, and rows in the model's order
  size_t scratch_at, rows_at, row_size, buffer_size;
} visiting;

static void visit_range(void *user, int64_t begin, int64_t end, int worker) {
  const visiting *v = user;
  const sn_rt_model *model = v->input->model;
  char *buffer = v->buffers + (size_t)worker * v->buffer_size;
  float(*rows[3])[3];
  for (int r = 0; r < 3; r++) rows[r] = (void *)(buffer + v->rows_at + (size_t)r * v->row_size);
  for (int64_t k = begin; k < end; k++) {
    sn_rt_input input = sn_model_input_at(v->input, v->keys->frames[k], buffer);
    sn_rt_output output = {.positions = rows[0][0], .normals = v->visit->normals ? rows[1][0] : NULL};
    sn_rt_evaluate(model, &input, buffer + v->scratch_at, &output, NULL);
    for (int r = 0; v->order && r <= v->visit->normals; r++) {
      memcpy(rows[2], rows[r], v->row_size);
      for (uint32_t i = 0; i < model->info.vertex_count; i++)
        memcpy(rows[r][v->order[i]], rows[2][i], sizeof *rows[r]);
    }
    v->visit->body(v->visit->user, (int)k, (const float(*)[3])rows[0],
                   v->visit->normals ? (const float(*)[3])rows[1] : NULL, worker);
  }
}

sn_status sn_assess_visit(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, const sn_keys *keys,
                          const sn_visit *visit) {
  SN_SCRATCH(scratch, ctx);
  sn_model_input input;
  visiting v = {.visit = visit, .input = &input, .keys = keys};
  uint32_t *order = SN_NEW(ctx, &scratch, uint32_t, model->info.vertex_count);
  if (!order) return ctx->error.status;
  SN_TRY(sn_model_input_new(ctx, model, examples, &scratch, &input));
  if (sn_rt_get_order(model, order)) v.order = order;
  v.scratch_at = align64(sn_model_input_size(model));
  v.rows_at = v.scratch_at + align64(sn_rt_scratch_size(model));
  v.row_size = align64((size_t)model->info.vertex_count * sizeof(float[3]));
  v.buffer_size = v.rows_at + 3 * v.row_size;
  v.buffers = sn_arena_alloc(ctx, &scratch, (size_t)sn_threads(ctx), v.buffer_size);
  if (!v.buffers) return ctx->error.status;
  (visit->shared ? sn_team_for : sn_parallel_for)(ctx, keys->count, visit->grain, visit_range, &v);
  return SN_OK;
}

typedef struct stored {
  sn_frames *positions, *normals;
} stored;

static void store_frame(void *user, int k, const float (*positions)[3], const float (*normals)[3], int worker) {
  (void)worker;
  const stored *s = user;
  size_t size = (size_t)s->positions->vertex_count * sizeof *positions;
  memcpy(sn_frame_mutable(s->positions, k), positions, size);
  if (normals) memcpy(sn_frame_mutable(s->normals, k), normals, size);
}

sn_status sn_assess_evaluate(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                             const sn_keys *keys, sn_frames *positions, sn_frames *normals) {
  int n = (int)model->info.vertex_count;
  sn_frames none = {0};
  stored s = {positions, normals ? normals : &none};
  *s.normals = (sn_frames){0};
  sn_status status = sn_frames_new(ctx, n, keys->count, positions);
  if (status == SN_OK && normals) status = sn_frames_new(ctx, n, keys->count, normals);
  if (status == SN_OK)
    status = sn_assess_visit(ctx, model, examples, keys, &(sn_visit){store_frame, &s, 1, normals != NULL, false});
  if (status != SN_OK) sn_frames_free(positions), sn_frames_free(s.normals);
  return status;
}
