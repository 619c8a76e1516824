// SPDX-License-Identifier: MIT
// Training data: a rest mesh, frames of vertex positions, and optionally a skeleton with poses, skinning weights, control
// vertices and torques. Index letters: i vertex, t triangle, j joint, f frame.
#ifndef SINEW_SCENE_H
#define SINEW_SCENE_H

#include "sinew/base.h"
#include "sinew/math.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

// ---- mesh ------------------------------------------------------------------------------------------------------

// A triangle mesh. Any triangles over existing vertices are a valid mesh: non-manifold edges, zero-area triangles,
// vertices in no triangle and several components are allowed.
typedef struct sn_mesh {
  int vertex_count, triangle_count;
  float (*positions)[3]; // vertex_count
  int (*triangles)[3];   // triangle_count, counter-clockwise
  sn_arena memory;
} sn_mesh;

sn_status sn_mesh_new(sn_context *ctx, int vertex_count, int triangle_count, sn_mesh *out); // zeroed arrays
void sn_mesh_free(sn_mesh *mesh);

// Fails, naming the first culprit, on a triangle index out of range or a position that is not finite.
sn_status sn_mesh_check(sn_context *ctx, const sn_mesh *mesh);

// Diagonal of the bounding box of `count` points (vertices in no triangle count too); 0 for none.
double sn_points_diagonal(const float (*positions)[3], int count);
void sn_points_bounds(const float (*positions)[3], int count, sn_vec3 *low, sn_vec3 *high);

// Unit normals from the triangles' area-weighted normals; vertices without area get (0,0,1). `positions` and
// `out` have mesh->vertex_count entries; pass mesh->positions for the rest pose.
void sn_mesh_normals(const sn_mesh *mesh, const float (*positions)[3], float (*out)[3]);
// Adds each triangle's normal, scaled by twice its area, to its vertices; with `class_of`, to the classes of its `corners`.
void sn_mesh_sum_normals(const sn_mesh *mesh, const float (*positions)[3], const int (*corners)[3],
                         const int *class_of, float (*out)[3]);

// Unit tangents, perpendicular to the normals, and handedness (1, or -1 where the texture is mirrored) of the vertices, from the
// texture coordinates of the triangles' corners, v upwards. Vertices without usable texture coordinates get an arbitrary tangent.
// Non-zero entries of `given` (NULL: none) override the computed ones.
sn_status sn_mesh_tangents(sn_context *ctx, const sn_mesh *mesh, const float (*normals)[3], const float (*uvs)[2],
                           const float (*given)[4], float (*out)[4]);

// Mesh adjacency. Neighbours of i: ring[ring_start[i] .. ring_start[i+1]), ascending; its triangles likewise.
typedef struct sn_topology {
  int vertex_count, edge_count, component_count, boundary_edges, nonmanifold_edges;
  int (*edges)[2]; // first < second, sorted; degenerate triangles (a vertex twice) have none
  int *edge_faces; // triangles at each edge: 1 boundary, 2 inside, 3 or more non-manifold
  int *ring_start, *ring;
  int *face_start, *faces;
  int *component; // of every vertex; a vertex in no triangle is a separate component
  sn_arena memory;
} sn_topology;

sn_status sn_topology_build(sn_context *ctx, const sn_mesh *mesh, sn_topology *out);
void sn_topology_free(sn_topology *topology);
// For vertex positions x: distance of vertex i to the centroid of its neighbours, and the mean edge length.
double sn_topology_bump(const sn_topology *topology, const sn_vec3 *x, int i);
double sn_topology_mean_edge(const sn_topology *topology, const sn_vec3 *x);

// Welds vertices with exactly equal positions. class_of[i] is the welded vertex of i; welded vertices are numbered by
// first appearance. `weights` (may be NULL): vertices with different weights are not welded. `frames` (may be NULL): nor
// are vertices further apart than 1e-6 of the diagonal in any frame (closed lips, lids).
struct sn_skin;
struct sn_frames;
// The class of every vertex; NULL if memory runs out.
int *sn_mesh_weld(sn_context *ctx, const sn_mesh *mesh, const struct sn_skin *weights, const struct sn_frames *frames,
                  sn_arena *memory, int *welded_count);

typedef struct sn_points {
  const float (*positions)[3];
  int count;
} sn_points;

