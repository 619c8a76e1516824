// SPDX-License-Identifier: MIT
// From coarse to fine: clusters, bones and skeleton are found on a sample of vertices and frames, where hundreds of
// rounds are cheap; then the motion of all frames is fitted, then the weights of all vertices, and few rounds remain.
#include "rig/internal.h"

#include <math.h>
#include <string.h>

enum {
  sample_frames = 16,
  sample_least = 1000, // vertices
  sample_per_bone = 50,
  cluster_rounds = 4
};

// Rounds as long as they lower the squared error by the fraction `pays`, `most` at most; the last without
// extrapolation, so that bones and weights fit together.
static sn_status some_rounds(sn_context *ctx, rig_model *m, const rig_way *way, int most, double pays, int *rounds) {
  sn_status status = SN_OK;
  bool last = false;
  double before = INFINITY;
  rig_forget_trail(m);
  for (int round = 0; !last && status == SN_OK; round++, ++*rounds) {
    last = round >= most - 1 || (round > 3 && m->error > (1 - pays) * before);
    before = m->error;
    status = sn_rig_round(ctx, m, way, round % 5 == 3 ? RIG_EXPLORE : RIG_ADJUST, !last);
  }
  return status;
}

// More clusters than wanted, then without the bones that are missed least (Le and Deng's over-complete start).
static sn_status start_bones(sn_context *ctx, sn_arena *memory, const rig_problem *p, const rig_plan *plan,
                             rig_model *m) {
  int spare = plan->bones > 1 ? 1 + plan->bones / 8 : 0, capacity = plan->bones + spare;
  rig_model clusters;
  sn_status status = sn_rig_model_new(ctx, memory, p, capacity, 1, &clusters);
  if (status == SN_OK) status = sn_rig_model_new(ctx, memory, p, capacity, plan->limit, m);
  if (status == SN_OK) status = sn_rig_cluster(ctx, &clusters, capacity, cluster_rounds);
  if (status != SN_OK) return status;
  m->bones = clusters.bones;
  memcpy(m->t, clusters.t, 12 * (size_t)p->f * (size_t)m->bones * sizeof *m->t);
  for (int i = 0; i < p->n; i++) {
    m->joint[(size_t)i * (size_t)m->limit] = clusters.joint[i], m->weight[(size_t)i * (size_t)m->limit] = 1;
  }
  sn_rig_model_refresh(ctx, m);
  int rounds = 0;
  rig_way way = {.affine = plan->affine};
  status = sn_rig_pass(ctx, m, RIG_ADJUST, NULL);
  if (status == SN_OK) status = some_rounds(ctx, m, &way, 4, 0, &rounds);
  while (status == SN_OK && m->bones > plan->bones) {
    status = sn_rig_pass(ctx, m, RIG_PRICE, NULL);
    if (status != SN_OK) break;
    sn_rig_remove_bone(ctx, m, sn_rig_least_missed(m));
    status = sn_rig_pass(ctx, m, RIG_EXPLORE, NULL);
    if (status == SN_OK) status = sn_rig_round(ctx, m, &way, RIG_ADJUST, false);
  }
  return status == SN_OK ? some_rounds(ctx, m, &way, 12, 0.003, &rounds) : status;
}

// The same weights over all frames of p; motions start from those of the sampled frame that is most alike.
static sn_status lift_frames(sn_context *ctx, sn_arena *memory, const rig_model *from, const int *sampled,
                             const rig_problem *p, const rig_way *way, rig_model *m) {
  sn_status status = sn_rig_model_new(ctx, memory, p, from->capacity, from->limit, m);
  if (status != SN_OK) return status;
  m->bones = from->bones;
  size_t slots = (size_t)p->n * (size_t)m->limit;
  memcpy(m->joint, from->joint, slots * sizeof *m->joint);
  memcpy(m->weight, from->weight, slots * sizeof *m->weight);
  for (int f = 0; f < p->f; f++) {
    int nearest = 0;
    double least = INFINITY;
    for (int q = 0; q < from->p->f; q++) {
      double distance = 0;
      for (int i = 0; i < p->n; i += 1 + p->n / 200) {
        const float *a = p->x + ((size_t)i * (size_t)p->f + (size_t)f) * 3;
        const float *b = p->x + ((size_t)i * (size_t)p->f + (size_t)sampled[q]) * 3;
        for (int r = 0; r < 3; r++) distance += ((double)a[r] - (double)b[r]) * ((double)a[r] - (double)b[r]);
      }
      if (distance < least) least = distance, nearest = q;
    }
    for (int j = 0; j < m->bones; j++) sn_rig_set_bone(m, j, f, sn_rig_bone(from, j, nearest));
  }
  sn_rig_model_refresh(ctx, m);
  status = sn_rig_pass(ctx, m, RIG_KEEP, NULL);
  if (status == SN_OK && way->tree) status = sn_rig_tree_fit(ctx, m, way->tree, 6, NULL);
  if (status == SN_OK && !way->tree && !way->affine) status = sn_rig_bones_rigid(ctx, m, 10, NULL);
  int rounds = 0;
  return status == SN_OK ? some_rounds(ctx, m, way, 4, 0.003, &rounds) : status;
}

