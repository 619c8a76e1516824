// SPDX-License-Identifier: MIT
// The result as it will be written, and how far it is from the frames.
#include "base/team.h"
#include "rig/solve.h"

#include <math.h>
#include <string.h>

static sn_quat round_quat(sn_quat q) {
  return (sn_quat){(double)(float)q.x, (double)(float)q.y, (double)(float)q.z, (double)(float)q.w};
}

static sn_vec3 round_vec3(sn_vec3 v) { return (sn_vec3){(double)(float)v.x, (double)(float)v.y, (double)(float)v.z}; }

static void round_matrix(sn_affine *a) {
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) a->m[r][c] = (double)(float)a->m[r][c];
}

// Local transform of joint j in a frame, rounded. `exact` are the skinning matrices before rounding.
static sn_affine local_transform(const sn_skeleton *skeleton, const sn_affine *exact, int j) {
  sn_affine joint = sn_affine_mul(exact[j], skeleton->rest[j]), inverse;
  int parent = skeleton->parents[j];
  if (parent >= 0 && sn_affine_invert(sn_affine_mul(exact[parent], skeleton->rest[parent]), &inverse)) {
    joint = sn_affine_mul(inverse, joint);
  }
  sn_vec3 t, s;
  sn_quat r;
  sn_affine_to_trs(joint, &t, &r, &s);
  if (fabs(s.x - 1) + fabs(s.y - 1) + fabs(s.z - 1) < 1e-6) s = (sn_vec3){1, 1, 1};
  return sn_affine_from_trs(round_vec3(t), round_quat(r), round_vec3(s));
}

void sn_rig_round_poses(const sn_skeleton *skeleton, bool affine, sn_poses *poses) {
  for (int f = 0; f < poses->frame_count; f++) {
    sn_affine *pose = sn_pose(poses, f);
    if (affine) {
      for (int j = 0; j < poses->joint_count; j++) round_matrix(&pose[j]);
      continue;
    }
    // Children first see their parent's exact matrix; so the local transforms are made before any world matrix.
    for (int q = poses->joint_count - 1; q >= 0; q--) {
      int j = skeleton->order[q];
      pose[j] = local_transform(skeleton, pose, j);
    }
    for (int q = 0; q < poses->joint_count; q++) {
      int j = skeleton->order[q];
      if (skeleton->parents[j] >= 0) pose[j] = sn_affine_mul(pose[skeleton->parents[j]], pose[j]);
    }
    for (int j = 0; j < poses->joint_count; j++) {
      sn_affine bind;
      if (sn_affine_invert(skeleton->rest[j], &bind)) pose[j] = sn_affine_mul(pose[j], bind);
    }
  }
}

typedef struct error_job {
  const sn_mesh *rest;
  const sn_frames *frames;
  const sn_rig_result *result;
  double *largest; // per frame
  double *square;  // per chunk of vertices * frames
  uint32_t *bins;  // per chunk: how many squared errors of each size
  double unit;     // squared diagonal
} error_job;

enum { vertex_chunk = 256 };

static double percentile(const uint32_t *chunk_bins, size_t chunks, double part) {
  uint64_t bins[SN_PERCENTILE_BINS] = {0};
  for (size_t c = 0; c < chunks; c++)
    for (int b = 0; b < SN_PERCENTILE_BINS; b++) bins[b] += chunk_bins[c * SN_PERCENTILE_BINS + (size_t)b];
  return sn_percentile(bins, part);
}

// Errors of a chunk of vertices over all frames; row c of `square` gets the sums per frame.
static void chunk_errors(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  error_job *job = user;
  const sn_rig_result *out = job->result;
  int frames = job->frames->frame_count, k = out->skin.influences;
  int64_t chunk = begin / vertex_chunk;
  double *square = job->square + (size_t)chunk * (size_t)frames,
         *largest = job->largest + (size_t)chunk * (size_t)frames;
  for (int f = 0; f < frames; f++) {
    const float(*target)[3] = sn_frame(job->frames, f);
    const sn_affine *pose = sn_pose(&out->poses, f);
    for (int64_t i = begin; i < end; i++) {
      const uint16_t *joint = out->skin.joints + (size_t)i * (size_t)k;
      const float *weight = out->skin.weights + (size_t)i * (size_t)k, *u = job->rest->positions[i];
      double m[12] = {0};
      for (int q = 0; q < k && weight[q] > 0; q++) {
        const double *a = &pose[joint[q]].m[0][0];
        for (int e = 0; e < 12; e++) m[e] += (double)weight[q] * a[e];
      }
      double error = 0;
      for (int r = 0; r < 3; r++) {
        double d = m[4 * r] * (double)u[0] + m[4 * r + 1] * (double)u[1] + m[4 * r + 2] * (double)u[2] +
                   m[4 * r + 3] - (double)target[i][r];
        error += d * d;
      }
      square[f] += error;
      job->bins[chunk * SN_PERCENTILE_BINS + sn_percentile_bin(error / job->unit)]++;
      largest[f] = error > largest[f] ? error : largest[f];
      out->report.vertex_rms[i] += error;
    }
  }
  sn_frames_used(job->frames, end - begin, frames);
}

static sn_status gather_errors(sn_context *ctx, const error_job *job, int64_t chunks) {
  size_t frames = (size_t)job->frames->frame_count;
  sn_status status = sn_team_gather(ctx, chunks, 1, job->square, frames * sizeof *job->square);
  if (status == SN_OK) status = sn_team_gather(ctx, chunks, 1, job->largest, frames * sizeof *job->largest);
  if (status == SN_OK) status = sn_team_gather(ctx, chunks, 1, job->bins, SN_PERCENTILE_BINS * sizeof *job->bins);
  if (status == SN_OK) {
    status = sn_team_gather(ctx, job->rest->vertex_count, vertex_chunk, job->result->report.vertex_rms,
                            sizeof *job->result->report.vertex_rms);
  }
  return status;
}

