// SPDX-License-Identifier: MIT
// Moves scenes far from the origin to their centre for training, because of single precision.
#include "train/rotreg/rotreg.h"

#include <string.h>

// The image of the centre under joint 0.
static sn_vec3 centre_at(const sn_rotreg_scene *scene, const sn_examples *examples, int frame) {
  return sn_affine_apply(sn_pose(&examples->poses, frame)[0], sn_vec3_from(scene->centre));
}

static void find_centre(const sn_examples *e, sn_rotreg_scene *out) {
  sn_vec3 low, high;
  sn_points_bounds((const float(*)[3])e->rest.positions, e->rest.vertex_count, &low, &high);
  sn_vec3_store(sn_vec3_scale(sn_vec3_add(low, high), 0.5), out->centre);
  double bound =
    sn_rotreg_far_diagonals * sn_points_diagonal((const float(*)[3])e->rest.positions, e->rest.vertex_count);
  out->far = sn_vec3_length(sn_vec3_from(out->centre)) > bound;
  for (int f = 0; f < e->poses.frame_count; f++) out->far |= sn_vec3_length(centre_at(out, e, f)) > bound;
  out->far &= e->poses.joint_count > 0 && bound > 0;
}

static void subtract(int count, const float (*from)[3], sn_vec3 centre, float (*to)[3]) {
  for (int i = 0; i < count; i++) sn_vec3_store(sn_vec3_sub(sn_vec3_from(from[i]), centre), to[i]);
}

static sn_affine moved(sn_vec3 by, double sign) {
  return sn_affine_make(sn_affine_linear(sn_affine_identity()), sn_vec3_scale(by, sign));
}

static sn_status make_room(sn_context *ctx, const sn_examples *from, sn_examples *to) {
  *to = *from;
  to->rest = (sn_mesh){0}, to->frames = (sn_frames){0}, to->poses = (sn_poses){0};
  to->memory = sn_arena_new(ctx);
  sn_status status = sn_mesh_new(ctx, from->rest.vertex_count, from->rest.triangle_count, &to->rest);
  if (status == SN_OK) status = sn_frames_new(ctx, from->frames.vertex_count, from->frames.frame_count, &to->frames);
  if (status == SN_OK) status = sn_poses_new(ctx, from->poses.joint_count, from->poses.frame_count, &to->poses);
  to->skeleton.rest = SN_NEW(ctx, &to->memory, sn_affine, from->skeleton.joint_count);
  return status != SN_OK ? status : to->skeleton.rest ? SN_OK : ctx->error.status;
}

static void fill(const sn_rotreg_scene *scene, const sn_examples *from, sn_examples *to) {
  sn_vec3 c = sn_vec3_from(scene->centre);
  subtract(from->rest.vertex_count, (const float(*)[3])from->rest.positions, c, to->rest.positions);
  memcpy(to->rest.triangles, from->rest.triangles, (size_t)from->rest.triangle_count * sizeof *from->rest.triangles);
  for (int j = 0; j < from->skeleton.joint_count; j++) {
    to->skeleton.rest[j] = sn_affine_mul(moved(c, -1), from->skeleton.rest[j]);
  }
  to->frames.rate = from->frames.rate;
  for (int f = 0; f < from->frames.frame_count; f++) {
    sn_vec3 there = centre_at(scene, from, f);
    subtract(from->frames.vertex_count, sn_frame(&from->frames, f), there, sn_frame_mutable(&to->frames, f));
    for (int j = 0; j < from->poses.joint_count; j++) {
      sn_pose(&to->poses, f)[j] =
        sn_affine_mul(moved(there, -1), sn_affine_mul(sn_pose(&from->poses, f)[j], moved(c, 1)));
    }
  }
}

sn_status sn_rotreg_scene_make(sn_context *ctx, const sn_examples *examples, sn_rotreg_scene *out) {
  *out = (sn_rotreg_scene){0};
  find_centre(examples, out);
  if (!out->far) return SN_OK;
  sn_status status = make_room(ctx, examples, &out->examples);
  if (status == SN_OK) fill(out, examples, &out->examples);
  return status;
}

const sn_examples *sn_rotreg_scene_examples(const sn_rotreg_scene *scene, const sn_examples *examples) {
  return scene->far ? &scene->examples : examples;
}

void sn_rotreg_scene_restore(const sn_rotreg_scene *scene, const sn_examples *examples, const int *frames,
                             sn_frames *out) {
  for (int n = 0; scene->far && n < out->frame_count; n++) {
    float(*at)[3] = sn_frame_mutable(out, n);
    subtract(out->vertex_count, (const float(*)[3])at, sn_vec3_scale(centre_at(scene, examples, frames[n]), -1), at);
  }
}

void sn_rotreg_scene_free(sn_rotreg_scene *scene) {
  if (!scene->far) return;
  sn_mesh_free(&scene->examples.rest);
  sn_frames_free(&scene->examples.frames);
  sn_poses_free(&scene->examples.poses);
  sn_arena_free(&scene->examples.memory);
}
