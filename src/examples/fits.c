// SPDX-License-Identifier: MIT
// Checks that the frames belong to the poses: the file's weights predict each frame. If another reading of the files (frame rate,
// time shift, reversed time, clip, axes, unit) explains the frames far better, reports it.
#include "examples/load.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Errors are relative to the diagonal. Below `fitting` nothing is tested. Another reading is likely if it reduces the error to
// `likely` of it, and certain at `certain` of it if the error exceeds `wrong`.
static const double fitting = 2e-4, likely = 0.5, certain = 0.1, wrong = 5e-3;
// A time shift must remove more than `noticed` (sqrt of the difference of squares). One of about a frame or less is reported for
// any gain on which the frames agree: the shift is `steady` times its standard error. The skin's residual depends on the pose, not
// on its velocity: a shift gains in some frames and loses in others.
static const double noticed = 5e-4, steady = 3;

enum { most_frames = 24, most_vertices = 400, whole_shifts = 41 };

typedef struct reading {
  double rate, shift; // pose time of frame f: (rate f + shift) / fps; shift in frames of the poses
  bool backwards;
  int clip;
  sn_mat3 axes; // frames to rest space
} reading;

// Sums over the frames' vertices x, in the axes of a reading, and their positions p skinned by the poses; d = x - p.
typedef struct fit_sums {
  double dd, pp, px, xx, used;  // used: number of samples; 0 if fewer than half of the frames have a pose
  double frame_dd[most_frames]; // of each sampled frame; 0: it has no pose
  sn_vec3 d;
} fit_sums;

// After a failure, kept in `status`, nothing more is sampled.
typedef struct fit_job {
  sn_context *ctx;
  sn_status status;
  const sn_gltf *gltf;
  const char *path; // of the frames
  sn_examples *examples;
  const sn_adjust *adjust;       // of rest, frames and skeleton, from the options
  int first, count, clip;        // frames of the examples; the clip from the options
  double fps, diagonal, offset;  // of the poses, seconds
  sn_affine *matrices, *between; // of the file's joints; from our rest to the file's
  sn_affine *posed;              // of our joints
  int *joint_of, joint_count;
  reading plain;
  fit_sums of_plain;
  fit_sums whole[whole_shifts]; // with the poses shifted by whole frames: 0, 1, -1, 2, -2, ...
  struct finding {
    double error;
    bool in_time; // a time shift, reported for smaller gains
    char words[256];
  } best; // the best reading so far
  sn_arena scratch;
} fit_job;

// Samples the matrices of our joints from a clip, `t` seconds after the time of frame 0.
static bool sample(fit_job *job, int clip, double t) {
  double start = sn_gltf_clip(job->gltf, clip).start + job->offset;
  if (job->status == SN_OK) job->status = sn_gltf_pose(job->ctx, job->gltf, clip, start + t, job->matrices);
  if (job->status != SN_OK) return false;
  sn_adjust_matrices(&job->adjust[SN_FILE_SKELETON], job->matrices, (size_t)job->joint_count);
  for (int j = 0; j < job->examples->skeleton.joint_count; j++)
    job->posed[j] = sn_affine_mul(job->matrices[job->joint_of[j]], job->between[j]);
  return true;
}

static fit_sums sum_up(fit_job *job, const reading *r) {
  const sn_examples *e = job->examples;
  sn_clip_info info = sn_gltf_clip(job->gltf, r->clip);
  double seconds = info.end - info.start - job->offset, sampled = 0;
  fit_sums out = {0};
  int step = (job->count + most_frames - 1) / most_frames,
      stride = (e->rest.vertex_count + most_vertices - 1) / most_vertices;
  for (int f = 0, n = 0; f < job->count; f += step, n++) {
    double t = (r->backwards ? job->count - 1 - f : r->rate * f + r->shift) / job->fps;
    sampled++;
    if (t < -1e-6 || t > seconds + 0.6 / job->fps) continue;
    if (!sample(job, r->clip, t)) return (fit_sums){0};
    const float(*frame)[3] = sn_frame(&e->frames, job->first + f);
    double before = out.dd;
    for (int i = 0; i < e->rest.vertex_count; i += stride) {
      sn_vec3 p = sn_skin_blend(&e->skin, i, job->posed, sn_vec3_from(e->rest.positions[i])),
              x = sn_mat3_apply(r->axes, sn_vec3_from(frame[i])), d = sn_vec3_sub(x, p);
      out.dd += sn_vec3_dot(d, d), out.pp += sn_vec3_dot(p, p), out.px += sn_vec3_dot(p, x),
        out.xx += sn_vec3_dot(x, x), out.used++, out.d = sn_vec3_add(out.d, d);
    }
    out.frame_dd[n] = out.dd - before;
  }
  double per_frame = (e->rest.vertex_count + stride - 1) / stride;
  if (out.used < 0.5 * sampled * per_frame) out.used = 0;
  return out;
}

