// SPDX-License-Identifier: MIT
// What a session does: the same calls in the same order as the commands of src/cli.
#include "session/internal.h"

#include <math.h>
#include <string.h>

sn_status sn_session_keys(sn_session *s, const char *spec, int frame_count) {
  sn_keys_free(&s->keys);
  return sn_keys_parse(&s->ctx, spec, frame_count, s->seed, &s->keys, NULL);
}

// ---- training ----------------------------------------------------------------------------------------------------------

// The model of --from, or NULL.
static sn_status open_from(sn_session *s, sn_rt_model *out, const sn_rt_model **from) {
  *from = NULL;
  if (!s->from) return SN_OK;
  *from = out;
  return sn_model_open(&s->ctx, "from", s->from, s->from_size, out);
}

// Poses for a model are in its own skeleton, on its own mesh where there is no other.
static sn_status prepare(sn_session *s, const sn_rt_model *from) {
  char told[700];
  sn_status status = SN_OK;
  if (from && s->inputs.pose_count == 0)
    return sn_fail(&s->ctx, SN_BAD_INPUT, "poses to add are needed: `pose` FRAME=MESH");
  if (from && s->examples.rest.vertex_count == 0) status = sn_model_mesh(&s->ctx, from, &s->examples.rest);
  if (status == SN_OK && from)
    status = sn_inputs_retarget(&s->ctx, &s->inputs, from, &s->examples, told, sizeof told);
  if (status == SN_OK && s->inputs.pose_count > 0) status = sn_inputs_sculpt(&s->ctx, &s->inputs, &s->examples);
  return status;
}

void sn_session_limit(sn_session *s, double bytes, double time, double error) {
  s->limits = (sn_limits){.bytes = bytes, .time = time, .error = error};
}

void sn_session_mirror(sn_session *s, char axis) { s->mirror = axis; }

void sn_session_from(sn_session *s, const void *bytes, size_t size) { s->from = bytes, s->from_size = size; }

sn_status sn_session_train(sn_session *s, const char *method, const char *keys_spec, bool measured) {
  sn_method_spec spec;
  sn_keys keys = {0}, others = {0};
  sn_train_result result = {0};
  sn_rt_model model;
  const sn_rt_model *from;
  bool choose = strcmp(method, "auto") == 0;
  sn_model_free(&s->model);
  sn_status status = open_from(s, &model, &from);
  if (status == SN_OK && !choose && !from) status = sn_method_parse(&s->ctx, method, &spec);
  if (status == SN_OK) status = prepare(s, from);
  bool frames = s->examples.frames.frame_count > 0;
  if (status == SN_OK && !frames && (choose || from || !sn_method_needs_no_frames(&spec)))
    status = sn_fail(&s->ctx, SN_BAD_INPUT, "%s learns from frames, and there are none",
                     choose || from ? method : spec.method->name);
  if (status == SN_OK && frames)
    status = sn_train_keys(&s->ctx, &s->examples, from ? "all" : keys_spec, s->seed, &keys, &others);
  if (status == SN_OK && s->mirror) status = sn_examples_mirror_keys(&s->ctx, s->mirror, &s->examples, &keys);
  sn_train_job job = {.examples = &s->examples,
                      .keys = &keys,
                      .others = &others,
                      .spec = choose || from ? NULL : &spec,
                      .limits = s->limits,
                      .from = from,
                      .measure = measured};
  if (status == SN_OK) status = sn_job_train(&s->ctx, &job, &result);
  status = sn_session_end(s, status);
  if (status == SN_OK) {
    s->model = result.model, result.model = (sn_model){0};
    if (measured) status = sn_session_tell(s, "train", sn_report_training(&result));
  }
  sn_train_result_free(&result);
  sn_keys_free(&keys);
  sn_keys_free(&others);
  return status;
}

// ---- rigs ------------------------------------------------------------------------------------------------------------------

