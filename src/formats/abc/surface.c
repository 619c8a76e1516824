// SPDX-License-Identifier: MIT
// What lies on the faces of Alembic meshes: texture coordinates and normals of every corner, face sets as materials.
#include "formats/abc/abc.h"

#include <string.h>

// Values on a mesh, per corner, point, face or once, perhaps through indices.
typedef struct parameter {
  bool found;
  abc_span values, indices;
  uint64_t count, index_count; // elements
  int width;                   // floats of an element
  char scope;                  // 'f' corner, 'v' point, 'u' face, 'c' once
} parameter;

static char scope_of(abc_span meta, uint64_t count, const abc_object *object, const abc_faces *faces) {
  abc_span scope = sn_abc_meta(meta, "geoScope");
  if (sn_abc_is(scope, "fvr")) return 'f';
  if (sn_abc_is(scope, "vtx") || sn_abc_is(scope, "var")) return 'v';
  if (sn_abc_is(scope, "uni")) return 'u';
  if (sn_abc_is(scope, "con")) return 'c';
  if (count == faces->corner_count) return 'f'; // not said: by the number of values
  if (count == (uint64_t)object->told.points) return 'v';
  return count == faces->face_count ? 'u' : 'c';
}

static sn_status read_parameter(sn_context *ctx, const sn_abc *abc, const abc_object *object, const abc_faces *faces,
                                const abc_property *property, int width, parameter *out) {
  abc_property values = *property, indices = {0};
  *out = (parameter){.width = width};
  sn_status status = SN_OK;
  if (property->found && property->type == 0) {
    status = sn_abc_find(ctx, abc, property->position, ".vals", &values);
    if (status == SN_OK) status = sn_abc_find(ctx, abc, property->position, ".indices", &indices);
  }
  if (status != SN_OK || !values.found || values.type == 0 || values.samples == 0) return status;
  if (values.pod != ABC_FLOAT32 || values.extent != width) return SN_OK; // of another kind: passed over
  status = sn_abc_sample(ctx, abc, &values, 0, &out->values, &out->count);
  if (status == SN_OK && indices.found && indices.type != 0 && indices.samples > 0 && indices.pod == ABC_UINT32) {
    status = sn_abc_sample(ctx, abc, &indices, 0, &out->indices, &out->index_count);
    out->index_count = out->indices.size / 4;
  }
  out->found = status == SN_OK && out->count > 0;
  out->scope = scope_of(property->meta, out->index_count ? out->index_count : out->count, object, faces);
  return status;
}

// False where the value is missing.
static bool value_at(const parameter *p, uint64_t corner, uint64_t face, uint64_t point, float *out) {
  uint64_t at = p->scope == 'f' ? corner : p->scope == 'v' ? point : p->scope == 'u' ? face : 0;
  if (p->index_count > 0) {
    if (at >= p->index_count) return false;
    at = sn_abc_u32(p->indices.bytes + 4 * at);
  }
  if (at >= p->count) return false;
  memcpy(out, p->values.bytes + at * 4 * (uint64_t)p->width, 4 * (size_t)p->width);
  return true;
}

typedef struct surface_part {
  const abc_faces *faces;
  parameter uv, normal;
  sn_mat3 normal_map;
  const int *face_materials;
  int first_triangle;
  bool missing;
  sn_surface *out;
} surface_part;

static void put_corners(void *user, int triangle, uint64_t face, const uint64_t corners[3]) {
  surface_part *part = user;
  size_t t = (size_t)(part->first_triangle + triangle);
  for (size_t c = 0; c < 3; c++) {
    uint64_t point = sn_abc_u32(part->faces->indices + 4 * corners[c]);
    float normal[3] = {0, 0, 0};
    if (part->uv.found && !value_at(&part->uv, corners[c], face, point, part->out->uvs[3 * t + c]))
      part->missing = true;
    if (!part->normal.found) continue;
    if (!value_at(&part->normal, corners[c], face, point, normal)) part->missing = true;
    sn_vec3 turned = sn_vec3_normalize(sn_mat3_apply(part->normal_map, sn_vec3_from(normal)), sn_vec3_make(0, 0, 1));
    sn_vec3_store(turned, part->out->normals[3 * t + c]);
  }
  part->out->materials[t] = part->face_materials[face];
}

