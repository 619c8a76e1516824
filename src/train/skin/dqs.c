// SPDX-License-Identifier: MIT
// `dqs`: dual-quaternion skinning (Murtagh 2008). Weights given, those of lbs, or refined for the dual-quaternion blend
// by Gauss-Newton steps on the simplex.
#include "train/correct/pose_space.h"
#include "train/train.h"

#include <math.h>
#include <string.h>

#include "solve/solve.h"

// A joint's matrix as the runtime blends it: a rigid motion after a stretch of the rest pose.
typedef struct joint_motion {
  sn_dualquat rigid;
  sn_affine stretch;
} joint_motion;

typedef struct refine_job {
  const sn_examples *examples;
  const sn_keys *keys;
  const joint_motion *motions; // keys->count * joint_count
  sn_skin *skin;
  int rounds;
} refine_job;

// As split_matrix of src/runtime/palette.c: the joint's own stretch is about its centre, the common scale about the origin.
static joint_motion split_matrix(sn_affine a, sn_vec3 centre, double common) {
  joint_motion out;
  sn_mat3 rotation, stretch;
  sn_mat3_polar(sn_affine_linear(a), &rotation, &stretch);
  sn_vec3 kept = sn_vec3_scale(centre, common);
  out.stretch = sn_affine_make(stretch, sn_vec3_sub(kept, sn_mat3_apply(stretch, centre)));
  sn_vec3 t = sn_vec3_sub(sn_affine_apply(a, centre), sn_mat3_apply(rotation, kept));
  out.rigid = sn_dualquat_from_rigid(sn_affine_make(rotation, t));
  return out;
}

static double mean_stretch(const joint_motion *motion) {
  return sn_mat3_trace(sn_affine_linear(motion->stretch)) / 3;
}

// The scale that more than half of the joints share, else 1.
static double common_scale(const joint_motion *pose, int count) {
  const double same = 1e-4;
  for (int j = 0; j < count; j++) {
    double scale = mean_stretch(&pose[j]);
    int agree = 0;
    for (int k = 0; k < count; k++) agree += fabs(mean_stretch(&pose[k]) - scale) <= same * fabs(scale);
    if (agree > count / 2) return scale > 0 && fabs(scale - 1) > same ? scale : 1;
  }
  return 1;
}

static void split_pose(const sn_skeleton *skeleton, const sn_affine *matrices, joint_motion *pose) {
  double common = 1;
  for (int pass = 0; pass < 2 && (pass == 0 || common != 1); pass++) {
    for (int j = 0; j < skeleton->joint_count; j++) {
      pose[j] = split_matrix(matrices[j], sn_affine_translation(skeleton->rest[j]), common);
    }
    if (pass == 0) common = common_scale(pose, skeleton->joint_count);
  }
}

// Every quaternion on the hemisphere of its joint's reference, as the runtime has it (src/runtime/turns.c).
static void choose_hemispheres(const sn_turn *turns, int joint_count, joint_motion *pose) {
  for (int n = 0; n < joint_count; n++) {
    sn_dualquat *own = &pose[turns[n].joint].rigid;
    sn_quat parent = turns[n].parent < 0 ? sn_quat_identity() : pose[turns[n].parent].rigid.real;
    sn_quat turn = sn_quat_mul(sn_quat_conjugate(parent), own->real);
    if (sn_quat_dot(turn, turns[n].reference) >= 0) continue;
    *own = (sn_dualquat){sn_quat_scale(own->real, -1), sn_quat_scale(own->dual, -1)};
  }
}

// Murtagh 2008, section 2.4: blend, then normalise.
static sn_vec3 blend_point(const joint_motion *pose, const uint16_t *joints, const double *weights, int count,
                           sn_vec3 rest) {
  sn_dualquat sum = {{0, 0, 0, 0}, {0, 0, 0, 0}};
  sn_vec3 stretched = {0, 0, 0};
  for (int k = 0; k < count; k++) {
    const joint_motion *motion = &pose[joints[k]];
    sum.real = sn_quat_add(sum.real, sn_quat_scale(motion->rigid.real, weights[k]));
    sum.dual = sn_quat_add(sum.dual, sn_quat_scale(motion->rigid.dual, weights[k]));
    stretched = sn_vec3_mad(stretched, sn_affine_apply(motion->stretch, rest), weights[k]);
  }
  return sn_affine_apply(sn_dualquat_to_rigid(sum), stretched);
}

// Squared error of vertex i over the training frames, and the normal equations of a step in its weights: with the
// Jacobian J by differences, minimise |r + J (w - w0)|^2, that is A = J^T J, b = A w0 - J^T r.
static double linearise(const refine_job *job, int i, const uint16_t *joints, const double *weights, int count,
                        sn_simplex *q) {
  const double h = 1e-6;
  int joint_count = job->examples->skeleton.joint_count;
  sn_vec3 rest = sn_vec3_from(job->examples->rest.positions[i]);
  double error = 0, gradient[SN_SIMPLEX_MAX] = {0};
  if (q) *q = (sn_simplex){.n = count};
  for (int f = 0; f < job->keys->count; f++) {
    const joint_motion *pose = job->motions + (size_t)f * (size_t)joint_count;
    sn_vec3 target = sn_vec3_from(sn_frame(&job->examples->frames, job->keys->frames[f])[i]);
    sn_vec3 here = blend_point(pose, joints, weights, count, rest), residual = sn_vec3_sub(here, target);
    error += sn_vec3_dot(residual, residual);
    if (!q) continue;
    sn_vec3 column[SN_SIMPLEX_MAX];
    for (int k = 0; k < count; k++) {
      double moved[SN_SIMPLEX_MAX];
      memcpy(moved, weights, (size_t)count * sizeof *moved);
      moved[k] += h;
      column[k] = sn_vec3_scale(sn_vec3_sub(blend_point(pose, joints, moved, count, rest), here), 1 / h);
      gradient[k] += sn_vec3_dot(column[k], residual);
      for (int l = 0; l <= k; l++) q->a[k][l] += sn_vec3_dot(column[k], column[l]);
    }
  }
  for (int k = 0; q && k < count; k++)
    for (int l = 0; l < k; l++) q->a[l][k] = q->a[k][l];
  for (int k = 0; q && k < count; k++) {
    q->b[k] = -gradient[k];
    for (int l = 0; l < count; l++) q->b[k] += q->a[k][l] * weights[l];
  }
  return error;
}

