// SPDX-License-Identifier: MIT
// The triangle primitives of a document's mesh nodes as one mesh with one skin.
#include "formats/gltf/gltf.h"

#include <limits.h>
#include <string.h>

enum { TRIANGLES = 4, STRIP = 5, FAN = 6 };

// What a primitive is made of: accessors, -1 where there is none.
typedef struct primitive {
  const sn_gltf *gltf;
  gltf_object at;
  int mode, positions, indices, corner_count;
  int joints[2], weights[2], set_count;
} primitive;

static int attribute(primitive *p, const char *key) {
  gltf_object attributes = p->at;
  attributes.json = json_object_get(p->at.json, "attributes");
  int accessor = sn_gltf_index(&attributes, key, p->gltf->accessor_count, false);
  p->at.status = attributes.status;
  return accessor;
}

static sn_status expect(const primitive *p, const char *what, int accessor, int width, int count) {
  const gltf_accessor *a = &p->gltf->accessors[accessor];
  if (a->width != width) {
    return sn_fail(p->at.ctx, SN_BAD_FILE, "%s: %s: accessor %d has %d numbers per element, not %d", p->at.place,
                   what, accessor, a->width, width);
  }
  if (count >= 0 && a->count != count) {
    return sn_fail(p->at.ctx, SN_BAD_FILE, "%s: %s: accessor %d has %d elements, but there are %d vertices",
                   p->at.place, what, accessor, a->count, count);
  }
  return SN_OK;
}

static sn_status read_floats(const primitive *p, const char *what, int accessor, bool normalize, float *out) {
  sn_status status = sn_gltf_floats(p->at.ctx, p->gltf, accessor, normalize, out);
  return status == SN_OK ? SN_OK : sn_fail_prefix(p->at.ctx, "%s: %s: ", p->at.place, what);
}

static sn_status find_weights(primitive *p, int vertex_count) {
  sn_context *ctx = p->at.ctx;
  static const char *const joint_names[] = {"JOINTS_0", "JOINTS_1"}, *const weight_names[] = {"WEIGHTS_0",
                                                                                              "WEIGHTS_1"};
  if (json_object_get(json_object_get(p->at.json, "attributes"), "JOINTS_2")) {
    return sn_fail(ctx, SN_UNSUPPORTED, "%s: has more than %d joints per vertex; limit them in the exporter",
                   p->at.place, GLTF_MAX_INFLUENCES);
  }
  for (int s = 0; s < 2; s++) {
    p->joints[s] = attribute(p, joint_names[s]), p->weights[s] = attribute(p, weight_names[s]);
    if (p->joints[s] < 0 || p->weights[s] < 0) return p->at.status;
    sn_status status = expect(p, joint_names[s], p->joints[s], 4, vertex_count);
    if (status == SN_OK) status = expect(p, weight_names[s], p->weights[s], 4, vertex_count);
    if (status != SN_OK) return status;
    if (p->gltf->accessors[p->joints[s]].component == GLTF_FLOAT)
      return sn_fail(ctx, SN_BAD_FILE, "%s: %s are not integers", p->at.place, joint_names[s]);
    p->set_count = s + 1;
  }
  return SN_OK;
}

