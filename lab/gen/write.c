// SPDX-License-Identifier: MIT
// A generated set as files.
#include "lab/gen/gen.h"
#include "sinew/formats.h"

#include <stdio.h>
#include <string.h>

static sn_status write_torques(sn_context *ctx, const char *path, const sn_examples *examples) {
  const sn_torques *torques = &examples->torques;
  sn_writer writer;
  sn_status status = sn_writer_open(ctx, path, &writer);
  if (status != SN_OK) return status;
  sn_writef(&writer, "frame");
  for (int j = 0; j < torques->joint_count; j++)
    if (torques->has[j]) sn_writef(&writer, ",%s", examples->skeleton.names[j]);
  for (int f = 0; f < torques->frame_count; f++) {
    sn_writef(&writer, "\n%d", f);
    for (int j = 0; j < torques->joint_count; j++) {
      if (torques->has[j]) sn_writef(&writer, ",%.9g", torques->values[f * torques->joint_count + j]);
    }
  }
  sn_writef(&writer, "\n");
  return sn_writer_commit(ctx, &writer);
}

static sn_status write_controls(sn_context *ctx, const char *path, const sn_examples *examples) {
  sn_writer writer;
  sn_status status = sn_writer_open(ctx, path, &writer);
  if (status != SN_OK) return status;
  sn_writef(&writer, "# control vertices, counted from 0\n");
  for (int c = 0; c < examples->control_count; c++) sn_writef(&writer, "%d\n", examples->controls[c]);
  return sn_writer_commit(ctx, &writer);
}

static sn_status write_skeleton(sn_context *ctx, const char *path, const sn_examples *examples) {
  sn_gltf_clip_out clip = {.name = "motion", .poses = &examples->poses, .frame_count = examples->poses.frame_count};
  sn_gltf_out out = {.mesh = &examples->rest,
                     .skeleton = &examples->skeleton,
                     .skin = &examples->skin,
                     .clip_count = 1,
                     .clips = &clip,
                     .fps = SN_GEN_FPS};
  return sn_gltf_write(ctx, path, &out);
}

static sn_status write_values(sn_context *ctx, const char *path, const sn_values *values) {
  sn_writer writer;
  sn_status status = sn_writer_open(ctx, path, &writer);
  if (status != SN_OK) return status;
  sn_writef(&writer, "frame");
  for (int v = 0; v < values->count; v++) sn_writef(&writer, ",%s", values->names[v]);
  for (int f = 0; f < values->frame_count; f++) {
    sn_writef(&writer, "\n%d", f);
    for (int v = 0; v < values->count; v++)
      sn_writef(&writer, ",%.9g", values->values[(size_t)f * (size_t)values->count + (size_t)v]);
  }
  sn_writef(&writer, "\n");
  return sn_writer_commit(ctx, &writer);
}

// The frame with value v alone at 1; -1 where there is none.
static int frame_alone(const sn_values *values, int v) {
  for (int f = 0; f < values->frame_count; f++) {
    bool alone = true;
    for (int k = 0; k < values->count; k++)
      alone &= values->values[(size_t)f * (size_t)values->count + (size_t)k] == (k == v ? 1 : 0);
    if (alone) return f;
  }
  return -1;
}

// The shapes of the values alone as morph targets, as a modeller would export them: without animation.
static sn_status write_targets(sn_context *ctx, const char *path, const sn_examples *examples) {
  sn_arena scratch = sn_arena_new(ctx);
  size_t n = (size_t)examples->rest.vertex_count;
  float(*deltas)[3] = sn_arena_alloc(ctx, &scratch, (size_t)examples->values.count * n, sizeof *deltas);
  if (!deltas) return ctx->error.status;
  for (int v = 0; v < examples->values.count; v++) {
    int f = frame_alone(&examples->values, v);
    for (size_t i = 0; f >= 0 && i < n; i++)
      for (int c = 0; c < 3; c++)
        deltas[(size_t)v * n + i][c] = sn_frame(&examples->frames, f)[i][c] - examples->rest.positions[i][c];
  }
  sn_gltf_out out = {.mesh = &examples->rest,
                     .fps = SN_GEN_FPS,
                     .morph_count = examples->values.count,
                     .morph_names = (const char *const *)examples->values.names,
                     .morph_deltas = (const float(*)[3])deltas};
  sn_status status = sn_gltf_write(ctx, path, &out);
  sn_arena_free(&scratch);
  return status;
}

