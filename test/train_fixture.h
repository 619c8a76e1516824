// SPDX-License-Identifier: MIT
// Common to the tests of the methods: a generated set, a model trained on some of its frames, its scores.
#ifndef SINEW_TEST_TRAIN_FIXTURE_H
#define SINEW_TEST_TRAIN_FIXTURE_H

#include "check.h"
#include "sinew/eval.h"
#include "lab/gen/gen.h"
#include "sinew/train.h"

typedef struct trained {
  sn_model bytes;
  sn_rt_model model;
  sn_keys keys, others;
  sn_scores scores;
  sn_train_report report;
} trained;

static inline sn_examples generate(sn_context *ctx, const char *set, int frames, int vertices) {
  sn_gen_options options = sn_gen_options_default();
  options.set = set, options.frames = frames, options.vertices = vertices;
  sn_examples examples;
  assert_ok(ctx, sn_gen(ctx, &options, &examples));
  return examples;
}

static inline trained train(sn_context *ctx, const sn_examples *examples, const char *spec_text, const char *keys) {
  trained t = {0};
  sn_method_spec spec;
  assert_ok(ctx, sn_method_parse(ctx, spec_text, &spec));
  assert_ok(ctx, sn_keys_parse(ctx, keys, examples->frames.frame_count, 1, &t.keys, &t.others));
  assert_ok(ctx, sn_train(ctx, &spec, examples, &t.keys, &t.bytes, &t.report));
  assert_ok(ctx, sn_model_open(ctx, spec_text, t.bytes.bytes, t.bytes.size, &t.model));
  assert_ok(ctx, sn_assess(ctx, &t.model, examples, &(sn_scored_frames){&t.keys, &t.others, NULL}, &t.scores));
  return t;
}

static inline void release(trained *t) {
  sn_model_free(&t->bytes);
  sn_keys_free(&t->keys);
  sn_keys_free(&t->others);
}

static inline sn_scores scores_of(sn_context *ctx, const sn_examples *examples, const char *spec, const char *keys) {
  trained t = train(ctx, examples, spec, keys);
  release(&t);
  return t.scores;
}

#endif