// Pulls the step towards the present weights, `damping` times the size of A.
static void damp(sn_simplex *q, const double *weights, double damping) {
  double size = 1e-12;
  for (int k = 0; k < q->n; k++) size += q->a[k][k];
  for (int k = 0; k < q->n; k++) {
    q->a[k][k] += damping * size;
    q->b[k] += damping * size * weights[k];
    q->w[k] = weights[k];
  }
}

static void refine_vertex(const refine_job *job, int i) {
  sn_skin *skin = job->skin;
  uint16_t *joints = skin->joints + (size_t)i * (size_t)skin->influences;
  float *stored = skin->weights + (size_t)i * (size_t)skin->influences;
  double weights[SN_SIMPLEX_MAX], damping = 1e-4;
  int count = 0;
  while (count < skin->influences && stored[count] > 0) weights[count] = stored[count], count++;
  if (count < 2) return;
  sn_simplex base;
  double error = linearise(job, i, joints, weights, count, &base);
  for (int round = 0; round < job->rounds && damping < 1e3; round++) {
    sn_simplex step = base;
    damp(&step, weights, damping);
    sn_simplex_solve(&step);
    double trial = linearise(job, i, joints, step.w, count, NULL);
    if (!(trial < error)) {
      damping *= 10;
      continue;
    }
    memcpy(weights, step.w, (size_t)count * sizeof *weights);
    bool settled = trial > error * (1 - 1e-4);
    error = linearise(job, i, joints, weights, count, &base);
    damping *= 0.3;
    if (settled) break;
  }
  for (int k = 0; k < count; k++) stored[k] = (float)weights[k];
}

static void refine_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) refine_vertex(user, (int)i);
}

static sn_status refine(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, const sn_turn *turns,
                        sn_skin *skin) {
  int joints = examples->skeleton.joint_count;
  sn_arena scratch = sn_arena_new(ctx);
  joint_motion *motions = SN_NEW(ctx, &scratch, joint_motion, (size_t)keys->count * (size_t)joints);
  if (motions) {
    for (int f = 0; f < keys->count; f++) {
      joint_motion *pose = motions + (size_t)f * (size_t)joints;
      split_pose(&examples->skeleton, sn_pose(&examples->poses, keys->frames[f]), pose);
      choose_hemispheres(turns, joints, pose);
    }
    refine_job job = {examples, keys, motions, skin, 12};
    sn_parallel_for(ctx, skin->vertex_count, 64, refine_range, &job);
    sn_skin_normalize(skin);
  }
  sn_arena_free(&scratch);
  return motions ? SN_OK : ctx->error.status;
}

sn_status sn_dqs_train(sn_context *ctx, const sn_skin_options *o, const sn_examples *examples, const sn_keys *keys,
                       sn_model *out) {
  sn_skin skin = {0};
  sn_arena scratch = sn_arena_new(ctx);
  sn_turn *turns;
  void *references = NULL;
  size_t size = 0;
  int joints = examples->skeleton.joint_count;
  sn_status status = sn_train_skin(ctx, o, examples, &examples->poses, keys, &skin);
  if (status == SN_OK) status = sn_turns_make(ctx, &scratch, &examples->skeleton, &examples->poses, keys, &turns);
  if (status == SN_OK) status = sn_turns_section(ctx, &scratch, turns, joints, &references, &size);
  if (status == SN_OK && o->weights == SN_WEIGHTS_FIT) status = refine(ctx, examples, keys, turns, &skin);
  if (status == SN_OK) {
    sn_model_desc desc = sn_model_desc_default();
    desc.rest = &examples->rest, desc.skeleton = &examples->skeleton, desc.skin = &skin;
    desc.blend = SN_RT_BLEND_DUALQUAT;
    sn_model_section section = {"joint.reference", references, size, true};
    desc.sections = &section, desc.section_count = 1;
    status = sn_train_build(ctx, examples, desc, out);
  }
  sn_skin_free(&skin);
  sn_arena_free(&scratch);
  return status;
}

static sn_status train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_model *out, sn_train_report *report) {
  (void)report;
  return sn_dqs_train(ctx, options, examples, keys, out);
}

static const sn_option_group groups[] = {{sn_skin_option_table, 0}, {0}};

const sn_method sn_method_dqs = {
  .name = "dqs",
  .summary = "dual-quaternion skinning (Murtagh 2008)",
  .options = groups,
  .needs_skeleton = true,
  .train = train,
};
