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

enum { grid = 128, most_of_triangle = 3 * SN_RT_MAX_INFLUENCES };

typedef struct cell {
  uint64_t key; // joints j < k, then w_j and w_k on the grid; 0: empty
  double size;  // sum over the triangles of area w_j w_k; w and at (centroids) are sums with that weight
  double w[2], at[3];
} cell;

typedef struct cell_table {
  sn_context *ctx;
  sn_arena *memory;
  cell *cells;
  size_t count, size; // size: a power of two
} cell_table;

// The non-zero weights of a vertex or triangle.
typedef struct weight_row {
  int count;
  uint32_t joints[most_of_triangle];
  double weights[most_of_triangle];
} weight_row;

static uint64_t pair_key(uint32_t j, uint32_t k) { return (uint64_t)(j + 1) << 32 | (uint64_t)k << 16; }

static uint64_t cell_key(uint32_t j, uint32_t k, double wj, double wk) {
  return pair_key(j, k) | (uint64_t)(wj * grid) << 8 | (uint64_t)(wk * grid);
}

static cell *find_slot(const cell_table *t, uint64_t key) {
  size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 32) & (t->size - 1);
  while (t->cells[at].key && t->cells[at].key != key) at = (at + 1) & (t->size - 1);
  return t->cells + at;
}

static bool grow(cell_table *t) {
  cell_table larger = {t->ctx, t->memory, NULL, t->count, t->size ? 2 * t->size : 1024};
  larger.cells = SN_NEW(t->ctx, t->memory, cell, larger.size);
  if (!larger.cells) return false;
  for (size_t n = 0; n < t->size; n++)
    if (t->cells[n].key) *find_slot(&larger, t->cells[n].key) = t->cells[n];
  *t = larger;
  return true;
}

static void add_weight(weight_row *row, uint32_t joint, double weight) {
  int n = 0;
  while (n < row->count && row->joints[n] != joint) n++;
  if (n == row->count) row->joints[row->count] = joint, row->weights[row->count++] = 0;
  row->weights[n] += weight;
}

static void add_row(const sn_skin *skin, int i, double part, weight_row *row) {
  size_t first = (size_t)i * (size_t)skin->influences;
  for (size_t k = first; k < first + (size_t)skin->influences; k++)
    if (skin->weights[k] > 0) add_weight(row, skin->joints[k], part * (double)skin->weights[k]);
}

static void sort_joints(weight_row *row) {
  for (int a = 1; a < row->count; a++)
    for (int b = a; b > 0 && row->joints[b] < row->joints[b - 1]; b--) {
      uint32_t j = row->joints[b];
      double w = row->weights[b];
      row->joints[b] = row->joints[b - 1], row->weights[b] = row->weights[b - 1];
      row->joints[b - 1] = j, row->weights[b - 1] = w;
    }
}

static bool pool_triangle(const sn_mesh *rest, const sn_skin *skin, const int corners[3], cell_table *t) {
  weight_row row = {.count = 0};
  sn_vec3 p[3];
  for (int c = 0; c < 3; c++)
    p[c] = sn_vec3_from(rest->positions[corners[c]]), add_row(skin, corners[c], 1.0 / 3, &row);
  sort_joints(&row);
  double area = 0.5 * sn_vec3_length(sn_vec3_cross(sn_vec3_sub(p[1], p[0]), sn_vec3_sub(p[2], p[0])));
  sn_vec3 centroid = sn_vec3_scale(sn_vec3_add(sn_vec3_add(p[0], p[1]), p[2]), 1.0 / 3);
  for (int a = 0; a < row.count; a++)
    for (int b = a + 1; b < row.count; b++) {
      if (2 * t->count >= t->size && !grow(t)) return false;
      uint64_t key = cell_key(row.joints[a], row.joints[b], row.weights[a], row.weights[b]);
      cell *to = find_slot(t, key);
      t->count += !to->key;
      double size = area * row.weights[a] * row.weights[b];
      to->key = key, to->size += size;
      to->w[0] += size * row.weights[a], to->w[1] += size * row.weights[b];
      to->at[0] += size * centroid.x, to->at[1] += size * centroid.y, to->at[2] += size * centroid.z;
    }
  return true;
}

static int compare_cells(const void *a, const void *b) {
  const cell *x = a, *y = b;
  return (x->key > y->key) - (x->key < y->key);
}

// Drops empty cells, turns sums of weights into means and sorts by pair.
static void finish(cell_table *t) {
  size_t kept = 0;
  for (size_t n = 0; n < t->size; n++) {
    cell c = t->cells[n];
    if (!c.key || !(c.size > 0)) continue;
    c.w[0] /= c.size, c.w[1] /= c.size;
    t->cells[kept++] = c;
  }
  t->count = kept;
  if (kept) qsort(t->cells, kept, sizeof *t->cells, compare_cells);
}

typedef struct centres_job {
  const cell_table *table;
  const sn_mesh *rest;
  const sn_skin *skin;
  float (*out)[3];
} centres_job;

static const cell *first_of_pair(const cell_table *t, uint64_t key) {
  size_t low = 0, high = t->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (t->cells[middle].key < key)
      low = middle + 1;
    else
      high = middle;
  }
  return t->cells + low;
}

// Adds a pair's terms of s: times area to sum[3], times area and centroid to sum[0 .. 2].
static void add_pair(const cell_table *t, uint32_t j, uint32_t k, double wj, double wk, double sum[4]) {
  uint64_t key = pair_key(j, k);
  const cell *end = t->cells + t->count;
  for (const cell *c = first_of_pair(t, key); c < end && c->key >> 16 == key >> 16; c++) {
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
  sort_joints(&row);
  for (int a = 0; a < row.count; a++)
    for (int b = a + 1; b < row.count; b++)
      add_pair(job->table, row.joints[a], row.joints[b], row.weights[a], row.weights[b], sum);
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
  cell_table table = {.ctx = ctx, .memory = &scratch};
  bool there = grow(&table);
  for (int t = 0; there && t < rest->triangle_count; t++)
    there = pool_triangle(rest, skin, rest->triangles[t], &table);
  if (there) {
    finish(&table);
    centres_job job = {&table, rest, skin, out};
    sn_parallel_for(ctx, rest->vertex_count, 64, find_range, &job);
  }
  sn_arena_free(&scratch);
  return there ? SN_OK : ctx->error.status;
}
