// SPDX-License-Identifier: MIT
// Packing a finished model: the same blocks in fewer bytes (docs/reference/model-file.md). Sections that have a packed form get it,
// all others are copied.
#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "model/parts.h"
#include "runtime/packed.h"

enum { lanes = SN_RT_LANES, row_bytes = SN_RT_PACKED_ROW, tail = SN_RT_PACKED_TAIL };

typedef struct packer {
  sn_context *ctx;
  const sn_rt_model *model;
  sn_rt_stored skin;
  sn_rt_stored_corrections corrections;
  sn_mesh mesh;
  double diagonal; // of its positions
  sn_arena scratch;
  sn_section_list list;
} packer;

static void *new_section(packer *p, sn_rt_section_id id, uint64_t count, size_t size) {
  return sn_section_new(&p->list, id, count, size, SN_RT_SECTION_REQUIRED);
}

static uint32_t group_count(const packer *p) {
  return (uint32_t)(sn_rt_size(p->model, SN_SECTION_SKIN_GROUPS) / sizeof(sn_rt_group));
}

// Sets number `lane` of a row; it must be zero before.
static void put_number(uint8_t *row, uint32_t lane, uint32_t number) {
  uint8_t *at = row + 3 * (lane / 2) + lane % 2;
  uint32_t shifted = lane % 2 ? number << 4 : number;
  at[0] = (uint8_t)(at[0] | (shifted & 0xff)), at[1] = (uint8_t)(at[1] | shifted >> 8);
}

static uint32_t rounded(double value, double most) { return (uint32_t)lrint(fmin(fmax(value, 0), most)); }

// Maximum worst-case and expected rounding error, relative to the diagonal: half of packing's error budget.
static const double most_cost = 1e-4, usual_cost = 1e-5;

static void copy_section(packer *p, sn_rt_section_id id) {
  sn_section_add(&p->list, sn_rt_section_name(id), sn_rt_data(p->model, id), sn_rt_size(p->model, id),
                 SN_RT_SECTION_REQUIRED);
}

// ---- rest positions -------------------------------------------------------------------------------------------------

// Steps from the minimum corner of every group's bounding box; 65535 steps are the box's longest side.
static void pack_rest(void *user) {
  enum { corner, side, steps, passes };
  packer *p = user;
  float(*boxes)[4] = new_section(p, SN_SECTION_PACK_BOXES, group_count(p), sizeof *boxes), at[3];
  uint16_t(*rest)[3][lanes] = new_section(p, SN_SECTION_PACK_REST, p->model->info.block_count, sizeof *rest);
  for (int pass = corner; rest && pass < passes; pass++) {
    for (uint32_t group = 0; pass == steps && group < group_count(p); group++) boxes[group][3] /= 65535;
    for (sn_rt_block b = {0}; sn_rt_next_block(p->model, &b);)
      for (uint32_t l = 0; l < lanes; l++) {
        float *box = boxes[b.group];
        sn_rt_stored_position(&p->skin, b.group, b.block, l, at);
        for (int c = 0; c < 3; c++) {
          if (pass == corner) box[c] = b.place || l ? fminf(box[c], at[c]) : at[c];
          if (pass == side) box[3] = fmaxf(box[3], at[c] - box[c]);
          double step = box[3] > 0 ? ((double)at[c] - box[c]) / box[3] : 0;
          if (pass == steps) rest[b.block][c][l] = (uint16_t)rounded(step, 65535);
        }
      }
  }
}

// ---- normals and tangents -------------------------------------------------------------------------------------------

// The octahedral u and v of a direction, 12 bits each.
static void put_direction(uint8_t *bytes, const float n[3]) {
  const double half = SN_RT_OCTAHEDRAL_HALF;
  double length = fabs((double)n[0]) + fabs((double)n[1]) + fabs((double)n[2]);
  double x = length > 0 ? n[0] / length : 0, y = length > 0 ? n[1] / length : 0;
  if (n[2] < 0) {
    double folded = (1 - fabs(y)) * copysign(1, x);
    y = (1 - fabs(x)) * copysign(1, y), x = folded;
  }
  uint32_t uv = rounded((x + 1) * half, 2 * half) | rounded((y + 1) * half, 2 * half) << 12;
  for (int k = 0; k < 3; k++) bytes[k] = (uint8_t)(uv >> 8 * k);
}

