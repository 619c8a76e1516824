// SPDX-License-Identifier: MIT
// The methods that Le and Deng 2014 compare with: rigid parts, weights and joints, each found once and in this order
// (their slide: "single-pass framework"). All of them use the minimum spanning tree of the joint values (slide
// "Skeletal topology reconstruction") and close the joints once. They differ in how parts and weights are found.
#include <math.h>
#include <string.h>

#include "lab/baselines/baselines.h"
#include "lab/baselines/published.h"
#include "lab/baselines/segments.h"
#include "solve/cholesky.h"

// Diffusion time from parts to weights (de Aguiar and others), in squared mean edges.
static const double diffusion = 4;
// Smoothness of weights fitted to the frames (Hasler and others): Le and Deng's omega.
static const double smoothness = 1e-4;

typedef struct baseline_job {
  sn_context *ctx;
  sn_arena *memory;
  const sn_mesh *rest;
  const fit_problem *p;
  const sn_topology *topology;
  fit_model *m;
  rig_tree *tree;
} baseline_job;

// One rigid bone per part of at least three vertices; smaller parts are dropped.
static sn_status fit_parts(const baseline_job *job, int count, int *of) {
  const fit_problem *p = job->p;
  sn_arena scratch = sn_arena_new(job->ctx);
  int *members = SN_NEW(job->ctx, &scratch, int, p->n), *name = SN_NEW(job->ctx, &scratch, int, count);
  fit_model *m = job->m;
  m->bones = 0;
  for (int k = 0; members && name && k < count; k++) {
    int found = 0;
    for (int i = 0; i < p->n; i++)
      if (of[i] == k) members[found++] = i;
    name[k] = found >= 3 || (p->n < 3 && found > 0) ? m->bones : -1;
    if (name[k] >= 0) sn_rig_fit_region(p, members, found, m, m->bones++);
  }
  sn_status status = members && name ? SN_OK : job->ctx->error.status;
  if (status == SN_OK && m->bones == 0) { // only parts of one and two vertices: one bone for all
    for (int i = 0; i < p->n; i++) members[i] = i, of[i] = 0;
    sn_rig_fit_region(p, members, p->n, m, m->bones++);
    name[0] = 0;
  }
  for (int i = 0; status == SN_OK && i < p->n; i++) {
    of[i] = name[of[i]];
    size_t at = (size_t)i * (size_t)m->limit;
    memset(m->weight + at, 0, (size_t)m->limit * sizeof *m->weight);
    m->joint[at] = (uint16_t)(of[i] >= 0 ? of[i] : 0), m->weight[at] = 1;
  }
  sn_arena_free(&scratch);
  if (status == SN_OK) sn_fit_model_refresh(job->ctx, m);
  return status;
}

sn_mat3 sn_rig_rotation_about(const fit_model *m, int j, int f, sn_vec3 c, sn_vec3 psi) {
  published_bone b = {.vertices = m->p->n, .lambda = 1e7, .joints = 1, .c = &c, .psi = &psi}; // lambda -> infinity
  sn_affine t = sn_fit_bone(m, j, f);
  fit_unpack(fit_pair(m, j, j), b.uu);
  for (int n = 0; n < 12; n++) { // target: the residual plus the bone's present contribution
    b.qu[n / 4][n % 4] = m->moment[(size_t)(4 * j + n % 4) * 3 * (size_t)m->p->f + (size_t)(3 * f + n / 4)];
    for (int e = 0; e < 4; e++) b.qu[n / 4][n % 4] += t.m[n / 4][e] * b.uu[e][n % 4];
  }
  return sn_affine_linear(sn_published_update(&b));
}