// `mode` is -1 for a primitive that has no triangles.
static sn_status inspect(sn_context *ctx, const sn_gltf *gltf, int mesh, int index, const json_t *json,
                         primitive *p) {
  *p = (primitive){.gltf = gltf, .at = sn_gltf_object(ctx, json, "mesh %d primitive %d", mesh, index)};
  int mode = (int)sn_gltf_integer(&p->at, "mode", 0, 6, TRIANGLES);
  p->positions = attribute(p, "POSITION");
  p->indices = sn_gltf_index(&p->at, "indices", gltf->accessor_count, false);
  if (p->at.status != SN_OK) return p->at.status;
  p->mode = mode >= TRIANGLES && p->positions >= 0 ? mode : -1;
  if (p->mode < 0) return SN_OK;
  p->corner_count = gltf->accessors[p->indices >= 0 ? p->indices : p->positions].count;
  if (p->mode == TRIANGLES && p->corner_count % 3 != 0) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: %d corners do not make whole triangles", p->at.place, p->corner_count);
  }
  sn_status status = expect(p, "POSITION", p->positions, 3, -1);
  if (status == SN_OK && p->indices >= 0) {
    status = expect(p, "indices", p->indices, 1, -1);
    int component = gltf->accessors[p->indices].component;
    if (status == SN_OK && component != GLTF_UBYTE && component != GLTF_USHORT && component != GLTF_UINT) {
      status = sn_fail(ctx, SN_BAD_FILE, "%s: indices cannot have the component type %d", p->at.place, component);
    }
  }
  return status == SN_OK ? find_weights(p, gltf->accessors[p->positions].count) : status;
}

static int triangle_count(const primitive *p) {
  if (p->mode == TRIANGLES) return p->corner_count / 3;
  return p->corner_count < 3 ? 0 : p->corner_count - 2;
}

// ---- counting: the parts, vertices and triangles ------------------------------------------------------------------

static json_t *primitives_of(const sn_gltf *gltf, int mesh) {
  const json_t *json = json_array_get(json_object_get(gltf->json, "meshes"), (size_t)mesh);
  json_t *primitives = json_object_get(json, "primitives");
  return json_is_array(primitives) ? primitives : NULL;
}

static bool draws(const gltf_node *node) { return node->in_scene && node->mesh >= 0; }

static sn_status count_parts(sn_context *ctx, sn_gltf *gltf) {
  size_t count = 0;
  for (int k = 0; k < gltf->node_count; k++) {
    if (draws(&gltf->nodes[k])) count += json_array_size(primitives_of(gltf, gltf->nodes[k].mesh));
  }
  sn_status status = sn_gltf_spend(ctx, gltf, count, sizeof(gltf_part));
  gltf->parts = status == SN_OK ? SN_NEW(ctx, &gltf->memory, gltf_part, count) : NULL;
  return gltf->parts ? SN_OK : ctx->error.status;
}

static sn_status add_part(sn_context *ctx, sn_gltf *gltf, int node, int index, const primitive *p) {
  gltf_part *part = &gltf->parts[gltf->part_count++];
  int vertices = gltf->accessors[p->positions].count, triangles = triangle_count(p);
  if (vertices > INT_MAX - gltf->vertex_count || triangles > INT_MAX - gltf->triangle_count) {
    return sn_fail(ctx, SN_UNSUPPORTED, "%s: more vertices or triangles than Sinew can count", p->at.place);
  }
  part->range = (sn_gltf_part){node,     gltf->nodes[node].mesh, index,    gltf->vertex_count,
                               vertices, gltf->triangle_count,   triangles};
  part->skinned = gltf->nodes[node].skin >= 0 && p->set_count > 0;
  gltf->vertex_count += vertices;
  gltf->triangle_count += triangles;
  return sn_gltf_spend(ctx, gltf, (size_t)vertices + (size_t)triangles, 12);
}

static sn_status find_parts(sn_context *ctx, sn_gltf *gltf, int *influences) {
  *influences = 1;
  sn_status status = count_parts(ctx, gltf);
  for (int k = 0; k < gltf->node_count && status == SN_OK; k++) {
    if (!draws(&gltf->nodes[k])) continue;
    size_t index;
    json_t *json;
    json_array_foreach(primitives_of(gltf, gltf->nodes[k].mesh), index, json) {
      primitive p;
      status = inspect(ctx, gltf, gltf->nodes[k].mesh, (int)index, json, &p);
      if (status != SN_OK) break;
      if (p.mode < 0) continue;
      status = add_part(ctx, gltf, k, (int)index, &p);
      if (status != SN_OK) break;
      if (p.set_count * 4 > *influences) *influences = p.set_count * 4;
    }
  }
  return status;
}

