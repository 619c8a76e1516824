// SPDX-License-Identifier: MIT
// Rotations as matrices, axis-angle vectors, quaternions and dual quaternions.
#include "sinew/math.h"

sn_quat sn_quat_mul(sn_quat a, sn_quat b) {
  return (sn_quat){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                   a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

sn_quat sn_quat_normalize(sn_quat a) {
  double length = sqrt(sn_quat_dot(a, a));
  return length > 1e-150 && isfinite(length) ? sn_quat_scale(a, 1 / length) : sn_quat_identity();
}

// From the largest of the four squared components, so that no square root is taken near zero.
sn_quat sn_quat_from_mat3(sn_mat3 r) {
  double xx = r.m[0][0], yy = r.m[1][1], zz = r.m[2][2], trace = xx + yy + zz;
  sn_quat q;
  if (trace > 0)
    q = (sn_quat){r.m[2][1] - r.m[1][2], r.m[0][2] - r.m[2][0], r.m[1][0] - r.m[0][1], 1 + trace};
  else if (xx >= yy && xx >= zz)
    q = (sn_quat){1 + xx - yy - zz, r.m[0][1] + r.m[1][0], r.m[0][2] + r.m[2][0], r.m[2][1] - r.m[1][2]};
  else if (yy >= zz)
    q = (sn_quat){r.m[0][1] + r.m[1][0], 1 - xx + yy - zz, r.m[1][2] + r.m[2][1], r.m[0][2] - r.m[2][0]};
  else
    q = (sn_quat){r.m[0][2] + r.m[2][0], r.m[1][2] + r.m[2][1], 1 - xx - yy + zz, r.m[1][0] - r.m[0][1]};
  q = sn_quat_normalize(q);
  return q.w < 0 ? sn_quat_scale(q, -1) : q;
}

sn_mat3 sn_quat_to_mat3(sn_quat q) {
  q = sn_quat_normalize(q);
  double x = q.x, y = q.y, z = q.z, w = q.w;
  return (sn_mat3){{{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                    {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                    {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}}};
}

sn_quat sn_quat_slerp(sn_quat a, sn_quat b, double t) {
  double c = sn_quat_dot(a, b);
  if (c < 0) b = sn_quat_scale(b, -1);
  // Angle from sine and cosine: accurate where the two are close together.
  sn_quat d = sn_quat_add(b, sn_quat_scale(a, -1)), s = sn_quat_add(a, b);
  double angle = 2 * atan2(sqrt(sn_quat_dot(d, d)), sqrt(sn_quat_dot(s, s)));
  double sine = sin(angle);
  if (sine < 1e-9) return sn_quat_normalize(sn_quat_add(sn_quat_scale(a, 1 - t), sn_quat_scale(b, t)));
  return sn_quat_add(sn_quat_scale(a, sin((1 - t) * angle) / sine), sn_quat_scale(b, sin(t * angle) / sine));
}

sn_dualquat sn_dualquat_from_rigid(sn_affine a) {
  sn_quat real = sn_quat_from_mat3(sn_affine_linear(a));
  sn_vec3 t = sn_affine_translation(a);
  return (sn_dualquat){real, sn_quat_scale(sn_quat_mul((sn_quat){t.x, t.y, t.z, 0}, real), 0.5)};
}

sn_affine sn_dualquat_to_rigid(sn_dualquat q) {
  double norm2 = sn_quat_dot(q.real, q.real);
  sn_quat t = sn_quat_mul(q.dual, sn_quat_conjugate(q.real));
  double s = norm2 > 0 ? 2 / norm2 : 0;
  return sn_affine_make(sn_quat_to_mat3(q.real), sn_vec3_make(t.x * s, t.y * s, t.z * s));
}

sn_mat3 sn_rotation_exp(sn_vec3 r) {
  double angle = sn_vec3_length(r), half = 0.5 * angle;
  double s = angle > 1e-8 ? sin(half) / angle : 0.5;
  return sn_quat_to_mat3((sn_quat){r.x * s, r.y * s, r.z * s, cos(half)});
}

sn_vec3 sn_rotation_log(sn_mat3 r) {
  sn_quat q = sn_quat_from_mat3(r);
  sn_vec3 axis = {q.x, q.y, q.z};
  double sine = sn_vec3_length(axis);
  // 2 atan2(sine, w) / sine, which tends to 2 / w as the sine goes to zero.
  double factor = sine > 1e-12 ? 2 * atan2(sine, q.w) / sine : 2 / q.w;
  return sn_vec3_scale(axis, factor);
}

sn_vec3 sn_rotation_unwrap(sn_vec3 r, sn_vec3 reference) {
  double angle = sn_vec3_length(r), distance = sn_vec3_length(reference);
  // At the identity (multiples of 2 pi) any axis is valid: use that of the reference.
  if (fabs(remainder(angle, 2 * SN_PI)) < 1e-12)
    return distance > 0 ? sn_vec3_scale(reference, 2 * SN_PI * round(distance / (2 * SN_PI)) / distance) : reference;
  sn_vec3 axis = sn_vec3_scale(r, 1 / angle);
  double cycles = rint((sn_vec3_dot(reference, axis) - angle) / (2 * SN_PI));
  return sn_vec3_scale(axis, angle + 2 * SN_PI * cycles);
}

sn_vec3 sn_rotation_log_near(sn_mat3 r, sn_vec3 reference) {
  return sn_rotation_unwrap(sn_rotation_log(r), reference);
}

double sn_rotation_angle(sn_mat3 a, sn_mat3 b) {
  sn_quat q = sn_quat_from_mat3(sn_mat3_mul(sn_mat3_transpose(a), b));
  return 2 * atan2(sn_vec3_length(sn_vec3_make(q.x, q.y, q.z)), q.w);
}
