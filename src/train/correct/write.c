// SPDX-License-Identifier: MIT
// Corrections as sections of a model: 16-bit numbers with a scale per block of eight vertices, only where a block has
// something to correct.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"
#include "train/correct/correct.h"

// A normal's displacement that matters: half a degree; and what is rounding of single precision, for either.
static const double least_normal = 0.0087, noise = 1e-6, noise_normal = 1e-4;

typedef struct encoder {
  sn_context *ctx;
  sn_arena memory;
  const sn_correct_options *options;
  const sn_examples *examples;
  const sn_corrections *corrections;
  sn_rt_model model;
  double least, least_normal; // displacements not longer than these are dropped
  uint32_t *start;
  sn_rt_correct_entry *entries;
  int16_t (*deltas)[6][SN_RT_LANES];
} encoder;

// ---- blocks ---------------------------------------------------------------------------------------------------------------

static double length3(const float *v) {
  return sqrt((double)v[0] * v[0] + (double)v[1] * v[1] + (double)v[2] * v[2]);
}

// The displacement of the examples' vertex by a basis; NULL where it is too small to be stored.
static const float *kept_delta(const encoder *w, int basis, int vertex) {
  const float *d = w->corrections->deltas[(size_t)basis * (size_t)w->corrections->vertex_count + (size_t)vertex];
  return length3(d) <= w->least && length3(d + 3) <= w->least_normal ? NULL : d;
}

// The examples' vertices of the lanes of every block.
static void block_vertices(const encoder *w, int (*out)[SN_RT_LANES]) {
  const uint32_t *chunks = w->model.sections[SN_RT_SKIN_CHUNKS];
  const sn_rt_group *groups = w->model.sections[SN_RT_SKIN_GROUPS];
  const uint16_t(*lanes)[SN_RT_LANES] = w->model.sections[SN_RT_SKIN_LANES];
  uint32_t grain = w->model.info.grain;
  for (uint32_t c = 0; (uint64_t)c * grain < w->model.info.vertex_count; c++)
    for (uint32_t g = chunks[c]; g < chunks[c + 1]; g++)
      for (uint32_t b = 0; b < groups[g].block_count; b++)
        for (int l = 0; l < SN_RT_LANES; l++) {
          size_t block = groups[g].first_block + b;
          int vertex = (int)(c * grain + lanes[block][l]);
          out[block][l] = w->examples->source ? w->examples->source[vertex] : vertex;
        }
}

// ---- order of the vertices within a group ------------------------------------------------------------------------------------
// Vertices that the same bases correct are put in the same blocks, so that few lanes of an entry stay empty.

typedef struct slot {
  uint64_t bases; // the first 64
  int place;
} slot;

static int compare_slots(const void *a, const void *b) {
  const slot *x = a, *y = b;
  return x->bases != y->bases ? (x->bases < y->bases ? -1 : 1) : x->place - y->place;
}

// `rows` rows of eight items of `size` bytes for every block: slot n of the group gets what slot slots[n].place had.
static void permute(uint8_t *at, const slot *slots, int blocks, int rows, size_t size, uint8_t *old) {
  memcpy(old, at, (size_t)blocks * (size_t)rows * SN_RT_LANES * size);
  for (int n = 0; n < blocks * SN_RT_LANES; n++)
    for (int r = 0; r < rows; r++) {
      int from = slots[n].place;
      size_t to_row = (size_t)(n / SN_RT_LANES * rows + r), from_row = (size_t)(from / SN_RT_LANES * rows + r);
      memcpy(at + (to_row * SN_RT_LANES + (size_t)(n % SN_RT_LANES)) * size,
             old + (from_row * SN_RT_LANES + (size_t)(from % SN_RT_LANES)) * size, size);
    }
}

