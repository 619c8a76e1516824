// SPDX-License-Identifier: MIT
// The kernels in terms of vectors of `width` floats. A file for an instruction set defines the vector type `vf`, `width`
// (4 or 8) and the vf_ functions below, and includes this file:
//
//     vf_load(p) vf_store(p, a) vf_set(x)   memory (any alignment); one value in all lanes
//     vf_load_u16(p) vf_load_u8(p) vf_load_i16(p)  `width` integers, converted
//     vf_mul vf_add vf_sub vf_div vf_max
//     vf_fma(a, b, c) vf_fnma(a, b, c)      a b + c, c - a b
//     vf_rsqrt(a)                           1/sqrt(a) to 22 bits or better
//     vf_flip(a, sign)                      a with the sign of all lanes flipped where `sign` is 0x80000000
//     vf_transpose(rows, stride, out)       `width` rows of `width` floats, `stride` floats apart, into columns
//     vf_scatter(x, y, z, base, lanes, stride)  x y z of lane l to base + lanes[l] * stride
//
// A block of eight vertices is one vector of eight lanes or two of four. With one set of joints for all lanes, a matrix
// entry is loaded once and used for all of them: blending four matrices takes 36 multiplications for a block, and no
// shuffles.

static SN_RT_INLINE vf load_weights(const void *weights, uint32_t bits, size_t index) {
  if (bits == 32) return vf_load((const float *)weights + index);
  if (bits == 16) return vf_load_u16((const uint16_t *)weights + index);
  return vf_load_u8((const uint8_t *)weights + index);
}

// Sign bit of a dual quaternion that lies in the other hemisphere than the pivot.
static SN_RT_INLINE uint32_t opposite(const float *q, const float *pivot) {
  float dot = q[0] * pivot[0] + q[1] * pivot[1] + q[2] * pivot[2] + q[3] * pivot[3];
  uint32_t bits;
  memcpy(&bits, &dot, sizeof bits);
  return bits & 0x80000000u;
}

// ---- blends: one value per lane and entry ----------------------------------------------------------------------------------
// With weights that sum to one, sum_k w_k M_k = M_0 + sum_{k>0} w_k (M_k - M_0): the differences are made once for all
// blocks of a shared group, and the first influence costs nothing.

// What a group's blocks have in common: entry 0, then the differences of the others times the unit of the weights.
typedef struct shared_blend {
  const float *first;
  float differences[SN_RT_MAX_INFLUENCES - 1][16];
} shared_blend;

// `first` and `m` are entries of `size` floats; m is negated where `sign` says so.
static SN_RT_INLINE void share_difference(const float *first, const float *m, int size, uint32_t sign, vf unit,
                                          float *out) {
  for (int n = 0; n < size; n += width) {
    vf_store(out + n, vf_mul(unit, vf_sub(vf_flip(vf_load(m + n), sign), vf_load(first + n))));
  }
}

static SN_RT_INLINE void share_matrices(const sn_rt_job *job, const sn_rt_group *g, const float *palette,
                                        shared_blend *out) {
  vf unit = vf_set(job->weight_unit);
  out->first = palette + 16 * (size_t)g->joints[0];
  for (int k = 1; k < g->influences; k++) {
    share_difference(out->first, palette + 16 * (size_t)g->joints[k], 16, 0, unit, out->differences[k - 1]);
  }
}

static SN_RT_INLINE void share_dualquats(const sn_rt_job *job, const sn_rt_group *g, shared_blend *out) {
  vf unit = vf_set(job->weight_unit);
  int compare = !(*job->scratch.flags & SN_RT_SIGNED);
  out->first = job->scratch.dualquats + 8 * (size_t)g->joints[0];
  for (int k = 1; k < g->influences; k++) {
    const float *q = job->scratch.dualquats + 8 * (size_t)g->joints[k];
    share_difference(out->first, q, 8, compare ? opposite(q, out->first) : 0, unit, out->differences[k - 1]);
  }
}

