// SPDX-License-Identifier: MIT
// Brings rest mesh and frames into one space. A skin's bind space need not be scene space: armatures carry scales (0.01 in most FBX
// exports) and rotations. One map S brings a skin into the scene: vertices p become S p and inverse bind matrices B become B S^-1,
// so that G B p is unchanged.
#include "formats/common/adjust.h"
#include "formats/gltf/gltf.h"

// Maps G_j B_j of one skin are equal if they differ by less than this, relative to their size.
static const double agreement = 1e-4;
// A map closer to the identity than this is the identity (single-precision rounding).
static const double rounding = 1e-5;
// A pose whose median joint scale differs from 1 by less than this is stretch, not a change of unit.
static const double same_scale = 0.2;

// ---- nodes that carry parts, and their rest transforms -------------------------------------------------------------

// For every node, the nearest skin joint at or above it, or -1.
static void skin_joints_above(const sn_gltf *gltf, int *out) {
  for (int k = 0; k < gltf->node_count; k++) out[k] = -1;
  for (int j = gltf->joint_count - 1; j >= 0; j--)
    if (gltf->joints[j].skin >= 0) out[gltf->joints[j].node] = j;
  sn_gltf_inherit_joints(gltf, out);
}

// World transform of a node when that joint is in its rest pose.
static sn_affine rest_of_node(const sn_gltf *gltf, int node, int joint, const sn_affine *globals) {
  sn_affine bind, to_joint;
  if (joint < 0 || !sn_affine_invert(gltf->joints[joint].inverse_bind, &bind) ||
      !sn_affine_invert(globals[gltf->joints[joint].node], &to_joint)) {
    return globals[node];
  }
  return sn_affine_mul(sn_affine_mul(bind, to_joint), globals[node]);
}

static void bind_carriers(sn_gltf *gltf, const int *skin_joint, const sn_affine *globals) {
  for (int j = 0; j < gltf->joint_count; j++) {
    gltf_joint *joint = &gltf->joints[j];
    if (joint->skin >= 0) continue;
    sn_affine rest = rest_of_node(gltf, joint->node, skin_joint[joint->node], globals);
    if (!sn_affine_invert(rest, &joint->inverse_bind)) joint->inverse_bind = sn_affine_identity();
  }
}

// ---- groups: skins that share a joint share their map ---------------------------------------------------------------

static void group_skins(const sn_gltf *gltf, int *owner, int *group) {
  for (int j = 0; j < gltf->joint_count; j++) owner[j] = -1;
  for (int s = 0; s < gltf->skin_count; s++) group[s] = s;
  for (int s = 0; s < gltf->skin_count; s++) {
    for (int k = 0; k < gltf->skins[s].joint_count; k++) {
      int j = gltf->skins[s].joints[k];
      if (owner[j] < 0) owner[j] = s;
      sn_set_join(group, owner[j], s);
    }
  }
  for (int s = 0; s < gltf->skin_count; s++) group[s] = sn_set_first(group, s);
}

// ---- the map of a group --------------------------------------------------------------------------------------------

// Largest difference of two maps on a ball of radius `size` about the origin, relative to the radius of its image under b.
static double map_distance(const sn_affine *a, const sn_affine *b, double size) {
  double scale = sn_mat3_norm(sn_affine_linear(*b)) / sqrt(3);
  double linear = sn_mat3_norm(sn_mat3_sub(sn_affine_linear(*a), sn_affine_linear(*b)));
  double moved = sn_vec3_distance(sn_affine_translation(*a), sn_affine_translation(*b));
  return scale > 0 ? linear / scale + (size > 0 ? moved / (size * scale) : 0) : INFINITY;
}

// Common scale of a skin: the median over its joints of the cube root of det(G_j B_j). 1 if none is valid.
static double common_scale(const sn_affine *maps, int count, double *scratch) {
  int good = 0;
  for (int k = 0; k < count; k++) {
    double scale = cbrt(fabs(sn_mat3_determinant(sn_affine_linear(maps[k]))));
    if (scale > 0 && isfinite(scale)) scratch[good++] = scale;
  }
  sn_sort_doubles(scratch, (size_t)good);
  return good > 0 ? scratch[good / 2] : 1;
}

