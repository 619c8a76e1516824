// SPDX-License-Identifier: MIT
// Writes a document back with a new skin: its meshes get new skin attributes, everything else stays.
#include "formats/common/adjust.h"
#include "formats/gltf/out.h"

#include <string.h>

// ---- attributes of a part -----------------------------------------------------------------------------------------

static bool same_positions(const gltf_part *part, const sn_mesh *mesh) {
  return memcmp(part->positions, mesh->positions + part->range.first_vertex,
                (size_t)part->range.vertex_count * sizeof *part->positions) == 0;
}

// Writes an accessor with its vectors (the first three numbers) transformed by `map`, as a new accessor.
static void transformed(gltf_builder *b, const sn_gltf *base, json_t *object, const char *key, sn_mat3 map,
                        bool unit) {
  sn_reader r = {b->ctx, b->status};
  gltf_object o = sn_gltf_object(&r, object, "attributes");
  int index = sn_gltf_index(&o, key, base->accessor_count, false);
  b->status = r.status;
  if (index < 0) return;
  const gltf_accessor *accessor = &base->accessors[index];
  size_t width = (size_t)accessor->width, count = (size_t)accessor->count;
  if (width < 3 || width > 4) b->status = sn_fail(b->ctx, SN_BAD_FILE, "%s: %s is no vector", base->name, key);
  SN_SCRATCH(scratch, b->ctx);
  float *values = SN_TAKE(b, &scratch, float, count *width);
  if (values) sn_gltf_floats(&r, base, index, false, values), b->status = r.status;
  for (size_t i = 0; i < count && b->status == SN_OK; i++) {
    sn_vec3 v = sn_mat3_apply(map, sn_vec3_from(values + i * width));
    sn_vec3_store(unit ? sn_vec3_normalize(v, sn_vec3_make(0, 0, 1)) : v, values + i * width);
  }
  if (b->status == SN_OK) sn_gltf_put_floats(b, object, key, values, (int)count, (int)width);
}

// Transforms positions, normals, tangents and morph targets into scene space: a skinned mesh ignores its node's transform, so that
// of the node or of the armature must be baked in.
static void bake_place(gltf_builder *b, const sn_gltf *base, const gltf_part *part, json_t *primitive) {
  sn_mat3 linear = sn_affine_linear(part->place), inverse;
  sn_mat3 normal = sn_mat3_invert(linear, &inverse) ? sn_mat3_transpose(inverse) : linear;
  json_t *attributes = json_object_get(primitive, "attributes"), *target;
  transformed(b, base, attributes, "NORMAL", normal, true);
  transformed(b, base, attributes, "TANGENT", linear, true);
  size_t k;
  json_array_foreach(json_object_get(primitive, "targets"), k, target) {
    transformed(b, base, target, "POSITION", linear, false);
    transformed(b, base, target, "NORMAL", normal, false);
    transformed(b, base, target, "TANGENT", linear, false);
  }
}

static void keep_part(gltf_builder *b, const sn_gltf_out *what, const gltf_part *part, json_t *primitive) {
  const sn_mesh *mesh = what->mesh;
  int first = part->range.first_vertex, count = part->range.vertex_count;
  json_t *attributes = json_object_get(primitive, "attributes");
  sn_gltf_remove_extension(primitive, "KHR_draco_mesh_compression"); // its copy of the data is outdated now
  if (!same_positions(part, mesh)) {
    sn_gltf_put_floats(b, attributes, "POSITION", mesh->positions + first, count, 3);
    if (!sn_affine_is_identity(&part->place)) bake_place(b, what->base, part, primitive);
  }
  if (what->posed) json_object_del(attributes, "TANGENT"), json_object_del(primitive, "targets");
  if (what->normals) sn_gltf_add_vectors(b, attributes, "NORMAL", what->normals + first, count);
  if (what->tangents && json_object_get(attributes, "NORMAL") && json_object_get(attributes, "TEXCOORD_0") &&
      !json_object_get(attributes, "TANGENT"))
    sn_gltf_put_floats(b, attributes, "TANGENT", what->tangents + first, count, 4);
  if (what->colors) sn_gltf_add_vectors(b, attributes, "COLOR_0", what->colors + first, count);
  sn_gltf_add_weights(b, attributes, what, first, count);
  if (what->morph_count > 0) sn_gltf_add_targets(b, primitive, what, first, count);
}

// Lines and points of a skinned mesh need skin attributes too: they follow the first joint.
static void attach_rest(gltf_builder *b, const sn_gltf *base, json_t *primitive) {
  json_t *attributes = json_object_get(primitive, "attributes");
  int64_t index = json_integer_value(json_object_get(attributes, "POSITION"));
  if (!json_object_get(attributes, "POSITION") || index < 0 || index >= base->accessor_count) return;
  int count = base->accessors[index].count;
  SN_SCRATCH(scratch, b->ctx);
  gltf_influences *rows = SN_TAKE(b, &scratch, gltf_influences, count);
  for (int i = 0; rows && i < count; i++) rows[i].weights[0] = 1;
  if (rows) sn_gltf_put_influences(b, attributes, rows, count, false);
}

