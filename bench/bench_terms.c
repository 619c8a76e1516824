// SPDX-License-Identifier: MIT
// What corrections that are sums of terms cost: 65 joints in a chain, a pose space for each of 100 clusters of vertices. Times the palette stage, which computes
// the values, and the whole evaluation, with and without. A folder as argument gets both models.
#include "runtime/format.h"
#include "skin_bench.h"

enum { vertices = 10000, around = 100, joints = 65, clusters = 100, bases = 6, gaussians = 5, near_joints = 5 };
enum { groups = 2 * joints, terms_each = near_joints * SN_RT_QUADRATIC + gaussians, runs = 2001, warm_runs = 4 };

static sn_rt_reference references[joints];
static sn_rt_terms terms[groups];
static sn_rt_field fields[clusters];
static uint16_t listed[clusters][near_joints + 1];
static float mix[3 * gaussians * joints + clusters * bases * terms_each], deltas[bases * vertices][6];
static int first_basis[clusters + 1], cluster_of[vertices];

static void make_set(sn_context *ctx, bench_set *set) {
  bench_must(ctx, sn_mesh_new(ctx, vertices, 2 * (vertices - around), &set->mesh));
  bench_must(ctx, sn_skin_new(ctx, vertices, 4, &set->skin));
  bench_must(ctx, sn_skeleton_new(ctx, joints, &set->skeleton));
  for (int i = 0; i < vertices; i++) {
    double angle = 2 * SN_PI * (i % around) / around, x = (double)(i / around) / around * joints;
    sn_vec3_store(sn_vec3_make(x, cos(angle), sin(angle)), set->mesh.positions[i]);
    for (int k = 0; k < 4; k++) {
      int joint = (int)x + k - 1;
      set->skin.joints[4 * i + k] = (uint16_t)(joint < 0 ? 0 : joint >= joints ? joints - 1 : joint);
      set->skin.weights[4 * i + k] = (float)fmax(0, 2 - fabs(joint + 0.5 - x));
    }
    cluster_of[i] = (int)((long)i * clusters / vertices);
  }
  for (int t = 0; t < vertices - around; t++) {
    int right = t % around == around - 1 ? t + 1 - around : t + 1;
    int quad[2][3] = {{t, right, right + around}, {t, right + around, t + around}};
    memcpy(set->mesh.triangles[2 * t], quad, sizeof quad);
  }
  sn_skin_normalize(&set->skin);
  for (int j = 0; j < joints; j++) {
    set->skeleton.parents[j] = j - 1;
    set->skeleton.rest[j] = sn_affine_make(sn_mat3_identity(), sn_vec3_make(j, 0, 0));
    references[j] = (sn_rt_reference){(uint16_t)j, j ? (uint16_t)(j - 1) : SN_RT_NO_JOINT, {0, 0, 0, 1}};
  }
  bench_must(ctx, sn_skeleton_sort(ctx, &set->skeleton));
}

// Terms of every joint, polynomials and Gaussians; a cluster has those of its five nearest joints and Gaussians of one.
static void make_terms(sn_model_corrections *c) {
  sn_random rng = sn_random_new(1);
  for (size_t n = 0; n < sizeof mix / sizeof *mix; n++) mix[n] = (float)sn_random_normal(&rng);
  for (int n = 0; n < bases * vertices; n++)
    for (int k = 0; k < 6; k++) deltas[n][k] = 0.01f * (float)sn_random_normal(&rng);
  for (int j = 0; j < joints; j++) {
    terms[j] = (sn_rt_terms){.kind = SN_RT_TERMS_JOINT, .count = SN_RT_QUADRATIC, .a = (uint16_t)j};
    terms[joints + j] = (sn_rt_terms){.kind = SN_RT_TERMS_GAUSS,
                                      .count = gaussians,
                                      .a = (uint16_t)j,
                                      .first = (uint32_t)(3 * gaussians * j),
                                      .width = 0.5f};
  }
  for (int n = 0; n < clusters; n++) {
    int middle = n * (joints - near_joints) / clusters;
    for (int k = 0; k < near_joints; k++) listed[n][k] = (uint16_t)(middle + k);
    listed[n][near_joints] = (uint16_t)(joints + middle + near_joints / 2);
    fields[n] = (sn_rt_field){.kernel = SN_RT_KERNEL_SUM,
                              .mixed = 1,
                              .first_joint = (uint32_t)(n * (near_joints + 1)),
                              .joint_count = near_joints + 1,
                              .centre_count = terms_each,
                              .first_basis = (uint32_t)(bases * n),
                              .basis_count = bases,
                              .first_number = (uint32_t)(3 * gaussians * joints + n * bases * terms_each)};
    first_basis[n + 1] = bases * (n + 1);
  }
  *c = (sn_model_corrections){.kind = SN_RT_CORRECT_RBF,
                              .field_count = clusters,
                              .pose_spaces = {{"correct.fields", fields, sizeof fields, true},
                                              {"correct.joints", listed, sizeof listed, true},
                                              {"correct.numbers", NULL, 0, true},
                                              {"correct.terms", terms, sizeof terms, true},
                                              {"correct.mix", mix, sizeof mix, true}},
                              .basis_count = clusters * bases,
                              .row_count = vertices,
                              .deltas = (const float(*)[6])deltas,
                              .groups = {0, first_basis, cluster_of}};
}

