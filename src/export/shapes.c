// SPDX-License-Identifier: MIT
// Corrections as morph targets: the weight of every displacement field as a sum over terms of the drivers.
#include <stdio.h>

#include "export/export.h"

typedef struct sums {
  const sn_rt_terms *terms; // correct.terms
  const float *mix;         // correct.mix
} sums;

static sn_status read_group(sn_context *ctx, const sums *s, int g, const sn_table_nodes *nodes, sn_table *t) {
  const sn_rt_terms *from = s->terms + g;
  sn_table_terms *to = t->groups + g;
  bool pair = from->kind == SN_RT_TERMS_PAIR;
  *to = (sn_table_terms){.first = t->term_count};
  if (from->kind == SN_RT_TERMS_VALUE)
    return sn_fail(ctx, SN_UNSUPPORTED, "shapes that named values drive are not exported: use `eval` -o FILE.glb");
  if (from->kind == SN_RT_TERMS_FUNCTIONS) return SN_OK; // expanded to the terms that they sum
  to->driver_count = pair ? 2 : 1, to->count = from->count;
  for (int d = 0; d < to->driver_count; d++) {
    to->drivers[d] = sn_table_find_driver(ctx, t, nodes, d ? from->b : from->a, from->rest[d]);
    if (to->drivers[d] < 0) return ctx->error.status;
  }
  if (from->kind == SN_RT_TERMS_GAUSS) {
    to->centres = (const float(*)[3])(const void *)(s->mix + from->first);
    to->width = from->width;
  }
  t->term_count += from->count;
  return SN_OK;
}

// Adds `factors`, one per term of group g, to a row of the table's mix.
static void add_group(const sn_table *t, const sums *s, int g, const float *factors, double *row) {
  const sn_rt_terms *from = s->terms + g;
  for (int k = 0; k < t->groups[g].count; k++) row[t->groups[g].first + k] += (double)factors[k];
  if (from->kind != SN_RT_TERMS_FUNCTIONS) return;
  const float *mix = s->mix + from->first;
  for (int f = 0; f < from->count; f++)
    for (int n = from->a; n < from->a + from->b; n++)
      for (int k = 0; k < t->groups[n].count; k++) row[t->groups[n].first + k] += (double)factors[f] * (double)*mix++;
}

static sn_status read_field(sn_context *ctx, const sums *s, const sn_rt_field *f, const uint16_t *groups,
                            sn_table *t) {
  if (f->kernel != SN_RT_KERNEL_SUM)
    return sn_fail(ctx, SN_UNSUPPORTED, "corrections of the whole pose are not exported: train without space=whole");
  const float *factors = s->mix + f->first_number;
  for (uint32_t b = 0; b < f->basis_count; b++)
    for (uint32_t n = 0; n < f->joint_count; n++) {
      int g = groups[f->first_joint + n];
      add_group(t, s, g, factors, t->mix + (size_t)(f->first_basis + b) * (size_t)t->term_count);
      factors += s->terms[g].count;
    }
  return SN_OK;
}

static sn_status name_shapes(sn_context *ctx, sn_table *t) {
  for (int n = 0; n < t->shape_count; n++) {
    char name[32];
    snprintf(name, sizeof name, "sinew_%d", n);
    t->shape_names[n] = sn_arena_text(ctx, &t->memory, name);
    if (!t->shape_names[n]) return ctx->error.status;
  }
  return SN_OK;
}

sn_status sn_table_read_shapes(sn_context *ctx, const sn_rt_model *model, const sn_table_nodes *nodes, sn_table *t) {
  const sn_rt_correct_head *head = sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  const sn_rt_field *fields = sn_rt_data(model, SN_SECTION_CORRECT_FIELDS);
  const uint16_t *groups = sn_rt_data(model, SN_SECTION_CORRECT_JOINTS);
  sums s = {sn_rt_data(model, SN_SECTION_CORRECT_TERMS), sn_rt_data(model, SN_SECTION_CORRECT_MIX)};
  t->shape_count = (int)head->basis_count;
  if (t->shape_count > SN_TABLE_SHAPES)
    return sn_fail(ctx, SN_UNSUPPORTED,
                   "the model has %d displacement fields, and at most %d become morph targets: train with --method "
                   "psd:shapes=%d, or helpers",
                   t->shape_count, SN_TABLE_SHAPES, SN_TABLE_SHAPES);
  t->group_count = (int)(sn_rt_size(model, SN_SECTION_CORRECT_TERMS) / sizeof(sn_rt_terms));
  t->groups = SN_NEW(ctx, &t->memory, sn_table_terms, t->group_count);
  t->shape_names = SN_NEW(ctx, &t->memory, const char *, t->shape_count);
  sn_status status = t->groups && t->shape_names ? name_shapes(ctx, t) : ctx->error.status;
  for (int g = 0; status == SN_OK && g < t->group_count; g++) status = read_group(ctx, &s, g, nodes, t);
  if (status == SN_OK) t->mix = SN_NEW(ctx, &t->memory, double, (size_t)t->shape_count *(size_t)t->term_count);
  if (status == SN_OK && !t->mix) status = ctx->error.status;
  for (uint32_t n = 0; status == SN_OK && n < head->field_count; n++)
    status = read_field(ctx, &s, fields + n, groups, t);
  return status;
}

// ---- JSON --------------------------------------------------------------------------------

static json_t *group_json(const sn_table_terms *g) {
  json_t *drivers = json_array(), *centres = g->centres ? json_array() : NULL;
  for (int d = 0; d < g->driver_count; d++) json_array_append_new(drivers, json_integer(g->drivers[d]));
  for (int k = 0; g->centres && k < g->count; k++)
    json_array_append_new(centres, json_pack("[fff]", g->centres[k][0], g->centres[k][1], g->centres[k][2]));
  return g->centres ? json_pack("{so so sf}", "drivers", drivers, "centres", centres, "width", g->width)
                    : json_pack("{so}", "drivers", drivers);
}

static json_t *shape_json(const sn_table *t, int n) {
  json_t *functions = json_array();
  for (int g = 0, written = 0; g < t->group_count; g++) {
    const double *row = t->mix + (size_t)n * (size_t)t->term_count + t->groups[g].first;
    bool used = false;
    json_t *mix = json_array();
    for (int k = 0; k < t->groups[g].count; k++) used |= row[k] != 0, json_array_append_new(mix, json_real(row[k]));
    if (used) json_array_append_new(functions, json_pack("{si sO}", "terms", written, "mix", mix));
    json_decref(mix);
    written += t->groups[g].count > 0;
  }
  return json_pack("{ss so}", "name", t->shape_names[n], "functions", functions);
}

bool sn_table_add_shapes(const sn_table *t, json_t *out) {
  json_t *terms = json_array(), *shapes = json_array();
  for (int g = 0; g < t->group_count; g++)
    if (t->groups[g].count > 0) json_array_append_new(terms, group_json(t->groups + g));
  for (int n = 0; n < t->shape_count; n++) json_array_append_new(shapes, shape_json(t, n));
  bool whole = json_array_size(shapes) == (size_t)t->shape_count;
  return json_object_set_new(out, "terms", terms) == 0 && json_object_set_new(out, "shapes", shapes) == 0 && whole;
}
