// SPDX-License-Identifier: MIT
// Locks as in Dem Bones: joints with the attribute demLock keep their motion; vertices keep their weights in proportion to how
// white their colour is.
#include "formats/gltf/gltf.h"

bool sn_gltf_locked_joints(const sn_gltf *gltf, bool *out) {
  bool any = false;
  const json_t *nodes = json_object_get(gltf->json, "nodes");
  for (int j = 0; j < gltf->joint_count; j++) {
    const json_t *node = json_array_get(nodes, (size_t)gltf->joints[j].node);
    const json_t *lock = json_object_get(json_object_get(node, "extras"), "demLock");
    out[j] = json_is_true(lock) || (json_is_number(lock) && json_number_value(lock) != 0);
    any = any || out[j];
  }
  return any;
}

static bool part_whiteness(sn_reader *r, const sn_gltf *gltf, const gltf_part *part, float *out) {
  gltf_object o = sn_gltf_primitive(r, gltf, &part->range);
  int accessor = sn_gltf_attribute(&o, gltf, "COLOR_0");
  if (accessor < 0) return false;
  size_t width = gltf->accessors[accessor].width == 4 ? 4 : 3;
  SN_SCRATCH(scratch, r->ctx);
  float *colours = SN_TAKE(r, &scratch, float, width *(size_t)part->range.vertex_count);
  if (colours) sn_gltf_part_floats(&o, gltf, part, "COLOR_0", (int)width, colours);
  for (int i = 0; r->status == SN_OK && i < part->range.vertex_count; i++) {
    const float *c = colours + width * (size_t)i;
    out[part->range.first_vertex + i] = fminf(fmaxf((c[0] + c[1] + c[2]) / 3, 0), 1);
  }
  return true;
}

sn_status sn_gltf_whiteness(sn_context *ctx, const sn_gltf *gltf, sn_arena *memory, float **out) {
  bool has = false;
  sn_reader r = {ctx, SN_OK};
  *out = SN_TAKE(&r, memory, float, gltf->vertex_count);
  for (int k = 0; k < gltf->part_count && r.status == SN_OK; k++)
    has = part_whiteness(&r, gltf, &gltf->parts[k], *out) || has;
  if (!has) *out = NULL;
  return r.status;
}
