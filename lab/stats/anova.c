// SPDX-License-Identifier: MIT
// Two-way analysis of variance with interaction, and Scheffe's post-hoc test.
//
// Unbalanced tables: main effects by weighted squares of means (Yates 1934), the interaction by the weighted least-squares
// fit of an additive model to the cell means. Both are sums of squares of type III, and in a balanced table they are the
// sums of the textbook.
#include "lab/stats/stats.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

// ---- samples -------------------------------------------------------------------------------------------------------

void sn_sample_add(sn_sample *sample, double value) {
  double before = value - sample->mean;
  sample->n++;
  sample->mean += before / (double)sample->n;
  sample->ss += before * (value - sample->mean);
}

// The marginal check: (N - 1) sd^2 = sum (n - 1) sd_cell^2 + sum n (mean_cell - mean)^2.
void sn_sample_merge(sn_sample *sample, sn_sample other) {
  if (other.n == 0) return;
  double n = (double)sample->n, m = (double)other.n, d = other.mean - sample->mean;
  sample->mean += d * (m / (n + m));
  sample->ss += other.ss + d * d * (n * m / (n + m));
  sample->n += other.n;
}

sn_sample sn_sample_of(const double *values, int64_t count) {
  sn_sample sample = {0};
  for (int64_t k = 0; k < count; k++) sn_sample_add(&sample, values[k]);
  return sample;
}

sn_sample sn_sample_from_sd(double mean, double sd, int64_t n) {
  return (sn_sample){.n = n, .mean = mean, .ss = (double)(n - 1) * sd * sd};
}

double sn_sample_sd(sn_sample sample) { return sample.n < 2 ? 0 : sqrt(sample.ss / (double)(sample.n - 1)); }

// ---- tables --------------------------------------------------------------------------------------------------------

sn_status sn_anova_table_new(sn_context *ctx, const char *const factor[2], const char *const *const level[2],
                             const int level_count[2], sn_anova_table *out) {
  *out = (sn_anova_table){.memory = sn_arena_new(ctx)};
  bool good = true;
  for (int k = 0; good && k < 2; k++) {
    out->level_count[k] = level_count[k];
    out->factor[k] = sn_arena_text(ctx, &out->memory, factor[k]);
    out->level[k] = SN_NEW(ctx, &out->memory, char *, level_count[k]);
    good = out->factor[k] && out->level[k];
    for (int i = 0; good && i < level_count[k]; i++) {
      out->level[k][i] = sn_arena_text(ctx, &out->memory, level[k][i]);
      good = out->level[k][i] != NULL;
    }
  }
  if (good) out->cells = SN_NEW(ctx, &out->memory, sn_sample, (size_t)level_count[0] * (size_t)level_count[1]);
  if (good && out->cells) return SN_OK;
  sn_anova_table_free(out);
  return ctx->error.status;
}

SN_DEFINE_FREE(sn_anova_table);

sn_sample sn_anova_marginal(const sn_anova_table *table, int a, int b) {
  sn_sample sum = {0};
  for (int i = 0; i < table->level_count[0]; i++)
    for (int j = 0; j < table->level_count[1]; j++)
      if ((a < 0 || i == a) && (b < 0 || j == b)) sn_sample_merge(&sum, *sn_anova_cell(table, i, j));
  return sum;
}

static const sn_sample *cell_of(const sn_anova_table *table, int factor, int own, int other) {
  return factor == 0 ? sn_anova_cell(table, own, other) : sn_anova_cell(table, other, own);
}

