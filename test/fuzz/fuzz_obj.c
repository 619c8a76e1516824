// SPDX-License-Identifier: MIT
// Any bytes as an OBJ file: refused with a message, or a mesh that passes its check.
#include "sinew/formats.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  sn_context ctx = sn_context_default();
  sn_mesh mesh;
  sn_surface surface;
  if (sn_obj_parse(&ctx, "fuzz.obj", (const char *)bytes, size, &mesh, &surface) == SN_OK) {
    if (sn_mesh_check(&ctx, &mesh) != SN_OK) abort();
    volatile float sum = 0;
    for (int c = 0; surface.has_uvs && c < 3 * mesh.triangle_count; c++) sum += surface.uvs[c][0] + surface.uvs[c][1];
  } else if (!ctx.error.message[0] || mesh.positions) {
    abort();
  }
  sn_mesh_free(&mesh);
  sn_surface_free(&surface);
  return 0;
}
