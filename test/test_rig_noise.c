// SPDX-License-Identifier: MIT
// Noisy, short and wrong input of `rig`: estimates of noise against the noise that was added, joints against the true ones, and data from which
// no skeleton can be identified.
#include "check.h"

#include <math.h>
#include <string.h>

#include "lab/gen/gen.h"
#include "sinew/rig.h"

enum { made_frames = 120, frame_count = 24, first_frame = 18 };

// A generated set, and a short noisy sequence of it that begins in the midst of the motion.
typedef struct noisy {
  sn_examples made;
  sn_frames clean, frames;
  sn_mesh rest;
  sn_arena memory;
  int from[frame_count];
  double diagonal;
} noisy;

static void add_noise(sn_random *rng, double deviation, int n, const float (*from)[3], float (*to)[3]) {
  for (int i = 0; i < n; i++)
    for (int c = 0; c < 3; c++) to[i][c] = (float)((double)from[i][c] + deviation * sn_random_normal(rng));
}

// `percent` of the diagonal as a root mean squared distance; frames at uneven times.
static void make_noisy(sn_context *ctx, const char *set, double percent, noisy *s) {
  sn_gen_options gen = sn_gen_options_default();
  sn_random rng = sn_random_new(7);
  gen.set = set, gen.vertices = 2500, gen.frames = made_frames;
  assert_ok(ctx, sn_gen(ctx, &gen, &s->made));
  int n = s->made.rest.vertex_count;
  s->memory = sn_arena_new(ctx);
  s->diagonal = sn_points_diagonal((const float(*)[3])s->made.rest.positions, n);
  assert_ok(ctx, sn_frames_new(ctx, n, frame_count, &s->clean));
  assert_ok(ctx, sn_frames_new(ctx, n, frame_count, &s->frames));
  assert_ok(ctx, sn_mesh_new(ctx, n, s->made.rest.triangle_count, &s->rest));
  memcpy(s->rest.triangles, s->made.rest.triangles, (size_t)s->rest.triangle_count * sizeof *s->rest.triangles);
  for (int f = 0; f < frame_count; f++) {
    s->from[f] = first_frame + 4 * f + sn_random_below(&rng, 3);
    const float(*x)[3] = sn_frame(&s->made.frames, s->from[f]);
    memcpy(sn_frame_mutable(&s->clean, f), x, (size_t)n * sizeof *x);
    add_noise(&rng, percent / 100 * s->diagonal / sqrt(3), n, x, sn_frame_mutable(&s->frames, f));
  }
  memcpy(s->rest.positions, sn_frame(&s->frames, 0), (size_t)n * sizeof *s->rest.positions);
}

static void free_noisy(noisy *s) {
  sn_examples_free(&s->made), sn_frames_free(&s->clean), sn_frames_free(&s->frames), sn_mesh_free(&s->rest);
  sn_arena_free(&s->memory);
}

static double rms(const float (*a)[3], const float (*b)[3], int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += pow(sn_vec3_distance(sn_vec3_from(a[i]), sn_vec3_from(b[i])), 2) / n;
  return sqrt(sum);
}

static void test_estimates(void **state) {
  sn_context ctx = sn_context_default();
  static const char *const sets[] = {"body", "athlete"};
  for (int k = 0; k < 2; k++) {
    noisy s;
    sn_rig_noise noise;
    make_noisy(&ctx, sets[k], 0.5, &s);
    int n = s.rest.vertex_count;
    const float(*true_rest)[3] = sn_frame(&s.clean, 0);
    double before = 100 * rms((const float(*)[3])s.rest.positions, true_rest, n) / s.diagonal;
    assert_ok(&ctx, sn_rig_denoise(&ctx, &s.rest, &s.frames, &s.memory, &noise));
    double after = 100 * rms((const float(*)[3])s.rest.positions, true_rest, n) / s.diagonal;
    print_message("%s: noise 0.5 %%: frames %.3f, rest %.3f; error of the rest mesh %.3f, then %.3f\n", sets[k],
                  noise.frames_pct_diag, noise.rest_pct_diag, before, after);
    assert_near(noise.frames_pct_diag, 0.5, 0.06);
    assert_near(noise.rest_pct_diag, 0.5, 0.08);
    assert_below(after, 0.5 * before);
    assert_int_equal(noise.wrong_count, 0);
    free_noisy(&s);
  }
}

