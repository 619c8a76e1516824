// SPDX-License-Identifier: MIT
// Meshes of an FBX file: control points in their order, polygons as fans, blend shapes as morph targets.
#include "formats/fbx/scene.h"

#include <limits.h>
#include <math.h>
#include <string.h>

// ---- points and polygons ---------------------------------------------------------------------------------------------

static sn_status load_points(fbx_scene *s, const fbx_node *node, fbx_mesh *mesh) {
  size_t count;
  sn_status status = sn_fbx_reals(&s->tree, sn_fbx_child(node, "Vertices"), &mesh->points, &count);
  if (status != SN_OK) return status;
  if (count % 3 != 0 || count / 3 > INT_MAX / 8)
    return sn_fail(s->tree.ctx, SN_BAD_FILE, "Vertices are %zu numbers", count);
  mesh->vertex_count = (int)(count / 3);
  for (size_t k = 0; k < count; k++) {
    if (!(fabs(mesh->points[k]) <= 3e38))
      return sn_fail(s->tree.ctx, SN_BAD_FILE, "vertex %zu is not a finite place", k / 3);
  }
  return SN_OK;
}

// The last corner of a polygon is stored as its complement.
static sn_status load_polygons(fbx_scene *s, const fbx_node *node, fbx_mesh *mesh) {
  fbx_tree *tree = &s->tree;
  int64_t *list;
  size_t count, first = 0, polygon = 0, made = 0;
  sn_status status = sn_fbx_integers(tree, sn_fbx_child(node, "PolygonVertexIndex"), &list, &count);
  if (status == SN_OK && count > INT_MAX / 8) status = sn_fail(tree->ctx, SN_BAD_FILE, "has too many corners");
  if (status == SN_OK) status = sn_fbx_spend(tree, count, 3 * 4 * 3);
  if (status != SN_OK) return status;
  mesh->corners = sn_fbx_take(tree, 3 * count, sizeof *mesh->corners);
  mesh->loops = sn_fbx_take(tree, 3 * count, sizeof *mesh->loops);
  mesh->polygons = sn_fbx_take(tree, count, sizeof *mesh->polygons);
  if (!mesh->corners || !mesh->loops || !mesh->polygons) return tree->ctx->error.status;
  for (size_t c = 0; c < count; c++) {
    bool last = list[c] < 0;
    int64_t vertex = last ? ~list[c] : list[c];
    if (vertex >= mesh->vertex_count)
      return sn_fail(tree->ctx, SN_BAD_FILE, "polygon %zu has the vertex %lld, but there are %d", polygon,
                     (long long)vertex, mesh->vertex_count);
    list[c] = vertex;
    if (c >= first + 2) {
      const size_t loops[3] = {first, c - 1, c};
      for (int k = 0; k < 3; k++)
        mesh->loops[3 * made + (size_t)k] = (uint32_t)loops[k],
                               mesh->corners[3 * made + (size_t)k] = (uint32_t)list[loops[k]];
      mesh->polygons[made++] = (uint32_t)polygon;
    }
    if (last) first = c + 1, polygon++;
  }
  mesh->triangle_count = (int)made;
  return SN_OK;
}

// ---- blend shapes ----------------------------------------------------------------------------------------------------

