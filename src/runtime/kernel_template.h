// SPDX-License-Identifier: MIT
// The kernels, written with vectors of `width` floats. A file for an instruction set defines the vector type `vf`, `width`
// (4 or 8) and the functions below, and includes kernels.h:
//
//     vf_load(p) vf_store(p, a) vf_set(x)   memory (any alignment); one value in all lanes
//     vf_load_u16(p) vf_load_u8(p) vf_load_i16(p)  `width` integers, converted
//     vf_load_u12(p)                        the same from a row of a packed model; may read four bytes beyond the row
//     vf_load_uv(p, u, v)                   `width` pairs of 12 bits in three bytes each; may read four bytes beyond
//     vi_load(p) vi_and vi_or vi_shift_left vi_shift_right  of the type `vi`, `width` integers of 32 bits
//     vi_shifted_u12(p)                     the numbers of vf_load_u12 in bits 11 to 22; other bits are anything
//     vf_from(i) vf_bits(i)                 integers converted; floats with the integers' bits
//     vf_mul vf_add vf_sub vf_div vf_max
//     vf_fma(a, b, c) vf_fnma(a, b, c)      a b + c, c - a b
//     vf_rsqrt(a)                           1/sqrt(a) to 22 bits or better
//     vf_flip(a, sign)                      a with the sign of all lanes flipped where `sign` is 0x80000000
//     vf_flip_by(t, a)                      t with its sign flipped where a is negative
//     vf_min vf_abs
//     vf_all_within(a, b)                   whether a <= b in all lanes
//     vf_transpose(rows, stride, out)       `width` rows of `width` floats, `stride` floats apart, into columns
//     vf_scatter(x, y, z, base, lanes, stride)  x y z of lane l to base + lanes[l] * stride
//     vf_scatter4(v, base, lanes, stride)   the same with four numbers, v[0] to v[3]
//     vf_gather_rows(at, out)               four floats from each of `width` places
//     vf_put_moved(m, place, at)            x y z of the matrix m, four columns of four, times place, which is x y z 1, to `at`
//     vf_store_pairs(x, y, z, base, lanes)  x y z for pairs of lanes that lie side by side, stride 12
//     vf_store_row(x, y, z, at)             x y z of all lanes, one after the other
//     vf_stream_row(x, y, z, at)            the same with streaming stores if available; `at` is 4 `width`-byte aligned
//     few_registers                         1: a block's data does not fit into the registers (a constant)
//
// A block of eight vertices is one vector of eight lanes or two of four. With one set of joints for all lanes, a matrix
// entry is loaded once and used for all of them: blending four matrices takes 36 instructions for a block, without
// shuffles.

#include "runtime/vertex.h"

// The even or the odd ones of 2 `width` 16-bit integers, times SN_RT_PAIR.
static SN_RT_INLINE vf vf_load_even(const int16_t *p) { return vf_from(vi_shift_left(vi_load(p), 16)); }
static SN_RT_INLINE vf vf_load_odd(const int16_t *p) { return vf_from(vi_and(vi_load(p), 0xffff0000u)); }

// The bits of `numbers` in the mask as the fraction of a number from 1 to 2: no conversion.
static SN_RT_INLINE vf fraction(vi numbers, uint32_t mask) {
  return vf_bits(vi_or(vi_and(numbers, mask), 0x3f800000u));
}

// 1 + n / 4096 for the numbers n of a packed row; 1 + n / 1024 for ten bits from `shift` on of each of `width` numbers of 32.
static SN_RT_INLINE vf vf_unit_u12(const uint8_t *p) { return fraction(vi_shifted_u12(p), 0xfffu << 11); }
static SN_RT_INLINE vf vf_unit_u10(const uint8_t *p, int shift) {
  vi v = vi_load(p);
  return fraction(shift <= 13 ? vi_shift_left(v, 13 - shift) : vi_shift_right(v, shift - 13), 0x3ffu << 13);
}

#include "runtime/blend_template.h"

// ---- what the blend does to a vertex ----------------------------------------------------------------------------------------

