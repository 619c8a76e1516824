// SPDX-License-Identifier: MIT
// `affine`: control points drive affine bones (Kim, Feng and Yu 2010), and its rigid forms (Feng, Kim and Yu 2008).
#include "train/affine/affine.h"

#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "runtime/format.h"
#include "train/train.h"

// Constants of the method. Sensitivity: docs/measurements.md#control-points.
static const double published_stiffness = 100, usual_stiffness = 10; // weight of a control point in the Poisson step
static const double published_beta = 40, usual_beta = 16;            // kernel width; 40: published, appendix
static const double published_rho = 0.01, usual_rho = 1e-4; // smoothness of weights; 0.01: published, section 4
enum { published_kappa = 2, usual_kappa = 10 };             // dimensions of the analysis; 2: published, table 1

// Stores a matrix as strips of eight rows, column by column (the layout of the runtime's controls.c).
static void store_strips(const double *matrix, size_t rows, size_t columns, float *out) {
  for (size_t first = 0; first < rows; first += SN_RT_STRIP) {
    size_t width = rows - first < SN_RT_STRIP ? rows - first : SN_RT_STRIP;
    for (size_t c = 0; c < columns; c++)
      for (size_t r = 0; r < width; r++) *out++ = (float)matrix[(first + r) * columns + c];
  }
}

// The control vertices: given, or chosen from the training frames.
static sn_status find_controls(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, sn_arena *memory,
                               int *count, int **out) {
  *count = examples->control_count > 0 ? examples->control_count : examples->control_target;
  if (*count > examples->rest.vertex_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "%d control points are more than the %d vertices", *count,
                   examples->rest.vertex_count);
  }
  *out = SN_NEW(ctx, memory, int, *count);
  if (!*out) return ctx->error.status;
  if (examples->control_count == 0) return sn_control_choose_controls(ctx, examples, keys, *count, *out);
  memcpy(*out, examples->controls, (size_t)*count * sizeof **out);
  return SN_OK;
}

static double *control_vectors(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, const int *controls,
                               int count, sn_arena *memory) {
  double *out = SN_NEW(ctx, memory, double, 3 * (size_t)count * (size_t)keys->count), *to = out;
  for (int f = 0; out && f < keys->count; f++)
    for (int c = 0; c < count; c++)
      for (int r = 0; r < 3; r++) *to++ = (double)sn_frame(&examples->frames, keys->frames[f])[controls[c]][r];
  return out;
}

// The first vertex of the rest file that maps to vertex i of the examples.
static uint32_t file_vertex(const sn_examples *examples, int i) {
  if (!examples->source) return (uint32_t)i;
  int s = 0;
  while (s < examples->source_count - 1 && examples->source[s] != i) s++;
  return (uint32_t)s;
}

// Describes parameters, training frames and predictor as sections.
static sn_status describe(sn_context *ctx, const sn_control_data *data, const double *map, sn_plan *plan) {
  size_t bones = (size_t)data->bones->bone_count, frames = (size_t)data->bones->keys->count,
         points = (size_t)data->control_count;
  size_t rows = bones * (size_t)data->outputs, columns = 3 * bones + points;
  bool solved = data->solve != NULL;
  sn_rt_control *head = sn_plan_section(ctx, plan, SN_SECTION_CONTROL_HEAD, 1, sizeof *head);
  uint32_t *vertices = sn_plan_section(ctx, plan, SN_SECTION_CONTROL_POINTS, points, sizeof *vertices);
  float *controls = sn_plan_section(ctx, plan, SN_SECTION_CONTROL_FRAMES, 3 * points * frames, sizeof *controls);
  float *centres = sn_plan_section(ctx, plan, SN_SECTION_CONTROL_CENTRES, 3 * bones, sizeof *centres);
  float *predictor = sn_plan_section(ctx, plan, SN_SECTION_CONTROL_MAP, rows * (frames + 1), sizeof *predictor);
  float *solve = NULL;
  if (solved) solve = sn_plan_section(ctx, plan, SN_SECTION_CONTROL_SOLVE, bones * columns, sizeof *solve);
  if (!head || !vertices || !controls || !centres || !predictor || (solved && !solve)) return ctx->error.status;
  *head = (sn_rt_control){
    .frames = (uint32_t)frames, .outputs = (uint32_t)data->outputs, .scale = (float)(1 / sn_control_width(data))};
  if (data->options->stretch) head->flags |= SN_RT_CONTROL_STRETCH;
  if (solved) head->flags |= SN_RT_CONTROL_POISSON;
  for (size_t c = 0; c < points; c++) vertices[c] = file_vertex(data->examples, data->vertices[c]);
  for (size_t n = 0; n < 3 * points * frames; n++) controls[n] = (float)data->controls[n];
  for (size_t b = 0; b < bones; b++) sn_vec3_store(data->bones->centre[b], centres + 3 * b);
  store_strips(map, rows, frames + 1, predictor);
  if (solved) store_strips(data->solve, bones, columns, solve);
  plan->desc.drive = SN_RT_DRIVE_CONTROLS, plan->desc.skeleton = NULL;
  plan->desc.palette_count = data->bones->bone_count, plan->desc.control_count = data->control_count;
  return SN_OK;
}

