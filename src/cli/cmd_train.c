// SPDX-License-Identifier: MIT
// sinew train: examples -> MODEL.sinew.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/memory.h"
#include "cli/models.h"

static void say_scores(const cli *c, const char *name, const sn_metrics *m) {
  if (m->frame_count == 0) {
    sn_cli_say(c, "  %-8s no frames\n", name);
    return;
  }
  sn_cli_say(c,
             "  %-8s %d frames: rms %s %% of the diagonal, largest %s %%, enveloping error %s, normals %s degrees\n",
             name, m->frame_count, sn_cli_figure(m->rms_pct_diag, 4).text, sn_cli_figure(m->max_pct_diag, 3).text,
             sn_cli_figure(m->ee, 4).text, sn_cli_figure(m->normal_deg, 2).text);
}

// One line: the error on held-out poses, and what was chosen by it.
static void say_cross_validation(const cli *c, const sn_train_report *report) {
  if (report->cross_validated > 0)
    sn_cli_say(c, "  cross-validated error: ee %s\n", sn_cli_figure(report->cross_validated, 4).text);
  if (report->learned[0]) sn_cli_say(c, "  %s\n", report->learned);
  for (int k = 0; k < report->lack_count; k++) sn_cli_say(c, "  %s\n", report->lacks[k].advice);
  if (report->candidate_count < 2) return;
  sn_cli_say(c, "  chosen by it:");
  for (int k = 0; k < report->candidate_count; k++) {
    const sn_scored *one = &report->candidates[k];
    sn_cli_say(c, "%s %s%s %s", k > 0 ? "," : "", one->is_chosen ? "*" : "", one->name,
               sn_cli_figure(one->cross_validated, 4).text);
  }
  sn_cli_say(c, "\n");
}

