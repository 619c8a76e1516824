// SPDX-License-Identifier: MIT
// Examples from files: orders, seams, clips, controls, and what does not fit together.
#include "check.h"

#include "lab/gen/gen.h"
#include "sinew/examples.h"

enum { side = 12, vertices = side * side, frames_in_set = 6 };

static char folder[4096];

static const char *scratch(const char *name) {
  static char paths[16][8192];
  static int next;
  char *path = paths[next++ % 16];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

// ---- a sheet that two joints bend -----------------------------------------------------------------------------------

typedef struct sheet {
  sn_mesh mesh;
  sn_frames frames;
  sn_skeleton skeleton;
  sn_skin skin;
  sn_poses poses;
} sheet;

static void sheet_mesh(sn_context *ctx, sn_mesh *mesh) {
  assert_ok(ctx, sn_mesh_new(ctx, vertices, 2 * (side - 1) * (side - 1), mesh));
  int t = 0;
  for (int i = 0; i < vertices; i++) {
    int x = i % side, y = i / side;
    sn_vec3_store(sn_vec3_make(x * 0.1, y * 0.1, 0.01 * ((x * 7 + y * 3) % 5)), mesh->positions[i]);
    if (x == side - 1 || y == side - 1) continue;
    int lower[3] = {i, i + 1, i + side + 1}, upper[3] = {i, i + side + 1, i + side};
    memcpy(mesh->triangles[t++], lower, sizeof lower);
    memcpy(mesh->triangles[t++], upper, sizeof upper);
  }
}

static void sheet_motion(sn_context *ctx, sheet *s, double speed) {
  assert_ok(ctx, sn_poses_new(ctx, 2, frames_in_set, &s->poses));
  assert_ok(ctx, sn_frames_new(ctx, vertices, frames_in_set, &s->frames));
  for (int f = 0; f < frames_in_set; f++) {
    sn_pose(&s->poses, f)[1] =
      sn_affine_about(sn_rotation_exp(sn_vec3_make(0, speed * f, 0)), sn_vec3_make(0.5, 0, 0));
    for (int i = 0; i < vertices; i++) {
      sn_vec3 rest = sn_vec3_from(s->mesh.positions[i]), sum = {0, 0, 0};
      for (int k = 0; k < 2; k++) {
        sn_affine m = sn_pose(&s->poses, f)[s->skin.joints[2 * i + k]];
        sum = sn_vec3_mad(sum, sn_affine_apply(m, rest), s->skin.weights[2 * i + k]);
      }
      sn_vec3_store(sum, sn_frame_mutable(&s->frames, f)[i]);
    }
  }
}

static sheet make_sheet(sn_context *ctx, double speed) {
  sheet s = {0};
  sheet_mesh(ctx, &s.mesh);
  assert_ok(ctx, sn_skeleton_new(ctx, 2, &s.skeleton));
  s.skeleton.names[0] = sn_arena_text(ctx, &s.skeleton.memory, "hips");
  s.skeleton.names[1] = sn_arena_text(ctx, &s.skeleton.memory, "spine");
  s.skeleton.parents[1] = 0;
  s.skeleton.rest[1] = sn_affine_make(sn_mat3_identity(), sn_vec3_make(0.5, 0, 0));
  assert_ok(ctx, sn_skeleton_sort(ctx, &s.skeleton));
  assert_ok(ctx, sn_skin_new(ctx, vertices, 2, &s.skin));
  for (int i = 0; i < vertices; i++) {
    float w = (float)(i % side) / (side - 1);
    s.skin.joints[2 * i + 1] = 1, s.skin.weights[2 * i] = 1 - w, s.skin.weights[2 * i + 1] = w;
  }
  sn_skin_normalize(&s.skin);
  sheet_motion(ctx, &s, speed);
  return s;
}

static void free_sheet(sheet *s) {
  sn_mesh_free(&s->mesh);
  sn_frames_free(&s->frames);
  sn_skeleton_free(&s->skeleton);
  sn_skin_free(&s->skin);
  sn_poses_free(&s->poses);
}

static sn_skeleton copy_skeleton(sn_context *ctx, const sn_skeleton *skeleton) {
  sn_skeleton out;
  assert_ok(ctx, sn_skeleton_new(ctx, skeleton->joint_count, &out));
  for (int j = 0; j < skeleton->joint_count; j++) {
    out.names[j] = sn_arena_text(ctx, &out.memory, skeleton->names[j]);
    out.parents[j] = skeleton->parents[j], out.rest[j] = skeleton->rest[j], out.order[j] = skeleton->order[j];
  }
  return out;
}

// The sheet with vertex order[i] in place i.
static void reorder(sn_context *ctx, const sheet *s, const int *order, int count, sheet *out) {
  *out = (sheet){0};
  int first[vertices];
  for (int k = count - 1; k >= 0; k--) first[order[k]] = k;
  assert_ok(ctx, sn_mesh_new(ctx, count, s->mesh.triangle_count, &out->mesh));
  assert_ok(ctx, sn_frames_new(ctx, count, s->frames.frame_count, &out->frames));
  assert_ok(ctx, sn_skin_new(ctx, count, 2, &out->skin));
  out->skeleton = copy_skeleton(ctx, &s->skeleton);
  assert_ok(ctx, sn_poses_new(ctx, 2, s->poses.frame_count, &out->poses));
  memcpy(out->poses.matrices, s->poses.matrices, 2 * (size_t)s->poses.frame_count * sizeof *s->poses.matrices);
  for (int k = 0; k < count; k++) {
    memcpy(out->mesh.positions[k], s->mesh.positions[order[k]], sizeof *s->mesh.positions);
    memcpy(out->skin.joints + 2 * k, s->skin.joints + 2 * order[k], 2 * sizeof *s->skin.joints);
    memcpy(out->skin.weights + 2 * k, s->skin.weights + 2 * order[k], 2 * sizeof *s->skin.weights);
    for (int f = 0; f < s->frames.frame_count; f++) {
      memcpy(sn_frame_mutable(&out->frames, f)[k], sn_frame(&s->frames, f)[order[k]], 12);
    }
  }
  for (int t = 0; t < s->mesh.triangle_count; t++)
    for (int c = 0; c < 3; c++) out->mesh.triangles[t][c] = first[s->mesh.triangles[t][c]];
}

static void write_glb(sn_context *ctx, const char *path, const sheet *s, int frame_count) {
  sn_gltf_clip_out clip = {.name = "bend", .poses = &s->poses, .frame_count = frame_count};
  sn_gltf_out what = {
    .mesh = &s->mesh, .skeleton = &s->skeleton, .skin = &s->skin, .clip_count = 1, .clips = &clip, .fps = 30};
  assert_ok(ctx, sn_gltf_write(ctx, path, &what));
}

static void write_sheet(sn_context *ctx, const char *name, const sheet *s) {
  char file[256];
  snprintf(file, sizeof file, "%s.obj", name);
  assert_ok(ctx, sn_obj_write(ctx, scratch(file), &s->mesh, (const float(*)[3])s->mesh.positions, NULL));
  snprintf(file, sizeof file, "%s.pc2", name);
  assert_ok(ctx, sn_frames_write(ctx, scratch(file), &s->frames, NULL));
  snprintf(file, sizeof file, "%s.glb", name);
  write_glb(ctx, scratch(file), s, frames_in_set);
}

static void write_text(const char *path, const char *text) {
  sn_context ctx = sn_context_default();
  sn_writer writer;
  assert_ok(&ctx, sn_writer_open(&ctx, path, &writer));
  sn_writef(&writer, "%s", text);
  assert_ok(&ctx, sn_writer_commit(&ctx, &writer));
}

// Writes the sets that the tests read: plain (and fast, the same bending faster), shuffled (another vertex order), split (a
// seam down the middle).
static int write_sets(void **state) {
  sn_context ctx = sn_context_default();
  snprintf(folder, sizeof folder, "%s", scratch_folder());
  sheet plain = make_sheet(&ctx, 0.2), fast = make_sheet(&ctx, 0.3), shuffled, split;
  int order[vertices + side];
  sn_random rng = sn_random_new(1);
  for (int i = 0; i < vertices; i++) order[i] = i;
  for (int i = vertices - 1; i > 0; i--) {
    int other = sn_random_below(&rng, i + 1), keep = order[i];
    order[i] = order[other], order[other] = keep;
  }
  reorder(&ctx, &plain, order, vertices, &shuffled);
  // The seam: each vertex of column 5 once more, right behind the first; triangles to its right use the second.
  int count = 0, second[vertices];
  for (int i = 0; i < vertices; i++) {
    order[count] = i, second[i] = count++;
    if (i % side == 5) order[count] = i, second[i] = count++;
  }
  reorder(&ctx, &plain, order, count, &split);
  for (int t = 0; t < plain.mesh.triangle_count; t++)
    for (int c = 0; c < 3; c++) {
      int lowest = side;
      for (int k = 0; k < 3; k++)
        lowest = plain.mesh.triangles[t][k] % side < lowest ? plain.mesh.triangles[t][k] % side : lowest;
      if (lowest >= 5) split.mesh.triangles[t][c] = second[plain.mesh.triangles[t][c]];
    }
  write_sheet(&ctx, "plain", &plain);
  write_sheet(&ctx, "fast", &fast);
  write_sheet(&ctx, "shuffled", &shuffled);
  write_sheet(&ctx, "split", &split);
  write_glb(&ctx, scratch("short.glb"), &plain, 3);
  write_text(scratch("torque.csv"), "frame,spine\n0,0\n1,1\n2,2\n3,3\n4,4\n5,5\n");
  write_text(scratch("three.csv"), "frame,spine\n0,0\n1,1\n2,2\n");
  write_text(scratch("controls.txt"), "# corners\n0 11\r\n132,143 # the last\n");
  free_sheet(&plain);
  free_sheet(&fast);
  free_sheet(&shuffled);
  free_sheet(&split);
  return 0;
}

// ---- loading --------------------------------------------------------------------------------------------------------------

// One set; names without a folder, NULL for absent parts.
static sn_status load(sn_context *ctx, const char *rest, const char *frames, const char *skeleton, sn_examples *out) {
  sn_load_options options = sn_load_options_default();
  const char *frames_path = frames ? scratch(frames) : NULL, *skeleton_path = skeleton ? scratch(skeleton) : NULL;
  options.rest = rest ? scratch(rest) : NULL;
  options.frames_count = frames != NULL, options.frames = &frames_path;
  options.skeleton_count = skeleton != NULL, options.skeletons = &skeleton_path;
  return sn_examples_load(ctx, &options, out);
}

// The loaded set is the sheet, in its own order.
static void expect_sheet(sn_context *ctx, const sn_examples *e, bool frames, bool skeleton) {
  sheet s = make_sheet(ctx, 0.2);
  assert_int_equal(e->rest.vertex_count, vertices);
  assert_memory_equal(e->rest.positions, s.mesh.positions, vertices * sizeof *s.mesh.positions);
  assert_memory_equal(e->rest.triangles, s.mesh.triangles, (size_t)s.mesh.triangle_count * sizeof *s.mesh.triangles);
  if (frames) {
    assert_int_equal(e->frames.frame_count, frames_in_set);
    assert_memory_equal(e->frames.positions, s.frames.positions,
                        vertices * frames_in_set * sizeof *s.frames.positions);
  }
  if (skeleton) {
    assert_int_equal(e->skeleton.joint_count, 2);
    assert_string_equal(e->skeleton.names[1], "spine");
    for (int k = 0; k < 2 * frames_in_set; k++)
      for (int c = 0; c < 12; c++) {
        assert_near(e->poses.matrices[k].m[c / 4][c % 4], s.poses.matrices[k].m[c / 4][c % 4], 1e-6);
      }
    for (int i = 0; i < vertices; i++)
      for (int k = 0; k < 2; k++) {
        double found = 0, expected = 0;
        for (int x = 0; x < e->skin.influences; x++) {
          int at = i * e->skin.influences + x;
          if (e->skin.joints[at] == k) found += e->skin.weights[at];
        }
        for (int x = 0; x < 2; x++)
          if (s.skin.joints[2 * i + x] == k) expected += s.skin.weights[2 * i + x];
        assert_near(found, expected, 1e-6);
      }
  }
  free_sheet(&s);
}

static void test_plain(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  assert_ok(&ctx, load(&ctx, "plain.obj", "plain.pc2", "plain.glb", &e));
  expect_sheet(&ctx, &e, true, true);
  assert_null(e.source);
  assert_non_null(e.frames.file.bytes); // still the file as it was read
  assert_int_equal(e.clip_count, 1);
  assert_true(e.clip_start[0] == 0 && e.clip_start[1] == frames_in_set);
  sn_examples_free(&e);
  assert_ok(&ctx, load(&ctx, "plain.obj", NULL, "plain.glb", &e)); // poses alone
  assert_int_equal(e.poses.frame_count, frames_in_set);
  sn_examples_free(&e);
  // Frames from an animated GLB are its own skinning.
  assert_ok(&ctx, load(&ctx, "plain.obj", "plain.glb", NULL, &e));
  sheet s = make_sheet(&ctx, 0.2);
  for (int k = 0; k < vertices * frames_in_set; k++) {
    assert_below(sn_vec3_distance(sn_vec3_from(e.frames.positions[k]), sn_vec3_from(s.frames.positions[k])), 1e-5);
  }
  free_sheet(&s);
  sn_examples_free(&e);
}

static void test_missing_and_mismatched(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  assert_fails(&ctx, load(&ctx, NULL, "plain.pc2", NULL, &e), "a rest mesh is needed: `rest` FILE");
  assert_fails(&ctx, load(&ctx, "absent.obj", NULL, NULL, &e), "absent.obj: ");
  assert_fails(&ctx, load(&ctx, "controls.txt", NULL, NULL, &e), "a mesh comes as .obj, .abc, .glb, .gltf or .fbx");
  assert_fails(&ctx, load(&ctx, "plain.obj", "absent.pc2", NULL, &e), "absent.pc2: ");
  assert_fails(&ctx, load(&ctx, "plain.obj", "split.pc2", NULL, &e), "split.pc2 has 156 vertices, but ");
  assert_non_null(strstr(ctx.error.message, "give `match` FILE"));
  assert_null(e.rest.positions);
  assert_fails(&ctx, load(&ctx, "plain.obj", "plain.pc2", "short.glb", &e), "short.glb");
  assert_fails(&ctx, load(&ctx, "plain.obj", "plain.pc2", "torque.csv", &e), "torque.csv");
}

// ---- vertex orders --------------------------------------------------------------------------------------------------------

static void test_wrong_order_is_noticed(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  assert_fails(&ctx, load(&ctx, "plain.obj", "shuffled.pc2", NULL, &e), "the vertices seem to be in another order");
  assert_non_null(strstr(ctx.error.message, "`match`"));
}

static void test_match(void **state) {
  sn_context ctx = sn_context_default();
  const char *frames = scratch("shuffled.pc2"), *skeleton = scratch("plain.glb");
  sn_load_options options = sn_load_options_default();
  options.rest = scratch("plain.obj"), options.match = scratch("shuffled.obj");
  options.frames_count = options.skeleton_count = 1, options.frames = &frames, options.skeletons = &skeleton;
  sn_examples e;
  assert_ok(&ctx, sn_examples_load(&ctx, &options, &e));
  expect_sheet(&ctx, &e, true, true);
  sn_examples_free(&e);

  options.match = scratch("split.obj"); // has more vertices than the frames
  assert_fails(&ctx, sn_examples_load(&ctx, &options, &e), "shuffled.pc2 has 144 vertices, but ");
  assert_non_null(strstr(ctx.error.message, "split.obj has 156"));
  // In another pose.
  sheet s = make_sheet(&ctx, 0.2);
  assert_ok(&ctx, sn_obj_write(&ctx, scratch("posed.obj"), &s.mesh, sn_frame(&s.frames, 3), NULL));
  free_sheet(&s);
  options.match = scratch("posed.obj");
  assert_fails(&ctx, sn_examples_load(&ctx, &options, &e), "`match` must be in the same rest pose");
}

// The skeleton file's mesh may be in another order than --rest, as long as it is in the same place.
static void test_skin_follows_the_rest_mesh(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  assert_ok(&ctx, load(&ctx, "plain.obj", "plain.pc2", "shuffled.glb", &e));
  expect_sheet(&ctx, &e, true, true);
  sn_examples_free(&e);
  assert_ok(&ctx, load(&ctx, "plain.obj", "plain.pc2", "split.glb", &e));
  expect_sheet(&ctx, &e, true, true);
  sn_examples_free(&e);
}

static void test_bind_mesh_elsewhere(void **state) {
  sn_context ctx = sn_context_default();
  sheet s = make_sheet(&ctx, 0.2);
  for (int i = 0; i < vertices; i++) s.mesh.positions[i][0] += 0.5f;
  assert_ok(&ctx, sn_obj_write(&ctx, scratch("moved.obj"), &s.mesh, (const float(*)[3])s.mesh.positions, NULL));
  free_sheet(&s);
  sn_examples e;
  assert_fails(&ctx, load(&ctx, "moved.obj", "plain.pc2", "plain.glb", &e),
               "the mesh in its bind pose is not where ");
  assert_non_null(strstr(ctx.error.message, "moved.obj is"));
  assert_non_null(strstr(ctx.error.message, "`match`"));
}

// ---- seams ------------------------------------------------------------------------------------------------------------------

static void test_seams(void **state) {
  sn_context ctx = sn_context_default();
  static const char *const frames[] = {"split.pc2", "plain.pc2"}; // in split and in welded order
  for (int k = 0; k < 2; k++) {
    sn_examples e;
    assert_ok(&ctx, load(&ctx, "split.glb", frames[k], "split.glb", &e));
    expect_sheet(&ctx, &e, true, true);
    assert_int_equal(e.source_count, vertices + side);
    sn_mesh split;
    assert_ok(&ctx, sn_mesh_read(&ctx, scratch("split.glb"), NULL, &split, NULL));
    for (int s = 0; s < split.vertex_count; s++) {
      assert_memory_equal(split.positions[s], e.rest.positions[e.source[s]], sizeof *split.positions);
    }
    sn_mesh_free(&split);
    sn_examples_free(&e);
  }
  sn_examples e;
  write_text(scratch("one.obj"), "v 0 0 0\n");
  assert_fails(&ctx, load(&ctx, "split.glb", "one.obj", NULL, &e), "one.obj has 1 vertices; ");
  assert_non_null(strstr(ctx.error.message, "has 156, or 144 with its seams welded"));
}

// ---- clips --------------------------------------------------------------------------------------------------------------------

static void test_clips(void **state) {
  sn_context ctx = sn_context_default();
  const char *frames[] = {scratch("plain.pc2"), scratch("fast.pc2")};
  const char *skeletons[] = {scratch("plain.glb"), scratch("fast.glb")};
  sn_load_options options = sn_load_options_default();
  options.rest = scratch("plain.obj");
  options.frames_count = options.skeleton_count = 2, options.frames = frames, options.skeletons = skeletons;
  sn_examples e;
  assert_ok(&ctx, sn_examples_load(&ctx, &options, &e));
  assert_int_equal(e.frames.frame_count, 2 * frames_in_set);
  assert_int_equal(e.poses.frame_count, 2 * frames_in_set);
  assert_int_equal(e.clip_count, 2);
  assert_true(e.clip_start[1] == frames_in_set && e.clip_start[2] == 2 * frames_in_set);
  sheet fast = make_sheet(&ctx, 0.3);
  assert_memory_equal(sn_frame(&e.frames, frames_in_set), fast.frames.positions, vertices * frames_in_set * 12);
  sn_affine found = sn_pose(&e.poses, frames_in_set + 4)[1], expected = sn_pose(&fast.poses, 4)[1];
  for (int c = 0; c < 12; c++) assert_near(found.m[c / 4][c % 4], expected.m[c / 4][c % 4], 1e-6);
  free_sheet(&fast);
  sn_examples_free(&e);

  options.skeleton_count = 1;
  assert_fails(&ctx, sn_examples_load(&ctx, &options, &e), "2 clips of `frames` and 1 of `skeleton`: they pair up");
  options.frames_count = 0, options.skeleton_count = 2;
  assert_ok(&ctx, sn_examples_load(&ctx, &options, &e)); // poses alone, one clip after the other
  assert_int_equal(e.clip_count, 2);
  assert_int_equal(e.poses.frame_count, e.clip_start[2]);
  sn_examples_free(&e);
  options.skeleton_count = 1, options.clip_count = 1, options.clips = (const char *const[]){"walk"};
  assert_fails(&ctx, sn_examples_load(&ctx, &options, &e), "bend"); // lists what there is
}

// Joints are matched by name, whatever their order in the second file.
static void test_joints_by_name(void **state) {
  sn_context ctx = sn_context_default();
  sheet s = make_sheet(&ctx, 0.3);
  sn_skeleton turned = copy_skeleton(&ctx, &s.skeleton);
  char *name = turned.names[0];
  turned.names[0] = turned.names[1], turned.names[1] = name;
  turned.rest[0] = s.skeleton.rest[1], turned.rest[1] = s.skeleton.rest[0];
  turned.parents[0] = 1, turned.parents[1] = -1;
  assert_ok(&ctx, sn_skeleton_sort(&ctx, &turned));
  sn_poses poses;
  assert_ok(&ctx, sn_poses_new(&ctx, 2, frames_in_set, &poses));
  for (int f = 0; f < frames_in_set; f++)
    for (int j = 0; j < 2; j++) sn_pose(&poses, f)[j] = sn_pose(&s.poses, f)[1 - j];
  for (int k = 0; k < 2 * vertices; k++) s.skin.joints[k] = (uint16_t)(1 - s.skin.joints[k]);
  sn_skeleton_free(&s.skeleton);
  sn_poses_free(&s.poses);
  s.skeleton = turned, s.poses = poses;
  sheet copy = s;
  write_glb(&ctx, scratch("turned.glb"), &copy, frames_in_set);

  const char *frames[] = {scratch("plain.pc2"), scratch("fast.pc2")};
  const char *skeletons[] = {scratch("plain.glb"), scratch("turned.glb")};
  sn_load_options options = sn_load_options_default();
  options.rest = scratch("plain.obj");
  options.frames_count = options.skeleton_count = 2, options.frames = frames, options.skeletons = skeletons;
  sn_examples e;
  assert_ok(&ctx, sn_examples_load(&ctx, &options, &e));
  for (int j = 0; j < 2; j++)
    for (int c = 0; c < 12; c++) {
      assert_near(sn_pose(&e.poses, frames_in_set + 3)[j].m[c / 4][c % 4], sn_pose(&poses, 3)[1 - j].m[c / 4][c % 4],
                  1e-6);
    }
  sn_examples_free(&e);

  s.skeleton.names[0] = sn_arena_text(&ctx, &s.skeleton.memory, "neck");
  copy = s;
  write_glb(&ctx, scratch("neck.glb"), &copy, frames_in_set);
  skeletons[1] = scratch("neck.glb");
  assert_fails(&ctx, sn_examples_load(&ctx, &options, &e), "neck.glb has no joint called 'spine'");
  free_sheet(&s);
}

// ---- controls and torques --------------------------------------------------------------------------------------------------

static sn_status load_controls(sn_context *ctx, const char *rest, const char *controls, sn_examples *out) {
  sn_load_options options = sn_load_options_default();
  options.rest = scratch(rest), options.controls = controls;
  return sn_examples_load(ctx, &options, out);
}

static void test_controls(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  static const int expected[4] = {0, 11, 132, 143};
  const char *const specs[] = {"0,11,132,143", " 0 11;132\t143 ", "0,11,,132,1.43e2", scratch("controls.txt")};
  for (int k = 0; k < 4; k++) {
    assert_ok(&ctx, load_controls(&ctx, "plain.obj", specs[k], &e));
    assert_int_equal(e.control_count, 4);
    assert_memory_equal(e.controls, expected, sizeof expected);
    sn_examples_free(&e);
  }
  // The vertices of a split mesh go by the file's numbers: 5 and 6 are the two sides of the seam.
  assert_ok(&ctx, load_controls(&ctx, "split.glb", "4,6,7,155", &e));
  assert_true(e.controls[0] == 4 && e.controls[1] == 5 && e.controls[2] == 6 && e.controls[3] == 143);
  sn_examples_free(&e);
  static const struct {
    const char *spec, *message;
  } bad[] = {{"", "`controls`: no control vertices"},
             {"# nothing", "no control vertices"},
             {"1,two", "`controls`: 'two' is not a vertex number"},
             {"1,2.5", "'2.5' is not a vertex number"},
             {"1-5", "is not a vertex number"},
             {"3,144", "vertex 144 does not exist; the last one is 143"},
             {"-1", "vertex -1 does not exist"},
             {"1e300", "does not exist; the last one is 143"},
             {"1e999", "does not exist"}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    assert_fails(&ctx, load_controls(&ctx, "plain.obj", bad[k].spec, &e), bad[k].message);
    assert_int_equal(ctx.error.status, SN_BAD_INPUT);
  }
}

static void test_torques(void **state) {
  sn_context ctx = sn_context_default();
  const char *frames = scratch("plain.pc2"), *skeleton = scratch("plain.glb");
  sn_load_options options = sn_load_options_default();
  options.rest = scratch("plain.obj"), options.torque = scratch("torque.csv");
  options.frames_count = 1, options.frames = &frames, options.skeletons = &skeleton;
  sn_examples e;
  assert_fails(&ctx, sn_examples_load(&ctx, &options, &e), "`torque` needs `skeleton`");
  options.skeleton_count = 1;
  assert_ok(&ctx, sn_examples_load(&ctx, &options, &e));
  assert_true(!e.torques.has[0] && e.torques.has[1] && e.torques.values[2 * 4 + 1] == 4);
  sn_examples_free(&e);
  options.frames_count = 0; // poses and torques alone
  assert_ok(&ctx, sn_examples_load(&ctx, &options, &e));
  sn_examples_free(&e);
  options.torque = scratch("three.csv");
  assert_fails(&ctx, sn_examples_load(&ctx, &options, &e), "the torques are 3 frames of 2 joints; 6 frames of 2");
}

// ---- memory -----------------------------------------------------------------------------------------------------------------

static void test_every_allocation_fails(void **state) {
  const char *frames[] = {scratch("shuffled.pc2"), scratch("shuffled.pc2")};
  const char *skeletons[] = {scratch("split.glb"), scratch("split.glb")};
  sn_load_options options = sn_load_options_default();
  options.rest = scratch("split.glb"), options.match = scratch("shuffled.obj"), options.controls = "1,2,3";
  options.frames_count = options.skeleton_count = 2, options.frames = frames, options.skeletons = skeletons;
  starvation s = {0};
  while (starve(&s)) {
    sn_examples e;
    s.status = sn_examples_load(&s.ctx, &options, &e);
    if (s.status == SN_OK) sn_examples_free(&e);
  }
  assert_true(s.n > 50);
}

// ---- generated and real data -------------------------------------------------------------------------------------------------------------

// Every generated set comes back from its files as it was in memory.
static void test_generated_sets(void **state) {
  sn_context ctx = sn_context_default();
  for (int k = 0; k < sn_gen_set_count(); k++) {
    sn_gen_options gen = sn_gen_options_default();
    gen.set = sn_gen_set(k)->name, gen.frames = 5;
    gen.vertices = sn_gen_set(k)->min_vertices > 1200 ? sn_gen_set(k)->min_vertices : 1200;
    sn_examples made, e;
    assert_ok(&ctx, sn_gen(&ctx, &gen, &made));
    assert_ok(&ctx, sn_gen_write(&ctx, &gen, &made, scratch(gen.set)));
    char name[256];
    snprintf(name, sizeof name, "%s/", gen.set);
    const char *home = scratch(name);
    char rest[8300], pc2[8300], glb[8300], csv[8300], txt[8300];
    snprintf(rest, sizeof rest, "%srest.obj", home), snprintf(pc2, sizeof pc2, "%sframes.pc2", home);
    snprintf(glb, sizeof glb, "%sskeleton.glb", home), snprintf(csv, sizeof csv, "%storque.csv", home);
    snprintf(txt, sizeof txt, "%scontrols.txt", home);
    const char *frames = pc2, *skeleton = glb;
    sn_load_options options = sn_load_options_default();
    options.rest = rest, options.torque = csv, options.controls = txt;
    options.frames_count = options.skeleton_count = 1, options.frames = &frames, options.skeletons = &skeleton;
    assert_ok(&ctx, sn_examples_load(&ctx, &options, &e));
    size_t n = (size_t)made.rest.vertex_count;
    assert_int_equal(e.rest.vertex_count, n);
    assert_int_equal(e.frames.frame_count, 5);
    assert_memory_equal(e.rest.positions, made.rest.positions, n * sizeof *e.rest.positions);
    assert_memory_equal(e.frames.positions, made.frames.positions, 5 * n * sizeof *e.rest.positions);
    assert_int_equal(e.skeleton.joint_count, made.skeleton.joint_count);
    assert_int_equal(e.control_count, made.control_count);
    assert_memory_equal(e.controls, made.controls, (size_t)made.control_count * sizeof *e.controls);
    for (int x = 0; x < 5 * made.skeleton.joint_count; x++) {
      assert_near(e.torques.values[x], made.torques.values[x], 1e-6 * (1 + fabs(made.torques.values[x])));
      for (int c = 0; c < 12; c++) {
        assert_near(e.poses.matrices[x].m[c / 4][c % 4], made.poses.matrices[x].m[c / 4][c % 4], 1e-5);
      }
    }
    sn_examples_free(&made);
    sn_examples_free(&e);
  }
}

static void test_real_set(void **state) {
  need_data(rest, "cheburashka-torque/rest.obj");
  need_data(pc2, "cheburashka-torque/frames.pc2");
  need_data(glb, "cheburashka-torque/skeleton.glb");
  need_data(csv, "cheburashka-torque/torque.csv");
  sn_context ctx = sn_context_default();
  const char *frames = pc2, *skeleton = glb;
  sn_load_options options = sn_load_options_default();
  options.rest = rest, options.torque = csv;
  options.frames_count = options.skeleton_count = 1, options.frames = &frames, options.skeletons = &skeleton;
  sn_examples e;
  assert_ok(&ctx, sn_examples_load(&ctx, &options, &e));
  assert_int_equal(e.rest.vertex_count, 6669);
  assert_int_equal(e.frames.frame_count, 80);
  assert_int_equal(e.poses.frame_count, 80);
  assert_int_equal(e.torques.frame_count, 80);
  assert_int_equal(e.skeleton.joint_count, e.torques.joint_count);
  assert_non_null(e.frames.file.bytes);
  sn_examples_free(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_plain),
    cmocka_unit_test(test_missing_and_mismatched),
    cmocka_unit_test(test_wrong_order_is_noticed),
    cmocka_unit_test(test_match),
    cmocka_unit_test(test_skin_follows_the_rest_mesh),
    cmocka_unit_test(test_bind_mesh_elsewhere),
    cmocka_unit_test(test_seams),
    cmocka_unit_test(test_clips),
    cmocka_unit_test(test_joints_by_name),
    cmocka_unit_test(test_controls),
    cmocka_unit_test(test_torques),
    cmocka_unit_test(test_every_allocation_fails),
    cmocka_unit_test(test_generated_sets),
    cmocka_unit_test(test_real_set),
  };
  return cmocka_run_group_tests_name("load", tests, write_sets, NULL);
}