// Cosine between the up axes of bind pose and default pose (reached by rotation `rotation`) if S rotates by `above`: 1 is upright.
static double standing(sn_mat3 rotation, sn_mat3 above) {
  return sn_mat3_mul(rotation, sn_mat3_transpose(above)).m[1][1];
}

static double group_size(const sn_gltf *gltf, const int *group, int g) {
  double size = 0;
  for (int k = 0; k < gltf->part_count; k++) {
    const gltf_part *part = &gltf->parts[k];
    if (!part->skinned || group[gltf->nodes[part->range.node].skin] != g) continue;
    size = fmax(size, sn_points_diagonal(part->positions, part->range.vertex_count));
  }
  return size;
}

// Groups of skins; the skin joint at or above each node; G_j B_j of the `map_count` joints of a group in the scene's default pose.
typedef struct space_job {
  int *group, *skin_joint, map_count;
  sn_affine *globals, *maps;
  double *scales;
} space_job;

// Rotation of S if the default pose is not the bind pose: the identity or that of the nodes above the joints, whichever keeps the
// character upright. Rotation about the up axis does not matter.
static sn_mat3 group_rotation(const sn_gltf *gltf, const space_job *job, int g) {
  int node = gltf->joints[gltf->skins[g].joints[0]].node;
  while (node >= 0 && job->skin_joint[node] >= 0) node = gltf->nodes[node].parent;
  if (node < 0) return sn_mat3_identity();
  sn_mat3 above, rotation, sum = {0};
  for (int k = 0; k < job->map_count; k++) sum = sn_mat3_add(sum, sn_affine_linear(job->maps[k]));
  sn_mat3_polar(sum, &rotation, NULL);
  sn_mat3_polar(sn_affine_linear(job->globals[node]), &above, NULL);
  return standing(rotation, above) > standing(rotation, sn_mat3_identity()) ? above : sn_mat3_identity();
}

// The map S of group g.
static sn_affine group_map(const sn_gltf *gltf, const space_job *job, int g) {
  const sn_affine *maps = job->maps;
  double size = group_size(gltf, job->group, g), determinant = sn_mat3_determinant(sn_affine_linear(maps[0]));
  sn_affine identity = sn_affine_identity(), out, inverse;
  bool agree = isfinite(determinant) && sn_affine_invert(maps[0], &inverse);
  for (int k = 1; k < job->map_count && agree; k++) agree = map_distance(&maps[k], &maps[0], size) <= agreement;
  if (agree) {
    out = maps[0];
  } else {
    double scale = common_scale(maps, job->map_count, job->scales);
    bool bound = sn_gltf_says(gltf, GLTF_BOUND_IN_SCENE);
    if (fabs(scale - 1) <= (bound ? same_scale : agreement)) scale = 1;
    sn_mat3 rotation = bound ? sn_mat3_identity() : group_rotation(gltf, job, g);
    out = sn_affine_make(sn_mat3_scale(rotation, scale), sn_vec3_make(0, 0, 0));
  }
  bool nothing = map_distance(&out, &identity, 0) <= rounding; // a pure translation is ignored
  return nothing || !sn_affine_invert(out, &inverse) ? identity : out;
}

// ---- all groups ------------------------------------------------------------------------------------------------------

static void prepare(sn_gltf *gltf, sn_arena *scratch, space_job *job) {
  sn_reader *r = &gltf->reader;
  int *owner = SN_TAKE(r, scratch, int, gltf->joint_count);
  job->group = SN_TAKE(r, scratch, int, gltf->skin_count);
  job->globals = SN_TAKE(r, scratch, sn_affine, gltf->node_count);
  job->maps = SN_TAKE(r, scratch, sn_affine, gltf->joint_count);
  job->scales = SN_TAKE(r, scratch, double, gltf->joint_count);
  job->skin_joint = SN_TAKE(r, scratch, int, gltf->node_count);
  if (r->status != SN_OK) return;
  sn_gltf_globals(gltf, gltf->nodes, job->globals);
  skin_joints_above(gltf, job->skin_joint);
  group_skins(gltf, owner, job->group);
}

