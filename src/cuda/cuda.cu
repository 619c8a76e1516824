// SPDX-License-Identifier: MIT
// sn_cuda_*: uploading a model, the memory of an evaluation, and its stages in order.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device.h"
#include "cuda/rows.h"
#include "runtime/packed.h"
#include "runtime/pose_space.h"

static sn_cuda_status fail(sn_cuda_error *error, sn_cuda_status status, const char *format, ...) {
  if (!error) return status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  error->status = status;
  return status;
}

// Converts a CUDA error to a status and clears it.
static sn_cuda_status fail_cuda(sn_cuda_error *error, const char *what, cudaError_t said) {
  cudaGetLastError();
  sn_cuda_status status = said == cudaErrorMemoryAllocation                                       ? SN_CUDA_NO_MEMORY
                          : said == cudaErrorNoDevice || said == cudaErrorInsufficientDriver ? SN_CUDA_NO_DEVICE
                                                                                                 : SN_CUDA_FAILED;
  return fail(error, status, "%s: %s", what, cudaGetErrorString(said));
}

// ---- uploading: one block of host memory, one of the device, one copy -----------------------------------------------------

struct parcel {
  uint8_t *host; // NULL while sizes are counted
  uint8_t *device;
  size_t used;
};

// Reserves `size` bytes, 256-byte aligned, filled from `from`; returns their device address.
static void *put(parcel *p, const void *from, size_t size) {
  size_t at = p->used;
  p->used += (size + 255) / 256 * 256;
  if (!from || !size) return NULL;
  if (p->host) memcpy(p->host + at, from, size);
  return p->device + at;
}

template <class T> static void put_array(parcel *p, T *&array, size_t count) { array = (T *)put(p, array, count * sizeof(T)); }

static void put_fans(parcel *p, const sn_cuda_fans *from, sn_cuda_fans *to) {
  *to = *from;
  if (!from->groups) return;
  put_array(p, to->first_halo, from->tile_count + 1);
  put_array(p, to->halo, from->first_halo[from->tile_count]);
  put_array(p, to->first_group, from->vertex_count + 1);
  put_array(p, to->groups, from->first_group[from->vertex_count]);
  put_array(p, to->own, 4 * (size_t)from->vertex_count);
}

static void put_tiles(parcel *p, const sn_cuda_tiles *from, sn_cuda_tiles *to) {
  *to = *from;
  size_t groups = (size_t)from->tile_count * SN_CUDA_TILE_GROUPS, slots = groups * from->group;
  put_array(p, to->first_joint, from->tile_count + 1);
  put_array(p, to->joints, from->first_joint[from->tile_count]);
  put_array(p, to->counts, groups);
  put_array(p, to->vertices, slots);
  put_array(p, to->rest, 8 * slots);
  put_array(p, to->weights, from->influences * slots);
  put_array(p, to->locals, from->influences * slots);
  put_array(p, to->centres, 3 * slots);
  put_array(p, to->first_bases, groups + 1);
  put_array(p, to->bases, from->first_bases ? from->first_bases[groups] : 0);
}

static void put_sums(parcel *p, const sn_cuda_sums *from, sn_cuda_sums *to) {
  *to = *from;
  if (!from->sum_count) return;
  put_array(p, to->sums, from->sum_count);
  put_array(p, to->first_term, from->group_count + 1);
  put_array(p, to->places, from->place_count);
  put_array(p, to->mix, from->quad_count);
}

// Sections that the palette stage reads unchanged.
static const sn_rt_section_id palette_sections[] = {
  SN_SECTION_JOINT_REFERENCE, SN_SECTION_JOINT_REST,    SN_SECTION_DRIVE_EXTRA,     SN_SECTION_DRIVE_JOINTS,
  SN_SECTION_DRIVE_KEYS,      SN_SECTION_DRIVE_TORQUES, SN_SECTION_DRIVE_PAIRS,     SN_SECTION_DRIVE_CENTRE,
  SN_SECTION_CONTROL_FRAMES,  SN_SECTION_CONTROL_MAP,   SN_SECTION_CONTROL_CENTRES, SN_SECTION_CONTROL_SOLVE,
  SN_SECTION_CORRECT_FIELDS, SN_SECTION_CORRECT_JOINTS, SN_SECTION_CORRECT_NUMBERS, SN_SECTION_CORRECT_TERMS,
  SN_SECTION_CORRECT_MIX, SN_SECTION_DRIVE_OFFSETS, SN_SECTION_VALUE_RANGES,  SN_SECTION_DRIVE_HELPERS,   SN_SECTION_DRIVE_TERMS,
  SN_SECTION_DRIVE_MIX, SN_SECTION_DRIVE_LINEAR};

