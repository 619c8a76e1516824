// SPDX-License-Identifier: MIT
// The session's inputs and outputs; the jobs are in solve.c.
#include "base/scope.h"
#include "formats/common/adjust.h"
#include "session/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool remember_progress(void *user, const char *task, double done) {
  sn_session *s = user;
  pthread_mutex_lock(&s->lock);
  snprintf(s->task, sizeof s->task, "%s", task);
  s->done = done;
  pthread_mutex_unlock(&s->lock);
  return true;
}

double sn_session_progress(sn_session *s, char *task) {
  pthread_mutex_lock(&s->lock);
  memcpy(task, s->task, sizeof s->task);
  double done = s->done;
  pthread_mutex_unlock(&s->lock);
  return done;
}

sn_session *sn_session_new(void) {
  sn_session *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  pthread_mutex_init(&s->lock, NULL);
  s->ctx = sn_context_default();
  s->ctx.progress = remember_progress, s->ctx.progress_user = s;
  s->inputs.keys = "all", s->inputs.seed = 1;
  s->memory = sn_arena_new(&s->ctx);
  s->examples.memory = sn_arena_new(&s->ctx);
  return s;
}

void sn_session_free(sn_session *s) {
  if (!s) return;
  sn_examples_free(&s->examples);
  sn_keys_free(&s->keys);
  sn_model_free(&s->model);
  sn_rig_done_free(&s->rig);
  sn_arena_free(&s->memory);
  free(s->report);
  pthread_mutex_destroy(&s->lock);
  free(s);
}

void sn_session_run_with(sn_session *s, int threads, uint64_t seed, const int *stop) {
  s->ctx.threads = threads;
  s->inputs.seed = seed;
  s->ctx.stop = stop;
}

const char *sn_session_message(const sn_session *s) { return s->ctx.error.message; }
const char *sn_session_report(const sn_session *s) { return s->report ? s->report : ""; }

sn_status sn_session_end(sn_session *s, sn_status status) {
  return sn_stopped(&s->ctx) ? sn_fail(&s->ctx, SN_STOPPED, "stopped") : status;
}

char *sn_session_text(json_t *root) {
  char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
  json_decref(root);
  return text;
}

sn_status sn_session_tell(sn_session *s, const char *command, json_t *result) {
  json_t *root = json_object();
  sn_report_add(root, "command:s version:s input:o result:o", command, SN_VERSION, sn_report_examples(&s->examples),
                result);
  free(s->report);
  s->report = sn_session_text(root);
  return s->report ? SN_OK : sn_fail(&s->ctx, SN_NO_MEMORY, "out of memory for the report");
}

// ---- files -----------------------------------------------------------------------------------------------------------

sn_status sn_session_option(sn_session *s, const char *name, const char *text) {
  const char *copy = sn_arena_text(&s->ctx, &s->memory, text);
  return copy ? sn_inputs_add(&s->ctx, &s->inputs, name, copy) : s->ctx.error.status;
}

sn_status sn_session_load_files(sn_session *s, bool still) {
  s->inputs.load.still_skeleton = still;
  return sn_inputs_load(&s->ctx, &s->inputs, &s->examples);
}

// ---- single files --------------------------------------------------------------------------------------------------------

sn_status sn_session_read_mesh(sn_session *s, const char *path) {
  sn_choice choice = sn_inputs_choice(&s->inputs, SN_FILE_REST);
  if (!sn_is_document(path)) return sn_mesh_read(&s->ctx, path, &choice, &s->examples.rest, NULL);
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf;
  float(*normals)[3] = NULL;
  SN_TRY(sn_gltf_read(&s->ctx, path, &gltf));
  sn_status status = sn_gltf_mesh(&s->ctx, gltf, &s->examples.rest);
  if (status == SN_OK) status = sn_gltf_normals(&s->ctx, gltf, &s->memory, &normals);
  if (status != SN_OK) return sn_fail_prefix(&s->ctx, "%s: ", path);
  sn_adjust_rig(&choice.adjust, &s->examples.rest, NULL);
  sn_adjust_directions(&choice.adjust, (float *)normals, 3, s->examples.rest.vertex_count);
  s->normals = (const float(*)[3])normals;
  s->split = true;
  return SN_OK;
}

sn_status sn_session_read_frames(sn_session *s, const char *path) {
  sn_choice choice = sn_inputs_choice(&s->inputs, SN_FILE_FRAMES);
  return sn_frames_read(&s->ctx, path, &choice, &s->examples.frames);
}

