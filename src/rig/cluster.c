// SPDX-License-Identifier: MIT
// Motion-driven clustering by Linde, Buzo and Gray (Le and Deng 2012): each vertex follows one rigid bone; the clusters
// with the largest errors are split until there are enough.
#include "rig/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double distance2(const double *a, const double *b) {
  double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return x * x + y * y + z * z;
}

typedef struct near_vertex {
  double distance;
  int vertex;
} near_vertex;

static int by_distance(const void *a, const void *b) {
  const near_vertex *x = a, *y = b;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

void sn_rig_fit_region(const fit_problem *p, const int *vertices, int count, fit_model *m, int j) {
  double mean[3] = {0};
  for (int q = 0; q < count; q++)
    for (int c = 0; c < 3; c++) mean[c] += p->u[vertices[q]][c] / count;
  for (int f = 0; f < p->f; f++) {
    double target[3] = {0};
    float space[3];
    sn_mat3 h = {0};
    for (int q = 0; q < count; q++) {
      const float *x = fit_point(p, vertices[q], f, space);
      for (int r = 0; r < 3; r++) target[r] += (double)x[r] / count;
    }
    for (int q = 0; q < count; q++) {
      const float *x = fit_point(p, vertices[q], f, space);
      for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) h.m[c][r] += (p->u[vertices[q]][c] - mean[c]) * ((double)x[r] - target[r]);
    }
    for (int c = 0; c < 3; c++) h.m[c][c] += 1e-9;
    sn_mat3 rotation = sn_mat3_kabsch(h);
    sn_vec3 centre = {mean[0], mean[1], mean[2]}, to = {target[0], target[1], target[2]};
    sn_fit_set_bone(m, j, f, sn_affine_make(rotation, sn_vec3_sub(to, sn_mat3_apply(rotation, centre))));
  }
}

int sn_rig_nearest(const fit_problem *p, const rig_region *region, int *out, void *space) {
  near_vertex *near = space;
  int count = 0;
  for (int i = 0; i < p->n; i++) {
    if (region->cluster && region->cluster[i] != region->only) continue;
    near[count++] = (near_vertex){distance2(p->u[i], p->u[region->seed]), i};
  }
  qsort(near, (size_t)count, sizeof *near, by_distance);
  if (count > region->most) count = region->most;
  for (int q = 0; q < count; q++) out[q] = near[q].vertex;
  return count;
}

size_t sn_rig_nearest_space(const fit_problem *p) { return (size_t)p->n * sizeof(near_vertex); }

typedef struct cluster_info {
  double error, centre[3], best;
  int count, seed;
} cluster_info;

// Size, error and the seed of a split: the vertex with the largest (error x distance to the centroid).
static void measure(const fit_model *m, cluster_info *info) {
  const fit_problem *p = m->p;
  memset(info, 0, (size_t)m->bones * sizeof *info);
  for (int i = 0; i < p->n; i++) {
    cluster_info *k = &info[m->joint[i]];
    k->count++, k->error += m->vertex_error[i];
    for (int c = 0; c < 3; c++) k->centre[c] += p->u[i][c];
  }
  for (int j = 0; j < m->bones; j++) {
    info[j].seed = -1;
    for (int c = 0; c < 3 && info[j].count; c++) info[j].centre[c] /= info[j].count;
  }
  for (int i = 0; i < p->n; i++) {
    cluster_info *k = &info[m->joint[i]];
    double score = sqrt(m->vertex_error[i] * distance2(p->u[i], k->centre));
    if (k->seed < 0 || score > k->best) k->best = score, k->seed = i;
  }
}

// Removes clusters of fewer than three vertices and renumbers the others. The vertices go to cluster 0 until the next assignment.
static void drop_empty(fit_model *m, const cluster_info *info) {
  size_t row = 4 * 3 * (size_t)m->p->f;
  int kept = 0;
  int map[FIT_MOST_BONES];
  for (int j = 0; j < m->bones; j++) {
    map[j] = info[j].count >= 3 || (m->p->n < 3 && info[j].count > 0) ? kept++ : -1;
    if (map[j] >= 0 && map[j] != j) {
      memmove(m->t + (size_t)map[j] * row, m->t + (size_t)j * row, row * sizeof *m->t);
    }
  }
  if (kept == 0 || kept == m->bones) return;
  for (int i = 0; i < m->p->n; i++) m->joint[i] = (uint16_t)(map[m->joint[i]] >= 0 ? map[m->joint[i]] : 0);
  m->bones = kept;
}

// One round: assigns vertices (`mode`), drops small clusters, fits the bones.
static sn_status round_of(sn_context *ctx, fit_model *m, cluster_info *info, fit_support mode) {
  sn_status status = sn_fit_pass(ctx, m, mode, NULL);
  if (status != SN_OK) return status;
  measure(m, info);
  drop_empty(m, info);
  sn_fit_model_refresh(ctx, m);
  if ((status = sn_fit_pass(ctx, m, FIT_KEEP, NULL)) != SN_OK) return status;
  return sn_rig_bones_rigid(ctx, m, 1, NULL);
}

sn_status sn_rig_cluster(sn_context *ctx, fit_model *m, int bones, int rounds) {
  sn_arena scratch = sn_arena_new(ctx);
  const fit_problem *p = m->p;
  cluster_info *info = SN_NEW(ctx, &scratch, cluster_info, m->capacity);
  int *region = SN_NEW(ctx, &scratch, int, p->n);
  void *space = sn_arena_alloc(ctx, &scratch, 1, sn_rig_nearest_space(p));
  sn_status status = info && region && space ? SN_OK : ctx->error.status;
  m->bones = 1;
  if (status == SN_OK) {
    for (int i = 0; i < p->n; i++) m->joint[i] = 0, m->weight[i] = 1, region[i] = i;
    sn_rig_fit_region(p, region, p->n, m, 0);
    sn_fit_model_refresh(ctx, m);
    status = sn_fit_pass(ctx, m, FIT_KEEP, NULL);
  }
  while (status == SN_OK && m->bones < bones) {
    int before = m->bones, want = bones < 2 * before ? bones : 2 * before;
    measure(m, info);
    double mean = 0;
    for (int j = 0; j < before; j++) mean += info[j].error / before;
    for (int made = before; made < want;) {
      int worst = -1;
      for (int j = 0; j < before; j++)
        if (info[j].seed >= 0 && info[j].count >= 6 && (worst < 0 || info[j].error > info[worst].error)) worst = j;
      if (worst < 0 || (made > before && info[worst].error < 0.5 * mean)) break;
      int most = info[worst].count / 4;
      most = most < 3 ? 3 : most > 20 ? 20 : most;
      int count = sn_rig_nearest(p, &(rig_region){info[worst].seed, most, m->joint, worst}, region, space);
      sn_rig_fit_region(p, region, count, m, made);
      for (int q = 0; q < count; q++) m->joint[region[q]] = (uint16_t)made;
      info[worst].seed = -1;
      m->bones = ++made;
    }
    if (m->bones == before) break;
    sn_fit_model_refresh(ctx, m);
    for (int round = 0; round < rounds && status == SN_OK; round++) status = round_of(ctx, m, info, FIT_ADJUST);
    if (m->bones <= before) break;
  }
  sn_arena_free(&scratch);
  return status;
}
