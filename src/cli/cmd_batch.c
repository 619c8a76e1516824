// SPDX-License-Identifier: MIT
// sinew batch: runs many commands in parallel, as their dependencies allow, and only those that are not up to date.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/batch.h"
#include "report/report.h"

static const char *const state_names[] = {"waiting", "running", "done", "up to date", "failed", "not run"};

typedef struct batch_limits {
  int at_once, threads; // threads: for jobs without the option
  size_t memory;        // for jobs without the option; 0: no limit
} batch_limits;

// ---- one job ------------------------------------------------------------------------------------------------------------

static void finish(const cli *c, batch_job *job, batch_state state) {
  job->state = state;
  if (job->state == batch_done)
    sn_cli_say(c, "%s: done in %.1f s\n", job->name, job->seconds);
  else
    sn_cli_say(c, "%s: %s%s%s\n", job->name, state_names[job->state], *job->message ? ": " : "", job->message);
  fflush(stdout);
}

static bool has_option(const batch_job *job, const char *name) {
  size_t size = strlen(name);
  for (int w = 1; w < job->word_count; w++) {
    const char *word = job->words[w];
    if (strncmp(word, name, size) == 0 && (word[size] == '\0' || word[size] == '=')) return true;
  }
  return false;
}

// Runs in the child; never returns.
static void become(const batch_job *job, char **words, int log, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);    // a stopped batch stops its jobs
  if (getppid() != parent) _exit(127); // it was stopped before this call
  int nothing = open("/dev/null", O_RDONLY);
  if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0) _exit(127);
  execv("/proc/self/exe", words);
  fprintf(stderr, "sinew: %s: cannot be started: %s\n", job->name, strerror(errno));
  _exit(127);
}

