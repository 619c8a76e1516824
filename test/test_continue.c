// SPDX-License-Identifier: MIT
// SN_RT_CONTINUE: scratch memory that goes on from frame to frame gives the same bytes as a new one, whatever moves or does not,
// for every drive, with pose spaces, packed or not, on every path. And AVX-512 gives the positions of AVX2.
#include "runtime/internal.h"
#include "train_fixture.h"

static const sn_rt_path all_paths[] = {SN_RT_PATH_SCALAR, SN_RT_PATH_SSE2, SN_RT_PATH_AVX2,
                                       SN_RT_PATH_NEON,   SN_RT_PATH_WASM, SN_RT_PATH_AVX512};

typedef struct subject {
  sn_rt_model model;
  float (*joints)[12], *torques, *values, (*controls)[3];
  void *kept, *fresh, *state, *state_kept;
  float *a, *b; // positions and normals
} subject;

static void evaluate_frame(subject *s, uint32_t flags) {
  bool keep = flags & SN_RT_CONTINUE;
  size_t count = 3 * (size_t)s->model.info.vertex_count;
  sn_rt_input input = {.joints = (const float(*)[12])s->joints,
                       .controls = (const float(*)[3])s->controls,
                       .torques = s->torques,
                       .values = s->values,
                       .state = keep ? s->state_kept : s->state,
                       .flags = flags};
  float *to = keep ? s->a : s->b;
  sn_rt_output output = {.positions = to, .normals = to + count};
  void *scratch = keep ? s->kept : s->fresh;
  if (!keep) memset(scratch, 0x55, sn_rt_scratch_size(&s->model)); // what it held before does not matter
  assert_int_equal(sn_rt_evaluate(&s->model, &input, scratch, &output, NULL), SN_RT_OK);
}

static void check_frame(subject *s) {
  evaluate_frame(s, SN_RT_CONTINUE), evaluate_frame(s, 0);
  assert_memory_equal(s->a, s->b, 6 * (size_t)s->model.info.vertex_count * sizeof(float));
}

static void turn(subject *s, uint32_t j, double angle, double move) {
  float *m = s->joints[j];
  for (int r = 0; r < 3; r++) {
    float x = m[4 * r], y = m[4 * r + 1], c = (float)cos(angle), sine = (float)sin(angle);
    m[4 * r] = c * x - sine * y, m[4 * r + 1] = sine * x + c * y;
  }
  m[3] += (float)move;
}

// All joints, none, each alone, a translation alone, all again; torques, controls and values likewise.
static void walk(subject *s) {
  const sn_rt_info *info = &s->model.info;
  check_frame(s), check_frame(s);
  for (uint32_t j = 0; j < info->joint_count; j++) turn(s, j, 0.1 * (j % 5), 0), check_frame(s);
  for (uint32_t j = 0; j < info->joint_count; j += 2) turn(s, j, 0, 0.1), check_frame(s);
  for (uint32_t j = 0; j < info->torque_count; j++) s->torques[j] += 20, check_frame(s);
  for (uint32_t v = 0; v < info->value_count; v++) s->values[v] += 0.3f, check_frame(s);
  for (uint32_t c = 0; c < info->control_count; c++) s->controls[c][1] += 0.1f, check_frame(s);
  for (uint32_t j = 0; j < info->joint_count; j++) turn(s, j, 0.07, 0.02);
  check_frame(s), check_frame(s);
  for (uint32_t j = 0; j < info->joint_count; j++) turn(s, j, -0.07, 0);
  evaluate_frame(s, 0), check_frame(s); // a frame that another scratch memory saw
}

// AVX-512 gives the positions of AVX2: the same bytes, and within the tolerance of docs/reference/reliability.md where the solve of `rotreg`
// takes 512 bits at once, which adds in another order. *seen: what AVX2 gave.
static void compare_with_avx2(const subject *s, float **seen) {
  size_t count = 3 * (size_t)s->model.info.vertex_count;
  if (sn_rt_get_path(&s->model) == SN_RT_PATH_AVX2) {
    *seen = malloc(count * sizeof(float));
    memcpy(*seen, s->b, count * sizeof(float));
  } else if (sn_rt_get_path(&s->model) == SN_RT_PATH_AVX512) {
    double size = 0;
    for (size_t k = 0; k < count; k++) size = fmax(size, fabs((double)(*seen)[k]));
    double tolerance = sn_rt_at(&s->model)->wide_units ? 1e-5 * size : 0;
    for (size_t k = 0; k < count; k++) assert_near(s->b[k], (*seen)[k], tolerance);
  }
}

