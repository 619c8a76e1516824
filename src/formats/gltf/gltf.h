// SPDX-License-Identifier: MIT
// Declarations shared by the glTF files. Loading a document checks and decodes all of it, so sampling needs no checks.
#ifndef SINEW_FORMATS_GLTF_GLTF_H
#define SINEW_FORMATS_GLTF_GLTF_H

#include "formats/common/reader.h"
#include "sinew/formats.h"

#include <jansson.h>

enum {
  GLTF_BYTE = 5120,
  GLTF_UBYTE = 5121,
  GLTF_SHORT = 5122,
  GLTF_USHORT = 5123,
  GLTF_UINT = 5125,
  GLTF_FLOAT = 5126,
  GLTF_VERTICES = 34962, // bufferView targets
  GLTF_INDICES = 34963,
  GLTF_MAX_INFLUENCES = 8
};

// Extras of documents converted from FBX: data for which glTF has no standard place.
#define GLTF_CORNER_UVS "corner_uvs" // of a primitive: accessor with the texture coordinates of every corner
#define GLTF_TRIANGLE_MATERIALS "triangle_materials" // of a primitive: accessor with the material of every triangle
#define GLTF_BOUND_IN_SCENE "bound_in_scene"         // of the asset: skins are bound in the scene's space
#define GLTF_DUAL_QUATERNIONS "dual_quaternions"     // of the asset: they blend a skin

typedef struct gltf_buffer {
  const uint8_t *bytes;
  size_t size;
  sn_file file;
} gltf_buffer;

typedef struct gltf_view {
  const uint8_t *bytes;
  size_t size, stride; // stride 0: tightly packed
  int buffer;
} gltf_view;

typedef struct gltf_accessor {
  const uint8_t *bytes; // NULL: zeros
  size_t stride;
  int count, width, component; // width: numbers per element
  bool normalized;
  int sparse_count, sparse_component;
  const uint8_t *sparse_indices, *sparse_values;
} gltf_accessor;

typedef struct gltf_node {
  const char *name; // NULL: none
  int parent, mesh, skin;
  bool in_scene, has_matrix;
  sn_affine matrix;
  sn_vec3 translation, scale;
  sn_quat rotation;
  int weight_count; // number of its mesh's morph targets
  double *weights;
} gltf_node;

typedef struct gltf_skin {
  int joint_count, *joints; // into the document's joint list
  sn_affine place;          // S: bind space to scene space (space.c)
} gltf_skin;

// The joints of all skins in use: those of the first skin, then those that other skins add. A node bound by two skins in different
// poses becomes two joints.
typedef struct gltf_joint {
  int node, skin; // skin: the first that has it; -1: none, it moves unskinned parts
  const char *name;
  sn_affine inverse_bind; // with the skin's place applied: B S^-1
} gltf_joint;

// One primitive of the document's meshes, as a range of the flattened mesh.
typedef struct gltf_range {
  int node, mesh, primitive;
  int first_vertex, vertex_count, first_triangle, triangle_count;
} gltf_range;

typedef struct gltf_part {
  gltf_range range;
  bool skinned;
  int joint;                   // of an unskinned part: the joint that moves it, -1: none
  sn_affine place;             // local coordinates to those of the flattened mesh
  const float (*positions)[3]; // in local coordinates
  int target_count;
  const float (*deltas)[3]; // target_count * vertex_count, in local coordinates
} gltf_part;

typedef enum gltf_path { GLTF_TRANSLATION, GLTF_ROTATION, GLTF_SCALE, GLTF_WEIGHTS } gltf_path;
typedef enum gltf_interpolation { GLTF_LINEAR, GLTF_STEP, GLTF_CUBIC } gltf_interpolation;

typedef struct gltf_channel {
  int node;
  gltf_path path;
  gltf_interpolation interpolation;
  int key_count, width;
  const float *times, *values;
} gltf_channel;

typedef struct gltf_clip {
  sn_clip_info info;
  gltf_channel *channels;
} gltf_clip;

