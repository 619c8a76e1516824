// SPDX-License-Identifier: MIT
// Texture coordinates, colours and materials of an FBX mesh. A control point stays one vertex; values that differ between its
// corners go into extras, for formats that store them per corner (gltf/surface.c).
#include "formats/fbx/scene.h"

#include <math.h>
#include <string.h>

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
  out.direct = sn_fbx_says(sn_fbx_value(sn_fbx_child(node, "ReferenceInformationType"), 0), "Direct") && width > 0;
  if (width > 0) out.values = sn_fbx_numbers(tree, node, names[0]), out.count = out.values.count / width;
  if (!out.direct) out.indices = sn_fbx_numbers(tree, node, names[1]);
  if (!out.indices.values) out.direct = width > 0;
  if (width == 0) out.count = out.indices.count;
  return out;
}

// Index of a corner's entry; -1: none.
static int64_t entry_of(const fbx_layer *layer, const fbx_mesh *mesh, size_t corner) {
  size_t at = 0;
  if (layer->mapping == BY_CORNER) at = mesh->loops[corner];
  if (layer->mapping == BY_VERTEX || layer->mapping == BY_VERTICE) at = mesh->corners[corner];
  if (layer->mapping == BY_POLYGON) at = mesh->polygons[corner / 3];
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

void sn_fbx_add_layers(fbx_scene *s, const fbx_mesh *mesh) {
  add_uvs(s, mesh);
  add_colours(s, mesh);
  add_material_numbers(s, mesh);
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
