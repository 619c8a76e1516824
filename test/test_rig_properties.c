// SPDX-License-Identifier: MIT
// What must not matter to a rig: the number of threads, the order of frames and vertices, where and how large the set is.
#include "rig_fixture.h"

static bool same_bytes(const sn_rig_result *a, const sn_rig_result *b) {
  if (a->report.bones != b->report.bones) return false;
  size_t slots = (size_t)a->skin.vertex_count * (size_t)a->skin.influences;
  size_t matrices = (size_t)a->poses.frame_count * (size_t)a->poses.joint_count;
  return memcmp(a->skin.joints, b->skin.joints, slots * sizeof *a->skin.joints) == 0 &&
         memcmp(a->skin.weights, b->skin.weights, slots * sizeof *a->skin.weights) == 0 &&
         memcmp(a->skeleton.rest, b->skeleton.rest, (size_t)a->report.bones * sizeof(sn_affine)) == 0 &&
         memcmp(a->skeleton.parents, b->skeleton.parents, (size_t)a->report.bones * sizeof(int)) == 0 &&
         memcmp(a->poses.matrices, b->poses.matrices, matrices * sizeof(sn_affine)) == 0 &&
         a->report.rms == b->report.rms;
}

static void same_bytes_at_any_thread_count(void **state) {
  sn_context ctx = serial();
  tube t = make_tube(&ctx, 5, 9, 8);
  for (int kind = 0; kind < 3; kind++) {
    sn_rig_options o = options_for(4, kind == 0 ? SN_RIG_TREE : SN_RIG_FREE);
    o.bone_type = kind == 2 ? SN_RIG_AFFINE : SN_RIG_RIGID, o.omega = 1e-4;
    sn_rig_result first;
    ctx.threads = 1;
    assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &first));
    for (int threads = 2; threads <= 5; threads += 3) {
      sn_rig_result other;
      ctx.threads = threads;
      assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &other));
      assert_true(same_bytes(&first, &other));
      sn_rig_result_free(&other);
    }
    sn_rig_result_free(&first);
  }
  free_tube(&t);
}

static double weight_of(const sn_rig_result *r, int vertex, int bone) {
  double sum = 0;
  for (int q = 4 * vertex; q < 4 * vertex + 4; q++)
    if (r->skin.joints[q] == bone) sum += (double)r->skin.weights[q];
  return sum;
}

static void permuted_frames_permute_the_animation(void **state) {
  sn_context ctx = serial();
  enum { count = 10 };
  tube t = make_tube(&ctx, 4, count, 9);
  sn_frames shuffled;
  int order[count] = {3, 7, 0, 9, 1, 5, 8, 2, 6, 4};
  assert_ok(&ctx, sn_frames_new(&ctx, t.rest.vertex_count, count, &shuffled));
  for (int f = 0; f < count; f++) {
    memcpy(sn_frame_mutable(&shuffled, f), sn_frame(&t.frames, order[f]),
           (size_t)t.rest.vertex_count * sizeof(float[3]));
  }
  sn_rig_options o = options_for(4, SN_RIG_TREE);
  sn_rig_result a, b;
  assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &a));
  assert_ok(&ctx, sn_rig(&ctx, &t.rest, &shuffled, &o, &b));
  assert_int_equal(a.report.bones, b.report.bones);
  // Sums over frames have another order: not the same bits.
  for (int j = 0; j < a.report.bones; j++) {
    assert_int_equal(a.skeleton.parents[j], b.skeleton.parents[j]);
    for (int i = 0; i < t.rest.vertex_count; i++) assert_near(weight_of(&a, i, j), weight_of(&b, i, j), 1e-3);
    for (int f = 0; f < count; f++) {
      sn_affine there = sn_pose(&a.poses, order[f])[j], here = sn_pose(&b.poses, f)[j];
      assert_below(sn_rotation_angle(sn_affine_linear(there), sn_affine_linear(here)), 1e-3);
      assert_below(sn_vec3_distance(sn_affine_translation(there), sn_affine_translation(here)), 1e-3);
    }
  }
  sn_rig_result_free(&a), sn_rig_result_free(&b);
  sn_frames_free(&shuffled);
  free_tube(&t);
}

