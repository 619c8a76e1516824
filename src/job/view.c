// SPDX-License-Identifier: MIT
// Writes one self-contained HTML page that runs models live: models and examples as JSON.
#include <math.h>
#include <stdio.h>
#include <string.h>

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

static const float (*as_points(float (*positions)[3]))[3] { return (const float(*)[3])positions; }

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

// The file's name without its folder and ".sinew".
static void write_name(const char *path, char *text, size_t room) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  size_t size = strlen(name);
  if (sn_has_extension(name, ".sinew")) size -= strlen(".sinew");
  snprintf(text, room, "%.*s", (int)size, name);
  restore_spec(text);
}

static json_t *model_name(const char *path) {
  char text[256];
  write_name(path, text, sizeof text);
  return sn_report_text(text);
}

// Sets object[key]; fails if `value` is NULL.
static sn_status put(sn_context *ctx, json_t *object, const char *key, json_t *value) {
  if (value && json_object_set_new(object, key, value) == 0) return SN_OK;
  return ctx->error.status != SN_OK ? ctx->error.status : sn_fail(ctx, SN_NO_MEMORY, "no memory for the page");
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
  sn_arena scratch = sn_arena_new(v->ctx);
  sn_examples given = *examples;
  bool still = counts[0] > 0 && examples->frames.frame_count == 0;
  if (still)
    given.frames = (sn_frames){examples->rest.vertex_count, 1, as_points(examples->rest.positions), .rate = 0};
  sn_model_input input;
  sn_status status = sn_model_input_new(v->ctx, model, &given, &scratch, &input);
  void *buffer = status == SN_OK ? sn_arena_alloc(v->ctx, &scratch, sn_model_input_size(&input), 1) : NULL;
  if (status == SN_OK && !buffer) status = v->ctx->error.status;
  for (int k = 0; status == SN_OK && k < kinds; k++) {
    float *all = SN_NEW(v->ctx, &scratch, float, frames *counts[k]);
    if (!all) status = v->ctx->error.status;
    for (size_t f = 0; all && counts[k] > 0 && f < frames; f++) {
      sn_rt_input frame = sn_model_input_at(&input, still ? 0 : (int)f, buffer);
      const float *one[kinds] = {(const float *)frame.controls, frame.torques, frame.values};
      memcpy(all + f * counts[k], one[k], counts[k] * sizeof *all);
    }
    if (all && counts[k] > 0) status = put_blob(v, out, names[k], all, frames * counts[k] * sizeof *all);
  }
  sn_arena_free(&scratch);
  return status;
}

// The model's error over all frames and per frame.
static sn_status put_errors(view *v, const sn_rt_model *model, json_t *out) {
  const sn_examples *examples = &v->examples;
  int frames = examples->frames.frame_count;
  sn_arena scratch = sn_arena_new(v->ctx);
  double *rms = SN_NEW(v->ctx, &scratch, double, frames);
  double diagonal = sn_points_diagonal(as_points(examples->rest.positions), examples->rest.vertex_count);
  sn_scores scores;
  sn_status status = rms ? sn_assess(v->ctx, model, examples, &(sn_scored_frames){&v->keys, &v->others, rms}, &scores)
                         : v->ctx->error.status;
  if (status == SN_OK) {
    json_t *list = json_array();
    for (int f = 0; f < frames; f++) json_array_append_new(list, sn_report_number(100 * rms[f] / diagonal));
    sn_report_add(out, "frame_rms_pct_diag:o train:o test:o all:o", list, sn_report_metrics(&scores.train),
                  sn_report_metrics(&scores.test), sn_report_metrics(&scores.all));
  }
  sn_arena_free(&scratch);
  return status;
}

// Figures of the visible surface, and the percentage of joints inside the mesh.
static sn_status put_surface(view *v, const sn_rt_model *model, const sn_examples *e, json_t *out) {
  sn_visible surface;
  double inside, outside;
  sn_status status = sn_assess_visible(v->ctx, model, e, &surface);
  if (status == SN_OK && isfinite(surface.p99_pct_diag))
    status = put(v->ctx, out, "p99_pct_diag", json_real(surface.p99_pct_diag));
  if (status == SN_OK && isfinite(surface.roughness))
    status = put(v->ctx, out, "roughness", json_real(surface.roughness));
  if (status != SN_OK || model->info.joint_count == 0 || e->skeleton.joint_count < 2) return status;
  status = sn_rig_joints_inside(v->ctx, &e->rest, &e->skeleton, &inside, &outside, NULL);
  return status == SN_OK ? put(v->ctx, out, "joints_inside_pct", json_real(inside)) : status;
}

