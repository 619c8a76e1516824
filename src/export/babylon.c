// SPDX-License-Identifier: MIT
// The driver table as a graph of KHR_interactivity.
#include "export/export.h"

json_t *sn_babylon_graph(const sn_table *table, const int *nodes) {
  (void)table, (void)nodes;
  return json_object();
}
