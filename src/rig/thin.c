// SPDX-License-Identifier: MIT
// Smooths the weights of a result and removes influences that hardly lower the error.
#include "rig/solve.h"

#include <string.h>

// An influence must lower the energy of its vertex (squared error and smoothness) by this part of the mean squared error of a
// vertex. The part falls from `first_gain` by factors of `gain_step` until the squared error grows by at most `allowed_error`.
static const double first_gain = 0.1, last_gain = 1e-3, gain_step = 0.3, allowed_error = 1.03;

// Strength of the second-order smoothing relative to the mean squared error: smoothing between neighbours leaves kinks in the
// weights, which show in new poses.
static const double evenness = 30;
enum { even_sweeps = 2 };

static sn_status even_out(sn_context *ctx, const sn_mesh *rest, fit_model *m) {
  double squared = m->error / ((double)m->p->n * m->p->f);
  sn_status status = sn_fit_smooth_weights(ctx, rest, m, evenness * squared, even_sweeps);
  return status == SN_OK ? sn_fit_pass(ctx, m, FIT_KEEP, NULL) : status;
}

sn_status sn_rig_thin(sn_context *ctx, const sn_mesh *rest, fit_model *m, const fit_smooth *smooth) {
  sn_status status = even_out(ctx, rest, m);
  sn_arena scratch = sn_arena_new(ctx);
  size_t slots = (size_t)m->p->n * (size_t)m->limit;
  uint16_t *joint = SN_NEW(ctx, &scratch, uint16_t, slots);
  double *weight = SN_NEW(ctx, &scratch, double, slots), before = m->error;
  if (!joint || !weight) status = ctx->error.status;
  if (status == SN_OK)
    memcpy(joint, m->joint, slots * sizeof *joint), memcpy(weight, m->weight, slots * sizeof *weight);
  bool done = false;
  for (m->min_gain = first_gain; status == SN_OK && !done && m->min_gain > last_gain; m->min_gain *= gain_step) {
    m->error = before;
    status = sn_fit_pass(ctx, m, FIT_THIN, smooth);
    done = m->error <= allowed_error * before + 1e-10 * m->p->n * m->p->f;
    if (done || status != SN_OK) break;
    memcpy(m->joint, joint, slots * sizeof *joint), memcpy(m->weight, weight, slots * sizeof *weight);
  }
  if (status == SN_OK && !done) status = sn_fit_pass(ctx, m, FIT_KEEP, NULL);
  sn_arena_free(&scratch);
  return status;
}
