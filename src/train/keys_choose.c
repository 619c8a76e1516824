// SPDX-License-Identifier: MIT
// Frames are taken one after the other, each time the one with the least error in all frames, and then exchanged as long as
// that helps. The error is that of kernel ridge regression, known for every exchange without a fit: products of residuals
// of a set in frames f and g, E_fg = e_f . e_g, and the kernel's posterior covariance K_fg are kept up to date. With noise r and v = K_.a / (K_aa + r),
//
//     taking frame a:   e <- e - v e_a,   K <- K - v v^T (K_aa + r);   giving it back is the same with -r.
//
// Frames that are best for one width and ridge may be bad for another: several decide together, by the product of errors.
#include <math.h>
#include <string.h>

#include "train/keys.h"

// Parts of the kernel's trace: those that meet the frames and those that smooth, as the methods do.
static const double ridges[] = {1e-6, 1e-3};
enum { ridge_count = sizeof ridges / sizeof *ridges, setting_count = SN_KEY_WIDTHS * ridge_count };

// Enough for any clip to settle. Numbers visited after which the exchange ends, whatever could still be gained: a few seconds.
enum { most_sweeps = 8 };
static const double most_work = 4e9;

typedef struct state {
  double *kernel, *error; // K and E
  double noise;           // r
  double *v, *own;        // work: frame_count
  double left, *change;   // the sum of squared errors; what it would become more with every frame, were that taken
} state;

typedef struct chooser {
  sn_context *ctx;
  const sn_key_sets *sets;
  int wanted;
  state *states; // of every setting and set
  bool *chosen;
  double work;
  int moved;   // the frame that is taken or given back
  double sign; // of the noise
} chooser;

// The errors of a set, were frame f taken: sum_g E_gg - 2 v_g E_gf + v_g^2 E_ff.
static void weigh(state *t, int n) {
  t->left = 0;
  for (int f = 0; f < n; f++) {
    const double *k = t->kernel + (size_t)f * (size_t)n, *e = t->error + (size_t)f * (size_t)n;
    double pivot = k[f] + t->noise, cross = 0, square = 0;
    for (int g = 0; g < n; g++) cross += k[g] * e[g], square += k[g] * k[g];
    t->left += e[f];
    t->change[f] = pivot > 0 ? (square * e[f] / pivot - 2 * cross) / pivot : 0;
  }
}

static void move_frame(const chooser *c, state *t, int n) {
  double pivot = t->kernel[(size_t)c->moved * (size_t)(n + 1)] + c->sign * t->noise;
  memcpy(t->own, t->error + (size_t)c->moved * (size_t)n, (size_t)n * sizeof *t->own);
  for (int f = 0; f < n; f++) t->v[f] = pivot != 0 ? t->kernel[(size_t)c->moved * (size_t)n + (size_t)f] / pivot : 0;
  for (int f = 0; f < n; f++) {
    double *k = t->kernel + (size_t)f * (size_t)n, *e = t->error + (size_t)f * (size_t)n, v = t->v[f];
    double along = v * t->own[c->moved] - t->own[f];
    for (int g = 0; g < n; g++) k[g] -= v * pivot * t->v[g], e[g] += along * t->v[g] - v * t->own[g];
  }
}

static void move_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const chooser *c = user;
  for (int64_t s = begin; s < end; s++) {
    move_frame(c, &c->states[s], c->sets->frame_count);
    weigh(&c->states[s], c->sets->frame_count);
  }
}

static void move(chooser *c, int frame, bool take) {
  double n = c->sets->frame_count;
  c->moved = frame, c->sign = take ? 1 : -1, c->chosen[frame] = take;
  c->work += 4 * n * n * c->sets->count * setting_count;
  sn_parallel_for(c->ctx, c->sets->count * setting_count, 1, move_range, c);
}

