// SPDX-License-Identifier: MIT
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

void sn_cli_close_model(cli_model *model) { sn_file_close(&model->file); }

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
  return out;
}

void sn_cli_spec_name(const char *spec, char *out, size_t size) {
  snprintf(out, size, "%s", spec);
  for (char *at = out; (at = strpbrk(at, ":,/\\ ")) != NULL;) *at = '-';
}
