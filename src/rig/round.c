// SPDX-License-Identifier: MIT
// The alternation between bones and weights. Plain alternation converges slowly along valleys of the error; extrapolating
// the bones speeds it up.
#include "rig/solve.h"

#include <math.h>
#include <string.h>

// Extrapolates a bone: repeats the rotation and the shift of point c from a (before) to b (now).
static sn_affine go_on(sn_affine a, sn_affine b, sn_vec3 c) {
  sn_mat3 before = sn_affine_linear(a), now = sn_affine_linear(b);
  // Via a quaternion: the rounding error of the product of three rotations would grow every round.
  sn_mat3 r = sn_quat_to_mat3(sn_quat_from_mat3(sn_mat3_mul(sn_mat3_mul(now, sn_mat3_transpose(before)), now)));
  sn_vec3 p = sn_affine_apply(a, c), q = sn_affine_apply(b, c);
  sn_vec3 place = sn_vec3_add(q, sn_vec3_sub(q, p));
  return sn_affine_make(r, sn_vec3_sub(place, sn_mat3_apply(r, c)));
}

typedef struct extrapolate_job {
  fit_model *m;
  const rig_tree *tree; // NULL: none
} extrapolate_job;

static void extrapolate_frames(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  extrapolate_job *job = user;
  fit_model *m = job->m, old = *job->m;
  old.t = m->trail;
  for (int64_t f = begin; f < end; f++)
    for (int q = 0; q < m->bones; q++) {
      int j = job->tree ? job->tree->order[q] : q;
      double s[4][4];
      fit_unpack(fit_pair(m, j, j), s);
      double total = s[3][3] > 0 ? s[3][3] : 1;
      sn_vec3 c = {s[0][3] / total, s[1][3] / total, s[2][3] / total};
      sn_affine now = sn_fit_bone(m, j, (int)f), next;
      if (job->tree) c = (sn_vec3){job->tree->joint[j][0], job->tree->joint[j][1], job->tree->joint[j][2]};
      next = go_on(sn_fit_bone(&old, j, (int)f), now, c);
      if (job->tree && job->tree->parent[j] >= 0) {
        sn_vec3 place = sn_affine_apply(sn_fit_bone(m, job->tree->parent[j], (int)f), c);
        sn_mat3 r = sn_affine_linear(next);
        next = sn_affine_make(r, sn_vec3_sub(place, sn_mat3_apply(r, c)));
      }
      sn_fit_set_bone(m, j, (int)f, next);
      sn_fit_set_bone(&old, j, (int)f, now);
    }
}

// Extrapolates all bones. Stores the bones before extrapolation in m->trail.
static void extrapolate_bones(const sn_context *ctx, fit_model *m, const rig_way *way) {
  size_t count = 12 * (size_t)m->bones * (size_t)m->p->f;
  if (way->affine) {
    for (size_t e = 0; e < count; e++) {
      double now = m->t[e];
      m->t[e] += now - m->trail[e], m->trail[e] = now;
    }
  } else {
    extrapolate_job job = {m, way->tree};
    fit_parallel(ctx, m->p->f, 8, 64.0 * m->bones * m->p->f, extrapolate_frames, &job);
  }
  sn_fit_model_refresh(ctx, m);
}

// Change of the squared error from the bones and moments saved in `before` to the present ones: -<D, M + M'>.
static double error_change(const fit_model *m, const double *before) {
  size_t count = 12 * (size_t)m->bones * (size_t)m->p->f;
  double sum = 0;
  for (size_t e = 0; e < count; e++) sum -= (m->t[e] - before[e]) * (m->moment[e] + before[count + e]);
  return sum;
}

sn_status sn_rig_nudge_joints(sn_context *ctx, fit_model *m, rig_tree *tree, double most, bool *moved_any) {
  size_t count = 12 * (size_t)m->bones * (size_t)m->p->f;
  sn_arena scratch = sn_arena_new(ctx);
  double *before = SN_NEW(ctx, &scratch, double, 2 * count);
  sn_status status = before ? SN_OK : ctx->error.status;
  double spent = 0;
  for (int j = 0; j < m->bones && tree->body && status == SN_OK; j++) {
    double old[3], inside[3];
    if (tree->parent[j] < 0 || sn_rig_inside(tree->body, tree->joint[j])) continue;
    if (!sn_rig_joint_inside(tree, j, inside)) continue;
    memcpy(before, m->t, count * sizeof *before), memcpy(before + count, m->moment, count * sizeof *before);
    memcpy(old, tree->joint[j], sizeof old), memcpy(tree->joint[j], inside, sizeof inside);
    status = sn_rig_tree_fit(ctx, m, tree, 4, NULL);
    double change = error_change(m, before);
    if (status == SN_OK && spent + change > most) {
      memcpy(m->t, before, count * sizeof *before), memcpy(m->moment, before + count, count * sizeof *before);
      memcpy(tree->joint[j], old, sizeof old);
      sn_fit_model_refresh(ctx, m);
    } else {
      *moved_any = true;
      spent += change;
    }
  }
  sn_arena_free(&scratch);
  return status;
}

static sn_status update_bones(sn_context *ctx, fit_model *m, const rig_way *way) {
  if (way->tree) {
    sn_status status = sn_rig_tree_move_joints(ctx, m, way->tree);
    return status == SN_OK ? sn_rig_tree_fit(ctx, m, way->tree, 2, NULL) : status;
  }
  return way->affine ? sn_rig_bones_affine(ctx, m) : sn_rig_bones_rigid(ctx, m, 2, NULL);
}

sn_status sn_rig_refit(sn_context *ctx, fit_model *m, const rig_way *way) {
  size_t count = 12 * (size_t)m->bones * (size_t)m->p->f;
  if (way->affine) return SN_OK; // would invalidate the moments
  sn_arena scratch = sn_arena_new(ctx);
  double *before = SN_NEW(ctx, &scratch, double, 2 * count);
  sn_status status = before ? SN_OK : ctx->error.status;
  if (status == SN_OK) {
    memcpy(before, m->t, count * sizeof *before), memcpy(before + count, m->moment, count * sizeof *before);
    status = way->tree ? sn_rig_tree_fit(ctx, m, way->tree, 2, NULL) : sn_rig_bones_rigid(ctx, m, 2, NULL);
  }
  if (status == SN_OK) m->error += error_change(m, before);
  sn_arena_free(&scratch);
  return status;
}

sn_status sn_rig_round(sn_context *ctx, fit_model *m, const rig_way *way, fit_support mode, bool extrapolate) {
  size_t bytes = 12 * (size_t)m->bones * (size_t)m->p->f * sizeof *m->t;
  double before = m->error;
  sn_status status = update_bones(ctx, m, way);
  if (status != SN_OK) return status;
  bool ahead = extrapolate && m->trail_age > 0;
  if (ahead) {
    extrapolate_bones(ctx, m, way);
  } else {
    memcpy(m->trail, m->t, bytes);
  }
  m->trail_age++;
  status = sn_fit_pass(ctx, m, mode, way->smooth);
  if (status == SN_OK && ahead && !(m->error < before)) {
    memcpy(m->t, m->trail, bytes);
    sn_fit_model_refresh(ctx, m);
    m->trail_age = 0;
    status = sn_fit_pass(ctx, m, mode, way->smooth);
  }
  return status;
}
