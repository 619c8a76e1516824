// SPDX-License-Identifier: MIT
// Figure 6: the factor u of a joint's rotation that the triangles of an arm follow, and the angles to their true rotations. Figure
// 7: the mesh reconstructed from these predictions, without and with near-rigid vertices F. Everything as published.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sinew/fit.h"
#include "lab/study/study.h"
#include "train/rotreg/reduced.h"

typedef struct arm {
  study *s;
  sn_examples set;
  sn_keys keys, others;
  sn_rotreg_training t; // with a predictor per triangle
} arm;

static void *room(arm *a, size_t count, size_t size) {
  void *out = sn_arena_alloc(&a->s->ctx, &a->t.memory, count, size);
  if (!out) study_must(a->s, a->s->ctx.error.status);
  return out;
}

static void learn(arm *a) {
  sn_context *ctx = &a->s->ctx;
  sn_weights_options weights = sn_weights_options_default();
  weights.keys = &a->keys;
  sn_rotreg_fit_options options = sn_rotreg_published_options();
  sn_rotreg_work *work = room(a, 1, sn_rotreg_work_size(a->keys.count));
  sn_mat3 *sequence = room(a, (size_t)a->keys.count, sizeof *sequence);
  int *all = room(a, (size_t)a->keys.count, sizeof *all);
  const sn_rotreg_sample sample = {&a->t.rotations, sequence, all, a->keys.count, &options};
  study_must(a->s, sn_topology_build(ctx, &a->set.rest, &a->t.topology));
  study_must(a->s, sn_solve_weights(ctx, &a->set.rest, &a->set.frames, &a->set.poses, &weights, &a->t.skin));
  study_must(a->s, sn_rotreg_rotations_build(ctx, &a->t.memory, &a->set, &a->keys, &a->t.rotations));
  a->t.predictors = room(a, (size_t)a->set.rest.triangle_count, sizeof *a->t.predictors);
  for (int k = 0; k < a->keys.count; k++) all[k] = k;
  for (int t = 0; t < a->set.rest.triangle_count; t++) {
    for (int k = 0; k < a->keys.count; k++)
      sn_rotreg_gradient(&a->set.rest, sn_frame(&a->set.frames, a->keys.frames[k]), t, &sequence[k]);
    sn_rotreg_fit(&sample, work, &a->t.predictors[t]);
  }
}

static void blend_at(const arm *a, int frame, sn_vec3 *out) {
  for (int i = 0; i < a->set.rest.vertex_count; i++)
    out[i] = sn_skin_blend(&a->t.skin, i, sn_pose(&a->set.poses, frame), sn_vec3_from(a->set.rest.positions[i]));
}

static sn_mat3 rotation_of(const sn_mesh *rest, const float (*posed)[3], int t) {
  sn_mat3 gradient, rotation;
  sn_rotreg_gradient(rest, posed, t, &gradient);
  sn_mat3_polar(gradient, &rotation, NULL);
  return rotation;
}

// ---- figure 6 -------------------------------------------------------------------------------------------------------------

// Angles between predicted and true rotations in degrees, mean over three test frames.
static void rotation_errors(arm *a, const int frames[3], double *regression, double *skinning) {
  const sn_mesh *rest = &a->set.rest;
  sn_vec3 *blend = room(a, (size_t)rest->vertex_count, sizeof *blend), theta[16];
  float(*posed)[3] = room(a, (size_t)rest->vertex_count, sizeof *posed);
  sn_mat3 rotation[16];
  for (int k = 0; k < 3; k++) {
    const float(*truth)[3] = sn_frame(&a->set.frames, frames[k]);
    blend_at(a, frames[k], blend);
    for (int i = 0; i < rest->vertex_count; i++) sn_vec3_store(blend[i], posed[i]);
    sn_rotreg_rotations_pose(&a->t.rotations, sn_pose(&a->set.poses, frames[k]), rotation, theta);
    for (int t = 0; t < rest->triangle_count; t++) {
      sn_mat3 is = rotation_of(rest, truth, t);
      sn_mat3 said = sn_rotreg_predict_rotation(&a->t.predictors[t], rotation, theta);
      regression[t] += sn_rotation_angle(said, is) * 180 / SN_PI / 3;
      skinning[t] += sn_rotation_angle(rotation_of(rest, (const float(*)[3])posed, t), is) * 180 / SN_PI / 3;
    }
  }
}

static void figure_6(arm *a) {
  study *s = a->s;
  int count = a->set.rest.triangle_count, frames[3] = {8, 25, 41};
  double *u = room(a, (size_t)count, sizeof *u), *regression = room(a, (size_t)count, sizeof *regression);
  double *skinning = room(a, (size_t)count, sizeof *skinning);
  rotation_errors(a, frames, regression, skinning);
  sn_writer w = study_open(s, "figure-6-triangles.csv");
  sn_writef(&w, "triangle,joint,u,regression error in degrees,lbs error in degrees\n");
  for (int t = 0; t < count; t++) {
    const sn_rotreg_factor *factor = &a->t.predictors[t].factors[0];
    u[t] = factor->u;
    sn_writef(&w, "%d,%s,%.5f,%.4f,%.4f\n", t, a->set.skeleton.names[factor->joint], u[t], regression[t],
              skinning[t]);
  }
  study_close(s, &w);
  svg_panel panels[] = {{"rest pose, u from 0 (blue) to 1 (red)", (const float(*)[3])a->set.rest.positions, u, NULL},
                        {"frame 25", sn_frame(&a->set.frames, 25), u, NULL}};
  svg_write_panels(s, "figure-6-meshes.svg", "Figure 6: angle scale factor u", &a->set.rest, panels, 2);
  printf("figure 6\n");
}

