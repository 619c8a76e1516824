// SPDX-License-Identifier: MIT
// Evaluates a model: writes frames, or a skin with its animation; measures the error if ground truth is given.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "formats/common/adjust.h"
#include "job/job.h"
#include "sinew/model.h"

typedef struct evaluation {
  sn_context *ctx;
  const sn_eval_job *job;
  const sn_rt_model *model;
  sn_examples input, truth; // inputs of the model; the ground truth, if control points drive the model
  sn_arena memory;
} evaluation;

// The model's skeleton, or the palette as joints of a flat skeleton, as glTF needs it for halfway joints and separate bones. With
// the poses of the examples.
static sn_status make_skeleton(evaluation *e, sn_skeleton *skeleton, sn_poses *poses) {
  const sn_rt_model *model = e->model;
  int count = (int)model->info.palette_count;
  bool same = count == (int)model->info.joint_count;
  SN_TRY(same ? sn_model_skeleton(e->ctx, model, skeleton) : sn_skeleton_new(e->ctx, count, skeleton));
  return sn_model_palettes(e->ctx, model, &e->input, poses, NULL, NULL);
}

// With more fields than frames, writes one morph target per frame instead: the sum of the fields there, at weight 1.
static sn_status targets_of_frames(evaluation *e, size_t frames, sn_displacements *fields, float **weights) {
  size_t vertices = e->model->info.vertex_count;
  float(*deltas)[3] = sn_arena_alloc(e->ctx, &fields->memory, frames * vertices, sizeof *deltas);
  float *ones = SN_NEW(e->ctx, &fields->memory, float, frames *frames);
  size_t count = (size_t)fields->count;
  if (!deltas || !ones) return e->ctx->error.status;
  for (size_t b = 0; b < count; b++)
    for (size_t i = 0; i < vertices; i++) {
      const float *d = fields->deltas[b * vertices + i];
      if (d[0] == 0 && d[1] == 0 && d[2] == 0) continue;
      for (size_t f = 0; f < frames; f++)
        for (int k = 0; k < 3; k++) deltas[f * vertices + i][k] += (*weights)[f * count + b] * d[k];
    }
  for (size_t f = 0; f < frames; f++) ones[f * frames + f] = 1;
  fields->deltas = deltas, fields->count = (int)frames, *weights = ones;
  return SN_OK;
}

// Writes corrections in the rest pose as morph targets: glTF morphs before it skins.
static sn_status morph_targets(evaluation *e, sn_displacements *fields, float **weights, const char *const **names) {
  sn_status status = sn_model_displacements(e->ctx, e->model, fields);
  if (status == SN_UNSUPPORTED) {
    sn_fail_prefix(e->ctx, "%s: glTF only morphs whole meshes before skinning, and ", e->job->path);
    size_t used = strlen(e->ctx->error.message);
    snprintf(e->ctx->error.message + used, sizeof e->ctx->error.message - used,
             "; write the deformed vertices instead: -o out.pc2");
  }
  SN_TRY(status);
  if (fields->count > 0) SN_TRY(sn_model_palettes(e->ctx, e->model, &e->input, NULL, &fields->memory, weights));
  SN_TRY(sn_model_shape_names(e->ctx, &e->memory, e->model, names));
  int frames = e->input.poses.frame_count;
  bool many = frames > 0 && fields->count > frames && !*names;
  if (!many) return SN_OK;
  if (frames > 32) // as many as psd:shapes=32 has
    sn_inputs_note(e->job->inputs,
                   "note: %s: each of the %d frames becomes a morph target, because the model has %d displacement "
                   "fields; models of `--method psd:shapes=32` or `helpers` give smaller files",
                   e->job->path, frames, fields->count);
  return targets_of_frames(e, (size_t)frames, fields, weights);
}

// One glTF clip per clip of the input, with its name; a single clip if control points drive the model.
static void describe_clips(const sn_examples *examples, const sn_poses *poses, const float *weights, int morph_count,
                           sn_gltf_clip_out *out) {
  out[0] =
    (sn_gltf_clip_out){.name = "sinew", .poses = poses, .frame_count = poses->frame_count, .morph_weights = weights};
  for (int k = 0; k < examples->clip_count; k++) {
    int first = examples->clip_start[k];
    out[k] = (sn_gltf_clip_out){.name = examples->clip_names ? examples->clip_names[k] : "sinew",
                                .poses = poses,
                                .first_frame = first,
                                .frame_count = examples->clip_start[k + 1] - first,
                                .seconds = examples->clip_seconds ? examples->clip_seconds[k] : 0};
    if (weights) out[k].morph_weights = weights + (size_t)first * (size_t)morph_count;
  }
}

