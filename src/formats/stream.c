// SPDX-License-Identifier: MIT
// Streams frames: from an archive one at a time, from other files out of memory.
#include "formats/common/adjust.h"

static sn_status open_archive(sn_context *ctx, const char *path, const sn_choice *choice, sn_stream *out) {
  SN_TRY(sn_abc_open(ctx, path, &out->abc));
  SN_TRY(sn_abc_choose(ctx, out->abc, choice->objects, choice->object_count));
  int last = sn_abc_frame_count(out->abc) - 1;
  out->vertex_count = sn_abc_vertex_count(out->abc), out->frame_count = last + 1;
  out->rate = choice->fps > 0 ? choice->fps : sn_abc_rate(out->abc);
  out->resampled = choice->fps > 0 || (choice->adjust.offset != 0 && out->rate > 0);
  out->adjust = choice->adjust;
  if (!out->resampled) return SN_OK;
  double start = sn_abc_frame_time(out->abc, 0) + choice->adjust.offset;
  out->frame_count = sn_count_frames(ctx, path, sn_abc_frame_time(out->abc, last) - start, out->rate, last + 1);
  return out->frame_count > 0 ? SN_OK : ctx->error.status;
}

static sn_status read_archive(sn_context *ctx, const sn_stream *stream, int f, float (*positions)[3]) {
  double t = sn_abc_frame_time(stream->abc, stream->resampled ? 0 : f);
  if (stream->resampled) t += stream->adjust.offset + f / stream->rate;
  SN_TRY(sn_abc_positions(ctx, stream->abc, t, positions));
  sn_adjust_points(&stream->adjust, positions, stream->vertex_count);
  sn_frames one = {.vertex_count = stream->vertex_count, .frame_count = 1, .positions = (const float(*)[3])positions};
  if (sn_frames_check(ctx, &one) == SN_OK) return SN_OK;
  return sn_fail_prefix(ctx, "%s: at %g s: ", stream->name, t);
}

sn_status sn_stream_open(sn_context *ctx, const char *path, const sn_choice *choice, sn_stream *out) {
  static const sn_choice plain = {0};
  sn_status status;
  *out = (sn_stream){.memory = sn_arena_new(ctx), .read = read_archive};
  out->name = sn_arena_text(ctx, &out->memory, path);
  if (!out->name) return ctx->error.status;
  if (sn_has_extension(path, ".abc")) {
    status = open_archive(ctx, path, choice ? choice : &plain, out);
  } else {
    status = sn_frames_read(ctx, path, choice, &out->frames);
    sn_stream given = sn_stream_of(&out->frames);
    out->vertex_count = given.vertex_count, out->frame_count = given.frame_count;
    out->rate = given.rate, out->read = given.read;
  }
  if (status != SN_OK) sn_stream_close(out);
  return status;
}

void sn_stream_close(sn_stream *stream) {
  sn_abc_free(stream->abc);
  sn_frames_free(&stream->frames);
  sn_arena_free(&stream->memory);
  *stream = (sn_stream){0};
}
