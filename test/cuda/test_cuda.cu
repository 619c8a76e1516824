// SPDX-License-Identifier: MIT
// Models on the GPU against the runtime's scalar path: test_cuda MODEL.sinew... Prints the largest difference of each, in
// parts of the model's size. Exits 77 where there is no GPU. SINEW_CROWD=N: the largest crowd is N characters, not 1,000.
#include <cuda_fp16.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "cuda/poses.h"
#include "sinew/cuda.h"

static int failures;

static void check(bool good, const char *what, const char *model) {
  if (good) return;
  failures++;
  printf("FAILED %s: %s\n", model, what);
}

static std::vector<uint64_t> read_file(const char *path) { // 8-byte aligned
  FILE *file = fopen(path, "rb");
  if (!file) printf("%s cannot be read\n", path), exit(1);
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  rewind(file);
  std::vector<uint64_t> bytes((size + 7) / 8 + 1);
  if (fread(bytes.data(), 1, size, file) != size) printf("%s cannot be read\n", path), exit(1);
  fclose(file);
  bytes.back() = size;
  return bytes;
}

// A crowd's inputs on both sides.
struct inputs {
  std::vector<float> joints, torques, controls, values;
  float *device_joints = NULL, *device_torques = NULL, *device_controls = NULL, *device_values = NULL;
  ~inputs() { cudaFree(device_joints), cudaFree(device_torques), cudaFree(device_controls), cudaFree(device_values); }
};

static void send(float **to, const std::vector<float> &from) {
  cudaMalloc((void **)to, (from.size() + 1) * sizeof(float));
  cudaMemcpy(*to, from.data(), from.size() * sizeof(float), cudaMemcpyHostToDevice);
}

static void make_inputs(const sn_rt_model *model, uint32_t characters, inputs *in) {
  const sn_rt_info *info = sn_rt_get_info(model);
  in->joints.resize((size_t)characters * info->joint_count * 12 + 12);
  in->torques.resize((size_t)characters * info->joint_count + 1);
  in->controls.resize((size_t)characters * info->control_count * 3 + 3);
  in->values.resize((size_t)characters * info->value_count + 1);
  for (uint32_t n = 0; n < characters; n++) {
    sn_cuda_pose(model, n, (float(*)[12])(in->joints.data() + 12ull * n * info->joint_count),
                 in->torques.data() + (size_t)n * info->joint_count,
                 (float(*)[3])(in->controls.data() + 3ull * n * info->control_count),
                 in->values.data() + (size_t)n * info->value_count);
  }
  send(&in->device_joints, in->joints);
  send(&in->device_torques, in->torques);
  send(&in->device_controls, in->controls);
  send(&in->device_values, in->values);
}

static void evaluate_scalar(const sn_rt_model *model, const inputs *in, uint32_t n, std::vector<float> *positions,
                            std::vector<float> *normals) {
  const sn_rt_info *info = sn_rt_get_info(model);
  std::vector<char> scratch(sn_rt_scratch_size(model) + 64);
  positions->resize(3 * (size_t)info->vertex_count), normals->resize(3 * (size_t)info->vertex_count);
  sn_rt_input input = {};
  input.joints = (const float(*)[12])(in->joints.data() + 12ull * n * info->joint_count);
  input.torques = in->torques.data() + (size_t)n * info->joint_count;
  input.controls = (const float(*)[3])(in->controls.data() + 3ull * n * info->control_count);
  input.values = in->values.data() + (size_t)n * info->value_count;
  sn_rt_output output = {};
  output.positions = positions->data(), output.normals = normals->data();
  sn_rt_error error;
  if (sn_rt_evaluate(model, &input, scratch.data(), &output, &error)) printf("%s\n", error.message), exit(1);
}

static float size_of(const std::vector<float> &positions) {
  float low[3] = {1e30f, 1e30f, 1e30f}, high[3] = {-1e30f, -1e30f, -1e30f}, sum = 0;
  for (size_t k = 0; k < positions.size(); k++) {
    low[k % 3] = fminf(low[k % 3], positions[k]), high[k % 3] = fmaxf(high[k % 3], positions[k]);
  }
  for (int c = 0; c < 3; c++) sum += (high[c] - low[c]) * (high[c] - low[c]);
  return sqrtf(sum);
}

