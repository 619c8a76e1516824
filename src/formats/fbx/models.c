// SPDX-License-Identifier: MIT
// Models of an FBX file: hierarchy, transforms, and the nodes they become.
#include "formats/fbx/scene.h"

#include <math.h>
#include <string.h>

// ---- transforms ------------------------------------------------------------------------------------------------------

// Angles in degrees; the first axis of the order is applied first.
static sn_quat euler(const double degrees[3], int order) {
  static const int axes[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 2, 0}, {1, 0, 2}, {2, 0, 1}, {2, 1, 0}};
  sn_quat q = sn_quat_identity();
  for (int k = 0; k < 3; k++) {
    int axis = axes[order][k];
    double half = fmod(degrees[axis], 720) * SN_PI / 360, part[3] = {0};
    part[axis] = sin(half);
    q = sn_quat_mul((sn_quat){part[0], part[1], part[2], cos(half)}, q);
  }
  return q;
}

static sn_vec3 stretched(sn_vec3 v, sn_vec3 s) { return sn_vec3_make(v.x * s.x, v.y * s.y, v.z * s.z); }

// Transform of a model from its nine numbers for translation, rotation and scale.
static fbx_trs local_of(const fbx_model *m, const double lcl[9]) {
  fbx_trs out = {.s = sn_vec3_make(lcl[6], lcl[7], lcl[8])};
  out.r = sn_quat_mul(sn_quat_mul(m->before, euler(lcl + 3, m->order)), m->after);
  // lever arm that R rotates: from the rotation pivot to the scaling pivot and back
  sn_vec3 arm = sn_vec3_sub(sn_vec3_add(m->scaling_offset, m->scaling_pivot), stretched(m->scaling_pivot, out.s));
  arm = sn_mat3_apply(sn_quat_to_mat3(out.r), sn_vec3_sub(arm, m->rotation_pivot));
  sn_vec3 start = sn_vec3_add(m->rotation_offset, m->rotation_pivot);
  out.t = sn_vec3_add(sn_vec3_add(sn_vec3_make(lcl[0], lcl[1], lcl[2]), start), arm);
  return out;
}

static sn_quat rotation_property(const fbx_object *o, const char *name) {
  sn_vec3 degrees = sn_fbx_property_vector(o, name, 0);
  return euler((double[]){degrees.x, degrees.y, degrees.z}, 0);
}

static void load_transform(fbx_scene *s, fbx_model *m) {
  static const char *const names[] = {"Lcl Translation", "Lcl Rotation", "Lcl Scaling"};
  const fbx_object *o = m->object;
  for (int k = 0; k < 3; k++) {
    sn_vec3 part = sn_fbx_property_vector(o, names[k], k == 2);
    m->lcl[3 * k] = part.x, m->lcl[3 * k + 1] = part.y, m->lcl[3 * k + 2] = part.z;
  }
  m->before = m->after = sn_quat_identity();
  if (sn_fbx_property_number(o, "RotationActive", 0) != 0 &&
      sn_fbx_property_number(o, "RotationSpaceForLimitOnly", 0) == 0) { // otherwise these three have no effect
    m->before = rotation_property(o, "PreRotation");
    m->after = sn_quat_conjugate(rotation_property(o, "PostRotation"));
    m->order = (int)fmax(0, fmin(sn_fbx_property_number(o, "RotationOrder", 0), 6));
  }
  if (m->order > 5)
    sn_fail_once(&s->tree, SN_UNSUPPORTED,
                 "%.200s has the rotation order 'spheric', which Sinew cannot read; give it one like XYZ", o->name);
  m->rotation_offset = sn_fbx_property_vector(o, "RotationOffset", 0);
  m->rotation_pivot = sn_fbx_property_vector(o, "RotationPivot", 0);
  m->scaling_offset = sn_fbx_property_vector(o, "ScalingOffset", 0);
  m->scaling_pivot = sn_fbx_property_vector(o, "ScalingPivot", 0);
  m->inherit = (int)fmax(0, fmin(sn_fbx_property_number(o, "InheritType", FBX_RRSS), 2));
  m->geometric =
    sn_affine_from_trs(sn_fbx_property_vector(o, "GeometricTranslation", 0),
                       rotation_property(o, "GeometricRotation"), sn_fbx_property_vector(o, "GeometricScaling", 1));
}

// ---- the tree ----------------------------------------------------------------------------------------------------------

static void add_model(fbx_scene *s, fbx_object *object) {
  if (object->model || s->tree.status != SN_OK) return;
  object->model = &s->models[s->model_count];
  *object->model = (fbx_model){.object = object, .node = s->model_count++, .buffer = -1};
  if (object->parent) object->model->parent = object->parent->model;
  load_transform(s, object->model);
}

