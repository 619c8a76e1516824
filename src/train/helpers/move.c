// SPDX-License-Identifier: MIT
// The motion of a helper as a function of the pose. A vertex with weight w at u from the centre moves by w L (t + r x u + s u),
// L the parent's linear part: seen from the parent the normal matrix is the same in every frame, so that the best channels of
// every frame, then a ridge regression of them on the drivers' terms, minimise the squared residual.
#include "train/helpers/helpers.h"

#include <math.h>
#include <string.h>

#include "solve/solve.h"

enum { channels = SN_RT_HELPER_CHANNELS, most_candidates = 12 };

static const double ridge = 0.03;      // relative to the terms' mean square
static const double penalty = 0.01;    // of motion, relative to what the vertices say about it
static const double least_gain = 0.01; // of one more driver
static const double beyond = 0.25;     // of the range of a channel in training: it may go so far beyond

typedef struct motion {
  sn_helper_solve *s;
  sn_helper *helper;
  double (*target)[SN_RT_HELPER_CHANNELS]; // of every frame
  double metric[SN_RT_HELPER_CHANNELS];    // diagonal of the normal matrix
  int candidate_count, candidates[most_candidates];
} motion;

static void jacobian(const sn_helper_solve *s, const sn_helper *h, int row, double j[3][channels]) {
  sn_vec3 u = sn_vec3_sub(sn_vec3_from(s->examples->rest.positions[s->sample[row]]), sn_vec3_from(h->centre));
  double full[3][channels] = {
    {1, 0, 0, 0, u.z, -u.y, u.x}, {0, 1, 0, -u.z, 0, u.x, u.y}, {0, 0, 1, u.y, -u.x, 0, u.z}};
  memcpy(j, full, sizeof full);
}

// ---- channels of every frame ------------------------------------------------------------------------------------------------

static void normal_matrix(motion *m, int count, const int *rows, const double *weights,
                          double a[channels][channels]) {
  double j[3][channels];
  memset(a, 0, sizeof(double[channels][channels]));
  for (int n = 0; n < count; n++) {
    jacobian(m->s, m->helper, rows[n], j);
    for (int p = 0; p < channels; p++)
      for (int q = 0; q < channels; q++)
        for (int k = 0; k < 3; k++) a[p][q] += weights[n] * weights[n] * j[k][p] * j[k][q];
  }
  for (int p = 0; p < channels; p++) m->metric[p] = a[p][p], a[p][p] *= 1 + penalty, a[p][p] += 1e-30;
}

static void find_targets(motion *m, int count, const int *rows, const double *weights) {
  double a[channels][channels], factor[channels][channels], j[3][channels];
  sn_helper_solve *s = m->s;
  normal_matrix(m, count, rows, weights, a);
  for (int f = 0; f < s->frame_count; f++) {
    double g[channels] = {0};
    sn_mat3 inverse = s->inverses[(size_t)f * (size_t)s->joint_count + (size_t)m->helper->parent];
    for (int n = 0; n < count; n++) {
      sn_vec3 r = sn_vec3_from(s->residuals[(size_t)f * (size_t)s->sample_count + (size_t)rows[n]]);
      r = sn_mat3_apply(inverse, r);
      jacobian(s, m->helper, rows[n], j);
      for (int p = 0; p < channels; p++) g[p] += weights[n] * (j[0][p] * r.x + j[1][p] * r.y + j[2][p] * r.z);
    }
    for (int p = 0; p < channels; p++) g[p] -= penalty * m->metric[p] * (double)m->helper->channels[f][p];
    memcpy(factor, a, sizeof a);
    sn_spd_solve(channels, channels, factor[0], 1, g);
    for (int p = 0; p < channels; p++) m->target[f][p] = (double)m->helper->channels[f][p] + g[p];
  }
}

// ---- regression --------------------------------------------------------------------------------------------------------------

// Of the terms of the drivers, scaled by their prior deviation.
static void features(const sn_helper_solve *s, int frame, const int *drivers, int count, double *out) {
  const double *vectors = s->vectors + (size_t)frame * 3 * (size_t)s->joint_count;
  for (int d = 0; d < count; d++, out += SN_RT_QUADRATIC) {
    const double *v = vectors + 3 * (size_t)drivers[d];
    float p[3] = {(float)v[0], (float)v[1], (float)v[2]}, terms[SN_RT_QUADRATIC];
    sn_rt_joint_terms(p, terms);
    for (int k = 0; k < SN_RT_QUADRATIC; k++) out[k] = sn_helper_feature_scale(k) * (double)terms[k];
  }
}

