// SPDX-License-Identifier: MIT
// The drive `controls` (Kim, Feng and Yu 2010): positions of control points -> kernel vector xi -> M xi, a quaternion and a
// stretch per bone -> F = R W -> places of the bones by the Poisson matrix P (sections 3.2, 3.3 and 5).
#include <math.h>
#include <string.h>

#include "runtime/drive.h"
#include "runtime/control_bone.h"

#if defined(SN_RT_HAS_AVX2)
#include <immintrin.h>
#endif

static const sn_rt_control *head_of(const sn_rt_model *model) { return sn_rt_data(model, SN_SECTION_CONTROL_HEAD); }

// ---- checks -----------------------------------------------------------------------------------------------------------

static uint32_t outputs_of(uint32_t flags) {
  uint32_t stretch = flags & SN_RT_CONTROL_STRETCH ? 6 : 0;
  return 4 + stretch + (flags & SN_RT_CONTROL_POISSON ? 0 : stretch ? 3 : 4);
}

static sn_rt_status check_head(sn_rt_checker *c) {
  const sn_rt_info *info = &c->model->info;
  if (info->blend != SN_RT_BLEND_LINEAR || info->correct != SN_RT_CORRECT_NONE)
    return SN_RT_BAD(c, "control points drive linear blends without corrections");
  if (info->joint_count) return SN_RT_BAD(c, "a model driven by control points has %u joints", info->joint_count);
  if (info->control_count == 0) return SN_RT_BAD(c, "a model driven by control points has none");
  if (info->control_count > info->vertex_count)
    return SN_RT_BAD(c, "%u control points are more than the vertices", info->control_count);
  sn_rt_status status = sn_rt_need(c, SN_SECTION_CONTROL_HEAD, sizeof(sn_rt_control));
  if (status) return status;
  const sn_rt_control *head = head_of(c->model);
  if (head->flags > 7 || head->outputs != outputs_of(head->flags))
    return SN_RT_BAD(c, "%u numbers per bone do not fit the drive's flags %u", head->outputs, head->flags);
  if (!(head->scale >= 0) || !(head->scale < 1e30f))
    return SN_RT_BAD(c, "the kernel's width is not a positive number");
  if (head->frames > INT32_MAX) return SN_RT_BAD(c, "%u training frames are too many", head->frames);
  return SN_RT_OK;
}

static sn_rt_status check(sn_rt_checker *c) {
  sn_rt_status status = check_head(c);
  if (status) return status;
  // Products below stay far from 2^64: bones are at most 65535 and control points fewer than the vertices.
  const sn_rt_control *head = head_of(c->model);
  uint64_t bones = c->model->info.palette_count, points = c->model->info.control_count;
  status = sn_rt_need_floats(c, SN_SECTION_CONTROL_FRAMES, head->frames * points * 3);
  if (!status) status = sn_rt_need_floats(c, SN_SECTION_CONTROL_CENTRES, bones * 3);
  if (!status) status = sn_rt_need_floats(c, SN_SECTION_CONTROL_MAP, bones * head->outputs * (head->frames + 1ull));
  if (!status && head->flags & SN_RT_CONTROL_POISSON)
    status = sn_rt_need_floats(c, SN_SECTION_CONTROL_SOLVE, bones * (3 * bones + points));
  if (!status) status = sn_rt_need(c, SN_SECTION_CONTROL_POINTS, points * sizeof(uint32_t));
  if (!status) status = sn_rt_check_below(c, SN_SECTION_CONTROL_POINTS, 4, c->model->info.vertex_count, "vertex");
  return status;
}

// ---- products with matrices in strips of eight rows --------------------------------------------------------------------------

enum { strip = SN_RT_STRIP };

SN_RT_LANES(lanes, SN_RT_STRIP);

// out = matrix x for one right-hand side. Columns go to four sums in turn, so that additions need not wait for each other.
static SN_RT_INLINE void multiply_1(const float *matrix, uint32_t rows, uint32_t columns, const float *x,
                                    float *out) {
  uint32_t first = 0;
  for (; rows - first >= strip; first += strip) {
    lanes sum[4], row;
    memset(sum, 0, sizeof sum);
    uint32_t c = 0;
    for (; c + 4 <= columns; c += 4)
      for (uint32_t k = 0; k < 4; k++, matrix += strip) {
        memcpy(&row, matrix, sizeof row);
        SN_RT_ADD_PRODUCT(sum[k], row, x[c + k]);
      }
    for (; c < columns; c++, matrix += strip) {
      memcpy(&row, matrix, sizeof row);
      SN_RT_ADD_PRODUCT(sum[0], row, x[c]);
    }
    for (int k = 0; k < 2; k++) SN_RT_ADD_PRODUCT(sum[2 * k], sum[2 * k + 1], 1);
    SN_RT_ADD_PRODUCT(sum[0], sum[2], 1);
    memcpy(out + first, &sum[0], sizeof sum[0]);
  }
  uint32_t width = rows - first;
  for (uint32_t r = 0; r < width; r++) out[first + r] = 0;
  for (uint32_t c = 0; c < columns; c++, matrix += width)
    for (uint32_t r = 0; r < width; r++) out[first + r] += matrix[r] * x[c];
}

