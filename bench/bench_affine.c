// SPDX-License-Identifier: MIT
// The figures of docs/measurements.md.
//
//   bench_affine sets [SEED ...]   generated sets: affine bones against rigid ones, and smoothing
//   bench_affine time              training, and one evaluation against plain linear blending, 5,256 vertices and 100 bones
//   bench_affine OUT.svg FRAMES KEYS NAME REST FRAMES_FILE [NAME REST FRAMES_FILE ...]
//                                  error against the number of control points, chosen by Sinew: a table, and a plot
//
// FRAMES: how many of each set's frames are used at most, with commas (24 of the gallop, which repeats); KEYS: how many train.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sinew/eval.h"
#include "lab/gen/gen.h"
#include "sinew/examples.h"
#include "sinew/train.h"

enum { count_count = 7 };
static const int counts[count_count] = {1, 2, 3, 4, 6, 8, 12};

// Root mean square, over frames and edges, of the difference between the error vectors of an edge's ends, in percent of the
// diagonal.
static sn_status neighbour_variation(sn_context *ctx, const sn_rt_model *model, const sn_examples *e,
                                     const sn_keys *keys, double diagonal, double *out) {
  sn_frames positions = {0};
  sn_topology topology = {0};
  sn_status status = sn_assess_evaluate(ctx, model, e, keys, &positions, NULL);
  if (status == SN_OK) status = sn_topology_build(ctx, &e->rest, &topology);
  double sum = 0;
  for (int f = 0; status == SN_OK && f < keys->count; f++) {
    const float(*p)[3] = sn_frame(&positions, f), (*q)[3] = sn_frame(&e->frames, keys->frames[f]);
    for (int k = 0; k < topology.edge_count; k++)
      for (int r = 0; r < 3; r++) {
        int a = topology.edges[k][0], b = topology.edges[k][1];
        double d = (double)p[a][r] - (double)q[a][r] - (double)p[b][r] + (double)q[b][r];
        sum += d * d / topology.edge_count / keys->count;
      }
  }
  *out = 100 * sqrt(sum) / diagonal;
  sn_frames_free(&positions);
  sn_topology_free(&topology);
  return status;
}

