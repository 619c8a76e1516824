// SPDX-License-Identifier: MIT
// Which meshes of an archive are meant, the times of their frames, their transforms and positions.
#include "formats/abc/abc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- the choice ---------------------------------------------------------------------------------------------------------

static bool is_mesh(const abc_object *object) {
  return object->kind == abc_polygons || object->kind == abc_subdivision;
}

static bool is_empty(const abc_object *object) { return object->told.points == 0 || object->told.faces == 0; }

// `path` itself or something above it, with or without the first slash.
static bool is_within(const char *path, const char *wanted) {
  if (*wanted != '/') path++;
  size_t length = strlen(wanted);
  while (length > 0 && wanted[length - 1] == '/') length--;
  return strncmp(path, wanted, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

// Appends what fits: a list of the paths of usable meshes.
static void list_meshes(const sn_abc *abc, const abc_object *besides, char *out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (int k = 0; k < abc->object_count; k++) {
    const abc_object *object = &abc->objects[k];
    if (!is_mesh(object) || is_empty(object) || object->told.changes_at >= 0 || object == besides) continue;
    int wrote = snprintf(out + used, size - used, "%s%s", used ? ", " : "", object->told.path);
    if (wrote < 0 || used + (size_t)wrote >= size) {
      if (size > 4) strcpy(out + size - 4, "...");
      return;
    }
    used += (size_t)wrote;
  }
  if (used == 0) snprintf(out, size, "none");
}

static sn_status no_mesh(sn_context *ctx, const sn_abc *abc) {
  char found[400] = "";
  size_t used = 0;
  for (int k = 0; k < abc->object_count && used < sizeof found - 1; k++) {
    const char *kind = abc->objects[k].told.kind;
    int count = 0;
    bool first = true;
    for (int j = 0; j < abc->object_count; j++) {
      if (strcmp(abc->objects[j].told.kind, kind) != 0) continue;
      if (j < k) first = false;
      count++;
    }
    if (!first) continue;
    int wrote = snprintf(found + used, sizeof found - used, "%s%d %s", used ? ", " : "", count, kind);
    used += wrote > 0 ? (size_t)wrote : 0;
    if (k > 1000) break; // kinds repeat: what is this far down adds nothing
  }
  return sn_fail(ctx, SN_BAD_INPUT, "%s: no polygon or subdivision mesh in it, but: %s", abc->name,
                 abc->object_count ? found : "nothing at all");
}

static sn_status check_chosen(sn_context *ctx, const sn_abc *abc, const abc_object *object) {
  char others[500];
  list_meshes(abc, object, others, sizeof others);
  if (object->told.changes_at >= 0) {
    return sn_fail(ctx, SN_UNSUPPORTED,
                   "%s: %s changes its faces or its number of points at sample %d, so its vertices have no motion; "
                   "meshes that keep theirs (`object`): %s",
                   abc->name, object->told.path, object->told.changes_at, others);
  }
  if (is_empty(object)) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s: %s is empty (%d points, %d faces); meshes that are not (`object`): %s",
                   abc->name, object->told.path, object->told.points, object->told.faces, others);
  }
  return SN_OK;
}

static sn_status choose_one(sn_context *ctx, sn_abc *abc, const char *wanted) {
  abc_object *empty = NULL;
  int found = 0, usable = 0;
  for (int k = 0; k < abc->object_count; k++) {
    abc_object *object = &abc->objects[k];
    if (wanted && !is_within(object->told.path, wanted)) continue;
    found++;
    if (!is_mesh(object)) continue;
    if (is_empty(object)) {
      empty = object;
    } else {
      object->chosen = true, usable++;
    }
  }
  if (usable > 0) return SN_OK;
  if (empty) return check_chosen(ctx, abc, empty);
  if (!wanted) return no_mesh(ctx, abc);
  char others[500];
  list_meshes(abc, NULL, others, sizeof others);
  return sn_fail(ctx, SN_BAD_INPUT, "%s: `object` %s: %s; its meshes: %s", abc->name, wanted,
                 found ? "no mesh there" : "no such object", others);
}

