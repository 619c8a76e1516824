// SPDX-License-Identifier: MIT
// What the files that load a set of examples share.
#ifndef SINEW_EXAMPLES_LOAD_H
#define SINEW_EXAMPLES_LOAD_H

#include "formats/common/adjust.h"
#include "sinew/examples.h"

sn_choice sn_load_choice(const sn_load_options *options, sn_file_kind kind);
// Files and animations as lists of files with one clip each (frame_clips, skeleton_clips); then the names of the clips.
sn_status sn_load_expand(sn_context *ctx, sn_arena *memory, sn_load_options *options);
sn_status sn_load_clip_names(sn_context *ctx, const sn_load_options *options, sn_examples *out);

// Which vertex of the mesh of `match`, of *count, every vertex of the rest mesh is; that mesh is adjusted as frames are.
sn_status sn_load_match(sn_context *ctx, const sn_load_options *options, const sn_mesh *rest, sn_arena *memory,
                        int **pick, int *count);
sn_status sn_load_frames(sn_context *ctx, const sn_load_options *options, sn_examples *out);
sn_status sn_load_skeletons(sn_context *ctx, const sn_load_options *options, sn_examples *out);
// Where the bind mesh, in another unit or other axes, is where the rest mesh is: the options that say so; else an empty text.
sn_status sn_load_explain_place(sn_context *ctx, const sn_load_options *options, const sn_mesh *bind,
                                const sn_examples *examples, char *words, size_t size);
// Frames that another reading of the files explains far better: an error where that is certain, a note where it is likely.
sn_status sn_load_check_fits(sn_context *ctx, const sn_load_options *options, sn_examples *out);
// Named values: those of options->values; without, and without a skeleton, the weights of the frames' morph targets.
sn_status sn_load_values(sn_context *ctx, const sn_load_options *options, sn_examples *out);
// Texture coordinates of the rest mesh, where there are any.
sn_status sn_load_document_uvs(sn_context *ctx, const sn_gltf *gltf, sn_examples *out);
sn_status sn_load_mesh(sn_context *ctx, const char *path, const sn_choice *choice, sn_examples *out); // with it
sn_status sn_load_controls(sn_context *ctx, const char *spec, sn_examples *out);

#endif