// ---- decoding -----------------------------------------------------------------------------------------------------------

// Corners of triangle t within a primitive (glTF 2.0, section 3.7.2.1).
static void triangle_corners(int mode, int t, int corners[3]) {
  if (mode == TRIANGLES) {
    corners[0] = 3 * t, corners[1] = 3 * t + 1, corners[2] = 3 * t + 2;
  } else if (mode == STRIP) {
    corners[0] = t, corners[1] = t + 1 + t % 2, corners[2] = t + 2 - t % 2;
  } else {
    corners[0] = t + 1, corners[1] = t + 2, corners[2] = 0;
  }
}

static sn_status load_triangles(sn_context *ctx, sn_gltf *gltf, const gltf_part *part, const primitive *p,
                                sn_arena *scratch) {
  const sn_gltf_part *range = &part->range;
  uint32_t *indices = NULL;
  if (p->indices >= 0) {
    indices = SN_NEW(ctx, scratch, uint32_t, p->corner_count);
    if (!indices || sn_gltf_integers(ctx, gltf, p->indices, indices) != SN_OK) return ctx->error.status;
    for (int c = 0; c < p->corner_count; c++) {
      if (indices[c] >= (uint32_t)range->vertex_count) {
        return sn_fail(ctx, SN_BAD_FILE, "%s: index %d is %u, but there are only %d vertices", p->at.place, c,
                       indices[c], range->vertex_count);
      }
    }
  }
  for (int t = 0; t < range->triangle_count; t++) {
    int corners[3];
    triangle_corners(p->mode, t, corners);
    for (int c = 0; c < 3; c++) {
      gltf->triangles[range->first_triangle + t][c] =
        range->first_vertex + (indices ? (int)indices[corners[c]] : corners[c]);
    }
  }
  return SN_OK;
}

static sn_status load_targets(sn_context *ctx, sn_gltf *gltf, gltf_part *part, const primitive *p) {
  const json_t *targets = json_object_get(p->at.json, "targets");
  size_t count = json_array_size(targets), vertices = (size_t)part->range.vertex_count;
  if (count > 65535) return sn_fail(ctx, SN_UNSUPPORTED, "%s: has %zu morph targets", p->at.place, count);
  sn_status status = sn_gltf_spend(ctx, gltf, count * vertices, 12);
  if (status != SN_OK) return status;
  float(*deltas)[3] = (float(*)[3])sn_arena_alloc(ctx, &gltf->memory, count * vertices, 12);
  if (!deltas) return ctx->error.status;
  for (size_t k = 0; k < count; k++) {
    gltf_object target = sn_gltf_object(ctx, json_array_get(targets, k), "%s", p->at.place);
    int accessor = sn_gltf_index(&target, "POSITION", gltf->accessor_count, false);
    status = target.status;
    if (accessor >= 0) status = expect(p, "morph target", accessor, 3, part->range.vertex_count);
    if (accessor >= 0 && status == SN_OK)
      status = read_floats(p, "morph target", accessor, false, deltas[k * vertices]);
    if (status != SN_OK) return status;
  }
  part->target_count = (int)count;
  part->deltas = (const float(*)[3])deltas;
  return SN_OK;
}