// A morph target of one node's mesh.
typedef struct gltf_morph {
  int node, target;
  const char *name; // unique
} gltf_morph;

struct sn_gltf {
  sn_reader reader;    // during loading
  char *name, *folder; // folder NULL: no external files
  json_t *json;
  sn_file file;
  int buffer_count, view_count, accessor_count, mesh_count, node_count, skin_count, joint_count, part_count,
    clip_count;
  gltf_buffer *buffers;
  int buffer_room;
  gltf_view *views;
  gltf_accessor *accessors;
  float **decoded; // per accessor: its floats, if they were needed whole
  size_t budget;   // bytes that may still be decoded
  gltf_node *nodes;
  int *order;      // all nodes, parents before children
  bool from_fbx;   // converted from an FBX file
  int still_joint; // the joint of parts that do not move; 0: none
  gltf_skin *skins;
  gltf_joint *joints;
  gltf_part *parts;
  int vertex_count, triangle_count;
  int (*triangles)[3];
  sn_skin skin; // of the flattened mesh; vertex_count 0 without joints
  gltf_clip *clips;
  int morph_count;
  gltf_morph *morphs;
  sn_arena memory;
};

// ---- json.c: reading JSON values -----------------------------------------------------------------------------

// The object being read. Error messages about it begin with `place` ("accessor 5").
typedef struct gltf_object {
  sn_reader *r;
  const json_t *json;
  char place[64];
} gltf_object;
#define gltf_object_fail(o, code, ...)                                                                               \
  ((o)->r->status == SN_OK ? (void)(sn_fail((o)->r->ctx, code, __VA_ARGS__),                                         \
                                    (o)->r->status = sn_fail_prefix((o)->r->ctx, "%s: ", (o)->place))                \
                           : (void)0)

#define GLTF_REQUIRED INT64_MIN

bool sn_gltf_says(const sn_gltf *gltf, const char *key); // whether an extra of the asset is true
gltf_object sn_gltf_object(sn_reader *r, const json_t *json, const char *place, ...)
  __attribute__((format(printf, 3, 4)));
// The array json[key] and its length; NULL and 0 if absent. Fails if it is not an array of objects.
int sn_gltf_objects(sn_reader *r, const json_t *json, const char *key, json_t **out);
// An integer from low to high, even after a failure; `absent` if the key is missing, or a failure for GLTF_REQUIRED.
int64_t sn_gltf_integer(gltf_object *o, const char *key, int64_t low, int64_t high, int64_t absent);
// An index below `count`; -1 if the key is missing, a failure if `required`.
int sn_gltf_index(gltf_object *o, const char *key, int count, bool required);
// The same for the object json[inner].
int sn_gltf_index_in(gltf_object *o, const char *inner, const char *key, int count, bool required);
// An array of indices and its length; NULL and 0 if missing.
int sn_gltf_indices(gltf_object *o, const char *key, int limit, sn_arena *memory, int **out);
// `count` finite numbers; `out` is unchanged if they are missing.
void sn_gltf_numbers(gltf_object *o, const char *key, int count, double *out);

const json_t *sn_gltf_extension(const json_t *object, const char *name); // NULL: none
// Removes an extension from an object; from the document's lists of used and required extensions.
void sn_gltf_remove_extension(json_t *object, const char *name);
void sn_gltf_forget_extension(json_t *root, const char *name);

// Adds a unique name to `seen`: `name`, else `other`, else `other` with a number. NULL: no memory.
const char *sn_gltf_claim_name(sn_gltf *gltf, json_t *seen, const char *name, const char *other);

// ---- read.c, meshopt.c, draco.c: decompress into plain buffers before anything else is read --------------

// Appends a buffer with these bytes, which must live as long as the document.
int sn_gltf_add_buffer(sn_gltf *gltf, const uint8_t *bytes, size_t size); // its index
void sn_gltf_unpack_meshopt(sn_gltf *gltf);                               // before the accessors
void sn_gltf_unpack_draco(sn_gltf *gltf);                                 // after them; reloads them

