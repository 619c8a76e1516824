// SPDX-License-Identifier: MIT
// What the files of the rigging solver share: the data in the solver's own units and the model being fitted.
//
//   x_i^f  ~  sum_j w_ij T_j^f u~_i ,      u~ = (u, 1)
//
// Index letters: i vertex, j and k bones, f frame, c component of u~ (0..3), r coordinate (0..2).
#ifndef SINEW_RIG_INTERNAL_H
#define SINEW_RIG_INTERNAL_H

#include "sinew/rig.h"

// Rest positions and frames, centred, scaled and with the rigid motion of the whole mesh taken out of every frame, so
// that single precision serves for the bulk of the arithmetic. A problem may hold a sample of vertices and frames.
typedef struct rig_problem {
  int n, f;        // vertices, frames
  float *x;        // rows of 3 f, of the vertices first .. last in `order`: see rig_point
  int *place;      // n: where in `order` every vertex is; NULL: row i is that of vertex i, and all are there
  int first, last; // the rows of this process (see base/team.h): all of them without a team
  struct rig_source *source; // of the others
  sn_file file;              // of x where that is large
  double (*u)[4];            // n: (u, 1)
  int *order;     // n: the vertices along a space-filling curve, so that neighbours in it are neighbours in space
  double *moment; // 4 rows of 3 f: sum_i u~_ic x_i; what the choice of the root needs
  double rest_cov[10]; // sum_i of the monomials of u~_i
} rig_problem;

// Vertex i of frame f as the solver has it, from the frames.
void sn_rig_convert(const rig_problem *p, int i, int f, float out[3]);

// x_i in frame f; `out` is where it goes if it is of another process.
static inline const float *rig_point(const rig_problem *p, int i, int f, float out[3]) {
  int row = p->place ? p->place[i] - p->first : i;
  if (!p->place || (row >= 0 && row < p->last - p->first)) return p->x + ((size_t)row * (size_t)p->f + (size_t)f) * 3;
  sn_rig_convert(p, i, f, out);
  return out;
}

// The row of a vertex of this process: element 3 * frame + r.
static inline const float *rig_row(const rig_problem *p, int i) { return rig_point(p, i, 0, NULL); }

// Sums over all vertices are kept in so many parts, whatever the number of threads and processes: eight, more where a part would
// have more than RIG_GROUP_SIZE vertices. The vertices of part g are order[from .. to), whole chunks of them.
enum { RIG_CHUNK = 96, RIG_LEAST_GROUPS = 8, RIG_MOST_GROUPS = 64, RIG_GROUP_SIZE = 25000 };
static inline int rig_groups(const rig_problem *p) {
  int groups = p->n / RIG_GROUP_SIZE;
  return groups < RIG_LEAST_GROUPS ? RIG_LEAST_GROUPS : groups > RIG_MOST_GROUPS ? RIG_MOST_GROUPS : groups;
}
static inline void rig_group(const rig_problem *p, int g, int *from, int *to) {
  int64_t chunks = (p->n + RIG_CHUNK - 1) / RIG_CHUNK, groups = rig_groups(p);
  int64_t begin = chunks * g / groups * RIG_CHUNK, end = chunks * (g + 1) / groups * RIG_CHUNK;
  *from = (int)(begin < p->n ? begin : p->n), *to = (int)(end < p->n ? end : p->n);
}
// Calls body for the groups of this process. Where other processes have groups, `share` then gets every one of them in turn.
typedef sn_status (*rig_share_fn)(sn_context *ctx, void *user, int group, int owner);
sn_status sn_rig_groups(sn_context *ctx, const rig_problem *p, sn_range_fn body, rig_share_fn share, void *user);

// To be told of rows that were looked at: `rows` one after the other, or one of them anywhere, for which the system maps a
// window around it.
static inline void rig_used(const rig_problem *p, int rows) {
  if (p->file.map) sn_file_used(&p->file, (size_t)rows * 3 * (size_t)p->f * sizeof *p->x);
}
static inline void rig_used_one(const rig_problem *p) {
  enum { window = 64 << 10 };
  if (p->file.map) sn_file_used(&p->file, 3 * (size_t)p->f * sizeof *p->x + window);
}

