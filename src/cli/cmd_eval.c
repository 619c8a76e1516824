// SPDX-License-Identifier: MIT
// sinew eval: a model and its input -> frames.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/models.h"

// Joints by the model's own tree; or the palette as joints of a flat skeleton, what glTF sees of half-way joints and of drives with
// bones of their own. Both in the poses of the examples.
static sn_status make_skeleton(cli *c, const sn_rt_model *model, const sn_examples *examples, sn_skeleton *skeleton,
                               sn_poses *poses) {
  int count = (int)model->info.palette_count;
  sn_status status = count == (int)model->info.joint_count ? sn_model_skeleton(&c->ctx, model, skeleton)
                                                           : sn_skeleton_new(&c->ctx, count, skeleton);
  return status == SN_OK ? sn_assess_palettes(&c->ctx, model, examples, poses) : status;
}

// Where there are more fields than frames, a morph target per frame instead: what the fields add up to there, with the weight 1.
static sn_status targets_of_frames(cli *c, size_t vertices, size_t frames, sn_displacements *fields,
                                   float **weights) {
  float(*deltas)[3] = sn_arena_alloc(&c->ctx, &fields->memory, frames * vertices, sizeof *deltas);
  float *ones = SN_NEW(&c->ctx, &fields->memory, float, frames *frames);
  size_t count = (size_t)fields->count;
  if (!deltas || !ones) return c->ctx.error.status;
  for (size_t b = 0; b < count; b++)
    for (size_t i = 0; i < vertices; i++) {
      const float *d = fields->deltas[b * vertices + i];
      if (d[0] == 0 && d[1] == 0 && d[2] == 0) continue;
      for (size_t f = 0; f < frames; f++)
        for (int k = 0; k < 3; k++) deltas[f * vertices + i][k] += (*weights)[f * count + b] * d[k];
    }
  for (size_t f = 0; f < frames; f++) ones[f * frames + f] = 1;
  fields->deltas = deltas, fields->count = (int)frames, *weights = ones;
  return SN_OK;
}

// Corrections in the rest pose are morph targets: glTF morphs before it skins.
static sn_status morph_targets(cli *c, const char *path, const sn_rt_model *model, const sn_examples *examples,
                               sn_displacements *fields, float **weights, const char *const **names) {
  sn_status status = sn_model_displacements(&c->ctx, model, fields);
  if (status == SN_UNSUPPORTED) {
    sn_fail_prefix(&c->ctx, "%s: glTF only morphs whole meshes before skinning, and ", path);
    size_t used = strlen(c->ctx.error.message);
    snprintf(c->ctx.error.message + used, sizeof c->ctx.error.message - used,
             "; write the deformed vertices instead: -o out.pc2");
  }
  if (status == SN_OK && fields->count > 0) {
    status = sn_assess_correct_values(&c->ctx, model, examples, fields->count, &fields->memory, weights);
  }
  if (status == SN_OK) status = sn_model_shape_names(&c->ctx, &c->memory, model, names);
  int frames = examples->poses.frame_count;
  if (status == SN_OK && frames > 0 && fields->count > frames && !*names)
    status = targets_of_frames(c, model->info.vertex_count, (size_t)frames, fields, weights);
  return status;
}

// Every clip of the input under its own name; what is driven by control points is one clip.
static void describe_clips(const sn_examples *examples, const sn_poses *poses, const float *weights, int morph_count,
                           sn_gltf_clip_out *out) {
  out[0] =
    (sn_gltf_clip_out){.name = "sinew", .poses = poses, .frame_count = poses->frame_count, .morph_weights = weights};
  for (int k = 0; k < examples->clip_count; k++) {
    int first = examples->clip_start[k];
    out[k] = (sn_gltf_clip_out){.name = examples->clip_names ? examples->clip_names[k] : "sinew",
                                .poses = poses,
                                .first_frame = first,
                                .frame_count = examples->clip_start[k + 1] - first,
                                .seconds = examples->clip_seconds ? examples->clip_seconds[k] : 0};
    if (weights) out[k].morph_weights = weights + (size_t)first * (size_t)morph_count;
  }
}