// The rest tangents, for parts of the rest file without them; NULL if the model has none.
static sn_status rest_tangents(evaluation *e, float (**out)[4]) {
  const sn_rt_model *model = e->model;
  *out = NULL;
  if (!model->info.tangents) return SN_OK;
  *out = sn_arena_alloc(e->ctx, &e->memory, model->info.vertex_count, sizeof **out);
  if (!*out) return e->ctx->error.status;
  sn_rt_get_rest(model, &(sn_rt_rest){.tangents = *out}, NULL);
  return sn_model_to_file(e->ctx, model, *out, sizeof **out, 1);
}

// The document of the rest mesh, unless that is mirrored; and the model's normals if scale or axes were adjusted.
static sn_status read_base(evaluation *e, sn_gltf **base, float (**normals)[3]) {
  const sn_rt_model *model = e->model;
  const char *rest = e->job->inputs->load.rest;
  const sn_adjust *adjust = &e->job->inputs->load.adjust[SN_FILE_REST];
  bool mirrored = sn_mat3_determinant(sn_adjust_linear(adjust)) < 0;
  if (rest && sn_is_document(rest) && !mirrored) SN_TRY(sn_gltf_read(e->ctx, rest, base));
  if (!*base || !sn_adjust_moves(adjust)) return SN_OK;
  *normals = sn_arena_alloc(e->ctx, &e->memory, model->info.vertex_count, sizeof **normals);
  if (!*normals) return e->ctx->error.status;
  sn_rt_get_rest(model, &(sn_rt_rest){.normals = *normals}, NULL);
  return sn_model_to_file(e->ctx, model, *normals, sizeof **normals, 1);
}

// Writes a scene: linear blend skinning is exactly a glTF skin.
static sn_status write_scene(evaluation *e) {
  const sn_rt_model *model = e->model;
  const sn_examples *examples = &e->input;
  const char *path = e->job->path;
  if (model->info.blend != SN_RT_BLEND_LINEAR)
    return sn_fail(e->ctx, SN_UNSUPPORTED,
                   "%s: glTF has linear skins only; write the deformed vertices instead: -o out.pc2", path);
  SN_FREED_BY(sn_examples_free) sn_examples scene = {0}; // mesh, skin, skeleton and poses
  SN_FREED_BY(sn_displacements_free) sn_displacements fields = {0};
  SN_FREED_BY(sn_gltf_close) sn_gltf *base = NULL;
  float *weights = NULL, (*tangents)[4] = NULL, (*normals)[3] = NULL;
  const char *const *names = NULL;
  int clip_count = examples->clip_count > 0 ? examples->clip_count : 1;
  sn_gltf_clip_out *clips = SN_NEW(e->ctx, &e->memory, sn_gltf_clip_out, clip_count);
  if (!clips) return e->ctx->error.status;
  SN_TRY(morph_targets(e, &fields, &weights, &names));
  SN_TRY(sn_model_mesh(e->ctx, model, &scene.rest));
  SN_TRY(sn_model_skin(e->ctx, model, &scene.skin));
  SN_TRY(make_skeleton(e, &scene.skeleton, &scene.poses));
  SN_TRY(read_base(e, &base, &normals));
  SN_TRY(rest_tangents(e, &tangents));
  describe_clips(examples, &scene.poses, weights, fields.count, clips);
  sn_gltf_out out = {.base = base,
                     .mesh = &scene.rest,
                     .normals = (const float(*)[3])normals,
                     .posed = normals,
                     .tangents = (const float(*)[4])tangents,
                     .skeleton = &scene.skeleton,
                     .skin = &scene.skin,
                     .clip_count = clip_count,
                     .clips = clips,
                     .fps = sn_load_rate(&e->job->inputs->load, &examples->frames),
                     .morph_count = fields.count,
                     .morph_deltas = (const float(*)[3])fields.deltas,
                     .morph_names = names,
                     .affine = model->info.palette_count != model->info.joint_count};
  return sn_gltf_write(e->ctx, path, &out);
}

static sn_status write_frames(evaluation *e) {
  const sn_rt_model *model = e->model;
  const sn_examples *examples = &e->input;
  SN_FREED_BY(sn_keys_free) sn_keys keys = {0};
  SN_FREED_BY(sn_frames_free) sn_frames frames = {0};
  SN_FREED_BY(sn_mesh_free) sn_mesh mesh = {0};
  SN_TRY(sn_keys_parse(e->ctx, "all", sn_model_frame_count(model, examples), 0, &keys, NULL));
  SN_TRY(sn_assess_evaluate(e->ctx, model, examples, &keys, &frames, NULL));
  SN_TRY(sn_frames_check(e->ctx, &frames));
  SN_TRY(sn_model_mesh(e->ctx, model, &mesh));
  frames.rate = sn_load_rate(&e->job->inputs->load, &examples->frames);
  return sn_frames_write(e->ctx, e->job->path, &frames, &mesh);
}

