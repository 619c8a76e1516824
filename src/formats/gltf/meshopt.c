// SPDX-License-Identifier: MIT
// EXT_meshopt_compression: views whose data are only there in compressed form become plain views of buffers of their own, in
// the document's JSON too, so that nothing behind this knows of it. libmeshoptimizer decodes; its decoders are made for files
// that nobody vouches for, and what they give is checked like any accessor.
#include "formats/gltf/gltf.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

static const char extension[] = "EXT_meshopt_compression";

typedef int (*decoder)(void *out, size_t count, size_t size, const unsigned char *bytes, size_t byte_count);
typedef void (*filter)(void *data, size_t count, size_t stride);

// Loaded by the first document that needs it, so that the tool starts without it. It stays loaded.
static void *library(sn_context *ctx) {
  void *handle = dlopen("libmeshoptimizer.so.2d", RTLD_NOW | RTLD_LOCAL);
  if (!handle) handle = dlopen("libmeshoptimizer.so", RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    sn_fail(ctx, SN_UNSUPPORTED,
            "is compressed by %s, and reading that needs libmeshoptimizer, which is not installed (Debian: "
            "libmeshoptimizer2d)",
            extension);
  }
  return handle;
}

static void *function(sn_context *ctx, void *handle, const char *name) {
  void *found = dlsym(handle, name);
  if (!found) sn_fail(ctx, SN_UNSUPPORTED, "this libmeshoptimizer has no %s; version 0.18 has", name);
  return found;
}

typedef struct packed_view {
  char place[64];
  const uint8_t *bytes;
  size_t size, count, stride;
  const char *decode, *filter; // names of the library's functions; filter NULL: none
} packed_view;

// The kinds of data and what each allows.
static sn_status choose_decoder(sn_context *ctx, const json_t *json, packed_view *p) {
  static const char *const modes[][2] = {{"ATTRIBUTES", "meshopt_decodeVertexBuffer"},
                                         {"TRIANGLES", "meshopt_decodeIndexBuffer"},
                                         {"INDICES", "meshopt_decodeIndexSequence"}};
  static const char *const filters[][2] = {{"NONE", NULL},
                                           {"OCTAHEDRAL", "meshopt_decodeFilterOct"},
                                           {"QUATERNION", "meshopt_decodeFilterQuat"},
                                           {"EXPONENTIAL", "meshopt_decodeFilterExp"}};
  const char *mode = json_string_value(json_object_get(json, "mode"));
  const char *name = json_string_value(json_object_get(json, "filter"));
  size_t m = 0, f = 0;
  while (mode && m < 3 && strcmp(mode, modes[m][0]) != 0) m++;
  while (name && f < 4 && strcmp(name, filters[f][0]) != 0) f++;
  if (!mode || m == 3) return sn_fail(ctx, SN_BAD_FILE, "%s: there is no mode '%.20s'", p->place, mode ? mode : "");
  if (f == 4) return sn_fail(ctx, SN_BAD_FILE, "%s: there is no filter '%.20s'", p->place, name);
  bool good = m == 0 ? p->stride % 4 == 0 && p->stride <= 256 : p->stride == 2 || p->stride == 4;
  if (m == 1) good = good && p->count % 3 == 0;
  if (f == 1) good = good && (p->stride == 4 || p->stride == 8);
  if (f == 2) good = good && p->stride == 8;
  if (!good || (f > 0 && m > 0)) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: %zu elements of %zu bytes cannot be %s with the filter %s", p->place,
                   p->count, p->stride, modes[m][0], filters[f][0]);
  }
  p->decode = modes[m][1], p->filter = filters[f][1];
  return SN_OK;
}

static sn_status inspect(sn_context *ctx, const sn_gltf *gltf, int view, const json_t *json, packed_view *p) {
  snprintf(p->place, sizeof p->place, "bufferView %d: %s", view, extension);
  gltf_object o = sn_gltf_object(ctx, json, "%s", p->place);
  int buffer = sn_gltf_index(&o, "buffer", gltf->buffer_count, true);
  int64_t offset = sn_gltf_integer(&o, "byteOffset", 0, INT64_MAX, 0);
  int64_t size = sn_gltf_integer(&o, "byteLength", 1, INT64_MAX, GLTF_REQUIRED);
  int64_t stride = sn_gltf_integer(&o, "byteStride", 1, 256, GLTF_REQUIRED);
  int64_t count = sn_gltf_integer(&o, "count", 1, INT_MAX, GLTF_REQUIRED);
  if (o.status != SN_OK) return o.status;
  size_t whole = gltf->buffers[buffer].size;
  if ((uint64_t)offset > whole || (uint64_t)size > whole - (uint64_t)offset) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: bytes %lld to %lld + %lld are not in buffer %d of %zu bytes", p->place,
                   (long long)offset, (long long)offset, (long long)size, buffer, whole);
  }
  p->bytes = gltf->buffers[buffer].bytes + offset, p->size = (size_t)size;
  p->stride = (size_t)stride, p->count = (size_t)count;
  return choose_decoder(ctx, json, p);
}

