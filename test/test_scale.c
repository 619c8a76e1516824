// SPDX-License-Identifier: MIT
// Frames that live in files give what frames in memory give, byte for byte.
#include "train_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "sinew/formats.h"
#include "sinew/rig.h"
#include "thread_team.h"
#include "train/near.h"

// Everything of a thousand bytes or more goes to files.
static sn_context streaming(void) {
  sn_context ctx = sn_context_default();
  ctx.large = 1000;
  return ctx;
}

static void assert_same_frames(const sn_frames *a, const sn_frames *b) {
  assert_int_equal(a->vertex_count, b->vertex_count);
  assert_int_equal(a->frame_count, b->frame_count);
  assert_true(a->rate == b->rate);
  size_t size = (size_t)a->vertex_count * (size_t)a->frame_count * sizeof(float[3]);
  assert_memory_equal(a->positions, b->positions, size);
}

static void caches_are_read_the_same(void **state) {
  static const char *const names[] = {"a.pc2", "a.mdd", "a.abc"};
  sn_context plain = sn_context_default(), ctx = streaming();
  const char *folder = scratch_folder();
  char path[4200];
  sn_examples examples = generate(&plain, "arm", 9, 600);
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    sn_frames whole, windows;
    snprintf(path, sizeof path, "%s/%s", folder, names[k]);
    assert_ok(&plain, sn_frames_write(&plain, path, &examples.frames, &examples.rest));
    assert_ok(&plain, sn_frames_read(&plain, path, NULL, &whole));
    assert_ok(&ctx, sn_frames_read(&ctx, path, NULL, &windows));
    assert_null(whole.file.map);
    assert_non_null(windows.file.map);
    assert_same_frames(&whole, &windows);
    sn_frames_free(&whole);
    sn_frames_free(&windows);
    unlink(path);
  }
  sn_examples_free(&examples);
}

static void damaged_caches_are_refused_the_same(void **state) {
  sn_context ctx = streaming();
  const char *folder = scratch_folder();
  char path[4200];
  sn_examples examples = generate(&ctx, "arm", 9, 600);
  sn_frames frames;
  snprintf(path, sizeof path, "%s/a.pc2", folder);
  assert_ok(&ctx, sn_frames_write(&ctx, path, &examples.frames, &examples.rest));
  assert_int_equal(truncate(path, 60000), 0);
  assert_fails(&ctx, sn_frames_read(&ctx, path, NULL, &frames), "truncated: the header says 9 frames");
  sn_frame_mutable(&examples.frames, 7)[20][1] = NAN;
  assert_ok(&ctx, sn_frames_write(&ctx, path, &examples.frames, &examples.rest));
  assert_fails(&ctx, sn_frames_read(&ctx, path, NULL, &frames), "a.pc2: frame 7, vertex 20: position is not finite");
  unlink(path);
  sn_examples_free(&examples);
}

// Several clips and --keys are put together in a file too.
static void rigs_are_the_same(void **state) {
  sn_context plain = sn_context_default(), ctx = streaming();
  sn_examples whole = generate(&plain, "body", 12, 2000), windows = generate(&ctx, "body", 12, 2000);
  sn_rig_options options = sn_rig_options_default();
  sn_rig_result a, b;
  options.bones = 8;
  assert_non_null(windows.frames.file.map);
  assert_same_frames(&whole.frames, &windows.frames);
  assert_ok(&plain, sn_rig(&plain, &whole.rest, &whole.frames, &options, &a));
  assert_ok(&ctx, sn_rig(&ctx, &windows.rest, &windows.frames, &options, &b));
  assert_int_equal(a.report.bones, b.report.bones);
  assert_true(a.report.rms == b.report.rms);
  size_t slots = (size_t)a.skin.vertex_count * (size_t)a.skin.influences;
  assert_memory_equal(a.skin.joints, b.skin.joints, slots * sizeof *a.skin.joints);
  assert_memory_equal(a.skin.weights, b.skin.weights, slots * sizeof *a.skin.weights);
  assert_memory_equal(a.poses.matrices, b.poses.matrices,
                      (size_t)a.poses.frame_count * (size_t)a.poses.joint_count * sizeof *a.poses.matrices);
  sn_rig_result_free(&a);
  sn_rig_result_free(&b);
  sn_examples_free(&whole);
  sn_examples_free(&windows);
}

