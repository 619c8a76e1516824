// SPDX-License-Identifier: MIT
// The drive `rotreg` (Wang 2007): joint rotations and their logarithms to proxy bones. `torque` uses most of this file.
#include "runtime/rotreg.h"

#include <math.h>
#include <string.h>

#include "runtime/rotreg_joint.h"

_Static_assert(sizeof(sn_rt_rotreg_joint) == 16, "a joint of rotreg is 16 bytes in the file");
_Static_assert(sizeof(sn_rt_rotreg_block) == 3040, "eight predictors are 3040 bytes in the file");

static uint32_t bone_count(const sn_rt_model *model) { return model->info.palette_count - model->info.joint_count; }

static size_t aligned(size_t bytes) { return (bytes + SN_RT_ALIGNMENT - 1) / SN_RT_ALIGNMENT * SN_RT_ALIGNMENT; }
static size_t rotation_bytes(uint32_t joint_count) { return aligned((size_t)joint_count * 8 * sizeof(float)); }
static size_t blend_bytes(uint32_t joint_count) { return aligned(((size_t)joint_count + 1) * 2 * sizeof(float)); }
static size_t gradient_bytes(uint32_t blocks) { return aligned((size_t)blocks * SN_RT_LANES * 12 * sizeof(float)); }

static size_t input_bytes(uint32_t joint_count, uint32_t bones) {
  return aligned(6 * sn_rt_rotreg_apart(3 * bones + 4 * joint_count) * sizeof(float));
}

// One byte per joint (`rotated`), per eight keys and per eight joints (`stale`).
static size_t mark_bytes(uint32_t joint_count, uint32_t blocks) {
  return aligned((size_t)joint_count + blocks + sn_rt_blocks_of(joint_count));
}

uint64_t sn_rt_rotreg_scratch(const sn_rt_model *model) {
  uint32_t joint_count = model->info.joint_count, blocks = sn_rt_rotreg_blocks(bone_count(model));
  uint64_t parts = (uint64_t)blocks * (blocks + sn_rt_blocks_of(joint_count)) * 3 * SN_RT_ROTREG_ROWS * sizeof(float);
  return rotation_bytes(joint_count) + blend_bytes(joint_count) + gradient_bytes(blocks) +
         input_bytes(joint_count, bone_count(model)) + mark_bytes(joint_count, blocks) + parts;
}

// ---- work --------------------------------------------------------------------------------------------------------------

// Operations of a factor of a predictor; of the last one, the tilt; of scale and shear; of R S to a gradient.
enum { factor = 15 + 5 + 28 + 4 + 3 + 2 * 12 + 28, tilt = 36 - 15 + factor, shear = 72, gradient = 45 + 45 };

uint64_t sn_rt_rotreg_work(const sn_rt_model *model, int ends) {
  uint64_t joint_count = model->info.joint_count, bones = bone_count(model);
  uint64_t solve = 24 * bones * (3 * bones + 4 * joint_count), mix = ends == 2 ? 100 + 18 : 0;
  return solve + bones * ((uint64_t)ends * (2 * factor + tilt + shear) + gradient + mix) + 60 * joint_count;
}

static uint64_t work(const sn_rt_model *model) { return sn_rt_rotreg_work(model, 1); }

// ---- joints (3.2.1) ----------------------------------------------------------------------------------------------------

// The quaternion and logarithm of every joint whose matrix changed; sets `rotated` where these changed.
static void make_rotations(const sn_rt_model *model, const float *palette, const uint8_t *moved,
                           float (*rotations)[8], uint8_t *rotated) {
  enum { other_quaternion = 1, other_logarithm = 2 };
  const sn_rt_rotreg_joint *joint = sn_rt_data(model, SN_SECTION_DRIVE_JOINTS);
  uint32_t joint_count = model->info.joint_count;
  for (uint32_t j = 0; j < joint_count; j++) {
    float r[9], q[4];
    rotated[j] = moved ? 0 : other_quaternion;
    if (moved && !moved[j]) continue;
    sn_rt_rotation_of(palette + 16 * (size_t)j, r);
    sn_rt_quat_from_rotation(r, q);
    if (moved && !sn_rt_same(rotations[j], q, 4)) rotated[j] = other_quaternion;
    memcpy(rotations[j], q, sizeof q);
  }
  for (uint32_t j = 0; j < joint_count; j++) {
    float theta[4] = {0};
    if (!((rotated[j] | rotated[joint[j].base]) & other_quaternion)) continue;
    sn_rt_relative_log(rotations[joint[j].base], rotations[j], joint[j].reference, theta);
    if (moved && !sn_rt_same(rotations[j] + 4, theta, 4)) rotated[j] |= other_logarithm;
    memcpy(rotations[j] + 4, theta, sizeof theta);
  }
}

