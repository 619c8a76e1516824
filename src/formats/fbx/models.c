// SPDX-License-Identifier: MIT
// Models of an FBX file: their tree, their transforms, and the nodes they become.
#include "formats/fbx/scene.h"

#include <math.h>
#include <string.h>

// ---- transforms ------------------------------------------------------------------------------------------------------

// Angles in degrees; the first axis of the order turns first.
static sn_quat euler(const double degrees[3], int order) {
  static const int axes[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 2, 0}, {1, 0, 2}, {2, 0, 1}, {2, 1, 0}};
  sn_quat q = sn_quat_identity();
  for (int k = 0; k < 3; k++) {
    int axis = axes[order][k];
    double half = fmod(degrees[axis], 720) * SN_PI / 360, turn[3] = {0};
    turn[axis] = sin(half);
    q = sn_quat_mul((sn_quat){turn[0], turn[1], turn[2], cos(half)}, q);
  }
  return q;
}

static sn_vec3 stretched(sn_vec3 v, sn_vec3 s) { return sn_vec3_make(v.x * s.x, v.y * s.y, v.z * s.z); }

fbx_trs sn_fbx_local(const fbx_model *m, const double lcl[9]) {
  fbx_trs out = {.s = sn_vec3_make(lcl[6], lcl[7], lcl[8])};
  out.r = sn_quat_mul(sn_quat_mul(m->before, euler(lcl + 3, m->order)), m->after);
  // what the rotation turns: the way from its pivot to the scaling pivot and back
  sn_vec3 arm = sn_vec3_sub(sn_vec3_add(m->scaling_offset, m->scaling_pivot), stretched(m->scaling_pivot, out.s));
  arm = sn_mat3_apply(sn_quat_to_mat3(out.r), sn_vec3_sub(arm, m->rotation_pivot));
  sn_vec3 start = sn_vec3_add(m->rotation_offset, m->rotation_pivot);
  out.t = sn_vec3_add(sn_vec3_add(sn_vec3_make(lcl[0], lcl[1], lcl[2]), start), arm);
  return out;
}

static sn_quat turn_of(sn_vec3 degrees) { return euler((double[]){degrees.x, degrees.y, degrees.z}, 0); }

static sn_status load_model(fbx_scene *s, int object, fbx_model *m) {
  const fbx_object *o = &s->objects[object];
  const sn_vec3 parts[3] = {sn_fbx_property_vector(o, "Lcl Translation", 0),
                            sn_fbx_property_vector(o, "Lcl Rotation", 0),
                            sn_fbx_property_vector(o, "Lcl Scaling", 1)};
  for (int k = 0; k < 3; k++)
    m->lcl[3 * k] = parts[k].x, m->lcl[3 * k + 1] = parts[k].y, m->lcl[3 * k + 2] = parts[k].z;
  m->object = object;
  m->before = m->after = sn_quat_identity();
  if (sn_fbx_property_number(o, "RotationActive", 0) != 0) { // without it these three have no effect
    m->before = turn_of(sn_fbx_property_vector(o, "PreRotation", 0));
    m->after = sn_quat_conjugate(turn_of(sn_fbx_property_vector(o, "PostRotation", 0)));
    m->order = (int)fmax(0, fmin(sn_fbx_property_number(o, "RotationOrder", 0), 6));
  }
  if (m->order > 5) {
    return sn_fail(s->tree.ctx, SN_UNSUPPORTED,
                   "%.200s has the rotation order 'spheric', which Sinew cannot read; give it one like XYZ", o->name);
  }
  m->rotation_offset = sn_fbx_property_vector(o, "RotationOffset", 0);
  m->rotation_pivot = sn_fbx_property_vector(o, "RotationPivot", 0);
  m->scaling_offset = sn_fbx_property_vector(o, "ScalingOffset", 0);
  m->scaling_pivot = sn_fbx_property_vector(o, "ScalingPivot", 0);
  m->inherit = (int)fmax(0, fmin(sn_fbx_property_number(o, "InheritType", FBX_RRSS), 2));
  m->geometric = sn_affine_from_trs(sn_fbx_property_vector(o, "GeometricTranslation", 0),
                                    turn_of(sn_fbx_property_vector(o, "GeometricRotation", 0)),
                                    sn_fbx_property_vector(o, "GeometricScaling", 1));
  return SN_OK;
}

