// SPDX-License-Identifier: MIT
#include "train/correct/local.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/team.h"
#include "solve/lapack.h"
#include "train/correct/groups.h"
#include "train/folds.h"

// A vertex is on a joint from this weight on (METHODS: 3.7 near joints per vertex on cheburashka).
static const double least_weight = 0.02;
// What joints count that are not near. Skins are truncated and smoothing reaches far, so the range of motion of a far joint
// must be able to show. Between 0.06 and 0.3 little changes on the cheburashka clips (with 0.06 every second frame of `pose` chooses a smaller ridge, 2 to
// 5 % worse on pose-b); 0 doubles the error from its rom. The athlete's animation would like 0.06 (8 % less on another).
static const double far_relevance = 0.1;
// And the function of all turns. On clips of few joints more is better (0.1: 5 % on `arm`), on rom less (0.01: smaller models).
static const double whole_relevance = 0.03;

// ---- sets of vertices --------------------------------------------------------------------------------------------------------

static int parent_of(const sn_misses *m, int joint) {
  for (int n = 0; n < m->joint_count; n++)
    if (m->turns[n].joint == joint) return m->turns[n].parent;
  return -1;
}

// near[k]: whether joint k of the pose space, its parent or a child of it has weight on vertex i.
static void near_joints(const sn_local *l, const int *parents, int i, bool *near) {
  const sn_skin *skin = l->m->listen;
  for (int k = 0; k < l->joint_count; k++) {
    near[k] = !skin || l->joints[k] >= l->m->joint_count; // values are near to all
    for (int n = 0; !near[k] && n < skin->influences; n++) {
      size_t at = (size_t)i * (size_t)skin->influences + (size_t)n;
      int on = skin->joints[at], joint = l->joints[k];
      if (!(skin->weights[at] > (float)least_weight)) continue;
      near[k] |= on == joint || parents[on] == joint || parents[joint] == on;
    }
  }
}

static sn_status find_sets(sn_local *l) {
  int n = l->m->vertex_count, joint_count = l->m->joint_count;
  size_t width = (size_t)l->joint_count, spaces = (size_t)l->space_count;
  bool *near = SN_NEW(l->ctx, l->memory, bool, (size_t)n *width);
  int *set = SN_NEW(l->ctx, l->memory, int, n), *first = SN_NEW(l->ctx, l->memory, int, n);
  int *parents = SN_NEW(l->ctx, l->memory, int, joint_count);
  if (!near || !set || !first || !parents) return l->ctx->error.status;
  for (int j = 0; j < joint_count; j++) parents[j] = parent_of(l->m, j);
  for (int i = 0; i < n; i++) {
    bool *row = near + (size_t)i * width;
    near_joints(l, parents, i, row);
    int s = 0;
    while (s < l->set_count && memcmp(row, near + (size_t)first[s] * width, width * sizeof *row)) s++;
    if (s == l->set_count) first[l->set_count++] = i;
    set[i] = s;
  }
  l->sets = SN_NEW(l->ctx, l->memory, sn_local_set, l->set_count);
  int *order = SN_NEW(l->ctx, l->memory, int, n), used = 0;
  double *relevance = SN_NEW(l->ctx, l->memory, double, (size_t)l->set_count *spaces);
  if (!l->sets || !order || !relevance) return l->ctx->error.status;
  for (int s = 0; s < l->set_count; s++) {
    l->sets[s] = (sn_local_set){.vertices = order + used, .relevance = relevance + (size_t)s * spaces};
    for (int i = 0; i < n; i++)
      if (set[i] == s) order[used++] = i, l->sets[s].count++;
    for (size_t k = 0; k < spaces; k++)
      l->sets[s].relevance[k] = k < width && near[(size_t)first[s] * width + k] ? 1
                                : k < width                                     ? far_relevance
                                                                                : whole_relevance;
  }
  return SN_OK;
}

// ---- functions of turns -----------------------------------------------------------------------------------------------------

static double gauss(const sn_local_space *space, const double *x, const double *y) {
  double d2 = 0;
  for (int c = 0; c < space->dims; c++) d2 += (x[c] - y[c]) * (x[c] - y[c]);
  return exp(-d2 / (2 * space->width * space->width));
}

// The kernel of those functions of a Gaussian's that are zero in the rest pose; about x . y near it.
double sn_local_kernel_of(const sn_local_space *space, const double *x, const double *y) {
  double away = gauss(space, x, space->turns) * gauss(space, y, space->turns);
  return space->width * space->width * (gauss(space, x, y) - away);
}

