// SPDX-License-Identifier: MIT
// Groups vertices into blocks of eight. Vertices with the same set of joints form shared blocks, which the kernels
// evaluate with one set of matrices. Sets of vertices are merged greedily by a cost model: a shared block may contain
// vertices without some of its joints (weight zero) or empty lanes; if both cost more, the vertices go to loose blocks,
// where every vertex has separate joints.
#include "base/scope.h"
#include "model/parts.h"

#include <stdlib.h>
#include <string.h>

enum { lanes = SN_RT_LANES, window = 128, passes = 3 };

// Costs in cycles of the AVX2 kernel; only the ratios matter.
static double block_cost(int influences) { return 8 + 7.5 * influences + (influences > 4 ? 20 : 0); }
static double loose_cost(int influences) { return 4 + 3.0 * influences; } // of a vertex
static const double group_cost = 25;

// A vertex with its joints in key order: ascending, after the pivot if there is one.
typedef struct item {
  uint16_t joints[SN_RT_MAX_INFLUENCES];
  int influences, vertex;
  int next; // item of the same cell, -1 at the end
} item;

// Vertices that may be in the same blocks, and the union of their joints.
typedef struct cell {
  uint16_t joints[SN_RT_MAX_INFLUENCES];
  int influences, count, head, tail; // items head .. tail, linked by `next`
  double loose;                      // cost of its vertices in loose blocks
} cell;

typedef struct planner {
  const sn_skin *skin;
  bool pivot;
  item *items;
  cell *cells;
  int *loose;  // vertices for loose blocks
  int *others; // scratch memory of arrange
  int placed;  // vertices in plan->order so far
  sn_block_plan *plan;
} planner;

static int compare_u16(const void *a, const void *b) { return *(const uint16_t *)a - *(const uint16_t *)b; }

static int compare_joints(const uint16_t *a, int a_count, const uint16_t *b, int b_count) {
  for (int k = 0; k < a_count && k < b_count; k++)
    if (a[k] != b[k]) return a[k] - b[k];
  return a_count - b_count;
}

static int compare_items(const void *a, const void *b) {
  const item *x = a, *y = b;
  int order = compare_joints(x->joints, x->influences, y->joints, y->influences);
  return order ? order : x->vertex - y->vertex;
}

static item make_item(const planner *p, int vertex) {
  item it = {.vertex = vertex, .influences = sn_skin_row_influences(p->skin, vertex)};
  memcpy(it.joints, p->skin->joints + (size_t)vertex * (size_t)p->skin->influences,
         (size_t)it.influences * sizeof *it.joints);
  int fixed = p->pivot ? 1 : 0;
  qsort(it.joints + fixed, (size_t)(it.influences - fixed), sizeof *it.joints, compare_u16);
  return it;
}

// ---- runs -----------------------------------------------------------------------------------------------------------

static sn_block_run *add_run(planner *p, sn_rt_group_kind kind, int influences) {
  sn_block_run *run = p->plan->runs + p->plan->run_count++;
  *run = (sn_block_run){.first = p->placed, .kind = kind, .influences = influences};
  return run;
}

static void place(planner *p, sn_block_run *run, int vertex) {
  p->plan->order[p->placed++] = vertex;
  run->count++;
}

// ---- cells ----------------------------------------------------------------------------------------------------------

// Items begin .. end - 1, all with the same joints.
static cell make_cell(planner *p, int begin, int end) {
  const item *it = p->items + begin;
  cell c = {.influences = it->influences, .count = end - begin, .head = begin, .tail = end - 1};
  memcpy(c.joints, it->joints, sizeof c.joints);
  for (int n = begin; n < end; n++) p->items[n].next = n + 1 < end ? n + 1 : -1;
  c.loose = c.count * loose_cost(it->influences);
  return c;
}

static double shared_cost(const cell *c) {
  return group_cost + (double)((c->count + lanes - 1) / lanes) * block_cost(c->influences);
}

static double cell_cost(const cell *c) {
  double shared = shared_cost(c);
  return shared < c->loose ? shared : c->loose;
}

// The union of a and b as one cell (items are not linked); false if it has too many joints.
static bool unite(const planner *p, const cell *a, const cell *b, cell *out) {
  if (p->pivot && a->joints[0] != b->joints[0]) return false;
  *out = *a;
  for (int k = 0; k < b->influences; k++) {
    bool found = false;
    for (int n = 0; n < a->influences && !found; n++) found = a->joints[n] == b->joints[k];
    if (found) continue;
    if (out->influences == SN_RT_MAX_INFLUENCES) return false;
    out->joints[out->influences++] = b->joints[k];
  }
  out->count += b->count, out->loose += b->loose;
  return true;
}

// Merges cell `c` into the recent cell with the largest saving, or appends it. Returns the new length.
static int absorb(planner *p, int count, cell c) {
  int best = -1;
  double saved = 0, own = cell_cost(&c);
  cell united;
  for (int n = count - 1; n >= 0 && n >= count - window; n--) {
    if (!unite(p, p->cells + n, &c, &united)) continue;
    double gain = cell_cost(p->cells + n) + own - cell_cost(&united);
    if (gain > saved + 1e-9) best = n, saved = gain;
  }
  if (best < 0) {
    p->cells[count] = c;
    return count + 1;
  }
  unite(p, p->cells + best, &c, &united);
  p->items[united.tail].next = c.head, united.tail = c.tail;
  p->cells[best] = united;
  return count;
}

