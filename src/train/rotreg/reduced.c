// SPDX-License-Identifier: MIT
// Trains the reduced form: clusters, proxy bones, key gradients, their predictors, C1 and C2. The weights of the final
// least-squares problem are the inverse mean squares of each term's residual on held-out poses.
#include "train/rotreg/reduced.h"

#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "train/near.h"

// ---- proxy bones (5.1) ----------------------------------------------------------------------------------------------

// Fits proxy bones to the groups of a cut of the tree, or of mean shift.
static sn_status fit_bones(sn_rotreg_training *t, const sn_cluster_tree *tree, int count) {
  sn_proxy_bones *b = &t->bones;
  sn_skin_free(&b->skin);
  *b = (sn_proxy_bones){.group_of = SN_NEW(t->ctx, &t->memory, int, t->examples->rest.triangle_count)};
  if (!b->group_of) return t->ctx->error.status;
  SN_TRY(tree ? sn_cluster_cut(t->ctx, tree, count, b->group_of, &b->bone_count)
              : sn_rotreg_mean_shift(t, count, b->group_of, &b->bone_count));
  return sn_rotreg_bones_fit(t);
}

// The fewest bones whose rms error is within the limit, by bisection of the logarithm of their number.
static sn_status bones_for_error(sn_rotreg_training *t, const sn_cluster_tree *tree, int most) {
  int low = 1, high = most;
  double limit = t->options->error / 100 * t->diagonal;
  while (low < high) {
    int middle = (int)sqrt((double)low * high);
    SN_TRY(fit_bones(t, tree, middle));
    double rms = sqrt(sn_rotreg_mean(t->bone_error, (size_t)t->examples->rest.vertex_count));
    if (rms <= limit) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return fit_bones(t, tree, low);
}

static sn_status make_bones(sn_rotreg_training *t) {
  const sn_examples *e = t->examples;
  sn_cluster_tree all, *tree = t->options->start == SN_ROTREG_MEANSHIFT ? NULL : &all;
  int room = SN_RT_MAX_JOINTS - e->skeleton.joint_count;
  int most = e->rest.triangle_count < room ? e->rest.triangle_count : room, count = t->options->bones;
  if (tree) SN_TRY(sn_cluster_triangles(t->ctx, &t->memory, e, t->keys, tree));
  if (t->options->error > 0) return bones_for_error(t, tree, most);
  if (count == 0) count = sn_rotreg_default_bones;
  return fit_bones(t, tree, count < most ? count : most);
}

// ---- the prior ------------------------------------------------------------------------------------------------------

// Finds the relevant joints of one key gradient and their shares, from its summed weights on each joint.
static void look_around(const sn_skeleton *skeleton, const sn_near *near, const double *own, sn_rotreg_local *out) {
  int joint_count = skeleton->joint_count;
  double sum = 0;
  for (int j = 0; j < joint_count; j++) sum += own[j];
  for (int j = 0; j < joint_count; j++)
    for (int k = 0; k < joint_count && own[j] >= (double)SN_NEAR_WEIGHT * sum; k++) {
      if (k == j || sn_near_beside(near, j, k)) out[k].near = true;
    }
  for (int n = joint_count - 1; n >= 0; n--) { // children before parents
    int j = skeleton->order[n], parent = skeleton->parents[j];
    out[j].share += own[j] / sum;
    if (parent >= 0) out[parent].share += out[j].share;
  }
}

// A key gradient depends on the joints that have weight on its triangles, and on their neighbours.
static sn_status find_near(sn_rotreg_training *t) {
  const sn_mesh *rest = &t->examples->rest;
  const sn_skin *prior = &t->examples->skin;
  size_t gradients = (size_t)t->bones.bone_count, joints = (size_t)t->examples->skeleton.joint_count;
  sn_near near;
  if (prior->influences == 0 || t->fit.published) return SN_OK;
  double *own = SN_NEW(t->ctx, &t->memory, double, gradients *joints);
  t->local = SN_NEW(t->ctx, &t->memory, sn_rotreg_local, gradients * joints);
  if (!own || !t->local) return t->ctx->error.status;
  SN_TRY(sn_near_new(t->ctx, &t->memory, &t->examples->skeleton, prior, &near));
  for (int n = 0; n < 3 * rest->triangle_count; n++) {
    size_t at = (size_t)rest->triangles[n / 3][n % 3] * (size_t)prior->influences;
    double *row = own + (size_t)t->bones.group_of[n / 3] * joints;
    for (size_t k = at; k < at + (size_t)prior->influences; k++) row[prior->joints[k]] += (double)prior->weights[k];
  }
  for (size_t l = 0; l < gradients; l++)
    look_around(&t->examples->skeleton, &near, own + l * joints, t->local + l * joints);
  return SN_OK;
}

// ---- the least-squares problem (4.3) --------------------------------------------------------------------------------

// Fixed vertices keep the joints' weights. The others have the proxy bones', which come after the joints in the palette.
static sn_status palette_skin(sn_rotreg_training *t) {
  const sn_skin *bones = &t->bones.skin, *joints = &t->skin;
  int n = bones->vertex_count, most = bones->influences > joints->influences ? bones->influences : joints->influences;
  SN_TRY(sn_skin_new(t->ctx, n, most, &t->palette_skin));
  for (int i = 0; i < n; i++) {
    const sn_skin *from = t->fixed[i] ? joints : bones;
    int shift = t->fixed[i] ? 0 : t->examples->skeleton.joint_count;
    for (int k = 0; k < from->influences; k++) {
      size_t at = (size_t)i * (size_t)from->influences + (size_t)k, to = (size_t)i * (size_t)most + (size_t)k;
      t->palette_skin.weights[to] = from->weights[at];
      t->palette_skin.joints[to] = (uint16_t)(from->weights[at] > 0 ? from->joints[at] + shift : 0);
    }
  }
  return SN_OK;
}

// The runtime's drive is in single precision: for a scene far from 0, C is about the centre of the mesh.
static void find_origin(sn_rotreg_training *t) {
  const sn_poses *poses = &t->examples->poses;
  sn_vec3 low, high;
  sn_points_bounds((const float(*)[3])t->examples->rest.positions, t->examples->rest.vertex_count, &low, &high);
  float stored[3]; // as in the model
  sn_vec3_store(sn_vec3_scale(sn_vec3_add(low, high), 0.5), stored);
  sn_vec3 centre = sn_vec3_from(stored);
  double farthest = sn_vec3_length(centre);
  for (int f = 0; f < poses->frame_count; f++)
    farthest = fmax(farthest, sn_vec3_length(sn_affine_apply(sn_pose(poses, f)[0], centre)));
  t->is_far = farthest > sn_rotreg_far_diagonals * t->diagonal && t->diagonal > 0;
  if (t->is_far) t->origin = centre;
}

static sn_status advance(sn_rotreg_training *t, double done) {
  if (sn_progress(t->ctx, "rotreg", done)) return SN_OK;
  return sn_fail(t->ctx, SN_STOPPED, "rotreg: stopped");
}

sn_status sn_rotreg_reduced_train(sn_rotreg_training *t) {
  SN_TRY(sn_rotreg_training_start(t));
  SN_TRY(make_bones(t));
  SN_TRY(find_near(t));
  SN_TRY(advance(t, 0.5));
  SN_TRY(sn_rotreg_key_gradients_fit(t));
  SN_TRY(sn_rotreg_training_finish(t));
  find_origin(t);
  SN_TRY(sn_rotreg_hard_set(t));
  SN_TRY(sn_rotreg_solve_c(t));
  SN_TRY(advance(t, 1));
  return palette_skin(t);
}
