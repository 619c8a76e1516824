// SPDX-License-Identifier: MIT
// Nodes, scenes and skins.
#include "formats/gltf/gltf.h"

// ---- nodes -----------------------------------------------------------------------------------------------------

// glTF matrices are column-major 4x4; the last row must be 0 0 0 1.
static bool affine_from_columns(const double *m, sn_affine *out) {
  double size = 0;
  *out = sn_affine_from_columns(m);
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
    if (o->r->status == SN_OK && !affine_from_columns(matrix, &node->matrix))
      gltf_object_fail(o, SN_BAD_FILE, "the last row of its matrix is not 0 0 0 1");
  }
  sn_gltf_numbers(o, "translation", 3, t);
  sn_gltf_numbers(o, "rotation", 4, r);
  sn_gltf_numbers(o, "scale", 3, s);
  node->translation = sn_vec3_make(t[0], t[1], t[2]);
  node->rotation = sn_quat_normalize((sn_quat){r[0], r[1], r[2], r[3]});
  node->scale = sn_vec3_make(s[0], s[1], s[2]);
}

static void load_node(sn_gltf *gltf, int index, const json_t *json) {
  gltf_node *node = &gltf->nodes[index];
  gltf_object o = sn_gltf_object(&gltf->reader, json, "node %d", index);
  node->name = json_string_value(json_object_get(json, "name"));
  node->mesh = sn_gltf_index(&o, "mesh", gltf->mesh_count, false);
  node->skin = sn_gltf_index(&o, "skin", gltf->skin_count, false);
  load_transform(&o, node);
}

static void read_parents(sn_gltf *gltf, const json_t *nodes, int *parents) {
  sn_reader *r = &gltf->reader;
  for (int k = 0; k < gltf->node_count && parents; k++) parents[k] = -1;
  for (int k = 0; k < gltf->node_count && r->status == SN_OK; k++) {
    SN_SCRATCH(scratch, r->ctx);
    gltf_object o = sn_gltf_object(r, json_array_get(nodes, (size_t)k), "node %d", k);
    int *children, count = sn_gltf_indices(&o, "children", gltf->node_count, &scratch, &children);
    for (int c = 0; c < count; c++) {
      int *parent = &parents[children[c]];
      if (*parent >= 0)
        sn_fail_once(r, SN_BAD_FILE, "node %d: has two parents, nodes %d and %d", children[c], *parent, k);
      *parent = k;
    }
  }
}

// Topological order, parents first: sorts each node after its unsorted ancestors.
static void sort_nodes(sn_gltf *gltf, const int *parents) {
  enum { most_levels = 10000 };
  sn_reader *r = &gltf->reader;
  SN_SCRATCH(scratch, r->ctx);
  int n = gltf->node_count, sorted = 0, *path = SN_TAKE(r, &scratch, int, n);
  int *level = SN_TAKE(r, &scratch, int, n); // from 1; 0: not sorted yet
  gltf->order = SN_TAKE(r, &gltf->memory, int, n);
  for (int k = 0; k < n && r->status == SN_OK; k++) {
    int length = 0, node = k;
    for (; node >= 0 && level[node] == 0 && length < n; node = parents[node]) path[length++] = node;
    int above = node < 0 ? 0 : level[node];
    if (node >= 0 && above == 0) sn_fail_once(r, SN_BAD_FILE, "node %d: is among its own descendants", k);
    if (above + length > most_levels)
      sn_fail_once(r, SN_BAD_FILE, "node %d: lies more than %d nodes deep; its file is damaged or made to harm",
                   path[above + length - most_levels - 1], most_levels);
    while (length > 0 && r->status == SN_OK) level[path[--length]] = ++above, gltf->order[sorted++] = path[length];
  }
}

// KHR_node_visibility: whether this node and its descendants are hidden.
static bool is_hidden(const json_t *node) {
  return json_is_false(json_object_get(sn_gltf_extension(node, "KHR_node_visibility"), "visible"));
}