static int compare_vertices(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

// Orders the vertices of a run: first pairs of consecutive vertices, which the kernels write with wide stores, then the
// others; both ascending.
static void arrange(planner *p, const sn_block_run *run) {
  int *order = p->plan->order + run->first, paired = 0, others = 0;
  qsort(order, (size_t)run->count, sizeof *order, compare_vertices);
  for (int n = 0; n < run->count;) {
    if (n + 1 < run->count && order[n + 1] == order[n] + 1) {
      int first = order[n];
      order[paired++] = first, order[paired++] = first + 1;
      n += 2;
    } else {
      p->others[others++] = order[n++];
    }
  }
  memcpy(order + paired, p->others, (size_t)others * sizeof *order);
}

// Returns how many vertices are left for loose blocks.
static int place_cells(planner *p, int cell_count) {
  int loose_count = 0;
  for (int n = 0; n < cell_count; n++) {
    const cell *c = p->cells + n;
    bool loose = shared_cost(c) >= c->loose;
    sn_block_run *run = loose ? NULL : add_run(p, SN_RT_GROUP_SHARED, c->influences);
    if (run) memcpy(run->joints, c->joints, sizeof run->joints);
    for (int it = c->head; it >= 0; it = p->items[it].next)
      if (loose)
        p->loose[loose_count++] = p->items[it].vertex;
      else
        place(p, run, p->items[it].vertex);
    if (run) arrange(p, run);
  }
  return loose_count;
}

// Loose blocks by number of influences; vertices that do not fill a block move to the next larger number.
static void place_loose(planner *p, int count) {
  int pending[lanes], pending_count = 0;
  for (int k = 1; k <= SN_RT_MAX_INFLUENCES; k++) {
    int have = pending_count, left;
    for (int n = 0; n < count; n++) have += sn_skin_row_influences(p->skin, p->loose[n]) == k;
    left = k == SN_RT_MAX_INFLUENCES || k == p->skin->influences ? have : have / lanes * lanes;
    sn_block_run *run = left ? add_run(p, SN_RT_GROUP_LOOSE, k) : NULL;
    for (int n = 0; n < pending_count && left; n++, left--) place(p, run, pending[n]);
    if (run) pending_count = 0;
    for (int n = 0; n < count; n++) {
      if (sn_skin_row_influences(p->skin, p->loose[n]) != k) continue;
      if (left > 0)
        place(p, run, p->loose[n]), left--;
      else
        pending[pending_count++] = p->loose[n];
    }
    if (run) arrange(p, run);
  }
}

static void plan_chunk(planner *p, int first, int count) {
  for (int n = 0; n < count; n++) p->items[n] = make_item(p, first + n);
  qsort(p->items, (size_t)count, sizeof *p->items, compare_items);
  int cell_count = 0;
  for (int begin = 0, end; begin < count; begin = end) {
    const item *it = p->items + begin;
    for (end = begin + 1; end < count; end++) {
      const item *next = p->items + end;
      if (compare_joints(it->joints, it->influences, next->joints, next->influences)) break;
    }
    cell_count = absorb(p, cell_count, make_cell(p, begin, end));
  }
  for (int pass = 1; pass < passes; pass++) {
    int before = cell_count;
    cell_count = 0;
    for (int n = 0; n < before; n++) cell_count = absorb(p, cell_count, p->cells[n]);
    if (cell_count == before) break;
  }
  place_loose(p, place_cells(p, cell_count));
}

sn_status sn_block_plan_make(sn_context *ctx, sn_arena *memory, const sn_skin *skin, bool pivot, int grain,
                             sn_block_plan *out) {
  *out = (sn_block_plan){0};
  int vertices = skin->vertex_count, largest = vertices < grain ? vertices : grain;
  out->chunk_count = (int)(((int64_t)vertices + grain - 1) / grain);
  planner p = {.skin = skin, .pivot = pivot, .plan = out};
  SN_SCRATCH(scratch, ctx);
  out->order = SN_NEW(ctx, memory, int, vertices);
  out->chunk_start = SN_NEW(ctx, memory, int, out->chunk_count + 1);
  out->runs = SN_NEW(ctx, memory, sn_block_run, vertices); // each has a vertex
  p.items = SN_NEW(ctx, &scratch, item, largest);
  p.cells = SN_NEW(ctx, &scratch, cell, largest);
  p.loose = SN_NEW(ctx, &scratch, int, largest);
  p.others = SN_NEW(ctx, &scratch, int, largest);
  if (!out->order || !out->chunk_start || !out->runs || !p.items || !p.cells || !p.loose || !p.others)
    return ctx->error.status;
  for (int c = 0; c < out->chunk_count; c++) {
    int first = c * grain, count = vertices - first < grain ? vertices - first : grain;
    plan_chunk(&p, first, count);
    out->chunk_start[c + 1] = out->run_count;
  }
  return SN_OK;
}
