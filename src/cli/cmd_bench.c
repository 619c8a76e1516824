// SPDX-License-Identifier: MIT
// sinew bench: the time of one evaluation, against plain lbs and a copy of the same bytes, in the same run.
#include "cli/models.h"

typedef struct bench_row {
  const char *name;
  sn_timing timing;
} bench_row;

static json_t *describe(const sn_timing *t) {
  return json_pack("{sfsfsfsi}", "median", t->median, "low", t->low, "high", t->high, "repeats", t->repeats);
}

static void say_row(const cli *c, const char *name, const sn_timing *t, double vertices, double lbs) {
  cli_say(c, "  %-28s %9.2f us (%.2f to %.2f)", name, t->median, t->low, t->high);
  if (vertices > 0) cli_say(c, "  %7.1f million vertices/s", vertices / t->median);
  cli_say(c, "  %5.2f x lbs\n", t->median / lbs);
}

static sn_status measure(cli *c, const sn_rt_model *model, const sn_examples *examples, double seconds) {
  sn_model plain = {0};
  sn_rt_model lbs;
  sn_timing full, positions, plain_full, copied;
  size_t bytes = (size_t)model->info.bytes_read + 24 * (size_t)model->info.vertex_count;
  sn_status status = sn_assess_plain_lbs(&c->ctx, model, &plain);
  if (status == SN_OK) status = sn_model_open(&c->ctx, "plain lbs", plain.bytes, plain.size, &lbs);
  if (status == SN_OK) status = sn_assess_time(&c->ctx, model, examples, true, seconds, &full);
  if (status == SN_OK) status = sn_assess_time(&c->ctx, &lbs, NULL, true, seconds, &plain_full);
  if (status == SN_OK) status = sn_assess_time(&c->ctx, model, examples, false, seconds, &positions);
  if (status == SN_OK) status = sn_assess_copy_time(&c->ctx, bytes / 2, seconds, &copied);
  if (status == SN_OK) {
    double n = model->info.vertex_count;
    cli_say(c, "%s: %u vertices, %u palette matrices, %s blend, %.3f million operations, %.1f KB touched (%s)\n",
            c->arguments[0], model->info.vertex_count, model->info.palette_count, sn_rt_blend_name(model->info.blend),
            1e-6 * (double)model->info.flops, 1e-3 * (double)bytes, sn_rt_path_name(model->path));
    say_row(c, "positions and normals", &full, n, plain_full.median);
    say_row(c, "positions", &positions, n, plain_full.median);
    say_row(c, "plain lbs, both", &plain_full, n, plain_full.median);
    say_row(c, "a copy of the bytes touched", &copied, 0, plain_full.median);
    c->result = json_object();
    json_object_set_new(c->result, "us_per_frame", json_real(full.median));
    json_object_set_new(c->result, "full", describe(&full));
    json_object_set_new(c->result, "positions", describe(&positions));
    json_object_set_new(c->result, "lbs", describe(&plain_full));
    json_object_set_new(c->result, "copy", describe(&copied));
    json_object_set_new(c->result, "ratio_lbs", json_real(full.median / plain_full.median));
    json_object_set_new(c->result, "ratio_copy", json_real(full.median / copied.median));
    json_object_set_new(c->result, "vertices_per_second", json_real(1e6 * n / full.median));
    json_object_set_new(c->result, "bytes_touched", json_integer((json_int_t)bytes));
    json_object_set_new(c->result, "flops", json_integer((json_int_t)model->info.flops));
  }
  sn_model_free(&plain);
  return status;
}

static int run(cli *c) {
  double seconds;
  cli_model opened;
  if (!cli_double(c, "--seconds", 0.01, 600, &seconds)) return exit_usage;
  int result = cli_open_model(c, c->arguments[0], &opened);
  if (result != exit_done) return result;
  sn_examples examples = {0};
  sn_status status = cli_given(c, "--skeleton") ? cli_load(c, &examples) : SN_OK;
  if (status == SN_OK) status = measure(c, &opened.model, &examples, seconds);
  sn_examples_free(&examples);
  cli_close_model(&opened);
  return status == SN_OK ? exit_done : cli_fail(c);
}

static const cli_option options[] = {
  {"--seconds", "S", "0.5", "how long to measure each row", false},
  CLI_OPTION_SKELETON,
  CLI_OPTION_CLIP,
  CLI_OPTION_FPS,
  {0},
};

const cli_command cli_bench = {
  .name = "bench",
  .usage = "MODEL.sinew [--skeleton FILE]",
  .summary = "time of one evaluation, against plain lbs in the same run",
  .details =
    "One thread, medians and the 10th to 90th percentile. With --skeleton its poses are gone through; without, the "
    "rest "
    "pose.",
  .example = "sinew bench arm.sinew --skeleton arm/skeleton.glb",
  .options = options,
  .least_arguments = 1,
  .most_arguments = 1,
  .run = run,
};