// The rows of a skinned part, set by set; joints numbered as in the document's list.
static sn_status load_skin_rows(sn_context *ctx, sn_gltf *gltf, const gltf_part *part, const primitive *p,
                                sn_arena *scratch) {
  int n = part->range.vertex_count, influences = gltf->skin.influences;
  int skin_index = gltf->nodes[part->range.node].skin;
  const gltf_skin *skin = &gltf->skins[skin_index];
  uint32_t *joints = SN_NEW(ctx, scratch, uint32_t, (size_t)n * 4);
  float *weights = SN_NEW(ctx, scratch, float, (size_t)n * 4);
  if (!joints || !weights) return ctx->error.status;
  for (int s = 0; s < p->set_count; s++) {
    sn_status status = sn_gltf_integers(ctx, gltf, p->joints[s], joints);
    if (status == SN_OK) status = read_floats(p, "weights", p->weights[s], true, weights);
    if (status != SN_OK) return status;
    for (int i = 0; i < n; i++) {
      size_t row = (size_t)(part->range.first_vertex + i) * (size_t)influences + (size_t)s * 4;
      for (int k = 0; k < 4; k++) {
        size_t from = (size_t)i * 4 + (size_t)k;
        if (!(weights[from] > 0)) continue; // exporters leave anything in unused slots
        if (joints[from] >= (uint32_t)skin->joint_count) {
          return sn_fail(ctx, SN_BAD_FILE, "%s: vertex %d follows joint %u, but skin %d has only %d", p->at.place, i,
                         joints[from], skin_index, skin->joint_count);
        }
        gltf->skin.joints[row + (size_t)k] = (uint16_t)skin->joints[joints[from]];
        gltf->skin.weights[row + (size_t)k] = weights[from];
      }
    }
  }
  return SN_OK;
}

// From the joint of every node (-1 for none) to that of the node itself or the nearest above it, in one pass: a file may be
// one long chain.
static void inherit_joints(const sn_gltf *gltf, int *joint_of_node) {
  for (int at = 0; at < gltf->node_count; at++) {
    int node = gltf->order[at], parent = gltf->nodes[node].parent;
    if (joint_of_node[node] < 0 && parent >= 0) joint_of_node[node] = joint_of_node[parent];
  }
}

static void attach_rows(sn_gltf *gltf, const gltf_part *part) {
  for (int i = 0; i < part->range.vertex_count; i++) {
    size_t row = (size_t)(part->range.first_vertex + i) * (size_t)gltf->skin.influences;
    gltf->skin.joints[row] = (uint16_t)(part->joint < 0 ? gltf->still_joint : part->joint);
    gltf->skin.weights[row] = 1;
  }
}

static sn_status load_part(sn_context *ctx, sn_gltf *gltf, gltf_part *part, const int *joint_above) {
  const sn_gltf_part *range = &part->range;
  primitive p;
  const json_t *json = json_array_get(primitives_of(gltf, range->mesh), (size_t)range->primitive);
  sn_status status = inspect(ctx, gltf, range->mesh, range->primitive, json, &p);
  sn_arena scratch = sn_arena_new(ctx);
  float *positions = SN_NEW(ctx, &gltf->memory, float, (size_t)range->vertex_count * 3);
  if (!positions) status = ctx->error.status;
  part->positions = (const float(*)[3])positions;
  if (status == SN_OK) status = read_floats(&p, "POSITION", p.positions, false, positions);
  if (status == SN_OK) status = load_triangles(ctx, gltf, part, &p, &scratch);
  if (status == SN_OK) status = load_targets(ctx, gltf, part, &p);
  if (status == SN_OK && part->skinned) status = load_skin_rows(ctx, gltf, part, &p, &scratch);
  part->joint = part->skinned ? -1 : joint_above[range->node];
  if (status == SN_OK && !part->skinned && gltf->joint_count > 0) attach_rows(gltf, part);
  sn_arena_free(&scratch);
  return status;
}

