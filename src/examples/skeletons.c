// SPDX-License-Identifier: MIT
// Skeleton, skin and poses of a set of examples.
#include "examples/load.h"

#include <math.h>
#include <string.h>

static sn_status misplaced(sn_context *ctx, const sn_load_options *options, const sn_mesh *bind, int i,
                           double distance, const sn_examples *out) {
  char words[128];
  sn_status status = sn_load_explain_place(ctx, options, bind, out, words, sizeof words);
  if (status != SN_OK) return status;
  if (*words) {
    return sn_fail(ctx, SN_BAD_INPUT,
                   "%s: the mesh in its bind pose is in another unit or other axes than %s: give %s",
                   options->skeletons[0], options->rest, words);
  }
  return sn_fail(ctx, SN_BAD_INPUT,
                 "%s: the mesh in its bind pose is not where %s is: vertex %d is %.3g away, more than 0.1 %% of the "
                 "diagonal; `rest` must be the bind pose. If only the vertex order differs, use the bind mesh as "
                 "`rest` and give `match`",
                 options->skeletons[0], options->rest, i, distance);
}

// Brings the bind mesh's skin to the rest mesh's vertices, and checks that the two meshes are in the same place.
static sn_status place_skin(sn_context *ctx, const sn_load_options *options, const sn_mesh *bind, const sn_skin *skin,
                            sn_examples *out) {
  int n = out->rest.vertex_count;
  const float(*rest)[3] = (const float(*)[3])out->rest.positions;
  double limit = 1e-3 * sn_points_diagonal(rest, n);
  sn_arena scratch = sn_arena_new(ctx);
  int *nearest = SN_NEW(ctx, &scratch, int, n);
  double *distance = SN_NEW(ctx, &scratch, double, n);
  sn_status status = nearest && distance ? SN_OK : ctx->error.status;
  bool same = bind->vertex_count == n;
  for (int i = 0; status == SN_OK && same && i < n; i++) {
    same = sn_vec3_distance(sn_vec3_from(bind->positions[i]), sn_vec3_from(rest[i])) <= limit;
    nearest[i] = i;
  }
  if (status == SN_OK && !same) {
    status = sn_nearest_vertices(ctx, sn_mesh_points(bind), sn_mesh_points(&out->rest), nearest, distance);
  }
  for (int i = 0; status == SN_OK && i < n; i++) {
    if (distance[i] > limit) status = misplaced(ctx, options, bind, i, distance[i], out);
  }
  if (status == SN_OK) status = sn_skin_copy_rows(ctx, skin, nearest, n, skin->influences, &out->skin);
  sn_arena_free(&scratch);
  return status;
}

// The skeleton, bind mesh and skin of the first skeleton file.
static sn_status read_first_skeleton(sn_context *ctx, const sn_load_options *options, const sn_gltf *gltf,
                                     sn_examples *out) {
  sn_mesh bind = {0};
  sn_skin skin = {0};
  sn_status status = sn_gltf_skeleton(ctx, gltf, &out->skeleton, &skin);
  if (status == SN_OK && skin.vertex_count > 0) status = sn_gltf_mesh(ctx, gltf, &bind);
  if (status == SN_OK) sn_adjust_rig(&options->adjust[SN_FILE_SKELETON], &bind, &out->skeleton);
  if (status == SN_OK && options->rest && bind.vertex_count > 0) status = place_skin(ctx, options, &bind, &skin, out);
  sn_mesh_free(&bind);
  sn_skin_free(&skin);
  return sn_fail_name(ctx, status, options->skeletons[0]);
}

// A file whose bind pose differs (another scale or turn of the armature, say) maps another rest pose: rest_there, then
// back from rest_here, leads to its joints from ours.
static sn_affine between_rests(sn_affine rest_here, sn_affine rest_there) {
  sn_affine inverse;
  if (memcmp(&rest_here, &rest_there, sizeof rest_here) == 0 || !sn_affine_invert(rest_here, &inverse)) {
    return sn_affine_identity();
  }
  return sn_affine_mul(rest_there, inverse);
}

