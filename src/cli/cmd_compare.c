// SPDX-License-Identifier: MIT
// sinew compare: measures several methods on the same examples, in one table.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/cli/degrees.h"
#include "cli/inputs.h"

enum { most_methods = 64 };

typedef struct compare_row {
  int degrees;            // 1 + the combination of --degrees all; 0: none
  double *vertex_rms;     // per vertex, for its statistics; the mean square for `published`
  json_t *clamped;        // by joint: frames with torques outside the training range
  sn_correct_trace trace; // for --plot-of correction
} compare_row;

typedef struct comparison {
  cli *c;
  sn_examples examples;
  sn_compare_job job;
  int count;
  sn_compare_row rows[most_methods];
  compare_row more[most_methods];
  json_t *list;
} comparison;

// The error on test clips is headed "new motion".
static void say_header(const cli *c, bool between, bool clips, bool tested) {
  sn_cli_say(c, "%-28s %9s %s%10s %10s %10s %9s %10s %9s %8s %6s %8s\n", "method", "train ee",
             between ? "  between " : "", clips ? "new motion" : "test ee", tested ? "test rms %" : "rms %", "max %",
             "std %", "normal °", "bytes", "us", "x lbs", "seconds");
}

// Figures of the test frames, or of the training frames if there are no test frames.
static const sn_metrics *row_metrics(const sn_compare_row *row) {
  return row->scores.test.frame_count > 0 ? &row->scores.test : &row->scores.train;
}

static void say_row(const cli *c, const sn_compare_row *row) {
  const sn_metrics *m = row_metrics(row);
  sn_cli_say(c, "%-28s %9s ", row->spec.text, sn_cli_figure(row->scores.train.ee, 4).text);
  if (row->scores.between.frame_count > 0) sn_cli_say(c, "%9s ", sn_cli_figure(row->scores.between.ee, 4).text);
  sn_cli_say(c, "%10s %10s %10s %9s %9s %9s %8s %6s %8.3f\n", sn_cli_figure(row->scores.test.ee, 4).text,
             sn_cli_figure(m->rms_pct_diag, 4).text, sn_cli_figure(m->max_pct_diag, 3).text,
             sn_cli_figure(m->std_pct_diag, 4).text, sn_cli_figure(m->normal_deg, 2).text,
             sn_cli_figure(row->bytes, 0).text, sn_cli_figure(row->us, 1).text, sn_cli_figure(row->ratio, 2).text,
             row->seconds);
}

static bool plot_corrections(const cli *c) {
  return sn_cli_given(c, "--plot") && strcmp(sn_cli_text(c, "--plot-of"), "correction") == 0;
}

// Per-vertex errors for the statistics of --degrees: of the test frames, or of the training frames if there are none.
static sn_status measure_vertices(comparison *job, const sn_rt_model *model, const sn_compare_row *row,
                                  compare_row *more) {
  cli *c = job->c;
  const sn_training *data = &job->job.data;
  int n = job->examples.rest.vertex_count;
  double diagonal = sn_mesh_diagonal(&job->examples.rest);
  sn_figures figures;
  const sn_keys *keys = data->others.count > 0 ? &data->others : &data->keys;
  sn_status status =
    sn_assess_figures(&c->ctx, model, &(sn_measured){&job->examples, &job->examples, keys}, &c->memory, &figures);
  more->vertex_rms = figures.vertex_rms;
  bool squared = sn_cli_is_published(&row->spec);
  for (int i = 0; status == SN_OK && i < n; i++)
    more->vertex_rms[i] *= squared ? more->vertex_rms[i] : 100 / diagonal;
  return status;
}

static sn_status with_model(void *user, sn_compare_row *row, const sn_rt_model *model) {
  comparison *job = user;
  cli *c = job->c;
  compare_row *more = &job->more[row - job->rows];
  sn_status status = more->degrees ? measure_vertices(job, model, row, more) : SN_OK;
  if (status == SN_OK && model->info.torque_count + model->info.value_count > 0)
    more->clamped = sn_report_clamped(job->job.data.inputs, row->spec.text, model, &job->examples);
  if (status == SN_OK && plot_corrections(c))
    status = sn_correct_trace_make(&c->ctx, model, &job->examples, &more->trace);
  return status;
}

static sn_status finished(void *user, sn_compare_row *row) {
  comparison *job = user;
  const compare_row *more = &job->more[row - job->rows];
  say_row(job->c, row);
  fflush(stdout);
  json_t *report = sn_report_compare(row);
  if (more->clamped) json_object_set(report, "clamped", more->clamped);
  json_array_append_new(job->list, report);
  return SN_OK;
}

