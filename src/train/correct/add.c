// SPDX-License-Identifier: MIT
// Adds sculpted poses to a finished model without its training frames: one more pose space. Its functions are zero in
// the rest pose and at the centres of the model's existing pose spaces, and one at their new pose. They interpolate the
// model's residuals.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solve/lapack.h"
#include "solve/solve.h"
#include "runtime/packed.h"
#include "runtime/pose_space.h"
#include "runtime/vertex.h"
#include "train/correct/corrector.h"

typedef struct adder {
  sn_context *ctx;
  sn_plan plan; // the sections to add
  const sn_rt_model *model;
  const sn_examples *examples;
  const sn_keys *keys; // the new poses
  sn_model_input input;
  sn_local_rotation *rotations;
  sn_residuals m; // pose 0 is the rest pose, then the new ones; in the model's joint and vertex order
  int *controls, control_count, dims;
  double *points, *widths; // of the new pose space: new poses, then existing ones
  int count;
  sn_rbf rbf;
} adder;

static const sn_rt_correct_head *head_of(const adder *a) { return sn_rt_data(a->model, SN_SECTION_CORRECT_HEAD); }

static sn_status check_model(const adder *a) {
  const sn_rt_info *info = &a->model->info;
  if (info->drive != SN_RT_DRIVE_JOINTS)
    return sn_fail(a->ctx, SN_UNSUPPORTED, "poses are added to models on joints or values, not to drive %s",
                   sn_rt_drive_name(info->drive));
  if (head_of(a) && head_of(a)->order == SN_RT_ORDER_FORWARD)
    return sn_fail(a->ctx, SN_UNSUPPORTED, "poses are not added to models trained with order=forward");
  if (info->weight_bits == SN_RT_PACKED_BITS)
    return sn_fail(a->ctx, SN_UNSUPPORTED,
                   "the model's corrections are packed: add the pose to the model before packing it");
  if ((int)info->vertex_count != sn_examples_file_vertices(a->examples))
    return sn_fail(a->ctx, SN_BAD_INPUT, "the model has %u vertices, the sculpted meshes %d", info->vertex_count,
                   sn_examples_file_vertices(a->examples));
  return SN_OK;
}

static double value_at(const adder *a, int f, uint32_t v) {
  const sn_values *values = &a->examples->values;
  return values->values[(size_t)f * (size_t)values->count + (size_t)a->input.value_of[v]];
}

// ---- poses -------------------------------------------------------------------------------------------------------------------

// The joints' references: the model's, or new ones if it has none.
static sn_status read_rotations(adder *a) {
  const sn_rt_reference *references = sn_rt_data(a->model, SN_SECTION_JOINT_REFERENCE);
  int joint_count = (int)a->model->info.joint_count;
  if (!references) {
    sn_examples own = {0};
    sn_keys none = {0};
    sn_status status = sn_model_skeleton(a->ctx, a->model, &own.skeleton);
    if (status == SN_OK) status = sn_local_rotations_make(a->ctx, &a->plan.memory, &own, &none, &a->rotations);
    sn_skeleton_free(&own.skeleton);
    return status;
  }
  a->rotations = SN_NEW(a->ctx, &a->plan.memory, sn_local_rotation, joint_count);
  for (int n = 0; a->rotations && n < joint_count; n++) {
    const float *q = references[n].rotation;
    a->rotations[n] = (sn_local_rotation){references[n].joint,
                                          references[n].parent == SN_RT_NO_JOINT ? -1 : references[n].parent,
                                          {(double)q[0], (double)q[1], (double)q[2], (double)q[3]},
                                          false};
  }
  return a->rotations ? SN_OK : a->ctx->error.status;
}

// The vector of a frame, or of the rest pose (f < 0). Values are scaled as in the runtime; at rest they are 0, clamped
// to their range.
static void pose_vector(const adder *a, int f, sn_affine *pose, double *out) {
  const sn_rt_info *info = &a->model->info;
  int joint_count = (int)info->joint_count;
  for (int j = 0; f >= 0 && j < joint_count; j++) pose[j] = sn_pose(&a->examples->poses, f)[a->input.joint_of[j]];
  if (joint_count > 0) sn_pose_vector(a->rotations, joint_count, f < 0 ? NULL : pose, out);
  for (uint32_t v = 0; v < info->value_count; v++) {
    float range[2];
    sn_rt_value_range(a->model, v, range);
    double value = f < 0 ? 0 : value_at(a, f, v);
    value = fmin(fmax(value, (double)range[0]), (double)range[1]);
    out[3 * joint_count + (int)v] =
      (double)SN_RT_VALUE_SPAN * (value - (double)range[0]) / ((double)range[1] - (double)range[0]);
  }
}

