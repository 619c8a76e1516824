// SPDX-License-Identifier: MIT
// Animation stacks become clips. A model's curves are sampled at all of their keys and, where what lies between two keys is not what
// a glTF player makes of them, at the frames of the file's time line.
#include "formats/fbx/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { part_count = 3, model_width = 16 }; // translation, rotation, scale; translation and scale of the node between
static const char *const parts[part_count] = {"Lcl Translation", "Lcl Rotation", "Lcl Scaling"};

void sn_fbx_lcl_at(const fbx_scene *s, int model, const fbx_moment *moment, double out[9]) {
  memcpy(out, s->models[model].lcl, sizeof s->models[model].lcl);
  if (!moment) return;
  const fbx_track *track = &moment->tracks[model];
  for (int k = 0; k < 9; k++) {
    const fbx_curve *curve = &track->curves[k];
    if (track->given[k / 3]) out[k] = track->values[k];
    if (curve->count > 0) out[k] = sn_fbx_curve_at(curve, moment->time, moment->before);
  }
}

// ---- what a stack moves ------------------------------------------------------------------------------------------------

typedef struct clip_job {
  fbx_scene *s;
  fbx_track *tracks; // of every model
  double start;
  // samples of one thing: the time and `width` numbers each
  int width;
  size_t count, room; // room: numbers
  double *rows;
  const fbx_model *model;   // what is sampled: a model
  const fbx_holder *holder; // or the weights of a mesh
  double *times;            // of its keys
  size_t time_count, time_room;
  json_t *clip;
} clip_job;

static int axis_of(const fbx_value *property, int count) {
  static const char *const axes[] = {"d|X", "d|Y", "d|Z", "d|DeformPercent"};
  for (int k = 0; k < 4; k++)
    if (sn_fbx_says(property, axes[k])) return k < count ? k : count == 1 && k == 3 ? 0 : -1;
  return -1;
}

// The curves of a curve node, one for each of `count` numbers, and the numbers of those that have none.
static sn_status load_curves(clip_job *job, int node, int count, fbx_curve *curves, double *values) {
  fbx_scene *s = job->s;
  static const char *const axes[] = {"d|X", "d|Y", "d|Z"};
  int at = 0, object;
  const fbx_link *link;
  sn_status status = SN_OK;
  for (int k = 0; k < count; k++) {
    curves[k] = (fbx_curve){0};
    values[k] = sn_fbx_property_number(&s->objects[node], count == 1 ? "d|DeformPercent" : axes[k], values[k]);
  }
  while (status == SN_OK && (object = sn_fbx_next_below(s, node, "AnimationCurve", &at, &link)) >= 0) {
    int axis = axis_of(link->property, count);
    if (axis < 0) continue;
    status = sn_fbx_load_curve(s, &s->objects[object], &curves[axis]);
    if (curves[axis].count > 0) job->start = fmin(job->start, curves[axis].keys[0].time);
  }
  return status;
}

static sn_status refuse_layers(clip_job *job, const fbx_object *object, const char *property) {
  return sn_fail(job->s->tree.ctx, SN_UNSUPPORTED,
                 "two animation layers move %s of %.200s; merge (bake) the layers and export again", property,
                 object->name);
}

// Properties of a transform that Sinew takes to stand still.
static sn_status check_still(clip_job *job, const fbx_link *link) {
  static const char *const still[] = {
    "PreRotation",  "PostRotation",  "RotationOffset",       "RotationPivot",     "ScalingOffset",
    "ScalingPivot", "RotationOrder", "GeometricTranslation", "GeometricRotation", "GeometricScaling"};
  int at = 0;
  if (sn_fbx_next_below(job->s, link->child, "AnimationCurve", &at, NULL) < 0) return SN_OK;
  for (size_t k = 0; k < sizeof still / sizeof *still; k++) {
    if (sn_fbx_says(link->property, still[k]))
      return sn_fail(
        job->s->tree.ctx, SN_UNSUPPORTED,
        "%s of %.200s is animated, which Sinew cannot read; bake the animation to translation, rotation and "
        "scale, and export again",
        still[k], job->s->objects[link->parent].name);
  }
  return SN_OK;
}

