// SPDX-License-Identifier: MIT
// One Gauss-Newton step of a skeleton by conjugate gradients: a matrix product costs O(pairs of bones that share vertices), a
// factorisation O(bones^3).
//
// The preconditioner is block diagonal over the bones before the joints couple them: sum_k S_jk instead of S_jk. Its matrix is
// factorised from the leaves to the roots, like articulated bodies in robotics (Featherstone): eliminating the rotation of a bone
// adds a Schur complement to the block of its parent.
#include "rig/solve.h"
#include "rig/tree_cg.h"

#include <math.h>
#include <string.h>

bool sn_rig_cg_new(sn_context *ctx, sn_arena *memory, int bones, rig_cg *out) {
  size_t n = (size_t)bones;
  out->body = SN_NEW(ctx, memory, rig_cg_body, n);
  out->space = SN_NEW(ctx, memory, double, (1 + 4) * 6 * n);
  out->velocity = sn_arena_alloc(ctx, memory, n, sizeof *out->velocity);
  return out->body && out->space && out->velocity;
}

static bool is_locked(const rig_cg *s, int j) { return s->locked && s->locked[j]; }

// ---- mechanics ---------------------------------------------------------------------------------------------------------

// Shifts of all joints from the roots' shifts and all rotations: p_j = p_parent + w_parent x l_j.
static void spread(const rig_cg *s, double *x) {
  for (int q = 0; q < s->bones; q++) {
    int j = s->tree->order[q], k = s->tree->parent[j];
    if (k < 0) continue;
    const double *l = s->body[j].arm, *w = x + 6 * (size_t)k;
    double *p = x + 6 * (size_t)j + 3;
    p[0] = w[3] + w[1] * l[2] - w[2] * l[1];
    p[1] = w[4] + w[2] * l[0] - w[0] * l[2];
    p[2] = w[5] + w[0] * l[1] - w[1] * l[0];
  }
}

// Adds the force f on a joint, and its torque l x f, to the parent's row x.
static void hand_on(const double l[3], const double f[3], double *x) {
  x[0] += l[1] * f[2] - l[2] * f[1];
  x[1] += l[2] * f[0] - l[0] * f[2];
  x[2] += l[0] * f[1] - l[1] * f[0];
  for (int r = 0; r < 3; r++) x[3 + r] += f[r];
}

// The transpose of `spread`.
static void gather(const rig_cg *s, double *x) {
  for (int q = s->bones - 1; q >= 0; q--) {
    int j = s->tree->order[q], k = s->tree->parent[j];
    double *f = x + 6 * (size_t)j + 3;
    if (k < 0) continue;
    hand_on(s->body[j].arm, f, x + 6 * (size_t)k);
    f[0] = f[1] = f[2] = 0;
  }
  for (int j = 0; j < s->bones; j++)
    if (is_locked(s, j)) memset(x + 6 * (size_t)j, 0, 6 * sizeof *x);
}

// Velocity of the points of bone j as a matrix on u~: w x (arm u~) + p.
static void bone_velocity(const double arm[3][4], const double *x, double out[3][4]) {
  for (int c = 0; c < 4; c++) {
    out[0][c] = x[1] * arm[2][c] - x[2] * arm[1][c];
    out[1][c] = x[2] * arm[0][c] - x[0] * arm[2][c];
    out[2][c] = x[0] * arm[1][c] - x[1] * arm[0][c];
  }
  for (int r = 0; r < 3; r++) out[r][3] += x[3 + r];
}

static void multiply(const rig_cg *s, const double *x, double *moved, double *out) {
  memcpy(moved, x, 6 * (size_t)s->bones * sizeof *x);
  spread(s, moved);
  for (int j = 0; j < s->bones; j++) bone_velocity(s->arm[j], moved + 6 * (size_t)j, s->velocity[j]);
  for (int j = 0; j < s->bones; j++) {
    double m[3][4] = {{0}}; // sum_k (velocity of k) S_jk
    for (int e = s->start[j]; e < s->start[j + 1]; e++) {
      const double(*v)[4] = (const double(*)[4])s->velocity[s->overlap[e]], (*pair)[4] = s->pair[e];
      for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++)
          m[r][c] += v[r][0] * pair[0][c] + v[r][1] * pair[1][c] + v[r][2] * pair[2][c] + v[r][3] * pair[3][c];
    }
    rig_moment_force(m, s->arm[j], out + 6 * (size_t)j);
  }
  gather(s, out);
  for (int j = 0; j < s->bones; j++) {
    int last = s->tree->parent[j] < 0 ? 6 : 3;
    for (int r = 0; r < last && !is_locked(s, j); r++) out[6 * j + r] += s->body[j].damping * x[6 * j + r];
  }
}

// ---- preconditioner ----------------------------------------------------------------------------------------------------