// Error of the model against the ground truth.
static sn_status score(evaluation *e, const sn_examples *truth, sn_metrics *out) {
  int frames = sn_model_frame_count(e->model, &e->input), count = truth->frames.frame_count;
  sn_figures figures;
  if (frames != count) return sn_fail(e->ctx, SN_BAD_INPUT, "%d frames of input, but %d true ones", frames, count);
  SN_TRY(sn_assess_figures(e->ctx, e->model, &(sn_measured){&e->input, truth, NULL}, &e->memory, &figures));
  *out = figures.error;
  return SN_OK;
}

// Reads positions of the control points, or of the whole mesh, which includes them.
static sn_status load_controls(evaluation *e) {
  const char *path = e->job->inputs->load.controls;
  int points = (int)e->model->info.control_count;
  sn_frames *frames = &e->input.frames;
  if (!path || !sn_is_point_cache(path))
    return sn_fail(e->ctx, SN_BAD_INPUT,
                   "%s is driven by %d control points: give `controls` FILE.pc2 with their positions at every frame, "
                   "or with the whole mesh, which has them",
                   e->job->name, points);
  sn_choice choice = {.adjust = e->job->inputs->load.adjust[SN_FILE_FRAMES]};
  SN_TRY(sn_frames_read(e->ctx, path, &choice, frames));
  if (frames->vertex_count == (int)e->model->info.vertex_count)
    SN_TRY(sn_model_mesh(e->ctx, e->model, &e->input.rest));
  else if (frames->vertex_count != points)
    return sn_fail(e->ctx, SN_BAD_INPUT, "%s has %d points, the model's control points are %d", path,
                   frames->vertex_count, points);
  return sn_frames_check(e->ctx, frames);
}

// One pose per value, as a clip of its name: that value at its training maximum, the others at 0.
static sn_status pose_values(evaluation *e) {
  sn_examples *out = &e->input;
  int count = (int)e->model->info.value_count;
  SN_TRY(sn_model_values(e->ctx, e->model, count, &out->values));
  out->clip_start = SN_NEW(e->ctx, &e->memory, int, count + 1);
  if (!out->clip_start) return e->ctx->error.status;
  out->clip_count = out->clip_start[count] = count, out->clip_names = (const char **)out->values.names;
  for (int v = 0; v < count; v++) {
    float range[2] = {0};
    sn_rt_value_range(e->model, (uint32_t)v, range), out->clip_start[v] = v;
    out->values.values[v * count + v] = (double)range[1];
  }
  return SN_OK;
}

// Reads values that drive the model; the same examples hold the ground truth, if there is any.
static sn_status load_values(evaluation *e) {
  sn_inputs *in = e->job->inputs;
  bool given = in->load.values || in->frames.count > 0;
  if (!given && sn_is_scene(e->job->path)) return pose_values(e);
  if (given) SN_TRY(sn_inputs_load(e->ctx, in, &e->input));
  if (e->input.values.count > 0) return SN_OK;
  return sn_fail(e->ctx, SN_BAD_INPUT, "%s is driven by named values: give `values` FILE.csv", e->job->name);
}

static sn_status load_input(evaluation *e) {
  const sn_rt_info *info = &e->model->info;
  sn_inputs *in = e->job->inputs;
  if (info->control_count > 0) {
    SN_TRY(load_controls(e));
    return in->frames.count > 0 ? sn_inputs_load(e->ctx, in, &e->truth) : SN_OK;
  }
  if (info->joint_count == 0 && info->value_count > 0) return load_values(e);
  if (in->load.controls || (in->load.values && info->value_count == 0))
    return sn_fail(e->ctx, SN_BAD_INPUT, "%s has no %s: leave out `%s`", e->job->name,
                   in->load.controls ? "control points" : "named values", in->load.controls ? "controls" : "values");
  if (in->skeletons.count == 0)
    return sn_fail(e->ctx, SN_BAD_INPUT, "%s follows a skeleton: give `skeleton` FILE with the poses", e->job->name);
  SN_TRY(sn_inputs_load(e->ctx, in, &e->input));
  return sn_inputs_retarget(e->ctx, in, e->model, &e->input);
}

