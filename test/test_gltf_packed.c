// SPDX-License-Identifier: MIT
// Compressed glTF: EXT_meshopt_compression in all modes with all filters, Draco in both of its encodings, quantised attributes;
// damaged data; and what is written back. Encoders come with the libraries; without them there is nothing to test with.
#include "gltf_documents.h"

#include <dlfcn.h>
#include <stdbool.h>

#if __has_include(<meshoptimizer.h>)
#include <meshoptimizer.h>
#define HAS_MESHOPT 1
#else
#define HAS_MESHOPT 0
#endif

enum { room = 1 << 16 };

static sn_status parse(sn_context *ctx, const char *json, const void *bin, size_t bin_size, sn_gltf **out) {
  size_t size;
  uint8_t *glb = make_glb(json, bin, bin_size, &size);
  sn_status status = sn_gltf_parse(ctx, "rig.glb", glb, size, NULL, out);
  free(glb);
  return status;
}

// ---- meshopt ---------------------------------------------------------------------------------------------------------

#if HAS_MESHOPT

typedef struct encoders {
  __typeof__(meshopt_encodeVertexBuffer) *vertices;
  __typeof__(meshopt_encodeIndexBuffer) *triangles;
  __typeof__(meshopt_encodeIndexSequence) *indices;
  __typeof__(meshopt_encodeFilterOct) *oct;
  __typeof__(meshopt_encodeFilterQuat) *quat;
  __typeof__(meshopt_encodeFilterExp) *exp;
} encoders;

static bool load_encoders(encoders *out) {
  void *handle = dlopen("libmeshoptimizer.so", RTLD_NOW);
  if (!handle) handle = dlopen("libmeshoptimizer.so.2d", RTLD_NOW);
  if (!handle) return false;
  *(void **)&out->vertices = dlsym(handle, "meshopt_encodeVertexBuffer");
  *(void **)&out->triangles = dlsym(handle, "meshopt_encodeIndexBuffer");
  *(void **)&out->indices = dlsym(handle, "meshopt_encodeIndexSequence");
  *(void **)&out->oct = dlsym(handle, "meshopt_encodeFilterOct");
  *(void **)&out->quat = dlsym(handle, "meshopt_encodeFilterQuat");
  *(void **)&out->exp = dlsym(handle, "meshopt_encodeFilterExp");
  return out->vertices && out->triangles && out->indices && out->oct && out->quat && out->exp;
}

// A binary chunk and the JSON of its views under construction: packed data in buffer 0, what they stand for in buffer 1.
typedef struct packed {
  uint8_t bytes[room];
  size_t size, plain_size;
  char views[8192];
} packed;

static void add_view(packed *p, size_t size, size_t count, size_t stride, const char *mode, const char *filter,
                     bool vertices) {
  assert_true(size > 0);
  char stride_text[32] = "";
  if (vertices) snprintf(stride_text, sizeof stride_text, ",'byteStride':%zu", stride);
  size_t used = strlen(p->views);
  snprintf(p->views + used, sizeof p->views - used,
           "%s{'buffer':1,'byteOffset':%zu,'byteLength':%zu%s,'extensions':{'EXT_meshopt_compression':{'buffer':0,"
           "'byteOffset':%zu,'byteLength':%zu,'byteStride':%zu,'count':%zu,'mode':'%s','filter':'%s'}}}",
           used ? "," : "", p->plain_size, count * stride, stride_text, p->size, size, stride, count, mode, filter);
  p->size += (size + 3) / 4 * 4;
  p->plain_size += count * stride;
}

static void add_vertices(packed *p, const encoders *e, const void *data, size_t count, size_t stride,
                         const char *filter, bool vertices) {
  size_t size = e->vertices(p->bytes + p->size, room - p->size, data, count, stride);
  add_view(p, size, count, stride, "ATTRIBUTES", filter, vertices);
}

static const float turn[2][4] = {{0, 0, 0, 1}, {0.5f, 0.5f, 0.5f, 0.5f}};

