// SPDX-License-Identifier: MIT
// Writes one self-contained HTML page that runs models live: models and examples as JSON.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "formats/common/adjust.h"
#include "job/page.h"
#include "sinew/model.h"

typedef struct view {
  sn_context *ctx;
  const sn_view_job *job;
  sn_opened *models;
  sn_examples examples;
  sn_keys keys, others;
} view;

static const double timing_seconds = 0.2;

void sn_spec_name(const char *spec, char *out, size_t size) {
  snprintf(out, size, "%s", spec);
  for (char *at = out; (at = strpbrk(at, ":,/\\ ")) != NULL;) *at = '-';
}

// Inverts sn_spec_name: a '-' before KEY= was the colon after the method or, further on, a comma.
static void restore_spec(char *text) {
  char mark = ':';
  if (strspn(text, "abcdefghijklmnopqrstuvwxyz") != strcspn(text, "-")) return;
  for (char *at = text; (at = strchr(at, '-')) != NULL; at++) {
    size_t key = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_");
    if (key == 0 || at[1 + key] != '=') continue;
    *at = mark;
    mark = ',';
  }
}

// The file's name without its folder and ".sinew" or ".html".
static void write_name(const char *path, char *text, size_t room) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  size_t size = strlen(name);
  if (sn_has_extension(name, ".sinew") || sn_has_extension(name, ".html")) size = (size_t)(strrchr(name, '.') - name);
  snprintf(text, room, "%.*s", (int)size, name);
  restore_spec(text);
}

static json_t *model_name(const char *path) {
  char text[256];
  write_name(path, text, sizeof text);
  return sn_report_text(text);
}

// A page of several models has the name of its file.
static const char *named_after(const sn_view_job *job) { return job->count == 1 ? job->models[0] : job->path; }

// Sets object[key]; fails if `value` is NULL.
static sn_status put(sn_context *ctx, json_t *object, const char *key, json_t *value) {
  if (value && json_object_set_new(object, key, value) == 0) return SN_OK;
  return ctx->error.status != SN_OK ? ctx->error.status : sn_fail(ctx, SN_NO_MEMORY, "out of memory for the page");
}

// The same for bytes, in 4-byte words.
static sn_status put_blob(view *v, json_t *object, const char *key, const void *bytes, size_t size) {
  return put(v->ctx, object, key, sn_page_blob(v->ctx, bytes, size, 4));
}

// ---- a model ----------------------------------------------------------------------------------------------------------

// Frames of the page: of the meshes, else of the poses, else of the values; 1 (the rest pose) without any.
static int frame_count(const sn_examples *e) {
  int frames = e->frames.frame_count > 0 ? e->frames.frame_count : e->poses.frame_count;
  if (frames == 0) frames = e->values.frame_count;
  return frames > 0 ? frames : 1;
}

// Control points, torques and values of every frame, as the runtime takes them (the set has the joints). Without frames, control
// points stay at their rest positions.
static sn_status put_inputs(view *v, const sn_rt_model *model, const sn_examples *examples, json_t *out) {
  enum { kinds = 3 };
  static const char *const names[kinds] = {"controls", "torques", "values"};
  const size_t counts[kinds] = {3 * (size_t)model->info.control_count, model->info.torque_count,
                                model->info.value_count};
  size_t frames = (size_t)frame_count(examples);
  if (counts[0] + counts[1] + counts[2] == 0) return SN_OK;
  SN_SCRATCH(scratch, v->ctx);
  sn_examples given = *examples;
  bool still = counts[0] > 0 && examples->frames.frame_count == 0;
  if (still)
    given.frames =
      (sn_frames){examples->rest.vertex_count, 1, (const float(*)[3])examples->rest.positions, .rate = 0};
  sn_model_input input;
  SN_TRY(sn_model_input_new(v->ctx, model, &given, &scratch, &input));
  void *buffer = sn_arena_alloc(v->ctx, &scratch, sn_model_input_size(model), 1);
  for (int k = 0; k < kinds; k++) {
    float *all = SN_NEW(v->ctx, &scratch, float, frames *counts[k]);
    if (!all || !buffer) return v->ctx->error.status;
    if (counts[k] == 0) continue;
    for (size_t f = 0; f < frames; f++) {
      sn_rt_input frame = sn_model_input_at(&input, still ? 0 : (int)f, buffer);
      const float *one[kinds] = {(const float *)frame.controls, frame.torques, frame.values};
      memcpy(all + f * counts[k], one[k], counts[k] * sizeof *all);
    }
    SN_TRY(put_blob(v, out, names[k], all, frames * counts[k] * sizeof *all));
  }
  return SN_OK;
}