static void count_influences(const sn_skin *skin, int histogram[9]) {
  memset(histogram, 0, 9 * sizeof *histogram);
  for (int i = 0; i < skin->vertex_count; i++) {
    int count = 0;
    for (int q = 0; q < skin->influences; q++)
      count += skin->weights[(size_t)i * (size_t)skin->influences + (size_t)q] > 0;
    histogram[count]++;
  }
}

sn_status sn_rig_mesh_body(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, rig_body *out) {
  int n = rest->vertex_count;
  fit_problem p = {.n = n, .u = sn_arena_alloc(ctx, memory, (size_t)n, sizeof *p.u)};
  if (!p.u) return ctx->error.status;
  for (int i = 0; i < n; i++)
    for (int c = 0; c < 3; c++) p.u[i][c] = (double)rest->positions[i][c];
  sn_status status = sn_fit_problem_order(ctx, memory, &p);
  return status == SN_OK ? sn_rig_body_build(ctx, memory, rest, &p, out) : status;
}

static sn_status joints_inside(sn_context *ctx, const sn_mesh *rest, const sn_skeleton *skeleton, double *inside_pct,
                               double *outside_pct_diag, int *pieces) {
  sn_arena scratch = sn_arena_new(ctx);
  int n = rest->vertex_count, joint_count = 0, inside = 0;
  rig_body body;
  sn_status status = sn_rig_mesh_body(ctx, &scratch, rest, &body);
  double farthest = 0, diagonal = sn_points_diagonal((const float(*)[3])rest->positions, n);
  for (int j = 0; j < skeleton->joint_count && status == SN_OK; j++) {
    sn_vec3 c = sn_affine_translation(skeleton->rest[j]);
    double x[3] = {c.x, c.y, c.z};
    if (skeleton->parents[j] < 0) continue;
    joint_count++;
    if (sn_rig_inside(&body, x)) {
      inside++;
    } else if (rest->triangle_count > 0) {
      farthest = fmax(farthest, sn_rig_surface_distance(&body, x));
    }
  }
  *inside_pct = joint_count > 0 ? 100.0 * inside / joint_count : 100;
  *outside_pct_diag = diagonal > 0 ? 100 * farthest / diagonal : 0;
  *pieces = status == SN_OK ? body.pieces : 0;
  sn_arena_free(&scratch);
  return status;
}

sn_status sn_rig_joints_inside(sn_context *ctx, const sn_mesh *rest, const sn_skeleton *skeleton, double *inside_pct,
                               double *outside_pct_diag) {
  int pieces;
  return joints_inside(ctx, rest, skeleton, inside_pct, outside_pct_diag, &pieces);
}

sn_status sn_rig_measure(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, sn_rig_result *out) {
  sn_rig_report *report = &out->report;
  sn_arena scratch = sn_arena_new(ctx);
  size_t n = (size_t)rest->vertex_count, f = (size_t)frames->frame_count;
  size_t chunks = (n + vertex_chunk - 1) / vertex_chunk;
  report->frame_rms = SN_NEW(ctx, &out->memory, double, f);
  report->vertex_rms = SN_NEW(ctx, &out->memory, double, n);
  double diagonal = sn_points_diagonal(rest->positions, rest->vertex_count);
  error_job job = {.rest = rest,
                   .frames = frames,
                   .result = out,
                   .largest = SN_NEW(ctx, &scratch, double, chunks *f),
                   .square = SN_NEW(ctx, &scratch, double, chunks *f),
                   .bins = SN_NEW(ctx, &scratch, uint32_t, chunks * SN_PERCENTILE_BINS),
                   .unit = diagonal > 0 ? diagonal * diagonal : 1};
  bool good = report->frame_rms && report->vertex_rms && job.largest && job.square && job.bins;
  sn_status status = good ? joints_inside(ctx, rest, &out->skeleton, &report->joints_inside_pct,
                                          &report->joint_outside_pct_diag, &report->pieces)
                          : ctx->error.status;
  if (status == SN_OK) {
    sn_team_for(ctx, (int64_t)n, vertex_chunk, chunk_errors, &job);
    status = gather_errors(ctx, &job, (int64_t)chunks);
  }
  if (status == SN_OK) {
    double total = 0, largest = 0;
    for (size_t e = 0; e < f; e++) {
      double sum = 0;
      for (size_t c = 0; c < chunks; c++) {
        sum += job.square[c * f + e];
        if (job.largest[c * f + e] > largest) largest = job.largest[c * f + e];
      }
      if (!isfinite(sum)) status = sn_frame_changed(ctx, (int)e);
      report->frame_rms[e] = sqrt(sum / (double)n);
      total += sum;
    }
    for (size_t i = 0; i < n; i++) report->vertex_rms[i] = sqrt(report->vertex_rms[i] / (double)f);
    double percent = diagonal > 0 ? 100 / diagonal : 0;
    report->bones = out->skeleton.joint_count;
    report->rms = sqrt(total / (double)(n * f));
    report->e_rms = 1000 * sqrt(total / (3 * (double)(n * f)));
    report->rms_pct_diag = percent * report->rms, report->max_pct_diag = percent * sqrt(largest);
    report->p99_pct_diag = diagonal > 0 ? 100 * percentile(job.bins, chunks, 0.99) : 0;
    report->joint_gap_pct_diag = percent * sn_joint_gap(&out->skeleton, &out->poses);
    count_influences(&out->skin, report->influences);
  }
  if (status == SN_OK) status = sn_rig_roughness(ctx, rest, out);
  sn_arena_free(&scratch);
  return status;
}