static sn_status gather_turns(const sn_local *l, sn_arena *memory, sn_local_space *space) {
  size_t poses = (size_t)l->m->pose_count, dims = (size_t)space->dims;
  space->turns = SN_NEW(l->ctx, memory, double, poses *dims);
  if (!space->turns) return l->ctx->error.status;
  for (size_t p = 0; p < poses; p++)
    sn_controls_vector(l->m, (int)p, space->joints, space->joint_count, space->turns + p * dims);
  return SN_OK;
}

// More functions than these change no result: those of one joint are smooth, and turns within half a turn.
enum { most_rank_of_joint = 24, most_rank = 64 };
static const double least_pivot = 1e-12;

// Pivoted incomplete Cholesky: the pose whose kernel is least explained becomes the next centre.
static sn_status find_basis(const sn_local *l, sn_arena *memory, sn_local_space *out) {
  int poses = l->m->pose_count, dims = out->dims, most = out->joint_count == 1 ? most_rank_of_joint : most_rank;
  double *left = SN_NEW(l->ctx, memory, double, poses);
  double *values = SN_NEW(l->ctx, memory, double, (size_t)most *(size_t)poses); // by function
  int pivots[most_rank];
  out->centres = SN_NEW(l->ctx, memory, double, dims *most);
  if (!left || !values || !out->centres) return l->ctx->error.status;
  double largest = 0;
  for (int p = 0; p < poses; p++) {
    left[p] = sn_local_kernel_of(out, out->turns + p * dims, out->turns + p * dims);
    largest = fmax(largest, left[p]);
  }
  for (out->rank = 0; out->rank < most; out->rank++) {
    int pivot = 0, r = out->rank;
    for (int p = 1; p < poses; p++)
      if (left[p] > left[pivot]) pivot = p;
    if (!(left[pivot] > least_pivot * largest)) break;
    double scale = 1 / sqrt(left[pivot]);
    for (int p = 0; p < poses; p++) {
      double v = sn_local_kernel_of(out, out->turns + p * dims, out->turns + pivot * dims);
      for (int c = 0; c < r; c++) v -= values[c * poses + p] * values[c * poses + pivot];
      values[r * poses + p] = v * scale;
    }
    for (int p = 0; p < poses; p++) left[p] = fmax(left[p] - values[r * poses + p] * values[r * poses + p], 0);
    left[pivot] = 0, pivots[r] = pivot;
    memcpy(out->centres + dims * r, out->turns + pivot * dims, (size_t)dims * sizeof *out->centres);
  }
  size_t rank = (size_t)out->rank;
  out->values = SN_NEW(l->ctx, memory, double, (size_t)poses *rank);
  out->corner = SN_NEW(l->ctx, memory, double, rank *rank);
  if (!out->values || !out->corner) return l->ctx->error.status;
  for (size_t r = 0; r < rank; r++)
    for (int p = 0; p < poses; p++) out->values[(size_t)p * rank + r] = values[(int)r * poses + p];
  for (size_t r = 0; r < rank; r++)
    for (size_t c = 0; c <= r; c++) out->corner[r * rank + c] = out->values[(size_t)pivots[r] * rank + c];
  return SN_OK;
}

sn_status sn_local_spaces(const sn_local *l, sn_arena *memory, sn_local_form form, sn_local_space **out) {
  *out = SN_NEW(l->ctx, memory, sn_local_space, l->space_count);
  sn_status status = *out ? SN_OK : l->ctx->error.status;
  for (int k = 0; status == SN_OK && k < l->space_count; k++) {
    bool all = k == l->joint_count;
    sn_local_space *space = *out + k;
    *space = (sn_local_space){.joint_count = all ? l->joint_count : 1, .width = form.width};
    space->joints = all ? l->joints : l->joints + k,
    space->dims = sn_controls_dims(l->m, space->joints, space->joint_count);
    status = gather_turns(l, memory, space);
    if (status == SN_OK && (!all || form.whole)) status = find_basis(l, memory, space);
  }
  return status;
}

