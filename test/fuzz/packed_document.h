// SPDX-License-Identifier: MIT
// A GLB of this JSON and these bytes, read and sampled: for the fuzz targets of compressed data.
#ifndef SINEW_FUZZ_PACKED_DOCUMENT_H
#define SINEW_FUZZ_PACKED_DOCUMENT_H

#include "sinew/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void put_u32(uint8_t *at, size_t value) {
  for (int k = 0; k < 4; k++) at[k] = (uint8_t)(value >> 8 * k & 255);
}

static inline void read_packed(const char *json, const uint8_t *bytes, size_t size) {
  size_t length = strlen(json), padded = (length + 3) / 4 * 4, bin = (size + 3) / 4 * 4, total = 28 + padded + bin;
  uint8_t *glb = calloc(1, total);
  if (!glb) return;
  memcpy(glb, "glTF\2\0\0", 8);
  put_u32(glb + 8, total), put_u32(glb + 12, padded);
  memcpy(glb + 16, "JSON", 4);
  memset(glb + 20, ' ', padded);
  memcpy(glb + 20, json, length);
  put_u32(glb + 20 + padded, bin);
  memcpy(glb + 24 + padded, "BIN", 4);
  memcpy(glb + 28 + padded, bytes, size);
  sn_context ctx = sn_context_default();
  ctx.threads = 1;
  sn_gltf *gltf;
  if (sn_gltf_parse(&ctx, "fuzz", glb, total, NULL, &gltf) == SN_OK) {
    sn_mesh mesh;
    if (sn_gltf_mesh(&ctx, gltf, &mesh) == SN_OK) sn_mesh_free(&mesh);
    sn_gltf_free(gltf);
  }
  free(glb);
}

#endif
