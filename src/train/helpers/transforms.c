// SPDX-License-Identifier: MIT
// Transforms of a face's bones for given weights: least squares over all bones at once, the same matrix A for every shape. Numbers
// are removed one by one, each time that whose removal raises the squared error least (x_k^2 / (A^-1)_kk, the others adapted).
#include "train/helpers/faces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solve/lapack.h"

static const double ridge = 1e-6; // relative to the diagonal, and to its mean over the bones

typedef struct removal {
  double cost;
  int shape, position, unknown;
} removal;

typedef struct transforms {
  sn_face_solve *s;
  int m;             // unknowns of a shape: the channels of all bones that move
  double *a, *right; // m * m; m * shape_count
  double *inverse, *space;
  removal *removals; // shape_count * m: in the order of removal
} transforms;

// ---- the normal equations -----------------------------------------------------------------------------------------------------

// Of a point: what the channels move it by.
static void jacobian(const float p[3], const float centre[3], double out[3][SN_FACE_CHANNELS]) {
  double x = (double)p[0] - (double)centre[0], y = (double)p[1] - (double)centre[1],
         z = (double)p[2] - (double)centre[2];
  const double full[3][SN_FACE_CHANNELS] = {
    {1, 0, 0, 0, z, -y, x, 0, 0}, {0, 1, 0, -z, 0, x, 0, y, 0}, {0, 0, 1, y, -x, 0, 0, 0, z}};
  memcpy(out, full, sizeof full);
}

static void add_vertex(const transforms *t, int h, int n, double weight) {
  const sn_face_solve *s = t->s;
  const float *p = s->examples->rest.positions[s->sample[n]];
  const float *target = s->targets + (size_t)n * sn_face_dims(s);
  size_t at = (size_t)n * (size_t)s->skin.influences, m = (size_t)t->m;
  double own[3][SN_FACE_CHANNELS], other[3][SN_FACE_CHANNELS];
  jacobian(p, s->centres[h], own);
  for (int q = 0; q < s->skin.influences; q++) {
    int g = s->skin.joints[at + (size_t)q];
    double w = weight * (double)s->skin.weights[at + (size_t)q];
    if (g == 0 || g > h || !(w > 0)) continue;
    jacobian(p, s->centres[g], other);
    for (int c = 0; c < SN_FACE_CHANNELS; c++) {
      double *row = t->a + ((size_t)(h - 1) * SN_FACE_CHANNELS + (size_t)c) * m + (size_t)(g - 1) * SN_FACE_CHANNELS;
      for (int d = 0; d < SN_FACE_CHANNELS; d++)
        row[d] += w * (own[0][c] * other[0][d] + own[1][c] * other[1][d] + own[2][c] * other[2][d]);
    }
  }
  for (int c = 0; c < SN_FACE_CHANNELS; c++) {
    double *row = t->right + ((size_t)(h - 1) * SN_FACE_CHANNELS + (size_t)c) * (size_t)s->shape_count;
    double x = weight * own[0][c], y = weight * own[1][c], z = weight * own[2][c];
    for (int f = 0; f < s->shape_count; f++)
      row[f] += x * (double)target[3 * f] + y * (double)target[3 * f + 1] + z * (double)target[3 * f + 2];
  }
}

// Rows of the bones from 1 + begin on.
static void add_bones(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const transforms *t = user;
  const sn_skin *skin = &t->s->skin;
  size_t width = (size_t)skin->influences, all = (size_t)skin->vertex_count * width;
  for (int h = 1 + (int)begin; h < 1 + (int)end; h++)
    for (size_t at = 0; at < all; at++)
      if (skin->joints[at] == h && skin->weights[at] > 0)
        add_vertex(t, h, (int)(at / width), (double)skin->weights[at]);
}

static void regularise(const transforms *t) {
  size_t m = (size_t)t->m;
  double mean[SN_FACE_CHANNELS] = {0};
  for (size_t k = 0; k < m; k++) mean[k % SN_FACE_CHANNELS] += t->a[k * m + k] * SN_FACE_CHANNELS / (double)m;
  for (size_t k = 0; k < m; k++) {
    double size = t->a[k * m + k] + mean[k % SN_FACE_CHANNELS];
    t->a[k * m + k] += size > 0 ? ridge * size : 1;
    for (size_t l = 0; l < k; l++) t->a[l * m + k] = t->a[k * m + l];
  }
}

