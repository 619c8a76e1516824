// SPDX-License-Identifier: MIT
// Buffer views and accessors: bounds are checked once, here; decoding only checks values.
#include "formats/gltf/gltf.h"

#include <limits.h>
#include <string.h>

#include "base/number.h"

// Component types from GLTF_BYTE on: size in bytes, and the integer that maps to 1 when normalised.
static const struct {
  size_t size;
  double one;
} components[] = {{1, 127}, {1, 255}, {2, 32767}, {2, 65535}, {0, 0}, {4, 4294967295.0}, {4, 1}};

size_t sn_gltf_component_size(int component) {
  int last = sizeof components / sizeof *components - 1, k = component - GLTF_BYTE;
  return k >= 0 && k <= last ? components[k].size : 0;
}

const uint8_t *sn_gltf_bytes(gltf_object *o, const sn_gltf *gltf, int buffer, int64_t offset, int64_t size) {
  if (o->r->status != SN_OK) return NULL;
  size_t whole = gltf->buffers[buffer].size;
  if ((uint64_t)offset <= whole && (uint64_t)size <= whole - (uint64_t)offset)
    return gltf->buffers[buffer].bytes + offset;
  gltf_object_fail(o, SN_BAD_FILE, "bytes %lld to %lld + %lld are not in buffer %d of %zu bytes", (long long)offset,
                   (long long)offset, (long long)size, buffer, whole);
  return NULL;
}

static void load_view(sn_gltf *gltf, int index, const json_t *json) {
  gltf_object o = sn_gltf_object(&gltf->reader, json, "bufferView %d", index);
  int buffer = sn_gltf_index(&o, "buffer", gltf->buffer_count, true);
  int64_t offset = sn_gltf_integer(&o, "byteOffset", 0, INT64_MAX, 0);
  int64_t size = sn_gltf_integer(&o, "byteLength", 1, INT64_MAX, GLTF_REQUIRED);
  int64_t stride = sn_gltf_integer(&o, "byteStride", 1, 65535, 0);
  const uint8_t *bytes = sn_gltf_bytes(&o, gltf, buffer, offset, size);
  gltf->views[index] = (gltf_view){bytes, (size_t)size, (size_t)stride, buffer};
}

// Layout of elements in a view.
typedef struct elements {
  size_t count, size, stride; // bytes
} elements;

// Address of the elements: in view `index`, from the object's byteOffset.
static const uint8_t *locate(const sn_gltf *gltf, gltf_object *o, int index, elements e) {
  int64_t offset = sn_gltf_integer(o, "byteOffset", 0, INT64_MAX, 0);
  if (o->r->status != SN_OK) return NULL;
  const gltf_view *view = &gltf->views[index];
  // count <= INT_MAX and stride <= 65535: no overflow in 64 bits
  uint64_t needed = (uint64_t)(e.count - 1) * e.stride + e.size;
  if ((uint64_t)offset > view->size || needed > view->size - (uint64_t)offset) {
    gltf_object_fail(o, SN_BAD_FILE, "%zu elements from byte %lld on do not fit into bufferView %d of %zu bytes",
                     e.count, (long long)offset, index, view->size);
    return NULL;
  }
  return view->bytes + offset;
}

static int type_width(const char *type) {
  static const struct {
    const char *name;
    int width;
  } types[] = {{"SCALAR", 1}, {"VEC2", 2}, {"VEC3", 3}, {"VEC4", 4}, {"MAT2", 4}, {"MAT3", 9}, {"MAT4", 16}};
  for (size_t k = 0; type && k < sizeof types / sizeof *types; k++) {
    if (strcmp(type, types[k].name) == 0) return types[k].width;
  }
  return 0;
}

