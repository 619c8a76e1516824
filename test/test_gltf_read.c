// SPDX-License-Identifier: MIT
// Features of glTF one at a time, in small documents made by hand; and hostile documents with their messages.
#include "gltf_documents.h"

// ---- helpers ---------------------------------------------------------------------------------------------------

static sn_status parse(sn_context *ctx, const char *json, const void *bin, size_t bin_size, sn_gltf **out) {
  size_t size;
  uint8_t *glb = make_glb(json, bin, bin_size, &size);
  sn_status status = sn_gltf_parse(ctx, "rig.glb", glb, size, NULL, out);
  free(glb);
  return status;
}

#define HEAD "{'asset':{'version':'2.0'},"

// A mesh of one primitive with the given attributes and members, drawn by node 0.
#define ONE_MESH(members)                                                                                            \
  HEAD "'scene':0,'scenes':[{'nodes':[0]}],'nodes':[{'mesh':0}],'meshes':[{'primitives':[{" members "}]}],"

static void assert_positions(sn_context *ctx, const sn_gltf *gltf, int count, const float (*expected)[3]) {
  sn_mesh mesh;
  assert_ok(ctx, sn_gltf_mesh(ctx, gltf, &mesh));
  assert_int_equal(mesh.vertex_count, count);
  for (int i = 0; i < count * 3; i++) assert_near(mesh.positions[i / 3][i % 3], expected[i / 3][i % 3], 1e-6);
  sn_mesh_free(&mesh);
}

// ---- accessors ---------------------------------------------------------------------------------------------------

static void test_interleaved(void **state) {
  sn_context ctx = sn_context_default();
  float bin[3][6] = {{1, 2, 3, 9, 9, 9}, {4, 5, 6, 9, 9, 9}, {7, 8, 9, 9, 9, 9}};
  sn_gltf *gltf;
  assert_ok(
    &ctx, parse(&ctx,
                ONE_MESH("'attributes':{'POSITION':0,'NORMAL':1}") "'accessors':[{'bufferView':0,'componentType':"
                                                                   "5126,'count':3,'type':'VEC3'},"
                                                                   "{'bufferView':0,'byteOffset':12,'componentType':"
                                                                   "5126,'count':3,'type':'VEC3'}],"
                                                                   "'bufferViews':[{'buffer':0,'byteLength':72,'"
                                                                   "byteStride':24}],'buffers':[{'byteLength':72}]}",
                bin, sizeof bin, &gltf));
  float expected[3][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  assert_positions(&ctx, gltf, 3, (const float(*)[3])expected);
  sn_gltf_free(gltf);
}

// Where a primitive has normals too: moved with its node, the handedness reversed where that mirrors; zeros elsewhere.
static void test_tangents(void **state) {
  sn_context ctx = sn_context_default();
  float bin[3][10] = {
    {0, 0, 0, 0, 0, 1, 1, 0, 0, 1}, {1, 0, 0, 0, 0, 1, 1, 0, 0, -1}, {0, 1, 0, 0, 0, 1, 0, 1, 0, 1}};
  static const char nodes[] =
    "{'asset':{'version':'2.0'},'scene':0,'scenes':[{'nodes':[0,1,2]}],'nodes':[{'mesh':0},{'mesh':0,'scale':[-2,1,1]"
    "},"
    "{'mesh':1}],'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1,'TANGENT':2}}]},"
    "{'primitives':[{'attributes':{'POSITION':0,'TANGENT':2}}]}],'accessors':["
    "{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3'},"
    "{'bufferView':0,'byteOffset':12,'componentType':5126,'count':3,'type':'VEC3'},"
    "{'bufferView':0,'byteOffset':24,'componentType':5126,'count':3,'type':'%s'}],"
    "'bufferViews':[{'buffer':0,'byteLength':120,'byteStride':40}],'buffers':[{'byteLength':120}]}";
  char json[1200];
  snprintf(json, sizeof json, nodes, "VEC4");
  sn_gltf *gltf;
  sn_arena memory = sn_arena_new(&ctx);
  float(*tangents)[4];
  assert_ok(&ctx, parse(&ctx, json, bin, sizeof bin, &gltf));
  assert_ok(&ctx, sn_gltf_tangents(&ctx, gltf, &memory, &tangents));
  static const float expected[9][4] = {
    {1, 0, 0, 1}, {1, 0, 0, -1}, {0, 1, 0, 1}, {-1, 0, 0, -1}, {-1, 0, 0, 1}, {0, 1, 0, -1}, {0}, {0}, {0}};
  for (int n = 0; n < 36; n++) assert_near(tangents[n / 4][n % 4], expected[n / 4][n % 4], 1e-6);
  sn_gltf_free(gltf);
  snprintf(json, sizeof json, nodes, "VEC3");
  assert_ok(&ctx, parse(&ctx, json, bin, sizeof bin, &gltf));
  assert_fails(&ctx, sn_gltf_tangents(&ctx, gltf, &memory, &tangents), "TANGENT");
  sn_gltf_free(gltf);
  sn_arena_free(&memory);
}

static void test_sparse(void **state) {
  sn_context ctx = sn_context_default();
  uint8_t bin[40] = {1, 0, 2, 0}; // indices 1 and 2 as ushort
  float values[6] = {1, 1, 1, 2, 2, 2};
  memcpy(bin + 4, values, sizeof values);
  sn_gltf *gltf;
  const char *json = ONE_MESH(
    "'attributes':{'POSITION':0}") "'accessors':[{'componentType':5126,'count':3,'type':'VEC3','sparse':{'count':2,"
                                   "'indices':{'bufferView':0,'componentType':5123},'values':{'bufferView':1}}}],"
                                   "'bufferViews':[{'buffer':0,'byteLength':4},{'buffer':0,'byteOffset':4,'"
                                   "byteLength':24}],"
                                   "'buffers':[{'byteLength':28}]}";
  assert_ok(&ctx, parse(&ctx, json, bin, 28, &gltf));
  float expected[3][3] = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}};
  assert_positions(&ctx, gltf, 3, (const float(*)[3])expected);
  sn_gltf_free(gltf);
  bin[2] = 3;
  assert_fails(&ctx, parse(&ctx, json, bin, 28, &gltf),
               "rig.glb: mesh 0 primitive 0: POSITION: accessor 0: sparse index 1 is 3");
  bin[2] = 1;
  assert_fails(&ctx, parse(&ctx, json, bin, 28, &gltf), "must be from 2 to 2");
}

