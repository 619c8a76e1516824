// SPDX-License-Identifier: MIT
// Opens an Alembic archive: reads its tables and lists its objects.
#include "formats/abc/abc.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { max_depth = 200, max_objects = 1000000, max_samples = 1000000, max_path = 4096 };

static char *text_of(sn_abc *abc, abc_span span) {
  char *out = SN_ROOM(abc, &abc->memory, span.size + 1, 1);
  if (out) memcpy(out, span.bytes, span.size);
  for (char *c = out; c && *c; c++)
    if ((unsigned char)*c < ' ') *c = '?'; // names are printed: no control characters
  return out;
}

// ---- tables ---------------------------------------------------------------------------------------------------------

// Per time sampling: the number of samples (unused), the period, a count and that many times.
static void read_timings(sn_abc *abc, abc_span data) {
  const uint8_t *p = data.bytes, *end = p + data.size;
  abc->timings = SN_ROOM(abc, &abc->memory, data.size / 16 + 1, sizeof *abc->timings);
  while (abc->status == SN_OK && p < end) {
    abc_timing timing = {0};
    bool good = end - p >= 16;
    if (good) {
      timing.period = sn_abc_f64(p + 4);
      timing.acyclic = timing.period >= DBL_MAX / 32;
      timing.count = sn_little32(p + 12);
      timing.times = p + 16;
      good = isfinite(timing.period) && timing.count > 0 && timing.count <= (uint64_t)(end - p - 16) / 8;
    }
    for (uint32_t k = 0; good && k < timing.count; k++) {
      double t = sn_abc_f64(timing.times + 8 * (size_t)k);
      good = isfinite(t) && (k == 0 || t >= sn_abc_f64(timing.times + 8 * (size_t)k - 8));
    }
    if (!good || timing.period < 0)
      return sn_abc_fail(abc, SN_BAD_FILE, "damaged: time sampling %d has times that do not rise", abc->timing_count);
    abc->timings[abc->timing_count++] = timing;
    p = timing.times + 8 * (size_t)timing.count;
  }
  if (abc->timing_count == 0) sn_abc_fail(abc, SN_BAD_FILE, "damaged: no time sampling");
}

// Metadata that headers refer to by number; 0 is empty.
static void read_metas(sn_abc *abc, abc_span data) {
  abc->metas = SN_ROOM(abc, &abc->memory, data.size + 1, sizeof *abc->metas);
  sn_cursor c = {data.bytes, data.bytes + data.size, false};
  if (abc->metas) abc->metas[abc->meta_count++] = (abc_span){data.bytes, 0, 0};
  while (abc->status == SN_OK && c.p < c.end) {
    abc->metas[abc->meta_count++] = sn_abc_take_text(&c, (uint32_t)sn_take_number(&c, 1));
    if (c.bad) sn_abc_fail(abc, SN_BAD_FILE, "damaged: its table of metadata");
  }
}

