// SPDX-License-Identifier: MIT
// glTF written and read back; the real files; documents kept; allocation failures.
#include "gltf_documents.h"

#include <jansson.h>
#include <sys/stat.h>

static const char *folder;

static const char *path_of(const char *name) {
  static char path[8][4200];
  static int next;
  char *out = path[next++ % 8];
  snprintf(out, sizeof *path, "%s/%s", folder, name);
  return out;
}

static int make_folder(void **state) {
  folder = getenv("SINEW_GLTF_OUT") ? getenv("SINEW_GLTF_OUT") : scratch_folder();
  return 0;
}

// ---- the real files ----------------------------------------------------------------------------------------------

// Skinning matrices at f/30 s against transforms.f32; joints by name, in the order of joints.txt. The largest difference.
static double compare_transforms(const char *set) {
  char name[128];
  snprintf(name, sizeof name, "%s/skeleton.glb", set);
  need_data(glb, name);
  snprintf(name, sizeof name, "%s/joints.txt", set);
  need_data(joints, name);
  snprintf(name, sizeof name, "%s/transforms.f32", set);
  need_data(matrices, name);
  sn_context ctx = sn_context_default();
  sn_gltf *gltf;
  sn_skeleton skeleton;
  sn_poses poses;
  sn_file raw;
  assert_ok(&ctx, sn_gltf_read(&ctx, glb, &gltf));
  assert_ok(&ctx, sn_gltf_skeleton(&ctx, gltf, &skeleton, NULL));
  assert_ok(&ctx, sn_gltf_poses(&ctx, gltf, 0, &(sn_choice){.fps = 30}, -1, &poses));
  assert_ok(&ctx, sn_file_open(&ctx, matrices, &raw));
  int n = skeleton.joint_count, row = 0;
  assert_int_equal(raw.size, (size_t)poses.frame_count * (size_t)n * 48);
  FILE *list = fopen(joints, "r");
  char line[512];
  double largest = 0;
  while (fgets(line, sizeof line, list)) {
    char joint[128];
    if (line[0] == '#' || sscanf(line, "%127s", joint) != 1) continue;
    int j = sn_skeleton_find(&skeleton, joint);
    assert_true(j >= 0);
    for (int f = 0; f < poses.frame_count; f++) {
      float expected[12];
      memcpy(expected, raw.bytes + ((size_t)f * (size_t)n + (size_t)row) * 48, 48);
      for (int k = 0; k < 12; k++) {
        largest = fmax(largest, fabs(sn_pose(&poses, f)[j].m[k / 4][k % 4] - expected[k]));
      }
    }
    row++;
  }
  fclose(list);
  assert_int_equal(row, n);
  sn_file_close(&raw);
  sn_poses_free(&poses);
  sn_skeleton_free(&skeleton);
  sn_gltf_free(gltf);
  return largest;
}

static void test_transforms(void **state) {
  static const char *const sets[] = {"cheburashka", "dembones-bone", "cylinder"};
  for (int k = 0; k < 3; k++) {
    double largest = compare_transforms(sets[k]);
    print_message("%s: skinning matrices differ from transforms.f32 by at most %.3g\n", sets[k], largest);
    assert_below(largest, 2e-6);
  }
}

static void test_blender_file(void **state) {
  need_data(glb, "cheburashka-pose/skeleton.glb");
  need_data(obj, "cheburashka-pose/rest.obj");
  sn_context ctx = sn_context_default();
  sn_gltf *gltf;
  sn_mesh mesh, rest;
  sn_skeleton skeleton;
  sn_skin skin;
  sn_poses poses;
  assert_ok(&ctx, sn_gltf_read(&ctx, glb, &gltf));
  assert_ok(&ctx, sn_gltf_mesh(&ctx, gltf, &mesh));
  assert_ok(&ctx, sn_obj_read(&ctx, obj, &rest, NULL));
  assert_int_equal(mesh.vertex_count, rest.vertex_count);
  assert_int_equal(mesh.triangle_count, rest.triangle_count);
  double largest = 0;
  for (int i = 0; i < mesh.vertex_count; i++) {
    for (int k = 0; k < 3; k++) largest = fmax(largest, fabs((double)mesh.positions[i][k] - rest.positions[i][k]));
  }
  print_message("cheburashka-pose: bind mesh and rest.obj differ by at most %.3g\n", largest);
  assert_below(largest, 1e-6);
  assert_ok(&ctx, sn_gltf_skeleton(&ctx, gltf, &skeleton, &skin));
  assert_int_equal(skeleton.joint_count, 11);
  assert_int_equal(skin.vertex_count, 6669);
  assert_ok(&ctx, sn_gltf_poses(&ctx, gltf, 0, &(sn_choice){.fps = 30}, -1, &poses));
  assert_int_equal(poses.frame_count, 80);
  sn_poses_free(&poses);
  assert_fails(&ctx, sn_gltf_poses(&ctx, gltf, 0, &(sn_choice){.fps = 30}, 90, &poses), "90 frames");
  sn_skin_free(&skin);
  sn_skeleton_free(&skeleton);
  sn_mesh_free(&mesh);
  sn_mesh_free(&rest);
  sn_gltf_free(gltf);
}

