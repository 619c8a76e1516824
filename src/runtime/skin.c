// SPDX-License-Identifier: MIT
// The blend and shade slots: chunks of the vertex range, handed to the kernels of the chosen instruction set.
#include <string.h>

#include "runtime/half.h"
#include "runtime/internal.h"

// ---- ranges -----------------------------------------------------------------------------------------------------------------

// A job of this model without its outputs.
static sn_rt_job new_job(const sn_rt_model *model, const void *scratch) {
  sn_rt_scratch at = sn_rt_scratch_at(model, scratch);
  sn_rt_job job = {.skin = sn_rt_stored_of(model),
                   .weight_unit = 1 / sn_rt_weight_total(model->info.weight_bits),
                   .weight_total = sn_rt_weight_total(model->info.weight_bits),
                   .centres = sn_rt_data(model, SN_SECTION_SKIN_CENTRES),
                   .scratch = at,
                   .rows = sn_rt_data(model, SN_SECTION_MESH_ORDER) != NULL,
                   .correct = sn_rt_new_correcting(model, &at)};
  // Models that recompute normals may have no rest normals: any valid pointer, which is not read.
  if (!job.skin.normals) job.skin.normals = job.skin.rest;
  return job;
}

static sn_rt_kernel kernel_for(const sn_rt_model *model, const sn_rt_kernels *kernels) {
  if (model->info.blend == SN_RT_BLEND_LINEAR) return kernels->linear;
  return model->info.blend == SN_RT_BLEND_DUALQUAT ? kernels->dualquat : kernels->centres;
}

// The requested part of a chunk.
typedef struct request {
  const sn_rt_output *output;
  sn_rt_kernel kernel;
  void (*whole)(const sn_rt_job *chunk, const struct request *r); // for chunks with all vertices requested
  uint32_t first_block, end_block; // only blocks first_block .. end_block - 1; 0 and 0: all
  uint32_t begin, end;             // vertices of the chunk
  int far_away;                    // outputs are not in the caches
} request;

static int in_range(const request *r, size_t block) {
  return !r->end_block || (block >= r->first_block && block < r->end_block);
}

static int is_requested(const request *r, uint32_t vertex) { return vertex >= r->begin && vertex < r->end; }

static int is_requested_block(const request *r, size_t block, const uint16_t *lanes) {
  const uint32_t *mask = r->output->blocks;
  int requested = 0;
  for (int l = 0; l < SN_RT_LANES; l++) requested |= is_requested(r, lanes[l]);
  return requested && in_range(r, block) && (!mask || (mask[block / 32] >> block % 32 & 1));
}

static void extend(float bounds[6], const float p[3]) {
  for (int c = 0; c < 3; c++) {
    bounds[c] = p[c] < bounds[c] ? p[c] : bounds[c];
    bounds[3 + c] = p[c] > bounds[3 + c] ? p[c] : bounds[3 + c];
  }
}

static void read_normal(const char *from, int half, float out[3]) {
  uint16_t halves[3];
  memcpy(half ? (void *)halves : out, from, half ? sizeof halves : 3 * sizeof *out);
  for (int c = 0; half && c < 3; c++) out[c] = sn_rt_half_value(halves[c]);
}

// The results of a block.
typedef struct block_results {
  float positions[SN_RT_LANES][3], normals[SN_RT_LANES][3], tangents[SN_RT_LANES][4];
} block_results;

static void put_vertex(const sn_rt_job *chunk, const request *r, uint32_t vertex, const block_results *from,
                       int lane) {
  uint32_t flags = r->output->flags;
  if (chunk->tangents) {
    sn_rt_put(chunk->tangents + vertex * chunk->tangent_stride, from->tangents[lane], 4, flags & SN_RT_HALF_TANGENTS);
    return;
  }
  sn_rt_put(chunk->positions + vertex * chunk->position_stride, from->positions[lane], 3,
            flags & SN_RT_HALF_POSITIONS);
  if (chunk->normals)
    sn_rt_put(chunk->normals + vertex * chunk->normal_stride, from->normals[lane], 3, flags & SN_RT_HALF_NORMALS);
  if (r->output->bounds) extend(r->output->bounds, from->positions[lane]);
}

