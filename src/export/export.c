// SPDX-License-Identifier: MIT
// sn_export: the character with its helpers as plain joints, the driver table, and the scripts that contain it.
#include "export/export.h"

#include <stdlib.h>
#include <string.h>

const char *const sn_export_tools = "json, three, blender, godot or babylon";

// Files embedded by the build (cmake/export.cmake).
extern const char sn_export_helpers_py[], sn_export_blender_py[], sn_export_godot_gd[];

// ---- text files --------------------------------------------------------------------------------

// NULL on failure; the caller frees it.
static char *table_text(sn_context *ctx, const sn_table *table, bool quoted) {
  json_t *json = sn_table_json(table), *string = NULL;
  const size_t plain = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9);
  char *text = json ? json_dumps(json, plain) : NULL;
  if (text && quoted) {
    string = json_string(text);
    free(text);
    text = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
  }
  json_decref(json), json_decref(string);
  if (!text) sn_fail(ctx, SN_NO_MEMORY, "out of memory for the driver table");
  return text;
}

static sn_status write_text(sn_context *ctx, const char *path, const char *const *parts) {
  sn_writer writer;
  sn_status status = sn_writer_open(ctx, path, &writer);
  if (status != SN_OK) return status;
  for (; *parts; parts++) sn_write(&writer, *parts, strlen(*parts));
  return sn_writer_commit(ctx, &writer);
}

// ---- the character --------------------------------------------------------------------------------

typedef struct addition {
  const sn_table *table;
  bool graph; // else the table
} addition;

// The shapes are the last morph targets of every mesh with targets: adds their names to extras.targetNames.
static void name_targets(const sn_table *table, json_t *root) {
  size_t index, shapes = (size_t)table->shape_count;
  json_t *mesh;
  json_array_foreach(json_object_get(root, "meshes"), index, mesh) {
    json_t *first = json_array_get(json_object_get(mesh, "primitives"), 0), *names = json_array();
    size_t count = json_array_size(json_object_get(first, "targets"));
    if (!json_object_get(mesh, "extras")) json_object_set_new(mesh, "extras", json_object());
    json_t *extras = json_object_get(mesh, "extras"), *before = json_object_get(extras, "targetNames");
    for (size_t k = 0; k < count; k++) {
      json_t *old = json_array_get(before, k);
      bool own = k + shapes >= count;
      json_array_append_new(names, own   ? json_string(table->shape_names[k + shapes - count])
                                   : old ? json_copy(old)
                                         : json_sprintf("%zu", k));
    }
    if (count >= shapes) json_object_set(extras, "targetNames", names);
    json_decref(names);
  }
}

// Adds the table to the document's extras, which loaders pass to programs; or the graph.
static bool add_to_document(void *user, json_t *root, const int *nodes) {
  const addition *a = user;
  if (a->table->shape_count > 0) name_targets(a->table, root);
  const char *key = a->graph ? "extensions" : "extras", *name = a->graph ? "KHR_interactivity" : "sinew";
  if (!json_is_object(json_object_get(root, key))) json_object_set_new(root, key, json_object());
  json_t *value = a->graph ? sn_babylon_graph(a->table, root, nodes) : sn_table_json(a->table);
  bool good = json_object_set_new(json_object_get(root, key), name, value) == 0;
  if (!a->graph) return good;
  if (!json_object_get(root, "extensionsUsed")) json_object_set_new(root, "extensionsUsed", json_array());
  return good && json_array_append_new(json_object_get(root, "extensionsUsed"), json_string(name)) == 0;
}

static sn_status write_character(sn_context *ctx, const sn_rt_model *model, const sn_gltf *base, const char *path,
                                 addition *a) {
  sn_mesh mesh = {0};
  sn_skin skin = {0};
  sn_displacements shapes = {0};
  sn_status status = sn_model_mesh(ctx, model, &mesh);
  if (status == SN_OK) status = sn_model_skin(ctx, model, &skin);
  if (status == SN_OK) status = sn_model_displacements(ctx, model, &shapes);
  const sn_table *t = a->table;
  for (size_t n = 0; t->nested && n < (size_t)skin.vertex_count * (size_t)skin.influences; n++)
    if (skin.joints[n] >= t->joint_count) skin.joints[n] += (uint16_t)t->helper_count;
  if (status == SN_OK) {
    sn_gltf_out out = {.base = base,
                       .posed = t->joint_count == 0, // the bones take the place of its targets
                       .morph_count = shapes.count,
                       .morph_deltas = (const float(*)[3])shapes.deltas,
                       .morph_names = t->shape_names,
                       .mesh = &mesh,
                       .skeleton = &t->skeleton,
                       .skin = &skin,
                       .new_joints = t->skeleton.joint_count - t->joint_count,
                       .finish = add_to_document,
                       .user = a};
    status = sn_gltf_write(ctx, path, &out);
  }
  sn_displacements_free(&shapes);
  sn_mesh_free(&mesh);
  sn_skin_free(&skin);
  return status;
}