// ---- what is written comes back --------------------------------------------------------------------------------------

static sn_gltf_clip_out tube_clip(const tube *t, bool morphs) {
  return (sn_gltf_clip_out){.name = "walk",
                            .poses = &t->poses,
                            .frame_count = t->poses.frame_count,
                            .morph_weights = morphs ? t->morph_weights : NULL};
}

static sn_gltf_out tube_out(const tube *t, const sn_gltf_clip_out *clip, bool affine) {
  return (sn_gltf_out){.mesh = &t->mesh,
                       .colors = (const float(*)[3])t->colors,
                       .skeleton = &t->skeleton,
                       .skin = &t->skin,
                       .clip_count = 1,
                       .clips = clip,
                       .fps = 24,
                       .affine = affine};
}

static double weight_of(const sn_skin *skin, int i, int joint) {
  double sum = 0;
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)(i * skin->influences + k);
    if (skin->joints[at] == joint) sum += skin->weights[at];
  }
  return sum;
}

static void check_skeleton(sn_context *ctx, const sn_gltf *gltf, const tube *t, bool tree) {
  sn_skeleton skeleton;
  sn_skin skin;
  assert_ok(ctx, sn_gltf_skeleton(ctx, gltf, &skeleton, &skin));
  assert_int_equal(skeleton.joint_count, t->skeleton.joint_count);
  for (int j = 0; j < skeleton.joint_count; j++) {
    assert_string_equal(skeleton.names[j], t->skeleton.names[j]);
    if (tree) assert_int_equal(skeleton.parents[j], t->skeleton.parents[j]);
    assert_below(affine_difference(skeleton.rest[j], t->skeleton.rest[j]), 1e-6);
  }
  assert_int_equal(skin.vertex_count, t->skin.vertex_count);
  for (int i = 0; i < skin.vertex_count; i++) {
    for (int j = 0; j < skeleton.joint_count; j++)
      assert_near(weight_of(&skin, i, j), weight_of(&t->skin, i, j), 1e-6);
  }
  sn_skin_free(&skin);
  sn_skeleton_free(&skeleton);
}

static double pose_error(sn_context *ctx, const sn_gltf *gltf, const tube *t, double fps) {
  sn_poses poses;
  double largest = 0;
  assert_ok(ctx, sn_gltf_poses(ctx, gltf, 0, &(sn_choice){.fps = fps}, -1, &poses));
  assert_int_equal(poses.frame_count, t->poses.frame_count);
  for (int k = 0; k < poses.frame_count * poses.joint_count; k++) {
    largest = fmax(largest, affine_difference(poses.matrices[k], t->poses.matrices[k]));
  }
  sn_poses_free(&poses);
  return largest;
}

// Positions by the formula, in double: morph, then blend.
static sn_vec3 expected_position(const tube *t, int f, int i, bool morphs) {
  sn_vec3 p = sn_vec3_from(t->mesh.positions[i]), sum = {0, 0, 0};
  for (int m = 0; m < t->morph_count && morphs; m++) {
    p =
      sn_vec3_mad(p, sn_vec3_from(t->deltas[m * t->mesh.vertex_count + i]), t->morph_weights[f * t->morph_count + m]);
  }
  for (int k = 0; k < t->skin.influences; k++) {
    size_t at = (size_t)(i * t->skin.influences + k);
    sum = sn_vec3_mad(sum, sn_affine_apply(sn_pose(&t->poses, f)[t->skin.joints[at]], p), t->skin.weights[at]);
  }
  return sum;
}