// ---- which numbers ------------------------------------------------------------------------------------------------------------

// Takes unknown `at` out of z = A^-1 and x: the last of the live ones gets its place. `from`: space for a row.
static void take_out(double *z, size_t m, int at, int last, double *x, double *from) {
  memcpy(from, z + (size_t)at * m, (size_t)(last + 1) * sizeof *z);
  memmove(z + (size_t)at * m, z + (size_t)last * m, (size_t)(last + 1) * sizeof *z);
  double pivot = from[at], value = x[at];
  from[at] = from[last], x[at] = x[last];
  for (int k = 0; k < last; k++) {
    double factor = from[k] / pivot, *row = z + (size_t)k * m;
    row[at] = row[last];
    x[k] -= factor * value;
    for (int l = 0; l < last; l++) row[l] -= factor * from[l];
  }
}

static void remove_all(const transforms *t, int shape, double *z) {
  size_t m = (size_t)t->m;
  double *x = z + m * m, least = 0;
  removal *out = t->removals + (size_t)shape * m;
  memcpy(z, t->inverse, m * m * sizeof *z);
  for (size_t k = 0; k < m; k++) {
    x[k] = 0, out[k].unknown = (int)k;
    for (size_t l = 0; l < m; l++) x[k] += z[k * m + l] * t->right[l * (size_t)t->s->shape_count + (size_t)shape];
  }
  for (int last = t->m - 1; last >= 0; last--) { // out[0..last] are the live ones, behind them the removed
    int best = 0;
    double cost = INFINITY;
    for (int k = 0; k <= last; k++) {
      double own = x[k] * x[k] / z[(size_t)k * m + (size_t)k];
      if (own < cost) cost = own, best = k;
    }
    int unknown = out[best].unknown;
    out[best].unknown = out[last].unknown;
    take_out(z, m, best, last, x, x + m);
    least = fmax(least, cost);
    out[last] = (removal){least, shape, last, unknown};
  }
}

static void remove_range(void *user, int64_t begin, int64_t end, int worker) {
  const transforms *t = user;
  size_t m = (size_t)t->m;
  for (int64_t f = begin; f < end; f++) remove_all(t, (int)f, t->space + (size_t)worker * (m * m + 2 * m));
}

static int by_cost(const void *a, const void *b) {
  const removal *x = a, *y = b;
  if (x->cost != y->cost) return x->cost > y->cost ? -1 : 1;
  return x->shape != y->shape ? x->shape - y->shape : x->position - y->position;
}

static sn_status choose_numbers(transforms *t, sn_arena *scratch) {
  sn_face_solve *s = t->s;
  size_t m = (size_t)t->m, all = (size_t)s->shape_count * m;
  double rcond;
  t->inverse = SN_NEW(s->ctx, scratch, double, m *m);
  t->removals = SN_NEW(s->ctx, scratch, removal, all);
  s->kept = SN_NEW(s->ctx, s->memory, bool, all);
  if (!t->inverse || !t->removals || !s->kept) return s->ctx->error.status;
  memcpy(t->inverse, t->a, m * m * sizeof *t->a);
  SN_TRY(sn_lapack_invert(s->ctx, true, t->m, t->inverse, &rcond));
  sn_parallel_for(s->ctx, s->shape_count, 1, remove_range, t);
  qsort(t->removals, all, sizeof *t->removals, by_cost);
  for (size_t n = 0; n < all && n < (size_t)s->options->numbers; n++)
    s->kept[(size_t)t->removals[n].shape * m + (size_t)t->removals[n].unknown] = true;
  return SN_OK;
}

// ---- the solve ----------------------------------------------------------------------------------------------------------------