// Two primitives of the tube: exact positions and TRIANGLES; positions through the exponential filter and INDICES. Octahedral
// normals, a rotation by the quaternion filter, a quantised morph target.
static void pack_tube(packed *p, const encoders *e, const tube *t, int8_t (*deltas)[4]) {
  int n = t->mesh.vertex_count, corners = 3 * t->mesh.triangle_count;
  uint32_t filtered[256][4], *indices = calloc((size_t)corners, sizeof *indices);
  float normals[256][4] = {0};
  int8_t small[256][4];
  int16_t quats[2][4];
  assert_in_range(n, 1, 256);
  for (int k = 0; k < corners; k++) indices[k] = (uint32_t)t->mesh.triangles[k / 3][k % 3];
  for (int i = 0; i < n; i++) {
    sn_vec3 normal = sn_vec3_make(0, t->mesh.positions[i][1], t->mesh.positions[i][2]);
    sn_vec3_store(sn_vec3_normalize(normal, normal), normals[i]);
  }
  add_vertices(p, e, t->mesh.positions, (size_t)n, 12, "NONE", true);
  size_t size = e->triangles(p->bytes + p->size, room - p->size, indices, (size_t)corners);
  add_view(p, size, (size_t)corners, 2, "TRIANGLES", "NONE", false);
  e->exp(filtered, (size_t)n, 12, 24, t->mesh.positions[0]);
  add_vertices(p, e, filtered, (size_t)n, 12, "EXPONENTIAL", true);
  size = e->indices(p->bytes + p->size, room - p->size, indices, (size_t)corners);
  add_view(p, size, (size_t)corners, 4, "INDICES", "NONE", false);
  e->oct(small, (size_t)n, 4, 8, normals[0]);
  add_vertices(p, e, small, (size_t)n, 4, "OCTAHEDRAL", true);
  e->quat(quats, 2, 8, 16, turn[0]);
  add_vertices(p, e, quats, 2, 8, "QUATERNION", false);
  float times[2] = {0, 1};
  add_vertices(p, e, times, 2, 4, "NONE", false);
  for (int i = 0; i < n; i++)
    for (int c = 0; c < 4; c++) deltas[i][c] = c < 3 ? (int8_t)(i * 7 + c * 50) : 0;
  add_vertices(p, e, deltas, (size_t)n, 4, "NONE", true);
  free(indices);
}

static void tube_document(const packed *p, const tube *t, char *json, size_t size) {
  int n = t->mesh.vertex_count, corners = 3 * t->mesh.triangle_count;
  snprintf(json, size,
           "{'asset':{'version':'2.0'},'extensionsUsed':['EXT_meshopt_compression','KHR_mesh_quantization'],"
           "'extensionsRequired':['EXT_meshopt_compression','KHR_mesh_quantization'],"
           "'nodes':[{'name':'turning','mesh':0}],'meshes':[{'weights':[0.5],'primitives':["
           "{'attributes':{'POSITION':0,'NORMAL':4},'indices':1,'targets':[{'POSITION':7}]},"
           "{'attributes':{'POSITION':2,'NORMAL':4},'indices':3,'targets':[{'POSITION':7}]}]}],"
           "'animations':[{'channels':[{'sampler':0,'target':{'node':0,'path':'rotation'}}],"
           "'samplers':[{'input':6,'output':5}]}],'accessors':["
           "{'bufferView':0,'componentType':5126,'count':%d,'type':'VEC3'},"
           "{'bufferView':1,'componentType':5123,'count':%d,'type':'SCALAR'},"
           "{'bufferView':2,'componentType':5126,'count':%d,'type':'VEC3'},"
           "{'bufferView':3,'componentType':5125,'count':%d,'type':'SCALAR'},"
           "{'bufferView':4,'componentType':5120,'normalized':true,'count':%d,'type':'VEC3'},"
           "{'bufferView':5,'componentType':5122,'normalized':true,'count':2,'type':'VEC4'},"
           "{'bufferView':6,'componentType':5126,'count':2,'type':'SCALAR'},"
           "{'bufferView':7,'componentType':5120,'normalized':true,'count':%d,'type':'VEC3'}],"
           "'bufferViews':[%s],'buffers':[{'byteLength':%zu},"
           "{'byteLength':%zu,'extensions':{'EXT_meshopt_compression':{'fallback':true}}}]}",
           n, corners, n, corners, n, n, p->views, p->size, p->plain_size);
}

