// SPDX-License-Identifier: MIT
// Tangents: chunks of the vertex range, as in skin.c, when the normals are there.
#include "runtime/half.h"
#include "runtime/internal.h"

static sn_rt_turning turning_of(const sn_rt_model *model, const sn_rt_job *job) {
  if (model->info.blend == SN_RT_BLEND_LINEAR) return SN_RT_TURN_LINEAR;
  return *job->scratch.flags & SN_RT_RIGID ? SN_RT_TURN_RIGID : SN_RT_TURN_STRETCHED;
}

static void read_normal(const char *from, int half, float out[3]) {
  uint16_t halves[3];
  memcpy(half ? (void *)halves : out, from, half ? sizeof halves : 3 * sizeof *out);
  for (int c = 0; half && c < 3; c++) out[c] = sn_rt_half_value(halves[c]);
}

// Vertices begin to end - 1 of the chunk.
typedef struct part {
  const sn_rt_tangent_output *output;
  sn_rt_kernel kernel;
  uint32_t begin, end;
} part;

static int wanted(const part *p, size_t block, const uint16_t *lanes) {
  if (p->output->blocks && !(p->output->blocks[block / 32] >> block % 32 & 1)) return 0;
  for (int l = 0; l < SN_RT_LANES; l++)
    if (lanes[l] >= p->begin && lanes[l] < p->end) return 1;
  return 0;
}

// Every block with a vertex that is wanted, through buffers of its own. Normals outside of the range are not read.
static void some_blocks(const sn_rt_job *chunk, const part *p) {
  float normals[SN_RT_LANES][3], tangents[SN_RT_LANES][4];
  for (uint32_t index = chunk->first_group; index < chunk->last_group; index++) {
    const sn_rt_group *g = chunk->skin.groups + index;
    for (uint32_t b = 0; b < g->block_count; b++) {
      const uint16_t *lanes = chunk->skin.lanes[(size_t)g->first_block + b];
      if (!wanted(p, (size_t)g->first_block + b, lanes)) continue;
      sn_rt_group one;
      sn_rt_job job = sn_rt_block_job(chunk, index, b, &one);
      memset(normals, 0, sizeof normals);
      for (int l = 0; l < SN_RT_LANES; l++) {
        if (lanes[l] < p->begin || lanes[l] >= p->end) continue;
        read_normal(chunk->normals + lanes[l] * chunk->normal_stride, p->output->flags & SN_RT_HALF_NORMALS,
                    normals[l]);
      }
      job.normals = (char *)normals, job.normal_stride = sizeof *normals;
      job.tangents = (char *)tangents, job.tangent_stride = sizeof *tangents;
      p->kernel(&job);
      for (int l = 0; l < SN_RT_LANES; l++) {
        if (lanes[l] < p->begin || lanes[l] >= p->end) continue;
        sn_rt_put(chunk->tangents + lanes[l] * chunk->tangent_stride, tangents[l], 4,
                  p->output->flags & SN_RT_HALF_TANGENTS);
      }
    }
  }
}

static int bad_stride(size_t stride, size_t count, int half) {
  size_t size = half ? sizeof(uint16_t) : sizeof(float);
  return stride && (stride < count * size || stride % size);
}

static sn_rt_status check_arguments(const sn_rt_model *model, const void *scratch, const sn_rt_tangent_output *output,
                                    uint32_t first, uint32_t count, sn_rt_error *error) {
  if (!model->bytes) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "the model is not open");
  if (!model->info.tangents)
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "the model has no tangents: train it with the option tangents=1");
  if (!scratch) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "there is no scratch memory");
  if (!output || !output->tangents || !output->normals)
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "tangents need a place, and the normals of this frame");
  if (bad_stride(output->tangent_stride, 4, output->flags & SN_RT_HALF_TANGENTS) ||
      bad_stride(output->normal_stride, 3, output->flags & SN_RT_HALF_NORMALS)) {
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT,
                      "strides must be multiples of the size of a number and hold four of them, or a normal's three");
  }
  if (first > model->info.vertex_count || count > model->info.vertex_count - first) {
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "vertices %u to %u are not all there: the model has %u", first,
                      first + count, model->info.vertex_count);
  }
  return SN_RT_OK;
}

sn_rt_status sn_rt_tangents(const sn_rt_model *model, const void *scratch, const sn_rt_tangent_output *output,
                            uint32_t first, uint32_t count, sn_rt_error *error) {
  sn_rt_status status = check_arguments(model, scratch, output, first, count, error);
  if (status || count == 0) return status;
  sn_rt_job job = sn_rt_new_job(model, scratch);
  const sn_rt_kernels *kernels = sn_rt_kernels_of((sn_rt_path)*job.scratch.path);
  if (!kernels) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "there is no palette in the scratch memory");
  int half_normals = output->flags & SN_RT_HALF_NORMALS, half = output->flags & SN_RT_HALF_TANGENTS;
  job.correct.stored.start = NULL; // corrections turn the normal, and the tangent with it
  job.turning = turning_of(model, &job);
  job.normal_stride = output->normal_stride ? output->normal_stride : half_normals ? 6 : 12;
  job.tangent_stride = output->tangent_stride ? output->tangent_stride : half ? 8 : 16;
  part p = {.output = output, .kernel = kernels->tangents};
  const uint32_t *chunks = model->sections[SN_SECTION_SKIN_CHUNKS];
  uint32_t grain = model->info.grain, vertices = model->info.vertex_count, end = first + count;
  for (uint32_t c = first / grain; (uint64_t)c * grain < end; c++) {
    uint32_t start = c * grain, stop = vertices - start < grain ? vertices : start + grain;
    job.first_group = chunks[c], job.last_group = chunks[c + 1];
    job.normals = (char *)(uintptr_t)output->normals + start * job.normal_stride;
    job.tangents = (char *)output->tangents + start * job.tangent_stride;
    p.begin = first > start ? first - start : 0, p.end = end < stop ? end - start : stop - start;
    if (first <= start && stop <= end && !half && !half_normals && !output->blocks)
      p.kernel(&job);
    else
      some_blocks(&job, &p);
  }
  return SN_RT_OK;
}
