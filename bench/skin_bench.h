// SPDX-License-Identifier: MIT
// Skins to measure on: a real mesh with its own weights or with 80 joints spread over it, subdivided to any size, and
// vertices with random joints, the worst case for blocks.
#ifndef SINEW_BENCH_SKIN_BENCH_H
#define SINEW_BENCH_SKIN_BENCH_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sinew/formats.h"
#include "sinew/model.h"

typedef struct bench_set {
  const char *name;
  sn_mesh mesh;
  sn_skin skin;
  sn_skeleton skeleton;
} bench_set;

static inline void bench_must(sn_context *ctx, sn_status status) {
  if (status == SN_OK) return;
  fprintf(stderr, "%s\n", ctx->error.message);
  exit(1);
}

static inline double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static inline void bench_free(bench_set *set) {
  sn_mesh_free(&set->mesh), sn_skin_free(&set->skin), sn_skeleton_free(&set->skeleton);
}

// ---- meshes ----------------------------------------------------------------------------------------------------------------

// A bumpy torus, for where the real mesh is absent.
static inline void bench_torus(sn_context *ctx, sn_mesh *mesh) {
  enum { around = 60, along = 110 };
  bench_must(ctx, sn_mesh_new(ctx, around * along, 2 * around * along, mesh));
  for (int a = 0; a < along; a++)
    for (int b = 0; b < around; b++) {
      double u = 2 * SN_PI * a / along, v = 2 * SN_PI * b / around, r = 0.4 + 0.05 * cos(5 * u) * sin(3 * v);
      sn_vec3_store(sn_vec3_make((1 + r * cos(v)) * cos(u), (1 + r * cos(v)) * sin(u), r * sin(v)),
                    mesh->positions[a * around + b]);
      int i = a * around + b, right = a * around + (b + 1) % around, up = (a + 1) % along * around + b;
      int far = (a + 1) % along * around + (b + 1) % around;
      int quad[2][3] = {{i, right, far}, {i, far, up}};
      memcpy(mesh->triangles[2 * i], quad, sizeof quad);
    }
}

// Weights of a new vertex half-way between a and b, the four largest.
static inline void bench_average(const sn_skin *from, int a, int b, sn_skin *to, int i) {
  uint16_t joints[2 * SN_RT_MAX_INFLUENCES];
  float weights[2 * SN_RT_MAX_INFLUENCES];
  int count = 0, ends[2] = {a, b};
  for (int e = 0; e < 2; e++)
    for (int k = 0; k < from->influences; k++) {
      size_t at = (size_t)ends[e] * (size_t)from->influences + (size_t)k;
      int n = 0;
      while (n < count && joints[n] != from->joints[at]) n++;
      if (n == count) joints[count] = from->joints[at], weights[count++] = 0;
      weights[n] += from->weights[at];
    }
  for (int k = 0; k < to->influences; k++) {
    int best = 0;
    for (int n = 1; n < count; n++) {
      if (weights[n] > weights[best]) best = n;
    }
    size_t at = (size_t)i * (size_t)to->influences + (size_t)k;
    to->weights[at] = count ? weights[best] : 0, to->joints[at] = count ? joints[best] : 0;
    if (count) weights[best] = -1;
  }
}