static void pack_normals(void *user) {
  packer *p = user;
  if (p->model->info.shade != SN_RT_SHADE_TRANSFORM) return;
  size_t blocks = p->model->info.block_count;
  uint8_t *bytes = new_section(p, SN_SECTION_PACK_NORMALS, blocks * SN_RT_PACKED_NORMALS + tail, 1);
  for (size_t b = 0; bytes && b < blocks; b++)
    for (uint32_t l = 0; l < lanes; l++) {
      float n[3];
      sn_rt_stored_normal(&p->skin, b, l, n);
      put_direction(bytes + b * SN_RT_PACKED_NORMALS + 3 * l, n);
    }
}

static void pack_tangents(void *user) {
  packer *p = user;
  size_t blocks = p->model->info.block_count;
  uint8_t *bytes =
    sn_section_new(&p->list, SN_SECTION_PACK_TANGENTS, blocks * SN_RT_PACKED_TANGENTS + tail, 1, 0); // not required
  for (size_t b = 0; bytes && b < blocks; b++, bytes += SN_RT_PACKED_TANGENTS)
    for (uint32_t l = 0; l < lanes; l++) {
      float t[4];
      sn_rt_stored_tangent(&p->skin, b, l, t);
      put_direction(bytes + 3 * l, t);
      if (t[3] < 0) bytes[SN_RT_PACKED_NORMALS] = (uint8_t)(bytes[SN_RT_PACKED_NORMALS] | 1u << l);
    }
}

// ---- weights and joints ---------------------------------------------------------------------------------------------

static void pack_lane(const packer *p, int influences, size_t row, uint32_t lane, uint8_t *rows) {
  float weights[SN_RT_MAX_INFLUENCES] = {1}, sum = 0;
  uint32_t whole[SN_RT_MAX_INFLUENCES];
  for (int k = 1; k < influences; k++) {
    float stored = sn_rt_stored_weight(&p->skin, row + (size_t)k - 1, lane);
    weights[k] = fmaxf(0, stored / sn_rt_weight_total(p->skin.weight_bits));
    weights[0] -= weights[k];
  }
  weights[0] = fmaxf(0, weights[0]);
  for (int k = 0; k < influences; k++) sum += weights[k];
  for (int k = 0; k < influences; k++) weights[k] /= sum;
  sn_quantise_weights(influences, weights, (uint32_t)SN_RT_PACKED_TOTAL, whole);
  for (int k = 1; k < influences; k++) put_number(rows + (row + (size_t)k - 1) * row_bytes, lane, whole[k]);
}

static void pack_weights(void *user) {
  packer *p = user;
  uint64_t count = sn_rt_size(p->model, SN_SECTION_SKIN_WEIGHTS) / p->skin.weight_bits;
  uint8_t *rows = new_section(p, SN_SECTION_PACK_WEIGHTS, count * row_bytes + tail, 1);
  for (sn_rt_block b = {0}; rows && sn_rt_next_block(p->model, &b);)
    for (uint32_t l = 0; l < lanes; l++) pack_lane(p, p->skin.groups[b.group].influences, b.weight_row, l, rows);
}

static void pack_tuples(void *user) {
  packer *p = user;
  const uint16_t *tuples = p->skin.tuples;
  uint64_t count = sn_rt_size(p->model, SN_SECTION_SKIN_TUPLES) / sizeof *tuples;
  if (p->model->info.palette_count > 256)
    return sn_section_add(&p->list, sn_rt_section_name(SN_SECTION_SKIN_TUPLES), tuples, count * sizeof *tuples, 0);
  uint8_t *bytes = new_section(p, SN_SECTION_PACK_TUPLES, count, 1);
  for (uint64_t n = 0; bytes && n < count; n++) bytes[n] = (uint8_t)tuples[n];
}

static void pack_triangles(void *user) {
  packer *p = user;
  const uint32_t(*triangles)[3] = sn_rt_data(p->model, SN_SECTION_MESH_TRIANGLES);
  sn_section_pack_triangles(&p->list, triangles, p->model->info.triangle_count);
}

