// SPDX-License-Identifier: MIT
// Crowds on the GPU: bench_cuda CHARACTERS MODEL.sinew... One row per model: time, bytes that must move, and their share of
// a copy's speed in the same run; the first model is what the others are compared with.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "sinew/cuda.h"

int main(int count, char **arguments) {
  if (count < 3) return fprintf(stderr, "usage: bench_cuda CHARACTERS MODEL.sinew...\n"), 2;
  uint32_t characters = (uint32_t)strtoul(arguments[1], NULL, 10);
  double first = 0;
  printf("| model | vertices | characters | ms | x first | bytes | copy TB/s | share |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (int k = 2; k < count; k++) {
    FILE *file = fopen(arguments[k], "rb");
    if (!file) return fprintf(stderr, "%s cannot be read\n", arguments[k]), 1;
    std::vector<uint64_t> bytes(1 << 24);
    size_t size = fread(bytes.data(), 1, bytes.size() * 8, file);
    fclose(file);
    sn_rt_model model;
    sn_rt_error wrong;
    if (sn_rt_open(bytes.data(), size, &model, &wrong)) return fprintf(stderr, "%s: %s\n", arguments[k], wrong.message), 1;
    sn_cuda_timing t;
    sn_cuda_error error = {};
    const char *name = strrchr(arguments[k], '/') ? strrchr(arguments[k], '/') + 1 : arguments[k];
    if (sn_cuda_time(&model, characters, 0.5, &t, &error) != SN_CUDA_OK) {
      printf("| %s | %u | %u | %s |\n", name, sn_rt_get_info(&model)->vertex_count, characters, error.message);
      continue;
    }
    if (first == 0) first = t.evaluate;
    printf("| %s | %u | %u | %.4g | %.2f | %.3g | %.2f | %.0f %% |\n", name, sn_rt_get_info(&model)->vertex_count, characters,
           t.evaluate, t.evaluate / first, t.bytes, 1e-12 * t.copy_per_second, 100 * t.share);
  }
  return 0;
}