// Copies the poses of one clip, joints matched by name.
static sn_status append_poses(sn_context *ctx, const char *path, const sn_skeleton *skeleton, const sn_poses *poses,
                              int first, sn_examples *out) {
  for (int j = 0; j < out->skeleton.joint_count; j++) {
    int from = sn_skeleton_find_near(skeleton, out->skeleton.names[j], j);
    if (from < 0) {
      return sn_fail(ctx, SN_BAD_INPUT, "%s has no joint called '%s'", path, out->skeleton.names[j]);
    }
    sn_affine between = between_rests(out->skeleton.rest[j], skeleton->rest[from]);
    for (int f = 0; f < poses->frame_count; f++) {
      sn_pose(&out->poses, first + f)[j] = sn_affine_mul(sn_pose(poses, f)[from], between);
    }
  }
  return SN_OK;
}

// Poses are taken at the times of the frames.
static double pose_rate(const sn_load_options *options, const sn_examples *examples) {
  if (options->fps > 0) return options->fps;
  return examples->frames.rate > 0 ? examples->frames.rate : SN_DEFAULT_FPS;
}

// As many poses as there are frames, where motion is only where a solver begins: none, the pose of the file; too few, the
// last one stays.
static sn_status initial_poses(sn_context *ctx, const sn_gltf *gltf, int clip, const sn_choice *choice,
                               sn_poses *out) {
  sn_poses have = {0};
  int joint_count = out->joint_count, count = out->frame_count;
  sn_status status = clip < 0 ? SN_OK : sn_gltf_poses_adjusted(ctx, gltf, clip, choice, -1, &have);
  if (status == SN_OK) status = sn_poses_new(ctx, joint_count, count, out);
  for (int f = 0; status == SN_OK && f < count; f++) {
    int from = f < have.frame_count ? f : have.frame_count - 1;
    if (clip < 0) {
      status = sn_gltf_pose(ctx, gltf, -1, 0, sn_pose(out, f));
      sn_adjust_matrices(&choice->adjust, sn_pose(out, f), (size_t)joint_count);
    } else {
      memcpy(sn_pose(out, f), sn_pose(&have, from), (size_t)joint_count * sizeof(sn_affine));
    }
  }
  sn_poses_free(&have);
  return status;
}

// Frames before the first pose of a clip that is shifted, and behind its last, have none and go. Other clips move up. *gone_first
// of them went at the beginning.
static sn_status cut_frames(sn_context *ctx, const sn_load_options *options, int c, double seconds, sn_examples *out,
                            int *gone_first) {
  double fps = pose_rate(options, out), shift = options->adjust[SN_FILE_SKELETON].offset * fps, slack = 0.5;
  int count = out->clip_start[c + 1] - out->clip_start[c], first = 0, last = count;
  while (first < count && shift + first < -slack) first++;
  while (last > first && shift + last - 1 > seconds * fps + slack) last--;
  int gone = first + count - last, total = out->frames.frame_count;
  *gone_first = first;
  if (first == last) {
    return sn_fail(ctx, SN_BAD_INPUT, "`offset` skeleton=%g: its clip of %g s has no pose for any frame then",
                   options->adjust[SN_FILE_SKELETON].offset, seconds);
  }
  if (gone == 0) return SN_OK;
  sn_examples_note(ctx, out, "%s: %d of %d frames have no pose once those are shifted, and are left out",
                   options->frames[c], gone, count);
  if (out->clip_count == 1) {
    out->frames.positions += (size_t)first * (size_t)out->frames.vertex_count;
  } else { // put together by us, so in memory of our own
    int start = out->clip_start[c];
    for (int f = start; f < total - gone; f++) {
      int from = f < start + last - first ? f + first : f + gone;
      memcpy(sn_frame_mutable(&out->frames, f), sn_frame(&out->frames, from),
             (size_t)out->frames.vertex_count * sizeof(float[3]));
    }
  }
  for (int k = c + 1; k <= out->clip_count; k++) out->clip_start[k] -= gone;
  if (out->clip_start[c] >= total - out->test_frame_count) out->test_frame_count -= gone;
  out->frames.frame_count -= gone;
  return SN_OK;
}

