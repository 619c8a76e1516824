// SPDX-License-Identifier: MIT
// A model's description, copied: what the trainer gave is gone by the time corrections come.
#include <string.h>

#include "model/correct.h"

typedef struct kept_desc {
  sn_model_desc desc;
  sn_mesh rest;
  sn_skin skin;
  sn_skeleton skeleton;
} kept_desc;

typedef struct copier {
  sn_context *ctx;
  sn_arena *memory;
  bool failed;
} copier;

static void *copy(copier *c, const void *from, size_t count, size_t size) {
  if (!from || count == 0) return NULL;
  void *to = sn_arena_alloc(c->ctx, c->memory, count, size);
  if (to) memcpy(to, from, count * size);
  c->failed |= !to;
  return to;
}

static char **copy_names(copier *c, const char *const *from, int count) {
  char **to = copy(c, from, (size_t)count, sizeof *to);
  for (int n = 0; to && n < count; n++) to[n] = copy(c, from[n], strlen(from[n]) + 1, 1);
  return to;
}

static void copy_skeleton(copier *c, const sn_skeleton *from, sn_skeleton *to) {
  size_t joint_count = (size_t)from->joint_count;
  *to = (sn_skeleton){.joint_count = from->joint_count};
  to->parents = copy(c, from->parents, joint_count, sizeof *to->parents);
  to->rest = copy(c, from->rest, joint_count, sizeof *to->rest);
  to->names = copy_names(c, (const char *const *)from->names, from->joint_count);
}

static const sn_model_section *copy_sections(copier *c, const sn_model_section *from, int count) {
  sn_model_section *to = copy(c, from, (size_t)count, sizeof *to);
  for (int s = 0; to && s < count; s++) {
    to[s].name = copy(c, from[s].name, strlen(from[s].name) + 1, 1);
    to[s].bytes = copy(c, from[s].bytes, from[s].size, 1);
  }
  return to;
}

sn_status sn_model_keep_desc(sn_context *ctx, const sn_model_desc *desc, sn_model *model) {
  copier c = {.ctx = ctx, .memory = &model->memory};
  kept_desc *kept = SN_NEW(ctx, &model->memory, kept_desc, 1);
  if (!kept) return ctx->error.status;
  size_t vertices = (size_t)desc->rest->vertex_count, influences = vertices * (size_t)desc->skin->influences;
  kept->desc = *desc;
  kept->rest = (sn_mesh){.vertex_count = desc->rest->vertex_count, .triangle_count = desc->rest->triangle_count};
  kept->rest.positions = copy(&c, desc->rest->positions, vertices, sizeof *kept->rest.positions);
  kept->rest.triangles =
    copy(&c, desc->rest->triangles, (size_t)desc->rest->triangle_count, sizeof *kept->rest.triangles);
  kept->skin = (sn_skin){.vertex_count = desc->skin->vertex_count, .influences = desc->skin->influences};
  kept->skin.joints = copy(&c, desc->skin->joints, influences, sizeof *kept->skin.joints);
  kept->skin.weights = copy(&c, desc->skin->weights, influences, sizeof *kept->skin.weights);
  if (desc->skeleton) copy_skeleton(&c, desc->skeleton, &kept->skeleton);
  kept->desc.rest = &kept->rest, kept->desc.skin = &kept->skin;
  kept->desc.skeleton = desc->skeleton ? &kept->skeleton : NULL;
  kept->desc.normals = copy(&c, desc->normals, vertices, sizeof *desc->normals);
  kept->desc.smooth_of = copy(&c, desc->smooth_of, vertices, sizeof *desc->smooth_of);
  kept->desc.place_of = copy(&c, desc->place_of, vertices, sizeof *desc->place_of);
  kept->desc.centres = copy(&c, desc->centres, vertices, sizeof *desc->centres);
  kept->desc.extra = copy(&c, desc->extra, (size_t)desc->extra_count, sizeof *desc->extra);
  kept->desc.value_names = (const char *const *)copy_names(&c, desc->value_names, desc->value_count);
  kept->desc.value_ranges = copy(&c, desc->value_ranges, (size_t)desc->value_count, sizeof *desc->value_ranges);
  kept->desc.sections = copy_sections(&c, desc->sections, desc->section_count);
  model->desc = &kept->desc;
  return c.failed ? ctx->error.status : SN_OK;
}
