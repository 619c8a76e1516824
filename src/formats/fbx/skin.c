// SPDX-License-Identifier: MIT
// Skins of an FBX file: clusters bind control points to models.
#include "formats/fbx/scene.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { most = GLTF_MAX_INFLUENCES };

typedef struct influences {
  float weights[most];
  uint16_t joints[most];
} influences;

typedef struct skin_job {
  fbx_scene *s;
  const fbx_mesh *mesh;
  int count, *joints; // nodes
  sn_affine *to_bone; // from the mesh's coordinates, as bound
  sn_affine bound;    // the mesh's coordinates to the world, when it was bound
  bool has_bound;
  influences *rows; // of every vertex
} skin_job;

// Sixteen numbers, column after column.
sn_status sn_fbx_matrix(fbx_scene *s, const fbx_node *node, sn_affine *out) {
  double *m;
  size_t count;
  sn_status status = sn_fbx_reals(&s->tree, node, &m, &count);
  if (status != SN_OK) return status;
  bool good = count == 16;
  for (size_t k = 0; good && k < 16; k++) good = isfinite(m[k]);
  if (!good || fabs(m[15]) < 1e-12)
    return sn_fail(s->tree.ctx, SN_BAD_FILE, "%.*s is no matrix", (int)node->name_size, node->name);
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) out->m[r][c] = m[4 * c + r] / m[15];
  return SN_OK;
}

static void keep_influence(influences *row, int joint, double weight) {
  float w = (float)weight;
  for (int k = 0; k < most; k++) {
    if (!(w > row->weights[k])) continue;
    memmove(row->weights + k + 1, row->weights + k, (size_t)(most - 1 - k) * sizeof *row->weights);
    memmove(row->joints + k + 1, row->joints + k, (size_t)(most - 1 - k) * sizeof *row->joints);
    row->weights[k] = w, row->joints[k] = (uint16_t)joint;
    return;
  }
}

static sn_status load_weights(skin_job *job, const fbx_node *cluster) {
  fbx_tree *tree = &job->s->tree;
  int64_t *vertices;
  double *weights;
  size_t count, weight_count;
  sn_status status = sn_fbx_integers(tree, sn_fbx_child(cluster, "Indexes"), &vertices, &count);
  if (status == SN_OK) status = sn_fbx_reals(tree, sn_fbx_child(cluster, "Weights"), &weights, &weight_count);
  if (status == SN_OK && count != weight_count)
    status = sn_fail(tree->ctx, SN_BAD_FILE, "%zu vertices have %zu weights", count, weight_count);
  for (size_t k = 0; k < count && status == SN_OK; k++) {
    if (vertices[k] < 0 || vertices[k] >= job->mesh->vertex_count || !isfinite(weights[k])) {
      return sn_fail(tree->ctx, SN_BAD_FILE, "weight %g of vertex %lld, and there are %d vertices", weights[k],
                     (long long)vertices[k], job->mesh->vertex_count);
    }
    keep_influence(&job->rows[vertices[k]], job->count, weights[k]);
  }
  return status;
}

// Transform takes the mesh to the bone, TransformLink the bone to the world. Where one is missing, the default pose is the bind pose.
static sn_status load_bind(skin_job *job, const fbx_node *cluster, const fbx_model *bone) {
  fbx_scene *s = job->s;
  const fbx_node *transform = sn_fbx_child(cluster, "Transform"), *link = sn_fbx_child(cluster, "TransformLink");
  sn_affine world = bone->world, mesh = s->models[job->mesh->model].world, inverse;
  sn_status status = link ? sn_fbx_matrix(s, link, &world) : SN_OK;
  if (status == SN_OK && !sn_affine_invert(world, &inverse))
    status = sn_fail(s->tree.ctx, SN_BAD_FILE, "its joint is scaled to nothing");
  if (status == SN_OK) job->to_bone[job->count] = sn_affine_mul(inverse, mesh);
  if (status == SN_OK && transform) status = sn_fbx_matrix(s, transform, &job->to_bone[job->count]);
  if (status == SN_OK && !job->has_bound && transform) {
    job->bound = sn_affine_mul(world, job->to_bone[job->count]);
    job->has_bound = true;
  }
  return status;
}

static sn_status add_cluster(skin_job *job, int cluster) {
  fbx_scene *s = job->s;
  const fbx_object *object = &s->objects[cluster];
  int at = 0, bone = sn_fbx_next_below(s, cluster, "Model", &at, NULL);
  const fbx_value *mode = sn_fbx_value(sn_fbx_child(object->node, "Mode"), 0);
  const fbx_value *first = sn_fbx_value(sn_fbx_child(object->node, "Indexes"), 0);
  bool used = first && (first->type != 'A' || first->count > 0);
  sn_status status = SN_OK;
  if (bone < 0 && !used) return SN_OK;
  if (bone < 0) {
    status =
      sn_fail(s->tree.ctx, SN_BAD_FILE, "it follows a joint that the file does not have; export the whole skeleton");
  }
  if (status == SN_OK && used && sn_fbx_says(mode, "Additive")) {
    status =
      sn_fail(s->tree.ctx, SN_UNSUPPORTED, "it adds to other weights; export the skin with normalised weights");
  }
  if (status == SN_OK) {
    const fbx_model *model = &s->models[s->objects[bone].model];
    job->joints[job->count] = model->node;
    status = load_bind(job, object->node, model);
    if (status == SN_OK) status = load_weights(job, object->node);
  }
  if (status != SN_OK) return sn_fail_prefix(s->tree.ctx, "cluster %.200s: ", object->name);
  job->count++;
  return SN_OK;
}

