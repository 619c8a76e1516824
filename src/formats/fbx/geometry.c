// SPDX-License-Identifier: MIT
// Meshes of an FBX file: control points in order, polygons as triangle fans, blend shapes as morph targets. A control point stays
// one vertex; texture coordinates and materials that differ between its corners go into extras, for formats that store them per
// corner (gltf/surface.c).
#include "formats/fbx/scene.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- points and polygons ---------------------------------------------------------------------------------------------

static void load_points(fbx_tree *tree, fbx_mesh *mesh) {
  fbx_numbers list = sn_fbx_numbers(tree, mesh->geometry->node, "Vertices");
  if (list.count % 3 != 0 || list.count / 3 > INT_MAX / 8)
    sn_fail_once(tree, SN_BAD_FILE, "Vertices are %zu numbers", list.count);
  for (size_t k = 0; k < list.count && tree->status == SN_OK; k++) {
    if (!(fabs(list.values[k]) <= 3e38)) sn_fail_once(tree, SN_BAD_FILE, "vertex %zu is not a finite place", k / 3);
  }
  mesh->points = list.values, mesh->vertex_count = (int)(list.count / 3);
}

// The last corner of a polygon is stored as its bitwise complement.
static void load_polygons(fbx_tree *tree, fbx_mesh *mesh) {
  fbx_numbers list = sn_fbx_numbers(tree, mesh->geometry->node, "PolygonVertexIndex");
  size_t count = list.count, first = 0, polygon = 0, made = 0;
  if (count > INT_MAX / 8) sn_fail_once(tree, SN_BAD_FILE, "has too many corners");
  mesh->corners = sn_fbx_room(tree, 3 * count, sizeof *mesh->corners);
  mesh->loops = sn_fbx_room(tree, 3 * count, sizeof *mesh->loops);
  mesh->polygons = sn_fbx_room(tree, count, sizeof *mesh->polygons);
  for (size_t c = 0; c < count && tree->status == SN_OK; c++) {
    bool last = list.values[c] < 0;
    if (last) list.values[c] = -1 - list.values[c];
    if (!(list.values[c] >= 0 && list.values[c] < mesh->vertex_count)) {
      sn_fail_once(tree, SN_BAD_FILE, "polygon %zu has the vertex %.0f, but there are %d", polygon, list.values[c],
                   mesh->vertex_count);
    } else if (c >= first + 2) {
      const size_t loops[3] = {first, c - 1, c};
      for (size_t k = 0; k < 3; k++)
        mesh->loops[3 * made + k] = (uint32_t)loops[k], mesh->corners[3 * made + k] = (uint32_t)list.values[loops[k]];
      mesh->polygons[made++] = (uint32_t)polygon;
    }
    if (last) first = c + 1, polygon++;
  }
  mesh->triangle_count = (int)made;
}

// ---- blend shapes ----------------------------------------------------------------------------------------------------

// A shape at its percentage; shape NULL: the mesh itself, at 0.
typedef struct shape_stop {
  double percent;
  const fbx_object *shape;
} shape_stop;

// `full`: FullWeights of a channel with one shape, or NULL. Blender stores the percentages of the shape's vertices there.
static void add_target(fbx_scene *s, const fbx_mesh *mesh, const fbx_object *shape, const fbx_numbers *full,
                       json_t *targets) {
  fbx_tree *tree = &s->tree;
  fbx_numbers indices = sn_fbx_numbers(tree, shape->node, "Indexes");
  fbx_numbers offsets = sn_fbx_numbers(tree, shape->node, "Vertices");
  if (offsets.count != 3 * indices.count)
    sn_fail_once(tree, SN_BAD_FILE, "%zu vertices have %zu numbers", indices.count, offsets.count);
  bool vertices = full && indices.count > 1 && full->count == indices.count;
  float(*deltas)[3] = sn_fbx_room(tree, (size_t)mesh->vertex_count, sizeof *deltas);
  for (size_t k = 0; k < indices.count && tree->status == SN_OK; k++) {
    const double *o = offsets.values + 3 * k, vertex = indices.values[k];
    sn_vec3 offset = sn_vec3_scale(sn_vec3_make(o[0], o[1], o[2]), vertices ? full->values[k] / 100 : 1);
    if (vertex >= 0 && vertex < mesh->vertex_count && sn_vec3_length(offset) <= 3e38) {
      sn_vec3_store(sn_mat3_apply(sn_affine_linear(mesh->place), offset), deltas[(int)vertex]);
    } else {
      sn_fail_once(tree, SN_BAD_FILE, "moves vertex %.0f, and there are %d", vertex, mesh->vertex_count);
    }
  }
  if (tree->status == SN_OK) {
    json_t *target = json_object();
    sn_gltf_put_floats(&s->b, target, "POSITION", deltas, mesh->vertex_count, 3);
    sn_gltf_push(&s->b, targets, target);
  } else {
    sn_fail_prefix(tree->ctx, "blend shape %.200s: ", shape->name);
  }
}

