// SPDX-License-Identifier: MIT
// Width and ridge of local pose spaces, by poses left out. What is left out is new in value to the vertices that are asked, and
// not new in kind: groups of poses that are alike at the joints near those vertices go together.
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "solve/lapack.h"
#include "train/correct/local.h"
#include "train/folds.h"

// In radians: a joint's turns are rarely more than two apart, and twice that is a parabola.
static const sn_local_form forms[] = {{1, false}, {2, false}, {1, true}, {2, true}};
// Parts of the kernel's trace, simplest first.
static const double ridges[] = {1e-3, 1e-4, 1e-5, 1e-6};
// Where poses left out tell nothing (a few sculpted poses), all of them are met; but not by functions of single joints that are large and
// cancel in sum. 1e-12 let 27 frames of cheburashka-pose do that (eigenskin 0.99 on the others); 1e-6 no longer meets the demo's arm (0.14
// instead of 0.003 in training, 0.14 instead of 0.10 between).
static const double untold_ridge = 1e-9;
enum { form_count = sizeof forms / sizeof *forms, ridge_count = sizeof ridges / sizeof *ridges };

// Poses this part of the typical distance apart are alike. On the generated arm, every fourth of 40 frames, 0.125 is the same, 0.5 leaves 2 to 7 % more
// between frames and on another clip; elbow, shoulder and athlete do not care.
static const double alike = 0.25;
// Sets with the most to correct, this part of it at least, decide; and no more than so many. On the same arm 0.97 is the same, 0.8 leaves 10 % more.
static const double deciding_part = 0.9;
enum { most_deciding = 24 };

// Squared errors of a setting: on poses left out; to be expected of mixed motion, for the choice and for what the user is told.
typedef struct verdict {
  double left_out, mixed, spread;
} verdict;

enum { setting_count = form_count * ridge_count };

typedef struct chooser {
  const sn_local *l;
  int form_count, ridge_count;
  sn_local_form forms[form_count];
  double ridges[ridge_count];
  sn_local_space *spaces[form_count];
  const int *deciding;
  bool all_poses;                         // are asked
  bool anew;                              // mixed motion turns joints as the clip does not
  double *energy;                         // of every deciding set: what it misses, squared
  verdict (*verdicts)[setting_count + 1]; // of every deciding set; the last: without correction
} chooser;

// Squared misses of a set's vertices between poses: gram[p, q] = sum_i d_i(p) . d_i(q).
static sn_status miss_gram(sn_context *ctx, sn_arena *memory, const sn_local *l, const sn_local_set *set,
                           double *gram) {
  size_t poses = (size_t)l->m->pose_count, columns = 3 * (size_t)set->count, n = (size_t)l->m->vertex_count;
  double *d = SN_NEW(ctx, memory, double, poses *columns);
  if (!d) return ctx->error.status;
  for (size_t p = 0; p < poses; p++)
    for (size_t k = 0; k < columns; k++)
      d[p * columns + k] = l->m->deltas[p * n + (size_t)set->vertices[k / 3]][k % 3];
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)poses, (int)poses, (int)columns, 1, d, (int)columns, d,
              (int)columns, 0, gram, (int)poses);
  return SN_OK;
}

static sn_status make_folds(sn_context *ctx, sn_arena *memory, const sn_local *l, const sn_local_set *set,
                            sn_folds *out) {
  size_t poses = (size_t)l->m->pose_count;
  double *distances = SN_NEW(ctx, memory, double, poses *poses), sum = 0;
  if (!distances) return ctx->error.status;
  for (size_t p = 0; p < poses; p++)
    for (size_t q = 0; q < poses; q++) {
      double d2 = 0;
      for (int k = 0; k < l->joint_count; k++) {
        const double *x = sn_control_at(l->m, (int)p, l->joints[k]), *y = sn_control_at(l->m, (int)q, l->joints[k]);
        for (int c = 0; c < sn_control_dims(l->m, l->joints[k]); c++)
          d2 += set->relevance[k] * (x[c] - y[c]) * (x[c] - y[c]);
      }
      distances[p * poses + q] = sqrt(d2), sum += d2;
    }
  double typical = sqrt(sum / (double)(poses * poses));
  return sn_folds_similar(ctx, memory, (int)poses, distances, alike * typical, sn_usual_folds, out);
}

