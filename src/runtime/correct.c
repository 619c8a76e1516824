// SPDX-License-Identifier: MIT
// The correct slot: from pose vectors to the coefficients of the displacement fields (Murtagh 2008, 2.3.2 and 4.2). The kernels
// add the displacements to the vertices.
#include <math.h>

#include "runtime/check.h"
#include "runtime/terms.h"

static sn_rt_pose_spaces spaces_of(const sn_rt_model *model) {
  return (sn_rt_pose_spaces){sn_rt_data(model, SN_SECTION_CORRECT_FIELDS),
                             sn_rt_data(model, SN_SECTION_CORRECT_JOINTS),
                             sn_rt_data(model, SN_SECTION_CORRECT_NUMBERS),
                             sn_rt_data(model, SN_SECTION_JOINT_REFERENCE),
                             model->info.joint_count,
                             sn_rt_data(model, SN_SECTION_CORRECT_TERMS),
                             sn_rt_data(model, SN_SECTION_CORRECT_MIX)};
}

static uint64_t number_count(const sn_rt_field *f) {
  return sn_rt_metric_count(f) + (uint64_t)f->centre_count * ((uint64_t)f->axis_count + 1) +
         (f->mixed ? (uint64_t)f->basis_count * sn_rt_field_terms(f) : 0);
}

// ---- values ----------------------------------------------------------------------------------------------------------------

static void field_values(const sn_rt_pose_spaces *s, const sn_rt_field *f, const float *rotations, double *work,
                         float *values) {
  double *terms = work + f->axis_count;
  uint32_t count = sn_rt_field_terms(f);
  for (uint32_t a = 0; a < f->axis_count; a++) work[a] = sn_rt_axis(s, f, rotations, a);
  for (uint32_t t = 0; t < count; t++) terms[t] = sn_rt_term(s, f, work, t);
  if (f->kernel == SN_RT_KERNEL_SHEPARD) {
    double total = sn_rt_shepard_total(f, terms);
    for (uint32_t k = 0; k < f->centre_count; k++) terms[k] /= total;
  }
  for (uint32_t b = 0; b < f->basis_count; b++) values[b] = (float)sn_rt_basis(s, f, terms, b);
}

// Whether a joint or a value of the field has changed.
static int has_changed(const sn_rt_pose_spaces *s, const sn_rt_field *f, const sn_rt_scratch *scratch) {
  for (uint32_t n = 0; n < f->joint_count; n++)
    if (scratch->rotated[s->references[s->joints[f->first_joint + n]].joint]) return 1;
  return f->value_count > 0;
}

void sn_rt_make_values(const sn_rt_model *model, const sn_rt_scratch *scratch, int again) {
  const sn_rt_correct_head *head = sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  const sn_rt_field *fields = sn_rt_data(model, SN_SECTION_CORRECT_FIELDS);
  sn_rt_pose_spaces spaces = spaces_of(model);
  sn_rt_make_sums(model, &spaces, scratch, again);
  for (uint32_t n = 0; n < head->field_count; n++) {
    if (fields[n].kernel == SN_RT_KERNEL_SUM || (again && !has_changed(&spaces, fields + n, scratch))) continue;
    field_values(&spaces, fields + n, scratch->rotations, scratch->work, scratch->values + fields[n].first_basis);
  }
}

uint64_t sn_rt_value_count(const sn_rt_model *model) {
  const sn_rt_correct_head *head = sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  return head ? head->basis_count : 0;
}

uint64_t sn_rt_find_work_count(const sn_rt_model *model) {
  const sn_rt_correct_head *head = sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  const sn_rt_field *fields = sn_rt_data(model, SN_SECTION_CORRECT_FIELDS);
  uint64_t most = head ? 3 * (sn_rt_function_terms(model) + 2 * (uint64_t)SN_RT_PARTS) : 0; // in floats
  for (uint32_t n = 0; head && n < head->field_count; n++) {
    uint64_t count = 2 * ((uint64_t)fields[n].axis_count + sn_rt_field_terms(fields + n));
    if (fields[n].kernel == SN_RT_KERNEL_SUM) count = 3 * (fields[n].centre_count + 2 * (uint64_t)SN_RT_PARTS);
    if (count > most) most = count;
  }
  return most;
}

sn_rt_correcting sn_rt_new_correcting(const sn_rt_model *model, const sn_rt_scratch *scratch) {
  sn_rt_correcting c = {.stored = {.start = NULL}};
  const sn_rt_correct_head *head = sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  if (model->info.correct == SN_RT_CORRECT_NONE || head->entry_count == 0) return c;
  c.stored = sn_rt_stored_corrections_of(model);
  c.values = scratch->values;
  c.forward = head->order == SN_RT_ORDER_FORWARD;
  c.limit_after = c.stored.limits && head->limit_after;
  c.dense = head->entry_count >= model->info.block_count;
  return c;
}

uint32_t sn_rt_correct_values(const sn_rt_model *model, const void *scratch, const float **values) {
  const sn_rt_correct_head *head = sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  *values = NULL;
  if (!head) return 0;
  *values = sn_rt_scratch_at(model, scratch).values;
  return head->basis_count;
}