// Whether the document's mesh is the model's, so that its materials and clips can be kept.
static sn_status is_same_mesh(sn_context *ctx, const sn_rt_model *model, const sn_gltf *base, bool *same) {
  sn_mesh ours = {0}, theirs = {0};
  *same = false;
  if (base->vertex_count != (int)model->info.vertex_count) return SN_OK;
  sn_status status = sn_model_mesh(ctx, model, &ours);
  if (status == SN_OK) status = sn_gltf_mesh(ctx, base, &theirs);
  if (status == SN_OK) {
    double most = 1e-3 * sn_points_diagonal((const float(*)[3])ours.positions, ours.vertex_count);
    *same = true;
    for (int i = 0; *same && i < ours.vertex_count; i++)
      *same = sn_vec3_distance(sn_vec3_from(ours.positions[i]), sn_vec3_from(theirs.positions[i])) <= most;
  }
  sn_mesh_free(&ours);
  sn_mesh_free(&theirs);
  return status;
}

// ---- the tools --------------------------------------------------------------------------------

// `path` with another extension; its last part without any into `stem`.
static void beside(const char *path, const char *extension, char *out, char *stem) {
  size_t size = strlen(path) - strlen(strrchr(path, '.'));
  const char *slash = strrchr(path, '/');
  snprintf(out, 4096, "%.*s%s", (int)size, path, extension);
  if (stem)
    snprintf(stem, 256, "%.*s", (int)(size - (slash ? (size_t)(slash + 1 - path) : 0)), slash ? slash + 1 : path);
}

static sn_status write_json(sn_context *ctx, const sn_export_job *job, const sn_table *table) {
  char *text = table_text(ctx, table, false);
  sn_status status = text ? write_text(ctx, job->path, (const char *const[]){text, "\n", NULL}) : SN_NO_MEMORY;
  free(text);
  return status;
}

static sn_status write_blender(sn_context *ctx, const sn_export_job *job, const sn_table *table, const char *stem) {
  char *text = table_text(ctx, table, true);
  json_t *name = json_string(stem);
  char *quoted = name ? json_dumps(name, JSON_ENCODE_ANY) : NULL;
  const char *const parts[] = {"# Imports the character beside this file and drives its helper joints or shape keys: "
                               "blender -P THIS_FILE\nNAME = ",
                               quoted,
                               "\nTABLE_TEXT = ",
                               text,
                               "\n",
                               sn_export_helpers_py,
                               sn_export_blender_py,
                               NULL};
  sn_status status = text && quoted ? write_text(ctx, job->path, parts) : sn_fail(ctx, SN_NO_MEMORY, "out of memory");
  free(text), free(quoted);
  json_decref(name);
  return status;
}

static sn_status write_godot(sn_context *ctx, const sn_export_job *job, const sn_table *table, const char *stem,
                             sn_export_result *out) {
  char *text = table_text(ctx, table, false);
  beside(job->path, ".gd", out->names[1], NULL);
  out->also[1] = out->names[1];
  const char *const script[] = {sn_export_godot_gd, "var table = ", text, "\n", NULL};
  const char *const scene[] = {
    "[gd_scene load_steps=3 format=2]\n\n[ext_resource path=\"",
    stem,
    ".gd\" type=\"Script\" id=1]\n[ext_resource path=\"",
    stem,
    ".glb\" type=\"PackedScene\" id=2]\n\n[node name=\"",
    stem,
    "\" type=\"Spatial\"]\nscript = ExtResource( 1 )\n\n[node name=\"character\" parent=\".\" "
    "instance=ExtResource( 2 )]\n",
    NULL};
  sn_status status = text ? write_text(ctx, out->names[1], script) : SN_NO_MEMORY;
  if (status == SN_OK) status = write_text(ctx, job->path, scene);
  free(text);
  return status;
}

