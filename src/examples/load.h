// SPDX-License-Identifier: MIT
// What the files that load a set of examples share.
#ifndef SINEW_EXAMPLES_LOAD_H
#define SINEW_EXAMPLES_LOAD_H

#include "formats/common/adjust.h"
#include "formats/common/reader.h"
#include "sinew/examples.h"

// A set that is being loaded.
typedef struct sn_loading {
  sn_context *ctx;
  sn_status status;
  sn_load_options options;
  sn_examples *out;
} sn_loading;

sn_choice sn_load_choice(const sn_load_options *options, sn_file_kind kind);
sn_gltf *sn_load_document(sn_loading *l, const char *path); // NULL after a failure
char *sn_load_text(sn_loading *l, const char *text);        // a copy that the examples own; NULL after a failure
double sn_load_rate(const sn_load_options *options, const sn_examples *examples); // of poses: that of the frames
// Files and animations as lists of files with one clip each (frame_clips, skeleton_clips); then the names of the clips.
void sn_load_expand(sn_loading *l);
void sn_load_clip_names(sn_loading *l);

// Which vertex of the mesh of `match`, of *count, every vertex of the rest mesh is; that mesh is adjusted as frames are.
sn_status sn_load_match(sn_context *ctx, const sn_load_options *options, const sn_mesh *rest, sn_arena *memory,
                        int **pick, int *count);
void sn_load_frames(sn_loading *l);
// The chosen vertices (NULL: all) of `from` behind the `done` frames of `to`.
void sn_load_gather(const sn_frames *from, const int *pick, int done, sn_frames *to);
void sn_load_skeletons(sn_loading *l);
// The joints of `theirs` with the names of ours (-1: none), and the maps from our rest pose of a joint to theirs, for a file with
// another bind pose (another scale or rotation of the armature, say). True where all joints are in the same places: rest matrices
// differ in their axes alone then, poses mean the same, and the maps do nothing.
bool sn_load_between(const sn_skeleton *ours, const sn_skeleton *theirs, int *partners, sn_affine *maps);
// Where the bind mesh, in another unit or other axes, is where the rest mesh is: the options that say so; else an empty text.
void sn_load_explain_place(sn_loading *l, const sn_mesh *bind, char *words, size_t size);
// Frames that another reading of the files explains far better: an error where that is certain, a note where it is likely.
void sn_load_check_fits(sn_loading *l);
// Named values: those of options->values; without, and without a skeleton, the weights of the frames' morph targets.
void sn_load_values(sn_loading *l);
void sn_load_controls(sn_loading *l, const char *spec);

#endif