static sn_status rig_options(sn_session *s, const char *pairs, bool keep_bones, const char *solve,
                             sn_rig_options *out) {
  const sn_examples *e = &s->examples;
  *out = sn_rig_options_default();
  sn_status status = sn_options_parse(&s->ctx, sn_rig_option_groups, pairs, out);
  if (status != SN_OK) return status;
  out->keep_bones = keep_bones;
  if (out->bone_type == SN_RIG_AFFINE && out->structure != SN_RIG_FREE)
    return sn_fail(&s->ctx, SN_BAD_INPUT, "affine bones have no joints to turn about; add joints=none");
  if (!*solve) return SN_OK;
  out->given = strcmp(solve, "weights") == 0  ? SN_RIG_MOTION
               : strcmp(solve, "motion") == 0 ? SN_RIG_WEIGHTS
                                              : SN_RIG_SKELETON;
  if (out->given == SN_RIG_SKELETON && strcmp(solve, "both") != 0)
    return sn_fail(&s->ctx, SN_BAD_INPUT, "solve '%s': choose weights, motion or both", solve);
  out->skeleton = &e->skeleton;
  out->poses = &e->poses;
  out->skin = e->skin.influences > 0 ? &e->skin : NULL;
  return SN_OK;
}

// The rig as a model, so that its figures are those of the runtime.
static sn_status rig_model(sn_session *s) {
  sn_model_desc desc = sn_model_desc_default();
  sn_mesh mesh = {0};
  sn_skin skin = {0};
  sn_status status = sn_examples_file_mesh(&s->ctx, &s->examples, &mesh);
  if (status == SN_OK) status = sn_examples_file_skin(&s->ctx, &s->examples, &s->rig.skin, &skin);
  desc.rest = &mesh, desc.skeleton = &s->rig.skeleton, desc.skin = &skin;
  if (status == SN_OK) status = sn_model_build(&s->ctx, &desc, &s->model);
  s->model.desc = NULL; // of what is freed here
  sn_mesh_free(&mesh);
  sn_skin_free(&skin);
  return status;
}

static sn_status rig_figures(sn_session *s, sn_rig_figures *out) {
  sn_examples rigged = s->examples; // the same mesh and frames
  sn_rt_model model;
  rigged.skeleton = s->rig.skeleton, rigged.poses = s->rig.poses;
  sn_status status = sn_model_open(&s->ctx, "rig", s->model.bytes, s->model.size, &model);
  return status == SN_OK ? sn_assess_rig(&s->ctx, &model, &rigged, &s->rig.skin, &s->memory, out) : status;
}

sn_status sn_session_rig(sn_session *s, const char *pairs, bool keep_bones, const char *solve) {
  sn_rig_options options;
  sn_rig_figures figures = {0};
  double start = sn_seconds();
  sn_model_free(&s->model);
  sn_rig_result_free(&s->rig);
  sn_status status = rig_options(s, pairs, keep_bones, solve, &options);
  if (status == SN_OK) status = sn_rig(&s->ctx, &s->examples.rest, &s->examples.frames, &options, &s->rig);
  double seconds = sn_seconds() - start;
  if (status == SN_OK) status = rig_model(s);
  if (status == SN_OK) status = rig_figures(s, &figures);
  status = sn_session_end(s, status);
  if (status != SN_OK) return status;
  s->affine = options.bone_type == SN_RIG_AFFINE;
  s->frame_rms = figures.frame_rms, s->vertex_rms = figures.vertex_rms;
  return sn_session_tell(s, "rig",
                         sn_report_rig(&s->rig.report, &figures, &s->examples, options.influences, -1, seconds));
}