// Adds the damping to the diagonal of the blocks.
static void lump(const rig_cg *s, double damping) {
  double mean = 0;
  for (int j = 0; j < s->bones; j++) {
    const double *a = &s->body[j].turn.m[0][0];
    mean += (a[0] + a[4] + a[8]) / (3 * s->bones);
  }
  for (int j = 0; j < s->bones; j++) {
    rig_cg_body *b = &s->body[j];
    b->damping = damping * (b->turn.m[0][0] + b->turn.m[1][1] + b->turn.m[2][2]) / 3 + 1e-7 * mean + 1e-300;
    for (int r = 0; r < 3; r++) b->turn.m[r][r] += b->damping;
    for (int r = 0; r < 3 && s->tree->parent[j] < 0; r++) b->shift.m[r][r] += b->damping;
  }
}

static bool factorise(const rig_cg *s) {
  for (int q = s->bones - 1; q >= 0; q--) {
    int j = s->tree->order[q], k = s->tree->parent[j];
    rig_cg_body *b = &s->body[j];
    sn_mat3 left = b->shift;
    if (!is_locked(s, j)) {
      if (!sn_mat3_invert(b->turn, &b->turn)) return false;
      left = sn_mat3_sub(left, sn_mat3_mul(sn_mat3_transpose(b->across), sn_mat3_mul(b->turn, b->across)));
    }
    if (k < 0) {
      if (!is_locked(s, j) && !sn_mat3_invert(left, &b->shift)) return false;
      continue;
    }
    sn_mat3 l = rig_cross_matrix(b->arm), lc = sn_mat3_mul(l, left);
    rig_cg_body *parent = &s->body[k];
    parent->shift = sn_mat3_add(parent->shift, left);
    parent->across = sn_mat3_add(parent->across, lc);
    parent->turn = sn_mat3_sub(parent->turn, sn_mat3_mul(lc, l));
  }
  return true;
}

static sn_vec3 at(const double *x) { return (sn_vec3){x[0], x[1], x[2]}; }
static void put(sn_vec3 v, double *x) { x[0] = v.x, x[1] = v.y, x[2] = v.z; }

static void precondition(const rig_cg *s, const double *residual, double *x) {
  memcpy(x, residual, 6 * (size_t)s->bones * sizeof *x);
  for (int q = s->bones - 1; q >= 0; q--) {
    int j = s->tree->order[q], k = s->tree->parent[j];
    const rig_cg_body *b = &s->body[j];
    double *own = x + 6 * (size_t)j, left[3];
    sn_vec3 force = at(own + 3);
    if (!is_locked(s, j)) {
      sn_vec3 turn = sn_mat3_apply(b->turn, at(own));
      force = sn_vec3_sub(force, sn_mat3_apply(sn_mat3_transpose(b->across), turn));
    }
    put(force, left);
    if (k >= 0) {
      hand_on(b->arm, left, x + 6 * (size_t)k);
    } else {
      put(is_locked(s, j) ? (sn_vec3){0, 0, 0} : sn_mat3_apply(b->shift, force), own + 3);
    }
  }
  for (int q = 0; q < s->bones; q++) {
    int j = s->tree->order[q], k = s->tree->parent[j];
    const rig_cg_body *b = &s->body[j];
    double *own = x + 6 * (size_t)j;
    if (k >= 0) {
      sn_vec3 above = at(x + 6 * (size_t)k), shift = at(x + 6 * (size_t)k + 3);
      put(sn_vec3_add(shift, sn_vec3_cross(above, at(b->arm))), own + 3);
    }
    sn_vec3 push = sn_vec3_sub(at(own), sn_mat3_apply(b->across, at(own + 3)));
    put(is_locked(s, j) ? (sn_vec3){0, 0, 0} : sn_mat3_apply(b->turn, push), own);
  }
  for (int j = 0; j < s->bones; j++)
    if (s->tree->parent[j] >= 0) x[6 * j + 3] = x[6 * j + 4] = x[6 * j + 5] = 0;
}

// ---- conjugate gradients -----------------------------------------------------------------------------------------------

static double dot(const double *a, const double *b, size_t n) {
  double sum = 0;
  for (size_t e = 0; e < n; e++) sum += a[e] * b[e];
  return sum;
}

bool sn_rig_cg_solve(const rig_cg *s, double damping, const double *gradient, double *step) {
  // Inexact Gauss-Newton: stops at 3 % of the initial residual in the norm of the preconditioner (1e-3 of its square).
  enum { most = 60 };
  static const double enough = 1e-3;
  size_t n = 6 * (size_t)s->bones;
  double *r = s->space, *z = r + n, *d = z + n, *product = d + n, *moved = product + n;
  lump(s, damping);
  if (!factorise(s)) return false;
  memcpy(r, gradient, n * sizeof *r);
  gather(s, r);
  memset(step, 0, n * sizeof *step);
  precondition(s, r, z);
  memcpy(d, z, n * sizeof *d);
  double now = dot(r, z, n), first = now;
  for (int k = 0; k < most && now > enough * first; k++) {
    multiply(s, d, moved, product);
    double curvature = dot(d, product, n);
    if (!(curvature > 0)) return false;
    double along = now / curvature;
    for (size_t e = 0; e < n; e++) step[e] += along * d[e], r[e] -= along * product[e];
    precondition(s, r, z);
    double next = dot(r, z, n), turn = next / now;
    for (size_t e = 0; e < n; e++) d[e] = z[e] + turn * d[e];
    now = next;
  }
  return true;
}
