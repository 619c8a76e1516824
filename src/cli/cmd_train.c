// SPDX-License-Identifier: MIT
// sinew train: examples -> MODEL.sinew.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/inputs.h"

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
    if (report->expected > 0) {
      sn_cli_say(c, "  expected on new motion, by poses left out: ee %s\n", sn_cli_figure(report->expected, 4).text);
    }
    c->result = sn_report_train(&scores, &model, report);
  }
  sn_file_close(&file);
  return status == SN_OK ? exit_done : sn_cli_fail(c);
}

static int run(cli *c) {
  const char *path = sn_cli_text(c, "-o"), *method = sn_cli_text(c, "--method");
  sn_method_spec spec;
  sn_examples examples = {0};
  sn_keys keys = {0}, others = {0};
  sn_model model = {0};
  sn_train_report report;
  if (!path) return sn_cli_misuse("train: where to? Give -o MODEL.sinew");
  if (!sn_cli_has_extension(path, ".sinew"))
    return sn_cli_misuse("train: -o %s: a model's name ends in .sinew", path);
  if (sn_method_parse(&c->ctx, method, &spec) != SN_OK) return sn_cli_misuse("%s", c->ctx.error.message);
  if (!sn_cli_has_folder(c, path)) return sn_cli_fail(c);
  bool no_frames = sn_method_needs_no_frames(&spec) && !sn_cli_given(c, "--frames") && !sn_cli_given(c, "--pose");
  sn_status status = no_frames ? sn_cli_load_still(c, &examples) : sn_cli_load_frames(c, &examples);
  if (status == SN_OK && examples.frames.frame_count > 0) status = sn_cli_keys(c, &examples, &keys, &others);
  if (status == SN_OK) status = sn_train(&c->ctx, &spec, &examples, &keys, &model, &report);
  if (status == SN_OK) status = sn_model_write(&c->ctx, path, &model);
  if (status == SN_OK) c->input = sn_report_examples(&examples);
  int result = status == SN_OK ? assess_file(c, path, &examples, &keys, &others, &report) : sn_cli_fail(c);
  if (result == exit_done) {
    json_object_set_new(c->result, "options", sn_report_options(spec.method->options, &spec.options));
  }
  sn_model_free(&model);
  sn_keys_free(&keys);
  sn_keys_free(&others);
  sn_examples_free(&examples);
  return result;
}

static const cli_option options[] = {
  {"--method", "SPEC", "lbs", "NAME or NAME:key=value,key=value; see below", false},
  {"-o", "MODEL.sinew", NULL, "the model to write", false},
  CLI_OPTION_REST,
  CLI_OPTION_FRAMES,
  CLI_OPTION_SKELETON,
  CLI_OPTION_TEST_FRAMES,
  CLI_OPTION_TEST_SKELETON,
  CLI_OPTION_CLIP,
  CLI_OPTION_FPS,
  CLI_OPTION_OBJECT,
  CLI_OPTION_TORQUE,
  CLI_OPTION_CONTROLS,
  CLI_OPTION_KEYS,
  CLI_OPTION_POSE,
  CLI_OPTION_MATCH,
  {0},
};

const cli_command sn_cli_train = {
  .name = "train",
  .usage = "--method SPEC --rest FILE --frames FILE --skeleton FILE -o MODEL.sinew",
  .summary = "learn a model from examples",
  .details = "Errors are those of the model as written, evaluated by the runtime. lbs and dqs with weights=given or\n"
             "weights=skeleton need no frames: --rest and --skeleton are enough.",
  .example =
    "sinew train --method lbs --rest arm/rest.obj --frames arm/frames.pc2 --skeleton arm/skeleton.glb --keys every:4 "
    "-o "
    "arm.sinew",
  .options = options,
  .takes_method = true,
  .run = run,
};
