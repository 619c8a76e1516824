// SPDX-License-Identifier: MIT
// How far every joint has turned: a quaternion with a sign, and the pose vector. A rotation has two quaternions and many
// logarithms; which one is meant is decided relative to the reference rotation of the joint, in the middle of the
// training poses, so that the cut lies opposite to them. With a state, it is the one nearest to the last frame's.
#include <math.h>
#include <string.h>

#include "runtime/check.h"
#include "runtime/smallmath.h"

static void multiply(const float a[4], const float b[4], float out[4]) {
  out[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
  out[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
  out[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
  out[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}

static void conjugate_times(const float a[4], const float b[4], float out[4]) {
  float c[4] = {-a[0], -a[1], -a[2], a[3]};
  multiply(c, b, out);
}

static float dot4(const float a[4], const float b[4]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

static void joint_quaternion(const float m[12], float q[4]) {
  float a[9], r[9], s[9];
  for (int n = 0; n < 9; n++) a[n] = m[4 * (n / 3) + n % 3];
  sn_rt_polar(a, r, s);
  sn_rt_quat_from_rotation(r, q);
}

// Axis times angle of a quaternion with a sign: the angle is 0 to 2 pi.
static void logarithm(const float q[4], float out[3]) {
  float sine = sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
  float factor = sine > 1e-6f ? 2 * atan2f(sine, q[3]) / sine : q[3] > 0 ? 2.0f : 0.0f;
  for (int c = 0; c < 3; c++) out[c] = factor * q[c];
}

// Of the vectors with the same quaternion (angle + 4 pi k), the one nearest to `last`.
static void unwrap(float x[3], const float last[3]) {
  const float period = 12.566370614359172f;
  float angle = sqrtf(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
  if (!(angle > 1e-6f)) { // whole turns: along the last vector
    float length = sqrtf(last[0] * last[0] + last[1] * last[1] + last[2] * last[2]);
    float turns = rintf(length / period);
    for (int c = 0; c < 3; c++) x[c] = turns > 0 ? last[c] / length * turns * period : x[c];
    return;
  }
  float along = (last[0] * x[0] + last[1] * x[1] + last[2] * x[2]) / angle;
  float whole = rintf((along - angle) / period);
  for (int c = 0; c < 3; c++) x[c] *= 1 + whole * period / angle;
}

static const float no_turn[4] = {0, 0, 0, 1};

// One joint: `turn` is its quaternion and pose vector, `last` the same of the last frame (NULL or zero: none).
static void make_turn(const sn_rt_reference *r, const float m[12], const float *parent, const float *last,
                      float turn[8]) {
  float relative[4], from_reference[4];
  int remembered = last && dot4(last, last) > 0;
  joint_quaternion(m, turn);
  if (remembered && dot4(turn, last) < 0) {
    for (int n = 0; n < 4; n++) turn[n] = -turn[n];
  }
  conjugate_times(parent, turn, relative);
  conjugate_times(r->rotation, relative, from_reference);
  if (!remembered && from_reference[3] < 0) {
    for (int n = 0; n < 4; n++) turn[n] = -turn[n], from_reference[n] = -from_reference[n];
  }
  logarithm(from_reference, turn + 4);
  if (remembered) unwrap(turn + 4, last + 4);
  turn[7] = 0;
}

void sn_rt_make_turns(const sn_rt_model *model, const float (*joints)[12], float *state, float *turns) {
  const sn_rt_reference *references = model->sections[SN_SECTION_JOINT_REFERENCE];
  for (uint32_t n = 0; n < model->info.joint_count; n++) {
    const sn_rt_reference *r = references + n;
    const float *parent = r->parent == SN_RT_NO_JOINT ? no_turn : turns + 8 * (size_t)r->parent;
    float *turn = turns + 8 * (size_t)r->joint;
    make_turn(r, joints[r->joint], parent, state ? state + 8 * (size_t)r->joint : NULL, turn);
  }
  if (state) memcpy(state, turns, (size_t)model->info.joint_count * 8 * sizeof *state);
}

size_t sn_rt_state_size(const sn_rt_model *model) {
  return model->sections[SN_SECTION_JOINT_REFERENCE] ? (size_t)model->info.joint_count * 8 * sizeof(float) : 0;
}

sn_rt_status sn_rt_check_references(sn_rt_checker *c) {
  const sn_rt_reference *references = c->model->sections[SN_SECTION_JOINT_REFERENCE];
  uint32_t joints = c->model->info.joint_count;
  sn_rt_status status =
    sn_rt_need_if_there(c, SN_SECTION_JOINT_REFERENCE, (uint64_t)joints * sizeof(sn_rt_reference));
  if (status || !references) return status;
  uint8_t seen[SN_RT_MAX_JOINTS / 8 + 1];
  memset(seen, 0, sizeof seen);
  for (uint32_t n = 0; n < joints; n++) {
    const sn_rt_reference *r = references + n;
    int again = r->joint < joints && (seen[r->joint / 8] >> r->joint % 8 & 1);
    int orphan = r->parent != SN_RT_NO_JOINT && (r->parent >= joints || !(seen[r->parent / 8] >> r->parent % 8 & 1));
    float length = dot4(r->rotation, r->rotation);
    if (r->joint >= joints || again || orphan || !(length > 0.99f && length < 1.01f)) {
      return SN_RT_BAD(c, "reference %u is not one of a joint after its parent's", n);
    }
    seen[r->joint / 8] |= (uint8_t)(1u << r->joint % 8);
  }
  return SN_RT_OK;
}
