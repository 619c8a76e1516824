// SPDX-License-Identifier: MIT
// Adds the mirror image of every frame: pairs vertices by mirrored rest positions, joints and values by left and right in their
// names.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "sinew/scene.h"

// Maximum distance of a vertex, and of a joint, from the mirror image of its partner, relative to the diagonal.
static const double vertex_tolerance = 1e-3, joint_tolerance = 0.01;

// ---- names -------------------------------------------------------------------------------------------------------------

// "arm.R" for "arm.L", "RightArm" for "LeftArm"; false for a name without a side.
static bool other_side(const char *name, char *out, size_t room) {
  size_t at, size;
  const char *other = sn_name_side(name, &at, &size);
  return other && (size_t)snprintf(out, room, "%.*s%s%s", (int)at, name, other, name + at + size) < room;
}

// ---- partners ------------------------------------------------------------------------------------------------------------

typedef struct mirror {
  sn_mirror plane;
  int *vertices, *joints, *values;
} mirror;

double sn_vec3_along(sn_vec3 p, int axis) { return (&p.x)[axis]; }

sn_vec3 sn_mirror_point(const sn_mirror *m, sn_vec3 p) {
  (&p.x)[m->axis] = 2 * m->at - (&p.x)[m->axis];
  return p;
}

void sn_mirror_planes(const sn_mesh *rest, int axis, sn_mirror out[2]) {
  sn_vec3 low, high;
  sn_points_bounds((const float(*)[3])rest->positions, rest->vertex_count, &low, &high);
  out[0] = (sn_mirror){axis, 0};
  out[1] = (sn_mirror){axis, (sn_vec3_along(low, axis) + sn_vec3_along(high, axis)) / 2};
}

double *sn_mirror_vertices(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, const sn_mirror *m, int step,
                           int **vertices) {
  int n = (rest->vertex_count + step - 1) / step;
  float(*images)[3] = sn_arena_alloc(ctx, memory, (size_t)n, sizeof *images);
  double *distances = SN_NEW(ctx, memory, double, n);
  *vertices = SN_NEW(ctx, memory, int, n);
  if (!images || !*vertices || !distances) return NULL;
  for (int i = 0; i < n; i++) sn_vec3_store(sn_mirror_point(m, sn_vec3_from(rest->positions[i * step])), images[i]);
  sn_points mirrored = {(const float(*)[3])images, n};
  sn_status status = sn_nearest_vertices(ctx, sn_mesh_points(rest), mirrored, *vertices, distances);
  return status == SN_OK ? distances : NULL;
}

static sn_status find_plane(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, mirror *m) {
  double allowed = vertex_tolerance * sn_mesh_diagonal(rest);
  sn_mirror planes[2];
  sn_mirror_planes(rest, m->plane.axis, planes);
  double *distances;
  int worst = 0;
  for (int p = 0; p < 2; p++) {
    m->plane = planes[p], worst = 0;
    distances = sn_mirror_vertices(ctx, memory, rest, &m->plane, 1, &m->vertices);
    if (!distances) return ctx->error.status;
    for (int i = 0; i < rest->vertex_count; i++)
      if (distances[i] > distances[worst]) worst = i;
    if (distances[worst] <= allowed) return SN_OK;
  }
  return sn_fail(
    ctx, SN_BAD_INPUT,
    "`mirror` %c: the rest mesh is not symmetric: no vertex is at the mirror image of vertex %d (the nearest "
    "is %.3g away)",
    "xyz"[m->plane.axis], worst, distances[worst]);
}

static sn_status match_joints(sn_context *ctx, const sn_examples *e, mirror *m) {
  const sn_skeleton *s = &e->skeleton;
  double allowed = joint_tolerance * sn_mesh_diagonal(&e->rest);
  for (int j = 0; j < s->joint_count; j++) {
    char name[512];
    m->joints[j] = other_side(s->names[j], name, sizeof name) ? sn_skeleton_find(s, name) : j;
    if (m->joints[j] < 0)
      return sn_fail(ctx, SN_BAD_INPUT, "`mirror` %c: joint '%s' has no partner '%s'", "xyz"[m->plane.axis],
                     s -> names[j], name);
    sn_vec3 own = sn_affine_translation(s->rest[j]), other = sn_affine_translation(s->rest[m->joints[j]]);
    if (sn_vec3_distance(sn_mirror_point(&m->plane, own), other) > allowed)
      return sn_fail(ctx, SN_BAD_INPUT, "`mirror` %c: joint '%s' is not at the mirror image of '%s'%s",
                     "xyz"[m->plane.axis], s -> names[j], s -> names[m->joints[j]],
                     m -> joints[j] == j ? "; names tell sides by .L and .R or left and right" : "");
  }
  return SN_OK;
}

