// SPDX-License-Identifier: MIT
// sinew view: one self-contained HTML page in which models run live.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/models.h"
#include "cli/page.h"
#include "sinew/rig.h"

enum { most_models = 64 };

static const double timing_seconds = 0.2;

static const float (*as_points(float (*positions)[3]))[3] { return (const float(*)[3])positions; }

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// Undoes sn_cli_spec_name: a '-' before KEY= was the colon after a method, and a comma further on.
static void restore_spec(char *text) {
  char mark = ':';
  if (strspn(text, "abcdefghijklmnopqrstuvwxyz") != strcspn(text, "-")) return;
  for (char *at = text; (at = strchr(at, '-')) != NULL; at++) {
    size_t key = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_");
    if (key == 0 || at[1 + key] != '=') continue;
    *at = mark;
    mark = ',';
  }
}

// The file's name without its folder and ".sinew".
static void write_name(const char *path, char *text, size_t room) {
  const char *name = base_name(path);
  size_t size = strlen(name);
  if (sn_has_extension(name, ".sinew")) size -= strlen(".sinew");
  snprintf(text, room, "%.*s", (int)size, name);
  restore_spec(text);
}

static json_t *model_name(const char *path) {
  char text[256];
  write_name(path, text, sizeof text);
  return sn_report_text(text);
}

// Puts `value` there unless it could not be made.
static sn_status put(sn_context *ctx, json_t *object, const char *key, json_t *value) {
  if (value && json_object_set_new(object, key, value) == 0) return SN_OK;
  return ctx->error.status != SN_OK ? ctx->error.status : sn_fail(ctx, SN_NO_MEMORY, "no memory for the page");
}

// ---- a model ----------------------------------------------------------------------------------------------------------

// Frames of the page: those of the meshes, or of the poses; the rest pose where there are neither.
static int frame_count(const sn_examples *e) {
  int frames = e->frames.frame_count > 0 ? e->frames.frame_count : e->poses.frame_count;
  if (frames == 0) frames = e->values.frame_count;
  return frames > 0 ? frames : 1;
}

// Control points, torques and values of every frame, as the runtime takes them. (Joints are the set's own.) Without frames the
// control points stay where they are in the rest mesh.
static sn_status put_inputs(cli *c, const sn_rt_model *model, const sn_examples *examples, json_t *out) {
  size_t controls = 3 * (size_t)model->info.control_count, torques = model->info.torque_count;
  size_t valued = model->info.value_count;
  size_t frames = (size_t)frame_count(examples);
  if (controls + torques + valued == 0) return SN_OK;
  sn_arena scratch = sn_arena_new(&c->ctx);
  sn_examples given = *examples;
  bool still = controls > 0 && examples->frames.frame_count == 0;
  if (still)
    given.frames = (sn_frames){examples->rest.vertex_count, 1, as_points(examples->rest.positions), .rate = 0};
  sn_assess_input input;
  sn_status status = sn_assess_input_new(&c->ctx, model, &given, &scratch, &input);
  void *buffer = status == SN_OK ? sn_arena_alloc(&c->ctx, &scratch, sn_assess_input_size(&input), 1) : NULL;
  float *points = SN_NEW(&c->ctx, &scratch, float, frames *controls);
  float *loads = SN_NEW(&c->ctx, &scratch, float, frames *torques);
  float *values = SN_NEW(&c->ctx, &scratch, float, frames *valued);
  if (status == SN_OK && (!buffer || !points || !loads || !values)) status = c->ctx.error.status;
  for (size_t f = 0; status == SN_OK && f < frames; f++) {
    sn_rt_input frame = sn_assess_input_at(&input, still ? 0 : (int)f, buffer);
    if (controls) memcpy(points + f * controls, frame.controls, controls * sizeof *points);
    if (torques) memcpy(loads + f * torques, frame.torques, torques * sizeof *loads);
    if (valued) memcpy(values + f * valued, frame.values, valued * sizeof *values);
  }
  if (status == SN_OK && controls) {
    status = put(&c->ctx, out, "controls", sn_page_blob(&c->ctx, points, frames * controls * sizeof *points, 4));
  }
  if (status == SN_OK && torques) {
    status = put(&c->ctx, out, "torques", sn_page_blob(&c->ctx, loads, frames * torques * sizeof *loads, 4));
  }
  if (status == SN_OK && valued) {
    status = put(&c->ctx, out, "values", sn_page_blob(&c->ctx, values, frames * valued * sizeof *values, 4));
  }
  sn_arena_free(&scratch);
  return status;
}