static sn_status measure_poses(adder *a) {
  const sn_rt_info *info = &a->model->info;
  a->m = (sn_residuals){.pose_count = a->keys->count + 1,
                        .vertex_count = (int)info->vertex_count,
                        .joint_count = (int)info->joint_count,
                        .value_count = (int)info->value_count,
                        .rotations = a->rotations};
  size_t dims = (size_t)sn_residuals_dims(&a->m);
  sn_affine *pose = SN_NEW(a->ctx, &a->plan.memory, sn_affine, info->joint_count);
  a->m.vectors = SN_NEW(a->ctx, &a->plan.memory, double, (size_t)a->m.pose_count *dims);
  if (!pose || !a->m.vectors) return a->ctx->error.status;
  for (int p = 0; p < a->m.pose_count; p++)
    pose_vector(a, p ? a->keys->frames[p - 1] : -1, pose, a->m.vectors + (size_t)p * dims);
  return SN_OK;
}

// Marks the controls that a group of terms depends on.
static void use_terms(const adder *a, const sn_rt_terms *t, bool *used) {
  if (t->kind == SN_RT_TERMS_FUNCTIONS) return; // their terms are in the list themselves
  bool value = t->kind == SN_RT_TERMS_VALUE;
  used[value ? (int)a->model->info.joint_count + t->a : a->rotations[t->a].joint] = true;
  if (t->kind == SN_RT_TERMS_PAIR) used[a->rotations[t->b].joint] = true;
}

// The model's number of a field's control k.
static int field_control(const adder *a, const sn_rt_field *f, uint32_t k) {
  const uint16_t *joints = sn_rt_data(a->model, SN_SECTION_CORRECT_JOINTS);
  int number = joints[f->first_joint + k];
  return k < f->joint_count ? a->rotations[number].joint : (int)a->model->info.joint_count + number;
}

// The controls of the new pose space: those of the existing pose spaces, and those that move in the new poses.
static sn_status choose_controls(adder *a) {
  int all = a->m.joint_count + a->m.value_count;
  bool *used = SN_NEW(a->ctx, &a->plan.memory, bool, all);
  a->controls = SN_NEW(a->ctx, &a->plan.memory, int, all);
  if (!used || !a->controls) return a->ctx->error.status;
  const sn_rt_field *fields = sn_rt_data(a->model, SN_SECTION_CORRECT_FIELDS);
  const sn_rt_terms *terms = sn_rt_data(a->model, SN_SECTION_CORRECT_TERMS);
  for (size_t n = 0; n < sn_rt_size(a->model, SN_SECTION_CORRECT_TERMS) / sizeof *terms; n++)
    use_terms(a, terms + n, used);
  for (uint32_t n = 0; head_of(a) && n < head_of(a)->field_count; n++)
    for (uint32_t k = 0; k < fields[n].joint_count + fields[n].value_count && fields[n].kernel != SN_RT_KERNEL_SUM;
         k++)
      used[field_control(a, fields + n, k)] = true;
  for (int n = 0; n < all; n++) {
    bool root = n < a->m.joint_count && a->rotations[n].parent < 0;
    int control = n < a->m.joint_count ? a->rotations[n].joint : n;
    for (int p = 1; p < a->m.pose_count && !root; p++) {
      const double *x = sn_control_at(&a->m, p, control), *rest = sn_control_at(&a->m, 0, control);
      for (int c = 0; c < sn_control_dims(&a->m, control); c++)
        used[control] |= fabs(x[c] - rest[c]) > sn_least_motion;
    }
  }
  for (int n = 0; n < all; n++)
    if (used[n]) a->controls[a->control_count++] = n;
  a->dims = sn_controls_dims(&a->m, a->controls, a->control_count);
  if (a->control_count > 0) return SN_OK;
  return sn_fail(a->ctx, SN_BAD_INPUT,
                 "no joint rotates and no value changes at the poses to be added: they are the rest pose");
}

// ---- poses of the model -----------------------------------------------------------------------------------------

