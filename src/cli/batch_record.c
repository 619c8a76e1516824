// SPDX-License-Identifier: MIT
// Records of finished jobs and their files: one small file per job, so that the machines of a farm never write the same one. A job
// is up to date if its record would be the same now.
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/batch.h"
#include "report/report.h"

const char *sn_batch_path(const batch *b, const batch_job *job, const char *extension, char *out) {
  snprintf(out, 4096, "%s/%s.%s", b->folder, job->name, extension);
  return out;
}

// Size and modification time of a file; for a folder, an order-independent sum over its contents.
static bool describe(char *path, char out[80]) {
  struct stat info;
  if (stat(path, &info) != 0) return false;
  if (!S_ISDIR(info.st_mode)) {
    snprintf(out, 80, "%lld %lld.%09ld", (long long)info.st_size, (long long)info.st_mtim.tv_sec,
             info.st_mtim.tv_nsec);
    return true;
  }
  char *const paths[] = {path, NULL};
  FTS *walk = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, NULL);
  uint64_t sum = 0, count = 0;
  for (FTSENT *e; walk && (e = fts_read(walk)) != NULL;) {
    if (e->fts_info != FTS_F) continue;
    const struct stat *s = e->fts_statp;
    int64_t numbers[3] = {s->st_size, s->st_mtim.tv_sec, s->st_mtim.tv_nsec};
    const char *name = e->fts_path + strlen(path);
    sum += sn_hash(sn_hash(SN_HASH_START, name, strlen(name)), numbers, sizeof numbers), count++;
  }
  if (walk) fts_close(walk);
  snprintf(out, 80, "%llu files %016llx", (unsigned long long)count, (unsigned long long)sum);
  return true;
}

// Describes the files as an object; `missing` is the first that does not exist (NULL: none).
static json_t *describe_files(const batch_file *files, int count, const char **missing) {
  json_t *out = json_object();
  char text[80];
  *missing = NULL;
  for (int f = 0; f < count; f++) {
    bool there = describe(files[f].path, text);
    if (!there && !*missing) *missing = files[f].text;
    json_object_set_new(out, files[f].text, there ? json_string(text) : json_null());
  }
  return out;
}

bool sn_batch_is_current(const batch *b, batch_job *job) {
  char path[4096];
  const char *missing;
  json_t *words = json_array();
  for (int w = 0; w < job->word_count; w++) json_array_append_new(words, sn_report_text(job->words[w]));
  json_decref(job->record);
  job->record = json_object();
  sn_report_add(job->record, "version:s command:o inputs:o", SN_VERSION, words,
                describe_files(job->inputs, job->input_count, &missing));
  json_t *before = json_load_file(sn_batch_path(b, job, "json", path), JSON_REJECT_DUPLICATES, NULL);
  json_t *now = json_copy(job->record);
  json_object_set_new(now, "outputs", describe_files(job->outputs, job->output_count, &missing));
  bool same = before && !missing && json_equal(before, now);
  json_decref(before);
  json_decref(now);
  return same;
}

sn_status sn_batch_remember(cli *c, const batch *b, batch_job *job) {
  char path[4096];
  const char *missing;
  json_object_set_new(job->record, "outputs", describe_files(job->outputs, job->output_count, &missing));
  if (missing) {
    return sn_fail(&c->ctx, SN_BAD_INPUT, "succeeded without writing %s; check \"outputs\"", missing);
  }
  sn_context alone = c->ctx; // records are published at once, not with the report
  alone.outputs = NULL;
  sn_status status = sn_cli_write_json(&alone, sn_batch_path(b, job, "json", path), job->record, JSON_INDENT(1));
  c->ctx.error = alone.error;
  return status;
}

sn_status sn_batch_forget(cli *c, const batch *b, const batch_job *job) {
  char path[4096];
  if (unlink(sn_batch_path(b, job, "json", path)) == 0 || errno == ENOENT) return SN_OK;
  return sn_fail(&c->ctx, SN_IO, "%s: cannot remove: %s", path, strerror(errno));
}
