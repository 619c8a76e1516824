// SPDX-License-Identifier: MIT
// The Sinew runtime: evaluates a skin model (the bytes of a .sinew file) into vertex positions and normals.
//
// This header stands alone (C99 or C++), and so does src/runtime: no allocation, no input or output, no global state,
// nothing but memcpy, memset and libm. Two calls once:
//
//     sn_rt_open      checks the bytes and points `model` into them
//     sn_rt_get_info  counts, and how much scratch memory to provide
//
// and per frame sn_rt_evaluate, or its steps on any threads:
//
//     sn_rt_palette   input (joint matrices, ...) -> the palette, in the scratch memory
//     sn_rt_skin      positions, and normals of the shade slot `transform`; sn_rt_skin_part: a part of them
//     sn_rt_normals   after all of sn_rt_skin: normals of the shade slot `recompute`
//     sn_rt_tangents  after the normals, if needed: tangents
//
// A complete program: examples/minimal.c.
//
// Lifetimes.  `bytes` belong to the caller and must stay, unchanged, as long as the model is used; a read-only memory
//   map is fine. A model owns nothing and needs no closing; it may be copied. Strings returned point into `bytes`.
// Threads.  A model is read only after sn_rt_open: any number of threads may use it. Scratch memory is written by
//   sn_rt_palette and only read by sn_rt_skin: one thread makes the palette, then several may skin disjoint ranges
//   with the same scratch. Characters evaluated at the same time need one scratch each.
// Units.  Positions have the unit of the rest mesh. Matrices are 3x4, row-major, act on column vectors, and map the rest
//   pose to the pose: identity in the rest pose (a glTF joint's world matrix times its inverse bind matrix).
// Trust.  sn_rt_open checks every offset, count and index, so hostile bytes are refused or harmless; the other functions
//   check their arguments only. Input matrices with NaN give NaN vertices, nothing worse.
// Errors.  Functions that can fail return a status and, where `error` is not NULL, say in it what is wrong.
#ifndef SINEW_RUNTIME_H
#define SINEW_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default) // what shared libraries export
#endif

// Version of the file format. Files of the same or an older major version open; a newer minor version only adds
// sections that this runtime may ignore.
#define SN_RT_FORMAT_MAJOR 1
#define SN_RT_FORMAT_MINOR 0

#define SN_RT_MAX_INFLUENCES 8
#define SN_RT_MAX_JOINTS 65535
#define SN_RT_MAX_SECTIONS 64

typedef enum sn_rt_status {
  SN_RT_OK = 0,
  SN_RT_BAD_MODEL,   // not a model, truncated, or damaged
  SN_RT_UNSUPPORTED, // a model of a newer version, or with a slot choice this runtime does not know
  SN_RT_BAD_ARGUMENT // a missing input, a range past the last vertex, too small a stride, ...
} sn_rt_status;

const char *sn_rt_status_name(sn_rt_status status); // "SN_RT_OK", ...; "unknown" for a value without a name

// The runtime's version, 10000 major + 100 minor + patch, of this header and of the linked library.
#define SN_RT_VERSION 100
int sn_rt_version(void);

typedef struct sn_rt_error {
  sn_rt_status status;
  char message[240];
} sn_rt_error;

// ---- the four slots: every method is one choice in each (docs/reference/model-file.md) --------------------------------------

typedef enum sn_rt_drive { // how the input becomes the palette of matrices
  SN_RT_DRIVE_JOINTS = 0,  // the joints, and half-way and scaling joints derived from them
  SN_RT_DRIVE_ROTREG = 1,
  SN_RT_DRIVE_TORQUE = 2,
  SN_RT_DRIVE_CONTROLS = 3,
  SN_RT_DRIVE_HELPERS = 4 // the joints, and helper joints driven by them and by named values
} sn_rt_drive;

typedef enum sn_rt_correct { // how displacements are computed
  SN_RT_CORRECT_NONE = 0,
  SN_RT_CORRECT_RBF = 1,
  SN_RT_CORRECT_EIGEN = 2
} sn_rt_correct;

typedef enum sn_rt_blend { // how the palette transforms a vertex
  SN_RT_BLEND_LINEAR = 0,
  SN_RT_BLEND_DUALQUAT = 1,
  SN_RT_BLEND_CENTRES = 2 // optimised centres of rotation (Le and Hodgins 2016)
} sn_rt_blend;

typedef enum sn_rt_shade {   // how normals are computed
  SN_RT_SHADE_TRANSFORM = 0, // the rest normal by the inverse transpose of the blended matrix
  SN_RT_SHADE_RECOMPUTE = 1  // from the deformed triangles around the vertex
} sn_rt_shade;

