// SPDX-License-Identifier: MIT
// Writes an Alembic archive: one polygon mesh below an identity transform, its points at every frame. Samples come first, in one
// pass; the tables with their positions follow, and their size is known in advance.
#include "formats/abc/abc.h"
#include "formats/common/adjust.h"

#include <string.h>

enum { header_size = 16, digest_size = 16, block_size = 8 + digest_size, bounds_size = 6 * sizeof(double) };
static const uint64_t data_bit = UINT64_C(1) << 63;

// The part of the file after the samples. Numbers are little-endian, as in memory.
typedef struct tail {
  sn_context *ctx;
  sn_status status;
  sn_growing out;
  uint64_t start; // position in the file
} tail;

static uint64_t position(const tail *t) { return t->start + t->out.size; }

static void put(tail *t, const void *bytes, size_t size) { sn_append(t->ctx, &t->status, &t->out, bytes, size); }

static void put_number(tail *t, uint64_t value, int size) { put(t, &value, (size_t)size); }

static void put_double(tail *t, double value) { put(t, &value, sizeof value); }

// Begins data whose size is known only when it is complete.
static uint64_t begin_data(tail *t) {
  put_number(t, 0, 8);
  return position(t) - 8;
}

static uint64_t end_data(tail *t, uint64_t start) {
  uint64_t size = position(t) - start - 8;
  if (t->status == SN_OK) memcpy(t->out.bytes + (start - t->start), &size, sizeof size);
  return start | data_bit;
}

static uint64_t put_group(tail *t, int count, const uint64_t *children) {
  uint64_t at = position(t);
  put_number(t, (uint64_t)count, 8);
  for (int k = 0; k < count; k++) put_number(t, children[k], 8);
  return at;
}

// ---- digests -------------------------------------------------------------------------------------------------------------

// Readers tell samples apart by these 16 bytes: equal for equal data and, with near certainty, different otherwise.
typedef struct digest {
  uint64_t a, b;
} digest;

static uint64_t stir(uint64_t x) {
  x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
  return x ^ x >> 32;
}

static digest digest_of(const void *bytes, size_t size) {
  const uint8_t *p = bytes;
  digest d = {size, ~(uint64_t)size};
  for (size_t at = 0; at < size; at += 8) {
    uint64_t word = 0;
    memcpy(&word, p + at, size - at < 8 ? size - at : 8);
    d.a = stir(d.a ^ word);
    d.b = stir((d.b + word) * UINT64_C(0x9e3779b97f4a7c15) + 1);
  }
  return d;
}

static void put_digest(tail *t, digest d) { put(t, &d, sizeof d); }

// ---- headers -------------------------------------------------------------------------------------------------------------

// Metadata that headers refer to by number; 0 is empty.
enum { meta_none, meta_transform, meta_transform_object, meta_mesh, meta_mesh_object, meta_box, meta_points };
#define MESH "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1"
static const char *const metas[] = {"schema=AbcGeom_Xform_v3",
                                    "schema=AbcGeom_Xform_v3;schemaObjTitle=AbcGeom_Xform_v3:.xform",
                                    MESH,
                                    MESH ";schemaObjTitle=AbcGeom_PolyMesh_v1:.geom",
                                    "interpretation=box",
                                    "geoScope=vtx;interpretation=point"};

enum { of_compound = 0, of_scalar = 1, of_array = 2 };

typedef struct property {
  const char *name;
  int type, pod, extent, samples, meta;
} property;

// Writes the headers of a compound's properties.
static uint64_t put_properties(tail *t, int count, const property *list) {
  enum { wide = 2 << 2, timed = 0x100, constant = 0x800 };
  uint64_t start = begin_data(t);
  for (const property *p = list; p < list + count; p++) {
    uint32_t info = (uint32_t)(p->type | wide | p->pod << 4 | p->extent << 12 | p->meta << 20);
    if (p->type != of_compound) info |= timed | (p->samples == 1 ? constant : 0);
    put_number(t, info, 4);
    if (p->type != of_compound) put_number(t, (uint64_t)p->samples, 4);
    if (p->type != of_compound) put_number(t, 1, 4); // time sampling 1: that of the frames
    put_number(t, strlen(p->name), 4);
    put(t, p->name, strlen(p->name));
  }
  return end_data(t, start);
}

