// SPDX-License-Identifier: MIT
// Building model files (the last step of every trainer), and reading their contents back.
// Evaluating a model is the runtime's job (sinew/runtime.h); the format is described in docs/reference/model-file.md.
#ifndef SINEW_MODEL_H
#define SINEW_MODEL_H

#include "sinew/runtime.h"
#include "sinew/scene.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

// A palette entry computed from the joints' matrices (Mohr and Gleicher 2003). Entry e has the palette index
// joint_count + e.
typedef enum sn_extra_kind {
  SN_EXTRA_HALFWAY = 1, // rotation: slerp(parent, child, amount); maps `centre` to where `child` maps it
  SN_EXTRA_SCALING = 2 // palette entry `base` after the stretch I + sin^2(bend / 2) A about `centre` in the rest pose
} sn_extra_kind;

typedef struct sn_extra_joint {
  sn_extra_kind kind;
  int parent, child; // joints whose relative rotation is used
  int base;          // scaling: a joint or an earlier extra entry
  double amount;     // half-way: 0.5, or any other place between parent (0) and child (1)
  sn_vec3 centre;    // of the joint, in the rest pose
  sn_vec3 direction; // scaling: bend is the angle by which the child rotates this rest direction relative to the
                     // parent (without twist about it); zero: the whole relative rotation angle
  sn_mat3 stretch; // scaling: A, symmetric; diag(-0.5, ...) shrinks to one half when fully bent, diag(1, ...) doubles
} sn_extra_joint;

// A section in addition to those that the writer makes (tables of the drive and correct slots).
typedef struct sn_model_section {
  const char *name; // at most 15 characters
  const void *bytes;
  size_t size;
  bool required; // a runtime that does not know the section refuses the model
} sn_model_section;

// The first `common` bases displace all rows. The bases of group g, first[g] to first[g + 1] - 1, displace only the rows of that
// group, so that the displacements of all groups are stored in the same places.
typedef struct sn_basis_groups {
  int common;
  const int *first, *group_of; // group_count + 1 entries; the group of every row. NULL: no groups
} sn_basis_groups;

// How many bases of `count` displace a row, and the index of the n-th, whose displacement is in place n.
static inline int sn_basis_number(const sn_basis_groups *g, int count, int row) {
  return g->first ? g->common + g->first[g->group_of[row] + 1] - g->first[g->group_of[row]] : count;
}
static inline int sn_basis_of(const sn_basis_groups *g, int row, int n) {
  return g->first && n >= g->common ? g->first[g->group_of[row]] + n - g->common : n;
}

// The correct slot: displacements of positions and normals, and the encoded sections of their pose spaces.
typedef struct sn_model_corrections {
  sn_rt_correct kind;
  bool forward;    // added after the blend instead of in the rest pose
  int field_count; // pose spaces
  // correct.fields, correct.joints, correct.numbers, correct.terms, correct.mix; empty ones are not written.
  sn_model_section pose_spaces[5];
  int basis_count, row_count;
  const float (*deltas)[6];   // the basis in place n displaces row r by deltas[n * row_count + r]: position, normal
  sn_basis_groups groups;     // without groups, basis b is in place b
  const int *rows;            // row of every vertex; NULL: row i is vertex i
  const float *limits;        // maximum length of the displacement of every row; NULL: none
  bool limit_after;           // limits apply to displacements transformed by the (linear) blend
  double least, least_normal; // displacements not longer than these are not stored
} sn_model_corrections;

// Vertex order of a model: that of the rest file, or that in which the runtime evaluates them, which is faster.
typedef enum sn_vertex_order { SN_VERTEX_ORDER_FILE, SN_VERTEX_ORDER_BLOCKS } sn_vertex_order;

