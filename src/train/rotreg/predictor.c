// SPDX-License-Identifier: MIT
// Predictors of deformation gradients: which joints rotate a triangle (or key gradient), and how (3.2).
#include "train/rotreg/predictor.h"

#include <string.h>

#include "solve/solve.h"

// Scratch arrays of one fit, pose_count entries each.
struct sn_rotreg_work {
  sn_mat3 *rotation, *shear, *target;
  sn_vec3 *theta, *rho, *branch;
};

sn_rotreg_fit_options sn_rotreg_fit_options_default(void) {
  return (sn_rotreg_fit_options){
    .most_factors = 2, .map_ridge = 1, .shear_ridge = 0.5, .tilt_ridge = 1, .rest_weight = 1};
}

sn_rotreg_fit_options sn_rotreg_published_options(void) {
  sn_rotreg_fit_options out = sn_rotreg_fit_options_default();
  out.published = true, out.map_ridge = INFINITY, out.tilt_ridge = out.rest_weight = 0;
  out.shear_ridge = 1e-3; // published: least squares (3.3), which is underdetermined for fewer than seven poses
  return out;
}

size_t sn_rotreg_work_size(int pose_count) {
  return sizeof(sn_rotreg_work) + (size_t)pose_count * 3 * (sizeof(sn_mat3) + sizeof(sn_vec3));
}

// A fit in progress.
typedef struct fit {
  const sn_rotreg_rotations *rotations;
  const int *pick;
  int count;
  const sn_rotreg_fit_options *options;
  sn_rotreg_work *w;
} fit;

// Splits the gradients: D = R S (3).
static fit start_fit(const sn_rotreg_sample *s, sn_rotreg_work *w) {
  int poses = s->rotations->pose_count;
  sn_mat3 *m = (sn_mat3 *)(void *)(w + 1);
  sn_vec3 *v = (sn_vec3 *)(void *)(m + 3 * (size_t)poses);
  *w = (sn_rotreg_work){m, m + poses, m + 2 * (size_t)poses, v, v + poses, v + 2 * (size_t)poses};
  for (int i = 0; i < s->count; i++) sn_mat3_polar(s->sequence[s->pick[i]], &w->rotation[i], &w->shear[i]);
  return (fit){s->rotations, s->pick, s->count, s->options, w};
}

static const sn_mat3 *rotations_at(const fit *f, int i) {
  return f->rotations->rotation + (size_t)f->pick[i] * (size_t)f->rotations->joint_count;
}
static const sn_vec3 *thetas_at(const fit *f, int i) {
  return f->rotations->theta + (size_t)f->pick[i] * (size_t)f->rotations->joint_count;
}

static sn_mat3 factor_at(const sn_rotreg_factor *factor, sn_vec3 theta) {
  return sn_rotation_exp(sn_mat3_apply(factor->map, theta));
}

// map = u W + the ridge solution for its residual: minimises sum |rho - map theta|^2 + ridge |map - u W|^2. Returns the
// decrease of the sum of squares.
static double free_map(int count, const sn_vec3 *theta, const sn_vec3 *rho, double relative,
                       sn_rotreg_factor *factor) {
  factor->map = sn_mat3_scale(factor->w, factor->u);
  if (isinf(relative)) return 0;
  sn_mat3 left = {0}, moments = {0}, inverse;
  for (int i = 0; i < count; i++) {
    sn_vec3 residual = sn_vec3_sub(rho[i], sn_mat3_apply(factor->map, theta[i]));
    left = sn_mat3_add(left, sn_mat3_outer(residual, theta[i]));
    moments = sn_mat3_add(moments, sn_mat3_outer(theta[i], theta[i]));
  }
  double ridge = relative * (sn_mat3_trace(moments) + sn_rotreg_rounding * count);
  if (!sn_mat3_invert(sn_mat3_add(moments, sn_mat3_diagonal(ridge, ridge, ridge)), &inverse)) return 0;
  sn_mat3 step = sn_mat3_mul(left, inverse);
  factor->map = sn_mat3_add(factor->map, step);
  // 2 <step, left> - <step, step moments>, with step moments = left - ridge step.
  double along = 0, square = 0;
  for (int n = 0; n < 9; n++) {
    double x = step.m[n / 3][n % 3];
    along += x * left.m[n / 3][n % 3], square += x * x;
  }
  return along + ridge * square;
}