static sn_status check_table(sn_context *ctx, const sn_anova_table *table, double alpha, bool *balanced) {
  *balanced = true;
  if (!(alpha > 0 && alpha < 1)) return sn_fail(ctx, SN_BAD_INPUT, "alpha %g is not between 0 and 1", alpha);
  for (int k = 0; k < 2; k++) {
    int count = table->level_count[k];
    if (count < 2) {
      return sn_fail(ctx, SN_BAD_INPUT, "factor %s has only the level %s; comparing needs two or more",
                     table->factor[k], count > 0 ? table->level[k][0] : "(none)");
    }
    if (count > SN_ANOVA_MAX_LEVELS) {
      return sn_fail(ctx, SN_BAD_INPUT, "factor %s has %d levels, more than %d", table->factor[k], count,
                     SN_ANOVA_MAX_LEVELS);
    }
  }
  for (int a = 0; a < table->level_count[0]; a++)
    for (int b = 0; b < table->level_count[1]; b++) {
      const sn_sample *cell = sn_anova_cell(table, a, b);
      if (cell->n < 2) {
        return sn_fail(ctx, SN_BAD_INPUT,
                       "the cell %s=%s, %s=%s has %lld value%s; every combination needs two or more",
                       table->factor[0], table->level[0][a], table->factor[1], table->level[1][b], (long long)cell->n,
                       cell->n == 1 ? "" : "s");
      }
      if (!isfinite(cell->mean) || !isfinite(cell->ss) || cell->ss < 0) {
        return sn_fail(ctx, SN_BAD_INPUT, "the cell %s=%s, %s=%s has no finite mean and deviation", table->factor[0],
                       table->level[0][a], table->factor[1], table->level[1][b]);
      }
      *balanced = *balanced && cell->n == table->cells[0].n;
    }
  return SN_OK;
}

// ---- sums of squares -------------------------------------------------------------------------------------------------

// Means of the levels' cell means, and the observations behind each: 1 / weight is the mean's variance in units of MS_E.
static void level_means(const sn_anova_table *table, int factor, double *mean, double *weight) {
  int others = table->level_count[1 - factor];
  for (int i = 0; i < table->level_count[factor]; i++) {
    double sum = 0, inverse = 0;
    for (int j = 0; j < others; j++) {
      const sn_sample *cell = cell_of(table, factor, i, j);
      sum += cell->mean, inverse += 1 / (double)cell->n;
    }
    mean[i] = sum / others;
    weight[i] = (double)others * others / inverse;
  }
}

// SS_A = sum w_i (mean_i - weighted mean)^2; in a balanced table b n sum (mean_A - grand)^2.
static double main_effect_ss(int count, const double *mean, const double *weight) {
  double total = 0, centre = 0, ss = 0;
  for (int i = 0; i < count; i++) total += weight[i], centre += weight[i] * (mean[i] - mean[0]);
  centre = mean[0] + centre / total;
  for (int i = 0; i < count; i++) ss += weight[i] * (mean[i] - centre) * (mean[i] - centre);
  return ss;
}

// Normal equations of min sum n_ij (r_ij - u_i - v_j)^2 with v_0 = 0, the u eliminated: (b-1) unknowns v_1, v_2, ...
static void additive_equations(const sn_anova_table *table, const double *r, double *matrix, double *right) {
  int a = table->level_count[0], b = table->level_count[1], m = b - 1;
  for (int i = 0; i < a; i++) {
    double n_row = 0, r_row = 0;
    for (int j = 0; j < b; j++) {
      double n = (double)sn_anova_cell(table, i, j)->n;
      n_row += n, r_row += n * r[i * b + j];
    }
    for (int j = 0; j < m; j++) {
      double n = (double)sn_anova_cell(table, i, j + 1)->n;
      matrix[j * m + j] += n;
      right[j] += n * (r[i * b + j + 1] - r_row / n_row);
      for (int k = 0; k < m; k++) matrix[j * m + k] -= n * (double)sn_anova_cell(table, i, k + 1)->n / n_row;
    }
  }
}

// Takes the weighted best u_i + v_j off r.
static void remove_additive(const sn_anova_table *table, const double *v, double *r) {
  int a = table->level_count[0], b = table->level_count[1];
  for (int i = 0; i < a; i++) {
    double n_row = 0, u = 0;
    for (int j = 0; j < b; j++) {
      double n = (double)sn_anova_cell(table, i, j)->n;
      if (j > 0) r[i * b + j] -= v[j - 1];
      n_row += n, u += n * r[i * b + j];
    }
    for (int j = 0; j < b; j++) r[i * b + j] -= u / n_row;
  }
}

