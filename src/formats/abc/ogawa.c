// SPDX-License-Identifier: MIT
// The Ogawa container: groups of children and blocks of data.
#include "formats/abc/abc.h"

#include <string.h>

#include "base/number.h"

static const uint64_t data_bit = UINT64_C(1) << 63;

uint32_t sn_abc_u32(const uint8_t *p) { return (uint32_t)sn_little(p, 4); }

double sn_abc_f64(const uint8_t *p) {
  uint64_t bits = sn_little(p, 8);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

void sn_abc_begin(sn_context *ctx, sn_abc *abc) { abc->ctx = ctx, abc->status = SN_OK; }

void sn_abc_failed(sn_abc *abc) { abc->status = sn_fail_prefix(abc->ctx, "%s: ", abc->name); }

void sn_abc_damaged(sn_abc *abc, uint64_t position, const char *what) {
  sn_abc_fail(abc, SN_BAD_FILE, "damaged or cut: %s at byte %.0f of %.0f", what, (double)position, (double)abc->size);
}

// The count at the start of a group or data, in units of `unit` bytes; 0 if the content does not fit into the file.
static uint64_t count_at(sn_abc *abc, uint64_t position, uint64_t unit) {
  static const char *const trouble[][2] = {{"data behind the end", "data that is too long"},
                                           {"a group behind the end", "a group that is too long"}};
  uint64_t count = 0;
  if (abc->status != SN_OK) return 0;
  if (abc->size < 8 || position > abc->size - 8) {
    sn_abc_damaged(abc, position, trouble[unit > 1][0]);
  } else {
    count = sn_little(abc->bytes + position, 8);
    if (count > (abc->size - 8 - position) / unit) sn_abc_damaged(abc, position, trouble[unit > 1][1]);
  }
  return abc->status == SN_OK ? count : 0;
}

uint64_t sn_abc_group(sn_abc *abc, uint64_t position) {
  if (position & data_bit) sn_abc_damaged(abc, position & ~data_bit, "data where a group should be");
  return position == 0 ? 0 : count_at(abc, position, 8); // 0: the empty group
}

uint64_t sn_abc_child(const sn_abc *abc, uint64_t group, uint64_t k) {
  return abc->status == SN_OK ? sn_little(abc->bytes + group + 8 + 8 * k, 8) : 0;
}

uint64_t sn_abc_child_group(sn_abc *abc, uint64_t group, uint64_t k) {
  uint64_t child = sn_abc_child(abc, group, k);
  sn_abc_group(abc, child);
  return abc->status == SN_OK ? child : 0;
}

abc_span sn_abc_data(sn_abc *abc, uint64_t child) {
  uint64_t position = child & ~data_bit;
  if (!(child & data_bit)) sn_abc_damaged(abc, position, "a group where data should be");
  uint64_t size = position == 0 ? 0 : count_at(abc, position, 1); // 0: empty data
  return (abc_span){size > 0 ? abc->bytes + position + 8 : abc->bytes, size, 0};
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
      return (abc_span){p + length + 1, (uint64_t)(stop - p) - length - 1, 0};
    }
    p = stop < end ? stop + 1 : end;
  }
  return (abc_span){meta.bytes, 0, 0};
}

uint32_t sn_abc_take(abc_cursor *c, int size) {
  if (c->end - c->p < size) c->bad = true;
  if (c->bad) return 0;
  c->p += size;
  return (uint32_t)sn_little(c->p - size, size);
}

abc_span sn_abc_take_text(abc_cursor *c, uint32_t size) {
  if ((uint64_t)(c->end - c->p) < size) c->bad = true;
  if (c->bad) return (abc_span){c->end, 0, 0};
  c->p += size;
  return (abc_span){c->p - size, size, 0};
}

abc_span sn_abc_take_meta(abc_cursor *c, const sn_abc *abc, uint32_t number, int width) {
  enum { inlined = 0xff };
  if (number == inlined) return sn_abc_take_text(c, sn_abc_take(c, width));
  if (number >= (uint32_t)abc->meta_count) c->bad = true;
  return c->bad ? (abc_span){c->end, 0, 0} : abc->metas[number];
}
