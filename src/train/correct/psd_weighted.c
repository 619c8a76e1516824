// SPDX-License-Identifier: MIT
// Weighted pose-space deformation (Kurihara and Miyata 2004; Murtagh 2008, eq. 2.6). The distance between poses at
// vertex v is d_v^2 = sum_j s_jv |x_j - y_j|^2. s_jv is the weight of joint j, plus a part of its parent's weight: the
// upper arm depends on the elbow. The file has one pose space per group of vertices with similar weights.
#include <math.h>
#include <string.h>

#include "solve/solve.h"
#include "train/correct/corrector.h"

static const double child_part = 0.01;  // part of a vertex's weight on a joint that its children get
static const double same_weights = 0.5; // largest distance between sqrt(s) of a vertex and of its group's leader

typedef struct weighting {
  sn_corrector *c;
  sn_context *ctx;
  sn_arena *memory;
  const sn_residuals *m;
  const int *joints;
  int joint_count, group_count;
  double *roots; // [vertex][joint]: sqrt(s_jv)
  int *group_of; // the group of every vertex
  int *leaders;  // of every group: the vertex whose s_jv it uses
  sn_corrections *out;
} weighting;

// sqrt(s_jv) of vertex i. Vertices on joints that do not rotate depend on all joints equally.
static void find_roots(const weighting *w, const int *parents, int i, double *out) {
  const sn_skin *skin = &w->m->skin;
  double sum = 0;
  for (int k = 0; k < w->joint_count; k++) {
    for (int n = 0; n < skin->influences; n++) {
      size_t at = (size_t)i * (size_t)skin->influences + (size_t)n;
      if (!(skin->weights[at] > 0)) continue;
      if (skin->joints[at] == w->joints[k]) out[k] += skin->weights[at];
      if (skin->joints[at] == parents[k]) out[k] += child_part * skin->weights[at];
    }
    sum += out[k];
  }
  for (int k = 0; k < w->joint_count; k++) out[k] = sum > 0 ? sqrt(out[k] / sum) : sqrt(1.0 / w->joint_count);
}

// Farthest-point clustering: the vertex farthest from all leaders leads the next group.
static sn_status find_groups(weighting *w) {
  size_t n = (size_t)w->m->vertex_count, width = (size_t)w->joint_count;
  int *parents = SN_NEW(w->ctx, w->memory, int, width), next = 0;
  double *apart = SN_NEW(w->ctx, w->memory, double, n);
  w->roots = SN_NEW(w->ctx, w->memory, double, n *width), w->group_of = SN_NEW(w->ctx, w->memory, int, n);
  w->leaders = SN_NEW(w->ctx, w->memory, int, n);
  if (!parents || !apart || !w->roots || !w->group_of || !w->leaders) return w->ctx->error.status;
  for (size_t k = 0; k < width; k++)
    for (int t = 0; t < w->m->joint_count; t++)
      if (w->m->rotations[t].joint == w->joints[k]) parents[k] = w->m->rotations[t].parent;
  for (size_t i = 0; i < n; i++) find_roots(w, parents, (int)i, w->roots + i * width), apart[i] = INFINITY;
  do {
    w->leaders[w->group_count] = next;
    for (size_t i = 0; i < n; i++) {
      double d =
        sn_squared_distance((int)width, w->roots + i * width, w->roots + (size_t)w->leaders[w->group_count] * width);
      if (d < apart[i]) apart[i] = d, w->group_of[i] = w->group_count;
      if (apart[i] > apart[next]) next = (int)i;
    }
    w->group_count++;
  } while (apart[next] > same_weights * same_weights);
  return SN_OK;
}

// The group's joints, their metric and its centres, without duplicate poses; of[p] is the centre of pose p.
static sn_status find_centres(const weighting *w, int g, sn_pose_field *field, int *of) {
  const sn_residuals *m = w->m;
  const double *roots = w->roots + (size_t)w->leaders[g] * (size_t)w->joint_count;
  *field = (sn_pose_field){.mixed = true, .joints = SN_NEW(w->ctx, w->memory, int, w->joint_count)};
  if (!field->joints) return w->ctx->error.status;
  for (int k = 0; k < w->joint_count; k++)
    if (roots[k] > sn_hardly_any) field->joints[field->joint_count++] = w->joints[k];
  int dims = sn_controls_dims(m, field->joints, field->joint_count), count = 0;
  size_t width = (size_t)dims;
  double *centres = SN_NEW(w->ctx, w->memory, double, (size_t)m->pose_count *width), largest = 1;
  if (!centres) return w->ctx->error.status;
  for (int p = 0; p < m->pose_count; p++)
    sn_controls_vector(m, p, field->joints, field->joint_count, centres + (size_t)p * width);
  field->metric = (sn_pose_metric){.kind = SN_DISTANCE_NORMALISED, .dims = dims};
  sn_status status = sn_pose_metric_make(w->ctx, w->memory, m->pose_count, centres, &field->metric);
  if (status != SN_OK) return status;
  for (int k = 0, d = 0; k < w->joint_count; k++)
    for (int c = 0; roots[k] > sn_hardly_any && c < 3; c++, d++)
      field->metric.numbers[d] =
        roots[k] * (w->c->options->distance == SN_DISTANCE_NORMALISED ? field->metric.numbers[d] : 1);
  for (int p = 0; p < m->pose_count; p++) {
    double *row = centres + (size_t)p * width;
    for (int d = 0; d < dims; d++) row[d] *= field->metric.numbers[d];
    largest = fmax(largest, sn_squared_distance(dims, centres, row));
  }
  for (int p = 0; p < m->pose_count; p++) {
    const double *row = centres + (size_t)p * width;
    for (of[p] = 0; of[p] < count; of[p]++)
      if (sn_squared_distance(dims, row, centres + (size_t)of[p] * width) <= sn_hardly_any * sn_hardly_any * largest)
        break;
    if (of[p] == count) memmove(centres + (size_t)count++ * width, row, width * sizeof *row);
  }
  field->centres = centres, field->centre_count = field->basis_count = count;
  return SN_OK;
}