// Monomials of u~ in this order: xx xy xz x yy yz y zz z 1, so that v~^T G v~ is a dot product of length 10.
enum { RIG_MONOMIALS = 10 };

// A thousand, twice as many to start from, and some.
enum { RIG_MOST_BONES = 4096 };

typedef struct rig_model {
  int bones, capacity;
  int limit;            // most influences of a vertex
  const rig_problem *p; // of which t and the weights are
  double *t;            // capacity * 4 rows of 3 f: row 4 j + c, column 3 f + r
  float *t32;           // the same in single precision, for the products over all vertices
  double *gram;         // bones * bones * 10: v~^T gram_jk v~ = sum_f (T_j v~) . (T_k v~)
  uint16_t *joint;      // n * limit
  double *weight;       // n * limit; zeros at the end
  double *moment;       // bones * 4 rows of 3 f: sum_i w_ij u~_ic (x_i - prediction), at the current weights and t
  double *pair;         // bones * bones * 10: sum_i w_ij w_ik monomials(u~_i)
  double *price;        // bones, see RIG_PRICE
  double *vertex_error; // n: sum over frames of the squared distance
  double error;         // their sum
  double worth;         // of an influence, for RIG_THIN, in parts of the average vertex's error
  double *trail;        // like t: the bones after the last update, from which sn_rig_round goes on
  int trail_age;        // updates since; rises to 1 before the trail is good for anything
  struct pass_space *space; // of sn_rig_pass
} rig_model;

// Pulls every vertex's weights towards those of its neighbours: energy sum_edges c_ik |w_i - w_k|^2.
typedef struct rig_smooth {
  const int *start, *ring; // neighbours of i: ring[start[i]] ..
  float *edge_weight;      // c_ik: one per entry of ring, symmetric; NULL: no smoothing
  bool steady; // vertices move at once: each counts on its neighbours to come half-way, and none overshoots
} rig_smooth;

typedef enum rig_support {
  RIG_KEEP,    // weights stay; only moments and errors are computed
  RIG_ADJUST,  // from the present weights, exchanging influences with the most promising bones
  RIG_EXPLORE, // the same, with all bones instead of those in use nearby
  RIG_THIN,    // like RIG_ADJUST, then without the influences that hardly matter
  RIG_EXHAUST, // from all bones, to the best set of influences
  RIG_PRICE    // weights stay; price[j] becomes what the error would rise by without bone j
} rig_support;

sn_status sn_rig_model_new(sn_context *ctx, sn_arena *memory, const rig_problem *p, int capacity, int limit,
                           rig_model *out);
// One pass over the data: weights (by `mode`), then moments, pairs and errors for the new weights.
sn_status sn_rig_pass(sn_context *ctx, rig_model *m, rig_support mode, const rig_smooth *smooth);
// Evens the weights out over the rest mesh of m's problem, then RIG_THIN at a price per influence that costs hardly any error.
sn_status sn_rig_thin(sn_context *ctx, const sn_mesh *rest, rig_model *m, const rig_smooth *smooth);
// The weights as written: single precision, normalised.
struct sn_skin;
sn_status sn_rig_store_skin(sn_context *ctx, const rig_model *m, struct sn_skin *out);
// To be called when t has changed: single-precision copy and Gram matrices.
void sn_rig_model_refresh(const sn_context *ctx, rig_model *m);

// sn_parallel_for over independent items where there is enough to do: `work` is a rough count of operations in all.
static inline void rig_parallel(const sn_context *ctx, int count, int grain, double work, sn_range_fn body,
                                void *user) {
  if (work < 2e5) {
    body(user, 0, count, 0);
  } else {
    sn_parallel_for(ctx, count, grain, body, user);
  }
}

