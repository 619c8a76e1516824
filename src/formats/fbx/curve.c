// SPDX-License-Identifier: MIT
// Animation curves: keys and interpolation.
#include "formats/fbx/scene.h"

#include <math.h>
#include <string.h>

static const double third = 1 / 3.0;

// Two 16-bit weights in units of 1e-4; stored as the bits of a float, in text as an integer.
static void unpack_weights(double stored, double *right, double *left) {
  uint32_t bits;
  float single = (float)stored;
  memcpy(&bits, &single, sizeof bits);
  if (stored >= 1 && stored <= UINT32_MAX) bits = (uint32_t)stored;
  *right = fmin((bits & 0xffff) * 1e-4, 1), *left = fmin((bits >> 16) * 1e-4, 1);
}

// Text files hold the bits of these floats as integers; what is below the bits of any normal float is a number.
static double float_of_bits(double stored) {
  bool bits = fabs(stored) >= 1 << 23 && fabs(stored) <= UINT32_MAX && floor(stored) == stored;
  return bits ? (double)sn_float_of((uint32_t)(int64_t)stored) : stored;
}

enum {
  constant = 2,
  linear = 4,
  next_value = 0x100, // of a constant key
  automatic = 0x100,  // of a cubic one
  tcb = 0x200,
  given_slopes = 0x400,
  flat_at_equals = 0x1000,
  time_independent = 0x2000,
  no_overshoot = 0x4000,
  weighted_right = 1 << 24,
  weighted_left = 1 << 25
};

static void set_attributes(fbx_key *key, int64_t flags, const double *data) {
  double right, left;
  key->kind = flags & constant ? (flags & next_value ? FBX_NEXT : FBX_CONSTANT)
              : flags & linear ? FBX_LINEAR
                               : FBX_CUBIC;
  key->right_weight = key->left_weight = third;
  if (!data) return;
  unpack_weights(data[2], &right, &left);
  key->right = isfinite(data[0]) ? data[0] : 0, key->left = isfinite(data[1]) ? data[1] : 0;
  if (flags & weighted_right) key->right_weight = right;
  if (flags & weighted_left) key->left_weight = left;
}

// Slope of an automatic tangent between two keys; back, ahead: the slopes of the straight lines to them.
static double automatic_slope(const fbx_key *last, const fbx_key *next, double back, double ahead, int64_t flags) {
  const fbx_key *key = last + 1;
  double span = next->time - last->time, share = (key->time - last->time) / span,
         slope = (next->value - last->value) / span;
  if (!(flags & time_independent)) slope = (slope + (1 - share) * back + share * ahead) / 2;
  if (!(flags & no_overshoot)) return slope;
  double sign = slope < 0 ? -1 : 1, most = fmin(sign * back / last->left_weight, sign * ahead / key->right_weight);
  return sign * fmax(0, fmin(sign * slope, most));
}

// Slopes on both sides of a cubic key that does not give them: automatic ones, or from tension, continuity and bias (Kochanek and
// Bartels).
static void set_slopes(fbx_tree *tree, fbx_curve *c, int k, int64_t flags, const double *data) {
  if (flags & tcb ? !data : (flags & given_slopes) || !(flags & automatic)) return;
  fbx_key *key = &c->keys[k], *last = k > 0 ? key - 1 : NULL, *next = k + 1 < c->count ? key + 1 : NULL;
  double back = last ? (key->value - last->value) / (key->time - last->time) : 0;
  double ahead = next ? (next->value - key->value) / (next->time - key->time) : 0, right, left;
  if (flags & tcb) {
    double t = (1 - data[0]) / (last && next ? 2 : 1), more = 1 + data[1], less = 1 - data[1], up = 1 + data[2],
           down = 1 - data[2];
    right = t * (more * up * back + less * down * ahead), left = t * (less * up * back + more * down * ahead);
  } else if ((flags & no_overshoot && !(last && next)) ||
             (flags & flat_at_equals && ((last && back == 0) || (next && ahead == 0)))) {
    right = left = 0;
  } else {
    if (data && data[0] != 0 && !(flags & time_independent))
      sn_fail_once(tree, SN_UNSUPPORTED, "key %d has a biased automatic tangent; bake the animation and export again",
                   k);
    right = left = last && next ? automatic_slope(last, next, back, ahead, flags) : back + ahead;
  }
  key->right = isfinite(right) ? right : 0;
  if (last && last->kind == FBX_CUBIC) last->left = isfinite(left) ? left : 0;
}

