// SPDX-License-Identifier: MIT
// Vertex attributes, morph targets and new meshes.
#include "formats/gltf/out.h"

#include <string.h>

// ---- skin attributes -------------------------------------------------------------------------------------------

// One row without repeated joints and zero weights, rounded to floats that sum to 1; the largest weight absorbs the rounding.
static gltf_influences gather(const sn_skin *skin, int i) {
  gltf_influences row = {0};
  double weights[GLTF_MAX_INFLUENCES] = {0}, sum = 0, others = 1;
  int count = 0, largest = 0;
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    if (!(skin->weights[at] > 0)) continue;
    int slot = 0;
    while (slot < count && row.joints[slot] != skin->joints[at]) slot++;
    if (slot == count) row.joints[count++] = skin->joints[at];
    weights[slot] += skin->weights[at];
    sum += skin->weights[at];
  }
  if (count == 0) count = 1, weights[0] = sum = 1;
  for (int k = 0; k < count; k++) {
    weights[k] /= sum, row.weights[k] = (float)weights[k];
    if (weights[k] > weights[largest]) largest = k;
  }
  for (int k = 0; k < count; k++)
    if (k != largest) others -= row.weights[k];
  row.weights[largest] = (float)others;
  for (int k = 0; k < count; k++)
    if (!(row.weights[k] > 0)) row.weights[k] = 0, row.joints[k] = 0;
  return row;
}

void sn_gltf_add_weights(gltf_builder *b, json_t *attributes, const sn_gltf_out *what, int first, int count) {
  SN_SCRATCH(scratch, b->ctx);
  gltf_influences *rows = SN_TAKE(b, &scratch, gltf_influences, count);
  for (int i = 0; rows && i < count; i++) rows[i] = gather(what->skin, first + i);
  if (rows) sn_gltf_put_influences(b, attributes, rows, count, what->skeleton->joint_count > 256);
}

// ---- other attributes ------------------------------------------------------------------------------------------------

void sn_gltf_add_vectors(gltf_builder *b, json_t *attributes, const char *key, const float (*from)[3], int count) {
  bool normals = strcmp(key, "NORMAL") == 0;
  SN_SCRATCH(scratch, b->ctx);
  float(*to)[3] = SN_ROOM(b, &scratch, (size_t)count, sizeof *to);
  for (int i = 0; i < count && to; i++) {
    if (normals) sn_vec3_store(sn_vec3_normalize(sn_vec3_from(from[i]), sn_vec3_make(0, 0, 1)), to[i]);
    for (int k = 0; !normals && k < 3; k++) to[i][k] = fminf(fmaxf(from[i][k], 0), 1);
  }
  if (to) sn_gltf_put_floats(b, attributes, key, to, count, 3);
}

void sn_gltf_add_targets(gltf_builder *b, json_t *primitive, const sn_gltf_out *what, int first, int count) {
  json_t *targets = sn_gltf_list(b, primitive, "targets");
  for (int k = 0; k < what->morph_count && b->status == SN_OK; k++) {
    const float(*deltas)[3] = what->morph_deltas + (size_t)k * (size_t)what->mesh->vertex_count + first;
    json_t *target = json_object();
    sn_gltf_put_floats(b, target, "POSITION", deltas, count, 3);
    sn_gltf_push(b, targets, target);
  }
}

// extras.targetNames, the exporters' convention.
static void add_target_names(gltf_builder *b, json_t *mesh, const sn_gltf_out *what) {
  json_t *names = sn_gltf_list(b, sn_gltf_child(b, mesh, "extras"), "targetNames");
  for (int k = 0; k < what->morph_count; k++) sn_gltf_push(b, names, json_string(what->morph_names[k]));
}

// ---- a new mesh ----------------------------------------------------------------------------------------------------------

static void add_indices(gltf_builder *b, json_t *primitive, const sn_mesh *mesh) {
  SN_SCRATCH(scratch, b->ctx);
  size_t count = (size_t)mesh->triangle_count * 3;
  bool narrow = mesh->vertex_count <= 65535; // 65535 is reserved for primitive restart
  uint16_t *small = SN_TAKE(b, &scratch, uint16_t, narrow ? count : 0);
  for (size_t c = 0; narrow && small && c < count; c++) small[c] = (uint16_t)mesh->triangles[c / 3][c % 3];
  const void *values = narrow ? (const void *)small : mesh->triangles;
  gltf_data data = {values, (int)count, narrow ? GLTF_USHORT : GLTF_UINT, 1, GLTF_INDICES, false};
  if (small) sn_gltf_put(b, primitive, "indices", data);
}

static void add_own_normals(gltf_builder *b, json_t *attributes, const sn_gltf_out *what) {
  const sn_mesh *mesh = what->mesh;
  SN_SCRATCH(scratch, b->ctx);
  const float(*normals)[3] = what->normals;
  if (!normals) {
    float(*computed)[3] = SN_ROOM(b, &scratch, (size_t)mesh->vertex_count, 12);
    if (computed) sn_mesh_normals(mesh, (const float(*)[3])mesh->positions, computed);
    normals = (const float(*)[3])computed;
  }
  if (normals) sn_gltf_add_vectors(b, attributes, "NORMAL", normals, mesh->vertex_count);
}

// The default glTF material is polished metal, which most viewers show as black.
static int add_material(gltf_builder *b) {
  return sn_gltf_append(
    b, "materials",
    json_pack("{s:{s:f,s:f}}", "pbrMetallicRoughness", "metallicFactor", 0.0, "roughnessFactor", 0.7));
}

int sn_gltf_add_mesh(gltf_builder *b, const sn_gltf_out *what) {
  const sn_mesh *mesh = what->mesh;
  json_t *json = json_object(), *primitive = json_object(), *node = json_object();
  json_t *attributes = sn_gltf_child(b, primitive, "attributes");
  sn_gltf_put_floats(b, attributes, "POSITION", mesh->positions, mesh->vertex_count, 3);
  if (mesh->triangle_count > 0) add_own_normals(b, attributes, what);
  if (what->colors) sn_gltf_add_vectors(b, attributes, "COLOR_0", what->colors, mesh->vertex_count);
  if (what->skin) sn_gltf_add_weights(b, attributes, what, 0, mesh->vertex_count);
  if (mesh->triangle_count > 0) {
    add_indices(b, primitive, mesh);
  } else {
    sn_gltf_set(b, primitive, "mode", json_integer(0)); // points
  }
  sn_gltf_set(b, primitive, "material", json_integer(add_material(b)));
  if (what->morph_count > 0) sn_gltf_add_targets(b, primitive, what, 0, mesh->vertex_count);
  sn_gltf_push(b, sn_gltf_list(b, json, "primitives"), primitive);
  if (what->morph_count > 0 && what->morph_names) add_target_names(b, json, what);
  sn_gltf_set(b, node, "name", json_string("body"));
  sn_gltf_set(b, node, "mesh", json_integer(sn_gltf_append(b, "meshes", json)));
  if (what->skin) sn_gltf_set(b, node, "skin", json_integer(0));
  return sn_gltf_append(b, "nodes", node);
}
