// SPDX-License-Identifier: MIT
// Loads a document: GLB chunks or plain JSON, required extensions, buffers; then everything else in order.
#include "formats/gltf/gltf.h"

#include <string.h>

#include "base/number.h"

// ---- GLB -------------------------------------------------------------------------------------------------------

typedef struct glb_chunks {
  const char *json;
  size_t json_size;
  const uint8_t *bin; // NULL: none
  size_t bin_size;
} glb_chunks;

static void split_glb(sn_reader *r, const uint8_t *bytes, size_t size, glb_chunks *out) {
  if (size < 12) return sn_fail_once(r, SN_BAD_FILE, "is cut short: a GLB header has 12 bytes, this file %zu", size);
  uint32_t version = sn_little32(bytes + 4), length = sn_little32(bytes + 8);
  if (version != 2) return sn_fail_once(r, SN_UNSUPPORTED, "is GLB version %u; export it again as glTF 2.0", version);
  if (length > size)
    return sn_fail_once(r, SN_BAD_FILE, "is cut short: its header says %u bytes, the file has %zu", length, size);
  for (size_t at = 12, chunk = 0; at + 8 <= length; chunk++) {
    uint32_t chunk_size = sn_little32(bytes + at), kind = sn_little32(bytes + at + 4);
    at += 8;
    if (chunk_size > length - at)
      return sn_fail_once(r, SN_BAD_FILE, "chunk %zu of %u bytes goes past the end", chunk, chunk_size);
    if (chunk == 0 && kind != 0x4E4F534A) return sn_fail_once(r, SN_BAD_FILE, "its first chunk is not JSON");
    if (chunk == 0) out->json = (const char *)bytes + at, out->json_size = chunk_size;
    if (chunk == 1 && kind == 0x004E4942) out->bin = bytes + at, out->bin_size = chunk_size;
    size_t next = at + chunk_size; // a multiple of 4; some exporters write others, with padding or without
    at = next + 8 <= length && sn_little(bytes + next + 4, 4) == 0x004E4942 ? next : (next + 3) / 4 * 4;
  }
  if (!out->json) sn_fail_once(r, SN_BAD_FILE, "has no JSON chunk");
}

static void parse_json(sn_gltf *gltf, const char *text, size_t size) {
  sn_reader *r = &gltf->reader;
  while (size > 0 && text[size - 1] == '\0') size--; // some exporters pad with zeros
  if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3, size -= 3;
  if (size == 0 || !memchr(" \t\r\n{[", text[0], 6))
    return sn_fail_once(r, SN_BAD_FILE, "is %s; export it again", size == 0 ? "empty" : "neither GLB nor JSON");
  json_error_t error;
  gltf->json = json_loadb(text, size, 0, &error);
  if (!gltf->json && error.line < 0) return sn_fail_once(r, SN_NO_MEMORY, "out of memory while reading its JSON");
  if (!gltf->json)
    return sn_fail_once(r, SN_BAD_FILE, "JSON, line %d column %d: %s", error.line, error.column, error.text);
  if (!json_is_object(gltf->json)) sn_fail_once(r, SN_BAD_FILE, "its JSON is not an object");
}

// ---- version and extensions of the document ----------------------------------------------------------------------

static void check_version(sn_gltf *gltf) {
  const json_t *asset = json_object_get(gltf->json, "asset");
  const char *needed = json_string_value(json_object_get(asset, "minVersion"));
  if (!needed) needed = json_string_value(json_object_get(asset, "version"));
  if (!needed) return sn_fail_once(&gltf->reader, SN_BAD_FILE, "asset.version is missing; export it as glTF 2.0");
  if (strncmp(needed, "2.", 2) != 0)
    sn_fail_once(&gltf->reader, SN_UNSUPPORTED, "is glTF version %.20s; export it again as glTF 2.0", needed);
}

// Extensions that do not move vertices, by the beginning of their name, and those that are decoded.
static bool harmless_extension(const char *name) {
  static const char *const known[] = {"EXT_meshopt_compression",
                                      "KHR_draco_mesh_compression",
                                      "KHR_mesh_quantization",
                                      "KHR_node_visibility",
                                      "KHR_materials_",
                                      "KHR_texture_",
                                      "EXT_texture_",
                                      "MSFT_texture_",
                                      "KHR_lights_",
                                      "KHR_xmp"};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    if (strncmp(name, known[k], strlen(known[k])) == 0) return true;
  }
  return false;
}