// Skips where there are no encoders.
static packed *packed_tube(sn_context *ctx, tube *t, int8_t (*deltas)[4], char *json, size_t size) {
  encoders e;
  if (!load_encoders(&e)) skip();
  packed *p = calloc(1, sizeof *p);
  *t = tube_new(ctx, 3, 4, 2, false);
  pack_tube(p, &e, t, deltas);
  tube_document(p, t, json, size);
  return p;
}

static void check_tube(sn_context *ctx, const sn_gltf *gltf, const tube *t, int8_t (*deltas)[4]) {
  int n = t->mesh.vertex_count;
  sn_mesh mesh;
  sn_arena memory = sn_arena_new(ctx);
  float(*normals)[3], (*moved)[3] = calloc((size_t)n * 2, sizeof *moved);
  assert_ok(ctx, sn_gltf_mesh(ctx, gltf, &mesh));
  assert_ok(ctx, sn_gltf_normals(ctx, gltf, &memory, &normals));
  assert_int_equal(mesh.vertex_count, 2 * n);
  assert_memory_equal(mesh.positions, t->mesh.positions, (size_t)n * 12);
  for (int k = 0; k < 3 * mesh.triangle_count; k++) { // meshopt may rotate a triangle's corners
    int half = mesh.triangle_count / 2, at = k / 3 % half, second = k / 3 >= half, same = 0;
    for (int c = 0; c < 3; c++) same += mesh.triangles[k / 3][k % 3] - second * n == t->mesh.triangles[at][c];
    assert_int_equal(same, 1);
  }
  assert_ok(ctx, sn_gltf_deform(ctx, gltf, 0, 1, moved));
  for (int i = 0; i < 2 * n; i++) {
    const float *p = t->mesh.positions[i % n], radius = hypotf(p[1], p[2]);
    for (int c = 0; c < 3; c++) assert_near(mesh.positions[i][c], p[c], i < n ? 0 : 1e-6);
    assert_near(normals[i][0], 0, 0.02);
    assert_near(normals[i][1], p[1] / radius, 0.02);
    double q[3];
    for (int c = 0; c < 3; c++) q[c] = p[c] + 0.5 * fmax(deltas[i % n][c] / 127.0, -1);
    for (int c = 0; c < 3; c++) assert_near(moved[i][c], q[(c + 2) % 3], 2e-3); // x to y, y to z, z to x
  }
  free(moved);
  sn_arena_free(&memory);
  sn_mesh_free(&mesh);
}

static void test_meshopt(void **state) {
  sn_context ctx = sn_context_default();
  tube t;
  char json[12000];
  int8_t deltas[256][4];
  packed *p = packed_tube(&ctx, &t, deltas, json, sizeof json);
  sn_gltf *gltf, *again;
  assert_ok(&ctx, parse(&ctx, json, p->bytes, p->size, &gltf));
  check_tube(&ctx, gltf, &t, deltas);
  // Written back, nothing is compressed any more, and everything is there.
  const char *path = "packed-again.glb";
  assert_ok(&ctx, sn_gltf_write(&ctx, path, &(sn_gltf_out){.base = gltf}));
  assert_ok(&ctx, sn_gltf_read(&ctx, path, &again));
  check_tube(&ctx, again, &t, deltas);
  sn_file file;
  assert_ok(&ctx, sn_file_open(&ctx, path, &file));
  assert_null(memmem(file.bytes, file.size, "EXT_meshopt", 11));
  sn_file_close(&file);
  unlink(path);
  sn_gltf_free(again);
  sn_gltf_free(gltf);
  free(p);
  tube_free(&t);
}

static char *replaced(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  assert_non_null(at);
  char *out = calloc(1, strlen(text) + strlen(to) + 1);
  sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  return out;
}

