// SPDX-License-Identifier: MIT
// In the child: assimp's animations.
#include "formats/assimp/assimp.h"

#include <math.h>
#include <string.h>

// Samples of one kind: times in seconds that rise, and `width` numbers each.
typedef struct samples {
  int count, width;
  float *times, *values;
} samples;

static samples new_samples(assimp_job *job, unsigned most, int width) {
  samples out = {.width = width};
  out.times = SN_NEW(job->b.ctx, &job->b.memory, float, most);
  out.values = SN_NEW(job->b.ctx, &job->b.memory, float, (size_t)most *(size_t)width);
  if (!out.times || !out.values) job->b.failed = true;
  return out;
}

static void put_sample(samples *k, double time, const double *values) {
  float t = (float)time;
  if (!isfinite(t) || (k->count > 0 && t <= k->times[k->count - 1])) return;
  k->times[k->count] = t;
  for (int c = 0; c < k->width; c++) k->values[k->count * k->width + c] = (float)values[c];
  k->count++;
}

void sn_assimp_add_channel(assimp_job *job, json_t *clip, int node, const char *path, int count, const float *times,
                           int width, const float *values) {
  if (count == 0) return;
  bool scalars = strcmp(path, "weights") == 0;
  int input = sn_gltf_add_accessor(&job->b, times, count, GLTF_FLOAT, 1, 0, true);
  int output = scalars ? sn_gltf_add_accessor(&job->b, values, count * width, GLTF_FLOAT, 1, 0, false)
                       : sn_gltf_add_accessor(&job->b, values, count, GLTF_FLOAT, width, 0, false);
  sn_gltf_add_channel(&job->b, clip, node, path, input, output);
}

static void add_channel(assimp_job *job, json_t *clip, int node, const char *path, const samples *k) {
  if (!job->b.failed) sn_assimp_add_channel(job, clip, node, path, k->count, k->times, k->width, k->values);
}

static void add_vectors(assimp_job *job, json_t *clip, int node, const char *path, const struct aiVectorKey *list,
                        unsigned count, double rate) {
  samples k = new_samples(job, count, 3);
  for (unsigned i = 0; !job->b.failed && i < count; i++) {
    put_sample(&k, list[i].mTime / rate, (double[]){list[i].mValue.x, list[i].mValue.y, list[i].mValue.z});
  }
  add_channel(job, clip, node, path, &k);
}

static void add_rotations(assimp_job *job, json_t *clip, int node, const struct aiQuatKey *list, unsigned count,
                          double rate) {
  samples k = new_samples(job, count, 4);
  for (unsigned i = 0; !job->b.failed && i < count; i++) {
    const struct aiQuaternion *v = &list[i].mValue;
    sn_quat q = sn_quat_normalize((sn_quat){v->x, v->y, v->z, v->w});
    put_sample(&k, list[i].mTime / rate, (double[]){q.x, q.y, q.z, q.w});
  }
  add_channel(job, clip, node, "rotation", &k);
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
    json_t *clip = json_object();
    sn_gltf_set_text(&job->b, clip, "name", animation->mName.data, "clip");
    sn_gltf_set(&job->b, clip, "samplers", json_array());
    sn_gltf_set(&job->b, clip, "channels", json_array());
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