// For ranges within a chunk and half-precision outputs: evaluates every block with a requested vertex into a buffer. The normals
// for tangents are read within the range only.
static void skin_part(const sn_rt_job *chunk, const request *r) {
  static const uint16_t in_order[SN_RT_LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
  block_results out = {0};
  int half = r->output->flags & SN_RT_HALF_NORMALS;
  for (uint32_t index = chunk->first_group; index < chunk->last_group; index++) {
    const sn_rt_group *g = chunk->skin.groups + index;
    for (uint32_t b = 0; b < g->block_count; b++) {
      const uint16_t *lanes = chunk->skin.lanes[(size_t)g->first_block + b];
      if (!is_requested_block(r, (size_t)g->first_block + b, lanes)) continue;
      sn_rt_group one;
      sn_rt_job job = sn_rt_run_of(chunk, index, b, 1, &one);
      job.lanes = in_order;
      job.positions = (char *)out.positions, job.position_stride = sizeof *out.positions;
      job.normals = chunk->normals ? (char *)out.normals : NULL, job.normal_stride = sizeof *out.normals;
      job.tangents = chunk->tangents ? (char *)out.tangents : NULL, job.tangent_stride = sizeof *out.tangents;
      for (int l = 0; chunk->tangents && l < SN_RT_LANES; l++)
        if (is_requested(r, lanes[l]))
          read_normal(chunk->normals + lanes[l] * chunk->normal_stride, half, out.normals[l]);
      r->kernel(&job);
      for (int l = 0; l < SN_RT_LANES; l++)
        if (is_requested(r, lanes[l])) put_vertex(chunk, r, lanes[l], &out, l);
    }
  }
}

// The first block of `from` .. end - 1 whose mask bit differs from `requested`, or `end`.
static size_t run_end(const request *r, size_t from, size_t end, uint32_t requested) {
  const uint32_t *blocks = r->output->blocks;
  while (from < end && !in_range(r, from)) {
    if (requested) return from;
    from = from < r->first_block && r->first_block < end ? r->first_block : end;
  }
  if (requested && r->end_block && r->end_block < end) end = r->end_block;
  if (!blocks) return requested ? end : from;
  while (from < end)
    if (from % 32 == 0 && end - from >= 32 && blocks[from / 32] == (requested ? ~0u : 0))
      from += 32;
    else if ((blocks[from / 32] >> from % 32 & 1) == requested)
      from++;
    else
      break;
  return from;
}

static void extend_over_blocks(const sn_rt_job *chunk, const request *r, size_t block, size_t end) {
  for (; r->output->bounds && block < end; block++)
    for (int l = 0; l < SN_RT_LANES; l++) {
      const char *at = chunk->positions + chunk->skin.lanes[block][l] * chunk->position_stride;
      extend(r->output->bounds, (const float *)(const void *)at);
    }
}

// Evaluates blocks first .. end - 1 (indices of the whole model), all of one group.
static void skin_run(const sn_rt_job *chunk, const request *r, uint32_t index, size_t first, size_t end) {
  sn_rt_group run;
  uint32_t skipped = (uint32_t)first - chunk->skin.groups[index].first_block;
  sn_rt_job job = sn_rt_run_of(chunk, index, skipped, (uint32_t)(end - first), &run);
  r->kernel(&job);
  extend_over_blocks(chunk, r, first, end);
}

static int all_requested(const sn_rt_group *g, const request *r) {
  size_t end = (size_t)g->first_block + g->block_count;
  return run_end(r, g->first_block, end, 1) == end;
}

// Consecutive groups with all blocks requested are one job; of others, every run of requested blocks is.
static void skin_blocks(const sn_rt_job *chunk, const request *r) {
  const sn_rt_group *groups = chunk->skin.groups;
  for (uint32_t index = chunk->first_group, last; index < chunk->last_group; index = last) {
    for (last = index; last < chunk->last_group && all_requested(groups + last, r);) last++;
    if (last > index) {
      sn_rt_job job = *chunk;
      job.first_group = index, job.last_group = last;
      r->kernel(&job);
      for (uint32_t n = index; n < last; n++)
        extend_over_blocks(chunk, r, groups[n].first_block, (size_t)groups[n].first_block + groups[n].block_count);
      continue;
    }
    size_t end = (size_t)groups[index].first_block + groups[index].block_count, first = groups[index].first_block;
    while ((first = run_end(r, first, end, 0)) < end) {
      size_t stop = run_end(r, first, end, 1);
      skin_run(chunk, r, index, first, stop);
      first = stop;
    }
    last = index + 1;
  }
}

// Blocks scatter their results, which hardware prefetchers cannot predict: prefetches the outputs if they exceed the caches. Not
// needed for a single chunk or for vertices in the order of the blocks.
static void prefetch(const char *results, size_t size) {
#if defined(__GNUC__)
  enum { line = 64 };
  for (size_t at = 0; at < size; at += line) __builtin_prefetch(results + at, 1, 3);
#else
  (void)results, (void)size;
#endif
}

static int is_aligned(const char *results) { return (uintptr_t)results % 32 == 0; }

// Evaluates a whole chunk. With staging memory: streaming stores if blocks are contiguous in the output; otherwise results are
// assembled in the staging memory and copied.
static void skin_chunk(const sn_rt_job *chunk, const request *r) {
  sn_rt_job job = *chunk;
  int side_by_side = chunk->position_stride == 12 && (!chunk->normals || chunk->normal_stride == 12);
  if (r->output->staging && side_by_side && chunk->rows && is_aligned(chunk->positions) &&
      is_aligned(chunk->normals)) {
    job.stream = 1;
  } else if (r->output->staging && side_by_side) {
    job.positions = (char *)(((uintptr_t)r->output->staging + 63) & ~(uintptr_t)63);
    if (chunk->normals) job.normals = job.positions + sn_rt_staged_bytes(r->end);
  } else if (r->far_away) {
    prefetch(job.positions, r->end * job.position_stride);
    if (job.normals) prefetch(job.normals, r->end * job.normal_stride);
  }
  r->kernel(&job);
  for (uint32_t i = 0; r->output->bounds && i < r->end; i++)
    extend(r->output->bounds, (const float *)(const void *)(job.positions + i * job.position_stride));
  if (job.stream) sn_rt_fence();
  if (job.positions == chunk->positions) return;
  sn_rt_stream(chunk->positions, job.positions, 12 * (size_t)r->end);
  if (chunk->normals) sn_rt_stream(chunk->normals, job.normals, 12 * (size_t)r->end);
}

// ---- arguments --------------------------------------------------------------------------------------------------------

// Bytes from one vertex to the next; 0 for an invalid stride.
static size_t stride_of(size_t given, size_t numbers, int half) {
  size_t size = half ? sizeof(uint16_t) : sizeof(float);
  return !given ? numbers * size : given < numbers * size || given % size ? 0 : given;
}

// Sets the strides of a job, and checks the arguments common to skin, normals and tangents.
static sn_rt_status check_arguments(const sn_rt_model *model, const sn_rt_output *output, uint32_t first,
                                    uint32_t count, sn_rt_job *job, sn_rt_error *error) {
  if (!sn_rt_at(model)->bytes) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "the model is not open");
  if (!output) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "there is no place for the results");
  job->position_stride = stride_of(output->position_stride, 3, output->flags & SN_RT_HALF_POSITIONS);
  job->normal_stride = stride_of(output->normal_stride, 3, output->flags & SN_RT_HALF_NORMALS);
  job->tangent_stride = stride_of(output->tangent_stride, 4, output->flags & SN_RT_HALF_TANGENTS);
  if (!job->position_stride || !job->normal_stride || !job->tangent_stride)
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT,
                      "strides must be multiples of 4 bytes (halves: 2) and hold all numbers of a vertex");
  if (first > model->info.vertex_count || count > model->info.vertex_count - first)
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "vertices %u to %u are not all there: the model has %u", first,
                      first + count, model->info.vertex_count);
  return SN_RT_OK;
}

