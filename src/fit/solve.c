// SPDX-License-Identifier: MIT
// Skinning weights for known poses.
#include "solve/lapack.h"
#include "fit/weights.h"
#include "sinew/fit.h"

sn_weights_options sn_weights_options_default(void) { return (sn_weights_options){.influences = 4, .rounds = 3}; }

static sn_status check_input(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_poses *poses,
                             const sn_weights_options *o) {
  if (rest->vertex_count < 1) return sn_fail(ctx, SN_BAD_INPUT, "weights: the rest mesh has no vertices");
  if (frames->vertex_count != rest->vertex_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "weights: the rest mesh has %d vertices, the frames have %d",
                   rest->vertex_count, frames->vertex_count);
  }
  if (poses->frame_count != frames->frame_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "weights: %d frames, but %d poses", frames->frame_count, poses->frame_count);
  }
  if (poses->joint_count < 1 || poses->joint_count > 65535) {
    return sn_fail(ctx, SN_BAD_INPUT, "weights: %d joints; 1 to 65535 are possible", poses->joint_count);
  }
  if (o->influences < 1 || o->influences > 8) {
    return sn_fail(ctx, SN_BAD_INPUT, "weights: %d influences; 1 to 8 are possible", o->influences);
  }
  if (!(o->omega >= 0) || !(o->rho >= 0) || o->rounds < 1) {
    return sn_fail(ctx, SN_BAD_INPUT, "weights: smooth must not be negative and rounds must be at least 1");
  }
  return SN_OK;
}

// The frames to fit: the key frames, or all.
static int *choose_frames(sn_context *ctx, sn_arena *memory, const sn_frames *frames, const sn_keys *keys,
                          int *count) {
  *count = keys ? keys->count : frames->frame_count;
  int *chosen = SN_NEW(ctx, memory, int, *count);
  for (int f = 0; chosen && f < *count; f++) {
    chosen[f] = keys ? keys->frames[f] : f;
    if (chosen[f] < 0 || chosen[f] >= frames->frame_count) {
      sn_fail(ctx, SN_BAD_INPUT, "weights: key frame %d of %d", chosen[f], frames->frame_count);
      return NULL;
    }
  }
  return chosen;
}

sn_status sn_fit_store_skin(sn_context *ctx, const fit_model *m, sn_skin *out) {
  sn_status status = sn_skin_new(ctx, m->p->n, m->limit, out);
  if (status != SN_OK) return status;
  for (size_t e = 0; e < (size_t)m->p->n * (size_t)m->limit; e++) {
    out->joints[e] = m->joint[e], out->weights[e] = (float)m->weight[e];
  }
  sn_skin_normalize(out);
  return SN_OK;
}

static sn_status solve(sn_context *ctx, sn_arena *scratch, const fit_data *data, const sn_poses *poses,
                       const sn_weights_options *o, sn_skin *out) {
  fit_units units;
  fit_model m;
  fit_problem problem = {0}, *p = &problem;
  sn_status status = sn_fit_problem_build(ctx, scratch, data, &units, p);
  if (status == SN_OK) status = sn_fit_model_new(ctx, scratch, p, poses->joint_count, o->influences, &m);
  if (status != SN_OK) {
    sn_fit_problem_free(p);
    return status;
  }
  m.bones = poses->joint_count;
  for (int f = 0; f < data->count; f++)
    for (int j = 0; j < m.bones; j++)
      sn_fit_set_bone(&m, j, f, sn_fit_to_units(&units, f, sn_pose(poses, data->chosen[f])[j]));
  for (int i = 0; i < p->n; i++) m.weight[(size_t)i * (size_t)m.limit] = 1;
  sn_fit_model_refresh(ctx, &m);
  fit_smooth smooth = {0};
  if (o->omega > 0) status = sn_fit_smooth_build(ctx, scratch, data->rest, p, o->omega, &smooth);
  // The first pass starts from an arbitrary bone and settles the influences without smoothing.
  double before = INFINITY;
  for (int round = 0; round < o->rounds && status == SN_OK; round++) {
    status = sn_fit_pass(ctx, &m, FIT_EXHAUST, round > 0 || o->rounds == 1 ? &smooth : NULL);
    if (!smooth.edge_weight && m.error > 0.999 * before) break;
    before = m.error;
  }
  if (status == SN_OK && o->rho > 0) status = sn_fit_smooth_weights(ctx, data->rest, &m, o->rho, o->rounds);
  if (status == SN_OK) status = sn_fit_store_skin(ctx, &m, out);
  sn_fit_problem_free(p);
  return status;
}

sn_status sn_solve_weights(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_poses *poses,
                           const sn_weights_options *options, sn_skin *out) {
  SN_BLAS_SCOPE;
  *out = (sn_skin){0};
  sn_weights_options o = options ? *options : sn_weights_options_default();
  sn_status status = check_input(ctx, rest, frames, poses, &o);
  if (status != SN_OK) return status;
  sn_arena scratch = sn_arena_new(ctx);
  fit_data data = {.rest = rest, .frames = frames};
  data.chosen = choose_frames(ctx, &scratch, frames, o.keys, &data.count);
  if (!data.chosen) status = ctx->error.status;
  if (status == SN_OK && data.count < 1)
    status = sn_fail(ctx, SN_BAD_INPUT, "weights: there are no frames to learn from");
  if (status == SN_OK) status = solve(ctx, &scratch, &data, poses, &o, out);
  sn_arena_free(&scratch);
  return status;
}
