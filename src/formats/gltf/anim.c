// SPDX-License-Identifier: MIT
// Clips: samplers, poses and deformed meshes at a time.
#include "formats/common/adjust.h"
#include "formats/gltf/gltf.h"

#include <float.h>
#include <string.h>

// ---- loading ---------------------------------------------------------------------------------------------------

// Index of the text among `count` names; `absent` if it is NULL, -1 if it is unknown.
static int find_name(const char *text, const char *const *names, int count, int absent) {
  for (int k = 0; text && k < count; k++)
    if (strcmp(text, names[k]) == 0) return k;
  return text ? -1 : absent;
}

static void check_times(const gltf_object *o, const gltf_channel *channel) {
  for (int k = 1; channel->times && k < channel->key_count; k++) {
    if (channel->times[k] < channel->times[k - 1])
      gltf_object_fail(o, SN_BAD_FILE, "key %d at %g s comes after key %d at %g s", k, channel->times[k], k - 1,
                       channel->times[k - 1]);
  }
}

// Reads the keys of a channel from the sampler `o`.
static void load_sampler(sn_gltf *gltf, gltf_object *o, gltf_channel *channel) {
  static const char *const interpolations[] = {"LINEAR", "STEP", "CUBICSPLINE"};
  int input = sn_gltf_index(o, "input", gltf->accessor_count, true);
  int output = sn_gltf_index(o, "output", gltf->accessor_count, true);
  if (o->r->status != SN_OK) return;
  const char *text = json_string_value(json_object_get(o->json, "interpolation"));
  int interpolation = find_name(text, interpolations, 3, GLTF_LINEAR);
  if (interpolation < 0) gltf_object_fail(o, SN_BAD_FILE, "there is no interpolation '%.40s'", text);
  channel->interpolation = (gltf_interpolation)interpolation;
  const gltf_accessor *times = &gltf->accessors[input], *values = &gltf->accessors[output];
  if (times->width != 1 || times->component != GLTF_FLOAT)
    gltf_object_fail(o, SN_BAD_FILE, "its times (accessor %d) are not float scalars", input);
  bool weights = channel->path == GLTF_WEIGHTS, rotation = channel->path == GLTF_ROTATION;
  int width = weights ? 1 : rotation ? 4 : 3;
  channel->width = weights ? gltf->nodes[channel->node].weight_count : width;
  int64_t needed = (int64_t)times->count * (interpolation == GLTF_CUBIC ? 3 : 1) * (weights ? channel->width : 1);
  if (values->width != width || values->count != needed)
    gltf_object_fail(o, SN_BAD_FILE, "its values (accessor %d) are %d times %d numbers, not %lld times %d", output,
                     values->count, values->width, (long long)needed, width);
  if (o->r->status != SN_OK) return;
  channel->key_count = times->count;
  channel->times = sn_gltf_floats_kept(gltf, input, false);
  check_times(o, channel);
  if (channel->times) channel->values = sn_gltf_floats_kept(gltf, output, rotation || weights);
}

// False for channels without a node or with an extension's path: they are ignored.
static bool load_channel(sn_gltf *gltf, gltf_object *o, const json_t *samplers, gltf_channel *channel) {
  static const char *const paths[] = {"translation", "rotation", "scale", "weights"};
  const json_t *json = o->json, *target = json_object_get(json, "target");
  int path = find_name(json_string_value(json_object_get(target, "path")), paths, 4, -1);
  o->json = target;
  channel->node = sn_gltf_index(o, "node", gltf->node_count, false);
  if (channel->node < 0 || path < 0) return false;
  channel->path = (gltf_path)path;
  const gltf_node *node = &gltf->nodes[channel->node];
  if (channel->path == GLTF_WEIGHTS && node->weight_count == 0) return false;
  if (channel->path != GLTF_WEIGHTS && node->has_matrix)
    gltf_object_fail(o, SN_BAD_FILE, "moves node %d, which has a matrix", channel->node);
  o->json = json;
  int sampler = sn_gltf_index(o, "sampler", (int)json_array_size(samplers), true);
  o->json = json_array_get(samplers, (size_t)sampler);
  load_sampler(gltf, o, channel);
  return o->r->status == SN_OK;
}

