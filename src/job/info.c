// SPDX-License-Identifier: MIT
// Describes the contents of a file.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/scope.h"
#include "formats/common/adjust.h"
#include "job/job.h"
#include "sinew/model.h"

typedef struct description {
  sn_context *ctx;
  FILE *text;
  json_t *report;
} description;

static const char *plural(int count) { return count == 1 ? "" : "s"; }

// Reports the bounding box; returns its diagonal.
static double put_box(json_t *out, const float (*positions)[3], int count, sn_vec3 *low, sn_vec3 *high) {
  sn_points_bounds(positions, count, low, high);
  double diagonal = sn_vec3_distance(*low, *high);
  sn_report_add(out, "low:o high:o diagonal:f", json_pack("[fff]", low->x, low->y, low->z),
                json_pack("[fff]", high->x, high->y, high->z), diagonal);
  return diagonal;
}

static sn_status describe_mesh(description *o, const sn_mesh *mesh) {
  SN_FREED_BY(sn_topology_free) sn_topology topology;
  SN_TRY(sn_topology_build(o->ctx, mesh, &topology));
  sn_vec3 low, high;
  sn_report_add(o->report, "vertices:i triangles:i edges:i components:i boundary_edges:i nonmanifold_edges:i",
                mesh->vertex_count, mesh->triangle_count, topology.edge_count, topology.component_count,
                topology.boundary_edges, topology.nonmanifold_edges);
  double diagonal = put_box(o->report, (const float(*)[3])mesh->positions, mesh->vertex_count, &low, &high);
  fprintf(o->text, "  %d vertices, %d triangles, %d edges (%d boundary, %d non-manifold), %d component%s\n",
          mesh->vertex_count, mesh->triangle_count, topology.edge_count, topology.boundary_edges,
          topology.nonmanifold_edges, topology.component_count, plural(topology.component_count));
  fprintf(o->text, "  bounding-box diagonal %.6g: x %.4g to %.4g, y %.4g to %.4g, z %.4g to %.4g\n", diagonal, low.x,
          high.x, low.y, high.y, low.z, high.z);
  return SN_OK;
}

static sn_status info_obj(description *o, const char *path) {
  SN_FREED_BY(sn_mesh_free) sn_mesh mesh;
  SN_TRY(sn_obj_read(o->ctx, path, &mesh, NULL));
  fprintf(o->text, "%s: Wavefront OBJ\n", path);
  json_object_set_new(o->report, "kind", json_string("obj"));
  return describe_mesh(o, &mesh);
}

static sn_status info_frames(description *o, const char *path) {
  bool cache = sn_is_point_cache(path);
  SN_FREED_BY(sn_frames_free) sn_frames frames;
  SN_TRY(sn_frames_read(o->ctx, path, NULL, &frames));
  sn_report_add(o->report, "kind:s vertices:i frames:i", cache ? sn_format_of(path)->extension + 1 : "obj sequence",
                frames.vertex_count, frames.frame_count);
  sn_vec3 low, high;
  double diagonal = put_box(o->report, sn_frame(&frames, 0), frames.vertex_count, &low, &high);
  fprintf(o->text, "%s: %s\n  %d frames of %d vertices\n  bounding-box diagonal of the first frame %.6g\n", path,
          cache ? sn_format_of(path)->name : "mesh sequence", frames.frame_count, frames.vertex_count, diagonal);
  return SN_OK;
}

// An object of an archive, as a line of text and as a report.
static json_t *describe_object(FILE *out, const sn_abc_object *o) {
  fprintf(out, "  %s: %s", o->path, o->kind);
  if (o->mesh) fprintf(out, ", %d points", o->points);
  if (o->mesh || o->faces > 0) fprintf(out, ", %d faces", o->faces);
  if (o->uvs) fprintf(out, ", uv");
  if (o->normals) fprintf(out, ", normals");
  if (o->samples > 1)
    fprintf(out, ", %d samples, %g s to %g s%s", o->samples, o->start, o->end, o->animated ? "" : ", all equal");
  if (o->changes_at >= 0) fprintf(out, ", changes its faces or number of points at sample %d", o->changes_at);
  if (o->instance) fprintf(out, ", an instance");
  if (o->hidden_samples > 0) fprintf(out, ", hidden");
  if (o->hidden_samples > 0 && o->hidden_samples < o->visibility_samples)
    fprintf(out, " at %d of %d samples", o->hidden_samples, o->visibility_samples);
  fprintf(out, "\n");
  json_t *report = json_object();
  sn_report_add(
    report,
    "path:s kind:s animated:b instance:b points:o? faces:o? samples:i start:o? end:o? changes_at:o? hidden_samples:i",
    o->path, o->kind, o->animated, o->instance, o->mesh ? json_integer(o->points) : NULL,
    o->mesh || o->faces ? json_integer(o->faces) : NULL, o->samples,
    o->samples > 0 ? sn_report_number(o->start) : NULL, o->samples > 0 ? sn_report_number(o->end) : NULL,
    o->changes_at >= 0 ? json_integer(o->changes_at) : NULL, o->hidden_samples);
  return report;
}