// Diagonal of the bounding box of a mesh's vertices.
static inline double sn_mesh_diagonal(const sn_mesh *mesh) {
  return sn_points_diagonal((const float(*)[3])mesh->positions, mesh->vertex_count);
}
static inline sn_points sn_mesh_points(const sn_mesh *mesh) {
  sn_points points = {(const float(*)[3])mesh->positions, mesh->vertex_count};
  return points;
}
// For each point the nearest of `among` (ties: the first), and its distance (`distances` may be NULL).
sn_status sn_nearest_vertices(sn_context *ctx, sn_points among, sn_points points, int *nearest, double *distances);

// ---- skeleton and skin -------------------------------------------------------------------------------------------

// Joints, in the order of the file: a parent may come after its child. The rest pose is the bind pose.
typedef struct sn_skeleton {
  int joint_count;
  char **names;    // never NULL; unnamed joints get "joint0", "joint1", ...
  int *parents;    // -1 for a root
  sn_affine *rest; // joint-to-world in the rest pose (the inverse of the inverse bind matrix)
  int *order;      // all joints, parents before children
  sn_arena memory;
} sn_skeleton;

sn_status sn_skeleton_new(sn_context *ctx, int joint_count, sn_skeleton *out);
// Fills `order` from `parents`; fails on a cycle or an index out of range, naming the joint.
sn_status sn_skeleton_sort(sn_context *ctx, sn_skeleton *skeleton);
int sn_skeleton_find(const sn_skeleton *skeleton, const char *name); // -1 if there is none
// The same, but tests joint `guess` first: fast for two skeletons in the same order.
int sn_skeleton_find_near(const sn_skeleton *skeleton, const char *name, int guess);
void sn_skeleton_free(sn_skeleton *skeleton);

// Skinning weights: row i holds up to `influences` pairs; unused ones have weight 0 (and joint 0), at the end.
typedef struct sn_skin {
  int vertex_count, influences;
  uint16_t *joints; // vertex_count * influences
  float *weights;   // the same; each row sums to 1, largest first
  sn_arena memory;
} sn_skin;

sn_status sn_skin_new(sn_context *ctx, int vertex_count, int influences, sn_skin *out);
// Copies the given rows (NULL: the first `count`) of another skin, with their first `influences` influences.
sn_status sn_skin_copy_rows(sn_context *ctx, const sn_skin *from, const int *rows, int count, int influences,
                            sn_skin *out);
// Sorts every row by weight, equal ones by joint.
void sn_skin_sort(sn_skin *skin);
// The same, after removing weights that are not positive; then normalises to sum 1. Empty rows get weight 1 on joint 0.
void sn_skin_normalize(sn_skin *skin);
// Influences of vertex i, in a skin whose rows are sorted.
int sn_skin_row_influences(const sn_skin *skin, int i);
// True if all vertices have weight 1 on one joint: exporters write this for unpainted meshes.
bool sn_skin_is_placeholder(const sn_skin *skin);
// Linear blend skinning of point p of vertex i: sum_k w_k M_k p.
sn_vec3 sn_skin_blend(const sn_skin *skin, int i, const sn_affine *matrices, sn_vec3 p);
void sn_skin_free(sn_skin *skin);

// ---- frames and poses ----------------------------------------------------------------------------------------------

// Vertex positions over time. `positions` may point into `file`, which may be mapped (see sn_file): loops over many frames call
// sn_frames_used to release its pages.
typedef struct sn_frames {
  int vertex_count, frame_count;
  const float (*positions)[3]; // frame f starts at positions + f * vertex_count
  double rate;                 // frames per second, 0 if unknown
  bool finite;                 // checked: all positions are finite
  sn_file file;
  sn_arena memory;
} sn_frames;

static inline const float (*sn_frame(const sn_frames *frames, int f))[3] {
  return frames->positions + (size_t)f * (size_t)frames->vertex_count;
}
sn_status sn_frames_new(sn_context *ctx, int vertex_count, int frame_count, sn_frames *out);
float (*sn_frame_mutable(sn_frames *frames, int f))[3]; // of frames made by sn_frames_new
// Reports that `vertices` vertices of `count` frames were read (sn_file_used).
static inline void sn_frames_used(const sn_frames *frames, int64_t vertices, int count) {
  if (frames->file.map) sn_file_used(&frames->file, (size_t)vertices * (size_t)count * sizeof(float[3]));
}
// Fails on the first position that is not finite, naming frame and vertex.
sn_status sn_frames_check(sn_context *ctx, const sn_frames *frames);
// The same for frames read from `path` (may be NULL), for progress messages.
sn_status sn_frames_check_file(sn_context *ctx, const char *path, const sn_frames *frames);
// A mapped file may change after the check: whether frame f is still finite, and the error if it is not.
bool sn_frame_is_finite(const sn_frames *frames, int f);
sn_status sn_frame_changed(sn_context *ctx, int f);
void sn_frames_free(sn_frames *frames);