// Every frame rotated and moved by a separate rigid motion: skeleton, weights and joint rotations stay.
static void rigid_motion_changes_the_root_only(void **state) {
  sn_context ctx = serial();
  sn_random rng = sn_random_new(10);
  tube t = make_tube(&ctx, 4, 8, 11);
  sn_frames moved;
  sn_affine motion[8];
  assert_ok(&ctx, sn_frames_new(&ctx, t.rest.vertex_count, 8, &moved));
  for (int f = 0; f < 8; f++) {
    motion[f] = sn_affine_make(random_rotation(&rng), sn_vec3_scale(random_vec3(&rng), 3));
    for (int i = 0; i < t.rest.vertex_count; i++) {
      sn_vec3_store(sn_affine_apply(motion[f], sn_vec3_from(sn_frame(&t.frames, f)[i])),
                    sn_frame_mutable(&moved, f)[i]);
    }
  }
  sn_rig_options o = options_for(4, SN_RIG_TREE);
  sn_rig_result a, b;
  assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &a));
  assert_ok(&ctx, sn_rig(&ctx, &t.rest, &moved, &o, &b));
  assert_near(a.report.rms_pct_diag, b.report.rms_pct_diag, 2e-3);
  // Bones may be numbered differently: they are matched by where their joints are.
  for (int j = 0; j < 4; j++) {
    int match = 0;
    double least = INFINITY;
    for (int k = 0; k < 4; k++) {
      double worst = 0;
      for (int f = 0; f < 8; f++) {
        sn_mat3 turned = sn_affine_linear(sn_affine_mul(motion[f], sn_pose(&a.poses, f)[j]));
        worst = fmax(worst, sn_rotation_angle(turned, sn_affine_linear(sn_pose(&b.poses, f)[k])));
      }
      if (worst < least) least = worst, match = k;
    }
    assert_below(least, 0.02);
    assert_int_equal(a.skeleton.parents[j] < 0, b.skeleton.parents[match] < 0);
    sn_vec3 p = sn_affine_translation(a.skeleton.rest[j]), q = sn_affine_translation(b.skeleton.rest[match]);
    assert_below(sn_vec3_distance(p, q), 0.05);
  }
  sn_rig_result_free(&a), sn_rig_result_free(&b);
  sn_frames_free(&moved);
  free_tube(&t);
}

// The same mesh and frames with vertex i as vertex place[i].
static void permute_vertices(sn_context *ctx, const tube *t, const int *place, sn_mesh *rest, sn_frames *frames) {
  int n = t->rest.vertex_count;
  assert_ok(ctx, sn_mesh_new(ctx, n, t->rest.triangle_count, rest));
  assert_ok(ctx, sn_frames_new(ctx, n, t->frames.frame_count, frames));
  for (int i = 0; i < n; i++) {
    memcpy(rest->positions[place[i]], t->rest.positions[i], sizeof(float[3]));
    for (int f = 0; f < t->frames.frame_count; f++)
      memcpy(sn_frame_mutable(frames, f)[place[i]], sn_frame(&t->frames, f)[i], sizeof(float[3]));
  }
  for (int e = 0; e < t->rest.triangle_count; e++)
    for (int c = 0; c < 3; c++) rest->triangles[e][c] = place[t->rest.triangles[e][c]];
}