// The rest tangents, for the parts of the rest file that lack them; NULL where the model has none.
static sn_status rest_tangents(cli *c, const sn_rt_model *model, float (**out)[4]) {
  *out = NULL;
  if (!model->info.tangents) return SN_OK;
  *out = sn_arena_alloc(&c->ctx, &c->memory, model->info.vertex_count, sizeof **out);
  if (!*out) return c->ctx.error.status;
  sn_rt_get_rest(model, &(sn_rt_rest){.tangents = *out}, NULL);
  return sn_model_to_file(&c->ctx, model, *out, sizeof **out, 1);
}

// The document of the rest mesh, not for its mirror image; and the model's normals where the mesh is elsewhere than there.
static sn_status read_base(cli *c, const sn_rt_model *model, sn_gltf **base, float (**normals)[3]) {
  const char *rest = sn_cli_text(c, "--rest");
  sn_adjust adjust[SN_FILE_KINDS];
  sn_status status = sn_cli_adjust(c, adjust);
  bool mirrored = status == SN_OK && sn_mat3_determinant(sn_adjust_linear(&adjust[SN_FILE_REST])) < 0;
  if (status == SN_OK && rest && sn_is_document(rest) && !mirrored) status = sn_gltf_read(&c->ctx, rest, base);
  if (status != SN_OK || !*base || !sn_adjust_moves(&adjust[SN_FILE_REST])) return status;
  *normals = sn_arena_alloc(&c->ctx, &c->memory, model->info.vertex_count, sizeof **normals);
  if (!*normals) return c->ctx.error.status;
  sn_rt_get_rest(model, &(sn_rt_rest){.normals = *normals}, NULL);
  return sn_model_to_file(&c->ctx, model, *normals, sizeof **normals, 1);
}

// A linear blend is exactly a glTF skin.
static sn_status write_gltf(cli *c, const char *path, const sn_rt_model *model, const sn_examples *examples) {
  if (model->info.blend != SN_RT_BLEND_LINEAR)
    return sn_fail(&c->ctx, SN_UNSUPPORTED,
                   "%s: glTF has linear skins only; write the deformed vertices instead: -o out.pc2", path);
  sn_mesh mesh = {0};
  sn_skin skin = {0};
  sn_skeleton skeleton = {0};
  sn_poses poses = {0};
  sn_displacements fields = {0};
  float *weights = NULL, (*tangents)[4] = NULL, (*normals)[3] = NULL;
  sn_gltf *base = NULL;
  const char *const *names = NULL;
  sn_status status = morph_targets(c, path, model, examples, &fields, &weights, &names);
  if (status == SN_OK) status = sn_model_mesh(&c->ctx, model, &mesh);
  if (status == SN_OK) status = sn_model_skin(&c->ctx, model, &skin);
  if (status == SN_OK) status = make_skeleton(c, model, examples, &skeleton, &poses);
  if (status == SN_OK) status = read_base(c, model, &base, &normals);
  if (status == SN_OK) status = rest_tangents(c, model, &tangents);
  int clip_count = examples->clip_count > 0 ? examples->clip_count : 1;
  sn_gltf_clip_out *clips = SN_NEW(&c->ctx, &c->memory, sn_gltf_clip_out, clip_count);
  if (status == SN_OK && !clips) status = c->ctx.error.status;
  if (status == SN_OK) {
    describe_clips(examples, &poses, weights, fields.count, clips);
    sn_gltf_out out = {.base = base,
                       .mesh = &mesh,
                       .normals = (const float(*)[3])normals,
                       .posed = normals,
                       .tangents = (const float(*)[4])tangents,
                       .skeleton = &skeleton,
                       .skin = &skin,
                       .clip_count = clip_count,
                       .clips = clips,
                       .fps = sn_cli_rate(c, &examples->frames),
                       .morph_count = fields.count,
                       .morph_deltas = (const float(*)[3])fields.deltas,
                       .morph_names = names,
                       .affine = model->info.palette_count != model->info.joint_count};
    status = sn_gltf_write(&c->ctx, path, &out);
  }
  sn_gltf_free(base);
  sn_displacements_free(&fields);
  sn_mesh_free(&mesh);
  sn_skin_free(&skin);
  sn_skeleton_free(&skeleton);
  sn_poses_free(&poses);
  return status;
}

