// SPDX-License-Identifier: MIT
// PointCache2 (3ds Max, Blender, Houdini) and Lightwave MDD: a header with counts, then positions frame by frame.
#include "formats/caches/pointcache.h"
#include "formats/common/adjust.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

static uint32_t big32(const uint8_t *p) {
  return (uint32_t)p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 24;
}

// Checks the header's counts: positive, and the positions fit into the `size` bytes of the file after the header.
static sn_status check_counts(sn_context *ctx, const char *name, uint32_t points, uint32_t frames, uint64_t header,
                              uint64_t size) {
  if (points == 0 || frames == 0) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: the header says %u vertices and %u frames", name, points, frames);
  }
  if (points > INT32_MAX || frames > INT32_MAX) {
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

static sn_status check_finite(sn_context *ctx, const char *name, sn_frames *frames) {
  sn_status status = sn_frames_check_file(ctx, name, frames);
  frames->finite = status == SN_OK;
  if (status == SN_OK) return SN_OK;
  sn_frames_free(frames);
  ctx->error.status = SN_BAD_FILE;
  return sn_fail_prefix(ctx, "%s: ", name);
}

// Does not check the positions, which are used in place in `bytes` if they are aligned.
static sn_status open_pc2(sn_context *ctx, const char *name, const uint8_t *bytes, size_t size, sn_frames *out) {
  enum { header = 32 };
  *out = (sn_frames){0};
  if (size < header || memcmp(bytes, "POINTCACHE2", 12) != 0) {
    return sn_fail(ctx, SN_BAD_FILE, "%s: not a PC2 file (it must begin with POINTCACHE2)", name);
  }
  uint32_t version = (uint32_t)sn_little(bytes + 12, 4), points = (uint32_t)sn_little(bytes + 16, 4),
           frames = (uint32_t)sn_little(bytes + 28, 4);
  if (version != 1) return sn_fail(ctx, SN_BAD_FILE, "%s: PC2 version %u; only version 1 is known", name, version);
  SN_TRY(check_counts(ctx, name, points, frames, header, size));
  if ((uintptr_t)(bytes + header) % sizeof(float) == 0) {
    *out = (sn_frames){.vertex_count = (int)points, .frame_count = (int)frames, .memory = sn_arena_new(ctx)};
    out->positions = (const float(*)[3])(const void *)(bytes + header);
    return SN_OK;
  }
  SN_TRY(sn_frames_new(ctx, (int)points, (int)frames, out));
  memcpy(sn_frame_mutable(out, 0), bytes + header, (size_t)points * frames * sizeof *out->positions);
  return SN_OK;
}

sn_status sn_pc2_parse(sn_context *ctx, const char *name, const uint8_t *bytes, size_t size, sn_frames *out) {
  SN_TRY(open_pc2(ctx, name, bytes, size, out));
  return check_finite(ctx, name, out);
}

sn_status sn_pc2_take(sn_context *ctx, const char *name, sn_file *file, sn_frames *out) {
  sn_status status = open_pc2(ctx, name, file->bytes, file->size, out); // a file's bytes are aligned
  if (status != SN_OK) {
    sn_file_close(file);
    return status;
  }
  out->file = *file;
  return check_finite(ctx, name, out);
}

static void read_mdd_frame(const uint8_t *bytes, size_t count, float *out) {
  for (size_t k = 0; k < count; k++) {
    uint32_t bits = big32(bytes + 4 * k);
    memcpy(out + k, &bits, sizeof bits);
  }
}

static sn_status read_mdd(sn_context *ctx, const char *name, const sn_file *file, sn_frames *out) {
  const uint8_t *bytes = file->bytes;
  *out = (sn_frames){0};
  if (file->size < 8) return sn_fail(ctx, SN_BAD_FILE, "%s: too short for an MDD file", name);
  uint32_t frames = big32(bytes), points = big32(bytes + 4);
  uint64_t header = 8 + 4 * (uint64_t)frames;
  SN_TRY(check_counts(ctx, name, points, frames, header, file->size));
  SN_TRY(sn_frames_new(ctx, (int)points, (int)frames, out));
  size_t numbers = 3 * (size_t)points;
  for (uint32_t f = 0; f < frames; f++) {
    read_mdd_frame(bytes + header + 4 * f * numbers, numbers, sn_frame_mutable(out, (int)f)[0]);
    sn_file_used(file, 4 * numbers);
    sn_frames_used(out, (int)points, 1);
    if (file->map) sn_progress_reading(ctx, name, (double)f / frames);
  }
  if (frames > 1) {
    uint32_t first = big32(bytes + 8), last = big32(bytes + 8 + 4 * (size_t)(frames - 1));
    float start, end;
    memcpy(&start, &first, sizeof start), memcpy(&end, &last, sizeof end);
    double rate = (frames - 1) / ((double)end - start);
    if (isfinite(rate) && rate > 0) out->rate = rate;
  }
  return check_finite(ctx, name, out);
}

sn_status sn_mdd_parse(sn_context *ctx, const char *name, const uint8_t *bytes, size_t size, sn_frames *out) {
  return read_mdd(ctx, name, &(sn_file){.bytes = bytes, .size = size}, out);
}

sn_status sn_mdd_take(sn_context *ctx, const char *name, sn_file *file, sn_frames *out) {
  sn_status status = read_mdd(ctx, name, file, out);
  sn_file_close(file);
  return status;
}

typedef struct cache_writer {
  sn_writer writer;
  size_t vertex_count;
} cache_writer;

// Passes every frame to `put`, which writes it.
static sn_status write_frames(sn_context *ctx, cache_writer *w, sn_stream *frames, sn_frame_fn put) {
  w->vertex_count = (size_t)frames->vertex_count;
  sn_status status = sn_stream_each(ctx, frames, put, w);
  if (status == SN_OK) return sn_writer_commit(ctx, &w->writer);
  sn_writer_abort(ctx, &w->writer);
  return status;
}

static sn_status put_pc2_frame(void *user, int f, const float (*positions)[3]) {
  (void)f;
  cache_writer *w = user;
  sn_write(&w->writer, positions, w->vertex_count * sizeof *positions);
  return SN_OK;
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

sn_status sn_pc2_write_stream(sn_context *ctx, const char *path, sn_stream *frames) {
  cache_writer w;
  SN_TRY(sn_pc2_begin(ctx, path, frames->vertex_count, frames->frame_count, &w.writer));
  return write_frames(ctx, &w, frames, put_pc2_frame);
}

sn_status sn_pc2_write(sn_context *ctx, const char *path, const sn_frames *frames) {
  sn_stream stream = sn_stream_of(frames);
  return sn_pc2_write_stream(ctx, path, &stream);
}

static void write_big32(sn_writer *writer, uint32_t value) {
  uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value};
  sn_write(writer, bytes, sizeof bytes);
}

static void write_big_float(sn_writer *writer, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  write_big32(writer, bits);
}

static sn_status put_mdd_frame(void *user, int f, const float (*positions)[3]) {
  (void)f;
  cache_writer *w = user;
  for (size_t k = 0; k < 3 * w->vertex_count; k++) write_big_float(&w->writer, positions[k / 3][k % 3]);
  return SN_OK;
}

sn_status sn_mdd_write_stream(sn_context *ctx, const char *path, sn_stream *frames) {
  cache_writer w;
  SN_TRY(sn_writer_open(ctx, path, &w.writer));
  double rate = frames->rate > 0 ? frames->rate : SN_DEFAULT_FPS;
  write_big32(&w.writer, (uint32_t)frames->frame_count);
  write_big32(&w.writer, (uint32_t)frames->vertex_count);
  for (int f = 0; f < frames->frame_count; f++) write_big_float(&w.writer, (float)(f / rate));
  return write_frames(ctx, &w, frames, put_mdd_frame);
}
