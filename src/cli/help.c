// SPDX-License-Identifier: MIT
// --help, from the option tables.
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "report/report.h"

enum { help_width = 100, help_column = 25 };

// Prints text from `column` on, wrapped at help_width.
static void print_wrapped(const char *text, int length, int column) {
  int at = column;
  for (const char *end = text + length; text < end; text += strspn(text, " ")) {
    int word = (int)strcspn(text, " \n");
    if (at > column && at + 1 + word > help_width) {
      printf("\n%*s", column, "");
      at = column;
    }
    at += printf("%s%.*s", at > column ? " " : "", word, text);
    text += word;
  }
  putchar('\n');
}

// Prints the lines of a text; indented ones unchanged.
static void print_text(const char *text) {
  while (*text) {
    int length = (int)strcspn(text, "\n");
    if (*text == ' ')
      printf("%.*s\n", length, text);
    else
      print_wrapped(text, length, 0);
    text += length + (text[length] == '\n');
  }
}

// Prints a name and its meaning; a long name gets a separate line.
static void print_line(const char *left, const char *help, const char *initial, bool repeats) {
  char text[1000];
  bool is_default = initial && *initial && strcmp(initial, "0") != 0;
  snprintf(text, sizeof text, "%s%s%s%s%s", help, is_default ? " (default " : "", is_default ? initial : "",
           is_default ? ")" : "", repeats ? " (repeatable)" : "");
  bool is_long = strlen(left) > help_column - 3;
  printf("  %-22s%s%*s", left, is_long ? "\n" : "", is_long ? help_column : 1, "");
  print_wrapped(text, (int)strlen(text), help_column);
}

static void print_option(const cli_option *option) {
  char left[300];
  snprintf(left, sizeof left, "%s%s%s", option->name, option->argument ? " " : "",
           option->argument ? option->argument : "");
  print_line(left, option->help, option->initial, option->flags & cli_repeats);
}

// ---- options by section --------------------------------------------------------------------------------------------------

static const struct {
  int title;
  const char *name;
} titles[] = {
  {cli_input, "Input"},
  {cli_output, "Output"},
  {cli_quality, "Method, quality and size"},
  {0, "Options"},
  {cli_files, "Files that differ in unit, axes, time or vertex order"},
  {cli_running, "Running"},
};
enum { title_count = sizeof titles / sizeof *titles };

static bool is_listed(const cli_option *option, int title, bool all) {
  return (option->flags & cli_titles) == title && (all || !(option->flags & cli_advanced));
}

static void print_options(const cli *c, bool all) {
  for (int t = 0; t < title_count; t++) {
    bool empty = true;
    for (const cli_option *option = c->options; option->name; option++) {
      if (!is_listed(option, titles[t].title, all)) continue;
      if (empty) printf("\n%s:\n", titles[t].name);
      empty = false;
      print_option(option);
    }
  }
}

// ---- options of methods ----------------------------------------------------------------------------------------------

// Whether no earlier method has this option.
static bool is_new(const sn_option *option, const sn_method *const *first) {
  for (const sn_method *const *m = sn_methods(); m < first; m++)
    for (sn_option_cursor at = {.group = (*m)->options}; sn_option_next(&at);)
      if (at.option == option) return false;
  return true;
}

static bool is_number(const sn_option *option) {
  return option->kind == SN_OPTION_INT || option->kind == SN_OPTION_REAL;
}

static void print_method_option(const sn_option *option) {
  char left[300];
  snprintf(left, sizeof left, "%s%s%s%s", option->name, option->choices ? "=" : "",
           option->choices && is_number(option) ? "X|" : "", option->choices ? option->choices : "");
  print_line(left, option->help, option->initial, false);
}

// Prints the options that no earlier method has; then the names of the others.
static void print_method_options(const sn_method *const *m, bool all) {
  char shared[300] = "";
  for (sn_option_cursor at = {.group = (*m)->options}; sn_option_next(&at);) {
    size_t used = strlen(shared);
    if (all || is_new(at.option, m))
      print_method_option(at.option);
    else
      snprintf(shared + used, sizeof shared - used, "%s%s", used ? ", " : "", at.option->name);
  }
  if (*shared) print_line("as above", shared, NULL, false);
}

static void print_methods(const cli *c, bool all) {
  bool trains = strcmp(c->command->name, "train") == 0; // other commands have rows that are not models
  printf("\nMethods:\n");
  for (const sn_method *const *m = sn_methods(); *m; m++) {
    if (trains && !(*m)->train) continue;
    if (!all) print_line((*m)->name, (*m)->summary, NULL, false);
    if (all) printf("\n%s: %s\n", (*m)->name, (*m)->summary), print_method_options(m, false);
  }
}

// Help on one method; false if the topic is not a method.
static bool print_method(const char *topic) {
  for (const sn_method *const *m = sn_methods(); *m; m++) {
    if (strcmp((*m)->name, topic) != 0) continue;
    printf("%s: %s\n\n", (*m)->name, (*m)->summary);
    print_method_options(m, true);
    return true;
  }
  return false;
}

// ---- tables for other programs -----------------------------------------------------------------------------------------

// The command's tables as JSON: for man pages, shell completion and documentation (tools/tables.py).
static void print_tables(const cli *c) {
  const cli_command *command = c->command;
  json_t *out = json_object(), *options = json_array();
  for (const cli_option *option = c->options; option->name; option++) {
    json_t *one = json_object();
    int t = 0;
    while (titles[t].title != (option->flags & cli_titles)) t++;
    sn_report_add(one, "name:s argument:s default:s help:s title:i repeats:b", option->name, option->argument,
                  option->initial, option->help, t, option->flags & cli_repeats);
    json_array_append_new(options, one);
  }
  sn_report_add(out, "name:s version:s usage:s summary:s details:s example:s options:o methods:o", command->name,
                SN_VERSION, command->usage, command->summary, command->details, command->example, options,
                command->takes_method ? sn_report_methods() : json_array());
  json_dumpf(out, stdout, 0);
  json_decref(out);
}

// ---- the help page --------------------------------------------------------------------------------------------------------

// Every line of a text, indented.
static void print_indented(const char *text) {
  for (; *text; text += strspn(text, "\n")) {
    int length = (int)strcspn(text, "\n");
    printf("  %.*s\n", length, text);
    text += length;
  }
}

static void print_help(const cli *c, bool all) {
  const cli_command *command = c->command;
  char text[2000];
  printf("sinew %s %s\n\n", command->name, command->usage);
  snprintf(text, sizeof text, "%c%s.%s%s", command->summary[0] - ('a' - 'A'), command->summary + 1,
           command->details ? " " : "", command->details ? command->details : "");
  print_text(text);
  print_options(c, all);
  if (command->takes_method) print_methods(c, all);
  if (command->more_help) command->more_help();
  printf("\nExample:\n");
  print_indented(command->example);
  if (command->takes_method && !all) printf("\n`sinew %s --help NAME` lists the options of a method.", command->name);
  if (!all) printf("\n`sinew %s --help all` lists every option.\n", command->name);
}

void sn_cli_help(const cli *c, const char *topic) {
  if (!topic || strcmp(topic, "all") == 0)
    print_help(c, topic);
  else if (strcmp(topic, "tables") == 0)
    print_tables(c);
  else if (!c->command->takes_method || !print_method(topic))
    print_help(c, false);
}