// ---- times ------------------------------------------------------------------------------------------------------------

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Samples of a property as moments of their own; a constant one has none.
static uint32_t moments(const abc_property *property) {
  return property->found && property->samples > 1 ? property->samples : 0;
}

// What moves a chosen mesh: its points, and the transforms above it. Calls back once for each that has several samples.
typedef void (*moving_fn)(const abc_property *property, void *user);
static void for_moving(const sn_abc *abc, moving_fn call, void *user) {
  for (int k = 0; k < abc->object_count; k++) {
    if (!abc->objects[k].chosen) continue;
    if (moments(&abc->objects[k].points)) call(&abc->objects[k].points, user);
    for (int p = abc->objects[k].told.parent; p >= 0; p = abc->objects[p].told.parent) {
      if (moments(&abc->objects[p].values)) call(&abc->objects[p].values, user);
    }
  }
}

// The longest use of every time sampling: those of the same sampling share their times.
static void note_longest(const abc_property *property, void *user) {
  uint32_t *longest = user;
  if (property->samples > longest[property->timing]) longest[property->timing] = property->samples;
}

static sn_status gather_times(sn_context *ctx, sn_abc *abc) {
  sn_arena scratch = sn_arena_new(ctx);
  uint32_t *longest = SN_NEW(ctx, &scratch, uint32_t, abc->timing_count);
  uint64_t total = 0, done = 0;
  if (!longest) return ctx->error.status;
  for_moving(abc, note_longest, longest);
  for (int k = 0; k < abc->timing_count; k++) total += longest[k];
  abc->times = total <= INT32_MAX ? SN_NEW(ctx, &abc->memory, double, total + 1) : NULL;
  if (!abc->times) {
    sn_arena_free(&scratch);
    return total > INT32_MAX ? sn_fail(ctx, SN_BAD_FILE, "%s: too many samples", abc->name) : ctx->error.status;
  }
  int used = 0;
  for (int k = 0; k < abc->timing_count; k++) {
    abc_property any = {.timing = (uint32_t)k};
    used += longest[k] > 0;
    for (uint32_t s = 0; s < longest[k]; s++) abc->times[done++] = sn_abc_time(abc, &any, s);
  }
  if (used > 1) qsort(abc->times, (size_t)done, sizeof *abc->times, compare_doubles);
  sn_arena_free(&scratch);
  // Several samplings of one moment are one frame.
  double step = done > 1 ? (abc->times[done - 1] - abc->times[0]) / (double)(done - 1) : 0;
  abc->frame_count = 0;
  for (uint64_t f = 0; f < done; f++) {
    if (used > 1 && abc->frame_count > 0 && abc->times[f] - abc->times[abc->frame_count - 1] <= 1e-4 * step) continue;
    abc->times[abc->frame_count++] = abc->times[f];
  }
  if (abc->frame_count == 0) abc->frame_count = 1; // constant: one frame
  return SN_OK;
}

sn_status sn_abc_choose(sn_context *ctx, sn_abc *abc, const char *const *objects, int count) {
  sn_status status = SN_OK;
  uint64_t vertices = 0, triangles = 0;
  for (int k = 0; k < abc->object_count; k++) abc->objects[k].chosen = false;
  if (count == 0) status = choose_one(ctx, abc, NULL);
  for (int k = 0; status == SN_OK && k < count; k++) status = choose_one(ctx, abc, objects[k]);
  for (int k = 0; status == SN_OK && k < abc->object_count; k++) {
    abc_object *object = &abc->objects[k];
    abc_faces faces;
    if (!object->chosen) continue;
    status = check_chosen(ctx, abc, object);
    if (status == SN_OK) status = sn_abc_faces(ctx, abc, object, &faces);
    if (status != SN_OK) break;
    object->first_vertex = (int)vertices;
    vertices += (uint64_t)object->told.points, triangles += faces.triangle_count;
    if (vertices > INT32_MAX || triangles > INT32_MAX) {
      status = sn_fail(ctx, SN_UNSUPPORTED, "%s: more than 2^31 vertices or triangles", abc->name);
    }
  }
  abc->vertex_count = (int)vertices, abc->triangle_count = (int)triangles;
  return status == SN_OK ? gather_times(ctx, abc) : status;
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

// Numbers that an operation takes, by its kind.
static int op_width(int kind) {
  static const int widths[] = {3, 3, 4, 16, 1, 1, 1};
  return kind < (int)(sizeof widths / sizeof *widths) ? widths[kind] : 0;
}

static sn_affine op_matrix(int kind, const double *v) {
  sn_affine out = sn_affine_identity();
  sn_vec3 zero = sn_vec3_make(0, 0, 0), first = sn_vec3_make(v[0], v[1], v[2]);
  switch (kind) {
  case 0:
    return sn_affine_make(sn_mat3_diagonal(v[0], v[1], v[2]), zero);
  case 1:
    return sn_affine_make(sn_mat3_identity(), first);
  case 2:
    return rotation_about(first, v[3]);
  case 3: // for row vectors
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 4; c++) out.m[r][c] = v[4 * c + r];
    return out;
  default:
    return rotation_about(sn_vec3_make(kind == 4, kind == 5, kind == 6), v[0]);
  }
}