// ---- the tree ----------------------------------------------------------------------------------------------------------

// The parent of every model's object: an object, -1 for none (the scene, or nothing), -2 for what is no model.
static int *find_parents(fbx_scene *s) {
  int *parents = sn_fbx_take(&s->tree, (size_t)s->object_count, sizeof *parents);
  for (int o = 0; parents && o < s->object_count; o++) parents[o] = sn_fbx_is(s->objects[o].node, "Model") ? -1 : -2;
  for (int k = s->link_count - 1; parents && k >= 0; k--) { // the first counts
    const fbx_link *link = &s->links[k];
    if (!link->property && link->parent >= 0 && parents[link->child] != -2 && parents[link->parent] != -2)
      parents[link->child] = link->parent;
  }
  return parents;
}

// Parents before their children, children in the order of the connections; then where they hang.
static sn_status visit(fbx_scene *s, const int *parents, int root, int *stack) {
  int depth = 0;
  stack[depth++] = root;
  while (depth > 0) {
    int object = stack[--depth], top = depth, at = 0, child;
    fbx_object *o = &s->objects[object];
    if (o->model >= 0) continue;
    o->model = s->model_count;
    fbx_model *m = &s->models[s->model_count++];
    m->parent = parents[object] >= 0 ? s->objects[parents[object]].model : -1;
    sn_status status = load_model(s, object, m);
    if (status != SN_OK) return status;
    const fbx_link *link;
    while ((child = sn_fbx_next_below(s, object, "Model", &at, &link)) >= 0)
      if (!link->property && parents[child] == object && s->objects[child].model < 0) stack[depth++] = child;
    for (int a = top, b = depth - 1; a < b; a++, b--) {
      int swap = stack[a];
      stack[a] = stack[b], stack[b] = swap;
    }
  }
  return SN_OK;
}

sn_status sn_fbx_load_models(fbx_scene *s) {
  int *parents = find_parents(s), at = 0, object;
  int *stack = sn_fbx_take(&s->tree, (size_t)s->link_count + 1, sizeof *stack);
  s->models = sn_fbx_take(&s->tree, (size_t)s->object_count, sizeof *s->models);
  if (!parents || !stack || !s->models) return s->tree.ctx->error.status;
  sn_status status = SN_OK;
  while (status == SN_OK && (object = sn_fbx_next_below(s, -1, "Model", &at, NULL)) >= 0)
    if (parents[object] == -1) status = visit(s, parents, object, stack);
  for (int o = 0; status == SN_OK && o < s->object_count; o++) // those that hang nowhere
    if (parents[o] == -1) status = visit(s, parents, o, stack);
  for (int o = 0; status == SN_OK && o < s->object_count; o++) {
    if (parents[o] != -2 && s->objects[o].model < 0)
      return sn_fail(s->tree.ctx, SN_BAD_FILE, "%.200s is among its own descendants", s->objects[o].name);
  }
  return status;
}

// ---- nodes -------------------------------------------------------------------------------------------------------------

json_t *sn_fbx_json_text(fbx_scene *s, const char *text) {
  json_t *value = json_string(text);
  char *plain = value ? NULL : sn_fbx_take(&s->tree, strlen(text) + 1, 1);
  for (size_t k = 0; plain && text[k]; k++) plain[k] = (unsigned char)text[k] < 128 ? text[k] : '_';
  return value || !plain ? value : json_string(plain);
}

static void set_trs(fbx_scene *s, json_t *node, fbx_trs x) {
  sn_gltf_set(&s->b, node, "translation", sn_gltf_reals(&s->b, (double[]){x.t.x, x.t.y, x.t.z}, 3));
  sn_gltf_set(&s->b, node, "rotation", sn_gltf_reals(&s->b, (double[]){x.r.x, x.r.y, x.r.z, x.r.w}, 4));
  sn_gltf_set(&s->b, node, "scale", sn_gltf_reals(&s->b, (double[]){x.s.x, x.s.y, x.s.z}, 3));
}