// Nothing taken.
static void reset(chooser *c) {
  size_t n = (size_t)c->sets->frame_count, square = n * n * sizeof(double);
  memset(c->chosen, 0, n * sizeof *c->chosen);
  for (int k = 0; k < c->sets->count * setting_count; k++) {
    const sn_key_set *set = &c->sets->sets[k % c->sets->count];
    int setting = k / c->sets->count;
    state *t = &c->states[k];
    memcpy(t->kernel, set->kernels[setting / ridge_count], square), memcpy(t->error, set->missed, square);
    t->noise = 0;
    for (size_t f = 0; f < n; f++) t->noise += ridges[setting % ridge_count] * t->kernel[f * n + f];
    weigh(t, (int)n);
  }
}

// The logarithm of the product over the settings of what is left in all frames, if frame f were taken; f < 0: now.
static double error_with(const chooser *c, int f) {
  double sum = 0;
  for (int k = 0; k < setting_count; k++) {
    double left = 0;
    for (int s = 0; s < c->sets->count; s++) {
      const state *t = &c->states[k * c->sets->count + s];
      left += t->left + (f >= 0 ? t->change[f] : 0);
    }
    sum += log(fmax(left, 1e-300));
  }
  return sum;
}

// The frame to take next.
static int best_frame(const chooser *c) {
  double least = INFINITY;
  int best = -1;
  for (int f = 0; f < c->sets->frame_count; f++) {
    if (c->chosen[f]) continue;
    double error = error_with(c, f);
    if (error < least || best < 0) least = error, best = f;
  }
  return best;
}

// Every chosen frame in turn makes way for the best one; false where that is always itself.
static sn_status sweep(chooser *c, bool *better) {
  *better = false;
  for (int f = 0; f < c->sets->frame_count && c->work < most_work; f++) {
    if (!c->chosen[f]) continue;
    if (!sn_progress(c->ctx, "keys", c->work / most_work)) return sn_fail(c->ctx, SN_STOPPED, "stopped");
    move(c, f, false);
    int best = best_frame(c);
    move(c, best, true);
    *better = *better || best != f;
  }
  return SN_OK;
}

// Exchanges the frames that are taken; those are kept if the error is less than `least`.
static sn_status settle(chooser *c, double *least, bool *kept) {
  sn_status status = SN_OK;
  bool better = c->wanted < c->sets->frame_count;
  for (int n = 0; status == SN_OK && better && n < most_sweeps; n++) status = sweep(c, &better);
  double error = error_with(c, -1);
  if (status == SN_OK && error < *least)
    *least = error, memcpy(kept, c->chosen, (size_t)c->sets->frame_count * sizeof *kept);
  return status;
}

static sn_status new_states(chooser *c, sn_arena *memory) {
  size_t n = (size_t)c->sets->frame_count;
  int count = c->sets->count * setting_count;
  c->states = SN_NEW(c->ctx, memory, state, count), c->chosen = SN_NEW(c->ctx, memory, bool, n);
  if (!c->states || !c->chosen) return c->ctx->error.status;
  for (int s = 0; s < count; s++) {
    state *t = &c->states[s];
    t->kernel = SN_NEW(c->ctx, memory, double, n *n), t->error = SN_NEW(c->ctx, memory, double, n *n);
    t->v = SN_NEW(c->ctx, memory, double, n), t->own = SN_NEW(c->ctx, memory, double, n);
    t->change = SN_NEW(c->ctx, memory, double, n);
    if (!t->kernel || !t->error || !t->v || !t->own || !t->change) return c->ctx->error.status;
  }
  return SN_OK;
}

sn_status sn_key_sets_choose(sn_context *ctx, const sn_key_sets *sets, int wanted, bool *chosen) {
  sn_arena memory = sn_arena_new(ctx);
  chooser c = {.ctx = ctx, .sets = sets, .wanted = wanted};
  double least = INFINITY;
  sn_status status = new_states(&c, &memory);
  if (status == SN_OK) { // from the best one after the other
    reset(&c);
    for (int k = 0; k < wanted; k++) move(&c, best_frame(&c), true);
    status = settle(&c, &least, chosen);
  }
  if (status == SN_OK) { // and from evenly spread ones
    reset(&c);
    for (int k = 0; k < wanted; k++) move(&c, (int)((2 * (int64_t)k + 1) * sets->frame_count / (2 * wanted)), true);
    status = settle(&c, &least, chosen);
  }
  sn_arena_free(&memory);
  return status;
}
