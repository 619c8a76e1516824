// SPDX-License-Identifier: MIT
// How many bones: on a sample, from many clusters one bone after the other is taken out, and every number of bones gets a score:
// the logarithm of the error, and what the bones cost. Soft parts of a body, which bend and bulge, could use any number of bones; only
// those that move on their own come cheap.
#include "rig/internal.h"

#include <math.h>
#include <string.h>

// What a bone must lower the logarithm of the error by to stay. Where their number is free: 6 % for a part that moves on its own, up to 50
// for a bone that only helps others to bend or bulge. A part is what no other bone explains nearly as well: the best of them leaves
// `part` times the distance and more; below `soft` times it is a helper. 37 sets, of which 31 have a known number of moving parts (characters,
// exact blends, soft arms, legs and shoulders), decided: 0.05 to 0.07, 0.4 to 0.55, 1.1 to 1.2 and 1.7 to 1.8 are about as good.
static const double worth_part = 0.06, worth_helper = 0.5, part = 1.8, soft = 1.1;
// Where their number is given: 1 %, whatever they are.
static const double worth_given = RIG_WORTH_GIVEN / 100;

// sum_i w_ij^2 |x_i - T_k u_i|^2 is constant - 2 <T_k, cross> + <T_k S_jj, T_k>, with what follows for every bone j.
typedef struct rig_alone {
  double *square; // bones: sum_i w_ij^2 |x_i|^2
  double *cross;  // bones * 4 rows of 3 f: sum_i w_ij^2 u~_ic x_i
} rig_alone;

static void gather(const rig_model *m, rig_alone *a) {
  size_t columns = 3 * (size_t)m->p->f;
  memset(a->square, 0, (size_t)m->bones * sizeof *a->square);
  memset(a->cross, 0, 4 * columns * (size_t)m->bones * sizeof *a->cross);
  for (int i = 0; i < m->p->n; i++) {
    const float *x = rig_row(m->p, i);
    for (int q = 0; q < m->limit; q++) {
      size_t slot = (size_t)i * (size_t)m->limit + (size_t)q;
      double w2 = m->weight[slot] * m->weight[slot], *to = a->cross + 4 * columns * m->joint[slot];
      if (!(w2 > 0)) break;
      for (size_t e = 0; e < columns; e++) {
        double wx = w2 * (double)x[e];
        a->square[m->joint[slot]] += wx * (double)x[e];
        for (size_t c = 0; c < 4; c++) to[c * columns + e] += wx * m->p->u[i][c];
      }
    }
  }
}

// What bone k alone leaves of the vertices of bone j, in squares.
static double alone_error(const rig_model *m, const rig_alone *a, int j, int k) {
  size_t columns = 3 * (size_t)m->p->f;
  const double *t = m->t + 4 * columns * (size_t)k, *cross = a->cross + 4 * columns * (size_t)j;
  double s[4][4], sum = a->square[j];
  rig_unpack(rig_pair(m, j, j), s);
  for (size_t e = 0; e < columns; e++)
    for (size_t c = 0; c < 4; c++) {
      double st = 0;
      for (size_t d = 0; d < 4; d++) st += s[c][d] * t[d * columns + e];
      sum += t[c * columns + e] * (st - 2 * cross[c * columns + e]);
    }
  return fmax(sum, 0);
}

// What bone j must be worth.
static double bone_cost(const rig_model *m, const rig_alone *a, int j, double nothing) {
  double own = alone_error(m, a, j, j), other = INFINITY, none = nothing * sn_rig_share(m, j) * m->p->f;
  for (int k = 0; k < m->bones; k++)
    if (k != j) other = fmin(other, alone_error(m, a, j, k));
  double ratio = 0.5 * log((other + none) / (own + none));
  double softness = fmin(fmax((log(part) - ratio) / (log(part) - log(soft)), 0), 1);
  return worth_part + softness * (worth_helper - worth_part);
}

enum { most_tried = 96, curve_frames = 16 };