static void check_model(const sn_rt_model *model) {
  size_t vertices = model->info.vertex_count, joints = model->info.joint_count;
  float *seen[2] = {NULL, NULL};
  for (size_t n = 0; n < sizeof all_paths / sizeof *all_paths; n++)
    for (int with_state = 0; with_state < 2; with_state++) {
      subject s = {.model = *model};
      if (!sn_rt_use_path(&s.model, all_paths[n])) continue;
      sn_rt_change(&s.model)->wide_units = (uint32_t)with_state; // as if on another processor
      s.joints = calloc(joints + 1, sizeof *s.joints), s.torques = calloc(joints + 1, sizeof *s.torques);
      s.values = calloc(model->info.value_count + 1, sizeof *s.values);
      s.controls = calloc(model->info.control_count + 1, sizeof *s.controls);
      s.kept = calloc(1, sn_rt_scratch_size(model)), s.fresh = calloc(1, sn_rt_scratch_size(model));
      if (with_state)
        s.state = calloc(1, sn_rt_state_size(model) + 1), s.state_kept = calloc(1, sn_rt_state_size(model) + 1);
      s.a = calloc(6 * vertices, sizeof *s.a), s.b = calloc(6 * vertices, sizeof *s.b);
      for (size_t j = 0; j < joints; j++) s.joints[j][0] = s.joints[j][5] = s.joints[j][10] = 1;
      walk(&s);
      compare_with_avx2(&s, seen + with_state);
      free(s.joints), free(s.torques), free(s.values), free(s.controls), free(s.kept), free(s.fresh), free(s.state),
        free(s.state_kept), free(s.a), free(s.b);
    }
  free(seen[0]), free(seen[1]);
}

static void check_method(sn_context *ctx, const sn_examples *examples, const char *method) {
  trained t = train(ctx, examples, method, "all");
  check_model(&t.model);
  release(&t);
}

static void joints_that_stand_still(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples arm = generate(&ctx, "arm", 8, 700), leg = generate(&ctx, "leg", 8, 800),
              bar = generate(&ctx, "bar", 8, 400);
  static const char *const methods[] = {"lbs",           "lbs:extra=halfway",           "dqs",
                                        "psd",           "psd:space=whole,weighted=1",  "rotreg:bones=11",
                                        "rotreg:pack=1", "rotreg:bones=9,psd=1,pack=1", NULL};
  for (int n = 0; methods[n]; n++) check_method(&ctx, &arm, methods[n]);
  check_method(&ctx, &leg, "torque:bones=13");
  bar.control_target = 4;
  check_method(&ctx, &bar, "affine:bones=4");
  sn_examples_free(&arm), sn_examples_free(&leg), sn_examples_free(&bar);
}

// Scratch memory of another model is no use.
static void models_do_not_mix(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples arm = generate(&ctx, "arm", 8, 700);
  trained t = train(&ctx, &arm, "rotreg:bones=11", "all"), u = train(&ctx, &arm, "rotreg:bones=12", "all");
  size_t size = sn_rt_scratch_size(&t.model) + sn_rt_scratch_size(&u.model),
         count = 3 * (size_t)t.model.info.vertex_count;
  void *shared = calloc(1, size), *fresh = calloc(1, size);
  float *a = calloc(2 * count, sizeof *a), *b = calloc(2 * count, sizeof *b);
  float joints[3][12] = {
    {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};
  assert_int_equal(t.model.info.joint_count, 3);
  for (int frame = 0; frame < 4; frame++) {
    const sn_rt_model *model = frame % 2 ? &t.model : &u.model;
    sn_rt_input input = {.joints = (const float(*)[12])joints, .flags = SN_RT_CONTINUE};
    sn_rt_output output = {.positions = a, .normals = a + count};
    assert_int_equal(sn_rt_evaluate(model, &input, shared, &output, NULL), SN_RT_OK);
    input.flags = 0, output.positions = b, output.normals = b + count;
    assert_int_equal(sn_rt_evaluate(model, &input, fresh, &output, NULL), SN_RT_OK);
    assert_memory_equal(a, b, 2 * count * sizeof *a);
  }
  free(shared), free(fresh), free(a), free(b);
  release(&t), release(&u), sn_examples_free(&arm);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(joints_that_stand_still), cmocka_unit_test(models_do_not_mix)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
