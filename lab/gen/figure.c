// SPDX-License-Identifier: MIT
// Assembles figures, moves them, and makes example sets of them.
#include <assert.h>
#include <stdio.h>
#include "lab/gen/figure.h"

// ---- builders ----------------------------------------------------------------------------------------------------

sn_figure *sn_figure_new(sn_context *ctx, sn_arena *memory) {
  sn_figure *figure = SN_NEW(ctx, memory, sn_figure, 1);
  if (!figure) return NULL;
  figure->group_count = 1;
  figure->groups[0] = (sn_figure_group){-1, -1, 0};
  return figure;
}

sn_shape *sn_figure_flat(sn_figure *figure, int group, sn_vec3 a, sn_vec3 b, double ra, double rb, double blend,
                         sn_vec3 flat, double squash) {
  assert(figure->shape_count < SN_FIGURE_SHAPES);
  sn_shape *shape = &figure->shapes[figure->shape_count++];
  *shape = (sn_shape){a, b, ra, rb, 0, flat, squash, blend, 1, group, false};
  return shape;
}

sn_shape *sn_figure_capsule(sn_figure *figure, int group, sn_vec3 a, sn_vec3 b, double ra, double rb, double blend) {
  return sn_figure_flat(figure, group, a, b, ra, rb, blend, sn_xyz(0, 0, 0), 1);
}

sn_shape *sn_figure_spindle(sn_figure *figure, int group, sn_vec3 a, sn_vec3 b, double end, double belly) {
  sn_shape *shape = sn_figure_capsule(figure, group, a, b, end, end, end + belly);
  shape->belly = belly;
  return shape;
}

int sn_figure_joint_add(sn_figure *figure, const char *name, int parent, int group, sn_vec3 centre, sn_vec3 tip,
                        double radius) {
  assert(figure->joint_count < SN_FIGURE_JOINTS);
  int index = figure->joint_count++;
  double length = sn_vec3_distance(centre, tip);
  sn_figure_joint *joint = &figure->joints[index];
  *joint = (sn_figure_joint){.parent = parent, .group = group, .centre = centre, .radius = radius};
  joint->axis = sn_vec3_normalize(sn_vec3_sub(tip, centre), sn_xyz(1, 0, 0));
  joint->twist_from = -radius;
  joint->twist_to = fmax(length - radius, radius);
  snprintf(joint->name, sizeof joint->name, "%s", name);
  return index;
}

int sn_figure_group_add(sn_figure *figure, int parent, int attach, double width) {
  assert(figure->group_count < SN_FIGURE_GROUPS);
  figure->groups[figure->group_count] = (sn_figure_group){parent, attach, width};
  return figure->group_count++;
}

sn_muscle *sn_figure_muscle(sn_figure *figure, int bone, int driver, double at, double length, sn_vec3 side,
                            double focus, double by_bend, double by_torque, double slide) {
  assert(figure->muscle_count < SN_FIGURE_MUSCLES);
  sn_muscle *muscle = &figure->muscles[figure->muscle_count++];
  *muscle = (sn_muscle){bone, driver, at, length, side, focus, {0, 0, 0}, by_bend, by_torque, slide};
  return muscle;
}

void sn_figure_drive(sn_figure *figure, sn_drive_kind kind, int joint, sn_vec3 axis, double low, double high,
                     double cycles) {
  assert(figure->drive_count < SN_FIGURE_DRIVES);
  figure->drives[figure->drive_count++] = (sn_drive){kind, joint, axis, low, high, cycles};
}

void sn_figure_control(sn_figure *figure, sn_vec3 near) {
  assert(figure->control_count < SN_FIGURE_CONTROLS);
  figure->controls[figure->control_count++] = near;
}

// ---- motion ------------------------------------------------------------------------------------------------------------

