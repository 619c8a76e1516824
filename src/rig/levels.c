// SPDX-License-Identifier: MIT
// Coarse to fine: solves clusters, bones and skeleton on a sample of vertices and frames, where hundreds of rounds are cheap.
// Then fits the motion of all frames, then the weights of all vertices, and ends with a few rounds over all the data.
#include "rig/solve.h"

#include <math.h>
#include <string.h>

// Parameters of the solver.
enum {
  sample_frames = 16,   // most frames of a sample
  sample_least = 1000,  // least vertices of a sample
  sample_per_bone = 50, // vertices of a sample per bone
  cluster_rounds = 4,   // rounds of assignment and fit after every split
  join_steps = 5,       // Gauss-Newton steps of a new tree
  exchanges = 10,       // most exchanges of the search
  candidates = 4,       // bones tried for each removal
  most_rounds = 100,    // on the sample
  settled_rounds = 12,  // after a start or an exchange
  few_rounds = 4,       // within one
  searched_bones = 100  // most bones for which the search runs: its cost grows fast
};
static const double gain_meanwhile = 0.003; // least relative gain (squared error) of a round, in intermediate steps
static const double gain_at_last = 0.0005;  // the same in the final rounds
static const double allowed_inside = 1.2;   // largest factor on the rms error to move joints inside, at the end
static const double gain_of_bone = 0.02;    // least relative gain (squared error) of a bone
static const double exchange_part = 0.998;  // an exchange is kept if it lowers the squared error to this part

typedef struct rig_rounds {
  int least, most;
  double gain;
} rig_rounds;

// At least `least`, at most `most` rounds, while `handful` of them lower the squared error by the fraction `gain` each on average
// (extrapolation may fail in a single round). The last round does not extrapolate, so that bones and weights are consistent.
static sn_status rounds_between(sn_context *ctx, fit_model *m, const rig_way *way, rig_rounds some, int *rounds) {
  enum { handful = 4 };
  sn_status status = SN_OK;
  bool last = false;
  double before[handful];
  rig_forget_trail(m);
  for (int round = 0; !last && status == SN_OK; round++, ++*rounds) {
    last = round >= some.most - 1 || (round >= handful && round >= some.least &&
                                      m->error > (1 - handful * some.gain) * before[round % handful]);
    before[round % handful] = m->error;
    status = sn_rig_round(ctx, m, way, round % 5 == 3 ? FIT_EXPLORE : FIT_ADJUST, !last);
  }
  return status;
}

static sn_status some_rounds(sn_context *ctx, fit_model *m, const rig_way *way, int most, double gain, int *rounds) {
  return rounds_between(ctx, m, way, (rig_rounds){0, most, gain}, rounds);
}

sn_status sn_rig_start_clusters(sn_context *ctx, sn_arena *memory, const rig_way *way, fit_model *m) {
  const fit_problem *p = m->p;
  fit_model clusters;
  sn_status status = sn_fit_model_new(ctx, memory, p, m->capacity, 1, &clusters);
  if (status == SN_OK) status = sn_rig_cluster(ctx, &clusters, m->capacity, cluster_rounds);
  if (status != SN_OK) return status;
  m->bones = clusters.bones;
  memcpy(m->t, clusters.t, 12 * (size_t)p->f * (size_t)m->bones * sizeof *m->t);
  for (int i = 0; i < p->n; i++) {
    m->joint[(size_t)i * (size_t)m->limit] = clusters.joint[i], m->weight[(size_t)i * (size_t)m->limit] = 1;
  }
  sn_fit_model_refresh(ctx, m);
  int rounds = 0;
  status = sn_fit_pass(ctx, m, FIT_ADJUST, NULL);
  return status == SN_OK ? some_rounds(ctx, m, way, few_rounds, 0, &rounds) : status;
}

sn_status sn_rig_remove_cheapest(sn_context *ctx, fit_model *m, const rig_way *way, int count) {
  bool gone[FIT_MOST_BONES] = {false};
  sn_status status = sn_fit_pass(ctx, m, FIT_PRICE, NULL);
  if (status != SN_OK) return status;
  for (int taken = 0; taken < count; taken++) {
    int j = sn_rig_cheapest_bone(m);
    if (isinf(m->price[j])) break;
    gone[j] = true;
    for (int k = 0; k < m->bones; k++)
      if (k == j || fit_pair(m, j, k)[9] > 0) m->price[k] = INFINITY;
  }
  sn_rig_remove_bones(ctx, m, gone);
  status = sn_fit_pass(ctx, m, FIT_EXPLORE, NULL);
  return status == SN_OK ? sn_rig_round(ctx, m, way, FIT_ADJUST, false) : status;
}

