// SPDX-License-Identifier: MIT
// The inside of the rest mesh.
#ifndef SINEW_RIG_BODY_H
#define SINEW_RIG_BODY_H

#include "fit/problem.h"

typedef struct rig_block {
  int first, count;     // triangles
  sn_vec3 centre, area; // of all of them: area-weighted middle, sum of area normals
  double radius;
} rig_block;

typedef struct rig_body {
  int n;
  const double (*u)[4];
  int (*triangle)[3];        // turned outwards
  sn_vec3 *normal;           // n, unit length
  rig_block *blocks, *parts; // every block is of several parts
  int block_count, part_count;
  int pieces; // that share no vertices
} rig_body;

// The rest mesh of the whole problem p, in its units.
sn_status sn_rig_body_build(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, const fit_problem *p,
                            rig_body *out);
// The same in the mesh's own units.
sn_status sn_rig_mesh_body(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, rig_body *out);
double sn_rig_winding(const rig_body *b, const double x[3]); // 1 inside, 0 outside, between where the mesh is open
bool sn_rig_inside(const rig_body *b, const double x[3]);
double sn_rig_surface_distance(const rig_body *b, const double x[3]);
// Where x is outside: the middle between the walls of the body nearby; x stays where none is found.
void sn_rig_put_inside(const rig_body *b, double x[3]);

// A ball that is inside the body.
typedef struct rig_ball {
  double centre[3], radius;
} rig_ball;
// sn_rig_inside for points that move little: where x is in a ball that is known to be inside, no winding number is needed.
bool sn_rig_inside_known(const rig_body *b, const double x[3], rig_ball *known);

#endif
