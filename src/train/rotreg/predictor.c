// SPDX-License-Identifier: MIT
// Predictors of deformation gradients: which joints rotate a triangle (or key gradient), and how (3.2).
#include "train/rotreg/predictor.h"

#include <string.h>

#include "solve/solve.h"

// A fit in progress; the arrays have an entry per pose of the sample.
struct sn_rotreg_work {
  const sn_rotreg_sample *s;
  sn_mat3 *rotation, *target;
  sn_vec3 *theta, *rho;
  double (*shear)[6]; // vec(S)
};

sn_rotreg_fit_options sn_rotreg_fit_options_default(void) {
  return (sn_rotreg_fit_options){.most_factors = 2, .shear_ridge = 0.5, .tilt_ridge = 1, .rest_weight = 1};
}

sn_rotreg_fit_options sn_rotreg_published_options(void) {
  sn_rotreg_fit_options out = sn_rotreg_fit_options_default();
  out.published = true, out.tilt_ridge = out.rest_weight = 0;
  out.shear_ridge = 1e-3; // published: least squares (3.3), which is underdetermined for fewer than seven poses
  return out;
}

size_t sn_rotreg_work_size(int pose_count) {
  return sizeof(sn_rotreg_work) +
         (size_t)pose_count * (2 * sizeof(sn_mat3) + 2 * sizeof(sn_vec3) + sizeof(double[6]));
}

// Splits the gradients: D = R S (3).
static void start_fit(const sn_rotreg_sample *s, sn_rotreg_work *w) {
  int poses = s->rotations->pose_count;
  sn_mat3 *m = (sn_mat3 *)(void *)(w + 1), shear;
  sn_vec3 *v = (sn_vec3 *)(void *)(m + 2 * (size_t)poses);
  *w = (sn_rotreg_work){s, m, m + poses, v, v + poses, (double(*)[6])(void *)(v + 2 * (size_t)poses)};
  for (int i = 0; i < s->count; i++) {
    sn_mat3_polar(s->sequence[s->pick[i]], &w->rotation[i], &shear);
    sn_rotreg_vec(shear, w->shear[i]);
  }
}

static const sn_mat3 *rotations_at(const sn_rotreg_work *w, int i) {
  return w->s->rotations->rotation + (size_t)w->s->pick[i] * (size_t)w->s->rotations->joint_count;
}
static const sn_vec3 *thetas_at(const sn_rotreg_work *w, int i) {
  return w->s->rotations->theta + (size_t)w->s->pick[i] * (size_t)w->s->rotations->joint_count;
}

static sn_mat3 factor_at(const sn_rotreg_factor *factor, sn_vec3 theta) {
  return sn_rotation_exp(sn_vec3_scale(sn_mat3_apply(factor->w, theta), factor->u));
}

static void take_logs(const sn_rotreg_work *w) {
  for (int i = 0; i < w->s->count; i++) w->rho[i] = sn_rotation_log(w->target[i]);
}

// argmin_(W, u >= 0) sum |u W theta~ - rho~|^2 (3.2.2); c makes W of a hinge (M of rank 1) unique. Returns the sum.
double sn_rotreg_fit_u_w(int count, const sn_vec3 *theta, const sn_vec3 *rho, double *u, sn_mat3 *w) {
  sn_mat3 m = {0}; // sum rho~ theta~^T
  double theta2 = 0, product = 0, all = 0, inner = 0;
  for (int i = 0; i < count; i++) {
    m = sn_mat3_add(m, sn_mat3_outer(rho[i], theta[i]));
    theta2 += sn_vec3_dot(theta[i], theta[i]), all += sn_vec3_dot(rho[i], rho[i]);
    product += sn_vec3_length(rho[i]) * sn_vec3_length(theta[i]);
  }
  *u = 0, *w = sn_mat3_identity();
  if (!(theta2 > 1e-12)) return all;
  double c = sn_rotreg_rounding * product;
  sn_mat3_polar(sn_mat3_add(m, sn_mat3_diagonal(c, c, c)), w, NULL);
  for (int n = 0; n < 9; n++) inner += w->m[n / 3][n % 3] * m.m[n / 3][n % 3];
  *u = fmax(inner / theta2, 0);
  return all - *u * *u * theta2;
}

// Fits one joint's factor to the logarithms w->rho, or takes that of the prior. Returns the sum of squared residuals.
static double fit_logs(const sn_rotreg_work *w, int joint, double prior, sn_rotreg_factor *factor) {
  double cost = 0;
  for (int i = 0; i < w->s->count; i++) w->theta[i] = thetas_at(w, i)[joint];
  *factor = (sn_rotreg_factor){.joint = joint, .u = prior, .w = sn_mat3_identity(), .prior = prior};
  if (isnan(prior)) return sn_rotreg_fit_u_w(w->s->count, w->theta, w->rho, &factor->u, &factor->w);
  for (int i = 0; i < w->s->count; i++) {
    sn_vec3 near = sn_vec3_scale(w->theta[i], prior), left = sn_vec3_sub(sn_rotation_unwrap(w->rho[i], near), near);
    cost += sn_vec3_dot(left, left);
  }
  return cost;
}

// The same, but returns the sum of squared residual angles.
static double fit_target(const sn_rotreg_work *w, int joint, double prior, sn_rotreg_factor *factor) {
  double cost = 0;
  fit_logs(w, joint, prior, factor);
  for (int i = 0; i < w->s->count; i++) {
    double angle = sn_rotation_angle(factor_at(factor, w->theta[i]), w->target[i]);
    cost += angle * angle;
  }
  return cost;
}

