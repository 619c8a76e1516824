// SPDX-License-Identifier: MIT
// Scale, axes and offset, for files whose unit, axes or times differ from those of the other files.
#include "formats/common/adjust.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const file_names[SN_FILE_KINDS] = {"rest", "frames", "skeleton"};

// ---- axes as text -----------------------------------------------------------------------------------------------------

// "xz-y": the file's axes, with signs, that become x, y and z; "z-up" is short for it. False for anything else.
static bool parse_axes(const char *text, sn_mat3 *out) {
  if (strcasecmp(text, "z-up") == 0) text = "xz-y";
  if (strcasecmp(text, "y-up") == 0) text = "xyz";
  int used = 0;
  *out = (sn_mat3){0};
  for (int row = 0; row < 3; row++) {
    double sign = *text == '-' ? -1 : 1;
    text += *text == '-' || *text == '+';
    int column = tolower((unsigned char)*text++) - 'x';
    if (column < 0 || column > 2 || used >> column & 1) return false;
    used |= 1 << column;
    out->m[row][column] = sign;
  }
  return *text == '\0';
}

static void axes_text(sn_mat3 axes, char out[8]) {
  int used = 0;
  for (int row = 0; row < 3; row++)
    for (int column = 0; column < 3; column++) {
      if (axes.m[row][column] == 0) continue;
      if (axes.m[row][column] < 0) out[used++] = '-';
      out[used++] = (char)('x' + column);
    }
  out[used] = '\0';
}

sn_mat3 sn_axes_number(int k) {
  static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  sn_mat3 out = {0};
  for (int row = 0; row < 3; row++) out.m[row][orders[k / 8][row]] = k >> row & 1 ? -1 : 1;
  return out;
}

// ---- options ----------------------------------------------------------------------------------------------------------

// The kind of file that the option names, -1: all; moves *text to the value.
static int kind_of(const char **text) {
  for (int k = 0; k < SN_FILE_KINDS; k++) {
    size_t length = strlen(file_names[k]);
    if (strncmp(*text, file_names[k], length) != 0 || (*text)[length] != '=') continue;
    *text += length + 1;
    return k;
  }
  return -1;
}

static bool read_number(const char *text, double least, double most, double *out) {
  char *end;
  *out = strtod(text, &end);
  return end != text && !*end && *out >= least && *out <= most;
}

sn_status sn_adjust_option(sn_context *ctx, const char *option, const char *text, sn_adjust adjust[SN_FILE_KINDS]) {
  static const double most_scale = 1e9, most_seconds = 1e6;
  const char *value = text;
  int only = kind_of(&value);
  sn_adjust read = {0};
  bool scale = strcmp(option, "scale") == 0, axes = strcmp(option, "axes") == 0;
  if (scale && !read_number(value, 1 / most_scale, most_scale, &read.scale)) {
    return sn_fail(ctx, SN_BAD_INPUT,
                   "`scale` %s: must be a positive number, perhaps behind frames=, rest= or skeleton=", text);
  }
  if (axes && !parse_axes(value, &read.axes)) {
    return sn_fail(
      ctx, SN_BAD_INPUT,
      "`axes` %s: give the file's axes that are x, y and z here, as xz-y, or z-up for just that; perhaps "
      "behind frames=, rest= or skeleton=",
      text);
  }
  if (!scale && !axes && (!read_number(value, -most_seconds, most_seconds, &read.offset) || only == SN_FILE_REST)) {
    return sn_fail(ctx, SN_BAD_INPUT, "`offset` %s: must be seconds, perhaps behind frames= or skeleton=", text);
  }
  for (int k = 0; k < SN_FILE_KINDS; k++) {
    if (only >= 0 && only != k) continue;
    if (scale) adjust[k].scale = read.scale;
    if (axes) adjust[k].axes = read.axes;
    if (!scale && !axes) adjust[k].offset = read.offset;
  }
  return SN_OK;
}

void sn_adjust_text(const sn_adjust *given, sn_mat3 more, sn_file_kind kind, char *out, size_t size) {
  sn_mat3 linear = sn_mat3_mul(more, sn_adjust_linear(given));
  double scale = cbrt(fabs(sn_mat3_determinant(linear)));
  char axes[8];
  axes_text(linear, axes);
  *out = '\0';
  bool rotated = strcmp(axes, "xyz") != 0 || (given && sn_mat3_norm(given->axes) > 0);
  bool scaled = fabs(scale - 1) > 1e-6 || (given && given->scale > 0);
  int used = scaled ? snprintf(out, size, "`scale` %s=%.6g", file_names[kind], scale) : 0;
  if (rotated) snprintf(out + used, size - (size_t)used, "%s`axes` %s=%s", scaled ? " " : "", file_names[kind], axes);
}

double sn_known_scale(double scale, double slack) {
  static const double units[] = {1, 10, 100, 1000, 2.54, 25.4, 30.48, 1 / 0.0254, 1 / 0.3048, 12, 36};
  for (size_t k = 0; k < 2 * sizeof units / sizeof *units; k++) {
    double unit = k % 2 ? 1 / units[k / 2] : units[k / 2];
    if (fabs(scale / unit - 1) < slack) return unit;
  }
  return scale;
}