// ---- the solve of rotreg and torque ---------------------------------------------------------------------------------

// Typical distance of vertices to the centre of their proxy bones, relative to the diagonal: the unit of the solve's translations.
// The error depends little on it.
static const double bone_reach = 0.1;

// The centroid of every proxy bone's vertices, relative to drive.centre.
static sn_status bone_centres(packer *p, uint32_t bones, float (*centres)[3]) {
  uint32_t joint_count = p->model->info.joint_count;
  const float *centre = sn_rt_data(p->model, SN_SECTION_DRIVE_CENTRE);
  SN_FREED_BY(sn_skin_free) sn_skin skin = {0};
  sn_status status = sn_model_skin(p->ctx, p->model, &skin);
  double(*sums)[4] = status == SN_OK ? sn_arena_alloc(p->ctx, &p->scratch, bones, sizeof *sums) : NULL;
  for (size_t n = 0; sums && n < (size_t)skin.vertex_count * (size_t)skin.influences; n++) {
    if (skin.joints[n] < joint_count) continue;
    double *sum = sums[skin.joints[n] - joint_count], w = skin.weights[n];
    const float *at = p->mesh.positions[n / (size_t)skin.influences];
    for (int c = 0; c < 3; c++) sum[c] += w * at[c];
    sum[3] += w;
  }
  for (uint32_t b = 0; sums && b < bones; b++)
    for (int c = 0; sums[b][3] > 0 && c < 3; c++)
      centres[b][c] = (float)(sums[b][c] / sums[b][3] - (centre ? (double)centre[c] : 0));
  return sums ? SN_OK : p->ctx->error.status;
}

// The 32 rows of a column: the fourth of every bone becomes the image of its centre, divided by `unit`.
static double column_rows(const float *column, const float (*centres)[3], double unit, double rows[32]) {
  double most = 0;
  for (size_t r = 0; r < SN_RT_ROTREG_ROWS; r++) {
    const float *bone = column + r / 4 * 4, *c = centres[r / 4];
    rows[r] = r % 4 < 3
                ? column[r]
                : ((double)bone[3] + (double)bone[0] * c[0] + (double)bone[1] * c[1] + (double)bone[2] * c[2]) / unit;
    most = fmax(most, fabs(rows[r]));
  }
  return most;
}

// Expected rounding error: a step s has rms error s / sqrt(12). A gradient's column has a 1 in every third number, and affects
// the centre and the linear part; a joint's position is within a quarter of the diagonal, and affects the centre. A vertex follows
// about three bones with independent errors.
static bool solve_bears_packing(const packer *p, const float *scales, size_t blocks, size_t columns, double unit) {
  size_t gradients = columns - 4 * (size_t)p->model->info.joint_count;
  double usual = 0;
  for (size_t b = 0; b < blocks; b++) {
    double squares = 0;
    for (size_t k = 0; k < columns; k++) {
      bool place = k >= gradients && (k - gradients) % 4 == 3;
      double error = unit * scales[b * columns + k] * (place ? p->diagonal / 4 / sqrt(12) : 2.0 / 6);
      squares += error * error;
    }
    if (3 * sqrt(squares) > most_cost * p->diagonal) return false;
    usual += squares / 3 / (double)blocks;
  }
  return sqrt(usual) <= usual_cost * p->diagonal;
}

