// SPDX-License-Identifier: MIT
// The athlete in clothes that swing: a skirt of panels around the hips, a hanging sleeve on each forearm. Metres.
#include <stdio.h>
#include <string.h>
#include "lab/gen/figure.h"

enum { panels = 6, body_joints = 21 };

static int find_joint(const sn_figure *figure, const char *name) {
  int j = 0;
  while (strcmp(figure->joints[j].name, name) != 0) j++;
  return j;
}

// A flat strip of cloth.
static void add_strip(sn_figure *figure, int group, const sn_shape *strip) {
  sn_figure_flat(figure, group, strip->a, strip->b, strip->ra, strip->rb, 0.02, strip->flat, strip->squash);
}

// A joint on `carrier` that swings, about two axes, the cloth of which `strip` is the middle. Returns the group of the cloth.
static int add_cloth(sn_figure *figure, const char *name, int carrier, const sn_shape *strip, double swing,
                     double cycles) {
  int group = sn_figure_group_add(figure, figure->joints[carrier].group, carrier, 0.10);
  int joint = sn_figure_joint_add(figure, name, carrier, group, strip->a, strip->b, 0.03);
  sn_vec3 across = sn_vec3_cross(figure->joints[joint].axis, strip->flat);
  sn_figure_drive(figure, SN_DRIVE_WAVE, joint, across, -0.6 * swing, swing, cycles);
  sn_figure_drive(figure, SN_DRIVE_WAVE, joint, strip->flat, -0.3 * swing, 0.3 * swing, 1.3 * cycles);
  return group;
}

// From the waist to the hem, at `angle` around the body.
static sn_shape skirt_strip(double angle) {
  sn_vec3 out = sn_xyz(sin(angle), 0, cos(angle));
  sn_vec3 top = sn_vec3_add(sn_xyz(0, 1.04, 0), sn_vec3_scale(out, 0.13));
  sn_vec3 hem = sn_vec3_add(sn_xyz(0, 0.60, 0), sn_vec3_scale(out, 0.36));
  sn_vec3 along = sn_vec3_normalize(sn_vec3_sub(hem, top), sn_xyz(0, -1, 0));
  sn_vec3 normal = sn_vec3_normalize(sn_vec3_mad(out, along, -sn_vec3_dot(out, along)), out);
  return (sn_shape){.a = top, .b = hem, .ra = 0.036, .rb = 0.072, .flat = normal, .squash = 2.5};
}

static void add_skirt(sn_figure *figure) {
  int pelvis = find_joint(figure, "pelvis");
  for (int k = 0; k < panels; k++) {
    double middle = 2 * SN_PI * (k + 0.5) / panels;
    sn_shape strip = skirt_strip(middle);
    char name[24];
    snprintf(name, sizeof name, "skirt_%d", k + 1);
    int group = add_cloth(figure, name, pelvis, &strip, sn_degrees(22), 1.7 + 0.23 * k);
    for (int q = -1; q <= 1; q++) {
      strip = skirt_strip(middle + 2 * SN_PI * q / (3 * panels));
      add_strip(figure, group, &strip);
    }
  }
}

static void add_sleeve(sn_figure *figure, int right) {
  double side = right ? -1 : 1;
  sn_vec3 along = sn_xyz(0.7660444 * side, -0.6427876, 0), down = sn_xyz(-0.6427876 * side, -0.7660444, 0);
  sn_vec3 elbow = sn_vec3_mad(sn_xyz(0.185 * side, 1.435, -0.01), along, 0.42);
  sn_shape strip = {.a = sn_vec3_mad(elbow, down, 0.01),
                    .b = sn_vec3_mad(elbow, down, 0.20),
                    .ra = 0.06,
                    .rb = 0.08,
                    .flat = sn_xyz(0, 0, 1),
                    .squash = 3};
  const char *name = right ? "sleeve_r" : "sleeve_l";
  int forearm = find_joint(figure, right ? "forearm_r" : "forearm_l");
  add_strip(figure, add_cloth(figure, name, forearm, &strip, sn_degrees(40), right ? 2.3 : 2.7), &strip);
}

void sn_figure_dancer(sn_figure *figure, int joint_count) {
  (void)joint_count;
  sn_figure_athlete(figure, body_joints);
  add_skirt(figure);
  add_sleeve(figure, 0), add_sleeve(figure, 1);
}
