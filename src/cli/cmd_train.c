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
  if (report->candidate_count < 2) return;
  sn_cli_say(c, "  chosen by it:");
  for (int k = 0; k < report->candidate_count; k++) {
    const sn_scored *one = &report->candidates[k];
    sn_cli_say(c, "%s %s%s %s", k > 0 ? "," : "", one->is_chosen ? "*" : "", one->name,
               sn_cli_figure(one->cross_validated, 4).text);
  }
  sn_cli_say(c, "\n");
}

// The figures are those of the file as written: it is read back.
static int assess_file(cli *c, const char *path, const sn_examples *examples, const sn_keys *keys,
                       const sn_keys *others, const sn_train_report *report) {
  sn_file file;
  sn_rt_model model;
  sn_scores scores;
  sn_status status = sn_file_open(&c->ctx, path, &file);
  if (status != SN_OK) return sn_cli_fail(c);
  status = sn_model_open(&c->ctx, path, file.bytes, file.size, &model);
  if (status == SN_OK && examples->frames.frame_count == 0) {
    scores = (sn_scores){0};
  } else if (status == SN_OK)
    status = sn_assess(&c->ctx, &model, examples, keys, others, &scores, NULL);
  if (status == SN_OK && scores.all.frame_count > 0 && !isfinite(scores.all.rms)) {
    status = sn_fail(&c->ctx, SN_BAD_INPUT, "%s: what the model gives is not finite on its own frames", path);
  }
  if (status == SN_OK) {
    sn_cli_say(c, "%s: %.0f bytes, trained in %.3f s\n", path, (double)file.size, report->seconds);
    if (report->note[0]) sn_cli_say(c, "  note: %s\n", report->note);
    if (examples->frames.frame_count > 0) {
      say_scores(c, "training", &scores.train);
      if (scores.between.frame_count > 0) say_scores(c, "between", &scores.between);
      say_scores(c, "test", &scores.test);
    } else {
      sn_cli_say(c, "  no frames: nothing is measured\n");
    }
    say_cross_validation(c, report);
    c->result = sn_report_train(&scores, &model, report);
  }
  sn_file_close(&file);
  return status == SN_OK ? exit_done : sn_cli_fail(c);
}

// ---- --method auto ------------------------------------------------------------------------------------------------------

static void say_candidate(const cli *c, const sn_choice_table *table, const sn_candidate *candidate) {
  bool refused = candidate->refused[0], chosen = candidate == table->chosen;
  bool behind = table->chosen && candidate->parts < table->chosen->parts;
  const char *word = chosen ? "chosen" : refused ? candidate->refused : behind ? "on a part only: far behind" : "";
  sn_cli_say(c, "%-48s %9s %9s %10.0f %6s %8.3f  %s\n", candidate->spec.text,
             sn_cli_figure(refused ? NAN : candidate->left_out.ee, 4).text,
             sn_cli_figure(refused ? NAN : candidate->left_out.rms_pct_diag, 4).text, candidate->bytes,
             sn_cli_figure(candidate->ratio, 2).text, candidate->seconds, word);
}

static json_t *describe_candidate(const sn_choice_table *table, const sn_candidate *candidate) {
  json_t *out = json_object();
  bool refused = candidate->refused[0];
  json_object_set_new(out, "spec", sn_report_text(candidate->spec.text));
  json_object_set_new(out, "left_out", refused ? json_null() : sn_report_metrics(&candidate->left_out));
  json_object_set_new(out, "parts", json_integer(refused ? 0 : candidate->parts));
  json_object_set_new(out, "bytes", json_integer((json_int_t)candidate->bytes));
  json_object_set_new(out, "ratio_lbs", sn_report_number(candidate->ratio));
  json_object_set_new(out, "seconds", json_real(candidate->seconds));
  json_object_set_new(out, "chosen", json_boolean(candidate == table->chosen));
  if (refused) json_object_set_new(out, "refused", sn_report_text(candidate->refused));
  return out;
}

