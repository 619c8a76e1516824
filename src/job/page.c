// SPDX-License-Identifier: MIT
// Packs a page: compressed blobs, quantised frames, and the file.
#include "base/scope.h"
#include "job/page.h"

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

// Moves byte k of every word to plane k; an incomplete last word stays.
static void to_planes(const uint8_t *bytes, size_t size, size_t word, uint8_t *out) {
  size_t count = size / word;
  for (size_t k = 0; k < word; k++)
    for (size_t n = 0; n < count; n++) out[k * count + n] = bytes[n * word + k];
  memcpy(out + count * word, bytes + count * word, size - count * word);
}

json_t *sn_page_blob(sn_context *ctx, const void *bytes, size_t size, size_t word) {
  SN_SCRATCH(scratch, ctx);
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
  if (!out) sn_fail(ctx, SN_NO_MEMORY, "out of memory for %zu bytes for the page", size);
  return out;
}

// ---- frames -----------------------------------------------------------------------------------------------------------

// Boxes of one size for all frames, each at its frame's minimum: quantisation steps are then equal in all frames.
static void find_boxes(const sn_frames *frames, float (*boxes)[6]) {
  float size[3] = {0};
  for (int f = 0; f < frames->frame_count; f++) {
    sn_vec3 low, high;
    sn_points_bounds(sn_frame(frames, f), frames->vertex_count, &low, &high);
    for (int c = 0; c < 3; c++) {
      boxes[f][c] = (float)(&low.x)[c];
      size[c] = fmaxf(size[c], (float)((&high.x)[c] - (&low.x)[c]));
    }
  }
  for (int f = 0; f < frames->frame_count; f++) memcpy(boxes[f] + 3, size, sizeof size);
}

