// SPDX-License-Identifier: MIT
// Frames in memory as a stream.
#include <string.h>

#include "formats/common/adjust.h"

static sn_status read_memory(sn_context *ctx, const sn_stream *stream, int f, float (*positions)[3]) {
  (void)ctx;
  memcpy(positions, sn_frame(stream->given, f), (size_t)stream->vertex_count * sizeof *positions);
  return SN_OK;
}

sn_stream sn_stream_of(const sn_frames *frames) {
  return (sn_stream){.vertex_count = frames->vertex_count,
                     .frame_count = frames->frame_count,
                     .rate = frames->rate,
                     .given = frames,
                     .read = read_memory,
                     .name = ""};
}

sn_status sn_stream_each(sn_context *ctx, const sn_stream *stream, sn_frame_fn call, void *user) {
  SN_SCRATCH(scratch, ctx);
  float(*positions)[3] = sn_arena_alloc(ctx, &scratch, (size_t)stream->vertex_count, sizeof *positions);
  if (!positions) return ctx->error.status;
  for (int f = 0; f < stream->frame_count; f++) {
    SN_TRY(sn_stream_frame(ctx, stream, f, positions));
    SN_TRY(call(user, f, (const float(*)[3])positions));
    if (stream->given) sn_frames_used(stream->given, stream->vertex_count, 1);
  }
  return SN_OK;
}

sn_status sn_stream_frame(sn_context *ctx, const sn_stream *stream, int f, float (*positions)[3]) {
  return stream->read(ctx, stream, f, positions);
}
