// SPDX-License-Identifier: MIT
// The single joint that fits a vertex best (the articulated rigid body of Wang 2007, 7.1). Rejects a joint as soon as its error
// exceeds the best so far; visits frames spread over the clip first, so that this happens early.
#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "base/team.h"
#include "sinew/train.h"

enum { tile = 64 }; // vertices that share the loads of each matrix

typedef struct joint_job {
  sn_context *ctx;
  const sn_mesh *rest;
  const sn_frames *frames;
  const sn_poses *poses;
  const sn_keys *keys;
  int *visit;          // the order of the keys
  float (*buffers)[3]; // tile * keys, per worker: all times of a vertex
  uint16_t *joints;
  double *errors;
} joint_job;

// Squared error of a vertex that follows one joint; INFINITY as soon as it exceeds `least`.
static double error_of(const joint_job *job, int joint, sn_vec3 rest, const float (*times)[3], double least) {
  double sum = 0;
  for (int n = 0; n < job->keys->count; n++) {
    int k = job->visit[n];
    const sn_affine *pose = sn_pose(job->poses, job->keys->frames[k]);
    sn_vec3 d = sn_vec3_sub(sn_affine_apply(pose[joint], rest), sn_vec3_from(times[k]));
    sum += sn_vec3_dot(d, d);
    if (!(sum <= least)) return INFINITY;
  }
  return sum;
}

// Finds the best joint of each vertex of a tile, the lowest index among equals. Starts from *guess, and updates it.
static void search_tile(const joint_job *job, int64_t first, int count, const float (*times)[3], int *guess) {
  size_t frames = (size_t)job->keys->count;
  sn_vec3 rest[tile];
  double least[tile];
  int best[tile];
  for (int v = 0; v < count; v++) {
    rest[v] = sn_vec3_from(job->rest->positions[first + v]);
    best[v] = *guess, least[v] = error_of(job, *guess, rest[v], times + (size_t)v * frames, INFINITY);
  }
  for (int j = 0; j < job->poses->joint_count; j++)
    for (int v = 0; v < count; v++) {
      if (j == *guess) continue;
      double error = error_of(job, j, rest[v], times + (size_t)v * frames, least[v]);
      if (error < least[v] || (error == least[v] && j < best[v])) least[v] = error, best[v] = j;
    }
  for (int v = 0; v < count; v++) {
    if (job->joints) job->joints[first + v] = (uint16_t)best[v];
    if (job->errors) job->errors[first + v] = least[v];
  }
  *guess = best[count - 1];
}

static void search_range(void *user, int64_t begin, int64_t end, int worker) {
  const joint_job *job = user;
  int frames = job->keys->count, guess = 0;
  if (worker == 0 && job->frames->file.map) // the caller's thread
    sn_progress(job->ctx, "best single joints", (double)begin / job->rest->vertex_count);
  float(*times)[3] = job->buffers + (size_t)worker * tile * (size_t)frames;
  for (int64_t first = begin; first < end; first += tile) {
    int count = (int)(end - first < tile ? end - first : tile);
    for (int k = 0; k < frames; k++) {
      const float(*frame)[3] = sn_frame(job->frames, job->keys->frames[k]) + first;
      for (int v = 0; v < count; v++) memcpy(times[(size_t)v * (size_t)frames + (size_t)k], frame[v], sizeof *frame);
    }
    search_tile(job, first, count, (const float(*)[3])times, &guess);
    sn_frames_used(job->frames, count, frames);
  }
}

// Visits every sqrt(count)-th key, then those after them: distant poses differ more.
static void spread(int count, int *visit) {
  int step = (int)sqrt(count), at = 0;
  for (int first = 0; first < step; first++)
    for (int k = first; k < count; k += step) visit[at++] = k;
}

sn_status sn_best_joints(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, uint16_t *joints,
                         double *errors) {
  SN_SCRATCH(scratch, ctx);
  int64_t n = examples->rest.vertex_count;
  joint_job job = {.ctx = ctx,
                   .rest = &examples->rest,
                   .frames = &examples->frames,
                   .poses = &examples->poses,
                   .keys = keys,
                   .joints = joints,
                   .errors = errors};
  job.visit = SN_NEW(ctx, &scratch, int, keys->count);
  job.buffers =
    sn_arena_alloc(ctx, &scratch, (size_t)sn_threads(ctx) * tile * (size_t)keys->count, sizeof *job.buffers);
  if (!job.visit || !job.buffers) return ctx->error.status;
  spread(keys->count, job.visit);
  sn_team_for(ctx, n, tile, search_range, &job);
  if (joints) SN_TRY(sn_team_gather(ctx, n, tile, joints, sizeof *joints));
  return errors ? sn_team_gather(ctx, n, tile, errors, sizeof *errors) : SN_OK;
}
