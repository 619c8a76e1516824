// SPDX-License-Identifier: MIT
// Vectorised kernel of the drives `rotreg` and `torque`, as kernel_template.h: predictors with one proxy bone per lane, then
// T' = C [D'; Q'] with one row of T' per lane. Section numbers are Wang 2007's.

#include "runtime/rotreg_predict.h"

// ---- the reduced solve (4.3, 5) -------------------------------------------------------------------------------------------

enum { rr_vectors = 4, rr_rows = rr_vectors * width };

// Columns of C, 32 rows each, and their rows of [D'; Q']: x, y and z, `apart` floats apart.
typedef struct rr_columns {
  const char *rows;
  const float *x;
  size_t apart;
  uint32_t count;
} rr_columns;

static SN_RT_INLINE rr_columns rr_further(rr_columns c, size_t columns, int packed) {
  c.rows += columns * SN_RT_ROTREG_ROWS * (packed ? sizeof(int16_t) : sizeof(float));
  c.x += columns;
  return c;
}

// Vector n of a column: `width` rows. Packed: vectors n and n + 1 (n even) have the even and the odd ones of 2 width rows, which
// avoids shuffles. They are scaled by SN_RT_PAIR, which is exact, until rr_put_rows.
static SN_RT_INLINE vf rr_load(const char *rows, int n, int packed) {
  if (!packed) return vf_load((const float *)(const void *)rows + n * width);
  const int16_t *pairs = (const int16_t *)(const void *)rows + n / 2 * 2 * width;
  return n % 2 ? vf_load_odd(pairs) : vf_load_even(pairs);
}

#if defined(SN_RT_AVX512)
// 32 rows as two vectors of 512 bits: the first and the second half, or those at even places and those at odd.
static SN_RT_INLINE __m512 rr_load_wide(const char *rows, int n, int packed) {
  if (!packed) return _mm512_loadu_ps((const float *)(const void *)rows + 16 * n);
  __m512i pairs = _mm512_loadu_si512(rows);
  return _mm512_cvtepi32_ps(n ? _mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000u))
                              : _mm512_slli_epi32(pairs, 16));
}

static SN_RT_INLINE void rr_add_column(rr_columns c, int packed, __m512 sum[3][2]) {
  for (int n = 0; n < 2; n++) {
    __m512 row = rr_load_wide(c.rows, n, packed);
    for (int a = 0; a < 3; a++) sum[a][n] = _mm512_fmadd_ps(row, _mm512_set1_ps(c.x[(size_t)a * c.apart]), sum[a][n]);
  }
}

// rr_part with separate sums of even and odd columns, to hide the latency of the additions.
static SN_RT_INLINE void rr_wide_part(rr_columns c, int packed, vf part[3][rr_vectors]) {
  uint32_t count = c.count;
  __m512 even[3][2], odd[3][2];
  for (int a = 0; a < 3; a++)
    for (int n = 0; n < 2; n++) even[a][n] = odd[a][n] = _mm512_setzero_ps();
  for (; count > 1; count -= 2, c = rr_further(c, 2, packed)) {
    rr_add_column(c, packed, even);
    rr_add_column(rr_further(c, 1, packed), packed, odd);
  }
  if (count) rr_add_column(c, packed, even);
  for (int a = 0; a < 3; a++)
    for (int n = 0; n < 2; n++) {
      __m512 both = _mm512_add_ps(even[a][n], odd[a][n]);
      vf *to = part[a] + (packed ? n : 2 * n);
      to[0] = _mm512_castps512_ps256(both), to[packed ? 2 : 1] = _mm512_extractf32x8_ps(both, 1);
    }
}
#endif

// Contribution of the columns of eight proxy bones or joints to T'.
static SN_RT_INLINE void rr_part(rr_columns c, int packed, int wide, vf part[3][rr_vectors]) {
#if defined(SN_RT_AVX512)
  if (wide) {
    rr_wide_part(c, packed, part);
    return;
  }
#endif
  (void)wide;
  vf a[3][rr_vectors];
  for (int n = 0; n < rr_vectors; n++) a[0][n] = a[1][n] = a[2][n] = vf_set(0);
  for (uint32_t k = 0; k < c.count; k++, c = rr_further(c, 1, packed)) {
    vf x = vf_set(c.x[0]), y = vf_set(c.x[c.apart]), z = vf_set(c.x[2 * c.apart]);
    for (int n = 0; n < rr_vectors; n++) {
      vf row = rr_load(c.rows, n, packed);
      a[0][n] = vf_fma(row, x, a[0][n]), a[1][n] = vf_fma(row, y, a[1][n]), a[2][n] = vf_fma(row, z, a[2][n]);
    }
  }
  for (int n = 0; n < rr_vectors; n++) part[0][n] = a[0][n], part[1][n] = a[1][n], part[2][n] = a[2][n];
}