typedef struct vf3 {
  vf x, y, z;
} vf3;

static SN_RT_INLINE vf3 load3(const float *soa) {
  return (vf3){vf_load(soa), vf_load(soa + SN_RT_LANES), vf_load(soa + 2 * SN_RT_LANES)};
}

static SN_RT_INLINE void store3(float *soa, vf3 a) {
  vf_store(soa, a.x), vf_store(soa + SN_RT_LANES, a.y), vf_store(soa + 2 * SN_RT_LANES, a.z);
}

static SN_RT_INLINE vf3 cross(vf3 a, vf3 b) {
  return (vf3){vf_fnma(a.z, b.y, vf_mul(a.y, b.z)), vf_fnma(a.x, b.z, vf_mul(a.z, b.x)),
               vf_fnma(a.y, b.x, vf_mul(a.x, b.y))};
}

// a + s b
static SN_RT_INLINE vf3 mad(vf3 a, vf s, vf3 b) {
  return (vf3){vf_fma(s, b.x, a.x), vf_fma(s, b.y, a.y), vf_fma(s, b.z, a.z)};
}

static SN_RT_INLINE vf3 scale(vf s, vf3 a) { return (vf3){vf_mul(s, a.x), vf_mul(s, a.y), vf_mul(s, a.z)}; }

static SN_RT_INLINE vf3 less(vf3 a, vf3 b) { return (vf3){vf_sub(a.x, b.x), vf_sub(a.y, b.y), vf_sub(a.z, b.z)}; }

static SN_RT_INLINE vf3 add(vf3 a, vf3 b) { return (vf3){vf_add(a.x, b.x), vf_add(a.y, b.y), vf_add(a.z, b.z)}; }

static SN_RT_INLINE vf dot3(vf3 a, vf3 b) { return vf_fma(a.x, b.x, vf_fma(a.y, b.y, vf_mul(a.z, b.z))); }

static SN_RT_INLINE vf3 normalise(vf3 a) { return scale(vf_rsqrt(vf_max(dot3(a, a), vf_set(1e-37f))), a); }

static SN_RT_INLINE vf3 column(const vf b[12], int c) { return (vf3){b[3 * c], b[3 * c + 1], b[3 * c + 2]}; }

static SN_RT_INLINE vf3 transform(const vf b[12], vf3 p) {
  return mad(mad(mad(column(b, 3), p.x, column(b, 0)), p.y, column(b, 1)), p.z, column(b, 2));
}

static SN_RT_INLINE vf3 transform_vector(const vf b[12], vf3 v) {
  return mad(mad(scale(v.x, column(b, 0)), v.y, column(b, 1)), v.z, column(b, 2));
}

// sum_k w_k (M_k p) with undecoded weights and matrices times their unit: cheaper than a mixture if the blended matrix is not
// needed otherwise.
static SN_RT_INLINE vf3 transform_shared(const float *const *entries, int influences, const vf *w, vf3 p) {
  vf3 sum = {vf_set(0), vf_set(0), vf_set(0)};
  for (int k = 0; k < influences; k++) {
    vf moved[3];
    for (int r = 0; r < 3; r++) {
      const float *m = entries[k] + r;
      moved[r] = vf_fma(p.x, vf_set(m[0]), vf_set(m[12]));
      moved[r] = vf_fma(p.z, vf_set(m[8]), vf_fma(p.y, vf_set(m[4]), moved[r]));
    }
    vf3 t = {moved[0], moved[1], moved[2]};
    sum = k ? mad(sum, w[k], t) : scale(w[0], t);
  }
  return sum;
}

// Cofactor matrix times n, as in vertex.h, with two cross products instead of three:
// nx (y x z) + ny (z x x) + nz (x x y) = (nx y - ny x) x z + nz (x x y).
static SN_RT_INLINE vf3 cofactors_times(const vf b[12], vf3 n) {
  vf3 x = column(b, 0), y = column(b, 1), z = column(b, 2), s = scale(n.x, y);
  s = (vf3){vf_fnma(n.y, x.x, s.x), vf_fnma(n.y, x.y, s.y), vf_fnma(n.y, x.z, s.z)};
  return mad(cross(s, z), n.z, cross(x, y));
}

