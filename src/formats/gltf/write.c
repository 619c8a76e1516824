// SPDX-License-Identifier: MIT
// sn_gltf_write: checks the data and assembles the document.
#include "formats/gltf/out.h"

// ---- checks ----------------------------------------------------------------------------------------------------

// What contradicts itself in the caller's data; NULL: nothing.
static const char *contradiction(const sn_gltf_out *what) {
  bool changes = what->mesh || what->normals || what->colors || what->clip_count > 0 || what->morph_count > 0;
  if (!what->base && !what->mesh && !what->skeleton) return "there is nothing to write";
  if (what->base && !what->skin && changes) return "a document is only rewritten with a new skin, or as it is";
  if (what->mesh && what->mesh->vertex_count == 0) return "a mesh without vertices";
  if (what->skeleton && what->skeleton->joint_count < 1) return "a skeleton without joints";
  if (what->skin && !what->skeleton) return "a skin cannot be written without its skeleton";
  if (what->clip_count > 0 && !(what->fps > 0 && isfinite(what->fps))) return "its frames per second make no sense";
  return NULL;
}

// The mesh, the skin and the base have the same vertices.
static sn_status check_counts(sn_context *ctx, const sn_gltf_out *what) {
  int vertices = what->mesh ? what->mesh->vertex_count : what->skin ? what->skin->vertex_count : -1;
  if (what->base && vertices >= 0 && vertices != what->base->vertex_count)
    return sn_fail(ctx, SN_BAD_INPUT, "%s: has %d vertices, the mesh to write %d", what->base->name,
                   what->base->vertex_count, vertices);
  if (what->skin && what->skin->vertex_count != vertices)
    return sn_fail(ctx, SN_BAD_INPUT, "the skin has %d vertices, the mesh %d", what->skin->vertex_count, vertices);
  return what->mesh ? sn_mesh_check(ctx, what->mesh) : SN_OK;
}

static sn_status check_skin(sn_context *ctx, const sn_skin *skin, int joint_count) {
  if (skin->influences < 1 || skin->influences > GLTF_MAX_INFLUENCES)
    return sn_fail(ctx, SN_UNSUPPORTED, "%d influences per vertex; glTF is written with 1 to %d", skin->influences,
                   GLTF_MAX_INFLUENCES);
  size_t count = (size_t)skin->vertex_count * (size_t)skin->influences;
  for (size_t k = 0; k < count; k++)
    if (skin->joints[k] >= joint_count || !isfinite(skin->weights[k]))
      return sn_fail(ctx, SN_BAD_INPUT, "vertex %zu follows joint %d of %d with weight %g",
                     k / (size_t)skin->influences, skin->joints[k], joint_count, skin->weights[k]);
  return SN_OK;
}

static bool all_finite(const void *values, size_t count) {
  const float *number = values;
  for (size_t k = 0; number && k < count; k++)
    if (!isfinite(number[k])) return false;
  return true;
}

static sn_status check_finite(sn_context *ctx, const sn_gltf_out *what) {
  size_t n = what->mesh ? (size_t)what->mesh->vertex_count : 0, morphs = (size_t)what->morph_count;
  bool good = all_finite(what->normals, 3 * n) && all_finite(what->tangents, 4 * n) &&
              all_finite(what->colors, 3 * n) && all_finite(what->morph_deltas, 3 * n * morphs);
  for (int c = 0; c < what->clip_count; c++)
    good = good && all_finite(what->clips[c].morph_weights, (size_t)what->clips[c].frame_count * morphs);
  return good ? SN_OK : sn_fail(ctx, SN_BAD_INPUT, "a normal, colour, morph target or its weight is not finite");
}

static sn_status check_clip(sn_context *ctx, const sn_gltf_out *what, const sn_gltf_clip_out *clip) {
  const char *name = clip->name ? clip->name : "";
  const sn_poses *poses = clip->poses;
  int joint_count = what->skeleton ? what->skeleton->joint_count : 0;
  if (clip->frame_count < 1) return sn_fail(ctx, SN_BAD_INPUT, "clip '%.100s' has no frames", name);
  if (!poses && !(clip->morph_weights && what->morph_count > 0))
    return sn_fail(ctx, SN_BAD_INPUT, "clip '%.100s' moves nothing", name);
  if (!poses) return SN_OK;
  if (poses->joint_count != joint_count)
    return sn_fail(ctx, SN_BAD_INPUT, "clip '%.100s' moves %d joints, the skeleton has %d", name, poses->joint_count,
                   joint_count);
  if (clip->first_frame < 0 || clip->frame_count > poses->frame_count - clip->first_frame)
    return sn_fail(ctx, SN_BAD_INPUT, "clip '%.100s': frames %d to %d of %d do not exist", name, clip->first_frame,
                   clip->first_frame + clip->frame_count - 1, poses->frame_count);
  for (int f = 0; f < clip->frame_count; f++) {
    const double *m = &sn_pose(poses, clip->first_frame + f)->m[0][0];
    for (int k = 0; k < 12 * joint_count; k++)
      if (!(fabs(m[k]) < 1e30))
        return sn_fail(ctx, SN_BAD_INPUT, "clip '%.100s', frame %d: the matrix of joint %s is not finite", name, f,
                       what->skeleton->names[k / 12]);
  }
  return SN_OK;
}

