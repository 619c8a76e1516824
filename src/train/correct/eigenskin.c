// SPDX-License-Identifier: MIT
// EigenSkin (Kry, James and Pai 2002; Murtagh 2008, 2.3.3): a few displacement fields per joint, the principal
// components of the residuals in poses where only that joint moves. Poses that move several joints form a pose space of
// these joints for the remaining residual.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solve/lapack.h"
#include "solve/solve.h"
#include "train/correct/corrector.h"

// The joints that move in every pose, as bits over the joints of the pose space.
typedef struct motion {
  int words;
  uint64_t *bits; // pose_count * words
  int *set;       // the pose space of every pose; -1: the rest pose
} motion;

static double joint_angle(const sn_residuals *m, int pose, int joint) {
  return sqrt(
    sn_squared_distance(sn_control_dims(m, joint), sn_control_at(m, pose, joint), sn_control_at(m, 0, joint)));
}

static void find_motion(const sn_residuals *m, const int *joints, int joint_count, motion *out) {
  for (int j = 0; j < joint_count; j++) {
    double largest = 0;
    for (int p = 0; p < m->pose_count; p++) largest = fmax(largest, joint_angle(m, p, joints[j]));
    for (int p = 0; p < m->pose_count; p++)
      if (joint_angle(m, p, joints[j]) > sn_hardly_any * largest + sn_least_motion)
        out->bits[(size_t)p * (size_t)out->words + (size_t)(j / 64)] |= (uint64_t)1 << (j % 64);
  }
}

static const uint64_t *bits_of(const motion *o, int pose) { return o->bits + (size_t)pose * (size_t)o->words; }

static int bit_count(const motion *o, int pose) {
  int count = 0;
  for (int w = 0; w < o->words; w++)
    for (uint64_t bits = bits_of(o, pose)[w]; bits; bits &= bits - 1) count++;
  return count;
}

static bool within(const motion *o, int pose, int other) {
  for (int w = 0; w < o->words; w++)
    if (bits_of(o, pose)[w] & ~bits_of(o, other)[w]) return false;
  return true;
}

typedef struct builder {
  sn_corrector *c;
  sn_context *ctx;
  sn_arena *memory;
  const sn_residuals *m;
  const int *joints;
  int joint_count;
  motion motion;
  float (*left)[6]; // remaining residuals, pose_count * vertex_count
  sn_corrections *out;
} builder;

// Principal components of `count` displacement fields: replaces their Gram matrix by its eigenvectors (columns).
static sn_status principal(sn_context *ctx, int count, double *gram, double *values) {
  sn_status status = sn_lapack_syevd(ctx, 'U', count, gram, values);
  if (status != SN_NOT_CONVERGED) return status;
  return sn_fail(ctx, SN_NOT_CONVERGED, "the principal components of %d corrections were not found", count);
}

// Basis r displaces by sum_p v_pr delta_p and has the coefficient sum_p v_pr cardinal_p. With all components their sum
// is sum_p delta_p cardinal_p: plain pose-space deformation.
static sn_status add_components(builder *b, const int *poses, int count, const double *gram, const sn_rbf *rbf,
                                sn_pose_field *field) {
  size_t n = (size_t)b->m->vertex_count, terms = (size_t)rbf->terms, p = (size_t)count;
  double *v = SN_NEW(b->ctx, b->memory, double, p *p), *values = SN_NEW(b->ctx, b->memory, double, p);
  int most = b->c->options->components < count ? b->c->options->components : count;
  field->mix = SN_NEW(b->ctx, b->memory, double, (size_t)most *terms);
  if (!v || !values || !field->mix) return b->ctx->error.status;
  memcpy(v, gram, p * p * sizeof *v);
  sn_status status = principal(b->ctx, count, v, values);
  if (status != SN_OK) return status;
  field->mixed = true;
  for (int r = 0; r < most && values[count - 1 - r] > 1e-14 * values[count - 1]; r++) {
    size_t column = p - 1 - (size_t)r;
    float(*basis)[6] = b->out->deltas + (size_t)b->out->basis_count++ * n;
    for (size_t k = 0; k < p; k++) {
      double weight = v[k * p + column];
      const float(*from)[6] = (const float(*)[6])(b->left + (size_t)poses[k] * n);
      for (size_t i = 0; i < n; i++)
        for (int c = 0; c < 6; c++) basis[i][c] += (float)(weight * from[i][c]);
      for (size_t t = 0; t < terms; t++) field->mix[(size_t)r * terms + t] += weight * rbf->mix[k * terms + t];
    }
    field->basis_count++;
  }
  return SN_OK;
}

// Subtracts the field's displacements from the remaining residuals.
static void subtract(builder *b, const sn_pose_field *field, const sn_rbf *rbf, const double *axes, double *terms) {
  size_t n = (size_t)b->m->vertex_count;
  const float(*bases)[6] =
    (const float(*)[6])(b->out->deltas + (size_t)(b->out->basis_count - field->basis_count) * n);
  for (int p = 0; p < b->m->pose_count; p++) {
    sn_rbf_terms(rbf, axes + (size_t)p * (size_t)field->metric.axes, terms);
    for (int r = 0; r < field->basis_count; r++) {
      double value = 0;
      for (int t = 0; t < rbf->terms; t++) value += field->mix[(size_t)r * (size_t)rbf->terms + (size_t)t] * terms[t];
      float(*left)[6] = b->left + (size_t)p * n;
      for (size_t i = 0; i < n; i++)
        for (int c = 0; c < 6; c++) left[i][c] -= (float)(value * bases[(size_t)r * n + i][c]);
    }
  }
}

