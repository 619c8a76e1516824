// SPDX-License-Identifier: MIT
#include "train/rotreg/teach.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "train/skin/base.h"
#include "train/skin/blend.h"

// A skin that leaves more than this of what single joints leave (an enveloping error) is no teacher: that of cheburashka leaves 0.26 by dual
// quaternions and is as good in poses never seen; the athlete's leaves 0.6.
static const double trusted = 0.35;

// One that leaves no more than this made the frames itself, by one of its blends: a lesson is then as true as the clip.
static const double exact = 0.1;

// From the first half of cheburashka-pose to its second 16 to 32 lessons leave 0.26 to 0.29 (0.34 without), 12 are too few. Of an exact skin more
// are better: on 14 pairs of clips of characters of three.js and assimp played by dual quaternions 48, 64 and 96 were tried.
enum { lesson_count = 16, exact_count = 64 };

// Up to so many joints that turn, a clip tells their parts well.
enum { few_joints = 6 };

// Nor has a clip to be taught in which this part of all turning is of joints whose parents and children turn less than a part of it: from
// cheburashka's range of motion lessons make 0.21 of 0.13.
static const double told = 0.3, still_beside = 0.25;

// In a lesson this part of the joints is turned: up to so many times as far as in the clip, but not more than 60 degrees (as in a range of
// motion), and no less than a part of that. What never turns has nothing to learn, and would take proxy bones from what does.
static const double turned_part = 0.4, reach = 2, most_turn = SN_PI / 3, least_part = 0.4;

// The skin of three.js's farm animals, whose feet are pulled from the root by inverse kinematics: 9 to 15 % of the vertices follow a leg and a foot
// with a tenth or more each; of other characters whose frames are their skin's at most 2.5 %.
static const float clear_weight = 0.1F;
static const double much = 0.05;
enum { relatives = 3 };

// All frames are copied: not those of clips as large as this.
static const size_t most_bytes = (size_t)1 << 30;

// The angle of a joint against its parent.
static double turn_of(const sn_examples *e, int frame, int j) {
  int parent = e->skeleton.parents[j];
  if (parent < 0) return 0;
  const sn_affine *pose = sn_pose(&e->poses, frame);
  sn_mat3 own, base;
  sn_mat3_polar(sn_affine_linear(pose[j]), &own, NULL);
  sn_mat3_polar(sn_affine_linear(pose[parent]), &base, NULL);
  return sn_rotation_angle(own, base);
}

// Whether many joints turn, and seldom by themselves, so that the clip does not tell which of them does what.
static sn_status is_wanting(sn_context *ctx, sn_arena *memory, const sn_examples *e, const sn_keys *keys, bool *many,
                            bool *out) {
  int joint_count = e->skeleton.joint_count, turning = 0;
  double *angles = SN_NEW(ctx, memory, double, joint_count), *sums = SN_NEW(ctx, memory, double, joint_count),
         all = 0, alone = 0;
  bool *beside = SN_NEW(ctx, memory, bool, joint_count);
  if (!angles || !sums || !beside) return ctx->error.status;
  for (int k = 0; k < keys->count; k++) {
    for (int j = 0; j < joint_count; j++) angles[j] = turn_of(e, keys->frames[k], j), beside[j] = false;
    for (int j = 0; j < joint_count; j++) { // a joint and its parent
      int parent = e->skeleton.parents[j];
      if (parent < 0) continue;
      beside[j] |= angles[parent] > still_beside * angles[j],
        beside[parent] |= angles[j] > still_beside * angles[parent];
    }
    for (int j = 0; j < joint_count; j++) {
      sums[j] += angles[j] * angles[j], all += angles[j] * angles[j];
      alone += beside[j] ? 0 : angles[j] * angles[j];
    }
  }
  for (int j = 0; j < joint_count; j++) turning += sums[j] > 1e-3 * keys->count;
  *many = turning > few_joints, *out = *many && alone < told * all;
  return SN_OK;
}

