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
  cluster_rounds = 4,
  tree_rounds =
    14, // of a tree before the best of several is chosen, half of them in any case: joints cost error at first
  exact_tree_rounds = 24, // the same of data that is nearly exact
  exact_tries = 4,        // sets of moves for bones that are nearly exact
  tree_moves = 6,         // out of local minima, of the one that is chosen
  large_tree = 100        // a round of a tree of so many bones takes long, and moves out of local minima far longer
};

// Rounds go on while each lowers the squared error by this part: between other steps, of bones without a tree, at the end. On
// generated bodies, an athlete and a leg half of them lower the error by 0.1 to 2 %, twice as much raises it by 0.1 % or less.
static const double pays_meanwhile = 0.003, pays_loose = 0.001, pays_at_last = 0.0005;

// By so much a round of the tree may raise the error for the sake of joints inside; the weights win that back. Where joints are
// still outside at the end, it may be more, and all of it together may make the error (no square) so many times. Half and
// twice of them change the error by 0.7 % at most on the same sets, where all joints come inside anyway.
static const double bearable_rise = 0.01, last_rise = 0.05, dear_inside = 1.1, dearest_inside = 1.2;

// Of several starts, in parts of the squared error for every bone: a joint outside, a bone that is missing. Half and twice
// choose the same starts on those sets.
static const double outside_price = 0.5, missing_price = 2;

// Rounds as long as a handful of them lowers the squared error by the fraction `pays` each, from `least` on and `most` at most;
// the last without extrapolation, so that bones and weights fit together. One round alone says little: extrapolation fails at
// times.
static sn_status rounds_between(sn_context *ctx, rig_model *m, const rig_way *way, int least, int most, double pays,
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
    if (way->mend && 2 * round > most)
      sn_rig_smooth_tears(m, way->mend, RIG_TEAR); // before, some close by themselves
    status = sn_rig_round(ctx, m, way, round % 5 == 3 ? RIG_EXPLORE : RIG_ADJUST, !last);
  }
  return status;
}

static sn_status some_rounds(sn_context *ctx, rig_model *m, const rig_way *way, int most, double pays, int *rounds) {
  return rounds_between(ctx, m, way, 0, most, pays, rounds);
}

sn_status sn_rig_start_clusters(sn_context *ctx, sn_arena *memory, const rig_problem *p, int capacity, int limit,
                                const rig_way *way, rig_model *m) {
  rig_model clusters;
  sn_status status = sn_rig_model_new(ctx, memory, p, capacity, 1, &clusters);
  if (status == SN_OK) status = sn_rig_model_new(ctx, memory, p, capacity, limit, m);
  if (status == SN_OK) status = sn_rig_cluster(ctx, &clusters, capacity, cluster_rounds);
  if (status != SN_OK) return status;
  m->bones = clusters.bones;
  memcpy(m->t, clusters.t, 12 * (size_t)p->f * (size_t)m->bones * sizeof *m->t);
  for (int i = 0; i < p->n; i++) {
    m->joint[(size_t)i * (size_t)m->limit] = clusters.joint[i], m->weight[(size_t)i * (size_t)m->limit] = 1;
  }
  sn_rig_model_refresh(ctx, m);
  int rounds = 0;
  status = sn_rig_pass(ctx, m, RIG_ADJUST, NULL);
  return status == SN_OK ? some_rounds(ctx, m, way, 4, 0, &rounds) : status;
}

// Takes out up to `count` bones that are missed least, and lets the others settle. Of bones that share vertices only one goes at a
// time: the other is missed more then.
static sn_status remove_least_missed(sn_context *ctx, rig_model *m, const rig_way *way, int count) {
  bool gone[RIG_MOST_BONES] = {false};
  sn_status status = sn_rig_pass(ctx, m, RIG_PRICE, NULL);
  if (status != SN_OK) return status;
  for (int taken = 0; taken < count; taken++) {
    int j = sn_rig_least_missed(m);
    if (isinf(m->price[j])) break;
    gone[j] = true;
    for (int k = 0; k < m->bones; k++)
      if (k == j || rig_pair(m, j, k)[9] > 0) m->price[k] = INFINITY;
  }
  sn_rig_remove_bones(ctx, m, gone);
  status = sn_rig_pass(ctx, m, RIG_EXPLORE, NULL);
  return status == SN_OK ? sn_rig_round(ctx, m, way, RIG_ADJUST, false) : status;
}