static bool launch(cli *c, const batch *b, batch_job *job, const batch_limits *limits) {
  char path[4096], threads[32], memory[32];
  char **words = SN_NEW(&c->ctx, &c->memory, char *, job->word_count + 6);
  int count = 0;
  if (!words) return false;
  words[count++] = "sinew";
  for (int w = 0; w < job->word_count; w++) words[count++] = job->words[w];
  snprintf(threads, sizeof threads, "--threads=%d", limits->threads);
  snprintf(memory, sizeof memory, "--memory=%zu", limits->memory);
  if (!has_option(job, "--threads")) words[count++] = threads;
  if (!has_option(job, "--memory") && limits->memory > 0) words[count++] = memory;
  int log = open(sn_batch_path(b, job, "txt", path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (log < 0) {
    sn_fail(&c->ctx, SN_IO, "%s: cannot write: %s", path, strerror(errno));
    return false;
  }
  fflush(NULL);
  pid_t self = getpid();
  job->process = fork();
  if (job->process == 0) become(job, words, log, self);
  int failure = errno;
  close(log);
  job->start = sn_seconds();
  if (job->process > 0) return true;
  sn_fail(&c->ctx, SN_IO, "cannot be started: %s", strerror(failure));
  return false;
}

// The last error line of the job's log, else its last line.
static void read_reason(const batch *b, batch_job *job) {
  char path[4096], line[sizeof job->message];
  FILE *log = fopen(sn_batch_path(b, job, "txt", path), "r");
  bool error = false;
  while (log && fgets(line, sizeof line, log)) {
    line[strcspn(line, "\n")] = '\0';
    bool is_error = strncmp(line, "sinew: ", 7) == 0;
    if (!*line || (error && !is_error)) continue;
    error = is_error;
    snprintf(job->message, sizeof job->message, "%s", line + (is_error ? 7 : 0));
  }
  if (log) fclose(log);
}

static void take_result(cli *c, const batch *b, batch_job *job, int result) {
  job->seconds = sn_seconds() - job->start;
  if (WIFEXITED(result) && WEXITSTATUS(result) == 0) {
    if (sn_batch_remember(c, b, job) == SN_OK) return finish(c, job, batch_done);
    snprintf(job->message, sizeof job->message, "%.500s", c->ctx.error.message);
  } else if (WIFSIGNALED(result)) {
    snprintf(job->message, sizeof job->message, "ended by signal %d (%s)", WTERMSIG(result),
             strsignal(WTERMSIG(result)));
  } else {
    snprintf(job->message, sizeof job->message, "exit status %d", WEXITSTATUS(result));
    read_reason(b, job);
  }
  finish(c, job, batch_failed);
}

// ---- all jobs -------------------------------------------------------------------------------------------------------------

// Whether a waiting job can start; marks it blocked if a dependency failed.
static bool is_ready(cli *c, const batch *b, batch_job *job) {
  for (int n = 0; n < job->need_count; n++) {
    const batch_job *need = &b->jobs[job->needs[n]];
    if (need->state == batch_failed || need->state == batch_blocked) {
      snprintf(job->message, sizeof job->message, "needs \"%s\", which %s", need->name,
               need->state == batch_failed ? "failed" : "was not run");
      finish(c, job, batch_blocked);
      return false;
    }
    if (need->state == batch_waiting || need->state == batch_running) return false;
  }
  return true;
}

static void begin(cli *c, const batch *b, batch_job *job, const batch_limits *limits) {
  if (sn_batch_is_current(b, job)) return finish(c, job, batch_current);
  for (int f = 0; f < job->input_count; f++) {
    if (access(job->inputs[f].path, F_OK) == 0) continue;
    snprintf(job->message, sizeof job->message, "its input %.400s is not there", job->inputs[f].text);
    return finish(c, job, batch_failed);
  }
  job->state = batch_running;
  if (sn_batch_forget(c, b, job) == SN_OK && launch(c, b, job, limits)) return;
  snprintf(job->message, sizeof job->message, "%.500s", c->ctx.error.message);
  finish(c, job, batch_failed);
}

static int count_state(const batch *b, batch_state state) {
  int count = 0;
  for (int k = 0; k < b->job_count; k++) count += b->jobs[k].chosen && b->jobs[k].state == state;
  return count;
}

// Resolves and starts jobs until nothing changes or enough of them run.
static void start_ready(cli *c, const batch *b, const batch_limits *limits) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int k = 0; k < b->job_count && count_state(b, batch_running) < limits->at_once; k++) {
      batch_job *job = &b->jobs[k];
      if (!job->chosen || job->state != batch_waiting) continue;
      if (is_ready(c, b, job)) begin(c, b, job, limits);
      changed = changed || job->state != batch_waiting;
    }
  }
}

static void run_all(cli *c, const batch *b, const batch_limits *limits, int total) {
  for (;;) {
    start_ready(c, b, limits);
    if (count_state(b, batch_running) == 0) return;
    int result;
    pid_t process = waitpid(-1, &result, 0);
    if (process < 0 && errno != EINTR) return;
    for (int k = 0; k < b->job_count; k++) {
      batch_job *job = &b->jobs[k];
      if (job->state == batch_running && job->process == process) take_result(c, b, job, result);
    }
    sn_progress(&c->ctx, "jobs", 1 - (double)count_state(b, batch_waiting) / total);
  }
}

// ---- the command ------------------------------------------------------------------------------------------------------------

static json_t *describe(const batch *b) {
  json_t *jobs = json_array(), *counts = json_object();
  char path[4096];
  for (int k = 0; k < b->job_count; k++) {
    const batch_job *job = &b->jobs[k];
    if (!job->chosen) continue;
    json_t *out = json_object();
    bool ran = job->process > 0;
    sn_report_add(out, "name:s state:s seconds:o? message:s? log:s?", job->name, state_names[job->state],
                  ran ? json_real(job->seconds) : NULL, job->message,
                  ran ? sn_batch_path(b, job, "txt", path) : NULL);
    json_array_append_new(jobs, out);
  }
  for (int s = batch_done; s <= batch_blocked; s++)
    json_object_set_new(counts, state_names[s], json_integer(count_state(b, (batch_state)s)));
  return json_pack("{soso}", "counts", counts, "jobs", jobs);
}

