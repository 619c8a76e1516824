// SPDX-License-Identifier: MIT
// Chooses the number of bones by cross-validation. On a sample, starts from many clusters, removes one bone after the other and
// scores the weights of every number of bones on held-out frames.
#include "rig/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  sample_vertices = 1000,
  train_frames = 14, // most training and test frames of a fold
  test_frames = 6,
  settle_rounds = 2, // after removing a bone
  folds = 5
};
// Tolerance above the least error, relative to the error of a single bone; also the least relative gain of one more bone.
static const double enough = 0.02;

// One fold: bones are found on one sample of frames, and scored on another of the same vertices.
typedef struct rig_fold {
  sn_context ctx; // folds run in parallel
  sn_arena memory;
  fit_problem train, test;
  int start, limit;
  double error[RIG_MOST_COUNTED]; // squared error of 1, 2, ... bones on held-out frames; negative: not computed
  sn_status status;
} rig_fold;

static sn_status score(rig_fold *fold, const fit_model *m) {
  sn_arena scratch = sn_arena_new(&fold->ctx);
  fit_model held_out;
  sn_status status = sn_rig_follow(&fold->ctx, &scratch, m, &fold->test, NULL, &held_out);
  if (status == SN_OK) status = sn_fit_pass(&fold->ctx, &held_out, FIT_KEEP, NULL);
  if (status == SN_OK) fold->error[m->bones - 1] = held_out.error;
  sn_arena_free(&scratch);
  return status;
}

static sn_status run_fold(rig_fold *fold) {
  const rig_way way = {0};
  fit_model m;
  sn_context *ctx = &fold->ctx;
  sn_status status = sn_fit_model_new(ctx, &fold->memory, &fold->train, fold->start, fold->limit, &m);
  if (status == SN_OK) status = sn_rig_start_clusters(ctx, &fold->memory, &way, &m);
  while (status == SN_OK) {
    status = score(fold, &m);
    if (m.bones == 1 || status != SN_OK) break;
    status = sn_rig_remove_cheapest(ctx, &m, &way, 1);
    for (int k = 1; k < settle_rounds && status == SN_OK; k++)
      status = sn_rig_round(ctx, &m, &way, FIT_ADJUST, false);
  }
  return status;
}

static void run_folds(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  rig_fold *fold = user;
  for (int64_t k = begin; k < end; k++) fold[k].status = run_fold(&fold[k]);
}

typedef struct placed_frame {
  double place;
  int frame;
} placed_frame;

static int by_place(const void *a, const void *b) {
  const placed_frame *x = a, *y = b;
  if (x->place != y->place) return x->place < y->place ? -1 : 1;
  return x->frame - y->frame;
}

// Divides the frames into equal blocks of similar frames, sorted by distance to the frame farthest from the rest pose. Does not
// depend on their order in time.
static sn_status make_blocks(sn_context *ctx, const fit_problem *p, int blocks, int *block) {
  sn_arena scratch = sn_arena_new(ctx);
  placed_frame *frames = SN_NEW(ctx, &scratch, placed_frame, p->f);
  double *distance = SN_NEW(ctx, &scratch, double, p->f);
  sn_status status = frames && distance ? SN_OK : ctx->error.status;
  if (status == SN_OK) {
    int far = 0;
    sn_rig_frame_distances(p, -1, distance);
    for (int f = 0; f < p->f; f++)
      if (distance[f] > distance[far]) far = f;
    sn_rig_frame_distances(p, far, distance);
    for (int f = 0; f < p->f; f++) frames[f] = (placed_frame){distance[f], f};
    qsort(frames, (size_t)p->f, sizeof *frames, by_place);
    for (int q = 0; q < p->f; q++) block[frames[q].frame] = q * blocks / p->f;
  }
  sn_arena_free(&scratch);
  return status;
}