// first + sum_k w_k difference_k, for `columns` columns of `rows` of the four floats that a column takes.
static SN_RT_INLINE void blend_shared(const shared_blend *s, int columns, int rows, const sn_rt_job *job,
                                      uint32_t bits, int influences, size_t weight_index, vf *b) {
  for (int c = 0; c < columns; c++)
    for (int r = 0; r < rows; r++) b[rows * c + r] = vf_set(s->first[4 * c + r]);
  for (int k = 0; k < influences - 1; k++) {
    vf w = load_weights(job->weights, bits, weight_index + (size_t)k * SN_RT_LANES);
    for (int c = 0; c < columns; c++)
      for (int r = 0; r < rows; r++)
        b[rows * c + r] = vf_fma(w, vf_set(s->differences[k][4 * c + r]), b[rows * c + r]);
  }
}

// Weights of a loose part, all influences, in floats that sum to one.
static SN_RT_INLINE void loose_weights(const sn_rt_job *job, uint32_t bits, int influences, size_t weight_index,
                                       float (*out)[width]) {
  vf left = vf_set(1), unit = vf_set(job->weight_unit);
  for (int k = 1; k < influences; k++) {
    vf w = vf_mul(unit, load_weights(job->weights, bits, weight_index + (size_t)(k - 1) * SN_RT_LANES));
    vf_store(out[k], w);
    left = vf_sub(left, w);
  }
  vf_store(out[0], left);
}

// Every lane's own entries of `size` floats, blended row by row, then turned into one vector per float.
static SN_RT_INLINE void blend_loose(const float *palette, int size, int hemisphere, const uint16_t *tuples,
                                     int influences, float (*weights)[width], vf *b) {
  float blended[width][16];
  for (int l = 0; l < width; l++) {
    vf sum[16 / width];
    const float *first = palette + (size_t)size * tuples[l];
    vf w = vf_set(weights[0][l]);
    for (int n = 0; n < size / width; n++) sum[n] = vf_mul(w, vf_load(first + width * n));
    for (int k = 1; k < influences; k++) {
      const float *m = palette + (size_t)size * tuples[k * SN_RT_LANES + l];
      w = vf_flip(vf_set(weights[k][l]), hemisphere ? opposite(m, first) : 0);
      for (int n = 0; n < size / width; n++) sum[n] = vf_fma(w, vf_load(m + width * n), sum[n]);
    }
    for (int n = 0; n < size / width; n++) vf_store(blended[l] + width * n, sum[n]);
  }
  for (int n = 0; n < size / width; n++) vf_transpose(blended[0] + width * n, 16, b + width * n);
}

