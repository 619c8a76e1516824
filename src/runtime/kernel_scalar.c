// SPDX-License-Identifier: MIT
// The reference kernels: one vertex after the other, in plain C. Every other path is tested against this one.
#include <math.h>
#include <string.h>

#include "runtime/internal.h"
#include "runtime/vertex.h"

// One vertex of a block: where its joints, weights and rest data are.
typedef struct vertex {
  int influences;
  uint32_t joints[SN_RT_MAX_INFLUENCES];
  float weights[SN_RT_MAX_INFLUENCES];
  float position[3], normal[3], centre[3];
  float moved[3], turned[3];       // forward corrections
  float shift[3], limit;           // a displacement that is limited after the blend; limit 0: none
  char *position_out, *normal_out; // normal_out may be NULL
  float tangent[4];
  char *tangent_out;
} vertex;

static void correct_vertex(const sn_rt_job *job, size_t block, uint32_t lane, vertex *v) {
  const sn_rt_correcting *c = &job->correct;
  const sn_rt_stored_corrections *stored = &c->stored;
  float position_delta[3] = {0, 0, 0}, normal_delta[3] = {0, 0, 0};
  for (uint32_t n = stored->start[block]; n < stored->start[block + 1]; n++) {
    sn_rt_correct_entry e = sn_rt_stored_entry(stored, n);
    float value = c->values[e.basis];
    for (uint32_t r = 0; r < 3; r++) position_delta[r] += value * e.position * sn_rt_stored_delta(stored, n, r, lane);
    for (uint32_t r = 0; r < 3; r++) normal_delta[r] += value * e.normal * sn_rt_stored_delta(stored, n, 3 + r, lane);
  }
  float squared = position_delta[0] * position_delta[0] + position_delta[1] * position_delta[1] +
                  position_delta[2] * position_delta[2];
  float limit = stored->limits ? sn_rt_stored_limit(stored, block, lane) : 0, share = 1;
  if (c->limit_after)
    v->limit = limit;
  else if (stored->limits)
    share = sn_rt_limit(squared, limit);
  float *position = c->limit_after ? v->shift : c->forward ? v->moved : v->position;
  float *normal = c->forward ? v->turned : v->normal;
  for (int r = 0; r < 3; r++) position[r] += share * position_delta[r], normal[r] += normal_delta[r];
}

// Vertex `lane` of block `block` of the group.
static vertex load_vertex(const sn_rt_job *job, uint32_t group, uint32_t block, uint32_t lane) {
  const sn_rt_stored *skin = &job->skin;
  const sn_rt_group *g = skin->groups + group;
  vertex v = {.influences = g->influences};
  size_t row = g->first_weight + (size_t)block * (size_t)(g->influences - 1);
  size_t tuple = g->first_tuple + (size_t)block * g->influences;
  float left = 1;
  for (size_t k = 0; k < g->influences; k++) {
    if (k) v.weights[k] = job->weight_unit * sn_rt_stored_weight(skin, row + k - 1, lane);
    v.joints[k] = g->kind == SN_RT_GROUP_SHARED ? g->joints[k] : sn_rt_stored_joint(skin, tuple + k, lane);
    left -= v.weights[k];
  }
  v.weights[0] = left;
  size_t at = (size_t)g->first_block + block, place = skin->lanes[at][lane];
  sn_rt_stored_position(skin, group, at, lane, v.position);
  for (int c = 0; job->centres && c < 3; c++) v.centre[c] = job->centres[at][c][lane];
  v.position_out = job->positions + place * job->position_stride;
  if (job->normals) {
    sn_rt_stored_normal(skin, at, lane, v.normal);
    if (skin->boxes) sn_rt_normalise(v.normal);
    v.normal_out = job->normals + place * job->normal_stride;
  }
  if (job->tangents) {
    sn_rt_stored_tangent(skin, at, lane, v.tangent);
    v.tangent_out = job->tangents + place * job->tangent_stride;
  }
  if (job->correct.stored.start) correct_vertex(job, at, lane, &v);
  return v;
}

typedef void (*vertex_fn)(const sn_rt_job *job, const vertex *v);

static void for_each_vertex(const sn_rt_job *job, vertex_fn position_delta) {
  for (uint32_t index = job->first_group; index < job->last_group; index++) {
    for (uint32_t block = 0; block < job->skin.groups[index].block_count; block++)
      for (uint32_t lane = 0; lane < SN_RT_LANES; lane++) {
        vertex v = load_vertex(job, index, block, lane);
        position_delta(job, &v);
      }
  }
}