static SN_RT_INLINE vf3 transform_normal(const vf b[12], vf3 n) { return normalise(cofactors_times(b, n)); }

// r x (r x p + w p): the rotation of p minus p, times |q|^2 / 2.
static SN_RT_INLINE vf3 half_rotate(const vf q[4], vf3 p, vf3 d) {
  vf3 r = {q[0], q[1], q[2]};
  vf3 inner = mad(d, q[3], p);
  vf3 c = cross(r, p);
  inner = (vf3){vf_add(inner.x, c.x), vf_add(inner.y, c.y), vf_add(inner.z, c.z)};
  return cross(r, inner);
}

static SN_RT_INLINE vf two_over_square(const vf q[4]) {
  vf squared = vf_fma(q[0], q[0], vf_fma(q[1], q[1], vf_fma(q[2], q[2], vf_mul(q[3], q[3]))));
  return vf_div(vf_set(2), squared);
}

static SN_RT_INLINE vf3 move_by_dualquat(const vf q[8], vf factor, vf3 p) {
  vf3 r = {q[0], q[1], q[2]}, d = {q[4], q[5], q[6]};
  vf3 out = mad(half_rotate(q, p, d), q[3], d);
  out = (vf3){vf_fnma(q[7], r.x, out.x), vf_fnma(q[7], r.y, out.y), vf_fnma(q[7], r.z, out.z)};
  return mad(p, factor, out);
}

static SN_RT_INLINE vf3 rotate_by(const vf q[4], vf factor, vf3 n) {
  vf3 none = {vf_set(0), vf_set(0), vf_set(0)};
  return mad(n, factor, half_rotate(q, n, none));
}

// ---- groups ---------------------------------------------------------------------------------------------------------------------

// Data pointers of `width` lanes of a block: local copies, because the compiler must assume that stores alias the job.
// `bits`, a constant in most loops, selects the encoding: SN_RT_PACKED_BITS or not.
typedef struct cursor {
  size_t block;
  const uint16_t *lanes;
  tuple_rows tuples;
  const char *rest, *normals, *weights;
  const float *box; // corner and step of a packed group
} cursor;

static SN_RT_INLINE size_t rest_bytes(uint32_t bits) { return bits == SN_RT_PACKED_BITS ? 2 : 4; } // of a number

// Bytes of a block's normals: three for each, or three floats.
static SN_RT_INLINE size_t normal_bytes(uint32_t bits) {
  return bits == SN_RT_PACKED_BITS ? SN_RT_PACKED_NORMALS : 3 * SN_RT_LANES * sizeof(float);
}

static SN_RT_INLINE cursor cursor_at(const sn_rt_job *job, const sn_rt_group *g, uint32_t bits) {
  const sn_rt_stored *skin = &job->skin;
  uint32_t tuple_bytes = bits == SN_RT_PACKED_BITS ? skin->tuple_bytes : 2;
  cursor at = {.block = g->first_block,
               .lanes = job->lanes ? job->lanes : skin->lanes[g->first_block],
               .tuples = {NULL, tuple_bytes},
               .rest = (const char *)skin->rest + g->first_block * 3 * SN_RT_LANES * rest_bytes(bits),
               .normals = (const char *)skin->normals + g->first_block * normal_bytes(bits),
               .weights = (const char *)skin->weights + g->first_weight * (size_t)bits,
               .box = bits == SN_RT_PACKED_BITS ? skin->boxes[g - skin->groups] : NULL};
  if (g->kind == SN_RT_GROUP_LOOSE)
    at.tuples.at = (const char *)skin->tuples + g->first_tuple * (size_t)SN_RT_LANES * tuple_bytes;
  return at;
}

