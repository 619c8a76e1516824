// SPDX-License-Identifier: MIT
// Progress: a bar on a terminal, sparse lines elsewhere.
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct cli_progress {
  bool terminal, shown;
  double start, last;
  char task[64];     // up to a colon: what follows it says which part of the task
  double task_start; // time left is that of the current task
};

static bool show(void *user, const char *task, double done) {
  cli_progress *progress = user;
  double t = sn_seconds(), pause = progress->terminal ? 0.1 : 10;
  char whole[sizeof progress->task];
  snprintf(whole, sizeof whole, "%.*s", (int)strcspn(task, ":"), task);
  if (strcmp(whole, progress->task) != 0) {
    memcpy(progress->task, whole, sizeof whole);
    progress->task_start = t;
  }
  if (t - progress->start < 2 || t - progress->last < pause) return true;
  progress->last = t, progress->shown = true;
  double elapsed = t - progress->task_start;
  double left = done > 0.01 ? elapsed * (1 - done) / done : 0;
  char remaining[48] = "";
  if (done > 0.01 && elapsed > 1) snprintf(remaining, sizeof remaining, ", about %.0f s left", left);
  if (!progress->terminal) {
    fprintf(stderr, "%s: %.0f %%%s\n", task, 100 * done, remaining);
    return true;
  }
  char bar[31];
  for (int k = 0; k < 30; k++) bar[k] = k < 30 * done ? '#' : '.';
  bar[30] = '\0';
  fprintf(stderr, "\r\033[K%-10s [%s] %3.0f %%%s", task, bar, 100 * done, remaining);
  fflush(stderr);
  return true;
}

void sn_cli_progress_start(cli *c) {
  if (c->quiet) return;
  c->progress = SN_NEW(&c->ctx, &c->memory, cli_progress, 1);
  if (!c->progress) return;
  *c->progress = (cli_progress){.terminal = isatty(STDERR_FILENO), .start = sn_seconds()};
  c->ctx.progress = show;
  c->ctx.progress_user = c->progress;
}

void sn_cli_progress_end(cli *c) {
  if (c->progress && c->progress->shown && c->progress->terminal) fputs("\r\033[K", stderr);
  c->ctx.progress = NULL;
  c->progress = NULL;
}
