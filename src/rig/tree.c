// SPDX-License-Identifier: MIT
// Skeleton topology and joint positions (Le and Deng 2014).
#include "rig/solve.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

sn_status sn_rig_tree_new(sn_context *ctx, sn_arena *memory, int capacity, rig_tree *out) {
  *out = (rig_tree){0};
  out->parent = SN_NEW(ctx, memory, int, capacity);
  out->order = SN_NEW(ctx, memory, int, capacity);
  out->joint = sn_arena_alloc(ctx, memory, (size_t)capacity, sizeof *out->joint);
  out->skin = sn_arena_alloc(ctx, memory, (size_t)capacity, sizeof *out->skin);
  out->around = SN_NEW(ctx, memory, rig_ball, 2 * (size_t)capacity);
  bool good = out->parent && out->order && out->joint && out->skin && out->around;
  return good ? SN_OK : ctx->error.status;
}

void sn_rig_tree_copy(const rig_tree *from, rig_tree *to) {
  size_t bones = (size_t)from->bones;
  to->bones = from->bones, to->root = from->root;
  memcpy(to->parent, from->parent, bones * sizeof *to->parent);
  memcpy(to->order, from->order, bones * sizeof *to->order);
  memcpy(to->joint, from->joint, bones * sizeof *to->joint);
  memcpy(to->skin, from->skin, bones * sizeof *to->skin);
  to->body = from->body;
}

void sn_rig_shared_middle(const fit_model *m, int j, int k, double out[3]) {
  double s[4][4];
  fit_unpack(fit_pair(m, j, k), s);
  if (!(s[3][3] > 0)) fit_unpack(fit_pair(m, j, j), s);
  for (int c = 0; c < 3; c++) out[c] = s[3][3] > 0 ? s[c][3] / s[3][3] : 0;
}

// mu_j, the ridge of joint C_j towards C0_j (docs/methods/rigging.md), which decides what the motion leaves open: this many times
// the mean squared error (mesh of unit size), so that exact data is not bent, at most `most_ridge`, and more while the joint is
// outside.
static const double ridge_by_error = 10, most_ridge = 1e-3, ridge_outside = 100;
// mu for the edge costs: bones whose joint would be far from the skin that they share are unlikely neighbours.
static const double edge_ridge = 1e-2;

static double ridge_of(const fit_model *m) {
  return fmin(fmax(ridge_by_error * m->error / ((double)m->p->n * m->p->f), 1e-9), most_ridge);
}

static bool joint_inside(const rig_tree *tree, int j, const double x[3]) {
  return sn_rig_inside_known(tree->body, x, &tree->around[2 * j]);
}

int sn_rig_joints_outside(const rig_tree *tree) {
  int count = 0;
  for (int j = 0; j < tree->bones && tree->body; j++)
    count += tree->parent[j] >= 0 && !joint_inside(tree, j, tree->joint[j]);
  return count;
}

// The first point inside the body on the line from `from` to `to`; returns its distance, INFINITY: none.
static double first_inside(const rig_body *body, const double from[3], const double to[3], double out[3]) {
  enum { steps = 40 };
  double gap = 0;
  for (int c = 0; c < 3; c++) gap += (to[c] - from[c]) * (to[c] - from[c]);
  for (int k = 1; k <= steps; k++) {
    for (int c = 0; c < 3; c++) out[c] = from[c] + k * (to[c] - from[c]) / steps;
    if (sn_rig_inside(body, out)) return k * sqrt(gap) / steps;
  }
  return INFINITY;
}

bool sn_rig_joint_inside(const rig_tree *tree, int j, double out[3]) {
  double middle[3], other[3];
  memcpy(middle, tree->joint[j], sizeof middle);
  sn_rig_put_inside(tree->body, middle);
  double skin = first_inside(tree->body, tree->joint[j], tree->skin[j], out);
  double wall = first_inside(tree->body, tree->joint[j], middle, other);
  if (wall < skin) memcpy(out, other, sizeof other);
  return fmin(skin, wall) < INFINITY;
}

