// SPDX-License-Identifier: MIT
// Vertex attributes, morph targets and new meshes.
#include "formats/gltf/out.h"

#include <string.h>

// ---- skin attributes -------------------------------------------------------------------------------------------

typedef struct influence_row {
  int count, joints[GLTF_MAX_INFLUENCES];
  double weights[GLTF_MAX_INFLUENCES];
} influence_row;

// One row without repeated joints and without zero weights.
static influence_row gather(const sn_skin *skin, int i) {
  influence_row row = {0};
  double sum = 0;
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    if (!(skin->weights[at] > 0)) continue;
    int slot = 0;
    while (slot < row.count && row.joints[slot] != skin->joints[at]) slot++;
    if (slot == row.count) row.joints[row.count++] = skin->joints[at];
    row.weights[slot] += skin->weights[at];
    sum += skin->weights[at];
  }
  if (row.count == 0) row.count = 1, row.weights[0] = sum = 1;
  for (int k = 0; k < row.count; k++) row.weights[k] /= sum;
  return row;
}

// Rounded to floats whose sum is 1 as exactly as floats can say: the largest takes what rounding left over.
static void round_row(const influence_row *row, float *out) {
  int largest = 0;
  double others = 1;
  for (int k = 0; k < row->count; k++) {
    out[k] = (float)row->weights[k];
    if (row->weights[k] > row->weights[largest]) largest = k;
  }
  for (int k = 0; k < row->count; k++)
    if (k != largest) others -= out[k];
  out[largest] = (float)others;
}

void sn_gltf_add_weights(gltf_builder *b, json_t *attributes, const sn_gltf_out *what, int first, int count) {
  static const char *const joint_names[] = {"JOINTS_0", "JOINTS_1"}, *const weight_names[] = {"WEIGHTS_0",
                                                                                              "WEIGHTS_1"};
  int sets = 1;
  for (int i = 0; i < count && sets == 1; i++) sets = gather(what->skin, first + i).count > 4 ? 2 : 1;
  bool wide = what->skeleton->joint_count > 256;
  sn_arena scratch = sn_arena_new(b->ctx);
  size_t set_size = (size_t)count * 4;
  uint8_t *narrow_joints = SN_NEW(b->ctx, &scratch, uint8_t, 2 * set_size);
  uint16_t *wide_joints = SN_NEW(b->ctx, &scratch, uint16_t, 2 * set_size);
  float *weights = SN_NEW(b->ctx, &scratch, float, 2 * set_size);
  if (!narrow_joints || !wide_joints || !weights) b->failed = true;
  for (int i = 0; i < count && !b->failed; i++) {
    influence_row row = gather(what->skin, first + i);
    float rounded[GLTF_MAX_INFLUENCES] = {0};
    round_row(&row, rounded);
    for (int k = 0; k < row.count; k++) {
      size_t at = (size_t)(k / 4) * set_size + (size_t)i * 4 + (size_t)(k % 4);
      if (!(rounded[k] > 0)) continue;
      narrow_joints[at] = (uint8_t)row.joints[k], wide_joints[at] = (uint16_t)row.joints[k];
      weights[at] = rounded[k];
    }
  }
  for (int s = 0; s < 2 && !b->failed; s++) {
    json_object_del(attributes, joint_names[s]), json_object_del(attributes, weight_names[s]);
    if (s >= sets) continue;
    size_t at = (size_t)s * set_size;
    const void *joints = wide ? (const void *)(wide_joints + at) : narrow_joints + at;
    int accessor = sn_gltf_add_accessor(b, joints, count, wide ? GLTF_USHORT : GLTF_UBYTE, 4, GLTF_VERTICES, false);
    sn_gltf_set(b, attributes, joint_names[s], json_integer(accessor));
    accessor = sn_gltf_add_accessor(b, weights + at, count, GLTF_FLOAT, 4, GLTF_VERTICES, false);
    sn_gltf_set(b, attributes, weight_names[s], json_integer(accessor));
  }
  sn_arena_free(&scratch);
}

// ---- other attributes ------------------------------------------------------------------------------------------------

static void add_vectors(gltf_builder *b, json_t *attributes, const char *key, const float (*values)[3], int count,
                        bool bounds) {
  int accessor = sn_gltf_add_accessor(b, values, count, GLTF_FLOAT, 3, GLTF_VERTICES, bounds);
  sn_gltf_set(b, attributes, key, json_integer(accessor));
}

void sn_gltf_add_positions(gltf_builder *b, json_t *attributes, const float (*positions)[3], int count) {
  add_vectors(b, attributes, "POSITION", positions, count, true);
}

void sn_gltf_add_normals(gltf_builder *b, json_t *attributes, const float (*normals)[3], int count) {
  sn_arena scratch = sn_arena_new(b->ctx);
  float(*unit)[3] = (float(*)[3])sn_arena_alloc(b->ctx, &scratch, (size_t)count, 12);
  if (!unit) b->failed = true;
  for (int i = 0; i < count && unit; i++) {
    sn_vec3_store(sn_vec3_normalize(sn_vec3_from(normals[i]), sn_vec3_make(0, 0, 1)), unit[i]);
  }
  if (unit) add_vectors(b, attributes, "NORMAL", (const float(*)[3])unit, count, false);
  sn_arena_free(&scratch);
}