static void test_meshopt_damaged(void **state) {
  static const char *const cases[][3] = {
    {"'mode':'ATTRIBUTES'", "'mode':'POINTS'", "bufferView 0: EXT_meshopt_compression: there is no mode 'POINTS'"},
    {"'filter':'NONE'", "'filter':'SOFT'", "there is no filter 'SOFT'"},
    {"'filter':'NONE'", "'filter':'QUATERNION'",
     "elements of 12 bytes cannot be ATTRIBUTES with the filter QUATERNION"},
    {"'mode':'ATTRIBUTES'", "'mode':'TRIANGLES'", "elements of 12 bytes cannot be TRIANGLES"},
    {"'byteLength':864", "'byteLength':860", "72 elements of 12 bytes are not the 860 bytes of the view"},
    {"'buffer':0,'byteOffset':0,", "'buffer':0,'byteOffset':99999,", "not in buffer"},
    {"'byteStride':12,'count':72", "'byteStride':256,'count':2000000000", "are not the 864 bytes"},
    {"'buffer':1,'byteOffset':0,'byteLength':864", "'buffer':1,'byteOffset':0,'byteLength':512000000000",
     "are not the"},
    {"'buffer':0,'byteOffset':0,'byteLength':", "'buffer':7,'byteOffset':0,'byteLength':", "buffer is 7"},
    {"'extensions':{'EXT_meshopt_compression':{'fallback':true}}", "'extras':1", "neither a uri nor a binary chunk"},
  };
  sn_context ctx = sn_context_default();
  tube t;
  char json[12000];
  int8_t deltas[256][4];
  packed *p = packed_tube(&ctx, &t, deltas, json, sizeof json);
  sn_gltf *gltf;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char *wrong = replaced(json, cases[k][0], cases[k][1]);
    assert_fails(&ctx, parse(&ctx, wrong, p->bytes, p->size, &gltf), cases[k][2]);
    free(wrong);
  }
  for (size_t k = 0; k < p->size; k += 3) { // any byte wrong: a message or other numbers, never a crash
    p->bytes[k] ^= 0x5a;
    if (parse(&ctx, json, p->bytes, p->size, &gltf) == SN_OK) sn_gltf_free(gltf);
    p->bytes[k] ^= 0x5a;
  }
  p->bytes[0] = 0;
  assert_fails(&ctx, parse(&ctx, json, p->bytes, p->size, &gltf), "its data are damaged");
  free(p);
  tube_free(&t);
}

#else
static void test_meshopt(void **state) { skip(); }
#define test_meshopt_damaged test_meshopt
#endif

// ---- Draco -------------------------------------------------------------------------------------------------------------

typedef size_t (*draco_pack)(int vertices, const float (*positions)[3], const uint16_t (*joints)[4],
                             const float (*weights)[4], int triangles, const int (*corners)[3], bool sequential,
                             int bits, uint8_t *out, size_t room);

static draco_pack load_pack(void) {
  void *handle = dlopen("libsinew-draco-pack.so", RTLD_NOW);
  draco_pack out = NULL;
  if (handle) *(void **)&out = dlsym(handle, "sn_test_draco_pack");
  return out;
}

static const char draco_document[] =
  "{'asset':{'version':'2.0'},'extensionsUsed':['KHR_draco_mesh_compression'],"
  "'extensionsRequired':['KHR_draco_mesh_compression'],"
  "'nodes':[{'mesh':0,'skin':0},{'name':'a','translation':[1,0,0]},{'name':'b','translation':[0,2,0]},"
  "{'name':'c','translation':[0,0,3]}],'skins':[{'joints':[1,2,3]}],"
  "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':1,'WEIGHTS_0':2},'indices':3,'extensions':{"
  "'KHR_draco_mesh_compression':{'bufferView':0,'attributes':{'POSITION':0,'JOINTS_0':1,'WEIGHTS_0':2}}}}]}],"
  "'accessors':[{'componentType':5126,'count':72,'type':'VEC3'},{'componentType':5121,'count':72,'type':'VEC4'},"
  "{'componentType':5126,'count':72,'type':'VEC4'},{'componentType':5123,'count':384,'type':'SCALAR'}],"
  "'bufferViews':[{'buffer':0,'byteLength':%zu}],'buffers':[{'byteLength':%zu}]}";

typedef struct draco_tube {
  tube t;
  uint8_t bytes[room];
  size_t size;
  char json[2000];
} draco_tube;

