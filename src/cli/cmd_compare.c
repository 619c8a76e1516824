// SPDX-License-Identifier: MIT
// sinew compare: several methods on the same examples, one table.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/memory.h"
#include "lab/cli/degrees.h"
#include "cli/models.h"

enum { most_methods = 64 };

typedef struct compare_row {
  sn_method_spec spec;
  sn_scores scores;
  double seconds, bytes, flops, us;
  double ratio;           // of us to that of the row `lbs`; NAN where there is none
  const sn_model *lbs;    // that row's model; NULL where there is none
  sn_model kept;          // the model of the row `lbs` itself
  double *frame_rms;      // per frame, for --plot
  int degrees;            // 1 + the combination of --degrees all; 0: none
  double *vertex_rms;     // per vertex, for its statistics; the mean square for `published`
  json_t *clamped;        // frames with torques outside the range of the training, by joint
  sn_correct_trace trace; // for --plot-of correction
} compare_row;

// The error on clips that are only tested on is that on new motion.
static void say_header(const cli *c, bool between, bool clips) {
  sn_cli_say(c, "%-28s %9s %s%10s %10s %10s %9s %10s %9s %8s %6s %8s\n", "method", "train ee",
             between ? "  between " : "", clips ? "new motion" : "test ee", "test rms %", "max %", "std %",
             "normal °", "bytes", "us", "x lbs", "seconds");
}

// Whether some frames are neither trained on nor of a test clip.
static bool has_between(const sn_examples *examples, const sn_keys *others, bool loocv) {
  return examples->test_frame_count > 0 && (loocv || others->count > examples->test_frame_count);
}

// Figures of the test frames, or of the training frames where there are no others.
static const sn_metrics *row_metrics(const compare_row *row) {
  return row->scores.test.frame_count > 0 ? &row->scores.test : &row->scores.train;
}

static void say_row(const cli *c, const compare_row *row) {
  const sn_metrics *m = row_metrics(row);
  sn_cli_say(c, "%-28s %9s ", row->spec.text, sn_cli_figure(row->scores.train.ee, 4).text);
  if (row->scores.between.frame_count > 0) sn_cli_say(c, "%9s ", sn_cli_figure(row->scores.between.ee, 4).text);
  sn_cli_say(c, "%10s %10s %10s %9s %9s %9.0f %8.1f %6s %8.3f\n", sn_cli_figure(row->scores.test.ee, 4).text,
             sn_cli_figure(m->rms_pct_diag, 4).text, sn_cli_figure(m->max_pct_diag, 3).text,
             sn_cli_figure(m->std_pct_diag, 4).text, sn_cli_figure(m->normal_deg, 2).text, row->bytes, row->us,
             sn_cli_figure(row->ratio, 2).text, row->seconds);
}

static json_t *describe_row(const compare_row *row) {
  sn_report_row told = {&row->spec, &row->scores, row->bytes, row->flops, row->us, row->ratio, row->seconds};
  json_t *out = sn_report_compare(&told);
  if (row->clamped) json_object_set(out, "clamped", row->clamped);
  return out;
}

// A form of a method that no model holds: errors only.
static sn_status compare_prediction(cli *c, const sn_examples *examples, const sn_keys *keys, const sn_keys *others,
                                    compare_row *row) {
  sn_train_report report = {0};
  sn_status status =
    sn_assess_predict(&c->ctx, &row->spec, examples, keys, others, &row->scores, row->frame_rms, &report);
  row->bytes = row->flops = row->us = row->ratio = NAN, row->seconds = report.seconds;
  return status;
}

static bool plot_corrections(const cli *c) {
  return sn_cli_given(c, "--plot") && strcmp(sn_cli_text(c, "--plot-of"), "correction") == 0;
}

