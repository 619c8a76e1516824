// SPDX-License-Identifier: MIT
// The child process that reads other programs' formats through libassimp, and what its end means.
#include "io/assimp.h"

#include <assimp/cimport.h>
#include <assimp/config.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Four gigabytes and two minutes are many times what the largest characters take.
enum { most_seconds = 120, answer_failed = 1, answer_missing = 2 };

bool sn_assimp_reads(const char *path) { return sn_format_does(path, SN_THROUGH_ASSIMP); }

// ---- the child ------------------------------------------------------------------------------------------------------------

typedef struct library {
  struct aiPropertyStore *(*create)(void);
  void (*set)(struct aiPropertyStore *, const char *, int);
  const struct aiScene *(*import)(const char *, unsigned, struct aiFileIO *, const struct aiPropertyStore *);
  const char *(*error)(void);
} library;

// Loaded here and nowhere else, so that the tool starts without it.
static bool load_library(library *out) {
  void *handle = dlopen("libassimp.so.5", RTLD_NOW | RTLD_LOCAL);
  if (!handle) handle = dlopen("libassimp.so", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return false;
  *(void **)&out->create = dlsym(handle, "aiCreatePropertyStore");
  *(void **)&out->set = dlsym(handle, "aiSetImportPropertyInteger");
  *(void **)&out->import = dlsym(handle, "aiImportFileExWithProperties");
  *(void **)&out->error = dlsym(handle, "aiGetErrorString");
  return out->create && out->set && out->import && out->error;
}

static void limit(int resource, rlim_t most) { setrlimit(resource, &(struct rlimit){most, most}); }

static int read_and_write(const char *path, const char *answer, char *message, size_t size) {
  library assimp;
  sn_context ctx = sn_context_default();
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, most_seconds);
#ifndef __SANITIZE_ADDRESS__ // its shadow memory is larger than any limit
  limit(RLIMIT_DATA, (rlim_t)4 << 30);
#endif
  if (!load_library(&assimp)) return answer_missing;
  struct aiPropertyStore *options = assimp.create();
  assimp.set(options, AI_CONFIG_IMPORT_FBX_PRESERVE_PIVOTS, 0);
  assimp.set(options, AI_CONFIG_IMPORT_NO_SKELETON_MESHES, 1);
  const struct aiScene *scene = assimp.import(path, 0, NULL, options);
  if (!scene || !scene->mRootNode) {
    snprintf(message, size, "%s", scene ? "it is empty" : assimp.error());
    return answer_failed;
  }
  if (sn_assimp_write(&ctx, scene, answer) == SN_OK) return 0;
  snprintf(message, size, "%s", ctx.error.message);
  return answer_failed;
}

// Ends the process: with 0 once the answer is written, else with a message through `fd`.
static void child(const char *path, const char *answer, int fd) {
  char message[sizeof((sn_error *)0)->message] = "";
  int result = read_and_write(path, answer, message, sizeof message);
  if (message[0] && write(fd, message, strlen(message)) < 0) result = answer_failed;
  _exit(result);
}

// ---- the parent ------------------------------------------------------------------------------------------------------------

// The child's end, or its last moment where it takes too long.
static int wait_for(pid_t pid) {
  int status = 0;
  double end = sn_seconds() + 2 * most_seconds;
  const struct timespec pause = {0, 2000000};
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (sn_seconds() > end) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      break;
    }
    nanosleep(&pause, NULL);
  }
  return status;
}

static sn_status tell(sn_context *ctx, const char *path, int status, int fd) {
  char message[sizeof((sn_error *)0)->message];
  ssize_t size = read(fd, message, sizeof message - 1);
  message[size > 0 ? size : 0] = '\0';
  message[strcspn(message, "\r\n")] = '\0';
  if (WIFEXITED(status) && WEXITSTATUS(status) == answer_missing) {
    return sn_fail(ctx, SN_UNSUPPORTED,
                   "%s: reading this format needs libassimp, which is not installed (Debian: libassimp5)", path);
  }
  if (WIFEXITED(status) && message[0]) return sn_fail(ctx, SN_BAD_FILE, "%s: cannot be read: %s", path, message);
  int sign = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (sign == SIGXCPU || sign == SIGKILL) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: reading it took more than %d seconds or too much memory; gave up", path,
                   most_seconds);
  }
  return sn_fail(ctx, SN_BAD_FILE, "%s: libassimp broke down on this file (signal %d): it is damaged, or too large",
                 path, sign);
}

static sn_status run(sn_context *ctx, const char *path, const char *copy, const char *answer, sn_file *out) {
  int ends[2];
  if (pipe(ends) != 0) return sn_fail(ctx, SN_IO, "%s: %s", path, strerror(errno));
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) child(copy, answer, ends[1]);
  close(ends[1]);
  sn_status status;
  if (pid < 0) {
    status = sn_fail(ctx, SN_IO, "%s: cannot start the process that reads it: %s", path, strerror(errno));
  } else {
    int result = wait_for(pid);
    status = WIFEXITED(result) && WEXITSTATUS(result) == 0 ? sn_file_open(ctx, answer, out)
                                                           : tell(ctx, path, result, ends[0]);
  }
  close(ends[0]);
  return status;
}

static sn_status copy_to(sn_context *ctx, const char *copy, const sn_file *file) {
  FILE *out = fopen(copy, "wbx");
  bool good = out && fwrite(file->bytes, 1, file->size, out) == file->size;
  int reason = errno;
  if (out && fclose(out) != 0) good = false, reason = errno;
  return good ? SN_OK : sn_fail(ctx, SN_IO, "%s: cannot write: %s", copy, strerror(reason));
}

sn_status sn_assimp_open(sn_context *ctx, const char *path, sn_file *out) {
  const char *base = getenv("TMPDIR");
  char folder[1024], answer[1040], copy[1040];
  *out = (sn_file){0};
  sn_file file; // a file that waits to appear has no name that the child could open
  sn_status status = sn_file_open(ctx, path, &file);
  if (status != SN_OK) return status;
  int size = snprintf(folder, sizeof folder, "%s/sinew-XXXXXX", base && *base ? base : "/tmp");
  if (size < 0 || size >= (int)sizeof folder || !mkdtemp(folder)) {
    sn_file_close(&file);
    return sn_fail(ctx, SN_IO, "%s: no temporary folder: %s", folder, strerror(errno));
  }
  snprintf(answer, sizeof answer, "%s/answer.glb", folder);
  snprintf(copy, sizeof copy, "%s/file%.8s", folder, strrchr(path, '.'));
  status = copy_to(ctx, copy, &file);
  sn_file_close(&file);
  if (status == SN_OK) status = run(ctx, path, copy, answer, out);
  unlink(answer);
  unlink(copy);
  rmdir(folder);
  return status;
}
