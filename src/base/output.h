// SPDX-License-Identifier: MIT
// Pending output files, and reading them before they appear.
#ifndef SINEW_BASE_OUTPUT_H
#define SINEW_BASE_OUTPUT_H

#include <sys/stat.h>

#include "sinew/base.h"

typedef struct sn_output {
  struct sn_output *next;
  const char *path, *folder, *name; // links followed; name is the end of path
  char *temporary;                  // in use where `named`
  size_t temporary_size;
  dev_t folder_device;
  ino_t folder_inode;
  int fd;
  bool named, written, created, supersedes;
} sn_output;

typedef struct sn_folder {
  struct sn_folder *next;
  const char *path;
} sn_folder;

// Whether `path` is a pending output; then a descriptor of it (or -1) to read from its beginning with pread.
bool sn_outputs_read(sn_context *ctx, const char *path, int *fd);

// Records a created folder: if the outputs are dropped, it is removed if empty.
void sn_outputs_made_folder(sn_context *ctx, const char *path);

#endif