// More clusters than wanted, then without the bones that are missed least (Le and Deng's over-complete start).
static sn_status start_bones(sn_context *ctx, sn_arena *memory, const rig_problem *p, const rig_plan *plan,
                             rig_model *m) {
  rig_way way = {.affine = plan->affine};
  sn_status status = sn_rig_start_clusters(ctx, memory, p, plan->bones + plan->spare, plan->limit, &way, m);
  while (status == SN_OK && m->bones > plan->bones) {
    int spare = m->bones - plan->bones;
    status = remove_least_missed(ctx, m, &way, (spare + 2) / 3);
  }
  int rounds = 0;
  return status == SN_OK ? some_rounds(ctx, m, &way, 12, pays_meanwhile, &rounds) : status;
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
        const float *a = rig_row(p, i) + 3 * f, *b = rig_row(p, i) + 3 * sampled[q]; // of a sample: all are there
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
  return status == SN_OK ? some_rounds(ctx, m, way, 4, pays_meanwhile, &rounds) : status;
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

// Links of the skeleton may be thin, but on all the data every bone needs a vertex of its own.
static bool is_thin(const rig_model *m, const rig_tree *tree, int j, double bound) {
  return sn_rig_is_sliver(m, tree, j, bound) || (m->whole && sn_rig_share(m, j) < RIG_THINNEST);
}

// The sliver that has least; -1: there is none.
static int thinnest(const rig_model *m, const rig_tree *tree, double bound) {
  int best = -1;
  for (int j = 0; j < m->bones; j++) {
    if (!is_thin(m, tree, j, bound)) continue;
    if (best < 0 || sn_rig_share(m, j) < sn_rig_share(m, best)) best = j;
  }
  return best;
}

// Removes all slivers. Needs m->pair; afterwards weights, pairs and errors are those of the bones left.
static sn_status remove_slivers(sn_context *ctx, rig_model *m, const rig_way *way, double bound) {
  sn_status status = SN_OK;
  for (int thin; status == SN_OK && m->bones > 1 && (thin = thinnest(m, way->tree, bound)) >= 0;) {
    if (way->tree) sn_rig_tree_remove(m, way->tree, thin);
    sn_rig_remove_bone(ctx, m, thin);
    status = sn_rig_pass(ctx, m, RIG_EXPLORE, NULL);
  }
  return status;
}

// No bone may stay a sliver. As long as that goes, slivers are replaced by bones where the error is
// largest, then by halves of the largest bones; in the end they are pruned.
static sn_status prune(sn_context *ctx, rig_model *m, const rig_way *way, double bound, int each, int *rounds) {
  sn_status status = SN_OK;
  bool large = m->bones > large_tree;
  int attempts = large ? 3 : 6, splits_from = large ? 0 : 2;
  for (int attempt = 0; status == SN_OK && m->bones > 1 && thinnest(m, way->tree, bound) >= 0; attempt++) {
    int wanted = m->bones;
    bool added = attempt < attempts;
    status = remove_slivers(ctx, m, way, bound);
    while (status == SN_OK && added && m->bones < wanted) {
      status =
        attempt >= splits_from ? sn_rig_split_largest(ctx, m, &added) : sn_rig_add_bone(ctx, m, 2 + attempt, &added);
      if (status == SN_OK && added) status = sn_rig_pass(ctx, m, RIG_EXPLORE, NULL);
      if (status == SN_OK && added && way->tree) sn_rig_tree_add(m, way->tree);
    }
    if (status == SN_OK) status = some_rounds(ctx, m, way, each, pays_meanwhile, rounds);
  }
  return status;
}

// Tells how far the solve is; a caller that has had enough stops it.
static sn_status tell(sn_context *ctx, sn_status status, double done) {
  if (status != SN_OK || sn_progress(ctx, "rig", done)) return status;
  return sn_fail(ctx, SN_STOPPED, "rig: stopped");
}

// Joints that are outside are set inside one by one. Those that are far outside (about 1 % of the diagonal) nobody can pose with:
// they may cost more.
static sn_status set_inside(sn_context *ctx, rig_model *m, const rig_way *way, double bearable) {
  const rig_nudge hows[] = {{0, 0.2, 0.05, 0}, {0.03, 2, bearable / m->error - 1, 0}};
  sn_status status = SN_OK;
  for (int k = 0; k < 2 && status == SN_OK; k++) {
    bool moved = false;
    rig_nudge how = hows[k];
    how.most = bearable - m->error;
    status = sn_rig_nudge_joints(ctx, m, way->tree, &how, &moved);
    if (status == SN_OK && moved) status = sn_rig_pass(ctx, m, RIG_ADJUST, way->smooth);
  }
  return status;
}

// Joints that are still outside come in as long as that does not cost more than it is worth; none that is inside leaves any more.
static sn_status pull_inside(sn_context *ctx, rig_model *m, const rig_way *way, int most, double dear, int *rounds) {
  double bearable = dear * dear * m->error;
  way->tree->stays = true;
  if (sn_rig_joints_outside(way->tree) == 0) return SN_OK;
  sn_status status = set_inside(ctx, m, way, bearable);
  int outside = sn_rig_joints_outside(way->tree), last = 0;
  if (status != SN_OK || outside == 0) return status;
  way->tree->rise = last_rise;
  for (int k = 0; k < most && k - last < most / 3 && status == SN_OK && m->error < bearable && outside > 0; k++) {
    status = sn_rig_round(ctx, m, way, RIG_ADJUST, false);
    int now = sn_rig_joints_outside(way->tree);
    if (now < outside) last = k, outside = now;
    ++*rounds;
  }
  way->tree->rise = bearable_rise;
  return status == SN_OK ? set_inside(ctx, m, way, bearable) : status;
}

// A tree of bones, and rounds that get them used to it.
static sn_status join(sn_context *ctx, rig_model *m, const rig_way *way, int most) {
  int rounds = 0;
  sn_status status = sn_rig_tree_build(ctx, m, way->tree);
  if (status == SN_OK) status = sn_rig_tree_fit(ctx, m, way->tree, 5, NULL);
  return status == SN_OK ? rounds_between(ctx, m, way, most / 2, most, pays_meanwhile, &rounds) : status;
}

// Joints that start inside the body are the best where that costs little. Where it costs much, a tree whose joints may first be where
// the motion wants them is tried, too.
static sn_status join_either_way(sn_context *ctx, rig_model *m, const rig_way *way) {
  static const double much =
    3; // times the squared error without joints: 4 to 6 on the cow, 2 and less on horses, cat and dance
  const rig_body *body = way->tree->body;
  sn_arena scratch = sn_arena_new(ctx);
  rig_model loose, inside;
  rig_tree tree;
  int rounds = 0, most = sn_rig_is_exact(m, RIG_NEARLY_EXACT) ? exact_tree_rounds : tree_rounds;
  sn_status status = sn_rig_model_new(ctx, &scratch, m->p, m->capacity, m->limit, &loose);
  if (status == SN_OK) status = sn_rig_model_new(ctx, &scratch, m->p, m->capacity, m->limit, &inside);
  if (status == SN_OK) status = sn_rig_tree_new(ctx, &scratch, m->capacity, &tree);
  if (status == SN_OK) sn_rig_copy(m, &loose), status = join(ctx, m, way, most);
  if (status == SN_OK && body && m->error > much * loose.error) {
    sn_rig_copy(m, &inside), sn_rig_tree_copy(way->tree, &tree), sn_rig_copy(&loose, m);
    way->tree->body = NULL;
    status = join(ctx, m, way, most / 2);
    way->tree->body = body;
    if (status == SN_OK) status = rounds_between(ctx, m, way, most / 2, most, pays_meanwhile, &rounds);
    if (status == SN_OK) status = pull_inside(ctx, m, way, 12, dear_inside, &rounds);
    way->tree->stays = false;
    bool better = m->error < inside.error && sn_rig_joints_outside(way->tree) <= sn_rig_joints_outside(&tree);
    if (status == SN_OK && !better) {
      sn_rig_copy(&inside, m), sn_rig_tree_copy(&tree, way->tree);
    }
  }
  sn_arena_free(&scratch);
  return status;
}

// Bones, then a tree of them that fits as well as it can without being moved.
static sn_status start_coarse(sn_context *ctx, sn_arena *memory, const rig_problem *p, const rig_plan *plan,
                              const rig_way *way, rig_model *m, bool *is_blend) {
  int rounds = 0;
  rig_way loose = {.affine = plan->affine};
  sn_status status = tell(ctx, start_bones(ctx, memory, p, plan, m), 0.05);
  bool large = way->tree && plan->bones > large_tree;
  if (status == SN_OK) status = sn_rig_refine(ctx, m, &loose, large ? 0 : plan->effort * (way->tree ? 3 : 14));
  status = tell(ctx, status, 0.25);
  if (status == SN_OK) status = some_rounds(ctx, m, &loose, way->tree ? 6 : 50, pays_loose, &rounds);
  if (status == SN_OK) status = prune(ctx, m, &loose, RIG_THINNEST, 6, &rounds);
  if (!way->tree || status != SN_OK) return status;
  for (int k = 0; k < exact_tries && status == SN_OK && !large && sn_rig_is_exact(m, RIG_NEARLY_EXACT) &&
                  !sn_rig_is_exact(m, RIG_EXACT);
       k++) {
    status = sn_rig_refine(ctx, m, &loose, plan->effort * 3);
    if (status == SN_OK) status = some_rounds(ctx, m, &loose, 12, pays_loose, &rounds);
  }
  *is_blend = sn_rig_is_exact(m, RIG_NEARLY_EXACT);
  return large ? join(ctx, m, way, 4) : join_either_way(ctx, m, way);
}

static sn_status finish_coarse(sn_context *ctx, const rig_plan *plan, const rig_way *way, rig_model *m) {
  int rounds = 0;
  bool large = plan->bones > large_tree;
  if (!way->tree) return SN_OK;
  sn_status status = sn_rig_refine(ctx, m, way, large ? 0 : tree_moves);
  if (status == SN_OK) status = some_rounds(ctx, m, way, large ? 3 : 100, pays_meanwhile, &rounds);
  if (status == SN_OK && !large) status = pull_inside(ctx, m, way, 24, dear_inside, &rounds);
  if (status == SN_OK && !large) status = some_rounds(ctx, m, way, 12, pays_meanwhile, &rounds);
  return status == SN_OK ? prune(ctx, m, way, RIG_THINNEST, 8, &rounds) : status;
}

// ---- several starts ------------------------------------------------------------------------------------------------

typedef struct coarse_start {
  sn_context ctx; // of this start alone: starts run side by side
  sn_arena memory;
  rig_plan plan;
  rig_model m;
  rig_tree tree;
  sn_status status;
  bool is_blend,
    finished; // bones without joints are nearly exact; of such every start is finished, for one may find the truth
} coarse_start;

typedef struct start_job {
  coarse_start *starts;
  const rig_problem *p;
} start_job;

static void run_starts(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  start_job *job = user;
  for (int64_t k = begin; k < end; k++) {
    coarse_start *s = &job->starts[k];
    const rig_plan *plan = &s->plan;
    rig_way way = {.tree = plan->tree ? &s->tree : NULL, .affine = plan->affine};
    s->status = sn_rig_tree_new(&s->ctx, &s->memory, plan->bones + plan->spare + 1, &s->tree);
    s->tree.body = plan->body, s->tree.rise = bearable_rise;
    if (s->status == SN_OK) s->status = start_coarse(&s->ctx, &s->memory, job->p, plan, &way, &s->m, &s->is_blend);
    s->finished = s->status == SN_OK && s->is_blend && plan->bones <= large_tree;
    if (s->finished) s->status = finish_coarse(&s->ctx, plan, &way, &s->m);
  }
}

// Fewer bones and joints outside of the body count as error.
static double start_score(const coarse_start *s) {
  double missing = s->plan.bones - s->m.bones, outside = s->plan.tree ? sn_rig_joints_outside(&s->tree) : 0;
  return s->m.error * (1 + (outside_price * outside + missing_price * missing) / s->plan.bones);
}

// Bones that a start has more than are wanted: as many again up to `most_spare`, an eighth, and for nearly exact data as many again.
static int start_spare(const rig_plan *plan, int start) {
  enum { most_spare = 32 };
  int bones = plan->bones;
  return start == 0 ? plan->spare : start == 1 ? 1 + bones / 8 : bones < most_spare ? bones : most_spare;
}

// Starts first .. last - 1, side by side; *best is the best of all up to there.
static sn_status more_starts(sn_context *ctx, const rig_problem *p, const rig_plan *plan, coarse_start *starts,
                             int first, int last, int *best) {
  for (int k = first; k < last; k++) {
    coarse_start *s = &starts[k];
    *s = (coarse_start){.ctx = *ctx, .plan = *plan};
    s->ctx.team = NULL; // samples are everybody's
    if (last > 1) s->ctx.threads = 1, s->ctx.progress = NULL;
    s->memory = sn_arena_new(&s->ctx);
    s->plan.spare = start_spare(plan, k);
  }
  start_job job = {starts + first, p};
  sn_parallel_for(ctx, last - first, 1, run_starts, &job);
  sn_status status = SN_OK;
  for (int k = first; k < last && status == SN_OK; k++) {
    status = starts[k].status;
    if (status != SN_OK) {
      ctx->error = starts[k].ctx.error;
    } else if (start_score(&starts[k]) < start_score(&starts[*best])) {
      *best = k;
    }
  }
  return status;
}

// Solves for the sample p from several starts, because each ends in a minimum of its own; out of them comes the best. Of nearly exact data
// one that starts from more bones may find the truth.
static sn_status best_start(sn_context *ctx, const rig_problem *p, const rig_plan *plan, coarse_start *starts,
                            int count, int *best) {
  *best = 0;
  sn_status status = more_starts(ctx, p, plan, starts, 0, count, best);
  if (status != SN_OK || count != 2 || !starts[*best].finished) return status;
  return start_spare(plan, 2) > plan->spare ? more_starts(ctx, p, plan, starts, 2, 3, best) : SN_OK;
}

// Where neighbours have different bones the surface of new poses tears: such edges are pulled harder until none is left.
static sn_status mend_tears(sn_context *ctx, rig_model *m, const rig_way *way, rig_smooth *smooth, int *rounds) {
  enum { most = 8 };
  sn_status status = SN_OK;
  for (int k = 0; k < most && status == SN_OK && sn_rig_smooth_tears(m, smooth, RIG_TEAR) > RIG_TEAR; k++, ++*rounds)
    status = sn_rig_round(ctx, m, way, RIG_ADJUST, false);
  return status;
}

sn_status sn_rig_solve(sn_context *ctx, sn_arena *memory, const rig_problem *p, const rig_plan *plan, rig_model *m,
                       rig_tree *tree, int *rounds) {
  enum { most_starts = 3 };
  sn_arena scratch = sn_arena_new(ctx), coarse_memory = sn_arena_new(ctx);
  int vertices = plan->bones * (plan->bones > 100 ? sample_per_bone / 3 : sample_per_bone);
  if (vertices < sample_least) vertices = sample_least;
  int *sampled = SN_NEW(ctx, &scratch, int, p->f), *all = SN_NEW(ctx, &scratch, int, p->f), best = 0;
  coarse_start starts[most_starts];
  int count = plan->tree && plan->bones > 2 ? plan->starts : 1;
  rig_problem coarse, middle;
  rig_model middle_model;
  // Smoothness is between neighbours of the whole mesh: samples go without.
  rig_way rough = {.tree = plan->tree ? tree : NULL, .affine = plan->affine}, way = rough;
  way.smooth = plan->smooth, way.mend = plan->smooth_auto ? plan->smooth : NULL;
  *rounds = 0;
  memset(starts, 0, sizeof starts);
  sn_status status = sampled && all ? SN_OK : ctx->error.status;
  if (status == SN_OK) status = sn_rig_tree_new(ctx, memory, plan->bones + plan->spare + 1, tree);
  if (status == SN_OK) status = sn_rig_sample(ctx, &coarse_memory, p, vertices, sample_frames, &coarse, sampled);
  if (status == SN_OK) status = sn_rig_problem_moments(ctx, &coarse_memory, &coarse);
  if (status == SN_OK) status = best_start(ctx, &coarse, plan, starts, count, &best);
  status = tell(ctx, status, 0.4);
  if (status == SN_OK && !starts[best].finished) {
    rig_way chosen = {.tree = plan->tree ? &starts[best].tree : NULL, .affine = plan->affine};
    status = finish_coarse(&starts[best].ctx, plan, &chosen, &starts[best].m);
    if (status != SN_OK) ctx->error = starts[best].ctx.error;
  }
  status = tell(ctx, status, 0.55);
  if (status == SN_OK) status = sn_rig_sample(ctx, &scratch, p, vertices, p->f, &middle, all);
  if (status == SN_OK) {
    sn_rig_tree_copy(&starts[best].tree, tree);
    status = lift_frames(ctx, &scratch, &starts[best].m, sampled, &middle, &rough, &middle_model);
  }
  for (int k = 0; k < most_starts; k++) sn_arena_free(&starts[k].memory);
  sn_arena_free(&coarse_memory);
  status = tell(ctx, status, 0.65);
  if (status == SN_OK) status = lift_vertices(ctx, memory, &middle_model, p, m);
  sn_arena_free(&scratch);
  status = tell(ctx, status, 0.75);
  m->whole =
    plan->bones <= large_tree; // links of hundreds may be thin: replacing them takes long, and 12 of 300 were lost
  if (status == SN_OK && plan->smooth_auto) sn_rig_smooth_by_error(m, plan->smooth);
  if (status == SN_OK) status = prune(ctx, m, &way, 2 * RIG_THINNEST, 3, rounds);
  if (status == SN_OK) status = some_rounds(ctx, m, &way, plan->iterations, pays_at_last, rounds);
  bool large = plan->bones > large_tree; // bones of a few vertices: thinning would take those
  if (status == SN_OK) status = prune(ctx, m, &way, (large ? 1 : 1.5) * RIG_THINNEST, 3, rounds);
  if (status == SN_OK && plan->smooth_auto) status = mend_tears(ctx, m, &way, plan->smooth, rounds);
  if (status == SN_OK && plan->tree) status = pull_inside(ctx, m, &way, 24, dearest_inside, rounds);
  if (status == SN_OK && plan->tree) sn_rig_tree_settle_root(m, tree);
  if (status != SN_OK || !plan->smooth_auto || large) return status;
  status = sn_rig_thin(ctx, plan->rest, m, plan->smooth);
  if (status == SN_OK) status = remove_slivers(ctx, m, &way, RIG_THINNEST);
  return status == SN_OK ? sn_rig_tree_fit(ctx, m, tree, 2, NULL)
                         : status; // which makes up for some of what that costs
}