static void load_clip(sn_gltf *gltf, int index, const json_t *json) {
  sn_reader *r = &gltf->reader;
  gltf_clip *clip = &gltf->clips[index];
  const char *name = json_string_value(json_object_get(json, "name"));
  clip->info = (sn_clip_info){.name = name ? name : "", .start = INFINITY, .end = -INFINITY};
  json_t *channels, *samplers;
  int channel_count = sn_gltf_objects(r, json, "channels", &channels);
  sn_gltf_objects(r, json, "samplers", &samplers);
  clip->channels = SN_TAKE(r, &gltf->memory, gltf_channel, channel_count);
  for (int c = 0; c < channel_count && r->status == SN_OK; c++) {
    gltf_object o = sn_gltf_object(r, json_array_get(channels, (size_t)c), "channel %d", c);
    gltf_channel *channel = &clip->channels[clip->info.channel_count];
    if (!load_channel(gltf, &o, samplers, channel)) continue;
    clip->info.channel_count++;
    if (channel->key_count > clip->info.key_count) clip->info.key_count = channel->key_count;
    clip->info.start = fmin(clip->info.start, channel->times[0]);
    clip->info.end = fmax(clip->info.end, channel->times[channel->key_count - 1]);
  }
  if (r->status != SN_OK) sn_fail_prefix(r->ctx, "animation %d: ", index);
  if (clip->info.channel_count == 0) clip->info.start = clip->info.end = 0;
}

void sn_gltf_load_clips(sn_gltf *gltf) {
  json_t *animations;
  int count = sn_gltf_objects(&gltf->reader, gltf->json, "animations", &animations);
  gltf->clips = SN_TAKE(&gltf->reader, &gltf->memory, gltf_clip, count);
  for (int k = 0; k < count && gltf->reader.status == SN_OK; k++)
    load_clip(gltf, k, json_array_get(animations, (size_t)k));
  gltf->clip_count = count;
}

// ---- choosing a clip ------------------------------------------------------------------------------------------------

int sn_gltf_clip_count(const sn_gltf *gltf) { return gltf->clip_count; }

sn_clip_info sn_gltf_clip(const sn_gltf *gltf, int clip) {
  return clip >= 0 && clip < gltf->clip_count ? gltf->clips[clip].info : (sn_clip_info){.name = ""};
}

static sn_status no_such_clip(sn_context *ctx, const sn_gltf *gltf, const char *name) {
  char list[600] = "";
  size_t used = 0;
  for (int k = 0; k < gltf->clip_count && used + 60 < sizeof list; k++) {
    used +=
      (size_t)snprintf(list + used, sizeof list - used, "%s%d '%.40s'", k ? ", " : "", k, gltf->clips[k].info.name);
  }
  return sn_fail(ctx, SN_BAD_INPUT, "%s: has no clip '%.100s'; it has %s", gltf->name, name, list);
}

sn_status sn_gltf_find_clip(sn_context *ctx, const sn_gltf *gltf, const char *name, int *out) {
  *out = 0;
  if (gltf->clip_count == 0) return sn_fail(ctx, SN_BAD_INPUT, "%s: has no animation", gltf->name);
  if (!name) return SN_OK;
  for (int k = 0; k < gltf->clip_count; k++) {
    *out = k;
    if (strcmp(gltf->clips[k].info.name, name) == 0) return SN_OK;
  }
  int64_t index = 0;
  const char *digits = name[0] == '#' ? name + 1 : name;
  for (const char *c = digits; *c; c++) {
    if (*c < '0' || *c > '9' || index > gltf->clip_count) return no_such_clip(ctx, gltf, name);
    index = index * 10 + (*c - '0');
  }
  *out = (int)index;
  return *digits && index < gltf->clip_count ? SN_OK : no_such_clip(ctx, gltf, name);
}

