// SPDX-License-Identifier: MIT
// Rigs a mesh sequence: prepares the input, solves, writes the file, and measures what was written.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "formats/common/adjust.h"
#include "job/job.h"
#include "sinew/model.h"

typedef struct rigging {
  sn_context *ctx;
  sn_rig_job *job;
  sn_rig_done *out;
  bool *locked;
  bool posed;    // the rest positions are not the file's
  bool mirrored; // the triangles are reversed too
} rigging;

// ---- input -------------------------------------------------------------------------------------------------------------

static sn_status lock_joints(rigging *r) {
  const sn_skeleton *skeleton = &r->job->examples->skeleton;
  int joint_count = skeleton->joint_count;
  char *copy = sn_arena_text(r->ctx, &r->out->memory, r->job->inputs->lock);
  const char **names = SN_NEW(r->ctx, &r->out->memory, const char *, joint_count + 1);
  if (!r->locked) r->locked = SN_NEW(r->ctx, &r->out->memory, bool, joint_count);
  if (!copy || !names || !r->locked) return r->ctx->error.status;
  for (int j = 0; j < joint_count; j++) names[j] = skeleton->names[j];
  for (char *name = strtok(copy, ","); name; name = strtok(NULL, ",")) {
    int j = sn_skeleton_find(skeleton, name);
    if (j < 0) return sn_fail_unknown(r->ctx, "joint of `lock`", name, names);
    r->locked[j] = true;
  }
  r->job->options.locked = r->locked;
  return SN_OK;
}

// How far vertices keep the weights of the file: as white as the nearest vertex of its mesh.
static sn_status read_kept(rigging *r, const sn_gltf *gltf, const char *path) {
  const sn_mesh *rest = &r->job->examples->rest;
  int n = rest->vertex_count, *nearest = SN_NEW(r->ctx, &r->out->memory, int, n);
  float *white = NULL, *kept = SN_NEW(r->ctx, &r->out->memory, float, n);
  SN_FREED_BY(sn_mesh_free) sn_mesh bind = {0};
  if (!nearest || !kept) return r->ctx->error.status;
  SN_TRY(sn_gltf_whiteness(r->ctx, gltf, &r->out->memory, &white));
  if (!white)
    return sn_fail(r->ctx, SN_BAD_INPUT, "`keep-weights`: %s has no vertex colours that say which to keep", path);
  SN_TRY(sn_gltf_mesh(r->ctx, gltf, &bind));
  sn_adjust_rig(&r->job->inputs->load.adjust[SN_FILE_SKELETON], &bind, NULL);
  SN_TRY(sn_nearest_vertices(r->ctx, sn_mesh_points(&bind), sn_mesh_points(rest), nearest, NULL));
  for (int i = 0; i < n; i++) kept[i] = white[nearest[i]];
  r->job->options.kept = kept;
  return SN_OK;
}

// Locks in the skeleton file: joints that keep their motion and, with keep_weights, how far vertices keep their weights.
static sn_status read_locks(rigging *r) {
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf = NULL;
  sn_rig_options *options = &r->job->options;
  const char *clip; // of several skeleton files, the first counts
  const char *path = sn_clip_path(r->ctx, &r->out->memory, r->job->inputs->skeletons.texts[0], &clip);
  r->locked = SN_NEW(r->ctx, &r->out->memory, bool, r->job->examples->skeleton.joint_count);
  if (!path || !r->locked) return r->ctx->error.status;
  SN_TRY(sn_gltf_read(r->ctx, path, &gltf));
  bool solves_motion = options->given == SN_RIG_WEIGHTS || options->given == SN_RIG_SKELETON;
  if (sn_gltf_locked_joints(gltf, r->locked) && solves_motion) {
    options->locked = r->locked;
    sn_inputs_note(r->job->inputs, "note: %s: joints with the attribute demLock keep their motion", path);
  }
  return r->job->inputs->keep_weights ? read_kept(r, gltf, path) : SN_OK;
}

static int keys_before(const sn_keys *keys, int frame) {
  int count = 0;
  while (count < keys->count && keys->frames[count] < frame) count++;
  return count;
}

