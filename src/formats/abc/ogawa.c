// SPDX-License-Identifier: MIT
// The Ogawa container: groups of children and blocks of data.
#include "formats/abc/abc.h"

#include <string.h>

static const uint64_t data_bit = UINT64_C(1) << 63;

uint32_t sn_abc_u32(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint64_t sn_abc_u64(const uint8_t *p) { return sn_abc_u32(p) | (uint64_t)sn_abc_u32(p + 4) << 32; }

double sn_abc_f64(const uint8_t *p) {
  uint64_t bits = sn_abc_u64(p);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

sn_status sn_abc_damaged(sn_context *ctx, const sn_abc *abc, uint64_t position, const char *what) {
  return sn_fail(ctx, SN_BAD_FILE, "%s: damaged or cut: %s at byte %.0f of %.0f", abc->name, what, (double)position,
                 (double)abc->size);
}

sn_status sn_abc_group(sn_context *ctx, const sn_abc *abc, uint64_t position, uint64_t *count) {
  *count = 0;
  if (position == 0) return SN_OK; // the empty group
  if (position & data_bit) return sn_abc_damaged(ctx, abc, position & ~data_bit, "data where a group should be");
  if (abc->size < 8 || position > abc->size - 8) return sn_abc_damaged(ctx, abc, position, "a group behind the end");
  uint64_t children = sn_abc_u64(abc->bytes + position);
  if (children > (abc->size - 8 - position) / 8)
    return sn_abc_damaged(ctx, abc, position, "a group that is too long");
  *count = children;
  return SN_OK;
}

uint64_t sn_abc_child(const sn_abc *abc, uint64_t group, uint64_t k) {
  return sn_abc_u64(abc->bytes + group + 8 + 8 * k);
}

sn_status sn_abc_child_group(sn_context *ctx, const sn_abc *abc, uint64_t group, uint64_t k, uint64_t *out) {
  uint64_t count;
  *out = sn_abc_child(abc, group, k);
  return sn_abc_group(ctx, abc, *out, &count);
}

sn_status sn_abc_data(sn_context *ctx, const sn_abc *abc, uint64_t child, abc_span *out) {
  *out = (abc_span){abc->bytes, 0};
  uint64_t position = child & ~data_bit;
  if (!(child & data_bit)) return sn_abc_damaged(ctx, abc, position, "a group where data should be");
  if (position == 0) return SN_OK; // empty data
  if (abc->size < 8 || position > abc->size - 8) return sn_abc_damaged(ctx, abc, position, "data behind the end");
  uint64_t size = sn_abc_u64(abc->bytes + position);
  if (size > abc->size - 8 - position) return sn_abc_damaged(ctx, abc, position, "data that is too long");
  *out = (abc_span){abc->bytes + position + 8, size};
  return SN_OK;
}

bool sn_abc_is(abc_span span, const char *text) {
  return span.size == strlen(text) && memcmp(span.bytes, text, span.size) == 0;
}

abc_span sn_abc_meta(abc_span meta, const char *key) {
  size_t length = strlen(key);
  const uint8_t *p = meta.bytes, *end = p + meta.size;
  while (p < end) {
    const uint8_t *stop = memchr(p, ';', (size_t)(end - p));
    if (!stop) stop = end;
    if ((size_t)(stop - p) > length && memcmp(p, key, length) == 0 && p[length] == '=') {
      return (abc_span){p + length + 1, (uint64_t)(stop - p) - length - 1};
    }
    p = stop < end ? stop + 1 : end;
  }
  return (abc_span){meta.bytes, 0};
}
