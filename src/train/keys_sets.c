// SPDX-License-Identifier: MIT
// The skin's residual in every frame, and its covariance between frames, as the regression of corrections has it
// (docs/methods/regression.md).
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/keys.h"

// Gaussians of every joint's rotation: widths in radians; prior variances of joints that are not relevant, and of all
// rotations together.
static const double widths[SN_KEY_WIDTHS] = {1, 2}, far_relevance = 0.1, whole_relevance = 0.03;

// Vertices at which shapes are compared; least part of the residual of a set, and most sets.
enum { most_samples = 1000, most_sets = 16 };
static const double least_part = 0.002;

// Without joints or values: of the middle distance between two shapes.
static const double reaches[SN_KEY_WIDTHS] = {0.5, 1};

typedef struct maker {
  sn_context *ctx;
  sn_arena *memory;
  const sn_examples *examples;
  const sn_keys *among;
  int samples, step; // of the vertices; without frames none have to be known
  uint16_t *carrier; // of every sampled vertex: the joint with the most weight
  int dims, *first;  // of the poses; of every space (a joint or a value) and behind the last
  double *poses;     // frame_count * dims: local rotations, values against those of the rest mesh
} maker;

// ---- what is to be learned ------------------------------------------------------------------------------------------

// The joint that carries most of each vertex: of the skin, or where there is none the one that moves like it.
static sn_status find_carriers(maker *m) {
  const sn_examples *e = m->examples;
  m->carrier = SN_NEW(m->ctx, m->memory, uint16_t, m->samples);
  uint16_t *all = SN_NEW(m->ctx, m->memory, uint16_t, e->rest.vertex_count);
  if (!m->carrier || !all) return m->ctx->error.status;
  if (e->skeleton.joint_count == 0) return SN_OK;
  bool skin = e->skin.influences > 0;
  sn_status status = skin ? SN_OK : sn_best_joints(m->ctx, e, m->among, all, NULL);
  for (int s = 0; status == SN_OK && s < m->samples; s++)
    m->carrier[s] = skin ? e->skin.joints[s * m->step * e->skin.influences] : all[s * m->step];
  return status;
}

// The blend of sampled vertex s in a frame; without joints nothing moves.
static sn_affine blend_of(const maker *m, int frame, int s) {
  const sn_skin *skin = &m->examples->skin;
  if (m->examples->skeleton.joint_count == 0) return sn_affine_identity();
  const sn_affine *pose = sn_pose(&m->examples->poses, frame);
  if (skin->influences == 0) return pose[m->carrier[s]];
  sn_affine sum = {0};
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)(s * m->step) * (size_t)skin->influences + (size_t)k;
    const sn_affine *joint = &pose[skin->joints[at]];
    for (int n = 0; n < 12; n++) sum.m[n / 4][n % 4] += (double)skin->weights[at] * joint->m[n / 4][n % 4];
  }
  return sum;
}

// What is likely to be learned without frames: the same about every vertex that a joint carries.
static double likely(const maker *m, int joint) {
  double count = m->samples > 0 ? 0 : 1;
  for (int s = 0; s < m->samples; s++) count += m->carrier[s] == joint;
  return count;
}

// The skin's residual, moved to the rest pose: frame_count * 3 samples.
static sn_status find_misses(const maker *m, double *out) {
  for (int f = 0; f < m->among->count; f++) {
    if (sn_stopped(m->ctx)) return sn_fail(m->ctx, SN_STOPPED, "stopped");
    const float(*frame)[3] = sn_frame(&m->examples->frames, m->among->frames[f]);
    for (int s = 0; s < m->samples; s++, out += 3) {
      sn_vec3 at = sn_vec3_from(frame[s * m->step]), rest = sn_vec3_from(m->examples->rest.positions[s * m->step]);
      sn_affine back;
      if (sn_affine_invert(blend_of(m, m->among->frames[f], s), &back)) at = sn_affine_apply(back, at);
      out[0] = at.x - rest.x, out[1] = at.y - rest.y, out[2] = at.z - rest.z;
    }
  }
  return SN_OK;
}

// Products of the residuals of the vertices that `joint` carries, in all pairs of frames. `work`: as many numbers.
static double multiply_misses(const maker *m, const double *misses, int joint, double *work, double *out) {
  int frames = m->among->count, columns = 0;
  double sum = 0;
  for (int s = 0; s < m->samples; s++) columns += m->carrier[s] == joint ? 3 : 0;
  for (int f = 0, n = 0; f < frames; f++)
    for (int s = 0; s < m->samples; s++)
      for (int c = 0; c < 3 && m->carrier[s] == joint; c++) work[n++] = misses[(f * m->samples + s) * 3 + c];
  if (columns == 0) return 0;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, frames, frames, columns, 1, work, columns, work, columns, 0,
              out, frames);
  for (int f = 0; f < frames; f++) sum += out[f * frames + f];
  return sum;
}

