// SPDX-License-Identifier: MIT
// Queries of a model: joints, sections, memory and operation counts.
#include "runtime/drive.h"

// Name n of a section of `count` names: starts, then the text.
static const char *name_at(const sn_rt_model *model, sn_rt_section_id id, uint32_t count, uint32_t n) {
  const uint32_t *start = sn_rt_data(model, id);
  return n < count ? (const char *)(start + count + 1) + start[n] : NULL;
}

static int32_t find_name(const sn_rt_model *model, sn_rt_section_id id, uint32_t count, const char *name) {
  for (uint32_t n = 0; n < count; n++)
    if (sn_rt_same_text(name_at(model, id, count, n), name)) return (int32_t)n;
  return -1;
}

const char *sn_rt_joint_name(const sn_rt_model *model, uint32_t joint) {
  return name_at(model, SN_SECTION_JOINT_NAMES, model->info.joint_count, joint);
}

int32_t sn_rt_find_joint(const sn_rt_model *model, const char *name) {
  return find_name(model, SN_SECTION_JOINT_NAMES, model->info.joint_count, name);
}

const char *sn_rt_value_name(const sn_rt_model *model, uint32_t value) {
  return name_at(model, SN_SECTION_VALUE_NAMES, model->info.value_count, value);
}

int32_t sn_rt_find_value(const sn_rt_model *model, const char *name) {
  return find_name(model, SN_SECTION_VALUE_NAMES, model->info.value_count, name);
}

int32_t sn_rt_joint_parent(const sn_rt_model *model, uint32_t joint) {
  const int32_t *parents = sn_rt_data(model, SN_SECTION_JOINT_PARENTS);
  return joint < model->info.joint_count ? parents[joint] : -1;
}

int sn_rt_value_range(const sn_rt_model *model, uint32_t value, float range[2]) {
  const float(*ranges)[2] = sn_rt_data(model, SN_SECTION_VALUE_RANGES);
  range[0] = range[1] = 0;
  if (value >= model->info.value_count) return 0;
  range[0] = ranges[value][0], range[1] = ranges[value][1];
  return 1;
}

const void *(sn_rt_data)(const sn_rt_model *model, sn_rt_section_id id) { return sn_rt_at(model)->sections[id]; }
uint64_t(sn_rt_size)(const sn_rt_model *model, sn_rt_section_id id) { return sn_rt_at(model)->sizes[id]; }
const void *sn_rt_get_bytes(const sn_rt_model *model) { return sn_rt_at(model)->bytes; }
sn_rt_path sn_rt_get_path(const sn_rt_model *model) { return sn_rt_at(model)->path; }

sn_rt_section sn_rt_get_section(const sn_rt_model *model, uint32_t index) {
  if (index >= model->info.section_count) return (sn_rt_section){NULL, NULL, 0};
  const sn_rt_entry *entry = (const sn_rt_entry *)(sn_rt_at(model)->bytes + sizeof(sn_rt_header)) + index;
  return (sn_rt_section){entry->name, sn_rt_at(model)->bytes + entry->offset, entry->size};
}

const void *sn_rt_find_section(const sn_rt_model *model, const char *name, uint64_t *size) {
  for (uint32_t s = 0; s < model->info.section_count; s++) {
    sn_rt_section section = sn_rt_get_section(model, s);
    if (!sn_rt_same_text(section.name, name)) continue;
    if (size) *size = section.size;
    return section.bytes;
  }
  if (size) *size = 0;
  return NULL;
}

// ---- scratch memory: 64 bytes of flags, then the arrays of sn_rt_scratch ---------------------------------------------

enum { matrix = 16, dualquat = 8 }; // floats

static int has_scaled(const sn_rt_model *model) {
  return model->info.blend == SN_RT_BLEND_LINEAR && model->info.weight_bits != 32;
}

static size_t entry_bytes(const sn_rt_model *model) {
  int linear = model->info.blend == SN_RT_BLEND_LINEAR;
  return sizeof(float) * (has_scaled(model) ? 2 * matrix : linear ? matrix : 2 * matrix + dualquat);
}

static uint64_t padded(uint64_t floats) { return (floats + 15) / 16 * 16; }

