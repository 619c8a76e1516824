// SPDX-License-Identifier: MIT
// Loads skeleton, skin and poses.
#include "examples/load.h"

#include <math.h>
#include <string.h>

static void misplaced(sn_loading *l, const sn_mesh *bind, int i, double distance) {
  char words[128];
  sn_load_explain_place(l, bind, words, sizeof words);
  if (*words)
    sn_fail_once(l, SN_BAD_INPUT, "%s: the mesh in its bind pose is in another unit or other axes than %s: give %s",
                 l->options.skeletons[0], l->options.rest, words);
  sn_fail_once(
    l, SN_BAD_INPUT,
    "%s: the mesh in its bind pose is not where %s is: vertex %d is %.3g away, more than 0.1 %% of the "
    "diagonal; both must be the same character in its bind pose. If only the vertex order differs, use the "
    "bind mesh as `rest` and give `match`",
    l->options.skeletons[0], l->options.rest, i, distance);
}

// Copies the bind mesh's skin to the rest mesh's vertices; fails if the two meshes are not in the same place.
static void place_skin(sn_loading *l, const sn_mesh *bind, const sn_skin *skin) {
  sn_examples *out = l->out;
  int n = out->rest.vertex_count;
  const float(*rest)[3] = (const float(*)[3])out->rest.positions;
  double limit = 1e-3 * sn_points_diagonal(rest, n);
  SN_SCRATCH(scratch, l->ctx);
  int *nearest = SN_TAKE(l, &scratch, int, n);
  double *distance = SN_TAKE(l, &scratch, double, n);
  bool same = bind->vertex_count == n;
  for (int i = 0; distance && same && i < n; i++) {
    same = sn_vec3_distance(sn_vec3_from(bind->positions[i]), sn_vec3_from(rest[i])) <= limit;
    nearest[i] = i;
  }
  if (distance && !same)
    l->status = sn_nearest_vertices(l->ctx, sn_mesh_points(bind), sn_mesh_points(&out->rest), nearest, distance);
  for (int i = 0; l->status == SN_OK && i < n; i++)
    if (distance[i] > limit) misplaced(l, bind, i, distance[i]);
  if (l->status == SN_OK) l->status = sn_skin_copy_rows(l->ctx, skin, nearest, n, skin->influences, &out->skin);
}

// The skeleton, bind mesh and skin of the first skeleton file.
static void read_first_skeleton(sn_loading *l, const sn_gltf *gltf) {
  SN_FREED_BY(sn_mesh_free) sn_mesh bind = {0};
  SN_FREED_BY(sn_skin_free) sn_skin skin = {0};
  l->status = sn_gltf_skeleton(l->ctx, gltf, &l->out->skeleton, &skin);
  if (l->status == SN_OK && skin.vertex_count > 0) l->status = sn_gltf_mesh(l->ctx, gltf, &bind);
  if (l->status == SN_OK) sn_adjust_rig(&l->options.adjust[SN_FILE_SKELETON], &bind, &l->out->skeleton);
  if (l->status == SN_OK && l->options.rest && bind.vertex_count > 0) place_skin(l, &bind, &skin);
}

bool sn_load_between(const sn_skeleton *ours, const sn_skeleton *theirs, int *partners, sn_affine *maps) {
  static const double slack = 1e-3; // relative to the extent of the skeleton
  double reach = 0, away = 0;
  for (int j = 0; j < ours->joint_count; j++) {
    int k = partners[j] = sn_skeleton_find_near(theirs, ours->names[j], j);
    sn_vec3 place = sn_affine_translation(ours->rest[j]);
    reach = fmax(reach, sn_vec3_distance(place, sn_affine_translation(ours->rest[0])));
    if (k >= 0) away = fmax(away, sn_vec3_distance(place, sn_affine_translation(theirs->rest[k])));
  }
  bool in_place = away <= slack * reach;
  for (int j = 0; j < ours->joint_count; j++) {
    sn_affine inverse;
    bool moved = !in_place && partners[j] >= 0 && sn_affine_invert(ours->rest[j], &inverse);
    maps[j] = moved ? sn_affine_mul(theirs->rest[partners[j]], inverse) : sn_affine_identity();
  }
  return in_place;
}

