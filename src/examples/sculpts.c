// SPDX-License-Identifier: MIT
// Sculpted meshes, FRAME=MESH[@SIGMA], at frames of the skeleton's clip or of the table of values.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "examples/load.h"

typedef struct sculpt {
  int frame;
  const char *path;
  double sigma; // width of the pose's kernel, radians; 0: not given
} sculpt;

typedef struct job {
  sn_context *ctx;
  const sn_load_options *options; // sculpted meshes and the mesh of `match` are adjusted like frames
  sn_examples *examples;
  int count;
  sculpt *sculpts;
  int *order, order_count; // order[i]: vertex of a sculpted mesh for vertex i of the examples; NULL: the same
  sn_arena scratch;
} job;

static int compare_sculpts(const void *a, const void *b) {
  return ((const sculpt *)a)->frame - ((const sculpt *)b)->frame;
}

// Splits "bent.obj@0.4" into path and sigma.
static sn_status parse_mesh(sn_context *ctx, sn_arena *memory, const char *text, sculpt *out) {
  const char *at = strrchr(text, '@');
  char *end = NULL;
  out->path = text, out->sigma = 0;
  if (!at || at == text || strchr(at, '/')) return SN_OK;
  out->sigma = strtod(at + 1, &end);
  if (end == at + 1 || *end || !(out->sigma >= 1e-6 && out->sigma <= 1e6))
    return sn_fail(ctx, SN_BAD_INPUT, "`pose` %d=%s: after the @ comes sigma, from 1e-6 to 1e6 radians", out->frame,
                   text);
  char *path = sn_arena_text(ctx, memory, text);
  if (!path) return ctx->error.status;
  path[at - text] = '\0';
  out->path = path;
  return SN_OK;
}

// Parses texts[0 .. count - 1], in any order, into sculpts sorted by frame.
static sn_status parse(job *j, const char *const *texts, int frame_count) {
  sn_context *ctx = j->ctx;
  sculpt *out = j->sculpts;
  int count = j->count;
  for (int k = 0; k < count; k++) {
    char *end;
    errno = 0;
    long frame = strtol(texts[k], &end, 10);
    if (end == texts[k] || *end != '=' || !end[1] || errno)
      return sn_fail(ctx, SN_BAD_INPUT, "`pose` %s: give FRAME=MESH or FRAME=MESH@SIGMA, e.g. 12=bent.obj", texts[k]);
    if (frame < 0 || frame >= frame_count)
      return sn_fail(ctx, SN_BAD_INPUT, "`pose` %s: the clip has frames 0 to %d", texts[k], frame_count - 1);
    out[k].frame = (int)frame;
    SN_TRY(parse_mesh(ctx, &j->scratch, end + 1, &out[k]));
  }
  qsort(out, (size_t)count, sizeof *out, compare_sculpts);
  for (int k = 1; k < count; k++)
    if (out[k].frame == out[k - 1].frame)
      return sn_fail(ctx, SN_BAD_INPUT, "`pose`: frame %d is given twice", out[k].frame);
  return SN_OK;
}

// Reads a sculpted mesh in the examples' vertex order.
static sn_status read_sculpt(const job *j, const sculpt *s, float (*out)[3]) {
  const sn_examples *examples = j->examples;
  SN_FREED_BY(sn_mesh_free) sn_mesh mesh;
  sn_choice choice = {.adjust = j->options->adjust[SN_FILE_FRAMES]};
  SN_TRY(sn_mesh_read(j->ctx, s->path, &choice, &mesh, NULL));
  int n = examples->rest.vertex_count;
  if (j->order && mesh.vertex_count == j->order_count) {
    for (int i = 0; i < n; i++) memcpy(out[i], mesh.positions[j->order[i]], sizeof *out);
  } else if (!j->order && mesh.vertex_count == n) {
    memcpy(out, mesh.positions, (size_t)n * sizeof *out);
  } else if (!j->order && examples->source && mesh.vertex_count == examples->source_count) {
    sn_examples_from_file(examples, mesh.positions, sizeof *out, out);
  } else {
    return sn_fail(j->ctx, SN_BAD_INPUT,
                   "`pose` %d=%s: the mesh has %d vertices instead of %d; where its order differs, give `match`",
                   s->frame, s->path, mesh.vertex_count, j->order ? j->order_count : n);
  }
  return SN_OK;
}

