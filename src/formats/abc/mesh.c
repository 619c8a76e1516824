// SPDX-License-Identifier: MIT
// Faces of Alembic meshes: triangles, texture coordinates, normals and face sets. Alembic's faces are clockwise, ours
// counter-clockwise.
#include "formats/abc/abc.h"

#include <string.h>

static void bad_faces(sn_abc *abc, const abc_object *object, const char *what) {
  sn_abc_fail(abc, SN_BAD_FILE, "%s: damaged: %s", object->info.path, what);
}

abc_faces sn_abc_faces(sn_abc *abc, const abc_object *object) {
  if (object->counts.pod != ABC_INT32 || object->indices.pod != ABC_INT32 || object->indices.samples == 0)
    bad_faces(abc, object, "its faces are not of whole numbers");
  abc_span counts = sn_abc_sample(abc, &object->counts, 0), indices = sn_abc_sample(abc, &object->indices, 0);
  abc_faces out = {counts.size / 4, indices.size / 4, 0, counts.bytes, indices.bytes};
  uint64_t sum = 0;
  for (uint64_t f = 0; f < out.face_count && abc->status == SN_OK; f++) {
    uint32_t count = sn_little32(counts.bytes + 4 * f);
    if (count > out.corner_count - sum) bad_faces(abc, object, "faces with more corners than there are");
    sum += count;
    if (count >= 3) out.triangle_count += count - 2;
  }
  if (sum != out.corner_count) bad_faces(abc, object, "corners that belong to no face");
  for (uint64_t c = 0; c < out.corner_count && abc->status == SN_OK; c++) {
    if (sn_little32(indices.bytes + 4 * c) >= (uint32_t)object->info.points)
      bad_faces(abc, object, "a face with a point that is not there");
  }
  if (out.triangle_count == 0) sn_abc_fail(abc, SN_BAD_INPUT, "%s has no face with three corners", object->info.path);
  return abc->status == SN_OK ? out : (abc_faces){0};
}

// Faces are read from last corner to first, which undoes the exporters' reversal, and split into fans: the same triangles as in an
// .obj or .fbx of the same mesh.
typedef struct triangle {
  uint64_t face, corners[3]; // indices in the whole mesh
} triangle;

static triangle *list_triangles(sn_abc *abc, const abc_faces *faces, sn_arena *memory) {
  triangle *list = SN_ROOM(abc, memory, faces->triangle_count, sizeof *list), *next = list;
  uint64_t last = 0;
  for (uint64_t f = 0; list && f < faces->face_count; f++, last++) {
    uint32_t count = sn_little32(faces->counts + 4 * f);
    last += (uint64_t)count - 1;
    for (uint32_t c = 1; c + 1 < count; c++) *next++ = (triangle){f, {last, last - c, last - c - 1}};
  }
  return list;
}

static uint32_t point_of(const abc_faces *faces, uint64_t corner) { return sn_little32(faces->indices + 4 * corner); }

sn_status sn_abc_mesh(sn_context *ctx, sn_abc *abc, double t, sn_mesh *out) {
  sn_abc_begin(ctx, abc);
  abc->status = sn_mesh_new(ctx, abc->vertex_count, abc->triangle_count, out);
  int done = 0;
  for (int k = 0; abc->status == SN_OK && k < abc->object_count; k++) {
    const abc_object *object = &abc->objects[k];
    if (!object->chosen) continue;
    SN_SCRATCH(scratch, ctx);
    abc_faces faces = sn_abc_faces(abc, object);
    const triangle *list = list_triangles(abc, &faces, &scratch);
    for (uint64_t n = 0; list && n < faces.triangle_count; n++, done++)
      for (int c = 0; c < 3; c++)
        out->triangles[done][c] = object->first_vertex + (int)point_of(&faces, list[n].corners[c]);
  }
  sn_abc_place(abc, t, out->positions);
  if (abc->status != SN_OK) sn_mesh_free(out);
  return abc->status;
}

// ---- surface: texture coordinates, normals, face sets as materials ---------------------------------------------------------

// Values on a mesh (a GeomParam): per corner, point, face or constant, optionally indexed.
typedef struct parameter {
  bool found;
  abc_span values, indices;
  int width;  // floats per element
  char scope; // 'f' corner, 'v' point, 'u' face, 'c' constant
} parameter;