// The skeleton, its skin and mesh, and its poses.
static sn_status read_rig(sn_session *s, const sn_gltf *gltf, const sn_choice *choice, bool still) {
  sn_examples *e = &s->examples;
  int index = 0;
  SN_TRY(sn_gltf_skeleton(&s->ctx, gltf, &e->skeleton, &e->skin));
  s->split = s->split || e->skin.vertex_count > 0;
  if (e->skin.vertex_count > 0) SN_TRY(sn_gltf_mesh(&s->ctx, gltf, &e->rest));
  if (still || (!choice->clip && sn_gltf_clip_count(gltf) == 0))
    return sn_poses_new(&s->ctx, e->skeleton.joint_count, 0, &e->poses);
  SN_TRY(sn_gltf_find_clip(&s->ctx, gltf, choice->clip, &index));
  return sn_gltf_poses(&s->ctx, gltf, index, choice, -1, &e->poses);
}

sn_status sn_session_read_skeleton(sn_session *s, const char *path, bool still) {
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf = NULL;
  sn_choice choice = sn_inputs_choice(&s->inputs, SN_FILE_SKELETON);
  choice.fps = sn_load_rate(&s->inputs.load, &s->examples.frames);
  if (!sn_is_document(path))
    return sn_fail(&s->ctx, SN_BAD_INPUT, "%s: not a file with joints; those are .glb, .gltf, .fbx and the like",
                   path);
  SN_TRY(sn_gltf_read(&s->ctx, path, &gltf));
  if (read_rig(s, gltf, &choice, still) != SN_OK) return sn_fail_prefix(&s->ctx, "%s: ", path);
  sn_adjust_rig(&choice.adjust, &s->examples.rest, &s->examples.skeleton);
  return SN_OK;
}

// ---- arrays in -------------------------------------------------------------------------------------------------------------

void sn_session_give_mesh(sn_session *s, const sn_session_mesh *mesh) {
  s->examples.rest = (sn_mesh){.vertex_count = mesh->vertices,
                               .triangle_count = mesh->triangles,
                               .positions = (float(*)[3])mesh->positions,
                               .triangles = (int(*)[3])mesh->corners};
  s->split = mesh->split;
  s->normals = (const float(*)[3])mesh->normals;
}

sn_status sn_session_give_frames(sn_session *s, const sn_session_frames *given) {
  sn_examples *e = &s->examples;
  int clips = given->clips;
  e->frames = (sn_frames){
    .vertex_count = given->vertices, .frame_count = given->frames, .positions = (const float(*)[3])given->positions};
  e->clip_start = SN_NEW(&s->ctx, &e->memory, int, clips + 1);
  if (!e->clip_start) return s->ctx.error.status;
  memcpy(e->clip_start, given->clip_start, (size_t)(clips + 1) * sizeof *e->clip_start);
  e->clip_count = clips;
  e->test_frame_count = given->frames - e->clip_start[clips - given->test_clips];
  return SN_OK;
}

sn_status sn_session_give_skeleton(sn_session *s, const sn_session_skeleton *given) {
  sn_examples *e = &s->examples;
  SN_TRY(sn_skeleton_new(&s->ctx, given->joints, &e->skeleton));
  for (int j = 0; j < given->joints; j++) {
    e->skeleton.names[j] = sn_arena_text(&s->ctx, &e->skeleton.memory, given->names[j]);
    if (!e->skeleton.names[j]) return s->ctx.error.status;
    e->skeleton.parents[j] = given->parents[j];
    memcpy(e->skeleton.rest[j].m, given->rest + 12 * (size_t)j, sizeof e->skeleton.rest[j].m);
  }
  SN_TRY(sn_skeleton_sort(&s->ctx, &e->skeleton));
  if (given->frames > 0)
    e->poses =
      (sn_poses){.joint_count = given->joints, .frame_count = given->frames, .matrices = (sn_affine *)given->poses};
  return SN_OK;
}

void sn_session_give_skin(sn_session *s, int vertices, int influences, const uint16_t *joints, const float *weights) {
  s->examples.skin = (sn_skin){
    .vertex_count = vertices, .influences = influences, .joints = (uint16_t *)joints, .weights = (float *)weights};
}

void sn_session_give_torques(sn_session *s, int frames, const double *values, const bool *has) {
  s->examples.torques = (sn_torques){.joint_count = s->examples.skeleton.joint_count,
                                     .frame_count = frames,
                                     .values = (double *)values,
                                     .has = (bool *)has};
}