double sn_rig_joint_position(const fit_model *m, int j, int k, double mu, const double start[3], double out[3]) {
  sn_mat3 a = {0}, inverse;
  double b[3] = {0}, constant = 0;
  size_t columns = 3 * (size_t)m->p->f;
  const double *tj = m->t + 4 * (size_t)j * columns, *tk = m->t + 4 * (size_t)k * columns;
  for (size_t e = 0; e < columns; e++) {
    double d[4];
    for (int c = 0; c < 4; c++) d[c] = tj[(size_t)c * columns + e] - tk[(size_t)c * columns + e];
    for (int r = 0; r < 3; r++) {
      for (int c = 0; c < 3; c++) a.m[r][c] += d[r] * d[c];
      b[r] -= d[r] * d[3];
    }
    constant += d[3] * d[3];
  }
  double eps = mu * m->p->f;
  sn_mat3 regular = sn_mat3_add(a, sn_mat3_diagonal(eps, eps, eps));
  sn_vec3 rhs = {b[0] + eps * start[0], b[1] + eps * start[1], b[2] + eps * start[2]}, x;
  x = sn_mat3_invert(regular, &inverse) ? sn_mat3_apply(inverse, rhs) : sn_vec3_make(start[0], start[1], start[2]);
  out[0] = x.x, out[1] = x.y, out[2] = x.z;
  double residual = constant;
  for (int r = 0; r < 3; r++) {
    residual += eps * (out[r] - start[r]) * (out[r] - start[r]) - 2 * out[r] * b[r];
    for (int c = 0; c < 3; c++) residual += out[r] * a.m[r][c] * out[c];
  }
  return residual > 0 ? residual : 0;
}

typedef struct edge {
  double cost, gap;
  int j, k;
} edge;

static int by_cost(const void *a, const void *b) {
  const edge *x = a, *y = b;
  if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
  if (x->gap != y->gap) return x->gap < y->gap ? -1 : 1;
  if (x->j != y->j) return x->j - y->j;
  return x->k - y->k;
}

typedef struct cost_job {
  const fit_model *m;
  edge *edges;
} cost_job;

// Distance from `x` to the centroid of bone j's vertices in units of their rms radius, minus 2 (the end of a rod is at 1.7), if
// positive.
static double beyond_end(const fit_model *m, int j, const double x[3]) {
  double s[4][4], square = 0, spread = 0;
  fit_unpack(fit_pair(m, j, j), s);
  if (!(s[3][3] > 0)) return 0;
  for (int c = 0; c < 3; c++) {
    double mean = s[c][3] / s[3][3];
    square += (x[c] - mean) * (x[c] - mean), spread += s[c][c] / s[3][3] - mean * mean;
  }
  return spread > 0 ? fmax(sqrt(square / spread) - 2, 0) : 0;
}

// Factor on the edge cost: bones that share vertices far from either of them are no neighbours, even if they move alike (a front
// and a hind leg that stand). About 100 if the shared vertices are one radius beyond the end of a bone.
static double far_factor(const fit_model *m, int j, int k, const double middle[3]) {
  double a = beyond_end(m, j, middle), b = beyond_end(m, k, middle);
  return 1 + 100 * (a * a + b * b);
}

// g(j, k) of Le and Deng 2014: joint constraint value over weight blending; infinite if the bones share no vertex. The
// constant keeps far_factor effective where the gap is only rounding.
static edge edge_cost(const fit_model *m, int j, int k) {
  double position[3], middle[3], shared = fit_pair(m, j, k)[9];
  sn_rig_shared_middle(m, j, k, middle);
  double gap = sn_rig_joint_position(m, j, k, edge_ridge, middle, position);
  gap = (gap + 1e-9 * m->p->f) * far_factor(m, j, k, middle);
  return (edge){shared > 0 ? gap / shared : INFINITY, gap, j, k};
}

static void edge_costs(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  cost_job *job = user;
  for (int j = (int)begin; j < (int)end; j++)
    for (int k = 0; k < j; k++) job->edges[j * (j - 1) / 2 + k] = edge_cost(job->m, j, k);
}

// Whether bone j has more weight than k; of bones as heavy to within a percent, the first in one direction, so that rounding
// decides nothing.
static bool heavier(const fit_model *m, int j, int k) {
  double a = sn_rig_share(m, j), b = sn_rig_share(m, k), p[3], q[3];
  if (100 * fabs(a - b) > a) return a > b;
  sn_rig_shared_middle(m, j, j, p), sn_rig_shared_middle(m, k, k, q);
  return p[0] + 2 * p[1] + 4 * p[2] < q[0] + 2 * q[1] + 4 * q[2];
}

// The middle of the tree: the bone whose largest branch has the fewest bones; of several, the heaviest.
static int middle_bone(const fit_model *m, const rig_tree *tree) {
  int size[FIT_MOST_BONES], largest[FIT_MOST_BONES], middle = tree->root;
  for (int j = 0; j < tree->bones; j++) size[j] = 1, largest[j] = 0;
  for (int q = tree->bones - 1; q > 0; q--) {
    int j = tree->order[q], parent = tree->parent[j];
    size[parent] += size[j];
    if (size[j] > largest[parent]) largest[parent] = size[j];
  }
  for (int j = 0; j < tree->bones; j++) {
    if (tree->bones - size[j] > largest[j]) largest[j] = tree->bones - size[j];
  }
  for (int j = 0; j < tree->bones; j++) {
    if (largest[j] < largest[middle] || (largest[j] == largest[middle] && heavier(m, j, middle))) middle = j;
  }
  return middle;
}

