// SPDX-License-Identifier: MIT
// sinew rig: frames without a skeleton -> rigged GLB (Le and Deng 2014).
#include <stdio.h>
#include <string.h>

#include "cli/inputs.h"
#include "cli/memory.h"
#include "sinew/rig.h"

typedef struct rig_job {
  sn_examples examples;
  sn_rig_options options;
  bool *locked;
  sn_rig_result result;
  sn_rig_figures figures;
  double seconds;
  int rest_frame; // of --rest-frame; -1: none
  bool posed;     // the rest mesh is not where its file has it
  bool mirrored;  // nor are its triangles
  sn_rig_noise noise;
  char poor[256]; // what to try where the rig is far from the frames
  sn_arena memory;
} rig_job;

// ---- options ------------------------------------------------------------------------------------------------------

static bool parse_given(cli *c, sn_rig_options *o) {
  const char *solve = sn_cli_text(c, "--solve");
  if (!sn_cli_given(c, "--skeleton")) {
    bool needs = sn_cli_given(c, "--solve") || sn_cli_given(c, "--lock") || sn_cli_given(c, "--keep-weights");
    if (!needs && o->helpers == 0) return true;
    sn_cli_misuse("rig: --solve, --lock, --keep-weights and --helpers need --skeleton FILE");
    return false;
  }
  o->given = strcmp(solve, "weights") == 0  ? SN_RIG_MOTION
             : strcmp(solve, "motion") == 0 ? SN_RIG_WEIGHTS
                                            : SN_RIG_SKELETON;
  if (o->given != SN_RIG_SKELETON || strcmp(solve, "both") == 0) return true;
  sn_cli_misuse("rig: --solve %s: choose weights, motion or both", solve);
  return false;
}

static bool parse_options(cli *c, sn_rig_options *o) {
  *o = (sn_rig_options){0};
  if (!sn_cli_fill(c, o) || !parse_given(c, o)) return false;
  o->keep_bones = sn_cli_given(c, "--keep-bones");
  if (o->bone_type == SN_RIG_RIGID || o->structure == SN_RIG_FREE) return true;
  sn_cli_misuse("rig: affine bones have no joints to turn about; add --joints none");
  return false;
}

// ---- input -------------------------------------------------------------------------------------------------------------

static const char *suggest_joint(cli *c, rig_job *job, const char *name) {
  const sn_skeleton *skeleton = &job->examples.skeleton;
  const char **names = SN_NEW(&c->ctx, &job->memory, const char *, skeleton->joint_count + 1);
  for (int j = 0; names && j < skeleton->joint_count; j++) names[j] = skeleton->names[j];
  return names ? sn_suggest(name, names) : NULL;
}