// The same for the three coordinates of x.
static SN_RT_INLINE void multiply_3(const float *matrix, uint32_t rows, uint32_t columns, const float (*x)[4],
                                    float (*out)[4]) {
  uint32_t first = 0;
  for (; rows - first >= strip; first += strip) {
    lanes sum[2][3], row;
    float done[3][strip];
    memset(sum, 0, sizeof sum);
    uint32_t c = 0;
    for (; c + 2 <= columns; c += 2)
      for (uint32_t k = 0; k < 2; k++, matrix += strip) {
        memcpy(&row, matrix, sizeof row);
        for (int s = 0; s < 3; s++) SN_RT_ADD_PRODUCT(sum[k][s], row, x[c + k][s]);
      }
    for (; c < columns; c++, matrix += strip) {
      memcpy(&row, matrix, sizeof row);
      for (int s = 0; s < 3; s++) SN_RT_ADD_PRODUCT(sum[0][s], row, x[c][s]);
    }
    for (int s = 0; s < 3; s++) SN_RT_ADD_PRODUCT(sum[0][s], sum[1][s], 1);
    memcpy(done, sum[0], sizeof done);
    for (int r = 0; r < strip; r++)
      for (int s = 0; s < 3; s++) out[first + (uint32_t)r][s] = done[s][r];
  }
  // The last strip, narrower: where eight numbers can be read they are, and those of the next columns ignored.
  uint32_t width = rows - first, c = 0;
  lanes sum[3], row;
  float done[3][strip];
  memset(sum, 0, sizeof sum);
  for (; width > 0 && (columns - c) * width >= strip; c++, matrix += width) {
    memcpy(&row, matrix, sizeof row);
    for (int s = 0; s < 3; s++) SN_RT_ADD_PRODUCT(sum[s], row, x[c][s]);
  }
  memcpy(done, sum, sizeof done);
  for (; c < columns; c++, matrix += width)
    for (uint32_t r = 0; r < width; r++)
      for (int s = 0; s < 3; s++) done[s][r] += matrix[r] * x[c][s];
  for (uint32_t r = 0; r < width; r++)
    for (int s = 0; s < 3; s++) out[first + r][s] = done[s][r];
}

typedef struct multiplier {
  void (*one)(const float *matrix, uint32_t rows, uint32_t columns, const float *x, float *out);
  void (*three)(const float *matrix, uint32_t rows, uint32_t columns, const float (*x)[4], float (*out)[4]);
} multiplier;

#if defined(SN_RT_HAS_AVX2)
#define SN_RT_WIDE __attribute__((target("avx2,fma")))

// Several strips at a time, so that a number of x is loaded once for all of them and sums need not wait for each other.
enum { strips_1 = 8, strips_3 = 3 };

SN_RT_WIDE static void wide_1(const float *m, uint32_t rows, uint32_t columns, const float *x, float *out) {
  size_t step = (size_t)columns * strip;
  for (; rows >= strips_1 * strip; rows -= strips_1 * strip, out += strips_1 * strip, m += strips_1 * step) {
    __m256 sum[strips_1];
    for (int n = 0; n < strips_1; n++) sum[n] = _mm256_setzero_ps();
    for (uint32_t c = 0; c < columns; c++) {
      __m256 value = _mm256_broadcast_ss(x + c);
      for (int n = 0; n < strips_1; n++)
        sum[n] = _mm256_fmadd_ps(_mm256_loadu_ps(m + (size_t)n * step + (size_t)c * strip), value, sum[n]);
    }
    for (int n = 0; n < strips_1; n++) _mm256_storeu_ps(out + n * strip, sum[n]);
  }
  multiply_1(m, rows, columns, x, out);
}

SN_RT_WIDE static void store_places(__m256 sum[3], float (*out)[4]) {
  float done[3][strip];
  for (int s = 0; s < 3; s++) _mm256_storeu_ps(done[s], sum[s]);
  for (int r = 0; r < strip; r++)
    for (int s = 0; s < 3; s++) out[r][s] = done[s][r];
}

SN_RT_WIDE static void wide_3(const float *m, uint32_t rows, uint32_t columns, const float (*x)[4], float (*out)[4]) {
  size_t step = (size_t)columns * strip;
  for (; rows >= strips_3 * strip; rows -= strips_3 * strip, out += strips_3 * strip, m += strips_3 * step) {
    __m256 sum[strips_3][3];
    for (int n = 0; n < strips_3 * 3; n++) sum[n / 3][n % 3] = _mm256_setzero_ps();
    for (uint32_t c = 0; c < columns; c++) {
      __m256 value[3] = {_mm256_broadcast_ss(&x[c][0]), _mm256_broadcast_ss(&x[c][1]), _mm256_broadcast_ss(&x[c][2])};
      for (int n = 0; n < strips_3; n++) {
        __m256 row = _mm256_loadu_ps(m + (size_t)n * step + (size_t)c * strip);
        for (int s = 0; s < 3; s++) sum[n][s] = _mm256_fmadd_ps(row, value[s], sum[n][s]);
      }
    }
    for (int n = 0; n < strips_3; n++) store_places(sum[n], out + n * strip);
  }
  multiply_3(m, rows, columns, x, out);
}
#endif