static sn_status info_abc(description *o, const char *path) {
  SN_FREED_BY(sn_abc_close) sn_abc *abc;
  SN_FREED_BY(sn_mesh_free) sn_mesh mesh = {0};
  SN_TRY(sn_abc_open(o->ctx, path, &abc));
  json_t *objects = json_array();
  fprintf(o->text, "%s: Alembic (Ogawa), %d objects\n", path, sn_abc_object_count(abc));
  json_object_set_new(o->report, "kind", json_string("abc"));
  for (int k = 0; k < sn_abc_object_count(abc); k++)
    json_array_append_new(objects, describe_object(o->text, sn_abc_get_object(abc, k)));
  json_object_set_new(o->report, "objects", objects);
  sn_status status = sn_abc_choose(o->ctx, abc, NULL, 0);
  if (status == SN_BAD_FILE || status == SN_NO_MEMORY) return status;
  if (status != SN_OK) { // an archive of other objects is described, not refused
    fprintf(o->text, "  no frames: %s\n", o->ctx->error.message);
    return SN_OK;
  }
  double rate = sn_abc_rate(abc);
  int frames = sn_abc_frame_count(abc);
  fprintf(o->text, "  as one mesh: %d frame%s", frames, plural(frames));
  if (rate > 0) fprintf(o->text, " at %g per second%s", rate, sn_abc_even(abc) ? "" : " on average, unevenly spaced");
  fprintf(o->text, "\n");
  sn_report_add(o->report, "frames:i rate:f", frames, rate);
  SN_TRY(sn_abc_mesh(o->ctx, abc, sn_abc_frame_time(abc, 0), &mesh));
  return describe_mesh(o, &mesh);
}

static sn_status describe_skeleton(description *o, const sn_gltf *gltf) {
  SN_FREED_BY(sn_skeleton_free) sn_skeleton skeleton = {0};
  SN_FREED_BY(sn_skin_free) sn_skin skin = {0};
  sn_status status = sn_gltf_skeleton(o->ctx, gltf, &skeleton, &skin);
  json_object_set_new(o->report, "joints", json_integer(0));
  if (status == SN_BAD_INPUT) { // no skin: a plain mesh
    fprintf(o->text, "  no skeleton\n");
    return SN_OK;
  }
  SN_TRY(status);
  json_t *joints = json_array();
  int carriers = sn_gltf_count(gltf).carriers;
  fprintf(o->text, "  %d joint%s, at most %d influence%s per vertex\n", skeleton.joint_count,
          plural(skeleton.joint_count), skin.influences, plural(skin.influences));
  if (carriers > 0) {
    fprintf(o->text, "  %d of them: nodes that carry parts without a skin\n", carriers);
    json_object_set_new(o->report, "carriers", json_integer(carriers));
  }
  for (int j = 0; j < skeleton.joint_count; j++) {
    const char *parent = skeleton.parents[j] < 0 ? NULL : skeleton.names[skeleton.parents[j]];
    json_t *joint = json_object();
    sn_report_add(joint, "name:s parent:o", skeleton.names[j], parent ? sn_report_text(parent) : json_null());
    json_array_append_new(joints, joint);
    fprintf(o->text, "    %-20s %s%s\n", skeleton.names[j], parent ? "under " : "root", parent ? parent : "");
  }
  sn_report_add(o->report, "joints:i influences:i skeleton:o", skeleton.joint_count, skin.influences, joints);
  return SN_OK;
}

static void describe_contents(description *o, const sn_gltf *gltf) {
  sn_gltf_counts n = sn_gltf_count(gltf);
  fprintf(o->text, "  %d mesh%s in %d part%s, %d skin%s, %d material%s, %d texture%s\n", n.meshes,
          n.meshes == 1 ? "" : "es", n.parts, plural(n.parts), n.skins, plural(n.skins), n.materials,
          plural(n.materials), n.textures, plural(n.textures));
  sn_report_add(o->report, "meshes:i parts:i skins:i materials:i textures:i", n.meshes, n.parts, n.skins, n.materials,
                n.textures);
}

static void describe_units(description *o, const sn_gltf *gltf) {
  char up;
  double centimetres;
  sn_gltf_units(gltf, &up, &centimetres);
  if (up) {
    fprintf(o->text, "  up is %c\n", up);
    json_object_set_new(o->report, "up", json_stringn(&up, 1));
  }
  if (centimetres > 0) {
    fprintf(o->text, "  a unit is %g cm (stated in the file, not converted)\n", centimetres);
    json_object_set_new(o->report, "unit_cm", json_real(centimetres));
  }
}