static double default_percent(const fbx_object *channel) {
  double own = sn_fbx_number(sn_fbx_child(channel->node, "DeformPercent"), 0, 0);
  return sn_fbx_property_number(channel, "DeformPercent", isfinite(own) ? own : 0);
}

static int compare_stops(const void *a, const void *b) {
  double x = ((const shape_stop *)a)->percent, y = ((const shape_stop *)b)->percent;
  return (x > y) - (x < y);
}

// A channel with its shapes, by their FullWeights; without these they are spaced evenly up to 100 percent.
static void add_channel(fbx_scene *s, const fbx_mesh *mesh, fbx_object *object, fbx_holder *holder,
                        json_t *lists[2]) {
  fbx_tree *tree = &s->tree;
  fbx_numbers full = sn_fbx_numbers(tree, object->node, "FullWeights");
  size_t count = (size_t)sn_fbx_count_below(object, "Geometry"), k = 1;
  shape_stop *stops = sn_fbx_take(tree, count + 1, sizeof *stops);
  double *percents = sn_fbx_take(tree, count + 1, sizeof *percents);
  if (count == 0 || !percents) return;
  for (const fbx_link *link = NULL; (link = sn_fbx_below(object, link, "Geometry")); k++)
    stops[k] = (shape_stop){full.count < count ? 100.0 * (double)k / (double)count : full.values[k - 1], link->child};
  if (count == 1 && full.count > 1) stops[1].percent = 100;
  qsort(stops, count + 1, sizeof *stops, compare_stops);
  struct fbx_channel out = {object, holder->target_count, (int)count, 0, default_percent(object), percents};
  for (k = 0; k <= count && tree->status == SN_OK; k++) {
    const fbx_object *shape = stops[k].shape;
    percents[k] = stops[k].percent;
    if (!shape) out.base = (int)k;
    if (!isfinite(percents[k]) || (k > 0 && !(percents[k] > percents[k - 1])))
      sn_fail_once(tree, SN_BAD_FILE, "blend shape %.200s: two of its FullWeights are equal, or one is 0",
                   object->name);
    if (!shape || tree->status != SN_OK) continue;
    add_target(s, mesh, shape, count == 1 ? &full : NULL, lists[0]);
    sn_gltf_push(&s->b, lists[1],
                 sn_fbx_json_text(s, count > 1 ? shape->name : object->name)); // the name that artists see
  }
  holder->channels[holder->channel_count++] = out;
  holder->target_count += (int)count;
}

