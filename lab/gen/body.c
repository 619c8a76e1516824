// SPDX-License-Identifier: MIT
// A standing figure, y up, facing +z, arms half lowered, with as many joints as requested: the first ones of an order
// of importance, then roll joints inside the long bones. Metres.
#include <stdio.h>
#include "lab/gen/figure.h"

// Limbs of the table; one without joints is part of the limb above it.
enum { TRUNK, ARM, LEG, THUMB, INDEX, MIDDLE, RING, LITTLE, LIMBS };

typedef struct body_joint {
  const char *name;
  int rank;   // order of importance; the right one of a pair comes after the left one
  int parent; // row of this table, -1 for none
  int limb;
  bool pair;
  double centre[3], tip[3]; // of the left one (+x)
  double radius;
} body_joint;

// The arm hangs 40 degrees below the horizontal along (cos 40, -sin 40, 0).
#define ON_ARM(s) 0.185 + 0.7660444 * (s), 1.435 - 0.6427876 * (s)

// Parents are rows; those of second and third finger joints are set when the table is walked (the row before).
static const body_joint table[] = {
  {"pelvis", 1, -1, TRUNK, false, {0, 0.98, 0}, {0, 1.1, 0}, 0.12},
  {"spine", 12, 0, TRUNK, false, {0, 1.09, -0.005}, {0, 1.2, -0.005}, 0.11},
  {"spine2", 20, 1, TRUNK, false, {0, 1.18, -0.005}, {0, 1.3, -0.005}, 0.11},
  {"chest", 2, 2, TRUNK, false, {0, 1.27, -0.005}, {0, 1.45, -0.01}, 0.11},
  {"spine3", 53, 3, TRUNK, false, {0, 1.37, -0.01}, {0, 1.48, -0.01}, 0.08},
  {"neck", 17, 4, TRUNK, false, {0, 1.485, -0.01}, {0, 1.57, 0.005}, 0.05},
  {"head", 11, 5, TRUNK, false, {0, 1.565, 0.005}, {0, 1.75, 0.01}, 0.055},
  {"thigh", 5, 0, LEG, true, {0.095, 0.925, 0}, {0.118, 0.5, 0.005}, 0.085},
  {"calf", 7, 7, LEG, true, {0.118, 0.5, 0.002}, {0.135, 0.09, -0.015}, 0.055},
  {"foot", 13, 8, LEG, true, {0.135, 0.085, -0.015}, {0.137, 0.0, -0.015}, 0.036},
  {"toes", 21, 9, LEG, true, {0.143, 0.028, 0.105}, {0.146, 0.025, 0.19}, 0.026},
  {"clavicle", 18, 4, ARM, true, {0.05, 1.44, -0.01}, {0.17, 1.437, -0.01}, 0.05},
  {"upperarm", 3, 11, ARM, true, {ON_ARM(0), -0.01}, {ON_ARM(0.29), -0.01}, 0.055},
  {"forearm", 9, 12, ARM, true, {ON_ARM(0.29), -0.01}, {ON_ARM(0.55), 0}, 0.042},
  {"hand", 15, 13, ARM, true, {ON_ARM(0.55), 0}, {ON_ARM(0.65), 0}, 0.030},
#define FINGER_JOINTS(name, first, limb, s0, s1, s2, s3, z0, z1, z2, z3)                                             \
  {name "1", first, 14, limb, true, {ON_ARM(s0), z0}, {ON_ARM(s1), z1}, 0.012},                                      \
    {name "2", first + 10, -2, limb, true, {ON_ARM(s1), z1}, {ON_ARM(s2), z2}, 0.011}, {                             \
    name "3", first + 20, -2, limb, true, {ON_ARM(s2), z2}, {ON_ARM(s3), z3}, 0.010                                  \
  }
  FINGER_JOINTS("thumb", 23, THUMB, 0.580, 0.608, 0.632, 0.652, 0.030, 0.066, 0.086, 0.100),
  FINGER_JOINTS("index", 25, INDEX, 0.645, 0.685, 0.711, 0.733, 0.038, 0.048, 0.054, 0.058),
  FINGER_JOINTS("middle", 27, MIDDLE, 0.650, 0.694, 0.723, 0.746, 0.012, 0.016, 0.018, 0.019),
  FINGER_JOINTS("ring", 29, RING, 0.645, 0.686, 0.713, 0.735, -0.014, -0.018, -0.020, -0.021),
  FINGER_JOINTS("little", 31, LITTLE, 0.634, 0.666, 0.688, 0.707, -0.039, -0.050, -0.056, -0.060),
};

