// SPDX-License-Identifier: MIT
// Tables of options: every table of the library is sound, values come back as they were written, errors say what to do.
#include "check.h"

#include "sinew/option.h"
#include "sinew/rig.h"
#include "sinew/train.h"

typedef struct inner {
  double width;
  char name[SN_OPTION_TEXT_SIZE];
} inner;

typedef struct outer {
  int count;
  enum { red, green, blue } colour;
  bool loud;
  inner inner;
} outer;

static const sn_option inner_table[] = {
  {"width", SN_OPTION_REAL, offsetof(inner, width), "auto", 0.5, 10, "auto|wide", SN_OPTION_COMMON, "how wide"},
  {"name", SN_OPTION_TEXT, offsetof(inner, name), "nobody", 0, 0, NULL, SN_OPTION_COMMON, "a name"},
  {0},
};
static const sn_option outer_table[] = {
  {"count", SN_OPTION_INT, offsetof(outer, count), "3", -2, 8, NULL, SN_OPTION_COMMON, "how many"},
  {"colour", SN_OPTION_CHOICE, offsetof(outer, colour), "green", 0, 0, "red|green|blue", SN_OPTION_COMMON, "which"},
  {"loud", SN_OPTION_SWITCH, offsetof(outer, loud), "1", 0, 1, NULL, SN_OPTION_ADVANCED, "1: loud"},
  {0},
};
static const sn_option_group groups[] = {{outer_table, 0}, {inner_table, offsetof(outer, inner)}, {0}};

static void values_come_back(void **state) {
  sn_context ctx = sn_context_default();
  outer o = {0};
  sn_options_initial(groups, &o);
  assert_int_equal(o.count, 3);
  assert_int_equal(o.colour, green);
  assert_true(o.loud);
  assert_near(o.inner.width, 0, 0);
  assert_string_equal(o.inner.name, "nobody");
  assert_ok(&ctx, sn_options_parse(&ctx, groups, "count=-2,colour=blue,width=wide,loud=0,name=a+b", &o));
  assert_int_equal(o.count, -2);
  assert_int_equal(o.colour, blue);
  assert_false(o.loud);
  assert_near(o.inner.width, -1, 0);
  const char *written[] = {"-2", "blue", "0", "wide", "a+b"};
  int n = 0;
  for (sn_option_cursor at = {.group = groups}; sn_option_next(&at); n++)
    assert_string_equal(sn_option_get(&at, &o).text, written[n]);
  assert_int_equal(n, 5);
  assert_ok(&ctx, sn_options_parse(&ctx, groups, "width=2.5", &o));
  assert_near(o.inner.width, 2.5, 0);
  assert_ok(&ctx, sn_options_parse(&ctx, groups, NULL, &o));
}

static void errors_say_what_to_do(void **state) {
  sn_context ctx = sn_context_default();
  outer o = {0};
  assert_fails(&ctx, sn_options_parse(&ctx, groups, "cuont=1", &o), "unknown option 'cuont'; did you mean count?");
  assert_fails(&ctx, sn_options_parse(&ctx, groups, "count=9", &o), "from -2 to 8");
  assert_fails(&ctx, sn_options_parse(&ctx, groups, "count=1.5", &o), "whole number");
  assert_fails(&ctx, sn_options_parse(&ctx, groups, "count=", &o), "whole number");
  assert_fails(&ctx, sn_options_parse(&ctx, groups, "width=0", &o), "or auto|wide");
  assert_fails(&ctx, sn_options_parse(&ctx, groups, "width=nan", &o), "number from");
  assert_fails(&ctx, sn_options_parse(&ctx, groups, "colour=pink", &o), "choose one of red|green|blue");
  assert_fails(&ctx, sn_options_parse(&ctx, groups, "loud=2", &o), "0 or 1");
  assert_fails(&ctx, sn_options_parse(&ctx, groups, "loud", &o), "key=value");
  char text[400];
  memset(text, 'x', sizeof text);
  memcpy(text, "name=", 5);
  text[sizeof text - 1] = '\0';
  assert_fails(&ctx, sn_options_parse(&ctx, groups, text, &o), "too long");
}

// Defaults are valid values, names are unique, fields lie within the struct.
static void check_table(const sn_option_group *tables, size_t size) {
  sn_context ctx = sn_context_default();
  union {
    sn_method_options method;
    sn_rig_options rig;
  } first = {0}, second = {0};
  sn_options_initial(tables, &first);
  for (sn_option_cursor at = {.group = tables}; sn_option_next(&at);) {
    assert_ok(&ctx, sn_option_set(&ctx, tables, at.option->name, at.option->initial, &second));
    assert_string_equal(sn_option_get(&at, &first).text, at.option->initial);
    assert_true(at.offset < size && strlen(at.option->help) > 3);
    int same = 0;
    for (sn_option_cursor other = {.group = tables}; sn_option_next(&other);)
      same += strcmp(other.option->name, at.option->name) == 0;
    assert_int_equal(same, 1);
  }
  assert_memory_equal(&first, &second, sizeof first);
}

static void tables_are_sound(void **state) {
  for (const sn_method *const *m = sn_methods(); *m; m++) check_table((*m)->options, sizeof(sn_method_options));
  check_table(sn_rig_option_groups, sizeof(sn_rig_options));
  sn_rig_options rig = sn_rig_options_default();
  assert_int_equal(rig.bones, 0);
  assert_int_equal(rig.most_bones, 64);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(values_come_back),
    cmocka_unit_test(errors_say_what_to_do),
    cmocka_unit_test(tables_are_sound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
