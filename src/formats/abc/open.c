// SPDX-License-Identifier: MIT
// Opening an Alembic archive: its tables, and the list of its objects with what they hold.
#include "formats/abc/abc.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { max_depth = 200, max_objects = 1000000, max_samples = 1000000, max_path = 4096 };

static char *text_of(sn_context *ctx, sn_abc *abc, abc_span span) {
  char *out = SN_NEW(ctx, &abc->memory, char, span.size + 1);
  if (out) memcpy(out, span.bytes, span.size);
  for (char *c = out; c && *c; c++)
    if ((unsigned char)*c < ' ') *c = '?'; // names are printed
  return out;
}

// ---- tables ---------------------------------------------------------------------------------------------------------

// Per time sampling: the number of samples (not used), the period, a count and that many times.
static sn_status read_timings(sn_context *ctx, sn_abc *abc, abc_span data) {
  const uint8_t *p = data.bytes, *end = p + data.size;
  abc->timings = SN_NEW(ctx, &abc->memory, abc_timing, data.size / 16 + 1);
  if (!abc->timings) return ctx->error.status;
  while (p < end) {
    abc_timing timing = {0};
    bool good = end - p >= 16;
    if (good) {
      timing.period = sn_abc_f64(p + 4);
      timing.acyclic = timing.period >= DBL_MAX / 32;
      timing.count = sn_abc_u32(p + 12);
      timing.times = p + 16;
      good = isfinite(timing.period) && timing.count > 0 && timing.count <= (uint64_t)(end - p - 16) / 8;
    }
    for (uint32_t k = 0; good && k < timing.count; k++) {
      double t = sn_abc_f64(timing.times + 8 * (size_t)k);
      good = isfinite(t) && (k == 0 || t >= sn_abc_f64(timing.times + 8 * (size_t)k - 8));
    }
    if (!good || timing.period < 0) {
      return sn_fail(ctx, SN_BAD_FILE, "%s: damaged: time sampling %d has times that do not rise", abc->name,
                     abc->timing_count);
    }
    abc->timings[abc->timing_count++] = timing;
    p = timing.times + 8 * (size_t)timing.count;
  }
  return abc->timing_count > 0 ? SN_OK : sn_fail(ctx, SN_BAD_FILE, "%s: damaged: no time sampling", abc->name);
}

// Metadata that headers refer to by number; number 0 is empty.
static sn_status read_metas(sn_context *ctx, sn_abc *abc, abc_span data) {
  abc->metas = SN_NEW(ctx, &abc->memory, abc_span, data.size + 1);
  if (!abc->metas) return ctx->error.status;
  abc->metas[abc->meta_count++] = (abc_span){data.bytes, 0};
  for (uint64_t p = 0; p < data.size; p += 1 + (uint64_t)data.bytes[p]) {
    uint64_t length = data.bytes[p];
    if (length > data.size - p - 1) return sn_fail(ctx, SN_BAD_FILE, "%s: damaged: its table of metadata", abc->name);
    abc->metas[abc->meta_count++] = (abc_span){data.bytes + p + 1, length};
  }
  return SN_OK;
}

static sn_status read_root(sn_context *ctx, sn_abc *abc) {
  static const uint8_t hdf5[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  if (abc->size >= 8 && memcmp(abc->bytes, hdf5, 8) == 0) {
    return sn_fail(ctx, SN_UNSUPPORTED,
                   "%s: Alembic in the old HDF5 container; write it again as Ogawa (the default of every program "
                   "since 2014, or `abcconvert -toOgawa`)",
                   abc->name);
  }
  if (abc->size < 16 || memcmp(abc->bytes, "Ogawa", 5) != 0) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: not an Alembic file (it must begin with Ogawa)", abc->name);
  }
  if (abc->bytes[5] != 0xff) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: was not written to its end (the program that wrote it did not close it)",
                   abc->name);
  }
  uint64_t root = sn_abc_u64(abc->bytes + 8), count;
  abc_span data;
  sn_status status = sn_abc_group(ctx, abc, root, &count);
  if (status != SN_OK) return status;
  if (count < 6) return sn_abc_damaged(ctx, abc, root, "a root with too few entries");
  status = sn_abc_data(ctx, abc, sn_abc_child(abc, root, 4), &data);
  if (status == SN_OK) status = read_timings(ctx, abc, data);
  if (status == SN_OK) status = sn_abc_data(ctx, abc, sn_abc_child(abc, root, 5), &data);
  if (status == SN_OK) status = read_metas(ctx, abc, data);
  if (status == SN_OK) status = sn_abc_child_group(ctx, abc, root, 2, &abc->root);
  return status;
}

