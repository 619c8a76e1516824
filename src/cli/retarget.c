// SPDX-License-Identifier: MIT
// Motion of another skeleton for a model: partners found, told, and the poses carried over.
#include <stdio.h>
#include <string.h>

#include "cli/inputs.h"
#include "sinew/model.h"

static sn_status read_map(cli *c, const char *path, sn_arena *memory, char **out) {
  sn_file file;
  *out = NULL;
  if (!path) return SN_OK;
  sn_status status = sn_file_open(&c->ctx, path, &file);
  if (status != SN_OK) return status;
  *out = SN_NEW(&c->ctx, memory, char, file.size + 1);
  if (*out) memcpy(*out, file.bytes, file.size);
  sn_file_close(&file);
  return *out ? SN_OK : c->ctx.error.status;
}

// How many joints have a partner; those that have none are told.
static int tell_partners(cli *c, const sn_skeleton *ours, const int *partners) {
  char missing[600] = "";
  size_t used = 0;
  int found = 0;
  for (int j = 0; j < ours->joint_count; j++) {
    found += partners[j] >= 0;
    if (partners[j] >= 0 || used + 4 >= sizeof missing) continue;
    int wrote = snprintf(missing + used, sizeof missing - used, "%s%s", used ? ", " : "", ours->names[j]);
    used += wrote > 0 ? (size_t)wrote : 0;
  }
  if (found == 0) return 0;
  sn_cli_say(c, "%s: motion of another skeleton: %d of %d joints have a partner", sn_cli_text(c, "--skeleton"), found,
             ours->joint_count);
  sn_cli_say(c, used ? "; with their parents stay: %s\n" : "\n", missing);
  return found;
}

// The examples get `ours` and the poses for it.
static sn_status carry_over(cli *c, sn_skeleton *ours, const char *map, int *partners, sn_examples *examples) {
  const char *path = sn_cli_text(c, "--skeleton");
  sn_skeleton *theirs = &examples->skeleton;
  sn_poses poses;
  sn_status status = sn_joint_partners(&c->ctx, ours, theirs, sn_cli_text(c, "--map"), map, partners);
  if (status != SN_OK) return status;
  if (tell_partners(c, ours, partners) == 0) {
    return sn_fail(
      &c->ctx, SN_BAD_INPUT,
      "%s: none of its joints (%s, ...) is one of the model's (%s, ...); give --map FILE with two names on "
      "every line: a joint of the model, then one of the clip",
      path, theirs->joint_count ? theirs->names[0] : "it has none", ours->names[0]);
  }
  status = sn_retarget(&c->ctx, ours, theirs, partners, &examples->poses, &poses);
  if (status != SN_OK) return status;
  sn_poses_free(&examples->poses);
  sn_skeleton_free(theirs);
  examples->poses = poses;
  sn_skin_free(&examples->skin); // of the other skeleton
  examples->skin = (sn_skin){0};
  *theirs = *ours;
  *ours = (sn_skeleton){0};
  return SN_OK;
}

sn_status sn_cli_retarget(cli *c, const sn_rt_model *model, sn_examples *examples) {
  sn_skeleton ours = {0};
  if (model->info.joint_count == 0 || examples->poses.joint_count == 0) return SN_OK;
  sn_arena scratch = sn_arena_new(&c->ctx);
  char *map = NULL;
  sn_status status = sn_model_skeleton(&c->ctx, model, &ours);
  if (status == SN_OK) status = read_map(c, sn_cli_text(c, "--map"), &scratch, &map);
  int *partners = status == SN_OK ? SN_NEW(&c->ctx, &scratch, int, ours.joint_count) : NULL;
  if (status == SN_OK && !partners) status = c->ctx.error.status;
  if (status == SN_OK && (map || !sn_skeletons_alike(&ours, &examples->skeleton))) {
    status = carry_over(c, &ours, map, partners, examples);
  }
  sn_skeleton_free(&ours);
  sn_arena_free(&scratch);
  return status;
}
