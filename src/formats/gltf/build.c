// SPDX-License-Identifier: MIT
// Builds and writes a glTF document.
#include "formats/gltf/out.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

gltf_builder sn_gltf_builder(sn_context *ctx, json_t *root) {
  gltf_builder b = {.ctx = ctx, .root = root, .memory = sn_arena_new(ctx)};
  if (!root) sn_gltf_out_of_memory(&b);
  return b;
}

void sn_gltf_builder_free(gltf_builder *b) {
  json_decref(b->root);
  sn_arena_free(&b->data.memory);
  sn_arena_free(&b->memory);
}

void sn_gltf_out_of_memory(gltf_builder *b) {
  if (b->status == SN_OK) b->status = sn_fail(b->ctx, SN_NO_MEMORY, "out of memory while building a glTF document");
}

// ---- JSON ------------------------------------------------------------------------------------------------------

void sn_gltf_set(gltf_builder *b, json_t *object, const char *key, json_t *value) {
  if (json_object_set_new(object, key, value) != 0) sn_gltf_out_of_memory(b);
}

void sn_gltf_set_text(gltf_builder *b, json_t *object, const char *key, const char *text, const char *fallback) {
  json_t *value = json_string(text); // NULL if it is not UTF-8
  sn_gltf_set(b, object, key, value ? value : json_string(fallback));
}

json_t *sn_gltf_child(gltf_builder *b, json_t *object, const char *key) {
  if (!json_object_get(object, key)) sn_gltf_set(b, object, key, json_object());
  return json_object_get(object, key);
}

json_t *sn_gltf_list(gltf_builder *b, json_t *object, const char *key) {
  if (!json_object_get(object, key)) sn_gltf_set(b, object, key, json_array());
  return json_object_get(object, key);
}

void sn_gltf_push(gltf_builder *b, json_t *array, json_t *value) {
  if (json_array_append_new(array, value) != 0) sn_gltf_out_of_memory(b);
}

int sn_gltf_append(gltf_builder *b, const char *key, json_t *value) {
  json_t *array = sn_gltf_list(b, b->root, key);
  sn_gltf_push(b, array, value);
  return (int)json_array_size(array) - 1;
}

json_t *sn_gltf_reals(gltf_builder *b, const double *values, int count) {
  json_t *array = json_array();
  for (int k = 0; k < count; k++) sn_gltf_push(b, array, json_real(values[k]));
  return array;
}

json_t *sn_gltf_entry(const gltf_builder *b, const char *key, int index) {
  return json_array_get(json_object_get(b->root, key), (size_t)index);
}

void sn_gltf_attach(gltf_builder *b, int node, int parent) {
  json_t *above = parent >= 0 ? sn_gltf_entry(b, "nodes", parent) : sn_gltf_entry(b, "scenes", 0);
  sn_gltf_push(b, sn_gltf_list(b, above, parent >= 0 ? "children" : "nodes"), json_integer(node));
}

int sn_gltf_add_material(gltf_builder *b, json_t *name, const double colour[3]) {
  double rgba[4] = {[3] = 1};
  for (int k = 0; k < 3; k++) rgba[k] = fmin(fmax(colour[k], 0), 1);
  json_t *material = json_object(), *look = sn_gltf_child(b, material, "pbrMetallicRoughness");
  sn_gltf_set(b, material, "name", name);
  sn_gltf_set(b, look, "baseColorFactor", sn_gltf_reals(b, rgba, 4));
  sn_gltf_set(b, look, "metallicFactor", json_integer(0));
  return sn_gltf_append(b, "materials", material);
}

void sn_gltf_append_clip(gltf_builder *b, json_t *clip) {
  if (json_array_size(json_object_get(clip, "channels")) > 0) sn_gltf_append(b, "animations", json_incref(clip));
  json_decref(clip);
}

static void set_part(gltf_builder *b, json_t *node, const char *key, const double *values, const double *usual,
                     int count) {
  bool needed = false;
  for (int k = 0; k < count; k++) needed = needed || values[k] != usual[k];
  json_object_del(node, key);
  if (needed) sn_gltf_set(b, node, key, sn_gltf_reals(b, values, count));
}

