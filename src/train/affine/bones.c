// SPDX-License-Identifier: MIT
// Proxy bones: hierarchical clustering, then weights and motions in alternation (Kim 2010, 3.1 and 4).
#include "train/affine/affine.h"

#include <string.h>

#include "base/scope.h"
#include "sinew/fit.h"
#include "train/cluster.h"

enum { rounds = 3, sweeps = 8 };

// The centre of a bone is the weighted mean of its vertices.
static void place_centres(sn_proxy_bones *b, double *total) {
  const sn_mesh *rest = &b->examples->rest;
  memset(total, 0, (size_t)b->bone_count * sizeof *total);
  memset(b->centre, 0, (size_t)b->bone_count * sizeof *b->centre);
  for (size_t at = 0; at < (size_t)rest->vertex_count * (size_t)b->skin.influences; at++) {
    double w = (double)b->skin.weights[at];
    sn_vec3 *sum = &b->centre[b->skin.joints[at]];
    *sum = sn_vec3_mad(*sum, sn_vec3_from(rest->positions[at / (size_t)b->skin.influences]), w);
    total[b->skin.joints[at]] += w;
  }
  for (int j = 0; j < b->bone_count; j++) b->centre[j] = sn_vec3_scale(b->centre[j], 1 / total[j]);
}

// ---- rigid bones ----------------------------------------------------------------------------------------------------

// Sums over one bone's vertices for the Kabsch algorithm, p and q relative to the bone's centre at rest and where it is now.
typedef struct rigid_sums {
  double weight;
  sn_vec3 p, q;
  sn_mat3 h;
} rigid_sums;

static void add_pair(rigid_sums *s, double weight, sn_vec3 p, sn_vec3 q) {
  s->weight += weight;
  s->p = sn_vec3_mad(s->p, p, weight), s->q = sn_vec3_mad(s->q, q, weight);
  s->h = sn_mat3_add(s->h, sn_mat3_scale(sn_mat3_outer(p, q), weight));
}

// R and t that minimise sum weight |R p + t - q|^2; vertices on a line, or a single one, leave the present rotation.
static sn_affine rigid_of(const rigid_sums *s, sn_vec3 centre, sn_affine present) {
  sn_vec3 p = sn_vec3_scale(s->p, 1 / s->weight), q = sn_vec3_scale(s->q, 1 / s->weight);
  sn_mat3 h = sn_mat3_sub(s->h, sn_mat3_scale(sn_mat3_outer(p, q), s->weight)), r = sn_affine_linear(present);
  double hold = sn_bone_ridge * sn_mat3_norm(h) + sn_bone_rounding * sn_mat3_norm(s->h);
  if (hold > 0) r = sn_mat3_kabsch(sn_mat3_add(h, sn_mat3_scale(sn_mat3_transpose(r), hold)));
  sn_vec3 place = sn_vec3_add(sn_affine_apply(present, centre), q);
  return sn_affine_make(r, sn_vec3_sub(place, sn_mat3_apply(r, sn_vec3_add(centre, p))));
}

// One Jacobi sweep over the bones of a pose: bone b is fitted to the targets T_b p + residual.
static void sweep_rigid(const sn_proxy_bones *b, int pose, rigid_sums *sums) {
  sn_affine *motion = sn_proxy_motions(b, pose);
  memset(sums, 0, (size_t)b->bone_count * sizeof *sums);
  for (int i = 0; i < b->examples->rest.vertex_count; i++) {
    sn_vec3 p = sn_vec3_from(b->examples->rest.positions[i]), residual = sn_proxy_residual(b, pose, i);
    for (int k = 0; k < b->skin.influences; k++) {
      size_t at = (size_t)i * (size_t)b->skin.influences + (size_t)k;
      int bone = b->skin.joints[at];
      if (!(b->skin.weights[at] > 0)) break;
      sn_vec3 d = sn_vec3_sub(p, b->centre[bone]), moved = sn_mat3_apply(sn_affine_linear(motion[bone]), d);
      add_pair(&sums[bone], (double)b->skin.weights[at], d, sn_vec3_add(moved, residual));
    }
  }
  for (int j = 0; j < b->bone_count; j++)
    if (sums[j].weight > 0) motion[j] = rigid_of(&sums[j], b->centre[j], motion[j]);
}

typedef struct rigid_job {
  const sn_proxy_bones *b;
  rigid_sums *sums; // one per bone and worker
} rigid_job;

static void fit_poses(void *user, int64_t begin, int64_t end, int worker) {
  const rigid_job *job = user;
  rigid_sums *sums = job->sums + (size_t)worker * (size_t)job->b->bone_count;
  for (int64_t k = begin; k < end; k++)
    for (int sweep = 0; sweep < sweeps; sweep++) sweep_rigid(job->b, (int)k, sums);
}

