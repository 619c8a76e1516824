// SPDX-License-Identifier: MIT
// Folds of similar poses, and running a function once per fold.
#include "train/folds.h"

#include <math.h>

#include "base/team.h"
#include "solve/solve.h"
#include "train/pose_space.h"

static sn_status fill_fold(sn_context *ctx, sn_arena *memory, int pose_count, const sn_folds *folds, int n) {
  sn_fold *fold = &folds->folds[n];
  bool alone = folds->fold_count == 1;
  *fold = (sn_fold){.poses = SN_NEW(ctx, memory, int, (alone ? 2 : 1) * pose_count)};
  if (!fold->poses) return ctx->error.status;
  for (int k = 0; k < pose_count; k++)
    if (folds->fold_of[k] != n || alone) fold->poses[fold->outside_count++] = k;
  fold->count = fold->outside_count;
  for (int k = 0; k < pose_count; k++)
    if (folds->fold_of[k] == n) fold->poses[fold->count++] = k;
  return SN_OK;
}

sn_status sn_folds_make(sn_context *ctx, sn_arena *memory, int pose_count, const int *fold_of, int fold_count,
                        sn_folds *out) {
  *out = (sn_folds){fold_count, SN_NEW(ctx, memory, sn_fold, fold_count), SN_NEW(ctx, memory, int, pose_count)};
  sn_status status = out->folds && out->fold_of ? SN_OK : ctx->error.status;
  for (int k = 0; status == SN_OK && k < pose_count; k++) out->fold_of[k] = fold_of[k];
  for (int n = 0; status == SN_OK && n < fold_count; n++) status = fill_fold(ctx, memory, pose_count, out, n);
  return status;
}

// ---- clusters of similar poses --------------------------------------------------------------------------------------

// Single linkage: clusters rows nearer than `part` of the rms distance. Returns the number of clusters.
static int link_similar(int count, int dims, const double *rows, double part, int *queue, int *cluster) {
  double sum = 0;
  for (int a = 0; a < count; a++)
    for (int b = 0; b < a; b++)
      sum += 2 * sn_squared_distance(dims, rows + (size_t)a * (size_t)dims, rows + (size_t)b * (size_t)dims);
  double near2 = part * part * sum / ((double)count * count);
  int clusters = 0;
  for (int k = 0; k < count; k++) cluster[k] = -1;
  for (int first = 0; first < count; first++) {
    if (cluster[first] >= 0) continue;
    int queued = 1;
    queue[0] = first, cluster[first] = clusters;
    for (int n = 0; n < queued; n++)
      for (int k = 0; k < count; k++) {
        if (cluster[k] >= 0) continue;
        if (sn_squared_distance(dims, rows + (size_t)queue[n] * (size_t)dims, rows + (size_t)k * (size_t)dims) >=
            near2)
          continue;
        cluster[k] = clusters, queue[queued++] = k;
      }
    clusters++;
  }
  return clusters;
}

// Assigns the poses of one clip to folds.
static sn_status deal_clip(sn_context *ctx, sn_arena *memory, int count, int dims, const double *rows, int *fold_of) {
  static const double similar = 0.25; // of the rms distance (METHODS.md, Folds)
  enum { most_linked = 4096 };        // single linkage compares all pairs: longer clips are cut into runs
  int *queue = SN_NEW(ctx, memory, int, count), *fold_of_cluster = SN_NEW(ctx, memory, int, count);
  if (!queue || !fold_of_cluster) return ctx->error.status;
  int clusters = count <= most_linked ? link_similar(count, dims, rows, similar, queue, fold_of) : 1;
  if (clusters < sn_usual_folds) {
    for (int k = 0; k < count; k++) fold_of[k] = (int)((int64_t)k * sn_usual_folds / count);
    return SN_OK;
  }
  sn_random rng = sn_random_new(0);
  for (int c = 0; c < clusters; c++) { // a random permutation
    int other = sn_random_below(&rng, c + 1);
    queue[c] = queue[other], queue[other] = c;
  }
  for (int c = 0; c < clusters; c++) fold_of_cluster[queue[c]] = c % sn_usual_folds;
  for (int k = 0; k < count; k++) fold_of[k] = fold_of_cluster[fold_of[k]];
  return SN_OK;
}

// Renumbers the folds without the empty ones. Returns their number.
static int close_gaps(int count, int *fold_of) {
  int next = 0;
  for (int n = 0; n < sn_usual_folds; n++) {
    bool used = false;
    for (int k = 0; k < count; k++)
      if (fold_of[k] == n) fold_of[k] = next, used = true;
    next += used;
  }
  return next;
}

sn_status sn_folds_of_poses(sn_context *ctx, sn_arena *memory, const sn_fold_poses *poses, sn_folds *out) {
  int pose_count = poses->count, dims = poses->dims;
  const int *clip_of = poses->clip_of;
  int *fold_of = SN_NEW(ctx, memory, int, pose_count);
  sn_status status = fold_of ? SN_OK : ctx->error.status;
  for (int first = 0, end; status == SN_OK && first < pose_count; first = end) {
    for (end = first + 1; end < pose_count && (!clip_of || clip_of[end] == clip_of[first]);) end++;
    status =
      deal_clip(ctx, memory, end - first, dims, poses->vectors + (size_t)first * (size_t)dims, fold_of + first);
  }
  return status == SN_OK ? sn_folds_make(ctx, memory, pose_count, fold_of, close_gaps(pose_count, fold_of), out)
                         : status;
}

