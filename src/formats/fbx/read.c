// SPDX-License-Identifier: MIT
// Converts an FBX file to a glTF document in memory. Coordinates, axes and units are the file's.
#include "formats/fbx/scene.h"

// ---- global settings -------------------------------------------------------------------------------------------------------

static double frame_rate(const fbx_object *settings) {
  static const double rates[] = {30, 120, 100,  60,         50, 48, 30, 30,         30 / 1.001, 30 / 1.001,
                                 25, 24,  1000, 24 / 1.001, 0,  96, 72, 60 / 1.001, 120 / 1.001};
  double mode = sn_fbx_property_number(settings, "TimeMode", 0);
  double rate = mode >= 0 && mode < sizeof rates / sizeof *rates ? rates[(int)mode] : rates[0];
  if (rate == 0) rate = sn_fbx_property_number(settings, "CustomFrameRate", rates[0]);
  return rate >= 1 && rate <= 240 ? rate : rates[0];
}

// Units of time per second: newer files say in their header when these are others than they always were.
static double time_units(const fbx_node *root) {
  const fbx_node *header = sn_fbx_child(root, "FBXHeaderExtension");
  double kind = sn_fbx_number(sn_fbx_child(sn_fbx_child(header, "OtherFlags"), "TCDefinition"), 0, 127);
  bool newer = sn_fbx_number(sn_fbx_child(header, "FBXHeaderVersion"), 0, 0) >= 1004 && kind != 127;
  return newer ? 141120000 : 46186158000;
}

static void note(fbx_scene *s, const char *key, json_t *value) {
  json_t *asset = sn_gltf_child(&s->b, s->b.root, "asset");
  sn_gltf_set(&s->b, sn_gltf_child(&s->b, asset, "extras"), key, value);
}

static void add_notes(fbx_scene *s, const fbx_object *settings) {
  double up = sn_fbx_property_number(settings, "UpAxis", -1);
  double centimetres = sn_fbx_property_number(settings, "UnitScaleFactor", 0);
  if (up >= 0 && up < 3) note(s, "up", json_string((const char *[]){"x", "y", "z"}[(int)up]));
  if (centimetres > 0) note(s, "unit_cm", json_real(centimetres));
}

// ---- files without a mesh ----------------------------------------------------------------------------------------------

// Without a mesh to bind, the joints are the animated models and their descendants.
static void add_motion_skin(fbx_scene *s) {
  int *joints = sn_fbx_take(&s->tree, (size_t)s->model_count, sizeof *joints), count = 0;
  sn_affine *inverse = sn_fbx_take(&s->tree, (size_t)s->model_count, sizeof *inverse);
  for (int k = 0; inverse && k < s->model_count; k++) {
    fbx_model *m = &s->models[k];
    m->animated = m->animated || (m->parent && m->parent->animated);
    if (m->animated && !sn_fbx_below(m->object, NULL, "Geometry") && sn_affine_invert(m->world, &inverse[count]))
      joints[count++] = k;
  }
  if (count > 0) sn_gltf_add_bound_skin(&s->b, count, joints, inverse);
}

// ---- the document ----------------------------------------------------------------------------------------------------------

static void build(fbx_scene *s) {
  const fbx_node *global = sn_fbx_child(&s->tree.root, "GlobalSettings");
  const fbx_object settings = {.node = global ? global : &s->tree.root};
  uint32_t version = s->tree.version;
  if (version < 7000 || version >= 8000)
    sn_fail_once(&s->tree, SN_UNSUPPORTED,
                 "is FBX version %u.%u; Sinew reads 7.0 to 7.7: export it again as FBX 2011 to 2020", version / 1000,
                 version % 1000 / 100);
  s->rate = frame_rate(&settings), s->second = time_units(&s->tree.root);
  sn_fbx_load_objects(s);
  sn_fbx_load_models(s);
  sn_fbx_mark_animated(s);
  if (s->tree.status != SN_OK) return;
  add_notes(s, &settings);
  sn_fbx_add_nodes(s);
  sn_fbx_add_materials(s);
  if (s->tree.status == SN_OK) s->tree.status = s->b.status;
  sn_fbx_add_meshes(s);
  if (!json_object_get(s->b.root, "skins")) add_motion_skin(s);
  if (s->dual_quaternions) note(s, GLTF_DUAL_QUATERNIONS, json_true());
  sn_fbx_add_clips(s);
  if (s->b.data.size > 0)
    sn_gltf_append(&s->b, "buffers", json_pack("{s:I}", "byteLength", (json_int_t)s->b.data.size));
  if (s->tree.status == SN_OK) s->tree.status = s->b.status;
}

sn_status sn_fbx_parse(sn_context *ctx, const char *name, const uint8_t *bytes, size_t size, sn_gltf **out) {
  *out = NULL;
  json_t *json = json_pack("{s:{s:s,s:s,s:{s:b}}, s:i, s:[{}]}", "asset", "version", "2.0", "generator", "Sinew, FBX",
                           "extras", GLTF_BOUND_IN_SCENE, 1, "scene", 0, "scenes");
  fbx_scene s = {.b = sn_gltf_builder(ctx, json), .tree = sn_fbx_tree_parse(ctx, bytes, size)};
  build(&s);
  sn_arena_free(&s.tree.memory);
  if (s.tree.status == SN_OK) {
    sn_file data = {.bytes = s.b.data.bytes, .size = s.b.data.size, .memory = s.b.data.memory};
    sn_arena_free(&s.b.memory);
    return sn_gltf_open(ctx, name, NULL, data, json, out);
  }
  sn_gltf_builder_free(&s.b);
  bool stopped = s.tree.status == SN_NO_MEMORY || s.tree.status == SN_STOPPED;
  return sn_fail_prefix(ctx, "%s: %s", name, stopped ? "" : "cannot be read: ");
}
