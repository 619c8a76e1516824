// SPDX-License-Identifier: MIT
// Corrections as part of a model's description: pose spaces become sections, displacements stay as they are.
#include <math.h>
#include <string.h>

#include "runtime/format.h"
#include "train/correct/correct.h"

// A normal's displacement that matters: half a degree; and what is rounding of single precision, for either.
static const double least_normal = 0.0087, noise = 1e-6, noise_normal = 1e-4;

// What half a degree of a normal counts, of a displacement that may be lost. On cheburashka-rom 1 loses 0.1 degrees more on new motion, 2 keeps 2 % more.
static const double normal_counts = 1.5;

static size_t metric_count(const sn_pose_field *f) {
  return f->metric.kind == SN_DISTANCE_EUCLID       ? 0
         : f->metric.kind == SN_DISTANCE_NORMALISED ? (size_t)f->metric.dims
                                                    : (size_t)f->metric.axes * (size_t)f->metric.dims;
}

static void put_numbers(double **at, const double *from, size_t count) {
  for (size_t n = 0; n < count; n++) *(*at)++ = from[n];
}

static int joints_of(const sn_pose_field *f, const sn_misses *m) {
  int count = 0;
  while (count < f->joint_count && f->joints[count] < m->joint_count) count++;
  return count;
}

static sn_status encode_fields(sn_context *ctx, sn_arena *memory, const sn_corrections *c, const sn_misses *m,
                               sn_model_section sections[3]) {
  size_t joint_count = 0, numbers = 0;
  for (int n = 0; n < c->field_count; n++) {
    const sn_pose_field *f = c->fields + n;
    joint_count += (size_t)f->joint_count;
    numbers += metric_count(f) + (size_t)f->centre_count * (size_t)(f->metric.axes + 1) +
               (f->mixed ? (size_t)f->basis_count * (size_t)f->terms : 0);
  }
  sn_rt_field *fields = SN_NEW(ctx, memory, sn_rt_field, c->field_count);
  uint16_t *joint = SN_NEW(ctx, memory, uint16_t, joint_count);
  double *number = SN_NEW(ctx, memory, double, numbers), *next = number;
  if (!fields || !joint || !number) return ctx->error.status;
  size_t first_joint = 0, first_basis = 0;
  for (int n = 0; n < c->field_count; n++) {
    const sn_pose_field *f = c->fields + n;
    fields[n] = (sn_rt_field){.kernel = (uint32_t)f->kernel,
                              .metric = (uint32_t)f->metric.kind,
                              .linear = f->linear,
                              .mixed = f->mixed,
                              .first_joint = (uint32_t)first_joint,
                              .joint_count = (uint32_t)joints_of(f, m),
                              .value_count = (uint32_t)(f->joint_count - joints_of(f, m)),
                              .axis_count = (uint32_t)f->metric.axes,
                              .centre_count = (uint32_t)f->centre_count,
                              .first_basis = (uint32_t)first_basis,
                              .basis_count = (uint32_t)f->basis_count,
                              .first_number = (uint32_t)(next - number)};
    for (int j = 0; j < f->joint_count; j++) {
      int index = f->joints[j] - m->joint_count; // of a value; of a joint that of its reference
      if (index < 0)
        for (index = 0; m->turns[index].joint != f->joints[j];) index++;
      joint[first_joint++] = (uint16_t)index;
    }
    put_numbers(&next, f->metric.numbers, metric_count(f));
    put_numbers(&next, f->centres, (size_t)f->centre_count * (size_t)f->metric.axes);
    put_numbers(&next, f->widths, (size_t)f->centre_count);
    if (f->mixed) put_numbers(&next, f->mix, (size_t)f->basis_count * (size_t)f->terms);
    first_basis += (size_t)f->basis_count;
  }
  sections[0] = (sn_model_section){"correct.fields", fields, (size_t)c->field_count * sizeof *fields, true};
  sections[1] = (sn_model_section){"correct.joints", joint, joint_count * sizeof *joint, true};
  sections[2] = (sn_model_section){"correct.numbers", number, numbers * sizeof *number, true};
  return SN_OK;
}