enum { ROWS = sizeof table / sizeof table[0], FIRST_FINGER = 15, NAMED_JOINTS = 53, LONG_BONES = 8 };

// Everything about the figure being built that its parts share.
typedef struct body {
  sn_figure *figure;
  int joint_count;     // target
  int index[ROWS][2];  // joint of each row, left and right; -1 where it is left out
  int last[ROWS][2];   // the last roll joint of the bone, or the joint itself
  int group[LIMBS][2]; // group of each limb
  bool fingers;
} body;

static sn_vec3 mirrored(const double p[3], int right) { return sn_xyz(right ? -p[0] : p[0], p[1], p[2]); }
// A rotation axis, seen in the mirror.
static sn_vec3 mirrored_axis(sn_vec3 a, int right) { return right ? sn_xyz(a.x, -a.y, -a.z) : a; }

static int row_parent(int row) { return table[row].parent == -2 ? row - 1 : table[row].parent; }

// Roll joints in a long bone: as many as there are beyond the named ones, one bone after the other.
static int roll_count(const body *b, int row, int right) {
  static const int bones[LONG_BONES / 2] = {12, 13, 7, 8};
  int extra = b->joint_count - NAMED_JOINTS;
  for (int k = 0; k < LONG_BONES / 2; k++)
    if (bones[k] == row) return extra <= 0 ? 0 : (extra + LONG_BONES - 1 - (2 * k + right)) / LONG_BONES;
  return 0;
}

static void add_rolls(body *b, int row, int right) {
  int count = roll_count(b, row, right), joint = b->index[row][right];
  sn_figure *figure = b->figure;
  sn_vec3 from = mirrored(table[row].centre, right), to = mirrored(table[row].tip, right);
  double step = sn_vec3_distance(from, to) / (count + 1);
  for (int k = 0; k < count; k++) {
    char name[24];
    snprintf(name, sizeof name, "%s_roll%d_%s", table[row].name, k + 1, right ? "r" : "l");
    sn_vec3 centre = sn_vec3_lerp(from, to, (k + 1.0) / (count + 1));
    int roll = sn_figure_joint_add(figure, name, b->last[row][right], figure->joints[joint].group, centre, to, 0.03);
    figure->joints[roll].twist_from = -0.6 * step;
    figure->joints[roll].twist_to = 0.6 * step;
    double range = sn_degrees(24) / count;
    sn_figure_drive(figure, SN_DRIVE_WAVE, roll, figure->joints[roll].axis, -range, range, 1.6 + 0.37 * (k % 5));
    b->last[row][right] = roll;
  }
}

// The nearest joint above a row that is part of the figure.
static int joint_above(const body *b, int row, int right) {
  for (row = row_parent(row); row >= 0; row = row_parent(row)) {
    int side = table[row].pair ? right : 0;
    if (b->index[row][side] >= 0) return b->last[row][side];
  }
  return -1;
}

