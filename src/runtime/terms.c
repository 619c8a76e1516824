// SPDX-License-Identifier: MIT
// Pose spaces whose bases are sums over terms: evaluates the terms once per frame and sums them with the kernels; checks.
#include "runtime/terms.h"

#include "runtime/check.h"

static uint32_t group_count(const sn_rt_model *model) {
  return (uint32_t)(sn_rt_size(model, SN_SECTION_CORRECT_TERMS) / sizeof(sn_rt_terms));
}

uint64_t sn_rt_find_term_count(const sn_rt_model *model) {
  const sn_rt_terms *terms = sn_rt_data(model, SN_SECTION_CORRECT_TERMS);
  uint64_t count = 0;
  for (uint32_t n = 0; n < group_count(model); n++) count += terms[n].count;
  return count;
}

uint64_t sn_rt_term_floats(const sn_rt_model *model) {
  if (!sn_rt_data(model, SN_SECTION_CORRECT_TERMS)) return 0;
  return sn_rt_at(model)->term_count + SN_RT_PARTS +
         group_count(model) * (uint64_t)(sizeof(sn_rt_term_group) / sizeof(float));
}

// ---- values ----------------------------------------------------------------------------------------------------------------

// Two loops, so that the second one vectorises.
static void fill_gaussians(const float p[3], const float *centres, float factor, uint32_t count, float *out) {
  for (uint32_t k = 0; k < count; k++) out[k] = sn_rt_gauss_exponent(p, centres + 3 * (size_t)k, factor);
  for (uint32_t k = 0; k < count; k++) out[k] = sn_rt_half_power(out[k]);
}

static void fill_terms(const sn_rt_pose_spaces *s, const sn_rt_terms *t, const float *rotations, float *out) {
  float p[3];
  if (t->kind == SN_RT_TERMS_GAUSS) {
    sn_rt_term_vector(s, t->a, t->rest[0], rotations, p);
    fill_gaussians(p, s->mix + t->first, sn_rt_gauss_factor(t->width), t->count, out);
  } else {
    sn_rt_plain_terms(s, t, rotations, out);
  }
}

// Number of terms of the consecutive groups a .. a + b - 1 that functions sum.
static uint32_t source_count(const sn_rt_terms *terms, const sn_rt_terms *t) {
  uint32_t count = 0;
  for (uint32_t n = t->a; n < (uint32_t)t->a + t->b; n++) count += terms[n].count;
  return count;
}

uint64_t sn_rt_function_terms(const sn_rt_model *model) {
  const sn_rt_terms *terms = sn_rt_data(model, SN_SECTION_CORRECT_TERMS);
  uint64_t most = 0;
  for (uint32_t n = 0; n < group_count(model); n++) {
    uint64_t count = terms[n].kind == SN_RT_TERMS_FUNCTIONS ? source_count(terms, terms + n) : 0;
    if (count > most) most = count;
  }
  return most;
}

static int terms_changed(const sn_rt_pose_spaces *s, const sn_rt_terms *t, const sn_rt_scratch *scratch) {
  if (t->kind == SN_RT_TERMS_FUNCTIONS) {
    for (uint32_t n = t->a; n < (uint32_t)t->a + t->b; n++)
      if (scratch->term_groups[n].changed) return 1;
    return 0;
  }
  if (t->kind == SN_RT_TERMS_VALUE || scratch->rotated[s->references[t->a].joint]) return 1;
  return t->kind == SN_RT_TERMS_PAIR && scratch->rotated[s->references[t->b].joint];
}

// State of the sums of one frame.
typedef struct summing {
  sn_rt_pose_spaces spaces;
  const sn_rt_scratch *scratch;
  void (*mix)(const sn_rt_mix_job *job);
  uint64_t mix_count; // numbers of correct.mix
  float *rows[3];     // two of terms, one of the mix
} summing;