static sn_rt_status check_positions(const sn_rt_model *model, const sn_rt_output *output, sn_rt_error *error) {
  if (!output->positions) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "there is no place for the positions");
  if ((output->flags & SN_RT_HALF_POSITIONS) && model->info.shade == SN_RT_SHADE_RECOMPUTE && output->normals)
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "normals of this model are made from its positions, in floats");
  return SN_RT_OK;
}

// Completes a job with the palette in `scratch`, and returns its kernels; NULL if there is no palette.
static const sn_rt_kernels *begin_job(const sn_rt_model *model, const void *scratch, sn_rt_job *job,
                                      sn_rt_error *error) {
  if (!scratch) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "there is no scratch memory"), NULL;
  sn_rt_job all = new_job(model, scratch);
  all.position_stride = job->position_stride, all.normal_stride = job->normal_stride;
  all.tangent_stride = job->tangent_stride;
  *job = all;
  const sn_rt_kernels *kernels = sn_rt_kernels_of((sn_rt_path)*job->scratch.path);
  if (!kernels) sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "there is no palette in the scratch memory");
  return kernels;
}

static char *moved(char *results, size_t bytes) { return results ? results + bytes : NULL; }

// The chunks of vertices first .. first + count - 1; pointers of `all` are those of vertex 0.
static void each_chunk(const sn_rt_model *model, const sn_rt_job *all, request *r, uint32_t first, uint32_t count) {
  const uint32_t *chunks = sn_rt_data(model, SN_SECTION_SKIN_CHUNKS);
  uint32_t grain = model->info.grain, vertices = model->info.vertex_count, end = first + count;
  for (uint32_t c = first / grain; (uint64_t)c * grain < end; c++) {
    uint32_t start = c * grain, stop = vertices - start < grain ? vertices : start + grain;
    sn_rt_job job = *all;
    job.first_group = chunks[c], job.last_group = chunks[c + 1];
    job.positions = moved(all->positions, start * all->position_stride);
    job.normals = moved(all->normals, start * all->normal_stride);
    job.tangents = moved(all->tangents, start * all->tangent_stride);
    r->begin = first > start ? first - start : 0, r->end = end < stop ? end - start : stop - start;
    (first <= start && stop <= end ? r->whole : skin_part)(&job, r);
  }
}