static void add_joint(body *b, int row, int right) {
  const body_joint *r = &table[row];
  if (r->rank + right > b->joint_count) return;
  int parent = joint_above(b, row, right), limb = r->limb;
  if (limb != TRUNK && b->group[limb][right] < 0) {
    bool finger = limb >= THUMB;
    int carrier = finger ? b->group[ARM][right] : 0;
    b->group[limb][right] = sn_figure_group_add(b->figure, carrier, parent,
                                                finger        ? 0.022
                                                : limb == ARM ? 0.085
                                                              : 0.10);
  }
  char name[24];
  snprintf(name, sizeof name, r->pair ? "%s_%s" : "%s", r->name, right ? "r" : "l");
  int group = limb == TRUNK ? 0 : b->group[limb][right];
  int joint = sn_figure_joint_add(b->figure, name, parent, group, mirrored(r->centre, right), mirrored(r->tip, right),
                                  r->radius);
  b->index[row][right] = b->last[row][right] = joint;
  add_rolls(b, row, right);
}

static void body_joints(body *b) {
  for (int row = 0; row < ROWS; row++) b->index[row][0] = b->index[row][1] = -1;
  for (int limb = 0; limb < LIMBS; limb++) b->group[limb][0] = b->group[limb][1] = limb == TRUNK ? 0 : -1;
  for (int row = 0; row < ROWS; row++)
    for (int right = 0; right <= (table[row].pair ? 1 : 0); right++) add_joint(b, row, right);
  for (int limb = 1; limb < LIMBS; limb++)
    for (int right = 0; right < 2; right++)
      if (b->group[limb][right] < 0) b->group[limb][right] = limb >= THUMB ? b->group[ARM][right] : 0;
}

// ---- shapes ------------------------------------------------------------------------------------------------------

static void trunk_shapes(sn_figure *f) {
  sn_vec3 front = sn_xyz(0, 0, 1);
  sn_figure_flat(f, 0, sn_xyz(0, 1.02, 0), sn_xyz(0, 1.18, 0.005), 0.132, 0.124, 0.05, front, 1.3);  // waist
  sn_figure_flat(f, 0, sn_xyz(0, 1.20, 0), sn_xyz(0, 1.37, -0.01), 0.135, 0.150, 0.08, front, 1.35); // ribs
  sn_figure_flat(f, 0, sn_xyz(-0.055, 0.965, -0.005), sn_xyz(0.055, 0.965, -0.005), 0.108, 0.108, 0.06, front, 1.12);
  sn_figure_capsule(f, 0, sn_xyz(-0.125, 1.428, -0.012), sn_xyz(0.125, 1.428, -0.012), 0.050, 0.050, 0.06); // collar
  sn_figure_capsule(f, 0, sn_xyz(0, 1.44, -0.014), sn_xyz(0, 1.57, 0.005), 0.056, 0.052, 0.05);             // neck
  for (int s = -1; s <= 1; s += 2) {
    sn_figure_capsule(f, 0, sn_xyz(0.02 * s, 1.51, -0.02), sn_xyz(0.13 * s, 1.45, -0.018), 0.030, 0.030, 0.05);
    sn_figure_flat(f, 0, sn_xyz(0.06 * s, 1.345, 0.070), sn_xyz(0.105 * s, 1.365, 0.055), 0.052, 0.045, 0.04, front,
                   1.4);
    sn_figure_capsule(f, 0, sn_xyz(0.07 * s, 0.95, -0.058), sn_xyz(0.075 * s, 0.90, -0.050), 0.066, 0.060, 0.05);
    sn_figure_capsule(f, 0, sn_xyz(0.085 * s, 1.24, -0.045), sn_xyz(0.125 * s, 1.37, -0.045), 0.045, 0.035, 0.05);
  }
}

