// SPDX-License-Identifier: MIT
// Declarations shared by the Alembic files. Ogawa is a little-endian tree of groups and data in one file. It is read from the
// memory map, so every position and count is checked before it is followed.
#ifndef SINEW_FORMATS_ABC_ABC_H
#define SINEW_FORMATS_ABC_ABC_H

#include "formats/common/reader.h"
#include "sinew/formats.h"

// Number types (POD), as the file numbers them.
enum { ABC_UINT8 = 1, ABC_UINT32 = 5, ABC_INT32 = 6, ABC_FLOAT32 = 10, ABC_FLOAT64 = 11 };

// A range of bytes of the file.
typedef struct abc_span {
  const uint8_t *bytes;
  uint64_t size, count; // count: elements of a sample
} abc_span;

typedef struct abc_property {
  bool found;
  abc_span name, meta;
  int type;             // 0 compound, 1 scalar, 2 array, 3 array whose samples have one element
  int pod, extent;      // kind of number, numbers per element
  uint32_t samples;     // number over time; repeated samples are stored once
  uint32_t first, last; // the first and last sample that differ from the one before; 0, 0: constant
  uint32_t timing;      // index of the time sampling
  uint64_t position;    // of its group
} abc_property;

// uniform: one time; cyclic: several times within a period; acyclic: every time.
typedef struct abc_timing {
  double period;
  bool acyclic;
  uint32_t count;
  const uint8_t *times;
} abc_timing;

typedef enum abc_kind {
  abc_other, // any other schema, only listed
  abc_transform,
  abc_polygons,
  abc_subdivision,
  abc_face_set
} abc_kind;

typedef struct abc_object {
  sn_abc_object info;
  abc_kind kind;
  abc_property points, counts, indices, uvs, normals; // of meshes
  abc_property ops, values, inherits;                 // of transforms
  abc_property faces;                                 // of face sets
  bool chosen;
  int first_vertex; // in the joined mesh, if chosen
} abc_object;

// After a failure nothing more is read, so `status` need only be checked once.
struct sn_abc {
  sn_context *ctx; // of the current call
  sn_status status;
  const char *name; // for messages
  const uint8_t *bytes;
  uint64_t size;
  int timing_count, object_count;
  abc_timing *timings;
  int meta_count;
  abc_span *metas;
  abc_object *objects;
  sn_growing object_list; // which they are
  uint64_t root;          // group of the top object
  int vertex_count, triangle_count, frame_count;
  double *times; // of the frames
  sn_file file;  // the archive's file; a large one is memory-mapped
  sn_arena memory;
};

// ---- container (ogawa.c) -----------------------------------------------------------------------------------------

// Begins a public call. sn_abc_fail reports an error like sn_fail, unless one was reported before.
void sn_abc_begin(sn_context *ctx, sn_abc *abc);
#define sn_abc_fail(abc, code, ...)                                                                                  \
  ((abc)->status == SN_OK ? (void)(sn_fail((abc)->ctx, code, __VA_ARGS__), sn_abc_failed(abc)) : (void)0)
void sn_abc_failed(sn_abc *abc); // takes over the context's error
void sn_abc_damaged(sn_abc *abc, uint64_t position, const char *what);
// After a failure, everything read is empty, 0 or not found. Number of children of a group:
uint64_t sn_abc_group(sn_abc *abc, uint64_t position);
// Child k of a group whose count was read: the position of a group, or of data if the top bit is set.
uint64_t sn_abc_child(const sn_abc *abc, uint64_t group, uint64_t k);
abc_span sn_abc_data(sn_abc *abc, uint64_t child);
uint64_t sn_abc_child_group(sn_abc *abc, uint64_t group, uint64_t k);
double sn_abc_f64(const uint8_t *p);
bool sn_abc_is(abc_span span, const char *text);
// The value of `key` in "key=value;key=value"; empty if missing.
abc_span sn_abc_meta(abc_span meta, const char *key);

abc_span sn_abc_take_text(sn_cursor *c, uint32_t size);
// Metadata by number or, for `number` 255, inline after a length of `width` bytes.
abc_span sn_abc_take_meta(sn_cursor *c, const sn_abc *abc, uint32_t number, int width);

// The property of that name in a compound; found is false if there is none. A compound at position 0 is empty.
abc_property sn_abc_find(sn_abc *abc, uint64_t compound, const char *name);
// The data of a sample without its digest: elements of `extent` numbers.
abc_span sn_abc_sample(sn_abc *abc, const abc_property *property, uint32_t sample);
bool sn_abc_has_samples(const abc_property *property); // found, not a compound, at least one sample
double sn_abc_time(const sn_abc *abc, const abc_property *property, uint32_t sample);
// The sample at or before time t, and the interpolation fraction to the next.
uint32_t sn_abc_sample_at(const sn_abc *abc, const abc_property *property, double t, double *fraction);

// ---- objects (open.c) and chosen meshes (frames.c) -----------------------------------------------------------

// Faces of the mesh: checked counts and indices of its first sample.
typedef struct abc_faces {
  uint64_t face_count, corner_count, triangle_count;
  const uint8_t *counts, *indices;
} abc_faces;
abc_faces sn_abc_faces(sn_abc *abc, const abc_object *object);
sn_affine sn_abc_world(sn_abc *abc, int object, double t);
void sn_abc_place(sn_abc *abc, double t, float (*out)[3]); // positions of the chosen meshes

#endif
