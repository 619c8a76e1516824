// SPDX-License-Identifier: MIT
// What the page calls: the runtime, with handles instead of structs, and a model's rest pose and weights in vertex order.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/format.h"
#include "sinew/runtime.h"

#define EXPORT(name) __attribute__((export_name(#name), used))

typedef struct web_model {
  sn_rt_model model;
  sn_rt_error error;
  void *scratch, *state; // state: see sw_begin_motion
  float *values;         // named values, which the page writes in place
} web_model;

// 64-byte aligned; 0 where memory has run out.
EXPORT(sw_alloc) void *sw_alloc(size_t size) { return aligned_alloc(64, (size + 127) / 64 * 64); }
EXPORT(sw_free) void sw_free(void *memory) { free(memory); }

// A handle, or 0 where memory has run out. sw_error tells whether the bytes are a model.
EXPORT(sw_open) web_model *sw_open(const void *bytes, size_t size) {
  web_model *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  if (sn_rt_open(bytes, size, &m->model, &m->error) != SN_RT_OK) return m;
  m->scratch = sw_alloc(sn_rt_scratch_size(&m->model));
  m->values = calloc(m->model.info.value_count + 1, sizeof *m->values);
  if (m->scratch && m->values) return m;
  free(m->scratch), free(m->values);
  free(m);
  return NULL;
}

EXPORT(sw_close) void sw_close(web_model *m) {
  free(m->scratch);
  free(m->state), free(m->values);
  free(m);
}

// The last complaint; NULL where there was none.
EXPORT(sw_error) const char *sw_error(const web_model *m) {
  return m->error.status == SN_RT_OK ? NULL : m->error.message;
}

// The order of the values is that of `infoNames` in runtime.js.
EXPORT(sw_info) void sw_info(const web_model *m, uint32_t *out) {
  const sn_rt_info *info = sn_rt_get_info(&m->model);
  const uint32_t values[] = {
    info->drive,          info->correct,         info->blend,        info->shade,         info->vertex_count,
    info->joint_count,    info->control_count,   info->torque_count, info->palette_count, info->triangle_count,
    info->max_influences, (uint32_t)info->bytes, info->weight_bits,  info->value_count,   info->tangents,
  };
  memcpy(out, values, sizeof values);
}

EXPORT(sw_drive_name) const char *sw_drive_name(const web_model *m) { return sn_rt_drive_name(m->model.info.drive); }
EXPORT(sw_correct_name) const char *sw_correct_name(const web_model *m) {
  return sn_rt_correct_name(m->model.info.correct);
}
EXPORT(sw_blend_name) const char *sw_blend_name(const web_model *m) { return sn_rt_blend_name(m->model.info.blend); }
EXPORT(sw_path_name) const char *sw_path_name(const web_model *m) {
  return sn_rt_path_name(sn_rt_get_path(&m->model));
}
EXPORT(sw_joint_name) const char *sw_joint_name(const web_model *m, uint32_t joint) {
  return sn_rt_joint_name(&m->model, joint);
}
EXPORT(sw_joint_parent) int32_t sw_joint_parent(const web_model *m, uint32_t joint) {
  return sn_rt_joint_parent(&m->model, joint);
}

// As sn_rt_bind.
EXPORT(sw_bind) int sw_bind(web_model *m, const float (*bind)[12], float (*to_rest)[12], float *space) {
  return sn_rt_bind(&m->model, bind, to_rest, space, &m->error);
}

// The least and the largest torque that make a difference; 0 for a joint whose torque does nothing.
EXPORT(sw_torque_range) int sw_torque_range(const web_model *m, uint32_t joint, float range[2]) {
  return sn_rt_torque_range(&m->model, joint, range);
}

// Named values: where they are, their names and the ranges of the training.
EXPORT(sw_named_values) float *sw_named_values(web_model *m) { return m->values; }
EXPORT(sw_value_name) const char *sw_value_name(const web_model *m, uint32_t value) {
  return sn_rt_value_name(&m->model, value);
}
EXPORT(sw_value_range) int sw_value_range(const web_model *m, uint32_t value, float range[2]) {
  return sn_rt_value_range(&m->model, value, range);
}