// Keeps the frames of `keys` (and their poses), clip by clip.
static sn_status choose_frames(rigging *r) {
  sn_examples *e = r->job->examples;
  SN_FREED_BY(sn_keys_free) sn_keys keys;
  sn_frames chosen;
  int n = e->frames.vertex_count;
  size_t pose = (size_t)e->poses.joint_count * sizeof(sn_affine);
  SN_TRY(sn_keys_parse(r->ctx, r->job->inputs->keys, e->frames.frame_count, r->job->inputs->seed, &keys, NULL));
  if (keys.count == e->frames.frame_count) return SN_OK;
  SN_TRY(sn_frames_new(r->ctx, n, keys.count, &chosen));
  for (int k = 0; k < keys.count; k++) {
    memcpy(sn_frame_mutable(&chosen, k), sn_frame(&e->frames, keys.frames[k]), (size_t)n * sizeof(float[3]));
    if (e->poses.matrices) memcpy(sn_pose(&e->poses, k), sn_pose(&e->poses, keys.frames[k]), pose);
  }
  for (int k = 0; k <= e->clip_count; k++) e->clip_start[k] = keys_before(&keys, e->clip_start[k]);
  if (e->poses.matrices) e->poses.frame_count = keys.count;
  sn_frames_free(&e->frames);
  e->frames = chosen;
  return SN_OK;
}

// Uses the positions of a frame (numbered before `keys`) as the rest pose.
static sn_status choose_rest(rigging *r) {
  sn_examples *e = r->job->examples;
  const char *text = r->job->inputs->rest_frame;
  char *end = NULL;
  long frame = strcmp(text, "auto") == 0 ? sn_rig_rest_frame(&e->frames) : strtol(text, &end, 10);
  if ((end && (end == text || *end)) || frame < 0 || frame >= e->frames.frame_count) {
    return sn_fail(r->ctx, SN_BAD_INPUT, "`rest-frame` %s: a frame from 0 to %d, or auto", text,
                   e->frames.frame_count - 1);
  }
  memcpy(e->rest.positions, sn_frame(&e->frames, (int)frame),
         (size_t)e->rest.vertex_count * sizeof *e->rest.positions);
  r->out->rest_frame = (int)frame;
  return SN_OK;
}

static sn_status set_given(sn_context *ctx, const sn_rig_job *job, sn_rig_options *o) {
  const char *solve = job->inputs->solve;
  o->keep_bones = job->inputs->keep_bones;
  if (o->bone_type == SN_RIG_AFFINE && o->structure != SN_RIG_FREE)
    return sn_fail(ctx, SN_BAD_INPUT, "affine bones have no joints to rotate about; add `joints` none");
  if (!solve) return SN_OK;
  o->given = strcmp(solve, "weights") == 0  ? SN_RIG_MOTION
             : strcmp(solve, "motion") == 0 ? SN_RIG_WEIGHTS
                                            : SN_RIG_SKELETON;
  if (o->given == SN_RIG_SKELETON && strcmp(solve, "both") != 0)
    return sn_fail(ctx, SN_BAD_INPUT, "`solve` %s: choose weights, motion or both", solve);
  o->skeleton = &job->examples->skeleton;
  o->poses = &job->examples->poses;
  o->skin = job->examples->skin.influences > 0 ? &job->examples->skin : NULL;
  return SN_OK;
}

static void place_rest(rigging *r) {
  const sn_load_options *load = &r->job->inputs->load;
  const sn_adjust *rest = &load->adjust[load->rest ? SN_FILE_REST : SN_FILE_FRAMES];
  r->posed = sn_adjust_moves(rest) || r->job->inputs->rest_frame || r->out->noise.rest_pct_diag > 0;
  r->mirrored = sn_mat3_determinant(sn_adjust_linear(rest)) < 0;
}

