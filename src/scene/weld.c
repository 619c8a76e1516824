// SPDX-License-Identifier: MIT
// Welds vertices that an exporter split at seams, but not vertices that only touch in the rest pose.
#include "base/scope.h"
#include "sinew/scene.h"

#include <string.h>

static uint64_t hash_position(const float p[3]) {
  const float place[3] = {p[0] + 0.0f, p[1] + 0.0f, p[2] + 0.0f}; // -0 and 0 are the same
  return sn_hash(SN_HASH_START, place, sizeof place);
}

static bool same_place(const float a[3], const float b[3]) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2]; }

static bool same_row(const sn_skin *skin, int a, int b) {
  if (!skin) return true;
  size_t k = (size_t)skin->influences;
  return memcmp(skin->joints + (size_t)a * k, skin->joints + (size_t)b * k, k * sizeof *skin->joints) == 0 &&
         memcmp(skin->weights + (size_t)a * k, skin->weights + (size_t)b * k, k * sizeof *skin->weights) == 0;
}

// Whether two vertices have the same position in every frame, up to rounding.
static bool same_motion(const sn_frames *frames, double limit, int a, int b) {
  for (int f = 0; frames && f < frames->frame_count; f++) {
    const float(*p)[3] = sn_frame(frames, f);
    if (!(sn_vec3_distance(sn_vec3_from(p[a]), sn_vec3_from(p[b])) <= limit)) return false;
  }
  return true;
}

int *sn_mesh_weld(sn_context *ctx, const sn_mesh *mesh, const sn_skin *weights, const sn_frames *frames,
                  sn_arena *memory, int *welded_count) {
  enum { most_tries = 256 }; // maximum comparisons with vertices at the same position that move differently
  size_t n = (size_t)mesh->vertex_count, slots = 16;
  while (slots < 2 * n) slots *= 2;
  SN_SCRATCH(scratch, ctx);
  int *result = SN_NEW(ctx, memory, int, n), *table = SN_NEW(ctx, &scratch, int, slots); // vertex + 1, 0 free
  double limit = 1e-6 * sn_mesh_diagonal(mesh);
  int count = 0;
  for (int i = 0; result && table && i < mesh->vertex_count; i++) {
    size_t slot = hash_position(mesh->positions[i]) & (slots - 1);
    bool found = false;
    for (int tries = 0; table[slot]; slot = (slot + 1) & (slots - 1)) {
      int other = table[slot] - 1;
      if (!same_place(mesh->positions[i], mesh->positions[other]) || tries++ == most_tries) continue;
      found = same_row(weights, i, other) && same_motion(frames, limit, i, other);
      if (found) break;
    }
    if (!found) table[slot] = i + 1;
    result[i] = found ? result[table[slot] - 1] : count++;
  }
  *welded_count = count;
  return table ? result : NULL;
}
