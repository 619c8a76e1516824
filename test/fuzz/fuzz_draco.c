// SPDX-License-Identifier: MIT
// Any bytes as Draco data: the first eight choose counts and component types, the rest is the data. Each run is a child process, as
// in the reader, so they are few; what matters is that whatever the child does, this process goes on.
#include "packed_document.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
const char *__asan_default_options(void);

// The child has no limit of memory in a sanitized build; this one keeps Draco from filling the machine.
const char *__asan_default_options(void) { return "max_allocation_size_mb=256:allocator_may_return_null=1"; }

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  if (size < 9) return 0;
  int count = bytes[0] | bytes[1] << 8, corners = bytes[2] | bytes[3] << 8;
  char json[2000];
  snprintf(
    json, sizeof json,
    "{\"asset\":{\"version\":\"2.0\"},\"extensionsRequired\":[\"KHR_draco_mesh_compression\"],\"nodes\":[{\"mesh\":0}"
    "],"
    "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"COLOR_0\":1},\"indices\":2,\"extensions\":{"
    "\"KHR_draco_mesh_compression\":{\"bufferView\":0,\"attributes\":{\"POSITION\":%d,\"COLOR_0\":%d}}}}]}],"
    "\"accessors\":[{\"componentType\":5126,\"count\":%d,\"type\":\"VEC3\"},"
    "{\"componentType\":%d,\"count\":%d,\"type\":\"VEC4\"},{\"componentType\":5123,\"count\":%d,\"type\":\"SCALAR\"}]"
    ","
    "\"bufferViews\":[{\"buffer\":0,\"byteLength\":%zu}],\"buffers\":[{\"byteLength\":%zu}]}",
    bytes[4] % 4, bytes[5] % 4, count, 5120 + bytes[6] % 7, count, corners, size - 8, size - 8);
  read_packed(json, bytes + 8, size - 8);
  return 0;
}
