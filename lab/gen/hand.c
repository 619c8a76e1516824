// SPDX-License-Identifier: MIT
// A forearm and a hand along +x, palm down, thumb towards +z: a roll joint in the forearm, the wrist, three joints in every
// finger. It stands for the hand of Le and Deng 2014. Metres.
#include <stdio.h>
#include "lab/gen/figure.h"

enum { fingers = 5, phalanges = 3 };

typedef struct finger {
  const char *name;
  double x[phalanges + 1], z[phalanges + 1], thick; // joints and tip
  double bend, cycles;                              // of its first joint, degrees
} finger;

static const finger table[fingers] = {
  {"thumb", {0.030, 0.058, 0.082, 0.102}, {0.030, 0.066, 0.086, 0.100}, 0.0130, 35, 1.3},
  {"index", {0.095, 0.135, 0.161, 0.183}, {0.038, 0.048, 0.054, 0.058}, 0.0105, 75, 1.9},
  {"middle", {0.100, 0.144, 0.173, 0.196}, {0.012, 0.016, 0.018, 0.019}, 0.0105, 80, 1.6},
  {"ring", {0.095, 0.136, 0.163, 0.185}, {-0.014, -0.018, -0.020, -0.021}, 0.0105, 80, 2.2},
  {"little", {0.084, 0.116, 0.138, 0.157}, {-0.039, -0.050, -0.056, -0.060}, 0.0095, 75, 1.45},
};

// Closes the hand: about an axis square to the bone, towards -y.
static void add_bend(sn_figure *figure, int joint, double low, double high, double cycles) {
  sn_vec3 axis = sn_vec3_normalize(sn_vec3_cross(figure->joints[joint].axis, sn_xyz(0, -1, 0)), sn_xyz(0, 0, -1));
  sn_figure_drive(figure, SN_DRIVE_WAVE, joint, axis, sn_degrees(low), sn_degrees(high), cycles);
}

// Returns the first of its joints.
static int add_finger(sn_figure *figure, const finger *f, int hand) {
  int group = sn_figure_group_add(figure, 0, hand, 0.022), joint = hand;
  for (int k = 0; k < phalanges; k++) {
    char name[24];
    sn_vec3 from = sn_xyz(f->x[k], 0, f->z[k]), to = sn_xyz(f->x[k + 1], 0, f->z[k + 1]);
    snprintf(name, sizeof name, "%s%d", f->name, k + 1);
    sn_figure_capsule(figure, group, from, to, f->thick * (1 - 0.04 * k), f->thick * (0.96 - 0.04 * k), 0.008)
      ->detail = 0.7;
    joint = sn_figure_joint_add(figure, name, joint, group, from, to, 0.012 - 0.001 * k);
    add_bend(figure, joint, -5, k == 0 ? f->bend : 0.8 * f->bend, f->cycles * (1 + 0.11 * k));
    if (k == 0) sn_figure_drive(figure, SN_DRIVE_WAVE, joint, sn_xyz(0, 1, 0), -0.12, 0.12, 2.7 - 0.3 * f->cycles);
  }
  return joint - phalanges + 1;
}

void sn_figure_hand(sn_figure *figure, int joint_count) {
  (void)joint_count;
  sn_vec3 up = sn_xyz(0, 1, 0), elbow = sn_xyz(-0.16, 0, 0), middle = sn_xyz(-0.10, 0, 0), wrist = sn_xyz(0, 0, 0);
  sn_figure_flat(figure, 0, elbow, wrist, 0.038, 0.027, 0.03, up, 1.2);
  sn_figure_flat(figure, 0, sn_xyz(0.035, 0, 0.002), sn_xyz(0.075, 0, 0), 0.036, 0.044, 0.03, up, 2.2)->detail = 0.8;
  int forearm = sn_figure_joint_add(figure, "forearm", -1, 0, elbow, middle, 0.040);
  int roll = sn_figure_joint_add(figure, "forearm_roll", forearm, 0, middle, wrist, 0.034);
  int hand = sn_figure_joint_add(figure, "hand", roll, 0, wrist, sn_xyz(0.095, 0, 0), 0.030);
  figure->joints[roll].twist_from = -0.04, figure->joints[roll].twist_to = 0.09;
  sn_figure_drive(figure, SN_DRIVE_WAVE, roll, sn_xyz(1, 0, 0), sn_degrees(-60), sn_degrees(50), 1.2);
  add_bend(figure, hand, -40, 45, 1.75);
  sn_figure_drive(figure, SN_DRIVE_WAVE, hand, up, sn_degrees(-15), sn_degrees(18), 2.3);
  for (int k = 0; k < fingers; k++) {
    int first = add_finger(figure, &table[k], hand);
    if (k == 0) sn_figure_muscle(figure, hand, first, 0.04, 0.05, sn_xyz(0, -0.8, 0.6), 2, 0.010, 0, 0.004); // thenar
  }
  sn_figure_control(figure, sn_xyz(0.102, 0, 0.100));
  sn_figure_control(figure, sn_xyz(0.196, 0, 0.019));
  sn_figure_control(figure, sn_xyz(0.06, -0.02, 0));
  figure->load = hand;
}
