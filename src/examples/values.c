// SPDX-License-Identifier: MIT
// Named values of a set of examples: a table, or the weights of the morph targets of glTF documents.
#include "examples/load.h"
#include "formats/tables/values.h"

#include <string.h>

// Weights of a document's targets at `count` frames, into rows `first` on. Without a clip frame k is target k alone.
static sn_status read_weights(sn_context *ctx, const sn_gltf *gltf, const sn_choice *choice, int count,
                              double *rows) {
  int targets = sn_gltf_morph_count(gltf), clip;
  if (sn_gltf_clip_count(gltf) == 0) {
    for (int k = 0; k < targets && k < count; k++) rows[k * targets + k] = 1;
    return SN_OK;
  }
  sn_status status = sn_gltf_find_clip(ctx, gltf, choice->clip, &clip);
  for (int f = 0; status == SN_OK && f < count; f++) {
    double time = sn_gltf_clip(gltf, clip).start + choice->adjust.offset + f / choice->fps;
    status = sn_gltf_morph_weights(ctx, gltf, clip, time, rows + (size_t)f * (size_t)targets);
  }
  return status;
}

static int count_frames(sn_context *ctx, const sn_gltf *gltf, const sn_choice *choice) {
  int clip;
  if (sn_gltf_clip_count(gltf) == 0) return sn_gltf_morph_count(gltf);
  if (sn_gltf_find_clip(ctx, gltf, choice->clip, &clip) != SN_OK) return -1;
  sn_clip_info info = sn_gltf_clip(gltf, clip);
  return sn_count_frames(ctx, info.name, info.end - info.start - choice->adjust.offset, choice->fps, info.key_count);
}

static sn_status name_values(sn_context *ctx, const char *path, const sn_gltf *gltf, sn_values *out) {
  if (sn_gltf_morph_count(gltf) != out->count)
    return sn_fail(ctx, SN_BAD_INPUT, "%s has %d morph targets, the documents before it %d", path,
                   sn_gltf_morph_count(gltf), out->count);
  for (int v = 0; v < out->count; v++) {
    const char *name = sn_gltf_morph_name(gltf, v);
    if (out->names[v] && strcmp(out->names[v], name) != 0)
      return sn_fail(ctx, SN_BAD_INPUT, "%s: morph target %d is '%s', in the documents before it '%s'", path, v, name,
                     out->names[v]);
    if (!out->names[v]) out->names[v] = sn_arena_text(ctx, &out->memory, name);
    if (!out->names[v]) return ctx->error.status;
  }
  return SN_OK;
}

// Targets that nothing moves are no values.
static void drop_still(sn_context *ctx, sn_examples *out) {
  sn_values *v = &out->values;
  int kept = 0, all = v->count;
  for (int k = 0; k < all; k++) {
    bool moves = false;
    for (int f = 0; f < v->frame_count; f++) moves |= v->values[(size_t)f * (size_t)all + (size_t)k] != 0;
    if (!moves) continue;
    for (int f = 0; f < v->frame_count; f++) // to the left: a row has its first `kept` weights in order
      v->values[(size_t)f * (size_t)all + (size_t)kept] = v->values[(size_t)f * (size_t)all + (size_t)k];
    v->names[kept++] = v->names[k];
  }
  for (int f = 0; f < v->frame_count; f++)
    memmove(v->values + (size_t)f * (size_t)kept, v->values + (size_t)f * (size_t)all,
            (size_t)kept * sizeof *v->values);
  v->count = kept;
  if (kept > 0 && kept < all)
    sn_examples_note(ctx, out, "%d of %d morph targets never move and are no values", all - kept, all);
}

// The frames of one document, behind `done` of them.
static sn_status add_document(sn_context *ctx, const char *path, const sn_choice *choice, int done, int count,
                              sn_values *out) {
  sn_gltf *gltf;
  sn_status status = sn_gltf_read(ctx, path, &gltf);
  if (status != SN_OK) return status;
  status = name_values(ctx, path, gltf, out);
  if (status == SN_OK)
    status = read_weights(ctx, gltf, choice, count, out->values + (size_t)done * (size_t)out->count);
  sn_gltf_free(gltf);
  return sn_fail_name(ctx, status, path);
}

// Targets and frames of a document. No targets: 0.
static sn_status measure(sn_context *ctx, const char *path, const sn_choice *choice, int *targets, int *frames) {
  sn_gltf *gltf;
  sn_status status = sn_gltf_read(ctx, path, &gltf);
  if (status != SN_OK) return status;
  *targets = sn_gltf_morph_count(gltf), *frames = *targets > 0 ? count_frames(ctx, gltf, choice) : 0;
  sn_gltf_free(gltf);
  return *frames < 0 ? sn_fail_name(ctx, ctx->error.status, path) : SN_OK;
}

// Weights as values: of the document of --values, or of the documents of --frames, in their order.
static sn_status from_documents(sn_context *ctx, const sn_load_options *options, sn_examples *out) {
  const char *given = options->values, *path = given;
  sn_choice choice = {.fps = options->fps > 0       ? options->fps
                             : out->frames.rate > 0 ? out->frames.rate
                                                    : SN_DEFAULT_FPS};
  if (!given) choice.adjust = options->adjust[SN_FILE_FRAMES];
  int files = given ? 1 : options->frames_count, targets, frames;
  if (given) path = sn_clip_path(ctx, &out->memory, given, &choice.clip);
  if (!path && given) return ctx->error.status;
  if (!given) path = options->frames[0], choice.clip = options->frame_clips[0];
  sn_status status = measure(ctx, path, &choice, &targets, &frames);
  if (status == SN_OK && targets == 0 && given)
    return sn_fail(ctx, SN_BAD_INPUT, "`values` %s: it has no morph targets", given);
  if (status != SN_OK || targets == 0) return status;
  int total = out->frames.frame_count > 0 ? out->frames.frame_count : frames;
  if (given && total != frames)
    return sn_fail(ctx, SN_BAD_INPUT, "`values` %s: %d frames, and %d frames of the mesh", given, frames, total);
  status = sn_values_new(ctx, targets, total, &out->values);
  for (int c = 0; status == SN_OK && c < files; c++) {
    int first = given ? 0 : out->clip_start[c], count = given ? total : out->clip_start[c + 1] - first;
    if (!given) choice.clip = options->frame_clips[c];
    status = add_document(ctx, given ? path : options->frames[c], &choice, first, count, &out->values);
  }
  if (status == SN_OK) drop_still(ctx, out);
  return status;
}

sn_status sn_load_values(sn_context *ctx, const sn_load_options *options, sn_examples *out) {
  if (options->values && !sn_is_document(options->values)) {
    const char *clip;
    const char *path = sn_clip_path(ctx, &out->memory, options->values, &clip); // FILE.glb#CLIP is no document's name
    if (!path) return ctx->error.status;
    return clip ? from_documents(ctx, options, out) : sn_values_read(ctx, options->values, &out->values);
  }
  if (options->values) return from_documents(ctx, options, out);
  for (int c = 0; c < options->frames_count; c++)
    if (!sn_is_document(options->frames[c])) return SN_OK;
  return options->frames_count > 0 && options->skeleton_count == 0 ? from_documents(ctx, options, out) : SN_OK;
}
