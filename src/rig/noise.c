// SPDX-License-Identifier: MIT
// Estimates the noise of mesh sequences from small patches of the surface: a patch that does not bend moves rigidly, so the
// residual of its best rigid motion is noise.
#include <float.h>
#include <math.h>
#include <string.h>

#include "sinew/rig.h"

static const double quiet = 0.1; // quantile of the patches that bend least
static const double even = 2;    // largest ratio of the median to the quiet residual; above, bending hides the noise
static const double strange = 0.5;      // a frame is wrong if its median residual over radius exceeds this
static const double stands_out = 3;     // and exceeds this times the median over the frames
static const double patch_part = 0.008; // vertices of a patch, relative to all
static const double rounding = 8 * (double)FLT_EPSILON; // of the diagonal: residuals below are rounding
enum { least_patch = 24, most_patch = 200, probes = most_patch, probe_frames = 16 };

typedef struct noise_job {
  sn_context *ctx;
  const sn_topology *topology;
  const float (*rest)[3];
  const sn_frames *frames;
  int n, size;     // vertices; most vertices of a patch
  const int *good; // all frames but the wrong ones
  int good_count;
  double rest_square, frame_square;      // variance per coordinate
  int *seen, *patch;                     // per worker: n, most_patch
  int probe_count, (*probe)[most_patch]; // patches of the estimate
  float (*out)[3];
} noise_job;

// The nearest vertices along the edges, breadth first from `seed`.
static int grow_patch(const noise_job *job, int seed, int *seen, int *out) {
  int count = 1;
  out[0] = seed, seen[seed] = seed;
  for (int head = 0; head < count && count < job->size; head++)
    for (int e = job->topology->ring_start[out[head]]; e < job->topology->ring_start[out[head] + 1]; e++) {
      int k = job->topology->ring[e];
      if (seen[k] == seed || count == job->size) continue;
      seen[k] = seed, out[count++] = k;
    }
  return count;
}

typedef struct patch_fit {
  sn_mat3 turn;
  sn_vec3 from, to;
  double square,
    size; // squared residual and squared distance to the centroid, per degree of freedom
} patch_fit;

// The best rigid motion of the patch from x to y (Kabsch).
static patch_fit fit_patch(const float (*x)[3], const float (*y)[3], const int *patch, int count) {
  patch_fit fit = {0};
  sn_mat3 h = {0};
  for (int q = 0; q < count; q++) {
    fit.from = sn_vec3_mad(fit.from, sn_vec3_from(x[patch[q]]), 1.0 / count);
    fit.to = sn_vec3_mad(fit.to, sn_vec3_from(y[patch[q]]), 1.0 / count);
  }
  for (int q = 0; q < count; q++) {
    sn_vec3 a = sn_vec3_sub(sn_vec3_from(x[patch[q]]), fit.from), b = sn_vec3_sub(sn_vec3_from(y[patch[q]]), fit.to);
    h = sn_mat3_add(h, sn_mat3_outer(a, b));
  }
  fit.turn = sn_mat3_kabsch(h);
  for (int q = 0; q < count; q++) {
    sn_vec3 a = sn_vec3_sub(sn_vec3_from(x[patch[q]]), fit.from), b = sn_vec3_sub(sn_vec3_from(y[patch[q]]), fit.to);
    sn_vec3 d = sn_vec3_sub(b, sn_mat3_apply(fit.turn, a));
    fit.square += sn_vec3_dot(d, d) / (3 * count - 6), fit.size += sn_vec3_dot(a, a) / (3 * count - 6);
  }
  return fit;
}

static double quantile(double *values, int count, double part) {
  sn_sort_doubles(values, (size_t)count);
  return count > 0 ? values[(int)(part * (count - 1))] : 0;
}

// Patches of full size, spread over the mesh.
static void choose_probes(noise_job *job) {
  int tries = job->n < probes ? job->n : probes;
  for (int k = 0; k < tries; k++) {
    int seed = (int)((int64_t)k * job->n / tries);
    if (grow_patch(job, seed, job->seen, job->probe[job->probe_count]) == job->size) job->probe_count++;
  }
}