// ---- poses ----------------------------------------------------------------------------------------------------------

static sn_mat3 turn_of(const sn_affine *joint) {
  sn_mat3 turn;
  sn_mat3_polar(sn_affine_linear(*joint), &turn, NULL);
  return turn;
}

// Local rotations as rotation vectors, then values. That of the first joint is zero: it moves everything.
static sn_status find_poses(maker *m) {
  const sn_skeleton *skeleton = &m->examples->skeleton;
  const sn_values *values = &m->examples->values;
  int joints = skeleton->joint_count, spaces = joints + values->count;
  m->dims = 3 * joints + values->count;
  m->first = SN_NEW(m->ctx, m->memory, int, spaces + 1);
  m->poses = SN_NEW(m->ctx, m->memory, double, (size_t)m->among->count *(size_t)m->dims);
  if (!m->first || !m->poses) return m->ctx->error.status;
  for (int k = 0; k <= spaces; k++) m->first[k] = k < joints ? 3 * k : 2 * joints + k;
  for (int f = 0; f < m->among->count; f++) {
    double *row = m->poses + (size_t)f * (size_t)m->dims;
    for (int j = 1; j < joints; j++) {
      const sn_affine *pose = sn_pose(&m->examples->poses, m->among->frames[f]);
      int parent = skeleton->parents[j] >= 0 ? skeleton->parents[j] : 0;
      sn_vec3 turn = sn_rotation_log(sn_mat3_mul(sn_mat3_transpose(turn_of(&pose[parent])), turn_of(&pose[j])));
      row[3 * j] = turn.x, row[3 * j + 1] = turn.y, row[3 * j + 2] = turn.z;
    }
    for (int v = 0; v < values->count; v++)
      row[3 * joints + v] = values->values[m->among->frames[f] * values->count + v] - values->rest[v];
  }
  return SN_OK;
}

// Between numbers `begin` .. `end` of two poses; zero in the rest pose.
static double kernel_of(const double *x, const double *y, int begin, int end, double width) {
  double d2 = 0, x2 = 0, y2 = 0, scale = 2 * width * width;
  for (int c = begin; c < end; c++) d2 += (x[c] - y[c]) * (x[c] - y[c]), x2 += x[c] * x[c], y2 += y[c] * y[c];
  return scale * (exp(-d2 / scale) - exp(-(x2 + y2) / scale));
}

// Space k is the functions of one joint or value, or after the last of all together. Values are near to all.
static double relevance_of(const maker *m, int joint, int k) {
  const sn_skeleton *skeleton = &m->examples->skeleton;
  if (k >= skeleton->joint_count) return k == skeleton->joint_count + m->examples->values.count ? whole_relevance : 1;
  bool near = k == joint || skeleton->parents[k] == joint || skeleton->parents[joint] == k;
  return near ? 1 : far_relevance;
}

static sn_status add_kernels(const maker *m, const int *joints, int w, sn_key_sets *out) {
  int frames = out->frame_count, spaces = m->examples->skeleton.joint_count + m->examples->values.count;
  double *kernel = SN_NEW(m->ctx, m->memory, double, frames *frames);
  if (!kernel) return m->ctx->error.status;
  for (int k = 0; k <= spaces; k++) {
    int begin = k < spaces ? m->first[k] : 0, end = k < spaces ? m->first[k + 1] : m->dims;
    if (sn_stopped(m->ctx)) return sn_fail(m->ctx, SN_STOPPED, "stopped");
    for (int f = 0; f < frames; f++)
      for (int g = 0; g <= f; g++) {
        const double *x = m->poses + (size_t)f * (size_t)m->dims, *y = m->poses + (size_t)g * (size_t)m->dims;
        kernel[f * frames + g] = kernel[g * frames + f] = kernel_of(x, y, begin, end, widths[w]);
      }
    for (int s = 0; s < out->count; s++) {
      double relevance = relevance_of(m, joints[s], k);
      for (int n = 0; n < frames * frames; n++) out->sets[s].kernels[w][n] += relevance * kernel[n];
    }
  }
  return SN_OK;
}