static char scope_of(abc_span meta, uint64_t count, const abc_object *object, const abc_faces *faces) {
  static const char *const names[] = {"fvr", "vtx", "var", "uni", "con"};
  abc_span scope = sn_abc_meta(meta, "geoScope");
  for (int k = 0; k < 5; k++)
    if (sn_abc_is(scope, names[k])) return "fvvuc"[k];
  if (count == faces->corner_count) return 'f'; // scope not given: guess it from the number of values
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
    return out; // missing, or an unsupported type: ignored
  out.values = sn_abc_sample(abc, &values, 0);
  if (sn_abc_has_samples(&indices) && indices.pod == ABC_UINT32) out.indices = sn_abc_sample(abc, &indices, 0);
  out.indices.count = out.indices.size / 4;
  out.found = out.values.count > 0;
  out.scope = scope_of(property->meta, out.indices.count ? out.indices.count : out.values.count, object, faces);
  return out;
}

// False if the value is missing.
static bool value_at(const parameter *p, uint64_t corner, uint64_t face, uint64_t point, float *out) {
  uint64_t at = p->scope == 'f' ? corner : p->scope == 'v' ? point : p->scope == 'u' ? face : 0;
  if (p->indices.count > 0) {
    if (at >= p->indices.count) return false;
    at = sn_little32(p->indices.bytes + 4 * at);
  }
  if (at >= p->values.count) return false;
  memcpy(out, p->values.bytes + at * 4 * (uint64_t)p->width, 4 * (size_t)p->width);
  return true;
}

typedef struct surface_part {
  const abc_faces *faces;
  parameter uv, normal;
  sn_mat3 normal_map;
} surface_part;

// Texture coordinates and normal of a corner; false if they are missing.
static bool put_corner(const surface_part *part, uint64_t face, uint64_t corner, float *uv, float *normal) {
  uint64_t point = point_of(part->faces, corner);
  bool good = !part->uv.found || value_at(&part->uv, corner, face, point, uv);
  if (!part->normal.found) return good;
  good = value_at(&part->normal, corner, face, point, normal) && good;
  sn_vec3 world = sn_mat3_apply(part->normal_map, sn_vec3_from(normal));
  sn_vec3_store(sn_vec3_normalize(world, sn_vec3_make(0, 0, 1)), normal);
  return good;
}

// Materials from the face sets below a mesh; of several for a face, the last wins.
static void mark_sets(sn_abc *abc, int mesh, uint64_t face_count, int *face_materials, sn_surface *out) {
  for (uint64_t f = 0; f < face_count; f++) face_materials[f] = -1;
  for (int k = mesh + 1; abc->status == SN_OK && k < abc->object_count; k++) {
    const abc_object *set = &abc->objects[k];
    if (set->info.parent != mesh || set->kind != abc_face_set || set->faces.pod != ABC_INT32) continue;
    if (!sn_abc_has_samples(&set->faces)) continue;
    abc_span data = sn_abc_sample(abc, &set->faces, 0);
    out->material_names[out->material_count] = strrchr(set->info.path, '/') + 1;
    for (uint64_t i = 0; i < data.size / 4; i++) {
      uint32_t face = sn_little32(data.bytes + 4 * i);
      if (face < face_count) face_materials[face] = out->material_count;
    }
    out->material_count++;
  }
}

// Reads the triangles of object k, from `first` on; returns how many.
static int read_part(sn_abc *abc, int k, double t, int first, sn_surface *out) {
  const abc_object *object = &abc->objects[k];
  abc_faces faces = sn_abc_faces(abc, object);
  surface_part part = {.faces = &faces};
  sn_mat3 inverse;
  SN_SCRATCH(scratch, abc->ctx);
  part.uv = read_parameter(abc, object, &faces, &object->uvs, 2);
  part.normal = read_parameter(abc, object, &faces, &object->normals, 3);
  sn_affine world = sn_abc_world(abc, k, t);
  int *face_materials = SN_ROOM(abc, &scratch, faces.face_count, sizeof *face_materials);
  if (face_materials) mark_sets(abc, k, faces.face_count, face_materials, out);
  part.normal_map =
    sn_mat3_invert(sn_affine_linear(world), &inverse) ? sn_mat3_transpose(inverse) : sn_mat3_identity();
  const triangle *list = list_triangles(abc, &faces, &scratch);
  bool good = true;
  for (uint64_t n = 0, to = (uint64_t)first; list && n < faces.triangle_count; n++, to++) {
    for (uint64_t c = 0; c < 3; c++)
      good =
        put_corner(&part, list[n].face, list[n].corners[c], out->uvs[3 * to + c], out->normals[3 * to + c]) && good;
    out->materials[to] = face_materials[list[n].face];
  }
  out->has_uvs = out->has_uvs || part.uv.found;
  out->has_normals = out->has_normals || part.normal.found;
  if (!good)
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
