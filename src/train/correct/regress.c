// SPDX-License-Identifier: MIT
// The regression of corrections: kernels over the training poses, ridges by cross-validation, weights in closed form.
#include "train/correct/regress.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/team.h"
#include "solve/lapack.h"
#include "train/near.h"

enum { usual_ridge = SN_RIDGE_COUNT / 2 };
double sn_ridge(int k) { return sn_usual_ridge * pow(10, k - usual_ridge); }

// Prior variance of joints that are not relevant; constant, because a single clip cannot identify it (METHODS.md).
static const double far_variance = 0.001;

// ---- sets of vertices --------------------------------------------------------------------------------------------------------

static void find_relevant(const sn_regression *r, const int *parents, int i, bool *out) {
  const sn_skin *skin = r->m->weights;
  for (int k = 0; k < r->control_count; k++) {
    int joint = r->controls[k];
    out[k] = !skin || joint >= r->m->joint_count; // values are relevant everywhere
    for (int n = 0; !out[k] && n < skin->influences; n++) {
      size_t at = (size_t)i * (size_t)skin->influences + (size_t)n;
      int on = skin->joints[at];
      if (skin->weights[at] > SN_NEAR_WEIGHT) out[k] |= on == joint || parents[on] == joint || parents[joint] == on;
    }
  }
}

static sn_status find_sets(sn_regression *r) {
  int n = r->m->vertex_count;
  size_t width = (size_t)r->control_count;
  bool *relevant = SN_NEW(r->ctx, r->memory, bool, (size_t)n *width);
  int *first = SN_NEW(r->ctx, r->memory, int, n), *order = SN_NEW(r->ctx, r->memory, int, n);
  int *parents = SN_NEW(r->ctx, r->memory, int, r->m->joint_count);
  r->set_of = SN_NEW(r->ctx, r->memory, int, n), r->set_count = 0;
  if (!relevant || !first || !order || !parents || !r->set_of) return r->ctx->error.status;
  for (int j = 0; j < r->m->joint_count; j++) parents[j] = sn_terms_parent(r->m, j);
  for (int i = 0; i < n; i++) {
    bool *row = relevant + (size_t)i * width;
    find_relevant(r, parents, i, row);
    int s = 0;
    while (s < r->set_count && memcmp(row, relevant + (size_t)first[s] * width, width * sizeof *row)) s++;
    if (s == r->set_count) first[r->set_count++] = i;
    r->set_of[i] = s;
  }
  r->sets = SN_NEW(r->ctx, r->memory, sn_vertex_set, r->set_count);
  if (!r->sets) return r->ctx->error.status;
  for (int s = 0, used = 0; s < r->set_count; s++) {
    r->sets[s] = (sn_vertex_set){.vertices = order + used, .relevant = relevant + (size_t)first[s] * width};
    for (int i = 0; i < n; i++)
      if (r->set_of[i] == s) order[used++] = i, r->sets[s].count++;
  }
  return SN_OK;
}

// ---- the covariance ------------------------------------------------------------------------------------------------------------

// kernel += variance * Phi Phi^T.
static void add_terms(const sn_regression *r, int group, double variance, double *kernel) {
  const sn_terms *t = r->terms.groups + group;
  int poses = r->m->pose_count;
  if (variance == 0 || t->rank == 0) return;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, poses, poses, t->rank, variance, t->features, t->rank,
              t->features, t->rank, 1, kernel, poses);
}

static bool is_relevant(const sn_regression *r, const sn_vertex_set *set, int control) {
  for (int k = 0; k < r->control_count; k++)
    if (r->controls[k] == control) return set->relevant[k];
  return false;
}

double sn_regression_variance(const sn_regression *r, const sn_priors *priors, const sn_vertex_set *set, int group) {
  const sn_terms *t = r->terms.groups + group;
  if (t->kind == SN_RT_TERMS_PAIR)
    return set->relevant[t->owner] && is_relevant(r, set, t->b) ? pow(10, -priors->of[SN_PAIRS]) : 0;
  return set->relevant[t->owner] ? 1 : far_variance;
}

// Only terms of single controls have the `far` variance; products have zero.
static bool is_far(const sn_regression *r, int group) { return r->terms.groups[group].kind != SN_RT_TERMS_PAIR; }

static double mean_diagonal(const sn_regression *r, const double *kernel) {
  double sum = 0;
  for (int p = 0; p < r->m->pose_count; p++) sum += kernel[(size_t)p * (size_t)r->m->pose_count + (size_t)p];
  return sum / r->m->pose_count;
}

