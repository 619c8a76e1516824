// SPDX-License-Identifier: MIT
// Flattens the triangle primitives of a document's mesh nodes into one mesh with one skin.
#include "formats/gltf/gltf.h"

#include <limits.h>
#include <string.h>

enum { TRIANGLES = 4, STRIP = 5, FAN = 6 };

static const json_t *mesh_json(const sn_gltf *gltf, int mesh) {
  return json_array_get(json_object_get(gltf->json, "meshes"), (size_t)mesh);
}

gltf_object sn_gltf_primitive(sn_reader *r, const sn_gltf *gltf, const gltf_range *part) {
  const json_t *primitives = json_object_get(mesh_json(gltf, part->mesh), "primitives");
  return sn_gltf_object(r, json_array_get(primitives, (size_t)part->primitive), "mesh %d primitive %d", part->mesh,
                        part->primitive);
}

int sn_gltf_attribute(gltf_object *o, const sn_gltf *gltf, const char *key) {
  return sn_gltf_index_in(o, "attributes", key, gltf->accessor_count, false);
}

// Fails if the accessor (-1: none) does not have `width` numbers for each of `count` elements (-1: any).
static void expect(gltf_object *o, const sn_gltf *gltf, const char *what, int accessor, int width, int count) {
  if (accessor < 0) return;
  const gltf_accessor *a = &gltf->accessors[accessor];
  if (a->width != width) {
    gltf_object_fail(o, SN_BAD_FILE, "%s: accessor %d has %d numbers per element, not %d", what, accessor, a->width,
                     width);
  } else if (count >= 0 && a->count != count) {
    gltf_object_fail(o, SN_BAD_FILE, "%s: accessor %d has %d elements, but there are %d vertices", what, accessor,
                     a->count, count);
  }
}

// Reads the numbers of an accessor (-1: none).
static void read_floats(gltf_object *o, const sn_gltf *gltf, const char *what, int accessor, bool normalize,
                        float *out) {
  if (o->r->status != SN_OK || accessor < 0) return;
  sn_gltf_floats(o->r, gltf, accessor, normalize, out);
  if (o->r->status != SN_OK) sn_fail_prefix(o->r->ctx, "%s: %s: ", o->place, what);
}

bool sn_gltf_part_floats(gltf_object *o, const sn_gltf *gltf, const gltf_part *part, const char *key, int width,
                         float *out) {
  int accessor = sn_gltf_attribute(o, gltf, key);
  expect(o, gltf, key, accessor, width, part->range.vertex_count);
  read_floats(o, gltf, key, accessor, true, out);
  return accessor >= 0 && o->r->status == SN_OK;
}

// Accessors of a primitive, -1: none.
typedef struct primitive {
  gltf_object at;
  int mode, positions, indices, corner_count; // mode -1: no triangles
  int joints[2], weights[2], set_count;
} primitive;

static void find_weights(primitive *p, const sn_gltf *gltf) {
  static const char *const names[][2] = {{"JOINTS_0", "WEIGHTS_0"}, {"JOINTS_1", "WEIGHTS_1"}};
  int count = gltf->accessors[p->positions].count;
  if (json_object_get(json_object_get(p->at.json, "attributes"), "JOINTS_2"))
    gltf_object_fail(&p->at, SN_UNSUPPORTED, "has more than %d joints per vertex; limit them in the exporter",
                     GLTF_MAX_INFLUENCES);
  for (int s = 0; s < 2 && p->at.r->status == SN_OK && p->set_count == s; s++) {
    p->joints[s] = sn_gltf_attribute(&p->at, gltf, names[s][0]);
    p->weights[s] = sn_gltf_attribute(&p->at, gltf, names[s][1]);
    if (p->joints[s] < 0 || p->weights[s] < 0) return;
    expect(&p->at, gltf, names[s][0], p->joints[s], 4, count);
    expect(&p->at, gltf, names[s][1], p->weights[s], 4, count);
    if (gltf->accessors[p->joints[s]].component == GLTF_FLOAT)
      gltf_object_fail(&p->at, SN_BAD_FILE, "%s are not integers", names[s][0]);
    p->set_count = s + 1;
  }
}

