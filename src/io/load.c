// SPDX-License-Identifier: MIT
// Examples from the files named on the command line: everything in the order of --rest, seams welded.
#include "sinew/io.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

sn_load_options sn_load_options_default(void) { return (sn_load_options){0}; }

static bool has_extension(const char *path, const char *extension) {
  const char *dot = strrchr(path, '.');
  return dot && strcasecmp(dot, extension) == 0;
}

static bool is_gltf(const char *path) { return has_extension(path, ".glb") || has_extension(path, ".gltf"); }

static sn_choice choice_of(const sn_load_options *options) {
  return (sn_choice){options->fps, options->clip, options->object_count, options->objects};
}

// Puts the file's name before a message that lacks it.
static sn_status name_file(sn_context *ctx, sn_status status, const char *path) {
  if (status != SN_OK && !strstr(ctx->error.message, path)) sn_fail_prefix(ctx, "%s: ", path);
  return status;
}

static sn_status read_alembic_mesh(sn_context *ctx, const char *path, const sn_choice *choice, sn_mesh *out) {
  sn_abc *abc;
  sn_status status = sn_abc_open(ctx, path, &abc);
  if (status != SN_OK) return status;
  status = sn_abc_choose(ctx, abc, choice ? choice->objects : NULL, choice ? choice->object_count : 0);
  if (status == SN_OK) status = sn_abc_mesh(ctx, abc, sn_abc_frame_time(abc, 0), out);
  sn_abc_free(abc);
  return status;
}

sn_status sn_mesh_read(sn_context *ctx, const char *path, const sn_choice *choice, sn_mesh *out) {
  *out = (sn_mesh){0};
  if (!is_gltf(path)) {
    if (has_extension(path, ".obj")) return sn_obj_read(ctx, path, out);
    if (has_extension(path, ".abc")) return read_alembic_mesh(ctx, path, choice, out);
    if (access(path, F_OK) != 0) return sn_fail(ctx, SN_IO, "%s: no such file", path);
    return sn_fail(ctx, SN_UNSUPPORTED, "%s: a mesh comes as .obj, .abc, .glb or .gltf", path);
  }
  sn_gltf *gltf;
  sn_status status = sn_gltf_read(ctx, path, &gltf);
  if (status != SN_OK) return status;
  status = sn_gltf_mesh(ctx, gltf, out, NULL, NULL, NULL);
  sn_gltf_free(gltf);
  return name_file(ctx, status, path);
}

// ---- the rest mesh --------------------------------------------------------------------------------------------------

static sn_status weld_rest(sn_context *ctx, sn_examples *out) {
  sn_mesh split = out->rest;
  int welded;
  out->rest = (sn_mesh){0};
  sn_status status = sn_mesh_weld(ctx, &split, NULL, &out->memory, &out->source, &welded);
  if (status == SN_OK) status = sn_mesh_new(ctx, welded, split.triangle_count, &out->rest);
  if (status == SN_OK) {
    out->source_count = split.vertex_count;
    for (int s = 0; s < split.vertex_count; s++) {
      memcpy(out->rest.positions[out->source[s]], split.positions[s], sizeof *split.positions);
    }
    for (int t = 0; t < split.triangle_count; t++)
      for (int c = 0; c < 3; c++) out->rest.triangles[t][c] = out->source[split.triangles[t][c]];
    size_t triangles = (size_t)split.triangle_count;
    out->source_triangles = sn_arena_alloc(ctx, &out->memory, triangles, sizeof *split.triangles);
    if (out->source_triangles) {
      memcpy(out->source_triangles, split.triangles, triangles * sizeof *split.triangles);
    } else {
      status = ctx->error.status;
    }
  }
  sn_mesh_free(&split);
  return status;
}

