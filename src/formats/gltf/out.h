// SPDX-License-Identifier: MIT
// What the files that write glTF share: a document under construction.
#ifndef SINEW_FORMATS_GLTF_OUT_H
#define SINEW_FORMATS_GLTF_OUT_H

#include "formats/gltf/gltf.h"

// JSON and binary data of a document being built. Running out of memory is remembered in `failed` and told at the end,
// so that building reads as one piece.
typedef struct gltf_builder {
  sn_context *ctx;
  json_t *root;
  uint8_t *bytes;
  size_t size, room;
  sn_arena byte_memory, memory; // the bytes; whatever lives as long as the builder
  bool failed;
} gltf_builder;

// ---- build.c ---------------------------------------------------------------------------------------------------

gltf_builder sn_gltf_builder(sn_context *ctx, json_t *root); // takes over root
void sn_gltf_builder_free(gltf_builder *b);
sn_status sn_gltf_builder_status(gltf_builder *b);

// Sets object[key]; takes over value. NULL for value counts as running out of memory.
void sn_gltf_set(gltf_builder *b, json_t *object, const char *key, json_t *value);
void sn_gltf_set_text(gltf_builder *b, json_t *object, const char *key, const char *text, const char *fallback);
// Appends to root[key], made where it is missing; takes over value and returns its index.
int sn_gltf_append(gltf_builder *b, const char *key, json_t *value);
json_t *sn_gltf_child(gltf_builder *b, json_t *object, const char *key); // object[key], made where it is missing
json_t *sn_gltf_reals(gltf_builder *b, const double *values, int count);

// Appends bytes, aligned to four; the offset.
size_t sn_gltf_add_bytes(gltf_builder *b, const void *bytes, size_t size);
// A buffer view of its own (target 0: none) with one accessor; the accessor's index.
int sn_gltf_add_accessor(gltf_builder *b, const void *data, int count, int component, int width, int target,
                         bool bounds);
int sn_gltf_add_view(gltf_builder *b, const void *data, size_t size, int target);

// A channel of a clip that has the lists "samplers" and "channels".
void sn_gltf_add_channel(gltf_builder *b, json_t *clip, int node, const char *path, int input, int output);
// Index of a new skin with these nodes as joints.
int sn_gltf_add_bound_skin(gltf_builder *b, int count, const int *joints, const sn_affine *inverse_bind);

// Writes the document as `path` asks for: .glb, or .gltf with a .bin beside it.
sn_status sn_gltf_builder_write(gltf_builder *b, const char *path);

// ---- rig_out.c: skeleton and clips ---------------------------------------------------------------------------

// How the skeleton's joints stand in the document. A joint's node hangs, through `chain`, below its parent joint.
typedef struct gltf_rig {
  int joint_count;
  int *nodes, *parents, *order; // parents and order of joints
  sn_affine *chain;             // from the parent joint (or the world) to the node's parent
  sn_affine *inverse_bind;      // rounded to float, as written
  sn_affine *rest;              // its inverse
  int *outer;                   // affine: the outer node of every joint
  bool *inner_scale;            // affine: the variant with a constant scale
} gltf_rig;

// New nodes for the skeleton below a root node "skeleton" whose index is returned through `root`.
sn_status sn_gltf_new_rig(gltf_builder *b, const sn_gltf_out *what, gltf_rig *rig, int *root);
// nodes, parents, chain and order of the rig's first joints: the nodes of `base` with these names. False where one has none of its
// own. `joint_of_node` has room for the base's nodes.
bool sn_gltf_find_joints(const sn_gltf *base, char *const *names, int count, const gltf_rig *rig, int *joint_of_node);
// The nodes of `base` that have the names of the skeleton's joints; `found` says whether all are there.
sn_status sn_gltf_kept_rig(gltf_builder *b, const sn_gltf_out *what, gltf_rig *rig, bool *found);
// The skin; `root` -1 for none.
sn_status sn_gltf_add_skin(gltf_builder *b, const gltf_rig *rig, int root);
// All clips; `mesh_nodes` get the animated morph weights.
sn_status sn_gltf_add_clips(gltf_builder *b, const sn_gltf_out *what, const gltf_rig *rig, const int *mesh_nodes,
                            int mesh_node_count);
// The base's other animations go on: without those that are written anew, and without morph weights where targets are added.
void sn_gltf_keep_clips(gltf_builder *b, const sn_gltf_out *what);

// ---- affine.c: any affine map as two nested nodes ----------------------------------------------

typedef struct gltf_factors {
  sn_vec3 translation, scale; // of the outer node
  sn_quat outer, inner;       // rotations
} gltf_factors;

// The constant scale of the inner node in the variant for nearly rigid bones.
extern const sn_vec3 sn_gltf_inner_scale;

// Factors of `map`, as near as possible to `previous` (NULL for the first key).
gltf_factors sn_gltf_factor(sn_affine map, bool inner_scale, const gltf_factors *previous);
sn_affine sn_gltf_compose(const gltf_factors *factors, bool inner_scale);
// Sum of the squared errors half-way between the keys of one clip, for a player that interpolates the factors.
double sn_gltf_halfway_error(const sn_affine *maps, int count, bool inner_scale);

// ---- morph_out.c ----------------------------------------------------------------------------------------------

// Targets and weights such that all weights are from 0 to 1; `b` owns what is new.
sn_status sn_gltf_unit_morphs(gltf_builder *b, sn_gltf_out *what);

// ---- mesh_out.c, keep.c --------------------------------------------------------------------------------------

// Skin attributes of vertices first .. first + count - 1 into a primitive's attributes.
void sn_gltf_add_weights(gltf_builder *b, json_t *attributes, const sn_gltf_out *what, int first, int count);
void sn_gltf_add_targets(gltf_builder *b, json_t *primitive, const sn_gltf_out *what, int first, int count);
void sn_gltf_add_colors(gltf_builder *b, json_t *attributes, const float (*colors)[3], int count);
void sn_gltf_add_positions(gltf_builder *b, json_t *attributes, const float (*positions)[3], int count);
void sn_gltf_add_normals(gltf_builder *b, json_t *attributes, const float (*normals)[3], int count);
// A mesh of its own with one primitive, and its node; the node's index.
int sn_gltf_add_mesh(gltf_builder *b, const sn_gltf_out *what);

// The base document's meshes with the new skin, and what else has to change; the nodes with meshes in `mesh_nodes`.
sn_status sn_gltf_keep_meshes(gltf_builder *b, const sn_gltf_out *what, const sn_mesh *mesh, int **mesh_nodes,
                              int *mesh_node_count);
// seams.c: in a copy of a document that was made of an FBX, what lies beside the standard goes, or (`apart`) becomes vertices and
// primitives of their own.
sn_status sn_gltf_split_seams(gltf_builder *b, const sn_gltf *base, bool apart);
// The base's binary data, without what nothing refers to any more; images beside the document are taken in.
sn_status sn_gltf_keep_data(gltf_builder *b, const sn_gltf *base);
// Makes `root` part of every scene that shows one of the nodes.
void sn_gltf_join_scenes(gltf_builder *b, const sn_gltf *base, const int *mesh_nodes, int mesh_node_count, int root);

#endif
