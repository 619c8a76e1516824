// SPDX-License-Identifier: MIT
// `rotreg`: rotational regression (Wang, Pulli and Popovic 2007). The reduced form becomes a model with the drive
// `rotreg`; the full one is evaluated offline.
#include "train/rotreg.h"

#include "runtime/format.h"
#include "runtime/rotreg.h"
#include "train/rotreg_reduced.h"
#include "train/train.h"

enum { lanes = SN_RT_LANES, rows = SN_RT_ROTREG_ROWS };

// ---- sections of the drive (docs/model-format.md) -----------------------------------------------------------------------

static sn_status joint_section(sn_context *ctx, sn_arena *memory, const rotreg_joints *joints,
                               sn_model_section *out) {
  sn_rt_rotreg_joint *to = SN_NEW(ctx, memory, sn_rt_rotreg_joint, joints->joint_count);
  if (!to) return ctx->error.status;
  for (int j = 0; j < joints->joint_count; j++) {
    to[j].base = (uint32_t)joints->base[j];
    sn_vec3_store(joints->reference[j], to[j].reference);
  }
  *out =
    (sn_model_section){sn_rt_section_name(SN_RT_ROTREG_JOINTS), to, (size_t)joints->joint_count * sizeof *to, true};
  return SN_OK;
}

static void store_predictor(const rotreg_predictor *p, int lane, sn_rt_rotreg_block *to) {
  to->base[lane] = (uint16_t)p->base;
  for (int k = 0; k < 2; k++) to->shear_joint[k][lane] = (uint16_t)p->shear_joints[k];
  if ((uint32_t)p->turn_count > to->turn_count) to->turn_count = (uint32_t)p->turn_count;
  for (int k = 0; k < p->turn_count; k++) {
    to->joint[k][lane] = (uint16_t)p->turns[k].joint;
    for (int m = 0; m < 9; m++) to->map[k][m][lane] = (float)p->turns[k].map.m[m / 3][m % 3];
  }
  for (int c = 0; c < 6; c++)
    for (int m = 0; m < rotreg_shear_terms; m++) to->shear[c][m][lane] = (float)p->shear[c][m];
}

static sn_status key_section(sn_context *ctx, sn_arena *memory, const rotreg_reduced *r, sn_model_section *out) {
  size_t blocks = sn_rt_rotreg_blocks((uint32_t)r->bones.bone_count);
  sn_rt_rotreg_block *to = SN_NEW(ctx, memory, sn_rt_rotreg_block, blocks);
  if (!to) return ctx->error.status;
  for (int k = 0; k < r->bones.bone_count; k++) {
    store_predictor(&r->predictors[k], k % lanes, &to[k / lanes]);
  }
  *out = (sn_model_section){sn_rt_section_name(SN_RT_ROTREG_KEYS), to, blocks * sizeof *to, true};
  return SN_OK;
}

static sn_status solve_section(sn_context *ctx, sn_arena *memory, const rotreg_reduced *r, sn_model_section *out) {
  uint32_t joints = (uint32_t)r->joints.joint_count, bones = (uint32_t)r->bones.bone_count;
  size_t count = sn_rt_rotreg_solve_count(joints, bones), columns = 3 * (size_t)bones + 4 * (size_t)joints;
  float *to = SN_NEW(ctx, memory, float, count);
  if (!to) return ctx->error.status;
  for (size_t row = 0; row < 4 * (size_t)bones; row++)
    for (size_t c = 0; c < columns; c++) {
      to[(row / rows * columns + c) * rows + row % rows] = (float)r->c[row * columns + c];
    }
  *out = (sn_model_section){sn_rt_section_name(SN_RT_ROTREG_SOLVE), to, count * sizeof *to, true};
  return SN_OK;
}

static sn_status build(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const rotreg_reduced *r,
                       sn_rt_shade shade, sn_model *out) {
  sn_model_section sections[3];
  sn_status status = joint_section(ctx, memory, &r->joints, &sections[0]);
  if (status == SN_OK) status = key_section(ctx, memory, r, &sections[1]);
  if (status == SN_OK) status = solve_section(ctx, memory, r, &sections[2]);
  if (status != SN_OK) return status;
  sn_model_desc desc = sn_model_desc_default();
  desc.drive = SN_RT_DRIVE_ROTREG, desc.shade = shade;
  desc.rest = &examples->rest, desc.skeleton = &examples->skeleton, desc.skin = &r->skin;
  desc.palette_count = r->joints.joint_count + r->bones.bone_count;
  desc.section_count = 3, desc.sections = sections;
  return sn_train_build(ctx, examples, desc, out);
}

// ---- the method -----------------------------------------------------------------------------------------------------------

static bool has_no_model(const sn_method_spec *spec) { return sn_method_number(spec, "full") != 0; }

static sn_status train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples, const sn_keys *keys,
                       sn_model *out, sn_train_report *report) {
  (void)report;
  if (examples->rest.triangle_count == 0) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s: the rest mesh has no triangles to learn from", spec->text);
  }
  rotreg_reduced_options options = {.bones = (int)sn_method_number(spec, "bones"),
                                    .error = sn_method_number(spec, "error"),
                                    .influences = (int)sn_method_number(spec, "influences"),
                                    .fit = rotreg_fit_options_default()};
  options.fit.turns = (int)sn_method_number(spec, "joints");
  sn_arena memory = sn_arena_new(ctx);
  rotreg_reduced reduced;
  sn_status status = rotreg_reduced_train(ctx, &memory, examples, keys, &options, &reduced);
  const sn_rt_shade shades[] = {SN_RT_SHADE_RECOMPUTE, SN_RT_SHADE_TRANSFORM};
  sn_rt_shade shade = shades[(int)sn_method_number(spec, "shade")];
  if (status == SN_OK) status = build(ctx, &memory, examples, &reduced, shade, out);
  sn_skin_free(&reduced.bones.skin);
  sn_skin_free(&reduced.skin);
  sn_arena_free(&memory);
  return status;
}

static const sn_method_option options[] = {
  {"bones", SN_OPTION_INT, "0", 0, 1024, NULL, "proxy bones; 0: 80, or as many as `error` needs"},
  {"error", SN_OPTION_REAL, "0", 0, 100, NULL,
   "instead of bones: rms distance the proxy bones may leave in training, % of the diagonal"},
  {"joints", SN_OPTION_INT, "2", 1, rotreg_most_turns, NULL, "most joints of a predictor"},
  {"influences", SN_OPTION_INT, "4", 1, 8, NULL, "most proxy bones of a vertex"},
  {"shade", SN_OPTION_CHOICE, "recompute", 0, 0, "recompute|transform",
   "normals from the deformed triangles, or by the blended matrix (smaller and faster)"},
  {"full", SN_OPTION_INT, "0", 0, 1, NULL, "1: the unreduced form, as a reference row of compare"},
  {0},
};

const sn_method sn_method_rotreg = {
  .name = "rotreg",
  .summary = "rotational regression: proxy bones driven by learned rotations (Wang 2007)",
  .options = options,
  .needs_skeleton = true,
  .train = train,
  .has_no_model = has_no_model,
  .predict = rotreg_full,
};