static sn_status bad_transform(sn_context *ctx, const sn_abc *abc, const abc_object *object, uint32_t sample) {
  return sn_fail(ctx, SN_BAD_FILE, "%s: %s: damaged: its transform at sample %u", abc->name, object->told.path,
                 sample);
}

// The object's own transform at one of its samples.
static sn_status own_transform(sn_context *ctx, const sn_abc *abc, const abc_object *object, uint32_t sample,
                               sn_affine *out) {
  abc_span ops, values;
  uint64_t op_count, value_count, at = 0;
  *out = sn_affine_identity();
  if (!object->ops.found || object->ops.samples == 0) return SN_OK;
  sn_status status = sn_abc_sample(ctx, abc, &object->ops, sample, &ops, &op_count);
  if (status != SN_OK || ops.size == 0) return status;
  if (!object->values.found || object->values.pod != ABC_FLOAT64 || object->ops.pod != ABC_UINT8) {
    return bad_transform(ctx, abc, object, sample);
  }
  status = sn_abc_sample(ctx, abc, &object->values, sample, &values, &value_count);
  if (status != SN_OK) return status;
  for (uint64_t k = 0; k < ops.size; k++) {
    int kind = ops.bytes[k] >> 4, width = op_width(kind);
    double v[16] = {0};
    if (width == 0 || values.size / 8 - at < (uint64_t)width) return bad_transform(ctx, abc, object, sample);
    for (int n = 0; n < width; n++) {
      v[n] = sn_abc_f64(values.bytes + 8 * (at + (uint64_t)n));
      if (!isfinite(v[n])) return bad_transform(ctx, abc, object, sample);
    }
    at += (uint64_t)width;
    *out = sn_affine_mul(*out, op_matrix(kind, v));
  }
  return SN_OK;
}

static sn_status transform_at(sn_context *ctx, const sn_abc *abc, const abc_object *object, double t,
                              sn_affine *out) {
  double fraction;
  uint32_t sample = sn_abc_sample_at(abc, &object->values, t, &fraction);
  sn_status status = own_transform(ctx, abc, object, sample, out);
  if (status != SN_OK || fraction == 0) return status;
  sn_affine next;
  status = own_transform(ctx, abc, object, sample + 1, &next);
  for (int r = 0; status == SN_OK && r < 3; r++)
    for (int c = 0; c < 4; c++) out->m[r][c] += fraction * (next.m[r][c] - out->m[r][c]);
  return status;
}

// False where a transform starts anew from the world.
static sn_status inherits_at(sn_context *ctx, const sn_abc *abc, const abc_object *object, double t, bool *out) {
  abc_span data;
  uint64_t count;
  double fraction;
  *out = true;
  if (!object->inherits.found || object->inherits.samples == 0) return SN_OK;
  uint32_t sample = sn_abc_sample_at(abc, &object->inherits, t, &fraction);
  sn_status status = sn_abc_sample(ctx, abc, &object->inherits, sample, &data, &count);
  if (status == SN_OK && data.size > 0) *out = data.bytes[0] != 0;
  return status;
}

