// SPDX-License-Identifier: MIT
// Figure 11: enveloping error on training and test frames, and the spread over the vertices, of linear blend skinning and
// rotational regression.
#include <stdio.h>

#include "lab/study/study.h"

typedef struct example {
  const char *set, *keys;
  int frames;
} example;

// The keys are those of the paper's table where a set stands for one of its examples: three poses of bar and elbow, four of the
// muscle arm, ten of the shoulder.
static const example examples[] = {{"bar", "every:20", 41},   {"elbow", "every:20", 41},
                                   {"arm", "0,16,33,49", 50}, {"shoulder", "every:6", 60},
                                   {"leg", "every:10", 86},   {"athlete", "every:4", 80}};
static const char *const methods[] = {"lbs", "rotreg:published=1", "rotreg"};
enum { example_count = sizeof examples / sizeof *examples, method_count = sizeof methods / sizeof *methods };

void study_errors(study *s) {
  double test[method_count * example_count], train[method_count * example_count],
    spread[method_count * example_count];
  const char *places[example_count];
  sn_writer w = study_open(s, "figure-11.csv");
  sn_writef(
    &w, "set,keys,method,train ee,test ee,std of the vertices' test errors in %% of the diagonal,the same as ee\n");
  for (int e = 0; e < example_count; e++) {
    int frames = s->small && examples[e].frames > 60 ? 41 : examples[e].frames;
    sn_examples set = study_set(s, examples[e].set, frames, 0, NULL);
    places[e] = examples[e].set;
    for (int m = 0; m < method_count; m++) {
      study_row row = study_try(s, &set, methods[m], examples[e].keys, frames - 1);
      const sn_metrics *of = &row.scores.test;
      int n = m * example_count + e;
      test[n] = 100 * of->ee, train[n] = 100 * row.scores.train.ee;
      spread[n] = 100 * of->ee * of->std_pct_diag / of->rms_pct_diag;
      sn_writef(&w, "%s,\"%s\",\"%s\",%.4f,%.4f,%.4f,%.4f\n", examples[e].set, examples[e].keys, methods[m],
                row.scores.train.ee, of->ee, of->std_pct_diag, spread[n] / 100);
      study_row_free(&row);
    }
    sn_examples_free(&set);
    printf("figure 11: %s\n", examples[e].set);
    fflush(stdout);
  }
  study_close(s, &w);
  svg_bars bars = {
    "Figure 11: enveloping error on test frames (bars, deviation of the vertices) and training frames (dots)",
    "% of the best rigid prediction",
    methods,
    places,
    method_count,
    example_count,
    test,
    spread,
    train};
  svg_write_bars(s, "figure-11.svg", &bars);
}