// A node's own morph weights, else its mesh's, else zeros. All primitives of a mesh have the same number of targets.
static sn_status load_morph_weights(sn_context *ctx, sn_gltf *gltf) {
  const json_t *nodes = json_object_get(gltf->json, "nodes"), *meshes = json_object_get(gltf->json, "meshes");
  for (int k = 0; k < gltf->part_count; k++) {
    const gltf_part *part = &gltf->parts[k];
    gltf_node *node = &gltf->nodes[part->range.node];
    if (node->weights && node->weight_count != part->target_count) {
      return sn_fail(ctx, SN_BAD_FILE, "mesh %d: its primitives have %d and %d morph targets", node->mesh,
                     node->weight_count, part->target_count);
    }
    if (node->weights) continue;
    node->weight_count = part->target_count;
    node->weights = SN_NEW(ctx, &gltf->memory, double, part->target_count);
    if (!node->weights) return ctx->error.status;
    gltf_object own =
      sn_gltf_object(ctx, json_array_get(nodes, (size_t)part->range.node), "node %d", part->range.node);
    gltf_object mesh = sn_gltf_object(ctx, json_array_get(meshes, (size_t)node->mesh), "mesh %d", node->mesh);
    sn_gltf_numbers(&mesh, "weights", node->weight_count, node->weights);
    if (mesh.status != SN_OK) return mesh.status;
    sn_gltf_numbers(&own, "weights", node->weight_count, node->weights);
    if (own.status != SN_OK) return own.status;
  }
  return SN_OK;
}

sn_status sn_gltf_load_meshes(sn_context *ctx, sn_gltf *gltf) {
  int influences;
  sn_status status = find_parts(ctx, gltf, &influences);
  if (status != SN_OK) return status;
  if (gltf->joint_count > 0 && gltf->vertex_count > 0) {
    status = sn_gltf_spend(ctx, gltf, (size_t)gltf->vertex_count * (size_t)influences, 6);
    if (status == SN_OK) status = sn_skin_new(ctx, gltf->vertex_count, influences, &gltf->skin);
    if (status != SN_OK) return status;
  }
  sn_arena scratch = sn_arena_new(ctx);
  int *joint_above = SN_NEW(ctx, &scratch, int, gltf->node_count);
  gltf->triangles = (int(*)[3])sn_arena_alloc(ctx, &gltf->memory, (size_t)gltf->triangle_count, 12);
  if (!joint_above || !gltf->triangles) {
    sn_arena_free(&scratch);
    return ctx->error.status;
  }
  sn_gltf_joint_of_node(gltf, joint_above);
  inherit_joints(gltf, joint_above);
  for (int k = 0; k < gltf->part_count && status == SN_OK; k++) {
    status = load_part(ctx, gltf, &gltf->parts[k], joint_above);
  }
  sn_arena_free(&scratch);
  if (status == SN_OK) status = load_morph_weights(ctx, gltf);
  if (status == SN_OK) sn_skin_normalize(&gltf->skin);
  return status;
}

// ---- what callers get ------------------------------------------------------------------------------------------------------

sn_status sn_gltf_mesh(sn_context *ctx, const sn_gltf *gltf, sn_mesh *out, sn_arena *parts_memory,
                       sn_gltf_part **parts, int *part_count) {
  *out = (sn_mesh){0};
  if (gltf->vertex_count == 0) return sn_fail(ctx, SN_BAD_INPUT, "%s: has no triangle meshes", gltf->name);
  sn_status status = sn_mesh_new(ctx, gltf->vertex_count, gltf->triangle_count, out);
  if (status != SN_OK) return status;
  memcpy(out->triangles, gltf->triangles, (size_t)gltf->triangle_count * sizeof *out->triangles);
  for (int k = 0; k < gltf->part_count; k++) {
    const gltf_part *part = &gltf->parts[k];
    for (int i = 0; i < part->range.vertex_count; i++) {
      sn_vec3 p = sn_affine_apply(part->place, sn_vec3_from(part->positions[i]));
      sn_vec3_store(p, out->positions[part->range.first_vertex + i]);
    }
  }
  status = sn_mesh_check(ctx, out); // node transforms can take a position out of a float's range
  if (status != SN_OK) sn_fail_prefix(ctx, "%s: ", gltf->name);
  if (status == SN_OK && parts) {
    *part_count = gltf->part_count;
    *parts = SN_NEW(ctx, parts_memory, sn_gltf_part, gltf->part_count);
    for (int k = 0; *parts && k < gltf->part_count; k++) (*parts)[k] = gltf->parts[k].range;
    if (!*parts) status = ctx->error.status;
  }
  if (status != SN_OK) sn_mesh_free(out);
  return status;
}