// Marks the visible nodes of the default scene; of the whole document if it names no default.
static void choose_scene(sn_gltf *gltf) {
  sn_reader *r = &gltf->reader;
  json_t *scenes;
  int count = sn_gltf_objects(r, gltf->json, "scenes", &scenes);
  gltf_object document = sn_gltf_object(r, gltf->json, "document");
  int scene = sn_gltf_index(&document, "scene", count, false);
  SN_SCRATCH(scratch, r->ctx);
  gltf_object o = sn_gltf_object(r, scene < 0 ? NULL : json_array_get(scenes, (size_t)scene), "scene %d", scene);
  int *roots, root_count = sn_gltf_indices(&o, "nodes", gltf->node_count, &scratch, &roots);
  const json_t *nodes = json_object_get(gltf->json, "nodes");
  for (int k = 0; k < gltf->node_count && r->status == SN_OK; k++)
    gltf->nodes[k].in_scene = scene < 0 && gltf->nodes[k].parent < 0;
  for (int k = 0; k < root_count; k++) gltf->nodes[roots[k]].in_scene = true;
  for (int k = 0; k < gltf->node_count && r->status == SN_OK; k++) {
    gltf_node *node = &gltf->nodes[gltf->order[k]];
    if (node->parent >= 0 && gltf->nodes[node->parent].in_scene) node->in_scene = true;
    if (is_hidden(json_array_get(nodes, (size_t)gltf->order[k]))) node->in_scene = false;
  }
}

