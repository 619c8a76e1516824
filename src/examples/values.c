// SPDX-License-Identifier: MIT
// Named values: from a table, or the weights of glTF morph targets.
#include "examples/load.h"
#include "formats/tables/values.h"

#include <string.h>

// Weights of a document's morph targets at `count` frames, one row each.
static sn_status read_weights(sn_context *ctx, const sn_gltf *gltf, const sn_choice *choice, int count,
                              double *rows) {
  int targets = sn_gltf_morph_count(gltf);
  sn_sampling at;
  SN_TRY(sn_gltf_sampling(ctx, gltf, choice, &at));
  for (int f = 0; f < count; f++, rows += targets) {
    if (at.clip >= 0) SN_TRY(sn_gltf_morph_weights(ctx, gltf, at.clip, at.start + f / at.fps, rows));
    if (at.clip < 0 && f < targets) rows[f] = 1;
  }
  return SN_OK;
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

// Drops the targets whose weight is always 0.
static void drop_still(sn_context *ctx, sn_examples *out) {
  sn_values *v = &out->values;
  int kept = 0, all = v->count;
  for (int k = 0; k < all; k++) {
    bool moves = false;
    for (int f = 0; f < v->frame_count; f++) moves |= v->values[(size_t)f * (size_t)all + (size_t)k] != 0;
    if (!moves) continue;
    for (int f = 0; f < v->frame_count; f++) // compacts in place: a row keeps its first `kept` weights in order
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

// Reads the weights of one document's frames into the rows from `done` on.
static void add_document(sn_loading *l, const char *path, const sn_choice *choice, int done, int count) {
  sn_values *out = &l->out->values;
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf = sn_load_document(l, path);
  if (!gltf) return;
  l->status = name_values(l->ctx, path, gltf, out);
  if (l->status == SN_OK)
    l->status = read_weights(l->ctx, gltf, choice, count, out->values + (size_t)done * (size_t)out->count);
  sn_fail_name(l->ctx, l->status, path);
}

// Number of frames of a document, and of its morph targets (0: none).
static int measure(sn_loading *l, const char *path, const sn_choice *choice, int *targets) {
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf = sn_load_document(l, path);
  sn_sampling at = {0};
  *targets = gltf ? sn_gltf_morph_count(gltf) : 0;
  if (*targets > 0) l->status = sn_fail_name(l->ctx, sn_gltf_sampling(l->ctx, gltf, choice, &at), path);
  return at.frame_count;
}

// Uses morph weights as values: from the document of --values, or from the documents of --frames in their order.
static void from_documents(sn_loading *l) {
  const sn_load_options *options = &l->options;
  sn_examples *out = l->out;
  const char *given = options->values, *clip, *path = given ? sn_clip_path(l->ctx, &out->memory, given, &clip) : "";
  const char *const *paths = given ? &path : options->frames, *const *clips = given ? &clip : options->frame_clips;
  if (!path) l->status = l->ctx->error.status;
  if (!path) return;
  sn_choice choice = {.fps = sn_load_rate(options, &out->frames), .clip = clips[0]};
  if (!given) choice.adjust = options->adjust[SN_FILE_FRAMES];
  int targets, frames = measure(l, paths[0], &choice, &targets);
  if (targets == 0 && given) sn_fail_once(l, SN_BAD_INPUT, "`values` %s: it has no morph targets", given);
  if (l->status != SN_OK || targets == 0) return;
  int total = out->frames.frame_count > 0 ? out->frames.frame_count : frames;
  if (given && total != frames)
    sn_fail_once(l, SN_BAD_INPUT, "`values` %s: %d frames, and %d frames of the mesh", given, frames, total);
  if (l->status == SN_OK) l->status = sn_values_new(l->ctx, targets, total, &out->values);
  for (int c = 0; l->status == SN_OK && c < (given ? 1 : options->frames_count); c++) {
    int first = given ? 0 : out->clip_start[c], last = given ? total : out->clip_start[c + 1];
    choice.clip = clips[c];
    add_document(l, paths[c], &choice, first, last - first);
  }
  if (l->status == SN_OK) drop_still(l->ctx, out);
}

void sn_load_values(sn_loading *l) {
  const sn_load_options *options = &l->options;
  bool documents = options->frames_count > 0 && options->skeleton_count == 0;
  for (int c = 0; c < options->frames_count; c++) documents = documents && sn_is_document(options->frames[c]);
  if (options->values && !sn_is_document(options->values)) {
    const char *clip; // FILE.glb#CLIP does not end like a document's name
    if (!sn_clip_path(l->ctx, &l->out->memory, options->values, &clip)) l->status = l->ctx->error.status;
    if (l->status == SN_OK && !clip) l->status = sn_values_read(l->ctx, options->values, &l->out->values);
    documents = l->status == SN_OK && clip;
  }
  if (documents || (options->values && sn_is_document(options->values))) from_documents(l);
}