// The frame of a most similar to frame f of b; both have the same vertices.
static int nearest_frame(const fit_problem *a, const fit_problem *b, int f) {
  int nearest = 0;
  double least = INFINITY;
  for (int q = 0; q < a->f; q++) {
    double distance = 0;
    for (int i = 0; i < b->n; i += 1 + b->n / 200) {
      const float *x = fit_row(a, i) + 3 * q, *y = fit_row(b, i) + 3 * f; // a sample is in memory
      for (int r = 0; r < 3; r++) distance += ((double)x[r] - (double)y[r]) * ((double)x[r] - (double)y[r]);
    }
    if (distance < least) least = distance, nearest = q;
  }
  return nearest;
}

sn_status sn_rig_follow(sn_context *ctx, sn_arena *memory, const fit_model *from, const fit_problem *p,
                        const rig_tree *tree, fit_model *m) {
  sn_status status = sn_fit_model_new(ctx, memory, p, from->capacity, from->limit, m);
  if (status != SN_OK) return status;
  m->bones = from->bones;
  size_t slots = (size_t)p->n * (size_t)m->limit;
  memcpy(m->joint, from->joint, slots * sizeof *m->joint);
  memcpy(m->weight, from->weight, slots * sizeof *m->weight);
  for (int f = 0; f < p->f; f++) {
    int nearest = nearest_frame(from->p, p, f);
    for (int j = 0; j < m->bones; j++) sn_fit_set_bone(m, j, f, sn_fit_bone(from, j, nearest));
  }
  sn_fit_model_refresh(ctx, m);
  status = sn_fit_pass(ctx, m, FIT_KEEP, NULL);
  if (status != SN_OK) return status;
  return tree ? sn_rig_tree_fit(ctx, m, tree, 6, NULL) : sn_rig_bones_rigid(ctx, m, 10, NULL);
}

// The same motion for the vertices of m, which are more, or have fewer influences. Weights start from those of a nearby vertex:
// a sample follows the order of the problem that it is taken from.
static sn_status transfer(sn_context *ctx, const fit_model *from, fit_model *m) {
  const fit_problem *p = m->p;
  m->bones = from->bones;
  memcpy(m->t, from->t, 12 * (size_t)p->f * (size_t)m->bones * sizeof *m->t);
  for (int i = 0; i < p->n; i++) {
    size_t to = (size_t)p->order[i] * (size_t)m->limit;
    size_t row = (size_t)((int64_t)i * from->p->n / p->n) * (size_t)from->limit;
    double total = 0;
    for (int q = 0; q < m->limit; q++) total += from->weight[row + (size_t)q]; // the largest come first
    memcpy(m->joint + to, from->joint + row, (size_t)m->limit * sizeof *m->joint);
    for (int q = 0; q < m->limit; q++) m->weight[to + (size_t)q] = from->weight[row + (size_t)q] / total;
  }
  sn_fit_model_refresh(ctx, m);
  rig_forget_trail(m);
  sn_status status = sn_fit_pass(ctx, m, FIT_EXHAUST, NULL);
  return status == SN_OK ? sn_fit_pass(ctx, m, FIT_EXPLORE, NULL) : status;
}

// The sliver with the least weight; -1: none.
static int thinnest(const fit_model *m, const rig_tree *tree, double bound) {
  int best = -1;
  for (int j = 0; j < m->bones; j++) {
    if (!sn_rig_is_sliver(m, tree, j, bound)) continue;
    if (best < 0 || sn_rig_share(m, j) < sn_rig_share(m, best)) best = j;
  }
  return best;
}

// Removes all slivers. Needs m->pair; updates weights, pairs and errors.
static sn_status remove_slivers(sn_context *ctx, fit_model *m, const rig_way *way, double bound) {
  sn_status status = SN_OK;
  for (int thin; status == SN_OK && m->bones > 1 && (thin = thinnest(m, way->tree, bound)) >= 0;) {
    if (way->tree) sn_rig_tree_remove(m, way->tree, thin);
    sn_rig_remove_bone(ctx, m, thin);
    status = sn_fit_pass(ctx, m, FIT_EXPLORE, NULL);
  }
  return status;
}