// Moves the rows (of `size` bytes) of the sculpted frames to the front.
static void keep_rows(const job *j, void *rows, size_t size) {
  for (int k = 0; size && k < j->count; k++) // ascending, so no row is overwritten before it is read
    memmove((char *)rows + (size_t)k * size, (char *)rows + (size_t)j->sculpts[k].frame * size, size);
}

// Without frames, only the sculpted poses remain: poses, torques and values keep their rows alone.
static void keep_poses(const job *j) {
  sn_examples *e = j->examples;
  keep_rows(j, e->poses.matrices, (size_t)e->poses.joint_count * sizeof *e->poses.matrices);
  if (e->torques.values) keep_rows(j, e->torques.values, (size_t)e->torques.joint_count * sizeof *e->torques.values);
  if (e->values.count > 0) keep_rows(j, e->values.values, (size_t)e->values.count * sizeof *e->values.values);
  e->poses.frame_count = j->count;
  if (e->torques.values) e->torques.frame_count = j->count;
  if (e->values.count > 0) e->values.frame_count = j->count;
  e->clip_count = 0; // the clips' poses are gone
}

static sn_status keep_sigmas(const job *j, int frames) {
  bool any = false;
  for (int k = 0; k < j->count; k++) any |= j->sculpts[k].sigma > 0;
  if (!any) return SN_OK;
  double *sigmas = SN_NEW(j->ctx, &j->examples->memory, double, frames ? frames : j->count);
  if (!sigmas) return j->ctx->error.status;
  for (int k = 0; k < j->count; k++) sigmas[frames ? j->sculpts[k].frame : k] = j->sculpts[k].sigma;
  j->examples->sigmas = sigmas;
  return SN_OK;
}

static sn_status replace(job *j) {
  sn_examples *e = j->examples;
  int n = e->rest.vertex_count, frames = e->frames.frame_count;
  SN_FREED_BY(sn_frames_free) sn_frames next = {0};
  if (j->options->match) SN_TRY(sn_load_match(j->ctx, j->options, &e->rest, &j->scratch, &j->order, &j->order_count));
  SN_TRY(sn_frames_new(j->ctx, n, frames ? frames : j->count, &next));
  for (int f = 0; f < frames; f++)
    memcpy(sn_frame_mutable(&next, f), sn_frame(&e->frames, f), (size_t)n * sizeof(float[3]));
  for (int k = 0; k < j->count; k++)
    SN_TRY(read_sculpt(j, &j->sculpts[k], sn_frame_mutable(&next, frames ? j->sculpts[k].frame : k)));
  SN_TRY(keep_sigmas(j, frames));
  if (!frames) keep_poses(j);
  next.rate = e->frames.rate, e->sculpted = !frames;
  sn_frames before = e->frames;
  e->frames = next, next = before;
  return SN_OK;
}

sn_status sn_examples_sculpt(sn_context *ctx, const sn_load_options *options, const char *const *poses, int count,
                             sn_examples *e) {
  job j = {.ctx = ctx, .options = options, .examples = e, .count = count, .scratch = sn_arena_new(ctx)};
  int clip = e->poses.frame_count > 0 ? e->poses.frame_count : e->values.frame_count;
  if (clip == 0 || e->rest.vertex_count == 0)
    return sn_fail(ctx, SN_BAD_INPUT, "`pose` needs `rest`, and `skeleton` FILE with a clip or `values` FILE.csv");
  j.sculpts = SN_NEW(ctx, &j.scratch, sculpt, count);
  sn_status status = j.sculpts ? parse(&j, poses, clip - e->test_frame_count) : ctx->error.status;
  if (status == SN_OK) status = replace(&j);
  sn_arena_free(&j.scratch);
  return status;
}
