// SPDX-License-Identifier: MIT
// Vectorised predictors of `rotreg` and `torque`, one proxy bone per lane: the first half of rotreg_template.h, also used by
// the GPU with one lane. Section numbers are Wang 2007's.

static SN_RT_INLINE vf rr_sub(vf a, vf b) { return vf_fnma(vf_set(1), b, a); }

// Four numbers from `first` on of the joints index[0 .. width).
static SN_RT_INLINE void rr_gather(const float (*rotations)[8], const uint16_t *index, int first, vf out[4]) {
  const char *at[width];
  for (int l = 0; l < width; l++) at[l] = (const char *)(rotations[index[l]] + first);
  vf_gather_rows(at, out);
}

// The quaternion of exp(r): that of r / 4 by the series of cos and sin(x) / x, squared twice. No branches, and accurate
// to rounding for up to two full rotations.
static SN_RT_INLINE void rr_exp(const vf r[3], vf q[4]) {
  vf x = vf_mul(vf_fma(r[0], r[0], vf_fma(r[1], r[1], vf_mul(r[2], r[2]))), vf_set(1.0f / 64));
  static const float cosine[7] = {
    2.0876757e-9f, -2.7557319e-7f, 2.4801587e-5f, -1.3888889e-3f, 4.1666667e-2f, -0.5f, 1};
  static const float sine[7] = {
    1.6059044e-10f, -2.5052108e-8f, 2.7557319e-6f, -1.9841270e-4f, 8.3333333e-3f, -1.6666667e-1f, 1};
  vf c = vf_set(cosine[0]), s = vf_set(sine[0]);
  for (int n = 1; n < 7; n++) c = vf_fma(c, x, vf_set(cosine[n])), s = vf_fma(s, x, vf_set(sine[n]));
  s = vf_mul(s, vf_set(0.125f));
  for (int n = 0; n < 3; n++) q[n] = vf_mul(s, r[n]);
  q[3] = c;
  for (int twice = 0; twice < 2; twice++) {
    vf w2 = vf_add(q[3], q[3]);
    vf v2 = vf_fma(q[0], q[0], vf_fma(q[1], q[1], vf_mul(q[2], q[2])));
    vf w = vf_fma(q[3], q[3], vf_mul(v2, vf_set(-1)));
    for (int n = 0; n < 3; n++) q[n] = vf_mul(w2, q[n]);
    q[3] = w;
  }
}

// a <- a b
static SN_RT_INLINE void rr_multiply(vf a[4], const vf b[4]) {
  vf x = vf_fnma(a[2], b[1], vf_fma(a[3], b[0], vf_fma(a[0], b[3], vf_mul(a[1], b[2]))));
  vf y = vf_fnma(a[0], b[2], vf_fma(a[3], b[1], vf_fma(a[1], b[3], vf_mul(a[2], b[0]))));
  vf z = vf_fnma(a[1], b[0], vf_fma(a[3], b[2], vf_fma(a[2], b[3], vf_mul(a[0], b[1]))));
  vf w = vf_fnma(a[0], b[0], vf_fnma(a[1], b[1], vf_fnma(a[2], b[2], vf_mul(a[3], b[3]))));
  a[0] = x, a[1] = y, a[2] = z, a[3] = w;
}

// Row-major rotation of a quaternion of any length.
static SN_RT_INLINE void rr_rotation(const vf q[4], vf r[9]) {
  vf x = q[0], y = q[1], z = q[2], w = q[3], one = vf_set(1);
  vf s = vf_div(vf_set(2), vf_fma(x, x, vf_fma(y, y, vf_fma(z, z, vf_mul(w, w)))));
  vf sx = vf_mul(s, x), sy = vf_mul(s, y), sz = vf_mul(s, z), sw = vf_mul(s, w);
  vf xx = vf_mul(sx, x), yy = vf_mul(sy, y), zz = vf_mul(sz, z);
  r[0] = rr_sub(one, vf_add(yy, zz)), r[4] = rr_sub(one, vf_add(xx, zz)), r[8] = rr_sub(one, vf_add(xx, yy));
  r[1] = vf_fnma(sw, z, vf_mul(sx, y)), r[3] = vf_fma(sw, z, vf_mul(sx, y));
  r[2] = vf_fma(sw, y, vf_mul(sx, z)), r[6] = vf_fnma(sw, y, vf_mul(sx, z));
  r[5] = vf_fnma(sw, x, vf_mul(sy, z)), r[7] = vf_fma(sw, x, vf_mul(sy, z));
}

// phi: the logarithms of two joints, four numbers each. Scale/shear (3.3) and tilts are linear in it.
static SN_RT_INLINE void rr_terms(const sn_rt_rotreg_block *b, int lane, const float (*rotations)[8],
                                  vf terms[2][4]) {
  rr_gather(rotations, b->shear_joint[0] + lane, 4, terms[0]);
  rr_gather(rotations, b->shear_joint[1] + lane, 4, terms[1]);
}

static SN_RT_INLINE vf rr_linear(const float (*row)[8], int lane, vf terms[2][4]) {
  vf sum = vf_load(row[6] + lane);
  for (int n = 0; n < 6; n++) sum = vf_fma(vf_load(row[n] + lane), terms[n / 3][n % 3], sum);
  return sum;
}