struct layouts {
  sn_cuda_tiles tiles;
  sn_cuda_fans fans;
  sn_cuda_sums sums;
  float *solve; // NULL: none
  size_t solve_size;
};

static void put_model(parcel *p, const sn_rt_model *model, const layouts *from, sn_cuda_model *out) {
  p->used = 0;
  put_tiles(p, &from->tiles, &out->tiles);
  put_fans(p, &from->fans, &out->fans);
  put_sums(p, &from->sums, &out->sums);
  for (sn_rt_section_id id : palette_sections) out->sections[id] = put(p, sn_rt_data(model, id), sn_rt_size(model, id));
  out->sections[SN_SECTION_DRIVE_SOLVE] = put(p, from->solve, from->solve_size);
}

static sn_cuda_status send(const sn_rt_model *model, const layouts *from, sn_cuda_model *out, sn_cuda_error *error) {
  parcel p = {};
  put_model(&p, model, from, out);
  out->bytes = p.used;
  cudaError_t said = cudaMalloc(&out->memory, p.used);
  if (said != cudaSuccess) return fail_cuda(error, "no room for the model on the device", said);
  p.host = (uint8_t *)calloc(p.used, 1), p.device = (uint8_t *)out->memory;
  if (!p.host) return fail(error, SN_CUDA_NO_MEMORY, "out of memory for a model of %zu bytes", p.used);
  put_model(&p, model, from, out);
  said = cudaMemcpy(out->memory, p.host, p.used, cudaMemcpyHostToDevice);
  free(p.host);
  return said == cudaSuccess ? SN_CUDA_OK : fail_cuda(error, "the model cannot be copied to the device", said);
}

// Reads the section heads that the stages need.
static void read_heads(const sn_rt_model *model, sn_cuda_model *out) {
  out->info = model->info;
  const sn_rt_control *control = (const sn_rt_control *)sn_rt_data(model, SN_SECTION_CONTROL_HEAD);
  if (control) out->control = *control;
  out->linear_count = (uint32_t)(sn_rt_size(model, SN_SECTION_DRIVE_LINEAR) / sizeof(sn_rt_linear));
  if (model->info.correct == SN_RT_CORRECT_NONE) return;
  const sn_rt_correct_head *head = (const sn_rt_correct_head *)sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  const sn_rt_field *fields = (const sn_rt_field *)sn_rt_data(model, SN_SECTION_CORRECT_FIELDS);
  out->basis_count = head->basis_count, out->field_count = head->field_count;
  out->forward = head->order == SN_RT_ORDER_FORWARD, out->limit_after = head->limit_after != 0;
  out->limited = sn_rt_stored_corrections_of(model).limits != NULL;
  for (uint32_t n = 0; n < head->field_count; n++) {
    if (fields[n].kernel == SN_RT_KERNEL_SUM) continue;
    uint32_t terms = sn_rt_field_terms(fields + n);
    if (fields[n].axis_count > out->most_axes) out->most_axes = fields[n].axis_count;
    if (terms > out->most_terms) out->most_terms = terms;
  }
}

// Name of an unsupported feature; NULL: all are supported.
static const char *find_unsupported(const sn_rt_model *model, const sn_cuda_model *uploaded) {
  if (sn_cuda_correct_shared(uploaded) > uploaded->most_shared) return "a pose space of so many poses";
  if (model->info.drive == SN_RT_DRIVE_CONTROLS &&
      sn_cuda_control_shared(&uploaded->control, model->info.palette_count, model->info.control_count) > uploaded->most_shared)
    return "a model of so many bones, frames and control points";
  return NULL;
}

static bool lay_out_solve(const sn_rt_model *model, layouts *out) {
  if (model->info.drive != SN_RT_DRIVE_ROTREG && model->info.drive != SN_RT_DRIVE_TORQUE) return true;
  out->solve = sn_cuda_lay_out_solve(model, &out->solve_size);
  return out->solve != NULL;
}

