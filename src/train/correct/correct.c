// SPDX-License-Identifier: MIT
// From a model and examples to corrections: blends inverted, poses merged, pose spaces solved, sections written.
#include "train/correct/correct.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/team.h"
#include "runtime/format.h"
#include "runtime/packed.h"
#include "train/correct/rate.h"
#include "train/train.h"

#define FIELD(name) offsetof(sn_correct_options, name)
const sn_option sn_correct_option_table[] = {
  {"space", SN_OPTION_CHOICE, FIELD(space), "local", 0, 0, "local|whole", SN_OPTION_COMMON,
   "local: a sum of functions of single joints' rotations; whole: one function of all rotations, as published"},
  {"kernel", SN_OPTION_CHOICE, FIELD(kernel), "gauss", 0, 0, "gauss|thinplate|bspline|shepard", SN_OPTION_ADVANCED,
   "of the interpolation in pose space; thinplate has a linear term always, bspline reaches twice as far as the "
   "nearest "
   "other pose"},
  {"sigma", SN_OPTION_REAL, FIELD(sigma), "auto", 1e-6, 1e6, "auto|pose", SN_OPTION_ADVANCED,
   "width of the kernels in radians (shepard: the power); auto: by held-out poses; pose: each its own, a multiple of "
   "its "
   "distance to the nearest other"},
  {"order", SN_OPTION_CHOICE, FIELD(order), "inverse", 0, 0, "inverse|forward", SN_OPTION_ADVANCED,
   "corrections before or after skinning"},
  {"distance", SN_OPTION_CHOICE, FIELD(distance), "euclid", 0, 0, "euclid|normalised|mahalanobis", SN_OPTION_ADVANCED,
   "between poses; normalised: every component by its deviation; mahalanobis: by the covariance"},
  {"linear", SN_OPTION_SWITCH, FIELD(linear), "0", 0, 1, NULL, SN_OPTION_ADVANCED,
   "1: a hyperplane under the kernels"},
  {"cardinal", SN_OPTION_SWITCH, FIELD(cardinal), "1", 0, 1, NULL, SN_OPTION_ADVANCED,
   "1: N x N weights and the displacements themselves (Shape by Example); 0: kernel weights per vertex"},
  {"threshold", SN_OPTION_REAL, FIELD(threshold), "0.005", 0, 100, NULL, SN_OPTION_ADVANCED,
   "corrections below this, in % of the diagonal, are not stored; normals below half a degree"},
  {"joints", SN_OPTION_TEXT, FIELD(joint_names), "", 0, 0, NULL, SN_OPTION_ADVANCED,
   "joints of the pose space, NAME+NAME; default: all that rotate"},
  {0},
};

sn_correct_options sn_correct_options_default(void) {
  sn_correct_options out = {0};
  sn_options_initial((const sn_option_group[]){{sn_correct_option_table, 0}, {0}}, &out);
  return out;
}

// ---- what a vertex residuals ------------------------------------------------------------------------------------------------------

static sn_vec3 skinned_normal(sn_mat3 a, sn_vec3 rest) {
  sn_vec3 x = sn_mat3_column(a, 0), y = sn_mat3_column(a, 1), z = sn_mat3_column(a, 2);
  sn_mat3 cofactor = sn_mat3_columns(sn_vec3_cross(y, z), sn_vec3_cross(z, x), sn_vec3_cross(x, y));
  return sn_vec3_normalize(sn_mat3_apply(cofactor, rest), rest);
}

typedef struct miss_job {
  const sn_rt_model *model;
  const void *scratch; // with the palette
  const sn_skin *skin;
  const float (*centres)[3];
  const sn_mesh *rest;
  const float (*rest_normals)[3], (*frame)[3], (*normals)[3];
  bool forward;
  double most_stretch; // of a displacement before the blend over the residual after it
  double tolerance;
  float (*deltas)[6];
  float *farthest;
  uint8_t *lost; // vertices that cannot be brought back
} miss_job;

static void miss_vertex(const miss_job *job, int i) {
  sn_affine blend = sn_blend_of(job->model, job->scratch, job->skin, job->centres, i);
  sn_mat3 a = sn_affine_linear(blend);
  sn_vec3 rest = sn_vec3_from(job->rest->positions[i]), rest_normal = sn_vec3_from(job->rest_normals[i]);
  sn_vec3 target_normal = sn_vec3_from(job->normals[i]);
  sn_vec3 missing = sn_vec3_sub(sn_vec3_from(job->frame[i]), sn_affine_apply(blend, rest)), d = missing, n;
  if (job->forward) {
    n = sn_vec3_sub(target_normal, skinned_normal(a, rest_normal));
  } else {
    d = sn_blend_solve(a, missing);
    n = sn_normal_before(a, rest_normal, target_normal);
    if (sn_vec3_distance(sn_mat3_apply(a, d), missing) > job->tolerance) job->lost[i] = 1;
    double most = job->most_stretch * sn_vec3_length(missing), length = sn_vec3_length(d);
    if (length > most) d = sn_vec3_scale(d, most / length);
  }
  job->farthest[i] = fmaxf(job->farthest[i], (float)sn_vec3_length(missing));
  sn_vec3_store(d, job->deltas[i]), sn_vec3_store(n, job->deltas[i] + 3);
}

