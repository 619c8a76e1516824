// SPDX-License-Identifier: MIT
// Samples of the data, and moves that take the solver out of local minima: a bone that is hardly missed is taken from
// where it is and set where the error is largest.
#include "rig/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Adds the squared distance of every frame to frame g (g < 0: to the rest pose); keeps the smaller with `nearest`.
static void frame_distances(const rig_problem *p, const int *vertex, int count, int g, double *distance) {
  for (int f = 0; f < p->f; f++) distance[f] = 0;
  for (int q = 0; q < count; q++) {
    float of_g[3], of_f[3];
    const float *at_g = g < 0 ? NULL : rig_point(p, vertex[q], g, of_g);
    for (int f = 0; f < p->f; f++) {
      const float *at = rig_point(p, vertex[q], f, of_f);
      for (int r = 0; r < 3; r++) {
        double d = (double)at[r] - (g < 0 ? p->u[vertex[q]][r] : (double)at_g[r]);
        distance[f] += d * d;
      }
    }
    rig_used_one(p);
  }
}

// Frames that differ most from each other: each next one is farthest from those chosen.
static void choose_frames(const rig_problem *p, const int *vertex, int count, int frames, int *out, double *space) {
  double *nearest = space, *distance = space + p->f;
  for (int f = 0; f < p->f; f++) nearest[f] = INFINITY;
  for (int q = 0; q < frames; q++) {
    frame_distances(p, vertex, count, q == 0 ? -1 : out[q - 1], distance);
    int farthest = 0;
    for (int f = 0; f < p->f; f++) {
      if (q == 0 || distance[f] < nearest[f]) nearest[f] = distance[f];
      if (nearest[f] > nearest[farthest]) farthest = f;
    }
    out[q] = farthest;
  }
}

sn_status sn_rig_sample(sn_context *ctx, sn_arena *memory, const rig_problem *p, int vertices, int frames,
                        rig_problem *out, int *frames_out) {
  int n = vertices < p->n ? vertices : p->n, count = frames < p->f ? frames : p->f;
  *out = (rig_problem){.n = n, .f = count};
  out->x = SN_NEW(ctx, memory, float, (size_t)n * 3 * (size_t)count);
  out->u = sn_arena_alloc(ctx, memory, (size_t)n, sizeof *out->u);
  sn_arena scratch = sn_arena_new(ctx);
  int *vertex = SN_NEW(ctx, &scratch, int, n);
  double *space = SN_NEW(ctx, &scratch, double, 2 * (size_t)p->f);
  bool good = out->x && out->u && vertex && space;
  if (good) {
    for (int q = 0; q < n; q++) vertex[q] = p->order[(int64_t)q * p->n / n];
    if (count < p->f) {
      int few = n < 400 ? n : 400;
      int sparse[400];
      for (int q = 0; q < few; q++) sparse[q] = vertex[(int64_t)q * n / few];
      choose_frames(p, sparse, few, count, frames_out, space);
    } else {
      for (int f = 0; f < count; f++) frames_out[f] = f;
    }
    for (int q = 0; q < n; q++) {
      float space_f[3];
      float *to = out->x + (size_t)q * 3 * (size_t)count;
      memcpy(out->u[q], p->u[vertex[q]], sizeof *out->u);
      for (int f = 0; f < count; f++)
        memcpy(to + 3 * f, rig_point(p, vertex[q], frames_out[f], space_f), 3 * sizeof *to);
      rig_used_one(p);
    }
  }
  sn_arena_free(&scratch);
  return good ? sn_rig_problem_sorted(ctx, memory, out) : ctx->error.status;
}