// Data without noise stays as it is, to the bit.
static void test_clean(void **state) {
  sn_context ctx = sn_context_default();
  static const char *const sets[] = {"body", "athlete", "shoulder", "cylinder"};
  for (int k = 0; k < 4; k++) {
    sn_gen_options gen = sn_gen_options_default();
    sn_examples e;
    sn_rig_noise noise;
    gen.set = sets[k], gen.vertices = 2500, gen.frames = 30;
    assert_ok(&ctx, sn_gen(&ctx, &gen, &e));
    sn_mesh before;
    assert_ok(&ctx, sn_mesh_new(&ctx, e.rest.vertex_count, 0, &before));
    size_t size = (size_t)e.rest.vertex_count * sizeof *before.positions;
    memcpy(before.positions, e.rest.positions, size);
    assert_ok(&ctx, sn_rig_denoise(&ctx, &e.rest, &e.frames, &e.memory, &noise));
    assert_memory_equal(before.positions, e.rest.positions, size);
    assert_true(noise.frames_pct_diag == 0 && noise.rest_pct_diag == 0 && noise.wrong_count == 0);
    sn_mesh_free(&before), sn_examples_free(&e);
  }
}

// Frames whose vertices are in another order, or everywhere, hold the pose before them.
static void test_wrong_frames(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(3);
  noisy s;
  sn_rig_noise noise;
  make_noisy(&ctx, "body", 0.5, &s);
  int n = s.rest.vertex_count;
  float(*mixed)[3] = sn_frame_mutable(&s.frames, 10), (*spread)[3] = sn_frame_mutable(&s.frames, 17);
  for (int i = 0; i < n; i++) memcpy(mixed[i], sn_frame(&s.clean, 10)[(i * 7) % n], sizeof *mixed);
  add_noise(&rng, 0.05 * s.diagonal, n, sn_frame(&s.clean, 17), spread);
  assert_ok(&ctx, sn_rig_denoise(&ctx, &s.rest, &s.frames, &s.memory, &noise));
  assert_int_equal(noise.wrong_count, 2);
  assert_int_equal(noise.wrong[0], 10);
  assert_int_equal(noise.wrong[1], 17);
  assert_memory_equal(sn_frame(&s.frames, 10), sn_frame(&s.frames, 9), (size_t)n * sizeof(float[3]));
  assert_memory_equal(sn_frame(&s.frames, 17), sn_frame(&s.frames, 16), (size_t)n * sizeof(float[3]));
  assert_near(noise.frames_pct_diag, 0.5, 0.06);
  free_noisy(&s);
}

// The rig, played, against the clean frames.
static double played_error(const noisy *s, const sn_rig_result *rig) {
  double sum = 0;
  for (int f = 0; f < frame_count; f++)
    for (int i = 0; i < s->rest.vertex_count; i++) {
      sn_vec3 x = sn_skin_blend(&rig->skin, i, sn_pose(&rig->poses, f), sn_vec3_from(s->rest.positions[i]));
      sum += pow(sn_vec3_distance(x, sn_vec3_from(sn_frame(&s->clean, f)[i])), 2);
    }
  return 100 * sqrt(sum / ((double)frame_count * s->rest.vertex_count)) / s->diagonal;
}

// Skeleton and motion of the set, from its pose in the first frame on.
static void true_rig(sn_context *ctx, const noisy *s, sn_skeleton *skeleton, sn_poses *poses) {
  const sn_skeleton *made = &s->made.skeleton;
  assert_ok(ctx, sn_skeleton_new(ctx, made->joint_count, skeleton));
  assert_ok(ctx, sn_poses_new(ctx, made->joint_count, frame_count, poses));
  for (int j = 0; j < made->joint_count; j++) {
    sn_affine inverse, first = sn_pose(&s->made.poses, s->from[0])[j];
    assert_true(sn_affine_invert(first, &inverse));
    skeleton->parents[j] = made->parents[j], skeleton->names[j] = made->names[j];
    skeleton->rest[j] = sn_affine_mul(first, made->rest[j]);
    for (int f = 0; f < frame_count; f++)
      sn_pose(poses, f)[j] = sn_affine_mul(sn_pose(&s->made.poses, s->from[f])[j], inverse);
  }
  assert_ok(ctx, sn_skeleton_sort(ctx, skeleton));
}

// Joints with a found one within 2 % of the diagonal.
static int joints_met(const noisy *s, const sn_skeleton *wanted, const sn_skeleton *found) {
  int met = 0;
  for (int j = 0; j < wanted->joint_count; j++) {
    double least = INFINITY;
    sn_vec3 at = sn_affine_translation(wanted->rest[j]);
    for (int k = 0; k < found->joint_count; k++)
      if (found->parents[k] >= 0) least = fmin(least, sn_vec3_distance(at, sn_affine_translation(found->rest[k])));
    met += wanted->parents[j] >= 0 && least < 0.02 * s->diagonal;
  }
  return met;
}