static sn_status add_target(fbx_scene *s, const fbx_mesh *mesh, const fbx_object *shape, json_t *targets) {
  fbx_tree *tree = &s->tree;
  int64_t *indices;
  double *offsets;
  size_t count, number_count;
  sn_status status = sn_fbx_integers(tree, sn_fbx_child(shape->node, "Indexes"), &indices, &count);
  if (status == SN_OK) status = sn_fbx_reals(tree, sn_fbx_child(shape->node, "Vertices"), &offsets, &number_count);
  if (status == SN_OK && number_count != 3 * count)
    status = sn_fail(tree->ctx, SN_BAD_FILE, "%zu vertices have %zu numbers", count, number_count);
  if (status == SN_OK) status = sn_fbx_spend(tree, (size_t)mesh->vertex_count, 2 * 12);
  sn_arena scratch = sn_arena_new(tree->ctx);
  float(*deltas)[3] = sn_arena_alloc(tree->ctx, &scratch, (size_t)mesh->vertex_count, sizeof *deltas);
  if (status == SN_OK && !deltas) status = tree->ctx->error.status;
  for (size_t k = 0; k < count && status == SN_OK; k++) {
    sn_vec3 offset = sn_vec3_make(offsets[3 * k], offsets[3 * k + 1], offsets[3 * k + 2]);
    bool good = indices[k] >= 0 && indices[k] < mesh->vertex_count && sn_vec3_length(offset) <= 3e38;
    if (good) {
      sn_vec3_store(sn_mat3_apply(sn_affine_linear(mesh->place), offset), deltas[indices[k]]);
    } else {
      status = sn_fail(tree->ctx, SN_BAD_FILE, "moves vertex %lld, and there are %d", (long long)indices[k],
                       mesh->vertex_count);
    }
  }
  if (status == SN_OK) {
    json_t *target = json_object();
    int accessor = sn_gltf_add_accessor(&s->b, deltas, mesh->vertex_count, GLTF_FLOAT, 3, 0, true);
    sn_gltf_set(&s->b, target, "POSITION", json_integer(accessor));
    if (json_array_append_new(targets, target) != 0) s->b.failed = true;
  } else {
    sn_fail_prefix(tree->ctx, "blend shape %.200s: ", shape->name);
  }
  sn_arena_free(&scratch);
  return status;
}

static double default_percent(const fbx_object *channel) {
  double own = sn_fbx_number(sn_fbx_child(channel->node, "DeformPercent"), 0, 0);
  double percent = sn_fbx_property_number(channel, "DeformPercent", own);
  return isfinite(percent) ? percent : 0;
}

// A channel with its shapes: the last is whole at 100 percent unless the file has other numbers, which must rise.
static sn_status add_channel(fbx_scene *s, const fbx_mesh *mesh, int object, fbx_holder *holder, json_t *lists[2]) {
  fbx_object *channel = &s->objects[object];
  struct fbx_channel *out = &holder->channels[holder->channel_count++];
  double *full;
  size_t count;
  sn_status status = sn_fbx_reals(&s->tree, sn_fbx_child(channel->node, "FullWeights"), &full, &count);
  *out =
    (struct fbx_channel){.object = object, .first_target = holder->target_count, .percent = default_percent(channel)};
  int at = 0, shape;
  while (status == SN_OK && (shape = sn_fbx_next_below(s, object, "Geometry", &at, NULL)) >= 0) {
    status = add_target(s, mesh, &s->objects[shape], lists[0]);
    if (json_array_append_new(lists[1], sn_fbx_json_text(s, s->objects[shape].name)) != 0) s->b.failed = true;
    out->count++;
  }
  if (out->count == 1) // the channel's own name is what people see
    json_array_set_new(lists[1], json_array_size(lists[1]) - 1, sn_fbx_json_text(s, channel->name));
  if (status == SN_OK && count < (size_t)out->count) {
    full = sn_fbx_take(&s->tree, (size_t)out->count, sizeof *full);
    if (!full) return s->tree.ctx->error.status;
    for (int k = 0; k < out->count; k++) full[k] = 100.0 * (k + 1) / out->count;
  }
  for (int k = 0; status == SN_OK && k < out->count; k++) {
    if (!isfinite(full[k]) || full[k] == 0 || (k > 0 && !(full[k] > full[k - 1])))
      status = sn_fail(s->tree.ctx, SN_BAD_FILE, "blend shape %.200s: its FullWeights do not rise", channel->name);
  }
  out->full = full;
  holder->target_count += out->count;
  if (out->count == 0) holder->channel_count--;
  return status;
}

static int count_below(const fbx_scene *s, int parent, const char *kind) {
  int at = 0, count = 0;
  while (sn_fbx_next_below(s, parent, kind, &at, NULL) >= 0) count++;
  return count;
}