static void head_shapes(sn_figure *f) {
  int first = f->shape_count;
  sn_figure_flat(f, 0, sn_xyz(0, 1.665, 0.0), sn_xyz(0, 1.685, 0.022), 0.088, 0.086, 0.03, sn_xyz(1, 0, 0), 1.14);
  sn_figure_flat(f, 0, sn_xyz(0, 1.60, 0.045), sn_xyz(0, 1.645, 0.05), 0.050, 0.056, 0.04, sn_xyz(1, 0, 0), 1.05);
  sn_figure_capsule(f, 0, sn_xyz(0, 1.652, 0.108), sn_xyz(0, 1.632, 0.118), 0.008, 0.012, 0.02); // nose
  for (int s = -1; s <= 1; s += 2)
    sn_figure_flat(f, 0, sn_xyz(0.076 * s, 1.635, 0.0), sn_xyz(0.082 * s, 1.665, -0.006), 0.016, 0.020, 0.012,
                   sn_xyz(1, 0, 0), 1.8); // ears
  for (int k = first; k < f->shape_count; k++) f->shapes[k].detail = 0.8;
}

static sn_vec3 on_arm(double s, double up, double z, int right) {
  const double p[3] = {ON_ARM(s), z};
  return sn_vec3_add(mirrored(p, right), sn_xyz((right ? -0.6427876 : 0.6427876) * up, 0.7660444 * up, 0));
}

static void arm_shapes(sn_figure *f, int group, int right) {
  sn_figure_spindle(f, group, on_arm(-0.05, 0.012, -0.01, right), on_arm(0.15, 0.012, -0.01, right), 0.030, 0.022);
  sn_figure_capsule(f, group, on_arm(0.01, 0, -0.01, right), on_arm(0.29, 0, -0.01, right), 0.045, 0.034, 0.03);
  sn_figure_spindle(f, group, on_arm(0.05, 0, 0.002, right), on_arm(0.285, 0, -0.002, right), 0.018, 0.018);
  sn_figure_spindle(f, group, on_arm(0.02, 0, -0.024, right), on_arm(0.27, 0, -0.020, right), 0.022, 0.014);
  sn_figure_capsule(f, group, on_arm(0.29, 0, -0.01, right), on_arm(0.55, 0, 0, right), 0.034, 0.025, 0.03);
  sn_figure_spindle(f, group, on_arm(0.27, 0.006, -0.002, right), on_arm(0.49, 0.002, 0, right), 0.018, 0.020);
}

static void hand_shapes(body *b, int right) {
  sn_figure *f = b->figure;
  sn_vec3 palm = sn_xyz(right ? -0.6427876 : 0.6427876, 0.7660444, 0);
  int first = f->shape_count, arm = b->group[ARM][right];
  sn_figure_flat(f, arm, on_arm(0.585, 0, 0.002, right), on_arm(0.625, 0, 0, right), 0.036, 0.044, 0.03, palm, 2.2);
  if (b->fingers) {
    for (int row = FIRST_FINGER; row < ROWS; row++) {
      const body_joint *r = &table[row];
      double thick = r->limb == THUMB ? 0.0130 : r->limb == LITTLE ? 0.0095 : 0.0105;
      sn_figure_capsule(f, b->group[r->limb][right], mirrored(r->centre, right), mirrored(r->tip, right), thick,
                        thick * 0.93, 0.008);
    }
  } else {
    sn_figure_flat(f, arm, on_arm(0.645, 0, 0, right), on_arm(0.725, -0.008, 0, right), 0.042, 0.026, 0.03, palm,
                   2.0);
    sn_figure_capsule(f, arm, on_arm(0.590, 0, 0.030, right), on_arm(0.640, -0.004, 0.066, right), 0.018, 0.014,
                      0.02);
  }
  for (int k = first; k < f->shape_count; k++) f->shapes[k].detail = b->fingers ? 0.55 : 0.75;
}