// What is asked of a set: the folds of poses, and which of them the others can answer.
typedef struct questions {
  sn_folds folds;
  bool *asked;  // pose_count
  double scale; // what all poses miss, of what those asked miss; 0: too few are asked
} questions;

// Whether the poses outside a fold go as far as `pose` in its direction: beyond them there is only the bound.
static bool answerable(const sn_local *l, const sn_local_set *set, const sn_fold *fold, int pose) {
  for (int n = 0; n < fold->outside_count; n++) {
    double along = 0, length = 0;
    for (int k = 0; k < l->joint_count; k++) {
      const double *rest = sn_control_at(l->m, 0, l->joints[k]), *x = sn_control_at(l->m, pose, l->joints[k]),
                   *y = sn_control_at(l->m, fold->poses[n], l->joints[k]);
      for (int c = 0; c < sn_control_dims(l->m, l->joints[k]); c++) {
        double d = set->relevance[k] * (x[c] - rest[c]);
        along += d * (y[c] - rest[c]), length += d * (x[c] - rest[c]);
      }
    }
    if (along >= length) return true;
  }
  return false;
}

// Poses asked that miss less than this part of all cannot tell, nor can fewer than so many.
static const double least_asked = 0.05;
enum { fewest_asked = 20 };

static sn_status ask(sn_context *ctx, sn_arena *memory, const sn_local *l, const sn_local_set *set,
                     const double *gram, bool all_poses, questions *out) {
  int poses = l->m->pose_count;
  double all = 0, asked = 0;
  int count = 0;
  out->asked = SN_NEW(ctx, memory, bool, poses);
  sn_status status = out->asked ? make_folds(ctx, memory, l, set, &out->folds) : ctx->error.status;
  for (int n = 0; status == SN_OK && n < out->folds.fold_count; n++) {
    const sn_fold *fold = out->folds.folds + n;
    for (int k = fold->outside_count; k < fold->count; k++) {
      int p = fold->poses[k];
      double miss = gram[(size_t)p * (size_t)poses + (size_t)p];
      out->asked[p] = all_poses || answerable(l, set, fold, p);
      all += miss, asked += out->asked[p] ? miss : 0, count += out->asked[p] && miss > 0;
    }
  }
  bool enough = asked > least_asked * all && count >= fewest_asked;
  out->scale = asked > 0 && (enough || all_poses) ? all / asked : 0;
  return status;
}

// Sum of squared errors at the poses asked of a fold when it is left out: with B = (K + ridge)^-1, the errors are
// (B_GG)^-1 (B d)_G, so their squares are trace(A P_GG A), A = (B_GG)^-1, P = B gram B; `half` is B gram.
static sn_status fold_error(sn_context *ctx, const questions *q, const sn_fold *fold, int poses,
                            const double *inverse, const double *half, double *work, double *error) {
  int count = fold->count - fold->outside_count;
  const int *left = fold->poses + fold->outside_count;
  double *a = work, *p = a + count * count, *ap = p + count * count, *b = ap + count * count, *bg = b + count * poses;
  size_t row = (size_t)poses * sizeof *b;
  for (int r = 0; r < count; r++) {
    for (int c = 0; c < count; c++) a[r * count + c] = inverse[left[r] * poses + left[c]];
    memcpy(b + r * poses, inverse + left[r] * poses, row);
    memcpy(bg + r * poses, half + left[r] * poses, row);
  }
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, count, poses, 1, bg, poses, b, poses, 0, p, count);
  double condition;
  sn_status status = sn_lapack_invert(ctx, true, count, a, &condition);
  if (status == SN_NOT_CONVERGED) *error = INFINITY;
  if (status != SN_OK) return status == SN_NOT_CONVERGED ? SN_OK : status;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, count, count, 1, a, count, p, count, 0, ap, count);
  for (int k = 0; k < count * count; k++) *error += q->asked[left[k / count]] ? q->scale * ap[k] * a[k] : 0;
  return SN_OK;
}