static void miss_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) miss_vertex(user, (int)i);
}

// ---- poses -----------------------------------------------------------------------------------------------------------------------

int sn_controls_dims(const sn_residuals *m, const int *controls, int count) {
  int dims = 0;
  for (int k = 0; k < count; k++) dims += sn_control_dims(m, controls[k]);
  return dims;
}

void sn_controls_vector(const sn_residuals *m, int pose, const int *controls, int count, double *out) {
  for (int k = 0; k < count; k++) {
    const double *at = sn_control_at(m, pose, controls[k]);
    for (int c = 0; c < sn_control_dims(m, controls[k]); c++) *out++ = at[c];
  }
}

static double pose_distance(const sn_residuals *m, int p, int q, const int *controls, int count) {
  double sum = 0;
  for (int k = 0; k < count; k++) {
    const double *a = sn_control_at(m, p, controls[k]), *b = sn_control_at(m, q, controls[k]);
    for (int c = 0; c < sn_control_dims(m, controls[k]); c++) sum += (a[c] - b[c]) * (a[c] - b[c]);
  }
  return sqrt(sum);
}

// Adds to a text of `size` bytes what fits.
static void tell(char *text, size_t size, const char *format, int a, int b) {
  size_t used = strlen(text);
  snprintf(text + used, size - used, format, a, b);
}

typedef struct corrector {
  sn_context *ctx;
  const sn_correct_options *options;
  const sn_examples *examples;
  const sn_keys *keys;
  sn_train_report *report;
  sn_arena memory;
  sn_rt_model model;
  sn_residuals residuals;
  sn_turn *turns;
  int *joints, joint_count; // of the pose space
  int *merged;              // training frames of every pose
  int *pose_of;             // of every training frame
  float (*ranges)[2];       // of the values
  double *sigmas;           // of the poses; NULL: none is asked for
  double rigid;             // squared error of the best joints
} corrector;

// Values that say something, all of them; a column that says nothing is a mistake.
static sn_status add_values(corrector *c) {
  const sn_values *values = &c->examples->values;
  for (int v = 0; v < c->residuals.value_count; v++) {
    int control = c->residuals.joint_count + v;
    if (!(c->ranges[v][1] > c->ranges[v][0]))
      return sn_fail(
        c->ctx, SN_BAD_INPUT,
        "value '%s' is %g at the rest mesh and in all training frames: leave the column out, or train on "
        "frames that change it (`keys`)",
        values->names[v], (double)c->ranges[v][0]);
    c->joints[c->joint_count++] = control;
  }
  return SN_OK;
}

// The joints named in the options, or all that turn; and the values.
static sn_status choose_joints(corrector *c) {
  const sn_skeleton *skeleton = &c->examples->skeleton;
  c->joints = SN_NEW(c->ctx, &c->memory, int, skeleton->joint_count + c->residuals.value_count);
  if (!c->joints) return c->ctx->error.status;
  const char *names = c->options->joint_names;
  while (*names) {
    size_t length = strcspn(names, "+");
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)length, names);
    int j = sn_skeleton_find(skeleton, name);
    if (j < 0) return sn_fail(c->ctx, SN_BAD_INPUT, "joints: there is no joint called '%s'", name);
    for (int n = 0; n < c->joint_count; n++)
      if (c->joints[n] == j) return sn_fail(c->ctx, SN_BAD_INPUT, "joints: '%s' is named twice", name);
    c->joints[c->joint_count++] = j;
    names += length + (names[length] == '+');
  }
  if (c->joint_count > 0) return add_values(c);
  for (int n = 0; n < skeleton->joint_count; n++) {
    int j = c->turns[n].joint;
    if (c->turns[n].parent < 0) continue;
    for (int p = 1; p < c->residuals.pose_count; p++)
      if (pose_distance(&c->residuals, 0, p, &j, 1) > sn_least_turn) {
        c->joints[c->joint_count++] = j;
        break;
      }
  }
  sn_status status = add_values(c);
  if (status != SN_OK || c->joint_count > 0) return status;
  return sn_fail(
    c->ctx, SN_BAD_INPUT,
    "no joint turns against its parent in the training poses, so there is no pose space; a root that turns "
    "can be named with joints=NAME");
}