double sn_local_kernel(const sn_local *l, const sn_local_space *spaces, const sn_local_set *set, double *kernel) {
  int poses = l->m->pose_count;
  double trace = 0;
  memset(kernel, 0, (size_t)poses * (size_t)poses * sizeof *kernel);
  for (int k = 0; k < l->space_count; k++) {
    const sn_local_space *space = spaces + k;
    if (space->rank == 0) continue;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, poses, poses, space->rank, set->relevance[k], space->values,
                space->rank, space->values, space->rank, 1, kernel, poses);
  }
  for (int p = 0; p < poses; p++) trace += kernel[(size_t)p * (size_t)poses + (size_t)p];
  return trace;
}

// ---- the fit ------------------------------------------------------------------------------------------------------------------

typedef struct fit {
  const sn_local *l;
  const sn_local_space *spaces;
  double ridge;
  double *dual[2]; // pose_count * 3 vertex_count: of positions, of normals
} fit;

static sn_status solve_by_poses(sn_context *ctx, sn_arena *memory, const fit *f, const sn_local_set *set,
                                size_t columns, double *b) {
  size_t poses = (size_t)f->l->m->pose_count;
  double *kernel = SN_NEW(ctx, memory, double, poses *poses);
  if (!kernel) return ctx->error.status;
  double trace = sn_local_kernel(f->l, f->spaces, set, kernel);
  if (!(trace > 0)) { // nothing turns
    memset(b, 0, poses * columns * sizeof *b);
    return SN_OK;
  }
  for (size_t p = 0; p < poses; p++) kernel[p * poses + p] += f->ridge * trace;
  return sn_lapack_posv(ctx, 'U', (int)poses, (int)columns, kernel, b);
}

// Where there are more poses than functions in a long clip, by the functions' weights w: with K = V V^T, (V^T V + ridge) w = V^T b and
// dual = (b - V w) / ridge.
static sn_status solve_by_functions(sn_context *ctx, sn_arena *memory, const fit *f, const sn_local_set *set,
                                    int functions, size_t columns, double *b) {
  size_t poses = (size_t)f->l->m->pose_count, rank = (size_t)functions;
  double *v = SN_NEW(ctx, memory, double, poses *rank), *normal = SN_NEW(ctx, memory, double, rank *rank);
  double *w = SN_NEW(ctx, memory, double, rank *columns), trace = 0;
  if (!v || !normal || !w) return ctx->error.status;
  for (int k = 0, first = 0; k < f->l->space_count; first += f->spaces[k++].rank) {
    const sn_local_space *space = f->spaces + k;
    double root = sqrt(set->relevance[k]);
    for (size_t p = 0; p < poses; p++)
      for (int r = 0; r < space->rank; r++)
        v[p * rank + (size_t)(first + r)] = root * space->values[p * (size_t)space->rank + (size_t)r];
  }
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, functions, functions, (int)poses, 1, v, functions, v,
              functions, 0, normal, functions);
  for (size_t r = 0; r < rank; r++) trace += normal[r * rank + r];
  if (!(trace > 0)) {
    memset(b, 0, poses * columns * sizeof *b);
    return SN_OK;
  }
  double ridge = f->ridge * trace;
  for (size_t r = 0; r < rank; r++) normal[r * rank + r] += ridge;
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, functions, (int)columns, (int)poses, 1, v, functions, b,
              (int)columns, 0, w, (int)columns);
  sn_status status = sn_lapack_posv(ctx, 'U', functions, (int)columns, normal, w);
  if (status == SN_OK)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)poses, (int)columns, functions, -1 / ridge, v,
                functions, w, (int)columns, 1 / ridge, b, (int)columns);
  return status;
}

// (K + ridge) dual = what the vertices of a set miss.
static sn_status fit_set(sn_context *ctx, sn_arena *memory, void *user, int index) {
  const fit *f = user;
  const sn_misses *m = f->l->m;
  const sn_local_set *set = f->l->sets + index;
  size_t poses = (size_t)m->pose_count, n = (size_t)m->vertex_count, columns = 6 * (size_t)set->count;
  double *b = SN_NEW(ctx, memory, double, poses *columns);
  int functions = 0;
  if (!b) return ctx->error.status;
  for (size_t p = 0; p < poses; p++)
    for (size_t k = 0; k < columns; k++) b[p * columns + k] = m->deltas[p * n + (size_t)set->vertices[k / 6]][k % 6];
  for (int k = 0; k < f->l->space_count; k++) functions += f->spaces[k].rank;
  bool by_functions = poses > SN_LOCAL_LONG && (size_t)functions < poses;
  sn_status status = by_functions ? solve_by_functions(ctx, memory, f, set, functions, columns, b)
                                  : solve_by_poses(ctx, memory, f, set, columns, b);
  if (status == SN_NOT_CONVERGED)
    return sn_fail(ctx, status, "ridge=%g is too small for the poses of the clip: take a larger one", f->ridge);
  for (size_t p = 0; status == SN_OK && p < poses; p++)
    for (size_t k = 0; k < columns; k++)
      f->dual[k % 6 / 3][p * 3 * n + 3 * (size_t)set->vertices[k / 6] + k % 3] = b[p * columns + k];
  return status;
}