void sn_rig_close_joints(fit_model *m, const rig_tree *tree, int f, bool refit) {
  for (int q = 0; q < tree->bones; q++) {
    int j = tree->order[q], k = tree->parent[j];
    if (k < 0) continue;
    sn_vec3 c = {tree->joint[j][0], tree->joint[j][1], tree->joint[j][2]},
            psi = sn_affine_apply(sn_fit_bone(m, k, f), c);
    sn_mat3 r = refit ? sn_rig_rotation_about(m, j, f, c, psi) : sn_affine_linear(sn_fit_bone(m, j, f));
    sn_fit_set_bone(m, j, f, sn_affine_make(r, sn_vec3_sub(psi, sn_mat3_apply(r, c))));
  }
}

// Builds the tree of the parts once, and closes their joints in all frames. Needs overlapping weights.
static sn_status join(const baseline_job *job) {
  sn_status status = sn_fit_pass(job->ctx, job->m, FIT_KEEP, NULL);
  if (status == SN_OK) status = sn_published_topology(job->ctx, job->m, job->tree);
  for (int f = 0; status == SN_OK && f < job->p->f; f++) sn_rig_close_joints(job->m, job->tree, f, true);
  if (status == SN_OK) sn_fit_model_refresh(job->ctx, job->m);
  return status == SN_OK ? sn_fit_pass(job->ctx, job->m, FIT_KEEP, NULL) : status;
}

// ---- Schaefer and Yuksel 2007 ---------------------------------------------------------------------------------------------

// Weights by non-negative least squares, bones refitted to them, then joints, then weights again.
static sn_status schaefer(const baseline_job *job, int count, int *of) {
  sn_context *ctx = job->ctx;
  sn_status status = sn_rig_merged_segments(ctx, job->p, job->topology, count, of);
  if (status == SN_OK) status = fit_parts(job, count, of);
  if (status == SN_OK) status = sn_fit_pass(ctx, job->m, FIT_EXHAUST, NULL);
  if (status == SN_OK) status = sn_rig_bones_rigid(ctx, job->m, 5, NULL);
  if (status == SN_OK) sn_fit_model_refresh(ctx, job->m);
  if (status == SN_OK) status = join(job);
  return status == SN_OK ? sn_fit_pass(ctx, job->m, FIT_EXHAUST, NULL) : status;
}

// ---- de Aguiar and others 2008 ---------------------------------------------------------------------------------------------

// Solves (I + t L) w_k = 1 on part k, 0 elsewhere; L the graph Laplacian.
static sn_status factor_diffusion(const baseline_job *job, sn_cholesky *out) {
  const sn_topology *topology = job->topology;
  int n = job->p->n;
  size_t most = 2 * (size_t)n + (size_t)topology->ring_start[n], count = 0;
  sn_arena scratch = sn_arena_new(job->ctx);
  sn_triplet *entries = SN_NEW(job->ctx, &scratch, sn_triplet, most);
  sn_status status = entries ? SN_OK : job->ctx->error.status;
  for (int i = 0; entries && i < n; i++) {
    int degree = topology->ring_start[i + 1] - topology->ring_start[i];
    entries[count++] = (sn_triplet){i, i, 1 + diffusion * degree};
    for (int k = topology->ring_start[i]; k < topology->ring_start[i + 1]; k++)
      if (topology->ring[k] > i) entries[count++] = (sn_triplet){i, topology->ring[k], -diffusion};
  }
  if (status == SN_OK) status = sn_cholesky_factor(job->ctx, n, entries, (int64_t)count, out);
  sn_arena_free(&scratch);
  return status;
}

// Inserts a weight into the vertex's sorted list of largest weights.
static void enter(fit_model *m, int i, int bone, double weight) {
  uint16_t *joint = m->joint + (size_t)i * (size_t)m->limit;
  double *w = m->weight + (size_t)i * (size_t)m->limit;
  int at = m->limit - 1;
  if (!(weight > w[at])) return;
  for (; at > 0 && weight > w[at - 1]; at--) w[at] = w[at - 1], joint[at] = joint[at - 1];
  w[at] = weight, joint[at] = (uint16_t)bone;
}