// Figures 5.4 to 5.6 of the thesis: displacement of the worst vertex over the angle, true and interpolated, per method.
static sn_status plot_traces(const comparison *job, const char *path) {
  sn_plot_line lines[2 * most_methods];
  char names[2 * most_methods][300];
  for (int n = 0; n < 2 * job->count; n++) {
    const sn_correct_trace *trace = &job->more[n / 2].trace;
    snprintf(names[n], sizeof *names, "%s: vertex %d, %c, %s", job->rows[n / 2].spec.text, trace->vertex,
             "xyz"[trace->axis], n % 2 ? "interpolated" : "true");
    lines[n] = (sn_plot_line){names[n], trace->frame_count, trace->angle, n % 2 ? trace->given : trace->truth};
  }
  return sn_plot_write(&job->c->ctx, path,
                       &(sn_plot){"Displacement of the worst vertex in the rest pose", "angle, radians",
                                  "displacement, file units", lines, 2 * job->count});
}

// Plots the error of every frame, one line per method.
static sn_status plot(const comparison *job, const char *path) {
  const sn_examples *examples = &job->examples;
  sn_plot_line lines[most_methods];
  int frames = examples->frames.frame_count;
  double diagonal = sn_mesh_diagonal(&examples->rest);
  double *x = SN_NEW(&job->c->ctx, &job->c->memory, double, frames);
  if (!x) return job->c->ctx.error.status;
  for (int f = 0; f < frames; f++) x[f] = f;
  for (int m = 0; m < job->count; m++) {
    const sn_compare_row *row = &job->rows[m];
    for (int f = 0; f < frames; f++) row->frame_rms[f] *= 100 / diagonal;
    lines[m] = (sn_plot_line){row->spec.text, frames, x, row->frame_rms};
  }
  return sn_plot_write(
    &job->c->ctx, path,
    &(sn_plot){"Error over the frames", "frame", "rms error, % of the diagonal", lines, job->count});
}

// Plots the test error over the size of the model, one line per method: the trade-off of options such as rotreg's `bones`.
static sn_status plot_bytes(const comparison *job, const char *path) {
  const sn_compare_row *rows = job->rows;
  sn_plot_line lines[most_methods];
  double x[most_methods], y[most_methods];
  int count = job->count, line_count = 0, at = 0;
  for (int m = 0; m < count; m++) {
    bool seen = false;
    for (int k = 0; k < m; k++) seen = seen || rows[k].spec.method == rows[m].spec.method;
    if (seen) continue;
    sn_plot_line *line = &lines[line_count++];
    *line = (sn_plot_line){rows[m].spec.method->name, 0, x + at, y + at};
    for (int k = m; k < count; k++) {
      if (rows[k].spec.method != rows[m].spec.method || isnan(rows[k].bytes)) continue;
      int place = line->count++;
      double error = row_metrics(&rows[k])->rms_pct_diag;
      for (; place > 0 && x[at - 1] > rows[k].bytes; place--, at--) x[at] = x[at - 1], y[at] = y[at - 1];
      x[at] = rows[k].bytes, y[at] = error;
      at += line->count - place;
    }
  }
  return sn_plot_write(
    &job->c->ctx, path,
    &(sn_plot){"Error against size", "bytes of the model", "rms error, % of the diagonal", lines, line_count});
}

static sn_status plot_chosen(const comparison *job, const char *path) {
  if (plot_corrections(job->c)) return plot_traces(job, path);
  return (strcmp(sn_cli_text(job->c, "--plot-of"), "bytes") == 0 ? plot_bytes : plot)(job, path);
}

static sn_status ready(void *user, const sn_method_spec *spec) {
  comparison *job = user;
  return sn_cli_need_to_train(&job->c->ctx, spec, &job->examples, &job->job.data.keys);
}

static void begin(void *user) {
  comparison *job = user;
  cli *c = job->c;
  const sn_training *data = &job->job.data;
  const sn_examples *examples = data->examples;
  bool loocv = job->job.loocv, clips = examples->test_frame_count > 0;
  sn_cli_say_keys(c, &data->keys);
  c->input = sn_report_examples(examples);
  sn_cli_say(c, "%d vertices, %d joints, %d frames: %d for training, %d for testing%s%s\n",
             examples->rest.vertex_count, examples->skeleton.joint_count, examples->frames.frame_count,
             data->keys.count, loocv && !clips ? data->keys.count : data->others.count,
             loocv ? " (leave one out)" : "", clips ? "; test errors are those of the test clips" : "");
  // "between": frames that are neither trained on nor in a test clip.
  say_header(c, clips && (loocv || data->others.count > examples->test_frame_count), clips,
             loocv || data->others.count > 0);
}

static sn_status compare_all(comparison *job, sn_inputs *inputs) {
  cli *c = job->c;
  SN_TRY(sn_inputs_load(&c->ctx, inputs, &job->examples));
  job->list = json_array();
  job->job = (sn_compare_job){.data = {inputs, &job->examples, .ready = ready, .user = job},
                              .loocv = sn_cli_given(c, "--loocv"),
                              .begin = begin,
                              .with_model = with_model,
                              .finished = finished};
  c->result = json_pack("{so}", "methods", job->list);
  return sn_job_compare(&c->ctx, &job->job, job->rows, job->count);
}

// ---- --degrees all -------------------------------------------------------------------------------------------------