// ---- fields ---------------------------------------------------------------------------------------------------------------

typedef struct fields {
  fit *f;
  double lost;                                    // squared, per joint
  double *weights[2];                             // rank * 3 vertex_count: of one joint's basis functions
  double *gram, *metric, *core, *values, *column; // of the size of a rank
  double *curves;                                 // of every basis: its values at the poses
  sn_arena *parts;     // of every space: the memory of its displacements, until all are known
  float (**deltas)[6]; // of every space: basis_count * vertex_count
  int *kept;           // of every space: how many bases
  sn_corrections *out;
} fields;

// weights = relevance * values^T dual, of positions (0) or normals (1).
static void space_weights(const fields *w, int k, int which) {
  const sn_local *l = w->f->l;
  const sn_local_space *j = w->f->spaces + k;
  int poses = l->m->pose_count, columns = 3 * l->m->vertex_count;
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, j->rank, columns, poses, 1, j->values, j->rank,
              w->f->dual[which], columns, 0, w->weights[which], columns);
  for (int s = 0; s < l->set_count; s++)
    for (int n = 0; n < l->sets[s].count; n++)
      for (int r = 0; r < j->rank; r++)
        for (int c = 0; c < 3; c++)
          w->weights[which][(size_t)r * (size_t)columns + (size_t)(3 * l->sets[s].vertices[n] + c)] *=
            l->sets[s].relevance[k];
}

// Lower Cholesky factor of a (rank * rank), in place; what lies above is not touched.
static bool factorise(int rank, double *a) {
  for (int r = 0; r < rank; r++)
    for (int c = 0; c <= r; c++) {
      double sum = a[r * rank + c];
      for (int k = 0; k < c; k++) sum -= a[r * rank + k] * a[c * rank + k];
      if (r == c && !(sum > 0)) return false;
      a[r * rank + c] = r == c ? sqrt(sum) : sum / a[c * rank + c];
    }
  return true;
}

// x <- t^-T x for a lower triangle t.
static void solve_transposed(int rank, const double *t, double *x) {
  for (int r = rank - 1; r >= 0; r--) {
    for (int k = r + 1; k < rank; k++) x[r] -= t[k * rank + r] * x[k];
    x[r] /= t[r * rank + r];
  }
}

// Principal components of the joint's displacements over the poses: with metric = values^T values = T T^T and
// core = T^T (weights weights^T) T, eigenvector v of core with eigenvalue s^2 gives the field (T v)^T weights / s and the
// function s T^-T v.
static sn_status decompose(const fields *w, const sn_local_space *j) {
  int rank = j->rank, poses = w->f->l->m->pose_count, columns = 3 * w->f->l->m->vertex_count;
  double largest = 0;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rank, rank, columns, 1, w->weights[0], columns, w->weights[0],
              columns, 0, w->gram, rank);
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, rank, rank, poses, 1, j->values, rank, j->values, rank, 0,
              w->metric, rank);
  for (int r = 0; r < rank; r++) largest = fmax(largest, w->metric[r * rank + r]);
  for (int r = 0; r < rank; r++) w->metric[r * rank + r] += 1e-12 * largest;
  if (!factorise(rank, w->metric))
    return sn_fail(w->f->l->ctx, SN_NOT_CONVERGED, "the poses' functions are singular");
  for (int a = 0; a < rank; a++)
    for (int b = 0; b < rank; b++) {
      double sum = 0;
      for (int r = a; r < rank; r++)
        for (int c = b; c < rank; c++)
          sum += w->metric[r * rank + a] * w->gram[r * rank + c] * w->metric[c * rank + b];
      w->core[a * rank + b] = sum;
    }
  sn_status status = sn_lapack_syev(w->f->l->ctx, 'U', rank, w->core, w->values);
  if (status != SN_NOT_CONVERGED) return status;
  return sn_fail(w->f->l->ctx, status, "the principal components of a joint's corrections were not found");
}

