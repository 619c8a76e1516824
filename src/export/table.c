// SPDX-License-Identifier: MIT
// The driver table of a model, in the axes of the joints' nodes (docs/reference/driver-table.md).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "export/export.h"

static const double tolerance = 1e-3; // of the diagonal, and of a scale

// ---- the skeleton -------------------------------------------------------------------------------------------------------------

static int find_name(const sn_skeleton *skeleton, int count, const char *name) {
  int j = 0;
  while (j < count && strcmp(skeleton->names[j], name) != 0) j++;
  return j < count ? j : -1;
}

// Takes the joints' rest transforms from the file: their axes may differ from training, their positions may not.
static sn_status place_joints(sn_context *ctx, const sn_gltf *base, double diagonal, int count, sn_skeleton *ours) {
  sn_skeleton theirs;
  sn_status status = sn_gltf_skeleton(ctx, base, &theirs, NULL);
  for (int j = 0; status == SN_OK && j < count; j++) {
    int k = find_name(&theirs, theirs.joint_count, ours->names[j]);
    if (k < 0) {
      status = sn_fail(ctx, SN_BAD_INPUT, "%s has no joint '%s': give the skeleton that the model was trained with",
                       base->name, ours->names[j]);
      continue;
    }
    double away = sn_vec3_distance(sn_affine_translation(theirs.rest[k]), sn_affine_translation(ours->rest[j]));
    ours->rest[j] = theirs.rest[k];
    if (!(away <= tolerance * diagonal))
      status = sn_fail(ctx, SN_BAD_INPUT,
                       "%s: joint '%s' is %.3g %% of the diagonal away from its place in training, at rest; give the "
                       "skeleton that the model was trained with, or train with this one",
                       base->name, ours->names[j], 100 * away / diagonal);
  }
  sn_skeleton_free(&theirs);
  return status;
}

// Helper n: parallel to the axes of the mesh, in the unit of its parent.
static sn_status add_helper(sn_context *ctx, const sn_gltf *base, const sn_rt_helper *h, int j, sn_skeleton *out) {
  char name[32];
  int number = 0;
  do snprintf(name, sizeof name, "helper_%d", number++);
  while (find_name(out, j, name) >= 0);
  out->names[j] = sn_arena_text(ctx, &out->memory, name);
  if (!out->names[j]) return ctx->error.status;
  out->rest[j] = sn_affine_make(sn_mat3_identity(), sn_vec3_from(h->centre));
  if (h->parent == SN_RT_NO_JOINT) return SN_OK;
  out->parents[j] = h->parent;
  sn_vec3 t, s;
  sn_quat r;
  double loss = sn_affine_to_trs(out->rest[h->parent], &t, &r, &s);
  out->rest[j] = sn_affine_make(sn_mat3_diagonal(s.x, s.x, s.x), sn_vec3_from(h->centre));
  if (!(loss <= tolerance) || !(s.x > 0) || fabs(s.y / s.x - 1) > tolerance || fabs(s.z / s.x - 1) > tolerance)
    return sn_fail(
      ctx, SN_UNSUPPORTED,
      "%s: joint '%s' is scaled differently along its axes at rest: apply the rig's scale and train again",
      base->name, out->names[h->parent]);
  return SN_OK;
}

// The inner node of a helper.
static sn_status add_inner(sn_context *ctx, int helper, int j, sn_skeleton *out) {
  char name[64];
  snprintf(name, sizeof name, "%s_inner", out->names[helper]);
  out->names[j] = sn_arena_text(ctx, &out->memory, name);
  out->parents[j] = helper, out->rest[j] = out->rest[helper];
  return out->names[j] ? SN_OK : ctx->error.status;
}

static sn_status make_skeleton(sn_context *ctx, const sn_rt_model *model, const sn_gltf *base, sn_table *t) {
  int count = (int)model->info.joint_count, end = (int)model->info.palette_count;
  const sn_rt_helper *helpers = sn_rt_find_section(model, "drive.helpers", NULL);
  sn_skeleton joints = {0}, *out = &t->skeleton;
  sn_mesh mesh = {0};
  sn_status status = sn_skeleton_new(ctx, end + (t->nested ? t->helper_count : 0), out);
  if (status == SN_OK) status = sn_model_skeleton(ctx, model, &joints);
  if (status == SN_OK) status = sn_model_mesh(ctx, model, &mesh);
  for (int j = 0; status == SN_OK && j < count; j++) {
    out->names[j] = sn_arena_text(ctx, &out->memory, joints.names[j]);
    out->parents[j] = joints.parents[j], out->rest[j] = joints.rest[j];
    if (!out->names[j]) status = ctx->error.status;
  }
  double diagonal = status == SN_OK ? sn_points_diagonal((const float(*)[3])mesh.positions, mesh.vertex_count) : 0;
  if (status == SN_OK && count > 0) status = place_joints(ctx, base, diagonal, count, out);
  for (int j = count; status == SN_OK && j < end; j++) status = add_helper(ctx, base, helpers + (j - count), j, out);
  for (int j = end; status == SN_OK && j < out->joint_count; j++) status = add_inner(ctx, j - end + count, j, out);
  if (status == SN_OK) status = sn_skeleton_sort(ctx, out);
  sn_skeleton_free(&joints);
  sn_mesh_free(&mesh);
  return status;
}