static sn_status prepare(rigging *r) {
  sn_rig_options *options = &r->job->options;
  sn_examples *e = r->job->examples;
  SN_TRY(set_given(r->ctx, r->job, options));
  bool given = options->given != SN_RIG_NOTHING, file = given && r->job->inputs->skeletons.count > 0;
  if (e->rest.triangle_count < 1)
    return sn_fail(r->ctx, SN_BAD_INPUT, "the rest mesh has no triangles: give `rest` a mesh with faces");
  if (sn_mesh_diagonal(&e->rest) == 0)
    return sn_fail(r->ctx, SN_BAD_INPUT,
                   "rig: all vertices of the rest mesh are at one place; move a far mesh to the origin");
  if (r->job->inputs->keep_weights && !file)
    return sn_fail(r->ctx, SN_BAD_INPUT, "`keep-weights` needs the file of a skeleton: `skeleton` FILE");
  if (file) SN_TRY(read_locks(r));
  if (r->job->inputs->rest_frame) SN_TRY(choose_rest(r));
  SN_TRY(choose_frames(r));
  if (!given) SN_TRY(sn_rig_denoise(r->ctx, &e->rest, &e->frames, &r->out->memory, &r->out->noise));
  if (!given) options->noise_pct = r->out->noise.frames_pct_diag;
  if (r->job->inputs->lock) SN_TRY(lock_joints(r));
  place_rest(r);
  return SN_OK;
}

// ---- output ------------------------------------------------------------------------------------------------------------

// Colour map of the error, from dark blue (none) through teal to yellow (largest); safe for colour-blind readers.
static void heat_colour(double t, float out[3]) {
  static const double stops[5][3] = {
    {0.07, 0.0, 0.09}, {0.05, 0.08, 0.24}, {0.01, 0.28, 0.26}, {0.12, 0.6, 0.12}, {0.98, 0.8, 0.02}};
  double at = 4 * (t < 0 ? 0 : t > 1 ? 1 : t);
  int k = at >= 4 ? 3 : (int)at;
  for (int c = 0; c < 3; c++) out[c] = (float)(stops[k][c] + (at - k) * (stops[k + 1][c] - stops[k][c]));
}

// Mesh, skin, normals and colours in the order of the rest file.
typedef struct file_order {
  sn_mesh mesh;
  sn_skin skin;
  float (*colours)[3], (*normals)[3];
  sn_arena memory;
} file_order;

static void free_order(file_order *order) {
  sn_mesh_free(&order->mesh);
  sn_skin_free(&order->skin);
  sn_arena_free(&order->memory);
}

static sn_status to_file_order(rigging *r, file_order *out) {
  const sn_examples *e = r->job->examples;
  const double *rms = r->job->inputs->heat ? r->out->figures.vertex_rms : NULL;
  int n = e->rest.vertex_count, count = sn_examples_file_vertices(e);
  *out = (file_order){.memory = sn_arena_new(r->ctx)};
  SN_TRY(sn_examples_file_mesh(r->ctx, e, &out->mesh));
  SN_TRY(sn_examples_file_skin(r->ctx, e, &r->out->rig.skin, &out->skin));
  out->colours = sn_arena_alloc(r->ctx, &out->memory, (size_t)count, sizeof *out->colours);
  out->normals = sn_arena_alloc(r->ctx, &out->memory, (size_t)count, sizeof *out->normals);
  float(*colours)[3] = sn_arena_alloc(r->ctx, &out->memory, (size_t)n, sizeof *colours);
  if (!out->colours || !out->normals || !colours) return r->ctx->error.status;
  sn_examples_normals(e, (const float(*)[3])e->rest.positions, out->normals);
  double worst = 0;
  for (int i = 0; rms && i < n; i++) worst = fmax(worst, rms[i]);
  for (int i = 0; rms && i < n; i++) heat_colour(worst > 0 ? rms[i] / worst : 0, colours[i]);
  sn_examples_to_file(e, colours, sizeof *colours, out->colours);
  return SN_OK;
}

// Renames new joints that share a name with a joint of the rest file: the writer keeps existing joints by name.
static sn_status free_names(sn_context *ctx, const sn_gltf *base, sn_skeleton *skeleton) {
  SN_FREED_BY(sn_skeleton_free) sn_skeleton old;
  sn_status status = sn_gltf_skeleton(ctx, base, &old, NULL);
  if (status == SN_BAD_INPUT) return SN_OK; // a file without joints
  SN_TRY(status);
  for (int j = 0; j < skeleton->joint_count; j++) {
    char name[256];
    snprintf(name, sizeof name, "%.200s", skeleton->names[j]);
    for (int copy = 2; sn_skeleton_find(&old, name) >= 0; copy++)
      snprintf(name, sizeof name, "%.200s.%d", skeleton->names[j], copy);
    skeleton->names[j] = sn_arena_text(ctx, &skeleton->memory, name);
    if (!skeleton->names[j]) return ctx->error.status;
  }
  return SN_OK;
}

