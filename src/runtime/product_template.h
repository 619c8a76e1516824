// SPDX-License-Identifier: MIT
// Products with matrices in strips of eight rows (the drive `controls`), with the vectors of the file that includes this.

enum { strip_vectors = SN_RT_STRIP / width, strip_sums = 8 };

// Adds a column of `count` strips, `step` numbers apart, times its row of x. With one right-hand side (the kernel vector, whose
// products cancel to many digits) the rounding is the same on every machine and on the GPU.
static SN_RT_INLINE void add_column(const float *column, size_t step, const float *x, int sides, int count,
                                    vf (*sum)[3]) {
  for (int n = 0; n < count * strip_vectors; n++) {
    vf rows = vf_load(column + (size_t)(n / strip_vectors) * step + n % strip_vectors * width);
    if (sides == 1) sum[n][0] = vf_add(sum[n][0], vf_mul(rows, vf_set(x[0])));
    for (int s = 0; sides > 1 && s < sides; s++) sum[n][s] = vf_fma(rows, vf_set(x[s]), sum[n][s]);
  }
}

// Rows from `row` on: `count` strips of `height` rows each, for `sides` right-hand sides. Columns are added to `chains` independent
// sums to hide latency. A strip of fewer than eight rows is also read eight numbers at a time, within bounds: the surplus numbers
// of the next columns are not used.
static SN_RT_INLINE uint32_t multiply_strips(const sn_rt_product_job *job, uint32_t row, int sides, int count,
                                             int chains, uint32_t height) {
  int vectors = count * strip_vectors;
  uint32_t c = 0, short_columns = (SN_RT_STRIP - 1) / height, all = job->columns;
  uint32_t end = height == SN_RT_STRIP ? all : all > short_columns ? all - short_columns : 0;
  size_t apart = sides == 1 ? 1 : 4, step = (size_t)all * SN_RT_STRIP;
  const float *m = job->matrix + (size_t)row * all, *x = job->x;
  float *out = job->out + row * apart, done[strip_sums * width];
  vf sum[strip_sums][3];
  for (int n = 0; n < chains * vectors; n++) sum[n][0] = sum[n][1] = sum[n][2] = vf_set(0);
  while (end - c >= (uint32_t)chains)
    for (int t = 0; t < chains; t++, c++, m += height, x += apart)
      add_column(m, step, x, sides, count, sum + t * vectors);
  for (; c < end; c++, m += height, x += apart) add_column(m, step, x, sides, count, sum);
  for (int s = 0; s < sides; s++) {
    for (int half = 1; half < chains; half *= 2)
      for (int t = 0; t + half < chains; t += 2 * half)
        for (int n = t * vectors; n < (t + 1) * vectors; n++)
          sum[n][s] = vf_add(sum[n][s], sum[n + half * vectors][s]);
    for (int n = 0; n < vectors; n++) vf_store(done + n * width, sum[n][s]);
    for (uint32_t r = 0; r < (uint32_t)count * height; r++) out[r * apart + (size_t)s] = done[r];
  }
  for (; c < all; c++, m += height, x += apart)
    for (uint32_t r = 0; r < height; r++)
      for (int s = 0; s < sides; s++) out[r * apart + (size_t)s] += m[r] * x[s];
  return row + (uint32_t)count * height;
}

// `count` strips at a time load a number of x once for all of them.
static SN_RT_INLINE void multiply(const sn_rt_product_job *job, int sides, int count, int chains) {
  uint32_t row = 0, rows = job->rows, strip = SN_RT_STRIP;
  while (rows - row >= (uint32_t)count * strip) row = multiply_strips(job, row, sides, count, chains, SN_RT_STRIP);
  while (rows - row >= strip) row = multiply_strips(job, row, sides, 1, chains, SN_RT_STRIP);
  if (row < rows) multiply_strips(job, row, sides, 1, 1, rows - row);
}

static void product(const sn_rt_product_job *job) {
  if (job->sides == 1)
    multiply(job, 1, width / 4, 4);
  else
    multiply(job, 3, width / 4, 2);
}
