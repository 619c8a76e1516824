// SPDX-License-Identifier: MIT
// Finds the unit and axes that bring a misplaced bind mesh to the rest mesh, if there are any.
#include "examples/load.h"

#include <math.h>

typedef struct box {
  sn_vec3 low, high;
} box;

static box box_of(const float (*points)[3], int count) {
  box b;
  sn_points_bounds(points, count, &b.low, &b.high);
  return b;
}

static box moved_box(box b, sn_mat3 linear) {
  sn_vec3 p = sn_mat3_apply(linear, b.low), q = sn_mat3_apply(linear, b.high);
  return (box){sn_vec3_make(fmin(p.x, q.x), fmin(p.y, q.y), fmin(p.z, q.z)),
               sn_vec3_make(fmax(p.x, q.x), fmax(p.y, q.y), fmax(p.z, q.z))};
}

// Larger distance between corresponding corners of two boxes.
static double box_distance(box a, box b) {
  return fmax(sn_vec3_distance(a.low, b.low), sn_vec3_distance(a.high, b.high));
}

static double diagonal_of(box b) { return sn_vec3_distance(b.low, b.high); }

// Largest distance from a rest vertex to the nearest transformed bind vertex.
static double farthest_of(sn_loading *l, const sn_mesh *bind, sn_mat3 linear) {
  const sn_mesh *rest = &l->out->rest;
  SN_SCRATCH(scratch, l->ctx);
  float(*moved)[3] = SN_ROOM(l, &scratch, (size_t)bind->vertex_count, sizeof *moved);
  int *nearest = SN_TAKE(l, &scratch, int, rest->vertex_count);
  double *distance = SN_TAKE(l, &scratch, double, rest->vertex_count), farthest = 0;
  for (int i = 0; distance && i < bind->vertex_count; i++)
    sn_vec3_store(sn_mat3_apply(linear, sn_vec3_from(bind->positions[i])), moved[i]);
  sn_points among = {(const float(*)[3])moved, bind->vertex_count};
  if (distance) l->status = sn_nearest_vertices(l->ctx, among, sn_mesh_points(rest), nearest, distance);
  for (int i = 0; l->status == SN_OK && i < rest->vertex_count; i++) farthest = fmax(farthest, distance[i]);
  return farthest;
}

// Whether frame 0 matches the bind mesh better than the rest mesh, by the sizes of their boxes.
static bool frames_are_bound(const sn_examples *e, box bind, box rest) {
  if (e->frames.frame_count == 0) return false;
  box frame = box_of(sn_frame(&e->frames, 0), e->frames.vertex_count);
  sn_vec3 size = sn_vec3_sub(frame.high, frame.low), a = sn_vec3_sub(bind.high, bind.low),
          b = sn_vec3_sub(rest.high, rest.low);
  return fabs(log(sn_vec3_length(size) / sn_vec3_length(a))) + sn_vec3_distance(size, a) / diagonal_of(frame) <
         fabs(log(sn_vec3_length(size) / sn_vec3_length(b))) + sn_vec3_distance(size, b) / diagonal_of(frame);
}

void sn_load_explain_place(sn_loading *l, const sn_mesh *bind, char *words, size_t size) {
  const sn_mesh *rest = &l->out->rest;
  box from = box_of((const float(*)[3])bind->positions, bind->vertex_count),
      to = box_of((const float(*)[3])rest->positions, rest->vertex_count);
  double diagonal = diagonal_of(to), scale = sn_known_scale(diagonal / diagonal_of(from), 0.05),
         best = 1e-2 * diagonal;
  *words = '\0';
  for (int pass = 0; pass < 2 && !*words; pass++) // mirrored axes only if no others fit
    for (int k = 0; k < SN_AXES; k++) {
      sn_mat3 linear = sn_mat3_scale(sn_axes_number(k), scale), inverse;
      if ((sn_mat3_determinant(linear) < 0) != (pass == 1)) continue;
      if (box_distance(moved_box(from, linear), to) > 2e-2 * diagonal || !sn_mat3_invert(linear, &inverse)) continue;
      double farthest = farthest_of(l, bind, linear);
      if (l->status != SN_OK || !(farthest < 0.8 * best)) continue;
      best = farthest;
      bool bound = frames_are_bound(l->out, from, to);
      sn_file_kind kind = bound ? SN_FILE_REST : SN_FILE_SKELETON;
      sn_adjust_text(&l->options.adjust[kind], bound ? inverse : linear, kind, words, size);
    }
}