static void pack_solve(void *user) {
  packer *p = user;
  uint32_t joint_count = p->model->info.joint_count, bones = p->model->info.palette_count - joint_count;
  size_t blocks = sn_rt_rotreg_blocks(bones), columns = 3 * (size_t)bones + 4 * (size_t)joint_count;
  const float *solve = sn_rt_data(p->model, SN_SECTION_DRIVE_SOLVE);
  size_t scale_count = sn_rt_packed_scale_count(joint_count, bones), count = blocks * columns * SN_RT_ROTREG_ROWS;
  float *numbers = sn_section_alloc(&p->list, scale_count, sizeof *numbers);
  int16_t *rows = sn_section_alloc(&p->list, count, sizeof *rows);
  if (!rows) return;
  float(*centres)[3] = (float(*)[3])(void *)(numbers + 1), *scales = numbers + 1 + 3 * lanes * blocks;
  p->list.status = bone_centres(p, bones, centres);
  numbers[0] = (float)(bone_reach * p->diagonal);
  for (size_t at = 0; p->list.status == SN_OK && numbers[0] > 0 && at < blocks * columns; at++) {
    double wide[SN_RT_ROTREG_ROWS];
    scales[at] = (float)(column_rows(solve + at * SN_RT_ROTREG_ROWS,
                                     (const float(*)[3])centres + at / columns * lanes, numbers[0], wide) /
                         INT16_MAX);
    for (size_t r = 0; scales[at] > 0 && r < SN_RT_ROTREG_ROWS; r++)
      rows[at * SN_RT_ROTREG_ROWS + r] = (int16_t)fmax(-INT16_MAX, fmin(INT16_MAX, rint(wide[r] / scales[at])));
  }
  if (!(numbers[0] > 0) || !solve_bears_packing(p, scales, blocks, columns, numbers[0]))
    return copy_section(p, SN_SECTION_DRIVE_SOLVE);
  sn_section_add(&p->list, sn_rt_section_name(SN_SECTION_PACK_SOLVE), rows, count * sizeof *rows,
                 SN_RT_SECTION_REQUIRED);
  sn_section_add(&p->list, sn_rt_section_name(SN_SECTION_PACK_SCALES), numbers, scale_count * sizeof *numbers,
                 SN_RT_SECTION_REQUIRED);
}

// ---- corrections ----------------------------------------------------------------------------------------------------

// The upper 16 bits of `value`, rounded up.
static uint16_t short_float_above(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)((bits >> 16) + ((bits & 0xffff) != 0));
}

static float largest_delta(const packer *p, size_t entry, uint32_t first) {
  float largest = 0;
  for (uint32_t c = first; c < first + 3; c++)
    for (uint32_t l = 0; l < lanes; l++)
      largest = fmaxf(largest, fabsf(sn_rt_stored_delta(&p->corrections, entry, c, l)));
  return largest;
}

static float position_step(const packer *p, size_t entry) {
  float scale = sn_rt_stored_entry(&p->corrections, entry).position;
  return scale * largest_delta(p, entry, 0) / (SN_RT_PACKED_ZERO - 1);
}

// A component in multiples of its new scale.
static double scaled_delta(const packer *p, size_t entry, uint32_t component, uint32_t lane, float was, float scale) {
  return scale > 0 ? (double)was * sn_rt_stored_delta(&p->corrections, entry, component, lane) / scale : 0;
}

static void pack_entry(const packer *p, size_t index, sn_rt_packed_entry *to, uint8_t *rows) {
  sn_rt_correct_entry e = sn_rt_stored_entry(&p->corrections, index);
  bool normals = p->model->info.shade == SN_RT_SHADE_TRANSFORM;
  to->basis = e.basis;
  to->position = position_step(p, index);
  to->normal =
    normals ? short_float_above(e.normal * largest_delta(p, index, 3) / (SN_RT_PACKED_NORMAL_ZERO - 1)) : 0;
  float normal_scale = sn_rt_short_float(to->normal);
  for (uint32_t l = 0; l < lanes; l++) {
    uint32_t packed_normal = 0;
    for (uint32_t c = 0; c < 3; c++) {
      double steps = scaled_delta(p, index, c, l, e.position, to->position) + SN_RT_PACKED_ZERO;
      put_number(rows + c * row_bytes, l, rounded(steps, 2 * SN_RT_PACKED_ZERO - 1));
      double delta = scaled_delta(p, index, 3 + c, l, e.normal, normal_scale) + SN_RT_PACKED_NORMAL_ZERO;
      packed_normal |= rounded(delta, 2 * SN_RT_PACKED_NORMAL_ZERO - 1) << 10 * c;
    }
    if (normals) memcpy(rows + 3 * row_bytes + l * sizeof packed_normal, &packed_normal, sizeof packed_normal);
  }
}