static void check_extensions(sn_gltf *gltf) {
  size_t k;
  const json_t *required = json_object_get(gltf->json, "extensionsRequired"), *entry;
  json_array_foreach(required, k, entry) {
    const char *name = json_string_value(entry);
    if (name && !harmless_extension(name))
      sn_fail_once(
        &gltf->reader, SN_UNSUPPORTED,
        "needs the extension %.200s, which Sinew cannot read; export the file without it, or decode it with "
        "`gltf-transform copy IN.glb OUT.glb` or by importing and exporting it in Blender",
        name);
  }
}

// A placeholder buffer whose views exist only in compressed form.
static bool is_fallback(const json_t *buffer) {
  return json_is_true(json_object_get(sn_gltf_extension(buffer, "EXT_meshopt_compression"), "fallback"));
}

static void load_buffer(sn_gltf *gltf, int index, const json_t *json, const glb_chunks *glb) {
  gltf_buffer *buffer = &gltf->buffers[index];
  sn_reader *r = &gltf->reader;
  gltf_object o = sn_gltf_object(r, json, "buffer %d", index);
  int64_t size = sn_gltf_integer(&o, "byteLength", 1, INT64_MAX, GLTF_REQUIRED);
  const char *uri = json_string_value(json_object_get(json, "uri"));
  if (r->status != SN_OK) return;
  if (uri) {
    if (sn_gltf_uri(r->ctx, uri, gltf->folder, &gltf->memory, buffer) != SN_OK)
      r->status = sn_fail_prefix(r->ctx, "%s: ", o.place);
  } else if (index == 0 && glb->bin) {
    buffer->bytes = glb->bin, buffer->size = glb->bin_size;
  } else if (is_fallback(json)) {
    *buffer = (gltf_buffer){.bytes = (const uint8_t *)""};
    return;
  } else {
    gltf_object_fail(&o, SN_BAD_FILE, "has neither a uri nor a binary chunk");
  }
  if ((uint64_t)size > buffer->size)
    gltf_object_fail(&o, SN_BAD_FILE, "says %lld bytes, but there are %zu", (long long)size, buffer->size);
  buffer->size = (size_t)size;
}

static void load_buffers(sn_gltf *gltf, const glb_chunks *glb) {
  sn_reader *r = &gltf->reader;
  json_t *buffers;
  int count = sn_gltf_objects(r, gltf->json, "buffers", &buffers);
  // room for decompressed data: a buffer per view, and one for Draco
  gltf->buffer_room = count + (int)json_array_size(json_object_get(gltf->json, "bufferViews")) + 1;
  gltf->buffers = SN_TAKE(r, &gltf->memory, gltf_buffer, gltf->buffer_room);
  if (!gltf->buffers) return;
  gltf->buffer_count = count;
  gltf->budget = (size_t)256 << 20;
  for (int b = 0; b < count && r->status == SN_OK; b++) {
    load_buffer(gltf, b, json_array_get(buffers, (size_t)b), glb);
    gltf->budget += 64 * gltf->buffers[b].size;
  }
}

int sn_gltf_add_buffer(sn_gltf *gltf, const uint8_t *bytes, size_t size) {
  json_t *json = json_pack("{s:I}", "byteLength", (json_int_t)size);
  if (gltf->buffer_count == gltf->buffer_room ||
      json_array_append_new(json_object_get(gltf->json, "buffers"), json) != 0) {
    sn_fail_once(&gltf->reader, SN_NO_MEMORY, "out of memory while decompressing");
    return -1;
  }
  gltf->buffers[gltf->buffer_count] = (gltf_buffer){.bytes = bytes, .size = size};
  return gltf->buffer_count++;
}

// Loads everything in gltf->json, with the binary data of `chunks`.
static void load_parts(sn_gltf *gltf, const glb_chunks *chunks) {
  static void (*const steps[])(sn_gltf * gltf) = {
    sn_gltf_unpack_meshopt, sn_gltf_load_accessors, sn_gltf_unpack_draco, sn_gltf_load_nodes, sn_gltf_load_skins,
    sn_gltf_add_carriers,   sn_gltf_load_meshes,    sn_gltf_load_morphs,  sn_gltf_load_clips, sn_gltf_place};
  check_version(gltf);
  check_extensions(gltf);
  load_buffers(gltf, chunks);
  for (size_t k = 0; k < sizeof steps / sizeof *steps && gltf->reader.status == SN_OK; k++) steps[k](gltf);
}

