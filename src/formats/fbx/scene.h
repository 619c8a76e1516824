// SPDX-License-Identifier: MIT
// Reading FBX: its objects and how they are connected, and what becomes of them in a glTF document. Coordinates stay the file's;
// every model is a node, every mesh keeps its control points in their order.
#ifndef SINEW_FORMATS_FBX_SCENE_H
#define SINEW_FORMATS_FBX_SCENE_H

#include "formats/fbx/tree.h"
#include "formats/gltf/out.h"

typedef struct fbx_object {
  int64_t id;
  const fbx_node *node, *defaults; // defaults: properties of its kind
  const char *name, *type;         // "Mesh", "LimbNode", "Cluster", ...
  int model, material;             // its number among the models (-1: none), among the materials
  struct fbx_curve *curve;         // of an animation curve, once it was read
  struct fbx_curve *percent;       // of a channel of blend shapes, in the clip that is being read
} fbx_object;

// "child belongs to parent", or to one of its properties.
typedef struct fbx_link {
  int child, parent;         // objects; parent -1: the scene
  const fbx_value *property; // NULL: to the object itself
} fbx_link;

typedef struct fbx_trs {
  sn_vec3 t, s;
  sn_quat r;
} fbx_trs;

enum { FBX_RRSS, FBX_RSRS, FBX_RRS }; // how a model inherits its parent's scale

// A model, with all that makes up its transform:
// T Roff Rp Rpre R Rpost^-1 Rp^-1 Soff Sp S Sp^-1, whose linear part is a rotation and a scale.
typedef struct fbx_model {
  int object, parent; // parent: a model, -1 for none
  double lcl[9];      // translation, rotation in degrees, scale
  sn_quat before, after;
  sn_vec3 rotation_offset, rotation_pivot, scaling_offset, scaling_pivot;
  int order, inherit;
  sn_affine geometric; // of its geometry alone
  int node, buffer;    // in the document; buffer: the node that takes the parent's scale away, -1 for none
  bool animated;
  bool scaled,
    uneven;        // its scale is ever another than 1; ever differs between axes (or that of a model above it does)
  sn_affine world; // in the default pose
} fbx_model;

typedef struct fbx_scene {
  fbx_tree tree;
  gltf_builder b;
  int object_count, link_count, model_count, node_count;
  fbx_object *objects, **by_id;
  fbx_link *links;                                // as in the file
  int *below, *first_below, *above, *first_above; // links by parent and by child
  fbx_model *models;                              // parents first
  int holder_count;
  struct fbx_holder *holders;
  double second; // in the file's ticks
  double rate;   // frames per second of its time line
} fbx_scene;

// A mesh of the document, and its blend shapes.
typedef struct fbx_holder {
  int node;
  int channel_count, target_count;
  struct fbx_channel {
    int object, first_target, count;
    double percent;     // in the default pose
    const double *full; // percentages at which its targets are whole
  } * channels;
} fbx_holder;

// ---- motion ------------------------------------------------------------------------------------------------------------

typedef struct fbx_key {
  double time, value; // seconds
  int kind;           // of what follows: FBX_CONSTANT, ...
  double right, left; // slopes behind this key and before the next, per second
  double right_weight, left_weight;
} fbx_key;

enum { FBX_CONSTANT, FBX_NEXT, FBX_LINEAR, FBX_CUBIC }; // FBX_NEXT: the next key's value

typedef struct fbx_curve {
  int count;
  fbx_key *keys;
} fbx_curve;

// What a clip makes of a model's nine numbers: curves, or constants where they have none.
typedef struct fbx_track {
  fbx_curve curves[9];
  double values[9];
  bool given[3]; // translation, rotation, scale
} fbx_track;

// A time of a clip; tracks NULL: the default pose.
typedef struct fbx_moment {
  const fbx_track *tracks;
  double time;
  bool before; // where it is a key's time, just before that key
} fbx_moment;

// ---- objects.c ---------------------------------------------------------------------------------------------------

sn_status sn_fbx_load_objects(fbx_scene *s);
// Walks the objects connected to `parent` (-1: the scene): the next after *at (begin with 0) whose node has that name, or -1.
int sn_fbx_next_below(const fbx_scene *s, int parent, const char *kind, int *at, const fbx_link **link);
// The next connection of `child` to something after *at (begin with 0), or NULL.
const fbx_link *sn_fbx_next_above(const fbx_scene *s, int child, int *at);
// A property of the object, else of its kind; NULL. The first value and the numbers of it:
const fbx_node *sn_fbx_property(const fbx_object *object, const char *name);
double sn_fbx_property_number(const fbx_object *object, const char *name, double absent);
sn_vec3 sn_fbx_property_vector(const fbx_object *object, const char *name, double absent);

// ---- models.c ----------------------------------------------------------------------------------------------------

sn_status sn_fbx_load_models(fbx_scene *s);
// The transform of a model with these nine numbers for translation, rotation and scale.
fbx_trs sn_fbx_local(const fbx_model *model, const double lcl[9]);
// The transforms of its node and of the one between it and its parent.
void sn_fbx_pose(const fbx_scene *s, const fbx_model *m, const fbx_moment *moment, fbx_trs *own, fbx_trs *between);
void sn_fbx_add_nodes(fbx_scene *s); // of the models
// What is not UTF-8 (names of older programs) keeps its letters and gets underscores for the rest.
json_t *sn_fbx_json_text(fbx_scene *s, const char *text);

// ---- geometry.c, skin.c --------------------------------------------------------------------------------------

typedef struct fbx_mesh {
  int model, geometry, vertex_count, triangle_count;
  double *points;     // as in the file
  sn_affine place;    // to the document's coordinates
  uint32_t *corners;  // three for every triangle
  uint32_t *loops;    // of these corners: their number in the file
  uint32_t *polygons; // of every triangle
} fbx_mesh;

sn_status sn_fbx_add_meshes(fbx_scene *s);
// The skin of a mesh: joints and weights into `attributes`, its number in *skin (-1: none), and where it was bound in *place.
sn_status sn_fbx_add_skin(fbx_scene *s, const fbx_mesh *mesh, json_t *attributes, int *skin, sn_affine *place);
sn_status sn_fbx_add_shapes(fbx_scene *s, const fbx_mesh *mesh, json_t *primitive, json_t *out, fbx_holder *holder);
sn_status sn_fbx_matrix(fbx_scene *s, const fbx_node *node, sn_affine *out);
// What lies on the mesh: texture coordinates, colours, materials (layers.c).
sn_status sn_fbx_add_layers(fbx_scene *s, const fbx_mesh *mesh, json_t *attributes, json_t *primitive);
void sn_fbx_add_materials(fbx_scene *s);

// ---- clips.c, curve.c ------------------------------------------------------------------------------------------

sn_status sn_fbx_load_curve(fbx_scene *s, fbx_object *object, fbx_curve *out);
// `before`: where time is a key's, the value just before it.
double sn_fbx_curve_at(const fbx_curve *curve, double time, bool before);
// Weights of all targets of a mesh; `moment` NULL: in the default pose.
void sn_fbx_holder_weights(const fbx_scene *s, const fbx_holder *holder, const fbx_moment *moment, double *out);
void sn_fbx_lcl_at(const fbx_scene *s, int model, const fbx_moment *moment, double out[9]);
// Which models animations move, and how they are scaled.
sn_status sn_fbx_mark_animated(fbx_scene *s);
sn_status sn_fbx_add_clips(fbx_scene *s);

#endif
