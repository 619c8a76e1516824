// SPDX-License-Identifier: MIT
// The poses of the regression: controls, distances between poses, averaging of duplicates.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solve/solve.h"
#include "train/correct/corrector.h"

int sn_controls_dims(const sn_residuals *m, const int *controls, int count) {
  int dims = 0;
  for (int k = 0; k < count; k++) dims += sn_control_dims(m, controls[k]);
  return dims;
}

void sn_controls_vector(const sn_residuals *m, int pose, const int *controls, int count, double *out) {
  for (int k = 0; k < count; k++) {
    const double *at = sn_control_at(m, pose, controls[k]);
    for (int c = 0; c < sn_control_dims(m, controls[k]); c++) *out++ = at[c];
  }
}

static double pose_distance(const sn_residuals *m, int p, int q, const int *controls, int count) {
  double sum = 0;
  for (int k = 0; k < count; k++) {
    const double *a = sn_control_at(m, p, controls[k]), *b = sn_control_at(m, q, controls[k]);
    sum += sn_squared_distance(sn_control_dims(m, controls[k]), a, b);
  }
  return sqrt(sum);
}

// Adds all values as controls. A value that never changes is an error.
static sn_status add_values(sn_corrector *c) {
  const sn_values *values = &c->examples->values;
  for (int v = 0; v < c->residuals.value_count; v++) {
    int control = c->residuals.joint_count + v;
    if (!(c->ranges[v][1] > c->ranges[v][0]))
      return sn_fail(
        c->ctx, SN_BAD_INPUT,
        "value '%s' is %g at the rest mesh and in all training frames: leave the column out, or train on "
        "frames that change it (`keys`)",
        values->names[v], (double)c->ranges[v][0]);
    c->joints[c->joint_count++] = control;
  }
  return SN_OK;
}

sn_status sn_controls_choose(sn_corrector *c) {
  const sn_skeleton *skeleton = &c->examples->skeleton;
  c->joints = SN_NEW(c->ctx, &c->memory, int, skeleton->joint_count + c->residuals.value_count);
  if (!c->joints) return c->ctx->error.status;
  const char *names = c->options->joint_names;
  while (*names) {
    size_t length = strcspn(names, "+");
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)length, names);
    int j = sn_skeleton_find(skeleton, name);
    if (j < 0) return sn_fail(c->ctx, SN_BAD_INPUT, "joints: there is no joint called '%s'", name);
    for (int n = 0; n < c->joint_count; n++)
      if (c->joints[n] == j) return sn_fail(c->ctx, SN_BAD_INPUT, "joints: '%s' is named twice", name);
    c->joints[c->joint_count++] = j;
    names += length + (names[length] == '+');
  }
  if (c->joint_count > 0) return add_values(c);
  for (int n = 0; n < skeleton->joint_count; n++) {
    int j = c->rotations[n].joint;
    if (c->rotations[n].parent < 0) continue;
    for (int p = 1; p < c->residuals.pose_count; p++)
      if (pose_distance(&c->residuals, 0, p, &j, 1) > sn_least_motion) {
        c->joints[c->joint_count++] = j;
        break;
      }
  }
  sn_status status = add_values(c);
  if (status != SN_OK || c->joint_count > 0) return status;
  return sn_fail(
    c->ctx, SN_BAD_INPUT,
    "no joint rotates relative to its parent in the training poses: give more frames or `keys`, name a root that "
    "rotates with joints=NAME, or give `values` FILE");
}

// Updates the mean of `count` residuals with one more. Returns the increase of the squared distances from the mean.
static double average_into(float (*mean)[6], const float (*next)[6], int vertex_count, int count) {
  double sum = 0;
  for (int i = 0; i < vertex_count; i++)
    for (int c = 0; c < 6; c++) {
      double off = (double)next[i][c] - mean[i][c];
      mean[i][c] += (next[i][c] - mean[i][c]) / (float)(count + 1);
      if (c < 3) sum += off * ((double)next[i][c] - mean[i][c]);
    }
  return sum;
}

// Moves pose p to position `to` <= p.
static void move_pose(sn_residuals *m, size_t p, size_t to) {
  size_t dims = (size_t)sn_residuals_dims(m), offsets = 3 * (size_t)m->joint_count, n = (size_t)m->vertex_count;
  memmove(m->vectors + to * dims, m->vectors + p * dims, dims * sizeof *m->vectors);
  memmove(m->offsets + to * offsets, m->offsets + p * offsets, offsets * sizeof *m->offsets);
  memmove(m->deltas + to * n, m->deltas + p * n, n * sizeof *m->deltas);
  m->clip_of[to] = m->clip_of[p];
}

void sn_poses_merge(sn_corrector *c) {
  sn_residuals *m = &c->residuals;
  size_t n = (size_t)m->vertex_count;
  double largest = 0;
  for (int p = 1; p < m->pose_count; p++) {
    double d = pose_distance(m, 0, p, c->joints, c->joint_count);
    if (d > largest) largest = d;
  }
  int kept = 1, averaged = 0, first = 0;
  for (int p = 1; p < m->pose_count; p++) {
    const float(*deltas)[6] = (const float(*)[6])(m->deltas + (size_t)p * n);
    int same = 0;
    while (same < kept && pose_distance(m, p, same, c->joints, c->joint_count) > sn_least_motion * largest) same++;
    if (same == kept) {
      move_pose(m, (size_t)p, (size_t)kept);
      if (c->sigmas) c->sigmas[kept] = c->sigmas[p];
      c->pose_of[p - 1] = kept, c->merged[kept++] = 1;
    } else {
      if (c->merged[same] > 0 && averaged++ == 0) first = c->keys->frames[p - 1];
      c->pose_of[p - 1] = same;
      c->scatter += average_into(m->deltas + (size_t)same * n, deltas, m->vertex_count, c->merged[same]++);
    }
  }
  if (averaged == 1) sn_corrector_note(c, "frame %d is in the pose of another: averaged. ", first);
  if (averaged > 1)
    sn_corrector_note(c, "frame %d and %d more are in the pose of another: averaged. ", first, averaged - 1);
  double apart = 100 * sqrt(c->scatter / c->keys->count / m->vertex_count) / m->diagonal;
  if (apart > sn_correct_options_default().threshold)
    sn_corrector_note(c, "Frames in one pose differ by %.2g %% of the diagonal (rms): no model can follow them all. ",
                      apart);
  m->pose_count = kept;
}

enum { most_poses = 1024 };

void sn_poses_thin(sn_corrector *c) {
  sn_residuals *m = &c->residuals;
  size_t from = (size_t)m->pose_count;
  if (from <= most_poses) return;
  for (size_t p = 1; p < most_poses; p++) move_pose(m, p * from / most_poses, p);
  for (int k = 0; k < c->keys->count; k++) c->pose_of[k] = (int)((size_t)c->pose_of[k] * most_poses / from);
  m->pose_count = most_poses;
}
