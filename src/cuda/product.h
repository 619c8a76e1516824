// SPDX-License-Identifier: MIT
// Matrix products on tensor cores, whose factors have 11 bits (TF32): a float is split in two, a product into three.
#ifndef SINEW_CUDA_PRODUCT_H
#define SINEW_CUDA_PRODUCT_H

#include <stdint.h>

// A factor of a product, as the numbers of a lane: tensor cores read the first 11 bits of a number and of its rounding error.
template <int N> struct factor {
  uint32_t high[N], low[N];
  __device__ __forceinline__ void set(int n, float x) {
    high[n] = __float_as_uint(x) & 0xffffe000u;
    low[n] = __float_as_uint(x - __uint_as_float(high[n]));
  }
};

// D += A B of a warp: A is 16 by 8, B 8 by 8. A lane has rows lane / 4 and 8 more of A and D, columns lane % 4 and 4 more of A,
// the same rows of B and its column lane / 4, columns 2 (lane % 4) and the next of D.
static __device__ __forceinline__ void multiply(float d[4], const uint32_t a[4], const uint32_t b[2]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif defined SN_CUDA_EMULATED
  sn_emulated_multiply(d, a, b);
#elif defined __CUDA_ARCH__
#error "the tensor cores of compute capability 8.0 or later are needed"
#endif
}

static __device__ __forceinline__ void multiply_exactly(float d[4], const factor<4> &a, const factor<2> &b) {
  multiply(d, a.low, b.high);
  multiply(d, a.high, b.low);
  multiply(d, a.high, b.high);
}

#endif
