// SPDX-License-Identifier: MIT
// Crowds on the GPU: a model is uploaded once, and one call evaluates any number of characters from device arrays into
// device arrays, on the caller's stream. Nothing is allocated and nothing waits after the upload. A complete program:
// examples/crowd.cu.
//
//     sn_cuda_upload        once: an opened model (sinew/runtime.h) to the current device
//     sn_cuda_scratch_size  once per size of a crowd: device memory that an evaluation works in
//     sn_cuda_evaluate      per frame: joints, torques, values or controls of all characters -> positions and normals
//
// Lifetimes.  An uploaded model is a copy: the bytes it was opened from may go. It belongs to the device that was current.
// Threads and streams.  An uploaded model is read only: several streams may evaluate it at once, each with separate scratch
//   memory.
// Errors.  A wrong argument or an unsupported model returns a status and leaves no CUDA error behind. CUDA reports errors that
//   occur on the device after a call has returned (bad pointers of the caller) at the next synchronisation.
#ifndef SINEW_CUDA_H
#define SINEW_CUDA_H

#include "sinew/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default) // what shared libraries export
#endif

typedef enum sn_cuda_status {
  SN_CUDA_OK = 0,
  SN_CUDA_BAD_ARGUMENT,
  SN_CUDA_NO_DEVICE,   // no GPU, or a driver that is too old
  SN_CUDA_NO_MEMORY,   // of the device or of this machine
  SN_CUDA_UNSUPPORTED, // no GPU kernel for one of the model's slots
  SN_CUDA_FAILED       // CUDA refused a launch or a copy
} sn_cuda_status;

typedef struct sn_cuda_error {
  sn_cuda_status status;
  char message[240];
} sn_cuda_error;

typedef struct sn_cuda_model sn_cuda_model;

// Copies an opened model to the current device. `error` may be NULL here and below.
sn_cuda_status sn_cuda_upload(const sn_rt_model *model, sn_cuda_model **out, sn_cuda_error *error);
void sn_cuda_free(sn_cuda_model *model); // NULL is fine
size_t sn_cuda_device_bytes(const sn_cuda_model *model);

// Input of all characters: device arrays. Only those that the model's info requires are read.
typedef struct sn_cuda_input {
  const float *joints;   // [character][joint_count][12]: as sn_rt_input.joints; 16-byte aligned
  const float *controls; // [character][control_count][3]
  const float *torques;  // [character][joint_count]
  const float *values;   // [character][value_count]
} sn_cuda_input;

typedef enum sn_cuda_type { SN_CUDA_FLOAT = 0, SN_CUDA_HALF = 1 } sn_cuda_type;

// An output array of three numbers per vertex. Strides and pitches are in bytes, multiples of the type's size; 0: no gaps. The
// fastest layout has no gaps, is 16-byte aligned, and has a pitch that is a multiple of 16.
typedef struct sn_cuda_array {
  void *data;
  sn_cuda_type type;
  size_t stride; // from vertex to vertex
  size_t pitch;  // from character to character
} sn_cuda_array;

typedef struct sn_cuda_output {
  sn_cuda_array positions;
  sn_cuda_array normals; // data NULL: none
} sn_cuda_output;

// Bytes of device memory for one evaluation of `characters` characters into `output` (its pointers are not read).
size_t sn_cuda_scratch_size(const sn_cuda_model *model, uint32_t characters, const sn_cuda_output *output);

// Scratch memory and stream of an evaluation.
typedef struct sn_cuda_work {
  void *scratch; // device memory, 256-byte aligned
  size_t scratch_size;
  void *stream; // a cudaStream_t; NULL is the default
} sn_cuda_work;

sn_cuda_status sn_cuda_evaluate(const sn_cuda_model *model, uint32_t characters, const sn_cuda_input *input,
                                const sn_cuda_output *output, const sn_cuda_work *work, sn_cuda_error *error);

// Evaluation time of a crowd. Times are medians, in milliseconds.
typedef struct sn_cuda_timing {
  double evaluate;        // positions and normals, floats without gaps
  double copy_per_second; // bytes that cudaMemcpy reads and writes on this device per second, in the same run
  double bytes;           // minimum memory traffic: outputs, inputs, and the model once
  double share;           // achieved fraction of copy_per_second
  int repeats;
} sn_cuda_timing;

// Times `characters` characters of an opened model in different poses. Allocates device memory and synchronises.
sn_cuda_status sn_cuda_time(const sn_rt_model *model, uint32_t characters, double seconds, sn_cuda_timing *out,
                            sn_cuda_error *error);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