// sum_k w_k M_k over matrices of four columns of four.
static void blend_matrices(const vertex *v, const float *matrices, float b[16]) {
  memset(b, 0, 16 * sizeof *b);
  for (int k = 0; k < v->influences; k++)
    for (int n = 0; n < 16; n++) b[n] += v->weights[k] * matrices[16 * (size_t)v->joints[k] + n];
}

static void put_position(const vertex *v, float out[3]) {
  for (int r = 0; r < 3; r++) out[r] += v->moved[r];
  memcpy(v->position_out, out, 3 * sizeof *out);
}

static void put_normal(const sn_rt_job *job, const vertex *v, float out[3]) {
  if (job->correct.stored.start) {
    sn_rt_normalise(out);
    for (int r = 0; r < 3; r++) out[r] += v->turned[r];
    sn_rt_normalise(out);
  }
  memcpy(v->normal_out, out, 3 * sizeof *out);
}

static void move_linear(const sn_rt_job *job, const vertex *v) {
  float b[16], out[3];
  blend_matrices(v, job->scratch.matrices, b);
  sn_rt_transform(b, v->position, out);
  if (v->limit > 0) sn_rt_move_limited(b, v->shift, v->limit, out);
  put_position(v, out);
  if (!v->normal_out) return;
  sn_rt_transform_normal(b, v->normal, out);
  sn_rt_normalise(out);
  put_normal(job, v, out);
}

// sum_k w_k s_k q_k, s_k = -1 where q_k lies in the other hemisphere than the pivot, the first joint.
static void blend_dualquats(const sn_rt_job *job, const vertex *v, float b[8]) {
  const float *dualquats = job->scratch.dualquats;
  int compare = !(*job->scratch.flags & SN_RT_SIGNED);
  const float *pivot = dualquats + 8 * (size_t)v->joints[0];
  memset(b, 0, 8 * sizeof *b);
  for (int k = 0; k < v->influences; k++) {
    const float *q = dualquats + 8 * (size_t)v->joints[k];
    float dot = q[0] * pivot[0] + q[1] * pivot[1] + q[2] * pivot[2] + q[3] * pivot[3];
    float weight = compare && dot < 0 ? -v->weights[k] : v->weights[k];
    for (int n = 0; n < 8; n++) b[n] += weight * q[n];
  }
}

static void move_dualquat(const sn_rt_job *job, const vertex *v) {
  float q[8], out[3];
  blend_dualquats(job, v, q);
  sn_rt_apply_dualquat(q, v->position, 1, out);
  put_position(v, out);
  if (!v->normal_out) return;
  sn_rt_apply_dualquat(q, v->normal, 0, out);
  put_normal(job, v, out);
}

// Stretches blended linearly in the rest pose, then the blended rigid motion.
static void move_stretched(const sn_rt_job *job, const vertex *v) {
  float q[8], stretch[16], stretched[3], out[3];
  blend_matrices(v, job->scratch.stretches, stretch);
  blend_dualquats(job, v, q);
  sn_rt_transform(stretch, v->position, stretched);
  sn_rt_apply_dualquat(q, stretched, 1, out);
  put_position(v, out);
  if (!v->normal_out) return;
  sn_rt_transform_normal(stretch, v->normal, stretched);
  sn_rt_normalise(stretched);
  sn_rt_apply_dualquat(q, stretched, 0, out);
  put_normal(job, v, out);
}

// The blended rotation about the vertex's centre, which goes where the blended matrix takes it.
static void move_about(const sn_rt_job *job, const vertex *v, const float *stretch) {
  float q[8], b[16], stretched[3], out[3];
  blend_matrices(v, job->scratch.matrices, b);
  blend_dualquats(job, v, q);
  sn_rt_apply_centre(b, q, stretch, v->centre, v->position, out);
  put_position(v, out);
  if (!v->normal_out) return;
  memcpy(stretched, v->normal, sizeof stretched);
  if (stretch) sn_rt_transform_normal(stretch, v->normal, stretched), sn_rt_normalise(stretched);
  sn_rt_apply_dualquat(q, stretched, 0, out);
  put_normal(job, v, out);
}

static void move_centre(const sn_rt_job *job, const vertex *v) { move_about(job, v, NULL); }

static void move_stretched_centre(const sn_rt_job *job, const vertex *v) {
  float stretch[16];
  blend_matrices(v, job->scratch.stretches, stretch);
  move_about(job, v, stretch);
}

