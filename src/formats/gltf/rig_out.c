// SPDX-License-Identifier: MIT
// Writes skeletons and clips as glTF: nodes, the skin, and one key per frame.
#include "formats/gltf/out.h"

#include <string.h>

// A tree of translation-rotation-scale nodes represents a pose exactly up to this shear.
static const double shear_limit = 1e-5;

// A node's properties, by first number and width in a trs, with their defaults.
enum { property_count = 3, rotation = 3, scale = 7 };
static const struct {
  const char *path;
  int first, width;
  float usual[4];
} properties[property_count] = {
  {"translation", 0, 3, {0, 0, 0}}, {"rotation", rotation, 4, {0, 0, 0, 1}}, {"scale", scale, 3, {1, 1, 1}}};

typedef struct trs {
  float numbers[10];
} trs;

static trs trs_round(sn_vec3 t, sn_quat r, sn_vec3 s) {
  return (trs){{(float)t.x, (float)t.y, (float)t.z, (float)r.x, (float)r.y, (float)r.z, (float)r.w, (float)s.x,
                (float)s.y, (float)s.z}};
}

static sn_quat trs_rotation(const trs *a) {
  const float *q = a->numbers + rotation;
  return (sn_quat){q[0], q[1], q[2], q[3]};
}

static sn_affine trs_matrix(const trs *a) {
  return sn_affine_from_trs(sn_vec3_from(a->numbers), trs_rotation(a), sn_vec3_from(a->numbers + scale));
}

static sn_affine round_affine(sn_affine a) {
  for (int k = 0; k < 12; k++) a.m[k / 4][k % 4] = (float)a.m[k / 4][k % 4];
  return a;
}

// ---- nodes -----------------------------------------------------------------------------------------------------

static void set_trs(gltf_builder *b, int node, const trs *a) {
  sn_gltf_set_trs(b, sn_gltf_entry(b, "nodes", node), sn_vec3_from(a->numbers), trs_rotation(a),
                  sn_vec3_from(a->numbers + scale));
}

static int add_node(gltf_builder *b, const char *name, const char *suffix, int parent) {
  char text[512];
  snprintf(text, sizeof text, "%.400s%s", name, suffix);
  json_t *node = json_object();
  sn_gltf_set_text(b, node, "name", text, "joint");
  int index = sn_gltf_append(b, "nodes", node);
  if (parent >= 0) sn_gltf_attach(b, index, parent);
  return index;
}

static void allocate_rig(gltf_builder *b, const sn_gltf_out *what, gltf_rig *rig) {
  const sn_skeleton *skeleton = what->skeleton;
  int n = skeleton->joint_count;
  *rig = (gltf_rig){.joint_count = n,
                    .nodes = SN_TAKE(b, &b->memory, int, n),
                    .parents = SN_TAKE(b, &b->memory, int, n),
                    .order = SN_TAKE(b, &b->memory, int, n),
                    .chain = SN_TAKE(b, &b->memory, sn_affine, n),
                    .inverse_bind = SN_TAKE(b, &b->memory, sn_affine, n),
                    .rest = SN_TAKE(b, &b->memory, sn_affine, n),
                    .outer = SN_TAKE(b, &b->memory, int, n)};
  for (int j = 0; b->status == SN_OK && j < n; j++) {
    sn_affine inverse;
    bool good = sn_affine_invert(skeleton->rest[j], &inverse);
    rig->inverse_bind[j] = round_affine(inverse);
    if (!good || !sn_affine_invert(rig->inverse_bind[j], &rig->rest[j])) {
      b->status =
        sn_fail(b->ctx, SN_BAD_INPUT, "the rest transform of joint %d (%s) is singular", j, skeleton->names[j]);
    }
    rig->chain[j] = sn_affine_identity();
    rig->parents[j] = what->affine ? -1 : skeleton->parents[j];
    rig->order[j] = what->affine ? j : skeleton->order[j];
  }
}