// Rotation and scale/shear of `width` predictors, from `lane` of the block on (3.2, 3.3).
static SN_RT_INLINE void rr_parts(const sn_rt_rotreg_block *b, int lane, const float (*rotations)[8], vf q[4],
                                  vf s[6]) {
  vf terms[2][4], tilt[3], last[4];
  rr_gather(rotations, b->base + lane, 0, q);
  for (uint32_t k = 0; k < b->factor_count; k++) {
    vf theta[4], r[3], e[4];
    rr_gather(rotations, b->joint[k] + lane, 4, theta);
    for (int n = 0; n < 3; n++) {
      r[n] = vf_mul(vf_load(b->map[k][3 * n] + lane), theta[0]);
      r[n] = vf_fma(vf_load(b->map[k][3 * n + 1] + lane), theta[1], r[n]);
      r[n] = vf_fma(vf_load(b->map[k][3 * n + 2] + lane), theta[2], r[n]);
    }
    rr_exp(r, e);
    rr_multiply(q, e);
  }
  rr_terms(b, lane, rotations, terms);
  for (int n = 0; n < 3; n++) tilt[n] = rr_linear(b->tilt[n], lane, terms);
  rr_exp(tilt, last);
  rr_multiply(q, last);
  for (int c = 0; c < 6; c++) s[c] = rr_linear(b->shear[c], lane, terms);
}

// D = R S (3) into columns of four numbers; s is xx yy zz xy xz yz.
static SN_RT_INLINE void rr_gradient(const vf q[4], const vf s[6], float *out) {
  vf rotation[9];
  rr_rotation(q, rotation);
  const vf full[9] = {s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2]};
  static const uint16_t in_order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  for (int column = 0; column < 3; column++) {
    vf d[4];
    d[3] = vf_set(0);
    for (int row = 0; row < 3; row++) {
      const vf *r = rotation + 3 * row;
      d[row] = vf_fma(r[0], full[column], vf_fma(r[1], full[3 + column], vf_mul(r[2], full[6 + column])));
    }
    vf_scatter4(d, (char *)(out + 4 * column), in_order, 12 * sizeof(float));
  }
}

static SN_RT_INLINE void rr_predict(const sn_rt_rotreg_block *b, int lane, const float (*rotations)[8], float *out) {
  vf q[4], s[6];
  rr_parts(b, lane, rotations, q, s);
  rr_gradient(q, s, out);
}

// ---- pairs of predictors (Kim, Park and Jung, section III) ----------------------------------------------------------------

// sin(t a) / sin(a) for cos(a) = 1 + x, as a polynomial in t^2 and x (Eberly 2011): exact for t = 0 and t = 1, to
// rounding up to a = 70 degrees (140 between the rotations), to 2e-5 at a right angle, which is 180 degrees between them.
static SN_RT_INLINE vf rr_slerp_share(vf t, vf x) {
  enum { count = 12 };
  static const float u[count] = {1.f / 3,   1.f / 10,  1.f / 21,  1.f / 36,  1.f / 55,  1.f / 78,
                                 1.f / 105, 1.f / 136, 1.f / 171, 1.f / 210, 1.f / 253, 1.f / 300};
  static const float v[count] = {1.f / 3,  2.f / 5,  3.f / 7,  4.f / 9,   5.f / 11,  6.f / 13,
                                 7.f / 15, 8.f / 17, 9.f / 19, 10.f / 21, 11.f / 23, 12.f / 25};
  vf t2 = vf_mul(t, t), sum = vf_set(1);
  for (int k = count - 1; k >= 0; k--) {
    vf factor = vf_mul(vf_fma(vf_set(u[k]), t2, vf_set(-v[k])), x);
    sum = vf_fma(factor, sum, vf_set(1));
  }
  return vf_mul(t, sum);
}

// q <- slerp(q, other, t), the short way round.
static SN_RT_INLINE void rr_slerp(vf q[4], const vf other[4], vf t) {
  vf cosine = vf_fma(q[0], other[0], vf_fma(q[1], other[1], vf_fma(q[2], other[2], vf_mul(q[3], other[3]))));
  float signs[8];
  vf_store(signs, cosine);
  for (int l = 0; l < width; l++) signs[l] = signs[l] < 0 ? -1.0f : 1.0f;
  vf sign = vf_load(signs), x = vf_add(vf_mul(sign, cosine), vf_set(-1));
  vf a = rr_slerp_share(rr_sub(vf_set(1), t), x), b = vf_mul(sign, rr_slerp_share(t, x));
  for (int n = 0; n < 4; n++) q[n] = vf_fma(a, q[n], vf_mul(b, other[n]));
}

// D(q, tau) = slerp(rho_min, rho_max, f_r) ((1 - f_s) S_min + f_s S_max)
// `blends`: f_r and f_s of every joint, and one more pair for bones without a torque.
static SN_RT_INLINE void rr_blend(const float (*rotations)[8], const float (*blends)[2], uint32_t joint_count,
                                  const sn_rt_torque_block *b, int lane, float *out) {
  float weights[2][8];
  for (int l = 0; l < width; l++) {
    uint32_t load = b->load[lane + l];
    const float *blend = blends[load < joint_count ? load : joint_count];
    weights[0][l] = blend[0], weights[1][l] = blend[1];
  }
  vf q[2][4], s[2][6], f_s = vf_load(weights[1]);
  for (int end = 0; end < 2; end++) rr_parts(&b->ends[end], lane, rotations, q[end], s[end]);
  rr_slerp(q[0], q[1], vf_load(weights[0]));
  vf f_0 = rr_sub(vf_set(1), f_s);
  for (int c = 0; c < 6; c++) s[0][c] = vf_fma(f_0, s[0][c], vf_mul(f_s, s[1][c]));
  rr_gradient(q[0], s[0], out);
}