static void sort_group(const encoder *w, const sn_rt_group *g, const int (*vertices)[SN_RT_LANES], slot *slots,
                       uint8_t *old) {
  int blocks = g->block_count, rows = g->influences - 1;
  size_t first = g->first_block, bytes = w->model.info.weight_bits / 8;
  for (int n = 0; n < blocks * SN_RT_LANES; n++) {
    slots[n] = (slot){0, n};
    for (int b = 0; b < w->corrections->basis_count && b < 64; b++) {
      int vertex = vertices[first + (size_t)(n / SN_RT_LANES)][n % SN_RT_LANES];
      if (kept_delta(w, b, vertex)) slots[n].bases |= (uint64_t)1 << b;
    }
  }
  qsort(slots, (size_t)(blocks * SN_RT_LANES), sizeof *slots, compare_slots);
  void *const *section = (void *const *)w->model.sections; // of our own copy
  permute((uint8_t *)section[SN_RT_SKIN_LANES] + first * 16, slots, blocks, 1, 2, old);
  permute((uint8_t *)section[SN_RT_SKIN_REST] + first * 96, slots, blocks, 3, 4, old);
  if (section[SN_RT_SKIN_NORMALS]) {
    permute((uint8_t *)section[SN_RT_SKIN_NORMALS] + first * 96, slots, blocks, 3, 4, old);
  }
  permute((uint8_t *)section[SN_RT_SKIN_WEIGHTS] + (size_t)g->first_weight * SN_RT_LANES * bytes, slots, blocks, rows,
          bytes, old);
  if (g->kind != SN_RT_GROUP_LOOSE) return;
  permute((uint8_t *)section[SN_RT_SKIN_TUPLES] + (size_t)g->first_tuple * 16, slots, blocks, rows + 1, 2, old);
}

// w->model, a copy that may be written to, with its vertices in a better order.
static sn_status sort_vertices(encoder *w) {
  const sn_rt_group *groups = w->model.sections[SN_RT_SKIN_GROUPS];
  const uint32_t *chunks = w->model.sections[SN_RT_SKIN_CHUNKS];
  uint32_t blocks = w->model.info.block_count, most = 0, group_count = 0;
  for (uint32_t c = 0; (uint64_t)c * w->model.info.grain < w->model.info.vertex_count; c++)
    group_count = chunks[c + 1];
  for (uint32_t g = 0; g < group_count; g++)
    if (groups[g].block_count > most) most = groups[g].block_count;
  int(*vertices)[SN_RT_LANES] = sn_arena_alloc(w->ctx, &w->memory, blocks, sizeof *vertices);
  slot *slots = SN_NEW(w->ctx, &w->memory, slot, (size_t)most * SN_RT_LANES);
  uint8_t *old = SN_NEW(w->ctx, &w->memory, uint8_t, (size_t)most * SN_RT_LANES * 32);
  if (!vertices || !slots || !old) return w->ctx->error.status;
  block_vertices(w, vertices);
  for (uint32_t g = 0; g < group_count; g++)
    sort_group(w, groups + g, (const int(*)[SN_RT_LANES])vertices, slots, old);
  return SN_OK;
}

// ---- entries ---------------------------------------------------------------------------------------------------------------------

static float largest_of(const float *const *deltas, int first) {
  float largest = 0;
  for (int l = 0; l < SN_RT_LANES; l++)
    for (int c = first; deltas[l] && c < first + 3; c++) largest = fmaxf(largest, fabsf(deltas[l][c]));
  return largest;
}

// One entry; false where no lane has anything to correct. With NULL only looks.
static bool encode_entry(const encoder *w, const int *vertices, int basis, sn_rt_correct_entry *entry,
                         int16_t (*out)[SN_RT_LANES]) {
  const float *deltas[SN_RT_LANES];
  bool any = false;
  for (int l = 0; l < SN_RT_LANES; l++) any |= (deltas[l] = kept_delta(w, basis, vertices[l])) != NULL;
  if (!any || !entry) return any;
  *entry = (sn_rt_correct_entry){(uint16_t)basis, 0, largest_of(deltas, 0) / 32767, largest_of(deltas, 3) / 32767};
  for (int l = 0; l < SN_RT_LANES; l++)
    for (int c = 0; deltas[l] && c < 6; c++) {
      float unit = c < 3 ? entry->position : entry->normal;
      out[c][l] = (int16_t)(unit > 0 ? lrintf(deltas[l][c] / unit) : 0);
    }
  return true;
}

