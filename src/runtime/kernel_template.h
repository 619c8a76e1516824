// SPDX-License-Identifier: MIT
// The kernels in terms of vectors of `width` floats. A file for an instruction set defines the vector type `vf`, `width`
// (4 or 8) and the vf_ functions below, and includes this file:
//
//     vf_load(p) vf_store(p, a) vf_set(x)   memory (any alignment); one value in all lanes
//     vf_load_u16(p) vf_load_u8(p)          `width` integers, converted
//     vf_mul vf_add vf_div vf_max
//     vf_fma(a, b, c) vf_fnma(a, b, c)      a b + c, c - a b
//     vf_rsqrt(a)                           1/sqrt(a) to 22 bits or better
//     vf_flip(a, sign)                      a with the sign of all lanes flipped where `sign` is 0x80000000
//     vf_transpose(rows, stride, out)       `width` rows of `width` floats, `stride` floats apart, into columns
//     vf_scatter(x, y, z, base, lanes, stride)  x y z of lane l to base + lanes[l] * stride
//
// A block of eight vertices is one vector of eight lanes or two of four. With one set of joints for all lanes, a matrix
// entry is loaded once and used for all of them: blending four matrices takes 6 multiplications per vertex, in no
// shuffles at all.

static SN_RT_INLINE vf load_weights(const void *weights, uint32_t bits, size_t index) {
  if (bits == 32) return vf_load((const float *)weights + index);
  if (bits == 16) return vf_load_u16((const uint16_t *)weights + index);
  return vf_load_u8((const uint8_t *)weights + index);
}

static SN_RT_INLINE float weight_at(const void *weights, uint32_t bits, size_t index) {
  if (bits == 32) return ((const float *)weights)[index];
  if (bits == 16) return ((const uint16_t *)weights)[index];
  return ((const uint8_t *)weights)[index];
}

// ---- blends: one value per lane and entry ----------------------------------------------------------------------------------

// Where the data of `width` lanes of a block are.
typedef struct part {
  const sn_rt_group *group;
  const void *weights;    // of the whole model
  uint32_t bits;          // of a weight
  size_t weight_index;    // of influence 0, first lane; influence k is 8 k further
  const uint16_t *tuples; // of a loose group: joint of influence 0, first lane; the next 8 further
} part;

// b[4 c + r] = sum_k w_k M_k[r][c], the same matrices in all lanes.
static SN_RT_INLINE void blend_shared(const float *const *m, const part *at, vf b[16]) {
  vf w = load_weights(at->weights, at->bits, at->weight_index);
  for (int c = 0; c < 4; c++)
    for (int r = 0; r < 3; r++) b[4 * c + r] = vf_mul(w, vf_set(m[0][4 * c + r]));
  for (int k = 1; k < at->group->influences; k++) {
    const float *mk = m[k];
    w = load_weights(at->weights, at->bits, at->weight_index + (size_t)k * SN_RT_LANES);
    for (int c = 0; c < 4; c++)
      for (int r = 0; r < 3; r++) b[4 * c + r] = vf_fma(w, vf_set(mk[4 * c + r]), b[4 * c + r]);
  }
}

// The same with every lane's own matrices: blended row by row, then turned into one vector per entry.
static SN_RT_INLINE void blend_loose(const float *matrices, const part *at, vf b[16]) {
  float blended[width][16];
  for (int l = 0; l < width; l++) {
    vf sum[16 / width];
    for (int n = 0; n < 16 / width; n++) sum[n] = vf_set(0);
    for (int k = 0; k < at->group->influences; k++) {
      const float *m = matrices + 16 * (size_t)at->tuples[k * SN_RT_LANES + l];
      vf w = vf_set(weight_at(at->weights, at->bits, at->weight_index + (size_t)(k * SN_RT_LANES + l)));
      for (int n = 0; n < 16 / width; n++) sum[n] = vf_fma(w, vf_load(m + width * n), sum[n]);
    }
    for (int n = 0; n < 16 / width; n++) vf_store(blended[l] + width * n, sum[n]);
  }
  for (int n = 0; n < 16 / width; n++) vf_transpose(blended[0] + width * n, 16, b + width * n);
}

