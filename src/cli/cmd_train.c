// SPDX-License-Identifier: MIT
// sinew train: examples -> MODEL.sinew.
#include <math.h>
#include <string.h>

#include "cli/inputs.h"

static void say_scores(const cli *c, const char *name, const sn_metrics *m) {
  if (m->frame_count == 0) {
    sn_cli_say(c, "  %-8s none: --keys every:4 tests on the frames between, --test-frames on another clip\n", name);
    return;
  }
  sn_cli_say(
    c, "  %-8s %d frame%s: rms %s %% of the diagonal, largest %s %%, enveloping error %s, normals %s degrees\n", name,
    m->frame_count, m->frame_count == 1 ? "" : "s", sn_cli_figure(m->rms_pct_diag, 4).text,
    sn_cli_figure(m->max_pct_diag, 3).text, sn_cli_figure(m->ee, 4).text, sn_cli_figure(m->normal_deg, 2).text);
}

// Prints the cross-validated error and what was chosen by it.
static void say_cross_validation(const cli *c, const sn_train_report *report) {
  if (report->cross_validated > 0)
    sn_cli_say(c, "  cross-validated enveloping error %s (0: perfect, 1: rigid parts): an estimate for new motion\n",
               sn_cli_figure(report->cross_validated, 4).text);
  if (report->learned[0]) sn_cli_say(c, "  %s\n", report->learned);
  int lacks = report->lack_count < 3 ? report->lack_count : 3;
  for (int k = 0; k < lacks; k++) sn_cli_say(c, "  %s\n", report->lacks[k].advice);
  if (report->lack_count > lacks) sn_cli_say(c, "  and %d more (--json)\n", report->lack_count - lacks);
  if (report->candidate_count < 2) return;
  sn_cli_say(c, "  candidates, with their cross-validated errors (* chosen):");
  for (int k = 0; k < report->candidate_count; k++) {
    const sn_scored *one = &report->candidates[k];
    sn_cli_say(c, "%s %s%s %s", k > 0 ? "," : "", one->is_chosen ? "*" : "", one->name,
               sn_cli_figure(one->cross_validated, 4).text);
  }
  sn_cli_say(c, "\n");
}

static void say_result(cli *c, const char *path, const sn_train_result *r) {
  sn_cli_say(c, "%s: %s%s%.0f bytes, trained in %.3f s\n", path, r->spec.text, *r->spec.text ? ", " : "",
             (double)r->model.size, r->report.seconds);
  if (r->report.note[0]) sn_cli_say(c, "  note: %s\n", r->report.note);
  if (r->scores.all.frame_count > 0) {
    say_scores(c, "training", &r->scores.train);
    if (r->scores.between.frame_count > 0) say_scores(c, "between", &r->scores.between);
    say_scores(c, "test", &r->scores.test);
  } else {
    sn_cli_say(c, "  no frames: nothing is measured\n");
  }
  say_cross_validation(c, &r->report);
}

static void say_candidate(const cli *c, const sn_choice_table *table, const sn_candidate *candidate) {
  bool refused = candidate->refused[0], chosen = candidate == table->chosen;
  bool behind = table->chosen && candidate->folds < table->chosen->folds;
  const char *word = chosen ? "chosen" : refused ? candidate->refused : behind ? "stopped early: far behind" : "";
  sn_cli_say(c, "%-48s %9s %9s %10.0f %6s %8.3f  %s\n", candidate->spec.text,
             sn_cli_figure(refused ? NAN : candidate->held_out.ee, 4).text,
             sn_cli_figure(refused ? NAN : candidate->held_out.rms_pct_diag, 4).text, candidate->bytes,
             sn_cli_figure(candidate->ratio, 2).text, candidate->seconds, word);
}

static void say_table(const cli *c, const sn_choice_table *table) {
  sn_cli_say(c, "method, on %-37s %9s %9s %10s %6s %8s\n", table->is_fit ? "training poses" : "held-out poses", "ee",
             "rms %", "bytes", "x lbs", "seconds");
  for (int n = 0; n < table->count; n++) say_candidate(c, table, &table->candidates[n]);
}

typedef struct training {
  cli *c;
  sn_train_job job;
} training;

static sn_status ready(void *user, const sn_method_spec *spec) {
  training *t = user;
  const sn_training *data = &t->job.data;
  sn_cli_say_keys(t->c, &data->keys);
  t->c->input = t->job.from ? NULL : sn_report_examples(data->examples);
  return spec ? sn_cli_need_to_train(&t->c->ctx, spec, data->examples, &data->keys) : SN_OK;
}

