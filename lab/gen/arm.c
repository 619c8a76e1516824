// SPDX-License-Identifier: MIT
// Arms along +x, biceps up (+y), thumb up: `elbow` (two joints), `wrist` (two joints, 180 degrees of twist) and `arm` (three
// joints, a muscle load). Metres.
#include "lab/gen/figure.h"

static const double elbow_at = 0.30, wrist_at = 0.56;

static void upper_arm_shapes(sn_figure *figure) {
  sn_figure_capsule(figure, 0, sn_xyz(-0.005, 0, 0), sn_xyz(0.285, -0.002, 0), 0.043, 0.034, 0.02);
  sn_figure_spindle(figure, 0, sn_xyz(-0.030, 0.012, 0.008), sn_xyz(0.150, 0.010, 0.016), 0.024, 0.018);    // deltoid
  sn_figure_spindle(figure, 0, sn_xyz(0.045, 0.012, 0), sn_xyz(0.285, 0.010, 0.002), 0.018, 0.018);         // biceps
  sn_figure_spindle(figure, 0, sn_xyz(0.020, -0.012, -0.006), sn_xyz(0.270, -0.012, -0.002), 0.022, 0.014); // triceps
  sn_figure_capsule(figure, 0, sn_xyz(0.290, -0.020, 0), sn_xyz(0.308, -0.018, 0), 0.016, 0.015, 0.035);    // elbow
  sn_figure_capsule(figure, 0, sn_xyz(0.292, 0, -0.010), sn_xyz(0.292, 0, 0.010), 0.032, 0.032, 0.03);
}

static void forearm_shapes(sn_figure *figure) {
  sn_figure_flat(figure, 0, sn_xyz(0.295, 0, 0), sn_xyz(wrist_at, 0, 0), 0.035, 0.028, 0.03, sn_xyz(0, 0, 1), 1.18);
  sn_figure_spindle(figure, 0, sn_xyz(0.270, 0.010, 0.012), sn_xyz(0.480, 0.006, 0.004), 0.016,
                    0.018); // brachioradialis
  sn_figure_spindle(figure, 0, sn_xyz(0.290, -0.008, -0.010), sn_xyz(0.500, -0.006, -0.004), 0.016, 0.016); // flexors
}

static void hand_shapes(sn_figure *figure) {
  sn_vec3 side = sn_xyz(0, 0, 1);
  int first = figure->shape_count;
  sn_figure_flat(figure, 0, sn_xyz(0.60, 0, 0), sn_xyz(0.645, -0.002, 0), 0.036, 0.041, 0.04, side, 2.3);
  for (int k = 0; k < 4; k++) {
    double y = 0.030 - 0.0205 * k, reach = k == 0 ? 0.735 : k == 1 ? 0.748 : k == 2 ? 0.740 : 0.715;
    sn_figure_capsule(figure, 0, sn_xyz(0.655, y * 0.95, 0), sn_xyz(reach, y * 1.12, -0.006), 0.0115, 0.0095, 0.012);
  }
  sn_figure_capsule(figure, 0, sn_xyz(0.595, 0.022, -0.006), sn_xyz(0.635, 0.052, -0.020), 0.018, 0.0125,
                    0.025); // thumb
  sn_figure_capsule(figure, 0, sn_xyz(0.635, 0.052, -0.020), sn_xyz(0.667, 0.062, -0.026), 0.0125, 0.010, 0.01);
  for (int k = first; k < figure->shape_count; k++) figure->shapes[k].detail = 0.8;
}

// Bellies of the upper arm, driven by the joint of the forearm.
static void upper_arm_muscles(sn_figure *figure, int upper, int lower, double torque) {
  sn_figure_muscle(figure, upper, lower, 0.165, 0.22, sn_xyz(0, 1, 0), 2, 0.015, 0.013 * torque, -0.022);
  sn_figure_muscle(figure, upper, lower, 0.150, 0.25, sn_xyz(0, -1, 0), 2, -0.005, 0.006 * torque, 0.010);
}

static void forearm_muscles(sn_figure *figure, int bone, int driver, double start, double torque) {
  sn_figure_muscle(figure, bone, driver, start + 0.075, 0.19, sn_xyz(0, 0.8, 0.6), 2, 0.006, 0.009 * torque, -0.010);
  sn_figure_muscle(figure, bone, driver, start + 0.090, 0.18, sn_xyz(0, -0.7, -0.7141428), 2, 0.003, 0.006 * torque,
                   -0.008);
}

