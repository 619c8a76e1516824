// SPDX-License-Identifier: MIT
// In the child: converts assimp's animations.
#include "formats/assimp/assimp.h"

#include <math.h>
#include <string.h>

// Keys of one channel: ascending times in seconds, and `width` numbers each.
typedef struct samples {
  int count, width;
  float *times, *values;
} samples;

static samples new_samples(assimp_job *job, unsigned most, int width) {
  return (samples){.width = width,
                   .times = SN_TAKE(&job->b, &job->b.memory, float, most),
                   .values = SN_TAKE(&job->b, &job->b.memory, float, (size_t)most *(size_t)width)};
}

// Drops keys whose time does not ascend.
static void add_sample(samples *k, double time, const double *values) {
  float t = (float)time;
  if (!k->values || !isfinite(t) || (k->count > 0 && t <= k->times[k->count - 1])) return;
  for (int c = 0; c < k->width; c++) k->values[k->count * k->width + c] = (float)values[c];
  k->times[k->count++] = t;
}

static void add_channel(assimp_job *job, json_t *clip, int node, const char *path, const samples *k) {
  if (k->count == 0 || job->b.status != SN_OK) return;
  int input = sn_gltf_add_accessor(&job->b, (gltf_data){k->times, k->count, GLTF_FLOAT, 1, 0, true});
  sn_gltf_add_channel(&job->b, clip, node, path, (gltf_keys){input, k->count, k->width, k->values});
}

// Reads translations or scales.
static samples read_vectors(assimp_job *job, const struct aiVectorKey *keys, unsigned count, double rate) {
  samples out = new_samples(job, count, 3);
  for (unsigned i = 0; i < count; i++) {
    const struct aiVector3D *v = &keys[i].mValue;
    add_sample(&out, keys[i].mTime / rate, (double[]){v->x, v->y, v->z});
  }
  return out;
}

static samples read_rotations(assimp_job *job, const struct aiNodeAnim *channel, double rate) {
  samples out = new_samples(job, channel->mNumRotationKeys, 4);
  for (unsigned i = 0; i < channel->mNumRotationKeys; i++) {
    const struct aiQuaternion *v = &channel->mRotationKeys[i].mValue;
    sn_quat q = sn_quat_normalize((sn_quat){v->x, v->y, v->z, v->w});
    add_sample(&out, channel->mRotationKeys[i].mTime / rate, (double[]){q.x, q.y, q.z, q.w});
  }
  return out;
}

// Of several channels of one node, only the first counts.
static bool seen_before(const struct aiAnimation *animation, unsigned c) {
  for (unsigned b = 0; b < c; b++) {
    const struct aiString *a = &animation->mChannels[b]->mNodeName, *name = &animation->mChannels[c]->mNodeName;
    if (a->length == name->length && !memcmp(a->data, name->data, a->length)) return true;
  }
  return false;
}

static json_t *make_clip(assimp_job *job, const struct aiAnimation *animation) {
  enum { unstated_rate = 25 }; // assimp's default ticks per second
  double rate = animation->mTicksPerSecond > 0 ? animation->mTicksPerSecond : unstated_rate;
  json_t *clip = json_pack("{s:[],s:[]}", "samplers", "channels");
  sn_gltf_set_text(&job->b, clip, "name", animation->mName.data, "clip");
  for (unsigned c = 0; c < animation->mNumChannels; c++) {
    const struct aiNodeAnim *channel = animation->mChannels[c];
    int node = sn_assimp_find(job, &channel->mNodeName);
    if (node < 0 || seen_before(animation, c)) continue;
    samples moved = read_vectors(job, channel->mPositionKeys, channel->mNumPositionKeys, rate);
    samples rotated = read_rotations(job, channel, rate);
    samples scaled = read_vectors(job, channel->mScalingKeys, channel->mNumScalingKeys, rate);
    add_channel(job, clip, node, "translation", &moved);
    add_channel(job, clip, node, "rotation", &rotated);
    add_channel(job, clip, node, "scale", &scaled);
  }
  return clip;
}

void sn_assimp_add_clips(assimp_job *job) {
  for (unsigned a = 0; a < job->scene->mNumAnimations; a++)
    sn_gltf_append_clip(&job->b, make_clip(job, job->scene->mAnimations[a]));
}
