// SPDX-License-Identifier: MIT
// Skins of an FBX file: clusters bind control points to models.
#include "formats/fbx/scene.h"

#include <math.h>
#include <string.h>

typedef struct skin_job {
  fbx_scene *s;
  fbx_tree *tree;
  const fbx_mesh *mesh;
  int count, *joints; // nodes
  sn_affine *to_bone; // from mesh coordinates, in the bind pose
  sn_affine bound;    // mesh to world, in the bind pose
  bool has_bound;
  gltf_influences *rows; // per vertex
} skin_job;

// Reads a column-major 4x4 matrix of a cluster; false if it has none.
static bool read_matrix(fbx_tree *tree, const fbx_node *cluster, const char *name, sn_affine *out) {
  if (!sn_fbx_child(cluster, name)) return false;
  fbx_numbers m = sn_fbx_numbers(tree, cluster, name);
  bool good = m.count == 16;
  for (size_t k = 0; good && k < 16; k++) good = isfinite(m.values[k]);
  good = good && fabs(m.values[15]) >= 1e-12;
  if (!good) sn_fail_once(tree, SN_BAD_FILE, "%s is no matrix", name);
  for (int k = 0; good && k < 12; k++) out->m[k / 4][k % 4] = m.values[4 * (k % 4) + k / 4] / m.values[15];
  return tree->status == SN_OK;
}

static void load_weights(skin_job *job, const fbx_node *cluster) {
  fbx_tree *tree = job->tree;
  fbx_numbers vertices = sn_fbx_numbers(tree, cluster, "Indexes"), weights = sn_fbx_numbers(tree, cluster, "Weights");
  if (vertices.count != weights.count)
    sn_fail_once(tree, SN_BAD_FILE, "%zu vertices have %zu weights", vertices.count, weights.count);
  for (size_t k = 0; k < vertices.count && tree->status == SN_OK; k++) {
    double vertex = vertices.values[k], weight = weights.values[k];
    if (vertex >= 0 && vertex < job->mesh->vertex_count && isfinite(weight)) {
      sn_gltf_keep_influence(&job->rows[(int)vertex], job->count, (float)weight);
    } else {
      sn_fail_once(tree, SN_BAD_FILE, "weight %g of vertex %.0f, and there are %d vertices", weight, vertex,
                   job->mesh->vertex_count);
    }
  }
}

// Transform maps the mesh to the bone, TransformLink the bone to the world. If one is missing, the default pose is the bind pose.
static void load_bind(skin_job *job, const fbx_node *cluster, const fbx_model *bone) {
  sn_affine world = bone->world, inverse, *to_bone = &job->to_bone[job->count];
  read_matrix(job->tree, cluster, "TransformLink", &world);
  if (!sn_affine_invert(world, &inverse)) sn_fail_once(job->tree, SN_BAD_FILE, "its joint is scaled to nothing");
  if (job->tree->status != SN_OK) return;
  *to_bone = sn_affine_mul(inverse, job->mesh->model->world);
  if (read_matrix(job->tree, cluster, "Transform", to_bone) && !job->has_bound)
    job->bound = sn_affine_mul(world, *to_bone), job->has_bound = true;
}

static void add_cluster(skin_job *job, const fbx_object *cluster) {
  const fbx_link *bone = sn_fbx_below(cluster, NULL, "Model");
  const fbx_value *mode = sn_fbx_value(sn_fbx_child(cluster->node, "Mode"), 0);
  const fbx_value *first = sn_fbx_value(sn_fbx_child(cluster->node, "Indexes"), 0);
  bool used = first && (first->type != 'A' || first->count > 0);
  if (!bone && !used) return;
  if (!bone) {
    sn_fail_once(job->tree, SN_BAD_FILE, "it follows a joint that the file does not have; export the whole skeleton");
  } else if (used && sn_fbx_says(mode, "Additive")) {
    sn_fail_once(job->tree, SN_UNSUPPORTED, "it adds to other weights; export the skin with normalised weights");
  } else {
    job->joints[job->count] = bone->child->model->node;
    load_bind(job, cluster->node, bone->child->model);
    load_weights(job, cluster->node);
  }
  if (job->tree->status != SN_OK) sn_fail_prefix(job->tree->ctx, "cluster %.200s: ", cluster->name);
  job->count++;
}