static sn_status measure(sn_context *ctx, const sn_examples *e, const sn_keys *keys, const sn_keys *others,
                         const char *name, const char *text, double *test) {
  sn_method_spec spec;
  sn_model bytes = {0};
  sn_rt_model model;
  sn_train_report report;
  sn_scores scores;
  double variation, diagonal = sn_points_diagonal((const float(*)[3])e->rest.positions, e->rest.vertex_count);
  sn_status status = sn_method_parse(ctx, text, &spec);
  if (status == SN_OK) status = sn_train(ctx, &spec, e, keys, &bytes, &report);
  if (status == SN_OK) status = sn_model_open(ctx, text, bytes.bytes, bytes.size, &model);
  if (status == SN_OK) status = sn_assess(ctx, &model, e, &(sn_scored_frames){keys, others, NULL}, &scores);
  if (status == SN_OK) status = neighbour_variation(ctx, &model, e, others, diagonal, &variation);
  if (status == SN_OK) {
    *test = scores.test.rms_pct_diag;
    printf("%-30s %9.4f %9.4f %9.3f %12.4f %9zu %8.2f\n", name, scores.train.rms_pct_diag, *test,
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

static void print_head(const char *name, const sn_examples *e, const sn_keys *keys, const sn_keys *others) {
  printf("%s: %d vertices, %d training and %d test frames\n%-30s %9s %9s %9s %12s %9s %8s\n", name,
         e->rest.vertex_count, keys->count, others->count, "", "train %", "test %", "max %", "neighbours %", "bytes",
         "seconds");
}

// ---- generated sets --------------------------------------------------------------------------------------------------------

static sn_status run_generated(sn_context *ctx, const char *set, int frames, int used, int vertices, int training,
                               int bones, uint64_t seed) {
  static const char *const specs[] = {
    "", ",smooth=0", ",stretch=0", ",poisson=bare", ",stretch=0,poisson=bare", ",poisson=0", ",stretch=0,poisson=0"};
  sn_gen_options options = sn_gen_options_default();
  sn_examples e = {0};
  sn_keys keys = {0}, others = {0};
  options.set = set, options.frames = frames, options.vertices = vertices, options.seed = seed;
  sn_status status = sn_gen(ctx, &options, &e);
  if (status == SN_OK) e.frames.frame_count = used;
  if (status == SN_OK) status = split(ctx, used, training, &keys, &others);
  if (status == SN_OK) {
    printf("seed %d, ", (int)seed);
    print_head(set, &e, &keys, &others);
  }
  for (int k = 0; k < 7 && status == SN_OK; k++) {
    char text[64];
    double test;
    snprintf(text, sizeof text, "affine:bones=%d%s", bones, specs[k]);
    status = measure(ctx, &e, &keys, &others, text, text, &test);
  }
  sn_keys_free(&keys);
  sn_keys_free(&others);
  sn_examples_free(&e);
  return status;
}

static sn_status run_sets(sn_context *ctx, uint64_t seed) {
  sn_status status = run_generated(ctx, "cylinder", 50, 40, 2000, 4, 50, seed);
  if (status == SN_OK) status = run_generated(ctx, "arm", 50, 50, 5256, 5, 100, seed);
  return status == SN_OK ? run_generated(ctx, "leg", 86, 86, 2210, 19, 100, seed) : status;
}

// Training and one evaluation, for this many training frames.
static sn_status run_time(sn_context *ctx, int training) {
  sn_gen_options options = sn_gen_options_default();
  sn_examples e = {0};
  sn_keys keys = {0}, others = {0};
  sn_method_spec spec;
  sn_model bytes = {0}, plain_bytes = {0};
  sn_rt_model model, plain;
  sn_train_report report;
  options.set = "arm", options.frames = 100, options.vertices = 5256;
  sn_status status = sn_gen(ctx, &options, &e);
  if (status == SN_OK) status = split(ctx, 100, training, &keys, &others);
  if (status == SN_OK) status = sn_method_parse(ctx, "affine", &spec);
  clock_t before = clock();
  if (status == SN_OK) status = sn_train(ctx, &spec, &e, &keys, &bytes, &report);
  double processor = (double)(clock() - before) / CLOCKS_PER_SEC;
  if (status == SN_OK) status = sn_model_open(ctx, "affine", bytes.bytes, bytes.size, &model);
  if (status == SN_OK) status = sn_assess_plain_lbs(ctx, &model, &plain_bytes);
  if (status == SN_OK) status = sn_model_open(ctx, "lbs", plain_bytes.bytes, plain_bytes.size, &plain);
  if (status == SN_OK) {
    printf("%d training frames: %.2f s, %.2f s of processor time\n", training, report.seconds, processor);
  }
  for (int k = 0; k < 8 && status == SN_OK; k++) { // normals off, then on, alternating
    sn_timing own, other;
    status = sn_assess_time(ctx, &model, &e, k % 2, 0.3, &own);
    if (status == SN_OK) status = sn_assess_time(ctx, &plain, NULL, k % 2, 0.3, &other);
    if (status != SN_OK) break;
    printf("  %s: %.1f us (10th percentile %.1f), plain lbs %.1f (%.1f), ratio %.2f (%.2f)\n",
           k % 2 ? "with normals" : "positions", own.median, own.low, other.median, other.low,
           own.median / other.median, own.low / other.low);
  }
  sn_model_free(&bytes);
  sn_model_free(&plain_bytes);
  sn_keys_free(&keys);
  sn_keys_free(&others);
  sn_examples_free(&e);
  return status;
}

// ---- control points ----------------------------------------------------------------------------------------------------------

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
    print_head(names[0], &e, &keys, &others);
  }
  for (int n = 0; n < count_count && status == SN_OK; n++) {
    char name[32];
    snprintf(name, sizeof name, "%d control points", counts[n]);
    e.control_target = counts[n];
    status = measure(ctx, &e, &keys, &others, name, "affine", &test[n]);
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
  sn_status status = SN_OK;
  if (argc > 1 && (strcmp(argv[1], "sets") == 0 || strcmp(argv[1], "time") == 0)) {
    bool time = argv[1][0] == 't';
    if (time || argc == 2) status = time ? run_time(&ctx, 5) : run_sets(&ctx, 1);
    if (time && status == SN_OK) status = run_time(&ctx, 50);
    for (int n = 2; !time && n < argc && status == SN_OK; n++) status = run_sets(&ctx, strtoull(argv[n], NULL, 10));
    if (status != SN_OK) fprintf(stderr, "%s\n", ctx.error.message);
    return status == SN_OK ? 0 : 1;
  }
  if (argc < 7 || sets > most_sets || (argc - 4) % 3 != 0) {
    fprintf(stderr, "bench_affine sets [SEED ...] | time | OUT.svg FRAMES KEYS NAME REST FRAMES_FILE ...\n");
    return 2;
  }
  const char *frames = argv[2];
  for (int n = 0; n < count_count; n++) x[n] = counts[n];
  for (int s = 0; s < sets && status == SN_OK; s++) {
    status = run_set(&ctx, argv + 4 + 3 * s, atoi(frames), atoi(argv[3]), y[s]);
    if (strchr(frames, ',')) frames = strchr(frames, ',') + 1;
    lines[s] = (sn_plot_line){argv[4 + 3 * s], count_count, x, y[s]};
  }
  if (status == SN_OK) {
    status = sn_plot_write(&ctx, argv[1],
                           &(sn_plot){"affine: error against control points", "control points chosen",
                                      "rms error of the test frames, % of the diagonal", lines, sets});
  }
  if (status != SN_OK) fprintf(stderr, "%s\n", ctx.error.message);
  return status == SN_OK ? 0 : 1;
}
