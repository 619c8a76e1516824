// SPDX-License-Identifier: MIT
// What lies on the faces of Alembic meshes: texture coordinates and normals of every corner, face sets as materials.
#include "formats/abc/abc.h"

#include <string.h>

// Values on a mesh, per corner, point, face or once, perhaps through indices.
typedef struct parameter {
  bool found;
  abc_span values, indices;
  int width;  // floats of an element
  char scope; // 'f' corner, 'v' point, 'u' face, 'c' once
} parameter;

static char scope_of(abc_span meta, uint64_t count, const abc_object *object, const abc_faces *faces) {
  static const char *const names[] = {"fvr", "vtx", "var", "uni", "con"};
  abc_span scope = sn_abc_meta(meta, "geoScope");
  for (int k = 0; k < 5; k++)
    if (sn_abc_is(scope, names[k])) return "fvvuc"[k];
  if (count == faces->corner_count) return 'f'; // not said: by the number of values
  if (count == (uint64_t)object->info.points) return 'v';
  return count == faces->face_count ? 'u' : 'c';
}

static parameter read_parameter(sn_abc *abc, const abc_object *object, const abc_faces *faces,
                                const abc_property *property, int width) {
  abc_property values = *property, indices = {0};
  parameter out = {.width = width};
  if (property->found && property->type == 0) {
    values = sn_abc_find(abc, property->position, ".vals");
    indices = sn_abc_find(abc, property->position, ".indices");
  }
  if (!sn_abc_has_samples(&values) || values.pod != ABC_FLOAT32 || values.extent != width)
    return out; // none, or of another kind: passed over
  out.values = sn_abc_sample(abc, &values, 0);
  if (sn_abc_has_samples(&indices) && indices.pod == ABC_UINT32) out.indices = sn_abc_sample(abc, &indices, 0);
  out.indices.count = out.indices.size / 4;
  out.found = out.values.count > 0;
  out.scope = scope_of(property->meta, out.indices.count ? out.indices.count : out.values.count, object, faces);
  return out;
}

// False where the value is missing.
static bool value_at(const parameter *p, uint64_t corner, uint64_t face, uint64_t point, float *out) {
  uint64_t at = p->scope == 'f' ? corner : p->scope == 'v' ? point : p->scope == 'u' ? face : 0;
  if (p->indices.count > 0) {
    if (at >= p->indices.count) return false;
    at = sn_abc_u32(p->indices.bytes + 4 * at);
  }
  if (at >= p->values.count) return false;
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
static void mark_sets(sn_abc *abc, int mesh, uint64_t face_count, int *face_materials, sn_surface *out) {
  for (uint64_t f = 0; f < face_count; f++) face_materials[f] = -1;
  for (int k = mesh + 1; abc->status == SN_OK && k < abc->object_count; k++) {
    const abc_object *set = &abc->objects[k];
    if (set->info.parent != mesh || set->kind != abc_face_set || set->faces.pod != ABC_INT32) continue;
    if (!sn_abc_has_samples(&set->faces)) continue;
    abc_span data = sn_abc_sample(abc, &set->faces, 0);
    out->material_names[out->material_count] = strrchr(set->info.path, '/') + 1;
    for (uint64_t i = 0; i < data.size / 4; i++) {
      uint32_t face = sn_abc_u32(data.bytes + 4 * i);
      if (face < face_count) face_materials[face] = out->material_count;
    }
    out->material_count++;
  }
}

// The triangles of object k, from `first` on; how many.
static int read_part(sn_abc *abc, int k, double t, int first, sn_surface *out) {
  const abc_object *object = &abc->objects[k];
  abc_faces faces = sn_abc_faces(abc, object);
  surface_part part = {.faces = &faces, .first_triangle = first, .out = out};
  sn_mat3 inverse;
  SN_SCRATCH(scratch, abc->ctx);
  part.uv = read_parameter(abc, object, &faces, &object->uvs, 2);
  part.normal = read_parameter(abc, object, &faces, &object->normals, 3);
  sn_affine world = sn_abc_world(abc, k, t);
  int *face_materials = SN_ROOM(abc, &scratch, faces.face_count, sizeof *face_materials);
  if (face_materials) mark_sets(abc, k, faces.face_count, face_materials, out);
  part.normal_map =
    sn_mat3_invert(sn_affine_linear(world), &inverse) ? sn_mat3_transpose(inverse) : sn_mat3_identity();
  part.face_materials = face_materials;
  if (abc->status == SN_OK) sn_abc_triangles(&faces, put_corners, &part);
  out->has_uvs = out->has_uvs || part.uv.found;
  out->has_normals = out->has_normals || part.normal.found;
  if (part.missing)
    sn_abc_fail(abc, SN_BAD_FILE, "%s: damaged: texture coordinates or normals are missing", object->info.path);
  return (int)faces.triangle_count;
}

sn_status sn_abc_surface(sn_context *ctx, sn_abc *abc, double t, sn_surface *out) {
  uint64_t corners = 3 * (uint64_t)abc->triangle_count;
  sn_abc_begin(ctx, abc);
  *out = (sn_surface){.memory = sn_arena_new(ctx)};
  out->uvs = SN_ROOM(abc, &out->memory, corners, sizeof *out->uvs);
  out->normals = SN_ROOM(abc, &out->memory, corners, sizeof *out->normals);
  out->materials = SN_ROOM(abc, &out->memory, corners / 3, sizeof *out->materials);
  out->material_names = SN_ROOM(abc, &out->memory, (uint64_t)abc->object_count, sizeof *out->material_names);
  for (int k = 0, first = 0; abc->status == SN_OK && k < abc->object_count; k++)
    if (abc->objects[k].chosen) first += read_part(abc, k, t, first, out);
  for (int k = 0; abc->status == SN_OK && k < out->material_count; k++) {
    out->material_names[k] = sn_arena_text(ctx, &out->memory, out->material_names[k]); // outlives the archive
    if (!out->material_names[k]) abc->status = ctx->error.status;
  }
  if (abc->status != SN_OK) sn_surface_free(out);
  return abc->status;
}
