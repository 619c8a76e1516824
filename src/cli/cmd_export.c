// SPDX-License-Identifier: MIT
// sinew export: exports models of `helpers` or `psd` for use without Sinew.
#include <string.h>

#include "cli/inputs.h"
#include "export/export.h"

static int run(cli *c) {
  SN_FREED_BY(sn_opened_close) sn_opened opened;
  sn_export_result done;
  sn_export_job job = {.model = &opened.model,
                       .model_name = c->arguments[0],
                       .skeleton = sn_cli_text(c, "--skeleton"),
                       .tool = sn_cli_text(c, "--to"),
                       .path = sn_cli_text(c, "-o")};
  if (sn_open_as_file(&c->ctx, job.model_name, &opened) != SN_OK) return sn_cli_fail(c);
  if (sn_export(&c->ctx, &job, &done) != SN_OK) return sn_cli_fail(c);
  sn_cli_say(c, "%s: %d %s, driven by %d %s\n", job.path, done.shapes ? done.shapes : done.helpers,
             done.shapes ? "shapes" : "helpers", done.drivers,
             done.drivers == 1 ? (done.values ? "value" : "joint") : (done.values ? "values" : "joints"));
  if (done.limited) sn_cli_say(c, "note: the model limits displacements beyond its training, morph targets do not\n");
  for (int k = 0; k < 2 && done.also[k]; k++) sn_cli_say(c, "%s\n", done.also[k]);
  if (!done.has_materials && strcmp(job.tool, "json") != 0)
    sn_cli_say(c,
               "note: %s does not have the model's mesh, so the character has no materials and no clips: train "
               "with --rest of that file to keep them\n",
               job.skeleton);
  c->result = sn_report_export(&done);
  return exit_done;
}

static const cli_option options[] = {
  {"--skeleton", "FILE", NULL, "character that the model was trained with: .glb, .gltf or .fbx",
   cli_input | cli_needed},
  {"--to", "TOOL", NULL, "json, three, blender, godot or babylon", cli_output | cli_needed},
  {"-o", "FILE", NULL, "file to write: .json, .glb (three, babylon), .py (blender) or .tscn (godot)",
   cli_output | cli_needed},
  {0},
};

const cli_command sn_cli_export = {
  .name = "export",
  .usage = "MODEL.sinew --skeleton FILE --to TOOL -o FILE",
  .summary = "write a model of `helpers`, or a small one of `psd`, with its drivers for other tools",
  .details =
    "The helpers become plain joints of the character, and a table says how its other joints, or values, drive them. "
    "The files need nothing of Sinew. blender: a script that imports the .glb beside it; godot: a scene, "
    "its script and its .glb; babylon: a .glb that drives itself (KHR_interactivity); three: a .glb for "
    "driveHelpers of the package sinew-skin; json: the table. Up to 32 fields of `psd` become morph "
    "targets with driven weights.",
  .example = "sinew gen arm -o arm\n"
             "sinew train --method helpers --rest arm/skeleton.glb --frames arm/frames.pc2 \\\n"
             "  --skeleton arm/skeleton.glb -o arm.sinew\n"
             "sinew export arm.sinew --skeleton arm/skeleton.glb --to blender -o arm.py",
  .options = options,
  .takes = {1, 1},
  .run = run,
};
