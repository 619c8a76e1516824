// SPDX-License-Identifier: MIT
// Bone transformations with exact joints (the limit lambda -> infinity of Le and Deng 2014): Gauss-Newton on one rotation per
// bone and the root's translation, with forward kinematics. Updating one bone at a time stalls when joints are exact, so all
// rotations of a frame are solved together.
//
// A point of bone j moves by  w_j x y + p_j,  y = R_j (u - C_j),  where p_j, the shift of the joint, follows from the
// ancestors:  p_j = p_parent + w_parent x l_j,  l_j = R_parent (C_j - C_parent).
#include "rig/solve.h"
#include "rig/tree_cg.h"

#include <math.h>
#include <string.h>

typedef struct frame_work {
  sn_affine *bone, *trial; // bones
  double (*moment)[3][4];  // bones: residual moments
  double (*changed)[3][4]; // bones: residual moments of the trial
  double (*arm)[3][4];     // bones: [R_j | -R_j C_j]; maps u~ to y
  double *gradient, *step; // 6 bones each: rotation and shift of each bone
  rig_cg cg;
} frame_work;

typedef struct fit_job {
  fit_model *m;
  const rig_tree *tree;
  const bool *locked;
  int steps;
  frame_work *work; // per worker
  const int *start, *overlap;
  double (*pair)[4][4];  // S of every pair in `overlap`
  double (*whole)[4][4]; // bones: sum_k S_jk = sum_i w_ij u~ u~^T
} fit_job;

static void multiply_pair(const double d[3][4], const double s[4][4], double out[3][4]) {
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++)
      out[r][c] = d[r][0] * s[0][c] + d[r][1] * s[1][c] + d[r][2] * s[2][c] + d[r][3] * s[3][c];
}

static void set_arms(const fit_job *job, frame_work *w) {
  for (int j = 0; j < job->m->bones; j++) {
    const double *c = job->tree->joint[j];
    for (int r = 0; r < 3; r++) {
      for (int e = 0; e < 3; e++) w->arm[j][r][e] = w->bone[j].m[r][e];
      w->arm[j][r][3] = -(w->bone[j].m[r][0] * c[0] + w->bone[j].m[r][1] * c[1] + w->bone[j].m[r][2] * c[2]);
    }
    rig_moment_force(w->moment[j], w->arm[j], w->gradient + 6 * j);
  }
}

// l_j = R_parent (C_j - C_parent)
static void joint_arm(const rig_tree *tree, const sn_affine *bone, int j, double l[3]) {
  int k = tree->parent[j];
  for (int r = 0; r < 3; r++) {
    l[r] = 0;
    for (int c = 0; c < 3; c++) l[r] += bone[k].m[r][c] * (tree->joint[j][c] - tree->joint[k][c]);
  }
}

// The preconditioner's blocks for rotation and shift of each bone, from sum_k S_jk.
static void fill_bodies(const fit_job *job, frame_work *w) {
  for (int j = 0; j < job->m->bones; j++) {
    double ys[3][4], q[3][3]; // sums of w y u~^T and w y y^T
    rig_cg_body *body = &w->cg.body[j];
    multiply_pair((const double(*)[4])w->arm[j], (const double(*)[4])job->whole[j], ys);
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 3; c++) {
        q[r][c] = 0;
        for (int d = 0; d < 4; d++) q[r][c] += ys[r][d] * w->arm[j][c][d];
      }
    double trace = q[0][0] + q[1][1] + q[2][2], total = job->whole[j][3][3];
    const double moved[3] = {ys[0][3], ys[1][3], ys[2][3]};
    *body = (rig_cg_body){.across = rig_cross_matrix(moved), .shift = sn_mat3_diagonal(total, total, total)};
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 3; c++) body->turn.m[r][c] = (r == c ? trace : 0) - q[c][r];
    if (job->tree->parent[j] >= 0) joint_arm(job->tree, w->bone, j, body->arm);
  }
}

static bool solve_step(const fit_job *job, frame_work *w, double damping) {
  fill_bodies(job, w);
  return sn_rig_cg_solve(&w->cg, damping, w->gradient, w->step);
}

// The trial bones: rotated by the step, then connected at the joints from the root outwards.
static void make_trial(const fit_job *job, frame_work *w) {
  const rig_tree *tree = job->tree;
  for (int q = 0; q < tree->bones; q++) {
    int j = tree->order[q], parent = tree->parent[j];
    if (job->locked && job->locked[j]) {
      w->trial[j] = w->bone[j];
      continue;
    }
    const double *step = w->step + 6 * (size_t)j;
    sn_vec3 turn = {step[0], step[1], step[2]}, shift = {step[3], step[4], step[5]};
    sn_vec3 c = {tree->joint[j][0], tree->joint[j][1], tree->joint[j][2]}, place;
    sn_mat3 r = sn_mat3_mul(sn_rotation_exp(turn), sn_affine_linear(w->bone[j]));
    r = sn_quat_to_mat3(sn_quat_from_mat3(r));
    if (parent >= 0) {
      place = sn_affine_apply(w->trial[parent], c);
    } else {
      place = sn_vec3_add(sn_affine_apply(w->bone[j], c), shift);
    }
    w->trial[j] = sn_affine_make(r, sn_vec3_sub(place, sn_mat3_apply(r, c)));
  }
}

