// SPDX-License-Identifier: MIT
// The deformation of a figure: an analytic map of space, joint after joint from the finger tips to the root.
//
// A joint rotates the points around it about its centre, by an angle that goes from nothing to the joint's own as one
// walks around the joint in the plane of the bend: the flesh opens like a fan on the outer side and closes on the
// inner one. How wide the fan is depends on the angle itself, the closing side swells sideways and creases, the outer
// one comes to a point, twists saturate along the bone, and muscles swell before all that. None of this is a blend
// of matrices or of quaternions with fixed weights. Away from the joint the map is exactly the joint's rigid motion.
#include "lab/gen/figure.h"

// ---- which limb a vertex belongs to ----------------------------------------------------------------------------

static bool is_under(const sn_figure *figure, int group, int top) {
  for (; group >= 0; group = figure->groups[group].parent)
    if (group == top) return true;
  return false;
}

// Distances to the shapes of limb `top` (with the limbs on it), of the groups it hangs on, and of all others.
static void limb_distances(const sn_figure *figure, int top, sn_vec3 p, double *own, double *carrier, double *other) {
  *own = *carrier = *other = 1e9;
  for (int k = 0; k < figure->shape_count; k++) {
    int group = figure->shapes[k].group;
    double *kind = is_under(figure, group, top) ? own : is_under(figure, top, group) ? carrier : other;
    sn_vec3 g;
    double d = sn_shape_distance(&figure->shapes[k], p, &g);
    if (d < *kind) *kind = d;
  }
}

typedef struct member_job {
  const sn_figure *figure;
  const sn_mesh *rest;
  double *members;
} member_job;

static void member_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const member_job *job = user;
  int groups = job->figure->group_count;
  for (int64_t i = begin; i < end; i++) {
    double *row = job->members + i * groups;
    row[0] = 1;
    for (int g = 1; g < groups; g++) {
      double own, carrier, other, width = job->figure->groups[g].width;
      limb_distances(job->figure, g, sn_vec3_from(job->rest->positions[i]), &own, &carrier, &other);
      row[g] = sn_smooth(0.5 + (carrier - own) / (2 * width)) * sn_smooth(0.5 + 1.5 * (other - own) / width);
      row[g] *= row[job->figure->groups[g].parent];
    }
  }
}

sn_status sn_figure_members(sn_context *ctx, const sn_figure *figure, const sn_mesh *rest, sn_arena *memory,
                            double **out) {
  *out = SN_NEW(ctx, memory, double, (int64_t)rest->vertex_count * figure->group_count);
  if (!*out) return ctx->error.status;
  sn_parallel_for(ctx, rest->vertex_count, 128, member_range, &(member_job){figure, rest, *out});
  return SN_OK;
}

static bool carries(const sn_figure *figure, int joint, int descendant) {
  for (; descendant >= 0; descendant = figure->joints[descendant].parent)
    if (descendant == joint) return true;
  return false;
}

// ---- what of a pose is the same for all vertices -----------------------------------------------------------------------

typedef struct trig {
  double angle, c, s;
} trig;

static trig trig_of(double angle) { return (trig){angle, cos(angle), sin(angle)}; }

typedef struct warp_turn {
  int joint, group;
  bool root;
  int hung_count, hung[SN_FIGURE_GROUPS]; // groups on the joint's own
  bool carried[SN_FIGURE_GROUPS];         // of `hung`: they go with the joint
  double angle, twist, lag;
  trig bends[2], twists[2]; // those that most vertices take
  sn_vec3 across, inward;
  double half, reach; // of the fan, and its tangent
} warp_turn;

typedef struct warp_muscle {
  const sn_muscle *muscle;
  double swelling, act;
} warp_muscle;

struct sn_figure_warp {
  const sn_figure *figure;
  int turn_count, muscle_count;
  warp_turn turns[SN_FIGURE_JOINTS]; // from the finger tips to the root
  warp_muscle muscles[SN_FIGURE_MUSCLES];
};

size_t sn_figure_warp_size(void) { return sizeof(sn_figure_warp); }

