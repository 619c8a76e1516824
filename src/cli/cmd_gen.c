// SPDX-License-Identifier: MIT
// sinew gen: procedural example sets.
#include "cli/cli.h"
#include "sinew/gen.h"

static int run(cli *c) {
  sn_gen_options options = sn_gen_options_default();
  options.set = c->arguments[0];
  options.seed = c->seed;
  if (!cli_int(c, "--frames", 0, 100000, &options.frames) ||
      !cli_int(c, "--vertices", 0, 10000000, &options.vertices) ||
      !cli_int(c, "--joints", 0, 10000, &options.joints)) {
    return exit_usage;
  }
  const char *folder = cli_text(c, "-o");
  if (!folder) folder = options.set;
  sn_examples examples;
  if (sn_gen(&c->ctx, &options, &examples) != SN_OK) return cli_fail(c);
  sn_status status = sn_gen_write(&c->ctx, &options, &examples, folder);
  c->result = json_pack("{sssisisisi}", "set", options.set, "vertices", examples.rest.vertex_count, "triangles",
                        examples.rest.triangle_count, "frames", examples.frames.frame_count, "joints",
                        examples.skeleton.joint_count);
  if (status == SN_OK) {
    cli_say(c, "%s: %d vertices, %d triangles, %d frames, %d joints in %s/\n", options.set,
            examples.rest.vertex_count, examples.rest.triangle_count, examples.frames.frame_count,
            examples.skeleton.joint_count, folder);
  }
  sn_examples_free(&examples);
  return status == SN_OK ? exit_done : cli_fail(c);
}

static const cli_option options[] = {
  {"-o", "DIR", NULL, "folder to write to; the set's name unless told", false},
  {"--frames", "N", "0", "frames; 0 is the set's own number", false},
  {"--vertices", "N", "0", "vertices, as near as the shape allows; 0 is the set's own number", false},
  {"--joints", "N", "0", "joints (body only); 0 is the set's own number", false},
  {0},
};

const cli_command cli_gen = {
  "gen", "SET [-o DIR]", "write a procedural example set", NULL, "sinew gen arm -o arm", options, 1, 1, run,
};
