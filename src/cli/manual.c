// SPDX-License-Identifier: MIT
// Man pages and the words of shell completion, from the tables of options: `--help man` and `--help words` (tools/manual.sh).
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "sinew/train.h"

// Text as roff wants it: no character of it is a request or an escape.
static void print_text(const char *text) {
  bool line_start = true;
  for (const char *c = text; *c; c++) {
    if (line_start && (*c == '.' || *c == '\'')) fputs("\\&", stdout);
    if (*c == '\\' || *c == '-')
      fputs(*c == '-' ? "\\-" : "\\e", stdout);
    else
      putchar(*c);
    line_start = *c == '\n';
  }
}

static void print_between(const char *before, const char *text, const char *after) {
  fputs(before, stdout);
  print_text(text);
  fputs(after, stdout);
}

static void print_item(const char *name, const char *argument, const char *help, const char *initial, bool repeats) {
  print_between(".TP\n\\fB", name, "\\fR");
  if (argument) print_between(" \\fI", argument, "\\fR");
  print_between("\n", help, "");
  if (initial && *initial) print_between(" (default ", initial, ")");
  printf("%s\n", repeats ? " (may be repeated)" : "");
}

static void print_methods(void) {
  printf(".SH METHODS\nA method is given as \\fINAME\\fR or \\fINAME\\fR:key=value,key=value.\n");
  for (const sn_method *const *m = sn_methods(); *m; m++) {
    printf(".SS %s", (*m)->name);
    print_between("\n", (*m)->summary, "\n");
    for (sn_option_cursor at = {.group = (*m)->options}; sn_option_next(&at);)
      print_item(at.option->name, at.option->choices, at.option->help, at.option->initial, false);
  }
}

void sn_cli_print_manual(const cli *c) {
  const cli_command *command = c->command;
  printf(".TH SINEW\\-%s 1 \"\" \"sinew %s\" \"Sinew\"\n.SH NAME\nsinew\\-%s", command->name, SN_VERSION,
         command->name);
  print_between(" \\- ", command->summary, "\n");
  printf(".SH SYNOPSIS\n\\fBsinew %s\\fR", command->name);
  print_between(" ", command->usage, "\n");
  if (command->details) print_between(".SH DESCRIPTION\n", command->details, "\n");
  printf(".SH OPTIONS\n");
  for (const cli_option *option = c->options; option->name; option++)
    print_item(option->name, option->argument, option->help, option->initial, option->flags & cli_repeats);
  if (command->takes_method) print_methods();
  printf(".SH EXIT STATUS\n0 done, 1 the work failed (a message says what and where), 2 wrong usage.\n");
  print_between(".SH EXAMPLE\n.nf\n", command->example, "\n.fi\n.SH SEE ALSO\n\\fBsinew\\fR(1)\n");
}

// A line per option: its name, what follows it (files, a method, one of several words, something, nothing), its help.
static const char *kind_of(const cli_option *option) {
  const char *argument = option->argument;
  if (!argument || strcmp(option->name, "--help") == 0) return "nothing";
  if (strcmp(option->name, "--method") == 0) return "method";
  if (strstr(argument, "FILE") || strstr(argument, "DIR") || strstr(argument, "MODEL") || strstr(argument, "MESH"))
    return "file";
  for (const char *a = argument; *a; a++)
    if (*a >= 'A' && *a <= 'Z') return "something";
  return strchr(argument, '|') ? argument : "something";
}

void sn_cli_print_words(const cli *c) {
  for (const cli_option *option = c->options; option->name; option++)
    printf("%s\t%s\t%s\n", option->name, kind_of(option), option->help);
  for (const sn_method *const *m = sn_methods(); c->command->takes_method && *m; m++)
    printf("method %s\tmethod\t%s\n", (*m)->name, (*m)->summary);
}