// Roots stay as in the first frame.
static void lesson_pose(const sn_skeleton *skeleton, const sn_affine *first, const double *farthest, sn_random *rng,
                        sn_affine *pose) {
  for (int n = 0; n < skeleton->joint_count; n++) {
    int j = skeleton->order[n], parent = skeleton->parents[j];
    sn_vec3 axis = {sn_random_normal(rng), sn_random_normal(rng), sn_random_normal(rng)};
    double angle = fmin(reach * farthest[j], most_turn) * (least_part + (1 - least_part) * sn_random_uniform(rng));
    bool turned = sn_random_uniform(rng) < turned_part;
    axis = sn_vec3_scale(sn_vec3_normalize(axis, (sn_vec3){1, 0, 0}), turned ? angle : 0);
    pose[j] = parent < 0 ? first[j]
                         : sn_affine_mul(pose[parent], sn_affine_about(sn_rotation_exp(axis),
                                                                       sn_affine_translation(skeleton->rest[j])));
  }
}

static sn_status copy_frames(sn_context *ctx, const sn_examples *from, int count, sn_examples *to) {
  int frames = from->frames.frame_count, n = from->frames.vertex_count, joint_count = from->skeleton.joint_count;
  to->frames = (sn_frames){0}, to->poses = (sn_poses){0};
  sn_status status = sn_frames_new(ctx, n, frames + count, &to->frames);
  if (status == SN_OK) status = sn_poses_new(ctx, joint_count, frames + count, &to->poses);
  if (status != SN_OK) return status;
  to->frames.rate = from->frames.rate;
  memcpy(sn_frame_mutable(&to->frames, 0), from->frames.positions, (size_t)frames * (size_t)n * sizeof(float[3]));
  memset(sn_frame_mutable(&to->frames, frames), 0, (size_t)count * (size_t)n * sizeof(float[3]));
  memcpy(to->poses.matrices, from->poses.matrices, (size_t)frames * (size_t)joint_count * sizeof(sn_affine));
  return SN_OK;
}

static sn_status list_keys(sn_context *ctx, const sn_keys *keys, int frames, sn_rotreg_lessons *out) {
  out->keys =
    (sn_keys){.count = keys->count + out->count, .frames = SN_NEW(ctx, &out->memory, int, keys->count + out->count)};
  if (!out->keys.frames) return ctx->error.status;
  memcpy(out->keys.frames, keys->frames, (size_t)keys->count * sizeof *keys->frames);
  for (int k = 0; k < out->count; k++) out->keys.frames[keys->count + k] = frames + k;
  return SN_OK;
}

// `count` numbers of every frame, and behind them `own` for each of `lessons` more.
static double *extend(sn_context *ctx, sn_arena *memory, const double *numbers, int count, int frames,
                      const double *own, int lessons) {
  size_t row = (size_t)count, used = (size_t)frames * row;
  double *out = SN_NEW(ctx, memory, double, used + (size_t)lessons * row);
  if (!out) return NULL;
  memcpy(out, numbers, used * sizeof *out);
  for (size_t k = 0; k < (size_t)lessons; k++) memcpy(out + used + k * row, own, row * sizeof *out);
  return out;
}

// The mean of `count` numbers over poses.
static double *mean_of(sn_context *ctx, sn_arena *memory, const double *numbers, int count, const int *poses,
                       int pose_count) {
  double *out = SN_NEW(ctx, memory, double, count);
  for (int k = 0; out && k < pose_count; k++)
    for (int j = 0; j < count; j++)
      out[j] += numbers[(size_t)(poses ? poses[k] : k) * (size_t)count + (size_t)j] / pose_count;
  return out;
}

// Every joint bears its mean torque.
static sn_status add_torques(sn_context *ctx, const sn_keys *keys, sn_rotreg_lessons *out) {
  sn_torques *t = &out->examples.torques;
  const double *own = mean_of(ctx, &out->memory, t->values, t->joint_count, keys->frames, keys->count);
  if (!own) return ctx->error.status;
  t->values = extend(ctx, &out->memory, t->values, t->joint_count, t->frame_count, own, out->count);
  t->frame_count += out->count;
  return t->values ? SN_OK : ctx->error.status;
}

