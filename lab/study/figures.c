// SPDX-License-Identifier: MIT
// figures FOLDER [small]: the figures of Wang, Pulli and Popovic 2007 from generated sets, as SVG with the numbers as CSV.
#include <stdio.h>
#include <string.h>

#include "lab/baselines/baselines.h"
#include "lab/study/study.h"

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "small") != 0)) {
    fprintf(stderr, "usage: figures FOLDER [small]\n");
    return 2;
  }
  sn_lab_add_methods();
  study s = {sn_context_default(), argv[1], argc == 3};
  study_must(&s, sn_make_folder(&s.ctx, s.folder));
  study_rotations(&s);
  study_twists(&s);
  return 0;
}
