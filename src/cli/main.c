// SPDX-License-Identifier: MIT
#include "cli/cli.h"

#include <stdio.h>

static const cli_command *const commands[] = {&cli_gen,  &cli_rig,  &cli_train,   &cli_eval, &cli_compare, &cli_bench,
                                              &cli_view, &cli_info, &cli_convert, &cli_demo, &cli_stats,   NULL};

int cli_run(int argc, char **argv) {
  cli c;
  int status = cli_parse(argc, argv, commands, &c);
  if (status == exit_done) {
    cli_progress_start(&c);
    status = c.command->run(&c);
    if (status == exit_done) status = cli_report(&c);
    cli_progress_end(&c);
  }
  cli_free(&c);
  return status < 0 ? exit_done : status;
}

int main(int argc, char **argv) {
  int status = cli_run(argc, argv);
  if (fflush(stdout) != 0 && status == exit_done) status = exit_failed;
  return status;
}