sn_status sn_session_give_values(sn_session *s, int count, const char *const *names, int frames, const double *values,
                                 const double *rest) {
  sn_values *v = &s->examples.values;
  SN_TRY(sn_values_new(&s->ctx, count, frames, v));
  for (int k = 0; k < count; k++) {
    v->names[k] = sn_arena_text(&s->ctx, &v->memory, names[k]);
    if (!v->names[k]) return s->ctx.error.status;
    v->rest[k] = rest[k];
  }
  if (count > 0) memcpy(v->values, values, (size_t)frames * (size_t)count * sizeof *values);
  return SN_OK;
}

sn_status sn_session_give_controls(sn_session *s, int count, const int *vertices, int target) {
  sn_examples *e = &s->examples;
  e->controls = SN_NEW(&s->ctx, &e->memory, int, count);
  if (!e->controls) return s->ctx.error.status;
  for (int k = 0; k < count; k++) e->controls[k] = vertices[k];
  e->control_count = count;
  e->control_target = target;
  return SN_OK;
}

sn_status sn_session_load_given(sn_session *s) {
  SN_TRY(sn_examples_check(&s->ctx, &s->examples)); // welding trusts the counts
  return s->split ? sn_load_weld(&s->ctx, s->normals, &s->examples) : SN_OK;
}

// ---- arrays out ----------------------------------------------------------------------------------------------------------------

typedef struct named_array {
  const char *name;
  const void *data;
  char kind;
  int64_t shape[4]; // -1: no more dimensions
} named_array;

bool sn_session_get(const sn_session *s, const char *name, sn_session_array *out) {
  const sn_examples *e = &s->examples;
  bool rigged = s->rig.rig.skeleton.joint_count > 0;
  const sn_skeleton *skeleton = rigged ? &s->rig.rig.skeleton : &e->skeleton;
  const sn_poses *poses = rigged ? &s->rig.rig.poses : &e->poses;
  const sn_skin *skin = rigged ? &s->rig.rig.skin : &e->skin;
  const double *vertex_rms = s->vertex_rms ? s->vertex_rms : s->rig.figures.vertex_rms;
  const double *frame_rms = s->frame_rms ? s->frame_rms : s->rig.figures.frame_rms;
  const sn_model *model = s->rig.model.bytes ? &s->rig.model : &s->model;
  const named_array arrays[] = {
    {"positions", e->rest.positions, 'f', {e->rest.vertex_count, 3, -1}},
    {"triangles", e->rest.triangles, 'i', {e->rest.triangle_count, 3, -1}},
    {"normals", s->normals, 'f', {e->rest.vertex_count, 3, -1}},
    {"frames", e->frames.positions, 'f', {e->frames.frame_count, e->frames.vertex_count, 3, -1}},
    {"source", e->source, 'i', {e->source_count, -1}},
    {"parents", skeleton->parents, 'i', {skeleton->joint_count, -1}},
    {"rest", skeleton->rest, 'd', {skeleton->joint_count, 3, 4, -1}},
    {"poses", poses->matrices, 'd', {poses->frame_count, poses->joint_count, 3, 4}},
    {"joints", skin->joints, 'H', {skin->vertex_count, skin->influences, -1}},
    {"weights", skin->weights, 'f', {skin->vertex_count, skin->influences, -1}},
    {"keys", s->keys.frames, 'i', {s->keys.count, -1}},
    {"model", model->bytes, 'B', {(int64_t)model->size, -1}},
    {"frame_rms", frame_rms, 'd', {e->frames.frame_count, -1}},
    {"vertex_rms", vertex_rms, 'd', {e->rest.vertex_count, -1}}};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
    if (strcmp(arrays[k].name, name) != 0 || !arrays[k].data) continue;
    *out = (sn_session_array){.data = arrays[k].data, .kind = arrays[k].kind};
    while (out->dimensions < 4 && arrays[k].shape[out->dimensions] >= 0) {
      out->shape[out->dimensions] = arrays[k].shape[out->dimensions];
      out->dimensions++;
    }
    return true;
  }
  return false;
}

const char *sn_session_joint_name(const sn_session *s, int joint) {
  const sn_skeleton *skeleton = s->rig.rig.skeleton.joint_count > 0 ? &s->rig.rig.skeleton : &s->examples.skeleton;
  return joint >= 0 && joint < skeleton->joint_count ? skeleton->names[joint] : NULL;
}

double sn_session_rate(const sn_session *s) { return s->examples.frames.rate; }
bool sn_session_is_split(const sn_session *s) { return s->split; }
void sn_session_text_free(char *text) { free(text); }

char *sn_session_describe_methods(void) { return sn_session_text(sn_report_methods()); }
