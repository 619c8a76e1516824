// SPDX-License-Identifier: MIT
// Reads a list of jobs and finds their dependencies.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/batch.h"

enum { most_name = 100 };

// ---- paths ------------------------------------------------------------------------------------------------------------

// Absolute path; links are resolved in the part that exists.
static char *canonical(sn_context *ctx, sn_arena *memory, const char *path) {
  char real[PATH_MAX];
  if (realpath(path, real)) return sn_arena_text(ctx, memory, real);
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') length--;
  size_t cut = length;
  while (cut > 0 && path[cut - 1] != '/') cut--;
  char *start = sn_arena_text(ctx, memory, cut > 0 ? path : ".");
  if (!start) return NULL;
  if (cut > 0) start[cut] = '\0';
  if (strcmp(start, path) == 0) {
    sn_fail(ctx, SN_IO, "%s: %s", path, strerror(errno));
    return NULL;
  }
  char *folder = canonical(ctx, memory, start), *out = NULL;
  size_t size = folder ? strlen(folder) + length - cut + 2 : 0;
  bool up = length - cut == 2 && strncmp(path + cut, "..", 2) == 0, same = length - cut == 1 && path[cut] == '.';
  if (folder && up) strrchr(folder, '/')[strrchr(folder, '/') == folder] = '\0';
  if (!folder || up || same) return folder;
  out = SN_NEW(ctx, memory, char, size);
  if (out) snprintf(out, size, "%s/%.*s", folder[1] ? folder : "", (int)(length - cut), path + cut);
  return out;
}

// ---- the list ---------------------------------------------------------------------------------------------------------

static bool is_text(const json_t *value) { return json_is_string(value) && *json_string_value(value); }

// Splits a command line into words, at spaces except within quotes.
static sn_status split_words(sn_context *ctx, sn_arena *memory, const char *line, batch_job *job) {
  char *out = sn_arena_text(ctx, memory, line);
  job->words = SN_NEW(ctx, memory, char *, strlen(line) / 2 + 2);
  if (!out || !job->words) return ctx->error.status;
  for (const char *at = line; *(at += strspn(at, " \t\n"));) {
    char quote = 0;
    job->words[job->word_count++] = out;
    for (; *at && (quote || !strchr(" \t\n", *at)); at++)
      if (quote ? *at == quote : *at == '"' || *at == '\'')
        quote = quote ? 0 : *at;
      else
        *out++ = *at;
    if (*at) at++;
    *out++ = '\0';
    if (quote) return sn_fail(ctx, SN_BAD_FILE, "a quote without its end");
  }
  return SN_OK;
}

static sn_status read_command(sn_context *ctx, sn_arena *memory, const json_t *json, batch_job *job) {
  if (json_is_string(json)) {
    SN_TRY(split_words(ctx, memory, json_string_value(json), job));
  } else if (json_is_array(json)) {
    size_t count = json_array_size(json);
    job->words = SN_NEW(ctx, memory, char *, count + 1);
    if (!job->words) return ctx->error.status;
    for (size_t w = 0; w < count; w++) {
      const json_t *word = json_array_get(json, w);
      if (!json_is_string(word)) return sn_fail(ctx, SN_BAD_FILE, "every word of the command must be text");
      job->words[job->word_count++] = (char *)(uintptr_t)json_string_value(word);
    }
  } else {
    return sn_fail(ctx, SN_BAD_FILE, "needs a \"command\", as \"train --method lbs ...\" or a list of words");
  }
  bool named = job->word_count > 0 && strcmp(job->words[0], "sinew") == 0;
  job->words += named, job->word_count -= named;
  if (job->word_count == 0) return sn_fail(ctx, SN_BAD_FILE, "the command is empty");
  if (strcmp(job->words[0], "batch") == 0)
    return sn_fail(ctx, SN_BAD_FILE, "a batch within a batch; put its jobs here");
  for (int w = 1; w < job->word_count; w++)
    if (strcmp(job->words[w], "--json=-") == 0) return sn_fail(ctx, SN_BAD_FILE, "--json needs a file here");
  return SN_OK;
}

