// SPDX-License-Identifier: MIT
// Gives a symmetric rest mesh a symmetric skeleton: pairs bones by their mirrored weights, mirrors the tree, averages joints and
// weights over both sides, and solves the motion again.
#include "rig/solve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// A mesh is symmetric if this part of its vertices has a vertex at the mirror image, to within this part of the mean edge (a
// point of a regular triangle is at most 0.6 edges from a vertex).
static const double mirrored_part = 0.95, near_edge = 0.75;
// Two bones are a pair if the cosine between their weights, one of them mirrored, exceeds this.
static const double like_pair = 0.5;
// Largest rms error with symmetry `auto`: relative to that without, plus percent of the diagonal.
static const double most_rise = 1.03, no_rise = 0.002;
// Averaged weights below this are dropped: the mean of both sides has up to twice as many influences.
static const float least_weight = 0.02F;

typedef struct mirror {
  sn_mirror plane;
  int *vertex;    // the vertex nearest to the mirror image of each vertex
  int *partner;   // of every bone: its mirrored bone; itself on the plane, -1: none
  double matched; // part of the vertices with a mirrored vertex
} mirror;

// ---- the mesh ----------------------------------------------------------------------------------------------------------

static double mean_edge(const sn_mesh *rest) {
  double sum = 0;
  for (int t = 0; t < rest->triangle_count; t++) {
    const int *c = rest->triangles[t];
    sum += sn_vec3_distance(sn_vec3_from(rest->positions[c[0]]), sn_vec3_from(rest->positions[c[1]]));
  }
  return rest->triangle_count > 0 ? sum / rest->triangle_count : 0;
}

// Computes m->matched from every `step`-th vertex; fills m->vertex if step is 1.
static sn_status match_vertices(sn_context *ctx, sn_arena *scratch, const sn_mesh *rest, int step, mirror *m) {
  int count = (rest->vertex_count + step - 1) / step, matched = 0;
  double *distances = sn_mirror_vertices(ctx, scratch, rest, &m->plane, step, &m->vertex);
  double bound = near_edge * mean_edge(rest);
  for (int i = 0; distances && i < count; i++) matched += distances[i] <= bound;
  m->matched = (double)matched / count;
  return distances ? SN_OK : ctx->error.status;
}

// ---- the bones ---------------------------------------------------------------------------------------------------------

// like[j * bones + k] = sum_i w_ij w_m(i)k / (|w_j| |w_k|), where m(i) is the mirrored vertex of i.
static sn_status compare_bones(sn_context *ctx, sn_arena *scratch, const sn_skin *skin, int bones, const mirror *m,
                               double **out) {
  double *like = SN_NEW(ctx, scratch, double, (size_t)bones *(size_t)bones);
  double *own = SN_NEW(ctx, scratch, double, bones), *other = SN_NEW(ctx, scratch, double, bones);
  if (!like || !own || !other) return ctx->error.status;
  size_t k = (size_t)skin->influences;
  for (size_t i = 0; i < (size_t)skin->vertex_count; i++) {
    const uint16_t *a = skin->joints + i * k, *b = skin->joints + (size_t)m->vertex[i] * k;
    const float *v = skin->weights + i * k, *w = skin->weights + (size_t)m->vertex[i] * k;
    for (size_t p = 0; p < k; p++) {
      own[a[p]] += (double)v[p] * (double)v[p], other[b[p]] += (double)w[p] * (double)w[p];
      for (size_t q = 0; q < k; q++) like[(size_t)a[p] * (size_t)bones + b[q]] += (double)v[p] * (double)w[q];
    }
  }
  for (int j = 0; j < bones; j++)
    for (int n = 0; n < bones; n++) like[j * bones + n] /= sqrt(own[j] * other[n]) + 1e-300;
  *out = like;
  return SN_OK;
}

// Pairs bones greedily, the most similar first; -1: no partner.
static void pair_bones(const double *like, int bones, int *partner) {
  for (int j = 0; j < bones; j++) partner[j] = -1;
  for (;;) {
    int best = -1, with = -1;
    double most = like_pair;
    for (int j = 0; j < bones; j++)
      for (int n = j; n < bones && partner[j] < 0; n++) {
        double both = (like[j * bones + n] + like[n * bones + j]) / 2;
        if (partner[n] < 0 && both > most) most = both, best = j, with = n;
      }
    if (best < 0) return;
    partner[best] = with, partner[with] = best;
  }
}

