// SPDX-License-Identifier: MIT
// The blend and shade slots: chunks of the vertex range, handed to the kernels of the chosen instruction set.
#include <string.h>

#include "runtime/internal.h"

#if defined(SN_RT_HAS_AVX2)
#include <cpuid.h>
#endif

// ---- instruction sets ---------------------------------------------------------------------------------------------------

#if defined(SN_RT_HAS_AVX2)
// AVX2 and FMA in the processor, and the operating system saves the wide registers.
static int cpu_has_avx2(void) {
  unsigned a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_FMA) || !(c & bit_OSXSAVE) || !(c & bit_AVX)) return 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  return (b & bit_AVX2) != 0;
}
#endif

const sn_rt_kernels *sn_rt_kernels_of(sn_rt_path path) {
  switch (path) {
#if defined(SN_RT_HAS_AVX2)
  case SN_RT_PATH_AVX2:
    return &sn_rt_avx2_kernels;
#endif
#if defined(SN_RT_HAS_SSE2)
  case SN_RT_PATH_SSE2:
    return &sn_rt_sse2_kernels;
#endif
#if defined(SN_RT_HAS_NEON)
  case SN_RT_PATH_NEON:
    return &sn_rt_neon_kernels;
#endif
#if defined(SN_RT_HAS_WASM)
  case SN_RT_PATH_WASM:
    return &sn_rt_wasm_kernels;
#endif
  case SN_RT_PATH_SCALAR:
    return &sn_rt_scalar_kernels;
  default:
    return NULL;
  }
}

sn_rt_path sn_rt_best_path(void) {
#if defined(SN_RT_HAS_AVX2)
  if (cpu_has_avx2()) return SN_RT_PATH_AVX2;
#endif
#if defined(SN_RT_HAS_SSE2)
  return SN_RT_PATH_SSE2;
#elif defined(SN_RT_HAS_NEON)
  return SN_RT_PATH_NEON;
#elif defined(SN_RT_HAS_WASM)
  return SN_RT_PATH_WASM;
#else
  return SN_RT_PATH_SCALAR;
#endif
}

int sn_rt_use_path(sn_rt_model *model, sn_rt_path path) {
  if (path == SN_RT_PATH_BEST) path = sn_rt_best_path();
#if defined(SN_RT_HAS_AVX2)
  if (path == SN_RT_PATH_AVX2 && !cpu_has_avx2()) return 0;
#endif
  if (!sn_rt_kernels_of(path)) return 0;
  model->path = path;
  return 1;
}

// ---- ranges -----------------------------------------------------------------------------------------------------------------

static sn_rt_job new_job(const sn_rt_model *model, const void *scratch) {
  sn_rt_scratch at = sn_rt_scratch_at(model, scratch);
  sn_rt_job job = {.skin = sn_rt_stored_of(model),
                   .weight_unit = 1 / sn_rt_weight_total(model->info.weight_bits),
                   .weight_total = sn_rt_weight_total(model->info.weight_bits),
                   .scratch = at,
                   .correct = sn_rt_new_correcting(model, &at)};
  // Models that recompute normals may have none of the rest pose: the pointer goes along with that of the positions, unread.
  if (!job.skin.normals) job.skin.normals = job.skin.rest;
  return job;
}

