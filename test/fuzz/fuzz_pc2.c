// SPDX-License-Identifier: MIT
// Any bytes as a PC2 file: refused with a message, or frames that are finite and within the bytes.
#include "sinew/formats.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  sn_context ctx = sn_context_default();
  sn_frames frames;
  if (sn_cache_parse(&ctx, "fuzz.pc2", &(sn_file){.bytes = bytes, .size = size}, &frames) == SN_OK) {
    if (sn_frames_check(&ctx, &frames) != SN_OK || frames.vertex_count < 1 || frames.frame_count < 1) abort();
  } else if (!ctx.error.message[0] || frames.positions) {
    abort();
  }
  sn_frames_free(&frames);
  return 0;
}