// The files that job `k` reads or writes.
static sn_status read_files(sn_context *ctx, batch *b, int k, const json_t *job, batch_file **out, int *out_count) {
  bool reads = out == &b->jobs[k].inputs;
  const char *key = reads ? "inputs" : "outputs";
  const json_t *json = json_object_get(job, key);
  size_t count = json_array_size(json);
  *out = SN_NEW(ctx, &b->memory, batch_file, count);
  if (!*out) return ctx->error.status;
  for (size_t f = 0; f < count; f++) {
    const json_t *text = json_array_get(json, f);
    if (!is_text(text)) return sn_fail(ctx, SN_BAD_FILE, "\"%s\" must be a list of file names", key);
    (*out)[f] = (batch_file){json_string_value(text), canonical(ctx, &b->memory, json_string_value(text)), k};
    if (!(*out)[f].path) return ctx->error.status;
  }
  *out_count = (int)count;
  if (json_is_array(json) && (reads || count > 0)) return SN_OK;
  return sn_fail(ctx, SN_BAD_FILE, "needs \"%s\": a list of the files that it %s", key, reads ? "reads" : "writes");
}

static sn_status read_name(sn_context *ctx, sn_arena *memory, int k, const json_t *json, const char **out) {
  char number[16];
  snprintf(number, sizeof number, "%d", k + 1);
  *out = json ? json_string_value(json) : sn_arena_text(ctx, memory, number);
  if (!json) return *out ? SN_OK : ctx->error.status;
  if (is_text(json) && strlen(*out) <= most_name && **out != '.' && !strchr(*out, '/')) return SN_OK;
  return sn_fail(ctx, SN_BAD_FILE, "\"name\" must be a short text without slashes: it names its log");
}

static sn_status read_job(sn_context *ctx, batch *b, int k, json_t *json) {
  static const char *const known[] = {"name", "command", "inputs", "outputs", NULL};
  batch_job *job = &b->jobs[k];
  const char *key;
  json_t *value;
  if (!json_is_object(json)) return sn_fail(ctx, SN_BAD_FILE, "must be an object with command, inputs and outputs");
  json_object_foreach(json, key, value) {
    int at = 0;
    while (known[at] && strcmp(known[at], key) != 0) at++;
    if (!known[at]) return sn_fail_unknown(ctx, "key", key, known);
  }
  SN_TRY(read_name(ctx, &b->memory, k, json_object_get(json, "name"), &job->name));
  SN_TRY(read_command(ctx, &b->memory, json_object_get(json, "command"), job));
  SN_TRY(read_files(ctx, b, k, json, &job->inputs, &job->input_count));
  return read_files(ctx, b, k, json, &job->outputs, &job->output_count);
}

static sn_status check_names(cli *c, const batch *b, const char *list) {
  json_auto_t *seen = json_object();
  for (int k = 0; k < b->job_count; k++) {
    const char *name = b->jobs[k].name;
    if (json_object_get(seen, name))
      return sn_fail(&c->ctx, SN_BAD_FILE, "%s: two jobs have the name \"%s\"", list, name);
    json_object_set_new(seen, name, json_true());
  }
  return SN_OK;
}

// ---- dependencies ----------------------------------------------------------------------------------------------------------

// Sorts paths so that a folder is directly followed by its contents: end of path, then '/', then other characters.
static int by_path(const void *a, const void *b) {
  const char *x = ((const batch_file *)a)->path, *y = ((const batch_file *)b)->path;
  while (*x && *x == *y) x++, y++;
  if (*x == *y || !*x || !*y) return (*x != '\0') - (*y != '\0');
  return *x == '/' ? -1 : *y == '/' ? 1 : (unsigned char)*x - (unsigned char)*y;
}