static sn_status describe_model(view *v, int k, json_t *list) {
  const sn_examples *examples = &v->examples;
  const char *path = v->job->models[k];
  const sn_rt_model *model = &v->models[k].model;
  json_t *out = json_object();
  json_array_append_new(list, out);
  sn_timing timing;
  sn_status status = sn_assess_time(v->ctx, model, examples, true, timing_seconds, &timing);
  if (status == SN_OK)
    sn_report_add(out, "name:o us_per_frame:f flops:I path:s", model_name(path), timing.median,
                  (json_int_t)model->info.flops, sn_rt_path_name(sn_rt_get_path(model)));
  if (status == SN_OK) status = put_inputs(v, model, examples, out);
  if (status == SN_OK) status = put_surface(v, model, examples, out);
  if (status == SN_OK && examples->frames.frame_count > 0) status = put_errors(v, model, out);
  if (status == SN_OK) status = put_blob(v, out, "bytes", sn_rt_get_bytes(model), model->info.bytes);
  return status == SN_OK ? SN_OK : sn_fail_prefix(v->ctx, "%s: ", path);
}

// ---- the set: mesh, frames, skeleton ----------------------------------------------------------------------------------

// Zero torques for the single frame of a page without a clip.
static sn_status no_torques(view *v, int joint_count, sn_torques *out) {
  *out = (sn_torques){.joint_count = joint_count, .frame_count = 1, .memory = sn_arena_new(v->ctx)};
  out->values = SN_NEW(v->ctx, &out->memory, double, joint_count);
  out->has = SN_NEW(v->ctx, &out->memory, bool, joint_count);
  return out->values && out->has ? SN_OK : v->ctx->error.status;
}

// Likewise the values: 0, clamped to the training range.
static sn_status no_values(view *v, const sn_rt_model *model, sn_values *out) {
  int count = (int)model->info.value_count;
  sn_status status = sn_values_new(v->ctx, count, 1, out);
  for (int k = 0; status == SN_OK && k < count; k++) {
    float range[2];
    sn_rt_value_range(model, (uint32_t)k, range);
    out->values[k] = fmin(fmax(0, (double)range[0]), (double)range[1]);
    out->names[k] = sn_arena_text(v->ctx, &out->memory, sn_rt_value_name(model, (uint32_t)k));
    if (!out->names[k]) status = v->ctx->error.status;
  }
  return status;
}

// Completes a page of a model alone: its mesh and skeleton in the rest pose.
static sn_status rest_pose(view *v, const sn_rt_model *model, sn_examples *out) {
  sn_status status = SN_OK;
  if (out->rest.vertex_count == 0) status = sn_model_mesh(v->ctx, model, &out->rest);
  bool alone = out->frames.frame_count == 0 && out->poses.frame_count == 0;
  if (status == SN_OK && alone && model->info.value_count > 0 && out->values.count == 0)
    status = no_values(v, model, &out->values);
  if (status != SN_OK || model->info.joint_count == 0 || out->skeleton.joint_count > 0) return status;
  status = sn_model_skeleton(v->ctx, model, &out->skeleton);
  if (status == SN_OK) status = sn_poses_new(v->ctx, out->skeleton.joint_count, 1, &out->poses);
  if (status == SN_OK && !out->torques.values) status = no_torques(v, out->skeleton.joint_count, &out->torques);
  return status;
}

static sn_status put_mesh(view *v, const sn_examples *e, json_t *out) {
  int vertices = sn_examples_file_vertices(e);
  const void *triangles = e->source_triangles ? e->source_triangles : e->rest.triangles;
  sn_report_add(out, "vertices:i diagonal:f", vertices,
                sn_points_diagonal(as_points(e->rest.positions), e->rest.vertex_count));
  size_t size = (size_t)e->rest.triangle_count * sizeof *e->rest.triangles;
  sn_status status = put_blob(v, out, "triangles", triangles, size);
  if (status != SN_OK || !e->source) return status;
  return put_blob(v, out, "source", e->source, (size_t)e->source_count * sizeof *e->source);
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
  sn_gltf *gltf = NULL;
  sn_error before = v->ctx->error;
  if (!path || !sn_is_document(path)) return SN_OK;
  if (sn_gltf_read(v->ctx, path, &gltf) != SN_OK) { // unreadable by now: no colours
    v->ctx->error = before;
    return SN_OK;
  }
  sn_look look;
  sn_status status = sn_gltf_look(v->ctx, gltf, &look);
  bool fits = look.vertex_count == sn_examples_file_vertices(e) && look.triangle_count == e->rest.triangle_count;
  if (status == SN_OK && fits && !look.plain) status = put(v->ctx, out, "look", describe_look(v, &look));
  sn_look_free(&look);
  sn_gltf_free(gltf);
  return status;
}

