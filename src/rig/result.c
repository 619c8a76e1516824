// SPDX-License-Identifier: MIT
// Rounds the poses of a result as a file stores them, and reports the error.
#include "rig/solve.h"

#include <float.h>
#include <math.h>

static sn_quat round_quat(sn_quat q) {
  return (sn_quat){(double)(float)q.x, (double)(float)q.y, (double)(float)q.z, (double)(float)q.w};
}

static sn_vec3 round_vec3(sn_vec3 v) { return (sn_vec3){(double)(float)v.x, (double)(float)v.y, (double)(float)v.z}; }

static void round_matrix(sn_affine *a) {
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) a->m[r][c] = (double)(float)a->m[r][c];
}

// Local transform of joint j in a frame, rounded. `exact` are the skinning matrices before rounding.
static sn_affine local_transform(const sn_skeleton *skeleton, const sn_affine *exact, int j) {
  sn_affine joint = sn_affine_mul(exact[j], skeleton->rest[j]), inverse;
  int parent = skeleton->parents[j];
  if (parent >= 0 && sn_affine_invert(sn_affine_mul(exact[parent], skeleton->rest[parent]), &inverse)) {
    joint = sn_affine_mul(inverse, joint);
  }
  sn_vec3 t, s;
  sn_quat r;
  sn_affine_to_trs(joint, &t, &r, &s);
  if (fabs(s.x - 1) + fabs(s.y - 1) + fabs(s.z - 1) < 8 * (double)FLT_EPSILON) s = (sn_vec3){1, 1, 1};
  return sn_affine_from_trs(round_vec3(t), round_quat(r), round_vec3(s));
}

void sn_rig_round_poses(const sn_skeleton *skeleton, bool affine, sn_poses *poses) {
  for (int f = 0; f < poses->frame_count; f++) {
    sn_affine *pose = sn_pose(poses, f);
    if (affine) {
      for (int j = 0; j < poses->joint_count; j++) round_matrix(&pose[j]);
      continue;
    }
    // Children before parents: a local transform needs the exact matrix of the parent.
    for (int q = poses->joint_count - 1; q >= 0; q--) {
      int j = skeleton->order[q];
      pose[j] = local_transform(skeleton, pose, j);
    }
    for (int q = 0; q < poses->joint_count; q++) {
      int j = skeleton->order[q];
      if (skeleton->parents[j] >= 0) pose[j] = sn_affine_mul(pose[skeleton->parents[j]], pose[j]);
    }
    for (int j = 0; j < poses->joint_count; j++) {
      sn_affine bind;
      if (sn_affine_invert(skeleton->rest[j], &bind)) pose[j] = sn_affine_mul(pose[j], bind);
    }
  }
}

void sn_rig_report_error(const fit_model *m, double scale, const sn_mesh *rest, sn_rig_report *report) {
  double diagonal = sn_points_diagonal(rest->positions, rest->vertex_count);
  report->bones = m->bones;
  report->rms = scale * sqrt(m->error / ((double)m->p->n * m->p->f));
  report->rms_pct_diag = diagonal > 0 ? 100 * report->rms / diagonal : 0;
}