static void take_logs(const fit *f) {
  for (int i = 0; i < f->count; i++) f->w->rho[i] = sn_rotation_log(f->w->target[i]);
}

// Fits u and W, or takes those of the prior. Returns the sum of squared residuals.
static double fit_or_take(const fit *f, double prior, sn_rotreg_factor *factor) {
  sn_rotreg_work *w = f->w;
  double cost = 0;
  if (isnan(prior)) return sn_rotreg_fit_u_w(f->count, w->theta, w->branch, &factor->u, &factor->w);
  for (int i = 0; i < f->count; i++) {
    w->branch[i] = sn_rotation_unwrap(w->rho[i], sn_vec3_scale(w->theta[i], prior));
    sn_vec3 left = sn_vec3_mad(w->branch[i], w->theta[i], -prior);
    cost += sn_vec3_dot(left, left);
  }
  return cost;
}

// Fits one joint's factor to the logarithms w->rho. Returns the sum of squared residuals.
static double fit_logs(const fit *f, int joint, double prior, sn_rotreg_factor *factor) {
  sn_rotreg_work *w = f->w;
  for (int i = 0; i < f->count; i++) w->theta[i] = thetas_at(f, i)[joint];
  memcpy(w->branch, w->rho, (size_t)f->count * sizeof *w->rho);
  *factor = (sn_rotreg_factor){.joint = joint, .u = prior, .w = sn_mat3_identity(), .prior = prior};
  double cost = fit_or_take(f, prior, factor);
  return cost - free_map(f->count, w->theta, w->branch, f->options->map_ridge, factor);
}

// The same, but returns the sum of squared residual angles.
static double fit_target(const fit *f, int joint, double prior, sn_rotreg_factor *factor) {
  double cost = 0;
  fit_logs(f, joint, prior, factor);
  for (int i = 0; i < f->count; i++) {
    double angle = sn_rotation_angle(factor_at(factor, f->w->theta[i]), f->w->target[i]);
    cost += angle * angle;
  }
  return cost;
}

// target = before^T R after^T, with `before` and `after` the factors of the prediction on either side of factor `index`.
static void isolate(const fit *f, const sn_rotreg_predictor *p, int index) {
  sn_rotreg_work *w = f->w;
  for (int i = 0; i < f->count; i++) {
    const sn_vec3 *theta = thetas_at(f, i);
    sn_mat3 before = rotations_at(f, i)[p->base], after = sn_mat3_identity();
    for (int k = 0; k < index; k++)
      before = sn_mat3_mul(before, factor_at(&p->factors[k], theta[p->factors[k].joint]));
    for (int k = index + 1; k < p->factor_count; k++) {
      after = sn_mat3_mul(after, factor_at(&p->factors[k], theta[p->factors[k].joint]));
    }
    w->target[i] = sn_mat3_mul(sn_mat3_mul(sn_mat3_transpose(before), w->rotation[i]), sn_mat3_transpose(after));
  }
}

static bool may_use(const fit *f, int joint) { return !f->options->local || f->options->local[joint].near; }

// The prior of a joint's map in a prediction relative to `base`: 0 if the base already follows the joint.
static double prior_of(const fit *f, int base, int joint) {
  if (!f->options->local) return NAN;
  for (int b = base;; b = f->rotations->base[b]) {
    if (b == joint) return 0;
    if (f->rotations->base[b] == b) return f->options->local[joint].share;
  }
}

static bool uses(const sn_rotreg_predictor *p, int joint) {
  for (int k = 0; k < p->factor_count; k++)
    if (p->factors[k].joint == joint) return true;
  return false;
}

// Chooses the first joint, each joint relative to its base: the one with the smallest residual of logarithms.
static double fit_first(const fit *f, sn_rotreg_predictor *p) {
  const sn_rotreg_rotations *rotations = f->rotations;
  int best = -1;
  double least = INFINITY;
  for (int base = 0; base < rotations->joint_count; base++) {
    bool seen = false;
    for (int b = 0; b < rotations->joint_count; b++) {
      if (rotations->base[b] != base || !may_use(f, b)) continue;
      sn_rotreg_factor factor;
      if (!seen) isolate(f, &(sn_rotreg_predictor){.base = base}, 0), take_logs(f), seen = true;
      double cost = fit_logs(f, b, prior_of(f, base, b), &factor);
      if (best < 0 || cost < least) best = b, least = cost;
    }
  }
  *p = (sn_rotreg_predictor){.base = rotations->base[best]};
  isolate(f, p, 0), take_logs(f);
  p->factor_count = 1;
  return fit_target(f, best, prior_of(f, p->base, best), &p->factors[0]);
}

