// SPDX-License-Identifier: MIT
// Delta mush: a deformed mesh is smoothed, and the details of the rest mesh are put back in frames that rotate with it.
#include <string.h>
#include "lab/gen/figure.h"

// Each round puts a vertex half way to the middle of its neighbours; the result is in `smooth`.
static void smooth(sn_mush *mush, const float (*positions)[3]) {
  const sn_topology *topology = &mush->topology;
  for (int i = 0; i < topology->vertex_count; i++) mush->smooth[i] = sn_vec3_from(positions[i]);
  for (int round = 0; round < mush->rounds; round++) {
    for (int i = 0; i < topology->vertex_count; i++) {
      int begin = topology->ring_start[i], end = topology->ring_start[i + 1];
      sn_vec3 sum = sn_xyz(0, 0, 0);
      for (int k = begin; k < end; k++) sum = sn_vec3_add(sum, mush->smooth[topology->ring[k]]);
      mush->next[i] =
        end > begin ? sn_vec3_lerp(mush->smooth[i], sn_vec3_scale(sum, 1.0 / (end - begin)), 0.5) : mush->smooth[i];
    }
    sn_vec3 *swap = mush->smooth;
    mush->smooth = mush->next, mush->next = swap;
  }
}

// The normal, and the direction to the first neighbour made square to it.
static sn_mat3 frame_at(const sn_mush *mush, const sn_mesh *rest, int i) {
  const sn_topology *topology = &mush->topology;
  sn_vec3 normal = sn_xyz(0, 0, 0), p = mush->smooth[i];
  for (int k = topology->face_start[i]; k < topology->face_start[i + 1]; k++) {
    const int *c = rest->triangles[topology->faces[k]];
    normal = sn_vec3_add(normal, sn_vec3_cross(sn_vec3_sub(mush->smooth[c[1]], mush->smooth[c[0]]),
                                               sn_vec3_sub(mush->smooth[c[2]], mush->smooth[c[0]])));
  }
  normal = sn_vec3_normalize(normal, sn_xyz(0, 0, 1));
  int first = topology->ring_start[i];
  sn_vec3 side = first < topology->ring_start[i + 1] ? sn_vec3_sub(mush->smooth[topology->ring[first]], p)
                                                     : sn_vec3_perpendicular(normal);
  side = sn_vec3_normalize(sn_vec3_mad(side, normal, -sn_vec3_dot(side, normal)), sn_vec3_perpendicular(normal));
  return sn_mat3_columns(side, sn_vec3_cross(normal, side), normal);
}

sn_status sn_mush_new(sn_context *ctx, const sn_mesh *rest, int rounds, sn_mush *out) {
  *out = (sn_mush){.rounds = rounds, .memory = sn_arena_new(ctx)};
  int n = rest->vertex_count;
  out->details = SN_NEW(ctx, &out->memory, sn_vec3, n);
  out->smooth = SN_NEW(ctx, &out->memory, sn_vec3, n);
  out->next = SN_NEW(ctx, &out->memory, sn_vec3, n);
  sn_status status =
    out->details && out->smooth && out->next ? sn_topology_build(ctx, rest, &out->topology) : ctx->error.status;
  if (status != SN_OK) {
    sn_mush_free(out);
    return status;
  }
  smooth(out, (const float(*)[3])rest->positions);
  for (int i = 0; i < n; i++) {
    sn_vec3 detail = sn_vec3_sub(sn_vec3_from(rest->positions[i]), out->smooth[i]);
    out->details[i] = sn_mat3_apply(sn_mat3_transpose(frame_at(out, rest, i)), detail);
  }
  return SN_OK;
}

void sn_mush_apply(sn_mush *mush, const sn_mesh *rest, float (*positions)[3]) {
  smooth(mush, (const float(*)[3])positions);
  for (int i = 0; i < mush->topology.vertex_count; i++) {
    sn_vec3 detail = sn_mat3_apply(frame_at(mush, rest, i), mush->details[i]);
    sn_vec3_store(sn_vec3_add(mush->smooth[i], detail), positions[i]);
  }
}

void sn_mush_free(sn_mush *mush) {
  sn_topology_free(&mush->topology);
  sn_arena_free(&mush->memory);
  *mush = (sn_mush){0};
}