static void move_tangent(const sn_rt_job *job, const vertex *v) {
  float b[16], q[8], n[3], t[4], turned[3];
  memcpy(t, v->tangent, sizeof t), memcpy(n, v->normal_out, sizeof n);
  if (job->turning != SN_RT_TURN_RIGID) {
    blend_matrices(v, job->turning == SN_RT_TURN_LINEAR ? job->scratch.matrices : job->scratch.stretches, b);
    sn_rt_transform_vector(b, v->tangent, t);
  }
  if (job->turning != SN_RT_TURN_LINEAR) {
    blend_dualquats(job, v, q);
    sn_rt_apply_dualquat(q, t, 0, turned);
    memcpy(t, turned, sizeof turned);
  }
  sn_rt_straighten(n, t);
  memcpy(v->tangent_out, t, sizeof t);
}

static void linear(const sn_rt_job *job) { for_each_vertex(job, move_linear); }
static void dualquat(const sn_rt_job *job) { for_each_vertex(job, move_dualquat); }
static void stretched(const sn_rt_job *job) { for_each_vertex(job, move_stretched); }
static void centres(const sn_rt_job *job) { for_each_vertex(job, move_centre); }
static void stretched_centres(const sn_rt_job *job) { for_each_vertex(job, move_stretched_centre); }
static void tangents(const sn_rt_job *job) { for_each_vertex(job, move_tangent); }

// ---- normals from the deformed triangles around a vertex (Wang 2007, section 6) ------------------------------------------

// Neighbour `step` of the vertex in this lane.
static const float *neighbour(const sn_rt_shade_job *job, size_t step, uint32_t lane) {
  size_t at = step * SN_RT_LANES + lane;
  size_t i = job->index_bytes == 2 ? ((const uint16_t *)job->fans)[at] : ((const uint32_t *)job->fans)[at];
  return (const float *)(const void *)(job->positions + i * job->position_stride);
}

// The sum of (v_m - p) x (v_m+1 - p) over the closed row of neighbours v, two triangles at a time:
// (u - p) x (v - p) + (v - p) x (w - p) = (v - p) x (w - u).
static void fan_sum(const sn_rt_shade_job *job, const float *p, uint32_t start, uint32_t end, uint32_t lane,
                    float sum[3]) {
  sum[0] = sum[1] = sum[2] = 0;
  if (start == end) return;
  const float *first = neighbour(job, start, lane), *u = first;
  for (uint32_t step = start; step < end; step += 2) {
    const float *v = step + 1 < end ? neighbour(job, step + 1, lane) : u;
    const float *w = step + 2 < end ? neighbour(job, (size_t)step + 2, lane) : first;
    float ax = v[0] - p[0], ay = v[1] - p[1], az = v[2] - p[2], bx = w[0] - u[0], by = w[1] - u[1], bz = w[2] - u[2];
    sum[0] += ay * bz - az * by, sum[1] += az * bx - ax * bz, sum[2] += ax * by - ay * bx;
    u = w;
  }
}

static void bend(const sn_rt_shade_job *job, const float *p, uint32_t block, uint32_t lane, float n[3]) {
  if (job->start[block] == job->start[block + 1]) return;
  const float *first = neighbour(job, job->start[block], lane);
  float own[3], edge[3] = {first[0] - p[0], first[1] - p[1], first[2] - p[2]};
  for (int c = 0; c < 3; c++) own[c] = SN_RT_OWN_UNIT * (float)job->own[block][c][lane];
  sn_rt_bend(own, edge, n);
}

static void shade(const sn_rt_shade_job *job) {
  char *out = job->normals;
  for (uint32_t block = job->first_block; block < job->last_block; block++)
    for (uint32_t lane = 0; lane < SN_RT_LANES; lane++, out += job->normal_stride) {
      uint32_t own = SN_RT_LANES * block + lane, i = own <= job->last_vertex ? own : job->last_vertex;
      const float *p = (const float *)(const void *)(job->positions + i * job->position_stride);
      float n[3];
      fan_sum(job, p, job->start[block], job->start[block + 1], lane, n);
      float squared = n[0] * n[0] + n[1] * n[1] + n[2] * n[2], missing = 1 - squared * (1 / SN_RT_NO_AREA);
      sn_rt_normalise(n);
      if (missing > 0) n[2] += missing;
      if (job->own) bend(job, p, block, lane, n);
      memcpy(out, n, sizeof n);
    }
}

const sn_rt_kernels sn_rt_scalar_kernels = {
  linear, dualquat, stretched, centres, stretched_centres, sn_rt_rotreg_scalar, shade, tangents, sn_rt_mix_scalar};
