// SPDX-License-Identifier: MIT
// Held-out poses: every one once, similar ones together, and the choice of a setting.
#include "check.h"

#include "train/folds.h"

typedef struct fixture {
  sn_context ctx;
  sn_arena memory;
  sn_folds folds;
} fixture;

static fixture start(void) {
  fixture f = {.ctx = sn_context_default()};
  f.memory = sn_arena_new(&f.ctx);
  return f;
}

// Every pose is on one side of every fold, and held out `times` times in all.
static void check_folds(const sn_folds *folds, int poses, int times) {
  int held_out[64] = {0};
  for (int n = 0; n < folds->fold_count; n++) {
    const sn_fold *fold = &folds->folds[n];
    int seen[64] = {0};
    assert_true(fold->outside_count > 0 && fold->outside_count < fold->count);
    for (int m = 0; m < fold->count; m++) seen[fold->poses[m]]++;
    for (int m = fold->outside_count; m < fold->count; m++) held_out[fold->poses[m]]++;
    for (int k = 0; k < poses; k++) assert_int_equal(seen[k], 1);
  }
  for (int k = 0; k < poses && times > 0; k++) assert_int_equal(held_out[k], times);
}

// Pose k is in fold k modulo their number.
static void interleave(fixture *f, int poses, int folds) {
  int fold_of[12];
  for (int k = 0; k < poses; k++) fold_of[k] = k % folds;
  assert_ok(&f->ctx, sn_folds_make(&f->ctx, &f->memory, poses, fold_of, folds, &f->folds));
}

static void interleaved(void **state) {
  fixture f = start();
  interleave(&f, 12, 5);
  assert_int_equal(f.folds.fold_count, 5);
  check_folds(&f.folds, 12, 1);
  assert_int_equal(f.folds.folds[1].poses[f.folds.folds[1].outside_count + 2], 11);
  interleave(&f, 1, 1);
  assert_int_equal(f.folds.fold_count, 1);
  assert_int_equal(f.folds.folds[0].outside_count, 1);
  assert_int_equal(f.folds.folds[0].count, 2);
  sn_arena_free(&f.memory);
}

static sn_status fail_at_three(sn_context *ctx, sn_arena *memory, void *user, int fold) {
  int *seen = user;
  assert_non_null(SN_NEW(ctx, memory, int, 10));
  seen[fold]++;
  return fold >= 3 ? sn_fail(ctx, SN_BAD_INPUT, "fold %d is wrong", fold) : SN_OK;
}

static void running_and_choosing(void **state) {
  fixture f = start();
  int seen[5] = {0};
  interleave(&f, 12, 5);
  assert_fails(&f.ctx, sn_folds_run(&f.ctx, &f.folds, fail_at_three, seen), "fold 3 is wrong");
  for (int n = 0; n < 5; n++) assert_int_equal(seen[n], 1);
  assert_int_equal(sn_simplest((const double[]){9, 5.2, 5, 5.04}, 4, 1.05), 1);
  assert_int_equal(sn_simplest((const double[]){9, 5.2, 5, 5.04}, 4, 1.01), 2);
  assert_int_equal(sn_simplest((const double[]){0, 0}, 2, 1.05), 0);
  sn_arena_free(&f.memory);
}

// Poses that nearly coincide are held out together, whatever the clip's order; a clip without clusters is cut into runs.
static void similar_poses_together(void **state) {
  fixture f = start();
  double vectors[20][2], axes[20][10] = {{0}};
  for (int k = 0; k < 20; k++) axes[k][k % 10] = 1 + 0.01 * (k / 10);
  assert_ok(&f.ctx, sn_folds_of_poses(&f.ctx, &f.memory, &(sn_fold_poses){20, 10, &axes[0][0], NULL}, &f.folds));
  assert_int_equal(f.folds.fold_count, 5);
  check_folds(&f.folds, 20, 1);
  for (int k = 0; k < 10; k++) assert_int_equal(f.folds.fold_of[k], f.folds.fold_of[k + 10]);
  for (int k = 0; k < 20; k++) vectors[k][0] = 0.01 * k, vectors[k][1] = 0;
  assert_ok(&f.ctx, sn_folds_of_poses(&f.ctx, &f.memory, &(sn_fold_poses){20, 2, &vectors[0][0], NULL}, &f.folds));
  for (int k = 0; k < 20; k++) assert_int_equal(f.folds.fold_of[k], k / 4);
  int clip_of[20];
  for (int k = 0; k < 20; k++) clip_of[k] = k >= 10;
  assert_ok(&f.ctx, sn_folds_of_poses(&f.ctx, &f.memory, &(sn_fold_poses){20, 2, &vectors[0][0], clip_of}, &f.folds));
  int held_out[2][5] = {{0}};
  for (int k = 0; k < 20; k++) held_out[k / 10][f.folds.fold_of[k]]++;
  for (int n = 0; n < 10; n++) assert_int_equal(held_out[n / 5][n % 5], 2);
  sn_arena_free(&f.memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(interleaved),
    cmocka_unit_test(similar_poses_together),
    cmocka_unit_test(running_and_choosing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