// ---- drivers --------------------------------------------------------------------------------

// Per joint of the file: its parent joint, and the rotation from that to the node's parent.
struct sn_table_nodes {
  gltf_rig rig;
  const sn_rt_reference *references;
};
typedef sn_table_nodes nodes_between;

static sn_status find_nodes(sn_context *ctx, const sn_gltf *base, bool kept, sn_table *t, nodes_between *out) {
  int n = t->joint_count;
  gltf_rig *rig = &out->rig;
  int *joint_of_node = SN_NEW(ctx, &t->memory, int, base->node_count);
  *rig = (gltf_rig){.nodes = SN_NEW(ctx, &t->memory, int, n),
                    .parents = SN_NEW(ctx, &t->memory, int, n),
                    .order = SN_NEW(ctx, &t->memory, int, n),
                    .chain = SN_NEW(ctx, &t->memory, sn_affine, n)};
  if (!joint_of_node || !rig->nodes || !rig->parents || !rig->order || !rig->chain) return ctx->error.status;
  if (!sn_gltf_find_joints(base, t->skeleton.names, n, rig, joint_of_node))
    return sn_fail(ctx, SN_UNSUPPORTED,
                   "%s: two joints of the model have the same node: give them names of their own", base->name);
  for (int j = 0; !kept && j < n; j++) rig->parents[j] = t->skeleton.parents[j], rig->chain[j] = sn_affine_identity();
  return SN_OK;
}

static sn_quat rotation_of(sn_affine a) {
  sn_vec3 t, s;
  sn_quat r;
  sn_affine_to_trs(a, &t, &r, &s);
  return r;
}

int sn_table_find_driver(sn_context *ctx, sn_table *t, const nodes_between *nodes, int reference_index,
                         const float *rest) {
  const sn_rt_reference *r = nodes->references + reference_index;
  int d = 0, parent = r->parent == SN_RT_NO_JOINT ? -1 : r->parent;
  while (d < t->driver_count && t->drivers[d].joint != r->joint) d++;
  if (d < t->driver_count) return d;
  if (nodes->rig.parents[r->joint] != parent) {
    sn_fail(ctx, SN_BAD_INPUT,
            "joint '%s' has another parent in the skeleton than in training: '%s' there, '%s' here",
            t->skeleton.names[r->joint], parent < 0 ? "none" : t->skeleton.names[parent],
            nodes->rig.parents[r->joint] < 0 ? "none" : t->skeleton.names[nodes->rig.parents[r->joint]]);
    return -1;
  }
  sn_quat reference = {r->rotation[0], r->rotation[1], r->rotation[2], r->rotation[3]};
  sn_quat above = rotation_of(nodes->rig.chain[r->joint]);
  if (parent >= 0) above = sn_quat_mul(rotation_of(t->skeleton.rest[parent]), above);
  sn_table_driver *out = t->drivers + t->driver_count++;
  *out = (sn_table_driver){.joint = r->joint, .parent = parent};
  out->before = sn_quat_normalize(sn_quat_mul(sn_quat_conjugate(reference), above));
  out->after = sn_quat_conjugate(rotation_of(t->skeleton.rest[r->joint]));
  memcpy(out->rest, rest, sizeof out->rest);
  return d;
}

// ---- functions --------------------------------------------------------------------------------

static void add_values(const sn_rt_model *model, sn_table *t) {
  for (uint32_t v = 0; v < model->info.value_count; v++) {
    sn_table_driver *d = t->drivers + t->driver_count++;
    *d = (sn_table_driver){.value = sn_rt_value_name(model, v), .joint = -1};
    sn_rt_value_range(model, v, d->range);
  }
}

