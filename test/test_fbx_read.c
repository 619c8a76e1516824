// SPDX-License-Identifier: MIT
// Reading FBX: transforms, curves, skins and shapes of small files made here, in all containers, against formulas written apart; and
// files that must be refused.
#include "fbx_maker.h"

#include "sinew/formats.h"

static const double second = 46186158000.0;

// ---- matrices of 4 x 4, apart from the library's ---------------------------------------------------------------------

typedef struct matrix {
  double m[4][4];
} matrix;

static matrix times(matrix a, matrix b) {
  matrix out = {0};
  for (int r = 0; r < 4; r++)
    for (int c = 0; c < 4; c++)
      for (int k = 0; k < 4; k++) out.m[r][c] += a.m[r][k] * b.m[k][c];
  return out;
}

static matrix scaling(const double s[3]) { return (matrix){{{s[0]}, {0, s[1]}, {0, 0, s[2]}, {0, 0, 0, 1}}}; }

static matrix moving(const double t[3], double sign) {
  return (matrix){{{1, 0, 0, sign * t[0]}, {0, 1, 0, sign * t[1]}, {0, 0, 1, sign * t[2]}, {0, 0, 0, 1}}};
}

static matrix turning(int axis, double degrees) {
  double c = cos(degrees * SN_PI / 180), s = sin(degrees * SN_PI / 180);
  int a = (axis + 1) % 3, b = (axis + 2) % 3;
  matrix out = scaling((double[]){1, 1, 1});
  out.m[a][a] = out.m[b][b] = c, out.m[b][a] = s, out.m[a][b] = -s;
  return out;
}

// The first letter of the order rotates first.
static matrix euler(const double degrees[3], const char *order) {
  matrix out = scaling((double[]){1, 1, 1});
  for (int k = 0; k < 3; k++) out = times(turning(order[k] - 'X', degrees[order[k] - 'X']), out);
  return out;
}

static matrix transposed(matrix a) { // the inverse of a rotation
  matrix out;
  for (int k = 0; k < 16; k++) out.m[k / 4][k % 4] = a.m[k % 4][k / 4];
  return out;
}

// ---- models --------------------------------------------------------------------------------------------------------------

static const char *const orders[] = {"XYZ", "XZY", "YZX", "YXZ", "ZXY", "ZYX"};

// Everything that a model's transform has.
typedef struct model {
  double lcl[9]; // translation, rotation, scale
  double pre[3], post[3], roff[3], rpiv[3], soff[3], spiv[3], gt[3], gr[3], gs[3];
  int order, inherit;
} model;

static void put_model(maker *m, int64_t id, const char *name, const char *type, const model *x) {
  const struct {
    const char *name;
    const double *values;
  } parts[] = {{"Lcl Translation", x->lcl},     {"Lcl Rotation", x->lcl + 3}, {"Lcl Scaling", x->lcl + 6},
               {"PreRotation", x->pre},         {"PostRotation", x->post},    {"RotationOffset", x->roff},
               {"RotationPivot", x->rpiv},      {"ScalingOffset", x->soff},   {"ScalingPivot", x->spiv},
               {"GeometricTranslation", x->gt}, {"GeometricRotation", x->gr}, {"GeometricScaling", x->gs}};
  fbx_object_begin(m, "Model", id, name, type);
  fbx_begin(m, "Properties70");
  fbx_property(m, "RotationActive", 1, (double[]){1});
  fbx_property(m, "RotationOrder", 1, (double[]){x->order});
  fbx_property(m, "InheritType", 1, (double[]){x->inherit});
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) fbx_property(m, parts[k].name, 3, parts[k].values);
  fbx_end(m);
  fbx_end(m);
}

static matrix rotation_of(const model *x) {
  return times(times(euler(x->pre, "XYZ"), euler(x->lcl + 3, orders[x->order])), transposed(euler(x->post, "XYZ")));
}

// T Roff Rp Rpre R Rpost^-1 Rp^-1 Soff Sp S Sp^-1
static matrix local_of(const model *x) {
  const matrix chain[] = {moving(x->lcl, 1),  moving(x->roff, 1),  moving(x->rpiv, 1),
                          rotation_of(x),     moving(x->rpiv, -1), moving(x->soff, 1),
                          moving(x->spiv, 1), scaling(x->lcl + 6), moving(x->spiv, -1)};
  matrix out = chain[0];
  for (size_t k = 1; k < sizeof chain / sizeof *chain; k++) out = times(out, chain[k]);
  return out;
}

// Where the rotation, the scale and the origin of a model stand, as the SDK's documentation composes them.
typedef struct place {
  matrix world, rotation, scale;
  double local_scale[3];
} place;

static place below(const place *parent, const model *x) {
  place out;
  matrix local = local_of(x), own = rotation_of(x), s = scaling(x->lcl + 6), above = parent->scale;
  out.rotation = times(parent->rotation, own);
  for (int k = 0; k < 3 && x->inherit == 2; k++) above.m[k][k] /= parent->local_scale[k];
  out.scale = times(above, s);
  matrix linear = times(out.rotation, out.scale);
  if (x->inherit == 1) {
    matrix whole = parent->world;
    for (int r = 0; r < 3; r++) whole.m[r][3] = 0;
    linear = times(times(whole, own), s);
  }
  double origin[3];
  for (int r = 0; r < 3; r++) {
    origin[r] = parent->world.m[r][3];
    for (int c = 0; c < 3; c++) origin[r] += parent->world.m[r][c] * local.m[c][3];
  }
  out.world = times(moving(origin, 1), linear);
  memcpy(out.local_scale, x->lcl + 6, sizeof out.local_scale);
  return out;
}

static place nowhere(void) {
  matrix one = scaling((double[]){1, 1, 1});
  return (place){one, one, one, {1, 1, 1}};
}

static model random_model(sn_random *rng) {
  model x = {.order = sn_random_below(rng, 6), .inherit = 1};
  double *const angles[] = {x.lcl + 3, x.pre, x.post, x.gr}, *const places[] = {x.lcl,  x.roff, x.rpiv,
                                                                                x.soff, x.spiv, x.gt};
  for (int k = 0; k < 12; k++) angles[k / 3][k % 3] = 60 * sn_random_normal(rng);
  for (int k = 0; k < 18; k++) places[k / 3][k % 3] = 2 * sn_random_normal(rng);
  for (int k = 0; k < 3; k++) x.lcl[6 + k] = 0.5 + sn_random_uniform(rng), x.gs[k] = 0.5 + sn_random_uniform(rng);
  return x;
}

// ---- files -----------------------------------------------------------------------------------------------------------------

static const double points[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {0, 0, 3}};

static void put_geometry(maker *m, int64_t id) {
  const int32_t corners[] = {0, 1, -3, 0, 2, 3, -2}; // a triangle and a quadrangle
  fbx_object_begin(m, "Geometry", id, "shape", "Mesh");
  fbx_named_array(m, "Vertices", 'd', points, 12);
  fbx_named_array(m, "PolygonVertexIndex", 'i', corners, 7);
  fbx_end(m);
}

