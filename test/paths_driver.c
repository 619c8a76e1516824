// SPDX-License-Identifier: MIT
// Compares the scalar path with every other one of this build and machine: paths_driver PATH MODEL... fails where PATH (`any`:
// whatever it is) is not the best, where paths differ by more than 1e-5 of the model's size, or from positions kept in the model.
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
  void *bytes = malloc(*size);
  if (bytes && fread(bytes, 1, *size, file) != *size) bytes = NULL;
  fclose(file);
  return bytes;
}

typedef struct result {
  float *positions, *normals, *tangents;
} result;

static result evaluate(const sn_rt_model *model) {
  size_t joints = model->info.joint_count, vertices = model->info.vertex_count;
  result r = {calloc(vertices + 1, 12), calloc(vertices + 1, 12), calloc(vertices + 1, 16)};
  float *matrices = calloc(joints + 1, 48), *controls = calloc(model->info.control_count + 1, 12);
  float *torques = calloc(joints + 1, 4);
  void *scratch = malloc(sn_rt_scratch_size(model));
  const float *kept = sn_rt_find_section(model, "test.joints", NULL);
  for (size_t j = 0; j < joints; j++) {
    float angle = 0.1f * (float)(j + 1), *m = matrices + 12 * j;
    m[0] = m[5] = cosf(angle), m[1] = -sinf(angle), m[4] = sinf(angle), m[10] = 1, m[3] = 0.01f * (float)j;
  }
  if (kept) memcpy(matrices, kept, 48 * joints);
  sn_rt_input input = {
    .joints = (const float(*)[12])matrices, .controls = (const float(*)[3])controls, .torques = torques};
  sn_rt_output output = {.positions = r.positions, .normals = r.normals};
  if (model->info.tangents) output.tangents = r.tangents;
  if (sn_rt_evaluate(model, &input, scratch, &output, NULL) != SN_RT_OK) exit(2);
  free(matrices), free(controls), free(torques), free(scratch);
  return r;
}

static float apart(const float *a, const float *b, size_t count) {
  float most = 0;
  for (size_t n = 0; n < count; n++) most = fmaxf(most, fabsf(a[n] - b[n]));
  return most;
}

static void free_result(result r) { free(r.positions), free(r.normals), free(r.tangents); }

// Whether the model's path agrees with the scalar one.
static int agrees(const sn_rt_model *model, const result *scalar, const char *name) {
  size_t count = 3 * (size_t)model->info.vertex_count;
  const float *kept = sn_rt_find_section(model, "test.positions", NULL);
  result r = evaluate(model);
  float size = 0;
  for (size_t k = 0; k < count; k++) size = fmaxf(size, fabsf(scalar->positions[k]));
  float positions = apart(scalar->positions, r.positions, count) / size;
  float normals = apart(scalar->normals, r.normals, count);
  float tangents = apart(scalar->tangents, r.tangents, count / 3 * 4);
  float before = kept ? apart(kept, r.positions, count) / size : 0;
  printf("%s, %s: positions %.1e of the size, normals %.1e, tangents %.1e, from the kept positions %.1e\n", name,
         sn_rt_path_name(sn_rt_get_path(model)), (double)positions, (double)normals, (double)tangents,
         (double)before);
  free_result(r);
  return positions <= 1e-5f && normals <= 2e-3f && tangents <= 2e-3f && before <= 1e-5f;
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
    if (strcmp(argv[1], "any") && strcmp(sn_rt_path_name(sn_rt_get_path(&model)), argv[1]))
      return printf("the best path is %s\n", sn_rt_path_name(sn_rt_get_path(&model))), 1;
    sn_rt_use_path(&model, SN_RT_PATH_SCALAR);
    result scalar = evaluate(&model);
    for (int path = SN_RT_PATH_SCALAR; path < SN_RT_PATH_COUNT; path++)
      if (sn_rt_use_path(&model, (sn_rt_path)path)) failed |= !agrees(&model, &scalar, argv[n]);
    free_result(scalar), free(bytes);
  }
  return failed;
}
