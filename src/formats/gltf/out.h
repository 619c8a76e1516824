// SPDX-License-Identifier: MIT
// Declarations shared by the files that write glTF: a document under construction.
#ifndef SINEW_FORMATS_GLTF_OUT_H
#define SINEW_FORMATS_GLTF_OUT_H

#include "formats/gltf/gltf.h"

// JSON and binary data of a document under construction. After a failure, kept in `status`, the functions do nothing, so callers
// need not check each call.
typedef struct gltf_builder {
  sn_context *ctx;
  json_t *root;
  sn_growing data; // the buffer
  sn_arena memory; // lives as long as the builder
  sn_status status;
} gltf_builder;

// ---- build.c ---------------------------------------------------------------------------------------------------

gltf_builder sn_gltf_builder(sn_context *ctx, json_t *root); // takes over root
void sn_gltf_builder_free(gltf_builder *b);
void sn_gltf_out_of_memory(gltf_builder *b);

// Sets object[key]; takes ownership of value. A NULL value means out of memory.
void sn_gltf_set(gltf_builder *b, json_t *object, const char *key, json_t *value);
void sn_gltf_set_text(gltf_builder *b, json_t *object, const char *key, const char *text, const char *fallback);
// Appends to root[key], created if missing; takes ownership of value and returns its index.
int sn_gltf_append(gltf_builder *b, const char *key, json_t *value);
json_t *sn_gltf_child(gltf_builder *b, json_t *object, const char *key); // object[key], created if missing
json_t *sn_gltf_list(gltf_builder *b, json_t *object, const char *key);  // the same for an array
void sn_gltf_push(gltf_builder *b, json_t *array, json_t *value);        // takes ownership of value
json_t *sn_gltf_reals(gltf_builder *b, const double *values, int count);
json_t *sn_gltf_entry(const gltf_builder *b, const char *key, int index); // root[key][index]
// Makes a node a child of another; -1: of the scene.
void sn_gltf_attach(gltf_builder *b, int node, int parent);
// Takes ownership of `name`; returns the index.
int sn_gltf_add_material(gltf_builder *b, json_t *name, const double colour[3]);
// Takes ownership of `clip`; drops it if it has no channels.
void sn_gltf_append_clip(gltf_builder *b, json_t *clip);

// Sets a node's transform; parts that are the default are left out.
void sn_gltf_set_trs(gltf_builder *b, json_t *node, sn_vec3 t, sn_quat r, sn_vec3 s);
void sn_gltf_set_matrix(gltf_builder *b, json_t *node, sn_affine matrix);

// Elements of an accessor: `count` elements of `width` numbers.
typedef struct gltf_data {
  const void *values;
  int count, component, width, target; // target 0: none
  bool bounds;                         // write minimum and maximum
} gltf_data;

// Appends bytes, padded to a multiple of four; returns their offset.
size_t sn_gltf_add_bytes(gltf_builder *b, const void *bytes, size_t size);
int sn_gltf_add_view(gltf_builder *b, const void *data, size_t size, int target);
// Adds a buffer view with one accessor; returns the accessor's index.
int sn_gltf_add_accessor(gltf_builder *b, gltf_data data);
void sn_gltf_put(gltf_builder *b, json_t *object, const char *key, gltf_data data); // object[key] = its accessor
// The same for a vertex attribute of floats.
void sn_gltf_put_floats(gltf_builder *b, json_t *attributes, const char *key, const void *values, int count,
                        int width);

// Joints and weights of a vertex; unused slots have weight 0.
typedef struct gltf_influences {
  float weights[GLTF_MAX_INFLUENCES];
  uint16_t joints[GLTF_MAX_INFLUENCES];
} gltf_influences;

// Inserts an influence; keeps the largest weights, in descending order.
void sn_gltf_keep_influence(gltf_influences *row, int joint, float weight);
// Normalises weights to sum 1; a row without weights gets weight 1 on its first joint.
void sn_gltf_normalise(gltf_influences *rows, int count);
// JOINTS_0, WEIGHTS_0 and, if a vertex needs them, JOINTS_1, WEIGHTS_1; with 16-bit joints if `wide`.
void sn_gltf_put_influences(gltf_builder *b, json_t *attributes, const gltf_influences *rows, int count, bool wide);

// Keys of a channel: an accessor of times, and `width` numbers per key.
typedef struct gltf_keys {
  int times, count, width;
  const float *values;
} gltf_keys;