void sn_gltf_set_trs(gltf_builder *b, json_t *node, sn_vec3 t, sn_quat r, sn_vec3 s) {
  json_object_del(node, "matrix");
  set_part(b, node, "translation", (double[]){t.x, t.y, t.z}, (double[]){0, 0, 0}, 3);
  set_part(b, node, "rotation", (double[]){r.x, r.y, r.z, r.w}, (double[]){0, 0, 0, 1}, 4);
  set_part(b, node, "scale", (double[]){s.x, s.y, s.z}, (double[]){1, 1, 1}, 3);
}

void sn_gltf_set_matrix(gltf_builder *b, json_t *node, sn_affine matrix) {
  double columns[16];
  sn_affine_to_columns(matrix, columns);
  sn_gltf_set(b, node, "matrix", sn_gltf_reals(b, columns, 16));
}

// ---- binary data -------------------------------------------------------------------------------------------------

size_t sn_gltf_add_bytes(gltf_builder *b, const void *bytes, size_t size) {
  size_t offset = b->data.size;
  sn_append(b->ctx, &b->status, &b->data, bytes, size);
  sn_append(b->ctx, &b->status, &b->data, "\0\0\0", -size % 4);
  return offset;
}

int sn_gltf_add_view(gltf_builder *b, const void *data, size_t size, int target) {
  size_t offset = sn_gltf_add_bytes(b, data, size);
  json_t *view =
    json_pack("{s:i,s:I,s:I}", "buffer", 0, "byteOffset", (json_int_t)offset, "byteLength", (json_int_t)size);
  if (target) sn_gltf_set(b, view, "target", json_integer(target));
  return sn_gltf_append(b, "bufferViews", view);
}

static void set_bounds(gltf_builder *b, json_t *accessor, const gltf_data *data) {
  double low[16], high[16];
  const float *values = data->values;
  for (int k = 0; k < data->width; k++) low[k] = INFINITY, high[k] = -INFINITY;
  for (size_t i = 0; i < (size_t)data->count; i++)
    for (int k = 0; k < data->width; k++, values++) low[k] = fmin(low[k], *values), high[k] = fmax(high[k], *values);
  sn_gltf_set(b, accessor, "min", sn_gltf_reals(b, low, data->width));
  sn_gltf_set(b, accessor, "max", sn_gltf_reals(b, high, data->width));
}

int sn_gltf_add_accessor(gltf_builder *b, gltf_data data) {
  static const char *const types[] = {[1] = "SCALAR", [2] = "VEC2", [3] = "VEC3", [4] = "VEC4", [16] = "MAT4"};
  size_t size = (size_t)data.count * (size_t)data.width * sn_gltf_component_size(data.component);
  json_t *accessor = json_pack("{s:i,s:i,s:i,s:s}", "bufferView", sn_gltf_add_view(b, data.values, size, data.target),
                               "componentType", data.component, "count", data.count, "type", types[data.width]);
  if (data.bounds) set_bounds(b, accessor, &data);
  return sn_gltf_append(b, "accessors", accessor);
}

void sn_gltf_put(gltf_builder *b, json_t *object, const char *key, gltf_data data) {
  sn_gltf_set(b, object, key, json_integer(sn_gltf_add_accessor(b, data)));
}

void sn_gltf_put_floats(gltf_builder *b, json_t *attributes, const char *key, const void *values, int count,
                        int width) {
  bool bounds = strcmp(key, "POSITION") == 0;
  sn_gltf_put(b, attributes, key, (gltf_data){values, count, GLTF_FLOAT, width, GLTF_VERTICES, bounds});
}

// ---- skins and clips ----------------------------------------------------------------------------------------------------

void sn_gltf_keep_influence(gltf_influences *row, int joint, float weight) {
  enum { most = GLTF_MAX_INFLUENCES };
  for (int k = 0; k < most; k++) {
    if (!(weight > row->weights[k])) continue;
    memmove(row->weights + k + 1, row->weights + k, (size_t)(most - 1 - k) * sizeof *row->weights);
    memmove(row->joints + k + 1, row->joints + k, (size_t)(most - 1 - k) * sizeof *row->joints);
    row->weights[k] = weight, row->joints[k] = (uint16_t)joint;
    return;
  }
}

