// SPDX-License-Identifier: MIT
// Part of kernel_template.h: loads weights and blends palette entries by them, one value per lane and entry.

// A row of eight weights has `bits` bytes.
static SN_RT_INLINE vf load_weights(const char *weights, uint32_t bits, int row) {
  const char *at = weights + (size_t)row * bits;
  if (bits == 32) return vf_load((const float *)(const void *)at);
  if (bits == SN_RT_PACKED_BITS) return vf_load_u12((const uint8_t *)at);
  if (bits == 16) return vf_load_u16((const uint16_t *)(const void *)at);
  return vf_load_u8((const uint8_t *)at);
}

// Sign bit of a dual quaternion that lies in the other hemisphere than the pivot.
static SN_RT_INLINE uint32_t opposite(const float *q, const float *pivot) {
  float dot = q[0] * pivot[0] + q[1] * pivot[1] + q[2] * pivot[2] + q[3] * pivot[3];
  uint32_t bits;
  memcpy(&bits, &dot, sizeof bits);
  return bits & 0x80000000u;
}

// Precomputed palette entries E_k of a shared group. Weights sum to one, so the blend is E_0 + sum w_k (E_k - E_0) over k > 0, one
// product less than sum w_k E_k. Stores the factors of the encoded weights (load_lane_weights), and in place of the first entry the
// constant term. The scalar path (SN_RT_DIRECT) computes sum w_k E_k, which is more precise if large entries cancel.
typedef struct mixture {
  float entries[SN_RT_MAX_INFLUENCES][16];
} mixture;

// Variant of a loop: compile-time constants, except in loops for `any` number of influences.
typedef struct form {
  uint32_t bits; // of a weight
  int normals, corrected, about, stretched, any, loose, influences,
    influences_known; // about: rotations about centres
} form;

// The blended array: `size` floats per palette entry, of which the first `rows` of every four, `columns` times, are used.
typedef struct source {
  const float *palette;
  int size, columns, rows;
  int hemisphere;        // entries are dual quaternions whose signs must be compared with the pivot
  const mixture *shared; // of a shared group
} source;

// The mixture of a shared group.
static SN_RT_INLINE void mix(const sn_rt_job *job, const sn_rt_group *g, form f, source s, mixture *out) {
  if (f.loose) return;
  int packed = f.bits == SN_RT_PACKED_BITS;
  vf unit = vf_set(packed ? 4096 * job->weight_unit : job->weight_unit);
  const float *pivot = s.palette + (size_t)s.size * g->joints[0];
  for (int n = 0; n < s.size; n += width) {
    vf first = vf_load(pivot + n), alone = first;
    for (int k = 1; k < f.influences; k++) {
      const float *other = s.palette + (size_t)s.size * g->joints[k];
      vf entry = vf_flip(vf_load(other + n), s.hemisphere ? opposite(other, pivot) : 0);
#if defined(SN_RT_DIRECT)
      vf_store(out->entries[k] + n, entry);
      continue;
#endif
      vf step = vf_mul(unit, vf_sub(entry, first));
      vf_store(out->entries[k] + n, step);
      if (packed) alone = vf_sub(alone, step);
    }
    vf_store(out->entries[0] + n, alone);
  }
}

// Optimisation barrier: otherwise the compiler hoists the whole mixture into registers and spills them for every group.
#if defined(__GNUC__)
#define SN_RT_OPAQUE(pointer) __asm__("" : "+r"(pointer))
#else
#define SN_RT_OPAQUE(pointer) (void)(pointer)
#endif

static SN_RT_INLINE void blend_shared(source s, form f, const vf *w, vf *b) {
  const mixture *m = s.shared;
  int count = s.columns * s.rows, unrolled = f.influences_known ? f.influences : 1;
  if (f.influences > 1) SN_RT_OPAQUE(m);
  for (int n = 0; n < count; n++) {
    int at = n / s.rows * 4 + n % s.rows;
    vf sum = vf_set(m->entries[0][at]);
#if defined(SN_RT_DIRECT)
    sum = vf_mul(w[0], sum);
#endif
    for (int k = 1; k < unrolled; k++) sum = vf_fma(w[k], vf_set(m->entries[k][at]), sum);
    b[n] = sum;
  }
  for (int k = unrolled; k < f.influences; k++)
    for (int n = 0; n < count; n++) b[n] = vf_fma(w[k], vf_set(m->entries[k][n / s.rows * 4 + n % s.rows]), b[n]);
}

