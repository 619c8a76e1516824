// SPDX-License-Identifier: MIT
// Rotational regression at the size of a character (Drago in Table 1 of Wang 2007): the time of one evaluation without
// and with normals next to that of lbs, alternating within one run, and where it goes; sizes of models by Table 1's rows.
//
//     bench_rotreg ROTREG.sinew LBS.sinew
#include <stdio.h>
#include <stdlib.h>

#include "sinew/eval.h"
#include "sinew/model.h"

typedef struct subject {
  sn_file file;
  sn_rt_model model;
  float (*joints)[12], (*positions)[3], (*normals)[3];
  void *scratch;
} subject;

static int open_subject(sn_context *ctx, const char *path, subject *s) {
  if (sn_file_open(ctx, path, &s->file) != SN_OK) return 0;
  if (sn_model_open(ctx, path, s->file.bytes, s->file.size, &s->model) != SN_OK) return 0;
  s->joints = malloc((s->model.info.joint_count + 1) * sizeof *s->joints);
  s->positions = malloc(s->model.info.vertex_count * sizeof *s->positions);
  s->normals = malloc(s->model.info.vertex_count * sizeof *s->normals);
  s->scratch = malloc(sn_rt_scratch_size(&s->model));
  if (!s->joints || !s->positions || !s->normals || !s->scratch) return 0;
  sn_random rng = sn_random_new(1);
  for (uint32_t j = 0; j < s->model.info.joint_count; j++) {
    sn_vec3 turn = {0.3 * sn_random_normal(&rng), 0.3 * sn_random_normal(&rng), 0.3 * sn_random_normal(&rng)};
    sn_affine pose = sn_affine_about(sn_rotation_exp(turn), sn_vec3_make(0, 0, 0));
    sn_model_joints(&pose, 1, &s->joints[j]);
  }
  return 1;
}

static void palette(const subject *s) {
  sn_rt_input input = {.joints = (const float(*)[12])s->joints};
  sn_rt_palette(&s->model, &input, s->scratch, NULL);
}

static void skin(const subject *s) {
  sn_rt_output output = {.positions = &s->positions[0][0]};
  sn_rt_skin(&s->model, s->scratch, &output, 0, s->model.info.vertex_count, NULL);
}

// Those that are made from the deformed triangles; nothing for other models.
static void recompute(const subject *s) {
  sn_rt_output output = {.positions = &s->positions[0][0], .normals = &s->normals[0][0]};
  sn_rt_normals(&s->model, &output, 0, s->model.info.vertex_count, NULL);
}

static void both(const subject *s) { palette(s), skin(s); }

static void with_normals(const subject *s) {
  sn_rt_input input = {.joints = (const float(*)[12])s->joints};
  sn_rt_output output = {.positions = &s->positions[0][0], .normals = &s->normals[0][0]};
  sn_rt_evaluate(&s->model, &input, s->scratch, &output, NULL);
}

static double once(void (*what)(const subject *), const subject *s) {
  enum { repeats = 20 };
  double start = sn_seconds();
  for (int r = 0; r < repeats; r++) what(s);
  return 1e6 * (sn_seconds() - start) / repeats;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// The paper's memory, 4 bytes * 12 P (9 P + 12 J) + 48 bytes per vertex, which is what its Table 1 prints (FIGURES.md).
static void say_sizes(const sn_rt_info *info) {
  static const struct {
    const char *name;
    double vertices, joints, bones, printed;
  } rows[] = {{"James", 11106, 73, 80, 5.2e6},
              {"Drago", 12500, 16, 80, 4.2e6},
              {"Gorilla", 25438, 61, 100, 8.1e6},
              {"T-Rex", 29380, 155, 60, 5.8e6}};
  double solve = 4.0 * 4 * (info->palette_count - info->joint_count);
  solve *= 3.0 * (info->palette_count - info->joint_count) + 4.0 * info->joint_count;
  double per_vertex = ((double)info->bytes - solve) / info->vertex_count;
  printf("%.1f bytes per vertex beside C1 and C2, shade %s\n", per_vertex, sn_rt_shade_name(info->shade));
  for (int r = 0; r < 4; r++) {
    double p = rows[r].bones, size = per_vertex * rows[r].vertices + 16 * p * (3 * p + 4 * rows[r].joints);
    printf("%-8s Table 1 %.2f MB, this format %.2f MB: %.2f of it\n", rows[r].name, 1e-6 * rows[r].printed,
           1e-6 * size, size / rows[r].printed);
  }
}

int main(int argc, char **argv) {
  sn_context ctx = sn_context_default();
  subject a = {0}, b = {0};
  if (argc != 3 || !open_subject(&ctx, argv[1], &a) || !open_subject(&ctx, argv[2], &b)) {
    fprintf(stderr, "usage: bench_rotreg ROTREG.sinew LBS.sinew %s\n", ctx.error.message);
    return 1;
  }
  enum { rounds = 301, kinds = 7 };
  static double times[kinds][rounds];
  both(&a), both(&b);
  for (int r = 0; r < rounds; r++) {
    times[0][r] = once(both, &a), times[1][r] = once(both, &b);
    times[2][r] = once(with_normals, &a), times[3][r] = once(with_normals, &b);
    times[4][r] = once(palette, &a), times[5][r] = once(skin, &a), times[6][r] = once(recompute, &a);
  }
  for (int k = 0; k < kinds; k++) qsort(times[k], rounds, sizeof(double), ascending);
  const char *names[] = {"rotreg, positions", "lbs, positions", "rotreg, with normals",      "lbs, with normals",
                         "rotreg, palette",   "rotreg, blend",  "rotreg, recomputed normals"};
  for (int k = 0; k < kinds; k++)
    printf("%-26s %8.2f us (%.2f to %.2f)\n", names[k], times[k][rounds / 2], times[k][rounds / 10],
           times[k][rounds - rounds / 10]);
  for (int n = 0; n < 4; n += 2)
    printf("rotreg / lbs, %s: %.2f (of the 10th percentiles %.2f)\n", n ? "with normals" : "positions",
           times[n][rounds / 2] / times[n + 1][rounds / 2], times[n][rounds / 10] / times[n + 1][rounds / 10]);
  say_sizes(&a.model.info);
  return 0;
}