static void make_pose(int frame, float (*out)[12]) {
  sn_affine pose[joints];
  for (int j = 0; j < joints; j++) {
    sn_vec3 turn = {0.3 * sin(0.1 * frame + j), 0.2 * cos(0.07 * frame + 2 * j), 0.1 * sin(0.05 * frame)};
    sn_affine about = sn_affine_about(sn_rotation_exp(turn), sn_vec3_make(j, 0, 0));
    pose[j] = j ? sn_affine_mul(pose[j - 1], about) : about;
  }
  sn_model_joints(pose, joints, out);
}

// Medians of the palette stage after an evaluation, of the same in the caches, and of the evaluation, in microseconds.
static void measure(const sn_rt_model *model, double us[3]) {
  static float positions[vertices][3], normals[vertices][3], poses[16][joints][12];
  static double times[3][runs];
  void *scratch = calloc(1, sn_rt_scratch_size(model));
  sn_rt_output output = {.positions = positions[0], .normals = normals[0]};
  for (int f = 0; f < 16; f++) make_pose(f, poses[f]);
  for (int n = 0; n < runs; n++) {
    sn_rt_input input = {.joints = (const float(*)[12])poses[n % 16]};
    double start = bench_now();
    sn_rt_palette(model, &input, scratch, NULL); // after other work
    double cold = bench_now();
    for (int again = 0; again < warm_runs; again++) sn_rt_palette(model, &input, scratch, NULL);
    double warm = bench_now();
    sn_rt_evaluate(model, &input, scratch, &output, NULL);
    times[0][n] = cold - start, times[1][n] = (warm - cold) / warm_runs, times[2][n] = bench_now() - warm;
  }
  for (int k = 0; k < 3; k++) {
    qsort(times[k], runs, sizeof *times[k], bench_compare);
    us[k] = 1e6 * times[k][runs / 2];
  }
  free(scratch);
}

static void write_model(sn_context *ctx, const char *folder, const char *name, const sn_model *model) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.sinew", folder, name);
  bench_must(ctx, sn_model_write(ctx, path, model));
}

int main(int argc, char **argv) {
  static const char *const names[] = {"lbs", "lbs with references", "sums of terms"};
  sn_context ctx = sn_context_default();
  bench_set set = {.name = "chain"};
  sn_model_corrections c;
  make_set(&ctx, &set), make_terms(&c);
  sn_model_section reference = {"joint.reference", references, sizeof references, true};
  printf("%d vertices, %d joints, %d clusters of %d bases, %d terms each\n", vertices, joints, clusters, bases,
         terms_each);
  printf("%-20s %-8s %10s %12s %12s %12s\n", "model", "path", "bytes", "palette us", "in caches", "evaluate us");
  for (int n = 0; n < 3; n++) {
    sn_model_desc desc = sn_model_desc_default();
    sn_model model;
    desc.rest = &set.mesh, desc.skin = &set.skin, desc.skeleton = &set.skeleton, desc.weight_bits = 16;
    if (n == 1) c.field_count = 0, c.basis_count = 0, c.pose_spaces[0].size = 0, c.pose_spaces[1].size = 0;
    if (n > 0) desc.sections = &reference, desc.section_count = 1, desc.corrections = &c;
    if (n == 1) c.pose_spaces[3].size = 0, c.pose_spaces[4].size = 0, c.groups.first = NULL;
    bench_must(&ctx, sn_model_build(&ctx, &desc, &model));
    sn_rt_model rt;
    bench_must(&ctx, sn_model_open(&ctx, names[n], model.bytes, model.size, &rt));
    for (int path = SN_RT_PATH_SCALAR; path <= SN_RT_PATH_AVX512; path++) {
      double us[3];
      if (!sn_rt_use_path(&rt, (sn_rt_path)path)) continue;
      measure(&rt, us);
      printf("%-20s %-8s %10zu %12.2f %12.2f %12.2f\n", names[n], sn_rt_path_name((sn_rt_path)path), model.size,
             us[0], us[1], us[2]);
    }
    if (n != 1 && argc > 1) write_model(&ctx, argv[1], n ? "terms" : "lbs", &model);
    sn_model_free(&model);
    make_terms(&c);
  }
  bench_free(&set);
  return 0;
}