// Lanes `lane` to `lane + width - 1` of the block. Padding vertices are in several blocks, with differently rounded corrections.
// Blocks are completed in order, so that the same block writes last on every path and for every range.
static SN_RT_INLINE cursor from_lane(cursor at, int lane, form f) {
  size_t n = (size_t)lane;
  at.lanes += n, at.rest += n * rest_bytes(f.bits), at.weights += n * f.bits / 8;
  at.normals += f.bits == SN_RT_PACKED_BITS ? 3 * n : n * sizeof(float);
  if (f.loose) at.tuples.at += n * at.tuples.bytes;
  return at;
}

// From block to block.
static SN_RT_INLINE void advance(cursor *at, form f) {
  at->block++;
  at->lanes += SN_RT_LANES, at->rest += 3 * SN_RT_LANES * rest_bytes(f.bits), at->normals += normal_bytes(f.bits);
  at->weights += (size_t)(f.influences - 1) * f.bits;
  if (f.loose) at->tuples.at += (size_t)f.influences * SN_RT_LANES * at->tuples.bytes;
}

static SN_RT_INLINE vf3 load_rest(const cursor *at, uint32_t bits) {
  if (bits != SN_RT_PACKED_BITS) return load3((const float *)(const void *)at->rest);
  const uint16_t *soa = (const uint16_t *)(const void *)at->rest;
  vf step = vf_set(at->box[3]);
  return (vf3){vf_fma(vf_load_u16(soa), step, vf_set(at->box[0])),
               vf_fma(vf_load_u16(soa + SN_RT_LANES), step, vf_set(at->box[1])),
               vf_fma(vf_load_u16(soa + 2 * SN_RT_LANES), step, vf_set(at->box[2]))};
}

// sn_rt_packed_direction of `width` lanes, scaled by SN_RT_OCTAHEDRAL_HALF: callers do not depend on the length.
static SN_RT_INLINE vf3 load_directions(const uint8_t *at) {
  vf u, v, half = vf_set(SN_RT_OCTAHEDRAL_HALF);
  vf_load_uv(at, &u, &v);
  vf x = vf_sub(u, half), y = vf_sub(v, half);
  vf z = vf_sub(vf_sub(half, vf_abs(x)), vf_abs(y)), fold = vf_min(z, vf_set(0));
  return (vf3){vf_add(x, vf_flip_by(fold, x)), vf_add(y, vf_flip_by(fold, y)), z};
}

// Packed normals are normalised only if `unit` is set.
static SN_RT_INLINE vf3 load_normals(const cursor *at, uint32_t bits, int unit) {
  if (bits != SN_RT_PACKED_BITS) return load3((const float *)(const void *)at->normals);
  vf3 n = load_directions((const uint8_t *)at->normals);
  return unit ? normalise(n) : n;
}

#include "runtime/correct_template.h"

// ---- blocks ---------------------------------------------------------------------------------------------------------------------

// Output positions of the lanes: arbitrary, adjacent pairs (0 and 1, 2 and 3, ...), all contiguous, contiguous and aligned for
// streaming stores.
typedef enum layout { layout_any, layout_pairs, layout_row, layout_stream } layout;

static SN_RT_INLINE uint64_t four_lanes(const uint16_t *lanes) {
  uint64_t four;
  memcpy(&four, lanes, sizeof four);
  return four;
}

static SN_RT_INLINE int in_row(const uint16_t *lanes) {
  const uint64_t ones = 0x0001000100010001u;
  uint64_t row = lanes[0] * ones + 0x0003000200010000u, broken = 0;
  for (uint32_t n = 0; n < width; n += 4) broken |= four_lanes(lanes + n) ^ (row + n * ones);
  return broken == 0;
}

static SN_RT_INLINE int in_pairs(const uint16_t *lanes) {
  const uint64_t even = 0x0000ffff0000ffffu;
  uint64_t broken = 0;
  for (int n = 0; n < width; n += 4) {
    uint64_t four = four_lanes(lanes + n);
    broken |= (((four >> 16) & even) - (four & even)) ^ 0x0000000100000001u;
  }
  return broken == 0;
}

// Contiguous rows are rare unless vertices are in the order of the blocks (then the layout is `rows`): testing for them elsewhere
// would add mispredicted branches.
static SN_RT_INLINE layout layout_of(const uint16_t *lanes, layout rows) {
  if (rows != layout_any && in_row(lanes)) return lanes[0] % width == 0 ? rows : layout_row;
  return in_pairs(lanes) ? layout_pairs : layout_any;
}

