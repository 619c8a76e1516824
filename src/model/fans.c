// SPDX-License-Identifier: MIT
// Chains the triangles around every vertex into fans. Triangle (i, a, b) is an edge from a to b among the neighbours of i;
// a fan is a walk along such edges that uses each once.
#include "model/parts.h"

enum { none = UINT32_MAX, lanes = SN_RT_LANES };

typedef struct edge {
  uint32_t from, to;
  uint32_t next; // edge of the same vertex that leaves the same neighbour; none: the last
  bool used;
} edge;

typedef struct chainer {
  size_t *start; // vertex i: edges[start[i] .. start[i + 1])
  edge *edges;
  // Per neighbour of the current vertex: its first possibly unused edge, and out-degree minus in-degree.
  uint32_t *leaving;
  int *surplus;
  uint32_t *row; // output: neighbours
  size_t length;
} chainer;

static int through(const int *map, int i) { return map ? map[i] : i; }

// Corners of triangle t by position, and the vertices to whose fans it belongs; false if it is degenerate.
static bool corners_of(const sn_mesh *mesh, const sn_fan_groups *groups, int t, int corner[3], int centre[3]) {
  for (int k = 0; k < 3; k++) {
    corner[k] = through(groups->place_of, mesh->triangles[t][k]);
    centre[k] = through(groups->class_of, mesh->triangles[t][k]);
  }
  return corner[0] != corner[1] && corner[1] != corner[2] && corner[2] != corner[0];
}

static sn_status collect_edges(sn_context *ctx, sn_arena *memory, const sn_mesh *mesh, const sn_fan_groups *groups,
                               chainer *c) {
  size_t vertices = (size_t)mesh->vertex_count, corners = 3 * (size_t)mesh->triangle_count;
  c->start = SN_NEW(ctx, memory, size_t, vertices + 1);
  c->edges = SN_NEW(ctx, memory, edge, corners);
  c->leaving = SN_NEW(ctx, memory, uint32_t, vertices);
  c->surplus = SN_NEW(ctx, memory, int, vertices);
  size_t *next = SN_NEW(ctx, memory, size_t, vertices);
  if (!c->start || !c->edges || !c->leaving || !c->surplus || !next) return ctx->error.status;
  int corner[3], centre[3];
  for (int t = 0; t < mesh->triangle_count; t++) {
    bool counts = corners_of(mesh, groups, t, corner, centre);
    for (int k = 0; k < 3; k++) c->start[centre[k] + 1] += counts;
  }
  for (size_t i = 0; i < vertices; i++) {
    c->start[i + 1] += c->start[i], next[i] = c->start[i];
    c->leaving[i] = none;
  }
  for (int t = 0; t < mesh->triangle_count; t++) {
    bool counts = corners_of(mesh, groups, t, corner, centre);
    for (int k = 0; k < 3 && counts; k++) {
      c->edges[next[centre[k]]++] =
        (edge){.from = (uint32_t)corner[(k + 1) % 3], .to = (uint32_t)corner[(k + 2) % 3], .next = none};
    }
  }
  return SN_OK;
}

static void put(chainer *c, uint32_t neighbour) { c->row[c->length++] = neighbour; }

static edge *unused_edge(chainer *c, edge *edges, uint32_t from) {
  while (c->leaving[from] != none && edges[c->leaving[from]].used) c->leaving[from] = edges[c->leaving[from]].next;
  return c->leaving[from] == none ? NULL : edges + c->leaving[from];
}

// Follows a fan from edge `first` to its end. A closed fan ends with its first neighbour.
static void walk(chainer *c, edge *edges, edge *first) {
  put(c, first->from);
  for (edge *e = first; e; e = unused_edge(c, edges, e->to)) {
    e->used = true;
    put(c, e->to);
  }
}