void sn_gltf_normalise(gltf_influences *rows, int count) {
  for (int i = 0; i < count; i++) {
    float *weights = rows[i].weights, sum = 0;
    for (int k = 0; k < GLTF_MAX_INFLUENCES; k++) sum += weights[k];
    for (int k = 0; k < GLTF_MAX_INFLUENCES; k++) weights[k] = sum > 0 ? weights[k] / sum : k == 0;
  }
}

void sn_gltf_put_influences(gltf_builder *b, json_t *attributes, const gltf_influences *rows, int count, bool wide) {
  static const char *const names[][2] = {{"JOINTS_0", "WEIGHTS_0"}, {"JOINTS_1", "WEIGHTS_1"}};
  SN_SCRATCH(scratch, b->ctx);
  size_t size = 4 * (size_t)count;
  uint8_t *bytes = SN_TAKE(b, &scratch, uint8_t, size);
  uint16_t *joints = SN_TAKE(b, &scratch, uint16_t, size);
  float *weights = SN_TAKE(b, &scratch, float, size);
  for (int set = 0; set < GLTF_MAX_INFLUENCES / 4 && b->status == SN_OK; set++) {
    bool any = set == 0;
    for (size_t k = 0; k < size; k++) {
      joints[k] = rows[k / 4].joints[4 * set + (int)(k % 4)], bytes[k] = (uint8_t)joints[k];
      weights[k] = rows[k / 4].weights[4 * set + (int)(k % 4)];
      any = any || weights[k] > 0;
    }
    json_object_del(attributes, names[set][0]), json_object_del(attributes, names[set][1]);
    if (!any) continue;
    gltf_data data = {
      wide ? (const void *)joints : bytes, count, wide ? GLTF_USHORT : GLTF_UBYTE, 4, GLTF_VERTICES, false};
    sn_gltf_put(b, attributes, names[set][0], data);
    sn_gltf_put_floats(b, attributes, names[set][1], weights, count, 4);
  }
}

void sn_gltf_add_channel(gltf_builder *b, json_t *clip, int node, const char *path, gltf_keys keys) {
  json_t *samplers = json_object_get(clip, "samplers");
  int sampler = (int)json_array_size(samplers), width = strcmp(path, "weights") == 0 ? 1 : keys.width;
  int output =
    sn_gltf_add_accessor(b, (gltf_data){keys.values, keys.count * (keys.width / width), GLTF_FLOAT, width, 0, false});
  sn_gltf_push(b, samplers,
               json_pack("{s:i,s:i,s:s}", "input", keys.times, "output", output, "interpolation", "LINEAR"));
  sn_gltf_push(b, json_object_get(clip, "channels"),
               json_pack("{s:i,s:{s:i,s:s}}", "sampler", sampler, "target", "node", node, "path", path));
}

int sn_gltf_add_bound_skin(gltf_builder *b, int count, const int *joints, const sn_affine *inverse_bind) {
  json_t *skin = json_object(), *list = json_array();
  SN_SCRATCH(scratch, b->ctx);
  float *columns = SN_TAKE(b, &scratch, float, 16 * (size_t)count);
  for (int j = 0; columns && j < count; j++) {
    double numbers[16];
    sn_affine_to_columns(inverse_bind[j], numbers);
    for (int k = 0; k < 16; k++) columns[16 * j + k] = (float)numbers[k];
    sn_gltf_push(b, list, json_integer(joints[j]));
  }
  sn_gltf_set(b, skin, "joints", list);
  if (columns) sn_gltf_put(b, skin, "inverseBindMatrices", (gltf_data){columns, count, GLTF_FLOAT, 16, 0, false});
  return sn_gltf_append(b, "skins", skin);
}

// ---- files -----------------------------------------------------------------------------------------------------------

// Writes a file. A binary also deletes this document's older binaries.
static sn_status write_bytes(sn_context *ctx, const char *path, const void *bytes, size_t size, bool binary) {
  sn_writer writer;
  SN_TRY(sn_writer_open(ctx, path, &writer));
  sn_write(&writer, bytes, size);
  if (binary && strlen(path) < NAME_MAX) sn_writer_supersedes(&writer); // a truncated name may be another's
  return sn_writer_commit(ctx, &writer);
}