// RMS distance between the frames times `scale` and the skinned positions, over the diagonal.
static double error_at(const fit_job *job, const fit_sums *s, double scale) {
  double sum = scale == 1 ? s->dd : s->pp - 2 * scale * s->px + scale * scale * s->xx;
  return s->used > 0 ? sqrt(fmax(sum, 0) / s->used) / job->diagonal : INFINITY;
}

static double error_of(fit_job *job, const reading *r) {
  fit_sums sums = sum_up(job, r);
  return error_at(job, &sums, 1);
}

// The same for another pace: the plain error times what is left of it in the frames that have a pose in both readings.
static double error_of_pace(fit_job *job, const reading *r) {
  fit_sums sums = sum_up(job, r), *plain = &job->of_plain;
  double same = 0;
  for (int n = 0; n < most_frames; n++) same += sums.frame_dd[n] > 0 ? plain->frame_dd[n] : 0;
  return sums.used > 0 && same > 0 ? error_at(job, plain, 1) * sqrt(sums.dd / same) : INFINITY;
}

// Keeps a reading and its message if its error is clearly lower; of equally good readings, the first.
__attribute__((format(printf, 3, 4))) static bool better(fit_job *job, double error, const char *words, ...) {
  va_list list;
  if (!(error < 0.8 * job->best.error)) return false;
  job->best = (struct finding){.error = error};
  va_start(list, words);
  vsnprintf(job->best.words, sizeof job->best.words, words, list);
  va_end(list);
  return true;
}

static void consider_times(fit_job *job) {
  static const double rates[] = {24, 25, 30, 50, 60, 12, 15, 48, 120};
  reading r = job->plain;
  for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
    r.rate = job->fps / rates[k];
    if (r.rate == 1) continue;
    better(job, error_of_pace(job, &r), "the frames fit the clip at %g frames per second: give `fps` %g", rates[k],
           rates[k]);
  }
  for (int n = 2; n <= 10; n++) {
    r.rate = n;
    better(job, error_of_pace(job, &r), "the frames are one in %d of the clip: give `fps` %g", n, job->fps / n);
  }
  r = job->plain, r.backwards = true;
  better(job, error_of_pace(job, &r), "the frames run backwards");
}

// Minimum of the parabola through three squared errors, `step` apart around `shift`; at most a step away.
static double lowest(fit_job *job, double shift, double step) {
  double square[3];
  for (int k = 0; k < 3; k++) {
    reading r = job->plain;
    r.shift = shift + (k - 1) * step;
    square[k] = pow(error_of(job, &r), 2);
  }
  double bend = square[0] - 2 * square[1] + square[2];
  if (!isfinite(bend)) return isfinite(square[0]) ? shift - step : isfinite(square[2]) ? shift + step : shift;
  double at = bend > 0 ? 0.5 * (square[0] - square[2]) / bend : square[0] < square[2] ? -1 : 1;
  return shift + step * fmax(-1, fmin(1, at));
}

