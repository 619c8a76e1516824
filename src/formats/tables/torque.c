// SPDX-License-Identifier: MIT
// Torque tables: frame,JOINT,JOINT,... and a row per frame. They are tables of values whose names are joints.
#include "formats/tables/values.h"

#include <string.h>

static sn_status take_joint(sn_context *ctx, const sn_values *table, int column, const sn_skeleton *skeleton,
                            sn_torques *out) {
  int joint = 0;
  while (joint < skeleton->joint_count && strcmp(skeleton->names[joint], table->names[column]) != 0) joint++;
  if (joint == skeleton->joint_count)
    return sn_fail(ctx, SN_BAD_FILE, "the skeleton has no joint called '%s'", table->names[column]);
  if (table->rest[column] != 0)
    return sn_fail(ctx, SN_BAD_FILE, "joint '%s' has a torque in the rest pose, which must be 0",
                   table->names[column]);
  out->has[joint] = true;
  for (int f = 0; f < out->frame_count; f++)
    out->values[f * (size_t)out->joint_count + (size_t)joint] =
      table->values[f * (size_t)table->count + (size_t)column];
  return SN_OK;
}

sn_status sn_torques_parse(sn_context *ctx, const char *name, const char *text, size_t size,
                           const sn_skeleton *skeleton, sn_torques *out) {
  SN_FREED_BY(sn_values_free) sn_values table;
  *out = (sn_torques){0};
  SN_TRY(sn_table_parse(ctx, name, text, size, &table));
  *out =
    (sn_torques){.joint_count = skeleton->joint_count, .frame_count = table.frame_count, .memory = sn_arena_new(ctx)};
  out->has = SN_NEW(ctx, &out->memory, bool, skeleton->joint_count);
  out->values = SN_NEW(ctx, &out->memory, double, (size_t)out->frame_count *(size_t)out->joint_count);
  sn_status status = out->has && out->values ? SN_OK : ctx->error.status;
  for (int c = 0; status == SN_OK && c < table.count; c++) status = take_joint(ctx, &table, c, skeleton, out);
  if (status == SN_OK) return SN_OK;
  sn_torques_free(out);
  return sn_fail_prefix(ctx, "%s:1: ", name);
}

sn_status sn_torques_read(sn_context *ctx, const char *path, const sn_skeleton *skeleton, sn_torques *out) {
  *out = (sn_torques){0};
  SN_FREED_BY(sn_file_close) sn_file file;
  SN_TRY(sn_file_open(ctx, path, &file));
  return sn_torques_parse(ctx, path, (const char *)file.bytes, file.size, skeleton, out);
}