static void models_and_figures_are_the_same(void **state) {
  static const char *const specs[] = {"rigid", "lbs",       "lbs:smooth=0.01", "lbs:extra=halfway",
                                      "dqs",   "eigenskin", "psd:space=whole", "rotreg:bones=8"};
  sn_context plain = sn_context_default(), ctx = streaming();
  sn_examples whole = generate(&plain, "arm", 12, 800), windows = generate(&ctx, "arm", 12, 800);
  for (size_t k = 0; k < sizeof specs / sizeof *specs; k++) {
    trained a = train(&plain, &whole, specs[k], "every:2"), b = train(&ctx, &windows, specs[k], "every:2");
    assert_int_equal(a.bytes.size, b.bytes.size);
    assert_memory_equal(a.bytes.bytes, b.bytes.bytes, a.bytes.size);
    assert_memory_equal(&a.scores, &b.scores, sizeof a.scores);
    release(&a);
    release(&b);
  }
  sn_examples_free(&whole);
  sn_examples_free(&windows);
}

// Errors of a model are those of its frames, at any thread count.
static void figures_do_not_depend_on_threads(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "arm", 37, 600);
  trained t = train(&ctx, &examples, "lbs", "all");
  sn_keys all;
  sn_frames positions, normals;
  sn_errors stored;
  sn_metrics a, b;
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", 37, 1, &all, NULL));
  assert_ok(&ctx, sn_assess_evaluate(&ctx, &t.model, &examples, &all, &positions, &normals));
  assert_ok(&ctx, sn_errors_measure(&ctx, &examples, &all, &positions, &normals, &stored));
  assert_ok(&ctx, sn_metrics_of(&ctx, &stored, &a));
  for (int threads = 1; threads <= 4; threads += 3) {
    sn_errors visited;
    ctx.threads = threads;
    assert_ok(&ctx, sn_errors_of_model(&ctx, &t.model, &(sn_measured){&examples, &examples, &all}, true, &visited));
    assert_ok(&ctx, sn_metrics_of(&ctx, &visited, &b));
    assert_int_equal(a.frame_count, b.frame_count);
    assert_memory_equal(&a.rms, &b.rms, sizeof a - offsetof(sn_metrics, rms)); // not what is between the members
    assert_memory_equal(stored.frame_squared, visited.frame_squared, 37 * sizeof(double));
    sn_errors_free(&visited);
  }
  sn_errors_free(&stored);
  sn_frames_free(&positions);
  sn_frames_free(&normals);
  sn_keys_free(&all);
  release(&t);
  sn_examples_free(&examples);
}

typedef struct member {
  const sn_examples *examples;
  const char *spec; // NULL: a rig
  sn_rig_result rig;
  sn_model model;
  sn_scores scores;
} member;

static void work_as_member(sn_context *ctx, void *user) {
  member *m = user;
  const sn_examples *e = m->examples;
  sn_rig_options options = sn_rig_options_default();
  sn_method_spec spec;
  sn_train_report report;
  sn_keys keys, others;
  sn_rt_model opened;
  options.bones = 5;
  if (!m->spec) {
    assert_ok(ctx, sn_rig(ctx, &e->rest, &e->frames, &options, &m->rig));
    return;
  }
  assert_ok(ctx, sn_method_parse(ctx, m->spec, &spec));
  assert_ok(ctx, sn_keys_parse(ctx, "every:2", e->frames.frame_count, 1, &keys, &others));
  assert_ok(ctx, sn_train(ctx, &spec, e, &keys, &m->model, &report));
  assert_ok(ctx, sn_model_open(ctx, "model", m->model.bytes, m->model.size, &opened));
  assert_ok(ctx, sn_assess(ctx, &opened, e, &(sn_scored_frames){&keys, &others, NULL}, &m->scores));
  sn_keys_free(&keys);
  sn_keys_free(&others);
}

