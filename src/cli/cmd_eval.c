// SPDX-License-Identifier: MIT
// sinew eval: evaluates a model and writes frames.
#include <math.h>

#include "cli/inputs.h"

static int run(cli *c) {
  SN_FREED_BY(sn_opened_close) sn_opened opened;
  sn_inputs inputs;
  sn_eval_result result = {0};
  sn_eval_job job = {
    .model = &opened.model, .name = c->arguments[0], .inputs = &inputs, .path = sn_cli_text(c, "-o")};
  if (sn_open_model(&c->ctx, job.name, &opened) != SN_OK) return sn_cli_fail(c);
  sn_status status = sn_cli_inputs(c, &inputs);
  if (status == SN_OK) status = sn_job_eval(&c->ctx, &job, &result);
  const sn_metrics *m = &result.error;
  if (status == SN_OK && m->frame_count > 0) {
    sn_cli_say(c, "rms %.4f %% of the diagonal, largest %.3f %%", m->rms_pct_diag, m->max_pct_diag);
    sn_cli_say(c, isfinite(m->ee) ? ", enveloping error %.4f\n" : "\n", m->ee);
  }
  c->result = sn_report_eval(&job, &result);
  return status == SN_OK ? exit_done : sn_cli_fail(c);
}

static const cli_option options[] = {
  {"-o", "FILE", NULL, "file to write: .pc2, .mdd, .abc, .glb, .gltf, .fbx, or a folder for .obj files",
   cli_output | cli_needed},
  CLI_OPTIONS_DRIVE,
  {"--controls", "FILE.pc2", NULL, "positions of the control points, or frames of the whole mesh", cli_input},
  {"--rest", "FILE", NULL, "a .glb to take materials and textures from; with --frames, the rest mesh", cli_input},
  {"--frames", "FILE", NULL, "true frames; the report then has the error of the model", cli_repeats | cli_input},
  CLI_OPTION_MATCH,
  {"--unordered", NULL, NULL,
   "evaluate every frame alone: joints beyond 180 degrees do not continue from the frame before",
   cli_advanced | cli_quality},
  {0},
};

const cli_command sn_cli_eval = {
  .name = "eval",
  .usage = "MODEL.sinew --skeleton FILE | --values FILE.csv | --controls FILE.pc2 -o FILE",
  .summary = "evaluate a model for the poses of a clip",
  .details = "A .glb or .fbx holds a skin with its animation, of linear blends; other formats hold the deformed "
             "vertices. Without --values, a model on named values writes a clip per value.",
  .example = CLI_EXAMPLE_MODEL "sinew eval arm.sinew --skeleton arm/skeleton.glb -o out.glb",
  .options = options,
  .takes = {1, 1},
  .run = run,
};