// ---- meshes and nodes ------------------------------------------------------------------------------------------------

// Duplicates a mesh shown by two nodes: their vertices get different weights.
static void separate_mesh(gltf_builder *b, const sn_gltf *base, int node, bool *taken) {
  int mesh = base->nodes[node].mesh;
  if (taken[mesh]) {
    json_t *copy = json_deep_copy(json_array_get(json_object_get(base->json, "meshes"), (size_t)mesh));
    sn_gltf_set(b, sn_gltf_entry(b, "nodes", node), "mesh", json_integer(sn_gltf_append(b, "meshes", copy)));
  }
  taken[mesh] = true;
}

static json_t *mesh_of(const gltf_builder *b, int node) {
  return sn_gltf_entry(b, "meshes",
                       (int)json_integer_value(json_object_get(sn_gltf_entry(b, "nodes", node), "mesh")));
}

static void clean_node(gltf_builder *b, const sn_gltf_out *what, int node) {
  json_t *json = sn_gltf_entry(b, "nodes", node), *mesh = mesh_of(b, node);
  sn_gltf_set(b, json, "skin", json_integer(0));
  json_object_del(json, "weights");
  json_object_del(mesh, "weights");
  if (what->posed) json_object_del(json_object_get(mesh, "extras"), "targetNames");
  json_t *names = json_object_get(json_object_get(mesh, "extras"), "targetNames");
  for (int k = 0; json_is_array(names) && k < what->morph_count; k++) {
    char name[32];
    snprintf(name, sizeof name, "correction%d", k);
    sn_gltf_push(b, names, json_string(name));
  }
}

static void keep_node(gltf_builder *b, const sn_gltf_out *what, int node, bool *taken) {
  const sn_gltf *base = what->base;
  separate_mesh(b, base, node, taken);
  clean_node(b, what, node);
  size_t index;
  json_t *primitive;
  json_array_foreach(json_object_get(mesh_of(b, node), "primitives"), index, primitive) {
    int k = 0;
    while (k < base->part_count &&
           (base->parts[k].range.node != node || base->parts[k].range.primitive != (int)index)) {
      k++;
    }
    if (k < base->part_count) {
      keep_part(b, what, &base->parts[k], primitive);
    } else {
      attach_rest(b, base, primitive);
    }
  }
}

void sn_gltf_keep_meshes(gltf_builder *b, const sn_gltf_out *what, gltf_mesh_nodes *out) {
  const sn_gltf *base = what->base;
  json_object_del(b->root, "skins");
  for (int k = 0; k < base->node_count; k++) json_object_del(sn_gltf_entry(b, "nodes", k), "skin");
  *out = (gltf_mesh_nodes){0, SN_TAKE(b, &b->memory, int, base->part_count)};
  bool *taken = SN_TAKE(b, &b->memory, bool, base->mesh_count);
  for (int k = 0; k < base->part_count && b->status == SN_OK; k++) {
    int node = base->parts[k].range.node;
    if (k > 0 && base->parts[k - 1].range.node == node) continue;
    out->nodes[out->count++] = node;
    keep_node(b, what, node, taken);
  }
  sn_gltf_forget_extension(b->root, "KHR_draco_mesh_compression");
}

// ---- scenes -------------------------------------------------------------------------------------------------------------

static bool scene_shows(const sn_gltf *base, const json_t *scene, int node) {
  while (base->nodes[node].parent >= 0) node = base->nodes[node].parent;
  size_t k;
  json_t *root;
  json_array_foreach(json_object_get(scene, "nodes"), k, root) {
    if (json_integer_value(root) == node) return true;
  }
  return false;
}

void sn_gltf_join_scenes(gltf_builder *b, const sn_gltf *base, const gltf_mesh_nodes *meshes, int root) {
  size_t k;
  json_t *scene;
  json_array_foreach(json_object_get(b->root, "scenes"), k, scene) {
    bool shown = false;
    for (int n = 0; n < meshes->count && !shown; n++) shown = scene_shows(base, scene, meshes->nodes[n]);
    if (shown) sn_gltf_push(b, json_object_get(scene, "nodes"), json_integer(root));
  }
}

// ---- binary data --------------------------------------------------------------------------------------------------------

typedef struct live_set {
  int accessor_count, view_count;
  bool *accessors;
  bool *views, *mixed; // views with a used accessor; with an unused one
  bool *pinned;        // views that something else refers to
} live_set;

