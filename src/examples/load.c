// SPDX-License-Identifier: MIT
// Loads examples from the files named on the command line: all data in the vertex order of --rest, seams welded.
#include "examples/load.h"

sn_load_options sn_load_options_default(void) { return (sn_load_options){0}; }

sn_choice sn_load_choice(const sn_load_options *options, sn_file_kind kind) {
  return (sn_choice){.fps = options->fps,
                     .object_count = options->object_count,
                     .objects = options->objects,
                     .adjust = options->adjust[kind]};
}

sn_gltf *sn_load_document(sn_loading *l, const char *path) {
  sn_gltf *gltf = NULL;
  if (l->status == SN_OK) l->status = sn_gltf_read(l->ctx, path, &gltf);
  return gltf;
}

char *sn_load_text(sn_loading *l, const char *text) {
  char *copy = l->status == SN_OK ? sn_arena_text(l->ctx, &l->out->memory, text) : NULL;
  if (!copy && l->status == SN_OK) l->status = l->ctx->error.status;
  return copy;
}

double sn_load_rate(const sn_load_options *options, const sn_frames *frames) {
  if (options->fps > 0) return options->fps;
  return frames->rate > 0 ? frames->rate : SN_DEFAULT_FPS;
}

// ---- the rest mesh, with texture coordinates and tangents: malformed ones are dropped, as only tangents need them -----------

// Copies the surface's texture coordinates, with v upwards, and frees it. Only SN_NO_MEMORY in `status` is an error here.
static void take_uvs(sn_loading *l, sn_status status, sn_surface *surface, bool downwards) {
  size_t corners = status == SN_OK && surface->has_uvs ? 3 * (size_t)l->out->rest.triangle_count : 0;
  if (status == SN_NO_MEMORY) l->status = status;
  if (corners > 0) l->out->uvs = SN_ROOM(l, &l->out->memory, corners, sizeof *l->out->uvs);
  for (size_t c = 0; l->out->uvs && c < corners; c++) {
    l->out->uvs[c][0] = surface->uvs[c][0];
    l->out->uvs[c][1] = downwards ? 1 - surface->uvs[c][1] : surface->uvs[c][1];
  }
  sn_surface_free(surface);
}

static void load_mesh(sn_loading *l, const char *path, const sn_choice *choice) {
  sn_surface surface;
  sn_error before = l->ctx->error;
  sn_status status = sn_mesh_read(l->ctx, path, choice, &l->out->rest, &surface);
  if (l->out->rest.vertex_count == 0) l->status = status;
  if (status != SN_OK && status != SN_NO_MEMORY && l->status == SN_OK) l->ctx->error = before;
  take_uvs(l, status, &surface, false);
}

// Reads a document's mesh and normals (NULL: none); adds a note if the bind pose differs from the file's pose.
static void load_document(sn_loading *l, const char *path, const sn_adjust *adjust, float (**normals)[3]) {
  char text[256];
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf = sn_load_document(l, path);
  if (!gltf) return;
  sn_examples *out = l->out;
  sn_surface surface = {0};
  l->status = sn_gltf_mesh(l->ctx, gltf, &out->rest);
  if (l->status == SN_OK) l->status = sn_gltf_normals(l->ctx, gltf, &out->memory, normals);
  if (l->status != SN_OK) return;
  sn_error before = l->ctx->error;
  sn_status status = sn_gltf_tangents(l->ctx, gltf, &out->memory, &out->tangents);
  if (status != SN_NO_MEMORY) status = sn_gltf_surface(l->ctx, gltf, &surface);
  if (status != SN_OK && status != SN_NO_MEMORY) l->ctx->error = before;
  sn_adjust_mesh(adjust, &out->rest, &surface);
  sn_adjust_directions(adjust, (float *)*normals, 3, out->rest.vertex_count);
  sn_adjust_directions(adjust, (float *)out->tangents, 4, out->rest.vertex_count);
  take_uvs(l, status, &surface, true);
  if (sn_gltf_place_text(gltf, text, sizeof text)) sn_examples_note(l->ctx, out, "%s: %s", path, text);
}

static void load_rest(sn_loading *l, float (**normals)[3]) {
  const char *path = l->options.rest;
  sn_choice choice = sn_load_choice(&l->options, SN_FILE_REST);
  if (sn_is_document(path)) {
    load_document(l, path, &choice.adjust, normals);
  } else {
    load_mesh(l, path, &choice);
  }
  if (l->status == SN_OK) l->status = sn_mesh_check(l->ctx, &l->out->rest);
  sn_fail_name(l->ctx, l->status, path);
}

// Takes the rest mesh from the frames if they have faces: the document's mesh, or the first frame.
static void own_rest(sn_loading *l) {
  const char *path = l->options.frames[0];
  if (sn_has_extension(path, ".abc") || sn_is_document(path)) {
    l->options.rest = path;
  } else if (sn_is_sequence(path) || !sn_format_does(path, SN_READS_FRAMES) || sn_has_extension(path, ".obj")) {
    char **paths;
    int count;
    l->status = sn_list_frames(l->ctx, path, &l->out->memory, &paths, &count);
    if (l->status != SN_OK) return;
    l->options.rest = paths[0];
  }
  l->options.adjust[SN_FILE_REST] = l->options.adjust[SN_FILE_FRAMES];
  if (l->options.rest) sn_examples_note(l->ctx, l->out, "%s is the rest mesh", l->options.rest);
}

static void load_torque(sn_loading *l) {
  if (l->out->skeleton.joint_count == 0)
    sn_fail_once(l, SN_BAD_INPUT, "`torque` needs `skeleton`, whose joints its columns name");
  if (l->status == SN_OK) l->status = sn_torques_read(l->ctx, l->options.torque, &l->out->skeleton, &l->out->torques);
}

sn_status sn_examples_load(sn_context *ctx, const sn_load_options *asked, sn_examples *out) {
  *out = (sn_examples){.memory = sn_arena_new(ctx)};
  sn_loading l = {.ctx = ctx, .options = *asked, .out = out};
  const sn_load_options *o = &l.options;
  float(*normals)[3] = NULL;
  sn_load_expand(&l);
  if (l.status == SN_OK && !o->rest && o->frames_count > 0) own_rest(&l);
  if (l.status == SN_OK && o->rest) {
    load_rest(&l, &normals);
  } else if (o->frames_count > 0 || (o->skeleton_count == 0 && !o->values)) {
    sn_fail_once(&l, SN_BAD_INPUT, "a rest mesh is needed: `rest` FILE (frames as .abc, .obj or .glb bring one)");
  }
  if (l.status == SN_OK && o->frames_count > 0) sn_load_frames(&l);
  if (l.status == SN_OK && o->skeleton_count > 0) sn_load_skeletons(&l);
  if (l.status == SN_OK && o->frames_count > 0) sn_load_check_fits(&l);
  if (l.status == SN_OK) sn_load_clip_names(&l);
  if (l.status == SN_OK && o->rest && sn_is_document(o->rest))
    l.status = sn_load_weld(ctx, (const float(*)[3])normals, out);
  if (l.status == SN_OK && o->torque) load_torque(&l);
  if (l.status == SN_OK) sn_load_values(&l);
  if (l.status == SN_OK && o->controls) sn_load_controls(&l, o->controls);
  if (l.status == SN_OK) l.status = sn_examples_check(ctx, out);
  if (l.status != SN_OK) sn_examples_free(out);
  return l.status;
}
