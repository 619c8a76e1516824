// SPDX-License-Identifier: MIT
// Outputs of a command: never overwrite an input, appear only if all of it succeeded, and leave nothing if it is stopped.
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sinew/formats.h"

// ---- names ------------------------------------------------------------------------------------------------------------

static bool same_inode(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool folder_info(const char *path, struct stat *info) {
  char folder[4096];
  const char *slash = strrchr(path, '/');
  if (!slash) return stat(".", info) == 0;
  snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
  return stat(folder, info) == 0;
}

static bool same_file(const char *a, const char *b) {
  struct stat x, y;
  bool has_a = stat(a, &x) == 0, has_b = stat(b, &y) == 0;
  if (has_a || has_b) return has_a && has_b && same_inode(&x, &y);
  const char *name_a = strrchr(a, '/'), *name_b = strrchr(b, '/');
  return strcmp(name_a ? name_a + 1 : a, name_b ? name_b + 1 : b) == 0 && folder_info(a, &x) && folder_info(b, &y) &&
         same_inode(&x, &y);
}

static bool names_a_file(const char *argument) {
  return argument && (strstr(argument, "FILE") || strstr(argument, "MODEL") || strstr(argument, "LIST"));
}

static bool is_output(const cli_option *option) {
  return option->flags & cli_output && option->argument &&
         (names_a_file(option->argument) || strstr(option->argument, "DIR"));
}

// Whether argument k is the output file of `convert`.
static bool is_written(const cli *c, int k) { return strcmp(c->command->name, "convert") == 0 && k == 1; }

// Refuses unusable output names before the work: an extension other than FILE.svg's, or a missing folder.
static int check_name(const cli_option *option, const char *path) {
  const char *ending = strchr(option->argument, '.'), *slash = strrchr(path, '/');
  struct stat info;
  if (ending && !sn_has_extension(path, ending))
    return sn_cli_misuse("%s %s: give a name that ends in %s", option->name, path, ending);
  if (!slash || !strchr(slash, '.') || strstr(option->argument, "DIR") || folder_info(path, &info)) return exit_done;
  sn_cli_misuse("%s: there is no folder %.*s", path, (int)(slash - path), path);
  return exit_failed;
}

static int check_output(const cli *c, const char *option, const char *path) {
  for (int k = 0; k < c->value_count; k++) {
    const cli_value *other = &c->values[k];
    if (other->text == path || !names_a_file(other->option->argument) || !same_file(path, other->text)) continue;
    return sn_cli_misuse("%s and %s are the same file: %s; give each output a separate name", option,
                         other->option->name, path);
  }
  bool files = strncmp(c->command->usage, "SET", 3) != 0;
  for (int k = 0; files && k < c->argument_count; k++) {
    const char *other = c->arguments[k];
    bool page = sn_has_extension(other, ".html"); // a page is extended, so it may be replaced
    if (other == path || page || !same_file(path, other)) continue;
    return sn_cli_misuse("%s would replace %s, which is %s; give another name", option, other,
                         is_written(c, k) ? "written too" : "read");
  }
  return exit_done;
}

int sn_cli_check_outputs(const cli *c) {
  int status = exit_done;
  for (int k = 0; status == exit_done && k < c->value_count; k++) {
    const cli_value *value = &c->values[k];
    if (!is_output(value->option) || strcmp(value->text, "-") == 0) continue;
    status = check_output(c, value->option->name, value->text);
    if (status == exit_done) status = check_name(value->option, value->text);
  }
  for (int k = 0; status == exit_done && k < c->argument_count; k++)
    if (is_written(c, k)) status = check_output(c, c->arguments[k], c->arguments[k]);
  return status;
}

// ---- signals ----------------------------------------------------------------------------------------------------------

static const sn_outputs *volatile waiting;
static volatile sig_atomic_t publishing, asked_to_stop;

static void stop(int signal_number) {
  if (publishing) { // files are being renamed: stop afterwards
    asked_to_stop = signal_number;
    return;
  }
  sn_outputs_clean(waiting);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

// Prints the name of the file mapped at `address`, from /proc/self/maps; uses only async-signal-safe calls.
static void write_mapped_name(const void *address) {
  static char text[1 << 16];
  int list = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  ssize_t have = 0, got;
  while (list >= 0 && have < (ssize_t)sizeof text - 1 &&
         (got = read(list, text + have, sizeof text - 1 - (size_t)have)) > 0)
    have += got;
  text[have] = '\0';
  for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    uintptr_t range[2] = {0, 0};
    char *at = line;
    for (int k = 0; k < 2; k++, at++)
      for (; (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); at++)
        range[k] = range[k] * 16 + (uintptr_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
    if ((uintptr_t)address < range[0] || (uintptr_t)address >= range[1]) continue;
    char *name = memchr(at, '/', (size_t)(end - at));
    if (name && write(STDERR_FILENO, name, (size_t)(end - name)) < 0) return;
    break;
  }
}

// SIGBUS: a mapped file was truncated, or the disk cannot be read.
static void lost_file(int signal_number, siginfo_t *info, void *context) {
  (void)signal_number, (void)context;
  static const char before[] = "sinew: ", after[] = ": became shorter while it was read, or cannot be read\n";
  sn_outputs_clean(waiting);
  if (write(STDERR_FILENO, before, sizeof before - 1) < 0) _exit(exit_failed);
  write_mapped_name(info->si_addr);
  if (write(STDERR_FILENO, after, sizeof after - 1) < 0) _exit(exit_failed);
  sn_cli_team_say();
  _exit(exit_failed);
}

void sn_cli_discard_outputs(void) { sn_outputs_clean(waiting); }

void sn_cli_catch_signals(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
    if (signal(numbers[k], stop) == SIG_IGN) signal(numbers[k], SIG_IGN); // keep ignored signals ignored (nohup)
  struct sigaction lost = {.sa_sigaction = lost_file, .sa_flags = SA_SIGINFO};
  sigaction(SIGBUS, &lost, NULL);
}

// ---- publishing outputs -------------------------------------------------------------------------------------------------

int sn_cli_flush(void) {
  bool failed_before = ferror(stdout);
  if (fflush(stdout) == 0 && !failed_before) return exit_done;
  sn_cli_print(stderr, "sinew: standard output: cannot write: %s\n", strerror(errno ? errno : EIO));
  clearerr(stdout);
  return exit_failed;
}

int sn_cli_run_whole(cli *c) {
  sn_outputs outputs;
  const sn_outputs *before = waiting; // demo runs commands within a command
  sn_outputs_begin(&c->ctx, &outputs);
  waiting = &outputs;
  int status = c->command->run(c);
  bool reports = status == exit_done || c->report_failure;
  int reported = reports ? sn_cli_report(c) : status;
  if (reported == exit_done) reported = sn_cli_flush();
  if (reported != exit_done) status = reported;
  if (c->ctx.team && !c->ctx.team->agree(&c->ctx, reported == exit_done ? SN_OK : SN_IO) && reported == exit_done)
    status = reported = sn_cli_fail(c);
  publishing = 1;
  sn_status published = sn_outputs_end(&c->ctx, &outputs, reported == exit_done ? SN_OK : SN_IO);
  waiting = before;
  publishing = 0;
  if (asked_to_stop) stop(asked_to_stop);
  return reported == exit_done && published != SN_OK ? sn_cli_fail(c) : status;
}
