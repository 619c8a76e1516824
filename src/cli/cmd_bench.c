// SPDX-License-Identifier: MIT
// sinew bench: the time of one evaluation, against plain lbs and a copy of the same bytes, in the same run.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/models.h"
#include "sinew/cuda.h"

static json_t *describe(const sn_timing *t) {
  return json_pack("{sfsfsfsi}", "median", t->median, "low", t->low, "high", t->high, "repeats", t->repeats);
}

static void say_row(const cli *c, const char *name, const sn_timing *t, double vertices, double lbs) {
  sn_cli_say(c, "  %-28s %9.2f us (%.2f to %.2f)", name, t->median, t->low, t->high);
  if (vertices > 0) sn_cli_say(c, "  %7.1f million vertices/s", vertices / t->median);
  sn_cli_say(c, "  %5.2f x lbs\n", t->median / lbs);
}

enum { rounds = 5 };

typedef struct bench_rows {
  sn_timing full, positions, lbs, copy;
} bench_rows;

static int by_median(const void *a, const void *b) {
  double x = ((const sn_timing *)a)->median, y = ((const sn_timing *)b)->median;
  return (x > y) - (x < y);
}

static sn_timing middle(sn_timing *rows) {
  qsort(rows, rounds, sizeof *rows, by_median);
  return rows[rounds / 2];
}

// The rows take turns, so that a disturbance of the machine falls on all of them; each gives its middle round.
static sn_status measure(cli *c, const sn_rt_model *model, const sn_rt_model *lbs, const sn_examples *examples,
                         size_t bytes, double seconds, bench_rows *out) {
  sn_timing full[rounds], positions[rounds], plain[rounds], copy[rounds];
  sn_status status = SN_OK;
  for (int r = 0; status == SN_OK && r < rounds; r++) {
    status = sn_assess_time(&c->ctx, model, examples, true, seconds / rounds, &full[r]);
    if (status == SN_OK) status = sn_assess_time(&c->ctx, lbs, NULL, true, seconds / rounds, &plain[r]);
    if (status == SN_OK) status = sn_assess_time(&c->ctx, model, examples, false, seconds / rounds, &positions[r]);
    if (status == SN_OK) status = sn_assess_copy_time(&c->ctx, bytes / 2, seconds / rounds, &copy[r]);
  }
  if (status == SN_OK) *out = (bench_rows){middle(full), middle(positions), middle(plain), middle(copy)};
  return status;
}

static void report(cli *c, const sn_rt_model *model, const bench_rows *rows, size_t bytes) {
  double n = model->info.vertex_count, lbs = rows->lbs.median;
  sn_cli_say(c, "%s: %u vertices, %u palette matrices, %s blend, %.3f million operations, %.1f KB touched (%s)\n",
             c->arguments[0], model->info.vertex_count, model->info.palette_count,
             sn_rt_blend_name(model->info.blend), 1e-6 * (double)model->info.flops, 1e-3 * (double)bytes,
             sn_rt_path_name(sn_rt_get_path(model)));
  say_row(c, "positions and normals", &rows->full, n, lbs);
  say_row(c, "positions", &rows->positions, n, lbs);
  say_row(c, "plain lbs, both", &rows->lbs, n, lbs);
  say_row(c, "a copy of the bytes touched", &rows->copy, 0, lbs);
  c->result = json_object();
  sn_report_add(c->result,
                "us_per_frame:f full:o positions:o lbs:o copy:o ratio_lbs:f ratio_copy:f vertices_per_second:f "
                "bytes_touched:I flops:I",
                rows->full.median, describe(&rows->full), describe(&rows->positions), describe(&rows->lbs),
                describe(&rows->copy), rows->full.median / lbs, rows->full.median / rows->copy.median,
                1e6 * n / rows->full.median, (json_int_t)bytes, (json_int_t)model->info.flops);
}

static sn_status bench(cli *c, const sn_rt_model *model, const sn_examples *examples, double seconds) {
  sn_model plain = {0};
  sn_rt_model lbs;
  bench_rows rows;
  size_t bytes = (size_t)model->info.bytes_read + 24 * (size_t)model->info.vertex_count;
  sn_status status = sn_assess_plain_lbs(&c->ctx, model, &plain);
  if (status == SN_OK) status = sn_model_open(&c->ctx, "plain lbs", plain.bytes, plain.size, &lbs);
  if (status == SN_OK) status = measure(c, model, &lbs, examples, bytes, seconds, &rows);
  if (status == SN_OK) report(c, model, &rows, bytes);
  sn_model_free(&plain);
  return status;
}

