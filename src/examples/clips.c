// SPDX-License-Identifier: MIT
// Which animations of which files: --clip NAME (several, or all) and FILE#NAME, as one list of files with one clip each.
#include "examples/load.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct source_list {
  int count, room, tests; // the last ones are only tested on
  const char **paths, **clips;
} source_list;

static bool append(sn_context *ctx, sn_arena *memory, source_list *list, const char *path, const char *clip) {
  if (list->count == list->room) {
    int room = list->room ? 2 * list->room : 16;
    const char **paths = SN_NEW(ctx, memory, const char *, room), **clips = SN_NEW(ctx, memory, const char *, room);
    if (!paths || !clips) return false;
    for (int k = 0; k < list->count; k++) paths[k] = list->paths[k], clips[k] = list->clips[k];
    list->paths = paths, list->clips = clips, list->room = room;
  }
  list->paths[list->count] = path, list->clips[list->count++] = clip;
  return true;
}

// Every animation of a file, by its number.
static sn_status append_all(sn_context *ctx, sn_arena *memory, source_list *list, const char *path) {
  sn_gltf *gltf;
  sn_status status = sn_gltf_read(ctx, path, &gltf);
  if (status != SN_OK) return status;
  int count = sn_gltf_clip_count(gltf);
  if (count == 0) status = sn_fail(ctx, SN_BAD_INPUT, "%s: has no animations", path);
  for (int k = 0; k < count && status == SN_OK; k++) {
    char number[16];
    snprintf(number, sizeof number, "#%d", k);
    const char *text = sn_arena_text(ctx, memory, number);
    if (!text || !append(ctx, memory, list, path, text)) status = ctx->error.status;
  }
  sn_gltf_free(gltf);
  return status;
}

static sn_status append_file(sn_context *ctx, sn_arena *memory, const sn_load_options *options, bool test,
                             const char *text, source_list *list) {
  const char *own, *path = sn_clip_path(ctx, memory, text, &own);
  if (!path) return ctx->error.status;
  int count = test || own || !sn_is_document(path) ? 0 : options->clip_count;
  for (int k = 0; k < count || (count == 0 && k == 0); k++) {
    const char *clip = count > 0 ? options->clips[k] : own;
    if (clip && strcmp(clip, "all") == 0) {
      sn_status status = append_all(ctx, memory, list, path);
      if (status != SN_OK) return status;
    } else if (!append(ctx, memory, list, path, clip)) {
      return ctx->error.status;
    }
  }
  return SN_OK;
}

// The frames' files, or the skeletons'.
static sn_status expand(sn_context *ctx, sn_arena *memory, const sn_load_options *options, bool frames,
                        source_list *list) {
  const char *const *files = frames ? options->frames : options->skeletons;
  int count = frames ? options->frames_count : options->skeleton_count;
  int trained_on = count - (options->frames_count > 0 ? options->test_count : 0);
  sn_status status = SN_OK;
  for (int k = 0; k < count && status == SN_OK; k++) {
    int before = list->count;
    status = append_file(ctx, memory, options, k >= trained_on, files[k], list);
    if (k >= trained_on) list->tests += list->count - before;
  }
  return status;
}

sn_status sn_load_expand(sn_context *ctx, sn_arena *memory, sn_load_options *options) {
  source_list frames = {0}, skeletons = {0};
  sn_status status = expand(ctx, memory, options, true, &frames);
  if (status == SN_OK) status = expand(ctx, memory, options, false, &skeletons);
  if (status != SN_OK) return status;
  options->frames = frames.paths, options->frame_clips = frames.clips, options->frames_count = frames.count;
  options->skeletons = skeletons.paths, options->skeleton_clips = skeletons.clips;
  options->skeleton_count = skeletons.count;
  options->test_count = frames.tests;
  return SN_OK;
}

// "walk" of "cache/walk.pc2".
static const char *stem(sn_context *ctx, sn_arena *memory, const char *path) {
  const char *slash = strrchr(path, '/'), *start = slash && slash[1] ? slash + 1 : path;
  char *name = sn_arena_text(ctx, memory, start), *dot = name ? strrchr(name, '.') : NULL;
  if (dot && dot > name) *dot = '\0';
  return name;
}

static sn_status clip_name(sn_context *ctx, sn_arena *memory, const char *path, const char *clip, const char **out,
                           double *seconds) {
  *out = NULL;
  if (sn_is_document(path)) {
    sn_gltf *gltf;
    int index;
    sn_status status = sn_gltf_read(ctx, path, &gltf);
    if (status != SN_OK) return status;
    if (sn_gltf_clip_count(gltf) == 0 && sn_gltf_morph_count(gltf) > 0) { // its targets are the frames
      sn_gltf_free(gltf);
      *out = stem(ctx, memory, path);
      return *out ? SN_OK : ctx->error.status;
    }
    status = sn_gltf_find_clip(ctx, gltf, clip, &index);
    if (status == SN_OK) *out = sn_arena_text(ctx, memory, sn_gltf_clip(gltf, index).name); // "": it has none
    if (status == SN_OK) *seconds = sn_gltf_clip(gltf, index).end - sn_gltf_clip(gltf, index).start;
    sn_gltf_free(gltf);
    if (status != SN_OK) return status;
  }
  if (!*out) *out = stem(ctx, memory, path);
  return *out ? SN_OK : ctx->error.status;
}

sn_status sn_load_clip_names(sn_context *ctx, const sn_load_options *options, sn_examples *out) {
  bool framed = options->frames_count > 0;
  int count = framed ? options->frames_count : options->skeleton_count;
  bool from_skeleton = options->skeleton_count == count;
  out->clip_names = SN_NEW(ctx, &out->memory, const char *, count);
  out->clip_seconds = SN_NEW(ctx, &out->memory, double, count);
  sn_status status = out->clip_names && out->clip_seconds ? SN_OK : ctx->error.status;
  for (int c = 0; c < count && status == SN_OK; c++) {
    bool cache =
      framed && !sn_is_document(options->frames[c]); // a file of frames has the name that its maker gave it
    const char *path = cache || !from_skeleton ? options->frames[c] : options->skeletons[c];
    const char *clip = cache || !from_skeleton ? options->frame_clips[c] : options->skeleton_clips[c];
    sn_file_kind kind = cache || !from_skeleton ? SN_FILE_FRAMES : SN_FILE_SKELETON;
    status = clip_name(ctx, &out->memory, path, clip, &out->clip_names[c], &out->clip_seconds[c]);
    if (out->clip_seconds[c] > 0) out->clip_seconds[c] = fmax(0, out->clip_seconds[c] - options->adjust[kind].offset);
  }
  return status;
}
