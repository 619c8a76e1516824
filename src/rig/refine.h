// SPDX-License-Identifier: MIT
#ifndef SINEW_RIG_REFINE_H
#define SINEW_RIG_REFINE_H

#include "rig/round.h"
#include "rig/solver.h"

// A sample of at most `vertices` vertices and `frames` frames of p; frames_out[q] is the frame of p behind frame q.
sn_status rig_sample(sn_context *ctx, sn_arena *memory, const rig_problem *p, int vertices, int frames,
                     rig_problem *out, int *frames_out);

// Gets out of local minima: moves the bones that are missed least to the regions that are fitted worst, as long as that
// helps, `moves` attempts at most (twice as many while there are slivers). A tree is built anew every time.
sn_status rig_refine(sn_context *ctx, rig_model *m, const rig_way *way, int moves);

// The bone with the smallest price (see RIG_PRICE).
int rig_least_missed(const rig_model *m);

// sum_i w_ij^2 of bone j relative to the largest of all bones, and how many are below `bound`. Both need m->pair.
double rig_share(const rig_model *m, int j);
int rig_slivers(const rig_model *m, double bound);

// Sets one more bone, without weights as yet, where the error is largest. Not where there is no error or no room.
// A larger `spread` looks for larger regions.
sn_status rig_add_bone(sn_context *ctx, rig_model *m, int spread, bool *added);

// Gives half of the vertices of the bone with the largest share to one more bone. Needs m->pair.
sn_status rig_split_largest(sn_context *ctx, rig_model *m, bool *added);

// Takes bone j out; the numbers of later bones fall by one. Needs m->pair; moments and errors are void afterwards.
void rig_remove_bone(const sn_context *ctx, rig_model *m, int j);

// Copies bones, weights and error. Both models have the same problem, limit and capacity.
void rig_copy(const rig_model *from, rig_model *to);

#endif
