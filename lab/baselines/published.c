// SPDX-License-Identifier: MIT
// "Optimization pipeline" of Le and Deng 2014: over-complete start, pruning, skeleton, then joints with growing lambda.
#include <math.h>
#include <string.h>

#include "lab/baselines/published.h"
#include "lab/baselines/segments.h"

// The slides give no values for these.
static const double omega_vertices = 1e-4; // omega N (Dem Bones, by the same author), for a mesh of unit size
// lambda grows from first to last, in units of the mean over the bones of 1/N sum_i w_ij^2.
static const double first_lambda = 0.1, last_lambda = 1000, lambda_growth = 3;
static const double over_complete = 1.5; // initial clusters per bone
static const double pays = 0.99;         // a round that keeps more than this part of E is the last for its lambda
enum {
  cluster_rounds = 5,
  sweeps = 5,
  most_rounds = 20 // for one lambda
};

typedef struct published_job {
  sn_context *ctx;
  fit_model *m;
  rig_tree *tree; // NULL: no skeleton yet
  const fit_smooth *smooth;
  double omega, lambda;
} published_job;

// "Initialization": motion-driven vertex clustering, one bone per cluster.
static sn_status initialise(const published_job *job, sn_arena *memory, const fit_problem *p, int count, int limit) {
  fit_model clusters, *m = job->m;
  sn_status status = sn_fit_model_new(job->ctx, memory, p, count, 1, &clusters);
  if (status == SN_OK) status = sn_fit_model_new(job->ctx, memory, p, count, limit, m);
  if (status == SN_OK) status = sn_rig_cluster(job->ctx, &clusters, count, cluster_rounds);
  if (status != SN_OK) return status;
  m->bones = clusters.bones;
  memcpy(m->t, clusters.t, 12 * (size_t)p->f * (size_t)m->bones * sizeof *m->t);
  for (int i = 0; i < p->n; i++) {
    m->joint[(size_t)i * (size_t)limit] = clusters.joint[i], m->weight[(size_t)i * (size_t)limit] = 1;
  }
  sn_fit_model_refresh(job->ctx, m);
  return SN_OK;
}

static double energy(const published_job *job) {
  double e = sn_published_data_term(job->m);
  e += job->omega * sn_published_smoothness_term(job->m, job->smooth, job->omega);
  return job->tree ? e + job->lambda * sn_published_joint_term(job->m, job->tree) : e;
}

// Lowers E by weights, joint positions and bones in alternation.
static sn_status lower_energy(const published_job *job, int rounds) {
  double before = INFINITY;
  sn_status status = SN_OK;
  for (int round = 0; round < rounds && status == SN_OK; round++) {
    status = sn_fit_pass(job->ctx, job->m, FIT_EXHAUST, job->smooth);
    double now = energy(job);
    if (status != SN_OK || now > pays * before) break;
    before = now;
    for (int j = 0; job->tree && j < job->tree->bones; j++) {
      int parent = job->tree->parent[j];
      if (parent >= 0) sn_published_joint_position(job->m, j, parent, job->tree->joint[j]);
    }
    status = sn_published_bones(job->ctx, job->m, job->tree, job->lambda, sweeps);
  }
  return status;
}

// Marks the bones to prune: those below the threshold and, if there are more than `most` (0: threshold only), up to
// half of the surplus, by increasing sum_i w_ij^2. Returns the number.
static int choose_pruned(const fit_model *m, int most, bool *gone) {
  int count = sn_published_prune(m, gone);
  int surplus = most > 0 ? m->bones - most : 0, target = (surplus + 1) / 2;
  for (; count < target; count++) {
    int least = -1;
    for (int j = 0; j < m->bones; j++)
      if (!gone[j] && (least < 0 || sn_rig_share(m, j) < sn_rig_share(m, least))) least = j;
    gone[least] = true;
  }
  return count;
}

// "Skeleton pruning".
static sn_status prune(const published_job *job, int most) {
  enum { settle = 3 };
  sn_status status = lower_energy(job, settle);
  while (status == SN_OK) {
    bool gone[FIT_MOST_BONES];
    if (choose_pruned(job->m, most, gone) == 0) break;
    sn_rig_remove_bones(job->ctx, job->m, gone);
    status = lower_energy(job, settle);
  }
  return status == SN_OK ? lower_energy(job, most_rounds) : status;
}

sn_status sn_published_solve(sn_context *ctx, sn_arena *memory, const fit_problem *p, const rig_plan *plan,
                             fit_model *m, rig_tree *tree) {
  int count = plan->bones > 0 ? (int)(over_complete * plan->bones) : plan->most;
  fit_smooth smooth = {0};
  published_job job = {.ctx = ctx, .m = m, .smooth = &smooth};
  double strength = plan->omega < 0 ? omega_vertices : plan->omega;
  job.omega = strength / p->n;
  sn_status status = sn_rig_tree_new(ctx, memory, count, tree);
  if (status == SN_OK) status = sn_fit_smooth_build(ctx, memory, plan->rest, p, strength, &smooth);
  smooth.steady = true;
  if (status == SN_OK) status = initialise(&job, memory, p, count, plan->limit);
  if (status == SN_OK) status = prune(&job, plan->bones);
  if (status == SN_OK) status = sn_published_topology(ctx, m, tree);
  double mean = 0;
  for (int j = 0; j < m->bones && status == SN_OK; j++) mean += sn_rig_share(m, j) / (p->n * (double)m->bones);
  job.tree = tree;
  for (double part = first_lambda; part < last_lambda * lambda_growth && status == SN_OK; part *= lambda_growth) {
    job.lambda = part * mean;
    status = lower_energy(&job, most_rounds);
  }
  if (status != SN_OK) return status;
  for (int f = 0; f < p->f; f++) sn_rig_close_joints(m, tree, f, false); // lambda -> infinity
  sn_fit_model_refresh(ctx, m);
  return sn_fit_pass(ctx, m, FIT_EXHAUST, &smooth);
}