// ---- positions, normals and tangents of the blend ---------------------------------------------------------------------

static sn_rt_status skin(const sn_rt_model *model, const void *scratch, request *r, uint32_t first, uint32_t count,
                         sn_rt_error *error) {
  const sn_rt_output *output = r->output;
  sn_rt_job job = {0};
  sn_rt_status status = check_arguments(model, output, first, count, &job, error);
  if (!status) status = check_positions(model, output, error);
  if (status || count == 0) return status;
  const sn_rt_kernels *kernels = begin_job(model, scratch, &job, error);
  if (!kernels) return SN_RT_BAD_ARGUMENT;
  job.positions = (char *)output->positions;
  job.normals = model->info.shade == SN_RT_SHADE_TRANSFORM ? (char *)output->normals : NULL;
  uint32_t halves = output->flags & (job.normals ? SN_RT_HALF_POSITIONS | SN_RT_HALF_NORMALS : SN_RT_HALF_POSITIONS);
  r->kernel = kernel_for(model, kernels);
  r->whole = halves ? skin_part : output->blocks || r->end_block ? skin_blocks : skin_chunk;
  r->far_away = model->info.vertex_count > model->info.grain && !job.rows;
  each_chunk(model, &job, r, first, count);
  return SN_RT_OK;
}

sn_rt_status sn_rt_skin(const sn_rt_model *model, const void *scratch, const sn_rt_output *output, uint32_t first,
                        uint32_t count, sn_rt_error *error) {
  return skin(model, scratch, &(request){.output = output}, first, count, error);
}

