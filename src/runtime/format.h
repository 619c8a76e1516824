// SPDX-License-Identifier: MIT
// The bytes of a .sinew file, as C structs. docs/reference/model-file.md describes them in words; keep the two in step.
// Used by the runtime (reading) and by src/model (writing). Everything is little-endian.
#ifndef SINEW_RUNTIME_FORMAT_H
#define SINEW_RUNTIME_FORMAT_H

#include "sinew/runtime.h"

#define SN_RT_MAGIC "Sinew\r\n\x1a"

enum {
  SN_RT_LANES = 8,           // vertices of a block
  SN_RT_ALIGNMENT = 64,      // of every section
  SN_RT_MAX_GRAIN = 65536,   // lanes are 16 bits
  SN_RT_SECTION_REQUIRED = 1 // flag: a reader that does not know the section must refuse the file
};

typedef struct sn_rt_header {
  char magic[8];
  uint16_t version_major, version_minor;
  uint32_t section_count;
  uint64_t file_size;
  uint8_t drive, correct, blend, shade;
  uint32_t vertex_count, joint_count, palette_count, control_count, triangle_count;
  uint32_t grain;       // chunk c holds vertices c * grain .. (c + 1) * grain - 1
  uint32_t block_count; // of eight vertices
  uint32_t group_count; // runs of blocks
  uint32_t weight_bits; // 32: float; 16, 8: integers that sum to 65535, 255; 12: packed (runtime/packed.h)
  uint32_t max_influences;
  uint32_t torque_count;
  uint64_t influence_count; // of all vertices
  uint32_t value_count;     // named values of the pose spaces
  uint32_t reserved[10];    // zero
  uint32_t checksum;        // CRC-32 of this header, with 0 here, and of the table after it
} sn_rt_header;

typedef struct sn_rt_entry {
  char name[16]; // padded with zeros; the last byte is zero
  uint64_t offset, size;
  uint32_t checksum; // CRC-32 of the section
  uint32_t flags;
} sn_rt_entry;

typedef enum sn_rt_group_kind {
  SN_RT_GROUP_SHARED = 0, // all vertices of the group have the same joints
  SN_RT_GROUP_LOOSE = 1   // every vertex has joints of its own
} sn_rt_group_kind;

// A run of blocks with the same number of influences. first_... are the offsets of its data: blocks in skin.rest,
// skin.normals and skin.lanes; rows of eight in skin.weights, influences - 1 for each block, and, for a loose group,
// in skin.tuples, `influences` for each block. The first influence has no weight in the file: it is 1 (65535, 255) minus
// the others, so that weights always sum to one.
typedef struct sn_rt_group {
  uint32_t first_block, first_weight, first_tuple;
  uint16_t block_count;
  uint8_t influences, kind;
  uint16_t joints[8]; // palette indices of a shared group, the pivot of (dual) quaternions first
} sn_rt_group;

typedef enum sn_rt_extra_kind { SN_RT_EXTRA_HALFWAY = 1, SN_RT_EXTRA_SCALING = 2 } sn_rt_extra_kind;

// A palette entry derived from joints: see sn_extra_joint in sinew/model.h.
typedef struct sn_rt_extra {
  uint16_t kind, parent, child, base;
  float amount, centre[3], direction[3];
  float stretch[6]; // xx yy zz xy xz yz
  float reserved;
} sn_rt_extra;

// Drive `helpers`: translation (3), rotation (3: twice the tangent of half the angle, along the axis) and scale minus 1 about
// `centre` in the parent's rest pose: terms (drive.terms) times rows of drive.mix, clamped to low and high.
enum { SN_RT_HELPER_CHANNELS = 7, SN_RT_HELPER_ROW = 8 };
typedef struct sn_rt_helper {
  uint16_t parent, group_count; // a joint; SN_RT_NO_JOINT: none
  uint32_t first_group, first_row;
  float centre[3], low[SN_RT_HELPER_CHANNELS], high[SN_RT_HELPER_CHANNELS];
} sn_rt_helper;

