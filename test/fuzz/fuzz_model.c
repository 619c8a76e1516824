// SPDX-License-Identifier: MIT
// Opens bytes as a model, with the checksums made right so that the checks behind them are reached; where they open, calls
// every reader and evaluates on every instruction set. Mutations know what a model is made of: sections are renamed,
// resized, dropped and swapped between files, counts of the header changed, and numbers made odd where they stand.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/format.h"
#include "sinew/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                                 size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

// ---- what is done with a model ---------------------------------------------------------------------------------------

static void read_names(const sn_rt_model *model) {
  float range[2];
  for (uint32_t j = 0; j < model->info.joint_count; j++) {
    if (strlen(sn_rt_joint_name(model, j)) > 1u << 20) abort();
    sn_rt_joint_parent(model, j), sn_rt_torque_range(model, j, range);
  }
  sn_rt_find_joint(model, "x");
  for (uint32_t s = 0; s < model->info.section_count; s++) {
    if (!sn_rt_find_section(model, sn_rt_get_section(model, s).name, NULL)) abort();
  }
}

static void read_parts(const sn_rt_model *model) {
  sn_context ctx = sn_context_default();
  sn_mesh mesh;
  sn_skin skin;
  sn_skeleton skeleton;
  sn_displacements displacements;
  if (sn_model_mesh(&ctx, model, &mesh) == SN_OK) sn_mesh_free(&mesh);
  if (sn_model_skin(&ctx, model, &skin) == SN_OK) sn_skin_free(&skin);
  if (sn_model_skeleton(&ctx, model, &skeleton) == SN_OK) sn_skeleton_free(&skeleton);
  if (sn_model_displacements(&ctx, model, &displacements) == SN_OK) sn_displacements_free(&displacements);
  sn_model renumbered;
  for (int order = SN_VERTEX_ORDER_FILE; order <= SN_VERTEX_ORDER_BLOCKS; order++)
    if (sn_model_reorder(&ctx, model, (sn_vertex_order)order, &renumbered) == SN_OK) sn_model_free(&renumbered);
}

static void read_palette(const sn_rt_model *model, const void *scratch) {
  float m[12], q[8], s[12];
  const float *values;
  for (uint32_t e = 0; e <= model->info.palette_count; e++)
    sn_rt_palette_matrix(model, scratch, e, m), sn_rt_palette_split(model, scratch, e, q, s);
  volatile float sum = 0;
  for (uint32_t n = sn_rt_correct_values(model, scratch, &values); n > 0; n--) sum += values[n - 1];
}

static void *room(size_t count, size_t size) { return calloc(count + 1, size); }

static void evaluate_tangents(const sn_rt_model *model, const void *scratch, float *normals) {
  uint32_t vertices = model->info.vertex_count, first = vertices / 3, count = vertices / 2;
  float *whole = room(vertices, 16), *part = room(vertices, 16);
  sn_rt_output output = {.tangents = whole, .normals = normals};
  if (sn_rt_tangents(model, scratch, &output, 0, vertices, NULL) != SN_RT_OK) abort();
  memcpy(part, whole, 16 * (size_t)vertices);
  output.tangents = part;
  if (sn_rt_tangents(model, scratch, &output, first, count, NULL) != SN_RT_OK) abort();
  if (memcmp(part, whole, 16 * (size_t)vertices) != 0) abort();
  if (sn_rt_get_rest(model, &(sn_rt_rest){.tangents = (float(*)[4])part}, NULL) != SN_RT_OK) abort();
  free(whole), free(part);
}

// The whole and, on top of it, ranges of it: the same bytes.
static void evaluate(const sn_rt_model *model, const sn_rt_input *input, void *scratch, float *whole, float *part) {
  uint32_t vertices = model->info.vertex_count, first = vertices / 3, count = vertices / 2;
  size_t size = 12 * (size_t)vertices;
  sn_rt_output output = {.positions = whole, .normals = whole + 3 * (size_t)vertices};
  if (sn_rt_evaluate(model, input, scratch, &output, NULL) != SN_RT_OK) abort();
  memcpy(part, whole, 2 * size);
  output.positions = part, output.normals = part + 3 * (size_t)vertices;
  if (sn_rt_skin(model, scratch, &output, first, count, NULL) != SN_RT_OK) abort();
  if (sn_rt_normals(model, &output, first, count, NULL) != SN_RT_OK) abort();
  if (memcmp(part, whole, 2 * size) != 0) abort();
  if (model->info.tangents) evaluate_tangents(model, scratch, whole + 3 * (size_t)vertices);
}

