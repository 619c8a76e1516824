// SPDX-License-Identifier: MIT
// Runs jobs with a session's options and examples, and reports their results.
#include "base/scope.h"
#include "export/export.h"
#include "session/internal.h"

#include <string.h>

sn_status sn_session_keys(sn_session *s, int frame_count) {
  SN_FREED_BY(sn_keys_free) sn_keys others = {0};
  const sn_inputs *in = &s->inputs;
  sn_keys_free(&s->keys);
  if (frame_count >= 0) return sn_keys_parse(&s->ctx, in->keys, frame_count, in->seed, &s->keys, NULL);
  return sn_train_keys(&s->ctx, &s->examples, in->keys, in->seed, &s->keys, &others);
}

// ---- training ----------------------------------------------------------------------------------------------------------

void sn_session_from(sn_session *s, const void *bytes, size_t size) { s->from = bytes, s->from_size = size; }

sn_status sn_session_train(sn_session *s, const char *method, bool measured) {
  sn_method_spec spec;
  SN_FREED_BY(sn_train_result_free) sn_train_result result = {0};
  sn_rt_model from;
  sn_train_job job = {.data = {.inputs = &s->inputs, .examples = &s->examples}, .measure = measured};
  sn_model_free(&s->model);
  if (s->from) {
    job.from = &from;
    SN_TRY(sn_model_open(&s->ctx, "from", s->from, s->from_size, &from));
  } else if (strcmp(method, "auto") != 0) {
    job.spec = &spec;
    SN_TRY(sn_method_parse(&s->ctx, method, &spec));
  }
  sn_status status = sn_session_end(s, sn_job_train(&s->ctx, &job, &result));
  sn_training_free(&job.data);
  SN_TRY(status);
  s->model = result.model, result.model = (sn_model){0};
  return measured ? sn_session_tell(s, "train", sn_report_training(&result)) : SN_OK;
}

// ---- rigs ------------------------------------------------------------------------------------------------------------------

sn_status sn_session_rig(sn_session *s, const char *options) {
  sn_rig_job *job = &s->rig_job;
  sn_mesh *rest = &s->examples.rest;
  size_t size = (size_t)rest->vertex_count * sizeof *rest->positions;
  sn_rig_done_free(&s->rig);
  job->inputs = &s->inputs, job->examples = &s->examples;
  job->options = sn_rig_options_default();
  SN_TRY(sn_options_parse(&s->ctx, sn_rig_option_groups, options, &job->options));
  // Copies the rest positions: rigging may replace them, and the caller's must not change.
  float(*positions)[3] = sn_arena_alloc(&s->ctx, &s->memory, (size_t)rest->vertex_count, sizeof *positions);
  if (!positions) return s->ctx.error.status;
  memcpy(positions, rest->positions, size), rest->positions = positions;
  SN_TRY(sn_session_end(s, sn_job_rig(&s->ctx, job, &s->rig)));
  return sn_session_tell(s, "rig", sn_report_rigging(job, &s->rig));
}

sn_status sn_session_write_rig(sn_session *s, const char *path, double fps) {
  s->inputs.load.fps = fps;
  return sn_job_write_rig(&s->ctx, &s->rig_job, &s->rig, path);
}

// ---- comparing -----------------------------------------------------------------------------------------------------------------

static sn_status tell_row(void *list, sn_compare_row *row) {
  json_array_append_new(list, sn_report_compare(row));
  return SN_OK;
}

sn_status sn_session_compare(sn_session *s, int methods, const char *const *specs, bool loocv) {
  sn_compare_row *rows = SN_NEW(&s->ctx, &s->memory, sn_compare_row, methods);
  if (!rows) return s->ctx.error.status;
  for (int m = 0; m < methods; m++) SN_TRY(sn_method_parse(&s->ctx, specs[m], &rows[m].spec));
  json_t *list = json_array(), *result = json_pack("{so}", "methods", list);
  sn_compare_job job = {
    .data = {.inputs = &s->inputs, .examples = &s->examples, .user = list}, .loocv = loocv, .finished = tell_row};
  sn_status status = sn_session_end(s, sn_job_compare(&s->ctx, &job, rows, methods));
  sn_compare_job_free(&job);
  if (status == SN_OK) return sn_session_tell(s, "compare", result);
  json_decref(result);
  return status;
}

sn_status sn_session_errors(sn_session *s, const sn_evaluator *e) {
  sn_figures figures;
  sn_measured of = {&s->examples, &s->examples, NULL};
  SN_TRY(sn_inputs_retarget(&s->ctx, &s->inputs, &e->model, &s->examples));
  SN_TRY(sn_session_end(s, sn_assess_figures(&s->ctx, &e->model, &of, &s->memory, &figures)));
  s->vertex_rms = figures.vertex_rms, s->frame_rms = figures.frame_rms;
  return sn_session_tell(s, "errors", json_pack("{so}", "all", sn_report_metrics(&figures.error)));
}

// ---- files ---------------------------------------------------------------------------------------------------------------------

sn_status sn_session_eval(sn_session *s, const sn_evaluator *e, const char *path) {
  sn_eval_result result = {0};
  sn_eval_job job = {.model = &e->model, .name = "the model", .inputs = &s->inputs, .path = path};
  sn_status status = sn_session_end(s, sn_job_eval(&s->ctx, &job, &result));
  json_t *report = sn_report_eval(&job, &result);
  if (status == SN_OK) return sn_session_tell(s, "eval", report);
  json_decref(report);
  return status;
}

sn_status sn_session_export(sn_session *s, const sn_evaluator *e, const char *tool, const char *path) {
  sn_export_result done;
  sn_export_job job = {&e->model, "the model", s->inputs.skeletons.texts[0], tool, path};
  if (s->inputs.skeletons.count != 1)
    return sn_fail(&s->ctx, SN_BAD_INPUT, "give `skeleton` FILE: the character that the model was trained with");
  SN_TRY(sn_export(&s->ctx, &job, &done));
  return sn_session_tell(s, "export", sn_report_export(&done));
}

sn_status sn_session_info(sn_session *s, const char *path) {
  SN_FREED_BY(sn_info_result_free) sn_info_result result;
  SN_TRY(sn_job_info(&s->ctx, path, &result));
  return sn_session_tell(s, "info", json_incref(result.report));
}

sn_status sn_session_convert(sn_session *s, const char *from, const char *to) {
  char what[SN_WHAT_SIZE];
  return sn_session_end(s, sn_job_convert(&s->ctx, from, to, &s->inputs, what));
}

sn_status sn_session_pack(sn_session *s, const void *bytes, size_t size, const char *order) {
  sn_rt_model model;
  sn_model_free(&s->model);
  SN_TRY(sn_model_open(&s->ctx, "model", bytes, size, &model));
  return sn_job_pack(&s->ctx, &model, order, &s->model);
}

sn_status sn_session_plot(sn_session *s, const char *path, const sn_plot *plot) {
  return sn_plot_write(&s->ctx, path, plot);
}

sn_status sn_session_write_file(sn_session *s, const char *path, const void *bytes, size_t size) {
  return sn_model_write(&s->ctx, path, &(sn_model){.bytes = (void *)(uintptr_t)bytes, .size = size});
}

sn_status sn_session_write_frames(sn_session *s, const char *path, double fps) {
  if (s->examples.rest.triangles) SN_TRY(sn_examples_check(&s->ctx, &s->examples));
  s->examples.frames.rate = fps;
  return sn_frames_write(&s->ctx, path, &s->examples.frames, &s->examples.rest);
}
