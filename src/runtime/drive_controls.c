// SPDX-License-Identifier: MIT
// The drive `controls` (Kim, Feng and Yu 2010): positions of control points -> kernel vector xi -> M xi, a quaternion and a
// stretch per bone -> F = R W -> positions of the bones by the Poisson matrix P (sections 3.2, 3.3 and 5).
#include <math.h>
#include <string.h>

#include "runtime/drive.h"
#include "runtime/control_bone.h"

static const sn_rt_control *head_of(const sn_rt_model *model) { return sn_rt_data(model, SN_SECTION_CONTROL_HEAD); }

// ---- checks -----------------------------------------------------------------------------------------------------------

static uint32_t outputs_of(uint32_t flags) {
  uint32_t stretch = flags & SN_RT_CONTROL_STRETCH ? 6 : 0;
  return 4 + stretch + (flags & SN_RT_CONTROL_POISSON ? 0 : stretch ? 3 : 4);
}

static sn_rt_status check_head(sn_rt_checker *c) {
  const sn_rt_info *info = &c->model->info;
  if (info->blend != SN_RT_BLEND_LINEAR || info->correct != SN_RT_CORRECT_NONE)
    return SN_RT_BAD(c, "control points drive linear blends without corrections");
  if (info->joint_count) return SN_RT_BAD(c, "a model driven by control points has %u joints", info->joint_count);
  if (info->control_count == 0) return SN_RT_BAD(c, "a model driven by control points has none");
  if (info->control_count > info->vertex_count)
    return SN_RT_BAD(c, "%u control points are more than the vertices", info->control_count);
  SN_RT_TRY(sn_rt_need(c, SN_SECTION_CONTROL_HEAD, sizeof(sn_rt_control)));
  const sn_rt_control *head = head_of(c->model);
  if (head->flags > 7 || head->outputs != outputs_of(head->flags))
    return SN_RT_BAD(c, "%u numbers per bone do not fit the drive's flags %u", head->outputs, head->flags);
  if (!(head->scale >= 0) || !(head->scale < 1e30f))
    return SN_RT_BAD(c, "the kernel's width is not a positive number");
  if (head->frames > INT32_MAX) return SN_RT_BAD(c, "%u training frames are too many", head->frames);
  return SN_RT_OK;
}

static sn_rt_status check(sn_rt_checker *c) {
  SN_RT_TRY(check_head(c));
  // The products below cannot overflow 64 bits: at most 65535 bones, and fewer control points than vertices.
  const sn_rt_control *head = head_of(c->model);
  uint64_t bones = c->model->info.palette_count, points = c->model->info.control_count;
  SN_RT_TRY(sn_rt_need_floats(c, SN_SECTION_CONTROL_FRAMES, head->frames * points * 3));
  SN_RT_TRY(sn_rt_need_floats(c, SN_SECTION_CONTROL_CENTRES, bones * 3));
  SN_RT_TRY(sn_rt_need_floats(c, SN_SECTION_CONTROL_MAP, bones * head->outputs * (head->frames + 1ull)));
  if (head->flags & SN_RT_CONTROL_POISSON)
    SN_RT_TRY(sn_rt_need_floats(c, SN_SECTION_CONTROL_SOLVE, bones * (3 * bones + points)));
  SN_RT_TRY(sn_rt_need(c, SN_SECTION_CONTROL_POINTS, points * sizeof(uint32_t)));
  return sn_rt_check_below(c, SN_SECTION_CONTROL_POINTS, 4, c->model->info.vertex_count, "vertex");
}

// ---- the drive ---------------------------------------------------------------------------------------------------------------

// Parts of the drive's memory: the kernel vector, the bones' outputs, F and controls as columns of four, bone positions.
typedef struct workspace {
  float *xi, *outputs;
  float (*columns)[4], (*places)[4];
} workspace;

static uint64_t round4(uint64_t n) { return (n + 3) / 4 * 4; }