// `override`: this layer replaces those below it.
static sn_status take_link(clip_job *job, const fbx_link *link, bool override) {
  fbx_scene *s = job->s;
  fbx_object *object = &s->objects[link->parent];
  if (object->model >= 0) { // its transform
    fbx_track *track = &job->tracks[object->model];
    for (int k = 0; k < part_count; k++) {
      if (!sn_fbx_says(link->property, parts[k])) continue;
      if (track->given[k] && !override) return refuse_layers(job, object, parts[k]);
      track->given[k] = true;
      memcpy(track->values + 3 * k, s->models[object->model].lcl + 3 * k, 3 * sizeof *track->values);
      return load_curves(job, link->child, 3, track->curves + 3 * k, track->values + 3 * k);
    }
    return check_still(job, link);
  }
  if (strcmp(object->type, "BlendShapeChannel") != 0 || !sn_fbx_says(link->property, "DeformPercent")) return SN_OK;
  if (object->percent && !override) return refuse_layers(job, object, "DeformPercent");
  double value = 0;
  object->percent = sn_fbx_take(&s->tree, 1, sizeof *object->percent);
  return object->percent ? load_curves(job, link->child, 1, object->percent, &value) : s->tree.ctx->error.status;
}

static sn_status load_layer(clip_job *job, int layer, bool override) {
  int at = 0, node;
  sn_status status = SN_OK;
  while (status == SN_OK && (node = sn_fbx_next_below(job->s, layer, "AnimationCurveNode", &at, NULL)) >= 0) {
    const fbx_link *link;
    int up = 0;
    while (status == SN_OK && (link = sn_fbx_next_above(job->s, node, &up)))
      if (link->property && link->parent >= 0) status = take_link(job, link, override);
  }
  return status;
}

static sn_status load_stack(clip_job *job, int stack) {
  fbx_scene *s = job->s;
  size_t size = (size_t)s->model_count * sizeof *job->tracks;
  sn_status status = sn_fbx_spend(&s->tree, size, 1); // the time that it takes
  int at = 0, layer, number = 0;
  job->start = INFINITY;
  memset(job->tracks, 0, size);
  for (int o = 0; o < s->object_count; o++) s->objects[o].percent = NULL;
  while (status == SN_OK && (layer = sn_fbx_next_below(s, stack, "AnimationLayer", &at, NULL)) >= 0) {
    const fbx_object *object = &s->objects[layer];
    double weight = sn_fbx_property_number(object, "Weight", 100);
    bool override = sn_fbx_property_number(object, "BlendMode", 0) == 1 && weight == 100;
    if (sn_fbx_property_number(object, "Mute", 0) != 0 || (weight == 0 && number > 0)) continue;
    status = load_layer(job, layer, override);
    if (status == SN_OK && number++ > 0 && weight != 100)
      status = sn_fail(s->tree.ctx, SN_UNSUPPORTED,
                       "the animation layer %.200s has a weight of %g %%; merge (bake) the layers and export again",
                       object->name, weight);
  }
  if (!isfinite(job->start)) job->start = 0;
  return status;
}

// ---- sampling --------------------------------------------------------------------------------------------------------

// Weights of a channel's targets: each is whole at its percentage, and between two of them both count.
static void put_weights(const struct fbx_channel *channel, double percent, double *out) {
  int k = 0, count = channel->count;
  const double *full = channel->full;
  for (int t = 0; t < count; t++) out[t] = 0;
  while (k + 1 < count && percent > full[k]) k++;
  double low = k > 0 ? full[k - 1] : 0, span = full[k] - low, along = span != 0 ? (percent - low) / span : 1;
  out[k] = along;
  if (k > 0) out[k - 1] = 1 - along;
}

void sn_fbx_holder_weights(const fbx_scene *s, const fbx_holder *holder, const fbx_moment *moment, double *out) {
  for (int c = 0; c < holder->channel_count; c++) {
    const struct fbx_channel *channel = &holder->channels[c];
    const fbx_curve *curve = moment ? s->objects[channel->object].percent : NULL;
    double percent = channel->percent;
    if (curve && curve->count > 0) percent = sn_fbx_curve_at(curve, moment->time, moment->before);
    put_weights(channel, percent, out + channel->first_target);
  }
}

static void put_pose(const clip_job *job, const fbx_moment *moment, double *out) {
  fbx_trs a, b;
  sn_fbx_pose(job->s, job->model, moment, &a, &b);
  const double values[model_width] = {a.t.x, a.t.y, a.t.z, a.r.x, a.r.y, a.r.z, a.r.w, a.s.x,
                                      a.s.y, a.s.z, b.t.x, b.t.y, b.t.z, b.s.x, b.s.y, b.s.z};
  memcpy(out, values, sizeof values);
}

static void sample(const clip_job *job, double time, bool before, double *out) {
  fbx_moment moment = {job->tracks, time, before};
  *out++ = time;
  if (job->holder) {
    sn_fbx_holder_weights(job->s, job->holder, &moment, out);
  } else {
    put_pose(job, &moment, out);
  }
}