// 3 that work together, or 8, have, each of them, what one alone has.
static void teams_give_the_same(void **state) {
  static const char *const specs[] = {NULL, "lbs", "lbs:smooth=0.01", "dqs", "psd", "eigenskin", "rotreg:bones=6"};
  static const int sizes[] = {3, 8};
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "arm", 8, 1200);
  for (size_t k = 0; k < sizeof specs / sizeof *specs; k++) {
    member alone = {.examples = &examples, .spec = specs[k]};
    work_as_member(&ctx, &alone);
    for (size_t s = 0; s < (k == 1 ? 2 : 1); s++) { // test_mpi has rigs of eight
      member members[most_ranks];
      void *users[most_ranks];
      sn_team counts;
      for (int r = 0; r < sizes[s]; r++)
        members[r] = (member){.examples = &examples, .spec = specs[k]}, users[r] = &members[r];
      run_team(sizes[s], ctx.allocator, work_as_member, users, &counts);
      assert_true(counts.messages > 0 && counts.bytes > 0);
      for (int r = 0; r < sizes[s]; r++) {
        const sn_rig_result *a = &alone.rig, *b = &members[r].rig;
        size_t slots = (size_t)a->skin.vertex_count * (size_t)a->skin.influences;
        assert_int_equal(alone.model.size, members[r].model.size);
        assert_memory_equal(&alone.scores, &members[r].scores, sizeof alone.scores);
        if (alone.model.size > 0) assert_memory_equal(alone.model.bytes, members[r].model.bytes, alone.model.size);
        if (slots > 0) {
          assert_memory_equal(a->skin.weights, b->skin.weights, slots * sizeof *a->skin.weights);
          assert_true(a->report.rms == b->report.rms);
        }
        sn_rig_result_free(&members[r].rig);
        sn_model_free(&members[r].model);
      }
    }
    sn_rig_result_free(&alone.rig);
    sn_model_free(&alone.model);
  }
  sn_examples_free(&examples);
}

// More poses than are compared with each other: corrections are as good as those of a part of them.
static void long_clips_are_corrected(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "elbow", 300, 600);
  trained skin = train(&ctx, &examples, "lbs", "all"), some = train(&ctx, &examples, "psd", "every:3");
  trained all = train(&ctx, &examples, "psd", "all");
  assert_true(all.scores.all.rms < 0.2 * skin.scores.all.rms);
  assert_true(all.scores.all.rms < 1.1 * some.scores.all.rms);
  release(&skin);
  release(&some);
  release(&all);
  sn_examples_free(&examples);
}

// The lists of joints near each other, by their definition.
static void neighbours_are_as_defined(void **state) {
  sn_context ctx = sn_context_default();
  sn_gen_options options = {.set = "body", .frames = 2, .vertices = 2000, .joints = 40, .seed = 1};
  sn_examples e;
  sn_near near;
  sn_arena memory = sn_arena_new(&ctx);
  assert_ok(&ctx, sn_gen(&ctx, &options, &e));
  assert_ok(&ctx, sn_near_new(&ctx, &memory, &e.skeleton, &e.skin, &near));
  bool beside[40][40] = {{false}};
  for (int j = 0; j < 40; j++) {
    int parent = e.skeleton.parents[j];
    if (parent >= 0) beside[j][parent] = beside[parent][j] = true;
  }
  for (int i = 0; i < e.skin.vertex_count; i++) {
    const uint16_t *joints = e.skin.joints + 4 * (size_t)i;
    const float *weights = e.skin.weights + 4 * (size_t)i;
    for (int a = 0; a < 4; a++)
      for (int b = 0; b < 4; b++)
        if ((a == 0 || weights[a] > SN_NEAR_WEIGHT) && (b == 0 || weights[b] > SN_NEAR_WEIGHT))
          beside[joints[a]][joints[b]] = true;
  }
  for (int a = 0; a < 40; a++)
    for (int b = 0; b < 40; b++) assert_int_equal(sn_near_beside(&near, a, b), beside[a][b]);
  for (int i = 0; i < e.skin.vertex_count; i += 7) {
    uint16_t found[8];
    int count = sn_near_joints(&near, i, 8, found), own = 1;
    while (own < 4 && e.skin.weights[4 * (size_t)i + (size_t)own] > SN_NEAR_WEIGHT) own++;
    for (int k = 0; k < count; k++) {
      bool expected = false;
      for (int a = 0; a < own; a++) expected = expected || k < own || beside[found[a]][found[k]];
      assert_true(expected);
      if (k > own) assert_true(found[k] > found[k - 1]);
    }
    int total = own;
    for (int j = 0; j < 40; j++) {
      bool near_one = false, one = false;
      for (int a = 0; a < own; a++) near_one = near_one || beside[found[a]][j], one = one || found[a] == j;
      total += near_one && !one;
    }
    assert_int_equal(count, total < 8 ? total : 8);
  }
  sn_arena_free(&memory);
  sn_examples_free(&e);
}