// One curve: from `bones` clusters one bone after the other goes, until one is left.
typedef struct rig_curve {
  sn_context ctx; // of this curve alone: they run side by side
  sn_arena memory;
  const rig_problem *sample;
  int bones, limit;
  bool by_worth;  // what goes is the bone that is worth least, not the one that is missed least
  bool given;     // their number is
  double noise;   // squared error of a vertex in a frame that no bone explains
  double nothing; // squared error of a vertex in a frame that counts as none
  rig_alone alone;
  double *cost;                              // bones: what each must be worth
  double score[most_tried], rms[most_tried]; // of 1, 2, ... bones; infinite where there are none
  sn_status status;
} rig_curve;

static void find_costs(const rig_model *m, rig_curve *c) {
  if (!c->given) gather(m, &c->alone);
  for (int j = 0; j < m->bones; j++) c->cost[j] = c->given ? worth_given : bone_cost(m, &c->alone, j, c->nothing);
}

// Of the noise: what bones leave beyond it counts, and no less than this, because weights follow some of it.
static const double least_excess = 0.1;

static double score(const rig_model *m, const rig_curve *c) {
  double square = m->error / ((double)m->p->n * m->p->f);
  double sum = 0.5 * log(fmax(square - c->noise, least_excess * c->noise) + c->nothing);
  for (int j = 0; j < m->bones; j++) sum += c->cost[j];
  return sum;
}

static int least_worth(const rig_model *m, const rig_curve *c) {
  double nothing = c->nothing * m->p->n * m->p->f, least = INFINITY;
  int best = 0;
  for (int j = 0; j < m->bones; j++) {
    double worth = 0.5 * log1p(fmax(m->price[j], 0) / (m->error + nothing)) - (c->by_worth ? c->cost[j] : 0);
    if (worth < least) least = worth, best = j;
  }
  return best;
}

static sn_status remove_least_worth(sn_context *ctx, rig_model *m, const rig_curve *c) {
  const rig_way way = {0};
  sn_status status = sn_rig_pass(ctx, m, RIG_PRICE, NULL);
  if (status == SN_OK) {
    sn_rig_remove_bone(ctx, m, least_worth(m, c));
    status = sn_rig_pass(ctx, m, RIG_EXPLORE, NULL);
  }
  for (int round = 0; round < 2 && status == SN_OK; round++) status = sn_rig_round(ctx, m, &way, RIG_ADJUST, false);
  return status;
}

static sn_status run_curve(rig_curve *c) {
  const rig_way way = {0};
  rig_model m;
  const rig_problem *p = c->sample;
  sn_status status = sn_rig_start_clusters(&c->ctx, &c->memory, p, c->bones, c->limit, &way, &m);
  if (status != SN_OK) return status;
  c->cost = SN_NEW(&c->ctx, &c->memory, double, m.bones);
  c->alone.square = SN_NEW(&c->ctx, &c->memory, double, m.bones);
  c->alone.cross = SN_NEW(&c->ctx, &c->memory, double, 12 * (size_t)m.bones * (size_t)p->f);
  if (!c->cost || !c->alone.square || !c->alone.cross) return c->ctx.error.status;
  while (status == SN_OK) {
    find_costs(&m, c);
    c->score[m.bones - 1] = score(&m, c), c->rms[m.bones - 1] = sqrt(m.error / ((double)p->n * p->f));
    if (m.bones == 1) break;
    status = remove_least_worth(&c->ctx, &m, c);
  }
  return status;
}

static void run_curves(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  rig_curve *curves = user;
  for (int64_t k = begin; k < end; k++) curves[k].status = run_curve(&curves[k]);
}

// Each curve ends up in minima of its own, and one alone has found 12 to 18 bones for the same walking man, depending on where it starts:
// the best of several counts.
typedef struct curve_kind {
  double start; // in parts of the most bones
  bool fewer;   // vertices
  bool by_worth;
} curve_kind;
static const curve_kind kinds[] = {{1, false, false}, {0.875, true, false}, {1, false, true}, {0.75, false, true}};
enum { kind_count = sizeof kinds / sizeof *kinds };