// The sum of drive.linear as products of values, a row of channels each.
static sn_status read_products(sn_context *ctx, const sn_rt_model *model, sn_table *t) {
  uint64_t size = 0;
  const sn_rt_linear *at = sn_rt_find_section(model, "drive.linear", &size), *end = at + size / sizeof *at;
  t->products = SN_NEW(ctx, &t->memory, sn_table_product, size / sizeof *at);
  if (!t->products) return ctx->error.status;
  while (at < end) {
    int n = at->place / SN_RT_LINEAR_PLACES, k = 0, channel;
    sn_table_helper *h = t->helpers + n;
    sn_table_product product = {0}, *same = t->products + t->product_count;
    float factor = 1;
    do {
      factor *= at->number, channel = at->place % SN_RT_LINEAR_PLACES;
      if (at->value != SN_RT_NO_JOINT && product.driver_count == 2)
        return sn_fail(ctx, SN_UNSUPPORTED,
                       "helpers that products of three values drive are not exported: write clips with `eval`");
      if (at->value != SN_RT_NO_JOINT)
        product.drivers[product.driver_count++] = at->value, factor *= SN_RT_VALUE_SPAN;
    } while (++at < end && channel == SN_RT_LINEAR_FACTOR);
    if (h->product_count == 0) h->first_product = t->product_count;
    for (; k < h->product_count; k++) {
      same = t->products + h->first_product + k;
      if (memcmp(same, &product, offsetof(sn_table_product, mix)) == 0) break;
    }
    if (k == h->product_count) *(same = t->products + t->product_count++) = product, h->product_count++;
    if (channel < SN_RT_LINEAR_CHANNELS)
      same->mix[channel] += factor / (channel < 3 ? (float)t->skeleton.rest[t->joint_count + n].m[0][0] : 1);
  }
  return SN_OK;
}

static sn_status fill_helper(sn_context *ctx, sn_table *t, const nodes_between *nodes, const sn_rt_model *model,
                             int n) {
  const sn_rt_helper *h = (const sn_rt_helper *)sn_rt_find_section(model, "drive.helpers", NULL) + n;
  const sn_rt_terms *terms = (const sn_rt_terms *)sn_rt_find_section(model, "drive.terms", NULL) + h->first_group;
  const float *mix =
    (const float *)sn_rt_find_section(model, "drive.mix", NULL) + SN_RT_HELPER_ROW * (size_t)h->first_row;
  sn_table_helper *out = t->helpers + n;
  sn_affine inverse = sn_affine_identity();
  sn_vec3 scale;
  *out = (sn_table_helper){.parent = t->skeleton.parents[t->joint_count + n],
                           .first_function = t->function_count,
                           .function_count = h->group_count};
  if (out->parent >= 0) sn_affine_invert(t->skeleton.rest[out->parent], &inverse);
  sn_affine_to_trs(sn_affine_mul(inverse, t->skeleton.rest[t->joint_count + n]), &out->translation, &out->rotation,
                   &scale);
  float unit[SN_RT_HELPER_CHANNELS] = {1, 1, 1, 1, 1, 1, 1}; // translations are in the unit of the node
  for (int c = 0; c < 3; c++) unit[c] = (float)(1 / t->skeleton.rest[t->joint_count + n].m[0][0]);
  for (int c = 0; c < SN_RT_HELPER_CHANNELS; c++)
    out->low[c] = unit[c] * h->low[c], out->high[c] = unit[c] * h->high[c];
  for (int g = 0; g < h->group_count; g++) {
    sn_table_function *f = t->functions + t->function_count++;
    if (terms[g].kind != SN_RT_TERMS_JOINT)
      return sn_fail(ctx, SN_UNSUPPORTED,
                     "only helpers that single joints drive are exported: write clips with `eval`");
    f->driver = sn_table_find_driver(ctx, t, nodes, terms[g].a, terms[g].rest[0]);
    if (f->driver < 0) return ctx->error.status;
    for (int k = 0; k < SN_RT_QUADRATIC; k++, mix += SN_RT_HELPER_ROW)
      for (int c = 0; c < SN_RT_HELPER_CHANNELS; c++) f->mix[k][c] = unit[c] * mix[c];
  }
  return SN_OK;
}