// The axes of every pose in the field's space.
static sn_status all_axes(builder *b, const sn_pose_field *field, double **out) {
  size_t dims = (size_t)field->metric.dims, axes = (size_t)field->metric.axes;
  double *x = SN_NEW(b->ctx, b->memory, double, dims);
  *out = SN_NEW(b->ctx, b->memory, double, (size_t)b->m->pose_count *axes);
  if (!x || !*out) return b->ctx->error.status;
  for (size_t p = 0; p < (size_t)b->m->pose_count; p++) {
    sn_controls_vector(b->m, (int)p, field->joints, field->joint_count, x);
    sn_pose_axes(&field->metric, x, *out + p * axes);
  }
  return SN_OK;
}

// Adds the pose space of the joints that pose `leader` moves, over all poses that move no other joint.
static sn_status add_field(builder *b, int leader) {
  sn_context *ctx = b->ctx;
  const sn_residuals *m = b->m;
  int *poses = SN_NEW(ctx, b->memory, int, m->pose_count), *joints = SN_NEW(ctx, b->memory, int, b->joint_count);
  if (!poses || !joints) return ctx->error.status;
  int count = 0, joint_count = 0;
  for (int p = 0; p < m->pose_count; p++)
    if (within(&b->motion, p, leader)) poses[count++] = p;
  for (int j = 0; j < b->joint_count; j++)
    if (bits_of(&b->motion, leader)[j / 64] >> (j % 64) & 1) joints[joint_count++] = b->joints[j];
  double *gram = SN_NEW(ctx, b->memory, double, (size_t)count *(size_t)count), *axes, *terms;
  if (!gram) return ctx->error.status;
  sn_residuals_gram(ctx, (const float(*)[6])b->left, m->vertex_count, poses, count, gram);
  sn_pose_field *field = b->out->fields + b->out->field_count++;
  sn_rbf rbf;
  const sn_pose_data of = {joints, poses, joint_count, count, gram};
  sn_status status = sn_field_make(b->c, &of, field, &rbf);
  if (status == SN_OK) status = add_components(b, poses, count, gram, &rbf, field);
  if (status == SN_OK) status = all_axes(b, field, &axes);
  if (status == SN_OK) {
    terms = SN_NEW(ctx, b->memory, double, rbf.terms);
    status = terms ? SN_OK : ctx->error.status;
  }
  if (status == SN_OK) subtract(b, field, &rbf, axes, terms);
  sn_rbf_free(&rbf);
  return status;
}

// One pose for every distinct set of moving joints, small sets first.
static int find_leaders(const builder *b, int *leaders) {
  int count = 0;
  for (int size = 1; size <= b->joint_count; size++)
    for (int p = 0; p < b->m->pose_count; p++) {
      if (bit_count(&b->motion, p) != size) continue;
      bool known = false;
      for (int k = 0; k < count; k++)
        known = known || (within(&b->motion, p, leaders[k]) && within(&b->motion, leaders[k], p));
      if (!known) leaders[count++] = p;
    }
  return count;
}

sn_status sn_eigenskin_fields(sn_corrector *c, sn_corrections *out) {
  sn_context *ctx = c->ctx;
  sn_arena *memory = &c->memory;
  const sn_residuals *m = &c->residuals;
  int joint_count = c->joint_count, most = c->options->components;
  size_t all = (size_t)m->pose_count * (size_t)m->vertex_count;
  *out = (sn_corrections){.vertex_count = m->vertex_count};
  builder b = {
    .c = c, .ctx = ctx, .memory = memory, .m = m, .joints = c->joints, .joint_count = joint_count, .out = out};
  b.motion.words = (joint_count + 63) / 64;
  b.motion.bits = SN_NEW(ctx, memory, uint64_t, (size_t)m->pose_count * (size_t)b.motion.words);
  int *leaders = SN_NEW(ctx, memory, int, m->pose_count);
  out->fields = SN_NEW(ctx, memory, sn_pose_field, m->pose_count);
  b.left = sn_arena_alloc(ctx, memory, all, sizeof *b.left);
  if (!b.motion.bits || !leaders || !out->fields || !b.left) return ctx->error.status;
  memcpy(b.left, m->deltas, all * sizeof *b.left);
  find_motion(m, c->joints, joint_count, &b.motion);
  int count = find_leaders(&b, leaders), bases = 0;
  for (int k = 0; k < count; k++) {
    int centres = 0;
    for (int p = 0; p < m->pose_count; p++) centres += within(&b.motion, p, leaders[k]);
    bases += centres < most ? centres : most;
  }
  out->deltas = sn_arena_alloc(ctx, memory, (size_t)bases * (size_t)m->vertex_count, sizeof *out->deltas);
  sn_status status = out->deltas ? SN_OK : ctx->error.status;
  for (int k = 0; status == SN_OK && k < count; k++) status = add_field(&b, leaders[k]);
  return status;
}
