// SPDX-License-Identifier: MIT
// sinew demo: runs the commands that a new user would type.
#include <stdio.h>
#include <string.h>

#include "cli/inputs.h"
#include "cli/page.h"

enum { most_words = 128 };

typedef struct demo {
  cli *c;
  const char *folder;
  sn_arena memory;
  char *words[most_words + 2]; // room for --quiet and the end
  int count;
  bool failed; // out of memory, or too many words
} demo;

// ---- a command line ---------------------------------------------------------------------------------------------------

// Adds a word to the command; a leading DIR is replaced by the demo's folder.
static void add_word(demo *d, const char *word, size_t length) {
  bool folder = length >= 3 && strncmp(word, "DIR", 3) == 0;
  size_t size = length + strlen(d->folder) + 1;
  char *text = d->count < most_words ? SN_NEW(&d->c->ctx, &d->memory, char, size) : NULL;
  d->failed = d->failed || !text;
  if (!text) return;
  int skip = folder ? 3 : 0;
  snprintf(text, size, "%s%.*s", folder ? d->folder : "", (int)length - skip, word + skip);
  d->words[d->count++] = text;
}

// Adds every method, and the variants with a separate row: as options of `compare`, or as the models that it wrote.
static void add_specs(demo *d, bool models) {
  static const char *const variants[] = {"", "lbs:extra=halfway", "rotreg:psd=1", NULL};
  for (const sn_method *const *m = sn_methods(); *m; m++)
    for (const char *const *v = variants; *v; v++) {
      const char *spec = **v ? *v : (*m)->name;
      char name[256], path[300];
      size_t length = strlen((*m)->name);
      if (!(*m)->train || (**v && (strncmp(spec, (*m)->name, length) != 0 || spec[length] != ':'))) continue;
      sn_spec_name(spec, name, sizeof name);
      snprintf(path, sizeof path, "DIR/models/%s.sinew", name);
      if (!models) add_word(d, "--method", strlen("--method"));
      add_word(d, models ? path : spec, strlen(models ? path : spec));
    }
}

// Splits a line into words, at spaces or by quotes. METHODS and MODELS expand to the options and files of every method.
static void add_words(demo *d, const char *line) {
  for (; *line; line += strspn(line, " ")) {
    bool quoted = *line == '\'';
    line += quoted;
    size_t length = strcspn(line, quoted ? "'" : " ");
    if (strncmp(line, "METHODS", length) == 0 || strncmp(line, "MODELS", length) == 0)
      add_specs(d, length == strlen("MODELS"));
    else
      add_word(d, line, length);
    line += length + quoted;
  }
}

// Prints the command in shell syntax, and runs it.
static int run_line(demo *d, const char *line) {
  const cli *c = d->c;
  add_words(d, line);
  if (d->failed) return sn_cli_misuse("demo: -o %s: cannot make a command line with it", d->folder);
  sn_cli_say(c, "\n$");
  for (int k = 0; k < d->count; k++) {
    const char *quote = strpbrk(d->words[k], " '\"$&;()") ? "\"" : "";
    sn_cli_say(c, " %s%s%s", quote, d->words[k], quote);
  }
  sn_cli_say(c, "\n");
  fflush(stdout);
  if (c->quiet) d->words[d->count++] = "--quiet";
  d->words[d->count] = NULL;
  int status = sn_cli_run(d->count, d->words);
  d->count = 0;
  return status;
}

// ---- the demo's commands ------------------------------------------------------------------------------------------------

#define ARM                                                                                                          \
  "--rest DIR/arm/rest.obj --frames DIR/arm/frames.pc2 --skeleton DIR/arm/skeleton.glb "                             \
  "--torque DIR/arm/torque.csv --controls DIR/arm/controls.txt --keys every:4"
#define BODY "--rest DIR/body/rest.obj --frames DIR/body/frames.pc2"

