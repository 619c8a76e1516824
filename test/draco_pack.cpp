// SPDX-License-Identifier: MIT
// For tests: a skinned mesh as Draco data, behind a C function. Attributes 0, 1, 2: positions, joints, weights.
#include <cstdint>
#include <cstring>

#include <draco/compression/encode.h>

namespace {

void add_attribute(draco::Mesh &mesh, draco::GeometryAttribute::Type type, int width, draco::DataType kind, size_t size,
                   int count, const void *values) {
  draco::GeometryAttribute description;
  description.Init(type, nullptr, static_cast<int8_t>(width), kind, false, static_cast<int64_t>(size), 0);
  int id = mesh.AddAttribute(description, true, static_cast<uint32_t>(count));
  for (int i = 0; i < count; i++) {
    mesh.attribute(id)->SetAttributeValue(draco::AttributeValueIndex(static_cast<uint32_t>(i)),
                                          static_cast<const char *>(values) + static_cast<size_t>(i) * size);
  }
}

} // namespace

// The size of what it writes; 0 where that fails. `bits` 0: positions as they are.
extern "C" __attribute__((visibility("default"))) size_t
sn_test_draco_pack(int vertices, const float (*positions)[3], const uint16_t (*joints)[4], const float (*weights)[4],
                   int triangles, const int (*corners)[3], bool sequential, int bits, uint8_t *out, size_t room) {
  draco::Mesh mesh;
  mesh.set_num_points(static_cast<uint32_t>(vertices));
  add_attribute(mesh, draco::GeometryAttribute::POSITION, 3, draco::DT_FLOAT32, 12, vertices, positions);
  add_attribute(mesh, draco::GeometryAttribute::GENERIC, 4, draco::DT_UINT16, 8, vertices, joints);
  add_attribute(mesh, draco::GeometryAttribute::GENERIC, 4, draco::DT_FLOAT32, 16, vertices, weights);
  for (int t = 0; t < triangles; t++) {
    draco::Mesh::Face face;
    for (size_t c = 0; c < 3; c++) face[c] = draco::PointIndex(static_cast<uint32_t>(corners[t][c]));
    mesh.AddFace(face);
  }
  draco::Encoder encoder;
  encoder.SetEncodingMethod(sequential ? draco::MESH_SEQUENTIAL_ENCODING : draco::MESH_EDGEBREAKER_ENCODING);
  if (bits > 0) encoder.SetAttributeQuantization(draco::GeometryAttribute::POSITION, bits);
  draco::EncoderBuffer buffer;
  if (!encoder.EncodeMeshToBuffer(mesh, &buffer).ok() || buffer.size() > room) return 0;
  std::memcpy(out, buffer.data(), buffer.size());
  return buffer.size();
}