// Every edge gets a vertex in its middle, every triangle becomes four.
static inline void bench_subdivide(sn_context *ctx, bench_set *set) {
  sn_topology topology;
  bench_must(ctx, sn_topology_build(ctx, &set->mesh, &topology));
  int old = set->mesh.vertex_count;
  bench_set fine = {.name = set->name};
  bench_must(ctx, sn_mesh_new(ctx, old + topology.edge_count, 4 * set->mesh.triangle_count, &fine.mesh));
  bench_must(ctx, sn_skin_new(ctx, old + topology.edge_count, 4, &fine.skin));
  for (int i = 0; i < old + topology.edge_count; i++) {
    const int *edge = i < old ? (int[2]){i, i} : topology.edges[i - old];
    for (int c = 0; c < 3; c++) {
      fine.mesh.positions[i][c] = 0.5f * (set->mesh.positions[edge[0]][c] + set->mesh.positions[edge[1]][c]);
    }
    bench_average(&set->skin, edge[0], edge[1], &fine.skin, i);
  }
  sn_skin_normalize(&fine.skin);
  for (int t = 0; t < set->mesh.triangle_count; t++) {
    const int *v = set->mesh.triangles[t];
    int middle[3];
    for (int c = 0; c < 3; c++) { // edges are sorted: binary search
      int key[2] = {v[c], v[(c + 1) % 3]}, low = 0, high = topology.edge_count;
      if (key[0] > key[1]) key[0] = v[(c + 1) % 3], key[1] = v[c];
      while (low < high) {
        int m = (low + high) / 2, *e = topology.edges[m];
        if (e[0] < key[0] || (e[0] == key[0] && e[1] < key[1])) {
          low = m + 1;
        } else {
          high = m;
        }
      }
      middle[c] = old + low;
    }
    int four[4][3] = {{v[0], middle[0], middle[2]},
                      {middle[0], v[1], middle[1]},
                      {middle[2], middle[1], v[2]},
                      {middle[0], middle[1], middle[2]}};
    memcpy(fine.mesh.triangles[4 * t], four, sizeof four);
  }
  fine.skeleton = set->skeleton, set->skeleton = (sn_skeleton){0};
  sn_topology_free(&topology), bench_free(set);
  *set = fine;
}

// The first `count` vertices of the set subdivided far enough, and the triangles among them.
static inline void bench_resize(sn_context *ctx, bench_set *set, int count) {
  while (set->mesh.vertex_count < count) bench_subdivide(ctx, set);
  set->mesh.vertex_count = set->skin.vertex_count = count;
  int kept = 0;
  for (int t = 0; t < set->mesh.triangle_count; t++) {
    const int *v = set->mesh.triangles[t];
    if (v[0] < count && v[1] < count && v[2] < count) memmove(set->mesh.triangles[kept++], v, sizeof(int[3]));
  }
  set->mesh.triangle_count = kept;
}

// ---- skins -----------------------------------------------------------------------------------------------------------------

static inline void bench_skeleton(sn_context *ctx, int joints, bench_set *set) {
  sn_skeleton_free(&set->skeleton);
  bench_must(ctx, sn_skeleton_new(ctx, joints, &set->skeleton));
  for (int j = 0; j < joints; j++) set->skeleton.parents[j] = -1, set->skeleton.rest[j] = sn_affine_identity();
  bench_must(ctx, sn_skeleton_sort(ctx, &set->skeleton));
}

// Joints spread evenly over the mesh; a vertex takes the nearest four with weights that fall off smoothly.
static inline void bench_spread_joints(sn_context *ctx, int joints, bench_set *set) {
  int vertices = set->mesh.vertex_count, next = 0;
  bench_skeleton(ctx, joints, set);
  double *nearest = malloc((size_t)vertices * sizeof *nearest);
  sn_vec3 *centres = malloc((size_t)joints * sizeof *centres);
  for (int i = 0; i < vertices; i++) nearest[i] = INFINITY;
  for (int j = 0; j < joints; j++) {
    centres[j] = sn_vec3_from(set->mesh.positions[next]);
    for (int i = 0; i < vertices; i++) {
      nearest[i] = fmin(nearest[i], sn_vec3_distance(centres[j], sn_vec3_from(set->mesh.positions[i])));
    }
    for (int i = 0; i < vertices; i++) {
      if (nearest[i] > nearest[next]) next = i;
    }
  }
  sn_skin_free(&set->skin);
  bench_must(ctx, sn_skin_new(ctx, vertices, 4, &set->skin));
  for (int i = 0; i < vertices; i++) {
    double best[5] = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    int which[5] = {0};
    for (int j = 0; j < joints; j++) {
      double d = sn_vec3_distance(centres[j], sn_vec3_from(set->mesh.positions[i]));
      int k = 4;
      for (; k >= 0 && d < best[k]; k--) {
        if (k < 4) best[k + 1] = best[k], which[k + 1] = which[k];
        best[k] = d, which[k] = j;
      }
    }
    for (int k = 0; k < 4; k++) {
      set->skin.joints[4 * i + k] = (uint16_t)which[k];
      set->skin.weights[4 * i + k] = (float)(pow(1 - best[k] / best[4], 2) + 1e-3);
    }
  }
  sn_skin_normalize(&set->skin);
  free(nearest), free(centres);
}

