// SPDX-License-Identifier: MIT
// Proxy bones: hierarchical clustering, then weights and bone transformations in alternation (Kim 2010, 3.1 and 4).
//
// A bone's transformation in frame f is p -> X (p - centre) + place, stored as a 4 x 3 block (three rows of X^T, then
// the place). Every vertex also contributes a second point along its normal: the positions of a flat patch do not
// determine X across the surface, and undetermined transformations cannot be predicted.
#include "train/affine/affine.h"

#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "sinew/fit.h"
#include "solve/bones.h"
#include "solve/solve.h"
#include "train/cluster.h"

enum { rounds = 3 };

// Weight of the point above a vertex. Small: it only decides what the blended positions do not determine.
static const double normal_share = 0.02;

typedef struct fit_job {
  const sn_examples *examples;
  const sn_keys *keys;
  sn_control_bones *bones;
  double height; // of the second point above the vertex
  const float (*rest_normals)[3];
  const float *normals; // in the training frames
} fit_job;

static int majority(const int *group_of, const sn_topology *topology, int i) {
  int best = -1, most = 0;
  for (int a = topology->face_start[i]; a < topology->face_start[i + 1]; a++) {
    int same = 0;
    for (int b = topology->face_start[i]; b < topology->face_start[i + 1]; b++)
      same += group_of[topology->faces[a]] == group_of[topology->faces[b]];
    if (same > most) most = same, best = group_of[topology->faces[a]];
  }
  return best;
}

// Assigns a vertex to the group of most of its triangles; one without triangles to that of the nearest vertex that has some.
static void assign_vertices(const sn_mesh *rest, const sn_topology *topology, const int *group_of, sn_skin *skin) {
  size_t step = (size_t)skin->influences;
  for (int i = 0; i < rest->vertex_count; i++) {
    int group = majority(group_of, topology, i);
    double nearest = INFINITY;
    for (int k = 0; group < 0 && k < rest->vertex_count; k++) {
      double d = sn_vec3_distance(sn_vec3_from(rest->positions[i]), sn_vec3_from(rest->positions[k]));
      int candidate = d < nearest ? majority(group_of, topology, k) : -1;
      if (candidate >= 0) nearest = d, skin->joints[(size_t)i * step] = (uint16_t)candidate;
    }
    if (group >= 0) skin->joints[(size_t)i * step] = (uint16_t)group;
    skin->weights[(size_t)i * step] = 1;
  }
}

static sn_status cluster_bones(sn_context *ctx, const sn_examples *examples, const sn_keys *keys,
                               const sn_affine_options *options, sn_control_bones *out) {
  const sn_mesh *rest = &examples->rest;
  sn_arena scratch = sn_arena_new(ctx);
  sn_topology topology = {0};
  sn_cluster_tree tree;
  int *group_of = SN_NEW(ctx, &scratch, int, rest->triangle_count);
  sn_status status = group_of ? sn_topology_build(ctx, rest, &topology) : ctx->error.status;
  if (status == SN_OK) status = sn_cluster_triangles(ctx, &scratch, examples, keys, &tree);
  if (status == SN_OK) status = sn_cluster_cut(ctx, &tree, options->bones, group_of, &out->bones);
  if (status == SN_OK) status = sn_skin_new(ctx, rest->vertex_count, options->influences, &out->skin);
  if (status == SN_OK) assign_vertices(rest, &topology, group_of, &out->skin);
  sn_topology_free(&topology);
  sn_arena_free(&scratch);
  return status;
}

// The centre of a bone is the weighted mean of its vertices; a bone without vertices keeps its centre.
static void place_centres(const sn_mesh *rest, sn_control_bones *bones, double *total) {
  const sn_skin *skin = &bones->skin;
  memset(total, 0, 4 * (size_t)bones->bones * sizeof *total);
  for (int i = 0; i < rest->vertex_count; i++)
    for (int k = 0; k < skin->influences; k++) {
      size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
      double *sum = total + 4 * (size_t)skin->joints[at], w = (double)skin->weights[at];
      for (int r = 0; r < 3; r++) sum[r] += w * (double)rest->positions[i][r];
      sum[3] += w;
    }
  for (int b = 0; b < bones->bones; b++) {
    const double *sum = total + 4 * (size_t)b;
    if (sum[3] > 1e-9) bones->centres[b] = sn_vec3_make(sum[0] / sum[3], sum[1] / sum[3], sum[2] / sum[3]);
  }
}

// ---- affine bones ---------------------------------------------------------------------------------------------------

