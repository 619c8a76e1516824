// SPDX-License-Identifier: MIT
// sinew convert: between mesh files, and between sequence files.
#include <string.h>
#include <sys/stat.h>

#include "cli/inputs.h"

static bool is_gltf(const char *path) { return sn_has_extension(path, ".glb") || sn_has_extension(path, ".gltf"); }

static bool is_alembic(const char *path) { return sn_has_extension(path, ".abc"); }

// Frames that come with the mesh they are of.
static bool has_faces(const char *path) { return sn_is_document(path) || is_alembic(path); }

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// What of the file to read is meant, --scale, --axes and --offset included.
static sn_status choose(cli *c, const char **objects, sn_choice *out) {
  sn_adjust adjust[SN_FILE_KINDS];
  sn_status status = sn_cli_choice(c, objects, out);
  if (status == SN_OK) status = sn_cli_adjust(c, adjust);
  if (status == SN_OK) out->adjust = adjust[SN_FILE_FRAMES];
  for (int k = 1; status == SN_OK && k < SN_FILE_KINDS; k++) {
    if (memcmp(&adjust[0], &adjust[k], sizeof *adjust) == 0) continue;
    status =
      sn_fail(&c->ctx, SN_BAD_INPUT, "convert reads one file: give --scale, --axes and --offset without its kind");
  }
  return status;
}

// A glTF document read and written whole: .glb to .gltf and back.
static sn_status convert_document(cli *c, const char *from, const char *to, const sn_adjust *adjust) {
  sn_gltf *gltf;
  sn_status status = sn_gltf_read(&c->ctx, from, &gltf);
  if (status != SN_OK) return status;
  sn_mat3 turn = sn_adjust_linear(adjust);
  sn_gltf_out out = {.base = gltf, .turn = sn_adjust_moves(adjust) ? &turn : NULL};
  status = sn_gltf_write(&c->ctx, to, &out);
  sn_gltf_free(gltf);
  return status;
}

// What a document holds, through our own description of it: mesh, skin and every clip.
static sn_status convert_scene(cli *c, const char *from, const char *to, const sn_adjust *adjust) {
  enum { most = 64 };
  sn_gltf *gltf;
  sn_mesh mesh = {0};
  sn_skeleton skeleton = {0};
  sn_skin skin = {0};
  sn_poses poses[most] = {0};
  sn_gltf_clip_out clips[most];
  sn_status status = sn_gltf_read(&c->ctx, from, &gltf);
  if (status != SN_OK) return status;
  sn_gltf_out out = {.mesh = &mesh, .clips = clips, .fps = sn_cli_fps(c)};
  status = sn_gltf_mesh(&c->ctx, gltf, &mesh);
  if (status == SN_OK && sn_gltf_skeleton(&c->ctx, gltf, &skeleton, &skin) == SN_OK) {
    out.skeleton = &skeleton, out.skin = &skin;
    if (is_gltf(to) && !sn_adjust_moves(adjust)) out.base = gltf; // its materials
    int count = sn_gltf_clip_count(gltf) < most ? sn_gltf_clip_count(gltf) : most;
    for (int k = 0; status == SN_OK && k < count; k++) {
      status =
        sn_gltf_poses_adjusted(&c->ctx, gltf, k, &(sn_choice){.fps = out.fps, .adjust = *adjust}, -1, &poses[k]);
      clips[k] = (sn_gltf_clip_out){
        .name = sn_gltf_clip(gltf, k).name, .poses = &poses[k], .frame_count = poses[k].frame_count};
      out.clip_count = k + 1;
    }
  }
  sn_adjust_rig(adjust, &mesh, &skeleton);
  if (status == SN_OK) status = sn_gltf_write(&c->ctx, to, &out);
  if (status == SN_OK)
    sn_cli_say(c, "%s: %d vertices, %d joints, %d clips\n", to, mesh.vertex_count, skeleton.joint_count,
               out.clip_count);
  for (int k = 0; k < most; k++) sn_poses_free(&poses[k]);
  sn_skeleton_free(&skeleton);
  sn_skin_free(&skin);
  sn_mesh_free(&mesh);
  sn_gltf_free(gltf);
  return status;
}

// The first frame of an archive, with what lies on its faces.
static sn_status convert_archive_mesh(cli *c, const char *from, const char *to) {
  const char *objects[CLI_MOST_OBJECTS];
  sn_choice choice;
  sn_abc *abc = NULL;
  sn_mesh mesh = {0};
  sn_surface surface = {0};
  sn_status status = choose(c, objects, &choice);
  if (status == SN_OK) status = sn_abc_open(&c->ctx, from, &abc);
  if (status == SN_OK) status = sn_abc_choose(&c->ctx, abc, choice.objects, choice.object_count);
  double start = status == SN_OK ? sn_abc_frame_time(abc, 0) + choice.adjust.offset : 0;
  if (status == SN_OK) status = sn_abc_mesh(&c->ctx, abc, start, &mesh);
  if (status == SN_OK) status = sn_abc_surface(&c->ctx, abc, start, &surface);
  if (status == SN_OK) {
    sn_adjust_surface(&choice.adjust, &mesh, &surface);
    status = sn_obj_write_surface(&c->ctx, to, &mesh, (const float(*)[3])mesh.positions, &surface);
  }
  if (status == SN_OK) {
    sn_cli_say(c, "%s: %d vertices, %d triangles, %d materials%s%s\n", to, mesh.vertex_count, mesh.triangle_count,
               surface.material_count, surface.has_uvs ? ", texture coordinates" : "",
               surface.has_normals ? ", normals" : "");
  }
  sn_surface_free(&surface);
  sn_mesh_free(&mesh);
  sn_abc_free(abc);
  return status;
}