typedef struct mixing {
  const fields *w;
  const double *y;
  int rank;
  double peak;
  float (*to)[6];
} mixing;

enum { mixed_together = 128 }; // vertices whose sums stay in the cache

// y^T weights, row by row.
static void mix_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const mixing *job = user;
  size_t n = (size_t)job->w->f->l->m->vertex_count;
  for (int64_t first = begin; first < end; first += mixed_together) {
    int count = (int)(end - first < mixed_together ? end - first : mixed_together);
    double sums[2][3 * mixed_together] = {{0}};
    for (int r = 0; r < job->rank; r++)
      for (int which = 0; which < 2; which++) {
        const double *row = job->w->weights[which] + (size_t)r * 3 * n + 3 * (size_t)first;
        for (int k = 0; k < 3 * count; k++) sums[which][k] += job->y[r] * row[k];
      }
    for (int k = 0; k < 6 * count; k++)
      job->to[first + k / 6][k % 6] = (float)(sums[k % 6 / 3][k / 6 * 3 + k % 3] * job->peak);
  }
}

// A basis: field and function of eigenvector `index`, scaled so that the function is at most 1 at the poses.
static sn_status add_basis(fields *w, const sn_local_space *j, int index, float (*deltas)[6], sn_pose_field *field) {
  int rank = j->rank, poses = w->f->l->m->pose_count;
  size_t n = (size_t)w->f->l->m->vertex_count;
  double s = sqrt(w->values[index]), peak = 0, *x = w->column, *y = w->column + rank;
  for (int r = 0; r < rank; r++) {
    x[r] = s * w->core[r * rank + index], y[r] = 0;
    for (int c = 0; c <= r; c++) y[r] += w->metric[r * rank + c] * w->core[c * rank + index] / s;
  }
  solve_transposed(rank, w->metric, x);
  double *curve = w->curves + (size_t)(w->out->basis_count + field->basis_count) * (size_t)poses;
  for (int p = 0; p < poses; p++) {
    double value = 0;
    for (int r = 0; r < rank; r++) value += j->values[p * rank + r] * x[r];
    curve[p] = value, peak = fmax(peak, fabs(value));
  }
  for (int p = 0; p < poses; p++) curve[p] /= peak;
  mixing mix_of = {w, y, rank, peak, deltas + (size_t)field->basis_count * n};
  sn_team_for(w->f->l->ctx, (int64_t)n, 4 * mixed_together, mix_range, &mix_of);
  sn_status status = sn_team_gather(w->f->l->ctx, (int64_t)n, 4 * mixed_together, mix_of.to, sizeof *mix_of.to);
  // From the basis to kernels of the centres, and of the rest pose, which comes last.
  solve_transposed(rank, j->corner, x);
  double *mix = field->mix + (size_t)field->basis_count++ * (size_t)field->terms;
  for (int r = 0; r < rank; r++) {
    mix[r] = j->width * j->width * x[r] / peak;
    mix[rank] -= mix[r] * gauss(j, j->centres + j->dims * r, j->turns);
  }
  return status;
}

// Components that are worth keeping, largest first.
static int count_kept(const fields *w, int rank, int most) {
  double left = 0;
  int count = 0;
  for (int r = 0; r < rank; r++) left += fmax(w->values[r], 0);
  for (int r = rank - 1; r >= rank - most && left > w->lost && w->values[r] > 1e-14 * w->values[rank - 1]; r--)
    left -= w->values[r], count++;
  return count;
}