// One matrix per frame and joint that maps the rest pose to the pose (a skinning matrix: identity in the rest pose).
typedef struct sn_poses {
  int joint_count, frame_count;
  sn_affine *matrices; // frame f starts at matrices + f * joint_count
  sn_arena memory;
} sn_poses;

sn_status sn_poses_new(sn_context *ctx, int joint_count, int frame_count, sn_poses *out); // identities
static inline sn_affine *sn_pose(const sn_poses *poses, int f) {
  return poses->matrices + (size_t)f * (size_t)poses->joint_count;
}
// The largest distance, over all frames, between a joint's position under its own matrix and under its parent's: 0 for a
// connected skeleton.
double sn_joint_gap(const sn_skeleton *skeleton, const sn_poses *poses);
void sn_poses_free(sn_poses *poses);

// Finds the word for left or right in a name ("Left", "r" between separators): `size` bytes from `at` on. Returns the word for
// the other side; NULL: there is none.
const char *sn_name_side(const char *name, size_t *at, size_t *size);
// Maps each joint of `ours` to one of `theirs`, -1 for none: by `map` (NULL, or lines of two names: ours, theirs), then by name,
// then by the naming conventions of Mixamo, Unreal, Rigify, VRM and VRoid.
sn_status sn_joint_partners(sn_context *ctx, const sn_skeleton *ours, const sn_skeleton *theirs, const char *map_name,
                            const char *map, int *partners);
// Same names and bone lengths: the poses of one are poses of the other.
bool sn_skeletons_match(const sn_skeleton *ours, const sn_skeleton *theirs);
// Retargets poses of `theirs` to `ours`: copies rotations relative to the bind pose, keeps bone lengths, scales root translations.
// An unmatched joint moves rigidly with its parent.
sn_status sn_retarget(sn_context *ctx, const sn_skeleton *ours, const sn_skeleton *theirs, const int *partners,
                      const sn_poses *poses, sn_poses *out);

// Recorded joint torques. has[j]: joint j has a column in the file.
typedef struct sn_torques {
  int joint_count, frame_count;
  double *values; // frame_count * joint_count
  bool *has;      // joint_count
  sn_arena memory;
} sn_torques;

// The torque of a joint at a frame; 0 for a joint without a column.
static inline double sn_torque(const sn_torques *torques, int frame, int joint) {
  return torques->has[joint] ? torques->values[(size_t)frame * (size_t)torques->joint_count + (size_t)joint] : 0;
}
void sn_torques_free(sn_torques *torques);

// Named parameters of the frames (expressions, age, ...) that span a pose space.
typedef struct sn_values {
  int count, frame_count;
  char **names;
  double *values; // frame_count * count
  double *rest;   // count: values of the rest mesh
  sn_arena memory;
} sn_values;

sn_status sn_values_new(sn_context *ctx, int count, int frame_count,
                        sn_values *out);                       // zeros; the caller sets the names
int sn_values_find(const sn_values *values, const char *name); // -1 if there is none
void sn_values_free(sn_values *values);

// ---- examples ----------------------------------------------------------------------------------------------------------

// Smoothing groups of the rest file. File vertices of one group (class_of is its first) have the same position and normal; hard
// edges separate groups at the same position. The file's normals n are stored in the frame of the computed normal r and the
// direction t towards vertex `toward`: own[s] = (n.r, n.t, n.(r x t)).
typedef struct sn_shading {
  int *class_of, *toward;
  float (*own)[3]; // NULL: the file has no normals
} sn_shading;

enum { SN_MOST_NOTES = 16, SN_NOTE_SIZE = 1024 };

// Everything a trainer may use. Absent parts are zeroed (joint_count 0, control_count 0, ...).
typedef struct sn_examples {
  sn_mesh rest;
  sn_frames frames;
  sn_skeleton skeleton;
  sn_poses poses; // frames.frame_count poses of skeleton.joint_count joints
  sn_skin skin;   // weights of the skeleton file
  bool skin_made; // sn_train computed `skin` from the skeleton and the surface
  sn_torques torques;
  sn_values values;
  double *sigmas; // per frame: prescribed kernel width in radians, 0: not prescribed; NULL: none is prescribed
  bool sculpted;  // all frames are sculpted poses, to be interpolated exactly
  int control_count, *controls; // control vertices
  int control_target;           // if control_count is 0: how many the trainer chooses; 0: none
  int clip_count, *clip_start;  // clip c is frames clip_start[c] .. clip_start[c+1]
  const char **clip_names;      // NULL if unknown
  double *clip_seconds;         // duration of a clip of a skeleton file, first to last key; 0: unknown; NULL: all 0
  bool motion;               // evaluation keeps the runtime's state between frames of a clip; false: frames are poses
  int test_frame_count;      // frames of test clips, at the end
  int source_count, *source; // file vertex s of the rest mesh is vertex source[s] here; NULL: the same order
  int (*source_triangles)[3]; // the triangles over the file's vertices; NULL: those of `rest`
  sn_shading shading;         // how the file shades its vertices; zeroed: every vertex smooth
  float (*uvs)[2]; // texture coordinates of the corners of the file's triangles, v upwards; NULL: the file has none
  float (*tangents)[4]; // of the file's vertices, with handedness; zeros: none; NULL: the file has none
  int note_count;
  char notes[SN_MOST_NOTES][SN_NOTE_SIZE]; // remarks for the user on how the files were read
  sn_arena memory;
} sn_examples;