// The same with stored parts of the last frame: recomputed and stored only if `stale`.
static SN_RT_INLINE void rr_kept_part(rr_columns c, int packed, int wide, int stale, float *kept,
                                      vf part[3][rr_vectors]) {
  if (stale) rr_part(c, packed, wide, part);
  for (int a = 0; a < 3; a++)
    for (int n = 0; n < rr_vectors; n++) {
      float *at = kept + a * SN_RT_ROTREG_ROWS + n * width;
      if (stale)
        vf_store(at, part[a][n]);
      else
        part[a][n] = vf_load(at);
    }
}

// Sums as rows of four numbers, in order.
static SN_RT_INLINE void rr_put_rows(int packed, vf sum[3][rr_vectors], float (*out)[4]) {
  static const uint16_t in_order[8] = {0, 1, 2, 3, 4, 5, 6, 7}, every_other[8] = {0, 2, 4, 6, 8, 10, 12, 14};
  vf unit = vf_set(packed ? 1 / SN_RT_PAIR : 1);
  for (int n = 0; n < rr_vectors; n++) {
    int first = packed ? n / 2 * 2 * width + n % 2 : n * width;
    vf_scatter4((vf[4]){vf_mul(unit, sum[0][n]), vf_mul(unit, sum[1][n]), vf_mul(unit, sum[2][n]), vf_set(0)},
                (char *)out[first], packed ? every_other : in_order, sizeof *out);
  }
}

// Packed: converts the fourth row of every bone, the image of its centre, to its translation.
static SN_RT_INLINE void rr_translate(const sn_rt_packed_solve *s, uint32_t first_bone, float (*rows)[4]) {
  for (uint32_t b = 0; b < rr_rows / 4; b++, rows += 4) {
    const float *c = s->centres[first_bone + b];
    for (int a = 0; a < 4; a++)
      rows[3][a] = s->unit * rows[3][a] - (rows[0][a] * c[0] + rows[1][a] * c[1] + rows[2][a] * c[2]);
  }
}

// rr_rows rows of T' from row `start` on, into the palette (6). c: the columns of their block. `keep`: parts are stored.
static SN_RT_INLINE void rr_solve(const sn_rt_rotreg_job *job, rr_columns c, int packed, int wide, int keep,
                                  uint32_t start) {
  uint32_t block = start / SN_RT_ROTREG_ROWS, first = start % SN_RT_ROTREG_ROWS;
  uint32_t gradient_columns = 3 * job->bone_count, joint_columns = 4 * job->joint_count;
  uint32_t blocks = sn_rt_rotreg_blocks(job->bone_count), eights = blocks + sn_rt_blocks_of(job->joint_count);
  float *kept = keep ? job->parts + (size_t)block * eights * 3 * SN_RT_ROTREG_ROWS + first : NULL;
  c.rows += first * (packed ? sizeof(int16_t) : sizeof(float));
  vf sum[3][rr_vectors], part[3][rr_vectors];
  for (int n = 0; n < rr_vectors; n++) sum[0][n] = sum[1][n] = sum[2][n] = vf_set(0);
  for (uint32_t e = 0; e < eights; e++) {
    int bones = e < blocks;
    uint32_t most = bones ? 3 * SN_RT_LANES : 4 * SN_RT_LANES, at = most * (bones ? e : e - blocks);
    uint32_t left = (bones ? gradient_columns : joint_columns) - at;
    rr_columns of = rr_further(c, bones ? at : (size_t)gradient_columns + at, packed);
    of.count = left < most ? left : most;
    if (keep)
      rr_kept_part(of, packed, wide, !job->stale || job->stale[e], kept + (size_t)e * 3 * SN_RT_ROTREG_ROWS, part);
    else
      rr_part(of, packed, wide, part);
    for (int n = 0; n < rr_vectors; n++)
      for (int a = 0; a < 3; a++) sum[a][n] = vf_add(sum[a][n], part[a][n]);
  }
  float rows[SN_RT_ROTREG_ROWS][4];
  rr_put_rows(packed, sum, rows);
  uint32_t end = 4 * job->bone_count;
  if (packed) rr_translate(&job->packed, start / 4, rows);
  float *out = job->matrices + 16 * (size_t)job->joint_count + 4 * (size_t)start;
  for (uint32_t r = 0; r < rr_rows && start + r < end; r++) memcpy(out + 4 * r, rows[r], sizeof *rows);
}

