// SPDX-License-Identifier: MIT
// State and functions shared by the files that load examples.
#ifndef SINEW_EXAMPLES_LOAD_H
#define SINEW_EXAMPLES_LOAD_H

#include "formats/common/adjust.h"
#include "formats/common/reader.h"
#include "sinew/examples.h"

typedef struct sn_loading {
  sn_context *ctx;
  sn_status status;
  sn_load_options options;
  sn_examples *out;
} sn_loading;

sn_choice sn_load_choice(const sn_load_options *options, sn_file_kind kind);
sn_gltf *sn_load_document(sn_loading *l, const char *path); // NULL after a failure
char *sn_load_text(sn_loading *l, const char *text);        // a copy in the examples' arena; NULL after a failure
// Expands files and animations to one clip per entry (frame_clips, skeleton_clips); then names the clips.
void sn_load_expand(sn_loading *l);
void sn_load_clip_names(sn_loading *l);

// For every vertex of the rest mesh, its vertex in the mesh of `match`, which has *count; that mesh is adjusted like the frames.
sn_status sn_load_match(sn_context *ctx, const sn_load_options *options, const sn_mesh *rest, sn_arena *memory,
                        int **pick, int *count);
void sn_load_frames(sn_loading *l);
// Copies the vertices `pick` (NULL: all) of `from` into `to`, starting at frame `done`.
void sn_load_gather(const sn_frames *from, const int *pick, int done, sn_frames *to);
void sn_load_skeletons(sn_loading *l);
// Matches the joints of `theirs` by name (-1: no match) and computes, per joint, the map from our rest matrix to theirs. Returns
// true, with identity maps, if all joints are in the same places: the rest matrices then differ in their axes only.
bool sn_load_between(const sn_skeleton *ours, const sn_skeleton *theirs, int *partners, sn_affine *maps);
// Writes the options (unit, axes) that bring the bind mesh to the rest mesh; an empty text if none do.
void sn_load_explain_place(sn_loading *l, const sn_mesh *bind, char *words, size_t size);
// Tests other readings of the files (time, clip, axes, unit): an error if one surely fits the frames better, a note if one may.
void sn_load_check_fits(sn_loading *l);
// Named values: from options->values; without it and without a skeleton, the weights of the frames' morph targets.
void sn_load_values(sn_loading *l);
void sn_load_controls(sn_loading *l, const char *spec);

#endif
