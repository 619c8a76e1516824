// SPDX-License-Identifier: MIT
// Internal declarations of the runtime: messages, scratch memory, and the jobs of the kernels.
#ifndef SINEW_RUNTIME_INTERNAL_H
#define SINEW_RUNTIME_INTERNAL_H

#include <string.h>

#include "runtime/format.h"

// ---- the hidden part of a model ----

typedef struct sn_rt_opened {
  const uint8_t *bytes;
  sn_rt_path path;
  uint32_t rotation_count;         // entries of joint.reference, from the first on, whose rotations frames need
  uint32_t wide_units;             // 1: the processor has 512-bit execution units
  uint64_t beside_last;            // bit b % 64: the last vertex is a neighbour in block b of shade.fans
  uint64_t work_count, term_count; // numbers in scratch memory: of the largest pose space, and of all terms
  const void *sections[SN_SECTION_COUNT];
  uint64_t sizes[SN_SECTION_COUNT];
} sn_rt_opened;

static inline sn_rt_opened *sn_rt_change(sn_rt_model *model) { return (sn_rt_opened *)(void *)model->hidden.bytes; }
static inline const sn_rt_opened *sn_rt_at(const sn_rt_model *model) {
  return (const sn_rt_opened *)(const void *)model->hidden.bytes;
}

// Inlined versions of the functions of format.h, also for packed.h.
#define sn_rt_data(model, id) (sn_rt_at(model)->sections[id])
#define sn_rt_size(model, id) (sn_rt_at(model)->sizes[id])

#include "runtime/packed.h"

#if defined(__GNUC__)
#define SN_RT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define SN_RT_PRINTF(text, first)
#endif

// Fills `error` (unless NULL) and returns `status`. Supports the conversions %s, %u, %lu and %llu.
sn_rt_status sn_rt_fail(sn_rt_error *error, sn_rt_status status, const char *format, ...) SN_RT_PRINTF(3, 4);

int sn_rt_same_text(const char *a, const char *b);

// ---- scratch memory -------------------------------------------------------------------------------------------------

// Index of the first term of an entry of correct.terms, and whether its terms differ from the last frame's.
typedef struct sn_rt_term_group {
  uint32_t first, changed;
} sn_rt_term_group;

// Results of sn_rt_palette. The arrays are in the caller's scratch memory, each 64-byte aligned.
typedef struct sn_rt_scratch {
  float *matrices;  // [palette][16]: four columns of four
  float *dualquats; // [palette][8]: real x y z w, dual x y z w
  float *stretches; // [palette][16]: like matrices, the non-rigid part
  float *scaled;    // for linear blends: the matrices times the unit of the weights; float weights: the matrices
  uint32_t *flags;  // SN_RT_RIGID, SN_RT_SIGNED
  uint32_t *path;   // sn_rt_path that computed the palette
  uint32_t *stamp;  // of the model if the next frame can reuse these results; else 0
  float *rotations; // [joint][8]: signed quaternion, then the pose vector (joint.reference only); then values
  float *values;    // coefficients of the corrective bases
  double *work;     // of the pose spaces: axes, then terms; of sums, floats
  float *terms;     // of all sums
  sn_rt_term_group *term_groups;
  void *drive;              // private memory of the drive
  uint8_t *moved, *rotated; // per joint: its matrix, its row of `rotations` differ from the last frame's
  void *staging;            // for sn_rt_evaluate; NULL for small results
} sn_rt_scratch;

enum {
  SN_RT_RIGID = 1, // all palette entries are rigid
  SN_RT_SIGNED = 2 // signs of the dual quaternions are final: no comparison with the pivot
};

sn_rt_scratch sn_rt_scratch_at(const sn_rt_model *model, const void *memory);

// ---- kernels -----------------------------------------------------------------------------------------------------------

// The correct slot of a job; stored.start is NULL if there are no corrections.
typedef struct sn_rt_correcting {
  sn_rt_stored_corrections stored;
  const float *values;
  int forward, limit_after;
  int dense; // nearly all blocks have corrections: all are treated as corrected
} sn_rt_correcting;

// What transforms a tangent: the blended matrix; the blended rotation; the blended stretch, then the rotation.
typedef enum sn_rt_rotating { SN_RT_ROTATE_LINEAR, SN_RT_ROTATE_RIGID, SN_RT_ROTATE_STRETCHED } sn_rt_rotating;