// A coefficient of a value (0 to SN_RT_VALUE_SPAN; SN_RT_NO_JOINT: 1) in the translation (3), rotation vector (3) or scale along
// an axis (3) of a helper. place: 16 times the helper, plus the channel; FACTOR: it multiplies the next coefficient.
enum { SN_RT_LINEAR_CHANNELS = 9, SN_RT_LINEAR_FACTOR = 15, SN_RT_LINEAR_PLACES = 16 };
typedef struct sn_rt_linear {
  uint16_t value, place;
  float number;
} sn_rt_linear;

enum { SN_RT_ROTREG_FACTORS = 3, SN_RT_ROTREG_ROWS = 32 }; // maximum joints per predictor; rows of C in a block

// Drive `rotreg`: the joint's logarithm is taken relative to `base`, on the branch nearest to `reference`.
typedef struct sn_rt_rotreg_joint {
  uint32_t base;
  float reference[3];
} sn_rt_rotreg_joint;

// Eight predictors, one per lane: with phi = [theta of shear_joint 0, of shear_joint 1, 1], the rotation is
// R = Q_base exp(map_1 theta_1) exp(map_2 theta_2) ... exp(tilt phi) and scale/shear is shear phi. Only the first factor_count
// factors are used; unused lanes are zero.
typedef struct sn_rt_rotreg_block {
  uint16_t base[8], joint[SN_RT_ROTREG_FACTORS][8], shear_joint[2][8];
  uint32_t factor_count;
  uint32_t reserved[15];
  float map[SN_RT_ROTREG_FACTORS][9][8]; // row-major
  float shear[6][7][8];                  // xx yy zz xy xz yz
  float tilt[3][7][8];
} sn_rt_rotreg_block;

// Drive `torque`: eight pairs of predictors, one pair per lane, at the minimum and maximum torque. `load` is the joint whose
// torque blends the pair, or SN_RT_NO_JOINT: only the first predictor is used.
typedef struct sn_rt_torque_block {
  sn_rt_rotreg_block ends[2];
  uint16_t load[8];
  uint32_t reserved[12];
} sn_rt_torque_block;

// Effect of a joint's torque: x = (torque - low) / (high - low), clamped to [0, 1]. Rotations are blended by f_r =
// rotation[0] x + rotation[1] x^2 + rotation[2] x^3, scale and shear likewise by f_s, both clamped to [0, 1]. low = high:
// the torque has no effect.
typedef struct sn_rt_torque {
  float low, high, rotation[3], shear[3];
} sn_rt_torque;

// A joint's reference rotation relative to another joint: hemispheres of dual quaternions and logarithms of pose vectors are
// chosen nearest to it. Every joint once, parents before children.
typedef struct sn_rt_reference {
  uint16_t joint, parent; // parent SN_RT_NO_JOINT: the rotation is relative to the world
  float rotation[4];      // unit quaternion x y z w
} sn_rt_reference;

enum { SN_RT_NO_JOINT = 0xffff };

// joint.range, which the runtime does not read: componentwise range of a joint's pose vector in training. The pose vectors are
// defined as those of joint.reference.
typedef struct sn_rt_range {
  sn_rt_reference reference;
  float low[3], high[3];
} sn_rt_range;
#define SN_RT_RANGE_NAME "joint.range"

// A named value's range is scaled to this many radians in pose space. It is small because functions of values are nearly linear,
// like blend shapes.
#define SN_RT_VALUE_SPAN 0.25f

typedef enum sn_rt_rbf_kernel {
  SN_RT_KERNEL_GAUSS = 0,     // exp(-d^2 / (2 width^2))
  SN_RT_KERNEL_THINPLATE = 1, // x^2 log x, x = d / width
  SN_RT_KERNEL_BSPLINE = 2,   // cubic B-spline M4(d / width): zero from twice the width on
  SN_RT_KERNEL_SHEPARD = 3,   // d^-width, divided by the sum over the centres
  SN_RT_KERNEL_SUM = 4,       // no kernel: bases are sums over common terms, see sn_rt_terms
  SN_RT_KERNEL_COUNT
} sn_rt_rbf_kernel;

