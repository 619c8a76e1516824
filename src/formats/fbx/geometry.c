// SPDX-License-Identifier: MIT
// Meshes of an FBX file: control points in order, polygons as triangle fans, blend shapes as morph targets.
#include "formats/fbx/scene.h"

#include <limits.h>
#include <math.h>
#include <string.h>

// ---- points and polygons ---------------------------------------------------------------------------------------------

static void load_points(fbx_tree *tree, fbx_mesh *mesh) {
  fbx_numbers list = sn_fbx_numbers(tree, mesh->geometry->node, "Vertices");
  if (list.count % 3 != 0 || list.count / 3 > INT_MAX / 8)
    sn_fail_once(tree, SN_BAD_FILE, "Vertices are %zu numbers", list.count);
  for (size_t k = 0; k < list.count && tree->status == SN_OK; k++) {
    if (!(fabs(list.values[k]) <= 3e38)) sn_fail_once(tree, SN_BAD_FILE, "vertex %zu is not a finite place", k / 3);
  }
  mesh->points = list.values, mesh->vertex_count = (int)(list.count / 3);
}

// The last corner of a polygon is stored as its bitwise complement.
static void load_polygons(fbx_tree *tree, fbx_mesh *mesh) {
  fbx_numbers list = sn_fbx_numbers(tree, mesh->geometry->node, "PolygonVertexIndex");
  size_t count = list.count, first = 0, polygon = 0, made = 0;
  if (count > INT_MAX / 8) sn_fail_once(tree, SN_BAD_FILE, "has too many corners");
  mesh->corners = sn_fbx_room(tree, 3 * count, sizeof *mesh->corners);
  mesh->loops = sn_fbx_room(tree, 3 * count, sizeof *mesh->loops);
  mesh->polygons = sn_fbx_room(tree, count, sizeof *mesh->polygons);
  for (size_t c = 0; c < count && tree->status == SN_OK; c++) {
    bool last = list.values[c] < 0;
    if (last) list.values[c] = -1 - list.values[c];
    if (!(list.values[c] >= 0 && list.values[c] < mesh->vertex_count)) {
      sn_fail_once(tree, SN_BAD_FILE, "polygon %zu has the vertex %.0f, but there are %d", polygon, list.values[c],
                   mesh->vertex_count);
    } else if (c >= first + 2) {
      const size_t loops[3] = {first, c - 1, c};
      for (size_t k = 0; k < 3; k++)
        mesh->loops[3 * made + k] = (uint32_t)loops[k], mesh->corners[3 * made + k] = (uint32_t)list.values[loops[k]];
      mesh->polygons[made++] = (uint32_t)polygon;
    }
    if (last) first = c + 1, polygon++;
  }
  mesh->triangle_count = (int)made;
}

// ---- blend shapes ----------------------------------------------------------------------------------------------------

static void add_target(fbx_scene *s, const fbx_mesh *mesh, const fbx_object *shape, json_t *targets) {
  fbx_tree *tree = &s->tree;
  fbx_numbers indices = sn_fbx_numbers(tree, shape->node, "Indexes");
  fbx_numbers offsets = sn_fbx_numbers(tree, shape->node, "Vertices");
  if (offsets.count != 3 * indices.count)
    sn_fail_once(tree, SN_BAD_FILE, "%zu vertices have %zu numbers", indices.count, offsets.count);
  float(*deltas)[3] = sn_fbx_room(tree, (size_t)mesh->vertex_count, sizeof *deltas);
  for (size_t k = 0; k < indices.count && tree->status == SN_OK; k++) {
    const double *o = offsets.values + 3 * k, vertex = indices.values[k];
    sn_vec3 offset = sn_vec3_make(o[0], o[1], o[2]);
    if (vertex >= 0 && vertex < mesh->vertex_count && sn_vec3_length(offset) <= 3e38) {
      sn_vec3_store(sn_mat3_apply(sn_affine_linear(mesh->place), offset), deltas[(int)vertex]);
    } else {
      sn_fail_once(tree, SN_BAD_FILE, "moves vertex %.0f, and there are %d", vertex, mesh->vertex_count);
    }
  }
  if (tree->status == SN_OK) {
    json_t *target = json_object();
    sn_gltf_put_floats(&s->b, target, "POSITION", deltas, mesh->vertex_count, 3);
    sn_gltf_push(&s->b, targets, target);
  } else {
    sn_fail_prefix(tree->ctx, "blend shape %.200s: ", shape->name);
  }
}