static double twist_at(double x, double lag) { return sn_smooth(x) * (1 - lag) + lag * x * x * x * (4 - 3 * x); }

static warp_turn turn_of(const sn_figure *figure, const sn_figure_pose *pose, int joint) {
  const sn_figure_joint *j = &figure->joints[joint];
  warp_turn t = {.joint = joint, .group = j->group, .root = j->parent < 0};
  t.angle = sn_vec3_length(pose->bend[joint]), t.twist = pose->twist[joint];
  for (int g = 1; g < figure->group_count; g++) {
    if (figure->groups[g].parent != j->group) continue;
    t.carried[t.hung_count] = carries(figure, joint, figure->groups[g].attach);
    t.hung[t.hung_count++] = g;
  }
  t.lag = 0.25 * sn_clamp01(fabs(t.twist) / SN_PI);
  t.twists[0] = trig_of(t.twist * twist_at(1, t.lag)), t.twists[1] = trig_of(t.twist);
  t.bends[0] = t.bends[1] = trig_of(t.angle);
  if (t.angle != 0) {
    t.across = sn_vec3_scale(pose->bend[joint], 1 / t.angle), t.inward = sn_vec3_cross(t.across, j->axis);
    t.half = 1.12 + 0.21 * sn_clamp01(t.angle / 2.3);
    t.reach = tan(t.half);
  }
  return t;
}

static double muscle_swelling(const sn_figure *figure, const sn_figure_pose *pose, const sn_muscle *m, double *act) {
  double angle = sn_vec3_length(m->bend_axis) > 0 ? fmax(0, sn_vec3_dot(pose->bend[m->driver], m->bend_axis))
                                                  : sn_vec3_length(pose->bend[m->driver]);
  double load = pose->load[m->driver], square = figure->torque_squared;
  *act = (1 - cos(angle)) / 1.5; // 1 at 120 degrees
  double answer = (1 - square) * load + square * load * load;
  return m->by_bend * *act + m->by_torque * answer * (1 - 0.2 * *act);
}

void sn_figure_warp_prepare(const sn_figure *figure, const sn_figure_pose *pose, sn_figure_warp *out) {
  out->figure = figure;
  out->turn_count = out->muscle_count = 0;
  for (int k = 0; k < figure->muscle_count; k++) {
    warp_muscle m = {.muscle = &figure->muscles[k]};
    m.swelling = muscle_swelling(figure, pose, m.muscle, &m.act);
    if (m.swelling != 0) out->muscles[out->muscle_count++] = m;
  }
  for (int j = figure->joint_count - 1; j >= 0; j--) {
    warp_turn t = turn_of(figure, pose, j);
    if (t.angle != 0 || t.twist != 0) out->turns[out->turn_count++] = t;
  }
}

// ---- bends and twists ------------------------------------------------------------------------------------------------

// The weight of a joint's motion at a vertex, from `along` (the weight by its place along the joint's limb).
static double share_of(const warp_turn *t, const double *members, double along) {
  double share = along;
  for (int k = 0; k < t->hung_count; k++) {
    double member = members[t->hung[k]];
    if (member > 0) share += ((t->carried[k] ? 1 : 0) - share) * member;
  }
  return share * members[t->group];
}

// The fan: weight of the bend at the direction atan2(along, |inward|) from the plane across the limb. Nearly linear, so
// that the inner side never folds over; it opens wider as the joint bends further.
static double fan(const warp_turn *t, double along, double inward, double radius, double *middle) {
  const double surely = 1 + 1e-9;                  // most vertices are beyond the fan: no arc tangent for them
  double depth = fmin(fabs(inward), 1.7 * radius); // the fan is that of a limb, not of all space
  double square = depth * depth + 0.36 * radius * radius;
  *middle = 0;
  if (along * along > square * (t->reach * t->reach * surely)) return along < 0 ? 0 : 1;
  double u = atan2(along, sqrt(square)) / t->half;
  if (u <= -1 || u >= 1) return u < 0 ? 0 : 1;
  *middle = (1 - u * u) * (1 - u * u);
  double u2 = u * u;
  return 0.5 + (7.0 / 12) * (u - u2 * u2 * u2 * u / 7);
}