static void average_into(float (*sum)[6], const float (*next)[6], int vertex_count, int count) {
  for (int i = 0; i < vertex_count; i++)
    for (int c = 0; c < 6; c++) sum[i][c] += (next[i][c] - sum[i][c]) / (float)(count + 1);
}

// Pose 0 is the rest pose, which needs no correction; a training frame in the same pose takes its place.
static void merge_poses(corrector *c) {
  sn_residuals *m = &c->residuals;
  size_t stride = (size_t)sn_residuals_dims(m), n = (size_t)m->vertex_count;
  double largest = 0;
  for (int p = 1; p < m->pose_count; p++) {
    double d = pose_distance(m, 0, p, c->joints, c->joint_count);
    if (d > largest) largest = d;
  }
  int kept = 1, told = 0, first = 0;
  for (int p = 1; p < m->pose_count; p++) {
    const double *vector = m->vectors + (size_t)p * stride;
    const float(*deltas)[6] = (const float(*)[6])(m->deltas + (size_t)p * n);
    int same = 0;
    while (same < kept && pose_distance(m, p, same, c->joints, c->joint_count) > sn_same_pose * largest) same++;
    if (same == kept) {
      memmove(m->vectors + (size_t)kept * stride, vector, stride * sizeof *vector);
      memmove(m->deltas + (size_t)kept * n, deltas, n * sizeof *deltas);
      if (c->sigmas) c->sigmas[kept] = c->sigmas[p];
      m->clip_of[kept] = m->clip_of[p];
      c->pose_of[p - 1] = kept, c->merged[kept++] = 1;
    } else {
      if (c->merged[same] > 0 && told++ == 0) first = c->keys->frames[p - 1];
      c->pose_of[p - 1] = same;
      average_into(m->deltas + (size_t)same * n, deltas, m->vertex_count, c->merged[same]++);
    }
  }
  if (told == 1)
    tell(c->report->note, sizeof c->report->note, "frame %d is in the pose of another: averaged. ", first, 0);
  if (told > 1)
    tell(c->report->note, sizeof c->report->note, "frame %d and %d more are in the pose of another: averaged. ",
         first, told - 1);
  m->pose_count = kept;
}

// ---- residuals at every training pose -------------------------------------------------------------------------------------------------