// K of a set. Returns the unit of its ridges; 0 if no relevant control moves.
static double make_kernel(const sn_regression *r, const sn_priors *priors, const sn_vertex_set *set, double *kernel) {
  size_t square = (size_t)r->m->pose_count * (size_t)r->m->pose_count;
  memset(kernel, 0, square * sizeof *kernel);
  for (int g = 0; g < r->terms.all; g++)
    if (is_far(r, g) && set->relevant[r->terms.groups[g].owner]) add_terms(r, g, 1 - far_variance, kernel);
  double unit = mean_diagonal(r, kernel) / (1 - far_variance);
  for (int g = 0; g < r->terms.all; g++)
    if (!is_far(r, g)) add_terms(r, g, sn_regression_variance(r, priors, set, g), kernel);
  for (size_t n = 0; n < square; n++) kernel[n] += r->far[n];
  return unit;
}

static sn_status make_far(sn_regression *r) {
  size_t square = (size_t)r->m->pose_count * (size_t)r->m->pose_count;
  r->far = SN_NEW(r->ctx, r->memory, double, square);
  if (!r->far) return r->ctx->error.status;
  for (int g = 0; g < r->terms.all; g++)
    if (is_far(r, g)) add_terms(r, g, far_variance, r->far);
  return SN_OK;
}

// Gathers the residuals of a set's vertices: pose_count rows of `width` numbers (3 or 6) per vertex.
static void gather(const sn_regression *r, const sn_vertex_set *set, int width, double *y) {
  for (int p = 0; p < r->m->pose_count; p++)
    for (int n = 0; n < set->count; n++) {
      const float *d = r->m->deltas[(size_t)p * (size_t)r->m->vertex_count + (size_t)set->vertices[n]];
      for (int c = 0; c < width; c++) *y++ = d[c];
    }
}

// ---- the ridge ------------------------------------------------------------------------------------------------------------------

// The linear system of a set; y has pose_count rows and `columns` columns.
typedef struct set_system {
  int poses, columns;
  double *y, *inverse, *alpha, *work; // inverse: A = (K + lambda)^-1, alpha: A y
  double *hidden, *outside;           // covariance of the hidden terms, or NULL; alpha of the poses outside a fold
} set_system;

// Copies the rows of a fold's held-out poses.
static void pick_rows(const sn_fold *fold, const double *from, int width, double *to) {
  for (int n = fold->outside_count; n < fold->count; n++, to += width)
    memcpy(to, from + (size_t)fold->poses[n] * (size_t)width, (size_t)width * sizeof *to);
}

// Adds what the hidden terms explain of the held-out poses, because the model lacks them: error += H_g alpha', with
// alpha' = alpha - A_g^T error the solution without fold g.
static void add_hidden_part(const sn_fold *fold, const set_system *s, double *error, double *rows) {
  int count = fold->count - fold->outside_count, poses = s->poses, columns = s->columns;
  memcpy(s->outside, s->alpha, (size_t)poses * (size_t)columns * sizeof *s->outside);
  pick_rows(fold, s->inverse, poses, rows);
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, poses, columns, count, -1, rows, poses, error, columns, 1,
              s->outside, columns);
  pick_rows(fold, s->hidden, poses, rows);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, columns, poses, 1, rows, poses, s->outside, columns,
              1, error, columns);
}

// Squared errors of a fold's held-out poses in closed form: with g the fold, |(A_gg)^-1 (A y)_g|^2.
static sn_status held_out_error(sn_context *ctx, const sn_fold *fold, const set_system *s, double *sum) {
  int count = fold->count - fold->outside_count, columns = s->columns;
  const int *held = fold->poses + fold->outside_count;
  double *a = s->work, *b = a + (size_t)count * (size_t)s->poses;
  if (count == 0) return SN_OK; // the fold has only the rest pose
  for (int n = 0; n < count; n++)
    for (int k = 0; k < count; k++) a[n * count + k] = s->inverse[held[n] * s->poses + held[k]];
  pick_rows(fold, s->alpha, columns, b);
  sn_status status = sn_lapack_posv(ctx, 'U', count, columns, a, b);
  if (status == SN_OK && s->hidden) add_hidden_part(fold, s, b, a);
  for (size_t n = 0; status == SN_OK && n < (size_t)count * (size_t)columns; n++) *sum += b[n] * b[n];
  return status;
}

// Squared residuals of all held-out poses.
static double held_out_size(const sn_folds *folds, const set_system *s) {
  double sum = 0;
  for (int p = 0; p < s->poses; p++)
    if (folds->fold_of[p] >= 0) {
      double norm = cblas_dnrm2(s->columns, s->y + (size_t)p * (size_t)s->columns, 1);
      sum += norm * norm;
    }
  return sum;
}

// Settings that are scored together.
typedef struct choice {
  sn_regression *r;
  int count;
  const sn_priors *settings;
  double *scores; // of every set: `count` scores, then that of the uncorrected skin
} choice;