static inline void bench_random_joints(sn_context *ctx, int joints, bench_set *set) {
  sn_random rng = sn_random_new(1);
  bench_skeleton(ctx, joints, set);
  sn_skin_free(&set->skin);
  bench_must(ctx, sn_skin_new(ctx, set->mesh.vertex_count, 4, &set->skin));
  for (int n = 0; n < 4 * set->mesh.vertex_count; n++) {
    set->skin.joints[n] = (uint16_t)sn_random_below(&rng, joints);
    set->skin.weights[n] = (float)(0.1 + sn_random_uniform(&rng));
  }
  sn_skin_normalize(&set->skin);
}

enum { bench_own, bench_spread, bench_random, bench_kinds };

// One of the kinds of skin on the mesh of a rigged GLB file, or on a torus where `path` is NULL.
static inline void bench_load(sn_context *ctx, const char *path, int kind, int vertices, bench_set *set) {
  static const char *const names[] = {"own weights", "80 joints spread", "80 joints at random"};
  *set = (bench_set){.name = names[kind]};
  if (path) {
    sn_gltf *gltf;
    bench_must(ctx, sn_gltf_read(ctx, path, &gltf));
    bench_must(ctx, sn_gltf_mesh(ctx, gltf, &set->mesh));
    bench_must(ctx, sn_gltf_skeleton(ctx, gltf, &set->skeleton, &set->skin));
    sn_gltf_free(gltf);
  } else {
    bench_torus(ctx, &set->mesh);
    bench_spread_joints(ctx, 12, set);
  }
  if (kind == bench_spread) bench_spread_joints(ctx, 80, set);
  bench_resize(ctx, set, vertices);
  if (set->skin.influences > 4) { // the file's weights may be more: keep the largest four
    sn_skin four;
    bench_must(ctx, sn_skin_new(ctx, vertices, 4, &four));
    for (int i = 0; i < vertices; i++) bench_average(&set->skin, i, i, &four, i);
    sn_skin_normalize(&four), sn_skin_free(&set->skin);
    set->skin = four;
  }
  if (kind == bench_random) bench_random_joints(ctx, 80, set);
}

// Joints that rotate and move a little, each in its own way.
static inline void bench_pose(int joints, float (*out)[12]) {
  sn_random rng = sn_random_new(9);
  for (int j = 0; j < joints; j++) {
    sn_vec3 r = {0.3 * sn_random_normal(&rng), 0.3 * sn_random_normal(&rng), 0.3 * sn_random_normal(&rng)};
    sn_affine m = sn_affine_make(sn_rotation_exp(r), sn_vec3_scale(r, 0.1));
    sn_model_joints(&m, 1, out + j);
  }
}

// ---- timing ---------------------------------------------------------------------------------------------------------------

typedef struct bench_time {
  double median, low, high, best; // seconds; low and high: the quartiles; best: what a busy machine hides least
} bench_time;

// Alternating calls: every round runs each of them once, so that other work on the machine affects all of them.
typedef struct bench_call {
  void (*run)(void *user);
  void *user;
  double *samples;
  int repeats; // calls per sample, so that a sample is long enough for the clock
} bench_call;

static inline void bench_measure(int count, bench_call *calls, double seconds, bench_time *out) {
  enum { most = 2000 };
  for (int c = 0; c < count; c++) {
    calls[c].samples = malloc(most * sizeof *calls[c].samples);
    calls[c].run(calls[c].user);
    double start = bench_now(), once;
    calls[c].run(calls[c].user);
    once = bench_now() - start;
    calls[c].repeats = once > 1e-4 ? 1 : 1 + (int)(1e-4 / (once + 1e-9));
  }
  int rounds = 0;
  for (double begin = bench_now(); rounds < 11 || (rounds < most && bench_now() - begin < seconds); rounds++)
    for (int c = 0; c < count; c++) {
      double start = bench_now();
      for (int r = 0; r < calls[c].repeats; r++) calls[c].run(calls[c].user);
      calls[c].samples[rounds] = (bench_now() - start) / calls[c].repeats;
    }
  for (int c = 0; c < count; c++) {
    qsort(calls[c].samples, (size_t)rounds, sizeof(double), bench_compare);
    out[c] = (bench_time){calls[c].samples[rounds / 2], calls[c].samples[rounds / 4],
                          calls[c].samples[3 * rounds / 4], calls[c].samples[0]};
    free(calls[c].samples);
  }
}

#endif
