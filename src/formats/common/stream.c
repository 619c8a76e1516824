// SPDX-License-Identifier: MIT
// Frames in memory as a stream.
#include <string.h>

#include "sinew/formats.h"

static sn_status read_memory(sn_context *ctx, const sn_stream *stream, int f, float (*positions)[3]) {
  (void)ctx;
  const sn_frames *frames = stream->given ? stream->given : &stream->frames;
  memcpy(positions, sn_frame(frames, f), (size_t)stream->vertex_count * sizeof *positions);
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

sn_status sn_stream_frame(sn_context *ctx, const sn_stream *stream, int f, float (*positions)[3]) {
  return stream->read(ctx, stream, f, positions);
}