static sn_status add_loads(sn_context *ctx, const sn_torque_loads *loads, sn_rotreg_lessons *out) {
  const double *own = mean_of(ctx, &out->memory, loads->x, loads->joint_count, NULL, loads->pose_count);
  if (!own) return ctx->error.status;
  out->loads = *loads;
  out->loads.x = extend(ctx, &out->memory, loads->x, loads->joint_count, loads->pose_count, own, out->count);
  out->loads.pose_count += out->count;
  return out->loads.x ? SN_OK : ctx->error.status;
}

// The skin knows nothing of named values: they are those of the rest mesh.
static sn_status add_values(sn_context *ctx, sn_rotreg_lessons *out) {
  sn_values *v = &out->examples.values;
  v->values = extend(ctx, &out->memory, v->values, v->count, v->frame_count, v->rest, out->count);
  v->frame_count += out->count;
  return v->values ? SN_OK : ctx->error.status;
}

typedef struct place_job {
  const sn_blend *blend;
  sn_frames *frames;
} place_job;

// What is missing from a vertex at the origin is where it is.
static void place_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const place_job *job = user;
  const sn_skin *skin = &job->blend->examples->skin;
  for (int64_t i = begin; i < end; i++) {
    const uint16_t *joints = skin->joints + i * skin->influences;
    int count = sn_skin_row_influences(skin, (int)i);
    double weights[SN_RT_MAX_INFLUENCES] = {0};
    if (count > SN_RT_MAX_INFLUENCES) count = SN_RT_MAX_INFLUENCES;
    for (int k = 0; k < count; k++) weights[k] = (double)skin->weights[i * skin->influences + k];
    for (int k = 0; k < job->blend->keys->count; k++) {
      sn_vec3 place = sn_blend_residual(job->blend, k, (int)i, joints, weights, count, NULL);
      sn_vec3_store(place, sn_frame_mutable(job->frames, job->blend->keys->frames[k])[i]);
    }
  }
}

static sn_status write_lessons(sn_context *ctx, sn_arena *scratch, const sn_keys *keys, const sn_turn *turns,
                               sn_rotreg_lessons *out) {
  sn_examples *e = &out->examples;
  sn_random rng = sn_random_new(16);
  const sn_keys own = {.count = out->count, .frames = out->keys.frames + keys->count};
  double *farthest = SN_NEW(ctx, scratch, double, e->skeleton.joint_count);
  if (!farthest) return ctx->error.status;
  for (int k = 0; k < keys->count; k++)
    for (int j = 0; j < e->skeleton.joint_count; j++) farthest[j] = fmax(farthest[j], turn_of(e, keys->frames[k], j));
  for (int k = 0; k < own.count; k++)
    lesson_pose(&e->skeleton, sn_pose(&e->poses, keys->frames[0]), farthest, &rng, sn_pose(&e->poses, own.frames[k]));
  sn_blend blend;
  sn_status status = sn_blend_new(ctx, scratch, e, &own, turns, &blend);
  place_job job = {&blend, &e->frames};
  if (status == SN_OK) sn_parallel_for(ctx, e->rest.vertex_count, 64, place_range, &job);
  return status;
}

// Steps from one joint to another along the skeleton.
static int steps_between(const sn_skeleton *skeleton, int a, int b) {
  int up = 0;
  for (int x = a; x >= 0; x = skeleton->parents[x], up++) {
    int down = 0;
    for (int y = b; y >= 0; y = skeleton->parents[y], down++)
      if (x == y) return up + down;
  }
  return INT_MAX;
}

