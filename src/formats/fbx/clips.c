// SPDX-License-Identifier: MIT
// Converts animation stacks to clips. A clip is sampled at all its keys, on both sides of discontinuities, and between keys at the
// frames of the file's time line.
#include "formats/fbx/scene.h"

#include <math.h>
#include <string.h>

enum { part_count = 3, model_width = 16 }; // translation, rotation, scale; translation and scale of the buffer node
static const char *const parts[part_count] = {"Lcl Translation", "Lcl Rotation", "Lcl Scaling"};

void sn_fbx_lcl_at(const fbx_scene *s, const fbx_model *model, const fbx_moment *moment, double out[9]) {
  memcpy(out, model->lcl, sizeof model->lcl);
  if (!moment) return;
  const fbx_track *track = &moment->tracks[model - s->models];
  for (int k = 0; k < 9; k++) {
    if (track->given[k / 3]) out[k] = track->values[k];
    if (track->curves[k].count > 0) out[k] = sn_fbx_curve_at(&track->curves[k], moment->time);
  }
}

// ---- animated properties of a stack ------------------------------------------------------------------------------------

typedef struct clip_job {
  fbx_scene *s;
  fbx_tree *tree;
  fbx_track *tracks; // per model
  double start, end; // the first and the last key
  size_t key_count, count;
  double *times; // of the samples
  double *poses; // of one model: `model_width` numbers per sample
  int inputs[2]; // accessors of all times, and of the first and last; -1: not yet there
  json_t *clip;
} clip_job;

// Curves of a curve node, one for each of `count` numbers, and constants for numbers without a curve.
static void load_curves(clip_job *job, const fbx_link *of, int count, fbx_curve *curves, double *values) {
  static const char *const axes[] = {"d|X", "d|Y", "d|Z"}, *const weight[] = {"d|DeformPercent"};
  const char *const *names = count == 1 ? weight : axes;
  const fbx_object *node = of->child;
  const fbx_link *link = NULL;
  for (int k = 0; k < count; k++)
    curves[k] = (fbx_curve){0}, values[k] = sn_fbx_property_number(node, names[k], values[k]);
  while ((link = sn_fbx_below(node, link, "AnimationCurve"))) {
    for (int k = 0; k < count; k++) {
      if (!sn_fbx_says(link->property, names[k])) continue;
      curves[k] = sn_fbx_load_curve(job->s, link->child, of->parent->name);
      if (curves[k].count > 0) job->start = fmin(job->start, curves[k].keys[0].time);
      if (curves[k].count > 0) job->end = fmax(job->end, curves[k].keys[curves[k].count - 1].time);
      job->key_count += (size_t)curves[k].count;
    }
  }
}

static void refuse_layers(clip_job *job, const fbx_object *object, const char *property) {
  sn_fail_once(job->tree, SN_UNSUPPORTED,
               "two animation layers move %s of %.200s; merge (bake) the layers and export again", property,
               object->name);
}

// Fails if a transform property that must be constant is animated.
static void check_still(clip_job *job, const fbx_link *link) {
  static const char *const still[] = {
    "PreRotation",  "PostRotation",  "RotationOffset",       "RotationPivot",     "ScalingOffset",
    "ScalingPivot", "RotationOrder", "GeometricTranslation", "GeometricRotation", "GeometricScaling"};
  for (size_t k = 0; k < sizeof still / sizeof *still; k++) {
    if (sn_fbx_says(link->property, still[k]) && sn_fbx_below(link->child, NULL, "AnimationCurve"))
      sn_fail_once(
        job->tree, SN_UNSUPPORTED,
        "%s of %.200s is animated, which Sinew cannot read; bake the animation to translation, rotation and "
        "scale, and export again",
        still[k], link->parent->name);
  }
}

// `override`: this layer replaces the layers below it.
static void take_link(clip_job *job, const fbx_link *link, bool override) {
  fbx_object *object = link->parent;
  for (int k = 0; object->model && k < part_count; k++) {
    fbx_track *track = &job->tracks[object->model - job->s->models];
    if (!sn_fbx_says(link->property, parts[k])) continue;
    if (track->given[k] && !override) return refuse_layers(job, object, parts[k]);
    track->given[k] = true;
    memcpy(track->values + 3 * k, object->model->lcl + 3 * k, 3 * sizeof *track->values);
    return load_curves(job, link, 3, track->curves + 3 * k, track->values + 3 * k);
  }
  if (object->model) return check_still(job, link);
  if (strcmp(object->type, "BlendShapeChannel") != 0 || !sn_fbx_says(link->property, "DeformPercent")) return;
  if (object->percent && !override) return refuse_layers(job, object, "DeformPercent");
  double value = 0;
  object->percent = sn_fbx_take(job->tree, 1, sizeof *object->percent);
  if (object->percent) load_curves(job, link, 1, object->percent, &value);
}