// ---- poses of a tree ------------------------------------------------------------------------------------------------

// Local transforms of all joints for one pose (NULL: the rest pose), rounded to float. Each is relative to its rounded ancestors,
// so rounding errors do not accumulate. Returns the joint with the largest loss.
static int tree_locals(const gltf_rig *rig, const sn_affine *pose, sn_affine *globals, trs *out, double *loss) {
  int worst = 0;
  *loss = 0;
  for (int at = 0; at < rig->joint_count; at++) {
    int j = rig->order[at], parent = rig->parents[j];
    sn_affine target = pose ? sn_affine_mul(pose[j], rig->rest[j]) : rig->rest[j], inverse;
    sn_affine above = parent < 0 ? rig->chain[j] : sn_affine_mul(globals[parent], rig->chain[j]);
    bool good = sn_affine_invert(above, &inverse);
    sn_vec3 t, s;
    sn_quat r;
    double lost = sn_affine_to_trs(good ? sn_affine_mul(inverse, target) : target, &t, &r, &s);
    if (!good) lost = 1;
    if (lost > *loss) *loss = lost, worst = j;
    out[j] = trs_round(t, r, s);
    globals[j] = sn_affine_mul(above, trs_matrix(&out[j]));
  }
  return worst;
}

static void keep_sign(trs *here, const trs *last) {
  if (sn_quat_dot(trs_rotation(here), trs_rotation(last)) >= 0) return;
  for (int k = rotation; k < scale; k++) here->numbers[k] = -here->numbers[k];
}

// Writes the rest pose of the joints from `first` on.
static void rest_of_tree(gltf_builder *b, const gltf_rig *rig, int first) {
  sn_affine *globals = SN_TAKE(b, &b->memory, sn_affine, rig->joint_count);
  trs *locals = SN_TAKE(b, &b->memory, trs, rig->joint_count);
  if (!locals) return;
  double loss;
  tree_locals(rig, NULL, globals, locals, &loss); // shear in the rest pose only shows when no clip plays
  for (int j = first; j < rig->joint_count; j++) set_trs(b, rig->nodes[j], &locals[j]);
}

// ---- poses of free affine joints ------------------------------------------------------------------------------------

static sn_affine clip_global(const gltf_rig *rig, const sn_gltf_clip_out *clip, int f, int j) {
  return sn_affine_mul(sn_pose(clip->poses, clip->first_frame + f)[j], rig->rest[j]);
}

static void set_factors(const gltf_factors *factors, trs *outer, trs *inner) {
  *outer = trs_round(factors->translation, factors->outer, factors->scale);
  *inner = trs_round(sn_vec3_make(0, 0, 0), factors->inner, sn_gltf_inner_scale);
}

// In the rest pose the inner node is the identity if the outer can represent the map: Blender's bones have no rest scale.
static void rest_of_affine(gltf_builder *b, const gltf_rig *rig) {
  for (int j = 0; j < rig->joint_count; j++) {
    gltf_factors factors = {.inner = sn_quat_identity()};
    double loss = sn_affine_to_trs(rig->rest[j], &factors.translation, &factors.outer, &factors.scale);
    trs outer = trs_round(factors.translation, factors.outer, factors.scale),
        inner = trs_round(sn_vec3_make(0, 0, 0), factors.inner, sn_vec3_make(1, 1, 1));
    if (loss > shear_limit) {
      factors = sn_gltf_factor(rig->rest[j], NULL);
      set_factors(&factors, &outer, &inner);
    }
    set_trs(b, rig->outer[j], &outer);
    set_trs(b, rig->nodes[j], &inner);
  }
}

// ---- rigs ---------------------------------------------------------------------------------------------------------------

