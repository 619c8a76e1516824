// SPDX-License-Identifier: MIT
// --pose FRAME=MESH[@SIGMA]: sculpted meshes at frames of the skeleton's clip, or of the table of values.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inputs.h"
#include "sinew/formats.h"

enum { most_sculpts = 1024 };

typedef struct sculpt {
  int frame;
  const char *path;
  double sigma; // of the pose's kernel; 0: not given
} sculpt;

static int compare_sculpts(const void *a, const void *b) {
  return ((const sculpt *)a)->frame - ((const sculpt *)b)->frame;
}

// "bent.obj" and 0.4 of "bent.obj@0.4".
static sn_status parse_mesh(cli *c, const char *text, sculpt *out) {
  const char *at = strrchr(text, '@');
  char *end = NULL;
  out->path = text, out->sigma = 0;
  if (!at || at == text || strchr(at, '/')) return SN_OK;
  out->sigma = strtod(at + 1, &end);
  if (end == at + 1 || *end || !(out->sigma >= 1e-6 && out->sigma <= 1e6))
    return sn_fail(&c->ctx, SN_BAD_INPUT, "--pose %d=%s: after the @ comes sigma, from 1e-6 to 1e6 radians",
                   out->frame, text);
  char *path = sn_arena_text(&c->ctx, &c->memory, text);
  if (!path) return c->ctx.error.status;
  path[at - text] = '\0';
  out->path = path;
  return SN_OK;
}

static sn_status parse(cli *c, int frame_count, sculpt *out, int *count) {
  const char *texts[most_sculpts];
  *count = sn_cli_texts(c, "--pose", texts, most_sculpts);
  if (*count > most_sculpts) return sn_fail(&c->ctx, SN_BAD_INPUT, "at most %d --pose", most_sculpts);
  for (int k = 0; k < *count; k++) {
    char *end;
    errno = 0;
    long frame = strtol(texts[k], &end, 10);
    if (end == texts[k] || *end != '=' || !end[1] || errno)
      return sn_fail(&c->ctx, SN_BAD_INPUT, "--pose %s: give FRAME=MESH or FRAME=MESH@SIGMA, e.g. --pose 12=bent.obj",
                     texts[k]);
    if (frame < 0 || frame >= frame_count)
      return sn_fail(&c->ctx, SN_BAD_INPUT, "--pose %s: the clip has frames 0 to %d", texts[k], frame_count - 1);
    out[k].frame = (int)frame;
    sn_status status = parse_mesh(c, end + 1, &out[k]);
    if (status != SN_OK) return status;
  }
  qsort(out, (size_t)*count, sizeof *out, compare_sculpts);
  for (int k = 1; k < *count; k++)
    if (out[k].frame == out[k - 1].frame)
      return sn_fail(&c->ctx, SN_BAD_INPUT, "--pose: frame %d is given twice", out[k].frame);
  return SN_OK;
}

// Sculpted meshes, and the one of --match, are adjusted as frames are.
static sn_status read_mesh(cli *c, const char *path, sn_mesh *out) {
  sn_adjust adjust[SN_FILE_KINDS];
  sn_status status = sn_cli_adjust(c, adjust);
  sn_choice choice = {.adjust = adjust[SN_FILE_FRAMES]};
  return status == SN_OK ? sn_mesh_read(&c->ctx, path, &choice, out) : status;
}

// With --match: which vertex of a sculpted mesh each of the examples' is, by their common rest pose.
static sn_status match_order(cli *c, const sn_examples *examples, sn_arena *memory, int **out, int *count) {
  const char *path = sn_cli_text(c, "--match");
  *out = NULL;
  if (!path) return SN_OK;
  int n = examples->rest.vertex_count;
  double *distances = SN_NEW(&c->ctx, memory, double, n);
  *out = SN_NEW(&c->ctx, memory, int, n);
  if (!distances || !*out) return c->ctx.error.status;
  sn_mesh mesh;
  sn_status status = read_mesh(c, path, &mesh);
  if (status != SN_OK) return status;
  const float(*rest)[3] = (const float(*)[3])examples->rest.positions;
  status =
    sn_nearest_vertices(&c->ctx, (const float(*)[3])mesh.positions, mesh.vertex_count, rest, n, *out, distances);
  double allowed = 1e-3 * sn_points_diagonal(rest, n);
  for (int i = 0; status == SN_OK && i < n; i++)
    if (distances[i] > allowed)
      status =
        sn_fail(&c->ctx, SN_BAD_INPUT, "--match %s: vertex %d of the rest mesh has no vertex near it", path, i);
  *count = mesh.vertex_count;
  sn_mesh_free(&mesh);
  return status;
}