static sn_status encode_blocks(encoder *w, uint32_t *entry_count) {
  uint32_t blocks = w->model.info.block_count;
  int bases = w->corrections->basis_count;
  int(*vertices)[SN_RT_LANES] = sn_arena_alloc(w->ctx, &w->memory, blocks, sizeof *vertices);
  w->start = SN_NEW(w->ctx, &w->memory, uint32_t, (size_t)blocks + 1);
  if (!vertices || !w->start) return w->ctx->error.status;
  block_vertices(w, vertices);
  uint64_t count = 0;
  for (uint32_t b = 0; b < blocks; b++) {
    for (int basis = 0; basis < bases; basis++) count += encode_entry(w, vertices[b], basis, NULL, NULL);
    if (count > UINT32_MAX) return sn_fail(w->ctx, SN_BAD_INPUT, "too many corrections for a model");
    w->start[b + 1] = (uint32_t)count;
  }
  *entry_count = (uint32_t)count;
  w->entries = SN_NEW(w->ctx, &w->memory, sn_rt_correct_entry, count);
  w->deltas = sn_arena_alloc(w->ctx, &w->memory, count, sizeof *w->deltas);
  if (!w->entries || !w->deltas) return w->ctx->error.status;
  for (uint32_t b = 0; b < blocks; b++) {
    uint32_t at = w->start[b];
    for (int basis = 0; at < w->start[b + 1]; basis++)
      at += encode_entry(w, vertices[b], basis, w->entries + at, w->deltas[at]);
  }
  return SN_OK;
}

// ---- pose spaces ------------------------------------------------------------------------------------------------------------

static size_t metric_count(const sn_pose_field *f) {
  return f->metric.kind == SN_DISTANCE_EUCLID       ? 0
         : f->metric.kind == SN_DISTANCE_NORMALISED ? (size_t)f->metric.dims
                                                    : (size_t)f->metric.axes * (size_t)f->metric.dims;
}

static void put_numbers(double **at, const double *from, size_t count) {
  for (size_t n = 0; n < count; n++) *(*at)++ = from[n];
}

static sn_status encode_fields(encoder *w, const sn_turn *turns, sn_model_section sections[3]) {
  const sn_corrections *c = w->corrections;
  size_t joints = 0, numbers = 0;
  for (int n = 0; n < c->field_count; n++) {
    const sn_pose_field *f = c->fields + n;
    joints += (size_t)f->joint_count;
    numbers += metric_count(f) + (size_t)f->centre_count * (size_t)(f->metric.axes + 1) +
               (f->mixed ? (size_t)f->basis_count * (size_t)f->terms : 0);
  }
  sn_rt_field *fields = SN_NEW(w->ctx, &w->memory, sn_rt_field, c->field_count);
  uint16_t *joint = SN_NEW(w->ctx, &w->memory, uint16_t, joints);
  double *number = SN_NEW(w->ctx, &w->memory, double, numbers), *next = number;
  if (!fields || !joint || !number) return w->ctx->error.status;
  size_t first_joint = 0, first_basis = 0;
  for (int n = 0; n < c->field_count; n++) {
    const sn_pose_field *f = c->fields + n;
    fields[n] = (sn_rt_field){.kernel = (uint32_t)f->kernel,
                              .metric = (uint32_t)f->metric.kind,
                              .linear = f->linear,
                              .mixed = f->mixed,
                              .first_joint = (uint32_t)first_joint,
                              .joint_count = (uint32_t)f->joint_count,
                              .axis_count = (uint32_t)f->metric.axes,
                              .centre_count = (uint32_t)f->centre_count,
                              .first_basis = (uint32_t)first_basis,
                              .basis_count = (uint32_t)f->basis_count,
                              .first_number = (uint32_t)(next - number)};
    for (int j = 0; j < f->joint_count; j++) {
      int reference = 0;
      while (turns[reference].joint != f->joints[j]) reference++;
      joint[first_joint++] = (uint16_t)reference;
    }
    put_numbers(&next, f->metric.numbers, metric_count(f));
    put_numbers(&next, f->centres, (size_t)f->centre_count * (size_t)f->metric.axes);
    put_numbers(&next, f->widths, (size_t)f->centre_count);
    if (f->mixed) put_numbers(&next, f->mix, (size_t)f->basis_count * (size_t)f->terms);
    first_basis += (size_t)f->basis_count;
  }
  sections[0] = (sn_model_section){"correct.fields", fields, (size_t)c->field_count * sizeof *fields, true};
  sections[1] = (sn_model_section){"correct.joints", joint, joints * sizeof *joint, true};
  sections[2] = (sn_model_section){"correct.numbers", number, numbers * sizeof *number, true};
  return SN_OK;
}