// Two joints: the lower one bends and twists at once, and both grow along the sequence (Wang 2007, Elbow).
void sn_figure_elbow(sn_figure *figure, int joint_count) {
  (void)joint_count;
  upper_arm_shapes(figure);
  forearm_shapes(figure);
  hand_shapes(figure);
  int upper = sn_figure_joint_add(figure, "upperarm", -1, 0, sn_xyz(0, 0, 0), sn_xyz(elbow_at, 0, 0), 0.05);
  int lower = sn_figure_joint_add(figure, "forearm", upper, 0, sn_xyz(elbow_at, 0, 0), sn_xyz(wrist_at, 0, 0), 0.042);
  figure->joints[lower].twist_from = 0.01;
  figure->joints[lower].twist_to = 0.25;
  upper_arm_muscles(figure, upper, lower, 0);
  forearm_muscles(figure, lower, lower, 0, 0);
  sn_figure_drive(figure, SN_DRIVE_RAMP, lower, sn_xyz(0, 0, 1), 0, sn_degrees(115), 2.0);
  sn_figure_drive(figure, SN_DRIVE_RAMP, lower, sn_xyz(1, 0, 0), 0, sn_degrees(100), 3.0);
  sn_figure_control(figure, sn_xyz(0.75, 0, 0));
  sn_figure_control(figure, sn_xyz(0.60, 0.04, 0));
  sn_figure_control(figure, sn_xyz(0.16, 0.06, 0));
  figure->load = lower;
}

void sn_figure_elbow_angles(sn_figure *figure, const sn_gen_angles *angles) {
  figure->drives[0].kind = figure->drives[1].kind = SN_DRIVE_LINEAR;
  figure->drives[0].high = sn_degrees(angles->bend), figure->drives[1].high = sn_degrees(angles->twist);
}

// Two joints: the hand rotates by 180 degrees in equal steps, which the forearm takes up unevenly (Murtagh 2008, section 5).
void sn_figure_wrist(sn_figure *figure, int joint_count) {
  (void)joint_count;
  forearm_shapes(figure);
  hand_shapes(figure);
  int lower = sn_figure_joint_add(figure, "forearm", -1, 0, sn_xyz(elbow_at, 0, 0), sn_xyz(wrist_at, 0, 0), 0.042);
  int hand = sn_figure_joint_add(figure, "hand", lower, 0, sn_xyz(wrist_at, 0, 0), sn_xyz(0.75, 0, 0), 0.032);
  figure->joints[hand].twist_from = -0.22;
  figure->joints[hand].twist_to = 0.02;
  sn_figure_drive(figure, SN_DRIVE_LINEAR, hand, sn_xyz(1, 0, 0), 0, SN_PI, 1);
  sn_figure_control(figure, sn_xyz(0.75, 0, 0));
  sn_figure_control(figure, sn_xyz(0.66, 0.06, -0.03));
  figure->load = hand;
}

void sn_figure_arm(sn_figure *figure, int joint_count) {
  (void)joint_count;
  upper_arm_shapes(figure);
  forearm_shapes(figure);
  hand_shapes(figure);
  int upper = sn_figure_joint_add(figure, "upperarm", -1, 0, sn_xyz(0, 0, 0), sn_xyz(elbow_at, 0, 0), 0.05);
  int lower = sn_figure_joint_add(figure, "forearm", upper, 0, sn_xyz(elbow_at, 0, 0), sn_xyz(wrist_at, 0, 0), 0.042);
  int hand = sn_figure_joint_add(figure, "hand", lower, 0, sn_xyz(wrist_at, 0, 0), sn_xyz(0.75, 0, 0), 0.030);
  figure->joints[hand].twist_from = -0.23;
  figure->joints[hand].twist_to = 0.02;
  upper_arm_muscles(figure, upper, lower, 1);
  forearm_muscles(figure, lower, lower, 0, 1);
  figure->torque_squared = 0.03;
  sn_figure_drive(figure, SN_DRIVE_WAVE, lower, sn_xyz(0, 0, 1), 0, sn_degrees(125), 1.55);
  sn_figure_drive(figure, SN_DRIVE_WAVE, hand, sn_xyz(1, 0, 0), sn_degrees(-70), sn_degrees(85), 1.27);
  sn_figure_drive(figure, SN_DRIVE_WAVE, hand, sn_xyz(0, 1, 0), sn_degrees(-35), sn_degrees(45), 1.9);
  sn_figure_drive(figure, SN_DRIVE_TORQUE, lower, sn_xyz(0, 0, 1), 0, 60, 5.37);
  sn_figure_control(figure, sn_xyz(0.75, 0, 0));
  sn_figure_control(figure, sn_xyz(0.61, 0.05, -0.02));
  sn_figure_control(figure, sn_xyz(0.15, 0.06, 0));
  sn_figure_control(figure, sn_xyz(0.40, 0.02, 0.04));
  figure->load = lower;
}