// Directs the edges away from the root, breadth first.
static void direct_edges(const edge *kept, int count, rig_tree *tree) {
  for (int j = 0; j < tree->bones; j++) tree->parent[j] = -2;
  tree->parent[tree->root] = -1;
  tree->order[0] = tree->root;
  for (int head = 0, tail = 1; head < tail; head++)
    for (int e = 0; e < count; e++) {
      int j = tree->order[head], other = kept[e].j == j ? kept[e].k : kept[e].k == j ? kept[e].j : -1;
      if (other < 0 || tree->parent[other] != -2) continue;
      tree->parent[other] = j, tree->order[tail++] = other;
    }
}

// Joint of bone j and its parent from the motion of both; for a root the centroid of its vertices.
static void place_joint(const fit_model *m, rig_tree *tree, int j) {
  int parent = tree->parent[j];
  sn_rig_shared_middle(m, j, parent < 0 ? j : parent, tree->skin[j]);
  if (tree->body) sn_rig_put_inside(tree->body, tree->skin[j]);
  memcpy(tree->joint[j], tree->skin[j], sizeof *tree->joint);
  if (parent >= 0) sn_rig_joint_position(m, j, parent, ridge_of(m), tree->skin[j], tree->joint[j]);
}

sn_status sn_rig_tree_build(sn_context *ctx, const fit_model *m, rig_tree *tree) {
  sn_arena scratch = sn_arena_new(ctx);
  int bones = m->bones, count = bones * (bones - 1) / 2, used = 0;
  edge *edges = SN_NEW(ctx, &scratch, edge, count), *kept = SN_NEW(ctx, &scratch, edge, bones);
  int *set = SN_NEW(ctx, &scratch, int, bones);
  bool good = edges && kept && set;
  if (good) {
    cost_job job = {m, edges};
    fit_parallel(ctx, bones, 1, 32.0 * bones * bones * m->p->f, edge_costs, &job);
    qsort(edges, (size_t)count, sizeof *edges, by_cost);
    for (int j = 0; j < bones; j++) set[j] = j;
    for (int e = 0; e < count && used < bones - 1; e++) {
      int a = sn_set_first(set, edges[e].j), b = sn_set_first(set, edges[e].k);
      if (a != b) set[a] = b, kept[used++] = edges[e];
    }
    tree->bones = bones, tree->root = 0;
    direct_edges(kept, used, tree);
    tree->root = middle_bone(m, tree);
    direct_edges(kept, used, tree);
    for (int j = 0; j < bones; j++) place_joint(m, tree, j);
  }
  sn_arena_free(&scratch);
  return good ? SN_OK : ctx->error.status;
}

// ---- one bone --------------------------------------------------------------------------------------------------------

// Parents before children.
static void sort_tree(rig_tree *tree) {
  int count = 0;
  for (int j = 0; j < tree->bones; j++)
    if (tree->parent[j] < 0) tree->order[count++] = j;
  for (int head = 0; head < count; head++)
    for (int j = 0; j < tree->bones; j++)
      if (tree->parent[j] == tree->order[head]) tree->order[count++] = j;
}

// Attaches the children of bone j to its parent; for a root, to its child with the largest weight, which becomes the root.
static void hand_over_children(const fit_model *m, rig_tree *tree, int j) {
  int next = tree->parent[j];
  for (int k = 0; k < tree->bones && tree->parent[j] < 0; k++) {
    if (tree->parent[k] != j) continue;
    if (next < 0 || fit_pair(m, k, k)[9] > fit_pair(m, next, next)[9]) next = k;
  }
  if (tree->parent[j] < 0 && next >= 0) tree->parent[next] = -1, tree->root = next, place_joint(m, tree, next);
  for (int k = 0; k < tree->bones; k++)
    if (tree->parent[k] == j && k != next) tree->parent[k] = next, place_joint(m, tree, k);
}

// Attaches bone j, which has no children, to the bone with the least edge cost; to the root if it shares no vertices.
static void hang(const fit_model *m, rig_tree *tree, int j) {
  double least = INFINITY;
  tree->parent[j] = tree->root;
  for (int k = 0; k < tree->bones; k++) {
    if (k == j) continue;
    double cost = edge_cost(m, j, k).cost;
    if (cost < least) least = cost, tree->parent[j] = k;
  }
  place_joint(m, tree, j);
  sort_tree(tree);
}

