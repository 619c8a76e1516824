// SPDX-License-Identifier: MIT
// A chain of joints with random corrections that are sums of terms of every kind, and their formula in doubles.
#ifndef SINEW_TEST_TERMS_FIXTURE_H
#define SINEW_TEST_TERMS_FIXTURE_H

#include "runtime/format.h"
#include "skin_fixture.h"

enum { most_groups = 512, most_fields = 128, most_listed = 2048, most_mix = 1 << 17, field_bases = 5 };

typedef struct terms_fixture {
  fixture f;
  int values, clusters, basis_count;
  sn_rt_reference references[256];
  sn_rt_terms terms[most_groups];
  uint16_t listed[most_listed];
  float mix[most_mix];
  sn_rt_field fields[most_fields];
  int term_count, listed_count, mix_count;
  int first[most_fields + 1], *group_of;
  float (*deltas)[6];
  sn_model_section reference_section;
  sn_model_corrections c;
} terms_fixture;

static inline float small_random(sn_random *rng) { return (float)(sn_random_uniform(rng) - 0.5); }

static inline sn_rt_terms *add_terms(terms_fixture *t, sn_random *rng, sn_rt_terms_kind kind, int count, int a,
                                     int b) {
  sn_rt_terms *group = t->terms + t->term_count++;
  *group = (sn_rt_terms){.kind = (uint16_t)kind, .count = (uint16_t)count, .a = (uint16_t)a, .b = (uint16_t)b};
  for (int c = 0; c < 3; c++) {
    group->rest[0][c] = kind == SN_RT_TERMS_VALUE && c ? 0 : 0.3f * small_random(rng);
    group->rest[1][c] = kind == SN_RT_TERMS_PAIR ? 0.3f * small_random(rng) : 0;
  }
  if (kind != SN_RT_TERMS_GAUSS) return group;
  group->first = (uint32_t)t->mix_count, group->width = 0.3f + (float)sn_random_uniform(rng);
  for (int n = 0; n < 3 * count; n++) t->mix[t->mix_count++] = small_random(rng);
  return group;
}

// A pose space over `groups` groups of terms from `from` on.
static inline void add_field(terms_fixture *t, sn_random *rng, int index, int from, int groups, int bases) {
  sn_rt_field *f = t->fields + index;
  *f = (sn_rt_field){.kernel = SN_RT_KERNEL_SUM,
                     .mixed = 1,
                     .first_joint = (uint32_t)t->listed_count,
                     .joint_count = (uint32_t)groups,
                     .first_basis = (uint32_t)t->basis_count,
                     .basis_count = (uint32_t)bases,
                     .first_number = (uint32_t)t->mix_count};
  for (int n = 0; n < groups; n++) {
    t->listed[t->listed_count] = (uint16_t)((from + n) % t->term_count);
    f->centre_count += t->terms[t->listed[t->listed_count++]].count;
  }
  for (uint32_t n = 0; n < f->centre_count * f->basis_count; n++) t->mix[t->mix_count++] = small_random(rng);
  t->first[index] = t->basis_count;
  t->basis_count += bases, t->first[index + 1] = t->basis_count;
}

static inline void set_sections(terms_fixture *t) {
  t->c.pose_spaces[0] =
    (sn_model_section){"correct.fields", t->fields, (size_t)t->clusters * sizeof *t->fields, true};
  t->c.pose_spaces[1] = (sn_model_section){"correct.joints", t->listed, (size_t)t->listed_count * 2, true};
  t->c.pose_spaces[2] = (sn_model_section){"correct.numbers", NULL, 0, true};
  t->c.pose_spaces[3] = (sn_model_section){"correct.terms", t->terms, (size_t)t->term_count * sizeof *t->terms, true};
  t->c.pose_spaces[4] = (sn_model_section){"correct.mix", t->mix, (size_t)t->mix_count * sizeof *t->mix, true};
  t->reference_section = (sn_model_section){"joint.reference", t->references,
                                            (size_t)t->f.skeleton.joint_count * sizeof *t->references, true};
}

