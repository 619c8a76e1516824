// SPDX-License-Identifier: MIT
// Draco behind a C function. Counts and ids are the document's: whatever Draco decodes must agree with them before a byte of it
// is copied.
#include "formats/gltf/draco.h"

#include <cstring>
#include <exception>

#include <draco/compression/decode.h>

namespace {

template <typename T>
bool copy_values(const draco::PointAttribute &from, uint32_t count, const sn_draco_attribute &to, uint8_t *out) {
  for (uint32_t i = 0; i < count; i++) {
    draco::AttributeValueIndex at = from.mapped_index(draco::PointIndex(i));
    T values[4];
    if (at.value() >= from.size() || !from.ConvertValue<T>(at, static_cast<int8_t>(to.width), values)) return false;
    std::memcpy(out + i * to.stride, values, sizeof(T) * static_cast<size_t>(to.width));
  }
  return true;
}

bool copy_attribute(const draco::PointAttribute &from, uint32_t count, const sn_draco_attribute &to, uint8_t *out) {
  if (to.component == 5120) return copy_values<int8_t>(from, count, to, out);
  if (to.component == 5121) return copy_values<uint8_t>(from, count, to, out);
  if (to.component == 5122) return copy_values<int16_t>(from, count, to, out);
  if (to.component == 5123) return copy_values<uint16_t>(from, count, to, out);
  if (to.component == 5125) return copy_values<uint32_t>(from, count, to, out);
  return to.component == 5126 && copy_values<float>(from, count, to, out);
}

bool copy_indices(const draco::Mesh &mesh, uint8_t *out) {
  for (uint32_t f = 0; f < mesh.num_faces(); f++) {
    const draco::Mesh::Face &face = mesh.face(draco::FaceIndex(f));
    for (size_t c = 0; c < 3; c++) {
      uint32_t index = face[c].value();
      if (index >= mesh.num_points()) return false;
      std::memcpy(out + 4 * (3 * size_t(f) + c), &index, 4);
    }
  }
  return true;
}

const char *decode(const sn_draco_piece &piece) {
  draco::DecoderBuffer buffer;
  buffer.Init(reinterpret_cast<const char *>(piece.bytes), piece.size);
  draco::Decoder decoder;
  auto result = decoder.DecodeMeshFromBuffer(&buffer);
  if (!result.ok() || !result.value()) return "its Draco data are damaged";
  const draco::Mesh &mesh = *result.value();
  if (mesh.num_points() != piece.point_count)
    return "its Draco data have another number of vertices than its accessors: decode it with "
           "`gltf-transform copy IN.glb OUT.glb`";
  if (uint64_t(mesh.num_faces()) * 3 != piece.corner_count) {
    return "its Draco data have another number of triangles than its indices";
  }
  if (piece.wants_indices && !copy_indices(mesh, piece.out + piece.indices_at)) {
    return "its Draco data have indices that are out of range";
  }
  for (int k = 0; k < piece.attribute_count; k++) {
    const sn_draco_attribute &to = piece.attributes[k];
    const draco::PointAttribute *from = mesh.GetAttributeByUniqueId(to.id);
    if (!from) return "an attribute is missing from its Draco data";
    if (from->num_components() != to.width)
      return "an attribute of its Draco data has another width than its accessor";
    if (!copy_attribute(*from, piece.point_count, to, piece.out + to.at))
      return "an attribute of its Draco data does not fit its accessor";
  }
  return nullptr;
}

} // namespace

extern "C" __attribute__((visibility("default"))) const char *sn_draco_decode(const sn_draco_piece *piece) {
  try {
    return decode(*piece);
  } catch (const std::bad_alloc &) {
    return "out of memory";
  } catch (const std::exception &) {
    return "Draco gave up on its data: they are damaged, or too large";
  }
}
