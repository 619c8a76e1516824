// SPDX-License-Identifier: MIT
// Checks of single sections: size, indices, numbers.
#include "runtime/check.h"

#include <math.h>

static int there(sn_rt_checker *c, sn_rt_section_id id) {
  c->used |= (uint64_t)1 << id;
  return sn_rt_data(c->model, id) != NULL;
}

sn_rt_status sn_rt_need(sn_rt_checker *c, sn_rt_section_id id, uint64_t size) {
  if (!there(c, id)) return SN_RT_BAD(c, "section %s is missing", sn_rt_section_name(id));
  if (sn_rt_size(c->model, id) == size) return SN_RT_OK;
  return SN_RT_BAD(c, "section %s has %" PRIu64 " bytes instead of %" PRIu64, sn_rt_section_name(id),
                   sn_rt_size(c->model, id), size);
}

sn_rt_status sn_rt_need_if_there(sn_rt_checker *c, sn_rt_section_id id, uint64_t size) {
  return there(c, id) ? sn_rt_need(c, id, size) : SN_RT_OK;
}

sn_rt_status sn_rt_need_items(sn_rt_checker *c, sn_rt_section_id id, uint64_t item_size) {
  if (!there(c, id)) return SN_RT_BAD(c, "section %s is missing", sn_rt_section_name(id));
  if (sn_rt_size(c->model, id) % item_size == 0) return SN_RT_OK;
  return SN_RT_BAD(c, "section %s has %" PRIu64 " bytes, not a multiple of %" PRIu64, sn_rt_section_name(id),
                   sn_rt_size(c->model, id), item_size);
}

sn_rt_status sn_rt_need_floats(sn_rt_checker *c, sn_rt_section_id id, uint64_t count) {
  SN_RT_TRY(sn_rt_need(c, id, count * sizeof(float)));
  return sn_rt_check_floats(c, id);
}

sn_rt_status sn_rt_need_floats_if_there(sn_rt_checker *c, sn_rt_section_id id, uint64_t count) {
  return there(c, id) ? sn_rt_need_floats(c, id, count) : SN_RT_OK;
}

// Numbers of 1 or 2 words (float, double). All exponent bits of the last word are set if the number is not finite.
static sn_rt_status check_finite(sn_rt_checker *c, sn_rt_section_id id, uint32_t words, uint32_t exponent) {
  const uint32_t *bits = sn_rt_data(c->model, id);
  uint64_t count = sn_rt_size(c->model, id) / sizeof *bits / words;
  for (uint64_t n = 0; n < count; n++)
    if ((bits[words * n + words - 1] & exponent) == exponent)
      return SN_RT_BAD(c, "number %" PRIu64 " of section %s is not finite", n, sn_rt_section_name(id));
  return SN_RT_OK;
}

sn_rt_status sn_rt_check_floats(sn_rt_checker *c, sn_rt_section_id id) { return check_finite(c, id, 1, 0x7f800000u); }
sn_rt_status sn_rt_check_doubles(sn_rt_checker *c, sn_rt_section_id id) {
  return check_finite(c, id, 2, 0x7ff00000u);
}

sn_rt_status sn_rt_check_below(sn_rt_checker *c, sn_rt_section_id id, uint32_t bytes, uint32_t limit,
                               const char *what) {
  const void *values = sn_rt_data(c->model, id);
  uint64_t count = sn_rt_size(c->model, id) / bytes;
  for (uint64_t n = 0; n < count; n++) {
    uint32_t value = bytes == 1   ? ((const uint8_t *)values)[n]
                     : bytes == 2 ? ((const uint16_t *)values)[n]
                                  : ((const uint32_t *)values)[n];
    if (value >= limit)
      return SN_RT_BAD(c, "number %" PRIu64 " of section %s is no %s", n, sn_rt_section_name(id), what);
  }
  return SN_RT_OK;
}

sn_rt_status sn_rt_check_starts(sn_rt_checker *c, sn_rt_section_id id, uint64_t count, uint64_t total) {
  SN_RT_TRY(sn_rt_need(c, id, (count + 1) * sizeof(uint32_t)));
  const uint32_t *start = sn_rt_data(c->model, id);
  if (start[0] != 0 || start[count] != total)
    return SN_RT_BAD(c, "section %s does not end at %" PRIu64, sn_rt_section_name(id), total);
  for (uint64_t n = 0; n < count; n++)
    if (start[n + 1] < start[n])
      return SN_RT_BAD(c, "part %" PRIu64 " of section %s has no end", n, sn_rt_section_name(id));
  return SN_RT_OK;
}

int sn_rt_all_finite(const float *values, uint64_t count) {
  for (uint64_t n = 0; n < count; n++)
    if (!isfinite(values[n])) return 0;
  return 1;
}
