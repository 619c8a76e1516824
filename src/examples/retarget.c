// SPDX-License-Identifier: MIT
// Retargets the examples' motion to the model's skeleton: matches joints, reports the match, converts the poses. For the same
// skeleton with another bind pose, re-expresses the poses relative to the model's rest pose.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "examples/load.h"

static sn_status read_map(sn_context *ctx, const char *path, sn_arena *memory, char **out) {
  *out = NULL;
  if (!path) return SN_OK;
  SN_FREED_BY(sn_file_close) sn_file file;
  SN_TRY(sn_file_open(ctx, path, &file));
  *out = SN_NEW(ctx, memory, char, file.size + 1);
  if (*out) memcpy(*out, file.bytes, file.size);
  return *out ? SN_OK : ctx->error.status;
}

// Counts the joints with a match; `report` names those without.
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
  sn_affine *maps; // from our rest matrix of a joint to its match's
} carrying;

// Replaces the examples' skeleton by `ours` and retargets their poses to it.
static sn_status carry_over(sn_context *ctx, sn_skeleton *ours, const carrying *c, sn_examples *examples) {
  sn_skeleton *theirs = &examples->skeleton;
  sn_poses poses;
  SN_TRY(sn_joint_partners(ctx, ours, theirs, c->map_path, c->map, c->partners));
  if (report_partners(ours, c->partners, c->report, c->size) == 0) {
    return sn_fail(ctx, SN_BAD_INPUT,
                   "none of its joints (%s, ...) is one of the model's (%s, ...); give `map` FILE with two names on "
                   "every line: a joint of the model, then one of the clip",
                   theirs->joint_count ? theirs->names[0] : "it has none", ours->names[0]);
  }
  SN_TRY(sn_retarget(ctx, ours, theirs, c->partners, &examples->poses, &poses));
  sn_poses_free(&examples->poses);
  sn_skeleton_free(theirs);
  examples->poses = poses;
  sn_skin_free(&examples->skin); // it belongs to the other skeleton
  examples->skin = (sn_skin){0};
  *theirs = *ours;
  *ours = (sn_skeleton){0};
  return SN_OK;
}

// The same skeleton with another bind pose: converts the poses to our rest pose by the ratio of the rest matrices. That is valid
// only if the ratio takes every joint's children to where they are in their rest pose.
static sn_status rebind(sn_context *ctx, sn_skeleton *ours, const carrying *c, sn_examples *examples) {
  static const double tolerance = 0.01; // relative to the longest bone; radians
  const sn_skeleton *theirs = &examples->skeleton;
  double longest = 0;
  bool in_place = sn_load_between(ours, theirs, c->partners, c->maps);
  for (int j = 0; in_place && j < ours->joint_count; j++) {
    sn_mat3 a = sn_affine_linear(theirs->rest[c->partners[j]]), b = sn_affine_linear(ours->rest[j]), rotation, scale;
    sn_mat3_polar(sn_mat3_mul(a, sn_mat3_transpose(b)), &rotation, &scale);
    if (sn_vec3_length(sn_rotation_log(rotation)) > tolerance)
      snprintf(c->report, c->size,
               "'%s' has another rest rotation than in the model, taken as other axes of the joint; if its bind pose "
               "differs, export the clip with that of the training",
               ours->names[j]);
  }
  if (in_place) return SN_OK;
  for (int pass = 0; pass < 2; pass++)
    for (int j = 0; j < ours->joint_count; j++) {
      int p = ours->parents[j];
      if (p < 0) continue;
      sn_vec3 place = sn_affine_translation(ours->rest[j]), parent = sn_affine_translation(ours->rest[p]);
      sn_vec3 there = sn_affine_translation(theirs->rest[c->partners[j]]);
      if (pass == 0) longest = fmax(longest, sn_vec3_distance(place, parent));
      if (pass == 1 && sn_vec3_distance(sn_affine_apply(c->maps[p], place), there) > tolerance * longest)
        return sn_fail(
          ctx, SN_BAD_INPUT,
          "joint '%s' is not where the model's rest pose has it, and the rest matrix of '%s' does not say "
          "how it got there: export the clip with the bind pose of the training, or give `map` FILE",
          ours->names[j], ours->names[p]);
    }
  for (int f = 0; f < examples->poses.frame_count; f++)
    for (int j = 0; j < ours->joint_count; j++) {
      sn_affine *pose = &sn_pose(&examples->poses, f)[c->partners[j]];
      *pose = sn_affine_mul(*pose, c->maps[j]);
    }
  snprintf(c->report, c->size, "its rest pose is another than the model's; the motion starts from the model's");
  return SN_OK;
}

sn_status sn_examples_retarget(sn_context *ctx, sn_skeleton *ours, const char *map, sn_examples *examples,
                               char *report, size_t size) {
  SN_SCRATCH(scratch, ctx);
  carrying c = {.map_path = map, .report = report, .size = size};
  SN_TRY(read_map(ctx, map, &scratch, &c.map));
  c.partners = SN_NEW(ctx, &scratch, int, ours->joint_count);
  c.maps = SN_NEW(ctx, &scratch, sn_affine, ours->joint_count);
  if (!c.partners || !c.maps) return ctx->error.status;
  bool other = map || !sn_skeletons_match(ours, &examples->skeleton);
  return (other ? carry_over : rebind)(ctx, ours, &c, examples);
}
