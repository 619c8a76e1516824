// SPDX-License-Identifier: MIT
// How fast the kernels are: linear and dual quaternion blends, positions only and with normals, packed and not, vertices in the file's order
// and in the blocks', every instruction set, one and two threads, results in the caches and past them, against a copy that
// reads and writes as many bytes. Two threads work on several frames in a row; so does one in the rows that say so.
//
//     bench_skin [RIGGED.glb] [seconds per measurement]
//
// Without a file the mesh is a torus. Calls alternate, and medians are printed: ratios of one run mean something even on
// a busy machine, single numbers less so.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "skin_bench.h"

// One evaluation: a model, its input and output, and the threads that share it.
typedef struct evaluation {
  sn_model bytes;
  sn_rt_model model;
  sn_rt_input input;
  sn_rt_output output;
  void *scratch;
  int threads, cached; // threads 0: one, several frames in a row; cached: see `cached_kinds`
  void *staging[2];    // of the two threads, where results go past the caches
} evaluation;

// Half of the bytes that an evaluation reads and writes, read and written.
typedef struct copying {
  char *from, *to;
  size_t size;
  int threads;
} copying;

// ---- two threads, as the workers of an engine are: awake, and several frames in a row --------------------------------------------

enum { frames = 16 }; // of a call with two threads: waking a thread takes as long as 20,000 vertices

typedef struct helper {
  pthread_t thread;
  pthread_barrier_t begin;
  atomic_llong arrived;  // at meetings, all together
  long long meetings[2]; // of the caller, of the helper
  void (*run)(void *user, int part);
  void *user;
} helper;

static helper second;

// Both are here.
static void meet(int part) {
  long long all = 2 * ++second.meetings[part];
  atomic_fetch_add(&second.arrived, 1);
  for (int spins = 0; atomic_load(&second.arrived) < all;) {
    if (++spins > 10000) sched_yield(); // other work has the other's core
  }
}

// `prepare` is the caller's alone.
static void share_frames(int part, void (*prepare)(void *user)) {
  for (int f = 0; f < frames; f++) {
    if (prepare) prepare(second.user);
    meet(part);
    second.run(second.user, part);
    meet(part);
  }
}

static void *helper_main(void *unused) {
  (void)unused;
  for (;;) {
    pthread_barrier_wait(&second.begin);
    if (!second.run) return NULL;
    share_frames(1, NULL);
  }
}

static void both(void (*prepare)(void *user), void (*run)(void *user, int part), void *user) {
  second.run = run, second.user = user;
  pthread_barrier_wait(&second.begin);
  share_frames(0, prepare);
}

static void skin_half(void *user, int part) {
  evaluation *e = user;
  uint32_t count = e->model.info.vertex_count, grain = e->model.info.grain, half = count / 2 / grain * grain;
  if (half == 0) {
    sn_rt_part share = sn_rt_get_part(&e->model, (uint32_t)part, 2);
    sn_rt_skin_part(&e->model, e->scratch, &e->output, &share, NULL);
    return;
  }
  sn_rt_output output = e->output;
  output.staging = e->staging[part];
  sn_rt_skin(&e->model, e->scratch, &output, part ? half : 0, part ? count - half : half, NULL);
}

static void make_palette(void *user) {
  evaluation *e = user;
  sn_rt_palette(&e->model, &e->input, e->scratch, NULL);
}

static void copy_half(void *user, int part) {
  copying *c = user;
  size_t half = c->size / 2;
  memcpy(c->to + (part ? half : 0), c->from + (part ? half : 0), part ? c->size - half : half);
}

// Results that are not streamed, however large: all vertices, and four parts one after the other, as four threads would have them.
enum cached_kinds { whole = 1, by_blocks, by_vertices };

static void run_evaluation(void *user) {
  evaluation *e = user;
  if (e->cached) {
    uint32_t parts = e->cached == whole ? 1 : 4, count = e->model.info.vertex_count;
    sn_rt_palette(&e->model, &e->input, e->scratch, NULL);
    for (uint32_t p = 0; p < parts; p++) {
      sn_rt_part part = sn_rt_get_part(&e->model, p, parts);
      if (e->cached == by_blocks)
        sn_rt_skin_part(&e->model, e->scratch, &e->output, &part, NULL);
      else
        sn_rt_skin(&e->model, e->scratch, &e->output, p * (count / parts),
                   p + 1 < parts ? count / parts : count - p * (count / parts), NULL);
    }
    return;
  }
  if (e->threads < 2) {
    for (int f = e->threads ? frames - 1 : 0; f < frames; f++)
      sn_rt_evaluate(&e->model, &e->input, e->scratch, &e->output, NULL);
    return;
  }
  both(make_palette, skin_half, e);
}