static inline void rig_monomials(const double u[4], double out[RIG_MONOMIALS]) {
  out[0] = u[0] * u[0], out[1] = u[0] * u[1], out[2] = u[0] * u[2], out[3] = u[0] * u[3], out[4] = u[1] * u[1];
  out[5] = u[1] * u[2], out[6] = u[1] * u[3], out[7] = u[2] * u[2], out[8] = u[2] * u[3], out[9] = u[3] * u[3];
}

// The symmetric 4x4 matrix of moments stored as monomials.
static inline void rig_unpack(const double s[RIG_MONOMIALS], double out[4][4]) {
  out[0][0] = s[0], out[0][1] = out[1][0] = s[1], out[0][2] = out[2][0] = s[2], out[0][3] = out[3][0] = s[3];
  out[1][1] = s[4], out[1][2] = out[2][1] = s[5], out[1][3] = out[3][1] = s[6], out[2][2] = s[7];
  out[2][3] = out[3][2] = s[8], out[3][3] = s[9];
}

static inline double *rig_pair(const rig_model *m, int j, int k) {
  return m->pair + ((size_t)j * (size_t)m->bones + (size_t)k) * RIG_MONOMIALS;
}

static inline double *rig_gram(const rig_model *m, int j, int k) {
  return m->gram + ((size_t)j * (size_t)m->bones + (size_t)k) * RIG_MONOMIALS;
}

// ---- between the caller's units and the solver's --------------------------------------------------------------------

// x = (motion_f^-1(position) - centre) / scale
typedef struct rig_units {
  sn_vec3 centre;
  double scale;
  sn_affine *motion; // per frame: the rigid motion that takes the rest pose there best
} rig_units;

// The problem of frames chosen[0 .. count), in that order. `vertex`: where sn_rig_sort_vertices has sorted the mesh, which of the
// frames' vertices is vertex i here; NULL: the same.
sn_status sn_rig_problem_build(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, const sn_frames *frames,
                               const int *vertex, const int *chosen, int count, rig_units *units, rig_problem *p);
void sn_rig_problem_free(rig_problem *p); // the file; the rest is in the arena

// Fills the order of a problem whose u are set; of one whose vertices lie along the curve already.
sn_status sn_rig_problem_order(sn_context *ctx, sn_arena *memory, rig_problem *p);
sn_status sn_rig_problem_sorted(sn_context *ctx, sn_arena *memory, rig_problem *p);

// Fills the moments of a problem whose x and u are set.
sn_status sn_rig_problem_moments(sn_context *ctx, sn_arena *memory, rig_problem *p);

// A skinning matrix of frame f into the solver's units and back. Rigid maps stay rigid.
sn_affine sn_rig_to_units(const rig_units *units, int f, sn_affine t);
sn_affine sn_rig_from_units(const rig_units *units, int f, sn_affine t);

sn_affine sn_rig_bone(const rig_model *m, int j, int f);
void sn_rig_set_bone(rig_model *m, int j, int f, sn_affine a);

// The rest mesh with its vertices along a space-filling curve: vertex i of `out` is vertex[i] of `rest`.
sn_status sn_rig_sort_vertices(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, int **vertex, sn_mesh *out);
// An order of the frames that depends on their contents only, so that permuting them permutes the result exactly. `vertex`: as
// above, or NULL for the caller's order.
sn_status sn_rig_sort_frames(sn_context *ctx, const sn_frames *frames, const int *vertex, int *order);

// The place along a space-filling curve (Morton's) of a point in the unit cube.
static inline uint32_t rig_curve_code(const double at[3]) {
  uint32_t code = 0;
  for (int c = 0; c < 3; c++) {
    uint32_t v = (uint32_t)(1023 * at[c]); // its ten bits go to every third place
    v = (v | (v << 16)) & 0x030000FF;
    v = (v | (v << 8)) & 0x0300F00F;
    v = (v | (v << 4)) & 0x030C30C3;
    code |= ((v | (v << 2)) & 0x09249249) << c;
  }
  return code;
}

