// SPDX-License-Identifier: MIT
// Rigging with a given skeleton: weights only, motion only, both, locked joints, helper bones.
#include "rig/solve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct given_solve {
  const sn_mesh *rest;
  const sn_frames *frames;
  const sn_rig_options *o;
  int joint_count; // of the given skeleton
  int *order;      // the caller's index of every frame of the solver: see canonical.c
  fit_problem p;
  fit_units units;
  fit_model m;
  rig_tree tree;
  fit_smooth smooth;
  bool *locked;   // joints + helpers
  bool found;     // start from a result of sn_rig: see sn_rig_with_skeleton
  double allowed; // squared error of all vertices and frames, in the solver's units
} given_solve;

static const double most_left = 0.998; // stop when a round leaves more than this part of the squared error

static sn_status check_given(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *o) {
  if (!o->skeleton || o->skeleton->joint_count < 1) return sn_fail(ctx, SN_BAD_INPUT, "there is no skeleton");
  bool needs_poses = o->given != SN_RIG_WEIGHTS || o->locked || o->helpers > 0;
  if (needs_poses && !o->poses) {
    return sn_fail(ctx, SN_BAD_INPUT, "the skeleton's motion is needed: give a skeleton file with an animation");
  }
  if (o->poses && o->poses->frame_count != frames->frame_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "%d frames, but %d poses of the skeleton", frames->frame_count,
                   o->poses->frame_count);
  }
  if (o->poses && o->poses->joint_count != o->skeleton->joint_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "the skeleton has %d joints, its poses have %d", o->skeleton->joint_count,
                   o->poses->joint_count);
  }
  if (o->given == SN_RIG_WEIGHTS && (!o->skin || o->skin->vertex_count != rest->vertex_count)) {
    return sn_fail(ctx, SN_BAD_INPUT, "the weights of all %d vertices are needed to solve the motion alone",
                   rest->vertex_count);
  }
  if (o->kept && (!o->skin || o->skin->vertex_count != rest->vertex_count)) {
    return sn_fail(ctx, SN_BAD_INPUT, "weights can only be kept where the skeleton file has a skin");
  }
  if ((o->given == SN_RIG_WEIGHTS || o->kept) && (o->skin->influences < 1 || o->skin->influences > 8)) {
    return sn_fail(ctx, SN_BAD_INPUT, "the skeleton file has %d influences per vertex; 1 to 8 are possible",
                   o->skin->influences);
  }
  if (o->helpers < 0 || o->helpers > 1000 || (o->helpers > 0 && o->given == SN_RIG_WEIGHTS)) {
    return sn_fail(ctx, SN_BAD_INPUT, "helpers: %d; helpers need weights that are solved", o->helpers);
  }
  for (int j = 0; j < o->skeleton->joint_count; j++) {
    int parent = o->skeleton->parents[j];
    if (parent < -1 || parent >= o->skeleton->joint_count) {
      return sn_fail(ctx, SN_BAD_INPUT, "joint %d: parent %d does not exist", j, parent);
    }
  }
  if (o->given != SN_RIG_WEIGHTS && !o->kept) return SN_OK;
  for (size_t e = 0; e < (size_t)o->skin->vertex_count * (size_t)o->skin->influences; e++) {
    if (o->skin->joints[e] >= o->skeleton->joint_count) {
      return sn_fail(ctx, SN_BAD_INPUT, "the skeleton file's weights name joint %d of %d", o->skin->joints[e],
                     o->skeleton->joint_count);
    }
  }
  return SN_OK;
}

// The skeleton as a tree of the solver. Locked joints and helpers are roots: their motion does not depend on a parent's.
static void given_tree(given_solve *g) {
  const sn_skeleton *skeleton = g->o->skeleton;
  g->tree.bones = g->joint_count + g->o->helpers;
  for (int j = 0; j < g->tree.bones; j++) {
    bool free = j >= g->joint_count || g->locked[j] || g->o->structure == SN_RIG_FREE;
    g->tree.parent[j] = free ? -1 : skeleton->parents[j];
    g->tree.order[j] = j < g->joint_count ? skeleton->order[j] : j;
    if (j >= g->joint_count) continue;
    sn_vec3 c = sn_vec3_sub(sn_affine_translation(skeleton->rest[j]), g->units.centre);
    g->tree.joint[j][0] = c.x / g->units.scale, g->tree.joint[j][1] = c.y / g->units.scale;
    g->tree.joint[j][2] = c.z / g->units.scale;
  }
}

