// SPDX-License-Identifier: MIT
// The command line: one table of commands, each with its own table of options. Parsing, --help, suggestions and the
// JSON report all come from these tables.
#ifndef SINEW_CLI_H
#define SINEW_CLI_H

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>

#include "sinew/examples.h"
#include "sinew/train.h"

enum { exit_done = 0, exit_failed = 1, exit_usage = 2 };

// How an option is given, who needs it, and under which title --help lists it; may be added.
enum {
  cli_once = 0,
  cli_repeats = 1,
  cli_advanced = 2, // only --help all lists it
  cli_input = 4,
  cli_output = 8,
  cli_quality = 16,
  cli_files = 32,
  cli_running = 64,
  cli_needed = 128, // the command does not run without it
  cli_listed = cli_repeats | cli_advanced | cli_files,
  cli_titles = cli_input | cli_output | cli_quality | cli_files | cli_running
};

typedef struct cli_option {
  const char *name;     // "--frames"
  const char *argument; // "FILE"; NULL for a switch; "[FILE]" where it may be left out
  const char *initial;  // the value where it is not given; NULL for none
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
  const cli_option *options; // all that the command takes; ends with a NULL name
  int value_count, argument_count;
  cli_value *values;
  const char **arguments;
  bool quiet;
  uint64_t seed;
  json_t *input, *result; // parts of the report, filled by the command
  json_t *keys;           // the frames that --keys auto chose; NULL: none
  bool report_failure;    // the report appears though the command failed: it says what
  sn_arena memory;
  struct cli_progress *progress;
} cli;

struct cli_command {
  const char *name, *usage, *summary, *details, *example;
  const cli_option *options;    // ends with a NULL name
  const sn_option_group *typed; // more options, `--name` for each of the table; sn_cli_fill reads them. May be NULL
  bool takes_method;            // --help tells of the methods
  struct {
    int least, most;
  } takes; // arguments
  int (*run)(cli *);
  void (*more_help)(void); // printed before the example; may be NULL
};

extern const cli_command sn_cli_gen, sn_cli_rig, sn_cli_train, sn_cli_eval, sn_cli_compare, sn_cli_bench, sn_cli_view,
  sn_cli_info, sn_cli_convert, sn_cli_demo, sn_cli_stats, sn_cli_batch, sn_cli_pack, sn_cli_export;

// Parses and runs one command line (argv[0] is the program); the exit status.
int sn_cli_run(int argc, char **argv);

// The text of an option: the last one given, its initial value, or NULL.
const char *sn_cli_text(const cli *c, const char *name);
bool sn_cli_given(const cli *c, const char *name);
// Every text given for a repeating option, in order. Returns how many.
int sn_cli_texts(const cli *c, const char *name, const char **texts, int most);
// A number within [least, most]; prints what is wrong and returns false otherwise.
bool sn_cli_int(const cli *c, const char *name, int least, int most, int *out);
bool sn_cli_double(const cli *c, const char *name, double least, double most, double *out);

// The command's typed options: defaults, and what is given; prints what is wrong and returns false otherwise.
bool sn_cli_fill(cli *c, void *options);

// Parses into `out`; exit_done to go on, another exit status to stop with (after having printed why, or the help).
int sn_cli_parse(int argc, char **argv, const cli_command *const *commands, cli *out);
void sn_cli_free(cli *c);

// Help on a command. `topic`: NULL, "all", the name of a method, or "tables" (JSON, for tools/tables.py).
void sn_cli_help(const cli *c, const char *topic);

// The library names a parameter as `fps`: where the command has such an option it becomes --fps, in place.
void sn_cli_name_options(const cli *c, char *text);
// Prints "sinew: message" and returns exit_failed, or exit_usage for sn_cli_misuse.
int sn_cli_fail(cli *c);
int sn_cli_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

// A line for the user (standard output), unless the report itself goes there or --quiet was given.
void sn_cli_say(const cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Writes a JSON file, whole or not at all.
sn_status sn_cli_write_json(sn_context *ctx, const char *path, const json_t *json, size_t flags);
// Writes --json: command, version, options, input, result. Takes c->input and c->result.
int sn_cli_report(cli *c);

// Progress on standard error: a bar with time left on a terminal, sparse lines elsewhere; nothing under two seconds.
typedef struct cli_progress cli_progress;
void sn_cli_progress_start(cli *c);
void sn_cli_progress_end(cli *c);

// ---- text for terminals -------------------------------------------------------------------------------------------------

// As printf, but what a terminal could act on (escapes in a joint's name) is shown as \x1b.
void sn_cli_print(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sn_cli_vprint(FILE *stream, const char *format, va_list args);

// ---- memory: one limit for the library and for JSON ---------------------------------------------------------------------

// Most bytes to hold at once; 0: as many as the machine has, or as were allowed before.
void sn_cli_limit_memory(size_t most);
size_t sn_cli_memory_limit(void);
// Fails where less than `bytes` are allowed: what cannot be done is said before it begins. `what` needs them.
sn_status sn_cli_need_memory(sn_context *ctx, double bytes, const char *what);
// The same of a method, beside what is held already.
sn_status sn_cli_need_to_train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                               const sn_keys *keys);
sn_allocator sn_cli_allocator(void);

// jansson leaves out what it has no memory for, or aborts: with this the process ends instead, with a message.
void sn_cli_guard_json(void);

// Says so and ends the process; files that are not finished do not appear.
_Noreturn void sn_cli_out_of_memory(size_t size);

// ---- outputs: they appear whole or not at all, also where a signal ends the tool ----------------------------------------

// Refuses (exit_usage) a command line that would write two things to one file, or over what it reads.
int sn_cli_check_outputs(const cli *c);

// Runs the command and writes its report; the files that it wrote appear if all of it went well.
int sn_cli_run_whole(cli *c);

// Standard output to where it goes; where it cannot, a message and exit_failed.
int sn_cli_flush(void);

// For a process that ends at once: no temporary file stays.
void sn_cli_discard_outputs(void);

// Ctrl-C and its like leave no temporary file.
void sn_cli_catch_signals(void);

// ---- several processes that train together (the MPI build); in the ordinary build all of this does nothing --------------

// Joins the other processes. All but the first say nothing from then on.
void sn_cli_team_start(int *argc, char ***argv);
sn_team *sn_cli_team(void); // NULL: alone
int sn_cli_team_here(void); // processes on this machine
// Leaves them; the exit status, which is that of all.
int sn_cli_team_end(int status);
// Fails unless all processes read the same.
sn_status sn_cli_team_check(cli *c, const sn_examples *examples);

#endif
