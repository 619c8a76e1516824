// SPDX-License-Identifier: MIT
// Interface of libsinew-draco: decodes one compressed primitive into memory laid out by the caller. A separate library, because
// Draco is C++; only the decoding child process loads it.
#ifndef SINEW_FORMATS_GLTF_DRACO_H
#define SINEW_FORMATS_GLTF_DRACO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sn_draco_attribute {
  uint32_t id;          // Draco's unique id
  int component, width; // glTF's component type, numbers per element
  size_t at, stride;    // offset in `out` and stride, bytes
} sn_draco_attribute;

typedef struct sn_draco_piece {
  const uint8_t *bytes;
  size_t size;
  uint32_t point_count, corner_count; // counts from the document
  int attribute_count;
  sn_draco_attribute *attributes;
  bool wants_indices; // false: the document has plain indices
  size_t indices_at;
  uint8_t *out;
} sn_draco_piece;

// Returns NULL, or an error message.
const char *sn_draco_decode(const sn_draco_piece *piece);
typedef const char *(*sn_draco_decode_fn)(const sn_draco_piece *piece);

#ifdef __cplusplus
}
#endif
#endif