// Replaces slivers by new bones where the error is largest; after `attempts` tries it only removes them.
static sn_status prune(sn_context *ctx, fit_model *m, const rig_way *way, double bound, int each, int *rounds) {
  enum { attempts = 4 };
  sn_status status = SN_OK;
  for (int attempt = 0; status == SN_OK && m->bones > 1 && thinnest(m, way->tree, bound) >= 0; attempt++) {
    int target = m->bones;
    bool added = attempt < attempts;
    status = remove_slivers(ctx, m, way, bound);
    while (status == SN_OK && added && m->bones < target) {
      status = sn_rig_add_bone(ctx, m, 2 + attempt, &added);
      if (status == SN_OK && added) status = sn_fit_pass(ctx, m, FIT_EXPLORE, NULL);
      if (status == SN_OK && added && way->tree) sn_rig_tree_add(m, way->tree);
    }
    if (status == SN_OK) status = some_rounds(ctx, m, way, each, gain_meanwhile, rounds);
  }
  return status;
}

// Reports progress; fails if the caller cancels.
static sn_status tell(sn_context *ctx, sn_status status, int stage) {
  enum { stages = 6 };
  if (status != SN_OK || sn_progress(ctx, "rig", (double)stage / stages)) return status;
  return sn_fail(ctx, SN_STOPPED, "rig: stopped");
}

// Moves joints inside the body one by one, up to `allowed_inside` times the error.
static sn_status draw_inside(sn_context *ctx, fit_model *m, const rig_way *way) {
  bool moved = false;
  if (sn_rig_joints_outside(way->tree) == 0) return SN_OK;
  sn_status status = sn_rig_nudge_joints(ctx, m, way->tree, (allowed_inside * allowed_inside - 1) * m->error, &moved);
  return status == SN_OK && moved ? sn_fit_pass(ctx, m, FIT_ADJUST, way->smooth) : status;
}

// Builds the tree and fits it. The first rounds keep the weights: while joints move much, vertices would change bones.
static sn_status join(sn_context *ctx, fit_model *m, const rig_way *way, int most) {
  int rounds = 0;
  sn_status status = sn_rig_tree_build(ctx, m, way->tree);
  if (status == SN_OK) status = sn_rig_tree_fit(ctx, m, way->tree, join_steps, NULL);
  if (status == SN_OK) status = sn_fit_pass(ctx, m, FIT_KEEP, NULL);
  rig_forget_trail(m);
  for (int k = 0; k < most / 2 && status == SN_OK; k++) status = sn_rig_round(ctx, m, way, FIT_KEEP, true);
  return status == SN_OK ? rounds_between(ctx, m, way, (rig_rounds){most / 2, most, gain_meanwhile}, &rounds)
                         : status;
}

// ---- search on the sample -------------------------------------------------------------------------------------------

typedef struct rig_state {
  fit_model m;
  rig_tree tree;
} rig_state;

// Saved states: before an exchange, before removing a bone, and the best after removing one.
typedef struct rig_search {
  sn_context *ctx;
  fit_model *m;
  rig_way way;
  rig_state before, whole, best;
} rig_search;

static sn_status new_state(sn_context *ctx, sn_arena *memory, const fit_model *m, rig_state *out) {
  sn_status status = sn_fit_model_new(ctx, memory, m->p, m->capacity, m->limit, &out->m);
  return status == SN_OK ? sn_rig_tree_new(ctx, memory, m->capacity, &out->tree) : status;
}

static void store(const rig_search *s, rig_state *to) {
  sn_rig_copy(s->m, &to->m);
  if (s->way.tree) sn_rig_tree_copy(s->way.tree, &to->tree);
}

static void restore(const rig_search *s, const rig_state *from) {
  sn_rig_copy(&from->m, s->m);
  if (s->way.tree) sn_rig_tree_copy(&from->tree, s->way.tree);
}

// Of the bones with the smallest prices, removes the one whose removal leaves the least error: tries each and refits weights
// and motion.
static sn_status drop_bone(rig_search *s) {
  fit_model *m = s->m;
  sn_status status = sn_fit_pass(s->ctx, m, FIT_PRICE, NULL);
  double least = INFINITY;
  store(s, &s->whole);
  for (int k = 0; k < candidates && k < s->whole.m.bones && status == SN_OK; k++) {
    int j = sn_rig_cheapest_bone(&s->whole.m);
    s->whole.m.price[j] = INFINITY;
    if (k > 0) restore(s, &s->whole);
    if (s->way.tree) sn_rig_tree_remove(m, s->way.tree, j);
    sn_rig_remove_bone(s->ctx, m, j);
    status = sn_fit_pass(s->ctx, m, FIT_EXPLORE, NULL);
    if (status == SN_OK) status = sn_rig_refit(s->ctx, m, &s->way);
    if (m->error < least) least = m->error, store(s, &s->best);
  }
  restore(s, &s->best);
  return status == SN_OK ? sn_rig_round(s->ctx, m, &s->way, FIT_ADJUST, false) : status;
}

