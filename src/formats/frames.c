// SPDX-License-Identifier: MIT
// Frames of any file, read and written: point caches, Alembic, folders and globs of meshes, animated documents.
#include "formats/common/adjust.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// Natural order: runs of digits compare as numbers, so that 2.obj comes before 10.obj.
static int compare_paths(const void *first, const void *second) {
  const char *const *x = first, *const *y = second, *a = *x, *b = *y;
  while (*a && *b) {
    if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
      char *end_a, *end_b;
      unsigned long long m = strtoull(a, &end_a, 10), n = strtoull(b, &end_b, 10);
      if (m != n) return m < n ? -1 : 1;
      a = end_a, b = end_b;
    } else {
      if (*a != *b) return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
      a++, b++;
    }
  }
  return *a ? 1 : *b ? -1 : strcmp(*x, *y);
}

// A glob pattern for `path` followed by `tail`, with the path's special characters quoted.
static char *quoted_pattern(sn_context *ctx, sn_arena *memory, const char *path, const char *tail) {
  char *pattern = SN_NEW(ctx, memory, char, 2 * strlen(path) + strlen(tail) + 1);
  if (!pattern) return NULL;
  char *p = pattern;
  for (const char *c = path; *c; c++) {
    if (strchr("*?[\\", *c)) *p++ = '\\';
    *p++ = *c;
  }
  strcpy(p, tail);
  return pattern;
}

// Whether the file can be one frame of a sequence.
static bool is_frame(const char *path) {
  static const char *const kinds[] = {".obj", ".glb", ".gltf", ".ply"};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (sn_has_extension(path, kinds[k])) return true;
  return false;
}

bool sn_is_sequence(const char *path) { return is_folder(path) || (strpbrk(path, "*?[") && access(path, F_OK) != 0); }

// A folder gives its meshes, an existing file itself; anything else is a pattern.
static const char *frame_pattern(sn_context *ctx, sn_arena *memory, const char *path) {
  if (is_folder(path)) return quoted_pattern(ctx, memory, path, "/*");
  return access(path, F_OK) == 0 ? quoted_pattern(ctx, memory, path, "") : path;
}

// Keeps the mesh files, which must all be of one kind.
static sn_status keep_meshes(sn_context *ctx, const char *path, char **paths, int *count) {
  int kept = 0;
  for (int k = 0; k < *count; k++)
    if (!is_folder(path) || is_frame(paths[k])) paths[kept++] = paths[k];
  *count = kept;
  if (kept == 0) return sn_fail(ctx, SN_BAD_INPUT, "%s: no .obj, .glb, .gltf or .ply files in this folder", path);
  for (int k = 0; k < kept; k++) {
    const char *first = strrchr(paths[0], '.'), *dot = strrchr(paths[k], '.');
    if (!is_frame(paths[k])) {
      return sn_fail(ctx, SN_UNSUPPORTED, "%s: a frame is an .obj, .glb, .gltf or .ply file", paths[k]);
    }
    if (strcasecmp(first, dot) != 0) {
      return sn_fail(ctx, SN_BAD_INPUT, "%s and %s are of different kinds; give a quoted glob, such as '%s/*%s'",
                     paths[0], paths[k], is_folder(path) ? path : "folder", dot);
    }
  }
  return SN_OK;
}

sn_status sn_list_frames(sn_context *ctx, const char *path, sn_arena *memory, char ***out, int *count) {
  const char *pattern = frame_pattern(ctx, memory, path);
  if (!pattern) return ctx->error.status;
  SN_FREED_BY(globfree) glob_t found = {0};
  int result = glob(pattern, GLOB_NOSORT, NULL, &found);
  *out = NULL, *count = 0;
  if (result != 0 && result != GLOB_NOMATCH)
    return sn_fail(ctx, SN_IO, "%s: cannot list: %s", path,
                   result == GLOB_NOSPACE ? "out of memory" : strerror(errno));
  if (found.gl_pathc == 0 && !is_folder(path)) return sn_fail(ctx, SN_IO, "%s: no such file", path);
  *out = SN_NEW(ctx, memory, char *, found.gl_pathc + 1);
  for (size_t k = 0; *out && k < found.gl_pathc; k++)
    if (!((*out)[k] = sn_arena_text(ctx, memory, found.gl_pathv[k]))) *out = NULL;
  if (!*out) return ctx->error.status;
  *count = (int)found.gl_pathc;
  qsort(*out, found.gl_pathc, sizeof **out, compare_paths);
  return keep_meshes(ctx, path, *out, count);
}

// All files must have the same vertices and triangles.
static sn_status check_topology(sn_context *ctx, const char *path, const sn_mesh *mesh, const char *first_path,
                                const sn_mesh *first) {
  const char *cure = "all frames must be one mesh that moves: export them without remeshing";
  if (mesh->vertex_count != first->vertex_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s has %d vertices, but %s has %d; %s", path, mesh->vertex_count, first_path,
                   first->vertex_count, cure);
  }
  if (mesh->triangle_count != first->triangle_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s has %d triangles, but %s has %d; %s", path, mesh->triangle_count,
                   first_path, first->triangle_count, cure);
  }
  for (int t = 0; t < mesh->triangle_count; t++)
    if (memcmp(mesh->triangles[t], first->triangles[t], sizeof *mesh->triangles) != 0) {
      return sn_fail(ctx, SN_BAD_INPUT, "%s: triangle %d joins other vertices than in %s; %s", path, t, first_path,
                     cure);
    }
  return SN_OK;
}