static void test_quantised(void **state) {
  sn_context ctx = sn_context_default();
  int16_t bin[3][4] = {{32767, -32767, -32768, 0}, {0, 0, 0, 0}, {16384, 0, 0, 0}};
  static const char *const kinds[] = {"true", "false"};
  for (int k = 0; k < 2; k++) {
    char json[1024];
    snprintf(json, sizeof json,
             ONE_MESH("'attributes':{'POSITION':0}") "'extensionsRequired':['KHR_mesh_quantization'],'accessors':["
                                                     "{'bufferView':0,'componentType':5122,'normalized':%s,'count':3,"
                                                     "'type':'VEC3'}],"
                                                     "'bufferViews':[{'buffer':0,'byteLength':24,'byteStride':8}],'"
                                                     "buffers':[{'byteLength':24}]}",
             kinds[k]);
    sn_gltf *gltf;
    assert_ok(&ctx, parse(&ctx, json, bin, sizeof bin, &gltf));
    float normalized[3][3] = {{1, -1, -1}, {0, 0, 0}, {16384 / 32767.0f, 0, 0}};
    float plain[3][3] = {{32767, -32767, -32768}, {0, 0, 0}, {16384, 0, 0}};
    assert_positions(&ctx, gltf, 3, k == 0 ? (const float(*)[3])normalized : (const float(*)[3])plain);
    sn_gltf_free(gltf);
  }
}

static void test_data_uri_and_parts(void **state) {
  sn_context ctx = sn_context_default();
  // three floats 1, 2, 3 and zeros: one vertex per element, no GLB
  char *json = quoted(ONE_MESH(
    "'attributes':{'POSITION':0}") "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3'}],"
                                   "'bufferViews':[{'buffer':0,'byteLength':36}],'buffers':[{'byteLength':36,'uri':"
                                   "'data:application/"
                                   "octet-stream;base64,AACAPwAAAEAAAEBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'}]}");
  sn_gltf *gltf;
  assert_ok(&ctx, sn_gltf_parse(&ctx, "rig.gltf", (const uint8_t *)json, strlen(json), NULL, &gltf));
  float expected[3][3] = {{1, 2, 3}, {0, 0, 0}, {0, 0, 0}};
  assert_positions(&ctx, gltf, 3, (const float(*)[3])expected);
  sn_gltf_free(gltf);
  char *at = strstr(json, "AACAPw");
  at[2] = '!';
  assert_fails(&ctx, sn_gltf_parse(&ctx, "rig.gltf", (const uint8_t *)json, strlen(json), NULL, &gltf),
               "rig.gltf: buffer 0: its data URI is not proper base64");
  free(json);
}