// The mean residual of the group's vertices at every centre. Pose 0 (rest) is not averaged: alone it has zero.
static void average(const weighting *w, int g, const int *of, int count, int *members, float (*out)[6]) {
  size_t n = (size_t)w->m->vertex_count;
  memset(out, 0, (size_t)count * n * sizeof *out), memset(members, 0, (size_t)count * sizeof *members);
  for (int p = 1; p < w->m->pose_count; p++) {
    float(*to)[6] = out + (size_t)of[p] * n;
    members[of[p]]++;
    for (size_t i = 0; i < n; i++)
      for (int c = 0; c < 6 && w->group_of[i] == g; c++)
        to[i][c] += (w->m->deltas[(size_t)p * n + i][c] - to[i][c]) / (float)members[of[p]];
  }
}

// One basis per centre: the mean residual there, with the centre's cardinal function.
static sn_status add_group(const weighting *w, int g, int *of, int *members, float (*deltas)[6]) {
  size_t n = (size_t)w->m->vertex_count;
  sn_pose_field *field = w->out->fields + g;
  sn_rbf rbf = {0};
  sn_status status = find_centres(w, g, field, of);
  if (status != SN_OK) return status;
  size_t count = (size_t)field->centre_count;
  double *gram = SN_NEW(w->ctx, w->memory, double, count *count);
  if (!gram) return w->ctx->error.status;
  average(w, g, of, (int)count, members, deltas);
  sn_residuals_gram(w->ctx, (const float(*)[6])deltas, (int)n, NULL, (int)count, gram);
  status = sn_field_solve(w->c, NULL, gram, field, &rbf);
  size_t numbers = count * (size_t)field->terms;
  if (status == SN_OK) field->mix = SN_NEW(w->ctx, w->memory, double, numbers);
  if (status == SN_OK && !field->mix) status = w->ctx->error.status;
  if (status == SN_OK) memcpy(field->mix, rbf.mix, numbers * sizeof *rbf.mix);
  for (size_t k = 0; status == SN_OK && k < count * n; k++)
    if (w->group_of[k % n] == g) memcpy(w->out->deltas[k], deltas[k], sizeof *deltas);
  sn_rbf_free(&rbf);
  return status;
}

sn_status sn_weighted_fields(sn_corrector *c, sn_corrections *out) {
  sn_context *ctx = c->ctx;
  sn_arena *memory = &c->memory;
  const sn_residuals *m = &c->residuals;
  *out = (sn_corrections){.vertex_count = m->vertex_count};
  weighting w = {c, ctx, memory, m, c->joints, c->joint_count, .out = out};
  sn_status status = find_groups(&w);
  if (status != SN_OK) return status;
  size_t all = (size_t)m->pose_count * (size_t)m->vertex_count;
  int *first = SN_NEW(ctx, memory, int, w.group_count + 1), *of = SN_NEW(ctx, memory, int, m->pose_count),
      *members = SN_NEW(ctx, memory, int, m->pose_count);
  float(*deltas)[6] = sn_arena_alloc(ctx, memory, all, sizeof *deltas);
  out->deltas = sn_arena_alloc(ctx, memory, all, sizeof *out->deltas);
  out->fields = SN_NEW(ctx, memory, sn_pose_field, w.group_count);
  if (!first || !of || !members || !deltas || !out->deltas || !out->fields) return ctx->error.status;
  for (int g = 0; status == SN_OK && g < w.group_count; g++) {
    status = add_group(&w, g, of, members, deltas);
    first[g + 1] = first[g] + out->fields[g].basis_count;
  }
  out->field_count = w.group_count, out->basis_count = first[w.group_count];
  out->groups = (sn_basis_groups){0, first, w.group_of};
  return status;
}
