// SPDX-License-Identifier: MIT
// The skin that came with the skeleton as a teacher: poses that the clip does not have, with the vertices where that skin takes
// them, are learned from along with the clip's. Beyond the clip's poses the predictors, proxy bones and corrections then know what the skin does.
#ifndef SINEW_TRAIN_ROTREG_TEACH_H
#define SINEW_TRAIN_ROTREG_TEACH_H

#include "train/rotreg/torque.h"

typedef struct sn_rotreg_lessons {
  int count;            // 0: none; what follows is then that of the training
  sn_examples examples; // with `count` frames more, the last ones
  sn_keys keys;         // those of the training, then the lessons
  sn_torque_loads loads;
  bool exact;     // the frames are the skin's own: what is learned is asked about lessons, too
  bool stretched; // and much of it follows joints that are no near relatives
  sn_arena memory;
} sn_rotreg_lessons;

// `loads` may be NULL. No lessons unless they are `wanted`, without a skin, where few joints turn, or where the skin is far from what the frames show.
sn_status sn_rotreg_teach(sn_context *ctx, const sn_examples *examples, const sn_keys *keys,
                          const sn_torque_loads *loads, bool wanted, sn_rotreg_lessons *out);
void sn_rotreg_lessons_free(sn_rotreg_lessons *lessons);

#endif