// Weights of influences 1 .. influences - 1 from the file; influence 0 gets the total minus their sum.
static SN_RT_INLINE void load_all_weights(const char *weights, form f, vf total, vf *w) {
  w[0] = total;
  for (int k = 1; k < f.influences; k++) {
    w[k] = load_weights(weights, f.bits, k - 1);
    w[0] = vf_sub(w[0], w[k]);
  }
}

// Loose groups: weights as floats with sum one. Shared groups: encoded weights of influences 1 .. influences - 1: the weight
// divided by its unit, or, packed, 1 + n / 4096, which needs no conversion.
static SN_RT_INLINE void load_lane_weights(const char *weights, form f, vf total, vf unit, vf *w,
                                           float (*loose)[width]) {
#if defined(SN_RT_DIRECT)
  load_all_weights(weights, f, total, w);
  for (int k = 0; k < f.influences; k++) w[k] = vf_mul(unit, w[k]), vf_store(loose[k], w[k]);
  return;
#endif
  if (f.loose) load_all_weights(weights, f, total, w);
  for (int k = 0; f.loose && k < f.influences; k++) vf_store(loose[k], vf_mul(unit, w[k]));
  for (int k = 1; !f.loose && k < f.influences; k++) {
    const char *row = weights + (size_t)(k - 1) * f.bits;
    w[k] = f.bits == SN_RT_PACKED_BITS ? vf_unit_u12((const uint8_t *)row) : load_weights(weights, f.bits, k - 1);
  }
}

// Palette indices of the lanes, rows of eight bytes or 16-bit numbers.
typedef struct tuple_rows {
  const char *at;
  uint32_t bytes;
} tuple_rows;

static SN_RT_INLINE size_t tuple_at(tuple_rows t, int k, int lane) {
  size_t n = (size_t)(k * SN_RT_LANES + lane);
  return t.bytes == 1 ? ((const uint8_t *)t.at)[n] : ((const uint16_t *)(const void *)t.at)[n];
}

// The entries of one lane, blended.
static SN_RT_INLINE void blend_lane(source s, tuple_rows tuples, int influences, float (*weights)[width], int lane,
                                    vf *sum) {
  const float *first = s.palette + (size_t)s.size * tuple_at(tuples, 0, lane);
  vf w = vf_set(weights[0][lane]);
  for (int n = 0; n < s.size / width; n++) sum[n] = vf_mul(w, vf_load(first + width * n));
  for (int k = 1; k < influences; k++) {
    const float *m = s.palette + (size_t)s.size * tuple_at(tuples, k, lane);
    w = vf_flip(vf_set(weights[k][lane]), s.hemisphere ? opposite(m, first) : 0);
    for (int n = 0; n < s.size / width; n++) sum[n] = vf_fma(w, vf_load(m + width * n), sum[n]);
  }
}

// Blends the entries of all lanes: together, or lane by lane and then transposed to one vector per float.
static SN_RT_INLINE void blend(source s, form f, tuple_rows tuples, const vf *w, float (*weights)[width], vf *b) {
  if (!f.loose) {
    blend_shared(s, f, w, b);
    return;
  }
  float blended[width][16];
  vf all[16];
  for (int l = 0; l < width; l++) {
    vf sum[16 / width];
    blend_lane(s, tuples, f.influences, weights, l, sum);
    for (int n = 0; n < s.size / width; n++) vf_store(blended[l] + width * n, sum[n]);
  }
  for (int n = 0; n < s.size / width; n++) vf_transpose(blended[0] + width * n, 16, all + width * n);
  for (int n = 0; n < s.columns * s.rows; n++) b[n] = all[n / s.rows * 4 + n % s.rows];
}