static int count_paired(const int *partner, int bones) {
  int count = 0;
  for (int j = 0; j < bones; j++) count += partner[j] >= 0;
  return count;
}

// ---- the tree ----------------------------------------------------------------------------------------------------------

// Makes `root` the root. Joints between two bones keep their positions; the joint of the new root is `middle`.
static void move_root(sn_skeleton *s, int root, sn_affine middle) {
  int above = s->parents[root];
  sn_affine joint = s->rest[root];
  s->parents[root] = -1, s->rest[root] = middle;
  for (int below = root; above >= 0;) {
    int next = s->parents[above];
    sn_affine own = s->rest[above];
    s->parents[above] = below, s->rest[above] = joint;
    below = above, above = next, joint = own;
  }
}

// The weighted centroid of a bone's vertices.
static sn_affine bone_middle(const sn_mesh *rest, const sn_skin *skin, int bone) {
  sn_vec3 sum = {0, 0, 0};
  double total = 0;
  size_t k = (size_t)skin->influences;
  for (size_t n = 0; n < (size_t)skin->vertex_count * k; n++) {
    if (skin->joints[n] != bone) continue;
    sum = sn_vec3_mad(sum, sn_vec3_from(rest->positions[n / k]), skin->weights[n]), total += skin->weights[n];
  }
  return sn_affine_make(sn_mat3_identity(), sn_vec3_scale(sum, total > 0 ? 1 / total : 0));
}

// Of the bones that are their own mirror images, the first in the order of the tree; -1: none.
static int middle_bone(const sn_skeleton *s, const int *partner) {
  for (int q = 0; q < s->joint_count; q++)
    if (partner[s->order[q]] == s->order[q]) return s->order[q];
  return -1;
}

// Removes pairs whose parents are not partners.
static void part_unrelated(const sn_skeleton *s, int *partner) {
  for (int q = 0; q < s->joint_count; q++) {
    int j = s->order[q], k = partner[j];
    if (k < 0) continue;
    int above = s->parents[j], other = s->parents[k];
    bool both = above >= 0 && other >= 0 && partner[above] == other;
    if (!both && !(above < 0 && other < 0)) partner[j] = partner[k] = -1;
  }
}

// Gives the second bone of a pair the mirrored parent of the first. A bone on the plane must have its parent on the plane.
// False: the result is not a symmetric tree.
static bool mirror_tree(sn_context *ctx, sn_skeleton *s, const int *partner) {
  for (int q = 0; q < s->joint_count; q++) {
    int j = s->order[q], k = partner[j], parent = s->parents[j];
    if (parent < 0) {
      if (k != j) return false;
    } else if (k == j) {
      if (partner[parent] != parent) return false;
    } else if (k > j || s->parents[k] < 0) {
      s->parents[k] = partner[parent] == k ? parent : partner[parent];
    }
  }
  for (int j = 0; j < s->joint_count; j++) {
    int parent = s->parents[j], other = s->parents[partner[j]];
    if (parent >= 0 && (other < 0 || partner[parent] != other)) return false;
  }
  sn_status status = sn_skeleton_sort(ctx, s);
  if (status == SN_BAD_INPUT) ctx->error = (sn_error){0}; // a cycle, which is no error here
  return status == SN_OK;
}

static bool leaves_body(const rig_body *body, sn_vec3 from, sn_vec3 to) {
  double a[3] = {from.x, from.y, from.z}, b[3] = {to.x, to.y, to.z};
  return sn_rig_inside(body, a) && !sn_rig_inside(body, b);
}

// The mean of joint j and its partner's mirror image.
static sn_vec3 mean_joint(const sn_skeleton *s, const mirror *m, int j) {
  sn_vec3 other = sn_mirror_point(&m->plane, sn_affine_translation(s->rest[m->partner[j]]));
  return sn_vec3_scale(sn_vec3_add(sn_affine_translation(s->rest[j]), other), 0.5);
}