// Normals of a part into the flattened mesh; false where it has none.
static sn_status part_normals(sn_context *ctx, const sn_gltf *gltf, const gltf_part *part, float (*out)[3],
                              bool *has) {
  primitive p;
  const json_t *json = json_array_get(primitives_of(gltf, part->range.mesh), (size_t)part->range.primitive);
  sn_status status = inspect(ctx, gltf, part->range.mesh, part->range.primitive, json, &p);
  int accessor = status == SN_OK ? attribute(&p, "NORMAL") : -1;
  *has = accessor >= 0;
  if (!*has) return status == SN_OK ? p.at.status : status;
  status = expect(&p, "NORMAL", accessor, 3, part->range.vertex_count);
  if (status == SN_OK) status = read_floats(&p, "NORMAL", accessor, true, out[0]);
  sn_mat3 linear = sn_affine_linear(part->place), inverse;
  sn_mat3 map = sn_mat3_invert(linear, &inverse) ? sn_mat3_transpose(inverse) : linear;
  for (int i = 0; i < part->range.vertex_count && status == SN_OK; i++) {
    sn_vec3 n = sn_mat3_apply(map, sn_vec3_from(out[i]));
    sn_vec3_store(sn_vec3_normalize(n, sn_vec3_make(0, 0, 0)), out[i]);
  }
  return status;
}

sn_status sn_gltf_normals(sn_context *ctx, const sn_gltf *gltf, sn_arena *memory, float (**out)[3]) {
  bool has = gltf->part_count > 0;
  *out = (float(*)[3])sn_arena_alloc(ctx, memory, (size_t)gltf->vertex_count, sizeof **out);
  sn_status status = *out ? SN_OK : ctx->error.status;
  for (int k = 0; k < gltf->part_count && has && status == SN_OK; k++) {
    const gltf_part *part = &gltf->parts[k];
    status = part_normals(ctx, gltf, part, *out + part->range.first_vertex, &has);
  }
  if (!has || status != SN_OK) *out = NULL;
  return status;
}

// Tangents of a part into the flattened mesh; as they were where it has none, or no normals that they belong to.
static sn_status part_tangents(sn_context *ctx, const sn_gltf *gltf, const gltf_part *part, float (*out)[4],
                               bool *any) {
  primitive p;
  const json_t *json = json_array_get(primitives_of(gltf, part->range.mesh), (size_t)part->range.primitive);
  sn_status status = inspect(ctx, gltf, part->range.mesh, part->range.primitive, json, &p);
  if (status != SN_OK) return status;
  int accessor = attribute(&p, "TANGENT"), normals = attribute(&p, "NORMAL");
  if (accessor < 0 || normals < 0) return p.at.status;
  *any = true;
  status = expect(&p, "TANGENT", accessor, 4, part->range.vertex_count);
  if (status == SN_OK) status = read_floats(&p, "TANGENT", accessor, true, out[0]);
  sn_mat3 map = sn_affine_linear(part->place);
  bool mirrored = sn_mat3_determinant(map) < 0;
  for (int i = 0; i < part->range.vertex_count && status == SN_OK; i++) {
    sn_vec3 t = sn_mat3_apply(map, sn_vec3_from(out[i]));
    sn_vec3_store(sn_vec3_normalize(t, sn_vec3_make(0, 0, 0)), out[i]);
    out[i][3] = (out[i][3] < 0) != mirrored ? -1.0f : 1.0f;
  }
  return status;
}

sn_status sn_gltf_tangents(sn_context *ctx, const sn_gltf *gltf, sn_arena *memory, float (**out)[4]) {
  bool any = false;
  *out = (float(*)[4])sn_arena_alloc(ctx, memory, (size_t)gltf->vertex_count, sizeof **out);
  sn_status status = *out ? SN_OK : ctx->error.status;
  for (int k = 0; k < gltf->part_count && status == SN_OK; k++) {
    const gltf_part *part = &gltf->parts[k];
    status = part_tangents(ctx, gltf, part, *out + part->range.first_vertex, &any);
  }
  if (!any || status != SN_OK) *out = NULL;
  return status;
}