static double deform_error(sn_context *ctx, const sn_gltf *gltf, const tube *t, double fps, bool morphs) {
  int n = t->mesh.vertex_count;
  float(*positions)[3] = calloc((size_t)n, sizeof *positions);
  double largest = 0;
  for (int f = 0; f < t->poses.frame_count; f++) {
    assert_ok(ctx, sn_gltf_deform(ctx, gltf, 0, f / fps, positions));
    for (int i = 0; i < n; i++) {
      largest = fmax(largest, sn_vec3_distance(sn_vec3_from(positions[i]), expected_position(t, f, i, morphs)));
    }
  }
  free(positions);
  return largest;
}

static void round_trip(const char *name, int joints, int influences, bool affine, bool morphs) {
  sn_context ctx = sn_context_default();
  tube t = tube_new(&ctx, joints, influences, 12, affine);
  sn_gltf_clip_out clip = tube_clip(&t, morphs);
  sn_gltf_out out = tube_out(&t, &clip, affine);
  if (morphs) out.morph_count = t.morph_count, out.morph_deltas = (const float(*)[3])t.deltas;
  assert_ok(&ctx, sn_gltf_write(&ctx, path_of(name), &out));
  sn_gltf *gltf;
  sn_mesh mesh;
  assert_ok(&ctx, sn_gltf_read(&ctx, path_of(name), &gltf));
  assert_ok(&ctx, sn_gltf_mesh(&ctx, gltf, &mesh));
  assert_memory_equal(mesh.positions, t.mesh.positions, (size_t)mesh.vertex_count * 12);
  assert_memory_equal(mesh.triangles, t.mesh.triangles, (size_t)mesh.triangle_count * 12);
  check_skeleton(&ctx, gltf, &t, !affine);
  int found;
  assert_ok(&ctx, sn_gltf_find_clip(&ctx, gltf, "walk", &found));
  double poses = pose_error(&ctx, gltf, &t, 24), deformed = deform_error(&ctx, gltf, &t, 24, morphs);
  print_message("%s: poses to %.2g, vertices to %.2g\n", name, poses, deformed);
  assert_below(poses, 4e-6);
  assert_below(deformed, 1e-5);
  sn_mesh_free(&mesh);
  sn_gltf_free(gltf);
  tube_free(&t);
}

static void test_round_trips(void **state) {
  round_trip("tree.glb", 7, 4, false, false);
  round_trip("tree8.gltf", 9, 8, false, true);
  round_trip("one joint, morphs.gltf", 1, 1, false, true);
  round_trip("many.glb", 300, 5, false, false);
  round_trip("affine.glb", 6, 4, true, false);
  round_trip("affine-morph.glb", 5, 8, true, true);
}

static void test_plain_files(void **state) {
  sn_context ctx = sn_context_default();
  tube t = tube_new(&ctx, 3, 2, 4, false);
  sn_gltf_out mesh_only = {.mesh = &t.mesh}, skeleton_only = {.skeleton = &t.skeleton};
  sn_gltf_clip_out clip = tube_clip(&t, false), morph = tube_clip(&t, true);
  morph.poses = NULL;
  assert_ok(&ctx, sn_gltf_write(&ctx, path_of("mesh.glb"), &mesh_only));
  skeleton_only.clips = &clip, skeleton_only.clip_count = 1, skeleton_only.fps = 30;
  assert_ok(&ctx, sn_gltf_write(&ctx, path_of("skeleton.glb"), &skeleton_only));
  mesh_only.clips = &morph, mesh_only.clip_count = 1, mesh_only.fps = 30;
  mesh_only.morph_count = t.morph_count, mesh_only.morph_deltas = (const float(*)[3])t.deltas;
  assert_ok(&ctx, sn_gltf_write(&ctx, path_of("morph.glb"), &mesh_only));
  sn_gltf *gltf;
  sn_skeleton skeleton;
  assert_ok(&ctx, sn_gltf_read(&ctx, path_of("skeleton.glb"), &gltf));
  assert_below(pose_error(&ctx, gltf, &t, 30), 4e-6);
  sn_gltf_free(gltf);
  assert_ok(&ctx, sn_gltf_read(&ctx, path_of("mesh.glb"), &gltf));
  assert_fails(&ctx, sn_gltf_skeleton(&ctx, gltf, &skeleton, NULL), "has no skin");
  int found;
  assert_fails(&ctx, sn_gltf_find_clip(&ctx, gltf, NULL, &found), "has no animation");
  sn_gltf_free(gltf);
  tube points = tube_new(&ctx, 3, 2, 4, false);
  points.mesh.triangle_count = 0;
  sn_gltf_out cloud = {.mesh = &points.mesh};
  assert_ok(&ctx, sn_gltf_write(&ctx, path_of("points.glb"), &cloud));
  tube_free(&points);
  tube_free(&t);
}