// Copies the poses of one clip, joints matched by name.
static void append_poses(sn_loading *l, int c, const sn_skeleton *skeleton, const sn_poses *poses) {
  const sn_skeleton *ours = &l->out->skeleton;
  SN_SCRATCH(scratch, l->ctx);
  int *partners = SN_TAKE(l, &scratch, int, ours->joint_count);
  sn_affine *maps = SN_TAKE(l, &scratch, sn_affine, ours->joint_count);
  if (maps) sn_load_between(ours, skeleton, partners, maps);
  for (int j = 0; maps && j < ours->joint_count; j++) {
    if (partners[j] < 0)
      sn_fail_once(l, SN_BAD_INPUT, "%s has no joint called '%s'", l->options.skeletons[c], ours->names[j]);
    for (int f = 0; f < poses->frame_count && l->status == SN_OK; f++)
      sn_pose(&l->out->poses, l->out->clip_start[c] + f)[j] = sn_affine_mul(sn_pose(poses, f)[partners[j]], maps[j]);
  }
}

// One pose per frame as a solver's initial guess: the file's static pose if it has no clip; a clip that is too short repeats its
// last pose.
static sn_status initial_poses(sn_context *ctx, const sn_gltf *gltf, int clip, const sn_choice *choice,
                               sn_poses *out) {
  SN_FREED_BY(sn_poses_free) sn_poses have = {0};
  int joint_count = out->joint_count, count = out->frame_count;
  if (clip >= 0) {
    SN_TRY(sn_gltf_poses(ctx, gltf, clip, choice, -1, &have));
  } else {
    SN_TRY(sn_poses_new(ctx, joint_count, 1, &have));
    SN_TRY(sn_gltf_pose(ctx, gltf, -1, 0, have.matrices));
    sn_adjust_matrices(&choice->adjust, have.matrices, (size_t)joint_count);
  }
  SN_TRY(sn_poses_new(ctx, joint_count, count, out));
  for (int f = 0; f < count; f++) {
    int from = f < have.frame_count ? f : have.frame_count - 1;
    memcpy(sn_pose(out, f), sn_pose(&have, from), (size_t)joint_count * sizeof(sn_affine));
  }
  return SN_OK;
}