static sn_vec3 rest_point(const fit_job *job, int i, bool above) {
  return sn_vec3_mad(sn_vec3_from(job->examples->rest.positions[i]), sn_vec3_from(job->rest_normals[i]),
                     above ? job->height : 0);
}

// (p - centre) / height, 1.
static void local_point(const fit_job *job, int bone, sn_vec3 p, double out[4]) {
  sn_vec3 d = sn_vec3_scale(sn_vec3_sub(p, job->bones->centres[bone]), 1 / job->height);
  out[0] = d.x, out[1] = d.y, out[2] = d.z, out[3] = 1;
}

static void target(const fit_job *job, int f, int i, bool above, double out[3]) {
  size_t n = (size_t)job->examples->rest.vertex_count;
  const float *p = sn_frame(&job->examples->frames, job->keys->frames[f])[i];
  const float *normal = job->normals + 3 * ((size_t)f * n + (size_t)i);
  for (int r = 0; r < 3; r++) out[r] = (double)p[r] + (above ? job->height * (double)normal[r] : 0);
}

// The bones of vertex i: indices, weights and local points. Returns their number.
static int vertex_bones(const fit_job *job, int i, bool above, int bone[8], double weight[8], double local[8][4]) {
  const sn_skin *skin = &job->bones->skin;
  int count = 0;
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    if (!(skin->weights[at] > 0)) break;
    bone[count] = skin->joints[at], weight[count] = (double)skin->weights[at];
    local_point(job, bone[count], rest_point(job, i, above), local[count]);
    count++;
  }
  return count;
}

// Equation n is of vertex n / 2 and, for odd n, of the point above it.
static void row_of(const void *user, int n, sn_bone_row *out) {
  const fit_job *job = user;
  double weight[8];
  out->count = vertex_bones(job, n / 2, n % 2, out->bone, weight, out->u);
  for (int p = 0; p < 4 * out->count; p++) out->u[p / 4][p % 4] *= weight[p / 4];
  if (n % 2) out->weight = normal_share;
}

// The residual of the present transformations.
static void residual_of(const void *user, int n, const sn_bone_row *row, int f, double y[3]) {
  const fit_job *job = user;
  sn_vec3 p = rest_point(job, n / 2, n % 2);
  target(job, f, n / 2, n % 2, y);
  for (int k = 0; k < row->count; k++) {
    sn_vec3 moved =
      sn_affine_apply(job->bones->motions[(size_t)f * (size_t)job->bones->bones + (size_t)row->bone[k]], p);
    y[0] -= row->u[k][3] * moved.x, y[1] -= row->u[k][3] * moved.y, y[2] -= row->u[k][3] * moved.z;
  }
}

// Solves for T_b at fixed weights, as a step from the present ones. The ridge keeps undetermined parts near them.
static sn_status fit_affine(sn_context *ctx, const fit_job *job, double ridge) {
  sn_control_bones *bones = job->bones;
  SN_SCRATCH(scratch, ctx);
  sn_bone_system s;
  const sn_bone_equations equations = {
    bones->bones, job->keys->count, 2 * job->examples->rest.vertex_count, row_of, residual_of, job, ridge, ridge};
  SN_TRY(sn_bone_equations_solve(ctx, &scratch, &equations, &s));
  for (int f = 0; f < job->keys->count; f++)
    for (int b = 0; b < bones->bones; b++) {
      sn_mat3 m;
      for (int n = 0; n < 9; n++) m.m[n / 3][n % 3] = sn_bone_step(&s, b, f, n / 3, n % 3) / job->height;
      sn_vec3 place = {sn_bone_step(&s, b, f, 0, 3), sn_bone_step(&s, b, f, 1, 3), sn_bone_step(&s, b, f, 2, 3)};
      sn_affine *to = &bones->motions[(size_t)f * (size_t)bones->bones + (size_t)b];
      sn_affine step = sn_affine_make(m, sn_vec3_sub(place, sn_mat3_apply(m, bones->centres[b])));
      for (int n = 0; n < 12; n++) to->m[n / 4][n % 4] += step.m[n / 4][n % 4];
    }
  return SN_OK;
}

// ---- rigid bones ----------------------------------------------------------------------------------------------------

// Sums over one bone's vertices for the Kabsch algorithm.
typedef struct rigid_sums {
  double weight;
  sn_vec3 p, q;
  sn_mat3 h;
} rigid_sums;

static void add_pair(rigid_sums *s, double weight, sn_vec3 p, sn_vec3 q) {
  s->weight += weight;
  s->p = sn_vec3_mad(s->p, p, weight), s->q = sn_vec3_mad(s->q, q, weight);
  s->h = sn_mat3_add(s->h, sn_mat3_scale(sn_mat3_outer(p, q), weight));
}