static void read_root(sn_abc *abc) {
  static const uint8_t hdf5[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  if (abc->size >= 8 && memcmp(abc->bytes, hdf5, 8) == 0) {
    return sn_abc_fail(abc, SN_UNSUPPORTED,
                       "Alembic in the old HDF5 container; write it again as Ogawa (the default of every program "
                       "since 2014, or `abcconvert -toOgawa`)");
  }
  if (abc->size < 16 || memcmp(abc->bytes, "Ogawa", 5) != 0)
    return sn_abc_fail(abc, SN_BAD_FILE, "not an Alembic file (it must begin with Ogawa)");
  if (abc->bytes[5] != 0xff)
    return sn_abc_fail(abc, SN_BAD_FILE, "was not written to its end (the program that wrote it did not close it)");
  uint64_t root = sn_little(abc->bytes + 8, 8);
  if (sn_abc_group(abc, root) < 6) sn_abc_damaged(abc, root, "a root with too few entries");
  if (abc->status == SN_OK) read_timings(abc, sn_abc_data(abc, sn_abc_child(abc, root, 4)));
  if (abc->status == SN_OK) read_metas(abc, sn_abc_data(abc, sn_abc_child(abc, root, 5)));
  abc->root = sn_abc_child_group(abc, root, 2);
}

// ---- objects ------------------------------------------------------------------------------------------------------------

typedef struct child_cursor {
  uint64_t group, count, k, object; // object: the child's group
  sn_cursor headers;
  abc_span name, meta;
} child_cursor;

static child_cursor first_child(sn_abc *abc, uint64_t group) {
  enum { digests = 32 }; // hashes after the headers
  child_cursor c = {.group = group, .count = sn_abc_group(abc, group)};
  if (c.count < 2) return c; // properties only
  abc_span headers = sn_abc_data(abc, sn_abc_child(abc, group, c.count - 1));
  if (headers.size < digests) sn_abc_damaged(abc, group, "the headers of objects");
  if (abc->status == SN_OK) c.headers = (sn_cursor){headers.bytes, headers.bytes + headers.size - digests, false};
  return c;
}

// False at the end, or on failure.
static bool next_child(sn_abc *abc, child_cursor *c) {
  if (abc->status != SN_OK || c->headers.p >= c->headers.end) return false;
  c->name = sn_abc_take_text(&c->headers, (uint32_t)sn_take_number(&c->headers, 4));
  c->meta = sn_abc_take_meta(&c->headers, abc, (uint32_t)sn_take_number(&c->headers, 1), 4);
  if (c->headers.bad || ++c->k >= c->count - 1) sn_abc_damaged(abc, c->group, "the headers of objects");
  c->object = sn_abc_child_group(abc, c->group, c->k);
  return abc->status == SN_OK;
}

// The group of the object at a path like /a/b; 0: none.
static uint64_t find_group(sn_abc *abc, const char *path, abc_span *meta) {
  uint64_t group = abc->root;
  while (*path && group && abc->status == SN_OK) {
    while (*path == '/') path++;
    size_t length = strcspn(path, "/");
    child_cursor c = first_child(abc, group);
    bool found = false;
    while (!found && next_child(abc, &c)) found = c.name.size == length && memcmp(c.name.bytes, path, length) == 0;
    group = found ? c.object : 0;
    if (found) *meta = c.meta;
    path += length;
  }
  return group;
}

static const struct {
  const char *schema, *kind;
  abc_kind value;
} kinds[] = {
  {"AbcGeom_Xform_v3", "transform", abc_transform},
  {"AbcGeom_PolyMesh_v1", "polygon mesh", abc_polygons},
  {"AbcGeom_SubD_v1", "subdivision mesh", abc_subdivision},
  {"AbcGeom_FaceSet_v1", "face set", abc_face_set},
  {"AbcGeom_Points_v1", "points", abc_other},
  {"AbcGeom_Curve_v2", "curves", abc_other},
  {"AbcGeom_NuPatch_v2", "NURBS patch", abc_other},
  {"AbcGeom_Camera_v1", "camera", abc_other},
  {"AbcGeom_Light_v1", "light", abc_other},
  {"AbcMaterial_Material_v1", "material", abc_other},
  {"AbcCollection_Collection_v1", "collection", abc_other},
};

static void set_kind(sn_abc *abc, abc_object *object, abc_span meta) {
  abc_span schema = sn_abc_meta(meta, "schema");
  object->info.kind = "group";
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (!sn_abc_is(schema, kinds[k].schema)) continue;
    object->kind = kinds[k].value, object->info.kind = kinds[k].kind;
    return;
  }
  if (schema.size > 0) object->info.kind = text_of(abc, schema);
}

static void note_times(const sn_abc *abc, abc_object *object, const abc_property *property) {
  sn_abc_object *info = &object->info;
  if (!property->found || property->samples == 0) return;
  info->samples = (int)property->samples;
  info->animated = property->last > 0;
  info->start = sn_abc_time(abc, property, 0), info->end = sn_abc_time(abc, property, property->samples - 1);
}

// Finds a property and checks its number of samples.
static abc_property find_checked(sn_abc *abc, const abc_object *object, uint64_t compound, const char *name) {
  abc_property out = sn_abc_find(abc, compound, name);
  if (out.samples > max_samples || out.last >= max_samples)
    sn_abc_fail(abc, SN_BAD_FILE, "%s says it has %u samples, which cannot be", object->info.path,
                out.samples > out.last ? out.samples : out.last);
  return out;
}