// Index of the first output at or after `path` in this order.
static int first_from(const batch *b, char *path) {
  int low = 0, high = b->output_count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (by_path(&b->outputs[middle], &(batch_file){.path = path}) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Whether `path` is `folder` or within it.
static bool is_within(const char *path, const char *folder) {
  size_t size = strlen(folder);
  return strncmp(path, folder, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

static sn_status list_outputs(cli *c, batch *b, const char *list) {
  size_t count = 0;
  for (int k = 0; k < b->job_count; k++) count += (size_t)b->jobs[k].output_count;
  b->outputs = SN_NEW(&c->ctx, &b->memory, batch_file, count);
  if (!b->outputs) return c->ctx.error.status;
  for (int k = 0; k < b->job_count; k++)
    for (int f = 0; f < b->jobs[k].output_count; f++) b->outputs[b->output_count++] = b->jobs[k].outputs[f];
  qsort(b->outputs, count, sizeof *b->outputs, by_path);
  for (int f = 1; f < b->output_count; f++) {
    const batch_file *x = &b->outputs[f - 1], *y = &b->outputs[f];
    if (strcmp(x->path, y->path) != 0) continue;
    return sn_fail(&c->ctx, SN_BAD_FILE, "%s: %s is written by \"%s\" and \"%s\"; give every output one job", list,
                   y->text, b->jobs[x->job].name, b->jobs[y->job].name);
  }
  for (int f = 0; f < b->output_count; f++)
    for (int g = f + 1; g < b->output_count && is_within(b->outputs[g].path, b->outputs[f].path); g++) {
      const batch_file *folder = &b->outputs[f], *file = &b->outputs[g];
      if (folder->job == file->job) continue;
      return sn_fail(&c->ctx, SN_BAD_FILE,
                     "%s: \"%s\" writes %s, within %s of \"%s\"; name the files of that folder instead", list,
                     b->jobs[file->job].name, file->text, folder->text, b->jobs[folder->job].name);
    }
  return SN_OK;
}

// Counts the jobs that write this path, into it, or a folder around it, and lists them in job->needs unless that is NULL.
static void add_needs(const batch *b, char *path, batch_job *job) {
  int before = job->need_count;
  for (int g = first_from(b, path); g < b->output_count && is_within(b->outputs[g].path, path);
       g++, job->need_count++)
    if (job->needs) job->needs[job->need_count] = b->outputs[g].job;
  for (char *slash = strrchr(path, '/'); job->need_count == before && slash && slash > path;) {
    *slash = '\0';
    int g = first_from(b, path);
    bool found = g < b->output_count && strcmp(b->outputs[g].path, path) == 0;
    if (found && job->needs) job->needs[job->need_count] = b->outputs[g].job;
    job->need_count += found;
    char *next = strrchr(path, '/');
    *slash = '/';
    slash = next;
  }
}

static sn_status find_needs(cli *c, batch *b) {
  for (batch_job *job = b->jobs; job < b->jobs + b->job_count; job++) {
    for (int f = 0; f < job->input_count; f++) add_needs(b, job->inputs[f].path, job);
    job->needs = SN_NEW(&c->ctx, &b->memory, int, job->need_count);
    if (!job->needs) return c->ctx.error.status;
    job->need_count = 0;
    for (int f = 0; f < job->input_count; f++) add_needs(b, job->inputs[f].path, job);
  }
  return SN_OK;
}

// The first dependency of job k that is on a cycle or depends on one.
static int blocking_need(const batch *b, const bool *free_of, int k) {
  const int *need = b->jobs[k].needs;
  while (free_of[*need]) need++;
  return *need;
}

// Reports the cycle, starting from a job on it or depending on it.
static sn_status tell_cycle(cli *c, const batch *b, const char *list, const bool *free_of, int k) {
  char text[700] = "";
  size_t used = 0;
  int at = k;
  // Each step stays among blocked jobs: after job_count steps we are on the cycle.
  for (int step = 0; step <= b->job_count; step++) at = blocking_need(b, free_of, at);
  int start = at;
  do {
    int need = blocking_need(b, free_of, at);
    snprintf(text + used, sizeof text - used, "%s\"%s\" needs \"%s\"", used ? ", " : "", b->jobs[at].name,
             b->jobs[need].name);
    used = strlen(text);
    at = need;
  } while (at != start && used < sizeof text - 1);
  return sn_fail(&c->ctx, SN_BAD_FILE, "%s: jobs depend on each other in a cycle: %s", list, text);
}

static sn_status check_cycles(cli *c, batch *b, const char *list) {
  bool *free_of = SN_NEW(&c->ctx, &b->memory, bool, b->job_count); // not on a cycle and not dependent on one
  if (!free_of) return c->ctx.error.status;
  for (bool more = true; more;) {
    more = false;
    for (int k = 0; k < b->job_count; k++) {
      bool free_now = !free_of[k];
      for (int n = 0; free_now && n < b->jobs[k].need_count; n++) free_now = free_of[b->jobs[k].needs[n]];
      if (free_now) free_of[k] = more = true;
    }
  }
  for (int k = 0; k < b->job_count; k++)
    if (!free_of[k]) return tell_cycle(c, b, list, free_of, k);
  return SN_OK;
}

// ---- parts --------------------------------------------------------------------------------------------------------------

sn_status sn_batch_choose(cli *c, batch *b, int part, int parts) {
  int *sizes = SN_NEW(&c->ctx, &b->memory, int, b->job_count), *loads = SN_NEW(&c->ctx, &b->memory, int, parts);
  int *groups = SN_NEW(&c->ctx, &b->memory, int, b->job_count); // disjoint sets of connected jobs
  if (!sizes || !loads || !groups) return c->ctx.error.status;
  for (int k = 0; k < b->job_count; k++) groups[k] = k;
  for (int k = 0; k < b->job_count; k++)
    for (int n = 0; n < b->jobs[k].need_count; n++) sn_set_join(groups, k, b->jobs[k].needs[n]);
  for (int k = 0; k < b->job_count; k++) sizes[sn_set_first(groups, k)]++;
  for (int g = 0; g < b->job_count; g++) {
    if (sizes[g] == 0) continue;
    int least = 0;
    for (int p = 1; p < parts; p++)
      if (loads[p] < loads[least]) least = p;
    loads[least] += sizes[g], sizes[g] = least; // now the group's part
  }
  for (int k = 0; k < b->job_count; k++) b->jobs[k].chosen = sizes[sn_set_first(groups, k)] == part - 1;
  return SN_OK;
}

// ---- reading --------------------------------------------------------------------------------------------------------------

static sn_status read_list(cli *c, const char *path, const sn_file *file, batch *b) {
  json_error_t error;
  b->json = json_loadb((const char *)file->bytes, file->size, JSON_REJECT_DUPLICATES, &error);
  if (!b->json)
    return sn_fail(&c->ctx, SN_BAD_FILE, "%s:%d: not a list of jobs in JSON: %s", path, error.line, error.text);
  const json_t *jobs = json_is_array(b->json) ? b->json : json_object_get(b->json, "jobs");
  if (!json_is_array(jobs) || json_array_size(jobs) == 0 || json_array_size(jobs) > INT_MAX)
    return sn_fail(&c->ctx, SN_BAD_FILE, "%s: expected a list of jobs: {\"jobs\": [{\"command\": ...}, ...]}", path);
  b->job_count = (int)json_array_size(jobs);
  b->jobs = SN_NEW(&c->ctx, &b->memory, batch_job, b->job_count);
  size_t size = strlen(path) + sizeof ".log";
  b->folder = SN_NEW(&c->ctx, &b->memory, char, size);
  if (!b->jobs || !b->folder) return c->ctx.error.status;
  snprintf(b->folder, size, "%s.log", path);
  for (int k = 0; k < b->job_count; k++)
    if (read_job(&c->ctx, b, k, json_array_get(jobs, (size_t)k)) != SN_OK)
      return sn_fail_prefix(&c->ctx, "%s: job %d: ", path, k + 1);
  return SN_OK;
}

sn_status sn_batch_read(cli *c, const char *path, batch *out) {
  *out = (batch){.memory = sn_arena_new(&c->ctx)};
  SN_FREED_BY(sn_file_close) sn_file file;
  SN_TRY(sn_file_open(&c->ctx, path, &file));
  SN_TRY(read_list(c, path, &file, out));
  SN_TRY(check_names(c, out, path));
  SN_TRY(list_outputs(c, out, path));
  SN_TRY(find_needs(c, out));
  return check_cycles(c, out, path);
}

void sn_batch_free(batch *b) {
  for (int k = 0; k < b->job_count; k++) json_decref(b->jobs[k].record);
  json_decref(b->json);
  sn_arena_free(&b->memory);
  *b = (batch){0};
}