static int clip_at(const sn_regression *r, int pose) {
  int clip = r->m->clip_of ? r->m->clip_of[pose] : 0;
  return clip < SN_MOST_CLIPS ? clip : SN_MOST_CLIPS - 1;
}

double sn_regression_ridge(const sn_regression *r, int pose) { return sn_ridge(r->priors.of[clip_at(r, pose)]); }

// s->inverse holds K + lambda on entry, and its inverse on return.
static sn_status score_ridge(sn_context *ctx, const sn_folds *folds, const set_system *s, double *sum) {
  double condition;
  sn_status status = sn_lapack_invert(ctx, true, s->poses, s->inverse, &condition);
  if (status == SN_OK)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s->poses, s->columns, s->poses, 1, s->inverse, s->poses,
                s->y, s->columns, 0, s->alpha, s->columns);
  for (int f = 0; status == SN_OK && f < folds->fold_count; f++)
    status = held_out_error(ctx, folds->folds + f, s, sum);
  if (status != SN_NOT_CONVERGED) return status;
  *sum = INFINITY; // singular to rounding
  return SN_OK;
}

static sn_status score_set(sn_context *ctx, sn_arena *memory, void *user, int index) {
  const choice *c = user;
  const sn_regression *r = c->r;
  const sn_vertex_set *set = r->sets + index;
  size_t poses = (size_t)r->m->pose_count, columns = 3 * (size_t)set->count;
  double *kernel = SN_NEW(ctx, memory, double, poses *poses);
  bool hidden = r->as_model && r->terms.all > r->terms.count;
  const set_system s = {.poses = (int)poses,
                        .columns = (int)columns,
                        .y = SN_NEW(ctx, memory, double, poses *columns),
                        .inverse = SN_NEW(ctx, memory, double, poses *poses),
                        .alpha = SN_NEW(ctx, memory, double, poses *columns),
                        .work = SN_NEW(ctx, memory, double, poses *(poses + columns)),
                        .hidden = hidden ? SN_NEW(ctx, memory, double, poses *poses) : NULL,
                        .outside = SN_NEW(ctx, memory, double, hidden ? poses *columns : 1)};
  double *scores = c->scores + (size_t)index * (size_t)(c->count + 1);
  if (!kernel || !s.y || !s.inverse || !s.alpha || !s.work || (hidden && !s.hidden) || !s.outside)
    return ctx->error.status;
  gather(r, set, 3, s.y);
  for (int g = r->terms.count; hidden && g < r->terms.all; g++)
    add_terms(r, g, sn_regression_variance(r, c->settings, set, g), s.hidden);
  double sum = held_out_size(&r->folds, &s), unit = make_kernel(r, c->settings, set, kernel);
  for (int k = 0; k <= c->count; k++) scores[k] = unit > 0 && k < c->count ? 0 : sum;
  sn_status status = SN_OK;
  for (int k = 0; status == SN_OK && unit > 0 && k < c->count; k++) {
    if (k > 0 && c->settings[k].of[SN_PAIRS] != c->settings[k - 1].of[SN_PAIRS])
      make_kernel(r, c->settings + k, set, kernel);
    memcpy(s.inverse, kernel, poses * poses * sizeof *kernel);
    for (size_t p = 0; p < poses; p++)
      s.inverse[p * poses + p] += sn_ridge(c->settings[k].of[clip_at(r, (int)p)]) * unit;
    status = score_ridge(ctx, &r->folds, &s, scores + k);
  }
  return status;
}

static sn_status make_folds(sn_regression *r) {
  const sn_fold_poses poses = {r->m->pose_count, sn_residuals_dims(r->m), r->m->vectors, r->m->clip_of};
  return sn_folds_of_poses(r->ctx, r->memory, &poses, &r->folds);
}

static sn_status make_terms(sn_regression *r) {
  sn_status status = sn_terms_make(r->ctx, r->memory, r->m, r->controls, r->control_count, &r->terms);
  return status == SN_OK ? make_far(r) : status;
}

// The cross-validated squared error of every setting.
static sn_status score_settings(sn_regression *r, const sn_priors *settings, int count, double *scores) {
  size_t width = (size_t)count + 1;
  choice c = {r, count, settings, SN_NEW(r->ctx, r->memory, double, (size_t)r->set_count *width)};
  const sn_folds each = {.fold_count = r->set_count};
  sn_status status = c.scores ? sn_folds_share(r->ctx, &each, score_set, &c, c.scores, width * sizeof *c.scores)
                              : r->ctx->error.status;
  r->uncorrected = 0;
  for (int k = 0; k < count; k++) scores[k] = 0;
  for (size_t s = 0; status == SN_OK && s < (size_t)r->set_count; s++) {
    r->uncorrected += c.scores[s * width + (size_t)count];
    for (int k = 0; k < count; k++) scores[k] += c.scores[s * width + (size_t)k];
  }
  return status;
}