// The columns' rows of [D'; Q'], each with the scale that the block of C has for its column.
static SN_RT_INLINE void rr_scale(const float *scales, const rr_columns *from, float *out) {
  for (size_t a = 0; a < 3; a++) {
    uint32_t k = 0;
    const float *x = from->x + a * from->apart;
    float *to = out + a * from->apart;
    for (; k + width <= from->count; k += width) vf_store(to + k, vf_mul(vf_load(scales + k), vf_load(x + k)));
    for (; k < from->count; k++) to[k] = scales[k] * x[k];
  }
}

static SN_RT_INLINE void rr_solve_all(const sn_rt_rotreg_job *job, int packed, int wide, int keep) {
  uint32_t columns = 3 * job->bone_count + 4 * job->joint_count;
  rr_columns c = {packed ? (const char *)job->packed.rows : (const char *)job->solve, job->inputs,
                  sn_rt_rotreg_apart(columns), columns};
  for (uint32_t b = 0; b < sn_rt_rotreg_blocks(job->bone_count); b++) {
    rr_columns of = c;
    of.rows += b * (size_t)columns * SN_RT_ROTREG_ROWS * (packed ? sizeof(int16_t) : sizeof(float));
    if (packed) {
      float *scaled = job->inputs + 3 * c.apart;
      rr_scale(job->packed.scales + b * (size_t)columns, &c, scaled), of.x = scaled;
    }
    for (uint32_t first = 0; first < SN_RT_ROTREG_ROWS; first += rr_rows)
      rr_solve(job, of, packed, wide, keep, SN_RT_ROTREG_ROWS * b + first);
  }
}

static SN_RT_INLINE void rr_solve_any(const sn_rt_rotreg_job *job, int wide) {
  if (job->packed.rows)
    if (job->parts)
      rr_solve_all(job, 1, wide, 1);
    else
      rr_solve_all(job, 1, wide, 0);
  else if (job->parts)
    rr_solve_all(job, 0, wide, 1);
  else
    rr_solve_all(job, 0, wide, 0);
}

// `count` columns of four numbers by coordinate, `apart` floats from each other.
static SN_RT_INLINE void rr_by_coordinate(const float *from, uint32_t count, size_t apart, float *out) {
  uint32_t k = 0;
  for (; k + width <= count; k += width) {
    const char *at[width];
    vf coordinates[4];
    for (int l = 0; l < width; l++) at[l] = (const char *)(from + 4 * ((size_t)k + (size_t)l));
    vf_gather_rows(at, coordinates);
    for (size_t a = 0; a < 3; a++) vf_store(out + a * apart + k, coordinates[a]);
  }
  for (; k < count; k++)
    for (size_t a = 0; a < 3; a++) out[a * apart + k] = from[4 * (size_t)k + a];
}

// [D'; Q']: columns of the gradients, then of the joints.
static SN_RT_INLINE void rr_gather_inputs(const sn_rt_rotreg_job *job) {
  uint32_t gradient_columns = 3 * job->bone_count, joint_columns = 4 * job->joint_count;
  size_t apart = sn_rt_rotreg_apart(gradient_columns + joint_columns);
  rr_by_coordinate(job->gradients, gradient_columns, apart, job->inputs);
  rr_by_coordinate(job->matrices, joint_columns, apart, job->inputs + gradient_columns);
}

static void rotreg(const sn_rt_rotreg_job *job) {
  uint32_t blocks = sn_rt_rotreg_blocks(job->bone_count);
  const float(*rotations)[8] = (const float(*)[8])job->rotations;
  for (uint32_t b = 0; b < blocks; b++)
    for (int lane = 0; lane < SN_RT_LANES; lane += width) {
      if (job->stale && !job->stale[b]) continue;
      float *out = job->gradients + 12 * ((size_t)b * SN_RT_LANES + (size_t)lane);
      if (job->pairs)
        rr_blend(rotations, (const float(*)[2])job->blends, job->joint_count, job->pairs + b, lane, out);
      else
        rr_predict(job->blocks + b, lane, rotations, out);
    }
  rr_gather_inputs(job);
#if defined(SN_RT_AVX512)
  if (job->wide) {
    rr_solve_any(job, 1);
    return;
  }
#endif
  rr_solve_any(job, 0);
}
