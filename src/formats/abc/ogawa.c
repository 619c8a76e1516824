// SPDX-License-Identifier: MIT
// The Ogawa container: groups of children and blocks of data; properties, their samples and times.
#include "formats/abc/abc.h"

#include <string.h>

#include "base/number.h"

static const uint64_t data_bit = UINT64_C(1) << 63;

double sn_abc_f64(const uint8_t *p) { return sn_double_of(sn_little(p, 8)); }

void sn_abc_begin(sn_context *ctx, sn_abc *abc) { abc->ctx = ctx, abc->status = SN_OK; }

void sn_abc_failed(sn_abc *abc) { abc->status = sn_fail_prefix(abc->ctx, "%s: ", abc->name); }

void sn_abc_damaged(sn_abc *abc, uint64_t position, const char *what) {
  sn_abc_fail(abc, SN_BAD_FILE, "damaged or cut: %s at byte %.0f of %.0f", what, (double)position, (double)abc->size);
}

// The count at the start of a group or data, in units of `unit` bytes; 0 if the content does not fit into the file.
static uint64_t count_at(sn_abc *abc, uint64_t position, uint64_t unit) {
  bool inside = abc->size >= 8 && position <= abc->size - 8;
  uint64_t count = inside ? sn_little(abc->bytes + position, 8) : UINT64_MAX;
  if (abc->status == SN_OK && inside && count <= (abc->size - 8 - position) / unit) return count;
  sn_abc_damaged(abc, position, unit > 1 ? "a group that goes past the end" : "data that go past the end");
  return 0;
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

abc_span sn_abc_take_text(sn_cursor *c, uint32_t size) {
  const uint8_t *text = sn_take_bytes(c, size);
  return text ? (abc_span){text, size, 0} : (abc_span){c->end, 0, 0};
}

abc_span sn_abc_take_meta(sn_cursor *c, const sn_abc *abc, uint32_t number, int width) {
  enum { inlined = 0xff };
  if (number == inlined) return sn_abc_take_text(c, (uint32_t)sn_take_number(c, width));
  if (number >= (uint32_t)abc->meta_count) c->bad = true;
  return c->bad ? (abc_span){c->end, 0, 0} : abc->metas[number];
}

// ---- properties ----------------------------------------------------------------------------------------------------------

enum { digest_size = 16 };

// Bytes of a number; 0 for text.
static int pod_size(int pod) {
  static const int sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8};
  return pod >= 0 && pod < (int)(sizeof sizes / sizeof *sizes) ? sizes[pod] : 0;
}

// Parses one header; the bits are Alembic's (AbcCoreOgawa).
static abc_property take_header(sn_cursor *c, const sn_abc *abc) {
  enum { has_timing = 0x100, has_changes = 0x200, is_constant = 0x800 };
  static const int widths[4] = {1, 2, 4, 4};
  uint32_t info = (uint32_t)sn_take_number(c, 4);
  int width = widths[info >> 2 & 3];
  abc_property out = {.type = (int)(info & 3), .pod = (int)(info >> 4 & 15), .extent = (int)(info >> 12 & 0xff)};
  if (out.type != 0) {
    out.samples = (uint32_t)sn_take_number(c, width);
    if (info & has_changes) {
      out.first = (uint32_t)sn_take_number(c, width);
      out.last = (uint32_t)sn_take_number(c, width);
    } else if (!(info & is_constant) && out.samples > 1) {
      out.first = 1, out.last = out.samples - 1;
    }
    if (info & has_timing) out.timing = (uint32_t)sn_take_number(c, width);
  }
  out.name = sn_abc_take_text(c, (uint32_t)sn_take_number(c, width));
  out.meta = sn_abc_take_meta(c, abc, info >> 20 & 0xff, width);
  if (out.first > out.last || out.timing >= (uint32_t)abc->timing_count) c->bad = true;
  return out;
}

abc_property sn_abc_find(sn_abc *abc, uint64_t compound, const char *name) {
  uint64_t count = sn_abc_group(abc, compound);
  if (count == 0) return (abc_property){0};
  abc_span headers = sn_abc_data(abc, sn_abc_child(abc, compound, count - 1));
  sn_cursor c = {headers.bytes, headers.bytes + headers.size, false};
  for (uint64_t k = 0; c.p < c.end && abc->status == SN_OK; k++) {
    abc_property property = take_header(&c, abc);
    if (c.bad || k + 1 >= count) sn_abc_damaged(abc, compound, "the headers of properties");
    if (abc->status != SN_OK || !sn_abc_is(property.name, name)) continue;
    property.position = sn_abc_child_group(abc, compound, k);
    property.found = abc->status == SN_OK;
    return property;
  }
  return (abc_property){0};
}

bool sn_abc_has_samples(const abc_property *property) {
  return property->found && property->type != 0 && property->samples > 0;
}

// Index among the stored samples: repeated samples are stored once.
static uint32_t stored(const abc_property *property, uint32_t sample) {
  if (property->last == 0 || sample < property->first) return 0;
  if (sample >= property->last) return property->last - property->first + 1;
  return sample - property->first + 1;
}

abc_span sn_abc_sample(sn_abc *abc, const abc_property *property, uint32_t sample) {
  uint64_t child = stored(property, sample), at = property->position;
  if (property->type >= 2) child *= 2; // every array is followed by its dimensions
  if (child >= sn_abc_group(abc, at)) sn_abc_damaged(abc, at, "a sample is missing");
  if (abc->status != SN_OK) return (abc_span){abc->bytes, 0, 0};
  abc_span out = sn_abc_data(abc, sn_abc_child(abc, at, child));
  if (out.size > 0 && out.size < digest_size) sn_abc_damaged(abc, at, "a sample without a digest");
  if (out.size >= digest_size) out.bytes += digest_size, out.size -= digest_size;
  uint64_t element = (uint64_t)pod_size(property->pod) * (uint64_t)property->extent;
  if (element == 0) element = 1;
  out.count = out.size / element;
  if (out.size % element != 0) sn_abc_damaged(abc, at, "a sample that is cut");
  return abc->status == SN_OK ? out : (abc_span){abc->bytes, 0, 0};
}

double sn_abc_time(const sn_abc *abc, const abc_property *property, uint32_t sample) {
  const abc_timing *timing = &abc->timings[property->timing];
  if (timing->acyclic)
    return sn_abc_f64(timing->times + 8 * (size_t)(sample < timing->count ? sample : timing->count - 1));
  return sn_abc_f64(timing->times + 8 * (size_t)(sample % timing->count)) +
         timing->period * (double)(sample / timing->count);
}

// Exporters round times differently: a time closer than this fraction of a step is the sample itself.
static const double snap = 1e-5;

uint32_t sn_abc_sample_at(const sn_abc *abc, const abc_property *property, double t, double *fraction) {
  uint32_t low = 0, high = property->samples ? property->samples - 1 : 0;
  *fraction = 0;
  while (low < high) { // the last sample at or before t
    uint32_t middle = low + (high - low + 1) / 2;
    if (sn_abc_time(abc, property, middle) <= t) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  if (low + 1 >= property->samples) return low;
  double before = sn_abc_time(abc, property, low), after = sn_abc_time(abc, property, low + 1);
  if (t > before && after > before) *fraction = (t - before) / (after - before);
  if (*fraction < snap) *fraction = 0;
  if (*fraction > 1 - snap) *fraction = 0, low++;
  return low;
}
