// SPDX-License-Identifier: MIT
// The table of formats in docs/reference/formats.md is the code's own. To renew it: SINEW_FORMATS=print build/test_formats.
#include "check.h"
#include "sinew/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void describe(char *out, size_t size) {
  static const struct {
    unsigned bit;
    const char *word;
  } reads[] = {{SN_READS_MESH, "mesh"}, {SN_READS_FRAMES, "frames"}, {SN_READS_RIG, "skeleton"}},
    writes[] = {{SN_WRITES_MESH, "mesh"}, {SN_WRITES_FRAMES, "frames"}, {SN_WRITES_RIG, "rig"}};
  int count;
  const sn_format *formats = sn_formats(&count);
  size_t used = (size_t)snprintf(
    out, size, "| extension | format | read as | written as | by |\n| --- | --- | --- | --- | --- |\n");
  for (int k = 0; k < count; k++) {
    char columns[2][64] = {"", ""};
    for (int b = 0; b < 3; b++) {
      if (formats[k].does & reads[b].bit) {
        strcat(columns[0], columns[0][0] ? ", " : "");
        strcat(columns[0], reads[b].word);
      }
      if (formats[k].does & writes[b].bit) {
        strcat(columns[1], columns[1][0] ? ", " : "");
        strcat(columns[1], writes[b].word);
      }
    }
    used += (size_t)snprintf(out + used, size - used, "| `%s` | %s | %s | %s | %s |\n", formats[k].extension,
                             formats[k].name, columns[0], columns[1][0] ? columns[1] : "–",
                             formats[k].does & SN_THROUGH_ASSIMP ? "libassimp" : "Sinew");
    assert_true(used < size);
  }
}

static void test_documentation(void **state) {
  char table[8192], path[4096];
  describe(table, sizeof table);
  if (getenv("SINEW_FORMATS")) fputs(table, stdout);
  const char *source = getenv("SINEW_SOURCE");
  if (!source) skip();
  sn_context ctx = sn_context_default();
  sn_file file;
  snprintf(path, sizeof path, "%s/docs/reference/formats.md", source);
  assert_ok(&ctx, sn_file_open(&ctx, path, &file));
  char *text = calloc(file.size + 1, 1);
  memcpy(text, file.bytes, file.size);
  assert_non_null(strstr(text, table));
  free(text);
  sn_file_close(&file);
}

static void test_lookup(void **state) {
  assert_true(sn_format_does("a/b.GLB", SN_READS_RIG | SN_WRITES_RIG));
  assert_false(sn_format_does("a.pc2", SN_READS_MESH));
  assert_null(sn_format_of("a.xyz"));
  assert_null(sn_format_of("folder"));
  assert_true(sn_is_document("a.fbx"));
  assert_false(sn_is_document("a.abc"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_documentation), cmocka_unit_test(test_lookup)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