static sn_status make_fold(sn_context *ctx, const fit_problem *p, const rig_count *how, const int *block, int number,
                           rig_fold *fold) {
  sn_arena scratch = sn_arena_new(ctx);
  bool *in = SN_NEW(ctx, &scratch, bool, p->f), *out = SN_NEW(ctx, &scratch, bool, p->f);
  int *chosen = SN_NEW(ctx, &scratch, int, p->f);
  *fold = (rig_fold){.ctx = *ctx, .memory = sn_arena_new(ctx), .limit = how->limit, .start = how->most};
  fold->ctx.team = NULL, fold->ctx.progress = NULL, fold->ctx.threads = 1; // parallel over folds
  for (int b = 0; b < RIG_MOST_COUNTED; b++) fold->error[b] = -1;
  sn_status status = in && out && chosen ? SN_OK : ctx->error.status;
  for (int f = 0; f < p->f && status == SN_OK; f++)
    in[f] = number < 0 || block[f] != number, out[f] = number < 0 || !in[f];
  if (status == SN_OK)
    status =
      sn_rig_sample(ctx, &fold->memory, p, (rig_part){sample_vertices, train_frames, in}, &fold->train, chosen);
  if (status == SN_OK)
    status = sn_rig_sample(ctx, &fold->memory, p, (rig_part){sample_vertices, test_frames, out}, &fold->test, chosen);
  sn_arena_free(&scratch);
  return status;
}

// Least excess variance, relative to the noise: the fit absorbs some noise, so that error minus noise may be negative.
static const double least_excess = 0.1;

// The cross-validated rms error of 1, 2, ... bones in percent of the diagonal, minus the noise. Returns the number of entries.
static int make_curve(const rig_fold *fold, int count, const rig_count *how, double *curve) {
  double noise = how->noise_pct * how->noise_pct;
  int bones = 0;
  for (; bones < RIG_MOST_COUNTED; bones++) {
    double sum = 0, positions = 0;
    for (int k = 0; k < count; k++) {
      if (fold[k].error[bones] < 0) return bones;
      sum += fold[k].error[bones], positions += (double)fold[k].test.n * fold[k].test.f;
    }
    curve[bones] = sqrt(fmax(how->percent * how->percent * sum / positions - noise, least_excess * noise));
  }
  return bones;
}

// The fewest bones whose validation error is within `enough` of the least, relative to a single bone's: a level is more robust
// to noise than a slope. Fewer if the next bones lower the error by less than `enough` each; more to reach error_pct.
static int choose(const double *curve, int count, const rig_count *how) {
  int best = 0, helps = 0, most = how->most < count ? how->most : count;
  double floor = curve[0];
  for (int b = 0; b < most; b++) floor = fmin(floor, curve[b]);
  double level = fmax(floor + enough * (curve[0] - floor), RIG_NO_ERROR);
  while (best + 1 < most && curve[best] > level) best++;
  for (int b = 1; b < most; b++)
    if (log(curve[b]) + enough * b < log(curve[helps]) + enough * helps) helps = b;
  if (helps < best) best = helps;
  while (best + 1 < most && how->error_pct > 0 && curve[best] > how->error_pct) best++;
  return best + 1;
}

sn_status sn_rig_count_bones(sn_context *ctx, sn_arena *memory, const fit_problem *p, const rig_count *how,
                             sn_rig_report *report) {
  sn_arena scratch = sn_arena_new(ctx);
  rig_fold fold[folds];
  int count = p->f < folds ? p->f : folds, *block = SN_NEW(ctx, &scratch, int, p->f), made = 0;
  double *curve = report->curve = SN_NEW(ctx, memory, double, RIG_MOST_COUNTED);
  sn_status status = block && curve ? make_blocks(ctx, p, count, block) : ctx->error.status;
  for (; made < count && status == SN_OK; made++)
    status = make_fold(ctx, p, how, block, count > 1 ? made : -1, &fold[made]);
  if (status == SN_OK) sn_parallel_for(ctx, count, 1, run_folds, fold);
  for (int k = 0; k < made; k++) {
    if (status == SN_OK && fold[k].status != SN_OK) status = fold[k].status, ctx->error = fold[k].ctx.error;
    sn_arena_free(&fold[k].memory);
  }
  if (status == SN_OK) {
    report->curve_count = make_curve(fold, count, how, curve);
    report->curve_choice = choose(curve, report->curve_count, how);
  }
  sn_arena_free(&scratch);
  return status;
}
