// SPDX-License-Identifier: MIT
// The residual of a model at the training poses: the target minus the skinned vertex, moved to the rest pose by the
// inverse of the vertex's blend (Murtagh 2008, eq. 2.5), or in the pose for order=forward (eq. 2.4).
#include <math.h>
#include <string.h>

#include "base/team.h"
#include "runtime/format.h"
#include "runtime/packed.h"
#include "train/correct/corrector.h"

// ---- the model's parts in the examples' order -----------------------------------------------------------------------------

// The evaluated weights, in the examples' vertex order.
static sn_status read_skin(sn_corrector *c, sn_skin *out) {
  if (!c->examples->source) return sn_model_skin(c->ctx, &c->model, out);
  sn_skin split;
  sn_status status = sn_model_skin(c->ctx, &c->model, &split);
  if (status != SN_OK) return status;
  status = sn_skin_new(c->ctx, c->examples->rest.vertex_count, split.influences, out);
  size_t k = (size_t)split.influences;
  if (status == SN_OK) {
    sn_examples_from_file(c->examples, split.joints, k * sizeof *out->joints, out->joints);
    sn_examples_from_file(c->examples, split.weights, k * sizeof *out->weights, out->weights);
  }
  sn_skin_free(&split);
  return status;
}

// The model's groups of blocks, as rows of the examples.
static sn_status read_runs(sn_corrector *c, sn_runs *out) {
  size_t groups = sn_rt_size(&c->model, SN_SECTION_SKIN_GROUPS) / sizeof(sn_rt_group);
  out->first = SN_NEW(c->ctx, &c->memory, int, groups + 1), out->count = (int)groups;
  out->rows = SN_NEW(c->ctx, &c->memory, int, (size_t)c->model.info.block_count *SN_RT_LANES);
  if (!out->first || !out->rows) return c->ctx->error.status;
  int used = 0;
  for (sn_rt_block b = {0}; sn_rt_next_block(&c->model, &b);) {
    for (int l = 0; l < SN_RT_LANES; l++) out->rows[used++] = sn_examples_vertex(c->examples, (int)b.vertex[l]);
    for (size_t g = b.group + 1; g <= groups; g++) out->first[g] = used;
  }
  return SN_OK;
}

// Centres of rotation in the examples' vertex order.
static sn_status read_centres(sn_corrector *c, sn_arena *memory, const float (**out)[3]) {
  const sn_examples *e = c->examples;
  float(*file)[3] = sn_arena_alloc(c->ctx, memory, c->model.info.vertex_count, sizeof *file), (*own)[3] = file;
  if (e->source) own = sn_arena_alloc(c->ctx, memory, (size_t)e->rest.vertex_count, sizeof *own);
  if (!file || !own) return c->ctx->error.status;
  sn_rt_get_rest(&c->model, &(sn_rt_rest){.centres = file}, NULL);
  if (e->source) sn_examples_from_file(e, file, sizeof *file, own);
  *out = (const float(*)[3])own;
  return SN_OK;
}

// ---- the pose of a frame --------------------------------------------------------------------------------------------------

sn_status sn_poser_new(const sn_corrector *c, sn_arena *memory, sn_poser *out) {
  int joint_count = c->examples->skeleton.joint_count;
  out->input = sn_arena_alloc(c->ctx, memory, (size_t)joint_count, sizeof *out->input);
  out->torques = SN_NEW(c->ctx, memory, float, joint_count);
  out->scratch = sn_arena_alloc(c->ctx, memory, sn_rt_scratch_size(&c->model), 1);
  return out->input && out->torques && out->scratch ? SN_OK : c->ctx->error.status;
}

void sn_poser_set(const sn_corrector *c, const sn_poser *at, int frame) {
  const sn_examples *e = c->examples;
  int joint_count = e->skeleton.joint_count;
  sn_rt_input in = {.joints = (const float(*)[12])at->input, .torques = at->torques};
  if (joint_count > 0) sn_model_joints(sn_pose(&e->poses, frame), joint_count, at->input);
  sn_model_torques(&e->torques, frame, joint_count, at->torques);
  sn_rt_palette(&c->model, &in, at->scratch, NULL);
}

// The range of every value over the rest mesh and the training frames.
static void find_ranges(sn_corrector *c) {
  const sn_values *values = &c->examples->values;
  for (int v = 0; v < values->count; v++) {
    double low = values->rest[v], high = low;
    for (int k = 0; k < c->keys->count; k++) {
      double value = values->values[(size_t)c->keys->frames[k] * (size_t)values->count + (size_t)v];
      low = fmin(low, value), high = fmax(high, value);
    }
    c->ranges[v][0] = (float)low, c->ranges[v][1] = (float)high;
  }
}

