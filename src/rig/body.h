// SPDX-License-Identifier: MIT
// The inside of the rest mesh.
#ifndef SINEW_RIG_BODY_H
#define SINEW_RIG_BODY_H

#include "fit/problem.h"

typedef struct rig_block {
  int first, count;     // triangles
  sn_vec3 centre, area; // area-weighted centroid; sum of area-weighted normals
  double radius;
} rig_block;

typedef struct rig_body {
  int n;
  const double (*u)[4];
  int (*triangle)[3];        // oriented outwards
  sn_vec3 *normal;           // n, unit length
  rig_block *blocks, *parts; // every block consists of several parts
  int block_count, part_count;
  int pieces; // connected components
} rig_body;

// The rest mesh of the whole problem p, in its units.
sn_status sn_rig_body_build(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, const fit_problem *p,
                            rig_body *out);
// The same in the units of the mesh.
sn_status sn_rig_mesh_body(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, rig_body *out);
double sn_rig_winding(const rig_body *b, const double x[3]); // 1 inside, 0 outside, between where the mesh is open
bool sn_rig_inside(const rig_body *b, const double x[3]);
double sn_rig_surface_distance(const rig_body *b, const double x[3]);
// Moves a point outside the body to its nearest medial point (half-way through the body from a nearby vertex), if there is one.
void sn_rig_put_inside(const rig_body *b, double x[3]);

// A ball inside the body.
typedef struct rig_ball {
  double centre[3], radius;
} rig_ball;
// sn_rig_inside for points that move little: inside the ball `known` no winding number is computed. Updates `known`.
bool sn_rig_inside_known(const rig_body *b, const double x[3], rig_ball *known);

#endif