sn_status sn_fbx_add_shapes(fbx_scene *s, const fbx_mesh *mesh, json_t *primitive, json_t *out, fbx_holder *holder) {
  int at = 0, deformer, total = 0;
  while ((deformer = sn_fbx_next_below(s, mesh->geometry, "Deformer", &at, NULL)) >= 0)
    if (strcmp(s->objects[deformer].type, "BlendShape") == 0) total += count_below(s, deformer, "Deformer");
  if (total == 0) return SN_OK;
  holder->channels = sn_fbx_take(&s->tree, (size_t)total, sizeof *holder->channels);
  if (!holder->channels) return s->tree.ctx->error.status;
  json_t *lists[2] = {json_array(), json_array()};
  sn_status status = SN_OK;
  for (at = 0; (deformer = sn_fbx_next_below(s, mesh->geometry, "Deformer", &at, NULL)) >= 0;) {
    int in_deformer = 0, channel;
    if (strcmp(s->objects[deformer].type, "BlendShape") != 0) continue;
    while (status == SN_OK && (channel = sn_fbx_next_below(s, deformer, "Deformer", &in_deformer, NULL)) >= 0)
      status = add_channel(s, mesh, channel, holder, lists);
  }
  if (holder->target_count > 0 && status == SN_OK) {
    double *weights = sn_fbx_take(&s->tree, (size_t)holder->target_count, sizeof *weights);
    if (weights) sn_fbx_holder_weights(s, holder, NULL, weights);
    sn_gltf_set(&s->b, primitive, "targets", json_incref(lists[0]));
    sn_gltf_set(&s->b, sn_gltf_child(&s->b, out, "extras"), "targetNames", json_incref(lists[1]));
    sn_gltf_set(&s->b, out, "weights", weights ? sn_gltf_reals(&s->b, weights, holder->target_count) : NULL);
  }
  json_decref(lists[0]);
  json_decref(lists[1]);
  return status;
}

// ---- meshes --------------------------------------------------------------------------------------------------------------

static sn_status add_positions(fbx_scene *s, const fbx_mesh *mesh, json_t *attributes) {
  fbx_tree *tree = &s->tree;
  sn_status status = sn_fbx_spend(tree, (size_t)mesh->vertex_count, 2 * 12);
  sn_arena scratch = sn_arena_new(tree->ctx);
  float(*positions)[3] = sn_arena_alloc(tree->ctx, &scratch, (size_t)mesh->vertex_count, sizeof *positions);
  if (status == SN_OK && !positions) status = tree->ctx->error.status;
  for (int i = 0; status == SN_OK && i < mesh->vertex_count; i++) {
    const double *p = mesh->points + 3 * (size_t)i;
    sn_vec3_store(sn_affine_apply(mesh->place, sn_vec3_make(p[0], p[1], p[2])), positions[i]);
  }
  if (status == SN_OK) {
    int accessor = sn_gltf_add_accessor(&s->b, positions, mesh->vertex_count, GLTF_FLOAT, 3, GLTF_VERTICES, true);
    sn_gltf_set(&s->b, attributes, "POSITION", json_integer(accessor));
  }
  sn_arena_free(&scratch);
  return status;
}

static void hang(fbx_scene *s, int node, int below) {
  json_t *nodes = json_object_get(s->b.root, "nodes");
  json_t *above =
    below >= 0 ? json_array_get(nodes, (size_t)below) : json_array_get(json_object_get(s->b.root, "scenes"), 0);
  const char *key = below >= 0 ? "children" : "nodes";
  if (!json_object_get(above, key)) sn_gltf_set(&s->b, above, key, json_array());
  if (json_array_append_new(json_object_get(above, key), json_integer(node)) != 0) s->b.failed = true;
}

