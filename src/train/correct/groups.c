// SPDX-License-Identifier: MIT
#include "train/correct/groups.h"

#include <math.h>
#include <string.h>

#include "solve/lapack.h"
#include "train/folds.h"

// The pose space of a group: distances are Euclidean between `axes` numbers of a pose.
typedef struct space {
  sn_arena memory;
  sn_pose_metric metric;
  int count, *first, *of; // different poses; the first that is each; which of them every pose is
  double *members;        // how many poses are each
  double *centres;
  int rank, terms;    // kernels: wide ones, and where these do not meet the poses as many narrow ones
  double *widths;     // of the terms
  float (*deltas)[6]; // rank * vertices of the group
  double *mix;        // rank * terms
  double *curves;     // rank * count: the functions at the different poses
} space;

// Of all groups the same, so that neighbouring vertices of different groups differ as little as their distances do.
typedef struct setting {
  double width, nugget; // width 0: narrow kernels alone
} setting;

enum { width_steps = 12, nugget_count = 5, setting_count = 1 + width_steps * nugget_count };

typedef struct builder {
  const sn_correct_options *options;
  const sn_residuals *m;
  const sn_pose_groups *groups;
  space *spaces;
  setting set;
  double lost; // of the squared displacement of a vertex in a pose
  const int *deciding;
  double (*errors)[setting_count]; // of every deciding group
} builder;

// ---- poses that a group can tell apart ---------------------------------------------------------------------------------------

static sn_status make_metric(sn_context *ctx, const builder *b, const sn_pose_group *g, space *s,
                             const double *vectors, int dims) {
  bool scaled = g->scales && b->options->distance == SN_DISTANCE_EUCLID;
  sn_distance kind = scaled ? SN_DISTANCE_NORMALISED : b->options->distance;
  sn_status status = sn_pose_metric_make(ctx, &s->memory, kind, b->m->pose_count, dims, vectors, &s->metric);
  for (int d = 0; status == SN_OK && scaled && d < dims; d++) s->metric.numbers[d] = 1;
  for (int k = 0, d = 0; status == SN_OK && g->scales && k < g->joint_count; k++)
    for (int c = 0; c < sn_control_dims(b->m, g->joints[k]); c++, d++) s->metric.numbers[d] *= g->scales[k];
  return status;
}

static double distance(int axes, const double *x, const double *y) {
  double sum = 0;
  for (int a = 0; a < axes; a++) sum += (x[a] - y[a]) * (x[a] - y[a]);
  return sqrt(sum);
}

// Poses nearer than the tolerance to an earlier one are that one.
static void tell_apart(const builder *b, space *s, const double *axes) {
  int poses = b->m->pose_count, width = s->metric.axes;
  double largest = 1;
  for (int p = 1; p < poses; p++) largest = fmax(largest, distance(width, axes, axes + p * width));
  for (int p = 0; p < poses; p++) {
    int k = 0;
    while (k < s->count && distance(width, axes + p * width, axes + s->first[k] * width) > b->groups->same * largest)
      k++;
    if (k == s->count) {
      memcpy(s->centres + k * width, axes + p * width, (size_t)width * sizeof *axes);
      s->first[s->count++] = p;
    }
    s->of[p] = k, s->members[k]++;
  }
  // The rest pose asks for nothing; where a pose of the clip agrees with it, that counts.
  if (s->members[s->of[0]] > 1) s->members[s->of[0]]--;
}

static sn_status find_poses(sn_context *ctx, sn_arena *memory, void *user, int index) {
  const builder *b = user;
  const sn_pose_group *g = b->groups->groups + index;
  space *s = b->spaces + index;
  size_t poses = (size_t)b->m->pose_count;
  int dims = sn_controls_dims(b->m, g->joints, g->joint_count);
  double *vectors = SN_NEW(ctx, memory, double, poses *(size_t)dims);
  double *axes = SN_NEW(ctx, memory, double, poses *(size_t)dims);
  s->first = SN_NEW(ctx, &s->memory, int, poses), s->of = SN_NEW(ctx, &s->memory, int, poses);
  s->members = SN_NEW(ctx, &s->memory, double, poses);
  s->centres = SN_NEW(ctx, &s->memory, double, poses *(size_t)dims);
  if (!vectors || !axes || !s->first || !s->of || !s->members || !s->centres) return ctx->error.status;
  for (size_t p = 0; p < poses; p++)
    sn_controls_vector(b->m, (int)p, g->joints, g->joint_count, vectors + p * (size_t)dims);
  sn_status status = make_metric(ctx, b, g, s, vectors, dims);
  if (status != SN_OK) return status;
  for (size_t p = 0; p < poses; p++)
    sn_pose_axes(&s->metric, vectors + p * (size_t)dims, axes + p * (size_t)s->metric.axes);
  tell_apart(b, s, axes);
  return SN_OK;
}