// The poses of the frames of clip c; of the whole clip where there are none.
static sn_status read_poses(sn_context *ctx, const sn_load_options *options, int c, const sn_gltf *gltf,
                            sn_examples *out, sn_poses *poses) {
  sn_choice choice = sn_load_choice(options, SN_FILE_SKELETON);
  bool framed = out->frames.frame_count > 0, still = options->still_skeleton && sn_gltf_clip_count(gltf) == 0;
  int clip = -1, first;
  sn_status status = still ? SN_OK : sn_gltf_find_clip(ctx, gltf, options->skeleton_clips[c], &clip);
  if (status != SN_OK) return status;
  choice.fps = pose_rate(options, out);
  if (options->still_skeleton) {
    if (framed) poses->frame_count = out->clip_start[c + 1] - out->clip_start[c];
    return initial_poses(ctx, gltf, framed ? clip : -1, &choice, poses);
  }
  if (framed && choice.adjust.offset != 0) {
    sn_clip_info info = sn_gltf_clip(gltf, clip);
    status = cut_frames(ctx, options, c, info.end - info.start, out, &first);
    if (status != SN_OK) return status;
    choice.adjust.offset += first / choice.fps;
  }
  int count = framed ? out->clip_start[c + 1] - out->clip_start[c] : -1;
  return sn_gltf_poses_adjusted(ctx, gltf, clip, &choice, count, poses);
}

// The skeleton of clip c, and its poses as the file has them. The first file's skeleton is everybody's.
static sn_status read_clip(sn_context *ctx, const sn_load_options *options, int c, sn_examples *out,
                           sn_skeleton *skeleton, sn_poses *poses) {
  const char *path = options->skeletons[c];
  sn_gltf *gltf = NULL;
  if (!sn_is_document(path)) {
    return sn_fail(
      ctx, SN_BAD_INPUT,
      "`skeleton` %s: not a file with joints; give the .glb, .gltf or .fbx that has the skeleton and its motion",
      path);
  }
  sn_status status = sn_gltf_read(ctx, path, &gltf);
  if (status != SN_OK) return status;
  if (c == 0) status = read_first_skeleton(ctx, options, gltf, out);
  if (status == SN_OK) status = sn_gltf_skeleton(ctx, gltf, skeleton, NULL);
  if (status == SN_OK) sn_adjust_rig(&options->adjust[SN_FILE_SKELETON], NULL, skeleton);
  poses->joint_count = skeleton->joint_count;
  if (status == SN_OK) status = read_poses(ctx, options, c, gltf, out, poses);
  sn_gltf_free(gltf);
  return sn_fail_name(ctx, status, path);
}

// One after the other. Without frames the clips are the poses'.
static sn_status join_poses(sn_context *ctx, const sn_load_options *options, const sn_skeleton *skeletons,
                            const sn_poses *parts, sn_examples *out) {
  int count = options->skeleton_count, total = 0;
  if (out->frames.frame_count == 0) {
    out->clip_start = SN_NEW(ctx, &out->memory, int, count + 1);
    if (!out->clip_start) return ctx->error.status;
    out->clip_count = count;
  }
  for (int c = 0; c < count; c++) {
    if (__builtin_add_overflow(total, parts[c].frame_count, &total)) {
      return sn_fail(ctx, SN_BAD_INPUT, "too many frames");
    }
    out->clip_start[c + 1] = total;
  }
  sn_status status = sn_poses_new(ctx, out->skeleton.joint_count, total, &out->poses);
  for (int c = 0; c < count && status == SN_OK; c++) {
    status = append_poses(ctx, options->skeletons[c], &skeletons[c], &parts[c], out->clip_start[c], out);
  }
  return status;
}

sn_status sn_load_skeletons(sn_context *ctx, const sn_load_options *options, sn_examples *out) {
  int count = options->skeleton_count;
  if (options->frames_count > 0 && count != options->frames_count) {
    return sn_fail(ctx, SN_BAD_INPUT,
                   "%d clips of `frames` and %d of `skeleton`: they pair up in order, so give as many of each "
                   "(FILE#CLIP names a clip of a file)",
                   options->frames_count, count);
  }
  sn_arena scratch = sn_arena_new(ctx);
  sn_skeleton *skeletons = SN_NEW(ctx, &scratch, sn_skeleton, count);
  sn_poses *parts = SN_NEW(ctx, &scratch, sn_poses, count);
  sn_status status = skeletons && parts ? SN_OK : ctx->error.status;
  for (int c = 0; status == SN_OK && c < count; c++) {
    status = read_clip(ctx, options, c, out, &skeletons[c], &parts[c]);
  }
  if (status == SN_OK) status = join_poses(ctx, options, skeletons, parts, out);
  for (int c = 0; skeletons && parts && c < count; c++) {
    sn_skeleton_free(&skeletons[c]);
    sn_poses_free(&parts[c]);
  }
  sn_arena_free(&scratch);
  return status;
}
