// SPDX-License-Identifier: MIT
// Sessions: examples from memory, results by name, and solves that are stopped at any time.
#include "check.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "sinew/session.h"

enum { side = 14, vertices = side * side, triangles = 2 * (side - 1) * (side - 1), frames = 16 };

static float rest[vertices][3], moved[frames][vertices][3];
static int corners[triangles][3];
static double joint_rest[2][3][4], poses[frames][2][3][4];
static const char *const names[2] = {"root", "tip"};
static const int parents[2] = {-1, 0}, clips[2] = {0, frames};

static void identity(double m[3][4]) {
  memset(m, 0, 12 * sizeof(double));
  for (int k = 0; k < 3; k++) m[k][k] = 1;
}

// A square that bends about its middle line.
static int fill(void **state) {
  int t = 0;
  for (int y = 0; y < side; y++)
    for (int x = 0; x < side; x++) {
      int i = y * side + x;
      rest[i][0] = (float)x / (side - 1), rest[i][1] = (float)y / (side - 1), rest[i][2] = 0;
      if (x + 1 == side || y + 1 == side) continue;
      int quad[2][3] = {{i, i + 1, i + side + 1}, {i, i + side + 1, i + side}};
      memcpy(corners[t], quad, sizeof quad);
      t += 2;
    }
  identity(joint_rest[0]), identity(joint_rest[1]);
  joint_rest[1][0][3] = 0.5;
  for (int f = 0; f < frames; f++) {
    double angle = 1.2 * f / (frames - 1), c = cos(angle), s = sin(angle);
    double tip[3][4] = {{c, 0, -s, 0.5 - 0.5 * c}, {0, 1, 0, 0}, {s, 0, c, -0.5 * s}};
    identity(poses[f][0]);
    memcpy(poses[f][1], tip, sizeof tip);
    for (int i = 0; i < vertices; i++) {
      double w = fmin(1, fmax(0, (rest[i][0] - 0.4) / 0.2)), x = rest[i][0];
      moved[f][i][0] = (float)((1 - w) * x + w * (c * x + 0.5 - 0.5 * c));
      moved[f][i][1] = rest[i][1];
      moved[f][i][2] = (float)(w * (s * x - 0.5 * s));
    }
  }
  return 0;
}

static sn_session *new_session(bool skeleton) {
  sn_session *s = sn_session_new();
  assert_non_null(s);
  sn_session_give_mesh(s,
                       &(sn_session_mesh){vertices, triangles, .positions = &rest[0][0], .corners = &corners[0][0]});
  assert_int_equal(sn_session_give_frames(s, &(sn_session_frames){frames, vertices, &moved[0][0][0], 1, 0, clips}),
                   SN_OK);
  if (skeleton) {
    assert_int_equal(sn_session_give_skeleton(s, &(sn_session_skeleton){2, frames, names, parents,
                                                                        &joint_rest[0][0][0], &poses[0][0][0][0]}),
                     SN_OK);
  }
  assert_int_equal(sn_session_load_given(s), SN_OK);
  return s;
}

static void test_training_and_arrays(void **state) {
  sn_session_array a;
  sn_session *s = new_session(true);
  assert_true(sn_session_get(s, "frames", &a));
  assert_ptr_equal(a.data, moved);
  assert_false(sn_session_get(s, "model", &a));
  assert_int_equal(sn_session_option(s, "keys", "every:2"), SN_OK);
  assert_int_equal(sn_session_train(s, "lbs", true), SN_OK);
  assert_true(sn_session_get(s, "model", &a));
  assert_int_equal(a.dimensions, 1);
  assert_non_null(strstr(sn_session_report(s), "\"ee\""));
  char message[240];
  sn_evaluator *e = sn_evaluator_new(a.data, (size_t)a.shape[0], message, sizeof message);
  assert_non_null(e);
  float joints[2][12], out[vertices][3];
  for (int k = 0; k < 24; k++) joints[k / 12][k % 12] = (float)(&poses[frames - 1][0][0][0])[k];
  char scratch[1 << 16];
  assert_true(sn_evaluator_scratch(e) <= sizeof scratch);
  sn_evaluator_call call = {.evaluator = e, .joints = joints[0], .scratch = scratch, .positions = out[0]};
  assert_int_equal(sn_evaluator_run(&call), 0);
  for (int i = 0; i < vertices; i++)
    for (int c = 0; c < 3; c++) assert_true(fabsf(out[i][c] - moved[frames - 1][i][c]) < 2e-3f);
  call.joints = NULL;
  assert_int_not_equal(sn_evaluator_run(&call), 0);
  assert_true(call.message[0] != '\0');
  sn_evaluator_free(e);
  sn_session_free(s);
}