// Residual of the median patch from the rest mesh to frame f, over its radius.
static double frame_strain(const noise_job *job, int f, double *values) {
  int found = 0;
  for (int k = 0; k < job->probe_count; k++) {
    patch_fit fit = fit_patch(job->rest, sn_frame(job->frames, f), job->probe[k], job->size);
    if (fit.size > 0) values[found++] = sqrt(fit.square / fit.size);
  }
  return quantile(values, found, 0.5);
}

// Finds frames whose patches do not match the rest mesh. Fills job->good and out->wrong.
static void find_wrong(noise_job *job, int *good, sn_rig_noise *out, double *values, double *strain) {
  int frames = job->frames->frame_count;
  for (int f = 0; f < frames; f++) {
    strain[f] = strain[frames + f] = frame_strain(job, f, values);
    sn_frames_used(job->frames, job->n, 1);
  }
  double usual = quantile(strain + frames, frames, 0.5);
  for (int f = 0; f < frames; f++) {
    if (strain[f] > strange && strain[f] > stands_out * usual) {
      out->wrong[out->wrong_count++] = f;
    } else {
      good[job->good_count++] = f;
    }
  }
  job->good = good;
}

// `quiet` quantile and median of the probes' squared residuals, rest mesh to frames or (step > 0) between frames `step` apart.
static void floor_of(const noise_job *job, int step, double *values, double *low, double *middle) {
  int found = 0, frames = job->good_count < probe_frames ? job->good_count : probe_frames;
  for (int k = 0; k < job->probe_count; k++)
    for (int q = 0; q < frames; q++) {
      int at = (int)((int64_t)q * job->good_count / frames), other = (at + step) % job->good_count;
      const float(*to)[3] = sn_frame(job->frames, job->good[other]);
      const float(*from)[3] = step > 0 ? sn_frame(job->frames, job->good[at]) : job->rest;
      double square = fit_patch(from, to, job->probe[k], job->size).square;
      if (square > 0) values[found++] = square; // 0: the rest mesh is one of the frames
    }
  *low = quantile(values, found, quiet), *middle = quantile(values, found, 0.5);
}

// Noise variances: residuals between two frames have twice the variance of a frame, between rest mesh and frame the sum of both.
static void find_noise(noise_job *job, double *values, double diagonal, sn_rig_noise *out) {
  double across, across_middle, up, up_middle;
  if (job->good_count < 4) return;
  floor_of(job, job->good_count / 2, values, &across, &across_middle);
  floor_of(job, 0, values, &up, &up_middle);
  if (up_middle > even * even * up || across_middle > even * even * across) return;
  if (!(across > rounding * rounding * diagonal * diagonal)) return;
  job->frame_square = across / 2, job->rest_square = fmax(0, up - across / 2);
  out->frames_pct_diag = 100 * sqrt(3 * job->frame_square) / diagonal;
  out->rest_pct_diag = 100 * sqrt(3 * job->rest_square) / diagonal;
}

// Every rest vertex becomes the mean of itself and of all frames, mapped back by the inverse motion of its patch and weighted
// by inverse variance. Frames in which the patch bends get less weight (Huber's, squared).
static void average_range(void *user, int64_t begin, int64_t end, int worker) {
  noise_job *job = user;
  int *seen = job->seen + (size_t)worker * (size_t)job->n, *patch = job->patch + (size_t)worker * most_patch;
  for (int64_t i = begin; i < end; i++) {
    int count = grow_patch(job, (int)i, seen, patch);
    double total = job->frame_square / job->rest_square, expected = job->frame_square + job->rest_square;
    sn_vec3 sum = sn_vec3_scale(sn_vec3_from(job->rest[i]), total);
    for (int q = 0; q < job->good_count && count >= 4; q++) {
      const float(*x)[3] = sn_frame(job->frames, job->good[q]);
      patch_fit fit = fit_patch(job->rest, x, patch, count);
      double trust = fmin(1, expected / fmax(fit.square, 1e-300));
      sn_vec3 back = sn_mat3_apply(sn_mat3_transpose(fit.turn), sn_vec3_sub(sn_vec3_from(x[i]), fit.to));
      sum = sn_vec3_mad(sum, sn_vec3_add(back, fit.from), trust * trust), total += trust * trust;
    }
    sn_vec3_store(sn_vec3_scale(sum, 1 / total), job->out[i]);
  }
}