// A curve with keys at these seconds. flags and data (four numbers of each key) may be NULL: linear.
static void put_curve(maker *m, int64_t id, int count, const double *seconds, const float *values,
                      const int32_t *flags, const float *data) {
  int64_t ticks[64];
  int32_t repeats[64];
  for (int k = 0; k < count; k++) ticks[k] = (int64_t)llround(seconds[k] * second), repeats[k] = 1;
  fbx_object_begin(m, "AnimationCurve", id, "", "");
  fbx_named_array(m, "KeyTime", 'l', ticks, (size_t)count);
  fbx_named_array(m, "KeyValueFloat", 'f', values, (size_t)count);
  if (flags) {
    fbx_named_array(m, "KeyAttrFlags", 'i', flags, (size_t)count);
    fbx_named_array(m, "KeyAttrDataFloat", m->kind == FBX_TEXT ? 'i' : 'f', data,
                    4 * (size_t)count); // text: their bits
    fbx_named_array(m, "KeyAttrRefCount", 'i', repeats, (size_t)count);
  }
  fbx_end(m);
}

static void put_stack(maker *m) {
  fbx_object_begin(m, "AnimationStack", 4000, "take", "");
  fbx_end(m);
  fbx_object_begin(m, "AnimationLayer", 4001, "base", "");
  fbx_end(m);
}

static void put_curve_node(maker *m, int64_t id, const char *name) {
  fbx_object_begin(m, "AnimationCurveNode", id, name, "");
  fbx_end(m);
}

// With SINEW_FBX_OUT set, files stay there as seeds of the fuzzer.
static void keep(const maker *m) {
  static int number;
  const char *folder = getenv("SINEW_FBX_OUT");
  char path[4096];
  if (!folder) return;
  snprintf(path, sizeof path, "%s/made%d.fbx", folder, number++);
  FILE *out = fopen(path, "wb");
  if (out) fwrite(m->bytes, 1, m->size, out);
  if (out) fclose(out);
}

static void parse(sn_context *ctx, const maker *m, sn_gltf **out) {
  keep(m);
  assert_ok(ctx, sn_fbx_parse(ctx, "made.fbx", m->bytes, m->size, out));
}

static void assert_points(sn_context *ctx, const sn_gltf *gltf, int clip, double t, matrix world, const model *x) {
  float shown[4][3];
  matrix geometric = times(times(moving(x->gt, 1), euler(x->gr, "XYZ")), scaling(x->gs)),
         all = times(world, geometric);
  assert_ok(ctx, sn_gltf_deform(ctx, gltf, clip, t, shown));
  for (int i = 0; i < 4; i++)
    for (int r = 0; r < 3; r++) {
      double wanted = all.m[r][3];
      for (int c = 0; c < 3; c++) wanted += all.m[r][c] * points[i][c];
      assert_near(shown[i][r], wanted, 2e-5 * (1 + fabs(wanted)));
    }
}

// ---- transforms ----------------------------------------------------------------------------------------------------------

enum { chain_length = 3, key_count = 5 };

static const char *const parts[3] = {"Lcl Translation", "Lcl Rotation", "Lcl Scaling"};

// Three models below each other, the last with a mesh; all nine numbers of each animated with a key at every frame.
static maker make_chain(maker_kind kind, const model *x, double keys[chain_length][key_count][9]) {
  maker m = maker_new(kind);
  double seconds[key_count];
  float values[key_count];
  for (int k = 0; k < key_count; k++) seconds[k] = (k + 2) / 24.0;
  fbx_head(&m);
  fbx_begin(&m, "Objects");
  put_geometry(&m, 1000);
  put_stack(&m);
  for (int b = 0; b < chain_length; b++) {
    put_model(&m, 2000 + b, b == 2 ? "shown" : "above", b == 2 ? "Mesh" : "Null", &x[b]);
    for (int p = 0; p < 3; p++) put_curve_node(&m, 5000 + 10 * b + p, "part");
    for (int c = 0; c < 9; c++) {
      for (int k = 0; k < key_count; k++) values[k] = (float)keys[b][k][c];
      put_curve(&m, 6000 + 10 * b + c, key_count, seconds, values, NULL, NULL);
    }
  }
  fbx_end(&m);
  fbx_begin(&m, "Connections");
  fbx_connect(&m, 1000, 2002, NULL);
  fbx_connect(&m, 4001, 4000, NULL);
  for (int b = 0; b < chain_length; b++) {
    fbx_connect(&m, 2000 + b, b > 0 ? 1999 + b : 0, NULL);
    for (int p = 0; p < 3; p++) {
      fbx_connect(&m, 5000 + 10 * b + p, 4001, NULL);
      fbx_connect(&m, 5000 + 10 * b + p, 2000 + b, parts[p]);
    }
    for (int c = 0; c < 9; c++)
      fbx_connect(&m, 6000 + 10 * b + c, 5000 + 10 * b + c / 3, (const char *[]){"d|X", "d|Y", "d|Z"}[c % 3]);
  }
  fbx_end(&m);
  fbx_finish(&m);
  return m;
}

static void check_chain(maker_kind kind, int inherit, uint64_t seed) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(seed);
  model x[chain_length];
  double keys[chain_length][key_count][9];
  for (int b = 0; b < chain_length; b++) {
    x[b] = random_model(&rng);
    x[b].inherit = inherit;
    for (int k = 0; k < key_count; k++)
      for (int c = 0; c < 9; c++)
        keys[b][k][c] = (float)(c < 6 ? x[b].lcl[c] + 10 * sn_random_normal(&rng) : 0.5 + sn_random_uniform(&rng));
  }
  maker m = make_chain(kind, x, keys);
  sn_gltf *gltf;
  parse(&ctx, &m, &gltf);
  sn_clip_info clip = sn_gltf_clip(gltf, 0);
  assert_near(clip.start, 2 / 24.0, 1e-6);
  assert_near(clip.end, 6 / 24.0, 1e-6);
  for (int k = -1; k < key_count; k++) {
    place at = nowhere();
    for (int b = 0; b < chain_length; b++) {
      model now = x[b];
      if (k >= 0) memcpy(now.lcl, keys[b][k], sizeof keys[b][k]);
      at = below(&at, &now);
    }
    assert_points(&ctx, gltf, k < 0 ? -1 : 0, (k + 2) / 24.0, at.world, &x[2]);
  }
  sn_gltf_free(gltf);
  free(m.bytes);
}

static void test_transforms(void **state) {
  for (int kind = 0; kind < FBX_KINDS; kind++)
    for (uint64_t seed = 1; seed <= 6; seed++) check_chain((maker_kind)kind, 1, seed);
}

// 0: rotations and scales are inherited apart (RrSs); 2: the parent's scale is not (Rrs).
static void test_inherited_scales(void **state) {
  for (uint64_t seed = 1; seed <= 6; seed++) check_chain(FBX_BINARY, 0, seed), check_chain(FBX_TEXT, 2, seed);
}

