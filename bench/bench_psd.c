// SPDX-License-Identifier: MIT
// What corrections cost: the cases of Murtagh 2008, table 5.1 (8,000 vertices, 3 and 9 poses), and the figures of
// EigenSkin and of weighted distances. Slowdowns compare medians of alternating runs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "psd_fixture.h"
#include "runtime/format.h"
#include "sinew/eval.h"
#include "lab/gen/gen.h"
#include "sinew/train.h"

typedef struct row {
  sn_model bytes;
  sn_rt_model model;
  sn_scores scores;
} row;

static int die(const sn_context *ctx) {
  fprintf(stderr, "bench_psd: %s\n", ctx->error.message);
  return 1;
}

static sn_status train(sn_context *ctx, const sn_examples *examples, const char *text, const char *keys, row *out) {
  sn_method_spec spec;
  sn_keys train_keys = {0}, others = {0};
  sn_status status = sn_method_parse(ctx, text, &spec);
  if (status == SN_OK) status = sn_keys_parse(ctx, keys, examples->frames.frame_count, 1, &train_keys, &others);
  if (status == SN_OK) status = sn_train(ctx, &spec, examples, &train_keys, &out->bytes, NULL);
  if (status == SN_OK) status = sn_model_open(ctx, text, out->bytes.bytes, out->bytes.size, &out->model);
  if (status == SN_OK)
    status = sn_assess(ctx, &out->model, examples, &(sn_scored_frames){&train_keys, &others, NULL}, &out->scores);
  sn_keys_free(&train_keys), sn_keys_free(&others);
  return status;
}

// Corrections that are not zero, and bytes of their sections.
static double count_corrections(const sn_rt_model *model, double *bytes, double *lanes) {
  uint64_t deltas_size, entries_size;
  const int16_t(*deltas)[6][SN_RT_LANES] = sn_rt_find_section(model, "correct.deltas", &deltas_size);
  sn_rt_find_section(model, "correct.entries", &entries_size);
  double count = 0;
  for (uint64_t e = 0; e < deltas_size / sizeof *deltas; e++)
    for (int l = 0; l < SN_RT_LANES; l++) {
      int any = 0;
      for (int c = 0; c < 6; c++) any |= deltas[e][c][l];
      count += any != 0;
    }
  *bytes = (double)(deltas_size + entries_size), *lanes = (double)(deltas_size / sizeof *deltas * SN_RT_LANES);
  return count;
}

// The threshold at which about `most` vertices are corrected per pose.
static sn_status train_with(sn_context *ctx, const sn_examples *examples, const char *blend, const char *keys,
                            int poses, double most, row *out) {
  double low = 0, high = 10;
  sn_status status = SN_OK;
  for (int step = 0; status == SN_OK && step < 16; step++) {
    char text[128];
    double bytes, lanes, middle = step ? 0.5 * (low + high) : 0;
    snprintf(text, sizeof text, "psd:space=whole,weights=given,blend=%s,threshold=%.9g", blend, middle);
    sn_model_free(&out->bytes);
    status = train(ctx, examples, text, keys, out);
    if (status != SN_OK) break;
    double corrected = count_corrections(&out->model, &bytes, &lanes) / poses;
    if (step == 0 && corrected <= most) break;
    if (corrected > most) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return status;
}

static int thesis_case(sn_context *ctx, const sn_examples *examples, const char *blend, const char *keys, int poses,
                       double most) {
  row base = {0}, corrected = {0};
  const char *under = strcmp(blend, "linear") ? "dqs:weights=given" : "lbs:weights=given";
  sn_status status = train(ctx, examples, under, keys, &base);
  if (status == SN_OK) status = train_with(ctx, examples, blend, keys, poses, most, &corrected);
  double least[2] = {1e30, 1e30};
  for (int turn = 0; status == SN_OK && turn < 12; turn++) {
    sn_timing timing;
    status = sn_assess_time(ctx, turn % 2 ? &corrected.model : &base.model, examples, true, 0.08, &timing);
    if (status == SN_OK && timing.median < least[turn % 2]) least[turn % 2] = timing.median;
  }
  if (status != SN_OK) return die(ctx);
  double bytes, lanes, count = count_corrections(&corrected.model, &bytes, &lanes);
  printf("%-9s %6d %6d %8.0f %9.0f %7.2f %8.2f %8.2f %8.1f %% %9.2f %9.2f\n", blend, examples->rest.vertex_count,
         poses, count / poses, bytes, bytes / count, least[0], least[1], 100 * (least[1] / least[0] - 1),
         count / (least[1] - least[0]) / 1000, lanes / (least[1] - least[0]) / 1000);
  sn_model_free(&base.bytes), sn_model_free(&corrected.bytes);
  return 0;
}

static int thesis(sn_context *ctx) {
  sn_gen_options options = sn_gen_options_default();
  options.set = "wrist", options.vertices = 7992, options.frames = 41;
  sn_examples examples;
  if (sn_gen(ctx, &options, &examples) != SN_OK) return die(ctx);
  printf("corrections, positions and normals, one thread (G/s: corrections, and with lanes that only fill blocks)\n");
  printf("%-9s %6s %6s %8s %9s %7s %8s %8s %10s %9s %9s\n", "blend", "verts", "poses", "each", "bytes", "each", "us",
         "with", "slowdown", "G/s", "lanes");
  int failed = 0;
  static const char *const blends[] = {"linear", "dualquat"};
  for (int b = 0; b < 2 && !failed; b++) {
    failed = thesis_case(ctx, &examples, blends[b], "13,26,40", 3, 2985);
    if (!failed) failed = thesis_case(ctx, &examples, blends[b], "4,9,13,18,22,27,31,36,40", 9, 6339);
    if (!failed) failed = thesis_case(ctx, &examples, blends[b], "4,9,13,18,22,27,31,36,40", 9, 1e9);
  }
  sn_examples_free(&examples);
  return failed;
}

static int independent_joints(sn_context *ctx) {
  static const char *const cases[][2] = {
    {"lbs:weights=given", "0,1,2,3,4,5,10,15,20"},
    {"psd:space=whole,weights=given", "0,1,2,3,4,5,10,15,20"},
    {"psd:space=whole,weights=given,weighted=1", "0,1,2,3,4,5,10,15,20"},
    {"psd:space=whole,weights=given", "0,2,4,10,12,14,20,22,24"},
    {"eigenskin:space=whole,weights=given,components=1", "0,1,2,3,4,5,10,15,20"},
    {"eigenskin:space=whole,weights=given,components=5", "0,1,2,3,4,5,10,15,20"},
  };
  sn_examples examples;
  if (two_ends(ctx, 600, &examples) != SN_OK) return die(ctx);
  printf("\ntwo independent joints: error at the other poses of the grid\n%-42s %-26s %10s %10s\n", "method", "poses",
         "rms %", "of skinning");
  double plain = 0;
  for (int n = 0; n < 6; n++) {
    row r = {0};
    if (train(ctx, &examples, cases[n][0], cases[n][1], &r) != SN_OK) return die(ctx);
    double rms = r.scores.test.rms_pct_diag;
    if (n == 0) plain = rms;
    printf("%-42s %-26s %10.4f %9.2f %%\n", cases[n][0], cases[n][1], rms, 100 * rms / plain);
    sn_model_free(&r.bytes);
  }
  sn_examples_free(&examples);
  return 0;
}

int main(void) {
  sn_context ctx = sn_context_default();
  int failed = thesis(&ctx);
  return failed ? failed : independent_joints(&ctx);
}