// The table that the choice was made from.
static json_t *say_table(const cli *c, const sn_choice_table *table) {
  json_t *out = json_array();
  sn_cli_say(c, "%-48s %9s %9s %10s %6s %8s\n", "method, on poses left out", "ee", "rms %", "bytes", "x lbs",
             "seconds");
  for (int n = 0; n < table->count; n++) {
    say_candidate(c, table, &table->candidates[n]);
    json_array_append_new(out, describe_candidate(table, &table->candidates[n]));
  }
  return out;
}

// Chooses a method, says from what, and trains it.
static sn_status train_auto(cli *c, const sn_limits *limits, const sn_examples *examples, const sn_keys *keys,
                            sn_method_spec *spec, sn_model *model, sn_train_report *report, json_t **candidates) {
  sn_arena memory = sn_arena_new(&c->ctx);
  sn_choice_table table;
  sn_status status = sn_train_chosen(&c->ctx, examples, keys, limits, &memory, &table, model, report);
  if (table.count > 0) *candidates = say_table(c, &table);
  if (table.chosen) *spec = table.chosen->spec;
  sn_arena_free(&memory);
  return status;
}

static bool is_auto(const char *method) { return strcmp(method, "auto") == 0; }

// Limits are for auto alone.
static int read_limits(const cli *c, const char *method, sn_limits *out) {
  const char *names[] = {"--max-bytes", "--max-time", "--error"};
  double *values[] = {&out->bytes, &out->time, &out->error};
  for (int n = 0; n < 3; n++) {
    if (!sn_cli_given(c, names[n])) continue;
    if (!is_auto(method)) return sn_cli_misuse("%s goes with --method auto", names[n]);
    if (!sn_cli_double(c, names[n], 1e-9, 1e15, values[n])) return exit_usage;
  }
  return exit_done;
}

// ---- mirrored and added poses ----------------------------------------------------------------------------------------------

// The keys and their mirror images: frame f's is `count` frames behind it.
static sn_status mirror_keys(cli *c, int count, sn_keys *keys) {
  int *frames = SN_NEW(&c->ctx, &keys->memory, int, 2 * keys->count);
  if (!frames) return c->ctx.error.status;
  for (int k = 0; k < keys->count; k++)
    frames[k] = keys->frames[k], frames[keys->count + k] = count + keys->frames[k];
  keys->frames = frames, keys->count *= 2;
  return SN_OK;
}

// --mirror x: the training frames once more, mirrored.
static sn_status mirror(cli *c, sn_examples *examples, sn_keys *keys) {
  const char *axis = sn_cli_text(c, "--mirror");
  if (!axis) return SN_OK;
  if (strlen(axis) != 1 || axis[0] < 'x' || axis[0] > 'z')
    return sn_fail(&c->ctx, SN_BAD_INPUT, "--mirror %s: choose x, y or z, the axis that the mirror stands across",
                   axis);
  int count = examples->frames.frame_count;
  if (count == 0) return sn_fail(&c->ctx, SN_BAD_INPUT, "--mirror: there are no frames to mirror");
  sn_status status = sn_examples_mirror(&c->ctx, axis[0] - 'x', examples);
  return status == SN_OK ? mirror_keys(c, count, keys) : status;
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
  sn_model model = {0};
  sn_train_report report = {0};
  sn_status status = load_poses(c, &opened.model, &examples);
  if (status == SN_OK) status = sn_keys_parse(&c->ctx, "all", examples.frames.frame_count, 0, &keys, NULL);
  if (status == SN_OK) status = mirror(c, &examples, &keys);
  double start = sn_seconds();
  if (status == SN_OK) status = sn_correct_add(&c->ctx, &opened.model, &examples, &keys, &model);
  report.seconds = sn_seconds() - start;
  if (status == SN_OK) status = sn_model_write(&c->ctx, path, &model);
  sn_cli_close_model(&opened);
  result = status == SN_OK ? assess_file(c, path, &examples, &keys, &none, &report) : sn_cli_fail(c);
  sn_model_free(&model);
  sn_keys_free(&keys);
  sn_examples_free(&examples);
  return result;
}