static void load_sparse(const sn_gltf *gltf, const gltf_object *above, size_t element, gltf_accessor *accessor) {
  const json_t *sparse = json_object_get(above->json, "sparse");
  gltf_object o = sn_gltf_object(above->r, sparse, "%.40s: sparse", above->place);
  size_t count = (size_t)sn_gltf_integer(&o, "count", 1, accessor->count, GLTF_REQUIRED);
  o.json = json_object_get(sparse, "indices");
  int component = (int)sn_gltf_integer(&o, "componentType", GLTF_UBYTE, GLTF_UINT, GLTF_REQUIRED);
  int view = sn_gltf_index(&o, "bufferView", gltf->view_count, true);
  size_t size = sn_gltf_component_size(component);
  if (component != GLTF_UBYTE && component != GLTF_USHORT && component != GLTF_UINT)
    gltf_object_fail(&o, SN_BAD_FILE, "its indices cannot have the component type %d", component);
  accessor->sparse_indices = locate(gltf, &o, view, (elements){count, size, size});
  o.json = json_object_get(sparse, "values");
  view = sn_gltf_index(&o, "bufferView", gltf->view_count, true);
  accessor->sparse_values = locate(gltf, &o, view, (elements){count, element, element});
  accessor->sparse_component = component, accessor->sparse_count = (int)count;
}

static void load_accessor(sn_gltf *gltf, int index, const json_t *json) {
  gltf_accessor *accessor = &gltf->accessors[index];
  gltf_object o = sn_gltf_object(&gltf->reader, json, "accessor %d", index);
  int count = (int)sn_gltf_integer(&o, "count", 1, INT_MAX, GLTF_REQUIRED);
  int component = (int)sn_gltf_integer(&o, "componentType", GLTF_BYTE, GLTF_FLOAT, GLTF_REQUIRED);
  int view = sn_gltf_index(&o, "bufferView", gltf->view_count, false);
  size_t size = sn_gltf_component_size(component);
  if (size == 0) gltf_object_fail(&o, SN_BAD_FILE, "there is no component type %d", component);
  const char *type = json_string_value(json_object_get(json, "type"));
  int width = type_width(type);
  if (width == 0) gltf_object_fail(&o, SN_BAD_FILE, "its type is '%.20s'", type ? type : "");
  if (o.r->status != SN_OK) return;
  size_t element = (size_t)width * size;
  if (type[0] == 'M') { // matrix columns begin at multiples of four bytes
    size_t rows = width == 4 ? 2 : width == 9 ? 3 : 4;
    element = rows * ((rows * size + 3) / 4 * 4);
  }
  *accessor = (gltf_accessor){.count = count,
                              .width = width,
                              .component = component,
                              .stride = element,
                              .normalized = json_is_true(json_object_get(json, "normalized"))};
  if (view >= 0) {
    size_t stride = gltf->views[view].stride;
    if (stride > 0 && stride < element)
      gltf_object_fail(&o, SN_BAD_FILE, "its elements of %zu bytes overlap at bufferView %d's stride of %zu", element,
                       view, stride);
    if (stride > 0) accessor->stride = stride;
    accessor->bytes = locate(gltf, &o, view, (elements){(size_t)count, element, accessor->stride});
  }
  if (o.r->status == SN_OK && json_object_get(json, "sparse")) load_sparse(gltf, &o, element, accessor);
}

void sn_gltf_load_accessors(sn_gltf *gltf) {
  sn_reader *r = &gltf->reader;
  json_t *views, *accessors;
  gltf->view_count = sn_gltf_objects(r, gltf->json, "bufferViews", &views);
  gltf->accessor_count = sn_gltf_objects(r, gltf->json, "accessors", &accessors);
  gltf->views = SN_TAKE(r, &gltf->memory, gltf_view, gltf->view_count);
  gltf->accessors = SN_TAKE(r, &gltf->memory, gltf_accessor, gltf->accessor_count);
  gltf->decoded = SN_TAKE(r, &gltf->memory, float *, gltf->accessor_count);
  for (int k = 0; k < gltf->view_count && r->status == SN_OK; k++)
    load_view(gltf, k, json_array_get(views, (size_t)k));
  for (int k = 0; k < gltf->accessor_count && r->status == SN_OK; k++)
    load_accessor(gltf, k, json_array_get(accessors, (size_t)k));
}

// ---- decoding ----------------------------------------------------------------------------------------------------------

bool sn_gltf_spend(sn_gltf *gltf, size_t count, size_t size) {
  size_t bytes;
  if (gltf->reader.status != SN_OK) return false;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > gltf->budget) {
    sn_fail_once(&gltf->reader, SN_BAD_FILE,
                 "holds far more data when decoded than its size allows for; is it damaged?");
    return false;
  }
  gltf->budget -= bytes;
  return true;
}

