// SPDX-License-Identifier: MIT
// The data of a least-squares fit of bones and weights: rest positions and frames, scaled by the size of the mesh.
//
//   x_i^f  ~  sum_j w_ij T_j^f u~_i ,      u~ = (u, 1)
//
// Index letters: i vertex, j and k bones, f frame, c component of u~ (0..3), r coordinate (0..2).
#ifndef SINEW_FIT_PROBLEM_H
#define SINEW_FIT_PROBLEM_H

#include "sinew/scene.h"

// Rest positions and frames, centred, scaled and without the rigid motion of the whole mesh, so that single precision suffices
// for most of the arithmetic. A problem may be a sample of vertices and frames.
typedef struct fit_problem {
  int n, f;                  // vertices, frames
  float *x;                  // rows of 3 f, for the vertices order[first .. last): see fit_point
  int *place;                // n: inverse of `order`; NULL (a sample): row i is vertex i, and x has all rows
  int first, last;           // rows of this process (see base/team.h): all of them without a team
  struct fit_source *source; // frames, to compute rows of other processes
  sn_file file;              // maps x if it is large
  double (*u)[4];            // n: (u, 1)
  int *order;                // n: the vertices in a spatially coherent order (sn_fit_order)
} fit_problem;

// Vertex i of frame f in the solver's units, computed from the frames.
void sn_fit_convert(const fit_problem *p, int i, int f, float out[3]);

// x_i in frame f; computed into `out` if another process has the row.
static inline const float *fit_point(const fit_problem *p, int i, int f, float out[3]) {
  int row = p->place ? p->place[i] - p->first : i;
  if (!p->place || (row >= 0 && row < p->last - p->first)) return p->x + ((size_t)row * (size_t)p->f + (size_t)f) * 3;
  sn_fit_convert(p, i, f, out);
  return out;
}

// The row of a vertex of this process: element 3 * frame + r.
static inline const float *fit_row(const fit_problem *p, int i) { return fit_point(p, i, 0, NULL); }

// Sums over all vertices are split into groups whose number depends on n only, so that results do not depend on threads and
// processes: 8 to 64 groups of about FIT_GROUP_SIZE vertices. Group g is order[from .. to), whole chunks.
enum { FIT_CHUNK = 96, FIT_LEAST_GROUPS = 8, FIT_MOST_GROUPS = 64, FIT_GROUP_SIZE = 25000 };
static inline int fit_groups(const fit_problem *p) {
  int groups = p->n / FIT_GROUP_SIZE;
  return groups < FIT_LEAST_GROUPS ? FIT_LEAST_GROUPS : groups > FIT_MOST_GROUPS ? FIT_MOST_GROUPS : groups;
}
static inline void fit_group(const fit_problem *p, int g, int *from, int *to) {
  int64_t chunks = (p->n + FIT_CHUNK - 1) / FIT_CHUNK, groups = fit_groups(p);
  int64_t begin = chunks * g / groups * FIT_CHUNK, end = chunks * (g + 1) / groups * FIT_CHUNK;
  *from = (int)(begin < p->n ? begin : p->n), *to = (int)(end < p->n ? end : p->n);
}
// Calls `body` for the groups of this process. With a team, then calls `share` for every group to exchange its sums.
typedef sn_status (*fit_share_fn)(sn_context *ctx, void *user, int group, int owner);
sn_status sn_fit_groups(sn_context *ctx, const fit_problem *p, sn_range_fn body, fit_share_fn share, void *user);

// Call after reading rows of a mapped file, so that its pages can be released: `rows` in sequence, or one at random, for which
// the system maps a window.
static inline void fit_used(const fit_problem *p, int rows) {
  if (p->file.map) sn_file_used(&p->file, (size_t)rows * 3 * (size_t)p->f * sizeof *p->x);
}
static inline void fit_used_one(const fit_problem *p) {
  enum { window = 64 << 10 };
  if (p->file.map) sn_file_used(&p->file, 3 * (size_t)p->f * sizeof *p->x + window);
}

// Monomials of u~ in this order: xx xy xz x yy yz y zz z 1, so that u~^T G u~ is a dot product of length 10.
enum { FIT_MONOMIALS = 10 };

static inline void fit_monomials(const double u[4], double out[FIT_MONOMIALS]) {
  out[0] = u[0] * u[0], out[1] = u[0] * u[1], out[2] = u[0] * u[2], out[3] = u[0] * u[3], out[4] = u[1] * u[1];
  out[5] = u[1] * u[2], out[6] = u[1] * u[3], out[7] = u[2] * u[2], out[8] = u[2] * u[3], out[9] = u[3] * u[3];
}

// The symmetric 4x4 matrix of moments stored as monomials.
static inline void fit_unpack(const double s[FIT_MONOMIALS], double out[4][4]) {
  out[0][0] = s[0], out[0][1] = out[1][0] = s[1], out[0][2] = out[2][0] = s[2], out[0][3] = out[3][0] = s[3];
  out[1][1] = s[4], out[1][2] = out[2][1] = s[5], out[1][3] = out[3][1] = s[6], out[2][2] = s[7];
  out[2][3] = out[3][2] = s[8], out[3][3] = s[9];
}

// sn_parallel_for over independent items if it pays: `work` is a rough count of all operations.
static inline void fit_parallel(const sn_context *ctx, int count, int grain, double work, sn_range_fn body,
                                void *user) {
  if (work < 2e5) {
    body(user, 0, count, 0);
  } else {
    sn_parallel_for(ctx, count, grain, body, user);
  }
}

// ---- between the caller's units and the solver's --------------------------------------------------------------------

// x = (motion_f^-1(position) - centre) / scale
typedef struct fit_units {
  sn_vec3 centre;
  double scale;
  sn_affine *motion; // per frame: best rigid motion from the rest pose to the frame
} fit_units;

// The input of a fit: a rest mesh and the frames chosen[0 .. count), in that order.
typedef struct fit_data {
  const sn_mesh *rest;
  const sn_frames *frames;
  const int *vertex; // index in the frames of vertex i of a sorted mesh; NULL: i
  const int *chosen;
  int count;
} fit_data;
sn_status sn_fit_problem_build(sn_context *ctx, sn_arena *memory, const fit_data *data, fit_units *units,
                               fit_problem *p);
void sn_fit_problem_free(fit_problem *p); // closes the file; all else is in the arena

// Sorts the points v[0 .. count) into a spatially coherent order: splits at the median of the longest side, recursively, like a
// kd-tree. Small changes of the points change the order little.
void sn_fit_order(const double (*u)[4], int *v, int count);
// Fill the order of a problem whose u is set; `sorted`: the vertices are in that order already.
sn_status sn_fit_problem_order(sn_context *ctx, sn_arena *memory, fit_problem *p);
sn_status sn_fit_problem_sorted(sn_context *ctx, sn_arena *memory, fit_problem *p);

// Convert a skinning matrix of frame f to the solver's units and back. Rigid maps stay rigid.
sn_affine sn_fit_to_units(const fit_units *units, int f, sn_affine t);
sn_affine sn_fit_from_units(const fit_units *units, int f, sn_affine t);

#endif
