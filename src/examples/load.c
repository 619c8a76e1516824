// SPDX-License-Identifier: MIT
// Examples from the files named on the command line: everything in the order of --rest, seams welded.
#include "examples/load.h"

#include <string.h>

sn_load_options sn_load_options_default(void) { return (sn_load_options){0}; }

sn_choice sn_load_choice(const sn_load_options *options, sn_file_kind kind) {
  return (sn_choice){.fps = options->fps,
                     .object_count = options->object_count,
                     .objects = options->objects,
                     .adjust = options->adjust[kind]};
}

// ---- the rest mesh --------------------------------------------------------------------------------------------------

// The mesh of a document with its normals (NULL: it has none), and a note where its bind pose is not where the file has it.
static sn_status read_rest_document(sn_context *ctx, const char *path, sn_examples *out, float (**normals)[3]) {
  sn_gltf *gltf;
  char text[256];
  sn_status status = sn_gltf_read(ctx, path, &gltf);
  if (status != SN_OK) return status;
  status = sn_gltf_mesh(ctx, gltf, &out->rest);
  if (status == SN_OK) status = sn_gltf_normals(ctx, gltf, &out->memory, normals);
  if (status == SN_OK) status = sn_load_document_uvs(ctx, gltf, out);
  if (sn_gltf_place_text(gltf, text, sizeof text)) sn_examples_note(ctx, out, "%s: %s", path, text);
  sn_gltf_free(gltf);
  return sn_fail_name(ctx, status, path);
}

static sn_status load_rest(sn_context *ctx, const sn_load_options *options, sn_examples *out, float (**normals)[3]) {
  const char *path = options->rest;
  sn_choice choice = sn_load_choice(options, SN_FILE_REST);
  const sn_adjust *adjust = &options->adjust[SN_FILE_REST];
  choice.adjust = (sn_adjust){.offset = adjust->offset}; // scale and axes: below
  sn_status status =
    sn_is_document(path) ? read_rest_document(ctx, path, out, normals) : sn_load_mesh(ctx, path, &choice, out);
  if (status == SN_OK) {
    sn_adjust_mesh(adjust, &out->rest, out->uvs);
    sn_adjust_directions(adjust, (float *)*normals, 3, out->rest.vertex_count);
    sn_adjust_directions(adjust, (float *)out->tangents, 4, out->rest.vertex_count);
  }
  return status == SN_OK ? sn_fail_name(ctx, sn_mesh_check(ctx, &out->rest), path) : status;
}

// Frames that come with faces bring the rest mesh: that of a document, or their first.
static sn_status own_rest(sn_context *ctx, sn_load_options *options, sn_examples *out) {
  const char *path = options->frames[0];
  if (sn_has_extension(path, ".abc") || sn_is_document(path)) {
    options->rest = path;
  } else if (sn_is_sequence(path) || !sn_format_does(path, SN_READS_FRAMES) || sn_has_extension(path, ".obj")) {
    char **paths;
    int count;
    sn_status status = sn_list_frames(ctx, path, &out->memory, &paths, &count);
    if (status != SN_OK) return status;
    options->rest = paths[0];
  }
  options->adjust[SN_FILE_REST] = options->adjust[SN_FILE_FRAMES];
  if (options->rest) sn_examples_note(ctx, out, "%s is the rest mesh", options->rest);
  return SN_OK;
}

sn_status sn_examples_load(sn_context *ctx, const sn_load_options *asked, sn_examples *out) {
  *out = (sn_examples){.memory = sn_arena_new(ctx)};
  sn_load_options complete = *asked, *options = &complete;
  sn_status status = sn_load_expand(ctx, &out->memory, &complete);
  float(*normals)[3] = NULL;
  if (status == SN_OK && !options->rest && options->frames_count > 0) status = own_rest(ctx, options, out);
  if (status == SN_OK && options->rest) {
    status = load_rest(ctx, options, out, &normals);
  } else if (status == SN_OK && (options->frames_count > 0 || (options->skeleton_count == 0 && !options->values))) {
    status =
      sn_fail(ctx, SN_BAD_INPUT, "a rest mesh is needed: `rest` FILE (frames as .abc, .obj or .glb bring one)");
  }
  if (status == SN_OK && options->frames_count > 0) status = sn_load_frames(ctx, options, out);
  if (status == SN_OK && options->skeleton_count > 0) status = sn_load_skeletons(ctx, options, out);
  if (status == SN_OK && options->frames_count > 0) status = sn_load_check_fits(ctx, options, out);
  if (status == SN_OK) status = sn_load_clip_names(ctx, options, out);
  if (status == SN_OK && options->rest && sn_is_document(options->rest)) {
    status = sn_load_weld(ctx, (const float(*)[3])normals, out);
  }
  if (status == SN_OK && options->torque) {
    status = out->skeleton.joint_count > 0
               ? sn_torques_read(ctx, options->torque, &out->skeleton, &out->torques)
               : sn_fail(ctx, SN_BAD_INPUT, "`torque` needs `skeleton`, whose joints its columns name");
  }
  if (status == SN_OK) status = sn_load_values(ctx, options, out);
  if (status == SN_OK && options->controls) status = sn_load_controls(ctx, options->controls, out);
  if (status == SN_OK) status = sn_examples_check(ctx, out);
  if (status != SN_OK) sn_examples_free(out);
  return status;
}