// Checks that the parts of `what` are consistent; then writes .glb or .gltf.
sn_status sn_gltf_check_out(sn_context *ctx, const sn_gltf_out *what);
sn_status sn_gltf_write_document(sn_context *ctx, const char *path, const sn_gltf_out *what);

// Opens a document from its file (.glb or JSON), which it then owns; with `json` (owned too) the file is its buffer's data.
sn_status sn_gltf_open(sn_context *ctx, const char *name, const char *folder, sn_file file, json_t *json,
                       sn_gltf **out);

// ---- uri.c -------------------------------------------------------------------------------------------------------

// The bytes of a URI: a data URI is decoded into `memory`, a relative path below `folder` is opened into out->file.
sn_status sn_gltf_uri(sn_context *ctx, const char *uri, const char *folder, sn_arena *memory, gltf_buffer *out);
// `name` with everything but unreserved characters percent-encoded.
char *sn_gltf_uri_encode(sn_context *ctx, sn_arena *memory, const char *name);

// ---- access.c ------------------------------------------------------------------------------------------------------

size_t sn_gltf_component_size(int component); // bytes; 0 for none
// Address of `size` bytes of a buffer; NULL if they are out of bounds.
const uint8_t *sn_gltf_bytes(gltf_object *o, const sn_gltf *gltf, int buffer, int64_t offset, int64_t size);
void sn_gltf_load_accessors(sn_gltf *gltf);
// Takes count * size bytes off the document's budget, so that a small file cannot expand without bound. False after a failure.
bool sn_gltf_spend(sn_gltf *gltf, size_t count, size_t size);
// All numbers of an accessor as floats (width per element), normalised if the accessor or `normalize` says so. Fails on numbers
// that are not finite. `out` has room for count * width.
void sn_gltf_floats(sn_reader *r, const sn_gltf *gltf, int accessor, bool normalize, float *out);
// The same, decoded once and cached; NULL after a failure.
const float *sn_gltf_floats_kept(sn_gltf *gltf, int accessor, bool normalize);
void sn_gltf_integers(sn_reader *r, const sn_gltf *gltf, int accessor, uint32_t *out);

// ---- nodes.c, mesh.c, anim.c, space.c ---------------------------------------------------------------

void sn_gltf_load_nodes(sn_gltf *gltf);
void sn_gltf_load_skins(sn_gltf *gltf);
void sn_gltf_load_meshes(sn_gltf *gltf);
void sn_gltf_load_morphs(sn_gltf *gltf); // morph.c, after the meshes
void sn_gltf_load_clips(sn_gltf *gltf);
void sn_gltf_place(sn_gltf *gltf); // moves skins and parts into scene space

// mesh.c: the primitive of a part; the accessor of an attribute, -1: none; `width` numbers per vertex, integers normalised (false
// if the attribute is missing or malformed).
gltf_object sn_gltf_primitive(sn_reader *r, const sn_gltf *gltf, const gltf_range *part);
int sn_gltf_attribute(gltf_object *o, const sn_gltf *gltf, const char *key);
bool sn_gltf_part_floats(gltf_object *o, const sn_gltf *gltf, const gltf_part *part, const char *key, int width,
                         float *out);

void sn_gltf_add_carriers(sn_gltf *gltf); // carry.c: adds joints for unskinned parts, after the skins

// First joint of every node, or -1, and (`next` may be NULL) the next joint of the same node; then, for nodes that are no joint,
// that of the nearest ancestor.
void sn_gltf_joint_of_node(const sn_gltf *gltf, int *out, int *next);
void sn_gltf_inherit_joints(const sn_gltf *gltf, int *joint_of_node);
sn_affine sn_gltf_node_local(const gltf_node *node);
// World transforms of all nodes; `nodes` may be an animated copy of gltf->nodes.
void sn_gltf_globals(const sn_gltf *gltf, const gltf_node *nodes, sn_affine *globals);

#endif