void sn_gltf_add_colors(gltf_builder *b, json_t *attributes, const float (*colors)[3], int count) {
  sn_arena scratch = sn_arena_new(b->ctx);
  float(*clamped)[3] = (float(*)[3])sn_arena_alloc(b->ctx, &scratch, (size_t)count, 12);
  if (!clamped) b->failed = true;
  for (int i = 0; i < count && clamped; i++) {
    for (int k = 0; k < 3; k++) clamped[i][k] = fminf(fmaxf(colors[i][k], 0), 1);
  }
  if (clamped) add_vectors(b, attributes, "COLOR_0", (const float(*)[3])clamped, count, false);
  sn_arena_free(&scratch);
}

void sn_gltf_add_targets(gltf_builder *b, json_t *primitive, const sn_gltf_out *what, int first, int count) {
  json_t *old = json_object_get(primitive, "targets"), *targets = old ? json_incref(old) : json_array();
  for (int k = 0; k < what->morph_count && !b->failed; k++) {
    const float(*deltas)[3] = what->morph_deltas + (size_t)k * (size_t)what->mesh->vertex_count + first;
    json_t *target = json_object();
    sn_gltf_add_positions(b, target, deltas, count);
    if (json_array_append_new(targets, target) != 0) b->failed = true;
  }
  sn_gltf_set(b, primitive, "targets", targets);
}

// extras.targetNames, where exporters put them.
static void add_target_names(gltf_builder *b, json_t *mesh, const sn_gltf_out *what) {
  json_t *names = json_array(), *extras = json_object();
  for (int k = 0; k < what->morph_count; k++)
    if (json_array_append_new(names, json_string(what->morph_names[k])) != 0) b->failed = true;
  sn_gltf_set(b, extras, "targetNames", names);
  sn_gltf_set(b, mesh, "extras", extras);
}

// ---- a mesh of its own ---------------------------------------------------------------------------------------------------

static void add_indices(gltf_builder *b, json_t *primitive, const sn_mesh *mesh) {
  sn_arena scratch = sn_arena_new(b->ctx);
  size_t count = (size_t)mesh->triangle_count * 3;
  bool narrow = mesh->vertex_count <= 65535; // 65535 itself is kept for primitive restart
  uint16_t *small = SN_NEW(b->ctx, &scratch, uint16_t, narrow ? count : 0);
  if (!small) b->failed = true;
  for (size_t c = 0; narrow && small && c < count; c++) small[c] = (uint16_t)mesh->triangles[c / 3][c % 3];
  if (small) {
    int accessor = sn_gltf_add_accessor(b, narrow ? (const void *)small : mesh->triangles, (int)count,
                                        narrow ? GLTF_USHORT : GLTF_UINT, 1, GLTF_INDICES, false);
    sn_gltf_set(b, primitive, "indices", json_integer(accessor));
  }
  sn_arena_free(&scratch);
}

static void add_own_normals(gltf_builder *b, json_t *attributes, const sn_gltf_out *what) {
  const sn_mesh *mesh = what->mesh;
  sn_arena scratch = sn_arena_new(b->ctx);
  const float(*normals)[3] = what->normals;
  if (!normals) {
    float(*computed)[3] = (float(*)[3])sn_arena_alloc(b->ctx, &scratch, (size_t)mesh->vertex_count, 12);
    if (computed) sn_mesh_normals(mesh, (const float(*)[3])mesh->positions, computed);
    normals = (const float(*)[3])computed;
  }
  if (normals) {
    sn_gltf_add_normals(b, attributes, normals, mesh->vertex_count);
  } else {
    b->failed = true;
  }
  sn_arena_free(&scratch);
}

// Without a material a glTF mesh is polished metal; most viewers show that as black.
static int add_material(gltf_builder *b) {
  json_t *material = json_object(), *look = json_object();
  sn_gltf_set(b, look, "metallicFactor", json_real(0));
  sn_gltf_set(b, look, "roughnessFactor", json_real(0.7));
  sn_gltf_set(b, material, "pbrMetallicRoughness", look);
  return sn_gltf_append(b, "materials", material);
}

int sn_gltf_add_mesh(gltf_builder *b, const sn_gltf_out *what) {
  const sn_mesh *mesh = what->mesh;
  json_t *json = json_object(), *primitive = json_object(), *primitives = json_array(), *node = json_object();
  json_t *attributes = sn_gltf_child(b, primitive, "attributes");
  sn_gltf_add_positions(b, attributes, (const float(*)[3])mesh->positions, mesh->vertex_count);
  if (mesh->triangle_count > 0) add_own_normals(b, attributes, what);
  if (what->colors) sn_gltf_add_colors(b, attributes, what->colors, mesh->vertex_count);
  if (what->skin) sn_gltf_add_weights(b, attributes, what, 0, mesh->vertex_count);
  if (mesh->triangle_count > 0) {
    add_indices(b, primitive, mesh);
  } else {
    sn_gltf_set(b, primitive, "mode", json_integer(0)); // points
  }
  sn_gltf_set(b, primitive, "material", json_integer(add_material(b)));
  if (what->morph_count > 0) sn_gltf_add_targets(b, primitive, what, 0, mesh->vertex_count);
  if (json_array_append_new(primitives, primitive) != 0) b->failed = true;
  sn_gltf_set(b, json, "primitives", primitives);
  if (what->morph_count > 0 && what->morph_names) add_target_names(b, json, what);
  sn_gltf_set(b, node, "name", json_string("body"));
  sn_gltf_set(b, node, "mesh", json_integer(sn_gltf_append(b, "meshes", json)));
  if (what->skin) sn_gltf_set(b, node, "skin", json_integer(0));
  return sn_gltf_append(b, "nodes", node);
}
