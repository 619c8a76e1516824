// SPDX-License-Identifier: MIT
// Nodes, scenes and skins.
#include "formats/gltf/gltf.h"

#include <string.h>

// ---- nodes -----------------------------------------------------------------------------------------------------

// glTF matrices are column-major 4x4; the last row must be 0 0 0 1.
static bool affine_from_columns(const double *m, sn_affine *out) {
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) out->m[r][c] = m[c * 4 + r];
  double size = 0;
  for (int k = 0; k < 16; k++) size = fmax(size, fabs(m[k]));
  double slack = 1e-5 * fmax(size, 1);
  return fabs(m[3]) <= slack && fabs(m[7]) <= slack && fabs(m[11]) <= slack && fabs(m[15] - 1) <= 1e-5;
}

static void load_transform(gltf_object *o, gltf_node *node) {
  double matrix[16], t[3] = {0, 0, 0}, r[4] = {0, 0, 0, 1}, s[3] = {1, 1, 1};
  node->has_matrix = json_object_get(o->json, "matrix") != NULL;
  node->matrix = sn_affine_identity();
  if (node->has_matrix) {
    sn_gltf_numbers(o, "matrix", 16, matrix);
    if (o->status == SN_OK && !affine_from_columns(matrix, &node->matrix))
      o->status = sn_fail(o->ctx, SN_BAD_FILE, "%s: the last row of its matrix is not 0 0 0 1", o->place);
  }
  sn_gltf_numbers(o, "translation", 3, t);
  sn_gltf_numbers(o, "rotation", 4, r);
  sn_gltf_numbers(o, "scale", 3, s);
  node->translation = sn_vec3_make(t[0], t[1], t[2]);
  node->rotation = sn_quat_normalize((sn_quat){r[0], r[1], r[2], r[3]});
  node->scale = sn_vec3_make(s[0], s[1], s[2]);
}

static sn_status load_node(sn_context *ctx, sn_gltf *gltf, int index, const json_t *json) {
  gltf_node *node = &gltf->nodes[index];
  gltf_object o = sn_gltf_object(ctx, json, "node %d", index);
  node->name = json_string_value(json_object_get(json, "name"));
  node->mesh = sn_gltf_index(&o, "mesh", gltf->mesh_count, false);
  node->skin = sn_gltf_index(&o, "skin", gltf->skin_count, false);
  load_transform(&o, node);
  return o.status;
}

static sn_status read_parents(sn_context *ctx, const json_t *nodes, int node_count, int *parents) {
  sn_arena scratch = sn_arena_new(ctx);
  sn_status status = SN_OK;
  for (int k = 0; k < node_count; k++) parents[k] = -1;
  for (int k = 0; k < node_count && status == SN_OK; k++) {
    gltf_object o = sn_gltf_object(ctx, json_array_get(nodes, (size_t)k), "node %d", k);
    int *children, count = sn_gltf_indices(&o, "children", node_count, &scratch, &children);
    status = o.status;
    for (int c = 0; c < count && status == SN_OK; c++) {
      int child = children[c];
      if (parents[child] >= 0) {
        status = sn_fail(ctx, SN_BAD_FILE, "node %d: has two parents, nodes %d and %d", child, parents[child], k);
      }
      parents[child] = k;
    }
    sn_arena_free(&scratch);
  }
  return status;
}