// ---- curves ----------------------------------------------------------------------------------------------------------------

static maker_kind curve_kind = FBX_BINARY;

// One model whose x (of a translation, rotation or scale) is a curve.
static maker make_curve(const char *property, int count, const double *seconds, const float *values,
                        const int32_t *flags, const float *data) {
  maker m = maker_new(curve_kind);
  const model still = {.lcl = {[6] = 1, 1, 1}, .gs = {1, 1, 1}};
  fbx_head(&m);
  fbx_begin(&m, "Objects");
  put_geometry(&m, 1000);
  put_model(&m, 2000, "shown", "Mesh", &still);
  put_stack(&m);
  put_curve_node(&m, 5000, "T");
  put_curve(&m, 6000, count, seconds, values, flags, data);
  fbx_end(&m);
  fbx_begin(&m, "Connections");
  fbx_connect(&m, 2000, 0, NULL);
  fbx_connect(&m, 1000, 2000, NULL);
  fbx_connect(&m, 4001, 4000, NULL);
  fbx_connect(&m, 5000, 4001, NULL);
  fbx_connect(&m, 5000, 2000, property);
  fbx_connect(&m, 6000, 5000, "d|X");
  fbx_end(&m);
  fbx_finish(&m);
  return m;
}

static double x_at(sn_context *ctx, const sn_gltf *gltf, double t) {
  float shown[4][3];
  assert_ok(ctx, sn_gltf_deform(ctx, gltf, 0, t, shown));
  return (double)shown[0][0];
}

// Between keys: held, the next key's, linear, and cubic with the slopes that the file gives.
static void test_interpolation(void **state) {
  curve_kind = *state ? FBX_TEXT : FBX_BINARY;
  sn_context ctx = sn_context_default();
  const double seconds[5] = {0, 0.5, 1, 1.5, 2.5};
  const float values[5] = {1, 5, 2, 4, 8};
  const int32_t flags[5] = {2, 0x102, 4, 8, 8};
  float weights;
  memcpy(&weights, &(uint32_t){3333u | 3333u << 16}, 4);
  const float data[20] = {[12] = 6, -2, weights, 0};
  maker m = make_curve(parts[0], 5, seconds, values, flags, data);
  sn_gltf *gltf;
  parse(&ctx, &m, &gltf);
  for (int f = 0; f <= 60; f++) {
    double t = f / 24.0, wanted, s = t - 1.5;
    if (f < 12) {
      wanted = 1;
    } else if (f < 24) {
      wanted = f == 12 ? 5 : 2;
    } else if (f < 36) {
      wanted = 2 + 2 * (t - 1) / 0.5;
    } else { // Hermite over one second: slopes 6 and -2
      wanted = 4 * (2 * s * s * s - 3 * s * s + 1) + 6 * (s * s * s - 2 * s * s + s) +
               8 * (3 * s * s - 2 * s * s * s) - 2 * (s * s * s - s * s);
    }
    assert_near(x_at(&ctx, gltf, t), wanted, 1e-5);
  }
  assert_near(x_at(&ctx, gltf, 0.49), 1, 1e-5); // held to the end
  sn_gltf_free(gltf);
  free(m.bytes);
  curve_kind = FBX_BINARY;
}

static void test_text_interpolation(void **state) {
  *state = &curve_kind;
  test_interpolation(state);
  *state = NULL;
}

// Cubic keys that do not give their slopes: automatic tangents of all kinds, and tension, continuity and bias.
static void test_found_slopes(void **state) {
  static const struct {
    int32_t flags;
    float values[4];
    double right[3], left[3]; // slopes after the first three keys, and before the last three
  } rows[] = {
    {0x2100, {0, 2, 2, 6}, {2, 1, 4 / 3.0}, {1, 4 / 3.0, 2}},
    {0x100, {0, 2, 2, 6}, {2, 1, 1}, {1, 1, 2}},
    {0x3100, {0, 2, 2, 6}, {2, 0, 0}, {0, 0, 2}},
    {0x6100, {0, 2, 2.1f, 6}, {0, 0.3, 0.3}, {0.3, 0.3, 0}},
    {0x200, {0, 2, 2.1f, 6}, {1.125, 0.340625, 2.25625 / 4}, {0.234375, 3.69375 / 4, 0.365625}},
  };
  const double seconds[4] = {0, 1, 2, 4};
  for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
    sn_context ctx = sn_context_default();
    int32_t flags[4];
    float data[16] = {0}, own[3] = {0.5, 0.25, -0.5};
    for (int k = 0; k < 4; k++) flags[k] = rows[n].flags | 8;
    for (int k = 0; rows[n].flags == 0x200 && k < 12; k++) data[4 * (k / 3) + k % 3] = own[k % 3];
    maker m = make_curve(parts[0], 4, seconds, rows[n].values, flags, data);
    sn_gltf *gltf;
    parse(&ctx, &m, &gltf);
    for (int f = 0; f <= 96; f++) {
      int k = f < 24 ? 0 : f < 48 ? 1 : 2;
      double span = seconds[k + 1] - seconds[k], s = (f / 24.0 - seconds[k]) / span, r = 1 - s;
      double wanted = rows[n].values[k] * r * r * (1 + 2 * s) + rows[n].values[k + 1] * s * s * (3 - 2 * s) +
                      span * (rows[n].right[k] * s * r * r - rows[n].left[k] * s * s * r);
      assert_near(x_at(&ctx, gltf, f / 24.0), wanted, 1e-5);
    }
    sn_gltf_free(gltf);
    free(m.bytes);
  }
}

// Weighted tangents: a Bezier curve whose handles reach 0.1 and 0.6 of the way.
static void test_weighted_tangents(void **state) {
  sn_context ctx = sn_context_default();
  const double seconds[2] = {0, 2};
  const float values[2] = {0, 10};
  const int32_t flags[2] = {8 | 1 << 24 | 1 << 25, 8};
  float weights;
  memcpy(&weights, &(uint32_t){1000u | 6000u << 16}, 4);
  const float data[8] = {3, 1, weights, 0};
  maker m = make_curve(parts[0], 2, seconds, values, flags, data);
  sn_gltf *gltf;
  parse(&ctx, &m, &gltf);
  for (int k = 0; k <= 1000; k++) { // the curve itself, wherever a frame is near
    double u = k / 1000.0, r = 1 - u, p1 = 3 * 0.1 * 2, p2 = 10 - 1 * 0.6 * 2;
    double t = 2 * (3 * u * r * r * 0.1 + 3 * u * u * r * 0.4 + u * u * u);
    double y = 3 * u * r * r * p1 + 3 * u * u * r * p2 + u * u * u * 10, frame = round(t * 24) / 24;
    if (fabs(t - frame) < 2e-4) assert_near(x_at(&ctx, gltf, frame), y, 1e-2);
  }
  sn_gltf_free(gltf);
  free(m.bytes);
}

