// SPDX-License-Identifier: MIT
// `make figures`: shared declarations. The program stops at the first error.
#ifndef SINEW_LAB_STUDY_STUDY_H
#define SINEW_LAB_STUDY_STUDY_H

#include "sinew/eval.h"
#include "lab/gen/gen.h"

typedef struct study {
  sn_context ctx;
  const char *folder;
  bool small; // sizes at which everything takes seconds: a smoke test
} study;

void study_must(study *s, sn_status status);

// The generated set with this number of vertices (0: the set's default; `small`: 80, or its minimum); `angles` may be NULL.
sn_examples study_set(study *s, const char *set, int frames, int vertices, const sn_gen_angles *angles);

// A method trained on some frames: its scores, the error of every frame in percent of the diagonal, and the vertices it
// predicts for frame `shown`.
typedef struct study_row {
  char spec[64];
  sn_scores scores;
  double *frame_pct;
  sn_frames shown;
} study_row;

study_row study_try(study *s, const sn_examples *examples, const char *spec, const char *keys, int shown);
void study_row_free(study_row *row);

// ---- files ------------------------------------------------------------------------------------------------------------

sn_writer study_open(study *s, const char *name);
void study_close(study *s, sn_writer *w);
// The error of every frame: a column per row, as CSV and as a chart.
void study_write_frames(study *s, const char *name, const char *title, const study_row *rows, int count, int frames);

// Meshes side by side, seen along -z, all at the scale of the first. `value` colours triangles from 0 (blue) to 1
// (red), NULL: grey. `dots` marks vertices.
typedef struct svg_panel {
  const char *title;
  const float (*positions)[3];
  const double *value;
  const bool *dots;
} svg_panel;
void svg_write_panels(study *s, const char *name, const char *title, const sn_mesh *mesh, const svg_panel *panels,
                      int count);

// ---- the figures of Wang 2007 ---------------------------------------------------------------------------------------------

void study_rotations(study *s); // 6, 7
void study_twists(study *s);    // 13, 14

#endif
