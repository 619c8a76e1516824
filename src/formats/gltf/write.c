// SPDX-License-Identifier: MIT
// sn_gltf_write: checks the data and assembles the document.
#include "formats/gltf/out.h"

#include <string.h>
#include <strings.h>

// ---- checks ----------------------------------------------------------------------------------------------------

static bool all_finite(const float *values, size_t count) {
  for (size_t k = 0; k < count; k++)
    if (!isfinite(values[k])) return false;
  return true;
}

static sn_status check_skin(sn_context *ctx, const sn_gltf_out *what) {
  const sn_skin *skin = what->skin;
  if (!skin) return SN_OK;
  if (!what->skeleton) return sn_fail(ctx, SN_BAD_INPUT, "a skin cannot be written without its skeleton");
  if (skin->influences < 1 || skin->influences > GLTF_MAX_INFLUENCES) {
    return sn_fail(ctx, SN_UNSUPPORTED, "%d influences per vertex; glTF is written with 1 to %d", skin->influences,
                   GLTF_MAX_INFLUENCES);
  }
  if (what->mesh && skin->vertex_count != what->mesh->vertex_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "the skin has %d vertices, the mesh %d", skin->vertex_count,
                   what->mesh->vertex_count);
  }
  size_t count = (size_t)skin->vertex_count * (size_t)skin->influences;
  for (size_t k = 0; k < count; k++) {
    if (skin->joints[k] >= what->skeleton->joint_count || !isfinite(skin->weights[k])) {
      return sn_fail(ctx, SN_BAD_INPUT, "vertex %zu follows joint %d of %d with weight %g",
                     k / (size_t)skin->influences, skin->joints[k], what->skeleton->joint_count, skin->weights[k]);
    }
  }
  return SN_OK;
}

static sn_status check_mesh(sn_context *ctx, const sn_gltf_out *what) {
  if (what->mesh && what->mesh->vertex_count == 0) return sn_fail(ctx, SN_BAD_INPUT, "a mesh without vertices");
  if (what->mesh) SN_TRY(sn_mesh_check(ctx, what->mesh));
  size_t n = what->mesh ? (size_t)what->mesh->vertex_count : 0;
  bool good = (!what->normals || all_finite(&what->normals[0][0], 3 * n)) &&
              (!what->tangents || all_finite(&what->tangents[0][0], 4 * n)) &&
              (!what->colors || all_finite(&what->colors[0][0], 3 * n)) &&
              (what->morph_count == 0 || all_finite(&what->morph_deltas[0][0], 3 * n * (size_t)what->morph_count));
  return good ? SN_OK : sn_fail(ctx, SN_BAD_INPUT, "a normal, colour or morph target is not finite");
}

static sn_status check_base(sn_context *ctx, const sn_gltf_out *what) {
  const sn_gltf *base = what->base;
  if (!base) return SN_OK;
  bool changes = what->mesh || what->normals || what->colors || what->clip_count > 0 || what->morph_count > 0;
  if (!what->skin && changes) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s: is only rewritten with a new skin, or as it is", base->name);
  }
  int count = what->mesh ? what->mesh->vertex_count : what->skin ? what->skin->vertex_count : base->vertex_count;
  if (count != base->vertex_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s: has %d vertices, the mesh to write %d", base->name, base->vertex_count,
                   count);
  }
  return SN_OK;
}

static sn_status check_poses(sn_context *ctx, const sn_gltf_out *what, const sn_gltf_clip_out *clip,
                             const char *name) {
  const sn_poses *poses = clip->poses;
  if (!what->skeleton || poses->joint_count != what->skeleton->joint_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "clip '%.100s' moves %d joints, the skeleton has %d", name, poses->joint_count,
                   what->skeleton ? what->skeleton->joint_count : 0);
  }
  if (clip->first_frame < 0 || clip->frame_count > poses->frame_count - clip->first_frame) {
    return sn_fail(ctx, SN_BAD_INPUT, "clip '%.100s': frames %d to %d of %d do not exist", name, clip->first_frame,
                   clip->first_frame + clip->frame_count - 1, poses->frame_count);
  }
  for (int f = 0; f < clip->frame_count; f++) {
    const double *m = &sn_pose(poses, clip->first_frame + f)->m[0][0];
    for (int k = 0; k < 12 * poses->joint_count; k++)
      if (!(fabs(m[k]) < 1e30))
        return sn_fail(ctx, SN_BAD_INPUT, "clip '%.100s', frame %d: the matrix of joint %s is not finite", name, f,
                       what->skeleton->names[k / 12]);
  }
  return SN_OK;
}