// Adds a note unless it is there already or SN_MOST_NOTES is reached.
void sn_examples_note(sn_context *ctx, sn_examples *examples, const char *format, ...)
  __attribute__((format(printf, 3, 4)));

// The vertex that vertex s of the rest file is.
static inline int sn_examples_vertex(const sn_examples *examples, int s) {
  return examples->source ? examples->source[s] : s;
}
// Number of vertices of the rest file: larger than rest.vertex_count if it has seams.
int sn_examples_file_vertices(const sn_examples *examples);
// Reorders per-vertex data (`size` bytes each) to the order of the rest file, and back (the last of welded vertices is used).
void sn_examples_to_file(const sn_examples *examples, const void *vertices, size_t size, void *out);
void sn_examples_from_file(const sn_examples *examples, const void *vertices, size_t size, void *out);
// The rest mesh, and a skin on it, in the order of the rest file.
sn_status sn_examples_file_mesh(sn_context *ctx, const sn_examples *examples, sn_mesh *out);
sn_status sn_examples_file_skin(sn_context *ctx, const sn_examples *examples, const sn_skin *skin, sn_skin *out);

// A plane across an axis (0 x, 1 y, 2 z) at this coordinate.
typedef struct sn_mirror {
  int axis;
  double at;
} sn_mirror;

double sn_vec3_along(sn_vec3 p, int axis); // the coordinate
sn_vec3 sn_mirror_point(const sn_mirror *mirror, sn_vec3 p);
// Planes across an axis about which characters are symmetric: through the origin, and through the middle of their box.
void sn_mirror_planes(const sn_mesh *rest, int axis, sn_mirror out[2]);
// The vertex nearest to the mirror image of every `step`-th vertex. Returns the distances, or NULL on failure.
double *sn_mirror_vertices(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, const sn_mirror *mirror, int step,
                           int **vertices);

// Appends the mirror image of every frame across an axis (0 x, 1 y, 2 z). Vertices are paired by mirrored rest positions, joints
// and values by names with .L and .R or left and right. Fails if the rest mesh or the skeleton is not symmetric.
sn_status sn_examples_mirror(sn_context *ctx, int axis, sn_examples *examples);

// Counts agree, indices in range, everything finite; fails naming the first culprit.
sn_status sn_examples_check(sn_context *ctx, const sn_examples *examples);
void sn_examples_free(sn_examples *examples);

// Fills `shading` from the file's normals (NULL: it has none), once the seams are welded.
sn_status sn_examples_shade(sn_context *ctx, sn_examples *examples, const float (*normals)[3]);
// Unit normals of the file's vertices for `positions` of the examples' vertices: area-weighted normals of each smoothing group,
// with the offsets of the file's normals at rest (sn_shading.own). `out` has source_count entries (rest.vertex_count without
// `source`).
void sn_examples_normals(const sn_examples *examples, const float (*positions)[3], float (*out)[3]);

// A normal in the frame of the unit vector r and the direction t perpendicular to r along `edge`: (n.r, n.t, n.(r x t));
// (1, 0, 0) where that is undefined.
sn_vec3 sn_normal_coordinates(sn_vec3 normal, sn_vec3 r, sn_vec3 edge);

// A choice of frames: a view, not a copy. Ascending, without repetition.
typedef struct sn_keys {
  int count, *frames;
  sn_arena memory;
} sn_keys;

// `spec` as in --keys: all | every:N | 0,5,10-20 | random:N. `others` (may be NULL) gets the remaining frames.
sn_status sn_keys_parse(sn_context *ctx, const char *spec, int frame_count, uint64_t seed, sn_keys *out,
                        sn_keys *others);
void sn_keys_free(sn_keys *keys);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
