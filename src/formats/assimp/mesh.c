// SPDX-License-Identifier: MIT
// In the child: converts assimp's meshes. Most importers split every corner of a face into a separate vertex; equal corners are
// merged again, numbered by first appearance. Vertices that faces share in the file stay.
#include "formats/assimp/assimp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// All attributes of a vertex.
typedef struct corner {
  float position[3], uv[2];
  gltf_influences influences;
} corner;

typedef struct mesh_work {
  const struct aiMesh *mesh;
  corner *corners; // per assimp vertex
  int *vertex;     // per corner
  int *first;      // per vertex: its first corner
  int count;
} mesh_work;

static void gather(mesh_work *w, const sn_affine *place) {
  const struct aiMesh *mesh = w->mesh;
  for (unsigned i = 0; i < mesh->mNumVertices; i++) {
    const struct aiVector3D *p = &mesh->mVertices[i];
    sn_vec3 at = {p->x, p->y, p->z};
    corner *c = &w->corners[i];
    sn_vec3_store(place ? sn_affine_apply(*place, at) : at, c->position);
    if (!mesh->mTextureCoords[0]) continue;
    c->uv[0] = mesh->mTextureCoords[0][i].x, c->uv[1] = 1 - mesh->mTextureCoords[0][i].y;
  }
  for (unsigned b = 0; b < mesh->mNumBones; b++) {
    const struct aiBone *bone = mesh->mBones[b];
    for (unsigned k = 0; k < bone->mNumWeights; k++) {
      const struct aiVertexWeight *weight = &bone->mWeights[k];
      if (weight->mVertexId < mesh->mNumVertices)
        sn_gltf_keep_influence(&w->corners[weight->mVertexId].influences, (int)b, weight->mWeight);
    }
  }
}

static bool shares_vertices(const struct aiMesh *mesh) {
  uint64_t corners = 0;
  for (unsigned f = 0; f < mesh->mNumFaces; f++) corners += mesh->mFaces[f].mNumIndices;
  return corners > mesh->mNumVertices;
}

// Merges equal corners into one vertex, numbered by the first of them.
static void join(assimp_job *job, mesh_work *w) {
  int n = (int)w->mesh->mNumVertices;
  w->vertex = SN_TAKE(&job->b, &job->b.memory, int, n);
  w->first = SN_TAKE(&job->b, &job->b.memory, int, n);
  if (!w->first) return;
  w->count = n;
  for (int i = 0; i < n; i++) w->vertex[i] = w->first[i] = i;
  if (!shares_vertices(w->mesh))
    w->count = sn_number_rows(job->b.ctx, w->corners, sizeof(corner), n, w->vertex, w->first);
  if (w->count < 0) job->b.status = job->b.ctx->error.status;
}

static int count_triangles(const struct aiMesh *mesh) {
  int count = 0;
  for (unsigned f = 0; f < mesh->mNumFaces; f++)
    if (mesh->mFaces[f].mNumIndices >= 3) count += (int)mesh->mFaces[f].mNumIndices - 2;
  return count;
}

// Writes an attribute of `width` numbers per vertex, from byte `offset` of its corner.
static void add_floats(assimp_job *job, const mesh_work *w, json_t *attributes, const char *key, size_t offset,
                       int width) {
  size_t size = (size_t)width * sizeof(float);
  uint8_t *out = SN_TAKE(&job->b, &job->b.memory, uint8_t, (size_t)w->count * size);
  for (int i = 0; out && i < w->count; i++)
    memcpy(out + (size_t)i * size, (const uint8_t *)&w->corners[w->first[i]] + offset, size);
  if (out) sn_gltf_put_floats(&job->b, attributes, key, out, w->count, width);
}

static void add_influences(assimp_job *job, const mesh_work *w, json_t *attributes) {
  gltf_influences *rows = SN_TAKE(&job->b, &job->b.memory, gltf_influences, w->count);
  for (int i = 0; rows && i < w->count; i++) rows[i] = w->corners[w->first[i]].influences;
  if (!rows) return;
  sn_gltf_normalise(rows, w->count);
  sn_gltf_put_influences(&job->b, attributes, rows, w->count, true);
}

// Writes polygons as triangle fans.
static void add_indices(assimp_job *job, const mesh_work *w, json_t *primitive) {
  int count = count_triangles(w->mesh), done = 0;
  uint32_t *out = SN_TAKE(&job->b, &job->b.memory, uint32_t, 3 * (size_t)count);
  for (unsigned f = 0; out && f < w->mesh->mNumFaces; f++) {
    const struct aiFace *face = &w->mesh->mFaces[f];
    for (unsigned c = 1; c + 1 < face->mNumIndices; c++) {
      const unsigned corners[3] = {face->mIndices[0], face->mIndices[c], face->mIndices[c + 1]};
      for (int k = 0; k < 3; k++) {
        out[done++] = corners[k] < w->mesh->mNumVertices ? (uint32_t)w->vertex[corners[k]] : 0;
      }
    }
  }
  if (out) sn_gltf_put(&job->b, primitive, "indices", (gltf_data){out, done, GLTF_UINT, 1, GLTF_INDICES, false});
}