// Kernels read up to seven numbers past a row of the mix. Rows at the end of the section are copied and padded with zeros.
static void mix_rows(const summing *s, uint32_t first, sn_rt_mix_job job) {
  job.mix = s->spaces.mix + first;
  if (first + (uint64_t)job.basis_count * job.count + SN_RT_PARTS <= s->mix_count) {
    s->mix(&job);
    return;
  }
  float *row = s->rows[2];
  uint32_t rows = job.basis_count;
  job.mix = row, job.basis_count = 1;
  for (uint32_t b = 0; b < rows; b++, job.values++) {
    memcpy(row, s->spaces.mix + first + (size_t)b * job.count, job.count * sizeof *row);
    memset(row + job.count, 0, SN_RT_PARTS * sizeof *row);
    s->mix(&job);
  }
}

static void mix_field(const summing *s, const sn_rt_field *f, const float *terms) {
  sn_rt_mix_job job = {terms, NULL, f->centre_count, f->basis_count, s->scratch->values + f->first_basis};
  mix_rows(s, f->first_number, job);
}

// Evaluates functions, stored after the terms that they sum.
static void fill_functions(const summing *s, const sn_rt_terms *t, float *out) {
  float *row = s->rows[0];
  uint32_t count = source_count(s->spaces.terms, t);
  memcpy(row, s->scratch->terms + s->scratch->term_groups[t->a].first, count * sizeof *row);
  memset(row + count, 0, SN_RT_PARTS * sizeof *row);
  mix_rows(s, t->first, (sn_rt_mix_job){row, NULL, count, t->count, out});
}

static void make_terms(const sn_rt_model *model, const summing *s, int again) {
  const sn_rt_scratch *scratch = s->scratch;
  uint32_t first = 0;
  for (uint32_t n = 0; n < group_count(model); n++) {
    const sn_rt_terms *t = s->spaces.terms + n;
    sn_rt_term_group group = {first, !again || terms_changed(&s->spaces, t, scratch)};
    if (group.changed && t->kind == SN_RT_TERMS_FUNCTIONS)
      fill_functions(s, t, scratch->terms + first);
    else if (group.changed)
      fill_terms(&s->spaces, t, scratch->rotations, scratch->terms + first);
    scratch->term_groups[n] = group;
    first += t->count;
  }
}

static int field_changed(const sn_rt_pose_spaces *s, const sn_rt_field *f, const sn_rt_scratch *scratch) {
  const uint16_t *groups = s->joints + f->first_joint;
  for (uint32_t n = 0; n < f->joint_count; n++)
    if (scratch->term_groups[groups[n]].changed) return 1;
  return 0;
}

// Gathers the field's terms, eight at a time: surplus numbers are overwritten by the next group, or zeroed at the end.
static void gather_terms(const sn_rt_pose_spaces *s, const sn_rt_field *f, const sn_rt_scratch *scratch, float *row) {
  const uint16_t *groups = s->joints + f->first_joint;
  for (uint32_t n = 0; n < f->joint_count; n++) {
    const float *from = scratch->terms + scratch->term_groups[groups[n]].first;
    uint32_t count = s->terms[groups[n]].count;
    for (uint32_t t = 0; t < count; t += SN_RT_PARTS) memcpy(row + t, from + t, SN_RT_PARTS * sizeof *row);
    row += count;
  }
  memset(row, 0, SN_RT_PARTS * sizeof *row);
}

