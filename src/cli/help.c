// SPDX-License-Identifier: MIT
// --help, and the tables of the documentation, from the tables of options.
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "sinew/train.h"

// A column of 22 characters; what is longer has a line to itself.
static void print_line(const char *left, const char *help, const char *initial, const char *more) {
  printf("  %-22s%s %s", left, strlen(left) > 22 ? "\n                        " : "", help);
  if (initial && *initial) printf(" (default %s)", initial);
  printf("%s\n", more);
}

static void print_option(const cli_option *option) {
  char left[300];
  snprintf(left, sizeof left, "%s%s%s", option->name, option->argument ? " " : "",
           option->argument ? option->argument : "");
  print_line(left, option->help, option->initial, option->flags & cli_repeats ? " (may be repeated)" : "");
}

// ---- options of methods ----------------------------------------------------------------------------------------------

static bool has(const sn_method *method, const sn_option *option) {
  for (sn_option_cursor at = {.group = method->options}; sn_option_next(&at);)
    if (at.option == option) return true;
  return false;
}

// "lbs, dqs, psd": the methods that share an option. False where an earlier one than `first` has it.
static bool methods_with(const sn_option *option, const sn_method *const *first, char *out, size_t size) {
  *out = '\0';
  for (const sn_method *const *m = sn_methods(); *m; m++) {
    if (!has(*m, option)) continue;
    if (m < first) return false;
    size_t used = strlen(out);
    snprintf(out + used, size - used, "%s%s", used ? ", " : "", (*m)->name);
  }
  return true;
}

static bool is_number(const sn_option *option) {
  return option->kind == SN_OPTION_INT || option->kind == SN_OPTION_REAL;
}

static void print_method_option(const sn_option *option, const char *more) {
  char left[300];
  snprintf(left, sizeof left, "%s%s%s%s", option->name, option->choices ? "=" : "",
           option->choices && is_number(option) ? "X|" : "", option->choices ? option->choices : "");
  print_line(left, option->help, option->initial, more);
}

static void print_common_options(void) {
  printf("\nOptions of methods that people need most, as in NAME:key=value,key=value:\n");
  for (const sn_method *const *m = sn_methods(); *m; m++) {
    for (sn_option_cursor at = {.group = (*m)->options}; sn_option_next(&at);) {
      char names[200], more[210];
      if (at.option->use != SN_OPTION_COMMON || !methods_with(at.option, m, names, sizeof names)) continue;
      snprintf(more, sizeof more, " [%s]", names);
      print_method_option(at.option, more);
    }
  }
}

static void print_methods(const cli *c, const char *topic) {
  bool all = topic && strcmp(topic, "all") == 0;
  printf("\nMethods:\n");
  for (const sn_method *const *m = sn_methods(); *m; m++) {
    print_line((*m)->name, (*m)->summary, NULL, "");
    for (sn_option_cursor at = {.group = (*m)->options}; all && sn_option_next(&at);)
      print_method_option(at.option, "");
  }
  if (all) return;
  print_common_options();
  printf("\n`sinew %s --help NAME` lists the options of one method, `--help all` everything.\n", c->command->name);
}

// Help on one method; false where the topic is none.
static bool print_method(const char *topic) {
  for (const sn_method *const *m = sn_methods(); *m; m++) {
    if (strcmp((*m)->name, topic) != 0) continue;
    printf("%s: %s\n\n", (*m)->name, (*m)->summary);
    for (sn_option_cursor at = {.group = (*m)->options}; sn_option_next(&at);) print_method_option(at.option, "");
    return true;
  }
  return false;
}

// ---- the documentation's tables ------------------------------------------------------------------------------------------

static void print_row(const sn_option *option) {
  printf("| `%s` | %s | ", option->name, option->initial);
  if (is_number(option)) printf("%g to %g%s", option->least, option->most, option->choices ? ", " : "");
  if (option->kind == SN_OPTION_SWITCH) printf("0, 1");
  if (option->kind == SN_OPTION_TEXT) printf("text");
  for (const char *c = option->choices; c && *c; c++) printf(*c == '|' ? ", " : "%c", *c);
  printf(" | %s |\n", option->help);
}

static void print_table(const sn_option_group *groups, const sn_method *const *method) {
  char names[200];
  printf("| option | default | values | meaning |\n| --- | --- | --- | --- |\n");
  for (sn_option_cursor at = {.group = groups}; sn_option_next(&at);)
    if (!method || methods_with(at.option, method, names, sizeof names)) print_row(at.option);
}

// The options of every method; what an earlier one has too is only named.
static void print_method_tables(void) {
  char names[200];
  for (const sn_method *const *m = sn_methods(); *m; m++) {
    int own = 0, shared = 0;
    for (sn_option_cursor at = {.group = (*m)->options}; sn_option_next(&at);)
      ++*(methods_with(at.option, m, names, sizeof names) ? &own : &shared);
    printf("### Options of %s\n\n", (*m)->name);
    if (own > 0) print_table((*m)->options, m);
    if (own == 0 && shared == 0) printf("None.\n");
    if (shared > 0) printf("%sAs above:", own > 0 ? "\n" : "");
    for (sn_option_cursor at = {.group = (*m)->options}; shared > 0 && sn_option_next(&at);)
      if (!methods_with(at.option, m, names, sizeof names)) printf(" `%s`", at.option->name);
    printf("%s\n", shared > 0 ? ".\n" : "");
  }
}

// Of a command, or all options of one method.
static void print_markdown(const cli_command *command, const char *method) {
  for (const sn_method *const *m = sn_methods(); *method && *m; m++)
    if (strcmp((*m)->name, method) == 0) print_table((*m)->options, NULL);
  if (*method) return;
  if (command->typed) print_table(command->typed, NULL);
  if (command->takes_method) print_method_tables();
}

// ---- all of it ------------------------------------------------------------------------------------------------------------

void sn_cli_help(const cli *c, const char *topic) {
  const cli_command *command = c->command;
  bool all = topic && strcmp(topic, "all") == 0, left = false;
  if (topic && strncmp(topic, "markdown", 8) == 0) {
    print_markdown(command, topic[8] == ':' ? topic + 9 : "");
    return;
  }
  if (topic && strcmp(topic, "man") == 0) {
    sn_cli_print_manual(c);
    return;
  }
  if (topic && strcmp(topic, "words") == 0) {
    sn_cli_print_words(c);
    return;
  }
  if (topic && command->takes_method && print_method(topic)) return;
  printf("sinew %s %s\n\n%s.\n", command->name, command->usage, command->summary);
  if (command->details) printf("\n%s\n", command->details);
  printf("\nOptions:\n");
  for (const cli_option *option = c->options; option->name; option++) {
    if (!(option->flags & cli_advanced) || all) print_option(option);
    left = left || option->flags & cli_advanced;
  }
  if (left && !all) printf("\n`sinew %s --help all` tells of more options.\n", command->name);
  if (command->takes_method) print_methods(c, topic);
  if (command->more_help) command->more_help();
  printf("\nExample:\n  %s\n", command->example);
}
