// SPDX-License-Identifier: MIT
// Loads the frames, in the vertex order of the rest mesh.
#include "examples/load.h"

#include <math.h>
#include <string.h>

// Vertex order of frames with faces: if their triangles are those of the rest mesh in the same order, corners give the match. NULL
// if they are not.
static int *match_faces(sn_loading *l, int found, sn_arena *memory) {
  const sn_mesh *rest = &l->out->rest;
  SN_FREED_BY(sn_mesh_free) sn_mesh mesh = {0};
  sn_choice choice = sn_load_choice(&l->options, SN_FILE_FRAMES);
  if (l->status == SN_OK) l->status = sn_mesh_read(l->ctx, l->options.frames[0], &choice, &mesh, NULL);
  bool same = mesh.triangle_count == rest->triangle_count && mesh.vertex_count == found;
  int *order = SN_TAKE(l, memory, int, rest->vertex_count);
  for (int i = 0; order && i < rest->vertex_count; i++) order[i] = -1;
  for (int t = 0; order && same && t < mesh.triangle_count; t++)
    for (int c = 0; c < 3; c++) {
      int *vertex = &order[rest->triangles[t][c]];
      if (*vertex >= 0 && *vertex != mesh.triangles[t][c]) same = false;
      *vertex = mesh.triangles[t][c];
    }
  for (int i = 0; order && i < rest->vertex_count; i++) same = same && order[i] >= 0;
  return same ? order : NULL;
}

sn_status sn_load_match(sn_context *ctx, const sn_load_options *options, const sn_mesh *mesh, sn_arena *memory,
                        int **pick, int *count) {
  SN_FREED_BY(sn_mesh_free) sn_mesh match;
  sn_choice choice = sn_load_choice(options, SN_FILE_FRAMES); // adjusted like the frames it belongs to
  SN_TRY(sn_mesh_read(ctx, options->match, &choice, &match, NULL));
  int n = mesh->vertex_count;
  double *distance = SN_NEW(ctx, memory, double, n);
  double limit = 1e-3 * sn_points_diagonal((const float(*)[3])mesh->positions, n);
  *pick = SN_NEW(ctx, memory, int, n);
  *count = match.vertex_count;
  if (!*pick || !distance) return ctx->error.status;
  SN_TRY(sn_nearest_vertices(ctx, sn_mesh_points(&match), sn_mesh_points(mesh), *pick, distance));
  for (int i = 0; i < n; i++)
    if (distance[i] > limit)
      return sn_fail(ctx, SN_BAD_INPUT,
                     "%s: no vertex within 0.1 %% of the diagonal of vertex %d of %s (the nearest is %.3g away); "
                     "`match` must be in the same rest pose",
                     options->match, i, options->rest, distance[i]);
  return SN_OK;
}

// pick[i]: the vertex of a frames file for vertex i of the rest file (NULL: the same); the vertex count that a file must have; and
// the rest file's count after welding by position.
typedef struct vertex_order {
  int *pick, expected, welded;
} vertex_order;

static void mismatch(sn_loading *l, const char *path, int count, const vertex_order *order) {
  int vertices = l->out->rest.vertex_count;
  const char *rest = l->options.rest;
  if (l->options.match) {
    sn_fail_once(l, SN_BAD_INPUT, "%s has %d vertices, but %s has %d", path, count, l->options.match,
                 order->expected);
  } else if (order->welded < vertices) {
    sn_fail_once(l, SN_BAD_INPUT, "%s has %d vertices; %s has %d, or %d with its seams welded", path, count, rest,
                 vertices, order->welded);
  } else {
    sn_fail_once(l, SN_BAD_INPUT,
                 "%s has %d vertices, but %s has %d; frames and rest mesh must agree, or give `match` FILE", path,
                 count, rest, vertices);
  }
}

void sn_load_gather(const sn_frames *from, const int *pick, int done, sn_frames *to) {
  for (int f = 0; f < from->frame_count; f++) {
    const float(*source)[3] = sn_frame(from, f);
    float(*target)[3] = sn_frame_mutable(to, done + f);
    for (int i = 0; i < to->vertex_count; i++) memcpy(target[i], source[pick ? pick[i] : i], sizeof *target);
    sn_frames_used(from, from->vertex_count, 1);
    sn_frames_used(to, to->vertex_count, 1);
  }
}

// Connected components of the rest mesh, vertices at one position counting as one: piece[i] identifies vertex i's. NULL on failure.
static int *find_pieces(sn_loading *l, sn_arena *memory) {
  const sn_mesh *mesh = &l->out->rest;
  int count, *root = SN_TAKE(l, memory, int, mesh->vertex_count),
             *piece = SN_TAKE(l, memory, int, mesh->vertex_count);
  int *classes = piece ? sn_mesh_weld(l->ctx, mesh, NULL, NULL, memory, &count) : NULL;
  if (piece && !classes) l->status = l->ctx->error.status;
  if (!classes) return NULL;
  for (int k = 0; k < count; k++) root[k] = k;
  for (int e = 0; e < 3 * mesh->triangle_count; e++)
    sn_set_join(root, classes[mesh->triangles[e / 3][e % 3]], classes[mesh->triangles[e / 3][(e + 1) % 3]]);
  for (int i = 0; i < mesh->vertex_count; i++) piece[i] = sn_set_first(root, classes[i]);
  return piece;
}