static void test_external_buffer(void **state) {
  sn_context ctx = sn_context_default();
  const char *folder = scratch_folder();
  char path[4300], text[1024];
  float bin[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  sn_writer writer;
  snprintf(path, sizeof path, "%s/a b.bin", folder);
  assert_ok(&ctx, sn_writer_open(&ctx, path, &writer));
  sn_write(&writer, bin, sizeof bin);
  assert_ok(&ctx, sn_writer_commit(&ctx, &writer));
  static const struct {
    const char *uri, *message;
  } cases[] = {{"a%20b.bin", NULL},
               {"./a%20b.bin", NULL},
               {"../a%20b.bin", "leaves the document's folder"},
               {"x/%2e%2e/../y", "leaves the document's folder"},
               {"/etc/passwd", "leaves the document's folder"},
               {"http://example.org/a.bin", "is not beside the document"},
               {"c.bin", "cannot open"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    snprintf(text, sizeof text,
             ONE_MESH("'attributes':{'POSITION':0}") "'accessors':[{'bufferView':0,'componentType':5126,'count':3,"
                                                     "'type':'VEC3'}],'bufferViews':[{'buffer':0,'byteLength':36}],'"
                                                     "buffers':[{'byteLength':36,'uri':'%s'}]}",
             cases[k].uri);
    char *json = quoted(text);
    sn_gltf *gltf;
    snprintf(path, sizeof path, "%s/rig.gltf", folder);
    assert_ok(&ctx, sn_writer_open(&ctx, path, &writer));
    sn_write(&writer, json, strlen(json));
    assert_ok(&ctx, sn_writer_commit(&ctx, &writer));
    if (cases[k].message) {
      assert_fails(&ctx, sn_gltf_read(&ctx, path, &gltf), cases[k].message);
      assert_fails(&ctx, sn_gltf_read(&ctx, path, &gltf), "rig.gltf: buffer 0: ");
    } else {
      assert_ok(&ctx, sn_gltf_read(&ctx, path, &gltf));
      float expected[3][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
      assert_positions(&ctx, gltf, 3, (const float(*)[3])expected);
      sn_gltf_free(gltf);
    }
    assert_fails(&ctx, sn_gltf_parse(&ctx, "rig", (const uint8_t *)json, strlen(json), NULL, &gltf), "buffer 0: ");
    free(json);
  }
}

// ---- primitives and scenes -----------------------------------------------------------------------------------------

static void test_strips_and_fans(void **state) {
  sn_context ctx = sn_context_default();
  float bin[5][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0, 2, 0}};
  static const int strip[3][3] = {{0, 1, 2}, {1, 3, 2}, {2, 3, 4}}, fan[3][3] = {{1, 2, 0}, {2, 3, 0}, {3, 4, 0}};
  for (int mode = 4; mode <= 6; mode++) {
    char json[1024];
    snprintf(
      json, sizeof json,
      ONE_MESH(
        "'mode':%d,'attributes':{'POSITION':0}},{'mode':1,'attributes':{'POSITION':0}") "'accessors':[{'bufferView':"
                                                                                        "0,'componentType':5126,'"
                                                                                        "count':5,'type':'VEC3'}],"
                                                                                        "'bufferViews':[{'buffer':0,'"
                                                                                        "byteLength':60}],'buffers':["
                                                                                        "{'byteLength':60}]}",
      mode);
    sn_gltf *gltf;
    if (mode == 4) {
      assert_fails(&ctx, parse(&ctx, json, bin, sizeof bin, &gltf), "mesh 0 primitive 0: 5 corners");
      continue;
    }
    assert_ok(&ctx, parse(&ctx, json, bin, sizeof bin, &gltf));
    sn_mesh mesh;
    assert_ok(&ctx, sn_gltf_mesh(&ctx, gltf, &mesh));
    assert_int_equal(mesh.vertex_count, 5); // lines are dropped
    assert_int_equal(mesh.triangle_count, 3);
    assert_memory_equal(mesh.triangles, mode == 5 ? strip : fan, sizeof strip);
    sn_mesh_free(&mesh);
    sn_gltf_free(gltf);
  }
}

static void test_scenes(void **state) {
  sn_context ctx = sn_context_default();
  float bin[3][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  static const struct {
    const char *scene, *visible; // of node 1, and so of node 2
    int vertices;
    float x;
  } cases[] = {{"'scene':0,", "true", 3, 0}, {"'scene':1,", "true", 6, 5}, {"", "true", 9, 0}, {"", "false", 3, 0}};
  for (int k = 0; k < 4; k++) {
    char json[1024];
    snprintf(json, sizeof json,
             HEAD "%s'scenes':[{'nodes':[0]},{'nodes':[1]}],'nodes':[{'mesh':0},"
                  "{'mesh':0,'matrix':[1,0,0,0,0,1,0,0,0,0,1,0,5,0,0,1],'children':[2],"
                  "'extensions':{'KHR_node_visibility':{'visible':%s}}},"
                  "{'mesh':0,'translation':[0,7,0]}],'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}],"
                  "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3'}],"
                  "'bufferViews':[{'buffer':0,'byteLength':36}],'buffers':[{'byteLength':36}]}",
             cases[k].scene, cases[k].visible);
    sn_gltf *gltf;
    sn_mesh mesh;
    assert_ok(&ctx, parse(&ctx, json, bin, sizeof bin, &gltf));
    assert_ok(&ctx, sn_gltf_mesh(&ctx, gltf, &mesh));
    assert_int_equal(mesh.vertex_count, cases[k].vertices);
    assert_near(mesh.positions[0][0], cases[k].x, 0);
    int last = mesh.vertex_count - 3;
    assert_near(mesh.positions[last][0], last > 0 ? 5 : 0, 0);
    assert_near(mesh.positions[last][1], last > 0 ? 7 : 0, 0);
    sn_mesh_free(&mesh);
    sn_gltf_free(gltf);
  }
}

// ---- skins ---------------------------------------------------------------------------------------------------------------

// Two joints; weights 3/4 and 1/4 in every legal encoding.
static void test_weight_types(void **state) {
  sn_context ctx = sn_context_default();
  for (int joint_type = 5121; joint_type <= 5123; joint_type += 2) {
    for (int weight_type = 5121; weight_type <= 5126; weight_type++) {
      if (weight_type == 5122 || weight_type == 5124 || weight_type == 5125) continue;
      uint8_t bin[84] = {0};
      for (int i = 0; i < 3; i++) {
        uint8_t *joints = bin + 36 + i * 8, *weights = bin + 60 + i * 8;
        joints[0] = 1; // second joint first; 0 after it in both encodings
        if (weight_type == 5121) weights[0] = 191, weights[1] = 64;
        if (weight_type == 5123) weights[0] = 0xff, weights[1] = 0xbf, weights[2] = 0, weights[3] = 0x40;
      }
      float floats[12] = {0.75f, 0.25f, 0, 0, 0.75f, 0.25f, 0, 0, 0.75f, 0.25f, 0, 0};
      uint8_t whole[108];
      memcpy(whole, bin, 60);
      memcpy(whole + 60, floats, 48);
      char json[1400];
      snprintf(
        json, sizeof json,
        HEAD
        "'scene':0,'scenes':[{'nodes':[0,1]}],'nodes':[{'mesh':0,'skin':0,'translation':[9,9,9]},"
        "{'name':'a','children':[2]},{'translation':[0,2,0]}],"
        "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':1,'WEIGHTS_0':2}}]}],"
        "'skins':[{'joints':[1,2]}],"
        "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3'},"
        "{'bufferView':1,'componentType':%d,'count':3,'type':'VEC4'},"
        "{'bufferView':2,'componentType':%d,%s'count':3,'type':'VEC4'}],"
        "'bufferViews':[{'buffer':0,'byteLength':36},{'buffer':0,'byteOffset':36,'byteLength':24,'byteStride':8},"
        "{'buffer':0,'byteOffset':60,'byteLength':%d,'byteStride':%d}],'buffers':[{'byteLength':%d}]}",
        joint_type, weight_type, weight_type == 5126 ? "" : "'normalized':true,", weight_type == 5126 ? 48 : 24,
        weight_type == 5126 ? 16 : 8, weight_type == 5126 ? 108 : 84);
      sn_gltf *gltf;
      sn_skeleton skeleton;
      sn_skin skin;
      assert_ok(&ctx, parse(&ctx, json, weight_type == 5126 ? whole : bin, weight_type == 5126 ? 108 : 84, &gltf));
      assert_ok(&ctx, sn_gltf_skeleton(&ctx, gltf, &skeleton, &skin));
      assert_string_equal(skeleton.names[0], "a");
      assert_string_equal(skeleton.names[1], "joint1");
      assert_int_equal(skeleton.parents[1], 0);
      assert_int_equal(skin.influences, 2);
      assert_int_equal(skin.joints[0], 1);
      assert_near(skin.weights[0], 0.75, 0.002);
      assert_near(skin.weights[0] + skin.weights[1], 1, 1e-6);
      // no inverse bind matrices: identities; the mesh node's own transform does not count
      float positions[3][3];
      assert_ok(&ctx, sn_gltf_deform(&ctx, gltf, -1, 0, positions));
      assert_near(positions[0][0], 0, 1e-6);
      assert_near(positions[0][1], 1.5, 0.004);
      sn_skin_free(&skin);
      sn_skeleton_free(&skeleton);
      sn_gltf_free(gltf);
    }
  }
}

// ---- animation -----------------------------------------------------------------------------------------------------------

// One joint; node 0 draws a point-like triangle skinned to it. Samplers as given, data: times 0 1 3, then values.
static double sample_x(const char *interpolation, const float *values, int count, double t) {
  sn_context ctx = sn_context_default();
  uint8_t bin[256];
  float times[3] = {0, 1, 3};
  memcpy(bin, times, 12);
  memcpy(bin + 12, values, (size_t)count * 12);
  char json[1024];
  snprintf(json, sizeof json,
           HEAD "'nodes':[{}],'skins':[{'joints':[0]}],'animations':[{'channels':[{'sampler':0,'target':{'node':0,"
                "'path':'translation'}}],'samplers':[{'input':0,'output':1,'interpolation':'%s'}]}],"
                "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'SCALAR'},"
                "{'bufferView':0,'byteOffset':12,'componentType':5126,'count':%d,'type':'VEC3'}],"
                "'bufferViews':[{'buffer':0,'byteLength':%d}],'buffers':[{'byteLength':%d}]}",
           interpolation, count, 12 + count * 12, 12 + count * 12);
  sn_gltf *gltf;
  sn_affine pose;
  assert_ok(&ctx, parse(&ctx, json, bin, (size_t)(12 + count * 12), &gltf));
  assert_ok(&ctx, sn_gltf_pose(&ctx, gltf, 0, t, &pose));
  sn_gltf_free(gltf);
  return pose.m[0][3];
}

static void test_interpolation(void **state) {
  float values[9] = {1, 0, 0, 2, 0, 0, 6, 0, 0};
  assert_near(sample_x("LINEAR", values, 3, -5), 1, 1e-12);
  assert_near(sample_x("LINEAR", values, 3, 0.25), 1.25, 1e-12);
  assert_near(sample_x("LINEAR", values, 3, 2), 4, 1e-12);
  assert_near(sample_x("LINEAR", values, 3, 9), 6, 1e-12);
  assert_near(sample_x("STEP", values, 3, 0.99), 1, 1e-12);
  assert_near(sample_x("STEP", values, 3, 1), 2, 1e-12);
  assert_near(sample_x("STEP", values, 3, 1 - 1e-9), 2, 1e-12); // the key, but for rounding
  assert_near(sample_x("STEP", values, 3, 2.9), 2, 1e-12);
  // A cubic x = t^3 is its own Hermite spline: tangents 3 t^2 per second.
  float cubic[27] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 1, 0, 0, 3, 0, 0, 27, 0, 0, 27, 0, 0, 27, 0, 0};
  for (double t = 0; t <= 3; t += 0.125) assert_near(sample_x("CUBICSPLINE", cubic, 9, t), t * t * t, 1e-12);
}

static const char spin_document[] = HEAD
  "'nodes':[{}],'skins':[{'joints':[0]}],'animations':[{'name':'spin','channels':[{'sampler':0,'target':{'node':0,"
  "'path':'rotation'}},{'sampler':0,'target':{'path':'pointer'}}],'samplers':[{'input':0,'output':1}]}],"
  "'accessors':[{'bufferView':0,'componentType':5126,'count':2,'type':'SCALAR'},"
  "{'bufferView':0,'byteOffset':8,'componentType':5122,'normalized':true,'count':2,'type':'VEC4'}],"
  "'bufferViews':[{'buffer':0,'byteLength':24}],'buffers':[{'byteLength':24}]}";

// Rotations as normalised shorts, the second with the opposite sign: slerp goes the short way.
static void test_rotation(void **state) {
  sn_context ctx = sn_context_default();
  uint8_t bin[24];
  float times[2] = {0, 2};
  int16_t turns[8] = {0, 0, 0, 32767, 0, 0, -23170, -23170};
  memcpy(bin, times, 8);
  memcpy(bin + 8, turns, 16);
  sn_gltf *gltf;
  assert_ok(&ctx, parse(&ctx, spin_document, bin, sizeof bin, &gltf));
  assert_int_equal(sn_gltf_clip(gltf, 0).channel_count, 1);
  for (double t = 0; t <= 2; t += 0.25) {
    sn_affine pose,
      expected = sn_affine_make(sn_rotation_exp(sn_vec3_make(0, 0, SN_PI / 4 * t)), sn_vec3_make(0, 0, 0));
    assert_ok(&ctx, sn_gltf_pose(&ctx, gltf, 0, t, &pose));
    assert_below(affine_difference(pose, expected), 1e-6);
  }
  sn_affine pose;
  assert_fails(&ctx, sn_gltf_pose(&ctx, gltf, 1, 0, &pose), "clip 1 does not exist");
  assert_fails(&ctx, sn_gltf_pose(&ctx, gltf, 0, NAN, &pose), "time nan");
  sn_gltf_free(gltf);
}

static void test_morph_weights(void **state) {
  sn_context ctx = sn_context_default();
  float bin[] = {0, 0,    0,
                 1, 0,    0,
                 0, 1,    0, /* positions */
                 1, 0,    0,
                 0, 0,    0,
                 0, 0,    0, /* target 0 */
                 0, 2,    0,
                 0, 0,    0,
                 0, 0,    0, /* target 1 */
                 0, 1,    /* times */ 1,
                 0, 0.5f, -1 /* weights at both keys */};
  sn_gltf *gltf;
  assert_ok(&ctx, parse(&ctx,
                        HEAD "'nodes':[{'mesh':0,'scale':[2,2,2],'weights':[0,0.5]},{'mesh':0,'name':'lid'}],"
                             "'meshes':[{'weights':[1,1],'extras':{'targetNames':['smile']},'primitives':[{"
                             "'attributes':{'POSITION':0},'targets':[{'POSITION':1},{'POSITION':2}]}]}],"
                             "'animations':[{'channels':[{'sampler':0,'target':{'node':0,'path':'weights'}}],"
                             "'samplers':[{'input':3,'output':4}]}],"
                             "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3'},"
                             "{'bufferView':0,'byteOffset':36,'componentType':5126,'count':3,'type':'VEC3'},"
                             "{'bufferView':0,'byteOffset':72,'componentType':5126,'count':3,'type':'VEC3'},"
                             "{'bufferView':0,'byteOffset':108,'componentType':5126,'count':2,'type':'SCALAR'},"
                             "{'bufferView':0,'byteOffset':116,'componentType':5126,'count':4,'type':'SCALAR'}],"
                             "'bufferViews':[{'buffer':0,'byteLength':132}],'buffers':[{'byteLength':132}]}",
                        bin, sizeof bin, &gltf));
  float positions[6][3];
  assert_ok(&ctx, sn_gltf_deform(&ctx, gltf, -1, 0, positions));
  assert_near(positions[0][0], 0, 1e-6);
  assert_near(positions[0][1], 2, 1e-6); // the node's weights count, not the mesh's
  assert_ok(&ctx, sn_gltf_deform(&ctx, gltf, 0, 0.5, positions));
  assert_near(positions[0][0], 1.5, 1e-6);
  assert_near(positions[0][1], -2, 1e-6);
  static const char *const names[] = {"smile", "target1", "lid.smile", "lid.target1"};
  static const double expected[] = {0.75, -0.5, 1, 1};
  double weights[4];
  assert_int_equal(sn_gltf_morph_count(gltf), 4);
  assert_ok(&ctx, sn_gltf_morph_weights(&ctx, gltf, 0, 0.5, weights));
  for (int k = 0; k < 4; k++) {
    assert_string_equal(sn_gltf_morph_name(gltf, k), names[k]);
    assert_near(weights[k], expected[k], 1e-6);
  }
  assert_fails(&ctx, sn_gltf_morph_weights(&ctx, gltf, 1, 0, weights), "clip 1 does not exist");
  sn_gltf_free(gltf);
}

// A part that hangs below a joint follows it; two skins that bind one node differently are two joints.
static void test_attached_and_two_skins(void **state) {
  sn_context ctx = sn_context_default();
  float bin[9 + 12 + 16 + 16] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
  for (int k = 0; k < 2; k++) {
    float *m = bin + 21 + 16 * k;
    m[0] = m[5] = m[10] = m[15] = 1, m[12] = (float)(-1 - k); // bound at x = 1, and at x = 2
  }
  sn_gltf *gltf;
  assert_ok(
    &ctx,
    parse(&ctx,
          HEAD "'nodes':[{'mesh':0,'skin':0},{'mesh':0,'skin':1},{'name':'hip','translation':[3,0,0],'children':[3]},"
               "{'mesh':1,'translation':[0,1,0]}],"
               "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':2,'WEIGHTS_0':1}}]},"
               "{'primitives':[{'attributes':{'POSITION':0}}]}],"
               "'skins':[{'joints':[2],'inverseBindMatrices':3},{'joints':[2],'inverseBindMatrices':4}],"
               "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3'},"
               "{'bufferView':0,'byteOffset':36,'componentType':5126,'count':3,'type':'VEC4'},"
               "{'componentType':5121,'count':3,'type':'VEC4'},"
               "{'bufferView':0,'byteOffset':84,'componentType':5126,'count':1,'type':'MAT4'},"
               "{'bufferView':0,'byteOffset':148,'componentType':5126,'count':1,'type':'MAT4'}],"
               "'bufferViews':[{'buffer':0,'byteLength':212}],'buffers':[{'byteLength':212}]}",
          bin, sizeof bin, &gltf));
  sn_skeleton skeleton;
  sn_skin skin;
  sn_mesh mesh;
  assert_ok(&ctx, sn_gltf_skeleton(&ctx, gltf, &skeleton, &skin));
  assert_int_equal(skeleton.joint_count, 2);
  assert_string_equal(skeleton.names[0], "hip");
  assert_string_equal(skeleton.names[1], "hip (skin 1)");
  assert_ok(&ctx, sn_gltf_mesh(&ctx, gltf, &mesh));
  assert_near(mesh.positions[6][0], 1, 1e-6); // the attached part stands where the hip is bound
  assert_near(mesh.positions[6][1], 1, 1e-6);
  float positions[9][3];
  sn_affine pose[2];
  assert_ok(&ctx, sn_gltf_deform(&ctx, gltf, -1, 0, positions));
  assert_ok(&ctx, sn_gltf_pose(&ctx, gltf, -1, 0, pose));
  for (int i = 0; i < 9; i++) { // blending the flattened mesh by the flattened skin is the same thing
    sn_vec3 p = sn_affine_apply(pose[skin.joints[i]], sn_vec3_from(mesh.positions[i]));
    assert_below(sn_vec3_distance(p, sn_vec3_from(positions[i])), 1e-6);
  }
  sn_mesh_free(&mesh);
  sn_skin_free(&skin);
  sn_skeleton_free(&skeleton);
  sn_gltf_free(gltf);
}

// ---- hostile documents ----------------------------------------------------------------------------------------------------

#define TRIANGLE                                                                                                     \
  ONE_MESH("'attributes':{'POSITION':0}")                                                                            \
  "'bufferViews':[{'buffer':0,'byteLength':36}],'buffers':[{'byteLength':36}],'accessors':"

static const struct {
  const char *json, *message;
} hostile[] = {
  {"[]", "is not an object"},
  {"{'asset':{'version':'2.0'}", "JSON, line 1"},
  {"", "is empty; export it again"},
  {"<html>", "is neither GLB nor JSON; export it again"},
  {"{}", "asset.version is missing"},
  {"{'asset':{'version':'1.0'}}", "version 1.0"},
  {"{'asset':{'version':'2.0'},'nodes':{}}", "nodes: is not an array"},
  {"{'asset':{'version':'2.0'},'nodes':[1]}", "nodes: entry 0 is not an object"},
  {HEAD "'extensionsRequired':['MPEG_mesh_linking']}", "MPEG_mesh_linking"},
  {HEAD "'extensionsRequired':['EXT_mesh_gpu_instancing']}", "EXT_mesh_gpu_instancing"},
  {HEAD "'buffers':[{'byteLength':99999999999}]}", "buffer 0: says 99999999999 bytes"},
  {HEAD "'buffers':[{'byteLength':36},{'byteLength':3}]}", "buffer 1: has neither a uri nor a binary chunk"},
  {HEAD "'buffers':[{'byteLength':-1}]}", "buffer 0: byteLength is -1"},
  {HEAD "'buffers':[{'byteLength':36}],'bufferViews':[{'buffer':0,'byteOffset':30,'byteLength':7}]}",
   "bufferView 0: bytes 30 to 30 + 7 are not in buffer 0 of 36 bytes"},
  {HEAD "'buffers':[{'byteLength':36}],'bufferViews':[{'buffer':0,'byteOffset':9223372036854775807,'byteLength':7}]}",
   "bufferView 0"},
  {HEAD "'buffers':[{'byteLength':36}],'bufferViews':[{'buffer':1,'byteLength':7}]}",
   "bufferView 0: buffer is 1, but there are only 1"},
  {TRIANGLE "[{'bufferView':0,'componentType':5126,'count':4,'type':'VEC3'}]}",
   "accessor 0: 4 elements from byte 0 on do not fit into bufferView 0 of 36 bytes"},
  {TRIANGLE "[{'bufferView':0,'componentType':5126,'count':2147483647,'type':'MAT4'}]}", "accessor 0: 2147483647"},
  {TRIANGLE "[{'bufferView':0,'componentType':5126,'count':2147483648,'type':'VEC3'}]}",
   "accessor 0: count is 2147483648"},
  {TRIANGLE "[{'bufferView':0,'byteOffset':9223372036854775807,'componentType':5126,'count':3,'type':'VEC3'}]}",
   "accessor 0"},
  {TRIANGLE "[{'bufferView':0,'componentType':5124,'count':3,'type':'VEC3'}]}", "no component type 5124"},
  {TRIANGLE "[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC5'}]}", "its type is 'VEC5'"},
  {TRIANGLE "[{'bufferView':7,'componentType':5126,'count':3,'type':'VEC3'}]}",
   "bufferView is 7, but there are only 1"},
  {HEAD "'accessors':[{'componentType':-2147483648,'count':3,'type':'VEC3'}]}",
   "accessor 0: componentType is -2147483648, must be between 5120 and 5126"},
  {HEAD "'accessors':[{'componentType':9007199254740993,'count':9007199254740993,'type':'VEC3'}]}",
   "accessor 0: count is 9007199254740993, must be between 1 and 2147483647"},
  {TRIANGLE "[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC2'}]}", "has 2 numbers per element, not 3"},
  {TRIANGLE "[{'componentType':5126,'count':2000000001,'type':'VEC3'}]}", "far more data when decoded"},
  {TRIANGLE "[{'componentType':5126,'count':3,'type':'VEC3','sparse':{'count':4,'indices':{'bufferView':0,"
            "'componentType':5121},'values':{'bufferView':0}}}]}",
   "accessor 0: sparse: count is 4"},
  {TRIANGLE "[{'componentType':5126,'count':2000000001,'type':'VEC3','sparse':{'count':2000000000,'indices':{"
            "'bufferView':0,'componentType':5121},'values':{'bufferView':0}}}]}",
   "accessor 0: sparse: 2000000000"},
  {HEAD "'nodes':[{'children':[1]},{'children':[2]},{'children':[1]}]}", "node 1: has two parents, nodes 0 and 2"},
  {HEAD "'nodes':[{},{'children':[2]},{'children':[1]}]}", "node 1: is among its own descendants"},
  {HEAD "'nodes':[{'children':[0]}]}", "node 0: is among its own descendants"},
  {HEAD "'nodes':[{},{},{},{},{},{'children':[6]},{'children':[5]}]}", "node 5: is among its own descendants"},
  {HEAD "'nodes':[{'children':[1]}]}", "node 0: children is 1, but there are only 1"},
  {HEAD "'nodes':[{'mesh':0}]}", "node 0: mesh is 0, but there are only 0"},
  {HEAD "'nodes':[{'translation':[0,0]}]}", "node 0: translation is not an array of 3 numbers"},
  {HEAD "'nodes':[{'scale':[1e300,1,1]}]}", "too large for a float"},
  {HEAD "'nodes':[{'matrix':[1,0,0,1,0,1,0,0,0,0,1,0,0,0,0,1]}]}", "the last row of its matrix"},
  {HEAD "'nodes':[{}],'scene':3,'scenes':[{}]}", "scene is 3, but there are only 1"},
  {HEAD "'nodes':[{}],'skins':[{'joints':[]}]}", "skin 0: has no joints"},
  {HEAD "'nodes':[{}],'skins':[{'joints':[4]}]}", "skin 0: joints is 4"},
  {HEAD "'nodes':[{}],'skins':[{'joints':[0,0]}]}", "skin 0: names node 0 twice"},
  {HEAD "'nodes':[{}],'skins':[{'joints':[0],'inverseBindMatrices':0}],'accessors':[{'componentType':5126,'count':1,"
        "'type':'VEC4'}]}",
   "skin 0: accessor 0 is not 1 float matrices"},
  {HEAD "'nodes':[{'matrix':[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]}],'animations':[{'channels':[{'sampler':0,'target':{"
        "'node':0,'path':'scale'}}],'samplers':[{}]}]}",
   "animation 0: channel 0: moves node 0, which has a matrix"},
  {HEAD
   "'nodes':[{}],'animations':[{'channels':[{'sampler':1,'target':{'node':0,'path':'scale'}}],'samplers':[{}]}]}",
   "animation 0: channel 0: sampler is 1"},
  {HEAD "'nodes':[{}],'animations':[{'channels':[{'sampler':0,'target':{'node':0,'path':'scale'}}],'samplers':[{"
        "'input':0,'output':0}]}],'accessors':[{'componentType':5126,'count':4,'type':'SCALAR'}]}",
   "its values (accessor 0) are 4 times 1 numbers, not 4 times 3"},
};

static void test_hostile(void **state) {
  sn_context ctx = sn_context_default();
  float bin[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
  for (size_t k = 0; k < sizeof hostile / sizeof *hostile; k++) {
    sn_gltf *gltf;
    assert_fails(&ctx, parse(&ctx, hostile[k].json, bin, sizeof bin, &gltf), hostile[k].message);
    assert_memory_equal(ctx.error.message, "rig.glb: ", 9);
    assert_null(gltf);
  }
}

static void test_bad_values(void **state) {
  sn_context ctx = sn_context_default();
  sn_gltf *gltf;
  float bin[9] = {0, 0, 0, 1, 0, NAN, 0, 1, 0};
  assert_fails(
    &ctx,
    parse(&ctx, TRIANGLE "[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3'}]}", bin, sizeof bin, &gltf),
    "rig.glb: mesh 0 primitive 0: POSITION: accessor 0: element 1 is not finite");
  uint8_t indexed[40] = {[36] = 0, 1, 3, 0};
  const char *json =
    ONE_MESH("'attributes':{'POSITION':0},'indices':1") "'accessors':[{'bufferView':0,'componentType':5126,'count':3,"
                                                        "'type':'VEC3'},"
                                                        "{'bufferView':0,'byteOffset':36,'componentType':5121,'count'"
                                                        ":3,'type':'SCALAR'}],"
                                                        "'bufferViews':[{'buffer':0,'byteLength':40}],'buffers':[{'"
                                                        "byteLength':40}]}";
  assert_fails(&ctx, parse(&ctx, json, indexed, sizeof indexed, &gltf),
               "rig.glb: mesh 0 primitive 0: index 2 is 3, but there are only 3 vertices");
  uint8_t skinned[84] = {0};
  memset(skinned + 36, 5, 12);
  float weights[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  memcpy(skinned + 48, weights, sizeof weights);
  assert_fails(
    &ctx,
    parse(&ctx,
          HEAD "'nodes':[{'mesh':0,'skin':0},{}],'skins':[{'joints':[1]}],'meshes':[{'primitives':[{"
               "'attributes':{'POSITION':0,'JOINTS_0':1,'WEIGHTS_0':2}}]}],"
               "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3'},"
               "{'bufferView':0,'byteOffset':36,'componentType':5121,'count':3,'type':'VEC4'},"
               "{'bufferView':0,'byteOffset':48,'componentType':5121,'normalized':true,'count':3,'type':'VEC4'}],"
               "'bufferViews':[{'buffer':0,'byteLength':84}],'buffers':[{'byteLength':84}]}",
          skinned, sizeof skinned, &gltf),
    "follows joint 5, but skin 0 has only 1");
}

// A chunk of JSON that is no multiple of four bytes: the next one follows at once, or at such a multiple.
static void test_odd_glb(void **state) {
  sn_context ctx = sn_context_default();
  size_t size;
  uint8_t *glb = make_keep_glb(&size);
  uint32_t json;
  memcpy(&json, glb + 12, 4);
  for (size_t more = 1; more <= 4; more += 3) {
    sn_gltf *gltf;
    uint8_t *odd = malloc(size + more);
    memcpy(odd, glb, 20 + json);
    memset(odd + 20 + json, ' ', more);
    memcpy(odd + 20 + json + more, glb + 20 + json, size - 20 - json);
    put_u32(odd + 8, (uint32_t)(size + more)), put_u32(odd + 12, json + 1);
    assert_ok(&ctx, sn_gltf_parse(&ctx, "odd.glb", odd, size + more, NULL, &gltf));
    sn_gltf_free(gltf);
    free(odd);
  }
  free(glb);
}

static void test_lying_glb(void **state) {
  sn_context ctx = sn_context_default();
  sn_gltf *gltf;
  size_t size;
  uint8_t *glb = make_keep_glb(&size);
  for (size_t cut = 0; cut < size; cut += cut < 64 ? 1 : 61) {
    uint8_t *copy = malloc(cut + 1); // exactly as long, so that the sanitizer sees any step too far
    memcpy(copy, glb, cut);
    assert_int_not_equal(sn_gltf_parse(&ctx, "cut.glb", copy, cut, NULL, &gltf), SN_OK);
    free(copy);
  }
  put_u32(glb + 12, 0xfffffff0);
  assert_fails(&ctx, sn_gltf_parse(&ctx, "lie.glb", glb, size, NULL, &gltf), "lie.glb: chunk 0 of 4294967280 bytes");
  put_u32(glb + 8, 0xfffffff0);
  assert_fails(&ctx, sn_gltf_parse(&ctx, "lie.glb", glb, size, NULL, &gltf), "is cut short");
  put_u32(glb + 4, 1);
  assert_fails(&ctx, sn_gltf_parse(&ctx, "lie.glb", glb, size, NULL, &gltf), "GLB version 1");
  free(glb);
  assert_fails(&ctx, sn_gltf_read(&ctx, "/tmp", &gltf), "is a folder");
  // brackets without end
  char *deep = malloc(100001);
  memset(deep, '[', 100000), deep[100000] = '\0';
  assert_fails(&ctx, sn_gltf_parse(&ctx, "deep", (const uint8_t *)deep, 100000, NULL, &gltf), "deep: JSON");
  free(deep);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_interleaved),
    cmocka_unit_test(test_tangents),
    cmocka_unit_test(test_sparse),
    cmocka_unit_test(test_quantised),
    cmocka_unit_test(test_data_uri_and_parts),
    cmocka_unit_test(test_external_buffer),
    cmocka_unit_test(test_strips_and_fans),
    cmocka_unit_test(test_scenes),
    cmocka_unit_test(test_weight_types),
    cmocka_unit_test(test_interpolation),
    cmocka_unit_test(test_rotation),
    cmocka_unit_test(test_morph_weights),
    cmocka_unit_test(test_attached_and_two_skins),
    cmocka_unit_test(test_hostile),
    cmocka_unit_test(test_bad_values),
    cmocka_unit_test(test_odd_glb),
    cmocka_unit_test(test_lying_glb),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
