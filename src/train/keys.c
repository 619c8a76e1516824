// SPDX-License-Identifier: MIT
// Frames to train on.
#include "solve/lapack.h"
#include "train/keys.h"

#include <stdlib.h>
#include <string.h>

// Frames whose pairs are compared at a time: of a longer clip so many, evenly spread, or twice the number to choose, in
// parts.
enum { most_frames = 200 };

// Chooses `wanted` of the frames of `among`.
static sn_status choose_among(sn_context *ctx, const sn_examples *examples, const sn_keys *among, int wanted,
                              int *out) {
  sn_arena memory = sn_arena_new(ctx);
  sn_key_sets sets;
  bool *chosen = SN_NEW(ctx, &memory, bool, among->count);
  sn_status status = chosen ? sn_key_sets_make(ctx, &memory, examples, among, &sets) : ctx->error.status;
  if (status == SN_OK) status = sn_key_sets_choose(ctx, &sets, wanted, chosen);
  for (int f = 0; status == SN_OK && f < among->count; f++)
    if (chosen[f]) *out++ = among->frames[f];
  sn_arena_free(&memory);
  return status;
}

static int part_of(int k, int parts, int count) { return (int)((int64_t)k * count / parts); }

static sn_status choose_keys(sn_context *ctx, const sn_examples *examples, int frame_count, const char *text,
                             sn_keys *out) {
  char *end;
  long wanted = strtol(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || wanted < 1 || wanted > frame_count)
    return sn_fail(ctx, SN_BAD_INPUT, "`keys` auto:%s: auto:N chooses 1 to %d frames", text, frame_count);
  *out = (sn_keys){.count = (int)wanted, .memory = sn_arena_new(ctx)};
  int looked = 2 * (int64_t)wanted > most_frames ? 2 * (int)wanted : most_frames;
  if (looked > frame_count) looked = frame_count;
  int parts = (looked + most_frames - 1) / most_frames, *frames = SN_NEW(ctx, &out->memory, int, looked);
  out->frames = SN_NEW(ctx, &out->memory, int, wanted);
  sn_status status = frames && out->frames ? SN_OK : ctx->error.status;
  for (int k = 0; status == SN_OK && k < looked; k++) frames[k] = part_of(k, looked, frame_count);
  for (int p = 0; status == SN_OK && p < parts; p++) {
    int first = part_of(p, parts, looked), begin = part_of(p, parts, out->count);
    sn_keys among = {.count = part_of(p + 1, parts, looked) - first, .frames = frames + first};
    status = choose_among(ctx, examples, &among, part_of(p + 1, parts, out->count) - begin, out->frames + begin);
  }
  if (status != SN_OK) sn_keys_free(out);
  return status;
}

// The first `count` frames that are not in `keys`, then `more` behind them.
static sn_status find_others(sn_context *ctx, const sn_keys *keys, int count, int more, sn_keys *out) {
  *out = (sn_keys){.memory = sn_arena_new(ctx)};
  out->frames = SN_NEW(ctx, &out->memory, int, count + more);
  if (!out->frames) return ctx->error.status;
  for (int f = 0, k = 0; f < count + more; f++) {
    while (k < keys->count && keys->frames[k] < f) k++;
    if (k == keys->count || keys->frames[k] != f) out->frames[out->count++] = f;
  }
  return SN_OK;
}

sn_status sn_train_keys(sn_context *ctx, const sn_examples *examples, const char *spec, uint64_t seed, sn_keys *keys,
                        sn_keys *others) {
  SN_BLAS_SCOPE;
  int frames = examples->frames.frame_count, test = examples->test_frame_count;
  int count = frames > 0 ? frames - test : examples->poses.frame_count;
  *keys = *others = (sn_keys){0};
  sn_status status = strncmp(spec, "auto:", 5) == 0 ? choose_keys(ctx, examples, count, spec + 5, keys)
                                                    : sn_keys_parse(ctx, spec, count, seed, keys, NULL);
  if (status == SN_OK) status = find_others(ctx, keys, count, test, others);
  if (status != SN_OK) sn_keys_free(keys);
  return status;
}