// Centre c of a field as a pose; controls outside the field are at rest.
static void centre_pose(const adder *a, const sn_rt_field *f, uint32_t c, double *vector, double *out) {
  sn_rt_pose_spaces s = {.numbers = sn_rt_data(a->model, SN_SECTION_CORRECT_NUMBERS)};
  const double *centre = sn_rt_centres(&s, f) + (size_t)c * f->axis_count, *metric = sn_rt_metric_of(&s, f);
  memcpy(vector, a->m.vectors, (size_t)sn_residuals_dims(&a->m) * sizeof *vector);
  for (uint32_t k = 0, at = 0; k < f->joint_count + f->value_count; k++) {
    int control = field_control(a, f, k), first = sn_control_first(&a->m, control);
    for (int d = 0; d < sn_control_dims(&a->m, control); d++, at++)
      vector[first + d] = centre[at] / (f->metric == SN_RT_METRIC_DIAGONAL ? metric[at] : 1);
  }
  for (int k = 0, d = 0; k < a->control_count; k++)
    for (int n = 0; n < sn_control_dims(&a->m, a->controls[k]); n++, d++)
      out[d] = vector[sn_control_first(&a->m, a->controls[k]) + n];
}

// The first point within `tolerance` of a pose; a->count: none.
static int find_point(const adder *a, const double *pose, double tolerance) {
  int p = 0;
  while (p < a->count && sqrt(sn_squared_distance(a->dims, pose, a->points + p * a->dims)) > tolerance) p++;
  return p;
}

// Field n if its centres are whole poses, else NULL: sums of terms, fields of one of several controls, matrix metrics.
static const sn_rt_field *field_of_poses(const adder *a, uint32_t n) {
  const sn_rt_field *f = (const sn_rt_field *)sn_rt_data(a->model, SN_SECTION_CORRECT_FIELDS) + n;
  bool alone = f->kernel == SN_RT_KERNEL_SUM || (f->joint_count + f->value_count < 2 && a->control_count > 1);
  return alone || f->metric == SN_RT_METRIC_MATRIX ? NULL : f;
}

// The new poses, then the rest pose and the centres of existing pose spaces, without duplicates.
static sn_status gather_points(adder *a) {
  int dims = a->dims, news = a->keys->count;
  uint32_t fields = head_of(a) ? head_of(a)->field_count : 0;
  size_t room = (size_t)news + 1;
  double largest = 0;
  for (uint32_t n = 0; n < fields; n++) room += field_of_poses(a, n) ? field_of_poses(a, n)->centre_count : 0;
  a->points = SN_NEW(a->ctx, &a->plan.memory, double, room *(size_t)dims);
  double *pose = SN_NEW(a->ctx, &a->plan.memory, double, dims),
         *vector = SN_NEW(a->ctx, &a->plan.memory, double, sn_residuals_dims(&a->m));
  if (!a->points || !pose || !vector) return a->ctx->error.status;
  sn_controls_vector(&a->m, 0, a->controls, a->control_count, pose);
  for (int p = 0; p < news; p++) {
    double *at = a->points + p * dims;
    sn_controls_vector(&a->m, p + 1, a->controls, a->control_count, at);
    largest = fmax(largest, sqrt(sn_squared_distance(dims, pose, at)));
  }
  for (; a->count < news; a->count++) {
    int same = find_point(a, a->points + a->count * dims, sn_least_motion * largest);
    if (same < a->count)
      return sn_fail(a->ctx, SN_BAD_INPUT, "frames %d and %d are one pose: sculpt it once", a->keys->frames[same],
                     a->keys->frames[a->count]);
  }
  if (find_point(a, pose, sn_least_motion * largest) == a->count)
    memcpy(a->points + a->count++ * dims, pose, (size_t)dims * sizeof *pose);
  for (uint32_t n = 0; n < fields; n++) {
    const sn_rt_field *f = field_of_poses(a, n);
    for (uint32_t c = 0; f && c < f->centre_count; c++) {
      centre_pose(a, f, c, vector, pose);
      if (find_point(a, pose, sn_least_motion * largest) == a->count)
        memcpy(a->points + a->count++ * dims, pose, (size_t)dims * sizeof *pose);
    }
  }
  return SN_OK;
}

// Widths: the distance to the nearest other pose, or the sigma set for the pose.
static sn_status solve(adder *a) {
  a->widths = SN_NEW(a->ctx, &a->plan.memory, double, a->count);
  if (!a->widths) return a->ctx->error.status;
  sn_rbf_nearest(a->count, a->dims, a->points, a->widths);
  for (int p = 0; a->examples->sigmas && p < a->keys->count; p++) {
    double sigma = a->examples->sigmas[a->keys->frames[p]];
    if (sigma > 0) a->widths[p] = sigma;
  }
  a->rbf = (sn_rbf){.kernel = SN_RBF_GAUSS,
                    .linear = SN_RBF_NO_LINEAR,
                    .count = a->count,
                    .dims = a->dims,
                    .centres = a->points,
                    .widths = a->widths};
  sn_status status = sn_rbf_solve(a->ctx, &a->rbf);
  if (status == SN_NOT_CONVERGED)
    return sn_fail(a->ctx, SN_BAD_INPUT,
                   "sigma is too wide for poses this close together: take a smaller one, or leave @SIGMA out");
  return status;
}

