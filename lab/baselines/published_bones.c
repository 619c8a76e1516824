// SPDX-License-Identifier: MIT
// "Bone transformations update" of Le and Deng 2014: a joint is a regular point with weight lambda.
#include "lab/baselines/published.h"

void sn_published_centres(const published_bone *b, sn_vec3 *p, sn_vec3 *q) {
  double weight = b->uu[3][3] / b->vertices + b->lambda * b->joints;
  *p = sn_vec3_scale(sn_vec3_make(b->uu[0][3], b->uu[1][3], b->uu[2][3]), 1 / b->vertices);
  *q = sn_vec3_scale(sn_vec3_make(b->qu[0][3], b->qu[1][3], b->qu[2][3]), 1 / b->vertices);
  for (int k = 0; k < b->joints; k++) {
    *p = sn_vec3_add(*p, sn_vec3_scale(b->c[k], b->lambda));
    *q = sn_vec3_add(*q, sn_vec3_scale(b->psi[k], b->lambda));
  }
  *p = sn_vec3_scale(*p, 1 / weight), *q = sn_vec3_scale(*q, 1 / weight);
}

sn_affine sn_published_update(const published_bone *b) {
  sn_vec3 p, q;
  sn_published_centres(b, &p, &q);
  double pc[3] = {p.x, p.y, p.z}, qc[3] = {q.x, q.y, q.z};
  sn_mat3 h; // 1/N sum_i w_ij p-bar_i q-bar_i^T + lambda sum_k C-bar_jk Psi-bar_k^T
  for (int c = 0; c < 3; c++)
    for (int r = 0; r < 3; r++) {
      h.m[c][r] = b->qu[r][c] - pc[c] * b->qu[r][3] - b->uu[c][3] * qc[r] + b->uu[3][3] * pc[c] * qc[r];
      h.m[c][r] /= b->vertices;
    }
  for (int k = 0; k < b->joints; k++) {
    sn_vec3 x = sn_vec3_sub(b->c[k], p), y = sn_vec3_sub(b->psi[k], q);
    h = sn_mat3_add(h, sn_mat3_scale(sn_mat3_outer(x, y), b->lambda));
  }
  sn_mat3 rotation = sn_mat3_kabsch(h);
  return sn_affine_make(rotation, sn_vec3_sub(q, sn_mat3_apply(rotation, p)));
}

typedef struct sweep_job {
  fit_model *m;
  const rig_tree *tree;
  double lambda;
  int sweeps;
  const int *start, *overlap; // bones with common vertices, per bone
  double (*vu)[3][4];         // per worker and bone: sum_i w_ij v_i u~_i^T
  sn_vec3 *c, *psi;           // per worker and bone
} sweep_job;

// Adds `sign` times sum_i w_ij w_ik ([R_k | T_k] u~_i) u~_i^T.
static void add_bone(const sweep_job *job, int j, int k, int f, double sign, double to[3][4]) {
  double s[4][4];
  sn_affine t = sn_fit_bone(job->m, k, f);
  fit_unpack(fit_pair(job->m, j, k), s);
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++)
      for (int d = 0; d < 4; d++) to[r][c] += sign * t.m[r][d] * s[d][c];
}

static void gather_targets(const sweep_job *job, int j, int f, double out[3][4]) {
  size_t columns = 3 * (size_t)job->m->p->f;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) out[r][c] = job->m->moment[(size_t)(4 * j + c) * columns + (size_t)(3 * f + r)];
  for (int e = job->start[j]; e < job->start[j + 1]; e++) add_bone(job, j, job->overlap[e], f, 1, out);
}

static void gather_joints(const sweep_job *job, int j, int f, published_bone *b, sn_vec3 *c, sn_vec3 *psi) {
  const rig_tree *tree = job->tree;
  for (int k = 0; k < tree->bones; k++) {
    int child = tree->parent[j] == k ? j : tree->parent[k] == j ? k : -1;
    if (child < 0) continue;
    const double *at = tree->joint[child];
    c[b->joints] = (sn_vec3){at[0], at[1], at[2]};
    psi[b->joints] = sn_affine_apply(sn_fit_bone(job->m, k, f), c[b->joints]);
    b->joints++;
  }
}

static void update_bone(const sweep_job *job, int j, int f, int worker) {
  size_t first = (size_t)worker * (size_t)job->m->bones;
  published_bone b = {.vertices = job->m->p->n, .lambda = job->lambda, .c = job->c + first, .psi = job->psi + first};
  fit_unpack(fit_pair(job->m, j, j), b.uu);
  if (!(b.uu[3][3] > 0)) return;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) b.qu[r][c] = job->vu[first + (size_t)j][r][c];
  for (int e = job->start[j]; e < job->start[j + 1]; e++)
    if (job->overlap[e] != j) add_bone(job, j, job->overlap[e], f, -1, b.qu);
  if (job->tree && job->lambda > 0) gather_joints(job, j, f, &b, job->c + first, job->psi + first);
  sn_fit_set_bone(job->m, j, f, sn_published_update(&b));
}

static void sweep_frames(void *user, int64_t begin, int64_t end, int worker) {
  const sweep_job *job = user;
  int bones = job->m->bones;
  for (int f = (int)begin; f < (int)end; f++) {
    for (int j = 0; j < bones; j++) gather_targets(job, j, f, job->vu[(size_t)worker * (size_t)bones + (size_t)j]);
    for (int sweep = 0; sweep < job->sweeps; sweep++)
      for (int j = 0; j < bones; j++) update_bone(job, j, f, worker);
  }
}

sn_status sn_published_bones(sn_context *ctx, fit_model *m, const rig_tree *tree, double lambda, int sweeps) {
  sn_arena scratch = sn_arena_new(ctx);
  size_t room = (size_t)m->bones * (size_t)sn_threads(ctx);
  sweep_job job = {.m = m, .tree = tree, .lambda = lambda, .sweeps = sweeps};
  job.vu = sn_arena_alloc(ctx, &scratch, room, sizeof *job.vu);
  job.c = SN_NEW(ctx, &scratch, sn_vec3, room), job.psi = SN_NEW(ctx, &scratch, sn_vec3, room);
  bool good = job.vu && job.c && job.psi && sn_rig_overlaps(ctx, &scratch, m, &job.start, &job.overlap);
  if (good) {
    sn_parallel_for(ctx, m->p->f, 1, sweep_frames, &job);
    sn_fit_model_refresh(ctx, m);
  }
  sn_arena_free(&scratch);
  return good ? SN_OK : ctx->error.status;
}
