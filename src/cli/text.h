// SPDX-License-Identifier: MIT
// Messages with the command line's own option names.
#ifndef SINEW_CLI_TEXT_H
#define SINEW_CLI_TEXT_H

#include <stdarg.h>
#include <stdio.h>

// As printf, but what a terminal could act on (escapes in a joint's name) is shown as \x1b.
void sn_cli_print(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sn_cli_vprint(FILE *stream, const char *format, va_list args);

#endif