// ---- bones ----------------------------------------------------------------------------------------------------------

// The rotation r that maximises tr(r h), by Newton steps from `start`; sn_mat3_kabsch where they do not apply.
sn_mat3 sn_rig_rotation_near(sn_mat3 h, sn_mat3 start);

// Rigid bones: `sweeps` rounds over the bones of every frame, each bone fitted while the others rest. Keeps the moments
// right for the new bones. `locked` bones (may be NULL) stay.
sn_status sn_rig_bones_rigid(sn_context *ctx, rig_model *m, int sweeps, const bool *locked);

// The bones that share vertices with bone j, itself included: overlap[start[j]] .. Needs m->pair. False without memory.
bool sn_rig_overlaps(sn_context *ctx, sn_arena *memory, const rig_model *m, const int **start, const int **overlap);

// Affine bones, all at once. The moments are no longer those of the model afterwards.
sn_status sn_rig_bones_affine(sn_context *ctx, rig_model *m);

// Multiplies the weights of all edges.
void sn_rig_smooth_scale(rig_smooth *smooth, int n, double factor);
// From a pull for a squared error of 1 to that for the present one.
void sn_rig_smooth_by_error(const rig_model *m, rig_smooth *smooth);
// Pulls harder at edges across which the weights change by more than `bound` (sum of squares). Returns the largest change.
double sn_rig_smooth_tears(const rig_model *m, rig_smooth *smooth, double bound);
// sum_(i, k) c_ik |w_i - w_k|^2 over the edges.
double sn_rig_smooth_energy(const rig_model *m, const rig_smooth *smooth);
// Of at most 2, which is a complete change of bone.
#define RIG_TEAR 1.0

// ---- the inside of the rest mesh -------------------------------------------------------------------------------------

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
sn_status sn_rig_body_build(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, const rig_problem *p,
                            rig_body *out);
// The same in the mesh's own units.
sn_status sn_rig_mesh_body(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, rig_body *out);
double sn_rig_winding(const rig_body *b, const double x[3]); // 1 inside, 0 outside, between where the mesh is open
bool sn_rig_inside(const rig_body *b, const double x[3]);
double sn_rig_surface_distance(const rig_body *b, const double x[3]);
// Where x is outside: the middle between the walls of the body nearby; x stays where none is found.
void sn_rig_put_inside(const rig_body *b, double x[3]);

// ---- skeleton -------------------------------------------------------------------------------------------------------

// A ball that is inside the body.
typedef struct rig_ball {
  double centre[3], radius;
} rig_ball;
// sn_rig_inside for points that move little: where x is in a ball that is known to be inside, no winding number is needed.
bool sn_rig_inside_known(const rig_body *b, const double x[3], rig_ball *known);

typedef struct rig_tree {
  int bones, root;
  int *parent;        // -1 for a root, of which there may be several: they move freely
  int *order;         // parents before children
  double (*joint)[3]; // C_j: where bone j meets its parent in the rest pose; for the root the middle of its vertices
  double (*skin)[3];  // C0_j: the middle of the vertices that both share, inside the body
  double *hold;       // mu_j: the weight of joint j at C0_j, relative to a rotation by one radian in every frame
  double rise;        // most that pulling joints inside may raise the squared error by in one round
  bool stays;         // joints that are inside stay there
  rig_ball *around;   // 2 bones: about the joint and the middle of the skin of every bone
  const rig_body *body; // NULL: there is no inside
} rig_tree;

// The middle of the vertices that j and k share; of j's own where they share none.
void sn_rig_shared_middle(const rig_model *m, int j, int k, double out[3]);
// C_jk: (sum dR^T dR + mu F I) C = - sum dR^T dT + mu F C0. Returns the remaining sum_f |dR C + dT|^2 + mu F |C - C0|^2.
double sn_rig_joint_position(const rig_model *m, int j, int k, double mu, const double start[3], double out[3]);

