// SPDX-License-Identifier: MIT
// From coarse to fine: clusters, bones and skeleton are found on a sample of vertices and frames, where hundreds of
// rounds are cheap; then the motion of all frames is fitted, then the weights of all vertices, and few rounds remain.
#include "rig/solve.h"

#include <math.h>
#include <string.h>

// The numbers of the solver.
enum {
  sample_frames = 16,   // most of a sample
  sample_least = 1000,  // vertices of a sample
  sample_per_bone = 50, // and more where there are many bones
  cluster_rounds = 4,   // of assigning and fitting after every split
  most_starts = 3,      // from which the best goes on
  join_rounds = 8,      // of a tree before the best start is chosen
  join_steps = 5,       // Gauss-Newton steps of a tree that is new
  free_moves = 2,       // out of local minima: of every start,
  tree_moves = 6,       // of the best one's tree,
  loose_moves = 14,     // of bones that stay free
  most_rounds = 100,    // of the best start, if they pay
  searched_bones = 100  // of more, one start is taken as it is: a round takes long
};
static const double pays_meanwhile =
  0.003;                                   // of the squared error: what a round must lower it by, between other steps
static const double pays_at_last = 0.0005; // the same at the end
static const double bearable_rise = 0.01;  // of the squared error, by which a round may raise it for joints inside
static const double dear_inside = 1.2;     // times the error: all that joints inside may cost at the end
static const double worth_given = 0.02;    // of the squared error: what a bone must lower it by, for a given number
static const double outside_price = 0.5;   // of a joint outside, in parts of a bone's share of the squared error

// Rounds as long as a handful of them lowers the squared error by the fraction `pays` each, from `least` on and `most` at most;
// the last without extrapolation, so that bones and weights fit together. One round alone says little: extrapolation fails at
// times.
static sn_status rounds_between(sn_context *ctx, fit_model *m, const rig_way *way, int least, int most, double pays,
                                int *rounds) {
  enum { handful = 4 };
  sn_status status = SN_OK;
  bool last = false;
  double before[handful];
  rig_forget_trail(m);
  for (int round = 0; !last && status == SN_OK; round++, ++*rounds) {
    last = round >= most - 1 ||
           (round >= handful && round >= least && m->error > (1 - handful * pays) * before[round % handful]);
    before[round % handful] = m->error;
    status = sn_rig_round(ctx, m, way, round % 5 == 3 ? FIT_EXPLORE : FIT_ADJUST, !last);
  }
  return status;
}

static sn_status some_rounds(sn_context *ctx, fit_model *m, const rig_way *way, int most, double pays, int *rounds) {
  return rounds_between(ctx, m, way, 0, most, pays, rounds);
}