static sn_cuda_status upload_layouts(const sn_rt_model *model, sn_cuda_model *m, sn_cuda_error *error) {
  layouts all = {};
  bool made = sn_cuda_tiles_make(model, &all.tiles) && sn_cuda_fans_make(model, &all.fans) &&
              sn_cuda_sums_make(model, &all.sums) && lay_out_solve(model, &all);
  sn_cuda_status status = made ? send(model, &all, m, error) : fail(error, SN_CUDA_NO_MEMORY, "out of memory for the model");
  sn_cuda_tiles_free(&all.tiles), sn_cuda_fans_free(&all.fans), sn_cuda_sums_free(&all.sums), free(all.solve);
  return status;
}

sn_cuda_status sn_cuda_upload(const sn_rt_model *model, sn_cuda_model **out, sn_cuda_error *error) {
  if (!out) return fail(error, SN_CUDA_BAD_ARGUMENT, "there is no place for the model");
  *out = NULL;
  if (!model || !sn_rt_get_bytes(model)) return fail(error, SN_CUDA_BAD_ARGUMENT, "the model is not open");
  int device, most_shared = 0;
  cudaError_t said = cudaGetDevice(&device);
  if (said == cudaSuccess) said = cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (said != cudaSuccess) return fail_cuda(error, "no device", said);
  sn_cuda_model *m = (sn_cuda_model *)calloc(1, sizeof *m);
  if (!m) return fail(error, SN_CUDA_NO_MEMORY, "out of memory for the model");
  read_heads(model, m);
  m->most_shared = (size_t)most_shared;
  const char *missing = find_unsupported(model, m);
  sn_cuda_status status =
    missing ? fail(error, SN_CUDA_UNSUPPORTED, "%s has no kernel on the GPU; evaluate it with the runtime", missing)
            : upload_layouts(model, m, error);
  if (status == SN_CUDA_OK) *out = m;
  else sn_cuda_free(m);
  return status;
}

void sn_cuda_free(sn_cuda_model *model) {
  if (!model) return;
  if (model->memory) cudaFree(model->memory);
  free(model);
}

size_t sn_cuda_device_bytes(const sn_cuda_model *model) { return model->bytes; }

// ---- the memory of an evaluation --------------------------------------------------------------------------------------------

struct scratch {
  uint8_t *memory; // NULL while sizes are counted
  size_t used;
};

template <class T> static void take(scratch *s, T *&out, size_t count) {
  out = s->memory && count ? (T *)(s->memory + s->used) : NULL;
  s->used += (count * sizeof(T) + 255) / 256 * 256;
}

static bool makes_palette(const sn_cuda_model *m) {
  return m->info.drive != SN_RT_DRIVE_JOINTS || m->info.palette_count != m->info.joint_count;
}

static bool recomputes(const crowd *c) { return c->model->info.shade == SN_RT_SHADE_RECOMPUTE; }

// Memory for positions of recomputed normals: limits the number of passes at a time.
static const size_t row_bytes = (size_t)256 << 20;

static size_t lay_out(crowd *c, scratch *s) {
  const sn_cuda_model *m = c->model;
  size_t entries = (size_t)c->count * m->info.palette_count, padded = ((size_t)c->count + 31) / 32 * 32;
  bool turned = m->info.blend != SN_RT_BLEND_LINEAR;
  size_t rows = m->info.blend == SN_RT_BLEND_CENTRES ? 4 : 2;
  take(s, c->palette, makes_palette(m) ? 3 * entries : 0);
  take(s, c->dualquats, turned ? rows * entries : 0);
  take(s, c->stretches, turned ? 3 * entries : 0);
  take(s, c->stretched, turned ? c->count : 0);
  bool rotations = m->sections[SN_SECTION_JOINT_REFERENCE] || m->info.value_count;
  take(s, c->rotations, rotations ? sn_cuda_rotation_floats(m) * c->count : 0);
  take(s, c->terms, m->sums.sum_count ? m->sums.term_count * padded : 0);
  take(s, c->values, m->basis_count * padded);
  take(s, c->drive, sn_cuda_drive_floats(m, c->count));
  const size_t pass_floats = (size_t)m->info.vertex_count * 3 * SN_CUDA_PASS, fit = row_bytes / sizeof(float) / pass_floats;
  c->row_passes = (uint32_t)(fit < 1 ? 1 : fit < padded / SN_CUDA_PASS ? fit : padded / SN_CUDA_PASS);
  take(s, c->rows, recomputes(c) ? c->row_passes * pass_floats : 0);
  c->matrices = c->palette ? c->palette : (const float4 *)c->input.joints;
  return s->used;
}

