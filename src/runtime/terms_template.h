// SPDX-License-Identifier: MIT
// Coefficients of bases as sums over terms, eight partial sums each, with the vectors of the file that includes this.
#include "runtime/portable.h"

enum { mix_vectors = SN_RT_PARTS / width, mix_rows = 4 };

// `rows` bases. Terms are padded with zeros to a multiple of eight, which cancel the numbers read past a row of the mix.
static SN_RT_INLINE void mix_bases(const sn_rt_mix_job *job, const float *mix, int rows, float *values) {
  vf sums[mix_rows][mix_vectors];
  float parts[mix_rows][SN_RT_PARTS];
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < mix_vectors; v++) sums[r][v] = vf_set(0);
  for (uint32_t t = 0; t < job->count; t += SN_RT_PARTS)
    for (int v = 0; v < mix_vectors; v++) {
      vf terms = vf_load(job->terms + t + v * width);
      for (int r = 0; r < rows; r++)
        sums[r][v] = vf_add(sums[r][v], vf_mul(vf_load(mix + (size_t)r * job->count + t + v * width), terms));
    }
#if defined(SN_RT_SUM_ROWS)
  if (rows == mix_rows) {
    vf_sum_rows((const vf[mix_rows]){sums[0][0], sums[1][0], sums[2][0], sums[3][0]}, values);
    return;
  }
#endif
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < mix_vectors; v++) vf_store(parts[r] + v * width, sums[r][v]);
  for (int r = 0; r < rows; r++) values[r] = sn_rt_sum_parts(parts[r]);
}

static void mix_terms(const sn_rt_mix_job *job) {
  uint32_t b = 0;
  for (; b + mix_rows <= job->basis_count; b += mix_rows)
    mix_bases(job, job->mix + (size_t)b * job->count, mix_rows, job->values + b);
  const float *rest = job->mix + (size_t)b * job->count;
  uint32_t left = job->basis_count - b;
  if (left == 3) mix_bases(job, rest, 3, job->values + b);
  if (left == 2) mix_bases(job, rest, 2, job->values + b);
  if (left == 1) mix_bases(job, rest, 1, job->values + b);
}
