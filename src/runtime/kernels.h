// SPDX-License-Identifier: MIT
// The kernels of an instruction set, with the vectors of the file that includes this: separate loops for floats and packed numbers,
// with and without normals. SN_RT_KERNELS is the table's name.
#include "runtime/kernel_template.h"
#include "runtime/shade_template.h"
#if !defined(SN_RT_BASIC)
#include "runtime/product_template.h"
#include "runtime/rotreg_template.h"
#include "runtime/terms_template.h"
#endif

#define SN_RT_LOOP(name, by, kind, has_normals, ...)                                                                 \
  static void name(const sn_rt_job *job) {                                                                           \
    groups(job, by, (form){.bits = kind, .normals = has_normals, __VA_ARGS__});                                      \
  }
#define SN_RT_LOOPS(name, any, by, ...)                                                                              \
  SN_RT_LOOP(name##_floats, by, 32, 0, __VA_ARGS__)                                                                  \
  SN_RT_LOOP(name##_floats_normals, by, 32, 1, __VA_ARGS__)                                                          \
  SN_RT_LOOP(name##_packed, by, SN_RT_PACKED_BITS, 0, __VA_ARGS__)                                                   \
  SN_RT_LOOP(name##_packed_normals, by, SN_RT_PACKED_BITS, 1, __VA_ARGS__)                                           \
  static const sn_rt_kernel name##_loops[2][3] = {{name##_floats, name##_packed, any},                               \
                                                  {name##_floats_normals, name##_packed_normals, any}};

SN_RT_LOOPS(linear, linear_any, blending_linear, .corrected = 0)
SN_RT_LOOPS(dualquat, dualquat_any, blending_turned, .corrected = 0)

// Which loop: of floats, of packed numbers, or the generic one, which palettes that are not rigid need too.
static SN_RT_INLINE int kind_of(const sn_rt_job *job, int stretched) {
  return stretched ? 2 : job->skin.weight_bits == 32 ? 0 : job->skin.weight_bits == SN_RT_PACKED_BITS ? 1 : 2;
}

// Only linear blends of floats and of packed numbers have separate loops.
SN_RT_LOOP(tangents_floats, blending_tangents, 32, 0, .corrected = 0)
SN_RT_LOOP(tangents_packed, blending_tangents, SN_RT_PACKED_BITS, 0, .corrected = 0)

static void tangents(const sn_rt_job *job) {
  static const sn_rt_kernel loops[] = {tangents_floats, tangents_packed, tangents_any};
  loops[kind_of(job, job->tangent_rotation != SN_RT_ROTATE_LINEAR)](job);
}

#if defined(SN_RT_BASIC)
static void linear(const sn_rt_job *job) { linear_loops[job->normals != NULL][kind_of(job, 0)](job); }
static void dualquat(const sn_rt_job *job) {
  dualquat_loops[job->normals != NULL][kind_of(job, is_stretched(job))](job);
}

const sn_rt_kernels SN_RT_KERNELS = {.linear = linear, .dualquat = dualquat, .shade = shade, .tangents = tangents};
#else
SN_RT_LOOPS(linear_corrected, linear_any, blending_linear, .corrected = 1)
SN_RT_LOOPS(dualquat_corrected, dualquat_any, blending_turned, .corrected = 1)
SN_RT_LOOPS(centres, centres_any, blending_turned, .about = 1)

// End of the run of blocks from `from` on that all have corrections, or all have none, within the group.
static uint32_t alike_from(const sn_rt_job *job, const sn_rt_group *g, uint32_t from) {
  const uint32_t *start = job->correct.stored.start + g->first_block;
  uint32_t end = from + 1;
  while (end < g->block_count && (start[end] == start[end + 1]) == (start[from] == start[from + 1])) end++;
  return end;
}

static int has_corrections(const sn_rt_job *job, const sn_rt_group *g, uint32_t block) {
  const uint32_t *start = job->correct.stored.start + g->first_block + block;
  return start[0] != start[1];
}

// The choice of loop depends on the block only, so that a range gives the same bits as the whole.
static void run_part(sn_rt_job part, int corrected, const sn_rt_kernel loops[2]) {
  if (!corrected) part.correct.stored.start = NULL;
  loops[corrected](&part);
}

// A group of which some blocks have corrections: every run of blocks as a separate group.
static void by_runs(const sn_rt_job *job, uint32_t index, const sn_rt_kernel loops[2]) {
  const sn_rt_group *g = job->skin.groups + index;
  for (uint32_t b = 0, end; b < g->block_count; b = end) {
    sn_rt_group run;
    end = alike_from(job, g, b);
    sn_rt_job part = sn_rt_run_of(job, index, b, end - b, &run);
    run_part(part, has_corrections(job, g, b), loops);
  }
}

// loops[1] for blocks with corrections, loops[0] for others. Consecutive groups of one kind are one job.
static void by_corrections(const sn_rt_job *job, const sn_rt_kernel loops[2]) {
  for (uint32_t index = job->first_group, end; index < job->last_group; index = end) {
    const sn_rt_group *g = job->skin.groups + index;
    end = index + 1;
    if (g->block_count == 0) continue;
    if (alike_from(job, g, 0) < g->block_count) {
      by_runs(job, index, loops);
      continue;
    }
    int corrected = has_corrections(job, g, 0);
    for (; end < job->last_group; end++) {
      const sn_rt_group *next = job->skin.groups + end;
      if (next->block_count &&
          (has_corrections(job, next, 0) != corrected || alike_from(job, next, 0) < next->block_count))
        break;
    }
    sn_rt_job part = *job;
    part.first_group = index, part.last_group = end;
    run_part(part, corrected, loops);
  }
}

static void linear(const sn_rt_job *job) {
  int normals = job->normals != NULL, kind = kind_of(job, 0);
  const sn_rt_kernel loops[2] = {linear_loops[normals][kind], linear_corrected_loops[normals][kind]};
  if (job->correct.stored.start && !job->correct.dense)
    by_corrections(job, loops);
  else
    loops[job->correct.stored.start != NULL](job);
}

// Separating corrected blocks does not speed up dual quaternions.
static void dualquat(const sn_rt_job *job) {
  int normals = job->normals != NULL, kind = kind_of(job, is_stretched(job));
  (job->correct.stored.start ? dualquat_corrected_loops : dualquat_loops)[normals][kind](job);
}

static void centres(const sn_rt_job *job) {
  centres_loops[job->normals != NULL][kind_of(job, is_stretched(job) || job->correct.stored.start)](job);
}

const sn_rt_kernels SN_RT_KERNELS = {linear, dualquat, centres, rotreg, shade, tangents, mix_terms, product};
#endif