static SN_RT_INLINE layout layout_of_rows(const sn_rt_job *job) {
  return job->stream ? layout_stream : job->rows ? layout_row : layout_any;
}

// Output pointers and strides.
typedef struct target {
  char *base;
  size_t stride;
} target;

static SN_RT_INLINE void put(target to, layout lie, const uint16_t *lanes, vf3 v) {
  if (to.stride != 12)
    vf_scatter(v.x, v.y, v.z, to.base, lanes, to.stride);
  else if (lie == layout_row)
    vf_store_row(v.x, v.y, v.z, (float *)(void *)(to.base + 12 * (size_t)lanes[0]));
  else if (lie == layout_pairs)
    vf_store_pairs(v.x, v.y, v.z, to.base, lanes);
  else if (lie == layout_stream)
    vf_stream_row(v.x, v.y, v.z, (float *)(void *)(to.base + 12 * (size_t)lanes[0]));
  else
    vf_scatter(v.x, v.y, v.z, to.base, lanes, 12);
}

// A block's normals before normalisation. They are normalised while the next block is blended, to hide the latency.
typedef struct pending {
  vf3 normals;
  const uint16_t *lanes; // NULL: none
  layout lie;
} pending;

static SN_RT_INLINE void put_pending(target to, const pending *p) {
  if (p->lanes) put(to, p->lie, p->lanes, normalise(p->normals));
}

// Queues normals that must be normalised (`wait`) and stores the previous ones; others are stored at once.
static SN_RT_INLINE void put_normals(target to, int wait, pending now, pending *last) {
  if (!wait) {
    put(to, now.lie, now.lanes, now.normals);
    return;
  }
  put_pending(to, last);
  *last = now;
}