// How far the model is from the frames, in all and frame by frame.
static sn_status put_errors(cli *c, const sn_rt_model *model, const sn_examples *examples, const sn_keys *keys,
                            const sn_keys *others, json_t *out) {
  int frames = examples->frames.frame_count;
  sn_arena scratch = sn_arena_new(&c->ctx);
  double *rms = SN_NEW(&c->ctx, &scratch, double, frames);
  double diagonal = sn_points_diagonal(as_points(examples->rest.positions), examples->rest.vertex_count);
  sn_scores scores;
  sn_status status = rms ? sn_assess(&c->ctx, model, examples, keys, others, &scores, rms) : c->ctx.error.status;
  if (status == SN_OK) {
    json_t *list = json_array();
    for (int f = 0; f < frames; f++) json_array_append_new(list, sn_report_number(100 * rms[f] / diagonal));
    sn_report_add(out, "frame_rms_pct_diag:o train:o test:o all:o", list, sn_report_metrics(&scores.train),
                  sn_report_metrics(&scores.test), sn_report_metrics(&scores.all));
  }
  sn_arena_free(&scratch);
  return status;
}

// Figures of what people see, and how many joints of a skeleton are where a rigger would put them.
static sn_status put_surface(cli *c, const sn_rt_model *model, const sn_examples *e, json_t *out) {
  sn_visible surface;
  double inside, outside;
  sn_status status = sn_assess_visible(&c->ctx, model, e, &surface);
  if (status == SN_OK && isfinite(surface.p99_pct_diag))
    status = put(&c->ctx, out, "p99_pct_diag", json_real(surface.p99_pct_diag));
  if (status == SN_OK && isfinite(surface.roughness))
    status = put(&c->ctx, out, "roughness", json_real(surface.roughness));
  if (status != SN_OK || model->info.joint_count == 0 || e->skeleton.joint_count < 2) return status;
  status = sn_rig_joints_inside(&c->ctx, &e->rest, &e->skeleton, &inside, &outside, NULL);
  return status == SN_OK ? put(&c->ctx, out, "joints_inside_pct", json_real(inside)) : status;
}

static sn_status describe_model(cli *c, const char *path, const cli_model *opened, const sn_examples *examples,
                                const sn_keys *keys, const sn_keys *others, json_t *list) {
  const sn_rt_model *model = &opened->model;
  json_t *out = json_object();
  json_array_append_new(list, out);
  sn_timing timing;
  sn_status status = put(&c->ctx, out, "name", model_name(path));
  if (status == SN_OK) status = sn_assess_time(&c->ctx, model, examples, true, timing_seconds, &timing);
  if (status == SN_OK) status = put(&c->ctx, out, "us_per_frame", json_real(timing.median));
  if (status == SN_OK) status = put(&c->ctx, out, "flops", json_integer((json_int_t)model->info.flops));
  if (status == SN_OK) status = put(&c->ctx, out, "path", sn_report_text(sn_rt_path_name(model->path)));
  if (status == SN_OK) status = put_inputs(c, model, examples, out);
  if (status == SN_OK) status = put_surface(c, model, examples, out);
  if (status == SN_OK && examples->frames.frame_count > 0) {
    status = put_errors(c, model, examples, keys, others, out);
  }
  if (status == SN_OK) {
    status = put(&c->ctx, out, "bytes", sn_page_blob(&c->ctx, model->bytes, model->info.bytes, 4));
  }
  return status == SN_OK ? SN_OK : sn_fail_prefix(&c->ctx, "%s: ", path);
}

// ---- the set: mesh, frames, skeleton ----------------------------------------------------------------------------------

// Without a clip there is one frame, and no load in it.
static sn_status no_torques(cli *c, int joint_count, sn_torques *out) {
  *out = (sn_torques){.joint_count = joint_count, .frame_count = 1, .memory = sn_arena_new(&c->ctx)};
  out->values = SN_NEW(&c->ctx, &out->memory, double, joint_count);
  out->has = SN_NEW(&c->ctx, &out->memory, bool, joint_count);
  return out->values && out->has ? SN_OK : c->ctx.error.status;
}

// And every value at the middle of nothing: the rest mesh's, 0 where it is within the range.
static sn_status no_values(cli *c, const sn_rt_model *model, sn_values *out) {
  int count = (int)model->info.value_count;
  sn_status status = sn_values_new(&c->ctx, count, 1, out);
  for (int v = 0; status == SN_OK && v < count; v++) {
    float range[2];
    sn_rt_value_range(model, (uint32_t)v, range);
    out->values[v] = fmin(fmax(0, (double)range[0]), (double)range[1]);
    out->names[v] = sn_arena_text(&c->ctx, &out->memory, sn_rt_value_name(model, (uint32_t)v));
    if (!out->names[v]) status = c->ctx.error.status;
  }
  return status;
}