static bool same_span(abc_span a, abc_span b) {
  return a.size == b.size && (a.bytes == b.bytes || memcmp(a.bytes, b.bytes, a.size) == 0);
}

// The first sample at which the faces or the number of points change.
static void find_change(sn_abc *abc, abc_object *object, const abc_property *property, bool count_only) {
  if (!property->found || property->samples == 0 || property->last == 0) return;
  abc_span before = sn_abc_sample(abc, property, 0);
  for (uint32_t s = property->first; abc->status == SN_OK && s <= property->last; s++) {
    abc_span now = sn_abc_sample(abc, property, s);
    if (count_only ? now.count == before.count : same_span(before, now)) continue;
    if (object->info.changes_at < 0 || (int)s < object->info.changes_at) object->info.changes_at = (int)s;
    return;
  }
}

static void read_mesh_object(sn_abc *abc, abc_object *object, uint64_t properties) {
  uint64_t geometry = sn_abc_find(abc, properties, ".geom").position;
  sn_abc_object *info = &object->info;
  object->points = find_checked(abc, object, geometry, "P");
  object->counts = find_checked(abc, object, geometry, ".faceCounts");
  object->indices = find_checked(abc, object, geometry, ".faceIndices");
  object->uvs = find_checked(abc, object, geometry, "uv");
  object->normals = find_checked(abc, object, geometry, "N");
  info->mesh = true, info->uvs = object->uvs.found, info->normals = object->normals.found;
  if (abc->status != SN_OK || !object->points.found || object->points.samples == 0) return;
  note_times(abc, object, &object->points);
  uint64_t points = sn_abc_sample(abc, &object->points, 0).count, faces = 0;
  if (object->counts.found && object->counts.samples > 0) faces = sn_abc_sample(abc, &object->counts, 0).count;
  if (points > INT32_MAX || faces > INT32_MAX)
    sn_abc_fail(abc, SN_UNSUPPORTED, "%s has more than 2^31 points or faces", info->path);
  info->points = (int)points, info->faces = (int)faces;
  find_change(abc, object, &object->points, true);
  find_change(abc, object, &object->counts, false);
  find_change(abc, object, &object->indices, false);
}

static void read_transform_object(sn_abc *abc, abc_object *object, uint64_t properties) {
  uint64_t transform = sn_abc_find(abc, properties, ".xform").position;
  object->ops = find_checked(abc, object, transform, ".ops");
  object->values = find_checked(abc, object, transform, ".vals");
  object->inherits = find_checked(abc, object, transform, ".inherits");
  if (abc->status == SN_OK) note_times(abc, object, &object->values);
}

// Counts the samples at which an object itself is hidden.
static void read_visibility(sn_abc *abc, abc_object *object, uint64_t properties) {
  abc_property visible = find_checked(abc, object, properties, "visible");
  if (!visible.found || visible.type == 0) return;
  for (uint32_t s = 0; abc->status == SN_OK && s < visible.samples; s++) {
    abc_span data = sn_abc_sample(abc, &visible, s);
    object->info.hidden_samples += data.size > 0 && data.bytes[0] == 0;
  }
  object->info.visibility_samples = (int)visible.samples;
}

static void read_face_set(sn_abc *abc, abc_object *object, uint64_t properties) {
  object->faces = sn_abc_find(abc, sn_abc_find(abc, properties, ".faceset").position, ".faces");
  if (!object->faces.found || object->faces.samples == 0) return;
  uint64_t count = sn_abc_sample(abc, &object->faces, 0).count;
  object->info.faces = count > INT32_MAX ? INT32_MAX : (int)count;
}

static void read_object(sn_abc *abc, abc_object *object, uint64_t group) {
  uint64_t properties = sn_abc_group(abc, group) > 0 ? sn_abc_child_group(abc, group, 0) : 0;
  object->info.changes_at = -1;
  read_visibility(abc, object, properties);
  if (object->kind == abc_transform) {
    read_transform_object(abc, object, properties);
  } else if (object->kind == abc_face_set) {
    read_face_set(abc, object, properties);
  } else if (object->kind != abc_other) {
    read_mesh_object(abc, object, properties);
  }
}

