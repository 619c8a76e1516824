// SPDX-License-Identifier: MIT
// Maps morph weights to [0, 1], where many programs clamp them (Blender's sliders). Weights w of a target d in [low, high] become
// w' = (w - low) / (high - low) of the target (high - low) d; one added target, the sum of low d over all targets, has constant
// weight 1.
#include "formats/gltf/out.h"

typedef struct range {
  double low, high;
} range;

static bool find_ranges(const sn_gltf_out *what, range *ranges) {
  bool outside = false;
  for (int k = 0; k < what->morph_count; k++) {
    range *r = &ranges[k];
    *r = (range){0, 1};
    double low = INFINITY, high = -INFINITY;
    for (int c = 0; c < what->clip_count; c++) {
      const float *weights = what->clips[c].morph_weights;
      for (int f = 0; weights && f < what->clips[c].frame_count; f++) {
        double w = weights[(size_t)f * (size_t)what->morph_count + (size_t)k];
        low = fmin(low, w), high = fmax(high, w);
      }
    }
    if (low >= 0 && high <= 1) continue;
    if (low <= high) r->low = fmin(low, 0), r->high = fmax(high, r->low + 1e-6);
    outside = outside || low < 0 || high > 1;
  }
  return outside;
}

static void stretch_targets(const sn_gltf_out *what, const range *ranges, size_t n, float (*deltas)[3]) {
  float(*constant)[3] = deltas + (size_t)what->morph_count * n;
  for (size_t i = 0; i < n; i++) {
    sn_vec3 sum = {0, 0, 0};
    for (int k = 0; k < what->morph_count; k++) {
      sn_vec3 d = sn_vec3_from(what->morph_deltas[(size_t)k * n + i]);
      sum = sn_vec3_mad(sum, d, ranges[k].low);
      sn_vec3_store(sn_vec3_scale(d, ranges[k].high - ranges[k].low), deltas[(size_t)k * n + i]);
    }
    sn_vec3_store(sum, constant[i]);
  }
}

static float *unit_weights(gltf_builder *b, const sn_gltf_out *what, const sn_gltf_clip_out *clip,
                           const range *ranges) {
  size_t targets = (size_t)what->morph_count, frames = (size_t)clip->frame_count;
  float *out = SN_TAKE(b, &b->memory, float, frames *(targets + 1));
  for (size_t f = 0; out && f < frames; f++) {
    for (size_t k = 0; k < targets; k++) {
      double w = (clip->morph_weights[f * targets + k] - ranges[k].low) / (ranges[k].high - ranges[k].low);
      out[f * (targets + 1) + k] = (float)fmin(fmax(w, 0), 1);
    }
    out[f * (targets + 1) + targets] = 1;
  }
  return out;
}

void sn_gltf_unit_morphs(gltf_builder *b, sn_gltf_out *what) {
  if (what->morph_count == 0 || !what->mesh) return;
  range *ranges = SN_TAKE(b, &b->memory, range, what->morph_count);
  if (!ranges || !find_ranges(what, ranges)) return;
  size_t n = (size_t)what->mesh->vertex_count;
  float(*deltas)[3] = SN_ROOM(b, &b->memory, n * ((size_t)what->morph_count + 1), sizeof *deltas);
  sn_gltf_clip_out *clips = SN_TAKE(b, &b->memory, sn_gltf_clip_out, what->clip_count);
  if (!clips) return;
  stretch_targets(what, ranges, n, deltas);
  for (int c = 0; c < what->clip_count; c++) {
    clips[c] = what->clips[c];
    if (clips[c].morph_weights) clips[c].morph_weights = unit_weights(b, what, &clips[c], ranges);
  }
  what->clips = clips, what->morph_deltas = (const float(*)[3])deltas, what->morph_count++;
}
