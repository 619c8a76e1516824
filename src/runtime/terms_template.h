// SPDX-License-Identifier: MIT
// Values of bases as sums over terms, eight partial sums each, with the vectors of the file that includes this.
#include "runtime/portable.h"

enum { mix_vectors = SN_RT_PARTS / width, mix_rows = 4 };

// The products of eight terms with a row of the mix are added to the row's partial sums.
static SN_RT_INLINE void mix_eight(const float *mix, const float *terms, vf sums[mix_vectors]) {
  for (int v = 0; v < mix_vectors; v++)
    sums[v] = vf_add(sums[v], vf_mul(vf_load(mix + v * width), vf_load(terms + v * width)));
}

// `rows` bases. The row of terms ends with zeros up to a multiple of eight; that of the mix does not.
static SN_RT_INLINE void mix_bases(const sn_rt_mix_job *job, const float *mix, int rows, float *values) {
  vf sums[mix_rows][mix_vectors];
  float parts[mix_rows][SN_RT_PARTS], last[SN_RT_PARTS] = {0};
  uint32_t whole = job->count / SN_RT_PARTS * SN_RT_PARTS;
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < mix_vectors; v++) sums[r][v] = vf_set(0);
  for (uint32_t t = 0; t < whole; t += SN_RT_PARTS)
    for (int r = 0; r < rows; r++) mix_eight(mix + (size_t)r * job->count + t, job->terms + t, sums[r]);
  for (int r = 0; r < rows; r++) {
    const float *rest = mix + (size_t)r * job->count + whole;
    for (uint32_t t = 0; t < job->count - whole; t++) last[t] = rest[t];
    if (whole < job->count) mix_eight(last, job->terms + whole, sums[r]);
    for (int v = 0; v < mix_vectors; v++) vf_store(parts[r] + v * width, sums[r][v]);
  }
  for (int r = 0; r < rows; r++) values[r] = sn_rt_sum_parts(parts[r]);
}

static void mix_terms(const sn_rt_mix_job *job) {
  uint32_t b = 0;
  for (; b + mix_rows <= job->basis_count; b += mix_rows)
    mix_bases(job, job->mix + (size_t)b * job->count, mix_rows, job->values + b);
  for (; b < job->basis_count; b++) mix_bases(job, job->mix + (size_t)b * job->count, 1, job->values + b);
}
