// SPDX-License-Identifier: MIT
// Random skins and palettes for the tests of the runtime.
#ifndef SINEW_TEST_SKIN_FIXTURE_H
#define SINEW_TEST_SKIN_FIXTURE_H

#include "check.h"
#include "sinew/model.h"

// A tube of triangles with random weights. Owns its parts; free with fixture_free.
typedef struct fixture {
  sn_mesh mesh;
  sn_skeleton skeleton;
  sn_skin skin;
  sn_model_desc desc;
  float (*centres)[3]; // of rotation, at random near the vertices
  sn_model model;
  sn_rt_model rt;
} fixture;

static inline void fixture_mesh(sn_context *ctx, int vertices, sn_random *rng, sn_mesh *mesh) {
  int around = 12, triangles = vertices > around + 1 ? 2 * (vertices - around - 1) : 0;
  assert_ok(ctx, sn_mesh_new(ctx, vertices, triangles, mesh));
  for (int i = 0; i < vertices; i++) {
    double angle = 2 * SN_PI * i / around, radius = 1 + 0.05 * sn_random_uniform(rng);
    sn_vec3 p = {0.03 * i / around * 6, radius * cos(angle), radius * sin(angle)};
    sn_vec3_store(p, mesh->positions[i]);
  }
  for (int t = 0; t < triangles / 2; t++) {
    int a = t, b = t + 1, c = t + around, d = t + around + 1;
    int quad[2][3] = {{a, b, d}, {a, d, c}};
    memcpy(mesh->triangles[2 * t], quad, sizeof quad);
  }
}

// Weights with 1 to `influences` entries. Neighbours mostly share their joints, as on a real mesh; some rows are random.
static inline void fixture_weights(sn_context *ctx, int vertices, int joints, int influences, sn_random *rng,
                                   sn_skin *skin) {
  assert_ok(ctx, sn_skin_new(ctx, vertices, influences, skin));
  for (int i = 0; i < vertices; i++) {
    int count = 1 + sn_random_below(rng, influences), base = i * joints / vertices;
    bool wild = sn_random_uniform(rng) < 0.2;
    for (int k = 0; k < count; k++) {
      size_t at = (size_t)i * (size_t)influences + (size_t)k;
      skin->joints[at] = (uint16_t)(wild ? sn_random_below(rng, joints) : (base + k) % joints);
      skin->weights[at] = (float)(0.05 + sn_random_uniform(rng));
    }
  }
  sn_skin_normalize(skin);
}

static inline void fixture_new(sn_context *ctx, int vertices, int joints, int influences, uint64_t seed, fixture *f) {
  *f = (fixture){0};
  sn_random rng = sn_random_new(seed);
  fixture_mesh(ctx, vertices, &rng, &f->mesh);
  fixture_weights(ctx, vertices, joints, influences, &rng, &f->skin);
  assert_ok(ctx, sn_skeleton_new(ctx, joints, &f->skeleton));
  for (int j = 0; j < joints; j++) {
    f->skeleton.parents[j] = j - 1;
    f->skeleton.rest[j] = sn_affine_make(sn_mat3_identity(), sn_vec3_make(0.015 * vertices * j / joints, 0, 0));
  }
  assert_ok(ctx, sn_skeleton_sort(ctx, &f->skeleton));
  f->desc = sn_model_desc_default();
  f->centres = calloc((size_t)vertices + 1, sizeof *f->centres);
  for (int i = 0; i < vertices; i++)
    sn_vec3_store(sn_vec3_mad(sn_vec3_from(f->mesh.positions[i]), random_vec3(&rng), 0.5), f->centres[i]);
  f->desc.centres = (const float(*)[3])f->centres;
  f->desc.rest = &f->mesh, f->desc.skeleton = &f->skeleton, f->desc.skin = &f->skin;
}

static inline void fixture_build(sn_context *ctx, fixture *f) {
  sn_model_free(&f->model);
  assert_ok(ctx, sn_model_build(ctx, &f->desc, &f->model));
  assert_ok(ctx, sn_model_open(ctx, "fixture", f->model.bytes, f->model.size, &f->rt));
}

static inline void fixture_free(fixture *f) {
  free(f->centres);
  sn_mesh_free(&f->mesh), sn_skeleton_free(&f->skeleton), sn_skin_free(&f->skin), sn_model_free(&f->model);
}

// A chain of joints each bent a little (up to `angle` radians) against the one before, about its rest position; with
// `stretch`, scaled and sheared by up to that much too.
static inline void random_pose(const sn_skeleton *skeleton, double angle, double stretch, sn_random *rng,
                               sn_affine *out) {
  for (int n = 0; n < skeleton->joint_count; n++) {
    int j = skeleton->order[n], parent = skeleton->parents[j];
    sn_vec3 axis = sn_vec3_normalize(random_vec3(rng), sn_vec3_make(0, 0, 1));
    sn_mat3 turn = sn_rotation_exp(sn_vec3_scale(axis, angle * (2 * sn_random_uniform(rng) - 1)));
    sn_mat3 local = turn;
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 3; c++) local.m[r][c] += stretch * (sn_random_uniform(rng) - 0.5);
    sn_affine about = sn_affine_about(local, sn_affine_translation(skeleton->rest[j]));
    out[j] = parent < 0 ? about : sn_affine_mul(out[parent], about);
  }
}

// Evaluates with the given path into tightly packed arrays. `normals` may be NULL.
static inline void evaluate(const sn_rt_model *model, sn_rt_path path, const sn_affine *pose, float (*positions)[3],
                            float (*normals)[3]) {
  sn_rt_model copy = *model;
  if (!sn_rt_use_path(&copy, path)) fail_msg("no path %s", sn_rt_path_name(path));
  float(*joints)[12] = malloc((model->info.joint_count + 1) * sizeof *joints);
  void *scratch = malloc(sn_rt_scratch_size(model));
  sn_model_joints(pose, (int)model->info.joint_count, joints);
  sn_rt_input input = {.joints = (const float(*)[12])joints};
  sn_rt_output output = {.positions = &positions[0][0], .normals = normals ? &normals[0][0] : NULL};
  sn_rt_error error;
  if (sn_rt_evaluate(&copy, &input, scratch, &output, &error) != SN_RT_OK) fail_msg("%s", error.message);
  free(joints), free(scratch);
}

#endif