// With one parent each, nodes that no root leads to are in a cycle.
static sn_status sort_nodes(sn_context *ctx, sn_gltf *gltf, const int *parents) {
  enum { most_levels = 10000 };
  sn_arena scratch = sn_arena_new(ctx);
  int n = gltf->node_count, sorted = 0, level_end = 0, levels = 0;
  int *first_child = SN_NEW(ctx, &scratch, int, n), *next = SN_NEW(ctx, &scratch, int, n);
  gltf->order = SN_NEW(ctx, &gltf->memory, int, n);
  sn_status status = first_child && next && gltf->order ? SN_OK : ctx->error.status;
  for (int k = 0; k < n && status == SN_OK; k++) first_child[k] = -1;
  for (int k = n - 1; k >= 0 && status == SN_OK; k--) {
    int parent = parents[k];
    if (parent >= 0) next[k] = first_child[parent], first_child[parent] = k;
  }
  for (int k = 0; k < n && status == SN_OK; k++) {
    if (parents[k] < 0) gltf->order[sorted++] = k;
  }
  for (int at = 0; at < sorted && status == SN_OK; at++) {
    if (at == level_end) level_end = sorted, levels++;
    if (levels > most_levels) {
      status = sn_fail(ctx, SN_BAD_FILE, "node %d: lies more than %d nodes deep; its file is damaged or made to harm",
                       gltf->order[at], most_levels);
    }
    for (int c = first_child[gltf->order[at]]; c >= 0; c = next[c]) gltf->order[sorted++] = c;
  }
  if (status == SN_OK && sorted < n) {
    bool *reached = SN_NEW(ctx, &scratch, bool, n);
    for (int at = 0; reached && at < sorted; at++) reached[gltf->order[at]] = true;
    int lost = 0;
    while (reached && reached[lost]) lost++;
    status = reached ? sn_fail(ctx, SN_BAD_FILE, "node %d: is among its own descendants", lost) : ctx->error.status;
  }
  sn_arena_free(&scratch);
  return status;
}

// The default scene's nodes; all of them where the document names no default.
static sn_status choose_scene(sn_context *ctx, sn_gltf *gltf) {
  json_t *scenes;
  int count;
  sn_status status = sn_gltf_objects(ctx, gltf->json, "scenes", &scenes, &count);
  if (status != SN_OK) return status;
  gltf_object document = sn_gltf_object(ctx, gltf->json, "document");
  int scene = sn_gltf_index(&document, "scene", count, false);
  if (document.status != SN_OK) return document.status;
  sn_arena scratch = sn_arena_new(ctx);
  gltf_object o = sn_gltf_object(ctx, scene < 0 ? NULL : json_array_get(scenes, (size_t)scene), "scene %d", scene);
  int *roots, root_count = sn_gltf_indices(&o, "nodes", gltf->node_count, &scratch, &roots);
  for (int k = 0; k < gltf->node_count; k++) gltf->nodes[k].in_scene = scene < 0;
  for (int k = 0; k < root_count; k++) gltf->nodes[roots[k]].in_scene = true;
  for (int k = 0; k < gltf->node_count; k++) {
    gltf_node *node = &gltf->nodes[gltf->order[k]];
    if (node->parent >= 0 && gltf->nodes[node->parent].in_scene) node->in_scene = true;
  }
  sn_arena_free(&scratch);
  return o.status;
}

sn_status sn_gltf_load_nodes(sn_context *ctx, sn_gltf *gltf) {
  json_t *nodes, *meshes, *skins;
  sn_status status = sn_gltf_objects(ctx, gltf->json, "nodes", &nodes, &gltf->node_count);
  if (status == SN_OK) status = sn_gltf_objects(ctx, gltf->json, "meshes", &meshes, &gltf->mesh_count);
  if (status == SN_OK) status = sn_gltf_objects(ctx, gltf->json, "skins", &skins, &gltf->skin_count);
  if (status != SN_OK) return status;
  // The tree before all else: one that is made to harm costs no more than its JSON.
  int *parents = SN_NEW(ctx, &gltf->memory, int, gltf->node_count);
  if (!parents) return ctx->error.status;
  status = read_parents(ctx, nodes, gltf->node_count, parents);
  if (status == SN_OK) status = sort_nodes(ctx, gltf, parents);
  if (status != SN_OK) return status;
  gltf->nodes = SN_NEW(ctx, &gltf->memory, gltf_node, gltf->node_count);
  if (!gltf->nodes) return ctx->error.status;
  for (int k = 0; k < gltf->node_count && status == SN_OK; k++) {
    status = load_node(ctx, gltf, k, json_array_get(nodes, (size_t)k));
    gltf->nodes[k].parent = parents[k];
  }
  if (status == SN_OK) status = choose_scene(ctx, gltf);
  return status;
}