static void say_result(cli *c, const char *path, const sn_train_result *r) {
  sn_cli_say(c, "%s: %.0f bytes, trained in %.3f s\n", path, (double)r->model.size, r->report.seconds);
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

// ---- --method auto ------------------------------------------------------------------------------------------------------

static void say_candidate(const cli *c, const sn_choice_table *table, const sn_candidate *candidate) {
  bool refused = candidate->refused[0], chosen = candidate == table->chosen;
  bool behind = table->chosen && candidate->parts < table->chosen->parts;
  const char *word = chosen ? "chosen" : refused ? candidate->refused : behind ? "stopped early: far behind" : "";
  sn_cli_say(c, "%-48s %9s %9s %10.0f %6s %8.3f  %s\n", candidate->spec.text,
             sn_cli_figure(refused ? NAN : candidate->left_out.ee, 4).text,
             sn_cli_figure(refused ? NAN : candidate->left_out.rms_pct_diag, 4).text, candidate->bytes,
             sn_cli_figure(candidate->ratio, 2).text, candidate->seconds, word);
}

// The table that the choice was made from.
static void say_table(const cli *c, const sn_choice_table *table) {
  sn_cli_say(c, "%-48s %9s %9s %10s %6s %8s\n", "method, on held-out poses", "ee", "rms %", "bytes", "x lbs",
             "seconds");
  for (int n = 0; n < table->count; n++) say_candidate(c, table, &table->candidates[n]);
}

static bool is_auto(const char *method) { return strcmp(method, "auto") == 0; }

static int read_limits(const cli *c, sn_limits *out) {
  const char *names[] = {"--max-bytes", "--max-time", "--error"};
  double *values[] = {&out->bytes, &out->time, &out->error};
  for (int n = 0; n < 3; n++) {
    if (!sn_cli_given(c, names[n])) continue;
    if (!sn_cli_double(c, names[n], 1e-9, 1e15, values[n])) return exit_usage;
  }
  out->curve = sn_cli_given(c, "--plot");
  return exit_done;
}

// ---- mirrored and added poses ----------------------------------------------------------------------------------------------

// --mirror x: the training frames once more, mirrored.
static sn_status mirror(cli *c, sn_examples *examples, sn_keys *keys) {
  const char *axis = sn_cli_text(c, "--mirror");
  if (axis && strlen(axis) != 1)
    return sn_fail(&c->ctx, SN_BAD_INPUT, "--mirror %s: choose x, y or z, the axis that the mirror stands across",
                   axis);
  return axis ? sn_examples_mirror_keys(&c->ctx, axis[0], examples, keys) : SN_OK;
}

// Trains, writes and says what came of it. The figures are those of the bytes that are written, by the runtime.
static int finish(cli *c, const char *path, const sn_train_job *job) {
  sn_train_result result;
  sn_status status = sn_job_train(&c->ctx, job, &result);
  if (result.table.count > 0) say_table(c, &result.table);
  if (status == SN_OK && job->limits.curve) status = sn_plot_rates(&c->ctx, sn_cli_text(c, "--plot"), &result.report);
  if (status == SN_OK) status = sn_model_write(&c->ctx, path, &result.model);
  if (status == SN_OK) {
    say_result(c, path, &result);
    c->result = sn_report_training(&result);
  }
  sn_train_result_free(&result);
  return status == SN_OK ? exit_done : sn_cli_fail(c);
}

// The examples of --from: sculpted poses alone; the model's own mesh where there is no --rest.
static sn_status load_poses(cli *c, const sn_rt_model *model, sn_examples *out) {
  if (!sn_cli_given(c, "--pose"))
    return sn_fail(&c->ctx, SN_BAD_INPUT, "--from needs the poses to add: --pose FRAME=MESH");
  if (sn_cli_given(c, "--frames"))
    return sn_fail(&c->ctx, SN_BAD_INPUT, "--from goes without --frames: the model knows what it was trained on");
  sn_status status = sn_cli_load(c, out);
  if (status == SN_OK && out->rest.vertex_count == 0) status = sn_model_mesh(&c->ctx, model, &out->rest);
  if (status == SN_OK && model->info.joint_count > 0) status = sn_cli_retarget(c, model, out);
  return status == SN_OK ? sn_cli_add_sculpts(c, out) : status;
}

// --from MODEL --pose FRAME=MESH: a pose added to a finished model.
static int run_from(cli *c, const char *path) {
  const char *from = sn_cli_text(c, "--from");
  cli_model opened;
  if (sn_cli_given(c, "--method")) return sn_cli_misuse("train: --from goes without --method: the model has one");
  if (!sn_cli_has_folder(c, path)) return sn_cli_fail(c);
  int result = sn_cli_open_model(c, from, &opened);
  if (result != exit_done) return result;
  sn_examples examples = {0};
  sn_keys keys = {0}, none = {0};
  sn_status status = load_poses(c, &opened.model, &examples);
  if (status == SN_OK) status = sn_keys_parse(&c->ctx, "all", examples.frames.frame_count, 0, &keys, NULL);
  if (status == SN_OK) status = mirror(c, &examples, &keys);
  sn_train_job job = {.examples = &examples, .keys = &keys, .others = &none, .from = &opened.model, .measure = true};
  result = status == SN_OK ? finish(c, path, &job) : sn_cli_fail(c);
  sn_cli_close_model(&opened);
  sn_keys_free(&keys);
  sn_examples_free(&examples);
  return result;
}

static int run(cli *c) {
  const char *path = sn_cli_text(c, "-o"), *method = sn_cli_text(c, "--method");
  sn_method_spec spec;
  sn_examples examples = {0};
  sn_keys keys = {0}, others = {0};
  if (!path) return sn_cli_misuse("train: where to? Give -o MODEL.sinew");
  if (!sn_has_extension(path, ".sinew")) return sn_cli_misuse("train: -o %s: a model's name ends in .sinew", path);
  if (sn_cli_given(c, "--from")) return run_from(c, path);
  bool choose = is_auto(method);
  if (choose && c->ctx.team)
    return sn_cli_misuse("train: --method auto measures time, in which processes differ: run it alone");
  sn_limits limits = {0};
  if (read_limits(c, &limits) != exit_done) return exit_usage;
  if (choose && limits.curve) return sn_cli_misuse("train: --plot goes with a method, not with auto");
  if (!choose && sn_method_parse(&c->ctx, method, &spec) != SN_OK) return sn_cli_misuse("%s", c->ctx.error.message);
  if (!sn_cli_has_folder(c, path)) return sn_cli_fail(c);
  bool no_frames =
    !choose && sn_method_needs_no_frames(&spec) && !sn_cli_given(c, "--frames") && !sn_cli_given(c, "--pose");
  sn_status status = no_frames ? sn_cli_load_still(c, &examples) : sn_cli_load_frames(c, &examples);
  if (status == SN_OK && examples.frames.frame_count > 0) status = sn_cli_keys(c, &examples, &keys, &others);
  if (status == SN_OK) status = mirror(c, &examples, &keys);
  if (status == SN_OK && !choose) status = sn_cli_need_to_train(&c->ctx, &spec, &examples, &keys);
  if (status == SN_OK) c->input = sn_report_examples(&examples);
  sn_train_job job = {.examples = &examples,
                      .keys = &keys,
                      .others = &others,
                      .spec = choose ? NULL : &spec,
                      .limits = limits,
                      .measure = true};
  int result = status == SN_OK ? finish(c, path, &job) : sn_cli_fail(c);
  sn_keys_free(&keys);
  sn_keys_free(&others);
  sn_examples_free(&examples);
  return result;
}

static const cli_option options[] = {
  {"--method", "SPEC", "lbs", "NAME or NAME:key=value,...; auto chooses by cross-validation", cli_quality},
  {"-o", "MODEL.sinew", NULL, "model to write", cli_output},
  {"--max-bytes", "N", NULL, "largest size of the model", cli_quality},
  {"--max-time", "X", NULL, "longest evaluation, in times of linear blend skinning", cli_quality},
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
  .usage = "--method SPEC --rest FILE --frames FILE --skeleton FILE -o MODEL.sinew",
  .summary = "learn a model from examples",
  .details = "lbs, dqs and cor with weights=given or weights=skeleton need no frames.",
  .example = "sinew gen arm -o arm\n"
             "sinew train --method psd --rest arm/rest.obj --frames arm/frames.pc2 \\\n"
             "  --skeleton arm/skeleton.glb --keys every:4 -o arm.sinew",
  .options = options,
  .takes_method = true,
  .run = run,
};