void sn_rig_copy(const rig_model *from, rig_model *to) {
  size_t slots = (size_t)from->p->n * (size_t)from->limit, bones = (size_t)from->bones;
  size_t entries = 12 * bones * (size_t)from->p->f, pairs = bones * bones * RIG_MONOMIALS;
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

// Removes bone j from every vertex. Vertices that have no other go to the bone that overlaps it most, of those that are not gone.
static void forget_bone(rig_model *m, int j, const bool *gone) {
  int heir = -1;
  for (int k = 0; k < m->bones; k++)
    if (k != j && !(gone && gone[k]) && (heir < 0 || rig_pair(m, j, k)[9] > rig_pair(m, j, heir)[9])) heir = k;
  if (heir < 0) return;
  for (int i = 0; i < m->p->n; i++) {
    uint16_t *joint = m->joint + (size_t)i * (size_t)m->limit;
    double *weight = m->weight + (size_t)i * (size_t)m->limit;
    int kept = 0;
    double total = 0;
    for (int q = 0; q < m->limit && weight[q] > 0; q++) {
      if (joint[q] == j) continue;
      joint[kept] = joint[q], weight[kept++] = weight[q], total += weight[q];
    }
    if (!(total > 1e-6)) kept = 1, joint[0] = (uint16_t)heir, weight[0] = total = 1;
    for (int q = 0; q < m->limit; q++) weight[q] = q < kept ? weight[q] / total : 0;
  }
}

void sn_rig_remove_bones(const sn_context *ctx, rig_model *m, const bool *gone) {
  size_t row = 12 * (size_t)m->p->f;
  uint16_t number[RIG_MOST_BONES];
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
  sn_rig_model_refresh(ctx, m);
}

void sn_rig_remove_bone(const sn_context *ctx, rig_model *m, int j) {
  bool gone[RIG_MOST_BONES] = {false};
  gone[j] = true;
  sn_rig_remove_bones(ctx, m, gone);
}

typedef struct region_search {
  double radius;
  uint8_t *tried; // bit 0: near a seed that did not help; bit 1: near a seed of the present attempt
  int *region, *seed;
  int skip; // bones that are missed less than the one to be moved
  int attempts;
  bool priced; // prices are known: only a move that is kept changes them
} region_search;

static double distance2(const double *a, const double *b) {
  double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return x * x + y * y + z * z;
}

static int within(const rig_problem *p, int seed, double radius, int *out) {
  int count = 0;
  for (int i = 0; i < p->n; i++)
    if (distance2(p->u[i], p->u[seed]) <= radius * radius) out[count++] = i;
  return count;
}

// The vertex, not yet tried, around which the error is largest: among the 48 worst, the one with the worst surroundings.
static int worst_region(const rig_model *m, region_search *s) {
  enum { candidates = 48 };
  int worst[candidates], count = 0;
  const rig_problem *p = m->p;
  for (int i = 0; i < p->n; i++) {
    if (s->tried[i] || (count == candidates && m->vertex_error[i] <= m->vertex_error[worst[count - 1]])) continue;
    int at = count < candidates ? count++ : count - 1;
    for (; at > 0 && m->vertex_error[worst[at - 1]] < m->vertex_error[i]; at--) worst[at] = worst[at - 1];
    worst[at] = i;
  }
  int best = -1;
  double most = 0;
  for (int q = 0; q < count; q++) {
    double sum = 0;
    int members = within(p, worst[q], s->radius, s->region);
    for (int e = 0; e < members; e++) sum += m->vertex_error[s->region[e]];
    if (members >= 4 && sum > most) most = sum, best = worst[q];
  }
  return best;
}

int sn_rig_least_missed(const rig_model *m) {
  int best = 0;
  for (int j = 1; j < m->bones; j++)
    if (m->price[j] < m->price[best]) best = j;
  return best;
}

double sn_rig_share(const rig_model *m, int j) { return rig_pair(m, j, j)[9]; }

bool sn_rig_is_sliver(const rig_model *m, const rig_tree *tree, int j, double bound) {
  for (int k = 0; tree && k < m->bones; k++)
    if (tree->parent[k] == j) return false;
  return sn_rig_share(m, j) < bound;
}

static int count_slivers(const rig_model *m, const rig_tree *tree) {
  int count = 0;
  for (int j = 0; j < m->bones; j++) count += sn_rig_is_sliver(m, tree, j, RIG_THINNEST);
  return count;
}

// A move whose rounds leave this many times the error of before, after two and after three of five, is given up. Of those that paid on
// horse, cat, dance and cow none had more than 1.42 and 1.08; 1.6 and 1.2 cost Cheburashka and a fox moves that pay late.
static const double hopeless_two = 3, hopeless_three = 1.5;

static bool hopeless(const rig_model *m, int rounds, double before) {
  if (sn_rig_is_exact(m, RIG_NEARLY_EXACT)) return false; // one that gets to its true place may take long
  return (rounds == 2 && m->error > hopeless_two * before) || (rounds == 3 && m->error > hopeless_three * before);
}

// Moves the `count` bones that are missed least to the `count` worst regions, slivers first; then lets all settle. Of a tree, one
// bone. Needs the prices.
static sn_status attempt(sn_context *ctx, rig_model *m, const rig_way *way, region_search *s, int count) {
  double before = m->error;
  int moved = 0;
  for (int j = 0; j < m->bones; j++)
    if (sn_rig_is_sliver(m, way->tree, j, RIG_THINNEST)) m->price[j] = 0;
  for (; s->skip > 0 && count == 1; s->skip--) m->price[sn_rig_least_missed(m)] = INFINITY;
  for (int move = 0; move < count; move++) {
    int seed = s->seed[move], members = within(m->p, seed, s->radius, s->region);
    moved = sn_rig_least_missed(m);
    m->price[moved] = INFINITY;
    forget_bone(m, moved, NULL);
    sn_rig_fit_region(m->p, s->region, members, m, moved);
  }
  rig_forget_trail(m);
  // The bones that take over are fitted to their new share before weights move again, and a tree is built anew; every other time the
  // others stay joined as they are.
  sn_rig_model_refresh(ctx, m);
  bool local = way->tree && !sn_rig_is_exact(m, RIG_NEARLY_EXACT) && s->attempts++ % 2 == 1;
  sn_status status = local ? SN_OK : sn_rig_pass(ctx, m, RIG_KEEP, NULL);
  if (status == SN_OK && !way->affine && !local) status = sn_rig_bones_rigid(ctx, m, 2, NULL);
  if (status == SN_OK) status = sn_rig_pass(ctx, m, RIG_EXPLORE, NULL);
  if (status == SN_OK && local) {
    sn_rig_tree_rehang(m, way->tree, moved);
    status = sn_rig_tree_fit(ctx, m, way->tree, 6, NULL);
  } else if (status == SN_OK && way->tree) {
    status = sn_rig_tree_build(ctx, m, way->tree);
  }
  for (int round = 0; round < 5 && status == SN_OK && !hopeless(m, round, before); round++) {
    status = sn_rig_round(ctx, m, way, round == 0 ? RIG_EXPLORE : RIG_ADJUST, true);
  }
  return status;
}

// Up to `count` seeds of the worst regions, apart from each other. Returns how many.
static int choose_seeds(const rig_model *m, region_search *s, int count) {
  int found = 0;
  for (; found < count; found++) {
    int seed = worst_region(m, s);
    if (seed < 0) break;
    s->seed[found] = seed;
    int members = within(m->p, seed, 1.5 * s->radius, s->region);
    for (int q = 0; q < members; q++) s->tried[s->region[q]] |= 2;
  }
  for (int i = 0; i < m->p->n; i++) s->tried[i] &= 1;
  return found;
}

// Distance within which a vertex has about `count` others, on average.
static double neighbourhood(const rig_problem *p, int count, void *space, int *region) {
  double sum = 0;
  enum { probes = 16 };
  for (int q = 0; q < probes; q++) {
    int seed = (int)((int64_t)q * p->n / probes);
    int found = sn_rig_nearest(p, NULL, 0, seed, count, region, space);
    sum += sqrt(distance2(p->u[seed], p->u[region[found - 1]])) / probes;
  }
  return sum;
}

sn_status sn_rig_add_bone(sn_context *ctx, rig_model *m, int spread, bool *added) {
  sn_arena scratch = sn_arena_new(ctx);
  region_search s = {.tried = SN_NEW(ctx, &scratch, uint8_t, m->p->n), .region = SN_NEW(ctx, &scratch, int, m->p->n)};
  void *space = sn_arena_alloc(ctx, &scratch, 1, sn_rig_nearest_space(m->p));
  bool good = s.tried && s.region && space;
  *added = false;
  if (good && m->bones < m->capacity) {
    s.radius = neighbourhood(m->p, 4 + spread * m->p->n / (6 * m->bones), space, s.region);
    int seed = worst_region(m, &s);
    if (seed >= 0) {
      int count = within(m->p, seed, s.radius, s.region);
      sn_rig_fit_region(m->p, s.region, count, m, m->bones++);
      rig_forget_trail(m);
      sn_rig_model_refresh(ctx, m);
      *added = true;
    }
  }
  sn_arena_free(&scratch);
  return good ? SN_OK : ctx->error.status;
}

typedef struct placed_vertex {
  double place;
  int vertex;
} placed_vertex;

static int by_place(const void *a, const void *b) {
  const placed_vertex *x = a, *y = b;
  if (x->place != y->place) return x->place < y->place ? -1 : 1;
  return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

// The main direction of bone j's vertices.
static sn_vec3 main_direction(const rig_model *m, int j) {
  double s[4][4];
  sn_mat3 cov, u, v;
  sn_vec3 size;
  rig_unpack(rig_pair(m, j, j), s);
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) cov.m[r][c] = s[r][c] - s[r][3] * s[c][3] / s[3][3];
  sn_mat3_svd(cov, &u, &size, &v);
  return sn_mat3_column(u, 0);
}

sn_status sn_rig_split_largest(sn_context *ctx, rig_model *m, bool *added) {
  sn_arena scratch = sn_arena_new(ctx);
  placed_vertex *placed = SN_NEW(ctx, &scratch, placed_vertex, m->p->n);
  int *region = SN_NEW(ctx, &scratch, int, m->p->n), largest = 0, count = 0;
  bool good = placed && region;
  *added = false;
  for (int j = 1; j < m->bones; j++)
    if (rig_pair(m, j, j)[9] > rig_pair(m, largest, largest)[9]) largest = j;
  if (good && m->bones < m->capacity && rig_pair(m, largest, largest)[9] > 0) {
    sn_vec3 along = main_direction(m, largest);
    for (int i = 0; i < m->p->n; i++) {
      const double *u = m->p->u[i];
      if (m->joint[(size_t)i * (size_t)m->limit] != largest) continue;
      placed[count++] = (placed_vertex){u[0] * along.x + u[1] * along.y + u[2] * along.z, i};
    }
    qsort(placed, (size_t)count, sizeof *placed, by_place);
    for (int q = 0; q < count / 2 && count >= 8; q++) {
      region[q] = placed[q].vertex;
      m->joint[(size_t)region[q] * (size_t)m->limit] = (uint16_t)m->bones;
    }
    *added = count / 2 >= 4;
  }
  if (*added) {
    sn_rig_fit_region(m->p, region, count / 2, m, m->bones++);
    rig_forget_trail(m);
    sn_rig_model_refresh(ctx, m);
  }
  sn_arena_free(&scratch);
  return good ? SN_OK : ctx->error.status;
}

// Better, or not much worse with fewer slivers. Half and twice of what either allows change nothing on the generated leg, shoulder and athlete.
static const double enough_better = 0.998, worse_for_slivers = 1.2;

static bool accept(const rig_model *m, const rig_tree *tree, double error, int slivers) {
  int now = count_slivers(m, tree);
  if (now < slivers) return m->error < worse_for_slivers * error;
  return now == slivers && m->error < enough_better * error;
}

// On exact data every bone that gets to its true place takes a good part of the error with it: as long as that happens, moves
// are tried anew.
static const double great_gain = 0.8;
enum { most_gains = 12 };

sn_status sn_rig_refine(sn_context *ctx, rig_model *m, const rig_way *way, int moves) {
  if (m->bones < 2) return SN_OK;
  rig_tree kept_tree;
  sn_arena scratch = sn_arena_new(ctx);
  rig_model kept;
  size_t n = (size_t)m->p->n;
  region_search s = {.tried = SN_NEW(ctx, &scratch, uint8_t, n),
                     .region = SN_NEW(ctx, &scratch, int, n),
                     .seed = SN_NEW(ctx, &scratch, int, m->bones)};
  void *space = sn_arena_alloc(ctx, &scratch, 1, sn_rig_nearest_space(m->p));
  sn_status status = sn_rig_model_new(ctx, &scratch, m->p, m->capacity, m->limit, &kept);
  if (!s.tried || !s.region || !s.seed || !space) status = ctx->error.status;
  if (status == SN_OK) status = sn_rig_tree_new(ctx, &scratch, m->capacity, &kept_tree);
  if (status == SN_OK) s.radius = neighbourhood(m->p, 4 + m->p->n / (6 * m->bones), space, s.region);
  int gains = 0, failures = 0, batch = way->tree ? 1 : 1 + m->bones / 6,
      slivers = status == SN_OK ? count_slivers(m, way->tree) : 0;
  for (int move = 0; status == SN_OK && (move < moves || (slivers > 0 && move < 2 * moves)); move++) {
    int count = choose_seeds(m, &s, batch);
    if (count == 0) break;
    if (!s.priced) status = sn_rig_pass(ctx, m, RIG_PRICE, NULL);
    if (status != SN_OK) break;
    s.priced = true;
    sn_rig_copy(m, &kept);
    if (way->tree) sn_rig_tree_copy(way->tree, &kept_tree);
    status = attempt(ctx, m, way, &s, count);
    if (status != SN_OK) break;
    if (accept(m, way->tree, kept.error, slivers)) {
      if (m->error < great_gain * kept.error && gains++ < most_gains) move = -1;
      memset(s.tried, 0, n * sizeof *s.tried);
      slivers = count_slivers(m, way->tree), failures = 0, s.priced = false;
      continue;
    }
    sn_rig_copy(&kept, m);
    if (way->tree) sn_rig_tree_copy(&kept_tree, way->tree);
    if (batch > 1) {
      batch /= 2;
    } else {
      // The next attempt tries another region, the one after that also another bone.
      int members = within(m->p, s.seed[0], 0.7 * s.radius, s.region);
      for (int q = 0; q < members; q++) s.tried[s.region[q]] = 1;
      s.skip = ++failures / 2 % 3;
    }
  }
  sn_arena_free(&scratch);
  return status;
}