static sn_status write_frames(cli *c, const char *path, const sn_rt_model *model, const sn_examples *examples) {
  sn_keys keys = {0};
  sn_frames frames = {0};
  sn_mesh mesh = {0};
  sn_status status = sn_keys_parse(&c->ctx, "all", sn_assess_frame_count(model, examples), 0, &keys, NULL);
  if (status == SN_OK) status = sn_assess_evaluate(&c->ctx, model, examples, &keys, &frames, NULL);
  if (status == SN_OK) status = sn_frames_check(&c->ctx, &frames);
  if (status == SN_OK) status = sn_model_mesh(&c->ctx, model, &mesh);
  if (status == SN_OK) {
    frames.rate = sn_cli_rate(c, &examples->frames);
    status = sn_frames_write(&c->ctx, path, &frames, &mesh);
  }
  sn_keys_free(&keys);
  sn_frames_free(&frames);
  sn_mesh_free(&mesh);
  return status;
}

static void report_score(cli *c, const sn_metrics *m) {
  sn_cli_say(c, "rms %.4f %% of the diagonal, largest %.3f %%", m->rms_pct_diag, m->max_pct_diag);
  sn_cli_say(c, isfinite(m->ee) ? ", enveloping error %.4f\n" : "\n", m->ee);
  json_object_set_new(c->result, "all", sn_report_metrics(m));
}

// Where the true frames are given as well, how far the model is from them.
static sn_status score(cli *c, const sn_rt_model *model, const sn_examples *input, const sn_examples *truth) {
  sn_keys keys = {0};
  sn_frames positions = {0}, normals = {0};
  sn_errors errors = {0};
  int count = truth->frames.frame_count;
  sn_status status = sn_keys_parse(&c->ctx, "all", count, 0, &keys, NULL);
  if (status == SN_OK && sn_assess_frame_count(model, input) != count)
    status = sn_fail(&c->ctx, SN_BAD_INPUT, "%d frames of input, but %d true ones",
                     sn_assess_frame_count(model, input), count);
  if (status == SN_OK) status = sn_assess_evaluate(&c->ctx, model, input, &keys, &positions, &normals);
  if (status == SN_OK) status = sn_errors_measure(&c->ctx, truth, &keys, &positions, &normals, &errors);
  double diagonal = sn_points_diagonal((const float(*)[3])truth->rest.positions, truth->rest.vertex_count);
  sn_metrics m;
  if (status == SN_OK) status = sn_metrics_of(&c->ctx, &errors, diagonal, &m);
  if (status == SN_OK) report_score(c, &m);
  sn_keys_free(&keys);
  sn_frames_free(&positions);
  sn_frames_free(&normals);
  sn_errors_free(&errors);
  return status;
}

// Frames of the whole mesh become those of the control vertices alone.
static sn_status pick_controls(cli *c, const sn_rt_model *model, sn_frames *frames) {
  const uint32_t *points = sn_rt_find_section(model, "control.points", NULL);
  int count = (int)model->info.control_count;
  sn_frames picked;
  sn_status status = sn_frames_new(&c->ctx, count, frames->frame_count, &picked);
  if (status != SN_OK) return status;
  for (int f = 0; f < frames->frame_count; f++)
    for (int k = 0; k < count; k++) {
      memcpy(sn_frame_mutable(&picked, f)[k], sn_frame(frames, f)[points[k]], sizeof(float[3]));
    }
  picked.rate = frames->rate;
  sn_frames_free(frames);
  *frames = picked;
  return SN_OK;
}