static sn_status lock_joints(cli *c, rig_job *job) {
  const char *names = sn_cli_text(c, "--lock");
  const sn_skeleton *skeleton = &job->examples.skeleton;
  char *copy = sn_arena_text(&c->ctx, &job->memory, names);
  if (!copy) return c->ctx.error.status;
  for (char *name = strtok(copy, ","); name; name = strtok(NULL, ",")) {
    int j = sn_skeleton_find(skeleton, name);
    if (j < 0) {
      const char *meant = suggest_joint(c, job, name);
      return sn_fail(&c->ctx, SN_BAD_INPUT, "--lock: the skeleton has no joint called '%s'%s%s%s", name,
                     meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
    }
    job->locked[j] = true;
  }
  job->options.locked = job->locked;
  return SN_OK;
}

// What the skeleton file itself keeps: joints that are locked, and with --keep-weights how far vertices keep their weights.
static sn_status read_locks(cli *c, rig_job *job) {
  sn_examples *e = &job->examples;
  sn_gltf *gltf;
  sn_mesh bind = {0};
  sn_adjust adjust[SN_FILE_KINDS];
  const char *clip, *first = NULL; // of several skeleton files the first is everybody's
  for (int k = c->value_count - 1; k >= 0; k--)
    if (strcmp(c->values[k].option->name, "--skeleton") == 0) first = c->values[k].text;
  const char *path = sn_clip_path(&c->ctx, &job->memory, first, &clip);
  sn_status status = path ? sn_gltf_read(&c->ctx, path, &gltf) : c->ctx.error.status;
  if (status != SN_OK) return status;
  int n = e->rest.vertex_count, *nearest = SN_NEW(&c->ctx, &job->memory, int, n);
  double *distances = SN_NEW(&c->ctx, &job->memory, double, n);
  float *white = NULL, *kept = SN_NEW(&c->ctx, &job->memory, float, n);
  job->locked = SN_NEW(&c->ctx, &job->memory, bool, e->skeleton.joint_count);
  if (!nearest || !distances || !kept || !job->locked) status = c->ctx.error.status;
  bool solves_motion = job->options.given == SN_RIG_WEIGHTS || job->options.given == SN_RIG_SKELETON;
  if (status == SN_OK && sn_gltf_locked_joints(gltf, job->locked) && solves_motion) {
    job->options.locked = job->locked;
    sn_cli_say(c, "note: %s: joints with the attribute demLock keep their motion\n", path);
  }
  if (status == SN_OK && sn_cli_given(c, "--keep-weights")) {
    status = sn_gltf_whiteness(&c->ctx, gltf, &job->memory, &white);
    if (status == SN_OK && !white) {
      status =
        sn_fail(&c->ctx, SN_BAD_INPUT, "--keep-weights: %s has no vertex colours that say which to keep", path);
    }
    if (status == SN_OK) status = sn_gltf_mesh(&c->ctx, gltf, &bind, NULL, NULL, NULL);
    if (status == SN_OK) status = sn_cli_adjust(c, adjust);
    if (status == SN_OK) {
      sn_adjust_rig(&adjust[SN_FILE_SKELETON], &bind, NULL);
      status = sn_nearest_vertices(&c->ctx, (const float(*)[3])bind.positions, bind.vertex_count,
                                   (const float(*)[3])e->rest.positions, n, nearest, distances);
    }
    for (int i = 0; status == SN_OK && i < n; i++) kept[i] = white[nearest[i]];
    job->options.kept = kept;
  }
  sn_mesh_free(&bind);
  sn_gltf_free(gltf);
  return status;
}

static int keys_before(const sn_keys *keys, int frame) {
  int count = 0;
  while (count < keys->count && keys->frames[count] < frame) count++;
  return count;
}

// Keeps the frames of --keys (and their poses), clip by clip.
static sn_status choose_frames(cli *c, rig_job *job) {
  sn_examples *e = &job->examples;
  sn_keys keys;
  sn_frames chosen;
  sn_status status = sn_keys_parse(&c->ctx, sn_cli_text(c, "--keys"), e->frames.frame_count, c->seed, &keys, NULL);
  if (status != SN_OK) return status;
  if (keys.count < e->frames.frame_count) {
    int n = e->frames.vertex_count;
    status = sn_frames_new(&c->ctx, n, keys.count, &chosen);
    for (int k = 0; status == SN_OK && k < keys.count; k++) {
      memcpy(sn_frame_mutable(&chosen, k), sn_frame(&e->frames, keys.frames[k]), (size_t)n * sizeof(float[3]));
      if (e->poses.matrices) {
        memcpy(sn_pose(&e->poses, k), sn_pose(&e->poses, keys.frames[k]),
               (size_t)e->poses.joint_count * sizeof(sn_affine));
      }
    }
    if (status == SN_OK) {
      for (int k = 0; k <= e->clip_count; k++) e->clip_start[k] = keys_before(&keys, e->clip_start[k]);
      if (e->poses.matrices) e->poses.frame_count = keys.count;
      sn_frames_free(&e->frames);
      e->frames = chosen;
    }
  }
  sn_keys_free(&keys);
  return status;
}

// ---- any frame as rest pose ----------------------------------------------------------------------------------------

// --rest-frame: the positions of a frame of --frames (counted before --keys) become those of the rest pose.
static sn_status choose_rest(cli *c, rig_job *job) {
  sn_examples *e = &job->examples;
  const char *text = sn_cli_text(c, "--rest-frame");
  char *end = NULL;
  long frame = strcmp(text, "auto") == 0 ? sn_rig_rest_frame(&e->frames) : strtol(text, &end, 10);
  if ((end && (end == text || *end)) || frame < 0 || frame >= e->frames.frame_count) {
    return sn_fail(&c->ctx, SN_BAD_INPUT, "--rest-frame %s: a frame from 0 to %d, or auto", text,
                   e->frames.frame_count - 1);
  }
  memcpy(e->rest.positions, sn_frame(&e->frames, (int)frame),
         (size_t)e->rest.vertex_count * sizeof *e->rest.positions);
  job->rest_frame = (int)frame;
  return SN_OK;
}

// What the solver holds of every vertex at least: measured, 540 bytes on generated bodies of 12,000 vertices.
static sn_status check_memory(cli *c, const sn_examples *e) {
  if (e->rest.triangle_count < 1) {
    return sn_fail(&c->ctx, SN_BAD_INPUT, "the rest mesh has no triangles: give --rest a mesh with faces");
  }
  char what[96];
  snprintf(what, sizeof what, "a rig of %d vertices", e->rest.vertex_count);
  return sn_cli_need_memory(&c->ctx, 500.0 * e->rest.vertex_count, what);
}

static sn_status load(cli *c, rig_job *job) {
  sn_status status = sn_cli_load_frames(c, &job->examples);
  if (status == SN_OK) status = check_memory(c, &job->examples);
  const sn_mesh *mesh = &job->examples.rest;
  if (status == SN_OK && sn_points_diagonal((const float(*)[3])mesh->positions, mesh->vertex_count) == 0)
    return sn_fail(&c->ctx, SN_BAD_INPUT,
                   "rig: all vertices of the rest mesh are at one place; bring a distant mesh to the origin");
  sn_adjust adjust[SN_FILE_KINDS];
  job->rest_frame = -1;
  if (status == SN_OK) status = sn_cli_adjust(c, adjust);
  if (status == SN_OK) {
    const sn_adjust *rest = &adjust[sn_cli_given(c, "--rest") ? SN_FILE_REST : SN_FILE_FRAMES];
    job->posed = sn_adjust_moves(rest) || sn_cli_given(c, "--rest-frame");
    job->mirrored = sn_mat3_determinant(sn_adjust_linear(rest)) < 0;
  }
  if (status == SN_OK && job->options.given != SN_RIG_NOTHING) status = read_locks(c, job);
  if (status == SN_OK && sn_cli_given(c, "--rest-frame")) status = choose_rest(c, job);
  if (status == SN_OK) status = choose_frames(c, job);
  if (status == SN_OK && job->options.given == SN_RIG_NOTHING) {
    status = sn_rig_denoise(&c->ctx, &job->examples.rest, &job->examples.frames, &job->memory, &job->noise);
    job->posed = job->posed || job->noise.rest_pct_diag > 0;
    job->options.noise_pct = job->noise.frames_pct_diag;
  }
  if (status == SN_OK && sn_cli_given(c, "--lock")) status = lock_joints(c, job);
  if (status == SN_OK && job->options.given != SN_RIG_NOTHING) {
    job->options.skeleton = &job->examples.skeleton;
    job->options.poses = &job->examples.poses;
    job->options.skin = job->examples.skin.influences > 0 ? &job->examples.skin : NULL;
  }
  return status;
}

// ---- output ------------------------------------------------------------------------------------------------------------

// Error as a colour, from dark blue (none) through teal to yellow (the largest): readable by colour-blind people.
static void heat_colour(double t, float out[3]) {
  static const double stops[5][3] = {
    {0.07, 0.0, 0.09}, {0.05, 0.08, 0.24}, {0.01, 0.28, 0.26}, {0.12, 0.6, 0.12}, {0.98, 0.8, 0.02}};
  double at = 4 * (t < 0 ? 0 : t > 1 ? 1 : t);
  int k = at >= 4 ? 3 : (int)at;
  for (int c = 0; c < 3; c++) out[c] = (float)(stops[k][c] + (at - k) * (stops[k + 1][c] - stops[k][c]));
}

// Mesh, skin, normals and colours in the order of the rest file.
typedef struct file_order {
  sn_mesh mesh;
  sn_skin skin;
  float (*colours)[3], (*normals)[3];
  sn_arena memory;
} file_order;

// Linear blend skinning as the runtime evaluates it.
static sn_status build_model(cli *c, const char *path, const sn_mesh *mesh, const sn_skeleton *skeleton,
                             const sn_skin *skin, sn_model *bytes, sn_rt_model *out) {
  sn_model_desc desc = sn_model_desc_default();
  desc.rest = mesh, desc.skeleton = skeleton, desc.skin = skin;
  sn_status status = sn_model_build(&c->ctx, &desc, bytes);
  return status == SN_OK ? sn_model_open(&c->ctx, path, bytes->bytes, bytes->size, out) : status;
}

// Errors as colours of the vertices, which are written with the rig and so precede its evaluation.
static sn_status colour_errors(cli *c, const rig_job *job, const file_order *order, float (*out)[3]) {
  sn_examples rigged = job->examples;
  sn_model bytes = {0};
  sn_rt_model model;
  sn_keys all = {0};
  int n = rigged.rest.vertex_count;
  double worst = 0, *rms = SN_NEW(&c->ctx, &c->memory, double, n);
  rigged.skeleton = job->result.skeleton, rigged.poses = job->result.poses;
  sn_status status =
    rms ? build_model(c, "rig", &order->mesh, &rigged.skeleton, &order->skin, &bytes, &model) : c->ctx.error.status;
  if (status == SN_OK) status = sn_keys_parse(&c->ctx, "all", rigged.frames.frame_count, 1, &all, NULL);
  if (status == SN_OK) status = sn_assess_vertices(&c->ctx, &model, &rigged, &all, rms);
  for (int i = 0; i < n && status == SN_OK; i++) worst = fmax(worst, rms[i]);
  for (int i = 0; i < n && status == SN_OK; i++) heat_colour(worst > 0 ? rms[i] / worst : 0, out[i]);
  sn_keys_free(&all);
  sn_model_free(&bytes);
  return status;
}

static sn_status to_file_order(cli *c, const rig_job *job, file_order *out) {
  const sn_examples *e = &job->examples;
  int n = e->rest.vertex_count, count = sn_examples_file_vertices(e);
  *out = (file_order){.memory = sn_arena_new(&c->ctx)};
  sn_status status = sn_examples_file_mesh(&c->ctx, e, &out->mesh);
  if (status == SN_OK) status = sn_examples_file_skin(&c->ctx, e, &job->result.skin, &out->skin);
  out->colours = sn_arena_alloc(&c->ctx, &out->memory, (size_t)count, sizeof *out->colours);
  out->normals = sn_arena_alloc(&c->ctx, &out->memory, (size_t)count, sizeof *out->normals);
  float(*colours)[3] = sn_arena_alloc(&c->ctx, &out->memory, (size_t)n, sizeof *colours);
  if (status == SN_OK && (!out->colours || !out->normals || !colours)) status = c->ctx.error.status;
  if (status != SN_OK) return status;
  sn_examples_normals(e, (const float(*)[3])e->rest.positions, out->normals);
  if (sn_cli_given(c, "--heat")) status = colour_errors(c, job, out, colours);
  if (status == SN_OK) sn_examples_to_file(e, colours, sizeof *colours, out->colours);
  return status;
}

static void free_file_order(file_order *order) {
  sn_mesh_free(&order->mesh);
  sn_skin_free(&order->skin);
  sn_arena_free(&order->memory);
}

// New joints get names that the rest file's own joints do not have: a file's joints are kept by name, parents and all.
static sn_status free_names(cli *c, const sn_gltf *base, sn_skeleton *skeleton) {
  sn_skeleton old;
  sn_status status = sn_gltf_skeleton(&c->ctx, base, &old, NULL);
  if (status == SN_BAD_INPUT) return SN_OK; // a file without joints
  for (int j = 0; status == SN_OK && j < skeleton->joint_count; j++) {
    char name[256];
    snprintf(name, sizeof name, "%.200s", skeleton->names[j]);
    for (int copy = 2; sn_skeleton_find(&old, name) >= 0; copy++) {
      snprintf(name, sizeof name, "%.200s.%d", skeleton->names[j], copy);
    }
    skeleton->names[j] = sn_arena_text(&c->ctx, &skeleton->memory, name);
    if (!skeleton->names[j]) status = c->ctx.error.status;
  }
  sn_skeleton_free(&old);
  return status;
}

// The document that the rest mesh is from; NULL: it is from another file, or its mirror image.
static sn_status read_base(cli *c, rig_job *job, sn_gltf **out) {
  const char *path = sn_cli_text(c, "--rest"), *frames[1], *clip;
  *out = NULL;
  if (!path) { // the frames brought it
    sn_cli_texts(c, "--frames", frames, 1);
    path = sn_clip_path(&c->ctx, &job->memory, frames[0], &clip);
    if (!path) return c->ctx.error.status;
  }
  return sn_is_document(path) && !job->mirrored ? sn_gltf_read(&c->ctx, path, out) : SN_OK;
}

static sn_status write_rig(cli *c, rig_job *job, const char *path) {
  const sn_examples *e = &job->examples;
  sn_gltf_clip_out *clips = SN_NEW(&c->ctx, &job->memory, sn_gltf_clip_out, e->clip_count);
  file_order order;
  sn_gltf *base = NULL;
  sn_status status = to_file_order(c, job, &order);
  int count = 0;
  if (!clips) status = c->ctx.error.status;
  for (int k = 0; clips && k < e->clip_count; k++) {
    int first = e->clip_start[k], frames = e->clip_start[k + 1] - first;
    if (frames > 0)
      clips[count++] = (sn_gltf_clip_out){.name = e->clip_names ? e->clip_names[k] : "clip",
                                          .poses = &job->result.poses,
                                          .first_frame = first,
                                          .frame_count = frames};
  }
  if (status == SN_OK) status = read_base(c, job, &base);
  if (status == SN_OK && base && job->options.given == SN_RIG_NOTHING) {
    status = free_names(c, base, &job->result.skeleton);
  }
  if (status == SN_OK) {
    sn_gltf_out out = {.base = base,
                       .mesh = &order.mesh,
                       .normals = job->posed ? (const float(*)[3])order.normals : NULL,
                       .posed = job->posed,
                       .colors = sn_cli_given(c, "--heat") ? (const float(*)[3])order.colours : NULL,
                       .skeleton = &job->result.skeleton,
                       .skin = &order.skin,
                       .clip_count = count,
                       .clips = clips,
                       .fps = sn_cli_rate(c, &e->frames),
                       .affine = job->options.bone_type == SN_RIG_AFFINE};
    status = sn_gltf_write(&c->ctx, path, &out);
  }
  sn_gltf_free(base);
  free_file_order(&order);
  return status;
}

// ---- report ------------------------------------------------------------------------------------------------------------

// The poses of every clip that was written, one after the other; those of the rest file that stay are behind them.
static sn_status read_poses(cli *c, const sn_gltf *gltf, double fps, int joint_count, int frames, sn_poses *out) {
  sn_status status = sn_poses_new(&c->ctx, joint_count, frames, out);
  int first = 0;
  for (int k = 0; status == SN_OK && k < sn_gltf_clip_count(gltf) && first < frames; k++) {
    sn_poses clip;
    status = sn_gltf_poses(&c->ctx, gltf, k, fps, -1, &clip);
    if (status != SN_OK) break;
    if (clip.frame_count > frames - first) {
      status = sn_fail(&c->ctx, SN_BAD_FILE, "clip %d has %d frames, more than were written", k, clip.frame_count);
    } else {
      memcpy(sn_pose(out, first), clip.matrices, (size_t)clip.frame_count * (size_t)joint_count * sizeof(sn_affine));
      first += clip.frame_count;
    }
    sn_poses_free(&clip);
  }
  return status;
}

// Figures of the file as written: read back, and evaluated by the runtime.
static sn_status assess_file(cli *c, rig_job *job, const char *path) {
  sn_examples read = job->examples; // the same rest mesh and frames
  read.skeleton = (sn_skeleton){0}, read.poses = (sn_poses){0};
  sn_gltf *gltf;
  sn_mesh mesh = {0};
  sn_skin skin = {0};
  sn_model bytes = {0};
  sn_rt_model model;
  sn_status status = sn_gltf_read(&c->ctx, path, &gltf);
  if (status != SN_OK) return status;
  status = sn_gltf_mesh(&c->ctx, gltf, &mesh, NULL, NULL, NULL);
  if (status == SN_OK) status = sn_gltf_skeleton(&c->ctx, gltf, &read.skeleton, &skin);
  if (status == SN_OK) {
    status = read_poses(c, gltf, sn_cli_rate(c, &job->examples.frames), read.skeleton.joint_count,
                        read.frames.frame_count, &read.poses);
  }
  if (status == SN_OK) status = build_model(c, path, &mesh, &read.skeleton, &skin, &bytes, &model);
  if (status == SN_OK) status = sn_assess_rig(&c->ctx, &model, &read, &job->result.skin, &job->memory, &job->figures);
  sn_model_free(&bytes);
  sn_skin_free(&skin);
  sn_mesh_free(&mesh);
  sn_skeleton_free(&read.skeleton);
  sn_poses_free(&read.poses);
  sn_gltf_free(gltf);
  return status;
}

static int by_size(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

// Stray vertices lie outside the box of the others by many times its size, and make the diagonal worthless as a measure.
typedef struct strays {
  int count, farthest;
  double diagonal; // of the box without the outer hundredth at each of its sides
} strays;

static sn_status find_strays(cli *c, const sn_mesh *rest, strays *out) {
  static const double far = 5; // diagonals
  sn_arena scratch = sn_arena_new(&c->ctx);
  int n = rest->vertex_count, cut = n / 100;
  float *sorted = SN_NEW(&c->ctx, &scratch, float, n), low[3], high[3];
  if (!sorted) return c->ctx.error.status;
  for (int a = 0; a < 3; a++) {
    for (int i = 0; i < n; i++) sorted[i] = rest->positions[i][a];
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    low[a] = sorted[cut], high[a] = sorted[n - 1 - cut];
  }
  sn_vec3 centre = sn_vec3_scale(sn_vec3_add(sn_vec3_from(low), sn_vec3_from(high)), 0.5);
  double largest = 0;
  *out = (strays){.diagonal = sn_vec3_distance(sn_vec3_from(low), sn_vec3_from(high))};
  for (int i = 0; i < n; i++) {
    double distance = sn_vec3_distance(sn_vec3_from(rest->positions[i]), centre);
    out->count += distance > far * out->diagonal;
    if (distance > largest) largest = distance, out->farthest = i;
  }
  sn_arena_free(&scratch);
  return SN_OK;
}

// What to try where the rig is far from the frames; an empty text where it is not.
static sn_status judge(cli *c, const rig_job *job, const sn_metrics *m, char *out, size_t size) {
  static const double most_rms = 2, most_largest = 20; // percent of the diagonal
  strays stray = {0};
  *out = '\0';
  sn_status status = find_strays(c, &job->examples.rest, &stray);
  if (status != SN_OK) return status;
  const sn_mesh *rest = &job->examples.rest;
  double whole = sn_points_diagonal((const float(*)[3])rest->positions, rest->vertex_count);
  double scale = stray.count > 0 && stray.diagonal > 0 ? whole / stray.diagonal : 1;
  double rms = scale * m->rms_pct_diag, largest = scale * m->max_pct_diag;
  if (rms <= most_rms && largest <= most_largest) return SN_OK;
  int used = snprintf(out, size, "a poor rig, rms %.3g %% and largest error %.3g %% of the diagonal", rms, largest);
  if (stray.count > 0) {
    snprintf(
      out + used, size - (size_t)used,
      " without %d stray vertices: delete those, far from the others, and rig again (vertex %d of the rest mesh "
      "is farthest)",
      stray.count, stray.farthest);
  } else if (job->options.given != SN_RIG_NOTHING) {
    snprintf(out + used, size - (size_t)used, "; try --solve both or --helpers %d", 8);
  } else {
    snprintf(out + used, size - (size_t)used, "; try --bones %d --keep-bones, --joints none or --rest-frame auto",
             2 * job->result.report.bones + 2);
  }
  return SN_OK;
}

static void report_noise(cli *c, const sn_rig_noise *noise) {
  json_t *out = json_object(), *wrong = json_array();
  for (int k = 0; k < noise->wrong_count; k++) json_array_append_new(wrong, json_integer(noise->wrong[k]));
  sn_report_add(out, "frames_pct_diag:f rest_pct_diag:f wrong_frames:o", noise->frames_pct_diag, noise->rest_pct_diag,
                wrong);
  json_object_set_new(c->result, "noise", out);
  if (noise->frames_pct_diag > 0)
    sn_cli_say(c, "  noise: %.3f %% of the diagonal in the frames, %.3f %% in the rest mesh%s\n",
               noise->frames_pct_diag, noise->rest_pct_diag,
               noise->rest_pct_diag > 0 ? ", which is averaged over the frames" : "");
  for (int k = 0; k < noise->wrong_count; k++)
    sn_cli_say(c, "  frame %d is plainly wrong and holds the pose before it\n", noise->wrong[k]);
}

// The cross-validated error of numbers of bones, those about the choice in full; the choice is marked.
static void say_curve(cli *c, const sn_rig_report *r) {
  if (r->curve_count == 0) return;
  sn_cli_say(c, "  error on held-out frames by number of free bones, %% of the diagonal:\n   ");
  for (int b = 1; b <= r->curve_count; b++) {
    if (abs(b - r->curve_choice) <= 3 || (b & (b - 1)) == 0 || b == r->curve_count)
      sn_cli_say(c, " %d: %.3g%s", b, r->curve[b - 1], b == r->curve_choice ? " (chosen)" : "");
  }
  sn_cli_say(c, "\n");
}

static sn_status plot_curve(cli *c, const sn_rig_report *r, const char *path) {
  double x[1024], chosen = r->curve_choice;
  int count = r->curve_count < 1024 ? r->curve_count : 1024;
  for (int b = 0; b < count; b++) x[b] = b + 1;
  double both[] = {chosen, chosen}, heights[] = {0, r->curve[r->curve_choice - 1]};
  sn_plot_line lines[] = {{"held-out frames", count, x, r->curve}, {"chosen", 2, both, heights}};
  return sn_plot_write(&c->ctx, path, "How many bones", "free bones", "cross-validated rms, % of diagonal", lines, 2);
}

static void report(cli *c, const rig_job *job, const char *path) {
  const sn_rig_report *r = &job->result.report;
  const sn_rig_figures *g = &job->figures;
  c->result = sn_report_rig(r, g, &job->examples, job->options.influences, job->rest_frame, job->seconds);
  if (*job->poor) sn_cli_say(c, "%s: %s\n", path, job->poor);
  if (*job->poor) json_object_set_new(c->result, "poor", json_string(job->poor));
  sn_cli_say(c, "%s: %d bone%s in %.2f s (%d iterations)\n", path, r->bones, r->bones == 1 ? "" : "s", job->seconds,
             r->iterations);
  if (job->rest_frame >= 0) sn_cli_say(c, "  rest pose: frame %d\n", job->rest_frame);
  if (job->options.given == SN_RIG_NOTHING) report_noise(c, &job->noise);
  if (*r->symmetry) sn_cli_say(c, "  symmetry: %s\n", r->symmetry);
  say_curve(c, r);
  if (*r->reason) sn_cli_say(c, "  fewer bones than --bones: %s\n", r->reason);
  sn_cli_say(c, "  rms %s %% of the diagonal, largest %s %%, E_RMS %.4g, joint gap %.2g %%\n",
             sn_cli_figure(g->error.rms_pct_diag, 4).text, sn_cli_figure(g->error.max_pct_diag, 3).text,
             g->error.e_rms, g->joint_gap_pct_diag);
  sn_cli_say(
    c, "  99 of 100 vertices below %s %%, normals off by %.2f degrees, roughness of new poses %.2f %% of an edge\n",
    sn_cli_figure(g->visible.p99_pct_diag, 3).text, g->error.normal_deg, g->visible.roughness);
  if (r->bones > 1 && job->options.structure == SN_RIG_TREE) {
    sn_cli_say(c, "  joints inside the body: %.0f %%", g->joints_inside_pct);
    if (g->joints_inside_pct < 100) sn_cli_say(c, ", the farthest %.2g %% outside", g->joint_outside_pct_diag);
    sn_cli_say(c, "\n");
    if (g->joints_inside_pct < 100 && g->pieces > 1) {
      sn_cli_say(c,
                 "  the mesh has %d separate pieces; joints between pieces that move freely have no body to lie in: "
                 "rig such things one "
                 "by one, or with --joints none\n",
                 g->pieces);
    }
  }
  sn_cli_say(c, "  vertices by influences:");
  for (int k = 1; k <= job->options.influences; k++) sn_cli_say(c, " %d: %d", k, g->influences[k]);
  int worst = 0;
  for (int f = 1; f < job->examples.frames.frame_count; f++)
    if (g->frame_rms[f] > g->frame_rms[worst]) worst = f;
  sn_cli_say(c, "\n  worst frame: %d, rms %.4g\n", worst, g->frame_rms[worst]);
}

// A tree hangs together; where the written one does not, it is no rig.
static sn_status check_gap(cli *c, const rig_job *job, const char *path) {
  double gap_pct = job->figures.joint_gap_pct_diag;
  static const double most = 0.01; // percent of the diagonal: single precision, far from the origin, stays below
  if (job->options.given != SN_RIG_NOTHING || job->options.structure != SN_RIG_TREE || gap_pct <= most) return SN_OK;
  return sn_fail(
    &c->ctx, SN_NOT_CONVERGED,
    "%s: the joints of this rig would be %.2g %% of the diagonal apart in some frame; it was not written. "
    "Move the rest mesh and the frames near the origin",
    path, gap_pct);
}

static sn_status solve(cli *c, rig_job *job, const char *path) {
  double start = sn_seconds();
  sn_status status = sn_rig(&c->ctx, &job->examples.rest, &job->examples.frames, &job->options, &job->result);
  job->seconds = sn_seconds() - start;
  if (status == SN_OK) status = write_rig(c, job, path);
  if (status == SN_OK) status = assess_file(c, job, path);
  if (status == SN_OK) status = check_gap(c, job, path);
  if (status == SN_OK && sn_cli_given(c, "--plot"))
    status = plot_curve(c, &job->result.report, sn_cli_text(c, "--plot"));
  if (status == SN_OK) status = judge(c, job, &job->figures.error, job->poor, sizeof job->poor);
  if (status == SN_OK) {
    c->input = sn_report_examples(&job->examples);
    report(c, job, path);
  }
  return status;
}

static int run(cli *c) {
  const char *path = sn_cli_text(c, "-o");
  rig_job job = {.memory = sn_arena_new(&c->ctx)};
  if (!path) return sn_cli_misuse("rig: where to? Give -o FILE.glb");
  if (!sn_cli_is_scene(path)) {
    return sn_cli_misuse("rig: -o %s: a rig is written as .glb, .gltf or .fbx", path);
  }
  if (!parse_options(c, &job.options)) return exit_usage;
  if (sn_cli_given(c, "--plot") && (job.options.bones > 0 || job.options.given != SN_RIG_NOTHING))
    return sn_cli_misuse("rig: --plot draws how --bones auto chooses; leave out --bones N and --skeleton");
  sn_status status = sn_cli_has_folder(c, path) ? load(c, &job) : SN_IO;
  if (status == SN_OK) status = solve(c, &job, path);
  sn_rig_result_free(&job.result);
  sn_examples_free(&job.examples);
  sn_arena_free(&job.memory);
  return status == SN_OK ? exit_done : sn_cli_fail(c);
}

static const cli_option options[] = {
  CLI_OPTION_REST,
  CLI_OPTION_FRAMES,
  {"-o", "FILE.glb", NULL, "rig to write (.glb, .gltf, .fbx): skeleton, skin and animation", cli_output},
  {"--keys", "SPEC", "all", "frames to use: all, every:N, 0,5,10-20 or random:N", cli_input},
  CLI_OPTION_SKELETON,
  {"--solve", "WHAT", "weights", "with --skeleton: solve for weights, motion or both", cli_advanced | cli_quality},
  {"--lock", "NAMES", NULL,
   "with --skeleton: joints (comma-separated) that keep their motion, beside those with the attribute demLock",
   cli_advanced | cli_quality},
  {"--keep-weights", NULL, NULL,
   "with --skeleton: keep the file's weights where vertex colours are white, as Dem Bones does",
   cli_advanced | cli_quality},
  {"--rest-frame", "N|auto", NULL,
   "use this frame as rest pose; auto: the frame with the least bending to all others", cli_advanced | cli_quality},
  {"--keep-bones", NULL, NULL, "use exactly as many bones as --bones says", cli_quality},
  {"--plot", "FILE.svg", NULL, "--bones auto: chart of the cross-validated error by number of bones", cli_output},
  {"--heat", NULL, NULL, "write the error of every vertex as colours (COLOR_0)", cli_output},
  CLI_OPTIONS_FILES,
  CLI_OPTION_MATCH,
  {0},
};

const cli_command sn_cli_rig = {
  .name = "rig",
  .usage = "--rest FILE --frames FILE -o FILE.glb",
  .summary = "find skeleton, weights and motion of a mesh sequence",
  .details = "Several --frames are rigged together and become the animations of one file. --rest FILE.glb keeps its "
             "materials, "
             "textures and UVs.",
  .example = "sinew gen body --vertices 2000 --frames 20 -o body\n"
             "sinew rig --rest body/rest.obj --frames body/frames.pc2 -o rig.glb",
  .options = options,
  .typed = sn_rig_option_groups,
  .run = run,
};
