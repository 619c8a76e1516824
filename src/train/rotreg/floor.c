// SPDX-License-Identifier: MIT
// Means and floors of squared residuals.
#include "train/rotreg/floor.h"

double sn_rotreg_mean(const double *values, size_t count) {
  double sum = 0;
  for (size_t k = 0; k < count; k++) sum += values[k];
  return count ? sum / (double)count : 0;
}

double sn_rotreg_floor(const double *values, size_t count, double part, double diagonal) {
  return part * sn_rotreg_mean(values, count) + 1e-24 * diagonal * diagonal + 1e-300;
}