typedef enum sn_rt_metric {
  SN_RT_METRIC_EUCLID = 0,   // axes are the components of the pose vector
  SN_RT_METRIC_DIAGONAL = 1, // the same, each scaled
  SN_RT_METRIC_MATRIX = 2,   // axes = matrix * pose vector
  SN_RT_METRIC_COUNT
} sn_rt_metric;

typedef enum sn_rt_order { SN_RT_ORDER_INVERSE = 0, SN_RT_ORDER_FORWARD = 1 } sn_rt_order;

// correct.head
typedef struct sn_rt_correct_head {
  uint32_t order;       // before or after the blend
  uint32_t zero;        // 0: models before 0.1 had another kind of distances here
  uint32_t field_count; // pose spaces
  uint32_t basis_count; // displacement fields of all pose spaces together
  uint32_t entry_count; // pairs of a block and a basis that displaces it
  uint32_t limit_after; // 1: limits apply to displacements transformed by the blend (linear blend, order `inverse`)
  uint32_t reserved[2];
} sn_rt_correct_head;

// One pose space and the functions on it. Its numbers, from first_number on in correct.numbers: the metric (nothing,
// one per component, or axis_count rows of one per component), centres[centre_count][axis_count], widths[centre_count],
// and, if `mixed`, mix[basis_count][terms]. The terms are the kernels of the centres and, if `linear`, 1 and the axes;
// a field that is not mixed has one basis per term.
typedef struct sn_rt_field {
  uint32_t kernel, metric, linear, mixed;
  // In correct.joints: the joints, three components of the pose vector each, then the values, one each.
  uint32_t first_joint, joint_count;
  uint32_t axis_count, centre_count;
  uint32_t first_basis, basis_count;
  uint32_t first_number, value_count;
} sn_rt_field;

typedef enum sn_rt_terms_kind {
  SN_RT_TERMS_JOINT = 0,     // x y z xx xy xz yy yz zz
  SN_RT_TERMS_PAIR = 1,      // xx' xy' xz' yx' yy' yz' zx' zy' zz'
  SN_RT_TERMS_GAUSS = 2,     // exp(-|p - centre|^2 / (2 width^2)), one per centre
  SN_RT_TERMS_VALUE = 3,     // v, vv
  SN_RT_TERMS_FUNCTIONS = 4, // sums of the terms of the groups a .. a + b - 1 before it: mix[count][terms] at `first`
  SN_RT_TERMS_COUNT
} sn_rt_terms_kind;

enum { SN_RT_QUADRATIC = 9, SN_RT_MAX_TERM_GROUPS = 65536 }; // terms of a joint or a pair; indices have 16 bits

// Terms of a joint, of two joints or of a value, common to all pose spaces with SN_RT_KERNEL_SUM. p is the pose vector minus
// that of the rest pose. Such a field lists groups of terms in correct.joints; centre_count is the number of their terms,
// first_number the index of mix[basis_count][centre_count] in correct.mix.
typedef struct sn_rt_terms {
  uint16_t kind, count; // count: number of terms
  uint16_t a, b;        // into joint.reference; b of pairs only, else 0. Values: a is the value's number
  float rest[2][3];     // the pose vectors of a and b in the rest pose; of a value, rest[0][0]
  uint32_t first;       // Gaussians: index of the first of count * 3 centre coordinates in correct.mix; else 0
  float width;          // Gaussians: radians; else 0
} sn_rt_terms;

// Displacements of a block by a basis: the integers of correct.deltas times a scale.
typedef struct sn_rt_correct_entry {
  uint16_t basis, reserved;
  float position, normal; // scales
} sn_rt_correct_entry;