// One ridge for all clips.
static sn_status choose_common(sn_regression *r) {
  sn_priors settings[SN_RIDGE_COUNT];
  for (int k = 0; k < SN_RIDGE_COUNT; k++)
    for (int at = 0; at <= SN_PAIRS; at++) settings[k].of[at] = at == SN_PAIRS ? 0 : k;
  sn_status status = score_settings(r, settings, SN_RIDGE_COUNT, r->scores);
  int best = 0;
  for (int k = 1; k < SN_RIDGE_COUNT; k++)
    if (r->scores[k] < r->scores[best]) best = k;
  r->priors = settings[best], r->score = r->scores[best];
  return status;
}

// Tries the next smaller and larger ridge of a clip, or variance of pairs (at SN_PAIRS), and keeps the best; sets *better
// if the score improves.
static sn_status improve(sn_regression *r, int at, bool *better) {
  sn_priors settings[2];
  double scores[2];
  int count = 0, now = r->priors.of[at];
  for (int next = now - 1; next <= now + 1; next += 2) {
    if (next < 0 || next >= SN_RIDGE_COUNT) continue;
    settings[count] = r->priors, settings[count++].of[at] = next;
  }
  sn_status status = score_settings(r, settings, count, scores);
  for (int k = 0; status == SN_OK && k < count; k++)
    if (scores[k] < r->score) r->priors = settings[k], r->score = scores[k], *better = true;
  return status;
}

// Coordinate descent from the common ridge: clip by clip where there are several, then the variance of pairs.
static sn_status choose_priors(sn_regression *r) {
  int clips = 1 + clip_at(r, r->m->pose_count - 1);
  sn_status status = choose_common(r);
  for (bool better = true; better;) {
    better = false;
    for (int at = clips > 1 ? 0 : clips; status == SN_OK && at <= clips; at++)
      status = improve(r, at < clips ? at : SN_PAIRS, &better);
  }
  return status;
}

sn_status sn_regression_choose(sn_regression *r) {
  sn_status status = find_sets(r);
  if (status == SN_OK) status = make_folds(r);
  if (status == SN_OK) status = make_terms(r);
  if (status == SN_OK) status = choose_priors(r);
  if (status != SN_OK) return status;
  bool too_few = r->m->pose_count - 1 < sn_usual_folds; // not counting the rest pose
  r->undecided = too_few || !(SN_WORTH_IT * r->score < r->uncorrected);
  r->as_model = true;
  if (!r->undecided) return score_settings(r, &r->priors, 1, &r->score);
  // Shapes of named values must be reproduced exactly, so they take the smallest ridge.
  for (int clip = 0; clip < SN_MOST_CLIPS; clip++) r->priors.of[clip] = r->m->joint_count > 0 ? usual_ridge : 0;
  r->priors.of[SN_PAIRS] = 0;
  r->score = r->uncorrected;
  return status;
}

// ---- the solution ---------------------------------------------------------------------------------------------------------------

static sn_status solve_set(sn_context *ctx, sn_arena *memory, void *user, int index) {
  sn_regression *r = user;
  const sn_vertex_set *set = r->sets + index;
  size_t poses = (size_t)r->m->pose_count, columns = 6 * (size_t)set->count, n = (size_t)r->m->vertex_count;
  double *kernel = SN_NEW(ctx, memory, double, poses *poses), *y = SN_NEW(ctx, memory, double, poses *columns);
  if (!kernel || !y) return ctx->error.status;
  double unit = r->unit[index] = make_kernel(r, &r->priors, set, kernel);
  if (!(unit > 0)) return SN_OK; // alpha stays zero
  gather(r, set, 6, y);
  for (size_t p = 0; p < poses; p++) kernel[p * poses + p] += sn_regression_ridge(r, (int)p) * unit;
  sn_status status = sn_lapack_posv(ctx, 'U', (int)poses, (int)columns, kernel, y);
  for (size_t p = 0; status == SN_OK && p < poses; p++)
    for (size_t k = 0; k < columns; k++)
      r->alpha[p * n + (size_t)set->vertices[k / 6]][k % 6] = (float)y[p * columns + k];
  return status;
}

sn_status sn_regression_solve(sn_regression *r) {
  size_t all = (size_t)r->m->pose_count * (size_t)r->m->vertex_count;
  r->alpha = sn_arena_alloc(r->ctx, r->memory, all, sizeof *r->alpha);
  r->unit = SN_NEW(r->ctx, r->memory, double, r->set_count);
  if (!r->alpha || !r->unit) return r->ctx->error.status;
  const sn_folds each = {.fold_count = r->set_count};
  return sn_folds_run(r->ctx, &each, solve_set, r);
}
