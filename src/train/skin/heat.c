// SPDX-License-Identifier: MIT
// Solves (L + H) w = H p for every joint: L the cotangent Laplacian, H = area c / d^2, d the distance to the nearest visible bone,
// p the joint's part of the nearest bones. A bone is visible if it is behind the vertex's surface; occlusion is not tested.
#include "train/skin/heat.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "solve/cholesky.h"

static const double heat = 1; // c of the paper, as there

// Part of the mesh's diagonal that is rounding of its coordinates: distances that differ by less are equal.
static const double nothing = 8 * (double)FLT_EPSILON;

// Extent of all joints in diagonals of the mesh, for them to belong together.
static const double least_extent = 1.0 / 32, most_extent = 16;

enum { joints_at_once = 16, most_near = 8 };

// From a joint to one of its children; for a leaf, to the mean of the vertices nearest to it.
typedef struct bone {
  int joint;
  sn_vec3 a, b;
} bone;

typedef struct heat_job {
  const sn_mesh *rest;
  const sn_skeleton *skeleton;
  double diagonal, away; // mean distance of the surface from the bones
  int bone_count;
  bone *bones;
  float (*inwards)[3];    // normals that point into the body
  double *h;              // the diagonal of H
  int (*near)[most_near]; // p: the nearest bones of a vertex, with equal parts, and -1
  sn_cholesky factor;
  int first;       // first joint of this batch
  double *columns; // joints_at_once * vertices
  double *work;    // the same
  sn_skin *out;
} heat_job;

static sn_vec3 joint_place(const sn_skeleton *skeleton, int j) { return sn_affine_translation(skeleton->rest[j]); }

static sn_vec3 vertex(const heat_job *job, int i) { return sn_vec3_from(job->rest->positions[i]); }

// The vector from p to the nearest point of the bone.
static sn_vec3 towards(const bone *b, sn_vec3 p) {
  sn_vec3 along = sn_vec3_sub(b->b, b->a), from = sn_vec3_sub(p, b->a);
  double length2 = sn_vec3_dot(along, along);
  double t = length2 > 0 ? fmin(fmax(sn_vec3_dot(from, along) / length2, 0), 1) : 0;
  return sn_vec3_sub(sn_vec3_scale(along, t), from);
}

// ---- bones ----------------------------------------------------------------------------------------------------------

// One bone per child; for a leaf, its joint as a point. A joint at the same place as its only child has no bone.
static sn_status list_bones(sn_context *ctx, sn_arena *memory, heat_job *job) {
  const sn_skeleton *s = job->skeleton;
  bool *inner = SN_NEW(ctx, memory, bool, s->joint_count);
  job->bones = SN_NEW(ctx, memory, bone, 2 * (size_t)s->joint_count);
  if (!inner || !job->bones) return ctx->error.status;
  for (int j = 0; j < s->joint_count; j++) {
    if (s->parents[j] < 0) continue;
    bone b = {s->parents[j], joint_place(s, s->parents[j]), joint_place(s, j)};
    inner[b.joint] = true;
    if (sn_vec3_distance(b.a, b.b) > nothing * job->diagonal) job->bones[job->bone_count++] = b;
  }
  for (int j = 0; j < s->joint_count; j++)
    if (!inner[j]) job->bones[job->bone_count++] = (bone){j, joint_place(s, j), joint_place(s, j)};
  return SN_OK;
}

static bool is_point(const bone *b) { return sn_vec3_distance(b->a, b->b) == 0; }

// Ends every leaf bone at the mean of the vertices that are nearest to its joint.
static sn_status place_leaves(sn_context *ctx, sn_arena *memory, heat_job *job) {
  sn_vec3 *sums = SN_NEW(ctx, memory, sn_vec3, job->bone_count);
  int *counts = SN_NEW(ctx, memory, int, job->bone_count);
  if (!sums || !counts) return ctx->error.status;
  int n = job->rest->vertex_count;
  double total = 0;
  for (int i = 0; i < n; i++) {
    sn_vec3 p = vertex(job, i);
    double least = INFINITY;
    for (int k = 0; k < job->bone_count; k++) least = fmin(least, sn_vec3_length(towards(&job->bones[k], p)));
    total += least;
    for (int k = 0; k < job->bone_count; k++) {
      if (!is_point(&job->bones[k]) || sn_vec3_distance(job->bones[k].a, p) > least + nothing * job->diagonal)
        continue;
      sums[k] = sn_vec3_add(sums[k], p), counts[k]++;
    }
  }
  job->away = n > 0 ? total / n : 0;
  for (int k = 0; k < job->bone_count; k++)
    if (counts[k] > 0) job->bones[k].b = sn_vec3_scale(sums[k], 1.0 / counts[k]);
  return SN_OK;
}