// ---- residuals --------------------------------------------------------------------------------------------------------

typedef struct add_pose {
  void *scratch;
  void *values; // of the runtime's input
  float (*positions)[3], (*target)[3], (*normals)[3], (*rest_normals)[3], (*rest)[3], (*centres)[3];
  float (*added)[3]; // what the model's corrections add to the rest normals at this pose
  sn_skin skin;
} add_pose;

// The sum of the model's corrections of normals at this pose, in the file's vertex order.
static void sum_normals(const adder *a, const float *values, float (*out)[3]) {
  const sn_rt_info *info = &a->model->info;
  memset(out, 0, info->vertex_count * sizeof *out);
  if (!head_of(a)) return;
  const uint32_t *start = sn_rt_data(a->model, SN_SECTION_CORRECT_START);
  const sn_rt_correct_entry *entries = sn_rt_data(a->model, SN_SECTION_CORRECT_ENTRIES);
  const int16_t(*deltas)[6][SN_RT_LANES] = sn_rt_data(a->model, SN_SECTION_CORRECT_DELTAS);
  for (sn_rt_block b = {0}; sn_rt_next_block(a->model, &b);)
    for (int l = 0; l < SN_RT_LANES; l++) {
      float sum[3] = {0, 0, 0};
      for (uint32_t n = start[b.block]; n < start[b.block + 1]; n++)
        for (int r = 0; r < 3; r++)
          sum[r] += values[entries[n].basis] * entries[n].normal * (float)deltas[n][3 + r][l];
      memcpy(out[b.vertex[l]], sum, sizeof sum);
    }
}

static sn_status new_pose(adder *a, add_pose *out) {
  size_t n = a->model->info.vertex_count;
  out->scratch = sn_arena_alloc(a->ctx, &a->plan.memory, sn_rt_scratch_size(a->model), 1);
  float(**arrays[])[3] = {&out->positions, &out->target,  &out->normals, &out->rest_normals,
                          &out->rest,      &out->centres, &out->added};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
    *arrays[k] = sn_arena_alloc(a->ctx, &a->plan.memory, n, sizeof **arrays[k]);
    if (!*arrays[k]) return a->ctx->error.status;
  }
  out->values = sn_arena_alloc(a->ctx, &a->plan.memory, sn_model_input_size(a->model), 1);
  if (!out->scratch || !out->values) return a->ctx->error.status;
  sn_rt_get_rest(a->model,
                 &(sn_rt_rest){.positions = out->rest, .normals = out->rest_normals, .centres = out->centres}, NULL);
  return sn_model_skin(a->ctx, a->model, &out->skin);
}

// The model's residual at a new pose, moved to the rest pose: 6 numbers for every vertex of the file.
static sn_status measure(adder *a, add_pose *p, int f, float (*out)[6]) {
  int n = (int)a->model->info.vertex_count;
  const float *values;
  sn_rt_input input = sn_model_input_at(&a->input, f, p->values);
  sn_rt_output output = {.positions = p->positions[0]};
  sn_rt_error error;
  if (sn_rt_evaluate(a->model, &input, p->scratch, &output, &error) != SN_RT_OK)
    return sn_fail(a->ctx, SN_BAD_INPUT, "%s", error.message);
  sn_rt_correct_values(a->model, p->scratch, &values);
  sum_normals(a, values, p->added);
  sn_examples_to_file(a->examples, sn_frame(&a->examples->frames, f), sizeof(float[3]), p->target);
  sn_examples_normals(a->examples, sn_frame(&a->examples->frames, f), p->normals);
  for (int i = 0; i < n; i++) {
    sn_mat3 linear = sn_affine_linear(sn_blend_of(a->model, p->scratch, &p->skin, (const float(*)[3])p->centres, i));
    sn_vec3 residual = sn_vec3_sub(sn_vec3_from(p->target[i]), sn_vec3_from(p->positions[i]));
    sn_vec3 d = sn_blend_solve(linear, residual), normal = sn_vec3_from(p->rest_normals[i]);
    sn_vec3 turned = sn_normal_before(linear, normal, sn_vec3_from(p->normals[i]));
    sn_vec3_store(d, out[i]), sn_vec3_store(sn_vec3_sub(turned, sn_vec3_from(p->added[i])), out[i] + 3);
  }
  return SN_OK;
}

// ---- the model -------------------------------------------------------------------------------------------------------