// R and t that minimise sum weight |R p + t - q|^2.
static sn_affine rigid_of(const rigid_sums *s) {
  sn_vec3 p = sn_vec3_scale(s->p, 1 / s->weight), q = sn_vec3_scale(s->q, 1 / s->weight);
  sn_mat3 r = sn_mat3_kabsch(sn_mat3_sub(s->h, sn_mat3_scale(sn_mat3_outer(p, q), s->weight)));
  return sn_affine_make(r, sn_vec3_sub(q, sn_mat3_apply(r, p)));
}

// One Jacobi sweep over the bones of frame f: bone b is fitted to the targets T_b p + step * residual.
static void sweep_rigid(const fit_job *job, int f, rigid_sums *sums, double step) {
  sn_control_bones *bones = job->bones;
  sn_affine *motion = bones->motions + (size_t)f * (size_t)bones->bones;
  memset(sums, 0, (size_t)bones->bones * sizeof *sums);
  for (int i = 0; i < job->examples->rest.vertex_count; i++) {
    int bone[8];
    double weight[8], local[8][4], y[3];
    int count = vertex_bones(job, i, false, bone, weight, local);
    sn_vec3 p = sn_vec3_from(job->examples->rest.positions[i]), moved[8], residual;
    target(job, f, i, false, y);
    residual = sn_vec3_make(y[0], y[1], y[2]);
    for (int k = 0; k < count; k++) {
      moved[k] = sn_affine_apply(motion[bone[k]], p);
      residual = sn_vec3_mad(residual, moved[k], -weight[k]);
    }
    for (int k = 0; k < count; k++) {
      sn_vec3 wanted = sn_vec3_mad(moved[k], residual, step);
      add_pair(&sums[bone[k]], weight[k], p, wanted);
    }
  }
  for (int b = 0; b < bones->bones; b++)
    if (sums[b].weight > 1e-9) motion[b] = rigid_of(&sums[b]);
}

typedef struct rigid_job {
  const fit_job *fit;
  rigid_sums *sums; // one per bone and worker
} rigid_job;

static void fit_frames(void *user, int64_t begin, int64_t end, int worker) {
  const rigid_job *job = user;
  rigid_sums *sums = job->sums + (size_t)worker * (size_t)job->fit->bones->bones;
  for (int64_t f = begin; f < end; f++)
    for (int sweep = 0; sweep < 8; sweep++) sweep_rigid(job->fit, (int)f, sums, 1);
}

static sn_status fit_rigid(sn_context *ctx, fit_job *job) {
  sn_arena scratch = sn_arena_new(ctx);
  size_t bones = (size_t)job->bones->bones;
  rigid_job rigid = {job, SN_NEW(ctx, &scratch, rigid_sums, bones * (size_t)sn_threads(ctx))};
  for (size_t n = 0; n < bones * (size_t)job->keys->count; n++) {
    sn_mat3 r;
    sn_affine *m = &job->bones->motions[n];
    sn_mat3_polar(sn_affine_linear(*m), &r, NULL);
    sn_vec3 c = job->bones->centres[n % bones], place = sn_affine_apply(*m, c);
    *m = sn_affine_make(r, sn_vec3_sub(place, sn_mat3_apply(r, c)));
  }
  if (rigid.sums) sn_parallel_for(ctx, job->keys->count, 1, fit_frames, &rigid);
  sn_arena_free(&scratch);
  return rigid.sums ? SN_OK : ctx->error.status;
}

// ---- the alternation ------------------------------------------------------------------------------------------------

static sn_status solve_weights(sn_context *ctx, const fit_job *job, const sn_affine_options *options) {
  sn_control_bones *bones = job->bones;
  sn_poses poses = {0};
  sn_weights_options weights = sn_weights_options_default();
  weights.influences = options->influences, weights.rho = options->rho, weights.keys = job->keys;
  sn_status status = sn_poses_new(ctx, bones->bones, job->examples->frames.frame_count, &poses);
  for (int f = 0; status == SN_OK && f < job->keys->count; f++) {
    memcpy(sn_pose(&poses, job->keys->frames[f]), bones->motions + (size_t)f * (size_t)bones->bones,
           (size_t)bones->bones * sizeof *bones->motions);
  }
  sn_skin skin = {0};
  if (status == SN_OK) {
    status = sn_solve_weights(ctx, &job->examples->rest, &job->examples->frames, &poses, &weights, &skin);
  }
  if (status == SN_OK) {
    sn_skin_free(&bones->skin);
    bones->skin = skin;
  }
  sn_poses_free(&poses);
  return status;
}

