// SPDX-License-Identifier: MIT
// What joints do together, where no pose of the clip shows it. A linear blend of several joints that turn at once is not what it is with one
// after the other, so that a sum of functions of single joints cannot correct it. How much that is, dual quaternions of the same weights tell, as
// if they were what is wanted: at poses that mix what the joints do in the clip, less what its own busiest poses show.
#include <math.h>
#include <string.h>

#include "train/correct/correct.h"
#include "train/train.h"

// Poses of either kind, and vertices spread over the mesh. Twice as many of both change what is expected of cheburashka-rom by 2 %.
enum { poses = 12, most_vertices = 500 };

typedef struct together {
  sn_context *ctx;
  sn_arena memory;
  const sn_misses *m;
  const sn_examples *examples;
  int count, stride; // vertices: every stride-th
  sn_affine *turned; // of every joint, in the pose that is looked at
  sn_mesh rest;      // of the vertices, and where dual quaternions have them in the poses
  sn_frames frames;
  sn_poses at;
  sn_vec3 *left; // of a pose: what the sum of single joints does not give
} together;

static sn_affine blend(const together *t, int i, bool dual) {
  const sn_skin *skin = &t->m->skin;
  size_t row = (size_t)i * (size_t)skin->influences;
  sn_affine linear = {0};
  sn_dualquat sum = {{0, 0, 0, 0}, {0, 0, 0, 0}}, pivot = {0};
  for (int k = 0; k < sn_skin_row_influences(skin, i); k++) {
    double w = skin->weights[row + (size_t)k];
    const sn_affine *a = t->turned + skin->joints[row + (size_t)k];
    for (int n = 0; n < 12; n++) linear.m[n / 4][n % 4] += w * a->m[n / 4][n % 4];
    if (!dual) continue;
    sn_dualquat q = sn_dualquat_from_rigid(*a);
    if (k == 0) pivot = q;
    if (sn_quat_dot(q.real, pivot.real) < 0) w = -w;
    sum.real = sn_quat_add(sum.real, sn_quat_scale(q.real, w)),
    sum.dual = sn_quat_add(sum.dual, sn_quat_scale(q.dual, w));
  }
  return dual ? sn_dualquat_to_rigid(sum) : linear;
}

// What the linear blend misses of the dual quaternions, in the rest pose; `place` gets where these have the vertex.
static sn_vec3 missing(const together *t, const sn_mesh *rest, int i, sn_vec3 *place) {
  sn_affine linear = blend(t, i, false);
  sn_vec3 x = sn_vec3_from(rest->positions[i]);
  *place = sn_affine_apply(blend(t, i, true), x);
  return sn_blend_solve(sn_affine_linear(linear), sn_vec3_sub(*place, sn_affine_apply(linear, x)));
}

// The joints as they are in poses of the clip, from[n] for the n-th of the turns; 0, the rest pose, but for `only` (-1: all).
static void turn_joints(const together *t, const int *from, int only) {
  for (int n = 0; n < t->m->joint_count; n++) {
    const sn_turn *turn = t->m->turns + n;
    const double *x = sn_control_at(t->m, only < 0 || only == n ? from[n] : 0, turn->joint);
    sn_mat3 r = sn_mat3_mul(sn_quat_to_mat3(turn->reference), sn_rotation_exp(sn_vec3_make(x[0], x[1], x[2])));
    if (turn->parent < 0) {
      t->turned[turn->joint] = sn_affine_identity();
      continue;
    }
    sn_affine own = sn_affine_about(r, sn_affine_translation(t->examples->skeleton.rest[turn->joint]));
    t->turned[turn->joint] = sn_affine_mul(t->turned[turn->parent], own);
  }
}

static double turn_of(const sn_misses *m, int pose, int joint) {
  const double *x = sn_control_at(m, pose, joint), *rest = sn_control_at(m, 0, joint);
  return sqrt((x[0] - rest[0]) * (x[0] - rest[0]) + (x[1] - rest[1]) * (x[1] - rest[1]) +
              (x[2] - rest[2]) * (x[2] - rest[2]));
}

// A joint moves where it turns by a tenth of what it ever does.
static const double part_that_moves = 0.1;

static void find_moving(const sn_misses *m, bool *moving) {
  for (int n = 0; n < m->joint_count; n++) {
    double most = 0;
    for (int p = 0; p < m->pose_count; p++) most = fmax(most, turn_of(m, p, m->turns[n].joint));
    for (int p = 0; p < m->pose_count; p++)
      moving[n * m->pose_count + p] = turn_of(m, p, m->turns[n].joint) > part_that_moves * most;
  }
}

