// SPDX-License-Identifier: MIT
// Rotations and quaternions (x y z w) of the palette stage. Matrices are 3x3 row-major here.
#ifndef SINEW_RUNTIME_SMALLMATH_H
#define SINEW_RUNTIME_SMALLMATH_H

// a = r s with r a proper rotation (always) and s symmetric; where det a < 0 the smallest eigenvalue of s is negative.
// Returns 1 where a is a rotation already (to 1e-5), and then s is the identity.
int sn_rt_polar(const float a[9], float r[9], float s[9]);

void sn_rt_quat_from_rotation(const float r[9], float q[4]);
void sn_rt_rotation_from_quat(const float q[4], float r[9]);
// The short way from a to b.
void sn_rt_slerp(const float a[4], const float b[4], float t, float out[4]);

#endif
