// SPDX-License-Identifier: MIT
// Samples of the data; adds bones where the error is largest, and removes bones.
#include "rig/solve.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solve/solve.h"

enum { compared = 400 }; // vertices for the distance between frames

void sn_rig_frame_distances(const fit_problem *p, int g, double *distance) {
  int count = p->n < compared ? p->n : compared;
  for (int f = 0; f < p->f; f++) distance[f] = 0;
  for (int q = 0; q < count; q++) {
    int i = p->order[(int64_t)q * p->n / count];
    float of_g[3], of_f[3];
    const float *at_g = g < 0 ? NULL : fit_point(p, i, g, of_g);
    for (int f = 0; f < p->f; f++) {
      const float *at = fit_point(p, i, f, of_f);
      for (int r = 0; r < 3; r++) {
        double d = (double)at[r] - (g < 0 ? p->u[i][r] : (double)at_g[r]);
        distance[f] += d * d;
      }
    }
    fit_used_one(p);
  }
}

// Farthest-point sampling: each frame is the farthest from those chosen, the first from the rest pose. Returns how many.
static int choose_frames(const fit_problem *p, int most, const bool *allowed, int *out, double *space) {
  double *nearest = space, *distance = space + p->f;
  int count = 0;
  for (int f = 0; f < p->f; f++) nearest[f] = allowed && !allowed[f] ? -1 : INFINITY;
  for (; count < most; count++) {
    sn_rig_frame_distances(p, count == 0 ? -1 : out[count - 1], distance);
    int farthest = 0;
    for (int f = 0; f < p->f; f++) {
      nearest[f] = fmin(nearest[f], distance[f]);
      if (nearest[f] > nearest[farthest]) farthest = f;
    }
    if (nearest[farthest] < 0) break;
    out[count] = farthest;
    nearest[farthest] = -1;
  }
  return count;
}

sn_status sn_rig_sample(sn_context *ctx, sn_arena *memory, const fit_problem *p, rig_part part, fit_problem *out,
                        int *frames_out) {
  int n = part.vertices < p->n ? part.vertices : p->n, count = p->f;
  sn_arena scratch = sn_arena_new(ctx);
  double *space = SN_NEW(ctx, &scratch, double, 2 * (size_t)p->f);
  for (int f = 0; f < count; f++) frames_out[f] = f;
  if (space && (part.frames < p->f || part.allowed))
    count = choose_frames(p, part.frames, part.allowed, frames_out, space);
  *out = (fit_problem){.n = n, .f = count};
  out->x = SN_NEW(ctx, memory, float, (size_t)n * 3 * (size_t)count);
  out->u = sn_arena_alloc(ctx, memory, (size_t)n, sizeof *out->u);
  bool good = out->x && out->u && space;
  for (int q = 0; good && q < n; q++) {
    float space_f[3], *to = out->x + (size_t)q * 3 * (size_t)count;
    int i = p->order[(int64_t)q * p->n / n];
    memcpy(out->u[q], p->u[i], sizeof *out->u);
    for (int f = 0; f < count; f++) memcpy(to + 3 * f, fit_point(p, i, frames_out[f], space_f), 3 * sizeof *to);
    fit_used_one(p);
  }
  sn_arena_free(&scratch);
  return good ? sn_fit_problem_sorted(ctx, memory, out) : ctx->error.status;
}

void sn_rig_copy(const fit_model *from, fit_model *to) {
  size_t slots = (size_t)from->p->n * (size_t)from->limit, bones = (size_t)from->bones;
  size_t entries = 12 * bones * (size_t)from->p->f, pairs = bones * bones * FIT_MONOMIALS;
  to->bones = from->bones, to->error = from->error;
  rig_forget_trail(to);
  memcpy(to->t, from->t, entries * sizeof *to->t), memcpy(to->t32, from->t32, entries * sizeof *to->t32);
  memcpy(to->moment, from->moment, entries * sizeof *to->moment);
  memcpy(to->gram, from->gram, pairs * sizeof *to->gram), memcpy(to->pair, from->pair, pairs * sizeof *to->pair);
  memcpy(to->price, from->price, bones * sizeof *to->price);
  memcpy(to->joint, from->joint, slots * sizeof *to->joint);
  memcpy(to->weight, from->weight, slots * sizeof *to->weight);
  memcpy(to->vertex_error, from->vertex_error, (size_t)from->p->n * sizeof *to->vertex_error);
}