// What a group's vertices are asked for at its different poses: count * 6 vertices.
static void average(const builder *b, int index, double *out) {
  const sn_pose_group *g = b->groups->groups + index;
  const space *s = b->spaces + index;
  size_t columns = 6 * (size_t)g->count, n = (size_t)b->m->vertex_count;
  memset(out, 0, (size_t)s->count * columns * sizeof *out);
  for (size_t p = 1; p < (size_t)b->m->pose_count; p++) {
    double *row = out + (size_t)s->of[p] * columns;
    for (size_t k = 0; k < columns; k++)
      row[k] += (double)b->groups->asked[p * n + (size_t)g->vertices[k / 6]][k % 6] / s->members[s->of[p]];
  }
}

// A normal's displacement that matters, half a degree, counts as much as a position's, by the usual threshold.
static const double least_part = 5e-5, least_normal = 0.0087;

// gram[a, b] = sum over positions and, times `unit`, normals; a and b of `count` poses, every stride-th.
static void gram_of(size_t columns, const double *data, double unit, int count, int stride, double *gram) {
  for (int a = 0; a < count; a++)
    for (int c = 0; c <= a; c++) {
      const double *x = data + (size_t)(a * stride) * columns, *y = data + (size_t)(c * stride) * columns;
      double sum = 0;
      for (size_t k = 0; k < columns; k++) sum += x[k] * y[k] * (k % 6 < 3 ? 1 : unit * unit);
      gram[a * count + c] = gram[c * count + a] = sum;
    }
}

// ---- the kernel -------------------------------------------------------------------------------------------------------------------

// k(x, y) = wide(x, y) + nugget narrow(x, y). A wide kernel alone goes through poses that nearly agree only by swinging in between; a ridge
// would miss them. The nugget is that ridge, made a function that fades within this part of the distance to the nearest pose.
static const double narrow_part = 0.4;

// Widths in radians: 0.1 to 8.6. Nuggets, smoothest first.
static const double nuggets[] = {1, 1e-2, 1e-4, 1e-6, 1e-8};

static setting setting_of(const sn_correct_options *o, int index) {
  if (index == 0) return (setting){0, 1};
  double width = o->sigma > 0 ? o->sigma : 0.1 * pow(1.5, (index - 1) / nugget_count);
  return (setting){width, nuggets[(index - 1) % nugget_count]};
}

// Of settings that are this close at poses left out the cheapest: narrow kernels alone, or a nugget so small that wide kernels alone meet the poses.
static const double worth = 0.95;

static double wide(const sn_correct_options *o, setting set, double d) {
  return set.width > 0 ? sn_rbf_kernel_value(o->kernel, d, set.width) : 0;
}

// Worse conditioned systems are rounding errors; the least nugget stays far from it.
static const double least_rcond = 1e-14;

// The inverse of the kernel matrix of `count` poses; `narrow` gets their narrow widths.
static sn_status invert(sn_context *ctx, const builder *b, int axes, int count, const double *centres, setting set,
                        double *narrow, double *inverse) {
  sn_rbf_nearest(count, axes, centres, narrow);
  for (int k = 0; k < count; k++) narrow[k] *= narrow_part;
  for (int x = 0; x < count; x++)
    for (int y = 0; y < count; y++) {
      double d = distance(axes, centres + x * axes, centres + y * axes);
      inverse[x * count + y] =
        wide(b->options, set, d) + set.nugget * sn_rbf_kernel_value(b->options->kernel, d, narrow[y]);
    }
  double rcond;
  sn_status status = sn_lapack_invert(ctx, false, count, inverse, &rcond);
  if (status != SN_OK && status != SN_NOT_CONVERGED) return status;
  if (status == SN_OK && rcond > least_rcond) return SN_OK;
  return sn_fail(ctx, SN_NOT_CONVERGED, "the interpolation of %d poses is singular: take a smaller sigma", count);
}

