// SPDX-License-Identifier: MIT
// Reads any bytes as FBX, binary or text; what is accepted is flattened, posed, deformed and copied to a .glb.
#include "sinew/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void sample(sn_context *ctx, const sn_gltf *gltf, int vertex_count) {
  float(*positions)[3] = calloc((size_t)vertex_count + 1, sizeof *positions);
  for (int clip = -1; positions && clip < sn_gltf_clip_count(gltf) && clip < 3; clip++) {
    sn_clip_info info = sn_gltf_clip(gltf, clip);
    for (int k = 0; k < 3; k++)
      sn_gltf_deform(ctx, gltf, clip, info.start + (info.end - info.start) * k / 2, positions);
  }
  free(positions);
}

static void copy(sn_context *ctx, const sn_gltf *gltf) {
  char path[64];
  snprintf(path, sizeof path, "%s/fuzz_fbx_%d.glb", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
           (int)getpid());
  if (sn_gltf_write(ctx, path, &(sn_gltf_out){.base = gltf}) != SN_OK) return;
  sn_gltf *again;
  if (sn_gltf_read(ctx, path, &again) == SN_OK) sn_gltf_free(again);
  unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  sn_context ctx = sn_context_default();
  ctx.threads = 1;
  sn_gltf *gltf;
  sn_mesh mesh = {0};
  sn_surface surface = {0};
  sn_skeleton skeleton = {0};
  sn_skin skin = {0};
  sn_poses poses = {0};
  if (sn_fbx_parse(&ctx, "fuzz.fbx", bytes, size, &gltf) != SN_OK) return 0;
  if (sn_gltf_mesh(&ctx, gltf, &mesh) == SN_OK && mesh.vertex_count < 100000) sample(&ctx, gltf, mesh.vertex_count);
  sn_look look;
  sn_gltf_look(&ctx, gltf, &look);
  sn_look_free(&look);
  if (mesh.vertex_count < 100000) copy(&ctx, gltf);
  if (sn_gltf_surface(&ctx, gltf, &surface) == SN_OK) sn_surface_free(&surface);
  if (sn_gltf_skeleton(&ctx, gltf, &skeleton, &skin) == SN_OK && sn_gltf_clip_count(gltf) > 0)
    sn_gltf_poses(&ctx, gltf, 0, &(sn_choice){.fps = 30}, 3, &poses);
  sn_poses_free(&poses);
  sn_skin_free(&skin);
  sn_skeleton_free(&skeleton);
  sn_mesh_free(&mesh);
  sn_gltf_free(gltf);
  return 0;
}