static int compare_numbers(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Where nothing is known of the poses: by the distances of the shapes.
static sn_status shape_kernel(const maker *m, int w, sn_key_set *set) {
  double *kernel = set->kernels[w];
  int frames = m->among->count, pairs = 0;
  double *sorted = SN_NEW(m->ctx, m->memory, double, frames *frames);
  if (!sorted) return m->ctx->error.status;
  for (int f = 0; f < frames; f++)
    for (int g = 0; g < frames; g++) {
      const double *p = set->missed;
      kernel[f * frames + g] = p[f * frames + f] + p[g * frames + g] - 2 * p[f * frames + g];
      if (g < f) sorted[pairs++] = kernel[f * frames + g];
    }
  qsort(sorted, (size_t)pairs, sizeof *sorted, compare_numbers);
  double scale = pairs > 0 ? 2 * reaches[w] * reaches[w] * sorted[pairs / 2] : 0;
  for (int n = 0; n < frames * frames; n++) kernel[n] = scale > 0 ? exp(-kernel[n] / scale) : 1;
  return SN_OK;
}

// ---- sets -----------------------------------------------------------------------------------------------------------

// The joints whose vertices have the largest residuals; returns how many.
static int order_joints(const double *energy, int joint_count, int *joints) {
  double total = 0;
  int count = 0;
  for (int j = 0; j < joint_count; j++) total += energy[j];
  while (count < most_sets && count < joint_count) {
    int best = -1;
    for (int j = 0; j < joint_count; j++) {
      bool taken = false;
      for (int k = 0; k < count; k++) taken = taken || joints[k] == j;
      if (!taken && (best < 0 || energy[j] > energy[best])) best = j;
    }
    if (count > 0 && !(energy[best] > least_part * total)) break;
    joints[count++] = best;
  }
  return count;
}

static sn_status fill_sets(const maker *m, sn_key_sets *out) {
  int frames = m->among->count, joint_count = m->examples->skeleton.joint_count, groups = joint_count + !joint_count;
  bool known = m->examples->frames.frame_count > 0;
  size_t square = (size_t)frames * (size_t)frames, numbers = known ? (size_t)frames * (size_t)m->samples * 3 : 0;
  double *misses = SN_NEW(m->ctx, m->memory, double, numbers), *work = SN_NEW(m->ctx, m->memory, double, numbers);
  double *energy = SN_NEW(m->ctx, m->memory, double, groups), *product = SN_NEW(m->ctx, m->memory, double, square);
  int *joints = SN_NEW(m->ctx, m->memory, int, groups);
  if (!misses || !work || !energy || !product || !joints) return m->ctx->error.status;
  sn_status status = known ? find_misses(m, misses) : SN_OK;
  for (int j = 0; status == SN_OK && j < groups; j++)
    energy[j] = known ? multiply_misses(m, misses, j, work, product) : likely(m, j);
  if (status != SN_OK) return status;
  out->frame_count = frames, out->count = order_joints(energy, groups, joints);
  out->sets = SN_NEW(m->ctx, m->memory, sn_key_set, out->count);
  if (!out->sets) return m->ctx->error.status;
  for (int s = 0; s < out->count; s++) {
    out->sets[s].missed = SN_NEW(m->ctx, m->memory, double, square);
    if (!out->sets[s].missed) return m->ctx->error.status;
    if (known) multiply_misses(m, misses, joints[s], work, out->sets[s].missed);
    for (int w = 0; w < SN_KEY_WIDTHS; w++)
      if (!(out->sets[s].kernels[w] = SN_NEW(m->ctx, m->memory, double, square))) return m->ctx->error.status;
  }
  for (int w = 0; status == SN_OK && w < SN_KEY_WIDTHS; w++)
    status = m->dims > 0 ? add_kernels(m, joints, w, out) : shape_kernel(m, w, &out->sets[0]);
  for (int s = 0; !known && s < out->count; s++) // the kernel is what is to be expected of products
    for (size_t n = 0; n < square; n++) out->sets[s].missed[n] = energy[joints[s]] * out->sets[s].kernels[0][n];
  return status;
}

sn_status sn_key_sets_make(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *among,
                           sn_key_sets *out) {
  bool known = examples->frames.frame_count > 0;
  int n = known ? examples->rest.vertex_count : examples->skin.vertex_count;
  int step = n > most_samples ? (n + most_samples - 1) / most_samples : 1;
  maker m = {ctx, memory, examples, among, .step = step, .samples = (n + step - 1) / step};
  *out = (sn_key_sets){0};
  sn_status status = find_carriers(&m);
  if (status == SN_OK) status = find_poses(&m);
  return status == SN_OK ? fill_sets(&m, out) : status;
}
