// SPDX-License-Identifier: MIT
// Writes corrections to the plan of a model: pose spaces become sections, displacements stay as they are.
#include <float.h>
#include <math.h>
#include <string.h>

#include "runtime/format.h"
#include "train/correct/corrector.h"
#include "train/correct/terms.h"

static size_t metric_count(const sn_pose_field *f) {
  return f->metric.kind == SN_DISTANCE_EUCLID       ? 0
         : f->metric.kind == SN_DISTANCE_NORMALISED ? (size_t)f->metric.dims
                                                    : (size_t)f->metric.axes * (size_t)f->metric.dims;
}

static void put_numbers(double **at, const double *from, size_t count) {
  for (size_t n = 0; n < count; n++) *(*at)++ = from[n];
}

static int joints_of(const sn_pose_field *f, const sn_residuals *m) {
  int count = 0;
  while (count < f->joint_count && f->joints[count] < m->joint_count) count++;
  return count;
}

static uint16_t control_index(const sn_residuals *m, int control) {
  int index = control - m->joint_count; // of a value; of a joint: the index of its reference
  if (index < 0)
    for (index = 0; m->rotations[index].joint != control;) index++;
  return (uint16_t)index;
}

// Sizes of the arrays that all fields share.
typedef struct sizes {
  size_t joints, numbers, groups, mix;
} sizes;

static sizes measure(const sn_corrections *c) {
  sizes out = {0};
  for (int n = 0; n < c->field_count; n++) {
    const sn_pose_field *f = c->fields + n;
    size_t mix = f->mixed ? (size_t)f->basis_count * (size_t)f->terms : 0;
    out.joints += (size_t)f->joint_count;
    if (f->is_sum) {
      out.mix += mix;
    } else {
      out.numbers += metric_count(f) + (size_t)f->centre_count * (size_t)(f->metric.axes + 1) + mix;
    }
  }
  for (int g = 0; c->terms && g < c->terms->count; g++)
    if (c->terms->groups[g].kind == SN_RT_TERMS_GAUSS) out.mix += 3 * (size_t)c->terms->groups[g].count;
  for (int k = 0; k < c->control_count; k++) out.mix += (size_t)c->functions[k].count * (size_t)c->functions[k].terms;
  out.groups = c->terms ? (size_t)c->terms->count + (size_t)c->control_count : 0;
  return out;
}

typedef struct encoder {
  const sn_corrections *c;
  const sn_residuals *m;
  sn_rt_field *fields;
  uint16_t *joints;
  double *numbers;
  float *mix;
  sn_rt_terms *terms;
  int *index; // of every control: the index of its group of functions; 0: not written
  sizes used;
} encoder;

static void rest_of(const sn_residuals *m, int control, float out[3]) {
  const double *rest = sn_control_at(m, 0, control);
  for (int k = 0; k < sn_control_dims(m, control); k++) out[k] = (float)rest[k];
}

static void encode_group(encoder *e, const sn_terms *t) {
  sn_rt_terms *to = e->terms + e->used.groups++;
  *to = (sn_rt_terms){.kind = t->kind, .count = (uint16_t)t->count, .a = control_index(e->m, t->a)};
  rest_of(e->m, t->a, to->rest[0]);
  if (t->kind == SN_RT_TERMS_PAIR) to->b = control_index(e->m, t->b), rest_of(e->m, t->b, to->rest[1]);
  if (t->kind != SN_RT_TERMS_GAUSS) return;
  to->first = (uint32_t)e->used.mix, to->width = (float)sn_usual_width;
  for (int k = 0; k < 3 * t->count; k++) e->mix[e->used.mix++] = (float)t->centres[k];
}

// Encodes the terms and then the functions of every control that a field depends on.
static void encode_terms(encoder *e) {
  for (int n = 0; n < e->c->field_count; n++)
    for (int k = 0; e->c->fields[n].is_sum && k < e->c->fields[n].joint_count; k++)
      e->index[e->c->fields[n].joints[k]] = 1;
  for (int k = 0; k < e->c->control_count; k++) {
    const sn_functions *f = e->c->functions + k;
    size_t first = e->used.groups;
    if (!e->index[k] || f->count == 0) continue;
    for (int g = f->first; g < f->end; g++)
      if (e->c->terms->groups[g].count > 0) encode_group(e, e->c->terms->groups + g);
    e->index[k] = (int)e->used.groups;
    e->terms[e->used.groups] = (sn_rt_terms){.kind = SN_RT_TERMS_FUNCTIONS, .count = (uint16_t)f->count};
    sn_rt_terms *to = e->terms + e->used.groups++;
    to->a = (uint16_t)first, to->b = (uint16_t)(e->used.groups - 1 - first), to->first = (uint32_t)e->used.mix;
    for (int n = 0; n < f->count * f->terms; n++) e->mix[e->used.mix++] = (float)f->matrix[n];
  }
}

static void encode_sum(encoder *e, const sn_pose_field *f, sn_rt_field *to) {
  to->kernel = SN_RT_KERNEL_SUM, to->metric = 0;
  to->centre_count = (uint32_t)f->terms;
  to->first_number = (uint32_t)e->used.mix;
  for (int k = 0; k < f->joint_count; k++) {
    if (e->c->functions[f->joints[k]].count == 0) continue;
    e->joints[e->used.joints++] = (uint16_t)e->index[f->joints[k]], to->joint_count++;
  }
  for (int k = 0; k < f->basis_count * f->terms; k++) e->mix[e->used.mix++] = (float)f->mix[k];
}