static void call_kernel(const sn_rt_job *chunk, const request *r) { r->kernel(chunk); }

sn_rt_status sn_rt_tangents(const sn_rt_model *model, const void *scratch, const sn_rt_output *output, uint32_t first,
                            uint32_t count, sn_rt_error *error) {
  sn_rt_job job = {0};
  sn_rt_status status = check_arguments(model, output, first, count, &job, error);
  if (status) return status;
  if (!model->info.tangents)
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "the model has no tangents: train it with the option tangents=1");
  if (!output->tangents || !output->normals)
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "tangents need a place, and the normals of this frame");
  const sn_rt_kernels *kernels = begin_job(model, scratch, &job, error);
  if (!kernels) return SN_RT_BAD_ARGUMENT;
  int parts = output->blocks || (output->flags & (SN_RT_HALF_NORMALS | SN_RT_HALF_TANGENTS));
  request r = {.output = output, .kernel = kernels->tangents, .whole = parts ? skin_part : call_kernel};
  job.correct.stored.start = NULL; // corrections rotate the normal, and the tangent with it
  job.tangent_rotation = model->info.blend == SN_RT_BLEND_LINEAR ? SN_RT_ROTATE_LINEAR
                         : *job.scratch.flags & SN_RT_RIGID      ? SN_RT_ROTATE_RIGID
                                                                 : SN_RT_ROTATE_STRETCHED;
  job.normals = (char *)output->normals, job.tangents = (char *)output->tangents;
  if (count > 0) each_chunk(model, &job, &r, first, count);
  return SN_RT_OK;
}

// ---- parts for threads -------------------------------------------------------------------------------------------------------

// The block at which part / parts of the total cost is reached. Cost of a block: its influences plus a constant.
static uint32_t block_at(const sn_rt_model *model, uint32_t part, uint32_t parts) {
  enum { fixed = 4 };
  const sn_rt_group *groups = sn_rt_data(model, SN_SECTION_SKIN_GROUPS), *end = groups;
  end += sn_rt_size(model, SN_SECTION_SKIN_GROUPS) / sizeof *groups;
  uint64_t goal = 0;
  for (const sn_rt_group *g = groups; g < end; g++) goal += g->block_count * (uint64_t)(g->influences + fixed);
  goal = goal * part / parts;
  for (const sn_rt_group *g = groups; g < end; g++) {
    uint64_t each = g->influences + fixed;
    if (g->block_count * each > goal) return g->first_block + (uint32_t)(goal / each);
    goal -= g->block_count * each;
  }
  return model->info.block_count;
}

sn_rt_part sn_rt_get_part(const sn_rt_model *model, uint32_t part, uint32_t parts) {
  if (part >= parts) return (sn_rt_part){0};
  uint64_t fans = sn_rt_blocks_of(model->info.vertex_count), first = fans * part / parts * SN_RT_LANES,
           end = fans * (part + 1u) / parts * SN_RT_LANES;
  if (end > model->info.vertex_count) end = model->info.vertex_count;
  return (sn_rt_part){block_at(model, part, parts), block_at(model, part + 1, parts), (uint32_t)first,
                      (uint32_t)(end - first)};
}

sn_rt_status sn_rt_skin_part(const sn_rt_model *model, const void *scratch, const sn_rt_output *output,
                             const sn_rt_part *part, sn_rt_error *error) {
  request r = {.output = output, .first_block = part->first_block, .end_block = part->end_block};
  uint32_t count = part->first_block < part->end_block ? model->info.vertex_count : 0;
  return skin(model, scratch, &r, 0, count, error);
}

