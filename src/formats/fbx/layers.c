// SPDX-License-Identifier: MIT
// What lies on a mesh of an FBX file: texture coordinates, colours, materials. A control point stays one vertex. What its corners do
// not agree in is kept beside it, for formats that have it by corner (gltf_surface.c).
#include "formats/fbx/scene.h"

#include <math.h>
#include <string.h>

typedef enum layer_mapping { BY_CORNER, BY_VERTEX, BY_POLYGON, ALL_SAME } layer_mapping;

typedef struct fbx_layer {
  layer_mapping mapping;
  size_t width, count, index_count; // numbers of an entry, entries
  double *values;                   // NULL for a layer of indices alone
  int64_t *indices;                 // NULL: the entries are in order
} fbx_layer;

// The layer of that kind, for its names of numbers and indices; count 0 where there is none that Sinew understands.
static sn_status load_layer(fbx_scene *s, const fbx_node *node, const char *const names[2], size_t width,
                            fbx_layer *out) {
  static const char *const mappings[] = {"ByPolygonVertex", "ByVertice", "ByVertex", "ByPolygon", "AllSame"};
  static const layer_mapping meanings[] = {BY_CORNER, BY_VERTEX, BY_VERTEX, BY_POLYGON, ALL_SAME};
  const fbx_value *mapping = sn_fbx_value(sn_fbx_child(node, "MappingInformationType"), 0);
  const fbx_value *reference = sn_fbx_value(sn_fbx_child(node, "ReferenceInformationType"), 0);
  size_t known = 0, count;
  *out = (fbx_layer){.width = width};
  while (known < 5 && !sn_fbx_says(mapping, mappings[known])) known++;
  if (known == 5) return SN_OK;
  out->mapping = meanings[known];
  sn_status status = SN_OK;
  if (width > 0) {
    status = sn_fbx_reals(&s->tree, sn_fbx_child(node, names[0]), &out->values, &count);
    out->count = status == SN_OK ? count / width : 0;
  }
  bool indexed = width == 0 || !sn_fbx_says(reference, "Direct");
  if (status == SN_OK && indexed)
    status = sn_fbx_integers(&s->tree, sn_fbx_child(node, names[1]), &out->indices, &out->index_count);
  if (width == 0) out->count = out->index_count;
  return status;
}

// The entry of a corner of triangle `triangle`; -1 where it has none.
static int64_t entry_of(const fbx_layer *layer, const fbx_mesh *mesh, size_t corner) {
  size_t at = 0;
  if (layer->mapping == BY_CORNER) at = mesh->loops[corner];
  if (layer->mapping == BY_VERTEX) at = mesh->corners[corner];
  if (layer->mapping == BY_POLYGON) at = mesh->polygons[corner / 3];
  if (!layer->indices) return at < layer->count ? (int64_t)at : -1;
  int64_t index = at < layer->index_count ? layer->indices[at] : -1;
  return index >= 0 && (layer->width == 0 || (size_t)index < layer->count) ? index : -1;
}

static float finite_number(double value) { return fabs(value) <= 3e38 ? (float)value : 0; }

// ---- texture coordinates -----------------------------------------------------------------------------------------------

static void keep_beside(fbx_scene *s, json_t *primitive, const char *key, int accessor) {
  sn_gltf_set(&s->b, sn_gltf_child(&s->b, primitive, "extras"), key, json_integer(accessor));
}

static sn_status add_uvs(fbx_scene *s, const fbx_mesh *mesh, json_t *attributes, json_t *primitive) {
  static const char *const names[2] = {"UV", "UVIndex"};
  fbx_layer layer;
  size_t corners = 3 * (size_t)mesh->triangle_count, n = (size_t)mesh->vertex_count;
  const fbx_node *node = sn_fbx_child(s->objects[mesh->geometry].node, "LayerElementUV");
  sn_status status = load_layer(s, node, names, 2, &layer);
  if (status != SN_OK || layer.count == 0) return status;
  status = sn_fbx_spend(&s->tree, corners + n, 2 * 8);
  sn_arena scratch = sn_arena_new(s->tree.ctx);
  float(*uvs)[2] = sn_arena_alloc(s->tree.ctx, &scratch, corners, sizeof *uvs);
  float(*own)[2] = sn_arena_alloc(s->tree.ctx, &scratch, n, sizeof *own);
  bool *seen = SN_NEW(s->tree.ctx, &scratch, bool, n), split = false;
  if (status == SN_OK && (!uvs || !own || !seen)) status = s->tree.ctx->error.status;
  for (size_t c = 0; status == SN_OK && c < corners; c++) {
    int64_t entry = entry_of(&layer, mesh, c);
    const double *uv = entry >= 0 ? layer.values + 2 * entry : (double[]){0, 1};
    uint32_t vertex = mesh->corners[c];
    uvs[c][0] = finite_number(uv[0]), uvs[c][1] = finite_number(1 - uv[1]);
    if (!seen[vertex]) memcpy(own[vertex], uvs[c], sizeof *own), seen[vertex] = true;
    split = split || memcmp(own[vertex], uvs[c], sizeof *own) != 0;
  }
  if (status == SN_OK) {
    int accessor = sn_gltf_add_accessor(&s->b, own, (int)n, GLTF_FLOAT, 2, GLTF_VERTICES, false);
    sn_gltf_set(&s->b, attributes, "TEXCOORD_0", json_integer(accessor));
    if (split)
      keep_beside(s, primitive, GLTF_CORNER_UVS,
                  sn_gltf_add_accessor(&s->b, uvs, (int)corners, GLTF_FLOAT, 2, 0, false));
  }
  sn_arena_free(&scratch);
  return status;
}

