// SPDX-License-Identifier: MIT
// Small things to write as glTF, and small documents to read: shared by the glTF tests.
#ifndef SINEW_TEST_GLTF_DOCUMENTS_H
#define SINEW_TEST_GLTF_DOCUMENTS_H

#include "check.h"
#include "sinew/formats.h"

// A tube of `rings` times 8 vertices along x with a chain of joints, weights, a moving clip and morph targets.
typedef struct tube {
  sn_mesh mesh;
  sn_skeleton skeleton;
  sn_skin skin;
  sn_poses poses;
  int morph_count;
  float (*deltas)[3], *morph_weights;
  float (*colors)[3];
  sn_arena memory;
} tube;

static inline void tube_mesh(sn_context *ctx, tube *t, int rings) {
  assert_ok(ctx, sn_mesh_new(ctx, rings * 8, (rings - 1) * 16, &t->mesh));
  for (int i = 0; i < rings * 8; i++) {
    double angle = i % 8 * SN_PI / 4;
    sn_vec3_store(sn_vec3_make(i / 8 * 0.25, 0.3 * cos(angle), 0.3 * sin(angle)), t->mesh.positions[i]);
  }
  for (int r = 0, n = 0; r < rings - 1; r++) {
    for (int k = 0; k < 8; k++, n += 2) {
      int a = r * 8 + k, b = r * 8 + (k + 1) % 8;
      int first[3] = {a, b, a + 8}, second[3] = {b, b + 8, a + 8};
      memcpy(t->mesh.triangles[n], first, sizeof first);
      memcpy(t->mesh.triangles[n + 1], second, sizeof second);
    }
  }
}

static inline void tube_skin(sn_context *ctx, tube *t, sn_random *rng, int influences) {
  int joints = t->skeleton.joint_count;
  assert_ok(ctx, sn_skin_new(ctx, t->mesh.vertex_count, influences, &t->skin));
  for (int i = 0; i < t->mesh.vertex_count; i++) {
    for (int k = 0; k < influences && k < joints; k++) {
      t->skin.joints[i * influences + k] = (uint16_t)((i / 8 + k) % joints);
      t->skin.weights[i * influences + k] = (float)(sn_random_uniform(rng) + 0.05);
    }
  }
  sn_skin_normalize(&t->skin);
}

// Rotations about every joint and some uniform scale: a tree of plain nodes holds it. With `shear`, any affine motion.
static inline void tube_poses(sn_context *ctx, tube *t, int frames, bool shear) {
  int n = t->skeleton.joint_count;
  assert_ok(ctx, sn_poses_new(ctx, n, frames, &t->poses));
  for (int f = 0; f < frames; f++) {
    for (int at = 0; at < n; at++) {
      int j = t->skeleton.order[at], parent = t->skeleton.parents[j];
      double angle = 0.35 * f * (1 + j % 3);
      sn_mat3 r = sn_rotation_exp(sn_vec3_make(0.1 * angle, 0.3 * angle * (j % 2), angle));
      if (shear) {
        sn_mat3 stretch = {{{1 + 0.02 * f, 0.01 * f, 0}, {0.05 * f, 1, 0.02 * j}, {0, -0.03 * f, 1.1}}};
        r = sn_mat3_mul(r, stretch);
      } else {
        r = sn_mat3_scale(r, 1 + 0.01 * f * (j % 2));
      }
      sn_vec3 origin = sn_affine_translation(t->skeleton.rest[j]);
      sn_affine own = sn_affine_about(r, origin);
      sn_pose(&t->poses, f)[j] = parent < 0 || shear ? own : sn_affine_mul(sn_pose(&t->poses, f)[parent], own);
    }
  }
}

