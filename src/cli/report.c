// SPDX-License-Identifier: MIT
// The JSON report: {"command", "version", "options", "input", "result"}.
#include "cli/cli.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Whether the option's value is a name, even if it looks like a number: a title, a file, a folder.
static bool is_name(const cli_option *option) {
  static const char *const words[] = {"TEXT", "FILE", "DIR", "MODEL", NULL};
  for (const char *const *word = words; *word; word++)
    if (option->argument && strstr(option->argument, *word)) return true;
  return false;
}

static json_t *given_value(const cli_option *option, const char *text) {
  return text && is_name(option) ? sn_report_text(text) : sn_report_value(text);
}

static void add_option(json_t *options, const cli *c, const cli_option *option) {
  if (strcmp(option->name, "--help") == 0 || strcmp(option->name, "--json") == 0) return;
  const char *text = sn_cli_text(c, option->name);
  json_t *value = option->flags & cli_repeats ? json_array()
                  : !option->argument         ? json_boolean(sn_cli_given(c, option->name))
                  : text                      ? given_value(option, text)
                                              : json_null();
  for (int k = 0; json_is_array(value) && k < c->value_count; k++)
    if (c->values[k].option == option) json_array_append_new(value, given_value(option, c->values[k].text));
  json_object_set_new(options, option->name + strspn(option->name, "-"), value);
}

static json_t *build(cli *c) {
  json_t *options = json_object(), *root = json_object();
  for (const cli_option *option = c->options; option->name; option++) add_option(options, c, option);
  sn_report_add(root, "command:s version:s options:o input:o", c->command->name, SN_VERSION, options,
                c->input ? c->input : json_object());
  if (c->keys) json_object_set(json_object_get(root, "input"), "keys", c->keys);
  json_object_set_new(root, "result", c->result ? c->result : json_object());
  c->input = c->result = NULL;
  return root;
}

sn_status sn_cli_write_json(sn_context *ctx, const char *path, const json_t *json, size_t flags) {
  char *text = json_dumps(json, flags);
  sn_writer writer;
  if (!text) return sn_fail(ctx, SN_NO_MEMORY, "%s: out of memory for the text", path);
  sn_status status = SN_OK;
  if (strcmp(path, "-") == 0) {
    puts(text);
  } else if ((status = sn_writer_open(ctx, path, &writer)) == SN_OK) {
    sn_writef(&writer, "%s\n", text);
    status = sn_writer_commit(ctx, &writer);
  }
  free(text);
  return status;
}

int sn_cli_report(cli *c) {
  const char *path = sn_cli_text(c, "--json");
  if (!path) return exit_done;
  json_t *root = build(c);
  sn_status status = sn_cli_write_json(&c->ctx, path, root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  json_decref(root);
  return status == SN_OK ? exit_done : sn_cli_fail(c);
}
