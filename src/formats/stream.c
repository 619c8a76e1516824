// SPDX-License-Identifier: MIT
// Frames of any file: archives and documents are sampled one frame at a time, other files are read whole.
#include "formats/common/adjust.h"

#include <string.h>

static sn_status open_archive(sn_context *ctx, const sn_choice *choice, sn_stream *out) {
  SN_TRY(sn_abc_open(ctx, out->name, &out->abc));
  SN_TRY(sn_abc_choose(ctx, out->abc, choice->objects, choice->object_count));
  int last = sn_abc_frame_count(out->abc) - 1;
  out->vertex_count = sn_abc_vertex_count(out->abc), out->frame_count = last + 1;
  out->rate = choice->fps > 0 ? choice->fps : sn_abc_rate(out->abc);
  if (choice->fps <= 0 && (choice->adjust.offset == 0 || out->rate <= 0)) return SN_OK; // the archive's samples
  double start = sn_abc_frame_time(out->abc, 0) + choice->adjust.offset;
  out->frame_count = sn_count_frames(ctx, out->name, sn_abc_frame_time(out->abc, last) - start, out->rate, last + 1);
  out->sampling = (sn_sampling){.start = start, .fps = out->rate};
  return out->frame_count > 0 ? SN_OK : ctx->error.status;
}

static sn_status open_document(sn_context *ctx, const sn_choice *choice, sn_stream *out) {
  SN_FREED_BY(sn_mesh_free) sn_mesh mesh = {0};
  SN_TRY(sn_gltf_read(ctx, out->name, &out->gltf));
  SN_TRY(sn_gltf_mesh(ctx, out->gltf, &mesh));
  SN_TRY(sn_gltf_sampling(ctx, out->gltf, choice, &out->sampling));
  out->vertex_count = mesh.vertex_count, out->frame_count = out->sampling.frame_count;
  out->rate = out->sampling.clip < 0 ? 0 : out->sampling.fps;
  return SN_OK;
}

static sn_status read_stored(sn_context *ctx, const sn_stream *stream, int f, float (*positions)[3]) {
  const sn_sampling *s = &stream->sampling;
  if (stream->frames.positions) {
    memcpy(positions, sn_frame(&stream->frames, f), (size_t)stream->vertex_count * sizeof *positions);
    sn_frames_used(&stream->frames, stream->vertex_count, 1);
    return SN_OK;
  }
  double t = s->fps > 0 ? s->start + f / s->fps : sn_abc_frame_time(stream->abc, f);
  if (stream->abc) return sn_abc_positions(ctx, stream->abc, t, positions);
  if (s->clip < 0) return sn_gltf_morph_shape(ctx, stream->gltf, f, positions);
  return sn_gltf_deform(ctx, stream->gltf, s->clip, t, positions);
}

static sn_status read_adjusted(sn_context *ctx, const sn_stream *stream, int f, float (*positions)[3]) {
  SN_TRY(read_stored(ctx, stream, f, positions));
  sn_adjust_points(&stream->adjust, positions, stream->vertex_count);
  sn_frames one = {.vertex_count = stream->vertex_count, .frame_count = 1, .positions = (const float(*)[3])positions};
  if (sn_frame_is_finite(&one, 0)) return SN_OK;
  return sn_fail(ctx, SN_BAD_INPUT, "%s: frame %d: a position is not finite", stream->name, f);
}

static sn_status open_whole(sn_context *ctx, const char *path, const sn_choice *choice, sn_stream *out) {
  SN_TRY(sn_frames_load(ctx, path, choice, &out->frames));
  out->vertex_count = out->frames.vertex_count, out->frame_count = out->frames.frame_count;
  out->rate = out->frames.rate;
  return SN_OK;
}

sn_status sn_stream_open(sn_context *ctx, const char *path, const sn_choice *given, sn_stream *out) {
  sn_choice choice = given ? *given : (sn_choice){0};
  *out = (sn_stream){.memory = sn_arena_new(ctx), .adjust = choice.adjust, .read = read_adjusted};
  const char *clip, *file = sn_clip_path(ctx, &out->memory, path, &clip);
  out->name = sn_arena_text(ctx, &out->memory, file);
  if (clip) choice.clip = clip;
  sn_status status = ctx->error.status;
  if (out->name && sn_is_document(file)) {
    status = sn_fail_name(ctx, open_document(ctx, &choice, out), file);
  } else if (out->name && sn_has_extension(file, ".abc") && !sn_is_sequence(file)) {
    status = open_archive(ctx, &choice, out);
  } else if (out->name) {
    status = open_whole(ctx, file, &choice, out);
  }
  if (status != SN_OK) sn_stream_close(out);
  return status;
}

void sn_stream_close(sn_stream *stream) {
  sn_abc_free(stream->abc);
  sn_gltf_free(stream->gltf);
  sn_frames_free(&stream->frames);
  sn_arena_free(&stream->memory);
  *stream = (sn_stream){0};
}

sn_status sn_frames_read(sn_context *ctx, const char *path, const sn_choice *choice, sn_frames *out) {
  SN_FREED_BY(sn_stream_close) sn_stream stream;
  *out = (sn_frames){0};
  SN_TRY(sn_stream_open(ctx, path, choice, &stream));
  if (stream.frames.positions && !sn_adjust_moves(&stream.adjust)) {
    *out = stream.frames, stream.frames = (sn_frames){0};
    return SN_OK;
  }
  sn_status status = sn_frames_new(ctx, stream.vertex_count, stream.frame_count, out);
  for (int f = 0; status == SN_OK && f < stream.frame_count; f++) {
    status = sn_stream_frame(ctx, &stream, f, sn_frame_mutable(out, f));
    sn_frames_used(out, out->vertex_count, 1);
    if (out->file.map) sn_progress_reading(ctx, path, (double)f / stream.frame_count);
  }
  out->rate = stream.rate, out->finite = true;
  if (status != SN_OK) sn_frames_free(out);
  return status;
}