// ---- objects ------------------------------------------------------------------------------------------------------------

typedef struct child_cursor {
  uint64_t group, count, k;
  abc_span headers, name, meta;
  uint64_t at, object; // object: the child's group
} child_cursor;

static sn_status first_child(sn_context *ctx, const sn_abc *abc, uint64_t group, child_cursor *c) {
  enum { digests = 32 }; // behind the headers
  *c = (child_cursor){.group = group};
  sn_status status = sn_abc_group(ctx, abc, group, &c->count);
  if (status != SN_OK || c->count < 2) return status; // properties alone
  status = sn_abc_data(ctx, abc, sn_abc_child(abc, group, c->count - 1), &c->headers);
  if (status == SN_OK && c->headers.size < digests) return sn_abc_damaged(ctx, abc, group, "the headers of objects");
  c->headers.size -= digests;
  return status;
}

// False at the end, or on failure, which `status` tells.
static bool next_child(sn_context *ctx, const sn_abc *abc, child_cursor *c, sn_status *status) {
  if (*status != SN_OK || c->at >= c->headers.size) return false;
  const uint8_t *p = c->headers.bytes;
  uint64_t left = c->headers.size - c->at, length = left >= 5 ? sn_abc_u32(p + c->at) : left;
  bool good = left >= 5 && length <= left - 5 && ++c->k < c->count - 1;
  if (good) {
    c->name = (abc_span){p + c->at + 4, length};
    c->at += 4 + length;
    uint8_t meta = p[c->at++];
    if (meta != 0xff) {
      good = meta < abc->meta_count;
      if (good) c->meta = abc->metas[meta];
    } else {
      left = c->headers.size - c->at;
      length = left >= 4 ? sn_abc_u32(p + c->at) : left;
      good = left >= 4 && length <= left - 4;
      if (good) c->meta = (abc_span){p + c->at + 4, length};
      c->at += 4 + length;
    }
  }
  *status = good ? sn_abc_child_group(ctx, abc, c->group, c->k, &c->object)
                 : sn_abc_damaged(ctx, abc, c->group, "the headers of objects");
  return *status == SN_OK;
}

// The group of the object at a path like /a/b; 0 where there is none.
static sn_status find_group(sn_context *ctx, const sn_abc *abc, const char *path, uint64_t *group, abc_span *meta) {
  sn_status status = SN_OK;
  *group = abc->root;
  while (*path) {
    while (*path == '/') path++;
    size_t length = strcspn(path, "/");
    child_cursor c;
    bool found = false;
    status = first_child(ctx, abc, *group, &c);
    while (!found && next_child(ctx, abc, &c, &status)) {
      found = c.name.size == length && memcmp(c.name.bytes, path, length) == 0;
    }
    *group = found ? c.object : 0;
    if (found) *meta = c.meta;
    if (!found || status != SN_OK) return status;
    path += length;
  }
  return status;
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

static sn_status set_kind(sn_context *ctx, sn_abc *abc, abc_object *object, abc_span meta) {
  abc_span schema = sn_abc_meta(meta, "schema");
  object->told.kind = "group";
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (!sn_abc_is(schema, kinds[k].schema)) continue;
    object->kind = kinds[k].value, object->told.kind = kinds[k].kind;
    return SN_OK;
  }
  if (schema.size > 0) object->told.kind = text_of(ctx, abc, schema);
  return object->told.kind ? SN_OK : ctx->error.status;
}

