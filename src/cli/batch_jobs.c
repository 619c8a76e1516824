// SPDX-License-Identifier: MIT
// Reading a list of jobs; who waits for whom.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/batch.h"

enum { most_name = 100 };

// ---- paths ------------------------------------------------------------------------------------------------------------

// `path` from the root, without ".", ".." and repeated slashes; `out` has room for both.
static void flatten(const char *start, const char *path, char *out) {
  size_t size = 0;
  for (int part = *path == '/' ? 1 : 0; part < 2; part++)
    for (const char *at = part == 0 ? start : path; *at;) {
      at += strspn(at, "/");
      size_t length = strcspn(at, "/");
      if (length == 2 && at[0] == '.' && at[1] == '.') {
        while (size > 0 && out[--size] != '/') {
        }
      } else if (length > 0 && !(length == 1 && at[0] == '.')) {
        out[size++] = '/';
        memmove(out + size, at, length);
        size += length;
      }
      at += length;
    }
  out[size] = '\0';
}

// Links are followed in as much of the path as exists.
static char *canonical(sn_context *ctx, sn_arena *memory, const char *path) {
  char here[PATH_MAX], real[PATH_MAX];
  if (realpath(path, real)) return sn_arena_text(ctx, memory, real);
  if (!getcwd(here, sizeof here)) {
    sn_fail(ctx, SN_IO, "the current folder: %s", strerror(errno));
    return NULL;
  }
  size_t size = strlen(here) + strlen(path) + 3;
  char *flat = SN_NEW(ctx, memory, char, size), *out = SN_NEW(ctx, memory, char, size + PATH_MAX);
  if (!flat || !out) return NULL;
  flatten(here, path, flat);
  bool exists = false;
  for (size_t cut = strlen(flat); !exists;) {
    char kept = flat[cut];
    flat[cut] = '\0';
    exists = realpath(cut > 0 ? flat : "/", real) != NULL;
    flat[cut] = kept;
    if (exists || cut == 0) snprintf(out, size + PATH_MAX, "%s%s", exists && real[1] ? real : "", flat + cut);
    if (cut == 0) break;
    while (!exists && flat[--cut] != '/') {
    }
  }
  return out;
}

// ---- the list ---------------------------------------------------------------------------------------------------------

// One job of a list as it is read.
typedef struct job_reader {
  sn_context *ctx;
  sn_arena *memory;
  const char *list;
  int k;
  batch_job *job;
} job_reader;

static sn_status bad_job(const job_reader *r, const char *what) {
  return sn_fail(r->ctx, SN_BAD_FILE, "%s: job %d: %s", r->list, r->k + 1, what);
}

static bool is_text(const json_t *value) { return json_is_string(value) && *json_string_value(value); }

// A command in one line: words between spaces, with quotes around what has spaces itself.
static bool split_words(const job_reader *r, const char *line) {
  batch_job *job = r->job;
  char *out = sn_arena_text(r->ctx, r->memory, line);
  job->words = SN_NEW(r->ctx, r->memory, char *, strlen(line) / 2 + 2);
  if (!out || !job->words) return false;
  for (const char *at = line; *(at += strspn(at, " \t\n"));) {
    char quote = 0;
    job->words[job->word_count++] = out;
    for (; *at && (quote || !strchr(" \t\n", *at)); at++) {
      if (quote ? *at == quote : *at == '"' || *at == '\'')
        quote = quote ? 0 : *at;
      else
        *out++ = *at;
    }
    if (*at) at++;
    *out++ = '\0';
    if (quote) return false;
  }
  return true;
}

static sn_status read_command(const job_reader *r, const json_t *json) {
  batch_job *job = r->job;
  size_t count = json_array_size(json), first;
  if (json_is_string(json)) {
    if (!split_words(r, json_string_value(json))) return bad_job(r, "a quote without its end");
  } else if (json_is_array(json)) {
    job->words = SN_NEW(r->ctx, r->memory, char *, count + 1);
    if (!job->words) return r->ctx->error.status;
    for (size_t w = 0; w < count; w++) {
      const json_t *word = json_array_get(json, w);
      if (!json_is_string(word)) return bad_job(r, "every word of the command must be text");
      job->words[job->word_count++] = (char *)(uintptr_t)json_string_value(word);
    }
  } else {
    return bad_job(r, "needs a \"command\", as \"train --method lbs ...\" or a list of words");
  }
  first = job->word_count > 0 && strcmp(job->words[0], "sinew") == 0;
  job->words += first, job->word_count -= (int)first;
  if (job->word_count == 0) return bad_job(r, "the command is empty");
  if (strcmp(job->words[0], "batch") == 0) return bad_job(r, "a batch within a batch; put its jobs here");
  for (int w = 1; w < job->word_count; w++)
    if (strcmp(job->words[w], "--json=-") == 0) return bad_job(r, "--json needs a file here");
  return SN_OK;
}

