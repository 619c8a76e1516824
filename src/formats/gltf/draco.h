// SPDX-License-Identifier: MIT
// What libsinew-draco gives: one compressed primitive, decoded into memory that the caller has laid out. A library of its own,
// because Draco is C++; it is loaded by the child process that decodes, and nowhere else.
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
  size_t at, stride;    // bytes into `out`, and from element to element
} sn_draco_attribute;

typedef struct sn_draco_piece {
  const uint8_t *bytes;
  size_t size;
  uint32_t point_count, corner_count; // what the document says there is
  int attribute_count;
  sn_draco_attribute *attributes;
  bool wants_indices; // false: the document has them
  int index_component;
  size_t indices_at;
  uint8_t *out;
} sn_draco_piece;

// NULL, or what is wrong.
const char *sn_draco_decode(const sn_draco_piece *piece);
typedef const char *(*sn_draco_decode_fn)(const sn_draco_piece *piece);

#ifdef __cplusplus
}
#endif
#endif