// Moves joints to the mean of both sides. Removes pairs whose mean would leave the body or is farther than `reach`.
static void mirror_joints(sn_skeleton *s, const rig_body *body, const mirror *m, double reach) {
  for (int j = 0; j < s->joint_count; j++) {
    int k = m->partner[j];
    if (k < j) continue; // done with its partner, or no partner
    sn_vec3 a = sn_affine_translation(s->rest[j]), mean = mean_joint(s, m, j);
    float at[3];
    if (sn_vec3_distance(a, mean) > reach || leaves_body(body, a, mean) ||
        leaves_body(body, sn_affine_translation(s->rest[k]), sn_mirror_point(&m->plane, mean))) {
      m->partner[j] = m->partner[k] = -1;
      continue;
    }
    sn_vec3_store(mean, at);
    s->rest[j] = sn_affine_make(sn_mat3_identity(), sn_vec3_from(at));
    if (k == j) continue;
    sn_vec3_store(sn_mirror_point(&m->plane, sn_vec3_from(at)), at);
    s->rest[k] = sn_affine_make(sn_mat3_identity(), sn_vec3_from(at));
  }
}

static sn_status mirror_inside(sn_context *ctx, const sn_mesh *rest, sn_skeleton *s, const mirror *m, double reach) {
  sn_arena scratch = sn_arena_new(ctx);
  rig_body body;
  sn_status status = sn_rig_mesh_body(ctx, &scratch, rest, &body);
  if (status == SN_OK) mirror_joints(s, &body, m, reach);
  sn_arena_free(&scratch);
  return status;
}

// Names pairs joint3.L and joint3.R: left is the larger coordinate, Blender's convention for a character facing the viewer.
static sn_status name_sides(sn_context *ctx, sn_skeleton *s, const mirror *m) {
  for (int j = 0; j < s->joint_count; j++) {
    int k = m->partner[j];
    char name[64];
    if (k <= j) continue;
    sn_vec3 a = sn_affine_translation(s->rest[j]), b = sn_affine_translation(s->rest[k]);
    bool left = sn_vec3_along(a, m->plane.axis) >= sn_vec3_along(b, m->plane.axis);
    snprintf(name, sizeof name, "joint%d.%c", j, left ? 'L' : 'R');
    s->names[j] = sn_arena_text(ctx, &s->memory, name);
    snprintf(name, sizeof name, "joint%d.%c", j, left ? 'R' : 'L');
    s->names[k] = sn_arena_text(ctx, &s->memory, name);
    if (!s->names[j] || !s->names[k]) return ctx->error.status;
  }
  return SN_OK;
}

// ---- weights -----------------------------------------------------------------------------------------------------------

// The mean of the weights of both sides; keeps the largest influences.
static sn_status mirror_skin(sn_context *ctx, const sn_skin *from, const mirror *m, sn_skin *out) {
  sn_skin both;
  size_t k = (size_t)from->influences;
  sn_status status = sn_skin_new(ctx, from->vertex_count, 2 * from->influences, &both);
  if (status == SN_OK) status = sn_skin_new(ctx, from->vertex_count, from->influences, out);
  for (size_t i = 0; status == SN_OK && i < (size_t)from->vertex_count; i++) {
    size_t other = (size_t)m->vertex[i];
    uint16_t *joint = both.joints + 2 * i * k;
    float *weight = both.weights + 2 * i * k;
    for (size_t q = 0; q < k; q++) {
      joint[q] = from->joints[i * k + q], weight[q] = from->weights[i * k + q];
      joint[k + q] = (uint16_t)m->partner[from->joints[other * k + q]], weight[k + q] = from->weights[other * k + q];
      for (size_t p = 0; p < k; p++) {
        if (joint[p] != joint[k + q]) continue;
        weight[p] += weight[k + q], weight[k + q] = 0;
        break;
      }
    }
  }
  if (status == SN_OK) sn_skin_normalize(&both);
  for (size_t i = 0; status == SN_OK && i < (size_t)from->vertex_count; i++) {
    memcpy(out->joints + i * k, both.joints + 2 * i * k, k * sizeof *out->joints);
    for (size_t q = 0; q < k; q++) {
      float w = both.weights[2 * i * k + q];
      out->weights[i * k + q] = w >= least_weight ? w : 0;
    }
  }
  if (status == SN_OK) sn_skin_normalize(out);
  sn_skin_free(&both);
  return status;
}

// ---- all of it -----------------------------------------------------------------------------------------------------------

static sn_status choose_mirror(sn_context *ctx, sn_arena *scratch, const sn_mesh *rest, sn_rig_symmetry option,
                               mirror *best) {
  enum { most_samples = 1000 };
  int step = 1 + (rest->vertex_count - 1) / most_samples;
  *best = (mirror){.matched = -1};
  for (int n = 0; n < 6; n++) {
    sn_mirror planes[2];
    if (option != SN_RIG_SYMMETRY_AUTO && (int)option - (int)SN_RIG_SYMMETRY_X != n / 2) continue;
    sn_mirror_planes(rest, n / 2, planes);
    mirror m = {.plane = planes[1 - n % 2]};
    sn_status status = match_vertices(ctx, scratch, rest, step, &m);
    if (status != SN_OK) return status;
    if (m.matched > best->matched) *best = m;
  }
  return best->matched < mirrored_part ? SN_OK : match_vertices(ctx, scratch, rest, 1, best);
}