// Notes control points that never move; fails if none moves.
static sn_status note_still(sn_context *ctx, const sn_control_data *data, sn_train_report *report) {
  int frames = data->bones->keys->count, count = data->control_count, still = 0, first = 0;
  for (int c = count - 1; c >= 0; c--) {
    bool moves = false;
    for (int f = 1; f < frames && !moves; f++) {
      moves = memcmp(data->controls + 3 * ((size_t)f * (size_t)count + (size_t)c), data->controls + 3 * (size_t)c,
                     3 * sizeof *data->controls) != 0;
    }
    if (!moves) still++, first = c + 1;
  }
  if (still == count && frames > 1) {
    return sn_fail(
      ctx, SN_BAD_INPUT,
      "no control point moves in the training frames: choose vertices that do, or auto:N to have N chosen");
  }
  size_t used = report ? strlen(report->note) : 0;
  if (still > 0 && report && frames > 1) {
    snprintf(
      report->note + used, sizeof report->note - used,
      "%s%d of the control points never move in the training frames (the first is number %d) and drive nothing",
      used ? ". " : "", still, first);
  }
  return SN_OK;
}

static sn_status learn(sn_context *ctx, sn_control_data *data, sn_plan *plan, sn_train_report *report) {
  const sn_proxy_bones *bones = data->bones;
  const sn_affine_options *options = data->options;
  sn_arena *memory = &plan->memory;
  int *controls = NULL;
  data->outputs = sn_control_outputs(options);
  size_t count = (size_t)bones->bone_count, per_bone = (size_t)data->outputs;
  SN_TRY(find_controls(ctx, data->examples, data->keys, memory, &data->control_count, &controls));
  double *solve = SN_NEW(ctx, memory, double, count *(3 * count + (size_t)data->control_count));
  double *numbers = SN_NEW(ctx, memory, double, count *(size_t)bones->keys->count *per_bone);
  double *map = SN_NEW(ctx, memory, double, count *per_bone *(size_t)(bones->keys->count + 1));
  data->vertices = controls;
  data->controls = control_vectors(ctx, data->examples, data->keys, controls, data->control_count, memory);
  if (!solve || !numbers || !map || !data->controls) return ctx->error.status;
  SN_TRY(sn_control_encode(ctx, bones, options, numbers));
  data->numbers = numbers;
  double stiffness = options->places == SN_PLACES_BARE ? published_stiffness : usual_stiffness;
  if (options->places != SN_PLACES_PREDICTED) {
    data->solve = solve;
    SN_TRY(sn_control_poisson(ctx, data, stiffness, solve));
  }
  if (options->places == SN_PLACES_POISSON) SN_TRY(sn_control_poisson_fit(ctx, data, solve));
  if (report) snprintf(report->note, sizeof report->note, "%d bones", bones->bone_count);
  SN_TRY(note_still(ctx, data, report));
  SN_TRY(sn_control_predictor(ctx, data, map));
  return describe(ctx, data, map, plan);
}

