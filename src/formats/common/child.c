// SPDX-License-Identifier: MIT
// A child process that runs one function, and how its end is reported.
#include "formats/common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

// 4 GiB and two minutes: many times what the largest characters need.
enum { most_seconds = 120 };

#if defined(__SANITIZE_ADDRESS__)
static const bool sanitized = true;
#elif defined(__has_feature)
static const bool sanitized = __has_feature(address_sanitizer);
#else
static const bool sanitized = false;
#endif

static void limit(int resource, rlim_t most) { setrlimit(resource, &(struct rlimit){most, most}); }

// The library's own messages come first, on a separate line: C++ reports out of memory and aborts.
static void run_and_exit(int (*work)(void *, char *, size_t), void *data, int fd, pid_t parent) {
  char message[sizeof((sn_child_end *)0)->message] = "\n";
  prctl(PR_SET_PDEATHSIG, SIGKILL); // dies with its parent, which may have ended already
  if (getppid() != parent) _exit(CHILD_FAILED);
  if (!sanitized) dup2(fd, STDERR_FILENO);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, most_seconds);
  alarm(2 * most_seconds);                             // where it waits instead of working
  if (!sanitized) limit(RLIMIT_DATA, (rlim_t)4 << 30); // sanitizers need more address space for shadow memory
  int result = work(data, message + 1, sizeof message - 1);
  message[1 + strcspn(message + 1, "\r\n")] = '\0';
  if (message[1] && write(fd, message, strlen(message)) < 0) result = CHILD_FAILED;
  _exit(result);
}

static void describe(int status, int fd, sn_child_end *end) {
  char said[4096];
  ssize_t size = read(fd, said, sizeof said - 1);
  said[size > 0 ? size : 0] = '\0';
  char *last = strrchr(said, '\n');
  snprintf(end->message, sizeof end->message, "%.*s", (int)sizeof end->message - 1, last ? last + 1 : said);
  end->no_memory = strstr(said, "bad_alloc") || strstr(said, "out of memory") || strstr(said, strerror(ENOMEM));
  end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  end->result = code >= CHILD_DONE && code <= CHILD_MISSING ? (sn_child_result)code : CHILD_BROKE;
}

sn_status sn_child_run(sn_context *ctx, const char *name, int (*work)(void *data, char *message, size_t size),
                       void *data, sn_child_end *end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return sn_fail(ctx, SN_IO, "%s: %s", name, strerror(errno));
  fflush(NULL);
  pid_t self = getpid(), pid = fork();
  if (pid == 0) run_and_exit(work, data, ends[1], self);
  close(ends[1]);
  sn_status status = SN_OK;
  if (pid < 0) {
    status = sn_fail(ctx, SN_IO, "%s: cannot start the process that reads it: %s", name, strerror(errno));
  } else {
    int ended = 0;
    while (waitpid(pid, &ended, 0) < 0 && errno == EINTR) continue;
    describe(ended, ends[0], end);
  }
  close(ends[0]);
  return status;
}

sn_status sn_child_failed(sn_context *ctx, const char *name, const char *library, const sn_child_end *end) {
  if (end->no_memory) return sn_fail(ctx, SN_NO_MEMORY, "%s: out of memory while %s read it", name, library);
  if (end->result == CHILD_FAILED && end->message[0]) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: cannot be read: %s", name, end->message);
  }
  if (end->signal == SIGXCPU || end->signal == SIGALRM || end->signal == SIGKILL) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: reading it took more than %d seconds or too much memory; gave up", name,
                   most_seconds);
  }
  return sn_fail(ctx, SN_BAD_FILE, "%s: %s broke down on this file (signal %d): it is damaged, or memory ran out",
                 name, library, end->signal);
}
