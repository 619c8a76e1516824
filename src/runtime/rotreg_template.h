// SPDX-License-Identifier: MIT
// The kernel of the drives `rotreg` and `torque` in terms of vectors, as kernel_template.h: predictors with one proxy bone
// per lane, then T' = C [D'; Q'] with one row of T' per lane. Section numbers are Wang 2007's.

#include "runtime/rotreg_predict.h"

// ---- the reduced solve (4.3, 5) -------------------------------------------------------------------------------------------

enum { rr_vectors = 4, rr_rows = rr_vectors * width };

// Where columns of C begin: floats, or 16 bits with a scale each.
typedef struct rr_columns {
  const char *rows;
  const float *scales;
} rr_columns;

static SN_RT_INLINE rr_columns rr_further(rr_columns c, size_t columns, int packed) {
  c.rows += columns * SN_RT_ROTREG_ROWS * (packed ? sizeof(int16_t) : sizeof(float));
  if (packed) c.scales += columns;
  return c;
}

static SN_RT_INLINE vf rr_load(const char *rows, int n, int packed) {
  return packed ? vf_load_i16((const int16_t *)(const void *)rows + n * width)
                : vf_load((const float *)(const void *)rows + n * width);
}

#if defined(SN_RT_AVX512) // 32 rows as two vectors of 512 bits
static SN_RT_INLINE __m512 rr_load_wide(const char *rows, int n, int packed) {
  if (!packed) return _mm512_loadu_ps((const float *)(const void *)rows + 16 * n);
  return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)rows + n)));
}

static SN_RT_INLINE void rr_add_column(const char *rows, int packed, const float *x, __m512 sum[3][2]) {
  __m512 x0 = _mm512_set1_ps(x[0]), x1 = _mm512_set1_ps(x[1]), x2 = _mm512_set1_ps(x[2]);
  for (int n = 0; n < 2; n++) {
    __m512 row = rr_load_wide(rows, n, packed);
    sum[0][n] = _mm512_fmadd_ps(row, x0, sum[0][n]), sum[1][n] = _mm512_fmadd_ps(row, x1, sum[1][n]);
    sum[2][n] = _mm512_fmadd_ps(row, x2, sum[2][n]);
  }
}

// rr_accumulate, with sums of every other column: six alone would wait for each other.
static SN_RT_INLINE void rr_accumulate_wide(rr_columns c, int packed, const float *x, uint32_t count,
                                            vf sum[3][rr_vectors]) {
  __m512 even[3][2], odd[3][2];
  for (int a = 0; a < 3; a++)
    for (int n = 0; n < 2; n++) {
      even[a][n] = _mm512_insertf32x8(_mm512_castps256_ps512(sum[a][2 * n]), sum[a][2 * n + 1], 1);
      odd[a][n] = _mm512_setzero_ps();
    }
  for (; count > 1; count -= 2, c = rr_further(c, 2, packed), x += 8) {
    rr_add_column(c.rows, packed, x, even);
    rr_add_column(rr_further(c, 1, packed).rows, packed, x + 4, odd);
  }
  if (count) rr_add_column(c.rows, packed, x, even);
  for (int a = 0; a < 3; a++)
    for (int n = 0; n < 2; n++) {
      __m512 both = _mm512_add_ps(even[a][n], odd[a][n]);
      sum[a][2 * n] = _mm512_castps512_ps256(both), sum[a][2 * n + 1] = _mm512_extractf32x8_ps(both, 1);
    }
}
#endif

// sum += C x over `count` columns; C has 32 rows in a column, x four numbers.
static SN_RT_INLINE void rr_accumulate(rr_columns c, int packed, int wide, const float *x, uint32_t count,
                                       vf sum[3][rr_vectors]) {
#if defined(SN_RT_AVX512)
  if (wide) {
    rr_accumulate_wide(c, packed, x, count, sum);
    return;
  }
#endif
  (void)wide;
  vf a[3][rr_vectors];
  for (int n = 0; n < rr_vectors; n++) a[0][n] = sum[0][n], a[1][n] = sum[1][n], a[2][n] = sum[2][n];
  for (uint32_t k = 0; k < count; k++, c = rr_further(c, 1, packed), x += 4) {
    vf x0 = vf_set(x[0]), x1 = vf_set(x[1]), x2 = vf_set(x[2]);
    for (int n = 0; n < rr_vectors; n++) {
      vf row = rr_load(c.rows, n, packed);
      a[0][n] = vf_fma(row, x0, a[0][n]), a[1][n] = vf_fma(row, x1, a[1][n]), a[2][n] = vf_fma(row, x2, a[2][n]);
    }
  }
  for (int n = 0; n < rr_vectors; n++) sum[0][n] = a[0][n], sum[1][n] = a[1][n], sum[2][n] = a[2][n];
}