// The document of the rest mesh; NULL: it is from another format, or mirrored.
static sn_status read_base(rigging *r, sn_gltf **out) {
  const sn_inputs *in = r->job->inputs;
  const char *path = in->load.rest, *clip;
  *out = NULL;
  if (!path && in->frames.count > 0) { // the frames gave the rest mesh
    path = sn_clip_path(r->ctx, &r->out->memory, in->frames.texts[0], &clip);
    if (!path) return r->ctx->error.status;
  }
  return path && sn_is_document(path) && !r->mirrored ? sn_gltf_read(r->ctx, path, out) : SN_OK;
}

static sn_status write_rig(rigging *r, const char *path) {
  const sn_examples *e = r->job->examples;
  sn_gltf_clip_out *clips = SN_NEW(r->ctx, &r->out->memory, sn_gltf_clip_out, e->clip_count);
  SN_FREED_BY(free_order) file_order order = {0};
  SN_FREED_BY(sn_gltf_close) sn_gltf *base = NULL;
  int count = 0;
  if (!clips) return r->ctx->error.status;
  for (int k = 0; k < e->clip_count; k++) {
    int first = e->clip_start[k], frames = e->clip_start[k + 1] - first;
    if (frames > 0)
      clips[count++] = (sn_gltf_clip_out){.name = e->clip_names && e->clip_names[k] ? e->clip_names[k] : "clip",
                                          .poses = &r->out->rig.poses,
                                          .first_frame = first,
                                          .frame_count = frames};
  }
  SN_TRY(to_file_order(r, &order));
  SN_TRY(read_base(r, &base));
  if (base && r->job->options.given == SN_RIG_NOTHING) SN_TRY(free_names(r->ctx, base, &r->out->rig.skeleton));
  sn_gltf_out out = {.base = base,
                     .mesh = &order.mesh,
                     .normals = r->posed ? (const float(*)[3])order.normals : NULL,
                     .posed = r->posed,
                     .colors = r->job->inputs->heat ? (const float(*)[3])order.colours : NULL,
                     .skeleton = &r->out->rig.skeleton,
                     .skin = &order.skin,
                     .clip_count = count,
                     .clips = clips,
                     .fps = sn_load_rate(&r->job->inputs->load, &e->frames),
                     .affine = r->job->options.bone_type == SN_RIG_AFFINE};
  return sn_gltf_write(r->ctx, path, &out);
}

// ---- figures ------------------------------------------------------------------------------------------------------------

// Poses of all written clips, concatenated; clips kept from the rest file follow them in the file and are not read.
static sn_status read_poses(rigging *r, const sn_gltf *gltf, int joint_count, sn_poses *out) {
  sn_context *ctx = r->ctx;
  const sn_frames *meshes = &r->job->examples->frames;
  int frames = meshes->frame_count;
  double fps = sn_load_rate(&r->job->inputs->load, meshes);
  SN_TRY(sn_poses_new(ctx, joint_count, frames, out));
  for (int k = 0, first = 0; k < sn_gltf_clip_count(gltf) && first < frames; k++) {
    SN_FREED_BY(sn_poses_free) sn_poses clip;
    SN_TRY(sn_gltf_poses(ctx, gltf, k, &(sn_choice){.fps = fps}, -1, &clip));
    if (clip.frame_count > frames - first)
      return sn_fail(ctx, SN_BAD_FILE, "clip %d has %d frames, more than were written", k, clip.frame_count);
    memcpy(sn_pose(out, first), clip.matrices, (size_t)clip.frame_count * (size_t)joint_count * sizeof(sn_affine));
    first += clip.frame_count;
  }
  return SN_OK;
}

// Fails if joints of a written tree separate in some frame: such a rig is broken.
static sn_status check_gap(rigging *r) {
  double gap_pct = r->out->figures.joint_gap_pct_diag;
  static const double most = 0.01; // percent of the diagonal, above single-precision rounding far from the origin
  if (r->job->options.given != SN_RIG_NOTHING || r->job->options.structure != SN_RIG_TREE || gap_pct <= most)
    return SN_OK;
  return sn_fail(r->ctx, SN_NOT_CONVERGED,
                 "%s: the joints of this rig would be %.2g %% of the diagonal apart in some frame; it was not "
                 "written. Move the rest mesh and the frames near the origin",
                 r->job->path, gap_pct);
}

