// SPDX-License-Identifier: MIT
// Properties of Alembic objects: their headers, samples and times.
#include "formats/abc/abc.h"

#include <math.h>
#include <string.h>

enum { digest_size = 16, inline_meta = 0xff };

int sn_abc_pod_size(int pod) {
  static const int sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8};
  return pod >= 0 && pod < (int)(sizeof sizes / sizeof *sizes) ? sizes[pod] : 0;
}

// A cursor over a compound's headers. `bad` once something reached behind their end.
typedef struct cursor {
  const uint8_t *p, *end;
  bool bad;
} cursor;

static uint32_t take(cursor *c, int size) {
  if (c->end - c->p < size) {
    c->bad = true;
    return 0;
  }
  uint32_t value = 0;
  for (int k = 0; k < size; k++) value |= (uint32_t)c->p[k] << (8 * k);
  c->p += size;
  return value;
}

static abc_span take_text(cursor *c, uint32_t size) {
  abc_span out = {c->p, size};
  if (c->bad || (uint64_t)(c->end - c->p) < size) {
    c->bad = true;
    return (abc_span){c->end, 0};
  }
  c->p += size;
  return out;
}

// One header; what its bits mean is Alembic's (AbcCoreOgawa), not a choice of this file.
static abc_property take_header(cursor *c, const sn_abc *abc) {
  enum { has_timing = 0x100, has_changes = 0x200, is_constant = 0x800 };
  static const int widths[4] = {1, 2, 4, 4};
  uint32_t info = take(c, 4);
  int width = widths[info >> 2 & 3];
  uint32_t meta = info >> 20 & 0xff;
  abc_property out = {.type = (int)(info & 3), .pod = (int)(info >> 4 & 15), .extent = (int)(info >> 12 & 0xff)};
  if (out.type != 0) {
    out.samples = take(c, width);
    if (info & has_changes) {
      out.first = take(c, width);
      out.last = take(c, width);
    } else if (!(info & is_constant) && out.samples > 1) {
      out.first = 1, out.last = out.samples - 1;
    }
    if (info & has_timing) out.timing = take(c, width);
  }
  out.name = take_text(c, take(c, width));
  if (meta == inline_meta) {
    out.meta = take_text(c, take(c, width));
  } else if ((int)meta < abc->meta_count) {
    out.meta = abc->metas[meta];
  } else {
    c->bad = true;
  }
  if (out.first > out.last || out.timing >= (uint32_t)abc->timing_count) c->bad = true;
  return out;
}

sn_status sn_abc_find(sn_context *ctx, const sn_abc *abc, uint64_t compound, const char *name, abc_property *out) {
  *out = (abc_property){0};
  uint64_t count;
  abc_span headers;
  sn_status status = sn_abc_group(ctx, abc, compound, &count);
  if (status != SN_OK || count == 0) return status;
  status = sn_abc_data(ctx, abc, sn_abc_child(abc, compound, count - 1), &headers);
  if (status != SN_OK) return status;
  cursor c = {headers.bytes, headers.bytes + headers.size, false};
  for (uint64_t k = 0; c.p < c.end; k++) {
    abc_property property = take_header(&c, abc);
    if (c.bad || k + 1 >= count) return sn_abc_damaged(ctx, abc, compound, "the headers of properties");
    if (!sn_abc_is(property.name, name)) continue;
    status = sn_abc_child_group(ctx, abc, compound, k, &property.position);
    property.found = status == SN_OK;
    if (status == SN_OK) *out = property;
    return status;
  }
  return SN_OK;
}

uint32_t sn_abc_stored(const abc_property *property, uint32_t sample) {
  if (property->last == 0 || sample < property->first) return 0;
  if (sample >= property->last) return property->last - property->first + 1;
  return sample - property->first + 1;
}

sn_status sn_abc_sample(sn_context *ctx, const sn_abc *abc, const abc_property *property, uint32_t sample,
                        abc_span *out, uint64_t *count) {
  uint64_t children, child = sn_abc_stored(property, sample), element;
  if (property->type >= 2) child *= 2; // every array is followed by its dimensions
  sn_status status = sn_abc_group(ctx, abc, property->position, &children);
  if (status != SN_OK) return status;
  if (child >= children) return sn_abc_damaged(ctx, abc, property->position, "a sample is missing");
  status = sn_abc_data(ctx, abc, sn_abc_child(abc, property->position, child), out);
  if (status != SN_OK) return status;
  if (out->size > 0 && out->size < digest_size) {
    return sn_abc_damaged(ctx, abc, property->position, "a sample without a digest");
  }
  if (out->size > 0) out->bytes += digest_size, out->size -= digest_size;
  element = (uint64_t)sn_abc_pod_size(property->pod) * (uint64_t)property->extent;
  if (element == 0) element = 1;
  *count = out->size / element;
  if (out->size % element != 0) return sn_abc_damaged(ctx, abc, property->position, "a sample that is cut");
  return SN_OK;
}

double sn_abc_time(const sn_abc *abc, const abc_property *property, uint32_t sample) {
  const abc_timing *timing = &abc->timings[property->timing];
  if (timing->acyclic)
    return sn_abc_f64(timing->times + 8 * (size_t)(sample < timing->count ? sample : timing->count - 1));
  return sn_abc_f64(timing->times + 8 * (size_t)(sample % timing->count)) +
         timing->period * (double)(sample / timing->count);
}

// Times are rounded in several ways by the programs that write them: nearer than this part of a step is the sample itself.
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