sn_status sn_rig_start_clusters(sn_context *ctx, sn_arena *memory, const fit_problem *p, int capacity, int limit,
                                const rig_way *way, fit_model *m) {
  fit_model clusters;
  sn_status status = sn_fit_model_new(ctx, memory, p, capacity, 1, &clusters);
  if (status == SN_OK) status = sn_fit_model_new(ctx, memory, p, capacity, limit, m);
  if (status == SN_OK) status = sn_rig_cluster(ctx, &clusters, capacity, cluster_rounds);
  if (status != SN_OK) return status;
  m->bones = clusters.bones;
  memcpy(m->t, clusters.t, 12 * (size_t)p->f * (size_t)m->bones * sizeof *m->t);
  for (int i = 0; i < p->n; i++) {
    m->joint[(size_t)i * (size_t)m->limit] = clusters.joint[i], m->weight[(size_t)i * (size_t)m->limit] = 1;
  }
  sn_fit_model_refresh(ctx, m);
  int rounds = 0;
  status = sn_fit_pass(ctx, m, FIT_ADJUST, NULL);
  return status == SN_OK ? some_rounds(ctx, m, way, 4, 0, &rounds) : status;
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

// The frame of a that is most like frame f of b; both have the same vertices.
static int nearest_frame(const fit_problem *a, const fit_problem *b, int f) {
  int nearest = 0;
  double least = INFINITY;
  for (int q = 0; q < a->f; q++) {
    double distance = 0;
    for (int i = 0; i < b->n; i += 1 + b->n / 200) {
      const float *x = fit_row(a, i) + 3 * q, *y = fit_row(b, i) + 3 * f; // of samples: all are there
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

// The same motions for all vertices of p. Weights start from those of a sampled vertex nearby: the sample is taken along
// the same curve.
static sn_status lift_vertices(sn_context *ctx, sn_arena *memory, const fit_model *from, const fit_problem *p,
                               fit_model *m) {
  sn_status status = sn_fit_model_new(ctx, memory, p, from->capacity, from->limit, m);
  if (status != SN_OK) return status;
  m->bones = from->bones;
  memcpy(m->t, from->t, 12 * (size_t)p->f * (size_t)m->bones * sizeof *m->t);
  for (int i = 0; i < p->n; i++) {
    size_t to = (size_t)p->order[i] * (size_t)m->limit;
    size_t row = (size_t)((int64_t)i * from->p->n / p->n) * (size_t)m->limit;
    memcpy(m->joint + to, from->joint + row, (size_t)m->limit * sizeof *m->joint);
    memcpy(m->weight + to, from->weight + row, (size_t)m->limit * sizeof *m->weight);
  }
  sn_fit_model_refresh(ctx, m);
  status = sn_fit_pass(ctx, m, FIT_EXHAUST, NULL);
  return status == SN_OK ? sn_fit_pass(ctx, m, FIT_EXPLORE, NULL) : status;
}

// The sliver that has least; -1: there is none.
static int thinnest(const fit_model *m, const rig_tree *tree, double bound) {
  int best = -1;
  for (int j = 0; j < m->bones; j++) {
    if (!sn_rig_is_sliver(m, tree, j, bound)) continue;
    if (best < 0 || sn_rig_share(m, j) < sn_rig_share(m, best)) best = j;
  }
  return best;
}

// Removes all slivers. Needs m->pair; afterwards weights, pairs and errors are those of the bones left.
static sn_status remove_slivers(sn_context *ctx, fit_model *m, const rig_way *way, double bound) {
  sn_status status = SN_OK;
  for (int thin; status == SN_OK && m->bones > 1 && (thin = thinnest(m, way->tree, bound)) >= 0;) {
    if (way->tree) sn_rig_tree_remove(m, way->tree, thin);
    sn_rig_remove_bone(ctx, m, thin);
    status = sn_fit_pass(ctx, m, FIT_EXPLORE, NULL);
  }
  return status;
}

// No bone may stay a sliver: slivers are replaced by bones where the error is largest; in the end they are pruned.
static sn_status prune(sn_context *ctx, fit_model *m, const rig_way *way, double bound, int each, int *rounds) {
  enum { attempts = 4 };
  sn_status status = SN_OK;
  for (int attempt = 0; status == SN_OK && m->bones > 1 && thinnest(m, way->tree, bound) >= 0; attempt++) {
    int wanted = m->bones;
    bool added = attempt < attempts;
    status = remove_slivers(ctx, m, way, bound);
    while (status == SN_OK && added && m->bones < wanted) {
      status = sn_rig_add_bone(ctx, m, 2 + attempt, &added);
      if (status == SN_OK && added) status = sn_fit_pass(ctx, m, FIT_EXPLORE, NULL);
      if (status == SN_OK && added && way->tree) sn_rig_tree_add(m, way->tree);
    }
    if (status == SN_OK) status = some_rounds(ctx, m, way, each, pays_meanwhile, rounds);
  }
  return status;
}

// Tells how far the solve is; a caller that has had enough stops it.
static sn_status tell(sn_context *ctx, sn_status status, int stage) {
  enum { stages = 6 };
  if (status != SN_OK || sn_progress(ctx, "rig", (double)stage / stages)) return status;
  return sn_fail(ctx, SN_STOPPED, "rig: stopped");
}

// Joints that are outside are set inside one by one, as long as that does not cost too much; none that is inside leaves any more.
static sn_status pull_inside(sn_context *ctx, fit_model *m, const rig_way *way) {
  bool moved = false;
  way->tree->stays = true;
  if (sn_rig_joints_outside(way->tree) == 0) return SN_OK;
  sn_status status = sn_rig_nudge_joints(ctx, m, way->tree, (dear_inside * dear_inside - 1) * m->error, &moved);
  return status == SN_OK && moved ? sn_fit_pass(ctx, m, FIT_ADJUST, way->smooth) : status;
}

// A tree of bones, and rounds that get them used to it. Weights wait for the joints: before, vertices would leave their bones.
static sn_status join(sn_context *ctx, fit_model *m, const rig_way *way, int most) {
  int rounds = 0;
  sn_status status = sn_rig_tree_build(ctx, m, way->tree);
  if (status == SN_OK) status = sn_rig_tree_fit(ctx, m, way->tree, join_steps, NULL);
  if (status == SN_OK) status = sn_fit_pass(ctx, m, FIT_KEEP, NULL);
  rig_forget_trail(m);
  for (int k = 0; k < most / 2 && status == SN_OK; k++) status = sn_rig_round(ctx, m, way, FIT_KEEP, true);
  return status == SN_OK ? rounds_between(ctx, m, way, most / 2, most, pays_meanwhile, &rounds) : status;
}

// ---- several starts ------------------------------------------------------------------------------------------------

typedef struct coarse_start {
  sn_context ctx; // of this start alone: starts run side by side
  sn_arena memory;
  const rig_plan *plan;
  int spare; // bones that the start has more
  fit_model m;
  rig_tree tree;
  sn_status status;
} coarse_start;

typedef struct start_job {
  coarse_start *starts;
  const fit_problem *p;
} start_job;

// Clusters, of which the cheapest go (Le and Deng's over-complete start), then a tree of them.
static sn_status start_coarse(coarse_start *s, const fit_problem *p) {
  const rig_plan *plan = s->plan;
  rig_way loose = {.affine = plan->affine}, joined = {.tree = &s->tree};
  int rounds = 0, capacity = plan->bones + s->spare;
  bool searched = plan->bones <= searched_bones;
  sn_context *ctx = &s->ctx;
  sn_status status = sn_rig_tree_new(ctx, &s->memory, capacity, &s->tree);
  s->tree.body = plan->body, s->tree.rise = bearable_rise;
  if (status == SN_OK) status = sn_rig_start_clusters(ctx, &s->memory, p, capacity, plan->limit, &loose, &s->m);
  while (status == SN_OK && s->m.bones > plan->bones)
    status = sn_rig_remove_cheapest(ctx, &s->m, &loose, (s->m.bones - plan->bones + 2) / 3);
  if (status == SN_OK) status = some_rounds(ctx, &s->m, &loose, 12, pays_meanwhile, &rounds);
  if (status == SN_OK && searched) status = sn_rig_refine(ctx, &s->m, &loose, plan->tree ? free_moves : loose_moves);
  if (status == SN_OK && !plan->tree)
    status = some_rounds(ctx, &s->m, &loose, most_rounds / 2, pays_meanwhile / 3, &rounds);
  if (status == SN_OK && plan->tree) status = join(ctx, &s->m, &joined, searched ? join_rounds : 4);
  return status;
}

static void run_starts(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  start_job *job = user;
  for (int64_t k = begin; k < end; k++) job->starts[k].status = start_coarse(&job->starts[k], job->p);
}

// Joints outside of the body count as error, and bones that are missing more.
static double start_score(const coarse_start *s) {
  double missing = s->plan->bones - s->m.bones, outside = s->plan->tree ? sn_rig_joints_outside(&s->tree) : 0;
  return s->m.error * (1 + outside_price * (outside + 4 * missing) / s->plan->bones);
}

// Each start ends in a minimum of its own: the best of several, side by side.
static sn_status best_start(sn_context *ctx, const fit_problem *p, const rig_plan *plan, coarse_start *starts,
                            int count, int *best) {
  static const double spare[most_starts] = {1, 0.125, 0.5}; // of the bones
  for (int k = 0; k < count; k++) {
    coarse_start *s = &starts[k];
    *s = (coarse_start){.ctx = *ctx, .plan = plan, .spare = (int)ceil(spare[count > 1 ? k : 1] * plan->bones)};
    s->ctx.team = NULL; // samples are everybody's
    if (count > 1) s->ctx.threads = 1, s->ctx.progress = NULL;
    s->memory = sn_arena_new(&s->ctx);
  }
  start_job job = {starts, p};
  sn_parallel_for(ctx, count, 1, run_starts, &job);
  *best = 0;
  for (int k = 0; k < count; k++) {
    if (starts[k].status != SN_OK) {
      ctx->error = starts[k].ctx.error;
      return starts[k].status;
    }
    if (start_score(&starts[k]) < start_score(&starts[*best])) *best = k;
  }
  return SN_OK;
}

// Bones of a tree go as long as the error hardly rises without one of them, or stays below what counts as none.
static sn_status remove_useless(sn_context *ctx, fit_model *m, const rig_way *way, double nothing) {
  double none = nothing * m->p->n * m->p->f;
  int rounds = 0;
  sn_arena scratch = sn_arena_new(ctx);
  fit_model kept;
  rig_tree kept_tree;
  sn_status status = sn_fit_model_new(ctx, &scratch, m->p, m->capacity, m->limit, &kept);
  if (status == SN_OK) status = sn_rig_tree_new(ctx, &scratch, m->capacity, &kept_tree);
  for (bool useless = true; status == SN_OK && m->bones > 1 && useless;) {
    sn_rig_copy(m, &kept), sn_rig_tree_copy(way->tree, &kept_tree);
    status = sn_fit_pass(ctx, m, FIT_PRICE, NULL);
    int j = sn_rig_cheapest_bone(m);
    if (status == SN_OK) {
      sn_rig_tree_remove(m, way->tree, j), sn_rig_remove_bone(ctx, m, j);
      status = sn_fit_pass(ctx, m, FIT_EXPLORE, NULL);
    }
    if (status == SN_OK) status = sn_rig_tree_fit(ctx, m, way->tree, join_steps, NULL);
    if (status == SN_OK) status = some_rounds(ctx, m, way, 4, pays_meanwhile, &rounds);
    useless = m->error < (1 + worth_given) * kept.error || m->error < none;
    if (!useless) sn_rig_copy(&kept, m), sn_rig_tree_copy(&kept_tree, way->tree);
  }
  sn_arena_free(&scratch);
  return status;
}

// Moves out of local minima, without bones that do not pay, and joints inside.
static sn_status finish_coarse(sn_context *ctx, coarse_start *s) {
  rig_way way = {.tree = &s->tree};
  int rounds = 0;
  if (!s->plan->tree || s->plan->bones > searched_bones) return SN_OK;
  sn_status status = sn_rig_refine(ctx, &s->m, &way, tree_moves);
  if (status == SN_OK) status = some_rounds(ctx, &s->m, &way, most_rounds, pays_meanwhile, &rounds);
  if (status == SN_OK && !s->plan->keep) status = remove_useless(ctx, &s->m, &way, s->plan->nothing);
  if (status == SN_OK) status = some_rounds(ctx, &s->m, &way, 12, pays_meanwhile, &rounds);
  return status;
}

// The sample is solved: bones, weights and tree of `out` are in its memory.
static sn_status solve_coarse(sn_context *ctx, const fit_problem *p, const rig_plan *plan, coarse_start *out) {
  coarse_start starts[most_starts];
  int best = 0, count = plan->tree && plan->bones > 2 && plan->bones <= searched_bones ? most_starts : 1;
  sn_status status = best_start(ctx, p, plan, starts, count, &best);
  for (int k = 0; k < count; k++)
    if (k != best) sn_arena_free(&starts[k].memory);
  *out = starts[best];
  status = tell(ctx, status, 1);
  if (status == SN_OK) status = finish_coarse(&out->ctx, out);
  if (status != SN_OK && out->ctx.error.status != SN_OK) ctx->error = out->ctx.error;
  return tell(ctx, status, 2);
}

// From the sample to all frames, then to all vertices.
static sn_status solve_rough(sn_context *ctx, sn_arena *memory, const fit_problem *p, const rig_plan *plan,
                             fit_model *m, rig_tree *tree) {
  sn_arena scratch = sn_arena_new(ctx);
  int vertices = plan->bones * (plan->bones > searched_bones ? sample_per_bone / 3 : sample_per_bone);
  if (vertices < sample_least) vertices = sample_least;
  int *chosen = SN_NEW(ctx, &scratch, int, p->f);
  coarse_start coarse = {.memory = sn_arena_new(ctx)};
  fit_problem few, middle;
  fit_model middle_model;
  int rounds = 0;
  rig_way way = {.tree = plan->tree ? tree : NULL, .affine = plan->affine};
  sn_status status = chosen ? SN_OK : ctx->error.status;
  if (status == SN_OK) status = sn_rig_sample(ctx, &scratch, p, vertices, sample_frames, NULL, &few, chosen);
  if (status == SN_OK) status = sn_fit_problem_moments(ctx, &scratch, &few);
  if (status == SN_OK) status = solve_coarse(ctx, &few, plan, &coarse);
  if (status == SN_OK) status = sn_rig_tree_new(ctx, memory, coarse.m.capacity, tree);
  if (status == SN_OK) status = sn_rig_sample(ctx, &scratch, p, vertices, p->f, NULL, &middle, chosen);
  if (status == SN_OK) {
    sn_rig_tree_copy(&coarse.tree, tree);
    status = sn_rig_follow(ctx, &scratch, &coarse.m, &middle, way.tree, &middle_model);
  }
  if (status == SN_OK) status = some_rounds(ctx, &middle_model, &way, 4, pays_meanwhile, &rounds);
  status = tell(ctx, status, 3);
  if (status == SN_OK) status = lift_vertices(ctx, memory, &middle_model, p, m);
  sn_arena_free(&coarse.memory);
  sn_arena_free(&scratch);
  return tell(ctx, status, 4);
}

sn_status sn_rig_solve(sn_context *ctx, sn_arena *memory, const fit_problem *p, const rig_plan *plan, fit_model *m,
                       rig_tree *tree, int *rounds) {
  // Smoothness is between neighbours of the whole mesh: samples go without.
  rig_way way = {.tree = plan->tree ? tree : NULL, .affine = plan->affine, .smooth = plan->smooth};
  bool searched = plan->bones <= searched_bones;
  *rounds = 0;
  sn_status status = solve_rough(ctx, memory, p, plan, m, tree);
  if (status == SN_OK && plan->smooth_auto) sn_fit_smooth_by_error(m, plan->smooth);
  if (status == SN_OK) status = prune(ctx, m, &way, 2 * RIG_THINNEST, 3, rounds);
  if (status == SN_OK) status = some_rounds(ctx, m, &way, plan->iterations, pays_at_last, rounds);
  if (status == SN_OK) status = prune(ctx, m, &way, (searched ? 1.5 : 1) * RIG_THINNEST, 3, rounds);
  if (status == SN_OK && plan->tree) status = pull_inside(ctx, m, &way);
  if (status == SN_OK && plan->tree) sn_rig_tree_settle_root(m, tree);
  if (status != SN_OK || !plan->smooth_auto || !searched) return status;
  status = sn_rig_thin(ctx, plan->rest, m, plan->smooth);
  if (status == SN_OK) status = remove_slivers(ctx, m, &way, RIG_THINNEST);
  // The motion makes up for some of what that costs.
  return status == SN_OK ? sn_rig_tree_fit(ctx, m, tree, 2, NULL) : status;
}
