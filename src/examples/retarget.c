// SPDX-License-Identifier: MIT
// Motion of another skeleton: partners of the joints, a report of them, and the poses carried over.
#include <stdio.h>
#include <string.h>

#include "sinew/examples.h"

static sn_status read_map(sn_context *ctx, const char *path, sn_arena *memory, char **out) {
  sn_file file;
  *out = NULL;
  if (!path) return SN_OK;
  sn_status status = sn_file_open(ctx, path, &file);
  if (status != SN_OK) return status;
  *out = SN_NEW(ctx, memory, char, file.size + 1);
  if (*out) memcpy(*out, file.bytes, file.size);
  sn_file_close(&file);
  return *out ? SN_OK : ctx->error.status;
}

// How many joints have a partner; `report` names those that have none.
static int report_partners(const sn_skeleton *ours, const int *partners, char *report, size_t size) {
  int found = 0;
  for (int j = 0; j < ours->joint_count; j++) found += partners[j] >= 0;
  size_t used = (size_t)snprintf(report, size, "motion of another skeleton: %d of %d joints are matched", found,
                                 ours->joint_count);
  const char *before = "; these keep their rest rotation: ";
  for (int j = 0; j < ours->joint_count && used + 4 < size; j++) {
    if (partners[j] >= 0) continue;
    used += (size_t)snprintf(report + used, size - used, "%s%s", before, ours->names[j]);
    before = ", ";
  }
  return found;
}

typedef struct carrying {
  const char *map_path;
  char *map, *report;
  size_t size;
  int *partners;
} carrying;

// The examples get `ours` and the poses for it.
static sn_status carry_over(sn_context *ctx, sn_skeleton *ours, const carrying *c, sn_examples *examples) {
  sn_skeleton *theirs = &examples->skeleton;
  sn_poses poses;
  sn_status status = sn_joint_partners(ctx, ours, theirs, c->map_path, c->map, c->partners);
  if (status != SN_OK) return status;
  if (report_partners(ours, c->partners, c->report, c->size) == 0) {
    return sn_fail(ctx, SN_BAD_INPUT,
                   "none of its joints (%s, ...) is one of the model's (%s, ...); give `map` FILE with two names on "
                   "every line: a joint of the model, then one of the clip",
                   theirs->joint_count ? theirs->names[0] : "it has none", ours->names[0]);
  }
  status = sn_retarget(ctx, ours, theirs, c->partners, &examples->poses, &poses);
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

sn_status sn_examples_retarget(sn_context *ctx, sn_skeleton *ours, const char *map, sn_examples *examples,
                               char *report, size_t size) {
  sn_arena scratch = sn_arena_new(ctx);
  carrying c = {.map_path = map, .report = report, .size = size};
  sn_status status = read_map(ctx, map, &scratch, &c.map);
  c.partners = status == SN_OK ? SN_NEW(ctx, &scratch, int, ours->joint_count) : NULL;
  if (status == SN_OK && !c.partners) status = ctx->error.status;
  if (status == SN_OK && (map || !sn_skeletons_alike(ours, &examples->skeleton)))
    status = carry_over(ctx, ours, &c, examples);
  sn_arena_free(&scratch);
  return status;
}