static void load_layer(clip_job *job, const fbx_object *layer, bool override) {
  for (const fbx_link *node = NULL; (node = sn_fbx_below(layer, node, "AnimationCurveNode"));) {
    for (const fbx_link *link = node->child->above; link && job->tree->status == SN_OK; link = link->next_above)
      if (link->property) take_link(job, link, override);
  }
}

static void check_weight(clip_job *job, const fbx_object *layer) {
  for (const fbx_link *node = NULL; (node = sn_fbx_below(layer, node, "AnimationCurveNode"));)
    if (sn_fbx_says(node->property, "Weight") && sn_fbx_below(node->child, NULL, "AnimationCurve"))
      sn_fail_once(job->tree, SN_UNSUPPORTED,
                   "the weight of the animation layer %.200s is animated; merge (bake) the layers and export again",
                   layer->name);
}

static void load_stack(clip_job *job, const fbx_object *stack) {
  fbx_scene *s = job->s;
  size_t size = (size_t)s->model_count * sizeof *job->tracks;
  int number = 0;
  sn_fbx_spend(job->tree, size, 1); // charges the running time to the budget
  job->start = INFINITY, job->end = -INFINITY, job->key_count = 0;
  memset(job->tracks, 0, size);
  for (int o = 0; o < s->object_count; o++) s->objects[o].percent = NULL;
  for (const fbx_link *link = NULL; (link = sn_fbx_below(stack, link, "AnimationLayer"));) {
    const fbx_object *layer = link->child;
    double weight = sn_fbx_property_number(layer, "Weight", 100);
    bool override = sn_fbx_property_number(layer, "BlendMode", 0) == 1 && weight == 100;
    if (sn_fbx_property_number(layer, "Mute", 0) != 0) continue;
    check_weight(job, layer);
    if (weight == 0 && number > 0) continue;
    load_layer(job, layer, override);
    if (number++ > 0 && weight != 100)
      sn_fail_once(job->tree, SN_UNSUPPORTED,
                   "the animation layer %.200s has a weight of %g %%; merge (bake) the layers and export again",
                   layer->name, weight);
  }
  if (!isfinite(job->start)) job->start = 0;
}

// ---- sampling --------------------------------------------------------------------------------------------------------

// Weights of a channel's targets: linear between two percentages, and beyond the first and last.
static void put_weights(const struct fbx_channel *channel, double percent, double *out) {
  const double *full = channel->full;
  int k = 1;
  while (k < channel->count && percent > full[k]) k++;
  double along = (percent - full[k - 1]) / (full[k] - full[k - 1]);
  for (int t = 0; t <= channel->count; t++)
    if (t != channel->base) *out++ = t == k ? along : t == k - 1 ? 1 - along : 0;
}

void sn_fbx_holder_weights(const fbx_holder *holder, const fbx_moment *moment, double *out) {
  for (int c = 0; c < holder->channel_count; c++) {
    const struct fbx_channel *channel = &holder->channels[c];
    const fbx_curve *curve = moment ? channel->object->percent : NULL;
    bool moves = curve && curve->count > 0;
    put_weights(channel, moves ? sn_fbx_curve_at(curve, moment->time) : channel->percent,
                out + channel->first_target);
  }
}

static void put_pose(const fbx_scene *s, const fbx_model *model, const fbx_moment *moment, double *out) {
  fbx_trs a, b;
  sn_fbx_pose(s, model, moment, &a, &b);
  const double values[model_width] = {a.t.x, a.t.y, a.t.z, a.r.x, a.r.y, a.r.z, a.r.w, a.s.x,
                                      a.s.y, a.s.z, b.t.x, b.t.y, b.t.z, b.s.x, b.s.y, b.s.z};
  memcpy(out, values, sizeof values);
}

