// SPDX-License-Identifier: MIT
// Small Alembic archives, put together by hand: what the tests of the reader need and the writer does not write.
#ifndef SINEW_TEST_ABC_ARCHIVE_H
#define SINEW_TEST_ABC_ARCHIVE_H

#include <stdint.h>
#include <string.h>

typedef struct archive {
  uint8_t bytes[1 << 16];
  uint64_t used;
} archive;

#define ARCHIVE_DATA (UINT64_C(1) << 63)

static inline void put_bytes(archive *a, const void *bytes, size_t size) {
  memcpy(a->bytes + a->used, bytes, size);
  a->used += size;
}

static inline void put_u(archive *a, uint64_t value, int size) {
  for (int k = 0; k < size; k++) a->bytes[a->used++] = (uint8_t)(value >> (8 * k));
}

static inline uint64_t put_data(archive *a, const void *bytes, size_t size) {
  uint64_t at = a->used;
  put_u(a, size, 8);
  put_bytes(a, bytes, size);
  return at | ARCHIVE_DATA;
}

static inline uint64_t put_children(archive *a, int count, const uint64_t *children) {
  uint64_t at = a->used;
  put_u(a, (uint64_t)count, 8);
  for (int k = 0; k < count; k++) put_u(a, children[k], 8);
  return at;
}

// A property or an object in the making.
typedef struct made {
  const char *name, *meta;
  uint32_t info, samples, timing; // info 0: a compound
  uint64_t position;
} made;

// `samples` blocks of `size` bytes each; type 1 scalar, 2 array.
static inline made make_property(archive *a, const char *name, int type, int pod, int extent, int samples,
                                 const void *values, size_t size, uint32_t timing) {
  uint64_t children[64];
  int count = 0;
  for (int s = 0; s < samples; s++) {
    uint8_t block[4096] = {0};
    memcpy(block + 16, (const uint8_t *)values + (size_t)s * size, size);
    children[count++] = put_data(a, block, 16 + size);
    if (type == 2) children[count++] = ARCHIVE_DATA;
  }
  uint32_t info = (uint32_t)(type | 2 << 2 | pod << 4 | extent << 12) | 0x100u | 0xff00000u;
  return (made){
    name, "", info | (samples == 1 ? 0x800u : 0), (uint32_t)samples, timing, put_children(a, count, children)};
}

static inline made make_compound(archive *a, const char *name, const char *meta, int count, const made *parts) {
  uint64_t children[16];
  uint8_t headers[2048];
  archive *h = &(archive){0};
  for (int k = 0; k < count; k++) {
    const made *p = &parts[k];
    put_u(h, p->info ? p->info : (2u << 2 | 0xff00000u), 4);
    if (p->info) put_u(h, p->samples, 4), put_u(h, p->timing, 4);
    put_u(h, strlen(p->name), 4), put_bytes(h, p->name, strlen(p->name));
    put_u(h, strlen(p->meta), 4), put_bytes(h, p->meta, strlen(p->meta));
    children[k] = p->position;
  }
  memcpy(headers, h->bytes, h->used);
  children[count] = put_data(a, headers, h->used);
  return (made){name, meta, 0, 0, 0, put_children(a, count + 1, children)};
}

static inline made make_object(archive *a, const char *name, const char *meta, made properties, int count,
                               const made *objects) {
  uint64_t children[16] = {properties.position};
  archive *h = &(archive){0};
  for (int k = 0; k < count; k++) {
    put_u(h, strlen(objects[k].name), 4), put_bytes(h, objects[k].name, strlen(objects[k].name));
    put_u(h, 0xff, 1);
    put_u(h, strlen(objects[k].meta), 4), put_bytes(h, objects[k].meta, strlen(objects[k].meta));
    children[k + 1] = objects[k].position;
  }
  h->used += 32;
  children[count + 1] = put_data(a, h->bytes, h->used);
  return (made){name, meta, 0, 0, 0, put_children(a, count + 2, children)};
}

static inline void begin_archive(archive *a) {
  memset(a, 0, sizeof *a);
  put_bytes(a, "Ogawa\xff\x00\x01", 8);
  put_u(a, 0, 8);
}

static inline void end_archive(archive *a, made top, const void *timings, size_t timings_size) {
  uint32_t zero = 0, library = 10800;
  uint64_t parts[6] = {put_data(a, &zero, 4), put_data(a, &library, 4),           top.position,
                       put_data(a, "", 0),    put_data(a, timings, timings_size), put_data(a, "", 0)};
  uint64_t root = put_children(a, 6, parts);
  memcpy(a->bytes + 8, &root, 8);
}

#endif
