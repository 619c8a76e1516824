// SPDX-License-Identifier: MIT
// Animation curves: keys with the interpolation that the file gives them.
#include "formats/fbx/scene.h"

#include <math.h>
#include <string.h>

// Attributes that runs of keys share.
typedef struct key_attributes {
  int64_t *flags, *repeats;
  double *data;
  size_t flag_count, data_count, repeat_count;
} key_attributes;

static const double third = 1 / 3.0;

// Two weights of 16 bits each, in ten thousandths; stored as the bits of a float, in text as a whole number.
static void unpack_weights(double stored, double *right, double *left) {
  uint32_t bits;
  float single = (float)stored;
  memcpy(&bits, &single, sizeof bits);
  if (stored >= 1 && stored <= UINT32_MAX) bits = (uint32_t)stored;
  *right = (bits & 0xffff) * 1e-4, *left = (bits >> 16) * 1e-4;
}

static void set_attributes(fbx_key *key, int64_t flags, const double *data) {
  enum { constant = 2, linear = 4, next = 0x100, weighted_right = 1 << 24, weighted_left = 1 << 25 };
  key->kind = flags & constant ? (flags & next ? FBX_NEXT : FBX_CONSTANT) : flags & linear ? FBX_LINEAR : FBX_CUBIC;
  key->right_weight = key->left_weight = third;
  if (!data) return;
  double right, left;
  unpack_weights(data[2], &right, &left);
  key->right = isfinite(data[0]) ? data[0] : 0, key->left = isfinite(data[1]) ? data[1] : 0;
  if (flags & weighted_right) key->right_weight = fmin(right, 1);
  if (flags & weighted_left) key->left_weight = fmin(left, 1);
}

// Tension, continuity and bias (Kochanek and Bartels) become slopes.
static void set_tcb_slopes(fbx_curve *c, int k, const double *data) {
  fbx_key *key = &c->keys[k], *last = k > 0 ? key - 1 : NULL, *next = k + 1 < c->count ? key + 1 : NULL;
  double back = last ? (key->value - last->value) / (key->time - last->time) : 0;
  double ahead = next ? (next->value - key->value) / (next->time - key->time) : back;
  if (!last) back = ahead;
  double t = 1 - data[0], more = 1 + data[1], less = 1 - data[1], up = 1 + data[2], down = 1 - data[2];
  double right = t / 2 * (more * up * back + less * down * ahead),
         left = t / 2 * (less * up * back + more * down * ahead);
  key->right = isfinite(right) ? right : 0;
  if (last && last->kind == FBX_CUBIC) last->left = isfinite(left) ? left : 0;
}

static sn_status apply_attributes(fbx_scene *s, fbx_curve *c, const key_attributes *a) {
  enum { tcb = 0x200 };
  size_t key = 0;
  if (a->repeat_count < a->flag_count) return sn_fail(s->tree.ctx, SN_BAD_FILE, "KeyAttrRefCount is too short");
  for (size_t k = 0; k < a->flag_count; k++) {
    const double *data = 4 * k + 3 < a->data_count ? a->data + 4 * k : NULL;
    for (int64_t n = a->repeats[k]; n > 0 && key < (size_t)c->count; n--)
      set_attributes(&c->keys[key++], a->flags[k], data);
  }
  key = 0;
  for (size_t k = 0; k < a->flag_count; k++) {
    const double *data = 4 * k + 3 < a->data_count ? a->data + 4 * k : NULL;
    for (int64_t n = a->repeats[k]; n > 0 && key < (size_t)c->count; n--, key++)
      if (data && (a->flags[k] & tcb) && c->keys[key].kind == FBX_CUBIC) set_tcb_slopes(c, (int)key, data);
  }
  return SN_OK;
}

static sn_status load_keys(fbx_scene *s, const fbx_node *node, fbx_curve *out) {
  fbx_tree *tree = &s->tree;
  int64_t *times;
  double *values;
  size_t count, value_count;
  key_attributes a;
  sn_status status = sn_fbx_integers(tree, sn_fbx_child(node, "KeyTime"), &times, &count);
  if (status == SN_OK) status = sn_fbx_reals(tree, sn_fbx_child(node, "KeyValueFloat"), &values, &value_count);
  if (status == SN_OK) status = sn_fbx_integers(tree, sn_fbx_child(node, "KeyAttrFlags"), &a.flags, &a.flag_count);
  if (status == SN_OK) status = sn_fbx_reals(tree, sn_fbx_child(node, "KeyAttrDataFloat"), &a.data, &a.data_count);
  if (status == SN_OK)
    status = sn_fbx_integers(tree, sn_fbx_child(node, "KeyAttrRefCount"), &a.repeats, &a.repeat_count);
  if (status != SN_OK) return status;
  if (count != value_count || count > INT32_MAX)
    return sn_fail(tree->ctx, SN_BAD_FILE, "has %zu times and %zu values", count, value_count);
  status = sn_fbx_spend(tree, count, sizeof *out->keys);
  out->keys = status == SN_OK ? sn_fbx_take(tree, count, sizeof *out->keys) : NULL;
  if (!out->keys) return tree->ctx->error.status;
  out->count = (int)count;
  for (size_t k = 0; k < count; k++) {
    fbx_key *key = &out->keys[k];
    *key = (fbx_key){.time = (double)times[k] / s->second, .value = values[k], .kind = FBX_LINEAR};
    if (!isfinite(key->value) || fabs(key->time) > 1e7 || (k > 0 && !(key->time >= key[-1].time)))
      return sn_fail(tree->ctx, SN_BAD_FILE, "key %zu (%g at %g s) is not as it should be", k, key->value, key->time);
  }
  return a.flag_count > 0 ? apply_attributes(s, out, &a) : SN_OK;
}

sn_status sn_fbx_load_curve(fbx_scene *s, fbx_object *object, fbx_curve *out) {
  *out = (fbx_curve){0};
  if (!object->curve) {
    object->curve = sn_fbx_take(&s->tree, 1, sizeof *object->curve);
    if (!object->curve) return s->tree.ctx->error.status;
    if (load_keys(s, object->node, object->curve) != SN_OK)
      return sn_fail_prefix(s->tree.ctx, "animation curve %lld: ", (long long)object->id);
  }
  *out = *object->curve;
  return SN_OK;
}

// ---- values ------------------------------------------------------------------------------------------------------------

// A Bezier curve of time and value; the weights say how far its handles reach.
static double cubic(const fbx_key *a, const fbx_key *b, double s) {
  double span = b->time - a->time, w = a->right_weight, v = a->left_weight, u = s;
  if (w != third || v != third) { // the parameter at time s
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

double sn_fbx_curve_at(const fbx_curve *curve, double time, bool before) {
  int low = 0, high = curve->count;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if (before ? curve->keys[middle].time < time : curve->keys[middle].time <= time) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const fbx_key *a = &curve->keys[low], *b = a + 1;
  if (low + 1 == curve->count || time <= a->time) return a->value;
  if (a->kind == FBX_CONSTANT || a->kind == FBX_NEXT) return (a->kind == FBX_NEXT ? b : a)->value;
  double s = (time - a->time) / (b->time - a->time);
  return a->kind == FBX_LINEAR ? a->value + s * (b->value - a->value) : cubic(a, b, s);
}
