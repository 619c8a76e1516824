// SPDX-License-Identifier: MIT
// The table of methods, and the parsing of --method.
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const sn_method *const methods[] = {&sn_method_rigid,  &sn_method_lbs,       &sn_method_dqs,
                                           &sn_method_psd,    &sn_method_eigenskin, &sn_method_rotreg,
                                           &sn_method_torque, &sn_method_affine,    NULL};

const sn_method *const *sn_methods(void) { return methods; }

static sn_status find_method(sn_context *ctx, const char *name, const sn_method **out) {
  const char *names[32] = {0};
  for (int k = 0; methods[k]; k++) {
    names[k] = methods[k]->name;
    if (strcmp(name, names[k]) == 0) {
      *out = methods[k];
      return SN_OK;
    }
  }
  const char *meant = sn_suggest(name, names);
  if (meant) return sn_fail(ctx, SN_BAD_INPUT, "unknown method '%s'; did you mean %s?", name, meant);
  char list[256] = "";
  for (int k = 0; names[k]; k++) {
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", k ? ", " : "", names[k]);
  }
  return sn_fail(ctx, SN_BAD_INPUT, "unknown method '%s'; there are %s", name, list);
}

// Position of `value` among the '|'-separated choices, or -1.
static int find_choice(const char *choices, const char *value) {
  size_t size = strlen(value);
  for (int index = 0; choices; index++) {
    const char *bar = strchr(choices, '|');
    size_t length = bar ? (size_t)(bar - choices) : strlen(choices);
    if (length == size && memcmp(choices, value, size) == 0) return index;
    choices = bar ? bar + 1 : NULL;
  }
  return -1;
}

static sn_status parse_value(sn_context *ctx, const char *text, const sn_method_option *option, const char *value,
                             double *out) {
  if (option->kind == SN_OPTION_CHOICE) {
    int index = find_choice(option->choices, value);
    *out = index;
    if (index >= 0) return SN_OK;
    return sn_fail(ctx, SN_BAD_INPUT, "method %s: %s=%s: choose one of %s", text, option->name, value,
                   option->choices);
  }
  if (option->kind == SN_OPTION_TEXT) {
    *out = -1; // the caller knows where it is
    return SN_OK;
  }
  int word = option->choices ? find_choice(option->choices, value) : -1;
  *out = -1 - word;
  if (word >= 0) return SN_OK;
  char *end;
  *out = strtod(value, &end);
  bool whole = option->kind != SN_OPTION_INT || *out == floor(*out);
  if (*value && !*end && whole && *out >= option->least && *out <= option->most) return SN_OK;
  return sn_fail(ctx, SN_BAD_INPUT, "method %s: %s=%s: must be a %snumber from %g to %g%s%s", text, option->name,
                 value, option->kind == SN_OPTION_INT ? "whole " : "", option->least, option->most,
                 option->choices ? " or one of " : "", option->choices ? option->choices : "");
}

// `at`: where the pair begins in out->text.
static sn_status parse_pair(sn_context *ctx, sn_method_spec *out, char *pair, size_t at) {
  char *equals = strchr(pair, '=');
  if (!equals) return sn_fail(ctx, SN_BAD_INPUT, "method %s: '%s' is not key=value", out->text, pair);
  *equals = '\0';
  const char *names[SN_METHOD_OPTIONS + 1] = {0};
  for (int k = 0; out->method->options[k].name; k++) {
    names[k] = out->method->options[k].name;
    if (strcmp(pair, names[k]) == 0) {
      sn_status status = parse_value(ctx, out->text, &out->method->options[k], equals + 1, &out->numbers[k]);
      if (out->method->options[k].kind == SN_OPTION_TEXT)
        out->numbers[k] = (double)(at + (size_t)(equals + 1 - pair));
      return status;
    }
  }
  const char *meant = sn_suggest(pair, names);
  if (meant)
    return sn_fail(ctx, SN_BAD_INPUT, "method %s: unknown option '%s'; did you mean %s?", out->text, pair, meant);
  return sn_fail(ctx, SN_BAD_INPUT, "method %s: unknown option '%s'", out->text, pair);
}