sn_status sn_table_read(sn_context *ctx, const sn_rt_model *model, const sn_table_use *use, sn_table *out) {
  uint64_t size = 0;
  *out = (sn_table){.joint_count = (int)model->info.joint_count, .memory = sn_arena_new(ctx)};
  out->nested = use->nested && sn_rt_find_section(model, "drive.linear", NULL);
  out->helper_count = (int)model->info.palette_count - out->joint_count;
  nodes_between nodes = {.references = sn_rt_find_section(model, "joint.reference", NULL)};
  sn_rt_find_section(model, "drive.terms", &size);
  out->drivers = SN_NEW(ctx, &out->memory, sn_table_driver, out->joint_count + (int)model->info.value_count);
  out->functions = SN_NEW(ctx, &out->memory, sn_table_function, size / sizeof(sn_rt_terms));
  out->helpers = SN_NEW(ctx, &out->memory, sn_table_helper, out->helper_count);
  sn_status status = out->drivers && out->functions && out->helpers ? SN_OK : ctx->error.status;
  if (status == SN_OK) add_values(model, out), status = make_skeleton(ctx, model, use->base, out);
  if (status == SN_OK) status = find_nodes(ctx, use->base, use->kept, out, &nodes);
  for (int n = 0; status == SN_OK && n < out->helper_count; n++) status = fill_helper(ctx, out, &nodes, model, n);
  if (status == SN_OK) status = read_products(ctx, model, out);
  if (status == SN_OK && model->info.correct != SN_RT_CORRECT_NONE)
    status = sn_table_read_shapes(ctx, model, &nodes, out);
  if (status != SN_OK) sn_table_free(out);
  return status;
}

void sn_table_free(sn_table *table) {
  sn_skeleton_free(&table->skeleton);
  sn_arena_free(&table->memory);
  *table = (sn_table){0};
}

// ---- JSON --------------------------------------------------------------------------------

static json_t *numbers(const float *values, int count) {
  json_t *out = json_array();
  for (int k = 0; k < count; k++) json_array_append_new(out, json_real(values[k]));
  return out;
}

static json_t *quaternion(sn_quat q) { return json_pack("[ffff]", q.x, q.y, q.z, q.w); }

static json_t *driver_json(const sn_table *t, const sn_table_driver *d) {
  if (d->value) return json_pack("{ss sf sf}", "value", d->value, "low", d->range[0], "high", d->range[1]);
  return json_pack("{ss so so so}", "joint", t->skeleton.names[d->joint], "before", quaternion(d->before), "after",
                   quaternion(d->after), "rest", numbers(d->rest, 3));
}

static json_t *products_json(const sn_table *t, const sn_table_helper *h) {
  json_t *out = h->product_count ? json_array() : NULL;
  for (int k = h->first_product; k < h->first_product + h->product_count; k++) {
    json_t *drivers = json_array();
    for (int d = 0; d < t->products[k].driver_count; d++)
      json_array_append_new(drivers, json_integer(t->products[k].drivers[d]));
    json_array_append_new(
      out, json_pack("{so so}", "drivers", drivers, "mix", numbers(t->products[k].mix, SN_RT_LINEAR_CHANNELS)));
  }
  return out;
}

static json_t *helper_json(const sn_table *t, int n) {
  const sn_table_helper *h = t->helpers + n;
  json_t *functions = json_array();
  for (int g = 0; g < h->function_count; g++) {
    const sn_table_function *f = t->functions + h->first_function + g;
    json_t *mix = json_array();
    for (int k = 0; k < SN_RT_QUADRATIC; k++) json_array_append_new(mix, numbers(f->mix[k], SN_RT_HELPER_CHANNELS));
    json_array_append_new(functions, json_pack("{si so}", "driver", f->driver, "mix", mix));
  }
  return json_pack("{ss ss? s[fff] so so so so so*}", "name", t->skeleton.names[t->joint_count + n], "parent",
                   h->parent < 0 ? NULL : t->skeleton.names[h->parent], "translation", h->translation.x,
                   h->translation.y, h->translation.z, "rotation", quaternion(h->rotation), "low",
                   numbers(h->low, SN_RT_HELPER_CHANNELS), "high", numbers(h->high, SN_RT_HELPER_CHANNELS),
                   "functions", functions, "products", products_json(t, h));
}

json_t *sn_table_json(const sn_table *t) {
  json_t *drivers = json_array(), *helpers = json_array();
  for (int d = 0; d < t->driver_count; d++) json_array_append_new(drivers, driver_json(t, t->drivers + d));
  for (int n = 0; n < t->helper_count; n++) json_array_append_new(helpers, helper_json(t, n));
  json_t *out = json_pack("{si so so}", "version", 1, "drivers", drivers, "helpers", helpers);
  bool whole =
    json_array_size(drivers) == (size_t)t->driver_count && json_array_size(helpers) == (size_t)t->helper_count;
  if (t->shape_count > 0) whole = sn_table_add_shapes(t, out) && whole;
  return whole ? out : NULL;
}