static sn_status put_skeleton(view *v, const sn_examples *e, json_t *out) {
  int joint_count = e->skeleton.joint_count, frames = e->poses.frame_count;
  if (joint_count == 0) return SN_OK;
  sn_arena scratch = sn_arena_new(v->ctx);
  float(*rest)[12] = sn_arena_alloc(v->ctx, &scratch, (size_t)joint_count, sizeof *rest);
  float(*poses)[12] = sn_arena_alloc(v->ctx, &scratch, (size_t)joint_count * (size_t)frames, sizeof *poses);
  sn_status status = rest && poses ? SN_OK : v->ctx->error.status;
  if (status == SN_OK) {
    json_t *names = json_array(), *parents = json_array();
    for (int j = 0; j < joint_count; j++) {
      json_array_append_new(names, sn_report_text(e->skeleton.names[j]));
      json_array_append_new(parents, json_integer(e->skeleton.parents[j]));
    }
    sn_report_add(out, "joints:o parents:o", names, parents);
    sn_model_joints(e->skeleton.rest, joint_count, rest);
    sn_model_joints(e->poses.matrices, joint_count * frames, poses);
    status = put_blob(v, out, "rest", rest, (size_t)joint_count * sizeof *rest);
  }
  if (status == SN_OK)
    status = put_blob(v, out, "poses", poses, (size_t)joint_count * (size_t)frames * sizeof *poses);
  sn_arena_free(&scratch);
  return status;
}

static sn_status describe_set(view *v, json_t *out) {
  const sn_examples *e = &v->examples;
  int frames = frame_count(e), count = v->job->count;
  json_t *title = v->job->title ? sn_report_text(v->job->title) : model_name(v->job->models[0]);
  sn_status status = put(v->ctx, out, "name", title);
  sn_report_add(out, "version:s frame_count:i fps:f", SN_VERSION, frames, sn_inputs_rate(v->job->inputs, &e->frames));
  if (status == SN_OK)
    status = sn_keys_parse(v->ctx, v->job->inputs->keys, frames, v->job->inputs->seed, &v->keys, &v->others);
  if (status == SN_OK && v->others.count > 0)
    json_object_set_new(out, "training", sn_report_integers(v->keys.frames, v->keys.count));
  if (status == SN_OK) status = put_mesh(v, e, out);
  if (status == SN_OK) status = put_look(v, e, out);
  if (status == SN_OK) status = put_skeleton(v, e, out);
  if (status == SN_OK && e->frames.frame_count > 0)
    status = put(v->ctx, out, "truth", sn_page_frames(v->ctx, &e->rest, &e->frames));
  json_t *list = json_array();
  json_object_set_new(out, "models", list);
  for (int k = 0; status == SN_OK && k < count; k++) {
    if (!sn_progress(v->ctx, "measuring", (double)k / count)) break;
    status = describe_model(v, k, list);
  }
  return status;
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
  sn_status status = SN_OK;
  if (in->load.rest || in->frames.count > 0 || in->skeletons.count > 0 || in->load.values)
    status = sn_inputs_load(v->ctx, in, out);
  for (int k = 0; status == SN_OK && k < v->job->count; k++) {
    if (v->models[k].model.info.joint_count == 0) continue;
    status = sn_inputs_retarget(v->ctx, in, &v->models[k].model, out); // models of one page share a skeleton
    break;
  }
  if (status == SN_OK && out->rest.vertex_count == 0 && out->frames.frame_count > 0)
    status = sn_fail(v->ctx, SN_BAD_INPUT, "`frames` needs the rest mesh too: `rest` FILE");
  for (int k = 0; status == SN_OK && k < v->job->count; k++) {
    const sn_rt_model *model = &v->models[k].model;
    if (model->info.joint_count > 0 && out->frames.frame_count > 0 && in->skeletons.count == 0)
      status = sn_fail(v->ctx, SN_BAD_INPUT, "%s is driven by %s: give `skeleton` FILE with the poses of the frames",
                       v->job->models[k], sn_rt_drive_name(model->info.drive));
    if (status == SN_OK) status = rest_pose(v, model, out);
  }
  return status == SN_OK ? check_counts(v) : status;
}

// Opens the models and writes them and their examples into a set.
static sn_status add_set(view *v, json_t *sets, json_t **input) {
  sn_arena memory = sn_arena_new(v->ctx);
  sn_status status = SN_OK;
  int opened = 0, count = v->job->count;
  v->models = SN_NEW(v->ctx, &memory, sn_opened, count);
  if (!v->models) return v->ctx->error.status;
  for (; status == SN_OK && opened < count; opened += status == SN_OK)
    status = sn_open_as_file(v->ctx, v->job->models[opened], &v->models[opened]);
  json_t *set = json_object();
  json_array_append_new(sets, set);
  if (status == SN_OK) status = load(v);
  if (status == SN_OK) *input = sn_report_examples(&v->examples);
  if (status == SN_OK) status = describe_set(v, set);
  sn_keys_free(&v->keys);
  sn_keys_free(&v->others);
  sn_examples_free(&v->examples);
  for (int k = 0; k < opened; k++) sn_opened_close(&v->models[k]);
  sn_arena_free(&memory);
  return status;
}

sn_status sn_job_view(sn_context *ctx, const sn_view_job *job, json_t **input) {
  view v = {.ctx = ctx, .job = job};
  char name[256] = "Sinew";
  json_t *sets = json_array();
  sn_status status = job->count > 0 ? add_set(&v, sets, input) : SN_OK;
  if (job->count > 0) write_name(job->models[0], name, sizeof name);
  if (status == SN_OK) status = sn_page_write(ctx, job, job->title ? job->title : name, sets);
  json_decref(sets);
  return status;
}
