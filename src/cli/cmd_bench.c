// SPDX-License-Identifier: MIT
// sinew bench: times one evaluation against plain lbs and a copy of the same bytes, in the same run.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/inputs.h"
#include "sinew/cuda.h"

static void say_row(const cli *c, const char *name, const sn_timing *t, double vertices, double lbs) {
  sn_cli_say(c, "  %-28s %9.2f us (%.2f to %.2f)", name, t->median, t->low, t->high);
  if (vertices > 0) sn_cli_say(c, "  %7.1f million vertices/s", vertices / t->median);
  sn_cli_say(c, "  %5.2f x lbs\n", t->median / lbs);
}

static sn_status bench(cli *c, const sn_rt_model *model, const sn_examples *examples, double seconds) {
  sn_bench_result r;
  SN_TRY(sn_job_bench(&c->ctx, model, examples, seconds, &r));
  double n = model->info.vertex_count, lbs = r.lbs.median;
  sn_cli_say(c,
             "%s: %u vertices, %u palette matrices, %s blend, %.3f million operations, %.1f KB touched, %.1f KB of "
             "scratch memory per character (%s)\n",
             c->arguments[0], model->info.vertex_count, model->info.palette_count,
             sn_rt_blend_name(model->info.blend), 1e-6 * (double)model->info.flops, 1e-3 * (double)r.bytes,
             1e-3 * (double)sn_rt_scratch_size(model), sn_rt_path_name(sn_rt_get_path(model)));
  say_row(c, "positions and normals", &r.full, n, lbs);
  say_row(c, "positions", &r.positions, n, lbs);
  say_row(c, "plain lbs, both", &r.lbs, n, lbs);
  say_row(c, "a copy of the bytes touched", &r.copy, 0, lbs);
  c->result = sn_report_bench(model, &r);
  return SN_OK;
}

// ---- crowds on the GPU ---------------------------------------------------------------------------------------------------

typedef sn_cuda_status (*cuda_time_fn)(const sn_rt_model *model, uint32_t characters, double seconds,
                                       sn_cuda_timing *out, sn_cuda_error *error);

// Loads libsinew-cuda, for crowds only: from the tool's folder, the lib folder next to it, or the system's path.
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
                   "--cuda: libsinew-cuda.so is not there; `make cuda` builds it where nvcc is installed");
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
  SN_FREED_BY(sn_opened_close) sn_opened opened = {0};
  if (!sn_cli_double(c, "--seconds", 0.01, 600, &seconds)) return exit_usage;
  if (!sn_cli_int(c, "--characters", 1, 10000000, &characters)) return exit_usage;
  bool cuda = sn_cli_given(c, "--cuda");
  if (!cuda && sn_cli_given(c, "--characters")) return sn_cli_misuse("bench: --characters goes with --cuda");
  if (sn_open_model(&c->ctx, c->arguments[0], &opened) != SN_OK) return sn_cli_fail(c);
  SN_FREED_BY(sn_examples_free) sn_examples examples = {0};
  sn_inputs inputs;
  sn_status status = sn_cli_inputs(c, &inputs);
  if (status == SN_OK && inputs.skeletons.count > 0) status = sn_inputs_load(&c->ctx, &inputs, &examples);
  if (status == SN_OK)
    status = cuda ? bench_cuda(c, &opened.model, characters, seconds) : bench(c, &opened.model, &examples, seconds);
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
  .example = CLI_EXAMPLE_MODEL "sinew bench arm.sinew --skeleton arm/skeleton.glb",
  .options = options,
  .takes = {1, 1},
  .run = run,
};