sn_status sn_session_write_rig(sn_session *s, const char *path, double fps) {
  const sn_examples *e = &s->examples;
  sn_arena scratch = sn_arena_new(&s->ctx);
  sn_gltf_clip_out *clips = SN_NEW(&s->ctx, &scratch, sn_gltf_clip_out, e->clip_count);
  sn_mesh mesh = {0};
  sn_skin skin = {0};
  sn_status status = clips ? sn_examples_file_mesh(&s->ctx, e, &mesh) : s->ctx.error.status;
  if (status == SN_OK) status = sn_examples_file_skin(&s->ctx, e, &s->rig.skin, &skin);
  for (int k = 0; status == SN_OK && k < e->clip_count; k++) {
    clips[k] = (sn_gltf_clip_out){.name = e->clip_names && e->clip_names[k] ? e->clip_names[k] : "clip",
                                  .poses = &s->rig.poses,
                                  .first_frame = e->clip_start[k],
                                  .frame_count = e->clip_start[k + 1] - e->clip_start[k]};
  }
  sn_gltf_out out = {.mesh = &mesh,
                     .skeleton = &s->rig.skeleton,
                     .skin = &skin,
                     .clip_count = e->clip_count,
                     .clips = clips,
                     .fps = fps,
                     .affine = s->affine};
  if (status == SN_OK) status = sn_gltf_write(&s->ctx, path, &out);
  sn_mesh_free(&mesh);
  sn_skin_free(&skin);
  sn_arena_free(&scratch);
  return status;
}

// ---- comparing -----------------------------------------------------------------------------------------------------------------

static sn_status tell_row(void *list, sn_compare_row *row) {
  json_array_append_new(list, sn_report_compare(row));
  return SN_OK;
}

sn_status sn_session_compare(sn_session *s, int methods, const char *const *specs, const char *keys_spec,
                             bool loocv) {
  sn_keys keys = {0}, others = {0};
  sn_arena scratch = sn_arena_new(&s->ctx);
  sn_compare_row *rows = SN_NEW(&s->ctx, &scratch, sn_compare_row, methods);
  json_t *list = json_array();
  sn_compare_job job = {
    .examples = &s->examples, .keys = &keys, .others = &others, .loocv = loocv, .finished = tell_row, .user = list};
  sn_status status = rows ? prepare(s, NULL) : s->ctx.error.status;
  if (status == SN_OK && s->examples.frames.frame_count == 0)
    status = sn_fail(&s->ctx, SN_BAD_INPUT, "methods are compared on frames, and there are none");
  if (status == SN_OK) status = sn_train_keys(&s->ctx, &s->examples, keys_spec, s->seed, &keys, &others);
  for (int m = 0; status == SN_OK && m < methods; m++) status = sn_method_parse(&s->ctx, specs[m], &rows[m].spec);
  if (status == SN_OK) status = sn_job_compare(&s->ctx, &job, rows, methods);
  json_t *result = json_pack("{so}", "methods", list);
  sn_keys_free(&keys);
  sn_keys_free(&others);
  sn_arena_free(&scratch);
  status = sn_session_end(s, status);
  if (status == SN_OK) return sn_session_tell(s, "compare", result);
  json_decref(result);
  return status;
}

sn_status sn_session_vertex_errors(sn_session *s, const void *bytes, size_t size) {
  sn_rt_model model;
  sn_keys all = {0};
  double *errors = SN_NEW(&s->ctx, &s->memory, double, s->examples.rest.vertex_count);
  if (!errors) return s->ctx.error.status;
  sn_status status = sn_model_open(&s->ctx, "model", bytes, size, &model);
  if (status == SN_OK) status = sn_keys_parse(&s->ctx, "all", s->examples.frames.frame_count, 1, &all, NULL);
  if (status == SN_OK) status = sn_assess_vertices(&s->ctx, &model, &s->examples, &all, errors);
  if (status == SN_OK) s->vertex_rms = errors;
  sn_keys_free(&all);
  return sn_session_end(s, status);
}

// ---- files ---------------------------------------------------------------------------------------------------------------------

sn_status sn_session_write_file(sn_session *s, const char *path, const void *bytes, size_t size) {
  sn_writer writer;
  sn_status status = sn_writer_open(&s->ctx, path, &writer);
  if (status != SN_OK) return status;
  sn_write(&writer, bytes, size);
  return sn_writer_commit(&s->ctx, &writer);
}

sn_status sn_session_write_frames(sn_session *s, const char *path, double fps) {
  bool has_mesh = s->examples.rest.triangles; // its faces are written
  sn_status status = has_mesh ? sn_examples_check(&s->ctx, &s->examples) : SN_OK;
  s->examples.frames.rate = fps;
  return status == SN_OK ? sn_frames_write(&s->ctx, path, &s->examples.frames, &s->examples.rest) : status;
}
