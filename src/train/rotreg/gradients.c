// SPDX-License-Identifier: MIT
// Deformation gradients of triangles (section 3).
#include "train/rotreg/predictor.h"

static sn_mat3 triangle_frame(const float (*positions)[3], const int corners[3]) {
  sn_vec3 origin = sn_vec3_from(positions[corners[0]]);
  sn_vec3 e2 = sn_vec3_sub(sn_vec3_from(positions[corners[1]]), origin);
  sn_vec3 e3 = sn_vec3_sub(sn_vec3_from(positions[corners[2]]), origin);
  return sn_mat3_columns(e2, e3, sn_vec3_normalize(sn_vec3_cross(e2, e3), sn_vec3_make(0, 0, 0)));
}

bool sn_rotreg_gradient(const sn_mesh *rest, const float (*posed)[3], int triangle, sn_mat3 *out) {
  const int *corners = rest->triangles[triangle];
  sn_mat3 frame = triangle_frame((const float(*)[3])rest->positions, corners), inverse;
  double longest = fmax(sn_vec3_length(sn_mat3_column(frame, 0)), sn_vec3_length(sn_mat3_column(frame, 1)));
  *out = sn_mat3_identity();
  // The determinant is twice the area: below this bound the triangle is degenerate and has no normal.
  if (!(sn_mat3_determinant(frame) > sn_rotreg_rounding * longest * longest) || !sn_mat3_invert(frame, &inverse))
    return false;
  *out = sn_mat3_mul(triangle_frame(posed, corners), inverse);
  return true;
}
