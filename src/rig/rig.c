// SPDX-License-Identifier: MIT
// `sn_rig`: checks, units, the choice of the number of bones, and the result in the caller's terms.
#include "rig/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIELD(name) offsetof(sn_rig_options, name)
static const sn_option option_table[] = {
  {"bones", SN_OPTION_INT, FIELD(bones), "auto", 1, 1000, "auto", SN_OPTION_COMMON,
   "how many bones; auto takes as few as reach the error"},
  {"error", SN_OPTION_REAL, FIELD(error_pct), "0.5", 1e-6, 100, NULL, SN_OPTION_COMMON,
   "for bones auto: rms error to reach, in percent of the diagonal"},
  {"most", SN_OPTION_INT, FIELD(most_bones), "64", 1, 1000, NULL, SN_OPTION_COMMON,
   "for bones auto: never more bones than this"},
  {"influences", SN_OPTION_INT, FIELD(influences), "4", 1, 8, NULL, SN_OPTION_COMMON,
   "most bones of a vertex (some viewers read only four)"},
  {"joints", SN_OPTION_CHOICE, FIELD(joints), "tree", 0, 0, "tree|none", SN_OPTION_COMMON,
   "a connected skeleton, of which only the root moves, or free bones"},
  {"bone-type", SN_OPTION_CHOICE, FIELD(bone_type), "rigid", 0, 0, "rigid|affine", SN_OPTION_ADVANCED,
   "affine goes with joints none"},
  {"smooth", SN_OPTION_REAL, FIELD(smooth), "0.0001", 0, 1e6, NULL, SN_OPTION_ADVANCED,
   "smoothness of the weights (rigidness Laplacian, Le and Deng's omega); 0 for none"},
  {"iterations", SN_OPTION_INT, FIELD(iterations), "0", 0, 100000, NULL, SN_OPTION_ADVANCED,
   "rounds over all the data at the end; 0: no more than pays"},
  {"helpers", SN_OPTION_INT, FIELD(helpers), "0", 0, 1000, NULL, SN_OPTION_ADVANCED,
   "free bones to add to a given skeleton"},
  {0},
};
const sn_option_group sn_rig_option_groups[] = {{option_table, 0}, {0}};

sn_rig_options sn_rig_options_default(void) {
  sn_rig_options out = {0};
  sn_options_initial(sn_rig_option_groups, &out);
  return out;
}

void sn_rig_result_free(sn_rig_result *result) {
  sn_skeleton_free(&result->skeleton);
  sn_poses_free(&result->poses);
  sn_skin_free(&result->skin);
  sn_arena_free(&result->memory);
  *result = (sn_rig_result){0};
}

static sn_status check_numbers(sn_context *ctx, const sn_rig_options *o) {
  if (o->bones < 0 || o->bones > 1000) {
    return sn_fail(ctx, SN_BAD_INPUT, "bones: %d; 1 to 1000 are possible (0: chosen by the error)", o->bones);
  }
  if (o->influences < 1 || o->influences > 8) {
    return sn_fail(ctx, SN_BAD_INPUT, "influences: %d; 1 to 8 are possible", o->influences);
  }
  if (!(o->smooth >= 0) || o->iterations < 0) {
    return sn_fail(ctx, SN_BAD_INPUT, "smooth and iterations must not be negative");
  }
  if (o->bones == 0 && (!(o->error_pct > 0) || o->most_bones < 1 || o->most_bones > 1000)) {
    return sn_fail(ctx, SN_BAD_INPUT, "to choose the number of bones, error must be above 0 percent");
  }
  if (o->bone_type == SN_RIG_AFFINE && o->joints != SN_RIG_FREE) {
    return sn_fail(ctx, SN_BAD_INPUT, "affine bones have no joints: ask for joints none, or for rigid bones");
  }
  return SN_OK;
}

