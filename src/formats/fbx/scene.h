// SPDX-License-Identifier: MIT
// Reads FBX objects and connections and converts them to a glTF document. Coordinates stay the file's; every model becomes a node,
// every mesh keeps its control points in order. Failures are kept in tree.status.
#ifndef SINEW_FORMATS_FBX_SCENE_H
#define SINEW_FORMATS_FBX_SCENE_H

#include "formats/fbx/tree.h"
#include "formats/gltf/out.h"

typedef struct fbx_object {
  int64_t id;
  const fbx_node *node, *defaults; // defaults: the property template of its kind
  const char *name, *type;         // "Mesh", "LimbNode", "Cluster", ...
  struct fbx_link *below, *above;  // the first of its connections, in file order
  struct fbx_object *parent;       // of a model: its parent model, or NULL
  struct fbx_model *model;         // of a model
  int material;                    // its index in the document
  struct fbx_curve *curve;         // of an animation curve, once read
  struct fbx_curve *percent;       // of a blend shape channel, in the current clip
} fbx_object;

// A connection: child belongs to parent, or to one of its properties.
typedef struct fbx_link {
  fbx_object *child, *parent;
  const fbx_value *property; // NULL: to the object
  struct fbx_link *next_below, *next_above;
} fbx_link;

typedef struct fbx_trs {
  sn_vec3 t, s;
  sn_quat r;
} fbx_trs;

enum { FBX_RRSS, FBX_RSRS, FBX_RRS }; // how a model inherits its parent's scale

// A model and its transform T Roff Rp Rpre R Rpost^-1 Rp^-1 Soff Sp S Sp^-1, whose linear part is a rotation times a scale.
typedef struct fbx_model {
  fbx_object *object;
  struct fbx_model *parent;
  double lcl[9]; // translation, rotation in degrees, scale
  sn_quat before, after;
  sn_vec3 rotation_offset, rotation_pivot, scaling_offset, scaling_pivot;
  int order, inherit;
  sn_affine geometric; // applies to its geometry only
  int node, buffer;    // in the document; buffer: the node that cancels the parent's scale, -1: none
  bool animated;
  bool scaled,
    uneven;        // scale is ever not 1; scale (or an ancestor's) ever differs between axes
  sn_affine world; // in the default pose
} fbx_model;

// A mesh of the document and its blend shapes.
typedef struct fbx_holder {
  int node, channel_count, target_count;
  struct fbx_channel {
    fbx_object *object;
    int first_target, count, base;
    double percent;     // in the default pose
    const double *full; // ascending percentages at which its targets have weight 1, and at `base` 0, the mesh itself
  } * channels;
} fbx_holder;

typedef struct fbx_scene {
  fbx_tree tree;
  gltf_builder b;
  int object_count, model_count, holder_count;
  fbx_object *objects, **by_id; // the first is the scene
  fbx_model *models;            // parents first
  fbx_holder *holders;
  double rate, second;   // frames per second of the time line; the file's units of time per second
  bool dual_quaternions; // blend a skin
} fbx_scene;

typedef struct fbx_key {
  double time, value; // seconds
  int kind;           // interpolation to the next key: FBX_CONSTANT, ...
  double right, left; // slopes after this key and before the next, per second
  double right_weight, left_weight;
} fbx_key;

enum { FBX_CONSTANT, FBX_NEXT, FBX_LINEAR, FBX_CUBIC }; // FBX_NEXT: the next key's value

typedef struct fbx_curve {
  int count;
  fbx_key *keys;
  bool before, after; // goes on beyond its keys, by other than its last value
} fbx_curve;

// A clip's values of a model's nine numbers: curves, or constants.
typedef struct fbx_track {
  fbx_curve curves[9];
  double values[9];
  bool given[3]; // translation, rotation, scale
} fbx_track;

typedef struct fbx_moment {
  const fbx_track *tracks;
  double time;
} fbx_moment;

// ---- objects.c ---------------------------------------------------------------------------------------------------

void sn_fbx_load_objects(fbx_scene *s);
// Next connection to `parent` after `last` (NULL: the first) whose child has that kind; NULL: none.
const fbx_link *sn_fbx_below(const fbx_object *parent, const fbx_link *last, const char *kind);
int sn_fbx_count_below(const fbx_object *parent, const char *kind);
// A property's number or vector, from the object or the template of its kind; `absent` if missing or not finite.
double sn_fbx_property_number(const fbx_object *object, const char *name, double absent);
sn_vec3 sn_fbx_property_vector(const fbx_object *object, const char *name, double absent);

// ---- models.c ----------------------------------------------------------------------------------------------------

void sn_fbx_load_models(fbx_scene *s);
void sn_fbx_add_nodes(fbx_scene *s); // of the models
// Transforms of the model's node and of the buffer node above it; `moment` NULL: in the default pose.
void sn_fbx_pose(const fbx_scene *s, const fbx_model *m, const fbx_moment *moment, fbx_trs *own, fbx_trs *between);
// Text as JSON. Bytes that are not UTF-8 (old programs' names) become underscores.
json_t *sn_fbx_json_text(fbx_scene *s, const char *text);

// ---- geometry.c, skin.c ------------------------------------------------------------------------

typedef struct fbx_mesh {
  const fbx_model *model;
  const fbx_object *geometry;
  int vertex_count, triangle_count;
  double *points;                 // as in the file
  sn_affine place;                // to document coordinates
  uint32_t *corners;              // three per triangle
  uint32_t *loops;                // per corner: its index in the file
  uint32_t *polygons;             // per triangle
  json_t *attributes, *primitive; // in the document
} fbx_mesh;

void sn_fbx_add_meshes(fbx_scene *s);
// Adds joints and weights to the mesh's attributes. Returns the skin's index, -1: none, and the bind transform in *place.
int sn_fbx_add_skin(fbx_scene *s, const fbx_mesh *mesh, sn_affine *place);
void sn_fbx_add_materials(fbx_scene *s);

// ---- clips.c, curve.c ------------------------------------------------------------------------------------------

fbx_curve sn_fbx_load_curve(fbx_scene *s, fbx_object *object, const char *owner); // owner: the name of what it moves
double sn_fbx_curve_at(const fbx_curve *curve, double time);
// Weights of all morph targets of a mesh; `moment` NULL: in the default pose.
void sn_fbx_holder_weights(const fbx_holder *holder, const fbx_moment *moment, double *out);
void sn_fbx_lcl_at(const fbx_scene *s, const fbx_model *model, const fbx_moment *moment, double out[9]);
// Marks the models that animations move, and how they are scaled.
void sn_fbx_mark_animated(fbx_scene *s);
void sn_fbx_add_clips(fbx_scene *s);

#endif