static int64_t integer_at(const uint8_t *bytes, int component) {
  uint64_t bits = sn_little(bytes, (int)sn_gltf_component_size(component));
  return component == GLTF_BYTE ? (int8_t)bits : component == GLTF_SHORT ? (int16_t)bits : (int64_t)bits;
}

static float float_at(const uint8_t *bytes, int component, bool normalize) {
  int64_t integer = integer_at(bytes, component);
  if (component == GLTF_FLOAT) return sn_float_of((uint32_t)integer);
  return (float)(normalize ? fmax((double)integer / components[component - GLTF_BYTE].one, -1) : (double)integer);
}

// Destination of decoded numbers: floats or integers.
typedef struct destination {
  float *floats;
  uint32_t *integers;
  bool normalize;
} destination;

// Decodes the numbers of element `i`.
static void decode_element(const gltf_accessor *accessor, const uint8_t *bytes, size_t i, const destination *to) {
  size_t size = sn_gltf_component_size(accessor->component), at = i * (size_t)accessor->width;
  for (int k = 0; k < accessor->width; k++, bytes += size, at++) {
    if (to->floats) to->floats[at] = float_at(bytes, accessor->component, to->normalize);
    if (to->integers) to->integers[at] = (uint32_t)integer_at(bytes, accessor->component);
  }
}

static void decode(sn_reader *r, const gltf_accessor *accessor, int index, const destination *to) {
  size_t width = (size_t)accessor->width, element = width * sn_gltf_component_size(accessor->component);
  size_t size = sn_gltf_component_size(accessor->sparse_component);
  void *out = to->floats ? (void *)to->floats : to->integers;
  if (!accessor->bytes) memset(out, 0, (size_t)accessor->count * width * sizeof(float));
  for (size_t i = 0; accessor->bytes && i < (size_t)accessor->count; i++)
    decode_element(accessor, accessor->bytes + i * accessor->stride, i, to);
  for (int64_t i = 0, before = -1; i < accessor->sparse_count && r->status == SN_OK; i++) { // indices must ascend
    int64_t at = integer_at(accessor->sparse_indices + (size_t)i * size, accessor->sparse_component);
    if (at > before && at < accessor->count) {
      decode_element(accessor, accessor->sparse_values + (size_t)i * element, (size_t)at, to);
    } else {
      sn_fail_once(r, SN_BAD_FILE, "accessor %d: sparse index %d is %lld, must be from %lld to %d", index, (int)i,
                   (long long)at, (long long)before + 1, accessor->count - 1);
    }
    before = at;
  }
}

void sn_gltf_floats(sn_reader *r, const sn_gltf *gltf, int index, bool normalize, float *out) {
  if (r->status != SN_OK) return;
  const gltf_accessor *accessor = &gltf->accessors[index];
  size_t width = (size_t)accessor->width, total = (size_t)accessor->count * width;
  decode(r, accessor, index, &(destination){out, NULL, normalize || accessor->normalized});
  for (size_t k = 0; k < total && r->status == SN_OK; k++)
    if (!isfinite(out[k])) sn_fail_once(r, SN_BAD_FILE, "accessor %d: element %zu is not finite", index, k / width);
}

const float *sn_gltf_floats_kept(sn_gltf *gltf, int index, bool normalize) {
  const gltf_accessor *accessor = &gltf->accessors[index];
  size_t total = (size_t)accessor->count * (size_t)accessor->width;
  if (!gltf->decoded[index] && sn_gltf_spend(gltf, total, sizeof(float))) {
    gltf->decoded[index] = SN_TAKE(&gltf->reader, &gltf->memory, float, total);
    sn_gltf_floats(&gltf->reader, gltf, index, normalize, gltf->decoded[index]);
  }
  return gltf->reader.status == SN_OK ? gltf->decoded[index] : NULL;
}

void sn_gltf_integers(sn_reader *r, const sn_gltf *gltf, int index, uint32_t *out) {
  if (r->status == SN_OK) decode(r, &gltf->accessors[index], index, &(destination){NULL, out, false});
}