// The model's error over all frames and per frame.
static sn_status put_errors(view *v, const sn_rt_model *model, json_t *out) {
  const sn_examples *examples = &v->examples;
  int frames = examples->frames.frame_count;
  SN_SCRATCH(scratch, v->ctx);
  double *rms = SN_NEW(v->ctx, &scratch, double, frames);
  double diagonal = sn_mesh_diagonal(&examples->rest);
  sn_scores scores;
  if (!rms) return v->ctx->error.status;
  SN_TRY(sn_assess(v->ctx, model, examples, &(sn_scored_frames){&v->keys, &v->others, rms}, &scores));
  for (int f = 0; f < frames; f++) rms[f] = 100 * rms[f] / diagonal;
  sn_report_add(out, "frame_rms_pct_diag:o p99_pct_diag:f train:o test:o all:o", sn_report_numbers(rms, frames),
                scores.all.p99_pct_diag, sn_report_metrics(&scores.train), sn_report_metrics(&scores.test),
                sn_report_metrics(&scores.all));
  return SN_OK;
}

// Figures of the visible surface, and the percentage of joints inside the mesh.
static sn_status put_surface(view *v, const sn_rt_model *model, const sn_examples *e, json_t *out) {
  double roughness, inside, outside;
  SN_TRY(sn_assess_roughness(v->ctx, model, e, &roughness));
  if (isfinite(roughness)) SN_TRY(put(v->ctx, out, "roughness", json_real(roughness)));
  if (model->info.joint_count == 0 || e->skeleton.joint_count < 2) return SN_OK;
  SN_TRY(sn_rig_joints_inside(v->ctx, &e->rest, &e->skeleton, &inside, &outside, NULL));
  return put(v->ctx, out, "joints_inside_pct", json_real(inside));
}

static sn_status describe_model(view *v, int k, json_t *out) {
  const sn_examples *examples = &v->examples;
  const sn_rt_model *model = &v->models[k].model;
  sn_timing timing;
  SN_TRY(sn_assess_time(v->ctx, model, examples, true, timing_seconds, &timing));
  sn_report_add(out, "name:o us_per_frame:f flops:I path:s", model_name(v->job->models[k]), timing.median,
                (json_int_t)model->info.flops, sn_rt_path_name(sn_rt_get_path(model)));
  SN_TRY(put_inputs(v, model, examples, out));
  SN_TRY(put_surface(v, model, examples, out));
  if (examples->frames.frame_count > 0) SN_TRY(put_errors(v, model, out));
  return put_blob(v, out, "bytes", sn_rt_get_bytes(model), model->info.bytes);
}

// ---- the set: mesh, frames, skeleton ----------------------------------------------------------------------------------

// Zero torques for the single frame of a page without a clip.
static sn_status no_torques(view *v, int joint_count, sn_torques *out) {
  *out = (sn_torques){.joint_count = joint_count, .frame_count = 1, .memory = sn_arena_new(v->ctx)};
  out->values = SN_NEW(v->ctx, &out->memory, double, joint_count);
  out->has = SN_NEW(v->ctx, &out->memory, bool, joint_count);
  return out->values && out->has ? SN_OK : v->ctx->error.status;
}

// Completes a page of a model alone: its mesh and skeleton in the rest pose.
static sn_status rest_pose(view *v, const sn_rt_model *model, sn_examples *out) {
  bool alone = out->frames.frame_count == 0 && out->poses.frame_count == 0;
  if (out->rest.vertex_count == 0) SN_TRY(sn_model_mesh(v->ctx, model, &out->rest));
  if (alone && model->info.value_count > 0 && out->values.count == 0)
    SN_TRY(sn_model_values(v->ctx, model, 1, &out->values));
  if (model->info.joint_count == 0 || out->skeleton.joint_count > 0) return SN_OK;
  SN_TRY(sn_model_skeleton(v->ctx, model, &out->skeleton));
  SN_TRY(sn_poses_new(v->ctx, out->skeleton.joint_count, 1, &out->poses));
  return out->torques.values ? SN_OK : no_torques(v, out->skeleton.joint_count, &out->torques);
}