// Positions of the control points, as frames of their own.
static sn_status load_controls(cli *c, const sn_rt_model *model, sn_examples *out) {
  const char *path = sn_cli_text(c, "--controls");
  int points = (int)model->info.control_count;
  if (!path || !sn_cli_is_point_cache(path))
    return sn_fail(
      &c->ctx, SN_BAD_INPUT,
      "%s is driven by %d control points: give --controls FILE.pc2 with their positions at every frame, or "
      "with the whole mesh, which has them",
      c->arguments[0], points);
  sn_adjust adjust[SN_FILE_KINDS];
  sn_status status = sn_cli_adjust(c, adjust);
  sn_choice choice = {.adjust = adjust[SN_FILE_FRAMES]};
  if (status == SN_OK) status = sn_frames_read(&c->ctx, path, &choice, &out->frames);
  if (status == SN_OK && out->frames.vertex_count == (int)model->info.vertex_count) {
    status = pick_controls(c, model, &out->frames);
  }
  if (status == SN_OK && out->frames.vertex_count != points) {
    status = sn_fail(&c->ctx, SN_BAD_INPUT, "%s has %d points, the model's control points are %d", path,
                     out->frames.vertex_count, points);
  }
  return status == SN_OK ? sn_frames_check(&c->ctx, &out->frames) : status;
}

// One pose per value, as a clip of its name: that value as large as in training, the others at 0.
static sn_status pose_values(cli *c, const sn_rt_model *model, sn_examples *out) {
  int count = (int)model->info.value_count;
  sn_status status = sn_values_new(&c->ctx, count, count, &out->values);
  out->clip_start = SN_NEW(&c->ctx, &c->memory, int, count + 1);
  if (status != SN_OK || !out->clip_start) return c->ctx.error.status;
  out->clip_count = out->clip_start[count] = count, out->clip_names = (const char **)out->values.names;
  for (int v = 0; v < count; v++) {
    float range[2] = {0};
    sn_rt_value_range(model, (uint32_t)v, range), out->clip_start[v] = v;
    out->values.names[v] = sn_arena_text(&c->ctx, &out->values.memory, sn_rt_value_name(model, (uint32_t)v));
    if (!out->values.names[v]) return c->ctx.error.status;
    for (int f = 0; f < count; f++)
      out->values.values[f * count + v] = fmin(fmax(f == v ? HUGE_VAL : 0, (double)range[0]), (double)range[1]);
  }
  return SN_OK;
}

// Values alone; the true frames, where there are any, are in the same examples.
static sn_status load_values(cli *c, const sn_rt_model *model, sn_examples *out) {
  bool given = sn_cli_given(c, "--values") || sn_cli_given(c, "--frames");
  if (!given && sn_cli_is_scene(sn_cli_text(c, "-o"))) return pose_values(c, model, out);
  sn_status status = given ? sn_cli_load(c, out) : SN_OK;
  if (status == SN_OK && out->values.count == 0)
    status = sn_fail(&c->ctx, SN_BAD_INPUT, "%s is driven by named values: give --values FILE.csv", c->arguments[0]);
  return status;
}

// What drives the model into `input`; the true frames, where control points do and there are any, into `truth`.
static sn_status load_input(cli *c, const sn_rt_model *model, sn_examples *input, sn_examples *truth) {
  if (model->info.control_count > 0) {
    sn_status status = load_controls(c, model, input);
    return status == SN_OK && sn_cli_given(c, "--frames") ? sn_cli_load(c, truth) : status;
  }
  if (model->info.joint_count == 0 && model->info.value_count > 0) return load_values(c, model, input);
  if (sn_cli_given(c, "--skeleton")) {
    sn_status status = sn_cli_load(c, input);
    return status == SN_OK ? sn_cli_retarget(c, model, input) : status;
  }
  return sn_fail(&c->ctx, SN_BAD_INPUT, "%s is driven by %s: give --skeleton FILE with the poses", c->arguments[0],
                 sn_rt_drive_name(model->info.drive));
}