// Overwrites frames with NaN at a moment of the work, as another process may do with a mapped cache.
typedef struct overwriting {
  sn_frames *frames;
  int calls, at;
} overwriting;

static bool overwrite(void *user, const char *task, double done) {
  (void)task, (void)done;
  overwriting *o = user;
  if (o->calls++ == o->at) memset(sn_frame_mutable(o->frames, 3), 0xff, (size_t)o->frames->vertex_count * 12);
  return true;
}

// Frames change at call `at` of the progress function, -1: never. Returns how often it was called.
static int rig_overwritten(int at, sn_status expected) {
  sn_context ctx = streaming();
  ctx.threads = 1; // only the caller's thread reports progress: with others, how often depends on their speed
  sn_examples examples = generate(&ctx, "arm", 6, 600);
  overwriting o = {.frames = &examples.frames, .at = at};
  sn_rig_options options = sn_rig_options_default();
  sn_rig_result result;
  options.bones = 3;
  ctx.progress = overwrite, ctx.progress_user = &o;
  examples.frames.finite = true; // they were, when they were read
  assert_int_equal(sn_rig(&ctx, &examples.rest, &examples.frames, &options, &result), expected);
  if (expected == SN_OK) sn_rig_result_free(&result);
  if (expected != SN_OK) assert_non_null(strstr(ctx.error.message, "frame 3 changed while it was read"));
  sn_examples_free(&examples);
  return o.calls;
}

static void frames_that_change_meanwhile_are_told(void **state) {
  int calls = rig_overwritten(-1, SN_OK);
  assert_true(calls > 8);
  for (int k = 0; k < 8; k++) rig_overwritten(k * (calls - 1) / 8, SN_BAD_INPUT);
}

// Every allocation that fails on the way leaves neither memory nor a file behind.
static void failures_leave_nothing(void **state) {
  sn_context plain = sn_context_default();
  sn_examples examples = generate(&plain, "body", 6, 2000);
  sn_rig_options options = sn_rig_options_default();
  options.bones = 2;
  for (starvation s = {.every = 3}; starve(&s);) {
    s.ctx.large = 1000;
    sn_rig_result result;
    s.status = sn_rig(&s.ctx, &examples.rest, &examples.frames, &options, &result);
    if (s.status == SN_OK) sn_rig_result_free(&result);
  }
  sn_examples_free(&examples);
}

static void scratch_space_that_is_missing_is_told(void **state) {
  sn_context ctx = streaming();
  sn_frames frames;
  char *before = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
  setenv("TMPDIR", "/nowhere", 1);
  assert_fails(&ctx, sn_frames_new(&ctx, 1000, 10, &frames), "/nowhere: 0.0 GB of scratch space");
  if (before)
    setenv("TMPDIR", before, 1);
  else
    unsetenv("TMPDIR");
  free(before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(caches_are_read_the_same),
    cmocka_unit_test(damaged_caches_are_refused_the_same),
    cmocka_unit_test(rigs_are_the_same),
    cmocka_unit_test(models_and_figures_are_the_same),
    cmocka_unit_test(figures_do_not_depend_on_threads),
    cmocka_unit_test(teams_give_the_same),
    cmocka_unit_test(long_clips_are_corrected),
    cmocka_unit_test(neighbours_are_as_defined),
    cmocka_unit_test(frames_that_change_meanwhile_are_told),
    cmocka_unit_test(failures_leave_nothing),
    cmocka_unit_test(scratch_space_that_is_missing_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