sn_affine sn_gltf_node_local(const gltf_node *node) {
  return node->has_matrix ? node->matrix : sn_affine_from_trs(node->translation, node->rotation, node->scale);
}

void sn_gltf_globals(const sn_gltf *gltf, const gltf_node *nodes, sn_affine *globals) {
  for (int at = 0; at < gltf->node_count; at++) {
    int k = gltf->order[at], parent = nodes[k].parent;
    sn_affine local = sn_gltf_node_local(&nodes[k]);
    globals[k] = parent < 0 ? local : sn_affine_mul(globals[parent], local);
  }
}

// ---- skins -----------------------------------------------------------------------------------------------------------

static bool same_bind(const sn_affine *a, const sn_affine *b) {
  double size = 1, difference = 0;
  for (int k = 0; k < 12; k++) {
    double x = a->m[k / 4][k % 4], y = b->m[k / 4][k % 4];
    size = fmax(size, fmax(fabs(x), fabs(y))), difference = fmax(difference, fabs(x - y));
  }
  return difference <= 1e-6 * size;
}

static sn_status inverse_binds(sn_gltf *gltf, gltf_object *o, int count, sn_arena *scratch, sn_affine *out) {
  sn_context *ctx = o->ctx;
  for (int k = 0; k < count; k++) out[k] = sn_affine_identity();
  int index = sn_gltf_index(o, "inverseBindMatrices", gltf->accessor_count, false);
  if (index < 0) return o->status;
  const gltf_accessor *accessor = &gltf->accessors[index];
  if (accessor->width != 16 || accessor->component != GLTF_FLOAT || accessor->count < count) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: accessor %d is not %d float matrices (MAT4)", o->place, index, count);
  }
  sn_status status = sn_gltf_spend(ctx, gltf, (size_t)accessor->count, 64);
  float *values = status == SN_OK ? SN_NEW(ctx, scratch, float, (size_t)accessor->count * 16) : NULL;
  if (!values) return ctx->error.status;
  status = sn_gltf_floats(ctx, gltf, index, false, values);
  for (int k = 0; k < count && status == SN_OK; k++) {
    double m[16];
    for (int e = 0; e < 16; e++) m[e] = values[k * 16 + e];
    if (!affine_from_columns(m, &out[k])) {
      status = sn_fail(ctx, SN_BAD_FILE, "%s: inverse bind matrix %d does not end in the row 0 0 0 1", o->place, k);
    }
  }
  return status;
}

// The joints found so far, by node.
typedef struct joint_table {
  int *first, *next; // of a node; of a joint
  int *skin, room;   // the last skin that named a node; joints that may still be added
} joint_table;

static int joint_for(const sn_gltf *gltf, const joint_table *table, int node, const sn_affine *inverse_bind) {
  for (int j = table->first[node]; j >= 0; j = table->next[j]) {
    if (same_bind(&gltf->joints[j].inverse_bind, inverse_bind)) return j;
  }
  return -1;
}

static const char *joint_name(sn_context *ctx, sn_gltf *gltf, int joint, int node, bool again, int skin) {
  char text[256];
  const char *name = gltf->nodes[node].name;
  if (name && *name && !again) return name;
  snprintf(text, sizeof text, "joint%d", joint);
  if (again) snprintf(text, sizeof text, "%.200s (skin %d)", name ? name : "joint", skin);
  return sn_arena_text(ctx, &gltf->memory, text);
}

// The joint that `node` is in this skin; -1 where it cannot be.
static int add_joint(sn_context *ctx, sn_gltf *gltf, int skin, int node, const sn_affine *bind, joint_table *table) {
  bool twice = table->skin[node] == skin;
  int joint = joint_for(gltf, table, node, bind);
  if (twice) sn_fail(ctx, SN_BAD_FILE, "skin %d: names node %d twice", skin, node);
  table->skin[node] = skin;
  if (twice || joint >= 0) return twice ? -1 : joint;
  if (gltf->joint_count == table->room) {
    sn_fail(ctx, SN_UNSUPPORTED, "skin %d: has more joints than Sinew can tell apart (65535)", skin);
    return -1;
  }
  joint = gltf->joint_count++;
  const char *name = joint_name(ctx, gltf, joint, node, table->first[node] >= 0, skin);
  gltf->joints[joint] = (gltf_joint){node, skin, name, *bind};
  table->next[joint] = table->first[node], table->first[node] = joint;
  return name ? joint : -1;
}