// Two clips of one list of poses, and the same bytes every time and at every thread count.
static void test_clips_and_bytes(void **state) {
  sn_context ctx = sn_context_default();
  tube t = tube_new(&ctx, 5, 4, 10, false);
  sn_gltf_clip_out clips[] = {{.name = "one", .poses = &t.poses, .frame_count = 4},
                              {.name = "two", .poses = &t.poses, .first_frame = 4, .frame_count = 6}};
  sn_gltf_out out = tube_out(&t, clips, false);
  out.clip_count = 2;
  sn_file first, second;
  assert_ok(&ctx, sn_gltf_write(&ctx, path_of("clips.glb"), &out));
  assert_ok(&ctx, sn_file_open(&ctx, path_of("clips.glb"), &first));
  ctx.threads = 3;
  assert_ok(&ctx, sn_gltf_write(&ctx, path_of("clips2.glb"), &out));
  assert_ok(&ctx, sn_file_open(&ctx, path_of("clips2.glb"), &second));
  assert_int_equal(first.size, second.size);
  assert_memory_equal(first.bytes, second.bytes, first.size);
  sn_file_close(&first);
  sn_file_close(&second);
  sn_gltf *gltf;
  assert_ok(&ctx, sn_gltf_read(&ctx, path_of("clips.glb"), &gltf));
  assert_int_equal(sn_gltf_clip_count(gltf), 2);
  int clip;
  assert_ok(&ctx, sn_gltf_find_clip(&ctx, gltf, "1", &clip));
  assert_string_equal(sn_gltf_clip(gltf, clip).name, "two");
  assert_near(sn_gltf_clip(gltf, clip).end, 5 / 24.0, 1e-6);
  assert_fails(&ctx, sn_gltf_find_clip(&ctx, gltf, "three", &clip), "it has 0 'one', 1 'two'");
  sn_affine pose[5];
  assert_ok(&ctx, sn_gltf_pose(&ctx, gltf, 1, 2 / 24.0, pose));
  for (int j = 0; j < 5; j++) assert_below(affine_difference(pose[j], sn_pose(&t.poses, 6)[j]), 4e-6);
  sn_gltf_free(gltf);
  tube_free(&t);
}

// Between keys a tracked decomposition stays near the motion: rigid bones and sheared ones.
static void test_affine_halfway(void **state) {
  sn_context ctx = sn_context_default();
  for (int rigid = 0; rigid < 2; rigid++) {
    tube t = tube_new(&ctx, 4, 4, 40, !rigid);
    for (int f = 0; f < 40; f++) { // smooth motion, small steps
      for (int j = 0; j < 4; j++) {
        double angle = 0.05 * f * (j + 1);
        sn_mat3 r = sn_rotation_exp(sn_vec3_make(angle, 0.2 * angle, 0.5));
        sn_mat3 p = {{{1.5 + 0.2 * sin(angle), 0.1 * angle, 0}, {0.1 * angle, 1, 0}, {0, 0, 0.7}}};
        sn_pose(&t.poses, f)[j] = sn_affine_make(rigid ? r : sn_mat3_mul(r, p), sn_vec3_make(angle, 0, 1));
      }
    }
    sn_gltf_clip_out clip = tube_clip(&t, false);
    sn_gltf_out out = tube_out(&t, &clip, true);
    const char *name = rigid ? "affine-rigid.glb" : "affine-shear.glb";
    assert_ok(&ctx, sn_gltf_write(&ctx, path_of(name), &out));
    sn_gltf *gltf;
    assert_ok(&ctx, sn_gltf_read(&ctx, path_of(name), &gltf));
    assert_below(pose_error(&ctx, gltf, &t, 24), 4e-6);
    double largest = 0;
    for (int f = 0; f + 1 < 40; f++) {
      sn_affine pose[4];
      assert_ok(&ctx, sn_gltf_pose(&ctx, gltf, 0, (f + 0.5) / 24, pose));
      for (int j = 0; j < 4; j++) {
        for (int k = 0; k < 12; k++) {
          double a = sn_pose(&t.poses, f)[j].m[k / 4][k % 4], b = sn_pose(&t.poses, f + 1)[j].m[k / 4][k % 4];
          largest = fmax(largest, fabs(pose[j].m[k / 4][k % 4] - 0.5 * (a + b)));
        }
      }
    }
    print_message("%s: half-way between keys %.3g from the mean of the matrices\n", name, largest);
    assert_below(largest, 0.02);
    sn_gltf_free(gltf);
    tube_free(&t);
  }
}