// Fails if the joints' extent differs too much from the mesh's, as with another scale, or the bones are too far away.
static sn_status check_place(sn_context *ctx, const heat_job *job) {
  const sn_skeleton *s = job->skeleton;
  double extent = 0;
  for (int j = 1; j < s->joint_count; j++)
    extent = fmax(extent, sn_vec3_distance(joint_place(s, 0), joint_place(s, j)));
  bool fits = extent >= least_extent * job->diagonal && extent <= most_extent * job->diagonal;
  if ((fits || s->joint_count < 2) && job->away <= job->diagonal) return SN_OK;
  return sn_fail(ctx, SN_BAD_INPUT,
                 "the skeleton is %.3g across and its bones are %.3g away from the mesh on average, which is %.3g "
                 "across: both must have the scale and place of the bind pose",
                 extent, job->away, job->diagonal);
}

// ---- the nearest bones of a vertex ----------------------------------------------------------------------------------

// Normals that point into the body: the mesh's, negated unless its triangles face inwards, as in a mirrored mesh.
static sn_status make_inwards(sn_context *ctx, sn_arena *memory, heat_job *job) {
  const sn_mesh *rest = job->rest;
  job->inwards = sn_arena_alloc(ctx, memory, (size_t)rest->vertex_count, sizeof *job->inwards);
  if (!job->inwards) return ctx->error.status;
  if (rest->triangle_count == 0) return SN_OK; // points have no side: all bones are visible
  sn_mesh_normals(rest, (const float(*)[3])rest->positions, job->inwards);
  double volume = 0;
  sn_vec3 origin = rest->vertex_count > 0 ? vertex(job, 0) : (sn_vec3){0, 0, 0};
  for (int t = 0; t < rest->triangle_count; t++) {
    sn_vec3 p[3];
    for (int k = 0; k < 3; k++) p[k] = sn_vec3_sub(vertex(job, rest->triangles[t][k]), origin);
    volume += sn_vec3_dot(p[0], sn_vec3_cross(p[1], p[2]));
  }
  for (int i = 0; volume >= 0 && i < rest->vertex_count; i++)
    for (int k = 0; k < 3; k++) job->inwards[i][k] = -job->inwards[i][k];
  return SN_OK;
}

// Distances to all visible bones, INFINITY for the others; if none is visible, to all bones. Returns the smallest.
static double find_distances(const heat_job *job, int i, double *distances) {
  double least = INFINITY;
  for (int all = 0; all < 2 && !isfinite(least); all++)
    for (int k = 0; k < job->bone_count; k++) {
      sn_vec3 to = towards(&job->bones[k], vertex(job, i));
      bool seen = all || sn_vec3_dot(to, sn_vec3_from(job->inwards[i])) >= 0;
      distances[k] = seen ? sn_vec3_length(to) : INFINITY, least = fmin(least, distances[k]);
    }
  return least;
}

static sn_status find_nearest(sn_context *ctx, sn_arena *memory, heat_job *job) {
  int n = job->rest->vertex_count;
  sn_status status = make_inwards(ctx, memory, job);
  if (status != SN_OK) return status;
  job->near = sn_arena_alloc(ctx, memory, (size_t)n, sizeof *job->near);
  job->h = SN_NEW(ctx, memory, double, n);
  double *distances = SN_NEW(ctx, memory, double, job->bone_count);
  if (!job->near || !job->h || !distances) return ctx->error.status;
  for (int i = 0; i < n; i++) {
    double least = find_distances(job, i, distances);
    int count = 0;
    for (int k = 0; k < job->bone_count && count < most_near; k++)
      if (distances[k] <= least + nothing * job->diagonal) job->near[i][count++] = k;
    if (count < most_near) job->near[i][count] = -1;
    double d = fmax(least, nothing * job->diagonal);
    job->h[i] = heat / (d * d);
  }
  return SN_OK;
}

// ---- the equations --------------------------------------------------------------------------------------------------

// Clamped at 0, so that weights stay between 0 and 1, and finite for tiny angles.
static double cotangent(sn_vec3 u, sn_vec3 v, double double_area) {
  double c = sn_vec3_dot(u, v);
  return c <= 0 ? 0 : c / fmax(double_area, nothing * c);
}

// Writes L and H as entries, and multiplies H by the vertices' areas. Returns the number of entries.
static int64_t fill(heat_job *job, double *areas, sn_triplet *entries) {
  const sn_mesh *rest = job->rest;
  int64_t at = 0;
  for (int t = 0; t < rest->triangle_count; t++) {
    const int *c = rest->triangles[t];
    if (c[0] == c[1] || c[1] == c[2] || c[2] == c[0]) continue;
    sn_vec3 p[3] = {vertex(job, c[0]), vertex(job, c[1]), vertex(job, c[2])};
    double area2 = sn_vec3_length(sn_vec3_cross(sn_vec3_sub(p[1], p[0]), sn_vec3_sub(p[2], p[0])));
    for (int k = 0; k < 3; k++) {
      int a = c[(k + 1) % 3], b = c[(k + 2) % 3];
      double e = 0.5 * cotangent(sn_vec3_sub(p[(k + 1) % 3], p[k]), sn_vec3_sub(p[(k + 2) % 3], p[k]), area2);
      areas[c[k]] += area2 / 6;
      entries[at++] = (sn_triplet){a, a, e}, entries[at++] = (sn_triplet){b, b, e};
      entries[at++] = (sn_triplet){a < b ? a : b, a < b ? b : a, -e};
    }
  }
  double least = nothing * nothing * job->diagonal * job->diagonal; // a vertex without area follows its nearest bone
  for (int i = 0; i < rest->vertex_count; i++) {
    job->h[i] *= fmax(areas[i], least);
    entries[at++] = (sn_triplet){i, i, job->h[i]};
  }
  return at;
}