static sn_status put_mesh(view *v, const sn_examples *e, json_t *out) {
  int vertices = sn_examples_file_vertices(e);
  const void *triangles = e->source_triangles ? e->source_triangles : e->rest.triangles;
  sn_report_add(out, "vertices:i diagonal:f", vertices, sn_mesh_diagonal(&e->rest));
  size_t size = (size_t)e->rest.triangle_count * sizeof *e->rest.triangles;
  SN_TRY(put_blob(v, out, "triangles", triangles, size));
  return e->source ? put_blob(v, out, "source", e->source, (size_t)e->source_count * sizeof *e->source) : SN_OK;
}

static json_t *describe_look(view *v, const sn_look *look) {
  json_t *parts = json_array(), *images = json_array();
  bool used[4096] = {false}; // images beyond this are not shown
  for (int p = 0; p < look->part_count; p++) {
    const sn_look_part *part = &look->parts[p];
    int image = part->image < (int)(sizeof used / sizeof *used) ? part->image : -1;
    if (image >= 0) used[image] = true;
    json_array_append_new(parts, json_pack("{si si s[fff] si}", "first", part->first_triangle, "count",
                                           part->triangle_count, "colour", (double)part->colour[0],
                                           (double)part->colour[1], (double)part->colour[2], "image", image));
  }
  for (int k = 0; k < look->image_count; k++) {
    bool shown = k < (int)(sizeof used / sizeof *used) && used[k];
    json_t *bytes = shown ? sn_page_blob(v->ctx, look->images[k].bytes, look->images[k].size, 1) : NULL;
    json_array_append_new(images,
                          bytes ? json_pack("{ss so}", "type", look->images[k].type, "bytes", bytes) : json_null());
  }
  json_t *uv = sn_page_blob(v->ctx, look->uv, (size_t)look->vertex_count * sizeof *look->uv, 4);
  if (uv) return json_pack("{so so so}", "uv", uv, "parts", parts, "images", images);
  json_decref(parts);
  json_decref(images);
  return NULL;
}

// Colours and textures of the rest file, if it is a document with any.
static sn_status put_look(view *v, const sn_examples *e, json_t *out) {
  const char *path = v->job->inputs->load.rest;
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf = NULL;
  sn_error before = v->ctx->error;
  if (!path || !sn_is_document(path)) return SN_OK;
  if (sn_gltf_read(v->ctx, path, &gltf) != SN_OK) { // unreadable by now: no colours
    v->ctx->error = before;
    return SN_OK;
  }
  SN_FREED_BY(sn_look_free) sn_look look;
  SN_TRY(sn_gltf_look(v->ctx, gltf, &look));
  bool fits = look.vertex_count == sn_examples_file_vertices(e) && look.triangle_count == e->rest.triangle_count;
  return fits && !look.plain ? put(v->ctx, out, "look", describe_look(v, &look)) : SN_OK;
}

static sn_status put_skeleton(view *v, const sn_examples *e, json_t *out) {
  int joint_count = e->skeleton.joint_count, frames = e->poses.frame_count;
  if (joint_count == 0) return SN_OK;
  SN_SCRATCH(scratch, v->ctx);
  size_t matrices = (size_t)joint_count * (size_t)frames;
  float(*rest)[12] = sn_arena_alloc(v->ctx, &scratch, (size_t)joint_count, sizeof *rest);
  float(*poses)[12] = sn_arena_alloc(v->ctx, &scratch, matrices, sizeof *poses);
  if (!rest || !poses) return v->ctx->error.status;
  json_t *names = json_array();
  for (int j = 0; j < joint_count; j++) json_array_append_new(names, sn_report_text(e->skeleton.names[j]));
  sn_report_add(out, "joints:o parents:o", names, sn_report_integers(e->skeleton.parents, joint_count));
  sn_model_joints(e->skeleton.rest, joint_count, rest);
  sn_model_joints(e->poses.matrices, (int)matrices, poses);
  SN_TRY(put_blob(v, out, "rest", rest, (size_t)joint_count * sizeof *rest));
  return put_blob(v, out, "poses", poses, matrices * sizeof *poses);
}

