// SPDX-License-Identifier: MIT
// Local rotations of joints as rotation vectors, their range in training, and distances between poses.
#include "train/pose_space.h"

#include <math.h>
#include <string.h>

#include "runtime/format.h"
#include "solve/lapack.h"
#include "solve/solve.h"
#include "train/near.h"
#include "train/train.h"

static sn_quat rotation_of(sn_affine a) {
  sn_mat3 r;
  sn_mat3_polar(sn_affine_linear(a), &r, NULL);
  return sn_quat_from_mat3(r);
}

static sn_quat local_rotation(const sn_local_rotation *rotation, const sn_affine *pose) {
  if (!pose) return sn_quat_identity();
  sn_quat own = rotation_of(pose[rotation->joint]);
  return rotation->parent < 0 ? own : sn_quat_mul(sn_quat_conjugate(rotation_of(pose[rotation->parent])), own);
}

// The rotation nearest to the mean of the matrices (rest pose included), rounded as in the model file.
static sn_quat mean_rotation(const sn_local_rotation *rotation, const sn_poses *poses, const sn_keys *keys) {
  sn_mat3 sum = sn_mat3_identity(), r;
  for (int k = 0; k < keys->count; k++) {
    sum = sn_mat3_add(sum, sn_quat_to_mat3(local_rotation(rotation, sn_pose(poses, keys->frames[k]))));
  }
  sn_mat3_polar(sum, &r, NULL);
  sn_quat q = sn_quat_from_mat3(r);
  return (sn_quat){(float)q.x, (float)q.y, (float)q.z, (float)q.w};
}

// Vector from the origin of `joint` moved by `parent` to the same moved by `joint`.
static sn_vec3 gap_of(const sn_skeleton *skeleton, const sn_affine *pose, int joint, int parent) {
  sn_vec3 origin = sn_affine_translation(skeleton->rest[joint]);
  return sn_vec3_sub(sn_affine_apply(pose[joint], origin), sn_affine_apply(pose[parent], origin));
}

// Sum of |gap|^2 over all keys.
static double sum_gaps(const sn_examples *e, const sn_keys *keys, int joint, int parent) {
  double sum = 0;
  for (int k = 0; k < keys->count; k++) {
    sn_vec3 d = gap_of(&e->skeleton, sn_pose(&e->poses, keys->frames[k]), joint, parent);
    sum += sn_vec3_dot(d, d);
  }
  return sum;
}

// Whether `joint` is `other` or one of its ancestors by parents[].
static bool is_above(const int *parents, int joint, int other) {
  while (other >= 0 && other != joint) other = parents[other];
  return other == joint;
}

// In rigs with inverse kinematics, joints move away from their parents. Such a joint that shares no vertices with its parent is
// instead relative to the joint that does and stays nearest. apart[]: whether the joint moves away from its parent in the tree and
// shares vertices with the parent it has then.
static sn_status choose_parents(sn_context *ctx, sn_arena *memory, const sn_examples *e, const sn_keys *keys,
                                int *parents, bool *apart) {
  const sn_skeleton loose = {.joint_count = e->skeleton.joint_count};
  double still = sn_least_motion * sn_points_diagonal((const float(*)[3])e->rest.positions, e->rest.vertex_count);
  sn_near near;
  sn_status status = sn_near_new(ctx, memory, &loose, &e->skin, &near);
  for (int n = 0; status == SN_OK && n < loose.joint_count; n++) {
    int joint = e->skeleton.order[n];
    if (parents[joint] < 0 || sum_gaps(e, keys, joint, parents[joint]) <= still * still * keys->count) continue;
    apart[joint] = sn_near_beside(&near, joint, parents[joint]);
    double least = apart[joint] ? 0 : INFINITY;
    for (int k = 0; least > 0 && k < near.beside[joint].count; k++) {
      int other = near.beside[joint].joints[k];
      if (is_above(parents, joint, other)) continue;
      double sum = sum_gaps(e, keys, joint, other);
      if (sum < least) least = sum, parents[joint] = other, apart[joint] = true;
    }
  }
  return status;
}