// Gathers terms one pose space ahead: vector loads of just-written scalars would stall on store forwarding.
void sn_rt_make_sums(const sn_rt_model *model, const sn_rt_pose_spaces *spaces, const sn_rt_scratch *scratch,
                     int again) {
  if (!spaces->terms) return;
  const sn_rt_correct_head *head = sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  const sn_rt_field *waiting = NULL;
  size_t row = sn_rt_at(model)->work_count / 3;
  float *work = (float *)(void *)scratch->work;
  summing s = {*spaces,
               scratch,
               sn_rt_kernels_of((sn_rt_path)*scratch->path)->mix,
               sn_rt_size(model, SN_SECTION_CORRECT_MIX) / sizeof(float),
               {work, work + row, work + 2 * row}};
  make_terms(model, &s, again);
  for (const sn_rt_field *f = spaces->fields; f < spaces->fields + head->field_count; f++) {
    if (f->kernel != SN_RT_KERNEL_SUM || (again && !field_changed(spaces, f, scratch))) continue;
    gather_terms(spaces, f, scratch, s.rows[1]);
    if (waiting) mix_field(&s, waiting, s.rows[0]);
    float *filled = s.rows[1];
    s.rows[1] = s.rows[0], s.rows[0] = filled, waiting = f;
  }
  if (waiting) mix_field(&s, waiting, s.rows[0]);
}

uint64_t sn_rt_term_work(const sn_rt_model *model) {
  enum { gauss_work = 26, other_work = 2 };
  const sn_rt_terms *terms = sn_rt_data(model, SN_SECTION_CORRECT_TERMS);
  uint64_t work = 2 * (sn_rt_size(model, SN_SECTION_CORRECT_MIX) / sizeof(float));
  for (uint32_t n = 0; n < group_count(model); n++)
    work += terms[n].count * (uint64_t)(terms[n].kind == SN_RT_TERMS_GAUSS ? gauss_work : other_work);
  return work;
}

// ---- checks ----------------------------------------------------------------------------------------------------------------

static int count_fits(const sn_rt_terms *t) {
  if (t->kind == SN_RT_TERMS_GAUSS || t->kind == SN_RT_TERMS_FUNCTIONS) return t->count > 0;
  return t->kind == SN_RT_TERMS_VALUE ? t->count == 1 || t->count == 2 : t->count == SN_RT_QUADRATIC;
}

static sn_rt_status check_functions(const sn_rt_checker *c, uint32_t index, uint64_t *numbers) {
  const sn_rt_terms *terms = sn_rt_data(c->model, SN_SECTION_CORRECT_TERMS), *t = terms + index;
  if (!t->b || (uint32_t)t->a + t->b > index)
    return SN_RT_BAD(c, "the functions of term group %u are not of groups before it", index);
  for (uint32_t n = t->a; n < (uint32_t)t->a + t->b; n++)
    if (terms[n].kind == SN_RT_TERMS_FUNCTIONS)
      return SN_RT_BAD(c, "the functions of term group %u are of functions", index);
  uint64_t count = source_count(terms, t), size = count * t->count;
  if (t->width != 0 || t->first + size > sn_rt_size(c->model, SN_SECTION_CORRECT_MIX) / sizeof(float))
    return SN_RT_BAD(c, "the functions of term group %u lie beyond the end of correct.mix", index);
  for (int k = 0; k < 6; k++)
    if (t->rest[k / 3][k % 3] != 0) return SN_RT_BAD(c, "the functions of term group %u have a rest pose", index);
  *numbers += size;
  return SN_RT_OK;
}