// Writes the group of an object: its properties, optionally a child, and the child's header with the object's digests.
static uint64_t put_object(tail *t, uint64_t properties, uint64_t child, const char *name, int meta, digest d) {
  uint64_t headers = begin_data(t);
  if (child) {
    put_number(t, strlen(name), 4);
    put(t, name, strlen(name));
    put_number(t, (uint64_t)meta, 1);
  }
  put_digest(t, d);
  put_digest(t, child ? d : (digest){0});
  headers = end_data(t, headers);
  if (!child) return put_group(t, 2, (uint64_t[]){properties, headers});
  return put_group(t, 3, (uint64_t[]){properties, child, headers});
}

// ---- parts ----------------------------------------------------------------------------------------------------------------

// Position of the samples of frame f: points, then the bounding box.
static uint64_t points_at(int vertices, int f) {
  uint64_t stride = 2 * (uint64_t)block_size + bounds_size + 12 * (uint64_t)vertices;
  return header_size + (uint64_t)f * stride;
}

static uint64_t bounds_at(int vertices, int f) {
  return points_at(vertices, f) + block_size + 12 * (uint64_t)vertices;
}

static uint64_t put_samples(tail *t, int vertices, int frames, bool array) {
  uint64_t at = position(t);
  put_number(t, (uint64_t)frames * (array ? 2 : 1), 8);
  for (int f = 0; f < frames; f++) {
    put_number(t, (array ? points_at : bounds_at)(vertices, f) | data_bit, 8);
    if (array) put_number(t, data_bit, 8); // one dimension: empty
  }
  return at;
}

// Writes face indices, or counts (`triangles` NULL), as the only sample of an array.
static uint64_t put_indices(tail *t, const int (*triangles)[3], int count) {
  uint64_t start = begin_data(t), numbers = t->out.size + digest_size;
  put_digest(t, (digest){0});
  for (int k = 0; k < count; k++) {
    for (int c = 2; triangles && c >= 0; c--) put_number(t, (uint64_t)triangles[k][c], 4); // clockwise
    if (!triangles) put_number(t, 3, 4);                                                   // corners per face
  }
  if (t->status != SN_OK) return 0;
  digest d = digest_of(t->out.bytes + numbers, t->out.size - numbers);
  memcpy(t->out.bytes + numbers - digest_size, &d, digest_size);
  return put_group(t, 2, (uint64_t[]){end_data(t, start), data_bit});
}

static uint64_t put_geometry(tail *t, const sn_mesh *mesh, int frames) {
  uint64_t parts[5] = {put_samples(t, mesh->vertex_count, frames, false),
                       put_samples(t, mesh->vertex_count, frames, true),
                       put_indices(t, (const int(*)[3])mesh->triangles, mesh->triangle_count),
                       put_indices(t, NULL, mesh->triangle_count)};
  const property list[] = {{".selfBnds", of_scalar, ABC_FLOAT64, 6, frames, meta_box},
                           {"P", of_array, ABC_FLOAT32, 3, frames, meta_points},
                           {".faceIndices", of_array, ABC_INT32, 1, 1, meta_none},
                           {".faceCounts", of_array, ABC_INT32, 1, 1, meta_none}};
  parts[4] = put_properties(t, 4, list);
  return put_group(t, 5, parts);
}

// Writes the properties of an object: one compound, its schema.
static uint64_t put_schema(tail *t, const char *name, uint64_t compound, int meta) {
  uint64_t headers = put_properties(t, 1, &(property){.name = name, .type = of_compound, .meta = meta});
  return put_group(t, 2, (uint64_t[]){compound, headers});
}

static uint64_t put_data(tail *t, const void *bytes, size_t size) {
  uint64_t start = begin_data(t);
  put(t, bytes, size);
  return end_data(t, start);
}

static uint64_t put_times(tail *t, int frames, double rate) {
  uint64_t start = begin_data(t);
  for (int k = 0; k < 2; k++) { // the first sampling is the same in every archive
    put_number(t, k ? (uint64_t)frames : 1, 4);
    put_double(t, k ? 1 / rate : 1);
    put_number(t, 1, 4);
    put_double(t, 0);
  }
  return end_data(t, start);
}