typedef struct system {
  int terms;
  double a[SN_HELPER_TERMS][SN_HELPER_TERMS], b[SN_HELPER_TERMS][SN_RT_HELPER_CHANNELS];
} system;

// The normal equations of the frames outside `fold`; -1: of all.
static void sum_frames(const motion *m, const int *drivers, int count, int fold, system *out) {
  double row[SN_HELPER_TERMS];
  int n = count * SN_RT_QUADRATIC;
  memset(out, 0, sizeof *out);
  out->terms = n;
  for (int f = 0; f < m->s->frame_count; f++) {
    if (fold >= 0 && m->s->folds.fold_of[f] == fold) continue;
    features(m->s, f, drivers, count, row);
    for (int p = 0; p < n; p++) {
      for (int q = 0; q <= p; q++) out->a[p][q] += row[p] * row[q];
      for (int c = 0; c < channels; c++) out->b[p][c] += row[p] * m->target[f][c];
    }
  }
}

static void solve_ridge(const system *from, double (*x)[SN_RT_HELPER_CHANNELS]) {
  system s = *from;
  double trace = 1e-30;
  for (int p = 0; p < s.terms; p++) trace += s.a[p][p];
  for (int p = 0; p < s.terms; p++) s.a[p][p] += ridge * trace / s.terms;
  memcpy(x, s.b, (size_t)s.terms * sizeof *x);
  sn_spd_solve(s.terms, SN_HELPER_TERMS, s.a[0], channels, x[0]);
}

static double frame_error(const motion *m, int f, const int *drivers, int count, double (*x)[SN_RT_HELPER_CHANNELS]) {
  double row[SN_HELPER_TERMS], error = 0;
  features(m->s, f, drivers, count, row);
  for (int c = 0; c < channels; c++) {
    double left = m->target[f][c];
    for (int p = 0; p < count * SN_RT_QUADRATIC; p++) left -= row[p] * x[p][c];
    error += m->metric[c] * left * left;
  }
  return error;
}

// The cross-validated error of these drivers.
static double validate(const motion *m, const int *drivers, int count) {
  double x[SN_HELPER_TERMS][SN_RT_HELPER_CHANNELS], error = 0;
  system outside;
  for (int fold = 0; fold < m->s->folds.fold_count; fold++) {
    sum_frames(m, drivers, count, fold, &outside);
    solve_ridge(&outside, x);
    for (int f = 0; f < m->s->frame_count; f++)
      if (m->s->folds.fold_of[f] == fold) error += frame_error(m, f, drivers, count, x);
  }
  return error;
}

// One driver after the other, the one that leaves the least cross-validated error.
static void choose_drivers(motion *m) {
  double left = INFINITY;
  sn_helper *h = m->helper;
  while (h->driver_count < SN_HELPER_DRIVERS) {
    int best = -1;
    double least = INFINITY;
    for (int k = 0; k < m->candidate_count; k++) {
      h->drivers[h->driver_count] = m->candidates[k];
      bool used = false;
      for (int d = 0; d < h->driver_count; d++) used |= h->drivers[d] == m->candidates[k];
      double error = used ? INFINITY : validate(m, h->drivers, h->driver_count + 1);
      if (error < least) least = error, best = k;
    }
    if (best < 0 || !(least < (1 - least_gain) * left)) break;
    h->drivers[h->driver_count++] = m->candidates[best];
    left = least;
  }
}

// Joints that move in training: the parent and its neighbours, then their neighbours.
static void find_candidates(motion *m) {
  const sn_helper_solve *s = m->s;
  int list[most_candidates];
  for (int k = 0; k < most_candidates; k++) list[k] = -1;
  sn_joints_add(list, most_candidates, m->helper->parent);
  for (int k = 0, count = 1; k < count && k < 4; k++, count = sn_joints_count(list, most_candidates)) {
    const sn_neighbours *beside = s->near.beside + list[k];
    for (int n = 0; n < beside->count; n++) sn_joints_add(list, most_candidates, beside->joints[n]);
  }
  m->candidate_count = 0;
  for (int k = 0; k < sn_joints_count(list, most_candidates); k++) {
    double largest = 0;
    for (int f = 0; f < s->frame_count; f++)
      for (int c = 0; c < 3; c++)
        largest =
          fmax(largest, fabs(s->vectors[((size_t)f * (size_t)s->joint_count + (size_t)list[k]) * 3 + (size_t)c]));
    if (largest > 1e-3) m->candidates[m->candidate_count++] = list[k];
  }
}

