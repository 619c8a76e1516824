// SPDX-License-Identifier: MIT
// Appends mirror images of the training frames.
#include "sinew/examples.h"

sn_status sn_examples_mirror_keys(sn_context *ctx, char axis, sn_examples *examples, sn_keys *keys) {
  if (axis < 'x' || axis > 'z')
    return sn_fail(ctx, SN_BAD_INPUT, "`mirror` %c: choose x, y or z, the axis normal to the mirror plane", axis);
  int count = examples->frames.frame_count;
  if (count == 0) return sn_fail(ctx, SN_BAD_INPUT, "`mirror`: there are no frames to mirror");
  sn_status status = sn_examples_mirror(ctx, axis - 'x', examples);
  int *frames = status == SN_OK ? SN_NEW(ctx, &keys->memory, int, 2 * keys->count) : NULL;
  if (!frames) return ctx->error.status;
  for (int k = 0; k < keys->count; k++) // the mirror image of frame f is frame f + count
    frames[k] = keys->frames[k], frames[keys->count + k] = count + keys->frames[k];
  keys->frames = frames, keys->count *= 2;
  return SN_OK;
}
