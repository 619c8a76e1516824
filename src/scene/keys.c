// SPDX-License-Identifier: MIT
// --keys: the training frames.
#include "base/scope.h"
#include "sinew/scene.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// A non-negative integer at *text; advances *text past it. -1 if there is none.
static long read_number(const char **text) {
  if (**text < '0' || **text > '9') return -1;
  char *end;
  errno = 0;
  long value = strtol(*text, &end, 10);
  *text = end;
  return errno || value > INT32_MAX ? INT32_MAX : value;
}

static sn_status bad_spec(sn_context *ctx, const char *spec) {
  return sn_fail(ctx, SN_BAD_INPUT, "`keys` %s: expected all, every:N, random:N, auto:N or a list: 0,5,10-20", spec);
}

static sn_status mark_list(sn_context *ctx, const char *spec, int frame_count, bool *chosen) {
  for (const char *text = spec;;) {
    long first = read_number(&text), last = first;
    if (first >= 0 && *text == '-') text++, last = read_number(&text);
    if (first < 0 || last < 0 || (*text && *text != ',')) return bad_spec(ctx, spec);
    if (last < first) return sn_fail(ctx, SN_BAD_INPUT, "`keys` %s: %ld-%ld runs backwards", spec, first, last);
    if (last >= frame_count)
      return sn_fail(ctx, SN_BAD_INPUT, "`keys` %s: frame %ld does not exist; the last one is %d", spec, last,
                     frame_count - 1);
    for (long f = first; f <= last; f++) chosen[f] = true;
    if (!*text) return SN_OK;
    text++;
  }
}

static sn_status mark_frames(sn_context *ctx, const char *spec, int frame_count, uint64_t seed, bool *chosen) {
  bool all = strcmp(spec, "all") == 0, random = strncmp(spec, "random:", 7) == 0;
  if (!all && !random && strncmp(spec, "every:", 6) != 0) return mark_list(ctx, spec, frame_count, chosen);
  const char *text = all ? "1" : strchr(spec, ':') + 1;
  long number = read_number(&text);
  if (number < 1 || *text) return bad_spec(ctx, spec);
  for (long f = 0; !random && f < frame_count; f += number) chosen[f] = true;
  if (random && number > frame_count)
    return sn_fail(ctx, SN_BAD_INPUT, "`keys` %s: there are only %d frames", spec, frame_count);
  sn_random rng = sn_random_new(seed);
  // Selection sampling: one pass, each subset equally likely.
  for (int f = 0; random && f < frame_count; f++)
    if (sn_random_below(&rng, frame_count - f) < number) chosen[f] = true, number--;
  return SN_OK;
}

static sn_status list_frames(sn_context *ctx, const bool *chosen, bool value, int frame_count, sn_keys *out) {
  *out = (sn_keys){.memory = sn_arena_new(ctx)};
  out->frames = SN_NEW(ctx, &out->memory, int, frame_count);
  if (!out->frames) return ctx->error.status;
  for (int f = 0; f < frame_count; f++)
    if (chosen[f] == value) out->frames[out->count++] = f;
  return SN_OK;
}

sn_status sn_keys_parse(sn_context *ctx, const char *spec, int frame_count, uint64_t seed, sn_keys *out,
                        sn_keys *others) {
  *out = (sn_keys){0};
  if (others) *others = (sn_keys){0};
  SN_SCRATCH(scratch, ctx);
  bool *chosen = SN_NEW(ctx, &scratch, bool, frame_count);
  if (!chosen) return ctx->error.status;
  SN_TRY(mark_frames(ctx, spec, frame_count, seed, chosen));
  sn_status status = list_frames(ctx, chosen, true, frame_count, out);
  if (status == SN_OK && others) status = list_frames(ctx, chosen, false, frame_count, others);
  if (status != SN_OK) sn_keys_free(out);
  return status;
}

SN_DEFINE_FREE(sn_keys);