static void add_shapes(fbx_scene *s, const fbx_mesh *mesh, json_t *out, fbx_holder *holder) {
  json_auto_t *targets = json_array(), *names = json_array();
  json_t *lists[2] = {targets, names};
  size_t total = 0;
  const fbx_link *deformer = NULL, *channel = NULL;
  while ((deformer = sn_fbx_below(mesh->geometry, deformer, "Deformer")))
    total += (size_t)sn_fbx_count_below(deformer->child, "Deformer");
  *holder = (fbx_holder){.channels = sn_fbx_take(&s->tree, total, sizeof *holder->channels)};
  while ((deformer = sn_fbx_below(mesh->geometry, deformer, "Deformer")) && s->tree.status == SN_OK) {
    bool shapes = strcmp(deformer->child->type, "BlendShape") == 0;
    for (channel = NULL; shapes && (channel = sn_fbx_below(deformer->child, channel, "Deformer"));)
      if (s->tree.status == SN_OK) add_channel(s, mesh, channel->child, holder, lists);
  }
  double *weights = sn_fbx_take(&s->tree, (size_t)holder->target_count, sizeof *weights);
  if (holder->target_count > 0 && weights) {
    sn_fbx_holder_weights(holder, NULL, weights);
    sn_gltf_set(&s->b, mesh->primitive, "targets", json_incref(targets));
    sn_gltf_set(&s->b, sn_gltf_child(&s->b, out, "extras"), "targetNames", json_incref(names));
    sn_gltf_set(&s->b, out, "weights", sn_gltf_reals(&s->b, weights, holder->target_count));
  }
}

// ---- texture coordinates, colours, materials ---------------------------------------------------------------------------

typedef enum layer_mapping { BY_CORNER, BY_VERTEX, BY_VERTICE, BY_POLYGON, ALL_SAME, UNKNOWN } layer_mapping;

typedef struct fbx_layer {
  layer_mapping mapping;
  size_t width, count; // numbers per entry (0: a layer of indices only), entries
  fbx_numbers values, indices;
  bool direct; // entries are in order, without indices
} fbx_layer;

// The mesh's layer of that kind; `names` are those of its numbers and indices. count 0: none, or an unsupported mapping.
static fbx_layer load_layer(fbx_tree *tree, const fbx_mesh *mesh, const char *kind, const char *const names[2],
                            size_t width) {
  static const char *const mappings[] = {"ByPolygonVertex", "ByVertex", "ByVertice", "ByPolygon", "AllSame"};
  const fbx_node *node = sn_fbx_child(mesh->geometry->node, kind);
  const fbx_value *mapping = sn_fbx_value(sn_fbx_child(node, "MappingInformationType"), 0);
  fbx_layer out = {.mapping = BY_CORNER, .width = width};
  while (out.mapping < UNKNOWN && !sn_fbx_says(mapping, mappings[out.mapping])) out.mapping++;
  if (out.mapping == UNKNOWN) return out;
  bool direct = sn_fbx_says(sn_fbx_value(sn_fbx_child(node, "ReferenceInformationType"), 0), "Direct");
  if (width > 0) out.values = sn_fbx_numbers(tree, node, names[0]);
  if (width == 0 || !direct) out.indices = sn_fbx_numbers(tree, node, names[1]);
  out.direct = width > 0 && !out.indices.values;
  out.count = width > 0 ? out.values.count / width : out.indices.count;
  return out;
}

// Index of a corner's entry; -1: none.
static int64_t entry_of(const fbx_layer *layer, const fbx_mesh *mesh, size_t corner) {
  const size_t places[] = {mesh->loops[corner], mesh->corners[corner], mesh->corners[corner],
                           mesh->polygons[corner / 3], 0};
  size_t at = places[layer->mapping];
  if (layer->direct) return at < layer->count ? (int64_t)at : -1;
  double index = at < layer->indices.count ? layer->indices.values[at] : -1;
  return index >= 0 && index < (layer->width == 0 ? (double)INT32_MAX : (double)layer->count) ? (int64_t)index : -1;
}

static float finite_number(double value) { return fabs(value) <= 3e38 ? (float)value : 0; }

static void keep_beside(fbx_scene *s, const fbx_mesh *mesh, const char *key, gltf_data data) {
  sn_gltf_put(&s->b, sn_gltf_child(&s->b, mesh->primitive, "extras"), key, data);
}