static sn_status check_data(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames) {
  if (rest->vertex_count < 1) return sn_fail(ctx, SN_BAD_INPUT, "the rest mesh has no vertices");
  if (frames->frame_count < 1) return sn_fail(ctx, SN_BAD_INPUT, "there are no frames");
  if (rest->vertex_count != frames->vertex_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "the rest mesh has %d vertices, the frames have %d", rest->vertex_count,
                   frames->vertex_count);
  }
  sn_status status = sn_mesh_check(ctx, rest);
  return status == SN_OK ? sn_frames_check(ctx, frames) : status;
}

// Skeleton, poses and skin from the solved model. order[q] is the frame behind row q of the model.
static sn_status store(sn_context *ctx, const rig_model *m, const rig_tree *tree, const rig_units *units,
                       const int *order, const sn_rig_options *o, sn_rig_result *out) {
  sn_status status = sn_skeleton_new(ctx, m->bones, &out->skeleton);
  if (status == SN_OK) status = sn_poses_new(ctx, m->bones, m->p->f, &out->poses);
  if (status == SN_OK) status = sn_rig_store_skin(ctx, m, &out->skin);
  if (status != SN_OK) return status;
  for (int j = 0; j < m->bones; j++) {
    double s[4][4];
    rig_unpack(rig_pair(m, j, j), s);
    double total = s[3][3] > 0 ? s[3][3] : 1;
    sn_vec3 c = {s[0][3] / total, s[1][3] / total, s[2][3] / total};
    if (o->joints == SN_RIG_TREE) {
      c = (sn_vec3){tree->joint[j][0], tree->joint[j][1], tree->joint[j][2]};
      out->skeleton.parents[j] = tree->parent[j];
    }
    c = sn_vec3_add(sn_vec3_scale(c, units->scale), units->centre);
    out->skeleton.rest[j] = sn_affine_make(sn_mat3_identity(), sn_vec3_make((float)c.x, (float)c.y, (float)c.z));
    for (int f = 0; f < m->p->f; f++)
      sn_pose(&out->poses, order[f])[j] = sn_rig_from_units(units, f, sn_rig_bone(m, j, f));
  }
  status = sn_skeleton_sort(ctx, &out->skeleton);
  if (status == SN_OK) sn_rig_round_poses(&out->skeleton, o->bone_type == SN_RIG_AFFINE, &out->poses);
  return status;
}

// Small sets can have more rounds over all the data, and more moves on the sample, in the same time.
static int rounds_for(const rig_problem *p) { return 5 + (int)(1.2e6 / fmax((double)p->n * p->f, 6e4)); }

static int effort_for(const rig_problem *p, int bones) {
  return bones > 40 ? 1 : 1 + (int)fmin(4e5 / ((double)p->n * p->f), 2);
}

// Twice as many bones as wanted for a tree, up to a number that takes too long: on exact data (cheburashka with 8
// influences) rms 0.012 % instead of 0.05 % with an eighth more, on cat, gallop and dance as good or better.
static int spare_bones(const sn_rig_options *o, int bones) {
  enum { most = 32 };
  if (bones < 2) return 0;
  if (o->joints == SN_RIG_FREE) return 1 + bones / 8;
  return bones < most ? bones : most;
}