static void leg_shapes(sn_figure *f, int group, int right) {
  double s = right ? -1 : 1;
  sn_vec3 up = sn_xyz(0, 1, 0);
  sn_figure_capsule(f, group, sn_xyz(0.094 * s, 0.91, -0.002), sn_xyz(0.118 * s, 0.51, 0.004), 0.084, 0.048, 0.05);
  sn_figure_spindle(f, group, sn_xyz(0.106 * s, 0.90, 0.018), sn_xyz(0.122 * s, 0.52, 0.014), 0.034, 0.026);
  sn_figure_spindle(f, group, sn_xyz(0.096 * s, 0.88, -0.026), sn_xyz(0.116 * s, 0.52, -0.010), 0.030, 0.022);
  sn_figure_capsule(f, group, sn_xyz(0.118 * s, 0.515, 0.026), sn_xyz(0.119 * s, 0.488, 0.024), 0.025, 0.023, 0.035);
  sn_figure_capsule(f, group, sn_xyz(0.118 * s, 0.50, 0), sn_xyz(0.135 * s, 0.10, -0.015), 0.045, 0.030, 0.04);
  sn_figure_spindle(f, group, sn_xyz(0.106 * s, 0.485, -0.016), sn_xyz(0.128 * s, 0.20, -0.020), 0.022, 0.024);
  sn_figure_spindle(f, group, sn_xyz(0.134 * s, 0.485, -0.014), sn_xyz(0.138 * s, 0.22, -0.018), 0.022, 0.020);
  sn_figure_capsule(f, group, sn_xyz(0.135 * s, 0.09, -0.02), sn_xyz(0.136 * s, 0.036, -0.05), 0.034, 0.031, 0.03);
  sn_figure_capsule(f, group, sn_xyz(0.135 * s, 0.085, 0), sn_xyz(0.142 * s, 0.035, 0.085), 0.034, 0.027, 0.04);
  sn_figure_flat(f, group, sn_xyz(0.136 * s, 0.024, -0.03), sn_xyz(0.143 * s, 0.024, 0.11), 0.032, 0.042, 0.03, up,
                 1.8);
  sn_figure_flat(f, group, sn_xyz(0.136 * s, 0.022, 0.12), sn_xyz(0.132 * s, 0.020, 0.170), 0.030, 0.024, 0.02, up,
                 1.6);
  sn_figure_flat(f, group, sn_xyz(0.158 * s, 0.022, 0.11), sn_xyz(0.156 * s, 0.020, 0.150), 0.028, 0.022, 0.02, up,
                 1.6);
}

// ---- motion and muscles ------------------------------------------------------------------------------------------

static void drive(body *b, int row, int right, sn_vec3 axis, double low, double high, double cycles) {
  int joint = b->index[row][right];
  if (joint < 0) return;
  // a bend's axis is made exactly square to the bone
  sn_vec3 bone = b->figure->joints[joint].axis, a = mirrored_axis(axis, right);
  if (fabs(sn_vec3_dot(a, bone)) < 0.9)
    a = sn_vec3_normalize(sn_vec3_mad(a, bone, -sn_vec3_dot(a, bone)), sn_vec3_perpendicular(bone));
  else
    a = sn_vec3_scale(bone, sn_vec3_dot(a, bone) < 0 ? -1 : 1);
  sn_figure_drive(b->figure, SN_DRIVE_WAVE, joint, a, sn_degrees(low), sn_degrees(high), cycles);
}

static void trunk_drives(body *b) {
  sn_vec3 x = sn_xyz(1, 0, 0), y = sn_xyz(0, 1, 0), z = sn_xyz(0, 0, 1);
  drive(b, 0, 0, x, -8, 14, 1.1);
  drive(b, 0, 0, y, -25, 25, 0.8);
  double share = 0; // of the bend of the back, for each of its joints
  for (int row = 1; row <= 4; row++) share += b->index[row][0] >= 0;
  for (int row = 1; row <= 4; row++) {
    drive(b, row, 0, x, -12 / share, 34 / share, 1.3 + 0.2 * row);
    drive(b, row, 0, z, -22 / share, 22 / share, 1.9 - 0.2 * row);
    drive(b, row, 0, y, -30 / share, 30 / share, 1.1 + 0.3 * row);
  }
  drive(b, 5, 0, x, -12, 18, 2.1);
  drive(b, 6, 0, x, -15, 20, 1.7);
  drive(b, 6, 0, y, -45, 45, 1.45);
}