static void test_refusals(void **state) {
  sn_context ctx = sn_context_default();
  tube t = tube_new(&ctx, 4, 4, 5, true);
  sn_gltf_clip_out clip = tube_clip(&t, false);
  sn_gltf_out out = tube_out(&t, &clip, false);
  assert_fails(&ctx, sn_gltf_write(&ctx, path_of("no.glb"), &out),
               "write it with two nodes per joint (affine) or as .pc2");
  out.affine = true;
  assert_fails(&ctx, sn_gltf_write(&ctx, path_of("no.obj"), &out), "written as .glb or .gltf");
  assert_fails(&ctx, sn_gltf_write(&ctx, path_of("none/no.glb"), &out), "cannot write");
  assert_fails(&ctx, sn_gltf_write(&ctx, "/dev/full/no.glb", &out), "cannot write");
  clip.frame_count = 6;
  assert_fails(&ctx, sn_gltf_write(&ctx, path_of("no.glb"), &out), "do not exist");
  clip.frame_count = 5, out.fps = 0;
  assert_fails(&ctx, sn_gltf_write(&ctx, path_of("no.glb"), &out), "frames per second");
  out.fps = 24, t.skin.joints[5] = 9;
  assert_fails(&ctx, sn_gltf_write(&ctx, path_of("no.glb"), &out), "follows joint 9 of 4");
  t.skin.joints[5] = 0, t.mesh.positions[3][1] = NAN;
  assert_fails(&ctx, sn_gltf_write(&ctx, path_of("no.glb"), &out), "no.glb");
  assert_int_equal(access(path_of("no.glb"), F_OK), -1);
  tube_free(&t);
}

// ---- documents kept ------------------------------------------------------------------------------------------------------

static json_t *json_of(const char *path) {
  sn_context ctx = sn_context_default();
  sn_file file;
  assert_ok(&ctx, sn_file_open(&ctx, path, &file));
  uint32_t length = 0;
  for (int k = 3; k >= 0; k--) length = length << 8 | file.bytes[12 + k];
  json_t *json = json_loadb((const char *)file.bytes + 20, length, 0, NULL);
  assert_non_null(json);
  sn_file_close(&file);
  return json;
}

static void same_entry(const json_t *a, const json_t *b, const char *key) {
  if (!json_equal(json_object_get(a, key), json_object_get(b, key))) fail_msg("'%s' did not survive", key);
}

// The bytes an accessor's view begins with, of a GLB.
static const uint8_t *view_bytes(const sn_file *glb, const json_t *json, json_int_t view) {
  const json_t *entry = json_array_get(json_object_get(json, "bufferViews"), (size_t)view);
  uint32_t length = 0;
  for (int k = 3; k >= 0; k--) length = length << 8 | glb->bytes[12 + k];
  return glb->bytes + 28 + length + json_integer_value(json_object_get(entry, "byteOffset"));
}