sn_rt_rotreg_job sn_rt_rotreg_prepare(const sn_rt_model *model, const sn_rt_keeping *keeping, void *space,
                                      float *palette) {
  uint32_t joint_count = model->info.joint_count, bones = bone_count(model), blocks = sn_rt_rotreg_blocks(bones);
  char *blends = (char *)space + rotation_bytes(joint_count), *gradients = blends + blend_bytes(joint_count);
  char *inputs = gradients + gradient_bytes(blocks), *marks = inputs + input_bytes(joint_count, bones);
  char *parts = marks + mark_bytes(joint_count, blocks);
  sn_rt_rotreg_job job = {.blends = (float(*)[2])(void *)blends,
                          .solve = sn_rt_data(model, SN_SECTION_DRIVE_SOLVE),
                          .packed = sn_rt_packed_solve_of(model),
                          .joint_count = joint_count,
                          .bone_count = bones,
                          .rotations = space,
                          .gradients = (float *)(void *)gradients,
                          .matrices = palette,
                          .inputs = (float *)(void *)inputs,
                          .parts = keeping->keep ? (float *)(void *)parts : NULL,
                          .rotated = (uint8_t *)marks,
                          .wide = sn_rt_at(model)->wide_units != 0};
  make_rotations(model, palette, keeping->moved, job.rotations, job.rotated);
  return job;
}

// ---- what did not change -----------------------------------------------------------------------------------------------

int sn_rt_rotreg_block_rotated(const sn_rt_rotreg_block *b, const uint8_t *rotated) {
  int any = 0;
  for (int l = 0; l < SN_RT_LANES; l++) {
    any |= rotated[b->base[l]] | rotated[b->shear_joint[0][l]] | rotated[b->shear_joint[1][l]];
    for (uint32_t k = 0; k < b->factor_count; k++) any |= rotated[b->joint[k][l]];
  }
  return any != 0;
}

// For every eight joints: whether one of their matrices in the solve changed.
static void mark_joints(const sn_rt_model *model, const uint8_t *moved, uint8_t *stale) {
  int all = sn_rt_data(model, SN_SECTION_DRIVE_CENTRE) && moved[0]; // all matrices are relative to the first joint
  for (uint32_t j = 0; j < model->info.joint_count; j++) {
    if (j % SN_RT_LANES == 0) stale[j / SN_RT_LANES] = (uint8_t)all;
    stale[j / SN_RT_LANES] |= moved[j];
  }
}

// ---- the palette ---------------------------------------------------------------------------------------------------------

void sn_rt_rotreg_run(const sn_rt_model *model, const sn_rt_input *input, const sn_rt_keeping *keeping,
                      sn_rt_rotreg_job *job) {
  const float *centre = sn_rt_data(model, SN_SECTION_DRIVE_CENTRE);
  uint32_t blocks = sn_rt_rotreg_blocks(job->bone_count), eights = blocks + sn_rt_blocks_of(job->joint_count);
  double there[3] = {0, 0, 0};
  float *joints = job->matrices, *bones = joints + 16 * (size_t)job->joint_count;
  if (keeping->moved) {
    uint8_t *stale = sn_rt_rotreg_stale(job), any = 0;
    mark_joints(model, keeping->moved, stale + blocks);
    for (uint32_t n = 0; n < eights; n++) any |= stale[n];
    if (!any) return;
    job->stale = stale;
  }
  if (centre) sn_rt_image(joints, centre, there);
  for (size_t j = 0; centre && j < job->joint_count; j++) sn_rt_bring_home(centre, there, joints + 16 * j);
  sn_rt_kernels_of(sn_rt_at(model)->path)->rotreg(job);
  for (size_t b = 0; centre && b < job->bone_count; b++) sn_rt_bring_back(centre, there, bones + 16 * b);
  for (size_t j = 0; centre && j < job->joint_count; j++)
    for (size_t r = 0; r < 3; r++) joints[16 * j + 12 + r] = input->joints[j][4 * r + 3];
}

