// SPDX-License-Identifier: MIT
// sinew demo: the commands a new user would type, one after the other.
#include <stdio.h>
#include <string.h>

#include "cli/inputs.h"
#include "cli/page.h"

enum { most_words = 128 };

typedef struct demo {
  cli *c;
  const char *folder;
  sn_arena memory;
  char *words[most_words + 2]; // --quiet and the end
  int count;
  bool failed; // out of memory, or too many words
} demo;

// ---- a command line ---------------------------------------------------------------------------------------------------

// A word of the command; DIR at its beginning stands for the demo's folder.
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

static void add_words(demo *d, const char *line) {
  for (; *line; line += strspn(line, " ")) {
    size_t length = strcspn(line, " ");
    add_word(d, line, length);
    line += length;
  }
}

// Shows the command as a shell would take it, and runs it.
static int run_command(demo *d) {
  const cli *c = d->c;
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

static int run_line(demo *d, const char *line) {
  add_words(d, line);
  return run_command(d);
}

// Lines up to NULL; the first that fails is the last.
static int run_lines(demo *d, const char *const *lines) {
  int status = exit_done;
  for (; status == exit_done && *lines; lines++) status = run_line(d, *lines);
  return status;
}

// ---- what the demo does -------------------------------------------------------------------------------------------------

static const char set[] = "--rest DIR/arm/rest.obj --frames DIR/arm/frames.pc2 --skeleton DIR/arm/skeleton.glb "
                          "--torque DIR/arm/torque.csv --controls DIR/arm/controls.txt --keys every:4";

// Forms of a method with a separate row.
static const char *const variants[] = {"lbs:extra=halfway", "rotreg:psd=1", NULL};

// Every method of the table with its variants.
static void each_spec(demo *d, void (*add)(demo *, const char *spec)) {
  for (const sn_method *const *m = sn_methods(); *m; m++) {
    size_t length = strlen((*m)->name);
    if (!(*m)->train) continue; // rows of `compare` alone
    add(d, (*m)->name);
    for (const char *const *v = variants; *v; v++)
      if (strncmp(*v, (*m)->name, length) == 0 && (*v)[length] == ':') add(d, *v);
  }
}

static void add_method(demo *d, const char *spec) {
  add_words(d, "--method");
  add_word(d, spec, strlen(spec));
}

static void add_model(demo *d, const char *spec) {
  char name[256], path[300];
  sn_spec_name(spec, name, sizeof name);
  snprintf(path, sizeof path, "DIR/models/%s.sinew", name);
  add_word(d, path, strlen(path));
}

static int generate(demo *d) {
  add_words(d, "sinew gen arm -o DIR/arm");
  if (sn_cli_given(d->c, "--vertices")) {
    const char *vertices = sn_cli_text(d->c, "--vertices");
    add_words(d, "--vertices");
    add_word(d, vertices, strlen(vertices));
  }
  return run_command(d);
}

static int compare(demo *d) {
  add_words(d, "sinew compare");
  each_spec(d, add_method);
  add_words(d, set);
  add_words(d, "--models DIR/models --plot DIR/errors.svg");
  return run_command(d);
}

// What the methods do on new motion: a figure of many joints, learned from a range of motion.
static int compare_motion(demo *d) {
  return run_lines(
    d, (const char *const[]){
         "sinew gen athlete --vertices 2000 --motion rom -o DIR/athlete-rom",
         "sinew gen athlete --vertices 2000 -o DIR/athlete",
         "sinew compare --method lbs --method dqs --method psd --method psd:blend=dualquat --method rotreg --rest "
         "DIR/athlete/rest.obj --frames DIR/athlete-rom/frames.pc2 --skeleton DIR/athlete-rom/skeleton.glb "
         "--test-frames "
         "DIR/athlete/frames.pc2 --test-skeleton DIR/athlete/skeleton.glb --models DIR/motion",
         NULL,
       });
}

// The page opens with it.
static int view_motion(demo *d) {
  static const char title[] = "Athlete on new motion";
  add_words(d, "sinew view DIR/motion/lbs.sinew DIR/motion/dqs.sinew DIR/motion/psd.sinew "
               "DIR/motion/psd-blend=dualquat.sinew DIR/motion/rotreg.sinew --rest DIR/athlete/rest.obj --frames "
               "DIR/athlete/frames.pc2 --skeleton DIR/athlete/skeleton.glb -o DIR/index.html --title");
  add_word(d, title, strlen(title));
  return run_command(d);
}

static int view(demo *d) {
  add_words(d, "sinew view DIR/index.html");
  each_spec(d, add_model);
  add_words(d, set);
  add_words(d, "--title Arm -o DIR/index.html");
  return run_command(d);
}

// A skeleton from nothing but moving vertices: the one that the set was made with is not looked at.
static int rig(demo *d) {
  return run_lines(
    d, (const char *const[]){
         "sinew gen body --vertices 4000 --frames 40 -o DIR/body",
         "sinew rig --rest DIR/body/rest.obj --frames DIR/body/frames.pc2 --bones 16 -o DIR/rigged.glb",
         "sinew train --method lbs:weights=given --rest DIR/body/rest.obj --frames DIR/body/frames.pc2 --skeleton "
         "DIR/rigged.glb -o DIR/models/rigged.sinew",
         NULL,
       });
}

// The page written so far, and the rig.
static int view_rig(demo *d) {
  static const char title[] = "Body, rigged from bare meshes";
  add_words(d,
            "sinew view DIR/index.html DIR/models/rigged.sinew --rest DIR/body/rest.obj --frames DIR/body/frames.pc2 "
            "--skeleton DIR/rigged.glb -o DIR/index.html --title");
  add_word(d, title, strlen(title));
  return run_command(d);
}

static int export(demo *d) {
  return run_line(d, "sinew eval DIR/models/lbs.sinew --skeleton DIR/arm/skeleton.glb -o DIR/arm.glb");
}

static int run(cli *c) {
  demo d = {.c = c, .folder = sn_cli_text(c, "-o"), .memory = sn_arena_new(&c->ctx)};
  bool page = sn_page_template_size > 0;
  int vertices, status = exit_done;
  if (sn_cli_given(c, "--vertices") && !sn_cli_int(c, "--vertices", 100, 1000000, &vertices)) return exit_usage;
  if (sn_make_folder(&c->ctx, d.folder) != SN_OK) return sn_cli_fail(c);
  int (*const steps[])(demo *) = {generate,           compare, compare_motion,         page ? view_motion : NULL,
                                  page ? view : NULL, rig,     page ? view_rig : NULL, export};
  for (size_t k = 0; status == exit_done && k < sizeof steps / sizeof *steps; k++)
    if (steps[k]) status = steps[k](&d);
  sn_arena_free(&d.memory);
  if (status != exit_done) return status;
  sn_cli_say(
    c,
    "\nIn %s/: arm/, athlete/ and body/ the example meshes, models/ and motion/ the learned skins, arm.glb one of "
    "them as an "
    "animated\n"
    "character (for Blender or any glTF viewer), rigged.glb the body with the skeleton that was found, errors.svg\n"
    "the error of every method over the frames.\n",
    d.folder);
  if (page)
    sn_cli_say(c, "Open %s/index.html in a browser: all of them, live.\n", d.folder);
  else
    sn_cli_say(c, "No index.html: " PAGE_MISSING "\n");
  return exit_done;
}

static const cli_option options[] = {
  {"-o", "DIR", "demo", "folder to write to", cli_output},
  {"--vertices", "N", NULL, "vertices of the arm; 5256 by default", false},
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