// Packed models. A row is eight numbers of 12 bits; SN_RT_PACKED_TAIL zero bytes follow sections of rows, so that 16-byte loads
// of a row stay in bounds. Weights are multiples of 1 / SN_RT_PACKED_TOTAL; components of an octahedral normal of
// 1 / SN_RT_OCTAHEDRAL_HALF, plus one; displacements are biased by SN_RT_PACKED_ZERO. Displacements of normals are three numbers
// of ten bits in 32, x lowest, biased by SN_RT_PACKED_NORMAL_ZERO.
enum { SN_RT_PACKED_BITS = 12, SN_RT_PACKED_ROW = 12, SN_RT_PACKED_NORMALS = 24, SN_RT_PACKED_TAIL = 4 }; // bytes
enum { SN_RT_PACKED_TANGENTS = SN_RT_PACKED_NORMALS + 1 }; // as normals, then a bit for every lane: left-handed
#define SN_RT_PACKED_TOTAL 4095.0f
#define SN_RT_OCTAHEDRAL_HALF 2047.0f
#define SN_RT_PACKED_ZERO 2048.0f
#define SN_RT_PACKED_NORMAL_ZERO 512.0f

typedef struct sn_rt_packed_entry {
  uint16_t basis;
  uint16_t normal; // scale: the upper half of a float
  float position;  // scale
} sn_rt_packed_entry;

// The drive `controls` (Kim 2010). A bone has 4 outputs (quaternion), 6 more with SN_RT_CONTROL_STRETCH (xx xy xz yy yz
// zz), and, without SN_RT_CONTROL_POISSON, more for its translation: 3 (displacement of its centre), or 4 without stretch
// (the dual part of a dual quaternion about the centre). Matrices are stored in strips of eight rows (the last may have
// fewer), each strip column by column.
typedef struct sn_rt_control {
  uint32_t frames;  // training frames: arguments of the kernel
  uint32_t outputs; // numbers per bone
  uint32_t flags;
  float scale; // the kernel is exp(-scale |c - c'|^2)
} sn_rt_control;

// SN_RT_CONTROL_CENTRED: the kernel's arguments are control points minus their mean.
// Eigenvalues of a predicted stretch are raised to SN_RT_LEAST_STRETCH, so that no bone collapses or is inverted.
#define SN_RT_LEAST_STRETCH 0.05f
enum { SN_RT_CONTROL_STRETCH = 1, SN_RT_CONTROL_POISSON = 2, SN_RT_CONTROL_CENTRED = 4, SN_RT_STRIP = 8 };

// Bytes of an index in shade.fans. Vertex i = 8 block + lane has the neighbours v_0 .. v_k-1 in its lane of the block's steps.
// The sum of (v_m - v_i) x (v_m+1 - v_i) over m, v_k = v_0, is the sum of its triangles' normals times twice their areas. A
// closed fan is the cycle of its neighbours; i itself ends an open fan. Repeating a neighbour adds zero: it pads the lane.
static inline uint32_t sn_rt_fan_bytes(uint32_t vertex_count) { return vertex_count <= 65536 ? 2 : 4; }

// Blocks of eight consecutive vertices.
static inline uint32_t sn_rt_blocks_of(uint32_t count) { return count / SN_RT_LANES + (count % SN_RT_LANES != 0); }

// Blocks and numbers of drive.solve: a block has eight proxy bones, four rows each.
static inline uint32_t sn_rt_rotreg_blocks(uint32_t bones) { return (bones + SN_RT_LANES - 1) / SN_RT_LANES; }

static inline uint64_t sn_rt_rotreg_solve_count(uint32_t joint_count, uint32_t bones) {
  return (uint64_t)sn_rt_rotreg_blocks(bones) * SN_RT_ROTREG_ROWS * (3 * (uint64_t)bones + 4 * (uint64_t)joint_count);
}