// The same motions for all vertices of p. Weights start from those of a sampled vertex nearby: the sample is taken along
// the same curve.
static sn_status lift_vertices(sn_context *ctx, sn_arena *memory, const rig_model *from, const rig_problem *p,
                               rig_model *m) {
  sn_status status = sn_rig_model_new(ctx, memory, p, from->capacity, from->limit, m);
  if (status != SN_OK) return status;
  m->bones = from->bones;
  memcpy(m->t, from->t, 12 * (size_t)p->f * (size_t)m->bones * sizeof *m->t);
  for (int i = 0; i < p->n; i++) {
    size_t to = (size_t)p->order[i] * (size_t)m->limit;
    size_t row = (size_t)((int64_t)i * from->p->n / p->n) * (size_t)m->limit;
    memcpy(m->joint + to, from->joint + row, (size_t)m->limit * sizeof *m->joint);
    memcpy(m->weight + to, from->weight + row, (size_t)m->limit * sizeof *m->weight);
  }
  sn_rig_model_refresh(ctx, m);
  status = sn_rig_pass(ctx, m, RIG_EXHAUST, NULL);
  return status == SN_OK ? sn_rig_pass(ctx, m, RIG_EXPLORE, NULL) : status;
}

static int thinnest(const rig_model *m) {
  int best = 0;
  for (int j = 1; j < m->bones; j++)
    if (rig_pair(m, j, j)[9] < rig_pair(m, best, best)[9]) best = j;
  return best;
}

// Removes all bones below the bound. Needs m->pair; afterwards weights, pairs and errors are those of the bones left.
static sn_status remove_slivers(sn_context *ctx, rig_model *m, double bound) {
  sn_status status = SN_OK;
  while (status == SN_OK && m->bones > 1 && sn_rig_share(m, thinnest(m)) < bound) {
    sn_rig_remove_bone(ctx, m, thinnest(m));
    status = sn_rig_pass(ctx, m, RIG_EXPLORE, NULL);
  }
  return status;
}

// No bone may stay below the bound on sum_i w_ij^2. As long as that goes, slivers are replaced by bones where the error is
// largest, then by halves of the largest bones; in the end they are pruned.
static sn_status prune(sn_context *ctx, rig_model *m, const rig_way *way, double bound, int each, int *rounds) {
  sn_status status = SN_OK;
  enum { attempts = 6, splits_from = 2 };
  for (int attempt = 0; status == SN_OK && m->bones > 1 && sn_rig_share(m, thinnest(m)) < bound; attempt++) {
    int wanted = m->bones;
    bool added = attempt < attempts;
    status = remove_slivers(ctx, m, bound);
    while (status == SN_OK && added && m->bones < wanted) {
      bool split = attempt >= splits_from;
      status = split ? sn_rig_split_largest(ctx, m, &added) : sn_rig_add_bone(ctx, m, 2 + attempt, &added);
      if (status == SN_OK && added) status = sn_rig_pass(ctx, m, split ? RIG_KEEP : RIG_EXPLORE, NULL);
    }
    if (status == SN_OK && way->tree) status = sn_rig_tree_build(ctx, m, way->tree);
    if (status == SN_OK) status = some_rounds(ctx, m, way, each, 0.003, rounds);
  }
  return status;
}

// Tells how far the solve is; a caller that has had enough stops it.
static sn_status tell(sn_context *ctx, sn_status status, double done) {
  if (status != SN_OK || sn_progress(ctx, "rig", done)) return status;
  return sn_fail(ctx, SN_NOT_CONVERGED, "stopped by the caller");
}