sn_status sn_abc_world(sn_context *ctx, const sn_abc *abc, int object, double t, sn_affine *out) {
  *out = sn_affine_identity();
  for (int p = abc->objects[object].told.parent; p >= 0; p = abc->objects[p].told.parent) {
    sn_affine own;
    bool inherits = true;
    if (abc->objects[p].kind != abc_transform) continue;
    sn_status status = transform_at(ctx, abc, &abc->objects[p], t, &own);
    if (status == SN_OK) status = inherits_at(ctx, abc, &abc->objects[p], t, &inherits);
    if (status != SN_OK) return status;
    *out = sn_affine_mul(own, *out);
    if (!inherits) break;
  }
  return SN_OK;
}

// ---- positions --------------------------------------------------------------------------------------------------------

static bool is_identity(const sn_affine *a) {
  static const sn_affine identity = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++)
      if (a->m[r][c] != identity.m[r][c]) return false;
  return true;
}

static sn_status stored_points(sn_context *ctx, const sn_abc *abc, const abc_object *object, uint32_t sample,
                               const uint8_t **out) {
  abc_span data;
  uint64_t count;
  sn_status status = sn_abc_sample(ctx, abc, &object->points, sample, &data, &count);
  if (status != SN_OK) return status;
  if (object->points.pod != ABC_FLOAT32 || object->points.extent != 3 || count != (uint64_t)object->told.points) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: %s: sample %u has no positions of three floats for %d points", abc->name,
                   object->told.path, sample, object->told.points);
  }
  *out = data.bytes;
  return SN_OK;
}

// On the way to `later` (NULL: not), then into the world.
static void place_points(int n, const sn_affine *world, const float (*later)[3], double fraction, float (*out)[3]) {
  bool identity = is_identity(world);
  if (identity && !later) return;
  for (int i = 0; i < n; i++) {
    sn_vec3 p = sn_vec3_from(out[i]);
    if (later) p = sn_vec3_lerp(p, sn_vec3_from(later[i]), fraction);
    sn_vec3_store(identity ? p : sn_affine_apply(*world, p), out[i]);
  }
}

static sn_status object_at(sn_context *ctx, sn_abc *abc, int k, double t, float (*out)[3]) {
  const abc_object *object = &abc->objects[k];
  const uint8_t *stored = NULL, *next = NULL;
  double fraction;
  sn_affine world;
  int n = object->told.points;
  uint32_t sample = sn_abc_sample_at(abc, &object->points, t, &fraction);
  sn_status status = sn_abc_world(ctx, abc, k, t, &world);
  if (status == SN_OK) status = stored_points(ctx, abc, object, sample, &stored);
  if (status == SN_OK && fraction > 0) status = stored_points(ctx, abc, object, sample + 1, &next);
  if (status != SN_OK) return status;
  sn_arena scratch = sn_arena_new(ctx);
  float(*later)[3] = next ? sn_arena_alloc(ctx, &scratch, (size_t)n, sizeof *later) : NULL;
  if (next && !later) return ctx->error.status;
  bool whole = sn_abc_map_copy(&abc->map, stored, (size_t)n * sizeof *out, out) &&
               (!next || sn_abc_map_copy(&abc->map, next, (size_t)n * sizeof *out, later));
  sn_abc_map_used(&abc->map, (uint64_t)n * sizeof *out);
  if (whole) place_points(n, &world, (const float(*)[3])later, fraction, out);
  sn_arena_free(&scratch);
  return whole ? SN_OK : sn_fail(ctx, SN_IO, "%s: became shorter while it was read", abc->name);
}

sn_status sn_abc_positions(sn_context *ctx, sn_abc *abc, double t, float (*out)[3]) {
  if (!sn_abc_map_whole(&abc->map)) return sn_fail(ctx, SN_IO, "%s: became shorter while it was read", abc->name);
  sn_status status = SN_OK;
  for (int k = 0; status == SN_OK && k < abc->object_count; k++) {
    if (abc->objects[k].chosen) status = object_at(ctx, abc, k, t, out + abc->objects[k].first_vertex);
  }
  return status;
}