static double default_percent(const fbx_object *channel) {
  double own = sn_fbx_number(sn_fbx_child(channel->node, "DeformPercent"), 0, 0);
  return sn_fbx_property_number(channel, "DeformPercent", isfinite(own) ? own : 0);
}

// A channel with its shapes. FullWeights must ascend; without them they are spaced evenly up to 100 percent.
static void add_channel(fbx_scene *s, const fbx_mesh *mesh, fbx_object *object, fbx_holder *holder,
                        json_t *lists[2]) {
  fbx_numbers full = sn_fbx_numbers(&s->tree, object->node, "FullWeights");
  int count = sn_fbx_count_below(object, "Geometry");
  if (count == 0) return;
  for (const fbx_link *link = NULL; (link = sn_fbx_below(object, link, "Geometry")) && s->tree.status == SN_OK;) {
    add_target(s, mesh, link->child, lists[0]);
    sn_gltf_push(&s->b, lists[1],
                 sn_fbx_json_text(s, count > 1 ? link->child->name : object->name)); // the name that artists see
  }
  if (full.count < (size_t)count) {
    full.values = sn_fbx_take(&s->tree, (size_t)count, sizeof *full.values);
    for (int k = 0; full.values && k < count; k++) full.values[k] = 100.0 * (k + 1) / count;
  }
  for (int k = 0; k < count && s->tree.status == SN_OK; k++) {
    if (!isfinite(full.values[k]) || full.values[k] == 0 || (k > 0 && !(full.values[k] > full.values[k - 1])))
      sn_fail_once(&s->tree, SN_BAD_FILE, "blend shape %.200s: its FullWeights do not rise", object->name);
  }
  holder->channels[holder->channel_count++] = (struct fbx_channel){.object = object,
                                                                   .first_target = holder->target_count,
                                                                   .percent = default_percent(object),
                                                                   .full = full.values,
                                                                   .count = count};
  holder->target_count += count;
}

static void add_shapes(fbx_scene *s, const fbx_mesh *mesh, json_t *out, fbx_holder *holder) {
  json_auto_t *targets = json_array(), *names = json_array();
  json_t *lists[2] = {targets, names};
  size_t total = 0;
  const fbx_link *deformer = NULL, *channel = NULL;
  while ((deformer = sn_fbx_below(mesh->geometry, deformer, "Deformer")))
    total += (size_t)sn_fbx_count_below(deformer->child, "Deformer");
  *holder = (fbx_holder){.channels = sn_fbx_take(&s->tree, total, sizeof *holder->channels)};
  while ((deformer = sn_fbx_below(mesh->geometry, deformer, "Deformer")) && s->tree.status == SN_OK) {
    bool shapes = strcmp(deformer->child->type, "BlendShape") == 0;
    for (channel = NULL; shapes && (channel = sn_fbx_below(deformer->child, channel, "Deformer"));)
      if (s->tree.status == SN_OK) add_channel(s, mesh, channel->child, holder, lists);
  }
  double *weights = sn_fbx_take(&s->tree, (size_t)holder->target_count, sizeof *weights);
  if (holder->target_count > 0 && weights) {
    sn_fbx_holder_weights(holder, NULL, weights);
    sn_gltf_set(&s->b, mesh->primitive, "targets", json_incref(targets));
    sn_gltf_set(&s->b, sn_gltf_child(&s->b, out, "extras"), "targetNames", json_incref(names));
    sn_gltf_set(&s->b, out, "weights", sn_gltf_reals(&s->b, weights, holder->target_count));
  }
}

// ---- meshes --------------------------------------------------------------------------------------------------------------