static bool follows_strangers(const sn_skeleton *skeleton, const sn_skin *skin, int i) {
  const float *weights = skin->weights + (size_t)i * (size_t)skin->influences;
  const uint16_t *joints = skin->joints + (size_t)i * (size_t)skin->influences;
  for (int a = 0; a < skin->influences; a++)
    for (int b = a + 1; b < skin->influences; b++) {
      bool both = weights[a] >= clear_weight && weights[b] >= clear_weight;
      if (both && steps_between(skeleton, joints[a], joints[b]) > relatives) return true;
    }
  return false;
}

// Whether much of the skin is stretched between joints that are no near relatives: what becomes of it depends on more than how joints turn
// against their parents.
static bool is_stretched(const sn_examples *e) {
  int count = 0;
  for (int i = 0; i < e->rest.vertex_count; i++) count += follows_strangers(&e->skeleton, &e->skin, i);
  return count > much * e->rest.vertex_count;
}

// The blend by which the file's weights have the smaller enveloping error, and that error. `turns` NULL: linear.
static sn_status better_blend(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                              sn_turn **turns, double *left) {
  static const sn_rt_blend kinds[2] = {SN_RT_BLEND_LINEAR, SN_RT_BLEND_DUALQUAT};
  double errors[2] = {0, 0};
  sn_base_sample sample;
  sn_blend blend;
  sn_status status = sn_base_sample_make(ctx, memory, examples, keys, &sample);
  for (int k = 0; status == SN_OK && k < 2; k++) {
    status = sn_blend_for(ctx, memory, &sample.examples, kinds[k], &sample.keys, &sample.keys, &blend);
    if (status == SN_OK) status = sn_blend_error(ctx, &blend, &sample.examples.skin, &errors[k]);
  }
  *left = sample.rigid > 0 ? sqrt(fmin(errors[0], errors[1]) / sample.rigid) : 0, *turns = NULL;
  if (status != SN_OK || errors[0] <= errors[1]) return status;
  return sn_turns_make(ctx, memory, &examples->skeleton, &examples->poses, keys, turns);
}

sn_status sn_rotreg_teach(sn_context *ctx, const sn_examples *examples, const sn_keys *keys,
                          const sn_torque_loads *loads, bool wanted, sn_rotreg_lessons *out) {
  *out = (sn_rotreg_lessons){.examples = *examples, .keys = *keys, .memory = sn_arena_new(ctx)};
  if (loads) out->loads = *loads;
  size_t bytes = (size_t)examples->frames.frame_count * (size_t)examples->rest.vertex_count * sizeof(float[3]);
  if (!wanted || examples->skin.influences == 0 || examples->skin_made || examples->sigmas || bytes > most_bytes)
    return SN_OK;
  sn_arena scratch = sn_arena_new(ctx);
  sn_turn *turns;
  double left = 0;
  bool many = false, wanting = false;
  sn_status status = is_wanting(ctx, &scratch, examples, keys, &many, &wanting);
  if (status == SN_OK && many) status = better_blend(ctx, &scratch, examples, keys, &turns, &left);
  out->exact = many && left <= exact, out->stretched = out->exact && is_stretched(examples);
  if (status == SN_OK && (out->exact || (wanting && left <= trusted))) {
    out->count = out->exact ? exact_count : lesson_count;
    status = copy_frames(ctx, examples, out->count, &out->examples);
    if (status == SN_OK) status = list_keys(ctx, keys, examples->frames.frame_count, out);
    if (status == SN_OK && examples->torques.values) status = add_torques(ctx, keys, out);
    if (status == SN_OK && examples->values.count > 0) status = add_values(ctx, out);
    if (status == SN_OK && loads) status = add_loads(ctx, loads, out);
    if (status == SN_OK) status = write_lessons(ctx, &scratch, keys, turns, out);
  }
  sn_arena_free(&scratch);
  return status;
}

void sn_rotreg_lessons_free(sn_rotreg_lessons *lessons) {
  if (lessons->count > 0) {
    sn_frames_free(&lessons->examples.frames);
    sn_poses_free(&lessons->examples.poses);
  }
  sn_arena_free(&lessons->memory);
}
