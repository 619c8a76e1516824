// SPDX-License-Identifier: MIT
// Options as data: a struct of plain fields, and tables of their names, types and defaults. The same tables serve parsing,
// defaults, --help, the reports and the documentation: a new option is a field and a table row.
#ifndef SINEW_OPTION_H
#define SINEW_OPTION_H

#include "sinew/base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

// The type of the field at `offset`.
typedef enum sn_option_kind {
  SN_OPTION_INT,    // int; or one of the words of `choices`, which mean 0, -1, -2, ...
  SN_OPTION_REAL,   // double; likewise
  SN_OPTION_SWITCH, // bool, written 0 or 1
  SN_OPTION_CHOICE, // int or an enum: the index of one of the words of `choices`
  SN_OPTION_TEXT    // char[SN_OPTION_TEXT_SIZE]; no commas
} sn_option_kind;

enum { SN_OPTION_TEXT_SIZE = 256 };

// --help shows common options, --help all also the advanced ones.
typedef enum sn_option_use { SN_OPTION_COMMON, SN_OPTION_ADVANCED } sn_option_use;

typedef struct sn_option {
  const char *name;
  sn_option_kind kind;
  size_t offset;
  const char *initial; // default, as text
  double least, most;  // range of numbers
  const char *choices; // words separated by '|', or NULL
  sn_option_use use;
  const char *help;
} sn_option;

// Tables of a struct's fields, and of structs within it. An array of these ends with NULL options.
typedef struct sn_option_group {
  const sn_option *options; // ends with a NULL name
  size_t offset;            // of the struct these options fill
} sn_option_group;

// Walks over all options: for (sn_option_cursor at = {groups}; sn_option_next(&at);) ... at.option, at.offset
typedef struct sn_option_cursor {
  const sn_option_group *group;
  const sn_option *option;
  size_t offset; // of the field in the whole struct
} sn_option_cursor;

bool sn_option_next(sn_option_cursor *cursor);

// The defaults.
void sn_options_initial(const sn_option_group *groups, void *out);

// Position of `value` among the '|'-separated choices, or -1.
int sn_option_choice(const char *choices, const char *value);

// Sets one option; fails with a suggestion on unknown names, and with the allowed values on bad ones.
sn_status sn_option_set(sn_context *ctx, const sn_option_group *groups, const char *name, const char *value,
                        void *out);

// Sets the options of "key=value,key=value" in `out`; NULL and "" change nothing.
sn_status sn_options_parse(sn_context *ctx, const sn_option_group *groups, const char *pairs, void *out);

// The value of the cursor's option in `options`, as text.
typedef struct sn_option_value {
  char text[SN_OPTION_TEXT_SIZE];
} sn_option_value;
sn_option_value sn_option_get(const sn_option_cursor *cursor, const void *options);

// Fails on the first value that sn_option_set would reject.
sn_status sn_options_check(sn_context *ctx, const sn_option_group *groups, const void *options);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