// The evaluated weights, in the examples' vertex order.
static sn_status read_skin(corrector *c, sn_skin *out) {
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

// The groups of the model, with rows of the examples.
static sn_status read_runs(corrector *c, sn_runs *out) {
  size_t groups = c->model.sizes[SN_SECTION_SKIN_GROUPS] / sizeof(sn_rt_group);
  out->first = SN_NEW(c->ctx, &c->memory, int, groups + 1), out->count = (int)groups;
  out->rows = SN_NEW(c->ctx, &c->memory, int, (size_t)c->model.info.block_count *SN_RT_LANES);
  if (!out->first || !out->rows) return c->ctx->error.status;
  int used = 0;
  for (sn_rt_block b = {0}; sn_rt_next_block(&c->model, &b);) {
    for (int l = 0; l < SN_RT_LANES; l++)
      out->rows[used++] = c->examples->source ? c->examples->source[b.vertex[l]] : (int)b.vertex[l];
    for (size_t g = b.group + 1; g <= groups; g++) out->first[g] = used;
  }
  return SN_OK;
}

// Centres of rotation in the examples' vertex order.
static sn_status read_centres(corrector *c, sn_arena *memory, const float (**out)[3]) {
  const sn_examples *e = c->examples;
  float(*file)[3] = sn_arena_alloc(c->ctx, memory, c->model.info.vertex_count, sizeof *file), (*own)[3] = file;
  if (e->source) own = sn_arena_alloc(c->ctx, memory, (size_t)e->rest.vertex_count, sizeof *own);
  if (!file || !own) return c->ctx->error.status;
  sn_rt_get_rest(&c->model, &(sn_rt_rest){.centres = file}, NULL);
  if (e->source) sn_examples_from_file(e, file, sizeof *file, own);
  *out = (const float(*)[3])own;
  return SN_OK;
}

static void note_lost(corrector *c, int frame, const uint8_t *lost) {
  int count = 0;
  for (int i = 0; i < c->residuals.vertex_count; i++) count += lost[i];
  if (count == 0) return;
  char *note = c->report->note;
  size_t size = sizeof c->report->note;
  tell(note, size, "frame %d: the blend of %d vertices is nearly singular and was inverted only in part (", frame,
       count);
  for (int i = 0, told = 0; i < c->residuals.vertex_count && told < 8; i++) {
    if (lost[i]) tell(note, size, told++ ? " %d" : "%d", i, 0);
  }
  tell(note, size, count > 8 ? " ...). " : "). ", 0, 0);
}

// The range of every value over the rest mesh and the training frames.
static void find_ranges(corrector *c) {
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

// The values of a pose as the runtime has them, behind its turns.
static void value_vector(const corrector *c, const double *row, double *out) {
  for (int v = 0; v < c->examples->values.count; v++) {
    double low = (double)c->ranges[v][0], span = (double)c->ranges[v][1] - low;
    out[v] = span > 0 ? (double)SN_RT_VALUE_SPAN * (row[v] - low) / span : 0;
  }
}

// The model's palette in a training frame.
typedef struct poser {
  float (*input)[12], *torques;
  void *scratch;
} poser;

static sn_status poser_new(const corrector *c, sn_arena *memory, poser *out) {
  int joint_count = c->examples->skeleton.joint_count;
  out->input = sn_arena_alloc(c->ctx, memory, (size_t)joint_count, sizeof *out->input);
  out->torques = SN_NEW(c->ctx, memory, float, joint_count);
  out->scratch = sn_arena_alloc(c->ctx, memory, sn_rt_scratch_size(&c->model), 1);
  return out->input && out->torques && out->scratch ? SN_OK : c->ctx->error.status;
}

static void set_pose(const corrector *c, const poser *at, int frame) {
  const sn_examples *e = c->examples;
  int joint_count = e->skeleton.joint_count;
  sn_rt_input in = {.joints = (const float(*)[12])at->input, .torques = at->torques};
  if (joint_count > 0) sn_model_joints(sn_pose(&e->poses, frame), joint_count, at->input);
  sn_model_torques(&e->torques, frame, joint_count, at->torques);
  sn_rt_palette(&c->model, &in, at->scratch, NULL);
}

static sn_status measure_residuals(corrector *c) {
  const sn_examples *e = c->examples;
  sn_context *ctx = c->ctx;
  sn_residuals *m = &c->residuals;
  int n = e->rest.vertex_count, joint_count = e->skeleton.joint_count, poses = c->keys->count + 1;
  *m = (sn_residuals){.pose_count = poses, .vertex_count = n, .joint_count = joint_count, .turns = c->turns};
  m->value_count = e->values.count;
  size_t dims = (size_t)sn_residuals_dims(m);
  m->diagonal = sn_points_diagonal((const float(*)[3])e->rest.positions, n);
  sn_status status = read_skin(c, &m->skin);
  if (status == SN_OK) status = read_runs(c, &m->runs);
  m->vectors = SN_NEW(ctx, &c->memory, double, (size_t)poses *dims);
  c->ranges = sn_arena_alloc(ctx, &c->memory, (size_t)m->value_count, sizeof *c->ranges);
  if (e->sigmas) {
    m->sigmas = c->sigmas = SN_NEW(ctx, &c->memory, double, poses);
    if (!c->sigmas) status = ctx->error.status;
  }
  m->deltas = sn_arena_alloc(ctx, &c->memory, (size_t)poses * (size_t)n, sizeof *m->deltas);
  c->merged = SN_NEW(ctx, &c->memory, int, poses), c->pose_of = SN_NEW(ctx, &c->memory, int, poses);
  m->farthest = SN_NEW(ctx, &c->memory, float, n), m->clip_of = SN_NEW(ctx, &c->memory, int, poses);
  sn_arena scratch = sn_arena_new(ctx);
  float(*rest_normals)[3] = sn_arena_alloc(ctx, &scratch, (size_t)n, sizeof *rest_normals);
  float(*normals)[3] = sn_arena_alloc(ctx, &scratch, (size_t)n, sizeof *normals);
  poser at = {0};
  uint8_t *lost = SN_NEW(ctx, &scratch, uint8_t, n);
  const float(*centres)[3] = NULL;
  if (status == SN_OK) status = poser_new(c, &scratch, &at);
  if (status == SN_OK) status = read_centres(c, &scratch, &centres);
  if (status == SN_OK && (!m->vectors || !c->ranges || !m->deltas || !c->merged || !c->pose_of || !m->farthest ||
                          !m->clip_of || !rest_normals || !normals || !lost))
    status = ctx->error.status;
  if (status == SN_OK) {
    sn_mesh_normals(&e->rest, (const float(*)[3])e->rest.positions, rest_normals);
    sn_pose_vector(c->turns, joint_count, NULL, m->vectors);
    find_ranges(c);
    value_vector(c, e->values.rest, m->vectors + 3 * (size_t)joint_count);
  }
  for (int k = 0; status == SN_OK && c->sigmas && k < c->keys->count; k++)
    c->sigmas[k + 1] = e->sigmas[c->keys->frames[k]];
  for (int k = 0; status == SN_OK && k < c->keys->count; k++) {
    int f = c->keys->frames[k];
    set_pose(c, &at, f);
    while (m->clip_of[k + 1] + 1 < e->clip_count && f >= e->clip_start[m->clip_of[k + 1] + 1]) m->clip_of[k + 1]++;
    sn_mesh_normals(&e->rest, sn_frame(&e->frames, f), normals);
    memset(lost, 0, (size_t)n);
    miss_job job = {&c->model,
                    at.scratch,
                    &m->skin,
                    centres,
                    &e->rest,
                    (const float(*)[3])rest_normals,
                    sn_frame(&e->frames, f),
                    (const float(*)[3])normals,
                    c->options->order == SN_ORDER_FORWARD,
                    c->options->bounded ? 1 : INFINITY,
                    1e-4 * m->diagonal,
                    m->deltas + (size_t)(k + 1) * (size_t)n,
                    m->farthest,
                    lost};
    sn_team_for(ctx, n, 64, miss_range, &job);
    status = sn_team_gather(ctx, n, 64, job.deltas, sizeof *job.deltas);
    if (status == SN_OK) status = sn_team_gather(ctx, n, 64, lost, sizeof *lost);
    double *vector = m->vectors + (size_t)(k + 1) * dims;
    if (joint_count > 0) sn_pose_vector(c->turns, joint_count, sn_pose(&e->poses, f), vector);
    value_vector(c, e->values.values + (size_t)f * (size_t)m->value_count, vector + 3 * (size_t)joint_count);
    note_lost(c, f, lost);
  }
  if (status == SN_OK) status = sn_team_gather(ctx, n, 64, m->farthest, sizeof *m->farthest);
  sn_arena_free(&scratch);
  return status;
}

// ---- all of it --------------------------------------------------------------------------------------------------------------------

// Forms that only the whole pose space has.
static sn_status check_local(sn_context *ctx, const sn_correct_options *o) {
  const char *form = o->kernel != SN_RBF_GAUSS                                ? "a kernel other than gauss"
                     : o->sigma != SN_SIGMA_AUTO                              ? "a width (sigma)"
                     : o->distance != SN_DISTANCE_EUCLID                      ? "a distance other than euclid"
                     : o->weighted                                            ? "weighted=1"
                     : o->linear                                              ? "linear=1"
                     : !o->cardinal                                           ? "cardinal=0"
                     : o->threshold != sn_correct_options_default().threshold ? "a threshold"
                                                                              : NULL;
  return form ? sn_fail(ctx, SN_BAD_INPUT, "%s is a form of one pose space for all joints: add space=whole", form)
              : SN_OK;
}

// Widths of single poses are of the one pose space that has poses for centres.
static sn_status check_sigmas(sn_context *ctx, const sn_correct_options *o, const sn_examples *examples) {
  if (!examples->sigmas || (o->space == SN_SPACE_WHOLE && !o->weighted && o->kernel != SN_RBF_THINPLATE))
    return SN_OK;
  return sn_fail(
    ctx, SN_BAD_INPUT,
    "a pose with a separate sigma (`pose` FRAME=MESH@sigma) goes with one pose space for all: add space=whole "
    "(without weighted=1 or kernel=thinplate)");
}

static sn_status check_options(sn_context *ctx, const sn_correct_options *o, const sn_rt_model *model, int values) {
  if (model->info.correct != SN_RT_CORRECT_NONE)
    return sn_fail(ctx, SN_BAD_INPUT, "the model has corrections already");
  if (o->linear && o->kernel == SN_RBF_SHEPARD)
    return sn_fail(ctx, SN_BAD_INPUT, "kernel=shepard takes no linear term: leave out linear=1");
  if (o->space == SN_SPACE_LOCAL) return check_local(ctx, o);
  if (!o->weighted) return SN_OK;
  if (values > 0)
    return sn_fail(ctx, SN_BAD_INPUT, "weighted=1 weighs joints, and values have no weights: leave it out");
  if (o->kernel != SN_RBF_GAUSS && o->kernel != SN_RBF_BSPLINE)
    return sn_fail(ctx, SN_BAD_INPUT, "weighted=1 goes with kernel=gauss or kernel=bspline");
  if (o->distance == SN_DISTANCE_MAHALANOBIS)
    return sn_fail(ctx, SN_BAD_INPUT, "weighted=1 weighs joints, distance=mahalanobis mixes them: choose one");
  if (o->linear) return sn_fail(ctx, SN_BAD_INPUT, "weighted=1 has no linear term: leave out linear=1");
  if (o->sigma == SN_SIGMA_POSE)
    return sn_fail(ctx, SN_BAD_INPUT, "weighted=1 has one sigma for all poses: auto or a number");
  if (model->info.palette_count != model->info.joint_count)
    return sn_fail(ctx, SN_BAD_INPUT, "weighted=1 needs a skin on the joints alone");
  return SN_OK;
}

// The squared error of the best joint of every vertex at the training poses; 0 without joints.
static sn_status find_rigid(corrector *c) {
  int n = c->examples->rest.vertex_count;
  if (c->examples->skeleton.joint_count == 0) return SN_OK;
  double *errors = SN_NEW(c->ctx, &c->memory, double, n);
  sn_status status = errors ? sn_best_joints(c->ctx, c->examples, c->keys, NULL, errors) : c->ctx->error.status;
  for (int i = 0; status == SN_OK && i < n; i++) c->rigid += errors[i];
  return status;
}

// The enveloping error that `squared`, the errors of all vertices at the training poses together, amounts to.
static double enveloping_error(const corrector *c, double squared) {
  return c->rigid > 0 ? sqrt(squared / c->rigid) : 0;
}

// The file's weights say which joints are relevant to a vertex; without them the model's.
static const sn_skin *skin_on_joints(const corrector *c) {
  if (c->residuals.joint_count == 0) return NULL;
  if (c->examples->skin.vertex_count > 0) return &c->examples->skin;
  return c->model.info.palette_count == c->model.info.joint_count ? &c->residuals.skin : NULL;
}

// A model may have this much more cross-validated error than one with all displacement fields would, but lose no more than this part of the
// squared residual; or it loses this part of the diagonal (rms), which nobody sees.
static const double more_error = 1.03, lost_part = 0.0025, invisible = 5e-5;

// Bytes of fields at the most: of so many fields per vertex, and so many whatever the size of the mesh. Three times the time of linear blending has
// room for them.
static const double most_fields = 5, field_bytes = 16, free_bytes = 85000;

// More poses are thinned out evenly: those of a long clip are similar to each other.
enum { most_poses = 1024 };

static void thin_out(corrector *c) {
  sn_residuals *m = &c->residuals;
  size_t dims = (size_t)sn_residuals_dims(m), n = (size_t)m->vertex_count, from = (size_t)m->pose_count;
  if (from <= most_poses) return;
  for (size_t p = 1; p < most_poses; p++) {
    size_t k = p * from / most_poses;
    memmove(m->vectors + p * dims, m->vectors + k * dims, dims * sizeof *m->vectors);
    memmove(m->deltas + p * n, m->deltas + k * n, n * sizeof *m->deltas);
    m->clip_of[p] = m->clip_of[k];
  }
  for (int k = 0; k < c->keys->count; k++) c->pose_of[k] = (int)((size_t)c->pose_of[k] * most_poses / from);
  m->pose_count = most_poses;
}

static sn_regression regression_of(corrector *c) {
  return (sn_regression){
    .ctx = c->ctx, .memory = &c->memory, .m = &c->residuals, .controls = c->joints, .control_count = c->joint_count};
}

static sn_status make_fields(corrector *c, sn_corrections *out) {
  const sn_correct_options *o = c->options;
  return (o->components > 0 ? sn_eigenskin_fields
          : o->weighted     ? sn_weighted_fields
                            : sn_psd_fields)(c->ctx, &c->memory, o, &c->residuals, c->joints, c->joint_count, out);
}

// ---- limits after the blend -----------------------------------------------------------------------------------------------------

typedef struct after_job {
  const corrector *c;
  const poser *at;
  const sn_corrections *out;
  int pose;
  double *longest;
} after_job;

static void after_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const after_job *job = user;
  const sn_residuals *m = &job->c->residuals;
  for (int64_t i = begin; i < end; i++) {
    double sum[3] = {0, 0, 0};
    for (int n = 0; n < sn_basis_number(&job->out->groups, job->out->basis_count, (int)i); n++) {
      const float *d = job->out->deltas[(size_t)n * (size_t)m->vertex_count + (size_t)i];
      size_t basis = (size_t)sn_basis_of(&job->out->groups, (int)i, n);
      double value = job->out->curves[basis * (size_t)m->pose_count + (size_t)job->pose];
      for (int k = 0; k < 3; k++) sum[k] += value * d[k];
    }
    sn_mat3 a = sn_affine_linear(sn_blend_of(&job->c->model, job->at->scratch, &m->skin, NULL, (int)i));
    job->longest[i] = fmax(job->longest[i], sn_vec3_length(sn_mat3_apply(a, sn_vec3_make(sum[0], sum[1], sum[2]))));
  }
}

// Bones of the model's own may stretch a displacement to any length, so that only what becomes of it can be limited.
static sn_status limit_after_blend(corrector *c, sn_corrections *out) {
  sn_residuals *m = &c->residuals;
  sn_arena scratch = sn_arena_new(c->ctx);
  poser at = {0};
  double *longest = SN_NEW(c->ctx, &scratch, double, m->vertex_count);
  sn_status status = longest ? poser_new(c, &scratch, &at) : c->ctx->error.status;
  for (int k = 0; status == SN_OK && k < c->keys->count; k++) {
    after_job job = {c, &at, out, c->pose_of[k], longest};
    set_pose(c, &at, c->keys->frames[k]);
    sn_parallel_for(c->ctx, m->vertex_count, 64, after_range, &job);
  }
  for (int i = 0; status == SN_OK && i < m->vertex_count; i++)
    out->limits[i] = (float)sn_longest_correction(m, longest[i]);
  out->limit_after = true;
  sn_arena_free(&scratch);
  return status;
}

static bool has_own_bones(const sn_rt_model *model) {
  return model->info.blend == SN_RT_BLEND_LINEAR && model->info.palette_count != model->info.joint_count;
}

static sn_status write(corrector *c, const sn_corrections *corrections, const sn_model *base, sn_model *out) {
  return sn_correct_write(c->ctx, c->options, c->examples, c->keys, &c->residuals, (const float(*)[2])c->ranges,
                          corrections, base->desc, out);
}

// Values are kept within their range, and so are sums of polynomials in them.
static sn_status limit(corrector *c, sn_corrections *corrections) {
  if (c->residuals.joint_count == 0) return SN_OK;
  sn_status status = sn_corrections_limit(c->ctx, &c->memory, &c->residuals, corrections);
  if (status == SN_OK && c->options->order == SN_ORDER_INVERSE && has_own_bones(&c->model))
    status = limit_after_blend(c, corrections);
  return status;
}

// ---- rate and distortion -----------------------------------------------------------------------------------------------------

typedef struct rated {
  corrector *c;
  sn_regression *r;
  sn_fields *fields;
  const sn_model *base;
  int patches;
} rated;

static sn_status build_rated(void *user, sn_field_limits *limits, sn_model *out, sn_rate *rate) {
  rated *w = user;
  corrector *c = w->c;
  const sn_residuals *m = &c->residuals;
  sn_corrections corrections;
  sn_rt_model model;
  bool exact = m->joint_count == 0 && !(limits->bytes > 0);
  sn_status status = SN_OK;
  if (!exact && !w->fields) status = sn_fields_find(w->r, (const float(*)[3])c->examples->rest.positions, &w->fields);
  if (status == SN_OK)
    status = exact ? sn_shapes_make(w->r, &corrections) : sn_fields_make(w->fields, limits, &corrections);
  if (status == SN_OK) status = limit(c, &corrections);
  if (status == SN_OK) status = write(c, &corrections, w->base, out);
  if (exact) *limits = (sn_field_limits){0, (double)out->size};
  double squared = w->r->score + limits->lost;
  *rate = (sn_rate){.bytes = (double)out->size, .fields = corrections.basis_count};
  rate->rms_pct_diag = 100 * sqrt(squared / m->vertex_count / fmax(m->pose_count - 1, 1)) / m->diagonal;
  w->patches = corrections.field_count;
  rate->cross_validated = enveloping_error(c, squared);
  if (status != SN_OK || !c->report->limits.ratio_of) return status;
  status = sn_model_open(c->ctx, "model", out->bytes, out->size, &model);
  return status == SN_OK ? c->report->limits.ratio_of(c->ctx, &model, c->examples, &rate->ratio) : status;
}

// The base, the corrections, what cross-validation found, what was not kept.
static void tell_learned(const corrector *c, const rated *w, const sn_rate *rate) {
  const sn_regression *r = w->r;
  sn_train_report *report = c->report;
  const char *base = NULL;
  for (int k = 0; k < report->candidate_count; k++)
    if (report->candidates[k].is_chosen) base = report->candidates[k].name;
  int used =
    snprintf(report->learned, sizeof report->learned,
             "%s%s%sCorrections: %d displacement fields in %d patches, functions of %d %s, ridge %g. ",
             base ? "Base: " : "", base ? base : "", base ? ". " : "", rate->fields, w->patches, r->control_count,
             c->residuals.joint_count == 0  ? "values"
             : c->residuals.value_count > 0 ? "joints and values"
                                            : "joints",
             sn_ridges[r->ridge]);
  if (r->undecided)
    snprintf(report->learned + used, sizeof report->learned - (size_t)used,
             "Cross-validation cannot judge them: the training poses are too few or too different.");
  else
    snprintf(report->learned + used, sizeof report->learned - (size_t)used,
             "Cross-validated error %.3g, %.3g without corrections; fields that were not kept would make it %.3g.",
             rate->cross_validated, enveloping_error(c, r->uncorrected), enveloping_error(c, r->score));
}

static sn_status regress(corrector *c, const sn_model *base, sn_model *out) {
  const sn_residuals *m = &c->residuals;
  sn_regression r = regression_of(c);
  rated w = {.c = c, .r = &r, .base = base};
  sn_status status = find_rigid(c);
  if (status == SN_OK) status = sn_regression_choose(&r);
  if (status == SN_OK) status = sn_regression_solve(&r);
  double floor = invisible * m->diagonal,
         lost = r.undecided ? 0 : fmin((more_error * more_error - 1) * r.score, lost_part * r.uncorrected);
  sn_field_limits usual = {
    fmax(lost, floor * floor * m->pose_count * m->vertex_count),
    field_bytes * m->vertex_count * (c->options->components ? c->options->components : most_fields) + free_bytes};
  if (m->joint_count == 0 && !c->options->components) usual = (sn_field_limits){0}; // shapes of values are exact
  if (status == SN_OK) status = sn_rate_choose(c->ctx, build_rated, &w, usual, out, c->report);
  if (status != SN_OK) return status;
  if (r.undecided)
    tell(c->report->note, sizeof c->report->note,
         m->joint_count > 0
           ? "the training poses are too few or too different to hold some out: the usual ridge is used (1e-3). "
           : "the training shapes are too few or too different to hold some out: they are learned as they are. ",
         0, 0);
  const sn_rate *rate = c->report->rates;
  while (c->report->rate_count > 0 && !rate->is_chosen) rate++;
  c->report->cross_validated = rate->cross_validated;
  tell_learned(c, &w, rate);
  return SN_OK;
}

// The residual of `base` at the poses of the keys, and the controls.
static sn_status prepare(corrector *c, const sn_model *base) {
  sn_context *ctx = c->ctx;
  sn_status status = sn_turns_make(ctx, &c->memory, &c->examples->skeleton, &c->examples->poses, c->keys, &c->turns);
  if (status == SN_OK) status = sn_model_open(ctx, "model", base->bytes, base->size, &c->model);
  if (status == SN_OK) status = check_options(ctx, c->options, &c->model, c->examples->values.count);
  if (status == SN_OK) status = check_sigmas(ctx, c->options, c->examples);
  if (status == SN_OK) status = measure_residuals(c);
  if (status == SN_OK) status = choose_joints(c);
  if (status != SN_OK) return status;
  merge_poses(c);
  if (c->options->space == SN_SPACE_LOCAL) thin_out(c);
  c->residuals.weights = skin_on_joints(c);
  return SN_OK;
}

static sn_status run(corrector *c, const sn_model *base, sn_model *out) {
  sn_corrections corrections;
  sn_status status = prepare(c, base);
  bool local = c->options->space == SN_SPACE_LOCAL;
  if (status == SN_OK) status = local ? regress(c, base, out) : make_fields(c, &corrections);
  if (status == SN_OK && !local) status = write(c, &corrections, base, out);
  sn_skin_free(&c->residuals.skin);
  return status;
}

static corrector start(sn_context *ctx, const sn_correct_options *options, const sn_examples *examples,
                       const sn_keys *keys, sn_train_report *report) {
  return (corrector){.ctx = ctx,
                     .options = options,
                     .examples = examples,
                     .keys = keys,
                     .report = report,
                     .memory = sn_arena_new(ctx)};
}

static sn_status try_setting(corrector *c, const bool *held, sn_correct_setting *setting, double *squared) {
  sn_regression r = regression_of(c);
  if (!held) {
    sn_status status = sn_regression_choose(&r);
    *setting = (sn_correct_setting){r.ridge, r.score, r.uncorrected};
    return status;
  }
  bool *poses = SN_NEW(c->ctx, &c->memory, bool, c->residuals.pose_count);
  if (!poses) return c->ctx->error.status;
  for (int k = 0; k < c->keys->count; k++) poses[c->pose_of[k]] |= held[k];
  poses[0] = false;
  return sn_regression_held_out(&r, setting->ridge, poses, squared);
}

sn_status sn_correct_try(sn_context *ctx, const sn_correct_options *options, const sn_examples *examples,
                         const sn_keys *keys, const sn_model *base, const bool *held, sn_correct_setting *setting,
                         double *squared) {
  sn_train_report ignored = {0};
  corrector c = start(ctx, options, examples, keys, &ignored);
  sn_status status = prepare(&c, base);
  if (status == SN_OK) status = try_setting(&c, held, setting, squared);
  sn_skin_free(&c.residuals.skin);
  sn_arena_free(&c.memory);
  return status;
}

sn_status sn_correct_model(sn_context *ctx, const sn_correct_options *options, const sn_examples *examples,
                           const sn_keys *keys, const sn_model *base, sn_model *out, sn_train_report *report) {
  *out = (sn_model){0};
  corrector c = start(ctx, options, examples, keys, report);
  sn_status status = run(&c, base, out);
  sn_arena_free(&c.memory);
  return status;
}