// Name of a choice as in the documentation ("joints", "linear", ...); "unknown" for a value without one.
const char *sn_rt_drive_name(sn_rt_drive drive);
const char *sn_rt_correct_name(sn_rt_correct correct);
const char *sn_rt_blend_name(sn_rt_blend blend);
const char *sn_rt_shade_name(sn_rt_shade shade);

// ---- models -------------------------------------------------------------------------------------------------------------

// Instruction sets. The scalar path is the reference; the others agree with it to 1e-5 of the model's size.
typedef enum sn_rt_path {
  SN_RT_PATH_BEST = 0, // the fastest that this machine has
  SN_RT_PATH_SCALAR,
  SN_RT_PATH_SSE2,
  SN_RT_PATH_AVX2, // with FMA
  SN_RT_PATH_NEON,
  SN_RT_PATH_WASM,
  SN_RT_PATH_AVX512, // with AVX-512VL (256-bit vectors)
  SN_RT_PATH_COUNT
} sn_rt_path;

typedef struct sn_rt_info {
  uint32_t version_major, version_minor;
  sn_rt_drive drive;
  sn_rt_correct correct;
  sn_rt_blend blend;
  sn_rt_shade shade;
  uint32_t vertex_count;
  uint32_t joint_count;     // matrices of sn_rt_input.joints
  uint32_t control_count;   // points of sn_rt_input.controls
  uint32_t torque_count;    // values of sn_rt_input.torques: 0 or joint_count
  uint32_t palette_count;   // matrices that the blend reads
  uint32_t triangle_count;  // 0 where the file has no triangles
  uint32_t max_influences;  // of any block; its vertices may have fewer
  uint64_t influence_count; // of all vertices together
  uint32_t weight_bits;     // bits per weight: 32 (float), 16 or 8; 12: the model is packed
  uint32_t grain;           // ranges of vertices that begin and end at multiples of this are evaluated fastest
  uint32_t block_count;     // blocks of eight vertices: the unit in which vertices are evaluated
  uint32_t shared_blocks;   // those whose vertices share their joints
  uint32_t section_count;
  uint64_t bytes;      // the whole file
  uint64_t bytes_read; // by one evaluation with normals, apart from the palette
  uint64_t flops;      // floating-point operations of one evaluation with normals (docs/reference/model-file.md)
  size_t scratch_size;
  uint32_t value_count; // values of sn_rt_input.values
  uint32_t tangents;    // 1: the model has them, see sn_rt_tangents
  uint64_t reserved[7]; // zero; for later fields, so that the struct keeps its size
} sn_rt_info;

// An opened model: `info` is public, `hidden` private to the runtime. Later versions keep its size.
typedef struct sn_rt_model {
  sn_rt_info info;
  union {
    uint64_t alignment;
    unsigned char bytes[2048];
  } hidden;
} sn_rt_model;

// Opens a model in place. `bytes` must be aligned to 8 bytes; 64 (a memory map) is faster. `error` may be NULL.
sn_rt_status sn_rt_open(const void *bytes, size_t size, sn_rt_model *model, sn_rt_error *error);

static inline const sn_rt_info *sn_rt_get_info(const sn_rt_model *model) { return &model->info; }
const void *sn_rt_get_bytes(const sn_rt_model *model); // the bytes passed to sn_rt_open; NULL: not open
sn_rt_path sn_rt_get_path(const sn_rt_model *model);

// Bytes of scratch memory that sn_rt_palette fills; any alignment.
size_t sn_rt_scratch_size(const sn_rt_model *model);

// Joints by name, so that an engine can order its matrices. Names are UTF-8; an index out of range gives NULL.
const char *sn_rt_joint_name(const sn_rt_model *model, uint32_t joint);
int32_t sn_rt_find_joint(const sn_rt_model *model, const char *name); // -1 if there is none
int32_t sn_rt_joint_parent(const sn_rt_model *model, uint32_t joint); // -1 for a root

// For a character with the model's joint names: bind[j] is joint j's world matrix in the character's bind pose (zeros: unknown), in
// the model's order. A joint's world matrix times to_rest[j] is its matrix in sn_rt_input.joints. Rotated joint axes are
// corrected; a joint at another position is an error, which names it. `space` becomes the map from the character's bind pose to
// the model's rest pose, for armatures that rotate or scale it; NULL: both must coincide.
sn_rt_status sn_rt_bind(const sn_rt_model *model, const float (*bind)[12], float (*to_rest)[12], float *space,
                        sn_rt_error *error);

// The range of joint `joint`'s torques in the training, in the units of the training; torques outside are clamped to it.
// Returns 0 for a joint whose torque has no effect.
int sn_rt_torque_range(const sn_rt_model *model, uint32_t joint, float range[2]);

