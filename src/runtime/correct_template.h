// SPDX-License-Identifier: MIT
// Part of kernel_template.h: displacements of the correct slot for the lanes of a block.

static SN_RT_INLINE vf3 load_delta(const int16_t (*delta)[SN_RT_LANES], int lane) {
  return (vf3){vf_load_i16(delta[0] + lane), vf_load_i16(delta[1] + lane), vf_load_i16(delta[2] + lane)};
}

// Packed displacements d as 1 + (d + SN_RT_PACKED_ZERO) / 4096, and those of normals as 1 + (d + SN_RT_PACKED_NORMAL_ZERO) / 1024.
static SN_RT_INLINE vf3 load_packed_delta(const uint8_t *rows, int lane) {
  const uint8_t *at = rows + 3 * lane / 2;
  return (vf3){vf_unit_u12(at), vf_unit_u12(at + SN_RT_PACKED_ROW), vf_unit_u12(at + 2 * SN_RT_PACKED_ROW)};
}

static SN_RT_INLINE vf3 load_packed_normal(const uint8_t *rotations, int lane) {
  const uint8_t *at = rotations + 4 * lane;
  return (vf3){vf_unit_u10(at, 0), vf_unit_u10(at, 10), vf_unit_u10(at, 20)};
}

// sum + range (units - scales) - zero scales: `units` and `scales` are the sums over displacements of unit times scale, and of
// scales.
static SN_RT_INLINE vf3 add_units(vf3 sum, vf3 units, vf scales, float range, float zero) {
  vf less_by = vf_mul(scales, vf_set(-(range + zero))), times = vf_set(range);
  return add(
    sum, (vf3){vf_fma(units.x, times, less_by), vf_fma(units.y, times, less_by), vf_fma(units.z, times, less_by)});
}

// Limits the length of displacements (SN_RT_FREE_PART). If all lanes are well below the limit, root and division are skipped;
// the margin `surely` makes the result independent of their rounding.
static SN_RT_INLINE vf3 limited(vf3 d, vf limit) {
  const float surely = 0.999f;
  vf squared = vf_max(vf_fma(d.x, d.x, vf_fma(d.y, d.y, vf_mul(d.z, d.z))), vf_set(1e-37f));
  vf free_part = vf_mul(vf_set(SN_RT_FREE_PART), limit);
  if (vf_all_within(squared, vf_mul(vf_mul(free_part, free_part), vf_set(surely)))) return d;
  vf inverse = vf_rsqrt(squared), length = vf_mul(squared, inverse);
  vf room = vf_sub(limit, free_part), beyond = vf_max(vf_sub(length, free_part), vf_set(0));
  vf cut = vf_sub(beyond, vf_div(vf_mul(room, beyond), vf_add(room, beyond)));
  return scale(vf_sub(vf_set(1), vf_mul(cut, inverse)), d);
}

// Displacements of `width` lanes of a block.
typedef struct correction {
  int before, after; // added before or after the blend; both 0: none
  int late;          // added before the blend, but `limit` applies to the blended displacement
  vf3 position, normal;
  vf limit;
} correction;

// Entries first .. end - 1.
static SN_RT_INLINE void add_entries(const sn_rt_job *job, uint32_t first, uint32_t end, int lane, int normals,
                                     correction *sum) {
  const sn_rt_stored_corrections *c = &job->correct.stored;
  const float *values = job->correct.values;
  const sn_rt_correct_entry *e = (const sn_rt_correct_entry *)c->entries + first;
  const int16_t(*deltas)[6][SN_RT_LANES] = (const int16_t(*)[6][SN_RT_LANES])c->deltas + first;
  vf3 position = sum->position, normal = sum->normal;
  for (uint32_t left = end - first; left > 0; left--, e++, deltas++) {
    vf value = vf_set(values[e->basis]);
    position = mad(position, vf_mul(value, vf_set(e->position)), load_delta(*deltas, lane));
    if (normals) normal = mad(normal, vf_mul(value, vf_set(e->normal)), load_delta(*deltas + 3, lane));
  }
  sum->position = position, sum->normal = normal;
}

// The same for packed entries: sums encoded units, which add_units converts once.
static SN_RT_INLINE void add_packed_entries(const sn_rt_job *job, uint32_t first, uint32_t end, int lane, int normals,
                                            correction *sum) {
  const sn_rt_stored_corrections *c = &job->correct.stored;
  const float *values = job->correct.values;
  const sn_rt_packed_entry *e = (const sn_rt_packed_entry *)c->entries + first;
  size_t size = c->delta_bytes;
  const uint8_t *deltas = (const uint8_t *)c->deltas + first * size;
  vf3 moved = {vf_set(0), vf_set(0), vf_set(0)}, normal = moved;
  vf moves = vf_set(0), rotations = vf_set(0);
  for (uint32_t left = end - first; left > 0; left--, e++, deltas += size) {
    vf value = vf_set(values[e->basis]);
    vf move = vf_mul(value, vf_set(e->position));
    moves = vf_add(moves, move);
    moved = mad(moved, move, load_packed_delta(deltas, lane));
    if (!normals) continue;
    vf by = vf_mul(value, vf_set(sn_rt_short_float(e->normal)));
    rotations = vf_add(rotations, by);
    normal = mad(normal, by, load_packed_normal(deltas + 3 * SN_RT_PACKED_ROW, lane));
  }
  sum->position = add_units(sum->position, moved, moves, 4096, SN_RT_PACKED_ZERO);
  if (normals) sum->normal = add_units(sum->normal, normal, rotations, 1024, SN_RT_PACKED_NORMAL_ZERO);
}

static SN_RT_INLINE vf load_limit(const sn_rt_stored_corrections *c, uint32_t bits, size_t at) {
  if (bits != SN_RT_PACKED_BITS || !(c->limit_unit > 0)) return vf_load((const float *)c->limits + at);
  return vf_mul(vf_load_u16((const uint16_t *)c->limits + at), vf_set(c->limit_unit));
}

static SN_RT_INLINE correction correction_at(const sn_rt_job *job, uint32_t bits, const cursor *at, int lane,
                                             int normals) {
  const sn_rt_correcting *c = &job->correct;
  vf3 none = {vf_set(0), vf_set(0), vf_set(0)};
  correction sum = {!c->forward, c->forward, c->limit_after, none, none, none.x};
  uint32_t first = c->stored.start[at->block], end = c->stored.start[at->block + 1];
  if (bits == SN_RT_PACKED_BITS && c->stored.delta_bytes)
    add_packed_entries(job, first, end, lane, normals, &sum);
  else
    add_entries(job, first, end, lane, normals, &sum);
  if (c->stored.limits) sum.limit = load_limit(&c->stored, bits, at->block * SN_RT_LANES + (size_t)lane);
  if (c->stored.limits && !sum.late) sum.position = limited(sum.position, sum.limit);
  return sum;
}