static void encode_kernels(encoder *e, const sn_pose_field *f, sn_rt_field *to) {
  double *next = e->numbers + e->used.numbers;
  to->kernel = (uint32_t)f->kernel, to->metric = (uint32_t)f->metric.kind, to->linear = f->linear;
  to->joint_count = (uint32_t)joints_of(f, e->m), to->value_count = (uint32_t)(f->joint_count - joints_of(f, e->m));
  to->axis_count = (uint32_t)f->metric.axes, to->centre_count = (uint32_t)f->centre_count;
  to->first_number = (uint32_t)e->used.numbers;
  for (int j = 0; j < f->joint_count; j++) e->joints[e->used.joints++] = control_index(e->m, f->joints[j]);
  put_numbers(&next, f->metric.numbers, metric_count(f));
  put_numbers(&next, f->centres, (size_t)f->centre_count * (size_t)f->metric.axes);
  put_numbers(&next, f->widths, (size_t)f->centre_count);
  if (f->mixed) put_numbers(&next, f->mix, (size_t)f->basis_count * (size_t)f->terms);
  e->used.numbers = (size_t)(next - e->numbers);
}

sn_status sn_pose_spaces_encode(sn_context *ctx, sn_arena *memory, const sn_corrections *c, const sn_residuals *m,
                                sn_model_section sections[5]) {
  sizes all = measure(c);
  encoder e = {.c = c, .m = m};
  e.fields = SN_NEW(ctx, memory, sn_rt_field, c->field_count), e.joints = SN_NEW(ctx, memory, uint16_t, all.joints);
  e.numbers = SN_NEW(ctx, memory, double, all.numbers), e.mix = SN_NEW(ctx, memory, float, all.mix);
  e.terms = SN_NEW(ctx, memory, sn_rt_terms, all.groups), e.index = SN_NEW(ctx, memory, int, c->control_count);
  if (!e.fields || !e.joints || !e.numbers || !e.mix || !e.terms || !e.index) return ctx->error.status;
  encode_terms(&e);
  uint32_t first_basis = 0;
  for (int n = 0; n < c->field_count; n++) {
    const sn_pose_field *f = c->fields + n;
    e.fields[n] = (sn_rt_field){.mixed = f->mixed, .first_joint = (uint32_t)e.used.joints};
    e.fields[n].first_basis = first_basis, e.fields[n].basis_count = (uint32_t)f->basis_count;
    (f->is_sum ? encode_sum : encode_kernels)(&e, f, e.fields + n);
    first_basis += (uint32_t)f->basis_count;
  }
  sections[0] = (sn_model_section){"correct.fields", e.fields, (size_t)c->field_count * sizeof *e.fields, true};
  sections[1] = (sn_model_section){"correct.joints", e.joints, e.used.joints * sizeof *e.joints, true};
  sections[2] = (sn_model_section){"correct.numbers", e.numbers, e.used.numbers * sizeof *e.numbers, true};
  sections[3] = (sn_model_section){"correct.terms", e.terms, e.used.groups * sizeof *e.terms, true};
  sections[4] = (sn_model_section){"correct.mix", e.mix, e.used.mix * sizeof *e.mix, true};
  return SN_OK;
}

// ---- the plan -----------------------------------------------------------------------------------------------------------------

static bool has_section(const sn_plan *plan, const char *name) {
  for (int s = 0; s < plan->section_count; s++)
    if (!strcmp(plan->sections[s].name, name)) return true;
  return false;
}

sn_status sn_correct_describe_inputs(sn_corrector *c, sn_plan *plan) {
  const sn_examples *e = c->examples;
  const sn_local_rotation *rotations = c->residuals.rotations;
  plan->desc.value_count = c->residuals.value_count, plan->desc.value_ranges = (const float(*)[2])c->ranges;
  plan->desc.value_names = (const char *const *)e->values.names;
  sn_status status = SN_OK;
  if (!plan->desc.skeleton) return status;
  if (!has_section(plan, sn_rt_section_name(SN_SECTION_JOINT_REFERENCE)))
    status = sn_plan_references(c->ctx, plan, rotations, e->skeleton.joint_count);
  if (status != SN_OK || has_section(plan, SN_RT_RANGE_NAME)) return status;
  return sn_plan_ranges(c->ctx, plan, rotations, &e->poses, c->keys);
}

sn_status sn_correct_describe(sn_corrector *c, const sn_corrections *corrections, sn_plan *plan) {
  const sn_correct_options *options = c->options;
  double threshold = corrections->pruned ? 0 : options->threshold;
  plan->corrections =
    (sn_model_corrections){.kind = options->components > 0 ? SN_RT_CORRECT_EIGEN : SN_RT_CORRECT_RBF,
                           .forward = options->order == SN_ORDER_FORWARD,
                           .field_count = corrections->field_count,
                           .basis_count = corrections->basis_count,
                           .row_count = corrections->vertex_count,
                           .deltas = (const float(*)[6])corrections->deltas,
                           .groups = corrections->groups,
                           .rows = c->examples->source,
                           .limits = corrections->limits,
                           .limit_after = corrections->limit_after,
                           .least = fmax(threshold / 100, (double)FLT_EPSILON) * c->residuals.diagonal,
                           .least_normal = SN_LEAST_NORMAL};
  return sn_pose_spaces_encode(c->ctx, &plan->memory, corrections, &c->residuals, plan->corrections.pose_spaces);
}