// Adds bones where the error is largest, moves all bones freely for a while, builds a new tree, and removes as many bones.
static sn_status exchange(rig_search *s, int count) {
  fit_model *m = s->m;
  sn_context *ctx = s->ctx;
  const rig_way loose = {.affine = s->way.affine};
  int bones = m->bones, rounds = 0;
  bool added = true;
  sn_status status = SN_OK;
  while (status == SN_OK && added && m->bones < bones + count) {
    status = sn_rig_add_bone(ctx, m, 1, &added);
    if (status == SN_OK && added) status = sn_fit_pass(ctx, m, FIT_EXPLORE, NULL);
  }
  if (status == SN_OK) status = some_rounds(ctx, m, &loose, few_rounds, 0, &rounds);
  if (status == SN_OK && s->way.tree) status = join(ctx, m, &s->way, few_rounds);
  while (status == SN_OK && m->bones > bones) status = drop_bone(s);
  return status == SN_OK ? some_rounds(ctx, m, &s->way, settled_rounds, gain_meanwhile, &rounds) : status;
}

// Exchanges bones while that lowers the error.
static sn_status search(rig_search *s) {
  bool better = true;
  sn_status status = SN_OK;
  for (int k = 0; k < exchanges && better && s->m->bones > 1 && status == SN_OK; k++) {
    store(s, &s->before);
    status = exchange(s, 1 + s->m->bones / 12);
    better = s->m->error < exchange_part * s->before.m.error;
    if (!better) restore(s, &s->before);
  }
  return status;
}

// Removes bones while the squared error grows by less than `gain_of_bone`, or its mean stays below `nothing`.
static sn_status remove_useless(rig_search *s, double nothing) {
  double none = nothing * s->m->p->n * s->m->p->f;
  int rounds = 0;
  sn_status status = SN_OK;
  for (bool useless = true; status == SN_OK && s->m->bones > 1 && useless;) {
    store(s, &s->before);
    status = drop_bone(s);
    if (status == SN_OK) status = some_rounds(s->ctx, s->m, &s->way, few_rounds, gain_meanwhile, &rounds);
    useless = s->m->error < (1 + gain_of_bone) * s->before.m.error || s->m->error < none;
    if (!useless) restore(s, &s->before);
  }
  return status;
}

// Free bones of a sample: starts over-complete and removes the cheapest clusters (Le and Deng 2014). With more influences than in
// the end, bones depend less on the start and are nearer to those of a rig that has many.
static sn_status start_free(sn_context *ctx, const rig_plan *plan, fit_model *m) {
  const rig_way loose = {.affine = plan->affine};
  sn_arena scratch = sn_arena_new(ctx);
  fit_model wide;
  int rounds = 0;
  sn_status status = sn_fit_model_new(ctx, &scratch, m->p, m->capacity, FIT_MOST_INFLUENCES, &wide);
  if (status == SN_OK) status = sn_rig_start_clusters(ctx, &scratch, &loose, &wide);
  while (status == SN_OK && wide.bones > plan->bones)
    status = sn_rig_remove_cheapest(ctx, &wide, &loose, (wide.bones - plan->bones + 2) / 3);
  if (status == SN_OK) status = some_rounds(ctx, &wide, &loose, settled_rounds, gain_meanwhile, &rounds);
  if (status == SN_OK) status = transfer(ctx, &wide, m);
  sn_arena_free(&scratch);
  return status == SN_OK ? some_rounds(ctx, m, &loose, settled_rounds, gain_meanwhile, &rounds) : status;
}

// Solves the sample: free bones, the tree, exchanges that leave local minima; removes bones with little gain.
static sn_status solve_coarse(sn_context *ctx, sn_arena *memory, const fit_problem *p, const rig_plan *plan,
                              fit_model *m, rig_tree *tree) {
  rig_search s = {.ctx = ctx, .m = m, .way = {.tree = plan->tree ? tree : NULL, .affine = plan->affine}};
  int rounds = 0, capacity = plan->bones + 1 + plan->bones / 4;
  bool searched = plan->bones <= searched_bones;
  sn_status status = sn_rig_tree_new(ctx, memory, capacity, tree);
  tree->body = plan->body;
  if (status == SN_OK) status = sn_fit_model_new(ctx, memory, p, capacity, plan->limit, m);
  if (status == SN_OK) status = start_free(ctx, plan, m);
  if (status == SN_OK && plan->tree) status = join(ctx, m, &s.way, searched ? 8 : few_rounds);
  status = tell(ctx, status, 1);
  if (status != SN_OK || !searched) return status;
  sn_arena scratch = sn_arena_new(ctx);
  status = new_state(ctx, &scratch, m, &s.before);
  if (status == SN_OK) status = new_state(ctx, &scratch, m, &s.whole);
  if (status == SN_OK) status = new_state(ctx, &scratch, m, &s.best);
  if (status == SN_OK) status = search(&s);
  if (status == SN_OK) status = some_rounds(ctx, m, &s.way, most_rounds, gain_meanwhile, &rounds);
  if (status == SN_OK && plan->tree && !plan->keep) status = remove_useless(&s, plan->nothing);
  if (status == SN_OK) status = some_rounds(ctx, m, &s.way, settled_rounds, gain_meanwhile, &rounds);
  sn_arena_free(&scratch);
  return status;
}