int sn_gltf_new_rig(gltf_builder *b, const sn_gltf_out *what, gltf_rig *rig) {
  allocate_rig(b, what, rig);
  if (b->status != SN_OK) return -1;
  int root = add_node(b, "skeleton", "", -1);
  for (int at = 0; at < rig->joint_count; at++) {
    int j = rig->order[at], parent = rig->parents[j];
    const char *name = what->skeleton->names[j];
    int above = parent < 0 ? root : rig->nodes[parent];
    if (what->affine) above = rig->outer[j] = add_node(b, name, "_outer", root);
    rig->nodes[j] = add_node(b, name, "", above);
  }
  if (what->affine) {
    rest_of_affine(b, rig);
  } else {
    rest_of_tree(b, rig, 0);
  }
  return root;
}

// Product of the static transforms between a node's parent and the nearest joint above it, or the world.
static sn_affine chain_above(const sn_gltf *base, const int *joint_of_node, int node, int *parent_joint) {
  sn_affine chain = sn_affine_identity();
  int k = base->nodes[node].parent;
  for (; k >= 0 && joint_of_node[k] < 0; k = base->nodes[k].parent) {
    chain = sn_affine_mul(sn_gltf_node_local(&base->nodes[k]), chain);
  }
  *parent_joint = k < 0 ? -1 : joint_of_node[k];
  return chain;
}

static int find_joint_node(const sn_gltf *base, const char *name) {
  for (int j = 0; j < base->joint_count; j++) {
    if (strcmp(base->joints[j].name, name) == 0) return base->joints[j].node;
  }
  return -1;
}

bool sn_gltf_find_joints(const sn_gltf *base, char *const *names, int count, const gltf_rig *rig,
                         int *joint_of_node) {
  int placed = 0;
  for (int k = 0; k < base->node_count; k++) joint_of_node[k] = -1;
  for (int j = 0; j < count; j++) {
    int node = find_joint_node(base, names[j]);
    if (node < 0 || joint_of_node[node] >= 0) return false;
    rig->nodes[j] = node, joint_of_node[node] = j;
  }
  for (int j = 0; j < count; j++) rig->chain[j] = chain_above(base, joint_of_node, rig->nodes[j], &rig->parents[j]);
  for (int at = 0; at < base->node_count; at++) {
    if (joint_of_node[base->order[at]] >= 0) rig->order[placed++] = joint_of_node[base->order[at]];
  }
  return true;
}

bool sn_gltf_kept_rig(gltf_builder *b, const sn_gltf_out *what, gltf_rig *rig) {
  const sn_skeleton *skeleton = what->skeleton;
  int n = skeleton->joint_count, kept = n - what->new_joints;
  if (what->affine || kept == 0) return false;
  allocate_rig(b, what, rig);
  int *joint_of_node = SN_TAKE(b, &b->memory, int, what->base->node_count);
  if (!joint_of_node || !sn_gltf_find_joints(what->base, skeleton->names, kept, rig, joint_of_node)) return false;
  for (int j = kept; j < n; j++) {
    rig->order[j] = j;
    rig->nodes[j] = add_node(b, skeleton->names[j], "", rig->nodes[skeleton->parents[j]]);
  }
  // With clips, nodes keep their static pose: the document's other animations rely on it.
  if (what->clip_count == 0) rest_of_tree(b, rig, what->new_joints > 0 ? kept : 0);
  return true;
}

void sn_gltf_add_skin(gltf_builder *b, const gltf_rig *rig, int root) {
  int index = sn_gltf_add_bound_skin(b, rig->joint_count, rig->nodes, rig->inverse_bind);
  if (root >= 0) sn_gltf_set(b, sn_gltf_entry(b, "skins", index), "skeleton", json_integer(root));
}

// ---- clips ------------------------------------------------------------------------------------------------------------

typedef struct clip_builder {
  gltf_builder *b;
  const sn_gltf_out *what;
  const gltf_rig *rig;
  const gltf_mesh_nodes *meshes; // they get the animated morph weights
  const sn_gltf_clip_out *clip;
  json_t *json;
  int times;     // accessor
  float *values; // room for one channel
  sn_arena scratch;
} clip_builder;