// Sign bits of the influences that lie in the other hemisphere than the pivot, the first.
static SN_RT_INLINE uint32_t opposite(const float *q, const float *pivot) {
  return q[0] * pivot[0] + q[1] * pivot[1] + q[2] * pivot[2] + q[3] * pivot[3] < 0 ? 0x80000000u : 0;
}

static SN_RT_INLINE void blend_dualquats_shared(const float *const *q, const uint32_t *signs, const part *at,
                                                vf b[8]) {
  vf w = load_weights(at->weights, at->bits, at->weight_index);
  for (int n = 0; n < 8; n++) b[n] = vf_mul(w, vf_set(q[0][n]));
  for (int k = 1; k < at->group->influences; k++) {
    const float *qk = q[k];
    w = vf_flip(load_weights(at->weights, at->bits, at->weight_index + (size_t)k * SN_RT_LANES), signs[k]);
    for (int n = 0; n < 8; n++) b[n] = vf_fma(w, vf_set(qk[n]), b[n]);
  }
}

static SN_RT_INLINE void blend_dualquats_loose(const float *dualquats, const part *at, vf b[8]) {
  float blended[width][8];
  for (int l = 0; l < width; l++) {
    const float *pivot = dualquats + 8 * (size_t)at->tuples[l];
    vf sum[8 / width];
    for (int n = 0; n < 8 / width; n++) sum[n] = vf_set(0);
    for (int k = 0; k < at->group->influences; k++) {
      const float *q = dualquats + 8 * (size_t)at->tuples[k * SN_RT_LANES + l];
      float weight = weight_at(at->weights, at->bits, at->weight_index + (size_t)(k * SN_RT_LANES + l));
      vf w = vf_flip(vf_set(weight), opposite(q, pivot));
      for (int n = 0; n < 8 / width; n++) sum[n] = vf_fma(w, vf_load(q + width * n), sum[n]);
    }
    for (int n = 0; n < 8 / width; n++) vf_store(blended[l] + width * n, sum[n]);
  }
  for (int n = 0; n < 8 / width; n++) vf_transpose(blended[0] + width * n, 8, b + width * n);
}

// ---- what the blend does to a vertex ----------------------------------------------------------------------------------------

typedef struct vf3 {
  vf x, y, z;
} vf3;