// Two keys, 1440 degrees apart: interpolation goes all the way, not the shortest (none).
static void test_whole_turns(void **state) {
  sn_context ctx = sn_context_default();
  maker m = make_curve(parts[1], 2, (double[]){0, 2}, (float[]){0, 1440}, NULL, NULL);
  sn_gltf *gltf;
  parse(&ctx, &m, &gltf);
  for (int f = 0; f <= 48; f++) {
    float shown[4][3];
    assert_ok(&ctx, sn_gltf_deform(&ctx, gltf, 0, f / 24.0, shown));
    assert_near(shown[2][1], 2 * cos(f * 30 * SN_PI / 180), 1e-5);
    assert_near(shown[2][2], 2 * sin(f * 30 * SN_PI / 180), 1e-5);
  }
  sn_gltf_free(gltf);
  free(m.bytes);
}

// ---- skins -------------------------------------------------------------------------------------------------------------------

static void put_matrix(maker *m, const char *name, matrix a) {
  double columns[16];
  for (int k = 0; k < 16; k++) columns[k] = a.m[k % 4][k / 4];
  fbx_named_array(m, name, 'd', columns, 16);
}

// Bound in one pose, standing in another. The last vertex has no weight and stays with the mesh's model. Joints have one name.
static void test_skin(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(7);
  model mesh = random_model(&rng), joints[2] = {random_model(&rng), random_model(&rng)};
  matrix bind[2] = {times(moving(joints[0].rpiv, 1), euler(joints[1].pre, "XYZ")),
                    times(moving(joints[1].rpiv, 1), euler(joints[0].pre, "XYZ"))};
  matrix bound = times(moving(mesh.roff, 1), euler(mesh.post, "XYZ"));
  const int32_t who[2][3] = {{0, 1, 2}, {2}};
  const double weights[2][3] = {{1, 2, 0.25}, {0.75}}; // not of sum 1: made so
  maker m = maker_new(FBX_PACKED);
  fbx_head(&m);
  fbx_begin(&m, "Objects");
  put_geometry(&m, 1000);
  put_model(&m, 2000, "body", "Mesh", &mesh);
  fbx_object_begin(&m, "Deformer", 3000, "skin", "Skin");
  fbx_end(&m);
  for (int j = 0; j < 2; j++) {
    put_model(&m, 2001 + j, "joint", "LimbNode", &joints[j]);
    fbx_object_begin(&m, "Deformer", 3001 + j, "cluster", "Cluster");
    fbx_named_array(&m, "Indexes", 'i', who[j], j ? 1 : 3);
    fbx_named_array(&m, "Weights", 'd', weights[j], j ? 1 : 3);
    matrix back = transposed(bind[j]); // of a rigid motion
    for (int k = 0; k < 3; k++) back.m[3][k] = 0;
    double t[3] = {bind[j].m[0][3], bind[j].m[1][3], bind[j].m[2][3]};
    put_matrix(&m, "Transform", times(times(back, moving(t, -1)), bound));
    put_matrix(&m, "TransformLink", bind[j]);
    fbx_end(&m);
  }
  fbx_end(&m);
  fbx_begin(&m, "Connections");
  fbx_connect(&m, 2000, 0, NULL);
  fbx_connect(&m, 1000, 2000, NULL);
  fbx_connect(&m, 3000, 1000, NULL);
  for (int j = 0; j < 2; j++) {
    fbx_connect(&m, 2001 + j, 0, NULL);
    fbx_connect(&m, 3001 + j, 3000, NULL);
    fbx_connect(&m, 2001 + j, 3001 + j, NULL);
  }
  fbx_end(&m);
  fbx_finish(&m);
  sn_gltf *gltf;
  parse(&ctx, &m, &gltf);

  sn_mesh rest;
  float shown[4][3];
  assert_ok(&ctx, sn_gltf_mesh(&ctx, gltf, &rest));
  assert_ok(&ctx, sn_gltf_deform(&ctx, gltf, -1, 0, shown));
  assert_int_equal(rest.vertex_count, 4);
  matrix geometric = times(times(moving(mesh.gt, 1), euler(mesh.gr, "XYZ")), scaling(mesh.gs));
  matrix at_rest = times(bound, geometric), maps[3] = {0};
  for (int j = 0; j < 2; j++) {
    matrix back = transposed(bind[j]);
    for (int k = 0; k < 3; k++) back.m[3][k] = 0;
    double t[3] = {bind[j].m[0][3], bind[j].m[1][3], bind[j].m[2][3]};
    maps[j] = times(times(local_of(&joints[j]), times(back, moving(t, -1))), at_rest);
  }
  maps[2] = times(local_of(&mesh), geometric);
  const double shares[4][3] = {{1}, {1}, {0.25, 0.75}, {0, 0, 1}};
  for (int i = 0; i < 4; i++)
    for (int r = 0; r < 3; r++) {
      double p = at_rest.m[r][3], q = 0;
      for (int c = 0; c < 3; c++) p += at_rest.m[r][c] * points[i][c];
      for (int j = 0; j < 3; j++) {
        double own = maps[j].m[r][3];
        for (int c = 0; c < 3; c++) own += maps[j].m[r][c] * points[i][c];
        q += shares[i][j] * own;
      }
      assert_near(rest.positions[i][r], p, 1e-4);
      assert_near(shown[i][r], q, 1e-4);
    }
  sn_mesh_free(&rest);
  sn_gltf_free(gltf);
  free(m.bytes);
}

