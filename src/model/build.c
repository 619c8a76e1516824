// SPDX-License-Identifier: MIT
// Assembles the bytes of a model file (docs/reference/model-file.md) from a description.
#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "model/parts.h"

enum { lanes = SN_RT_LANES };

typedef struct writer {
  sn_context *ctx;
  const sn_model_desc *desc;
  sn_arena scratch;
  sn_rt_header header;
  sn_skin skin; // the description's, normalised, rounded and sorted
  sn_block_plan plan;
  int (*vertices)[lanes];    // of every block
  const float (*normals)[3]; // of the rest pose, if needed
  sn_section_list list;
} writer;

sn_model_desc sn_model_desc_default(void) { return (sn_model_desc){.weight_bits = 32}; }

SN_DEFINE_FREE(sn_model);

static void *new_section(writer *w, sn_rt_section_id id, uint64_t count, size_t size) {
  return sn_section_new(&w->list, id, count, size, 0);
}

// ---- weights --------------------------------------------------------------------------------------------------------

void sn_quantise_weights(int count, const float *weights, uint32_t total, uint32_t *out) {
  int64_t missing = total;
  for (int k = 0; k < count; k++) {
    out[k] = (uint32_t)floor((double)weights[k] * total);
    missing -= out[k];
  }
  // The missing units (-1 if the weights' rounding makes it one too many) go to the largest remainders.
  for (; missing != 0 && count > 0; missing += missing > 0 ? -1 : 1) {
    int best = 0;
    double largest = -INFINITY, sign = missing > 0 ? 1 : -1;
    for (int k = 0; k < count; k++) {
      double remainder = sign * ((double)weights[k] * total - out[k]);
      if (remainder > largest && (missing > 0 || out[k] > 0)) best = k, largest = remainder;
    }
    out[best] += missing > 0 ? 1u : (uint32_t)-1;
  }
}

static uint32_t weight_total(int bits) { return bits == 16 ? 65535 : 255; }

// Merges repeated joints of a row: adds their weights at the first place.
static void merge_repeated(const sn_skin *skin, int i) {
  size_t row = (size_t)i * (size_t)skin->influences;
  for (int k = 1; k < skin->influences; k++)
    for (int n = 0; n < k; n++) {
      if (skin->joints[row + (size_t)n] != skin->joints[row + (size_t)k]) continue;
      skin->weights[row + (size_t)n] += skin->weights[row + (size_t)k];
      skin->weights[row + (size_t)k] = 0;
      break;
    }
}

// The weights as they will be evaluated: normalised, rounded if stored as integers (here still floats with integral
// values), without zeros, largest first.
static sn_status prepare_skin(writer *w) {
  const sn_skin *given = w->desc->skin;
  SN_TRY(sn_skin_copy_rows(w->ctx, given, NULL, given->vertex_count, given->influences, &w->skin));
  for (int i = 0; i < given->vertex_count; i++) merge_repeated(&w->skin, i);
  sn_skin_normalize(&w->skin);
  int bits = w->desc->weight_bits;
  for (int i = 0; i < given->vertex_count; i++) {
    float *row = w->skin.weights + (size_t)i * (size_t)given->influences;
    if (bits != 32) {
      uint32_t whole[SN_RT_MAX_INFLUENCES];
      sn_quantise_weights(given->influences, row, weight_total(bits), whole);
      for (int k = 0; k < given->influences; k++) row[k] = (float)whole[k];
    }
    int influences = sn_skin_row_influences(&w->skin, i);
    w->header.influence_count += (uint64_t)influences;
    if ((uint32_t)influences > w->header.max_influences) w->header.max_influences = (uint32_t)influences;
  }
  return SN_OK;
}