// Drops the frames of clip c that lie before the first or after the last pose once `offset` shifts the clip. Returns how many it
// dropped at the beginning.
static int cut_frames(sn_loading *l, int c, double seconds) {
  const sn_load_options *options = &l->options;
  sn_examples *out = l->out;
  double fps = sn_load_rate(options, &out->frames), shift = options->adjust[SN_FILE_SKELETON].offset * fps,
         slack = 0.5;
  int count = out->clip_start[c + 1] - out->clip_start[c], first = 0, last = count;
  while (first < count && shift + first < -slack) first++;
  while (last > first && shift + last - 1 > seconds * fps + slack) last--;
  int gone = first + count - last, total = out->frames.frame_count;
  if (first == last)
    sn_fail_once(l, SN_BAD_INPUT, "`offset` skeleton=%g: its clip of %g s has no pose for any frame then",
                 options->adjust[SN_FILE_SKELETON].offset, seconds);
  if (gone == 0 || l->status != SN_OK) return first;
  sn_examples_note(l->ctx, out, "%s: %d of %d frames have no pose once those are shifted, and are left out",
                   options->frames[c], gone, count);
  if (out->clip_count == 1) {
    out->frames.positions += (size_t)first * (size_t)out->frames.vertex_count;
  } else { // several clips were joined by join_frames, so the memory is writable
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
  return first;
}

// Poses at the frames of clip c; of the whole clip if there are no frames.
static void read_poses(sn_loading *l, int c, const sn_gltf *gltf, sn_poses *poses) {
  const sn_load_options *options = &l->options;
  sn_examples *out = l->out;
  sn_choice choice = sn_load_choice(options, SN_FILE_SKELETON);
  bool framed = out->frames.frame_count > 0, still = options->still_skeleton && sn_gltf_clip_count(gltf) == 0;
  int clip = -1;
  if (!still) l->status = sn_gltf_find_clip(l->ctx, gltf, options->skeleton_clips[c], &clip);
  choice.fps = sn_load_rate(options, &out->frames);
  if (options->still_skeleton) {
    if (framed) poses->frame_count = out->clip_start[c + 1] - out->clip_start[c];
    if (l->status == SN_OK) l->status = initial_poses(l->ctx, gltf, framed ? clip : -1, &choice, poses);
    return;
  }
  if (l->status == SN_OK && framed && choice.adjust.offset != 0) {
    sn_clip_info info = sn_gltf_clip(gltf, clip);
    choice.adjust.offset += cut_frames(l, c, info.end - info.start) / choice.fps;
  }
  int count = framed ? out->clip_start[c + 1] - out->clip_start[c] : -1;
  if (l->status == SN_OK) l->status = sn_gltf_poses(l->ctx, gltf, clip, &choice, count, poses);
}

// The skeleton of clip c and its unmatched poses. The first file's skeleton becomes the examples' skeleton.
static void read_clip(sn_loading *l, int c, sn_skeleton *skeleton, sn_poses *poses) {
  const char *path = l->options.skeletons[c];
  if (!sn_is_document(path))
    sn_fail_once(
      l, SN_BAD_INPUT,
      "`skeleton` %s: not a file with joints; give the .glb, .gltf or .fbx that has the skeleton and its motion",
      path);
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf = sn_load_document(l, path);
  if (!gltf) return;
  if (c == 0) read_first_skeleton(l, gltf);
  if (l->status == SN_OK) l->status = sn_gltf_skeleton(l->ctx, gltf, skeleton, NULL);
  if (l->status == SN_OK) sn_adjust_rig(&l->options.adjust[SN_FILE_SKELETON], NULL, skeleton);
  poses->joint_count = skeleton->joint_count;
  if (l->status == SN_OK) read_poses(l, c, gltf, poses);
  sn_fail_name(l->ctx, l->status, path);
}

// Concatenates the clips' poses. Without frames, the clips are those of the poses.
static void join_poses(sn_loading *l, const sn_skeleton *skeletons, const sn_poses *parts) {
  sn_examples *out = l->out;
  int count = l->options.skeleton_count, total = 0;
  if (out->frames.frame_count == 0) {
    out->clip_start = SN_TAKE(l, &out->memory, int, count + 1);
    out->clip_count = count;
  }
  for (int c = 0; c < count && l->status == SN_OK; c++) {
    if (__builtin_add_overflow(total, parts[c].frame_count, &total)) sn_fail_once(l, SN_BAD_INPUT, "too many frames");
    out->clip_start[c + 1] = total;
  }
  if (l->status == SN_OK) l->status = sn_poses_new(l->ctx, out->skeleton.joint_count, total, &out->poses);
  for (int c = 0; c < count && l->status == SN_OK; c++) append_poses(l, c, &skeletons[c], &parts[c]);
}

void sn_load_skeletons(sn_loading *l) {
  int count = l->options.skeleton_count, frames = l->options.frames_count;
  if (frames > 0 && count != frames)
    sn_fail_once(l, SN_BAD_INPUT,
                 "%d clips of `frames` and %d of `skeleton`: they pair up in order, so give as many of each "
                 "(FILE#CLIP names a clip of a file)",
                 frames, count);
  SN_SCRATCH(scratch, l->ctx);
  sn_skeleton *skeletons = SN_TAKE(l, &scratch, sn_skeleton, count);
  sn_poses *parts = SN_TAKE(l, &scratch, sn_poses, count);
  for (int c = 0; l->status == SN_OK && c < count; c++) read_clip(l, c, &skeletons[c], &parts[c]);
  if (l->status == SN_OK) join_poses(l, skeletons, parts);
  for (int c = 0; parts && c < count; c++) {
    sn_skeleton_free(&skeletons[c]);
    sn_poses_free(&parts[c]);
  }
}
