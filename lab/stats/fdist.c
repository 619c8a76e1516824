// SPDX-License-Identifier: MIT
// The F distribution by the regularised incomplete beta function.
//
// I_x(a, b) is a continued fraction (Abramowitz and Stegun 26.5.8, evaluated as Lentz does) times x^a (1-x)^b / (a B(a, b)).
// The second factor as a quotient of gamma functions would lose five digits at the degrees of freedom of a mesh, so it is
// computed as a binomial probability is in Loader, "Fast and accurate computation of binomial probabilities" (2000): what
// is left of Stirling's formula, and deviances.
#include "lab/stats/stats.h"

#include <float.h>
#include <math.h>

// log Gamma(n + 1) less Stirling's formula.
static double stirling_rest(double n) {
  if (n < 16) {
    int sign;
    return lgamma_r(n + 1, &sign) - (n + 0.5) * log(n) + n - 0.91893853320467274178; // log sqrt(2 pi)
  }
  double m = 1 / (n * n);
  return (1. / 12 - m * (1. / 360 - m * (1. / 1260 - m * (1. / 1680 - m * (1. / 1188 - m * (691. / 360360)))))) / n;
}

// x log(x / m) + m - x, without cancellation where x is near m.
static double deviance(double x, double m) {
  double d = x - m, v = d / (x + m);
  if (fabs(v) > 0.1) return x * log(x / m) - d;
  double sum = d * v, power = 2 * x * v;
  for (int k = 1; k < 100; k++) {
    power *= v * v;
    double next = sum + power / (2 * k + 1);
    if (next == sum) break;
    sum = next;
  }
  return sum;
}

// x^a y^b / B(a, b) with y = 1 - x.
static double power_term(double x, double y, double a, double b) {
  double n = a + b;
  double exponent = stirling_rest(n) - stirling_rest(a) - stirling_rest(b) - deviance(a, n * x) - deviance(b, n * y);
  return sqrt(a * b / n / 6.28318530717958647693) * exp(exponent);
}

// 1 / (1 + d1 / (1 + d2 / (1 + ...))) of A&S 26.5.8, for x below (a + 1) / (a + b + 2).
static double beta_fraction(double x, double a, double b) {
  double c = 1, d = 1 - (a + b) * x / (a + 1), h;
  if (fabs(d) < DBL_MIN) d = DBL_MIN;
  d = 1 / d, h = d;
  double steps = 200 + 20 * sqrt(fmax(a, b));
  for (double m = 1; m < steps; m++) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d), c = 1 + even / c;
    h *= d * c;
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d), c = 1 + odd / c;
    h *= d * c;
    if (fabs(d * c - 1) < DBL_EPSILON) break;
  }
  return h;
}

// I_x(a, b) with y = 1 - x given apart, so that an x near 1 loses nothing.
static double incomplete_beta(double x, double y, double a, double b) {
  if (!(x >= 0 && y >= 0 && a > 0 && b > 0 && isfinite(a + b))) return NAN;
  if (x == 0) return 0;
  if (y == 0) return 1;
  if (x <= (a + 1) / (a + b + 2)) return power_term(x, y, a, b) * beta_fraction(x, a, b) / a;
  return 1 - power_term(x, y, a, b) * beta_fraction(y, b, a) / b;
}

double sn_beta_regularised(double x, double a, double b) { return incomplete_beta(x, 1 - x, a, b); }

// With r = d1 f / d2: P(F <= f) = I_{r/(1+r)}(d1/2, d2/2), P(F > f) = I_{1/(1+r)}(d2/2, d1/2).
double sn_f_lower(double f, double d1, double d2) {
  double r = d1 / d2 * f;
  return incomplete_beta(1 / (1 + 1 / r), 1 / (1 + r), d1 / 2, d2 / 2);
}

double sn_f_upper(double f, double d1, double d2) {
  double r = d1 / d2 * f;
  return incomplete_beta(1 / (1 + r), 1 / (1 + 1 / r), d2 / 2, d1 / 2);
}

// Bisection of log f: 64 halvings of the range of a double leave nothing to refine.
double sn_f_quantile(double p, double d1, double d2) {
  if (!(p > 0 && p < 1 && d1 > 0 && d2 > 0)) return NAN;
  double low = log(DBL_MIN), high = log(DBL_MAX);
  for (int k = 0; k < 64; k++) {
    double middle = low + (high - low) / 2, f = exp(middle);
    bool below = p <= 0.5 ? sn_f_upper(f, d1, d2) > p : sn_f_lower(f, d1, d2) < 1 - p;
    if (below) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return exp(low + (high - low) / 2);
}
