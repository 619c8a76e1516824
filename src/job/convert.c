// SPDX-License-Identifier: MIT
// Converts mesh files and sequence files, and repacks models.
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "formats/common/adjust.h"
#include "job/job.h"

static bool is_gltf(const char *path) { return sn_has_extension(path, ".glb") || sn_has_extension(path, ".gltf"); }

static bool is_alembic(const char *path) { return sn_has_extension(path, ".abc"); }

// Whether frames of this format come with their mesh.
static bool has_faces(const char *path) { return sn_is_document(path) || is_alembic(path); }

typedef struct conversion {
  sn_context *ctx;
  const char *from, *to;
  const sn_inputs *inputs;
  sn_choice choice;
  char *what; // description of the output
} conversion;

// Copies a whole glTF document: .glb to .gltf and back.
static sn_status convert_document(conversion *c) {
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf;
  SN_TRY(sn_gltf_read(c->ctx, c->from, &gltf));
  sn_mat3 linear = sn_adjust_linear(&c->choice.adjust);
  sn_gltf_out out = {.base = gltf, .turn = sn_adjust_moves(&c->choice.adjust) ? &linear : NULL};
  return sn_gltf_write(c->ctx, c->to, &out);
}

// Reads the poses of every clip into `memory`.
static sn_status read_clips(conversion *c, const sn_gltf *gltf, sn_arena *memory, sn_gltf_out *out) {
  sn_choice choice = {.fps = out->fps, .adjust = c->choice.adjust};
  int count = sn_gltf_clip_count(gltf);
  sn_poses *poses = SN_NEW(c->ctx, memory, sn_poses, count);
  sn_gltf_clip_out *clips = SN_NEW(c->ctx, memory, sn_gltf_clip_out, count);
  if (!poses || !clips) return c->ctx->error.status;
  for (int k = 0; k < count; k++) {
    SN_TRY(sn_gltf_poses(c->ctx, gltf, k, &choice, -1, &poses[k]));
    sn_arena_join(memory, &poses[k].memory);
    clips[k] =
      (sn_gltf_clip_out){.name = sn_gltf_clip(gltf, k).name, .poses = &poses[k], .frame_count = poses[k].frame_count};
  }
  out->clips = clips, out->clip_count = count;
  return SN_OK;
}

// Converts a document: mesh, skin and every clip. Morph targets are dropped, with a note.
static sn_status convert_scene(conversion *c) {
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf;
  SN_FREED_BY(sn_examples_free) sn_examples scene = {0}; // mesh, skeleton and skin
  SN_SCRATCH(scratch, c->ctx);
  sn_gltf_out out = {.mesh = &scene.rest, .fps = sn_load_rate(&c->inputs->load, &(sn_frames){0})};
  SN_TRY(sn_gltf_read(c->ctx, c->from, &gltf));
  SN_TRY(sn_gltf_mesh(c->ctx, gltf, &scene.rest));
  if (sn_gltf_count(gltf).joints > 0) {
    SN_TRY(sn_gltf_skeleton(c->ctx, gltf, &scene.skeleton, &scene.skin));
    SN_TRY(read_clips(c, gltf, &scratch, &out));
    out.skeleton = &scene.skeleton, out.skin = &scene.skin;
    if (is_gltf(c->to) && !sn_adjust_moves(&c->choice.adjust)) out.base = gltf; // keeps materials
  }
  sn_adjust_rig(&c->choice.adjust, &scene.rest, &scene.skeleton);
  SN_TRY(sn_gltf_write(c->ctx, c->to, &out));
  int morphs = out.base ? 0 : sn_gltf_morph_count(gltf);
  int used = snprintf(c->what, SN_WHAT_SIZE, "%d vertices, %d joints, %d clips", scene.rest.vertex_count,
                      scene.skeleton.joint_count, out.clip_count);
  if (morphs > 0)
    snprintf(c->what + used, SN_WHAT_SIZE - (size_t)used,
             "; morph targets (%d) are left out: .pc2 keeps their motion", morphs);
  return SN_OK;
}