// The mesh of a document, and a note where its bind pose is not where the file has it.
static sn_status read_rest_document(sn_context *ctx, const char *path, sn_examples *out) {
  sn_gltf *gltf;
  char text[256];
  sn_status status = sn_gltf_read(ctx, path, &gltf);
  if (status != SN_OK) return status;
  status = sn_gltf_mesh(ctx, gltf, &out->rest, NULL, NULL, NULL);
  if (sn_gltf_place_text(gltf, text, sizeof text)) sn_examples_note(ctx, out, "%s: %s", path, text);
  sn_gltf_free(gltf);
  return name_file(ctx, status, path);
}

static sn_status load_rest(sn_context *ctx, const sn_load_options *options, sn_examples *out) {
  const char *path = options->rest;
  sn_choice choice = choice_of(options);
  sn_status status =
    is_gltf(path) ? read_rest_document(ctx, path, out) : sn_mesh_read(ctx, path, &choice, &out->rest);
  if (status == SN_OK) status = name_file(ctx, sn_mesh_check(ctx, &out->rest), path);
  if (status == SN_OK && is_gltf(path)) status = weld_rest(ctx, out);
  return status;
}

// ---- frames -----------------------------------------------------------------------------------------------------------

// pick[i] is the vertex of a file's frames that is vertex i here; NULL where the orders agree.
static sn_status match_order(sn_context *ctx, const sn_load_options *options, const sn_examples *examples,
                             sn_arena *memory, int **pick, int *matched_count) {
  sn_mesh match;
  sn_choice choice = choice_of(options);
  sn_status status = sn_mesh_read(ctx, options->match, &choice, &match);
  if (status != SN_OK) return status;
  int n = examples->rest.vertex_count;
  const float(*rest)[3] = (const float(*)[3])examples->rest.positions;
  double *distance = SN_NEW(ctx, memory, double, n), limit = 1e-3 * sn_points_diagonal(rest, n);
  *pick = SN_NEW(ctx, memory, int, n);
  *matched_count = match.vertex_count;
  status = *pick && distance ? sn_nearest_vertices(ctx, (const float(*)[3])match.positions, match.vertex_count, rest,
                                                   n, *pick, distance)
                             : ctx->error.status;
  for (int i = 0; status == SN_OK && i < n; i++) {
    if (distance[i] <= limit) continue;
    status = sn_fail(ctx, SN_BAD_INPUT,
                     "%s: no vertex within 0.1 %% of the diagonal of vertex %d of %s (the nearest is %.3g away); "
                     "--match must be in the same rest pose",
                     options->match, i, options->rest, distance[i]);
  }
  sn_mesh_free(&match);
  return status;
}

// The first split vertex of every welded one.
static sn_status first_of_each(sn_context *ctx, const sn_examples *examples, sn_arena *memory, int **pick) {
  *pick = SN_NEW(ctx, memory, int, examples->rest.vertex_count);
  if (!*pick) return ctx->error.status;
  for (int s = examples->source_count - 1; s >= 0; s--) (*pick)[examples->source[s]] = s;
  return SN_OK;
}

static sn_status mismatch(sn_context *ctx, const char *path, int count, const sn_load_options *options,
                          const sn_examples *examples, int expected) {
  if (options->match) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s has %d vertices, but %s has %d", path, count, options->match, expected);
  }
  if (examples->source && examples->source_count != examples->rest.vertex_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s has %d vertices; %s has %d, or %d with its seams welded", path, count,
                   options->rest, examples->source_count, examples->rest.vertex_count);
  }
  return sn_fail(ctx, SN_BAD_INPUT,
                 "%s has %d vertices, but %s has %d; frames and rest mesh must agree, or give --match FILE", path,
                 count, options->rest, examples->rest.vertex_count);
}

// Moves the chosen vertices of `from` behind the `done` frames of `to`.
static void gather_frames(const sn_frames *from, const int *pick, int done, sn_frames *to) {
  for (int f = 0; f < from->frame_count; f++) {
    const float(*source)[3] = sn_frame(from, f);
    float(*target)[3] = sn_frame_mutable(to, done + f);
    for (int i = 0; i < to->vertex_count; i++) memcpy(target[i], source[pick ? pick[i] : i], sizeof *target);
  }
}

