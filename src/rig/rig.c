// SPDX-License-Identifier: MIT
// `sn_rig`: checks, units, the choice of the number of bones, and the result in the caller's units and order.
#include "rig/solve.h"
#include "solve/lapack.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIELD(name) offsetof(sn_rig_options, name)
static const sn_option option_table[] = {
  {"bones", SN_OPTION_INT, FIELD(bones), "auto", 1, 1000, "auto", SN_OPTION_COMMON,
   "most bones to use; auto: by cross-validation"},
  {"error", SN_OPTION_REAL, FIELD(error_pct), "none", 1e-6, 100, "none", SN_OPTION_COMMON,
   "with bones auto: add bones until the rms error is at most X % of the diagonal"},
  {"most", SN_OPTION_INT, FIELD(most_bones), "64", 1, 1000, NULL, SN_OPTION_COMMON,
   "with bones auto: most bones to use"},
  {"influences", SN_OPTION_INT, FIELD(influences), "4", 1, 8, NULL, SN_OPTION_COMMON,
   "most bones per vertex; some viewers read only four"},
  {"joints", SN_OPTION_CHOICE, FIELD(structure), "tree", 0, 0, "tree|none", SN_OPTION_COMMON,
   "tree: a connected skeleton, only its root translates; none: free bones"},
  {"bone-type", SN_OPTION_CHOICE, FIELD(bone_type), "rigid", 0, 0, "rigid|affine", SN_OPTION_ADVANCED,
   "affine needs joints none"},
  {"smooth", SN_OPTION_REAL, FIELD(omega), "auto", 0, 1e6, "none|auto", SN_OPTION_ADVANCED,
   "smoothness of the weights (omega of Le and Deng); auto: by the error, 0.0001 for free bones and given skeletons"},
  {"iterations", SN_OPTION_INT, FIELD(iterations), "0", 0, 100000, NULL, SN_OPTION_ADVANCED,
   "iterations over all the data at the end; 0: until the error stops falling"},
  {"symmetry", SN_OPTION_CHOICE, FIELD(symmetry), "auto", 0, 0, "auto|x|y|z|none", SN_OPTION_COMMON,
   "mirror the skeleton of a symmetric mesh, names ending in .L and .R; auto: where the error hardly grows"},
  {"solver", SN_OPTION_CHOICE, FIELD(solver), "own", 0, 0, "own|published|schaefer|aguiar|hasler", SN_OPTION_ADVANCED,
   "own, or a method to compare with: Le and Deng 2014 as published, Schaefer and Yuksel 2007, de Aguiar 2008, "
   "Hasler 2010"},
  {"helpers", SN_OPTION_INT, FIELD(helpers), "0", 0, 1000, NULL, SN_OPTION_ADVANCED,
   "free bones to add to a given skeleton"},
  {0},
};
const sn_option_group sn_rig_option_groups[] = {{option_table, 0}, {0}};

rig_baseline *sn_rig_baseline;

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
  if (!(o->omega >= 0 || o->omega == -1) || o->iterations < 0) {
    return sn_fail(ctx, SN_BAD_INPUT, "smooth and iterations must not be negative");
  }
  if (o->bones == 0 && (!(o->error_pct >= 0) || o->most_bones < 1 || o->most_bones > 1000)) {
    return sn_fail(ctx, SN_BAD_INPUT,
                   "to choose the number of bones, error must not be negative, and most 1 to 1000");
  }
  if (o->bone_type == SN_RIG_AFFINE && o->structure != SN_RIG_FREE) {
    return sn_fail(ctx, SN_BAD_INPUT, "affine bones have no joints: ask for joints none, or for rigid bones");
  }
  return SN_OK;
}