// What a page of a model alone shows: its mesh and its skeleton, in the rest pose.
static sn_status rest_pose(cli *c, const sn_rt_model *model, sn_examples *out) {
  sn_status status = SN_OK;
  if (out->rest.vertex_count == 0) status = sn_model_mesh(&c->ctx, model, &out->rest);
  bool alone = out->frames.frame_count == 0 && out->poses.frame_count == 0;
  if (status == SN_OK && alone && model->info.value_count > 0 && out->values.count == 0)
    status = no_values(c, model, &out->values);
  if (status != SN_OK || model->info.joint_count == 0 || out->skeleton.joint_count > 0) return status;
  status = sn_model_skeleton(&c->ctx, model, &out->skeleton);
  if (status == SN_OK) status = sn_poses_new(&c->ctx, out->skeleton.joint_count, 1, &out->poses);
  if (status == SN_OK && !out->torques.values) status = no_torques(c, out->skeleton.joint_count, &out->torques);
  return status;
}

static sn_status put_mesh(cli *c, const sn_examples *e, json_t *out) {
  int vertices = sn_examples_file_vertices(e);
  const void *triangles = e->source_triangles ? e->source_triangles : e->rest.triangles;
  sn_report_add(out, "vertices:i diagonal:f", vertices,
                sn_points_diagonal(as_points(e->rest.positions), e->rest.vertex_count));
  size_t size = (size_t)e->rest.triangle_count * sizeof *e->rest.triangles;
  sn_status status = put(&c->ctx, out, "triangles", sn_page_blob(&c->ctx, triangles, size, 4));
  if (status != SN_OK || !e->source) return status;
  return put(&c->ctx, out, "source",
             sn_page_blob(&c->ctx, e->source, (size_t)e->source_count * sizeof *e->source, 4));
}

static json_t *describe_look(cli *c, const sn_look *look) {
  json_t *parts = json_array(), *images = json_array();
  bool used[4096] = {false}; // images beyond are not shown
  for (int p = 0; p < look->part_count; p++) {
    const sn_look_part *part = &look->parts[p];
    int image = part->image < (int)(sizeof used / sizeof *used) ? part->image : -1;
    if (image >= 0) used[image] = true;
    json_array_append_new(parts, json_pack("{si si s[fff] si}", "first", part->first_triangle, "count",
                                           part->triangle_count, "colour", (double)part->colour[0],
                                           (double)part->colour[1], (double)part->colour[2], "image", image));
  }
  for (int k = 0; k < look->image_count; k++) {
    bool shown = k < (int)(sizeof used / sizeof *used) && used[k];
    json_t *bytes = shown ? sn_page_blob(&c->ctx, look->images[k].bytes, look->images[k].size, 1) : NULL;
    json_array_append_new(images,
                          bytes ? json_pack("{ss so}", "type", look->images[k].type, "bytes", bytes) : json_null());
  }
  json_t *uv = sn_page_blob(&c->ctx, look->uv, (size_t)look->vertex_count * sizeof *look->uv, 4);
  if (uv) return json_pack("{so so so}", "uv", uv, "parts", parts, "images", images);
  json_decref(parts);
  json_decref(images);
  return NULL;
}

// Colours and textures of the rest file, where it is a document that has any.
static sn_status put_look(cli *c, const sn_examples *e, json_t *out) {
  const char *path = sn_cli_text(c, "--rest");
  sn_gltf *gltf = NULL;
  sn_error before = c->ctx.error;
  if (!path || !sn_is_document(path)) return SN_OK;
  if (sn_gltf_read(&c->ctx, path, &gltf) !=
      SN_OK) { // a document that could be read a moment ago: there is no look then
    c->ctx.error = before;
    return SN_OK;
  }
  sn_look look;
  sn_status status = sn_gltf_look(&c->ctx, gltf, &look);
  bool fits = look.vertex_count == sn_examples_file_vertices(e) && look.triangle_count == e->rest.triangle_count;
  if (status == SN_OK && fits && !look.plain) status = put(&c->ctx, out, "look", describe_look(c, &look));
  sn_look_free(&look);
  sn_gltf_free(gltf);
  return status;
}

