// SPDX-License-Identifier: MIT
// The tool: its commands, and the process setup before one runs.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "lab/baselines/baselines.h"

static const cli_command *const commands[] = {&sn_cli_gen,     &sn_cli_rig,    &sn_cli_train, &sn_cli_eval,
                                              &sn_cli_compare, &sn_cli_bench,  &sn_cli_view,  &sn_cli_info,
                                              &sn_cli_convert, &sn_cli_demo,   &sn_cli_stats, &sn_cli_batch,
                                              &sn_cli_pack,    &sn_cli_export, NULL};

int sn_cli_run(int argc, char **argv) {
  cli c;
  int status = sn_cli_parse(argc, argv, commands, &c);
  if (status == exit_done) status = sn_cli_check_outputs(&c);
  if (status == exit_done) {
    sn_cli_progress_start(&c);
    status = sn_cli_run_whole(&c);
    sn_cli_progress_end(&c);
  }
  sn_cli_free(&c);
  return status < 0 ? sn_cli_flush() : status;
}

// With a closed standard stream, the next opened file would take its place and receive messages. /dev/null fills the gap; read-only
// for standard output, so that writing to it fails.
static void fill_standard_streams(void) {
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY) < 0) _exit(exit_failed);
}

// OpenBLAS selects kernels by processor: rounding differs, and some crash when memory runs out. These kernels make a model
// independent of where it was trained, unless the user set the variable. Its threads deadlock when memory is short. OpenBLAS reads
// both variables before main, so the process restarts itself.
static void pin_blas(char **argv) {
  const char *kernels = NULL, *threads = getenv("OPENBLAS_NUM_THREADS");
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) kernels = "Haswell";
#elif defined(__aarch64__)
  kernels = "ARMV8";
#endif
  bool chosen = !kernels || getenv("OPENBLAS_CORETYPE");
  if (chosen && threads && strcmp(threads, "1") == 0) return;
  if ((chosen || setenv("OPENBLAS_CORETYPE", kernels, 1) == 0) && setenv("OPENBLAS_NUM_THREADS", "1", 1) == 0)
    execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
  pin_blas(argv);
  fill_standard_streams();
  sn_lab_add_methods(), sn_lab_add_solvers();
  sn_cli_guard_json();
  sn_cli_catch_signals();
  sn_cli_team_start(&argc, &argv);
  return sn_cli_team_end(sn_cli_run(argc, argv));
}