// Marks the indices that the numbers in `json` name.
static void mark(bool *set, int count, const json_t *json) {
  double index = json_is_number(json) ? json_number_value(json) : -1;
  const char *key;
  json_t *value;
  size_t k;
  if (index >= 0 && index < count) set[(int)index] = true;
  json_object_foreach((json_t *)json, key, value) mark(set, count, value);
  json_array_foreach(json, k, value) mark(set, count, value);
}

static bool is_one_of(const char *key, const char *const *keys) {
  while (*keys && strcmp(key, *keys) != 0) keys++;
  return *keys != NULL;
}

// Marks what the document refers to. Extensions may refer to anything: every object that one of their numbers could mean is kept.
static void mark_used(live_set *live, const json_t *json) {
  static const char *const unknown[] = {"extensions", "extras", NULL};
  static const char *const accessors[] = {"indices", "attributes", "targets", "inverseBindMatrices",
                                          "input",   "output",     NULL};
  const char *key;
  json_t *value;
  size_t k;
  json_object_foreach((json_t *)json, key, value) {
    bool any = is_one_of(key, unknown), accessor = any || is_one_of(key, accessors);
    if (accessor) mark(live->accessors, live->accessor_count, value);
    if (any || strcmp(key, "bufferView") == 0) mark(live->pinned, live->view_count, value);
    if (!accessor && strcmp(key, "accessors") != 0) mark_used(live, value);
  }
  json_array_foreach(json, k, value) mark_used(live, value);
}

// Marks the views of the base's accessors; those of sparse ones are kept whole.
static void mark_views(live_set *live, const sn_gltf *base) {
  size_t k;
  json_t *json;
  json_array_foreach(json_object_get(base->json, "accessors"), k, json) {
    const json_t *sparse = json_object_get(json, "sparse"), *view = json_object_get(json, "bufferView");
    mark(!live->accessors[k] ? live->mixed : sparse ? live->pinned : live->views, live->view_count, view);
    if (!live->accessors[k]) continue;
    const json_t *indices = json_object_get(sparse, "indices"), *values = json_object_get(sparse, "values");
    mark(live->pinned, live->view_count, json_object_get(indices, "bufferView"));
    mark(live->pinned, live->view_count, json_object_get(values, "bufferView"));
  }
  for (int v = 0; v < live->view_count; v++) {
    live->mixed[v] = live->mixed[v] && live->views[v] && !live->pinned[v];
    live->views[v] = live->views[v] || live->pinned[v];
  }
}

// An unreferenced accessor keeps its index, but shrinks to a single zero.
static void empty_accessor(gltf_builder *b, int index) {
  json_t *zero = json_pack("{s:i,s:i,s:s}", "componentType", GLTF_UBYTE, "count", 1, "type", "SCALAR");
  if (!zero || json_array_set_new(json_object_get(b->root, "accessors"), (size_t)index, zero) != 0)
    sn_gltf_out_of_memory(b);
}

static void place_view(gltf_builder *b, int index, size_t offset, size_t size) {
  json_t *view = sn_gltf_entry(b, "bufferViews", index);
  sn_gltf_set(b, view, "buffer", json_integer(0));
  sn_gltf_set(b, view, "byteOffset", json_integer((json_int_t)offset));
  sn_gltf_set(b, view, "byteLength", json_integer((json_int_t)size));
  sn_gltf_remove_extension(view, "EXT_meshopt_compression"); // a second copy, in a buffer that is gone
}

static void keep_views(gltf_builder *b, const sn_gltf *base, const bool *live) {
  for (int k = 0; k < base->view_count; k++) {
    const gltf_view *view = &base->views[k];
    if (!live[k]) json_object_clear(sn_gltf_entry(b, "bufferViews", k));
    size_t size = live[k] ? view->size : 1;
    place_view(b, k, sn_gltf_add_bytes(b, live[k] ? view->bytes : (const uint8_t *)"", size), size);
  }
}

// Copies an accessor's elements into a new view.
static void move_accessor(gltf_builder *b, const gltf_accessor *accessor, json_t *json, const json_t *old_view) {
  size_t size = (size_t)accessor->width * sn_gltf_component_size(accessor->component), step = (size + 3) / 4 * 4;
  size_t count = (size_t)accessor->count, stride = accessor->stride;
  int64_t target = json_integer_value(json_object_get(old_view, "target"));
  if (target == GLTF_INDICES || !json_object_get(old_view, "byteStride")) step = size;
  SN_SCRATCH(scratch, b->ctx);
  uint8_t *bytes = SN_TAKE(b, &scratch, uint8_t, count * step);
  for (size_t k = 0; bytes && k < count; k++) memcpy(bytes + k * step, accessor->bytes + k * stride, size);
  if (bytes) {
    int view = sn_gltf_add_view(b, bytes, count * step, (int)target);
    if (step != size) {
      sn_gltf_set(b, sn_gltf_entry(b, "bufferViews", view), "byteStride", json_integer((json_int_t)step));
    }
    sn_gltf_set(b, json, "bufferView", json_integer(view));
    json_object_del(json, "byteOffset");
  }
}

