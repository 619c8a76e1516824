// SPDX-License-Identifier: MIT
// The layout that the GPU reads, walked through on the CPU: a vertex of a tile moves as the runtime's scalar path moves it.
#include "cuda/octets.h"
#include "cuda/passes.h"
#include "cuda/poses.h"
#include "cuda/tiles.h"
#include "runtime/format.h"
#include "runtime/vertex.h"
#include "train_fixture.h"

enum { tile_size = SN_CUDA_TILE, warp_size = SN_CUDA_WARP };

typedef struct evaluated {
  float (*positions)[3], (*normals)[3];
  void *scratch;
} evaluated;

static evaluated evaluate(sn_rt_model *model) {
  evaluated e = {calloc(model->info.vertex_count, 12), calloc(model->info.vertex_count, 12),
                 calloc(1, sn_rt_scratch_size(model))};
  float(*joints)[12] = calloc(model->info.joint_count, sizeof *joints), *torques = calloc(model->info.joint_count, 4);
  sn_cuda_pose(model, 3, joints, torques, NULL, NULL);
  sn_rt_input input = {.joints = (const float(*)[12])joints, .torques = torques};
  sn_rt_output output = {.positions = e.positions[0], .normals = e.normals[0]};
  assert_true(sn_rt_use_path(model, SN_RT_PATH_SCALAR));
  assert_int_equal(sn_rt_evaluate(model, &input, e.scratch, &output, NULL), SN_RT_OK);
  free(joints), free(torques);
  return e;
}

static void release_evaluated(evaluated *e) { free(e->positions), free(e->normals), free(e->scratch); }

// The displacement of one lane by the warp's corrections.
static void sum_slot(const sn_cuda_tiles *t, size_t slot, const float *values, float move[3]) {
  size_t warp = slot / warp_size, lane = slot % warp_size;
  for (uint32_t e = t->first_entry[warp]; e < t->first_entry[warp + 1]; e++)
    for (int r = 0; r < 3; r++) {
      int stored = t->deltas[((size_t)e * 3 + (size_t)r / 2) * warp_size * 2 + lane * 2 + (size_t)r % 2];
      move[r] += values[t->entries[e].basis] * t->entries[e].position * (float)(stored - 32768);
    }
}

// By the blended matrix b, and about the slot's centre where it has one.
static void move_slot(const sn_rt_model *model, const sn_cuda_tiles *t, const evaluated *e, size_t slot,
                      const float b[16], const float p[3], float out[3]) {
  sn_rt_transform(b, p, out);
  if (!t->centres) return;
  size_t tile = slot / tile_size, in_tile = slot % tile_size;
  float q[8] = {0}, centre[3];
  for (size_t c = 0; c < 3; c++) centre[c] = t->centres[(tile * 3 + c) * tile_size + in_tile];
  for (uint32_t k = 0; k < t->counts[slot / warp_size]; k++) {
    size_t at = (tile * t->influences + k) * tile_size + in_tile;
    float own[8], stretch[12];
    assert_int_equal(
      sn_rt_palette_split(model, e->scratch, t->joints[t->first_joint[tile] + t->locals[at]], own, stretch), 1);
    for (int n = 0; n < 4; n++) q[n] += t->weights[at] * own[n];
  }
  sn_rt_apply_centre(b, q, NULL, centre, p, out);
}

static double slot_error(const sn_rt_model *model, const sn_cuda_tiles *t, const evaluated *e, size_t slot) {
  size_t tile = slot / tile_size, in_tile = slot % tile_size, place = t->places[slot];
  float p[3], move[3] = {0}, b[16] = {0}, out[3];
  const float *values;
  if (sn_rt_correct_values(model, e->scratch, &values)) sum_slot(t, slot, values, move);
  const sn_rt_correct_head *head = sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  bool late = t->limits && head->limit_after;
  float squared = move[0] * move[0] + move[1] * move[1] + move[2] * move[2];
  float share = late ? 0 : t->limits ? sn_rt_limit(squared, t->limits[slot]) : 1;
  for (size_t c = 0; c < 3; c++) p[c] = t->rest[(tile * 6 + c) * tile_size + in_tile] + share * move[c];
  for (uint32_t k = 0; k < t->counts[slot / warp_size]; k++) {
    size_t at = (tile * t->influences + k) * tile_size + in_tile;
    float m[12];
    sn_rt_palette_matrix(model, e->scratch, t->joints[t->first_joint[tile] + t->locals[at]], m);
    for (int n = 0; n < 12; n++) b[4 * (n % 4) + n / 4] += t->weights[at] * m[n];
  }
  move_slot(model, t, e, slot, b, p, out);
  if (late) sn_rt_move_limited(b, move, t->limits[slot], out);
  const float *truth = e->positions[tile * tile_size + place];
  double d = 0;
  for (int c = 0; c < 3; c++) d = fmax(d, fabs(out[c] - truth[c]));
  return d;
}