// SS_AB = sum n_ij (residual of the additive model)^2. It starts from cell - row mean - column mean + grand, which in a
// balanced table is already that.
static sn_status interaction_ss(sn_context *ctx, const sn_anova_table *table, const double *row, const double *column,
                                double *ss) {
  int a = table->level_count[0], b = table->level_count[1], m = b - 1;
  sn_arena scratch = sn_arena_new(ctx);
  double *r = SN_NEW(ctx, &scratch, double, (size_t)a *(size_t)b), grand = 0;
  double *matrix = SN_NEW(ctx, &scratch, double, (size_t)m *(size_t)m), *right = SN_NEW(ctx, &scratch, double, m);
  sn_status status = r && matrix && right ? SN_OK : ctx->error.status;
  if (status == SN_OK) {
    for (int i = 0; i < a; i++) grand += row[i] / a;
    for (int i = 0; i < a; i++)
      for (int j = 0; j < b; j++) {
        r[i * b + j] = (sn_anova_cell(table, i, j)->mean - row[i]) - (column[j] - grand);
      }
    additive_equations(table, r, matrix, right);
    lapack_int info = LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'L', m, 1, matrix, m, right, m);
    if (info != 0) {
      status =
        sn_fail(ctx, SN_NOT_CONVERGED, "the interaction cannot be separated: the cells' counts differ too much");
    }
  }
  if (status == SN_OK) {
    remove_additive(table, right, r);
    *ss = 0;
    for (int k = 0; k < a * b; k++) *ss += (double)table->cells[k].n * r[k] * r[k];
  }
  sn_arena_free(&scratch);
  return status;
}

static sn_anova_effect effect_of(double ss, double df, const sn_anova *anova) {
  double ms = ss / df, f = ms / anova->ms_error;
  return (sn_anova_effect){.ss = ss,
                           .df = df,
                           .ms = ms,
                           .f = f,
                           .p = sn_f_upper(f, df, anova->df_error),
                           .partial_eta2 = ss / (ss + anova->ss_error)};
}

// ---- Scheffe -------------------------------------------------------------------------------------------------------

static void sort_by_mean(sn_scheffe *s) {
  for (int k = 0; k < s->level_count; k++) {
    int at = k;
    for (; at > 0 && s->mean[s->order[at - 1]] > s->mean[k]; at--) s->order[at] = s->order[at - 1];
    s->order[at] = k;
  }
}

// F_S = (mean_1 - mean_2)^2 / (MS_E (1/m_1 + 1/m_2) (g - 1)).
static void compare_pairs(const sn_anova *anova, sn_scheffe *s) {
  double df = s->level_count - 1;
  for (int i = 0; i < s->level_count; i++)
    for (int j = i + 1; j < s->level_count; j++) {
      double difference = s->mean[i] - s->mean[j];
      double variance = df * anova->ms_error * (1 / s->weight[i] + 1 / s->weight[j]);
      double f = difference * difference / variance;
      s->pairs[s->pair_count++] = (sn_scheffe_pair){.first = i,
                                                    .second = j,
                                                    .difference = difference,
                                                    .critical = sqrt(variance * s->f_critical),
                                                    .f = f,
                                                    .p = sn_f_upper(f, df, anova->df_error),
                                                    .differs = f > s->f_critical};
    }
}

static bool levels_differ(const sn_scheffe *s, int i, int j) {
  for (int k = 0; k < s->pair_count; k++)
    if ((s->pairs[k].first == i && s->pairs[k].second == j) || (s->pairs[k].first == j && s->pairs[k].second == i)) {
      return s->pairs[k].differs;
    }
  return false;
}