// Motion that mixes what the clip has shown: every joint in a pose of the clip, but each in another.
typedef struct mixture {
  double *cross; // pose_count mixed poses * pose_count: the kernel between them and those of the clip
  double *both;  // cross^T cross
  double *turns; // one mixed pose
  double own;    // sum over the mixed poses of the kernel with themselves
} mixture;

// Which pose of the clip joint k has in mixed pose q.
static int mixed_from(const sn_local *l, int q, int k) {
  int poses = l->m->pose_count;
  return (q + (int)((int64_t)k * poses / l->joint_count)) % poses;
}

// The turn of joint k in mixed pose q, whose numbers in space->turns begin at `first`: that in a pose of the clip; `anew`: a sum of all its turns away from rest,
// each by chance, which has their mean square in every direction, that of what the joint never does too.
static void mixed_turn(const sn_local *l, const sn_local_space *space, int first, int q, int k, bool anew,
                       double *turn) {
  int dims = sn_control_dims(l->m, l->joints[k]), poses = l->m->pose_count;
  const double *rest = space->turns + first;
  memcpy(turn, rest + (anew ? 0 : mixed_from(l, q, k)) * space->dims, (size_t)dims * sizeof *turn);
  sn_random rng = sn_random_new((uint64_t)q * (uint64_t)l->joint_count + (uint64_t)k);
  for (int p = 0; anew && p < poses; p++) {
    double part = sn_random_normal(&rng) / sqrt(poses);
    for (int c = 0; c < dims; c++) turn[c] += part * (rest[p * space->dims + c] - rest[c]);
  }
}

static void mix_turns(const sn_local *l, const sn_local_space *space, int first, int q, bool anew, double *turns) {
  for (int k = first, d = 0; k < first + space->joint_count; k++) {
    mixed_turn(l, space, d, q, k, anew, turns + d);
    d += sn_control_dims(l->m, l->joints[k]);
  }
}

static void mix(const sn_local *l, const sn_local_space *spaces, const sn_local_set *set, bool anew, mixture *out) {
  int poses = l->m->pose_count;
  memset(out->cross, 0, (size_t)poses * (size_t)poses * sizeof *out->cross);
  out->own = 0;
  for (int k = 0; k < l->space_count; k++)
    for (int q = 0; q < poses; q++) {
      const sn_local_space *space = spaces + k;
      const double *x = out->turns;
      if (space->rank == 0) continue;
      mix_turns(l, space, k < l->joint_count ? k : 0, q, anew, out->turns);
      out->own += set->relevance[k] * sn_local_kernel_of(space, x, x);
      for (int p = 0; p < poses; p++)
        out->cross[q * poses + p] += set->relevance[k] * sn_local_kernel_of(space, x, space->turns + p * space->dims);
    }
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, poses, poses, poses, 1, out->cross, poses, out->cross, poses,
              0, out->both, poses);
}

typedef struct set_judge {
  questions q;
  mixture mixture;
  int poses;
  double *kernel, *gram, *work;
} set_judge;