// Neighbour `number` of a tile, or of its halo.
static const float *neighbour(const sn_cuda_tiles *t, const evaluated *e, size_t tile, uint32_t number) {
  uint32_t vertex =
    number < tile_size ? (uint32_t)tile * tile_size + number : t->halo[t->first_halo[tile] + number - tile_size];
  return e->positions[vertex];
}

static double fan_error(const sn_cuda_tiles *t, const evaluated *e, size_t thread) {
  size_t tile = thread / tile_size, warp = thread / warp_size, vertex = tile * tile_size + t->fan_places[thread];
  uint32_t count = t->first_step[warp + 1] - t->first_step[warp];
  const uint16_t *steps = t->steps + (size_t)t->first_step[warp] * warp_size + thread % warp_size;
  const float *p = e->positions[vertex];
  double sum[3] = {0}, length = 0, d = 0;
  for (uint32_t s = 0; s < count; s++) {
    const float *u = neighbour(t, e, tile, steps[(size_t)s * warp_size]);
    const float *v = neighbour(t, e, tile, steps[(size_t)((s + 1) % count) * warp_size]);
    for (int c = 0; c < 3; c++) {
      int y = (c + 1) % 3, z = (c + 2) % 3;
      sum[c] += (double)(u[y] - p[y]) * (v[z] - p[z]) - (double)(u[z] - p[z]) * (v[y] - p[y]);
    }
  }
  for (int c = 0; c < 3; c++) length += sum[c] * sum[c];
  for (int c = 0; c < 3; c++) d = fmax(d, fabs(sum[c] / sqrt(length) - e->normals[vertex][c]));
  return d;
}

// The same walk with the neighbours of a pass: two triangles at a time, as in pass_shade.cu.
static double pass_error(const sn_cuda_passes *p, const evaluated *e, uint32_t vertex) {
  uint32_t tile = vertex / SN_CUDA_FAN_TILE, s = p->first_step[vertex], last = p->first_step[vertex + 1];
  const float *at = e->positions[vertex], *u = at;
  double sum[3] = {0}, length = 0, d = 0;
  for (bool first = true; s < last; s++, first = false) {
    const float *pair[2];
    for (uint32_t k = 0; k < 2; k++) {
      uint32_t number = k ? p->steps[s] >> 16 : p->steps[s] & 0xffff;
      assert_true(number < SN_CUDA_FAN_TILE + p->first_halo[tile + 1] - p->first_halo[tile]);
      pair[k] = e->positions[number < SN_CUDA_FAN_TILE ? tile * SN_CUDA_FAN_TILE + number
                                                       : p->halo[p->first_halo[tile] + number - SN_CUDA_FAN_TILE]];
    }
    for (int c = 0; !first && c < 3; c++) {
      int y = (c + 1) % 3, z = (c + 2) % 3;
      sum[c] +=
        (double)(pair[0][y] - at[y]) * (pair[1][z] - u[z]) - (double)(pair[0][z] - at[z]) * (pair[1][y] - u[y]);
    }
    u = first ? pair[0] : pair[1];
  }
  for (int c = 0; c < 3; c++) length += sum[c] * sum[c];
  for (int c = 0; c < 3; c++) d = fmax(d, fabs(sum[c] / sqrt(length) - e->normals[vertex][c]));
  return d;
}

static void check_passes(const sn_rt_model *model, const evaluated *e) {
  sn_cuda_passes p;
  assert_int_equal(sn_cuda_passes_make(model, &p), 1);
  assert_int_equal(p.steps != NULL, model->info.shade == SN_RT_SHADE_RECOMPUTE);
  for (uint32_t i = 0; p.steps && i < model->info.vertex_count; i++) assert_true(pass_error(&p, e, i) < 1e-3);
  sn_cuda_passes_free(&p);
}