// Mean distance between the ends of the mesh's edges, over the bounding box: many times larger where the order is wrong.
static double relative_edge(const sn_mesh *mesh, const float (*positions)[3]) {
  double sum = 0, diagonal = sn_points_diagonal(positions, mesh->vertex_count);
  for (int t = 0; t < mesh->triangle_count; t++) {
    const int *corner = mesh->triangles[t];
    sum += sn_vec3_distance(sn_vec3_from(positions[corner[0]]), sn_vec3_from(positions[corner[1]]));
  }
  return mesh->triangle_count > 0 && diagonal > 0 ? sum / (mesh->triangle_count * diagonal) : 0;
}

static sn_status check_order(sn_context *ctx, const sn_load_options *options, const sn_examples *examples) {
  const sn_mesh *rest = &examples->rest;
  double expected = relative_edge(rest, (const float(*)[3])rest->positions);
  double found = relative_edge(rest, sn_frame(&examples->frames, 0));
  if (rest->triangle_count < 100 || found <= 5 * expected) return SN_OK;
  return sn_fail(ctx, SN_BAD_INPUT,
                 "%s: edges of the mesh are %.0f times as long as in %s: the vertices seem to be in another order; "
                 "give --match FILE, a mesh in the order of the frames and in the rest pose",
                 options->frames[0], found / expected, options->rest);
}

// --clip is about the files that are trained on.
static const char *clip_of(const sn_load_options *options, int c) {
  int count = options->frames_count > 0 ? options->frames_count : options->skeleton_count;
  return c < count - options->test_count ? options->clip : NULL;
}

// All files' frames, each as the file has it.
static sn_status read_all_frames(sn_context *ctx, const sn_load_options *options, sn_frames *parts) {
  sn_status status = SN_OK;
  sn_choice choice = choice_of(options);
  for (int c = 0; status == SN_OK && c < options->frames_count; c++) {
    choice.clip = clip_of(options, c);
    status = sn_frames_read(ctx, options->frames[c], &choice, &parts[c]);
  }
  return status;
}

// Which vertex of a frames file is vertex i here (NULL: the same), and how many a file must have.
static sn_status find_order(sn_context *ctx, const sn_load_options *options, const sn_examples *examples, int found,
                            sn_arena *memory, int **pick, int *expected) {
  *pick = NULL, *expected = examples->rest.vertex_count;
  if (options->match) return match_order(ctx, options, examples, memory, pick, expected);
  if (!examples->source || found == examples->rest.vertex_count) return SN_OK;
  *expected = examples->source_count;
  return first_of_each(ctx, examples, memory, pick);
}

static sn_status join_frames(sn_context *ctx, const sn_load_options *options, sn_frames *parts, sn_arena *scratch,
                             sn_examples *out) {
  int *pick, expected, total = 0;
  sn_status status = find_order(ctx, options, out, parts[0].vertex_count, scratch, &pick, &expected);
  out->clip_start = SN_NEW(ctx, &out->memory, int, options->frames_count + 1);
  if (status == SN_OK && !out->clip_start) status = ctx->error.status;
  for (int c = 0; status == SN_OK && c < options->frames_count; c++) {
    if (parts[c].vertex_count != expected) {
      status = mismatch(ctx, options->frames[c], parts[c].vertex_count, options, out, expected);
    } else if (__builtin_add_overflow(total, parts[c].frame_count, &total)) {
      status = sn_fail(ctx, SN_BAD_INPUT, "too many frames");
    }
    out->clip_start[c + 1] = total;
  }
  if (status != SN_OK) return status;
  out->clip_count = options->frames_count;
  out->test_frame_count = total - out->clip_start[options->frames_count - options->test_count];
  if (!pick && options->frames_count == 1) { // no copy: PC2 stays where it was read to
    out->frames = parts[0];
    parts[0] = (sn_frames){0};
    return SN_OK;
  }
  status = sn_frames_new(ctx, out->rest.vertex_count, total, &out->frames);
  out->frames.rate = parts[0].rate;
  for (int c = 0; status == SN_OK && c < options->frames_count; c++) {
    gather_frames(&parts[c], pick, out->clip_start[c], &out->frames);
  }
  return status;
}

