// SPDX-License-Identifier: MIT
// Poses of a crowd from a hash of character and joint.
#include "cuda/poses.h"

#include <math.h>
#include <string.h>

#include "runtime/format.h"

// A number in [-1, 1): a hash of the two indices.
static float noise(uint32_t a, uint32_t b) {
  uint32_t x = a * 0x9e3779b9u ^ (b + 0x7f4a7c15u) * 0x85ebca6bu;
  x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu, x ^= x >> 16;
  return (float)(x >> 8) / 8388608.0f - 1;
}

static void multiply(const float a[12], const float b[12], float out[12]) {
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) {
      out[4 * r + c] =
        a[4 * r] * b[c] + a[4 * r + 1] * b[4 + c] + a[4 * r + 2] * b[8 + c] + (c == 3 ? a[4 * r + 3] : 0);
    }
}

// The rotation by the vector r (axis times angle) about `centre`.
static void turn_about(const float r[3], const float centre[3], float out[12]) {
  float angle = sqrtf(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) + 1e-20f, s = sinf(angle), c = 1 - cosf(angle);
  float x = r[0] / angle, y = r[1] / angle, z = r[2] / angle;
  const float rotation[9] = {1 - c * (y * y + z * z), c * x * y - s * z,       c * x * z + s * y,
                             c * x * y + s * z,       1 - c * (x * x + z * z), c * y * z - s * x,
                             c * x * z - s * y,       c * y * z + s * x,       1 - c * (x * x + y * y)};
  for (int n = 0; n < 3; n++) {
    float moved = 0;
    for (int k = 0; k < 3; k++) out[4 * n + k] = rotation[3 * n + k], moved += rotation[3 * n + k] * centre[k];
    out[4 * n + 3] = centre[n] - moved;
  }
}

static void pose_joints(const sn_rt_model *model, uint32_t character, float (*joints)[12]) {
  const float(*rest)[12] = (const float(*)[12])sn_rt_data(model, SN_SECTION_JOINT_REST);
  const float origin[12] = {0};
  for (uint32_t j = 0; j < model->info.joint_count; j++) {
    const float *at = rest ? rest[j] : origin, centre[3] = {at[3], at[7], at[11]};
    float turn[3], own[12];
    for (uint32_t c = 0; c < 3; c++) turn[c] = 0.6f * noise(character, 3 * j + c);
    turn_about(turn, centre, own);
    int32_t parent = sn_rt_joint_parent(model, j);
    if (parent >= 0 && (uint32_t)parent < j)
      multiply(joints[parent], own, joints[j]);
    else
      memcpy(joints[j], own, sizeof own);
  }
}

static void pose_controls(const sn_rt_model *model, uint32_t character, float (*controls)[3]) {
  const sn_rt_control *head = (const sn_rt_control *)sn_rt_data(model, SN_SECTION_CONTROL_HEAD);
  const float(*frames)[3] = (const float(*)[3])sn_rt_data(model, SN_SECTION_CONTROL_FRAMES);
  uint32_t points = model->info.control_count;
  float mix = 0.5f + 0.5f * noise(character, 7);
  uint32_t a = character % (head->frames ? head->frames : 1), b = (character / 3) % (head->frames ? head->frames : 1);
  for (uint32_t p = 0; p < points; p++)
    for (uint32_t c = 0; c < 3; c++) {
      controls[p][c] = head->frames ? mix * frames[a * points + p][c] + (1 - mix) * frames[b * points + p][c] : 0;
    }
}

void sn_cuda_pose(const sn_rt_model *model, uint32_t character, float (*joints)[12], float *torques,
                  float (*controls)[3], float *values) {
  if (joints) pose_joints(model, character, joints);
  if (controls && model->info.control_count) pose_controls(model, character, controls);
  for (uint32_t j = 0; torques && j < model->info.torque_count; j++) {
    float range[2] = {0, 0};
    sn_rt_torque_range(model, j, range);
    torques[j] = range[0] + (range[1] - range[0]) * (0.5f + 0.6f * noise(character, 1000 + j));
  }
  const float(*ranges)[2] = (const float(*)[2])sn_rt_data(model, SN_SECTION_VALUE_RANGES);
  for (uint32_t v = 0; values && v < model->info.value_count; v++)
    values[v] = ranges[v][0] + (ranges[v][1] - ranges[v][0]) * (0.5f + 0.6f * noise(character, 2000 + v));
}