// Limits that leave the displacements of the new poses undamped.
static float *longest_of(adder *a, const float (*deltas)[6]) {
  size_t n = a->model->info.vertex_count;
  float *out = SN_NEW(a->ctx, &a->plan.memory, float, n);
  for (size_t i = 0; out && i < n; i++) {
    for (size_t p = 0; p < (size_t)a->keys->count; p++) {
      const float *d = deltas[p * n + i];
      out[i] = fmaxf(out[i], sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
    }
    out[i] /= SN_RT_FREE_PART;
  }
  return out;
}

static sn_status write(adder *a, const float (*deltas)[6], sn_model *out) {
  int joint_count = (int)a->model->info.joint_count;
  sn_pose_field field = {.joint_count = a->control_count,
                         .joints = a->controls,
                         .metric = {.axes = a->dims, .dims = a->dims},
                         .kernel = SN_RBF_GAUSS,
                         .mixed = true,
                         .centre_count = a->count,
                         .basis_count = a->keys->count,
                         .terms = a->count,
                         .centres = a->points,
                         .widths = a->widths,
                         .mix = a->rbf.mix};
  const sn_corrections added = {.field_count = 1, .basis_count = a->keys->count, .fields = &field};
  sn_model_corrections *c = &a->plan.corrections;
  *c = (sn_model_corrections){.kind = SN_RT_CORRECT_RBF,
                              .field_count = 1,
                              .basis_count = a->keys->count,
                              .row_count = a->m.vertex_count,
                              .deltas = deltas,
                              .least = sn_correct_options_default().threshold / 100 * a->m.diagonal,
                              .least_normal = SN_LEAST_NORMAL};
  sn_status status = sn_pose_spaces_encode(a->ctx, &a->plan.memory, &added, &a->m, c->pose_spaces);
  bool limited = head_of(a) && sn_rt_data(a->model, SN_SECTION_CORRECT_LIMITS);
  if (limited) c->limits = longest_of(a, deltas);
  if (status == SN_OK && limited && !c->limits) status = a->ctx->error.status;
  if (status == SN_OK && joint_count > 0 && !sn_rt_data(a->model, SN_SECTION_JOINT_REFERENCE))
    status = sn_plan_references(a->ctx, &a->plan, a->rotations, joint_count);
  if (status != SN_OK) return status;
  return sn_model_extend(a->ctx, a->model, c, a->plan.sections, a->plan.section_count, out);
}

static sn_status run(adder *a, sn_model *out) {
  size_t n = a->model->info.vertex_count;
  add_pose pose = {0};
  sn_status status = check_model(a);
  if (status == SN_OK) status = sn_model_input_new(a->ctx, a->model, a->examples, &a->plan.memory, &a->input);
  if (status == SN_OK) status = read_rotations(a);
  if (status == SN_OK) status = measure_poses(a);
  if (status == SN_OK) status = choose_controls(a);
  if (status == SN_OK) status = gather_points(a);
  if (status == SN_OK) status = solve(a);
  if (status == SN_OK) status = new_pose(a, &pose);
  float(*deltas)[6] = sn_arena_alloc(a->ctx, &a->plan.memory, (size_t)a->keys->count * n, sizeof *deltas);
  if (status == SN_OK && !deltas) status = a->ctx->error.status;
  if (status == SN_OK) a->m.diagonal = sn_points_diagonal((const float(*)[3])pose.rest, (int)n);
  for (int p = 0; status == SN_OK && p < a->keys->count; p++)
    status = measure(a, &pose, a->keys->frames[p], deltas + (size_t)p * n);
  if (status == SN_OK) status = write(a, (const float(*)[6])deltas, out);
  sn_skin_free(&pose.skin);
  sn_rbf_free(&a->rbf);
  return status;
}

static sn_status add(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, const sn_keys *keys,
                     sn_model *out) {
  adder a = {.ctx = ctx, .plan = sn_plan_new(ctx, examples), .model = model, .examples = examples, .keys = keys};
  sn_status status = run(&a, out);
  sn_plan_free(&a.plan);
  return status;
}

sn_status sn_correct_add(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, const sn_keys *keys,
                         sn_model *out) {
  SN_BLAS_SCOPE;
  *out = (sn_model){0};
  if (!sn_rt_get_order(model, NULL)) return add(ctx, model, examples, keys, out);
  sn_model as_file = {0};
  sn_rt_model opened;
  sn_status status = sn_model_open_as_file(ctx, "model", model, &as_file, &opened);
  if (status == SN_OK) status = add(ctx, &opened, examples, keys, out);
  if (status == SN_OK) status = sn_model_set_order(ctx, out, SN_VERTEX_ORDER_BLOCKS);
  sn_model_free(&as_file);
  return status;
}