// Makes `root` the root; joints between two bones keep their positions.
static void turn_tree(rig_tree *tree, int root) {
  double joint[3];
  memcpy(joint, tree->joint[root], sizeof joint);
  for (int below = root, above = tree->parent[root]; above >= 0;) {
    int next = tree->parent[above];
    double own[3];
    memcpy(own, tree->joint[above], sizeof own), memcpy(tree->joint[above], joint, sizeof joint);
    memcpy(joint, own, sizeof joint);
    tree->parent[above] = below, below = above, above = next;
  }
  tree->parent[root] = -1, tree->root = root;
  sort_tree(tree);
}

void sn_rig_tree_settle_root(const fit_model *m, rig_tree *tree) {
  int root = middle_bone(m, tree);
  if (root == tree->root) return;
  turn_tree(tree, root);
  place_joint(m, tree, root);
}

void sn_rig_tree_add(const fit_model *m, rig_tree *tree) {
  tree->bones = m->bones;
  hang(m, tree, m->bones - 1);
}

void sn_rig_tree_remove(const fit_model *m, rig_tree *tree, int j) {
  if (tree->bones < 2) return;
  hand_over_children(m, tree, j);
  size_t after = (size_t)(--tree->bones - j);
  memmove(tree->parent + j, tree->parent + j + 1, after * sizeof *tree->parent);
  memmove(tree->joint + j, tree->joint + j + 1, after * sizeof *tree->joint);
  memmove(tree->skin + j, tree->skin + j + 1, after * sizeof *tree->skin);
  for (int k = 0; k < tree->bones; k++) tree->parent[k] -= tree->parent[k] > j;
  tree->root -= tree->root > j;
  sort_tree(tree);
}

// ---- joint positions for fixed rotations ---------------------------------------------------------------------------

// A change dC_a of joint a shifts all bones below it by (R_parent - R_a) dC_a: a linear least squares problem with
// normal blocks sigma_ab sum_f D_a^T D_b, where sigma_ab sums w_j w_k over j below a and k below b.
typedef struct joint_system {
  double *d;      // 3f rows of 3 bones: D_a
  double *normal; // 3 bones square
  double *rhs;    // 3 bones
  double *sigma;  // bones square
  double *force;  // 3f rows of bones: sum of residual moments below a
} joint_system;

static void fill_system(const fit_model *m, const rig_tree *tree, joint_system *s) {
  int bones = m->bones;
  size_t columns = 3 * (size_t)m->p->f;
  for (int j = 0; j < bones; j++) {
    for (int k = 0; k < bones; k++) s->sigma[j * bones + k] = fit_pair(m, j, k)[9];
    int parent = tree->parent[j];
    for (size_t e = 0; e < columns; e++) {
      s->force[e * (size_t)bones + (size_t)j] = m->moment[(4 * (size_t)j + 3) * columns + e];
      for (int c = 0; c < 3 && parent >= 0; c++) {
        s->d[(e * (size_t)bones + (size_t)j) * 3 + (size_t)c] =
          m->t[(4 * (size_t)parent + (size_t)c) * columns + e] - m->t[(4 * (size_t)j + (size_t)c) * columns + e];
      }
    }
  }
  for (int q = bones - 1; q >= 0; q--) {
    int j = tree->order[q], parent = tree->parent[j];
    if (parent < 0) continue;
    for (int k = 0; k < bones; k++) s->sigma[parent * bones + k] += s->sigma[j * bones + k];
    for (size_t e = 0; e < columns; e++) {
      s->force[e * (size_t)bones + (size_t)parent] += s->force[e * (size_t)bones + (size_t)j];
    }
  }
  for (int q = bones - 1; q >= 0; q--) {
    int j = tree->order[q], parent = tree->parent[j];
    if (parent < 0) continue;
    for (int k = 0; k < bones; k++) s->sigma[k * bones + parent] += s->sigma[k * bones + j];
  }
}

// The ridge of joint j counts as often as the vertices that it joins.
static double joint_ridge(const fit_model *m, const rig_tree *tree, const joint_system *s, int j) {
  double shared = tree->parent[j] < 0 ? 0 : fit_pair(m, j, tree->parent[j])[9];
  bool outside = tree->body && tree->parent[j] >= 0 && !joint_inside(tree, j, tree->joint[j]);
  if (!(shared > 0)) shared = s->sigma[j * m->bones + j] + 1e-12;
  return (outside ? ridge_outside : 1) * ridge_of(m) * m->p->f * shared;
}