static SN_RT_INLINE void move_lanes(source s, cursor at, int influences, float (*weights)[width], vf3 p, target to) {
  static const uint16_t in_order[SN_RT_LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
  float places[width][4];
  vf_scatter4((vf[4]){p.x, p.y, p.z, vf_set(1)}, (char *)places, in_order, sizeof *places);
  for (int l = 0; l < width; l++) {
    vf m[16 / width];
    blend_lane(s, at.tuples, influences, weights, l, m);
    vf_put_moved(m, places[l], to.base + at.lanes[l] * to.stride);
  }
}

// Positions of loose lanes if their matrices are not needed otherwise: without transposing.
static SN_RT_INLINE void move_loose(source s, cursor at, int influences, float (*weights)[width], vf3 p, target to) {
  int bytes = at.tuples.bytes == 1;
  at.tuples.bytes = 2;
  if (!bytes) move_lanes(s, at, influences, weights, p, to);
  at.tuples.bytes = 1;
  if (bytes) move_lanes(s, at, influences, weights, p, to);
}

static SN_RT_INLINE source matrices_of(const float *palette, const mixture *shared) {
  return (source){palette, 16, 4, 3, 0, shared};
}

// The first `columns` quaternions of a dual quaternion.
static SN_RT_INLINE source quats_of(const sn_rt_job *job, int columns, const mixture *shared) {
  return (source){job->scratch.dualquats, 8, columns, 4, !(*job->scratch.flags & SN_RT_SIGNED), shared};
}

static SN_RT_INLINE void linear_blocks(const sn_rt_job *job, const sn_rt_group *g, form f, pending *last) {
  mixture shared;
  source matrices = matrices_of(job->scratch.matrices, &shared);
  const float *entries[SN_RT_MAX_INFLUENCES];
  int mixed = !f.loose && (f.normals || f.corrected || f.influences == 1);
  for (int k = 0; !f.loose && !mixed && k < f.influences; k++)
    entries[k] = job->scratch.scaled + 16 * (size_t)g->joints[k];
  if (mixed) mix(job, g, f, matrices, &shared);
  vf total = vf_set(job->weight_total), unit = vf_set(job->weight_unit);
  layout rows = layout_of_rows(job);
  target positions = {job->positions, job->position_stride}, normals_out = {job->normals, job->normal_stride};
  cursor block = cursor_at(job, g, f.bits);
  for (int left = g->block_count; left > 0; left--, advance(&block, f)) {
    for (int lane = 0; lane < SN_RT_LANES; lane += width) {
      cursor at = from_lane(block, lane, f);
      correction c = {0};
      if (f.corrected) c = correction_at(job, f.bits, &at, lane, f.normals);
      vf b[12] = {vf_set(0)}, w[SN_RT_MAX_INFLUENCES];
      float weights[SN_RT_MAX_INFLUENCES][width];
      vf3 p = load_rest(&at, f.bits), n = p;
      if (f.normals) n = load_normals(&at, f.bits, f.corrected);
      layout lie = layout_of(at.lanes, rows);
      if (c.before && !c.late) p = add(p, c.position);
      if (f.loose || mixed) {
        load_lane_weights(at.weights, f, total, unit, w, weights);
        if (f.loose && !f.normals && !f.corrected) {
          move_loose(matrices, at, f.influences, weights, p, positions);
          continue;
        }
        blend(matrices, f, at.tuples, w, weights, b);
        p = transform(b, p);
      } else {
        load_all_weights(at.weights, f, total, w);
        p = transform_shared(entries, f.influences, w, p);
      }
      if (c.late) p = add(p, limited(transform_vector(b, c.position), c.limit));
      put(positions, lie, at.lanes, c.after ? add(p, c.position) : p);
      if (!f.normals) continue;
      put_pending(normals_out, last);
      n = cofactors_times(b, c.before ? add(n, c.normal) : n);
      *last = (pending){c.after ? add(normalise(n), c.normal) : n, at.lanes, lie};
    }
  }
}

// Dual quaternions, or rotations about centres.
static SN_RT_INLINE void turned_blocks(const sn_rt_job *job, const sn_rt_group *g, form f, pending *last) {
  int about = f.about;
  mixture rotations, stretches, matrices;
  source quats = quats_of(job, about ? 1 : 2, &rotations), stretch = matrices_of(job->scratch.stretches, &stretches),
         linear_part = matrices_of(job->scratch.matrices, &matrices);
  const vf3 none = {vf_set(0), vf_set(0), vf_set(0)};
  int wait = !f.corrected && (f.stretched || f.bits == SN_RT_PACKED_BITS); // else normals have unit length already
  if (about) mix(job, g, f, linear_part, &matrices);
  mix(job, g, f, quats, &rotations);
  if (f.stretched) mix(job, g, f, stretch, &stretches);
  vf total = vf_set(job->weight_total), unit = vf_set(job->weight_unit);
  layout rows = layout_of_rows(job);
  target positions = {job->positions, job->position_stride}, normals_out = {job->normals, job->normal_stride};
  cursor block = cursor_at(job, g, f.bits);
  for (int left = g->block_count; left > 0; left--, advance(&block, f)) {
    for (int lane = 0; lane < SN_RT_LANES; lane += width) {
      cursor at = from_lane(block, lane, f);
      vf q[8], b[12], s[12], w[SN_RT_MAX_INFLUENCES];
      float weights[SN_RT_MAX_INFLUENCES][width];
      load_lane_weights(at.weights, f, total, unit, w, weights);
      vf3 p = load_rest(&at, f.bits), n = p, centre = none;
      if (f.normals) n = load_normals(&at, f.bits, !wait);
      if (about) centre = load3(job->centres[at.block][0] + lane), p = less(p, centre);
      correction c = {0};
      if (f.corrected) c = correction_at(job, f.bits, &at, lane, f.normals);
      if (c.before) p = add(p, c.position), n = normalise(add(n, c.normal));
      if (f.stretched) {
        blend(stretch, f, at.tuples, w, weights, s);
        p = about ? transform_vector(s, p) : transform(s, p);
        if (f.normals) n = wait ? cofactors_times(s, n) : transform_normal(s, n);
      }
      if (about) blend(linear_part, f, at.tuples, w, weights, b);
      blend(quats, f, at.tuples, w, weights, q);
      vf factor = two_over_square(q);
      layout lie = layout_of(at.lanes, rows);
      p = about ? add(transform(b, centre), rotate_by(q, factor, p)) : move_by_dualquat(q, factor, p);
      put(positions, lie, at.lanes, c.after ? add(p, c.position) : p);
      if (!f.normals) continue;
      n = rotate_by(q, factor, n);
      put_normals(normals_out, wait, (pending){c.after ? normalise(add(n, c.normal)) : n, at.lanes, lie}, last);
    }
  }
}

#include "runtime/tangent_template.h"

// ---- groups of blocks ----------------------------------------------------------------------------------------------------------

typedef enum blending { blending_linear, blending_turned, blending_tangents } blending;

static SN_RT_INLINE void blocks(const sn_rt_job *job, const sn_rt_group *g, blending by, form f, pending *last) {
  if (by == blending_linear)
    linear_blocks(job, g, f, last);
  else if (by == blending_tangents)
    tangent_blocks(job, g, f);
  else
    turned_blocks(job, g, f, last);
}

// The form of a loop for groups with one set of joints, or for loose ones.
static SN_RT_INLINE form with(form f, int loose, int influences, int known) {
  f.loose = loose, f.influences = influences, f.influences_known = known;
  return f;
}

// The loop of a group: 0 loose, 1 to 4 influences, 5 any number; for the rarer forms, 5 for all shared groups.
static SN_RT_INLINE int loop_of(const sn_rt_group *g, int rare) {
  return g->kind == SN_RT_GROUP_LOOSE ? 0 : rare || g->influences > 4 ? 5 : g->influences;
}

static SN_RT_INLINE void groups(const sn_rt_job *job, blending by, form f) {
  pending last = {.lanes = NULL};
  int rare = f.any || f.about || by == blending_tangents || (f.corrected && by == blending_turned);
  for (uint32_t index = job->first_group; index < job->last_group; index++) {
    const sn_rt_group *g = job->skin.groups + index;
    switch (loop_of(g, rare)) {
    case 0: // four influences as a constant: the loops over them unroll
      if (by == blending_linear && !f.any && !f.corrected && g->influences == 4)
        blocks(job, g, by, with(f, 1, 4, 1), &last);
      else
        blocks(job, g, by, with(f, 1, g->influences, 0), &last);
      break;
    case 1:
      blocks(job, g, by, with(f, 0, 1, 1), &last);
      break;
    case 2:
      blocks(job, g, by, with(f, 0, 2, 1), &last);
      break;
    case 3:
      blocks(job, g, by, with(f, 0, 3, 1), &last);
      break;
    case 4:
      blocks(job, g, by, with(f, 0, 4, 1), &last);
      break;
    default:
      blocks(job, g, by, with(f, 0, g->influences, 0), &last);
      break;
    }
  }
  if (f.normals) put_pending((target){job->normals, job->normal_stride}, &last);
}

static SN_RT_INLINE int is_stretched(const sn_rt_job *job) { return !(*job->scratch.flags & SN_RT_RIGID); }

// The generic loops: palettes that are not rigid, and 16-bit and 8-bit weights of older models.
static SN_RT_INLINE form any_form(const sn_rt_job *job, int about) {
  return (form){.bits = job->skin.weight_bits,
                .normals = job->normals != NULL,
                .corrected = !SN_RT_IS_BASIC && job->correct.stored.start != NULL,
                .about = about,
                .stretched = is_stretched(job),
                .any = 1};
}

static void linear_any(const sn_rt_job *job) { groups(job, blending_linear, any_form(job, 0)); }
static void dualquat_any(const sn_rt_job *job) { groups(job, blending_turned, any_form(job, 0)); }
static void tangents_any(const sn_rt_job *job) { groups(job, blending_tangents, any_form(job, 0)); }
#if !defined(SN_RT_BASIC)
static void centres_any(const sn_rt_job *job) { groups(job, blending_turned, any_form(job, 1)); }
#endif
