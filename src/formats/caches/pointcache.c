// SPDX-License-Identifier: MIT
// PointCache2 (3ds Max, Blender, Houdini) and Lightwave MDD: a header with counts, then positions frame by frame.
#include "formats/common/adjust.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

static uint32_t big32(const uint8_t *p) { return __builtin_bswap32(sn_little32(p)); }

static float big_float(const uint8_t *p) { return sn_float_of(big32(p)); }

// Checks the header's counts: positive, and the positions fit into the `size` bytes of the file after the header.
static sn_status check_counts(sn_context *ctx, const char *name, uint32_t points, uint32_t frames, uint64_t header,
                              uint64_t size) {
  if (points == 0 || frames == 0 || points > INT32_MAX || frames > INT32_MAX) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: the header says %u vertices and %u frames, which cannot be", name, points,
                   frames);
  }
  // points * frames < 2^62, so this cannot overflow.
  uint64_t numbers = (uint64_t)points * frames;
  if (size < header || (size - header) / 12 < numbers) {
    return sn_fail(ctx, SN_BAD_FILE,
                   "%s: truncated: the header says %u frames of %u vertices, %.0f bytes, but the file has %.0f", name,
                   frames, points, (double)header + 12.0 * (double)numbers, (double)size);
  }
  return SN_OK;
}

// Positions stay in place where they are aligned; then `out` takes over the file.
static sn_status read_pc2(sn_context *ctx, const char *name, sn_file *file, sn_frames *out) {
  enum { header = 32 };
  const uint8_t *bytes = file->bytes;
  if (file->size < header || memcmp(bytes, "POINTCACHE2", 12) != 0) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: not a PC2 file (it must begin with POINTCACHE2)", name);
  }
  uint32_t version = sn_little32(bytes + 12), points = sn_little32(bytes + 16), frames = sn_little32(bytes + 28);
  if (version != 1) return sn_fail(ctx, SN_BAD_FILE, "%s: PC2 version %u; only version 1 is known", name, version);
  SN_TRY(check_counts(ctx, name, points, frames, header, file->size));
  if ((uintptr_t)(bytes + header) % sizeof(float) == 0) {
    *out = (sn_frames){.vertex_count = (int)points, .frame_count = (int)frames, .memory = sn_arena_new(ctx)};
    out->positions = (const float(*)[3])(const void *)(bytes + header);
    out->file = *file, *file = (sn_file){0};
    return SN_OK;
  }
  SN_TRY(sn_frames_new(ctx, (int)points, (int)frames, out));
  memcpy(sn_frame_mutable(out, 0), bytes + header, (size_t)points * frames * sizeof *out->positions);
  return SN_OK;
}

static sn_status read_mdd(sn_context *ctx, const char *name, sn_file *file, sn_frames *out) {
  const uint8_t *bytes = file->bytes;
  if (file->size < 8) return sn_fail(ctx, SN_BAD_FILE, "%s: too short for an MDD file", name);
  uint32_t frames = big32(bytes), points = big32(bytes + 4);
  uint64_t header = 8 + 4 * (uint64_t)frames;
  SN_TRY(check_counts(ctx, name, points, frames, header, file->size));
  SN_TRY(sn_frames_new(ctx, (int)points, (int)frames, out));
  size_t numbers = 3 * (size_t)points;
  const uint8_t *at = bytes + header;
  for (uint32_t f = 0; f < frames; f++) {
    float *to = sn_frame_mutable(out, (int)f)[0];
    for (size_t k = 0; k < numbers; k++, at += 4) to[k] = big_float(at);
    sn_file_used(file, 4 * numbers);
    sn_frames_used(out, (int)points, 1);
    if (file->map) sn_progress_reading(ctx, name, (double)f / frames);
  }
  double span = (double)big_float(bytes + 4 + 4 * (size_t)frames) - big_float(bytes + 8), rate = (frames - 1) / span;
  if (isfinite(rate) && rate > 0) out->rate = rate;
  return SN_OK;
}

sn_status sn_cache_parse(sn_context *ctx, const char *name, sn_file *file, sn_frames *out) {
  *out = (sn_frames){0};
  SN_TRY((sn_has_extension(name, ".pc2") ? read_pc2 : read_mdd)(ctx, name, file, out));
  out->finite = sn_frames_check_file(ctx, name, out) == SN_OK;
  if (out->finite) return SN_OK;
  sn_frames_free(out);
  ctx->error.status = SN_BAD_FILE;
  return sn_fail_prefix(ctx, "%s: ", name);
}

sn_status sn_pc2_begin(sn_context *ctx, const char *path, int vertex_count, int frame_count, sn_writer *out) {
  SN_TRY(sn_writer_open(ctx, path, out));
  const struct {
    char magic[12];
    int32_t version, points;
    float start, step;
    int32_t frames;
  } header = {"POINTCACHE2", 1, vertex_count, 0, 1, frame_count};
  sn_write(out, &header, sizeof header);
  return SN_OK;
}

static void write_big32(sn_writer *writer, uint32_t value) {
  value = __builtin_bswap32(value);
  sn_write(writer, &value, sizeof value);
}

static void write_big_float(sn_writer *writer, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  write_big32(writer, bits);
}

static sn_status begin_mdd(sn_context *ctx, const char *path, const sn_stream *frames, sn_writer *out) {
  double rate = frames->rate > 0 ? frames->rate : SN_DEFAULT_FPS;
  SN_TRY(sn_writer_open(ctx, path, out));
  write_big32(out, (uint32_t)frames->frame_count);
  write_big32(out, (uint32_t)frames->vertex_count);
  for (int f = 0; f < frames->frame_count; f++) write_big_float(out, (float)(f / rate));
  return SN_OK;
}

typedef struct cache_writer {
  sn_writer writer;
  size_t numbers; // of a frame
  bool mdd;
} cache_writer;

static sn_status put_frame(void *user, int f, const float (*positions)[3]) {
  (void)f;
  cache_writer *w = user;
  if (!w->mdd) sn_write(&w->writer, positions, w->numbers * sizeof(float));
  for (size_t k = 0; w->mdd && k < w->numbers; k++) write_big_float(&w->writer, positions[k / 3][k % 3]);
  return SN_OK;
}

sn_status sn_cache_write(sn_context *ctx, const char *path, const sn_stream *frames) {
  cache_writer w = {.numbers = 3 * (size_t)frames->vertex_count, .mdd = sn_has_extension(path, ".mdd")};
  SN_TRY(w.mdd ? begin_mdd(ctx, path, frames, &w.writer)
               : sn_pc2_begin(ctx, path, frames->vertex_count, frames->frame_count, &w.writer));
  sn_status status = sn_stream_each(ctx, frames, put_frame, &w);
  if (status == SN_OK) return sn_writer_commit(ctx, &w.writer);
  sn_writer_abort(ctx, &w.writer);
  return status;
}