static void evaluate_paths(sn_rt_model *model) {
  size_t vertices = model->info.vertex_count, joints = model->info.joint_count;
  float *matrices = room(joints, 48), *whole = room(vertices, 24), *part = room(vertices, 24),
        *again = room(vertices, 24);
  float *controls = room(model->info.control_count, 12), *torques = room(joints, 4),
        *values = room(model->info.value_count, 4);
  void *scratch = malloc(sn_rt_scratch_size(model)), *state = room(sn_rt_state_size(model), 1);
  for (size_t j = 0; j < joints; j++) {
    float angle = (float)j + 1, *m = matrices + 12 * j;
    m[0] = m[5] = cosf(angle), m[1] = -sinf(angle), m[4] = sinf(angle), m[10] = 1 + (float)(j % 3),
    torques[j] = angle;
  }
  sn_rt_input input = {.joints = (const float(*)[12])matrices,
                       .controls = (const float(*)[3])controls,
                       .torques = torques,
                       .values = values};
  for (int path = SN_RT_PATH_SCALAR; path < SN_RT_PATH_COUNT; path++) {
    if (!sn_rt_use_path(model, (sn_rt_path)path)) continue;
    input.state = path == SN_RT_PATH_SCALAR ? NULL : state; // without, then from frame to frame
    evaluate(model, &input, scratch, whole, part);
  }
  read_palette(model, scratch);
  // From frame to frame with the scratch memory kept: a joint moves, nothing moves, and the palette is what it is without.
  memset(scratch, 0, sn_rt_scratch_size(model));
  for (int frame = 0; frame < 3; frame++) {
    input.flags = SN_RT_CONTINUE, input.state = NULL;
    if (frame < 2 && joints) matrices[12 * (joints / 2) + 3] += 0.25f, matrices[12 * (joints / 2)] *= 0.5f;
    evaluate(model, &input, scratch, whole, part);
    input.flags = 0;
    void *other = malloc(sn_rt_scratch_size(model));
    evaluate(model, &input, other, part, again);
    if (memcmp(part, whole, 24 * vertices) != 0) abort();
    free(other);
  }
  free(again);
  free(matrices), free(whole), free(part), free(controls), free(torques), free(values), free(scratch), free(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *bytes = malloc(size ? size : 1);
  if (size) memcpy(bytes, data, size);
  uint64_t file_size = size;
  if (size > 24) memcpy(bytes + 16, &file_size, 8);
  sn_rt_model model;
  sn_rt_error error;
  if (sn_model_seal(bytes, size) && sn_rt_open(bytes, size, &model, &error) == SN_RT_OK) {
    if (model.info.scratch_size > 64 * size + 65536) abort();
    read_names(&model);
    read_parts(&model);
    evaluate_paths(&model);
  }
  free(bytes);
  return 0;
}

// ---- mutations ----------------------------------------------------------------------------------------------------------

typedef struct part {
  char name[16];
  uint32_t flags;
  size_t size;
  uint8_t *bytes; // with room for `slack` more
} part;

enum { most_parts = SN_RT_MAX_SECTIONS, slack = 256 };

typedef struct parts {
  sn_rt_header header;
  uint32_t count;
  part part[most_parts];
} parts;

static uint32_t random_state;

static uint32_t below(uint32_t limit) {
  random_state = random_state * 1664525u + 1013904223u;
  return limit ? (random_state >> 8) % limit : 0;
}

static int take_apart(const uint8_t *data, size_t size, parts *out) {
  memset(out, 0, sizeof *out);
  if (size < sizeof out->header) return 0;
  memcpy(&out->header, data, sizeof out->header);
  if (out->header.section_count > most_parts || size - sizeof out->header < out->header.section_count * 40) return 0;
  for (uint32_t s = 0; s < out->header.section_count; s++) {
    sn_rt_entry e;
    memcpy(&e, data + sizeof out->header + s * sizeof e, sizeof e);
    if (e.offset > size || e.size > size - e.offset) continue;
    part *p = out->part + out->count++;
    memcpy(p->name, e.name, sizeof p->name);
    p->name[15] = 0, p->flags = e.flags, p->size = e.size, p->bytes = malloc(e.size + slack);
    memcpy(p->bytes, data + e.offset, e.size);
  }
  return 1;
}

static void free_parts(parts *all) {
  for (uint32_t s = 0; s < all->count; s++) free(all->part[s].bytes);
}

// 0 where there is no room.
static size_t put_together(parts *all, uint8_t *out, size_t max_size) {
  size_t at = (sizeof all->header + all->count * sizeof(sn_rt_entry) + 63) / 64 * 64, total = at;
  for (uint32_t s = 0; s < all->count; s++) total += (all->part[s].size + 63) / 64 * 64;
  if (total > max_size) return 0;
  memset(out, 0, total);
  all->header.section_count = all->count, all->header.file_size = total;
  memcpy(out, &all->header, sizeof all->header);
  for (uint32_t s = 0; s < all->count; s++) {
    sn_rt_entry e = {.offset = at, .size = all->part[s].size, .flags = all->part[s].flags};
    memcpy(e.name, all->part[s].name, sizeof e.name);
    memcpy(out + sizeof all->header + s * sizeof e, &e, sizeof e);
    memcpy(out + at, all->part[s].bytes, all->part[s].size);
    at += (all->part[s].size + 63) / 64 * 64;
  }
  sn_model_seal(out, total);
  return total;
}

static uint32_t odd_number(uint32_t was) {
  static const uint32_t odd[] = {0,          1,          2,          7,          8,          9,
                                 255,        0x7fff,     0xffff,     0x10000,    0x7fffffff, 0x80000000,
                                 UINT32_MAX, 0x7f800000, 0x7fc00000, 0x7f7fffff, 0x3f800000, 0x00000001};
  switch (below(4)) {
  case 0:
    return was + 1;
  case 1:
    return was - 1;
  case 2:
    return was * 2;
  default:
    return odd[below(sizeof odd / sizeof *odd)];
  }
}

// A count or a slot.
static void change_header(sn_rt_header *h) {
  uint32_t *counts[] = {&h->vertex_count,   &h->joint_count,    &h->palette_count, &h->control_count,
                        &h->triangle_count, &h->grain,          &h->block_count,   &h->group_count,
                        &h->weight_bits,    &h->max_influences, &h->torque_count,  &h->value_count};
  uint8_t *slots[] = {&h->drive, &h->correct, &h->blend, &h->shade};
  if (below(3) == 0) {
    *slots[below(4)] = (uint8_t)below(4);
  } else {
    uint32_t *count = counts[below(11)];
    *count = odd_number(*count);
  }
  if (below(4) == 0) h->influence_count = odd_number((uint32_t)h->influence_count);
}

static void change_number(part *p) {
  uint32_t bytes = below(2) ? 4 : 2, value = 0;
  if (p->size < bytes) return;
  size_t at = below((uint32_t)(p->size / bytes)) * (size_t)bytes;
  if (below(3) == 0 && p->size >= 64) at %= 64; // heads are where the counts are
  memcpy(&value, p->bytes + at, bytes);
  value = odd_number(value);
  memcpy(p->bytes + at, &value, bytes);
}

static void change_size(part *p) {
  static const size_t steps[] = {1, 2, 4, 8, 16, 32, 48, 64, 96, 128};
  size_t step = steps[below(10)];
  if (below(2)) {
    memset(p->bytes + p->size, (int)below(3), step);
    p->size += step;
  } else {
    p->size = p->size > step ? p->size - step : 0;
  }
}

static void change_part(parts *all) {
  if (all->count == 0) return;
  part *p = all->part + below(all->count);
  switch (below(12)) {
  case 0:
    memset(p->name, 0, sizeof p->name);
    strncpy(p->name, sn_rt_section_name((sn_rt_section_id)below(SN_SECTION_COUNT)), 15);
    break;
  case 1:
    change_size(p);
    break;
  case 2:
    free(p->bytes);
    *p = all->part[--all->count];
    break;
  case 3:
    p->size = LLVMFuzzerMutate(p->bytes, p->size, p->size ? p->size : 1);
    break;
  case 4:
    p->flags ^= 1;
    break;
  default:
    change_number(p);
    break;
  }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  parts all;
  random_state = seed;
  if (!take_apart(data, size, &all)) return LLVMFuzzerMutate(data, size, max_size);
  for (uint32_t n = 1 + below(3); n > 0; n--) {
    if (below(4) == 0)
      change_header(&all.header);
    else
      change_part(&all);
  }
  size_t made = put_together(&all, data, max_size);
  free_parts(&all);
  return made ? made : size;
}

// One of b's sections, and sometimes its slots and counts, for a's.
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                                 size_t max_size, unsigned seed) {
  parts to, from;
  random_state = seed;
  if (!take_apart(a, a_size, &to)) return 0;
  size_t made = 0;
  if (take_apart(b, b_size, &from) && from.count > 0) {
    part *taken = from.part + below(from.count);
    uint32_t s = 0;
    while (s < to.count && strcmp(to.part[s].name, taken->name) != 0) s++;
    if (s < most_parts) {
      if (s == to.count) to.part[to.count++].bytes = NULL;
      free(to.part[s].bytes);
      to.part[s] = *taken, taken->bytes = NULL;
    }
    if (below(3) == 0) to.header = from.header;
    made = put_together(&to, out, max_size);
  }
  free_parts(&to), free_parts(&from);
  return made;
}