// Publishes the document after the binary that it names.
static sn_status write_pair(sn_context *ctx, const char *path, const char *text, const char *bin_path,
                            const gltf_builder *b) {
  sn_outputs together;
  sn_outputs_begin(ctx, &together);
  sn_status status = bin_path ? write_bytes(ctx, bin_path, b->data.bytes, b->data.size, true) : SN_OK;
  if (status == SN_OK) status = write_bytes(ctx, path, text, strlen(text), false);
  return sn_outputs_end(ctx, &together, status);
}

static sn_status write_glb(gltf_builder *b, const char *path, const char *text) {
  size_t length = strlen(text), padding = (4 - length % 4) % 4;
  size_t whole = 12 + 8 + length + padding + (b->data.size > 0 ? 8 + b->data.size : 0);
  if (whole > UINT32_MAX) {
    return sn_fail(b->ctx, SN_UNSUPPORTED, "%s: a GLB cannot have %zu bytes; write .gltf instead", path, whole);
  }
  const uint32_t head[] = {0x46546C67, 2, (uint32_t)whole, (uint32_t)(length + padding), 0x4E4F534A}; // glTF, JSON
  const uint32_t chunk[] = {(uint32_t)b->data.size, 0x004E4942};                                      // BIN
  sn_writer writer;
  SN_TRY(sn_writer_open(b->ctx, path, &writer));
  sn_write(&writer, head, sizeof head);
  sn_write(&writer, text, length);
  sn_write(&writer, "   ", padding);
  if (b->data.size > 0) sn_write(&writer, chunk, sizeof chunk);
  sn_write(&writer, b->data.bytes, b->data.size);
  return sn_writer_commit(b->ctx, &writer);
}

// "walk.0123abcd.bin" for "out/walk.gltf", as a URI and as a path. The digits hash its contents, so a document never refers to
// another version's binary, even if the process dies between the two files or two processes write both.
static bool binary_name(gltf_builder *b, const char *path, char **uri, char **bin_path) {
  const char *last = strrchr(path, '/');
  size_t folder = last ? (size_t)(last + 1 - path) : 0, most = folder + NAME_MAX - strlen(".01234567.bin");
  size_t stem = strlen(path) - strlen(".gltf"), size = stem + sizeof ".01234567.bin";
  if (stem > most) stem = most;
  *bin_path = SN_TAKE(b, &b->memory, char, size);
  if (!*bin_path) return false;
  uint64_t hash = sn_hash(SN_HASH_START, b->data.bytes, b->data.size);
  snprintf(*bin_path, size, "%.*s.%08x.bin", (int)stem, path, (unsigned)(hash ^ hash >> 32));
  char *slash = strrchr(*bin_path, '/');
  *uri = sn_gltf_uri_encode(b->ctx, &b->memory, slash ? slash + 1 : *bin_path);
  return *uri != NULL;
}

// Sets the only buffer; keeps name and extras of the base's first buffer.
static void set_buffer(gltf_builder *b, const char *uri) {
  json_t *old = json_array_get(json_object_get(b->root, "buffers"), 0),
         *buffer = old ? json_incref(old) : json_object();
  json_object_del(b->root, "buffers");
  json_object_del(buffer, "uri");
  sn_gltf_set(b, buffer, "byteLength", json_integer((json_int_t)b->data.size));
  if (uri) sn_gltf_set(b, buffer, "uri", json_string(uri));
  sn_gltf_append(b, "buffers", buffer);
}

sn_status sn_gltf_builder_write(gltf_builder *b, const char *path) {
  bool glb = sn_has_extension(path, ".glb");
  char *uri = NULL, *bin_path = NULL;
  if (!glb && !sn_has_extension(path, ".gltf")) {
    return sn_fail(b->ctx, SN_BAD_INPUT, "%s: glTF is written as .glb or .gltf", path);
  }
  if (!glb && b->data.size > 0 && !binary_name(b, path, &uri, &bin_path)) return b->ctx->error.status;
  if (b->data.size > 0) {
    set_buffer(b, uri);
  } else {
    json_object_del(b->root, "buffers");
  }
  if (b->status != SN_OK) return b->status;
  char *text = json_dumps(b->root, glb ? JSON_COMPACT : JSON_INDENT(2));
  if (!text) return sn_fail(b->ctx, SN_NO_MEMORY, "%s: out of memory while writing JSON", path);
  sn_status status = glb ? write_glb(b, path, text) : write_pair(b->ctx, path, text, bin_path, b);
  free(text);
  return status;
}
