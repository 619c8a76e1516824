// SPDX-License-Identifier: MIT
// Trains a model and measures it.
#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "job/job.h"

static sn_status measure(sn_context *ctx, const sn_train_job *job, sn_train_result *out) {
  sn_rt_model model;
  SN_TRY(sn_model_open(ctx, "the trained model", out->model.bytes, out->model.size, &model));
  out->info = model.info;
  const sn_training *data = &job->data;
  const sn_scored_frames frames = {&data->keys, &data->others, NULL};
  if (job->measure && data->examples->frames.frame_count > 0)
    SN_TRY(sn_assess(ctx, &model, data->examples, &frames, &out->scores));
  if (out->scores.all.frame_count > 0 && !isfinite(out->scores.all.rms))
    return sn_fail(ctx, SN_BAD_INPUT, "the model is not finite on its training frames: is a vertex damaged?");
  const sn_metrics *m = &out->scores.train;
  bool poor = m->rms_pct_diag > SN_POOR_RMS || m->max_pct_diag > SN_POOR_LARGEST, bare = !model.info.triangle_count;
  char *note = out->report.note, *end = note + strlen(note);
  if (poor || bare)
    snprintf(end, sizeof out->report.note - (size_t)(end - note), "%s%s%s", *note && end[-1] != ' ' ? "; " : "",
             poor ? "a poor fit: a frame is damaged, or too much for the method. " : "",
             bare ? "The rest mesh has no faces: the page will not draw it." : "");
  for (size_t n = strlen(note); n > 0 && note[n - 1] == ' '; n--) note[n - 1] = 0;
  return SN_OK;
}

// Methods without corrections have a single model: checks that it meets the limits.
static sn_status check_limits(sn_context *ctx, const sn_limits *l, const sn_examples *examples, const sn_model *m) {
  sn_rt_model model;
  double ratio;
  if (l->error > 0 || l->curve)
    return sn_fail(ctx, SN_BAD_INPUT, "%s needs corrections, and this method has none: choose psd or eigenskin",
                   l->curve ? "the curve of sizes" : "`error`");
  SN_TRY(sn_model_open(ctx, "model", m->bytes, m->size, &model));
  SN_TRY(sn_assess_ratio(ctx, &model, examples, &ratio));
  if (!(l->bytes > 0 && (double)m->size > l->bytes) && !(l->time > 0 && ratio > l->time)) return SN_OK;
  return sn_fail(ctx, SN_BAD_INPUT, "%zu bytes, %.2f times lbs: more than the limits; give larger ones", m->size,
                 ratio);
}

// Appends the mirror image of every frame, and extends the keys by those of the keys: frame f's is frame f + count.
static sn_status add_mirrored(sn_context *ctx, const char *axis, sn_examples *examples, sn_keys *keys) {
  if (strlen(axis) != 1 || *axis < 'x' || *axis > 'z')
    return sn_fail(ctx, SN_BAD_INPUT, "`mirror` %s: choose x, y or z, the axis normal to the mirror plane", axis);
  int count = examples->frames.frame_count, *frames = SN_NEW(ctx, &keys->memory, int, 2 * keys->count);
  if (count == 0) return sn_fail(ctx, SN_BAD_INPUT, "`mirror`: there are no frames to mirror");
  if (!frames) return ctx->error.status;
  for (int k = 0; k < keys->count; k++)
    frames[k] = keys->frames[k], frames[keys->count + k] = count + keys->frames[k];
  keys->frames = frames, keys->count *= 2;
  return sn_examples_mirror(ctx, *axis - 'x', examples);
}