// Adds a further joint on the residual rotation (3.2.2), if it lowers the error.
static bool fit_next(const fit *f, sn_rotreg_predictor *p, double *cost) {
  double least = INFINITY;
  int best = -1;
  isolate(f, p, p->factor_count), take_logs(f);
  for (int b = 0; b < f->rotations->joint_count; b++) {
    sn_rotreg_factor factor;
    if (f->rotations->base[b] == b || uses(p, b) || !may_use(f, b)) continue;
    double left = fit_logs(f, b, prior_of(f, p->base, b), &factor);
    if (best < 0 || left < least) best = b, least = left;
  }
  if (best < 0) return false;
  sn_rotreg_predictor next = *p;
  double left = fit_target(f, best, prior_of(f, p->base, best), &next.factors[next.factor_count++]);
  if (!(left < *cost)) return false;
  *p = next, *cost = left;
  return true;
}

// Fits the residual rotation of the factors, linear in theta~. The rest pose is one more example, with zero tilt.
static void fit_tilt(const fit *f, sn_rotreg_predictor *p) {
  enum { terms = sn_rotreg_shear_terms };
  sn_rotreg_regression r = {.terms = terms, .columns = 3};
  if (!(f->options->tilt_ridge > 0)) return;
  isolate(f, p, p->factor_count), take_logs(f);
  for (int i = 0; i < f->count; i++) {
    double row[terms];
    sn_rotreg_terms(p->shear_joints, thetas_at(f, i), row);
    sn_rotreg_regression_add(&r, row, (const double[3]){f->w->rho[i].x, f->w->rho[i].y, f->w->rho[i].z});
  }
  sn_rotreg_regression_solve(&r, f->options->tilt_ridge, f->options->rest_weight);
  for (int n = 0; n < 3 * terms; n++) p->tilt[n / terms][n % terms] = r.b[n % terms][n / terms];
}

void sn_rotreg_fit(const sn_rotreg_sample *sample, sn_rotreg_work *work, sn_rotreg_predictor *out) {
  fit f = start_fit(sample, work);
  double cost = fit_first(&f, out);
  while (out->factor_count < f.options->most_factors && fit_next(&f, out, &cost)) continue;
  out->shear_joints[0] = out->factors[0].joint, out->shear_joints[1] = f.rotations->base[out->factors[0].joint];
  sn_rotreg_fit_h(sample, work->shear, out);
  fit_tilt(&f, out);
}

void sn_rotreg_refit(const sn_rotreg_sample *sample, sn_rotreg_work *work, const sn_rotreg_predictor *like,
                     sn_rotreg_predictor *out) {
  fit f = start_fit(sample, work);
  *out = (sn_rotreg_predictor){.base = like->base, .shear_joints = {like->shear_joints[0], like->shear_joints[1]}};
  for (int k = 0; k < like->factor_count; k++) {
    isolate(&f, out, k), take_logs(&f);
    fit_target(&f, like->factors[k].joint, like->factors[k].prior, &out->factors[out->factor_count++]);
  }
  sn_rotreg_fit_h(sample, work->shear, out);
  fit_tilt(&f, out);
}

sn_mat3 sn_rotreg_predict_rotation(const sn_rotreg_predictor *p, const sn_mat3 *rotation, const sn_vec3 *theta) {
  sn_mat3 r = rotation[p->base];
  for (int k = 0; k < p->factor_count; k++) r = sn_mat3_mul(r, factor_at(&p->factors[k], theta[p->factors[k].joint]));
  double phi[sn_rotreg_shear_terms], tilt[3] = {0, 0, 0};
  sn_rotreg_terms(p->shear_joints, theta, phi);
  for (int n = 0; n < 3; n++)
    for (int k = 0; k < sn_rotreg_shear_terms; k++) tilt[n] += p->tilt[n][k] * phi[k];
  return sn_mat3_mul(r, sn_rotation_exp((sn_vec3){tilt[0], tilt[1], tilt[2]}));
}

sn_mat3 sn_rotreg_predict(const sn_rotreg_predictor *p, const sn_mat3 *rotation, const sn_vec3 *theta) {
  return sn_mat3_mul(sn_rotreg_predict_rotation(p, rotation, theta), sn_rotreg_predict_shear(p, theta));
}