static void test_keep(void **state) {
  sn_context ctx = sn_context_default();
  size_t size;
  uint8_t *glb = make_keep_glb(&size);
  sn_writer writer;
  assert_ok(&ctx, sn_writer_open(&ctx, path_of("base.glb"), &writer));
  sn_write(&writer, glb, size);
  assert_ok(&ctx, sn_writer_commit(&ctx, &writer));
  free(glb);
  sn_gltf *base, *kept;
  sn_mesh flat, again;
  assert_ok(&ctx, sn_gltf_read(&ctx, path_of("base.glb"), &base));
  assert_ok(&ctx, sn_gltf_mesh(&ctx, base, &flat));
  assert_int_equal(sn_gltf_count(base).parts, 2); // the lines are no part
  // node 1: scale x by 2, rotate about z by 90 degrees, then (0,2,0) and (1,0,0)
  assert_near(flat.positions[5][0], 1, 1e-6);
  assert_near(flat.positions[5][1], 4, 1e-6);
  tube t = tube_new(&ctx, 3, 6, 8, false);
  sn_skin skin;
  assert_ok(&ctx, sn_skin_new(&ctx, 8, 6, &skin));
  memcpy(skin.joints, t.skin.joints, 8 * 6 * sizeof *skin.joints);
  memcpy(skin.weights, t.skin.weights, 8 * 6 * sizeof *skin.weights);
  sn_gltf_clip_out clip = tube_clip(&t, false);
  sn_gltf_out out = {
    .base = base, .mesh = &flat, .skeleton = &t.skeleton, .skin = &skin, .clip_count = 1, .clips = &clip, .fps = 30};
  assert_ok(&ctx, sn_gltf_write(&ctx, path_of("kept.glb"), &out));
  assert_ok(&ctx, sn_gltf_read(&ctx, path_of("kept.glb"), &kept));
  assert_ok(&ctx, sn_gltf_mesh(&ctx, kept, &again));
  assert_int_equal(again.vertex_count, 8);
  for (int i = 0; i < 24; i++) assert_near(again.positions[i / 3][i % 3], flat.positions[i / 3][i % 3], 1e-6);
  assert_below(pose_error(&ctx, kept, &t, 30), 4e-6);
  json_t *old = json_of(path_of("base.glb")), *new = json_of(path_of("kept.glb"));
  static const char *const keys[] = {"materials", "textures",   "samplers",      "images",
                                     "cameras",   "extensions", "extensionsUsed"};
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) same_entry(old, new, keys[k]);
  same_entry(json_object_get(old, "asset"), json_object_get(new, "asset"), "extras");
  same_entry(json_object_get(old, "asset"), json_object_get(new, "asset"), "copyright");
  const json_t *mesh = json_array_get(json_object_get(new, "meshes"), 0);
  const json_t *primitive = json_array_get(json_object_get(mesh, "primitives"), 0);
  const json_t *old_mesh = json_array_get(json_object_get(old, "meshes"), 0);
  const json_t *old_primitive = json_array_get(json_object_get(old_mesh, "primitives"), 0);
  same_entry(old_mesh, mesh, "extras");
  same_entry(old_primitive, primitive, "extensions");
  same_entry(old_primitive, primitive, "targets");
  same_entry(old_primitive, primitive, "material");
  static const char *const attributes[] = {"POSITION", "NORMAL", "TEXCOORD_0", "_HEAT"};
  for (size_t k = 0; k < 4; k++) {
    same_entry(json_object_get(old_primitive, "attributes"), json_object_get(primitive, "attributes"), attributes[k]);
  }
  assert_null(
    json_object_get(json_object_get(primitive, "attributes"), "JOINTS_1")); // three joints: it would be empty
  const json_t *group = json_array_get(json_object_get(new, "nodes"), 0);
  same_entry(json_array_get(json_object_get(old, "nodes"), 0), group, "extras");
  sn_file a, b;
  assert_ok(&ctx, sn_file_open(&ctx, path_of("base.glb"), &a));
  assert_ok(&ctx, sn_file_open(&ctx, path_of("kept.glb"), &b));
  assert_memory_equal(view_bytes(&a, old, 6), view_bytes(&b, new, 6), 67); // the image
  assert_memory_equal(view_bytes(&a, old, 2), view_bytes(&b, new, 2), 32); // the UVs
  sn_file_close(&a);
  sn_file_close(&b);
  json_decref(old);
  json_decref(new);

  // Once more over its own output: the joints are found by name and their nodes are used again.
  out.base = kept, out.mesh = NULL;
  assert_ok(&ctx, sn_gltf_write(&ctx, path_of("kept twice.gltf"), &out));
  sn_gltf *twice;
  assert_ok(&ctx, sn_gltf_read(&ctx, path_of("kept twice.gltf"), &twice));
  assert_below(pose_error(&ctx, twice, &t, 30), 4e-6);
  json_t *text = json_load_file(path_of("kept twice.gltf"), 0, NULL);
  new = json_of(path_of("kept.glb"));
  assert_int_equal(json_array_size(json_object_get(text, "nodes")), json_array_size(json_object_get(new, "nodes")));
  json_decref(text);
  json_decref(new);

  // As it is, into the other container.
  sn_gltf_out copy = {.base = twice};
  assert_ok(&ctx, sn_gltf_write(&ctx, path_of("copy.glb"), &copy));
  sn_gltf_free(twice);
  assert_ok(&ctx, sn_gltf_read(&ctx, path_of("copy.glb"), &twice));
  assert_below(pose_error(&ctx, twice, &t, 30), 4e-6);
  out = (sn_gltf_out){.base = twice, .mesh = &t.mesh, .skeleton = &t.skeleton, .skin = &t.skin};
  assert_fails(&ctx, sn_gltf_write(&ctx, path_of("no.glb"), &out), "has 8 vertices, the mesh to write 72");
  sn_gltf_free(twice);
  sn_gltf_free(kept);
  sn_gltf_free(base);
  sn_skin_free(&skin);
  sn_mesh_free(&flat);
  sn_mesh_free(&again);
  tube_free(&t);
}

