// SPDX-License-Identifier: MIT
// How time and memory grow with the work, and what teams of processes send each other: the figures of docs/guide/large.md.
//
//   bench_scale                 small sizes, some minutes
//   bench_scale full [FILE]     up to 300,000 vertices and 1,500 frames: an hour
//   bench_scale largest [FILE]  up to a million vertices and 5,000 frames as well: hours, 16 GB of memory
//   bench_scale teams [METHOD]  teams only, of all methods or one
//
// What is measured is noted in FILE, and not measured again.
#include <malloc.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/gen/gen.h"
#include "sinew/rig.h"
#include "sinew/train.h"
#include "thread_team.h"

// ---- memory: what is held at most -----------------------------------------------------------------------------------------

static _Atomic size_t held, most_held;

static void *count_memory(void *user, void *ptr, size_t size) {
  (void)user;
  size_t before = ptr ? malloc_usable_size(ptr) : 0;
  void *out = size > 0 ? realloc(ptr, size) : NULL;
  if (size == 0) free(ptr);
  atomic_fetch_sub(&held, before);
  size_t now = atomic_fetch_add(&held, out ? malloc_usable_size(out) : 0) + (out ? malloc_usable_size(out) : 0);
  for (size_t most = most_held; now > most && !atomic_compare_exchange_weak(&most_held, &most, now);) {
  }
  return out;
}

static const sn_allocator counting = {count_memory, NULL};

// ---- one measurement --------------------------------------------------------------------------------------------------------

typedef struct work {
  const char *method; // "rig", or a method
  int vertices, frames, joints, bones;
  const sn_examples *examples;
} work;

typedef struct cost {
  double seconds, megabytes;
} cost;

// Time of all threads on their processors: what others do on this machine does not count.
static double processor_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop_if(sn_status status, const sn_context *ctx) {
  if (status == SN_OK) return;
  fprintf(stderr, "bench_scale: %s\n", ctx->error.message);
  exit(1);
}

static void run(sn_context *ctx, void *user) {
  const work *w = user;
  const sn_examples *e = w->examples;
  if (strcmp(w->method, "rig") == 0) {
    sn_rig_options options = sn_rig_options_default();
    sn_rig_result result;
    options.bones = w->bones, options.keep_bones = true;
    stop_if(sn_rig(ctx, &e->rest, &e->frames, &options, &result), ctx);
    sn_rig_result_free(&result);
    return;
  }
  char text[64];
  sn_method_spec spec;
  sn_keys keys;
  sn_model model;
  sn_train_report report;
  bool takes_bones = strcmp(w->method, "rotreg") == 0;
  snprintf(text, sizeof text, takes_bones ? "%s:bones=%d" : "%s", w->method, w->bones);
  stop_if(sn_method_parse(ctx, text, &spec), ctx);
  stop_if(sn_keys_parse(ctx, "all", e->frames.frame_count, 1, &keys, NULL), ctx);
  stop_if(sn_train(ctx, &spec, e, &keys, &model, &report), ctx);
  sn_model_free(&model);
  sn_keys_free(&keys);
}

static sn_examples make(sn_context *ctx, const work *w) {
  sn_gen_options options = sn_gen_options_default();
  sn_examples out;
  options.set = "body", options.vertices = w->vertices, options.frames = w->frames, options.joints = w->joints;
  stop_if(sn_gen(ctx, &options, &out), ctx);
  return out;
}

static cost measure(work w) {
  sn_context counted = sn_context_default();
  counted.allocator = counting;
  most_held = held;
  double start = processor_seconds();
  run(&counted, &w);
  return (cost){processor_seconds() - start, (double)most_held / 1e6};
}

// ---- growth -----------------------------------------------------------------------------------------------------------------

