// SPDX-License-Identifier: MIT
// Packed models (weight_bits is SN_RT_PACKED_BITS): decodes single numbers. The kernels decode vectors;
// docs/reference/model-file.md has the layout.
#ifndef SINEW_RUNTIME_PACKED_H
#define SINEW_RUNTIME_PACKED_H

#include <math.h>
#include <string.h>

#include "runtime/format.h"
#include "runtime/portable.h"

// Number `lane` of a row of eight numbers of 12 bits, little-endian, one after the other.
SN_RT_BOTH uint32_t sn_rt_packed_number(const uint8_t *row, uint32_t lane) {
  const uint8_t *at = row + 3 * (lane / 2) + lane % 2;
  uint32_t window = (uint32_t)at[0] | (uint32_t)at[1] << 8;
  return lane % 2 ? window >> 4 : window & 0xfff;
}

// Decodes an octahedral direction (|x| + |y| + |z| = 1, lower half folded out); not normalised.
SN_RT_BOTH void sn_rt_octahedral(uint32_t u, uint32_t v, float n[3]) {
  float x = (float)u * (1 / SN_RT_OCTAHEDRAL_HALF) - 1, y = (float)v * (1 / SN_RT_OCTAHEDRAL_HALF) - 1;
  float z = 1 - fabsf(x) - fabsf(y), fold = z < 0 ? -z : 0;
  n[0] = x < 0 ? x + fold : x - fold, n[1] = y < 0 ? y + fold : y - fold, n[2] = z;
}

