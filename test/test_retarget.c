// SPDX-License-Identifier: MIT
// Motion carried from one skeleton to another: partners by name, table and list; rotations in the bind frames, lengths kept.
#include "check.h"
#include "sinew/examples.h"

#include <math.h>

// A chain along y with the given names and steps; its frames are rotated about y by `spin`.
static void chain(sn_context *ctx, int count, const char *const *names, const double *heights, double spin,
                  sn_skeleton *out) {
  assert_ok(ctx, sn_skeleton_new(ctx, count, out));
  sn_mat3 turn = sn_rotation_exp(sn_vec3_make(0, spin, 0));
  for (int j = 0; j < count; j++) {
    out->names[j] = sn_arena_text(ctx, &out->memory, names[j]);
    out->parents[j] = j - 1;
    out->rest[j] = sn_affine_make(turn, sn_vec3_make(0, heights[j], 0));
  }
  assert_ok(ctx, sn_skeleton_sort(ctx, out));
}

static void test_partners(void **state) {
  sn_context ctx = sn_context_default();
  sn_skeleton ours, theirs;
  const char *const mixamo[] = {"mixamorig:Hips", "mixamorig:Spine", "mixamorig:LeftArm", "tail"};
  const char *const unreal[] = {"root", "pelvis", "spine_01", "upperarm_l", "upperarm_r"};
  const char *const rigify[] = {"DEF-spine", "DEF-spine.001", "DEF-upper_arm.L"};
  const double heights[] = {0, 1, 2, 3, 4};
  int partners[4];
  chain(&ctx, 4, mixamo, heights, 0, &ours);
  chain(&ctx, 5, unreal, heights, 0, &theirs);
  assert_ok(&ctx, sn_joint_partners(&ctx, &ours, &theirs, NULL, NULL, partners));
  assert_int_equal(partners[0], 1);
  assert_int_equal(partners[1], 2);
  assert_int_equal(partners[2], 3);
  assert_int_equal(partners[3], -1);
  assert_ok(&ctx, sn_joint_partners(&ctx, &ours, &theirs, "map", "# pairs\ntail upperarm_r\n", partners));
  assert_int_equal(partners[3], 4);
  assert_fails(&ctx, sn_joint_partners(&ctx, &ours, &theirs, "map", "tail\n", partners), "map:1: two names");
  assert_fails(&ctx, sn_joint_partners(&ctx, &ours, &theirs, "map", "\ntail tali", partners),
               "map:2: the clip has no joint called 'tali'");
  assert_false(sn_skeletons_match(&ours, &theirs));
  assert_true(sn_skeletons_match(&ours, &ours));
  sn_skeleton_free(&theirs);
  chain(&ctx, 3, rigify, heights, 0, &theirs); // whose "spine" are the hips
  assert_ok(&ctx, sn_joint_partners(&ctx, &ours, &theirs, NULL, NULL, partners));
  assert_int_equal(partners[0], 0);
  assert_int_equal(partners[1], 1);
  assert_int_equal(partners[2], 2);
  sn_skeleton_free(&theirs);
  const char *const others[] = {"Pelvis", "Spine-01", "UpperArm.R", "UpperArm.L",
                                "calf.l"}; // other signs between the words
  chain(&ctx, 5, others, heights, 0, &theirs);
  assert_ok(&ctx, sn_joint_partners(&ctx, &ours, &theirs, NULL, NULL, partners));
  assert_int_equal(partners[0], 0);
  assert_int_equal(partners[1], 1);
  assert_int_equal(partners[2], 3);
  size_t at, size;
  assert_string_equal(sn_name_side("calf.l", &at, &size), "r");
  assert_int_equal(at, 5);
  assert_string_equal(sn_name_side("mixamorig:RightArm", &at, &size), "Left");
  assert_null(sn_name_side("pelvis", &at, &size));
  sn_skeleton_free(&ours);
  sn_skeleton_free(&theirs);
}

// A bone without length differs by rounding from what a model holds of it.
static void test_no_length(void **state) {
  sn_context ctx = sn_context_default();
  sn_skeleton ours, theirs;
  const char *const names[] = {"leg", "foot", "target"};
  chain(&ctx, 3, names, (const double[]){0, 1, 1}, 0, &ours);
  chain(&ctx, 3, names, (const double[]){0, 1, 1 + 1e-7}, 0, &theirs);
  assert_true(sn_skeletons_match(&ours, &theirs));
  sn_skeleton_free(&theirs);
  chain(&ctx, 3, names, (const double[]){0, 1, 1.01}, 0, &theirs);
  assert_false(sn_skeletons_match(&ours, &theirs));
  sn_skeleton_free(&theirs);
  sn_skeleton_free(&ours);
}

