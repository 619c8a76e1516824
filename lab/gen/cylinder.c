// SPDX-License-Identifier: MIT
// A cylinder along +y whose upper end is pushed down and aside: it bulges so that its volume stays nearly the same
// (Kim 2010 figure 6). The two control vertices are the middles of its ends.
//
// Frame f is the same for any number of frames, so that asking for more than the default goes on beyond the training
// range: the truth to compare an extrapolation with.
#include "lab/gen/figure.h"

static const double tall = 2, radius = 0.4;
static const int usual_frames = 40;

typedef struct push {
  double down, aside, direction; // of the upper end
} push;

static push push_at(uint64_t seed, int frame) {
  sn_random rng = sn_random_new(seed);
  double t = (double)frame / (usual_frames - 1), depth = 0.36 + 0.03 * (sn_random_uniform(&rng) - 0.5);
  double lean = 0.16 + 0.04 * (sn_random_uniform(&rng) - 0.5), turn = 2 * SN_PI * sn_random_uniform(&rng);
  return (push){tall * depth * t / (1 + 0.12 * t), tall * lean * t * t / (1 + 0.3 * t * t), turn};
}

// Where height h in 0..1 goes: the ends stay as they are, the middle is squeezed most.
static double squeezed(double h, double *slope, double down) {
  double u = sn_clamp01(h), s = u * u * u * (10 - 15 * u + 6 * u * u);
  *slope = 1 - down / tall * 30 * u * u * (1 - u) * (1 - u);
  return h * tall - down * s;
}

static sn_vec3 cylinder_point(push by, sn_vec3 p) {
  double slope, h = p.y / tall, y = squeezed(h, &slope, by.down), wide = 1 / sqrt(0.08 + 0.92 * fmax(slope, 0.02));
  double u = sn_clamp01(h), bend = u * u * (3 - 2 * u) * by.aside;
  return sn_xyz(p.x * wide + bend * cos(by.direction), y, p.z * wide + bend * sin(by.direction));
}

static sn_status cylinder_skeleton(sn_context *ctx, sn_skeleton *out) {
  static const char *const names[2] = {"base", "top"};
  if (sn_skeleton_new(ctx, 2, out) != SN_OK) return ctx->error.status;
  for (int j = 0; j < 2; j++) {
    out->parents[j] = j - 1;
    out->rest[j] = sn_affine_make(sn_mat3_identity(), sn_xyz(0, j * tall, 0));
    if (!(out->names[j] = sn_arena_text(ctx, &out->memory, names[j]))) return ctx->error.status;
  }
  return sn_skeleton_sort(ctx, out);
}

static sn_status cylinder_fill(sn_context *ctx, const sn_gen_options *options, sn_examples *out) {
  sn_shape shape = {.a = {0, 0, 0}, .b = {0, tall, 0}, .ra = radius, .rb = 0.12, .squash = 1, .detail = 1};
  shape.cylinder = true;
  sn_surface surface = {.shapes = &shape, .count = 1};
  if (sn_surface_mesh(ctx, surface, options->vertices, &out->rest) != SN_OK ||
      cylinder_skeleton(ctx, &out->skeleton) != SN_OK ||
      sn_frames_new(ctx, options->vertices, options->frames, &out->frames) != SN_OK ||
      sn_poses_new(ctx, 2, options->frames, &out->poses) != SN_OK ||
      sn_skin_new(ctx, options->vertices, 2, &out->skin) != SN_OK ||
      sn_torques_make(ctx, 2, options->frames, &out->torques) != SN_OK)
    return ctx->error.status;
  out->frames.rate = SN_GEN_FPS;
  out->torques.has[1] = true;
  for (int f = 0; f < options->frames; f++) {
    push by = push_at(options->seed, f);
    float(*frame)[3] = sn_frame_mutable(&out->frames, f);
    for (int i = 0; i < options->vertices; i++)
      sn_vec3_store(cylinder_point(by, sn_vec3_from(out->rest.positions[i])), frame[i]);
    sn_vec3 moved = sn_vec3_sub(cylinder_point(by, sn_xyz(0, tall, 0)), sn_xyz(0, tall, 0));
    sn_pose(&out->poses, f)[1] = sn_affine_make(sn_mat3_identity(), moved);
  }
  for (int i = 0; i < options->vertices; i++) {
    float top = (float)sn_smooth(out->rest.positions[i][1] / tall);
    out->skin.joints[2 * i + 1] = 1;
    out->skin.weights[2 * i] = 1 - top;
    out->skin.weights[2 * i + 1] = top;
  }
  sn_skin_normalize(&out->skin);
  out->memory = sn_arena_new(ctx);
  out->controls = SN_NEW(ctx, &out->memory, int, 2);
  if (!out->controls) return ctx->error.status;
  out->control_count = 2;
  for (int k = 0; k < 2; k++) out->controls[k] = sn_nearest_vertex(&out->rest, sn_xyz(0, k * tall, 0));
  return SN_OK;
}

sn_status sn_gen_cylinder(sn_context *ctx, const sn_gen_options *options, sn_examples *out) {
  *out = (sn_examples){0};
  sn_status status = cylinder_fill(ctx, options, out);
  if (status != SN_OK) sn_examples_free(out);
  return status;
}
