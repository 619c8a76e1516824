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

// Palette matrices are four columns of four floats.
void sn_rt_linear_part(const float m[16], float a[9]);
void sn_rt_rotation_of(const float m[16], float r[9]); // of its polar decomposition
void sn_rt_apply(const float m[16], const float p[3], float out[3]);
void sn_rt_make_about(const float a[9], const float from[3], const float to[3],
                      float m[16]); // p -> a (p - from) + to

#endif
