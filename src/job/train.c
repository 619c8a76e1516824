// SPDX-License-Identifier: MIT
// Training, and the figures of what was trained.
#include <math.h>

#include "job/job.h"

static sn_status measure(sn_context *ctx, const sn_train_job *job, sn_train_result *out) {
  sn_rt_model model;
  sn_status status =
    sn_model_open(ctx, out->spec.method ? out->spec.text : "model", out->model.bytes, out->model.size, &model);
  if (status != SN_OK) return status;
  out->info = model.info;
  if (job->measure && job->examples->frames.frame_count > 0)
    status = sn_assess(ctx, &model, job->examples, job->keys, job->others, &out->scores, NULL);
  if (status == SN_OK && out->scores.all.frame_count > 0 && !isfinite(out->scores.all.rms))
    status = sn_fail(ctx, SN_BAD_INPUT, "what the model gives is not finite on its own frames");
  return status;
}

sn_status sn_job_train(sn_context *ctx, const sn_train_job *job, sn_train_result *out) {
  *out = (sn_train_result){.memory = sn_arena_new(ctx)};
  sn_status status;
  if (job->from) {
    double start = sn_seconds();
    status = sn_correct_add(ctx, job->from, job->examples, job->keys, &out->model);
    out->report.seconds = sn_seconds() - start;
  } else if (job->spec) {
    out->spec = *job->spec;
    status = sn_train(ctx, job->spec, job->examples, job->keys, &out->model, &out->report);
  } else {
    status = sn_train_chosen(ctx, job->examples, job->keys, &job->limits, &out->memory, &out->table, &out->model,
                             &out->report);
    if (out->table.chosen) out->spec = out->table.chosen->spec;
  }
  return status == SN_OK ? measure(ctx, job, out) : status;
}

void sn_train_result_free(sn_train_result *result) {
  sn_model_free(&result->model);
  sn_arena_free(&result->memory);
}

static json_t *describe_candidate(const sn_choice_table *table, const sn_candidate *candidate) {
  json_t *out = json_object();
  bool refused = candidate->refused[0];
  sn_report_add(out, "spec:s left_out:o parts:o bytes:I ratio_lbs:f seconds:f chosen:b", candidate->spec.text,
                refused ? json_null() : sn_report_metrics(&candidate->left_out),
                json_integer(refused ? 0 : candidate->parts), (json_int_t)candidate->bytes, candidate->ratio,
                candidate->seconds, candidate == table->chosen);
  if (refused) json_object_set_new(out, "refused", sn_report_text(candidate->refused));
  return out;
}

json_t *sn_report_training(const sn_train_result *r) {
  json_t *out = sn_report_train(&r->scores, &r->info, &r->report);
  if (r->spec.method)
    json_object_set_new(out, "options", sn_report_options(r->spec.method->options, &r->spec.options));
  if (r->table.count == 0) return out;
  json_t *candidates = json_array();
  for (int n = 0; n < r->table.count; n++)
    json_array_append_new(candidates, describe_candidate(&r->table, &r->table.candidates[n]));
  sn_report_add(out, "method:s candidates:o", r->spec.text, candidates);
  return out;
}