static sn_status decode(sn_context *ctx, void *handle, const packed_view *p, uint8_t *out) {
  decoder decode_all;
  filter unfilter = NULL;
  *(void **)&decode_all = function(ctx, handle, p->decode);
  if (decode_all && p->filter) *(void **)&unfilter = function(ctx, handle, p->filter);
  if (!decode_all || (p->filter && !unfilter)) return ctx->error.status;
  if (decode_all(out, p->count, p->stride, p->bytes, p->size) != 0) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: its data are damaged", p->place);
  }
  if (unfilter) unfilter(out, p->count, p->stride);
  return SN_OK;
}

// The view's data decoded into a new buffer, which it then is all of.
static sn_status unpack_view(sn_context *ctx, sn_gltf *gltf, int index, json_t *view, void *handle) {
  packed_view p;
  sn_status status = inspect(ctx, gltf, index, json_object_get(json_object_get(view, "extensions"), extension), &p);
  if (status != SN_OK) return status;
  gltf_object o = sn_gltf_object(ctx, view, "%s", p.place);
  int64_t length = sn_gltf_integer(&o, "byteLength", 1, INT64_MAX, GLTF_REQUIRED);
  status = o.status;
  if (status == SN_OK && (uint64_t)length != p.count * p.stride) {
    status = sn_fail(ctx, SN_BAD_FILE, "%s: %zu elements of %zu bytes are not the %lld bytes of the view", p.place,
                     p.count, p.stride, (long long)length);
  }
  if (status == SN_OK) status = sn_gltf_spend(ctx, gltf, p.count, p.stride);
  uint8_t *out = status == SN_OK ? SN_NEW(ctx, &gltf->memory, uint8_t, p.count * p.stride) : NULL;
  if (!out) return ctx->error.status;
  status = decode(ctx, handle, &p, out);
  int buffer;
  if (status == SN_OK) status = sn_gltf_add_buffer(ctx, gltf, out, p.count * p.stride, &buffer);
  if (status != SN_OK) return status;
  json_object_del(view, "byteOffset");
  sn_gltf_remove_extension(view, extension);
  if (json_object_set_new(view, "buffer", json_integer(buffer)) != 0) {
    return sn_fail(ctx, SN_NO_MEMORY, "out of memory while decompressing");
  }
  return SN_OK;
}

// Whether the view's own buffer lacks its data.
static bool only_packed(const sn_gltf *gltf, const json_t *view) {
  if (!json_object_get(json_object_get(view, "extensions"), extension)) return false;
  const json_t *buffer = json_object_get(view, "buffer");
  json_int_t index = json_integer_value(buffer);
  return json_is_integer(buffer) && index >= 0 && index < gltf->buffer_count && gltf->buffers[index].size == 0;
}

sn_status sn_gltf_unpack_meshopt(sn_context *ctx, sn_gltf *gltf) {
  json_t *views, *buffer;
  int count;
  sn_status status = sn_gltf_objects(ctx, gltf->json, "bufferViews", &views, &count);
  void *handle = NULL;
  for (int k = 0; k < count && status == SN_OK; k++) {
    json_t *view = json_array_get(views, (size_t)k);
    if (!only_packed(gltf, view)) continue;
    if (!handle) handle = library(ctx);
    status = handle ? unpack_view(ctx, gltf, k, view, handle) : ctx->error.status;
  }
  if (status != SN_OK || !handle) return status;
  size_t b;
  json_array_foreach(json_object_get(gltf->json, "buffers"), b, buffer) sn_gltf_remove_extension(buffer, extension);
  sn_gltf_remove_name(gltf->json, "extensionsUsed", extension);
  sn_gltf_remove_name(gltf->json, "extensionsRequired", extension);
  return SN_OK;
}
