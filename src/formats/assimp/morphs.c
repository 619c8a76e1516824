// SPDX-License-Identifier: MIT
// In the child: the animation of blend shapes. assimp lists, at every time at which any shape of a mesh has a key, the shapes that
// have one; glTF wants all weights at every key.
#include "formats/assimp/assimp.h"

#include <math.h>
#include <string.h>

// "face" of the channel "face*0": the node, then which of its geometries.
static bool names_node(const struct aiMeshMorphAnim *channel, const struct aiString *node) {
  const char *name = channel->mName.data, *star = strrchr(name, '*');
  size_t length = star ? (size_t)(star - name) : strlen(name);
  return strlen(node->data) == length && strncmp(node->data, name, length) == 0;
}

// NAN: a target has no key at this time.
static void gather(const struct aiMeshMorphAnim *channel, const assimp_holder *holder, double rate,
                   assimp_samples *out) {
  for (unsigned k = 0; k < channel->mNumKeys; k++) {
    const struct aiMeshMorphKey *key = &channel->mKeys[k];
    float *row = sn_assimp_next(out, key->mTime / rate);
    for (int t = 0; row && t < out->width; t++) row[t] = NAN;
    for (unsigned v = 0; row && v < key->mNumValuesAndWeights; v++) {
      int target = key->mValues[v] < holder->shape_count ? holder->targets[key->mValues[v]] : -1;
      if (target >= 0 && isfinite(key->mWeights[v])) row[target] = (float)key->mWeights[v];
    }
  }
}

// What lies between a target's samples is linear, the ends hold; a target without any stays at 0.
static void fill_between(assimp_samples *samples, int target) {
  float *values = samples->values + target;
  int width = samples->width, last = -1;
  for (int k = 0; k < samples->count; k++) {
    float value = values[(size_t)k * (size_t)width];
    if (isnan(value)) continue;
    for (int between = last + 1; between < k; between++) {
      float along =
        last < 0 ? 1 : (samples->times[between] - samples->times[last]) / (samples->times[k] - samples->times[last]);
      float from = last < 0 ? value : values[(size_t)last * (size_t)width];
      values[(size_t)between * (size_t)width] = from + along * (value - from);
    }
    last = k;
  }
  float end = last < 0 ? 0 : values[(size_t)last * (size_t)width];
  for (int k = last + 1; k < samples->count; k++) values[(size_t)k * (size_t)width] = end;
}

static void add_weights(assimp_job *job, json_t *clip, const struct aiMeshMorphAnim *channel,
                        const assimp_holder *holder, double rate) {
  assimp_samples samples = sn_assimp_samples(job, channel->mNumKeys, holder->target_count);
  if (job->b.status != SN_OK) return;
  gather(channel, holder, rate, &samples);
  for (int t = 0; t < samples.width; t++) fill_between(&samples, t);
  sn_assimp_add_channel(job, clip, holder->index, "weights", &samples);
}

void sn_assimp_add_morph_clips(assimp_job *job, const struct aiAnimation *animation, double rate, json_t *clip) {
  for (unsigned c = 0; c < animation->mNumMorphMeshChannels; c++) {
    const struct aiMeshMorphAnim *channel = animation->mMorphMeshChannels[c];
    for (int h = 0; h < job->holder_count; h++) {
      const assimp_holder *holder = &job->holders[h];
      if (holder->target_count > 0 && names_node(channel, &job->nodes[holder->node].node->mName)) {
        add_weights(job, clip, channel, holder, rate);
      }
    }
  }
}
