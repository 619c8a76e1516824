// SPDX-License-Identifier: MIT
// A crowd on the GPU: every character of the crowd bends the model's joints by a different angle.
//
//     nvcc -std=c++17 crowd.cu -I PREFIX/include -L PREFIX/lib -lsinew-cuda -lsinew-runtime -o crowd
//     crowd MODEL.sinew 1000
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <vector>

#include "sinew/cuda.h"

static int stop(const char *what) {
  fprintf(stderr, "crowd: %s\n", what);
  return 1;
}

// Poses are made where they are needed, on the device: joint j of character n rotates about the x axis of the rest pose.
__global__ void pose(float *joints, uint32_t characters, uint32_t joint_count, float time) {
  uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= characters * joint_count) return;
  float angle = 0.2f * sinf(time + 0.01f * (at / joint_count)) * (at % joint_count), c = cosf(angle), s = sinf(angle);
  const float m[12] = {1, 0, 0, 0, 0, c, -s, 0, 0, s, c, 0};
  for (int k = 0; k < 12; k++) joints[12 * (size_t)at + k] = m[k];
}

int main(int count, char **arguments) {
  if (count != 3) return stop("usage: crowd MODEL.sinew CHARACTERS");
  FILE *file = fopen(arguments[1], "rb");
  if (!file) return stop("the model cannot be read");
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  rewind(file);
  std::vector<uint64_t> bytes(size / 8 + 1); // 8-byte aligned
  if (fread(bytes.data(), 1, size, file) != size) return stop("the model cannot be read");
  fclose(file);
  uint32_t characters = (uint32_t)atoi(arguments[2]);

  sn_rt_model model;
  sn_rt_error wrong;
  if (sn_rt_open(bytes.data(), size, &model, &wrong)) return stop(wrong.message);
  const sn_rt_info *info = sn_rt_get_info(&model);
  if (info->control_count || info->torque_count) return stop("this example moves joints only");

  sn_cuda_model *crowd; // once: a copy of the model on the device
  sn_cuda_error error;
  if (sn_cuda_upload(&model, &crowd, &error)) return stop(error.message);

  size_t vertices = (size_t)characters * info->vertex_count;
  float *joints, *positions, *normals;
  void *scratch;
  cudaMalloc((void **)&joints, (size_t)characters * info->joint_count * 12 * sizeof *joints);
  cudaMalloc((void **)&positions, vertices * 3 * sizeof *positions);
  cudaMalloc((void **)&normals, vertices * 3 * sizeof *normals);
  sn_cuda_output output = {{positions, SN_CUDA_FLOAT, 0, 0}, {normals, SN_CUDA_FLOAT, 0, 0}};
  size_t scratch_size = sn_cuda_scratch_size(crowd, characters, &output);
  if (cudaMalloc(&scratch, scratch_size + 1) != cudaSuccess) return stop("no memory on the device for this crowd");

  cudaStream_t stream;
  cudaStreamCreate(&stream);
  sn_cuda_input input = {joints, NULL, NULL, NULL};
  sn_cuda_work work = {scratch, scratch_size, stream};
  for (int frame = 0; frame < 100; frame++) { // per frame: poses, then all vertices, in order on one stream
    pose<<<(characters * info->joint_count + 127) / 128, 128, 0, stream>>>(joints, characters, info->joint_count, 0.1f * frame);
    if (sn_cuda_evaluate(crowd, characters, &input, &output, &work, &error)) return stop(error.message);
  }
  float last[3];
  cudaMemcpyAsync(last, positions + 3 * (vertices - 1), sizeof last, cudaMemcpyDeviceToHost, stream);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return stop("the device failed");
  printf("%u characters of %u vertices; the last vertex is at %g %g %g\n", characters, info->vertex_count, last[0], last[1], last[2]);
  sn_cuda_free(crowd);
  return 0;
}