// A vertex of an octet, its displacement from the numbers as the lanes of a warp hold them.
static double octet_error(const sn_rt_model *model, const sn_cuda_octets *o, const evaluated *e, size_t octet,
                          uint32_t v) {
  const float *rest = o->rest + (octet * SN_CUDA_OCTET + v) * 8, *values;
  float p[3], move[3] = {0}, b[16] = {0}, out[3];
  assert_true(sn_rt_correct_values(model, e->scratch, &values) > 0);
  for (uint32_t n = o->first_bases[octet]; n < o->first_bases[octet + 1]; n++)
    for (uint32_t k = 0; k < 8; k++)
      for (int c = 0; c < 3; c++)
        move[c] += values[o->bases[n].bases[k]] * o->bases[n].deltas[c][4 * v + k % 4][k / 4 * 2];
  bool limited = rest[3] > 0,
       late = ((const sn_rt_correct_head *)sn_rt_data(model, SN_SECTION_CORRECT_HEAD))->limit_after;
  float share =
    limited && !late ? sn_rt_limit(move[0] * move[0] + move[1] * move[1] + move[2] * move[2], rest[3]) : 1;
  for (int c = 0; c < 3; c++) p[c] = rest[c] + (limited && late ? 0 : share * move[c]);
  size_t tile = octet / SN_CUDA_TILE_OCTETS;
  for (uint32_t k = 0; k < o->counts[octet]; k++) {
    size_t at = (octet * o->influences + k) * SN_CUDA_OCTET + v;
    float m[12];
    sn_rt_palette_matrix(model, e->scratch, o->joints[o->first_joint[tile] + o->locals[at]], m);
    for (int n = 0; n < 12; n++) b[4 * (n % 4) + n / 4] += o->weights[at] * m[n];
  }
  sn_rt_transform(b, p, out);
  if (limited && late) sn_rt_move_limited(b, move, rest[3], out);
  const float *truth = e->positions[tile * SN_CUDA_OCTET_TILE + o->places[octet * SN_CUDA_OCTET + v]];
  double d = 0;
  for (int c = 0; c < 3; c++) d = fmax(d, fabs(out[c] - truth[c]));
  return d;
}

static void check_octets(const sn_rt_model *model, const evaluated *e) {
  sn_cuda_octets o;
  uint32_t seen = 0;
  assert_int_equal(sn_cuda_octets_make(model, &o), 1);
  assert_int_equal(o.bases != NULL,
                   model->info.correct != SN_RT_CORRECT_NONE && model->info.blend != SN_RT_BLEND_CENTRES);
  for (size_t octet = 0; octet < (size_t)o.tile_count * SN_CUDA_TILE_OCTETS; octet++)
    for (uint32_t v = 0; v < SN_CUDA_OCTET; v++) {
      if (o.places[octet * SN_CUDA_OCTET + v] == 0xffff) continue;
      seen++;
      assert_true(octet_error(model, &o, e, octet, v) < 1e-5);
    }
  assert_int_equal(seen, o.bases ? model->info.vertex_count : 0);
  sn_cuda_octets_free(&o);
}

static void check_spec(sn_context *ctx, const sn_examples *examples, const char *spec) {
  trained t = train(ctx, examples, spec, "every:3");
  sn_cuda_tiles tiles;
  assert_int_equal(sn_cuda_tiles_make(&t.model, &tiles), 1);
  evaluated e = evaluate(&t.model);
  size_t seen = 0;
  for (size_t slot = 0; slot < (size_t)tiles.tile_count * tile_size; slot++) {
    if (tiles.places[slot] == 0xffff) continue;
    seen++;
    assert_true(slot_error(&t.model, &tiles, &e, slot) < 1e-5);
  }
  assert_int_equal(seen, t.model.info.vertex_count);
  for (size_t thread = 0; tiles.steps && thread < (size_t)tiles.tile_count * tile_size; thread++) {
    if (thread / tile_size * tile_size + tiles.fan_places[thread] < t.model.info.vertex_count)
      assert_true(fan_error(&tiles, &e, thread) < 1e-3);
  }
  check_passes(&t.model, &e);
  check_octets(&t.model, &e);
  assert_true(tiles.influences <= 4); // joints of a group without weight at a vertex are left out
  release_evaluated(&e);
  sn_cuda_tiles_free(&tiles);
  release(&t);
}

static void tiles_hold_the_model(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "arm", 12, 700); // two whole tiles and a part of one
  const char *specs[] = {
    "lbs", "cor", "psd", "eigenskin", "rotreg:bones=12", "rotreg:bones=12,shade=transform", "rotreg:bones=12,psd=1"};
  for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) check_spec(&ctx, &examples, specs[s]);
  sn_examples_free(&examples);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tiles_hold_the_model)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
