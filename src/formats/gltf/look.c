// SPDX-License-Identifier: MIT
// Appearance of the parts: base colours, textures and texture coordinates. Malformed data are dropped, never an error.
#include "formats/gltf/gltf.h"

#include <string.h>

static json_t *item(const sn_gltf *gltf, const char *key, const json_t *index) {
  json_t *list = json_object_get(gltf->json, key);
  return json_is_integer(index) && json_integer_value(index) >= 0
           ? json_array_get(list, (size_t)json_integer_value(index))
           : NULL;
}

// Texture and colour of a material: metallic-roughness, else specular-glossiness.
static const json_t *texture_of(const json_t *material, float colour[3]) {
  const json_t *plain = json_object_get(material, "pbrMetallicRoughness");
  const json_t *gloss = plain ? NULL : sn_gltf_extension(material, "KHR_materials_pbrSpecularGlossiness");
  const json_t *factor = json_object_get(plain ? plain : gloss, plain ? "baseColorFactor" : "diffuseFactor");
  for (size_t c = 0; c < 3; c++) {
    const json_t *number = json_array_get(factor, c);
    colour[c] = json_is_number(number) ? (float)fmin(fmax(json_number_value(number), 0), 1) : 1;
  }
  return json_object_get(plain ? plain : gloss, plain ? "baseColorTexture" : "diffuseTexture");
}

// ---- images -----------------------------------------------------------------------------------------------------------------

// Media type by the first bytes, for images that browsers can show; else NULL.
static const char *type_of(const uint8_t *bytes, size_t size) {
  if (size > 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0) return "image/png";
  if (size > 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0) return "image/jpeg";
  if (size > 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0) return "image/webp";
  return NULL;
}

static sn_status read_image(sn_context *ctx, const sn_gltf *gltf, const json_t *json, sn_arena *memory,
                            sn_look_image *out) {
  const json_t *view = json_object_get(json, "bufferView");
  const char *uri = json_string_value(json_object_get(json, "uri"));
  *out = (sn_look_image){0};
  if (json_is_integer(view)) {
    json_int_t k = json_integer_value(view);
    if (k >= 0 && k < gltf->view_count) out->bytes = gltf->views[k].bytes, out->size = gltf->views[k].size;
  } else if (uri) {
    sn_error before = ctx->error;
    gltf_buffer data;
    sn_status status = sn_gltf_uri(ctx, uri, gltf->folder, memory, &data);
    uint8_t *copy = status == SN_OK ? SN_NEW(ctx, memory, uint8_t, data.size) : NULL;
    out->size = data.size;
    if (copy) out->bytes = memcpy(copy, data.bytes, data.size);
    sn_file_close(&data.file);
    if (status == SN_NO_MEMORY || (status == SN_OK && !copy)) return SN_NO_MEMORY;
    ctx->error = before;
  }
  if (out->bytes) out->type = type_of(out->bytes, out->size);
  return SN_OK;
}

// Index of a texture's image; -1 if it has none that can be shown.
static int image_of(const sn_gltf *gltf, const json_t *texture, const sn_look *look) {
  const json_t *json = item(gltf, "textures", json_object_get(texture, "index"));
  const json_t *webp = json_object_get(sn_gltf_extension(json, "EXT_texture_webp"), "source");
  const json_t *source = webp ? webp : json_object_get(json, "source");
  json_int_t k = json_is_integer(source) ? json_integer_value(source) : -1;
  return k >= 0 && k < look->image_count && look->images[k].type ? (int)k : -1;
}

// ---- texture coordinates ------------------------------------------------------------------------------------------------------

// KHR_texture_transform: scale, then rotate, then translate.
static void transform(const json_t *texture, float uv[2]) {
  const json_t *by = sn_gltf_extension(texture, "KHR_texture_transform");
  if (!by) return;
  const json_t *offset = json_object_get(by, "offset"), *scale = json_object_get(by, "scale");
  double angle = json_number_value(json_object_get(by, "rotation")), s[2] = {1, 1}, o[2] = {0, 0};
  for (size_t c = 0; c < 2; c++) {
    if (json_is_number(json_array_get(scale, c))) s[c] = json_number_value(json_array_get(scale, c));
    if (json_is_number(json_array_get(offset, c))) o[c] = json_number_value(json_array_get(offset, c));
  }
  double u = s[0] * uv[0], v = s[1] * uv[1];
  uv[0] = (float)(cos(angle) * u + sin(angle) * v + o[0]);
  uv[1] = (float)(-sin(angle) * u + cos(angle) * v + o[1]);
}

