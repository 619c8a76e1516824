// SPDX-License-Identifier: MIT
// Texture coordinates and materials per corner and triangle, for formats that store them differently.
#include "formats/gltf/gltf.h"

#include <string.h>

// The accessor of that name in the primitive's extras; -1: none.
static int beside(gltf_object *o, const sn_gltf *gltf, const char *key) {
  return gltf->from_fbx ? sn_gltf_index_in(o, "extras", key, gltf->accessor_count, false) : -1;
}

static void part_uvs(sn_reader *r, const sn_gltf *gltf, const gltf_part *part, sn_surface *out) {
  gltf_object o = sn_gltf_primitive(r, gltf, &part->range);
  const gltf_range *range = &part->range;
  int accessor = beside(&o, gltf, GLTF_CORNER_UVS);
  if (accessor >= 0) {
    out->has_uvs = true;
    return sn_gltf_floats(r, gltf, accessor, true, out->uvs[3 * range->first_triangle]);
  }
  SN_SCRATCH(scratch, r->ctx);
  float *uvs = SN_TAKE(r, &scratch, float, 2 * (size_t)range->vertex_count);
  bool has = uvs && sn_gltf_part_floats(&o, gltf, part, "TEXCOORD_0", 2, uvs);
  for (int c = 3 * range->first_triangle; has && c < 3 * (range->first_triangle + range->triangle_count); c++) {
    int vertex = gltf->triangles[c / 3][c % 3] - range->first_vertex;
    memcpy(out->uvs[c], uvs + 2 * (size_t)vertex, sizeof *out->uvs);
  }
  out->has_uvs = out->has_uvs || has;
}

static void part_material(sn_reader *r, const sn_gltf *gltf, const gltf_part *part, sn_surface *out) {
  gltf_object o = sn_gltf_primitive(r, gltf, &part->range);
  int material = sn_gltf_index(&o, "material", out->material_count, false);
  int *own = out->materials + part->range.first_triangle, count = part->range.triangle_count;
  for (int t = 0; t < count; t++) own[t] = material;
  int accessor = beside(&o, gltf, GLTF_TRIANGLE_MATERIALS);
  if (accessor < 0) return;
  SN_SCRATCH(scratch, r->ctx);
  uint32_t *numbers = SN_TAKE(r, &scratch, uint32_t, count);
  sn_gltf_integers(r, gltf, accessor, numbers);
  for (int t = 0; r->status == SN_OK && t < count; t++)
    if (numbers[t] < (uint32_t)out->material_count) own[t] = (int)numbers[t];
}

static void describe_material(sn_reader *r, const json_t *json, int k, sn_surface *out) {
  gltf_object o = sn_gltf_object(r, json_object_get(json, "pbrMetallicRoughness"), "material%d", k);
  double colour[4] = {1, 1, 1, 1};
  const char *name = json_string_value(json_object_get(json, "name"));
  out->material_names[k] = sn_arena_text(r->ctx, &out->memory, name && *name ? name : o.place);
  if (!out->material_names[k]) r->status = r->ctx->error.status;
  sn_gltf_numbers(&o, "baseColorFactor", 4, colour);
  for (int c = 0; c < 3; c++) out->colors[k][c] = (float)fmin(fmax(colour[c], 0), 1);
}

sn_status sn_gltf_surface(sn_context *ctx, const sn_gltf *gltf, sn_surface *out) {
  *out = (sn_surface){.memory = sn_arena_new(ctx)};
  sn_reader r = {ctx, SN_OK};
  json_t *materials;
  size_t n = (size_t)gltf->triangle_count;
  out->material_count = sn_gltf_objects(&r, gltf->json, "materials", &materials);
  out->uvs = SN_ROOM(&r, &out->memory, 3 * n, sizeof *out->uvs);
  out->materials = SN_TAKE(&r, &out->memory, int, n);
  out->material_names = SN_TAKE(&r, &out->memory, const char *, out->material_count);
  out->colors = SN_ROOM(&r, &out->memory, (size_t)out->material_count, sizeof *out->colors);
  for (int k = 0; k < out->material_count && r.status == SN_OK; k++)
    describe_material(&r, json_array_get(materials, (size_t)k), k, out);
  for (int k = 0; k < gltf->part_count && r.status == SN_OK; k++) {
    part_uvs(&r, gltf, &gltf->parts[k], out);
    if (r.status == SN_OK) part_material(&r, gltf, &gltf->parts[k], out);
  }
  if (r.status == SN_OK) return SN_OK;
  sn_surface_free(out);
  return sn_fail_prefix(ctx, "%s: ", gltf->name);
}