// Value of a drive at time t of 0..1; 0 at t = 0. The seed shifts its pace and range.
static double drive_value(const sn_drive *drive, sn_random *rng, double t) {
  double pace = 1 + 0.16 * (sn_random_uniform(rng) - 0.5), range = 1 - 0.08 * sn_random_uniform(rng);
  double sway = 0.06 * (sn_random_uniform(rng) - 0.5), waves = 1 + sn_random_below(rng, 3);
  double time = t + sway * sin(2 * SN_PI * waves * t), cycles = drive->cycles * pace;
  switch (drive->kind) {
  case SN_DRIVE_LINEAR:
    return drive->high * t;
  case SN_DRIVE_RAMP:
    return drive->high * range * (t * (1 - sway) + sway * pow(t, cycles));
  case SN_DRIVE_TORQUE:
    return drive->high * sn_clamp01(0.5 - 0.72 * cos(2 * SN_PI * cycles * time));
  case SN_DRIVE_WAVE:
    break;
  }
  if (drive->low == 0) return drive->high * range * (0.5 - 0.5 * cos(2 * SN_PI * cycles * time));
  double wave = sin(2 * SN_PI * cycles * time);
  return range * (wave < 0 ? -drive->low * wave : drive->high * wave);
}

// Of a range of motion: 0, high, 0, low, 0 while time goes from 0 to 1, and 0 before and after.
static double rom_value(const sn_drive *drive, double time) {
  if (drive->kind == SN_DRIVE_TORQUE || time <= 0 || time >= 1) return 0;
  double low = drive->kind == SN_DRIVE_WAVE ? drive->low : 0, wave = sin(2 * SN_PI * time);
  return wave < 0 ? -low * wave : drive->high * wave;
}

static int moving_drives(const sn_figure *figure) {
  int count = 0;
  for (int k = 0; k < figure->drive_count; k++) count += figure->drives[k].kind != SN_DRIVE_TORQUE;
  return count;
}

int sn_figure_rom_frames(const sn_figure *figure) { return 1 + 8 * moving_drives(figure); }

static double motion_value(const sn_figure *figure, const sn_gen_options *options, int k, int place, double t,
                           sn_random *rng) {
  sn_drive drive = figure->drives[k];
  if (options->motion == SN_MOTION_LIFT) {
    bool bends = fabs(sn_vec3_dot(drive.axis, figure->joints[drive.joint].axis)) < 0.9;
    return drive.kind == SN_DRIVE_TORQUE || (drive.joint == figure->load && bends) ? drive_value(&drive, rng, t) : 0;
  }
  if (options->motion == SN_MOTION_ROM) return rom_value(&drive, t * moving_drives(figure) - place);
  if (options->motion != SN_MOTION_OWN && drive.kind != SN_DRIVE_TORQUE) {
    if (drive.kind != SN_DRIVE_WAVE) drive.low = 0, drive.cycles = 1.6;
    drive.kind = SN_DRIVE_WAVE;
    drive.cycles *= 0.8 + 0.6 * sn_random_uniform(rng); // another rhythm, so that other poses meet
    double range = options->motion == SN_MOTION_EXTREME ? 4.0 / 3 : 1;
    drive.low *= range, drive.high *= range;
  }
  return drive_value(&drive, rng, t);
}

void sn_figure_move(const sn_figure *figure, const sn_gen_options *options, int frame, sn_figure_pose *pose) {
  // The seeds of the motions lie apart, so that no two of them are the same animation.
  sn_random rng = sn_random_new(options->seed + 1000 * (uint64_t)options->motion);
  double t = options->frames > 1 ? (double)frame / (options->frames - 1) : 0;
  int place = 0;
  *pose = (sn_figure_pose){0};
  for (int k = 0; k < figure->drive_count; k++) {
    const sn_drive *drive = &figure->drives[k];
    int j = drive->joint;
    double value = motion_value(figure, options, k, place, t, &rng);
    place += drive->kind != SN_DRIVE_TORQUE;
    if (frame == 0) continue;
    if (drive->kind == SN_DRIVE_TORQUE) {
      pose->torque[j] = value;
      pose->load[j] = value / drive->high;
    } else if (fabs(sn_vec3_dot(drive->axis, figure->joints[j].axis)) > 0.9) {
      pose->twist[j] += value;
    } else {
      pose->bend[j] = sn_vec3_mad(pose->bend[j], drive->axis, value);
    }
  }
}

// ---- example sets ----------------------------------------------------------------------------------------------------

