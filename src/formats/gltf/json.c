// SPDX-License-Identifier: MIT
// Values out of a glTF document's JSON, with messages that say where they stand.
#include "formats/gltf/gltf.h"

#include <limits.h>
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

sn_status sn_gltf_integer(sn_context *ctx, const json_t *json, const char *place, const char *key, int64_t low,
                          int64_t high, int64_t absent, int64_t *out) {
  const json_t *value = json_object_get(json, key);
  *out = absent;
  if (!value) return absent == GLTF_REQUIRED ? sn_fail(ctx, SN_BAD_FILE, "%s: has no %s", place, key) : SN_OK;
  if (!whole_number(value, out)) return sn_fail(ctx, SN_BAD_FILE, "%s: %s is not an integer", place, key);
  if (*out < low || *out > high) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: %s is %lld, must be between %lld and %lld", place, key, (long long)*out,
                   (long long)low, (long long)high);
  }
  return SN_OK;
}

static sn_status check_index(sn_context *ctx, const json_t *value, const char *place, const char *key, int limit,
                             int *out) {
  int64_t index;
  if (!whole_number(value, &index)) return sn_fail(ctx, SN_BAD_FILE, "%s: %s is not an integer", place, key);
  if (index < 0 || index >= limit) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: %s is %lld, but there are only %d", place, key, (long long)index, limit);
  }
  *out = (int)index;
  return SN_OK;
}

sn_status sn_gltf_index(sn_context *ctx, const json_t *json, const char *place, const char *key, int count,
                        bool required, int *out) {
  const json_t *value = json_object_get(json, key);
  *out = -1;
  if (!value) return required ? sn_fail(ctx, SN_BAD_FILE, "%s: has no %s", place, key) : SN_OK;
  return check_index(ctx, value, place, key, count, out);
}

sn_status sn_gltf_indices(sn_context *ctx, const json_t *json, const char *place, const char *key, int limit,
                          sn_arena *memory, int **out, int *count) {
  const json_t *array = json_object_get(json, key);
  *out = NULL, *count = 0;
  if (!array) return SN_OK;
  if (!json_is_array(array)) return sn_fail(ctx, SN_BAD_FILE, "%s: %s is not an array", place, key);
  size_t size = json_array_size(array);
  if (size > INT_MAX / 2) return sn_fail(ctx, SN_BAD_FILE, "%s: %s has too many entries", place, key);
  *out = SN_NEW(ctx, memory, int, size);
  if (!*out) return ctx->error.status;
  for (size_t k = 0; k < size; k++) {
    sn_status status = check_index(ctx, json_array_get(array, k), place, key, limit, &(*out)[k]);
    if (status != SN_OK) return status;
  }
  *count = (int)size;
  return SN_OK;
}

sn_status sn_gltf_numbers(sn_context *ctx, const json_t *json, const char *place, const char *key, int count,
                          double *out) {
  const json_t *array = json_object_get(json, key);
  if (!array) return SN_OK;
  if (!json_is_array(array) || json_array_size(array) != (size_t)count) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: %s is not an array of %d numbers", place, key, count);
  }
  for (int k = 0; k < count; k++) {
    const json_t *value = json_array_get(array, (size_t)k);
    if (!json_is_number(value)) return sn_fail(ctx, SN_BAD_FILE, "%s: %s has an entry that is no number", place, key);
    out[k] = json_number_value(value);
    // Transforms are floats in every player; what a float cannot hold would overflow here too.
    if (!(fabs(out[k]) <= 3.4e38)) {
      return sn_fail(ctx, SN_BAD_FILE, "%s: %s has the entry %g, too large for a float", place, key, out[k]);
    }
  }
  return SN_OK;
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