static int run(cli *c) {
  const char *path = sn_cli_text(c, "-o");
  cli_model opened;
  if (!path)
    return sn_cli_misuse("eval: where to? Give -o FILE (.pc2, .mdd, .abc, .glb, .fbx, or a folder for .obj)");
  int result = sn_cli_open_model(c, c->arguments[0], &opened);
  if (result != exit_done) return result;
  sn_examples input = {0}, truth = {0};
  sn_status status = load_input(c, &opened.model, &input, &truth);
  c->result = json_object();
  input.motion = !sn_cli_given(c, "--unordered");
  if (status == SN_OK) status = (sn_cli_is_scene(path) ? write_gltf : write_frames)(c, path, &opened.model, &input);
  if (status == SN_OK) {
    int frames = sn_assess_frame_count(&opened.model, &input);
    sn_cli_say(c, "%s: %d frames of %u vertices\n", path, frames, opened.model.info.vertex_count);
    sn_report_add(c->result, "frames:i vertices:i clamped:o", frames, opened.model.info.vertex_count,
                  sn_cli_note_clamped(c, path, &opened.model, &input));
    json_t *outside = sn_cli_note_outside(c, &opened.model, &input);
    if (outside) json_object_set_new(c->result, "outside", outside);
    if (!outside) status = c->ctx.error.status;
  }
  const sn_examples *true_frames = opened.model.info.control_count > 0 ? &truth : &input;
  if (status == SN_OK && true_frames->frames.frame_count > 0) status = score(c, &opened.model, &input, true_frames);
  sn_examples_free(&input);
  sn_examples_free(&truth);
  sn_cli_close_model(&opened);
  return status == SN_OK ? exit_done : sn_cli_fail(c);
}

static const cli_option options[] = {
  {"-o", "FILE", NULL, "file to write: .pc2, .mdd, .abc, .glb, .gltf, .fbx, or a folder for .obj files", cli_output},
  CLI_OPTION_SKELETON,
  CLI_OPTIONS_FILES,
  CLI_OPTION_MAP,
  CLI_OPTION_TORQUE,
  CLI_OPTION_VALUES,
  {"--controls", "FILE.pc2", NULL, "positions of the control points, or frames of the whole mesh", cli_input},
  {"--rest", "FILE", NULL, "a .glb to take materials and textures from; with --frames, the rest mesh", cli_input},
  {"--frames", "FILE", NULL, "true frames; the report then has the error of the model", cli_repeats | cli_input},
  CLI_OPTION_MATCH,
  {"--unordered", NULL, NULL,
   "evaluate every frame by itself: a joint does not continue from the branch of the last frame",
   cli_advanced | cli_quality},
  {0},
};

const cli_command sn_cli_eval = {
  .name = "eval",
  .usage = "MODEL.sinew --skeleton FILE | --values FILE.csv | --controls FILE.pc2 -o FILE",
  .summary = "evaluate a model for the poses of a clip",
  .details =
    "A .glb or .fbx holds a skin with its animation (linear blends only), of a model on values without --values a "
    "clip per value; .pc2, .mdd, .abc and .obj hold the deformed vertices.",
  .example = "sinew gen arm -o arm\n"
             "sinew train --method lbs:weights=given --rest arm/rest.obj --skeleton arm/skeleton.glb \\\n"
             "  -o arm.sinew\n"
             "sinew eval arm.sinew --skeleton arm/skeleton.glb -o out.glb",
  .options = options,
  .least_arguments = 1,
  .most_arguments = 1,
  .run = run,
};