static const struct tool {
  const char *name, *extension;
} tools[] = {{"json", ".json"}, {"three", ".glb"}, {"babylon", ".glb"}, {"blender", ".py"}, {"godot", ".tscn"}, {0}};

static sn_status check(sn_context *ctx, const sn_export_job *job, const struct tool **tool) {
  const char *drive = sn_rt_drive_name(job->model->info.drive);
  for (*tool = tools; (*tool)->name && strcmp((*tool)->name, job->tool) != 0;) ++*tool;
  if (!(*tool)->name) return sn_fail(ctx, SN_BAD_INPUT, "`to` %s: choose %s", job->tool, sn_export_tools);
  if (!sn_has_extension(job->path, (*tool)->extension) || strlen(job->path) > 4000)
    return sn_fail(ctx, SN_BAD_INPUT, "%s: for %s the name ends in %s", job->path, (*tool)->name, (*tool)->extension);
  if (!sn_is_document(job->skeleton))
    return sn_fail(ctx, SN_BAD_INPUT, "`skeleton` %s: no character; give its .glb, .gltf or .fbx", job->skeleton);
  const sn_rt_info *info = &job->model->info;
  bool shapes = info->correct != SN_RT_CORRECT_NONE && info->drive == SN_RT_DRIVE_JOINTS;
  if (info->drive != SN_RT_DRIVE_HELPERS && !shapes)
    return sn_fail(ctx, SN_UNSUPPORTED,
                   "%s: its drive is `%s`, and only models with helpers or corrections become drivers: train with "
                   "--method helpers",
                   job->model_name, drive);
  if (info->blend != SN_RT_BLEND_LINEAR || (shapes && info->palette_count != info->joint_count))
    return sn_fail(ctx, SN_UNSUPPORTED,
                   "%s: other tools blend linearly, by the joints alone: train without blend and extra",
                   job->model_name);
  if (strcmp((*tool)->name, "babylon") == 0 && info->value_count > 0 && !shapes)
    return sn_fail(
      ctx, SN_UNSUPPORTED,
      "%s: values drive its helpers with shear, and graphs in a .glb set no matrices: choose another tool, or "
      "write clips with `eval`",
      job->model_name);
  return SN_OK;
}

static sn_status write_all(sn_context *ctx, const sn_export_job *job, const struct tool *tool, const sn_gltf *base,
                           sn_export_result *out) {
  sn_table table;
  char stem[256];
  const char *character = job->path;
  bool json = strcmp(tool->name, "json") == 0;
  sn_status status = is_same_mesh(ctx, job->model, base, &out->has_materials);
  sn_table_use use = {base, json || out->has_materials, strcmp(tool->name, "blender") == 0};
  if (status == SN_OK) status = sn_table_read(ctx, job->model, &use, &table);
  if (status != SN_OK) return status;
  out->helpers = table.helper_count, out->shapes = table.shape_count, out->drivers = table.driver_count;
  out->values = (int)job->model->info.value_count;
  out->limited = sn_rt_data(job->model, SN_SECTION_CORRECT_LIMITS) != NULL;
  beside(job->path, ".glb", out->names[0], stem);
  if (strcmp(tool->extension, ".glb") != 0 && !json) character = out->also[0] = out->names[0];
  addition a = {&table, strcmp(tool->name, "babylon") == 0};
  if (!json) status = write_character(ctx, job->model, out->has_materials ? base : NULL, character, &a);
  if (status == SN_OK && json) status = write_json(ctx, job, &table);
  if (status == SN_OK && strcmp(tool->name, "blender") == 0) status = write_blender(ctx, job, &table, stem);
  if (status == SN_OK && strcmp(tool->name, "godot") == 0) status = write_godot(ctx, job, &table, stem, out);
  sn_table_free(&table);
  return status;
}

sn_status sn_export(sn_context *ctx, const sn_export_job *job, sn_export_result *out) {
  const struct tool *tool;
  sn_gltf *base = NULL;
  *out = (sn_export_result){0};
  sn_status status = check(ctx, job, &tool);
  if (status == SN_OK) status = sn_gltf_read(ctx, job->skeleton, &base);
  if (status == SN_OK) status = write_all(ctx, job, tool, base, out);
  sn_gltf_free(base);
  return status;
}

json_t *sn_report_export(const sn_export_result *r) {
  return json_pack("{si si si sb}", "helpers", r->helpers, "shapes", r->shapes, "drivers", r->drivers, "materials",
                   r->has_materials);
}