static primitive inspect(sn_gltf *gltf, const gltf_range *part) {
  primitive p = {.at = sn_gltf_primitive(&gltf->reader, gltf, part)};
  int mode = (int)sn_gltf_integer(&p.at, "mode", 0, 6, TRIANGLES);
  p.positions = sn_gltf_attribute(&p.at, gltf, "POSITION");
  p.indices = sn_gltf_index(&p.at, "indices", gltf->accessor_count, false);
  p.mode = mode >= TRIANGLES && p.positions >= 0 ? mode : -1;
  if (p.mode < 0 || p.at.r->status != SN_OK) return p;
  const gltf_accessor *corners = &gltf->accessors[p.indices >= 0 ? p.indices : p.positions];
  p.corner_count = corners->count;
  if (p.mode == TRIANGLES && p.corner_count % 3 != 0)
    gltf_object_fail(&p.at, SN_BAD_FILE, "%d corners do not make whole triangles", p.corner_count);
  expect(&p.at, gltf, "POSITION", p.positions, 3, -1);
  expect(&p.at, gltf, "indices", p.indices, 1, -1);
  int component = corners->component;
  if (p.indices >= 0 && component != GLTF_UBYTE && component != GLTF_USHORT && component != GLTF_UINT)
    gltf_object_fail(&p.at, SN_BAD_FILE, "indices cannot have the component type %d", component);
  find_weights(&p, gltf);
  return p;
}

static int triangle_count(const primitive *p) {
  if (p->mode == TRIANGLES) return p->corner_count / 3;
  return p->corner_count < 3 ? 0 : p->corner_count - 2;
}

// ---- counting: the parts, vertices and triangles ------------------------------------------------------------------

// Number of primitives that a node shows.
static size_t count_primitives(const sn_gltf *gltf, int node) {
  const gltf_node *n = &gltf->nodes[node];
  return n->in_scene && n->mesh >= 0 ? json_array_size(json_object_get(mesh_json(gltf, n->mesh), "primitives")) : 0;
}

static void count_parts(sn_gltf *gltf) {
  size_t count = 0;
  for (int k = 0; k < gltf->node_count; k++) count += count_primitives(gltf, k);
  sn_gltf_spend(gltf, count, sizeof(gltf_part));
  gltf->parts = SN_TAKE(&gltf->reader, &gltf->memory, gltf_part, count);
}

static void add_part(sn_gltf *gltf, gltf_range range, const primitive *p) {
  int vertices = gltf->accessors[p->positions].count, triangles = triangle_count(p);
  if (vertices > INT_MAX - gltf->vertex_count || triangles > INT_MAX - gltf->triangle_count)
    return gltf_object_fail(&p->at, SN_UNSUPPORTED, "more vertices or triangles than Sinew can count");
  range.first_vertex = gltf->vertex_count, range.vertex_count = vertices;
  range.first_triangle = gltf->triangle_count, range.triangle_count = triangles;
  gltf->parts[gltf->part_count++] =
    (gltf_part){.range = range, .skinned = gltf->nodes[range.node].skin >= 0 && p->set_count > 0};
  gltf->vertex_count += vertices;
  gltf->triangle_count += triangles;
  sn_gltf_spend(gltf, (size_t)vertices + (size_t)triangles, 12);
}