static sn_status diffuse(const baseline_job *job, const int *of) {
  static const double least = 1e-3; // smaller weights are dropped
  fit_model *m = job->m;
  int n = job->p->n;
  sn_arena scratch = sn_arena_new(job->ctx);
  sn_cholesky factor = {0};
  double *x = SN_NEW(job->ctx, &scratch, double, n), *work = SN_NEW(job->ctx, &scratch, double, n);
  sn_status status = x && work ? factor_diffusion(job, &factor) : job->ctx->error.status;
  if (status == SN_OK) memset(m->weight, 0, (size_t)n * (size_t)m->limit * sizeof *m->weight);
  for (int k = 0; status == SN_OK && k < m->bones; k++) {
    for (int i = 0; i < n; i++) x[i] = of[i] == k;
    sn_cholesky_solve(&factor, x, work);
    for (int i = 0; i < n; i++) enter(m, i, k, x[i] > least ? x[i] : 0);
  }
  for (int i = 0; status == SN_OK && i < n; i++) {
    double *w = m->weight + (size_t)i * (size_t)m->limit, sum = 0;
    for (int q = 0; q < m->limit; q++) sum += w[q];
    if (!(sum > 0)) m->joint[(size_t)i * (size_t)m->limit] = 0, w[0] = sum = 1;
    for (int q = 0; q < m->limit; q++) w[q] /= sum;
  }
  sn_cholesky_free(&factor);
  sn_arena_free(&scratch);
  return status;
}

// Weights depend on the parts and the surface, not on the frames.
static sn_status aguiar(const baseline_job *job, int count, int *of) {
  sn_status status = sn_rig_distance_segments(job->ctx, job->p, count, of);
  if (status == SN_OK) status = fit_parts(job, count, of);
  if (status == SN_OK) status = diffuse(job, of);
  return status == SN_OK ? join(job) : status;
}

// ---- Hasler and others 2010 ------------------------------------------------------------------------------------------------

// Joints from the parts' motion, then smooth weights by least squares given the joints; two rounds.
static sn_status hasler(const baseline_job *job, int count, int *of) {
  fit_smooth smooth = {0};
  sn_status status = sn_rig_rotation_segments(job->ctx, job->p, job->topology, count, of);
  if (status == SN_OK) status = fit_parts(job, count, of);
  if (status == SN_OK) status = diffuse(job, of);
  if (status == SN_OK) status = join(job);
  if (status == SN_OK) status = sn_fit_smooth_build(job->ctx, job->memory, job->rest, job->p, smoothness, &smooth);
  for (int round = 0; status == SN_OK && round < 2; round++) {
    status = sn_fit_pass(job->ctx, job->m, FIT_EXHAUST, &smooth);
    if (status == SN_OK && round == 0) status = join(job);
  }
  return status;
}

static sn_status solve(sn_context *ctx, sn_arena *memory, const fit_problem *p, const rig_plan *plan,
                       sn_rig_solver solver, fit_model *m, rig_tree *tree) {
  if (solver == SN_RIG_PUBLISHED) return sn_published_solve(ctx, memory, p, plan, m, tree);
  int bones = plan->bones;
  sn_topology topology = {0};
  int *of = SN_NEW(ctx, memory, int, p->n);
  baseline_job job = {ctx, memory, plan->rest, p, &topology, m, tree};
  sn_status status = of ? sn_topology_build(ctx, plan->rest, &topology) : ctx->error.status;
  if (status == SN_OK) status = sn_fit_model_new(ctx, memory, p, bones, plan->limit, m);
  if (status == SN_OK) status = sn_rig_tree_new(ctx, memory, bones, tree);
  if (status == SN_OK) {
    tree->body = plan->body;
    int count = bones < p->n ? bones : p->n;
    status = (solver == SN_RIG_SCHAEFER ? schaefer : solver == SN_RIG_AGUIAR ? aguiar : hasler)(&job, count, of);
  }
  sn_topology_free(&topology);
  return status;
}

void sn_lab_add_solvers(void) { sn_rig_baseline = solve; }
