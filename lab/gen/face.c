// SPDX-License-Identifier: MIT
// A head that looks along +z, its left towards +x, with expressions between 0 and 1 that combine: they displace the skin where it is at
// rest, and the jaw then rotates what lies below the mouth, so that smiling with an open mouth is more than the sum of the two. From the
// seventh on they are displacements around points of the face.
//
// Frame 0 is the rest pose, frame k expression k alone, and the frames after those mix a few expressions each.
#include <stdio.h>
#include <string.h>

#include "lab/gen/figure.h"

enum { own_expressions = 6, most_pulls = 4 };

// The skin around `at` goes by `by`, less and less up to `radius` away; `both`: mirrored on the other side too.
typedef struct pull {
  sn_vec3 at, by;
  double radius;
  bool both;
} pull;

typedef struct expression {
  const char *name;
  int count;
  pull pulls[most_pulls];
} expression;

static const expression own[own_expressions] = {
  {"jaw_open", 0, {{{0, 0, 0}, {0, 0, 0}, 0, false}}},
  {"smile",
   2,
   {{{0.025, -0.043, 0.066}, {0.010, 0.009, -0.004}, 0.036, true},
    {{0.044, -0.012, 0.052}, {0.003, 0.006, 0.004}, 0.040, true}}},
  {"frown",
   2,
   {{{0.025, -0.043, 0.066}, {0.002, -0.011, -0.001}, 0.034, true},
    {{0.016, 0.047, 0.070}, {-0.004, -0.006, 0.002}, 0.030, true}}},
  {"brows_up", 1, {{{0.030, 0.048, 0.064}, {0, 0.011, -0.001}, 0.036, true}}},
  {"blink", 1, {{{0.032, 0.030, 0.073}, {0, -0.009, 0.001}, 0.018, true}}},
  {"pucker",
   2,
   {{{0.021, -0.043, 0.068}, {-0.010, 0, 0.005}, 0.034, true}, {{0, -0.043, 0.073}, {0, 0, 0.009}, 0.034, false}}},
};

static const sn_vec3 hinge = {0, 0.004, 0.004};
static const double widest_jaw = 0.38; // radians

static void add_shapes(sn_figure *f) {
  sn_figure_capsule(f, 0, sn_xyz(0, 0.045, -0.028), sn_xyz(0, 0.042, -0.012), 0.085, 0.081, 0.02);  // skull
  sn_figure_capsule(f, 0, sn_xyz(0, 0.000, 0.012), sn_xyz(0, -0.068, 0.042), 0.058, 0.028, 0.04);   // face and chin
  sn_figure_capsule(f, 0, sn_xyz(0, -0.05, -0.025), sn_xyz(0, -0.150, -0.045), 0.048, 0.050, 0.03); // neck
  sn_figure_capsule(f, 0, sn_xyz(-0.034, 0.046, 0.058), sn_xyz(0.034, 0.046, 0.058), 0.012, 0.012, 0.016); // brows
  sn_figure_capsule(f, 0, sn_xyz(0, 0.034, 0.068), sn_xyz(0, -0.010, 0.088), 0.008, 0.012, 0.012);         // nose
  for (int side = -1; side <= 1; side += 2) {
    double s = side;
    sn_figure_capsule(f, 0, sn_xyz(s * 0.036, -0.008, 0.036), sn_xyz(s * 0.032, -0.018, 0.040), 0.028, 0.026, 0.03);
    sn_figure_capsule(f, 0, sn_xyz(s * 0.030, 0.022, 0.060), sn_xyz(s * 0.033, 0.022, 0.059), 0.0140, 0.0135, 0.004);
    sn_figure_capsule(f, 0, sn_xyz(s * 0.078, 0.030, -0.018), sn_xyz(s * 0.066, 0.000, -0.010), 0.018, 0.014, 0.012);
    sn_figure_capsule(f, 0, sn_xyz(s * 0.006, -0.010, 0.078), sn_xyz(s * 0.010, -0.011, 0.074), 0.009, 0.008, 0.008);
  }
  sn_figure_capsule(f, 0, sn_xyz(-0.020, -0.038, 0.066), sn_xyz(0.020, -0.038, 0.066), 0.0065, 0.0065, 0.005);
  sn_figure_capsule(f, 0, sn_xyz(-0.017, -0.049, 0.065), sn_xyz(0.017, -0.049, 0.065), 0.0070, 0.0070, 0.005);
  for (int k = 3; k < f->shape_count; k++) f->shapes[k].detail = 0.6;
}

static sn_vec3 pulled(const pull *p, sn_vec3 rest) {
  sn_vec3 sum = {0, 0, 0};
  for (int side = 1; side >= (p->both ? -1 : 1); side -= 2) {
    double w = sn_smooth(1 - sn_vec3_distance(rest, sn_xyz(side * p->at.x, p->at.y, p->at.z)) / p->radius);
    sum = sn_vec3_mad(sum, sn_xyz(side * p->by.x, p->by.y, p->by.z), w);
  }
  return sum;
}

// The weight of the jaw's rotation at a point of the rest mesh: 1 at the lower lip, 0 at the neck and behind it.
static double jaw_share(sn_vec3 p) {
  return sn_smooth((-0.038 - p.y) / 0.011) * sn_smooth((p.z + 0.012) / 0.045) * sn_smooth((p.y + 0.125) / 0.035);
}