static sn_status put_skeleton(cli *c, const sn_examples *e, json_t *out) {
  int joint_count = e->skeleton.joint_count, frames = e->poses.frame_count;
  if (joint_count == 0) return SN_OK;
  sn_arena scratch = sn_arena_new(&c->ctx);
  float(*rest)[12] = sn_arena_alloc(&c->ctx, &scratch, (size_t)joint_count, sizeof *rest);
  float(*poses)[12] = sn_arena_alloc(&c->ctx, &scratch, (size_t)joint_count * (size_t)frames, sizeof *poses);
  sn_status status = rest && poses ? SN_OK : c->ctx.error.status;
  if (status == SN_OK) {
    json_t *names = json_array(), *parents = json_array();
    for (int j = 0; j < joint_count; j++) {
      json_array_append_new(names, sn_report_text(e->skeleton.names[j]));
      json_array_append_new(parents, json_integer(e->skeleton.parents[j]));
    }
    sn_report_add(out, "joints:o parents:o", names, parents);
    sn_model_joints(e->skeleton.rest, joint_count, rest);
    sn_model_joints(e->poses.matrices, joint_count * frames, poses);
    status = put(&c->ctx, out, "rest", sn_page_blob(&c->ctx, rest, (size_t)joint_count * sizeof *rest, 4));
  }
  if (status == SN_OK) {
    status = put(&c->ctx, out, "poses",
                 sn_page_blob(&c->ctx, poses, (size_t)joint_count * (size_t)frames * sizeof *poses, 4));
  }
  sn_arena_free(&scratch);
  return status;
}

static sn_status describe_set(cli *c, const char *const *paths, const cli_model *models, int count,
                              const sn_examples *e, json_t *out) {
  sn_keys keys = {0}, others = {0};
  int frames = frame_count(e);
  const char *name = sn_cli_text(c, "--title");
  json_t *title = name ? sn_report_text(name) : model_name(paths[0]);
  sn_status status = put(&c->ctx, out, "name", title);
  sn_report_add(out, "version:s frame_count:i fps:f", SN_VERSION, frames, sn_cli_rate(c, &e->frames));
  if (status == SN_OK) status = sn_keys_parse(&c->ctx, sn_cli_text(c, "--keys"), frames, c->seed, &keys, &others);
  if (status == SN_OK && others.count > 0) {
    json_t *list = json_array();
    for (int k = 0; k < keys.count; k++) json_array_append_new(list, json_integer(keys.frames[k]));
    json_object_set_new(out, "training", list);
  }
  if (status == SN_OK) status = put_mesh(c, e, out);
  if (status == SN_OK) status = put_look(c, e, out);
  if (status == SN_OK) status = put_skeleton(c, e, out);
  if (status == SN_OK && e->frames.frame_count > 0) {
    status = put(&c->ctx, out, "truth", sn_page_frames(&c->ctx, &e->rest, &e->frames));
  }
  json_t *list = json_array();
  json_object_set_new(out, "models", list);
  for (int k = 0; status == SN_OK && k < count; k++) {
    if (!sn_progress(&c->ctx, "measuring", (double)k / count)) break;
    status = describe_model(c, paths[k], &models[k], e, &keys, &others, list);
  }
  sn_keys_free(&keys);
  sn_keys_free(&others);
  return status;
}

// ---- the command --------------------------------------------------------------------------------------------------------

static sn_status check_counts(cli *c, const char *const *paths, const cli_model *models, int count,
                              const sn_examples *e) {
  int vertices = sn_examples_file_vertices(e);
  for (int k = 0; k < count; k++) {
    if ((int)models[k].model.info.vertex_count == vertices) continue;
    return sn_fail(&c->ctx, SN_BAD_INPUT, "%s has %u vertices, %s has %d: models in one page are of one mesh",
                   paths[k], models[k].model.info.vertex_count,
                   sn_cli_given(c, "--rest") ? sn_cli_text(c, "--rest") : paths[0], vertices);
  }
  return SN_OK;
}

static sn_status load(cli *c, const char *const *paths, const cli_model *models, int count, sn_examples *out) {
  sn_status status = SN_OK;
  bool given = sn_cli_given(c, "--rest") || sn_cli_given(c, "--frames") || sn_cli_given(c, "--skeleton") ||
               sn_cli_given(c, "--values");
  if (given) status = sn_cli_load(c, out);
  for (int k = 0; status == SN_OK && k < count; k++) {
    if (models[k].model.info.joint_count == 0) continue;
    status = sn_cli_retarget(c, &models[k].model, out); // models of one page have one skeleton
    break;
  }
  if (status == SN_OK && out->rest.vertex_count == 0 && out->frames.frame_count > 0) {
    status = sn_fail(&c->ctx, SN_BAD_INPUT, "--frames needs the rest mesh too: --rest FILE");
  }
  for (int k = 0; status == SN_OK && k < count; k++) {
    if (models[k].model.info.joint_count > 0 && out->frames.frame_count > 0 && !sn_cli_given(c, "--skeleton")) {
      status = sn_fail(&c->ctx, SN_BAD_INPUT, "%s is driven by %s: give --skeleton FILE with the poses of the frames",
                       paths[k], sn_rt_drive_name(models[k].model.info.drive));
    }
    if (status == SN_OK) status = rest_pose(c, &models[k].model, out);
  }
  return status == SN_OK ? check_counts(c, paths, models, count, out) : status;
}