// Files of our own come back whatever their joints are called.
static void test_own_names(void **state) {
  sn_context ctx = sn_context_default();
  sn_mesh mesh;
  sn_skeleton skeleton, again;
  sn_skin skin;
  sn_poses poses, back;
  static char longest[5001];
  memset(longest, 'n', 5000);
  char *names[] = {"joint", "joint", longest, "joint"}, path[4200];
  snprintf(path, sizeof path, "%s/own.fbx", scratch_folder());
  assert_ok(&ctx, sn_mesh_new(&ctx, 4, 1, &mesh));
  assert_ok(&ctx, sn_skeleton_new(&ctx, 4, &skeleton));
  assert_ok(&ctx, sn_skin_new(&ctx, 4, 1, &skin));
  assert_ok(&ctx, sn_poses_new(&ctx, 4, 3, &poses));
  mesh.triangles[0][1] = 1, mesh.triangles[0][2] = 2;
  for (int j = 0; j < 4; j++) {
    mesh.positions[j][j % 3] = (float)(1 + j);
    skeleton.names[j] = names[j], skeleton.parents[j] = j - 1;
    skeleton.rest[j] = sn_affine_make(sn_mat3_identity(), sn_vec3_make(j, 0, 0));
    skin.joints[j] = (uint16_t)j, skin.weights[j] = 1;
    for (int f = 0; f < 3; f++)
      sn_pose(&poses, f)[j] =
        sn_affine_about(sn_rotation_exp(sn_vec3_make(0, 0.1 * f * j, 0.2 * f)), sn_vec3_make(0, 0, 0));
  }
  assert_ok(&ctx, sn_skeleton_sort(&ctx, &skeleton));
  sn_gltf_clip_out clip = {.name = "turn", .poses = &poses, .frame_count = 3};
  sn_gltf_out out = {.mesh = &mesh, .skeleton = &skeleton, .skin = &skin, .clip_count = 1, .clips = &clip, .fps = 24};
  assert_ok(&ctx, sn_fbx_write(&ctx, path, &out));
  sn_gltf *gltf;
  assert_ok(&ctx, sn_gltf_read(&ctx, path, &gltf));
  assert_ok(&ctx, sn_gltf_skeleton(&ctx, gltf, &again, NULL));
  assert_int_equal(again.joint_count, 4);
  for (int j = 0; j < 4; j++) assert_int_equal(again.parents[j], j - 1);
  assert_string_equal(again.names[2], longest);
  assert_ok(&ctx, sn_gltf_poses(&ctx, gltf, 0, &(sn_choice){.fps = 24}, -1, &back));
  assert_int_equal(back.frame_count, 3);
  for (int k = 0; k < 12 * 12; k++)
    assert_near(back.matrices[k / 12].m[k % 12 / 4][k % 4], poses.matrices[k / 12].m[k % 12 / 4][k % 4], 1e-5);
  unlink(path);
  sn_gltf_free(gltf);
  sn_poses_free(&back);
  sn_skeleton_free(&again);
  sn_poses_free(&poses);
  sn_skin_free(&skin);
  sn_skeleton_free(&skeleton);
  sn_mesh_free(&mesh);
}

// ---- what lies on the mesh -----------------------------------------------------------------------------------------------------

// Copied to a .glb the mesh is split at seams and materials, and every corner is what it was.
static void check_split_copy(sn_context *ctx, const sn_gltf *gltf, const sn_mesh *mesh, const sn_surface *surface) {
  char path[4200];
  sn_gltf *copy;
  sn_mesh split;
  sn_surface lies;
  snprintf(path, sizeof path, "%s/copy.glb", scratch_folder());
  assert_ok(ctx, sn_gltf_write(ctx, path, &(sn_gltf_out){.base = gltf}));
  assert_ok(ctx, sn_gltf_read(ctx, path, &copy));
  assert_ok(ctx, sn_gltf_mesh(ctx, copy, &split));
  assert_ok(ctx, sn_gltf_surface(ctx, copy, &lies));
  assert_int_equal(sn_gltf_count(copy).parts, 2);
  assert_int_equal(split.triangle_count, mesh->triangle_count);
  assert_int_equal(split.vertex_count, 3 + 5); // a triangle; a quadrangle of which one corner has two coordinates
  for (int c = 0; c < 3 * mesh->triangle_count; c++) { // the first material comes first, here as in the file
    int a = mesh->triangles[c / 3][c % 3], b = split.triangles[c / 3][c % 3];
    assert_memory_equal(split.positions[b], mesh->positions[a], sizeof *mesh->positions);
    assert_memory_equal(lies.uvs[c], surface->uvs[c], sizeof *lies.uvs);
    assert_int_equal(lies.materials[c / 3], surface->materials[c / 3]);
  }
  unlink(path);
  sn_surface_free(&lies);
  sn_mesh_free(&split);
  sn_gltf_free(copy);
}

// Corners of one control point with two texture coordinates: still four vertices, and each corner has its own.
static void test_surface(void **state) {
  sn_context ctx = sn_context_default();
  const model still = {.lcl = {[6] = 1, 1, 1}, .gs = {1, 1, 1}};
  const double uvs[6] = {0.25, 0.5, 0.75, 0.125, 1, 0};
  const int32_t numbers[10] = {0, 1, 2, 2, 2, 1, 0, 0, 1, 0}, materials[3] = {1, 0, 0};
  const int32_t corners[] = {0, 1, -3, 0, 2, 3, -2, 0, 3, -2};
  maker m = maker_new(FBX_WIDE);
  fbx_head(&m);
  fbx_begin(&m, "Objects");
  fbx_object_begin(&m, "Geometry", 1000, "shape", "Mesh");
  fbx_named_array(&m, "Vertices", 'd', points, 12);
  fbx_named_array(&m, "PolygonVertexIndex", 'i', corners, 10);
  fbx_begin(&m, "LayerElementUV");
  fbx_named_text(&m, "MappingInformationType", "ByPolygonVertex");
  fbx_named_text(&m, "ReferenceInformationType", "IndexToDirect");
  fbx_named_array(&m, "UV", 'd', uvs, 6);
  fbx_named_array(&m, "UVIndex", 'i', numbers, 10);
  fbx_end(&m);
  fbx_begin(&m, "LayerElementMaterial");
  fbx_named_text(&m, "MappingInformationType", "ByPolygon");
  fbx_named_text(&m, "ReferenceInformationType", "IndexToDirect");
  fbx_named_array(&m, "Materials", 'i', materials, 3);
  fbx_end(&m);
  fbx_end(&m);
  put_model(&m, 2000, "shown", "Mesh", &still);
  for (int k = 0; k < 2; k++) {
    fbx_object_begin(&m, "Material", 3000 + k, k ? "red" : "blue", "");
    fbx_begin(&m, "Properties70");
    fbx_property(&m, "DiffuseColor", 3, (double[]){k, 0, 1 - k});
    fbx_end(&m);
    fbx_end(&m);
  }
  fbx_end(&m);
  fbx_begin(&m, "Connections");
  fbx_connect(&m, 2000, 0, NULL);
  fbx_connect(&m, 1000, 2000, NULL);
  fbx_connect(&m, 3000, 2000, NULL);
  fbx_connect(&m, 3001, 2000, NULL);
  fbx_end(&m);
  fbx_finish(&m);
  sn_gltf *gltf;
  sn_mesh mesh;
  sn_surface surface;
  parse(&ctx, &m, &gltf);
  assert_ok(&ctx, sn_gltf_mesh(&ctx, gltf, &mesh));
  assert_ok(&ctx, sn_gltf_surface(&ctx, gltf, &surface));
  assert_int_equal(mesh.vertex_count, 4);
  assert_int_equal(mesh.triangle_count, 4);
  const int triangles[4][3] = {{0, 1, 2}, {0, 2, 3}, {0, 3, 1}, {0, 3, 1}},
            seen[12] = {0, 1, 2, 2, 2, 1, 2, 1, 0, 0, 1, 0}, wanted[4] = {1, 0, 0, 0};
  assert_memory_equal(mesh.triangles, triangles, sizeof triangles);
  for (int c = 0; c < 12; c++) {
    assert_near(surface.uvs[c][0], uvs[2 * seen[c]], 1e-6);
    assert_near(surface.uvs[c][1], 1 - uvs[2 * seen[c] + 1], 1e-6);
    assert_int_equal(surface.materials[c / 3], wanted[c / 3]);
  }
  assert_string_equal(surface.material_names[1], "red");
  assert_near(surface.colors[1][0], 1, 1e-6);
  check_split_copy(&ctx, gltf, &mesh, &surface);
  sn_look look;
  assert_ok(&ctx, sn_gltf_look(&ctx, gltf, &look));
  assert_int_equal(look.part_count, 2);
  assert_int_equal(look.parts[1].first_triangle, 1);
  assert_int_equal(look.parts[1].triangle_count, 3);
  assert_near(look.parts[0].colour[0], 1, 1e-6);
  assert_near(look.parts[1].colour[2], 1, 1e-6);
  sn_look_free(&look);
  sn_surface_free(&surface);
  sn_mesh_free(&mesh);
  sn_gltf_free(gltf);
  free(m.bytes);
}

