// SPDX-License-Identifier: MIT
// sinew demo: the commands a new user would type, one after the other.
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

enum { most_words = 40 };

// Runs one command line; DIR in it stands for the demo's folder.
static int run_line(cli *c, const char *folder, const char *line) {
  char text[4096], *words[most_words];
  size_t used = 0;
  int count = 0;
  for (const char *p = line; *p && used + strlen(folder) + 1 < sizeof text;) {
    if (strncmp(p, "DIR", 3) == 0) {
      used += (size_t)snprintf(text + used, sizeof text - used, "%s", folder);
      p += 3;
    } else {
      text[used++] = *p++;
    }
  }
  text[used] = '\0';
  cli_say(c, "\n$ %s\n", text);
  fflush(stdout);
  for (char *word = strtok(text, " "); word && count < most_words - 3; word = strtok(NULL, " "))
    words[count++] = word;
  if (c->quiet) words[count++] = "--quiet";
  words[count] = NULL;
  return cli_run(count, words);
}

static int run(cli *c) {
  static const char *const lines[] = {
    "sinew gen arm -o DIR/arm",
    "sinew info DIR/arm/skeleton.glb",
    "sinew compare --rest DIR/arm/rest.obj --frames DIR/arm/frames.pc2 --skeleton DIR/arm/skeleton.glb --keys "
    "every:4 "
    "--method rigid --method lbs --method dqs --method lbs:extra=halfway --method rotreg --method psd "
    "--method rotreg:psd=1 --plot DIR/errors.svg",
    "sinew train --method lbs --rest DIR/arm/rest.obj --frames DIR/arm/frames.pc2 --skeleton DIR/arm/skeleton.glb "
    "--keys every:4 -o DIR/arm.sinew",
    "sinew eval DIR/arm.sinew --skeleton DIR/arm/skeleton.glb -o DIR/arm.glb",
    "sinew bench DIR/arm.sinew --skeleton DIR/arm/skeleton.glb",
    "sinew rig --rest DIR/arm/rest.obj --frames DIR/arm/frames.pc2 --bones 8 -o DIR/rigged.glb",
  };
  const char *folder = cli_text(c, "-o");
  if (strchr(folder, ' ')) return cli_misuse("demo: -o %s: a name without blanks, please", folder);
  if (sn_make_folder(&c->ctx, folder) != SN_OK) return cli_fail(c);
  for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
    int status = run_line(c, folder, lines[k]);
    if (status != exit_done) return status;
  }
  cli_say(c,
          "\nIn %s/: arm/ the example meshes, arm.sinew the learned skin, arm.glb the same as an animated character\n"
          "(open it in Blender or any glTF viewer), errors.svg the error of every method over the frames, rigged.glb "
          "a skeleton\n"
          "found from the bare meshes.\n",
          folder);
  return exit_done;
}

static const cli_option options[] = {{"-o", "DIR", "demo", "folder to write to", false}, {0}};

const cli_command cli_demo = {
  .name = "demo",
  .usage = "[-o DIR]",
  .summary = "generate an arm, train every method on it, compare them",
  .example = "sinew demo",
  .options = options,
  .run = run,
};
