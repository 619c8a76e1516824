// SPDX-License-Identifier: MIT
// Vertices that an exporter split at seams become one again.
#include "sinew/scene.h"

#include <string.h>

static uint64_t hash_position(const float p[3]) {
  uint64_t hash = 1469598103934665603u;
  for (int c = 0; c < 3; c++) {
    float x = p[c] + 0.0f; // -0 and 0 are the same place
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    hash = (hash ^ bits) * 1099511628211u;
    hash ^= hash >> 29;
  }
  return hash;
}

static bool same_place(const float a[3], const float b[3]) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2]; }

static bool same_row(const sn_skin *skin, int a, int b) {
  if (!skin) return true;
  size_t k = (size_t)skin->influences;
  return memcmp(skin->joints + (size_t)a * k, skin->joints + (size_t)b * k, k * sizeof *skin->joints) == 0 &&
         memcmp(skin->weights + (size_t)a * k, skin->weights + (size_t)b * k, k * sizeof *skin->weights) == 0;
}

sn_status sn_mesh_weld(sn_context *ctx, const sn_mesh *mesh, const sn_skin *weights, sn_arena *memory, int **class_of,
                       int *welded_count) {
  size_t n = (size_t)mesh->vertex_count, slots = 16;
  while (slots < 2 * n) slots *= 2;
  sn_arena scratch = sn_arena_new(ctx);
  int *result = SN_NEW(ctx, memory, int, n), *table = SN_NEW(ctx, &scratch, int, slots); // vertex + 1, 0 free
  sn_status status = result && table ? SN_OK : ctx->error.status;
  int count = 0;
  for (int i = 0; status == SN_OK && i < mesh->vertex_count; i++) {
    size_t slot = hash_position(mesh->positions[i]) & (slots - 1);
    while (table[slot]) {
      int other = table[slot] - 1;
      if (same_place(mesh->positions[i], mesh->positions[other]) && same_row(weights, i, other)) break;
      slot = (slot + 1) & (slots - 1);
    }
    if (table[slot]) {
      result[i] = result[table[slot] - 1];
    } else {
      table[slot] = i + 1;
      result[i] = count++;
    }
  }
  sn_arena_free(&scratch);
  *class_of = result, *welded_count = count;
  return status;
}