// The error on poses left out, and that on mixed ones: how far the answers there are from known, which is the kernel's posterior
// variance, in units of what the vertices' misses say of its scale.
static sn_status judge_setting(sn_context *ctx, const set_judge *j, double ridge, verdict *out) {
  int poses = j->poses;
  size_t square = (size_t)poses * (size_t)poses;
  double *inverse = j->work, *half = inverse + square, condition, known = 0, scale = 0;
  memcpy(inverse, j->kernel, square * sizeof *inverse);
  for (int p = 0; p < poses; p++) inverse[p * poses + p] += ridge;
  sn_status status = sn_lapack_invert(ctx, true, poses, inverse, &condition);
  if (status == SN_NOT_CONVERGED) out->left_out = INFINITY;
  if (status != SN_OK) return status == SN_NOT_CONVERGED ? SN_OK : status;
  for (size_t k = 0; k < square; k++) known += inverse[k] * j->mixture.both[k], scale += inverse[k] * j->gram[k];
  out->mixed = fmax(j->mixture.own - known, 0) * scale / poses;
  double free = poses; // degrees of freedom: a clip of near-copies tells the scale of what it misses that often
  for (int p = 0; p < poses; p++) free -= ridge * inverse[p * poses + p];
  out->spread = out->mixed * poses / fmax(free, 1);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, poses, poses, poses, 1, inverse, poses, j->gram, poses, 0,
              half, poses);
  for (int n = 0; status == SN_OK && n < j->q.folds.fold_count; n++)
    status = fold_error(ctx, &j->q, j->q.folds.folds + n, poses, inverse, half, half + square, &out->left_out);
  return status;
}

static sn_status judge_set(sn_context *ctx, sn_arena *memory, void *user, int index) {
  const chooser *c = user;
  const sn_local *l = c->l;
  const sn_local_set *set = l->sets + c->deciding[index];
  size_t square = (size_t)l->m->pose_count * (size_t)l->m->pose_count;
  set_judge j = {.poses = l->m->pose_count};
  j.kernel = SN_NEW(ctx, memory, double, square), j.gram = SN_NEW(ctx, memory, double, square);
  j.mixture.cross = SN_NEW(ctx, memory, double, square), j.mixture.both = SN_NEW(ctx, memory, double, square);
  j.work = SN_NEW(ctx, memory, double, 7 * square); // two squares, and up to five of a fold that has all poses
  j.mixture.turns = SN_NEW(ctx, memory, double, 3 * l->joint_count);
  if (!j.kernel || !j.gram || !j.mixture.cross || !j.mixture.both || !j.mixture.turns || !j.work)
    return ctx->error.status;
  sn_status status = miss_gram(ctx, memory, l, set, j.gram);
  if (status == SN_OK) status = ask(ctx, memory, l, set, j.gram, c->all_poses, &j.q);
  if (status != SN_OK || !(j.q.scale > 0)) return status;
  verdict *verdicts = c->verdicts[index];
  for (int w = 0; status == SN_OK && w < c->form_count; w++) {
    double trace = sn_local_kernel(l, c->spaces[w], set, j.kernel);
    mix(l, c->spaces[w], set, c->anew, &j.mixture);
    for (int r = 0; status == SN_OK && trace > 0 && r < c->ridge_count; r++)
      status = judge_setting(ctx, &j, c->ridges[r] * trace, verdicts + w * c->ridge_count + r);
    if (trace > 0) verdicts[c->form_count * c->ridge_count].left_out = c->energy[index];
  }
  return status;
}

// The sets with the most to correct; returns how many, and what all miss.
static int find_deciding(const sn_local *l, double *energy, int *deciding, double *total, double *covered) {
  int count = 0;
  *total = *covered = 0;
  for (int s = 0; s < l->set_count; s++) {
    energy[s] = 0;
    for (int p = 0; p < l->m->pose_count; p++)
      for (int n = 0; n < l->sets[s].count; n++) {
        const float *d = l->m->deltas[(size_t)p * (size_t)l->m->vertex_count + (size_t)l->sets[s].vertices[n]];
        energy[s] += (double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2];
      }
    *total += energy[s];
  }
  while (count < most_deciding && count < l->set_count && *covered < deciding_part * *total) {
    int best = -1;
    for (int s = 0; s < l->set_count; s++) {
      bool taken = false;
      for (int k = 0; k < count; k++) taken |= deciding[k] == s;
      if (!taken && (best < 0 || energy[s] > energy[best])) best = s;
    }
    deciding[count++] = best, *covered += energy[best];
  }
  return count;
}

