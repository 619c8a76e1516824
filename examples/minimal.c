// SPDX-License-Identifier: MIT
// Loads a model, bends its joints one after the other and prints how far the skin moves.
// Build: cc -Iinclude -Isrc examples/minimal.c src/runtime/*.c -lm -o minimal        Run: ./minimal MODEL.sinew
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinew/runtime.h"

static void *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void *bytes = malloc(*size + 1); // a memory map would do as well
  *size = fread(bytes, 1, *size, file);
  fclose(file);
  return bytes;
}

int main(int argc, char **argv) {
  size_t size = 0;
  if (argc != 2) return fprintf(stderr, "usage: minimal MODEL.sinew\n"), 2;
  void *bytes = read_file(argv[1], &size);
  if (!bytes) return fprintf(stderr, "%s: cannot read it\n", argv[1]), 1;

  sn_rt_model model; // points into bytes: free them after the last use
  sn_rt_error error;
  if (sn_rt_open(bytes, size, &model, &error)) return fprintf(stderr, "%s: %s\n", argv[1], error.message), 1;
  const sn_rt_info *info = sn_rt_get_info(&model);
  printf("%u vertices, %u joints, %s blend, %s kernels\n", info->vertex_count, info->joint_count,
         sn_rt_blend_name(info->blend), sn_rt_path_name(sn_rt_get_path(&model)));

  float(*joints)[12] = malloc((info->joint_count + 1) * sizeof *joints);
  float *rest = malloc(12 * (size_t)info->vertex_count + 1), *posed = malloc(12 * (size_t)info->vertex_count + 1);
  size_t room = sn_rt_scratch_size(&model);
  void *scratch = malloc(room);
  sn_rt_input input = {.joints = (const float(*)[12])joints, .joint_count = info->joint_count, .scratch_size = room};
  for (int bent = -1; bent < (int)info->joint_count; bent++) { // -1: the rest pose
    for (uint32_t j = 0; j < info->joint_count; j++) {
      float angle = (int)j == bent ? 0.5f : 0, c = cosf(angle), s = sinf(angle);
      float turned[12] = {c, -s, 0, 0, s, c, 0, 0, 0, 0, 1, 0}; // about z, through the origin
      memcpy(joints[j], turned, sizeof turned);
    }
    sn_rt_output output = {.positions = bent < 0 ? rest : posed};
    if (sn_rt_evaluate(&model, &input, scratch, &output, &error)) return fprintf(stderr, "%s\n", error.message), 1;
    float farthest = 0;
    for (uint32_t n = 0; bent >= 0 && n < 3 * info->vertex_count; n++)
      farthest = fmaxf(farthest, fabsf(posed[n] - rest[n]));
    if (bent >= 0)
      printf("joint %s bent: vertices move by up to %.3f\n", sn_rt_joint_name(&model, (uint32_t)bent), farthest);
  }
  free(joints), free(rest), free(posed), free(scratch), free(bytes);
  return 0;
}