static sn_status copy_skeleton(sn_context *ctx, const sn_skeleton *s, sn_skeleton *out) {
  sn_status status = sn_skeleton_new(ctx, s->joint_count, out);
  if (status != SN_OK) return status;
  memcpy(out->parents, s->parents, (size_t)s->joint_count * sizeof *s->parents);
  memcpy(out->rest, s->rest, (size_t)s->joint_count * sizeof *s->rest);
  memcpy(out->order, s->order, (size_t)s->joint_count * sizeof *s->order);
  return SN_OK;
}

// A rig to mirror.
typedef struct mirror_job {
  const sn_mesh *rest;
  const sn_frames *frames;
  const sn_rig_options *options;
  sn_rig_result *result;
  double reach;   // farthest move of a joint if not the whole tree is mirrored
  double allowed; // largest rms error
} mirror_job;

// A mirrored copy of the skeleton: the whole tree if *whole is set and all bones have partners; otherwise clears *whole and
// mirrors only joints of pairs with paired parents that move at most job->reach.
static sn_status mirror_skeleton(sn_context *ctx, const mirror_job *job, const mirror *m, sn_skeleton *out,
                                 bool *whole) {
  const sn_mesh *rest = job->rest;
  const sn_rig_result *from = job->result;
  int bones = from->skeleton.joint_count;
  sn_status status = copy_skeleton(ctx, &from->skeleton, out);
  if (status != SN_OK) return status;
  int root = middle_bone(out, m->partner);
  *whole = *whole && root >= 0 && count_paired(m->partner, bones) == bones;
  if (root >= 0 && out->parents[root] >= 0) move_root(out, root, bone_middle(rest, &from->skin, root));
  status = sn_skeleton_sort(ctx, out);
  if (status == SN_OK && *whole && !mirror_tree(ctx, out, m->partner)) {
    *whole = false;
    sn_skeleton_free(out);
    status = ctx->error.status == SN_OK ? copy_skeleton(ctx, &from->skeleton, out) : ctx->error.status;
  }
  if (status == SN_OK && !*whole) part_unrelated(out, m->partner);
  if (status == SN_OK) status = mirror_inside(ctx, rest, out, m, *whole ? INFINITY : job->reach);
  *whole = *whole && count_paired(m->partner, bones) == bones;
  return status == SN_OK ? name_sides(ctx, out, m) : status;
}

// Replaces the result by the better one; keeps counts, curve and reason of the old report.
static sn_status keep(sn_context *ctx, sn_rig_result *result, sn_rig_result *better) {
  sn_rig_report *r = &better->report, *old = &result->report;
  r->bones_wanted = old->bones_wanted, r->pruned = old->pruned, r->iterations = old->iterations;
  memcpy(r->reason, old->reason, sizeof r->reason);
  r->curve_count = old->curve_count, r->curve_choice = old->curve_choice;
  r->curve = SN_NEW(ctx, &better->memory, double, old->curve_count);
  if (!r->curve) return ctx->error.status;
  if (old->curve_count > 0) memcpy(r->curve, old->curve, (size_t)old->curve_count * sizeof *r->curve);
  sn_rig_result_free(result);
  *result = *better, *better = (sn_rig_result){0};
  return SN_OK;
}

// Solves the motion for mirrored joints and mirrored weights. If the error exceeds job->allowed, or m is NULL, solves the weights
// too.
static sn_status refit(sn_context *ctx, const mirror_job *job, const sn_skeleton *skeleton, const mirror *m,
                       sn_rig_result *out) {
  const sn_rig_options *o = job->options;
  const sn_rig_result *from = job->result;
  sn_rig_options given = *o;
  sn_skin skin = {0};
  sn_status status = m ? mirror_skin(ctx, &from->skin, m, &skin) : SN_OK;
  double bound = o->symmetry == SN_RIG_SYMMETRY_AUTO ? job->allowed : INFINITY;
  given.given = SN_RIG_WEIGHTS, given.skeleton = skeleton, given.skin = &skin, given.poses = &from->poses;
  if (status == SN_OK && m) status = sn_rig_with_skeleton(ctx, job->rest, job->frames, &given, bound, out);
  if (status == SN_OK && (!m || (o->symmetry == SN_RIG_SYMMETRY_AUTO && out->report.rms > job->allowed))) {
    sn_rig_result_free(out);
    given.given = SN_RIG_SKELETON, given.skin = &from->skin;
    status = sn_rig_with_skeleton(ctx, job->rest, job->frames, &given, bound, out);
  }
  sn_skin_free(&skin);
  return status;
}