static sn_status load_frames(sn_context *ctx, const sn_load_options *options, sn_examples *out) {
  sn_arena scratch = sn_arena_new(ctx);
  sn_frames *parts = SN_NEW(ctx, &scratch, sn_frames, options->frames_count);
  sn_status status = parts ? read_all_frames(ctx, options, parts) : ctx->error.status;
  if (status == SN_OK) status = join_frames(ctx, options, parts, &scratch, out);
  if (status == SN_OK) status = check_order(ctx, options, out);
  for (int c = 0; parts && c < options->frames_count; c++) sn_frames_free(&parts[c]);
  sn_arena_free(&scratch);
  return status;
}

// ---- skeletons ----------------------------------------------------------------------------------------------------------

// Brings the bind mesh's skin to the rest mesh's vertices, and checks that the two meshes are in the same place.
static sn_status place_skin(sn_context *ctx, const sn_load_options *options, const sn_mesh *bind, const sn_skin *skin,
                            sn_examples *out) {
  int n = out->rest.vertex_count;
  const float(*rest)[3] = (const float(*)[3])out->rest.positions;
  double limit = 1e-3 * sn_points_diagonal(rest, n);
  sn_arena scratch = sn_arena_new(ctx);
  int *nearest = SN_NEW(ctx, &scratch, int, n);
  double *distance = SN_NEW(ctx, &scratch, double, n);
  sn_status status = nearest && distance ? SN_OK : ctx->error.status;
  bool same = bind->vertex_count == n;
  for (int i = 0; status == SN_OK && same && i < n; i++) {
    same = sn_vec3_distance(sn_vec3_from(bind->positions[i]), sn_vec3_from(rest[i])) <= limit;
    nearest[i] = i;
  }
  if (status == SN_OK && !same) {
    status =
      sn_nearest_vertices(ctx, (const float(*)[3])bind->positions, bind->vertex_count, rest, n, nearest, distance);
  }
  for (int i = 0; status == SN_OK && i < n; i++) {
    if (distance[i] <= limit) continue;
    status =
      sn_fail(ctx, SN_BAD_INPUT,
              "%s: the mesh in its bind pose is not where %s is: vertex %d is %.3g away, more than 0.1 %% of the "
              "diagonal; --rest must be the bind pose. If only the vertex order differs, use the bind mesh as "
              "--rest and give --match",
              options->skeletons[0], options->rest, i, distance[i]);
  }
  if (status == SN_OK) status = sn_skin_new(ctx, n, skin->influences, &out->skin);
  for (int i = 0; status == SN_OK && i < n; i++) {
    size_t k = (size_t)skin->influences, to = (size_t)i * k, from = (size_t)nearest[i] * k;
    memcpy(out->skin.joints + to, skin->joints + from, k * sizeof *skin->joints);
    memcpy(out->skin.weights + to, skin->weights + from, k * sizeof *skin->weights);
  }
  sn_arena_free(&scratch);
  return status;
}

// The skeleton, bind mesh and skin of the first skeleton file.
static sn_status read_first_skeleton(sn_context *ctx, const sn_load_options *options, const sn_gltf *gltf,
                                     sn_examples *out) {
  sn_mesh bind = {0};
  sn_skin skin = {0};
  sn_status status = sn_gltf_skeleton(ctx, gltf, &out->skeleton, &skin);
  if (status == SN_OK) status = sn_gltf_mesh(ctx, gltf, &bind, NULL, NULL, NULL);
  if (status == SN_OK && options->rest && bind.vertex_count > 0) status = place_skin(ctx, options, &bind, &skin, out);
  sn_mesh_free(&bind);
  sn_skin_free(&skin);
  return name_file(ctx, status, options->skeletons[0]);
}

