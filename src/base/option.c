// SPDX-License-Identifier: MIT
// Tables of options: defaults, and conversion between text and struct fields.
#include "base/scope.h"
#include "sinew/option.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sn_option_next(sn_option_cursor *cursor) {
  cursor->option = cursor->option ? cursor->option + 1 : cursor->group->options;
  while (cursor->option && !cursor->option->name) cursor->option = (++cursor->group)->options;
  if (cursor->option) cursor->offset = cursor->group->offset + cursor->option->offset;
  return cursor->option != NULL;
}

int sn_option_choice(const char *choices, const char *value) {
  size_t size = strlen(value);
  for (int index = 0; choices; index++) {
    const char *bar = strchr(choices, '|');
    size_t length = bar ? (size_t)(bar - choices) : strlen(choices);
    if (length == size && memcmp(choices, value, size) == 0) return index;
    choices = bar ? bar + 1 : NULL;
  }
  return -1;
}

static sn_status store_choice(sn_context *ctx, const sn_option *option, const char *value, void *field) {
  int index = sn_option_choice(option->choices, value);
  if (index < 0) return sn_fail(ctx, SN_BAD_INPUT, "%s=%s: choose one of %s", option->name, value, option->choices);
  memcpy(field, &index, sizeof index); // an enum has the size of an int
  return SN_OK;
}

static sn_status store_number(sn_context *ctx, const sn_option *option, const char *value, void *field) {
  int word = option->choices ? sn_option_choice(option->choices, value) : -1;
  char *end = NULL;
  double number = word >= 0 ? -word : strtod(value, &end);
  bool whole = option->kind == SN_OPTION_INT;
  if (word < 0 && (!*value || *end || (whole && number != floor(number)) || !(number >= option->least) ||
                   !(number <= option->most))) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s=%s: must be a %snumber from %g to %g%s%s", option->name, value,
                   whole ? "whole " : "", option->least, option->most, option->choices ? " or " : "",
                   option->choices ? option->choices : "");
  }
  if (whole) *(int *)field = (int)number;
  if (!whole) *(double *)field = number;
  return SN_OK;
}

static sn_status store(sn_context *ctx, const sn_option *option, const char *value, void *field) {
  switch (option->kind) {
  case SN_OPTION_CHOICE:
    return store_choice(ctx, option, value, field);
  case SN_OPTION_INT:
  case SN_OPTION_REAL:
    return store_number(ctx, option, value, field);
  case SN_OPTION_SWITCH:
    if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
      return sn_fail(ctx, SN_BAD_INPUT, "%s=%s: must be 0 or 1", option->name, value);
    *(bool *)field = *value == '1';
    return SN_OK;
  case SN_OPTION_TEXT:
    if (strlen(value) >= SN_OPTION_TEXT_SIZE)
      return sn_fail(ctx, SN_BAD_INPUT, "%s=%.20s...: too long", option->name, value);
    memcpy(field, value, strlen(value) + 1);
  }
  return SN_OK;
}

void sn_options_initial(const sn_option_group *groups, void *out) {
  sn_context ctx = sn_context_default();
  for (sn_option_cursor at = {.group = groups}; sn_option_next(&at);)
    store(&ctx, at.option, at.option->initial, (char *)out + at.offset);
}

sn_status sn_option_set(sn_context *ctx, const sn_option_group *groups, const char *name, const char *value,
                        void *out) {
  const char *names[65] = {0};
  int count = 0;
  for (sn_option_cursor at = {.group = groups}; sn_option_next(&at);) {
    if (strcmp(at.option->name, name) == 0) return store(ctx, at.option, value, (char *)out + at.offset);
    if (count < 64) names[count++] = at.option->name;
  }
  return sn_fail_unknown(ctx, "option", name, names);
}

sn_status sn_options_parse(sn_context *ctx, const sn_option_group *groups, const char *pairs, void *out) {
  while (pairs && *pairs) {
    char pair[SN_OPTION_TEXT_SIZE + 64];
    size_t length = strcspn(pairs, ",");
    if (length >= sizeof pair) return sn_fail(ctx, SN_BAD_INPUT, "'%.20s...': too long", pairs);
    memcpy(pair, pairs, length);
    pair[length] = '\0';
    char *equals = strchr(pair, '=');
    if (!equals) return sn_fail(ctx, SN_BAD_INPUT, "'%s' is not key=value", pair);
    *equals = '\0';
    SN_TRY(sn_option_set(ctx, groups, pair, equals + 1, out));
    pairs += length + (pairs[length] == ',');
  }
  return SN_OK;
}

// The word of `choices`; the number if there is no such word.
static sn_option_value word_at(const char *choices, int index, double number) {
  sn_option_value out;
  const char *word = choices;
  for (int k = 0; word && k != index; k++) word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL;
  if (word) snprintf(out.text, sizeof out.text, "%.*s", (int)strcspn(word, "|"), word);
  if (!word) snprintf(out.text, sizeof out.text, "%.9g", number);
  return out;
}

sn_option_value sn_option_get(const sn_option_cursor *cursor, const void *options) {
  const sn_option *option = cursor->option;
  const void *field = (const char *)options + cursor->offset;
  sn_option_value out = {""};
  int index = 0;
  if (option->kind == SN_OPTION_INT || option->kind == SN_OPTION_CHOICE) memcpy(&index, field, sizeof index);
  double number = option->kind == SN_OPTION_REAL ? *(const double *)field : index;
  switch (option->kind) {
  case SN_OPTION_CHOICE:
    return word_at(option->choices, index, number);
  case SN_OPTION_INT:
  case SN_OPTION_REAL:
    if (option->choices && number <= 0 && number < option->least && number == floor(number))
      return word_at(option->choices, (int)fmin(-number, 1000), number);
    snprintf(out.text, sizeof out.text, "%.9g", number);
    break;
  case SN_OPTION_SWITCH:
    snprintf(out.text, sizeof out.text, "%d", *(const bool *)field);
    break;
  case SN_OPTION_TEXT:
    snprintf(out.text, sizeof out.text, "%s", (const char *)field);
  }
  return out;
}

sn_status sn_options_check(sn_context *ctx, const sn_option_group *groups, const void *options) {
  union {
    double number;
    sn_option_value text;
  } field;
  for (sn_option_cursor at = {.group = groups}; sn_option_next(&at);)
    SN_TRY(store(ctx, at.option, sn_option_get(&at, options).text, &field));
  return SN_OK;
}