// Adds a skin's joints to the document's list, behind those of the skins before it.
static sn_status load_skin(sn_context *ctx, sn_gltf *gltf, int index, const json_t *json, joint_table *table) {
  gltf_skin *skin = &gltf->skins[index];
  gltf_object o = sn_gltf_object(ctx, json, "skin %d", index);
  sn_arena scratch = sn_arena_new(ctx);
  int *nodes, count = sn_gltf_indices(&o, "joints", gltf->node_count, &scratch, &nodes);
  sn_status status = o.status;
  if (status == SN_OK && count == 0) status = sn_fail(ctx, SN_BAD_FILE, "%s: has no joints", o.place);
  sn_affine *binds = status == SN_OK ? SN_NEW(ctx, &scratch, sn_affine, count) : NULL;
  if (binds) status = inverse_binds(gltf, &o, count, &scratch, binds);
  if (binds && status == SN_OK) skin->joints = SN_NEW(ctx, &gltf->memory, int, count);
  if (status == SN_OK && (!binds || !skin->joints)) status = ctx->error.status;
  for (int k = 0; k < count && status == SN_OK; k++) {
    skin->joints[k] = add_joint(ctx, gltf, index, nodes[k], &binds[k], table);
    if (skin->joints[k] < 0) status = ctx->error.status;
  }
  skin->joint_count = status == SN_OK ? count : 0;
  sn_arena_free(&scratch);
  return status;
}

static size_t count_joints(const sn_gltf *gltf, const json_t *skins, const bool *used) {
  size_t total = 0;
  for (int s = 0; s < gltf->skin_count; s++) {
    if (used[s]) total += json_array_size(json_object_get(json_array_get(skins, (size_t)s), "joints"));
  }
  return total < 65535 ? total : 65535;
}

// The skins of the scene's mesh nodes; a document that only carries a skeleton gets its first skin.
static void find_used_skins(const sn_gltf *gltf, bool *used) {
  bool any = false;
  for (int k = 0; k < gltf->node_count; k++) {
    const gltf_node *node = &gltf->nodes[k];
    if (node->in_scene && node->mesh >= 0 && node->skin >= 0) used[node->skin] = any = true;
  }
  if (!any && gltf->skin_count > 0) used[0] = true;
}

sn_status sn_gltf_load_skins(sn_context *ctx, sn_gltf *gltf) {
  const json_t *skins = json_object_get(gltf->json, "skins");
  sn_arena scratch = sn_arena_new(ctx);
  bool *used = SN_NEW(ctx, &scratch, bool, gltf->skin_count);
  sn_status status = SN_OK;
  if (used) find_used_skins(gltf, used);
  size_t total = used ? count_joints(gltf, skins, used) : 0;
  joint_table table = {.first = SN_NEW(ctx, &scratch, int, gltf->node_count),
                       .next = SN_NEW(ctx, &scratch, int, total),
                       .skin = SN_NEW(ctx, &scratch, int, gltf->node_count),
                       .room = (int)total};
  gltf->skins = SN_NEW(ctx, &gltf->memory, gltf_skin, gltf->skin_count);
  gltf->joints = SN_NEW(ctx, &gltf->memory, gltf_joint, total);
  if (!used || !table.first || !table.next || !table.skin || !gltf->skins || !gltf->joints) {
    status = ctx->error.status;
  }
  for (int k = 0; k < gltf->node_count && status == SN_OK; k++) table.first[k] = table.skin[k] = -1;
  for (int s = 0; s < gltf->skin_count && status == SN_OK; s++) {
    if (used[s]) status = load_skin(ctx, gltf, s, json_array_get(skins, (size_t)s), &table);
  }
  sn_arena_free(&scratch);
  return status;
}