static void write_text(sn_context *ctx, const char *path, const char *text, size_t size) {
  sn_writer writer;
  assert_ok(ctx, sn_writer_open(ctx, path, &writer));
  sn_write(&writer, text, size);
  assert_ok(ctx, sn_writer_commit(ctx, &writer));
}

// Images beside the document come along, those that are nowhere keep their address; overlapping views stay whole.
static void test_copy_takes_images(void **state) {
  sn_context ctx = sn_context_default();
  char *json =
    quoted("{'asset':{'version':'2.0'},'nodes':[{'mesh':0}],'meshes':[{'primitives':[{'attributes':{'POSITION':0}},"
           "{'attributes':{'POSITION':1}}]}],'images':[{'uri':'a%20dot.png'},{'uri':'gone.png'}],"
           "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3','min':[0,0,0],'max':[0,0,0]},"
           "{'bufferView':1,'componentType':5126,'count':3,'type':'VEC3','min':[0,0,0],'max':[0,0,0]}],"
           "'bufferViews':[{'buffer':0,'byteLength':36},{'buffer':0,'byteLength':36}],"
           "'buffers':[{'byteLength':36,'name':'zeros','uri':'data:application/octet-stream;base64,"
           "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'}]}");
  write_text(&ctx, path_of("a dot.png"), "\x89PNG", 4);
  write_text(&ctx, path_of("images.gltf"), json, strlen(json));
  free(json);
  sn_gltf *gltf;
  assert_ok(&ctx, sn_gltf_read(&ctx, path_of("images.gltf"), &gltf));
  sn_gltf_out out = {.base = gltf};
  char copy[4300];
  snprintf(copy, sizeof copy, "%s/images-copy", folder);
  assert_ok(&ctx, sn_make_folder(&ctx, copy));
  strcat(copy, "/copy.glb");
  assert_ok(&ctx, sn_gltf_write(&ctx, copy, &out));
  sn_gltf_free(gltf);
  json_t *text = json_of(copy), *images = json_object_get(text, "images");
  assert_string_equal(json_string_value(json_object_get(json_array_get(images, 0), "mimeType")), "image/png");
  assert_null(json_object_get(json_array_get(images, 0), "uri"));
  assert_string_equal(json_string_value(json_object_get(json_array_get(images, 1), "uri")), "gone.png");
  json_t *views = json_object_get(text, "bufferViews");
  assert_true(json_equal(json_array_get(views, 0), json_array_get(views, 1)));
  sn_file file;
  assert_ok(&ctx, sn_file_open(&ctx, copy, &file));
  assert_memory_equal(view_bytes(&file, text, 2), "\x89PNG", 4);
  sn_file_close(&file);
  json_decref(text);
  assert_ok(&ctx, sn_gltf_read(&ctx, copy, &gltf));
  sn_mesh mesh;
  assert_ok(&ctx, sn_gltf_mesh(&ctx, gltf, &mesh));
  assert_int_equal(mesh.vertex_count, 6);
  sn_mesh_free(&mesh);
  sn_gltf_free(gltf);
  unlink(path_of("images.gltf")); // its image is no image: not for the validator
}

