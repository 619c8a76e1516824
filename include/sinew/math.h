// SPDX-License-Identifier: MIT
// Small linear algebra in double precision: vectors, 3x3 matrices, affine maps, quaternions, dual quaternions,
// rotation logarithms. Everything is passed by value; matrices are row-major and act on column vectors.
#ifndef SINEW_MATH_H
#define SINEW_MATH_H

#include <math.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

// Compound literal; C++ has no parentheses around the type.
#ifdef __cplusplus
#define SN_LITERAL(type) type
#else
#define SN_LITERAL(type) (type)
#endif

#define SN_PI 3.14159265358979323846

typedef struct sn_vec3 {
  double x, y, z;
} sn_vec3;

typedef struct sn_mat3 {
  double m[3][3];
} sn_mat3;

// [A | t], 3 rows by 4 columns: p -> A p + t.
typedef struct sn_affine {
  double m[3][4];
} sn_affine;

typedef struct sn_quat {
  double x, y, z, w;
} sn_quat;

// A unit dual quaternion is a rigid motion: rotation `real`, translation 2 dual real^*.
typedef struct sn_dualquat {
  sn_quat real, dual;
} sn_dualquat;

// ---- vectors ---------------------------------------------------------------------------------------------------

static inline sn_vec3 sn_vec3_make(double x, double y, double z) { return SN_LITERAL(sn_vec3){x, y, z}; }
static inline sn_vec3 sn_vec3_from(const float p[3]) { return SN_LITERAL(sn_vec3){p[0], p[1], p[2]}; }
static inline void sn_vec3_store(sn_vec3 v, float out[3]) {
  out[0] = (float)v.x, out[1] = (float)v.y, out[2] = (float)v.z;
}
static inline sn_vec3 sn_vec3_add(sn_vec3 a, sn_vec3 b) {
  return SN_LITERAL(sn_vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}
static inline sn_vec3 sn_vec3_sub(sn_vec3 a, sn_vec3 b) {
  return SN_LITERAL(sn_vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}
static inline sn_vec3 sn_vec3_scale(sn_vec3 a, double s) { return SN_LITERAL(sn_vec3){a.x * s, a.y * s, a.z * s}; }
// a + s b
static inline sn_vec3 sn_vec3_mad(sn_vec3 a, sn_vec3 b, double s) {
  return SN_LITERAL(sn_vec3){a.x + b.x * s, a.y + b.y * s, a.z + b.z * s};
}
static inline double sn_vec3_dot(sn_vec3 a, sn_vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline sn_vec3 sn_vec3_cross(sn_vec3 a, sn_vec3 b) {
  return SN_LITERAL(sn_vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static inline double sn_vec3_length(sn_vec3 a) { return sqrt(sn_vec3_dot(a, a)); }
static inline double sn_vec3_distance(sn_vec3 a, sn_vec3 b) { return sn_vec3_length(sn_vec3_sub(a, b)); }
static inline sn_vec3 sn_vec3_lerp(sn_vec3 a, sn_vec3 b, double t) { return sn_vec3_mad(a, sn_vec3_sub(b, a), t); }
// Unit vector along a; `fallback` where a is (nearly) zero.
sn_vec3 sn_vec3_normalize(sn_vec3 a, sn_vec3 fallback);
// A unit vector perpendicular to a.
sn_vec3 sn_vec3_perpendicular(sn_vec3 a);

// ---- 3x3 matrices ------------------------------------------------------------------------------------------------

static inline sn_mat3 sn_mat3_identity(void) { return SN_LITERAL(sn_mat3){{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}; }
static inline sn_mat3 sn_mat3_diagonal(double a, double b, double c) {
  return SN_LITERAL(sn_mat3){{{a, 0, 0}, {0, b, 0}, {0, 0, c}}};
}
static inline sn_mat3 sn_mat3_columns(sn_vec3 a, sn_vec3 b, sn_vec3 c) {
  return SN_LITERAL(sn_mat3){{{a.x, b.x, c.x}, {a.y, b.y, c.y}, {a.z, b.z, c.z}}};
}
static inline sn_vec3 sn_mat3_column(sn_mat3 a, int k) {
  return SN_LITERAL(sn_vec3){a.m[0][k], a.m[1][k], a.m[2][k]};
}
// a b^T
static inline sn_mat3 sn_mat3_outer(sn_vec3 a, sn_vec3 b) {
  return SN_LITERAL(sn_mat3){
    {{a.x * b.x, a.x * b.y, a.x * b.z}, {a.y * b.x, a.y * b.y, a.y * b.z}, {a.z * b.x, a.z * b.y, a.z * b.z}}};
}
static inline sn_mat3 sn_mat3_transpose(sn_mat3 a) {
  return SN_LITERAL(sn_mat3){
    {{a.m[0][0], a.m[1][0], a.m[2][0]}, {a.m[0][1], a.m[1][1], a.m[2][1]}, {a.m[0][2], a.m[1][2], a.m[2][2]}}};
}
sn_mat3 sn_mat3_add(sn_mat3 a, sn_mat3 b);
sn_mat3 sn_mat3_sub(sn_mat3 a, sn_mat3 b);
sn_mat3 sn_mat3_scale(sn_mat3 a, double s);
sn_mat3 sn_mat3_mul(sn_mat3 a, sn_mat3 b);
static inline sn_vec3 sn_mat3_apply(sn_mat3 a, sn_vec3 v) {
  return SN_LITERAL(sn_vec3){a.m[0][0] * v.x + a.m[0][1] * v.y + a.m[0][2] * v.z,
                             a.m[1][0] * v.x + a.m[1][1] * v.y + a.m[1][2] * v.z,
                             a.m[2][0] * v.x + a.m[2][1] * v.y + a.m[2][2] * v.z};
}
static inline double sn_mat3_trace(sn_mat3 a) { return a.m[0][0] + a.m[1][1] + a.m[2][2]; }
double sn_mat3_determinant(sn_mat3 a);
double sn_mat3_norm(sn_mat3 a); // Frobenius
// False, and the zero matrix, where a is singular to working precision.
bool sn_mat3_invert(sn_mat3 a, sn_mat3 *out);

// a = u diag(s) v^T, s0 >= s1 >= s2 >= 0; u and v orthogonal (their determinants may be -1). Works for any finite
// matrix: singular, tiny, huge.
void sn_mat3_svd(sn_mat3 a, sn_mat3 *u, sn_vec3 *s, sn_mat3 *v);

// a = r p with r a proper rotation (always) and p symmetric; where det a < 0, p has one negative eigenvalue, the
// smallest in size. `p` may be NULL.
void sn_mat3_polar(sn_mat3 a, sn_mat3 *r, sn_mat3 *p);

// The rotation r that maximises tr(r h) for h = sum w x y^T, x source and y target (Kabsch).
sn_mat3 sn_mat3_kabsch(sn_mat3 h);

// ---- affine maps ---------------------------------------------------------------------------------------------------

static inline sn_affine sn_affine_identity(void) {
  return SN_LITERAL(sn_affine){{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
}
static inline sn_affine sn_affine_make(sn_mat3 a, sn_vec3 t) {
  return SN_LITERAL(sn_affine){{{a.m[0][0], a.m[0][1], a.m[0][2], t.x},
                                {a.m[1][0], a.m[1][1], a.m[1][2], t.y},
                                {a.m[2][0], a.m[2][1], a.m[2][2], t.z}}};
}
static inline sn_mat3 sn_affine_linear(sn_affine a) {
  return SN_LITERAL(sn_mat3){
    {{a.m[0][0], a.m[0][1], a.m[0][2]}, {a.m[1][0], a.m[1][1], a.m[1][2]}, {a.m[2][0], a.m[2][1], a.m[2][2]}}};
}
static inline sn_vec3 sn_affine_translation(sn_affine a) {
  return SN_LITERAL(sn_vec3){a.m[0][3], a.m[1][3], a.m[2][3]};
}
static inline sn_vec3 sn_affine_apply(sn_affine a, sn_vec3 v) {
  return SN_LITERAL(sn_vec3){a.m[0][0] * v.x + a.m[0][1] * v.y + a.m[0][2] * v.z + a.m[0][3],
                             a.m[1][0] * v.x + a.m[1][1] * v.y + a.m[1][2] * v.z + a.m[1][3],
                             a.m[2][0] * v.x + a.m[2][1] * v.y + a.m[2][2] * v.z + a.m[2][3]};
}
// Columns of the 4x4 matrix, its last row 0 0 0 1; and back, whatever the last row is.
static inline void sn_affine_to_columns(sn_affine a, double out[16]) {
  for (int k = 0; k < 16; k++) out[k] = k % 4 < 3 ? a.m[k % 4][k / 4] : k == 15;
}
static inline sn_affine sn_affine_from_columns(const double m[16]) {
  sn_affine out;
  for (int k = 0; k < 12; k++) out.m[k / 4][k % 4] = m[4 * (k % 4) + k / 4];
  return out;
}
sn_affine sn_affine_mul(sn_affine a, sn_affine b); // a after b
bool sn_affine_invert(sn_affine a, sn_affine *out);
// Rotation by r about the point c.
sn_affine sn_affine_about(sn_mat3 r, sn_vec3 c);

// The rigid motion that takes x to y best: minimises sum_i w_i |R x_i + t - y_i|^2. `weights` may be NULL. Degenerate
// sets (no points, one point, collinear points) give a proper rotation all the same.
sn_affine sn_procrustes(int count, const sn_vec3 *x, const sn_vec3 *y, const double *weights);

// ---- rotations -----------------------------------------------------------------------------------------------------

// Axis-angle vector -> rotation, and back. The logarithm's angle is in [0, pi]; accurate near 0 and near pi.
sn_mat3 sn_rotation_exp(sn_vec3 r);
sn_vec3 sn_rotation_log(sn_mat3 r);
// The logarithm (angle of any size: log + 2 pi k axis) nearest to `reference`.
sn_vec3 sn_rotation_log_near(sn_mat3 r, sn_vec3 reference);
// Of all vectors with the same rotation as `r`, the one nearest to `reference`.
sn_vec3 sn_rotation_unwrap(sn_vec3 r, sn_vec3 reference);
// Angle between two rotations, in [0, pi].
double sn_rotation_angle(sn_mat3 a, sn_mat3 b);

// ---- quaternions -----------------------------------------------------------------------------------------------------

static inline sn_quat sn_quat_identity(void) { return SN_LITERAL(sn_quat){0, 0, 0, 1}; }
static inline double sn_quat_dot(sn_quat a, sn_quat b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
static inline sn_quat sn_quat_scale(sn_quat a, double s) {
  return SN_LITERAL(sn_quat){a.x * s, a.y * s, a.z * s, a.w * s};
}
static inline sn_quat sn_quat_add(sn_quat a, sn_quat b) {
  return SN_LITERAL(sn_quat){a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}
static inline sn_quat sn_quat_conjugate(sn_quat a) { return SN_LITERAL(sn_quat){-a.x, -a.y, -a.z, a.w}; }
sn_quat sn_quat_mul(sn_quat a, sn_quat b);
sn_quat sn_quat_normalize(sn_quat a);                  // identity where a is zero
sn_quat sn_quat_from_mat3(sn_mat3 r);                  // r a rotation; w >= 0
sn_mat3 sn_quat_to_mat3(sn_quat q);                    // q need not be of unit length
sn_quat sn_quat_slerp(sn_quat a, sn_quat b, double t); // the short way

sn_dualquat sn_dualquat_from_rigid(sn_affine a); // a rigid
sn_affine sn_dualquat_to_rigid(sn_dualquat q);   // q need not be of unit length

// translation * rotation * scale, and back for a map without shear.
sn_affine sn_affine_from_trs(sn_vec3 t, sn_quat r, sn_vec3 s);
// Splits a into t, r, s. Returns the norm of the lost part (shear), relative to |a|: 0 for a map that is exactly TRS.
double sn_affine_to_trs(sn_affine a, sn_vec3 *t, sn_quat *r, sn_vec3 *s);

// Radial basis functions of a distance d; numbered as in the model file.
typedef enum sn_rbf_kernel {
  SN_RBF_GAUSS,     // exp(-d^2 / (2 width^2))
  SN_RBF_THINPLATE, // x^2 log x, x = d / width; needs the linear term
  SN_RBF_BSPLINE,   // cubic B-spline M4(d / width), zero from twice the width on
  SN_RBF_SHEPARD    // inverse distance d^-width, normalised; takes no linear term
} sn_rbf_kernel;

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