static bool solve_system(const fit_model *m, const rig_tree *tree, joint_system *s) {
  int bones = m->bones, rows = 3 * bones, columns = 3 * m->p->f;
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, rows, rows, columns, 1, s->d, rows, s->d, rows, 0, s->normal,
              rows);
  memset(s->rhs, 0, (size_t)rows * sizeof *s->rhs);
  for (int e = 0; e < columns; e++)
    for (int r = 0; r < rows; r++) s->rhs[r] += s->d[e * rows + r] * s->force[e * bones + r / 3];
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < rows; c++) s->normal[r * rows + c] *= s->sigma[(r / 3) * bones + c / 3];
  for (int j = 0; j < bones; j++) {
    double ridge = joint_ridge(m, tree, s, j);
    for (int r = 3 * j; r < 3 * j + 3; r++) {
      s->normal[r * rows + r] += ridge;
      s->rhs[r] += ridge * (tree->skin[j][r % 3] - tree->joint[j][r % 3]);
      if (tree->parent[j] < 0) s->rhs[r] = 0;
    }
  }
  // Row-major lower is column-major upper: LAPACKE needs no copy.
  return LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'U', rows, 1, s->normal, rows, s->rhs, rows) == 0;
}

// Shifts the bones below the moved joints and corrects the moments: M_k -= shift_j (S_jk's last row).
static void apply_shifts(fit_model *m, const rig_tree *tree, const joint_system *s, double *shift, const int *start,
                         const int *overlap) {
  int bones = m->bones;
  size_t columns = 3 * (size_t)m->p->f;
  for (size_t e = 0; e < columns; e++) {
    for (int q = 0; q < bones; q++) {
      int j = tree->order[q], parent = tree->parent[j];
      const double *d = s->d + (e * (size_t)bones + (size_t)j) * 3;
      shift[j] =
        parent < 0 ? 0 : shift[parent] + d[0] * s->rhs[3 * j] + d[1] * s->rhs[3 * j + 1] + d[2] * s->rhs[3 * j + 2];
      m->t[(4 * (size_t)j + 3) * columns + e] += shift[j];
    }
    for (int j = 0; j < bones; j++)
      for (int n = start[j]; n < start[j + 1]; n++) {
        int k = overlap[n];
        const double *pair = fit_pair(m, j, k);
        m->moment[(4 * (size_t)k + 0) * columns + e] -= shift[j] * pair[3];
        m->moment[(4 * (size_t)k + 1) * columns + e] -= shift[j] * pair[6];
        m->moment[(4 * (size_t)k + 2) * columns + e] -= shift[j] * pair[8];
        m->moment[(4 * (size_t)k + 3) * columns + e] -= shift[j] * pair[9];
      }
  }
}

// Updates C0_j of all joints.
static void place_middles(const fit_model *m, rig_tree *tree) {
  for (int j = 0; j < m->bones; j++) {
    if (tree->parent[j] < 0) continue;
    sn_rig_shared_middle(m, j, tree->parent[j], tree->skin[j]);
    if (tree->body && !sn_rig_inside_known(tree->body, tree->skin[j], &tree->around[2 * j + 1]))
      sn_rig_put_inside(tree->body, tree->skin[j]);
  }
}

sn_status sn_rig_tree_move_joints(sn_context *ctx, fit_model *m, rig_tree *tree) {
  if (m->bones < 2) return SN_OK;
  sn_arena scratch = sn_arena_new(ctx);
  size_t bones = (size_t)m->bones, columns = 3 * (size_t)m->p->f;
  joint_system s = {.d = SN_NEW(ctx, &scratch, double, columns * 3 * bones),
                    .normal = SN_NEW(ctx, &scratch, double, 9 * bones * bones),
                    .rhs = SN_NEW(ctx, &scratch, double, 3 * bones),
                    .sigma = SN_NEW(ctx, &scratch, double, bones *bones),
                    .force = SN_NEW(ctx, &scratch, double, columns *bones)};
  double *shift = SN_NEW(ctx, &scratch, double, bones);
  const int *start, *overlap;
  bool good =
    s.d && s.normal && s.rhs && s.sigma && s.force && shift && sn_rig_overlaps(ctx, &scratch, m, &start, &overlap);
  if (good) {
    place_middles(m, tree);
    fill_system(m, tree, &s);
    if (solve_system(m, tree, &s)) {
      for (int j = 0; j < m->bones; j++)
        for (int c = 0; c < 3; c++) tree->joint[j][c] += s.rhs[3 * j + c];
      apply_shifts(m, tree, &s, shift, start, overlap);
    }
  }
  sn_arena_free(&scratch);
  return good ? SN_OK : ctx->error.status;
}
