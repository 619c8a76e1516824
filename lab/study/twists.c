// SPDX-License-Identifier: MIT
// Figure 13: a bar and an elbow that twist by 180 degrees, trained on three poses. Figure 14: bending and twisting at
// once, for which half-way joints do not suffice. Figures 5.1, 5.2 and 5.7 of Murtagh: bar, elbow and wrist on both skins, with and
// without corrections; 5.3 and 5.8: training poses.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/baselines/mohr.h"
#include "lab/study/study.h"

enum { most_methods = 7 };

typedef struct trial {
  const char *name, *title, *set, *keys;
  const sn_gen_angles *angles;
  int frames, shown; // `shown` is not a training frame
  const char *const *methods;
} trial;

static const sn_gen_angles half_turn = {.bend = 0, .twist = 180}, bent_half_turn = {.bend = 115, .twist = 180};
static const char *const twisted[] = {
  "lbs", "psd:space=whole", "eigenskin:space=whole", "lbs:extra=halfway", "rotreg:published=1", "rotreg", NULL};
static const char *const bent[] = {"lbs", "lbs:extra=halfway", "mohr", "rotreg:published=1", "rotreg", NULL};
static const char *const skinned[] = {"lbs", "dqs", "psd:space=whole", "psd:space=whole,blend=dualquat", NULL};

// clang-format off
static const trial trials[] = {
  {"figure-13-bar", "Figure 13: a bar twisted by 180 degrees, three poses", "bar", "every:20", NULL, 41, 30, twisted},
  {"figure-13-elbow", "Figure 13: an elbow twisted by 180 degrees, three poses", "elbow", "every:20", &half_turn, 41, 30, twisted},
  {"figure-13-bent", "The same elbow, bent by 115 degrees at once", "elbow", "every:20", &bent_half_turn, 41, 30, twisted},
  {"figure-13-own", "The elbow's own motion: 115 and 100 degrees", "elbow", "every:20", NULL, 41, 30, twisted},
  {"murtagh-5-1", "Figure 5.1: a bar twisted by 180 degrees, three poses", "bar", "every:20", NULL, 41, 30, skinned},
  {"murtagh-5-2", "Figure 5.2: an elbow twisted by 180 degrees, four poses", "elbow", "0,13,26,39", &half_turn, 40, 33, skinned},
  {"murtagh-5-7", "Figure 5.7: a wrist rotated by 180 degrees, three poses", "wrist", "every:20", NULL, 41, 33, skinned},
  {"murtagh-5-7-nine", "Figure 5.7: the same, nine poses", "wrist", "every:5", NULL, 41, 33, skinned},
  {"figure-14", "Figure 14: an arm that bends and twists, muscles swell; four poses", "arm", "0,16,33,49", NULL, 50, 41, bent},
};
// clang-format on
enum { trial_count = sizeof trials / sizeof *trials };

static void run_trial(study *s, const trial *t, sn_writer *table) {
  sn_examples set = study_set(s, t->set, t->frames, 0, t->angles);
  study_row rows[most_methods];
  svg_panel panels[1 + most_methods] = {{"truth", sn_frame(&set.frames, t->shown), NULL, NULL}};
  int count = 0;
  char title[200], file[100];
  for (; t->methods[count]; count++) {
    study_row *row = &rows[count];
    *row = study_try(s, &set, t->methods[count], t->keys, t->shown);
    sn_writef(table, "%s,\"%s\",%.4f,%.4f,%.4f,%.4f\n", t->name, row->spec, row->scores.train.ee, row->scores.test.ee,
              row->scores.test.max_pct_diag, row->frame_pct[t->shown]);
    panels[1 + count] = (svg_panel){row->spec, sn_frame(&row->shown, 0), NULL, NULL};
  }
  study_write_frames(s, t->name, t->title, rows, count, t->frames);
  snprintf(title, sizeof title, "%s: frame %d, not trained on", t->title, t->shown);
  snprintf(file, sizeof file, "%s-meshes.svg", t->name);
  svg_write_panels(s, file, title, &set.rest, panels, 1 + count);
  for (int k = 0; k < count; k++) study_row_free(&rows[k]);
  sn_examples_free(&set);
  printf("%s\n", t->name);
  fflush(stdout);
}

// Figure 5.3: three poses of the bar, and below what the inverse of the linear blend makes of them (2.5).
static void poses_at_rest(study *s) {
  static const char *const titles[] = {"0 degrees", "90 degrees", "180 degrees"};
  sn_examples bar = study_set(s, "bar", 41, 0, NULL);
  sn_frames moved;
  svg_panel panels[6];
  study_must(s, sn_frames_new(&s->ctx, bar.rest.vertex_count, 3, &moved));
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < bar.rest.vertex_count; i++) {
      sn_mat3 linear, inverse = {0};
      sn_vec3 move;
      sn_mohr_blend(&bar.skin, i, sn_pose(&bar.poses, 20 * k), &linear, &move);
      sn_mat3_invert(linear, &inverse);
      sn_vec3 from = sn_vec3_sub(sn_vec3_from(sn_frame(&bar.frames, 20 * k)[i]), move);
      sn_vec3_store(sn_mat3_apply(inverse, from), sn_frame_mutable(&moved, k)[i]);
    }
    panels[k] = (svg_panel){titles[k], sn_frame(&bar.frames, 20 * k), NULL, NULL};
    panels[3 + k] = (svg_panel){"moved to the rest pose", sn_frame(&moved, k), NULL, NULL};
  }
  svg_write_panels(s, "murtagh-5-3-meshes.svg", "Figure 5.3: the inverse of linear blend skinning", &bar.rest, panels,
                   6);
  sn_frames_free(&moved), sn_examples_free(&bar);
}

static void nine_poses(study *s) {
  sn_examples wrist = study_set(s, "wrist", 41, 0, NULL);
  svg_panel panels[9];
  char titles[9][32];
  for (int k = 0; k < 9; k++) {
    snprintf(titles[k], sizeof titles[k], "%g degrees", 22.5 * k);
    panels[k] = (svg_panel){titles[k], sn_frame(&wrist.frames, 5 * k), NULL, NULL};
  }
  svg_write_panels(s, "murtagh-5-8-meshes.svg", "Figure 5.8: the nine training poses", &wrist.rest, panels, 9);
  sn_examples_free(&wrist);
}

void study_twists(study *s) {
  sn_writer table = study_open(s, "figures-13-14.csv");
  sn_writef(&table,
            "figure,method,train ee,test ee,largest test error in %% of the diagonal,rms of the frame shown\n");
  for (int k = 0; k < trial_count; k++) run_trial(s, &trials[k], &table);
  study_close(s, &table);
  poses_at_rest(s), nine_poses(s);
}
