// SPDX-License-Identifier: MIT
// What lies on a document's triangles: texture coordinates and materials, for formats that hold them differently.
#include "formats/gltf/gltf.h"

#include <string.h>

// The accessor of that name among the primitive's extras; -1 where there is none.
static int beside(gltf_object *o, const sn_gltf *gltf, const char *key) {
  return gltf->from_fbx ? sn_gltf_index_in(o, "extras", key, gltf->accessor_count, false) : -1;
}

static sn_status part_uvs(sn_context *ctx, const sn_gltf *gltf, const gltf_part *part, sn_surface *out) {
  gltf_object o = sn_gltf_primitive(ctx, gltf, &part->range);
  const gltf_range *range = &part->range;
  int accessor = beside(&o, gltf, GLTF_CORNER_UVS);
  if (accessor >= 0) {
    out->has_uvs = true;
    return sn_gltf_floats(ctx, gltf, accessor, true, out->uvs[3 * range->first_triangle]);
  }
  sn_arena scratch = sn_arena_new(ctx);
  float *uvs = SN_NEW(ctx, &scratch, float, 2 * (size_t)range->vertex_count);
  bool has = uvs && sn_gltf_part_floats(&o, gltf, part, "TEXCOORD_0", 2, uvs);
  for (int c = 3 * range->first_triangle; has && c < 3 * (range->first_triangle + range->triangle_count); c++) {
    int vertex = gltf->triangles[c / 3][c % 3] - range->first_vertex;
    memcpy(out->uvs[c], uvs + 2 * (size_t)vertex, sizeof *out->uvs);
  }
  out->has_uvs = out->has_uvs || has;
  sn_arena_free(&scratch);
  return uvs ? o.status : ctx->error.status;
}

static sn_status part_material(sn_context *ctx, const sn_gltf *gltf, const gltf_part *part, sn_surface *out) {
  gltf_object o = sn_gltf_primitive(ctx, gltf, &part->range);
  int material = sn_gltf_index(&o, "material", out->material_count, false);
  int *own = out->materials + part->range.first_triangle, count = part->range.triangle_count;
  for (int t = 0; t < count; t++) own[t] = material;
  int accessor = beside(&o, gltf, GLTF_TRIANGLE_MATERIALS);
  if (accessor < 0) return o.status;
  sn_arena scratch = sn_arena_new(ctx);
  uint32_t *numbers = SN_NEW(ctx, &scratch, uint32_t, count);
  sn_status status = numbers ? sn_gltf_integers(ctx, gltf, accessor, numbers) : ctx->error.status;
  for (int t = 0; status == SN_OK && t < count; t++)
    if (numbers[t] < (uint32_t)out->material_count) own[t] = (int)numbers[t];
  sn_arena_free(&scratch);
  return status;
}

static sn_status describe_material(sn_context *ctx, const json_t *json, int k, sn_surface *out) {
  gltf_object o = sn_gltf_object(ctx, json_object_get(json, "pbrMetallicRoughness"), "material%d", k);
  double colour[4] = {1, 1, 1, 1};
  const char *name = json_string_value(json_object_get(json, "name"));
  out->material_names[k] = sn_arena_text(ctx, &out->memory, name && *name ? name : o.place);
  if (!out->material_names[k]) return ctx->error.status;
  sn_gltf_numbers(&o, "baseColorFactor", 4, colour);
  for (int c = 0; c < 3; c++) out->colors[k][c] = (float)fmin(fmax(colour[c], 0), 1);
  return o.status;
}

sn_status sn_gltf_surface(sn_context *ctx, const sn_gltf *gltf, sn_surface *out) {
  *out = (sn_surface){.memory = sn_arena_new(ctx)};
  json_t *materials;
  size_t n = (size_t)gltf->triangle_count;
  sn_status status = sn_gltf_objects(ctx, gltf->json, "materials", &materials, &out->material_count);
  if (status != SN_OK) return status;
  out->uvs = sn_arena_alloc(ctx, &out->memory, 3 * n, sizeof *out->uvs);
  out->materials = SN_NEW(ctx, &out->memory, int, n);
  out->material_names = SN_NEW(ctx, &out->memory, const char *, out->material_count);
  out->colors = sn_arena_alloc(ctx, &out->memory, (size_t)out->material_count, sizeof *out->colors);
  if (!out->uvs || !out->materials || !out->material_names || !out->colors) status = ctx->error.status;
  for (int k = 0; k < out->material_count && status == SN_OK; k++) {
    status = describe_material(ctx, json_array_get(materials, (size_t)k), k, out);
  }
  for (int k = 0; k < gltf->part_count && status == SN_OK; k++) {
    status = part_uvs(ctx, gltf, &gltf->parts[k], out);
    if (status == SN_OK) status = part_material(ctx, gltf, &gltf->parts[k], out);
  }
  if (status != SN_OK) {
    sn_surface_free(out);
    sn_fail_prefix(ctx, "%s: ", gltf->name);
  }
  return status;
}