// Weight of vertex i at palette entry `joint`; 0 if it has none.
static float weight_of(const sn_skin *skin, int i, uint16_t joint) {
  size_t row = (size_t)i * (size_t)skin->influences;
  for (int k = 0; k < skin->influences; k++)
    if (skin->weights[row + (size_t)k] > 0 && skin->joints[row + (size_t)k] == joint)
      return skin->weights[row + (size_t)k];
  return 0;
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

typedef struct block_arrays {
  sn_rt_group *groups;
  uint16_t (*lane)[lanes];
  float (*rest)[3][lanes], (*normals)[3][lanes], (*centres)[3][lanes];
  uint8_t *weights;
  uint16_t (*tuples)[lanes];
} block_arrays;

static void put_weight(block_arrays *a, int bits, size_t index, float weight) {
  if (bits == 8) a->weights[index] = (uint8_t)weight;
  if (bits == 16) ((uint16_t *)(void *)a->weights)[index] = (uint16_t)weight;
  if (bits == 32) ((float *)(void *)a->weights)[index] = weight;
}

// Lane `lane` of block `block` of group g.
static void write_lane(const writer *w, block_arrays *a, const sn_rt_group *g, size_t block, int lane) {
  const sn_skin *skin = &w->skin;
  size_t at = g->first_block + block, row = block * (size_t)(g->influences - 1), tuple = block * g->influences;
  int i = w->vertices[at][lane];
  a->lane[at][lane] = (uint16_t)((uint32_t)i % w->header.grain);
  for (int c = 0; c < 3; c++) a->rest[at][c][lane] = w->desc->rest->positions[i][c];
  for (int c = 0; a->normals && c < 3; c++) a->normals[at][c][lane] = w->normals[i][c];
  for (int c = 0; a->centres && c < 3; c++) a->centres[at][c][lane] = w->desc->centres[i][c];
  for (size_t k = 0; k < g->influences; k++) {
    // A loose vertex with fewer influences than its block repeats its first joint with weight 0.
    size_t own = (size_t)i * (size_t)skin->influences;
    bool loose = g->kind == SN_RT_GROUP_LOOSE, has = (int)k < sn_skin_row_influences(skin, i);
    float weight = loose ? has ? skin->weights[own + k] : 0 : weight_of(skin, i, g->joints[k]);
    if (k > 0) put_weight(a, w->desc->weight_bits, (g->first_weight + row + k - 1) * lanes + (size_t)lane, weight);
    if (loose) a->tuples[g->first_tuple + tuple + k][lane] = skin->joints[has ? own + k : own];
  }
}

static int run_blocks(const sn_block_run *run) { return (run->count + lanes - 1) / lanes; }

// Assigns vertices to lanes. Unused lanes repeat the last vertex, which is then written twice with the same values.
static void place_vertices(writer *w) {
  w->vertices = sn_section_alloc(&w->list, w->header.block_count, sizeof *w->vertices);
  int block = 0;
  for (int n = 0; w->list.status == SN_OK && n < w->plan.run_count; n++) {
    const sn_block_run *run = w->plan.runs + n;
    int *slots = w->vertices[block], count = run_blocks(run) * lanes;
    for (int s = 0; s < count; s++) slots[s] = w->plan.order[run->first + (s < run->count ? s : run->count - 1)];
    if (w->desc->corrections) w->list.status = sn_correct_arrange(w->ctx, w->desc->corrections, slots, count);
    block += run_blocks(run);
  }
}

static void find_normals(writer *w) {
  const sn_mesh *rest = w->desc->rest;
  float(*own)[3] = w->desc->normals ? NULL : sn_section_alloc(&w->list, (size_t)rest->vertex_count, sizeof *own);
  if (own) sn_mesh_normals(rest, (const float(*)[3])rest->positions, own);
  w->normals = own ? (const float(*)[3])own : w->desc->normals;
}

static void add_blocks(writer *w) {
  uint64_t blocks = 0, rows = 0, tuples = 0;
  uint32_t *chunks = new_section(w, SN_SECTION_SKIN_CHUNKS, (uint64_t)w->plan.chunk_count + 1, sizeof *chunks);
  block_arrays a = {0};
  a.groups = new_section(w, SN_SECTION_SKIN_GROUPS, (uint64_t)w->plan.run_count, sizeof *a.groups);
  for (int n = 0; a.groups && n < w->plan.run_count; n++) {
    const sn_block_run *run = w->plan.runs + n;
    sn_rt_group *g = a.groups + n;
    *g = (sn_rt_group){(uint32_t)blocks,
                       (uint32_t)rows,
                       (uint32_t)tuples,
                       (uint16_t)run_blocks(run),
                       (uint8_t)run->influences,
                       (uint8_t)run->kind,
                       {0}};
    memcpy(g->joints, run->joints, sizeof g->joints); // zeros of a loose run
    blocks += g->block_count, rows += (uint64_t)g->block_count * (g->influences - 1u);
    if (run->kind == SN_RT_GROUP_LOOSE) tuples += (uint64_t)g->block_count * g->influences;
    if (g->influences > w->header.max_influences) w->header.max_influences = g->influences;
  }
  if (rows > UINT32_MAX || tuples > UINT32_MAX)
    w->list.status = sn_fail(w->ctx, SN_BAD_INPUT, "%d vertices are too many for a model", w->skin.vertex_count);
  w->header.block_count = (uint32_t)blocks, w->header.group_count = (uint32_t)w->plan.run_count;
  a.lane = new_section(w, SN_SECTION_SKIN_LANES, blocks, sizeof *a.lane);
  a.rest = new_section(w, SN_SECTION_SKIN_REST, blocks, sizeof *a.rest);
  bool shaded = w->desc->shade == SN_RT_SHADE_TRANSFORM; // other models need no rest normals
  if (shaded) a.normals = new_section(w, SN_SECTION_SKIN_NORMALS, blocks, sizeof *a.normals);
  a.weights = new_section(w, SN_SECTION_SKIN_WEIGHTS, rows, (size_t)lanes * (size_t)w->desc->weight_bits / 8);
  if (tuples) a.tuples = new_section(w, SN_SECTION_SKIN_TUPLES, tuples, sizeof *a.tuples);
  bool about = w->desc->blend == SN_RT_BLEND_CENTRES;
  if (about) a.centres = new_section(w, SN_SECTION_SKIN_CENTRES, blocks, sizeof *a.centres);
  if (shaded || w->desc->uvs) find_normals(w);
  place_vertices(w);
  if (w->list.status != SN_OK) return;
  for (int c = 0; c <= w->plan.chunk_count; c++) chunks[c] = (uint32_t)w->plan.chunk_start[c];
  for (const sn_rt_group *g = a.groups; g < a.groups + w->plan.run_count; g++)
    for (size_t b = 0; b < g->block_count; b++)
      for (int l = 0; l < lanes; l++) write_lane(w, &a, g, b, l);
}

// ---- the other sections ---------------------------------------------------------------------------------------------

// uint32 start[count + 1], then the zero-terminated names.
static void add_names(writer *w, sn_rt_section_id id, const char *const *names, size_t count) {
  size_t text = 0;
  for (size_t n = 0; n < count; n++) text += strlen(names[n]) + 1;
  uint8_t *out = new_section(w, id, (count + 1) * 4 + text, 1);
  uint32_t at = 0;
  for (size_t n = 0; out && n < count; n++) {
    size_t length = strlen(names[n]) + 1;
    memcpy(out + (count + 1) * 4 + at, names[n], length);
    at += (uint32_t)length;
    memcpy(out + (n + 1) * 4, &at, 4);
  }
}

// Adds what the description has as the file has it.
static void add_as_is(writer *w, sn_rt_section_id id, const void *items, int count, size_t size) {
  if (count > 0) sn_section_add(&w->list, sn_rt_section_name(id), items, (size_t)count * size, 0);
}

static void add_values(writer *w) {
  int count = w->desc->value_count;
  if (count > 0) add_names(w, SN_SECTION_VALUE_NAMES, w->desc->value_names, (size_t)count);
  add_as_is(w, SN_SECTION_VALUE_RANGES, w->desc->value_ranges, count, sizeof *w->desc->value_ranges);
}

static void add_joints(writer *w) {
  const sn_skeleton *skeleton = w->desc->skeleton;
  if (!skeleton || skeleton->joint_count == 0) return;
  int joint_count = skeleton->joint_count;
  add_names(w, SN_SECTION_JOINT_NAMES, (const char *const *)skeleton->names, (size_t)joint_count);
  add_as_is(w, SN_SECTION_JOINT_PARENTS, skeleton->parents, joint_count, sizeof *skeleton->parents);
  float(*rest)[12] = new_section(w, SN_SECTION_JOINT_REST, (uint64_t)joint_count, sizeof *rest);
  if (rest) sn_model_joints(skeleton->rest, joint_count, rest);
}

static void add_extra(writer *w) {
  int count = w->desc->extra_count;
  if (count == 0) return;
  sn_rt_extra *out = new_section(w, SN_SECTION_DRIVE_EXTRA, (uint64_t)count, sizeof *out);
  int joint_count = (int)w->header.joint_count;
  for (int e = 0; w->list.status == SN_OK && e < count; e++) {
    const sn_extra_joint *x = w->desc->extra + e;
    bool scaling = x->kind == SN_EXTRA_SCALING;
    if (x->parent < 0 || x->parent >= joint_count || x->child < 0 || x->child >= joint_count ||
        (scaling && (x->base < 0 || x->base >= joint_count + e)))
      w->list.status = sn_fail(w->ctx, SN_BAD_INPUT, "extra joint %d is made from joints that do not exist", e);
    const double(*s)[3] = x->stretch.m;
    out[e] = (sn_rt_extra){
      .kind = (uint16_t)x->kind,
      .parent = (uint16_t)x->parent,
      .child = (uint16_t)x->child,
      .base = (uint16_t)(scaling ? x->base : 0),
      .amount = (float)x->amount,
      .stretch = {(float)s[0][0], (float)s[1][1], (float)s[2][2], (float)s[0][1], (float)s[0][2], (float)s[1][2]}};
    sn_vec3_store(x->centre, out[e].centre), sn_vec3_store(x->direction, out[e].direction);
  }
}

// ---- the rest file's normals ----------------------------------------------------------------------------------------

// Normals closer than this (cosine; 0.05 degrees) to the computed ones are not stored: the difference is invisible.
static const double same_normal = 1 - 3.8e-7;

// The file's normal n of vertex i in the frame of SN_RT_OWN_UNIT: the computed normal r, and t towards its first neighbour.
static sn_vec3 find_own(const writer *w, const sn_fans *fans, uint32_t i) {
  const sn_mesh *rest = w->desc->rest;
  const uint32_t *row = fans->neighbours + fans->start[i];
  size_t length = fans->start[i + 1] - fans->start[i];
  if (length == 0) return sn_vec3_make(1, 0, 0);
  sn_vec3 p = sn_vec3_from(rest->positions[i]), sum = sn_vec3_make(0, 0, 0), nowhere = sum;
  for (size_t m = 0; m < length; m++) {
    sn_vec3 a = sn_vec3_from(rest->positions[row[m]]), b = sn_vec3_from(rest->positions[row[(m + 1) % length]]);
    sum = sn_vec3_add(sum, sn_vec3_cross(sn_vec3_sub(a, p), sn_vec3_sub(b, p)));
  }
  return sn_normal_coordinates(sn_vec3_from(w->desc->normals[i]), sn_vec3_normalize(sum, nowhere),
                               sn_vec3_sub(sn_vec3_from(rest->positions[row[0]]), p));
}

// shade.own, if the file's normals differ from those computed from its triangles.
static void add_own_normals(writer *w, const sn_fans *fans) {
  uint32_t vertices = w->header.vertex_count, blocks = sn_rt_blocks_of(vertices);
  bool bent = false;
  for (uint32_t i = 0; w->desc->normals && i < vertices && !bent; i++) bent = find_own(w, fans, i).x < same_normal;
  if (!bent) return;
  int16_t(*out)[3][lanes] = new_section(w, SN_SECTION_SHADE_OWN, blocks, sizeof *out);
  for (uint32_t i = 0; out && i < blocks * lanes; i++) {
    sn_vec3 n = i < vertices ? find_own(w, fans, i) : sn_vec3_make(1, 0, 0);
    for (int c = 0; c < 3; c++)
      out[i / lanes][c][i % lanes] = (int16_t)lround(32767 * fmax(-1, fmin(1, sn_vec3_along(n, c))));
  }
}

static void add_fans(writer *w) {
  if (w->desc->shade != SN_RT_SHADE_RECOMPUTE || w->list.status != SN_OK) return;
  sn_fans fans;
  sn_fan_groups groups = {w->desc->smooth_of, w->desc->place_of};
  w->list.status = sn_fans_make(w->ctx, &w->scratch, w->desc->rest, &groups, &fans);
  if (w->list.status != SN_OK) return;
  sn_fans_add(&w->list, &fans);
  add_own_normals(w, &fans);
}

static void add_tangents(writer *w) {
  const sn_model_desc *d = w->desc;
  if (!d->uvs) return;
  float(*tangents)[4] = sn_section_alloc(&w->list, w->header.vertex_count, sizeof *tangents);
  float(*out)[4][lanes] = new_section(w, SN_SECTION_SKIN_TANGENTS, w->header.block_count, sizeof *out);
  if (out) w->list.status = sn_mesh_tangents(w->ctx, d->rest, w->normals, d->uvs, d->tangents, tangents);
  for (uint32_t b = 0; out && b < w->header.block_count; b++)
    for (int n = 0; n < 4 * lanes; n++) out[b][n / lanes][n % lanes] = tangents[w->vertices[b][n % lanes]][n / lanes];
}

// ---- checks and assembly --------------------------------------------------------------------------------------------

// Large enough that many vertices with the same joints are in one chunk, small enough that a chunk's output fits in the
// second-level cache and that threads can divide the work.
static int default_grain(int vertex_count) {
  int grain = 1024;
  while (grain < 16384 && grain < vertex_count) grain *= 2;
  return grain;
}

static sn_status check_skin(sn_context *ctx, const sn_model_desc *d, int palette) {
  const sn_skin *skin = d->skin;
  if (!skin || skin->vertex_count != d->rest->vertex_count)
    return sn_fail(ctx, SN_BAD_INPUT, "a model needs weights for all its %d vertices", d->rest->vertex_count);
  if (skin->influences < 1 || skin->influences > SN_RT_MAX_INFLUENCES)
    return sn_fail(ctx, SN_BAD_INPUT, "a model has 1 to %d influences per vertex, not %d", SN_RT_MAX_INFLUENCES,
                   skin->influences);
  for (int i = 0; i < skin->vertex_count; i++)
    for (int k = 0; k < skin->influences; k++) {
      size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
      if (!isfinite(skin->weights[at]) || skin->weights[at] < 0)
        return sn_fail(ctx, SN_BAD_INPUT, "vertex %d has the weight %g", i, (double)skin->weights[at]);
      if (skin->joints[at] >= palette)
        return sn_fail(ctx, SN_BAD_INPUT, "vertex %d has an influence of bone %d, there are %d", i, skin->joints[at],
                       palette);
    }
  return SN_OK;
}

static sn_status fill_header(writer *w) {
  sn_context *ctx = w->ctx;
  const sn_model_desc *d = w->desc;
  if (!d->rest) return sn_fail(ctx, SN_BAD_INPUT, "a model needs a rest mesh");
  if (d->weight_bits != 32 && d->weight_bits != 16 && d->weight_bits != 8)
    return sn_fail(ctx, SN_BAD_INPUT, "weights have 32, 16 or 8 bits, or 12 in a packed model, not %d",
                   d->weight_bits);
  if (d->blend == SN_RT_BLEND_CENTRES && !d->centres)
    return sn_fail(ctx, SN_BAD_INPUT, "the blend `centres` needs centres of rotation");
  if (d->grain < 0 || d->grain > SN_RT_MAX_GRAIN)
    return sn_fail(ctx, SN_BAD_INPUT, "the grain is 1 to 65536, not %d", d->grain);
  int joint_count = d->skeleton ? d->skeleton->joint_count : 0;
  int palette = d->palette_count ? d->palette_count : joint_count + d->extra_count;
  if (palette < 1 || palette > SN_RT_MAX_JOINTS)
    return sn_fail(ctx, SN_BAD_INPUT, "a model has 1 to %d joints or bones, not %d", SN_RT_MAX_JOINTS, palette);
  sn_rt_header *h = &w->header;
  memcpy(h->magic, SN_RT_MAGIC, sizeof h->magic);
  h->version_major = SN_RT_FORMAT_MAJOR, h->version_minor = SN_RT_FORMAT_MINOR;
  h->drive = (uint8_t)d->drive, h->correct = (uint8_t)(d->corrections ? d->corrections->kind : SN_RT_CORRECT_NONE);
  h->blend = (uint8_t)d->blend, h->shade = (uint8_t)d->shade;
  h->vertex_count = (uint32_t)d->rest->vertex_count, h->triangle_count = (uint32_t)d->rest->triangle_count;
  h->joint_count = (uint32_t)joint_count, h->palette_count = (uint32_t)palette,
  h->control_count = (uint32_t)d->control_count;
  h->value_count = (uint32_t)d->value_count;
  h->torque_count = d->drive == SN_RT_DRIVE_TORQUE ? (uint32_t)joint_count : 0;
  h->grain = (uint32_t)(d->grain ? d->grain : default_grain(d->rest->vertex_count));
  h->weight_bits = (uint32_t)d->weight_bits;
  SN_TRY(sn_mesh_check(ctx, d->rest));
  return check_skin(ctx, d, palette);
}

static sn_status build(writer *w, sn_model *out) {
  const sn_model_desc *d = w->desc;
  SN_TRY(fill_header(w));
  SN_TRY(prepare_skin(w));
  bool pivot = d->blend != SN_RT_BLEND_LINEAR;
  SN_TRY(sn_block_plan_make(w->ctx, &w->scratch, &w->skin, pivot, (int)w->header.grain, &w->plan));
  add_blocks(w);
  add_joints(w);
  add_values(w);
  add_extra(w);
  add_as_is(w, SN_SECTION_MESH_TRIANGLES, d->rest->triangles, d->rest->triangle_count, sizeof *d->rest->triangles);
  add_fans(w);
  for (int s = 0; s < d->section_count; s++) sn_section_add_given(&w->list, d->sections + s);
  if (d->corrections)
    sn_correct_encode(&w->list, d->corrections,
                      &(sn_correct_blocks){(const int(*)[lanes])w->vertices, w->header.block_count, NULL});
  add_tangents(w);
  return sn_sections_assemble(&w->list, w->header, out);
}

static sn_status build_plain(sn_context *ctx, const sn_model_desc *desc, sn_model *out) {
  writer w = {.ctx = ctx, .desc = desc, .scratch = sn_arena_new(ctx)};
  w.list = (sn_section_list){.ctx = ctx, .memory = &w.scratch};
  sn_status status = build(&w, out);
  sn_skin_free(&w.skin);
  sn_arena_free(&w.scratch);
  return status;
}

static sn_status build_packed(sn_context *ctx, const sn_model_desc *desc, sn_model *out) {
  sn_model_desc plain = *desc;
  SN_FREED_BY(sn_model_free) sn_model model = {0};
  sn_rt_model opened;
  plain.weight_bits = 32;
  SN_TRY(build_plain(ctx, &plain, &model));
  SN_TRY(sn_model_open(ctx, "model", model.bytes, model.size, &opened));
  return sn_model_pack(ctx, &opened, out);
}

sn_status sn_model_build(sn_context *ctx, const sn_model_desc *desc, sn_model *out) {
  *out = (sn_model){0};
  sn_status status = (desc->weight_bits == SN_RT_PACKED_BITS ? build_packed : build_plain)(ctx, desc, out);
  if (status == SN_OK && desc->order == SN_VERTEX_ORDER_BLOCKS) status = sn_model_set_order(ctx, out, desc->order);
  if (status != SN_OK) sn_model_free(out);
  return status;
}
