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

sn_status sn_gen_cylinder(sn_context *ctx, const sn_gen_options *options, sn_examples *out) {
  static const char *const names[2] = {"base", "top"};
  sn_shape shape = {.a = {0, 0, 0}, .b = {0, tall, 0}, .ra = radius, .rb = 0.12, .squash = 1, .detail = 1};
  shape.cylinder = true;
  sn_surface surface = {.shapes = &shape, .count = 1};
  sn_status status = sn_surface_mesh(ctx, surface, options->vertices, &out->rest);
  if (status == SN_OK) status = sn_gen_two_joints(ctx, options, names, sn_xyz(0, tall, 0), 1, out);
  for (int f = 0; status == SN_OK && f < options->frames; f++) {
    push by = push_at(options->seed, f);
    float(*frame)[3] = sn_frame_mutable(&out->frames, f);
    for (int i = 0; i < options->vertices; i++)
      sn_vec3_store(cylinder_point(by, sn_vec3_from(out->rest.positions[i])), frame[i]);
    sn_vec3 moved = sn_vec3_sub(cylinder_point(by, sn_xyz(0, tall, 0)), sn_xyz(0, tall, 0));
    sn_pose(&out->poses, f)[1] = sn_affine_make(sn_mat3_identity(), moved);
  }
  for (int k = 0; status == SN_OK && k < 2; k++)
    out->controls[k] = sn_nearest_vertex(&out->rest, sn_xyz(0, k * tall, 0));
  return status;
}
