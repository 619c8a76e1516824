// SPDX-License-Identifier: MIT
// Inside `sinew gen`: a figure is a surface made of blended shapes, joints that bend and twist it, muscles that swell
// under its skin, and a motion. The sets describe figures; sn_figure_examples makes an example set of one.
#ifndef SN_GEN_FIGURE_H
#define SN_GEN_FIGURE_H

#include "lab/gen/gen.h"

// ---- surfaces --------------------------------------------------------------------------------------------------

// A capsule whose radius goes from ra to rb, swollen by `belly` in the middle, thinner by `squash` along the unit vector `flat` (at right angles to
// the segment), or a cylinder with rounded edges.
typedef struct sn_shape {
  sn_vec3 a, b;
  double ra, rb, belly; // belly: how much thicker it is half way
  sn_vec3 flat;
  double squash; // 1: round
  double blend;  // width over which it melts into the shapes before it
  double detail; // target edge length here, relative to the rest of the surface
  int group;
  bool cylinder; // radius ra, edges rounded by rb
} sn_shape;

typedef struct sn_ball {
  sn_vec3 centre;
  double radius;
} sn_ball;

typedef struct sn_surface {
  const sn_shape *shapes;
  int count;
  const sn_ball *balls; // around each shape; filled by sn_surface_prepare
  double reach;         // shapes this far off do not matter
} sn_surface;

sn_status sn_surface_prepare(sn_context *ctx, sn_arena *memory, sn_surface *surface);

// Signed distance (negative inside, exact only near the surface, never too large away from it) to one shape and to
// the blend of all of them, with
// gradients. Only + - * / and sqrt: the same bits with every C library.
double sn_shape_distance(const sn_shape *shape, sn_vec3 p, sn_vec3 *gradient);
double sn_surface_distance(const sn_surface *surface, sn_vec3 p, sn_vec3 *gradient, double *detail);

// Triangles as they come out of the grid.
typedef struct sn_soup {
  int vertex_count, triangle_count;
  sn_vec3 *points;
  int *corners; // 3 per triangle
  int64_t point_room, triangle_room;
} sn_soup;

void sn_soup_free(sn_context *ctx, sn_soup *soup);

// Marching tetrahedra on a grid of cubes of edge `cell`: closed and manifold by construction.
sn_status sn_surface_extract(sn_context *ctx, const sn_surface *surface, double cell, sn_soup *out);
// Exactly `vertices` vertices, evenly spread, triangles close to equilateral.
sn_status sn_surface_mesh(sn_context *ctx, sn_surface surface, int vertices, sn_mesh *out);

// Isotropic remeshing of a closed manifold down to exactly `vertices` vertices on the surface. Works in the soup's memory: it
// is spent afterwards.
sn_status sn_remesh(sn_context *ctx, const sn_surface *surface, int vertices, sn_soup *soup, sn_mesh *out);

// ---- figures -----------------------------------------------------------------------------------------------------

enum {
  SN_FIGURE_SHAPES = 160,
  SN_FIGURE_JOINTS = 512,
  SN_FIGURE_GROUPS = 24,
  SN_FIGURE_MUSCLES = 64,
  SN_FIGURE_DRIVES = 640,
  SN_FIGURE_CONTROLS = 16
};

typedef struct sn_figure_joint {
  char name[24];
  int parent, group;
  sn_vec3 centre, axis;        // of the bone that leaves it, rest pose, unit
  double radius;               // of the limb here: sets how far a bend reaches
  double twist_from, twist_to; // where along the axis (from the centre) a twist builds up
} sn_figure_joint;

// A limb: a part of the surface that moves apart from the rest. Group 0 is the trunk. A limb melts into its parent
// group over `width`, and into limbs beside it over width/3.
typedef struct sn_figure_group {
  int parent, attach; // joint of the parent group that carries it
  double width;
} sn_figure_group;

