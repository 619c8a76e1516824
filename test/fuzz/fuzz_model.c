// SPDX-License-Identifier: MIT
// Opens arbitrary bytes as a model, with the checksums made right so that the checks behind them are reached, and
// evaluates what opens.
#include <stdlib.h>
#include <string.h>

#include "sinew/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *bytes = malloc(size ? size : 1);
  if (size) memcpy(bytes, data, size);
  uint64_t file_size = size;
  if (size > 24) memcpy(bytes + 16, &file_size, 8);
  sn_rt_model model;
  sn_rt_error error;
  if (!sn_model_seal(bytes, size) || sn_rt_open(bytes, size, &model, &error) != SN_RT_OK) {
    free(bytes);
    return 0;
  }
  size_t vertices = model.info.vertex_count, joints = model.info.joint_count;
  float *matrices = calloc(joints + 1, 48), *positions = malloc(12 * vertices + 1),
        *normals = malloc(12 * vertices + 1);
  float *controls = calloc(3 * (size_t)model.info.control_count + 1, 4), *torques = calloc(joints + 1, 4);
  void *scratch = malloc(sn_rt_scratch_size(&model));
  for (size_t j = 0; j < joints; j++)
    matrices[12 * j] = matrices[12 * j + 5] = matrices[12 * j + 10] = 1 + (float)(j % 3), torques[j] = (float)j;
  sn_rt_input input = {
    .joints = (const float(*)[12])matrices, .controls = (const float(*)[3])controls, .torques = torques};
  sn_rt_output output = {.positions = positions, .normals = normals};
  for (int path = SN_RT_PATH_SCALAR; path <= SN_RT_PATH_AVX2; path++) {
    if (!sn_rt_use_path(&model, (sn_rt_path)path)) continue;
    if (sn_rt_evaluate(&model, &input, scratch, &output, &error) != SN_RT_OK) abort();
    if (sn_rt_skin(&model, scratch, &output, (uint32_t)vertices / 3, (uint32_t)vertices / 2, &error) != SN_RT_OK)
      abort();
  }
  float range[2];
  for (uint32_t j = 0; j < joints; j++)
    sn_rt_find_joint(&model, "x"), sn_rt_joint_parent(&model, j), sn_rt_torque_range(&model, j, range);
  for (uint32_t s = 0; s < model.info.section_count; s++) sn_rt_get_section(&model, s);
  free(matrices), free(positions), free(normals), free(controls), free(torques), free(scratch), free(bytes);
  return 0;
}