static uint64_t scratch(const sn_rt_model *model) {
  const sn_rt_control *head = head_of(model);
  uint64_t bones = model->info.palette_count;
  return sizeof(float) * (round4(head->frames + 1ull) + round4(bones * head->outputs) +
                          4 * (3 * bones + model->info.control_count) + 4 * bones);
}

static workspace lay_out(const sn_rt_model *model, float *values) {
  const sn_rt_control *head = head_of(model);
  size_t bones = model->info.palette_count;
  workspace w = {.xi = values};
  w.outputs = w.xi + round4(head->frames + 1ull);
  w.columns = (float(*)[4])(w.outputs + round4(bones * head->outputs));
  w.places = w.columns + 3 * bones + model->info.control_count;
  return w;
}

// xi_f = k(c, c^f) - 1, then 1 for the constant column. M's rows sum to zero over the kernel columns (F_c^T 1 = 0), so
// subtracting 1 does not change M xi, but keeps precision for wide kernels.
static void kernel_vector(const sn_rt_model *model, const float (*controls)[3], float *xi) {
  const sn_rt_control *head = head_of(model);
  const float *frames = sn_rt_data(model, SN_SECTION_CONTROL_FRAMES);
  uint32_t points = model->info.control_count;
  for (uint32_t f = 0; f < head->frames; f++)
    xi[f] = sn_rt_control_kernel(head, points, controls[0], frames + 3 * (size_t)f * points);
  xi[head->frames] = 1;
}

static void run(const sn_rt_model *model, const sn_rt_input *input, const sn_rt_keeping *keeping, void *space,
                float *palette) {
  (void)keeping;
  const float(*controls)[3] = input->controls;
  const sn_rt_control *head = head_of(model);
  const float(*centres)[3] = sn_rt_data(model, SN_SECTION_CONTROL_CENTRES);
  uint32_t bones = model->info.palette_count, points = model->info.control_count;
  workspace w = lay_out(model, space);
  const sn_rt_kernels *kernels = sn_rt_kernels_of(sn_rt_at(model)->path);
  kernel_vector(model, controls, w.xi);
  sn_rt_product_job map = {
    sn_rt_data(model, SN_SECTION_CONTROL_MAP), bones * head->outputs, head->frames + 1, 1, w.xi, w.outputs};
  kernels->product(&map);
  for (uint32_t b = 0; b < bones; b++) {
    const float *d = w.outputs + (size_t)b * head->outputs;
    sn_rt_bone_gradient(d, head->flags, w.columns + 3 * (size_t)b);
    if (!(head->flags & SN_RT_CONTROL_POISSON)) sn_rt_predicted_place(d, head->flags, centres[b], w.places[b]);
  }
  if (head->flags & SN_RT_CONTROL_POISSON) {
    for (uint32_t c = 0; c < points; c++) memcpy(w.columns[3 * (size_t)bones + c], controls[c], sizeof *controls);
    sn_rt_product_job solve = {
      sn_rt_data(model, SN_SECTION_CONTROL_SOLVE), bones, 3 * bones + points, 3, w.columns[0], w.places[0]};
    kernels->product(&solve);
  }
  for (uint32_t b = 0; b < bones; b++)
    sn_rt_store_bone((const float(*)[4])w.columns + 3 * (size_t)b, w.places[b], centres[b], palette + 16 * (size_t)b);
}

static uint64_t work(const sn_rt_model *model) {
  const sn_rt_control *head = head_of(model);
  uint64_t bones = model->info.palette_count, points = model->info.control_count;
  uint64_t kernel = (9 * points + 2) * head->frames, map = 2 * bones * head->outputs * (head->frames + 1ull);
  uint64_t solve = head->flags & SN_RT_CONTROL_POISSON ? 6 * bones * (3 * bones + points) : 30 * bones;
  uint64_t bone = 8 + 30 + 21 + (head->flags & SN_RT_CONTROL_STRETCH ? 45 + 20 : 0);
  return kernel + map + solve + bone * bones;
}

const sn_rt_driver sn_rt_driver_controls = {check, scratch, work, run};