// Adds the key times of a curve and, at discontinuities, times next to the keys by more than a float's rounding.
static size_t add_times(clip_job *job, const fbx_curve *curve, double *times, size_t count) {
  if (curve && curve->count > 1 &&
      ((curve->before && curve->keys[0].time > job->start) ||
       (curve->after && curve->keys[curve->count - 1].time < job->end)))
    sn_fail_once(job->tree, SN_UNSUPPORTED,
                 "an animation curve goes on beyond its keys (extrapolation), which Sinew cannot read; bake the "
                 "animation and export again");
  for (int k = 0; curve && k < curve->count; k++) {
    double time = curve->keys[k].time, after = k + 1 < curve->count ? curve->keys[k + 1].time : time;
    double aside = curve->keys[k].kind == FBX_NEXT       ? time + fmax(1e-6, 2e-6 * fabs(time))
                   : curve->keys[k].kind == FBX_CONSTANT ? after - fmax(1e-6, 2e-6 * fabs(after))
                                                         : time;
    times[count++] = time;
    if (aside > time && aside < after) times[count++] = aside;
  }
  return count;
}

static size_t key_times(clip_job *job, double *times) {
  const fbx_scene *s = job->s;
  size_t count = 0;
  for (int m = 0; m < s->model_count; m++)
    for (int k = 0; k < 9; k++) count = add_times(job, &job->tracks[m].curves[k], times, count);
  for (int h = 0; h < s->holder_count; h++)
    for (int c = 0; c < s->holders[h].channel_count; c++)
      count = add_times(job, s->holders[h].channels[c].object->percent, times, count);
  if (count == 0) times[count++] = job->start;
  sn_sort_doubles(times, count);
  return count;
}

// Lists the times of a clip's samples: its keys, and the frames between two keys unless these are very far apart.
static void list_times(clip_job *job) {
  static const double longest = 1e4; // frames
  double rate = job->s->rate, *keys = sn_fbx_room(job->tree, 2 * job->key_count + 1, sizeof *keys);
  size_t count = keys ? key_times(job, keys) : 0, room = count;
  for (size_t k = 1; k < count; k++)
    if ((keys[k] - keys[k - 1]) * rate <= longest) room += (size_t)((keys[k] - keys[k - 1]) * rate) + 1;
  job->times = sn_fbx_room(job->tree, room, sizeof *job->times);
  job->count = 0;
  for (size_t k = 0; job->times && k < count; k++) {
    double a = keys[k], b = k + 1 < count ? keys[k + 1] : a;
    if (k + 1 < count && (float)b <= (float)a) continue; // of equal times, the last counts
    job->times[job->count++] = a;
    for (double f = floor(a * rate) + 1; f / rate < b && (b - a) * rate <= longest; f++) {
      double time = f / rate;
      bool apart = time - a > 1e-6 && b - time > 1e-6 && (float)time > (float)a && (float)time < (float)b;
      if (apart) job->times[job->count++] = time;
    }
  }
}

// ---- channels ----------------------------------------------------------------------------------------------------------

// Writes `width` numbers of every sample, `row` numbers apart, as a channel; if they are constant, only the first and last sample.
static void put_channel(clip_job *job, int node, const char *path, const double *rows, size_t row, int width) {
  gltf_builder *b = &job->s->b;
  bool still = true;
  for (size_t k = 1; k < job->count && still; k++)
    still = memcmp(rows + row * k, rows, (size_t)width * sizeof *rows) == 0;
  still = still && job->count > 2;
  size_t count = still ? 2 : job->count, step = still ? job->count - 1 : 1;
  if (count * (size_t)width > INT32_MAX) sn_fail_once(job->tree, SN_BAD_FILE, "a clip has too many keys");
  float *times = sn_fbx_room(job->tree, count, sizeof *times);
  float *values = sn_fbx_room(job->tree, count * (size_t)width, sizeof *values), *value = values;
  for (size_t k = 0; values && k < count; k++) {
    times[k] = (float)job->times[k * step];
    for (int c = 0; c < width; c++) *value++ = (float)rows[row * k * step + (size_t)c];
  }
  if (!values) return;
  if (job->inputs[still] < 0)
    job->inputs[still] = sn_gltf_add_accessor(b, (gltf_data){times, (int)count, GLTF_FLOAT, 1, 0, true});
  sn_gltf_add_channel(b, job->clip, node, path, (gltf_keys){job->inputs[still], (int)count, width, values});
}

