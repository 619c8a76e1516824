// SPDX-License-Identifier: MIT
// Times one evaluation against plain lbs and a copy of the same bytes, in the same run.
#include <stdlib.h>

#include "base/scope.h"
#include "job/job.h"

enum { rounds = 5 };

static int by_median(const void *a, const void *b) {
  double x = ((const sn_timing *)a)->median, y = ((const sn_timing *)b)->median;
  return (x > y) - (x < y);
}

static sn_timing middle(sn_timing *rows) {
  qsort(rows, rounds, sizeof *rows, by_median);
  return rows[rounds / 2];
}

sn_status sn_job_bench(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, double seconds,
                       sn_bench_result *out) {
  sn_timing full[rounds], positions[rounds], plain[rounds], copy[rounds];
  SN_FREED_BY(sn_model_free) sn_model bytes = {0};
  sn_rt_model lbs;
  size_t touched = (size_t)model->info.bytes_read + 24 * (size_t)model->info.vertex_count;
  double part = seconds / rounds;
  SN_TRY(sn_assess_plain_lbs(ctx, model, &bytes));
  SN_TRY(sn_model_open(ctx, "plain lbs", bytes.bytes, bytes.size, &lbs));
  // Measurements are interleaved, so that a disturbance affects all of them; each reports its median round.
  for (int r = 0; r < rounds; r++) {
    SN_TRY(sn_assess_time(ctx, model, examples, true, part, &full[r]));
    SN_TRY(sn_assess_time(ctx, &lbs, NULL, true, part, &plain[r]));
    SN_TRY(sn_assess_time(ctx, model, examples, false, part, &positions[r]));
    SN_TRY(sn_assess_copy_time(ctx, touched / 2, part, &copy[r]));
  }
  *out = (sn_bench_result){middle(full), middle(positions), middle(plain), middle(copy), touched};
  return SN_OK;
}

static json_t *describe(const sn_timing *t) {
  return json_pack("{sfsfsfsi}", "median", t->median, "low", t->low, "high", t->high, "repeats", t->repeats);
}

json_t *sn_report_bench(const sn_rt_model *model, const sn_bench_result *r) {
  json_t *out = json_object();
  double us = r->full.median;
  sn_report_add(out,
                "us_per_frame:f full:o positions:o lbs:o copy:o ratio_lbs:f ratio_copy:f vertices_per_second:f "
                "bytes_touched:I flops:I",
                us, describe(&r->full), describe(&r->positions), describe(&r->lbs), describe(&r->copy),
                us / r->lbs.median, us / r->copy.median, 1e6 * model->info.vertex_count / us, (json_int_t)r->bytes,
                (json_int_t)model->info.flops);
  return out;
}