// One solve for a number of bones, into an empty result.
static sn_status solve_for(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const rig_problem *p,
                           const rig_units *units, const int *order, const sn_rig_options *o, int bones,
                           sn_rig_result *out) {
  sn_arena scratch = sn_arena_new(ctx);
  rig_model m;
  rig_tree tree;
  rig_smooth smooth = {0};
  int rounds = 0;
  sn_status status = SN_OK;
  rig_body body;
  if (o->smooth > 0) status = sn_rig_smooth_build(ctx, &scratch, rest, p, o->smooth, &smooth);
  if (status == SN_OK) status = sn_rig_body_build(ctx, &scratch, rest, p, &body);
  rig_plan plan = {.bones = bones,
                   .spare = spare_bones(o, bones),
                   .starts = 2,
                   .limit = o->influences,
                   .tree = o->joints == SN_RIG_TREE,
                   .affine = o->bone_type == SN_RIG_AFFINE,
                   .iterations = o->iterations > 0 ? o->iterations : rounds_for(p),
                   .effort = effort_for(p, bones),
                   .smooth = &smooth,
                   .body = rest->triangle_count > 0 ? &body : NULL};
  if (status == SN_OK) status = sn_rig_solve(ctx, &scratch, p, &plan, &m, &tree, &rounds);
  out->memory = sn_arena_new(ctx);
  if (status == SN_OK) status = store(ctx, &m, &tree, units, order, o, out);
  if (status == SN_OK) status = sn_rig_measure(ctx, rest, frames, out);
  out->report.bones_wanted = bones, out->report.iterations = rounds;
  if (status == SN_OK && out->report.bones < bones) {
    snprintf(
      out->report.reason, sizeof out->report.reason,
      "the data supports no more than %d bones: any further one would move like another or have hardly a vertex",
      out->report.bones);
  }
  sn_arena_free(&scratch);
  if (status != SN_OK) sn_rig_result_free(out);
  return status;
}

// The fewest bones that reach the wanted error, by bisection.
static sn_status solve_auto(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const rig_problem *p,
                            const rig_units *units, const int *order, const sn_rig_options *o, sn_rig_result *out) {
  int low = 0, high = 0, most = o->most_bones;
  sn_status status = SN_OK;
  for (int bones = 4 < most ? 4 : most; status == SN_OK && high == 0;) {
    sn_rig_result trial = {0};
    status = solve_for(ctx, rest, frames, p, units, order, o, bones, &trial);
    if (status != SN_OK) break;
    bool reached = trial.report.rms_pct_diag <= o->error_pct, last = bones >= most || trial.report.bones < bones;
    sn_rig_result_free(out);
    *out = trial;
    if (reached || last) high = bones;
    if (!reached) low = bones;
    bones = 2 * bones < most ? 2 * bones : most;
  }
  while (status == SN_OK && high - low > 1) {
    int bones = (low + high) / 2;
    sn_rig_result trial = {0};
    status = solve_for(ctx, rest, frames, p, units, order, o, bones, &trial);
    if (status != SN_OK) break;
    if (trial.report.rms_pct_diag <= o->error_pct) {
      high = bones;
      sn_rig_result_free(out);
      *out = trial;
    } else {
      low = bones;
      sn_rig_result_free(&trial);
    }
  }
  if (status == SN_OK && out->report.rms_pct_diag > o->error_pct) {
    snprintf(out->report.reason, sizeof out->report.reason,
             "%d bones, the most allowed or supported, leave %.3g %% of the diagonal", out->report.bones,
             out->report.rms_pct_diag);
  }
  if (status != SN_OK) sn_rig_result_free(out);
  return status;
}

sn_status sn_rig(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *options,
                 sn_rig_result *out) {
  *out = (sn_rig_result){0};
  sn_rig_options o = options ? *options : sn_rig_options_default();
  sn_status status = check_numbers(ctx, &o);
  if (status == SN_OK) status = check_data(ctx, rest, frames);
  if (status != SN_OK) return status;
  if (o.given != SN_RIG_NOTHING) return sn_rig_with_skeleton(ctx, rest, frames, &o, out);
  sn_arena scratch = sn_arena_new(ctx);
  rig_problem p;
  rig_units units;
  int *order = SN_NEW(ctx, &scratch, int, frames->frame_count);
  status = order ? sn_rig_sort_frames(ctx, frames, order) : ctx->error.status;
  if (status == SN_OK) {
    status = sn_rig_problem_build(ctx, &scratch, rest, frames, order, frames->frame_count, &units, &p);
  }
  if (status == SN_OK) {
    status = o.bones > 0 ? solve_for(ctx, rest, frames, &p, &units, order, &o, o.bones, out)
                         : solve_auto(ctx, rest, frames, &p, &units, order, &o, out);
  }
  sn_arena_free(&scratch);
  return status;
}
