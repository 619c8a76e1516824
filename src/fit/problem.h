// SPDX-License-Identifier: MIT
// The data of a least-squares fit of bones and weights: rest positions and frames in units of the mesh's size.
//
//   x_i^f  ~  sum_j w_ij T_j^f u~_i ,      u~ = (u, 1)
//
// Index letters: i vertex, j and k bones, f frame, c component of u~ (0..3), r coordinate (0..2).
#ifndef SINEW_FIT_PROBLEM_H
#define SINEW_FIT_PROBLEM_H

#include "sinew/scene.h"

// Rest positions and frames, centred, scaled and with the rigid motion of the whole mesh taken out of every frame, so
// that single precision serves for the bulk of the arithmetic. A problem may hold a sample of vertices and frames.
typedef struct fit_problem {
  int n, f;        // vertices, frames
  float *x;        // rows of 3 f, of the vertices first .. last in `order`: see fit_point
  int *place;      // n: where in `order` every vertex is; NULL: row i is that of vertex i, and all are there
  int first, last; // the rows of this process (see base/team.h): all of them without a team
  struct fit_source *source; // of the others
  sn_file file;              // of x where that is large
  double (*u)[4];            // n: (u, 1)
  int *order;                // n: the vertices, neighbours in it near each other (sn_fit_order)
  double *moment;            // 4 rows of 3 f: sum_i u~_ic x_i; what the choice of the root needs
  double rest_cov[10];       // sum_i of the monomials of u~_i
} fit_problem;

// Vertex i of frame f as the solver has it, from the frames.
void sn_fit_convert(const fit_problem *p, int i, int f, float out[3]);

// x_i in frame f; `out` is where it goes if it is of another process.
static inline const float *fit_point(const fit_problem *p, int i, int f, float out[3]) {
  int row = p->place ? p->place[i] - p->first : i;
  if (!p->place || (row >= 0 && row < p->last - p->first)) return p->x + ((size_t)row * (size_t)p->f + (size_t)f) * 3;
  sn_fit_convert(p, i, f, out);
  return out;
}

// The row of a vertex of this process: element 3 * frame + r.
static inline const float *fit_row(const fit_problem *p, int i) { return fit_point(p, i, 0, NULL); }

// Sums over all vertices are kept in so many parts, whatever the number of threads and processes: eight, more where a part would
// have more than FIT_GROUP_SIZE vertices. The vertices of part g are order[from .. to), whole chunks of them.
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
// Calls body for the groups of this process. Where other processes have groups, `share` then gets every one of them in turn.
typedef sn_status (*fit_share_fn)(sn_context *ctx, void *user, int group, int owner);
sn_status sn_fit_groups(sn_context *ctx, const fit_problem *p, sn_range_fn body, fit_share_fn share, void *user);

// To be called after rows were read: `rows` one after the other, or one of them anywhere, for which the system maps a
// window around it.
static inline void fit_used(const fit_problem *p, int rows) {
  if (p->file.map) sn_file_used(&p->file, (size_t)rows * 3 * (size_t)p->f * sizeof *p->x);
}
static inline void fit_used_one(const fit_problem *p) {
  enum { window = 64 << 10 };
  if (p->file.map) sn_file_used(&p->file, 3 * (size_t)p->f * sizeof *p->x + window);
}

// Monomials of u~ in this order: xx xy xz x yy yz y zz z 1, so that v~^T G v~ is a dot product of length 10.
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

// sn_parallel_for over independent items where there is enough to do: `work` is a rough count of operations in all.
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
  sn_affine *motion; // per frame: the rigid motion that takes the rest pose there best
} fit_units;

// What is fitted: a rest mesh and frames chosen[0 .. count), in that order.
typedef struct fit_data {
  const sn_mesh *rest;
  const sn_frames *frames;
  const int *vertex; // the frames' vertex behind vertex i of a sorted mesh; NULL: the same
  const int *chosen;
  int count;
} fit_data;
sn_status sn_fit_problem_build(sn_context *ctx, sn_arena *memory, const fit_data *data, fit_units *units,
                               fit_problem *p);
void sn_fit_problem_free(fit_problem *p); // the file; the rest is in the arena

// Sorts the points v[0 .. count) so that neighbours in the order are near each other: the halves on either side of the median along
// the longest side, each sorted the same way. Where two points change places, few others do.
void sn_fit_order(const double (*u)[4], int *v, int count);
// Fills the order of a problem whose u are set; of one whose vertices are in that order already.
sn_status sn_fit_problem_order(sn_context *ctx, sn_arena *memory, fit_problem *p);
sn_status sn_fit_problem_sorted(sn_context *ctx, sn_arena *memory, fit_problem *p);

// Fills the moments of a problem whose x and u are set.
sn_status sn_fit_problem_moments(sn_context *ctx, sn_arena *memory, fit_problem *p);

// A skinning matrix of frame f into the solver's units and back. Rigid maps stay rigid.
sn_affine sn_fit_to_units(const fit_units *units, int f, sn_affine t);
sn_affine sn_fit_from_units(const fit_units *units, int f, sn_affine t);

#endif