static void add_uvs(fbx_scene *s, const fbx_mesh *mesh) {
  size_t corners = 3 * (size_t)mesh->triangle_count, n = (size_t)mesh->vertex_count;
  fbx_layer layer = load_layer(&s->tree, mesh, "LayerElementUV", (const char *[]){"UV", "UVIndex"}, 2);
  if (layer.count == 0) return;
  float(*uvs)[2] = sn_fbx_room(&s->tree, corners, sizeof *uvs), (*own)[2] = sn_fbx_room(&s->tree, n, sizeof *own);
  bool *seen = sn_fbx_room(&s->tree, n, sizeof *seen), split = false;
  if (!seen) return;
  for (size_t c = 0; c < corners; c++) {
    int64_t entry = entry_of(&layer, mesh, c);
    const double *uv = entry >= 0 ? layer.values.values + 2 * entry : (double[]){0, 1};
    uint32_t vertex = mesh->corners[c];
    uvs[c][0] = finite_number(uv[0]), uvs[c][1] = finite_number(1 - uv[1]);
    if (!seen[vertex]) memcpy(own[vertex], uvs[c], sizeof *own), seen[vertex] = true;
    split = split || memcmp(own[vertex], uvs[c], sizeof *own) != 0;
  }
  sn_gltf_put_floats(&s->b, mesh->attributes, "TEXCOORD_0", own, (int)n, 2);
  if (split) keep_beside(s, mesh, GLTF_CORNER_UVS, (gltf_data){uvs, (int)corners, GLTF_FLOAT, 2, 0, false});
}

// Colour of each vertex, from its first corner: colours lock weights (locks.c).
static void add_colours(fbx_scene *s, const fbx_mesh *mesh) {
  fbx_layer layer = load_layer(&s->tree, mesh, "LayerElementColor", (const char *[]){"Colors", "ColorIndex"}, 4);
  float(*colours)[3] = layer.count ? sn_fbx_room(&s->tree, (size_t)mesh->vertex_count, sizeof *colours) : NULL;
  if (!colours) return;
  for (size_t c = 3 * (size_t)mesh->triangle_count; c-- > 0;) { // backwards, so that the first corner wins
    int64_t entry = entry_of(&layer, mesh, c);
    for (int k = 0; entry >= 0 && k < 3; k++)
      colours[mesh->corners[c]][k] = fminf(fmaxf(finite_number(layer.values.values[4 * entry + k]), 0), 1);
  }
  sn_gltf_put_floats(&s->b, mesh->attributes, "COLOR_0", colours, mesh->vertex_count, 3);
}

// Material index of every triangle.
static void add_material_numbers(fbx_scene *s, const fbx_mesh *mesh) {
  const fbx_object *model = mesh->model->object;
  int count = sn_fbx_count_below(model, "Material"), k = 0;
  size_t n = (size_t)mesh->triangle_count;
  fbx_layer layer = load_layer(&s->tree, mesh, "LayerElementMaterial", (const char *[]){"", "Materials"}, 0);
  int *own = sn_fbx_take(&s->tree, (size_t)count, sizeof *own);
  uint32_t *numbers = sn_fbx_room(&s->tree, n, sizeof *numbers);
  bool several = false;
  if (count == 0 || !numbers) return;
  for (const fbx_link *link = NULL; (link = sn_fbx_below(model, link, "Material"));) own[k++] = link->child->material;
  for (size_t t = 0; t < n; t++) {
    int64_t entry = layer.count > 0 ? entry_of(&layer, mesh, 3 * t) : 0;
    numbers[t] = (uint32_t)own[entry >= 0 && entry < count ? entry : 0];
    several = several || numbers[t] != numbers[0];
  }
  sn_gltf_set(&s->b, mesh->primitive, "material", json_integer(numbers[0]));
  if (several) keep_beside(s, mesh, GLTF_TRIANGLE_MATERIALS, (gltf_data){numbers, (int)n, GLTF_UINT, 1, 0, false});
}

// Adds names and colours of all materials.
void sn_fbx_add_materials(fbx_scene *s) {
  for (int o = 0; o < s->object_count; o++) {
    fbx_object *object = &s->objects[o];
    if (!sn_fbx_is(object->node, "Material")) continue;
    sn_vec3 colour = sn_fbx_property_vector(object, "DiffuseColor", 1);
    json_t *name = sn_fbx_json_text(s, object->name);
    object->material = sn_gltf_add_material(&s->b, name, (double[]){colour.x, colour.y, colour.z});
  }
}

// ---- meshes --------------------------------------------------------------------------------------------------------------

