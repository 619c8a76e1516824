// SPDX-License-Identifier: MIT
// The layout that the GPU reads, walked through on the CPU: a vertex of a tile moves as the runtime's scalar path moves it.
#include "cuda/fans.h"
#include "cuda/poses.h"
#include "cuda/tiles.h"
#include "runtime/format.h"
#include "cuda/vertex.h"
#include "train_fixture.h"

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

// The displacement of vertex v of an octet, from the numbers as the lanes of a warp hold them.
static void sum_octet(const sn_cuda_tiles *t, size_t octet, uint32_t v, const float *values, float move[3]) {
  for (uint32_t n = t->first_bases[octet]; n < t->first_bases[octet + 1]; n++)
    for (uint32_t k = 0; k < 8; k++)
      for (int c = 0; c < 3; c++)
        move[c] += values[t->bases[n].bases[k]] * t->bases[n].deltas[c][4 * v + k % 4][k / 4 * 2];
}

// By the blended matrix b, and about the slot's centre where it has one.
static void move_slot(const sn_rt_model *model, const sn_cuda_tiles *t, const evaluated *e, size_t slot,
                      const float b[16], const float from[3], float out[3]) {
  sn_rt_transform(b, from, out);
  if (!t->centres) return;
  size_t group = slot / t->group, tile = group / SN_CUDA_TILE_GROUPS;
  float q[8] = {0};
  for (uint32_t k = 0; k < t->counts[group]; k++) {
    size_t at = slot * t->influences + k;
    float own[8], stretch[12];
    assert_int_equal(
      sn_rt_palette_split(model, e->scratch, t->joints[t->first_joint[tile] + t->locals[at]], own, stretch), 1);
    for (int n = 0; n < 4; n++) q[n] += t->weights[at] * own[n];
  }
  sn_rt_apply_centre(b, q, NULL, t->centres + 3 * slot, from, out);
}

static double slot_error(const sn_rt_model *model, const sn_cuda_tiles *t, const evaluated *e, size_t slot) {
  size_t group = slot / t->group, tile = group / SN_CUDA_TILE_GROUPS;
  const float *rest = t->rest + 8 * slot, *values;
  float p[3], move[3] = {0}, b[16] = {0}, out[3];
  if (sn_rt_correct_values(model, e->scratch, &values))
    sum_octet(t, group, (uint32_t)(slot % t->group), values, move);
  const sn_rt_correct_head *head = sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  bool limited = rest[3] > 0, late = limited && head->limit_after;
  float squared = move[0] * move[0] + move[1] * move[1] + move[2] * move[2];
  float share = late ? 0 : limited ? sn_rt_limit(squared, rest[3]) : 1;
  for (size_t c = 0; c < 3; c++) p[c] = rest[c] + share * move[c];
  for (uint32_t k = 0; k < t->counts[group]; k++) {
    size_t at = slot * t->influences + k;
    float m[12];
    sn_rt_palette_matrix(model, e->scratch, t->joints[t->first_joint[tile] + t->locals[at]], m);
    for (int n = 0; n < 12; n++) b[4 * (n % 4) + n / 4] += t->weights[at] * m[n];
  }
  move_slot(model, t, e, slot, b, p, out);
  if (late) sn_rt_move_limited(b, move, rest[3], out);
  const float *truth = e->positions[t->vertices[slot]];
  double d = 0;
  for (int c = 0; c < 3; c++) d = fmax(d, fabs(out[c] - truth[c]));
  return d;
}

// A neighbour of a tile, or of its halo, by its place in shared memory.
static const float *neighbour(const sn_cuda_fans *f, const evaluated *e, uint32_t tile, uint32_t place) {
  uint32_t number = place / SN_CUDA_FAN_BYTES, halo = f->first_halo[tile];
  assert_int_equal(place % SN_CUDA_FAN_BYTES, 0);
  assert_true(number < SN_CUDA_FAN_TILE + f->first_halo[tile + 1] - halo);
  return e->positions[number < SN_CUDA_FAN_TILE ? tile * SN_CUDA_FAN_TILE + number
                                                : f->halo[halo + number - SN_CUDA_FAN_TILE]];
}

// Two triangles at a time, as in shade.cu.
static double fan_error(const sn_cuda_fans *f, const evaluated *e, uint32_t vertex) {
  const uint32_t tile = vertex / SN_CUDA_FAN_TILE, *near = f->groups[f->first_group[vertex]];
  const size_t count = (f->first_group[vertex + 1] - f->first_group[vertex]) * SN_CUDA_FAN_GROUP;
  const float *at = e->positions[vertex], *u = neighbour(f, e, tile, near[count - 1]);
  double sum[3] = {0}, length = 0, d = 0;
  for (size_t s = 0; s < count; s += 2) {
    const float *v = neighbour(f, e, tile, near[s]), *w = neighbour(f, e, tile, near[s + 1]);
    for (int c = 0; c < 3; c++) {
      int y = (c + 1) % 3, z = (c + 2) % 3;
      sum[c] += (double)(v[y] - at[y]) * (w[z] - u[z]) - (double)(v[z] - at[z]) * (w[y] - u[y]);
    }
    u = w;
  }
  for (int c = 0; c < 3; c++) length += sum[c] * sum[c];
  for (int c = 0; c < 3; c++) d = fmax(d, fabs(sum[c] / sqrt(length) - e->normals[vertex][c]));
  return d;
}

static void check_fans(const sn_rt_model *model, const evaluated *e) {
  sn_cuda_fans f;
  assert_int_equal(sn_cuda_fans_make(model, &f), 1);
  assert_int_equal(f.groups != NULL, model->info.shade == SN_RT_SHADE_RECOMPUTE);
  for (uint32_t i = 0; f.groups && i < model->info.vertex_count; i++) assert_true(fan_error(&f, e, i) < 1e-3);
  sn_cuda_fans_free(&f);
}

static void check_spec(sn_context *ctx, const sn_examples *examples, const char *spec) {
  trained t = train(ctx, examples, spec, "every:3");
  const sn_rt_info *info = &t.model.info;
  sn_cuda_tiles tiles;
  assert_int_equal(sn_cuda_tiles_make(&t.model, &tiles), 1);
  bool octets = info->correct != SN_RT_CORRECT_NONE || info->shade == SN_RT_SHADE_RECOMPUTE;
  assert_int_equal(tiles.group, octets ? SN_CUDA_OCTET : SN_CUDA_WARP);
  assert_int_equal(tiles.bases != NULL, info->correct != SN_RT_CORRECT_NONE);
  evaluated e = evaluate(&t.model);
  size_t seen = 0;
  for (size_t slot = 0; slot < (size_t)tiles.tile_count * SN_CUDA_TILE_GROUPS * tiles.group; slot++) {
    if (tiles.vertices[slot] == SN_CUDA_NO_VERTEX) continue;
    seen++;
    assert_true(slot_error(&t.model, &tiles, &e, slot) < 1e-5);
  }
  assert_int_equal(seen, info->vertex_count);
  check_fans(&t.model, &e);
  assert_true(tiles.influences <= 4); // joints of a group without weight at a vertex are dropped
  release_evaluated(&e);
  sn_cuda_tiles_free(&tiles);
  release(&t);
}

static void tiles_hold_the_model(void **state) {
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
