// SPDX-License-Identifier: MIT
// Morph targets by name: those of every mesh node of the scene, in the order of nodes.
#include "formats/gltf/gltf.h"

#include <string.h>

// extras.targetNames of the mesh, as exporters write them; else the target's number.
static const char *target_name(sn_context *ctx, sn_gltf *gltf, const gltf_node *node, int target) {
  const json_t *mesh = json_array_get(json_object_get(gltf->json, "meshes"), (size_t)node->mesh);
  const json_t *names = json_object_get(json_object_get(mesh, "extras"), "targetNames");
  const char *name = json_string_value(json_array_get(names, (size_t)target));
  if (name && *name) return name;
  char text[32];
  snprintf(text, sizeof text, "target%d", target);
  return sn_arena_text(ctx, &gltf->memory, text);
}

// "smile", or "teeth.smile" where another node has a smile too.
static sn_status add_targets(sn_context *ctx, sn_gltf *gltf, int node, json_t *seen) {
  const char *owner = gltf->nodes[node].name;
  for (int k = 0; k < gltf->nodes[node].weight_count; k++) {
    char other[512];
    const char *name = target_name(ctx, gltf, &gltf->nodes[node], k);
    if (!name) return ctx->error.status;
    snprintf(other, sizeof other, "%.200s.%.200s", owner && *owner ? owner : "node", name);
    name = sn_gltf_claim_name(ctx, gltf, seen, name, other);
    if (!name) return ctx->error.status;
    gltf->morphs[gltf->morph_count++] = (gltf_morph){node, k, name};
  }
  return SN_OK;
}

sn_status sn_gltf_load_morphs(sn_context *ctx, sn_gltf *gltf) {
  size_t total = 0;
  for (int k = 0; k < gltf->node_count; k++) total += (size_t)gltf->nodes[k].weight_count;
  sn_status status = sn_gltf_spend(ctx, gltf, total, sizeof *gltf->morphs + 64);
  gltf->morphs = status == SN_OK ? SN_NEW(ctx, &gltf->memory, gltf_morph, total) : NULL;
  json_t *seen = json_object();
  if (!seen) status = sn_fail(ctx, SN_NO_MEMORY, "out of memory while naming morph targets");
  if (!gltf->morphs) status = ctx->error.status;
  for (int k = 0; k < gltf->node_count && status == SN_OK; k++) status = add_targets(ctx, gltf, k, seen);
  json_decref(seen);
  return status;
}

int sn_gltf_morph_count(const sn_gltf *gltf) { return gltf->morph_count; }

const char *sn_gltf_morph_name(const sn_gltf *gltf, int morph) {
  return morph >= 0 && morph < gltf->morph_count ? gltf->morphs[morph].name : "";
}