// A file whose bind pose differs (another scale or turn of the armature, say) maps another rest pose: rest_there, then
// back from rest_here, leads to its joints from ours.
static sn_affine between_rests(sn_affine rest_here, sn_affine rest_there) {
  sn_affine inverse;
  if (memcmp(&rest_here, &rest_there, sizeof rest_here) == 0 || !sn_affine_invert(rest_here, &inverse)) {
    return sn_affine_identity();
  }
  return sn_affine_mul(rest_there, inverse);
}

// Copies the poses of one clip, joints matched by name.
static sn_status append_poses(sn_context *ctx, const char *path, const sn_skeleton *skeleton, const sn_poses *poses,
                              int first, sn_examples *out) {
  for (int j = 0; j < out->skeleton.joint_count; j++) {
    int from = sn_skeleton_find(skeleton, out->skeleton.names[j]);
    if (from < 0) {
      return sn_fail(ctx, SN_BAD_INPUT, "%s has no joint called '%s'", path, out->skeleton.names[j]);
    }
    sn_affine between = between_rests(out->skeleton.rest[j], skeleton->rest[from]);
    for (int f = 0; f < poses->frame_count; f++) {
      sn_pose(&out->poses, first + f)[j] = sn_affine_mul(sn_pose(poses, f)[from], between);
    }
  }
  return SN_OK;
}

// Poses are taken at the times of the frames.
static double pose_rate(const sn_load_options *options, const sn_examples *examples) {
  if (options->fps > 0) return options->fps;
  return examples->frames.rate > 0 ? examples->frames.rate : SN_DEFAULT_FPS;
}

static sn_status load_clip(sn_context *ctx, const sn_load_options *options, int c, sn_examples *out) {
  const char *path = options->skeletons[c];
  sn_gltf *gltf = NULL;
  sn_skeleton skeleton = {0};
  sn_poses poses = {0};
  int clip = 0, first = out->clip_count > 0 ? out->clip_start[c] : 0;
  int count = out->clip_count > 0 ? out->clip_start[c + 1] - first : -1;
  sn_status status = sn_gltf_read(ctx, path, &gltf);
  if (status != SN_OK) return status;
  if (c == 0) status = read_first_skeleton(ctx, options, gltf, out);
  if (status == SN_OK) status = sn_gltf_skeleton(ctx, gltf, &skeleton, NULL);
  if (status == SN_OK) status = sn_gltf_find_clip(ctx, gltf, clip_of(options, c), &clip);
  if (status == SN_OK) status = sn_gltf_poses(ctx, gltf, clip, pose_rate(options, out), count, &poses);
  if (status == SN_OK && !out->poses.matrices) {
    int total = out->clip_count > 0 ? out->clip_start[out->clip_count] : poses.frame_count;
    status = sn_poses_new(ctx, out->skeleton.joint_count, total, &out->poses);
  }
  if (status == SN_OK) status = append_poses(ctx, path, &skeleton, &poses, first, out);
  sn_poses_free(&poses);
  sn_skeleton_free(&skeleton);
  sn_gltf_free(gltf);
  return name_file(ctx, status, path);
}

static sn_status load_skeletons(sn_context *ctx, const sn_load_options *options, sn_examples *out) {
  if (options->frames_count > 0 && options->skeleton_count != options->frames_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "%d --frames and %d --skeleton: they pair up in order, so give as many of each",
                   options->frames_count, options->skeleton_count);
  }
  if (options->frames_count == 0 && options->skeleton_count > 1) {
    return sn_fail(ctx, SN_BAD_INPUT, "without --frames only one --skeleton can be given");
  }
  sn_status status = SN_OK;
  for (int c = 0; status == SN_OK && c < options->skeleton_count; c++) status = load_clip(ctx, options, c, out);
  return status;
}

// ---- controls --------------------------------------------------------------------------------------------------------------

static bool is_separator(char c) { return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ';'; }