// The sections: identifier, and name in the file.
// clang-format off
#define SN_RT_SECTION_LIST(X) \
  X(JOINT_NAMES, "joint.names") /* uint32 start[joint_count + 1], then that many bytes of zero-terminated names */ \
  X(JOINT_PARENTS, "joint.parents") /* int32[joint_count], -1 for a root */ \
  X(JOINT_REST, "joint.rest") /* float[joint_count][12], joint to world in the rest pose */ \
  X(DRIVE_EXTRA, "drive.extra") /* sn_rt_extra[palette_count - joint_count] */ \
  X(SKIN_CHUNKS, "skin.chunks") /* uint32[chunks + 1]: first group of every chunk */ \
  X(SKIN_GROUPS, "skin.groups") /* sn_rt_group[group_count] */ \
  X(SKIN_LANES, "skin.lanes") /* uint16[block_count][8]: vertex within its chunk */ \
  X(SKIN_REST, "skin.rest") /* float[block_count][3][8]: x, y, z of the eight vertices */ \
  X(SKIN_NORMALS, "skin.normals") /* the same */ \
  X(SKIN_WEIGHTS, "skin.weights") /* float, uint16 or uint8 [rows][8] */ \
  X(SKIN_CENTRES, "skin.centres") /* float[block_count][3][8]: centres of rotation, in the rest pose */ \
  X(SKIN_TUPLES, "skin.tuples") /* uint16[rows][8]: palette indices of the loose groups */ \
  X(SHADE_START, "shade.start") /* uint32[ceil(vertex_count / 8) + 1]: first step of every eight consecutive vertices */ \
  X(SHADE_FANS, "shade.fans") /* uint16 or uint32 [steps][8]: neighbours, see sn_rt_fan_bytes */ \
  X(SHADE_OWN, "shade.own") /* int16[ceil(vertex_count / 8)][3][8]: the rest file's normals, see SN_RT_OWN_UNIT; may be missing */ \
  X(MESH_TRIANGLES, "mesh.triangles") /* uint32[triangle_count][3] */ \
  X(MESH_ORDER, "mesh.order") /* uint32[vertex_count]: vertex k is order[k] of the rest file, in the same chunk; missing: k */ \
  X(JOINT_REFERENCE, "joint.reference") /* sn_rt_reference[joint_count] */ \
  X(VALUE_NAMES, "value.names") /* as joint.names */ \
  X(VALUE_RANGES, "value.ranges") /* float[value_count][2]: least and largest of the training */ \
  X(CORRECT_HEAD, "correct.head") /* sn_rt_correct_head */ \
  X(CORRECT_FIELDS, "correct.fields") /* sn_rt_field[field_count] */ \
  X(CORRECT_JOINTS, "correct.joints") /* uint16[]: indices into joint.reference, of values, and into correct.terms */ \
  X(CORRECT_NUMBERS, "correct.numbers") /* double[]: cardinal functions of close poses cancel to many digits */ \
  X(CORRECT_TERMS, "correct.terms") /* sn_rt_terms[] */ \
  X(CORRECT_MIX, "correct.mix") /* float[]: centres and mixes of the terms */ \
  X(CORRECT_START, "correct.start") /* uint32[block_count + 1]: first entry of every block */ \
  X(CORRECT_ENTRIES, "correct.entries") /* sn_rt_correct_entry[entry_count] */ \
  X(CORRECT_DELTAS, "correct.deltas") /* int16[entry_count][6][8]: x y z of the positions, x y z of the normals */ \
  X(CORRECT_LIMITS, "correct.limits") /* float[block_count][8]: the longest displacement of every vertex; may be missing */ \
  X(DRIVE_JOINTS, "drive.joints") /* sn_rt_rotreg_joint[joint_count] */ \
  X(DRIVE_KEYS, "drive.keys") /* sn_rt_rotreg_block[ceil(bones / 8)], bones = palette_count - joint_count */ \
  X(DRIVE_SOLVE, "drive.solve") /* float[ceil(bones / 8)][3 bones + 4 joints][32]: columns of C, 32 rows at a time */ \
  X(CONTROL_HEAD, "control.head") /* sn_rt_control */ \
  X(CONTROL_POINTS, "control.points") /* uint32[control_count]: the vertices of the rest file that the control points are */ \
  X(CONTROL_FRAMES, "control.frames") /* float[frames][control_count][3]: control points at the training frames */ \
  X(CONTROL_CENTRES, "control.centres") /* float[palette_count][3]: where the bones are in the rest pose */ \
  X(CONTROL_MAP, "control.map") /* float[palette_count * outputs x (frames + 1)], in strips: the matrix M */ \
  X(CONTROL_SOLVE, "control.solve") /* float[palette_count x (3 palette_count + control_count)], in strips: the matrix P */ \
  X(DRIVE_HELPERS, "drive.helpers") /* sn_rt_helper[palette_count - joint_count] */ \
  X(DRIVE_TERMS, "drive.terms") /* sn_rt_terms[]: of joints, pairs of joints and values, helper after helper */ \
  X(DRIVE_MIX, "drive.mix") /* float[terms][8]: the channels of every term's helper, then 0 */ \
  X(DRIVE_LINEAR, "drive.linear") /* sn_rt_linear[], by helper; may be missing, and drive.terms and drive.mix where it is not */ \
  X(DRIVE_TORQUES, "drive.torques") /* sn_rt_torque[joint_count] */ \
  X(DRIVE_PAIRS, "drive.pairs") /* sn_rt_torque_block[ceil(bones / 8)], instead of drive.keys */ \
  X(DRIVE_OFFSETS, "drive.offsets") /* float[joint_count][2]: what f_r and f_s are at x = 0; may be missing: 0 */ \
  X(DRIVE_CENTRE, "drive.centre") /* float[3]: what proxy bones were learned about, see sn_rt_image; may be missing */ \
  X(PACK_BOXES, "pack.boxes") /* float[group_count][4]: corner and step of the group's rest positions */ \
  X(PACK_REST, "pack.rest") /* uint16[block_count][3][8]: steps from the corner */ \
  X(PACK_NORMALS, "pack.normals") /* uint8[block_count][8][3]: octahedral u and v, 12 bits each; then four zero bytes */ \
  X(PACK_WEIGHTS, "pack.weights") /* rows, as in skin.weights */ \
  X(PACK_TUPLES, "pack.tuples") /* uint8[rows][8], instead of skin.tuples where palette_count <= 256 */ \
  X(PACK_TRIANGLES, "pack.triangles") /* differences of vertices in a row, see sn_rt_get_triangles */ \
  X(PACK_ENTRIES, "pack.entries") /* sn_rt_packed_entry[entry_count] */ \
  X(PACK_DELTAS, "pack.deltas") /* per entry: three rows, and uint32[8] of the normals where they are transformed */ \
  X(PACK_LIMITS, "pack.limits") /* float unit, then uint16[block_count][8]; may be missing */ \
  X(SKIN_TANGENTS, "skin.tangents") /* float[block_count][4][8]: x, y, z, and 1 or -1; may be missing */ \
  X(PACK_TANGENTS, "pack.tangents") /* uint8[block_count][25], see SN_RT_PACKED_TANGENTS; then four zero bytes; may be missing */ \
  X(PACK_SOLVE, "pack.solve") /* int16, as drive.solve and instead of it: see sn_rt_packed_solve */ \
  X(PACK_SCALES, "pack.scales") /* float: unit; centre[8 ceil(bones / 8)][3]; scale[ceil(bones / 8)][3 bones + 4 joints] */
// clang-format on

#define SN_RT_SECTION_ID(id, name) SN_SECTION_##id,
typedef enum sn_rt_section_id { SN_RT_SECTION_LIST(SN_RT_SECTION_ID) SN_SECTION_COUNT } sn_rt_section_id;
#undef SN_RT_SECTION_ID

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default) // libsinew writes the files that libsinew-runtime reads
#endif
// A section of an opened model (NULL if there is none), and its size in bytes.
const void *sn_rt_data(const sn_rt_model *model, sn_rt_section_id id);
uint64_t sn_rt_size(const sn_rt_model *model, sn_rt_section_id id);
// CRC-32 as in zlib and PNG; `crc` is 0 or the result for the bytes before these.
uint32_t sn_rt_crc32(uint32_t crc, const void *bytes, uint64_t size);
const char *sn_rt_section_name(sn_rt_section_id id);
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