// The face sets below a mesh; a face in several has the last.
static sn_status mark_sets(sn_context *ctx, const sn_abc *abc, int mesh, uint64_t face_count, int *face_materials,
                           sn_surface *out) {
  for (uint64_t f = 0; f < face_count; f++) face_materials[f] = -1;
  sn_status status = SN_OK;
  for (int k = mesh + 1; status == SN_OK && k < abc->object_count; k++) {
    const abc_object *set = &abc->objects[k];
    abc_span data;
    uint64_t count;
    if (set->told.parent != mesh || set->kind != abc_face_set || !set->faces.found || set->faces.pod != ABC_INT32)
      continue;
    if (set->faces.samples == 0 || set->faces.type == 0) continue;
    status = sn_abc_sample(ctx, abc, &set->faces, 0, &data, &count);
    if (status != SN_OK) break;
    out->material_names[out->material_count] = strrchr(set->told.path, '/') + 1;
    for (uint64_t i = 0; i < data.size / 4; i++) {
      uint32_t face = sn_abc_u32(data.bytes + 4 * i);
      if (face < face_count) face_materials[face] = out->material_count;
    }
    out->material_count++;
  }
  return status;
}

static sn_status read_part(sn_context *ctx, const sn_abc *abc, int k, double t, sn_arena *scratch, int *first,
                           sn_surface *out) {
  const abc_object *object = &abc->objects[k];
  abc_faces faces;
  surface_part part = {.faces = &faces, .first_triangle = *first, .out = out};
  sn_affine world;
  sn_mat3 inverse;
  sn_status status = sn_abc_faces(ctx, abc, object, &faces);
  if (status == SN_OK) status = read_parameter(ctx, abc, object, &faces, &object->uvs, 2, &part.uv);
  if (status == SN_OK) status = read_parameter(ctx, abc, object, &faces, &object->normals, 3, &part.normal);
  if (status == SN_OK) status = sn_abc_world(ctx, abc, k, t, &world);
  int *face_materials = status == SN_OK ? SN_NEW(ctx, scratch, int, faces.face_count) : NULL;
  if (status == SN_OK && !face_materials) status = ctx->error.status;
  if (status == SN_OK) status = mark_sets(ctx, abc, k, faces.face_count, face_materials, out);
  if (status != SN_OK) return status;
  part.normal_map =
    sn_mat3_invert(sn_affine_linear(world), &inverse) ? sn_mat3_transpose(inverse) : sn_mat3_identity();
  part.face_materials = face_materials;
  sn_abc_triangles(&faces, put_corners, &part);
  *first += (int)faces.triangle_count;
  out->has_uvs = out->has_uvs || part.uv.found;
  out->has_normals = out->has_normals || part.normal.found;
  if (!part.missing) return SN_OK;
  return sn_fail(ctx, SN_BAD_FILE, "%s: %s: damaged: texture coordinates or normals are missing", abc->name,
                 object->told.path);
}

sn_status sn_abc_surface(sn_context *ctx, const sn_abc *abc, double t, sn_surface *out) {
  size_t corners = 3 * (size_t)abc->triangle_count;
  *out = (sn_surface){.memory = sn_arena_new(ctx)};
  out->uvs = sn_arena_alloc(ctx, &out->memory, corners, sizeof *out->uvs);
  out->normals = sn_arena_alloc(ctx, &out->memory, corners, sizeof *out->normals);
  out->materials = SN_NEW(ctx, &out->memory, int, abc->triangle_count);
  out->material_names = SN_NEW(ctx, &out->memory, const char *, abc->object_count);
  sn_status status = out->uvs && out->normals && out->materials && out->material_names ? SN_OK : ctx->error.status;
  sn_arena scratch = sn_arena_new(ctx);
  int first = 0;
  for (int k = 0; status == SN_OK && k < abc->object_count; k++) {
    if (abc->objects[k].chosen) status = read_part(ctx, abc, k, t, &scratch, &first, out);
  }
  for (int k = 0; status == SN_OK && k < out->material_count; k++) {
    out->material_names[k] = sn_arena_text(ctx, &out->memory, out->material_names[k]); // outlives the archive
    if (!out->material_names[k]) status = ctx->error.status;
  }
  sn_arena_free(&scratch);
  if (status != SN_OK) sn_surface_free(out);
  return status;
}