sn_rt_status sn_rt_check_term_group(const sn_rt_checker *c, const sn_rt_terms *t, uint32_t index, uint64_t *numbers) {
  const sn_rt_info *info = &c->model->info;
  int pair = t->kind == SN_RT_TERMS_PAIR, gauss = t->kind == SN_RT_TERMS_GAUSS, value = t->kind == SN_RT_TERMS_VALUE;
  if (t->kind >= SN_RT_TERMS_COUNT)
    return sn_rt_fail(c->error, SN_RT_UNSUPPORTED, "term group %u is of a kind that this runtime does not know",
                      index);
  if (!count_fits(t)) return SN_RT_BAD(c, "term group %u of kind %u has %u terms", index, t->kind, t->count);
  if (t->kind == SN_RT_TERMS_FUNCTIONS) return check_functions(c, index, numbers);
  if (t->a >= (value ? info->value_count : info->joint_count) || (pair ? t->b >= info->joint_count : t->b))
    return SN_RT_BAD(c, "term group %u has a joint or a value that does not exist", index);
  if (!sn_rt_all_finite(t->rest[0], 6)) return SN_RT_BAD(c, "the rest pose of term group %u is not finite", index);
  if (gauss ? !(t->width > 1e-6f && t->width < 1e6f) : t->width != 0)
    return SN_RT_BAD(c, "the width of term group %u is out of range", index);
  uint64_t centres = gauss ? 3 * (uint64_t)t->count : 0;
  if (gauss ? t->first + centres > sn_rt_size(c->model, SN_SECTION_CORRECT_MIX) / sizeof(float) : t->first)
    return SN_RT_BAD(c, "the centres of term group %u lie beyond the end of correct.mix", index);
  *numbers += centres;
  return SN_RT_OK;
}

sn_rt_status sn_rt_check_terms(sn_rt_checker *c, uint64_t *numbers) {
  const sn_rt_terms *terms = sn_rt_data(c->model, SN_SECTION_CORRECT_TERMS);
  *numbers = 0;
  if (sn_rt_data(c->model, SN_SECTION_CORRECT_MIX))
    SN_RT_TRY(sn_rt_need_items(c, SN_SECTION_CORRECT_MIX, sizeof(float)));
  SN_RT_TRY(sn_rt_check_floats(c, SN_SECTION_CORRECT_MIX));
  if (terms) SN_RT_TRY(sn_rt_need_items(c, SN_SECTION_CORRECT_TERMS, sizeof *terms));
  if (group_count(c->model) > SN_RT_MAX_TERM_GROUPS)
    return SN_RT_BAD(c, "section correct.terms has more than %u groups", SN_RT_MAX_TERM_GROUPS);
  for (uint32_t n = 0; n < group_count(c->model); n++) SN_RT_TRY(sn_rt_check_term_group(c, terms + n, n, numbers));
  return SN_RT_OK;
}

sn_rt_status sn_rt_check_sum(sn_rt_checker *c, const sn_rt_field *f, uint32_t index, uint64_t *numbers) {
  const uint16_t *groups = sn_rt_data(c->model, SN_SECTION_CORRECT_JOINTS);
  const sn_rt_terms *terms = sn_rt_data(c->model, SN_SECTION_CORRECT_TERMS);
  if (f->metric != SN_RT_METRIC_EUCLID || f->linear || !f->mixed || f->value_count || f->axis_count)
    return SN_RT_BAD(c, "pose space %u is a sum of terms and has a metric, values or axes", index);
  if (f->first_joint + (uint64_t)f->joint_count > sn_rt_size(c->model, SN_SECTION_CORRECT_JOINTS) / sizeof *groups)
    return SN_RT_BAD(c, "the terms of pose space %u lie beyond the end of correct.joints", index);
  uint64_t count = 0;
  for (uint32_t n = 0; n < f->joint_count; n++) {
    uint32_t group = groups[f->first_joint + n];
    if (group >= group_count(c->model)) return SN_RT_BAD(c, "pose space %u has terms that do not exist", index);
    count += terms[group].count;
    if (count > f->centre_count) break;
  }
  if (count == 0 || count != f->centre_count || count > 65535 || f->basis_count == 0 || f->basis_count > 65535)
    return SN_RT_BAD(c, "pose space %u has %u bases of %u terms, which do not fit together", index, f->basis_count,
                     f->centre_count);
  uint64_t size = (uint64_t)f->basis_count * f->centre_count;
  if (f->first_number + size > sn_rt_size(c->model, SN_SECTION_CORRECT_MIX) / sizeof(float))
    return SN_RT_BAD(c, "the mix of pose space %u lies beyond the end of correct.mix", index);
  *numbers += size;
  return SN_RT_OK;
}
