// SPDX-License-Identifier: MIT
// Figure 13: a bar and an elbow that twist by 180 degrees, trained on three poses. Figure 14: bending and twisting at
// once, for which half-way joints do not suffice. Figures 5.1, 5.2 and 5.7 of Murtagh: bar, elbow and wrist on both skins, with and
// without corrections.
#include <math.h>
#include <stdio.h>
#include <string.h>

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

void study_twists(study *s) {
  sn_writer table = study_open(s, "figures-13-14.csv");
  sn_writef(&table,
            "figure,method,train ee,test ee,largest test error in %% of the diagonal,rms of the frame shown\n");
  for (int k = 0; k < trial_count; k++) run_trial(s, &trials[k], &table);
  study_close(s, &table);
}