// One shape, of the numbers that are kept: A x = right + more.
static void solve_shape(const transforms *t, int shape, const double *more, double *space) {
  const sn_face_solve *s = t->s;
  size_t m = (size_t)t->m;
  double *b = space + m * m;
  int count = 0, *index = (int *)(void *)(b + m);
  for (int k = 0; k < t->m; k++)
    if (s->kept[(size_t)shape * m + (size_t)k]) index[count++] = k;
  for (int r = 0; r < count; r++) {
    b[r] = t->right[(size_t)index[r] * (size_t)s->shape_count + (size_t)shape] + (more ? more[index[r]] : 0);
    for (int c = 0; c <= r; c++) space[r * count + c] = t->a[(size_t)index[r] * m + (size_t)index[c]];
  }
  sn_spd_solve(count, count, space, 1, b);
  for (int h = 1; h < s->bone_count; h++) memset(sn_face_x(s, h, shape), 0, SN_FACE_CHANNELS * sizeof(double));
  for (int r = 0; r < count; r++)
    sn_face_x(s, 1 + index[r] / SN_FACE_CHANNELS, shape)[index[r] % SN_FACE_CHANNELS] = b[r];
}

static void solve_range(void *user, int64_t begin, int64_t end, int worker) {
  const transforms *t = user;
  size_t m = (size_t)t->m;
  for (int64_t f = begin; f < end; f++) solve_shape(t, (int)f, NULL, t->space + (size_t)worker * (m * m + 2 * m));
}

// gradient += factor (right - A x) of a shape.
static void add_gradient(const transforms *t, int shape, double factor, double *gradient) {
  const sn_face_solve *s = t->s;
  for (int k = 0; k < t->m; k++) gradient[k] += factor * t->right[(size_t)k * (size_t)s->shape_count + (size_t)shape];
  for (int l = 0; l < t->m; l++) {
    double x = factor * sn_face_x(s, 1 + l / SN_FACE_CHANNELS, shape)[l % SN_FACE_CHANNELS];
    for (int k = 0; x != 0 && k < t->m; k++) gradient[k] -= x * t->a[(size_t)l * (size_t)t->m + (size_t)k];
  }
}

// One shape after the other for |r_s|^2 + |sum_u c_u r_u|^2, the other shapes as they are.
static void solve_mixture(const transforms *t, double *gradient, double *more) {
  const sn_face_solve *s = t->s;
  size_t m = (size_t)t->m;
  for (int f = 0; f < s->shape_count; f++) add_gradient(t, f, s->factors[f], gradient);
  for (int f = 0; f < s->shape_count; f++) {
    double c = s->factors[f];
    add_gradient(t, f, -c, gradient);
    for (size_t k = 0; k < m; k++) more[k] = c / (1 + c * c) * gradient[k];
    solve_shape(t, f, more, t->space);
    add_gradient(t, f, c, gradient);
  }
}

sn_status sn_face_transforms(sn_face_solve *s, bool choose) {
  SN_SCRATCH(scratch, s->ctx);
  transforms t = {.s = s, .m = (s->bone_count - 1) * SN_FACE_CHANNELS};
  size_t m = (size_t)t.m;
  t.a = SN_NEW(s->ctx, &scratch, double, m *m);
  t.right = SN_NEW(s->ctx, &scratch, double, m *(size_t)s->shape_count);
  t.space = SN_NEW(s->ctx, &scratch, double, (m * m + 2 * m) * (size_t)sn_threads(s->ctx));
  double *rows = SN_NEW(s->ctx, &scratch, double, 2 * m);
  if (!t.a || !t.right || !t.space || !rows) return s->ctx->error.status;
  sn_parallel_for(s->ctx, s->bone_count - 1, 1, add_bones, &t);
  regularise(&t);
  if (choose) SN_TRY(choose_numbers(&t, &scratch));
  if (!s->kept) { // all numbers of all shapes
    SN_TRY(sn_lapack_posv(s->ctx, 'L', t.m, s->shape_count, t.a, t.right));
    for (int k = 0; k < t.m; k++)
      for (int f = 0; f < s->shape_count; f++)
        sn_face_x(s, 1 + k / SN_FACE_CHANNELS, f)[k % SN_FACE_CHANNELS] =
          t.right[(size_t)k * (size_t)s->shape_count + (size_t)f];
  }
  if (s->kept) sn_parallel_for(s->ctx, s->shape_count, 1, solve_range, &t);
  if (s->kept) solve_mixture(&t, rows, rows + m);
  return sn_stopped(s->ctx) ? s->ctx->error.status : SN_OK;
}