sn_status sn_gltf_check_out(sn_context *ctx, const sn_gltf_out *what) {
  const char *trouble = contradiction(what);
  if (trouble) return sn_fail(ctx, SN_BAD_INPUT, "%s", trouble);
  SN_TRY(check_counts(ctx, what));
  if (what->skin) SN_TRY(check_skin(ctx, what->skin, what->skeleton->joint_count));
  for (int c = 0; c < what->clip_count; c++) SN_TRY(check_clip(ctx, what, &what->clips[c]));
  return check_finite(ctx, what);
}

// ---- assembling -------------------------------------------------------------------------------------------------------

static void set_generator(gltf_builder *b) {
  json_t *asset = sn_gltf_child(b, b->root, "asset");
  if (!json_object_get(asset, "version")) sn_gltf_set(b, asset, "version", json_string("2.0"));
  sn_gltf_set(b, asset, "generator", json_string("Sinew " SN_VERSION));
}

static void finish(gltf_builder *b, const sn_gltf_out *what, const gltf_rig *rig) {
  if (b->status == SN_OK && what->finish && !what->finish(what->user, b->root, rig->nodes))
    b->status = sn_fail(b->ctx, SN_NO_MEMORY, "out of memory for the document");
}

static void build_new(gltf_builder *b, const sn_gltf_out *given) {
  sn_gltf_out units = *given, *what = &units;
  json_t *roots = json_array(), *scene = json_object();
  gltf_rig rig = {0};
  int mesh_node;
  gltf_mesh_nodes meshes = {what->mesh != NULL, &mesh_node};
  sn_gltf_set(b, b->root, "scene", json_integer(0));
  sn_gltf_set(b, scene, "nodes", roots);
  sn_gltf_append(b, "scenes", scene);
  sn_gltf_unit_morphs(b, &units);
  if (b->status != SN_OK) return;
  if (what->mesh) {
    mesh_node = sn_gltf_add_mesh(b, what);
    sn_gltf_push(b, roots, json_integer(mesh_node));
  }
  if (what->skeleton) {
    int root = sn_gltf_new_rig(b, what, &rig);
    sn_gltf_push(b, roots, json_integer(root));
    sn_gltf_add_skin(b, &rig, root);
  }
  sn_gltf_add_clips(b, what, &rig, &meshes);
  finish(b, what, &rig);
}

// Adds a node with the matrix `linear` above the scene's roots.
static void transform_scene(gltf_builder *b, const sn_gltf *base, const sn_mat3 *linear) {
  json_t *node = json_object(), *children = json_array(), *scenes = json_object_get(b->root, "scenes"), *scene;
  size_t s;
  for (int k = 0; k < base->node_count; k++) {
    bool root = base->nodes[k].parent < 0 && base->nodes[k].in_scene;
    if (root) sn_gltf_push(b, children, json_integer(k));
  }
  sn_gltf_set_matrix(b, node, sn_affine_make(*linear, sn_vec3_make(0, 0, 0)));
  sn_gltf_set(b, node, "children", children);
  int above = sn_gltf_append(b, "nodes", node);
  json_array_foreach(scenes, s, scene) {
    json_t *roots = json_object_get(scene, "nodes");
    size_t before = json_array_size(roots);
    for (size_t k = before; k-- > 0;) {
      if (base->nodes[json_integer_value(json_array_get(roots, k))].in_scene) json_array_remove(roots, k);
    }
    if (json_array_size(roots) < before) sn_gltf_push(b, roots, json_integer(above));
  }
}

static void build_kept(gltf_builder *b, const sn_gltf_out *what) {
  const sn_gltf *base = what->base;
  sn_gltf_split_seams(b, base, !what->skin);
  if (!what->skin) {
    if (what->turn) transform_scene(b, base, what->turn);
    return sn_gltf_keep_data(b, base);
  }
  SN_FREED_BY(sn_mesh_free) sn_mesh own = {0};
  sn_gltf_out full = *what;
  gltf_mesh_nodes meshes = {0};
  gltf_rig rig = {0};
  int root = -1;
  if (b->status == SN_OK && !what->mesh) b->status = sn_gltf_mesh(b->ctx, base, &own), full.mesh = &own;
  sn_gltf_unit_morphs(b, &full);
  sn_gltf_keep_meshes(b, &full, &meshes);
  if (sn_gltf_kept_rig(b, &full, &rig)) {
    sn_gltf_keep_clips(b, &full);
  } else {
    json_object_del(b->root, "animations");
    root = sn_gltf_new_rig(b, &full, &rig);
    sn_gltf_join_scenes(b, base, &meshes, root);
  }
  sn_gltf_add_skin(b, &rig, root);
  sn_gltf_add_clips(b, &full, &rig, &meshes);
  finish(b, what, &rig);
  sn_gltf_keep_data(b, base);
}

sn_status sn_gltf_write_document(sn_context *ctx, const char *path, const sn_gltf_out *what) {
  SN_FREED_BY(sn_gltf_builder_free)
  gltf_builder b = sn_gltf_builder(ctx, what->base ? json_deep_copy(what->base->json) : json_object());
  set_generator(&b);
  (what->base ? build_kept : build_new)(&b, what);
  return b.status == SN_OK ? sn_gltf_builder_write(&b, path) : sn_fail_prefix(ctx, "%s: ", path);
}