// A node between model and parent takes the parent's scale away: S^-1 behind the translation. (Rrs: that is all. RrSs: the model
// gets the scale back, in its own axes.)
static bool needs_buffer(fbx_scene *s, fbx_model *m) {
  const fbx_model *parent = m->parent >= 0 ? &s->models[m->parent] : NULL;
  if (!parent) return false;
  bool needed = m->inherit == FBX_RRS ? parent->scaled : m->inherit == FBX_RRSS && parent->uneven;
  m->uneven = m->uneven || parent->uneven;
  return needed;
}

// The scale that a model has and hands on where rotations and scales are inherited apart.
static sn_vec3 inherited_scale(const fbx_scene *s, int model, const fbx_moment *moment) {
  sn_vec3 out = sn_vec3_make(1, 1, 1);
  while (model >= 0) {
    const fbx_model *m = &s->models[model];
    double lcl[9];
    sn_fbx_lcl_at(s, model, moment, lcl);
    out = stretched(out, sn_vec3_make(lcl[6], lcl[7], lcl[8]));
    model = m->inherit == FBX_RRS && m->parent >= 0 ? s->models[m->parent].parent : m->parent;
  }
  return out;
}

static double inverse(double scale) { return scale != 0 ? 1 / scale : 0; }

void sn_fbx_pose(const fbx_scene *s, const fbx_model *m, const fbx_moment *moment, fbx_trs *own, fbx_trs *between) {
  double lcl[9];
  sn_fbx_lcl_at(s, m->node, moment, lcl);
  *own = sn_fbx_local(m, lcl);
  *between = (fbx_trs){.s = sn_vec3_make(1, 1, 1), .r = sn_quat_identity()};
  if (m->buffer < 0) return;
  sn_fbx_lcl_at(s, m->parent, moment, lcl);
  sn_vec3 above = sn_vec3_make(lcl[6], lcl[7], lcl[8]);
  if (m->inherit == FBX_RRSS) above = inherited_scale(s, m->parent, moment), own->s = stretched(own->s, above);
  between->s = sn_vec3_make(inverse(above.x), inverse(above.y), inverse(above.z));
  between->t = own->t, own->t = sn_vec3_make(0, 0, 0);
}

static void append(fbx_scene *s, json_t *object, const char *key, int index) {
  json_t *list = json_object_get(object, key);
  if (!list) sn_gltf_set(&s->b, object, key, json_array()), list = json_object_get(object, key);
  if (json_array_append_new(list, json_integer(index)) != 0) s->b.failed = true;
}

void sn_fbx_add_nodes(fbx_scene *s) {
  s->node_count = s->model_count;
  for (int k = 0; k < s->model_count; k++) {
    fbx_model *m = &s->models[k];
    m->node = k;
    m->buffer = needs_buffer(s, m) ? s->node_count++ : -1;
  }
  for (int k = 0; k < s->node_count; k++) sn_gltf_append(&s->b, "nodes", json_object());
  json_t *nodes = json_object_get(s->b.root, "nodes");
  json_t *scene = json_array_get(json_object_get(s->b.root, "scenes"), 0);
  for (int k = 0; k < s->model_count && !s->b.failed; k++) {
    fbx_model *m = &s->models[k];
    json_t *node = json_array_get(nodes, (size_t)k), *above = scene;
    fbx_trs own, between;
    sn_fbx_pose(s, m, NULL, &own, &between);
    if (m->parent >= 0) above = json_array_get(nodes, (size_t)s->models[m->parent].node);
    append(s, above, m->parent >= 0 ? "children" : "nodes", m->buffer >= 0 ? m->buffer : m->node);
    sn_affine local = sn_affine_from_trs(own.t, own.r, own.s);
    if (m->buffer >= 0) {
      json_t *buffer = json_array_get(nodes, (size_t)m->buffer);
      set_trs(s, buffer, between);
      append(s, buffer, "children", m->node);
      local = sn_affine_mul(sn_affine_from_trs(between.t, between.r, between.s), local);
    }
    m->world = m->parent >= 0 ? sn_affine_mul(s->models[m->parent].world, local) : local;
    sn_gltf_set(&s->b, node, "name", sn_fbx_json_text(s, s->objects[m->object].name));
    set_trs(s, node, own);
    if (sn_fbx_property_number(&s->objects[m->object], "demLock", 0) != 0) // Dem Bones' lock of a joint's motion
      sn_gltf_set(&s->b, sn_gltf_child(&s->b, node, "extras"), "demLock", json_true());
  }
}
