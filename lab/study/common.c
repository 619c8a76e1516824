// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/study/study.h"

void study_must(study *s, sn_status status) {
  if (status == SN_OK) return;
  fprintf(stderr, "figures: %s\n", s->ctx.error.message);
  exit(1);
}

sn_examples study_set(study *s, const char *set, int frames, int vertices, const sn_gen_angles *angles) {
  sn_gen_options options = sn_gen_options_default();
  for (int k = 0; k < sn_gen_set_count(); k++) {
    const sn_gen_info *info = sn_gen_set(k);
    if (strcmp(info->name, set) != 0) continue;
    if (vertices == 0) vertices = info->vertices;
    if (s->small) vertices = info->min_vertices > 80 ? info->min_vertices : 80;
  }
  options.set = set, options.frames = frames, options.vertices = vertices, options.angles = angles;
  sn_examples out;
  study_must(s, sn_gen(&s->ctx, &options, &out));
  return out;
}

study_row study_try(study *s, const sn_examples *examples, const char *spec_text, const char *keys_text, int shown) {
  study_row row = {0};
  sn_method_spec spec;
  sn_keys keys, others, one;
  sn_train_report report;
  int frames = examples->frames.frame_count;
  double diagonal = sn_points_diagonal((const float(*)[3])examples->rest.positions, examples->rest.vertex_count);
  snprintf(row.spec, sizeof row.spec, "%s", spec_text);
  row.frame_pct = calloc((size_t)frames, sizeof *row.frame_pct);
  if (!row.frame_pct) study_must(s, sn_fail(&s->ctx, SN_NO_MEMORY, "out of memory for %d frames", frames));
  char text[16];
  snprintf(text, sizeof text, "%d", shown);
  study_must(s, sn_method_parse(&s->ctx, spec_text, &spec));
  study_must(s, sn_keys_parse(&s->ctx, keys_text, frames, 1, &keys, &others));
  study_must(s, sn_keys_parse(&s->ctx, text, frames, 1, &one, NULL));
  if (sn_method_has_no_model(&spec)) {
    study_must(s, sn_assess_predict(&s->ctx, &spec, examples, &(sn_scored_frames){&keys, &others, row.frame_pct},
                                    &row.scores, &report));
    study_must(s, sn_train_predict(&s->ctx, &spec, examples, &keys, &one, &row.shown));
  } else {
    sn_model bytes;
    sn_rt_model model;
    study_must(s, sn_train(&s->ctx, &spec, examples, &keys, &bytes, &report));
    study_must(s, sn_model_open(&s->ctx, spec_text, bytes.bytes, bytes.size, &model));
    study_must(s,
               sn_assess(&s->ctx, &model, examples, &(sn_scored_frames){&keys, &others, row.frame_pct}, &row.scores));
    study_must(s, sn_assess_evaluate(&s->ctx, &model, examples, &one, &row.shown, NULL));
    sn_model_free(&bytes);
  }
  for (int f = 0; f < frames; f++) row.frame_pct[f] *= 100 / diagonal;
  sn_keys_free(&keys), sn_keys_free(&others), sn_keys_free(&one);
  return row;
}

void study_row_free(study_row *row) {
  free(row->frame_pct);
  sn_frames_free(&row->shown);
}

// ---- files ------------------------------------------------------------------------------------------------------------

sn_writer study_open(study *s, const char *name) {
  char path[1024];
  sn_writer w;
  snprintf(path, sizeof path, "%s/%s", s->folder, name);
  study_must(s, sn_writer_open(&s->ctx, path, &w));
  return w;
}

void study_close(study *s, sn_writer *w) { study_must(s, sn_writer_commit(&s->ctx, w)); }

void study_write_frames(study *s, const char *name, const char *title, const study_row *rows, int count, int frames) {
  char file[256], path[1024];
  snprintf(file, sizeof file, "%s.csv", name);
  sn_writer w = study_open(s, file);
  sn_writef(&w, "frame");
  for (int m = 0; m < count; m++) sn_writef(&w, ",\"%s\"", rows[m].spec);
  for (int f = 0; f < frames; f++) {
    sn_writef(&w, "\n%d", f);
    for (int m = 0; m < count; m++) sn_writef(&w, ",%.6g", rows[m].frame_pct[f]);
  }
  sn_writef(&w, "\n");
  study_close(s, &w);
  double *x = calloc((size_t)frames, sizeof *x);
  sn_plot_line *lines = calloc((size_t)count, sizeof *lines);
  if (!x || !lines) study_must(s, sn_fail(&s->ctx, SN_NO_MEMORY, "out of memory for a chart"));
  for (int f = 0; f < frames; f++) x[f] = f;
  for (int m = 0; m < count; m++) lines[m] = (sn_plot_line){rows[m].spec, frames, x, rows[m].frame_pct};
  snprintf(path, sizeof path, "%s/%s.svg", s->folder, name);
  study_must(s,
             sn_plot_write(&s->ctx, path, &(sn_plot){title, "frame", "rms error, % of the diagonal", lines, count}));
  free(x), free(lines);
}