static sn_vec3 rotate_about(sn_vec3 x, sn_vec3 axis, double angle, const trig known[2]) {
  if (angle == 0) return x;
  trig t = angle == known[0].angle ? known[0] : angle == known[1].angle ? known[1] : trig_of(angle);
  sn_vec3 turned = sn_vec3_mad(sn_vec3_scale(x, t.c), sn_vec3_cross(axis, x), t.s);
  return sn_vec3_mad(turned, axis, (1 - t.c) * sn_vec3_dot(axis, x));
}

// The flesh at a bend, before it rotates: the closing side swells sideways and gives way, the other comes to a point.
static sn_vec3 squeeze(sn_vec3 x, const warp_turn *t, double side, double middle) {
  double close = (1 - t->bends[0].c) * middle, inner = sn_smooth(0.5 + 0.5 * side);
  double lateral = 0.13 * close * inner, depth = -0.10 * close * inner + 0.13 * close * middle * (1 - inner);
  x = sn_vec3_mad(x, t->across, lateral * sn_vec3_dot(x, t->across));
  return sn_vec3_mad(x, t->inward, depth * sn_vec3_dot(x, t->inward));
}

static sn_vec3 turn_joint(const sn_figure *figure, const warp_turn *t, const double *members, sn_vec3 rest,
                          sn_vec3 p) {
  const sn_figure_joint *j = &figure->joints[t->joint];
  double own = members[t->group];
  if (own == 0) return p;
  sn_vec3 from_centre = sn_vec3_sub(rest, j->centre), x = sn_vec3_sub(p, j->centre);
  double along = sn_vec3_dot(from_centre, j->axis);
  if (t->twist != 0) {
    // Weight of a twist at `along`: the skin lags behind near the start of the bone, more for larger angles.
    double share =
      t->root ? 1 : twist_at(sn_clamp01((along - j->twist_from) / (j->twist_to - j->twist_from)), t->lag);
    x = rotate_about(x, j->axis, t->twist * share_of(t, members, share), t->twists);
  }
  if (t->angle != 0) {
    double depth = sn_vec3_dot(from_centre, t->inward), middle = 0;
    double share = t->root ? 1 : fan(t, along, depth, j->radius, &middle);
    if (middle != 0) x = squeeze(x, t, depth / j->radius, middle * own * own);
    x = rotate_about(x, t->across, t->angle * share_of(t, members, share), t->bends);
  }
  return sn_vec3_add(j->centre, x);
}

// ---- muscles ---------------------------------------------------------------------------------------------------------

static sn_vec3 swell(const sn_figure *figure, const warp_muscle *w, const double *members, sn_vec3 rest, sn_vec3 p) {
  const sn_muscle *m = w->muscle;
  const sn_figure_joint *bone = &figure->joints[m->bone];
  double size = members[bone->group] > 0 ? members[bone->group] * w->swelling : 0;
  if (size == 0) return p;
  sn_vec3 x = sn_vec3_sub(rest, bone->centre);
  double along = sn_vec3_dot(x, bone->axis);
  double u = (along - m->at - m->slide * w->act) / (m->length * (1 - 0.12 * w->act) / 2);
  if (u <= -1 || u >= 1) return p;
  sn_vec3 radial = sn_vec3_mad(x, bone->axis, -along);
  double r = sn_vec3_length(radial);
  if (r < 1e-9) return p;
  double belly = (1 - u * u) * (1 - u * u), facing = (1 + sn_vec3_dot(radial, m->side) / r) / 2;
  double amount = size * belly * (m->focus == 1 ? facing : facing * facing * (m->focus < 3 ? 1 : facing));
  p = sn_vec3_mad(p, radial, amount / r);
  return sn_vec3_mad(p, bone->axis, 0.35 * amount * (m->slide < 0 ? -1 : 1)); // the skin goes along
}

