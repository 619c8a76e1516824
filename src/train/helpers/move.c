// SPDX-License-Identifier: MIT
// The motion of a helper as a function of the pose. A vertex with weight w at u from the centre moves by w L (t + r x u + s u),
// L the parent's linear part: seen from the parent the normal matrix is the same in every frame, so that the best channels of
// every frame, then a ridge regression of them on the drivers' terms, minimise the squared residual.
#include "train/helpers/helpers.h"

#include <math.h>
#include <string.h>

enum { channels = SN_RT_HELPER_CHANNELS, most_candidates = 12 };

static const double ridge = 0.03;      // relative to the terms' mean square
static const double penalty = 0.01;    // of motion, relative to what it does to vertices that follow the helper alone
static const double least_gain = 0.05; // of one more driver
static const double beyond = 0.5;      // of the range of a channel in training: it may go so far beyond

typedef struct motion {
  sn_helper_solve *s;
  sn_helper *helper;
  double (*target)[SN_RT_HELPER_CHANNELS]; // of every frame
  double metric[SN_RT_HELPER_CHANNELS];    // diagonal of the normal matrix
  int count, *rows;                        // vertices of the sample, and their weights on the helper
  double *weights;
} motion;

// The vertices with weight on the helper. `owner`: those of its cluster, with the weight that its parent has in the base.
static void find_rows(motion *m, const int *owner) {
  const sn_helper_solve *s = m->s;
  const sn_skin *skin = owner ? &s->base : &s->skin;
  int h = (int)(m->helper - s->helpers), entry = owner ? m->helper->parent : s->joint_count + h;
  for (int n = 0; n < s->sample_count; n++) {
    size_t row = (size_t)s->sample[n] * (size_t)skin->influences;
    if (owner && owner[n] != h - s->placed_count) continue;
    for (size_t at = row; at < row + (size_t)skin->influences; at++)
      if (skin->joints[at] == entry && skin->weights[at] > 0)
        m->rows[m->count] = n, m->weights[m->count++] = skin->weights[at];
  }
}

static void jacobian(const sn_helper_solve *s, const sn_helper *h, int row, double j[3][channels]) {
  sn_vec3 u = sn_vec3_sub(sn_vec3_from(s->examples->rest.positions[s->sample[row]]), sn_vec3_from(h->centre));
  double full[3][channels] = {
    {1, 0, 0, 0, u.z, -u.y, u.x}, {0, 1, 0, -u.z, 0, u.x, u.y}, {0, 0, 1, u.y, -u.x, 0, u.z}};
  memcpy(j, full, sizeof full);
}

// The best channels of every frame.
static void find_targets(motion *m) {
  double a[channels][channels] = {0}, factor[channels][channels], j[3][channels], stiffness[channels] = {0};
  sn_helper_solve *s = m->s;
  for (int n = 0; n < m->count; n++) {
    jacobian(s, m->helper, m->rows[n], j);
    for (int p = 0; p < channels; p++)
      for (int q = 0; q < channels; q++)
        for (int k = 0; k < 3; k++) a[p][q] += m->weights[n] * m->weights[n] * j[k][p] * j[k][q];
    for (int p = 0; p < channels; p++) // not the weight's square, or small weights would go with large motions
      for (int k = 0; k < 3; k++) stiffness[p] += penalty * m->weights[n] * j[k][p] * j[k][p];
  }
  for (int p = 0; p < channels; p++) m->metric[p] = a[p][p], a[p][p] += stiffness[p] + 1e-30;
  for (int f = 0; f < s->frame_count; f++) {
    double g[channels] = {0};
    sn_mat3 inverse = s->inverses[(size_t)f * (size_t)s->joint_count + (size_t)m->helper->parent];
    for (int n = 0; n < m->count; n++) {
      sn_vec3 r = sn_vec3_from(s->residuals[(size_t)f * (size_t)s->sample_count + (size_t)m->rows[n]]);
      r = sn_mat3_apply(inverse, r);
      jacobian(s, m->helper, m->rows[n], j);
      for (int p = 0; p < channels; p++) g[p] += m->weights[n] * (j[0][p] * r.x + j[1][p] * r.y + j[2][p] * r.z);
    }
    for (int p = 0; p < channels; p++) g[p] -= stiffness[p] * (double)m->helper->channels[f][p];
    memcpy(factor, a, sizeof a);
    sn_spd_solve(channels, channels, factor[0], 1, g);
    for (int p = 0; p < channels; p++) m->target[f][p] = (double)m->helper->channels[f][p] + g[p];
  }
}

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