static uint64_t mark_floats(const sn_rt_model *model) { // two bytes for every joint
  return padded(((uint64_t)model->info.joint_count + 1) / 2);
}

static uint64_t rotation_count(const sn_rt_model *model) {
  // The values come after the rotations.
  int used = sn_rt_data(model, SN_SECTION_JOINT_REFERENCE) || model->info.value_count;
  return 8 * (uint64_t)(used ? model->info.joint_count : 0) + model->info.value_count;
}

static uint64_t drive_floats(const sn_rt_model *model) {
  const sn_rt_driver *driver = sn_rt_driver_of(model);
  return driver->scratch ? driver->scratch(model) / sizeof(float) : 0;
}

// Outputs larger than this do not fit in a thread's part of the caches: streaming stores are used.
static const uint64_t stream_bytes = 8 << 20;

static uint32_t largest_chunk(const sn_rt_model *model) {
  return model->info.vertex_count < model->info.grain ? model->info.vertex_count : model->info.grain;
}

size_t sn_rt_staging_size(const sn_rt_model *model) { return 2 * sn_rt_staged_bytes(largest_chunk(model)) + 64; }

static uint64_t staging_need(const sn_rt_model *model) {
  return sn_rt_can_stream() && 24 * (uint64_t)model->info.vertex_count >= stream_bytes ? sn_rt_staging_size(model)
                                                                                       : 0;
}

uint64_t sn_rt_scratch_need(const sn_rt_model *model) {
  uint64_t floats = padded(rotation_count(model)) + padded(sn_rt_value_count(model)) +
                    padded(sn_rt_at(model)->work_count) + padded(drive_floats(model)) + mark_floats(model) +
                    padded(sn_rt_term_floats(model));
  return 3 * SN_RT_ALIGNMENT + (uint64_t)model->info.palette_count * entry_bytes(model) + floats * sizeof(float) +
         staging_need(model);
}

size_t sn_rt_scratch_size(const sn_rt_model *model) { return (size_t)sn_rt_scratch_need(model); }

sn_rt_scratch sn_rt_scratch_at(const sn_rt_model *model, const void *memory) {
  uintptr_t start = ((uintptr_t)memory + SN_RT_ALIGNMENT - 1) & ~(uintptr_t)(SN_RT_ALIGNMENT - 1);
  size_t count = model->info.palette_count;
  char *at = (char *)start;
  sn_rt_scratch s = {.flags = (uint32_t *)(void *)at,
                     .path = (uint32_t *)(void *)at + 1,
                     .stamp = (uint32_t *)(void *)at + 2,
                     .matrices = (float *)(void *)(at + SN_RT_ALIGNMENT)};
  s.scaled = has_scaled(model) ? s.matrices + matrix * count : s.matrices;
  if (model->info.blend != SN_RT_BLEND_LINEAR) {
    s.stretches = s.matrices + matrix * count;
    s.dualquats = s.stretches + matrix * count;
  }
  float *drive = s.matrices + padded(count * entry_bytes(model) / sizeof(float));
  s.drive = drive;
  s.rotations = drive + padded(drive_floats(model));
  s.values = s.rotations + padded(rotation_count(model));
  s.work = (double *)(void *)(s.values + padded(sn_rt_value_count(model)));
  s.moved = (uint8_t *)((float *)(void *)s.work + padded(sn_rt_at(model)->work_count));
  s.rotated = s.moved + model->info.joint_count;
  s.terms = (float *)(void *)s.moved + mark_floats(model);
  s.term_groups = (sn_rt_term_group *)(void *)(s.terms + sn_rt_at(model)->term_count + SN_RT_LANES);
  if (staging_need(model)) s.staging = s.terms + padded(sn_rt_term_floats(model));
  return s;
}

// ---- work ------------------------------------------------------------------------------------------------------------------
// Floating-point operations of one evaluation with normals (each multiplication, addition, division or root is one),
// without padding lanes of blocks.

