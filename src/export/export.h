// SPDX-License-Identifier: MIT
// Models of `helpers` and `psd` for tools without Sinew: one driver table, read from the model, and a writer per tool.
#ifndef SINEW_EXPORT_EXPORT_H
#define SINEW_EXPORT_EXPORT_H

#include <jansson.h>

#include "formats/gltf/out.h"
#include "runtime/format.h"
#include "sinew/model.h"

// Functions take the rotation vector of before * q * after, minus `rest`; q is the local rotation of the joint's node. Of a named
// value they take its distance from low, over the length of its range.
typedef struct sn_table_driver {
  const char *value; // NULL: a joint
  float range[2];    // of the value
  int joint, parent; // parent: the joint above it, -1 for none
  sn_quat before, after;
  float rest[3];
} sn_table_driver;

// Nine terms of a driver (x y z xx xy xz yy yz zz) times a row of channels each; channels are those of sn_rt_helper.
typedef struct sn_table_function {
  int driver;
  float mix[SN_RT_QUADRATIC][SN_RT_HELPER_CHANNELS];
} sn_table_function;

// A product of values times translation (3), rotation vector (3) and scale along the axes (3).
typedef struct sn_table_product {
  int driver_count, drivers[2];
  float mix[SN_RT_LINEAR_CHANNELS];
} sn_table_product;

// The helper's node, a child of its parent joint's node (-1: of none), is rest * (transform of the channels + sum of the products);
// `rest` has no scale.
typedef struct sn_table_helper {
  int parent, first_function, function_count, first_product, product_count;
  sn_vec3 translation;
  sn_quat rotation;
  float low[SN_RT_HELPER_CHANNELS], high[SN_RT_HELPER_CHANNELS];
} sn_table_helper;

// Terms of the shapes: the nine of one driver, the nine products of two, or Gaussians of one around centres.
typedef struct sn_table_terms {
  int driver_count, drivers[2], count, first; // first: number of its first term among all
  const float (*centres)[3];                  // NULL: no Gaussians
  float width;
} sn_table_terms;

enum { SN_TABLE_SHAPES = 32 }; // maximum displacement fields as morph targets; each weight is a sum of terms

typedef struct sn_table {
  int joint_count, driver_count, function_count, product_count, helper_count, group_count, shape_count;
  sn_table_driver *drivers; // the model's values first
  sn_table_function *functions;
  sn_table_product *products;
  sn_table_helper *helpers;
  sn_table_terms *groups;
  const char **shape_names;
  double *mix; // shape_count * term_count
  int term_count;
  // The joints with the skeleton file's transforms, then the helpers, then a child of each if `nested`.
  sn_skeleton skeleton;
  bool nested;
  sn_arena memory;
} sn_table;

// What the table is for. `base`: the document of the skeleton; `kept`: uses its nodes, else new ones in the joints' hierarchy;
// `nested`: nodes of the tool have no shear, so helpers with products get two.
typedef struct sn_table_use {
  const sn_gltf *base;
  bool kept, nested;
} sn_table_use;
sn_status sn_table_read(sn_context *ctx, const sn_rt_model *model, const sn_table_use *use, sn_table *out);
void sn_table_free(sn_table *table);
// The driver of joint.reference's entry `reference`, whose pose vector is `rest` in the rest pose; -1 on failure.
typedef struct sn_table_nodes sn_table_nodes;
int sn_table_find_driver(sn_context *ctx, sn_table *t, const sn_table_nodes *nodes, int reference, const float *rest);
// The displacement fields of a correction as shapes; and their part of the table's JSON.
sn_status sn_table_read_shapes(sn_context *ctx, const sn_rt_model *model, const sn_table_nodes *nodes, sn_table *t);
bool sn_table_add_shapes(const sn_table *t, json_t *out);
json_t *sn_table_json(const sn_table *table); // NULL: no memory

// KHR_interactivity: every tick, the helpers' nodes and the weights of shapes from the drivers' nodes. `root`: the document, whose
// targets have names; `nodes` are of the table's skeleton.
json_t *sn_babylon_graph(const sn_table *table, const json_t *root, const int *nodes);

// "json|three|blender|godot|babylon", for messages.
extern const char *const sn_export_tools;

typedef struct sn_export_job {
  const sn_rt_model *model;
  const char *model_name, *skeleton, *tool, *path;
} sn_export_job;

typedef struct sn_export_result {
  int helpers, shapes, drivers, values; // values: of the drivers
  bool limited;                         // the model limits displacements; the morph targets do not
  bool has_materials;                   // the character is the skeleton's file with the new skin
  const char *also[2];                  // further output files; NULL: none
  char names[2][4096];
} sn_export_result;

sn_status sn_export(sn_context *ctx, const sn_export_job *job, sn_export_result *out);
json_t *sn_report_export(const sn_export_result *result);

#endif