// Analysis of variance of the nine rows, in the order of their combinations.
static sn_status say_degrees(const comparison *job) {
  cli *c = job->c;
  double *values[cli_degree_pairs] = {0};
  json_t *anova = NULL;
  bool published = false;
  for (int m = 0; m < job->count; m++) {
    if (!job->more[m].degrees) continue;
    values[job->more[m].degrees - 1] = job->more[m].vertex_rms;
    published = sn_cli_is_published(&job->rows[m].spec);
  }
  const char *response = published ? "squared distance of every vertex, mean over the frames, in squared file units"
                                   : "rms error of every vertex, % of the diagonal";
  sn_status status = sn_cli_say_degrees(c, values, job->examples.rest.vertex_count, response, &anova);
  if (anova) json_object_set_new(c->result, "anova", anova);
  return status;
}

// Parses every --method; a torque method expands to its nine combinations.
static int parse_methods(comparison *job) {
  cli *c = job->c;
  const char *specs[most_methods];
  int given = sn_cli_texts(c, "--method", specs, most_methods), count = 0, torques = 0;
  bool all = sn_cli_given(c, "--degrees");
  if (given == 0) given = 3, specs[0] = "rigid", specs[1] = "lbs", specs[2] = "dqs";
  if (given > most_methods) given = most_methods;
  for (int m = 0; m < given; m++) {
    sn_method_spec spec;
    sn_status status = sn_method_parse(&c->ctx, specs[m], &spec);
    bool nine = status == SN_OK && all && strcmp(spec.method->name, "torque") == 0;
    torques += nine;
    if (nine && sn_method_has_no_model(&spec))
      status = sn_fail(&c->ctx, SN_BAD_INPUT, "%s: --degrees all compares models; leave out full=1", specs[m]);
    for (int k = 0; status == SN_OK && k < (nine ? cli_degree_pairs : 1) && count < most_methods; k++) {
      if (nine) status = sn_cli_degree_spec(c, specs[m], k, &spec);
      job->more[count].degrees = nine ? 1 + k : 0;
      job->rows[count++].spec = spec;
    }
    if (status != SN_OK) return sn_cli_misuse_method(c, specs[m]);
  }
  job->count = count;
  if (all && torques != 1)
    return sn_cli_misuse("--degrees all compares the blending functions of one method torque; %d were given",
                         torques);
  return all && count == most_methods ? sn_cli_misuse("at most %d methods", most_methods - 1) : exit_done;
}

static int compare(comparison *job) {
  cli *c = job->c;
  if (parse_methods(job) != exit_done) return exit_usage;
  const char *plot_path = sn_cli_text(c, "--plot");
  sn_inputs inputs;
  sn_status status = sn_cli_inputs(c, &inputs);
  if (status == SN_OK) status = compare_all(job, &inputs);
  if (status == SN_OK && sn_cli_given(c, "--degrees")) status = say_degrees(job);
  if (status == SN_OK && plot_path) status = plot_chosen(job, plot_path);
  return status == SN_OK ? exit_done : sn_cli_fail(c);
}

static int run(cli *c) {
  comparison *job = SN_NEW(&c->ctx, &c->memory, comparison, 1);
  if (!job) return sn_cli_fail(c);
  job->c = c;
  int result = compare(job);
  for (int m = 0; m < most_methods; m++)
    sn_correct_trace_free(&job->more[m].trace), json_decref(job->more[m].clamped);
  sn_compare_job_free(&job->job);
  sn_examples_free(&job->examples);
  return result;
}

static const cli_option options[] = {
  {"--method", "SPEC", NULL, "NAME or NAME:key=value,key=value; rigid, lbs and dqs by default",
   cli_repeats | cli_quality},
  {"--degrees", "all", NULL, "torque: all nine pairs of blending functions, and an analysis of variance",
   cli_quality},
  {"--models", "DIR", NULL, "write the models to this folder, as SPEC.sinew", cli_output},
  {"--loocv", NULL, NULL, "hold out each training frame in turn", cli_quality},
  {"--plot", "FILE.svg", NULL, "draw a line per method", cli_output},
  {"--plot-of", "error|correction|bytes", "error",
   "error over the frames, correction of the worst vertex over the angle, or error over bytes", cli_output},
  CLI_OPTIONS_TRAINING,
  CLI_OPTION_MATCH,
  {0},
};

const cli_command sn_cli_compare = {
  .name = "compare",
  .usage = "--method SPEC... --rest FILE --frames FILE --skeleton FILE",
  .summary = "train and test several methods in one table",
  .details = "ee is the enveloping error: 1 is the best single joint per vertex, 0 is perfect. Columns without "
             "'train' are of the test frames, or of the training frames where there are no others. x lbs is the time "
             "of an evaluation over that of the row lbs.",
  .example = "sinew gen arm -o arm\n"
             "sinew compare --method lbs --method dqs --rest arm/rest.obj --frames arm/frames.pc2 \\\n"
             "  --skeleton arm/skeleton.glb --keys every:4",
  .options = options,
  .run = run,
  .takes_method = true,
};
