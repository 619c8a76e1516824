// SPDX-License-Identifier: MIT
// The helper joints of a driver table (docs/reference/driver-table.md) in plain C. Quaternions are x, y, z, w.
#pragma once

#include <math.h>
#include <string.h>

typedef struct helper_driver {
  float before[4], after[4], rest[3];
} helper_driver;

typedef struct helper_function {
  int driver;
  float mix[9][7];
} helper_function;

typedef struct helper_product { // of values
  int driver_count, drivers[2];
  float mix[9];
} helper_product;

typedef struct helper {
  float translation[3], rotation[4], low[7], high[7];
  int function_count, product_count;
  const helper_function *functions;
  const helper_product *products;
} helper;

// A node in its parent's: its matrix is that of the first three, plus the columns `added`.
typedef struct helper_place {
  float translation[3], rotation[4], scale, added[4][3];
} helper_place;

static inline void helper_times(const float a[4], const float b[4], float out[4]) {
  out[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
  out[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
  out[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
  out[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}

// The terms of a driver whose joint has the local rotation q: of its rotation vector minus that of the rest pose.
static inline void helper_terms(const helper_driver *driver, const float q[4], float out[9]) {
  float inner[4], r[4], p[3];
  helper_times(driver->before, q, inner);
  helper_times(inner, driver->after, r);
  float sine = sqrtf(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
  float factor = sine > 1e-6f ? 2 * atan2f(sine, fabsf(r[3])) / sine : 2;
  for (int c = 0; c < 3; c++) p[c] = (r[3] < 0 ? -factor : factor) * r[c] - driver->rest[c];
  out[0] = p[0], out[1] = p[1], out[2] = p[2];
  out[3] = p[0] * p[0], out[4] = p[0] * p[1], out[5] = p[0] * p[2];
  out[6] = p[1] * p[1], out[7] = p[1] * p[2], out[8] = p[2] * p[2];
}

// Terms that shapes share: those of one driver, products of two, or Gaussians of one around `centres`.
typedef struct helper_group {
  int driver_count, drivers[2], count;
  const float (*centres)[3]; // NULL: no Gaussians
  float width;
} helper_group;

// The weight of a shape (morph target) is the sum of the terms of its groups times its mix; large terms cancel: doubles.
static inline void helper_group_terms(const helper_group *g, const float (*terms)[9], double *out) {
  const float *p = terms[g->drivers[0]], *q = terms[g->drivers[g->driver_count - 1]];
  for (int k = 0; k < g->count; k++) {
    double square = 0, width = g->width;
    for (int c = 0; g->centres && c < 3; c++) square += pow((double)p[c] - (double)g->centres[k][c], 2);
    out[k] = g->centres             ? exp(-square / (2 * width * width))
             : g->driver_count == 2 ? (double)p[k / 3] * q[k % 3]
                                    : p[k];
  }
}

static inline void helper_rotate(const float q[4], const float v[3], float out[4]) {
  const float back[4] = {-q[0], -q[1], -q[2], q[3]}, pure[4] = {v[0], v[1], v[2], 0};
  float inner[4];
  helper_times(q, pure, inner);
  helper_times(inner, back, out);
}

// `terms` of all drivers of the table; the first of a value is where it is between low and high, from 0 to 1.
static inline helper_place helper_evaluate(const helper *h, const float (*terms)[9]) {
  float sum[7] = {0}, s[9] = {0}, moved[4];
  for (int f = 0; f < h->function_count; f++)
    for (int k = 0; k < 9; k++)
      for (int c = 0; c < 7; c++) sum[c] += terms[h->functions[f].driver][k] * h->functions[f].mix[k][c];
  for (int c = 0; c < 7; c++) sum[c] = fminf(fmaxf(sum[c], h->low[c]), h->high[c]);
  float length = sqrtf(1 + (sum[3] * sum[3] + sum[4] * sum[4] + sum[5] * sum[5]) / 4);
  float turn[4] = {sum[3] / 2 / length, sum[4] / 2 / length, sum[5] / 2 / length, 1 / length};
  helper_place out = {.scale = 1 + sum[6]};
  helper_rotate(h->rotation, sum, moved);
  helper_times(h->rotation, turn, out.rotation);
  for (int c = 0; c < 3; c++) out.translation[c] = h->translation[c] + moved[c];
  for (const helper_product *p = h->products; p < h->products + h->product_count; p++)
    for (int c = 0; c < 9; c++)
      s[c] += p->mix[c] * (p->driver_count ? terms[p->drivers[0]][0] : 1) *
              (p->driver_count > 1 ? terms[p->drivers[1]][0] : 1);
  const float m[4][3] = {{s[6], s[5], -s[4]}, {-s[5], s[7], s[3]}, {s[4], -s[3], s[8]}, {s[0], s[1], s[2]}};
  for (int c = 0; c < 4; c++) helper_rotate(h->rotation, m[c], moved), memcpy(out.added[c], moved, sizeof m[c]);
  return out;
}