static void add_channel(clip_builder *c, int node, const char *path, int width) {
  sn_gltf_add_channel(c->b, c->json, node, path, (gltf_keys){c->times, c->clip->frame_count, width, c->values});
}

// Adds channels for the node properties that deviate from the node's static value, samples `stride` apart; the rotation channel
// `always`.
static void add_node_channels(clip_builder *c, int node, const trs *samples, size_t stride, bool always) {
  const json_t *json = sn_gltf_entry(c->b, "nodes", node);
  for (int p = 0; p < property_count; p++) {
    const json_t *still = json_object_get(json, properties[p].path);
    bool moves = always && properties[p].first == rotation;
    int width = properties[p].width;
    for (int f = 0; f < c->clip->frame_count; f++) {
      const float *sample = samples[(size_t)f * stride].numbers + properties[p].first;
      for (int k = 0; k < width; k++) {
        float rest = properties[p].usual[k];
        if (still) rest = (float)json_number_value(json_array_get(still, (size_t)k));
        c->values[f * width + k] = sample[k];
        moves = moves || sample[k] != rest;
      }
    }
    if (moves) add_channel(c, node, properties[p].path, width);
  }
}

static void add_tree_clip(clip_builder *c) {
  const sn_gltf_clip_out *clip = c->clip;
  size_t n = (size_t)c->rig->joint_count;
  trs *samples = SN_TAKE(c->b, &c->scratch, trs, (size_t)clip->frame_count * n);
  sn_affine *globals = SN_TAKE(c->b, &c->scratch, sn_affine, n);
  for (int f = 0; c->b->status == SN_OK && f < clip->frame_count; f++) {
    trs *here = samples + (size_t)f * n;
    double loss;
    int worst = tree_locals(c->rig, sn_pose(clip->poses, clip->first_frame + f), globals, here, &loss);
    if (loss > shear_limit) {
      c->b->status = sn_fail(
        c->b->ctx, SN_UNSUPPORTED,
        "clip '%.100s', frame %d: joint %s has a shear of %.2g %%, which a glTF node cannot hold; write it with "
        "two nodes per joint (affine) or as .pc2",
        clip->name ? clip->name : "", f, c->what->skeleton->names[worst], 100 * loss);
    }
    for (size_t j = 0; j < n && f > 0; j++) keep_sign(&here[j], &here[j] - n);
  }
  for (size_t j = 0; c->b->status == SN_OK && j < n; j++)
    add_node_channels(c, c->rig->nodes[j], samples + j, n, j == 0);
}

static void add_affine_clip(clip_builder *c) {
  const gltf_rig *rig = c->rig;
  trs *outer = SN_TAKE(c->b, &c->scratch, trs, c->clip->frame_count);
  trs *inner = SN_TAKE(c->b, &c->scratch, trs, c->clip->frame_count);
  for (int j = 0; inner && j < rig->joint_count; j++) {
    gltf_factors factors = {0};
    for (int f = 0; f < c->clip->frame_count; f++) {
      gltf_factors last = factors;
      factors = sn_gltf_factor(clip_global(rig, c->clip, f, j), f > 0 ? &last : NULL);
      set_factors(&factors, &outer[f], &inner[f]);
    }
    add_node_channels(c, rig->outer[j], outer, 1, j == 0);
    add_node_channels(c, rig->nodes[j], inner, 1, false);
  }
}

// Number of morph targets of a node's mesh in the base.
static size_t own_targets(const clip_builder *c, int k) {
  return c->what->base ? (size_t)c->what->base->nodes[c->meshes->nodes[k]].weight_count : 0;
}

// The file's targets come first, with weight 0: the corrections include their effect.
static void add_morph_channels(clip_builder *c) {
  for (int k = 0; k < c->meshes->count; k++) {
    size_t own = own_targets(c, k), added = (size_t)c->what->morph_count, all = own + added;
    for (size_t f = 0; f < (size_t)c->clip->frame_count; f++) {
      memset(c->values + f * all, 0, own * sizeof *c->values);
      memcpy(c->values + f * all + own, c->clip->morph_weights + f * added, added * sizeof *c->values);
    }
    add_channel(c, c->meshes->nodes[k], "weights", (int)all);
  }
}