sn_vec3 sn_figure_deform(const sn_figure_warp *warp, const double *members, sn_vec3 rest) {
  sn_vec3 p = rest;
  for (int k = 0; k < warp->muscle_count; k++) p = swell(warp->figure, &warp->muscles[k], members, rest, p);
  for (int k = 0; k < warp->turn_count; k++) p = turn_joint(warp->figure, &warp->turns[k], members, rest, p);
  return p;
}

void sn_figure_matrices(const sn_figure *figure, const sn_figure_pose *pose, sn_affine *matrices) {
  for (int j = 0; j < figure->joint_count; j++) {
    const sn_figure_joint *joint = &figure->joints[j];
    sn_mat3 twist = sn_rotation_exp(sn_vec3_scale(joint->axis, pose->twist[j]));
    sn_affine local = sn_affine_about(sn_mat3_mul(sn_rotation_exp(pose->bend[j]), twist), joint->centre);
    matrices[j] = joint->parent < 0 ? local : sn_affine_mul(matrices[joint->parent], local);
  }
}

// ---- a painted skin --------------------------------------------------------------------------------------------------

// A painter spreads a joint over about three radii, and a joint that mostly twists also over the stretch of its twist.
static double painted_share(const sn_figure *figure, int j, double along) {
  const sn_figure_joint *joint = &figure->joints[j];
  double bend = 0, twist = 0;
  for (int k = 0; k < figure->drive_count; k++) {
    const sn_drive *drive = &figure->drives[k];
    if (drive->joint != j || drive->kind == SN_DRIVE_TORQUE) continue;
    double *range = fabs(sn_vec3_dot(drive->axis, joint->axis)) > 0.9 ? &twist : &bend;
    *range = fmax(*range, drive->high);
  }
  double near = sn_smooth(0.5 + along / (3 * joint->radius));
  double stretch = sn_smooth((along - joint->twist_from) / (joint->twist_to - joint->twist_from));
  return twist <= bend ? near : bend == 0 ? stretch : (near + stretch) / 2;
}

// A joint keeps the weight that its children do not take; the four largest are kept.
static void paint_vertex(const sn_figure *figure, const warp_turn *turns, const double *members, sn_vec3 rest,
                         double *weight, sn_skin *skin, int i) {
  for (int j = 0; j < figure->joint_count; j++) {
    const sn_figure_joint *joint = &figure->joints[j];
    double along = sn_vec3_dot(sn_vec3_sub(rest, joint->centre), joint->axis);
    weight[j] = joint->parent < 0 ? 1 : share_of(&turns[j], members, painted_share(figure, j, along));
    if (joint->parent >= 0) weight[joint->parent] -= weight[j];
  }
  for (int k = 0; k < skin->influences; k++) {
    int best = 0;
    for (int j = 1; j < figure->joint_count; j++)
      if (weight[j] > weight[best]) best = j;
    skin->joints[(size_t)i * 4 + k] = (uint16_t)best;
    skin->weights[(size_t)i * 4 + k] = weight[best] > 0.004 ? (float)weight[best] : 0;
    weight[best] = -1;
  }
}

sn_status sn_figure_skin(sn_context *ctx, const sn_figure *figure, const double *members, const sn_mesh *rest,
                         sn_skin *out) {
  double weight[SN_FIGURE_JOINTS];
  sn_arena scratch = sn_arena_new(ctx);
  warp_turn *turns = SN_NEW(ctx, &scratch, warp_turn, figure->joint_count);
  sn_figure_pose *still = SN_NEW(ctx, &scratch, sn_figure_pose, 1);
  sn_status status = turns && still ? sn_skin_new(ctx, rest->vertex_count, 4, out) : ctx->error.status;
  for (int j = 0; status == SN_OK && j < figure->joint_count; j++) turns[j] = turn_of(figure, still, j);
  for (int i = 0; status == SN_OK && i < rest->vertex_count; i++)
    paint_vertex(figure, turns, members + (int64_t)i * figure->group_count, sn_vec3_from(rest->positions[i]), weight,
                 out, i);
  if (status == SN_OK) sn_skin_normalize(out);
  sn_arena_free(&scratch);
  return status;
}