int sn_rig_joints_outside(const rig_tree *tree);
// The first point inside the body on the way from joint j to the skin that its bones share, or to the middle of the body nearby,
// no farther than `reach`; false: none.
bool sn_rig_joint_inside(const rig_tree *tree, int j, double reach, double out[3]);
sn_status sn_rig_tree_new(sn_context *ctx, sn_arena *memory, int capacity, rig_tree *out);

// Both were made for at least as many bones.
void sn_rig_tree_copy(const rig_tree *from, rig_tree *to);

// Topology and joints from free bones (Le and Deng 2014): the minimum spanning tree of the joint cost over the weight
// overlap, and the root whose motion alone explains the mesh best. Needs m->pair.
sn_status sn_rig_tree_build(sn_context *ctx, const rig_model *m, rig_tree *tree);

// A root of few vertices, which nobody would choose, hands over to the bone nearest to the middle of the body that has more. The motion
// stays what it is. Needs m->pair.
void sn_rig_tree_settle_root(const rig_model *m, rig_tree *tree);

// For moves of a single bone, after which the others stay joined as they are. Need m->pair, and the last two the bones of before
// (remove) or after (add) the change: bone j has gone elsewhere, the last bone is new, bone j will be taken out.
void sn_rig_tree_rehang(const rig_model *m, rig_tree *tree, int j);
void sn_rig_tree_add(const rig_model *m, rig_tree *tree);
void sn_rig_tree_remove(const rig_model *m, rig_tree *tree, int j);

// Rotations and the roots' translations of every frame, joints exact, by Gauss-Newton steps. Needs the moments of m's
// present bones, and keeps them right. `locked` bones (may be NULL) keep their motion.
sn_status sn_rig_tree_fit(sn_context *ctx, rig_model *m, const rig_tree *tree, int steps, const bool *locked);

// Joint positions for the present rotations. Needs the moments, and keeps them right.
// Joints that the motion leaves outside of the body are pulled harder to its inside, every time.
sn_status sn_rig_tree_move_joints(sn_context *ctx, rig_model *m, rig_tree *tree);

// ---- alternation ----------------------------------------------------------------------------------------------------

// How a model is fitted.
typedef struct rig_way {
  rig_tree *tree; // NULL: free bones
  bool affine;
  const rig_smooth *smooth; // NULL: none
  rig_smooth *mend;         // the same where edges that tear are pulled harder after every round; NULL: they are not
} rig_way;

// One round: bones (and joints) for the present weights, then weights. Needs the moments, and leaves those of the result.
// With `extrapolate` the bones go on by as much again as they have moved since the last round; where that does not lower
// the error it is taken back.
sn_status sn_rig_round(sn_context *ctx, rig_model *m, const rig_way *way, rig_support mode, bool extrapolate);

// Which joints are moved inside (those so far outside, or farther), how far, and what that may cost: each, of the squared error, and
// all together. Lengths are for a mesh of unit size.
typedef struct rig_nudge {
  double outside, reach, rise, most;
} rig_nudge;
// Joints that are outside go inside, one after the other, where that does not cost too much. Sets *moved where there were any:
// weights are to be fitted then.
sn_status sn_rig_nudge_joints(sn_context *ctx, rig_model *m, rig_tree *tree, const rig_nudge *how, bool *moved);

// To be called when bones were added, removed or replaced: what they did before means nothing.
static inline void rig_forget_trail(rig_model *m) { m->trail_age = -1; }

// ---- clustering -----------------------------------------------------------------------------------------------------

// Fits a model with one influence per vertex (limit 1) and at most `bones` rigid bones, `rounds` of assigning and
// fitting after every split. Fewer bones come out where the data does not support them.
sn_status sn_rig_cluster(sn_context *ctx, rig_model *m, int bones, int rounds);

// Sets bone j of m to the rigid motions of a set of vertices.
void sn_rig_fit_region(const rig_problem *p, const int *vertices, int count, rig_model *m, int j);

