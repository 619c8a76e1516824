// SPDX-License-Identifier: MIT
// Energy, skeleton and pruning of Le and Deng 2014.
#include <math.h>
#include <string.h>

#include "lab/baselines/published.h"

double sn_published_data_term(const fit_model *m) { return m->error / ((double)m->p->n * m->p->f); }

double sn_published_smoothness_term(const fit_model *m, const fit_smooth *smooth, double omega) {
  return omega > 0 ? sn_fit_smooth_energy(m, smooth) / (omega * m->p->n * m->p->f) : 0;
}

double sn_published_joint_value(const fit_model *m, int j, int k, const double c[3]) {
  double sum = 0;
  sn_vec3 at = {c[0], c[1], c[2]};
  for (int f = 0; f < m->p->f; f++) {
    sn_vec3 gap = sn_vec3_sub(sn_affine_apply(sn_fit_bone(m, j, f), at), sn_affine_apply(sn_fit_bone(m, k, f), at));
    sum += sn_vec3_dot(gap, gap);
  }
  return sum;
}

double sn_published_joint_term(const fit_model *m, const rig_tree *tree) {
  double sum = 0;
  for (int j = 0; j < tree->bones; j++)
    if (tree->parent[j] >= 0) sum += sn_published_joint_value(m, j, tree->parent[j], tree->joint[j]);
  return sum / m->p->f;
}

void sn_published_joint_position(const fit_model *m, int j, int k, double c[3]) {
  static const double mu = 1e-5; // weight of the middle of the shared vertices, for undetermined directions
  double middle[3];
  sn_rig_shared_middle(m, j, k, middle);
  sn_rig_joint_position(m, j, k, mu, middle, c);
}

double sn_published_edge_cost(const fit_model *m, int j, int k, const double c[3]) {
  double shared = fit_pair(m, j, k)[9];
  return shared > 0 ? sn_published_joint_value(m, j, k, c) / shared : INFINITY;
}

// A candidate edge from bone j to the tree. Bones without common vertices are compared by joint value alone.
typedef struct edge {
  double cost, value, c[3];
  int parent;
} edge;

static edge make_edge(const fit_model *m, int j, int k) {
  edge out = {.parent = k};
  sn_published_joint_position(m, j, k, out.c);
  out.cost = sn_published_edge_cost(m, j, k, out.c), out.value = sn_published_joint_value(m, j, k, out.c);
  return out;
}

static bool is_cheaper(const edge *a, const edge *b) {
  return a->cost < b->cost || (a->cost == b->cost && a->value < b->value);
}

sn_status sn_published_topology(sn_context *ctx, const fit_model *m, rig_tree *tree) {
  sn_arena scratch = sn_arena_new(ctx);
  edge *edges = SN_NEW(ctx, &scratch, edge, m->bones);
  bool *joined = SN_NEW(ctx, &scratch, bool, m->bones);
  if (edges && joined) {
    tree->bones = m->bones, tree->root = 0;
    for (int j = 1; j < m->bones; j++) // the slides name no root: the bone with the largest sum_i w_ij^2
      if (sn_rig_share(m, j) > sn_rig_share(m, tree->root)) tree->root = j;
    for (int j = 0; j < m->bones; j++) edges[j] = (edge){.cost = INFINITY, .value = INFINITY, .parent = -1};
    for (int count = 0, next = tree->root; count < m->bones; count++) { // Prim's algorithm
      joined[next] = true, tree->order[count] = next, tree->parent[next] = edges[next].parent;
      memcpy(tree->joint[next], edges[next].c, sizeof edges[next].c);
      int last = next;
      next = -1;
      for (int j = 0; j < m->bones; j++) {
        if (joined[j]) continue;
        edge e = make_edge(m, j, last);
        if (is_cheaper(&e, &edges[j])) edges[j] = e;
        if (next < 0 || is_cheaper(&edges[j], &edges[next])) next = j;
      }
    }
    sn_rig_shared_middle(m, tree->root, tree->root, tree->joint[tree->root]);
  }
  sn_arena_free(&scratch);
  return edges && joined ? SN_OK : ctx->error.status;
}

int sn_published_prune(const fit_model *m, bool *gone) {
  double most = 0;
  int count = 0;
  for (int k = 0; k < m->bones; k++) most = fmax(most, sn_rig_share(m, k));
  for (int j = 0; j < m->bones; j++) count += gone[j] = sn_rig_share(m, j) < 1e-2 * most;
  return count;
}
