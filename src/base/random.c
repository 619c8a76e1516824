// SPDX-License-Identifier: MIT
// SplitMix64: every seed is valid, the state is one number.
#include "sinew/base.h"

#include <math.h>

sn_random sn_random_new(uint64_t seed) { return (sn_random){seed}; }

uint64_t sn_random_next(sn_random *rng) {
  uint64_t z = (rng->state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

double sn_random_uniform(sn_random *rng) { return (double)(sn_random_next(rng) >> 11) * 0x1p-53; }

double sn_random_normal(sn_random *rng) {
  double u = 1.0 - sn_random_uniform(rng), v = sn_random_uniform(rng);
  return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

int sn_random_below(sn_random *rng, int n) { return (int)(sn_random_next(rng) % (uint64_t)n); }
