// SPDX-License-Identifier: MIT
// Tangents from texture coordinates, as in MikkTSpace (Mikkelsen 2008), for which normal maps are baked: the angle-weighted sum of
// the triangles' tangents, projected to the plane of the normal. Vertices that differ in position, normal, texture coordinates or
// handedness have separate tangents.
#include "base/scope.h"
#include "sinew/scene.h"

#include <math.h>
#include <string.h>

// Vertices with equal keys have one tangent.
typedef struct tangent_key {
  float place[3], normal[3], uv[2];
  int left; // handed
} tangent_key;

// A triangle's tangent, not normalised, and whether its texture is mirrored; false if its texture coordinates have no area.
static bool triangle_tangent(const sn_mesh *mesh, const float (*uvs)[2], int t, sn_vec3 *tangent, bool *left) {
  const int *v = mesh->triangles[t];
  const float(*uv)[2] = uvs + 3 * (size_t)t;
  double u1 = (double)uv[1][0] - uv[0][0], v1 = (double)uv[1][1] - uv[0][1];
  double u2 = (double)uv[2][0] - uv[0][0], v2 = (double)uv[2][1] - uv[0][1], area = u1 * v2 - u2 * v1;
  sn_vec3 p = sn_vec3_from(mesh->positions[v[0]]);
  sn_vec3 e1 = sn_vec3_sub(sn_vec3_from(mesh->positions[v[1]]), p);
  sn_vec3 e2 = sn_vec3_sub(sn_vec3_from(mesh->positions[v[2]]), p);
  *left = area < 0;
  *tangent = sn_vec3_scale(sn_vec3_sub(sn_vec3_scale(e1, v2), sn_vec3_scale(e2, v1)), *left ? -1 : 1);
  return area != 0 && isfinite(area);
}

static sn_vec3 in_plane(sn_vec3 v, sn_vec3 n) {
  return sn_vec3_normalize(sn_vec3_mad(v, n, -sn_vec3_dot(v, n)), sn_vec3_make(0, 0, 0));
}

// The angle of corner c of triangle t, projected to the plane of normal n.
static double corner_angle(const sn_mesh *mesh, int t, int c, sn_vec3 n) {
  const int *v = mesh->triangles[t];
  sn_vec3 p = sn_vec3_from(mesh->positions[v[c]]);
  sn_vec3 a = in_plane(sn_vec3_sub(sn_vec3_from(mesh->positions[v[(c + 1) % 3]]), p), n);
  sn_vec3 b = in_plane(sn_vec3_sub(sn_vec3_from(mesh->positions[v[(c + 2) % 3]]), p), n);
  return acos(fmax(-1, fmin(1, sn_vec3_dot(a, b))));
}

// Calls `visit` for every corner whose triangle has a tangent.
typedef struct tangent_job {
  const sn_mesh *mesh;
  const float (*normals)[3], (*uvs)[2];
  double (*hands)[2]; // per vertex: sums of right- and left-handed angles
  tangent_key *keys;
  int *class_of; // number of the key
  sn_vec3 *sums; // of the classes
} tangent_job;

static void add_hand(tangent_job *j, int t, int c, sn_vec3 tangent, bool left) {
  (void)tangent;
  int i = j->mesh->triangles[t][c];
  double *hands = j->hands[i];
  if (hands[0] == 0 && hands[1] == 0) memcpy(j->keys[i].uv, j->uvs[3 * t + c], sizeof j->keys[i].uv);
  hands[left] += corner_angle(j->mesh, t, c, sn_vec3_from(j->normals[i])) + 1e-12;
}

static void add_tangent(tangent_job *j, int t, int c, sn_vec3 tangent, bool left) {
  int i = j->mesh->triangles[t][c];
  if (left != (j->hands[i][1] > j->hands[i][0])) return;
  sn_vec3 n = sn_vec3_from(j->normals[i]), *sum = j->sums + j->class_of[i];
  *sum = sn_vec3_mad(*sum, in_plane(tangent, n), corner_angle(j->mesh, t, c, n));
}

