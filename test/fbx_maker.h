// SPDX-License-Identifier: MIT
// Writes small FBX files for tests: as text, or binary with records of 32 or 64 bits, arrays packed or not.
#ifndef SINEW_TEST_FBX_MAKER_H
#define SINEW_TEST_FBX_MAKER_H

#include "check.h"

#include <zlib.h>

typedef enum maker_kind { FBX_TEXT, FBX_BINARY, FBX_WIDE, FBX_PACKED, FBX_KINDS } maker_kind;

typedef struct maker {
  maker_kind kind;
  uint8_t *bytes;
  size_t size;
  int depth;
  struct {
    size_t start, values;
    int count;
    bool closed; // its values are complete
  } open[16];
} maker;

static inline void maker_put(maker *m, const void *bytes, size_t size) {
  m->bytes = realloc(m->bytes, m->size + size + 1);
  assert_non_null(m->bytes);
  memcpy(m->bytes + m->size, bytes, size);
  m->size += size;
}

static inline void maker_print(maker *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline void maker_print(maker *m, const char *format, ...) {
  char text[8192];
  va_list list;
  va_start(list, format);
  int size = vsnprintf(text, sizeof text, format, list);
  va_end(list);
  assert_true(size >= 0 && size < (int)sizeof text);
  maker_put(m, text, (size_t)size);
}

static inline int maker_width(const maker *m) { return m->kind == FBX_WIDE ? 8 : 4; }

static inline void maker_number(maker *m, uint64_t value, int size) {
  uint8_t bytes[8];
  for (int k = 0; k < size; k++) bytes[k] = (uint8_t)(value >> 8 * k);
  maker_put(m, bytes, (size_t)size);
}

static inline void maker_patch(maker *m, size_t at, uint64_t value) {
  for (int k = 0; k < maker_width(m); k++) m->bytes[at + (size_t)k] = (uint8_t)(value >> 8 * k);
}

static inline maker maker_new(maker_kind kind) {
  maker m = {.kind = kind};
  if (kind == FBX_TEXT) {
    maker_print(&m, "; FBX 7.4.0 project file\n");
  } else {
    maker_put(&m, "Kaydara FBX Binary  \0\x1a\0", 23);
    maker_number(&m, kind == FBX_WIDE ? 7700 : 7400, 4);
  }
  return m;
}

// The values of the innermost node are complete: children follow, or its end.
static inline void maker_close(maker *m, bool children) {
  if (m->depth == 0 || m->open[m->depth - 1].closed) return;
  m->open[m->depth - 1].closed = children || m->kind != FBX_TEXT;
  if (m->kind == FBX_TEXT) {
    if (children) maker_print(m, " {\n");
    return;
  }
  size_t start = m->open[m->depth - 1].start, width = (size_t)maker_width(m);
  maker_patch(m, start + width, (uint64_t)m->open[m->depth - 1].count);
  maker_patch(m, start + 2 * width, m->size - m->open[m->depth - 1].values);
}

static inline void fbx_begin(maker *m, const char *name) {
  maker_close(m, true);
  m->open[m->depth].start = m->size, m->open[m->depth].count = 0, m->open[m->depth].closed = false;
  if (m->kind == FBX_TEXT) {
    maker_print(m, "%s: ", name);
  } else {
    for (int k = 0; k < 3; k++) maker_number(m, 0, maker_width(m));
    maker_number(m, strlen(name), 1);
    maker_put(m, name, strlen(name));
  }
  m->open[m->depth++].values = m->size;
}

static inline void fbx_end(maker *m) {
  bool had_children = m->kind == FBX_TEXT && m->open[m->depth - 1].closed;
  maker_close(m, false);
  m->depth--;
  if (m->kind == FBX_TEXT) {
    maker_print(m, had_children ? "}\n" : "\n");
  } else {
    maker_patch(m, m->open[m->depth].start, m->size);
  }
}

static inline void maker_value(maker *m, char type) {
  bool first = m->open[m->depth - 1].count++ == 0;
  if (m->kind == FBX_TEXT) {
    if (!first) maker_print(m, ", ");
  } else {
    maker_put(m, &type, 1);
  }
}

static inline void fbx_integer(maker *m, int64_t value) {
  maker_value(m, 'L');
  if (m->kind == FBX_TEXT) {
    maker_print(m, "%lld", (long long)value);
  } else {
    maker_number(m, (uint64_t)value, 8);
  }
}

static inline void fbx_real(maker *m, double value) {
  maker_value(m, 'D');
  if (m->kind == FBX_TEXT) {
    maker_print(m, "%.17g", value);
  } else {
    maker_put(m, &value, 8);
  }
}

static inline void fbx_text(maker *m, const char *text) {
  maker_value(m, 'S');
  if (m->kind == FBX_TEXT) {
    maker_print(m, "\"%s\"", text);
  } else {
    maker_number(m, strlen(text), 4);
    maker_put(m, text, strlen(text));
  }
}

// 'd' from double, 'i' from int32_t, 'l' from int64_t, 'f' from float.
static inline void fbx_array(maker *m, char type, const void *values, size_t count) {
  size_t size = count * (type == 'd' || type == 'l' ? 8 : 4);
  maker_value(m, type);
  if (m->kind == FBX_TEXT) {
    maker_print(m, "*%zu { a: ", count);
    for (size_t k = 0; k < count; k++) {
      if (k > 0) maker_print(m, ",");
      if (type == 'd') maker_print(m, "%.17g", ((const double *)values)[k]);
      if (type == 'f') maker_print(m, "%.9g", (double)((const float *)values)[k]);
      if (type == 'i') maker_print(m, "%d", ((const int32_t *)values)[k]);
      if (type == 'l') maker_print(m, "%lld", (long long)((const int64_t *)values)[k]);
    }
    maker_print(m, "}");
    return;
  }
  uLongf packed = compressBound(size);
  uint8_t *bytes = malloc(packed);
  assert_int_equal(compress(bytes, &packed, values, size), Z_OK);
  bool pack = m->kind == FBX_PACKED;
  maker_number(m, count, 4);
  maker_number(m, pack, 4);
  maker_number(m, pack ? packed : size, 4);
  maker_put(m, pack ? bytes : values, pack ? packed : size);
  free(bytes);
}

static inline void fbx_named_array(maker *m, const char *name, char type, const void *values, size_t count) {
  fbx_begin(m, name);
  fbx_array(m, type, values, count);
  fbx_end(m);
}

static inline void fbx_named_text(maker *m, const char *name, const char *text) {
  fbx_begin(m, name);
  fbx_text(m, text);
  fbx_end(m);
}

// An object with its number, name and type; ended by fbx_end.
static inline void fbx_object_begin(maker *m, const char *kind, int64_t id, const char *name, const char *type) {
  char text[600];
  fbx_begin(m, kind);
  fbx_integer(m, id);
  snprintf(text, sizeof text, m->kind == FBX_TEXT ? "%2$s::%1$s" : "%s", name, kind);
  fbx_text(m, text);
  fbx_text(m, type);
}

static inline void fbx_property(maker *m, const char *name, int count, const double *values) {
  fbx_begin(m, "P");
  fbx_text(m, name);
  for (int k = 0; k < 3; k++) fbx_text(m, "");
  for (int k = 0; k < count; k++) fbx_real(m, values[k]);
  fbx_end(m);
}

// `property` NULL: to the object itself.
static inline void fbx_connect(maker *m, int64_t child, int64_t parent, const char *property) {
  fbx_begin(m, "C");
  fbx_text(m, property ? "OP" : "OO");
  fbx_integer(m, child);
  fbx_integer(m, parent);
  if (property) fbx_text(m, property);
  fbx_end(m);
}

static inline void fbx_head(maker *m) {
  fbx_begin(m, "FBXHeaderExtension");
  fbx_begin(m, "FBXVersion");
  fbx_integer(m, 7400);
  fbx_end(m);
  fbx_end(m);
  fbx_begin(m, "GlobalSettings");
  fbx_begin(m, "Properties70");
  fbx_property(m, "TimeMode", 1, (double[]){11}); // 24 frames per second
  fbx_property(m, "UnitScaleFactor", 1, (double[]){1});
  fbx_end(m);
  fbx_end(m);
}

// The end of the list of nodes.
static inline void fbx_finish(maker *m) {
  if (m->kind == FBX_TEXT) return;
  for (int k = 0; k < 3; k++) maker_number(m, 0, maker_width(m));
  maker_number(m, 0, 1);
}

#endif