// The squared error on poses left out.
static sn_status leave_out(sn_context *ctx, int count, double *inverse, const double *gram, double *error) {
  for (int x = 0; x < count; x++) // sn_rbf has it transposed
    for (int y = 0; y < x; y++) {
      double keep = inverse[x * count + y];
      inverse[x * count + y] = inverse[y * count + x], inverse[y * count + x] = keep;
    }
  sn_rbf rbf = {.kernel = SN_RBF_GAUSS, .linear = SN_RBF_NO_LINEAR, .count = count, .terms = count, .mix = inverse};
  return sn_rbf_leave_one_out(ctx, &rbf, gram, error);
}

// The groups with the most to carry decide, each by at most so many of its poses.
enum { most_deciding = 24, most_choosing = 64 };

static sn_status try_settings(sn_context *ctx, sn_arena *memory, void *user, int index) {
  const builder *b = user;
  int which = b->deciding[index];
  const space *s = b->spaces + which;
  size_t columns = 6 * (size_t)b->groups->groups[which].count, axes = (size_t)s->metric.axes;
  int stride = (s->count + most_choosing - 1) / most_choosing, count = (s->count + stride - 1) / stride;
  double *data = SN_NEW(ctx, memory, double, (size_t)s->count *columns);
  double *gram = SN_NEW(ctx, memory, double, count *count), *inverse = SN_NEW(ctx, memory, double, count *count);
  double *centres = SN_NEW(ctx, memory, double, (size_t)count *axes), *narrow = SN_NEW(ctx, memory, double, count);
  if (!data || !gram || !inverse || !centres || !narrow) return ctx->error.status;
  average(b, which, data);
  gram_of(columns, data, 0, count, stride, gram);
  for (int k = 0; k < count; k++)
    memcpy(centres + (size_t)k * axes, s->centres + (size_t)(k * stride) * axes, axes * sizeof *centres);
  for (int k = 0; count > 1 && k < setting_count; k++) {
    setting set = setting_of(b->options, k);
    sn_status status = invert(ctx, b, (int)axes, count, centres, set, narrow, inverse);
    if (status == SN_OK) status = leave_out(ctx, count, inverse, gram, b->errors[index] + k);
    if (status == SN_NOT_CONVERGED) b->errors[index][k] = INFINITY;
    if (status != SN_OK && status != SN_NOT_CONVERGED) return status;
  }
  return SN_OK;
}

// Squared, of all its vertices and poses.
static double asked_of(const builder *b, int index) {
  const sn_pose_group *g = b->groups->groups + index;
  double sum = 0;
  for (size_t p = 1; p < (size_t)b->m->pose_count; p++)
    for (int k = 0; k < g->count; k++) {
      const float *d = b->groups->asked[p * (size_t)b->m->vertex_count + (size_t)g->vertices[k]];
      sum += (double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2];
    }
  return sum;
}

static bool cheaper(setting a, setting b) { return b.width == 0 || a.nugget < b.nugget; }

static sn_status choose(sn_context *ctx, builder *b) {
  sn_arena memory = sn_arena_new(ctx);
  int count = b->groups->count < most_deciding ? b->groups->count : most_deciding;
  double *asked = SN_NEW(ctx, &memory, double, b->groups->count), least = INFINITY, sums[setting_count];
  int *deciding = SN_NEW(ctx, &memory, int, count);
  b->errors = sn_arena_alloc(ctx, &memory, (size_t)count, sizeof *b->errors);
  sn_status status = asked && deciding && b->errors ? SN_OK : ctx->error.status;
  for (int g = 0; status == SN_OK && g < b->groups->count; g++) asked[g] = asked_of(b, g);
  for (int k = 0; status == SN_OK && k < count; k++) {
    for (int g = 1; g < b->groups->count; g++)
      if (asked[g] > asked[deciding[k]]) deciding[k] = g;
    asked[deciding[k]] = -1;
  }
  b->deciding = deciding, b->set = setting_of(b->options, 0);
  sn_folds each = {.fold_count = count};
  if (status == SN_OK) status = sn_folds_run(ctx, &each, try_settings, b);
  for (int n = 0; status == SN_OK && n < setting_count; n++) {
    sums[n] = 0;
    for (int k = 0; k < count; k++) sums[n] += b->errors[k][n];
    least = fmin(least, sums[n]);
  }
  for (int n = setting_count - 1; status == SN_OK && n >= 0; n--)
    if (sums[n] <= least / worth && (n == 0 || cheaper(setting_of(b->options, n), b->set)))
      b->set = setting_of(b->options, n);
  sn_arena_free(&memory);
  return status;
}