int sn_nearest_vertex(const sn_mesh *mesh, sn_vec3 p) {
  int best = 0;
  double nearest = 1e300;
  for (int i = 0; i < mesh->vertex_count; i++) {
    double d = sn_vec3_distance(sn_vec3_from(mesh->positions[i]), p);
    if (d < nearest) nearest = d, best = i;
  }
  return best;
}

sn_status sn_gen_two_joints(sn_context *ctx, const sn_gen_options *options, const char *const names[2],
                            sn_vec3 length, double second, sn_examples *out) {
  int n = out->rest.vertex_count;
  out->memory = sn_arena_new(ctx);
  out->controls = SN_NEW(ctx, &out->memory, int, 2);
  if (!out->controls || sn_skeleton_new(ctx, 2, &out->skeleton) != SN_OK ||
      sn_frames_new(ctx, n, options->frames, &out->frames) != SN_OK ||
      sn_poses_new(ctx, 2, options->frames, &out->poses) != SN_OK || sn_skin_new(ctx, n, 2, &out->skin) != SN_OK ||
      sn_torques_make(ctx, 2, options->frames, &out->torques) != SN_OK)
    return ctx->error.status;
  out->frames.rate = SN_GEN_FPS, out->torques.has[1] = true, out->control_count = 2;
  for (int j = 0; j < 2; j++) {
    out->skeleton.parents[j] = j - 1;
    out->skeleton.rest[j] = sn_affine_make(sn_mat3_identity(), sn_vec3_scale(length, j * second));
    if (!(out->skeleton.names[j] = sn_arena_text(ctx, &out->skeleton.memory, names[j]))) return ctx->error.status;
  }
  for (int i = 0; i < n; i++) {
    double along = sn_vec3_dot(sn_vec3_from(out->rest.positions[i]), length) / sn_vec3_dot(length, length);
    float far = (float)sn_smooth(along);
    out->skin.joints[2 * i + 1] = 1, out->skin.weights[2 * i] = 1 - far, out->skin.weights[2 * i + 1] = far;
  }
  sn_skin_normalize(&out->skin);
  return sn_skeleton_sort(ctx, &out->skeleton);
}

sn_status sn_torques_make(sn_context *ctx, int joint_count, int frames, sn_torques *out) {
  *out = (sn_torques){.joint_count = joint_count, .frame_count = frames, .memory = sn_arena_new(ctx)};
  out->values = SN_NEW(ctx, &out->memory, double, (int64_t)frames *joint_count);
  out->has = SN_NEW(ctx, &out->memory, bool, joint_count);
  if (out->values && out->has) return SN_OK;
  sn_torques_free(out);
  return ctx->error.status;
}

typedef struct frame_job {
  const sn_figure *figure;
  const double *members;
  const sn_mesh *rest;
  const sn_figure_warp *warp;
  float (*out)[3];
} frame_job;

static void frame_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const frame_job *job = user;
  for (int64_t i = begin; i < end; i++) {
    const double *members = job->members + i * job->figure->group_count;
    sn_vec3 p = sn_figure_deform(job->warp, members, sn_vec3_from(job->rest->positions[i]));
    sn_vec3_store(p, job->out[i]);
  }
}

// Memory for the frames: all of them, or of one where they are taken as they come.
static sn_status new_frames(sn_context *ctx, const sn_gen_options *options, sn_arena *scratch, sn_examples *out,
                            float (**window)[3]) {
  if (!options->take) return sn_frames_new(ctx, out->rest.vertex_count, options->frames, &out->frames);
  *window = sn_arena_alloc(ctx, scratch, (size_t)out->rest.vertex_count, sizeof **window);
  out->frames = (sn_frames){.vertex_count = out->rest.vertex_count, .frame_count = options->frames};
  return *window ? SN_OK : ctx->error.status;
}

