// SPDX-License-Identifier: MIT
// The runtime behind a handle. Vertices are in the rest file's order: a renumbered model is converted when it is opened.
#include "session/internal.h"

#include <stdio.h>
#include <stdlib.h>

sn_evaluator *sn_evaluator_new(const void *bytes, size_t size, char *message, size_t message_size) {
  sn_rt_error error;
  sn_context ctx = sn_context_default();
  sn_evaluator *e = calloc(1, sizeof *e);
  if (!e) return snprintf(message, message_size, "out of memory"), NULL;
  e->size = size;
  bool good = sn_rt_open(bytes, size, &e->model, &error) == SN_RT_OK;
  if (!good) snprintf(message, message_size, "%s", error.message);
  if (good && sn_rt_get_order(&e->model, NULL)) {
    good = sn_model_open_as_file(&ctx, "model", &e->model, &e->as_file, &e->model) == SN_OK;
    if (!good) snprintf(message, message_size, "%s", ctx.error.message);
  }
  if (good) return e;
  sn_evaluator_free(e);
  return NULL;
}

void sn_evaluator_free(sn_evaluator *e) {
  if (e) sn_model_free(&e->as_file);
  free(e);
}

size_t sn_evaluator_scratch(const sn_evaluator *e) { return sn_rt_scratch_size(&e->model); }
size_t sn_evaluator_state(const sn_evaluator *e) { return sn_rt_state_size(&e->model); }

static json_t *describe_joints(const sn_rt_model *model) {
  json_t *joints = json_array();
  for (uint32_t j = 0; j < model->info.joint_count; j++) {
    json_t *joint = json_object();
    sn_report_add(joint, "name:s parent:i", sn_rt_joint_name(model, j), sn_rt_joint_parent(model, j));
    json_array_append_new(joints, joint);
  }
  return joints;
}

static json_t *describe_values(const sn_rt_model *model) {
  json_t *names = json_array();
  for (uint32_t v = 0; v < model->info.value_count; v++)
    json_array_append_new(names, sn_report_text(sn_rt_value_name(model, v)));
  return names;
}

char *sn_evaluator_describe(const sn_evaluator *e) {
  const sn_rt_info *info = &e->model.info;
  json_t *out = json_object();
  sn_report_add(out,
                "drive:s correct:s blend:s shade:s vertices:i triangles:i controls:i torques:i palette:i "
                "influences:i tangents:b bytes:I flops:I path:s joints:o values:o",
                sn_rt_drive_name(info->drive), sn_rt_correct_name(info->correct), sn_rt_blend_name(info->blend),
                sn_rt_shade_name(info->shade), info->vertex_count, info->triangle_count, info->control_count,
                info->torque_count, info->palette_count, info->max_influences, info->tangents, (json_int_t)e->size,
                (json_int_t)info->flops, sn_rt_path_name(sn_rt_get_path(&e->model)), describe_joints(&e->model),
                describe_values(&e->model));
  return sn_session_text(out);
}

static int answer(sn_rt_status status, const sn_rt_error *error, char *message) {
  if (status != SN_RT_OK) snprintf(message, sizeof error->message, "%s", error->message);
  return (int)status;
}

static sn_rt_input input_of(const sn_evaluator_call *call) {
  return (sn_rt_input){.joints = (const float(*)[12])call->joints,
                       .controls = (const float(*)[3])call->controls,
                       .torques = call->torques,
                       .values = call->values,
                       .state = call->state};
}

int sn_evaluator_run(sn_evaluator_call *call) {
  sn_rt_error error;
  sn_rt_input input = input_of(call);
  sn_rt_output output = {.positions = call->positions,
                         .position_stride = call->position_stride,
                         .normals = call->normals,
                         .normal_stride = call->normal_stride,
                         .tangents = call->tangents,
                         .tangent_stride = call->tangent_stride};
  sn_rt_status status = sn_rt_evaluate(&call->evaluator->model, &input, call->scratch, &output, &error);
  return answer(status, &error, call->message);
}

double sn_evaluator_time(sn_evaluator_call *call, int repeats) {
  double best = 1e30;
  for (int r = 0; r < repeats; r++) {
    double start = sn_seconds();
    if (sn_evaluator_run(call) != 0) return -1;
    double took = sn_seconds() - start;
    best = took < best ? took : best;
  }
  return best;
}

int sn_evaluator_palette(sn_evaluator_call *call, float *out) {
  const sn_rt_model *model = &call->evaluator->model;
  sn_rt_error error;
  sn_rt_input input = input_of(call);
  sn_rt_status status = sn_rt_palette(model, &input, call->scratch, &error);
  for (uint32_t k = 0; status == SN_RT_OK && k < model->info.palette_count; k++)
    sn_rt_palette_matrix(model, call->scratch, k, out + 12 * (size_t)k);
  return answer(status, &error, call->message);
}

int sn_evaluator_weights(const sn_evaluator *e, uint16_t *joints, float *weights, uint32_t influences,
                         char *message) {
  sn_rt_error error;
  sn_rt_rest rest = {.joints = joints, .weights = weights, .influences = influences};
  return answer(sn_rt_get_rest(&e->model, &rest, &error), &error, message);
}

int sn_evaluator_bind(const sn_evaluator *e, const float *bind, float *to_rest, char *message) {
  sn_rt_error error;
  return answer(sn_rt_bind(&e->model, (const float(*)[12])bind, (float(*)[12])to_rest, NULL, &error), &error,
                message);
}

sn_status sn_session_retarget(sn_session *s, const sn_evaluator *e) {
  return sn_inputs_retarget(&s->ctx, &s->inputs, &e->model, &s->examples);
}

sn_status sn_session_read_model_mesh(sn_session *s, const sn_evaluator *e) {
  return sn_model_mesh(&s->ctx, &e->model, &s->examples.rest);
}

sn_status sn_session_read_model_skeleton(sn_session *s, const sn_evaluator *e) {
  return sn_model_skeleton(&s->ctx, &e->model, &s->examples.skeleton);
}