// Every kind of terms (of up to two values), and `clusters` runs of vertices with separate bases.
static inline terms_fixture *terms_new(sn_context *ctx, int vertices, int joints, int clusters, int values,
                                       uint64_t seed) {
  static const char *const names[] = {"smile", "frown"};
  static const float ranges[][2] = {{-1, 1}, {0, 2}};
  terms_fixture *t = calloc(1, sizeof *t);
  sn_random rng = sn_random_new(seed);
  fixture_new(ctx, vertices, joints, 4, seed, &t->f);
  t->values = values, t->clusters = clusters;
  for (int j = 0; j < joints; j++) {
    sn_quat q = sn_quat_from_mat3(sn_rotation_exp(sn_vec3_scale(random_vec3(&rng), 0.1)));
    t->references[j] = (sn_rt_reference){
      (uint16_t)j, j ? (uint16_t)(j - 1) : SN_RT_NO_JOINT, {(float)q.x, (float)q.y, (float)q.z, (float)q.w}};
    add_terms(t, &rng, SN_RT_TERMS_JOINT, SN_RT_QUADRATIC, j, 0);
    if (j) add_terms(t, &rng, SN_RT_TERMS_PAIR, SN_RT_QUADRATIC, j, j - 1);
    if (j % 2) add_terms(t, &rng, SN_RT_TERMS_GAUSS, 1 + sn_random_below(&rng, 20), j, 0);
  }
  for (int v = 0; v < values; v++) add_terms(t, &rng, SN_RT_TERMS_VALUE, 1 + v, v, 0);
  for (int n = 0; n < clusters; n++)
    add_field(t, &rng, n, n * t->term_count / clusters, 1 + n % 6, 1 + (field_bases + n) % 9);
  t->group_of = calloc((size_t)vertices, sizeof *t->group_of);
  for (int i = 0; i < vertices; i++) t->group_of[i] = i * clusters / vertices;
  t->deltas = calloc((size_t)vertices * 9, sizeof *t->deltas);
  for (int n = 0; n < 9 * vertices; n++)
    for (int k = 0; k < 6; k++) t->deltas[n][k] = 0.05f * small_random(&rng);
  t->c = (sn_model_corrections){.kind = SN_RT_CORRECT_RBF,
                                .field_count = clusters,
                                .basis_count = t->basis_count,
                                .row_count = vertices,
                                .deltas = (const float(*)[6])t->deltas,
                                .groups = {0, t->first, t->group_of}};
  set_sections(t);
  t->f.desc.corrections = &t->c, t->f.desc.sections = &t->reference_section, t->f.desc.section_count = 1;
  t->f.desc.value_count = values, t->f.desc.value_names = names, t->f.desc.value_ranges = ranges;
  fixture_build(ctx, &t->f);
  return t;
}

static inline void terms_free(terms_fixture *t) {
  fixture_free(&t->f);
  free(t->group_of), free(t->deltas), free(t);
}

// ---- the formula ------------------------------------------------------------------------------------------------------------

static inline void formula_vector(const terms_fixture *t, const sn_affine *pose, int index, const float rest[3],
                                  double out[3]) {
  const sn_rt_reference *r = t->references + index;
  sn_quat q = {r->rotation[0], r->rotation[1], r->rotation[2], r->rotation[3]};
  sn_mat3 local = sn_affine_linear(pose[r->joint]);
  if (r->parent != SN_RT_NO_JOINT) local = sn_mat3_mul(sn_mat3_transpose(sn_affine_linear(pose[r->parent])), local);
  sn_vec3 v = sn_rotation_log(sn_mat3_mul(sn_mat3_transpose(sn_quat_to_mat3(q)), local));
  out[0] = v.x - rest[0], out[1] = v.y - rest[1], out[2] = v.z - rest[2];
}

// Term k of a group.
static inline double formula_term(const terms_fixture *t, const sn_rt_terms *g, const sn_affine *pose,
                                  const float *values, int k) {
  static const int first[] = {0, 0, 0, 1, 1, 2}, second[] = {0, 1, 2, 1, 2, 2};
  double p[3], q[3], d2 = 0;
  if (g->kind == SN_RT_TERMS_VALUE) {
    const float *range = t->f.desc.value_ranges[g->a];
    double inside = fmin(fmax(values[g->a], range[0]), range[1]);
    double v = SN_RT_VALUE_SPAN * (inside - range[0]) / (range[1] - range[0]) - g->rest[0][0];
    return k ? v * v : v;
  }
  formula_vector(t, pose, g->a, g->rest[0], p);
  if (g->kind == SN_RT_TERMS_JOINT) return k < 3 ? p[k] : p[first[k - 3]] * p[second[k - 3]];
  if (g->kind == SN_RT_TERMS_PAIR) return formula_vector(t, pose, g->b, g->rest[1], q), p[k / 3] * q[k % 3];
  for (int c = 0; c < 3; c++) d2 += pow(p[c] - t->mix[g->first + (uint32_t)(3 * k + c)], 2);
  return exp(-d2 / (2 * pow(g->width, 2)));
}

static inline double formula_value(const terms_fixture *t, const sn_rt_field *f, const sn_affine *pose,
                                   const float *values, uint32_t basis) {
  double sum = 0;
  const float *mix = t->mix + f->first_number + (size_t)basis * f->centre_count;
  for (uint32_t n = 0; n < f->joint_count; n++) {
    const sn_rt_terms *g = t->terms + t->listed[f->first_joint + n];
    for (int k = 0; k < g->count; k++) sum += *mix++ * formula_term(t, g, pose, values, k);
  }
  return sum;
}

#endif
