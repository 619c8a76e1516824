// SPDX-License-Identifier: MIT
// A document converted from FBX has one vertex per control point, with texture coordinates per corner and materials per triangle in
// extras. Written as glTF it gets vertices split at seams and one primitive per material.
#include "formats/gltf/out.h"

#include <string.h>

// A vertex is a unique pair of control point and texture coordinates.
typedef struct corner {
  uint32_t vertex;
  float uv[2];
} corner;

typedef struct seam_job {
  gltf_builder *b;
  const sn_gltf *base;
  const json_t *primitive; // of the base
  int vertex_count, triangle_count;
  uint32_t *corners, *materials; // materials NULL: one for all
  float (*uvs)[2];               // per corner; NULL: not in extras
  // the primitive being made
  corner *rows; // of its triangles' corners
  int count;    // vertices
  int *first;   // the first corner of each
} seam_job;

static void read_beside(seam_job *job, sn_arena *scratch) {
  const sn_gltf *base = job->base;
  sn_reader r = {job->b->ctx, job->b->status};
  gltf_object o = sn_gltf_object(&r, job->primitive, "primitive");
  int uvs = sn_gltf_index_in(&o, "extras", GLTF_CORNER_UVS, base->accessor_count, false);
  int materials = sn_gltf_index_in(&o, "extras", GLTF_TRIANGLE_MATERIALS, base->accessor_count, false);
  int corners = sn_gltf_index(&o, "indices", base->accessor_count, true);
  int positions = sn_gltf_index_in(&o, "attributes", "POSITION", base->accessor_count, true);
  if ((job->b->status = r.status) != SN_OK) return;
  job->vertex_count = base->accessors[positions].count;
  job->triangle_count = base->accessors[corners].count / 3;
  size_t n = 3 * (size_t)job->triangle_count;
  job->corners = SN_TAKE(job->b, scratch, uint32_t, n);
  if (uvs >= 0) job->uvs = SN_ROOM(job->b, scratch, n, sizeof *job->uvs);
  if (materials >= 0) job->materials = SN_TAKE(job->b, scratch, uint32_t, job->triangle_count);
  if (job->b->status != SN_OK) return;
  sn_gltf_integers(&r, base, corners, job->corners);
  if (uvs >= 0) sn_gltf_floats(&r, base, uvs, false, job->uvs[0]);
  if (materials >= 0) sn_gltf_integers(&r, base, materials, job->materials);
  job->b->status = r.status;
}

// Copies the attributes of `object` (a primitive's or morph target's) to the new vertices.
static void copy_attributes(seam_job *job, json_t *object, sn_arena *scratch) {
  const char *key;
  json_t *value;
  void *next;
  json_object_foreach_safe(object, next, key, value) {
    const gltf_accessor *from = &job->base->accessors[json_integer_value(value)];
    size_t size = (size_t)from->width * sn_gltf_component_size(from->component);
    uint8_t *bytes = SN_TAKE(job->b, scratch, uint8_t, (size_t)job->count * size);
    if (!bytes) return;
    bool uvs = job->uvs && strcmp(key, "TEXCOORD_0") == 0;
    for (int i = 0; i < job->count; i++) {
      const corner *own = &job->rows[job->first[i]];
      memcpy(bytes + (size_t)i * size,
             uvs ? (const uint8_t *)own->uv : from->bytes + (size_t)own->vertex * from->stride, size);
    }
    bool bounds = strcmp(key, "POSITION") == 0;
    sn_gltf_put(job->b, object, key,
                (gltf_data){bytes, job->count, from->component, from->width, GLTF_VERTICES, bounds});
  }
}

// Adds the triangles of one material (-1: all) as a primitive.
static void add_primitive(seam_job *job, int64_t material, json_t *out, sn_arena *scratch) {
  size_t n = 3 * (size_t)job->triangle_count;
  int used = 0, *corners = SN_TAKE(job->b, scratch, int, n);
  if (!corners) return;
  for (size_t c = 0; c < n; c++) {
    if (material >= 0 && job->materials[c / 3] != material) continue;
    job->rows[used].vertex = job->corners[c];
    if (job->uvs) memcpy(job->rows[used].uv, job->uvs[c], sizeof *job->uvs);
    used++;
  }
  job->count = sn_number_rows(job->b->ctx, job->rows, sizeof *job->rows, used, corners, job->first);
  if (job->count < 0) job->b->status = job->b->ctx->error.status;
  json_t *primitive = json_deep_copy(job->primitive), *target;
  sn_gltf_push(job->b, out, primitive);
  if (job->b->status != SN_OK) return;
  json_object_del(primitive, "extras");
  if (material >= 0) sn_gltf_set(job->b, primitive, "material", json_integer(material));
  sn_gltf_put(job->b, primitive, "indices", (gltf_data){corners, used, GLTF_UINT, 1, GLTF_INDICES, false});
  copy_attributes(job, json_object_get(primitive, "attributes"), scratch);
  size_t k;
  json_array_foreach(json_object_get(primitive, "targets"), k, target) copy_attributes(job, target, scratch);
}

static void split(seam_job *job, json_t *out, sn_arena *scratch) {
  read_beside(job, scratch);
  size_t n = 3 * (size_t)job->triangle_count,
         materials = json_array_size(json_object_get(job->base->json, "materials"));
  job->rows = SN_TAKE(job->b, scratch, corner, n);
  job->first = SN_TAKE(job->b, scratch, int, n);
  bool *seen = SN_TAKE(job->b, scratch, bool, materials);
  if (!seen) return;
  if (!job->materials) return add_primitive(job, -1, out, scratch);
  for (int t = 0; t < job->triangle_count && job->b->status == SN_OK; t++) {
    uint32_t material = job->materials[t];
    if (material >= materials || seen[material]) continue;
    seen[material] = true;
    add_primitive(job, material, out, scratch);
  }
}

void sn_gltf_split_seams(gltf_builder *b, const sn_gltf *base, bool apart) {
  size_t k;
  json_t *mesh;
  json_array_foreach(json_object_get(b->root, "meshes"), k, mesh) {
    json_t *primitive = json_array_get(json_object_get(mesh, "primitives"), 0);
    if (!base->from_fbx || b->status != SN_OK || !json_object_get(primitive, "extras")) continue;
    if (!apart) {
      json_object_del(primitive, "extras");
      continue;
    }
    SN_SCRATCH(scratch, b->ctx);
    json_auto_t *old = json_deep_copy(primitive);
    json_t *primitives = json_array();
    seam_job job = {.b = b, .base = base, .primitive = old};
    if (!old) sn_gltf_out_of_memory(b);
    if (old) split(&job, primitives, &scratch);
    sn_gltf_set(b, mesh, "primitives", primitives);
  }
}