static inline void tube_morphs(sn_context *ctx, tube *t, sn_random *rng, int morphs, int frames) {
  size_t n = (size_t)t->mesh.vertex_count;
  t->morph_count = morphs;
  t->deltas = (float(*)[3])sn_arena_alloc(ctx, &t->memory, n * (size_t)morphs, 12);
  t->morph_weights = SN_NEW(ctx, &t->memory, float, frames *morphs);
  t->colors = (float(*)[3])sn_arena_alloc(ctx, &t->memory, n, 12);
  assert_non_null(t->deltas);
  assert_non_null(t->morph_weights);
  assert_non_null(t->colors);
  for (size_t i = 0; i < n * (size_t)morphs; i++) sn_vec3_store(random_vec3(rng), t->deltas[i]);
  for (int k = 0; k < frames * morphs; k++) t->morph_weights[k] = (float)sn_random_normal(rng);
  for (size_t i = 0; i < 3 * n; i++) t->colors[i / 3][i % 3] = (float)sn_random_uniform(rng);
}

static inline tube tube_new(sn_context *ctx, int joints, int influences, int frames, bool shear) {
  tube t = {.memory = sn_arena_new(ctx)};
  sn_random rng = sn_random_new(7);
  tube_mesh(ctx, &t, 9);
  assert_ok(ctx, sn_skeleton_new(ctx, joints, &t.skeleton));
  for (int j = 0; j < joints; j++) {
    // every third joint's parent comes after it
    t.skeleton.parents[j] = j == joints - 1 ? -1 : j % 3 == 0 ? j + 1 : joints - 1;
    sn_mat3 frame = random_rotation(&rng);
    t.skeleton.rest[j] = sn_affine_make(frame, sn_vec3_make(2.0 * j / joints, 0.05 * j, 0));
  }
  assert_ok(ctx, sn_skeleton_sort(ctx, &t.skeleton));
  tube_skin(ctx, &t, &rng, influences);
  tube_poses(ctx, &t, frames, shear);
  tube_morphs(ctx, &t, &rng, 3, frames);
  return t;
}

static inline void tube_free(tube *t) {
  sn_mesh_free(&t->mesh);
  sn_skeleton_free(&t->skeleton);
  sn_skin_free(&t->skin);
  sn_poses_free(&t->poses);
  sn_arena_free(&t->memory);
}

static inline double affine_difference(sn_affine a, sn_affine b) {
  double largest = 0;
  for (int k = 0; k < 12; k++) largest = fmax(largest, fabs(a.m[k / 4][k % 4] - b.m[k / 4][k % 4]));
  return largest;
}

// A textured box with everything that must survive a rewrite: UVs, a second primitive of lines, a texture in a buffer
// view, extras, unknown extensions, a camera, two nodes with one mesh, a node with a transform.
static const char keep_document[] =
  "{'asset':{'version':'2.0','copyright':'somebody','extras':{'k':[1,2.5]}},'scene':0,"
  "'scenes':[{'nodes':[0,3]},{'nodes':[2]}],'extensionsUsed':['KHR_materials_unlit','ACME_secret'],"
  "'extensions':{'ACME_secret':{'accessor':6,'deep':{'list':[{'a':true}]}}},"
  "'nodes':[{'name':'body','mesh':0,'extras':{'tag':'x'}},{'name':'again','mesh':0,'translation':[0,2,0],"
  "'rotation':[0,0,0.70710678,0.70710678],'scale':[2,1,1]},{'camera':0,'name':'eye'},{'name':'group','children':[1],"
  "'translation':[1,0,0]}],"
  "'cameras':[{'type':'perspective','perspective':{'yfov':0.7,'znear':0.1}}],"
  "'meshes':[{'name':'quad','extras':{'targetNames':['up']},'primitives':[{'attributes':{'POSITION':0,'NORMAL':1,"
  "'TEXCOORD_0':2,'_HEAT':6},'indices':3,'material':0,'targets':[{'POSITION':5}],'extensions':{'ACME_secret':{'p':1}}"
  "},"
  "{'attributes':{'POSITION':0},'indices':4,'mode':1,'targets':[{'POSITION':5}]}]}],"
  "'materials':[{'name':'paint','pbrMetallicRoughness':{'baseColorTexture':{'index':0}},"
  "'extensions':{'KHR_materials_unlit':{}}}],'textures':[{'source':0,'sampler':0}],'samplers':[{'wrapS':33071}],"
  "'images':[{'bufferView':6,'mimeType':'image/png','name':'dot'}],"
  "'accessors':[{'bufferView':0,'componentType':5126,'count':4,'type':'VEC3','min':[0,0,0],'max':[1,1,0]},"
  "{'bufferView':1,'componentType':5126,'count':4,'type':'VEC3'},"
  "{'bufferView':2,'componentType':5126,'count':4,'type':'VEC2'},"
  "{'bufferView':3,'componentType':5123,'count':6,'type':'SCALAR'},"
  "{'bufferView':4,'componentType':5123,'count':4,'type':'SCALAR'},"
  "{'bufferView':5,'componentType':5126,'count':4,'type':'VEC3','min':[0,0,0],'max':[0,0,1]},"
  "{'bufferView':2,'byteOffset':0,'componentType':5126,'count':4,'type':'VEC2'}],"
  "'bufferViews':[{'buffer':0,'byteLength':48,'target':34962},{'buffer':0,'byteOffset':48,'byteLength':48,'target':"
  "34962},"
  "{'buffer':0,'byteOffset':96,'byteLength':32,'byteStride':8,'target':34962},{'buffer':0,'byteOffset':128,'"
  "byteLength':12,'target':"
  "34963},"
  "{'buffer':0,'byteOffset':140,'byteLength':8,'target':34963},{'buffer':0,'byteOffset':148,'byteLength':48,'target':"
  "34962},"
  "{'buffer':0,'byteOffset':196,'byteLength':70}],'buffers':[{'byteLength':266}]}";

