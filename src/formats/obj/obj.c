// SPDX-License-Identifier: MIT
// Wavefront OBJ: positions, faces and, on request, texture coordinates. Ignores normals, groups and materials, and colours or a
// weight after a position.
#include "base/number.h"
#include "formats/common/reader.h"
#include "sinew/formats.h"

#include <math.h>
#include <string.h>

typedef struct obj_reader {
  sn_context *ctx;
  const char *name, *p, *end;
  long line;
  sn_growing positions, triangles; // float[3], int[3]
  bool wants_uvs;
  sn_growing uvs, corner_uvs;   // float[2]; int[3] per triangle: indices of the former, from 0, -1: none
  long furthest, furthest_line; // the largest forward reference, and its line
} obj_reader;

static size_t position_count(const obj_reader *reader) { return reader->positions.size / sizeof(float[3]); }
static size_t triangle_count(const obj_reader *reader) { return reader->triangles.size / sizeof(int[3]); }
static size_t uv_count(const obj_reader *reader) { return reader->uvs.size / sizeof(float[2]); }

static sn_status bad_line(obj_reader *reader, const char *what) {
  return sn_fail(reader->ctx, SN_BAD_FILE, "%s:%ld: %s", reader->name, reader->line, what);
}

// Moves to the next word on this line; false at its end. A backslash before the line's end continues it.
static bool next_word(obj_reader *reader) {
  const char *p = reader->p, *end = reader->end;
  for (; p < end; p++) {
    if (*p == '\\' && p + 1 < end && (p[1] == '\n' || p[1] == '\r')) {
      p += p[1] == '\r' && p + 2 < end && p[2] == '\n' ? 2 : 1;
      reader->line++;
    } else if (*p != ' ' && *p != '\t') {
      break;
    }
  }
  reader->p = p;
  return p < end && *p != '\n' && *p != '\r' && *p != '#';
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static bool ends_word(const char *p, const char *end) { return p == end || is_blank(*p) || *p == '\\' || *p == '#'; }

// Lines end in LF, CR LF or CR.
static void skip_line(obj_reader *reader) {
  const char *p = reader->p, *end = reader->end;
  while (p < end && *p != '\n' && *p != '\r') p++;
  if (p + 1 < end && p[0] == '\r' && p[1] == '\n') p++;
  reader->p = p < end ? p + 1 : end;
  reader->line++;
}

static sn_status read_position(obj_reader *reader) {
  float *position = sn_grow(reader->ctx, &reader->positions, sizeof(float[3]));
  if (!position) return reader->ctx->error.status;
  for (int c = 0; c < 3; c++) {
    double value;
    const char *behind = next_word(reader) ? sn_parse_number(reader->p, reader->end, &value) : NULL;
    if (!behind) return bad_line(reader, "a vertex needs three numbers");
    if (!ends_word(behind, reader->end)) return bad_line(reader, "a coordinate is not a number");
    position[c] = (float)value;
    if (!isfinite(position[c])) return bad_line(reader, "a coordinate is not a finite number");
    reader->p = behind;
  }
  return SN_OK;
}

// Malformed texture coordinates become (0, 0).
static sn_status read_uv(obj_reader *reader) {
  float *uv = sn_grow(reader->ctx, &reader->uvs, sizeof(float[2]));
  if (!uv) return reader->ctx->error.status;
  uv[0] = uv[1] = 0;
  for (int c = 0; c < 2 && next_word(reader); c++) {
    double value;
    const char *behind = sn_parse_number(reader->p, reader->end, &value);
    if (!behind) break;
    uv[c] = isfinite((float)value) ? (float)value : 0;
    reader->p = behind;
  }
  return SN_OK;
}

// Parses an index; a negative one counts back from the last of `known`. *out is from 0; returns the text after it.
static const char *read_index(const obj_reader *reader, const char *p, size_t known, long *out) {
  bool negative = p < reader->end && *p == '-';
  long index = 0;
  for (p += negative; p < reader->end && *p >= '0' && *p <= '9'; p++)
    index = index < INT32_MAX ? index * 10 + (*p - '0') : index;
  *out = negative ? (long)known - index : index - 1;
  return p;
}

// The vertex of one corner ("7", "7/1", "7//3", "-1/..."), and its texture coordinate (-1: none or out of range), from 0.
static sn_status read_corner(obj_reader *reader, int *out, int *uv) {
  long index, number = -1, known = (long)position_count(reader);
  const char *p = read_index(reader, reader->p, position_count(reader), &index);
  bool negative = *reader->p == '-';
  if (p == reader->p + negative) return bad_line(reader, "a face corner is not a number");
  if (index == (negative ? known : -1)) return bad_line(reader, "face index 0: OBJ counts from 1");
  if (index < 0) return bad_line(reader, "a negative face index reaches before the first vertex");
  if (index >= INT32_MAX) return bad_line(reader, "a face index is too large");
  *out = (int)index;
  if (index >= known && index >= reader->furthest) reader->furthest = index + 1, reader->furthest_line = reader->line;
  if (!ends_word(p, reader->end) && *p != '/') return bad_line(reader, "a face corner is not a number");
  if (reader->wants_uvs && p < reader->end && *p == '/') read_index(reader, p + 1, uv_count(reader), &number);
  *uv = number >= 0 && number < (long)uv_count(reader) ? (int)number : -1;
  while (p < reader->end && !is_blank(*p) && *p != '\\') p++;
  reader->p = p;
  return SN_OK;
}

static sn_status read_face(obj_reader *reader) {
  int first = 0, previous = 0, corners = 0, first_uv = -1, previous_uv = -1;
  for (; next_word(reader); corners++) {
    int corner = 0, uv = -1;
    SN_TRY(read_corner(reader, &corner, &uv));
    if (corners >= 2) {
      int *triangle = sn_grow(reader->ctx, &reader->triangles, sizeof(int[3]));
      if (!triangle) return reader->ctx->error.status;
      triangle[0] = first, triangle[1] = previous, triangle[2] = corner;
      int *numbers = reader->wants_uvs ? sn_grow(reader->ctx, &reader->corner_uvs, sizeof(int[3])) : NULL;
      if (reader->wants_uvs && !numbers) return reader->ctx->error.status;
      if (numbers) numbers[0] = first_uv, numbers[1] = previous_uv, numbers[2] = uv;
    }
    if (corners == 0) first = corner, first_uv = uv;
    previous = corner, previous_uv = uv;
  }
  return corners >= 3 ? SN_OK : bad_line(reader, "a face needs at least three corners");
}

// Consumes this word if it is next.
static bool pass(obj_reader *reader, const char *word) {
  size_t size = strlen(word);
  bool here = (size_t)(reader->end - reader->p) >= size && memcmp(reader->p, word, size) == 0 &&
              ends_word(reader->p + size, reader->end);
  if (here) reader->p += size;
  return here;
}

static sn_status read_lines(obj_reader *reader) {
  for (reader->line = 1; reader->p < reader->end; skip_line(reader)) {
    if (!next_word(reader)) continue;
    if (pass(reader, "v")) {
      SN_TRY(read_position(reader));
    } else if (pass(reader, "f")) {
      SN_TRY(read_face(reader));
    } else if (reader->wants_uvs && pass(reader, "vt")) {
      SN_TRY(read_uv(reader));
    }
  }
  if (reader->furthest > (long)position_count(reader)) {
    return sn_fail(reader->ctx, SN_BAD_FILE, "%s:%ld: face index %ld, but there are only %zu vertices", reader->name,
                   reader->furthest_line, reader->furthest, position_count(reader));
  }
  if (position_count(reader) == 0) return sn_fail(reader->ctx, SN_BAD_FILE, "%s: no vertices", reader->name);
  if (position_count(reader) > INT32_MAX || triangle_count(reader) > INT32_MAX) {
    return sn_fail(reader->ctx, SN_UNSUPPORTED, "%s: more than 2147483647 vertices or triangles", reader->name);
  }
  return SN_OK;
}

static sn_status keep_uvs(const obj_reader *reader, sn_surface *out) {
  if (uv_count(reader) == 0) return SN_OK;
  size_t corners = 3 * triangle_count(reader);
  const int *numbers = (const int *)(const void *)reader->corner_uvs.bytes;
  const float(*uvs)[2] = (const void *)reader->uvs.bytes;
  out->uvs = sn_arena_alloc(reader->ctx, &out->memory, corners, sizeof *out->uvs);
  if (!out->uvs) return reader->ctx->error.status;
  out->has_uvs = true;
  for (size_t c = 0; c < corners; c++)
    if (numbers[c] >= 0) memcpy(out->uvs[c], uvs[numbers[c]], sizeof *out->uvs);
  return SN_OK;
}

sn_status sn_obj_parse(sn_context *ctx, const char *name, const char *text, size_t size, sn_mesh *out,
                       sn_surface *surface) {
  *out = (sn_mesh){0};
  if (surface) *surface = (sn_surface){.memory = sn_arena_new(ctx)};
  obj_reader reader = {.ctx = ctx, .name = name, .p = sn_skip_byte_order_mark(text, size), .end = text + size};
  reader.wants_uvs = surface != NULL;
  sn_status status = read_lines(&reader);
  if (status == SN_OK) status = sn_mesh_new(ctx, (int)position_count(&reader), (int)triangle_count(&reader), out);
  if (status == SN_OK) {
    memcpy(out->positions, reader.positions.bytes, reader.positions.size);
    if (reader.triangles.size > 0) memcpy(out->triangles, reader.triangles.bytes, reader.triangles.size);
  }
  if (status == SN_OK && surface) status = keep_uvs(&reader, surface);
  if (status != SN_OK) sn_mesh_free(out);
  sn_growing *const lists[] = {&reader.positions, &reader.triangles, &reader.uvs, &reader.corner_uvs};
  for (size_t n = 0; n < sizeof lists / sizeof *lists; n++) sn_arena_free(&lists[n]->memory);
  return status;
}

sn_status sn_obj_read(sn_context *ctx, const char *path, sn_mesh *out, sn_surface *surface) {
  *out = (sn_mesh){0};
  SN_FREED_BY(sn_file_close) sn_file file;
  SN_TRY(sn_file_open(ctx, path, &file));
  return sn_obj_parse(ctx, path, (const char *)file.bytes, file.size, out, surface);
}

// Writes corner k of the mesh: its vertex, texture coordinate and normal.
static void write_corner(sn_writer *writer, const sn_surface *surface, int vertex, int k) {
  sn_writef(writer, " %d", vertex + 1);
  if (!surface || (!surface->has_uvs && !surface->has_normals)) return;
  sn_writef(writer, "/");
  if (surface->has_uvs) sn_writef(writer, "%d", k + 1);
  if (surface->has_normals) sn_writef(writer, "/%d", k + 1);
}

static void write_attributes(sn_writer *writer, const sn_surface *surface, int corner_count) {
  for (int k = 0; surface->has_uvs && k < corner_count; k++) {
    sn_writef(writer, "vt %.9g %.9g\n", surface->uvs[k][0], surface->uvs[k][1]);
  }
  for (int k = 0; surface->has_normals && k < corner_count; k++) {
    sn_writef(writer, "vn %.9g %.9g %.9g\n", surface->normals[k][0], surface->normals[k][1], surface->normals[k][2]);
  }
}

sn_status sn_obj_write(sn_context *ctx, const char *path, const sn_mesh *mesh, const float (*positions)[3],
                       const sn_surface *surface) {
  sn_writer writer;
  SN_TRY(sn_writer_open(ctx, path, &writer));
  sn_writef(&writer, "# written by Sinew " SN_VERSION "\n");
  for (int i = 0; i < mesh->vertex_count; i++) {
    sn_writef(&writer, "v %.9g %.9g %.9g\n", positions[i][0], positions[i][1], positions[i][2]);
  }
  if (surface) write_attributes(&writer, surface, 3 * mesh->triangle_count);
  for (int t = 0, material = -1; t < mesh->triangle_count; t++) {
    if (surface && surface->materials[t] != material) {
      material = surface->materials[t];
      sn_writef(&writer, "usemtl %s\n", material < 0 ? "none" : surface->material_names[material]);
    }
    sn_writef(&writer, "f");
    for (int c = 0; c < 3; c++) write_corner(&writer, surface, mesh->triangles[t][c], 3 * t + c);
    sn_writef(&writer, "\n");
  }
  return sn_writer_commit(ctx, &writer);
}
