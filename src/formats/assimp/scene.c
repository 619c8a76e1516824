// SPDX-License-Identifier: MIT
// In the child: converts assimp's scene to a glTF document. Nodes keep their transforms; a skinned mesh is placed by its node's
// transform but outside the hierarchy, as in glTF. Most importers split every corner of a face into a separate vertex; equal
// corners are merged again, numbered by first appearance. Vertices that faces share in the file stay.
#include <assimp/scene.h>

#include <math.h>
#include <string.h>

#include "formats/assimp/assimp.h"
#include "formats/gltf/out.h"

typedef struct assimp_node {
  const struct aiNode *node;
  int parent;
  sn_affine world;
  bool animated;
} assimp_node;

typedef struct assimp_job {
  const struct aiScene *scene;
  gltf_builder b;
  int node_count;
  assimp_node *nodes; // parents first; node indices are those of the document
  double rate;        // ticks per second of the current animation
} assimp_job;

static sn_affine affine_of(const struct aiMatrix4x4 *m) {
  return (sn_affine){{{m->a1, m->a2, m->a3, m->a4}, {m->b1, m->b2, m->b3, m->b4}, {m->c1, m->c2, m->c3, m->c4}}};
}

static int find_node(const assimp_job *job, const struct aiString *name) {
  for (int k = 0; k < job->node_count; k++)
    if (strcmp(job->nodes[k].node->mName.data, name->data) == 0) return k;
  return -1;
}

// ---- nodes -----------------------------------------------------------------------------------------------------------------

static int count_nodes(const struct aiNode *node) {
  int count = 1;
  for (unsigned k = 0; k < node->mNumChildren; k++) count += count_nodes(node->mChildren[k]);
  return count;
}

static void list_nodes(assimp_job *job, const struct aiNode *node, int parent) {
  int index = job->node_count++;
  sn_affine own = affine_of(&node->mTransformation);
  sn_affine world = parent < 0 ? own : sn_affine_mul(job->nodes[parent].world, own);
  job->nodes[index] = (assimp_node){.node = node, .parent = parent, .world = world};
  for (unsigned k = 0; k < node->mNumChildren; k++) list_nodes(job, node->mChildren[k], index);
}

static void mark_animated(assimp_job *job) {
  for (unsigned a = 0; a < job->scene->mNumAnimations; a++) {
    const struct aiAnimation *clip = job->scene->mAnimations[a];
    for (unsigned c = 0; c < clip->mNumChannels; c++) {
      int node = find_node(job, &clip->mChannels[c]->mNodeName);
      if (node >= 0) job->nodes[node].animated = true;
    }
  }
}

static void put_transform(assimp_job *job, json_t *out, const assimp_node *node) {
  sn_affine own = affine_of(&node->node->mTransformation);
  if (node->animated) { // keys replace its components
    sn_vec3 t, s;
    sn_quat r;
    sn_affine_to_trs(own, &t, &r, &s);
    return sn_gltf_set_trs(&job->b, out, t, r, s);
  }
  sn_gltf_set_matrix(&job->b, out, own);
}

static void add_nodes(assimp_job *job) {
  for (int k = 0; k < job->node_count; k++) {
    const assimp_node *node = &job->nodes[k];
    json_t *out = json_object();
    sn_gltf_set_text(&job->b, out, "name", node->node->mName.data, "node");
    put_transform(job, out, node);
    for (int c = k + 1; c < job->node_count; c++)
      if (job->nodes[c].parent == k) sn_gltf_push(&job->b, sn_gltf_list(&job->b, out, "children"), json_integer(c));
    sn_gltf_append(&job->b, "nodes", out);
  }
}

// ---- meshes ----------------------------------------------------------------------------------------------------------------

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
    joints[b] = find_node(job, &mesh->mBones[b]->mName);
    if (joints[b] < 0) {
      sn_fail(job->b.ctx, SN_BAD_INPUT,
              "the mesh %s follows %s, but the file has no joint of that name; export the whole skeleton",
              mesh->mName.data, mesh->mBones[b]->mName.data);
      return 0;
    }
    inverse[b] = sn_affine_mul(affine_of(&mesh->mBones[b]->mOffsetMatrix), unplace);
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

static void add_meshes(assimp_job *job) {
  const struct aiScene *scene = job->scene;
  for (unsigned m = 0; m < scene->mNumMaterials; m++) add_material(job, scene->mMaterials[m]);
  for (int k = 0; k < job->node_count; k++) {
    const struct aiNode *node = job->nodes[k].node;
    for (unsigned m = 0; m < node->mNumMeshes; m++) {
      if (node->mMeshes[m] < scene->mNumMeshes) add_mesh(job, scene->mMeshes[node->mMeshes[m]], k);
    }
  }
}

// ---- clips -----------------------------------------------------------------------------------------------------------------