// The real rig, with weights of our own choosing, on its own nodes and with new ones.
static void test_keep_real(void **state) {
  need_data(glb, "cheburashka-pose/skeleton.glb");
  sn_context ctx = sn_context_default();
  sn_gltf *base, *kept;
  tube t = {0};
  assert_ok(&ctx, sn_gltf_read(&ctx, glb, &base));
  assert_ok(&ctx, sn_gltf_skeleton(&ctx, base, &t.skeleton, &t.skin));
  assert_ok(&ctx, sn_gltf_poses(&ctx, base, 0, &(sn_choice){.fps = 30}, -1, &t.poses));
  assert_ok(&ctx, sn_gltf_mesh(&ctx, base, &t.mesh));
  sn_gltf_clip_out clip = {.name = "again", .poses = &t.poses, .frame_count = t.poses.frame_count};
  sn_gltf_out out = {.base = base,
                     .mesh = &t.mesh,
                     .skeleton = &t.skeleton,
                     .skin = &t.skin,
                     .clip_count = 1,
                     .clips = &clip,
                     .fps = 30};
  struct stat before, after;
  for (int affine = 0; affine < 2; affine++) {
    out.affine = affine;
    const char *path = path_of(affine ? "real-affine.glb" : "real.glb");
    assert_ok(&ctx, sn_gltf_write(&ctx, path, &out));
    assert_ok(&ctx, sn_gltf_read(&ctx, path, &kept));
    double poses = pose_error(&ctx, kept, &t, 30), vertices = deform_error(&ctx, kept, &t, 30, false);
    print_message("cheburashka-pose rewritten%s: poses to %.2g, vertices to %.2g\n", affine ? " affine" : "", poses,
                  vertices);
    assert_below(poses, 2e-6);
    assert_below(vertices, 2e-6);
    if (!affine) check_skeleton(&ctx, kept, &t, true);
    sn_gltf_free(kept);
    assert_int_equal(stat(glb, &before), 0);
    assert_int_equal(stat(path, &after), 0);
    if (!affine)
      assert_below((double)after.st_size, 1.3 * (double)before.st_size); // the old clip is not carried along
  }
  sn_gltf_free(base);
  tube_free(&t);
}

// ---- memory ------------------------------------------------------------------------------------------------------------------

static sn_status use_everything(sn_context *ctx, const tube *t, const uint8_t *glb, size_t size) {
  sn_gltf *base = NULL;
  sn_mesh mesh = {0};
  sn_skeleton skeleton = {0};
  sn_skin skin = {0};
  sn_poses poses = {0};
  float positions[8][3];
  sn_gltf_clip_out clip = tube_clip(t, true);
  sn_gltf_out out = tube_out(t, &clip, false);
  out.morph_count = t->morph_count, out.morph_deltas = (const float(*)[3])t->deltas;
  sn_status status = sn_gltf_write(ctx, path_of("memory.glb"), &out);
  if (status == SN_OK) status = sn_gltf_parse(ctx, "base", glb, size, NULL, &base);
  if (status == SN_OK) status = sn_gltf_mesh(ctx, base, &mesh);
  if (status == SN_OK) status = sn_gltf_deform(ctx, base, -1, 0, positions);
  sn_skin few = {
    .vertex_count = 8, .influences = t->skin.influences, .joints = t->skin.joints, .weights = t->skin.weights};
  out.base = base, out.mesh = NULL, out.skin = &few, out.colors = NULL, out.morph_count = 0,
  clip.morph_weights = NULL;
  if (status == SN_OK) status = sn_gltf_write(ctx, path_of("memory.gltf"), &out);
  sn_gltf_free(base);
  base = NULL;
  if (status == SN_OK) status = sn_gltf_read(ctx, path_of("memory.gltf"), &base);
  if (status == SN_OK) status = sn_gltf_skeleton(ctx, base, &skeleton, &skin);
  if (status == SN_OK) status = sn_gltf_poses(ctx, base, 0, &(sn_choice){.fps = 24}, -1, &poses);
  sn_poses_free(&poses);
  sn_skin_free(&skin);
  sn_skeleton_free(&skeleton);
  sn_mesh_free(&mesh);
  sn_gltf_free(base);
  return status;
}

static void test_allocation_failures(void **state) {
  sn_context plain = sn_context_default();
  tube t = tube_new(&plain, 3, 6, 3, false);
  size_t size;
  uint8_t *glb = make_keep_glb(&size);
  starvation s = {0};
  while (starve(&s)) s.status = use_everything(&s.ctx, &t, glb, size);
  assert_true(s.n > 50);
  free(glb);
  tube_free(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_transforms),
    cmocka_unit_test(test_blender_file),
    cmocka_unit_test(test_round_trips),
    cmocka_unit_test(test_plain_files),
    cmocka_unit_test(test_clips_and_bytes),
    cmocka_unit_test(test_affine_halfway),
    cmocka_unit_test(test_refusals),
    cmocka_unit_test(test_keep),
    cmocka_unit_test(test_copy_takes_images),
    cmocka_unit_test(test_keep_real),
    cmocka_unit_test(test_allocation_failures),
  };
  return cmocka_run_group_tests(tests, make_folder, NULL);
}
