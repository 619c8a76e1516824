// SPDX-License-Identifier: MIT
// `affine` against the number of control points, chosen by Sinew: a table, and a plot.
//
//   bench_affine OUT.svg FRAMES KEYS NAME REST FRAMES_FILE [NAME REST FRAMES_FILE ...]
//
// FRAMES: how many of the frames are used at most (24 for the gallop, which repeats); KEYS: how many of them train.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sinew/assess.h"
#include "sinew/io.h"
#include "sinew/train.h"

enum { count_count = 7 };
static const int counts[count_count] = {1, 2, 3, 4, 6, 8, 12};

// Mean difference of the rms error between neighbouring vertices, in percent of the diagonal.
static sn_status neighbour_variation(sn_context *ctx, const sn_rt_model *model, const sn_examples *e,
                                     const sn_keys *keys, double diagonal, double *out) {
  sn_frames positions = {0};
  sn_errors errors = {0};
  sn_topology topology = {0};
  sn_status status = sn_assess_evaluate(ctx, model, e, keys, &positions, NULL);
  if (status == SN_OK) status = sn_errors_measure(ctx, e, keys, &positions, NULL, &errors);
  if (status == SN_OK) status = sn_topology_build(ctx, &e->rest, &topology);
  *out = 0;
  for (int k = 0; status == SN_OK && k < topology.edge_count; k++) {
    double a = sqrt(errors.squared[topology.edges[k][0]] / keys->count);
    double b = sqrt(errors.squared[topology.edges[k][1]] / keys->count);
    *out += 100 * fabs(a - b) / diagonal / topology.edge_count;
  }
  sn_frames_free(&positions);
  sn_errors_free(&errors);
  sn_topology_free(&topology);
  return status;
}

static sn_status measure(sn_context *ctx, sn_examples *e, const sn_keys *keys, const sn_keys *others, int controls,
                         const char *text, double *test) {
  sn_method_spec spec;
  sn_model bytes = {0};
  sn_rt_model model;
  sn_train_report report;
  sn_scores scores;
  double variation, diagonal = sn_points_diagonal((const float(*)[3])e->rest.positions, e->rest.vertex_count);
  e->controls_wanted = controls;
  sn_status status = sn_method_parse(ctx, text, &spec);
  if (status == SN_OK) status = sn_train(ctx, &spec, e, keys, &bytes, &report);
  if (status == SN_OK) status = sn_model_open(ctx, text, bytes.bytes, bytes.size, &model);
  if (status == SN_OK) status = sn_assess(ctx, &model, e, keys, others, &scores, NULL);
  if (status == SN_OK) status = neighbour_variation(ctx, &model, e, others, diagonal, &variation);
  if (status == SN_OK) {
    *test = scores.test.rms_pct_diag;
    printf("%8d %10.4f %10.4f %10.3f %12.4f %10zu %8.2f\n", controls, scores.train.rms_pct_diag, *test,
           scores.test.max_pct_diag, variation, bytes.size, report.seconds);
  }
  sn_model_free(&bytes);
  return status;
}

// Training frames spread evenly from the first to the last; the others test.
static sn_status split(sn_context *ctx, int frames, int training, sn_keys *keys, sn_keys *others) {
  char text[2048];
  int used = 0;
  for (int k = 0; k < training && used < (int)sizeof text - 16; k++) {
    int f = training > 1 ? (int)lround((double)k * (frames - 1) / (training - 1)) : 0;
    used += snprintf(text + used, sizeof text - (size_t)used, "%s%d", k ? "," : "", f);
  }
  return sn_keys_parse(ctx, text, frames, 1, keys, others);
}

static sn_status run_set(sn_context *ctx, char **names, int frames, int training, double *test) {
  const char *file[1] = {names[2]};
  sn_load_options options = sn_load_options_default();
  options.rest = names[1], options.frames = file, options.frames_count = 1;
  sn_examples e = {0};
  sn_keys keys = {0}, others = {0};
  sn_status status = sn_examples_load(ctx, &options, &e);
  if (status == SN_OK && e.frames.frame_count > frames) e.frames.frame_count = frames;
  if (status == SN_OK) status = split(ctx, e.frames.frame_count, training, &keys, &others);
  if (status == SN_OK) {
    printf("%s: %d vertices, %d training and %d test frames\n%8s %10s %10s %10s %12s %10s %8s\n", names[0],
           e.rest.vertex_count, keys.count, others.count, "controls", "train %", "test %", "max %", "neighbours %",
           "bytes", "seconds");
  }
  for (int n = 0; n < count_count && status == SN_OK; n++) {
    status = measure(ctx, &e, &keys, &others, counts[n], "affine", &test[n]);
  }
  sn_keys_free(&keys);
  sn_keys_free(&others);
  sn_examples_free(&e);
  return status;
}

int main(int argc, char **argv) {
  enum { most_sets = 8 };
  double x[count_count], y[most_sets][count_count] = {{0}};
  sn_plot_line lines[most_sets];
  sn_context ctx = sn_context_default();
  int sets = (argc - 4) / 3;
  if (argc < 7 || sets > most_sets || (argc - 4) % 3 != 0) {
    fprintf(stderr, "bench_affine OUT.svg FRAMES KEYS NAME REST FRAMES_FILE ...\n");
    return 2;
  }
  sn_status status = SN_OK;
  for (int n = 0; n < count_count; n++) x[n] = counts[n];
  for (int s = 0; s < sets && status == SN_OK; s++) {
    status = run_set(&ctx, argv + 4 + 3 * s, atoi(argv[2]), atoi(argv[3]), y[s]);
    lines[s] = (sn_plot_line){argv[4 + 3 * s], count_count, x, y[s]};
  }
  if (status == SN_OK) {
    status = sn_plot_write(&ctx, argv[1], "affine: error against control points", "control points chosen",
                           "rms error of the test frames, % of the diagonal", lines, sets);
  }
  if (status != SN_OK) fprintf(stderr, "%s\n", ctx.error.message);
  return status == SN_OK ? 0 : 1;
}