static void tell_times(const sn_abc *abc, abc_object *object, const abc_property *property) {
  sn_abc_object *told = &object->told;
  if (!property->found || property->samples == 0) return;
  told->samples = (int)property->samples;
  told->animated = property->last > 0;
  told->start = sn_abc_time(abc, property, 0), told->end = sn_abc_time(abc, property, property->samples - 1);
}

static sn_status check_samples(sn_context *ctx, const sn_abc *abc, const abc_object *object,
                               const abc_property *property) {
  if (property->samples <= max_samples && property->last < max_samples) return SN_OK;
  return sn_fail(ctx, SN_BAD_FILE, "%s: %s says it has %u samples, which cannot be", abc->name, object->told.path,
                 property->samples > property->last ? property->samples : property->last);
}

static bool same_span(abc_span a, abc_span b) {
  return a.size == b.size && (a.bytes == b.bytes || memcmp(a.bytes, b.bytes, a.size) == 0);
}

// The first sample at which the faces or the number of points are others than before.
static sn_status find_change(sn_context *ctx, const sn_abc *abc, abc_object *object, const abc_property *property,
                             bool count_only) {
  abc_span before, now;
  uint64_t count_before, count;
  object->told.changes_at = object->told.changes_at ? object->told.changes_at : -1;
  if (!property->found || property->samples == 0 || property->last == 0) return SN_OK;
  sn_status status = sn_abc_sample(ctx, abc, property, 0, &before, &count_before);
  for (uint32_t s = property->first; status == SN_OK && s <= property->last; s++) {
    status = sn_abc_sample(ctx, abc, property, s, &now, &count);
    if (status != SN_OK) break;
    if (count_only ? count == count_before : same_span(before, now)) continue;
    if (object->told.changes_at < 0 || (int)s < object->told.changes_at) object->told.changes_at = (int)s;
    break;
  }
  return status;
}

static sn_status read_mesh_object(sn_context *ctx, const sn_abc *abc, abc_object *object, uint64_t properties) {
  abc_property geometry;
  abc_property *const wanted[] = {&object->points, &object->counts, &object->indices, &object->uvs, &object->normals};
  static const char *const names[] = {"P", ".faceCounts", ".faceIndices", "uv", "N"};
  sn_abc_object *told = &object->told;
  sn_status status = sn_abc_find(ctx, abc, properties, ".geom", &geometry);
  for (int k = 0; status == SN_OK && geometry.found && k < 5; k++) {
    status = sn_abc_find(ctx, abc, geometry.position, names[k], wanted[k]);
    if (status == SN_OK) status = check_samples(ctx, abc, object, wanted[k]);
  }
  told->mesh = true, told->uvs = object->uvs.found, told->normals = object->normals.found;
  if (status != SN_OK || !object->points.found || object->points.samples == 0) return status;
  tell_times(abc, object, &object->points);
  abc_span data;
  uint64_t points, faces = 0;
  status = sn_abc_sample(ctx, abc, &object->points, 0, &data, &points);
  if (status == SN_OK && object->counts.found && object->counts.samples > 0) {
    status = sn_abc_sample(ctx, abc, &object->counts, 0, &data, &faces);
  }
  if (status == SN_OK && (points > INT32_MAX || faces > INT32_MAX)) {
    return sn_fail(ctx, SN_UNSUPPORTED, "%s: %s has more than 2^31 points or faces", abc->name, told->path);
  }
  if (status != SN_OK) return status;
  told->points = (int)points, told->faces = (int)faces;
  status = find_change(ctx, abc, object, &object->points, true);
  if (status == SN_OK) status = find_change(ctx, abc, object, &object->counts, false);
  if (status == SN_OK) status = find_change(ctx, abc, object, &object->indices, false);
  return status;
}

static sn_status read_transform_object(sn_context *ctx, const sn_abc *abc, abc_object *object, uint64_t properties) {
  abc_property transform;
  abc_property *const wanted[] = {&object->ops, &object->values, &object->inherits};
  static const char *const names[] = {".ops", ".vals", ".inherits"};
  sn_status status = sn_abc_find(ctx, abc, properties, ".xform", &transform);
  for (int k = 0; status == SN_OK && transform.found && k < 3; k++) {
    status = sn_abc_find(ctx, abc, transform.position, names[k], wanted[k]);
    if (status == SN_OK) status = check_samples(ctx, abc, object, wanted[k]);
  }
  if (status == SN_OK) tell_times(abc, object, &object->values);
  return status;
}