static int clip_at(const sn_examples *examples, int frame) {
  int clip = 0;
  while (clip + 1 < examples->clip_count && examples->clip_start[clip + 1] <= frame) clip++;
  return clip;
}

// Most vertices for the distance between shapes.
enum { most_points = 100 };

static void shape_vector(const sn_examples *e, int frame, int points, double *out) {
  for (int n = 0; n < 3 * points; n++)
    out[n] = sn_frame(&e->frames, frame)[(int64_t)(n / 3) * e->rest.vertex_count / points][n % 3];
}

sn_status sn_folds_of_keys(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                           sn_folds *out) {
  int joints = examples->skeleton.joint_count, vertices = examples->rest.vertex_count;
  int points = joints > 0 ? joints : vertices < most_points ? vertices : most_points, dims = 3 * points;
  double *vectors = SN_NEW(ctx, memory, double, (size_t)keys->count *(size_t)dims);
  int *clip_of = SN_NEW(ctx, memory, int, keys->count);
  sn_local_rotation *rotations = NULL;
  sn_status status = vectors && clip_of ? SN_OK : ctx->error.status;
  if (status == SN_OK && joints > 0) status = sn_local_rotations_make(ctx, memory, examples, keys, &rotations);
  for (int k = 0; status == SN_OK && k < keys->count; k++) {
    double *row = vectors + (size_t)k * (size_t)dims;
    if (joints > 0)
      sn_pose_vector(rotations, joints, sn_pose(&examples->poses, keys->frames[k]), row);
    else
      shape_vector(examples, keys->frames[k], points, row);
    clip_of[k] = clip_at(examples, keys->frames[k]);
  }
  return status == SN_OK ? sn_folds_of_poses(ctx, memory, &(sn_fold_poses){keys->count, dims, vectors, clip_of}, out)
                         : status;
}

// A vertex that moves less than sn_least_motion of the diagonal does not move.
static bool is_rest(const sn_examples *e, int frame) {
  const float *now = sn_frame(&e->frames, frame)[0], *rest = e->rest.positions[0];
  double least = sn_least_motion * sn_points_diagonal((const float(*)[3])e->rest.positions, e->rest.vertex_count);
  int n = 0;
  while (n < 3 * e->rest.vertex_count && fabs((double)now[n] - rest[n]) <= least) n++;
  return n == 3 * e->rest.vertex_count;
}

sn_status sn_folds_of_moved(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                            sn_folds *out) {
  sn_status status = sn_folds_of_keys(ctx, memory, examples, keys, out);
  int moved = 0, largest = 0, sizes[sn_usual_folds] = {0}, count = keys->count, *fold_of = out->fold_of;
  if (status != SN_OK) return status;
  for (int k = 0; k < count; k++)
    if (is_rest(examples, keys->frames[k])) fold_of[k] = -1;
  for (int k = 0; k < count; k++)
    if (fold_of[k] >= 0) moved++, sizes[fold_of[k]]++;
  for (int n = 0; n < sn_usual_folds; n++) largest = sizes[n] > largest ? sizes[n] : largest;
  for (int k = 0; moved - largest < 2 && k < count; k++) fold_of[k] = 0;
  return sn_folds_make(ctx, memory, count, fold_of, close_gaps(count, fold_of), out);
}

typedef struct run_job {
  const sn_context *ctx;
  sn_fold_fn body;
  void *user;
  sn_error *errors; // per fold
} run_job;

static void run_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const run_job *job = user;
  for (int64_t n = begin; n < end; n++) {
    sn_context ctx = {.allocator = job->ctx->allocator, .threads = 1};
    sn_arena memory = sn_arena_new(&ctx);
    sn_status status = job->body(&ctx, &memory, job->user, (int)n);
    job->errors[n] = ctx.error, job->errors[n].status = status;
    sn_arena_free(&memory);
  }
}

static sn_status first_error(sn_context *ctx, const sn_error *errors, int count) {
  for (int n = 0; n < count; n++) {
    if (errors[n].status == SN_OK) continue;
    ctx->error = errors[n];
    return errors[n].status;
  }
  return SN_OK;
}

sn_status sn_folds_run(sn_context *ctx, const sn_folds *folds, sn_fold_fn body, void *user) {
  sn_context alone = *ctx;
  alone.team = NULL;
  sn_status status = sn_folds_share(&alone, folds, body, user, NULL, 0);
  ctx->error = alone.error;
  return status;
}

sn_status sn_folds_share(sn_context *ctx, const sn_folds *folds, sn_fold_fn body, void *user, void *results,
                         size_t size) {
  sn_arena scratch = sn_arena_new(ctx);
  run_job job = {ctx, body, user, SN_NEW(ctx, &scratch, sn_error, folds->fold_count)};
  sn_status status = job.errors ? SN_OK : ctx->error.status;
  if (status == SN_OK) {
    sn_team_for(ctx, folds->fold_count, 1, run_range, &job);
    status = first_error(ctx, job.errors, folds->fold_count);
  }
  if (status == SN_OK) status = sn_team_gather(ctx, folds->fold_count, 1, results, size);
  sn_arena_free(&scratch);
  return status;
}

int sn_simplest(const double *errors, int count, double tolerance) {
  double least = INFINITY;
  for (int c = 0; c < count; c++) least = fmin(least, errors[c]);
  for (int c = 0; c < count; c++)
    if (errors[c] <= tolerance * least) return c;
  return 0;
}