static sn_status write_readme(sn_context *ctx, const char *path, const sn_gen_options *options,
                              const sn_examples *examples) {
  const char *summary = "";
  for (int k = 0; k < sn_gen_set_count(); k++)
    if (strcmp(sn_gen_set(k)->name, options->set) == 0) summary = sn_gen_set(k)->summary;
  sn_writer writer;
  sn_status status = sn_writer_open(ctx, path, &writer);
  if (status != SN_OK) return status;
  sn_writef(&writer, "%s: %s\n\n", options->set, summary);
  sn_writef(&writer,
            "Made by Sinew " SN_VERSION
            ": sinew gen %s --frames %d --vertices %d --joints %d --seed %llu --motion %s\n\n",
            options->set, examples->frames.frame_count, examples->rest.vertex_count, examples->skeleton.joint_count,
            (unsigned long long)options->seed, sn_gen_motion_name(options->motion));
  sn_writef(&writer, "rest.obj      rest mesh: %d vertices, %d triangles\n", examples->rest.vertex_count,
            examples->rest.triangle_count);
  sn_writef(&writer, "frames.pc2    %d frames of vertex positions; frame 0 is the rest pose\n",
            examples->frames.frame_count);
  sn_writef(&writer, "skeleton.glb  %d joints, a plausible skin and the motion, %g frames per second\n",
            examples->skeleton.joint_count, SN_GEN_FPS);
  sn_writef(&writer, "torque.csv    torque of the joints that carry a load, a row per frame\n");
  sn_writef(&writer, "controls.txt  %d control vertices\n", examples->control_count);
  if (examples->values.count > 0) {
    sn_writef(&writer, "values.csv    %d named values, a row per frame; with --targets %d\n", examples->values.count,
              examples->values.count);
    sn_writef(&writer, "targets.glb   the shapes of the values alone, as morph targets\n");
  }
  return sn_writer_commit(ctx, &writer);
}

sn_status sn_gen_write(sn_context *ctx, const sn_gen_options *options, const sn_examples *examples,
                       const char *folder) {
  sn_arena scratch = sn_arena_new(ctx);
  size_t size = strlen(folder) + 32;
  char *path = SN_NEW(ctx, &scratch, char, size);
  sn_status status = path ? sn_make_folder(ctx, folder) : ctx->error.status;
  if (status == SN_OK) {
    snprintf(path, size, "%s/rest.obj", folder);
    status = sn_obj_write(ctx, path, &examples->rest, (const float(*)[3])examples->rest.positions, NULL);
  }
  if (status == SN_OK && examples->frames.positions) {
    snprintf(path, size, "%s/frames.pc2", folder);
    status = sn_frames_write(ctx, path, &examples->frames, NULL);
  }
  if (status == SN_OK) {
    snprintf(path, size, "%s/skeleton.glb", folder);
    status = write_skeleton(ctx, path, examples);
  }
  if (status == SN_OK) {
    snprintf(path, size, "%s/torque.csv", folder);
    status = write_torques(ctx, path, examples);
  }
  if (status == SN_OK) {
    snprintf(path, size, "%s/controls.txt", folder);
    status = write_controls(ctx, path, examples);
  }
  if (status == SN_OK && examples->values.count > 0) {
    snprintf(path, size, "%s/values.csv", folder);
    status = write_values(ctx, path, &examples->values);
  }
  if (status == SN_OK && examples->values.count > 0) {
    snprintf(path, size, "%s/targets.glb", folder);
    status = write_targets(ctx, path, examples);
  }
  if (status == SN_OK) {
    snprintf(path, size, "%s/README.txt", folder);
    status = write_readme(ctx, path, options, examples);
  }
  sn_arena_free(&scratch);
  return status;
}

typedef struct frame_taker {
  const char *folder;
  sn_writer writer;
  bool open;
} frame_taker;

static sn_status take_frame(sn_context *ctx, void *user, const sn_examples *examples, int f,
                            const float (*positions)[3]) {
  frame_taker *taker = user;
  if (f == 0) {
    sn_arena scratch = sn_arena_new(ctx);
    size_t size = strlen(taker->folder) + sizeof "/frames.pc2";
    char *path = SN_NEW(ctx, &scratch, char, size);
    if (path) snprintf(path, size, "%s/frames.pc2", taker->folder);
    sn_status status = path ? sn_make_folder(ctx, taker->folder) : ctx->error.status;
    if (status == SN_OK)
      status = sn_pc2_begin(ctx, path, examples->rest.vertex_count, examples->frames.frame_count, &taker->writer);
    sn_arena_free(&scratch);
    if (status != SN_OK) return status;
    taker->open = true;
  }
  sn_write(&taker->writer, positions, (size_t)examples->rest.vertex_count * sizeof *positions);
  return SN_OK;
}

sn_status sn_gen_folder(sn_context *ctx, const sn_gen_options *options, const char *folder, sn_examples *out) {
  frame_taker taker = {.folder = folder};
  sn_gen_options streamed = *options;
  bool whole = options->set && strcmp(options->set, "face") == 0; // its targets are written from its frames
  if (!whole) streamed.take = take_frame, streamed.taker = &taker;
  sn_outputs together;
  sn_outputs_begin(ctx, &together);
  sn_status status = sn_gen(ctx, &streamed, out);
  if (taker.open && status == SN_OK)
    status = sn_writer_commit(ctx, &taker.writer);
  else if (taker.open)
    sn_writer_abort(ctx, &taker.writer);
  if (status == SN_OK) status = sn_gen_write(ctx, options, out, folder);
  if (status != SN_OK) sn_examples_free(out);
  return sn_outputs_end(ctx, &together, status);
}
