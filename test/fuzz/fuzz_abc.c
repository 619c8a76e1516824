// SPDX-License-Identifier: MIT
// Any bytes as an Alembic archive: refused with a message, or a mesh whose triangles are in range and its frames.
#include "sinew/formats.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void use(sn_context *ctx, sn_abc *abc) {
  enum { most = 100000 }; // vertices: instances multiply them
  sn_mesh mesh;
  if (sn_abc_choose(ctx, abc, NULL, 0) != SN_OK || sn_abc_vertex_count(abc) > most) return;
  int last = sn_abc_frame_count(abc) - 1;
  double start = sn_abc_frame_time(abc, 0), end = sn_abc_frame_time(abc, last);
  if (sn_abc_mesh(ctx, abc, start, &mesh) != SN_OK) return;
  for (int t = 0; t < mesh.triangle_count; t++)
    for (int c = 0; c < 3; c++)
      if (mesh.triangles[t][c] < 0 || mesh.triangles[t][c] >= mesh.vertex_count) abort();
  sn_abc_positions(ctx, abc, end, mesh.positions);
  sn_abc_positions(ctx, abc, 0.5 * start + 0.5 * end, mesh.positions);
  sn_surface surface;
  if (sn_abc_surface(ctx, abc, start, &surface) == SN_OK) {
    for (int t = 0; t < mesh.triangle_count; t++)
      if (surface.materials[t] >= surface.material_count) abort();
    sn_surface_free(&surface);
  }
  if (sn_abc_rate(abc) < 0) abort();
  sn_abc_even(abc);
  sn_mesh_free(&mesh);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  sn_context ctx = sn_context_default();
  sn_abc *abc;
  if (sn_abc_parse(&ctx, "fuzz.abc", bytes, size, &abc) == SN_OK) {
    use(&ctx, abc);
  } else if (!ctx.error.message[0] || abc) {
    abort();
  }
  sn_abc_free(abc);
  return 0;
}