// The job of one block, `block` of group `group` of the chunk, whose lanes go to places 0 to 7; `one` is its group.
static sn_rt_job one_block(const sn_rt_job *chunk, uint32_t group, uint32_t block, sn_rt_group *one) {
  static const uint16_t in_order[1][SN_RT_LANES] = {{0, 1, 2, 3, 4, 5, 6, 7}};
  sn_rt_job job = *chunk;
  *one = chunk->skin.groups[group];
  size_t at = (size_t)one->first_block + block;
  one->first_weight += block * (one->influences - 1u), one->first_tuple += block * one->influences;
  one->block_count = 1, one->first_block = 0;
  int packed = job.skin.boxes != NULL;
  job.skin.groups = one, job.first_group = 0, job.last_group = 1, job.skin.lanes = in_order;
  job.skin.rest = (const char *)job.skin.rest + at * 3 * SN_RT_LANES * (packed ? sizeof(uint16_t) : sizeof(float));
  job.skin.normals =
    (const char *)job.skin.normals + at * (packed ? 2 * (size_t)SN_RT_PACKED_ROW : 3 * SN_RT_LANES * sizeof(float));
  if (packed) job.skin.boxes += group;
  sn_rt_stored_corrections *c = &job.correct.stored;
  if (c->start) c->start += at;
  if (c->limits) {
    c->limits = (const char *)c->limits + at * SN_RT_LANES * (c->limit_unit > 0 ? sizeof(uint16_t) : sizeof(float));
  }
  return job;
}

// Vertices begin .. end - 1 of a chunk only: every block with such a vertex is evaluated into a buffer of its own.
static void skin_part(const sn_rt_job *chunk, sn_rt_kernel kernel, uint32_t begin, uint32_t end) {
  float positions[SN_RT_LANES][3], normals[SN_RT_LANES][3];
  for (uint32_t index = chunk->first_group; index < chunk->last_group; index++) {
    const sn_rt_group *g = chunk->skin.groups + index;
    for (uint32_t b = 0; b < g->block_count; b++) {
      const uint16_t *lanes = chunk->skin.lanes[(size_t)g->first_block + b];
      int wanted = 0;
      for (int l = 0; l < SN_RT_LANES; l++) wanted |= lanes[l] >= begin && lanes[l] < end;
      if (!wanted) continue;
      sn_rt_group one;
      sn_rt_job job = one_block(chunk, index, b, &one);
      job.positions = (char *)positions, job.position_stride = sizeof *positions;
      job.normals = chunk->normals ? (char *)normals : NULL, job.normal_stride = sizeof *normals;
      kernel(&job);
      for (int l = 0; l < SN_RT_LANES; l++) {
        if (lanes[l] < begin || lanes[l] >= end) continue;
        memcpy(chunk->positions + lanes[l] * chunk->position_stride, positions[l], sizeof *positions);
        if (chunk->normals) memcpy(chunk->normals + lanes[l] * chunk->normal_stride, normals[l], sizeof *normals);
      }
    }
  }
}

static int bad_stride(size_t stride) { return stride && (stride < 12 || stride % 4); }

static sn_rt_status check_arguments(const sn_rt_model *model, const sn_rt_output *output, uint32_t first,
                                    uint32_t count, sn_rt_error *error) {
  if (!model->bytes) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "the model is not open");
  if (!output || !output->positions)
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "there is no place for the positions");
  if (bad_stride(output->position_stride) || bad_stride(output->normal_stride)) {
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "strides must be multiples of 4 and at least 12 bytes (0: 12)");
  }
  if (first > model->info.vertex_count || count > model->info.vertex_count - first) {
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "vertices %u to %u are not all there: the model has %u", first,
                      first + count, model->info.vertex_count);
  }
  return SN_RT_OK;
}