static sn_status read_meshes(sn_context *ctx, const char *path, sn_frames *out) {
  SN_SCRATCH(scratch, ctx);
  char **paths;
  int count;
  SN_FREED_BY(sn_mesh_free) sn_mesh first = {0};
  SN_TRY(sn_list_frames(ctx, path, &scratch, &paths, &count));
  for (int f = 0; f < count; f++) {
    SN_FREED_BY(sn_mesh_free) sn_mesh mesh = {0};
    sn_mesh *own = f == 0 ? &first : &mesh;
    SN_TRY(sn_mesh_read(ctx, paths[f], NULL, own, NULL));
    SN_TRY(f == 0 ? sn_frames_new(ctx, own->vertex_count, count, out)
                  : check_topology(ctx, paths[f], own, paths[0], &first));
    memcpy(sn_frame_mutable(out, f), own->positions, (size_t)own->vertex_count * sizeof *own->positions);
  }
  return SN_OK;
}

static sn_status read_whole(sn_context *ctx, const char *path, sn_frames *out) {
  bool single = !sn_is_sequence(path);
  if (single && sn_is_point_cache(path)) {
    SN_FREED_BY(sn_file_close) sn_file file;
    SN_TRY(sn_file_map(ctx, path, &file));
    return sn_cache_parse(ctx, path, &file, out);
  }
  if (!single || sn_has_extension(path, ".obj") || access(path, F_OK) != 0) return read_meshes(ctx, path, out);
  return sn_fail(
    ctx, SN_UNSUPPORTED,
    "%s: frames come as .pc2, .mdd, .abc, a folder or glob of .obj, .glb, .gltf or .ply, or an animated .glb", path);
}

// Applies the offset to a file without times: it must be a whole number of frames.
static sn_status skip_frames(sn_context *ctx, const char *path, const sn_choice *choice, sn_frames *frames) {
  double rate = choice->fps > 0 ? choice->fps : frames->rate > 0 ? frames->rate : SN_DEFAULT_FPS;
  double at = choice->adjust.offset * rate, first = round(at);
  if (fabs(at - first) > 0.01 || first < 0 || first >= frames->frame_count) {
    return sn_fail(
      ctx, SN_BAD_INPUT,
      "%s: `offset` frames=%g: its %d frames are %.4g s apart with nothing between them; give a multiple of "
      "that, or shift the poses instead: `offset` skeleton=%g",
      path, choice->adjust.offset, frames->frame_count, 1 / rate, -choice->adjust.offset);
  }
  frames->positions += (size_t)first * (size_t)frames->vertex_count;
  frames->frame_count -= (int)first;
  return SN_OK;
}

// ---- streams: archives and documents are sampled one frame at a time, other files are read whole ----------------------

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
  SN_TRY(read_whole(ctx, path, &out->frames));
  if (choice->adjust.offset != 0) SN_TRY(skip_frames(ctx, path, choice, &out->frames));
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
    status = stream.read(ctx, &stream, f, sn_frame_mutable(out, f));
    sn_frames_used(out, out->vertex_count, 1);
    if (out->file.map) sn_progress_reading(ctx, path, (double)f / stream.frame_count);
  }
  out->rate = stream.rate, out->finite = true;
  if (status != SN_OK) sn_frames_free(out);
  return status;
}

// ---- writing ---------------------------------------------------------------------------------------------------------

typedef struct obj_folder {
  sn_context *ctx;
  const char *folder;
  const sn_mesh *mesh;
} obj_folder;

static sn_status write_obj(void *user, int f, const float (*positions)[3]) {
  const obj_folder *to = user;
  SN_SCRATCH(scratch, to->ctx);
  size_t size = strlen(to->folder) + 32;
  char *path = SN_NEW(to->ctx, &scratch, char, size);
  if (!path) return to->ctx->error.status;
  snprintf(path, size, "%s/frame_%04d.obj", to->folder, f);
  return sn_obj_write(to->ctx, path, to->mesh, positions, NULL);
}

static sn_status write_objs(sn_context *ctx, const char *folder, sn_stream *frames, const sn_mesh *mesh) {
  sn_outputs together;
  sn_outputs_begin(ctx, &together);
  sn_status status = sn_make_folder(ctx, folder);
  if (status == SN_OK) status = sn_stream_each(ctx, frames, write_obj, &(obj_folder){ctx, folder, mesh});
  return sn_outputs_end(ctx, &together, status);
}

sn_status sn_stream_write(sn_context *ctx, const char *path, sn_stream *frames, const sn_mesh *mesh) {
  if (sn_is_point_cache(path)) return sn_cache_write(ctx, path, frames);
  if (sn_has_extension(path, ".abc")) return sn_abc_write(ctx, path, frames, mesh);
  const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
  if (dot && slash != path + strlen(path) - 1 && !is_folder(path)) {
    return sn_fail(
      ctx, SN_UNSUPPORTED,
      "%s: frames are written as .pc2, .mdd, .abc or a folder of .obj; `eval` writes .glb, .gltf and .fbx too", path);
  }
  return write_objs(ctx, path, frames, mesh);
}

sn_status sn_frames_write(sn_context *ctx, const char *path, const sn_frames *frames, const sn_mesh *mesh) {
  sn_stream stream = {.vertex_count = frames->vertex_count,
                      .frame_count = frames->frame_count,
                      .rate = frames->rate,
                      .frames = *frames,
                      .read = read_stored,
                      .name = ""};
  return sn_stream_write(ctx, path, &stream, mesh);
}
