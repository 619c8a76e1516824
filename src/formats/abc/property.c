// SPDX-License-Identifier: MIT
// Properties of Alembic objects: their headers, samples and times.
#include "formats/abc/abc.h"

#include <math.h>
#include <string.h>

enum { digest_size = 16 };

// Bytes of a number; 0 for text.
static int pod_size(int pod) {
  static const int sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8};
  return pod >= 0 && pod < (int)(sizeof sizes / sizeof *sizes) ? sizes[pod] : 0;
}

// Parses one header; the bits are Alembic's (AbcCoreOgawa).
static abc_property take_header(abc_cursor *c, const sn_abc *abc) {
  enum { has_timing = 0x100, has_changes = 0x200, is_constant = 0x800 };
  static const int widths[4] = {1, 2, 4, 4};
  uint32_t info = sn_abc_take(c, 4);
  int width = widths[info >> 2 & 3];
  abc_property out = {.type = (int)(info & 3), .pod = (int)(info >> 4 & 15), .extent = (int)(info >> 12 & 0xff)};
  if (out.type != 0) {
    out.samples = sn_abc_take(c, width);
    if (info & has_changes) {
      out.first = sn_abc_take(c, width);
      out.last = sn_abc_take(c, width);
    } else if (!(info & is_constant) && out.samples > 1) {
      out.first = 1, out.last = out.samples - 1;
    }
    if (info & has_timing) out.timing = sn_abc_take(c, width);
  }
  out.name = sn_abc_take_text(c, sn_abc_take(c, width));
  out.meta = sn_abc_take_meta(c, abc, info >> 20 & 0xff, width);
  if (out.first > out.last || out.timing >= (uint32_t)abc->timing_count) c->bad = true;
  return out;
}

abc_property sn_abc_find(sn_abc *abc, uint64_t compound, const char *name) {
  uint64_t count = sn_abc_group(abc, compound);
  if (count == 0) return (abc_property){0};
  abc_span headers = sn_abc_data(abc, sn_abc_child(abc, compound, count - 1));
  abc_cursor c = {headers.bytes, headers.bytes + headers.size, false};
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