static void match_values(const sn_values *values, int *partners) {
  for (int v = 0; v < values->count; v++) {
    char name[512];
    int other = other_side(values->names[v], name, sizeof name) ? sn_values_find(values, name) : v;
    partners[v] = other < 0 ? v : other;
  }
}

// ---- frames ---------------------------------------------------------------------------------------------------------------

static sn_status mirror_frames(sn_context *ctx, const mirror *m, sn_frames *frames) {
  int count = frames->frame_count, n = frames->vertex_count;
  sn_frames both;
  SN_TRY(sn_frames_new(ctx, n, 2 * count, &both));
  both.rate = frames->rate;
  for (int f = 0; f < count; f++) {
    const float(*from)[3] = sn_frame(frames, f);
    float(*to)[3] = sn_frame_mutable(&both, count + f);
    memcpy(sn_frame_mutable(&both, f), from, (size_t)n * sizeof *from);
    for (int i = 0; i < n; i++) sn_vec3_store(sn_mirror_point(&m->plane, sn_vec3_from(from[m->vertices[i]])), to[i]);
  }
  sn_frames_free(frames);
  *frames = both;
  return SN_OK;
}

static sn_status mirror_poses(sn_context *ctx, const mirror *m, sn_poses *poses) {
  int count = poses->frame_count, joint_count = poses->joint_count;
  sn_poses both;
  SN_TRY(sn_poses_new(ctx, joint_count, 2 * count, &both));
  sn_affine mirror_image = sn_affine_identity();
  mirror_image.m[m->plane.axis][m->plane.axis] = -1, mirror_image.m[m->plane.axis][3] = 2 * m->plane.at;
  for (int f = 0; f < count; f++)
    for (int j = 0; j < joint_count; j++) {
      sn_pose(&both, f)[j] = sn_pose(poses, f)[j];
      sn_pose(&both, count + f)[j] =
        sn_affine_mul(mirror_image, sn_affine_mul(sn_pose(poses, f)[m->joints[j]], mirror_image));
    }
  sn_poses_free(poses);
  *poses = both;
  return SN_OK;
}

// Appends a mirrored copy of every row of `width` numbers: columns are exchanged with their partners. Nothing for no rows.
static bool mirror_rows(sn_context *ctx, sn_arena *memory, double **rows, int count, int width, const int *partners) {
  if (!*rows) return true;
  double *both = SN_NEW(ctx, memory, double, 2 * (size_t)count * (size_t)width), *from = *rows;
  for (size_t f = 0, n = (size_t)count, w = (size_t)width; both && f < n; f++)
    for (size_t k = 0; k < w; k++)
      both[f * w + k] = from[f * w + k], both[(n + f) * w + k] = from[f * w + (size_t)partners[k]];
  *rows = both;
  return both != NULL;
}

static sn_status mirror_tables(sn_context *ctx, const mirror *m, sn_examples *e) {
  static const int itself[1] = {0};
  int count = e->frames.frame_count / 2;
  e->torques.frame_count *= 2, e->values.frame_count *= 2;
  bool good = mirror_rows(ctx, &e->torques.memory, &e->torques.values, count, e->torques.joint_count, m->joints) &&
              mirror_rows(ctx, &e->values.memory, &e->values.values, count, e->values.count, m->values) &&
              mirror_rows(ctx, &e->memory, &e->sigmas, count, 1, itself);
  return good ? SN_OK : ctx->error.status;
}

sn_status sn_examples_mirror(sn_context *ctx, int axis, sn_examples *e) {
  SN_SCRATCH(scratch, ctx);
  mirror m = {.plane = {axis, 0}};
  m.joints = SN_NEW(ctx, &scratch, int, e->skeleton.joint_count);
  m.values = SN_NEW(ctx, &scratch, int, e->values.count);
  if (!m.joints || !m.values) return ctx->error.status;
  SN_TRY(find_plane(ctx, &scratch, &e->rest, &m));
  SN_TRY(match_joints(ctx, e, &m));
  match_values(&e->values, m.values);
  SN_TRY(mirror_frames(ctx, &m, &e->frames));
  if (e->poses.joint_count > 0) SN_TRY(mirror_poses(ctx, &m, &e->poses));
  SN_TRY(mirror_tables(ctx, &m, e));
  if (e->clip_count > 0) e->clip_start[e->clip_count] = e->frames.frame_count;
  return SN_OK;
}
