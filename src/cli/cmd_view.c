// SPDX-License-Identifier: MIT
// sinew view: one self-contained HTML page in which models run live.
#include "cli/inputs.h"
#include "cli/page.h"

enum { most_models = 64 };

static int run(cli *c) {
  const char *pages[most_models], *models[most_models];
  sn_inputs inputs;
  SN_FREED_BY(sn_file_close) sn_file file = {0};
  sn_view_job job = {.models = models,
                     .pages = pages,
                     .inputs = &inputs,
                     .title = sn_cli_text(c, "--title"),
                     .path = sn_cli_text(c, "-o"),
                     .page = (const char *)sn_page_template,
                     .page_size = sn_page_template_size};
  for (int k = 0; k < c->argument_count; k++) {
    const char *path = c->arguments[k];
    if (sn_has_extension(path, ".html"))
      pages[job.page_count++] = path;
    else
      models[job.count++] = path;
  }
  sn_status status = sn_cli_inputs(c, &inputs);
  if (sn_page_template_size == 0) status = sn_fail(&c->ctx, SN_UNSUPPORTED, PAGE_MISSING);
  if (status == SN_OK) status = sn_job_view(&c->ctx, &job, &c->input);
  if (status == SN_OK) status = sn_file_open(&c->ctx, job.path, &file);
  if (status != SN_OK) return sn_cli_fail(c);
  sn_cli_say(c, "%s: %.2f MB; open it in a browser\n", job.path, 1e-6 * (double)file.size);
  c->result = json_pack("{sI si}", "bytes", (json_int_t)file.size, "models", job.count);
  return exit_done;
}

static const cli_option options[] = {
  {"-o", "FILE.html", "view.html", "page to write", cli_output},
  {"--title", "TEXT", NULL, "name of the character (default: the model's, or the page's for several)", cli_output},
  CLI_OPTION_REST,
  CLI_OPTION_FRAMES,
  CLI_OPTIONS_DRIVE,
  CLI_OPTION_CONTROLS,
  CLI_OPTION_KEYS,
  CLI_OPTION_MATCH,
  {0},
};

const cli_command sn_cli_view = {
  .name = "view",
  .usage = "MODEL.sinew... [--rest FILE --frames FILE --skeleton FILE] -o FILE.html",
  .summary = "write an HTML page in which models run live",
  .details =
    "The page needs no server and no network. With --skeleton it plays the clip; with --rest and --frames it also "
    "shows the truth and the errors. Pages written before may be given among the models: the new page has them too.",
  .example = CLI_EXAMPLE_MODEL "sinew view arm.sinew --rest arm/rest.obj --frames arm/frames.pc2 \\\n"
                               "  --skeleton arm/skeleton.glb -o arm.html",
  .options = options,
  .takes = {1, most_models},
  .run = run,
};