// A model as plain data, for sn_model_build to encode. Start from sn_model_desc_default().
typedef struct sn_model_desc {
  sn_rt_drive drive;
  const sn_model_corrections *corrections; // NULL: none
  sn_rt_blend blend;
  sn_rt_shade shade;
  const sn_mesh *rest;         // its vertex order is that of the output
  const float (*normals)[3];   // rest normals; NULL: from the triangles
  const int *smooth_of;        // first vertex of each vertex's smoothing group, for recomputed normals; NULL: itself
  const int *place_of;         // first vertex at the same position (seams); NULL: itself
  const sn_skeleton *skeleton; // NULL for drives without joints
  const float (*centres)[3];   // of rotation, for the blend `centres`
  const float (*uvs)[2];       // texture coordinates (v upwards) per triangle corner, for tangents; NULL: no tangents
  const float (*tangents)[4];  // of the vertices; override those from `uvs` where not zero; NULL: none
  const sn_skin *skin;         // `joints` are palette indices; 1 to 8 influences; rows need not be normalised
  int extra_count;
  const sn_extra_joint *extra;
  int palette_count; // number of proxy bones of drives that have them; 0: joints and extras
  int control_count;
  int value_count; // named values of the pose spaces
  const char *const *value_names;
  const float (*value_ranges)[2]; // minimum and maximum in training
  int weight_bits; // 32, or 16 or 8: weights are rounded to multiples of 1/65535 or 1/255, sum 1 kept; 12: packed
  int grain;       // vertices that are sorted into blocks together; 0: chosen (a power of two up to 65536)
  sn_vertex_order order;
  int section_count;
  const sn_model_section *sections;
} sn_model_desc;

sn_model_desc sn_model_desc_default(void); // plain lbs: slots joints, none, linear, transform; 32 bits

// The bytes of a model file.
typedef struct sn_model {
  uint8_t *bytes; // 64-byte aligned
  size_t size;
  sn_arena memory;
} sn_model;

// Assembles a model. The same description gives the same bytes.
sn_status sn_model_build(sn_context *ctx, const sn_model_desc *desc, sn_model *out);
void sn_model_free(sn_model *model);

// The same model in fewer bytes: rest positions, normals, weights, corrections and triangles rounded as
// docs/reference/model-file.md describes. Fails for a packed model.
sn_status sn_model_pack(sn_context *ctx, const sn_rt_model *model, sn_model *out);

// The same model with its vertices in this order. Results are the same numbers, permuted; recomputed normals may differ by
// rounding.
sn_status sn_model_reorder(sn_context *ctx, const sn_rt_model *model, sn_vertex_order order, sn_model *out);

// Reorders and replaces the model.
sn_status sn_model_set_order(sn_context *ctx, sn_model *model, sn_vertex_order order);

// Reorders a model to the rest file's order and opens it; `bytes` owns the result; `out` may be `model`.
sn_status sn_model_open_as_file(sn_context *ctx, const char *name, const sn_rt_model *model, sn_model *bytes,
                                sn_rt_model *out);

// Permutes `count` consecutive arrays of `size` bytes per vertex from the model's order to that of the rest file, in place.
sn_status sn_model_to_file(sn_context *ctx, const sn_rt_model *model, void *rows, size_t size, size_t count);

// Adds corrections (NULL: none) to a finished model, and replaces sections of the same names. Rows of the corrections are vertices
// of the model; their limits are added to the model's. Their pose spaces number joints, bases and numbers from 0, and must not be
// sums of terms. Packed models take no corrections.
sn_status sn_model_extend(sn_context *ctx, const sn_rt_model *model, const sn_model_corrections *more,
                          const sn_model_section *sections, int section_count, sn_model *out);

sn_status sn_model_write(sn_context *ctx, const char *path, const sn_model *model);
// Opens the bytes of a model with the runtime; its error becomes ctx->error, prefixed by `name`.
sn_status sn_model_open(sn_context *ctx, const char *name, const void *bytes, size_t size, sn_rt_model *out);

