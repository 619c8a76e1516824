// SPDX-License-Identifier: MIT
// Models as commands open them, and what they say of poses beyond the trained range.
#include "cli/models.h"

#include <stdio.h>
#include <string.h>

int sn_cli_open_model(cli *c, const char *path, cli_model *out) {
  *out = (cli_model){0};
  if (sn_file_open(&c->ctx, path, &out->file) != SN_OK) return sn_cli_fail(c);
  if (sn_model_open(&c->ctx, path, out->file.bytes, out->file.size, &out->model) != SN_OK) {
    sn_file_close(&out->file);
    return sn_cli_fail(c);
  }
  return exit_done;
}

int sn_cli_open_as_file(cli *c, const char *path, cli_model *out) {
  int result = sn_cli_open_model(c, path, out);
  if (result != exit_done || !sn_rt_get_order(&out->model, NULL)) return result;
  sn_rt_model renumbered = out->model;
  if (sn_model_open_as_file(&c->ctx, path, &renumbered, &out->as_file, &out->model) == SN_OK) return exit_done;
  sn_cli_close_model(out);
  return sn_cli_fail(c);
}

void sn_cli_close_model(cli_model *model) {
  sn_model_free(&model->as_file);
  sn_file_close(&model->file);
}

json_t *sn_cli_note_clamped(const cli *c, const char *name, const sn_rt_model *model, const sn_examples *examples) {
  json_t *out = json_object();
  for (uint32_t j = 0; j < model->info.torque_count; j++) {
    int count = sn_assess_clamped(model, examples, j);
    float range[2];
    if (count == 0 || !sn_rt_torque_range(model, j, range)) continue;
    sn_cli_say(
      c,
      "note: %s: the torque of %s is outside %g to %g, the range of the training, at %d of %d frames; there the "
      "nearest torque within is used\n",
      name, sn_rt_joint_name(model, j), (double)range[0], (double)range[1], count, examples->torques.frame_count);
    sn_report_put(out, sn_rt_joint_name(model, j), json_integer(count));
  }
  for (uint32_t v = 0; v < model->info.value_count; v++) {
    int count = sn_assess_values_clamped(model, examples, v);
    float range[2];
    if (count == 0 || !sn_rt_value_range(model, v, range)) continue;
    sn_cli_say(c,
               "note: %s: the value %s is outside %g to %g, the range of the training, at %d of %d frames; there the "
               "nearest value within is used\n",
               name, sn_rt_value_name(model, v), (double)range[0], (double)range[1], count,
               examples->values.frame_count);
    sn_report_put(out, sn_rt_value_name(model, v), json_integer(count));
  }
  return out;
}

// A turn of less says nothing.
static const double least_outside = 1; // degrees

// "3-9, 20": the frames where a joint is outside, and into `list` each of them.
static int list_frames(const double *degrees, int frames, int stride, char *text, size_t size, json_t *list) {
  int count = 0;
  size_t used = 0;
  text[0] = '\0';
  for (int f = 0; f < frames; f++) {
    if (!(degrees[(size_t)f * (size_t)stride] > least_outside)) continue;
    int last = f;
    while (last + 1 < frames && degrees[(size_t)(last + 1) * (size_t)stride] > least_outside) last++;
    for (int n = f; n <= last; n++) json_array_append_new(list, json_integer(n)), count++;
    if (used < size) used += (size_t)snprintf(text + used, size - used, used ? ", %d" : "%d", f);
    if (used < size && last > f) used += (size_t)snprintf(text + used, size - used, "-%d", last);
    f = last;
  }
  if (used >= size) memcpy(text + size - 4, "...", 4);
  return count;
}

json_t *sn_cli_note_outside(cli *c, const sn_rt_model *model, const sn_examples *examples) {
  sn_arena scratch = sn_arena_new(&c->ctx);
  double *degrees;
  sn_status status = sn_assess_outside(&c->ctx, model, examples, &scratch, &degrees);
  int frames = examples->poses.frame_count, joint_count = (int)model->info.joint_count;
  json_t *out = status == SN_OK ? json_object() : NULL;
  for (int j = 0; out && degrees && j < joint_count; j++) {
    json_t *list = json_array();
    char text[200];
    int worst = 0, count = list_frames(degrees + j, frames, joint_count, text, sizeof text, list);
    for (int f = 1; f < frames; f++)
      if (degrees[f * joint_count + j] > degrees[worst * joint_count + j]) worst = f;
    double most = degrees[worst * joint_count + j];
    const char *name = sn_rt_joint_name(model, (uint32_t)j);
    if (count == 0) {
      json_decref(list);
      continue;
    }
    sn_cli_say(
      c, "note: %s leaves the range of the training at %d of %d frames (%s), by up to %.1f degrees at frame %d\n",
      name, count, frames, text, most, worst);
    sn_report_put(out, name, json_pack("{so, sf, si}", "frames", list, "degrees", most, "worst", worst));
  }
  sn_arena_free(&scratch);
  return out;
}

void sn_cli_spec_name(const char *spec, char *out, size_t size) {
  snprintf(out, size, "%s", spec);
  for (char *at = out; (at = strpbrk(at, ":,/\\ ")) != NULL;) *at = '-';
}
