// SPDX-License-Identifier: MIT
// Procedural example sets with known skeletons: the exams of the trainers. docs/reference/sets.md describes each of them.
#ifndef SINEW_LAB_GEN_GEN_H
#define SINEW_LAB_GEN_GEN_H

#include "sinew/scene.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

#define SN_GEN_FPS 30.0 // frames per second of every generated set

// Motions of one character: the rest mesh, the skeleton and its skin are the same for all of them.
typedef enum sn_gen_motion {
  SN_MOTION_OWN,     // the set's own
  SN_MOTION_ROM,     // a range of motion: one degree of freedom at a time, to both ends of its range
  SN_MOTION_MIXED,   // another animation: everything moves at once
  SN_MOTION_EXTREME, // everything at once, a third beyond the ranges
  SN_MOTION_LIFT     // the joint that bears the load bends, and nothing else moves
} sn_gen_motion;

// By name (own, rom, mixed, extreme, lift); false where there is no such motion.
bool sn_gen_motion_named(const char *name, sn_gen_motion *out);
const char *sn_gen_motion_name(sn_gen_motion motion);

// How far `elbow` goes, in degrees and in equal steps.
typedef struct sn_gen_angles {
  double bend, twist; // 0 to 150, -180 to 180
} sn_gen_angles;

// Takes frame f of a set that is being made, where they are too many to keep: `examples` has everything but the frames.
typedef sn_status (*sn_gen_take_fn)(sn_context *ctx, void *taker, const sn_examples *examples, int f,
                                    const float (*positions)[3]);

// What to make. 0 stands for the set's default; the seed's default is 1.
typedef struct sn_gen_options {
  const char *set;             // a name of the table below
  int frames;                  // at least 2
  int vertices;                // exact, but for `bar`, which takes the nearest count a box can have
  int joints;                  // `body` only: 1 to 256
  int targets;                 // `face` only: expressions, 1 to 500
  sn_gen_motion motion;        // `bar` and `cylinder` have only their own
  const sn_gen_angles *angles; // `elbow` only; NULL: its own, about 115 and 100 degrees
  const double *square;        // 0 to 1: how much of the muscles' response to torque is its square; NULL: the set's
  uint64_t seed;       // changes the motion (not the rest mesh, the skeleton, or the key poses of bar and wrist)
  sn_gen_take_fn take; // NULL: out->frames has the frames; otherwise only how many there are
  void *taker;
} sn_gen_options;

typedef struct sn_gen_info {
  const char *name, *summary;
  int frames, vertices, joints; // defaults
  int min_vertices;
} sn_gen_info;

sn_gen_options sn_gen_options_default(void);

int sn_gen_set_count(void);
const sn_gen_info *sn_gen_set(int index); // NULL past the end

// Makes the set in memory: rest mesh, frames, skeleton, poses, skin (at most 4 influences, as if painted by hand),
// torques, control vertices, named values. Frame 0 is the rest pose without load: it equals the rest mesh bit for bit.
sn_status sn_gen(sn_context *ctx, const sn_gen_options *options, sn_examples *out);

// Writes a set made by sn_gen as rest.obj, frames.pc2, skeleton.glb, torque.csv, controls.txt and README.txt (with values also
// values.csv and targets.glb, the shapes of the values alone as morph targets) into
// `folder`, which is made where it does not exist.
sn_status sn_gen_write(sn_context *ctx, const sn_gen_options *options, const sn_examples *examples,
                       const char *folder);
// Both at once, frame by frame: `out` has no positions of frames.
sn_status sn_gen_folder(sn_context *ctx, const sn_gen_options *options, const char *folder, sn_examples *out);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