// The athlete trains on a range of motion and is tested on new motion. The body is rigged from its frames alone. Each view extends
// the page.
static const char *const lines[] = {
  "sinew compare METHODS " ARM " --models DIR/models --plot DIR/errors.svg",
  "sinew gen athlete --vertices 2000 --motion rom -o DIR/athlete-rom",
  "sinew gen athlete --vertices 2000 -o DIR/athlete",
  "sinew compare --method lbs --method dqs --method psd --method psd:blend=dualquat --method rotreg --rest "
  "DIR/athlete/rest.obj --frames DIR/athlete-rom/frames.pc2 --skeleton DIR/athlete-rom/skeleton.glb --test-frames "
  "DIR/athlete/frames.pc2 --test-skeleton DIR/athlete/skeleton.glb --models DIR/motion",
  "sinew view DIR/motion/lbs.sinew DIR/motion/dqs.sinew DIR/motion/psd.sinew DIR/motion/psd-blend=dualquat.sinew "
  "DIR/motion/rotreg.sinew --rest DIR/athlete/rest.obj --frames DIR/athlete/frames.pc2 --skeleton "
  "DIR/athlete/skeleton.glb "
  "-o DIR/index.html --title 'Athlete on new motion'",
  "sinew view DIR/index.html MODELS " ARM " --title Arm -o DIR/index.html",
  "sinew gen body --vertices 4000 --frames 40 -o DIR/body",
  "sinew rig " BODY " --bones 16 -o DIR/rigged.glb",
  "sinew train --method lbs:weights=given " BODY " --skeleton DIR/rigged.glb -o DIR/models/rigged.sinew",
  "sinew view DIR/index.html DIR/models/rigged.sinew " BODY " --skeleton DIR/rigged.glb -o DIR/index.html "
  "--title 'Body, rigged from bare meshes'",
  "sinew eval DIR/models/lbs.sinew --skeleton DIR/arm/skeleton.glb -o DIR/arm.glb",
};

static int run(cli *c) {
  demo d = {.c = c, .folder = sn_cli_text(c, "-o"), .memory = sn_arena_new(&c->ctx)};
  bool page = sn_page_template_size > 0;
  char arm[64] = "sinew gen arm -o DIR/arm";
  int vertices;
  if (sn_cli_given(c, "--vertices")) {
    if (!sn_cli_int(c, "--vertices", 100, 1000000, &vertices)) return exit_usage;
    snprintf(arm, sizeof arm, "sinew gen arm -o DIR/arm --vertices %d", vertices);
  }
  if (sn_make_folder(&c->ctx, d.folder) != SN_OK) return sn_cli_fail(c);
  int status = run_line(&d, arm);
  for (size_t k = 0; status == exit_done && k < sizeof lines / sizeof *lines; k++)
    if (page || strncmp(lines[k], "sinew view", 10) != 0) status = run_line(&d, lines[k]);
  sn_arena_free(&d.memory);
  if (status != exit_done) return status;
  sn_cli_say(
    c,
    "\nIn %s/: arm/, athlete/ and body/ are examples, models/ and motion/ learned skins, arm.glb and rigged.glb\n"
    "characters for any glTF viewer, errors.svg the error of every method over the frames.\n",
    d.folder);
  if (page)
    sn_cli_say(c, "Open %s/index.html in a browser: all of them, live.\n", d.folder);
  else
    sn_cli_say(c, "No index.html: " PAGE_MISSING "\n");
  return exit_done;
}

static const cli_option options[] = {
  {"-o", "DIR", "demo", "folder to write to", cli_output},
  {"--vertices", "N", NULL, "vertices of the arm; 5256 by default", 0},
  {0},
};

const cli_command sn_cli_demo = {
  .name = "demo",
  .usage = "[-o DIR]",
  .summary = "train every method, rig a mesh sequence, show all of it on one page",
  .example = "sinew demo",
  .options = options,
  .run = run,
};