sn_status sn_local_rotations_make(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                                  sn_local_rotation **out) {
  const sn_skeleton *skeleton = &examples->skeleton;
  int joint_count = skeleton->joint_count, count = 0, root = -1;
  int *parents = SN_NEW(ctx, memory, int, joint_count);
  bool *done = SN_NEW(ctx, memory, bool, joint_count), *apart = SN_NEW(ctx, memory, bool, joint_count);
  sn_local_rotation *rotations = *out = SN_NEW(ctx, memory, sn_local_rotation, joint_count);
  sn_status status = parents && done && apart && rotations ? SN_OK : ctx->error.status;
  for (int n = 0; status == SN_OK && n < joint_count; n++) {
    int joint = skeleton->order[n];
    parents[joint] = skeleton->parents[joint] < 0 ? root : skeleton->parents[joint];
    if (root < 0) root = joint;
  }
  if (status == SN_OK && examples->skin.influences > 0 && keys->count > 0)
    status = choose_parents(ctx, memory, examples, keys, parents, apart);
  while (status == SN_OK && count < joint_count)
    for (int n = 0; n < joint_count; n++) {
      int joint = skeleton->order[n], parent = parents[joint];
      if (done[joint] || (parent >= 0 && !done[parent])) continue;
      rotations[count] = (sn_local_rotation){joint, parent, sn_quat_identity(), apart[joint]}, done[joint] = true;
      rotations[count].reference = mean_rotation(rotations + count, &examples->poses, keys), count++;
    }
  return status;
}

static sn_rt_reference reference_of(const sn_local_rotation *t) {
  return (sn_rt_reference){
    (uint16_t)t->joint,
    t->parent < 0 ? SN_RT_NO_JOINT : (uint16_t)t->parent,
    {(float)t->reference.x, (float)t->reference.y, (float)t->reference.z, (float)t->reference.w}};
}

sn_status sn_plan_references(sn_context *ctx, sn_plan *plan, const sn_local_rotation *rotations, int joint_count) {
  sn_rt_reference *out = sn_plan_section(ctx, plan, SN_SECTION_JOINT_REFERENCE, (size_t)joint_count, sizeof *out);
  for (int n = 0; out && n < joint_count; n++) out[n] = reference_of(rotations + n);
  return out ? SN_OK : ctx->error.status;
}

sn_status sn_plan_reference_joints(sn_context *ctx, sn_plan *plan, const sn_examples *examples, const sn_keys *keys) {
  sn_local_rotation *rotations;
  sn_status status = sn_local_rotations_make(ctx, &plan->memory, examples, keys, &rotations);
  return status == SN_OK ? sn_plan_references(ctx, plan, rotations, examples->skeleton.joint_count) : status;
}

void sn_pose_vector(const sn_local_rotation *rotations, int joint_count, const sn_affine *pose, double *out) {
  for (int n = 0; n < joint_count; n++) {
    sn_quat from = sn_quat_mul(sn_quat_conjugate(rotations[n].reference), local_rotation(rotations + n, pose));
    sn_vec3 x = sn_rotation_log(sn_quat_to_mat3(from));
    double *to = out + 3 * (size_t)rotations[n].joint;
    to[0] = x.x, to[1] = x.y, to[2] = x.z;
  }
}

void sn_pose_offsets(const sn_local_rotation *rotations, const sn_skeleton *skeleton, const sn_affine *pose,
                     double *out) {
  memset(out, 0, 3 * (size_t)skeleton->joint_count * sizeof *out);
  for (int n = 0; n < skeleton->joint_count; n++) {
    const sn_local_rotation *t = rotations + n;
    if (!t->apart) continue;
    sn_mat3 parent = sn_quat_to_mat3(rotation_of(pose[t->parent]));
    sn_vec3 seen = sn_mat3_apply(sn_mat3_transpose(parent), gap_of(skeleton, pose, t->joint, t->parent));
    double *to = out + 3 * (size_t)t->joint;
    to[0] = seen.x, to[1] = seen.y, to[2] = seen.z;
  }
}

sn_status sn_plan_ranges(sn_context *ctx, sn_plan *plan, const sn_local_rotation *rotations, const sn_poses *poses,
                         const sn_keys *keys) {
  int joint_count = poses->joint_count;
  sn_rt_range *out = SN_NEW(ctx, &plan->memory, sn_rt_range, joint_count);
  double *vector = SN_NEW(ctx, &plan->memory, double, 3 * joint_count);
  if (!out || !vector) return ctx->error.status;
  for (int n = 0; n < joint_count; n++) out[n].reference = reference_of(rotations + n);
  for (int k = -1; k < keys->count; k++) {
    sn_pose_vector(rotations, joint_count, k < 0 ? NULL : sn_pose(poses, keys->frames[k]), vector);
    for (int n = 0; n < joint_count; n++)
      for (int c = 0; c < 3; c++) {
        float x = (float)vector[3 * rotations[n].joint + c];
        out[n].low[c] = k < 0 ? x : fminf(out[n].low[c], x), out[n].high[c] = k < 0 ? x : fmaxf(out[n].high[c], x);
      }
  }
  plan->sections[plan->section_count++] =
    (sn_model_section){SN_RT_RANGE_NAME, out, (size_t)joint_count * sizeof *out, false};
  return SN_OK;
}