// Counts the samples at which an object is hidden by itself.
static sn_status read_visibility(sn_context *ctx, const sn_abc *abc, abc_object *object, uint64_t properties) {
  abc_property visible;
  sn_status status = sn_abc_find(ctx, abc, properties, "visible", &visible);
  if (status == SN_OK) status = check_samples(ctx, abc, object, &visible);
  if (status != SN_OK || !visible.found || visible.type == 0) return status;
  bool hidden = false;
  for (uint32_t s = 0; status == SN_OK && s < visible.samples; s++) {
    if (s > visible.last) { // as the last one
      object->told.hidden_samples += hidden ? (int)(visible.samples - s) : 0;
      break;
    }
    abc_span data;
    uint64_t count;
    status = sn_abc_sample(ctx, abc, &visible, s, &data, &count);
    hidden = status == SN_OK && data.size > 0 && data.bytes[0] == 0;
    object->told.hidden_samples += hidden;
  }
  object->told.visibility_samples = (int)visible.samples;
  return status;
}

static sn_status read_face_set(sn_context *ctx, const sn_abc *abc, abc_object *object, uint64_t properties) {
  abc_property set;
  sn_status status = sn_abc_find(ctx, abc, properties, ".faceset", &set);
  if (status == SN_OK && set.found) status = sn_abc_find(ctx, abc, set.position, ".faces", &object->faces);
  if (status == SN_OK && object->faces.found && object->faces.samples > 0) {
    abc_span data;
    uint64_t count;
    status = sn_abc_sample(ctx, abc, &object->faces, 0, &data, &count);
    if (status == SN_OK) object->told.faces = count > INT32_MAX ? INT32_MAX : (int)count;
  }
  return status;
}

static sn_status read_object(sn_context *ctx, sn_abc *abc, abc_object *object, uint64_t group) {
  uint64_t count, properties = 0;
  sn_status status = sn_abc_group(ctx, abc, group, &count);
  if (status == SN_OK && count > 0) status = sn_abc_child_group(ctx, abc, group, 0, &properties);
  if (status == SN_OK) status = read_visibility(ctx, abc, object, properties);
  if (status != SN_OK) return status;
  object->told.changes_at = -1;
  if (object->kind == abc_transform) return read_transform_object(ctx, abc, object, properties);
  if (object->kind == abc_face_set) return read_face_set(ctx, abc, object, properties);
  if (object->kind != abc_other) return read_mesh_object(ctx, abc, object, properties);
  return SN_OK;
}

// An instance names another object, whose group and kind it has. `group` stays where it is for all others.
static sn_status follow_instance(sn_context *ctx, sn_abc *abc, uint64_t *group, abc_span *meta, bool *is_instance) {
  uint64_t count, properties;
  abc_property source;
  abc_span data;
  *is_instance = false;
  sn_status status = sn_abc_group(ctx, abc, *group, &count);
  if (status != SN_OK || count == 0) return status;
  status = sn_abc_child_group(ctx, abc, *group, 0, &properties);
  if (status == SN_OK) status = sn_abc_find(ctx, abc, properties, ".instanceSource", &source);
  if (status != SN_OK || !source.found || source.type == 0 || source.samples == 0) return status;
  status = sn_abc_sample(ctx, abc, &source, 0, &data, &count);
  if (status != SN_OK) return status;
  char *path = text_of(ctx, abc, data);
  if (!path) return ctx->error.status;
  *is_instance = true;
  status = find_group(ctx, abc, path, group, meta);
  if (status == SN_OK && *group == 0) {
    status = sn_fail(ctx, SN_BAD_FILE, "%s: damaged: an instance of %s, which is not there", abc->name, path);
  }
  return status;
}