static SN_RT_INLINE void blend_loose_matrices(const float *palette, const uint16_t *tuples, int influences,
                                              float (*weights)[width], vf b[12]) {
  vf columns[16];
  blend_loose(palette, 16, 0, tuples, influences, weights, columns);
  for (int n = 0; n < 12; n++) b[n] = columns[n / 3 * 4 + n % 3];
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

static SN_RT_INLINE vf3 add(vf3 a, vf3 b) { return (vf3){vf_add(a.x, b.x), vf_add(a.y, b.y), vf_add(a.z, b.z)}; }

static SN_RT_INLINE vf3 normalise(vf3 a) {
  vf squared = vf_fma(a.x, a.x, vf_fma(a.y, a.y, vf_mul(a.z, a.z)));
  return scale(vf_rsqrt(vf_max(squared, vf_set(1e-37f))), a);
}

static SN_RT_INLINE vf3 column(const vf b[12], int c) { return (vf3){b[3 * c], b[3 * c + 1], b[3 * c + 2]}; }

static SN_RT_INLINE vf3 transform(const vf b[12], vf3 p) {
  return mad(mad(mad(column(b, 3), p.x, column(b, 0)), p.y, column(b, 1)), p.z, column(b, 2));
}

// Cofactor matrix times n, as in kernel_scalar.c, with two cross products instead of three:
// nx (y x z) + ny (z x x) + nz (x x y) = (nx y - ny x) x z + nz (x x y).
static SN_RT_INLINE vf3 transform_normal(const vf b[12], vf3 n) {
  vf3 x = column(b, 0), y = column(b, 1), z = column(b, 2), s = scale(n.x, y);
  s = (vf3){vf_fnma(n.y, x.x, s.x), vf_fnma(n.y, x.y, s.y), vf_fnma(n.y, x.z, s.z)};
  return normalise(mad(cross(s, z), n.z, cross(x, y)));
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

// Where the data of `width` lanes of a block are.
typedef struct part {
  size_t block, weight_index;
  const uint16_t *lanes, *tuples;
} part;

static SN_RT_INLINE part part_at(const sn_rt_job *job, const sn_rt_group *g, size_t block, int lane) {
  part at = {.block = g->first_block + block};
  at.weight_index = (g->first_weight + block * (size_t)(g->influences - 1)) * SN_RT_LANES + (size_t)lane;
  at.lanes = job->lanes[at.block] + lane;
  if (g->kind == SN_RT_GROUP_LOOSE) at.tuples = job->tuples[g->first_tuple + block * g->influences] + lane;
  return at;
}

// ---- corrections ---------------------------------------------------------------------------------------------------------------

// sum_k w_k values[joint_k][column] of the lanes.
static SN_RT_INLINE vf weigh(const sn_rt_correcting *c, const sn_rt_group *g, const part *at, float (*weights)[width],
                             uint32_t column) {
  vf sum = vf_set(0);
  for (int k = 0; k < g->influences; k++) {
    float lanes[width];
    for (int l = 0; l < width; l++) {
      size_t joint = at->tuples ? at->tuples[k * SN_RT_LANES + l] : g->joints[k];
      lanes[l] = c->values[joint * ((size_t)c->centre_count + 1) + column];
    }
    sum = vf_fma(vf_load(weights[k]), vf_load(lanes), sum);
  }
  return sum;
}

// The lanes' own values of a basis (weighted): a kernel of the distance by the lanes' weights.
static vf own_values(const sn_rt_job *job, const sn_rt_group *g, uint32_t bits, const part *at, uint32_t basis) {
  const sn_rt_correcting *c = &job->correct;
  float weights[SN_RT_MAX_INFLUENCES][width], lanes[width];
  loose_weights(job, bits, g->influences, at->weight_index, weights);
  vf shares = vf_add(weigh(c, g, at, weights, c->centre_count), vf_set(1e-12f));
  vf_store(lanes, vf_div(weigh(c, g, at, weights, basis), shares));
  for (int l = 0; l < width; l++) lanes[l] = sn_rt_kernel_value(c->kernel, lanes[l], (float)c->widths[basis]);
  return vf_load(lanes);
}

static SN_RT_INLINE vf3 load_delta(const int16_t (*delta)[SN_RT_LANES], int lane) {
  return (vf3){vf_load_i16(delta[0] + lane), vf_load_i16(delta[1] + lane), vf_load_i16(delta[2] + lane)};
}

// What the correct slot adds to `width` lanes of a block.
typedef struct correction {
  int before, after; // the blend; both 0: nothing to add
  vf3 position, normal;
} correction;

static SN_RT_INLINE correction correction_at(const sn_rt_job *job, const sn_rt_group *g, uint32_t bits,
                                             const part *at, int lane, int normals) {
  const sn_rt_correcting *c = &job->correct;
  vf3 none = {vf_set(0), vf_set(0), vf_set(0)};
  correction sum = {!c->forward, c->forward, none, none};
  for (uint32_t n = c->start[at->block]; n < c->start[at->block + 1]; n++) {
    const sn_rt_correct_entry *e = c->entries + n;
    vf value = c->weighted ? own_values(job, g, bits, at, e->basis) : vf_set(c->values[e->basis]);
    sum.position = mad(sum.position, vf_mul(value, vf_set(e->position)), load_delta(c->deltas[n], lane));
    if (!normals) continue;
    sum.normal = mad(sum.normal, vf_mul(value, vf_set(e->normal)), load_delta(c->deltas[n] + 3, lane));
  }
  return sum;
}

static SN_RT_INLINE void put(char *base, size_t stride, const uint16_t *lanes, vf3 v) {
  vf_scatter(v.x, v.y, v.z, base, lanes, stride);
}

static SN_RT_INLINE void linear_blocks(const sn_rt_job *job, const sn_rt_group *g, uint32_t bits, int normals,
                                       const shared_blend *shared, int influences, int corrected) {
  for (size_t block = 0; block < g->block_count; block++)
    for (int lane = 0; lane < SN_RT_LANES; lane += width) {
      vf b[12];
      part at = part_at(job, g, block, lane);
      if (shared) {
        blend_shared(shared, 4, 3, job, bits, influences, at.weight_index, b);
      } else {
        float weights[SN_RT_MAX_INFLUENCES][width];
        loose_weights(job, bits, influences, at.weight_index, weights);
        blend_loose_matrices(job->scratch.matrices, at.tuples, influences, weights, b);
      }
      correction c = {0};
      if (corrected) c = correction_at(job, g, bits, &at, lane, normals);
      vf3 p = load3(job->rest[at.block], lane);
      p = transform(b, c.before ? add(p, c.position) : p);
      put(job->positions, job->position_stride, at.lanes, c.after ? add(p, c.position) : p);
      if (!normals) continue;
      vf3 n = load3(job->rest_normals[at.block], lane);
      n = transform_normal(b, c.before ? add(n, c.normal) : n);
      put(job->normals, job->normal_stride, at.lanes, c.after ? normalise(add(n, c.normal)) : n);
    }
}

static SN_RT_INLINE void dualquat_blocks(const sn_rt_job *job, const sn_rt_group *g, uint32_t bits, int normals,
                                         const shared_blend *shared, const shared_blend *stretch, int stretched,
                                         int influences, int corrected) {
  for (size_t block = 0; block < g->block_count; block++)
    for (int lane = 0; lane < SN_RT_LANES; lane += width) {
      part at = part_at(job, g, block, lane);
      float weights[SN_RT_MAX_INFLUENCES][width];
      if (!shared) loose_weights(job, bits, influences, at.weight_index, weights);
      vf3 p = load3(job->rest[at.block], lane), n = p;
      if (normals) n = load3(job->rest_normals[at.block], lane);
      correction c = {0};
      if (corrected) c = correction_at(job, g, bits, &at, lane, normals);
      if (c.before) p = add(p, c.position), n = normalise(add(n, c.normal));
      if (stretched) {
        vf b[12];
        if (shared) {
          blend_shared(stretch, 4, 3, job, bits, influences, at.weight_index, b);
        } else {
          blend_loose_matrices(job->scratch.stretches, at.tuples, influences, weights, b);
        }
        p = transform(b, p);
        if (normals) n = transform_normal(b, n);
      }
      vf q[8];
      if (shared) {
        blend_shared(shared, 2, 4, job, bits, influences, at.weight_index, q);
      } else {
        blend_loose(job->scratch.dualquats, 8, !(*job->scratch.flags & SN_RT_SIGNED), at.tuples, influences, weights,
                    q);
      }
      vf factor = two_over_square(q);
      p = move_by_dualquat(q, factor, p);
      put(job->positions, job->position_stride, at.lanes, c.after ? add(p, c.position) : p);
      if (!normals) continue;
      n = rotate_by_dualquat(q, factor, n);
      put(job->normals, job->normal_stride, at.lanes, c.after ? normalise(add(n, c.normal)) : n);
    }
}

// ---- entry points: loops of their own for every kind of weight, with and without normals, and for 1 to 4 influences ----------

static SN_RT_INLINE void linear_groups(const sn_rt_job *job, uint32_t bits, int normals, int corrected) {
  for (uint32_t index = job->first_group; index < job->last_group; index++) {
    const sn_rt_group *g = job->groups + index;
    if (g->kind == SN_RT_GROUP_LOOSE) {
      linear_blocks(job, g, bits, normals, NULL, g->influences, corrected);
      continue;
    }
    shared_blend shared;
    share_matrices(job, g, job->scratch.matrices, &shared);
    switch (g->influences) {
    case 1:
      linear_blocks(job, g, bits, normals, &shared, 1, corrected);
      break;
    case 2:
      linear_blocks(job, g, bits, normals, &shared, 2, corrected);
      break;
    case 3:
      linear_blocks(job, g, bits, normals, &shared, 3, corrected);
      break;
    case 4:
      linear_blocks(job, g, bits, normals, &shared, 4, corrected);
      break;
    default:
      linear_blocks(job, g, bits, normals, &shared, g->influences, corrected);
      break;
    }
  }
}

static SN_RT_INLINE void dualquat_groups(const sn_rt_job *job, uint32_t bits, int normals, int stretched,
                                         int corrected) {
  for (uint32_t index = job->first_group; index < job->last_group; index++) {
    const sn_rt_group *g = job->groups + index;
    if (g->kind == SN_RT_GROUP_LOOSE) {
      dualquat_blocks(job, g, bits, normals, NULL, NULL, stretched, g->influences, corrected);
      continue;
    }
    shared_blend shared, stretch;
    share_dualquats(job, g, &shared);
    if (stretched) share_matrices(job, g, job->scratch.stretches, &stretch);
    switch (stretched ? 0 : g->influences) {
    case 1:
      dualquat_blocks(job, g, bits, normals, &shared, NULL, 0, 1, corrected);
      break;
    case 2:
      dualquat_blocks(job, g, bits, normals, &shared, NULL, 0, 2, corrected);
      break;
    case 3:
      dualquat_blocks(job, g, bits, normals, &shared, NULL, 0, 3, corrected);
      break;
    case 4:
      dualquat_blocks(job, g, bits, normals, &shared, NULL, 0, 4, corrected);
      break;
    default:
      dualquat_blocks(job, g, bits, normals, &shared, &stretch, stretched, g->influences, corrected);
      break;
    }
  }
}

#define SN_RT_VARIANTS(name, bits, ...)                                                                              \
  static void name##_##bits(const sn_rt_job *job) { name##_groups(job, bits, 0, __VA_ARGS__ 0); }                    \
  static void name##_##bits##_normals(const sn_rt_job *job) { name##_groups(job, bits, 1, __VA_ARGS__ 0); }          \
  static void name##_##bits##_corrected(const sn_rt_job *job) { name##_groups(job, bits, 0, __VA_ARGS__ 1); }        \
  static void name##_##bits##_normals_corrected(const sn_rt_job *job) { name##_groups(job, bits, 1, __VA_ARGS__ 1); }

SN_RT_VARIANTS(linear, 8, )
SN_RT_VARIANTS(linear, 16, )
SN_RT_VARIANTS(linear, 32, )
SN_RT_VARIANTS(dualquat, 8, 0, )
SN_RT_VARIANTS(dualquat, 16, 0, )
SN_RT_VARIANTS(dualquat, 32, 0, )

#define SN_RT_TABLE(name)                                                                                            \
  {                                                                                                                  \
    {{name##_8, name##_16, name##_32}, {name##_8_normals, name##_16_normals, name##_32_normals}}, {                  \
      {name##_8_corrected, name##_16_corrected, name##_32_corrected}, {                                              \
        name##_8_normals_corrected, name##_16_normals_corrected, name##_32_normals_corrected                         \
      }                                                                                                              \
    }                                                                                                                \
  }

static void linear(const sn_rt_job *job) {
  static void (*const by_kind[2][2][3])(const sn_rt_job *) = SN_RT_TABLE(linear);
  by_kind[job->correct.start != NULL][job->normals != NULL][job->weight_bits / 16](job);
}

static void dualquat(const sn_rt_job *job) {
  static void (*const by_kind[2][2][3])(const sn_rt_job *) = SN_RT_TABLE(dualquat);
  by_kind[job->correct.start != NULL][job->normals != NULL][job->weight_bits / 16](job);
}

static void stretched(const sn_rt_job *job) {
  dualquat_groups(job, job->weight_bits, job->normals != NULL, 1, job->correct.start != NULL);
}
