// SPDX-License-Identifier: MIT
// KHR_draco_mesh_compression: accessors that have only compressed data get views of a new buffer, in the document's JSON too, so
// later code sees a plain document. The Draco library is not trusted with malformed files: it runs in a child process, which fills
// shared memory laid out here from the accessors.
#include "formats/common/child.h"
#include "formats/gltf/draco.h"
#include "formats/gltf/gltf.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

static const char extension[] = "KHR_draco_mesh_compression";

// An accessor whose data come from Draco.
typedef struct filled {
  int accessor;
  size_t offset, size, stride; // in the shared memory; stride 0: tightly packed
  bool indices;
} filled;

typedef struct draco_job {
  sn_reader *r;
  sn_gltf *gltf;
  sn_arena scratch;
  int piece_count, filled_count;
  sn_draco_piece *pieces;
  char (*places)[64];
  filled *list;
  bool *taken; // per accessor: already assigned
  size_t size;
  uint8_t *shared;
} draco_job;

// ---- collecting the primitives to decode -----------------------------------------------------------------------------------

static bool lacks_data(const draco_job *job, int accessor) {
  return accessor >= 0 && !job->gltf->accessors[accessor].bytes && !job->taken[accessor];
}

// Reserves memory for an accessor's elements; NULL after a failure. Indices become 32 bits wide: some files declare too few.
static const filled *reserve(draco_job *job, int accessor, bool indices) {
  const gltf_accessor *a = &job->gltf->accessors[accessor];
  size_t element = (size_t)a->width * sn_gltf_component_size(a->component), stride = (element + 3) / 4 * 4;
  if (indices) stride = 4;
  if (!sn_gltf_spend(job->gltf, (size_t)a->count, stride)) return NULL;
  size_t size = (size_t)a->count * stride;
  filled *out = &job->list[job->filled_count++];
  *out = (filled){accessor, job->size, size, stride, indices};
  job->taken[accessor] = true;
  job->size += (size + 3) / 4 * 4;
  return out;
}

static void add_attribute(draco_job *job, sn_draco_piece *piece, const gltf_object *o, const char *key,
                          const json_t *id, int accessor) {
  const gltf_accessor *a = &job->gltf->accessors[accessor];
  json_int_t number = json_integer_value(id);
  if (!json_is_integer(id) || number < 0 || number > UINT32_MAX)
    gltf_object_fail(o, SN_BAD_FILE, "%s: '%.40s' is not an attribute's number", extension, key);
  if (a->width > 4) gltf_object_fail(o, SN_BAD_FILE, "%.40s cannot be matrices", key);
  if ((uint32_t)a->count != piece->point_count)
    gltf_object_fail(o, SN_BAD_FILE, "%.40s has %d elements, but there are %u vertices", key, a->count,
                     piece->point_count);
  const filled *room = reserve(job, accessor, false);
  if (!room) return;
  piece->attributes[piece->attribute_count++] =
    (sn_draco_attribute){(uint32_t)number, a->component, a->width, room->offset, room->stride};
}

static void add_attributes(draco_job *job, sn_draco_piece *piece, gltf_object *o, const json_t *packed) {
  const char *key;
  json_t *id;
  piece->attributes = SN_TAKE(job->r, &job->scratch, sn_draco_attribute, json_object_size(packed));
  json_object_foreach((json_t *)packed, key, id) {
    int accessor = sn_gltf_index_in(o, "attributes", key, job->gltf->accessor_count, false);
    if (lacks_data(job, accessor)) add_attribute(job, piece, o, key, id, accessor);
  }
}

static void add_primitive(draco_job *job, gltf_object *o, const json_t *packed) {
  const json_t *primitive = o->json;
  sn_gltf *gltf = job->gltf;
  o->json = packed;
  int view = sn_gltf_index(o, "bufferView", gltf->view_count, true);
  o->json = primitive;
  int positions = sn_gltf_index_in(o, "attributes", "POSITION", gltf->accessor_count, true);
  int indices = sn_gltf_index(o, "indices", gltf->accessor_count, true);
  if (job->r->status != SN_OK) return;
  sn_draco_piece piece = {.bytes = gltf->views[view].bytes,
                          .size = gltf->views[view].size,
                          .point_count = (uint32_t)gltf->accessors[positions].count,
                          .corner_count = (uint32_t)gltf->accessors[indices].count};
  int before = job->filled_count;
  add_attributes(job, &piece, o, json_object_get(packed, "attributes"));
  if (job->r->status == SN_OK && lacks_data(job, indices)) {
    if (gltf->accessors[indices].width != 1) gltf_object_fail(o, SN_BAD_FILE, "its indices are no scalars");
    const filled *room = reserve(job, indices, true);
    if (room) piece.wants_indices = true, piece.indices_at = room->offset;
  }
  if (job->r->status != SN_OK || job->filled_count == before) return; // all data exist uncompressed
  snprintf(job->places[job->piece_count], sizeof *job->places, "%s", o->place);
  job->pieces[job->piece_count++] = piece;
}