// The slope of log y over log x of the last three points: fixed costs weigh on small sizes.
static double exponent(const int *x, const double *y, int count) {
  int first = count > 3 ? count - 3 : 0, n = count - first;
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (int k = first; k < count; k++) {
    double a = log(x[k]), b = log(y[k]);
    sx += a, sy += b, sxx += a * a, sxy += a * b;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static const char *const methods[] = {"rig", "lbs", "psd", "rotreg"};

enum { most_sizes = 6, method_count = sizeof methods / sizeof *methods };

// Sizes of the quick table; of the full one, the last of which are for `largest`.
typedef struct axis {
  const char *name;
  size_t offset;
  int quick[most_sizes], full[most_sizes];
} axis;

static const axis axes[] = {
  {"vertices", offsetof(work, vertices), {5000, 10000, 20000, 40000}, {10000, 30000, 100000, 300000, 1000000}},
  {"frames", offsetof(work, frames), {25, 50, 100, 200}, {50, 150, 500, 1500, 5000}},
  {"joints", offsetof(work, joints), {8, 16, 32, 64}, {10, 30, 100, 200, 500}},
  {"bones", offsetof(work, bones), {5, 10, 20, 40}, {10, 30, 60, 120, 300}},
};

enum { axis_count = sizeof axes / sizeof *axes };

static cost costs[axis_count][method_count][most_sizes]; // 0 s: not measured

static bool has_axis(int m, int a) {
  bool rig = strcmp(methods[m], "rig") == 0, bones = rig || strcmp(methods[m], "rotreg") == 0;
  return strcmp(axes[a].name, "bones") == 0 ? bones : strcmp(axes[a].name, "joints") != 0 || !rig;
}

static const int *sizes_of(int a, bool full) { return full ? axes[a].full : axes[a].quick; }

static int size_count(int a, bool full, bool largest) {
  int count = 0;
  while (count < most_sizes && sizes_of(a, full)[count] > 0) count++;
  return full && !largest ? count - 1 : count;
}

static void note_line(const char *line, bool full) {
  char method[16], name[16];
  int size;
  cost c;
  if (sscanf(line, "%15s %15s %d %lf %lf", method, name, &size, &c.seconds, &c.megabytes) != 5) return;
  for (int a = 0; a < axis_count; a++)
    for (int m = 0; m < method_count; m++)
      for (int k = 0; k < most_sizes; k++)
        if (!strcmp(name, axes[a].name) && !strcmp(method, methods[m]) && size == sizes_of(a, full)[k])
          costs[a][m][k] = c;
}

static void measure_size(int a, int k, bool full, FILE *notes) {
  work w = {.vertices = full ? 20000 : 5000, .frames = full ? 50 : 25, .joints = 16, .bones = 10};
  sn_context ctx = sn_context_default();
  sn_examples examples = {0};
  *(int *)((char *)&w + axes[a].offset) = sizes_of(a, full)[k];
  for (int m = 0; m < method_count; m++) {
    if (!has_axis(m, a) || costs[a][m][k].seconds > 0) continue;
    if (!examples.rest.vertex_count) examples = make(&ctx, &w);
    w.method = methods[m], w.examples = &examples;
    costs[a][m][k] = measure(w);
    fprintf(notes, "%s %s %d %.3f %.1f\n", methods[m], axes[a].name, sizes_of(a, full)[k], costs[a][m][k].seconds,
            costs[a][m][k].megabytes);
    fflush(notes);
  }
  sn_examples_free(&examples);
}

static void print_row(int a, int m, bool full, int count) {
  double seconds[most_sizes], megabytes[most_sizes];
  printf("| `%s` | %s |", methods[m], axes[a].name);
  for (int k = 0; k < count; k++) {
    cost c = costs[a][m][k];
    seconds[k] = c.seconds, megabytes[k] = c.megabytes;
    printf(" %d: %.2f s, %.0f MB;", sizes_of(a, full)[k], c.seconds, c.megabytes);
  }
  printf(" | %.2f | %.2f |\n", exponent(sizes_of(a, full), seconds, count),
         exponent(sizes_of(a, full), megabytes, count));
}

static void growth(bool full, bool largest, const char *path) {
  FILE *notes = path ? fopen(path, "a+") : stderr;
  char line[256];
  if (!notes) {
    perror(path);
    exit(1);
  }
  while (path && fgets(line, sizeof line, notes)) note_line(line, full);
  for (int k = 0; k < most_sizes; k++) // small ones first: what is noted can be used before all is done
    for (int a = 0; a < axis_count; a++)
      if (k < size_count(a, full, largest)) measure_size(a, k, full, notes);
  if (path) fclose(notes);
  printf("| method | grows | size: processor time, most memory held | exponent of time | of memory |\n"
         "| --- | --- | --- | --- | --- |\n");
  for (int m = 0; m < method_count; m++)
    for (int a = 0; a < axis_count; a++)
      if (has_axis(m, a)) print_row(a, m, full, size_count(a, full, largest));
}

// ---- teams ------------------------------------------------------------------------------------------------------------------

static double run_together(const work *w, int size, sn_team *counts) {
  void *users[most_ranks];
  for (int r = 0; r < size; r++) users[r] = (void *)(uintptr_t)w;
  return run_team(size, sn_context_default().allocator, run, users, counts);
}

static void teams(const char *only) {
  static const struct {
    const char *method;
    int vertices; // what takes a process longer begins smaller
  } together[] = {{"rig", 20000}, {"lbs:prior=none", 20000}, {"lbs", 20000}, {"dqs", 20000},
                  {"psd", 6000},  {"rotreg", 2000}};
  sn_context ctx = sn_context_default();
  printf("\n| method | processes | the same work: time of the slowest, times that of one | work that grows with "
         "them: time, times that of one | messages | "
         "megabytes sent |\n"
         "| --- | --- | --- | --- | --- | --- |\n");
  for (size_t m = 0; m < sizeof together / sizeof *together; m++) {
    double alone = 0;
    if (only && strcmp(only, together[m].method) != 0) continue;
    for (int size = 1; size <= 8; size *= 2) {
      sn_team counts, weak_counts;
      work w = {together[m].method, together[m].vertices, 40, 16, 10, NULL}, wide = w;
      wide.vertices *= size;
      sn_examples strong = make(&ctx, &w), weak = make(&ctx, &wide);
      w.examples = &strong, wide.examples = &weak;
      double strong_time = run_together(&w, size, &counts), weak_time = run_together(&wide, size, &weak_counts);
      if (size == 1) alone = strong_time;
      printf("| `%s` | %d | %.2f s, %.2f | %.2f s, %.2f | %zu | %.1f |\n", together[m].method, size, strong_time,
             strong_time / alone, weak_time, weak_time / alone, counts.messages, (double)counts.bytes / 1e6);
      fflush(stdout);
      sn_examples_free(&strong);
      sn_examples_free(&weak);
    }
  }
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  bool largest = strcmp(mode, "largest") == 0, full = largest || strcmp(mode, "full") == 0;
  if (strcmp(mode, "teams") != 0) growth(full, largest, argc > 2 ? argv[2] : NULL);
  if (!full) teams(strcmp(mode, "teams") == 0 && argc > 2 ? argv[2] : NULL);
  return 0;
}
