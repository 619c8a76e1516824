// SPDX-License-Identifier: MIT
// Binds a model to a character: matches the model's rest pose R with the character's bind pose B.
#include <math.h>

#include "runtime/check.h"

enum { most_spaces = 64 };            // candidates for the map from the character's space to the model's
static const double tolerance = 1e-3; // of a joint's position, relative to the skeleton's size

static void multiply(const double a[12], const double b[12], double out[12]) {
  for (int n = 0; n < 12; n++) {
    const double *row = a + n / 4 * 4;
    out[n] = row[0] * b[n % 4] + row[1] * b[4 + n % 4] + row[2] * b[8 + n % 4] + (n % 4 == 3 ? row[3] : 0);
  }
}

// The matrix in double precision, and its inverse. Returns 0 if it is singular.
static int invert(const float in[12], double m[12], double out[12]) {
  double det = 0;
  for (int n = 0; n < 12; n++) m[n] = in[n];
  for (int n = 0; n < 9; n++) { // cofactors, transposed
    int r = n / 3, c = n % 3, r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
    out[4 * c + r] = m[4 * r1 + c1] * m[4 * r2 + c2] - m[4 * r1 + c2] * m[4 * r2 + c1];
  }
  for (int c = 0; c < 3; c++) det += m[c] * out[4 * c];
  if (!(fabs(det) > 1e-30)) return 0;
  for (int r = 0; r < 3; r++) {
    for (int c = 0; c < 3; c++) out[4 * r + c] /= det;
    out[4 * r + 3] = -(out[4 * r] * m[3] + out[4 * r + 1] * m[7] + out[4 * r + 2] * m[11]);
  }
  return 1;
}

// The largest distance between a joint mapped by `space` and the model's joint; and that joint.
static double furthest(const sn_rt_model *model, const float (*bind)[12], const double space[12], uint32_t *joint) {
  const float(*rest)[12] = sn_rt_data(model, SN_SECTION_JOINT_REST);
  double worst = 0, b[12], back[12], there[12];
  for (uint32_t j = 0; j < model->info.joint_count; j++) {
    if (!invert(bind[j], b, back)) continue;
    multiply(space, b, there);
    for (int n = 3; n < 12; n += 4)
      if (fabs(there[n] - rest[j][n]) > worst) worst = fabs(there[n] - rest[j][n]), *joint = j;
  }
  return worst;
}

sn_rt_status sn_rt_bind(const sn_rt_model *model, const float (*bind)[12], float (*to_rest)[12], float *space,
                        sn_rt_error *error) {
  const float(*rest)[12] = sn_rt_data(model, SN_SECTION_JOINT_REST);
  uint32_t count = model->info.joint_count, worst = 0, other = 0;
  double limit = 0, map[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, b[12], r[12], back[12], next[12];
  for (uint32_t n = 0; n < 3 * count; n++) {
    double along = fabs((double)rest[n / 3][n % 3 * 4 + 3] - rest[0][n % 3 * 4 + 3]) * tolerance;
    limit = along > limit ? along : limit;
  }
  for (uint32_t j = 0; j < count; j++)
    if (!sn_rt_all_finite(bind[j], 12) || (!invert(bind[j], b, back) && !invert(rest[j], r, back)))
      return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "joint %s has no finite size", sn_rt_joint_name(model, j));
  double away = furthest(model, bind, map, &worst);
  for (uint32_t k = 0; space && away > limit && k < count && k < most_spaces; k++) { // candidate: R B^-1 of joint k
    if (!invert(rest[k], r, back) || !invert(bind[k], b, back)) continue;
    multiply(r, back, next);
    double off = furthest(model, bind, next, &other);
    for (int n = 0; off < away && n < 12; n++) map[n] = next[n];
    if (off < away) away = off, worst = other;
  }
  if (count > 1 && away > limit)
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT,
                      "joint %s is not where the model has it, by %u thousandths of the skeleton's size: train on "
                      "this character, or retarget its motion",
                      sn_rt_joint_name(model, worst), away < 1e6 * limit ? (unsigned)(away / limit) + 1 : 1000000u);
  for (uint32_t j = 0; j < count; j++) {
    if (invert(bind[j], b, back)) multiply(map, b, next);
    for (int n = 0; n < 12; n++) to_rest[j][n] = invert(bind[j], b, back) ? (float)next[n] : rest[j][n];
    invert(to_rest[j], b, back);
    for (int n = 0; n < 12; n++) to_rest[j][n] = (float)back[n];
  }
  for (int n = 0; space && n < 12; n++) space[n] = (float)map[n];
  return SN_RT_OK;
}
