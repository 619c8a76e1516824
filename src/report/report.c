// SPDX-License-Identifier: MIT
// Reports as JSON objects.
#include "report/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *next_value(char kind, va_list *args, bool *empty) {
  json_int_t whole = kind == 'i' || kind == 'b' ? va_arg(*args, int) : kind == 'I' ? va_arg(*args, json_int_t) : 0;
  double real = kind == 'f' ? va_arg(*args, double) : 0;
  const char *text = kind == 's' ? va_arg(*args, const char *) : NULL;
  json_t *value = kind == 'o' ? va_arg(*args, json_t *) : NULL;
  *empty = whole == 0 && real == 0 && (!text || !*text) && !value;
  if (kind == 'i' || kind == 'I') return json_integer(whole);
  if (kind == 'f') return sn_report_number(real);
  if (kind == 'b') return json_boolean(whole);
  return kind == 'o' ? value : text ? sn_report_text(text) : json_null();
}

void sn_report_add(json_t *object, const char *members, ...) {
  va_list args;
  va_start(args, members);
  for (const char *at = members; *at; at += strspn(at, " ")) {
    char name[64];
    bool empty;
    size_t length = strcspn(at, ":");
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    json_t *value = next_value(at[length + 1], &args, &empty);
    bool optional = at[length + 2] == '?';
    if (optional && empty)
      json_decref(value);
    else
      json_object_set_new(object, name, value);
    at += length + 2 + optional;
  }
  va_end(args);
}

json_t *sn_report_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

json_t *sn_report_numbers(const double *values, int count) {
  json_t *out = json_array();
  for (int k = 0; k < count; k++) json_array_append_new(out, sn_report_number(values[k]));
  return out;
}

json_t *sn_report_integers(const int *values, int count) {
  json_t *out = json_array();
  for (int k = 0; k < count; k++) json_array_append_new(out, json_integer(values[k]));
  return out;
}

json_t *sn_report_value(const char *text) {
  if (!text) return json_true();
  char *end;
  double number = strtod(text, &end);
  if (*text && !*end && number == (double)(long)number && number > -1e15 && number < 1e15)
    return json_integer((json_int_t)number);
  if (*text && !*end) {
    json_t *real = json_real(number);
    if (real) return real;
  }
  return sn_report_text(text);
}

json_t *sn_report_options(const sn_option_group *groups, const void *options) {
  json_t *out = json_object();
  for (sn_option_cursor at = {.group = groups}; sn_option_next(&at);)
    json_object_set_new(out, at.option->name, sn_report_value(sn_option_get(&at, options).text));
  return out;
}

static json_t *describe_option(const sn_option *o) {
  static const char *const kinds[] = {"int", "real", "switch", "choice", "text"};
  json_t *out = json_object();
  sn_report_add(out, "name:s default:o initial:s help:s choices:s kind:s least:f most:f", o->name,
                sn_report_value(o->initial), o->initial, o->help, o->choices, kinds[o->kind], o->least, o->most);
  return out;
}

json_t *sn_report_methods(void) {
  json_t *out = json_array();
  for (const sn_method *const *m = sn_methods(); *m; m++) {
    json_t *method = json_object(), *options = json_array();
    for (sn_option_cursor at = {.group = (*m)->options}; sn_option_next(&at);)
      json_array_append_new(options, describe_option(at.option));
    sn_report_add(method, "name:s summary:s options:o", (*m)->name, (*m)->summary, options);
    json_array_append_new(out, method);
  }
  return out;
}

json_t *sn_report_examples(const sn_examples *e) {
  json_t *out = json_object(), *notes = e->note_count > 0 ? json_array() : NULL;
  for (int k = 0; k < e->note_count; k++) json_array_append_new(notes, sn_report_text(e->notes[k]));
  sn_report_add(
    out, "vertices:i triangles:i frames:i joints:i clips:i test_frames:i? file_vertices:i? notes:o? diagonal:f",
    e->rest.vertex_count, e->rest.triangle_count, e->frames.frame_count, e->skeleton.joint_count, e->clip_count,
    e->test_frame_count, e->source ? e->source_count : 0, notes, sn_mesh_diagonal(&e->rest));
  return out;
}

json_t *sn_report_metrics(const sn_metrics *m) {
  if (m->frame_count == 0) return json_null();
  json_t *out = json_object();
  sn_report_add(
    out, "frames:i rms:f rms_pct_diag:f p99_pct_diag:f max_pct_diag:f e_rms:f ee:f std_pct_diag:f normal_deg:f",
    m->frame_count, m->rms, m->rms_pct_diag, m->p99_pct_diag, m->max_pct_diag, m->e_rms, m->ee, m->std_pct_diag,
    m->normal_deg);
  return out;
}

void sn_report_scores(json_t *out, const sn_scores *scores) {
  bool between = scores->between.frame_count > 0;
  sn_report_add(out, "train:o test:o between:o? all:o", sn_report_metrics(&scores->train),
                sn_report_metrics(&scores->test), between ? sn_report_metrics(&scores->between) : NULL,
                sn_report_metrics(&scores->all));
}

static json_t *describe_scored(const sn_train_report *report) {
  json_t *out = report->candidate_count > 0 ? json_array() : NULL;
  for (int k = 0; k < report->candidate_count; k++) {
    const sn_scored *c = &report->candidates[k];
    json_t *one = json_object();
    sn_report_add(one, "name:s cross_validated:f chosen:b", c->name, c->cross_validated, c->is_chosen);
    json_array_append_new(out, one);
  }
  return out;
}

static json_t *describe_rates(const sn_train_report *report) {
  json_t *out = report->rate_count > 0 ? json_array() : NULL;
  for (const sn_rate *r = report->rates; r < report->rates + report->rate_count; r++)
    json_array_append_new(out, json_pack("{sI si sf sf sf sb}", "bytes", (json_int_t)r->bytes, "fields", r->fields,
                                         "cross_validated", r->cross_validated, "rms_pct_diag", r->rms_pct_diag,
                                         "ratio_lbs", r->ratio, "chosen", r->is_chosen));
  return out;
}

static json_t *describe_lacks(const sn_train_report *report) {
  json_t *out = report->lack_count > 0 ? json_array() : NULL;
  for (const sn_lack *l = report->lacks; l < report->lacks + report->lack_count; l++)
    json_array_append_new(out, json_pack("{si sf sf so}", "joint", l->joint, "trained_deg", l->trained, "reached_deg",
                                         l->reached, "advice", sn_report_text(l->advice)));
  return out;
}

json_t *sn_report_train(const sn_scores *scores, const sn_rt_info *info, const sn_train_report *report) {
  json_t *out = json_object();
  sn_report_scores(out, scores);
  sn_report_add(
    out, "bytes:I flops:I seconds:f cross_validated:f? candidates:o? rates:o? lacks:o? learned:s? note:s?",
    (json_int_t)info->bytes, (json_int_t)info->flops, report->seconds, report->cross_validated,
    describe_scored(report), describe_rates(report), describe_lacks(report), report->learned, report->note);
  return out;
}