// A belly under the skin beside the bone of `bone`, at `at` along its axis, on the side `side`, `length` long. It
// swells with the bend of joint `driver` (towards `bend_axis` only, where that is not zero) and with its torque.
typedef struct sn_muscle {
  int bone, driver;
  double at, length;
  sn_vec3 side;
  double focus; // how narrow around the limb: 1 wide, 4 narrow
  sn_vec3 bend_axis;
  double by_bend, by_torque; // swelling in metres at 120 degrees and at full torque
  double slide;              // how far the belly moves along the bone as it swells (metres at 120 degrees)
} sn_muscle;

typedef enum sn_drive_kind {
  SN_DRIVE_WAVE,   // between `low` and `high`, `cycles` times
  SN_DRIVE_RAMP,   // from 0 to `high`, monotone; `cycles` is the exponent of its easing
  SN_DRIVE_LINEAR, // from 0 to `high` in equal steps, the same for every seed
  SN_DRIVE_TORQUE  // 0 to `high`, staying a while at either end
} sn_drive_kind;

// One degree of freedom of a joint over time. `axis` is a unit rotation axis in the rest pose: that of the joint
// itself for a twist, at right angles to it for a bend.
typedef struct sn_drive {
  sn_drive_kind kind;
  int joint;
  sn_vec3 axis;
  double low, high, cycles;
} sn_drive;

typedef struct sn_figure {
  int shape_count, joint_count, group_count, muscle_count, drive_count, control_count;
  sn_shape shapes[SN_FIGURE_SHAPES];
  sn_figure_joint joints[SN_FIGURE_JOINTS];
  sn_figure_group groups[SN_FIGURE_GROUPS];
  sn_muscle muscles[SN_FIGURE_MUSCLES];
  sn_drive drives[SN_FIGURE_DRIVES];
  sn_vec3 controls[SN_FIGURE_CONTROLS];
  int load;              // the joint of the torque column where no drive has torque
  double torque_squared; // part of the square in a muscle's response to torque: 0 linear
  int smoothing;         // rounds of smoothing after the deformation, details put back (mush.c); 0: none
} sn_figure;

// Builders. Adding past a capacity is a programming error, caught by an assertion.
sn_figure *sn_figure_new(sn_context *ctx, sn_arena *memory);
sn_shape *sn_figure_capsule(sn_figure *figure, int group, sn_vec3 a, sn_vec3 b, double ra, double rb, double blend);
sn_shape *sn_figure_flat(sn_figure *figure, int group, sn_vec3 a, sn_vec3 b, double ra, double rb, double blend,
                         sn_vec3 flat, double squash);
// A muscle: thin ends (radius `end`), thicker by `belly` in the middle.
sn_shape *sn_figure_spindle(sn_figure *figure, int group, sn_vec3 a, sn_vec3 b, double end, double belly);
int sn_figure_joint_add(sn_figure *figure, const char *name, int parent, int group, sn_vec3 centre, sn_vec3 tip,
                        double radius);
int sn_figure_group_add(sn_figure *figure, int parent, int attach, double width);
sn_muscle *sn_figure_muscle(sn_figure *figure, int bone, int driver, double at, double length, sn_vec3 side,
                            double focus, double by_bend, double by_torque, double slide);
void sn_figure_drive(sn_figure *figure, sn_drive_kind kind, int joint, sn_vec3 axis, double low, double high,
                     double cycles);
void sn_figure_control(sn_figure *figure, sn_vec3 near);

// The state of a figure in one frame.
typedef struct sn_figure_pose {
  sn_vec3 bend[SN_FIGURE_JOINTS];  // rotation vector at right angles to the joint's axis
  double twist[SN_FIGURE_JOINTS];  // about the joint's axis, before the bend
  double torque[SN_FIGURE_JOINTS]; // as recorded
  double load[SN_FIGURE_JOINTS];   // torque / its largest value, 0..1
} sn_figure_pose;

