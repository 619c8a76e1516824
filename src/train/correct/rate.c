// SPDX-License-Identifier: MIT
// Chooses a model on the rate-distortion curve.
#include "train/correct/fields.h"

#include <math.h>

// Models on the curve: 4 times the usual bytes, the usual ones, then half of the model before; bisection steps of refine().
enum { curve_count = 8, step_count = 3 };

typedef struct curve {
  sn_context *ctx;
  sn_rate_describe describe;
  void *user;
  const sn_limits *limits;
  sn_field_limits limits_of[curve_count];
  sn_rate rates[curve_count];
} curve;

static bool is_within(const sn_limits *l, const sn_rate *r) {
  return (!(l->bytes > 0) || r->bytes <= l->bytes) && (!(l->time > 0) || r->ratio <= l->time);
}

static bool is_accepted(const sn_limits *l, const sn_rate *r) {
  return is_within(l, r) && (!(l->error > 0) || r->rms_pct_diag <= l->error);
}

static sn_status try_rate(const curve *c, sn_field_limits limits, sn_rate *rate, sn_field_limits *spent) {
  sn_status status = c->describe(c->user, true, &limits, rate);
  if (spent) *spent = limits;
  return status;
}

static sn_status make_curve(curve *c, sn_field_limits usual) {
  sn_field_limits spent = usual;
  c->limits_of[0] = (sn_field_limits){0, 4 * usual.bytes}, c->limits_of[1] = usual;
  sn_status status = try_rate(c, c->limits_of[0], c->rates, NULL);
  if (status == SN_OK) status = try_rate(c, usual, c->rates + 1, &spent);
  for (int k = 2; status == SN_OK && k < curve_count; k++) {
    c->limits_of[k] = (sn_field_limits){0, k == 2 ? spent.bytes / 2 : c->limits_of[k - 1].bytes / 2};
    status = try_rate(c, c->limits_of[k], c->rates + k, NULL);
  }
  return status;
}

// -1: none. Without limits the usual one; with a limit on the error the smallest accepted model, otherwise the largest.
static int choose(const curve *c) {
  const sn_limits *l = c->limits;
  int chosen = -1;
  if (!(l->bytes > 0 || l->time > 0 || l->error > 0)) return 1;
  for (int k = 0; k < curve_count; k++)
    if (is_accepted(l, c->rates + k) && (chosen < 0 || l->error > 0)) chosen = k;
  return chosen;
}

// Bisects between the chosen model and its neighbour that is not accepted.
static sn_status refine(curve *c, int chosen) {
  int other = c->limits->error > 0 ? chosen + 1 : chosen - 1;
  if (other < 0 || other >= curve_count || is_accepted(c->limits, c->rates + other)) return SN_OK;
  sn_field_limits good = c->limits_of[chosen], bad = c->limits_of[other];
  sn_status status = SN_OK;
  for (int n = 0; status == SN_OK && n < step_count; n++) {
    sn_field_limits between = {0, sqrt(good.bytes * bad.bytes)};
    sn_rate rate;
    status = try_rate(c, between, &rate, NULL);
    if (status == SN_OK && is_accepted(c->limits, &rate))
      c->limits_of[chosen] = good = between, c->rates[chosen] = rate;
    else
      bad = between;
  }
  return status;
}

static sn_status fail(const curve *c) {
  const sn_limits *l = c->limits;
  const sn_rate *most = c->rates, *least = c->rates + curve_count - 1;
  if (l->bytes > 0 && least->bytes > l->bytes)
    return sn_fail(c->ctx, SN_BAD_INPUT, "at most %.0f bytes cannot be met: the smallest model has %.0f", l->bytes,
                   least->bytes);
  if (l->time > 0 && least->ratio > l->time)
    return sn_fail(c->ctx, SN_BAD_INPUT,
                   "at most %g times the time of linear blending cannot be met: the smallest model takes %.2f times",
                   l->time, least->ratio);
  while (most < least && !is_within(l, most)) most++;
  return sn_fail(c->ctx, SN_BAD_INPUT,
                 "an error of %g %% of the diagonal on held-out poses cannot be reached: the least is %.3g %%, with "
                 "%.0f bytes",
                 l->error, most->rms_pct_diag, most->bytes);
}

sn_status sn_rate_choose(sn_context *ctx, sn_rate_describe describe, void *user, sn_field_limits usual,
                         sn_train_report *report) {
  const sn_limits *l = &report->limits;
  curve c = {.ctx = ctx, .describe = describe, .user = user, .limits = l};
  bool limited = l->bytes > 0 || l->time > 0 || l->error > 0;
  if (!limited && !l->curve) return describe(user, false, &usual, report->rates);
  sn_status status = make_curve(&c, usual);
  int chosen = status == SN_OK ? choose(&c) : 0;
  if (status == SN_OK && chosen < 0) return fail(&c);
  if (status == SN_OK && limited) status = refine(&c, chosen);
  if (status == SN_OK) status = describe(user, true, &c.limits_of[chosen], c.rates + chosen);
  for (int k = 0; status == SN_OK && k < curve_count; k++) report->rates[k] = c.rates[k];
  report->rates[chosen].is_chosen = true, report->rate_count = curve_count;
  return status;
}
