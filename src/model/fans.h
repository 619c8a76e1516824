// SPDX-License-Identifier: MIT
// The triangles around every vertex as rows of neighbours, from which the runtime computes normals (shade.fans).
#ifndef SINEW_MODEL_FANS_H
#define SINEW_MODEL_FANS_H

#include "model/sections.h"

typedef struct sn_fans {
  uint32_t vertex_count;
  size_t *start; // vertex i: neighbours[start[i] .. start[i + 1])
  uint32_t *neighbours;
} sn_fans;

// Smoothing groups, and groups of vertices at the same position; each entry is the first vertex of its group. NULL: no groups.
typedef struct sn_fan_groups {
  const int *class_of, *place_of;
} sn_fan_groups;

// Degenerate triangles (two corners at the same position) are skipped.
sn_status sn_fans_make(sn_context *ctx, sn_arena *memory, const sn_mesh *mesh, const sn_fan_groups *groups,
                       sn_fans *out);

// shade.start and shade.fans.
void sn_fans_add(sn_section_list *list, const sn_fans *fans);

#endif