static sn_status read_files(const job_reader *r, const json_t *job, const char *key, batch_file **out,
                            int *out_count) {
  char what[80];
  const json_t *json = json_object_get(job, key);
  size_t count = json_array_size(json);
  *out = SN_NEW(r->ctx, r->memory, batch_file, count);
  if (!*out) return r->ctx->error.status;
  for (size_t f = 0; f < count; f++) {
    const json_t *text = json_array_get(json, f);
    snprintf(what, sizeof what, "\"%s\" must be a list of file names", key);
    if (!is_text(text)) return bad_job(r, what);
    (*out)[f] = (batch_file){json_string_value(text), canonical(r->ctx, r->memory, json_string_value(text)), r->k};
    if (!(*out)[f].path) return r->ctx->error.status;
  }
  *out_count = (int)count;
  snprintf(what, sizeof what, "needs \"%s\": a list of the files that it %s", key, *key == 'i' ? "reads" : "writes");
  bool needed = *key == 'o' && count == 0;
  return !json_is_array(json) || needed ? bad_job(r, what) : SN_OK;
}

static sn_status read_name(const job_reader *r, const json_t *json) {
  batch_job *job = r->job;
  char number[16];
  snprintf(number, sizeof number, "%d", r->k + 1);
  if (!json) {
    job->name = sn_arena_text(r->ctx, r->memory, number);
    return job->name ? SN_OK : r->ctx->error.status;
  }
  job->name = json_string_value(json);
  bool plain = is_text(json) && strlen(job->name) <= most_name && job->name[0] != '.' && !strchr(job->name, '/');
  return plain ? SN_OK : bad_job(r, "\"name\" must be a short text without slashes: it names its log");
}

static sn_status read_job(cli *c, batch *b, const char *list, int k, const json_t *json) {
  static const char *const known[] = {"name", "command", "inputs", "outputs", NULL};
  batch_job *job = &b->jobs[k];
  const job_reader reader = {&c->ctx, &b->memory, list, k, job}, *r = &reader;
  const char *key;
  json_t *value;
  if (!json_is_object(json)) return bad_job(r, "must be an object with command, inputs and outputs");
  json_object_foreach((json_t *)(uintptr_t)json, key, value) {
    int at = 0;
    while (known[at] && strcmp(known[at], key) != 0) at++;
    if (known[at]) continue;
    const char *meant = sn_suggest(key, known);
    return sn_fail(&c->ctx, SN_BAD_FILE, "%s: job %d: unknown key \"%s\"%s%s", list, k + 1, key,
                   meant ? "; did you mean " : "", meant ? meant : "");
  }
  sn_status status = read_name(r, json_object_get(json, "name"));
  if (status == SN_OK) status = read_command(r, json_object_get(json, "command"));
  if (status == SN_OK) status = read_files(r, json, "inputs", &job->inputs, &job->input_count);
  if (status == SN_OK) status = read_files(r, json, "outputs", &job->outputs, &job->output_count);
  return status;
}

static int by_name(const void *a, const void *b) {
  const batch_job *const *x = a, *const *y = b;
  return strcmp((*x)->name, (*y)->name);
}

static sn_status check_names(cli *c, batch *b, const char *list) {
  const batch_job **sorted = SN_NEW(&c->ctx, &b->memory, const batch_job *, b->job_count);
  if (!sorted) return c->ctx.error.status;
  for (int k = 0; k < b->job_count; k++) sorted[k] = &b->jobs[k];
  qsort(sorted, (size_t)b->job_count, sizeof *sorted, by_name);
  for (int k = 1; k < b->job_count; k++) {
    if (strcmp(sorted[k - 1]->name, sorted[k]->name) != 0) continue;
    return sn_fail(&c->ctx, SN_BAD_FILE, "%s: two jobs have the name \"%s\"", list, sorted[k]->name);
  }
  return SN_OK;
}

