// SPDX-License-Identifier: MIT
// Any bytes as data of EXT_meshopt_compression: the first eight choose mode, filter, stride and count, the rest is the data.
#include "packed_document.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static const char *const modes[] = {"ATTRIBUTES", "TRIANGLES", "INDICES"};
  static const char *const filters[] = {"NONE", "OCTAHEDRAL", "QUATERNION", "EXPONENTIAL"};
  if (size < 9) return 0;
  int stride = bytes[2], count = bytes[3] | bytes[4] << 8, width = bytes[5] % 4 + 1;
  char json[2000];
  snprintf(
    json, sizeof json,
    "{\"asset\":{\"version\":\"2.0\"},\"extensionsRequired\":[\"EXT_meshopt_compression\"],\"nodes\":[{\"mesh\":0}],"
    "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":%d}%s}]}],"
    "\"accessors\":[{\"bufferView\":0,\"componentType\":%d,\"count\":%d,\"type\":\"%s\"},"
    "{\"componentType\":5126,\"count\":%d,\"type\":\"VEC3\"}],"
    "\"bufferViews\":[{\"buffer\":1,\"byteLength\":%d,\"extensions\":{\"EXT_meshopt_compression\":{\"buffer\":0,"
    "\"byteLength\":%zu,\"byteStride\":%d,\"count\":%d,\"mode\":\"%s\",\"filter\":\"%s\"}}}],"
    "\"buffers\":[{\"byteLength\":%zu},{\"byteLength\":%d,\"extensions\":{\"EXT_meshopt_compression\":{\"fallback\":"
    "true}}}]}",
    bytes[0] % 3 == 0 ? 0 : 1, bytes[0] % 3 == 0 ? "" : ",\"indices\":0", 5120 + bytes[6] % 7, count,
    (const char *[]){"SCALAR", "VEC2", "VEC3", "VEC4"}[width - 1], count > 0 ? count : 1, stride * count, size - 8,
    stride, count, modes[bytes[0] % 3], filters[bytes[1] % 4], size - 8, stride * count);
  read_packed(json, bytes + 8, size - 8);
  return 0;
}
