// SPDX-License-Identifier: MIT
// The native runtime on an input from elsewhere: view_native MODEL.sinew INPUT OUTPUT. INPUT holds the floats of the
// joints, control points and torques; OUTPUT gets positions and then normals. Used by view_test.mjs.
#include <stdio.h>
#include <stdlib.h>

#include "sinew/runtime.h"

static void *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) return NULL;
  *size = (size_t)ftell(file);
  rewind(file);
  void *bytes = aligned_alloc(64, (*size + 127) / 64 * 64);
  if (bytes && fread(bytes, 1, *size, file) != *size) bytes = NULL;
  fclose(file);
  return bytes;
}

int main(int argc, char **argv) {
  size_t size, input_size;
  void *bytes = argc == 4 ? read_file(argv[1], &size) : NULL;
  float *values = argc == 4 ? read_file(argv[2], &input_size) : NULL;
  sn_rt_model model;
  sn_rt_error error;
  if (!bytes || !values) return fprintf(stderr, "usage: view_native MODEL.sinew INPUT OUTPUT\n"), 2;
  if (sn_rt_open(bytes, size, &model, &error) != SN_RT_OK) return fprintf(stderr, "%s\n", error.message), 1;
  const sn_rt_info *info = sn_rt_get_info(&model);
  size_t joints = 12 * (size_t)info->joint_count, controls = 3 * (size_t)info->control_count;
  if (input_size != (joints + controls + info->torque_count + info->value_count) * sizeof *values) {
    return fprintf(stderr, "the input has a wrong size\n"), 1;
  }
  sn_rt_input input = {.joints = (const float(*)[12])values,
                       .controls = (const float(*)[3])(values + joints),
                       .torques = values + joints + controls,
                       .values = values + joints + controls + info->torque_count};
  size_t count = 3 * (size_t)info->vertex_count;
  float *out = malloc(2 * count * sizeof *out);
  void *scratch = malloc(sn_rt_scratch_size(&model));
  if (!out || !scratch) return fprintf(stderr, "out of memory\n"), 1;
  sn_rt_output output = {.positions = out, .normals = out + count};
  if (sn_rt_evaluate(&model, &input, scratch, &output, &error) != SN_RT_OK) {
    return fprintf(stderr, "%s\n", error.message), 1;
  }
  FILE *file = fopen(argv[3], "wb");
  if (!file || fwrite(out, sizeof *out, 2 * count, file) != 2 * count || fclose(file) != 0) return 1;
  free(out);
  free(scratch);
  free(values);
  free(bytes);
  return 0;
}
