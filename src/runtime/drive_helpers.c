// SPDX-License-Identifier: MIT
// The drive `helpers`: the joints themselves, then helper joints that move relative to one of them as functions of the pose.
#include "runtime/check.h"
#include "runtime/drive.h"
#include "runtime/helper.h"

_Static_assert(sizeof(sn_rt_helper) == 80 && sizeof(sn_rt_linear) == 8, "sizes of the file");

static uint32_t helper_count(const sn_rt_model *model) { return model->info.palette_count - model->info.joint_count; }

enum { row_size = SN_RT_HELPER_ROW * sizeof(float) };
static uint64_t items(const sn_rt_model *m, sn_rt_section_id id, size_t size) { return sn_rt_size(m, id) / size; }

// Terms of helper n's groups, which follow those of the helper before it, as its rows do.
static sn_rt_status check_helper(sn_rt_checker *c, uint32_t n, uint64_t *group, uint64_t *row) {
  const sn_rt_helper *h = (const sn_rt_helper *)sn_rt_data(c->model, SN_SECTION_DRIVE_HELPERS) + n;
  const sn_rt_terms *terms = sn_rt_data(c->model, SN_SECTION_DRIVE_TERMS);
  uint64_t groups = items(c->model, SN_SECTION_DRIVE_TERMS, sizeof(sn_rt_terms)), unused = 0;
  if (h->parent != SN_RT_NO_JOINT && h->parent >= c->model->info.joint_count)
    return SN_RT_BAD(c, "helper %u is a child of a joint that does not exist", n);
  if (h->first_group != *group || h->group_count > groups - *group || h->first_row != *row)
    return SN_RT_BAD(c, "the terms of helper %u do not follow those before", n);
  if (!sn_rt_all_finite(h->centre, 3 + 2 * SN_RT_HELPER_CHANNELS))
    return SN_RT_BAD(c, "the numbers of helper %u are not finite", n);
  for (int k = 0; k < SN_RT_HELPER_CHANNELS; k++)
    if (h->low[k] > h->high[k]) return SN_RT_BAD(c, "channel %u of helper %u has no range", (unsigned)k, n);
  if (h->low[SN_RT_HELPER_CHANNELS - 1] <= -1) return SN_RT_BAD(c, "helper %u may shrink to nothing", n);
  for (uint32_t g = 0; g < h->group_count; g++, ++*group) {
    const sn_rt_terms *t = terms + *group;
    if (t->kind == SN_RT_TERMS_GAUSS || t->kind == SN_RT_TERMS_FUNCTIONS)
      return SN_RT_BAD(c, "helper %u has terms of kind %u", n, t->kind);
    SN_RT_TRY(sn_rt_check_term_group(c, t, (uint32_t)*group, &unused));
    if (t->kind != SN_RT_TERMS_VALUE && !sn_rt_data(c->model, SN_SECTION_JOINT_REFERENCE))
      return SN_RT_BAD(c, "helper %u has joints to drive it, and there is no joint.reference", n);
    *row += t->count;
  }
  return *row <= items(c->model, SN_SECTION_DRIVE_MIX, row_size)
           ? SN_RT_OK
           : SN_RT_BAD(c, "the functions of helper %u lie beyond drive.mix", n);
}

static sn_rt_status check_linear(sn_rt_checker *c) {
  const sn_rt_linear *at = sn_rt_data(c->model, SN_SECTION_DRIVE_LINEAR);
  SN_RT_TRY(sn_rt_need_items(c, SN_SECTION_DRIVE_LINEAR, sizeof *at));
  for (uint32_t n = 0; n < items(c->model, SN_SECTION_DRIVE_LINEAR, sizeof(sn_rt_linear)); n++) {
    uint32_t helper = at[n].place / SN_RT_LINEAR_PLACES, channel = at[n].place % SN_RT_LINEAR_PLACES;
    if (at[n].value != SN_RT_NO_JOINT && at[n].value >= c->model->info.value_count)
      return SN_RT_BAD(c, "number %u of drive.linear is of a value that does not exist", n);
    if (helper >= helper_count(c->model) || (channel >= SN_RT_LINEAR_CHANNELS && channel != SN_RT_LINEAR_FACTOR))
      return SN_RT_BAD(c, "number %u of drive.linear is of a channel that does not exist", n);
    if (n > 0 && helper < at[n - 1].place / SN_RT_LINEAR_PLACES)
      return SN_RT_BAD(c, "number %u of drive.linear is not in the order of the helpers", n);
    if (!sn_rt_all_finite(&at[n].number, 1)) return SN_RT_BAD(c, "number %u of drive.linear is not finite", n);
  }
  return SN_RT_OK;
}

