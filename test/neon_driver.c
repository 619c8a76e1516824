// SPDX-License-Identifier: MIT
// Evaluates models with the scalar path and the best one that this machine has, and tells how far they are apart:
// neon_driver PATH MODEL... fails where PATH is not the best, or where they differ by more than 1e-5 of the model's size.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinew/runtime.h"

static void *load(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) return NULL;
  *size = (size_t)ftell(file);
  rewind(file);
  void *bytes = aligned_alloc(64, (*size + 63) / 64 * 64);
  if (bytes && fread(bytes, 1, *size, file) != *size) bytes = NULL;
  fclose(file);
  return bytes;
}

static void evaluate(sn_rt_model *model, sn_rt_path path, float *positions, float *normals, float *tangents) {
  size_t joints = model->info.joint_count;
  float *matrices = calloc(joints + 1, 48), *controls = calloc(model->info.control_count + 1, 12);
  float *torques = calloc(joints + 1, 4);
  void *scratch = malloc(sn_rt_scratch_size(model));
  for (size_t j = 0; j < joints; j++) {
    float angle = 0.1f * (float)(j + 1), *m = matrices + 12 * j;
    m[0] = m[5] = cosf(angle), m[1] = -sinf(angle), m[4] = sinf(angle), m[10] = 1, m[3] = 0.01f * (float)j;
  }
  sn_rt_input input = {
    .joints = (const float(*)[12])matrices, .controls = (const float(*)[3])controls, .torques = torques};
  sn_rt_output output = {.positions = positions, .normals = normals};
  sn_rt_use_path(model, path);
  if (sn_rt_evaluate(model, &input, scratch, &output, NULL) != SN_RT_OK) exit(2);
  sn_rt_tangent_output more = {.tangents = tangents, .normals = normals};
  if (model->info.tangents && sn_rt_tangents(model, scratch, &more, 0, model->info.vertex_count, NULL) != SN_RT_OK)
    exit(2);
  free(matrices), free(controls), free(torques), free(scratch);
}

static float apart(const float *a, const float *b, size_t count) {
  float most = 0;
  for (size_t n = 0; n < count; n++) most = fmaxf(most, fabsf(a[n] - b[n]));
  return most;
}

int main(int argc, char **argv) {
  int failed = 0;
  for (int n = 2; n < argc; n++) {
    size_t size;
    void *bytes = load(argv[n], &size);
    sn_rt_model model;
    sn_rt_error error;
    if (!bytes || sn_rt_open(bytes, size, &model, &error) != SN_RT_OK)
      return printf("%s does not open\n", argv[n]), 1;
    if (strcmp(sn_rt_path_name(model.path), argv[1]))
      return printf("the best path is %s\n", sn_rt_path_name(model.path)), 1;
    size_t count = 3 * (size_t)model.info.vertex_count;
    float *out[6], most = 0;
    for (int k = 0; k < 6; k++) out[k] = calloc(2 * count, sizeof(float));
    evaluate(&model, SN_RT_PATH_SCALAR, out[0], out[1], out[4]);
    evaluate(&model, SN_RT_PATH_BEST, out[2], out[3], out[5]);
    for (size_t k = 0; k < count; k++) most = fmaxf(most, fabsf(out[0][k]));
    float positions = apart(out[0], out[2], count) / most, normals = apart(out[1], out[3], count);
    float tangents = apart(out[4], out[5], 2 * count);
    printf("%s: positions %.1e of the size, normals %.1e, tangents %.1e\n", argv[n], (double)positions,
           (double)normals, (double)tangents);
    failed |= !(positions <= 1e-5f) || !(normals <= 2e-3f) || !(tangents <= 2e-3f);
    for (int k = 0; k < 6; k++) free(out[k]);
    free(bytes);
  }
  return failed;
}