// Moves used accessors out of views that also hold unused ones.
static void split_views(gltf_builder *b, const sn_gltf *base, live_set *live) {
  const json_t *views = json_object_get(base->json, "bufferViews");
  for (int k = 0; k < base->accessor_count; k++) {
    json_t *json = sn_gltf_entry(b, "accessors", k), *index = json_object_get(json, "bufferView");
    size_t view = index ? (size_t)json_integer_value(index) : 0;
    if (index && live->accessors[k] && live->mixed[view])
      move_accessor(b, &base->accessors[k], json, json_array_get(views, view));
  }
  for (int v = 0; v < base->view_count; v++) live->views[v] = live->views[v] && !live->mixed[v];
}

// If views overlap, whole buffers are kept: copying view by view would multiply them.
static bool views_overlap(const sn_gltf *base, const bool *live) {
  size_t room = 0;
  for (int k = 0; k < base->buffer_count; k++) room += base->buffers[k].size;
  for (int k = 0; k < base->view_count; k++) {
    if (live[k] && base->views[k].size > room) return true;
    if (live[k]) room -= base->views[k].size;
  }
  return false;
}

static void keep_buffers(gltf_builder *b, const sn_gltf *base) {
  for (int k = 0; k < base->buffer_count; k++) {
    const gltf_buffer *buffer = &base->buffers[k];
    size_t start = sn_gltf_add_bytes(b, buffer->bytes, buffer->size);
    for (int v = 0; v < base->view_count; v++) {
      const gltf_view *view = &base->views[v];
      if (view->buffer == k) place_view(b, v, start + (size_t)(view->bytes - buffer->bytes), view->size);
    }
  }
}

static const char *image_type(const char *uri) {
  static const char *const types[][2] = {{".png", "image/png"},   {".jpg", "image/jpeg"},
                                         {".jpeg", "image/jpeg"}, {".webp", "image/webp"},
                                         {".ktx2", "image/ktx2"}, {".dds", "image/vnd-ms.dds"}};
  const char *dot = strrchr(uri, '.');
  for (size_t k = 0; dot && k < sizeof types / sizeof *types; k++) {
    if (strcasecmp(dot, types[k][0]) == 0) return types[k][1];
  }
  return NULL;
}

// Embeds an image stored next to the document; an unreadable one keeps its URI.
static void keep_image(gltf_builder *b, const sn_gltf *base, json_t *image) {
  const char *uri = json_string_value(json_object_get(image, "uri"));
  if (!uri || strncasecmp(uri, "data:", 5) == 0 || !image_type(uri)) return;
  sn_error before = b->ctx->error;
  SN_SCRATCH(scratch, b->ctx);
  gltf_buffer data;
  sn_status status = sn_gltf_uri(b->ctx, uri, base->folder, &scratch, &data);
  if (status == SN_NO_MEMORY) sn_gltf_out_of_memory(b);
  if (status == SN_OK && data.size > 0) {
    sn_gltf_set(b, image, "mimeType", json_string(image_type(uri)));
    sn_gltf_set(b, image, "bufferView", json_integer(sn_gltf_add_view(b, data.bytes, data.size, 0)));
    json_object_del(image, "uri");
  }
  if (status != SN_OK && status != SN_NO_MEMORY) b->ctx->error = before;
  sn_file_close(&data.file);
}

void sn_gltf_keep_data(gltf_builder *b, const sn_gltf *base) {
  live_set live = {.accessor_count = base->accessor_count,
                   .view_count = base->view_count,
                   .accessors = SN_TAKE(b, &b->memory, bool, base->accessor_count),
                   .views = SN_TAKE(b, &b->memory, bool, base->view_count),
                   .mixed = SN_TAKE(b, &b->memory, bool, base->view_count),
                   .pinned = SN_TAKE(b, &b->memory, bool, base->view_count)};
  if (b->status != SN_OK) return;
  mark_used(&live, b->root);
  mark_views(&live, base);
  for (int k = 0; k < base->accessor_count; k++) {
    if (!live.accessors[k]) empty_accessor(b, k);
  }
  if (views_overlap(base, live.views)) {
    keep_buffers(b, base);
  } else {
    split_views(b, base, &live);
    keep_views(b, base, live.views);
  }
  sn_gltf_forget_extension(b->root, "EXT_meshopt_compression");
  size_t k;
  json_t *image;
  json_array_foreach(json_object_get(b->root, "images"), k, image) keep_image(b, base, image);
}