// Whether m is what a player shows between a and b; rotations go the short way round a sphere.
static bool is_between(const clip_job *job, const double *a, const double *b, const double *m, double slack) {
  static const int ends[] = {3, 7, 10, 13, model_width};
  double along = b[0] > a[0] ? (m[0] - a[0]) / (b[0] - a[0]) : 0;
  for (int g = 0, k = 1; k <= job->width; g++) {
    int end = job->holder ? job->width : ends[g];
    bool turns = !job->holder && g == 1;
    double size = 0, off = 0;
    if (turns) {
      sn_quat p = {a[k], a[k + 1], a[k + 2], a[k + 3]}, q = {b[k], b[k + 1], b[k + 2], b[k + 3]};
      sn_quat r = sn_quat_slerp(p, q, along), t = {m[k], m[k + 1], m[k + 2], m[k + 3]};
      size = 1, off = sqrt(fmax(0, 2 - 2 * fabs(sn_quat_dot(r, t))));
      k = end + 1;
    }
    for (; k <= end; k++) {
      size = fmax(size, fmax(fabs(a[k]), fmax(fabs(b[k]), fabs(m[k]))));
      off = fmax(off, fabs(a[k] + along * (b[k] - a[k]) - m[k]));
    }
    if (!(off <= slack * size)) return false;
  }
  return true;
}

// `*list` with room for twice as many numbers as are needed.
static sn_status grow(clip_job *job, double **list, size_t used, size_t needed, size_t *room) {
  if (needed <= *room) return SN_OK;
  sn_status status = sn_fbx_spend(&job->s->tree, 2 * needed, sizeof **list);
  double *larger = status == SN_OK ? sn_fbx_take(&job->s->tree, 2 * needed, sizeof *larger) : NULL;
  if (!larger) return job->s->tree.ctx->error.status;
  if (used > 0) memcpy(larger, *list, used * sizeof *larger);
  *list = larger, *room = 2 * needed;
  return SN_OK;
}

static sn_status put_row(clip_job *job, const double *row) {
  size_t width = (size_t)job->width + 1, used = job->count * width;
  sn_status status = grow(job, &job->rows, used, used + width, &job->room);
  if (status == SN_OK) memcpy(job->rows + used, row, width * sizeof *row), job->count++;
  return status;
}

// Samples from key time a up to b, without b: the frames between them where they are not on the straight way. `scratch` has room for
// four rows.
static sn_status sample_between(clip_job *job, double a, double b, double *scratch) {
  size_t width = (size_t)job->width + 1;
  double *from = scratch, *to = from + width, *here = to + width, *after = here + width;
  bool straight = true;
  sample(job, a, false, from);
  sample(job, b, true, to);
  sample(job, b, false, after);
  bool jumps = !is_between(job, after, after, to, 1e-6);
  sn_status status = put_row(job, from);
  for (int k = 0; k < 3 && straight; k++) { // places where whole turns do not meet
    sample(job, a + (b - a) * (double[]){0.23, 0.47, 0.71}[k], false, here);
    straight = is_between(job, from, to, here, 1e-5);
  }
  double first = floor(a * job->s->rate) + 1, frames = straight ? 0 : ceil(b * job->s->rate) - first;
  for (double f = 0; status == SN_OK && f < frames; f++) {
    double time = (first + f) / job->s->rate;
    if (time - a < 1e-6 || b - time < 1e-6) continue;
    sample(job, time, false, here);
    status = put_row(job, here);
  }
  to[0] = b - fmax(1e-6, 2e-6 * fabs(b)); // more than a float's rounding
  return status == SN_OK && jumps && to[0] > a ? put_row(job, to) : status;
}