// ---- functions and displacements -----------------------------------------------------------------------------------------------

// Whether the wide kernels alone meet the poses well enough: they miss nugget narrow inverse data.
static bool met_without(const builder *b, const space *s, const double *inverse, const double *gram, double vertices,
                        double *row) {
  int count = s->count, axes = s->metric.axes;
  for (int k = 0; k < count; k++) {
    double missed = 0;
    for (int t = 0; t < count; t++) row[t] = 0;
    for (int y = 0; y < count; y++) {
      double d = distance(axes, s->centres + k * axes, s->centres + y * axes);
      double value = b->set.nugget * sn_rbf_kernel_value(b->options->kernel, d, s->widths[count + y]);
      for (int t = 0; value > 1e-12 * b->set.nugget && t < count; t++) row[t] += value * inverse[y * count + t];
    }
    for (int x = 0; x < count; x++)
      for (int y = 0; y < count; y++) missed += row[x] * row[y] * gram[x * count + y];
    if (missed > 0.25 * b->lost * vertices) return false;
  }
  return true;
}

// Cardinal functions as sums of wide and narrow kernels: cardinal[k][t] is inverse[t][k], and the nugget times that.
static sn_status solve(sn_context *ctx, sn_arena *memory, const builder *b, space *s, const double *gram,
                       double vertices, double **out) {
  size_t count = (size_t)s->count;
  double *inverse = SN_NEW(ctx, memory, double, count *count), *row = SN_NEW(ctx, memory, double, count);
  double *cardinal = SN_NEW(ctx, memory, double, 2 * count * count);
  s->widths = SN_NEW(ctx, &s->memory, double, 2 * count);
  if (!inverse || !row || !cardinal || !s->widths) return ctx->error.status;
  sn_status status = invert(ctx, b, s->metric.axes, s->count, s->centres, b->set, s->widths + count, inverse);
  if (status != SN_OK) return status;
  bool alone = b->set.width == 0;
  for (size_t k = 0; k < count; k++) s->widths[k] = alone ? s->widths[count + k] : b->set.width;
  s->terms = alone || met_without(b, s, inverse, gram, vertices, row) ? s->count : 2 * s->count;
  for (size_t k = 0; k < count; k++)
    for (size_t t = 0; t < (size_t)s->terms; t++)
      cardinal[k * (size_t)s->terms + t] =
        t < count ? inverse[t * count + k] : b->set.nugget * inverse[(t - count) * count + k];
  *out = cardinal;
  return SN_OK;
}

// Component r: of the poses' data, each as often as it is there, v_r; displacements sum_k v_kr root_k data_k, with the function
// sum_k v_kr / root_k cardinal_k, which is at most 1 at the poses.
static void put_component(const space *s, int r, const double *v, const double *cardinal, size_t columns,
                          const double *data) {
  int count = s->count;
  double peak = 0, *curve = s->curves + r * count, *mix = s->mix + r * s->terms;
  for (int k = 0; k < count; k++) curve[k] = v[k * count] / sqrt(s->members[k]), peak = fmax(peak, fabs(curve[k]));
  for (int k = 0; k < count; k++) curve[k] /= peak;
  for (int k = 0; k < count; k++)
    for (int t = 0; t < s->terms; t++) mix[t] += curve[k] * cardinal[k * s->terms + t];
  float(*to)[6] = s->deltas + (size_t)r * (columns / 6);
  for (size_t c = 0; c < columns; c++) {
    double sum = 0;
    for (int k = 0; k < count; k++) sum += peak * v[k * count] * sqrt(s->members[k]) * data[(size_t)k * columns + c];
    to[c / 6][c % 6] = (float)sum;
  }
}