// Frame `frame` of options->frames of the motion of options->seed. Frame 0 is all zeros.
void sn_figure_move(const sn_figure *figure, const sn_gen_options *options, int frame, sn_figure_pose *pose);
// Frames of a range of motion that shows each degree of freedom at both ends of its range and half way.
int sn_figure_rom_frames(const sn_figure *figure);
// Skinning matrices of a pose.
void sn_figure_matrices(const sn_figure *figure, const sn_figure_pose *pose, sn_affine *matrices);
// How much of each group (with the groups on it) every vertex is: vertex_count * group_count, 0..1.
sn_status sn_figure_members(sn_context *ctx, const sn_figure *figure, const sn_mesh *rest, sn_arena *memory,
                            double **out);
// A pose, made ready for many vertices.
typedef struct sn_figure_warp sn_figure_warp;
size_t sn_figure_warp_size(void);
void sn_figure_warp_prepare(const sn_figure *figure, const sn_figure_pose *pose, sn_figure_warp *out);
// Where the figure takes a rest vertex in a pose. `members` is the vertex's row.
sn_vec3 sn_figure_deform(const sn_figure_warp *warp, const double *members, sn_vec3 rest);
// A skin as a person would paint it.
sn_status sn_figure_skin(sn_context *ctx, const sn_figure *figure, const double *members, const sn_mesh *rest,
                         sn_skin *out);

// Delta mush (Mancewicz and others 2014): the rest mesh's details, in the frames of the smoothed mesh.
typedef struct sn_mush {
  int rounds;
  sn_topology topology;
  sn_vec3 *details, *smooth, *next;
  sn_arena memory;
} sn_mush;

sn_status sn_mush_new(sn_context *ctx, const sn_mesh *rest, int rounds, sn_mush *out);
// Smooths the positions and puts the details back.
void sn_mush_apply(sn_mush *mush, const sn_mesh *rest, float (*positions)[3]);
void sn_mush_free(sn_mush *mush);

// Surface, motion, skin, everything.
sn_status sn_figure_examples(sn_context *ctx, const sn_figure *figure, const sn_gen_options *options,
                             sn_examples *out);

// ---- the sets: options are resolved, no zeros left ------------------------------------------------------------------

sn_status sn_gen_bar(sn_context *ctx, const sn_gen_options *options, sn_examples *out);
sn_status sn_gen_cylinder(sn_context *ctx, const sn_gen_options *options, sn_examples *out);
sn_status sn_gen_face(sn_context *ctx, const sn_gen_options *options, sn_examples *out);
void sn_figure_elbow(sn_figure *figure, int joint_count);
void sn_figure_elbow_angles(sn_figure *figure, const sn_gen_angles *angles);
void sn_figure_wrist(sn_figure *figure, int joint_count);
void sn_figure_arm(sn_figure *figure, int joint_count);
void sn_figure_leg(sn_figure *figure, int joint_count);
void sn_figure_shoulder(sn_figure *figure, int joint_count);
void sn_figure_hand(sn_figure *figure, int joint_count);
void sn_figure_body(sn_figure *figure, int joint_count);
void sn_figure_athlete(sn_figure *figure, int joint_count);
void sn_figure_dancer(sn_figure *figure, int joint_count);

// ---- shared by the sets that build their examples themselves ----------------------------------------------------------

static inline sn_vec3 sn_xyz(double x, double y, double z) { return sn_vec3_make(x, y, z); }
static inline double sn_degrees(double d) { return d * SN_PI / 180; }
static inline double sn_clamp01(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
static inline double sn_smooth(double x) { return x = sn_clamp01(x), x * x * (3 - 2 * x); }

// Index of the vertex nearest to p.
int sn_nearest_vertex(const sn_mesh *mesh, sn_vec3 p);
// Fills in a set whose rest mesh is made, but for its motion and which vertices control it: joints at 0 and at `second` times
// `length`, a skin that goes from one to the other along `length`, a torque of the second.
sn_status sn_gen_two_joints(sn_context *ctx, const sn_gen_options *options, const char *const names[2],
                            sn_vec3 length, double second, sn_examples *out);
// Room for torques with no columns yet.
sn_status sn_torques_make(sn_context *ctx, int joint_count, int frames, sn_torques *out);

#endif