// The values of a pose, scaled as in the runtime.
static void value_vector(const sn_corrector *c, const double *row, double *out) {
  for (int v = 0; v < c->examples->values.count; v++) {
    double low = (double)c->ranges[v][0], span = (double)c->ranges[v][1] - low;
    out[v] = span > 0 ? (double)SN_RT_VALUE_SPAN * (row[v] - low) / span : 0;
  }
}

// ---- residuals -----------------------------------------------------------------------------------------------------------

static sn_vec3 skinned_normal(sn_mat3 a, sn_vec3 rest) {
  sn_vec3 x = sn_mat3_column(a, 0), y = sn_mat3_column(a, 1), z = sn_mat3_column(a, 2);
  sn_mat3 cofactor = sn_mat3_columns(sn_vec3_cross(y, z), sn_vec3_cross(z, x), sn_vec3_cross(x, y));
  return sn_vec3_normalize(sn_mat3_apply(cofactor, rest), rest);
}

// The residuals of one frame.
typedef struct residual_job {
  const sn_corrector *c;
  const void *scratch; // with the palette
  const float (*centres)[3], (*rest_normals)[3], (*frame)[3], (*normals)[3];
  float (*deltas)[6];
  uint8_t *singular; // vertices whose blend was only partly inverted: an error above `least` remains
  double least;
} residual_job;

static void residual_of_vertex(const residual_job *job, int i) {
  const sn_residuals *m = &job->c->residuals;
  const sn_correct_options *o = job->c->options;
  sn_affine blend = sn_blend_of(&job->c->model, job->scratch, &m->skin, job->centres, i);
  sn_mat3 a = sn_affine_linear(blend);
  sn_vec3 rest = sn_vec3_from(job->c->examples->rest.positions[i]), rest_normal = sn_vec3_from(job->rest_normals[i]);
  sn_vec3 target_normal = sn_vec3_from(job->normals[i]);
  sn_vec3 residual = sn_vec3_sub(sn_vec3_from(job->frame[i]), sn_affine_apply(blend, rest)), d = residual, n;
  double length = sn_vec3_length(residual);
  if (o->order == SN_ORDER_FORWARD) {
    n = sn_vec3_sub(target_normal, skinned_normal(a, rest_normal));
  } else {
    d = sn_blend_solve(a, residual);
    n = sn_normal_before(a, rest_normal, target_normal);
    job->singular[i] = sn_vec3_distance(sn_mat3_apply(a, d), residual) > job->least;
    if (o->bounded && sn_vec3_length(d) > length) d = sn_vec3_scale(d, length / sn_vec3_length(d));
  }
  sn_vec3_store(d, job->deltas[i]), sn_vec3_store(n, job->deltas[i] + 3);
}

static void residual_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) residual_of_vertex(user, (int)i);
}

static void note_singular(sn_corrector *c, int frame, const uint8_t *singular) {
  int count = 0;
  for (int i = 0; i < c->residuals.vertex_count; i++) count += singular[i];
  if (count == 0) return;
  sn_corrector_note(c, "frame %d: the blend of %d vertices is nearly singular and was inverted only in part (", frame,
                    count);
  for (int i = 0, named = 0; i < c->residuals.vertex_count && named < 8; i++)
    if (singular[i]) sn_corrector_note(c, named++ ? " %d" : "%d", i);
  sn_corrector_note(c, count > 8 ? " ...). " : "). ");
}

// Sets the pose of training frame k: vector, clip and sigma.
static void fill_pose(sn_corrector *c, int k) {
  const sn_examples *e = c->examples;
  sn_residuals *m = &c->residuals;
  int f = c->keys->frames[k], *clip = m->clip_of + k + 1;
  double *vector = m->vectors + (size_t)(k + 1) * (size_t)sn_residuals_dims(m);
  while (*clip + 1 < e->clip_count && f >= e->clip_start[*clip + 1]) ++*clip;
  if (m->joint_count > 0) {
    const sn_affine *pose = sn_pose(&e->poses, f);
    sn_pose_vector(c->rotations, m->joint_count, pose, vector);
    sn_pose_offsets(c->rotations, &e->skeleton, pose, m->offsets + (size_t)(k + 1) * 3 * (size_t)m->joint_count);
  }
  value_vector(c, e->values.values + (size_t)f * (size_t)m->value_count, vector + 3 * (size_t)m->joint_count);
  if (c->sigmas) c->sigmas[k + 1] = e->sigmas[f];
}