// ---- who waits for whom -------------------------------------------------------------------------------------------------

static int by_path(const void *a, const void *b) {
  const batch_file *x = a, *y = b;
  return strcmp(x->path, y->path);
}

static const batch_file *find_output(const batch *b, char *path) {
  batch_file wanted = {.path = path};
  return bsearch(&wanted, b->outputs, (size_t)b->output_count, sizeof wanted, by_path);
}

// The output that is this path or a folder that it is in.
static const batch_file *output_around(const batch *b, char *path) {
  const batch_file *found = NULL;
  for (size_t cut = strlen(path); !found && cut > 0;) {
    char kept = path[cut];
    path[cut] = '\0';
    found = find_output(b, path);
    path[cut] = kept;
    while (path[--cut] != '/') {
    }
  }
  return found;
}

// The first output within the folder `path`, or behind it.
static int first_within(const batch *b, const char *path) {
  int low = 0, high = b->output_count;
  size_t size = strlen(path);
  while (low < high) {
    int middle = (low + high) / 2;
    int order = strncmp(b->outputs[middle].path, path, size);
    if (order == 0) order = (unsigned char)b->outputs[middle].path[size] < '/' ? -1 : 0;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool is_within(const char *path, const char *folder) {
  size_t size = strlen(folder);
  return strncmp(path, folder, size) == 0 && path[size] == '/';
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
    for (int g = first_within(b, b->outputs[f].path);
         g < b->output_count && is_within(b->outputs[g].path, b->outputs[f].path); g++) {
      const batch_file *folder = &b->outputs[f], *file = &b->outputs[g];
      if (folder->job == file->job) continue;
      return sn_fail(&c->ctx, SN_BAD_FILE,
                     "%s: \"%s\" writes %s, within %s of \"%s\"; name the files of that folder instead", list,
                     b->jobs[file->job].name, file->text, folder->text, b->jobs[folder->job].name);
    }
  return SN_OK;
}

static void add_need(batch_job *job, int other) {
  for (int k = 0; k < job->need_count; k++)
    if (job->needs[k] == other) return;
  job->needs[job->need_count++] = other;
}

static sn_status find_needs(cli *c, batch *b) {
  for (int k = 0; k < b->job_count; k++) {
    batch_job *job = &b->jobs[k];
    size_t room = 0;
    for (int f = 0; f < job->input_count; f++) {
      const char *path = job->inputs[f].path;
      room += 1;
      for (int g = first_within(b, path); g < b->output_count && is_within(b->outputs[g].path, path); g++) room++;
    }
    job->needs = SN_NEW(&c->ctx, &b->memory, int, room);
    if (!job->needs) return c->ctx.error.status;
    for (int f = 0; f < job->input_count; f++) {
      char *path = job->inputs[f].path;
      const batch_file *around = output_around(b, path);
      if (around) add_need(job, around->job);
      for (int g = first_within(b, path); g < b->output_count && is_within(b->outputs[g].path, path); g++)
        add_need(job, b->outputs[g].job);
    }
  }
  return SN_OK;
}

// From a job on a cycle, or behind one, to the message that names it.
static sn_status tell_cycle(cli *c, const batch *b, const char *list, const bool *free_of, int k) {
  char text[700] = "";
  int steps = 0, at = k, start;
  // Walking up never leaves the jobs that wait for ever: after job_count steps we are on the cycle.
  for (; steps <= b->job_count; steps++) {
    const batch_job *job = &b->jobs[at];
    int n = 0;
    while (free_of[job->needs[n]]) n++;
    at = job->needs[n];
  }
  start = at;
  do {
    const batch_job *job = &b->jobs[at];
    int n = 0;
    while (free_of[job->needs[n]]) n++;
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s\"%s\" needs \"%s\"", used ? ", " : "", job->name,
             b->jobs[job->needs[n]].name);
    at = job->needs[n];
  } while (at != start && strlen(text) < sizeof text - 1);
  return sn_fail(&c->ctx, SN_BAD_FILE, "%s: jobs wait for each other in a circle: %s", list, text);
}

static sn_status check_cycles(cli *c, batch *b, const char *list) {
  bool *free_of = SN_NEW(&c->ctx, &b->memory, bool, b->job_count); // of cycles
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

static int group_of(batch *b, int k) {
  while (b->jobs[k].group != k) k = b->jobs[k].group = b->jobs[b->jobs[k].group].group;
  return k;
}

static void find_groups(batch *b) {
  for (int k = 0; k < b->job_count; k++) b->jobs[k].group = k;
  for (int k = 0; k < b->job_count; k++)
    for (int n = 0; n < b->jobs[k].need_count; n++) {
      int x = group_of(b, k), y = group_of(b, b->jobs[k].needs[n]);
      b->jobs[x > y ? x : y].group = x < y ? x : y;
    }
  for (int k = 0; k < b->job_count; k++) b->jobs[k].group = group_of(b, k);
}

sn_status sn_batch_choose(cli *c, batch *b, int part, int parts) {
  int *sizes = SN_NEW(&c->ctx, &b->memory, int, b->job_count), *loads = SN_NEW(&c->ctx, &b->memory, int, parts);
  if (!sizes || !loads) return c->ctx.error.status;
  for (int k = 0; k < b->job_count; k++) sizes[b->jobs[k].group]++;
  for (int g = 0; g < b->job_count; g++) {
    if (sizes[g] == 0) continue;
    int least = 0;
    for (int p = 1; p < parts; p++)
      if (loads[p] < loads[least]) least = p;
    loads[least] += sizes[g];
    if (least != part - 1) continue;
    for (int k = g; k < b->job_count; k++)
      if (b->jobs[k].group == g) b->jobs[k].chosen = true;
  }
  return SN_OK;
}

// ---- all of it ------------------------------------------------------------------------------------------------------------

static sn_status read_list(cli *c, const char *path, const sn_file *file, batch *b) {
  json_error_t error;
  b->json = json_loadb((const char *)file->bytes, file->size, JSON_REJECT_DUPLICATES, &error);
  if (!b->json) return sn_fail(&c->ctx, SN_BAD_FILE, "%s: line %d: %s", path, error.line, error.text);
  const json_t *jobs = json_is_array(b->json) ? b->json : json_object_get(b->json, "jobs");
  if (!json_is_array(jobs) || json_array_size(jobs) == 0 || json_array_size(jobs) > INT_MAX) {
    return sn_fail(&c->ctx, SN_BAD_FILE, "%s: expected a list of jobs: {\"jobs\": [{\"command\": ...}, ...]}", path);
  }
  b->job_count = (int)json_array_size(jobs);
  b->jobs = SN_NEW(&c->ctx, &b->memory, batch_job, b->job_count);
  size_t size = strlen(path) + sizeof ".log";
  b->folder = SN_NEW(&c->ctx, &b->memory, char, size);
  if (!b->jobs || !b->folder) return c->ctx.error.status;
  snprintf(b->folder, size, "%s.log", path);
  sn_status status = SN_OK;
  for (int k = 0; status == SN_OK && k < b->job_count; k++)
    status = read_job(c, b, path, k, json_array_get(jobs, (size_t)k));
  return status;
}

sn_status sn_batch_read(cli *c, const char *path, batch *out) {
  *out = (batch){.memory = sn_arena_new(&c->ctx)};
  sn_file file;
  sn_status status = sn_file_open(&c->ctx, path, &file);
  if (status != SN_OK) return status;
  status = read_list(c, path, &file, out);
  sn_file_close(&file);
  if (status == SN_OK) status = check_names(c, out, path);
  if (status == SN_OK) status = list_outputs(c, out, path);
  if (status == SN_OK) status = find_needs(c, out);
  if (status == SN_OK) status = check_cycles(c, out, path);
  if (status != SN_OK) {
    sn_batch_free(out);
    return status;
  }
  find_groups(out);
  return SN_OK;
}

void sn_batch_free(batch *b) {
  for (int k = 0; k < b->job_count; k++) json_decref(b->jobs[k].record);
  json_decref(b->json);
  sn_arena_free(&b->memory);
  *b = (batch){0};
}