static multiplier choose_multiplier(const sn_rt_model *model) {
#if defined(SN_RT_HAS_AVX2)
  if (sn_rt_at(model)->path == SN_RT_PATH_AVX2 || sn_rt_at(model)->path == SN_RT_PATH_AVX512)
    return (multiplier){wide_1, wide_3};
#endif
  (void)model;
  return (multiplier){multiply_1, multiply_3};
}

// ---- the drive ---------------------------------------------------------------------------------------------------------------

// Offsets into `values`: the kernel vector, the bones' outputs, F and controls as columns of four, places of the bones.
typedef struct workspace {
  float *xi, *outputs;
  float (*columns)[4], (*places)[4];
} workspace;

static uint64_t round4(uint64_t n) { return (n + 3) / 4 * 4; }

static uint64_t scratch(const sn_rt_model *model) {
  const sn_rt_control *head = head_of(model);
  uint64_t bones = model->info.palette_count;
  return sizeof(float) * (round4(head->frames + 1ull) + round4(bones * head->outputs) +
                          4 * (3 * bones + model->info.control_count) + 4 * bones);
}

static workspace lay_out(const sn_rt_model *model, float *values) {
  const sn_rt_control *head = head_of(model);
  size_t bones = model->info.palette_count;
  workspace w = {.xi = values};
  w.outputs = w.xi + round4(head->frames + 1ull);
  w.columns = (float(*)[4])(w.outputs + round4(bones * head->outputs));
  w.places = w.columns + 3 * bones + model->info.control_count;
  return w;
}

// xi_f = k(c, c^f) - 1, then 1 for the constant column. M's rows sum to zero over the kernel columns (F_c^T 1 = 0), so the
// 1 that is taken off changes nothing, but what is left keeps its digits where the kernel is wide.
static void kernel_vector(const sn_rt_model *model, const float (*controls)[3], float *xi) {
  const sn_rt_control *head = head_of(model);
  const float *frames = sn_rt_data(model, SN_SECTION_CONTROL_FRAMES);
  uint32_t points = model->info.control_count;
  for (uint32_t f = 0; f < head->frames; f++)
    xi[f] = sn_rt_control_kernel(head, points, controls[0], frames + 3 * (size_t)f * points);
  xi[head->frames] = 1;
}

static void run(const sn_rt_model *model, const sn_rt_input *input, const sn_rt_keeping *keeping, void *space,
                float *palette) {
  (void)keeping;
  const float(*controls)[3] = input->controls;
  const sn_rt_control *head = head_of(model);
  const float(*centres)[3] = sn_rt_data(model, SN_SECTION_CONTROL_CENTRES);
  uint32_t bones = model->info.palette_count, points = model->info.control_count;
  workspace w = lay_out(model, space);
  multiplier multiply = choose_multiplier(model);
  kernel_vector(model, controls, w.xi);
  multiply.one(sn_rt_data(model, SN_SECTION_CONTROL_MAP), bones * head->outputs, head->frames + 1, w.xi, w.outputs);
  for (uint32_t b = 0; b < bones; b++) {
    const float *d = w.outputs + (size_t)b * head->outputs;
    sn_rt_bone_gradient(d, head->flags, w.columns + 3 * (size_t)b);
    if (!(head->flags & SN_RT_CONTROL_POISSON)) sn_rt_predicted_place(d, head->flags, centres[b], w.places[b]);
  }
  if (head->flags & SN_RT_CONTROL_POISSON) {
    for (uint32_t c = 0; c < points; c++) memcpy(w.columns[3 * (size_t)bones + c], controls[c], sizeof *controls);
    multiply.three(sn_rt_data(model, SN_SECTION_CONTROL_SOLVE), bones, 3 * bones + points,
                   (const float(*)[4])w.columns, w.places);
  }
  for (uint32_t b = 0; b < bones; b++)
    sn_rt_store_bone((const float(*)[4])w.columns + 3 * (size_t)b, w.places[b], centres[b], palette + 16 * (size_t)b);
}

static uint64_t work(const sn_rt_model *model) {
  const sn_rt_control *head = head_of(model);
  uint64_t bones = model->info.palette_count, points = model->info.control_count;
  uint64_t kernel = (9 * points + 2) * head->frames, map = 2 * bones * head->outputs * (head->frames + 1ull);
  uint64_t solve = head->flags & SN_RT_CONTROL_POISSON ? 6 * bones * (3 * bones + points) : 30 * bones;
  uint64_t bone = 8 + 30 + 21 + (head->flags & SN_RT_CONTROL_STRETCH ? 45 + 20 : 0);
  return kernel + map + solve + bone * bones;
}

const sn_rt_driver sn_rt_driver_controls = {check, scratch, work, run};