// Rigid motions nearest to the affine ones, then swept.
static sn_status fit_rigid(sn_context *ctx, const sn_proxy_bones *b) {
  SN_SCRATCH(scratch, ctx);
  size_t bones = (size_t)b->bone_count;
  rigid_job job = {b, SN_NEW(ctx, &scratch, rigid_sums, bones * (size_t)sn_threads(ctx))};
  if (!job.sums) return ctx->error.status;
  for (size_t n = 0; n < bones * (size_t)b->keys->count; n++) {
    sn_mat3 r;
    sn_affine *m = &b->motion[n];
    sn_mat3_polar(sn_affine_linear(*m), &r, NULL);
    sn_vec3 c = b->centre[n % bones], place = sn_affine_apply(*m, c);
    *m = sn_affine_make(r, sn_vec3_sub(place, sn_mat3_apply(r, c)));
  }
  sn_parallel_for(ctx, b->keys->count, 1, fit_poses, &job);
  return SN_OK;
}

// ---- the alternation ------------------------------------------------------------------------------------------------

static sn_status solve_weights(sn_context *ctx, const sn_affine_options *options, sn_proxy_bones *b) {
  SN_FREED_BY(sn_poses_free) sn_poses poses = {0};
  sn_weights_options weights = sn_weights_options_default();
  weights.influences = options->influences, weights.rho = options->rho, weights.keys = b->keys;
  SN_TRY(sn_poses_new(ctx, b->bone_count, b->examples->frames.frame_count, &poses));
  for (int k = 0; k < b->keys->count; k++)
    memcpy(sn_pose(&poses, b->keys->frames[k]), sn_proxy_motions(b, k), (size_t)b->bone_count * sizeof *b->motion);
  sn_skin_free(&b->skin);
  return sn_solve_weights(ctx, &b->examples->rest, &b->examples->frames, &poses, &weights, &b->skin);
}

// Drops bones that no vertex uses; `number`: scratch memory, one per bone.
static void drop_unused(sn_proxy_bones *b, double *number) {
  sn_skin *skin = &b->skin;
  size_t entries = (size_t)skin->vertex_count * (size_t)skin->influences;
  int kept = 0, before = b->bone_count;
  for (int j = 0; j < before; j++) number[j] = -1;
  for (size_t e = 0; e < entries; e++)
    if (skin->weights[e] > 0) number[skin->joints[e]] = 0;
  for (int j = 0; j < before; j++)
    if (number[j] >= 0) number[j] = kept++;
  for (size_t e = 0; e < entries; e++) skin->joints[e] = skin->weights[e] > 0 ? (uint16_t)number[skin->joints[e]] : 0;
  sn_affine *to = b->motion;
  for (int n = 0; n < b->keys->count * before; n++)
    if (number[n % before] >= 0) *to++ = b->motion[n];
  b->bone_count = kept;
}

sn_status sn_control_bones_make(sn_context *ctx, sn_arena *memory, const sn_affine_options *options,
                                sn_proxy_bones *b) {
  SN_SCRATCH(scratch, ctx);
  sn_cluster_tree tree;
  b->group_of = SN_NEW(ctx, &scratch, int, b->examples->rest.triangle_count);
  if (!b->group_of) return ctx->error.status;
  SN_TRY(sn_cluster_triangles(ctx, &scratch, b->examples, b->keys, &tree));
  SN_TRY(sn_cluster_cut(ctx, &tree, options->bones, b->group_of, &b->bone_count));
  SN_TRY(sn_proxy_start(ctx, memory, b));
  SN_TRY(sn_skin_new(ctx, b->examples->rest.vertex_count, options->influences, &b->skin));
  // At first a vertex follows the last of its triangles.
  for (int n = 0; n < 3 * b->examples->rest.triangle_count; n++) {
    size_t at = (size_t)b->examples->rest.triangles[n / 3][n % 3] * (size_t)options->influences;
    b->skin.joints[at] = (uint16_t)b->group_of[n / 3], b->skin.weights[at] = 1;
  }
  SN_TRY(sn_proxy_refit(ctx, b, sn_bone_rounding));
  if (!options->stretch) SN_TRY(fit_rigid(ctx, b));
  b->group_of = NULL;
  double *number = SN_NEW(ctx, &scratch, double, b->bone_count);
  if (!number) return ctx->error.status;
  for (int round = 0; round < rounds; round++) {
    SN_TRY(solve_weights(ctx, options, b));
    drop_unused(b, number);
    place_centres(b, number);
    SN_TRY(sn_proxy_refit(ctx, b, sn_bone_ridge));
    if (!options->stretch) SN_TRY(fit_rigid(ctx, b));
  }
  return SN_OK;
}