// The errors behind the statistics of --degrees: of the test frames, or of the training frames where there are no others.
static sn_status measure_vertices(cli *c, const sn_rt_model *model, const sn_examples *examples, const sn_keys *keys,
                                  const sn_keys *others, compare_row *row) {
  int n = examples->rest.vertex_count;
  double diagonal = sn_points_diagonal((const float(*)[3])examples->rest.positions, n);
  row->vertex_rms = SN_NEW(&c->ctx, &c->memory, double, n);
  if (!row->vertex_rms) return c->ctx.error.status;
  sn_status status = sn_assess_vertices(&c->ctx, model, examples, others->count > 0 ? others : keys, row->vertex_rms);
  bool squared = sn_cli_is_published(&row->spec);
  for (int i = 0; status == SN_OK && i < n; i++) {
    row->vertex_rms[i] *= squared ? row->vertex_rms[i] : 100 / diagonal;
  }
  return status;
}

// --models: the model as a file that is called after its spec.
static sn_status keep_model(cli *c, const char *folder, const sn_method_spec *spec, const sn_model *model) {
  sn_arena scratch = sn_arena_new(&c->ctx);
  size_t size = strlen(folder) + sizeof spec->text + sizeof "/.sinew";
  char *path = SN_NEW(&c->ctx, &scratch, char, size), name[sizeof spec->text];
  sn_cli_spec_name(spec->text, name, sizeof name);
  sn_status status = path ? sn_make_folder(&c->ctx, folder) : c->ctx.error.status;
  if (status == SN_OK) {
    snprintf(path, size, "%s/%s.sinew", folder, name);
    status = sn_model_write(&c->ctx, path, model);
  }
  sn_arena_free(&scratch);
  return status;
}

static sn_status time_row(cli *c, const sn_rt_model *model, const sn_examples *examples, compare_row *row) {
  sn_rt_model lbs;
  sn_status status = SN_OK;
  if (row->lbs) status = sn_model_open(&c->ctx, "lbs", row->lbs->bytes, row->lbs->size, &lbs);
  if (status != SN_OK) return status;
  return sn_assess_time_beside(&c->ctx, model, row->lbs ? &lbs : NULL, examples, &row->us, &row->ratio);
}

// Trains on the keys, opens the bytes with the runtime, and measures.
static sn_status compare_method(cli *c, const sn_examples *examples, const sn_keys *keys, const sn_keys *others,
                                compare_row *row) {
  sn_model bytes = {0};
  sn_rt_model model;
  sn_train_report report;
  sn_status status = sn_train(&c->ctx, &row->spec, examples, keys, &bytes, &report);
  if (status == SN_OK) status = sn_model_open(&c->ctx, row->spec.text, bytes.bytes, bytes.size, &model);
  if (status == SN_OK) status = sn_assess(&c->ctx, &model, examples, keys, others, &row->scores, row->frame_rms);
  if (status == SN_OK && row->lbs == &row->kept) row->kept = bytes;
  if (status == SN_OK) status = time_row(c, &model, examples, row);
  if (status == SN_OK) {
    row->bytes = (double)bytes.size, row->flops = (double)model.info.flops;
    row->seconds = report.seconds;
  }
  if (status == SN_OK && row->degrees) status = measure_vertices(c, &model, examples, keys, others, row);
  if (status == SN_OK && model.info.torque_count + model.info.value_count > 0) {
    row->clamped = sn_cli_note_clamped(c, row->spec.text, &model, examples);
  }
  if (status == SN_OK && plot_corrections(c)) status = sn_correct_trace_make(&c->ctx, &model, examples, &row->trace);
  const char *folder = sn_cli_text(c, "--models");
  if (status == SN_OK && folder) status = keep_model(c, folder, &row->spec, &bytes);
  if (!row->kept.bytes) sn_model_free(&bytes);
  return status;
}

static sn_status compare_row_fill(cli *c, const sn_examples *examples, const sn_keys *keys, const sn_keys *others,
                                  compare_row *row) {
  bool no_model = sn_method_has_no_model(&row->spec);
  sn_status status = (no_model ? compare_prediction : compare_method)(c, examples, keys, others, row);
  if (status == SN_OK && sn_cli_given(c, "--loocv")) {
    status = sn_assess_loocv(&c->ctx, &row->spec, examples, keys, &row->scores, &row->seconds);
  }
  return status;
}