// Trains, writes and reports. The figures are measured by the runtime on the bytes that are written.
static int train(cli *c, const char *path, sn_inputs *inputs, training *t) {
  SN_FREED_BY(sn_examples_free) sn_examples examples = {0};
  SN_FREED_BY(sn_train_result_free) sn_train_result result = {0};
  t->job.measure = true;
  t->job.data = (sn_training){inputs, &examples, .ready = ready, .user = t};
  sn_status status = sn_inputs_load(&c->ctx, inputs, &examples);
  if (status == SN_OK) status = sn_job_train(&c->ctx, &t->job, &result);
  if (result.table.count > 0) say_table(c, &result.table);
  if (status == SN_OK && inputs->limits.curve)
    status = sn_plot_rates(&c->ctx, sn_cli_text(c, "--plot"), &result.report);
  if (status == SN_OK) status = sn_model_write(&c->ctx, path, &result.model);
  sn_training_free(&t->job.data);
  if (status != SN_OK) return sn_cli_fail(c);
  say_result(c, path, &result);
  c->result = sn_report_training(&result);
  return exit_done;
}

// --from MODEL --pose FRAME=MESH: adds a pose to a trained model.
static int run_from(cli *c, const char *path, sn_inputs *inputs) {
  SN_FREED_BY(sn_opened_close) sn_opened opened = {0};
  if (sn_cli_given(c, "--method")) return sn_cli_misuse("train: --from goes without --method: the model has one");
  if (inputs->poses.count == 0 || (!sn_cli_given(c, "--skeleton") && !sn_cli_given(c, "--values")))
    return sn_cli_misuse("train: --from needs --pose FRAME=MESH, and --skeleton FILE (or --values) with that frame");
  if (sn_open_model(&c->ctx, sn_cli_text(c, "--from"), &opened) != SN_OK) return sn_cli_fail(c);
  return train(c, path, inputs, &(training){.c = c, .job.from = &opened.model});
}

static int run(cli *c) {
  const char *path = sn_cli_text(c, "-o"), *method = sn_cli_text(c, "--method");
  training t = {.c = c};
  sn_method_spec spec;
  sn_inputs inputs;
  bool from = sn_cli_given(c, "--from"), choose = !from && strcmp(method, "auto") == 0;
  if (choose && c->ctx.team)
    return sn_cli_misuse("train: several processes need --method NAME: auto measures times, in which they differ");
  if (choose && sn_cli_given(c, "--plot")) return sn_cli_misuse("train: --plot goes with a method, not with auto");
  if (!from && !choose && sn_method_parse(&c->ctx, method, &spec) != SN_OK) return sn_cli_misuse_method(c, method);
  if (sn_cli_inputs(c, &inputs) != SN_OK) return sn_cli_fail(c);
  if (from) return run_from(c, path, &inputs);
  inputs.limits.curve = sn_cli_given(c, "--plot");
  if (!choose) t.job.spec = &spec;
  inputs.load.still_skeleton =
    !choose && sn_method_needs_no_frames(&spec) && inputs.frames.count == 0 && inputs.poses.count == 0;
  return train(c, path, &inputs, &t);
}

static const cli_option options[] = {
  {"--method", "SPEC", "auto", "NAME or NAME:key=value,...; auto: by cross-validation", cli_quality},
  {"-o", "MODEL.sinew", NULL, "model to write", cli_output | cli_needed},
  {"--max-bytes", "N", NULL, "largest size of the model", cli_quality},
  {"--max-time", "X", NULL, "longest evaluation, as a multiple of linear blend skinning", cli_quality},
  {"--error", "PCT", NULL, "smallest model with at most this rms error on held-out poses, % of the diagonal",
   cli_quality},
  {"--plot", "FILE.svg", NULL, "chart of size and cross-validated error of smaller and larger models", cli_output},
  CLI_OPTIONS_TRAINING,
  {"--from", "MODEL.sinew", NULL, "finished model to add the poses of --pose to, without its training frames",
   cli_input},
  {"--mirror", "AXIS", NULL,
   "x, y or z: also train on the mirror image of every frame; joints pair by .L and .R, or left and right",
   cli_advanced | cli_input},
  CLI_OPTION_MATCH,
  {0},
};

const cli_command sn_cli_train = {
  .name = "train",
  .usage = "[--method SPEC] --rest FILE --frames FILE --skeleton FILE -o MODEL.sinew",
  .summary = "learn a model from examples",
  .details = "lbs, dqs and cor with weights=given or weights=skeleton need no frames.",
  .example = "sinew gen arm -o arm\n"
             "sinew train --method psd --rest arm/rest.obj --frames arm/frames.pc2 \\\n"
             "  --skeleton arm/skeleton.glb --keys every:4 -o arm.sinew",
  .options = options,
  .takes_method = true,
  .run = run,
};