static void add_model(clip_job *job, const fbx_model *m) {
  static const struct {
    const char *path;
    int first, width;
  } channels[] = {
    {"translation", 0, 3}, {"rotation", 3, 4}, {"scale", 7, 3}, {"translation", 10, 3}, {"scale", 13, 3}};
  const bool *given = job->tracks[m->node].given;
  bool apart = m->buffer >= 0, moves[model_width] = {0};
  double rest[model_width];
  if (!apart && !given[0] && !given[1] && !given[2]) return;
  put_pose(job->s, m, NULL, rest);
  for (size_t k = 0; k < job->count; k++) {
    double *pose = job->poses + k * model_width;
    put_pose(job->s, m, &(fbx_moment){job->tracks, job->times[k]}, pose);
    for (int c = 0; c < model_width; c++) moves[c] = moves[c] || pose[c] != rest[c];
  }
  for (int c = 0; c < (apart ? 5 : 3); c++) { // the last two are the buffer node's
    bool any = c == (apart ? 3 : 0) ? given[0] : (c == 1 || c == 2) && given[c];
    for (int k = 0; k < channels[c].width; k++) any = any || moves[channels[c].first + k];
    if (any)
      put_channel(job, c < 3 ? m->node : m->buffer, channels[c].path, job->poses + channels[c].first, model_width,
                  channels[c].width);
  }
}

static void add_weights(clip_job *job, const fbx_holder *holder) {
  bool any = false;
  size_t width = (size_t)holder->target_count;
  for (int c = 0; c < holder->channel_count; c++) {
    const fbx_curve *curve = holder->channels[c].object->percent;
    any = any || (curve && curve->count > 0);
  }
  double *rows = any ? sn_fbx_room(job->tree, job->count * width, sizeof *rows) : NULL;
  for (size_t k = 0; rows && k < job->count; k++)
    sn_fbx_holder_weights(holder, &(fbx_moment){job->tracks, job->times[k]}, rows + k * width);
  if (rows) put_channel(job, holder->node, "weights", rows, width, holder->target_count);
}

static void add_stack(clip_job *job, const fbx_object *stack) {
  fbx_scene *s = job->s;
  load_stack(job, stack);
  job->clip = json_pack("{s:[],s:[]}", "samplers", "channels");
  sn_gltf_set(&s->b, job->clip, "name", sn_fbx_json_text(s, stack->name));
  list_times(job);
  job->poses = sn_fbx_room(job->tree, job->count, model_width * sizeof *job->poses);
  job->inputs[0] = job->inputs[1] = -1;
  for (int m = 0; m < s->model_count && job->tree->status == SN_OK; m++) add_model(job, &s->models[m]);
  for (int h = 0; h < s->holder_count && job->tree->status == SN_OK; h++) add_weights(job, &s->holders[h]);
  sn_gltf_append_clip(&s->b, job->clip);
}

static clip_job new_job(fbx_scene *s) {
  return (clip_job){
    .s = s, .tree = &s->tree, .tracks = sn_fbx_take(&s->tree, (size_t)s->model_count, sizeof(fbx_track))};
}

void sn_fbx_add_clips(fbx_scene *s) {
  clip_job job = new_job(s);
  for (int o = 0; o < s->object_count && s->tree.status == SN_OK; o++)
    if (sn_fbx_is(s->objects[o].node, "AnimationStack")) add_stack(&job, &s->objects[o]);
}

// ---- before the nodes are made ---------------------------------------------------------------------------------------

// Updates `scaled` and `uneven` for a scale value; `first`: the scale of the x axis at its first key.
static void mark_scale(fbx_model *m, double scale, double first) {
  static const double rounding = 1e-6;
  m->scaled = m->scaled || fabs(scale - 1) > rounding;
  m->uneven = m->uneven || fabs(scale - first) > rounding * fabs(first);
}

static void mark_track(fbx_model *m, const fbx_track *track) {
  const fbx_curve *x = &track->curves[6];
  double first = x->count > 0 ? x->keys[0].value : track->values[6];
  m->animated = m->animated || track->given[0] || track->given[1] || track->given[2];
  for (int k = 6; k < 9 && track->given[2]; k++) {
    if (track->curves[k].count == 0) mark_scale(m, track->values[k], first);
    for (int i = 0; i < track->curves[k].count; i++) mark_scale(m, track->curves[k].keys[i].value, first);
  }
}

void sn_fbx_mark_animated(fbx_scene *s) {
  clip_job job = new_job(s);
  for (int m = 0; m < s->model_count; m++)
    for (int k = 6; k < 9; k++) mark_scale(&s->models[m], s->models[m].lcl[k], s->models[m].lcl[6]);
  for (int o = 0; o < s->object_count && s->tree.status == SN_OK; o++) {
    if (!sn_fbx_is(s->objects[o].node, "AnimationStack")) continue;
    load_stack(&job, &s->objects[o]);
    for (int m = 0; m < s->model_count; m++) mark_track(&s->models[m], &job.tracks[m]);
  }
}