// Adds the skin of one mesh; its bones are nodes.
static int add_mesh_skin(assimp_job *job, const struct aiMesh *mesh, const sn_affine *place) {
  int count = (int)mesh->mNumBones, *joints = SN_TAKE(&job->b, &job->b.memory, int, count);
  sn_affine *inverse = SN_TAKE(&job->b, &job->b.memory, sn_affine, count), unplace;
  if (!joints || !inverse) return 0;
  if (!sn_affine_invert(*place, &unplace)) {
    sn_fail(job->b.ctx, SN_BAD_INPUT, "the skinned mesh %s is scaled to nothing", mesh->mName.data);
    return 0;
  }
  for (int b = 0; b < count; b++) {
    joints[b] = sn_assimp_find(job, &mesh->mBones[b]->mName);
    if (joints[b] < 0) {
      sn_fail(job->b.ctx, SN_BAD_INPUT,
              "the mesh %s follows %s, but the file has no joint of that name; export the whole skeleton",
              mesh->mName.data, mesh->mBones[b]->mName.data);
      return 0;
    }
    inverse[b] = sn_affine_mul(sn_assimp_affine(&mesh->mBones[b]->mOffsetMatrix), unplace);
  }
  return sn_gltf_add_bound_skin(&job->b, count, joints, inverse);
}

static void add_mesh(assimp_job *job, const struct aiMesh *mesh, int node) {
  bool skinned = mesh->mNumBones > 0;
  const sn_affine *place = skinned ? &job->nodes[node].world : NULL;
  mesh_work w = {.mesh = mesh, .corners = SN_TAKE(&job->b, &job->b.memory, corner, mesh->mNumVertices)};
  if (count_triangles(mesh) == 0 || mesh->mNumVertices == 0) return;
  if (w.corners) gather(&w, place);
  join(job, &w);
  if (job->b.status != SN_OK) return;
  json_t *attributes = json_object(), *primitive = json_object(), *out = json_object(), *holder = json_object();
  add_floats(job, &w, attributes, "POSITION", offsetof(corner, position), 3);
  if (mesh->mTextureCoords[0]) add_floats(job, &w, attributes, "TEXCOORD_0", offsetof(corner, uv), 2);
  if (skinned) add_influences(job, &w, attributes);
  sn_gltf_set(&job->b, primitive, "attributes", attributes);
  add_indices(job, &w, primitive);
  sn_gltf_set(&job->b, primitive, "material", json_integer(mesh->mMaterialIndex));
  sn_gltf_push(&job->b, sn_gltf_list(&job->b, out, "primitives"), primitive);
  sn_gltf_set_text(&job->b, out, "name", mesh->mName.data, "mesh");
  sn_gltf_set_text(&job->b, holder, "name", mesh->mName.data, "mesh");
  sn_gltf_set(&job->b, holder, "mesh", json_integer(sn_gltf_append(&job->b, "meshes", out)));
  if (skinned) sn_gltf_set(&job->b, holder, "skin", json_integer(add_mesh_skin(job, mesh, place)));
  sn_gltf_attach(&job->b, sn_gltf_append(&job->b, "nodes", holder), skinned ? 0 : node);
}

static const struct aiMaterialProperty *find_property(const struct aiMaterial *material, const char *key) {
  for (unsigned k = 0; k < material->mNumProperties; k++)
    if (strcmp(material->mProperties[k]->mKey.data, key) == 0) return material->mProperties[k];
  return NULL;
}

static void add_material(assimp_job *job, const struct aiMaterial *material) {
  const struct aiMaterialProperty *name = find_property(material, "?mat.name"),
                                  *colour = find_property(material, "$clr.diffuse");
  char text[256] = "";
  float rgb[3] = {1, 1, 1};
  if (name && name->mType == aiPTI_String && name->mDataLength > 4) // a length, then the text
    snprintf(text, sizeof text, "%.*s", (int)name->mDataLength - 4, name->mData + 4);
  if (colour && colour->mType == aiPTI_Float && colour->mDataLength >= 12) memcpy(rgb, colour->mData, sizeof rgb);
  json_t *label = json_string(text); // NULL if it is not UTF-8
  sn_gltf_add_material(&job->b, label ? label : json_string("material"), (double[]){rgb[0], rgb[1], rgb[2]});
}

void sn_assimp_add_meshes(assimp_job *job) {
  const struct aiScene *scene = job->scene;
  for (unsigned m = 0; m < scene->mNumMaterials; m++) add_material(job, scene->mMaterials[m]);
  for (int k = 0; k < job->node_count; k++) {
    const struct aiNode *node = job->nodes[k].node;
    for (unsigned m = 0; m < node->mNumMeshes; m++) {
      if (node->mMeshes[m] < scene->mNumMeshes) add_mesh(job, scene->mMeshes[node->mMeshes[m]], k);
    }
  }
}