// JSON is easier to read in C with single quotes.
static inline char *quoted(const char *text) {
  char *copy = strdup(text);
  for (char *c = copy; *c; c++)
    if (*c == '\'') *c = '"';
  return copy;
}

static inline void put_u32(uint8_t *at, uint32_t value) {
  for (int k = 0; k < 4; k++) at[k] = (uint8_t)(value >> (8 * k));
}

// A GLB of JSON (single-quoted) and a binary chunk; free() it.
static inline uint8_t *make_glb(const char *json, const void *bin, size_t bin_size, size_t *size) {
  size_t length = strlen(json), padded = (length + 3) / 4 * 4, bin_padded = (bin_size + 3) / 4 * 4;
  *size = 20 + padded + (bin ? 8 + bin_padded : 0);
  uint8_t *glb = calloc(1, *size);
  char *text = quoted(json);
  memcpy(glb, "glTF", 4);
  put_u32(glb + 4, 2);
  put_u32(glb + 8, (uint32_t)*size);
  put_u32(glb + 12, (uint32_t)padded);
  memcpy(glb + 16, "JSON", 4);
  memset(glb + 20, ' ', padded);
  memcpy(glb + 20, text, length);
  if (bin) {
    put_u32(glb + 20 + padded, (uint32_t)bin_padded);
    memcpy(glb + 24 + padded, "BIN\0", 4);
    memcpy(glb + 28 + padded, bin, bin_size);
  }
  free(text);
  return glb;
}

static inline uint8_t *make_keep_glb(size_t *size) {
  static const uint8_t png[] = {137, 80,  78,  71,  13, 10,  26,  10, 0,   0,   0,   13,  73,  72,  68,  82, 0, 0,
                                0,   1,   0,   0,   0,  1,   8,   6,  0,   0,   0,   31,  21,  196, 137, 0,  0, 0,
                                13,  73,  68,  65,  84, 120, 218, 99, 248, 223, 224, 240, 31,  0,   7,   0,  2, 191,
                                244, 137, 213, 242, 0,  0,   0,   0,  73,  69,  78,  68,  174, 66,  96,  130};
  float geometry[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1};
  uint16_t indices[] = {0, 1, 2, 0, 2, 3, 0, 1, 2, 3};
  float morph[] = {0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0};
  uint8_t bin[266] = {0};
  memcpy(bin, geometry, sizeof geometry);
  memcpy(bin + 128, indices, sizeof indices);
  memcpy(bin + 148, morph, sizeof morph);
  memcpy(bin + 196, png, sizeof png);
  return make_glb(keep_document, bin, sizeof bin, size);
}

#endif
