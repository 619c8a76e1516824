// SPDX-License-Identifier: MIT
// sinew rig: frames without a skeleton -> rigged GLB (Le and Deng 2014).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inputs.h"

static int check_options(cli *c, const sn_rig_options *o, sn_inputs *in) {
  bool given = in->skeletons.count > 0;
  if (!given && (in->solve || in->lock || in->keep_weights || o->helpers > 0))
    return sn_cli_misuse("rig: --solve, --lock, --keep-weights and --helpers need --skeleton FILE");
  if (o->bone_type == SN_RIG_AFFINE && o->structure != SN_RIG_FREE)
    return sn_cli_misuse("rig: affine bones have no joints to rotate about; add --joints none");
  if (sn_cli_given(c, "--plot") && (o->bones > 0 || given))
    return sn_cli_misuse("rig: --plot draws how --bones auto chooses; leave out --bones N and --skeleton");
  if (given && !in->solve) in->solve = "weights";
  in->load.still_skeleton = given && strcmp(in->solve, "weights") != 0; // the solver finds the motion
  return exit_done;
}

static void say_noise(const cli *c, const sn_rig_noise *noise) {
  if (noise->frames_pct_diag > 0)
    sn_cli_say(c, "  noise: %.3f %% of the diagonal in the frames, %.3f %% in the rest mesh%s\n",
               noise->frames_pct_diag, noise->rest_pct_diag,
               noise->rest_pct_diag > 0 ? ", which is averaged over the frames" : "");
  for (int k = 0; k < noise->wrong_count; k++)
    sn_cli_say(c, "  frame %d is an outlier: it keeps the pose of the frame before\n", noise->wrong[k]);
}

// Prints the cross-validated error by number of bones, in full near the choice, which is marked.
static void say_curve(const cli *c, const sn_rig_report *r) {
  if (r->curve_count == 0) return;
  sn_cli_say(c, "  error on held-out frames by number of free bones, %% of the diagonal:\n   ");
  for (int b = 1; b <= r->curve_count; b++)
    if (abs(b - r->curve_choice) <= 3 || (b & (b - 1)) == 0 || b == r->curve_count)
      sn_cli_say(c, " %d: %.3g%s", b, r->curve[b - 1], b == r->curve_choice ? " (chosen)" : "");
  sn_cli_say(c, "\n");
}

static sn_status plot_curve(cli *c, const sn_rig_report *r, const char *path) {
  double x[1024], chosen = r->curve_choice;
  int count = r->curve_count < 1024 ? r->curve_count : 1024;
  for (int b = 0; b < count; b++) x[b] = b + 1;
  double both[] = {chosen, chosen}, heights[] = {0, r->curve[r->curve_choice - 1]};
  sn_plot_line lines[] = {{"held-out frames", count, x, r->curve}, {"chosen", 2, both, heights}};
  return sn_plot_write(&c->ctx, path,
                       &(sn_plot){"How many bones", "free bones", "cross-validated rms, % of diagonal", lines, 2});
}

static void say_result(const cli *c, const sn_rig_job *job, const sn_rig_done *done) {
  const char *path = job->path;
  const sn_rig_report *r = &done->rig.report;
  const sn_rig_figures *g = &done->figures;
  if (*done->poor) sn_cli_say(c, "%s: %s\n", path, done->poor);
  sn_cli_say(c, "%s: %d bone%s in %.2f s (%d iterations)\n", path, r->bones, r->bones == 1 ? "" : "s", done->seconds,
             r->iterations);
  if (done->rest_frame >= 0) sn_cli_say(c, "  rest pose: frame %d\n", done->rest_frame);
  if (job->options.given == SN_RIG_NOTHING) say_noise(c, &done->noise);
  if (*r->symmetry) sn_cli_say(c, "  symmetry: %s\n", r->symmetry);
  say_curve(c, r);
  if (*r->reason) sn_cli_say(c, "  fewer bones than --bones: %s\n", r->reason);
  sn_cli_say(c, "  rms %s %% of the diagonal, largest %s %%, E_RMS %.4g, joint gap %.2g %%\n",
             sn_cli_figure(g->error.rms_pct_diag, 4).text, sn_cli_figure(g->error.max_pct_diag, 3).text,
             g->error.e_rms, g->joint_gap_pct_diag);
  sn_cli_say(
    c, "  99 %% of vertices below %s %%, normals off by %.2f degrees, roughness of new poses %.2f %% of an edge\n",
    sn_cli_figure(g->error.p99_pct_diag, 3).text, g->error.normal_deg, g->roughness);
  if (r->bones > 1 && job->options.structure == SN_RIG_TREE) {
    sn_cli_say(c, "  joints inside the body: %.0f %%", g->joints_inside_pct);
    if (g->joints_inside_pct < 100) sn_cli_say(c, ", the farthest %.2g %% outside", g->joint_outside_pct_diag);
    sn_cli_say(c, "\n");
    if (g->joints_inside_pct < 100 && g->pieces > 1)
      sn_cli_say(c,
                 "  the mesh has %d separate pieces; joints between pieces that move freely have no body to lie in: "
                 "rig such things one by one, or with --joints none\n",
                 g->pieces);
  }
  sn_cli_say(c, "  vertices by influences:");
  for (int k = 1; k <= job->options.influences; k++) sn_cli_say(c, " %d: %d", k, g->influences[k]);
  int worst = 0;
  for (int f = 1; f < job->examples->frames.frame_count; f++)
    if (g->frame_rms[f] > g->frame_rms[worst]) worst = f;
  sn_cli_say(c, "\n  worst frame: %d, rms %.4f %%\n", worst,
             g->error.rms_pct_diag * g->frame_rms[worst] / fmax(g->error.rms, 1e-30));
}

