// SPDX-License-Identifier: MIT
// A model meets a character: the rest pose of its joints beside the character's bind pose.
#include <math.h>
#include <string.h>

#include "runtime/internal.h"

enum { most_spaces = 64 };            // candidates for the map from the character's space to the model's
static const double tolerance = 1e-3; // of a joint's place, relative to the skeleton; of its axes

static void multiply(const double a[12], const double b[12], double out[12]) {
  for (int n = 0; n < 12; n++) {
    const double *row = a + n / 4 * 4;
    out[n] = row[0] * b[n % 4] + row[1] * b[4 + n % 4] + row[2] * b[8 + n % 4] + (n % 4 == 3 ? row[3] : 0);
  }
}

static int invert(const double m[12], double out[12]) {
  double scale = 0, det = 0;
  for (int n = 0; n < 9; n++) { // cofactors, transposed
    int r = n / 3, c = n % 3, r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
    out[4 * c + r] = m[4 * r1 + c1] * m[4 * r2 + c2] - m[4 * r1 + c2] * m[4 * r2 + c1];
    scale = fmax(scale, fabs(m[4 * r + c]));
  }
  for (int c = 0; c < 3; c++) det += m[c] * out[4 * c];
  if (!(fabs(det) > 1e-12 * scale * scale * scale)) return 0;
  for (int r = 0; r < 3; r++) {
    for (int c = 0; c < 3; c++) out[4 * r + c] /= det;
    out[4 * r + 3] = -(out[4 * r] * m[3] + out[4 * r + 1] * m[7] + out[4 * r + 2] * m[11]);
  }
  return 1;
}

static void widen(const float m[12], double out[12]) {
  for (int n = 0; n < 12; n++) out[n] = m[n];
}

// How many joints are where the model has them, and turned as there, when `space` maps the character; which is the furthest.
typedef struct agreement {
  double space[12];
  uint32_t placed, turned, furthest;
  double away;
} agreement;

static void agree(const sn_rt_model *model, const float (*bind)[12], double limit, agreement *out) {
  const float(*rest)[12] = model->sections[SN_SECTION_JOINT_REST];
  out->placed = out->turned = out->furthest = 0, out->away = 0;
  for (uint32_t j = 0; j < model->info.joint_count; j++) {
    double b[12], there[12], back[12], away = 0, turned = 0, unit = 0;
    widen(bind[j], b);
    if (!invert(b, back)) continue;
    multiply(out->space, b, there);
    for (int n = 0; n < 12; n++) {
      double d = fabs(there[n] - rest[j][n]);
      if (n % 4 == 3)
        away = fmax(away, d);
      else
        turned = fmax(turned, d), unit = fmax(unit, fabs((double)rest[j][n]));
    }
    out->placed += away <= limit, out->turned += away <= limit && turned <= tolerance * unit;
    if (away > out->away) out->away = away, out->furthest = j;
  }
}

// The model's space is the character's own, or (`any`) what one of its joints says: R_k B_k^-1.
static agreement best_space(const sn_rt_model *model, const float (*bind)[12], double limit, int any) {
  const float(*rest)[12] = model->sections[SN_SECTION_JOINT_REST];
  agreement best = {.space = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}}, next;
  agree(model, bind, limit, &best);
  for (uint32_t k = 0; any && k < model->info.joint_count && k < most_spaces; k++) {
    double b[12], r[12], back[12];
    widen(bind[k], b), widen(rest[k], r);
    if (!invert(b, back)) continue;
    multiply(r, back, next.space);
    agree(model, bind, limit, &next);
    if (next.placed > best.placed || (next.placed == best.placed && next.turned > best.turned)) best = next;
  }
  return best;
}

sn_rt_status sn_rt_bind(const sn_rt_model *model, const float (*bind)[12], float (*to_rest)[12], float *space,
                        sn_rt_error *error) {
  const float(*rest)[12] = model->sections[SN_SECTION_JOINT_REST];
  uint32_t count = model->info.joint_count;
  double limit = 0;
  for (uint32_t n = 0; n < 3 * count; n++)
    limit = fmax(limit, tolerance * fabs((double)rest[n / 3][n % 3 * 4 + 3] - rest[0][n % 3 * 4 + 3]));
  agreement best = best_space(model, bind, limit, space != NULL);
  if (count > 1 && best.away > limit)
    return sn_rt_fail(
      error, SN_RT_BAD_ARGUMENT,
      "joint %s is not where the model has it, by %u thousandths of the skeleton's size: train on this "
      "character, or retarget its motion",
      sn_rt_joint_name(model, best.furthest), (unsigned)fmin(ceil(best.away / limit), 1e9));
  for (uint32_t j = 0; j < count; j++) {
    double b[12], there[12], back[12];
    widen(bind[j], b), multiply(best.space, b, there);
    if (!invert(there, back) && (widen(rest[j], there), !invert(there, back)))
      return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "joint %s has no size", sn_rt_joint_name(model, j));
    for (int n = 0; n < 12; n++) to_rest[j][n] = (float)back[n];
  }
  for (int n = 0; space && n < 12; n++) space[n] = (float)best.space[n];
  return SN_RT_OK;
}