// ---- checks ----------------------------------------------------------------------------------------------------------------

static int known(const sn_rt_field *f) {
  return f->kernel < SN_RT_KERNEL_COUNT && f->metric < SN_RT_METRIC_COUNT && f->linear <= 1 && f->mixed <= 1;
}

// Whether these numbers of correct.joints are less than `limit`.
static int all_below(const sn_rt_checker *c, uint32_t first, uint32_t count, uint32_t limit) {
  const uint16_t *joints = sn_rt_data(c->model, SN_SECTION_CORRECT_JOINTS);
  for (uint32_t n = first; n < first + count; n++)
    if (joints[n] >= limit) return 0;
  return 1;
}

// Running totals over the preceding pose spaces.
typedef struct counts {
  uint64_t basis, number, mix;
} counts;

static sn_rt_status check_space(sn_rt_checker *c, const sn_rt_field *f, uint32_t index, counts *before) {
  uint64_t joint_count = sn_rt_size(c->model, SN_SECTION_CORRECT_JOINTS) / 2;
  if ((uint64_t)f->first_joint + f->joint_count + f->value_count > joint_count || f->joint_count > SN_RT_MAX_JOINTS ||
      f->value_count > SN_RT_MAX_JOINTS || !all_below(c, f->first_joint, f->joint_count, c->model->info.joint_count))
    return SN_RT_BAD(c, "pose space %u has joints that do not exist", index);
  if (!all_below(c, f->first_joint + f->joint_count, f->value_count, c->model->info.value_count))
    return SN_RT_BAD(c, "pose space %u has values that do not exist", index);
  if (f->axis_count > sn_rt_field_components(f) ||
      (f->metric != SN_RT_METRIC_MATRIX && f->axis_count != sn_rt_field_components(f)) || f->centre_count > 65535 ||
      f->basis_count > 65535)
    return SN_RT_BAD(c, "pose space %u has %u axes, %u poses and %u bases, which do not fit together", index,
                     f->axis_count, f->centre_count, f->basis_count);
  if (!f->mixed && f->basis_count != sn_rt_field_terms(f))
    return SN_RT_BAD(c, "pose space %u has %u bases instead of %u", index, f->basis_count, sn_rt_field_terms(f));
  if (f->first_number != before->number)
    return SN_RT_BAD(c, "pose space %u does not begin where the one before ends", index);
  before->number += number_count(f);
  SN_RT_TRY(sn_rt_need_items(c, SN_SECTION_CORRECT_NUMBERS, sizeof(double)));
  if (before->number > sn_rt_size(c->model, SN_SECTION_CORRECT_NUMBERS) / 8)
    return SN_RT_BAD(c, "section correct.numbers is too short");
  sn_rt_pose_spaces spaces = spaces_of(c->model);
  const double *widths = sn_rt_widths(&spaces, f);
  for (uint32_t k = 0; k < f->centre_count; k++)
    if (!(widths[k] > 1e-12 && widths[k] < 1e12))
      return SN_RT_BAD(c, "pose %u of pose space %u has no width", k, index);
  return SN_RT_OK;
}

static sn_rt_status check_field(sn_rt_checker *c, uint32_t index, counts *before) {
  const sn_rt_field *f = (const sn_rt_field *)sn_rt_data(c->model, SN_SECTION_CORRECT_FIELDS) + index;
  if (!known(f))
    return sn_rt_fail(c->error, SN_RT_UNSUPPORTED, "pose space %u is of a kind that this runtime does not know",
                      index);
  if (f->first_basis != before->basis)
    return SN_RT_BAD(c, "pose space %u does not begin where the one before ends", index);
  before->basis += f->basis_count;
  return f->kernel == SN_RT_KERNEL_SUM ? sn_rt_check_sum(c, f, index, &before->mix)
                                       : check_space(c, f, index, before);
}

static sn_rt_status check_fields(sn_rt_checker *c, const sn_rt_correct_head *head) {
  counts all = {0, 0, 0};
  SN_RT_TRY(sn_rt_check_terms(c, &all.mix));
  for (uint32_t n = 0; n < head->field_count; n++) SN_RT_TRY(check_field(c, n, &all));
  if (all.basis != head->basis_count)
    return SN_RT_BAD(c, "the pose spaces have %" PRIu64 " bases instead of %u", all.basis, head->basis_count);
  if (all.number * sizeof(double) != sn_rt_size(c->model, SN_SECTION_CORRECT_NUMBERS))
    return SN_RT_BAD(c, "section correct.numbers is too long");
  if (all.mix * sizeof(float) != sn_rt_size(c->model, SN_SECTION_CORRECT_MIX))
    return SN_RT_BAD(c, "section correct.mix has %" PRIu64 " bytes, and %" PRIu64 " have a use",
                     sn_rt_size(c->model, SN_SECTION_CORRECT_MIX), all.mix * sizeof(float));
  return SN_RT_OK;
}