static sn_status add_space(fields *w, int k) {
  const sn_local *l = w->f->l;
  const sn_local_space *j = w->f->spaces + k;
  int rank = j->rank,
      most = l->options->components > 0 && l->options->components < rank ? l->options->components : rank;
  if (rank == 0) return SN_OK;
  sn_pose_field *field = w->out->fields + w->out->field_count;
  *field = (sn_pose_field){.joint_count = j->joint_count,
                           .metric = {.kind = SN_DISTANCE_EUCLID, .dims = j->dims, .axes = j->dims},
                           .kernel = SN_RBF_GAUSS,
                           .mixed = true,
                           .centre_count = rank + 1,
                           .terms = rank + 1};
  field->joints = SN_NEW(l->ctx, l->memory, int, j->joint_count);
  double *centres = SN_NEW(l->ctx, l->memory, double, j->dims *(rank + 1));
  double *widths = SN_NEW(l->ctx, l->memory, double, rank + 1);
  field->mix = SN_NEW(l->ctx, l->memory, double, rank *(rank + 1));
  if (!field->joints || !centres || !widths || !field->mix) return l->ctx->error.status;
  memcpy(field->joints, j->joints, (size_t)j->joint_count * sizeof *field->joints);
  field->centres = centres, field->widths = widths;
  memcpy(centres, j->centres, (size_t)(j->dims * rank) * sizeof *centres);
  memcpy(centres + j->dims * rank, j->turns, (size_t)j->dims * sizeof *centres);
  for (int r = 0; r <= rank; r++) widths[r] = j->width;
  space_weights(w, k, 0), space_weights(w, k, 1);
  sn_status status = decompose(w, j);
  if (status != SN_OK) return status;
  size_t n = (size_t)l->m->vertex_count;
  w->kept[k] = count_kept(w, rank, most);
  w->deltas[k] = sn_arena_alloc(l->ctx, &w->parts[k], (size_t)w->kept[k] * n, sizeof **w->deltas);
  if (!w->deltas[k]) return l->ctx->error.status;
  for (int r = 0; status == SN_OK && r < w->kept[k]; r++) status = add_basis(w, j, rank - 1 - r, w->deltas[k], field);
  w->out->basis_count += field->basis_count;
  w->out->field_count += field->basis_count > 0;
  return status;
}

// ---- all spaces ------------------------------------------------------------------------------------------------------------

// The spaces' displacements one behind the other; each is given back once it is there.
static sn_status join_parts(fields *w) {
  const sn_local *l = w->f->l;
  size_t n = (size_t)l->m->vertex_count, used = 0;
  w->out->deltas = sn_arena_alloc(l->ctx, l->memory, (size_t)w->out->basis_count * n, sizeof *w->out->deltas);
  if (!w->out->deltas) return l->ctx->error.status;
  for (int k = 0; k < l->space_count; k++) {
    size_t count = (size_t)w->kept[k] * n;
    if (count > 0) memcpy(w->out->deltas + used, w->deltas[k], count * sizeof *w->out->deltas);
    used += count;
    sn_arena_free(&w->parts[k]);
  }
  return SN_OK;
}

static sn_status add_spaces(fields *w) {
  const sn_local *l = w->f->l;
  w->parts = SN_NEW(l->ctx, l->memory, sn_arena, l->space_count);
  w->deltas = sn_arena_alloc(l->ctx, l->memory, (size_t)l->space_count, sizeof *w->deltas);
  w->kept = SN_NEW(l->ctx, l->memory, int, l->space_count);
  if (!w->parts || !w->deltas || !w->kept) return l->ctx->error.status;
  sn_status status = SN_OK;
  for (int k = 0; status == SN_OK && k < l->space_count; k++) status = add_space(w, k);
  if (status == SN_OK) status = join_parts(w);
  for (int k = 0; k < l->space_count; k++) sn_arena_free(&w->parts[k]);
  return status;
}

static sn_status make_fields(fit *f, sn_corrections *out) {
  const sn_local *l = f->l;
  int n = l->m->vertex_count, capacity = 0, largest = 0;
  for (int k = 0; k < l->space_count; k++) {
    capacity += f->spaces[k].rank;
    if (f->spaces[k].rank > largest) largest = f->spaces[k].rank;
  }
  double least = sn_correct_least(l->options, l->m);
  fields w = {.f = f, .lost = least * least * n * l->m->pose_count / l->space_count, .out = out};
  out->fields = SN_NEW(l->ctx, l->memory, sn_pose_field, l->space_count);
  w.curves = SN_NEW(l->ctx, l->memory, double, (size_t)capacity *(size_t)l->m->pose_count);
  w.weights[0] = SN_NEW(l->ctx, l->memory, double, 3 * (size_t)largest * (size_t)n);
  w.weights[1] = SN_NEW(l->ctx, l->memory, double, 3 * (size_t)largest * (size_t)n);
  double *small = SN_NEW(l->ctx, l->memory, double, 3 * most_rank * most_rank + 3 * most_rank);
  if (!out->fields || !w.curves || !w.weights[0] || !w.weights[1] || !small) return l->ctx->error.status;
  w.gram = small, w.metric = small + most_rank * most_rank, w.core = small + 2 * most_rank * most_rank;
  w.values = small + 3 * most_rank * most_rank, w.column = w.values + most_rank;
  sn_status status = add_spaces(&w);
  out->curves = w.curves;
  return status;
}