// ---- the model ----------------------------------------------------------------------------------------------------------------

static bool has_section(const sn_model_desc *desc, const char *name) {
  for (int s = 0; s < desc->section_count; s++)
    if (!strcmp(desc->sections[s].name, name)) return true;
  return false;
}

static sn_status add_section(sn_context *ctx, sn_arena *memory, sn_model_section section, sn_model_desc *desc) {
  sn_model_section *sections = SN_NEW(ctx, memory, sn_model_section, desc->section_count + 1);
  if (!sections) return ctx->error.status;
  if (desc->section_count) memcpy(sections, desc->sections, (size_t)desc->section_count * sizeof *sections);
  sections[desc->section_count++] = section;
  desc->sections = sections;
  return SN_OK;
}

// The joints' references and ranges, where the description has none.
static sn_status add_turns(sn_context *ctx, sn_arena *memory, const sn_turn *turns, const sn_examples *examples,
                           const sn_keys *keys, sn_model_desc *desc) {
  if (!desc->skeleton) return SN_OK;
  const char *name = sn_rt_section_name(SN_SECTION_JOINT_REFERENCE);
  void *bytes;
  size_t size;
  sn_status status = SN_OK;
  if (!has_section(desc, name)) {
    status = sn_turns_section(ctx, memory, turns, desc->skeleton->joint_count, &bytes, &size);
    if (status == SN_OK) status = add_section(ctx, memory, (sn_model_section){name, bytes, size, true}, desc);
  }
  if (status != SN_OK || has_section(desc, SN_RT_RANGE_NAME)) return status;
  status = sn_ranges_section(ctx, memory, turns, &examples->poses, keys, &bytes, &size);
  return status == SN_OK ? add_section(ctx, memory, (sn_model_section){SN_RT_RANGE_NAME, bytes, size, false}, desc)
                         : status;
}

sn_status sn_correct_write(sn_context *ctx, const sn_correct_options *options, const sn_examples *examples,
                           const sn_keys *keys, const sn_misses *m, const float (*ranges)[2],
                           const sn_corrections *corrections, const sn_model_desc *base, sn_model *out) {
  *out = (sn_model){0};
  sn_arena memory = sn_arena_new(ctx);
  double threshold = corrections->pruned ? 0 : options->threshold;
  sn_model_corrections c = {.kind = options->components > 0 ? SN_RT_CORRECT_EIGEN : SN_RT_CORRECT_RBF,
                            .forward = options->order == SN_ORDER_FORWARD,
                            .field_count = corrections->field_count,
                            .basis_count = corrections->basis_count,
                            .row_count = corrections->vertex_count,
                            .deltas = (const float(*)[6])corrections->deltas,
                            .groups = corrections->groups,
                            .rows = examples->source,
                            .limits = corrections->limits,
                            .limit_after = corrections->limit_after,
                            .least = fmax(threshold / 100, noise) * m->diagonal,
                            .least_normal = threshold > 0 ? least_normal : noise_normal};
  double lost = sn_correct_least(options, m);
  if (corrections->weights) {
    c.weights = corrections->weights, c.lost = lost * lost, c.most = SN_RT_LANES * c.lost;
    c.normal_unit = normal_counts * lost / least_normal;
  }
  sn_model_desc desc = *base;
  desc.corrections = &c;
  desc.value_count = m->value_count, desc.value_ranges = ranges;
  desc.value_names = (const char *const *)examples->values.names;
  sn_status status = add_turns(ctx, &memory, m->turns, examples, keys, &desc);
  if (status == SN_OK) status = encode_fields(ctx, &memory, corrections, m, c.pose_spaces);
  if (status == SN_OK) status = sn_model_build(ctx, &desc, out);
  sn_arena_free(&memory);
  return status;
}
