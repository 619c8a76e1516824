// SPDX-License-Identifier: MIT
// Coefficients of displacement fields over a pose space (Murtagh 2008, 2.3.2 and 4.2), one axis, term or basis at a time: for
// correct.c and the GPU.
#ifndef SINEW_RUNTIME_POSE_SPACE_H
#define SINEW_RUNTIME_POSE_SPACE_H

#include <math.h>

#include "runtime/format.h"
#include "runtime/portable.h"

typedef struct sn_rt_pose_spaces {
  const sn_rt_field *fields;
  const uint16_t *joints;            // indices of references; for values: of values
  const double *numbers;             // correct.numbers
  const sn_rt_reference *references; // joint.reference
  uint32_t joint_count;              // of the model
  const sn_rt_terms *terms;          // correct.terms
  const float *mix;                  // correct.mix
} sn_rt_pose_spaces;

SN_RT_BOTH uint32_t sn_rt_field_components(const sn_rt_field *f) { return 3 * f->joint_count + f->value_count; }

SN_RT_BOTH uint32_t sn_rt_field_terms(const sn_rt_field *f) {
  return f->centre_count + (f->linear ? 1 + f->axis_count : 0);
}

// Layout of a field's numbers: the metric, centres, widths, the mix of its bases.
SN_RT_BOTH size_t sn_rt_metric_count(const sn_rt_field *f) {
  size_t components = sn_rt_field_components(f);
  return f->metric == SN_RT_METRIC_EUCLID     ? 0
         : f->metric == SN_RT_METRIC_DIAGONAL ? components
                                              : f->axis_count * components;
}

SN_RT_BOTH const double *sn_rt_metric_of(const sn_rt_pose_spaces *s, const sn_rt_field *f) {
  return s->numbers + f->first_number;
}

SN_RT_BOTH const double *sn_rt_centres(const sn_rt_pose_spaces *s, const sn_rt_field *f) {
  return sn_rt_metric_of(s, f) + sn_rt_metric_count(f);
}

SN_RT_BOTH const double *sn_rt_widths(const sn_rt_pose_spaces *s, const sn_rt_field *f) {
  return sn_rt_centres(s, f) + (size_t)f->centre_count * f->axis_count;
}

SN_RT_BOTH const double *sn_rt_mix(const sn_rt_pose_spaces *s, const sn_rt_field *f) {
  return sn_rt_widths(s, f) + f->centre_count;
}

// M4, the cubic B-spline (Shape by Example).
SN_RT_BOTH double sn_rt_bspline(double x) {
  if (x < 1) return 2.0 / 3 - x * x * (1 - x / 2);
  double left = 2 - x;
  return x < 2 ? left * left * left / 6 : 0;
}

SN_RT_BOTH double sn_rt_kernel_of(uint32_t kernel, double d2, double width) {
  double x2 = d2 / (width * width);
  switch (kernel) {
  case SN_RT_KERNEL_THINPLATE:
    return x2 > 1e-200 ? 0.5 * x2 * log(x2) : 0;
  case SN_RT_KERNEL_BSPLINE:
    return sn_rt_bspline(sqrt(x2));
  case SN_RT_KERNEL_SHEPARD:
    return pow(d2 > 1e-12 ? d2 : 1e-12, -0.5 * width);
  default:
    return exp(-0.5 * x2);
  }
}

// Maps a named value from its training range to 0 .. SN_RT_VALUE_SPAN, clamped; NaN becomes the minimum.
SN_RT_BOTH float sn_rt_value_in_span(const float range[2], float value) {
  float low = range[0], high = range[1], inside = value > low ? value < high ? value : high : low;
  return SN_RT_VALUE_SPAN * ((inside - low) / (high - low));
}

// Component c of the field's pose vector; `rotations` are [joint][8], then the values from 0 to SN_RT_VALUE_SPAN.
SN_RT_BOTH float sn_rt_component(const sn_rt_pose_spaces *s, const sn_rt_field *f, const float *rotations,
                                 uint32_t c) {
  uint32_t from_joints = 3 * f->joint_count;
  if (c >= from_joints)
    return rotations[8 * (size_t)s->joint_count + s->joints[f->first_joint + f->joint_count + c - from_joints]];
  return rotations[8 * (size_t)s->references[s->joints[f->first_joint + c / 3]].joint + 4 + c % 3];
}

SN_RT_BOTH double sn_rt_axis(const sn_rt_pose_spaces *s, const sn_rt_field *f, const float *rotations, uint32_t a) {
  const double *metric = sn_rt_metric_of(s, f);
  if (f->metric != SN_RT_METRIC_MATRIX)
    return sn_rt_component(s, f, rotations, a) * (f->metric == SN_RT_METRIC_DIAGONAL ? metric[a] : 1);
  uint32_t components = sn_rt_field_components(f);
  double sum = 0;
  for (uint32_t c = 0; c < components; c++)
    sum += metric[(size_t)a * components + c] * sn_rt_component(s, f, rotations, c);
  return sum;
}

// Term t: the kernel of a centre (before Shepard's normalisation), then, if `linear`, 1 and the axes.
SN_RT_BOTH double sn_rt_term(const sn_rt_pose_spaces *s, const sn_rt_field *f, const double *axes, uint32_t t) {
  if (t >= f->centre_count) return t == f->centre_count ? 1 : axes[t - f->centre_count - 1];
  const double *centre = sn_rt_centres(s, f) + (size_t)t * f->axis_count;
  double d2 = 0;
  for (uint32_t a = 0; a < f->axis_count; a++) d2 += (axes[a] - centre[a]) * (axes[a] - centre[a]);
  return sn_rt_kernel_of(f->kernel, d2, sn_rt_widths(s, f)[t]);
}

SN_RT_BOTH double sn_rt_shepard_total(const sn_rt_field *f, const double *terms) {
  double sum = 0;
  for (uint32_t k = 0; k < f->centre_count; k++) sum += terms[k];
  return sum;
}

SN_RT_BOTH double sn_rt_basis(const sn_rt_pose_spaces *s, const sn_rt_field *f, const double *terms, uint32_t b) {
  if (!f->mixed) return terms[b];
  uint32_t count = sn_rt_field_terms(f);
  const double *mix = sn_rt_mix(s, f) + (size_t)b * count;
  double value = 0;
  for (uint32_t t = 0; t < count; t++) value += mix[t] * terms[t];
  return value;
}

#endif
