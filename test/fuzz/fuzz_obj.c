// SPDX-License-Identifier: MIT
// Any bytes as an OBJ file: refused with a message, or a mesh that passes its check.
#include "sinew/io.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  sn_context ctx = sn_context_default();
  sn_mesh mesh;
  if (sn_obj_parse(&ctx, "fuzz.obj", (const char *)bytes, size, &mesh) == SN_OK) {
    if (sn_mesh_check(&ctx, &mesh) != SN_OK) abort();
  } else if (!ctx.error.message[0] || mesh.positions) {
    abort();
  }
  sn_mesh_free(&mesh);
  return 0;
}