// ---- normals from the deformed triangles (Wang 2007, section 6) ----------------------------------------------------------

// Vertices first .. end - 1 through a buffer: for parts of blocks and half precision.
static void shade_part(const sn_rt_shade_job *all, const sn_rt_kernels *kernels, uint32_t first, uint32_t end,
                       int half) {
  enum { batch = 8 };
  float normals[batch * SN_RT_LANES][3];
  for (uint32_t i = first; i < end;) {
    sn_rt_shade_job job = *all;
    uint32_t start = i / SN_RT_LANES * SN_RT_LANES, blocks = sn_rt_blocks_of(end - start);
    job.first_block = start / SN_RT_LANES, job.last_block = job.first_block + (blocks < batch ? blocks : batch);
    job.normals = (char *)normals, job.normal_stride = sizeof *normals;
    kernels->shade(&job);
    for (; i < end && i < job.last_block * SN_RT_LANES; i++)
      sn_rt_put(all->normals + i * all->normal_stride, normals[i - start], 3, half);
  }
}

sn_rt_status sn_rt_normals(const sn_rt_model *model, const sn_rt_output *output, uint32_t first, uint32_t count,
                           sn_rt_error *error) {
  sn_rt_job strides = {0};
  sn_rt_status status = check_arguments(model, output, first, count, &strides, error);
  if (!status) status = check_positions(model, output, error);
  if (status || model->info.shade != SN_RT_SHADE_RECOMPUTE || !output->normals) return status;
  int half = output->flags & SN_RT_HALF_NORMALS;
  const sn_rt_kernels *kernels = sn_rt_kernels_of(sn_rt_at(model)->path);
  sn_rt_shade_job job = {.start = sn_rt_data(model, SN_SECTION_SHADE_START),
                         .fans = sn_rt_data(model, SN_SECTION_SHADE_FANS),
                         .own = sn_rt_data(model, SN_SECTION_SHADE_OWN),
                         .index_bytes = sn_rt_fan_bytes(model->info.vertex_count),
                         .last_vertex = model->info.vertex_count - 1,
                         .beside_last = sn_rt_at(model)->beside_last,
                         .positions = (const char *)output->positions,
                         .position_stride = strides.position_stride,
                         .normals = (char *)output->normals,
                         .normal_stride = strides.normal_stride};
  uint32_t end = first + count, whole = (first + SN_RT_LANES - 1) / SN_RT_LANES * SN_RT_LANES;
  if (whole > end || half) whole = end;
  uint32_t rest = whole + (end - whole) / SN_RT_LANES * SN_RT_LANES;
  if (first < whole) shade_part(&job, kernels, first, whole, half);
  if (rest < end) shade_part(&job, kernels, rest, end, half);
  job.first_block = whole / SN_RT_LANES, job.last_block = rest / SN_RT_LANES;
  job.normals += whole * job.normal_stride;
  if (whole < rest) kernels->shade(&job);
  return SN_RT_OK;
}

sn_rt_status sn_rt_evaluate(const sn_rt_model *model, const sn_rt_input *input, void *scratch,
                            const sn_rt_output *output, sn_rt_error *error) {
  uint32_t count = model->info.vertex_count;
  sn_rt_output all = output ? *output : (sn_rt_output){0};
  sn_rt_status status = sn_rt_palette(model, input, scratch, error);
  int again = model->info.shade == SN_RT_SHADE_RECOMPUTE || all.tangents; // outputs are read again
  if (again)
    all.staging = NULL;
  else if (!status && !all.staging)
    all.staging = sn_rt_scratch_at(model, scratch).staging;
  if (!status) status = sn_rt_skin(model, scratch, &all, 0, count, error);
  if (!status) status = sn_rt_normals(model, &all, 0, count, error);
  if (!status && all.tangents) status = sn_rt_tangents(model, scratch, &all, 0, count, error);
  return status;
}