static void place_group(sn_gltf *gltf, space_job *job, int g, bool *done) {
  job->map_count = 0;
  for (int s = g; s < gltf->skin_count; s++) {
    if (job->group[s] != g) continue;
    for (int k = 0; k < gltf->skins[s].joint_count; k++) {
      const gltf_joint *joint = &gltf->joints[gltf->skins[s].joints[k]];
      if (done[gltf->skins[s].joints[k]]) continue;
      done[gltf->skins[s].joints[k]] = true;
      job->maps[job->map_count++] = sn_affine_mul(job->globals[joint->node], joint->inverse_bind);
    }
  }
  if (job->map_count == 0) return;
  sn_affine map = group_map(gltf, job, g);
  for (int s = g; s < gltf->skin_count; s++)
    if (job->group[s] == g) gltf->skins[s].place = map;
}

static void move_binds(sn_gltf *gltf, bool *moved) {
  for (int s = 0; s < gltf->skin_count; s++) {
    sn_affine inverse;
    if (!gltf->skins[s].joint_count || !sn_affine_invert(gltf->skins[s].place, &inverse)) continue;
    for (int k = 0; k < gltf->skins[s].joint_count; k++) {
      int j = gltf->skins[s].joints[k];
      if (!moved[j]) gltf->joints[j].inverse_bind = sn_affine_mul(gltf->joints[j].inverse_bind, inverse);
      moved[j] = true;
    }
  }
}

// A part below a joint is placed by that joint's rest pose; other parts stay where the scene has them.
static sn_affine place_part(const sn_gltf *gltf, const gltf_part *part, const int *skin_joint,
                            const sn_affine *globals) {
  int node = part->range.node;
  return part->skinned ? gltf->skins[gltf->nodes[node].skin].place
                       : rest_of_node(gltf, node, skin_joint[node], globals);
}

void sn_gltf_place(sn_gltf *gltf) {
  sn_reader *r = &gltf->reader;
  SN_SCRATCH(scratch, r->ctx);
  space_job job = {0};
  bool *done = SN_TAKE(r, &scratch, bool, gltf->joint_count), *moved = SN_TAKE(r, &scratch, bool, gltf->joint_count);
  for (int s = 0; moved && s < gltf->skin_count; s++) gltf->skins[s].place = sn_affine_identity();
  for (int k = 0; moved && k < gltf->part_count; k++) gltf->parts[k].place = sn_affine_identity();
  prepare(gltf, &scratch, &job);
  if (r->status == SN_OK) {
    for (int s = 0; s < gltf->skin_count; s++)
      if (job.group[s] == s) place_group(gltf, &job, s, done);
    move_binds(gltf, moved);
    bind_carriers(gltf, job.skin_joint, job.globals);
    for (int k = 0; k < gltf->part_count; k++) {
      gltf->parts[k].place = place_part(gltf, &gltf->parts[k], job.skin_joint, job.globals);
    }
  }
}

// ---- message ---------------------------------------------------------------------------------------------------------

bool sn_gltf_place_text(const sn_gltf *gltf, char *out, size_t size) {
  int moved = 0, kinds = 0;
  double low = INFINITY, high = 0, angle = 0;
  for (int s = 0; s < gltf->skin_count; s++) {
    const gltf_skin *skin = &gltf->skins[s];
    if (skin->joint_count == 0) continue;
    kinds++;
    if (sn_affine_is_identity(&skin->place)) continue;
    sn_mat3 linear = sn_affine_linear(skin->place), rotation;
    double scale = cbrt(fabs(sn_mat3_determinant(linear)));
    sn_mat3_polar(linear, &rotation, NULL);
    low = fmin(low, scale), high = fmax(high, scale);
    angle = fmax(angle, sn_rotation_angle(rotation, sn_mat3_identity()) * 180 / SN_PI);
    moved++;
  }
  if (moved == 0) return false;
  char scales[64];
  snprintf(scales, sizeof scales, high - low > 1e-4 * high ? "%.4g to %.4g" : "%.4g", low, high);
  snprintf(out, size, "%s scaled by %s and rotated by %.0f degrees into the space of the frames",
           kinds == 1      ? "the bind pose is"
           : moved < kinds ? "some of its skins' bind poses are"
                           : "its skins' bind poses are",
           scales, angle);
  return true;
}
