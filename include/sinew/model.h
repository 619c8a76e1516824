// SPDX-License-Identifier: MIT
// Model files from the offline side: assembling one (what every trainer ends in), reading back what is in one.
// Evaluating a model is the runtime's job (sinew/runtime.h); the format is described in docs/reference/model-file.md.
#ifndef SINEW_MODEL_H
#define SINEW_MODEL_H

#include "sinew/runtime.h"
#include "sinew/scene.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

// A palette entry made from the joints' matrices (Mohr and Gleicher 2003). Entries follow the joints: entry e has the
// palette index joint_count + e.
typedef enum sn_extra_kind {
  SN_EXTRA_HALFWAY = 1, // rotation: slerp(parent, child, amount); goes through where `child` takes `centre`
  SN_EXTRA_SCALING = 2 // palette entry `base` after the stretch I + sin^2(bend / 2) A about `centre` in the rest pose
} sn_extra_kind;

typedef struct sn_extra_joint {
  sn_extra_kind kind;
  int parent, child; // joints whose relative rotation counts
  int base;          // scaling: a joint or an earlier extra entry
  double amount;     // half-way: 0.5, or any other place between parent (0) and child (1)
  sn_vec3 centre;    // of the joint, in the rest pose
  sn_vec3 direction; // scaling: bend is the angle by which the child turns this rest direction relative to the
                     // parent (a twist about it does not count); zero: the whole relative rotation angle
  sn_mat3 stretch; // scaling: A, symmetric; diag(-0.5, ...) shrinks to one half when fully bent, diag(1, ...) doubles
} sn_extra_joint;

// A section beyond those that the writer makes itself (later slots put their tables here).
typedef struct sn_model_section {
  const char *name; // at most 15 characters
  const void *bytes;
  size_t size;
  bool required; // a runtime that does not know the section refuses the model
} sn_model_section;

// Bases from `common` on are of groups of rows, if there are any: those of group g, first[g] to first[g + 1] - 1, move the rows
// of that group alone, so that the groups' displacements share places.
typedef struct sn_basis_groups {
  int common;
  const int *first, *group_of; // of every group, and one more; of every row. NULL: no groups
} sn_basis_groups;

// How many bases of `count` move a row, and which is the n-th; its displacement is in place n.
static inline int sn_basis_number(const sn_basis_groups *g, int count, int row) {
  return g->first ? g->common + g->first[g->group_of[row] + 1] - g->first[g->group_of[row]] : count;
}
static inline int sn_basis_of(const sn_basis_groups *g, int row, int n) {
  return g->first && n >= g->common ? g->first[g->group_of[row]] + n - g->common : n;
}

// The correct slot: displacements of positions and normals, in pose spaces that are sections already.
typedef struct sn_model_corrections {
  sn_rt_correct kind;
  bool forward;    // added after the blend instead of in the rest pose
  int field_count; // pose spaces
  // correct.fields, correct.joints, correct.numbers, correct.terms, correct.mix; those of no bytes are not written.
  sn_model_section pose_spaces[5];
  int basis_count, row_count;
  const float (*deltas)[6]; // the basis in place n moves row r by deltas[n * row_count + r]: x y z, and of the normal
  sn_basis_groups groups;   // without any basis b is in place b
  const int *rows;          // row of every vertex; NULL: row i is vertex i
  const float *limits;      // longest displacement of every row; NULL: none
  bool limit_after;         // limits are of what the blend, a linear one, makes of displacements
  double least, least_normal; // displacements not longer than these are left out
} sn_model_corrections;

// How the vertices of a model are numbered: as in the rest file, or in the order in which the runtime computes them, which it
// does faster then.
typedef enum sn_vertex_order { SN_VERTEX_ORDER_FILE, SN_VERTEX_ORDER_BLOCKS } sn_vertex_order;

// What a model is made of, as plain data: sn_model_build encodes it. Start from sn_model_desc_default().
typedef struct sn_model_desc {
  sn_rt_drive drive;
  const sn_model_corrections *corrections; // NULL: none
  sn_rt_blend blend;
  sn_rt_shade shade;
  const sn_mesh *rest;       // its vertex order is that of the output
  const float (*normals)[3]; // rest normals; NULL: from the triangles
  const int *smooth_of; // the first vertex of each one's smoothing group: recomputed normals are theirs; NULL: alone
  const int *place_of;  // the first vertex at each one's place (seams); NULL: alone
  const sn_skeleton *skeleton; // NULL for drives without joints
  const float (*centres)[3];   // of rotation, for the blend `centres`
  const float (
    *uvs)[2]; // texture coordinates (v upwards) of the triangles' corners: the model has tangents; NULL: none
  const float (*tangents)[4]; // of the vertices, instead of those from `uvs` where not zero; NULL: none
  const sn_skin *skin;        // `joints` are palette indices; 1 to 8 influences; rows need not be normalised
  int extra_count;
  const sn_extra_joint *extra;
  int palette_count; // 0: joints and extras; drives with separate bones give their number
  int control_count;
  int value_count; // named values of the pose spaces
  const char *const *value_names;
  const float (*value_ranges)[2]; // least and largest of the training
  int
    weight_bits; // 32, 16 or 8: weights are rounded to fractions of 65535 or 255 with their sum kept exactly; 12: the
                 // model is packed
  int grain;     // vertices that are ordered together; 0: chosen by the writer (a power of two up to 65536)
  sn_vertex_order order;
  int section_count;
  const sn_model_section *sections;
} sn_model_desc;