static sn_status describe_set(view *v, json_t *out) {
  const sn_examples *e = &v->examples;
  int frames = frame_count(e), count = v->job->count;
  json_t *title = v->job->title ? sn_report_text(v->job->title) : model_name(named_after(v->job));
  SN_TRY(put(v->ctx, out, "name", title));
  sn_report_add(out, "version:s frame_count:i fps:f", SN_VERSION, frames,
                sn_load_rate(&v->job->inputs->load, &e->frames));
  SN_TRY(sn_keys_parse(v->ctx, v->job->inputs->keys, frames, v->job->inputs->seed, &v->keys, &v->others));
  if (v->others.count > 0) json_object_set_new(out, "training", sn_report_integers(v->keys.frames, v->keys.count));
  if (e->rest.triangle_count == 0)
    sn_inputs_note(v->job->inputs, "note: the rest mesh has no faces: the page draws nothing");
  SN_TRY(put_mesh(v, e, out));
  SN_TRY(put_look(v, e, out));
  SN_TRY(put_skeleton(v, e, out));
  if (e->frames.frame_count > 0) SN_TRY(put(v->ctx, out, "truth", sn_page_frames(v->ctx, &e->rest, &e->frames)));
  json_t *list = json_array();
  json_object_set_new(out, "models", list);
  for (int k = 0; k < count && sn_progress(v->ctx, "measuring", (double)k / count); k++) {
    json_t *model = json_object();
    json_array_append_new(list, model);
    if (describe_model(v, k, model) != SN_OK) return sn_fail_prefix(v->ctx, "%s: ", v->job->models[k]);
  }
  return SN_OK;
}

// ---- the job ------------------------------------------------------------------------------------------------------------

static sn_status check_counts(view *v) {
  const char *rest = v->job->inputs->load.rest;
  int vertices = sn_examples_file_vertices(&v->examples);
  for (int k = 0; k < v->job->count; k++) {
    if ((int)v->models[k].model.info.vertex_count == vertices) continue;
    return sn_fail(v->ctx, SN_BAD_INPUT, "%s has %u vertices, %s has %d: models in one page are of one mesh",
                   v->job->models[k], v->models[k].model.info.vertex_count, rest ? rest : v->job->models[0],
                   vertices);
  }
  return SN_OK;
}

static sn_status load(view *v) {
  sn_inputs *in = v->job->inputs;
  sn_examples *out = &v->examples;
  if (in->load.rest || in->frames.count > 0 || in->skeletons.count > 0 || in->load.values)
    SN_TRY(sn_inputs_load(v->ctx, in, out));
  for (int k = 0; k < v->job->count; k++) {
    if (v->models[k].model.info.joint_count == 0) continue;
    SN_TRY(sn_inputs_retarget(v->ctx, in, &v->models[k].model, out)); // models of one page share a skeleton
    break;
  }
  if (out->rest.vertex_count == 0 && out->frames.frame_count > 0)
    return sn_fail(v->ctx, SN_BAD_INPUT, "`frames` needs the rest mesh too: `rest` FILE");
  for (int k = 0; k < v->job->count; k++) {
    const sn_rt_model *model = &v->models[k].model;
    if (model->info.joint_count > 0 && out->frames.frame_count > 0 && in->skeletons.count == 0)
      return sn_fail(v->ctx, SN_BAD_INPUT, "%s follows a skeleton: give `skeleton` FILE with the poses of the frames",
                     v->job->models[k]);
    SN_TRY(rest_pose(v, model, out));
  }
  return check_counts(v);
}

// Opens the models and writes them and their examples into a set.
static sn_status add_set(view *v, json_t *set, json_t **input) {
  for (int k = 0; k < v->job->count; k++) SN_TRY(sn_open_as_file(v->ctx, v->job->models[k], &v->models[k]));
  SN_TRY(load(v));
  *input = sn_report_examples(&v->examples);
  return describe_set(v, set);
}

sn_status sn_job_view(sn_context *ctx, const sn_view_job *job, json_t **input) {
  SN_SCRATCH(memory, ctx);
  view v = {.ctx = ctx, .job = job, .models = SN_NEW(ctx, &memory, sn_opened, job->count)};
  char name[256] = "Sinew";
  json_t *sets = json_array(), *set = json_object();
  if (job->count > 0) json_array_append(sets, set);
  sn_status status = !v.models ? ctx->error.status : job->count > 0 ? add_set(&v, set, input) : SN_OK;
  sn_keys_free(&v.keys);
  sn_keys_free(&v.others);
  sn_examples_free(&v.examples);
  for (int k = 0; v.models && k < job->count; k++) sn_opened_close(&v.models[k]);
  if (job->count > 0) write_name(named_after(job), name, sizeof name);
  if (status == SN_OK) status = sn_page_write(ctx, job, job->title ? job->title : name, sets);
  json_decref(set);
  json_decref(sets);
  return status;
}