static void limb_drives(body *b, int right) {
  double lag = right ? 0.83 : 1;
  sn_vec3 x = sn_xyz(1, 0, 0), z = sn_xyz(0, 0, 1), down = sn_xyz(0, -1, 0);
  sn_vec3 along = sn_xyz(0.7660444, -0.6427876, 0), forward = sn_xyz(-0.6427876, -0.7660444, 0);
  drive(b, 11, right, z, -6, 14, 1.9 * lag);
  drive(b, 12, right, z, -28, 55, 1.75 * lag);
  drive(b, 12, right, forward, -20, 55, 1.3 * lag);
  drive(b, 12, right, along, -35, 35, 2.3 * lag);
  drive(b, 13, right, forward, 0, 115, 2.2 * lag);
  drive(b, 13, right, along, -35, 35, 1.35 * lag);
  drive(b, 14, right, z, -35, 35, 2.6 * lag);
  drive(b, 7, right, sn_xyz(-1, 0, 0), -15, 65, 1.6 * lag);
  drive(b, 7, right, z, -4, 18, 1.15 * lag);
  drive(b, 7, right, down, -18, 18, 1.85 * lag);
  drive(b, 8, right, x, 0, 95, 1.95 * lag);
  drive(b, 9, right, x, -20, 30, 2.4 * lag);
  drive(b, 10, right, sn_xyz(-1, 0, 0), 0, 25, 1.5 * lag);
  for (int row = FIRST_FINGER; row < ROWS; row++)
    drive(b, row, right, sn_xyz(0, 0, -1), -5, row < FIRST_FINGER + 3 ? 25 : 55, (1.4 + 0.13 * (row % 7)) * lag);
}

static void limb_muscles(body *b, int right) {
  sn_figure *f = b->figure;
  int upper = b->index[12][right], lower = b->index[13][right], thigh = b->index[7][right], calf = b->index[8][right];
  sn_vec3 front = sn_xyz(0, 0, 1), back = sn_xyz(0, 0, -1);
  if (upper >= 0 && lower >= 0) {
    sn_figure_muscle(f, upper, lower, 0.165, 0.22, front, 2, 0.013, 0.011, -0.02);
    sn_figure_muscle(f, upper, lower, 0.150, 0.24, back, 2, -0.004, 0.006, 0.01);
    sn_figure_muscle(f, lower, lower, 0.085, 0.19, sn_xyz(right ? -0.6427876 : 0.6427876, 0.7660444, 0), 2, 0.005,
                     0.007, -0.01);
    sn_figure_drive(f, SN_DRIVE_TORQUE, lower, f->joints[lower].axis, 0, 60, right ? 4.3 : 3.7);
  }
  if (thigh >= 0 && calf >= 0) {
    sn_figure_muscle(f, thigh, calf, 0.20, 0.30, front, 2, -0.003, 0.013, 0.02);
    sn_figure_muscle(f, thigh, calf, 0.22, 0.30, back, 2, 0.010, 0.008, -0.02);
    sn_figure_muscle(f, calf, calf, 0.13, 0.24, back, 2, 0.006, 0.012, -0.014);
    sn_figure_drive(f, SN_DRIVE_TORQUE, calf, f->joints[calf].axis, 0, 150, right ? 4.9 : 3.1);
  }
}

// A muscle beside the bone of a row, driven by the bend of another row's joint about one axis (of the left side).
static void muscle(body *b, int bone, int driver, int right, double at, double length, sn_vec3 side, double by_bend,
                   double slide, sn_vec3 bend_axis) {
  int from = b->index[bone][table[bone].pair ? right : 0], by = b->index[driver][table[driver].pair ? right : 0];
  if (right) side.x = -side.x;
  sn_muscle *m = sn_figure_muscle(b->figure, from, by, at, length, side, 2, by_bend, 0, slide);
  m->bend_axis = mirrored_axis(bend_axis, right);
}