static sn_status rig(cli *c, sn_rig_job *job, sn_inputs *inputs, sn_rig_done *done) {
  char what[96];
  SN_TRY(sn_inputs_load(&c->ctx, inputs, job->examples));
  SN_TRY(sn_inputs_sculpt(&c->ctx, inputs, job->examples));
  int vertices = job->examples->rest.vertex_count;
  snprintf(what, sizeof what, "a rig of %d vertices", vertices);
  SN_TRY(
    sn_cli_need_memory(&c->ctx, 500.0 * vertices, what)); // the least that the solver needs: 500 bytes per vertex
  SN_TRY(sn_job_rig(&c->ctx, job, done));
  return sn_cli_given(c, "--plot") ? plot_curve(c, &done->rig.report, sn_cli_text(c, "--plot")) : SN_OK;
}

static int run(cli *c) {
  sn_inputs inputs;
  SN_FREED_BY(sn_examples_free) sn_examples examples = {0};
  SN_FREED_BY(sn_rig_done_free) sn_rig_done done = {0};
  sn_rig_job job = {.inputs = &inputs, .examples = &examples, .path = sn_cli_text(c, "-o")};
  if (!sn_is_scene(job.path)) return sn_cli_misuse("rig: -o %s: a rig is written as .glb, .gltf or .fbx", job.path);
  if (!sn_cli_fill(c, &job.options)) return exit_usage;
  if (sn_cli_inputs(c, &inputs) != SN_OK) return sn_cli_fail(c);
  if (check_options(c, &job.options, &inputs) != exit_done) return exit_usage;
  if (rig(c, &job, &inputs, &done) != SN_OK) return sn_cli_fail(c);
  sn_cli_name_options(c, done.poor);
  c->input = sn_report_examples(&examples);
  c->result = sn_report_rigging(&job, &done);
  say_result(c, &job, &done);
  return exit_done;
}

static const cli_option options[] = {
  CLI_OPTION_REST,
  CLI_OPTION_FRAMES,
  {"-o", "FILE", NULL, "rig to write (.glb, .gltf, .fbx): skeleton, skin and animation", cli_output | cli_needed},
  {"--keys", "SPEC", "all", "frames to use: all, every:N, 0,5,10-20 or random:N", cli_input},
  CLI_OPTION_SKELETON,
  {"--solve", "weights|motion|both", "weights", "with --skeleton: what to solve for", cli_advanced | cli_quality},
  {"--lock", "NAMES", NULL,
   "with --skeleton: joints (comma-separated) that keep their motion, beside those with the attribute demLock",
   cli_advanced | cli_quality},
  {"--keep-weights", NULL, NULL,
   "with --skeleton: keep the file's weights where vertex colours are white, as Dem Bones does",
   cli_advanced | cli_quality},
  {"--rest-frame", "N|auto", NULL,
   "use this frame as rest pose; auto: the frame with the least bending to all others", cli_advanced | cli_quality},
  {"--keep-bones", NULL, NULL, "use exactly as many bones as --bones says", cli_quality},
  {"--plot", "FILE.svg", NULL, "with --bones auto: chart of cross-validated error by number of bones", cli_output},
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
             "materials, textures and UVs.",
  .example = "sinew gen body --vertices 2000 --frames 20 -o body\n"
             "sinew rig --rest body/rest.obj --frames body/frames.pc2 -o rig.glb",
  .options = options,
  .typed = sn_rig_option_groups,
  .run = run,
};