static void describe_morphs(description *o, const sn_gltf *gltf) {
  enum { most_named = 60 };
  int count = sn_gltf_morph_count(gltf);
  json_t *names = json_array();
  if (count > 0) fprintf(o->text, "  %d morph target%s:", count, plural(count));
  for (int k = 0; k < count; k++) {
    if (k < most_named) fprintf(o->text, "%s%s", k ? ", " : " ", sn_gltf_morph_name(gltf, k));
    json_array_append_new(names, sn_report_text(sn_gltf_morph_name(gltf, k)));
  }
  if (count > most_named) fprintf(o->text, ", and %d more (--json)", count - most_named);
  if (count > 0) fprintf(o->text, "\n");
  json_object_set_new(o->report, "morphs", names);
}

static void describe_clips(description *o, const sn_gltf *gltf) {
  json_t *clips = json_array();
  for (int k = 0; k < sn_gltf_clip_count(gltf); k++) {
    sn_clip_info clip = sn_gltf_clip(gltf, k);
    double seconds = clip.end - clip.start, rate = seconds > 0 ? (clip.key_count - 1) / seconds : 0;
    fprintf(o->text, "  clip %d '%s': %g s to %g s, %d channel%s, ", k, clip.name, clip.start, clip.end,
            clip.channel_count, plural(clip.channel_count));
    if (seconds > 0)
      fprintf(o->text, "up to %d keys (%.3g per second), %.0f frames at 30 per second\n", clip.key_count, rate,
              ceil(seconds * 30 - 0.01) + 1);
    else
      fprintf(o->text, "one pose\n");
    json_t *entry = json_object();
    sn_report_add(entry, "name:s start:f end:f channels:i keys:i key_rate:f", clip.name, clip.start, clip.end,
                  clip.channel_count, clip.key_count, rate);
    json_array_append_new(clips, entry);
  }
  json_object_set_new(o->report, "clips", clips);
}

static sn_status info_gltf(description *o, const char *path) {
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf;
  SN_FREED_BY(sn_mesh_free) sn_mesh mesh = {0};
  SN_TRY(sn_gltf_read(o->ctx, path, &gltf));
  bool is_gltf = sn_has_extension(path, ".glb") || sn_has_extension(path, ".gltf");
  fprintf(o->text, "%s: %s\n", path, is_gltf ? "glTF 2.0" : sn_format_of(path)->name);
  json_object_set_new(o->report, "kind", json_string(is_gltf ? "gltf" : strrchr(path, '.') + 1));
  sn_status status = sn_gltf_mesh(o->ctx, gltf, &mesh);
  if (status == SN_BAD_INPUT) { // motion only
    fprintf(o->text, "  no mesh\n");
    json_object_set_new(o->report, "vertices", json_integer(0));
  } else {
    SN_TRY(status);
    SN_TRY(describe_mesh(o, &mesh));
  }
  describe_contents(o, gltf);
  describe_units(o, gltf);
  SN_TRY(describe_skeleton(o, gltf));
  char place[256];
  if (sn_gltf_place_text(gltf, place, sizeof place)) {
    fprintf(o->text, "  %s\n", place);
    json_object_set_new(o->report, "place", sn_report_text(place));
  }
  describe_morphs(o, gltf);
  describe_clips(o, gltf);
  return SN_OK;
}

static void describe_range(description *o, const char *kind, const char *name, const float range[2], json_t *out) {
  fprintf(o->text, "  %s %s: %g to %g\n", kind, name, (double)range[0], (double)range[1]);
  sn_report_put(out, name, json_pack("[ff]", (double)range[0], (double)range[1]));
}

// Describes inputs other than joints.
static void describe_drive(description *o, const sn_rt_model *model) {
  const sn_rt_info *info = sn_rt_get_info(model);
  json_t *torques = json_object(), *values = json_object(), *controls = json_array();
  float range[2];
  for (uint32_t j = 0; j < info->torque_count; j++)
    if (sn_rt_torque_range(model, j, range))
      describe_range(o, "torque of", sn_rt_joint_name(model, j), range, torques);
  for (uint32_t v = 0; v < info->value_count; v++)
    if (sn_rt_value_range(model, v, range)) describe_range(o, "value", sn_rt_value_name(model, v), range, values);
  json_object_set_new(o->report, "values", values);
  const uint32_t *points = sn_rt_find_section(model, "control.points", NULL);
  if (info->control_count > 0) fprintf(o->text, "  control points: vertices");
  for (uint32_t k = 0; points && k < info->control_count; k++) {
    fprintf(o->text, "%s%u", k ? "," : " ", points[k]);
    json_array_append_new(controls, json_integer(points[k]));
  }
  if (info->control_count > 0) fprintf(o->text, "\n");
  sn_report_add(o->report, "torques:o controls:o", torques, controls);
}