static void run_copy(void *user) {
  copying *c = user;
  if (c->threads < 2) {
    for (int f = c->threads ? frames - 1 : 0; f < frames; f++) memcpy(c->to, c->from, c->size);
  } else {
    both(NULL, copy_half, c);
  }
}

// ---- one set at one size -------------------------------------------------------------------------------------------------------

static void *reserve(size_t size) {
  void *memory = aligned_alloc(64, (size + 127) / 64 * 64);
  if (!memory) fprintf(stderr, "out of memory\n"), exit(1);
  return memset(memory, 0, size);
}

static void new_evaluation(sn_context *ctx, const bench_set *set, sn_rt_blend blend, int bits, sn_vertex_order order,
                           evaluation *e) {
  sn_model_desc desc = sn_model_desc_default();
  desc.rest = &set->mesh, desc.skeleton = &set->skeleton, desc.skin = &set->skin;
  desc.blend = blend, desc.weight_bits = bits;
  *e = (evaluation){.threads = 1};
  bench_must(ctx, sn_model_build(ctx, &desc, &e->bytes));
  if (order == SN_VERTEX_ORDER_BLOCKS) bench_must(ctx, sn_model_set_order(ctx, &e->bytes, order));
  bench_must(ctx, sn_model_open(ctx, "model", e->bytes.bytes, e->bytes.size, &e->model));
  e->scratch = reserve(sn_rt_scratch_size(&e->model));
  int large = 24 * (uint64_t)e->model.info.vertex_count >= 8 << 20; // as sn_rt_evaluate has it
  for (uint32_t part = 0; part < 2; part++) e->staging[part] = large ? reserve(sn_rt_staging_size(&e->model)) : NULL;
}

typedef struct row {
  const char *name;
  int
    model; // 0 floats, 1 packed, 2 packed dual quaternions, 3 and 4 the first two with vertices in the blocks' order
  sn_rt_path path;
  int threads, cached;
} row;

static const row rows[] = {{"linear", 0, SN_RT_PATH_BEST, 1, 0},
                           {"linear, packed", 1, SN_RT_PATH_BEST, 1, 0},
                           {"dualquat, packed", 2, SN_RT_PATH_BEST, 1, 0},
                           {"packed, in a row", 1, SN_RT_PATH_BEST, 0, 0},
                           {"packed, 2 threads", 1, SN_RT_PATH_BEST, 2, 0},
                           {"blocks' order", 3, SN_RT_PATH_BEST, 1, 0},
                           {"blocks' order, packed", 4, SN_RT_PATH_BEST, 1, 0},
                           {"the same, in a row", 4, SN_RT_PATH_BEST, 0, 0},
                           {"the same, 2 threads", 4, SN_RT_PATH_BEST, 2, 0},
                           {"packed, not streamed", 1, SN_RT_PATH_BEST, 1, whole},
                           {"linear, not streamed", 0, SN_RT_PATH_BEST, 1, whole},
                           {"four parts of blocks", 0, SN_RT_PATH_BEST, 1, by_blocks},
                           {"four of vertices", 0, SN_RT_PATH_BEST, 1, by_vertices},
                           {"packed, avx2", 1, SN_RT_PATH_AVX2, 1, 0},
                           {"packed, sse2", 1, SN_RT_PATH_SSE2, 1, 0},
                           {"packed, scalar", 1, SN_RT_PATH_SCALAR, 1, 0}};
enum { row_count = sizeof rows / sizeof *rows, copy_count = 3 };

// Cycles of the processor's clock; 0 where it has none that can be read.
static uint64_t ticks(void) {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_ia32_rdtsc();
#else
  return 0;
#endif
}

static void print_row(const char *name, const bench_time *t, double vertices, double bytes, double clock,
                      double linear) {
  printf("    %-22s %9.1f us (%.1f to %.1f) %8.1f million/s %6.2f cycles/vertex %5.1f bytes/vertex %6.2f GB/s %5.2f "
         "x linear\n",
         name, 1e6 * t->median, 1e6 * t->low, 1e6 * t->high, vertices / t->median / 1e6, t->median * clock / vertices,
         bytes / vertices, 1e-9 * bytes / t->median, t->median / linear);
}