static sn_status decide(sn_context *ctx, const mirror_job *job, const mirror *m, sn_rig_result *better) {
  sn_rig_result *result = job->result;
  double before = result->report.rms_pct_diag, after = better->report.rms_pct_diag;
  int bones = result->skeleton.joint_count;
  bool accepted = job->options->symmetry != SN_RIG_SYMMETRY_AUTO || better->report.rms <= job->allowed;
  char *text = result->report.symmetry;
  size_t size = sizeof result->report.symmetry;
  sn_status status = accepted ? keep(ctx, result, better) : SN_OK;
  if (status != SN_OK) return status;
  if (accepted) {
    snprintf(text, size, "about %c: %d of %d joints have a mirror image (rms %.3g %%, without %.3g %%)",
             "xyz"[m->plane.axis], count_paired(m->partner, bones), bones, after, before);
  } else {
    snprintf(text, size,
             "the rest mesh is symmetric about %c, the motion is not: rms would be %.3g %% instead of %.3g %%",
             "xyz"[m->plane.axis], after, before);
  }
  result->report.symmetric = accepted && count_paired(m->partner, bones) == bones;
  return SN_OK;
}

// Farthest move of a joint if only part of the skeleton is mirrored, relative to the diagonal.
static const double joint_reach = 0.008;

static sn_status mirror_rig(sn_context *ctx, sn_arena *scratch, mirror_job *job, mirror *m) {
  const sn_rig_result *result = job->result;
  int bones = result->skeleton.joint_count;
  double *like = NULL, diagonal = sn_points_diagonal(job->rest->positions, job->rest->vertex_count);
  bool automatic = job->options->symmetry == SN_RIG_SYMMETRY_AUTO;
  job->reach = automatic ? joint_reach * diagonal : INFINITY;
  bool done = false;
  m->partner = SN_NEW(ctx, scratch, int, bones);
  sn_status status = m->partner ? compare_bones(ctx, scratch, &result->skin, bones, m, &like) : ctx->error.status;
  const sn_rig_report *r = &result->report;
  job->allowed = r->rms * (most_rise + (r->rms_pct_diag > 0 ? no_rise / r->rms_pct_diag : 0));
  for (int tried = 0; tried < 2 && !done && status == SN_OK; tried++) { // the whole tree, then similar pairs
    sn_skeleton skeleton = {0};
    sn_rig_result better = {0};
    bool whole = tried == 0;
    pair_bones(like, bones, m->partner);
    status = mirror_skeleton(ctx, job, m, &skeleton, &whole);
    if (status == SN_OK) status = refit(ctx, job, &skeleton, whole ? m : NULL, &better);
    done = better.report.rms <= job->allowed || !automatic;
    if (status == SN_OK && (done || tried == 0)) status = decide(ctx, job, m, &better);
    done = done || !whole;
    sn_rig_result_free(&better);
    sn_skeleton_free(&skeleton);
  }
  return status;
}

sn_status sn_rig_symmetrise(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *o,
                            sn_rig_result *result) {
  sn_arena scratch = sn_arena_new(ctx);
  mirror m;
  sn_status status = choose_mirror(ctx, &scratch, rest, o->symmetry, &m);
  if (status == SN_OK && m.matched >= mirrored_part) {
    mirror_job job = {rest, frames, o, .result = result};
    status = mirror_rig(ctx, &scratch, &job, &m);
  } else if (status == SN_OK && o->symmetry != SN_RIG_SYMMETRY_AUTO) {
    status = sn_fail(ctx, SN_BAD_INPUT,
                     "symmetry %c: %.0f %% of the rest mesh's vertices have none at their mirror image; give another "
                     "axis, none, or a rest pose that is symmetric",
                     "xyz"[m.plane.axis], 100 * (1 - m.matched));
  }
  sn_arena_free(&scratch);
  return status;
}