static void test_noisy_rig(void **state) {
  sn_context ctx = sn_context_default();
  noisy s;
  sn_rig_noise noise;
  sn_skeleton skeleton;
  sn_poses poses;
  sn_rig_result rig, best;
  make_noisy(&ctx, "body", 0.5, &s);
  true_rig(&ctx, &s, &skeleton, &poses);
  assert_ok(&ctx, sn_rig_denoise(&ctx, &s.rest, &s.frames, &s.memory, &noise));
  sn_rig_options o = sn_rig_options_default();
  o.noise_pct = noise.frames_pct_diag;
  assert_ok(&ctx, sn_rig(&ctx, &s.rest, &s.frames, &o, &rig));
  o.given = SN_RIG_SKELETON, o.skeleton = &skeleton, o.poses = &poses;
  assert_ok(&ctx, sn_rig(&ctx, &s.rest, &s.frames, &o, &best));
  double error = played_error(&s, &rig), bound = played_error(&s, &best);
  int met = joints_met(&s, &skeleton, &rig.skeleton), moving = skeleton.joint_count - 1;
  print_message(
    "body, 0.5 %% noise: %d bones, %d of %d joints, %.3f %% from the clean frames; with the true rig %.3f %%\n",
    rig.report.bones, met, moving, error, bound);
  assert_true(met >= 0.8 * moving);
  assert_below(error, 1.1 * bound);
  sn_rig_result_free(&rig), sn_rig_result_free(&best), sn_skeleton_free(&skeleton), sn_poses_free(&poses);
  free_noisy(&s);
}

// One frame, no motion, all vertices equal, fewer frames than bones, no triangles, positions that are not finite.
static void test_poor_input(void **state) {
  sn_context ctx = sn_context_default();
  sn_gen_options gen = sn_gen_options_default();
  sn_examples e;
  sn_rig_result rig;
  gen.set = "leg", gen.vertices = 400, gen.frames = 6;
  assert_ok(&ctx, sn_gen(&ctx, &gen, &e));
  sn_rig_options o = sn_rig_options_default();
  size_t size = (size_t)e.rest.vertex_count * sizeof(float[3]);
  for (int kind = 0; kind < 5; kind++) {
    sn_frames frames;
    sn_rig_noise noise;
    assert_ok(&ctx, sn_frames_new(&ctx, e.rest.vertex_count, kind == 0 ? 1 : kind == 3 ? 2 : 4, &frames));
    for (int f = 0; f < frames.frame_count; f++) {
      sn_affine move = sn_affine_make(sn_rotation_exp((sn_vec3){0, 0.4 * f, 0.1 * f}), (sn_vec3){f, 0, 0});
      float(*x)[3] = sn_frame_mutable(&frames, f);
      memcpy(x, kind == 3 ? sn_frame(&e.frames, 3 + f) : (const float(*)[3])e.rest.positions, size);
      for (int i = 0; kind == 2 && i < e.rest.vertex_count; i++)
        sn_vec3_store(sn_affine_apply(move, sn_vec3_from(x[i])), x[i]);
    }
    if (kind == 4) sn_frame_mutable(&frames, 2)[5][1] = NAN;
    o.bones = kind == 3 ? 8 : 0;
    if (kind == 4) {
      assert_fails(&ctx, sn_rig(&ctx, &e.rest, &frames, &o, &rig), "frame 2, vertex 5");
    } else {
      assert_ok(&ctx, sn_rig_denoise(&ctx, &e.rest, &frames, &e.memory, &noise));
      assert_true(noise.wrong_count == 0 && noise.rest_pct_diag == 0);
      assert_ok(&ctx, sn_rig(&ctx, &e.rest, &frames, &o, &rig));
      if (kind < 3) assert_int_equal(rig.report.bones, 1);
      assert_true(rig.report.bones <= 8);
      assert_below(rig.report.rms_pct_diag, kind < 3 ? 1e-3 : 1);
      sn_rig_result_free(&rig);
    }
    sn_frames_free(&frames);
  }
  e.rest.triangle_count = 0, o.bones = 0;
  assert_ok(&ctx, sn_rig(&ctx, &e.rest, &e.frames, &o, &rig));
  sn_rig_result_free(&rig);
  sn_examples_free(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_estimates), cmocka_unit_test(test_clean),      cmocka_unit_test(test_wrong_frames),
    cmocka_unit_test(test_noisy_rig), cmocka_unit_test(test_poor_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