// 90 degrees about z half way up: the same on a skeleton of twice the size with other frames.
static void test_retarget(void **state) {
  sn_context ctx = sn_context_default();
  sn_skeleton ours, theirs;
  sn_poses poses, out;
  const char *const names[] = {"a", "b", "c"};
  const double small[] = {1, 2, 3}, large[] = {2, 4, 6};
  const int partners[3] = {0, 1, -1};
  chain(&ctx, 3, names, large, 0.7, &ours);
  chain(&ctx, 3, names, small, 0, &theirs);
  assert_ok(&ctx, sn_poses_new(&ctx, 3, 1, &poses));
  sn_mat3 quarter = sn_rotation_exp(sn_vec3_make(0, 0, SN_PI / 2));
  sn_affine *pose = sn_pose(&poses, 0);
  pose[0] = sn_affine_make(sn_mat3_identity(), sn_vec3_make(0, 0, 5)); // and forward
  pose[1] = sn_affine_mul(pose[0], sn_affine_about(quarter, sn_vec3_make(0, 2, 0)));
  pose[2] = pose[1];
  assert_ok(&ctx, sn_retarget(&ctx, &ours, &theirs, partners, &poses, &out));
  sn_vec3 tip = sn_affine_apply(sn_pose(&out, 0)[2], sn_vec3_make(0, 6, 0));
  assert_near(tip.x, -2, 1e-9);
  assert_near(tip.y, 4, 1e-9);
  assert_near(tip.z, 10, 1e-9);
  sn_poses_free(&poses);
  sn_poses_free(&out);
  sn_skeleton_free(&ours);
  sn_skeleton_free(&theirs);
}

// Characters that face opposite ways: what bends forward there bends forward here, and the root walks forward.
static void test_facing(void **state) {
  sn_context ctx = sn_context_default();
  sn_skeleton ours, theirs;
  sn_poses poses, out;
  const char *const names[] = {"hips", "spine", "arm"};
  const int partners[3] = {0, 1, 2};
  chain(&ctx, 3, names, (const double[]){1, 2, 2}, 0, &ours);
  chain(&ctx, 3, names, (const double[]){1, 2, 2}, 0, &theirs);
  ours.rest[2].m[0][3] = 1, theirs.rest[2].m[0][3] = -1; // the left arm
  assert_ok(&ctx, sn_poses_new(&ctx, 3, 1, &poses));
  sn_affine bend = sn_affine_about(sn_rotation_exp(sn_vec3_make(-SN_PI / 2, 0, 0)), sn_vec3_make(0, 1, 0));
  bend.m[2][3] -= 3; // a step, too
  for (int j = 0; j < 3; j++) sn_pose(&poses, 0)[j] = bend;
  assert_ok(&ctx, sn_retarget(&ctx, &ours, &theirs, partners, &poses, &out));
  sn_vec3 head = sn_affine_apply(sn_pose(&out, 0)[1], sn_vec3_make(0, 3, 0));
  assert_near(head.y, 1, 1e-9);
  assert_near(head.z, 5, 1e-9); // 2 ahead of the hips
  sn_poses_free(&poses);
  sn_poses_free(&out);
  sn_skeleton_free(&ours);
  sn_skeleton_free(&theirs);
}

// The same chain bound bent at its middle, and at rest there: the straight one must bend. Where only the axes of the rest matrices are
// other ones nothing moves; where these do not explain the bend, the joint is named.
static void test_other_rest(void **state) {
  sn_context ctx = sn_context_default();
  const char *const names[] = {"a", "b", "c"};
  sn_mat3 quarter = sn_rotation_exp(sn_vec3_make(0, 0, SN_PI / 2));
  for (int bent = 0; bent < 3; bent++) { // by rest matrices that rotate too, not at all, by positions alone
    sn_skeleton ours;
    sn_examples clip = {0};
    char report[256] = "";
    chain(&ctx, 3, names, (const double[]){1, 2, 3}, 0, &ours);
    chain(&ctx, 3, names, (const double[]){1, 2, 3}, bent == 1 ? 0.7 : 0, &clip.skeleton);
    for (int j = 1; j < 3 && bent != 1; j++) {
      sn_affine turned = sn_affine_mul(sn_affine_about(quarter, sn_vec3_make(0, 2, 0)), clip.skeleton.rest[j]);
      sn_mat3 axes = sn_affine_linear(bent == 0 ? turned : clip.skeleton.rest[j]);
      clip.skeleton.rest[j] = sn_affine_make(axes, sn_affine_translation(turned));
    }
    assert_ok(&ctx, sn_poses_new(&ctx, 3, 1, &clip.poses));
    if (bent == 2) {
      assert_fails(&ctx, sn_examples_retarget(&ctx, &ours, NULL, &clip, report, sizeof report),
                   "joint 'c' is not where the model's rest pose has it");
    } else {
      assert_ok(&ctx, sn_examples_retarget(&ctx, &ours, NULL, &clip, report, sizeof report));
      assert_non_null(strstr(report, bent == 0 ? "its rest pose is another" : "'c' has another rest rotation"));
      sn_vec3 tip = sn_affine_apply(sn_pose(&clip.poses, 0)[2], sn_vec3_make(0, 3, 0));
      assert_near(tip.x, bent == 0 ? -1 : 0, 1e-9);
      assert_near(tip.y, bent == 0 ? 2 : 3, 1e-9);
    }
    sn_skeleton_free(&ours);
    sn_examples_free(&clip);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_partners), cmocka_unit_test(test_no_length),
                                     cmocka_unit_test(test_retarget), cmocka_unit_test(test_facing),
                                     cmocka_unit_test(test_other_rest)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