// Vertices without any weight stay with the mesh's own model.
static void follow_model(skin_job *job) {
  bool any = false;
  for (int i = 0; i < job->mesh->vertex_count; i++) {
    if (job->rows[i].weights[0] > 0) continue;
    job->rows[i] = (influences){.weights = {1}, .joints = {(uint16_t)job->count}};
    any = true;
  }
  if (!any) return;
  job->joints[job->count] = job->s->models[job->mesh->model].node;
  job->to_bone[job->count++] = sn_affine_identity();
}

static sn_status put_influences(skin_job *job, json_t *attributes) {
  fbx_scene *s = job->s;
  size_t n = (size_t)job->mesh->vertex_count;
  sn_status status = sn_fbx_spend(&s->tree, n, 2 * sizeof *job->rows);
  sn_arena scratch = sn_arena_new(s->tree.ctx);
  uint16_t *joints = SN_NEW(s->tree.ctx, &scratch, uint16_t, 4 * n);
  float *weights = SN_NEW(s->tree.ctx, &scratch, float, 4 * n);
  if (status == SN_OK && (!joints || !weights)) status = s->tree.ctx->error.status;
  for (int set = 0; set < most / 4 && status == SN_OK; set++) {
    bool any = set == 0;
    for (size_t i = 0; i < n; i++) {
      const influences *row = &job->rows[i];
      float sum = 0;
      for (int k = 0; k < most; k++) sum += row->weights[k];
      for (int k = 0; k < 4; k++) {
        joints[4 * i + (size_t)k] = row->joints[4 * set + k];
        weights[4 * i + (size_t)k] = row->weights[4 * set + k] / sum;
        any = any || row->weights[4 * set + k] > 0;
      }
    }
    if (!any) break;
    int j = sn_gltf_add_accessor(&s->b, joints, (int)n, GLTF_USHORT, 4, GLTF_VERTICES, false);
    int w = sn_gltf_add_accessor(&s->b, weights, (int)n, GLTF_FLOAT, 4, GLTF_VERTICES, false);
    sn_gltf_set(&s->b, attributes, set ? "JOINTS_1" : "JOINTS_0", json_integer(j));
    sn_gltf_set(&s->b, attributes, set ? "WEIGHTS_1" : "WEIGHTS_0", json_integer(w));
  }
  sn_arena_free(&scratch);
  return status;
}

static sn_status add_clusters(skin_job *job, int room) {
  fbx_scene *s = job->s;
  size_t n = (size_t)job->mesh->vertex_count;
  if (room > UINT16_MAX) return sn_fail(s->tree.ctx, SN_UNSUPPORTED, "it has %d clusters; Sinew reads 65,534", room);
  sn_status status = sn_fbx_spend(&s->tree, n, sizeof *job->rows);
  if (status != SN_OK) return status;
  job->rows = sn_fbx_take(&s->tree, n, sizeof *job->rows);
  job->joints = sn_fbx_take(&s->tree, (size_t)room, sizeof *job->joints);
  job->to_bone = sn_fbx_take(&s->tree, (size_t)room, sizeof *job->to_bone);
  if (!job->rows || !job->joints || !job->to_bone) return s->tree.ctx->error.status;
  int at = 0, deformer;
  while (status == SN_OK && (deformer = sn_fbx_next_below(s, job->mesh->geometry, "Deformer", &at, NULL)) >= 0) {
    int in_skin = 0, cluster;
    if (strcmp(s->objects[deformer].type, "Skin") != 0) continue;
    while (status == SN_OK && (cluster = sn_fbx_next_below(s, deformer, "Deformer", &in_skin, NULL)) >= 0)
      status = add_cluster(job, cluster);
  }
  return status;
}

static sn_status refuse_cache(fbx_scene *s, const fbx_object *deformer) {
  if (strcmp(deformer->type, "VertexCacheDeformer") != 0 || sn_fbx_property_number(deformer, "Active", 0) == 0)
    return SN_OK;
  return sn_fail(s->tree.ctx, SN_UNSUPPORTED, "it is moved by the cache %.200s; export it as .abc", deformer->name);
}

sn_status sn_fbx_add_skin(fbx_scene *s, const fbx_mesh *mesh, json_t *attributes, int *skin, sn_affine *place) {
  skin_job job = {.s = s, .mesh = mesh};
  int room = 1, at = 0, deformer, in_skin;
  sn_status status = SN_OK;
  while ((deformer = sn_fbx_next_below(s, mesh->geometry, "Deformer", &at, NULL)) >= 0 && status == SN_OK) {
    status = refuse_cache(s, &s->objects[deformer]);
    bool skins = strcmp(s->objects[deformer].type, "Skin") == 0;
    for (in_skin = 0; skins && sn_fbx_next_below(s, deformer, "Deformer", &in_skin, NULL) >= 0;) room++;
  }
  *skin = -1;
  if (status != SN_OK || room == 1) return status;
  status = add_clusters(&job, room);
  if (status != SN_OK || job.count == 0) return status;
  if (!job.has_bound) job.bound = s->models[mesh->model].world;
  sn_affine inverse;
  if (!sn_affine_invert(job.bound, &inverse)) return sn_fail(s->tree.ctx, SN_BAD_FILE, "it is scaled to nothing");
  follow_model(&job);
  for (int k = 0; k < job.count; k++) job.to_bone[k] = sn_affine_mul(job.to_bone[k], inverse);
  status = put_influences(&job, attributes);
  if (status == SN_OK) *skin = sn_gltf_add_bound_skin(&s->b, job.count, job.joints, job.to_bone), *place = job.bound;
  return status;
}