static float read_number(const char *at, sn_cuda_type type) {
  return type == SN_CUDA_FLOAT ? *(const float *)at : __half2float(*(const __half *)at);
}

// NaN is the largest.
static void keep_larger(float *most, float d) {
  if (!isnan(*most) && !(d <= *most)) *most = d;
}

static float largest_difference(const std::vector<float> &exact, const char *out, const sn_cuda_array *a, size_t size,
                                size_t stride, size_t pitch, uint32_t n) {
  float most = 0;
  for (size_t k = 0; k < exact.size(); k++) {
    float d = fabsf(exact[k] - read_number(out + n * pitch + k / 3 * stride + k % 3 * size, a->type));
    keep_larger(&most, d);
  }
  return most;
}

struct result {
  float position, normal;
};

// Evaluates a crowd with the given layout and compares some of its characters.
static result run(const char *name, const sn_rt_model *model, sn_cuda_model *uploaded, uint32_t characters, sn_cuda_type type,
                  size_t extra_stride, size_t extra_pitch, cudaStream_t stream) {
  const sn_rt_info *info = sn_rt_get_info(model);
  inputs in;
  make_inputs(model, characters, &in);
  size_t size = type == SN_CUDA_HALF ? 2 : 4, stride = 3 * size + extra_stride;
  size_t pitch = stride * info->vertex_count + extra_pitch, bytes = pitch * characters;
  char *device[2];
  for (int k = 0; k < 2; k++) cudaMalloc((void **)&device[k], bytes), cudaMemset(device[k], 0xff, bytes);
  sn_cuda_output output = {{device[0], type, stride, pitch}, {device[1], type, stride, pitch}};
  sn_cuda_input input = {in.device_joints, in.device_controls, in.device_torques, in.device_values};
  size_t scratch_size = sn_cuda_scratch_size(uploaded, characters, &output);
  void *scratch;
  cudaMalloc(&scratch, scratch_size + 1);
  sn_cuda_error error = {};
  const sn_cuda_work work = {scratch, scratch_size, stream};
  sn_cuda_status status = sn_cuda_evaluate(uploaded, characters, &input, &output, &work, &error);
  if (status != SN_CUDA_OK) printf("%s: %s\n", name, error.message);
  check(status == SN_CUDA_OK, "evaluation", name);
  check(cudaStreamSynchronize(stream) == cudaSuccess, "the device is well afterwards", name);
  std::vector<char> host[2] = {std::vector<char>(bytes), std::vector<char>(bytes)};
  for (int k = 0; k < 2; k++) cudaMemcpy(host[k].data(), device[k], bytes, cudaMemcpyDeviceToHost);
  result most = {0, 0};
  for (uint32_t n = 0; n < characters; n += characters > 40 ? characters / 20 + 1 : 1) {
    std::vector<float> positions, normals;
    evaluate_scalar(model, &in, n, &positions, &normals);
    float p = largest_difference(positions, host[0].data(), &output.positions, size, stride, pitch, n) / size_of(positions);
    float q = largest_difference(normals, host[1].data(), &output.normals, size, stride, pitch, n);
    keep_larger(&most.position, p), keep_larger(&most.normal, q);
  }
  if (extra_stride >= 4) { // nothing between the vertices was written
    check(*(const uint32_t *)(host[0].data() + 3 * size) == 0xffffffffu, "gaps are left alone", name);
  }
  cudaFree(device[0]), cudaFree(device[1]), cudaFree(scratch);
  return most;
}

// Normals of nearly flat or degenerate fans magnify rounding: they get a wider bound than positions.
static void check_result(const char *name, const char *what, result r, float position, float normal) {
  printf("  %-28s position %.1e of the size, normal %.1e\n", what, r.position, r.normal);
  check(r.position <= position, what, name);
  check(r.normal <= normal, what, name);
}