static sn_status prepare(sn_context *ctx, sn_arena *scratch, given_solve *g) {
  const sn_rig_options *o = g->o;
  bool weighted = o->given == SN_RIG_WEIGHTS || g->found;
  int frames = g->frames->frame_count, limit = weighted ? o->skin->influences : o->influences;
  if (o->kept && o->skin->influences > limit) limit = o->skin->influences;
  g->order = SN_NEW(ctx, scratch, int, frames);
  g->locked = SN_NEW(ctx, scratch, bool, g->joint_count + o->helpers);
  if (!g->order || !g->locked) return ctx->error.status;
  for (int j = 0; j < g->joint_count; j++) {
    g->locked[j] = o->given == SN_RIG_MOTION || o->helpers > 0 || (o->locked && o->locked[j]);
  }
  sn_status status = sn_rig_sort_frames(ctx, g->frames, NULL, g->order);
  if (status == SN_OK)
    status =
      sn_fit_problem_build(ctx, scratch, &(fit_data){g->rest, g->frames, NULL, g->order, frames}, &g->units, &g->p);
  if (status == SN_OK) status = sn_fit_model_new(ctx, scratch, &g->p, g->joint_count + o->helpers, limit, &g->m);
  if (status == SN_OK) status = sn_rig_tree_new(ctx, scratch, g->joint_count + o->helpers, &g->tree);
  double strength = o->omega >= 0 ? o->omega : g->found ? 1 : 1e-4; // published: Dem Bones
  g->smooth.steady = g->found;
  if (status == SN_OK && strength > 0) {
    status = sn_fit_smooth_build(ctx, scratch, g->rest, &g->p, strength, &g->smooth);
  }
  if (status != SN_OK) return status;
  fit_model *m = &g->m;
  m->bones = g->joint_count;
  for (int f = 0; f < frames; f++)
    for (int j = 0; j < g->joint_count; j++) {
      sn_fit_set_bone(
        m, j, f, o->poses ? sn_fit_to_units(&g->units, f, sn_pose(o->poses, g->order[f])[j]) : sn_affine_identity());
    }
  for (size_t i = 0; i < (size_t)g->p.n; i++)
    for (size_t q = 0; q < (size_t)limit; q++) {
      bool given = o->given == SN_RIG_WEIGHTS || g->found;
      m->joint[i * (size_t)limit + q] = given ? o->skin->joints[i * (size_t)limit + q] : 0;
      m->weight[i * (size_t)limit + q] = given ? (double)o->skin->weights[i * (size_t)limit + q] : q == 0;
    }
  sn_fit_model_refresh(ctx, m);
  given_tree(g);
  return SN_OK;
}

// ---- weights that are kept --------------------------------------------------------------------------------------------------

enum { most_influences = 8 }; // per vertex, of the solved and of the file's weights

typedef struct held_row {
  int count;
  uint16_t joints[2 * most_influences];
  double weights[2 * most_influences];
} held_row;

static void put_influence(held_row *row, int joint, double weight) {
  int k = 0;
  if (!(weight > 0)) return;
  while (k < row->count && row->joints[k] != joint) k++;
  if (k == row->count) row->joints[k] = (uint16_t)joint, row->weights[k] = 0, row->count++;
  row->weights[k] += weight;
  for (; k > 0 && row->weights[k] > row->weights[k - 1]; k--) { // largest first
    double weight_before = row->weights[k - 1];
    uint16_t joint_before = row->joints[k - 1];
    row->weights[k - 1] = row->weights[k], row->joints[k - 1] = row->joints[k];
    row->weights[k] = weight_before, row->joints[k] = joint_before;
  }
}

// Blends the weights of vertex i with the file's weights by kept[i], keeps the largest and normalises.
static void hold_vertex(const given_solve *g, int i) {
  const sn_skin *skin = g->o->skin;
  size_t limit = (size_t)g->m.limit, given = (size_t)skin->influences;
  double kept = fmin(fmax((double)g->o->kept[i], 0), 1), sum = 0;
  uint16_t *joints = g->m.joint + (size_t)i * limit;
  double *weights = g->m.weight + (size_t)i * limit;
  held_row row = {0};
  for (size_t q = 0; q < limit; q++) put_influence(&row, joints[q], (1 - kept) * weights[q]);
  for (size_t q = 0; q < given; q++) {
    put_influence(&row, skin->joints[(size_t)i * given + q], kept * (double)skin->weights[(size_t)i * given + q]);
  }
  for (size_t q = 0; q < limit; q++) sum += (int)q < row.count ? row.weights[q] : 0;
  for (size_t q = 0; q < limit; q++) {
    bool used = (int)q < row.count && sum > 0;
    joints[q] = used ? row.joints[q] : 0, weights[q] = used ? row.weights[q] / sum : 0;
  }
}