// Opens the models and describes them and their examples.
static int add_set(cli *c, const char *const *paths, int count, json_t *sets) {
  sn_arena memory = sn_arena_new(&c->ctx);
  cli_model *models = SN_NEW(&c->ctx, &memory, cli_model, count);
  if (!models) return sn_cli_fail(c);
  int result = exit_done, opened = 0;
  for (; result == exit_done && opened < count; opened += result == exit_done) {
    result = sn_cli_open_as_file(c, paths[opened], &models[opened]);
  }
  sn_examples examples = {0};
  if (result == exit_done) {
    json_t *set = json_object();
    json_array_append_new(sets, set);
    sn_status status = load(c, paths, models, count, &examples);
    if (status == SN_OK) c->input = sn_report_examples(&examples);
    if (status == SN_OK) status = describe_set(c, paths, models, count, &examples, set);
    if (status != SN_OK) result = sn_cli_fail(c);
  }
  sn_examples_free(&examples);
  for (int k = 0; k < opened; k++) sn_cli_close_model(&models[k]);
  sn_arena_free(&memory);
  return result;
}

static int run(cli *c) {
  const char *pages[most_models], *paths[most_models], *path = sn_cli_text(c, "-o");
  int page_count = 0, count = 0;
  for (int k = 0; k < c->argument_count; k++) {
    if (sn_has_extension(c->arguments[k], ".html"))
      pages[page_count++] = c->arguments[k];
    else
      paths[count++] = c->arguments[k];
  }
  if (sn_page_template_size == 0) {
    sn_fail(&c->ctx, SN_UNSUPPORTED, PAGE_MISSING);
    return sn_cli_fail(c);
  }
  json_t *sets = json_array();
  int result = count > 0 ? add_set(c, paths, count, sets) : exit_done;
  char name[256] = "Sinew";
  if (count > 0) write_name(paths[0], name, sizeof name);
  const char *title = sn_cli_given(c, "--title") ? sn_cli_text(c, "--title") : name;
  if (result == exit_done && sn_page_write(&c->ctx, path, title, pages, page_count, sets) != SN_OK)
    result = sn_cli_fail(c);
  json_decref(sets);
  sn_file file;
  if (result == exit_done && sn_file_open(&c->ctx, path, &file) != SN_OK) result = sn_cli_fail(c);
  if (result == exit_done) {
    sn_cli_say(c, "%s: %.2f MB; open it in a browser\n", path, 1e-6 * (double)file.size);
    c->result = json_pack("{sI si}", "bytes", (json_int_t)file.size, "models", count);
    sn_file_close(&file);
  }
  return result;
}

static const cli_option options[] = {
  {"-o", "FILE.html", "view.html", "page to write", cli_output},
  {"--title", "TEXT", NULL, "name of the character on the page", cli_output},
  CLI_OPTION_REST,
  CLI_OPTION_FRAMES,
  CLI_OPTION_SKELETON,
  CLI_OPTIONS_FILES,
  CLI_OPTION_MAP,
  CLI_OPTION_TORQUE,
  CLI_OPTION_VALUES,
  CLI_OPTION_CONTROLS,
  CLI_OPTION_KEYS,
  CLI_OPTION_MATCH,
  {0},
};

const cli_command sn_cli_view = {
  .name = "view",
  .usage = "MODEL.sinew... [--rest FILE --frames FILE --skeleton FILE] -o FILE.html",
  .summary = "write an HTML page in which models run live",
  .details =
    "The page needs no server and no network. With --skeleton it plays the clip; with --rest and --frames it also "
    "shows the truth and the errors. Pages written before may be given among the models: the new page has them too.",
  .example = "sinew gen arm -o arm\n"
             "sinew train --method lbs:weights=given --rest arm/rest.obj --skeleton arm/skeleton.glb \\\n"
             "  -o arm.sinew\n"
             "sinew view arm.sinew --rest arm/rest.obj --frames arm/frames.pc2 \\\n"
             "  --skeleton arm/skeleton.glb -o arm.html",
  .options = options,
  .least_arguments = 1,
  .most_arguments = most_models,
  .run = run,
};