// Loads the document's file: GLB, JSON, or the binary data of the JSON already in gltf->json.
static sn_status load(sn_gltf *gltf) {
  sn_reader *r = &gltf->reader;
  const uint8_t *bytes = gltf->file.bytes;
  size_t size = gltf->file.size;
  glb_chunks chunks = {.json = (const char *)bytes, .json_size = size};
  if (gltf->json) {
    chunks.bin = bytes, chunks.bin_size = size;
  } else {
    if (size >= 4 && memcmp(bytes, "glTF", 4) == 0) chunks.json = NULL, split_glb(r, bytes, size, &chunks);
    if (r->status == SN_OK) parse_json(gltf, chunks.json, chunks.json_size);
  }
  if (r->status == SN_OK) load_parts(gltf, &chunks);
  return r->status == SN_OK ? SN_OK : sn_fail_prefix(r->ctx, "%s: ", gltf->name);
}

// ---- opening and closing ---------------------------------------------------------------------------------------------

sn_gltf_counts sn_gltf_count(const sn_gltf *gltf) {
  int carriers = 0;
  for (int j = 0; j < gltf->joint_count; j++) carriers += gltf->joints[j].skin < 0;
  return (sn_gltf_counts){.meshes = gltf->mesh_count,
                          .parts = gltf->part_count,
                          .skins = gltf->skin_count,
                          .joints = gltf->joint_count,
                          .carriers = carriers,
                          .materials = (int)json_array_size(json_object_get(gltf->json, "materials")),
                          .textures = (int)json_array_size(json_object_get(gltf->json, "textures"))};
}

void sn_gltf_free(sn_gltf *gltf) {
  if (!gltf) return;
  for (int b = 0; b < gltf->buffer_count; b++) sn_file_close(&gltf->buffers[b].file);
  sn_file_close(&gltf->file);
  sn_skin_free(&gltf->skin);
  json_decref(gltf->json);
  sn_arena memory = gltf->memory; // the struct itself lives in it
  sn_arena_free(&memory);
}

sn_status sn_gltf_open(sn_context *ctx, const char *name, const char *folder, sn_file file, json_t *json,
                       sn_gltf **out) {
  sn_arena memory = sn_arena_new(ctx);
  sn_gltf *gltf = SN_NEW(ctx, &memory, sn_gltf, 1);
  if (!gltf) json_decref(json), sn_file_close(&file);
  if (gltf) {
    *gltf = (sn_gltf){.reader.ctx = ctx, .file = file, .json = json, .from_fbx = json != NULL, .memory = memory};
    gltf->name = sn_arena_text(ctx, &gltf->memory, name);
    gltf->folder = sn_arena_text(ctx, &gltf->memory, folder);
  }
  bool good = gltf && gltf->name && (gltf->folder || !folder) && load(gltf) == SN_OK;
  *out = good ? gltf : NULL;
  if (!good) sn_gltf_free(gltf);
  return good ? SN_OK : ctx->error.status;
}

sn_status sn_gltf_parse(sn_context *ctx, const char *name, const uint8_t *bytes, size_t size, const char *folder,
                        sn_gltf **out) {
  *out = NULL;
  sn_file file = {.memory = sn_arena_new(ctx), .size = size};
  uint8_t *copy = SN_NEW(ctx, &file.memory, uint8_t, size);
  if (!copy) return ctx->error.status;
  if (size > 0) memcpy(copy, bytes, size);
  file.bytes = copy;
  return sn_gltf_open(ctx, name, folder, file, NULL, out);
}

void sn_gltf_units(const sn_gltf *gltf, char *up, double *centimetres) {
  const json_t *extras = json_object_get(json_object_get(gltf->json, "asset"), "extras");
  const char *axis = json_string_value(json_object_get(extras, "up"));
  *up = axis && strchr("xyz", axis[0]) ? axis[0] : 0;
  *centimetres = json_number_value(json_object_get(extras, "unit_cm"));
}