// Whole numbers between separators; '#' begins a comment. Vertices of a welded mesh are named by the file's numbers.
static sn_status parse_controls(sn_context *ctx, const char *name, const char *text, size_t size, sn_examples *out) {
  const char *p = text, *end = text + size;
  int limit = out->source ? out->source_count : out->rest.vertex_count,
      *list = SN_NEW(ctx, &out->memory, int, size + 1);
  if (!list) return ctx->error.status;
  while (p < end) {
    if (is_separator(*p)) {
      p++;
    } else if (*p == '#') {
      while (p < end && *p != '\n') p++;
    } else {
      double value;
      const char *behind = sn_parse_number(p, end, &value);
      if (!behind || value != floor(value) || (behind < end && !is_separator(*behind) && *behind != '#')) {
        return sn_fail(ctx, SN_BAD_INPUT, "%s: '%.*s' is not a vertex number", name,
                       (int)(end - p < 12 ? end - p : 12), p);
      }
      if (value < 0 || value >= limit) {
        return sn_fail(ctx, SN_BAD_INPUT, "%s: vertex %.0f does not exist; the last one is %d", name, value,
                       limit - 1);
      }
      list[out->control_count++] = out->source ? out->source[(int)value] : (int)value;
      p = behind;
    }
  }
  out->controls = list;
  return out->control_count > 0 ? SN_OK : sn_fail(ctx, SN_BAD_INPUT, "%s: no control vertices", name);
}

// auto:N leaves the choice of N vertices to the trainer.
static sn_status wanted_controls(sn_context *ctx, const char *spec, sn_examples *out) {
  char *end;
  double count = strtod(spec + 5, &end);
  if (!spec[5] || *end || count != floor(count) || count < 1 || count > out->rest.vertex_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "--controls %s: auto:N chooses 1 to %d vertices", spec, out->rest.vertex_count);
  }
  out->controls_wanted = (int)count;
  return SN_OK;
}

static sn_status load_controls(sn_context *ctx, const char *spec, sn_examples *out) {
  if (strncmp(spec, "auto:", 5) == 0) return wanted_controls(ctx, spec, out);
  if (access(spec, F_OK) != 0) return parse_controls(ctx, "--controls", spec, strlen(spec), out);
  sn_file file;
  sn_status status = sn_file_open(ctx, spec, &file);
  if (status != SN_OK) return status;
  status = parse_controls(ctx, spec, (const char *)file.bytes, file.size, out);
  sn_file_close(&file);
  return status;
}

sn_status sn_examples_load(sn_context *ctx, const sn_load_options *options, sn_examples *out) {
  *out = (sn_examples){.memory = sn_arena_new(ctx)};
  sn_status status = SN_OK;
  sn_load_options complete = *options;
  if (!options->rest && options->frames_count > 0 && has_extension(options->frames[0], ".abc")) {
    complete.rest = options->frames[0]; // frames that come with faces
    options = &complete;
  }
  if (options->rest) {
    status = load_rest(ctx, options, out);
  } else if (options->frames_count > 0 || options->skeleton_count == 0) {
    status = sn_fail(ctx, SN_BAD_INPUT, "a rest mesh is needed: --rest FILE (only an .abc of frames has one)");
  }
  if (status == SN_OK && options->frames_count > 0) status = load_frames(ctx, options, out);
  if (status == SN_OK && options->skeleton_count > 0) status = load_skeletons(ctx, options, out);
  if (status == SN_OK && options->torque) {
    status = out->skeleton.joint_count > 0
               ? sn_torques_read(ctx, options->torque, &out->skeleton, &out->torques)
               : sn_fail(ctx, SN_BAD_INPUT, "--torque needs --skeleton, whose joints its columns name");
  }
  if (status == SN_OK && options->controls) status = load_controls(ctx, options->controls, out);
  if (status == SN_OK) status = sn_examples_check(ctx, out);
  if (status != SN_OK) sn_examples_free(out);
  return status;
}