// The part of eight proxy bones or joints, whose `count` columns begin at c and x: computed, or the one that is kept.
static SN_RT_INLINE void rr_part(rr_columns c, int packed, int wide, const float *x, uint32_t count, int stale,
                                 float *kept, vf sum[3][rr_vectors]) {
  vf part[3][rr_vectors];
  for (int a = 0; a < 3; a++)
    for (int n = 0; n < rr_vectors; n++)
      part[a][n] = stale ? vf_set(0) : vf_load(kept + a * SN_RT_ROTREG_ROWS + n * width);
  float scaled[4 * 4 * SN_RT_LANES];
  for (uint32_t k = 0; packed && stale && k < count; k++)
    for (uint32_t n = 0; n < 4; n++) scaled[4 * k + n] = c.scales[k] * x[4 * k + n];
  if (stale) rr_accumulate(c, packed, wide, packed ? scaled : x, count, part);
  for (int a = 0; a < 3; a++)
    for (int n = 0; n < rr_vectors; n++) {
      if (stale && kept) vf_store(kept + a * SN_RT_ROTREG_ROWS + n * width, part[a][n]);
      sum[a][n] = vf_add(sum[a][n], part[a][n]);
    }
}

// Packed: the fourth row of every bone, where its centre goes, becomes its translation.
static SN_RT_INLINE void rr_translate(const sn_rt_packed_solve *s, uint32_t first_bone,
                                      float rows[3][rr_vectors * 8]) {
  for (uint32_t b = 0; b < rr_rows / 4; b++) {
    const float *c = s->centres[first_bone + b];
    for (int a = 0; a < 3; a++) {
      float *r = rows[a] + 4 * b;
      r[3] = s->unit * r[3] - (r[0] * c[0] + r[1] * c[1] + r[2] * c[2]);
    }
  }
}

// rr_rows rows of T' from row `first` of block `block` on, into the palette (6).
static SN_RT_INLINE void rr_solve(const sn_rt_rotreg_job *job, int packed, int wide, uint32_t block, uint32_t first) {
  uint32_t gradient_columns = 3 * job->bone_count, joint_columns = 4 * job->joint_count;
  uint32_t blocks = sn_rt_rotreg_blocks(job->bone_count), eights = blocks + sn_rt_blocks_of(job->joint_count);
  rr_columns c = {packed ? (const char *)(job->packed.rows + first) : (const char *)(job->solve + first),
                  job->packed.scales};
  c = rr_further(c, block * ((size_t)gradient_columns + joint_columns), packed);
  float *kept = job->parts ? job->parts + (size_t)block * eights * 3 * SN_RT_ROTREG_ROWS + first : NULL;
  vf sum[3][rr_vectors];
  for (int n = 0; n < rr_vectors; n++) sum[0][n] = sum[1][n] = sum[2][n] = vf_set(0);
  for (uint32_t e = 0; e < eights; e++) {
    int bones = e < blocks;
    uint32_t most = bones ? 3 * SN_RT_LANES : 4 * SN_RT_LANES, at = most * (bones ? e : e - blocks);
    uint32_t left = (bones ? gradient_columns : joint_columns) - at;
    const float *x = (bones ? job->gradients : job->matrices) + 4 * (size_t)at;
    rr_part(rr_further(c, bones ? at : (size_t)gradient_columns + at, packed), packed, wide, x,
            left < most ? left : most, !job->stale || job->stale[e],
            kept ? kept + (size_t)e * 3 * SN_RT_ROTREG_ROWS : NULL, sum);
  }
  float rows[3][rr_vectors * 8];
  for (int a = 0; a < 3; a++)
    for (int n = 0; n < rr_vectors; n++) vf_store(rows[a] + n * width, sum[a][n]);
  uint32_t start = SN_RT_ROTREG_ROWS * block + first, end = 4 * job->bone_count;
  if (packed) rr_translate(&job->packed, start / 4, rows);
  float *out = job->matrices + 16 * (size_t)job->joint_count + 4 * (size_t)start;
  for (uint32_t r = 0; r < rr_rows && start + r < end; r++, out += 4) {
    out[0] = rows[0][r], out[1] = rows[1][r], out[2] = rows[2][r], out[3] = 0;
  }
}

static SN_RT_INLINE void rr_solve_all(const sn_rt_rotreg_job *job, int packed, int wide) {
  for (uint32_t b = 0; b < sn_rt_rotreg_blocks(job->bone_count); b++)
    for (uint32_t first = 0; first < SN_RT_ROTREG_ROWS; first += rr_rows) rr_solve(job, packed, wide, b, first);
}

static SN_RT_INLINE void rr_solve_any(const sn_rt_rotreg_job *job, int wide) {
  if (job->packed.rows)
    rr_solve_all(job, 1, wide);
  else
    rr_solve_all(job, 0, wide);
}

static void rotreg(const sn_rt_rotreg_job *job) {
  uint32_t blocks = sn_rt_rotreg_blocks(job->bone_count);
  const float(*turns)[8] = (const float(*)[8])job->turns;
  for (uint32_t b = 0; b < blocks; b++)
    for (int lane = 0; lane < SN_RT_LANES; lane += width) {
      if (job->stale && !job->stale[b]) continue;
      float *out = job->gradients + 12 * ((size_t)b * SN_RT_LANES + (size_t)lane);
      if (job->pairs) {
        rr_blend(turns, (const float(*)[2])job->blends, job->joint_count, job->pairs + b, lane, out);
      } else {
        rr_predict(job->blocks + b, lane, turns, out);
      }
    }
#if defined(SN_RT_AVX512)
  if (job->wide) {
    rr_solve_any(job, 1);
    return;
  }
#endif
  rr_solve_any(job, 0);
}