// The `most` vertices nearest to `seed` in the rest pose, of cluster `only` or (cluster NULL) of all. Returns how many.
int sn_rig_nearest(const rig_problem *p, const uint16_t *cluster, int only, int seed, int most, int *out,
                   void *space);
size_t sn_rig_nearest_space(const rig_problem *p);

// ---- samples and moves out of local minima --------------------------------------------------------------------------

// A sample of at most `vertices` vertices and `frames` frames of p; frames_out[q] is the frame of p behind frame q.
// `allowed` (may be NULL) says which frames may be chosen.
sn_status sn_rig_sample(sn_context *ctx, sn_arena *memory, const rig_problem *p, int vertices, int frames,
                        const bool *allowed, rig_problem *out, int *frames_out);
// The squared distance of every frame to frame g (g < 0: to the rest pose), over some vertices.
void sn_rig_frame_distances(const rig_problem *p, int g, double *distance);
// The same weights over other frames of the same vertices; motions are fitted, from those of the frames that are most alike.
sn_status sn_rig_follow(sn_context *ctx, sn_arena *memory, const rig_model *from, const rig_problem *p,
                        const rig_tree *tree, rig_model *m);

// Gets out of local minima: moves the bones that are missed least to the regions that are fitted worst, as long as that
// helps, `moves` attempts at most. The rest of a tree stays as it is.
sn_status sn_rig_refine(sn_context *ctx, rig_model *m, const rig_way *way, int moves);

// The bone with the smallest price (see RIG_PRICE).
int sn_rig_least_missed(const rig_model *m);

// sum_i w_ij^2 of bone j, and whether that is below `bound`. Both need m->pair. A bone on which others hang is no sliver: it is a
// link of the skeleton, however few vertices it has (without those of the cow its error was a quarter to a half larger).
// A bone needs about one vertex of its own, on a sample too. Le and Deng prune below 1e-2 of the largest bone, which takes
// fingers and eyes from characters with a large trunk: Michelle.glb kept 8 of 27 bones. What a bone buys decides instead.
#define RIG_THINNEST 1.001
double sn_rig_share(const rig_model *m, int j);
bool sn_rig_is_sliver(const rig_model *m, const rig_tree *tree, int j, double bound);

// Sets one more bone, without weights as yet, where the error is largest. Not where there is no error or no room.
// A larger `spread` looks for larger regions.
sn_status sn_rig_add_bone(sn_context *ctx, rig_model *m, int spread, bool *added);

// Takes bone j out; the numbers of later bones fall by one. Needs m->pair; moments and errors are void afterwards.
void sn_rig_remove_bone(const sn_context *ctx, rig_model *m, int j);
// The same for all that are gone; at least one stays.
void sn_rig_remove_bones(const sn_context *ctx, rig_model *m, const bool *gone);

// Copies bones, weights, moments, prices and errors. Both models have the same problem, limit and capacity.
void sn_rig_copy(const rig_model *from, rig_model *to);

// ---- smoothness -----------------------------------------------------------------------------------------------------

// The rigidness Laplacian of Le and Deng 2014 in its symmetric form, for the frames of `p`.
// `strength` is relative to the squared size of the mesh times the number of frames.
sn_status sn_rig_smooth_build(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, const rig_problem *p,
                              double strength, rig_smooth *out);

// Bone-vertex weight smoothing (Kim 2010, section 4): lowers
//
//   sum_i sum_f |x_i^f - sum_j w_ij T_j^f u_i|^2  +  rho F sum_j |L w_j|^2,   (L w)_i = mean of the neighbours' w - w_i
//
// by `sweeps` rounds over the vertices, each solved exactly while the others rest; no step raises it. rho is that of the
// source, for a mesh of unit radius. Errors, moments and pairs of the model are those of before.
sn_status sn_rig_smooth_weights(sn_context *ctx, const sn_mesh *rest, rig_model *m, double rho, int sweeps);

