// SPDX-License-Identifier: MIT
// sinew convert: converts mesh files and sequence files.
#include "cli/inputs.h"

static int run(cli *c) {
  sn_inputs inputs;
  char what[SN_WHAT_SIZE];
  sn_status status = sn_cli_inputs(c, &inputs);
  if (status == SN_OK) status = sn_job_convert(&c->ctx, c->arguments[0], c->arguments[1], &inputs, what);
  if (status == SN_OK && what[0]) sn_cli_say(c, "%s: %s\n", c->arguments[1], what);
  return status == SN_OK ? exit_done : sn_cli_fail(c);
}

static const cli_option options[] = {
  {"--rest", "FILE", NULL, "mesh with the triangles of the frames, for .obj and .abc", cli_input},
  CLI_OPTION_ONE_CLIP,
  CLI_OPTION_FPS,
  {"--scale", "X", NULL, "multiply all positions", cli_files},
  {"--axes", "XYZ", NULL, "axes of IN that become x, y and z, as xz-y; z-up is short for that", cli_files},
  {"--offset", "SECONDS", NULL, "start this long after the first key or sample", cli_files},
  CLI_OPTION_OBJECT,
  {0},
};

const cli_command sn_cli_convert = {
  .name = "convert",
  .usage = "IN OUT",
  .summary = "convert between file formats",
  .details = "Meshes: reads .obj, .glb, .gltf, .fbx, .abc, .dae, .ply, .stl; writes .obj, .glb, .gltf, .fbx. "
             "Sequences: reads .pc2, .mdd, .abc, folders or quoted globs of .obj, .glb or .ply, animated .glb; "
             "writes .pc2, .mdd, .abc or a folder of .obj.",
  .example = "sinew gen bar -o bar\n"
             "sinew convert bar/frames.pc2 frames/ --rest bar/rest.obj",
  .options = options,
  .takes = {2, 2},
  .run = run,
};