// Whether the frames agree that the poses are `shift` late. Their squared errors are parabolas in the shift; those with the common
// minimum are as large at twice the shift as at none. t: 4 times the gain over the root of the squared differences.
static bool shift_is_steady(fit_job *job, double shift) {
  fit_sums at[3]; // without, at and at twice the shift
  double gain = 0, apart = 0, count = 0;
  for (int k = 0; k < 3; k++) {
    reading r = job->plain;
    r.shift = k * shift, at[k] = sum_up(job, &r);
  }
  for (int n = 0; n < most_frames; n++) {
    const double e[3] = {at[0].frame_dd[n], at[1].frame_dd[n], at[2].frame_dd[n]};
    if (e[0] > 0 && e[1] > 0 && e[2] > 0) gain += e[0] - e[1], apart += (e[2] - e[0]) * (e[2] - e[0]), count++;
  }
  return count > 1 && 4 * gain > steady * sqrt(apart * count / (count - 1));
}

// Exporters are off by the time of the first key, or by whole frames: such a shift is taken if it is near and explains as much.
static double usual_shift(fit_job *job, double shift) {
  const double usual[] = {-(sn_gltf_clip(job->gltf, job->clip).start + job->offset) * job->fps, round(shift)};
  reading r = job->plain;
  r.shift = shift = round(100 * shift) / 100;
  double error = error_of(job, &r);
  for (int k = 0; k < 2; k++) {
    r.shift = usual[k];
    if (fabs(shift - usual[k]) < 0.1 && pow(error_of(job, &r), 2) - error * error < noticed * noticed)
      return usual[k];
  }
  return shift;
}

static int whole_shift(int n) { return n % 2 ? (n + 1) / 2 : -n / 2; }

// Time shift between poses and frames: whole frames first, then fractions.
static void consider_shift(fit_job *job) {
  reading r = job->plain;
  double error = INFINITY, whole = 0;
  for (int n = 0; n < whole_shifts; n++) {
    r.shift = whole_shift(n), job->whole[n] = sum_up(job, &r);
    double other = error_at(job, &job->whole[n], 1);
    if (other < error) error = other, whole = r.shift;
  }
  double start = error_at(job, &job->whole[0], 1);
  double shift = lowest(job, whole, 0.5);
  for (double step = 0.25; step > 0.05; step *= 0.4) shift = lowest(job, shift, step);
  shift = usual_shift(job, shift);
  r.shift = shift;
  error = error_of(job, &r);
  if (shift == 0 || start * start - error * error < noticed * noticed) return;
  bool small = fabs(shift) <= 1.5 && shift_is_steady(job, shift);
  if (!small && !(error < likely * start)) return;
  if (!*job->best.words) job->best.error = INFINITY; // no earlier reading to beat
  bool in_time = job->best.in_time;
  job->best.in_time = better(job, error, "the frames are %.3g frame%s %s than the poses: give `offset` skeleton=%.6g",
                             fabs(shift), fabs(fabs(shift) - 1) < 5e-3 ? "" : "s", shift > 0 ? "later" : "earlier",
                             job->adjust[SN_FILE_SKELETON].offset + shift / job->fps) ||
                      in_time;
}

// Missing or repeated frames: from some frame on another whole shift fits. After consider_shift, which sums up.
static void consider_gaps(fit_job *job) {
  const fit_sums *plain = &job->whole[0];
  for (int n = 1; n < whole_shifts; n++) {
    double sum = plain->dd, least = INFINITY;
    int first = 0, shift = whole_shift(n), step = (job->count + most_frames - 1) / most_frames;
    for (int k = most_frames - 1; k > 0; k--) {
      if (job->whole[n].frame_dd[k] > 0) sum += job->whole[n].frame_dd[k] - plain->frame_dd[k];
      if (sum < least) least = sum, first = k * step;
    }
    better(job, sqrt(fmax(least, 0) / plain->used) / job->diagonal,
           "%d frame%s too %s before frame %d: export the frames again", abs(shift), abs(shift) == 1 ? "" : "s",
           shift > 0 ? "few" : "many", first);
  }
}