static sn_status solve_coarse(sn_context *ctx, sn_arena *memory, rig_problem *p, const rig_plan *plan,
                              const rig_way *way, rig_model *m) {
  int rounds = 0;
  rig_way loose = {.affine = plan->affine};
  sn_status status = tell(ctx, start_bones(ctx, memory, p, plan, m), 0.05);
  if (status == SN_OK) status = sn_rig_refine(ctx, m, &loose, way->tree ? 8 + 2 * plan->effort : 14 * plan->effort);
  status = tell(ctx, status, 0.25);
  if (status == SN_OK) status = some_rounds(ctx, m, &loose, way->tree ? 6 : 50, 0.001, &rounds);
  if (status == SN_OK) status = prune(ctx, m, &loose, RIG_THINNEST, 6, &rounds);
  if (!way->tree || status != SN_OK) return status;
  status = sn_rig_problem_moments(ctx, memory, p);
  if (status == SN_OK) status = sn_rig_tree_build(ctx, m, way->tree);
  if (status == SN_OK) status = sn_rig_tree_fit(ctx, m, way->tree, 5, NULL);
  if (status == SN_OK) status = some_rounds(ctx, m, way, 8, 0.003, &rounds);
  status = tell(ctx, status, 0.4);
  if (status == SN_OK) status = sn_rig_refine(ctx, m, way, 8 + plan->effort * 2);
  if (status == SN_OK) status = some_rounds(ctx, m, way, 30, 0.002, &rounds);
  return status == SN_OK ? prune(ctx, m, way, RIG_THINNEST, 8, &rounds) : status;
}

// The last joints that are still outside come in as long as that does not cost more than it is worth.
static sn_status pull_inside(sn_context *ctx, rig_model *m, const rig_way *way, int *rounds) {
  enum { most = 16 };
  double bearable = 1.1 * 1.1 * m->error;
  sn_status status = SN_OK;
  way->tree->rise = 0.05;
  for (int k = 0; k < most && status == SN_OK && m->error < bearable && sn_rig_joints_outside(way->tree) > 0; k++) {
    status = sn_rig_round(ctx, m, way, RIG_ADJUST, false);
    ++*rounds;
  }
  return status;
}

sn_status sn_rig_solve(sn_context *ctx, sn_arena *memory, const rig_problem *p, const rig_plan *plan, rig_model *m,
                       rig_tree *tree, int *rounds) {
  sn_arena scratch = sn_arena_new(ctx), coarse_memory = sn_arena_new(ctx);
  int vertices = plan->bones * sample_per_bone > sample_least ? plan->bones * sample_per_bone : sample_least;
  int *sampled = SN_NEW(ctx, &scratch, int, p->f);
  rig_problem coarse, middle;
  rig_model coarse_model, middle_model;
  sn_status status = sampled ? SN_OK : ctx->error.status;
  // Smoothness is between neighbours of the whole mesh: samples go without.
  rig_way rough = {.tree = plan->tree ? tree : NULL, .affine = plan->affine}, way = rough;
  way.smooth = plan->smooth;
  *rounds = 0;
  if (status == SN_OK) status = sn_rig_tree_new(ctx, memory, plan->bones + 2 + plan->bones / 8, tree);
  tree->body = plan->body, tree->rise = 0.02; // the weights win that much back
  if (status == SN_OK) status = sn_rig_sample(ctx, &coarse_memory, p, vertices, sample_frames, &coarse, sampled);
  if (status == SN_OK) status = solve_coarse(ctx, &coarse_memory, &coarse, plan, &rough, &coarse_model);
  status = tell(ctx, status, 0.55);
  int *all = SN_NEW(ctx, &scratch, int, p->f);
  if (status == SN_OK && !all) status = ctx->error.status;
  if (status == SN_OK) status = sn_rig_sample(ctx, &scratch, p, vertices, p->f, &middle, all);
  if (status == SN_OK) {
    status = lift_frames(ctx, &scratch, &coarse_model, sampled, &middle, &rough, &middle_model);
  }
  sn_arena_free(&coarse_memory);
  status = tell(ctx, status, 0.65);
  if (status == SN_OK) status = lift_vertices(ctx, memory, &middle_model, p, m);
  sn_arena_free(&scratch);
  status = tell(ctx, status, 0.75);
  if (status == SN_OK) status = some_rounds(ctx, m, &way, plan->iterations, 0.0005, rounds);
  if (status == SN_OK) status = prune(ctx, m, &way, 2 * RIG_THINNEST, 3, rounds);
  if (status == SN_OK && plan->tree) status = pull_inside(ctx, m, &way, rounds);
  return status;
}