static void measure_rows(const bench_set *set, evaluation *models, int with, double seconds) {
  size_t vertices = (size_t)set->mesh.vertex_count, joints = (size_t)set->skeleton.joint_count;
  float(*pose)[12] = reserve(joints * sizeof *pose), *positions = reserve(12 * vertices),
  *normals = reserve(12 * vertices);
  bench_pose((int)joints, pose);
  evaluation e[row_count];
  bench_call calls[row_count + copy_count];
  bench_time times[row_count + copy_count];
  const char *names[row_count + copy_count];
  double bytes[row_count + copy_count];
  int count = 0;
  for (int r = 0; r < row_count; r++) {
    e[count] = models[rows[r].model];
    if (!sn_rt_use_path(&e[count].model, rows[r].path)) continue;
    e[count].input.joints = (const float(*)[12])pose;
    e[count].output = (sn_rt_output){.positions = positions, .normals = with ? normals : NULL};
    e[count].threads = rows[r].threads, e[count].cached = rows[r].cached;
    const sn_rt_model *m = &e[count].model;
    double unread = with ? 0 : (double)(m->info.weight_bits == 12 ? 3 : 12) * 8 * m->info.block_count; // normals
    bytes[count] = (double)m->info.bytes_read - unread + (with ? 24.0 : 12.0) * (double)vertices;
    names[count] = rows[r].name, calls[count] = (bench_call){.run = run_evaluation, .user = e + count};
    count++;
  }
  size_t half = (size_t)(bytes[1] / 2);
  char *from = reserve(half), *to = reserve(half);
  static const char *const copy_names[] = {"memcpy, bytes of packed", "memcpy, in a row", "memcpy, 2 threads"};
  static const int copy_threads[] = {1, 0, 2}; // the first finds the caches as evaluations do
  copying copies[copy_count];
  for (int r = 0; r < copy_count; r++, count++) {
    copies[r] = (copying){from, to, half, copy_threads[r]};
    names[count] = copy_names[r], bytes[count] = bytes[1];
    calls[count] = (bench_call){.run = run_copy, .user = copies + r};
  }
  uint64_t first = ticks();
  double start = bench_now();
  bench_measure(count, calls, seconds, times);
  double clock = (double)(ticks() - first) / (bench_now() - start);
  for (int r = 0; r < count; r++) {
    int threads =
      calls[r].run == run_copy ? ((copying *)calls[r].user)->threads : ((evaluation *)calls[r].user)->threads;
    double *t[] = {&times[r].median, &times[r].low, &times[r].high, &times[r].best};
    for (int n = 0; threads != 1 && n < 4; n++) *t[n] /= frames;
  }
  printf("  %s\n", with ? "positions and normals" : "positions");
  for (int r = 0; r < count; r++) print_row(names[r], times + r, (double)vertices, bytes[r], clock, times[0].median);
  free(pose), free(positions), free(normals), free(from), free(to);
}

static void measure(sn_context *ctx, const bench_set *set, double seconds) {
  enum { model_count = 5 };
  evaluation models[model_count];
  new_evaluation(ctx, set, SN_RT_BLEND_LINEAR, 32, SN_VERTEX_ORDER_FILE, models);
  new_evaluation(ctx, set, SN_RT_BLEND_LINEAR, 12, SN_VERTEX_ORDER_FILE, models + 1);
  new_evaluation(ctx, set, SN_RT_BLEND_DUALQUAT, 12, SN_VERTEX_ORDER_FILE, models + 2);
  new_evaluation(ctx, set, SN_RT_BLEND_LINEAR, 32, SN_VERTEX_ORDER_BLOCKS, models + 3);
  new_evaluation(ctx, set, SN_RT_BLEND_LINEAR, 12, SN_VERTEX_ORDER_BLOCKS, models + 4);
  const sn_rt_info *info = &models[0].model.info;
  double vertices = set->mesh.vertex_count;
  printf("\n%s: %.0f vertices, %d joints, %.2f influences, %.1f %% of %u blocks shared, %.1f bytes read per vertex, "
         "%.1f packed\n",
         set->name, vertices, set->skeleton.joint_count, (double)info->influence_count / vertices,
         100.0 * info->shared_blocks / info->block_count, info->block_count, (double)info->bytes_read / vertices,
         (double)models[1].model.info.bytes_read / vertices);
  for (int with = 0; with < 2; with++) measure_rows(set, models, with, seconds);
  for (int m = 0; m < model_count; m++) {
    sn_model_free(&models[m].bytes), free(models[m].scratch);
    for (int part = 0; part < 2; part++) free(models[m].staging[part]);
  }
}

int main(int argc, char **argv) {
  const char *path = argc > 1 && argv[1][0] ? argv[1] : NULL;
  double seconds = argc > 2 ? atof(argv[2]) : 1;
  sn_context ctx = sn_context_default();
  pthread_barrier_init(&second.begin, NULL, 2);
  if (pthread_create(&second.thread, NULL, helper_main, NULL)) return fprintf(stderr, "no second thread\n"), 1;
  static const int sizes[] = {10000, 100000, 1000000};
  for (int kind = 0; kind < bench_kinds; kind++)
    for (int s = 0; s < 3; s++) {
      bench_set set;
      bench_load(&ctx, path, kind, sizes[s], &set);
      measure(&ctx, &set, seconds);
      fflush(stdout);
      bench_free(&set);
    }
  second.run = NULL;
  pthread_barrier_wait(&second.begin);
  pthread_join(second.thread, NULL);
  return 0;
}