// ---- properties of models and shapes in text ---------------------------------------------------------------------------------

#define HEAD "FBXHeaderExtension: { FBXVersion: 7400\n }\n"
#define MESH                                                                                                         \
  "Geometry: 1, \"Geometry::g\", \"Mesh\" { Vertices: *9 { a: 0,0,0, ; a comment\n1,0,0,0,1,0 }\n"                   \
  "PolygonVertexIndex: *3 { a: 0,1,-3 } }\n"
#define BODY "Model: 2, \"Model::body\", \"Mesh\" { Properties70: { } }\n"
#define LINKS "C: \"OO\",1,2\n C: \"OO\",2,0\n"
#define SHAPE(id, indices, offsets)                                                                                  \
  "Geometry: " #id ", \"Geometry::s\", \"Shape\" { Indexes: " indices "\n Vertices: " offsets "\n }\n"
#define CHANNEL(percents)                                                                                            \
  "Deformer: 20, \"\", \"BlendShape\" { }\n Deformer: 21, \"\", \"BlendShapeChannel\" { FullWeights: " percents      \
  "\n }\n"                                                                                                           \
  "AnimationStack: 10, \"\", \"\" { }\n AnimationLayer: 11, \"\", \"\" { }\n AnimationCurveNode: 13, \"\", \"\" { "  \
  "}\n"                                                                                                              \
  "AnimationCurve: 14, \"\", \"\" { KeyTime: *2 { a: 0,46186158000 }\n KeyValueFloat: *2 { a: -100,150 } } }\n"      \
  "Connections: { " LINKS "C: \"OO\",20,1\n C: \"OO\",21,20\n C: \"OO\",11,10\n C: \"OO\",13,11\n"                   \
  "C: \"OP\",13,21, \"DeformPercent\"\n C: \"OP\",14,13, \"d|DeformPercent\"\n C: \"OO\",31,21\n"

static void parse_text(sn_context *ctx, const char *text, sn_gltf **out) {
  assert_ok(ctx, sn_fbx_parse(ctx, "made.fbx", (const uint8_t *)text, strlen(text), out));
}

// Shapes on both sides of the mesh itself, in any order; Blender's percentages of a shape's vertices.
static void test_shapes(void **state) {
  sn_context ctx = sn_context_default();
  sn_gltf *gltf;
  const double wanted[][2] = {{-100, 2}, {-50, 1}, {-25, 0.5}, {0, 0}, {25, 1.5}, {75, 5.5}, {150, 13}};
  float shown[3][3];
  parse_text(&ctx,
             HEAD "Objects: { " MESH BODY SHAPE(31, "1", "0,0,1") SHAPE(32, "1", "0,0,8") SHAPE(33, "1", "0,0,3")
               CHANNEL("-50,100,50") "C: \"OO\",32,21\n C: \"OO\",33,21\n }",
             &gltf);
  for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
    assert_ok(&ctx, sn_gltf_deform(&ctx, gltf, 0, (wanted[k][0] + 100) / 250, shown));
    assert_near(shown[1][2], wanted[k][1], 1e-5);
  }
  sn_gltf_free(gltf);
  parse_text(&ctx, HEAD "Objects: { " MESH BODY SHAPE(31, "1,2", "0,0,2,0,0,4") CHANNEL("50,0") "}", &gltf);
  assert_ok(&ctx, sn_gltf_deform(&ctx, gltf, 0, 0.8, shown));
  assert_near(shown[1][2], 1, 1e-6);
  assert_near(shown[2][2], 0, 1e-6);
  sn_gltf_free(gltf);
}

#define CLIP(flags, bias)                                                                                            \
  "AnimationStack: 10, \"\", \"\" { }\n AnimationLayer: 11, \"AnimLayer::base\", \"\" { }\n"                         \
  "AnimationCurveNode: 13, \"\", \"\" { }\n AnimationCurve: 14, \"\", \"\" { KeyTime: *2 { a: 0,141120000 }\n"       \
  "KeyValueFloat: *2 { a: 0,1 }\n KeyAttrFlags: *1 { a: " flags " }\n"                                               \
  "KeyAttrDataFloat: *4 { a: " bias ",0,0,0 }\n KeyAttrRefCount: *1 { a: 2 } }\n"
#define MOVES(node, property)                                                                                        \
  "Connections: { " LINKS "C: \"OO\",11,10\n C: \"OO\",13,11\n C: \"OP\",13," node ", \"" property                   \
  "\"\n C: \"OP\",14,13, \"d|X\"\n"

// The header says when times are in the newer units; before it could, it said nothing.
static void test_time_units(void **state) {
  static const char *const heads[] = {"1004\n OtherFlags: { TCDefinition: 0 }",
                                      "1004\n OtherFlags: { TCDefinition: 127 }",
                                      "1003\n OtherFlags: { TCDefinition: 0 }"};
  for (int k = 0; k < 3; k++) {
    sn_context ctx = sn_context_default();
    sn_gltf *gltf;
    char text[4000];
    snprintf(text, sizeof text,
             "FBXHeaderExtension: { FBXVersion: 7700\n FBXHeaderVersion: %s }\nObjects: { " MESH BODY CLIP(
               "4", "0") "}\n" MOVES("2", "Lcl Translation") "}",
             heads[k]);
    parse_text(&ctx, text, &gltf);
    assert_near(sn_gltf_clip(gltf, 0).end, k == 0 ? 1 : 141120000 / 46186158000.0, 1e-6);
    sn_gltf_free(gltf);
  }
}