// Checks and completes the training data. A method without corrections needs no frames; `from` brings mesh and joints.
static sn_status prepare(sn_context *ctx, sn_train_job *job) {
  sn_training *data = &job->data;
  sn_examples *examples = data->examples;
  const char *mirror = data->inputs->mirror;
  if (job->from && data->inputs->poses.count == 0)
    return sn_fail(ctx, SN_BAD_INPUT, "`from` needs the poses to add: `pose` FRAME=MESH");
  if (job->from && examples->frames.frame_count > 0)
    return sn_fail(ctx, SN_BAD_INPUT, "`from` goes without `frames`: the model knows what it was trained on");
  if (job->from && examples->rest.vertex_count == 0) SN_TRY(sn_model_mesh(ctx, job->from, &examples->rest));
  if (job->from) SN_TRY(sn_inputs_retarget(ctx, data->inputs, job->from, examples));
  bool frames = data->inputs->poses.count > 0 || examples->frames.frame_count > 0;
  if (!frames && job->spec && sn_method_needs_no_frames(job->spec)) {
    if (examples->rest.vertex_count == 0) return sn_fail(ctx, SN_BAD_INPUT, "a rest mesh is needed: `rest` FILE");
  } else {
    SN_TRY(sn_inputs_sculpt(ctx, data->inputs, examples));
    const char *keys = job->from ? "all" : data->inputs->keys;
    SN_TRY(sn_train_keys(ctx, examples, keys, data->inputs->seed, &data->keys, &data->others));
  }
  return mirror ? add_mirrored(ctx, mirror, examples, &data->keys) : SN_OK;
}

static sn_status train_model(sn_context *ctx, const sn_train_job *job, sn_train_result *out) {
  const sn_training *data = &job->data;
  const sn_limits *limits = &data->inputs->limits;
  if (job->from) {
    double start = sn_seconds();
    sn_status status = sn_correct_add(ctx, job->from, data->examples, &data->keys, &out->model);
    out->report.seconds = sn_seconds() - start;
    return status;
  }
  if (!job->spec) {
    if (limits->curve) return sn_fail(ctx, SN_BAD_INPUT, "the curve of sizes needs a method, not auto");
    out->table.limits = *limits;
    sn_status status = sn_train_chosen(ctx, data->examples, &data->keys, &out->table, &out->model, &out->report);
    if (out->table.chosen) out->spec = out->table.chosen->spec;
    return status;
  }
  out->spec = *job->spec, out->spec.limits = *limits;
  if (limits->time > 0) out->spec.limits.ratio_of = sn_assess_ratio;
  SN_TRY(sn_train(ctx, &out->spec, data->examples, &data->keys, &out->model, &out->report));
  bool limited = limits->bytes > 0 || limits->time > 0 || limits->error > 0 || limits->curve;
  if (!limited || out->report.rate_count > 0) return SN_OK;
  return check_limits(ctx, limits, data->examples, &out->model);
}

sn_status sn_job_train(sn_context *ctx, sn_train_job *job, sn_train_result *out) {
  *out = (sn_train_result){0};
  SN_TRY(prepare(ctx, job));
  if (job->data.ready) SN_TRY(job->data.ready(job->data.user, job->spec));
  SN_TRY(train_model(ctx, job, out));
  return measure(ctx, job, out);
}

void sn_training_free(sn_training *training) {
  sn_keys_free(&training->keys);
  sn_keys_free(&training->others);
}

void sn_train_result_free(sn_train_result *result) {
  sn_model_free(&result->model);
  sn_choice_table_free(&result->table);
}

static json_t *describe_candidate(const sn_choice_table *table, const sn_candidate *candidate) {
  json_t *out = json_object();
  bool unknown = candidate->refused[0] || table->is_fit;
  sn_report_add(out, "spec:s left_out:o parts:o bytes:I ratio_lbs:f seconds:f chosen:b refused:s?",
                candidate->spec.text, unknown ? json_null() : sn_report_metrics(&candidate->held_out),
                json_integer(unknown ? 0 : candidate->folds), (json_int_t)candidate->bytes, candidate->ratio,
                candidate->seconds, candidate == table->chosen, candidate->refused);
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
