// SPDX-License-Identifier: MIT
// Parsing of the command line, and suggestions for misspelt names.
#include "cli/cli.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinew/train.h"

// Options every command takes.
static const cli_option common_options[] = {
  {"--threads", "N", "0", "worker threads; 0 is one per core. Results do not depend on it",
   cli_advanced | cli_running},
  {"--seed", "N", "1", "seed of everything random", cli_advanced | cli_running},
  {"--memory", "SIZE", "0", "most memory to use, as 500M or 4G; 0 is what the machine has",
   cli_advanced | cli_running},
  {"--quiet", NULL, NULL, "print errors only", cli_advanced | cli_running},
  {"--json", "FILE", NULL, "write a machine-readable report; - is standard output", cli_output},
  {"--help", "[all]", NULL, "show this text; all: every option", cli_advanced | cli_running},
};

int sn_cli_misuse(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("sinew: ", stderr);
  sn_cli_vprint(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  return exit_usage;
}

int sn_cli_misuse_method(const cli *c, const char *spec) {
  int name = (int)strcspn(spec, ":");
  if (!spec[name]) return sn_cli_misuse("%s", c->ctx.error.message);
  return sn_cli_misuse("%s (`sinew %s --help %.*s` explains them)", c->ctx.error.message, c->command->name, name,
                       spec);
}

void sn_cli_name_options(const cli *c, char *text) {
  for (const cli_option *option = c->options; option && option->name; option++) {
    size_t length = strlen(option->name) - 2;
    for (char *at = strchr(text, '`'); at; at = strchr(at + 1, '`')) {
      if (strncmp(at + 1, option->name + 2, length) != 0 || at[1 + length] != '`') continue;
      memcpy(at, option->name, length + 2);
    }
  }
}

int sn_cli_fail(cli *c) {
  if (c->progress) sn_cli_progress_end(c);
  sn_cli_name_options(c, c->ctx.error.message);
  bool limited = c->ctx.error.status == SN_NO_MEMORY && sn_cli_given(c, "--memory");
  sn_cli_print(stderr, "sinew: %s%s\n", c->ctx.error.message, limited ? " within --memory" : "");
  return exit_failed;
}

void sn_cli_say(const cli *c, const char *format, ...) {
  const char *json = sn_cli_text(c, "--json");
  if (c->quiet || (json && strcmp(json, "-") == 0)) return;
  va_list args;
  va_start(args, format);
  sn_cli_vprint(stdout, format, args);
  va_end(args);
}

const char *sn_cli_text(const cli *c, const char *name) {
  for (int k = c->value_count - 1; k >= 0; k--)
    if (strcmp(c->values[k].option->name, name) == 0) return c->values[k].text;
  for (const cli_option *option = c->options; option->name; option++)
    if (strcmp(option->name, name) == 0) return option->initial;
  return NULL;
}

bool sn_cli_given(const cli *c, const char *name) { return sn_cli_texts(c, name, NULL, 0) > 0; }

int sn_cli_texts(const cli *c, const char *name, const char **texts, int most) {
  int count = 0;
  for (int k = 0; k < c->value_count; k++) {
    if (strcmp(c->values[k].option->name, name) != 0) continue;
    if (count < most) texts[count] = c->values[k].text;
    count++;
  }
  return count;
}

bool sn_cli_double(const cli *c, const char *name, double least, double most, double *out) {
  const char *text = sn_cli_text(c, name);
  char *end;
  *out = text ? strtod(text, &end) : 0;
  if (!text || *text == '\0' || *end || !isfinite(*out))
    return sn_cli_misuse("%s %s: not a number", name, text ? text : "") == exit_done;
  if (*out < least || *out > most)
    return sn_cli_misuse("%s %s: must be between %g and %g", name, text, least, most) == exit_done;
  return true;
}

bool sn_cli_int(const cli *c, const char *name, int least, int most, int *out) {
  double value;
  if (!sn_cli_double(c, name, least, most, &value)) return false;
  if (value != floor(value))
    return sn_cli_misuse("%s %s: must be a whole number", name, sn_cli_text(c, name)) == exit_done;
  *out = (int)value;
  return true;
}

bool sn_cli_fill(cli *c, void *options) {
  sn_options_initial(c->command->typed, options);
  for (sn_option_cursor at = {.group = c->command->typed}; sn_option_next(&at);) {
    char name[64];
    snprintf(name, sizeof name, "--%s", at.option->name);
    if (!sn_cli_given(c, name)) continue;
    const char *text = sn_cli_text(c, name);
    if (sn_option_set(&c->ctx, c->command->typed, at.option->name, text ? text : "1", options) == SN_OK) continue;
    return sn_cli_misuse("%s: --%s", c->command->name, c->ctx.error.message) == exit_done;
  }
  return true;
}

static void print_help(const cli_command *const *commands) {
  printf("Sinew %s learns a real-time skin from example meshes.\n\nUsage: sinew COMMAND ...\n\n", SN_VERSION);
  for (; *commands; commands++) printf("  %-10s %s\n", (*commands)->name, (*commands)->summary);
  printf("\n`sinew COMMAND --help` lists the options of each, with an example.\n"
         "New here? Try `sinew demo`.\n\n"
         "Exit status: 0 done, 1 the work failed (a message says what and where), 2 wrong usage.\n");
}

// ---- parsing ------------------------------------------------------------------------------------------------------

static int option_count(const cli_command *command) {
  int count = (int)(sizeof common_options / sizeof *common_options);
  for (const cli_option *option = command->options; option && option->name; option++) count++;
  for (sn_option_cursor at = {.group = command->typed}; at.group && sn_option_next(&at);) count++;
  return count;
}

static bool typed_option(cli *c, const sn_option *option, cli_option *out) {
  static const char *const kinds[] = {"N", "X", NULL, "", "TEXT"};
  const char *kind = kinds[option->kind], *choices = option->choices ? option->choices : "";
  char name[64], argument[256];
  snprintf(name, sizeof name, "--%s", option->name);
  snprintf(argument, sizeof argument, "%s%s%s", kind ? kind : "", kind && *kind && *choices ? "|" : "", choices);
  *out = (cli_option){sn_arena_text(&c->ctx, &c->memory, name),
                      kind ? sn_arena_text(&c->ctx, &c->memory, argument) : NULL, kind ? option->initial : NULL,
                      option->help, cli_quality | (option->use == SN_OPTION_ADVANCED ? cli_advanced : cli_once)};
  return out->name && (!kind || out->argument);
}

// Concatenates the command's options, the typed ones, and the common ones.
static bool gather_options(cli *c) {
  cli_option *out = SN_NEW(&c->ctx, &c->memory, cli_option, option_count(c->command) + 1);
  c->options = out;
  if (!out) return false;
  for (const cli_option *option = c->command->options; option && option->name; option++) *out++ = *option;
  for (sn_option_cursor at = {.group = c->command->typed}; at.group && sn_option_next(&at);)
    if (!typed_option(c, at.option, out++)) return false;
  memcpy(out, common_options, sizeof common_options);
  return true;
}

static const cli_option *find_option(const cli *c, const char *name, size_t size) {
  for (const cli_option *option = c->options; option->name; option++)
    if (strlen(option->name) == size && memcmp(option->name, name, size) == 0) return option;
  return NULL;
}

// A method that has the option `name`; NULL: none.
static const char *method_with(const char *name) {
  for (const sn_method *const *m = sn_methods(); *m; m++)
    for (sn_option_cursor at = {.group = (*m)->options}; at.group && sn_option_next(&at);)
      if (strcmp(at.option->name, name) == 0) return (*m)->name;
  return NULL;
}

// `where`: the command that lists the right names.
static int unknown(const char *what, const char *word, const char *const *names, const char *where) {
  const char *meant = sn_suggest(word, names);
  if (meant) return sn_cli_misuse("%s %s; did you mean %s?", what, word, meant);
  return sn_cli_misuse("%s %s; `sinew %s` lists them", what, word, where);
}

static int unknown_option(const cli *c, const char *word) {
  const char *names[80] = {0}, *command = c->command->name;
  const char *method = c->command->takes_method && strncmp(word, "--", 2) == 0 ? method_with(word + 2) : NULL;
  if (method)
    return sn_cli_misuse("%s: %s is an option of methods: --method %s:%s=...", command, word, method, word + 2);
  for (int k = 0; c->options[k].name && k < 79; k++) names[k] = c->options[k].name;
  char what[64], where[64];
  snprintf(what, sizeof what, "%s: unknown option", command);
  snprintf(where, sizeof where, "%s --help all", command);
  return unknown(what, word, names, where);
}

static int unknown_command(const cli_command *const *commands, const char *word) {
  const char *names[32] = {0};
  if (*word == '-') return sn_cli_misuse("%s: the command comes first, as `sinew train %s`", word, word);
  for (int k = 0; commands[k] && k < 31; k++) names[k] = commands[k]->name;
  return unknown("unknown command", word, names, "--help");
}

// Parses a word that begins with a dash, and its value (after = or the next word).
static int parse_option(cli *c, int argc, char **argv, int *at) {
  const char *word = strcmp(argv[*at], "-h") == 0 ? "--help" : argv[*at], *equals = strchr(word, '=');
  const cli_option *option = find_option(c, word, equals ? (size_t)(equals - word) : strlen(word));
  if (!option) return unknown_option(c, word);
  const char *text = equals ? equals + 1 : NULL;
  bool left_out = option->argument && *option->argument == '[' && (*at + 1 == argc || argv[*at + 1][0] == '-');
  if (option->argument && !text && !left_out) {
    text = ++*at < argc ? argv[*at] : NULL;
    if (!text || find_option(c, text, strlen(text)))
      return sn_cli_misuse("%s needs a value: %s %s", word, word, option->argument);
  }
  if (!option->argument && text) return sn_cli_misuse("%s takes no value", option->name);
  bool words = text && !strpbrk(option->argument, "[ABCDEFGHIJKLMNOPQRSTUVWXYZ"); // a choice of fixed words
  if (words && sn_option_choice(option->argument, text) < 0)
    return sn_cli_misuse("%s %s: choose one of %s", option->name, text, option->argument);
  if (!(option->flags & cli_repeats) && sn_cli_given(c, option->name))
    return sn_cli_misuse("%s is given twice", option->name);
  c->values[c->value_count++] = (cli_value){option, text};
  return exit_done;
}

static int parse_words(cli *c, int argc, char **argv) {
  bool only_arguments = false;
  for (int k = 2; k < argc; k++) {
    if (!only_arguments && strcmp(argv[k], "--") == 0) {
      only_arguments = true;
    } else if (!only_arguments && argv[k][0] == '-' && argv[k][1] != '\0') {
      int status = parse_option(c, argc, argv, &k);
      if (status != exit_done) return status;
    } else {
      c->arguments[c->argument_count++] = argv[k];
    }
  }
  if (sn_cli_given(c, "--help")) {
    sn_cli_help(c, sn_cli_text(c, "--help"));
    return -1;
  }
  const cli_command *command = c->command;
  if (c->argument_count > command->takes.most)
    return sn_cli_misuse("%s: %s follows no option; quote patterns, as '*.obj'; usage: sinew %s %s", command->name,
                         c->arguments[command->takes.most], command->name, command->usage);
  if (c->argument_count < command->takes.least)
    return sn_cli_misuse("%s: an argument is missing; usage: sinew %s %s", command->name, command->name,
                         command->usage);
  for (const cli_option *option = c->options; option->name; option++)
    if (option->flags & cli_needed && !sn_cli_given(c, option->name))
      return sn_cli_misuse("%s: %s %s is missing: %s", command->name, option->name, option->argument, option->help);
  return exit_done;
}

// "500M": bytes, or with K, M or G times 1024, 1024^2 or 1024^3.
static bool parse_memory(cli *c) {
  const char *text = sn_cli_text(c, "--memory"), *units = "KMG";
  char *end;
  double bytes = strtod(text, &end);
  const char *unit = *end ? strchr(units, *end) : NULL;
  for (const char *u = units; unit && u <= unit; u++) bytes *= 1024;
  if (end == text || (*end && (!unit || end[1])) || !(bytes >= 0 && bytes < 9e18))
    return sn_cli_misuse("--memory %s: give bytes, or a number with K, M or G, as 500M", text) == exit_done;
  sn_cli_limit_memory((size_t)bytes);
  // Frame arrays from an eighth of the limit on are kept in files: a solve holds a few arrays of that size in memory.
  if (bytes > 0) c->ctx.large = (size_t)bytes / 8 < SN_LARGE ? (size_t)bytes / 8 : SN_LARGE;
  return true;
}

int sn_cli_parse(int argc, char **argv, const cli_command *const *commands, cli *out) {
  *out = (cli){.ctx = {.allocator = sn_cli_allocator(), .team = sn_cli_team()}};
  if (argc > 2 && strcmp(argv[1], "help") == 0)
    return sn_cli_parse(3, (char *[]){argv[0], argv[2], "--help", NULL}, commands, out);
  if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
    print_help(commands);
    return argc < 2 ? exit_usage : -1;
  }
  if (strcmp(argv[1], "--version") == 0) {
    printf("sinew %s\n", SN_VERSION);
    return -1;
  }
  const cli_command *const *command = commands;
  while (*command && strcmp((*command)->name, argv[1]) != 0) command++;
  if (!*command) return unknown_command(commands, argv[1]);
  out->command = *command;
  out->memory = sn_arena_new(&out->ctx);
  out->values = SN_NEW(&out->ctx, &out->memory, cli_value, argc);
  out->arguments = SN_NEW(&out->ctx, &out->memory, const char *, argc);
  if (!out->values || !out->arguments || !gather_options(out)) return sn_cli_fail(out);
  int status = parse_words(out, argc, argv);
  if (status != exit_done) return status;
  double seed;
  if (!parse_memory(out)) return exit_usage;
  if (!sn_cli_int(out, "--threads", 0, 1024, &out->ctx.threads)) return exit_usage;
  if (out->ctx.threads == 0 && out->ctx.team) {
    int threads = sn_threads(&out->ctx) / sn_cli_team_here();
    out->ctx.threads = threads > 1 ? threads : 1;
  }
  if (!sn_cli_double(out, "--seed", 0, 9e15, &seed)) return exit_usage;
  out->seed = (uint64_t)seed;
  out->quiet = sn_cli_given(out, "--quiet");
  return exit_done;
}

void sn_cli_free(cli *c) {
  if (c->progress) sn_cli_progress_end(c);
  json_decref(c->input);
  json_decref(c->keys);
  json_decref(c->result);
  sn_arena_free(&c->memory);
}