// Groups first_group .. last_group - 1 of one chunk.
typedef struct sn_rt_job {
  sn_rt_stored skin;
  uint32_t first_group, last_group;
  float weight_unit, weight_total;        // 1 and 1, 1/65535 and 65535, ...
  const float (*centres)[3][SN_RT_LANES]; // of the blend `centres`; NULL for others
  sn_rt_scratch scratch;
  sn_rt_correcting correct;
  char *positions, *normals; // of the chunk's first vertex; normals may be NULL
  size_t position_stride, normal_stride;
  int rows;   // vertices are in the order of the blocks
  int stream; // streaming stores of whole blocks: results are aligned to 32 bytes, and sn_rt_fence follows
  // For the kernel `tangents`, which reads normals and no positions.
  char *tangents;
  size_t tangent_stride;
  sn_rt_rotating tangent_rotation;
  const uint16_t *lanes; // output positions of the lanes of a one-block job; NULL: skin.lanes
} sn_rt_job;

// A job for blocks first .. first + count - 1 of group `index`, with the separate group `run`.
static inline sn_rt_job sn_rt_run_of(const sn_rt_job *job, uint32_t index, uint32_t first, uint32_t count,
                                     sn_rt_group *run) {
  sn_rt_job part = *job;
  *run = job->skin.groups[index];
  run->first_block += first, run->block_count = (uint16_t)count;
  run->first_weight += first * (run->influences - 1u), run->first_tuple += first * run->influences;
  part.skin.groups = run, part.first_group = 0, part.last_group = 1;
  if (part.skin.boxes) part.skin.boxes += index;
  return part;
}

// One kernel per blend.
typedef void (*sn_rt_kernel)(const sn_rt_job *job);

// Blocks first_block .. last_block - 1 of the shade slot `recompute`.
typedef struct sn_rt_shade_job {
  const uint32_t *start; // first step of every block
  const void *fans;
  const int16_t (*own)[3][SN_RT_LANES]; // the rest file's normals, per block; NULL: the computed ones
  uint32_t index_bytes;                 // 2 or 4
  uint32_t last_vertex;                 // lanes after it repeat its normal
  uint64_t beside_last;                 // as in sn_rt_opened
  uint32_t first_block, last_block;
  const char *positions; // of all vertices
  size_t position_stride;
  char *normals; // of the first block's first vertex; all eight of every block are written
  size_t normal_stride;
} sn_rt_shade_job;

// Floats from one coordinate of the solve's inputs to the next.
static inline size_t sn_rt_rotreg_apart(uint32_t columns) {
  return ((size_t)columns + SN_RT_LANES - 1) / SN_RT_LANES * SN_RT_LANES;
}

// The drives `rotreg` and `torque`: joints to proxy bones.
typedef struct sn_rt_rotreg_job {
  const sn_rt_rotreg_block *blocks; // predictors, eight at a time; NULL for the drive `torque`
  const sn_rt_torque_block *pairs;  // its predictors
  float (*blends)[2];               // f_r, f_s per joint, and one more for bones without a torque
  const float *solve;               // C, in blocks of 32 rows; NULL: packed
  sn_rt_packed_solve packed;
  uint32_t joint_count, bone_count;
  float (*rotations)[8]; // per joint: rotation as a quaternion, its logarithm relative to the base, 0
  float *gradients;      // [3 keys][4]: columns of the key gradients
  float *matrices;       // the palette: joints, then proxy bones
  float *inputs; // [2][3][sn_rt_rotreg_apart]: X of T' = C X by coordinate, and the same with a packed block's scales
  // For every eight keys, then every eight joints: whether they changed since the last frame (NULL: all did), and their partial
  // sums of the solve, [block][eight][3][32] (NULL: not stored).
  const uint8_t *stale;
  float *parts;
  uint8_t *rotated; // per joint: whether its row of `rotations` changed
  int wide;         // AVX-512: the solve with vectors of 512 bits
} sn_rt_rotreg_job;

// Results of the last frame that a drive may reuse.
typedef struct sn_rt_keeping {
  int keep;               // store results for the next frame
  const uint8_t *moved;   // joints whose matrices differ from the last frame's; NULL: nothing was stored
  const float *rotations; // of this frame, as in sn_rt_scratch
} sn_rt_keeping;

typedef void (*sn_rt_rotreg_kernel)(const sn_rt_rotreg_job *job);

// Coefficients of bases: products of a row of terms with the rows of a mix matrix.
typedef struct sn_rt_mix_job {
  const float *terms; // ends with zeros up to a multiple of eight
  const float *mix;   // [basis_count][count]
  uint32_t count, basis_count;
  float *values;
} sn_rt_mix_job;