// Measures a rig as a model, with the runtime.
static sn_status measure(rigging *r, const sn_examples *rigged, const sn_mesh *mesh, const sn_skin *skin) {
  sn_rig_done *out = r->out;
  sn_model_desc desc = sn_model_desc_default();
  sn_rt_model model;
  desc.rest = mesh, desc.skeleton = &rigged->skeleton, desc.skin = skin;
  sn_model_free(&out->model);
  SN_TRY(sn_model_build(r->ctx, &desc, &out->model));
  SN_TRY(sn_model_open(r->ctx, "rig", out->model.bytes, out->model.size, &model));
  return sn_assess_rig(r->ctx, &model, rigged, &out->rig.skin, &out->memory, &out->figures);
}

static sn_status measure_result(rigging *r) {
  sn_examples rigged = *r->job->examples; // the same rest mesh and frames
  SN_FREED_BY(free_order) file_order order = {0};
  rigged.skeleton = r->out->rig.skeleton, rigged.poses = r->out->rig.poses;
  SN_TRY(to_file_order(r, &order));
  return measure(r, &rigged, &order.mesh, &order.skin);
}

// Measures the written file, by reading it back.
static sn_status measure_file(rigging *r) {
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf;
  SN_FREED_BY(sn_mesh_free) sn_mesh mesh = {0};
  SN_FREED_BY(sn_skin_free) sn_skin skin = {0};
  SN_FREED_BY(sn_skeleton_free) sn_skeleton skeleton = {0};
  SN_FREED_BY(sn_poses_free) sn_poses poses = {0};
  SN_TRY(sn_gltf_read(r->ctx, r->job->path, &gltf));
  SN_TRY(sn_gltf_mesh(r->ctx, gltf, &mesh));
  SN_TRY(sn_gltf_skeleton(r->ctx, gltf, &skeleton, &skin));
  SN_TRY(read_poses(r, gltf, skeleton.joint_count, &poses));
  sn_examples read = *r->job->examples;
  read.skeleton = skeleton, read.poses = poses;
  SN_TRY(measure(r, &read, &mesh, &skin));
  return check_gap(r);
}

// Stray vertices lie many times the box's size outside it, so the diagonal is useless as a measure.
typedef struct strays {
  int count, farthest;
  double diagonal; // of the box without the outer 1 % on each side
} strays;

static sn_status find_strays(sn_context *ctx, const sn_mesh *rest, strays *out) {
  static const double far = 5; // diagonals
  SN_SCRATCH(scratch, ctx);
  int n = rest->vertex_count, cut = n / 100;
  double *sorted = SN_NEW(ctx, &scratch, double, n), low[3], high[3];
  if (!sorted) return ctx->error.status;
  for (int a = 0; a < 3; a++) {
    for (int i = 0; i < n; i++) sorted[i] = rest->positions[i][a];
    sn_sort_doubles(sorted, (size_t)n);
    low[a] = sorted[cut], high[a] = sorted[n - 1 - cut];
  }
  sn_vec3 least = {low[0], low[1], low[2]}, most = {high[0], high[1], high[2]};
  sn_vec3 centre = sn_vec3_scale(sn_vec3_add(least, most), 0.5);
  double largest = 0;
  *out = (strays){.diagonal = sn_vec3_distance(least, most)};
  for (int i = 0; i < n; i++) {
    double distance = sn_vec3_distance(sn_vec3_from(rest->positions[i]), centre);
    out->count += distance > far * out->diagonal;
    if (distance > largest) largest = distance, out->farthest = i;
  }
  return SN_OK;
}