static bool parse_part(const char *text, int *part, int *parts) {
  char end;
  return sscanf(text, "%d/%d%c", part, parts, &end) == 2 && *part >= 1 && *parts >= *part && *parts <= 1000000;
}

static int run_list(cli *c, batch *b, const batch_limits *limits) {
  int total = 0;
  sn_context alone = c->ctx; // the folder stays, even if jobs fail
  alone.outputs = NULL;
  for (int k = 0; k < b->job_count; k++) total += b->jobs[k].chosen;
  if (sn_make_folder(&alone, b->folder) != SN_OK) {
    c->ctx.error = alone.error;
    return sn_cli_fail(c);
  }
  if (total > 0) run_all(c, b, limits, total);
  int failed = count_state(b, batch_failed), blocked = count_state(b, batch_blocked);
  c->result = describe(b);
  sn_cli_say(c, "%d jobs: %d done, %d up to date, %d failed, %d not run\n", total, count_state(b, batch_done),
             count_state(b, batch_current), failed, blocked);
  if (failed == 0) return exit_done;
  c->report_failure = true;
  for (int k = 0; k < b->job_count; k++) {
    if (b->jobs[k].state != batch_failed) continue;
    sn_fail(&c->ctx, SN_BAD_INPUT, "%d of %d jobs failed, first \"%s\": %s (%s/ has their output)", failed, total,
            b->jobs[k].name, b->jobs[k].message, b->folder);
    return sn_cli_fail(c);
  }
  return exit_failed;
}

static int run(cli *c) {
  batch_limits limits;
  int part = 1, parts = 1;
  const char *spec = sn_cli_text(c, "--part");
  if (!sn_cli_int(c, "--jobs", 1, 1024, &limits.at_once)) return exit_usage;
  if (spec && !parse_part(spec, &part, &parts))
    return sn_cli_misuse("--part %s: give K/N, the K-th of N parts, as 1/8 to 8/8", spec);
  limits.threads = sn_threads(&c->ctx) / limits.at_once;
  if (limits.threads < 1) limits.threads = 1;
  limits.memory = sn_cli_given(c, "--memory") ? sn_cli_memory_limit() / (size_t)limits.at_once : 0;
  SN_FREED_BY(sn_batch_free) batch b;
  if (sn_batch_read(c, c->arguments[0], &b) != SN_OK) return sn_cli_fail(c);
  c->input = json_pack("{sisisi}", "jobs", b.job_count, "part", part, "parts", parts);
  return sn_batch_choose(c, &b, part, parts) == SN_OK ? run_list(c, &b, &limits) : sn_cli_fail(c);
}

static const cli_option options[] = {
  {"--jobs", "N", "1", "jobs at a time; they share --threads and --memory", cli_once},
  {"--part", "K/N", NULL, "run the K-th of N parts, from 1; jobs that share files stay together", cli_once},
  {0},
};

const cli_command sn_cli_batch = {
  .name = "batch",
  .usage = "JOBS.json [--jobs N] [--part K/N]",
  .summary = "run jobs in dependency order and skip those that are up to date",
  .details =
    "JOBS.json is {\"jobs\": [{\"name\": TEXT, \"command\": \"train ...\", \"inputs\": [FILE, ...], \"outputs\": "
    "[FILE, ...]}, ...]}. A job starts when the jobs that write its inputs are done. A failure stops only the jobs "
    "that need its outputs. Run it again to continue. JOBS.json.log/ has what every job printed.",
  .example =
    "echo '[{\"command\": \"gen bar -o bar\", \"inputs\": [], \"outputs\": [\"bar/rest.obj\"]}]' > jobs.json\n"
    "sinew batch jobs.json --jobs 2 --json report.json",
  .options = options,
  .takes = {1, 1},
  .run = run,
};