static sn_status more_room(sn_context *ctx, sn_abc *abc) {
  if (abc->object_count < abc->object_room) return SN_OK;
  int room = abc->object_room ? 2 * abc->object_room : 16;
  abc_object *objects = SN_NEW(ctx, &abc->memory, abc_object, room);
  if (!objects) return ctx->error.status;
  if (abc->object_count > 0) memcpy(objects, abc->objects, (size_t)abc->object_count * sizeof *objects);
  abc->objects = objects, abc->object_room = room;
  return SN_OK;
}

static sn_status add_object(sn_context *ctx, sn_abc *abc, const char *above, int parent, const child_cursor *c,
                            uint64_t *group) {
  abc_span name = c->name, meta = c->meta;
  sn_status status = more_room(ctx, abc);
  if (status != SN_OK) return status;
  if (strlen(above) + name.size > max_path) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: an object's path is longer than %d", abc->name, max_path);
  }
  abc_object *object = &abc->objects[abc->object_count];
  *object = (abc_object){.told.parent = parent};
  char *path = SN_NEW(ctx, &abc->memory, char, strlen(above) + name.size + 2);
  char *label = text_of(ctx, abc, name);
  if (!path || !label) return ctx->error.status;
  sprintf(path, "%s/%s", above, label);
  object->told.path = path;
  status = follow_instance(ctx, abc, group, &meta, &object->told.instance);
  if (status == SN_OK) status = set_kind(ctx, abc, object, meta);
  if (status == SN_OK) status = read_object(ctx, abc, object, *group);
  abc->object_count++;
  return status;
}

static sn_status walk(sn_context *ctx, sn_abc *abc, uint64_t group, const char *above, int parent, int depth) {
  child_cursor c;
  sn_status status = first_child(ctx, abc, group, &c);
  while (next_child(ctx, abc, &c, &status)) {
    int index = abc->object_count;
    if (depth >= max_depth || index >= max_objects || (uint64_t)index > abc->size / 8) {
      return sn_fail(ctx, SN_BAD_FILE, "%s: more than %d objects, or deeper than %d: an archive that holds itself?",
                     abc->name, index, depth);
    }
    uint64_t inside = c.object;
    status = add_object(ctx, abc, above, parent, &c, &inside);
    if (status == SN_OK) status = walk(ctx, abc, inside, abc->objects[index].told.path, index, depth + 1);
  }
  return status;
}

// ---- opening ------------------------------------------------------------------------------------------------------------

sn_status sn_abc_parse(sn_context *ctx, const char *name, const uint8_t *bytes, size_t size, sn_abc **out) {
  *out = NULL;
  sn_arena memory = sn_arena_new(ctx);
  sn_abc *abc = SN_NEW(ctx, &memory, sn_abc, 1);
  if (!abc) return ctx->error.status;
  *abc = (sn_abc){.bytes = bytes, .size = size, .map = {.fd = -1}, .memory = memory};
  abc->name = sn_arena_text(ctx, &abc->memory, name);
  sn_status status = abc->name ? read_root(ctx, abc) : ctx->error.status;
  if (status == SN_OK) status = walk(ctx, abc, abc->root, "", -1, 0);
  if (status == SN_OK) {
    *out = abc;
  } else {
    sn_abc_free(abc);
  }
  return status;
}

sn_status sn_abc_open(sn_context *ctx, const char *path, sn_abc **out) {
  abc_map map;
  *out = NULL;
  sn_status status = sn_abc_map(ctx, path, &map);
  if (status != SN_OK) return status;
  status = sn_abc_parse(ctx, path, map.bytes, map.size, out);
  if (status == SN_OK) {
    (*out)->map = map;
  } else {
    sn_abc_unmap(&map);
  }
  return status;
}

void sn_abc_free(sn_abc *abc) {
  if (!abc) return;
  sn_arena memory = abc->memory; // abc itself is in it
  sn_abc_unmap(&abc->map);
  sn_arena_free(&memory);
}

int sn_abc_object_count(const sn_abc *abc) { return abc->object_count; }

const sn_abc_object *sn_abc_get_object(const sn_abc *abc, int k) { return &abc->objects[k].told; }