// ---- crowds on the GPU ---------------------------------------------------------------------------------------------------

typedef sn_cuda_status (*cuda_time_fn)(const sn_rt_model *model, uint32_t characters, double seconds,
                                       sn_cuda_timing *out, sn_cuda_error *error);

// libsinew-cuda is loaded for a crowd only: from the tool's own folder, the lib folder beside it, or where the system looks.
static cuda_time_fn find_cuda(void) {
  const char *places[] = {"", "../lib/", "../lib/x86_64-linux-gnu/", NULL};
  char own[512], path[640];
  ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
  void *library = NULL;
  for (int k = 0; size > 0 && places[k] && !library; k++) {
    own[size] = 0;
    char *slash = strrchr(own, '/');
    snprintf(path, sizeof path, "%.*s/%slibsinew-cuda.so", (int)(slash - own), own, places[k]);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  if (!library) library = dlopen("libsinew-cuda.so", RTLD_NOW | RTLD_LOCAL);
  cuda_time_fn found = NULL;
  if (library) *(void **)&found = dlsym(library, "sn_cuda_time");
  return found;
}

static sn_status bench_cuda(cli *c, const sn_rt_model *model, int characters, double seconds) {
  sn_cuda_timing t;
  sn_cuda_error error = {.message = ""};
  cuda_time_fn time = find_cuda();
  if (!time)
    return sn_fail(&c->ctx, SN_UNSUPPORTED,
                   "--cuda: libsinew-cuda.so is not there; build Sinew where nvcc is installed");
  if (time(model, (uint32_t)characters, seconds, &t, &error) != SN_CUDA_OK)
    return sn_fail(&c->ctx, SN_UNSUPPORTED, "--cuda: %s", error.message);
  sn_cli_say(c, "%s: %d characters of %u vertices, positions and normals: %.3f ms, %.1f billion vertices/s\n",
             c->arguments[0], characters, model->info.vertex_count, t.evaluate,
             1e-6 * characters * (double)model->info.vertex_count / t.evaluate);
  sn_cli_say(c, "  %.3g bytes must move; a copy moves %.2f TB/s in this run: %.0f %% of its speed\n", t.bytes,
             1e-12 * t.copy_per_second, 100 * t.share);
  c->result = json_pack("{sfsfsfsfsi}", "ms", t.evaluate, "bytes", t.bytes, "copy_per_second", t.copy_per_second,
                        "share", t.share, "characters", characters);
  return SN_OK;
}

static int run(cli *c) {
  double seconds;
  int characters;
  cli_model opened;
  if (!sn_cli_double(c, "--seconds", 0.01, 600, &seconds)) return exit_usage;
  if (!sn_cli_int(c, "--characters", 1, 10000000, &characters)) return exit_usage;
  int result = sn_cli_open_model(c, c->arguments[0], &opened);
  if (result != exit_done) return result;
  sn_examples examples = {0};
  sn_status status = sn_cli_given(c, "--skeleton") ? sn_cli_load(c, &examples) : SN_OK;
  bool cuda = sn_cli_given(c, "--cuda");
  if (status == SN_OK) {
    status = cuda ? bench_cuda(c, &opened.model, characters, seconds) : bench(c, &opened.model, &examples, seconds);
  }
  sn_examples_free(&examples);
  sn_cli_close_model(&opened);
  return status == SN_OK ? exit_done : sn_cli_fail(c);
}

static const cli_option options[] = {
  {"--seconds", "S", "0.5", "time to measure each row", false},
  {"--cuda", NULL, NULL, "time a crowd on the GPU, against a copy in the same run", false},
  {"--characters", "N", "1000", "characters of the crowd", false},
  CLI_OPTION_SKELETON,
  CLI_OPTIONS_FILES,
  CLI_OPTION_TORQUE,
  CLI_OPTION_VALUES,
  {0},
};

const cli_command sn_cli_bench = {
  .name = "bench",
  .usage = "MODEL.sinew [--skeleton FILE]",
  .summary = "time one evaluation, against plain lbs in the same run",
  .details =
    "One thread; median and the 10th to 90th percentile. Evaluates the poses of --skeleton, or the rest pose.",
  .example = "sinew gen arm -o arm\n"
             "sinew train --method lbs:weights=given --rest arm/rest.obj --skeleton arm/skeleton.glb \\\n"
             "  -o arm.sinew\n"
             "sinew bench arm.sinew --skeleton arm/skeleton.glb",
  .options = options,
  .least_arguments = 1,
  .most_arguments = 1,
  .run = run,
};