// Drops bones that no vertex uses; `number`: scratch memory, one per bone.
static void drop_unused(sn_control_bones *bones, double *number) {
  sn_skin *skin = &bones->skin;
  size_t entries = (size_t)skin->vertex_count * (size_t)skin->influences;
  int kept = 0, before = bones->bones;
  for (int b = 0; b < bones->bones; b++) number[b] = -1;
  for (size_t e = 0; e < entries; e++)
    if (skin->weights[e] > 0) number[skin->joints[e]] = 0;
  for (int b = 0; b < bones->bones; b++)
    if (number[b] >= 0) number[b] = kept++;
  for (size_t e = 0; e < entries; e++) skin->joints[e] = skin->weights[e] > 0 ? (uint16_t)number[skin->joints[e]] : 0;
  sn_affine *to = bones->motions;
  for (int n = 0; n < bones->frames * before; n++)
    if (number[n % before] >= 0) *to++ = bones->motions[n];
  bones->bones = kept;
}

// About half the distance between neighbouring bones.
static double point_height(const sn_mesh *rest, int bones) {
  double area = 0;
  for (int t = 0; t < rest->triangle_count; t++) {
    const int *c = rest->triangles[t];
    sn_vec3 a = sn_vec3_from(rest->positions[c[0]]), b = sn_vec3_from(rest->positions[c[1]]);
    sn_vec3 d = sn_vec3_from(rest->positions[c[2]]);
    area += 0.5 * sn_vec3_length(sn_vec3_cross(sn_vec3_sub(b, a), sn_vec3_sub(d, a)));
  }
  return area > 0 ? 0.5 * sqrt(area / bones) : 1;
}

static sn_status alternate(sn_context *ctx, fit_job *job, const sn_affine_options *options, sn_arena *scratch) {
  int n = job->examples->rest.vertex_count;
  double *total = SN_NEW(ctx, scratch, double, 4 * (size_t)job->bones->bones);
  float(*rest_normals)[3] = sn_arena_alloc(ctx, scratch, (size_t)n, sizeof *rest_normals);
  float(*normals)[3] = sn_arena_alloc(ctx, scratch, (size_t)n * (size_t)job->keys->count, sizeof *normals);
  if (!total || !rest_normals || !normals) return ctx->error.status;
  sn_mesh_normals(&job->examples->rest, (const float(*)[3])job->examples->rest.positions, rest_normals);
  for (int f = 0; f < job->keys->count; f++) {
    sn_mesh_normals(&job->examples->rest, sn_frame(&job->examples->frames, job->keys->frames[f]),
                    normals + (size_t)f * (size_t)n);
  }
  job->rest_normals = (const float(*)[3])rest_normals, job->normals = &normals[0][0];
  job->height = point_height(&job->examples->rest, job->bones->bones);
  sn_status status = SN_OK;
  for (int round = 0; round <= rounds && status == SN_OK; round++) {
    if (round > 0) status = solve_weights(ctx, job, options);
    if (status == SN_OK) drop_unused(job->bones, total);
    if (status == SN_OK) place_centres(&job->examples->rest, job->bones, total);
    if (status == SN_OK) status = fit_affine(ctx, job, round ? sn_bone_ridge : 1e-10);
    if (status == SN_OK && !options->stretch) status = fit_rigid(ctx, job);
  }
  return status;
}

sn_status sn_control_bones_make(sn_context *ctx, const sn_examples *examples, const sn_keys *keys,
                                const sn_affine_options *options, sn_control_bones *out) {
  *out = (sn_control_bones){.frames = keys->count, .memory = sn_arena_new(ctx)};
  sn_arena scratch = sn_arena_new(ctx);
  sn_status status = cluster_bones(ctx, examples, keys, options, out);
  if (status == SN_OK) {
    out->motions = SN_NEW(ctx, &out->memory, sn_affine, (size_t)out->bones * (size_t)keys->count);
    out->centres = SN_NEW(ctx, &out->memory, sn_vec3, out->bones);
    if (!out->motions || !out->centres) status = ctx->error.status;
    for (int n = 0; out->motions && n < out->bones * keys->count; n++) out->motions[n] = sn_affine_identity();
  }
  fit_job job = {.examples = examples, .keys = keys, .bones = out};
  if (status == SN_OK) status = alternate(ctx, &job, options, &scratch);
  sn_arena_free(&scratch);
  if (status != SN_OK) sn_control_bones_free(out);
  return status;
}

void sn_control_bones_free(sn_control_bones *bones) {
  sn_skin_free(&bones->skin);
  sn_arena_free(&bones->memory);
  *bones = (sn_control_bones){0};
}
