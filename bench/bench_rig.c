// SPDX-License-Identifier: MIT
// Error, time and memory of `sn_rig` on a set:
//   bench_rig REST FRAMES BONES [tree|free|affine|published|schaefer|aguiar|hasler|all] [influences] [smooth]
// `all`: our own tree, the methods of others, and their errors over ours.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "lab/baselines/baselines.h"
#include "sinew/formats.h"
#include "sinew/rig.h"

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// The smallest sum of a bone's squared weights, relative to the largest.
static double thinnest(const sn_rig_result *rig) {
  double *share = calloc((size_t)rig->report.bones, sizeof *share), least = INFINITY, most = 0;
  for (size_t e = 0; share && e < (size_t)rig->skin.vertex_count * (size_t)rig->skin.influences; e++) {
    share[rig->skin.joints[e]] += (double)rig->skin.weights[e] * (double)rig->skin.weights[e];
  }
  for (int j = 0; share && j < rig->report.bones; j++) {
    least = share[j] < least ? share[j] : least, most = share[j] > most ? share[j] : most;
  }
  free(share);
  return least / most;
}

static double run(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *o,
                  const char *kind, double own) {
  sn_rig_result rig = {0};
  double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  sn_status status = sn_rig(ctx, rest, frames, o, &rig);
  wall = seconds(CLOCK_MONOTONIC) - wall, cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  if (status != SN_OK) {
    fprintf(stderr, "%s\n", ctx->error.message);
    exit(1);
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double data = 12.0 * frames->frame_count * frames->vertex_count / 1048576, rms = rig.report.rms_pct_diag;
  printf("%d bones %-8s e_rms %8.4f  rms %.4f %%  gap %.1e %%  %5.2f s wall %5.2f s cpu  rounds %d  thinnest %.3f  "
         "peak %ld MB (frames %.1f)",
         rig.report.bones, kind, 1000 * rig.report.rms / sqrt(3), rms,
         100 * sn_joint_gap(&rig.skeleton, &rig.poses) /
           sn_points_diagonal((const float(*)[3])rest->positions, rest->vertex_count),
         wall, cpu, rig.report.iterations, thinnest(&rig), usage.ru_maxrss / 1024, data);
  if (own > 0) printf("  over ours %.2f", rms / own);
  printf("\n");
  if (rig.report.reason[0]) printf("  %s\n", rig.report.reason);
  fflush(stdout);
  sn_rig_result_free(&rig);
  return rms;
}

int main(int argc, char **argv) {
  sn_lab_add_solvers();
  static const char *const solvers[] = {"tree", "published", "schaefer", "aguiar", "hasler"};
  if (argc < 4) {
    fprintf(
      stderr,
      "bench_rig REST FRAMES BONES [tree|free|affine|published|schaefer|aguiar|hasler|all] [influences] [smooth]\n");
    return 2;
  }
  sn_context ctx = sn_context_default();
  if (getenv("THREADS")) ctx.threads = atoi(getenv("THREADS"));
  sn_mesh rest = {0};
  sn_frames frames = {0};
  sn_rig_options o = sn_rig_options_default();
  const char *kind = argc > 4 ? argv[4] : "tree";
  bool all = strcmp(kind, "all") == 0, free_bones = strcmp(kind, "free") == 0 || strcmp(kind, "affine") == 0;
  o.bones = atoi(argv[3]), o.keep_bones = all; // as many for everybody
  o.structure = free_bones ? SN_RIG_FREE : SN_RIG_TREE;
  o.bone_type = strcmp(kind, "affine") == 0 ? SN_RIG_AFFINE : SN_RIG_RIGID;
  if (argc > 5) o.influences = atoi(argv[5]);
  if (argc > 6) o.omega = atof(argv[6]);
  sn_status status = sn_obj_read(&ctx, argv[1], &rest, NULL);
  if (status == SN_OK) status = sn_frames_read(&ctx, argv[2], NULL, &frames);
  if (status != SN_OK) {
    fprintf(stderr, "%s\n", ctx.error.message);
    return 1;
  }
  double own = 0;
  for (int s = 0; s < 5; s++) {
    if (!all && strcmp(kind, solvers[s]) != 0) continue;
    o.solver = (sn_rig_solver)s;
    double rms = run(&ctx, &rest, &frames, &o, solvers[s], own);
    if (all && s == 0) own = rms;
  }
  if (free_bones) run(&ctx, &rest, &frames, &o, kind, 0);
  sn_frames_free(&frames);
  sn_mesh_free(&rest);
  return 0;
}