// Vertices without weights follow the mesh's model.
static void follow_model(skin_job *job) {
  bool any = false;
  for (int i = 0; i < job->mesh->vertex_count; i++) {
    if (job->rows[i].weights[0] > 0) continue;
    job->rows[i] = (gltf_influences){.weights = {1}, .joints = {(uint16_t)job->count}};
    any = true;
  }
  if (!any) return;
  job->joints[job->count] = job->mesh->model->node;
  job->to_bone[job->count++] = sn_affine_identity();
}

// Notes a skin that dual quaternions blend, everywhere or at some vertices.
static void note_blend(skin_job *job, const fbx_node *skin) {
  const fbx_value *type = sn_fbx_value(sn_fbx_child(skin, "SkinningType"), 0);
  fbx_numbers shares = {0};
  if (sn_fbx_says(type, "Blend")) shares = sn_fbx_numbers(job->tree, skin, "BlendWeights");
  bool some = sn_fbx_says(type, "DualQuaternion");
  for (size_t k = 0; k < shares.count; k++) some = some || shares.values[k] > 0;
  job->s->dual_quaternions = job->s->dual_quaternions || some;
}

// Loads the clusters of all skins of the mesh; leaves room for one more joint.
static void add_clusters(skin_job *job) {
  size_t room = 1;
  const fbx_link *deformer = NULL, *cluster;
  while ((deformer = sn_fbx_below(job->mesh->geometry, deformer, "Deformer"))) {
    const fbx_object *object = deformer->child;
    room += (size_t)sn_fbx_count_below(object, "Deformer");
    if (strcmp(object->type, "VertexCacheDeformer") == 0 && sn_fbx_property_number(object, "Active", 1) != 0 &&
        job->tree->status == SN_OK)
      sn_fail_once(job->tree, SN_UNSUPPORTED, "it is moved by the cache %.200s; export it as .abc", object->name);
  }
  if (room > UINT16_MAX) sn_fail_once(job->tree, SN_UNSUPPORTED, "it has %zu clusters; Sinew reads 65,534", room);
  if (room == 1) return;
  job->rows = sn_fbx_room(job->tree, (size_t)job->mesh->vertex_count, sizeof *job->rows);
  job->joints = sn_fbx_take(job->tree, room, sizeof *job->joints);
  job->to_bone = sn_fbx_take(job->tree, room, sizeof *job->to_bone);
  while ((deformer = sn_fbx_below(job->mesh->geometry, deformer, "Deformer"))) {
    bool skins = strcmp(deformer->child->type, "Skin") == 0;
    if (skins) note_blend(job, deformer->child->node);
    for (cluster = NULL; skins && (cluster = sn_fbx_below(deformer->child, cluster, "Deformer"));)
      if (job->tree->status == SN_OK) add_cluster(job, cluster->child);
  }
}

int sn_fbx_add_skin(fbx_scene *s, const fbx_mesh *mesh, sn_affine *place) {
  skin_job job = {.s = s, .tree = &s->tree, .mesh = mesh, .bound = mesh->model->world};
  sn_affine inverse;
  add_clusters(&job);
  if (s->tree.status != SN_OK || job.count == 0) return -1;
  if (!sn_affine_invert(job.bound, &inverse)) {
    sn_fail_once(&s->tree, SN_BAD_FILE, "it is scaled to nothing");
    return -1;
  }
  follow_model(&job);
  for (int k = 0; k < job.count; k++) job.to_bone[k] = sn_affine_mul(job.to_bone[k], inverse);
  sn_gltf_normalise(job.rows, mesh->vertex_count);
  sn_gltf_put_influences(&s->b, mesh->attributes, job.rows, mesh->vertex_count, true);
  *place = job.bound;
  return s->tree.status == SN_OK ? sn_gltf_add_bound_skin(&s->b, job.count, job.joints, job.to_bone) : -1;
}