static sn_vec3 face_point(const expression *all, int count, const double *values, sn_vec3 rest) {
  sn_vec3 p = rest;
  for (int k = 0; k < count; k++)
    for (int n = 0; n < all[k].count && values[k] != 0; n++)
      p = sn_vec3_mad(p, pulled(&all[k].pulls[n], rest), values[k]);
  double angle = values[0] * widest_jaw * jaw_share(rest);
  if (angle == 0) return p;
  sn_vec3 arm = sn_vec3_sub(p, hinge);
  return sn_vec3_add(hinge, sn_mat3_apply(sn_rotation_exp(sn_xyz(angle, 0, 0)), arm));
}

// One to four displacements near each other, somewhere on the front.
static void invent(const sn_mesh *rest, sn_random *rng, expression *out) {
  int first;
  do first = sn_random_below(rng, rest->vertex_count);
  while (!(rest->positions[first][2] > 0.03f && rest->positions[first][1] > -0.09f));
  sn_vec3 centre = sn_vec3_from(rest->positions[first]);
  out->count = 1 + sn_random_below(rng, most_pulls);
  for (int n = 0; n < out->count; n++) {
    sn_vec3 jitter = {sn_random_normal(rng), sn_random_normal(rng), sn_random_normal(rng)};
    sn_vec3 by = {sn_random_normal(rng), sn_random_normal(rng), sn_random_normal(rng)};
    out->pulls[n] = (pull){sn_vec3_mad(centre, jitter, 0.006), sn_vec3_scale(by, 0.003),
                           0.020 + 0.020 * sn_random_uniform(rng), false};
  }
}

// Two to four expressions at once, each somewhere in its range.
static void mix_values(int count, sn_random *rng, double *row) {
  int several = 2 + sn_random_below(rng, 3);
  for (int n = 0; n < several; n++) row[sn_random_below(rng, count)] = 0.2 + 0.8 * sn_random_uniform(rng);
}

static sn_status name_values(sn_context *ctx, const expression *all, sn_values *out) {
  for (int k = 0; k < out->count; k++) {
    char name[24];
    snprintf(name, sizeof name, "target%d", k + 1);
    out->names[k] = sn_arena_text(ctx, &out->memory, k < own_expressions ? all[k].name : name);
    if (!out->names[k]) return ctx->error.status;
  }
  return SN_OK;
}

static sn_status fill(sn_context *ctx, const sn_gen_options *options, sn_arena *scratch, sn_examples *out) {
  sn_figure *figure = sn_figure_new(ctx, scratch);
  expression *all = SN_NEW(ctx, scratch, expression, options->targets);
  if (!figure || !all) return ctx->error.status;
  add_shapes(figure);
  sn_surface surface = {.shapes = figure->shapes, .count = figure->shape_count};
  int frames = options->frames, count = options->targets, n = options->vertices;
  if (sn_surface_mesh(ctx, surface, n, &out->rest) != SN_OK || sn_frames_new(ctx, n, frames, &out->frames) != SN_OK ||
      sn_values_new(ctx, count, frames, &out->values) != SN_OK || sn_skeleton_new(ctx, 1, &out->skeleton) != SN_OK ||
      sn_poses_new(ctx, 1, frames, &out->poses) != SN_OK || sn_skin_new(ctx, n, 1, &out->skin) != SN_OK ||
      sn_torques_make(ctx, 1, frames, &out->torques) != SN_OK)
    return ctx->error.status;
  sn_random places = sn_random_new(7), mixture = sn_random_new(options->seed);
  for (int k = 0; k < count; k++) {
    if (k < own_expressions)
      all[k] = own[k];
    else
      invent(&out->rest, &places, all + k);
  }
  out->frames.rate = SN_GEN_FPS;
  for (int f = 1; f < frames; f++) {
    double *row = out->values.values + (size_t)f * (size_t)count;
    if (f <= count)
      row[f - 1] = 1;
    else
      mix_values(count, &mixture, row);
  }
  for (int f = 0; f < frames; f++)
    for (int i = 0; i < n; i++) {
      const double *row = out->values.values + (size_t)f * (size_t)count;
      sn_vec3_store(face_point(all, count, row, sn_vec3_from(out->rest.positions[i])),
                    sn_frame_mutable(&out->frames, f)[i]);
    }
  out->controls = SN_NEW(ctx, &out->memory, int, 2); // a corner of the mouth and the chin
  if (!out->controls) return ctx->error.status;
  out->control_count = 2;
  out->controls[0] = sn_nearest_vertex(&out->rest, own[1].pulls[0].at);
  out->controls[1] = sn_nearest_vertex(&out->rest, sn_xyz(0, -0.075, 0.070));
  out->skeleton.parents[0] = -1;
  out->skeleton.names[0] = sn_arena_text(ctx, &out->skeleton.memory, "head");
  for (int i = 0; i < n; i++) out->skin.weights[i] = 1;
  if (!out->skeleton.names[0] || sn_skeleton_sort(ctx, &out->skeleton) != SN_OK) return ctx->error.status;
  return name_values(ctx, all, &out->values);
}

sn_status sn_gen_face(sn_context *ctx, const sn_gen_options *options, sn_examples *out) {
  out->memory = sn_arena_new(ctx);
  if (options->frames <= options->targets)
    return sn_fail(ctx, SN_BAD_INPUT, "face: %d frames are too few for %d expressions, each alone, and the rest pose",
                   options->frames, options->targets);
  sn_arena scratch = sn_arena_new(ctx);
  sn_status status = fill(ctx, options, &scratch, out);
  sn_arena_free(&scratch);
  return status;
}