// Ridge regression of the channels on the terms of the drivers. Returns the squared residual.
static double solve_ridge(const motion *m, const int *drivers, int count, double (*x)[SN_RT_HELPER_CHANNELS]) {
  double a[SN_HELPER_TERMS][SN_HELPER_TERMS] = {0}, row[SN_HELPER_TERMS], trace = 1e-30, error = 0;
  int n = count * SN_RT_QUADRATIC;
  memset(x, 0, (size_t)n * sizeof *x);
  for (int f = 0; f < m->s->frame_count; f++) {
    features(m->s, f, drivers, count, row);
    for (int p = 0; p < n; p++) {
      for (int q = 0; q <= p; q++) a[p][q] += row[p] * row[q];
      for (int c = 0; c < channels; c++) x[p][c] += row[p] * m->target[f][c];
    }
  }
  for (int p = 0; p < n; p++) trace += a[p][p];
  for (int p = 0; p < n; p++) a[p][p] += ridge * trace / n;
  sn_spd_solve(n, SN_HELPER_TERMS, a[0], channels, x[0]);
  for (int f = 0; f < m->s->frame_count; f++) {
    features(m->s, f, drivers, count, row);
    for (int c = 0; c < channels; c++) {
      double left = m->target[f][c];
      for (int p = 0; p < n; p++) left -= row[p] * x[p][c];
      error += m->metric[c] * left * left;
    }
  }
  return error;
}

// Joints that move in training: the parent and its neighbours, then their neighbours. Returns how many.
static int find_candidates(const motion *m, int list[most_candidates]) {
  const sn_helper_solve *s = m->s;
  int moving = 0;
  for (int k = 0; k < most_candidates; k++) list[k] = -1;
  sn_joints_add(list, most_candidates, m->helper->parent);
  for (int k = 0, count = 1; k < count && k < 4; k++, count = sn_joints_count(list, most_candidates)) {
    const sn_neighbours *beside = s->near.beside + list[k];
    for (int n = 0; n < beside->count; n++) sn_joints_add(list, most_candidates, beside->joints[n]);
  }
  for (int k = 0, count = sn_joints_count(list, most_candidates); k < count; k++) {
    const double *v = s->vectors + 3 * (size_t)list[k];
    double largest = 0;
    for (int f = 0; f < s->frame_count; f++, v += 3 * (size_t)s->joint_count)
      for (int c = 0; c < 3; c++) largest = fmax(largest, fabs(v[c]));
    if (largest > 1e-3) list[moving++] = list[k];
  }
  return moving;
}

// Greedy, by the error in training: where joints move one at a time, no other frames show what held-out frames do.
static void choose_drivers(const motion *m) {
  int candidates[most_candidates], count = find_candidates(m, candidates);
  double left = INFINITY;
  sn_helper *h = m->helper;
  while (h->driver_count < SN_HELPER_DRIVERS) {
    int best = -1;
    double least = INFINITY;
    for (int k = 0; k < count; k++) {
      h->drivers[h->driver_count] = candidates[k];
      double error = solve_ridge(m, h->drivers, h->driver_count + 1, h->mix);
      if (error < least) least = error, best = k;
    }
    if (best < 0 || !(least < (1 - least_gain) * left)) break;
    h->drivers[h->driver_count++] = candidates[best];
    for (int k = best + 1; k < count; k++) candidates[k - 1] = candidates[k];
    count--, left = least;
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
static void shift_residuals(const motion *m, const sn_affine *before) {
  sn_helper_solve *s = m->s;
  for (int f = 0; f < s->frame_count; f++) {
    sn_affine now = sn_helper_palette(s, f)[s->joint_count + (int)(m->helper - s->helpers)];
    for (int n = 0; n < m->count; n++) {
      float *r = s->residuals[(size_t)f * (size_t)s->sample_count + (size_t)m->rows[n]];
      sn_vec3 v = sn_vec3_from(s->examples->rest.positions[s->sample[m->rows[n]]]);
      sn_vec3 d = sn_vec3_sub(sn_affine_apply(before[f], v), sn_affine_apply(now, v));
      sn_vec3_store(sn_vec3_add(sn_vec3_from(r), sn_vec3_scale(d, m->weights[n])), r);
    }
  }
}

sn_status sn_helper_move(sn_helper_solve *s, int h, const int *owner) {
  SN_SCRATCH(scratch, s->ctx);
  motion m = {.s = s, .helper = s->helpers + h};
  m.target = sn_arena_alloc(s->ctx, &scratch, (size_t)s->frame_count, sizeof *m.target);
  m.rows = SN_NEW(s->ctx, &scratch, int, s->sample_count);
  m.weights = SN_NEW(s->ctx, &scratch, double, s->sample_count);
  sn_affine *before = SN_NEW(s->ctx, &scratch, sn_affine, s->frame_count);
  if (!m.target || !m.rows || !m.weights || !before) return s->ctx->error.status;
  find_rows(&m, owner);
  if (m.count == 0) return SN_OK;
  for (int f = 0; f < s->frame_count; f++) before[f] = sn_helper_palette(s, f)[s->joint_count + h];
  find_targets(&m);
  if (m.helper->driver_count == 0)
    choose_drivers(&m); // once: with others the next round would not go on from this one
  solve_ridge(&m, m.helper->drivers, m.helper->driver_count, m.helper->mix);
  sn_helper_apply(s, h, false);
  set_range(m.helper, s->frame_count);
  shift_residuals(&m, before);
  return SN_OK;
}