static void set_range(sn_helper *h, int frame_count) {
  for (int c = 0; c < channels; c++) {
    float low = 0, high = 0;
    for (int f = 0; f < frame_count; f++) low = fminf(low, h->channels[f][c]), high = fmaxf(high, h->channels[f][c]);
    float more = (float)beyond * (high - low);
    h->low[c] = low - more, h->high[c] = high + more;
  }
  h->low[channels - 1] = fmaxf(h->low[channels - 1], -0.5f);
}

void sn_helper_apply(sn_helper_solve *s, int index, bool bounded) {
  sn_helper *h = s->helpers + index;
  double row[SN_HELPER_TERMS];
  float local[12];
  for (int f = 0; f < s->frame_count; f++) {
    features(s, f, h->drivers, h->driver_count, row);
    for (int c = 0; c < channels; c++) {
      double sum = 0;
      for (int p = 0; p < h->driver_count * SN_RT_QUADRATIC; p++) sum += row[p] * h->mix[p][c];
      h->channels[f][c] = bounded ? fminf(fmaxf((float)sum, h->low[c]), h->high[c]) : (float)sum;
    }
    h->channels[f][channels - 1] = fmaxf(h->channels[f][channels - 1], -0.5f);
    sn_rt_helper_local(h->centre, h->channels[f], local);
    sn_affine moved;
    for (int n = 0; n < 12; n++) moved.m[n / 4][n % 4] = local[n];
    sn_affine *palette = sn_helper_palette(s, f);
    palette[s->joint_count + index] = sn_affine_mul(palette[h->parent], moved);
  }
}

// Residuals with what the helper does now instead of what it did.
static void shift_residuals(const motion *m, int count, const int *rows, const double *weights,
                            const sn_affine *before) {
  sn_helper_solve *s = m->s;
  for (int f = 0; f < s->frame_count; f++) {
    sn_affine now = sn_helper_palette(s, f)[s->joint_count + (int)(m->helper - s->helpers)];
    for (int n = 0; n < count; n++) {
      float *r = s->residuals[(size_t)f * (size_t)s->sample_count + (size_t)rows[n]];
      sn_vec3 v = sn_vec3_from(s->examples->rest.positions[s->sample[rows[n]]]);
      sn_vec3 d = sn_vec3_sub(sn_affine_apply(before[f], v), sn_affine_apply(now, v));
      sn_vec3_store(sn_vec3_add(sn_vec3_from(r), sn_vec3_scale(d, weights[n])), r);
    }
  }
}

sn_status sn_helper_move(sn_helper_solve *s, int h, int count, const int *rows, const double *weights) {
  if (count == 0) return SN_OK;
  sn_arena scratch = sn_arena_new(s->ctx);
  motion m = {.s = s, .helper = s->helpers + h};
  m.target = sn_arena_alloc(s->ctx, &scratch, (size_t)s->frame_count, sizeof *m.target);
  sn_affine *before = SN_NEW(s->ctx, &scratch, sn_affine, s->frame_count);
  system *whole = SN_NEW(s->ctx, &scratch, system, 1);
  sn_status status = m.target && before && whole ? SN_OK : s->ctx->error.status;
  if (status == SN_OK) {
    for (int f = 0; f < s->frame_count; f++) before[f] = sn_helper_palette(s, f)[s->joint_count + h];
    find_targets(&m, count, rows, weights);
    find_candidates(&m);
    if (m.helper->driver_count == 0)
      choose_drivers(&m); // once: with others the next round would not go on from this one
    sum_frames(&m, m.helper->drivers, m.helper->driver_count, -1, whole);
    if (whole->terms) solve_ridge(whole, m.helper->mix);
    sn_helper_apply(s, h, false);
    set_range(m.helper, s->frame_count);
    shift_residuals(&m, count, rows, weights, before);
  }
  sn_arena_free(&scratch);
  return status;
}
