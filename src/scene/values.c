// SPDX-License-Identifier: MIT
// Named values of frames.
#include "sinew/scene.h"

#include <string.h>

sn_status sn_values_new(sn_context *ctx, int count, int frame_count, sn_values *out) {
  *out = (sn_values){.count = count, .frame_count = frame_count, .memory = sn_arena_new(ctx)};
  out->names = SN_NEW(ctx, &out->memory, char *, count);
  out->rest = SN_NEW(ctx, &out->memory, double, count);
  out->values = SN_NEW(ctx, &out->memory, double, (size_t)frame_count *(size_t)count);
  if (out->names && out->rest && out->values) return SN_OK;
  sn_values_free(out);
  return ctx->error.status;
}

int sn_values_find(const sn_values *values, const char *name) {
  for (int v = 0; v < values->count; v++)
    if (strcmp(values->names[v], name) == 0) return v;
  return -1;
}

SN_DEFINE_FREE(sn_values);