// Inserts the clip at `place`, before the base's clips: players show the first.
static void add_clip(clip_builder *c, size_t place) {
  gltf_builder *b = c->b;
  const sn_gltf_clip_out *clip = c->clip;
  size_t frames = (size_t)clip->frame_count, widest = 4;
  for (int k = 0; c->what->morph_count > 0 && k < c->meshes->count; k++) {
    size_t targets = own_targets(c, k) + (size_t)c->what->morph_count;
    if (targets > widest) widest = targets;
  }
  float *times = SN_TAKE(b, &c->scratch, float, frames);
  c->values = SN_TAKE(b, &c->scratch, float, frames *widest);
  if (!c->values) return;
  for (size_t f = 0; f < frames; f++) {
    double t = (double)f / c->what->fps;
    bool early = f + 1 == frames && clip->seconds > 0 && clip->seconds < t; // a clip need not end on a frame
    times[f] = (float)(early ? clip->seconds : t);
  }
  c->times = sn_gltf_add_accessor(b, (gltf_data){times, clip->frame_count, GLTF_FLOAT, 1, 0, true});
  c->json = json_object();
  if (!clip->name || *clip->name) sn_gltf_set_text(b, c->json, "name", clip->name ? clip->name : "clip", "clip");
  sn_gltf_list(b, c->json, "channels");
  sn_gltf_list(b, c->json, "samplers");
  if (json_array_insert_new(sn_gltf_list(b, b->root, "animations"), place, c->json) != 0) sn_gltf_out_of_memory(b);
  if (clip->poses) (c->what->affine ? add_affine_clip : add_tree_clip)(c);
  if (b->status == SN_OK && clip->morph_weights) add_morph_channels(c);
}

static bool has_name(const json_t *animation, const char *name) {
  const char *own = json_string_value(json_object_get(animation, "name"));
  return strcmp(own ? own : "", name ? name : "") == 0;
}

// Removes the morph weight channels, whose number of targets has changed.
static void drop_weights(json_t *animation) {
  json_t *channels = json_object_get(animation, "channels");
  for (size_t k = json_array_size(channels); k-- > 0;) {
    const json_t *target = json_object_get(json_array_get(channels, k), "target");
    const char *path = json_string_value(json_object_get(target, "path"));
    if (path && strcmp(path, "weights") == 0) json_array_remove(channels, k);
  }
}

void sn_gltf_keep_clips(gltf_builder *b, const sn_gltf_out *what) {
  json_t *animations = json_object_get(b->root, "animations");
  for (int c = 0; c < what->clip_count; c++) {
    size_t k = 0;
    while (k < json_array_size(animations) && !has_name(json_array_get(animations, k), what->clips[c].name)) k++;
    json_array_remove(animations, k);
  }
  for (size_t k = json_array_size(animations); k-- > 0;) {
    json_t *animation = json_array_get(animations, k);
    if (what->morph_count > 0) drop_weights(animation);
    if (json_array_size(json_object_get(animation, "channels")) == 0) json_array_remove(animations, k);
  }
  if (animations && json_array_size(animations) == 0) json_object_del(b->root, "animations");
}

void sn_gltf_add_clips(gltf_builder *b, const sn_gltf_out *what, const gltf_rig *rig, const gltf_mesh_nodes *meshes) {
  for (int k = 0; k < what->clip_count && b->status == SN_OK; k++) {
    clip_builder c = {.b = b, .what = what, .rig = rig, .meshes = meshes, .clip = &what->clips[k]};
    c.scratch = sn_arena_new(b->ctx);
    add_clip(&c, (size_t)k);
    sn_arena_free(&c.scratch);
  }
}