// ---- applying ---------------------------------------------------------------------------------------------------------

sn_mat3 sn_adjust_linear(const sn_adjust *a) {
  bool rotated = a && sn_mat3_norm(a->axes) > 0;
  return sn_mat3_scale(rotated ? a->axes : sn_mat3_identity(), a && a->scale > 0 ? a->scale : 1);
}

bool sn_adjust_moves(const sn_adjust *a) {
  return sn_mat3_norm(sn_mat3_sub(sn_adjust_linear(a), sn_mat3_identity())) > 0;
}

void sn_adjust_points(const sn_adjust *a, float (*points)[3], int count) {
  if (!sn_adjust_moves(a)) return;
  sn_mat3 linear = sn_adjust_linear(a);
  for (int i = 0; i < count; i++) sn_vec3_store(sn_mat3_apply(linear, sn_vec3_from(points[i])), points[i]);
}

// Swaps two corners of every triangle, in its vertices or in per-corner data of `size` bytes.
static void swap_corners(void *corners, size_t size, int triangles) {
  char *at = corners, kept[16];
  for (int t = 0; t < triangles; t++, at += 3 * size)
    memcpy(kept, at + size, size), memcpy(at + size, at + 2 * size, size), memcpy(at + 2 * size, kept, size);
}

// Mirroring reverses the triangles' orientation, so their corners must be swapped.
static bool mirrors(const sn_adjust *a) { return sn_mat3_determinant(sn_adjust_linear(a)) < 0; }

void sn_adjust_mesh(const sn_adjust *a, sn_mesh *mesh, sn_surface *surface) {
  bool has_uvs = surface && surface->has_uvs, has_normals = surface && surface->has_normals;
  sn_adjust_points(a, mesh->positions, mesh->vertex_count);
  if (has_normals) sn_adjust_directions(a, (float *)surface->normals, 3, 3 * mesh->triangle_count);
  if (!mirrors(a)) return;
  swap_corners(mesh->triangles, sizeof *mesh->triangles[0], mesh->triangle_count);
  if (has_uvs) swap_corners(surface->uvs, sizeof *surface->uvs, mesh->triangle_count);
  if (has_normals) swap_corners(surface->normals, sizeof *surface->normals, mesh->triangle_count);
}

void sn_adjust_directions(const sn_adjust *a, float *directions, int width, int count) {
  sn_adjust rotation = *a;
  rotation.scale = 1;
  if (!directions || !sn_adjust_moves(&rotation)) return;
  for (int i = 0; i < count; i++) {
    float *d = directions + (size_t)i * (size_t)width;
    sn_vec3_store(sn_mat3_apply(rotation.axes, sn_vec3_from(d)), d);
    if (width == 4 && mirrors(a)) d[3] = -d[3];
  }
}

void sn_adjust_matrices(const sn_adjust *a, sn_affine *matrices, size_t count) {
  sn_mat3 inverse, linear = sn_adjust_linear(a);
  if (!sn_adjust_moves(a) || !sn_mat3_invert(linear, &inverse)) return;
  sn_affine to = sn_affine_make(linear, sn_vec3_make(0, 0, 0)), from = sn_affine_make(inverse, sn_vec3_make(0, 0, 0));
  for (size_t k = 0; k < count; k++) matrices[k] = sn_affine_mul(to, sn_affine_mul(matrices[k], from));
}

void sn_adjust_rig(const sn_adjust *a, sn_mesh *mesh, sn_skeleton *skeleton) {
  if (mesh) sn_adjust_mesh(a, mesh, NULL);
  if (skeleton) sn_adjust_matrices(a, skeleton->rest, (size_t)skeleton->joint_count);
}

SN_DEFINE_FREE(sn_surface);

sn_status sn_fail_name(sn_context *ctx, sn_status status, const char *path) {
  if (status != SN_OK && !strstr(ctx->error.message, path)) sn_fail_prefix(ctx, "%s: ", path);
  return status;
}

sn_status sn_stream_each(sn_context *ctx, const sn_stream *stream, sn_frame_fn call, void *user) {
  SN_SCRATCH(scratch, ctx);
  float(*positions)[3] = sn_arena_alloc(ctx, &scratch, (size_t)stream->vertex_count, sizeof *positions);
  if (!positions) return ctx->error.status;
  for (int f = 0; f < stream->frame_count; f++) {
    SN_TRY(stream->read(ctx, stream, f, positions));
    SN_TRY(call(user, f, (const float(*)[3])positions));
  }
  return SN_OK;
}

int sn_count_frames(sn_context *ctx, const char *name, double seconds, double fps, int key_count) {
  enum { any_clip = 20000, frames_per_key = 16 };
  double count = ceil(seconds * fps - 0.01) + 1; // the last frame may be partial: it is the end of the clip
  if (count <= any_clip + frames_per_key * (double)key_count && count < INT_MAX) return count < 1 ? 1 : (int)count;
  sn_fail(ctx, SN_BAD_INPUT,
          "%s lasts %g s: %.0f frames at %g per second are too many for %d keys; give a smaller `fps`, or cut it",
          name, seconds, count, fps, key_count);
  return -1;
}