void sn_gltf_joint_of_node(const sn_gltf *gltf, int *out) {
  for (int k = 0; k < gltf->node_count; k++) out[k] = -1;
  for (int j = gltf->joint_count - 1; j >= 0; j--) out[gltf->joints[j].node] = j;
}

// The joint above joint j: of the nearest node that is one, the joint of the same skin, else the first.
static int parent_joint(const sn_gltf *gltf, const int *joint_above, const int *next, int j) {
  int parent = gltf->nodes[gltf->joints[j].node].parent, first = parent < 0 ? -1 : joint_above[parent];
  for (int k = first; k >= 0; k = next[k])
    if (gltf->joints[k].skin == gltf->joints[j].skin) return k;
  return first;
}

static sn_status fill_skeleton(sn_context *ctx, const sn_gltf *gltf, sn_skeleton *out) {
  int *joint_of_node = SN_NEW(ctx, &out->memory, int, gltf->node_count);
  int *next = SN_NEW(ctx, &out->memory, int, gltf->joint_count); // the next joint of the same node
  if (!joint_of_node || !next) return ctx->error.status;
  for (int k = 0; k < gltf->node_count; k++) joint_of_node[k] = -1;
  for (int j = gltf->joint_count - 1; j >= 0; j--) {
    int node = gltf->joints[j].node;
    next[j] = joint_of_node[node];
    joint_of_node[node] = j;
  }
  inherit_joints(gltf, joint_of_node);
  for (int j = 0; j < gltf->joint_count; j++) {
    const gltf_joint *joint = &gltf->joints[j];
    out->names[j] = sn_arena_text(ctx, &out->memory, joint->name);
    if (!out->names[j]) return ctx->error.status;
    out->parents[j] = parent_joint(gltf, joint_of_node, next, j);
    if (!sn_affine_invert(joint->inverse_bind, &out->rest[j])) {
      return sn_fail(ctx, SN_BAD_FILE, "%s: the inverse bind matrix of joint %d (%s) is singular", gltf->name, j,
                     joint->name);
    }
  }
  return sn_skeleton_sort(ctx, out);
}

// The rows up to the largest number of influences that any of them uses.
static sn_status copy_skin(sn_context *ctx, const sn_skin *from, sn_skin *out) {
  int used = 1;
  for (int i = 0; i < from->vertex_count; i++) {
    while (used < from->influences && from->weights[(size_t)i * (size_t)from->influences + (size_t)used] > 0) used++;
  }
  sn_status status = sn_skin_new(ctx, from->vertex_count, used, out);
  for (int i = 0; i < from->vertex_count && status == SN_OK; i++) {
    size_t row = (size_t)i * (size_t)used, source = (size_t)i * (size_t)from->influences;
    memcpy(out->joints + row, from->joints + source, (size_t)used * sizeof *out->joints);
    memcpy(out->weights + row, from->weights + source, (size_t)used * sizeof *out->weights);
  }
  return status;
}

sn_status sn_gltf_skeleton(sn_context *ctx, const sn_gltf *gltf, sn_skeleton *skeleton, sn_skin *skin) {
  *skeleton = (sn_skeleton){0};
  if (skin) *skin = (sn_skin){0};
  if (gltf->joint_count == 0) return sn_fail(ctx, SN_BAD_INPUT, "%s: has no skin, so no skeleton", gltf->name);
  sn_status status = sn_skeleton_new(ctx, gltf->joint_count, skeleton);
  if (status != SN_OK) return status;
  status = fill_skeleton(ctx, gltf, skeleton);
  if (status == SN_OK && skin && gltf->skin.vertex_count > 0) status = copy_skin(ctx, &gltf->skin, skin);
  if (status != SN_OK) sn_skeleton_free(skeleton);
  return status;
}