static void for_each_corner(tangent_job *j, void (*visit)(tangent_job *, int, int, sn_vec3, bool)) {
  for (int t = 0; t < j->mesh->triangle_count; t++) {
    sn_vec3 tangent;
    bool left;
    if (!triangle_tangent(j->mesh, j->uvs, t, &tangent, &left)) continue;
    for (int c = 0; c < 3; c++) visit(j, t, c, tangent, left);
  }
}

static sn_status find_classes(sn_context *ctx, sn_arena *scratch, tangent_job *j) {
  int count = j->mesh->vertex_count, *first = SN_NEW(ctx, scratch, int, count);
  for (int i = 0; i < count; i++) {
    tangent_key *k = j->keys + i;
    for (int c = 0; c < 3; c++) // -0 becomes 0
      k->place[c] = j->mesh->positions[i][c] + 0.0f, k->normal[c] = j->normals[i][c] + 0.0f;
    k->left = j->hands[i][1] > j->hands[i][0];
  }
  bool good = first && sn_number_rows(ctx, j->keys, sizeof *j->keys, count, j->class_of, first) >= 0;
  return good ? SN_OK : ctx->error.status;
}

// An arbitrary tangent perpendicular to the normal, for vertices without usable texture coordinates.
static sn_vec3 any_tangent(sn_vec3 n) {
  sn_vec3 axis = fabs(n.x) < 0.7 ? sn_vec3_make(1, 0, 0) : sn_vec3_make(0, 1, 0);
  return sn_vec3_normalize(in_plane(axis, n), sn_vec3_make(1, 0, 0));
}

// Minimum length of a unit tangent's projection to the plane of the normal (1.1 degrees): shorter ones are ignored.
static const double least_along = 0.02;

// The file's tangents override computed ones, unless they are (nearly) parallel to the normal.
static void take_given(int count, const float (*normals)[3], const float (*given)[4], float (*out)[4]) {
  for (int i = 0; i < count; i++) {
    sn_vec3 n = sn_vec3_from(normals[i]), t = sn_vec3_from(given[i]);
    if (!(sn_vec3_length(sn_vec3_mad(t, n, -sn_vec3_dot(t, n))) > least_along)) continue;
    sn_vec3_store(in_plane(t, n), out[i]);
    out[i][3] = given[i][3] < 0 ? -1.0f : 1.0f;
  }
}

sn_status sn_mesh_tangents(sn_context *ctx, const sn_mesh *mesh, const float (*normals)[3], const float (*uvs)[2],
                           const float (*given)[4], float (*out)[4]) {
  SN_SCRATCH(scratch, ctx);
  int count = mesh->vertex_count;
  tangent_job j = {.mesh = mesh,
                   .normals = normals,
                   .uvs = uvs,
                   .hands = sn_arena_alloc(ctx, &scratch, (size_t)count, sizeof *j.hands),
                   .keys = SN_NEW(ctx, &scratch, tangent_key, count),
                   .class_of = SN_NEW(ctx, &scratch, int, count),
                   .sums = SN_NEW(ctx, &scratch, sn_vec3, count)};
  if (!j.hands || !j.keys || !j.class_of || !j.sums) return ctx->error.status;
  for_each_corner(&j, add_hand);
  SN_TRY(find_classes(ctx, &scratch, &j));
  for_each_corner(&j, add_tangent);
  for (int i = 0; i < count; i++) {
    sn_vec3 n = sn_vec3_from(normals[i]), sum = in_plane(j.sums[j.class_of[i]], n);
    sn_vec3_store(sn_vec3_length(sum) > 0 ? sum : any_tangent(n), out[i]);
    out[i][3] = j.hands[i][1] > j.hands[i][0] ? -1.0f : 1.0f;
  }
  if (given) take_given(count, normals, given, out);
  return SN_OK;
}