// The thesis's figures 5.4 to 5.6: what the worst vertex needs and gets against the angle, two lines per method.
static sn_status plot_traces(cli *c, const char *path, const compare_row *rows, int count) {
  sn_arena scratch = sn_arena_new(&c->ctx);
  sn_plot_line *lines = SN_NEW(&c->ctx, &scratch, sn_plot_line, 2 * count);
  char(*names)[300] = sn_arena_alloc(&c->ctx, &scratch, (size_t)(2 * count), sizeof *names);
  sn_status status = lines && names ? SN_OK : c->ctx.error.status;
  for (int n = 0; status == SN_OK && n < 2 * count; n++) {
    const compare_row *row = &rows[n / 2];
    snprintf(names[n], sizeof *names, "%s: vertex %d, %c, %s", row->spec.text, row->trace.vertex,
             "xyz"[row->trace.axis], n % 2 ? "interpolated" : "true");
    lines[n] =
      (sn_plot_line){names[n], row->trace.frame_count, row->trace.angle, n % 2 ? row->trace.given : row->trace.truth};
  }
  if (status == SN_OK) {
    status = sn_plot_write(&c->ctx, path, "Displacement of the worst vertex in the rest pose", "angle, radians",
                           "displacement, file units", lines, 2 * count);
  }
  sn_arena_free(&scratch);
  return status;
}

// Error of every frame, one line per method.
static sn_status plot(cli *c, const char *path, const compare_row *rows, int count, const sn_examples *examples) {
  sn_arena scratch = sn_arena_new(&c->ctx);
  int frames = examples->frames.frame_count;
  double diagonal = sn_points_diagonal((const float(*)[3])examples->rest.positions, examples->rest.vertex_count);
  double *x = SN_NEW(&c->ctx, &scratch, double, frames);
  sn_plot_line *lines = SN_NEW(&c->ctx, &scratch, sn_plot_line, count);
  sn_status status = x && lines ? SN_OK : c->ctx.error.status;
  for (int f = 0; status == SN_OK && f < frames; f++) x[f] = f;
  for (int m = 0; status == SN_OK && m < count; m++) {
    for (int f = 0; f < frames; f++) rows[m].frame_rms[f] *= 100 / diagonal;
    lines[m] = (sn_plot_line){rows[m].spec.text, frames, x, rows[m].frame_rms};
  }
  if (status == SN_OK) {
    status =
      sn_plot_write(&c->ctx, path, "Error over the frames", "frame", "rms error, % of the diagonal", lines, count);
  }
  sn_arena_free(&scratch);
  return status;
}

