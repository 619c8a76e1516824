// SPDX-License-Identifier: MIT
// Corrections by named values alone: a displacement field over the whole mesh per term of a value, like blend shapes.
// Linear mixtures of shapes are reproduced exactly.
#include <math.h>

#include "train/correct/fields.h"

typedef struct shapes_job {
  const sn_regression *r;
  const sn_terms *terms;
  const double *peaks; // largest absolute value of every term
  float (*deltas)[6];  // terms->count * vertex_count
} shapes_job;

// deltas: the term's weights at every vertex, Phi^T alpha, times the term's peak.
static void weigh_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const shapes_job *job = user;
  size_t n = (size_t)job->r->m->vertex_count, count = (size_t)job->terms->count;
  for (size_t k = 0; k < count; k++)
    for (size_t i = (size_t)begin; i < (size_t)end; i++) {
      double sum[6] = {0};
      for (size_t p = 0; p < (size_t)job->r->m->pose_count; p++)
        for (int c = 0; c < 6; c++) sum[c] += job->terms->features[p * count + k] * job->r->alpha[p * n + i][c];
      for (int c = 0; c < 6; c++) job->deltas[k * n + i][c] = (float)(job->peaks[k] * sum[c]);
    }
}

// A field whose functions are the value's terms, scaled to at most 1 at the poses.
static sn_status add_value(sn_regression *r, int control, sn_corrections *out) {
  const sn_terms *t = r->terms.groups + control;
  size_t count = (size_t)t->count;
  double *peaks = SN_NEW(r->ctx, r->memory, double, count), *mix = SN_NEW(r->ctx, r->memory, double, count *count);
  double *matrix = SN_NEW(r->ctx, r->memory, double, count *count);
  int *controls = SN_NEW(r->ctx, r->memory, int, 1);
  if (!peaks || !mix || !matrix || !controls) return r->ctx->error.status;
  for (size_t k = 0; k < count; k++) {
    for (size_t p = 0; p < (size_t)r->m->pose_count; p++) peaks[k] = fmax(peaks[k], fabs(t->features[p * count + k]));
    matrix[k * count + k] = 1 / peaks[k], mix[k * count + k] = 1;
  }
  controls[0] = control;
  shapes_job job = {r, t, peaks, out->deltas + (size_t)out->basis_count * (size_t)r->m->vertex_count};
  sn_parallel_for(r->ctx, r->m->vertex_count, 64, weigh_range, &job);
  out->functions[control] = (sn_functions){control, control + 1, t->count, t->count, matrix};
  out->fields[control] = (sn_pose_field){.is_sum = true,
                                         .joint_count = 1,
                                         .joints = controls,
                                         .mixed = true,
                                         .terms = t->count,
                                         .basis_count = t->count,
                                         .mix = mix};
  out->basis_count += t->count;
  return SN_OK;
}

sn_status sn_shapes_make(sn_regression *r, sn_corrections *out) {
  *out = (sn_corrections){.field_count = r->control_count,
                          .vertex_count = r->m->vertex_count,
                          .pruned = true,
                          .terms = &r->terms,
                          .control_count = r->control_count};
  size_t bases = 0;
  for (int g = 0; g < r->terms.count; g++) bases += (size_t)r->terms.groups[g].count;
  out->fields = SN_NEW(r->ctx, r->memory, sn_pose_field, r->control_count);
  out->functions = SN_NEW(r->ctx, r->memory, sn_functions, r->control_count);
  out->deltas = sn_arena_alloc(r->ctx, r->memory, bases * (size_t)r->m->vertex_count, sizeof *out->deltas);
  sn_status status = out->fields && out->functions && out->deltas ? SN_OK : r->ctx->error.status;
  for (int k = 0; status == SN_OK && k < r->control_count; k++) status = add_value(r, k, out);
  return status;
}