// Quantises all x, then y, then z; returns the largest distance error.
static double quantise_frame(const float (*positions)[3], int count, const float box[6], uint16_t *out) {
  double worst = 0, squared[3];
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

typedef struct neighbours {
  int *start, *list; // neighbours of vertex i: list[start[i]] .. list[start[i + 1] - 1]
} neighbours;

// Quantised frames and their prediction residuals.
typedef struct coded_frames {
  int frame_count, count; // vertices of a frame
  uint16_t *steps, *offsets;
  int *strayed; // per vertex: deviation from the extrapolation in time
  neighbours around;
} coded_frames;

// Neighbours of every vertex with a lower index, once per shared triangle.
static sn_status lower_neighbours(sn_context *ctx, const sn_mesh *mesh, sn_arena *memory, neighbours *out) {
  int count = 0;
  out->start = SN_NEW(ctx, memory, int, mesh->vertex_count + 2);
  out->list = SN_NEW(ctx, memory, int, 3 * (size_t)mesh->triangle_count);
  if (!out->start || !out->list) return ctx->error.status;
  for (int fill = 0; fill < 2; fill++) {
    for (int t = 0; t < mesh->triangle_count; t++)
      for (int k = 0; k < 6; k++) {
        int i = (int)mesh->triangles[t][k / 2], j = (int)mesh->triangles[t][(k / 2 + 1 + k % 2) % 3];
        if (j >= i) continue;
        if (fill)
          out->list[out->start[i + 1]++] = j;
        else
          out->start[i + 2]++;
      }
    for (int i = 0; !fill && i < mesh->vertex_count + 2; i++) out->start[i] = count += out->start[i];
  }
  return SN_OK;
}

// Predicts each coordinate: extrapolation from the last `order` frames plus the mean deviation of its lower neighbours. The
// residuals are small and zigzag-encoded. Returns the sum of their magnitudes.
static double predict(const coded_frames *c, int order) {
  const neighbours *around = &c->around;
  const uint16_t *steps = c->steps;
  int *strayed = c->strayed;
  size_t n = (size_t)c->count, frame = 3 * n;
  double total = 0;
  for (size_t at = 0; at < (size_t)c->frame_count * frame; at += n) {
    size_t past = at / frame < (size_t)order ? at / frame : (size_t)order;
    for (size_t i = 0; i < n; i++) {
      size_t k = at + i;
      int going = past == 0 ? 0 : past == 1 ? steps[k - frame] : 2 * steps[k - frame] - steps[k - 2 * frame];
      int first = around->start[i], last = around->start[i + 1];
      double sum = 0;
      for (int a = first; a < last; a++) sum += strayed[around->list[a]];
      int guess = last > first ? (int)floor(sum / (last - first) + 0.5) : i ? strayed[i - 1] : 0;
      strayed[i] = steps[k] - going;
      int16_t off = (int16_t)(uint16_t)(strayed[i] - guess);
      c->offsets[k] = (uint16_t)((uint32_t)off << 1 ^ (off < 0 ? 0xffffu : 0));
      total += abs(off);
    }
  }
  return total;
}

json_t *sn_page_frames(sn_context *ctx, const sn_mesh *mesh, const sn_frames *frames) {
  SN_SCRATCH(scratch, ctx);
  int n = frames->vertex_count, f_count = frames->frame_count, order;
  size_t size = (size_t)f_count * 3 * (size_t)n;
  float(*boxes)[6] = sn_arena_alloc(ctx, &scratch, (size_t)f_count, sizeof *boxes);
  coded_frames c = {.frame_count = f_count,
                    .count = n,
                    .steps = SN_NEW(ctx, &scratch, uint16_t, size),
                    .offsets = SN_NEW(ctx, &scratch, uint16_t, size),
                    .strayed = SN_NEW(ctx, &scratch, int, n)};
  json_t *out = NULL;
  double worst = 0;
  if (boxes && c.steps && c.offsets && c.strayed && lower_neighbours(ctx, mesh, &scratch, &c.around) == SN_OK) {
    find_boxes(frames, boxes);
    for (int f = 0; f < f_count; f++) {
      size_t at = (size_t)f * 3 * (size_t)n;
      worst = fmax(worst, quantise_frame(sn_frame(frames, f), n, boxes[f], c.steps + at));
    }
    double steady = predict(&c, 1);
    order = steady < predict(&c, 2) ? 1 : 2;
    if (order == 1) predict(&c, 1);
    json_t *box_blob = sn_page_blob(ctx, boxes, (size_t)f_count * sizeof *boxes, 4);
    json_t *step_blob = sn_page_blob(ctx, c.offsets, size * sizeof *c.offsets, 2);
    if (box_blob && step_blob)
      out = json_pack("{sO sO sf si}", "boxes", box_blob, "coordinates", step_blob, "error", worst, "order", order);
    json_decref(box_blob);
    json_decref(step_blob);
  }
  return out;
}

// ---- the file -----------------------------------------------------------------------------------------------------------

static void write_text(sn_writer *writer, const char *text) { sn_write(writer, text, strlen(text)); }

// JSON inside HTML: '<' occurs only in strings, where it is escaped.
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

// End of a set that this code wrote, starting at `text`: JSON without '<', as dump_piece writes it, so no HTML parser can misread
// it. NULL for anything else.
static const char *set_end(const char *text, const char *end) {
  const char *close = memchr(text, '<', (size_t)(end - text));
  size_t length = strlen(set_close);
  if (!close || (size_t)(end - close) < length || memcmp(close, set_close, length) != 0) return NULL;
  json_t *set = json_loadb(text, (size_t)(close - text), 0, NULL);
  bool good = json_is_object(set);
  json_decref(set);
  return good ? close : NULL;
}

// Copies the sets of an existing page unchanged.
static sn_status copy_sets(sn_context *ctx, const char *path, sn_writer *writer) {
  SN_FREED_BY(sn_file_close) sn_file file;
  SN_TRY(sn_file_open(ctx, path, &file));
  const char *text = (const char *)file.bytes, *end = text + file.size, *at = text;
  int count = 0;
  while ((at = find(at, (size_t)(end - at), set_open)) != NULL) {
    at += strlen(set_open), count++;
    const char *close = set_end(at, end);
    if (!close) return sn_fail(ctx, SN_BAD_FILE, "%s: its set %d is not as sinew view writes it", path, count);
    write_text(writer, set_open);
    sn_write(writer, at, (size_t)(close - at));
    sn_writef(writer, "%s\n", set_close);
    at = close;
  }
  return count ? SN_OK : sn_fail(ctx, SN_BAD_FILE, "%s: not a page written by sinew view", path);
}

sn_status sn_page_write(sn_context *ctx, const sn_view_job *job, const char *title, const json_t *sets) {
  static const char title_mark[] = "<!--sinew:title-->", sets_mark[] = "<!--sinew:sets-->";
  const char *text = job->page, *path = job->path;
  size_t size = job->page_size;
  const char *title_at = find(text, size, title_mark), *sets_at = find(text, size, sets_mark);
  if (!title_at || !sets_at) return sn_fail(ctx, SN_UNSUPPORTED, "%s: the page has no place for models", path);
  sn_writer writer;
  sn_status status = SN_OK;
  SN_TRY(sn_writer_open(ctx, path, &writer));
  sn_write(&writer, text, (size_t)(title_at - text));
  sn_write_escaped(&writer, title);
  title_at += strlen(title_mark);
  sn_write(&writer, title_at, (size_t)(sets_at - title_at));
  for (int k = 0; status == SN_OK && k < job->page_count; k++) status = copy_sets(ctx, job->pages[k], &writer);
  for (size_t k = 0; status == SN_OK && k < json_array_size(sets); k++) {
    write_text(&writer, set_open);
    if (json_dump_callback(json_array_get(sets, k), dump_piece, &writer, JSON_COMPACT | JSON_REAL_PRECISION(7)) != 0)
      status = sn_fail(ctx, SN_NO_MEMORY, "%s: out of memory while writing JSON", path);
    sn_writef(&writer, "%s\n", set_close);
  }
  sets_at += strlen(sets_mark);
  sn_write(&writer, sets_at, (size_t)(text + size - sets_at));
  if (status == SN_OK) return sn_writer_commit(ctx, &writer);
  sn_writer_abort(ctx, &writer);
  return status;
}
