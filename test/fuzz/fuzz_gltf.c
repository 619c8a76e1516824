// SPDX-License-Identifier: MIT
// Reads any bytes as glTF; what is accepted is flattened, posed, deformed and written back.
#include "sinew/io.h"

#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void sample(sn_context *ctx, const sn_gltf *gltf, const sn_mesh *mesh) {
  float(*positions)[3] = calloc((size_t)mesh->vertex_count + 1, sizeof *positions);
  for (int clip = -1; positions && clip < sn_gltf_clip_count(gltf) && clip < 4; clip++) {
    sn_clip_info info = sn_gltf_clip(gltf, clip);
    for (int k = 0; k < 4; k++) {
      sn_gltf_deform(ctx, gltf, clip, info.start + (info.end - info.start) * (k - 0.5) / 2, positions);
    }
  }
  free(positions);
}

static void rewrite(sn_context *ctx, const sn_gltf *gltf, const sn_skeleton *skeleton, const sn_skin *skin) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/fuzz_gltf_%d.glb", (int)getpid());
  sn_gltf_out out = {
    .base = gltf, .skeleton = skin->vertex_count > 0 ? skeleton : NULL, .skin = skin->vertex_count > 0 ? skin : NULL};
  if (sn_gltf_write(ctx, path, &out) == SN_OK) {
    sn_gltf *again;
    if (sn_gltf_read(ctx, path, &again) == SN_OK) sn_gltf_free(again);
    unlink(path);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  sn_context ctx = sn_context_default();
  ctx.threads = 1;
  sn_gltf *gltf;
  if (sn_gltf_parse(&ctx, "fuzz", bytes, size, NULL, &gltf) != SN_OK) return 0;
  sn_mesh mesh = {0};
  sn_skeleton skeleton = {0};
  sn_skin skin = {0};
  sn_poses poses = {0};
  if (sn_gltf_mesh(&ctx, gltf, &mesh, NULL, NULL, NULL) == SN_OK && mesh.vertex_count < 100000) {
    sample(&ctx, gltf, &mesh);
  }
  if (sn_gltf_skeleton(&ctx, gltf, &skeleton, &skin) == SN_OK) {
    int clip = 0;
    if (sn_gltf_find_clip(&ctx, gltf, NULL, &clip) == SN_OK) sn_gltf_poses(&ctx, gltf, clip, 30, 3, &poses);
  }
  if (mesh.vertex_count < 100000) rewrite(&ctx, gltf, &skeleton, &skin);
  sn_poses_free(&poses);
  sn_skin_free(&skin);
  sn_skeleton_free(&skeleton);
  sn_mesh_free(&mesh);
  sn_gltf_free(gltf);
  return 0;
}