static void consider_clips(fit_job *job) {
  reading r = job->plain;
  for (r.clip = 0; r.clip < sn_gltf_clip_count(job->gltf) && r.clip < 64; r.clip++) {
    const char *name = sn_gltf_clip(job->gltf, r.clip).name;
    if (r.clip == job->clip) continue;
    better(job, error_of(job, &r), "the frames are those of clip %d '%.80s': give `clip` %.80s", r.clip, name,
           *name ? name : "INDEX");
  }
}

// Least-squares scale, rounded to a known unit or to three digits; 0: none.
static double best_scale(const fit_sums *s) {
  double scale = s->xx > 0 ? s->px / s->xx : 0;
  if (!(scale > 0)) return 0;
  double known = sn_known_scale(scale, 0.05), digit = pow(10, floor(log10(scale)) - 2);
  return known != scale ? known : round(scale / digit) * digit;
}

// Other axes alone, then with another unit: the best scale has a closed form.
static void consider_axes(fit_job *job) {
  fit_sums sums[SN_AXES];
  reading r = job->plain;
  for (int k = 0; k < SN_AXES; k++) r.axes = sn_axes_number(k), sums[k] = sum_up(job, &r);
  for (int scaled = 0; scaled < 2; scaled++)
    for (int k = 0; k < SN_AXES; k++) {
      double scale = scaled ? best_scale(&sums[k]) : 1;
      char options[128], size[48] = "";
      if (!(scale > 0) || (scale == 1 && (scaled || k == 0))) continue;
      sn_adjust_text(&job->adjust[SN_FILE_FRAMES], sn_mat3_scale(sn_axes_number(k), scale), SN_FILE_FRAMES, options,
                     sizeof options);
      if (scale != 1) snprintf(size, sizeof size, "%.4g times as large", 1 / scale);
      better(job, error_at(job, &sums[k], scale), "the frames are %s%s%s: give %s", size,
             scale != 1 && k > 0 ? " and " : "", k > 0 ? "in other axes" : "", options);
    }
}

// A constant offset of all vertices.
static void consider_place(fit_job *job) {
  fit_sums s = sum_up(job, &job->plain);
  sn_vec3 by = s.used > 0 ? sn_vec3_scale(s.d, 1 / s.used) : s.d;
  double sum = s.used > 0 ? s.dd / s.used - sn_vec3_dot(by, by) : INFINITY;
  better(job, sqrt(fmax(sum, 0)) / job->diagonal,
         "the frames lie (%.4g, %.4g, %.4g) away from it: export both from the same place", by.x, by.y, by.z);
}

// ---- motion that has nothing to do with the poses ------------------------------------------------------------------------

// Covariance sums over the sampled vertices: frames against skinned positions, both minus their means over the frames.
typedef struct likeness {
  double together, frames, poses; // sums of products, of squares
  int count, vertices;            // frames and vertices sampled
} likeness;

static void add_vertex(const sn_vec3 *frame, const sn_vec3 *pose, int count, likeness *sum) {
  sn_vec3 a = {0, 0, 0}, b = {0, 0, 0};
  for (int f = 0; f < count; f++) a = sn_vec3_mad(a, frame[f], 1.0 / count), b = sn_vec3_mad(b, pose[f], 1.0 / count);
  for (int f = 0; f < count; f++) {
    sn_vec3 x = sn_vec3_sub(frame[f], a), y = sn_vec3_sub(pose[f], b);
    sum->together += sn_vec3_dot(x, y), sum->frames += sn_vec3_dot(x, x), sum->poses += sn_vec3_dot(y, y);
  }
}

static likeness compare_motion(fit_job *job) {
  const sn_examples *e = job->examples;
  int step = (job->count + most_frames - 1) / most_frames, frames = (job->count + step - 1) / step,
      stride = (e->rest.vertex_count + most_vertices - 1) / most_vertices,
      vertices = (e->rest.vertex_count + stride - 1) / stride;
  sn_vec3 *frame = SN_NEW(job->ctx, &job->scratch, sn_vec3, (size_t)vertices * (size_t)frames),
          *pose = SN_NEW(job->ctx, &job->scratch, sn_vec3, (size_t)vertices * (size_t)frames);
  likeness out = {.count = frames, .vertices = vertices};
  if (!frame || !pose) job->status = job->ctx->error.status;
  for (int f = 0; f < frames && sample(job, job->clip, f * step / job->fps); f++)
    for (int v = 0; v < vertices; v++) {
      frame[v * frames + f] = sn_vec3_from(sn_frame(&e->frames, job->first + f * step)[v * stride]);
      pose[v * frames + f] =
        sn_skin_blend(&e->skin, v * stride, job->posed, sn_vec3_from(e->rest.positions[v * stride]));
    }
  for (int v = 0; v < vertices && job->status == SN_OK; v++)
    add_vertex(frame + (size_t)v * (size_t)frames, pose + (size_t)v * (size_t)frames, frames, &out);
  return out;
}