size_t sn_cuda_scratch_size(const sn_cuda_model *model, uint32_t characters, const sn_cuda_output *output) {
  crowd c = {};
  scratch s = {};
  c.model = model, c.count = characters, c.output = *output;
  return lay_out(&c, &s);
}

// ---- evaluation ------------------------------------------------------------------------------------------------------------

static bool bad_array(const sn_cuda_array *a, uint32_t vertex_count) {
  size_t size = a->type == SN_CUDA_HALF ? 2 : 4, stride = a->stride ? a->stride : 3 * size;
  if ((uintptr_t)a->data % size || stride % size || stride < 3 * size || a->pitch % size) return true;
  return a->pitch && a->pitch < stride * (vertex_count - 1) + 3 * size;
}

static sn_cuda_status check_arguments(const crowd *c, const sn_cuda_work *work, sn_cuda_error *error) {
  const sn_rt_info *info = &c->model->info;
  if (info->joint_count && (!c->input.joints || (uintptr_t)c->input.joints % 16))
    return fail(error, SN_CUDA_BAD_ARGUMENT, "the model needs the matrices of its %u joints, 16-byte aligned",
                info->joint_count);
  if (info->control_count && !c->input.controls)
    return fail(error, SN_CUDA_BAD_ARGUMENT, "the model needs its %u control points", info->control_count);
  if (info->torque_count && !c->input.torques)
    return fail(error, SN_CUDA_BAD_ARGUMENT, "the model needs the torques of its %u joints", info->torque_count);
  if (info->value_count && !c->input.values)
    return fail(error, SN_CUDA_BAD_ARGUMENT, "the model needs its %u named values", info->value_count);
  if (!c->output.positions.data) return fail(error, SN_CUDA_BAD_ARGUMENT, "there is no place for the positions");
  if (bad_array(&c->output.positions, info->vertex_count) || bad_array(&c->output.normals, info->vertex_count))
    return fail(error, SN_CUDA_BAD_ARGUMENT,
                "strides and pitches must be multiples of a number's size and leave room for three");
  if (c->output.positions.type > SN_CUDA_HALF || c->output.normals.type > SN_CUDA_HALF)
    return fail(error, SN_CUDA_BAD_ARGUMENT, "the type of an output is neither float nor half");
  size_t needed = sn_cuda_scratch_size(c->model, c->count, &c->output);
  if (needed && (!work->scratch || work->scratch_size < needed || (uintptr_t)work->scratch % 256))
    return fail(error, SN_CUDA_BAD_ARGUMENT, "%u characters need %zu bytes of scratch memory, 256-byte aligned", c->count,
                needed);
  return SN_CUDA_OK;
}

sn_cuda_status sn_cuda_evaluate(const sn_cuda_model *model, uint32_t characters, const sn_cuda_input *input,
                                const sn_cuda_output *output, const sn_cuda_work *work, sn_cuda_error *error) {
  if (!model) return fail(error, SN_CUDA_BAD_ARGUMENT, "there is no model");
  if (!input || !output || !work) return fail(error, SN_CUDA_BAD_ARGUMENT, "there is no input, output or scratch memory");
  if (!characters) return SN_CUDA_OK;
  crowd c = {};
  c.model = model, c.count = characters, c.input = *input, c.output = *output, c.stream = (cudaStream_t)work->stream;
  sn_cuda_status status = check_arguments(&c, work, error);
  if (status != SN_CUDA_OK) return status;
  scratch s = {(uint8_t *)work->scratch, 0};
  lay_out(&c, &s);
  cudaError_t said = sn_cuda_drive(&c);
  if (said == cudaSuccess) said = sn_cuda_correct(&c);
  if (said == cudaSuccess)
    said = recomputes(&c) ? sn_cuda_shade(&c) : sn_cuda_skin(&c);
  return said == cudaSuccess ? SN_CUDA_OK : fail_cuda(error, "a kernel cannot be launched", said);
}