// Muscles that depend on the angles alone, at shoulders, arms, hips, legs and the belly.
static void athlete_muscles(body *b, int right) {
  sn_vec3 front = sn_xyz(0, 0, 1), back = sn_xyz(0, 0, -1), x = sn_xyz(1, 0, 0), z = sn_xyz(0, 0, 1);
  sn_vec3 up_arm = sn_xyz(0.6427876, 0.7660444, 0), forward = sn_xyz(-0.6427876, -0.7660444, 0),
          any = sn_xyz(0, 0, 0);
  muscle(b, 12, 12, right, 0.06, 0.18, up_arm, 0.030, -0.015, z);                          // deltoid
  muscle(b, 12, 12, right, -0.08, 0.22, sn_xyz(0, -0.4, 0.9165151), 0.030, 0.02, forward); // pectoral
  muscle(b, 12, 13, right, 0.165, 0.22, front, 0.024, -0.02, any);                         // biceps
  muscle(b, 12, 13, right, 0.150, 0.24, back, -0.010, 0.01, any);                          // triceps
  muscle(b, 13, 13, right, 0.085, 0.19, up_arm, 0.012, -0.01, any);
  muscle(b, 7, 7, right, 0.02, 0.22, back, 0.030, 0.02, sn_xyz(-1, 0, 0)); // seat
  muscle(b, 7, 7, right, 0.10, 0.20, front, 0.020, 0.01, sn_xyz(-1, 0, 0));
  muscle(b, 7, 8, right, 0.22, 0.30, front, -0.012, 0.02, x); // thigh
  muscle(b, 7, 8, right, 0.22, 0.30, back, 0.024, -0.02, x);
  muscle(b, 8, 8, right, 0.13, 0.24, back, 0.018, -0.014, x); // calf
  muscle(b, 8, 9, right, 0.13, 0.20, back, 0.030, -0.01, x);
}

static void body_trunk(body *b) {
  body_joints(b);
  trunk_shapes(b->figure);
  head_shapes(b->figure);
  trunk_drives(b);
}

static void body_limbs(body *b, int right) {
  arm_shapes(b->figure, b->group[ARM][right], right);
  hand_shapes(b, right);
  leg_shapes(b->figure, b->group[LEG][right], right);
  limb_drives(b, right);
}

// What an animator's rig does: volume, muscles that depend on angles, and a smoothed skin with its details kept.
void sn_figure_athlete(sn_figure *figure, int joint_count) {
  body b = {.figure = figure, .joint_count = joint_count};
  body_trunk(&b);
  for (int right = 0; right < 2; right++) {
    body_limbs(&b, right);
    athlete_muscles(&b, right);
    sn_figure_control(figure, on_arm(0.75, 0, 0, right));
  }
  muscle(&b, 3, 3, 0, -0.08, 0.24, sn_xyz(0, 0, 1), 0.05, 0.01, sn_xyz(1, 0, 0)); // belly
  figure->smoothing = 8;
}

void sn_figure_body(sn_figure *figure, int joint_count) {
  body b = {.figure = figure, .joint_count = joint_count, .fingers = joint_count >= 32};
  figure->torque_squared = 0.4;
  body_trunk(&b);
  for (int right = 0; right < 2; right++) {
    body_limbs(&b, right);
    limb_muscles(&b, right);
    double s = right ? -1 : 1;
    sn_figure_control(figure, on_arm(0.75, 0, 0, right));
    sn_figure_control(figure, sn_xyz(0.135 * s, 0.02, 0.2));
  }
  sn_figure_control(figure, sn_xyz(0, 1.78, 0));
}