// Mean edge length relative to the bounding box of the edge's component. A wrong vertex order makes it many times larger; scaling
// or moving whole components does not change it.
static double relative_edge(sn_loading *l, const int *piece, const float (*positions)[3], sn_arena *memory) {
  const sn_mesh *mesh = &l->out->rest;
  float(*boxes)[6] = SN_ROOM(l, memory, (size_t)mesh->vertex_count, sizeof *boxes);
  if (!boxes) return 0;
  for (int i = 0; i < mesh->vertex_count; i++)
    for (int c = 0; c < 3; c++) boxes[i][c] = INFINITY, boxes[i][3 + c] = -INFINITY;
  for (int i = 0; i < mesh->vertex_count; i++)
    for (int c = 0; c < 3; c++) {
      float *box = boxes[piece[i]], x = positions[i][c];
      box[c] = fminf(box[c], x), box[3 + c] = fmaxf(box[3 + c], x);
    }
  double sum = 0;
  int counted = 0;
  for (int t = 0; t < mesh->triangle_count; t++) {
    const int *corner = mesh->triangles[t];
    const float *box = boxes[piece[corner[0]]];
    double size = sn_vec3_distance(sn_vec3_from(box), sn_vec3_from(box + 3));
    if (!(size > 0)) continue;
    sum += sn_vec3_distance(sn_vec3_from(positions[corner[0]]), sn_vec3_from(positions[corner[1]])) / size;
    counted++;
  }
  return counted > 0 ? sum / counted : 0;
}

static void check_order(sn_loading *l) {
  const sn_mesh *rest = &l->out->rest;
  if (rest->triangle_count < 100) return;
  SN_SCRATCH(scratch, l->ctx);
  int *piece = find_pieces(l, &scratch);
  double expected = piece ? relative_edge(l, piece, (const float(*)[3])rest->positions, &scratch) : 0,
         found = piece ? relative_edge(l, piece, sn_frame(&l->out->frames, 0), &scratch) : 0;
  if (found > 5 * expected)
    sn_fail_once(l, SN_BAD_INPUT,
                 "%s: edges of the mesh are %.0f times as long as in %s: the vertices seem to be in another order; "
                 "give `match` FILE, a mesh in the order of the frames and in the rest pose",
                 l->options.frames[0], found / expected, l->options.rest);
}

// The frames' vertex order. They may have one vertex where the rest file splits it at seams.
static vertex_order find_order(sn_loading *l, int found, sn_arena *memory) {
  const sn_load_options *o = &l->options;
  const sn_mesh *rest = &l->out->rest;
  vertex_order out = {NULL, rest->vertex_count, rest->vertex_count};
  if (o->match) {
    l->status = sn_load_match(l->ctx, o, rest, memory, &out.pick, &out.expected);
  } else if (sn_is_document(o->rest)) {
    if (sn_has_extension(o->frames[0], ".abc")) out.pick = match_faces(l, found, memory);
    bool welds = l->status == SN_OK && !out.pick && found != out.expected;
    int *classes = welds ? sn_mesh_weld(l->ctx, rest, NULL, NULL, memory, &out.welded) : NULL;
    if (welds && !classes) l->status = l->ctx->error.status;
    if (classes && found == out.welded) out.pick = classes;
    if (out.pick) out.expected = found;
  }
  return out;
}

static void join_frames(sn_loading *l, sn_frames *parts, sn_arena *scratch) {
  const sn_load_options *options = &l->options;
  sn_examples *out = l->out;
  int total = 0;
  vertex_order order = find_order(l, parts[0].vertex_count, scratch);
  out->clip_start = SN_TAKE(l, &out->memory, int, options->frames_count + 1);
  for (int c = 0; l->status == SN_OK && c < options->frames_count; c++) {
    if (parts[c].vertex_count != order.expected) {
      mismatch(l, options->frames[c], parts[c].vertex_count, &order);
    } else if (__builtin_add_overflow(total, parts[c].frame_count, &total)) {
      sn_fail_once(l, SN_BAD_INPUT, "too many frames");
    }
    out->clip_start[c + 1] = total;
  }
  if (l->status != SN_OK) return;
  out->clip_count = options->frames_count;
  out->test_frame_count = total - out->clip_start[options->frames_count - options->test_count];
  if (!order.pick && options->frames_count == 1) { // no copy: PC2 frames stay memory-mapped
    out->frames = parts[0];
    parts[0] = (sn_frames){0};
    return;
  }
  l->status = sn_frames_new(l->ctx, out->rest.vertex_count, total, &out->frames);
  out->frames.rate = parts[0].rate;
  for (int c = 0; l->status == SN_OK && c < options->frames_count; c++)
    sn_load_gather(&parts[c], order.pick, out->clip_start[c], &out->frames);
}

void sn_load_frames(sn_loading *l) {
  int count = l->options.frames_count;
  sn_choice choice = sn_load_choice(&l->options, SN_FILE_FRAMES);
  SN_SCRATCH(scratch, l->ctx);
  sn_frames *parts = SN_TAKE(l, &scratch, sn_frames, count); // each as its file has it
  for (int c = 0; l->status == SN_OK && c < count; c++) {
    choice.clip = l->options.frame_clips[c];
    l->status = sn_frames_read(l->ctx, l->options.frames[c], &choice, &parts[c]);
  }
  if (l->status == SN_OK) join_frames(l, parts, &scratch);
  if (l->status == SN_OK) check_order(l);
  for (int c = 0; parts && c < count; c++) sn_frames_free(&parts[c]);
}