// The longest runs of levels by mean in which no two differ; runs within a longer one are left out.
static void form_groups(sn_scheffe *s) {
  s->partition = true;
  for (int first = 0; first < s->level_count; first++) {
    int last = first;
    for (bool same = true; same && last + 1 < s->level_count; last += same)
      for (int k = first; k <= last; k++) same = same && !levels_differ(s, s->order[k], s->order[last + 1]);
    sn_scheffe_group *before = s->group_count > 0 ? &s->groups[s->group_count - 1] : NULL;
    if (before && before->last >= last) continue;
    if (before && before->last >= first) s->partition = false;
    s->groups[s->group_count++] = (sn_scheffe_group){first, last};
  }
}

static sn_status new_scheffe(sn_context *ctx, sn_arena *memory, int levels, sn_scheffe *s) {
  *s = (sn_scheffe){.level_count = levels};
  s->mean = SN_NEW(ctx, memory, double, levels);
  s->weight = SN_NEW(ctx, memory, double, levels);
  s->order = SN_NEW(ctx, memory, int, levels);
  s->pairs = SN_NEW(ctx, memory, sn_scheffe_pair, levels * (levels - 1) / 2);
  s->groups = SN_NEW(ctx, memory, sn_scheffe_group, levels);
  return s->mean && s->weight && s->order && s->pairs && s->groups ? SN_OK : ctx->error.status;
}

// ---- the analysis --------------------------------------------------------------------------------------------------

static sn_status error_term(sn_context *ctx, const sn_anova_table *table, sn_anova *out) {
  for (int k = 0; k < table->level_count[0] * table->level_count[1]; k++) {
    out->ss_error += table->cells[k].ss;
    out->df_error += (double)(table->cells[k].n - 1);
  }
  out->ms_error = out->ss_error / out->df_error;
  if (out->ss_error > 0 && isfinite(out->ss_error)) return SN_OK;
  return sn_fail(ctx, SN_BAD_INPUT, "%s",
                 out->ss_error > 0 ? "the deviations are too large to be squared; change the unit of the values"
                                   : "no cell has any variation, so there is nothing to measure differences by");
}

static sn_status analyse(sn_context *ctx, const sn_anova_table *table, sn_anova *out) {
  double interaction, df[2];
  sn_status status = error_term(ctx, table, out);
  for (int k = 0; status == SN_OK && k < 2; k++) {
    sn_scheffe *s = &out->post_hoc[k];
    status = new_scheffe(ctx, &out->memory, table->level_count[k], s);
    if (status != SN_OK) break;
    df[k] = s->level_count - 1;
    level_means(table, k, s->mean, s->weight);
    out->effect[k] = effect_of(main_effect_ss(s->level_count, s->mean, s->weight), df[k], out);
    s->f_critical = sn_f_quantile(out->alpha, df[k], out->df_error);
    sort_by_mean(s);
    compare_pairs(out, s);
    form_groups(s);
  }
  if (status == SN_OK) {
    status = interaction_ss(ctx, table, out->post_hoc[0].mean, out->post_hoc[1].mean, &interaction);
  }
  if (status == SN_OK) out->effect[2] = effect_of(interaction, df[0] * df[1], out);
  for (int k = 0; status == SN_OK && k < 3; k++)
    if (!isfinite(out->effect[k].f)) {
      status = sn_fail(ctx, SN_BAD_INPUT, "F is too large for a number: the cells' deviations are next to nothing");
    }
  return status;
}

sn_status sn_anova_run(sn_context *ctx, const sn_anova_table *table, double alpha, sn_anova *out) {
  *out = (sn_anova){.memory = sn_arena_new(ctx), .alpha = alpha};
  sn_status status = check_table(ctx, table, alpha, &out->balanced);
  if (status == SN_OK) status = analyse(ctx, table, out);
  if (status != SN_OK) sn_anova_free(out);
  return status;
}

SN_DEFINE_FREE(sn_anova);