// Named values (expressions, age, ...): their names, and their range in the training, in the units of the training. Values outside
// are clamped to it. An index out of range gives NULL and 0.
const char *sn_rt_value_name(const sn_rt_model *model, uint32_t value);
int32_t sn_rt_find_value(const sn_rt_model *model, const char *name); // -1 if there is none
int sn_rt_value_range(const sn_rt_model *model, uint32_t value, float range[2]);

// Vertices are in the rest mesh's order, unless the model was reordered (`sinew pack --order blocks`): then in the order in which
// the runtime evaluates them, so that results are written contiguously. out[k] (vertex_count numbers, or NULL) becomes the rest
// mesh's index of vertex k. Returns 1 for a reordered model; 0 for others, where out[k] = k. All functions here use the model's
// order: for the rest pose, triangles, results and ranges.
int sn_rt_get_order(const sn_rt_model *model, uint32_t *out);

// For engines with a skinning implementation: arrays in the model's vertex order, NULL for those not needed. Request joints and
// weights together, `influences` (at least info.max_influences) per vertex: palette entries in the order of the file, the pivot
// of dual quaternions first, unused ones with weight 0. For shade `recompute`, normals are computed from the rest positions.
typedef struct sn_rt_rest {
  float (*positions)[3];
  float (*normals)[3];
  uint16_t *joints;
  float *weights;
  uint32_t influences;
  float (*centres)[3];  // of rotation; for other blends, the positions
  float (*tangents)[4]; // x y z and handedness, for models that have them
} sn_rt_rest;
sn_rt_status sn_rt_get_rest(const sn_rt_model *model, const sn_rt_rest *out, sn_rt_error *error);

// The triangles: info.triangle_count, of the model's vertices.
void sn_rt_get_triangles(const sn_rt_model *model, uint32_t (*out)[3]);

// The displacement fields whose coefficients are sn_rt_correct_values: out[field * vertex_count + vertex]. Count 0 for models
// without corrections, and for those whose corrections are not fields in the rest pose.
uint32_t sn_rt_displacement_count(const sn_rt_model *model);
void sn_rt_displacements(const sn_rt_model *model, float (*out)[3]);

// A section of the file: its table entry by index, and its bytes by name (NULL if there is none).
typedef struct sn_rt_section {
  const char *name;
  const void *bytes;
  uint64_t size;
} sn_rt_section;
sn_rt_section sn_rt_get_section(const sn_rt_model *model, uint32_t index);
const void *sn_rt_find_section(const sn_rt_model *model, const char *name, uint64_t *size);

// Chooses the instruction set; for tests and measurements. Returns 0 and changes nothing if this machine or build does not
// have it.
int sn_rt_use_path(sn_rt_model *model, sn_rt_path path);
const char *sn_rt_path_name(sn_rt_path path);

// ---- evaluation ------------------------------------------------------------------------------------------------------------

// Input of a frame. Only the arrays with non-zero counts in info are read; others may be NULL.
typedef struct sn_rt_input {
  const float (*joints)[12];  // joint_count matrices, rest pose to pose, 3x4 row-major
  const float (*controls)[3]; // control_count positions
  const float *torques;       // joint_count values
  void *state;                // of one character, or NULL: see sn_rt_state_size
  const float *values;        // value_count named values
  uint32_t flags;             // SN_RT_CONTINUE
  // Lengths of these arrays and bytes of scratch memory, checked against the model's. 0: not checked.
  uint32_t joint_count, control_count, torque_count, value_count;
  size_t scratch_size;
} sn_rt_input;

// SN_RT_CONTINUE: the scratch memory was zeroed before this character's first frame, and nothing else has used it since. Results
// that have not changed since the last frame are reused: predictors and pose spaces of joints that do not move, their part of the
// solve, and the palette if no joint moves. The output is bit-identical.
enum { SN_RT_CONTINUE = 1 };

// Continuity. A rotation matrix is the same after 360 degrees, so without memory a joint that keeps rotating must jump
// somewhere: dual quaternions and pose vectors jump 180 degrees away from the middle of the training poses (the reference
// rotation of the joint, stored in the model). To avoid the jump, keep a state per character: sn_rt_state_size bytes (0 for
// models that do not use one), 4-byte aligned, zeroed before the first frame and whenever the character is posed anew.
// sn_rt_palette continues every joint from the branch of its last frame, and updates the state; joints should rotate by less
// than 180 degrees from frame to frame.
size_t sn_rt_state_size(const sn_rt_model *model);