static uint64_t put_metas(tail *t) {
  uint64_t start = begin_data(t);
  for (size_t k = 0; k < sizeof metas / sizeof *metas; k++) {
    put_number(t, strlen(metas[k]), 1);
    put(t, metas[k], strlen(metas[k]));
  }
  return end_data(t, start);
}

// Writes everything after the samples; returns the root's position, which does not depend on the digest.
static uint64_t put_tail(tail *t, const sn_mesh *mesh, int frames, double rate, digest d) {
  static const char application[] = "_ai_AlembicVersion=1.8.0;_ai_Application=Sinew " SN_VERSION;
  static const uint8_t file_version[4] = {0}, library_version[4] = {10800 & 255, 10800 >> 8};
  t->out.size = 0;
  uint64_t geometry = put_schema(t, ".geom", put_geometry(t, mesh, frames), meta_mesh);
  uint64_t object = put_object(t, geometry, 0, NULL, 0, d);
  uint64_t transform = put_schema(t, ".xform", 0, meta_transform);
  object = put_object(t, transform, object, "meshShape", meta_mesh_object, d);
  object = put_object(t, 0, object, "mesh", meta_transform_object, d);
  uint64_t version = put_data(t, file_version, 4), library = put_data(t, library_version, 4);
  uint64_t program = put_data(t, application, sizeof application - 1);
  uint64_t times = put_times(t, frames, rate), words = put_metas(t);
  return put_group(t, 6, (uint64_t[]){version, library, object, program, times, words});
}

// ---- samples --------------------------------------------------------------------------------------------------------------

static digest write_block(sn_writer *writer, const void *bytes, size_t size) {
  digest d = digest_of(bytes, size);
  const uint64_t head[] = {digest_size + size, d.a, d.b};
  sn_write(writer, head, sizeof head);
  sn_write(writer, bytes, size);
  return d;
}

typedef struct sample_writer {
  sn_writer writer;
  int vertex_count;
  digest all;
} sample_writer;

static sn_status write_sample(void *user, int f, const float (*positions)[3]) {
  (void)f;
  sample_writer *w = user;
  sn_vec3 low, high;
  sn_points_bounds(positions, w->vertex_count, &low, &high);
  double bounds[6] = {low.x, low.y, low.z, high.x, high.y, high.z};
  digest d = write_block(&w->writer, positions, (size_t)w->vertex_count * sizeof *positions);
  write_block(&w->writer, bounds, sizeof bounds);
  w->all = (digest){stir(w->all.a ^ d.a), stir(w->all.b + d.b)};
  return SN_OK;
}

sn_status sn_abc_write(sn_context *ctx, const char *path, sn_stream *frames, const sn_mesh *mesh) {
  if (!mesh || mesh->vertex_count != frames->vertex_count || mesh->triangle_count == 0) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s: an Alembic mesh has faces, and there are none for these %d vertices", path,
                   frames->vertex_count);
  }
  int count = frames->frame_count;
  double rate = frames->rate > 0 ? frames->rate : SN_DEFAULT_FPS;
  tail t = {.ctx = ctx, .start = points_at(mesh->vertex_count, count)};
  sample_writer w = {.vertex_count = mesh->vertex_count};
  SN_TRY(sn_writer_open(ctx, path, &w.writer));
  uint64_t root = put_tail(&t, mesh, count, rate, w.all);
  sn_write(&w.writer, "Ogawa\xff\x00\x01", 8);
  sn_write(&w.writer, &root, sizeof root);
  sn_status status = t.status == SN_OK ? sn_stream_each(ctx, frames, write_sample, &w) : t.status;
  if (status == SN_OK) {
    put_tail(&t, mesh, count, rate, w.all);
    sn_write(&w.writer, t.out.bytes, t.out.size);
    status = sn_writer_commit(ctx, &w.writer);
  } else {
    sn_writer_abort(ctx, &w.writer);
  }
  sn_arena_free(&t.out.memory);
  return status;
}