static uint64_t blend_flops(const sn_rt_info *info) {
  static const struct {
    uint64_t influence, transform, normal, entry; // entry: of the palette
  } costs[] = {                                   // sum_k w_k M_k; M p; cofactor(M) n, normalised
               [SN_RT_BLEND_LINEAR] = {24, 18, 3 * 3 + 9 + 9 + 6 + 10, 0},
               // 2/|r|^2, r x p + w p + d, r x that, + w d - e r, p + ...
               [SN_RT_BLEND_DUALQUAT] = {16, 8 + 9 + 6 + 3 + 9 + 12 + 6, 9 + 6 + 9 + 6, 40},
               // sum_k w_k M_k, sum_k w_k q_k; 2/|q|^2, p - c, R of it, B c, their sum
               [SN_RT_BLEND_CENTRES] = {32, 8 + 3 + 9 + 6 + 9 + 6 + 18 + 3, 9 + 6 + 9 + 6, 40}};
  uint64_t vertex = costs[info->blend].transform, one = costs[info->blend].influence;
  if (info->shade == SN_RT_SHADE_TRANSFORM) vertex += costs[info->blend].normal;
  return one * info->influence_count - one / 2 * info->vertex_count + vertex * info->vertex_count +
         costs[info->blend].entry * info->palette_count;
}

void sn_rt_count_work(sn_rt_model *model) {
  sn_rt_info *info = &model->info;
  info->scratch_size = sn_rt_scratch_size(model);
  info->flops = blend_flops(info) + sn_rt_driver_of(model)->work(model);
  if (info->shade == SN_RT_SHADE_RECOMPUTE)
    info->flops += 27 * (uint64_t)info->triangle_count + 10 * (uint64_t)info->vertex_count;
  if (info->correct != SN_RT_CORRECT_NONE) {
    const sn_rt_correct_head *head = sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
    uint64_t corrected = SN_RT_LANES * (uint64_t)head->entry_count;
    info->flops += 12 * corrected + 2 * (sn_rt_size(model, SN_SECTION_CORRECT_NUMBERS) / 8) + sn_rt_term_work(model) +
                   60 * (uint64_t)info->joint_count;
  }
  static const sn_rt_section_id read[] = {
    SN_SECTION_SKIN_GROUPS,     SN_SECTION_SKIN_LANES,      SN_SECTION_SKIN_REST,       SN_SECTION_SKIN_WEIGHTS,
    SN_SECTION_SKIN_TUPLES,     SN_SECTION_SHADE_START,     SN_SECTION_SHADE_FANS,      SN_SECTION_SHADE_OWN,
    SN_SECTION_CORRECT_START,   SN_SECTION_CORRECT_ENTRIES, SN_SECTION_CORRECT_DELTAS,  SN_SECTION_CORRECT_LIMITS,
    SN_SECTION_CORRECT_NUMBERS, SN_SECTION_CORRECT_JOINTS,  SN_SECTION_JOINT_REFERENCE, SN_SECTION_CORRECT_FIELDS,
    SN_SECTION_CORRECT_HEAD,    SN_SECTION_DRIVE_PAIRS,     SN_SECTION_DRIVE_KEYS,      SN_SECTION_DRIVE_SOLVE,
    SN_SECTION_PACK_SOLVE,      SN_SECTION_PACK_SCALES,     SN_SECTION_CONTROL_FRAMES,  SN_SECTION_CONTROL_MAP,
    SN_SECTION_CONTROL_SOLVE,   SN_SECTION_PACK_BOXES,      SN_SECTION_PACK_REST,       SN_SECTION_PACK_WEIGHTS,
    SN_SECTION_PACK_TUPLES,     SN_SECTION_PACK_ENTRIES,    SN_SECTION_PACK_DELTAS,     SN_SECTION_PACK_LIMITS,
    SN_SECTION_SKIN_CENTRES,    SN_SECTION_CORRECT_TERMS,   SN_SECTION_CORRECT_MIX};
  for (size_t s = 0; s < sizeof read / sizeof *read; s++) info->bytes_read += sn_rt_size(model, read[s]);
  if (info->shade == SN_RT_SHADE_TRANSFORM)
    info->bytes_read += sn_rt_size(model, SN_SECTION_SKIN_NORMALS) + sn_rt_size(model, SN_SECTION_PACK_NORMALS);
}