// A pass over the data that restores the kept weights afterwards.
static sn_status pass(sn_context *ctx, given_solve *g, fit_support mode, const fit_smooth *smooth) {
  sn_status status = sn_fit_pass(ctx, &g->m, mode, smooth);
  if (status != SN_OK || !g->o->kept) return status;
  for (int i = 0; i < g->p.n; i++)
    if (g->o->kept[i] > 0) hold_vertex(g, i);
  return sn_fit_pass(ctx, &g->m, FIT_KEEP, NULL);
}

// ---- solving ---------------------------------------------------------------------------------------------------------------

// Weights for the present motion, from any start.
static sn_status solve_weights(sn_context *ctx, given_solve *g) {
  sn_status status = SN_OK;
  for (int round = 0; round < 3 && status == SN_OK; round++) {
    status = pass(ctx, g, FIT_EXHAUST, round > 0 ? &g->smooth : NULL);
  }
  return status;
}

// Rigid motion for the present weights; locked joints keep theirs.
static sn_status solve_motion(sn_context *ctx, given_solve *g, int steps) {
  g->tree.bones = g->m.bones;
  if (g->o->structure == SN_RIG_TREE) return sn_rig_tree_fit(ctx, &g->m, &g->tree, steps, g->locked);
  return sn_rig_bones_rigid(ctx, &g->m, 3 * steps, g->locked);
}

static sn_status add_helpers(sn_context *ctx, given_solve *g) {
  sn_status status = SN_OK;
  for (int h = 0; h < g->o->helpers && status == SN_OK; h++) {
    bool added;
    status = sn_rig_add_bone(ctx, &g->m, 1, &added);
    if (status != SN_OK || !added) break;
    status = pass(ctx, g, FIT_EXHAUST, NULL);
    for (int round = 0; round < 3 && status == SN_OK; round++) {
      status = sn_rig_bones_rigid(ctx, &g->m, 3, g->locked);
      if (status == SN_OK) status = pass(ctx, g, FIT_ADJUST, NULL);
    }
  }
  for (int round = 0; round < 10 && status == SN_OK; round++) {
    status = sn_rig_bones_rigid(ctx, &g->m, 3, g->locked);
    if (status == SN_OK) status = pass(ctx, g, FIT_ADJUST, &g->smooth);
  }
  return status;
}

// Whether the error, extrapolated linearly over the remaining rounds, stays above `allowed`.
static bool is_hopeless(const given_solve *g, double before, int rounds_left) {
  return g->m.error - rounds_left * fmax(before - g->m.error, 0) > g->allowed;
}

// Rounds that start from a result of sn_rig.
static sn_status solve_again(sn_context *ctx, given_solve *g, int *rounds) {
  enum { most = 6 };
  bool automatic = g->o->omega < 0;
  sn_status status = pass(ctx, g, FIT_KEEP, NULL);
  if (status == SN_OK) status = solve_motion(ctx, g, 6);
  if (status == SN_OK && automatic) sn_fit_smooth_by_error(&g->m, &g->smooth);
  double before = INFINITY;
  for (*rounds = 1; status == SN_OK && *rounds < most && g->m.error < 0.995 * before; ++*rounds) {
    before = g->m.error;
    status = pass(ctx, g, FIT_ADJUST, &g->smooth);
    if (*rounds > 1 && is_hopeless(g, before, most - *rounds)) return status;
    if (status == SN_OK) status = solve_motion(ctx, g, 2);
  }
  if (status == SN_OK) status = pass(ctx, g, FIT_KEEP, NULL);
  if (status == SN_OK && automatic) status = sn_rig_thin(ctx, g->rest, &g->m, &g->smooth);
  return status == SN_OK ? solve_motion(ctx, g, 2) : status;
}

static sn_status solve(sn_context *ctx, given_solve *g, int *rounds) {
  sn_status status;
  *rounds = 1;
  if (g->found && g->o->given == SN_RIG_SKELETON) return solve_again(ctx, g, rounds);
  if (g->o->given == SN_RIG_WEIGHTS) {
    status = pass(ctx, g, FIT_KEEP, NULL);
    if (status == SN_OK) status = solve_motion(ctx, g, g->found ? 6 : 20);
    return status == SN_OK ? pass(ctx, g, FIT_KEEP, NULL) : status;
  }
  status = solve_weights(ctx, g);
  int most = g->o->iterations > 0 ? g->o->iterations : 20;
  for (; g->o->given == SN_RIG_SKELETON && g->o->helpers == 0 && *rounds < most && status == SN_OK; ++*rounds) {
    double before = g->m.error;
    status = solve_motion(ctx, g, 2);
    if (status == SN_OK) status = pass(ctx, g, FIT_ADJUST, &g->smooth);
    if (g->m.error > most_left * before) break;
  }
  return status == SN_OK && g->o->helpers > 0 ? add_helpers(ctx, g) : status;
}

