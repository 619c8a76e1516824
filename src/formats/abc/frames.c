// SPDX-License-Identifier: MIT
// The chosen meshes of an archive: frame times, transforms and positions.
#include "formats/abc/abc.h"
#include "formats/common/adjust.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- the choice ---------------------------------------------------------------------------------------------------------

static bool is_mesh(const abc_object *object) {
  return object->kind == abc_polygons || object->kind == abc_subdivision;
}

static bool is_empty(const abc_object *object) { return object->info.points == 0 || object->info.faces == 0; }

// Whether `chosen` is `path` or one of its ancestors, with or without the first slash.
static bool is_within(const char *path, const char *chosen) {
  if (*chosen != '/') path++;
  size_t length = strlen(chosen);
  while (length > 0 && chosen[length - 1] == '/') length--;
  return strncmp(path, chosen, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

// Lists the paths of usable meshes, as many as fit.
static void list_meshes(const sn_abc *abc, const abc_object *besides, char *out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (int k = 0; k < abc->object_count; k++) {
    const abc_object *object = &abc->objects[k];
    if (!is_mesh(object) || is_empty(object) || object->info.changes_at >= 0 || object == besides) continue;
    int wrote = snprintf(out + used, size - used, "%s%s", used ? ", " : "", object->info.path);
    if (wrote < 0 || used + (size_t)wrote >= size) {
      if (size > 4) strcpy(out + size - 4, "...");
      return;
    }
    used += (size_t)wrote;
  }
  if (used == 0) snprintf(out, size, "none");
}

static void no_mesh(sn_abc *abc) {
  enum { most = 1000 }; // bounds the work: deeper objects repeat the same kinds
  char found[400] = "nothing at all";
  size_t used = 0;
  for (int k = 0; k < abc->object_count && k < most && used < sizeof found - 1; k++) {
    int count = 0, before = 0;
    for (int j = 0; j < abc->object_count; j++) {
      bool same = strcmp(abc->objects[j].info.kind, abc->objects[k].info.kind) == 0;
      count += same, before += same && j < k;
    }
    if (before == 0)
      used += (size_t)snprintf(found + used, sizeof found - used, "%s%d %s", used ? ", " : "", count,
                               abc->objects[k].info.kind);
  }
  sn_abc_fail(abc, SN_BAD_INPUT, "no polygon or subdivision mesh in it, but: %s", found);
}

static void check_chosen(sn_abc *abc, const abc_object *object) {
  char others[500];
  list_meshes(abc, object, others, sizeof others);
  if (object->info.changes_at >= 0) {
    sn_abc_fail(abc, SN_UNSUPPORTED,
                "%s changes its faces or its number of points at sample %d, so its vertices have no motion; "
                "meshes that keep theirs (`object`): %s",
                object->info.path, object->info.changes_at, others);
  } else if (is_empty(object)) {
    sn_abc_fail(abc, SN_BAD_INPUT, "%s is empty (%d points, %d faces); meshes that are not (`object`): %s",
                object->info.path, object->info.points, object->info.faces, others);
  }
}

static void choose_one(sn_abc *abc, const char *chosen) {
  abc_object *empty = NULL;
  int found = 0, usable = 0;
  for (int k = 0; k < abc->object_count; k++) {
    abc_object *object = &abc->objects[k];
    if (chosen && !is_within(object->info.path, chosen)) continue;
    found++;
    if (!is_mesh(object)) continue;
    if (is_empty(object)) {
      empty = object;
    } else {
      object->chosen = true, usable++;
    }
  }
  if (usable > 0) return;
  if (empty) return check_chosen(abc, empty);
  if (!chosen) return no_mesh(abc);
  char others[500];
  list_meshes(abc, NULL, others, sizeof others);
  sn_abc_fail(abc, SN_BAD_INPUT, "`object` %s: %s; its meshes: %s", chosen,
              found ? "no mesh there" : "no such object", others);
}

// ---- times ------------------------------------------------------------------------------------------------------------

// For every time sampling, the largest sample count of what moves a chosen mesh: its points and the transforms above it.
static void note_longest(const abc_property *property, uint32_t *longest) {
  bool moves = property->found && property->samples > 1;
  if (moves && property->samples > longest[property->timing]) longest[property->timing] = property->samples;
}

static void find_longest(const sn_abc *abc, uint32_t *longest) {
  for (int k = 0; k < abc->object_count; k++) {
    if (!abc->objects[k].chosen) continue;
    note_longest(&abc->objects[k].points, longest);
    for (int p = abc->objects[k].info.parent; p >= 0; p = abc->objects[p].info.parent)
      note_longest(&abc->objects[p].values, longest);
  }
}

static void gather_times(sn_abc *abc) {
  SN_SCRATCH(scratch, abc->ctx);
  uint32_t *longest = SN_ROOM(abc, &scratch, (uint64_t)abc->timing_count, sizeof *longest);
  uint64_t total = 0, done = 0;
  int used = 0;
  if (longest) find_longest(abc, longest);
  for (int k = 0; longest && k < abc->timing_count; k++) total += longest[k];
  if (total > INT32_MAX) sn_abc_fail(abc, SN_BAD_FILE, "too many samples");
  abc->times = SN_ROOM(abc, &abc->memory, total + 1, sizeof *abc->times);
  for (int k = 0; abc->times && k < abc->timing_count; k++) {
    abc_property any = {.timing = (uint32_t)k};
    used += longest[k] > 0;
    for (uint32_t s = 0; s < longest[k]; s++) abc->times[done++] = sn_abc_time(abc, &any, s);
  }
  if (used > 1) sn_sort_doubles(abc->times, (size_t)done);
  // Equal times of several samplings are one frame.
  double step = done > 1 ? (abc->times[done - 1] - abc->times[0]) / (double)(done - 1) : 0;
  abc->frame_count = 0;
  for (uint64_t f = 0; f < done; f++) {
    if (used > 1 && abc->frame_count > 0 && abc->times[f] - abc->times[abc->frame_count - 1] <= 1e-4 * step) continue;
    abc->times[abc->frame_count++] = abc->times[f];
  }
  if (abc->frame_count == 0) abc->frame_count = 1; // constant: one frame
}

sn_status sn_abc_choose(sn_context *ctx, sn_abc *abc, const char *const *objects, int count) {
  uint64_t vertices = 0, triangles = 0;
  sn_abc_begin(ctx, abc);
  for (int k = 0; k < abc->object_count; k++) abc->objects[k].chosen = false;
  if (count == 0) choose_one(abc, NULL);
  for (int k = 0; k < count; k++) choose_one(abc, objects[k]);
  for (int k = 0; abc->status == SN_OK && k < abc->object_count; k++) {
    abc_object *object = &abc->objects[k];
    if (!object->chosen) continue;
    check_chosen(abc, object);
    object->first_vertex = (int)vertices;
    vertices += (uint64_t)object->info.points, triangles += sn_abc_faces(abc, object).triangle_count;
    if (vertices > INT32_MAX || triangles > INT32_MAX)
      sn_abc_fail(abc, SN_UNSUPPORTED, "more than 2^31 vertices or triangles");
  }
  abc->vertex_count = (int)vertices, abc->triangle_count = (int)triangles;
  if (abc->status == SN_OK) gather_times(abc);
  return abc->status;
}

int sn_abc_vertex_count(const sn_abc *abc) { return abc->vertex_count; }
int sn_abc_frame_count(const sn_abc *abc) { return abc->frame_count; }
double sn_abc_frame_time(const sn_abc *abc, int frame) { return abc->times[frame]; }

double sn_abc_rate(const sn_abc *abc) {
  double span = abc->times[abc->frame_count - 1] - abc->times[0];
  return abc->frame_count > 1 && span > 0 ? (abc->frame_count - 1) / span : 0;
}

bool sn_abc_even(const sn_abc *abc) {
  double rate = sn_abc_rate(abc);
  for (int f = 1; f < abc->frame_count; f++) {
    if (fabs((abc->times[f] - abc->times[f - 1]) * rate - 1) > 1e-3) return false;
  }
  return true;
}

// ---- transforms ---------------------------------------------------------------------------------------------------------

static sn_affine rotation_about(sn_vec3 axis, double degrees) {
  sn_vec3 zero = sn_vec3_make(0, 0, 0), unit = sn_vec3_normalize(axis, zero);
  return sn_affine_make(sn_rotation_exp(sn_vec3_scale(unit, degrees * SN_PI / 180)), zero);
}

// Number of operands of an operation, by its kind.
static int op_width(int kind) {
  static const int widths[] = {3, 3, 4, 16, 1, 1, 1};
  return kind < (int)(sizeof widths / sizeof *widths) ? widths[kind] : 0;
}

static sn_affine op_matrix(int kind, const double *v) {
  sn_vec3 first = sn_vec3_make(v[0], v[1], v[2]);
  switch (kind) {
  case 0:
    return sn_affine_make(sn_mat3_diagonal(v[0], v[1], v[2]), sn_vec3_make(0, 0, 0));
  case 1:
    return sn_affine_make(sn_mat3_identity(), first);
  case 2:
    return rotation_about(first, v[3]);
  case 3: // of row vectors
    return sn_affine_from_columns(v);
  default:
    return rotation_about(sn_vec3_make(kind == 4, kind == 5, kind == 6), v[0]);
  }
}

// The object's local transform at one of its samples.
static sn_affine own_transform(sn_abc *abc, const abc_object *object, uint32_t sample) {
  sn_affine out = sn_affine_identity();
  if (!object->ops.found || object->ops.samples == 0) return out;
  abc_span ops = sn_abc_sample(abc, &object->ops, sample), values = {0};
  bool good = object->values.found && object->values.pod == ABC_FLOAT64 && object->ops.pod == ABC_UINT8;
  if (ops.size > 0 && good) values = sn_abc_sample(abc, &object->values, sample);
  good = good || ops.size == 0;
  for (uint64_t k = 0, at = 0; k < ops.size && good; k++) {
    int kind = ops.bytes[k] >> 4, width = op_width(kind);
    double v[16] = {0};
    good = width > 0 && values.size / 8 - at >= (uint64_t)width;
    for (int n = 0; n < width && good; n++) {
      v[n] = sn_abc_f64(values.bytes + 8 * (at + (uint64_t)n));
      good = isfinite(v[n]);
    }
    at += (uint64_t)width;
    out = sn_affine_mul(out, op_matrix(kind, v));
  }
  if (!good) sn_abc_fail(abc, SN_BAD_FILE, "%s: damaged: its transform at sample %u", object->info.path, sample);
  return out;
}

static sn_affine transform_at(sn_abc *abc, const abc_object *object, double t) {
  double fraction;
  uint32_t sample = sn_abc_sample_at(abc, &object->values, t, &fraction);
  sn_affine out = own_transform(abc, object, sample), next = out;
  if (fraction > 0) next = own_transform(abc, object, sample + 1);
  for (int k = 0; fraction > 0 && k < 12; k++)
    out.m[k / 4][k % 4] += fraction * (next.m[k / 4][k % 4] - out.m[k / 4][k % 4]);
  return out;
}

// False if the transform does not inherit its parent's.
static bool inherits_at(sn_abc *abc, const abc_object *object, double t) {
  double fraction;
  if (!object->inherits.found || object->inherits.samples == 0) return true;
  abc_span data = sn_abc_sample(abc, &object->inherits, sn_abc_sample_at(abc, &object->inherits, t, &fraction));
  return data.size == 0 || data.bytes[0] != 0;
}

sn_affine sn_abc_world(sn_abc *abc, int object, double t) {
  sn_affine out = sn_affine_identity();
  for (int p = abc->objects[object].info.parent; p >= 0; p = abc->objects[p].info.parent) {
    if (abc->objects[p].kind != abc_transform) continue;
    out = sn_affine_mul(transform_at(abc, &abc->objects[p], t), out);
    if (!inherits_at(abc, &abc->objects[p], t)) break;
  }
  return out;
}

// ---- positions --------------------------------------------------------------------------------------------------------

static const uint8_t *stored_points(sn_abc *abc, const abc_object *object, uint32_t sample) {
  abc_span data = sn_abc_sample(abc, &object->points, sample);
  if (object->points.pod != ABC_FLOAT32 || object->points.extent != 3 || data.count != (uint64_t)object->info.points)
    sn_abc_fail(abc, SN_BAD_FILE, "%s: sample %u has no positions of three floats for %d points", object->info.path,
                sample, object->info.points);
  return data.bytes;
}

// Interpolates towards `later` (NULL: not), then transforms to world space.
static void place_points(int n, const sn_affine *world, const float (*later)[3], double fraction, float (*out)[3]) {
  bool identity = sn_affine_is_identity(world);
  if (identity && !later) return;
  for (int i = 0; i < n; i++) {
    sn_vec3 p = sn_vec3_from(out[i]);
    if (later) p = sn_vec3_lerp(p, sn_vec3_from(later[i]), fraction);
    sn_vec3_store(identity ? p : sn_affine_apply(*world, p), out[i]);
  }
}

static void object_at(sn_abc *abc, int k, double t, float (*out)[3]) {
  const abc_object *object = &abc->objects[k];
  double fraction;
  int n = object->info.points;
  uint32_t sample = sn_abc_sample_at(abc, &object->points, t, &fraction);
  sn_affine world = sn_abc_world(abc, k, t);
  const uint8_t *stored = stored_points(abc, object, sample), *next = NULL;
  SN_SCRATCH(scratch, abc->ctx);
  if (fraction > 0) next = stored_points(abc, object, sample + 1);
  float(*later)[3] = next ? SN_ROOM(abc, &scratch, (uint64_t)n, sizeof *later) : NULL;
  if (abc->status != SN_OK) return;
  memcpy(out, stored, (size_t)n * sizeof *out);
  if (next) memcpy(later, next, (size_t)n * sizeof *later); // samples need not be aligned
  sn_file_used(&abc->file, (size_t)n * sizeof *out);
  place_points(n, &world, (const float(*)[3])later, fraction, out);
}

void sn_abc_place(sn_abc *abc, double t, float (*out)[3]) {
  for (int k = 0; abc->status == SN_OK && k < abc->object_count; k++)
    if (abc->objects[k].chosen) object_at(abc, k, t, out + abc->objects[k].first_vertex);
}

sn_status sn_abc_positions(sn_context *ctx, sn_abc *abc, double t, float (*out)[3]) {
  sn_abc_begin(ctx, abc);
  sn_abc_place(abc, t, out);
  return abc->status;
}