static int run(cli *c) {
  const char *path = sn_cli_text(c, "-o"), *method = sn_cli_text(c, "--method");
  sn_method_spec spec;
  sn_examples examples = {0};
  sn_keys keys = {0}, others = {0};
  sn_model model = {0};
  sn_train_report report;
  if (!path) return sn_cli_misuse("train: where to? Give -o MODEL.sinew");
  if (!sn_has_extension(path, ".sinew")) return sn_cli_misuse("train: -o %s: a model's name ends in .sinew", path);
  if (sn_cli_given(c, "--from")) return run_from(c, path);
  bool choose = is_auto(method);
  if (choose && c->ctx.team)
    return sn_cli_misuse("train: --method auto measures time, in which processes differ: run it alone");
  sn_limits limits = {0};
  json_t *candidates = NULL;
  if (read_limits(c, method, &limits) != exit_done) return exit_usage;
  if (!choose && sn_method_parse(&c->ctx, method, &spec) != SN_OK) return sn_cli_misuse("%s", c->ctx.error.message);
  if (!sn_cli_has_folder(c, path)) return sn_cli_fail(c);
  bool no_frames =
    !choose && sn_method_needs_no_frames(&spec) && !sn_cli_given(c, "--frames") && !sn_cli_given(c, "--pose");
  sn_status status = no_frames ? sn_cli_load_still(c, &examples) : sn_cli_load_frames(c, &examples);
  if (status == SN_OK && examples.frames.frame_count > 0) status = sn_cli_keys(c, &examples, &keys, &others);
  if (status == SN_OK) status = mirror(c, &examples, &keys);
  if (status == SN_OK && !choose) status = sn_cli_need_to_train(&c->ctx, &spec, &examples, &keys);
  if (status == SN_OK) {
    status = choose ? train_auto(c, &limits, &examples, &keys, &spec, &model, &report, &candidates)
                    : sn_train(&c->ctx, &spec, &examples, &keys, &model, &report);
  }
  if (status == SN_OK) status = sn_model_write(&c->ctx, path, &model);
  if (status == SN_OK) c->input = sn_report_examples(&examples);
  int result = status == SN_OK ? assess_file(c, path, &examples, &keys, &others, &report) : sn_cli_fail(c);
  if (result == exit_done) {
    json_object_set_new(c->result, "options", sn_report_options(spec.method->options, &spec.options));
    if (choose) json_object_set_new(c->result, "method", sn_report_text(spec.text));
    if (choose) json_object_set(c->result, "candidates", candidates);
  }
  json_decref(candidates);
  sn_model_free(&model);
  sn_keys_free(&keys);
  sn_keys_free(&others);
  sn_examples_free(&examples);
  return result;
}

static const cli_option options[] = {
  {"--method", "SPEC", "lbs", "NAME or NAME:key=value,key=value; see below. auto: the best on poses left out", false},
  {"-o", "MODEL.sinew", NULL, "the model to write", false},
  {"--max-bytes", "N", NULL, "--method auto: size of the model at most", false},
  {"--max-time", "X", NULL, "--method auto: evaluation at most so many times that of linear blend skinning", false},
  {"--error", "PCT", NULL,
   "--method auto: the smallest model whose rms error on poses left out is at most this, in % of the diagonal",
   false},
  CLI_OPTIONS_TRAINING,
  {"--from", "MODEL.sinew", NULL,
   "a finished model that the poses of --pose are added to, without its training frames", false},
  {"--mirror", "AXIS", NULL,
   "x, y or z: every training frame also as its mirror image across that axis (joints by .L and .R or left and "
   "right)",
   false},
  CLI_OPTION_MATCH,
  {0},
};

const cli_command sn_cli_train = {
  .name = "train",
  .usage = "--method SPEC --rest FILE --frames FILE --skeleton FILE -o MODEL.sinew | --from MODEL.sinew --pose "
           "FRAME=MESH ...",
  .summary = "learn a model from examples",
  .details =
    "Errors are those of the model as written, evaluated by the runtime. lbs, dqs and cor with weights=given or\n"
    "weights=skeleton need no frames: --rest and --skeleton are enough.",
  .example =
    "sinew train --method lbs --rest arm/rest.obj --frames arm/frames.pc2 --skeleton arm/skeleton.glb --keys every:4 "
    "-o "
    "arm.sinew",
  .options = options,
  .takes_method = true,
  .run = run,
};