static SN_RT_INLINE vf3 load3(const float (*soa)[SN_RT_LANES], int lane) {
  return (vf3){vf_load(soa[0] + lane), vf_load(soa[1] + lane), vf_load(soa[2] + lane)};
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

static SN_RT_INLINE vf3 column(const vf b[16], int c) { return (vf3){b[4 * c], b[4 * c + 1], b[4 * c + 2]}; }

static SN_RT_INLINE vf3 transform(const vf b[16], vf3 p) {
  return mad(mad(mad(column(b, 3), p.x, column(b, 0)), p.y, column(b, 1)), p.z, column(b, 2));
}

// Cofactor matrix times n, as in kernel_scalar.c, with two cross products instead of three:
// nx (y x z) + ny (z x x) + nz (x x y) = (nx y - ny x) x z + nz (x x y).
static SN_RT_INLINE vf3 transform_normal(const vf b[16], vf3 n) {
  vf3 x = column(b, 0), y = column(b, 1), z = column(b, 2), s = scale(n.x, y);
  s = (vf3){vf_fnma(n.y, x.x, s.x), vf_fnma(n.y, x.y, s.y), vf_fnma(n.y, x.z, s.z)};
  vf3 out = mad(cross(s, z), n.z, cross(x, y));
  vf squared = vf_fma(out.x, out.x, vf_fma(out.y, out.y, vf_mul(out.z, out.z)));
  return scale(vf_rsqrt(vf_max(squared, vf_set(1e-37f))), out);
}

// r x (r x p + w p): the rotation of p less p, times |q|^2 / 2.
static SN_RT_INLINE vf3 turn(const vf q[8], vf3 p, vf3 d) {
  vf3 r = {q[0], q[1], q[2]};
  vf3 inner = mad(d, q[3], p);
  vf3 c = cross(r, p);
  inner = (vf3){vf_add(inner.x, c.x), vf_add(inner.y, c.y), vf_add(inner.z, c.z)};
  return cross(r, inner);
}

static SN_RT_INLINE vf two_over_square(const vf q[8]) {
  vf squared = vf_fma(q[0], q[0], vf_fma(q[1], q[1], vf_fma(q[2], q[2], vf_mul(q[3], q[3]))));
  return vf_div(vf_set(2), squared);
}

static SN_RT_INLINE vf3 move_by_dualquat(const vf q[8], vf factor, vf3 p) {
  vf3 r = {q[0], q[1], q[2]}, d = {q[4], q[5], q[6]};
  vf3 out = mad(turn(q, p, d), q[3], d);
  out = (vf3){vf_fnma(q[7], r.x, out.x), vf_fnma(q[7], r.y, out.y), vf_fnma(q[7], r.z, out.z)};
  return mad(p, factor, out);
}

static SN_RT_INLINE vf3 rotate_by_dualquat(const vf q[8], vf factor, vf3 n) {
  vf3 none = {vf_set(0), vf_set(0), vf_set(0)};
  return mad(n, factor, turn(q, n, none));
}

// ---- groups ---------------------------------------------------------------------------------------------------------------------

static SN_RT_INLINE part part_at(const sn_rt_job *job, const sn_rt_group *g, uint32_t bits, size_t block, int lane) {
  size_t row = block * g->influences;
  part at = {.group = g, .weights = job->weights, .bits = bits};
  at.weight_index = (g->first_weight + row) * SN_RT_LANES + (size_t)lane;
  if (g->kind == SN_RT_GROUP_LOOSE) at.tuples = job->tuples[g->first_tuple + row] + lane;
  return at;
}

static SN_RT_INLINE void put(char *base, size_t stride, const uint16_t *lanes, vf3 v) {
  vf_scatter(v.x, v.y, v.z, base, lanes, stride);
}

static SN_RT_INLINE void linear_group(const sn_rt_job *job, const sn_rt_group *g, uint32_t bits, int normals,
                                      int loose) {
  const float *matrices[SN_RT_MAX_INFLUENCES];
  for (int k = 0; k < SN_RT_MAX_INFLUENCES; k++) matrices[k] = job->scratch.matrices + 16 * (size_t)g->joints[k];
  for (size_t block = 0; block < g->block_count; block++)
    for (int lane = 0; lane < SN_RT_LANES; lane += width) {
      vf b[16];
      part at = part_at(job, g, bits, block, lane);
      if (loose) {
        blend_loose(job->scratch.matrices, &at, b);
      } else {
        blend_shared(matrices, &at, b);
      }
      size_t index = g->first_block + block;
      const uint16_t *lanes = job->lanes[index] + lane;
      put(job->positions, job->position_stride, lanes, transform(b, load3(job->rest[index], lane)));
      if (!normals) continue;
      put(job->normals, job->normal_stride, lanes, transform_normal(b, load3(job->rest_normals[index], lane)));
    }
}

static SN_RT_INLINE void dualquat_group(const sn_rt_job *job, const sn_rt_group *g, uint32_t bits, int normals,
                                        int loose, int stretched) {
  const float *dualquats[SN_RT_MAX_INFLUENCES], *stretches[SN_RT_MAX_INFLUENCES];
  uint32_t signs[SN_RT_MAX_INFLUENCES];
  for (int k = 0; k < g->influences; k++) {
    dualquats[k] = job->scratch.dualquats + 8 * (size_t)g->joints[k];
    stretches[k] = job->scratch.stretches + 16 * (size_t)g->joints[k];
    signs[k] = opposite(dualquats[k], dualquats[0]);
  }
  for (size_t block = 0; block < g->block_count; block++)
    for (int lane = 0; lane < SN_RT_LANES; lane += width) {
      part at = part_at(job, g, bits, block, lane);
      size_t index = g->first_block + block;
      const uint16_t *lanes = job->lanes[index] + lane;
      vf3 p = load3(job->rest[index], lane), n = p;
      if (normals) n = load3(job->rest_normals[index], lane);
      if (stretched) {
        vf b[16];
        if (loose) {
          blend_loose(job->scratch.stretches, &at, b);
        } else {
          blend_shared(stretches, &at, b);
        }
        p = transform(b, p);
        if (normals) n = transform_normal(b, n);
      }
      vf q[8];
      if (loose) {
        blend_dualquats_loose(job->scratch.dualquats, &at, q);
      } else {
        blend_dualquats_shared(dualquats, signs, &at, q);
      }
      vf factor = two_over_square(q);
      put(job->positions, job->position_stride, lanes, move_by_dualquat(q, factor, p));
      if (normals) put(job->normals, job->normal_stride, lanes, rotate_by_dualquat(q, factor, n));
    }
}

// ---- entry points: one loop per kind of weight, with and without normals ------------------------------------------------------

static SN_RT_INLINE void linear_groups(const sn_rt_job *job, uint32_t bits, int normals) {
  for (uint32_t index = job->first_group; index < job->last_group; index++) {
    const sn_rt_group *g = job->groups + index;
    if (g->kind == SN_RT_GROUP_LOOSE) {
      linear_group(job, g, bits, normals, 1);
    } else {
      linear_group(job, g, bits, normals, 0);
    }
  }
}

static SN_RT_INLINE void dualquat_groups(const sn_rt_job *job, uint32_t bits, int normals, int stretched) {
  for (uint32_t index = job->first_group; index < job->last_group; index++) {
    const sn_rt_group *g = job->groups + index;
    if (g->kind == SN_RT_GROUP_LOOSE) {
      dualquat_group(job, g, bits, normals, 1, stretched);
    } else {
      dualquat_group(job, g, bits, normals, 0, stretched);
    }
  }
}

static void linear_32(const sn_rt_job *job) { linear_groups(job, 32, 0); }
static void linear_32_normals(const sn_rt_job *job) { linear_groups(job, 32, 1); }
static void linear_16(const sn_rt_job *job) { linear_groups(job, 16, 0); }
static void linear_16_normals(const sn_rt_job *job) { linear_groups(job, 16, 1); }
static void linear_8(const sn_rt_job *job) { linear_groups(job, 8, 0); }
static void linear_8_normals(const sn_rt_job *job) { linear_groups(job, 8, 1); }
static void dualquat_32(const sn_rt_job *job) { dualquat_groups(job, 32, 0, 0); }
static void dualquat_32_normals(const sn_rt_job *job) { dualquat_groups(job, 32, 1, 0); }
static void dualquat_16(const sn_rt_job *job) { dualquat_groups(job, 16, 0, 0); }
static void dualquat_16_normals(const sn_rt_job *job) { dualquat_groups(job, 16, 1, 0); }
static void dualquat_8(const sn_rt_job *job) { dualquat_groups(job, 8, 0, 0); }
static void dualquat_8_normals(const sn_rt_job *job) { dualquat_groups(job, 8, 1, 0); }

static void linear(const sn_rt_job *job) {
  static void (*const by_kind[2][3])(const sn_rt_job *) = {{linear_8, linear_16, linear_32},
                                                           {linear_8_normals, linear_16_normals, linear_32_normals}};
  by_kind[job->normals != NULL][job->weight_bits / 16](job);
}

static void dualquat(const sn_rt_job *job) {
  static void (*const by_kind[2][3])(const sn_rt_job *) = {
    {dualquat_8, dualquat_16, dualquat_32}, {dualquat_8_normals, dualquat_16_normals, dualquat_32_normals}};
  by_kind[job->normals != NULL][job->weight_bits / 16](job);
}

static void stretched(const sn_rt_job *job) { dualquat_groups(job, job->weight_bits, job->normals != NULL, 1); }
