// SPDX-License-Identifier: MIT
// Finds local rotations that the training poses do not cover: those that other frames reach, or, without other frames, joints
// that hardly rotate.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "train/train.h"

// Tolerance in degrees around the training range.
static const double least_outside = 5;

typedef struct range {
  double low[3], high[3], trained, reached, outside; // of the rotation vector, degrees
} range;

// The rotation vector of a joint relative to its parent, in degrees.
static sn_vec3 rotation_of(const sn_affine *pose, int joint, int parent) {
  sn_mat3 own, base;
  sn_mat3_polar(sn_affine_linear(pose[joint]), &own, NULL);
  sn_mat3_polar(sn_affine_linear(pose[parent]), &base, NULL);
  return sn_vec3_scale(sn_rotation_log(sn_mat3_mul(sn_mat3_transpose(base), own)), 180 / SN_PI);
}

static void add_training(range *r, sn_vec3 v) {
  const double at[3] = {v.x, v.y, v.z};
  for (int c = 0; c < 3; c++) r->low[c] = fmin(r->low[c], at[c]), r->high[c] = fmax(r->high[c], at[c]);
  r->trained = fmax(r->trained, sn_vec3_length(v));
}

static void add_other(range *r, sn_vec3 v) {
  double x = v.x - fmin(fmax(v.x, r->low[0]), r->high[0]), y = v.y - fmin(fmax(v.y, r->low[1]), r->high[1]);
  double z = v.z - fmin(fmax(v.z, r->low[2]), r->high[2]);
  r->outside = fmax(r->outside, sqrt(x * x + y * y + z * z)), r->reached = fmax(r->reached, sn_vec3_length(v));
}

// Mean weight of a joint over all vertices; 1 without a skin.
static double share_of(const sn_skin *skin, int joint) {
  double sum = 0;
  for (size_t n = 0; n < (size_t)skin->vertex_count * (size_t)skin->influences; n++)
    if (skin->joints[n] == joint) sum += skin->weights[n];
  return skin->vertex_count > 0 ? sum / skin->vertex_count : 1;
}

// Degrees that the training range lacks (0: none), and the advice.
static double describe(const range *r, const char *name, bool others, sn_lack *out) {
  char *text = out->advice;
  size_t size = sizeof out->advice;
  out->trained = r->trained, out->reached = r->reached;
  if (r->outside > least_outside && r->reached > r->trained + least_outside) {
    snprintf(text, size, "add poses of %s beyond %.0f degrees: other frames reach %.0f", name, r->trained,
             r->reached);
  } else if (r->outside > least_outside) {
    snprintf(text, size, "add poses of %s in other directions: other frames are %.0f degrees outside its range", name,
             r->outside);
  } else if (!others && r->trained < 1) {
    snprintf(text, size, "add poses of %s: it never rotates in training", name);
    return 1; // without other frames, rank joints by their weight alone
  } else {
    return 0;
  }
  return r->outside;
}

typedef struct ranked {
  double harm; // degrees times mean weight
  sn_lack lack;
} ranked;

static int compare_ranked(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  return x->harm != y->harm ? (x->harm > y->harm ? -1 : 1) : x->lack.joint - y->lack.joint;
}

sn_status sn_train_lacks(sn_context *ctx, const sn_examples *e, const sn_keys *keys, sn_train_report *report) {
  sn_arena memory = sn_arena_new(ctx);
  int joints = e->skeleton.joint_count, frames = e->poses.frame_count, count = 0, others = frames;
  bool *trained = SN_NEW(ctx, &memory, bool, frames);
  ranked *list = SN_NEW(ctx, &memory, ranked, joints);
  sn_status status = trained && list ? SN_OK : ctx->error.status;
  for (int k = 0; status == SN_OK && k < keys->count; k++)
    if (keys->frames[k] < frames && !trained[keys->frames[k]]) trained[keys->frames[k]] = true, others--;
  for (int j = 0; status == SN_OK && j < joints; j++) {
    int parent = e->skeleton.parents[j];
    double share = share_of(&e->skin, j);
    range r = {0};
    if (parent < 0 || !(share > 0)) continue;
    for (int pass = 0; pass < 2; pass++)
      for (int f = 0; f < frames; f++)
        if (trained[f] == (pass == 0))
          (pass ? add_other : add_training)(&r, rotation_of(sn_pose(&e->poses, f), j, parent));
    list[count].lack.joint = j;
    list[count].harm = share * describe(&r, e->skeleton.names[j], others > 0, &list[count].lack);
    count += list[count].harm > 0;
  }
  if (count > 0) qsort(list, (size_t)count, sizeof *list, compare_ranked);
  for (int k = 0; k < count && k < SN_MOST_LACKS; k++) report->lacks[report->lack_count++] = list[k].lack;
  sn_arena_free(&memory);
  return status;
}