// A matrix of the drive `controls`, in strips of eight rows (the last one may have fewer), each strip column after column, times
// one column, or times three that are stored as rows of four.
typedef struct sn_rt_product_job {
  const float *matrix;
  uint32_t rows, columns, sides; // sides: 1 or 3
  const float *x;
  float *out;
} sn_rt_product_job;

typedef struct sn_rt_kernels {
  sn_rt_kernel linear, dualquat, centres;
  sn_rt_rotreg_kernel rotreg;
  void (*shade)(const sn_rt_shade_job *job);
  sn_rt_kernel tangents;
  void (*mix)(const sn_rt_mix_job *job);
  void (*product)(const sn_rt_product_job *job);
} sn_rt_kernels;

extern const sn_rt_kernels sn_rt_scalar_kernels, sn_rt_sse2_kernels, sn_rt_avx2_kernels, sn_rt_avx512_kernels,
  sn_rt_neon_kernels, sn_rt_wasm_kernels;

// Which instruction sets this build has code for.
#if !defined(SN_SCALAR_ONLY)
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#define SN_RT_HAS_SSE2 1
#define SN_RT_HAS_AVX2 1
#define SN_RT_HAS_AVX512 1
#elif defined(_M_X64)
#define SN_RT_HAS_SSE2 1
#elif defined(__aarch64__) || defined(_M_ARM64)
#define SN_RT_HAS_NEON 1
#elif defined(__wasm_simd128__)
#define SN_RT_HAS_WASM 1
#endif
#endif

// A basic build (SN_RT_BASIC, for pages) has the drives `joints` and `helpers`, the blends `linear` and `dualquat`, no
// corrections and no scalar path. It refuses other models when they are opened.
#if defined(SN_RT_BASIC)
enum { SN_RT_IS_BASIC = 1 };
#else
enum { SN_RT_IS_BASIC = 0 };
#endif

// Small functions of the kernels, which pass vectors around.
#if defined(__GNUC__)
#define SN_RT_INLINE inline __attribute__((always_inline))
#else
#define SN_RT_INLINE __forceinline
#endif

// Whether floats have the same bits. The runtime may not depend on memcmp.
static inline int sn_rt_same(const float *a, const float *b, uint32_t count) {
  uint32_t x, y, differ = 0;
  for (uint32_t n = 0; n < count; n++) memcpy(&x, a + n, sizeof x), memcpy(&y, b + n, sizeof y), differ |= x ^ y;
  return !differ;
}

// Copies with streaming stores, if this machine has them.
int sn_rt_can_stream(void);
void sn_rt_stream(void *to, const void *from, size_t size);
// Makes streaming stores visible to other threads.
void sn_rt_fence(void);
static inline size_t sn_rt_staged_bytes(uint32_t count) { return (12 * (size_t)count + 63) / 64 * 64; }

sn_rt_path sn_rt_best_path(void);
// Whether the processor has AVX-512 with 512-bit execution units.
int sn_rt_has_wide_units(void);
const sn_rt_kernels *sn_rt_kernels_of(sn_rt_path path);

// ---- the correct slot and the joints' references (correct.c, local_rotations.c) ---------------------------------------

// Floats that the slot needs in the scratch memory: [joint][8], values, work.
uint64_t sn_rt_value_count(const sn_rt_model *model);
uint64_t sn_rt_find_work_count(const sn_rt_model *model);
uint64_t sn_rt_term_floats(const sn_rt_model *model);    // terms, then groups of terms
uint64_t sn_rt_function_terms(const sn_rt_model *model); // maximum number of terms that functions of one group sum
uint64_t sn_rt_find_term_count(const sn_rt_model *model);
uint32_t sn_rt_find_rotation_count(const sn_rt_model *model);
uint64_t sn_rt_term_work(const sn_rt_model *model); // floating-point operations of terms and sums

// The joints' signed quaternions and pose vectors, and (if `again`) which changed since the last frame; `state` may be NULL.
void sn_rt_make_local_rotations(const sn_rt_model *model, const float (*joints)[12], float *state,
                                const sn_rt_scratch *scratch, int again);
// Coefficients of the corrective bases; with `again`, pose spaces whose joints have not moved keep the last frame's.
void sn_rt_make_values(const sn_rt_model *model, const sn_rt_scratch *scratch, int again);
sn_rt_correcting sn_rt_new_correcting(const sn_rt_model *model, const sn_rt_scratch *scratch);

// Bytes of scratch memory, possibly more than the machine can address.
uint64_t sn_rt_scratch_need(const sn_rt_model *model);
// Fills in bytes_read, flops and scratch_size of model->info.
void sn_rt_count_work(sn_rt_model *model);

#endif
