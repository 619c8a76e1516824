// SPDX-License-Identifier: MIT
// The child process that reads other formats through libassimp, and how its end is reported.
#include "formats/assimp/assimp.h"
#include "formats/common/child.h"
#include "formats/common/reader.h"

#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/scene.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool sn_assimp_reads(const char *path) { return sn_format_does(path, SN_THROUGH_ASSIMP); }

// ---- the child ------------------------------------------------------------------------------------------------------------

typedef struct library {
  struct aiPropertyStore *(*create)(void);
  void (*set)(struct aiPropertyStore *, const char *, int);
  const struct aiScene *(*import)(const char *, unsigned, struct aiFileIO *, const struct aiPropertyStore *);
  const char *(*error)(void);
} library;

// Loaded only in the child, so that the tool starts without it.
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

typedef struct request {
  const char *path, *answer;
} request;

static int read_and_write(void *data, char *message, size_t size) {
  const request *job = data;
  library assimp;
  sn_context ctx = sn_context_default();
  if (!load_library(&assimp)) return CHILD_MISSING;
  struct aiPropertyStore *options = assimp.create();
  assimp.set(options, AI_CONFIG_IMPORT_NO_SKELETON_MESHES, 1);
  errno = 0; // the library does not report the reason
  const struct aiScene *scene = assimp.import(job->path, 0, NULL, options);
  if (!scene || !scene->mRootNode) {
    const char *text = errno == ENOMEM ? "out of memory"
                       : scene         ? "it is empty"
                                       : assimp.error(),
               *name = strrchr(job->path, '/') + 1;
    size_t folder = (size_t)(name - job->path);
    const char *at = memmem(text, strlen(text), job->path, folder); // remove our temporary folder from the message
    snprintf(message, size, "%.*s%s%s", at ? (int)(at - text) : 0, text, at ? at + folder : text,
             errno == ENOMEM ? "" : "; export it as .glb or .fbx");
    return CHILD_FAILED;
  }
  if (sn_assimp_write(&ctx, scene, job->answer) == SN_OK) return 0;
  snprintf(message, size, "%s", ctx.error.message);
  return CHILD_FAILED;
}

// ---- the parent ------------------------------------------------------------------------------------------------------------

static sn_status run(sn_context *ctx, const char *path, const char *copy, const char *answer, sn_file *out) {
  sn_child_end end;
  SN_TRY(sn_child_run(ctx, path, read_and_write, &(request){copy, answer}, &end));
  if (end.result == CHILD_DONE) return sn_file_open(ctx, answer, out);
  if (end.result == CHILD_MISSING) {
    return sn_fail(ctx, SN_UNSUPPORTED,
                   "%s: reading this format needs libassimp, which is not installed (Debian: libassimp5)", path);
  }
  return sn_child_failed(ctx, path, "libassimp", &end);
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
  SN_FREED_BY(sn_file_close) sn_file file; // copied: an unpublished output has no name that the child could open
  SN_TRY(sn_file_open(ctx, path, &file));
  int size = snprintf(folder, sizeof folder, "%s/sinew-XXXXXX", base && *base ? base : "/tmp");
  if (size < 0 || size >= (int)sizeof folder || !mkdtemp(folder))
    return sn_fail(ctx, SN_IO, "%s: no temporary folder: %s", folder, strerror(errno));
  snprintf(answer, sizeof answer, "%s/answer.glb", folder);
  snprintf(copy, sizeof copy, "%s/file%.8s", folder, strrchr(path, '.'));
  sn_status status = copy_to(ctx, copy, &file);
  if (status == SN_OK) status = run(ctx, path, copy, answer, out);
  unlink(answer);
  unlink(copy);
  rmdir(folder);
  return status;
}