static sn_status convert_mesh(cli *c, const char *from, const char *to) {
  sn_mesh mesh;
  const char *objects[CLI_MOST_OBJECTS];
  sn_choice choice;
  sn_status status = choose(c, objects, &choice);
  if (status == SN_OK) status = sn_mesh_read(&c->ctx, from, &choice, &mesh);
  if (status != SN_OK) return status;
  if (sn_cli_is_scene(to)) {
    sn_gltf_out out = {.mesh = &mesh};
    status = sn_gltf_write(&c->ctx, to, &out);
  } else {
    status = sn_obj_write(&c->ctx, to, &mesh, (const float(*)[3])mesh.positions);
  }
  if (status == SN_OK) sn_cli_say(c, "%s: %d vertices, %d triangles\n", to, mesh.vertex_count, mesh.triangle_count);
  sn_mesh_free(&mesh);
  return status;
}

static sn_status convert_frames(cli *c, const char *from, const char *to) {
  const char *rest = sn_cli_text(c, "--rest"), *objects[CLI_MOST_OBJECTS];
  sn_choice choice;
  sn_mesh mesh = {0};
  sn_stream frames = {0};
  sn_status status = choose(c, objects, &choice);
  if (status != SN_OK) return status;
  bool needs_faces = !sn_cli_is_point_cache(to);
  if (needs_faces && !rest && has_faces(from)) rest = from;
  if (needs_faces && !rest)
    return sn_fail(&c->ctx, SN_BAD_INPUT, "%s: %s frames need triangles; give --rest FILE", to,
                   is_alembic(to) ? "Alembic" : "OBJ");
  status = sn_stream_open(&c->ctx, from, &choice, &frames);
  if (status == SN_OK && rest) status = sn_mesh_read(&c->ctx, rest, &choice, &mesh);
  if (status == SN_OK && rest && mesh.vertex_count != frames.vertex_count) {
    status = sn_fail(&c->ctx, SN_BAD_INPUT, "%s has %d vertices, but %s has %d", from, frames.vertex_count, rest,
                     mesh.vertex_count);
  }
  if (frames.rate == 0) frames.rate = sn_cli_fps(c);
  if (status == SN_OK) status = sn_stream_write(&c->ctx, to, &frames, &mesh);
  if (status == SN_OK) sn_cli_say(c, "%s: %d frames of %d vertices\n", to, frames.frame_count, frames.vertex_count);
  sn_mesh_free(&mesh);
  sn_stream_close(&frames);
  return status;
}

static int run(cli *c) {
  const char *from = c->arguments[0], *to = c->arguments[1], *objects[CLI_MOST_OBJECTS];
  sn_choice choice;
  sn_status status = choose(c, objects, &choice);
  if (status != SN_OK) return sn_cli_fail(c);
  if (sn_is_document(from) && is_gltf(to) && choice.adjust.offset == 0) {
    status = convert_document(c, from, to, &choice.adjust);
  } else if (sn_is_document(from) && sn_cli_is_scene(to)) {
    status = convert_scene(c, from, to, &choice.adjust);
  } else if (is_alembic(from) && sn_has_extension(to, ".obj")) {
    status = convert_archive_mesh(c, from, to);
  } else if (!is_folder(from) && !strpbrk(from, "*?[") && (has_faces(from) || sn_has_extension(from, ".obj")) &&
             (sn_cli_is_scene(to) || sn_has_extension(to, ".obj"))) {
    status = convert_mesh(c, from, to);
  } else if (sn_cli_is_scene(to) || sn_has_extension(to, ".obj")) {
    status =
      sn_fail(&c->ctx, SN_UNSUPPORTED, "%s: a sequence is written as .pc2, .mdd, .abc or a folder of .obj", to);
  } else {
    status = convert_frames(c, from, to);
  }
  return status == SN_OK ? exit_done : sn_cli_fail(c);
}

static const cli_option options[] = {
  {"--rest", "FILE", NULL, "mesh with the triangles of the frames, for .obj and .abc", cli_input},
  CLI_OPTION_ONE_CLIP,
  CLI_OPTION_FPS,
  {"--scale", "X", NULL, "multiply all positions", cli_files},
  {"--axes", "XYZ", NULL, "axes of IN that become x, y and z, as xz-y; z-up is short for that", cli_files},
  {"--offset", "SECONDS", NULL, "start this long after the first key or sample", cli_files},
  CLI_OPTION_OBJECT,
  {0},
};

const cli_command sn_cli_convert = {
  .name = "convert",
  .usage = "IN OUT",
  .summary = "convert between file formats",
  .details = "Meshes: reads .obj, .glb, .gltf, .fbx, .abc, .dae, .ply, .stl; writes .obj, .glb, .gltf, .fbx. "
             "Sequences: reads .pc2, .mdd, .abc, folders or quoted globs of .obj, .glb or .ply, animated .glb; "
             "writes .pc2, .mdd, .abc "
             "or a folder of .obj.",
  .example = "sinew gen bar -o bar\n"
             "sinew convert bar/frames.pc2 frames/ --rest bar/rest.obj",
  .options = options,
  .least_arguments = 2,
  .most_arguments = 2,
  .run = run,
};
