// SPDX-License-Identifier: MIT
// Packing of a page: compressed blobs, quantised frames, and the file itself.
#include "cli/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char set_open[] = "<script type=\"application/json\" class=\"sinew-set\">", set_close[] = "</script>";

// ---- blobs ----------------------------------------------------------------------------------------------------------

static void base64(const uint8_t *bytes, size_t size, char *out) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t k = 0; k < size; k += 3) {
    uint32_t left = (uint32_t)(size - k), bits = (uint32_t)bytes[k] << 16;
    if (left > 1) bits |= (uint32_t)bytes[k + 1] << 8;
    if (left > 2) bits |= bytes[k + 2];
    *out++ = digits[bits >> 18];
    *out++ = digits[bits >> 12 & 63];
    *out++ = left > 1 ? digits[bits >> 6 & 63] : '=';
    *out++ = left > 2 ? digits[bits & 63] : '=';
  }
}

// Byte k of every word to plane k; what is left over at the end stays.
static void to_planes(const uint8_t *bytes, size_t size, size_t word, uint8_t *out) {
  size_t count = size / word;
  for (size_t k = 0; k < word; k++)
    for (size_t n = 0; n < count; n++) out[k * count + n] = bytes[n * word + k];
  memcpy(out + count * word, bytes + count * word, size - count * word);
}

json_t *page_blob(sn_context *ctx, const void *bytes, size_t size, size_t word) {
  sn_arena scratch = sn_arena_new(ctx);
  uLongf packed_size = compressBound(size);
  uint8_t *planes = SN_NEW(ctx, &scratch, uint8_t, size);
  uint8_t *packed = SN_NEW(ctx, &scratch, uint8_t, packed_size);
  char *text = SN_NEW(ctx, &scratch, char, packed_size / 3 * 4 + 5);
  json_t *out = NULL;
  if (planes && packed && text) {
    to_planes(bytes, size, word, planes);
    if (compress2(packed, &packed_size, planes, size, 9) == Z_OK) {
      base64(packed, packed_size, text);
      out = json_pack("{sI si so}", "n", (json_int_t)size, "s", (int)word, "z",
                      json_stringn_nocheck(text, (packed_size + 2) / 3 * 4));
    }
  }
  if (!out) sn_fail(ctx, SN_NO_MEMORY, "no memory to pack %zu bytes for the page", size);
  sn_arena_free(&scratch);
  return out;
}

// ---- frames -----------------------------------------------------------------------------------------------------------

static double quantise_frame(const float (*positions)[3], int count, float box[6], uint16_t *out) {
  sn_vec3 low, high;
  sn_points_bounds(positions, count, &low, &high);
  double worst = 0, squared[3];
  for (int c = 0; c < 3; c++) {
    box[c] = (float)(&low.x)[c];
    box[3 + c] = (float)((&high.x)[c] - (&low.x)[c]);
  }
  for (int i = 0; i < count; i++) {
    for (int c = 0; c < 3; c++) {
      double place = box[3 + c] > 0 ? (positions[i][c] - (double)box[c]) / box[3 + c] * 65535 : 0;
      uint16_t step = (uint16_t)fmin(fmax(round(place), 0), 65535);
      double off = box[c] + step * (double)box[3 + c] / 65535 - positions[i][c];
      squared[c] = off * off;
      out[(size_t)c * (size_t)count + (size_t)i] = step;
    }
    worst = fmax(worst, squared[0] + squared[1] + squared[2]);
  }
  return sqrt(worst);
}

// Each coordinate by what the vertex before it did since the last frame: small numbers, of either sign by zigzag.
static void predict(const uint16_t *steps, int frame_count, int count, uint16_t *out) {
  size_t n = (size_t)count, frame = 3 * n;
  for (size_t k = 0; k < (size_t)frame_count * frame; k++) {
    bool first = k % n == 0, start = k < frame;
    uint16_t guess = 0;
    if (!first) guess = (uint16_t)(guess + steps[k - 1]);
    if (!start) guess = (uint16_t)(guess + steps[k - frame]);
    if (!first && !start) guess = (uint16_t)(guess - steps[k - frame - 1]);
    int16_t off = (int16_t)(steps[k] - guess);
    out[k] = (uint16_t)((uint32_t)off << 1 ^ (off < 0 ? 0xffffu : 0));
  }
}