// Rounding error of half a step per entry of a block: worst case (all in one direction) and expected (independent). It is too
// large if similar pose functions have large displacements that cancel.
static bool corrections_bear_packing(const packer *p) {
  const uint32_t *start = p->corrections.start;
  double usual = 0, blocks = p->model->info.block_count;
  for (size_t b = 0; b < p->model->info.block_count; b++) {
    double sum = 0, squares = 0;
    for (size_t n = start[b]; n < start[b + 1]; n++) {
      double step = position_step(p, n);
      sum += step, squares += step * step;
    }
    if (sum * sqrt(3) / 2 > most_cost * p->diagonal) return false;
    usual += squares / 4 / blocks;
  }
  return sqrt(usual) <= usual_cost * p->diagonal;
}

static void pack_entries(void *user) {
  packer *p = user;
  if (!corrections_bear_packing(p)) {
    copy_section(p, SN_SECTION_CORRECT_ENTRIES);
    return copy_section(p, SN_SECTION_CORRECT_DELTAS);
  }
  const sn_rt_correct_head *head = sn_rt_data(p->model, SN_SECTION_CORRECT_HEAD);
  size_t count = head->entry_count, size = sn_rt_packed_delta_bytes(p->model->info.shade);
  sn_rt_packed_entry *entries = new_section(p, SN_SECTION_PACK_ENTRIES, count, sizeof *entries);
  uint8_t *deltas = new_section(p, SN_SECTION_PACK_DELTAS, count * size + tail, 1);
  for (size_t n = 0; deltas && n < count; n++) pack_entry(p, n, entries + n, deltas + n * size);
}

static void pack_limits(void *user) {
  packer *p = user;
  size_t count = (size_t)p->model->info.block_count * lanes;
  uint8_t *bytes = new_section(p, SN_SECTION_PACK_LIMITS, sizeof(float) + 2 * count, 1);
  if (!bytes) return;
  const float *limits = p->corrections.limits;
  float largest = 0;
  for (size_t n = 0; n < count; n++) largest = fmaxf(largest, limits[n]);
  float unit = largest / 65535;
  memcpy(bytes, &unit, sizeof unit);
  uint16_t *out = (uint16_t *)(void *)(bytes + sizeof unit);
  for (size_t n = 0; n < count; n++) out[n] = (uint16_t)fmax(1, rounded(limits[n] / unit, 65535));
}

// Deltas are written together with their entries.
static const sn_section_rule rules[] = {
  {SN_SECTION_SKIN_REST, pack_rest},           {SN_SECTION_SKIN_NORMALS, pack_normals},
  {SN_SECTION_SKIN_WEIGHTS, pack_weights},     {SN_SECTION_SKIN_TUPLES, pack_tuples},
  {SN_SECTION_MESH_TRIANGLES, pack_triangles}, {SN_SECTION_CORRECT_ENTRIES, pack_entries},
  {SN_SECTION_CORRECT_DELTAS, NULL},           {SN_SECTION_CORRECT_LIMITS, pack_limits},
  {SN_SECTION_SKIN_TANGENTS, pack_tangents},   {SN_SECTION_DRIVE_SOLVE, pack_solve}};

sn_status sn_model_pack(sn_context *ctx, const sn_rt_model *model, sn_model *out) {
  *out = (sn_model){0};
  if (model->info.weight_bits == SN_RT_PACKED_BITS) return sn_fail(ctx, SN_BAD_INPUT, "the model is packed already");
  packer p = {.ctx = ctx,
              .model = model,
              .skin = sn_rt_stored_of(model),
              .corrections = sn_rt_stored_corrections_of(model),
              .scratch = sn_arena_new(ctx)};
  p.list = (sn_section_list){.ctx = ctx, .memory = &p.scratch};
  p.list.status = sn_model_mesh(ctx, model, &p.mesh);
  p.diagonal = sn_mesh_diagonal(&p.mesh);
  sn_rt_header header = sn_sections_rewrite(&p.list, model, rules, sizeof rules / sizeof *rules, &p);
  header.weight_bits = SN_RT_PACKED_BITS;
  sn_status status = sn_sections_assemble(&p.list, header, out);
  sn_mesh_free(&p.mesh);
  sn_arena_free(&p.scratch);
  return status;
}