sn_status sn_method_parse(sn_context *ctx, const char *text, sn_method_spec *out) {
  *out = (sn_method_spec){0};
  if (strlen(text) >= sizeof out->text) return sn_fail(ctx, SN_BAD_INPUT, "method %.40s...: too long", text);
  snprintf(out->text, sizeof out->text, "%s", text);
  char copy[sizeof out->text];
  memcpy(copy, out->text, sizeof copy);
  char *rest = strchr(copy, ':');
  if (rest) *rest++ = '\0';
  sn_status status = find_method(ctx, copy, &out->method);
  for (int k = 0; status == SN_OK && out->method->options[k].name; k++) {
    const sn_method_option *option = &out->method->options[k];
    status = parse_value(ctx, text, option, option->initial, &out->numbers[k]);
  }
  while (status == SN_OK && rest && *rest) {
    char *comma = strchr(rest, ',');
    if (comma) *comma = '\0';
    status = parse_pair(ctx, out, rest, (size_t)(rest - copy));
    rest = comma ? comma + 1 : NULL;
  }
  return status;
}

double sn_method_number(const sn_method_spec *spec, const char *name) {
  for (int k = 0; spec->method->options[k].name; k++)
    if (strcmp(spec->method->options[k].name, name) == 0) return spec->numbers[k];
  return NAN;
}

void sn_method_text(const sn_method_spec *spec, const char *name, char *out, size_t size) {
  *out = '\0';
  for (int k = 0; spec->method->options[k].name; k++) {
    const sn_method_option *option = &spec->method->options[k];
    if (strcmp(option->name, name) != 0) continue;
    const char *value = spec->numbers[k] < 0 ? option->initial : spec->text + (size_t)spec->numbers[k];
    snprintf(out, size, "%.*s", (int)strcspn(value, ","), value);
  }
}

static sn_status check_training(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                                const sn_keys *keys) {
  if (keys->count == 0) return sn_fail(ctx, SN_BAD_INPUT, "no frames to train on; see --keys");
  if (spec->method->needs_skeleton && examples->skeleton.joint_count == 0) {
    return sn_fail(ctx, SN_BAD_INPUT, "method %s needs --skeleton FILE with a pose for every frame",
                   spec->method->name);
  }
  return SN_OK;
}

bool sn_method_has_no_model(const sn_method_spec *spec) {
  return spec->method->has_no_model && spec->method->has_no_model(spec);
}

sn_status sn_train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples, const sn_keys *keys,
                   sn_model *out, sn_train_report *report) {
  *out = (sn_model){0};
  sn_train_report ignored;
  if (!report) report = &ignored;
  *report = (sn_train_report){0};
  if (sn_method_has_no_model(spec)) {
    return sn_fail(ctx, SN_UNSUPPORTED, "%s has no model that could be written: only `compare` evaluates it",
                   spec->text);
  }
  sn_status status = check_training(ctx, spec, examples, keys);
  double start = sn_seconds();
  if (status == SN_OK) status = spec->method->train(ctx, spec, examples, keys, out, report);
  report->seconds = sn_seconds() - start;
  return status;
}

// From the examples' vertices to those of the rest file.
static sn_status split_frames(sn_context *ctx, const sn_examples *examples, const sn_frames *welded, sn_frames *out) {
  sn_status status = sn_frames_new(ctx, examples->source_count, welded->frame_count, out);
  for (int f = 0; status == SN_OK && f < welded->frame_count; f++)
    for (int s = 0; s < examples->source_count; s++) {
      memcpy(sn_frame_mutable(out, f)[s], sn_frame(welded, f)[examples->source[s]], sizeof(float[3]));
    }
  return status;
}

sn_status sn_train_predict(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                           const sn_keys *keys, const sn_keys *wanted, sn_frames *out, sn_train_report *report) {
  *out = (sn_frames){0}, *report = (sn_train_report){0};
  sn_status status = check_training(ctx, spec, examples, keys);
  double start = sn_seconds();
  sn_frames frames = {0};
  if (status == SN_OK) status = spec->method->predict(ctx, spec, examples, keys, wanted, &frames);
  report->seconds = sn_seconds() - start;
  if (status != SN_OK || !examples->source) {
    *out = frames;
    return status;
  }
  status = split_frames(ctx, examples, &frames, out);
  sn_frames_free(&frames);
  return status;
}
