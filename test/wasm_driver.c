// SPDX-License-Identifier: MIT
// The runtime as a WebAssembly module, for test_wasm.sh: takes the bytes of a golden model, evaluates it with the input
// kept in it and returns the largest difference from the output kept in it.
#include <math.h>
#include <stdlib.h>

#include "sinew/runtime.h"

#define EXPORT(name) __attribute__((export_name(#name)))

EXPORT(reserve) void *reserve(size_t size);
EXPORT(largest_difference) float largest_difference(const void *bytes, size_t size, int path);
EXPORT(best_path) int best_path(const void *bytes, size_t size);

void *reserve(size_t size) { return aligned_alloc(64, (size + 63) / 64 * 64); }

int best_path(const void *bytes, size_t size) {
  sn_rt_model model;
  return sn_rt_open(bytes, size, &model, NULL) == SN_RT_OK ? (int)sn_rt_get_path(&model) : -1;
}

float largest_difference(const void *bytes, size_t size, int path) {
  sn_rt_model model;
  if (sn_rt_open(bytes, size, &model, NULL) != SN_RT_OK || !sn_rt_use_path(&model, (sn_rt_path)path)) return -1;
  const float *expected = sn_rt_find_section(&model, "test.positions", NULL);
  const float *expected_normals = sn_rt_find_section(&model, "test.normals", NULL);
  uint32_t count = model.info.vertex_count;
  float *positions = malloc(12 * (size_t)count), *normals = malloc(12 * (size_t)count), largest = 0;
  sn_rt_input input = {.joints = sn_rt_find_section(&model, "test.joints", NULL)};
  sn_rt_output output = {.positions = positions, .normals = normals};
  if (sn_rt_evaluate(&model, &input, malloc(sn_rt_scratch_size(&model)), &output, NULL) != SN_RT_OK) return -2;
  for (uint32_t n = 0; n < 3 * count; n++) {
    largest = fmaxf(largest, fabsf(positions[n] - expected[n]));
    largest = fmaxf(largest, 0.05f * fabsf(normals[n] - expected_normals[n]));
  }
  return largest;
}