static sn_status check_clips(sn_context *ctx, const sn_gltf_out *what) {
  if (what->clip_count > 0 && !(what->fps > 0 && isfinite(what->fps))) {
    return sn_fail(ctx, SN_BAD_INPUT, "%g frames per second make no sense", what->fps);
  }
  for (int c = 0; c < what->clip_count; c++) {
    const sn_gltf_clip_out *clip = &what->clips[c];
    const char *name = clip->name ? clip->name : "";
    bool morphs = clip->morph_weights && what->morph_count > 0 && (what->mesh || what->base);
    if (clip->frame_count < 1) return sn_fail(ctx, SN_BAD_INPUT, "clip '%.100s' has no frames", name);
    if (!clip->poses && !morphs) return sn_fail(ctx, SN_BAD_INPUT, "clip '%.100s' moves nothing", name);
    if (clip->poses) SN_TRY(check_poses(ctx, what, clip, name));
    if (morphs && !all_finite(clip->morph_weights, (size_t)clip->frame_count * (size_t)what->morph_count)) {
      return sn_fail(ctx, SN_BAD_INPUT, "clip '%.100s': a morph weight is not finite", name);
    }
  }
  return SN_OK;
}

sn_status sn_gltf_check_out(sn_context *ctx, const sn_gltf_out *what) {
  if (!what->base && !what->mesh && !what->skeleton) return sn_fail(ctx, SN_BAD_INPUT, "there is nothing to write");
  if (what->skeleton && what->skeleton->joint_count < 1)
    return sn_fail(ctx, SN_BAD_INPUT, "a skeleton without joints");
  SN_TRY(check_base(ctx, what));
  SN_TRY(check_mesh(ctx, what));
  SN_TRY(check_skin(ctx, what));
  return check_clips(ctx, what);
}

// ---- assembling -------------------------------------------------------------------------------------------------------

static void set_generator(gltf_builder *b) {
  json_t *asset = sn_gltf_child(b, b->root, "asset");
  if (!json_object_get(asset, "version")) sn_gltf_set(b, asset, "version", json_string("2.0"));
  sn_gltf_set(b, asset, "generator", json_string("Sinew " SN_VERSION));
}

static void finish(gltf_builder *b, const sn_gltf_out *what, const gltf_rig *rig) {
  if (b->status == SN_OK && what->finish && !what->finish(what->user, b->root, rig->nodes))
    b->status = sn_fail(b->ctx, SN_NO_MEMORY, "no memory for the document");
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

// Adds a node with the matrix of `turn` above the scene's roots.
static void turn_scene(gltf_builder *b, const sn_gltf *base, const sn_mat3 *turn) {
  json_t *node = json_object(), *children = json_array(), *scenes = json_object_get(b->root, "scenes"), *scene;
  double matrix[16] = {[15] = 1};
  size_t s;
  for (int k = 0; k < 9; k++) matrix[4 * (k % 3) + k / 3] = turn->m[k / 3][k % 3];
  for (int k = 0; k < base->node_count; k++) {
    bool root = base->nodes[k].parent < 0 && base->nodes[k].in_scene;
    if (root) sn_gltf_push(b, children, json_integer(k));
  }
  sn_gltf_set(b, node, "matrix", sn_gltf_reals(b, matrix, 16));
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
    if (what->turn) turn_scene(b, base, what->turn);
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