static sn_status figure_frames(sn_context *ctx, const sn_figure *figure, const sn_gen_options *options,
                               const double *members, sn_mush *mush, sn_examples *out, sn_arena *scratch) {
  sn_figure_pose *pose = SN_NEW(ctx, scratch, sn_figure_pose, 1);
  sn_figure_warp *warp = sn_arena_alloc(ctx, scratch, 1, sn_figure_warp_size());
  float(*window)[3] = NULL;
  if (!pose || !warp || new_frames(ctx, options, scratch, out, &window) != SN_OK ||
      sn_poses_new(ctx, figure->joint_count, options->frames, &out->poses) != SN_OK ||
      sn_torques_make(ctx, figure->joint_count, options->frames, &out->torques) != SN_OK)
    return ctx->error.status;
  out->frames.rate = SN_GEN_FPS;
  bool any = false;
  for (int k = 0; k < figure->drive_count; k++)
    if (figure->drives[k].kind == SN_DRIVE_TORQUE) any = out->torques.has[figure->drives[k].joint] = true;
  if (!any) out->torques.has[figure->load] = true;
  sn_status status = SN_OK;
  for (int f = 0; f < options->frames && status == SN_OK; f++) {
    float(*frame)[3] = window ? window : sn_frame_mutable(&out->frames, f);
    sn_figure_move(figure, options, f, pose);
    sn_figure_matrices(figure, pose, sn_pose(&out->poses, f));
    sn_figure_warp_prepare(figure, pose, warp);
    for (int j = 0; j < figure->joint_count; j++)
      out->torques.values[(size_t)f * (size_t)figure->joint_count + (size_t)j] = pose->torque[j];
    sn_parallel_for(ctx, out->rest.vertex_count, 256, frame_range,
                    &(frame_job){figure, members, &out->rest, warp, frame});
    if (f > 0 && mush) sn_mush_apply(mush, &out->rest, frame);
    if (window) status = options->take(ctx, options->taker, out, f, (const float(*)[3])frame);
    if (status == SN_OK && !sn_progress(ctx, "frames", (f + 1.0) / options->frames))
      status = sn_fail(ctx, SN_STOPPED, "stopped at frame %d", f);
  }
  return status;
}

static sn_status figure_skeleton(sn_context *ctx, const sn_figure *figure, sn_skeleton *out) {
  if (sn_skeleton_new(ctx, figure->joint_count, out) != SN_OK) return ctx->error.status;
  for (int j = 0; j < figure->joint_count; j++) {
    const sn_figure_joint *joint = &figure->joints[j];
    out->parents[j] = joint->parent;
    out->rest[j] = sn_affine_make(sn_mat3_identity(), joint->centre);
    out->names[j] = sn_arena_text(ctx, &out->memory, joint->name);
    if (!out->names[j]) return ctx->error.status;
  }
  return sn_skeleton_sort(ctx, out);
}

static sn_status figure_controls(sn_context *ctx, const sn_figure *figure, sn_examples *out) {
  out->memory = sn_arena_new(ctx);
  out->controls = SN_NEW(ctx, &out->memory, int, figure->control_count);
  if (!out->controls) return ctx->error.status;
  out->control_count = figure->control_count;
  for (int k = 0; k < figure->control_count; k++)
    out->controls[k] = sn_nearest_vertex(&out->rest, figure->controls[k]);
  return SN_OK;
}

sn_status sn_figure_examples(sn_context *ctx, const sn_figure *figure, const sn_gen_options *options,
                             sn_examples *out) {
  sn_arena scratch = sn_arena_new(ctx);
  double *members = NULL;
  sn_mush mush = {0};
  sn_surface surface = {.shapes = figure->shapes, .count = figure->shape_count};
  *out = (sn_examples){0};
  sn_status status = sn_surface_mesh(ctx, surface, options->vertices, &out->rest);
  if (status == SN_OK) status = sn_figure_members(ctx, figure, &out->rest, &scratch, &members);
  if (status == SN_OK) status = figure_skeleton(ctx, figure, &out->skeleton);
  if (status == SN_OK) status = sn_figure_skin(ctx, figure, members, &out->rest, &out->skin);
  if (status == SN_OK) status = figure_controls(ctx, figure, out);
  if (status == SN_OK && figure->smoothing > 0) status = sn_mush_new(ctx, &out->rest, figure->smoothing, &mush);
  if (status == SN_OK) {
    status = figure_frames(ctx, figure, options, members, figure->smoothing > 0 ? &mush : NULL, out, &scratch);
  }
  sn_mush_free(&mush);
  if (status != SN_OK) sn_examples_free(out);
  sn_arena_free(&scratch);
  return status;
}