// Fills in the options that are `auto`.
static sn_affine_options complete(const void *options) {
  sn_affine_options out = *(const sn_affine_options *)options;
  if (out.beta == 0) out.beta = out.published ? published_beta : usual_beta;
  if (out.rho < 0) out.rho = out.published ? published_rho : usual_rho;
  if (out.kappa == 0) out.kappa = out.published ? published_kappa : usual_kappa;
  if (out.stretch == SN_BONES_AUTO) out.stretch = out.published ? SN_BONES_AFFINE : SN_BONES_RIGID;
  if (out.published && out.places == SN_PLACES_POISSON) out.places = SN_PLACES_BARE;
  return out;
}

static sn_status train_affine(sn_context *ctx, const void *given, const sn_examples *examples, const sn_keys *keys,
                              sn_plan *plan, sn_train_report *report) {
  sn_affine_options options = complete(given);
  if (examples->rest.triangle_count == 0)
    return sn_fail(ctx, SN_BAD_INPUT, "the rest mesh has no triangles to learn from");
  if (examples->control_count == 0 && examples->control_target == 0)
    return sn_fail(ctx, SN_BAD_INPUT, "control points drive it: give `controls` LIST, or auto:N to have N chosen");
  sn_proxy_bones bones = {.examples = examples, .keys = keys};
  sn_control_data data = {.bones = &bones, .options = &options, .examples = examples, .keys = keys};
  sn_status status = sn_control_bones_make(ctx, &plan->memory, &options, &bones);
  plan->skin = bones.skin;
  return status == SN_OK ? learn(ctx, &data, plan, report) : status;
}

#define FIELD(name) offsetof(sn_affine_options, name)
static const sn_option table[] = {
  {"bones", SN_OPTION_INT, FIELD(bones), "100", 1, 1000, NULL, SN_OPTION_COMMON, "proxy bones"},
  {"kappa", SN_OPTION_INT, FIELD(kappa), "auto", 1, 1000, "auto", SN_OPTION_ADVANCED,
   "reduced dimensions of a bone; auto: 10, as published 2"},
  {"beta", SN_OPTION_REAL, FIELD(beta), "auto", 1e-6, 1e6, "auto", SN_OPTION_ADVANCED,
   "kernel width in mean squared distances of the training control points; auto: 16; 1e6: linear"},
  {"stretch", SN_OPTION_CHOICE, FIELD(stretch), "auto", 0, 0, "0|1|auto", SN_OPTION_ADVANCED,
   "rigid bones (0) or affine ones (1), for skins that bulge or stretch; auto: 1 as published, else 0"},
  {"poisson", SN_OPTION_CHOICE, FIELD(places), "1", 0, 0, "0|1|bare", SN_OPTION_ADVANCED,
   "positions of the bones: predicted (0), solved for with training data (1), or solved for as published (bare)"},
  {"smooth", SN_OPTION_REAL, FIELD(rho), "auto", 0, 1e6, "none|auto", SN_OPTION_ADVANCED,
   "smoothness of the weights, rho of Kim 2010; auto: 0.0001, as published 0.01"},
  {"influences", SN_OPTION_INT, FIELD(influences), "4", 1, 8, NULL, SN_OPTION_ADVANCED, "most bones of a vertex"},
  {"published", SN_OPTION_SWITCH, FIELD(published), "0", 0, 1, NULL, SN_OPTION_ADVANCED,
   "1: as printed: beta in squared file units (auto: 40), kappa 2, smooth 0.01, poisson=bare unless 0"},
  {0},
};
static const sn_option_group groups[] = {{table, 0}, SN_METHOD_COMMON, {0}};

const sn_method sn_method_affine = {.name = "affine",
                                    .summary = "control points drive proxy bones, by kernel CCA (Kim 2010)",
                                    .options = groups,
                                    .train = train_affine};