void sn_gltf_load_nodes(sn_gltf *gltf) {
  sn_reader *r = &gltf->reader;
  json_t *nodes, *meshes, *skins;
  gltf->node_count = sn_gltf_objects(r, gltf->json, "nodes", &nodes);
  gltf->mesh_count = sn_gltf_objects(r, gltf->json, "meshes", &meshes);
  gltf->skin_count = sn_gltf_objects(r, gltf->json, "skins", &skins);
  // The tree is checked first: a malicious one then costs no more memory than its JSON.
  int *parents = SN_TAKE(r, &gltf->memory, int, gltf->node_count);
  read_parents(gltf, nodes, parents);
  sort_nodes(gltf, parents);
  gltf->nodes = SN_TAKE(r, &gltf->memory, gltf_node, gltf->node_count);
  for (int k = 0; k < gltf->node_count && r->status == SN_OK; k++) {
    load_node(gltf, k, json_array_get(nodes, (size_t)k));
    gltf->nodes[k].parent = parents[k];
  }
  choose_scene(gltf);
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

static void inverse_binds(sn_gltf *gltf, gltf_object *o, int count, sn_arena *scratch, sn_affine *out) {
  for (int k = 0; k < count; k++) out[k] = sn_affine_identity();
  int index = sn_gltf_index(o, "inverseBindMatrices", gltf->accessor_count, false);
  if (index < 0) return;
  const gltf_accessor *accessor = &gltf->accessors[index];
  if (accessor->width != 16 || accessor->component != GLTF_FLOAT || accessor->count < count)
    gltf_object_fail(o, SN_BAD_FILE, "accessor %d is not %d float matrices (MAT4)", index, count);
  sn_gltf_spend(gltf, (size_t)accessor->count, 64);
  float *values = SN_TAKE(o->r, scratch, float, (size_t)accessor->count * 16);
  sn_gltf_floats(o->r, gltf, index, false, values);
  for (int k = 0; k < count && o->r->status == SN_OK; k++) {
    double m[16];
    for (int e = 0; e < 16; e++) m[e] = values[k * 16 + e];
    if (!affine_from_columns(m, &out[k]))
      gltf_object_fail(o, SN_BAD_FILE, "inverse bind matrix %d does not end in the row 0 0 0 1", k);
  }
}

// The joints found so far, by node.
typedef struct joint_table {
  int *first, *next; // first joint of a node; next joint of the same node
  int *skin, room;   // last skin that named a node; joints that may still be added
} joint_table;

static int joint_for(const sn_gltf *gltf, const joint_table *table, int node, const sn_affine *inverse_bind) {
  for (int j = table->first[node]; j >= 0; j = table->next[j]) {
    if (same_bind(&gltf->joints[j].inverse_bind, inverse_bind)) return j;
  }
  return -1;
}

static const char *joint_name(sn_gltf *gltf, int joint, int node, bool again, int skin) {
  char text[256];
  const char *name = gltf->nodes[node].name;
  if (name && *name && !again) return name;
  snprintf(text, sizeof text, "joint%d", joint);
  if (again) snprintf(text, sizeof text, "%.200s (skin %d)", name ? name : "joint", skin);
  name = sn_arena_text(gltf->reader.ctx, &gltf->memory, text);
  if (!name) gltf->reader.status = gltf->reader.ctx->error.status;
  return name;
}

// Index of the joint that `node` is in this skin.
static int add_joint(sn_gltf *gltf, int skin, int node, const sn_affine *bind, joint_table *table) {
  sn_reader *r = &gltf->reader;
  int joint = joint_for(gltf, table, node, bind);
  if (table->skin[node] == skin) sn_fail_once(r, SN_BAD_FILE, "skin %d: names node %d twice", skin, node);
  table->skin[node] = skin;
  if (joint >= 0 || r->status != SN_OK) return joint;
  if (gltf->joint_count == table->room) {
    sn_fail_once(r, SN_UNSUPPORTED, "skin %d: has more joints than Sinew can tell apart (65535)", skin);
    return -1;
  }
  joint = gltf->joint_count++;
  gltf->joints[joint] = (gltf_joint){node, skin, joint_name(gltf, joint, node, table->first[node] >= 0, skin), *bind};
  table->next[joint] = table->first[node], table->first[node] = joint;
  return joint;
}

// Appends a skin's joints to the document's list.
static void load_skin(sn_gltf *gltf, int index, const json_t *json, joint_table *table) {
  gltf_skin *skin = &gltf->skins[index];
  gltf_object o = sn_gltf_object(&gltf->reader, json, "skin %d", index);
  SN_SCRATCH(scratch, o.r->ctx);
  int *nodes, count = sn_gltf_indices(&o, "joints", gltf->node_count, &scratch, &nodes);
  if (count == 0) gltf_object_fail(&o, SN_BAD_FILE, "has no joints");
  sn_affine *binds = SN_TAKE(o.r, &scratch, sn_affine, count);
  if (binds) inverse_binds(gltf, &o, count, &scratch, binds);
  skin->joints = SN_TAKE(o.r, &gltf->memory, int, count);
  for (int k = 0; k < count && o.r->status == SN_OK; k++)
    skin->joints[k] = add_joint(gltf, index, nodes[k], &binds[k], table);
  skin->joint_count = o.r->status == SN_OK ? count : 0;
}

static size_t count_joints(const sn_gltf *gltf, const json_t *skins, const bool *used) {
  size_t total = 0;
  for (int s = 0; s < gltf->skin_count; s++)
    if (used[s]) total += json_array_size(json_object_get(json_array_get(skins, (size_t)s), "joints"));
  return total < 65535 ? total : 65535;
}

// The skins of the scene's mesh nodes; the first skin if the document has only a skeleton.
static void find_used_skins(const sn_gltf *gltf, bool *used) {
  bool any = false;
  for (int k = 0; k < gltf->node_count; k++) {
    const gltf_node *node = &gltf->nodes[k];
    if (node->in_scene && node->mesh >= 0 && node->skin >= 0) used[node->skin] = any = true;
  }
  if (!any && gltf->skin_count > 0) used[0] = true;
}

void sn_gltf_load_skins(sn_gltf *gltf) {
  sn_reader *r = &gltf->reader;
  const json_t *skins = json_object_get(gltf->json, "skins");
  SN_SCRATCH(scratch, r->ctx);
  bool *used = SN_TAKE(r, &scratch, bool, gltf->skin_count);
  if (used) find_used_skins(gltf, used);
  size_t total = used ? count_joints(gltf, skins, used) : 0;
  joint_table table = {.first = SN_TAKE(r, &scratch, int, gltf->node_count),
                       .next = SN_TAKE(r, &scratch, int, total),
                       .skin = SN_TAKE(r, &scratch, int, gltf->node_count),
                       .room = (int)total};
  gltf->skins = SN_TAKE(r, &gltf->memory, gltf_skin, gltf->skin_count);
  gltf->joints = SN_TAKE(r, &gltf->memory, gltf_joint, total);
  for (int k = 0; k < gltf->node_count && r->status == SN_OK; k++) table.first[k] = table.skin[k] = -1;
  for (int s = 0; s < gltf->skin_count && r->status == SN_OK; s++)
    if (used[s]) load_skin(gltf, s, json_array_get(skins, (size_t)s), &table);
}