// Adds a channel to a clip that has the lists "samplers" and "channels".
void sn_gltf_add_channel(gltf_builder *b, json_t *clip, int node, const char *path, gltf_keys keys);
// Adds a skin with these nodes as joints; returns its index.
int sn_gltf_add_bound_skin(gltf_builder *b, int count, const int *joints, const sn_affine *inverse_bind);

// Writes .glb, or .gltf with a .bin next to it, by the extension of `path`.
sn_status sn_gltf_builder_write(gltf_builder *b, const char *path);

// ---- rig_out.c: skeleton and clips ---------------------------------------------------------------------------

// The skeleton's joints in the document. `chain` holds the static nodes between a joint's node and its parent joint.
typedef struct gltf_rig {
  int joint_count;
  int *nodes, *parents, *order; // parents and order are of joints
  sn_affine *chain;             // from the parent joint (or the world) to the node's parent
  sn_affine *inverse_bind;      // rounded to float, as written
  sn_affine *rest;              // inverse of inverse_bind
  int *outer;                   // affine: the outer node of every joint
} gltf_rig;

// Adds nodes for the skeleton below a root node "skeleton"; returns the root's index.
int sn_gltf_new_rig(gltf_builder *b, const sn_gltf_out *what, gltf_rig *rig);
// Fills nodes, parents, chain and order of the rig's first `count` joints with the nodes of `base` that have these names. False if
// a name has no node or shares one. `joint_of_node` has room for the base's nodes.
bool sn_gltf_find_joints(const sn_gltf *base, char *const *names, int count, const gltf_rig *rig, int *joint_of_node);
// Uses the nodes of `base` with the names of the skeleton's joints; false if some are missing.
bool sn_gltf_kept_rig(gltf_builder *b, const sn_gltf_out *what, gltf_rig *rig);
// Adds the skin; `root` -1: none.
void sn_gltf_add_skin(gltf_builder *b, const gltf_rig *rig, int root);
// The nodes with meshes.
typedef struct gltf_mesh_nodes {
  int count, *nodes;
} gltf_mesh_nodes;
// Adds all clips; the nodes of `meshes` get the animated morph weights.
void sn_gltf_add_clips(gltf_builder *b, const sn_gltf_out *what, const gltf_rig *rig, const gltf_mesh_nodes *meshes);
// Keeps the base's other animations: drops those that are replaced, and morph weights if targets are added.
void sn_gltf_keep_clips(gltf_builder *b, const sn_gltf_out *what);

// ---- affine.c: an affine map as two nested nodes -----------------------------------------------

typedef struct gltf_factors {
  sn_vec3 translation, scale; // of the outer node
  sn_quat outer, inner;       // rotations
} gltf_factors;

extern const sn_vec3 sn_gltf_inner_scale; // constant scale of the inner node

// Factors of `map`, as close as possible to `previous` (NULL for the first key).
gltf_factors sn_gltf_factor(sn_affine map, const gltf_factors *previous);

// ---- morph_out.c ----------------------------------------------------------------------------------------------

// Rescales targets and weights so that all weights are in [0, 1]; `b` owns the new arrays.
void sn_gltf_unit_morphs(gltf_builder *b, sn_gltf_out *what);

// ---- mesh_out.c, keep.c --------------------------------------------------------------------------------------

// Writes skin attributes of vertices first .. first + count - 1 into a primitive's attributes.
void sn_gltf_add_weights(gltf_builder *b, json_t *attributes, const sn_gltf_out *what, int first, int count);
void sn_gltf_add_targets(gltf_builder *b, json_t *primitive, const sn_gltf_out *what, int first, int count);
// Writes NORMAL, normalised, or a colour, clamped to [0, 1].
void sn_gltf_add_vectors(gltf_builder *b, json_t *attributes, const char *key, const float (*from)[3], int count);
// Adds a mesh with one primitive, and its node; returns the node's index.
int sn_gltf_add_mesh(gltf_builder *b, const sn_gltf_out *what);

// Writes the base document's meshes with the new skin; returns their nodes.
void sn_gltf_keep_meshes(gltf_builder *b, const sn_gltf_out *what, gltf_mesh_nodes *out);
// seams.c: in a copy of a document converted from FBX, removes the extras, or (`apart`) turns them into split vertices and one
// primitive per material.
void sn_gltf_split_seams(gltf_builder *b, const sn_gltf *base, bool apart);
// Keeps the base's binary data that is still referenced; embeds images stored next to the document.
void sn_gltf_keep_data(gltf_builder *b, const sn_gltf *base);
// Adds `root` to every scene that shows one of the nodes.
void sn_gltf_join_scenes(gltf_builder *b, const sn_gltf *base, const gltf_mesh_nodes *meshes, int root);

#endif