// Output arrays, in the model's vertex order (sn_rt_get_order). Arrays that are NULL are not computed. Strides are in bytes, from
// one vertex to the next, multiples of 4; 0: no gaps. Gaps are not written.
typedef struct sn_rt_output {
  float *positions;
  size_t position_stride;
  float *normals; // unit length
  size_t normal_stride;
  float *tangents; // four numbers each, see sn_rt_tangents; they need the normals
  size_t tangent_stride;
  // Bounding box, low x y z, high x y z: extended by the vertices that are written. Begin with +infinity and -infinity.
  float *bounds;
  // Block mask: block b is evaluated if bit b % 32 of blocks[b / 32] is set; vertices of other blocks are not written.
  // sn_rt_get_blocks gives the block of every vertex.
  const uint32_t *blocks;
  // Staging memory of this thread, sn_rt_staging_size bytes: results of a chunk are computed there and copied with streaming
  // stores. For outputs of many megabytes that are not read again soon; sn_rt_evaluate uses part of its scratch memory.
  void *staging;
  uint32_t flags;
} sn_rt_output;

// Flags: IEEE 754 half precision instead of floats; strides are then multiples of 2. Recomputed normals need float positions.
enum { SN_RT_HALF_POSITIONS = 1, SN_RT_HALF_NORMALS = 2, SN_RT_HALF_TANGENTS = 4 };

size_t sn_rt_staging_size(const sn_rt_model *model);
void sn_rt_get_blocks(const sn_rt_model *model, uint32_t *out); // vertex_count numbers below info.block_count

// The first step of a frame: the palette for this input, into `scratch` (sn_rt_scratch_size bytes).
sn_rt_status sn_rt_palette(const sn_rt_model *model, const sn_rt_input *input, void *scratch, sn_rt_error *error);

// Matrix `index` of the palette in `scratch`, 3x4 row-major: what a linear blend uses (for export and for tests).
void sn_rt_palette_matrix(const sn_rt_model *model, const void *scratch, uint32_t index, float out[12]);

// The same matrix as a dual quaternion blend uses it: the rigid part (real x y z w, dual x y z w), applied after the stretch. The
// blend `centres` uses the real part and the 3x3 part of the stretch. Returns 1 if the signs are final, 0 if the blend must
// compare them with the pivot's.
int sn_rt_palette_split(const sn_rt_model *model, const void *scratch, uint32_t index, float dualquat[8],
                        float stretch[12]);

// Coefficients of the model's displacement fields, after sn_rt_palette: returns their number, and sets `values` to their place in
// `scratch`. 0 and NULL for models without corrections.
uint32_t sn_rt_correct_values(const sn_rt_model *model, const void *scratch, const float **values);

// The second step: positions of vertices first .. first + count - 1 (pointers in `output` are those of vertex 0), and their
// normals if the shade slot is `transform`. A range that does not begin and end at multiples of info.grain repeats some work:
// use sn_rt_skin_part with several threads.
sn_rt_status sn_rt_skin(const sn_rt_model *model, const void *scratch, const sn_rt_output *output, uint32_t first,
                        uint32_t count, sn_rt_error *error);

// Threads. Part `part` (from 0) of `parts` equally expensive parts: blocks for sn_rt_skin_part, vertices for sn_rt_normals and
// sn_rt_tangents. Skin by blocks: the vertices of a range are spread over most blocks, which would be evaluated several times.
typedef struct sn_rt_part {
  uint32_t first_block, end_block;
  uint32_t first_vertex, vertex_count;
} sn_rt_part;
sn_rt_part sn_rt_get_part(const sn_rt_model *model, uint32_t part, uint32_t parts);
// sn_rt_skin for the vertices of a part's blocks.
sn_rt_status sn_rt_skin_part(const sn_rt_model *model, const void *scratch, const sn_rt_output *output,
                             const sn_rt_part *part, sn_rt_error *error);

// The third step, for the shade slot `recompute`, after the positions of all vertices: normals of vertices
// first .. first + count - 1 from the positions in `output`. Does nothing for other models.
sn_rt_status sn_rt_normals(const sn_rt_model *model, const sn_rt_output *output, uint32_t first, uint32_t count,
                           sn_rt_error *error);

// The last step: tangents of vertices first .. first + count - 1, with the palette in `scratch` and the vertices' normals in
// `output`; for models that were trained with texture coordinates (option tangents=1; info.tangents is 1). A tangent is four
// numbers: a unit vector at right angles to the normal, along which the first texture coordinate grows fastest, and w, 1 or -1:
// w (normal x tangent) is the direction in which the second one grows, from the bottom of the texture to its top (as in
// glTF). A vertex whose surface collapses has 0 0 0 w.
sn_rt_status sn_rt_tangents(const sn_rt_model *model, const void *scratch, const sn_rt_output *output, uint32_t first,
                            uint32_t count, sn_rt_error *error);

// All steps, for all vertices.
sn_rt_status sn_rt_evaluate(const sn_rt_model *model, const sn_rt_input *input, void *scratch,
                            const sn_rt_output *output, sn_rt_error *error);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
