// SPDX-License-Identifier: MIT
// The page that `sinew view` fills in: web/page.html with the runtime as WebAssembly.
#ifndef SINEW_CLI_PAGE_H
#define SINEW_CLI_PAGE_H

#include <stddef.h>

// Made by web/build.mjs. Size 0: the build had no npm packages or no compiler for WebAssembly.
extern const unsigned char sn_page_template[];
extern const size_t sn_page_template_size;
#define PAGE_MISSING                                                                                                 \
  "this sinew was built without the page: run `npm ci` in its source folder (and install clang, lld and "            \
  "wasi-libc), "                                                                                                     \
  "then build it again with `make`"

#endif
