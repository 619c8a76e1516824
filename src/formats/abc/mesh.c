// SPDX-License-Identifier: MIT
// Faces of Alembic meshes: triangles, and what lies on them (texture coordinates, normals, face sets).
// Alembic's faces run clockwise; ours counter-clockwise.
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
    uint32_t count = sn_abc_u32(counts.bytes + 4 * f);
    if (count > out.corner_count - sum) bad_faces(abc, object, "faces with more corners than there are");
    sum += count;
    if (count >= 3) out.triangle_count += count - 2;
  }
  if (sum != out.corner_count) bad_faces(abc, object, "corners that belong to no face");
  for (uint64_t c = 0; c < out.corner_count && abc->status == SN_OK; c++) {
    if (sn_abc_u32(indices.bytes + 4 * c) >= (uint32_t)object->info.points)
      bad_faces(abc, object, "a face with a point that is not there");
  }
  if (out.triangle_count == 0) sn_abc_fail(abc, SN_BAD_INPUT, "%s has no face with three corners", object->info.path);
  return abc->status == SN_OK ? out : (abc_faces){0};
}

// Faces are read from their last corner to their first, as the programs that write them turned them round, and become fans:
// the same triangles as in an .obj or .fbx of the same mesh. Calls with the face and its three corners (numbers among all).
void sn_abc_triangles(const abc_faces *faces, abc_triangle_fn call, void *user) {
  uint64_t first = 0;
  int triangle = 0;
  for (uint64_t f = 0; f < faces->face_count; f++) {
    uint32_t count = sn_abc_u32(faces->counts + 4 * f);
    for (uint32_t c = 1; c + 1 < count; c++) {
      uint64_t last = first + count - 1;
      call(user, triangle++, f, (uint64_t[3]){last, last - c, last - c - 1});
    }
    first += count;
  }
}

typedef struct mesh_part {
  const abc_faces *faces;
  int first_vertex;
  int (*triangles)[3];
} mesh_part;

static void put_triangle(void *user, int triangle, uint64_t face, const uint64_t corners[3]) {
  (void)face;
  mesh_part *part = user;
  for (int c = 0; c < 3; c++) {
    part->triangles[triangle][c] = part->first_vertex + (int)sn_abc_u32(part->faces->indices + 4 * corners[c]);
  }
}

sn_status sn_abc_mesh(sn_context *ctx, sn_abc *abc, double t, sn_mesh *out) {
  sn_abc_begin(ctx, abc);
  abc->status = sn_mesh_new(ctx, abc->vertex_count, abc->triangle_count, out);
  int done = 0;
  for (int k = 0; abc->status == SN_OK && k < abc->object_count; k++) {
    const abc_object *object = &abc->objects[k];
    if (!object->chosen) continue;
    abc_faces faces = sn_abc_faces(abc, object);
    mesh_part part = {&faces, object->first_vertex, out->triangles + done};
    sn_abc_triangles(&faces, put_triangle, &part);
    done += (int)faces.triangle_count;
  }
  sn_abc_place(abc, t, out->positions);
  if (abc->status != SN_OK) sn_mesh_free(out);
  return abc->status;
}