// Replaces wrong frames by the last good frame before them (or by the first good frame).
static sn_status hold_wrong(sn_context *ctx, const noise_job *job, const sn_rig_noise *noise, sn_frames *frames) {
  sn_frames held;
  sn_status status = sn_frames_new(ctx, frames->vertex_count, frames->frame_count, &held);
  if (status != SN_OK) return status;
  for (int f = 0, k = 0, w = 0; f < frames->frame_count; f++) {
    bool wrong = w < noise->wrong_count && noise->wrong[w] == f;
    w += wrong;
    while (k + 1 < job->good_count && job->good[k + 1] <= f) k++;
    memcpy(sn_frame_mutable(&held, f), sn_frame(frames, wrong ? job->good[k] : f),
           (size_t)frames->vertex_count * sizeof(float[3]));
  }
  held.rate = frames->rate;
  sn_frames_free(frames);
  *frames = held;
  return SN_OK;
}

sn_status sn_rig_denoise(sn_context *ctx, sn_mesh *rest, sn_frames *frames, sn_arena *memory, sn_rig_noise *out) {
  sn_topology topology;
  *out = (sn_rig_noise){.wrong = SN_NEW(ctx, memory, int, frames->frame_count)};
  if (!out->wrong || rest->triangle_count < 1) return out->wrong ? SN_OK : ctx->error.status;
  sn_status status = sn_topology_build(ctx, rest, &topology);
  if (status != SN_OK) return status;
  sn_arena scratch = sn_arena_new(ctx);
  size_t n = (size_t)rest->vertex_count, workers = (size_t)sn_threads(ctx), f = (size_t)frames->frame_count;
  noise_job job = {.ctx = ctx, .topology = &topology, .rest = (const float(*)[3])rest->positions, .frames = frames};
  job.n = rest->vertex_count;
  job.size = (int)fmin(fmax(patch_part * job.n, least_patch), most_patch);
  job.seen = SN_NEW(ctx, &scratch, int, n *workers), job.patch = SN_NEW(ctx, &scratch, int, most_patch *workers);
  job.out = sn_arena_alloc(ctx, &scratch, n, sizeof *job.out);
  job.probe = sn_arena_alloc(ctx, &scratch, probes, sizeof *job.probe);
  int *good = SN_NEW(ctx, &scratch, int, f);
  double *values = SN_NEW(ctx, &scratch, double, probes *probe_frames),
         *strain = SN_NEW(ctx, &scratch, double, 2 * f);
  if (job.seen && job.patch && job.out && job.probe && good && values && strain) {
    memset(job.seen, -1, n * workers * sizeof *job.seen);
    choose_probes(&job);
    find_wrong(&job, good, out, values, strain);
    find_noise(&job, values, sn_points_diagonal(job.rest, job.n), out);
    memset(job.seen, -1, n * workers * sizeof *job.seen);
    if (job.rest_square > 0) {
      sn_parallel_for(ctx, job.n, 64, average_range, &job);
      memcpy(rest->positions, job.out, n * sizeof *job.out);
    }
    if (out->wrong_count > 0 && job.good_count > 0) status = hold_wrong(ctx, &job, out, frames);
  } else {
    status = ctx->error.status;
  }
  sn_arena_free(&scratch);
  sn_topology_free(&topology);
  return status;
}