static void run(const sn_rt_model *model, const sn_rt_input *input, const sn_rt_keeping *keeping, void *space,
                float *palette) {
  sn_rt_rotreg_job job = sn_rt_rotreg_prepare(model, keeping, space, palette);
  job.blocks = sn_rt_data(model, SN_SECTION_DRIVE_KEYS);
  for (uint32_t b = 0; keeping->moved && b < sn_rt_rotreg_blocks(job.bone_count); b++)
    sn_rt_rotreg_stale(&job)[b] = (uint8_t)sn_rt_rotreg_block_rotated(job.blocks + b, job.rotated);
  sn_rt_rotreg_run(model, input, keeping, &job);
}

// ---- checks ------------------------------------------------------------------------------------------------------------

static int all_below(const uint16_t *values, uint32_t limit) {
  for (int l = 0; l < SN_RT_LANES; l++)
    if (values[l] >= limit) return 0;
  return 1;
}

int sn_rt_rotreg_good_block(const sn_rt_rotreg_block *b, uint32_t joint_count) {
  if (b->factor_count > SN_RT_ROTREG_FACTORS || !all_below(b->base, joint_count)) return 0;
  if (!all_below(b->shear_joint[0], joint_count) || !all_below(b->shear_joint[1], joint_count)) return 0;
  for (int k = 0; k < SN_RT_ROTREG_FACTORS; k++)
    if (!all_below(b->joint[k], joint_count)) return 0;
  return sn_rt_all_finite(&b->map[0][0][0], SN_RT_ROTREG_FACTORS * 9 * SN_RT_LANES) &&
         sn_rt_all_finite(&b->shear[0][0][0], 6 * 7 * SN_RT_LANES) &&
         sn_rt_all_finite(&b->tilt[0][0][0], 3 * 7 * SN_RT_LANES);
}

static sn_rt_status check_solve(sn_rt_checker *c) {
  uint32_t joint_count = c->model->info.joint_count, bones = bone_count(c->model);
  uint64_t count = sn_rt_rotreg_solve_count(joint_count, bones);
  if (c->model->info.weight_bits != SN_RT_PACKED_BITS || !sn_rt_data(c->model, SN_SECTION_PACK_SOLVE))
    return sn_rt_need_floats(c, SN_SECTION_DRIVE_SOLVE, count);
  SN_RT_TRY(sn_rt_need(c, SN_SECTION_PACK_SOLVE, count * sizeof(int16_t)));
  return sn_rt_need_floats(c, SN_SECTION_PACK_SCALES, sn_rt_packed_scale_count(joint_count, bones));
}

sn_rt_status sn_rt_rotreg_check(sn_rt_checker *c) {
  uint32_t joint_count = c->model->info.joint_count;
  if (c->model->info.blend != SN_RT_BLEND_LINEAR) return SN_RT_BAD(c, "proxy bones need a linear blend");
  if (joint_count == 0) return SN_RT_BAD(c, "proxy bones without joints");
  SN_RT_TRY(sn_rt_need(c, SN_SECTION_DRIVE_JOINTS, joint_count * sizeof(sn_rt_rotreg_joint)));
  const sn_rt_rotreg_joint *joint = sn_rt_data(c->model, SN_SECTION_DRIVE_JOINTS);
  for (uint32_t j = 0; j < joint_count; j++)
    if (joint[j].base >= joint_count || !sn_rt_all_finite(joint[j].reference, 3))
      return SN_RT_BAD(c, "number %u of section drive.joints is out of range", j);
  SN_RT_TRY(sn_rt_need_floats_if_there(c, SN_SECTION_DRIVE_CENTRE, 3));
  return check_solve(c);
}

static sn_rt_status check(sn_rt_checker *c) {
  uint32_t blocks = sn_rt_rotreg_blocks(bone_count(c->model));
  SN_RT_TRY(sn_rt_rotreg_check(c));
  SN_RT_TRY(sn_rt_need(c, SN_SECTION_DRIVE_KEYS, blocks * sizeof(sn_rt_rotreg_block)));
  const sn_rt_rotreg_block *block = sn_rt_data(c->model, SN_SECTION_DRIVE_KEYS);
  for (uint32_t b = 0; b < blocks; b++)
    if (!sn_rt_rotreg_good_block(block + b, c->model->info.joint_count))
      return SN_RT_BAD(c, "a predictor of block %u is out of range", b);
  return SN_RT_OK;
}

const sn_rt_driver sn_rt_driver_rotreg = {check, sn_rt_rotreg_scratch, work, run};
