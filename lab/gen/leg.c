// SPDX-License-Identifier: MIT
// A leg along -y, facing +z: thigh, calf and foot. The muscles answer a load with its square: barely at first, then
// strongly. Metres.
#include "lab/gen/figure.h"

static void thigh_shapes(sn_figure *figure) {
  sn_figure_capsule(figure, 0, sn_xyz(0, 0.01, -0.004), sn_xyz(0, -0.41, 0), 0.080, 0.047, 0.03);
  sn_figure_spindle(figure, 0, sn_xyz(0.006, 0.03, -0.030), sn_xyz(0.002, -0.20, -0.022), 0.040, 0.018); // gluteus
  sn_figure_spindle(figure, 0, sn_xyz(0.010, -0.03, 0.020), sn_xyz(0.006, -0.40, 0.014), 0.034, 0.026);  // quadriceps
  sn_figure_spindle(figure, 0, sn_xyz(-0.020, -0.20, 0.012), sn_xyz(-0.014, -0.41, 0.014), 0.024, 0.018); // vastus
  sn_figure_spindle(figure, 0, sn_xyz(0, -0.05, -0.026), sn_xyz(0, -0.40, -0.012), 0.028, 0.022);       // hamstrings
  sn_figure_capsule(figure, 0, sn_xyz(0, -0.402, 0.024), sn_xyz(0, -0.430, 0.023), 0.026, 0.023, 0.04); // kneecap
}

static void calf_shapes(sn_figure *figure) {
  sn_figure_capsule(figure, 0, sn_xyz(0, -0.42, 0), sn_xyz(0, -0.83, -0.004), 0.046, 0.029, 0.04);
  sn_figure_spindle(figure, 0, sn_xyz(-0.014, -0.43, -0.016), sn_xyz(-0.006, -0.72, -0.012), 0.022,
                    0.024); // gastrocnemius
  sn_figure_spindle(figure, 0, sn_xyz(0.016, -0.43, -0.014), sn_xyz(0.008, -0.70, -0.012), 0.022, 0.021);
  sn_figure_spindle(figure, 0, sn_xyz(0.006, -0.42, 0.010), sn_xyz(0.002, -0.75, 0.004), 0.024, 0.010);       // shin
  sn_figure_capsule(figure, 0, sn_xyz(-0.024, -0.832, 0), sn_xyz(0.024, -0.842, -0.006), 0.018, 0.017, 0.03); // ankle
}

static void foot_shapes(sn_figure *figure) {
  sn_vec3 up = sn_xyz(0, 1, 0);
  sn_figure_capsule(figure, 0, sn_xyz(0, -0.83, -0.01), sn_xyz(0, -0.885, -0.045), 0.033, 0.031, 0.03); // heel
  sn_figure_capsule(figure, 0, sn_xyz(0, -0.845, 0.0), sn_xyz(0, -0.89, 0.10), 0.036, 0.026, 0.04);     // instep
  sn_figure_flat(figure, 0, sn_xyz(0, -0.897, -0.03), sn_xyz(0.004, -0.897, 0.12), 0.032, 0.043, 0.03, up, 1.9);
  sn_figure_flat(figure, 0, sn_xyz(-0.012, -0.900, 0.13), sn_xyz(-0.012, -0.902, 0.168), 0.026, 0.019, 0.02, up, 1.5);
  sn_figure_flat(figure, 0, sn_xyz(0.022, -0.900, 0.13), sn_xyz(0.020, -0.903, 0.150), 0.025, 0.018, 0.02, up, 1.6);
}

void sn_figure_leg(sn_figure *figure, int joint_count) {
  (void)joint_count;
  thigh_shapes(figure);
  calf_shapes(figure);
  foot_shapes(figure);
  sn_vec3 knee = sn_xyz(0, -0.42, -0.004), ankle = sn_xyz(0, -0.835, -0.004);
  int thigh = sn_figure_joint_add(figure, "thigh", -1, 0, sn_xyz(0, 0, 0), sn_xyz(0, -0.42, 0), 0.08);
  int calf = sn_figure_joint_add(figure, "calf", thigh, 0, knee, sn_vec3_add(knee, sn_xyz(0, -0.4, 0)), 0.055);
  int foot = sn_figure_joint_add(figure, "foot", calf, 0, ankle, sn_vec3_add(ankle, sn_xyz(0, -0.1, 0)), 0.036);
  figure->joints[calf].twist_from = 0;
  figure->joints[calf].twist_to = 0.3;
  figure->joints[foot].twist_from = -0.06;
  figure->joints[foot].twist_to = 0.04;
  sn_figure_muscle(figure, thigh, calf, 0.22, 0.34, sn_xyz(0, 0, 1), 2, -0.004, 0.016, 0.020);
  sn_figure_muscle(figure, thigh, calf, 0.23, 0.32, sn_xyz(0, 0, -1), 2, 0.014, 0.012, -0.020);
  sn_figure_muscle(figure, thigh, calf, 0.30, 0.17, sn_xyz(-0.8, 0, 0.6), 3, 0, 0.010, 0.006);
  sn_figure_muscle(figure, calf, calf, 0.13, 0.24, sn_xyz(0, 0, -1), 2, 0.008, 0.015, -0.014);
  figure->torque_squared = 0.9;
  sn_figure_drive(figure, SN_DRIVE_WAVE, calf, sn_xyz(1, 0, 0), 0, sn_degrees(120), 2.6);
  sn_figure_drive(figure, SN_DRIVE_WAVE, calf, sn_xyz(0, -1, 0), sn_degrees(-20), sn_degrees(25), 1.7);
  sn_figure_drive(figure, SN_DRIVE_WAVE, foot, sn_xyz(1, 0, 0), sn_degrees(-25), sn_degrees(40), 2.15);
  sn_figure_drive(figure, SN_DRIVE_WAVE, foot, sn_xyz(0, -1, 0), sn_degrees(-30), sn_degrees(30), 1.3);
  sn_figure_drive(figure, SN_DRIVE_TORQUE, calf, sn_xyz(1, 0, 0), 0, 150, 9.3);
  sn_figure_control(figure, sn_xyz(0, -0.9, 0.19));
  sn_figure_control(figure, sn_xyz(0, -0.89, -0.08));
  sn_figure_control(figure, sn_xyz(0.01, -0.2, 0.09));
  sn_figure_control(figure, sn_xyz(0, -0.55, -0.07));
  figure->load = calf;
}