sn_model_desc sn_model_desc_default(void); // lbs without anything: joints, none, linear, transform, 32 bits

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
// docs/reference/model-file.md tells. Fails for one that is packed already.
sn_status sn_model_pack(sn_context *ctx, const sn_rt_model *model, sn_model *out);

// The same model with its vertices in this order, whichever they have. Results are the same numbers in other places; normals
// that are recomputed may differ in their rounding.
sn_status sn_model_reorder(sn_context *ctx, const sn_rt_model *model, sn_vertex_order order, sn_model *out);

// The same in place of the model.
sn_status sn_model_set_order(sn_context *ctx, sn_model *model, sn_vertex_order order);

// A renumbered model in the order of the rest file, opened; `bytes` are its bytes.
sn_status sn_model_open_as_file(sn_context *ctx, const char *name, const sn_rt_model *model, sn_model *bytes,
                                sn_rt_model *out);

// `count` arrays in a row, of `size` bytes for every vertex: from the model's order into that of the rest file, in place.
sn_status sn_model_to_file(sn_context *ctx, const sn_rt_model *model, void *rows, size_t size, size_t count);

// An opened model with these sections instead of its own of the same names, or more of them, and this correct slot.
sn_status sn_model_replace(sn_context *ctx, const sn_rt_model *model, sn_rt_correct correct,
                           const sn_model_section *sections, int section_count, sn_model *out);

// A finished model with more corrections, and more sections. Rows are vertices of the model; `limits` are added to those that it
// has. Pose spaces count joints, bases and numbers from 0, and are no sums of terms. Not for packed models.
sn_status sn_model_add_corrections(sn_context *ctx, const sn_rt_model *model, const sn_model_corrections *more,
                                   const sn_model_section *sections, int section_count, sn_model *out);

sn_status sn_model_write(sn_context *ctx, const char *path, const sn_model *model);
// Opens the bytes of a model with the runtime; its complaint becomes ctx->error (`name` is put before it).
sn_status sn_model_open(sn_context *ctx, const char *name, const void *bytes, size_t size, sn_rt_model *out);

// What is inside, in the order of the rest file: the mesh (without triangles where the file has none), the weights as
// evaluated (after rounding; largest first), the skeleton (joint_count 0 where there is none; `rest` is the joint-to-world
// matrix in the rest pose, identity where the file does not say).
sn_status sn_model_mesh(sn_context *ctx, const sn_rt_model *model, sn_mesh *out);
sn_status sn_model_skin(sn_context *ctx, const sn_rt_model *model, sn_skin *out);
sn_status sn_model_skeleton(sn_context *ctx, const sn_rt_model *model, sn_skeleton *out);

// The palette that sn_rt_palette left in `scratch`: info.palette_count matrices.
void sn_model_read_palette(const sn_rt_model *model, const void *scratch, sn_affine *out);

// The displacement fields of the correct slot, in the order of the rest mesh: what they are multiplied with is
// sn_rt_correct_values. None for models without corrections; SN_UNSUPPORTED for forward ones, which are not
// fields in the rest pose.
typedef struct sn_displacements {
  int count;
  float (*deltas)[3]; // count * vertex_count
  sn_arena memory;
} sn_displacements;

sn_status sn_model_displacements(sn_context *ctx, const sn_rt_model *model, sn_displacements *out);
void sn_displacements_free(sn_displacements *displacements);
// The names of fields that are shapes of single values: that of the value, with "^2" for its square. NULL where a field is anything else.
sn_status sn_model_shape_names(sn_context *ctx, sn_arena *memory, const sn_rt_model *model,
                               const char *const **names);

// Doubles to what sn_rt_input takes.
void sn_model_joints(const sn_affine *matrices, int count, float (*out)[12]);
void sn_model_torques(const sn_torques *torques, int frame, int count, float *out); // zeros where there are none

// Rounds one row of weights (sum 1) to whole multiples of 1/total, largest-remainder, so that they sum to `total`
// exactly; no weight moves by more than 1/total.
void sn_quantise_weights(int count, const float *weights, uint32_t total, uint32_t *out);

// Writes the checksums anew after bytes were changed in place (tests and fuzzing). False where the table does not fit.
bool sn_model_seal(uint8_t *bytes, size_t size);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