sn_rt_status sn_rt_skin(const sn_rt_model *model, const void *scratch, const sn_rt_output *output, uint32_t first,
                        uint32_t count, sn_rt_error *error) {
  sn_rt_status status = check_arguments(model, output, first, count, error);
  if (status || count == 0) return status;
  if (!scratch) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "there is no scratch memory");
  sn_rt_job job = new_job(model, scratch);
  const sn_rt_kernels *kernels = sn_rt_kernels_of((sn_rt_path)*job.scratch.path);
  if (!kernels) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "there is no palette in the scratch memory");
  sn_rt_kernel kernel = model->info.blend == SN_RT_BLEND_LINEAR   ? kernels->linear
                        : (*job.scratch.flags & SN_RT_RIGID) != 0 ? kernels->dualquat
                                                                  : kernels->stretched;
  job.position_stride = output->position_stride ? output->position_stride : 12;
  job.normal_stride = output->normal_stride ? output->normal_stride : 12;
  int normals = output->normals && model->info.shade == SN_RT_SHADE_TRANSFORM;

  const uint32_t *chunks = model->sections[SN_SECTION_SKIN_CHUNKS];
  uint32_t grain = model->info.grain, end = first + count;
  for (uint32_t c = first / grain; (uint64_t)c * grain < end; c++) {
    uint32_t start = c * grain,
             stop = model->info.vertex_count - start < grain ? model->info.vertex_count : start + grain;
    job.first_group = chunks[c], job.last_group = chunks[c + 1];
    job.positions = (char *)output->positions + start * job.position_stride;
    job.normals = normals ? (char *)output->normals + start * job.normal_stride : NULL;
    if (first <= start && stop <= end) {
      kernel(&job);
    } else {
      skin_part(&job, kernel, first > start ? first - start : 0, end < stop ? end - start : stop - start);
    }
  }
  return SN_RT_OK;
}

// ---- normals from the deformed triangles (Wang 2007, section 6) ----------------------------------------------------------

// Vertices first .. end - 1 of one block: it is evaluated into a buffer.
static void shade_part(const sn_rt_shade_job *all, const sn_rt_kernels *kernels, uint32_t first, uint32_t end) {
  float normals[SN_RT_LANES][3];
  sn_rt_shade_job job = *all;
  job.first_block = first / SN_RT_LANES, job.last_block = job.first_block + 1;
  job.normals = (char *)normals, job.normal_stride = sizeof *normals;
  kernels->shade(&job);
  for (uint32_t i = first; i < end; i++) {
    memcpy(all->normals + i * all->normal_stride, normals[i % SN_RT_LANES], sizeof *normals);
  }
}

sn_rt_status sn_rt_normals(const sn_rt_model *model, const sn_rt_output *output, uint32_t first, uint32_t count,
                           sn_rt_error *error) {
  sn_rt_status status = check_arguments(model, output, first, count, error);
  if (status || model->info.shade != SN_RT_SHADE_RECOMPUTE || !output->normals) return status;
  const sn_rt_kernels *kernels = sn_rt_kernels_of(model->path);
  sn_rt_shade_job job = {.start = model->sections[SN_SECTION_SHADE_START],
                         .fans = model->sections[SN_SECTION_SHADE_FANS],
                         .own = model->sections[SN_SECTION_SHADE_OWN],
                         .index_bytes = sn_rt_fan_bytes(model->info.vertex_count),
                         .last_vertex = model->info.vertex_count - 1,
                         .positions = (const char *)output->positions,
                         .position_stride = output->position_stride ? output->position_stride : 12,
                         .normals = (char *)output->normals,
                         .normal_stride = output->normal_stride ? output->normal_stride : 12};
  uint32_t end = first + count, whole = (first + SN_RT_LANES - 1) / SN_RT_LANES * SN_RT_LANES;
  if (whole > end) whole = end;
  uint32_t rest = whole + (end - whole) / SN_RT_LANES * SN_RT_LANES;
  if (first < whole) shade_part(&job, kernels, first, whole);
  if (rest < end) shade_part(&job, kernels, rest, end);
  job.first_block = whole / SN_RT_LANES, job.last_block = rest / SN_RT_LANES;
  job.normals += whole * job.normal_stride;
  if (whole < rest) kernels->shade(&job);
  return SN_RT_OK;
}

sn_rt_status sn_rt_evaluate(const sn_rt_model *model, const sn_rt_input *input, void *scratch,
                            const sn_rt_output *output, sn_rt_error *error) {
  sn_rt_status status = sn_rt_palette(model, input, scratch, error);
  if (!status) status = sn_rt_skin(model, scratch, output, 0, model->info.vertex_count, error);
  if (!status) status = sn_rt_normals(model, output, 0, model->info.vertex_count, error);
  return status;
}