static void describe_model(description *o, const sn_rt_model *model, const sn_skin *skin) {
  const sn_rt_info *info = sn_rt_get_info(model);
  json_t *r = o->report;
  fprintf(o->text, "  drive %s, correct %s, blend %s, shade %s\n", sn_rt_drive_name(info->drive),
          sn_rt_correct_name(info->correct), sn_rt_blend_name(info->blend), sn_rt_shade_name(info->shade));
  fprintf(o->text, "  %u vertices%s, %u triangles, %u joints, a palette of %u matrices\n", info->vertex_count,
          info->tangents ? " with tangents" : "", info->triangle_count, info->joint_count, info->palette_count);
  if (sn_rt_get_order(model, NULL)) fprintf(o->text, "  vertices are numbered by the blocks of the model\n");
  describe_drive(o, model);
  int most = 0;
  for (int i = 0; i < skin->vertex_count; i++) most = (int)fmax(most, sn_skin_row_influences(skin, i));
  fprintf(o->text, "  up to %d influences per vertex, %.2f on average, weights of %u bits%s\n", most,
          info->vertex_count ? (double)info->influence_count / info->vertex_count : 0.0, info->weight_bits,
          info->weight_bits == 12 ? ": a packed model" : "");
  fprintf(o->text, "  one evaluation: %.3f million floating-point operations, %.1f KB read\n",
          1e-6 * (double)info->flops, 1e-3 * (double)info->bytes_read);
  fprintf(o->text, "  %.0f bytes in %u sections:\n", (double)info->bytes, info->section_count);
  sn_report_add(r,
                "kind:s version:o drive:s correct:s blend:s shade:s vertices:i order:s triangles:i joints:i "
                "palette:i influences:i bytes:I flops:I",
                "sinew", json_pack("[ii]", (int)info->version_major, (int)info->version_minor),
                sn_rt_drive_name(info->drive), sn_rt_correct_name(info->correct), sn_rt_blend_name(info->blend),
                sn_rt_shade_name(info->shade), info->vertex_count, sn_rt_get_order(model, NULL) ? "blocks" : "file",
                info->triangle_count, info->joint_count, info->palette_count, most, (json_int_t)info->bytes,
                (json_int_t)info->flops);
  json_t *sections = json_object();
  for (uint32_t s = 0; s < info->section_count; s++) {
    sn_rt_section section = sn_rt_get_section(model, s);
    fprintf(o->text, "    %-16s %10.0f\n", section.name, (double)section.size);
    json_object_set_new(sections, section.name, json_integer((json_int_t)section.size));
  }
  json_object_set_new(r, "sections", sections);
}

static sn_status info_model(description *o, const char *path) {
  SN_FREED_BY(sn_opened_close) sn_opened opened;
  SN_FREED_BY(sn_skin_free) sn_skin skin = {0};
  SN_TRY(sn_open_model(o->ctx, path, &opened));
  SN_TRY(sn_model_skin(o->ctx, &opened.model, &skin));
  const sn_rt_info *info = &opened.model.info;
  fprintf(o->text, "%s: Sinew model, format %u.%u\n", path, info->version_major, info->version_minor);
  describe_model(o, &opened.model, &skin);
  return SN_OK;
}

sn_status sn_job_info(sn_context *ctx, const char *path, sn_info_result *out) {
  static const struct {
    const char *extension;
    sn_status (*describe)(description *o, const char *path);
  } kinds[] = {{".obj", info_obj}, {".abc", info_abc}, {".sinew", info_model}};
  sn_status (*describe)(description *, const char *) = sn_is_document(path) ? info_gltf : info_frames;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (sn_has_extension(path, kinds[k].extension)) describe = kinds[k].describe;
  *out = (sn_info_result){.report = json_object()};
  struct stat file;
  if (!sn_format_of(path) && !sn_has_extension(path, ".sinew") && stat(path, &file) == 0 && S_ISREG(file.st_mode))
    return sn_fail(ctx, SN_UNSUPPORTED, "%s: not a kind of mesh, sequence, skeleton or model that Sinew reads", path);
  description o = {ctx, open_memstream(&out->text, &out->size), out->report};
  if (!o.text) return sn_fail(ctx, SN_NO_MEMORY, "out of memory for the text");
  sn_status status = describe(&o, path);
  return fclose(o.text) == 0 || status != SN_OK ? status : sn_fail(ctx, SN_NO_MEMORY, "out of memory for the text");
}

void sn_info_result_free(sn_info_result *result) {
  free(result->text);
  json_decref(result->report);
}