static void check_arguments(const char *name, const sn_rt_model *model, const sn_cuda_model *uploaded) {
  sn_cuda_error error = {};
  sn_cuda_input input = {};
  sn_cuda_output output = {};
  const sn_cuda_work work = {};
  float some;
  check(sn_cuda_evaluate(uploaded, 1, &input, &output, &work, &error) == SN_CUDA_BAD_ARGUMENT, "no arguments", name);
  output.positions.data = &some, output.positions.stride = 7;
  check(sn_cuda_evaluate(uploaded, 1, &input, &output, &work, &error) == SN_CUDA_BAD_ARGUMENT, "a wrong stride", name);
  check(error.message[0] != 0, "a message", name);
  sn_rt_model closed = {};
  sn_cuda_model *none;
  check(sn_cuda_upload(&closed, &none, NULL) == SN_CUDA_BAD_ARGUMENT && !none, "a model that is not open", name);
  check(cudaGetLastError() == cudaSuccess, "no CUDA error stays behind", name);
  (void)model;
}

static void test_model(const char *path) {
  std::vector<uint64_t> bytes = read_file(path);
  sn_rt_model model;
  sn_rt_error error;
  if (sn_rt_open(bytes.data(), bytes.back(), &model, &error)) {
    printf("%s: %s\n", path, error.message);
    failures++;
    return;
  }
  sn_rt_use_path(&model, SN_RT_PATH_SCALAR);
  const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  const sn_rt_info *info = sn_rt_get_info(&model);
  printf("%s: %s, %s, %s, %s; %u vertices\n", name, sn_rt_drive_name(info->drive), sn_rt_correct_name(info->correct),
         sn_rt_blend_name(info->blend), sn_rt_shade_name(info->shade), info->vertex_count);
  sn_cuda_model *uploaded;
  sn_cuda_error said = {};
  sn_cuda_status status = sn_cuda_upload(&model, &uploaded, &said);
  if (status == SN_CUDA_UNSUPPORTED) {
    printf("  not on the GPU: %s\n", said.message);
    return;
  }
  if (status != SN_CUDA_OK) printf("  %s\n", said.message);
  check(status == SN_CUDA_OK, "upload", name);
  if (status != SN_CUDA_OK) return;
  const float exact = 1e-5f, soft = 1e-2f;
  cudaStream_t streams[2];
  for (int k = 0; k < 2; k++) cudaStreamCreate(&streams[k]);
  const char *largest = getenv("SINEW_CROWD");
  const uint32_t crowds[] = {1, 7, largest ? (uint32_t)atoi(largest) : 1000};
  for (uint32_t count : crowds) {
    char what[32];
    snprintf(what, sizeof what, "%u characters", count);
    check_result(name, what, run(name, &model, uploaded, count, SN_CUDA_FLOAT, 0, 0, NULL), exact, soft);
  }
  check_result(name, "interleaved, odd pitch", run(name, &model, uploaded, 5, SN_CUDA_FLOAT, 12, 4, streams[0]), exact, soft);
  check_result(name, "half", run(name, &model, uploaded, 6, SN_CUDA_HALF, 0, 0, streams[1]), 1e-3f, soft);
  check_result(name, "half, odd pitch", run(name, &model, uploaded, 6, SN_CUDA_HALF, 2, 2, NULL), 1e-3f, soft);
  // Crowds that fill a warp have normals of another kernel.
  check_result(name, "70, interleaved, odd pitch", run(name, &model, uploaded, 70, SN_CUDA_FLOAT, 12, 4, NULL), exact, soft);
  check_result(name, "70, half", run(name, &model, uploaded, 70, SN_CUDA_HALF, 0, 0, NULL), 1e-3f, soft);
  check_arguments(name, &model, uploaded);
  for (int k = 0; k < 2; k++) cudaStreamDestroy(streams[k]);
  sn_cuda_free(uploaded);
}

int main(int count, char **paths) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) return printf("no GPU: skipped\n"), 77;
  for (int k = 1; k < count; k++) test_model(paths[k]);
  printf("%d models, %d failures\n", count - 1, failures);
  return failures || count < 2;
}