static void add_positions(fbx_scene *s, const fbx_mesh *mesh) {
  float(*positions)[3] = sn_fbx_room(&s->tree, (size_t)mesh->vertex_count, sizeof *positions);
  for (int i = 0; positions && i < mesh->vertex_count; i++) {
    const double *p = mesh->points + 3 * (size_t)i;
    sn_vec3_store(sn_affine_apply(mesh->place, sn_vec3_make(p[0], p[1], p[2])), positions[i]);
  }
  if (positions) sn_gltf_put_floats(&s->b, mesh->attributes, "POSITION", positions, mesh->vertex_count, 3);
}

// A skinned mesh is placed where it was bound and is not below its model, as in glTF; any other is a child of its model.
static void add_mesh(fbx_scene *s, fbx_mesh *mesh) {
  gltf_builder *b = &s->b;
  const fbx_model *model = mesh->model;
  json_auto_t *out = json_object(), *node = json_object(), *primitive = json_object();
  fbx_holder *holder = &s->holders[s->holder_count];
  sn_affine bound = sn_affine_identity();
  mesh->primitive = primitive;
  sn_gltf_push(b, sn_gltf_list(b, out, "primitives"), json_incref(primitive));
  mesh->attributes = sn_gltf_child(b, mesh->primitive, "attributes");
  int skin = sn_fbx_add_skin(s, mesh, &bound);
  mesh->place = sn_affine_mul(bound, model->geometric);
  add_positions(s, mesh);
  add_uvs(s, mesh);
  add_colours(s, mesh);
  add_material_numbers(s, mesh);
  add_shapes(s, mesh, out, holder);
  if (!sn_fbx_spend(&s->tree, (size_t)mesh->triangle_count, 12)) return;
  gltf_data corners = {mesh->corners, 3 * mesh->triangle_count, GLTF_UINT, 1, GLTF_INDICES, false};
  sn_gltf_put(b, primitive, "indices", corners);
  sn_gltf_set(b, out, "name", sn_fbx_json_text(s, model->object->name));
  sn_gltf_set(b, node, "name", sn_fbx_json_text(s, model->object->name));
  sn_gltf_set(b, node, "mesh", json_integer(sn_gltf_append(b, "meshes", json_incref(out))));
  if (skin >= 0) sn_gltf_set(b, node, "skin", json_integer(skin));
  holder->node = sn_gltf_append(b, "nodes", json_incref(node));
  sn_gltf_attach(b, holder->node, skin >= 0 ? -1 : model->node);
  s->holder_count++;
}

static void add_geometry(fbx_scene *s, const fbx_model *model, const fbx_object *geometry) {
  fbx_mesh mesh = {.model = model, .geometry = geometry};
  load_points(&s->tree, &mesh);
  load_polygons(&s->tree, &mesh);
  if (s->tree.status == SN_OK && mesh.triangle_count > 0) add_mesh(s, &mesh);
  if (s->tree.status != SN_OK) sn_fail_prefix(s->tree.ctx, "mesh %.200s: ", model->object->name);
}

void sn_fbx_add_meshes(fbx_scene *s) {
  size_t shown = 0;
  const fbx_object *other = NULL;
  for (int m = 0; m < s->model_count; m++) shown += (size_t)sn_fbx_count_below(s->models[m].object, "Geometry");
  s->holders = sn_fbx_take(&s->tree, shown, sizeof *s->holders);
  for (int m = 0; m < s->model_count; m++) {
    const fbx_link *link = NULL;
    while (s->tree.status == SN_OK && (link = sn_fbx_below(s->models[m].object, link, "Geometry"))) {
      const char *type = link->child->type;
      if (strcmp(type, "Mesh") == 0) {
        add_geometry(s, &s->models[m], link->child);
      } else if (strstr(type, "Surface") || strcmp(type, "Patch") == 0) {
        other = link->child;
      }
    }
  }
  if (other && s->holder_count == 0)
    sn_fail_once(&s->tree, SN_UNSUPPORTED, "its surface %.200s is a %.100s; convert it to polygons and export again",
                 other->name, other->type);
}
