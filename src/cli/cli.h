// SPDX-License-Identifier: MIT
// The command line: a table of commands, each with a table of options. Parsing, --help, suggestions and the JSON report are
// generated from these tables.
#ifndef SINEW_CLI_H
#define SINEW_CLI_H

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>

#include "sinew/examples.h"
#include "sinew/train.h"

enum { exit_done = 0, exit_failed = 1, exit_usage = 2 };

// Flags of an option: how it is given, who needs it, and its section in --help.
enum {
  cli_once = 0,
  cli_repeats = 1,
  cli_advanced = 2, // only --help all lists it
  cli_input = 4,
  cli_output = 8,
  cli_quality = 16,
  cli_files = 32,
  cli_running = 64,
  cli_needed = 128, // required
  cli_listed = cli_repeats | cli_advanced | cli_files,
  cli_titles = cli_input | cli_output | cli_quality | cli_files | cli_running
};

typedef struct cli_option {
  const char *name;     // "--frames"
  const char *argument; // "FILE"; NULL: a switch; "[FILE]": optional
  const char *initial;  // default value; NULL: none
  const char *help;
  int flags;
} cli_option;

typedef struct cli_command cli_command;

typedef struct cli_value {
  const cli_option *option;
  const char *text;
} cli_value;

// One parsed command line.
typedef struct cli {
  sn_context ctx;
  const cli_command *command;
  const cli_option *options; // all options of the command; ends with a NULL name
  int value_count, argument_count;
  cli_value *values;
  const char **arguments;
  bool quiet;
  uint64_t seed;
  json_t *input, *result; // parts of the report, filled by the command
  json_t *keys;           // the frames chosen by --keys auto; NULL: none
  bool report_failure;    // write the report even if the command failed
  sn_arena memory;
  struct cli_progress *progress;
} cli;

struct cli_command {
  const char *name, *usage, *summary, *details, *example;
  const cli_option *options;    // ends with a NULL name
  const sn_option_group *typed; // more options, `--name` for each of the table; sn_cli_fill reads them. May be NULL
  bool takes_method;            // --help lists the methods
  struct {
    int least, most;
  } takes; // arguments
  int (*run)(cli *);
  void (*more_help)(void); // printed before the example; may be NULL
};

extern const cli_command sn_cli_gen, sn_cli_rig, sn_cli_train, sn_cli_eval, sn_cli_compare, sn_cli_bench, sn_cli_view,
  sn_cli_info, sn_cli_convert, sn_cli_demo, sn_cli_stats, sn_cli_batch, sn_cli_pack, sn_cli_export;

// Parses and runs one command line (argv[0] is the program); returns the exit status.
int sn_cli_run(int argc, char **argv);

// The text of an option: the last one given, its default, or NULL.
const char *sn_cli_text(const cli *c, const char *name);
bool sn_cli_given(const cli *c, const char *name);
// All texts given for a repeating option, in order. Returns how many.
int sn_cli_texts(const cli *c, const char *name, const char **texts, int most);
// A number within [least, most]; otherwise prints an error and returns false.
bool sn_cli_int(const cli *c, const char *name, int least, int most, int *out);
bool sn_cli_double(const cli *c, const char *name, double least, double most, double *out);

// The command's typed options, with defaults; on an error prints it and returns false.
bool sn_cli_fill(cli *c, void *options);

// Parses into `out`. Returns exit_done to continue, or the exit status to stop with (after an error message or the help).
int sn_cli_parse(int argc, char **argv, const cli_command *const *commands, cli *out);
void sn_cli_free(cli *c);

// Help on a command. `topic`: NULL, "all", the name of a method, or "tables" (JSON, for tools/tables.py).
void sn_cli_help(const cli *c, const char *topic);

// Library messages name a parameter as `fps`; replaces it in place by --fps if the command has that option.
void sn_cli_name_options(const cli *c, char *text);
// Prints "sinew: message" and returns exit_failed, or exit_usage for sn_cli_misuse.
int sn_cli_fail(cli *c);
int sn_cli_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
int sn_cli_misuse_method(const cli *c, const char *spec); // the library's error on --method

// Prints a line to standard output, unless the report goes there or --quiet is given.
void sn_cli_say(const cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Writes a JSON file atomically.
sn_status sn_cli_write_json(sn_context *ctx, const char *path, const json_t *json, size_t flags);
// Writes --json: command, version, options, input, result. Takes ownership of c->input and c->result.
int sn_cli_report(cli *c);

// Progress on standard error: a bar with time left on a terminal, sparse lines elsewhere; nothing under two seconds.
typedef struct cli_progress cli_progress;
void sn_cli_progress_start(cli *c);
void sn_cli_progress_end(cli *c);

// ---- text for terminals -------------------------------------------------------------------------------------------------

// As printf, but control characters (escapes in a joint's name) are printed as \x1b.
void sn_cli_print(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sn_cli_vprint(FILE *stream, const char *format, va_list args);

// ---- memory: one limit for the library and for JSON ---------------------------------------------------------------------

// Limits the bytes held at once; 0: the machine's memory, or an earlier limit.
void sn_cli_limit_memory(size_t most);
size_t sn_cli_memory_limit(void);
// Fails before the work begins if `what` needs more than the allowed memory.
sn_status sn_cli_need_memory(sn_context *ctx, double bytes, const char *what);
// The same for training with a method, on top of the memory in use.
sn_status sn_cli_need_to_train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                               const sn_keys *keys);
sn_allocator sn_cli_allocator(void);

// jansson omits values or aborts if memory runs out; this ends the process with a message instead.
void sn_cli_guard_json(void);

// Prints a message and ends the process; unfinished output files do not appear.
_Noreturn void sn_cli_out_of_memory(size_t size);

// ---- outputs: written atomically, even if a signal ends the tool ---------------------------------------------------------

// Refuses (exit_usage) a command line that would write two outputs to one file, or overwrite an input.
int sn_cli_check_outputs(const cli *c);

// Runs the command and writes its report; publishes its output files only if all of it succeeded.
int sn_cli_run_whole(cli *c);

// Flushes standard output; on failure prints a message and returns exit_failed.
int sn_cli_flush(void);

// Removes temporary files, for a process that ends at once.
void sn_cli_discard_outputs(void);

// Removes temporary files on Ctrl-C and similar signals.
void sn_cli_catch_signals(void);

// ---- processes that train together (MPI build); without MPI these functions do nothing -----------------------------------

// Joins the other processes. All but the first are silent from then on.
void sn_cli_team_start(int *argc, char ***argv);
sn_team *sn_cli_team(void); // NULL: single process
int sn_cli_team_here(void); // processes on this machine
void sn_cli_team_say(void); // prints the messages of a silent process that ends at once
// Leaves the team; returns exit_done only if all processes succeeded.
int sn_cli_team_end(int status);
// Fails unless all processes read the same examples.
sn_status sn_cli_team_check(cli *c, const sn_examples *examples);

#endif