// ---- from coarse to fine --------------------------------------------------------------------------------------------

typedef struct rig_plan {
  int bones, limit;
  bool tree, affine;
  bool keep;            // all bones, whether they pay or not
  double nothing;       // squared error of a vertex in a frame that counts as none
  int iterations;       // most rounds over all the data
  rig_smooth *smooth;   // for all the data; NULL: none
  bool smooth_auto;     // its edge weights are for a squared error of 1 and follows the error
  const rig_body *body; // NULL: the mesh has no inside
  const sn_mesh *rest;  // in the order of the problem
  int most;             // for a method that chooses the number itself, with bones 0: never more
  double omega;         // as the options have it, for a method of others
} rig_plan;

// Clusters, as bones with weights. `m` has room for `capacity` bones.
sn_status sn_rig_start_clusters(sn_context *ctx, sn_arena *memory, const rig_problem *p, int capacity, int limit,
                                const rig_way *way, rig_model *m);

// Takes out up to `count` bones that are missed least, and lets the others settle. Of bones that share vertices only one goes at a
// time: the other is missed more then.
sn_status sn_rig_remove_least_missed(sn_context *ctx, rig_model *m, const rig_way *way, int count);

// How bones are counted.
typedef struct rig_count {
  int most, limit;  // bones to choose, influences
  double percent;   // of the diagonal for a distance of one
  double error_pct; // that is wished for; 0: none
  double noise_pct; // of the frames, as error_pct
} rig_count;
// The number of bones that explain held-out frames well enough, as free bones on a sample; more where error_pct wants it. The curve is
// the cross-validated error of 1, 2, ... bones in percent of the diagonal.
enum { RIG_MOST_COUNTED = 96 };
sn_status sn_rig_count_bones(sn_context *ctx, sn_arena *memory, const rig_problem *p, const rig_count *how,
                             int *bones, double **curve, int *curve_count);
// The error that counts as none, in percent of the diagonal.
#define RIG_NO_ERROR 0.015

// Bones, weights and (plan->tree) skeleton for problem p. `m` and `tree` live in `memory`. m->bones may be fewer than
// planned where the data does not support more. `rounds` counts the rounds over all the data.
sn_status sn_rig_solve(sn_context *ctx, sn_arena *memory, const rig_problem *p, const rig_plan *plan, rig_model *m,
                       rig_tree *tree, int *rounds);

// The same by a method of others; NULL where the program has none (lab/baselines sets it).
typedef sn_status rig_baseline(sn_context *ctx, sn_arena *memory, const rig_problem *p, const rig_plan *plan,
                               sn_rig_solver solver, rig_model *m, rig_tree *tree);
extern rig_baseline *sn_rig_baseline;

// ---- known skeletons ------------------------------------------------------------------------------------------------

// sn_rig for options with a given skeleton.
// Makes a tree and its weights symmetric where the rest mesh is, and tells in the report what came of it.
sn_status sn_rig_symmetrise(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *o,
                            sn_rig_result *result);

// Where `allowed` is not 0, the skeleton, o->poses and o->skin are what sn_rig has found, but for joints that have moved; motion and weights
// go on from there, as smooth and few as sn_rig has them, and no longer than they may come below a root mean squared distance of
// `allowed`. 0: nothing was found.
sn_status sn_rig_with_skeleton(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *o,
                               double allowed, sn_rig_result *out);

// ---- result ---------------------------------------------------------------------------------------------------------

// Rotations by quaternions and translations in single precision, as a file holds them; joints stay together. With
// `affine` the matrices themselves are rounded.
void sn_rig_round_poses(const sn_skeleton *skeleton, bool affine, sn_poses *poses);

// Fills the figures of out->report from out's skeleton, poses and skin.
sn_status sn_rig_measure(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, sn_rig_result *out);

// Fills out->report.roughness.
sn_status sn_rig_roughness(sn_context *ctx, const sn_mesh *rest, sn_rig_result *out);

#endif
