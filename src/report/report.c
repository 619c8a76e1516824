// SPDX-License-Identifier: MIT
// Reports as JSON objects.
#include "report/report.h"

#include <math.h>
#include <stdlib.h>

json_t *sn_report_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

json_t *sn_report_numbers(const double *values, int count) {
  json_t *out = json_array();
  for (int k = 0; k < count; k++) json_array_append_new(out, sn_report_number(values[k]));
  return out;
}

json_t *sn_report_value(const char *text) {
  if (!text) return json_true();
  char *end;
  double number = strtod(text, &end);
  if (*text && !*end && number == (double)(long)number && number > -1e15 && number < 1e15) {
    return json_integer((json_int_t)number);
  }
  if (*text && !*end) {
    json_t *real = json_real(number);
    if (real) return real;
  }
  return sn_report_text(text);
}

json_t *sn_report_options(const sn_option_group *groups, const void *options) {
  json_t *out = json_object();
  for (sn_option_cursor at = {.group = groups}; sn_option_next(&at);) {
    json_object_set_new(out, at.option->name, sn_report_value(sn_option_get(&at, options).text));
  }
  return out;
}

json_t *sn_report_examples(const sn_examples *examples) {
  json_t *out = json_object();
  json_object_set_new(out, "vertices", json_integer(examples->rest.vertex_count));
  json_object_set_new(out, "triangles", json_integer(examples->rest.triangle_count));
  json_object_set_new(out, "frames", json_integer(examples->frames.frame_count));
  json_object_set_new(out, "joints", json_integer(examples->skeleton.joint_count));
  json_object_set_new(out, "clips", json_integer(examples->clip_count));
  if (examples->test_frame_count > 0) {
    json_object_set_new(out, "test_frames", json_integer(examples->test_frame_count));
  }
  if (examples->source) json_object_set_new(out, "file_vertices", json_integer(examples->source_count));
  if (examples->note_count > 0) {
    json_t *notes = json_array();
    for (int k = 0; k < examples->note_count; k++) json_array_append_new(notes, sn_report_text(examples->notes[k]));
    json_object_set_new(out, "notes", notes);
  }
  json_object_set_new(
    out, "diagonal",
    json_real(sn_points_diagonal((const float(*)[3])examples->rest.positions, examples->rest.vertex_count)));
  return out;
}

json_t *sn_report_metrics(const sn_metrics *m) {
  if (m->frame_count == 0) return json_null();
  json_t *out = json_object();
  json_object_set_new(out, "frames", json_integer(m->frame_count));
  json_object_set_new(out, "rms", sn_report_number(m->rms));
  json_object_set_new(out, "rms_pct_diag", sn_report_number(m->rms_pct_diag));
  json_object_set_new(out, "max_pct_diag", sn_report_number(m->max_pct_diag));
  json_object_set_new(out, "e_rms", sn_report_number(m->e_rms));
  json_object_set_new(out, "ee", sn_report_number(m->ee));
  json_object_set_new(out, "std_pct_diag", sn_report_number(m->std_pct_diag));
  json_object_set_new(out, "normal_deg", sn_report_number(m->normal_deg));
  return out;
}

void sn_report_scores(json_t *out, const sn_scores *scores) {
  json_object_set_new(out, "train", sn_report_metrics(&scores->train));
  json_object_set_new(out, "test", sn_report_metrics(&scores->test));
  if (scores->between.frame_count > 0) json_object_set_new(out, "between", sn_report_metrics(&scores->between));
  json_object_set_new(out, "all", sn_report_metrics(&scores->all));
}

static json_t *describe_scored(const sn_train_report *report) {
  json_t *out = json_array();
  for (int k = 0; k < report->candidate_count; k++) {
    const sn_scored *c = &report->candidates[k];
    json_t *one = json_object();
    json_object_set_new(one, "name", sn_report_text(c->name));
    json_object_set_new(one, "cross_validated", sn_report_number(c->cross_validated));
    json_object_set_new(one, "chosen", json_boolean(c->is_chosen));
    json_array_append_new(out, one);
  }
  return out;
}

json_t *sn_report_train(const sn_scores *scores, const sn_rt_info *info, const sn_train_report *report) {
  json_t *out = json_object();
  sn_report_scores(out, scores);
  json_object_set_new(out, "bytes", json_integer((json_int_t)info->bytes));
  json_object_set_new(out, "flops", json_integer((json_int_t)info->flops));
  json_object_set_new(out, "seconds", json_real(report->seconds));
  if (report->cross_validated > 0) json_object_set_new(out, "cross_validated", json_real(report->cross_validated));
  if (report->candidate_count > 0) json_object_set_new(out, "candidates", describe_scored(report));
  if (report->note[0]) json_object_set_new(out, "note", sn_report_text(report->note));
  return out;
}

json_t *sn_report_rig(const sn_rig_report *r, const sn_metrics *error, int influences, double gap_pct, int rest_frame,
                      double seconds, int frame_count, int vertex_count) {
  json_t *out = sn_report_metrics(error), *histogram = json_array();
  for (int k = 0; k <= influences; k++) json_array_append_new(histogram, json_integer(r->influences[k]));
  json_object_set_new(out, "bones", json_integer(r->bones));
  json_object_set_new(out, "bones_wanted", r->bones_wanted ? json_integer(r->bones_wanted) : json_null());
  json_object_set_new(out, "rest_frame", rest_frame < 0 ? json_null() : json_integer(rest_frame));
  json_object_set_new(out, "pruned", json_integer(r->pruned));
  json_object_set_new(out, "reason", *r->reason ? sn_report_text(r->reason) : json_null());
  json_object_set_new(out, "influences", json_integer(influences));
  json_object_set_new(out, "influences_histogram", histogram);
  json_object_set_new(out, "joint_gap_pct_diag", json_real(gap_pct));
  json_object_set_new(out, "p99_pct_diag", json_real(r->p99_pct_diag));
  json_object_set_new(out, "roughness", json_real(r->roughness));
  json_object_set_new(out, "symmetric", json_boolean(r->symmetric));
  json_object_set_new(out, "joints_inside_pct", json_real(r->joints_inside_pct));
  json_object_set_new(out, "joint_outside_pct_diag", json_real(r->joint_outside_pct_diag));
  json_object_set_new(out, "pieces", json_integer(r->pieces));
  json_object_set_new(out, "iterations", json_integer(r->iterations));
  json_object_set_new(out, "seconds", json_real(seconds));
  json_object_set_new(out, "frame_rms", sn_report_numbers(r->frame_rms, frame_count));
  json_object_set_new(out, "vertex_rms", sn_report_numbers(r->vertex_rms, vertex_count));
  return out;
}