static draco_tube *pack_draco(sn_context *ctx, draco_pack pack, bool sequential, int bits) {
  draco_tube *d = calloc(1, sizeof *d);
  d->t = tube_new(ctx, 3, 4, 2, false);
  d->size =
    pack(d->t.mesh.vertex_count, (const float(*)[3])d->t.mesh.positions, (const uint16_t(*)[4])d->t.skin.joints,
         (const float(*)[4])d->t.skin.weights, d->t.mesh.triangle_count, (const int(*)[3])d->t.mesh.triangles,
         sequential, bits, d->bytes, sizeof d->bytes);
  assert_true(d->size > 0);
  snprintf(d->json, sizeof d->json, draco_document, d->size, d->size);
  return d;
}

static void free_draco(draco_tube *d) {
  tube_free(&d->t);
  free(d);
}

// Every vertex has its partner in the tube, with its place and its weights: the joints' shifts tell them apart.
static void check_draco(sn_context *ctx, const sn_gltf *gltf, const draco_tube *d, double slack) {
  int n = d->t.mesh.vertex_count;
  sn_mesh mesh;
  int nearest[256];
  double distances[256], edges[2] = {0, 0};
  float moved[256][3];
  assert_ok(ctx, sn_gltf_mesh(ctx, gltf, &mesh));
  assert_int_equal(mesh.vertex_count, n);
  assert_int_equal(mesh.triangle_count, d->t.mesh.triangle_count);
  assert_int_equal(d->t.mesh.vertex_count, n);
  assert_ok(ctx, sn_nearest_vertices(ctx, sn_mesh_points(&d->t.mesh), sn_mesh_points(&mesh), nearest, distances));
  assert_ok(ctx, sn_gltf_deform(ctx, gltf, -1, 0, moved));
  for (int i = 0; i < n; i++) {
    const uint16_t *joints = d->t.skin.joints + 4 * nearest[i];
    const float *weights = d->t.skin.weights + 4 * nearest[i];
    double shift[3] = {0, 0, 0};
    for (int k = 0; k < 4; k++) shift[joints[k]] += weights[k] * (double)(joints[k] + 1);
    assert_below(distances[i], slack);
    for (int c = 0; c < 3; c++) assert_near(moved[i][c], mesh.positions[i][c] + shift[c], 1e-5);
  }
  for (int k = 0; k < 2 * mesh.triangle_count; k++) { // the same triangles: their edges add up to the same length
    const sn_mesh *of = k % 2 ? &mesh : &d->t.mesh;
    for (int c = 0; c < 3; c++) {
      const int *corners = of->triangles[k / 2];
      edges[k % 2] +=
        sn_vec3_distance(sn_vec3_from(of->positions[corners[c]]), sn_vec3_from(of->positions[corners[(c + 1) % 3]]));
    }
  }
  assert_near(edges[0], edges[1], 1e-3 * edges[0]);
  sn_mesh_free(&mesh);
}

static void test_draco(void **state) {
  draco_pack pack = load_pack();
  if (!pack) skip();
  sn_context ctx = sn_context_default();
  for (int k = 0; k < 3; k++) {
    draco_tube *d = pack_draco(&ctx, pack, k == 0, k == 2 ? 14 : 0);
    sn_gltf *gltf, *again;
    assert_ok(&ctx, parse(&ctx, d->json, d->bytes, d->size, &gltf));
    check_draco(&ctx, gltf, d, k == 2 ? 1e-3 : 0);
    assert_ok(&ctx, sn_gltf_write(&ctx, "draco-again.glb", &(sn_gltf_out){.base = gltf}));
    assert_ok(&ctx, sn_gltf_read(&ctx, "draco-again.glb", &again));
    check_draco(&ctx, again, d, k == 2 ? 1e-3 : 0);
    unlink("draco-again.glb");
    sn_gltf_free(again);
    sn_gltf_free(gltf);
    free_draco(d);
  }
}