// A sculpted mesh in the examples' order.
static sn_status read_sculpt(cli *c, const sn_examples *examples, const sculpt *s, const int *order, int order_count,
                             float (*out)[3]) {
  sn_mesh mesh;
  sn_status status = read_mesh(c, s->path, &mesh);
  if (status != SN_OK) return status;
  int n = examples->rest.vertex_count;
  if (order && mesh.vertex_count == order_count) {
    for (int i = 0; i < n; i++) memcpy(out[i], mesh.positions[order[i]], sizeof *out);
  } else if (!order && mesh.vertex_count == n) {
    memcpy(out, mesh.positions, (size_t)n * sizeof *out);
  } else if (!order && examples->source && mesh.vertex_count == examples->source_count) {
    sn_examples_from_file(examples, mesh.positions, sizeof *out, out);
  } else {
    status = sn_fail(&c->ctx, SN_BAD_INPUT,
                     "--pose %d=%s: the mesh has %d vertices instead of %d; where its order differs, give --match",
                     s->frame, s->path, mesh.vertex_count, order ? order_count : n);
  }
  sn_mesh_free(&mesh);
  return status;
}

static void keep_torques(const sculpt *sculpts, int count, sn_torques *torques) {
  size_t joint_count = (size_t)torques->joint_count;
  if (!torques->values) return;
  for (int k = 0; k < count; k++) // ascending, so nothing is overwritten before it is read
    memmove(torques->values + (size_t)k * joint_count, torques->values + (size_t)sculpts[k].frame * joint_count,
            joint_count * sizeof *torques->values);
  torques->frame_count = count;
}

static void keep_values(const sculpt *sculpts, int count, sn_values *values) {
  size_t width = (size_t)values->count;
  for (int k = 0; k < count; k++)
    memmove(values->values + (size_t)k * width, values->values + (size_t)sculpts[k].frame * width,
            width * sizeof *values->values);
  values->frame_count = count;
}

// Without --frames the sculpted frames are all there is: frames, poses, torques and values become those alone.
static sn_status keep_poses(cli *c, const sculpt *sculpts, int count, sn_examples *examples) {
  sn_poses kept;
  size_t joint_count = (size_t)examples->poses.joint_count;
  sn_status status = sn_poses_new(&c->ctx, (int)joint_count, count, &kept);
  if (status != SN_OK) return status;
  for (int k = 0; k < count; k++)
    memcpy(sn_pose(&kept, k), sn_pose(&examples->poses, sculpts[k].frame), joint_count * sizeof(sn_affine));
  sn_poses_free(&examples->poses);
  examples->poses = kept;
  keep_torques(sculpts, count, &examples->torques);
  if (examples->values.count > 0) keep_values(sculpts, count, &examples->values);
  examples->clip_count = 0; // of the poses that are no more
  return SN_OK;
}

static sn_status keep_sigmas(cli *c, const sculpt *sculpts, int count, int frames, sn_examples *examples) {
  bool any = false;
  for (int k = 0; k < count; k++) any |= sculpts[k].sigma > 0;
  if (!any) return SN_OK;
  examples->sigmas = SN_NEW(&c->ctx, &c->memory, double, frames ? frames : count);
  if (!examples->sigmas) return c->ctx.error.status;
  for (int k = 0; k < count; k++) examples->sigmas[frames ? sculpts[k].frame : k] = sculpts[k].sigma;
  return SN_OK;
}

static sn_status replace(cli *c, const sculpt *sculpts, int count, sn_examples *examples, sn_arena *scratch) {
  int *order, order_count = 0, n = examples->rest.vertex_count, frames = examples->frames.frame_count;
  sn_frames next;
  sn_status status = match_order(c, examples, scratch, &order, &order_count);
  if (status == SN_OK) status = sn_frames_new(&c->ctx, n, frames ? frames : count, &next);
  if (status != SN_OK) return status;
  for (int f = 0; f < frames; f++)
    memcpy(sn_frame_mutable(&next, f), sn_frame(&examples->frames, f), (size_t)n * sizeof(float[3]));
  for (int k = 0; status == SN_OK && k < count; k++)
    status = read_sculpt(c, examples, &sculpts[k], order, order_count,
                         sn_frame_mutable(&next, frames ? sculpts[k].frame : k));
  if (status == SN_OK) status = keep_sigmas(c, sculpts, count, frames, examples);
  if (status == SN_OK && !frames) status = keep_poses(c, sculpts, count, examples);
  if (status != SN_OK) {
    sn_frames_free(&next);
    return status;
  }
  next.rate = examples->frames.rate, examples->sculpted = !frames;
  sn_frames_free(&examples->frames);
  examples->frames = next;
  return SN_OK;
}

sn_status sn_cli_add_sculpts(cli *c, sn_examples *examples) {
  sn_arena scratch = sn_arena_new(&c->ctx);
  sculpt *sculpts = SN_NEW(&c->ctx, &scratch, sculpt, most_sculpts);
  int count = 0;
  sn_status status = SN_OK;
  if (!sculpts) status = c->ctx.error.status;
  int clip = examples->poses.frame_count > 0 ? examples->poses.frame_count : examples->values.frame_count;
  if (status == SN_OK && (clip == 0 || examples->rest.vertex_count == 0))
    status =
      sn_fail(&c->ctx, SN_BAD_INPUT, "--pose needs --rest, and --skeleton FILE with a clip or --values FILE.csv");
  if (status == SN_OK) status = parse(c, clip - examples->test_frame_count, sculpts, &count);
  if (status == SN_OK) status = replace(c, sculpts, count, examples, &scratch);
  sn_arena_free(&scratch);
  return status;
}
