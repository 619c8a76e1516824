// SPDX-License-Identifier: MIT
// s is a sum over pairs of joints, and each term depends only on two weights of a triangle. Triangles are therefore pooled in cells
// of a grid over (w_j, w_k) for every pair, and a vertex sums over the cells of its pairs. The cells' sums include the factor w'_j
// w'_k; the exponential uses a cell's mean weights, because cells are narrow compared with sigma.
#include "train/skin/centres.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sinew/runtime.h"

static const double sigma = 0.1; // as published

// Cells are so narrow that the exponential of their mean weights is within 1 %.
enum { cells_per_sigma = 12, most_of_triangle = 3 * SN_RT_MAX_INFLUENCES };

typedef struct cell {
  uint64_t key; // joints j < k, then w_j and w_k on the grid
  double size;  // sum over the triangles of area w_j w_k; w and at (centroids) are sums with that weight
  double w[2], at[3];
} cell;

// The non-zero weights of a vertex or triangle, by joint.
typedef struct weight_row {
  int count;
  uint32_t joints[most_of_triangle];
  double weights[most_of_triangle];
} weight_row;

static uint64_t pair_key(uint32_t j, uint32_t k) { return (uint64_t)(j + 1) << 32 | (uint64_t)k << 16; }

static uint64_t cell_key(uint32_t j, uint32_t k, double wj, double wk) {
  const double grid = cells_per_sigma / sigma;
  return pair_key(j, k) | (uint64_t)(wj * grid) << 8 | (uint64_t)(wk * grid);
}

static void add_weight(weight_row *row, uint32_t joint, double weight) {
  int n = 0;
  while (n < row->count && row->joints[n] < joint) n++;
  if (n == row->count || row->joints[n] != joint) {
    for (int k = row->count++; k > n; k--) row->joints[k] = row->joints[k - 1], row->weights[k] = row->weights[k - 1];
    row->joints[n] = joint, row->weights[n] = 0;
  }
  row->weights[n] += weight;
}

static void add_row(const sn_skin *skin, int i, double part, weight_row *row) {
  size_t first = (size_t)i * (size_t)skin->influences;
  for (size_t k = first; k < first + (size_t)skin->influences; k++)
    if (skin->weights[k] > 0) add_weight(row, skin->joints[k], part * (double)skin->weights[k]);
}

// A triangle's cells, one for every pair of its joints. Returns their number; `out` NULL: only counts.
static size_t list_cells(const sn_mesh *rest, const sn_skin *skin, const int corners[3], cell *out) {
  weight_row row = {.count = 0};
  sn_vec3 p[3];
  for (int c = 0; c < 3; c++)
    p[c] = sn_vec3_from(rest->positions[corners[c]]), add_row(skin, corners[c], 1.0 / 3, &row);
  double area = 0.5 * sn_vec3_length(sn_vec3_cross(sn_vec3_sub(p[1], p[0]), sn_vec3_sub(p[2], p[0])));
  sn_vec3 at = sn_vec3_scale(sn_vec3_add(sn_vec3_add(p[0], p[1]), p[2]), 1.0 / 3);
  for (int a = 0; out && a < row.count; a++)
    for (int b = a + 1; b < row.count; b++) {
      double wa = row.weights[a], wb = row.weights[b], size = area * wa * wb;
      *out++ = (cell){cell_key(row.joints[a], row.joints[b], wa, wb),
                      size,
                      {size * wa, size * wb},
                      {size * at.x, size * at.y, size * at.z}};
    }
  return (size_t)row.count * (size_t)(row.count - 1) / 2;
}

static int compare_cells(const void *a, const void *b) {
  const cell *x = a, *y = b;
  return (x->key > y->key) - (x->key < y->key);
}

// Sorts by pair, adds up equal cells and turns sums of weights into means. Returns how many are left.
static size_t pool(cell *cells, size_t count) {
  size_t kept = 0;
  qsort(cells, count, sizeof *cells, compare_cells);
  for (size_t n = 0; n < count; n++) {
    cell from = cells[n], *to = cells + (kept > 0 ? kept - 1 : 0);
    if (!(from.size > 0)) continue;
    if (kept == 0 || to->key != from.key) {
      cells[kept++] = from;
      continue;
    }
    to->size += from.size, to->w[0] += from.w[0], to->w[1] += from.w[1];
    for (int c = 0; c < 3; c++) to->at[c] += from.at[c];
  }
  for (cell *c = cells; c < cells + kept; c++) c->w[0] /= c->size, c->w[1] /= c->size;
  return kept;
}

typedef struct centres_job {
  cell *cells;
  size_t count;
  const sn_mesh *rest;
  const sn_skin *skin;
  float (*out)[3];
} centres_job;

static const cell *first_of_pair(const centres_job *job, uint64_t key) {
  size_t low = 0, high = job->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (job->cells[middle].key < key)
      low = middle + 1;
    else
      high = middle;
  }
  return job->cells + low;
}

// Adds a pair's terms of s: times area to sum[3], times area and centroid to sum[0 .. 2].
static void add_pair(const centres_job *job, uint32_t j, uint32_t k, double wj, double wk, double sum[4]) {
  uint64_t key = pair_key(j, k);
  const cell *end = job->cells + job->count;
  for (const cell *c = first_of_pair(job, key); c < end && c->key >> 16 == key >> 16; c++) {
    double across = (wj * c->w[1] - wk * c->w[0]) / sigma;
    double s = wj * wk * exp(-across * across);
    for (int n = 0; n < 3; n++) sum[n] += s * c->at[n];
    sum[3] += s * c->size;
  }
}

static void find_centre(const centres_job *job, int i) {
  weight_row row = {.count = 0};
  double sum[4] = {0, 0, 0, 0};
  add_row(job->skin, i, 1, &row);
  for (int a = 0; a < row.count; a++)
    for (int b = a + 1; b < row.count; b++)
      add_pair(job, row.joints[a], row.joints[b], row.weights[a], row.weights[b], sum);
  for (int n = 0; n < 3; n++) job->out[i][n] = sum[3] > 0 ? (float)(sum[n] / sum[3]) : job->rest->positions[i][n];
}

static void find_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) find_centre(user, (int)i);
}

sn_status sn_centres(sn_context *ctx, const sn_mesh *rest, const sn_skin *skin, float (*out)[3]) {
  if (rest->triangle_count == 0)
    return sn_fail(ctx, SN_BAD_INPUT, "the rest mesh has no triangles, and centres of rotation are found on them");
  sn_arena scratch = sn_arena_new(ctx);
  centres_job job = {.rest = rest, .skin = skin, .out = out};
  size_t at = 0;
  for (int t = 0; t < rest->triangle_count; t++) job.count += list_cells(rest, skin, rest->triangles[t], NULL);
  job.cells = SN_NEW(ctx, &scratch, cell, job.count);
  for (int t = 0; job.cells && t < rest->triangle_count; t++)
    at += list_cells(rest, skin, rest->triangles[t], job.cells + at);
  if (job.cells) {
    job.count = pool(job.cells, job.count);
    sn_parallel_for(ctx, rest->vertex_count, 64, find_range, &job);
  }
  sn_arena_free(&scratch);
  return job.cells ? SN_OK : ctx->error.status;
}