static sn_rt_status check(sn_rt_checker *c) {
  uint64_t group = 0, row = 0;
  int linear = sn_rt_data(c->model, SN_SECTION_DRIVE_LINEAR) != NULL;
  if (c->model->info.blend != SN_RT_BLEND_LINEAR) return SN_RT_BAD(c, "helpers drive linear blends");
  SN_RT_TRY(sn_rt_need(c, SN_SECTION_DRIVE_HELPERS, (uint64_t)helper_count(c->model) * sizeof(sn_rt_helper)));
  if (linear) SN_RT_TRY(check_linear(c));
  if (!linear || sn_rt_data(c->model, SN_SECTION_DRIVE_TERMS) || sn_rt_data(c->model, SN_SECTION_DRIVE_MIX)) {
    SN_RT_TRY(sn_rt_need_items(c, SN_SECTION_DRIVE_TERMS, sizeof(sn_rt_terms)));
    SN_RT_TRY(sn_rt_need_items(c, SN_SECTION_DRIVE_MIX, row_size));
  }
  SN_RT_TRY(sn_rt_check_floats(c, SN_SECTION_DRIVE_MIX));
  for (uint32_t n = 0; n < helper_count(c->model); n++) SN_RT_TRY(check_helper(c, n, &group, &row));
  if (row != items(c->model, SN_SECTION_DRIVE_MIX, row_size) ||
      group != items(c->model, SN_SECTION_DRIVE_TERMS, sizeof(sn_rt_terms)))
    return SN_RT_BAD(c, "drive.terms or drive.mix has more than the helpers' functions");
  return SN_RT_OK;
}

static uint64_t work(const sn_rt_model *model) {
  enum { local = 110 }; // about: the matrix of a helper, and its product with the parent's
  return 2 * SN_RT_HELPER_ROW * items(model, SN_SECTION_DRIVE_MIX, row_size) +
         2 * items(model, SN_SECTION_DRIVE_LINEAR, sizeof(sn_rt_linear)) + local * (uint64_t)helper_count(model);
}

static void run(const sn_rt_model *model, const sn_rt_input *input, const sn_rt_keeping *keeping, void *space,
                float *palette) {
  const sn_rt_helper *helpers = sn_rt_data(model, SN_SECTION_DRIVE_HELPERS);
  sn_rt_pose_spaces spaces = {.references = sn_rt_data(model, SN_SECTION_JOINT_REFERENCE),
                              .joint_count = model->info.joint_count,
                              .terms = sn_rt_data(model, SN_SECTION_DRIVE_TERMS),
                              .mix = sn_rt_data(model, SN_SECTION_DRIVE_MIX)};
  const sn_rt_linear *linear = sn_rt_data(model, SN_SECTION_DRIVE_LINEAR);
  const sn_rt_linear *end = linear ? linear + items(model, SN_SECTION_DRIVE_LINEAR, sizeof(sn_rt_linear)) : NULL;
  const float *values = keeping->rotations + 8 * (size_t)model->info.joint_count;
  float *entry = palette + 16 * (size_t)model->info.joint_count; // first its channels, then its matrix
  (void)input, (void)space;
  for (uint32_t n = 0; n < helper_count(model); n++)
    sn_rt_helper_channels(helpers + n, &spaces, keeping->rotations, entry + 16 * (size_t)n);
  for (uint32_t n = 0; n < helper_count(model); n++, entry += 16) {
    const sn_rt_helper *h = helpers + n;
    float added[SN_RT_LINEAR_PLACES], local[12];
    sn_rt_helper_local(h->centre, entry, local);
    if (linear) {
      linear = sn_rt_helper_linear(linear, end, n, values, added);
      sn_rt_helper_add(h->centre, added, local);
    }
    sn_rt_helper_matrix(h->parent == SN_RT_NO_JOINT ? NULL : palette + 16 * (size_t)h->parent, local, entry);
  }
}

const sn_rt_driver sn_rt_driver_helpers = {check, NULL, work, run};
