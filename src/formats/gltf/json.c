// SPDX-License-Identifier: MIT
// Reads values from a glTF document's JSON, with error messages that name their location.
#include "formats/gltf/gltf.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>

int sn_gltf_objects(sn_reader *r, const json_t *json, const char *key, json_t **out) {
  size_t k;
  json_t *entry;
  *out = json_object_get(json, key);
  if (*out && !json_is_array(*out)) sn_fail_once(r, SN_BAD_FILE, "%s: is not an array", key);
  if (json_array_size(*out) > INT_MAX / 2) sn_fail_once(r, SN_BAD_FILE, "%s: too many entries", key);
  json_array_foreach(*out, k, entry) {
    if (!json_is_object(entry)) sn_fail_once(r, SN_BAD_FILE, "%s: entry %zu is not an object", key, k);
  }
  return r->status == SN_OK ? (int)json_array_size(*out) : 0;
}

// Accepts 12.0 as the integer 12, as some exporters write it.
static bool whole_number(const json_t *value, int64_t *out) {
  if (json_is_integer(value)) {
    *out = json_integer_value(value);
    return true;
  }
  if (!json_is_real(value)) return false;
  double real = json_real_value(value);
  if (!(fabs(real) < 9e15) || real != floor(real)) return false;
  *out = (int64_t)real;
  return true;
}

gltf_object sn_gltf_object(sn_reader *r, const json_t *json, const char *place, ...) {
  gltf_object o = {.r = r, .json = json};
  va_list arguments;
  va_start(arguments, place);
  vsnprintf(o.place, sizeof o.place, place, arguments);
  va_end(arguments);
  return o;
}

// The value of a key; NULL if it is missing, or after a failure.
static const json_t *value_of(gltf_object *o, const char *key, bool required) {
  const json_t *value = o->r->status == SN_OK ? json_object_get(o->json, key) : NULL;
  if (!value && required) gltf_object_fail(o, SN_BAD_FILE, "has no %s", key);
  return value;
}

int64_t sn_gltf_integer(gltf_object *o, const char *key, int64_t low, int64_t high, int64_t absent) {
  const json_t *value = value_of(o, key, absent == GLTF_REQUIRED);
  int64_t out = absent;
  if (!value) return absent == GLTF_REQUIRED ? low : absent;
  if (!whole_number(value, &out)) {
    gltf_object_fail(o, SN_BAD_FILE, "%s is not an integer", key);
  } else if (out < low || out > high) {
    gltf_object_fail(o, SN_BAD_FILE, "%s is %lld, must be between %lld and %lld", key, (long long)out, (long long)low,
                     (long long)high);
  }
  return o->r->status == SN_OK ? out : low;
}

static int check_index(gltf_object *o, const json_t *value, const char *key, int limit) {
  int64_t index = -1;
  if (!whole_number(value, &index)) {
    gltf_object_fail(o, SN_BAD_FILE, "%s is not an integer", key);
  } else if (index < 0 || index >= limit) {
    gltf_object_fail(o, SN_BAD_FILE, "%s is %lld, but there are only %d", key, (long long)index, limit);
  }
  return o->r->status == SN_OK ? (int)index : -1;
}

int sn_gltf_index(gltf_object *o, const char *key, int count, bool required) {
  const json_t *value = value_of(o, key, required);
  return value ? check_index(o, value, key, count) : -1;
}

int sn_gltf_index_in(gltf_object *o, const char *inner, const char *key, int count, bool required) {
  const json_t *outer = o->json;
  o->json = json_object_get(outer, inner);
  int index = sn_gltf_index(o, key, count, required);
  o->json = outer;
  return index;
}

int sn_gltf_indices(gltf_object *o, const char *key, int limit, sn_arena *memory, int **out) {
  const json_t *array = value_of(o, key, false);
  size_t size = json_array_size(array);
  if (array && !json_is_array(array)) gltf_object_fail(o, SN_BAD_FILE, "%s is not an array", key);
  if (size > INT_MAX / 2) gltf_object_fail(o, SN_BAD_FILE, "%s has too many entries", key);
  *out = array ? SN_TAKE(o->r, memory, int, size) : NULL;
  for (size_t k = 0; k < size && o->r->status == SN_OK; k++)
    (*out)[k] = check_index(o, json_array_get(array, k), key, limit);
  return o->r->status == SN_OK ? (int)size : 0;
}

void sn_gltf_numbers(gltf_object *o, const char *key, int count, double *out) {
  const json_t *array = value_of(o, key, false);
  if (!array) return;
  if (!json_is_array(array) || json_array_size(array) != (size_t)count)
    gltf_object_fail(o, SN_BAD_FILE, "%s is not an array of %d numbers", key, count);
  for (int k = 0; k < count && o->r->status == SN_OK; k++) {
    const json_t *value = json_array_get(array, (size_t)k);
    out[k] = json_number_value(value);
    if (!json_is_number(value)) {
      gltf_object_fail(o, SN_BAD_FILE, "%s has an entry that is no number", key);
    } else if (!(fabs(out[k]) <= 3.4e38)) { // overflows the floats that players use
      gltf_object_fail(o, SN_BAD_FILE, "%s has the entry %g, too large for a float", key, out[k]);
    }
  }
}

const json_t *sn_gltf_extension(const json_t *object, const char *name) {
  return json_object_get(json_object_get(object, "extensions"), name);
}

void sn_gltf_remove_extension(json_t *object, const char *name) {
  json_t *extensions = json_object_get(object, "extensions");
  if (!json_object_get(extensions, name)) return;
  json_object_del(extensions, name);
  if (json_object_size(extensions) == 0) json_object_del(object, "extensions");
}

void sn_gltf_forget_extension(json_t *root, const char *name) {
  static const char *const lists[] = {"extensionsUsed", "extensionsRequired"};
  for (int list = 0; list < 2; list++) {
    json_t *names = json_object_get(root, lists[list]);
    for (size_t k = json_array_size(names); k-- > 0;) {
      const char *text = json_string_value(json_array_get(names, k));
      if (text && strcmp(text, name) == 0) json_array_remove(names, k);
    }
    if (names && json_array_size(names) == 0) json_object_del(root, lists[list]);
  }
}

const char *sn_gltf_claim_name(sn_gltf *gltf, json_t *seen, const char *name, const char *other) {
  char text[512];
  bool is_free = name && *name && !json_object_get(seen, name);
  snprintf(text, sizeof text, "%s", other);
  for (int k = 2; !is_free && json_object_get(seen, text); k++) snprintf(text, sizeof text, "%.450s.%d", other, k);
  if (!is_free) name = sn_arena_text(gltf->reader.ctx, &gltf->memory, text);
  if (name && json_object_set_new_nocheck(seen, name, json_true()) == 0) return name;
  sn_fail_once(&gltf->reader, SN_NO_MEMORY, "out of memory while naming joints and morph targets");
  return NULL;
}

bool sn_gltf_says(const sn_gltf *gltf, const char *key) {
  const json_t *extras = json_object_get(json_object_get(gltf->json, "asset"), "extras");
  return json_is_true(json_object_get(extras, key));
}