json_t *sn_report_clamped(const sn_inputs *in, const char *name, const sn_rt_model *model,
                          const sn_examples *examples) {
  json_t *out = json_object();
  for (uint32_t k = 0; k < model->info.torque_count + model->info.value_count; k++) {
    sn_clamped c = sn_assess_clamped(model, examples, k);
    if (c.outside == 0) continue;
    sn_inputs_note(in,
                   "note: %s: the %s%s is outside %g to %g, the range of the training, at %d of %d frames; there the "
                   "nearest %.*s within is used",
                   name, c.kind, c.name, (double)c.range[0], (double)c.range[1], c.outside, c.frames,
                   (int)strcspn(c.kind, " "), c.kind);
    sn_report_put(out, c.name, json_integer(c.outside));
  }
  return out;
}

// A note per joint or, if there are many, one on the joint that is farthest outside.
static void note_outside(const sn_inputs *in, json_t *joints, double farthest, int frames) {
  static const int most_notes = 6;
  const char *name;
  json_t *joint;
  char others[80] = "";
  int count = (int)json_object_size(joints);
  if (count > most_notes)
    snprintf(others, sizeof others, "; %d other joints do by less (`eval --json` lists them)", count - 1);
  json_object_foreach(joints, name, joint) {
    double degrees = json_real_value(json_object_get(joint, "degrees"));
    if (count <= most_notes || degrees == farthest)
      sn_inputs_note(
        in, "note: %s leaves the range of the training at %d of %d frames, by up to %.1f degrees at frame %d%s", name,
        (int)json_array_size(json_object_get(joint, "frames")), frames, degrees,
        (int)json_integer_value(json_object_get(joint, "worst")), others);
  }
}

// Joints outside the training range: in which frames, and by how far.
static sn_status report_outside(evaluation *e, json_t **out) {
  static const double least = 1; // degrees; smaller angles are not noted
  const sn_rt_model *model = e->model;
  const sn_examples *examples = &e->input;
  SN_SCRATCH(scratch, e->ctx);
  double *degrees, farthest = 0;
  SN_TRY(sn_assess_outside(e->ctx, model, examples, &scratch, &degrees));
  int frames = examples->poses.frame_count, joint_count = (int)model->info.joint_count;
  *out = json_object();
  for (int j = 0; degrees && j < joint_count; j++) {
    json_t *list = json_array();
    int worst = j;
    for (int f = 0, at = j; f < frames; f++, at += joint_count) {
      if (degrees[at] > least) json_array_append_new(list, json_integer(f));
      if (degrees[at] > degrees[worst]) worst = at;
    }
    farthest = fmax(farthest, degrees[worst]);
    if (json_array_size(list) > 0)
      sn_report_put(
        *out, sn_rt_joint_name(model, (uint32_t)j),
        json_pack("{sO, sf, si}", "frames", list, "degrees", degrees[worst], "worst", worst / joint_count));
    json_decref(list);
  }
  note_outside(e->job->inputs, *out, farthest, frames);
  return SN_OK;
}

static sn_status evaluate(evaluation *e, sn_eval_result *out) {
  const sn_eval_job *job = e->job;
  SN_TRY(load_input(e));
  e->input.motion = !job->inputs->unordered;
  SN_TRY((sn_is_scene(job->path) ? write_scene : write_frames)(e));
  out->frames = sn_model_frame_count(e->model, &e->input);
  sn_inputs_note(job->inputs, "%s: %d frames of %u vertices", job->path, out->frames, e->model->info.vertex_count);
  out->clamped = sn_report_clamped(job->inputs, job->path, e->model, &e->input);
  SN_TRY(report_outside(e, &out->outside));
  const sn_examples *truth = e->model->info.control_count > 0 ? &e->truth : &e->input;
  return truth->frames.frame_count > 0 ? score(e, truth, &out->error) : SN_OK;
}

sn_status sn_job_eval(sn_context *ctx, const sn_eval_job *job, sn_eval_result *out) {
  evaluation e = {.ctx = ctx, .job = job, .model = job->model, .memory = sn_arena_new(ctx)};
  *out = (sn_eval_result){0};
  sn_status status = evaluate(&e, out);
  sn_examples_free(&e.input);
  sn_examples_free(&e.truth);
  sn_arena_free(&e.memory);
  return status;
}

json_t *sn_report_eval(const sn_eval_job *job, sn_eval_result *result) {
  json_t *out = json_object();
  if (result->clamped)
    sn_report_add(out, "frames:i vertices:i clamped:o outside:o? all:o?", result->frames,
                  job->model->info.vertex_count, result->clamped, result->outside,
                  result->error.frame_count > 0 ? sn_report_metrics(&result->error) : NULL);
  return out;
}
