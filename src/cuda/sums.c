// SPDX-License-Identifier: MIT
// Pose spaces that are sums of terms, laid out for the GPU.
#include "cuda/sums.h"

#include <stdlib.h>

#include "runtime/portable.h"

static void add_sum(const sn_rt_model *model, const sn_rt_field *f, sn_cuda_sums *out) {
  const uint16_t *groups = (const uint16_t *)sn_rt_data(model, SN_SECTION_CORRECT_JOINTS) + f->first_joint;
  const float *mix = (const float *)sn_rt_data(model, SN_SECTION_CORRECT_MIX) + f->first_number;
  const uint32_t count = f->centre_count, padded = (count + SN_RT_PARTS - 1) / SN_RT_PARTS * SN_RT_PARTS;
  sn_cuda_sum s = {out->place_count, padded,          f->first_basis,
                   f->basis_count,   out->quad_count, (f->basis_count + 3) / 4};
  for (uint32_t n = 0; out->places && n < f->joint_count; n++)
    for (uint32_t t = out->first_term[groups[n]]; t < out->first_term[groups[n] + 1]; t++)
      out->places[out->place_count++] = t;
  for (uint32_t t = count; out->places && t < padded; t++)
    out->places[s.first_place + t] = out->places[s.first_place + count - 1];
  for (uint32_t t = 0; out->mix && t < count; t++)
    for (uint32_t b = 0; b < s.basis_count; b++)
      out->mix[s.first_quad + (size_t)t * s.quads + b / 4][b % 4] = mix[(size_t)b * count + t];
  out->place_count = s.first_place + padded, out->quad_count += padded * s.quads;
  if (out->sums) out->sums[out->sum_count] = s;
  out->sum_count++;
}

static void add_sums(const sn_rt_model *model, sn_cuda_sums *out) {
  const sn_rt_correct_head *head = sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  const sn_rt_field *fields = sn_rt_data(model, SN_SECTION_CORRECT_FIELDS);
  out->sum_count = out->place_count = out->quad_count = 0;
  for (uint32_t n = 0; n < head->field_count; n++)
    if (fields[n].kernel == SN_RT_KERNEL_SUM) add_sum(model, fields + n, out);
}

// The first walk counts, the second one fills.
int sn_cuda_sums_make(const sn_rt_model *model, sn_cuda_sums *out) {
  const sn_rt_terms *terms = sn_rt_data(model, SN_SECTION_CORRECT_TERMS);
  *out = (sn_cuda_sums){0};
  if (model->info.correct == SN_RT_CORRECT_NONE) return 1;
  out->group_count = (uint32_t)(sn_rt_size(model, SN_SECTION_CORRECT_TERMS) / sizeof *terms);
  add_sums(model, out);
  if (!out->sum_count) return 1;
  out->sums = calloc(out->sum_count, sizeof *out->sums);
  out->first_term = calloc((size_t)out->group_count + 1, sizeof *out->first_term);
  out->places = calloc((size_t)out->place_count + 1, sizeof *out->places);
  out->mix = calloc((size_t)out->quad_count + 1, sizeof *out->mix);
  if (!out->sums || !out->first_term || !out->places || !out->mix) return 0;
  for (uint32_t n = 0; n < out->group_count; n++) out->first_term[n + 1] = out->first_term[n] + terms[n].count;
  out->term_count = out->first_term[out->group_count];
  add_sums(model, out);
  return 1;
}

void sn_cuda_sums_free(sn_cuda_sums *sums) {
  free(sums->sums), free(sums->first_term), free(sums->places), free(sums->mix);
  *sums = (sn_cuda_sums){0};
}
