// SPDX-License-Identifier: MIT
// Examples from files: a rest mesh, frames, a skeleton and what belongs to them, in one vertex order.
#ifndef SINEW_EXAMPLES_H
#define SINEW_EXAMPLES_H

#include "sinew/formats.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

// Which files make up a set of examples: the options of the command line of the same names. Absent ones are NULL or 0.
typedef struct sn_load_options {
  const char *rest;
  int frames_count, skeleton_count; // several frames and skeletons pair up in order and become clips
  const char *const *frames, *const *skeletons;
  int test_count; // so many of the frames (and skeletons) at the end are only tested on
  int clip_count; // animations of glTF files that are trained on ("all": all of them); none: the first
  const char *const *clips;
  const char *const *frame_clips, *const *skeleton_clips; // filled in by sn_examples_load: a clip per file
  double fps; // of the skeleton and of frames that are sampled; 0: that of the frames, or 30
  int object_count;
  const char *const *objects; // of .abc files
  sn_adjust adjust[SN_FILE_KINDS];
  bool still_skeleton; // motion is looked for or not wanted: none or too little of it in the file will do
  const char *controls;
  const char *torque;
  const char *values; // a table, or a document whose morph targets' weights are meant
  const char *match;
} sn_load_options;

sn_load_options sn_load_options_default(void);

// Reads, brings everything to the vertex order of --rest with the seams of a glTF mesh welded (`source` leads back to the
// file's order), and checks that the parts fit together. Poses alone need no rest mesh.
sn_status sn_examples_load(sn_context *ctx, const sn_load_options *options, sn_examples *out);

// Vertices of the rest mesh that an exporter split become one: those at one place, with the same weights, that move together.
// `normals` (may be NULL): the file's own, which say where edges are hard.
sn_status sn_load_weld(sn_context *ctx, const float (*normals)[3], sn_examples *out);

// Sculpted meshes at frames of the skeleton's clip or of the table of values: "FRAME=MESH", "FRAME=MESH@SIGMA" with the width of its
// kernel. They replace frames; without frames, the examples become these poses alone. Of the options `match` and `adjust` count.
sn_status sn_examples_sculpt(sn_context *ctx, const sn_load_options *options, const char *const *poses, int count,
                             sn_examples *examples);

// Where the examples' skeleton is not `ours` (other names or lengths, or a list of names in the file `map`, which may be NULL): its
// motion carried over, and `ours` taken. `told` (`size` bytes): how many joints have a partner, and which have none; "" where all was well.
sn_status sn_examples_retarget(sn_context *ctx, sn_skeleton *ours, const char *map, sn_examples *examples, char *told,
                               size_t size);

// The frames once more, as mirror images across an axis, 'x' to 'z', and those of the keys among them.
sn_status sn_examples_mirror_keys(sn_context *ctx, char axis, sn_examples *examples, sn_keys *keys);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
