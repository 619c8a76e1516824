// SPDX-License-Identifier: MIT
// The frames of a set of examples, in the vertex order of the rest mesh.
#include "examples/load.h"

#include <math.h>
#include <string.h>
#include <strings.h>

// Frames that come with faces, of a mesh that was exported beside them: the same faces in the same order say which vertex is
// which. `pick` stays NULL where they do not.
static sn_status match_faces(sn_context *ctx, const sn_load_options *options, const sn_mesh *rest, int found,
                             sn_arena *memory, int **pick) {
  sn_mesh mesh;
  sn_choice choice = sn_load_choice(options, SN_FILE_FRAMES);
  sn_status status = sn_mesh_read(ctx, options->frames[0], &choice, &mesh);
  if (status != SN_OK) return status;
  bool same = mesh.triangle_count == rest->triangle_count && mesh.vertex_count == found;
  int *order = SN_NEW(ctx, memory, int, rest->vertex_count);
  if (!order) status = ctx->error.status;
  for (int i = 0; order && i < rest->vertex_count; i++) order[i] = -1;
  for (int t = 0; order && same && t < mesh.triangle_count; t++)
    for (int c = 0; c < 3; c++) {
      int *vertex = &order[rest->triangles[t][c]];
      if (*vertex >= 0 && *vertex != mesh.triangles[t][c]) same = false;
      *vertex = mesh.triangles[t][c];
    }
  for (int i = 0; order && i < rest->vertex_count; i++) same = same && order[i] >= 0;
  if (status == SN_OK && same) *pick = order;
  sn_mesh_free(&mesh);
  return status;
}

sn_status sn_load_match(sn_context *ctx, const sn_load_options *options, const sn_mesh *mesh, sn_arena *memory,
                        int **pick, int *count) {
  sn_mesh match;
  sn_choice choice = sn_load_choice(options, SN_FILE_FRAMES); // it comes with them
  sn_status status = sn_mesh_read(ctx, options->match, &choice, &match);
  if (status != SN_OK) return status;
  int n = mesh->vertex_count;
  double *distance = SN_NEW(ctx, memory, double, n);
  double limit = 1e-3 * sn_points_diagonal((const float(*)[3])mesh->positions, n);
  *pick = SN_NEW(ctx, memory, int, n);
  *count = match.vertex_count;
  status = *pick && distance ? sn_nearest_vertices(ctx, sn_mesh_points(&match), sn_mesh_points(mesh), *pick, distance)
                             : ctx->error.status;
  for (int i = 0; status == SN_OK && i < n; i++) {
    if (distance[i] <= limit) continue;
    status = sn_fail(ctx, SN_BAD_INPUT,
                     "%s: no vertex within 0.1 %% of the diagonal of vertex %d of %s (the nearest is %.3g away); "
                     "`match` must be in the same rest pose",
                     options->match, i, options->rest, distance[i]);
  }
  sn_mesh_free(&match);
  return status;
}

// Which vertex of a frames file is vertex i of the rest file (NULL: the same), how many a file must have, and how many the
// rest file has when vertices at one place count once.
typedef struct vertex_order {
  int *pick, expected, welded;
} vertex_order;

static sn_status mismatch(sn_context *ctx, const char *path, int count, const sn_load_options *options, int vertices,
                          const vertex_order *order) {
  if (options->match) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s has %d vertices, but %s has %d", path, count, options->match,
                   order->expected);
  }
  if (order->welded < vertices) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s has %d vertices; %s has %d, or %d with its seams welded", path, count,
                   options->rest, vertices, order->welded);
  }
  return sn_fail(ctx, SN_BAD_INPUT,
                 "%s has %d vertices, but %s has %d; frames and rest mesh must agree, or give `match` FILE", path,
                 count, options->rest, vertices);
}

// Moves the chosen vertices of `from` behind the `done` frames of `to`.
static void gather_frames(const sn_frames *from, const int *pick, int done, sn_frames *to) {
  for (int f = 0; f < from->frame_count; f++) {
    const float(*source)[3] = sn_frame(from, f);
    float(*target)[3] = sn_frame_mutable(to, done + f);
    for (int i = 0; i < to->vertex_count; i++) memcpy(target[i], source[pick ? pick[i] : i], sizeof *target);
    sn_frames_used(from, from->vertex_count, 1);
    sn_frames_used(to, to->vertex_count, 1);
  }
}

// The connected pieces of the mesh, vertices at one place being one: piece[i] is a vertex of i's.
static sn_status find_pieces(sn_context *ctx, const sn_mesh *mesh, sn_arena *memory, int **piece) {
  int count, *root = SN_NEW(ctx, memory, int, mesh->vertex_count);
  int *classes = root ? sn_mesh_weld(ctx, mesh, NULL, NULL, memory, &count) : NULL;
  if (!classes) return ctx->error.status;
  for (int k = 0; k < count; k++) root[k] = k;
  for (int e = 0; e < 3 * mesh->triangle_count; e++)
    sn_set_join(root, classes[mesh->triangles[e / 3][e % 3]], classes[mesh->triangles[e / 3][(e + 1) % 3]]);
  *piece = SN_NEW(ctx, memory, int, mesh->vertex_count);
  for (int i = 0; *piece && i < mesh->vertex_count; i++) (*piece)[i] = sn_set_first(root, classes[i]);
  return *piece ? SN_OK : ctx->error.status;
}