// From the sample to all frames, then to all vertices.
static sn_status solve_rough(sn_context *ctx, sn_arena *memory, const fit_problem *p, const rig_plan *plan,
                             fit_model *m, rig_tree *tree) {
  sn_arena scratch = sn_arena_new(ctx);
  int vertices = plan->bones * (plan->bones > searched_bones ? sample_per_bone / 3 : sample_per_bone);
  if (vertices < sample_least) vertices = sample_least;
  int *chosen = SN_NEW(ctx, &scratch, int, p->f);
  fit_problem few, middle;
  fit_model coarse, middle_model;
  rig_tree coarse_tree;
  int rounds = 0;
  rig_way way = {.tree = plan->tree ? tree : NULL, .affine = plan->affine};
  sn_status status = chosen ? SN_OK : ctx->error.status;
  if (status == SN_OK)
    status = sn_rig_sample(ctx, &scratch, p, (rig_part){vertices, sample_frames, NULL}, &few, chosen);
  if (status == SN_OK) status = solve_coarse(ctx, &scratch, &few, plan, &coarse, &coarse_tree);
  status = tell(ctx, status, 2);
  if (status == SN_OK) status = sn_rig_tree_new(ctx, memory, coarse.capacity, tree);
  if (status == SN_OK) status = sn_rig_sample(ctx, &scratch, p, (rig_part){vertices, p->f, NULL}, &middle, chosen);
  if (status == SN_OK) {
    sn_rig_tree_copy(&coarse_tree, tree);
    status = sn_rig_follow(ctx, &scratch, &coarse, &middle, way.tree, &middle_model);
  }
  if (status == SN_OK) status = some_rounds(ctx, &middle_model, &way, few_rounds, gain_meanwhile, &rounds);
  status = tell(ctx, status, 3);
  if (status == SN_OK) status = sn_fit_model_new(ctx, memory, p, middle_model.capacity, plan->limit, m);
  if (status == SN_OK) status = transfer(ctx, &middle_model, m);
  sn_arena_free(&scratch);
  return tell(ctx, status, 4);
}

sn_status sn_rig_solve(sn_context *ctx, sn_arena *memory, const fit_problem *p, const rig_plan *plan, fit_model *m,
                       rig_tree *tree) {
  // Smoothness couples neighbours of the whole mesh: not used on samples.
  rig_way way = {.tree = plan->tree ? tree : NULL, .affine = plan->affine, .smooth = plan->smooth};
  bool searched = plan->bones <= searched_bones;
  int *rounds = plan->rounds;
  *rounds = 0;
  sn_status status = solve_rough(ctx, memory, p, plan, m, tree);
  if (status == SN_OK && plan->smooth_auto) sn_fit_smooth_by_error(m, plan->smooth);
  if (status == SN_OK) status = prune(ctx, m, &way, 2 * RIG_THINNEST, 3, rounds);
  if (status == SN_OK) status = some_rounds(ctx, m, &way, plan->iterations, gain_at_last, rounds);
  if (status == SN_OK) status = prune(ctx, m, &way, (searched ? 1.5 : 1) * RIG_THINNEST, 3, rounds);
  if (status == SN_OK && plan->tree) status = draw_inside(ctx, m, &way);
  if (status == SN_OK && plan->tree) sn_rig_tree_settle_root(m, tree);
  if (status != SN_OK || !plan->smooth_auto || !searched) return status;
  status = sn_rig_thin(ctx, plan->rest, m, plan->smooth);
  if (status == SN_OK) status = remove_slivers(ctx, m, &way, RIG_THINNEST);
  if (status == SN_OK && plan->tree) sn_rig_tree_settle_root(m, tree);
  // Refitting the motion recovers some of the error of thinning.
  return status == SN_OK ? sn_rig_tree_fit(ctx, m, tree, 2, NULL) : status;
}