static sn_status factor(sn_context *ctx, heat_job *job) {
  sn_arena scratch = sn_arena_new(ctx);
  double *areas = SN_NEW(ctx, &scratch, double, job->rest->vertex_count);
  sn_triplet *entries =
    SN_NEW(ctx, &scratch, sn_triplet, 9 * (int64_t)job->rest->triangle_count + job->rest->vertex_count);
  sn_status status = areas && entries ? SN_OK : ctx->error.status;
  if (status == SN_OK) {
    int64_t count = fill(job, areas, entries);
    status = sn_cholesky_factor(ctx, job->rest->vertex_count, entries, count, &job->factor);
  }
  sn_arena_free(&scratch);
  return status;
}

static void solve_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const heat_job *job = user;
  int n = job->rest->vertex_count;
  for (int64_t c = begin; c < end; c++) {
    double *x = job->columns + (size_t)c * (size_t)n;
    for (int i = 0; i < n; i++) {
      int count = 0, own = 0;
      for (; count < most_near && job->near[i][count] >= 0; count++)
        own += job->bones[job->near[i][count]].joint == job->first + c;
      x[i] = own == 0 ? 0 : job->h[i] * own / count;
    }
    sn_cholesky_solve(&job->factor, x, job->work + (size_t)c * (size_t)n);
  }
}

// Inserts the batch's weights into each vertex's largest ones, sorted; ties go to the joint with the lower number.
static void keep_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const heat_job *job = user;
  int influences = job->out->influences, n = job->rest->vertex_count;
  for (int64_t i = begin; i < end; i++) {
    uint16_t *joints = job->out->joints + i * influences;
    float *weights = job->out->weights + i * influences;
    for (int c = 0; c < joints_at_once && job->first + c < job->skeleton->joint_count; c++) {
      float w = (float)job->columns[(size_t)c * (size_t)n + (size_t)i];
      if (!(w > weights[influences - 1])) continue;
      int at = influences - 1;
      for (; at > 0 && weights[at - 1] < w; at--) weights[at] = weights[at - 1], joints[at] = joints[at - 1];
      weights[at] = w, joints[at] = (uint16_t)(job->first + c);
    }
  }
}

static sn_status solve(sn_context *ctx, sn_arena *memory, heat_job *job) {
  size_t n = (size_t)job->rest->vertex_count;
  job->columns = SN_NEW(ctx, memory, double, n *joints_at_once);
  job->work = SN_NEW(ctx, memory, double, n *joints_at_once);
  if (!job->columns || !job->work) return ctx->error.status;
  for (job->first = 0; job->first < job->skeleton->joint_count; job->first += joints_at_once) {
    int left = job->skeleton->joint_count - job->first;
    sn_parallel_for(ctx, left < joints_at_once ? left : joints_at_once, 1, solve_range, job);
    sn_parallel_for(ctx, (int64_t)n, 1024, keep_range, job);
  }
  return SN_OK;
}

sn_status sn_heat_skin(sn_context *ctx, const sn_mesh *rest, const sn_skeleton *skeleton, int influences,
                       sn_skin *out) {
  *out = (sn_skin){0};
  sn_arena scratch = sn_arena_new(ctx);
  heat_job job = {.rest = rest, .skeleton = skeleton, .out = out};
  job.diagonal = sn_points_diagonal((const float(*)[3])rest->positions, rest->vertex_count);
  sn_status status = list_bones(ctx, &scratch, &job);
  if (status == SN_OK) status = place_leaves(ctx, &scratch, &job);
  if (status == SN_OK) status = check_place(ctx, &job);
  if (status == SN_OK) status = find_nearest(ctx, &scratch, &job);
  if (status == SN_OK) status = factor(ctx, &job);
  if (status == SN_OK) status = sn_skin_new(ctx, rest->vertex_count, influences, out);
  if (status == SN_OK) status = solve(ctx, &scratch, &job);
  if (status == SN_OK) sn_skin_normalize(out);
  if (status != SN_OK) sn_skin_free(out);
  sn_cholesky_free(&job.factor);
  sn_arena_free(&scratch);
  return status;
}