// Mean distance between the ends of the mesh's edges, over the box of the piece they are in: many times larger where the order is
// wrong. Pieces that the motion scales, or takes apart, change nothing.
static sn_status relative_edge(sn_context *ctx, const sn_mesh *mesh, const int *piece, const float (*positions)[3],
                               sn_arena *memory, double *out) {
  float(*boxes)[6] = sn_arena_alloc(ctx, memory, (size_t)mesh->vertex_count, sizeof *boxes);
  if (!boxes) return ctx->error.status;
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
  *out = counted > 0 ? sum / counted : 0;
  return SN_OK;
}

static sn_status check_order(sn_context *ctx, const sn_load_options *options, const sn_examples *examples) {
  const sn_mesh *rest = &examples->rest;
  if (rest->triangle_count < 100) return SN_OK;
  double expected, found;
  int *piece;
  sn_arena scratch = sn_arena_new(ctx);
  sn_status status = find_pieces(ctx, rest, &scratch, &piece);
  if (status == SN_OK)
    status = relative_edge(ctx, rest, piece, (const float(*)[3])rest->positions, &scratch, &expected);
  if (status == SN_OK) status = relative_edge(ctx, rest, piece, sn_frame(&examples->frames, 0), &scratch, &found);
  sn_arena_free(&scratch);
  if (status != SN_OK || found <= 5 * expected) return status;
  return sn_fail(ctx, SN_BAD_INPUT,
                 "%s: edges of the mesh are %.0f times as long as in %s: the vertices seem to be in another order; "
                 "give `match` FILE, a mesh in the order of the frames and in the rest pose",
                 options->frames[0], found / expected, options->rest);
}

// All files' frames, each as the file has it.
static sn_status read_all_frames(sn_context *ctx, const sn_load_options *options, sn_frames *parts) {
  sn_status status = SN_OK;
  sn_choice choice = sn_load_choice(options, SN_FILE_FRAMES);
  for (int c = 0; status == SN_OK && c < options->frames_count; c++) {
    choice.clip = options->frame_clips[c];
    status = sn_frames_read(ctx, options->frames[c], &choice, &parts[c]);
  }
  return status;
}

// Frames of `found` vertices may come without the splits of the rest file.
static sn_status find_order(sn_context *ctx, const sn_load_options *options, const sn_examples *examples, int found,
                            sn_arena *memory, vertex_order *out) {
  *out = (vertex_order){NULL, examples->rest.vertex_count, examples->rest.vertex_count};
  if (options->match) return sn_load_match(ctx, options, &examples->rest, memory, &out->pick, &out->expected);
  if (!sn_is_document(options->rest)) return SN_OK;
  if (sn_has_extension(options->frames[0], ".abc")) {
    sn_status status = match_faces(ctx, options, &examples->rest, found, memory, &out->pick);
    if (status != SN_OK || out->pick) {
      out->expected = found;
      return status;
    }
  }
  if (found == out->expected) return SN_OK;
  int *classes = sn_mesh_weld(ctx, &examples->rest, NULL, NULL, memory, &out->welded);
  if (classes && found == out->welded) out->pick = classes, out->expected = found;
  return classes ? SN_OK : ctx->error.status;
}

static sn_status join_frames(sn_context *ctx, const sn_load_options *options, sn_frames *parts, sn_arena *scratch,
                             sn_examples *out) {
  vertex_order order;
  int total = 0;
  sn_status status = find_order(ctx, options, out, parts[0].vertex_count, scratch, &order);
  out->clip_start = SN_NEW(ctx, &out->memory, int, options->frames_count + 1);
  if (status == SN_OK && !out->clip_start) status = ctx->error.status;
  for (int c = 0; status == SN_OK && c < options->frames_count; c++) {
    if (parts[c].vertex_count != order.expected) {
      status = mismatch(ctx, options->frames[c], parts[c].vertex_count, options, out->rest.vertex_count, &order);
    } else if (__builtin_add_overflow(total, parts[c].frame_count, &total)) {
      status = sn_fail(ctx, SN_BAD_INPUT, "too many frames");
    }
    out->clip_start[c + 1] = total;
  }
  if (status != SN_OK) return status;
  out->clip_count = options->frames_count;
  out->test_frame_count = total - out->clip_start[options->frames_count - options->test_count];
  if (!order.pick && options->frames_count == 1) { // no copy: PC2 stays where it was read to
    out->frames = parts[0];
    parts[0] = (sn_frames){0};
    return SN_OK;
  }
  status = sn_frames_new(ctx, out->rest.vertex_count, total, &out->frames);
  out->frames.rate = parts[0].rate;
  for (int c = 0; status == SN_OK && c < options->frames_count; c++) {
    gather_frames(&parts[c], order.pick, out->clip_start[c], &out->frames);
  }
  return status;
}

sn_status sn_load_frames(sn_context *ctx, const sn_load_options *options, sn_examples *out) {
  sn_arena scratch = sn_arena_new(ctx);
  sn_frames *parts = SN_NEW(ctx, &scratch, sn_frames, options->frames_count);
  sn_status status = parts ? read_all_frames(ctx, options, parts) : ctx->error.status;
  if (status == SN_OK) status = join_frames(ctx, options, parts, &scratch, out);
  if (status == SN_OK) status = check_order(ctx, options, out);
  for (int c = 0; parts && c < options->frames_count; c++) sn_frames_free(&parts[c]);
  sn_arena_free(&scratch);
  return status;
}
