// SPDX-License-Identifier: MIT
// The left shoulder with a part of the chest and a straight arm along +x (y up, facing +z): two joints, and three
// degrees of freedom in the second. Deltoid, pectoral, latissimus and shoulder blade move under the skin. Metres.
#include "lab/gen/figure.h"

void sn_figure_shoulder(sn_figure *figure, int joint_count) {
  (void)joint_count;
  sn_vec3 front = sn_xyz(0, 0, 1), centre = sn_xyz(0.185, 0, -0.005);
  sn_figure_flat(figure, 0, sn_xyz(0.03, -0.27, 0), sn_xyz(0.04, -0.03, 0), 0.125, 0.135, 0.05, front, 1.35); // chest
  sn_figure_capsule(figure, 0, sn_xyz(-0.03, 0.05, -0.01), sn_xyz(-0.035, 0.14, 0.0), 0.062, 0.055, 0.08);    // neck
  sn_figure_capsule(figure, 0, sn_xyz(0.0, 0.06, -0.02), sn_xyz(0.15, 0.025, -0.01), 0.055, 0.042, 0.06); // trapezius
  sn_figure_spindle(figure, 0, sn_xyz(-0.03, -0.11, 0.045), sn_xyz(0.175, -0.012, 0.028), 0.022, 0.032);  // pectoral
  sn_figure_spindle(figure, 0, sn_xyz(0.03, -0.29, -0.03), sn_xyz(0.165, -0.025, -0.035), 0.026, 0.028); // latissimus
  sn_figure_spindle(figure, 0, sn_xyz(0.02, -0.18, -0.060), sn_xyz(0.11, 0.03, -0.050), 0.020, 0.026);   // blade
  int chest = sn_figure_joint_add(figure, "chest", -1, 0, sn_xyz(0, -0.2, 0), sn_xyz(0, 0.1, 0), 0.13);
  int limb = sn_figure_group_add(figure, 0, chest, 0.085);
  sn_figure_spindle(figure, limb, sn_xyz(0.135, 0.014, 0), sn_xyz(0.340, 0.006, 0.002), 0.030, 0.024); // deltoid
  sn_figure_capsule(figure, limb, sn_xyz(0.19, 0.0, -0.004), sn_xyz(0.47, 0, 0), 0.047, 0.035, 0.04);
  sn_figure_spindle(figure, limb, sn_xyz(0.23, 0.002, 0.012), sn_xyz(0.47, 0, 0.010), 0.018, 0.018);    // biceps
  sn_figure_spindle(figure, limb, sn_xyz(0.20, -0.002, -0.014), sn_xyz(0.46, 0, -0.012), 0.020, 0.015); // triceps
  sn_figure_capsule(figure, limb, sn_xyz(0.47, 0, 0), sn_xyz(0.67, 0, 0), 0.035, 0.026, 0.03);          // forearm
  sn_figure_spindle(figure, limb, sn_xyz(0.46, 0.006, 0), sn_xyz(0.65, 0.002, 0), 0.018, 0.018);
  int arm =
    sn_figure_joint_add(figure, "upperarm", chest, limb, centre, sn_vec3_add(centre, sn_xyz(0.28, 0, 0)), 0.055);
  figure->joints[arm].twist_from = -0.02;
  figure->joints[arm].twist_to = 0.24;
  sn_muscle *deltoid = sn_figure_muscle(figure, arm, arm, 0.04, 0.17, sn_xyz(0, 1, 0), 2, 0.010, 0, -0.015);
  deltoid->bend_axis = sn_xyz(0, 0, 1);
  sn_muscle *pectoral =
    sn_figure_muscle(figure, arm, arm, -0.08, 0.20, sn_xyz(0, -0.4, 0.9165151), 2, 0.016, 0, 0.02);
  pectoral->bend_axis = sn_xyz(0, -1, 0);
  sn_muscle *blade = sn_figure_muscle(figure, arm, arm, -0.10, 0.18, sn_xyz(0, -0.3, -0.9539392), 2, 0.014, 0, 0.035);
  blade->bend_axis = sn_xyz(0, 0, 1);
  sn_figure_drive(figure, SN_DRIVE_WAVE, arm, sn_xyz(0, 0, 1), sn_degrees(-75), sn_degrees(60), 2.1);
  sn_figure_drive(figure, SN_DRIVE_WAVE, arm, sn_xyz(0, -1, 0), sn_degrees(-25), sn_degrees(75), 1.35);
  sn_figure_drive(figure, SN_DRIVE_WAVE, arm, sn_xyz(1, 0, 0), sn_degrees(-60), sn_degrees(60), 2.8);
  sn_figure_control(figure, sn_xyz(0.69, 0, 0));
  sn_figure_control(figure, sn_xyz(0.47, 0, 0.04));
  sn_figure_control(figure, sn_xyz(0.20, 0.07, 0));
  figure->load = arm;
}