// A skinned mesh is put where it was bound and hangs beside the models, as glTF has it; any other hangs below its model.
static sn_status add_mesh(fbx_scene *s, fbx_mesh *mesh) {
  gltf_builder *b = &s->b;
  const fbx_model *model = &s->models[mesh->model];
  json_t *attributes = json_object(), *primitive = json_object(), *out = json_object(), *node = json_object();
  fbx_holder *holder = &s->holders[s->holder_count];
  int skin = -1;
  sn_gltf_set(b, primitive, "attributes", attributes);
  mesh->place = model->geometric;
  sn_affine bound;
  sn_status status = sn_fbx_add_skin(s, mesh, attributes, &skin, &bound);
  if (status == SN_OK && skin >= 0) mesh->place = sn_affine_mul(bound, model->geometric);
  if (status == SN_OK) status = add_positions(s, mesh, attributes);
  if (status == SN_OK) status = sn_fbx_add_layers(s, mesh, attributes, primitive);
  if (status == SN_OK) status = sn_fbx_add_shapes(s, mesh, primitive, out, holder);
  if (status == SN_OK) status = sn_fbx_spend(&s->tree, (size_t)mesh->triangle_count, 12);
  if (status == SN_OK) {
    int corners = sn_gltf_add_accessor(b, mesh->corners, 3 * mesh->triangle_count, GLTF_UINT, 1, GLTF_INDICES, false);
    sn_gltf_set(b, primitive, "indices", json_integer(corners));
    json_t *primitives = json_array();
    if (json_array_append(primitives, primitive) != 0) b->failed = true;
    sn_gltf_set(b, out, "primitives", primitives);
    sn_gltf_set(b, out, "name", sn_fbx_json_text(s, s->objects[model->object].name));
    sn_gltf_set(b, node, "name", sn_fbx_json_text(s, s->objects[model->object].name));
    sn_gltf_set(b, node, "mesh", json_integer(sn_gltf_append(b, "meshes", json_incref(out))));
    if (skin >= 0) sn_gltf_set(b, node, "skin", json_integer(skin));
    holder->node = sn_gltf_append(b, "nodes", json_incref(node));
    hang(s, holder->node, skin >= 0 ? -1 : model->node);
    s->holder_count++;
  }
  json_decref(primitive);
  json_decref(out);
  json_decref(node);
  return status;
}

static sn_status add_geometry(fbx_scene *s, int model, int geometry) {
  const fbx_object *object = &s->objects[geometry];
  fbx_mesh mesh = {.model = model, .geometry = geometry};
  sn_status status = load_points(s, object->node, &mesh);
  if (status == SN_OK) status = load_polygons(s, object->node, &mesh);
  if (status == SN_OK && mesh.triangle_count > 0) status = add_mesh(s, &mesh);
  const char *name = s->objects[s->models[model].object].name;
  return status == SN_OK ? SN_OK : sn_fail_prefix(s->tree.ctx, "mesh %.200s: ", name);
}

sn_status sn_fbx_add_meshes(fbx_scene *s) {
  int shown = 0;
  const fbx_object *other = NULL;
  sn_status status = SN_OK;
  for (int m = 0; m < s->model_count; m++) shown += count_below(s, s->models[m].object, "Geometry");
  s->holders = sn_fbx_take(&s->tree, (size_t)shown, sizeof *s->holders);
  if (!s->holders) return s->tree.ctx->error.status;
  for (int m = 0; m < s->model_count; m++) {
    int at = 0, geometry;
    while (status == SN_OK && (geometry = sn_fbx_next_below(s, s->models[m].object, "Geometry", &at, NULL)) >= 0) {
      const fbx_object *object = &s->objects[geometry];
      if (strcmp(object->type, "Mesh") == 0) {
        status = add_geometry(s, m, geometry);
      } else if (strstr(object->type, "Surface") || strcmp(object->type, "Patch") == 0) {
        other = object;
      }
    }
  }
  if (status == SN_OK && other && s->holder_count == 0) {
    return sn_fail(s->tree.ctx, SN_UNSUPPORTED,
                   "its surface %.200s is a %.100s; convert it to polygons and export again", other->name,
                   other->type);
  }
  return status;
}