// False if the primitive has no valid texture coordinates.
static bool read_uv(gltf_object *o, const sn_gltf *gltf, const gltf_part *part, const json_t *texture,
                    float (*out)[2]) {
  const json_t *set = json_object_get(texture, "texCoord");
  char key[32];
  snprintf(key, sizeof key, "TEXCOORD_%d", (int)(json_is_integer(set) ? json_integer_value(set) % 8 : 0));
  bool there = sn_gltf_part_floats(o, gltf, part, key, 2, out[0]);
  for (int i = 0; i < part->range.vertex_count && there; i++) transform(texture, out[i]);
  return there;
}

// ---- parts ----------------------------------------------------------------------------------------------------------------------

static sn_status read_part(sn_context *ctx, const sn_gltf *gltf, const gltf_part *part, sn_look *look,
                           sn_look_part *out) {
  sn_reader r = {ctx, SN_OK};
  gltf_object o = sn_gltf_primitive(&r, gltf, &part->range);
  *out = (sn_look_part){part->range.first_triangle, part->range.triangle_count, {1, 1, 1}, -1};
  const json_t *material = item(gltf, "materials", json_object_get(o.json, "material"));
  const json_t *texture = texture_of(material, out->colour);
  int image = image_of(gltf, texture, look);
  sn_error before = ctx->error;
  if (image >= 0 && read_uv(&o, gltf, part, texture, look->uv + part->range.first_vertex)) out->image = image;
  if (r.status == SN_NO_MEMORY) return r.status;
  ctx->error = before;
  look->plain &= material == NULL;
  return SN_OK;
}

// FBX meshes have materials per triangle: one part for each run of one material, unless there are too many to draw.
static sn_status split_parts(sn_context *ctx, const sn_gltf *gltf, sn_look *look) {
  enum { most = 1000 };
  sn_surface surface;
  int run = -1, count = 0;
  sn_look_part *parts = SN_NEW(ctx, &look->memory, sn_look_part, most);
  sn_status status = parts ? sn_gltf_surface(ctx, gltf, &surface) : ctx->error.status;
  if (status != SN_OK) return status;
  for (int p = 0; p < gltf->part_count; p++) {
    const gltf_range *range = &gltf->parts[p].range;
    for (int t = range->first_triangle; t < range->first_triangle + range->triangle_count; t++) {
      int material = surface.materials[t];
      if (t > range->first_triangle && material == surface.materials[t - 1]) {
        if (run < most) parts[run].triangle_count++;
      } else if ((run = count++) < most) {
        parts[run] = (sn_look_part){t, 1, {1, 1, 1}, -1};
        if (material >= 0) memcpy(parts[run].colour, surface.colors[material], sizeof parts[run].colour);
      }
    }
  }
  if (count <= most) look->parts = parts, look->part_count = count;
  sn_surface_free(&surface);
  return SN_OK;
}

sn_status sn_gltf_look(sn_context *ctx, const sn_gltf *gltf, sn_look *out) {
  *out = (sn_look){.memory = sn_arena_new(ctx), .plain = true};
  const json_t *images = json_object_get(gltf->json, "images");
  size_t count = json_array_size(images);
  out->images = SN_NEW(ctx, &out->memory, sn_look_image, count);
  out->parts = SN_NEW(ctx, &out->memory, sn_look_part, gltf->part_count);
  out->uv = sn_arena_alloc(ctx, &out->memory, (size_t)gltf->vertex_count, sizeof *out->uv);
  if (!out->images || !out->parts || !out->uv) return ctx->error.status;
  out->vertex_count = gltf->vertex_count, out->triangle_count = gltf->triangle_count;
  sn_status status = SN_OK;
  for (size_t k = 0; k < count && status == SN_OK; k++, out->image_count++)
    status = read_image(ctx, gltf, json_array_get(images, k), &out->memory, &out->images[k]);
  for (int p = 0; p < gltf->part_count && status == SN_OK; p++, out->part_count++)
    status = read_part(ctx, gltf, &gltf->parts[p], out, &out->parts[p]);
  return status == SN_OK && gltf->from_fbx ? split_parts(ctx, gltf, out) : status;
}

SN_DEFINE_FREE(sn_look);
