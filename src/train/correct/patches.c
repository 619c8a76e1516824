// SPDX-License-Identifier: MIT
// Patches of the surface: k-means on whole blocks, started from boxes.
#include "train/correct/fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/format.h"

static const double weight_scale = 0.3; // of a weight beside a position over the diagonal (METHODS.md)
enum { rounds = 6 };                    // of k-means

// A clustering of points: blocks of vertices, or single lanes while blocks are made.
typedef struct patches {
  int vertex_count, dims, count;
  const float (*points)[1]; // vertex_count * dims
  double *centres;          // count * dims
  int *patch_of, *sizes;
} patches;

static const float *point(const patches *p, int i) { return (const float *)p->points + (size_t)i * (size_t)p->dims; }

static void find_centres(patches *p) {
  size_t dims = (size_t)p->dims;
  memset(p->centres, 0, (size_t)p->count * dims * sizeof *p->centres);
  memset(p->sizes, 0, (size_t)p->count * sizeof *p->sizes);
  for (int i = 0; i < p->vertex_count; i++) {
    double *centre = p->centres + (size_t)p->patch_of[i] * dims;
    for (size_t d = 0; d < dims; d++) centre[d] += point(p, i)[d];
    p->sizes[p->patch_of[i]]++;
  }
  for (int c = 0; c < p->count; c++)
    for (size_t d = 0; d < dims && p->sizes[c]; d++) p->centres[(size_t)c * dims + d] /= p->sizes[c];
}

static void assign_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  patches *p = user;
  for (int64_t i = begin; i < end; i++) {
    double least = INFINITY;
    for (int c = 0; c < p->count; c++) {
      const double *centre = p->centres + (size_t)c * (size_t)p->dims;
      double sum = 0;
      if (!p->sizes[c]) continue;
      for (int d = 0; d < p->dims && sum < least; d++)
        sum += (point(p, (int)i)[d] - centre[d]) * (point(p, (int)i)[d] - centre[d]);
      if (sum < least) least = sum, p->patch_of[i] = c;
    }
  }
}

typedef struct place {
  float at;
  int vertex;
} place;

static int compare_places(const void *a, const void *b) {
  const place *x = a, *y = b;
  return x->at != y->at ? (x->at < y->at ? -1 : 1) : x->vertex - y->vertex;
}

// Halves a box of points along its longest extent until there are `parts` of about the same size.
static void split(const patches *p, place *box, int count, int parts, int first) {
  if (parts <= 1 || count <= 1) {
    for (int n = 0; n < count; n++) p->patch_of[box[n].vertex] = first;
    return;
  }
  int axis = 0;
  double widest = -1;
  for (int d = 0; d < p->dims; d++) {
    float low = INFINITY, high = -INFINITY;
    for (int n = 0; n < count; n++)
      low = fminf(low, point(p, box[n].vertex)[d]), high = fmaxf(high, point(p, box[n].vertex)[d]);
    if ((double)high - low > widest) widest = (double)high - low, axis = d;
  }
  for (int n = 0; n < count; n++) box[n].at = point(p, box[n].vertex)[axis];
  qsort(box, (size_t)count, sizeof *box, compare_places);
  int left = parts / 2, half = (int)((int64_t)count * left / parts);
  split(p, box, half, left, first);
  split(p, box + half, count - half, parts - left, first + left);
}

// Renumbers the patches that are not empty, keeping their order. Returns their number.
static int number_patches(const patches *p, int rows, int *patch_of) {
  int used = 0;
  for (int c = 0; c < p->count; c++) p->sizes[c] = 0;
  for (int i = 0; i < rows; i++) p->sizes[patch_of[i]] = 1;
  for (int c = 0; c < p->count; c++) p->sizes[c] = p->sizes[c] ? used++ : -1;
  for (int i = 0; i < rows; i++) patch_of[i] = p->sizes[patch_of[i]];
  return used;
}

static void fill_point(const sn_residuals *m, const float (*positions)[3], int dims, int i, float *row) {
  const sn_skin *skin = m->weights;
  for (int c = 0; c < 3; c++) row[c] = (float)(positions[i][c] / m->diagonal);
  for (int k = 0; dims > 3 && k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    row[3 + skin->joints[at]] += (float)weight_scale * skin->weights[at];
  }
}

// Makes blocks of eight nearby lanes within every run of the skin: the block of every lane, and the blocks' mean points.
static sn_status make_blocks(sn_context *ctx, const sn_residuals *m, const float (*positions)[3], int dims,
                             int *block_of, float *points) {
  sn_arena memory = sn_arena_new(ctx);
  int lanes = m->runs.first[m->runs.count];
  float *rows = SN_NEW(ctx, &memory, float, (size_t)lanes *(size_t)dims);
  place *box = SN_NEW(ctx, &memory, place, lanes);
  sn_status status = rows && box ? SN_OK : ctx->error.status;
  patches p = {.dims = dims, .points = (const float(*)[1])rows, .patch_of = block_of};
  for (int n = 0; status == SN_OK && n < lanes; n++) {
    box[n].vertex = n;
    fill_point(m, positions, dims, m->runs.rows[n], rows + (size_t)n * (size_t)dims);
  }
  for (int r = 0; status == SN_OK && r < m->runs.count; r++) {
    int first = m->runs.first[r], count = m->runs.first[r + 1] - first;
    split(&p, box + first, count, count / SN_RT_LANES, first / SN_RT_LANES);
  }
  for (size_t n = 0; status == SN_OK && n < (size_t)lanes * (size_t)dims; n++)
    points[(size_t)block_of[n / (size_t)dims] * (size_t)dims + n % (size_t)dims] += rows[n] / SN_RT_LANES;
  sn_arena_free(&memory);
  return status;
}

sn_status sn_patches_make(sn_context *ctx, const sn_residuals *m, const float (*positions)[3], int *count,
                          int *patch_of) {
  sn_arena memory = sn_arena_new(ctx);
  int lanes = m->runs.first[m->runs.count], blocks = lanes / SN_RT_LANES;
  int dims = 3 + (m->weights ? m->joint_count : 0), *block_of = SN_NEW(ctx, &memory, int, lanes);
  patches p = {.vertex_count = blocks, .dims = dims, .count = *count < blocks ? *count : blocks};
  float *points = SN_NEW(ctx, &memory, float, (size_t)blocks *(size_t)dims);
  place *box = SN_NEW(ctx, &memory, place, blocks);
  p.points = (const float(*)[1])points, p.patch_of = SN_NEW(ctx, &memory, int, blocks);
  p.centres = SN_NEW(ctx, &memory, double, (size_t)p.count *(size_t)dims),
  p.sizes = SN_NEW(ctx, &memory, int, p.count);
  sn_status status = block_of && points && box && p.patch_of && p.centres && p.sizes ? SN_OK : ctx->error.status;
  if (status == SN_OK) status = make_blocks(ctx, m, positions, dims, block_of, points);
  if (status == SN_OK) {
    for (int b = 0; b < blocks; b++) box[b].vertex = b;
    split(&p, box, blocks, p.count, 0);
    for (int k = 0; k < rounds; k++) {
      find_centres(&p);
      sn_parallel_for(ctx, blocks, 64, assign_range, &p);
    }
    find_centres(&p);
    for (int n = 0; n < lanes; n++) patch_of[m->runs.rows[n]] = p.patch_of[block_of[n]];
    *count = number_patches(&p, m->vertex_count, patch_of);
  }
  sn_arena_free(&memory);
  return status;
}