// Applies attributes shared by runs of keys, in order: the slopes of TCB keys need the kinds of the keys before them.
static void apply_attributes(fbx_tree *tree, const fbx_node *node, fbx_curve *c) {
  fbx_numbers flags = sn_fbx_numbers(tree, node, "KeyAttrFlags");
  fbx_numbers data = sn_fbx_numbers(tree, node, "KeyAttrDataFloat");
  fbx_numbers repeats = sn_fbx_numbers(tree, node, "KeyAttrRefCount");
  const fbx_value *list = sn_fbx_value(sn_fbx_child(node, "KeyAttrDataFloat"), 0);
  for (size_t k = 0; k < data.count && list->item == 't'; k++) data.values[k] = float_of_bits(data.values[k]);
  if (repeats.count < flags.count) sn_fail_once(tree, SN_BAD_FILE, "KeyAttrRefCount is too short");
  int key = 0;
  for (size_t k = 0; k < flags.count && tree->status == SN_OK; k++) {
    const double *numbers = 4 * k + 3 < data.count ? data.values + 4 * k : NULL;
    int64_t flag = fabs(flags.values[k]) <= UINT32_MAX ? (int64_t)flags.values[k] : 0;
    for (double n = repeats.values[k]; n > 0 && key < c->count; n--, key++) {
      set_attributes(&c->keys[key], flag, numbers);
      if (c->keys[key].kind == FBX_CUBIC) set_slopes(tree, c, key, flag, numbers);
    }
  }
}

// Whether the curve goes on beyond its keys, by other than a constant.
static bool goes_on(const fbx_node *node, const char *side) {
  const fbx_value *type = sn_fbx_value(sn_fbx_child(sn_fbx_child(node, side), "Type"), 0);
  return type && type->integer != 'C' && !sn_fbx_says(type, "C");
}

static void load_keys(fbx_scene *s, const fbx_node *node, fbx_curve *out) {
  fbx_tree *tree = &s->tree;
  fbx_numbers times = sn_fbx_numbers(tree, node, "KeyTime"), values = sn_fbx_numbers(tree, node, "KeyValueFloat");
  if (times.count != values.count || times.count > INT32_MAX)
    sn_fail_once(tree, SN_BAD_FILE, "has %zu times and %zu values", times.count, values.count);
  out->keys = sn_fbx_room(tree, times.count, sizeof *out->keys);
  if (!out->keys) return;
  out->count = (int)times.count;
  out->before = goes_on(node, "Pre-Extrapolation"), out->after = goes_on(node, "Post-Extrapolation");
  for (int k = 0; k < out->count && tree->status == SN_OK; k++) {
    fbx_key *key = &out->keys[k];
    *key = (fbx_key){.time = times.values[k] / s->second, .value = values.values[k], .kind = FBX_LINEAR};
    if (!isfinite(key->value) || !(fabs(key->time) <= 1e7) || (k > 0 && !(key->time >= key[-1].time)))
      sn_fail_once(tree, SN_BAD_FILE, "key %d (%g at %g s) is not finite, or earlier than the key before it", k,
                   key->value, key->time);
  }
  apply_attributes(tree, node, out);
}

fbx_curve sn_fbx_load_curve(fbx_scene *s, fbx_object *object, const char *owner) {
  if (!object->curve && (object->curve = sn_fbx_take(&s->tree, 1, sizeof *object->curve))) {
    load_keys(s, object->node, object->curve);
    if (s->tree.status != SN_OK) sn_fail_prefix(s->tree.ctx, "an animation curve of %.200s: ", owner);
  }
  return s->tree.status == SN_OK ? *object->curve : (fbx_curve){0};
}

// ---- values ------------------------------------------------------------------------------------------------------------

// Bezier curve of time and value; the weights are the relative lengths of its handles.
static double cubic(const fbx_key *a, const fbx_key *b, double s) {
  double span = b->time - a->time, w = a->right_weight, v = a->left_weight, u = s;
  if (w != third || v != third) { // solve for the parameter at time s
    double low = 0, high = 1;
    for (int k = 0; k < 50; k++) {
      u = (low + high) / 2;
      double x = 3 * u * (1 - u) * (1 - u) * w + 3 * u * u * (1 - u) * (1 - v) + u * u * u;
      *(x < s ? &low : &high) = u;
    }
  }
  double p1 = a->value + a->right * w * span, p2 = b->value - a->left * v * span, r = 1 - u;
  return r * r * r * a->value + 3 * u * r * r * p1 + 3 * u * u * r * p2 + u * u * u * b->value;
}

double sn_fbx_curve_at(const fbx_curve *curve, double time) {
  int low = 0, high = curve->count;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    *(curve->keys[middle].time <= time ? &low : &high) = middle;
  }
  const fbx_key *a = &curve->keys[low], *b = a + 1;
  if (low + 1 == curve->count || time <= a->time) return a->value;
  if (a->kind == FBX_CONSTANT || a->kind == FBX_NEXT) return (a->kind == FBX_NEXT ? b : a)->value;
  double s = (time - a->time) / (b->time - a->time);
  return a->kind == FBX_LINEAR ? a->value + s * (b->value - a->value) : cubic(a, b, s);
}
