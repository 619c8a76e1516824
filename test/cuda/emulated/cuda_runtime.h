// SPDX-License-Identifier: MIT
// A stand-in for CUDA's header, so that the kernels of src/cuda compile as C++ and run on the processor: the threads of a block
// alternate from barrier to barrier (emulated.cpp). What the kernels do not use is not here. launches.sed rewrites their launches.
#ifndef SINEW_TEST_CUDA_RUNTIME_H
#define SINEW_TEST_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <functional>

#define SN_CUDA_EMULATED
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

// ---- numbers -----------------------------------------------------------------------------------------------------------------

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) uint2 {
  uint32_t x, y;
};
struct alignas(8) ushort4 {
  uint16_t x, y, z, w;
};
struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

static inline float4 make_float4(float x, float y, float z, float w) { return float4{x, y, z, w}; }
static inline uint32_t min(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t max(uint32_t a, uint32_t b) { return a > b ? a : b; }
template <class T> static inline T __ldg(const T *p) { return *p; }

static inline uint32_t __float_as_uint(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float __uint_as_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// ---- threads and blocks --------------------------------------------------------------------------------------------------------

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

void __syncthreads();
int __syncthreads_or(int mine);
void __syncwarp();
// A warp's product on tensor cores, as mma.sync.m16n8k8 of tf32: D += A B.
void sn_emulated_multiply(float d[4], const uint32_t a[4], const uint32_t b[2]);

void sn_emulated_launch(dim3 grid, dim3 block, size_t shared, const std::function<void()> &kernel);

template <class K> struct emulated_launch {
  K *kernel;
  dim3 grid, block;
  size_t shared;
  template <class... A> void operator()(A... arguments) const {
    sn_emulated_launch(grid, block, shared, [&] { kernel(arguments...); });
  }
};

typedef struct sn_emulated_stream *cudaStream_t;

// kernel<<<grid, block, shared, stream>>>(arguments) as launches.sed writes it
template <class K>
static inline emulated_launch<K> emulated(K *kernel, dim3 grid, dim3 block, size_t shared, cudaStream_t) {
  return {kernel, grid, block, shared};
}

// ---- memory, on this machine ---------------------------------------------------------------------------------------------------

enum cudaError_t {
  cudaSuccess,
  cudaErrorMemoryAllocation,
  cudaErrorNoDevice,
  cudaErrorInsufficientDriver,
  cudaErrorInvalidValue
};
enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum { cudaDevAttrMaxSharedMemoryPerBlockOptin };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize };

cudaError_t sn_emulated_malloc(void **out, size_t size);
cudaError_t cudaFree(void *memory);
cudaError_t cudaFuncSetAttribute(const void *kernel, int attribute, int value);
cudaError_t cudaDeviceGetAttribute(int *out, int attribute, int device);

template <class T> static inline cudaError_t cudaMalloc(T **out, size_t size) {
  return sn_emulated_malloc((void **)out, size);
}
static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t size, int) {
  return memcpy(to, from, size), cudaSuccess;
}
static inline cudaError_t cudaMemset(void *to, int byte, size_t size) { return memset(to, byte, size), cudaSuccess; }
static inline cudaError_t cudaMemsetAsync(void *to, int byte, size_t size, cudaStream_t) {
  return cudaMemset(to, byte, size);
}
static inline cudaError_t cudaGetDevice(int *out) { return *out = 0, cudaSuccess; }
static inline cudaError_t cudaGetDeviceCount(int *out) { return *out = 1, cudaSuccess; }
static inline cudaError_t cudaGetLastError() { return cudaSuccess; }
static inline const char *cudaGetErrorString(cudaError_t) { return "an error of the emulation"; }
static inline cudaError_t cudaStreamCreate(cudaStream_t *out) { return *out = NULL, cudaSuccess; }
static inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
static inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

#endif