// How many components all poses need, largest first: what is lost of each is at most `lost` per vertex.
static int count_kept(const builder *b, const space *s, const double *v, const double *values, double vertices) {
  int count = s->count, rank = 0;
  for (int k = 0; k < count; k++) {
    double left = 0;
    int dropped = 0;
    for (; dropped < count; dropped++) {
      double part = v[k * count + dropped] * v[k * count + dropped] * fmax(values[dropped], 0) / s->members[k];
      if (left + part > b->lost * vertices && values[dropped] > 1e-14 * values[count - 1]) break;
      left += part;
    }
    if (count - dropped > rank) rank = count - dropped;
  }
  return rank;
}

static sn_status make_space(sn_context *ctx, sn_arena *memory, void *user, int index) {
  const builder *b = user;
  const sn_pose_group *g = b->groups->groups + index;
  space *s = b->spaces + index;
  size_t columns = 6 * (size_t)g->count, count = (size_t)s->count;
  double *data = SN_NEW(ctx, memory, double, count *columns), *gram = SN_NEW(ctx, memory, double, count *count);
  double *values = SN_NEW(ctx, memory, double, count), *v = SN_NEW(ctx, memory, double, count *count),
         *cardinal = NULL;
  if (!data || !gram || !values || !v) return ctx->error.status;
  average(b, index, data);
  gram_of(columns, data, least_part * b->m->diagonal / least_normal, s->count, 1, v);
  gram_of(columns, data, 0, s->count, 1, gram);
  for (size_t k = 0; k < count * count; k++) v[k] *= sqrt(s->members[k / count] * s->members[k % count]);
  sn_status status = sn_lapack_syevd(ctx, 'U', s->count, v, values);
  if (status == SN_NOT_CONVERGED)
    return sn_fail(ctx, status, "the principal components of %d corrections were not found", s->count);
  if (status != SN_OK) return status;
  int most = b->options->components > 0 && b->options->components < s->count ? b->options->components : s->count;
  s->rank = count_kept(b, s, v, values, (double)g->count);
  if (s->rank > most) s->rank = most;
  if (s->rank == 0) return SN_OK;
  status = solve(ctx, memory, b, s, gram, (double)g->count, &cardinal);
  if (status != SN_OK) return status;
  s->deltas = sn_arena_alloc(ctx, &s->memory, (size_t)(s->rank * g->count), sizeof *s->deltas);
  s->mix = SN_NEW(ctx, &s->memory, double, s->rank * s->terms);
  s->curves = SN_NEW(ctx, &s->memory, double, (size_t)s->rank *count);
  if (!s->deltas || !s->mix || !s->curves) return ctx->error.status;
  for (int r = 0; r < s->rank; r++) put_component(s, r, v + (count - 1 - (size_t)r), cardinal, columns, data);
  return SN_OK;
}

// ---- all of them ---------------------------------------------------------------------------------------------------------------

static void *kept(sn_context *ctx, sn_arena *memory, const void *from, size_t count, size_t size) {
  void *out = sn_arena_alloc(ctx, memory, count, size);
  if (out && count) memcpy(out, from, count * size);
  return out;
}

static sn_status add_field(sn_context *ctx, sn_arena *memory, const builder *b, int index, sn_corrections *out) {
  const sn_pose_group *g = b->groups->groups + index;
  const space *s = b->spaces + index;
  size_t centres = (size_t)s->count * (size_t)s->metric.axes, terms = (size_t)s->terms;
  sn_pose_field *field = out->fields + out->field_count++;
  *field = (sn_pose_field){.joint_count = g->joint_count,
                           .metric = s->metric,
                           .kernel = b->options->kernel,
                           .mixed = true,
                           .centre_count = s->terms,
                           .basis_count = s->rank,
                           .terms = s->terms};
  field->joints = kept(ctx, memory, g->joints, (size_t)g->joint_count, sizeof *g->joints);
  field->metric.numbers = kept(ctx, memory, s->metric.numbers,
                               s->metric.kind == SN_DISTANCE_EUCLID ? 0 : (size_t)s->metric.dims, sizeof *s->centres);
  field->widths = kept(ctx, memory, s->widths, terms, sizeof *s->widths);
  field->mix = kept(ctx, memory, s->mix, terms * (size_t)s->rank, sizeof *s->mix);
  double *twice = SN_NEW(ctx, memory, double, 2 * centres);
  if (!field->joints || !field->metric.numbers || !field->widths || !field->mix || !twice) return ctx->error.status;
  for (size_t k = 0; k < 2 * centres; k++) twice[k] = s->centres[k % centres];
  field->centres = twice;
  return SN_OK;
}