static sn_rt_status check_entries(sn_rt_checker *c, const sn_rt_correct_head *head) {
  uint64_t count = head->entry_count;
  int packed = c->model->info.weight_bits == SN_RT_PACKED_BITS && sn_rt_data(c->model, SN_SECTION_PACK_ENTRIES);
  SN_RT_TRY(sn_rt_check_starts(c, SN_SECTION_CORRECT_START, c->model->info.block_count, count));
  if (packed) {
    uint64_t deltas = count * sn_rt_packed_delta_bytes(c->model->info.shade) + SN_RT_PACKED_TAIL;
    SN_RT_TRY(sn_rt_need(c, SN_SECTION_PACK_ENTRIES, count * sizeof(sn_rt_packed_entry)));
    SN_RT_TRY(sn_rt_need(c, SN_SECTION_PACK_DELTAS, deltas));
  } else {
    SN_RT_TRY(sn_rt_need(c, SN_SECTION_CORRECT_ENTRIES, count * sizeof(sn_rt_correct_entry)));
    SN_RT_TRY(sn_rt_need(c, SN_SECTION_CORRECT_DELTAS, count * 6 * SN_RT_LANES * sizeof(int16_t)));
  }
  sn_rt_stored_corrections stored = sn_rt_stored_corrections_of(c->model);
  for (uint32_t n = 0; n < count; n++) {
    sn_rt_correct_entry e = sn_rt_stored_entry(&stored, n);
    float size = e.position * e.position + e.normal * e.normal;
    if (!(size < 1e30f)) return SN_RT_BAD(c, "correction %u is not finite", n);
    if (e.basis >= head->basis_count) return SN_RT_BAD(c, "correction %u has no basis", n);
  }
  return SN_RT_OK;
}

// Limits must be positive: a limit of 0 would divide 0 by 0 at a displacement of 0.
static sn_rt_status check_limits(sn_rt_checker *c) {
  int packed = c->model->info.weight_bits == SN_RT_PACKED_BITS && sn_rt_data(c->model, SN_SECTION_PACK_LIMITS);
  sn_rt_section_id id = packed ? SN_SECTION_PACK_LIMITS : SN_SECTION_CORRECT_LIMITS;
  if (!sn_rt_data(c->model, id)) return SN_RT_OK;
  uint64_t count = (uint64_t)c->model->info.block_count * SN_RT_LANES;
  SN_RT_TRY(sn_rt_need(c, id, packed ? sizeof(float) + 2 * count : count * sizeof(float)));
  sn_rt_stored_corrections stored = sn_rt_stored_corrections_of(c->model);
  if (packed && !(stored.limit_unit > 0)) return SN_RT_BAD(c, "the limits of corrections have no unit");
  for (uint64_t n = 0; n < count; n++) {
    float limit = sn_rt_stored_limit(&stored, n / SN_RT_LANES, (uint32_t)(n % SN_RT_LANES));
    if (!(limit > 1e-18f && limit < 1e18f))
      return SN_RT_BAD(c, "the limit of corrections in place %u is no length", (uint32_t)n);
  }
  return SN_RT_OK;
}

sn_rt_status sn_rt_check_correct(sn_rt_checker *c) {
  const sn_rt_model *model = c->model;
  if (model->info.correct == SN_RT_CORRECT_NONE) return SN_RT_OK;
  SN_RT_TRY(sn_rt_need(c, SN_SECTION_CORRECT_HEAD, sizeof(sn_rt_correct_head)));
  const sn_rt_correct_head *head = sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  if (head->order > SN_RT_ORDER_FORWARD || head->zero)
    return sn_rt_fail(c->error, SN_RT_UNSUPPORTED, "the corrections are of a kind that this runtime does not know");
  if (head->limit_after &&
      (head->limit_after > 1 || head->order != SN_RT_ORDER_INVERSE || model->info.blend != SN_RT_BLEND_LINEAR))
    return SN_RT_BAD(c, "limits after the blend go with corrections before a linear one");
  if (head->basis_count > 65536) return SN_RT_BAD(c, "%u bases are too many", head->basis_count);
  if (model->info.joint_count) SN_RT_TRY(sn_rt_need_items(c, SN_SECTION_JOINT_REFERENCE, sizeof(sn_rt_reference)));
  if (sn_rt_data(model, SN_SECTION_CORRECT_JOINTS))
    SN_RT_TRY(sn_rt_need_items(c, SN_SECTION_CORRECT_JOINTS, sizeof(uint16_t)));
  if (sn_rt_data(model, SN_SECTION_CORRECT_NUMBERS))
    SN_RT_TRY(sn_rt_need_items(c, SN_SECTION_CORRECT_NUMBERS, sizeof(double)));
  SN_RT_TRY(sn_rt_check_doubles(c, SN_SECTION_CORRECT_NUMBERS));
  SN_RT_TRY(sn_rt_need(c, SN_SECTION_CORRECT_FIELDS, head->field_count * (uint64_t)sizeof(sn_rt_field)));
  SN_RT_TRY(check_fields(c, head));
  SN_RT_TRY(check_limits(c)); // first: check_entries reads the packed limits' unit
  return check_entries(c, head);
}