sn_status sn_gltf_sampling(sn_context *ctx, const sn_gltf *gltf, const sn_choice *choice, sn_sampling *out) {
  double fps = choice->fps > 0 ? choice->fps : SN_DEFAULT_FPS;
  *out = (sn_sampling){.clip = -1, .frame_count = gltf->morph_count, .fps = fps};
  if (!choice->clip && gltf->clip_count == 0 && gltf->morph_count > 0) return SN_OK;
  SN_TRY(sn_gltf_find_clip(ctx, gltf, choice->clip, &out->clip));
  const sn_clip_info *info = &gltf->clips[out->clip].info;
  out->start = info->start + choice->adjust.offset;
  out->frame_count = sn_count_frames(ctx, info->name, info->end - out->start, fps, info->key_count);
  return out->frame_count > 0 ? SN_OK : ctx->error.status;
}

// ---- sampling ------------------------------------------------------------------------------------------------------------

// The key at or before t, and the interpolation parameter to the next. Times are floats in the file: a t that equals a key up to
// rounding is that key, or STEP would return the one before.
static int find_key(const gltf_channel *channel, double t, double *along) {
  double slack = 2 * FLT_EPSILON * fabs(t);
  int low = 0, high = channel->key_count;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    *(channel->times[middle] <= t + slack ? &low : &high) = middle;
  }
  *along = 0;
  if (low + 1 < channel->key_count && t > channel->times[low] + slack) {
    *along = (t - channel->times[low]) / ((double)channel->times[low + 1] - channel->times[low]);
  }
  return low;
}

// Component k of the spline between keys `key` and `key + 1` (glTF 2.0, appendix C): a key is in-tangent, value and out-tangent.
static double cubic(const gltf_channel *channel, int key, double s, int k) {
  size_t width = (size_t)channel->width;
  const float *here = channel->values + (size_t)key * 3 * width + k, *next = here + 3 * width;
  double span = (double)channel->times[key + 1] - channel->times[key], s2 = s * s, s3 = s2 * s;
  return (2 * s3 - 3 * s2 + 1) * here[width] + span * (s3 - 2 * s2 + s) * here[2 * width] +
         (-2 * s3 + 3 * s2) * next[width] + span * (s3 - s2) * next[0];
}

static sn_quat quat_at(const gltf_channel *channel, int key) {
  const float *v = channel->values + (size_t)key * 4;
  return sn_quat_normalize((sn_quat){v[0], v[1], v[2], v[3]});
}

static void sample(const gltf_channel *channel, double t, double *out) {
  double along;
  int key = find_key(channel, t, &along), width = channel->width;
  bool cubic_keys = channel->interpolation == GLTF_CUBIC;
  if (along > 0 && channel->interpolation == GLTF_LINEAR && channel->path == GLTF_ROTATION) {
    sn_quat q = sn_quat_slerp(quat_at(channel, key), quat_at(channel, key + 1), along);
    out[0] = q.x, out[1] = q.y, out[2] = q.z, out[3] = q.w;
    return;
  }
  for (int k = 0; k < width; k++) {
    size_t at = (size_t)key * (size_t)width + (size_t)k;
    if (cubic_keys) at = ((size_t)key * 3 + 1) * (size_t)width + (size_t)k;
    out[k] = channel->values[at];
    if (along > 0 && cubic_keys) out[k] = cubic(channel, key, along, k);
    if (along > 0 && channel->interpolation == GLTF_LINEAR) {
      out[k] += along * ((double)channel->values[at + (size_t)width] - out[k]);
    }
  }
}

static void animate(gltf_node *node, const gltf_channel *channel, double t) {
  double v[4];
  sample(channel, t, channel->path == GLTF_WEIGHTS ? node->weights : v);
  if (channel->path == GLTF_TRANSLATION) node->translation = sn_vec3_make(v[0], v[1], v[2]);
  if (channel->path == GLTF_SCALE) node->scale = sn_vec3_make(v[0], v[1], v[2]);
  if (channel->path == GLTF_ROTATION) node->rotation = sn_quat_normalize((sn_quat){v[0], v[1], v[2], v[3]});
}