// target = before^T R after^T, with `before` and `after` the factors of the prediction on either side of factor `index`.
static void isolate(const sn_rotreg_work *w, const sn_rotreg_predictor *p, int index) {
  for (int i = 0; i < w->s->count; i++) {
    const sn_vec3 *theta = thetas_at(w, i);
    sn_mat3 before = rotations_at(w, i)[p->base], after = sn_mat3_identity();
    for (int k = 0; k < index; k++)
      before = sn_mat3_mul(before, factor_at(&p->factors[k], theta[p->factors[k].joint]));
    for (int k = index + 1; k < p->factor_count; k++) {
      after = sn_mat3_mul(after, factor_at(&p->factors[k], theta[p->factors[k].joint]));
    }
    w->target[i] = sn_mat3_mul(sn_mat3_mul(sn_mat3_transpose(before), w->rotation[i]), sn_mat3_transpose(after));
  }
}

static bool may_use(const sn_rotreg_work *w, int joint) {
  return !w->s->options->local || w->s->options->local[joint].near;
}

// The prior of a joint's map in a prediction relative to `base`: 0 if the base already follows the joint.
static double prior_of(const sn_rotreg_work *w, int base, int joint) {
  if (!w->s->options->local) return NAN;
  for (int b = base;; b = w->s->rotations->base[b]) {
    if (b == joint) return 0;
    if (w->s->rotations->base[b] == b) return w->s->options->local[joint].share;
  }
}

static bool uses(const sn_rotreg_predictor *p, int joint) {
  for (int k = 0; k < p->factor_count; k++)
    if (p->factors[k].joint == joint) return true;
  return false;
}

// Chooses the first joint, each joint relative to its base: the one with the smallest residual of logarithms.
static double fit_first(const sn_rotreg_work *w, sn_rotreg_predictor *p) {
  const sn_rotreg_rotations *rotations = w->s->rotations;
  int best = -1;
  double least = INFINITY;
  for (int base = 0; base < rotations->joint_count; base++) {
    bool seen = false;
    for (int b = 0; b < rotations->joint_count; b++) {
      if (rotations->base[b] != base || !may_use(w, b)) continue;
      sn_rotreg_factor factor;
      if (!seen) isolate(w, &(sn_rotreg_predictor){.base = base}, 0), take_logs(w), seen = true;
      double cost = fit_logs(w, b, prior_of(w, base, b), &factor);
      if (best < 0 || cost < least) best = b, least = cost;
    }
  }
  *p = (sn_rotreg_predictor){.base = rotations->base[best]};
  isolate(w, p, 0), take_logs(w);
  p->factor_count = 1;
  return fit_target(w, best, prior_of(w, p->base, best), &p->factors[0]);
}

// Adds a further joint on the residual rotation (3.2.2), if it lowers the error.
static bool fit_next(const sn_rotreg_work *w, sn_rotreg_predictor *p, double *cost) {
  double least = INFINITY;
  int best = -1;
  isolate(w, p, p->factor_count), take_logs(w);
  for (int b = 0; b < w->s->rotations->joint_count; b++) {
    sn_rotreg_factor factor;
    if (w->s->rotations->base[b] == b || uses(p, b) || !may_use(w, b)) continue;
    double left = fit_logs(w, b, prior_of(w, p->base, b), &factor);
    if (best < 0 || left < least) best = b, least = left;
  }
  if (best < 0) return false;
  sn_rotreg_predictor next = *p;
  double left = fit_target(w, best, prior_of(w, p->base, best), &next.factors[next.factor_count++]);
  if (!(left < *cost)) return false;
  *p = next, *cost = left;
  return true;
}

// Scale and shear, and the residual rotation of the factors: both linear in theta~. The rest pose is one more example, without any.
static void fit_linear(const sn_rotreg_work *w, sn_rotreg_predictor *p) {
  sn_rotreg_fit_h(w->s, w->shear[0], p);
  if (!(w->s->options->tilt_ridge > 0)) return;
  isolate(w, p, p->factor_count), take_logs(w);
  sn_rotreg_regress(w->s, p->shear_joints, 3, &w->rho[0].x, w->s->options->tilt_ridge, p->tilt);
}

void sn_rotreg_fit(const sn_rotreg_sample *sample, sn_rotreg_work *work, sn_rotreg_predictor *out) {
  start_fit(sample, work);
  double cost = fit_first(work, out);
  while (out->factor_count < sample->options->most_factors && fit_next(work, out, &cost)) continue;
  out->shear_joints[0] = out->factors[0].joint, out->shear_joints[1] = sample->rotations->base[out->factors[0].joint];
  fit_linear(work, out);
}

void sn_rotreg_refit(const sn_rotreg_sample *sample, sn_rotreg_work *work, const sn_rotreg_predictor *like,
                     sn_rotreg_predictor *out) {
  start_fit(sample, work);
  *out = (sn_rotreg_predictor){.base = like->base, .shear_joints = {like->shear_joints[0], like->shear_joints[1]}};
  for (int k = 0; k < like->factor_count; k++) {
    isolate(work, out, k), take_logs(work);
    fit_target(work, like->factors[k].joint, like->factors[k].prior, &out->factors[out->factor_count++]);
  }
  fit_linear(work, out);
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