// Moments of the trial; returns the change of the error, -sum_j <D_j, M_j + M'_j>.
static double trial_change(const fit_job *job, frame_work *w) {
  int bones = job->m->bones;
  double change = 0;
  memcpy(w->changed, w->moment, (size_t)bones * sizeof *w->moment);
  for (int j = 0; j < bones; j++) {
    double d[3][4], product[3][4];
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 4; c++) d[r][c] = w->trial[j].m[r][c] - w->bone[j].m[r][c];
    for (int e = job->start[j]; e < job->start[j + 1]; e++) {
      int k = job->overlap[e];
      multiply_pair(d, (const double(*)[4])job->pair[e], product);
      for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) w->changed[k][r][c] -= product[r][c];
    }
  }
  for (int j = 0; j < bones; j++)
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 4; c++) {
        double d = w->trial[j].m[r][c] - w->bone[j].m[r][c];
        change -= d * (w->moment[j][r][c] + w->changed[j][r][c]);
      }
  return change;
}

static void fit_frame(const fit_job *job, frame_work *w) {
  double damping = 1e-6;
  for (int round = 0; round < job->steps; round++) {
    set_arms(job, w);
    bool better = false;
    for (int attempt = 0; attempt < 6 && !better; attempt++) {
      if (solve_step(job, w, damping)) {
        make_trial(job, w);
        better = trial_change(job, w) < 0;
      }
      damping = better ? damping * 0.1 : damping * 30 + 1e-4;
    }
    if (!better) return;
    memcpy(w->bone, w->trial, (size_t)job->m->bones * sizeof *w->bone);
    memcpy(w->moment, w->changed, (size_t)job->m->bones * sizeof *w->moment);
  }
}

static void fit_frames(void *user, int64_t begin, int64_t end, int worker) {
  fit_job *job = user;
  fit_model *m = job->m;
  frame_work *w = &job->work[worker];
  size_t columns = 3 * (size_t)m->p->f;
  for (int64_t f = begin; f < end; f++) {
    for (int j = 0; j < m->bones; j++) {
      w->bone[j] = sn_fit_bone(m, j, (int)f);
      for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++)
          w->moment[j][r][c] = m->moment[(size_t)(4 * j + c) * columns + 3 * (size_t)f + (size_t)r];
    }
    // The joints may not be exact yet: connect the bones first.
    for (int e = 0; e < 6 * m->bones; e++) w->step[e] = 0;
    make_trial(job, w);
    trial_change(job, w);
    memcpy(w->bone, w->trial, (size_t)m->bones * sizeof *w->bone);
    memcpy(w->moment, w->changed, (size_t)m->bones * sizeof *w->moment);
    fit_frame(job, w);
    for (int j = 0; j < m->bones; j++) {
      sn_fit_set_bone(m, j, (int)f, w->bone[j]);
      for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++)
          m->moment[(size_t)(4 * j + c) * columns + 3 * (size_t)f + (size_t)r] = w->moment[j][r][c];
    }
  }
}

static bool new_work(sn_context *ctx, sn_arena *memory, const fit_job *job, frame_work *w) {
  size_t bones = (size_t)job->m->bones;
  w->bone = SN_NEW(ctx, memory, sn_affine, bones), w->trial = SN_NEW(ctx, memory, sn_affine, bones);
  w->moment = sn_arena_alloc(ctx, memory, bones, sizeof *w->moment);
  w->changed = sn_arena_alloc(ctx, memory, bones, sizeof *w->changed);
  w->arm = sn_arena_alloc(ctx, memory, bones, sizeof *w->arm);
  w->gradient = SN_NEW(ctx, memory, double, 6 * bones), w->step = SN_NEW(ctx, memory, double, 6 * bones);
  if (!w->bone || !w->trial || !w->moment || !w->changed || !w->arm || !w->gradient || !w->step) return false;
  w->cg = (rig_cg){.bones = job->m->bones,
                   .tree = job->tree,
                   .locked = job->locked,
                   .start = job->start,
                   .overlap = job->overlap,
                   .pair = (const double(*)[4][4])job->pair,
                   .arm = (const double(*)[3][4])w->arm};
  return sn_rig_cg_new(ctx, memory, job->m->bones, &w->cg);
}

static bool unpack_pairs(sn_context *ctx, sn_arena *memory, fit_job *job) {
  job->pair = sn_arena_alloc(ctx, memory, (size_t)job->start[job->m->bones], sizeof *job->pair);
  job->whole = sn_arena_alloc(ctx, memory, (size_t)job->m->bones, sizeof *job->whole);
  if (!job->pair || !job->whole) return false;
  for (int j = 0; j < job->m->bones; j++)
    for (int e = job->start[j]; e < job->start[j + 1]; e++) {
      fit_unpack(fit_pair(job->m, j, job->overlap[e]), job->pair[e]);
      for (int c = 0; c < 16; c++) job->whole[j][c / 4][c % 4] += job->pair[e][c / 4][c % 4];
    }
  return true;
}

sn_status sn_rig_tree_fit(sn_context *ctx, fit_model *m, const rig_tree *tree, int steps, const bool *locked) {
  sn_arena scratch = sn_arena_new(ctx);
  int workers = sn_threads(ctx);
  frame_work *work = SN_NEW(ctx, &scratch, frame_work, workers);
  fit_job job = {.m = m, .tree = tree, .locked = locked, .steps = steps, .work = work};
  bool good = work && sn_rig_overlaps(ctx, &scratch, m, &job.start, &job.overlap);
  if (good) good = unpack_pairs(ctx, &scratch, &job);
  for (int t = 0; t < workers && good; t++) good = new_work(ctx, &scratch, &job, &work[t]);
  if (good) {
    sn_parallel_for(ctx, m->p->f, 1, fit_frames, &job);
    sn_fit_model_refresh(ctx, m);
  }
  sn_arena_free(&scratch);
  return good ? SN_OK : ctx->error.status;
}