// Collects all parts; returns the largest number of influences of any part.
static int find_parts(sn_gltf *gltf) {
  int influences = 1;
  sn_reader *r = &gltf->reader;
  count_parts(gltf);
  for (int k = 0; k < gltf->node_count; k++) {
    for (size_t index = 0; index < count_primitives(gltf, k) && r->status == SN_OK; index++) {
      gltf_range range = {.node = k, .mesh = gltf->nodes[k].mesh, .primitive = (int)index};
      primitive p = inspect(gltf, &range);
      if (r->status == SN_OK && p.mode >= 0) add_part(gltf, range, &p);
      if (p.set_count * 4 > influences) influences = p.set_count * 4;
    }
  }
  return influences;
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

static void load_triangles(sn_gltf *gltf, const gltf_range *range, const primitive *p, sn_arena *scratch) {
  sn_reader *r = &gltf->reader;
  uint32_t *indices = p->indices >= 0 ? SN_TAKE(r, scratch, uint32_t, p->corner_count) : NULL;
  if (indices) sn_gltf_integers(r, gltf, p->indices, indices);
  for (int c = 0; indices && c < p->corner_count && r->status == SN_OK; c++) {
    if (indices[c] >= (uint32_t)range->vertex_count)
      gltf_object_fail(&p->at, SN_BAD_FILE, "index %d is %u, but there are only %d vertices", c, indices[c],
                       range->vertex_count);
  }
  for (int t = 0; t < range->triangle_count && r->status == SN_OK; t++) {
    int corners[3];
    triangle_corners(p->mode, t, corners);
    for (int c = 0; c < 3; c++) {
      gltf->triangles[range->first_triangle + t][c] =
        range->first_vertex + (indices ? (int)indices[corners[c]] : corners[c]);
    }
  }
}

static void load_targets(sn_gltf *gltf, gltf_part *part, const primitive *p) {
  sn_reader *r = &gltf->reader;
  const json_t *targets = json_object_get(p->at.json, "targets");
  size_t count = json_array_size(targets), vertices = (size_t)part->range.vertex_count;
  if (count > 65535) gltf_object_fail(&p->at, SN_UNSUPPORTED, "has %zu morph targets", count);
  if (!sn_gltf_spend(gltf, count * vertices, 12)) return;
  float(*deltas)[3] = SN_ROOM(r, &gltf->memory, count * vertices, sizeof *deltas);
  for (size_t k = 0; k < count && r->status == SN_OK; k++) {
    gltf_object target = sn_gltf_object(r, json_array_get(targets, k), "%s", p->at.place);
    int accessor = sn_gltf_index(&target, "POSITION", gltf->accessor_count, false);
    expect(&target, gltf, "morph target", accessor, 3, part->range.vertex_count);
    read_floats(&target, gltf, "morph target", accessor, false, deltas[k * vertices]);
  }
  part->target_count = (int)count;
  part->deltas = (const float(*)[3])deltas;
}

// Reads the weights of a skinned part, set by set; joints are numbered as in the document's list.
static void load_skin_rows(sn_gltf *gltf, const gltf_part *part, primitive *p, sn_arena *scratch) {
  sn_reader *r = &gltf->reader;
  int n = part->range.vertex_count, influences = gltf->skin.influences;
  int skin_index = gltf->nodes[part->range.node].skin;
  const gltf_skin *skin = &gltf->skins[skin_index];
  uint32_t *joints = SN_TAKE(r, scratch, uint32_t, (size_t)n * 4);
  float *weights = SN_TAKE(r, scratch, float, (size_t)n * 4);
  for (int s = 0; s < p->set_count; s++) {
    sn_gltf_integers(r, gltf, p->joints[s], joints);
    read_floats(&p->at, gltf, "weights", p->weights[s], true, weights);
    for (size_t from = 0; from < 4 * (size_t)n && r->status == SN_OK; from++) {
      size_t to = ((size_t)part->range.first_vertex + from / 4) * (size_t)influences + (size_t)s * 4 + from % 4;
      if (!(weights[from] > 0)) continue; // exporters leave arbitrary joints in unused slots
      if (joints[from] >= (uint32_t)skin->joint_count)
        return gltf_object_fail(&p->at, SN_BAD_FILE, "vertex %zu follows joint %u, but skin %d has only %d", from / 4,
                                joints[from], skin_index, skin->joint_count);
      gltf->skin.joints[to] = (uint16_t)skin->joints[joints[from]];
      gltf->skin.weights[to] = weights[from];
    }
  }
}

// One pass in topological order: linear also for one long chain.
void sn_gltf_inherit_joints(const sn_gltf *gltf, int *joint_of_node) {
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

static void load_part(sn_gltf *gltf, gltf_part *part, const int *joint_above) {
  const gltf_range *range = &part->range;
  primitive p = inspect(gltf, range);
  SN_SCRATCH(scratch, gltf->reader.ctx);
  float *positions = SN_TAKE(&gltf->reader, &gltf->memory, float, (size_t)range->vertex_count * 3);
  part->positions = (const float(*)[3])positions;
  read_floats(&p.at, gltf, "POSITION", p.positions, false, positions);
  load_triangles(gltf, range, &p, &scratch);
  load_targets(gltf, part, &p);
  if (part->skinned) load_skin_rows(gltf, part, &p, &scratch);
  part->joint = part->skinned ? -1 : joint_above[range->node];
  if (!part->skinned && gltf->joint_count > 0) attach_rows(gltf, part);
}

// A node's morph weights, else its mesh's, else zeros. All primitives of a mesh have the same number of targets.
static void load_morph_weights(sn_gltf *gltf) {
  sn_reader *r = &gltf->reader;
  const json_t *nodes = json_object_get(gltf->json, "nodes");
  for (int k = 0; k < gltf->part_count && r->status == SN_OK; k++) {
    const gltf_part *part = &gltf->parts[k];
    gltf_node *node = &gltf->nodes[part->range.node];
    if (node->weights && node->weight_count != part->target_count)
      sn_fail_once(r, SN_BAD_FILE, "mesh %d: its primitives have %d and %d morph targets", node->mesh,
                   node->weight_count, part->target_count);
    if (node->weights) continue;
    node->weight_count = part->target_count;
    node->weights = SN_TAKE(r, &gltf->memory, double, part->target_count);
    gltf_object own = sn_gltf_object(r, json_array_get(nodes, (size_t)part->range.node), "node %d", part->range.node);
    gltf_object mesh = sn_gltf_object(r, mesh_json(gltf, node->mesh), "mesh %d", node->mesh);
    sn_gltf_numbers(&mesh, "weights", node->weight_count, node->weights);
    sn_gltf_numbers(&own, "weights", node->weight_count, node->weights);
  }
}

void sn_gltf_load_meshes(sn_gltf *gltf) {
  sn_reader *r = &gltf->reader;
  int influences = find_parts(gltf);
  if (gltf->joint_count > 0 && gltf->vertex_count > 0 &&
      sn_gltf_spend(gltf, (size_t)gltf->vertex_count * (size_t)influences, 6))
    r->status = sn_skin_new(r->ctx, gltf->vertex_count, influences, &gltf->skin);
  SN_SCRATCH(scratch, r->ctx);
  int *joint_above = SN_TAKE(r, &scratch, int, gltf->node_count);
  gltf->triangles = SN_ROOM(r, &gltf->memory, (size_t)gltf->triangle_count, sizeof *gltf->triangles);
  if (r->status == SN_OK) sn_gltf_joint_of_node(gltf, joint_above, NULL);
  if (r->status == SN_OK) sn_gltf_inherit_joints(gltf, joint_above);
  for (int k = 0; k < gltf->part_count && r->status == SN_OK; k++) load_part(gltf, &gltf->parts[k], joint_above);
  load_morph_weights(gltf);
  if (r->status == SN_OK) sn_skin_normalize(&gltf->skin);
}

// ---- public functions -----------------------------------------------------------------------------------------------------

sn_status sn_gltf_mesh(sn_context *ctx, const sn_gltf *gltf, sn_mesh *out) {
  *out = (sn_mesh){0};
  if (gltf->vertex_count == 0) return sn_fail(ctx, SN_BAD_INPUT, "%s: has no triangle meshes", gltf->name);
  SN_TRY(sn_mesh_new(ctx, gltf->vertex_count, gltf->triangle_count, out));
  memcpy(out->triangles, gltf->triangles, (size_t)gltf->triangle_count * sizeof *out->triangles);
  for (int k = 0; k < gltf->part_count; k++) {
    const gltf_part *part = &gltf->parts[k];
    for (int i = 0; i < part->range.vertex_count; i++) {
      sn_vec3 p = sn_affine_apply(part->place, sn_vec3_from(part->positions[i]));
      sn_vec3_store(p, out->positions[part->range.first_vertex + i]);
    }
  }
  if (sn_mesh_check(ctx, out) == SN_OK) return SN_OK; // node transforms can overflow a float
  sn_mesh_free(out);
  return sn_fail_prefix(ctx, "%s: ", gltf->name);
}

// Normals or (`width` 4) tangents of a part, in the flattened mesh's axes; false if it has none, or tangents without normals.
static bool part_directions(gltf_object *o, const sn_gltf *gltf, const gltf_part *part, int width, float *out) {
  if (sn_gltf_attribute(o, gltf, "NORMAL") < 0) return false;
  if (!sn_gltf_part_floats(o, gltf, part, width == 4 ? "TANGENT" : "NORMAL", width, out)) return false;
  sn_mat3 map = sn_affine_linear(part->place), inverse;
  bool mirrored = sn_mat3_determinant(map) < 0;
  if (width == 3 && sn_mat3_invert(map, &inverse)) map = sn_mat3_transpose(inverse);
  for (int i = 0; i < part->range.vertex_count; i++, out += width) {
    sn_vec3_store(sn_vec3_normalize(sn_mat3_apply(map, sn_vec3_from(out)), sn_vec3_make(0, 0, 0)), out);
    if (width == 4) out[3] = (out[3] < 0) != mirrored ? -1.0f : 1.0f;
  }
  return true;
}

// Normals exist if all parts have them, tangents if any part has them.
static sn_status directions(sn_context *ctx, const sn_gltf *gltf, sn_arena *memory, int width, void **out) {
  int found = 0;
  sn_reader r = {ctx, SN_OK};
  float *all = SN_TAKE(&r, memory, float, (size_t)gltf->vertex_count *(size_t)width);
  for (int k = 0; k < gltf->part_count && r.status == SN_OK; k++) {
    const gltf_part *part = &gltf->parts[k];
    gltf_object o = sn_gltf_primitive(&r, gltf, &part->range);
    found += part_directions(&o, gltf, part, width, all + (size_t)part->range.first_vertex * (size_t)width);
  }
  *out = r.status == SN_OK && found > 0 && (width == 4 || found == gltf->part_count) ? all : NULL;
  return r.status;
}

sn_status sn_gltf_normals(sn_context *ctx, const sn_gltf *gltf, sn_arena *memory, float (**out)[3]) {
  return directions(ctx, gltf, memory, 3, (void **)out);
}

sn_status sn_gltf_tangents(sn_context *ctx, const sn_gltf *gltf, sn_arena *memory, float (**out)[4]) {
  return directions(ctx, gltf, memory, 4, (void **)out);
}

void sn_gltf_joint_of_node(const sn_gltf *gltf, int *out, int *next) {
  for (int k = 0; k < gltf->node_count; k++) out[k] = -1;
  for (int j = gltf->joint_count - 1; j >= 0; j--) {
    int *first = &out[gltf->joints[j].node];
    if (next) next[j] = *first;
    *first = j;
  }
}

// Parent of joint j: at the nearest ancestor node that is a joint, the joint of the same skin, else the first.
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
  sn_gltf_joint_of_node(gltf, joint_of_node, next);
  sn_gltf_inherit_joints(gltf, joint_of_node);
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

// Copies the skin with as many influences as its widest row uses.
static sn_status copy_skin(sn_context *ctx, const sn_skin *from, sn_skin *out) {
  int used = 1;
  for (int i = 0; i < from->vertex_count; i++) {
    int own = sn_skin_row_influences(from, i);
    if (own > used) used = own;
  }
  return sn_skin_copy_rows(ctx, from, NULL, from->vertex_count, used, out);
}

sn_status sn_gltf_skeleton(sn_context *ctx, const sn_gltf *gltf, sn_skeleton *skeleton, sn_skin *skin) {
  *skeleton = (sn_skeleton){0};
  if (skin) *skin = (sn_skin){0};
  if (gltf->joint_count == 0) return sn_fail(ctx, SN_BAD_INPUT, "%s: has no skin, so no skeleton", gltf->name);
  SN_TRY(sn_skeleton_new(ctx, gltf->joint_count, skeleton));
  sn_status status = fill_skeleton(ctx, gltf, skeleton);
  if (status == SN_OK && skin && gltf->skin.vertex_count > 0) status = copy_skin(ctx, &gltf->skin, skin);
  if (status != SN_OK) sn_skeleton_free(skeleton);
  return status;
}