// Removes bone j from every vertex. Vertices without another bone go to the remaining bone that overlaps j most.
static void forget_bone(fit_model *m, int j, const bool *gone) {
  int other = -1;
  for (int k = 0; k < m->bones; k++)
    if (k != j && !gone[k] && (other < 0 || fit_pair(m, j, k)[9] > fit_pair(m, j, other)[9])) other = k;
  if (other < 0) return;
  for (int i = 0; i < m->p->n; i++) {
    uint16_t *joint = m->joint + (size_t)i * (size_t)m->limit;
    double *weight = m->weight + (size_t)i * (size_t)m->limit;
    int kept = 0;
    double total = 0;
    for (int q = 0; q < m->limit && weight[q] > 0; q++) {
      if (joint[q] == j) continue;
      joint[kept] = joint[q], weight[kept++] = weight[q], total += weight[q];
    }
    if (!(total > 8 * (double)FLT_EPSILON)) kept = 1, joint[0] = (uint16_t)other, weight[0] = total = 1;
    for (int q = 0; q < m->limit; q++) weight[q] = q < kept ? weight[q] / total : 0;
  }
}

void sn_rig_remove_bones(const sn_context *ctx, fit_model *m, const bool *gone) {
  size_t row = 12 * (size_t)m->p->f;
  uint16_t number[FIT_MOST_BONES];
  int kept = 0;
  for (int j = 0; j < m->bones; j++)
    if (gone[j]) forget_bone(m, j, gone);
  for (int j = 0; j < m->bones; j++) {
    number[j] = (uint16_t)kept;
    if (gone[j]) continue;
    if (kept < j) memcpy(m->t + (size_t)kept * row, m->t + (size_t)j * row, row * sizeof *m->t);
    kept++;
  }
  for (size_t e = 0; e < (size_t)m->p->n * (size_t)m->limit; e++) m->joint[e] = number[m->joint[e]];
  m->bones = kept;
  rig_forget_trail(m);
  sn_fit_model_refresh(ctx, m);
}

void sn_rig_remove_bone(const sn_context *ctx, fit_model *m, int j) {
  bool gone[FIT_MOST_BONES] = {false};
  gone[j] = true;
  sn_rig_remove_bones(ctx, m, gone);
}

static double distance2(const double *a, const double *b) {
  double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return x * x + y * y + z * z;
}

static int within(const fit_problem *p, int seed, double radius, int *out) {
  int count = 0;
  for (int i = 0; i < p->n; i++)
    if (distance2(p->u[i], p->u[seed]) <= radius * radius) out[count++] = i;
  return count;
}

// Of the vertices with the largest errors, the one with the largest error within `radius`; -1: none.
static int worst_region(const fit_model *m, double radius, int *region) {
  enum { candidates = 48 };
  int worst[candidates], count = 0;
  const fit_problem *p = m->p;
  double costs[candidates];
  for (int i = 0; i < p->n; i++) count = sn_least_enter(candidates, count, -m->vertex_error[i], i, costs, worst);
  int best = -1;
  double most = 0;
  for (int q = 0; q < count; q++) {
    double sum = 0;
    int members = within(p, worst[q], radius, region);
    for (int e = 0; e < members; e++) sum += m->vertex_error[region[e]];
    if (members >= 4 && sum > most) most = sum, best = worst[q];
  }
  return best;
}

int sn_rig_cheapest_bone(const fit_model *m) {
  int best = 0;
  for (int j = 1; j < m->bones; j++)
    if (m->price[j] < m->price[best]) best = j;
  return best;
}

double sn_rig_share(const fit_model *m, int j) { return fit_pair(m, j, j)[9]; }

bool sn_rig_is_sliver(const fit_model *m, const rig_tree *tree, int j, double bound) {
  for (int k = 0; tree && k < m->bones; k++)
    if (tree->parent[k] == j) return false;
  return sn_rig_share(m, j) < bound;
}

// Average radius around a vertex that contains `count` vertices.
static double neighbourhood(const fit_problem *p, int count, void *space, int *region) {
  double sum = 0;
  enum { probes = 16 };
  for (int q = 0; q < probes; q++) {
    int seed = (int)((int64_t)q * p->n / probes);
    int found = sn_rig_nearest(p, &(rig_region){seed, count, NULL, 0}, region, space);
    sum += sqrt(distance2(p->u[seed], p->u[region[found - 1]])) / probes;
  }
  return sum;
}

sn_status sn_rig_add_bone(sn_context *ctx, fit_model *m, int spread, bool *added) {
  sn_arena scratch = sn_arena_new(ctx);
  int *region = SN_NEW(ctx, &scratch, int, m->p->n);
  void *space = sn_arena_alloc(ctx, &scratch, 1, sn_rig_nearest_space(m->p));
  bool good = region && space;
  *added = false;
  if (good && m->bones < m->capacity) {
    double radius = neighbourhood(m->p, 4 + spread * m->p->n / (6 * m->bones), space, region);
    int seed = worst_region(m, radius, region);
    if (seed >= 0) {
      sn_rig_fit_region(m->p, region, within(m->p, seed, radius, region), m, m->bones++);
      rig_forget_trail(m);
      sn_fit_model_refresh(ctx, m);
      *added = true;
    }
  }
  sn_arena_free(&scratch);
  return good ? SN_OK : ctx->error.status;
}
