// SPDX-License-Identifier: MIT
// Values out of a glTF document's JSON, with messages that say where they stand.
#include "formats/gltf/gltf.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>

sn_status sn_gltf_objects(sn_context *ctx, const json_t *json, const char *key, json_t **out, int *count) {
  *out = json_object_get(json, key);
  *count = 0;
  if (!*out) return SN_OK;
  if (!json_is_array(*out)) return sn_fail(ctx, SN_BAD_FILE, "%s: is not an array", key);
  if (json_array_size(*out) > INT_MAX / 2) return sn_fail(ctx, SN_BAD_FILE, "%s: too many entries", key);
  *count = (int)json_array_size(*out);
  for (int k = 0; k < *count; k++) {
    if (!json_is_object(json_array_get(*out, (size_t)k))) {
      return sn_fail(ctx, SN_BAD_FILE, "%s: entry %d is not an object", key, k);
    }
  }
  return SN_OK;
}

// Exporters write 12 as 12.0 now and then.
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

gltf_object sn_gltf_object(sn_context *ctx, const json_t *json, const char *place, ...) {
  gltf_object o = {.ctx = ctx, .json = json, .status = SN_OK};
  va_list arguments;
  va_start(arguments, place);
  vsnprintf(o.place, sizeof o.place, place, arguments);
  va_end(arguments);
  return o;
}

// The value of a key; NULL where it is missing, or after a failure.
static const json_t *value_of(gltf_object *o, const char *key, bool required) {
  const json_t *value = o->status == SN_OK ? json_object_get(o->json, key) : NULL;
  if (!value && required && o->status == SN_OK)
    o->status = sn_fail(o->ctx, SN_BAD_FILE, "%s: has no %s", o->place, key);
  return value;
}

int64_t sn_gltf_integer(gltf_object *o, const char *key, int64_t low, int64_t high, int64_t absent) {
  const json_t *value = value_of(o, key, absent == GLTF_REQUIRED);
  int64_t out = absent;
  if (!value) return absent;
  if (!whole_number(value, &out)) {
    o->status = sn_fail(o->ctx, SN_BAD_FILE, "%s: %s is not an integer", o->place, key);
  } else if (out < low || out > high) {
    o->status = sn_fail(o->ctx, SN_BAD_FILE, "%s: %s is %lld, must be between %lld and %lld", o->place, key,
                        (long long)out, (long long)low, (long long)high);
  }
  return out;
}

static int check_index(gltf_object *o, const json_t *value, const char *key, int limit) {
  int64_t index = -1;
  if (!whole_number(value, &index)) {
    o->status = sn_fail(o->ctx, SN_BAD_FILE, "%s: %s is not an integer", o->place, key);
  } else if (index < 0 || index >= limit) {
    o->status =
      sn_fail(o->ctx, SN_BAD_FILE, "%s: %s is %lld, but there are only %d", o->place, key, (long long)index, limit);
  }
  return o->status == SN_OK ? (int)index : -1;
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
  *out = NULL;
  if (array && !json_is_array(array))
    o->status = sn_fail(o->ctx, SN_BAD_FILE, "%s: %s is not an array", o->place, key);
  if (size > INT_MAX / 2) o->status = sn_fail(o->ctx, SN_BAD_FILE, "%s: %s has too many entries", o->place, key);
  if (!array || o->status != SN_OK) return 0;
  *out = SN_NEW(o->ctx, memory, int, size);
  if (!*out) o->status = o->ctx->error.status;
  for (size_t k = 0; k < size && o->status == SN_OK; k++)
    (*out)[k] = check_index(o, json_array_get(array, k), key, limit);
  return o->status == SN_OK ? (int)size : 0;
}

void sn_gltf_numbers(gltf_object *o, const char *key, int count, double *out) {
  const json_t *array = value_of(o, key, false);
  if (!array) return;
  if (!json_is_array(array) || json_array_size(array) != (size_t)count)
    o->status = sn_fail(o->ctx, SN_BAD_FILE, "%s: %s is not an array of %d numbers", o->place, key, count);
  for (int k = 0; k < count && o->status == SN_OK; k++) {
    const json_t *value = json_array_get(array, (size_t)k);
    out[k] = json_number_value(value);
    if (!json_is_number(value)) {
      o->status = sn_fail(o->ctx, SN_BAD_FILE, "%s: %s has an entry that is no number", o->place, key);
    } else if (!(fabs(out[k]) <= 3.4e38)) { // transforms are floats in every player, where it would overflow
      o->status =
        sn_fail(o->ctx, SN_BAD_FILE, "%s: %s has the entry %g, too large for a float", o->place, key, out[k]);
    }
  }
}

void sn_gltf_remove_extension(json_t *object, const char *name) {
  json_t *extensions = json_object_get(object, "extensions");
  if (!json_object_get(extensions, name)) return;
  json_object_del(extensions, name);
  if (json_object_size(extensions) == 0) json_object_del(object, "extensions");
}

void sn_gltf_remove_name(json_t *json, const char *key, const char *name) {
  json_t *names = json_object_get(json, key);
  for (size_t k = json_array_size(names); k-- > 0;) {
    const char *text = json_string_value(json_array_get(names, k));
    if (text && strcmp(text, name) == 0) json_array_remove(names, k);
  }
  if (names && json_array_size(names) == 0) json_object_del(json, key);
}

const char *sn_gltf_claim_name(sn_context *ctx, sn_gltf *gltf, json_t *seen, const char *name, const char *other) {
  char text[512];
  bool is_free = name && *name && !json_object_get(seen, name);
  snprintf(text, sizeof text, "%s", other);
  for (int k = 2; !is_free && json_object_get(seen, text); k++) snprintf(text, sizeof text, "%.450s.%d", other, k);
  if (!is_free) name = sn_arena_text(ctx, &gltf->memory, text);
  if (!name || json_object_set_new_nocheck(seen, name, json_true()) == 0) return name;
  sn_fail(ctx, SN_NO_MEMORY, "out of memory while naming joints and morph targets");
  return NULL;
}
