// SPDX-License-Identifier: MIT
// Options for the inputs of commands, and the formatting of figures.
#ifndef SINEW_CLI_INPUTS_H
#define SINEW_CLI_INPUTS_H

#include "base/scope.h"
#include "cli/cli.h"
#include "job/job.h"

// clang-format off
#define CLI_OPTION_REST \
  {"--rest", "FILE", NULL, "rest mesh: .obj, .glb, .gltf, .fbx or .abc, in the frames' vertex order", cli_input}
#define CLI_OPTION_FRAMES \
  {"--frames", "FILE", NULL, "frames: .pc2, .mdd, .abc, a folder or quoted glob of .obj, .glb or .ply, an animated .glb or .fbx", \
   cli_repeats | cli_input}
#define CLI_OPTION_SKELETON \
  {"--skeleton", "FILE", NULL, "skeleton with a pose per frame: .glb, .gltf, .fbx, .dae, .bvh", cli_repeats | cli_input}
#define CLI_OPTION_ONE_CLIP \
  {"--clip", "NAME|INDEX", NULL, "animation of a glTF or FBX file; the first by default. FILE#NAME works too", cli_files}
#define CLI_OPTION_FPS {"--fps", "N", "30", "frames per second of the poses; an .abc has its own rate", cli_advanced | cli_files}
#define CLI_OPTION_OBJECT \
  {"--object", "PATH", NULL, "mesh of an .abc, or all meshes below this path; all of them by default", cli_listed}
// Options for reading files.
#define CLI_OPTIONS_FILES \
  {"--clip", "NAME|INDEX|all", NULL, "animation of a glTF or FBX file; the first by default. FILE#NAME works too", cli_listed}, \
  CLI_OPTION_FPS, \
  {"--scale", "X", NULL, "multiply positions by X; frames=X, rest=X or skeleton=X: of one kind of file", cli_listed}, \
  {"--axes", "XYZ", NULL, "file axes that become x, y and z, as xz-y; z-up is short for that. frames= and so on as for --scale", \
   cli_listed}, \
  {"--offset", "SECONDS", NULL, "start this long after the first key or sample; frames= or skeleton=: of one kind of file", \
   cli_listed}, \
  CLI_OPTION_OBJECT
#define CLI_OPTION_MAP \
  {"--map", "FILE", NULL, "joint names of another skeleton: a joint of the model and one of the clip per line", \
  cli_advanced | cli_files}
#define CLI_OPTION_TORQUE {"--torque", "FILE.csv", NULL, "joint torques: a row per frame, a column per joint", cli_input}
#define CLI_OPTION_VALUES {"--values", "FILE.csv", NULL, "named values: a row per frame; or a .glb with morph targets", cli_input}
#define CLI_OPTION_CONTROLS {"--controls", "LIST", NULL, "control vertices: 0,17,99, a file of indices, or auto:N", cli_input}
#define CLI_OPTION_KEYS \
  {"--keys", "SPEC", "all", "training frames: all, every:N, 0,5,10-20, random:N or auto:N; the rest are test frames", cli_input}
#define CLI_OPTION_MATCH {"--match", "FILE", NULL, "mesh in the frames' vertex order, in the rest pose", cli_advanced | cli_files}
// Options for the inputs that drive a model.
#define CLI_OPTIONS_DRIVE CLI_OPTION_SKELETON, CLI_OPTIONS_FILES, CLI_OPTION_MAP, CLI_OPTION_TORQUE, CLI_OPTION_VALUES
#define CLI_OPTIONS_TRAINING \
  CLI_OPTION_REST, CLI_OPTION_FRAMES, CLI_OPTION_SKELETON, CLI_OPTION_KEYS, \
  {"--test-frames", "FILE", NULL, "frames of a clip to test on; read as --frames", cli_repeats | cli_input}, \
  {"--test-skeleton", "FILE", NULL, "its poses; pairs up with --test-frames", cli_repeats | cli_input}, \
  {"--pose", "FRAME=MESH", NULL, "sculpted mesh for a frame; MESH@SIGMA sets its width", cli_repeats | cli_input}, \
  CLI_OPTION_TORQUE, CLI_OPTION_VALUES, CLI_OPTION_CONTROLS, CLI_OPTIONS_FILES

// Commands that create the model of a help example.
#define CLI_EXAMPLE_MODEL \
  "sinew gen arm -o arm\n" \
  "sinew train --method lbs:weights=given --rest arm/rest.obj --skeleton arm/skeleton.glb \\\n  -o arm.sinew\n"
// clang-format on

// Files and texts of the options above (those the command has); prints notes on them.
sn_status sn_cli_inputs(cli *c, sn_inputs *out);
// Prints the frames chosen by --keys auto:N, to be sculpted or simulated; adds them to the report.
void sn_cli_say_keys(cli *c, const sn_keys *keys);

// A number as text, "-" if it is not finite.
typedef struct cli_figure_text {
  char text[32];
} cli_figure_text;
cli_figure_text sn_cli_figure(double value, int decimals);

#endif