// The row of vertex i. Open fans begin where out-degree exceeds in-degree; the remaining edges form closed fans.
static void chain(chainer *c, uint32_t i) {
  edge *edges = c->edges + c->start[i];
  size_t count = c->start[i + 1] - c->start[i], begin = c->length;
  for (size_t n = count; n-- > 0;) { // backwards: the lists are in the order of the triangles
    edges[n].next = c->leaving[edges[n].from], c->leaving[edges[n].from] = (uint32_t)n;
    c->surplus[edges[n].from]++, c->surplus[edges[n].to]--;
  }
  for (int open = 1; open >= 0; open--)
    for (size_t n = 0; n < count; n++) {
      if (edges[n].used || (open && c->surplus[edges[n].from] <= 0)) continue;
      c->surplus[edges[n].from]--;
      walk(c, edges, edges + n);
      put(c, i);
    }
  // Rows are cyclic: a last fan that ends at the first neighbour omits it.
  if (count && c->row[begin] == c->row[c->length - 2]) c->length -= 2;
  for (size_t n = 0; n < count; n++) {
    c->leaving[edges[n].from] = none;
    c->surplus[edges[n].from] = c->surplus[edges[n].to] = 0;
  }
}

sn_status sn_fans_make(sn_context *ctx, sn_arena *memory, const sn_mesh *mesh, const sn_fan_groups *groups,
                       sn_fans *out) {
  chainer c = {0};
  sn_status status = collect_edges(ctx, memory, mesh, groups, &c);
  if (status != SN_OK) return status;
  size_t vertices = (size_t)mesh->vertex_count, room = 0;
  *out = (sn_fans){.vertex_count = (uint32_t)vertices};
  for (size_t i = 0; i < vertices; i++) { // a fan of one triangle: a, b and i
    size_t first = (size_t)through(groups->class_of, (int)i);
    room += 3 * (c.start[first + 1] - c.start[first]);
  }
  out->start = SN_NEW(ctx, memory, size_t, vertices + 1);
  out->neighbours = SN_NEW(ctx, memory, uint32_t, room);
  if (!out->start || !out->neighbours) return ctx->error.status;
  c.row = out->neighbours;
  for (size_t i = 0; i < vertices; i++) { // vertices of a smoothing group have the row of its first
    size_t first = (size_t)through(groups->class_of, (int)i);
    if (first == i) chain(&c, (uint32_t)i);
    for (size_t n = out->start[first]; first != i && n < out->start[first + 1]; n++) put(&c, out->neighbours[n]);
    out->start[i + 1] = c.length;
  }
  return SN_OK;
}

static size_t row_length(const sn_fans *fans, uint32_t i) { return fans->start[i + 1] - fans->start[i]; }

// Steps of a block of eight consecutive vertices: the length of its longest row.
static size_t count_steps(const sn_fans *fans, uint32_t block) {
  size_t longest = 0;
  for (uint32_t i = lanes * block; i < lanes * (block + 1) && i < fans->vertex_count; i++)
    if (row_length(fans, i) > longest) longest = row_length(fans, i);
  return longest;
}

// The neighbour of a lane in a step: after its end, a row repeats the last neighbour; an empty row is the vertex itself.
static uint32_t neighbour_at(const sn_fans *fans, uint32_t block, uint32_t lane, size_t step) {
  uint32_t i = lanes * block + lane;
  if (i >= fans->vertex_count) return fans->vertex_count - 1;
  size_t length = row_length(fans, i);
  return length == 0 ? i : fans->neighbours[fans->start[i] + (step < length ? step : length - 1)];
}

void sn_fans_add(sn_section_list *list, const sn_fans *fans) {
  uint32_t blocks = sn_rt_blocks_of(fans->vertex_count), bytes = sn_rt_fan_bytes(fans->vertex_count);
  uint32_t *start = sn_section_new(list, SN_SECTION_SHADE_START, (uint64_t)blocks + 1, sizeof *start, 0);
  uint64_t steps = 0;
  for (uint32_t b = 0; start && b < blocks; b++) start[b + 1] = (uint32_t)(steps += count_steps(fans, b));
  if (steps > UINT32_MAX) list->status = sn_fail(list->ctx, SN_BAD_INPUT, "the triangles are too many for a model");
  void *out = sn_section_new(list, SN_SECTION_SHADE_FANS, steps * lanes, bytes, 0);
  for (uint32_t b = 0; out && b < blocks; b++)
    for (uint64_t step = start[b]; step < start[b + 1]; step++)
      for (uint32_t lane = 0; lane < lanes; lane++) {
        uint32_t neighbour = neighbour_at(fans, b, lane, step - start[b]);
        if (bytes == 2)
          ((uint16_t *)out)[step * lanes + lane] = (uint16_t)neighbour;
        else
          ((uint32_t *)out)[step * lanes + lane] = neighbour;
      }
}
