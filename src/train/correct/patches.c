// SPDX-License-Identifier: MIT
// Patches of the surface by halving boxes of whole blocks.
#include "train/correct/patches.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/format.h"

static const double weight_scale = 0.3; // of a weight beside a position over the diagonal (METHODS.md)

// Points to be split into boxes: the lanes of blocks, then the blocks.
typedef struct boxes {
  int dims;
  const float *points; // `dims` numbers each
  int *box_of;
} boxes;

static const float *point(const boxes *b, int i) { return b->points + (size_t)i * (size_t)b->dims; }

typedef struct place {
  float at;
  int vertex;
} place;

static int compare_places(const void *a, const void *b) {
  const place *x = a, *y = b;
  return x->at != y->at ? (x->at < y->at ? -1 : 1) : x->vertex - y->vertex;
}

// Halves a box of vertices along its longest extent until there are `parts` of about the same size.
static void split(const boxes *p, place *box, int count, int parts, int first) {
  if (parts <= 1 || count <= 1) {
    for (int n = 0; n < count; n++) p->box_of[box[n].vertex] = first;
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

// Numbers the patches that have rows, in their order. Returns how many these are. `used`: a number for each.
static int number_patches(int count, int rows, int *used, int *patch_of) {
  int next = 0;
  for (int i = 0; i < rows; i++) used[patch_of[i]] = 1;
  for (int c = 0; c < count; c++) used[c] = used[c] ? next++ : -1;
  for (int i = 0; i < rows; i++) patch_of[i] = used[patch_of[i]];
  return next;
}

static void fill_point(const sn_residuals *m, const float (*positions)[3], int dims, int i, float *row) {
  const sn_skin *skin = m->weights;
  for (int c = 0; c < 3; c++) row[c] = (float)(positions[i][c] / m->diagonal);
  for (int k = 0; dims > 3 && k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    row[3 + skin->joints[at]] += (float)weight_scale * skin->weights[at];
  }
}

// Blocks of eight lanes near each other, of every run of the skin: block_of of every lane, and the blocks' mean points.
static sn_status make_blocks(sn_context *ctx, const sn_residuals *m, const float (*positions)[3], int dims,
                             int *block_of, float *points) {
  sn_arena memory = sn_arena_new(ctx);
  int lanes = m->runs.first[m->runs.count];
  float *rows = SN_NEW(ctx, &memory, float, (size_t)lanes *(size_t)dims);
  place *box = SN_NEW(ctx, &memory, place, lanes);
  sn_status status = rows && box ? SN_OK : ctx->error.status;
  const boxes p = {dims, rows, block_of};
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
  int lanes = m->runs.first[m->runs.count], blocks = lanes / SN_RT_LANES, parts = *count < blocks ? *count : blocks;
  int dims = 3 + (m->weights ? m->joint_count : 0);
  int *block_of = SN_NEW(ctx, &memory, int, lanes), *box_of = SN_NEW(ctx, &memory, int, blocks);
  int *used = SN_NEW(ctx, &memory, int, parts);
  float *points = SN_NEW(ctx, &memory, float, (size_t)blocks *(size_t)dims);
  place *box = SN_NEW(ctx, &memory, place, blocks);
  sn_status status = block_of && box_of && used && points && box ? SN_OK : ctx->error.status;
  if (status == SN_OK) status = make_blocks(ctx, m, positions, dims, block_of, points);
  if (status == SN_OK) {
    for (int b = 0; b < blocks; b++) box[b].vertex = b;
    split(&(boxes){dims, points, box_of}, box, blocks, parts, 0);
    for (int n = 0; n < lanes; n++) patch_of[m->runs.rows[n]] = box_of[block_of[n]];
    *count = number_patches(parts, m->vertex_count, used, patch_of);
  }
  sn_arena_free(&memory);
  return status;
}