// Frames of a skin that is blended by dual quaternions would be wrong; its rest mesh and poses are not.
static void test_dual_quaternions(void **state) {
  static const char *const kinds[] = {"\"Linear\"", "\"Blend\"\n BlendWeights: *1 { a: 0 }", "\"DualQuaternion\"",
                                      "\"Blend\"\n BlendWeights: *1 { a: 0.5 }"};
  for (int k = 0; k < 4; k++) {
    sn_context ctx = sn_context_default();
    sn_gltf *gltf;
    char text[4000];
    float shown[3][3];
    snprintf(
      text, sizeof text,
      HEAD "Objects: { " MESH BODY CLIP(
        "4", "0") "Deformer: 5, \"\", \"Skin\" { SkinningType: %s\n }\n"
                  "Deformer: 6, \"\", \"Cluster\" { Indexes: *1 { a: 0 }\n Weights: *1 { a: 1 } }\n"
                  "Model: 7, \"Model::bone\", \"LimbNode\" { } }\n" MOVES(
                    "7", "Lcl Translation") "C: \"OO\",5,1\n C: \"OO\",6,5\n C: \"OO\",7,6\n C: \"OO\",7,0\n }",
      kinds[k]);
    parse_text(&ctx, text, &gltf);
    assert_ok(&ctx, sn_gltf_deform(&ctx, gltf, -1, 0, shown));
    if (k < 2) assert_ok(&ctx, sn_gltf_deform(&ctx, gltf, 0, 0, shown));
    if (k >= 2) assert_fails(&ctx, sn_gltf_deform(&ctx, gltf, 0, 0, shown), "blended by dual quaternions");
    sn_gltf_free(gltf);
  }
}

// Numbers of objects go up to the ends of 64 bits.
static void test_large_numbers(void **state) {
  sn_context ctx = sn_context_default();
  sn_gltf *gltf;
  sn_mesh mesh;
  parse_text(&ctx,
             HEAD "Objects: { " MESH "Model: 9223372036854775807, \"Model::most\", \"Mesh\" { }\n"
                  "Model: -9223372036854775808, \"Model::least\", \"Mesh\" { } }\n"
                  "Connections: { C: \"OO\",1,9223372036854775807\n C: \"OO\",1,-9223372036854775808\n }",
             &gltf);
  assert_ok(&ctx, sn_gltf_mesh(&ctx, gltf, &mesh));
  assert_int_equal(mesh.vertex_count, 6);
  sn_mesh_free(&mesh);
  sn_gltf_free(gltf);
}

// Pre-rotation that is for limits only has no effect.
static void test_limit_only(void **state) {
  for (int only = 0; only < 2; only++) {
    sn_context ctx = sn_context_default();
    sn_gltf *gltf;
    char text[2000];
    float shown[3][3];
    snprintf(text, sizeof text,
             HEAD "Objects: { " MESH "Model: 2, \"Model::body\", \"Mesh\" { Properties70: {\n"
                  "P: \"RotationActive\", \"\", \"\", \"\",1\n P: \"PreRotation\", \"\", \"\", \"\",0,0,90\n"
                  "P: \"RotationSpaceForLimitOnly\", \"\", \"\", \"\",%d\n } } }\nConnections: { " LINKS "}",
             only);
    parse_text(&ctx, text, &gltf);
    assert_ok(&ctx, sn_gltf_deform(&ctx, gltf, -1, 0, shown));
    assert_near(shown[1][0], only, 1e-6);
    assert_near(shown[1][1], 1 - only, 1e-6);
    sn_gltf_free(gltf);
  }
}

// ---- refused ---------------------------------------------------------------------------------------------------------------------