static void find_pieces(draco_job *job) {
  int most = job->gltf->accessor_count; // every piece fills at least one accessor, each once
  job->pieces = SN_TAKE(job->r, &job->scratch, sn_draco_piece, most);
  job->places = SN_ROOM(job->r, &job->scratch, (size_t)most, sizeof *job->places);
  job->list = SN_TAKE(job->r, &job->scratch, filled, most);
  job->taken = SN_TAKE(job->r, &job->scratch, bool, most);
  size_t m, p;
  json_t *mesh, *primitive;
  json_array_foreach(json_object_get(job->gltf->json, "meshes"), m, mesh) {
    json_array_foreach(json_object_get(mesh, "primitives"), p, primitive) {
      const json_t *packed = sn_gltf_extension(primitive, extension);
      gltf_object o = sn_gltf_object(job->r, primitive, "mesh %zu primitive %zu", m, p);
      if (packed) add_primitive(job, &o, packed);
    }
  }
}

// ---- decoding, in a child --------------------------------------------------------------------------------------------------

static int decode_all(void *data, char *message, size_t size) {
  const draco_job *job = data;
  sn_draco_decode_fn decode = NULL;
  void *library = dlopen("libsinew-draco.so", RTLD_NOW | RTLD_LOCAL);
  if (library) *(void **)&decode = dlsym(library, "sn_draco_decode");
  if (!decode) return CHILD_MISSING;
  for (int k = 0; k < job->piece_count; k++) {
    const char *trouble = decode(&job->pieces[k]);
    if (!trouble) continue;
    snprintf(message, size, "%s: %s", job->places[k], trouble);
    return CHILD_FAILED;
  }
  return CHILD_DONE;
}

static void run(draco_job *job) {
  sn_child_end end;
  sn_reader *r = job->r;
  r->status = sn_child_run(r->ctx, "Draco", decode_all, job, &end);
  if (r->status != SN_OK || end.result == CHILD_DONE) return;
  if (end.result == CHILD_MISSING) {
    sn_fail_once(
      r, SN_UNSUPPORTED,
      "is compressed by Draco, and libsinew-draco.so, which reads that, is not there: build Sinew where libdraco "
      "is installed (Debian: libdraco-dev), or decode the file with `gltf-transform copy IN.glb OUT.glb` or by "
      "importing and exporting it in Blender");
  } else if (end.result == CHILD_FAILED && end.message[0]) {
    sn_fail_once(r, SN_BAD_FILE, "%s", end.message);
  } else {
    r->status = sn_child_failed(r->ctx, "its Draco data", "libdraco", &end);
  }
}

// ---- rewriting the document without the compression -----------------------------------------------------------------------

static bool describe_view(json_t *root, const filled *f, int buffer) {
  json_t *views = json_object_get(root, "bufferViews");
  json_t *accessor = json_array_get(json_object_get(root, "accessors"), (size_t)f->accessor);
  json_t *view = json_pack("{s:i, s:I, s:I, s:i}", "buffer", buffer, "byteOffset", (json_int_t)f->offset,
                           "byteLength", (json_int_t)f->size, "target", f->indices ? GLTF_INDICES : GLTF_VERTICES);
  if (view && !f->indices) json_object_set_new(view, "byteStride", json_integer((json_int_t)f->stride));
  if (f->indices) json_object_set_new(accessor, "componentType", json_integer(GLTF_UINT));
  json_object_del(accessor, "byteOffset");
  return json_array_append_new(views, view) == 0 &&
         json_object_set_new(accessor, "bufferView", json_integer((json_int_t)json_array_size(views) - 1)) == 0;
}

static void rewrite(draco_job *job) {
  sn_gltf *gltf = job->gltf;
  uint8_t *bytes = SN_TAKE(job->r, &gltf->memory, uint8_t, job->size);
  size_t m, p;
  json_t *mesh, *primitive;
  if (!bytes) return;
  memcpy(bytes, job->shared, job->size);
  int buffer = sn_gltf_add_buffer(gltf, bytes, job->size);
  for (int k = 0; k < job->filled_count && job->r->status == SN_OK; k++) {
    if (!describe_view(gltf->json, &job->list[k], buffer))
      sn_fail_once(job->r, SN_NO_MEMORY, "out of memory while decompressing");
  }
  json_array_foreach(json_object_get(gltf->json, "meshes"), m, mesh) {
    json_array_foreach(json_object_get(mesh, "primitives"), p, primitive)
      sn_gltf_remove_extension(primitive, extension);
  }
  sn_gltf_forget_extension(gltf->json, extension);
  if (job->r->status == SN_OK) sn_gltf_load_accessors(gltf);
}

void sn_gltf_unpack_draco(sn_gltf *gltf) {
  sn_reader *r = &gltf->reader;
  draco_job job = {.r = r, .gltf = gltf, .scratch = sn_arena_new(r->ctx)};
  find_pieces(&job);
  if (r->status == SN_OK && job.size > 0) {
    void *shared = mmap(NULL, job.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
      sn_fail_once(r, SN_NO_MEMORY, "out of memory: %zu bytes of Draco data", job.size);
    } else {
      job.shared = shared;
      for (int k = 0; k < job.piece_count; k++) job.pieces[k].out = shared;
      run(&job);
      if (r->status == SN_OK) rewrite(&job);
      munmap(shared, job.size);
    }
  }
  sn_arena_free(&job.scratch);
}