// ---- ridge=0 -------------------------------------------------------------------------------------------------------------------

// Nothing is known of joints far away, by few poses or because they are not to count.
void sn_local_forget_far(const sn_local *l) {
  for (int s = 0; s < l->set_count; s++)
    for (int k = 0; k < l->joint_count; k++)
      if (l->sets[s].relevance[k] < 1) l->sets[s].relevance[k] = 0;
}

// A radian's thousandth is the least turn that counts (choose_joints), and as much of the largest distance is one pose (merge_poses): floats
// tell turns apart a thousand times better, so that poses which differ are met.
static const double same_pose = 1e-3;

// What the sum leaves, for every set of vertices over the poses as its near joints have them.
static sn_status meet_poses(const sn_local *l, sn_corrections *out) {
  const sn_misses *m = l->m;
  size_t n = (size_t)m->vertex_count;
  float(*left)[6] = sn_arena_alloc(l->ctx, l->memory, (size_t)m->pose_count * n, sizeof *left);
  sn_pose_group *groups = SN_NEW(l->ctx, l->memory, sn_pose_group, l->set_count);
  int *joints = SN_NEW(l->ctx, l->memory, int, (size_t)l->set_count *(size_t)l->joint_count);
  if (!left || !groups || !joints) return l->ctx->error.status;
  for (int p = 0; p < m->pose_count; p++)
    for (size_t i = 0; i < n; i++) {
      float given[6];
      sn_corrections_at(out, m->pose_count, p, (int)i, given);
      for (int c = 0; c < 6; c++) left[(size_t)p * n + i][c] = m->deltas[(size_t)p * n + i][c] - given[c];
    }
  for (int s = 0; s < l->set_count; s++) {
    groups[s] = (sn_pose_group){.count = l->sets[s].count, .vertices = l->sets[s].vertices};
    groups[s].joints = joints + (size_t)s * (size_t)l->joint_count;
    for (int k = 0; k < l->joint_count; k++)
      if (l->sets[s].relevance[k] > 0) groups[s].joints[groups[s].joint_count++] = l->joints[k];
  }
  sn_correct_options options = *l->options;
  options.sigma = SN_SIGMA_AUTO; // that of the sum
  sn_pose_groups all = {l->set_count, groups, (const float(*)[6])left, same_pose};
  sn_status status = sn_group_fields(l->ctx, l->memory, &options, m, &all, out);
  return status == SN_OK ? sn_corrections_prune(l->ctx, l->options, m, out) : status;
}

sn_status sn_local_fields(sn_context *ctx, sn_arena *memory, const sn_correct_options *options, const sn_misses *m,
                          const int *joints, int joint_count, sn_corrections *out, double *expected) {
  *out = (sn_corrections){.vertex_count = m->vertex_count, .pruned = true};
  sn_local l = {.ctx = ctx,
                .memory = memory,
                .options = options,
                .m = m,
                .joints = joints,
                .joint_count = joint_count,
                .space_count = joint_count > 1 ? joint_count + 1 : 1};
  fit f = {.l = &l};
  sn_local_form form;
  sn_status status = find_sets(&l);
  bool exact = options->ridge == 0;
  if (status == SN_OK && exact) sn_local_forget_far(&l);
  if (status == SN_OK) status = sn_local_choose(&l, &form, &f.ridge, expected);
  sn_local_space *basis = NULL;
  if (status == SN_OK) status = sn_local_spaces(&l, memory, form, &basis);
  if (status != SN_OK) return status;
  f.spaces = basis;
  size_t all = (size_t)m->pose_count * 3 * (size_t)m->vertex_count;
  f.dual[0] = SN_NEW(ctx, memory, double, all), f.dual[1] = SN_NEW(ctx, memory, double, all);
  if (!f.dual[0] || !f.dual[1]) return ctx->error.status;
  sn_folds each = {.fold_count = l.set_count};
  if (isfinite(f.ridge)) status = sn_folds_run(ctx, &each, fit_set, &f);
  if (status == SN_OK) status = make_fields(&f, out);
  if (status == SN_OK && !exact) status = sn_corrections_weigh(ctx, memory, m, out);
  if (status == SN_OK && exact) status = sn_corrections_prune(ctx, options, m, out);
  if (status == SN_OK && exact) status = meet_poses(&l, out);
  return status;
}
