// SPDX-License-Identifier: MIT
// Reads any bytes as glTF; what is accepted is flattened, posed, deformed and written back.
#include "sinew/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed);

// ---- mutations that keep the container and the JSON right -----------------------------------------------------------

typedef struct document {
  json_t *json;
  uint8_t *bin;
  size_t bin_size;
} document;

static uint32_t little(const uint8_t *at) {
  return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void put_little(uint8_t *at, size_t value) {
  for (int k = 0; k < 4; k++) at[k] = value >> 8 * k & 255;
}

// The parts of a GLB, `most` bytes of room for the binary one; false for anything else.
static bool take_apart(const uint8_t *bytes, size_t size, size_t most, document *out) {
  if (size < 20 || memcmp(bytes, "glTF", 4) != 0) return false;
  size_t length = little(bytes + 12);
  if (length > size - 20) return false;
  out->json = json_loadb((const char *)bytes + 20, length, 0, NULL);
  out->bin = malloc(most);
  size_t at = 20 + (length + 3) / 4 * 4;
  out->bin_size = at + 8 <= size ? size - at - 8 : 0;
  if (out->bin && out->bin_size > 0) memcpy(out->bin, bytes + at + 8, out->bin_size);
  return out->json && out->bin;
}

static size_t put_together(const document *d, uint8_t *bytes, size_t most) {
  char *text = json_dumps(d->json, JSON_COMPACT);
  size_t length = text ? strlen(text) : 0, padded = (length + 3) / 4 * 4, bin = (d->bin_size + 3) / 4 * 4;
  size_t size = 28 + padded + bin;
  if (text && size <= most) {
    memset(bytes, ' ', size);
    memcpy(bytes, "glTF\2\0\0", 8);
    put_little(bytes + 8, size), put_little(bytes + 12, padded);
    memcpy(bytes + 16, "JSON", 4);
    memcpy(bytes + 20, text, length);
    put_little(bytes + 20 + padded, bin);
    memcpy(bytes + 24 + padded, "BIN", 4);
    memset(bytes + 28 + padded, 0, bin);
    memcpy(bytes + 28 + padded, d->bin, d->bin_size);
  }
  free(text);
  return text && size <= most ? size : 0;
}

static json_t *odd_value(sn_random *rng) {
  static const json_int_t wholes[] = {
    -1,   0,    1,    2,    3,     4,     7,          255,        256,        5120,
    5121, 5123, 5125, 5126, 65535, 65536, 2147483647, 2147483648, 4294967295, 9007199254740993};
  static const double reals[] = {-1, 0.5, 1e-30, 1e30, 1e300};
  static const char *const words[] = {"",
                                      "SCALAR",
                                      "VEC2",
                                      "VEC3",
                                      "VEC4",
                                      "MAT4",
                                      "STEP",
                                      "CUBICSPLINE",
                                      "translation",
                                      "rotation",
                                      "scale",
                                      "weights",
                                      "data:;base64,AAAA",
                                      "../a"};
  int kind = sn_random_below(rng, 8);
  if (kind < 4) return json_integer(wholes[sn_random_below(rng, sizeof wholes / sizeof *wholes)]);
  if (kind < 6) return json_string(words[sn_random_below(rng, sizeof words / sizeof *words)]);
  return kind == 6 ? json_real(reals[sn_random_below(rng, sizeof reals / sizeof *reals)]) : json_null();
}

static json_t *nearby(sn_random *rng, const json_t *old) {
  if (json_is_integer(old) && sn_random_below(rng, 2)) {
    return json_integer((json_int_t)((uint64_t)json_integer_value(old) + (uint64_t)sn_random_below(rng, 9) - 4));
  }
  if (json_is_real(old) && sn_random_below(rng, 2)) return json_real(json_real_value(old) * sn_random_normal(rng));
  return odd_value(rng);
}

// Changes one value somewhere below: another value, none, or one of its siblings.
static void change(sn_random *rng, json_t *json) {
  size_t count = json_is_object(json) ? json_object_size(json) : json_array_size(json);
  if (count == 0) return;
  int chosen = sn_random_below(rng, (int)count), what = sn_random_below(rng, 10);
  void *entry = json_is_object(json) ? json_object_iter(json) : NULL;
  for (int k = 0; entry && k < chosen; k++) entry = json_object_iter_next(json, entry);
  json_t *value = entry ? json_object_iter_value(entry) : json_array_get(json, (size_t)chosen);
  bool leaf = !json_is_object(value) && !json_is_array(value);
  if (!leaf && what > 0) {
    change(rng, value);
  } else if (entry) {
    if (what == 0)
      json_object_del(json, json_object_iter_key(entry));
    else
      json_object_iter_set_new(json, entry, nearby(rng, value));
  } else if (what == 0) {
    json_array_remove(json, (size_t)chosen);
  } else if (what == 1) {
    json_array_append_new(json, json_deep_copy(value));
  } else {
    json_array_set_new(json, (size_t)chosen, nearby(rng, value));
  }
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed) {
  sn_random rng = sn_random_new(seed);
  document d = {0};
  size_t made = 0;
  if (sn_random_below(&rng, 10) > 0 && take_apart(bytes, size, most, &d)) {
    if (sn_random_below(&rng, 4) == 0 && d.bin_size > 0)
      d.bin_size = LLVMFuzzerMutate(d.bin, d.bin_size, d.bin_size + 64 < most ? d.bin_size + 64 : most);
    else
      for (int k = sn_random_below(&rng, 4); k >= 0; k--) change(&rng, d.json);
    made = put_together(&d, bytes, most);
  }
  json_decref(d.json);
  free(d.bin);
  return made > 0 ? made : LLVMFuzzerMutate(bytes, size, most);
}

// ---- what is done with them -------------------------------------------------------------------------------------------

static void sample(sn_context *ctx, const sn_gltf *gltf, const sn_mesh *mesh) {
  float(*positions)[3] = calloc((size_t)mesh->vertex_count + 1, sizeof *positions);
  for (int clip = -1; positions && clip < sn_gltf_clip_count(gltf) && clip < 4; clip++) {
    sn_clip_info info = sn_gltf_clip(gltf, clip);
    for (int k = 0; k < 4; k++) {
      sn_gltf_deform(ctx, gltf, clip, info.start + (info.end - info.start) * (k - 0.5) / 2, positions);
    }
  }
  free(positions);
  double *weights = calloc((size_t)sn_gltf_morph_count(gltf) + 1, sizeof *weights);
  if (weights) sn_gltf_morph_weights(ctx, gltf, sn_gltf_clip_count(gltf) - 1, 0.5, weights);
  free(weights);
}

// What other formats and the solver ask of a document.
static void ask(sn_context *ctx, const sn_gltf *gltf, const sn_skeleton *skeleton) {
  sn_arena memory = sn_arena_new(ctx);
  sn_surface surface;
  float *white, (*normals)[3], (*tangents)[4];
  bool *locked = calloc((size_t)skeleton->joint_count + 1, sizeof *locked);
  if (sn_gltf_surface(ctx, gltf, &surface) == SN_OK) sn_surface_free(&surface);
  sn_gltf_whiteness(ctx, gltf, &memory, &white);
  sn_gltf_normals(ctx, gltf, &memory, &normals);
  sn_gltf_tangents(ctx, gltf, &memory, &tangents);
  if (locked && skeleton->joint_count > 0) sn_gltf_locked_joints(gltf, locked);
  free(locked);
  sn_arena_free(&memory);
}

static void rewrite(sn_context *ctx, const sn_gltf *gltf, const sn_skeleton *skeleton, const sn_skin *skin) {
  char path[64];
  snprintf(path, sizeof path, "%s/fuzz_gltf_%d.glb", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
           (int)getpid());
  sn_gltf_out out = {
    .base = gltf, .skeleton = skin->vertex_count > 0 ? skeleton : NULL, .skin = skin->vertex_count > 0 ? skin : NULL};
  if (sn_gltf_write(ctx, path, &out) == SN_OK) {
    sn_gltf *again;
    if (sn_gltf_read(ctx, path, &again) == SN_OK) sn_gltf_free(again);
    unlink(path);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  sn_context ctx = sn_context_default();
  ctx.threads = 1;
  sn_gltf *gltf;
  if (sn_gltf_parse(&ctx, "fuzz", bytes, size, NULL, &gltf) != SN_OK) return 0;
  sn_mesh mesh = {0};
  sn_skeleton skeleton = {0};
  sn_skin skin = {0};
  sn_poses poses = {0};
  if (sn_gltf_mesh(&ctx, gltf, &mesh) == SN_OK && mesh.vertex_count < 100000) {
    sample(&ctx, gltf, &mesh);
  }
  sn_look look;
  sn_gltf_look(&ctx, gltf, &look);
  sn_look_free(&look);
  if (sn_gltf_skeleton(&ctx, gltf, &skeleton, &skin) == SN_OK) {
    int clip = 0;
    if (sn_gltf_find_clip(&ctx, gltf, NULL, &clip) == SN_OK)
      sn_gltf_poses(&ctx, gltf, clip, &(sn_choice){.fps = 30}, 3, &poses);
  }
  ask(&ctx, gltf, &skeleton);
  if (mesh.vertex_count < 100000) rewrite(&ctx, gltf, &skeleton, &skin);
  sn_poses_free(&poses);
  sn_skin_free(&skin);
  sn_skeleton_free(&skeleton);
  sn_mesh_free(&mesh);
  sn_gltf_free(gltf);
  return 0;
}