static void test_messages(void **state) {
  sn_session *s = new_session(true);
  assert_int_equal(sn_session_train(s, "lbz", true), SN_BAD_INPUT);
  assert_non_null(strstr(sn_session_message(s), "did you mean lbs"));
  assert_int_equal(sn_session_option(s, "keys", "every:x"), SN_OK);
  assert_int_equal(sn_session_train(s, "lbs", true), SN_BAD_INPUT);
  assert_int_equal(sn_session_rig(s, "bonez=3"), SN_BAD_INPUT);
  assert_int_equal(sn_session_option(s, "nothing", "x"), SN_BAD_INPUT);
  assert_int_equal(sn_session_option(s, "max-time", "fast"), SN_BAD_INPUT);
  assert_int_equal(sn_session_read_frames(s, "/nowhere/x.pc2"), SN_IO);
  sn_session_free(s);
}

typedef struct alarm_clock {
  int microseconds, stop;
} alarm_clock;

static void *ring(void *user) {
  alarm_clock *clock = user;
  usleep((useconds_t)clock->microseconds);
  __atomic_store_n(&clock->stop, 1, __ATOMIC_RELAXED);
  return NULL;
}

typedef struct work {
  const char *method; // NULL: a rig
  bool skeleton;
  const char *controls;
} work;

static sn_status run(sn_session *s, const work *w) {
  if (!w->method) return sn_session_rig(s, "bones=6");
  return sn_session_train(s, w->method, true);
}

// Whenever it comes, a stop ends the work with SN_STOPPED (or too late), and nothing is lost, broken or leaked.
static void test_stop_at_any_time(void **state) {
  static const work works[] = {{NULL, false, NULL},   {"lbs", true, NULL},
                               {"psd", true, NULL},   {"rotreg:bones=6", true, NULL},
                               {"dqs", true, NULL},   {"affine:bones=4", false, "auto:6"},
                               {"rigid", true, NULL}, {"eigenskin", true, NULL}};
  int stopped = 0;
  for (size_t k = 0; k < sizeof works / sizeof *works; k++)
    for (int step = 0; step < 12; step++) {
      alarm_clock clock = {.microseconds = 100 << step};
      pthread_t thread;
      sn_session *s = new_session(works[k].skeleton);
      if (works[k].controls) assert_int_equal(sn_session_give_controls(s, 0, NULL, 6), SN_OK);
      assert_int_equal(sn_session_option(s, "keep-bones", "1"), SN_OK);
      sn_session_run_with(s, 2, 1, &clock.stop);
      assert_int_equal(pthread_create(&thread, NULL, ring, &clock), 0);
      sn_status status = run(s, &works[k]);
      if (status != SN_OK) {
        assert_int_equal(status, SN_STOPPED);
        stopped++;
      }
      pthread_join(thread, NULL);
      sn_session_free(s);
      if (status == SN_OK) break; // it was faster than that
    }
  assert_true(stopped > 0); // a busy machine may ring late
}

// Stopped before it begins: every path to the first allocation.
static void test_stopped_before(void **state) {
  int stop = 1;
  sn_session *s = new_session(true);
  sn_session_run_with(s, 1, 1, &stop);
  assert_int_equal(sn_session_train(s, "lbs", true), SN_STOPPED);
  assert_int_equal(sn_session_rig(s, ""), SN_STOPPED);
  stop = 0;
  assert_int_equal(sn_session_train(s, "lbs", true), SN_OK);
  sn_session_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_training_and_arrays), cmocka_unit_test(test_messages),
                                     cmocka_unit_test(test_stop_at_any_time), cmocka_unit_test(test_stopped_before)};
  return cmocka_run_group_tests(tests, fill, NULL);
}