// ---- colours -------------------------------------------------------------------------------------------------------------

// Of the first corner of every vertex: they say which weights to keep.
static sn_status add_colours(fbx_scene *s, const fbx_mesh *mesh, json_t *attributes) {
  static const char *const names[2] = {"Colors", "ColorIndex"};
  fbx_layer layer;
  const fbx_node *node = sn_fbx_child(s->objects[mesh->geometry].node, "LayerElementColor");
  sn_status status = load_layer(s, node, names, 4, &layer);
  if (status != SN_OK || layer.count == 0) return status;
  status = sn_fbx_spend(&s->tree, (size_t)mesh->vertex_count, 2 * 12);
  sn_arena scratch = sn_arena_new(s->tree.ctx);
  float(*colours)[3] = sn_arena_alloc(s->tree.ctx, &scratch, (size_t)mesh->vertex_count, sizeof *colours);
  if (status == SN_OK && !colours) status = s->tree.ctx->error.status;
  for (size_t c = 3 * (size_t)mesh->triangle_count;
       status == SN_OK && c-- > 0;) { // the first corner is the last to be set
    int64_t entry = entry_of(&layer, mesh, c);
    for (int k = 0; entry >= 0 && k < 3; k++) {
      float value = finite_number(layer.values[4 * entry + k]);
      colours[mesh->corners[c]][k] = fminf(fmaxf(value, 0), 1);
    }
  }
  if (status == SN_OK) {
    int accessor = sn_gltf_add_accessor(&s->b, colours, mesh->vertex_count, GLTF_FLOAT, 3, GLTF_VERTICES, false);
    sn_gltf_set(&s->b, attributes, "COLOR_0", json_integer(accessor));
  }
  sn_arena_free(&scratch);
  return status;
}

// ---- materials -------------------------------------------------------------------------------------------------------------

// Which material of the document every triangle has.
static sn_status add_material_numbers(fbx_scene *s, const fbx_mesh *mesh, json_t *primitive) {
  static const char *const names[2] = {"", "Materials"};
  int at = 0, object, count = 0, model = s->models[mesh->model].object;
  size_t n = (size_t)mesh->triangle_count;
  fbx_layer layer;
  const fbx_node *node = sn_fbx_child(s->objects[mesh->geometry].node, "LayerElementMaterial");
  sn_status status = load_layer(s, node, names, 0, &layer);
  while (sn_fbx_next_below(s, model, "Material", &at, NULL) >= 0) count++;
  if (status != SN_OK || count == 0) return status;
  status = sn_fbx_spend(&s->tree, n, 2 * 4);
  sn_arena scratch = sn_arena_new(s->tree.ctx);
  int *own = SN_NEW(s->tree.ctx, &scratch, int, count);
  uint32_t *numbers = SN_NEW(s->tree.ctx, &scratch, uint32_t, n);
  if (status == SN_OK && (!own || !numbers)) status = s->tree.ctx->error.status;
  for (at = count = 0; status == SN_OK && (object = sn_fbx_next_below(s, model, "Material", &at, NULL)) >= 0;)
    own[count++] = s->objects[object].material;
  bool several = false;
  for (size_t t = 0; status == SN_OK && t < n; t++) {
    int64_t entry = layer.count > 0 ? entry_of(&layer, mesh, 3 * t) : 0;
    numbers[t] = (uint32_t)own[entry >= 0 && entry < count ? entry : 0];
    several = several || numbers[t] != numbers[0];
  }
  if (status == SN_OK) {
    sn_gltf_set(&s->b, primitive, "material", json_integer(numbers[0]));
    if (several)
      keep_beside(s, primitive, GLTF_TRIANGLE_MATERIALS,
                  sn_gltf_add_accessor(&s->b, numbers, (int)n, GLTF_UINT, 1, 0, false));
  }
  sn_arena_free(&scratch);
  return status;
}

// Names and colours of all materials.
void sn_fbx_add_materials(fbx_scene *s) {
  for (int o = 0; o < s->object_count; o++) {
    fbx_object *object = &s->objects[o];
    if (!sn_fbx_is(object->node, "Material")) continue;
    json_t *material = json_object();
    sn_vec3 colour = sn_fbx_property_vector(object, "DiffuseColor", 1);
    double rgba[4] = {colour.x, colour.y, colour.z, 1};
    for (int k = 0; k < 3; k++) rgba[k] = fmin(fmax(rgba[k], 0), 1);
    json_t *look = sn_gltf_child(&s->b, material, "pbrMetallicRoughness");
    sn_gltf_set(&s->b, material, "name", sn_fbx_json_text(s, object->name));
    sn_gltf_set(&s->b, look, "baseColorFactor", sn_gltf_reals(&s->b, rgba, 4));
    sn_gltf_set(&s->b, look, "metallicFactor", json_integer(0));
    object->material = sn_gltf_append(&s->b, "materials", material);
  }
}

sn_status sn_fbx_add_layers(fbx_scene *s, const fbx_mesh *mesh, json_t *attributes, json_t *primitive) {
  sn_status status = add_uvs(s, mesh, attributes, primitive);
  if (status == SN_OK) status = add_colours(s, mesh, attributes);
  return status == SN_OK ? add_material_numbers(s, mesh, primitive) : status;
}
