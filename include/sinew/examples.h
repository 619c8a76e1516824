// SPDX-License-Identifier: MIT
// Loads examples from files: rest mesh, frames, skeleton, weights and further inputs, in one vertex order.
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
  int test_count; // the last test_count frames (and skeletons) are test clips, not used in training
  int clip_count; // animations of glTF files to train on ("all": all of them); 0: the first
  const char *const *clips;
  const char *const *frame_clips, *const *skeleton_clips; // filled in by sn_examples_load: a clip per file
  double fps; // sampling rate of the skeleton and of animated frames; 0: that of the frames, or 30
  int object_count;
  const char *const *objects; // of .abc files
  sn_adjust adjust[SN_FILE_KINDS];
  bool still_skeleton; // the skeleton file may have no motion, or a shorter one than the frames
  const char *controls;
  const char *torque;
  const char *values; // a table, or a document whose morph-target weights are read
  const char *match;
} sn_load_options;

sn_load_options sn_load_options_default(void);
// Poses per second: `fps`, else the rate of the frames, else 30.
double sn_load_rate(const sn_load_options *options, const sn_frames *frames);

// Reads all files, brings them to the vertex order of --rest with the seams of a glTF mesh welded (`source` maps back to the
// file's order), and checks that they fit together. Poses alone need no rest mesh.
sn_status sn_examples_load(sn_context *ctx, const sn_load_options *options, sn_examples *out);

// Welds vertices of the rest mesh that an exporter split: equal positions in all frames, equal weights.
// `normals` (may be NULL): those of the file, which define hard edges.
sn_status sn_load_weld(sn_context *ctx, const float (*normals)[3], sn_examples *out);

// Sculpted meshes for frames of the skeleton's clip or of the table of values: "FRAME=MESH", or "FRAME=MESH@SIGMA" with the kernel
// width. They replace frames; without frames, the examples are these poses only. Of `options`, uses `match` and `adjust`.
sn_status sn_examples_sculpt(sn_context *ctx, const sn_load_options *options, const char *const *poses, int count,
                             sn_examples *examples);

// Retargets the examples' motion to `ours` if names or bone lengths differ, or if the file `map` (may be NULL) pairs joint names;
// moves `ours` into the examples. `matched` (`size` bytes): how many joints match, and those that do not; "" if nothing to report.
sn_status sn_examples_retarget(sn_context *ctx, sn_skeleton *ours, const char *map, sn_examples *examples,
                               char *matched, size_t size);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