// Some writers call indices bytes that need more.
static void test_draco_narrow_indices(void **state) {
  enum { count = 300 };
  static float positions[count][3], weights[count][4];
  static uint16_t joints[count][4];
  static int triangles[count - 2][3];
  static uint8_t bytes[room];
  draco_pack pack = load_pack();
  if (!pack) skip();
  for (int i = 0; i < count; i++) {
    positions[i][0] = (float)i, positions[i][1] = (float)(i % 2), weights[i][0] = 1;
    for (int c = 0; c < 3 && i < count - 2; c++) triangles[i][c] = i + c;
  }
  size_t size = pack(count, positions, joints, weights, count - 2, triangles, true, 0, bytes, sizeof bytes);
  char json[2000];
  snprintf(json, sizeof json,
           "{'asset':{'version':'2.0'},'extensionsUsed':['KHR_draco_mesh_compression'],'nodes':[{'mesh':0}],"
           "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'indices':1,'extensions':{"
           "'KHR_draco_mesh_compression':{'bufferView':0,'attributes':{'POSITION':0}}}}]}],"
           "'accessors':[{'componentType':5126,'count':%d,'type':'VEC3'},"
           "{'componentType':5121,'count':%d,'type':'SCALAR'}],"
           "'bufferViews':[{'buffer':0,'byteLength':%zu}],'buffers':[{'byteLength':%zu}]}",
           count, 3 * (count - 2), size, size);
  sn_context ctx = sn_context_default();
  sn_gltf *gltf;
  sn_mesh mesh;
  assert_ok(&ctx, parse(&ctx, json, bytes, size, &gltf));
  assert_ok(&ctx, sn_gltf_mesh(&ctx, gltf, &mesh));
  assert_int_equal(mesh.triangle_count, count - 2);
  for (int k = 0; k < count - 2; k++)
    for (int c = 0; c < 3; c++) assert_near(mesh.positions[mesh.triangles[k][c]][0], k + c, 0);
  sn_mesh_free(&mesh);
  sn_gltf_free(gltf);
}

static void test_draco_damaged(void **state) {
  draco_pack pack = load_pack();
  if (!pack) skip();
  static const char *const cases[][3] = {
    {"'count':72", "'count':71", "JOINTS_0 has 72 elements, but there are 71 vertices"},
    {"'count':384", "'count':381", "mesh 0 primitive 0: its Draco data have another number of triangles"},
    {"'WEIGHTS_0':2}}", "'WEIGHTS_0':9}}", "an attribute is missing from its Draco data"},
    {"'JOINTS_0':1,'WEIGHTS_0':2}}", "'JOINTS_0':0,'WEIGHTS_0':2}}", "has another width than its accessor"},
    {"'bufferView':0,", "'bufferView':3,", "bufferView is 3"},
    {"'indices':3,", "", "has no indices"},
    {"'attributes':{'POSITION':0,'JOINTS_0':1,'WEIGHTS_0':2},'indices'", "'attributes':{'JOINTS_0':1},'indices'",
     "has no POSITION"},
    {"'POSITION':0,'JOINTS_0':1,'WEIGHTS_0':2}}", "'POSITION':-1,'JOINTS_0':1,'WEIGHTS_0':2}}",
     "'POSITION' is not an attribute's number"},
  };
  sn_context ctx = sn_context_default();
  draco_tube *d = pack_draco(&ctx, pack, false, 14);
  sn_gltf *gltf;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const char *at = strstr(d->json, cases[k][0]);
    assert_non_null(at);
    char *wrong = calloc(1, 4000);
    sprintf(wrong, "%.*s%s%s", (int)(at - d->json), d->json, cases[k][1], at + strlen(cases[k][0]));
    assert_fails(&ctx, parse(&ctx, wrong, d->bytes, d->size, &gltf), cases[k][2]);
    free(wrong);
  }
  for (size_t k = 0; k < d->size; k += 41) { // any byte wrong: a message or other numbers, whatever Draco does
    d->bytes[k] ^= 0x5a;
    if (parse(&ctx, d->json, d->bytes, d->size, &gltf) == SN_OK) sn_gltf_free(gltf);
    d->bytes[k] ^= 0x5a;
  }
  memset(d->bytes + 20, 0xff, d->size - 20);
  assert_fails(&ctx, parse(&ctx, d->json, d->bytes, d->size, &gltf), "Draco");
  free_draco(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_meshopt),       cmocka_unit_test(test_meshopt_damaged),
    cmocka_unit_test(test_draco),         cmocka_unit_test(test_draco_narrow_indices),
    cmocka_unit_test(test_draco_damaged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