// Writes advice if the rig's error is large; else an empty text.
static sn_status advise(rigging *r) {
  const sn_metrics *m = &r->out->figures.error;
  char *out = r->out->poor;
  size_t size = sizeof r->out->poor;
  strays stray = {0};
  SN_TRY(find_strays(r->ctx, &r->job->examples->rest, &stray));
  const sn_mesh *rest = &r->job->examples->rest;
  double whole = sn_mesh_diagonal(rest);
  double scale = stray.count > 0 && stray.diagonal > 0 ? whole / stray.diagonal : 1;
  double rms = scale * m->rms_pct_diag, largest = scale * m->max_pct_diag;
  if (rms <= SN_POOR_RMS && largest <= SN_POOR_LARGEST) return SN_OK;
  int used = snprintf(out, size, "a poor rig, rms %.3g %% and largest error %.3g %% of the diagonal", rms, largest);
  if (stray.count > 0) {
    snprintf(out + used, size - (size_t)used,
             " without %d stray vertices: delete those, far from the others, and rig again (vertex %d of the rest "
             "mesh is farthest)",
             stray.count, stray.farthest);
  } else if (r->job->options.given != SN_RIG_NOTHING) {
    snprintf(out + used, size - (size_t)used, "; try `solve` both or `helpers` %d", 8);
  } else {
    snprintf(out + used, size - (size_t)used, "; try `bones` %d `keep-bones`, `joints` none or `rest-frame` auto",
             2 * r->out->rig.report.bones + 2);
  }
  return SN_OK;
}

sn_status sn_job_rig(sn_context *ctx, sn_rig_job *job, sn_rig_done *out) {
  *out = (sn_rig_done){.rest_frame = -1, .memory = sn_arena_new(ctx)};
  rigging r = {.ctx = ctx, .job = job, .out = out};
  const sn_examples *e = job->examples;
  SN_TRY(prepare(&r));
  double start = sn_seconds();
  SN_TRY(sn_rig(ctx, &e->rest, &e->frames, &job->options, &out->rig));
  out->seconds = sn_seconds() - start;
  if (!job->path || job->inputs->heat) SN_TRY(measure_result(&r)); // before writing: the file has the error's colours
  if (job->path) SN_TRY(write_rig(&r, job->path));
  if (job->path) SN_TRY(measure_file(&r));
  return advise(&r);
}

sn_status sn_job_write_rig(sn_context *ctx, sn_rig_job *job, sn_rig_done *out, const char *path) {
  rigging r = {.ctx = ctx, .job = job, .out = out};
  place_rest(&r);
  return write_rig(&r, path);
}

void sn_rig_done_free(sn_rig_done *done) {
  sn_model_free(&done->model);
  sn_rig_result_free(&done->rig);
  sn_arena_free(&done->memory);
}

static json_t *report_result(const sn_rig_job *job, const sn_rig_done *done) {
  const sn_rig_report *r = &done->rig.report;
  const sn_rig_figures *g = &done->figures;
  const sn_examples *e = job->examples;
  int influences = job->options.influences, rest_frame = done->rest_frame;
  json_t *out = sn_report_metrics(&g->error);
  sn_report_add(out,
                "bones:i bones_wanted:o rest_frame:o pruned:i reason:o influences:i influences_histogram:o "
                "joint_gap_pct_diag:f roughness:f symmetric:b joints_inside_pct:f "
                "joint_outside_pct_diag:f pieces:i iterations:i seconds:f frame_rms:o vertex_rms:o",
                r->bones, r->bones_wanted ? json_integer(r->bones_wanted) : json_null(),
                rest_frame < 0 ? json_null() : json_integer(rest_frame), r->pruned,
                *r->reason ? sn_report_text(r->reason) : json_null(), influences,
                sn_report_integers(g->influences, influences + 1), g->joint_gap_pct_diag, g->roughness, r->symmetric,
                g->joints_inside_pct, g->joint_outside_pct_diag, g->pieces, r->iterations, done->seconds,
                sn_report_numbers(g->frame_rms, e->frames.frame_count),
                sn_report_numbers(g->vertex_rms, e->rest.vertex_count));
  if (r->curve_count > 0)
    sn_report_add(out, "cross_validated_pct_diag:o cross_validated_choice:i",
                  sn_report_numbers(r->curve, r->curve_count), r->curve_choice);
  return out;
}

json_t *sn_report_rigging(const sn_rig_job *job, const sn_rig_done *done) {
  const sn_rig_noise *n = &done->noise;
  json_t *out = report_result(job, done), *noise = job->options.given == SN_RIG_NOTHING ? json_object() : NULL;
  if (noise)
    sn_report_add(noise, "frames_pct_diag:f rest_pct_diag:f wrong_frames:o", n->frames_pct_diag, n->rest_pct_diag,
                  sn_report_integers(n->wrong, n->wrong_count));
  sn_report_add(out, "poor:s? noise:o?", done->poor, noise);
  return out;
}
