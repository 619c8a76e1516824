// SPDX-License-Identifier: MIT
// In the child: assimp's animations.
#include "formats/assimp/assimp.h"

#include <math.h>
#include <string.h>

assimp_samples sn_assimp_samples(assimp_job *job, unsigned most, int width) {
  assimp_samples out = {.width = width};
  out.times = GLTF_NEW(&job->b, &job->b.memory, float, most);
  out.values = GLTF_NEW(&job->b, &job->b.memory, float, (size_t)most *(size_t)width);
  return out;
}

float *sn_assimp_next(assimp_samples *k, double time) {
  float t = (float)time;
  if (!isfinite(t) || (k->count > 0 && t <= k->times[k->count - 1])) return NULL;
  k->times[k->count] = t;
  return k->values + (size_t)k->count++ * (size_t)k->width;
}

void sn_assimp_add_channel(assimp_job *job, json_t *clip, int node, const char *path, const assimp_samples *k) {
  if (k->count == 0 || job->b.status != SN_OK) return;
  int input = sn_gltf_add_accessor(&job->b, (gltf_data){k->times, k->count, GLTF_FLOAT, 1, 0, true});
  sn_gltf_add_channel(&job->b, clip, node, path, (gltf_keys){input, k->count, k->width, k->values});
}

static void add_vectors(assimp_job *job, json_t *clip, int node, const char *path, const struct aiVectorKey *list,
                        unsigned count, double rate) {
  assimp_samples k = sn_assimp_samples(job, count, 3);
  for (unsigned i = 0; job->b.status == SN_OK && i < count; i++) {
    float *out = sn_assimp_next(&k, list[i].mTime / rate);
    if (out) sn_vec3_store(sn_vec3_make(list[i].mValue.x, list[i].mValue.y, list[i].mValue.z), out);
  }
  sn_assimp_add_channel(job, clip, node, path, &k);
}

static void add_rotations(assimp_job *job, json_t *clip, int node, const struct aiQuatKey *list, unsigned count,
                          double rate) {
  assimp_samples k = sn_assimp_samples(job, count, 4);
  for (unsigned i = 0; job->b.status == SN_OK && i < count; i++) {
    const struct aiQuaternion *v = &list[i].mValue;
    sn_quat q = sn_quat_normalize((sn_quat){v->x, v->y, v->z, v->w});
    float *out = sn_assimp_next(&k, list[i].mTime / rate);
    if (out) out[0] = (float)q.x, out[1] = (float)q.y, out[2] = (float)q.z, out[3] = (float)q.w;
  }
  sn_assimp_add_channel(job, clip, node, "rotation", &k);
}

// The joints' nodes may be named by several channels: the first counts.
static bool seen_before(const struct aiAnimation *animation, unsigned c) {
  for (unsigned b = 0; b < c; b++) {
    const struct aiString *a = &animation->mChannels[b]->mNodeName, *name = &animation->mChannels[c]->mNodeName;
    if (a->length == name->length && !memcmp(a->data, name->data, a->length)) return true;
  }
  return false;
}

void sn_assimp_add_clips(assimp_job *job) {
  enum { unstated_rate = 25 }; // ticks per second where a file does not say: assimp's own convention
  for (unsigned a = 0; a < job->scene->mNumAnimations; a++) {
    const struct aiAnimation *animation = job->scene->mAnimations[a];
    double rate = animation->mTicksPerSecond > 0 ? animation->mTicksPerSecond : unstated_rate;
    json_t *clip = json_pack("{s:[],s:[]}", "samplers", "channels");
    sn_gltf_set_text(&job->b, clip, "name", animation->mName.data, "clip");
    for (unsigned c = 0; c < animation->mNumChannels; c++) {
      const struct aiNodeAnim *channel = animation->mChannels[c];
      int node = sn_assimp_find(job, &channel->mNodeName);
      if (node < 0 || seen_before(animation, c)) continue;
      add_vectors(job, clip, node, "translation", channel->mPositionKeys, channel->mNumPositionKeys, rate);
      add_rotations(job, clip, node, channel->mRotationKeys, channel->mNumRotationKeys, rate);
      add_vectors(job, clip, node, "scale", channel->mScalingKeys, channel->mNumScalingKeys, rate);
    }
    sn_assimp_add_morph_clips(job, animation, rate, clip);
    if (json_array_size(json_object_get(clip, "channels")) > 0) {
      sn_gltf_append(&job->b, "animations", clip);
    } else {
      json_decref(clip);
    }
  }
}