// Test error against the size of the model, one line per method: what options such as rotreg's `bones` trade.
static sn_status plot_bytes(cli *c, const char *path, const compare_row *rows, int count) {
  sn_arena scratch = sn_arena_new(&c->ctx);
  double *x = SN_NEW(&c->ctx, &scratch, double, count), *y = SN_NEW(&c->ctx, &scratch, double, count);
  sn_plot_line *lines = SN_NEW(&c->ctx, &scratch, sn_plot_line, count);
  sn_status status = x && y && lines ? SN_OK : c->ctx.error.status;
  int line_count = 0, at = 0;
  for (int m = 0; status == SN_OK && m < count; m++) {
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
  if (status == SN_OK) {
    status = sn_plot_write(&c->ctx, path, "Error against size", "bytes of the model", "rms error, % of the diagonal",
                           lines, line_count);
  }
  sn_arena_free(&scratch);
  return status;
}

static sn_status plot_chosen(cli *c, const char *path, const compare_row *rows, int count,
                             const sn_examples *examples) {
  if (plot_corrections(c)) return plot_traces(c, path, rows, count);
  if (strcmp(sn_cli_text(c, "--plot-of"), "bytes") == 0) return plot_bytes(c, path, rows, count);
  return plot(c, path, rows, count, examples);
}

static int find_lbs(const compare_row *rows, int count) {
  for (int m = 0; m < count; m++)
    if (strcmp(rows[m].spec.text, "lbs") == 0) return m;
  return -1;
}

static sn_status compare_all(cli *c, const sn_examples *examples, compare_row *rows, int count, sn_arena *memory) {
  sn_keys keys = {0}, others = {0};
  sn_status status = sn_cli_keys(c, examples, &keys, &others);
  for (int m = 0; status == SN_OK && m < count; m++)
    status = sn_cli_need_to_train(&c->ctx, &rows[m].spec, examples, &keys);
  bool loocv = sn_cli_given(c, "--loocv"), clips = examples->test_frame_count > 0;
  if (status == SN_OK) {
    sn_cli_say(c, "%d vertices, %d joints, %d frames: %d for training, %d for testing%s%s\n",
               examples->rest.vertex_count, examples->skeleton.joint_count, examples->frames.frame_count, keys.count,
               loocv && !clips ? keys.count : others.count, loocv ? " (leave one out)" : "",
               clips ? "; test figures are of the clips that are only tested on" : "");
    say_header(c, has_between(examples, &others, loocv), clips);
  }
  for (int m = 0; status == SN_OK && m < count; m++) {
    rows[m].frame_rms = SN_NEW(&c->ctx, memory, double, examples->frames.frame_count);
    if (!rows[m].frame_rms) status = c->ctx.error.status;
  }
  int lbs = find_lbs(rows, count); // first, because the others are timed against it
  for (int m = 0; lbs >= 0 && m < count; m++) rows[m].lbs = &rows[lbs].kept;
  if (status == SN_OK && lbs >= 0) status = compare_row_fill(c, examples, &keys, &others, &rows[lbs]);
  json_t *list = json_array();
  for (int m = 0; status == SN_OK && m < count; m++) {
    if (m != lbs) status = compare_row_fill(c, examples, &keys, &others, &rows[m]);
    if (status != SN_OK) break;
    say_row(c, &rows[m]);
    fflush(stdout);
    json_array_append_new(list, describe_row(&rows[m]));
  }
  c->result = json_pack("{so}", "methods", list);
  sn_keys_free(&keys);
  sn_keys_free(&others);
  return status;
}

// ---- --degrees all -------------------------------------------------------------------------------------------------

// The analysis of variance of the nine rows, in the order of their combinations.
static sn_status say_degrees(cli *c, const compare_row *rows, int count, const sn_examples *examples) {
  double *values[cli_degree_pairs] = {0};
  json_t *anova = NULL;
  bool published = false;
  for (int m = 0; m < count; m++) {
    if (!rows[m].degrees) continue;
    values[rows[m].degrees - 1] = rows[m].vertex_rms;
    published = sn_cli_is_published(&rows[m].spec);
  }
  const char *response = published ? "squared distance of every vertex, mean over the frames, in squared file units"
                                   : "rms error of every vertex, % of the diagonal";
  sn_status status = sn_cli_say_degrees(c, values, examples->rest.vertex_count, response, &anova);
  if (anova) json_object_set_new(c->result, "anova", anova);
  return status;
}

// Every method of the command line, a torque method as its nine combinations; -1 after having said what is wrong.
static int parse_methods(cli *c, compare_row *rows) {
  const char *specs[most_methods];
  int given = sn_cli_texts(c, "--method", specs, most_methods), count = 0, torques = 0;
  bool all = sn_cli_given(c, "--degrees");
  if (given == 0) given = 3, specs[0] = "rigid", specs[1] = "lbs", specs[2] = "dqs";
  if (given > most_methods) given = most_methods;
  if (all && strcmp(sn_cli_text(c, "--degrees"), "all") != 0) {
    sn_cli_misuse("--degrees %s: there is one choice, all", sn_cli_text(c, "--degrees"));
    return -1;
  }
  for (int m = 0; m < given; m++) {
    sn_method_spec spec;
    sn_status status = sn_method_parse(&c->ctx, specs[m], &spec);
    bool nine = status == SN_OK && all && strcmp(spec.method->name, "torque") == 0;
    torques += nine;
    if (nine && sn_method_has_no_model(&spec)) {
      status = sn_fail(&c->ctx, SN_BAD_INPUT, "%s: --degrees all compares models; leave out full=1", specs[m]);
    }
    for (int k = 0; status == SN_OK && k < (nine ? cli_degree_pairs : 1) && count < most_methods; k++) {
      if (nine) status = sn_cli_degree_spec(c, specs[m], k, &spec);
      rows[count++] = (compare_row){.spec = spec, .degrees = nine ? 1 + k : 0};
    }
    if (status == SN_OK) continue;
    sn_cli_misuse("%s", c->ctx.error.message);
    return -1;
  }
  if (!all || (torques == 1 && count < most_methods)) return count;
  if (torques == 1) {
    sn_cli_misuse("at most %d methods", most_methods - 1);
  } else {
    sn_cli_misuse("--degrees all compares the blending functions of one method torque; %d were given", torques);
  }
  return -1;
}

static int run(cli *c) {
  sn_arena memory = sn_arena_new(&c->ctx);
  compare_row *rows = SN_NEW(&c->ctx, &memory, compare_row, most_methods);
  if (!rows) return sn_cli_fail(c);
  int count = parse_methods(c, rows);
  if (count < 0) {
    sn_arena_free(&memory);
    return exit_usage;
  }
  const char *what = sn_cli_text(c, "--plot-of");
  if (strcmp(what, "error") && strcmp(what, "correction") && strcmp(what, "bytes")) {
    sn_arena_free(&memory);
    return sn_cli_misuse("--plot-of %s: choose error, correction or bytes", what);
  }
  const char *svg = sn_cli_text(c, "--plot");
  if (svg && !sn_has_extension(svg, ".svg")) {
    sn_arena_free(&memory);
    return sn_cli_misuse("--plot %s: the chart is an SVG; give a name that ends in .svg", svg);
  }
  sn_examples examples = {0};
  sn_status status = sn_cli_load_frames(c, &examples);
  if (status == SN_OK) c->input = sn_report_examples(&examples);
  if (status == SN_OK) status = compare_all(c, &examples, rows, count, &memory);
  if (status == SN_OK && sn_cli_given(c, "--degrees")) status = say_degrees(c, rows, count, &examples);
  if (status == SN_OK && svg) status = plot_chosen(c, svg, rows, count, &examples);
  for (int m = 0; m < count; m++) sn_correct_trace_free(&rows[m].trace), json_decref(rows[m].clamped);
  for (int m = 0; m < count; m++) sn_model_free(&rows[m].kept);
  sn_examples_free(&examples);
  sn_arena_free(&memory);
  return status == SN_OK ? exit_done : sn_cli_fail(c);
}

static const cli_option options[] = {
  {"--method", "SPEC", NULL, "NAME or NAME:key=value,...; rigid, lbs and dqs unless told", true},
  {"--degrees", "all", NULL,
   "the nine pairs of blending functions of the method torque, and the statistics over them", false},
  {"--models", "DIR", NULL, "keep the trained models in this folder, as SPEC.sinew", false},
  {"--loocv", NULL, NULL, "test by leaving out each training frame in turn", false},
  {"--plot", "FILE.svg", NULL, "a line chart of every method", false},
  {"--plot-of", "WHAT", "error",
   "error over the frames; correction: of the worst vertex against the angle; bytes: error against size", false},
  CLI_OPTIONS_TRAINING,
  CLI_OPTION_MATCH,
  {0},
};

const cli_command sn_cli_compare = {
  .name = "compare",
  .usage = "--method SPEC... --rest FILE --frames FILE --skeleton FILE",
  .summary = "train and test several methods, one table",
  .details =
    "ee is the enveloping error: 1 is the best single joint per vertex. Columns without 'train' are of the test "
    "frames,\n"
    "or of the training frames where there are no others; x lbs is the time of an evaluation against that of the row "
    "lbs.",
  .example =
    "sinew compare --method lbs --method dqs --rest arm/rest.obj --frames arm/frames.pc2 --skeleton arm/skeleton.glb "
    "--keys every:4",
  .options = options,
  .run = run,
  .takes_method = true,
};
