// SPDX-License-Identifier: MIT
// sinew gen: procedural example sets.
#include <stdio.h>

#include "cli/cli.h"
#include "lab/gen/gen.h"

static int run(cli *c) {
  sn_gen_options options = sn_gen_options_default();
  options.set = c->arguments[0];
  options.seed = c->seed;
  if (!sn_cli_int(c, "--frames", 0, 100000, &options.frames) ||
      !sn_cli_int(c, "--vertices", 0, 10000000, &options.vertices) ||
      !sn_cli_int(c, "--joints", 0, 10000, &options.joints) ||
      !sn_cli_int(c, "--targets", 0, 10000, &options.targets)) {
    return exit_usage;
  }
  sn_gen_angles angles;
  if (!sn_cli_double(c, "--bend", 0, 150, &angles.bend) || !sn_cli_double(c, "--twist", -180, 180, &angles.twist)) {
    return exit_usage;
  }
  if (sn_cli_given(c, "--bend") || sn_cli_given(c, "--twist")) options.angles = &angles;
  double square;
  if (!sn_cli_double(c, "--square", 0, 1, &square)) return exit_usage;
  if (sn_cli_given(c, "--square")) options.square = &square;
  const char *folder = sn_cli_text(c, "-o"), *motion = sn_cli_text(c, "--motion");
  sn_gen_motion_named(motion, &options.motion);
  if (!folder) folder = options.set;
  sn_examples examples;
  sn_status status = sn_gen_folder(&c->ctx, &options, folder, &examples);
  if (status != SN_OK) return sn_cli_fail(c);
  c->result = json_pack("{sssisisisi}", "set", options.set, "vertices", examples.rest.vertex_count, "triangles",
                        examples.rest.triangle_count, "frames", examples.frames.frame_count, "joints",
                        examples.skeleton.joint_count);
  sn_cli_say(c, "%s: %d vertices, %d triangles, %d frames, %d joints in %s/\n", options.set,
             examples.rest.vertex_count, examples.rest.triangle_count, examples.frames.frame_count,
             examples.skeleton.joint_count, folder);
  sn_examples_free(&examples);
  return exit_done;
}

static void print_sets(void) {
  printf("\nSets (vertices, frames and joints):\n");
  for (int k = 0; k < sn_gen_set_count(); k++) {
    const sn_gen_info *set = sn_gen_set(k);
    printf("  %-9s%6d %3d %3d  %s\n", set->name, set->vertices, set->frames, set->joints, set->summary);
  }
}

static const cli_option options[] = {
  {"-o", "DIR", NULL, "folder to write to; the set's name by default", cli_output},
  {"--frames", "N", "0", "frames; 0: as the list says", false},
  {"--vertices", "N", "0", "vertices; 0: as the list says", false},
  {"--joints", "N", "0", "joints (body); 0: as the list says", false},
  {"--bend", "DEGREES", "115", "bend of the last frame (elbow)", false},
  {"--twist", "DEGREES", "100", "twist of the last frame (elbow)", false},
  {"--targets", "N", "0", "expressions (face); 0: six", false},
  {"--motion", "own|rom|mixed|extreme|lift", "own", "clip; rom: one joint and axis at a time", false},
  {"--square", "X", "0", "how much of the response to torque is its square, 0 to 1 (own by default)", false},
  {0},
};

const cli_command sn_cli_gen = {
  .name = "gen",
  .usage = "SET [-o DIR]",
  .summary = "write a generated example set",
  .example = "sinew gen arm -o arm",
  .options = options,
  .takes = {1, 1},
  .run = run,
  .more_help = print_sets,
};
