// SPDX-License-Identifier: MIT
// In the child: converts assimp's scene to a glTF document. Nodes keep their transforms; a skinned mesh is placed by its node's
// transform but outside the hierarchy, as in glTF.
#include "formats/assimp/assimp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

sn_affine sn_assimp_affine(const struct aiMatrix4x4 *m) {
  return (sn_affine){{{m->a1, m->a2, m->a3, m->a4}, {m->b1, m->b2, m->b3, m->b4}, {m->c1, m->c2, m->c3, m->c4}}};
}

int sn_assimp_find(const assimp_job *job, const struct aiString *name) {
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
  sn_affine own = sn_assimp_affine(&node->mTransformation);
  sn_affine world = parent < 0 ? own : sn_affine_mul(job->nodes[parent].world, own);
  job->nodes[index] = (assimp_node){.node = node, .parent = parent, .world = world};
  for (unsigned k = 0; k < node->mNumChildren; k++) list_nodes(job, node->mChildren[k], index);
}

static void mark_animated(assimp_job *job) {
  for (unsigned a = 0; a < job->scene->mNumAnimations; a++) {
    const struct aiAnimation *clip = job->scene->mAnimations[a];
    for (unsigned c = 0; c < clip->mNumChannels; c++) {
      int node = sn_assimp_find(job, &clip->mChannels[c]->mNodeName);
      if (node >= 0) job->nodes[node].animated = true;
    }
  }
}

static void put_transform(assimp_job *job, json_t *out, const assimp_node *node) {
  sn_affine own = sn_assimp_affine(&node->node->mTransformation);
  if (node->animated) { // keys replace its components
    sn_vec3 t, s;
    sn_quat r;
    sn_affine_to_trs(own, &t, &r, &s);
    return sn_gltf_set_trs(&job->b, out, t, r, s);
  }
  double columns[16] = {[15] = 1};
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) columns[4 * c + r] = own.m[r][c];
  sn_gltf_set(&job->b, out, "matrix", sn_gltf_reals(&job->b, columns, 16));
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

// ---- skins -----------------------------------------------------------------------------------------------------------------

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
  sn_assimp_add_meshes(&job);
  if (!json_object_get(job.b.root, "skins")) add_motion_skin(&job);
  sn_assimp_add_clips(&job);
  return ctx->error.status == SN_OK ? sn_gltf_builder_write(&job.b, path)
                                    : ctx->error.status; // the process ends here
}