// The groups' displacements in the same places, one group's beside the other's.
static void place_group(const builder *b, int index, int common, sn_corrections *out) {
  const sn_pose_group *g = b->groups->groups + index;
  const space *s = b->spaces + index;
  for (int r = 0; r < s->rank; r++)
    for (int k = 0; k < g->count; k++)
      memcpy(out->deltas[(size_t)(common + r) * (size_t)out->vertex_count + (size_t)g->vertices[k]],
             s->deltas[r * g->count + k], sizeof *s->deltas);
}

static sn_status join(sn_context *ctx, sn_arena *memory, const builder *b, sn_corrections *out) {
  int common = out->basis_count, groups = b->groups->count, bases = common, most = 0, fields = out->field_count;
  size_t n = (size_t)out->vertex_count, poses = (size_t)b->m->pose_count;
  int *first = SN_NEW(ctx, memory, int, groups + 1), *group_of = SN_NEW(ctx, memory, int, n);
  if (!first || !group_of) return ctx->error.status;
  for (int g = 0; g < groups; g++) {
    first[g] = bases, bases += b->spaces[g].rank;
    fields += b->spaces[g].rank > 0;
    if (b->spaces[g].rank > most) most = b->spaces[g].rank;
  }
  first[groups] = bases;
  const sn_corrections before = *out;
  double *curves = SN_NEW(ctx, memory, double, (size_t)bases *poses);
  out->fields = SN_NEW(ctx, memory, sn_pose_field, fields);
  out->deltas = sn_arena_alloc(ctx, memory, (size_t)(common + most) * n, sizeof *out->deltas);
  if (!curves || !out->fields || !out->deltas) return ctx->error.status;
  if (before.field_count) memcpy(out->fields, before.fields, (size_t)before.field_count * sizeof *out->fields);
  if (common) memcpy(out->deltas, before.deltas, (size_t)common * n * sizeof *out->deltas);
  if (common) memcpy(curves, before.curves, (size_t)common * poses * sizeof *curves);
  sn_status status = SN_OK;
  for (int g = 0; status == SN_OK && g < groups; g++) {
    const space *s = b->spaces + g;
    for (int k = 0; k < b->groups->groups[g].count; k++) group_of[b->groups->groups[g].vertices[k]] = g;
    if (s->rank == 0) continue;
    status = add_field(ctx, memory, b, g, out);
    place_group(b, g, common, out);
    for (int r = 0; r < s->rank; r++)
      for (size_t p = 0; p < poses; p++)
        curves[(size_t)(first[g] + r) * poses + p] = s->curves[r * s->count + s->of[p]];
  }
  out->basis_count = bases, out->curves = curves;
  out->groups = (sn_basis_groups){common, first, group_of};
  return status;
}

sn_status sn_group_fields(sn_context *ctx, sn_arena *memory, const sn_correct_options *options, const sn_residuals *m,
                          const sn_pose_groups *groups, sn_corrections *out) {
  builder b = {.options = options, .m = m, .groups = groups};
  double least = sn_correct_least(options, m);
  b.lost = least * least;
  b.spaces = SN_NEW(ctx, memory, space, groups->count);
  if (!b.spaces) return ctx->error.status;
  for (int g = 0; g < groups->count; g++) b.spaces[g].memory = sn_arena_new(ctx);
  sn_folds each = {.fold_count = groups->count};
  sn_status status = sn_folds_run(ctx, &each, find_poses, &b);
  if (status == SN_OK) status = choose(ctx, &b);
  if (status == SN_OK) status = sn_folds_run(ctx, &each, make_space, &b);
  if (status == SN_OK) status = join(ctx, memory, &b, out);
  for (int g = 0; g < groups->count; g++) sn_arena_free(&b.spaces[g].memory);
  return status;
}