#if !defined(SN_RT_BASIC)
// Drives `rotreg` and `torque` (there at the least torque): the first map of a bone's predictor is u W for a rotation W
// (Wang 2007), but for small corrections; this is u.
EXPORT(sw_angle_scale) float sw_angle_scale(const web_model *m, uint32_t bone) {
  uint32_t block = bone / SN_RT_LANES, lane = bone % SN_RT_LANES;
  const sn_rt_rotreg_block *keys = sn_rt_data(&m->model, SN_SECTION_DRIVE_KEYS);
  const sn_rt_torque_block *pairs = sn_rt_data(&m->model, SN_SECTION_DRIVE_PAIRS);
  int paired = m->model.info.drive == SN_RT_DRIVE_TORQUE;
  const sn_rt_rotreg_block *predictors = paired ? pairs[block].ends : keys + block;
  float sum = 0;
  for (int n = 0; n < 9; n++) sum += predictors->map[0][n][lane] * predictors->map[0][n][lane];
  return sqrtf(sum / 3);
}
#endif

EXPORT(sw_triangles) void sw_triangles(const web_model *m, uint32_t (*out)[3]) {
  sn_rt_get_triangles(&m->model, out);
}

// ---- evaluation -----------------------------------------------------------------------------------------------------

// From here on joints continue to rotate from one evaluation to the next (sn_rt_input.state), from the pose evaluated next.
EXPORT(sw_begin_motion) void sw_begin_motion(web_model *m) {
  size_t size = sn_rt_state_size(&m->model);
  if (size && !m->state) m->state = sw_alloc(size);
  if (m->state) memset(m->state, 0, size);
}

static sn_rt_input input_of(const web_model *m, const float *joints, const float *controls, const float *torques) {
  return (sn_rt_input){.joints = (const float(*)[12])joints,
                       .controls = (const float(*)[3])controls,
                       .torques = torques,
                       .state = m->state,
                       .values = m->values};
}

EXPORT(sw_palette)
sn_rt_status sw_palette(web_model *m, const float *joints, const float *controls, const float *torques) {
  sn_rt_input input = input_of(m, joints, controls, torques);
  return sn_rt_palette(&m->model, &input, m->scratch, &m->error);
}

EXPORT(sw_palette_matrices) void sw_palette_matrices(const web_model *m, float (*out)[12]) {
  for (uint32_t e = 0; e < m->model.info.palette_count; e++) sn_rt_palette_matrix(&m->model, m->scratch, e, out[e]);
}

// After sw_palette: the values that the corrections' fields are multiplied with, and how many; 0 where there are none.
EXPORT(sw_values) uint32_t sw_values(const web_model *m, const float **values) {
  return sn_rt_correct_values(&m->model, m->scratch, values);
}

// tangents: NULL, or where those of a model that has them go.
EXPORT(sw_evaluate)
sn_rt_status sw_evaluate(web_model *m, const float *joints, const float *controls, const float *torques,
                         float *positions, float *normals, float *tangents) {
  sn_rt_input input = input_of(m, joints, controls, torques);
  sn_rt_output output = {.positions = positions, .normals = normals, .tangents = tangents};
  return sn_rt_evaluate(&m->model, &input, m->scratch, &output, &m->error);
}

// Eight bones and weights per vertex: see sn_rt_rest.
EXPORT(sw_rest)
void sw_rest(const web_model *m, float (*positions)[3], float (*normals)[3], uint16_t *bones, float *weights,
             float (*tangents)[4]) {
  const sn_rt_rest out = {.positions = positions,
                          .normals = normals,
                          .joints = bones,
                          .weights = weights,
                          .influences = SN_RT_MAX_INFLUENCES,
                          .tangents = m->model.info.tangents ? tangents : NULL};
  sn_rt_get_rest(&m->model, &out, NULL);
}