// The upper half of a float's bits.
SN_RT_BOTH float sn_rt_short_float(uint16_t upper) {
  uint32_t bits = (uint32_t)upper << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// The next difference of vertices in pack.triangles: a zigzag varint, seven bits per byte, lowest first, top bit set if more
// follow; 0, -1, 1, -2, ... are stored as 0, 1, 2, 3, ...
static inline uint32_t sn_rt_packed_step(const uint8_t **at, const uint8_t *end) {
  uint32_t code = 0;
  for (uint32_t shift = 0; *at < end && shift < 35; shift += 7) {
    uint8_t byte = *(*at)++;
    code |= (uint32_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) break;
  }
  return code >> 1 ^ (0 - (code & 1));
}

// ---- what is stored of the skin, packed or not --------------------------------------------------------------------------

// Arrays begin at the block, group or row 0 of the model.
typedef struct sn_rt_stored {
  const sn_rt_group *groups;
  const uint16_t (*lanes)[SN_RT_LANES];
  const void *rest, *normals, *tangents, *weights, *tuples;
  const float (*boxes)[4]; // of the groups; NULL: not packed
  uint32_t weight_bits, tuple_bytes;
} sn_rt_stored;

static inline sn_rt_stored sn_rt_stored_of(const sn_rt_model *model) {
  int packed = model->info.weight_bits == SN_RT_PACKED_BITS;
  const void *bytes = sn_rt_data(model, SN_SECTION_PACK_TUPLES);
  sn_rt_stored s = {(const sn_rt_group *)sn_rt_data(model, SN_SECTION_SKIN_GROUPS),
                    (const uint16_t(*)[SN_RT_LANES])sn_rt_data(model, SN_SECTION_SKIN_LANES),
                    sn_rt_data(model, packed ? SN_SECTION_PACK_REST : SN_SECTION_SKIN_REST),
                    sn_rt_data(model, packed ? SN_SECTION_PACK_NORMALS : SN_SECTION_SKIN_NORMALS),
                    sn_rt_data(model, packed ? SN_SECTION_PACK_TANGENTS : SN_SECTION_SKIN_TANGENTS),
                    sn_rt_data(model, packed ? SN_SECTION_PACK_WEIGHTS : SN_SECTION_SKIN_WEIGHTS),
                    bytes ? bytes : sn_rt_data(model, SN_SECTION_SKIN_TUPLES),
                    packed ? (const float(*)[4])sn_rt_data(model, SN_SECTION_PACK_BOXES) : NULL,
                    model->info.weight_bits,
                    bytes ? 1u : 2u};
  return s;
}

// One block of eight: vertex[l] is the vertex of lane l. Unused lanes repeat a vertex.
typedef struct sn_rt_block {
  uint32_t chunk, group, place; // place: in its group
  size_t block;                 // of all blocks
  size_t weight_row, tuple_row; // the first of the block's rows in skin.weights and in skin.tuples
  uint32_t vertex[SN_RT_LANES];
  int begun;
} sn_rt_block;

// Advances to the next block in the order of chunks and groups; {0} gives the first. Returns 0 after the last.
static inline int sn_rt_next_block(const sn_rt_model *model, sn_rt_block *b) {
  const uint32_t *chunks = (const uint32_t *)sn_rt_data(model, SN_SECTION_SKIN_CHUNKS);
  sn_rt_stored s = sn_rt_stored_of(model);
  uint32_t count = (uint32_t)(sn_rt_size(model, SN_SECTION_SKIN_GROUPS) / sizeof *s.groups);
  b->place += (uint32_t)b->begun, b->begun = 1;
  while (b->group < count && b->place >= s.groups[b->group].block_count) b->group++, b->place = 0;
  if (b->group >= count) return 0;
  while (b->group >= chunks[b->chunk + 1]) b->chunk++;
  const sn_rt_group *g = s.groups + b->group;
  b->block = (size_t)g->first_block + b->place;
  b->weight_row = g->first_weight + (size_t)b->place * (g->influences - 1u);
  b->tuple_row = g->first_tuple + (size_t)b->place * g->influences;
  for (int l = 0; l < SN_RT_LANES; l++) b->vertex[l] = b->chunk * model->info.grain + s.lanes[b->block][l];
  return 1;
}

static inline void sn_rt_stored_position(const sn_rt_stored *s, size_t group, size_t block, uint32_t lane,
                                         float out[3]) {
  for (size_t c = 0; c < 3; c++) {
    size_t at = (block * 3 + c) * SN_RT_LANES + lane;
    out[c] = s->boxes ? (float)((const uint16_t *)s->rest)[at] * s->boxes[group][3] + s->boxes[group][c]
                      : ((const float *)s->rest)[at];
  }
}

// A direction in three bytes.
SN_RT_BOTH void sn_rt_packed_direction(const uint8_t *at, float out[3]) {
  sn_rt_octahedral(at[0] | (at[1] & 15u) << 8, (uint32_t)at[1] >> 4 | (uint32_t)at[2] << 4, out);
}

// Packed normals are not normalised.
static inline void sn_rt_stored_normal(const sn_rt_stored *s, size_t block, uint32_t lane, float out[3]) {
  if (s->boxes)
    sn_rt_packed_direction((const uint8_t *)s->normals + block * SN_RT_PACKED_NORMALS + 3 * lane, out);
  else
    for (size_t c = 0; c < 3; c++) out[c] = ((const float *)s->normals)[(block * 3 + c) * SN_RT_LANES + lane];
}

// Bytes of a block's tangents.
static inline size_t sn_rt_tangent_bytes(int packed) {
  return packed ? (size_t)SN_RT_PACKED_TANGENTS : 4 * SN_RT_LANES * sizeof(float);
}

// x y z (not normalised if packed) and handedness.
static inline void sn_rt_stored_tangent(const sn_rt_stored *s, size_t block, uint32_t lane, float out[4]) {
  if (s->boxes) {
    const uint8_t *at = (const uint8_t *)s->tangents + block * SN_RT_PACKED_TANGENTS;
    sn_rt_packed_direction(at + 3 * lane, out);
    out[3] = at[SN_RT_PACKED_NORMALS] >> lane & 1 ? -1.0f : 1.0f;
  } else {
    for (size_t c = 0; c < 4; c++) out[c] = ((const float *)s->tangents)[(block * 4 + c) * SN_RT_LANES + lane];
  }
}

// The sum of a vertex's weights in the file.
static inline float sn_rt_weight_total(uint32_t bits) {
  return bits == 32 ? 1.0f : bits == 16 ? 65535.0f : bits == SN_RT_PACKED_BITS ? SN_RT_PACKED_TOTAL : 255.0f;
}

// An undecoded number of the weights' section: a weight times the total.
static inline float sn_rt_stored_weight(const sn_rt_stored *s, size_t row, uint32_t lane) {
  size_t at = row * SN_RT_LANES + lane;
  switch (s->weight_bits) {
  case 8:
    return (float)((const uint8_t *)s->weights)[at];
  case 16:
    return (float)((const uint16_t *)s->weights)[at];
  case SN_RT_PACKED_BITS:
    return (float)sn_rt_packed_number((const uint8_t *)s->weights + row * SN_RT_PACKED_ROW, lane);
  default:
    return ((const float *)s->weights)[at];
  }
}

static inline uint32_t sn_rt_stored_joint(const sn_rt_stored *s, size_t row, uint32_t lane) {
  size_t at = row * SN_RT_LANES + lane;
  return s->tuple_bytes == 1 ? ((const uint8_t *)s->tuples)[at] : ((const uint16_t *)s->tuples)[at];
}

// ---- the packed solve of `rotreg` and `torque` --------------------------------------------------------------------------

// Columns of C (drive.solve) as multiples of a scale per 32 rows of a column. The fourth row of a proxy bone is the image of its
// centre c, divided by `unit`: the translation is unit times it, minus the linear part times c. So rounding of the linear part is
// multiplied by the size of the bone's region, not by its distance from the origin.
typedef struct sn_rt_packed_solve {
  const int16_t *rows; // NULL: the solve is not packed
  const float *scales; // [block][column]
  const float (*centres)[3];
  float unit;
} sn_rt_packed_solve;

// Two 16-bit numbers are loaded as one of 32 bits: the number in the upper half is multiplied by this.
#define SN_RT_PAIR 65536.0f

static inline uint64_t sn_rt_packed_scale_count(uint32_t joint_count, uint32_t bones) {
  uint64_t blocks = sn_rt_rotreg_blocks(bones);
  return 1 + 3 * SN_RT_LANES * blocks + blocks * (3 * (uint64_t)bones + 4 * (uint64_t)joint_count);
}

static inline sn_rt_packed_solve sn_rt_packed_solve_of(const sn_rt_model *model) {
  const float *scales = (const float *)sn_rt_data(model, SN_SECTION_PACK_SCALES);
  sn_rt_packed_solve s = {(const int16_t *)sn_rt_data(model, SN_SECTION_PACK_SOLVE), NULL, NULL, 0};
  if (!s.rows) return s;
  size_t blocks = sn_rt_rotreg_blocks(model->info.palette_count - model->info.joint_count);
  s.unit = scales[0], s.centres = (const float(*)[3])(const void *)(scales + 1);
  s.scales = scales + 1 + 3 * SN_RT_LANES * blocks;
  return s;
}

// ---- what is stored of the corrections --------------------------------------------------------------------------------

typedef struct sn_rt_stored_corrections {
  const uint32_t *start; // of the blocks; NULL: there are none
  const void *entries, *deltas, *limits;
  float limit_unit;     // unit of packed limits; 0: limits are floats
  uint32_t delta_bytes; // of a packed entry; 0: entries are not packed
} sn_rt_stored_corrections;

// Bytes of the packed deltas of an entry: three rows of positions, and 32 bits for every normal.
static inline uint32_t sn_rt_packed_delta_bytes(sn_rt_shade shade) {
  return 3 * SN_RT_PACKED_ROW + (shade == SN_RT_SHADE_TRANSFORM ? SN_RT_LANES * (uint32_t)sizeof(uint32_t) : 0);
}

static inline sn_rt_stored_corrections sn_rt_stored_corrections_of(const sn_rt_model *model) {
  int whole = model->info.weight_bits == SN_RT_PACKED_BITS,
      packed = whole && sn_rt_data(model, SN_SECTION_PACK_ENTRIES);
  const char *limits = whole ? (const char *)sn_rt_data(model, SN_SECTION_PACK_LIMITS) : NULL;
  sn_rt_stored_corrections c = {(const uint32_t *)sn_rt_data(model, SN_SECTION_CORRECT_START),
                                sn_rt_data(model, packed ? SN_SECTION_PACK_ENTRIES : SN_SECTION_CORRECT_ENTRIES),
                                sn_rt_data(model, packed ? SN_SECTION_PACK_DELTAS : SN_SECTION_CORRECT_DELTAS),
                                limits ? limits + sizeof(float) : sn_rt_data(model, SN_SECTION_CORRECT_LIMITS),
                                0,
                                packed ? sn_rt_packed_delta_bytes(model->info.shade) : 0};
  if (limits) memcpy(&c.limit_unit, limits, sizeof c.limit_unit);
  return c;
}

static inline sn_rt_correct_entry sn_rt_stored_entry(const sn_rt_stored_corrections *c, size_t index) {
  if (!c->delta_bytes) return ((const sn_rt_correct_entry *)c->entries)[index];
  const sn_rt_packed_entry *e = (const sn_rt_packed_entry *)c->entries + index;
  sn_rt_correct_entry out = {e->basis, 0, e->position, sn_rt_short_float(e->normal)};
  return out;
}

// Components 0 to 2 of the position's displacement, 3 to 5 of the normal's, as multiples of the entry's scales.
static inline float sn_rt_stored_delta(const sn_rt_stored_corrections *c, size_t index, uint32_t component,
                                       uint32_t lane) {
  if (!c->delta_bytes) return ((const int16_t(*)[6][SN_RT_LANES])c->deltas)[index][component][lane];
  const uint8_t *rows = (const uint8_t *)c->deltas + index * c->delta_bytes;
  if (component < 3) return (float)sn_rt_packed_number(rows + component * SN_RT_PACKED_ROW, lane) - SN_RT_PACKED_ZERO;
  if (c->delta_bytes == 3 * SN_RT_PACKED_ROW) return 0;
  uint32_t packed_normal;
  memcpy(&packed_normal, rows + 3 * SN_RT_PACKED_ROW + lane * sizeof packed_normal, sizeof packed_normal);
  return (float)(packed_normal >> 10 * (component - 3) & 1023) - SN_RT_PACKED_NORMAL_ZERO;
}

static inline float sn_rt_stored_limit(const sn_rt_stored_corrections *c, size_t block, uint32_t lane) {
  size_t at = block * SN_RT_LANES + lane;
  return c->limit_unit > 0 ? (float)((const uint16_t *)c->limits)[at] * c->limit_unit
                           : ((const float *)c->limits)[at];
}

#endif