static int compare_times(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static sn_status add_times(clip_job *job, const fbx_curve *curve) {
  size_t used = job->time_count;
  sn_status status = grow(job, &job->times, used, used + (size_t)curve->count + 1, &job->time_room);
  for (int k = 0; k < curve->count && status == SN_OK; k++) job->times[job->time_count++] = curve->keys[k].time;
  return status;
}

// All samples of what the job is set to, with the key times that were gathered.
static sn_status sample_all(clip_job *job) {
  size_t width = (size_t)job->width + 1;
  job->count = 0;
  if (job->time_count == 0) job->times[job->time_count++] = job->start;
  qsort(job->times, job->time_count, sizeof *job->times, compare_times);
  size_t count = 1;
  for (size_t k = 1; k < job->time_count; k++)
    if (job->times[k] > job->times[count - 1]) job->times[count++] = job->times[k];
  sn_arena scratch = sn_arena_new(job->s->tree.ctx);
  double *rows = SN_NEW(job->s->tree.ctx, &scratch, double, 4 * width);
  sn_status status = rows ? SN_OK : job->s->tree.ctx->error.status;
  for (size_t k = 0; k + 1 < count && status == SN_OK; k++)
    status = sample_between(job, job->times[k], job->times[k + 1], rows);
  if (status == SN_OK) {
    sample(job, job->times[count - 1], false, rows);
    status = put_row(job, rows);
  }
  sn_arena_free(&scratch);
  return status;
}

// ---- channels ----------------------------------------------------------------------------------------------------------

// Numbers first .. first + width - 1 of every sample as a channel; the first and the last where they never change.
static sn_status put_channel(clip_job *job, int node, const char *path, int first, int width) {
  fbx_scene *s = job->s;
  size_t row = (size_t)job->width + 1, size = (size_t)width * sizeof *job->rows;
  bool still = true;
  for (size_t k = 1; k < job->count && still; k++)
    still = memcmp(job->rows + row * k + 1 + first, job->rows + 1 + first, size) == 0;
  size_t count = still && job->count > 2 ? 2 : job->count, step = count < job->count ? job->count - 1 : 1;
  sn_status status = sn_fbx_spend(&s->tree, count * ((size_t)width + 1), sizeof(float));
  if (status == SN_OK && count * (size_t)width > INT32_MAX)
    status = sn_fail(s->tree.ctx, SN_BAD_FILE, "a clip has too many keys");
  sn_arena scratch = sn_arena_new(s->tree.ctx);
  float *times = SN_NEW(s->tree.ctx, &scratch, float, count);
  float *values = SN_NEW(s->tree.ctx, &scratch, float, count *(size_t)width);
  if (status == SN_OK && (!times || !values)) status = s->tree.ctx->error.status;
  for (size_t k = 0; status == SN_OK && k < count; k++) {
    const double *from = job->rows + row * k * step;
    times[k] = (float)from[0];
    for (int c = 0; c < width; c++) values[k * (size_t)width + (size_t)c] = (float)from[1 + first + c];
  }
  if (status == SN_OK) {
    bool weights = strcmp(path, "weights") == 0;
    int n = (int)count, input = sn_gltf_add_accessor(&s->b, times, n, GLTF_FLOAT, 1, 0, true);
    int output =
      sn_gltf_add_accessor(&s->b, values, weights ? n * width : n, GLTF_FLOAT, weights ? 1 : width, 0, false);
    sn_gltf_add_channel(&s->b, job->clip, node, path, input, output);
  }
  sn_arena_free(&scratch);
  return status;
}

// Whether numbers first .. last - 1 are ever others than in the default pose.
static bool moves(const clip_job *job, int first, int last) {
  double rest[model_width];
  put_pose(job, NULL, rest);
  for (size_t k = 0; k < job->count; k++) {
    const double *row = job->rows + k * (1 + model_width);
    if (memcmp(row + 1 + first, rest + first, (size_t)(last - first) * sizeof *row) != 0) return true;
  }
  return false;
}

static sn_status add_model(clip_job *job, int model) {
  fbx_scene *s = job->s;
  const fbx_model *m = job->model = &s->models[model];
  const fbx_track *track = &job->tracks[model];
  job->holder = NULL, job->width = model_width, job->time_count = 0;
  bool given = track->given[0] || track->given[1] || track->given[2];
  sn_status status = SN_OK;
  for (int k = 0; k < 9 && status == SN_OK; k++) status = add_times(job, &track->curves[k]);
  for (int p = m->parent; m->buffer >= 0 && p >= 0 && status == SN_OK; p = s->models[p].parent) {
    given = given || job->tracks[p].given[2];
    status = sn_fbx_spend(&s->tree, 64, 1); // the time that it takes
    for (int k = 6; k < 9 && status == SN_OK; k++) status = add_times(job, &job->tracks[p].curves[k]);
    if (m->inherit == FBX_RRS) break;
  }
  if (!given || status != SN_OK) return status;
  status = sample_all(job);
  bool apart = m->buffer >= 0;
  if (status == SN_OK && (track->given[0] || moves(job, apart ? 10 : 0, apart ? 13 : 3)))
    status = put_channel(job, apart ? m->buffer : m->node, "translation", apart ? 10 : 0, 3);
  if (status == SN_OK && (track->given[1] || moves(job, 3, 7))) status = put_channel(job, m->node, "rotation", 3, 4);
  if (status == SN_OK && (track->given[2] || moves(job, 7, 10))) status = put_channel(job, m->node, "scale", 7, 3);
  if (status == SN_OK && apart && moves(job, 13, 16)) status = put_channel(job, m->buffer, "scale", 13, 3);
  return status;
}

static sn_status add_weights(clip_job *job, const fbx_holder *holder) {
  bool any = false;
  sn_status status = SN_OK;
  job->holder = holder, job->time_count = 0, job->width = holder->target_count;
  for (int c = 0; c < holder->channel_count && status == SN_OK; c++) {
    const fbx_curve *curve = job->s->objects[holder->channels[c].object].percent;
    if (curve && curve->count > 0) any = true, status = add_times(job, curve);
  }
  if (any && status == SN_OK) status = sample_all(job);
  if (any && status == SN_OK) status = put_channel(job, holder->node, "weights", 0, job->width);
  return status;
}

static sn_status add_stack(clip_job *job, int stack) {
  fbx_scene *s = job->s;
  sn_status status = load_stack(job, stack);
  if (status != SN_OK) return status;
  job->clip = json_object();
  sn_gltf_set(&s->b, job->clip, "name", sn_fbx_json_text(s, s->objects[stack].name));
  sn_gltf_set(&s->b, job->clip, "samplers", json_array());
  sn_gltf_set(&s->b, job->clip, "channels", json_array());
  for (int m = 0; m < s->model_count && status == SN_OK; m++) status = add_model(job, m);
  for (int h = 0; h < s->holder_count && status == SN_OK; h++) status = add_weights(job, &s->holders[h]);
  if (status == SN_OK && json_array_size(json_object_get(job->clip, "channels")) > 0) {
    sn_gltf_append(&s->b, "animations", job->clip);
  } else {
    json_decref(job->clip);
  }
  return status;
}

static sn_status new_job(fbx_scene *s, clip_job *job) {
  *job = (clip_job){.s = s, .tracks = sn_fbx_take(&s->tree, (size_t)s->model_count, sizeof *job->tracks)};
  return job->tracks ? SN_OK : s->tree.ctx->error.status;
}

sn_status sn_fbx_add_clips(fbx_scene *s) {
  clip_job job;
  sn_status status = new_job(s, &job);
  for (int o = 0; o < s->object_count && status == SN_OK; o++)
    if (sn_fbx_is(s->objects[o].node, "AnimationStack")) status = add_stack(&job, o);
  return status;
}

// ---- before the nodes are made ---------------------------------------------------------------------------------------

static void mark_scale(fbx_model *m, const double scale[3]) {
  static const double rounding = 1e-6;
  for (int k = 0; k < 3; k++) {
    m->scaled = m->scaled || fabs(scale[k] - 1) > rounding;
    m->uneven = m->uneven || fabs(scale[k] - scale[0]) > rounding * fabs(scale[0]);
  }
}

// Keys of different axes need not be at the same times: every value of one is held against all of the others.
static void mark_track(fbx_model *m, const fbx_track *track) {
  double low[3], high[3];
  for (int k = 0; k < 3; k++) {
    const fbx_curve *curve = &track->curves[6 + k];
    low[k] = INFINITY, high[k] = -INFINITY;
    for (int i = 0; i < curve->count; i++)
      low[k] = fmin(low[k], curve->keys[i].value), high[k] = fmax(high[k], curve->keys[i].value);
    if (curve->count == 0) low[k] = high[k] = track->values[6 + k];
    if (low[k] != high[k]) m->scaled = true, m->uneven = m->uneven || high[k] - low[k] > 1e-6 * fabs(high[k]);
  }
  mark_scale(m, low);
  mark_scale(m, high);
}

sn_status sn_fbx_mark_animated(fbx_scene *s) {
  clip_job job;
  sn_status status = new_job(s, &job);
  for (int k = 0; k < s->model_count; k++) mark_scale(&s->models[k], s->models[k].lcl + 6);
  for (int o = 0; o < s->object_count && status == SN_OK; o++) {
    if (!sn_fbx_is(s->objects[o].node, "AnimationStack")) continue;
    status = load_stack(&job, o);
    for (int k = 0; k < s->model_count && status == SN_OK; k++) {
      const bool *given = job.tracks[k].given;
      if (given[0] || given[1] || given[2]) s->models[k].animated = true;
      if (given[2]) mark_track(&s->models[k], &job.tracks[k]);
    }
  }
  return status;
}
