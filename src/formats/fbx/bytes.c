// SPDX-License-Identifier: MIT
// Encodes nodes and properties of binary FBX.
#include "formats/fbx/bytes.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { node_header = 13 }; // end offset, number of properties, their size, length of the name
static const uint8_t zeros[128] = {0}, version[4] = {FBX_VERSION & 255, FBX_VERSION >> 8};

static void put(fbx *f, const void *bytes, size_t size) { sn_append(f->ctx, &f->status, &f->out, bytes, size); }

static void put_number(fbx *f, uint64_t value, int size) { put(f, &value, (size_t)size); } // little-endian

// Overwrites a 32-bit number at an offset.
static void store(fbx *f, size_t at, uint64_t value) {
  if (f->status == SN_OK) memcpy(f->out.bytes + at, &value, 4);
}

static size_t file_position(const fbx *f) { return f->out.size + 27; } // after the header

static void put_array(fbx *f, char type, const void *values, size_t count) {
  size_t width = type == 'd' || type == 'l' ? 8 : 4;
  put_number(f, count, 4);
  put_number(f, 0, 4); // uncompressed
  put_number(f, count * width, 4);
  put(f, values, count * width);
}

// Writes one property after its type byte.
static void put_property(fbx *f, char type, va_list *list) {
  const char *text = strchr("SN", type) ? va_arg(*list, const char *) : NULL;
  const char *kind = type == 'N' ? va_arg(*list, const char *) : NULL;
  bool given = strchr("Rilfd", type);
  const void *bytes = given ? va_arg(*list, const void *) : text;
  size_t size = given ? va_arg(*list, size_t) : text ? strlen(text) : 0;
  if (type == 'I') {
    put_number(f, (uint32_t)va_arg(*list, int), 4);
  } else if (type == 'L') {
    put_number(f, (uint64_t)va_arg(*list, int64_t), 8);
  } else if (type == 'D') {
    double value = va_arg(*list, double);
    put(f, &value, sizeof value);
  } else if (strchr("SNR", type)) {
    put_number(f, kind ? size + 2 + strlen(kind) : size, 4);
    put(f, bytes, size);
    if (kind) put(f, "\0\1", 2), put(f, kind, strlen(kind));
  } else {
    put_array(f, type, bytes, size);
  }
}

// Writes a literal value or the argument of a %; returns the text after it.
static const char *put_value(fbx *f, const char *text, va_list *list) {
  char *end = strchr(text + 1, '\'');
  if (*text == '%') {
    put(f, text[1] == 'N' ? "S" : text + 1, 1);
    put_property(f, text[1], list);
    return text + 2;
  }
  if (*text == '\'') {
    size_t size = (size_t)(end - text) - 1;
    put(f, "S", 1), put_number(f, size, 4), put(f, text + 1, size);
    return end + 1;
  }
  put(f, "I", 1), put_number(f, (uint32_t)strtol(text, &end, 10), 4);
  return end;
}

static void end_node(fbx *f, bool has_children) {
  if (has_children) put(f, zeros, node_header);
  store(f, f->open[--f->depth], file_position(f));
}

// Writes a node with its values; returns the text after them.
static const char *put_node(fbx *f, const char *text, va_list *list) {
  size_t start = f->out.size, name = strcspn(text, ":"), count = 0;
  put(f, zeros, node_header - 1);
  put_number(f, name, 1);
  put(f, text, name);
  size_t values = f->out.size;
  for (text += name + 1; text += strspn(text, " ,"), *text && strchr("%'-0123456789", *text); count++)
    text = put_value(f, text, list);
  f->open[f->depth++] = start;
  store(f, start + 4, count);
  store(f, start + 8, f->out.size - values);
  if (*text == '{') return text + 1;
  end_node(f, false);
  return text;
}

void sn_fbx_put(fbx *f, const char *text, ...) {
  va_list list;
  va_start(list, text);
  while (*(text += strspn(text, " "))) {
    bool ends = *text == '}';
    if (ends) end_node(f, true);
    text = ends ? text + 1 : put_node(f, text, &list);
  }
  va_end(list);
}

// Footer: 16 fixed bytes, zeros up to a multiple of 16, the version, zeros, and the closing bytes that readers check.
static void write_footer(sn_writer *writer, size_t size) {
  static const uint8_t first[16] = {0xfa, 0xbc, 0xab, 0x09, 0xd0, 0xc8, 0xd4, 0x66,
                                    0xb1, 0x76, 0xfb, 0x83, 0x1c, 0xf7, 0x26, 0x7e},
                       last[16] = {0xf8, 0x5a, 0x8c, 0x6a, 0xde, 0xf5, 0xd9, 0x7e,
                                   0xec, 0xe9, 0x0c, 0xe3, 0x75, 0x8f, 0x29, 0x0b};
  sn_write(writer, first, sizeof first);
  sn_write(writer, zeros, 4);
  sn_write(writer, zeros, 16 - (size + sizeof first + 4) % 16);
  sn_write(writer, version, 4);
  sn_write(writer, zeros, 120);
  sn_write(writer, last, sizeof last);
}

sn_status sn_fbx_save(fbx *f, const char *path) {
  put(f, zeros, node_header);
  sn_status status = f->status;
  if (status == SN_OK && file_position(f) > UINT32_MAX) {
    status = sn_fail(f->ctx, SN_UNSUPPORTED, "%s: an FBX cannot have more than 4 GB; write .glb or .abc", path);
  }
  sn_writer writer;
  if (status == SN_OK) status = sn_writer_open(f->ctx, path, &writer);
  if (status == SN_OK) {
    sn_write(&writer, "Kaydara FBX Binary  \0\x1a\0", 23);
    sn_write(&writer, version, 4);
    sn_write(&writer, f->out.bytes, f->out.size);
    write_footer(&writer, file_position(f));
    status = sn_writer_commit(f->ctx, &writer);
  }
  sn_arena_free(&f->out.memory);
  return status;
}