static void start_curve(const sn_context *ctx, const rig_problem samples[2], const rig_count *how, curve_kind kind,
                        rig_curve *c) {
  *c = (rig_curve){.ctx = *ctx, .memory = sn_arena_new(ctx), .limit = how->limit, .given = how->given};
  c->ctx.team = NULL, c->ctx.progress = NULL; // samples are everybody's
  if (!how->given) c->ctx.threads = 1;
  c->sample = &samples[kind.fewer], c->by_worth = kind.by_worth;
  c->bones = (int)ceil(kind.start * (how->start < most_tried ? how->start : most_tried));
  c->nothing = how->percent > 0 ? pow(RIG_NO_ERROR / how->percent, 2) : 1;
  c->noise = how->percent > 0 ? pow(how->noise_pct / how->percent, 2) : 0;
  for (int b = 0; b < most_tried; b++) c->score[b] = c->rms[b] = INFINITY;
}

static double best_score(const rig_curve *curves, int count, int bones) {
  double least = INFINITY;
  for (int k = 0; k < count; k++) least = fmin(least, curves[k].score[bones - 1]);
  return least;
}

static double best_rms(const rig_curve *curves, int count, int bones) {
  double least = INFINITY;
  for (int k = 0; k < count; k++) least = fmin(least, curves[k].rms[bones - 1]);
  return least;
}

// Where scores are about as good, chance decides which is best (a dancer with 10 or with 16): the most bones of those, unless fewer
// leave no error.
static const double about_as_good = 0.1;

// The number of bones with the best score up to `most`, or more where that takes them to the error wished for.
static int choose(const rig_curve *curves, int count, const rig_count *how) {
  int best = 1, wish = 0, largest = 1, most = how->most < most_tried ? how->most : most_tried;
  for (int b = 1; b <= most; b++)
    if (best_score(curves, count, b) < best_score(curves, count, best)) best = b;
  bool close = !how->given && how->percent * best_rms(curves, count, best) > RIG_NO_ERROR;
  double bound = best_score(curves, count, best) + (close ? about_as_good : 0);
  for (int b = 1; b <= most; b++) {
    double rms = best_rms(curves, count, b);
    if (isinf(rms)) continue;
    largest = b;
    if (b > best && best_score(curves, count, b) <= bound) best = b;
    if (wish == 0 && how->percent * rms <= how->error_pct) wish = b;
  }
  if (how->error_pct <= 0) return best;
  if (wish == 0) wish = largest;
  return wish > best ? wish : best;
}

sn_status sn_rig_count_bones(sn_context *ctx, const rig_problem *p, const rig_count *how, int *bones) {
  enum { vertices = 1200, fewer_vertices = 1100 };
  *bones = how->most;
  if (how->most > most_tried) return SN_OK;
  sn_arena memory = sn_arena_new(ctx);
  rig_problem samples[2];
  rig_curve *curves = SN_NEW(ctx, &memory, rig_curve, kind_count);
  int *frames = SN_NEW(ctx, &memory, int, p->f), count = how->given ? 1 : kind_count;
  sn_status status = frames && curves ? SN_OK : ctx->error.status;
  if (status == SN_OK) status = sn_rig_sample(ctx, &memory, p, vertices, curve_frames, &samples[0], frames);
  if (status == SN_OK) status = sn_rig_sample(ctx, &memory, p, fewer_vertices, curve_frames, &samples[1], frames);
  if (status == SN_OK) {
    for (int k = 0; k < count; k++) start_curve(ctx, samples, how, kinds[k], &curves[k]);
    sn_parallel_for(ctx, count, 1, run_curves, curves);
    for (int k = 0; k < count; k++) {
      if (status == SN_OK && curves[k].status != SN_OK) status = curves[k].status, ctx->error = curves[k].ctx.error;
      sn_arena_free(&curves[k].memory);
    }
  }
  if (status == SN_OK) *bones = choose(curves, count, how);
  sn_arena_free(&memory);
  return status;
}