// Detects frames of a different motion, which no reading explains: frames and poses do not correlate.
static sn_status check_motion(fit_job *job) {
  static const double unrelated = 0.3, doubtful = 0.7;
  enum { fewest_frames = 6 };
  likeness l = compare_motion(job);
  double least = pow(wrong * job->diagonal, 2) * l.count * l.vertices;
  if (job->status != SN_OK || l.count < fewest_frames || l.poses < least) return job->status;
  double correlation = l.together / sqrt(fmax(l.frames, least) * l.poses); // frames without motion: 0
  if (correlation < unrelated) {
    return sn_fail(job->ctx, SN_BAD_INPUT,
                   "%s: the frames do not follow the poses of the skeleton file (correlation %.2f): they are of "
                   "another clip or take; give the file or `clip` that belongs to them",
                   job->path, correlation);
  }
  if (correlation < doubtful) {
    sn_examples_note(job->ctx, job->examples,
                     "%s: the frames move only partly as the poses of the skeleton file do (correlation %.2f); are "
                     "they of this clip?",
                     job->path, correlation);
  }
  return SN_OK;
}

static sn_status check_readings(fit_job *job) {
  job->plain = (reading){.rate = 1, .clip = job->clip, .axes = sn_mat3_identity()};
  job->of_plain = sum_up(job, &job->plain);
  double error = error_at(job, &job->of_plain, 1);
  struct finding *best = &job->best;
  best->error = error;
  if (job->status != SN_OK || !(error > fitting)) return job->status;
  consider_times(job);
  consider_clips(job);
  consider_axes(job);
  consider_shift(job);
  consider_gaps(job);
  consider_place(job);
  if (job->status != SN_OK) return job->status;
  if (!(best->error < likely * error) && !best->in_time) return check_motion(job);
  if (error > wrong && best->error < certain * error) {
    return sn_fail(job->ctx, SN_BAD_INPUT,
                   "%s: the frames are %.3g %% of the diagonal away from the posed skin; %s (then %.3g %%)",
                   job->path, 100 * error, best->words, 100 * best->error);
  }
  sn_examples_note(job->ctx, job->examples,
                   "%s: the frames are %.3g %% of the diagonal away from the posed skin; perhaps %s (then %.3g %%)",
                   job->path, 100 * error, best->words, 100 * best->error);
  return SN_OK;
}

// Matches the file's joints to ours by name and computes the maps between the rest poses.
static sn_status prepare(fit_job *job) {
  const sn_skeleton *ours = &job->examples->skeleton;
  SN_FREED_BY(sn_skeleton_free) sn_skeleton theirs;
  SN_TRY(sn_gltf_skeleton(job->ctx, job->gltf, &theirs, NULL));
  job->matrices = SN_NEW(job->ctx, &job->scratch, sn_affine, theirs.joint_count);
  job->between = SN_NEW(job->ctx, &job->scratch, sn_affine, ours->joint_count);
  job->posed = SN_NEW(job->ctx, &job->scratch, sn_affine, ours->joint_count);
  job->joint_of = SN_NEW(job->ctx, &job->scratch, int, ours->joint_count);
  job->joint_count = theirs.joint_count;
  sn_adjust_rig(&job->adjust[SN_FILE_SKELETON], NULL, &theirs);
  if (!job->matrices || !job->between || !job->posed || !job->joint_of) return job->ctx->error.status;
  sn_load_between(ours, &theirs, job->joint_of, job->between);
  for (int j = 0; j < ours->joint_count; j++)
    if (job->joint_of[j] < 0) job->joint_of[j] = 0;
  return SN_OK;
}

