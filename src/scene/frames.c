// SPDX-License-Identifier: MIT
// Frames: vertices over time, possibly larger than memory.
#include "sinew/scene.h"

#include <math.h>

#include "base/team.h"

sn_status sn_frames_new(sn_context *ctx, int vertex_count, int frame_count, sn_frames *out) {
  *out = (sn_frames){.vertex_count = vertex_count, .frame_count = frame_count, .memory = sn_arena_new(ctx)};
  size_t count = (size_t)vertex_count * (size_t)frame_count;
  if (sn_is_large(ctx, count * sizeof *out->positions)) {
    sn_status status = sn_file_scratch(ctx, count * sizeof *out->positions, "frames", &out->file);
    out->positions = (const float(*)[3])(const void *)out->file.bytes;
    if (status != SN_OK) *out = (sn_frames){0};
    return status;
  }
  out->positions = sn_arena_alloc(ctx, &out->memory, count, sizeof *out->positions);
  if (out->positions) return SN_OK;
  sn_frames_free(out);
  return ctx->error.status;
}

float (*sn_frame_mutable(sn_frames *frames, int f))[3] { return (float(*)[3])(uintptr_t)sn_frame(frames, f); }

bool sn_frame_is_finite(const sn_frames *frames, int f) {
  const float(*positions)[3] = sn_frame(frames, f);
  // x - x is 0 for finite x only: one test per frame instead of three per vertex.
  float sum = 0;
  for (int i = 0; i < frames->vertex_count; i++) {
    sum +=
      (positions[i][0] - positions[i][0]) + (positions[i][1] - positions[i][1]) + (positions[i][2] - positions[i][2]);
  }
  return sum == 0;
}

sn_status sn_frame_changed(sn_context *ctx, int f) {
  return sn_fail(
    ctx, SN_BAD_INPUT,
    "frame %d changed while it was read: a position is no longer finite; start again when nothing writes "
    "to the frames",
    f);
}

sn_status sn_frames_check(sn_context *ctx, const sn_frames *frames) {
  return sn_frames_check_file(ctx, NULL, frames);
}

sn_status sn_frames_check_file(sn_context *ctx, const char *path, const sn_frames *frames) {
  bool parts = frames->file.map && ctx->team; // each process checks its part
  int first = parts ? (int)sn_team_first(ctx, frames->frame_count, sn_team_rank(ctx)) : 0;
  int last = parts ? (int)sn_team_first(ctx, frames->frame_count, sn_team_rank(ctx) + 1) : frames->frame_count;
  for (int f = first; f < last && !frames->finite; f++) {
    const float(*positions)[3] = sn_frame(frames, f);
    if (frames->file.map && !sn_progress_reading(ctx, path, (double)f / frames->frame_count))
      return sn_fail(ctx, SN_STOPPED, "stopped at frame %d", f);
    bool finite = sn_frame_is_finite(frames, f);
    for (int i = 0; !finite && i < frames->vertex_count; i++)
      for (int c = 0; c < 3; c++)
        if (!isfinite(positions[i][c]))
          return sn_fail(ctx, SN_BAD_INPUT, "frame %d, vertex %d: position is not finite", f, i);
    sn_frames_used(frames, frames->vertex_count, 1);
  }
  return SN_OK;
}

void sn_frames_free(sn_frames *frames) {
  sn_arena_free(&frames->memory);
  sn_file_close(&frames->file);
  *frames = (sn_frames){0};
}
