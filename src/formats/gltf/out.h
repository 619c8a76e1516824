// SPDX-License-Identifier: MIT
// What the files that write glTF share: a document under construction.
#ifndef SINEW_FORMATS_GLTF_OUT_H
#define SINEW_FORMATS_GLTF_OUT_H

#include "formats/gltf/gltf.h"

// JSON and binary data of a document being built. After a failure, which is remembered in `status`, nothing more is built,
// so that building reads as one piece.
typedef struct gltf_builder {
  sn_context *ctx;
  json_t *root;
  sn_growing data; // the buffer
  sn_arena memory; // whatever lives as long as the builder
  sn_status status;
} gltf_builder;

// ---- build.c ---------------------------------------------------------------------------------------------------

gltf_builder sn_gltf_builder(sn_context *ctx, json_t *root); // takes over root
void sn_gltf_builder_free(gltf_builder *b);
void sn_gltf_out_of_memory(gltf_builder *b);

// Sets object[key]; takes over value. NULL for value counts as running out of memory.
void sn_gltf_set(gltf_builder *b, json_t *object, const char *key, json_t *value);
void sn_gltf_set_text(gltf_builder *b, json_t *object, const char *key, const char *text, const char *fallback);
// Appends to root[key], made where it is missing; takes over value and returns its index.
int sn_gltf_append(gltf_builder *b, const char *key, json_t *value);
json_t *sn_gltf_child(gltf_builder *b, json_t *object, const char *key); // object[key], made where it is missing
json_t *sn_gltf_list(gltf_builder *b, json_t *object, const char *key);  // the same with an array
void sn_gltf_push(gltf_builder *b, json_t *array, json_t *value);        // takes over value
json_t *sn_gltf_reals(gltf_builder *b, const double *values, int count);
json_t *sn_gltf_entry(const gltf_builder *b, const char *key, int index); // root[key][index]
// Makes a node a child of another; -1: of the scene.
void sn_gltf_attach(gltf_builder *b, int node, int parent);
// Takes over `name`; the index.
int sn_gltf_add_material(gltf_builder *b, json_t *name, const double colour[3]);
// Takes over `clip`; one without channels is dropped.
void sn_gltf_append_clip(gltf_builder *b, json_t *clip);

void sn_gltf_set_trs(gltf_builder *b, json_t *node, sn_vec3 t, sn_quat r, sn_vec3 s);

// Elements of an accessor: `count` times `width` numbers.
typedef struct gltf_data {
  const void *values;
  int count, component, width, target; // target 0: none
  bool bounds;                         // with their minimum and maximum
} gltf_data;

// Appends bytes, aligned to four; the offset.
size_t sn_gltf_add_bytes(gltf_builder *b, const void *bytes, size_t size);
int sn_gltf_add_view(gltf_builder *b, const void *data, size_t size, int target);
// A buffer view of its own with one accessor; the accessor's index.
int sn_gltf_add_accessor(gltf_builder *b, gltf_data data);
void sn_gltf_put(gltf_builder *b, json_t *object, const char *key, gltf_data data); // object[key] = its accessor
// The same for an attribute of vertices.
void sn_gltf_put_floats(gltf_builder *b, json_t *attributes, const char *key, const void *values, int count,
                        int width);

// Joints and weights of a vertex: unused ones have weight 0.
typedef struct gltf_influences {
  float weights[GLTF_MAX_INFLUENCES];
  uint16_t joints[GLTF_MAX_INFLUENCES];
} gltf_influences;

// Keeps the largest, in order.
void sn_gltf_keep_influence(gltf_influences *row, int joint, float weight);
// Weights that add up to 1; a row without any has the joint that it names first.
void sn_gltf_normalise(gltf_influences *rows, int count);
// JOINTS_0, WEIGHTS_0 and, where some vertex needs them, JOINTS_1, WEIGHTS_1; of 16 bits where `wide`.
void sn_gltf_put_influences(gltf_builder *b, json_t *attributes, const gltf_influences *rows, int count, bool wide);

// Keys of a channel: an accessor of times, and `width` numbers for each.
typedef struct gltf_keys {
  int times, count, width;
  const float *values;
} gltf_keys;

// A channel of a clip that has the lists "samplers" and "channels".
void sn_gltf_add_channel(gltf_builder *b, json_t *clip, int node, const char *path, gltf_keys keys);
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

// New nodes for the skeleton below a root node "skeleton", whose index is returned.
int sn_gltf_new_rig(gltf_builder *b, const sn_gltf_out *what, gltf_rig *rig);
// nodes, parents, chain and order of the rig's first joints: the nodes of `base` with these names. False where one has none of its
// own. `joint_of_node` has room for the base's nodes.
bool sn_gltf_find_joints(const sn_gltf *base, char *const *names, int count, const gltf_rig *rig, int *joint_of_node);
// The nodes of `base` that have the names of the skeleton's joints; false where some are missing.
bool sn_gltf_kept_rig(gltf_builder *b, const sn_gltf_out *what, gltf_rig *rig);
// The skin; `root` -1 for none.
void sn_gltf_add_skin(gltf_builder *b, const gltf_rig *rig, int root);
// The nodes that show meshes.
typedef struct gltf_mesh_nodes {
  int count, *nodes;
} gltf_mesh_nodes;
// All clips; `meshes` get the animated morph weights.
void sn_gltf_add_clips(gltf_builder *b, const sn_gltf_out *what, const gltf_rig *rig, const gltf_mesh_nodes *meshes);
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
// Sum of the squared errors half-way between the keys of one clip, for a player that interpolates the factors.
double sn_gltf_halfway_error(const sn_affine *maps, int count, bool inner_scale);

// ---- morph_out.c ----------------------------------------------------------------------------------------------

// Targets and weights such that all weights are from 0 to 1; `b` owns what is new.
void sn_gltf_unit_morphs(gltf_builder *b, sn_gltf_out *what);

// ---- mesh_out.c, keep.c --------------------------------------------------------------------------------------

// Skin attributes of vertices first .. first + count - 1 into a primitive's attributes.
void sn_gltf_add_weights(gltf_builder *b, json_t *attributes, const sn_gltf_out *what, int first, int count);
void sn_gltf_add_targets(gltf_builder *b, json_t *primitive, const sn_gltf_out *what, int first, int count);
// NORMAL, made unit vectors, or a colour, clamped to 0..1.
void sn_gltf_add_vectors(gltf_builder *b, json_t *attributes, const char *key, const float (*from)[3], int count);
// A mesh of its own with one primitive, and its node; the node's index.
int sn_gltf_add_mesh(gltf_builder *b, const sn_gltf_out *what);

// The base document's meshes with the new skin, and what else has to change; their nodes.
void sn_gltf_keep_meshes(gltf_builder *b, const sn_gltf_out *what, gltf_mesh_nodes *out);
// seams.c: in a copy of a document that was made of an FBX, what lies beside the standard goes, or (`apart`) becomes vertices and
// primitives of their own.
void sn_gltf_split_seams(gltf_builder *b, const sn_gltf *base, bool apart);
// The base's binary data, without what nothing refers to any more; images beside the document are taken in.
void sn_gltf_keep_data(gltf_builder *b, const sn_gltf *base);
// Makes `root` part of every scene that shows one of the nodes.
void sn_gltf_join_scenes(gltf_builder *b, const sn_gltf *base, const gltf_mesh_nodes *meshes, int root);

#endif