static bool same_source(const sn_load_options *options, int c) {
  const char *a = options->frame_clips[c], *b = options->skeleton_clips[c];
  const sn_adjust *frames = &options->adjust[SN_FILE_FRAMES], *skeleton = &options->adjust[SN_FILE_SKELETON];
  return strcmp(options->frames[c], options->skeletons[c]) == 0 && strcmp(a ? a : "", b ? b : "") == 0 &&
         memcmp(frames, skeleton, sizeof *frames) == 0;
}

static void check_clip(sn_loading *l, int c) {
  const sn_load_options *options = &l->options;
  sn_examples *out = l->out;
  SN_FREED_BY(sn_gltf_close) sn_gltf *gltf = sn_load_document(l, options->skeletons[c]);
  if (!gltf) return;
  fit_job job = {.ctx = l->ctx,
                 .gltf = gltf,
                 .path = options->frames[c],
                 .examples = out,
                 .adjust = options->adjust,
                 .first = out->clip_start[c],
                 .count = out->clip_start[c + 1] - out->clip_start[c],
                 .fps = sn_load_rate(options, &out->frames),
                 .diagonal = sn_points_diagonal((const float(*)[3])out->rest.positions, out->rest.vertex_count),
                 .offset = options->adjust[SN_FILE_SKELETON].offset,
                 .scratch = sn_arena_new(l->ctx)};
  if (job.offset < 0)
    job.offset += ceil(-job.offset * job.fps - 0.5) / job.fps; // cut_frames dropped the frames before the first pose
  l->status = sn_gltf_find_clip(l->ctx, gltf, options->skeleton_clips[c], &job.clip);
  if (l->status == SN_OK) l->status = prepare(&job);
  if (l->status == SN_OK && job.diagonal > 0) l->status = check_readings(&job);
  sn_arena_free(&job.scratch);
}

// Without a skin, only a size ratio that no pose explains can be reported.
static void compare_sizes(sn_loading *l) {
  static const double most = 4;
  const sn_examples *out = l->out;
  int n = out->rest.vertex_count, last = out->frames.frame_count - 1;
  double diagonal = sn_points_diagonal((const float(*)[3])out->rest.positions, n), least = INFINITY, largest = 0;
  for (int k = 0; k < 3; k++) {
    double ratio = sn_points_diagonal(sn_frame(&out->frames, last * k / 2), n) / diagonal;
    least = fmin(least, ratio), largest = fmax(largest, ratio);
  }
  if (!(diagonal > 0) || !(least > 0) || (least <= most && largest >= 1 / most)) return;
  char words[128];
  sn_mat3 scale = sn_mat3_scale(sn_mat3_identity(), sn_known_scale(1 / least, 0.4));
  sn_adjust_text(&l->options.adjust[SN_FILE_FRAMES], scale, SN_FILE_FRAMES, words, sizeof words);
  sn_examples_note(l->ctx, l->out, "%s: the frames are %.3g times as large as %s; if that is another unit, give %s",
                   l->options.frames[0], least, l->options.rest, words);
}

void sn_load_check_fits(sn_loading *l) {
  const sn_examples *out = l->out;
  if (l->options.skeleton_count == 0) compare_sizes(l);
  bool known = !l->options.still_skeleton && out->skin.vertex_count > 0 && out->frames.frame_count > 0;
  if (known && out->skeleton.joint_count > 1 && sn_skin_is_placeholder(&out->skin)) {
    sn_examples_note(l->ctx, l->out, "%s: all vertices are bound to joint '%s': these weights are a placeholder",
                     l->options.skeletons[0], out->skeleton.names[out->skin.joints[0]]);
    known = false; // placeholder weights do not predict the frames
  }
  for (int c = 0; known && c < l->options.skeleton_count && l->status == SN_OK; c++)
    if (!same_source(&l->options, c)) check_clip(l, c);
}
