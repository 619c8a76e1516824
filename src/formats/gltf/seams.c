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
  const gltf_range *range; // the part that is split
  const json_t *primitive; // of the base
  sn_surface surface;      // of the base
  // the primitive being made
  corner *rows; // of its triangles' corners
  int count;    // vertices
  int *first;   // the first corner of each
} seam_job;

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
    bool uvs = strcmp(key, "TEXCOORD_0") == 0;
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

// Adds the triangles of one material as a primitive.
static void add_primitive(seam_job *job, int material, json_t *out, sn_arena *scratch) {
  const gltf_range *range = job->range;
  int used = 0, *corners = SN_TAKE(job->b, scratch, int, 3 * (size_t)range->triangle_count);
  if (!corners) return;
  for (int t = range->first_triangle; t < range->first_triangle + range->triangle_count; t++)
    for (int c = 0; job->surface.materials[t] == material && c < 3; c++, used++) {
      job->rows[used].vertex = (uint32_t)(job->base->triangles[t][c] - range->first_vertex);
      memcpy(job->rows[used].uv, job->surface.uvs[3 * t + c], sizeof job->rows[used].uv);
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

static void split(seam_job *job, json_t *out) {
  SN_SCRATCH(scratch, job->b->ctx);
  size_t n = 3 * (size_t)job->range->triangle_count;
  job->rows = SN_TAKE(job->b, &scratch, corner, n);
  job->first = SN_TAKE(job->b, &scratch, int, n);
  bool *seen = SN_TAKE(job->b, &scratch, bool, job->surface.material_count + 1); // the last: none
  for (int t = 0; t < job->range->triangle_count && job->b->status == SN_OK; t++) {
    int material = job->surface.materials[job->range->first_triangle + t];
    bool *done = &seen[material < 0 ? job->surface.material_count : material];
    if (!*done) add_primitive(job, material, out, &scratch);
    *done = true;
  }
}

void sn_gltf_split_seams(gltf_builder *b, const sn_gltf *base, bool apart) {
  seam_job job = {.b = b, .base = base};
  if (!base->from_fbx || b->status != SN_OK) return;
  if (apart) b->status = sn_gltf_surface(b->ctx, base, &job.surface);
  for (int k = 0; k < base->part_count && b->status == SN_OK; k++) {
    job.range = &base->parts[k].range;
    json_t *mesh = sn_gltf_entry(b, "meshes", job.range->mesh);
    json_t *primitive = json_array_get(json_object_get(mesh, "primitives"), 0);
    if (!json_object_get(primitive, "extras")) continue;
    if (!apart) {
      json_object_del(primitive, "extras");
      continue;
    }
    json_auto_t *old = json_deep_copy(primitive);
    json_t *primitives = json_array();
    job.primitive = old;
    if (!old) sn_gltf_out_of_memory(b);
    if (old) split(&job, primitives);
    sn_gltf_set(b, mesh, "primitives", primitives);
  }
  sn_surface_free(&job.surface);
}