// The document's nodes at time t, in `scratch`; NULL: no memory.
static gltf_node *nodes_at(sn_context *ctx, const sn_gltf *gltf, int clip, double t, sn_arena *scratch) {
  gltf_node *nodes = SN_NEW(ctx, scratch, gltf_node, gltf->node_count);
  if (!nodes) return NULL;
  memcpy(nodes, gltf->nodes, (size_t)gltf->node_count * sizeof *nodes);
  if (clip < 0) return nodes;
  const gltf_clip *chosen = &gltf->clips[clip];
  for (int c = 0; c < chosen->info.channel_count; c++) {
    const gltf_channel *channel = &chosen->channels[c];
    gltf_node *node = &nodes[channel->node];
    if (channel->path == GLTF_WEIGHTS && node->weights == gltf->nodes[channel->node].weights) {
      node->weights = SN_NEW(ctx, scratch, double, node->weight_count);
      if (!node->weights) return NULL;
    }
    animate(node, channel, t);
  }
  return nodes;
}

static sn_status check_request(sn_context *ctx, const sn_gltf *gltf, int clip, double t) {
  if (clip < -1 || clip >= gltf->clip_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s: clip %d does not exist, there are %d", gltf->name, clip, gltf->clip_count);
  }
  return isfinite(t) ? SN_OK : sn_fail(ctx, SN_BAD_INPUT, "%s: a clip cannot be sampled at time %g", gltf->name, t);
}

// Nodes and their world transforms at time t; NULL after a failure.
static sn_affine *globals_at(sn_context *ctx, const sn_gltf *gltf, int clip, double t, sn_arena *scratch,
                             gltf_node **nodes) {
  *nodes = check_request(ctx, gltf, clip, t) == SN_OK ? nodes_at(ctx, gltf, clip, t, scratch) : NULL;
  sn_affine *globals = *nodes ? SN_NEW(ctx, scratch, sn_affine, gltf->node_count) : NULL;
  if (globals) sn_gltf_globals(gltf, *nodes, globals);
  return globals;
}

static void joint_matrices(const sn_gltf *gltf, const sn_affine *globals, sn_affine *matrices) {
  for (int j = 0; j < gltf->joint_count; j++) {
    matrices[j] = sn_affine_mul(globals[gltf->joints[j].node], gltf->joints[j].inverse_bind);
  }
}

sn_status sn_gltf_pose(sn_context *ctx, const sn_gltf *gltf, int clip, double t, sn_affine *matrices) {
  SN_SCRATCH(scratch, ctx);
  gltf_node *nodes;
  sn_affine *globals = globals_at(ctx, gltf, clip, t, &scratch, &nodes);
  if (globals) joint_matrices(gltf, globals, matrices);
  return globals ? SN_OK : ctx->error.status;
}

sn_status sn_gltf_morph_weights(sn_context *ctx, const sn_gltf *gltf, int clip, double t, double *weights) {
  SN_SCRATCH(scratch, ctx);
  gltf_node *nodes;
  if (!globals_at(ctx, gltf, clip, t, &scratch, &nodes)) return ctx->error.status;
  for (int k = 0; k < gltf->morph_count; k++)
    weights[k] = nodes[gltf->morphs[k].node].weights[gltf->morphs[k].target];
  return SN_OK;
}

// ---- deforming ---------------------------------------------------------------------------------------------------------

// Vertex i with its morph targets applied; with `only` (may be NULL) that target alone, at weight 1.
static sn_vec3 morphed(const gltf_part *part, const double *weights, const gltf_morph *only, int i) {
  sn_vec3 p = sn_vec3_from(part->positions[i]);
  for (int k = 0; k < part->target_count; k++) {
    size_t at = (size_t)k * (size_t)part->range.vertex_count + (size_t)i;
    double weight = !only ? weights[k] : part->range.node == only->node && k == only->target;
    if (weight != 0) p = sn_vec3_mad(p, sn_vec3_from(part->deltas[at]), weight);
  }
  return p;
}