// Contents in the order of the rest file: the mesh (without triangles if the file has none), the weights as evaluated (after
// rounding; largest first), the skeleton (joint_count 0 if there is none; `rest` is the joint-to-world matrix in the rest pose,
// identity if the file has none).
sn_status sn_model_mesh(sn_context *ctx, const sn_rt_model *model, sn_mesh *out);
sn_status sn_model_skin(sn_context *ctx, const sn_rt_model *model, sn_skin *out);
sn_status sn_model_skeleton(sn_context *ctx, const sn_rt_model *model, sn_skeleton *out);
// The model's values in the rest pose, for every frame: 0, clamped to the range of the training.
sn_status sn_model_values(sn_context *ctx, const sn_rt_model *model, int frame_count, sn_values *out);

// The joint of a palette entry: itself, the child of an extra joint, the base of a proxy bone, the parent of a helper.
uint16_t sn_model_joint_of(const sn_rt_model *model, uint16_t entry);
// The palette that sn_rt_palette left in `scratch`: info.palette_count matrices.
void sn_model_read_palette(const sn_rt_model *model, const void *scratch, sn_affine *out);

// Number of frames that can be evaluated: of the poses; of the values if the model has no joints; of the meshes if control points
// drive it (without a rest mesh, the frames hold only the control points).
int sn_model_frame_count(const sn_rt_model *model, const sn_examples *examples);

// The runtime's input for a frame of the examples, joints matched by name.
typedef struct sn_model_input {
  const sn_rt_model *model;
  const sn_examples *examples;
  int *joint_of;   // the skeleton's joint for each of the model's
  int *control_of; // the examples' vertex for each of the model's control points
  char *states;    // for motions: the runtime's state before every frame, sn_rt_state_size bytes each; NULL: none
  int *value_of;   // the examples' value for each of the model's
} sn_model_input;

// Fails if the examples lack an input that the model needs, and names it.
sn_status sn_model_input_new(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, sn_arena *memory,
                             sn_model_input *out);
// The input of frame f, made in `buffer` (sn_model_input_size bytes).
sn_rt_input sn_model_input_at(const sn_model_input *input, int f, void *buffer);
// The same of the rest pose: no torques, values 0, control points of the first training frame.
sn_rt_input sn_model_rest_input(const sn_rt_model *model, void *buffer);
size_t sn_model_input_size(const sn_rt_model *model);

// Evaluates at every pose of the examples: the palette, info.palette_count matrices per frame, and the coefficients of the
// displacement fields, sn_rt_displacement_count per frame (`memory` owns them). `poses` and `fields` may be NULL.
sn_status sn_model_palettes(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, sn_poses *poses,
                            sn_arena *memory, float **fields);

// The displacement fields of the correct slot, in the order of the rest mesh; their coefficients are sn_rt_correct_values.
// Count 0 for models without corrections; SN_UNSUPPORTED for forward corrections, which are not in the rest pose.
typedef struct sn_displacements {
  int count;
  float (*deltas)[3]; // count * vertex_count
  sn_arena memory;
} sn_displacements;

sn_status sn_model_displacements(sn_context *ctx, const sn_rt_model *model, sn_displacements *out);
void sn_displacements_free(sn_displacements *displacements);
// Names of fields whose coefficient is a single value (its name) or its square (with "^2"). NULL if there is any other field.
sn_status sn_model_shape_names(sn_context *ctx, sn_arena *memory, const sn_rt_model *model,
                               const char *const **names);

// Converts doubles to the floats of sn_rt_input.
void sn_model_joints(const sn_affine *matrices, int count, float (*out)[12]);
void sn_model_torques(const sn_torques *torques, int frame, int count, float *out); // zeros where there are none

// Rounds one row of weights (sum 1) to multiples of 1/total by the largest-remainder method, so that they sum to `total`
// exactly; no weight changes by more than 1/total.
void sn_quantise_weights(int count, const float *weights, uint32_t total, uint32_t *out);

// Recomputes the checksums after bytes were changed in place (tests and fuzzing). False if the section table is invalid.
bool sn_model_seal(uint8_t *bytes, size_t size);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
