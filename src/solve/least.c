// SPDX-License-Identifier: MIT
// The few items of least cost, one after the other.
#include "solve/solve.h"

int sn_least_enter(int most, int count, double cost, int item, double *costs, int *items) {
  int at = count < most ? count++ : most;
  for (; at > 0 && cost < costs[at - 1]; at--)
    if (at < most) costs[at] = costs[at - 1], items[at] = items[at - 1];
  if (at < most) costs[at] = cost, items[at] = item;
  return count;
}