// ---- distances ------------------------------------------------------------------------------------------------------

static void mean_vector(int count, int dims, const double *vectors, double *mean) {
  for (int k = 0; k < count; k++)
    for (int d = 0; d < dims; d++) mean[d] += vectors[(size_t)k * (size_t)dims + (size_t)d] / count;
}

// 1 / standard deviation of every component; 0 for near-zero deviations.
static void make_normalised(int count, const double *vectors, const double *mean, sn_pose_metric *out) {
  double largest = 0;
  for (int d = 0; d < out->dims; d++) {
    double sum = 0;
    for (int k = 0; k < count; k++) {
      double x = vectors[(size_t)k * (size_t)out->dims + (size_t)d] - mean[d];
      sum += x * x;
    }
    out->numbers[d] = sqrt(sum / count);
    if (out->numbers[d] > largest) largest = out->numbers[d];
  }
  for (int d = 0; d < out->dims; d++) {
    out->numbers[d] = out->numbers[d] > sn_least_motion * largest && largest > 0 ? 1 / out->numbers[d] : 0;
  }
}

// L: rows sqrt(count) v_r / s_r of the singular vectors of the centred poses, so that |L x|^2 = x^T covariance^-1 x.
static sn_status make_mahalanobis(sn_context *ctx, sn_arena *memory, int count, const double *vectors,
                                  const double *mean, sn_pose_metric *out) {
  int dims = out->dims, most = dims < count ? dims : count;
  double *a = SN_NEW(ctx, memory, double, (size_t)count *(size_t)dims), *s = SN_NEW(ctx, memory, double, most);
  double *u = SN_NEW(ctx, memory, double, (size_t)count *(size_t)most);
  out->numbers = SN_NEW(ctx, memory, double, (size_t)most *(size_t)dims);
  if (!a || !s || !u || !out->numbers) return ctx->error.status;
  for (size_t n = 0; n < (size_t)count * (size_t)dims; n++) a[n] = vectors[n] - mean[n % (size_t)dims];
  sn_status status = sn_lapack_gesvd(ctx, &(sn_svd){count, dims, a, s, u, out->numbers});
  if (status == SN_NO_MEMORY) return status;
  if (status != SN_OK) {
    return sn_fail(ctx, SN_NOT_CONVERGED, "the covariance of the poses was not found");
  }
  for (out->axes = 0; out->axes < most && s[out->axes] > sn_hardly_any * s[0]; out->axes++) {
    double *row = out->numbers + (size_t)out->axes * (size_t)dims;
    for (int d = 0; d < dims; d++) row[d] *= sqrt(count) / s[out->axes];
  }
  return SN_OK;
}

sn_status sn_pose_metric_make(sn_context *ctx, sn_arena *memory, int count, const double *vectors,
                              sn_pose_metric *out) {
  int dims = out->axes = out->dims;
  if (out->kind == SN_DISTANCE_EUCLID || dims == 0) {
    out->kind = SN_DISTANCE_EUCLID;
    return SN_OK;
  }
  double *mean = SN_NEW(ctx, memory, double, dims);
  if (!mean) return ctx->error.status;
  mean_vector(count, dims, vectors, mean);
  if (out->kind == SN_DISTANCE_MAHALANOBIS) return make_mahalanobis(ctx, memory, count, vectors, mean, out);
  out->numbers = SN_NEW(ctx, memory, double, dims);
  if (!out->numbers) return ctx->error.status;
  make_normalised(count, vectors, mean, out);
  return SN_OK;
}

void sn_pose_axes(const sn_pose_metric *metric, const double *vector, double *axes) {
  for (int a = 0; a < metric->axes; a++) {
    if (metric->kind != SN_DISTANCE_MAHALANOBIS) {
      axes[a] = vector[a] * (metric->kind == SN_DISTANCE_NORMALISED ? metric->numbers[a] : 1);
      continue;
    }
    axes[a] = 0;
    for (int d = 0; d < metric->dims; d++)
      axes[a] += metric->numbers[(size_t)a * (size_t)metric->dims + (size_t)d] * vector[d];
  }
}