static sn_status deform(sn_context *ctx, const sn_gltf *gltf, int clip, double t, const gltf_morph *only,
                        float (*positions)[3]) {
  if (clip >= 0 && sn_gltf_says(gltf, GLTF_DUAL_QUATERNIONS))
    return sn_fail(
      ctx, SN_UNSUPPORTED,
      "%s: its skin is blended by dual quaternions, so frames of it would be wrong; export the frames as "
      ".abc, and give this file as `skeleton`",
      gltf->name);
  SN_SCRATCH(scratch, ctx);
  gltf_node *nodes = NULL;
  sn_affine *matrices = SN_NEW(ctx, &scratch, sn_affine, gltf->joint_count);
  sn_affine *globals = matrices ? globals_at(ctx, gltf, clip, t, &scratch, &nodes) : NULL;
  if (!globals) return ctx->error.status;
  joint_matrices(gltf, globals, matrices);
  for (int k = 0; k < gltf->part_count; k++) {
    const gltf_part *part = &gltf->parts[k];
    for (int i = 0; i < part->range.vertex_count; i++) {
      int vertex = part->range.first_vertex + i;
      sn_vec3 p = morphed(part, nodes[part->range.node].weights, only, i);
      p = part->skinned ? sn_skin_blend(&gltf->skin, vertex, matrices, sn_affine_apply(part->place, p))
                        : sn_affine_apply(globals[part->range.node], p);
      sn_vec3_store(p, positions[vertex]);
    }
  }
  return SN_OK;
}

sn_status sn_gltf_deform(sn_context *ctx, const sn_gltf *gltf, int clip, double t, float (*positions)[3]) {
  return deform(ctx, gltf, clip, t, NULL, positions);
}

sn_status sn_gltf_morph_shape(sn_context *ctx, const sn_gltf *gltf, int morph, float (*positions)[3]) {
  if (morph < 0 || morph >= gltf->morph_count)
    return sn_fail(ctx, SN_BAD_INPUT, "%s: no morph target %d", gltf->name, morph);
  return deform(ctx, gltf, -1, 0, &gltf->morphs[morph], positions);
}

// ---- frames -------------------------------------------------------------------------------------------------------------

sn_status sn_gltf_poses(sn_context *ctx, const sn_gltf *gltf, int clip, const sn_choice *choice, int frame_count,
                        sn_poses *out) {
  double fps = choice->fps;
  *out = (sn_poses){0};
  if (!(fps > 0) || !isfinite(fps)) return sn_fail(ctx, SN_BAD_INPUT, "%g frames per second make no sense", fps);
  SN_TRY(check_request(ctx, gltf, clip, 0));
  if (gltf->joint_count == 0) return sn_fail(ctx, SN_BAD_INPUT, "%s: has no skin, so no poses", gltf->name);
  sn_clip_info info = sn_gltf_clip(gltf, clip);
  double start = info.start + choice->adjust.offset, seconds = info.end - start;
  if (frame_count < 0) frame_count = sn_count_frames(ctx, info.name, seconds, fps, info.key_count);
  if (frame_count < 0) return sn_fail_prefix(ctx, "%s: clip ", gltf->name);
  if (clip >= 0 && frame_count > 1 && (frame_count - 1) / fps > seconds + 1 / fps) {
    char late[128] = "; give the clip of these frames, fewer frames, or their rate with `fps`";
    if (start > 0 && (frame_count - 1) / fps <= info.end + 1 / fps) {
      snprintf(late, sizeof late, "; its first key is at %g s: if the frames begin at 0, give `offset` skeleton=%g",
               info.start, -info.start);
    }
    return sn_fail(ctx, SN_BAD_INPUT,
                   "%s: clip '%.100s' is %g s long, but %d frames at %g frames per second are %g s%s", gltf->name,
                   info.name, seconds, frame_count, fps, (frame_count - 1) / fps, late);
  }
  sn_status status = sn_poses_new(ctx, gltf->joint_count, frame_count, out);
  for (int f = 0; f < frame_count && status == SN_OK; f++) {
    status = sn_gltf_pose(ctx, gltf, clip, start + f / fps, sn_pose(out, f));
    if (status == SN_OK) sn_adjust_matrices(&choice->adjust, sn_pose(out, f), (size_t)out->joint_count);
  }
  if (status != SN_OK) sn_poses_free(out);
  return status;
}