// Converts a mesh, or the first frame of an archive with its texture coordinates and face sets.
static sn_status convert_mesh(conversion *c) {
  bool lies = is_alembic(c->from) && !sn_is_scene(c->to);
  SN_FREED_BY(sn_mesh_free) sn_mesh mesh;
  SN_FREED_BY(sn_surface_free) sn_surface surface = {0};
  SN_TRY(sn_mesh_read(c->ctx, c->from, &c->choice, &mesh, lies ? &surface : NULL));
  if (sn_is_scene(c->to))
    SN_TRY(sn_gltf_write(c->ctx, c->to, &(sn_gltf_out){.mesh = &mesh}));
  else
    SN_TRY(sn_obj_write(c->ctx, c->to, &mesh, (const float(*)[3])mesh.positions, lies ? &surface : NULL));
  int used = snprintf(c->what, SN_WHAT_SIZE, "%d vertices, %d triangles", mesh.vertex_count, mesh.triangle_count);
  if (lies)
    used += snprintf(c->what + used, SN_WHAT_SIZE - (size_t)used, ", %d materials%s%s", surface.material_count,
                     surface.has_uvs ? ", texture coordinates" : "", surface.has_normals ? ", normals" : "");
  if (is_alembic(c->from))
    snprintf(c->what + used, SN_WHAT_SIZE - (size_t)used,
             "; first frame only: .pc2, .mdd, a folder of .obj and `sinew rig` take all of them");
  return SN_OK;
}

static sn_status convert_frames(conversion *c) {
  const char *rest = c->inputs->load.rest;
  SN_FREED_BY(sn_mesh_free) sn_mesh mesh = {0};
  SN_FREED_BY(sn_stream_close) sn_stream frames = {0};
  bool needs_faces = !sn_is_point_cache(c->to);
  if (needs_faces && !rest && has_faces(c->from)) rest = c->from;
  if (needs_faces && !rest)
    return sn_fail(c->ctx, SN_BAD_INPUT,
                   "%s: frames as %s need triangles: give `rest` FILE; a mesh is written as .obj, "
                   ".glb, .gltf or .fbx",
                   c->to, is_alembic(c->to) ? ".abc" : ".obj");
  SN_TRY(sn_stream_open(c->ctx, c->from, &c->choice, &frames));
  if (rest) SN_TRY(sn_mesh_read(c->ctx, rest, &c->choice, &mesh, NULL));
  if (rest && mesh.vertex_count != frames.vertex_count)
    return sn_fail(c->ctx, SN_BAD_INPUT, "%s has %d vertices, but %s has %d", c->from, frames.vertex_count, rest,
                   mesh.vertex_count);
  if (frames.rate == 0) frames.rate = sn_load_rate(&c->inputs->load, &(sn_frames){0});
  SN_TRY(sn_stream_write(c->ctx, c->to, &frames, &mesh));
  snprintf(c->what, SN_WHAT_SIZE, "%d frames of %d vertices", frames.frame_count, frames.vertex_count);
  return SN_OK;
}

sn_status sn_job_convert(sn_context *ctx, const char *from, const char *to, const sn_inputs *inputs, char *what) {
  conversion c = {ctx, from, to, inputs, sn_inputs_choice(inputs, SN_FILE_FRAMES), what};
  const sn_adjust *adjust = inputs->load.adjust;
  what[0] = '\0';
  for (int k = 1; k < SN_FILE_KINDS; k++) {
    if (memcmp(&adjust[0], &adjust[k], sizeof *adjust) == 0) continue;
    return sn_fail(ctx, SN_BAD_INPUT, "convert reads one file: give `scale`, `axes` and `offset` without its kind");
  }
  if (sn_has_extension(from, ".sinew"))
    return sn_fail(ctx, SN_UNSUPPORTED, "%s is a model: `sinew eval` plays a clip with it, as meshes or .glb", from);
  bool mesh = sn_is_scene(to) || sn_has_extension(to, ".obj");
  if (sn_is_document(from) && is_gltf(to) && c.choice.adjust.offset == 0) return convert_document(&c);
  if (sn_is_document(from) && sn_is_scene(to)) return convert_scene(&c);
  if (mesh && !sn_is_sequence(from) && (has_faces(from) || sn_has_extension(from, ".obj"))) return convert_mesh(&c);
  if (!mesh) return convert_frames(&c);
  return sn_fail(
    ctx, SN_UNSUPPORTED,
    "%s: a sequence is written as .pc2, .mdd, .abc or a folder of .obj; `sinew rig` makes a moving .glb of it", to);
}

// Packs the model unless it is packed and only its order changes; then renumbers its vertices.
sn_status sn_job_pack(sn_context *ctx, const sn_rt_model *model, const char *order, sn_model *out) {
  sn_vertex_order target = order && strcmp(order, "blocks") == 0 ? SN_VERTEX_ORDER_BLOCKS : SN_VERTEX_ORDER_FILE;
  if (order && strcmp(order, "blocks") != 0 && strcmp(order, "file") != 0)
    return sn_fail(ctx, SN_BAD_INPUT, "`order` %s: choose blocks or file", order);
  if (order && model->info.weight_bits == 12) return sn_model_reorder(ctx, model, target, out);
  sn_status status = sn_model_pack(ctx, model, out);
  return status == SN_OK && order ? sn_model_set_order(ctx, out, target) : status;
}