// Replaces `group` and `meta` of an instance by those of the object it names; false if it is no instance.
static bool follow_instance(sn_abc *abc, uint64_t *group, abc_span *meta) {
  if (sn_abc_group(abc, *group) == 0) return false;
  abc_property source = sn_abc_find(abc, sn_abc_child_group(abc, *group, 0), ".instanceSource");
  if (!sn_abc_has_samples(&source)) return false;
  char *path = text_of(abc, sn_abc_sample(abc, &source, 0));
  *group = path ? find_group(abc, path, meta) : 0;
  if (*group == 0) sn_abc_fail(abc, SN_BAD_FILE, "damaged: an instance of %s, which is not there", path ? path : "");
  return true;
}

// Appends an object; returns its group.
static uint64_t add_object(sn_abc *abc, const char *above, int parent, const child_cursor *c) {
  abc_span meta = c->meta;
  uint64_t group = c->object;
  if (strlen(above) + c->name.size > max_path)
    sn_abc_fail(abc, SN_BAD_FILE, "an object's path is longer than %d", max_path);
  char *path = SN_ROOM(abc, &abc->memory, strlen(above) + c->name.size + 2, 1), *label = text_of(abc, c->name);
  if (abc->status != SN_OK) return 0;
  sprintf(path, "%s/%s", above, label);
  abc_object *object = sn_grow(abc->ctx, &abc->object_list, sizeof *object);
  if (!object) abc->status = abc->ctx->error.status;
  if (!object) return 0;
  abc->objects = (abc_object *)(void *)abc->object_list.bytes, abc->object_count++;
  *object = (abc_object){.info.parent = parent, .info.path = path};
  object->info.instance = follow_instance(abc, &group, &meta);
  set_kind(abc, object, meta);
  read_object(abc, object, group);
  return group;
}

static void walk(sn_abc *abc, uint64_t group, const char *above, int parent, int depth) {
  child_cursor c = first_child(abc, group);
  while (next_child(abc, &c)) {
    int index = abc->object_count;
    if (depth >= max_depth || index >= max_objects || (uint64_t)index > abc->size / 8) {
      return sn_abc_fail(abc, SN_BAD_FILE, "more than %d objects, or deeper than %d: an archive that holds itself?",
                         index, depth);
    }
    uint64_t inside = add_object(abc, above, parent, &c);
    if (abc->status == SN_OK) walk(abc, inside, abc->objects[index].info.path, index, depth + 1);
  }
}

// ---- opening ------------------------------------------------------------------------------------------------------------

sn_status sn_abc_parse(sn_context *ctx, const char *name, const uint8_t *bytes, size_t size, sn_abc **out) {
  *out = NULL;
  sn_arena memory = sn_arena_new(ctx);
  sn_abc *abc = SN_NEW(ctx, &memory, sn_abc, 1);
  if (!abc) return ctx->error.status;
  *abc = (sn_abc){.ctx = ctx, .bytes = bytes, .size = size, .memory = memory};
  abc->name = sn_arena_text(ctx, &abc->memory, name);
  if (!abc->name) abc->status = ctx->error.status;
  if (abc->status == SN_OK) read_root(abc);
  if (abc->status == SN_OK) walk(abc, abc->root, "", -1, 0);
  if (abc->status == SN_OK) {
    *out = abc;
    return SN_OK;
  }
  sn_abc_free(abc);
  return ctx->error.status;
}

sn_status sn_abc_open(sn_context *ctx, const char *path, sn_abc **out) {
  SN_FREED_BY(sn_file_close) sn_file file;
  *out = NULL;
  SN_TRY(sn_file_map(ctx, path, &file));
  SN_TRY(sn_abc_parse(ctx, path, file.bytes, file.size, out));
  (*out)->file = file, file = (sn_file){0};
  return SN_OK;
}

void sn_abc_free(sn_abc *abc) {
  if (!abc) return;
  sn_arena memory = abc->memory; // abc itself is in it
  sn_file_close(&abc->file);
  sn_arena_free(&abc->object_list.memory);
  sn_arena_free(&memory);
}

int sn_abc_object_count(const sn_abc *abc) { return abc->object_count; }

const sn_abc_object *sn_abc_get_object(const sn_abc *abc, int k) { return &abc->objects[k].info; }
