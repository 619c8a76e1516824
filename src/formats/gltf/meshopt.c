// SPDX-License-Identifier: MIT
// EXT_meshopt_compression: views that have only compressed data become plain views of new buffers, in the document's JSON too, so
// later code sees a plain document. libmeshoptimizer's decoders are safe on untrusted data; their output is checked like any
// accessor.
#include "formats/gltf/gltf.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

static const char extension[] = "EXT_meshopt_compression";

typedef int (*decoder)(void *out, size_t count, size_t size, const unsigned char *bytes, size_t byte_count);
typedef void (*filter)(void *data, size_t count, size_t stride);

// A function of the library, which is loaded on first use, so that the tool starts without it; it stays loaded.
static void *function(sn_reader *r, const char *name) {
  void *handle = dlopen("libmeshoptimizer.so.2d", RTLD_NOW | RTLD_LOCAL);
  if (!handle) handle = dlopen("libmeshoptimizer.so", RTLD_NOW | RTLD_LOCAL);
  void *found = handle ? dlsym(handle, name) : NULL;
  if (!handle)
    sn_fail_once(r, SN_UNSUPPORTED,
                 "is compressed by %s, and reading that needs libmeshoptimizer, which is not installed (Debian: "
                 "libmeshoptimizer2d)",
                 extension);
  if (!found) sn_fail_once(r, SN_UNSUPPORTED, "this libmeshoptimizer has no %s; version 0.18 has", name);
  return found;
}

typedef struct packed_view {
  const uint8_t *bytes;
  size_t size, count, stride;
  const char *decode, *filter; // names of library functions; filter NULL: none
} packed_view;

// Chooses the decoder by mode and filter, and checks what the mode allows.
static void choose_decoder(gltf_object *o, packed_view *p) {
  static const char *const modes[][2] = {{"ATTRIBUTES", "meshopt_decodeVertexBuffer"},
                                         {"TRIANGLES", "meshopt_decodeIndexBuffer"},
                                         {"INDICES", "meshopt_decodeIndexSequence"}};
  static const char *const filters[][2] = {{"NONE", NULL},
                                           {"OCTAHEDRAL", "meshopt_decodeFilterOct"},
                                           {"QUATERNION", "meshopt_decodeFilterQuat"},
                                           {"EXPONENTIAL", "meshopt_decodeFilterExp"}};
  const char *mode = json_string_value(json_object_get(o->json, "mode"));
  const char *name = json_string_value(json_object_get(o->json, "filter"));
  size_t m = 0, f = 0;
  while (mode && m < 3 && strcmp(mode, modes[m][0]) != 0) m++;
  while (name && f < 4 && strcmp(name, filters[f][0]) != 0) f++;
  if (!mode || m == 3) gltf_object_fail(o, SN_BAD_FILE, "there is no mode '%.20s'", mode ? mode : "");
  if (f == 4) gltf_object_fail(o, SN_BAD_FILE, "there is no filter '%.20s'", name);
  if (o->r->status != SN_OK) return;
  bool good = m == 0 ? p->stride % 4 == 0 && p->stride <= 256 : p->stride == 2 || p->stride == 4;
  if (m == 1) good = good && p->count % 3 == 0;
  if (f == 1) good = good && (p->stride == 4 || p->stride == 8);
  if (f == 2) good = good && p->stride == 8;
  if (!good || (f > 0 && m > 0))
    gltf_object_fail(o, SN_BAD_FILE, "%zu elements of %zu bytes cannot be %s with the filter %s", p->count, p->stride,
                     modes[m][0], filters[f][0]);
  p->decode = modes[m][1], p->filter = filters[f][1];
}

static packed_view inspect(gltf_object *o, const sn_gltf *gltf) {
  int buffer = sn_gltf_index(o, "buffer", gltf->buffer_count, true);
  int64_t offset = sn_gltf_integer(o, "byteOffset", 0, INT64_MAX, 0);
  int64_t size = sn_gltf_integer(o, "byteLength", 1, INT64_MAX, GLTF_REQUIRED);
  int64_t stride = sn_gltf_integer(o, "byteStride", 1, 256, GLTF_REQUIRED);
  int64_t count = sn_gltf_integer(o, "count", 1, INT_MAX, GLTF_REQUIRED);
  packed_view p = {.size = (size_t)size, .count = (size_t)count, .stride = (size_t)stride};
  p.bytes = sn_gltf_bytes(o, gltf, buffer, offset, size);
  if (p.bytes) choose_decoder(o, &p);
  return p;
}

static void decode(gltf_object *o, const packed_view *p, uint8_t *out) {
  decoder decode_all;
  filter unfilter = NULL;
  *(void **)&decode_all = function(o->r, p->decode);
  if (p->filter) *(void **)&unfilter = function(o->r, p->filter);
  if (o->r->status != SN_OK) return;
  if (decode_all(out, p->count, p->stride, p->bytes, p->size) != 0) {
    gltf_object_fail(o, SN_BAD_FILE, "its data are damaged");
  } else if (unfilter) {
    unfilter(out, p->count, p->stride);
  }
}

// Decodes the view's data into a new buffer, and makes the view cover it.
static void unpack_view(sn_gltf *gltf, int index, json_t *view) {
  sn_reader *r = &gltf->reader;
  gltf_object o = sn_gltf_object(r, sn_gltf_extension(view, extension), "bufferView %d: %s", index, extension);
  packed_view p = inspect(&o, gltf);
  o.json = view;
  int64_t length = sn_gltf_integer(&o, "byteLength", 1, INT64_MAX, GLTF_REQUIRED);
  if ((uint64_t)length != p.count * p.stride)
    gltf_object_fail(&o, SN_BAD_FILE, "%zu elements of %zu bytes are not the %lld bytes of the view", p.count,
                     p.stride, (long long)length);
  if (!sn_gltf_spend(gltf, p.count, p.stride)) return;
  uint8_t *out = SN_TAKE(r, &gltf->memory, uint8_t, p.count * p.stride);
  if (out) decode(&o, &p, out);
  int buffer = r->status == SN_OK ? sn_gltf_add_buffer(gltf, out, p.count * p.stride) : -1;
  if (buffer < 0) return;
  json_object_del(view, "byteOffset");
  sn_gltf_remove_extension(view, extension);
  if (json_object_set_new(view, "buffer", json_integer(buffer)) != 0)
    sn_fail_once(r, SN_NO_MEMORY, "out of memory while decompressing");
}

// Whether the view's data exist only in compressed form.
static bool only_packed(const sn_gltf *gltf, const json_t *view) {
  if (!sn_gltf_extension(view, extension)) return false;
  const json_t *buffer = json_object_get(view, "buffer");
  json_int_t index = json_integer_value(buffer);
  return json_is_integer(buffer) && index >= 0 && index < gltf->buffer_count && gltf->buffers[index].size == 0;
}

void sn_gltf_unpack_meshopt(sn_gltf *gltf) {
  sn_reader *r = &gltf->reader;
  json_t *views, *buffer;
  int count = sn_gltf_objects(r, gltf->json, "bufferViews", &views);
  bool any = false;
  for (int k = 0; k < count && r->status == SN_OK; k++) {
    json_t *view = json_array_get(views, (size_t)k);
    if (only_packed(gltf, view)) any = true, unpack_view(gltf, k, view);
  }
  if (!any) return;
  size_t b;
  json_array_foreach(json_object_get(gltf->json, "buffers"), b, buffer) sn_gltf_remove_extension(buffer, extension);
  sn_gltf_forget_extension(gltf->json, extension);
}