// Of settings that do about as well on poses left out, one that is surer of mixed motion: what that counts. A third and three times of it choose
// the same on the generated sets.
static const double caution = 0.003;

// A setting later in the lists is larger: it has to be this much better. On the generated sets 0.9 and 0.99 choose the same.
static const double worth = 0.95;

// The best setting; the last is no correction.
static int best_setting(const verdict *sums, int count) {
  int best = count;
  double least = sums[count].left_out;
  for (int k = 0; k < count; k++) {
    double error = sums[k].left_out + caution * sums[k].mixed;
    if (error < (best < count ? worth : 1) * least) best = k, least = error;
  }
  return best;
}

// Sums over the deciding sets; false where no set could tell.
static bool sum_verdicts(const chooser *c, int deciding_count, verdict *sums) {
  int count = c->form_count * c->ridge_count;
  for (int k = 0; k <= count; k++) sums[k] = (verdict){0};
  for (int n = 0; n < deciding_count; n++)
    for (int k = 0; k <= count; k++)
      sums[k].left_out += c->verdicts[n][k].left_out, sums[k].mixed += c->verdicts[n][k].mixed,
        sums[k].spread += c->verdicts[n][k].spread;
  return sums[count].left_out > 0;
}

// Where poses left out are half as uncertain as those that mix the clip's, the clip shows what its joints do: a range of motion. Where they are near-copies, an
// animation, new motion turns the joints anew. With all motion anew an animation added to a range of motion counts twice (athlete: 0.18
// expected, 0.09 found), with none half of what is found is expected (own animation, first half on second: 0.17 and 0.36).
static const double told_by = 0.5;

// Two answers to one question: poses left out that others can answer, and what the kernel does not know of new motion.
static sn_status foresee(chooser *c, const sn_folds *each, int setting, const verdict *known, double *left) {
  verdict sums[setting_count + 1];
  c->spaces[0] = c->spaces[setting / c->ridge_count], c->ridges[0] = c->ridges[setting % c->ridge_count];
  c->form_count = c->ridge_count = 1, c->anew = true;
  memset(c->verdicts, 0, (size_t)each->fold_count * sizeof *c->verdicts);
  sn_status status = sn_folds_share(c->l->ctx, each, judge_set, c, c->verdicts, sizeof *c->verdicts);
  sum_verdicts(c, each->fold_count, sums);
  double untold = known->spread > 0 ? fmax(1 - known->left_out / (told_by * told_by * known->spread), 0) : 0;
  *left = fmax(known->left_out, known->spread);
  if (untold > 0 && sums[0].spread > 0) *left = known->spread * pow(sums[0].spread / known->spread, untold);
  return status;
}