// The given skeleton; each helper becomes a child of the joint whose weights it overlaps most.
static sn_status store_skeleton(sn_context *ctx, const given_solve *g, sn_skeleton *out) {
  sn_status status = sn_skeleton_new(ctx, g->m.bones, out);
  for (int j = 0; j < g->m.bones && status == SN_OK; j++) {
    if (j < g->joint_count) {
      out->names[j] = sn_arena_text(ctx, &out->memory, g->o->skeleton->names[j]);
      out->parents[j] = g->o->skeleton->parents[j], out->rest[j] = g->o->skeleton->rest[j];
    } else {
      char name[32];
      double s[4][4];
      snprintf(name, sizeof name, "helper%d", j - g->joint_count);
      out->names[j] = sn_arena_text(ctx, &out->memory, name);
      out->parents[j] = 0;
      for (int k = 1; k < g->joint_count; k++)
        if (fit_pair(&g->m, j, k)[9] > fit_pair(&g->m, j, out->parents[j])[9]) out->parents[j] = k;
      fit_unpack(fit_pair(&g->m, j, j), s);
      double total = s[3][3] > 0 ? s[3][3] : 1;
      sn_vec3 c = sn_vec3_scale(sn_vec3_make(s[0][3], s[1][3], s[2][3]), g->units.scale / total);
      out->rest[j] = sn_affine_make(sn_mat3_identity(), sn_vec3_add(c, g->units.centre));
    }
    if (!out->names[j]) status = ctx->error.status;
  }
  return status == SN_OK ? sn_skeleton_sort(ctx, out) : status;
}

static sn_status store(sn_context *ctx, const given_solve *g, sn_rig_result *out) {
  sn_status status = store_skeleton(ctx, g, &out->skeleton);
  if (status == SN_OK) status = sn_poses_new(ctx, g->m.bones, g->p.f, &out->poses);
  if (status == SN_OK) status = sn_fit_store_skin(ctx, &g->m, &out->skin);
  if (status != SN_OK) return status;
  for (int f = 0; f < g->p.f; f++)
    for (int j = 0; j < g->m.bones; j++)
      sn_pose(&out->poses, g->order[f])[j] = sn_fit_from_units(&g->units, f, sn_fit_bone(&g->m, j, f));
  sn_rig_round_poses(&out->skeleton, false, &out->poses);
  // Locked joints keep their poses exactly.
  for (int f = 0; f < g->p.f; f++)
    for (int j = 0; j < g->joint_count; j++)
      if (g->locked[j]) sn_pose(&out->poses, f)[j] = sn_pose(g->o->poses, f)[j];
  return SN_OK;
}

sn_status sn_rig_with_skeleton(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *o,
                               double allowed, sn_rig_result *out) {
  sn_status status = check_given(ctx, rest, frames, o);
  if (status != SN_OK) return status;
  sn_arena scratch = sn_arena_new(ctx);
  given_solve g = {
    .rest = rest, .frames = frames, .o = o, .joint_count = o->skeleton->joint_count, .found = allowed > 0};
  int rounds = 0;
  out->memory = sn_arena_new(ctx);
  status = prepare(ctx, &scratch, &g);
  if (status == SN_OK && g.found) {
    g.allowed = allowed / g.units.scale * (allowed / g.units.scale) * g.p.n * g.p.f;
  }
  if (status == SN_OK) status = solve(ctx, &g, &rounds);
  if (status == SN_OK) status = store(ctx, &g, out);
  if (status == SN_OK) status = sn_fit_pass(ctx, &g.m, FIT_KEEP, NULL); // updates the errors
  if (status == SN_OK) sn_rig_report_error(&g.m, g.units.scale, rest, &out->report);
  sn_fit_problem_free(&g.p);
  sn_arena_free(&scratch);
  if (status != SN_OK) {
    sn_rig_result_free(out);
    return status;
  }
  out->report.iterations = rounds, out->report.bones_wanted = g.joint_count + o->helpers;
  if (out->report.bones < out->report.bones_wanted) {
    snprintf(out->report.reason, sizeof out->report.reason, "no place is left where a helper would lower the error");
  }
  return SN_OK;
}
