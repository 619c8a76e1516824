// SPDX-License-Identifier: MIT
// Percentiles of many distances from a histogram with logarithmic bins.
#include <math.h>
#include <stdlib.h>

#include "sinew/base.h"

static const double decades = 24,
                    least = -20; // squared distances from 1e-20 to 1e4: a bin is one percent of a distance

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void sn_sort_doubles(double *values, size_t count) { qsort(values, count, sizeof *values, compare_doubles); }

int sn_percentile_bin(double square) {
  double at = (log10(square + 1e-300) - least) * (SN_PERCENTILE_BINS / decades);
  if (!(at < SN_PERCENTILE_BINS)) return SN_PERCENTILE_BINS - 1; // also NaN
  return at < 0 ? 0 : (int)at;
}

double sn_percentile(const uint64_t *bins, double part) {
  double count = 0, sum = 0;
  for (int b = 0; b < SN_PERCENTILE_BINS; b++) count += (double)bins[b];
  for (int b = 0; b < SN_PERCENTILE_BINS; b++) {
    sum += (double)bins[b];
    if (sum >= part * count) return sqrt(pow(10, (b + 0.5) * (decades / SN_PERCENTILE_BINS) + least));
  }
  return 0;
}