json_t *page_frames(sn_context *ctx, const sn_frames *frames) {
  sn_arena scratch = sn_arena_new(ctx);
  size_t f_count = (size_t)frames->frame_count, size = f_count * 3 * (size_t)frames->vertex_count;
  float(*boxes)[6] = sn_arena_alloc(ctx, &scratch, f_count, sizeof *boxes);
  uint16_t *steps = SN_NEW(ctx, &scratch, uint16_t, size), *offsets = SN_NEW(ctx, &scratch, uint16_t, size);
  json_t *out = NULL;
  double worst = 0;
  if (boxes && steps && offsets) {
    for (int f = 0; f < frames->frame_count; f++) {
      size_t at = (size_t)f * 3 * (size_t)frames->vertex_count;
      worst = fmax(worst, quantise_frame(sn_frame(frames, f), frames->vertex_count, boxes[f], steps + at));
    }
    predict(steps, frames->frame_count, frames->vertex_count, offsets);
    json_t *box_blob = page_blob(ctx, boxes, f_count * sizeof *boxes, 4);
    json_t *step_blob = page_blob(ctx, offsets, size * sizeof *offsets, 2);
    out = json_pack("{so* so* sf}", "boxes", box_blob, "coordinates", step_blob, "error", worst);
  }
  sn_arena_free(&scratch);
  return out;
}

// ---- the file -----------------------------------------------------------------------------------------------------------

static void write_text(sn_writer *writer, const char *text) { sn_write(writer, text, strlen(text)); }

static void write_escaped(sn_writer *writer, const char *text) {
  for (; *text; text++) {
    switch (*text) {
    case '<':
      write_text(writer, "&lt;");
      break;
    case '&':
      write_text(writer, "&amp;");
      break;
    default:
      sn_write(writer, text, 1);
    }
  }
}

// JSON inside HTML: '<' occurs in strings only, where it may be written as an escape.
static int dump_piece(const char *buffer, size_t size, void *user) {
  size_t from = 0;
  for (size_t k = 0; k < size; k++) {
    if (buffer[k] != '<') continue;
    sn_write(user, buffer + from, k - from);
    write_text(user, "\\u003c");
    from = k + 1;
  }
  sn_write(user, buffer + from, size - from);
  return 0;
}

static const char *find(const char *text, size_t size, const char *word) {
  return memmem(text, size, word, strlen(word));
}

// The sets of a page written before, as they are.
static sn_status copy_sets(sn_context *ctx, const char *path, sn_writer *writer) {
  sn_file file;
  sn_status status = sn_file_open(ctx, path, &file);
  if (status != SN_OK) return status;
  const char *text = (const char *)file.bytes, *end = text + file.size, *at = text;
  int count = 0;
  while (at && (at = find(at, (size_t)(end - at), set_open)) != NULL) {
    const char *close = find(at, (size_t)(end - at), set_close);
    if (!close) break;
    close += strlen(set_close);
    sn_write(writer, at, (size_t)(close - at));
    write_text(writer, "\n");
    at = close, count++;
  }
  sn_file_close(&file);
  return count ? SN_OK : sn_fail(ctx, SN_BAD_FILE, "%s: not a page written by sinew view", path);
}

sn_status page_write(sn_context *ctx, const char *path, const char *title, const char *const *pages, int page_count,
                     const json_t *sets) {
  static const char title_mark[] = "<!--sinew:title-->", sets_mark[] = "<!--sinew:sets-->";
  const char *text = (const char *)sn_page_template;
  size_t size = sn_page_template_size;
  const char *title_at = find(text, size, title_mark), *sets_at = find(text, size, sets_mark);
  if (!title_at || !sets_at) {
    return sn_fail(ctx, SN_UNSUPPORTED, PAGE_MISSING);
  }
  sn_writer writer;
  sn_status status = sn_writer_open(ctx, path, &writer);
  if (status != SN_OK) return status;
  sn_write(&writer, text, (size_t)(title_at - text));
  write_escaped(&writer, title);
  title_at += strlen(title_mark);
  sn_write(&writer, title_at, (size_t)(sets_at - title_at));
  for (int k = 0; status == SN_OK && k < page_count; k++) status = copy_sets(ctx, pages[k], &writer);
  for (size_t k = 0; status == SN_OK && k < json_array_size(sets); k++) {
    write_text(&writer, set_open);
    json_dump_callback(json_array_get(sets, k), dump_piece, &writer, JSON_COMPACT | JSON_REAL_PRECISION(7));
    write_text(&writer, set_close);
    write_text(&writer, "\n");
  }
  sets_at += strlen(sets_mark);
  sn_write(&writer, sets_at, (size_t)(text + size - sets_at));
  if (status == SN_OK) return sn_writer_commit(ctx, &writer);
  sn_writer_abort(&writer);
  return status;
}