// Parents before children, children in the order of their connections.
void sn_fbx_load_models(fbx_scene *s) {
  const fbx_link *link = NULL;
  s->models = sn_fbx_take(&s->tree, (size_t)s->object_count, sizeof *s->models);
  if (!s->models) return;
  while ((link = sn_fbx_below(&s->objects[0], link, "Model")))
    if (!link->child->parent) add_model(s, link->child);
  for (int o = 0; o < s->object_count; o++) // models without a parent
    if (sn_fbx_is(s->objects[o].node, "Model") && !s->objects[o].parent) add_model(s, &s->objects[o]);
  for (int k = 0; k < s->model_count; k++) {
    for (link = NULL; (link = sn_fbx_below(s->models[k].object, link, "Model"));)
      if (link->child->parent == s->models[k].object) add_model(s, link->child);
  }
  for (int o = 0; o < s->object_count && s->tree.status == SN_OK; o++) {
    if (s->objects[o].parent && !s->objects[o].model)
      sn_fail_once(&s->tree, SN_BAD_FILE, "%.200s is among its own descendants", s->objects[o].name);
  }
}

// ---- nodes -------------------------------------------------------------------------------------------------------------

json_t *sn_fbx_json_text(fbx_scene *s, const char *text) {
  json_t *value = json_string(text);
  char *plain = value ? NULL : sn_fbx_take(&s->tree, strlen(text) + 1, 1);
  for (size_t k = 0; plain && text[k]; k++) plain[k] = (unsigned char)text[k] < 128 ? text[k] : '_';
  return value || !plain ? value : json_string(plain);
}

// A buffer node between model and parent cancels the parent's scale: S^-1 after the translation. With Rrs that is all; with RrSs
// the model gets the scale back in its local axes.
static bool needs_buffer(fbx_model *m) {
  if (!m->parent) return false;
  m->uneven = m->uneven || m->parent->uneven;
  return m->inherit == FBX_RRS ? m->parent->scaled : m->inherit == FBX_RRSS && m->parent->uneven;
}

// Product of scales that a model passes on if rotation and scale are inherited separately.
static sn_vec3 inherited_scale(const fbx_scene *s, const fbx_model *m, const fbx_moment *moment) {
  sn_vec3 out = sn_vec3_make(1, 1, 1);
  while (m) {
    double lcl[9];
    sn_fbx_lcl_at(s, m, moment, lcl);
    out = stretched(out, sn_vec3_make(lcl[6], lcl[7], lcl[8]));
    m = m->inherit == FBX_RRS && m->parent ? m->parent->parent : m->parent;
  }
  return out;
}

static double inverse(double scale) { return scale != 0 ? 1 / scale : 0; }

void sn_fbx_pose(const fbx_scene *s, const fbx_model *m, const fbx_moment *moment, fbx_trs *own, fbx_trs *between) {
  double lcl[9];
  sn_fbx_lcl_at(s, m, moment, lcl);
  *own = local_of(m, lcl);
  *between = (fbx_trs){.s = sn_vec3_make(1, 1, 1), .r = sn_quat_identity()};
  if (m->buffer < 0) return;
  sn_fbx_lcl_at(s, m->parent, moment, lcl);
  sn_vec3 above = sn_vec3_make(lcl[6], lcl[7], lcl[8]);
  if (m->inherit == FBX_RRSS) above = inherited_scale(s, m->parent, moment), own->s = stretched(own->s, above);
  between->s = sn_vec3_make(inverse(above.x), inverse(above.y), inverse(above.z));
  between->t = own->t, own->t = sn_vec3_make(0, 0, 0);
}

void sn_fbx_add_nodes(fbx_scene *s) {
  int count = s->model_count;
  for (int k = 0; k < s->model_count; k++)
    if (needs_buffer(&s->models[k])) s->models[k].buffer = count++;
  for (int k = 0; k < count; k++) sn_gltf_append(&s->b, "nodes", json_object());
  json_t *nodes = json_object_get(s->b.root, "nodes");
  for (int k = 0; k < s->model_count && s->b.status == SN_OK; k++) {
    fbx_model *m = &s->models[k];
    json_t *node = json_array_get(nodes, (size_t)k);
    fbx_trs own, between;
    sn_fbx_pose(s, m, NULL, &own, &between);
    sn_gltf_attach(&s->b, m->buffer >= 0 ? m->buffer : k, m->parent ? m->parent->node : -1);
    m->world = sn_affine_from_trs(own.t, own.r, own.s);
    if (m->buffer >= 0) {
      sn_gltf_set_trs(&s->b, json_array_get(nodes, (size_t)m->buffer), between.t, between.r, between.s);
      sn_gltf_attach(&s->b, k, m->buffer);
      m->world = sn_affine_mul(sn_affine_from_trs(between.t, between.r, between.s), m->world);
    }
    if (m->parent) m->world = sn_affine_mul(m->parent->world, m->world);
    sn_gltf_set(&s->b, node, "name", sn_fbx_json_text(s, m->object->name));
    sn_gltf_set_trs(&s->b, node, own.t, own.r, own.s);
    if (sn_fbx_property_number(m->object, "demLock", 0) != 0) // Dem Bones' lock of a joint's motion
      sn_gltf_set(&s->b, sn_gltf_child(&s->b, node, "extras"), "demLock", json_true());
  }
}
