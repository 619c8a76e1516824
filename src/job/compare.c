// SPDX-License-Identifier: MIT
// Trains and measures several methods on the same examples.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "job/job.h"

typedef struct comparison {
  sn_context *ctx;
  const sn_compare_job *job;
  sn_model lbs; // the model of the row `lbs`; others are timed against it
} comparison;

static bool is_lbs(const sn_compare_row *row) { return strcmp(row->spec.text, "lbs") == 0; }

static sn_status time_row(comparison *c, const sn_rt_model *model, sn_compare_row *row) {
  sn_rt_model lbs;
  bool timed = c->lbs.bytes;
  if (timed) SN_TRY(sn_model_open(c->ctx, "lbs", c->lbs.bytes, c->lbs.size, &lbs));
  return sn_assess_time_beside(c->ctx, model, timed ? &lbs : NULL, c->job->data.examples, &row->us, &row->ratio);
}

// Writes the model to a file named after its spec.
static sn_status write_model(comparison *c, const sn_method_spec *spec, const sn_model *model) {
  const char *folder = c->job->data.inputs->models;
  char path[4096], name[sizeof spec->text];
  sn_spec_name(spec->text, name, sizeof name);
  if (snprintf(path, sizeof path, "%s/%s.sinew", folder, name) >= (int)sizeof path)
    return sn_fail(c->ctx, SN_BAD_INPUT, "%s: the name is too long", folder);
  SN_TRY(sn_make_folder(c->ctx, folder));
  return sn_model_write(c->ctx, path, model);
}

static sn_status compare_model(comparison *c, sn_compare_row *row) {
  const sn_compare_job *job = c->job;
  const sn_training *data = &job->data;
  SN_FREED_BY(sn_model_free) sn_model bytes = {0};
  sn_rt_model model;
  sn_train_report report = {0};
  SN_TRY(sn_train(c->ctx, &row->spec, data->examples, &data->keys, &bytes, &report));
  SN_TRY(sn_model_open(c->ctx, row->spec.text, bytes.bytes, bytes.size, &model));
  const sn_scored_frames frames = {&data->keys, &data->others, row->frame_rms};
  SN_TRY(sn_assess(c->ctx, &model, data->examples, &frames, &row->scores));
  row->bytes = (double)bytes.size, row->flops = (double)model.info.flops, row->seconds = report.seconds;
  if (data->inputs->models) SN_TRY(write_model(c, &row->spec, &bytes));
  if (is_lbs(row) && !c->lbs.bytes) c->lbs = bytes, bytes = (sn_model){0};
  SN_TRY(time_row(c, &model, row));
  return job->with_model ? job->with_model(data->user, row, &model) : SN_OK;
}

// A variant that no model represents: errors only.
static sn_status compare_prediction(comparison *c, sn_compare_row *row) {
  const sn_training *data = &c->job->data;
  sn_train_report report = {0};
  const sn_scored_frames frames = {&data->keys, &data->others, row->frame_rms};
  SN_TRY(sn_assess_predict(c->ctx, &row->spec, data->examples, &frames, &row->scores, &report));
  row->bytes = row->flops = row->us = row->ratio = NAN, row->seconds = report.seconds;
  return SN_OK;
}

static sn_status compare_row(comparison *c, sn_compare_row *row) {
  const sn_training *data = &c->job->data;
  SN_TRY((sn_method_has_no_model(&row->spec) ? compare_prediction : compare_model)(c, row));
  if (!c->job->loocv) return SN_OK;
  return sn_assess_loocv(c->ctx, &row->spec, data->examples, &data->keys, &row->scores, &row->seconds);
}

static sn_status prepare(sn_context *ctx, sn_compare_job *job, sn_compare_row *rows, int count) {
  sn_training *data = &job->data;
  job->memory = sn_arena_new(ctx);
  SN_TRY(sn_inputs_sculpt(ctx, data->inputs, data->examples));
  SN_TRY(sn_train_keys(ctx, data->examples, data->inputs->keys, data->inputs->seed, &data->keys, &data->others));
  for (int m = 0; m < count; m++) {
    if (data->ready) SN_TRY(data->ready(data->user, &rows[m].spec));
    rows[m].frame_rms = SN_NEW(ctx, &job->memory, double, data->examples->frames.frame_count);
    if (!rows[m].frame_rms) return ctx->error.status;
  }
  return SN_OK;
}

sn_status sn_job_compare(sn_context *ctx, sn_compare_job *job, sn_compare_row *rows, int count) {
  comparison c = {.ctx = ctx, .job = job};
  sn_status status = prepare(ctx, job, rows, count);
  int lbs = 0;
  if (status == SN_OK && job->begin) job->begin(job->data.user);
  while (lbs < count && !is_lbs(&rows[lbs])) lbs++;
  if (status == SN_OK && lbs < count) status = compare_row(&c, &rows[lbs]);
  for (int m = 0; status == SN_OK && m < count; m++) {
    if (m != lbs) status = compare_row(&c, &rows[m]);
    if (status == SN_OK && job->finished) status = job->finished(job->data.user, &rows[m]);
  }
  sn_model_free(&c.lbs);
  return status;
}

void sn_compare_job_free(sn_compare_job *job) {
  sn_training_free(&job->data);
  sn_arena_free(&job->memory);
}

json_t *sn_report_compare(const sn_compare_row *row) {
  json_t *out = json_object();
  sn_report_add(out, "spec:s options:o", row->spec.text,
                sn_report_options(row->spec.method->options, &row->spec.options));
  sn_report_scores(out, &row->scores);
  bool model = !isnan(row->bytes);
  sn_report_add(out, "bytes:o flops:o us_per_frame:o ratio_lbs:f seconds:f",
                model ? json_integer((json_int_t)row->bytes) : json_null(),
                model ? json_integer((json_int_t)row->flops) : json_null(), model ? json_real(row->us) : json_null(),
                row->ratio, row->seconds);
  return out;
}