static void test_refused(void **state) {
  static const struct {
    const char *text, *message;
  } cases[] = {
    {"junk", "cannot be read: line 1"},
    {"; FBX\nObjects: { }", "no FBXHeaderExtension"},
    {"FBXHeaderExtension: { FBXVersion: 6100\n }", "FBX version 6.1"},
    {"FBXHeaderExtension: { FBXVersion: 6100\n }\nTakes: { Key: \n 1924423250,0.0,L\n Color: 1,0,0\n }",
     "FBX version 6.1"},
    {HEAD "Objects: { " MESH, "cut short"},
    {HEAD "Objects: { Geometry: 1, \"\", \"Mesh\" { Vertices: *9 { a: 0,0", "has no end"},
    {HEAD "Objects: { Geometry: 1, \"\", \"Mesh\" { Vertices: *9 { a: 0,0,0 }\n }\n" BODY "}\nConnections: { " LINKS
          "}",
     "mesh body: Vertices: its size is wrong"},
    {HEAD "Objects: { Geometry: 1, \"\", \"Mesh\" { Vertices: *3 { a: 0,0,0 }\n PolygonVertexIndex: *3 { a: 0,1,-3 } "
          "}\n" BODY "}\nConnections: { " LINKS "}",
     "polygon 0 has the vertex 1, but there are 1"},
    {HEAD "Objects: { " MESH BODY "Model: 2, \"Model::twin\", \"Null\" { } }", "body and twin have the same number"},
    {HEAD "Objects: { Model: 3, \"Model::a\", \"Null\" { }\n Model: 4, \"Model::b\", \"Null\" { } }\n"
          "Connections: { C: \"OO\",3,4\n C: \"OO\",4,3\n }",
     "among its own descendants"},
    {HEAD
     "Objects: { Model: 3, \"Model::arm\", \"Null\" { Properties70: { P: \"RotationActive\", \"\", \"\", \"\",1\n"
     "P: \"RotationOrder\", \"\", \"\", \"\",6\n } } }",
     "arm has the rotation order 'spheric'"},
    {HEAD "Objects: { " MESH BODY "Deformer: 5, \"Deformer::s\", \"Skin\" { }\n"
          "Deformer: 6, \"SubDeformer::hand\", \"Cluster\" { Indexes: *1 { a: 0 }\n Weights: *1 { a: 1 } } }\n"
          "Connections: { " LINKS "C: \"OO\",5,1\n C: \"OO\",6,5\n }",
     "cluster hand: it follows a joint that the file does not have"},
    {HEAD "Objects: { " MESH BODY
          "Model: 7, \"Model::bone\", \"LimbNode\" { }\n Deformer: 5, \"Deformer::s\", \"Skin\" { }\n"
          "Deformer: 6, \"SubDeformer::hand\", \"Cluster\" { Indexes: *1 { a: 9 }\n Weights: *1 { a: 1 } } }\n"
          "Connections: { " LINKS "C: \"OO\",5,1\n C: \"OO\",6,5\n C: \"OO\",7,6\n C: \"OO\",7,0\n }",
     "weight 1 of vertex 9, and there are 3"},
    {HEAD "Objects: { " BODY "Geometry: 1, \"Geometry::s\", \"NurbsSurface\" { } }\nConnections: { " LINKS "}",
     "its surface s is a NurbsSurface; convert it to polygons"},
    {HEAD "Objects: { " BODY
          "AnimationStack: 10, \"AnimStack::t\", \"\" { }\n AnimationLayer: 11, \"AnimLayer::a\", \"\" { }\n"
          "AnimationLayer: 12, \"AnimLayer::b\", \"\" { }\n AnimationCurveNode: 13, \"\", \"\" { }\n"
          "AnimationCurveNode: 14, \"\", \"\" { } }\n"
          "Connections: { C: \"OO\",11,10\n C: \"OO\",12,10\n C: \"OO\",13,11\n C: \"OO\",14,12\n"
          "C: \"OP\",13,2, \"Lcl Rotation\"\n C: \"OP\",14,2, \"Lcl Rotation\"\n }",
     "two animation layers move Lcl Rotation of body; merge"},
    {HEAD "Objects: { " BODY
          "AnimationStack: 10, \"AnimStack::t\", \"\" { }\n AnimationLayer: 11, \"AnimLayer::a\", \"\" { }\n"
          "AnimationLayer: 12, \"AnimLayer::b\", \"\" { Properties70: { P: \"Weight\", \"\", \"\", \"\",40\n } } }\n"
          "Connections: { C: \"OO\",11,10\n C: \"OO\",12,10\n }",
     "the animation layer b has a weight of 40 %"},
    {HEAD "Objects: { " BODY
          "AnimationStack: 10, \"AnimStack::t\", \"\" { }\n AnimationLayer: 11, \"AnimLayer::a\", \"\" { }\n"
          "AnimationCurveNode: 13, \"\", \"\" { }\n AnimationCurve: 14, \"\", \"\" { } }\n"
          "Connections: { C: \"OO\",11,10\n C: \"OO\",13,11\n C: \"OP\",13,2, \"RotationPivot\"\n C: \"OP\",14,13, "
          "\"d|X\"\n }",
     "RotationPivot of body is animated"},
    {HEAD "Objects: { " MESH BODY CLIP("264", "1065353216") "}\n" MOVES("2", "Lcl Translation") "}",
     "an animation curve of body: key 0 has a biased automatic tangent"},
    {HEAD "Objects: { " MESH BODY CLIP("4", "0") "}\n" MOVES("11", "Weight") "}",
     "the weight of the animation layer base is animated"},
    {HEAD "Objects: { " MESH BODY SHAPE(31, "1", "0,0,1") SHAPE(32, "1", "0,0,8")
       CHANNEL("50,50") "C: \"OO\",32,21\n }",
     "two of its FullWeights are equal"},
    {HEAD "Objects: { " MESH BODY "Deformer: 5, \"Deformer::sim\", \"VertexCacheDeformer\" { } }\n"
          "Connections: { " LINKS "C: \"OO\",5,1\n }",
     "it is moved by the cache sim; export it as .abc"},
    {HEAD "Objects: { " BODY "AnimationStack: 10, \"\", \"\" { }\n AnimationLayer: 11, \"\", \"\" { }\n "
          "AnimationCurveNode: 13, \"\", \"\" { }\n"
          "AnimationCurve: 14, \"\", \"\" { KeyTime: *2 { a: 0,4618615800 }\n KeyValueFloat: *2 { a: 0,1 }\n"
          "Post-Extrapolation: { Type: R\n Repetition: -1\n } }\n"
          "AnimationCurve: 15, \"\", \"\" { KeyTime: *2 { a: 0,46186158000 }\n KeyValueFloat: *2 { a: 0,1 } } }\n"
          "Connections: { C: \"OO\",11,10\n C: \"OO\",13,11\n C: \"OP\",13,2, \"Lcl Translation\"\n"
          "C: \"OP\",14,13, \"d|X\"\n C: \"OP\",15,13, \"d|Y\"\n }",
     "goes on beyond its keys"},
    {"Kaydara FBX Binary  ", "its header is damaged"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    sn_context ctx = sn_context_default();
    sn_gltf *gltf;
    assert_fails(&ctx, sn_fbx_parse(&ctx, "bad.fbx", (const uint8_t *)cases[k].text, strlen(cases[k].text), &gltf),
                 cases[k].message);
    assert_null(gltf);
  }
}

// Curves of what is no model, under the name of a model's property, move nothing.
static void test_moved_material(void **state) {
  static const char text[] = HEAD
    "Objects: { " MESH BODY "Material: 3, \"Material::m\", \"\" { }\n Material: 4, \"Material::n\", \"\" { }\n"
    "AnimationStack: 10, \"AnimStack::t\", \"\" { }\n AnimationLayer: 11, \"AnimLayer::a\", \"\" { }\n"
    "AnimationCurveNode: 13, \"\", \"\" { } }\n"
    "Connections: { " LINKS "C: \"OO\",4,2\n C: \"OO\",11,10\n C: \"OO\",13,11\n C: \"OP\",13,4, \"Lcl Scaling\"\n }";
  sn_context ctx = sn_context_default();
  sn_gltf *gltf;
  assert_ok(&ctx, sn_fbx_parse(&ctx, "odd.fbx", (const uint8_t *)text, strlen(text), &gltf));
  assert_int_equal(sn_gltf_clip_count(gltf), 0);
  sn_gltf_free(gltf);
}

// A few bytes that claim to unpack to gigabytes, and every way to cut a file.
static void test_hostile_sizes(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(3);
  model x[chain_length];
  static double keys[chain_length][key_count][9];
  for (int b = 0; b < chain_length; b++) x[b] = random_model(&rng);
  maker m = make_chain(FBX_PACKED, x, keys);
  sn_gltf *gltf;
  for (size_t size = 0; size < m.size; size += 1 + size / 60)
    assert_fails(&ctx, sn_fbx_parse(&ctx, "cut.fbx", m.bytes, size, &gltf), "cut.fbx: cannot be read");
  uint8_t *array = memmem(m.bytes, m.size, "Verticesd", 9);
  assert_non_null(array);
  memcpy(array + 9, (uint8_t[]){0, 0, 0, 0x7f}, 4);
  assert_fails(&ctx, sn_fbx_parse(&ctx, "bomb.fbx", m.bytes, m.size, &gltf), "Vertices: its size is wrong");
  free(m.bytes);
}

static void test_no_memory(void **state) {
  sn_random rng = sn_random_new(5);
  model x[chain_length];
  static double keys[chain_length][key_count][9];
  for (int b = 0; b < chain_length; b++) x[b] = random_model(&rng);
  maker m = make_chain(FBX_BINARY, x, keys);
  for (starvation s = {0}; starve(&s);) {
    sn_gltf *gltf;
    s.status = sn_fbx_parse(&s.ctx, "made.fbx", m.bytes, m.size, &gltf);
    sn_gltf_free(gltf);
  }
  free(m.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_transforms),
    cmocka_unit_test(test_inherited_scales),
    cmocka_unit_test(test_interpolation),
    cmocka_unit_test(test_weighted_tangents),
    cmocka_unit_test(test_whole_turns),
    cmocka_unit_test(test_skin),
    cmocka_unit_test(test_own_names),
    cmocka_unit_test(test_surface),
    cmocka_unit_test(test_refused),
    cmocka_unit_test(test_moved_material),
    cmocka_unit_test(test_hostile_sizes),
    cmocka_unit_test(test_no_memory),
    cmocka_unit_test(test_text_interpolation),
    cmocka_unit_test(test_shapes),
    cmocka_unit_test(test_limit_only),
    cmocka_unit_test(test_found_slopes),
    cmocka_unit_test(test_time_units),
    cmocka_unit_test(test_dual_quaternions),
    cmocka_unit_test(test_large_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