// Adds rotation keys (aiQuatKey), or translation or scale keys (aiVectorKey), without those whose time does not ascend.
static void add_keys(assimp_job *job, json_t *clip, int node, const char *path, const void *keys, unsigned count) {
  bool rotation = strcmp(path, "rotation") == 0;
  const struct aiVectorKey *vectors = keys;
  const struct aiQuatKey *rotations = keys;
  int width = rotation ? 4 : 3, used = 0;
  float *times = SN_TAKE(&job->b, &job->b.memory, float, count);
  float *values = SN_TAKE(&job->b, &job->b.memory, float, (size_t)count *(size_t)width), *v = values;
  for (unsigned i = 0; values && i < count; i++) {
    times[used] = (float)((rotation ? rotations[i].mTime : vectors[i].mTime) / job->rate);
    if (!isfinite(times[used]) || (used > 0 && times[used] <= times[used - 1])) continue;
    if (rotation) {
      const struct aiQuaternion *r = &rotations[i].mValue;
      sn_quat q = sn_quat_normalize((sn_quat){r->x, r->y, r->z, r->w});
      v[0] = (float)q.x, v[1] = (float)q.y, v[2] = (float)q.z, v[3] = (float)q.w;
    } else {
      v[0] = vectors[i].mValue.x, v[1] = vectors[i].mValue.y, v[2] = vectors[i].mValue.z;
    }
    used++, v += width;
  }
  if (used == 0 || job->b.status != SN_OK) return;
  int input = sn_gltf_add_accessor(&job->b, (gltf_data){times, used, GLTF_FLOAT, 1, 0, true});
  sn_gltf_add_channel(&job->b, clip, node, path, (gltf_keys){input, used, width, values});
}

// Of several channels of one node, only the first counts.
static bool seen_before(const struct aiAnimation *animation, unsigned c) {
  for (unsigned b = 0; b < c; b++) {
    const struct aiString *a = &animation->mChannels[b]->mNodeName, *name = &animation->mChannels[c]->mNodeName;
    if (a->length == name->length && !memcmp(a->data, name->data, a->length)) return true;
  }
  return false;
}

static json_t *make_clip(assimp_job *job, const struct aiAnimation *animation) {
  enum { unstated_rate = 25 }; // assimp's default ticks per second
  job->rate = animation->mTicksPerSecond > 0 ? animation->mTicksPerSecond : unstated_rate;
  json_t *clip = json_pack("{s:[],s:[]}", "samplers", "channels");
  sn_gltf_set_text(&job->b, clip, "name", animation->mName.data, "clip");
  for (unsigned c = 0; c < animation->mNumChannels; c++) {
    const struct aiNodeAnim *channel = animation->mChannels[c];
    int node = find_node(job, &channel->mNodeName);
    if (node < 0 || seen_before(animation, c)) continue;
    add_keys(job, clip, node, "translation", channel->mPositionKeys, channel->mNumPositionKeys);
    add_keys(job, clip, node, "rotation", channel->mRotationKeys, channel->mNumRotationKeys);
    add_keys(job, clip, node, "scale", channel->mScalingKeys, channel->mNumScalingKeys);
  }
  return clip;
}

static void add_clips(assimp_job *job) {
  for (unsigned a = 0; a < job->scene->mNumAnimations; a++)
    sn_gltf_append_clip(&job->b, make_clip(job, job->scene->mAnimations[a]));
}

// ---- the document ----------------------------------------------------------------------------------------------------------

// Without a mesh to bind, the joints are the animated nodes and their descendants.
static void add_motion_skin(assimp_job *job) {
  int *joints = SN_TAKE(&job->b, &job->b.memory, int, job->node_count), count = 0;
  sn_affine *inverse = SN_TAKE(&job->b, &job->b.memory, sn_affine, job->node_count);
  bool *below = SN_TAKE(&job->b, &job->b.memory, bool, job->node_count);
  for (int k = 0; below && k < job->node_count; k++) {
    const assimp_node *node = &job->nodes[k];
    below[k] = node->animated || (node->parent >= 0 && below[node->parent]);
    if (!below[k] || node->node->mNumMeshes > 0 || !sn_affine_invert(node->world, &inverse[count])) continue;
    joints[count++] = k;
  }
  if (count > 0) sn_gltf_add_bound_skin(&job->b, count, joints, inverse);
}

sn_status sn_assimp_write(sn_context *ctx, const struct aiScene *scene, const char *path) {
  json_t *root = json_pack("{s:{s:s,s:s}, s:i, s:[{s:[i]}]}", "asset", "version", "2.0", "generator", "Sinew, assimp",
                           "scene", 0, "scenes", "nodes", 0);
  assimp_job job = {.scene = scene, .b = sn_gltf_builder(ctx, root)};
  job.nodes = SN_TAKE(&job.b, &job.b.memory, assimp_node, count_nodes(scene->mRootNode));
  if (job.nodes) list_nodes(&job, scene->mRootNode, -1);
  mark_animated(&job);
  add_nodes(&job);
  add_meshes(&job);
  if (!json_object_get(job.b.root, "skins")) add_motion_skin(&job);
  add_clips(&job);
  return ctx->error.status == SN_OK ? sn_gltf_builder_write(&job.b, path)
                                    : ctx->error.status; // the process ends here
}