// ---- the model ----------------------------------------------------------------------------------------------------------------

static sn_status add_references(encoder *w, const sn_turn *turns, const sn_model *base, sn_model *out) {
  void *bytes;
  size_t size;
  int joints = w->examples->skeleton.joint_count;
  sn_status status = sn_turns_section(w->ctx, &w->memory, turns, joints, &bytes, &size);
  if (status != SN_OK) return status;
  sn_model_section section = {"joint.reference", bytes, size, true};
  int count = w->model.sections[SN_RT_JOINT_REFERENCE] ? 0 : 1;
  return sn_model_extend(w->ctx, base, SN_RT_CORRECT_NONE, &section, count, out);
}

static sn_status add_corrections(encoder *w, const sn_turn *turns, const sn_model *base, sn_model *out) {
  const sn_corrections *c = w->corrections;
  if (c->basis_count > 65535)
    return sn_fail(w->ctx, SN_BAD_INPUT, "%d correction fields are more than the 65535 a model can have",
                   c->basis_count);
  sn_rt_correct_head head = {.order =
                               w->options->order == SN_ORDER_FORWARD ? SN_RT_ORDER_FORWARD : SN_RT_ORDER_INVERSE,
                             .weighted = w->options->weighted,
                             .field_count = (uint32_t)c->field_count,
                             .basis_count = (uint32_t)c->basis_count};
  sn_model_section sections[7] = {{"correct.head", &head, sizeof head, true}};
  sn_status status = encode_blocks(w, &head.entry_count);
  if (status == SN_OK) status = encode_fields(w, turns, sections + 1);
  if (status != SN_OK) return status;
  size_t count = head.entry_count;
  sections[4] = (sn_model_section){"correct.start", w->start, ((size_t)w->model.info.block_count + 1) * 4, true};
  sections[5] = (sn_model_section){"correct.entries", w->entries, count * sizeof *w->entries, true};
  sections[6] = (sn_model_section){"correct.deltas", w->deltas, count * sizeof *w->deltas, true};
  sn_rt_correct choice = w->options->components > 0 ? SN_RT_CORRECT_EIGEN : SN_RT_CORRECT_RBF;
  return sn_model_extend(w->ctx, base, choice, sections, 7, out);
}

sn_status sn_correct_write(sn_context *ctx, const sn_correct_options *options, const sn_examples *examples,
                           const sn_turn *turns, const sn_corrections *corrections, double diagonal,
                           const sn_model *base, sn_model *out) {
  *out = (sn_model){0};
  encoder w = {.ctx = ctx,
               .memory = sn_arena_new(ctx),
               .options = options,
               .examples = examples,
               .corrections = corrections,
               .least = fmax(options->threshold / 100, noise) * diagonal,
               .least_normal = options->threshold > 0 ? least_normal : noise_normal};
  sn_model copy = {0};
  sn_status status = sn_model_extend(ctx, base, SN_RT_CORRECT_NONE, NULL, 0, &copy);
  if (status == SN_OK) status = sn_model_open(ctx, "model", copy.bytes, copy.size, &w.model);
  if (status == SN_OK && corrections) status = sort_vertices(&w);
  if (status == SN_OK) status = (corrections ? add_corrections : add_references)(&w, turns, &copy, out);
  sn_model_free(&copy);
  sn_arena_free(&w.memory);
  return status;
}
