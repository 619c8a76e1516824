// SPDX-License-Identifier: MIT
// A list of jobs that read and write files: dependencies and up-to-date checks.
#ifndef SINEW_CLI_BATCH_H
#define SINEW_CLI_BATCH_H

#include <sys/types.h>

#include "base/scope.h"
#include "cli/cli.h"

typedef enum batch_state {
  batch_waiting,
  batch_running,
  batch_done,
  batch_current, // up to date, not run
  batch_failed,
  batch_blocked // a job it depends on failed
} batch_state;

typedef struct batch_file {
  const char *text; // as in the list
  char *path;       // absolute; links are resolved as far as the path exists
  int job;
} batch_file;

typedef struct batch_job {
  const char *name;
  int word_count, input_count, output_count;
  char **words; // of the command, without `sinew`
  batch_file *inputs, *outputs;
  int need_count, *needs; // jobs whose outputs it reads
  bool chosen;            // belongs to this part
  batch_state state;
  pid_t process;
  double start, seconds;
  json_t *record; // state of its files once it is done
  char message[600];
} batch_job;

typedef struct batch {
  int job_count;
  batch_job *jobs;
  int output_count;
  batch_file *outputs; // of all jobs, sorted by path
  char *folder;        // for records and logs
  json_t *json;
  sn_arena memory;
} batch;

// Reads the list; fails on duplicate names, outputs shared by two jobs and cyclic dependencies.
sn_status sn_batch_read(cli *c, const char *path, batch *out);
void sn_batch_free(batch *b);
// Chooses the jobs of part `part` (from 1) of `parts`: jobs connected by files stay together.
sn_status sn_batch_choose(cli *c, batch *b, int part, int parts);

// Whether this command ran with these inputs and its outputs are unchanged since. Stores the current inputs in job->record.
bool sn_batch_is_current(const batch *b, batch_job *job);
// Records the job as done. Fails if an output is missing.
sn_status sn_batch_remember(cli *c, const batch *b, batch_job *job);
sn_status sn_batch_forget(cli *c, const batch *b, const batch_job *job);
// DIR/NAME.EXTENSION of a job; `out` has room for 4096 bytes.
const char *sn_batch_path(const batch *b, const batch_job *job, const char *extension, char *out);

#endif
