// SPDX-License-Identifier: MIT
// How fast the kernels are: linear and dual quaternion blends, positions only and with normals, weights of 32, 16 and 8
// bits, every instruction set, one and two threads, against a copy of the bytes that an evaluation writes.
//
//     bench_skin [RIGGED.glb] [seconds per measurement]
//
// Without a file the mesh is a torus. Calls take turns and medians are printed: ratios of one run mean something even on
// a busy machine, single numbers less so.
#include <pthread.h>

#include "skin_bench.h"

// One evaluation: a model, its input and output, and the threads that share it.
typedef struct evaluation {
  sn_model bytes;
  sn_rt_model model;
  sn_rt_input input;
  sn_rt_output output;
  void *scratch;
  int threads;
} evaluation;

typedef struct copying {
  char *from, *to;
  size_t size;
  int threads;
} copying;

// ---- two threads: one waits for work, the caller does the other half ---------------------------------------------------------

typedef struct helper {
  pthread_t thread;
  pthread_barrier_t begin, end;
  void (*run)(void *user, int part);
  void *user;
} helper;

static helper second;

static void *helper_main(void *unused) {
  (void)unused;
  for (;;) {
    pthread_barrier_wait(&second.begin);
    if (!second.run) return NULL;
    second.run(second.user, 1);
    pthread_barrier_wait(&second.end);
  }
}

static void both(void (*run)(void *user, int part), void *user) {
  second.run = run, second.user = user;
  pthread_barrier_wait(&second.begin);
  run(user, 0);
  pthread_barrier_wait(&second.end);
}

static void skin_half(void *user, int part) {
  evaluation *e = user;
  uint32_t count = e->model.info.vertex_count, grain = e->model.info.grain, half = count / 2 / grain * grain;
  sn_rt_skin(&e->model, e->scratch, &e->output, part ? half : 0, part ? count - half : half, NULL);
}

static void copy_half(void *user, int part) {
  copying *c = user;
  size_t half = c->size / 2;
  memcpy(c->to + (part ? half : 0), c->from + (part ? half : 0), part ? c->size - half : half);
}

static void run_evaluation(void *user) {
  evaluation *e = user;
  if (e->threads == 1) {
    sn_rt_evaluate(&e->model, &e->input, e->scratch, &e->output, NULL);
    return;
  }
  sn_rt_palette(&e->model, &e->input, e->scratch, NULL);
  both(skin_half, e);
}

static void run_copy(void *user) {
  copying *c = user;
  if (c->threads == 1) {
    memcpy(c->to, c->from, c->size);
  } else {
    both(copy_half, c);
  }
}

// ---- one set at one size -------------------------------------------------------------------------------------------------------

static void *reserve(size_t size) {
  void *memory = aligned_alloc(64, (size + 127) / 64 * 64);
  if (!memory) fprintf(stderr, "out of memory\n"), exit(1);
  return memset(memory, 0, size);
}

static void new_evaluation(sn_context *ctx, const bench_set *set, sn_rt_blend blend, int bits, evaluation *e) {
  sn_model_desc desc = sn_model_desc_default();
  desc.rest = &set->mesh, desc.skeleton = &set->skeleton, desc.skin = &set->skin;
  desc.blend = blend, desc.weight_bits = bits;
  *e = (evaluation){.threads = 1};
  bench_must(ctx, sn_model_build(ctx, &desc, &e->bytes));
  bench_must(ctx, sn_model_open(ctx, "model", e->bytes.bytes, e->bytes.size, &e->model));
  e->scratch = reserve(sn_rt_scratch_size(&e->model));
}

enum { rows = 9 };

static void measure(sn_context *ctx, const bench_set *set, double seconds) {
  size_t vertices = (size_t)set->mesh.vertex_count, joints = (size_t)set->skeleton.joint_count;
  float(*pose)[12] = reserve(joints * sizeof *pose), *positions = reserve(12 * vertices),
  *normals = reserve(12 * vertices);
  bench_pose((int)joints, pose);
  evaluation models[4];
  new_evaluation(ctx, set, SN_RT_BLEND_LINEAR, 32, models),
    new_evaluation(ctx, set, SN_RT_BLEND_LINEAR, 16, models + 1);
  new_evaluation(ctx, set, SN_RT_BLEND_LINEAR, 8, models + 2),
    new_evaluation(ctx, set, SN_RT_BLEND_DUALQUAT, 32, models + 3);
  const sn_rt_info *info = &models[0].model.info;
  printf("\n%s: %zu vertices, %zu joints, %.2f influences, %.1f %% of %u blocks shared, %.0f bytes read per vertex\n",
         set->name, vertices, joints, (double)info->influence_count / (double)vertices,
         100.0 * info->shared_blocks / info->block_count, info->block_count,
         (double)info->bytes_read / (double)vertices);
  for (int with = 0; with < 2; with++) {
    evaluation e[rows];
    static const char *const names[rows] = {"linear",        "linear, 16-bit weights", "linear, 8-bit weights",
                                            "dualquat",      "linear, 2 threads",      "linear, sse2",
                                            "linear, scalar"};
    static const int from[rows] = {0, 1, 2, 3, 0, 0, 0};
    bench_call calls[rows];
    bench_time times[rows];
    int count = 7;
    for (int r = 0; r < count; r++) {
      e[r] = models[from[r]];
      e[r].input.joints = (const float(*)[12])pose;
      e[r].output = (sn_rt_output){.positions = positions, .normals = with ? normals : NULL};
      e[r].threads = r == 4 ? 2 : 1;
      if (r == 5) sn_rt_use_path(&e[r].model, SN_RT_PATH_SSE2);
      if (r == 6) sn_rt_use_path(&e[r].model, SN_RT_PATH_SCALAR);
      calls[r] = (bench_call){.run = run_evaluation, .user = e + r};
    }
    copying copies[2];
    for (int r = 0; r < 2; r++) {
      copies[r] = (copying){(char *)models[0].bytes.bytes, (char *)positions, 12 * vertices, 1 + r};
      calls[count + r] = (bench_call){.run = run_copy, .user = copies + r};
    }
    bench_measure(count + 2, calls, seconds, times);
    printf("  %s\n", with ? "positions and normals" : "positions");
    for (int r = 0; r < count + 2; r++) {
      const char *name = r < count ? names[r] : r == count ? "memcpy of the positions" : "memcpy, 2 threads";
      printf("    %-26s %9.1f us (%.1f to %.1f) %8.1f million/s  %5.2f x linear\n", name, 1e6 * times[r].median,
             1e6 * times[r].low, 1e6 * times[r].high, (double)vertices / times[r].median / 1e6,
             times[r].median / times[0].median);
    }
  }
  for (int m = 0; m < 4; m++) sn_model_free(&models[m].bytes), free(models[m].scratch);
  free(pose), free(positions), free(normals);
}

int main(int argc, char **argv) {
  const char *path = argc > 1 && argv[1][0] ? argv[1] : NULL;
  double seconds = argc > 2 ? atof(argv[2]) : 1;
  sn_context ctx = sn_context_default();
  pthread_barrier_init(&second.begin, NULL, 2), pthread_barrier_init(&second.end, NULL, 2);
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
