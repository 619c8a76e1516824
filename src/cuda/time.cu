// SPDX-License-Identifier: MIT
// Evaluation time of a crowd, compared with a copy in the same run.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device.h"
#include "cuda/poses.h"

// Device arrays of a measurement; all NULL at first.
struct stage_set {
  float *joints, *torques, *controls, *values, *positions, *normals, *copy;
  void *scratch;
  cudaEvent_t begin, end;
};

static void free_set(stage_set *s) {
  void *owned[] = {s->joints, s->torques, s->controls, s->values, s->positions, s->normals, s->scratch};
  for (void *p : owned) cudaFree(p);
  if (s->begin) cudaEventDestroy(s->begin);
  if (s->end) cudaEventDestroy(s->end);
}

static cudaError_t send(float **to, const float *from, size_t count) {
  cudaError_t said = cudaMalloc((void **)to, (count ? count : 1) * sizeof(float));
  return said == cudaSuccess && count ? cudaMemcpy(*to, from, count * sizeof(float), cudaMemcpyHostToDevice) : said;
}

static cudaError_t send_poses(const sn_rt_model *model, uint32_t characters, stage_set *s) {
  size_t joint_count = (size_t)characters * model->info.joint_count, controls = (size_t)characters * model->info.control_count;
  size_t values = (size_t)characters * model->info.value_count;
  float *host = (float *)calloc(13 * joint_count + 3 * controls + values + 1, sizeof(float));
  if (!host) return cudaErrorMemoryAllocation;
  float *torques = host + 12 * joint_count, *points = torques + joint_count, *named = points + 3 * controls;
  for (uint32_t n = 0; n < characters; n++) {
    sn_cuda_pose(model, n, (float(*)[12])(host + 12ull * n * model->info.joint_count),
                 torques + (size_t)n * model->info.joint_count, (float(*)[3])(points + 3ull * n * model->info.control_count),
                 named + (size_t)n * model->info.value_count);
  }
  cudaError_t said = send(&s->joints, host, 12 * joint_count);
  if (said == cudaSuccess) said = send(&s->torques, torques, joint_count);
  if (said == cudaSuccess) said = send(&s->controls, points, 3 * controls);
  if (said == cudaSuccess) said = send(&s->values, named, values);
  free(host);
  return said;
}

static int compare_times(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static double median(float *times, int count) {
  qsort(times, (size_t)count, sizeof *times, compare_times);
  return count % 2 ? times[count / 2] : 0.5 * (times[count / 2 - 1] + times[count / 2]);
}

enum { most_repeats = 200, least_repeats = 5 };

sn_cuda_status sn_cuda_time(const sn_rt_model *model, uint32_t characters, double seconds, sn_cuda_timing *out,
                            sn_cuda_error *error) {
  *out = sn_cuda_timing{};
  sn_cuda_model *uploaded = NULL;
  sn_cuda_status status = sn_cuda_upload(model, &uploaded, error);
  if (status != SN_CUDA_OK) return status;
  stage_set s = {};
  size_t vertices = (size_t)characters * model->info.vertex_count, array = 3 * vertices * sizeof(float);
  cudaError_t said = send_poses(model, characters, &s);
  for (float **made : {&s.positions, &s.normals})
    if (said == cudaSuccess) said = cudaMalloc((void **)made, array);
  sn_cuda_input input = {s.joints, s.controls, s.torques, s.values};
  sn_cuda_output output = {{s.positions, SN_CUDA_FLOAT, 0, 0}, {s.normals, SN_CUDA_FLOAT, 0, 0}};
  size_t scratch = sn_cuda_scratch_size(uploaded, characters, &output);
  if (said == cudaSuccess) said = cudaMalloc(&s.scratch, scratch ? scratch : 1);
  const sn_cuda_work work = {s.scratch, scratch, NULL};
  for (cudaEvent_t *made : {&s.begin, &s.end})
    if (said == cudaSuccess) said = cudaEventCreate(made);
  float times[most_repeats], copies[most_repeats], spent = 0;
  int count = 0;
  for (int warm = 0; said == cudaSuccess && status == SN_CUDA_OK && warm < 3; warm++)
    status = sn_cuda_evaluate(uploaded, characters, &input, &output, &work, error);
  while (said == cudaSuccess && status == SN_CUDA_OK && count < most_repeats &&
         (count < least_repeats || spent < 1000 * seconds)) {
    cudaEventRecord(s.begin, NULL);
    status = sn_cuda_evaluate(uploaded, characters, &input, &output, &work, error);
    cudaEventRecord(s.end, NULL);
    said = cudaEventSynchronize(s.end);
    if (said == cudaSuccess) said = cudaEventElapsedTime(&times[count], s.begin, s.end);
    cudaEventRecord(s.begin, NULL);
    cudaMemcpyAsync(s.normals, s.positions, array, cudaMemcpyDeviceToDevice, NULL);
    cudaEventRecord(s.end, NULL);
    if (said == cudaSuccess) said = cudaEventSynchronize(s.end);
    if (said == cudaSuccess) said = cudaEventElapsedTime(&copies[count], s.begin, s.end);
    if (said == cudaSuccess) spent += times[count] + copies[count], count++;
  }
  free_set(&s);
  size_t model_bytes = sn_cuda_device_bytes(uploaded);
  sn_cuda_free(uploaded);
  if (status != SN_CUDA_OK) return status;
  if (said != cudaSuccess) {
    cudaGetLastError();
    if (error) snprintf(error->message, sizeof error->message, "%u characters: %s", characters, cudaGetErrorString(said));
    return said == cudaErrorMemoryAllocation ? SN_CUDA_NO_MEMORY : SN_CUDA_FAILED;
  }
  out->repeats = count, out->evaluate = median(times, count);
  out->copy_per_second = 2.0 * (double)array / (1e-3 * median(copies, count));
  out->bytes = 24.0 * (double)vertices + 48.0 * (double)characters * model->info.joint_count + (double)model_bytes;
  out->share = out->bytes / (1e-3 * out->evaluate) / out->copy_per_second;
  return SN_CUDA_OK;
}