static void permuted_vertices_permute_the_weights(void **state) {
  sn_context ctx = serial();
  enum { n = rings * around };
  tube t = make_tube(&ctx, 4, 8, 21);
  sn_mesh rest;
  sn_frames frames;
  int place[n];
  for (int i = 0; i < n; i++) place[i] = (i * 385 + 17) % n; // 385 and n have no common divisor
  permute_vertices(&ctx, &t, place, &rest, &frames);
  sn_rig_options o = options_for(4, SN_RIG_TREE);
  sn_rig_result a, b;
  assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &a));
  assert_ok(&ctx, sn_rig(&ctx, &rest, &frames, &o, &b));
  assert_int_equal(a.report.bones, b.report.bones);
  for (int j = 0; j < a.report.bones; j++) {
    sn_vec3 p = sn_affine_translation(a.skeleton.rest[j]), q = sn_affine_translation(b.skeleton.rest[j]);
    assert_int_equal(a.skeleton.parents[j], b.skeleton.parents[j]);
    assert_below(sn_vec3_distance(p, q), 1e-4);
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < a.report.bones; j++) assert_near(weight_of(&a, i, j), weight_of(&b, place[i], j), 1e-3);
  sn_rig_result_free(&a), sn_rig_result_free(&b);
  sn_mesh_free(&rest), sn_frames_free(&frames);
  free_tube(&t);
}

// Rest mesh and frames rotated and moved together: so is the skeleton, and the error stays.
static void a_turned_set_gives_a_turned_skeleton(void **state) {
  sn_context ctx = serial();
  sn_random rng = sn_random_new(22);
  tube t = make_tube(&ctx, 4, 8, 23);
  sn_affine motion = sn_affine_make(random_rotation(&rng), random_vec3(&rng));
  sn_rig_options o = options_for(4, SN_RIG_TREE);
  sn_rig_result a, b;
  assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &a));
  for (int i = 0; i < t.rest.vertex_count; i++) {
    sn_vec3_store(sn_affine_apply(motion, sn_vec3_from(t.rest.positions[i])), t.rest.positions[i]);
    for (int f = 0; f < t.frames.frame_count; f++) {
      float *x = sn_frame_mutable(&t.frames, f)[i];
      sn_vec3_store(sn_affine_apply(motion, sn_vec3_from(x)), x);
    }
  }
  assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &b));
  assert_int_equal(a.report.bones, b.report.bones);
  assert_near(a.report.rms_pct_diag, b.report.rms_pct_diag, 2e-3);
  for (int j = 0; j < a.report.bones; j++) {
    double nearest = INFINITY;
    if (a.skeleton.parents[j] < 0) continue; // a root is where its vertices are, not at a joint
    sn_vec3 p = sn_affine_apply(motion, sn_affine_translation(a.skeleton.rest[j]));
    for (int k = 0; k < b.report.bones; k++)
      nearest = fmin(nearest, sn_vec3_distance(p, sn_affine_translation(b.skeleton.rest[k])));
    assert_below(nearest, 0.05);
  }
  sn_rig_result_free(&a), sn_rig_result_free(&b);
  free_tube(&t);
}

static void size_does_not_matter(void **state) {
  sn_context ctx = serial();
  double reference = 0;
  for (int kind = 0; kind < 3; kind++) {
    double scale = kind == 0 ? 1 : kind == 1 ? 0x1p-17 : 0x1p17;
    tube t = make_tube(&ctx, 4, 6, 12);
    for (int i = 0; i < t.rest.vertex_count; i++)
      for (int c = 0; c < 3; c++) t.rest.positions[i][c] *= (float)scale;
    for (int f = 0; f < 6; f++)
      for (int i = 0; i < t.rest.vertex_count; i++)
        for (int c = 0; c < 3; c++) sn_frame_mutable(&t.frames, f)[i][c] *= (float)scale;
    sn_rig_options o = options_for(3, SN_RIG_TREE);
    sn_rig_result r;
    assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r));
    if (kind == 0) reference = r.report.rms_pct_diag;
    assert_near(r.report.rms_pct_diag, reference, 1e-3 * reference);
    sn_rig_result_free(&r);
    free_tube(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(same_bytes_at_any_thread_count),        cmocka_unit_test(permuted_frames_permute_the_animation),
    cmocka_unit_test(permuted_vertices_permute_the_weights), cmocka_unit_test(a_turned_set_gives_a_turned_skeleton),
    cmocka_unit_test(rigid_motion_changes_the_root_only),    cmocka_unit_test(size_does_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