static void add_positions(fbx_scene *s, const fbx_mesh *mesh) {
  float(*positions)[3] = sn_fbx_room(&s->tree, (size_t)mesh->vertex_count, sizeof *positions);
  for (int i = 0; positions && i < mesh->vertex_count; i++) {
    const double *p = mesh->points + 3 * (size_t)i;
    sn_vec3_store(sn_affine_apply(mesh->place, sn_vec3_make(p[0], p[1], p[2])), positions[i]);
  }
  if (positions) sn_gltf_put_floats(&s->b, mesh->attributes, "POSITION", positions, mesh->vertex_count, 3);
}

// A skinned mesh is placed where it was bound and is not below its model, as in glTF; any other is a child of its model.
static void add_mesh(fbx_scene *s, fbx_mesh *mesh) {
  gltf_builder *b = &s->b;
  const fbx_model *model = mesh->model;
  json_auto_t *out = json_object(), *node = json_object(), *primitive = json_object();
  fbx_holder *holder = &s->holders[s->holder_count];
  sn_affine bound = sn_affine_identity();
  mesh->primitive = primitive;
  sn_gltf_push(b, sn_gltf_list(b, out, "primitives"), json_incref(primitive));
  mesh->attributes = sn_gltf_child(b, mesh->primitive, "attributes");
  int skin = sn_fbx_add_skin(s, mesh, &bound);
  mesh->place = sn_affine_mul(bound, model->geometric);
  add_positions(s, mesh);
  sn_fbx_add_layers(s, mesh);
  add_shapes(s, mesh, out, holder);
  if (!sn_fbx_spend(&s->tree, (size_t)mesh->triangle_count, 12)) return;
  gltf_data corners = {mesh->corners, 3 * mesh->triangle_count, GLTF_UINT, 1, GLTF_INDICES, false};
  sn_gltf_put(b, primitive, "indices", corners);
  sn_gltf_set(b, out, "name", sn_fbx_json_text(s, model->object->name));
  sn_gltf_set(b, node, "name", sn_fbx_json_text(s, model->object->name));
  sn_gltf_set(b, node, "mesh", json_integer(sn_gltf_append(b, "meshes", json_incref(out))));
  if (skin >= 0) sn_gltf_set(b, node, "skin", json_integer(skin));
  holder->node = sn_gltf_append(b, "nodes", json_incref(node));
  sn_gltf_attach(b, holder->node, skin >= 0 ? -1 : model->node);
  s->holder_count++;
}

static void add_geometry(fbx_scene *s, const fbx_model *model, const fbx_object *geometry) {
  fbx_mesh mesh = {.model = model, .geometry = geometry};
  load_points(&s->tree, &mesh);
  load_polygons(&s->tree, &mesh);
  if (s->tree.status == SN_OK && mesh.triangle_count > 0) add_mesh(s, &mesh);
  if (s->tree.status != SN_OK) sn_fail_prefix(s->tree.ctx, "mesh %.200s: ", model->object->name);
}

void sn_fbx_add_meshes(fbx_scene *s) {
  size_t shown = 0;
  const fbx_object *other = NULL;
  for (int m = 0; m < s->model_count; m++) shown += (size_t)sn_fbx_count_below(s->models[m].object, "Geometry");
  s->holders = sn_fbx_take(&s->tree, shown, sizeof *s->holders);
  for (int m = 0; m < s->model_count; m++) {
    const fbx_link *link = NULL;
    while (s->tree.status == SN_OK && (link = sn_fbx_below(s->models[m].object, link, "Geometry"))) {
      const char *type = link->child->type;
      if (strcmp(type, "Mesh") == 0) {
        add_geometry(s, &s->models[m], link->child);
      } else if (strstr(type, "Surface") || strcmp(type, "Patch") == 0) {
        other = link->child;
      }
    }
  }
  if (other && s->holder_count == 0)
    sn_fail_once(&s->tree, SN_UNSUPPORTED, "its surface %.200s is a %.100s; convert it to polygons and export again",
                 other->name, other->type);
}
