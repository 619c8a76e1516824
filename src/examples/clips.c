// SPDX-License-Identifier: MIT
// Expands --clip NAME (several, or all) and FILE#NAME to one list of files with one clip each.
#include "examples/load.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct source_list {
  int count, room, tests; // the last `tests` entries are test clips
  const char **paths, **clips;
} source_list;

static void append(sn_loading *l, source_list *list, const char *path, const char *clip) {
  if (list->count == list->room) {
    int room = list->room ? 2 * list->room : 16;
    const char **paths = SN_TAKE(l, &l->out->memory, const char *, room),
               **clips = SN_TAKE(l, &l->out->memory, const char *, room);
    for (int k = 0; clips && k < list->count; k++) paths[k] = list->paths[k], clips[k] = list->clips[k];
    list->paths = paths, list->clips = clips, list->room = room;
  }
  if (l->status == SN_OK) list->paths[list->count] = path, list->clips[list->count++] = clip;
}

// Appends every animation of a file, by its number.
static void append_all(sn_loading *l, source_list *list, const char *path) {
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf = sn_load_document(l, path);
  int count = gltf ? sn_gltf_clip_count(gltf) : 0;
  if (count == 0) sn_fail_once(l, SN_BAD_INPUT, "%s: has no animations", path);
  for (int k = 0; k < count && l->status == SN_OK; k++) {
    char number[16];
    snprintf(number, sizeof number, "#%d", k);
    append(l, list, path, sn_load_text(l, number));
  }
}

static void append_file(sn_loading *l, bool test, const char *text, source_list *list) {
  const char *own, *path = sn_clip_path(l->ctx, &l->out->memory, text, &own);
  if (!path) l->status = l->ctx->error.status;
  int count = !path || test || own || !sn_is_document(path) ? 0 : l->options.clip_count;
  for (int k = 0; (k < count || (count == 0 && k == 0)) && l->status == SN_OK; k++) {
    const char *clip = count > 0 ? l->options.clips[k] : own;
    if (clip && strcmp(clip, "all") == 0) {
      append_all(l, list, path);
    } else {
      append(l, list, path, clip);
    }
  }
}

// Expands the files of --frames or of --skeleton.
static source_list expand(sn_loading *l, const char *const *files, int count) {
  source_list list = {0};
  int trained_on = count - (l->options.frames_count > 0 ? l->options.test_count : 0);
  for (int k = 0; k < count && l->status == SN_OK; k++) {
    int before = list.count;
    append_file(l, k >= trained_on, files[k], &list);
    if (k >= trained_on) list.tests += list.count - before;
  }
  return list;
}

void sn_load_expand(sn_loading *l) {
  sn_load_options *o = &l->options;
  source_list frames = expand(l, o->frames, o->frames_count);
  source_list skeletons = expand(l, o->skeletons, o->skeleton_count);
  o->frames = frames.paths, o->frame_clips = frames.clips, o->frames_count = frames.count;
  o->skeletons = skeletons.paths, o->skeleton_clips = skeletons.clips, o->skeleton_count = skeletons.count;
  o->test_count = frames.tests;
}

// "walk" for "cache/walk.pc2".
static const char *stem(sn_loading *l, const char *path) {
  const char *slash = strrchr(path, '/'), *start = slash && slash[1] ? slash + 1 : path;
  char *name = sn_load_text(l, start), *dot = name ? strrchr(name, '.') : NULL;
  if (dot && dot > name) *dot = '\0';
  return name;
}

static void name_clip(sn_loading *l, const char *path, const char *clip, const char **out, double *seconds) {
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf = sn_is_document(path) ? sn_load_document(l, path) : NULL;
  bool targets = gltf && sn_gltf_clip_count(gltf) == 0 && sn_gltf_morph_count(gltf) > 0; // the targets are the frames
  *out = NULL;
  if (gltf && !targets) {
    int index;
    l->status = sn_gltf_find_clip(l->ctx, gltf, clip, &index);
    sn_clip_info info = sn_gltf_clip(gltf, index);
    *out = sn_load_text(l, info.name); // "" if the animation has no name
    *seconds = info.end - info.start;
    if (!clip && !l->options.still_skeleton && sn_gltf_clip_count(gltf) > 1)
      sn_examples_note(l->ctx, l->out, "%s: clip '%s' of %d is read; `clip` NAME, INDEX or all gives others", path,
                       info.name, sn_gltf_clip_count(gltf));
  }
  if (!*out) *out = stem(l, path);
}

void sn_load_clip_names(sn_loading *l) {
  const sn_load_options *options = &l->options;
  sn_examples *out = l->out;
  bool framed = options->frames_count > 0;
  int count = framed ? options->frames_count : options->skeleton_count;
  bool from_skeleton = options->skeleton_count == count;
  out->clip_names = SN_TAKE(l, &out->memory, const char *, count);
  out->clip_seconds = SN_TAKE(l, &out->memory, double, count);
  for (int c = 0; c < count && l->status == SN_OK; c++) {
    bool cache = framed && !sn_is_document(options->frames[c]); // has the name that its maker gave it
    bool by_frames = cache || !from_skeleton;
    const char *path = by_frames ? options->frames[c] : options->skeletons[c];
    const char *clip = by_frames ? options->frame_clips[c] : options->skeleton_clips[c];
    sn_file_kind kind = by_frames ? SN_FILE_FRAMES : SN_FILE_SKELETON;
    name_clip(l, path, clip, &out->clip_names[c], &out->clip_seconds[c]);
    if (out->clip_seconds[c] > 0) out->clip_seconds[c] = fmax(0, out->clip_seconds[c] - options->adjust[kind].offset);
  }
}
