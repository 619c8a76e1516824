// SPDX-License-Identifier: MIT
// The page that `sinew view` writes: the caller's HTML, and in it one block of JSON per set (a mesh, its frames, a skeleton and
// the models trained on them). docs/reference/page.md describes the block.
#ifndef SINEW_JOB_PAGE_H
#define SINEW_JOB_PAGE_H

#include "job/job.h"

// Bytes as JSON: {"n": size, "s": word, "z": base64 of zlib of the bytes}, where byte k of every `word`-byte item was
// moved to plane k first (floats then deflate better). NULL, with ctx->error set, when memory runs out.
json_t *sn_page_blob(sn_context *ctx, const void *bytes, size_t size, size_t word);

// Frames quantised to 16 bits per coordinate within a box around each: {"boxes", "coordinates", "error", "order"}; `error` is the
// largest distance between a vertex and its quantised position.
json_t *sn_page_frames(sn_context *ctx, const sn_mesh *mesh, const sn_frames *frames);

// Writes the page: the template with `title`, the sets of the pages already written, and those in `sets` (objects).
sn_status sn_page_write(sn_context *ctx, const sn_view_job *job, const char *title, const json_t *sets);

#endif