// Every joint in one of the poses in which it moves, each in another.
static void mix(const sn_misses *m, const bool *moving, int q, int *from) {
  for (int n = 0; n < m->joint_count; n++) {
    const bool *row = moving + n * m->pose_count;
    int count = 0;
    for (int p = 0; p < m->pose_count; p++) count += row[p];
    from[n] = 0;
    if (count == 0) continue;
    int which = (int)(((int64_t)q * count / poses + (int64_t)n * count / m->joint_count) % count);
    for (int p = 0; p < m->pose_count; p++)
      if (row[p] && which-- == 0) from[n] = p;
  }
}

// The poses of the clip in which most joints move at once.
static void find_busiest(const sn_misses *m, const bool *moving, int *out) {
  for (int q = 0; q < poses; q++) {
    int most = -1;
    out[q] = 0;
    for (int p = 0; p < m->pose_count; p++) {
      int count = 0;
      bool taken = false;
      for (int n = 0; n < m->joint_count; n++) count += moving[n * m->pose_count + p];
      for (int k = 0; k < q; k++) taken |= out[k] == p;
      if (!taken && count > most) most = count, out[q] = p;
    }
  }
}

// Squared, what all vertices miss in a pose beyond what the joints give one at a time.
static double look_at(together *t, int q, const int *from) {
  double sum = 0;
  turn_joints(t, from, -1);
  memcpy(sn_pose(&t->at, q), t->turned, (size_t)t->m->joint_count * sizeof *t->turned);
  for (int k = 0; k < t->count; k++) {
    sn_vec3 place;
    t->left[k] = missing(t, &t->examples->rest, k * t->stride, &place);
    sn_vec3_store(place, sn_frame_mutable(&t->frames, q)[k]);
  }
  for (int n = 0; n < t->m->joint_count; n++) {
    if (from[n] == 0) continue;
    turn_joints(t, from, n);
    for (int k = 0; k < t->count; k++) {
      sn_vec3 place, alone = missing(t, &t->examples->rest, k * t->stride, &place);
      t->left[k] = sn_vec3_sub(t->left[k], alone);
    }
  }
  for (int k = 0; k < t->count; k++) sum += sn_vec3_dot(t->left[k], t->left[k]);
  return sum;
}

// The squared enveloping error of mixed poses, or of the clip's own.
static sn_status look(together *t, bool mixed, double *out) {
  sn_context *ctx = t->ctx;
  double *errors = SN_NEW(ctx, &t->memory, double, t->count), sum = 0, rigid = 0;
  bool *moving = SN_NEW(ctx, &t->memory, bool, (size_t)t->m->joint_count *(size_t)t->m->pose_count);
  int *from = SN_NEW(ctx, &t->memory, int, t->m->joint_count), frames[poses], busiest[poses];
  if (!errors || !from || !moving) return ctx->error.status;
  find_moving(t->m, moving);
  find_busiest(t->m, moving, busiest);
  for (int q = 0; q < poses; q++) {
    frames[q] = q;
    for (int n = 0; n < t->m->joint_count; n++) from[n] = busiest[q];
    if (mixed) mix(t->m, moving, q, from);
    sum += look_at(t, q, from);
  }
  sn_examples seen = {.rest = t->rest, .frames = t->frames, .poses = t->at, .skeleton = t->examples->skeleton};
  sn_keys all = {.count = poses, .frames = frames};
  sn_status status = sn_best_joints(ctx, &seen, &all, NULL, errors);
  for (int k = 0; status == SN_OK && k < t->count; k++) rigid += errors[k];
  *out = status == SN_OK && rigid > 0 ? sum / rigid : 0;
  return status;
}

sn_status sn_expected_together(sn_context *ctx, const sn_misses *m, const sn_examples *examples, double *squared) {
  together t = {.ctx = ctx, .memory = sn_arena_new(ctx), .m = m, .examples = examples};
  int n = examples->rest.vertex_count;
  t.stride = (n + most_vertices - 1) / most_vertices, t.count = (n + t.stride - 1) / t.stride;
  t.turned = SN_NEW(ctx, &t.memory, sn_affine, m->joint_count), t.left = SN_NEW(ctx, &t.memory, sn_vec3, t.count);
  sn_status status = t.turned && t.left ? SN_OK : ctx->error.status;
  if (status == SN_OK) status = sn_mesh_new(ctx, t.count, 0, &t.rest);
  if (status == SN_OK) status = sn_frames_new(ctx, t.count, poses, &t.frames);
  if (status == SN_OK) status = sn_poses_new(ctx, m->joint_count, poses, &t.at);
  for (int k = 0; status == SN_OK && k < t.count; k++)
    memcpy(t.rest.positions[k], examples->rest.positions[k * t.stride], sizeof *t.rest.positions);
  double mixed = 0, own = 0;
  if (status == SN_OK) status = look(&t, true, &mixed);
  if (status == SN_OK) status = look(&t, false, &own);
  *squared = fmax(mixed - own, 0);
  sn_mesh_free(&t.rest), sn_frames_free(&t.frames), sn_poses_free(&t.at);
  sn_arena_free(&t.memory);
  return status;
}