static sn_status check_solver(sn_context *ctx, const sn_rig_options *o) {
  if (o->solver == SN_RIG_OWN) return SN_OK;
  if (o->structure == SN_RIG_FREE || o->bone_type == SN_RIG_AFFINE) {
    return sn_fail(ctx, SN_BAD_INPUT,
                   "solver: the methods of others make a skeleton of rigid bones; leave out joints none");
  }
  if (o->given != SN_RIG_NOTHING) {
    return sn_fail(ctx, SN_BAD_INPUT,
                   "solver: the methods of others find the skeleton themselves; leave out the given skeleton");
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

// The caller's mesh and frames, and both in the solver's order and units (see canonical.c).
typedef struct rig_task {
  const sn_mesh *rest;
  const sn_frames *frames;
  sn_mesh sorted;
  int *vertex, *order; // the caller's index of every vertex and frame of the solver
  fit_problem p;
  fit_units units;
  double percent; // one solver unit in percent of the diagonal
} rig_task;

static sn_status store_skin(sn_context *ctx, const rig_task *task, const fit_model *m, sn_skin *out) {
  sn_skin sorted;
  size_t k = (size_t)m->limit;
  sn_status status = sn_fit_store_skin(ctx, m, &sorted);
  if (status == SN_OK) status = sn_skin_new(ctx, sorted.vertex_count, sorted.influences, out);
  for (int q = 0; status == SN_OK && q < sorted.vertex_count; q++) {
    size_t from = (size_t)q * k, to = (size_t)task->vertex[q] * k;
    memcpy(out->joints + to, sorted.joints + from, k * sizeof *out->joints);
    memcpy(out->weights + to, sorted.weights + from, k * sizeof *out->weights);
  }
  sn_skin_free(&sorted);
  return status;
}

// Skeleton, poses and skin from the solved model.
static sn_status store(sn_context *ctx, const rig_task *task, const fit_model *m, const rig_tree *tree,
                       const sn_rig_options *o, sn_rig_result *out) {
  const fit_units *units = &task->units;
  const int *order = task->order;
  sn_status status = sn_skeleton_new(ctx, m->bones, &out->skeleton);
  if (status == SN_OK) status = sn_poses_new(ctx, m->bones, m->p->f, &out->poses);
  if (status == SN_OK) status = store_skin(ctx, task, m, &out->skin);
  if (status != SN_OK) return status;
  for (int j = 0; j < m->bones; j++) {
    double s[4][4];
    fit_unpack(fit_pair(m, j, j), s);
    double total = s[3][3] > 0 ? s[3][3] : 1;
    sn_vec3 c = {s[0][3] / total, s[1][3] / total, s[2][3] / total};
    if (o->structure == SN_RIG_TREE) {
      c = (sn_vec3){tree->joint[j][0], tree->joint[j][1], tree->joint[j][2]};
      out->skeleton.parents[j] = tree->parent[j];
    }
    c = sn_vec3_add(sn_vec3_scale(c, units->scale), units->centre);
    out->skeleton.rest[j] = sn_affine_make(sn_mat3_identity(), sn_vec3_make((float)c.x, (float)c.y, (float)c.z));
    for (int f = 0; f < m->p->f; f++)
      sn_pose(&out->poses, order[f])[j] = sn_fit_from_units(units, f, sn_fit_bone(m, j, f));
  }
  status = sn_skeleton_sort(ctx, &out->skeleton);
  if (status == SN_OK) sn_rig_round_poses(&out->skeleton, o->bone_type == SN_RIG_AFFINE, &out->poses);
  return status;
}

// Small data sets get more rounds: this number over their positions (vertices times frames).
static const double positions_of_rounds = 1.2e6;

static int rounds_for(const fit_problem *p) {
  enum { least_rounds = 5, more_rounds = 20 };
  return least_rounds + (int)fmin(positions_of_rounds / ((double)p->n * p->f), more_rounds);
}

// One solve with a given number of bones.
static sn_status solve_for(sn_context *ctx, const rig_task *task, const sn_rig_options *o, int bones,
                           sn_rig_result *out) {
  const sn_mesh *rest = &task->sorted;
  const fit_problem *p = &task->p;
  sn_arena scratch = sn_arena_new(ctx);
  fit_model m;
  rig_tree tree;
  fit_smooth smooth = {0};
  int rounds = 0;
  sn_status status = SN_OK;
  rig_body body;
  bool smooth_auto = o->omega < 0 && o->structure == SN_RIG_TREE;
  double strength = smooth_auto ? 1 : o->omega < 0 ? 1e-4 : o->omega; // published: Dem Bones
  if (strength > 0) status = sn_fit_smooth_build(ctx, &scratch, rest, p, strength, &smooth);
  smooth.steady = smooth_auto;
  if (status == SN_OK) status = sn_rig_body_build(ctx, &scratch, rest, p, &body);
  rig_plan plan = {.bones = bones,
                   .limit = o->influences,
                   .tree = o->structure == SN_RIG_TREE,
                   .affine = o->bone_type == SN_RIG_AFFINE,
                   .keep = o->keep_bones || o->structure == SN_RIG_FREE,
                   .nothing = task->percent > 0 ? pow(RIG_NO_ERROR / task->percent, 2) : 1,
                   .iterations = o->iterations > 0 ? o->iterations : rounds_for(p),
                   .smooth = &smooth,
                   .smooth_auto = smooth_auto,
                   .body = rest->triangle_count > 0 ? &body : NULL,
                   .rest = rest,
                   .most = o->most_bones,
                   .omega = o->omega,
                   .rounds = &rounds};
  if (status == SN_OK && o->solver == SN_RIG_OWN) {
    status = sn_rig_solve(ctx, &scratch, p, &plan, &m, &tree);
  } else if (status == SN_OK) {
    status = sn_rig_baseline ? sn_rig_baseline(ctx, &scratch, p, &plan, o->solver, &m, &tree)
                             : sn_fail(ctx, SN_UNSUPPORTED, "this program has no rigging methods but Sinew's");
  }
  sn_skeleton_free(&out->skeleton), sn_poses_free(&out->poses), sn_skin_free(&out->skin); // of an earlier solve
  if (status == SN_OK) status = store(ctx, task, &m, &tree, o, out);
  if (status == SN_OK) status = sn_fit_pass(ctx, &m, FIT_KEEP, NULL); // updates the errors
  if (status == SN_OK) sn_rig_report_error(&m, task->units.scale, task->rest, &out->report);
  out->report.iterations = rounds;
  sn_arena_free(&scratch);
  return status;
}

// ---- how many bones ------------------------------------------------------------------------------------------------

// The number of bones in the options, or chosen by cross-validation.
static sn_status decide_bones(sn_context *ctx, const rig_task *task, const sn_rig_options *o, int *bones,
                              sn_rig_result *out) {
  rig_count how = {.most = o->most_bones < RIG_MOST_COUNTED ? o->most_bones : RIG_MOST_COUNTED,
                   .limit = o->influences,
                   .percent = task->percent,
                   .error_pct = o->error_pct,
                   .noise_pct = o->noise_pct};
  *bones = o->bones;
  if (*bones > 0 || o->solver == SN_RIG_PUBLISHED) return SN_OK; // it prunes bones
  sn_rig_report *r = &out->report;
  sn_status status = sn_rig_count_bones(ctx, &out->memory, &task->p, &how, r);
  *bones = r->curve_choice;
  return status;
}

static void give_reason(const sn_rig_options *o, sn_rig_report *r) {
  r->bones_wanted = o->bones, r->pruned = o->bones > r->bones ? o->bones - r->bones : 0;
  if (r->pruned > 0) {
    snprintf(r->reason, sizeof r->reason,
             "%d of %d were pruned: any further bone would lower the error by less than 1 %% or below %g %%, or have "
             "hardly a vertex",
             r->pruned, o->bones, RIG_NO_ERROR);
  } else if (o->bones == 0 && o->error_pct > 0 && r->rms_pct_diag > o->error_pct) {
    snprintf(r->reason, sizeof r->reason, "%d bones, the most allowed or supported, leave %.3g %% of the diagonal",
             r->bones, r->rms_pct_diag);
  }
}

// Chooses the number of bones and solves. Adds bones until the target error is reached, because the sample may underestimate.
static sn_status solve_decided(sn_context *ctx, const rig_task *task, const sn_rig_options *o, sn_rig_result *out) {
  int bones, most = o->most_bones;
  out->memory = sn_arena_new(ctx);
  sn_status status = decide_bones(ctx, task, o, &bones, out);
  for (bool reached = false; status == SN_OK && !reached;) {
    status = solve_for(ctx, task, o, bones, out);
    reached = o->bones > 0 || o->error_pct <= 0 || out->report.rms_pct_diag <= o->error_pct || bones >= most ||
              out->report.bones < bones;
    if (!reached) bones = bones + 1 + bones / 5 < most ? bones + 1 + bones / 5 : most;
  }
  if (status == SN_OK) give_reason(o, &out->report);
  if (status != SN_OK) sn_rig_result_free(out);
  return status;
}

// Another program may have overwritten a mapped file of frames during the solve.
static sn_status check_unchanged(sn_context *ctx, const sn_frames *frames) {
  for (int f = 0; frames->file.map && f < frames->frame_count; f++) {
    const float *x = sn_frame(frames, f)[0];
    for (size_t e = 0; e < 3 * (size_t)frames->vertex_count; e++)
      if (!isfinite(x[e])) return sn_frame_changed(ctx, f);
    sn_frames_used(frames, frames->vertex_count, 1);
  }
  return SN_OK;
}

sn_status sn_rig(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *options,
                 sn_rig_result *out) {
  SN_BLAS_SCOPE;
  *out = (sn_rig_result){0};
  sn_rig_options o = options ? *options : sn_rig_options_default();
  sn_status status = check_numbers(ctx, &o);
  if (status == SN_OK) status = check_solver(ctx, &o);
  if (status == SN_OK) status = check_data(ctx, rest, frames);
  if (status == SN_OK) status = sn_lapack_room(ctx);
  if (status != SN_OK) return status;
  if (o.given != SN_RIG_NOTHING) return sn_rig_with_skeleton(ctx, rest, frames, &o, 0, out);
  sn_arena scratch = sn_arena_new(ctx);
  rig_task task = {.rest = rest, .frames = frames, .order = SN_NEW(ctx, &scratch, int, frames->frame_count)};
  status = task.order ? sn_rig_sort_vertices(ctx, &scratch, rest, &task.vertex, &task.sorted) : ctx->error.status;
  if (status == SN_OK) status = sn_rig_sort_frames(ctx, frames, task.vertex, task.order);
  fit_data data = {&task.sorted, frames, task.vertex, task.order, frames->frame_count};
  if (status == SN_OK) status = sn_fit_problem_build(ctx, &scratch, &data, &task.units, &task.p);
  if (status == SN_OK) {
    double diagonal = sn_points_diagonal(rest->positions, rest->vertex_count);
    task.percent = diagonal > 0 ? 100 * task.units.scale / diagonal : 0;
    status = solve_decided(ctx, &task, &o, out);
  }
  sn_fit_problem_free(&task.p);
  sn_mesh_free(&task.sorted);
  if (status == SN_OK && o.structure == SN_RIG_TREE && o.solver == SN_RIG_OWN && o.symmetry != SN_RIG_SYMMETRY_NONE) {
    status = sn_rig_symmetrise(ctx, rest, frames, &o, out);
  }
  if (status == SN_OK) status = check_unchanged(ctx, frames);
  if (status != SN_OK) sn_rig_result_free(out);
  sn_arena_free(&scratch);
  return status;
}