static sn_status judge(const sn_local *l, sn_arena *memory, sn_local_form *form, double *ridge, double *expected) {
  const sn_correct_options *o = l->options;
  chooser c = {.l = l, .ridge_count = o->ridge > 0 ? 1 : ridge_count};
  for (int w = 0; w < form_count; w++) {
    bool same_width = o->sigma > 0 && forms[w].width > forms[0].width,
         same_joint = (l->joint_count == 1 || o->ridge == 0) && forms[w].whole;
    if (same_width || same_joint) continue;
    c.forms[c.form_count] = forms[w];
    if (o->sigma > 0) c.forms[c.form_count].width = o->sigma;
    c.form_count++;
  }
  for (int r = 0; r < c.ridge_count; r++) c.ridges[r] = o->ridge > 0 ? o->ridge : ridges[r];
  sn_status status = SN_OK;
  for (int w = 0; status == SN_OK && w < c.form_count; w++)
    status = sn_local_spaces(l, memory, c.forms[w], &c.spaces[w]);
  if (status != SN_OK) return status;
  double *energy = SN_NEW(l->ctx, memory, double, l->set_count), total, covered;
  int *deciding = SN_NEW(l->ctx, memory, int, l->set_count);
  if (!energy || !deciding) return l->ctx->error.status;
  sn_folds each = {.fold_count = find_deciding(l, energy, deciding, &total, &covered)};
  c.verdicts = sn_arena_alloc(l->ctx, memory, (size_t)each.fold_count, sizeof *c.verdicts);
  c.energy = SN_NEW(l->ctx, memory, double, each.fold_count), c.deciding = deciding;
  if (!c.verdicts || !c.energy) return l->ctx->error.status;
  for (int n = 0; n < each.fold_count; n++) c.energy[n] = energy[deciding[n]];
  status = sn_folds_share(l->ctx, &each, judge_set, &c, c.verdicts, sizeof *c.verdicts);
  verdict sums[setting_count + 1];
  bool told = sum_verdicts(&c, each.fold_count, sums), given = o->ridge > 0;
  int poses = l->m->pose_count - 1 - o->lessons, values = l->m->value_count; // but for the rest pose
  bool few = poses <= fewest_asked * (values > 1 ? values : 1); // a face of 50 shapes has one pose of each
  if (status == SN_OK && !told) {                               // of few the width at least
    c.all_poses = true;
    if (few) sn_local_forget_far(l);
    if (few && !given && o->ridge != 0) c.ridge_count = 1, c.ridges[0] = untold_ridge; // 0: they are met otherwise
    status = sn_folds_share(l->ctx, &each, judge_set, &c, c.verdicts, sizeof *c.verdicts);
    sum_verdicts(&c, each.fold_count, sums);
  }
  int count = c.form_count * c.ridge_count, best = best_setting(sums, count);
  if (best == count && (given || (!told && few))) best = 0;
  *form = c.forms[best < count ? best / c.ridge_count : 0];
  *ridge = best < count ? c.ridges[best % c.ridge_count] : INFINITY;
  double left = sums[best].left_out;
  if (status == SN_OK && best < count) status = foresee(&c, &each, best, &sums[best], &left);
  *expected = sums[count].left_out > 0 ? left * total / sums[count].left_out : 0;
  return status;
}

// The same misses at fewer poses, spread evenly; the first, the rest pose, is among them.
static sn_status thin_out(const sn_local *l, sn_arena *memory, sn_misses *few) {
  const sn_misses *m = l->m;
  size_t dims = (size_t)sn_misses_dims(m), n = (size_t)m->vertex_count;
  *few = *m;
  few->pose_count = SN_LOCAL_LONG;
  few->vectors = SN_NEW(l->ctx, memory, double, SN_LOCAL_LONG *dims);
  few->deltas = sn_arena_alloc(l->ctx, memory, SN_LOCAL_LONG * n, sizeof *few->deltas);
  if (!few->vectors || !few->deltas) return l->ctx->error.status;
  for (size_t p = 0; p < SN_LOCAL_LONG; p++) {
    size_t from = p * (size_t)m->pose_count / SN_LOCAL_LONG;
    memcpy(few->vectors + p * dims, m->vectors + from * dims, dims * sizeof *few->vectors);
    memcpy(few->deltas + p * n, m->deltas + from * n, n * sizeof *few->deltas);
  }
  return SN_OK;
}

sn_status sn_local_choose(const sn_local *l, sn_local_form *form, double *ridge, double *expected) {
  sn_arena memory = sn_arena_new(l->ctx);
  sn_misses few;
  sn_local thin = *l;
  sn_status status = SN_OK;
  bool longer = l->m->pose_count > SN_LOCAL_LONG;
  if (longer) status = thin_out(l, &memory, &few), thin.m = &few;
  if (status == SN_OK) status = judge(&thin, &memory, form, ridge, expected);
  if (longer && status == SN_OK) *expected *= (double)l->m->pose_count / SN_LOCAL_LONG;
  sn_arena_free(&memory);
  return status;
}
