// SPDX-License-Identifier: MIT
// Names the morph targets of the scene's mesh nodes, in node order.
#include "formats/gltf/gltf.h"

// extras.targetNames of the mesh, the exporters' convention; else the target's number.
static const char *target_name(sn_gltf *gltf, const gltf_node *node, int target) {
  const json_t *mesh = json_array_get(json_object_get(gltf->json, "meshes"), (size_t)node->mesh);
  const json_t *names = json_object_get(json_object_get(mesh, "extras"), "targetNames");
  const char *name = json_string_value(json_array_get(names, (size_t)target));
  if (name && *name) return name;
  char text[32];
  snprintf(text, sizeof text, "target%d", target);
  return sn_arena_text(gltf->reader.ctx, &gltf->memory, text);
}

// "smile", or "teeth.smile" if another node has a "smile".
static void add_targets(sn_gltf *gltf, int node, json_t *seen) {
  const char *owner = gltf->nodes[node].name;
  for (int k = 0; k < gltf->nodes[node].weight_count && gltf->reader.status == SN_OK; k++) {
    char other[512];
    const char *name = target_name(gltf, &gltf->nodes[node], k);
    snprintf(other, sizeof other, "%.200s.%.200s", owner && *owner ? owner : "node", name ? name : "");
    name = name ? sn_gltf_claim_name(gltf, seen, name, other) : NULL;
    if (!name) gltf->reader.status = gltf->reader.ctx->error.status;
    gltf->morphs[gltf->morph_count++] = (gltf_morph){node, k, name};
  }
}

void sn_gltf_load_morphs(sn_gltf *gltf) {
  sn_reader *r = &gltf->reader;
  size_t total = 0;
  for (int k = 0; k < gltf->node_count && r->status == SN_OK; k++) total += (size_t)gltf->nodes[k].weight_count;
  sn_gltf_spend(gltf, total, sizeof *gltf->morphs + 64);
  gltf->morphs = SN_TAKE(r, &gltf->memory, gltf_morph, total);
  json_auto_t *seen = json_object();
  if (!seen) sn_fail_once(r, SN_NO_MEMORY, "out of memory while naming morph targets");
  for (int k = 0; k < gltf->node_count && r->status == SN_OK; k++) add_targets(gltf, k, seen);
}

int sn_gltf_morph_count(const sn_gltf *gltf) { return gltf->morph_count; }

const char *sn_gltf_morph_name(const sn_gltf *gltf, int morph) {
  return morph >= 0 && morph < gltf->morph_count ? gltf->morphs[morph].name : "";
}