// ---- figure 7 -------------------------------------------------------------------------------------------------------------

// Reconstructs the vertices of every frame, with the vertices of `fixed` placed by linear blend skinning.
static void reconstruct(arm *a, const bool *fixed, sn_frames *out) {
  const sn_mesh *rest = &a->set.rest;
  size_t n = (size_t)rest->vertex_count, triangles = (size_t)rest->triangle_count;
  double(*edges)[2] = room(a, triangles, sizeof *edges), *hold = room(a, n, sizeof *hold);
  sn_mat3 *gradients = room(a, triangles, sizeof *gradients), rotation[16];
  sn_vec3 *blend = room(a, n, sizeof *blend), theta[16];
  double *work = room(a, sn_rotreg_poisson_work(rest), sizeof *work);
  for (size_t t = 0; t < triangles; t++) edges[t][0] = edges[t][1] = 1;
  for (size_t i = 0; i < n; i++) hold[i] = fixed[i] ? 1e6 : 0; // a large weight, like the full form's
  sn_rotreg_poisson poisson;
  study_must(a->s, sn_rotreg_poisson_factor(&a->s->ctx, rest, (const double(*)[2])edges, hold, &poisson));
  study_must(a->s, sn_frames_new(&a->s->ctx, rest->vertex_count, a->set.frames.frame_count, out));
  for (int f = 0; f < a->set.frames.frame_count; f++) {
    sn_rotreg_rotations_pose(&a->t.rotations, sn_pose(&a->set.poses, f), rotation, theta);
    for (size_t t = 0; t < triangles; t++) gradients[t] = sn_rotreg_predict(&a->t.predictors[t], rotation, theta);
    blend_at(a, f, blend);
    sn_rotreg_poisson_solve(&poisson, gradients, blend, work, sn_frame_mutable(out, f));
  }
  sn_rotreg_poisson_free(&poisson);
}

static void errors_of(const arm *a, const sn_frames *made, double *out) {
  int n = a->set.rest.vertex_count;
  double diagonal = sn_points_diagonal((const float(*)[3])a->set.rest.positions, n);
  for (int f = 0; f < made->frame_count; f++) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
      double d = sn_vec3_distance(sn_vec3_from(sn_frame(made, f)[i]), sn_vec3_from(sn_frame(&a->set.frames, f)[i]));
      sum += d * d;
    }
    out[f] = 100 * sqrt(sum / n) / diagonal;
  }
}

static void figure_7(arm *a) {
  study *s = a->s;
  int n = a->set.rest.vertex_count, frames = a->set.frames.frame_count, shown = 0;
  bool *one = room(a, (size_t)n, sizeof *one);
  study_row rows[2] = {{.spec = "one vertex fixed"}, {.spec = "near-rigid vertices fixed"}};
  sn_frames without, with;
  study_must(s, sn_rotreg_hard_set(&a->t));
  one[0] = true; // the Poisson problem needs at least one
  reconstruct(a, one, &without);
  reconstruct(a, a->t.fixed, &with);
  for (int k = 0; k < 2; k++) {
    rows[k].frame_pct = room(a, (size_t)frames, sizeof(double));
    errors_of(a, k == 0 ? &without : &with, rows[k].frame_pct);
  }
  for (int f = 0; f < frames; f++)
    if (rows[0].frame_pct[f] > rows[0].frame_pct[shown]) shown = f;
  char title[64];
  snprintf(title, sizeof title, "Figure 7: frame %d, where the drift is largest", shown);
  study_write_frames(s, "figure-7", "Figure 7: drift without near-rigid vertices", rows, 2, frames);
  svg_panel panels[] = {{"truth", sn_frame(&a->set.frames, shown), NULL, NULL},
                        {"without F", sn_frame(&without, shown), NULL, NULL},
                        {"with F (dots)", sn_frame(&with, shown), NULL, a->t.fixed}};
  svg_write_panels(s, "figure-7-meshes.svg", title, &a->set.rest, panels, 3);
  sn_frames_free(&without), sn_frames_free(&with);
  printf("figure 7\n");
  fflush(stdout);
}

void study_rotations(study *s) {
  arm a = {.s = s};
  a.t = (sn_rotreg_training){.ctx = &s->ctx, .examples = &a.set, .keys = &a.keys, .fit = {.published = true}};
  a.set = study_set(s, "arm", 50, 0, NULL);
  study_must(s, sn_keys_parse(&s->ctx, "0,16,33,49", 50, 1, &a.keys, &a.others));
  learn(&a);
  figure_6(&a);
  figure_7(&a);
  sn_keys_free(&a.keys), sn_keys_free(&a.others);
  sn_rotreg_training_free(&a.t), sn_examples_free(&a.set);
}