// Allocates all poses and fills in the rest pose.
static sn_status start_residuals(sn_corrector *c) {
  const sn_examples *e = c->examples;
  sn_residuals *m = &c->residuals;
  int n = e->rest.vertex_count, poses = c->keys->count + 1;
  *m = (sn_residuals){.pose_count = poses,
                      .vertex_count = n,
                      .joint_count = e->skeleton.joint_count,
                      .value_count = e->values.count,
                      .rotations = c->rotations,
                      .diagonal = sn_points_diagonal((const float(*)[3])e->rest.positions, n)};
  m->vectors = SN_NEW(c->ctx, &c->memory, double, (size_t)poses *(size_t)sn_residuals_dims(m));
  m->offsets = SN_NEW(c->ctx, &c->memory, double, (size_t)poses * 3 * (size_t)m->joint_count);
  m->deltas = sn_arena_alloc(c->ctx, &c->memory, (size_t)poses * (size_t)n, sizeof *m->deltas);
  m->clip_of = SN_NEW(c->ctx, &c->memory, int, poses);
  c->merged = SN_NEW(c->ctx, &c->memory, int, poses), c->pose_of = SN_NEW(c->ctx, &c->memory, int, poses);
  c->ranges = sn_arena_alloc(c->ctx, &c->memory, (size_t)m->value_count, sizeof *c->ranges);
  if (e->sigmas) m->sigmas = c->sigmas = SN_NEW(c->ctx, &c->memory, double, poses);
  if (!m->vectors || !m->offsets || !m->deltas || !m->clip_of || !c->merged || !c->pose_of || !c->ranges ||
      (e->sigmas && !c->sigmas))
    return c->ctx->error.status;
  find_ranges(c);
  sn_pose_vector(c->rotations, m->joint_count, NULL, m->vectors);
  value_vector(c, e->values.rest, m->vectors + 3 * (size_t)m->joint_count);
  sn_status status = read_skin(c, &m->skin);
  return status == SN_OK ? read_runs(c, &m->runs) : status;
}

sn_status sn_residuals_measure(sn_corrector *c) {
  const sn_examples *e = c->examples;
  sn_context *ctx = c->ctx;
  sn_residuals *m = &c->residuals;
  sn_arena scratch = sn_arena_new(ctx);
  sn_poser at = {0};
  const float(*centres)[3] = NULL;
  sn_status status = start_residuals(c);
  int n = m->vertex_count;
  float(*rest_normals)[3] = sn_arena_alloc(ctx, &scratch, (size_t)n, sizeof *rest_normals);
  float(*normals)[3] = sn_arena_alloc(ctx, &scratch, (size_t)n, sizeof *normals);
  uint8_t *singular = SN_NEW(ctx, &scratch, uint8_t, n);
  if (status == SN_OK) status = sn_poser_new(c, &scratch, &at);
  if (status == SN_OK) status = read_centres(c, &scratch, &centres);
  if (status == SN_OK && (!rest_normals || !normals || !singular)) status = ctx->error.status;
  if (status == SN_OK) sn_mesh_normals(&e->rest, (const float(*)[3])e->rest.positions, rest_normals);
  for (int k = 0; status == SN_OK && k < c->keys->count; k++) {
    int f = c->keys->frames[k];
    residual_job job = {.c = c,
                        .scratch = at.scratch,
                        .centres = centres,
                        .rest_normals = (const float(*)[3])rest_normals,
                        .frame = sn_frame(&e->frames, f),
                        .normals = (const float(*)[3])normals,
                        .deltas = m->deltas + (size_t)(k + 1) * (size_t)n,
                        .singular = singular,
                        .least = sn_correct_options_default().threshold / 100 * m->diagonal};
    sn_poser_set(c, &at, f);
    fill_pose(c, k);
    sn_mesh_normals(&e->rest, job.frame, normals);
    sn_team_for(ctx, n, 64, residual_range, &job);
    status = sn_team_gather(ctx, n, 64, job.deltas, sizeof *job.deltas);
    if (status == SN_OK) status = sn_team_gather(ctx, n, 64, singular, sizeof *singular);
    if (status == SN_OK) note_singular(c, f, singular);
  }
  sn_arena_free(&scratch);
  return status;
}
