// SPDX-License-Identifier: MIT
// Opening a model: every offset, count and index of the file is checked here, once, so that evaluating needs no checks.
#include <string.h>

#include "runtime/internal.h"

_Static_assert(sizeof(sn_rt_header) == 128, "the header is 128 bytes in the file");
_Static_assert(sizeof(sn_rt_entry) == 40, "a table entry is 40 bytes in the file");
_Static_assert(sizeof(sn_rt_group) == 32, "a group is 32 bytes in the file");
_Static_assert(sizeof(sn_rt_extra) == 64, "an extra joint is 64 bytes in the file");
_Static_assert(sizeof(sn_rt_reference) == 20, "a reference is 20 bytes in the file");
_Static_assert(sizeof(sn_rt_correct_head) == 32, "the head of the corrections is 32 bytes in the file");
_Static_assert(sizeof(sn_rt_field) == 48, "a pose space is 48 bytes in the file");
_Static_assert(sizeof(sn_rt_correct_entry) == 12, "a correction's entry is 12 bytes in the file");
_Static_assert((int)SN_RT_KNOWN_SECTIONS <= SN_RT_MAX_SECTIONS, "sn_rt_model has room for every section");

// What the checks share. `header` is a copy.
typedef struct reader {
  const uint8_t *bytes;
  uint64_t size;
  sn_rt_header header;
  sn_rt_model *model;
  sn_rt_error *error;
} reader;

#define BAD(r, ...) sn_rt_fail((r)->error, SN_RT_BAD_MODEL, __VA_ARGS__)

static int little_endian(void) {
  uint16_t one = 1;
  uint8_t first;
  memcpy(&first, &one, 1);
  return first == 1;
}

static int has_magic(const sn_rt_header *h) {
  for (size_t n = 0; n < sizeof h->magic; n++) {
    if (h->magic[n] != SN_RT_MAGIC[n]) return 0;
  }
  return 1;
}

// ---- header and table --------------------------------------------------------------------------------------------------

static sn_rt_status check_version(reader *r) {
  const sn_rt_header *h = &r->header;
  if (h->version_major > SN_RT_FORMAT_MAJOR) {
    return sn_rt_fail(
      r->error, SN_RT_UNSUPPORTED,
      "the model has format version %u.%u, this runtime reads versions up to %u.%u: use a newer Sinew",
      (uint64_t)h->version_major, (uint64_t)h->version_minor, (uint64_t)SN_RT_FORMAT_MAJOR,
      (uint64_t)SN_RT_FORMAT_MINOR);
  }
  if (h->version_major < 1)
    return BAD(r, "the model has format version 0.%u, which never existed", (uint64_t)h->version_minor);
  return SN_RT_OK;
}

static sn_rt_status unknown_slot(reader *r, const char *slot, const char *name, uint64_t value) {
  return sn_rt_fail(r->error, SN_RT_UNSUPPORTED, "this runtime has no %s `%s` (choice %u of that slot)", slot, name,
                    value);
}

static sn_rt_status check_slots(reader *r) {
  const sn_rt_header *h = &r->header;
  if (h->drive > SN_RT_DRIVE_CONTROLS) return unknown_slot(r, "drive", sn_rt_drive_name(h->drive), h->drive);
  if (h->correct > SN_RT_CORRECT_EIGEN) return unknown_slot(r, "correct", sn_rt_correct_name(h->correct), h->correct);
  if (h->blend > SN_RT_BLEND_DUALQUAT) return unknown_slot(r, "blend", sn_rt_blend_name(h->blend), h->blend);
  if (h->shade > SN_RT_SHADE_RECOMPUTE) return unknown_slot(r, "shade", sn_rt_shade_name(h->shade), h->shade);
  if (sn_rt_has_proxies(h->drive) && h->blend != SN_RT_BLEND_LINEAR) {
    return BAD(r, "proxy bones need a linear blend");
  }
  if (h->drive == SN_RT_DRIVE_CONTROLS && (h->blend != SN_RT_BLEND_LINEAR || h->correct != SN_RT_CORRECT_NONE)) {
    return BAD(r, "control points drive linear blends without corrections");
  }
  return SN_RT_OK;
}

static sn_rt_status check_header(reader *r) {
  if (!little_endian()) return sn_rt_fail(r->error, SN_RT_UNSUPPORTED, "models need a little-endian machine");
  if (r->size < sizeof(sn_rt_header)) {
    return BAD(r, "%u bytes are too few for a model: its header has %u", r->size, (uint64_t)sizeof(sn_rt_header));
  }
  sn_rt_header *h = &r->header;
  memcpy(h, r->bytes, sizeof *h);
  if (!has_magic(h)) return BAD(r, "not a Sinew model: it does not begin as one");
  sn_rt_status status = check_version(r);
  if (status) return status;
  if (h->file_size != r->size) {
    return BAD(r, "the model should have %u bytes and has %u: it was cut off or added to", h->file_size, r->size);
  }
  if (h->section_count > SN_RT_MAX_SECTIONS) {
    return BAD(r, "%u sections are more than the %u a model can have", (uint64_t)h->section_count,
               (uint64_t)SN_RT_MAX_SECTIONS);
  }
  uint64_t table = (uint64_t)h->section_count * sizeof(sn_rt_entry);
  if (r->size - sizeof *h < table) return BAD(r, "the table of %u sections is cut off", (uint64_t)h->section_count);
  sn_rt_header zeroed = *h;
  zeroed.checksum = 0;
  uint32_t crc = sn_rt_crc32(sn_rt_crc32(0, &zeroed, sizeof zeroed), r->bytes + sizeof *h, table);
  if (crc != h->checksum) return BAD(r, "the header or the table of sections is damaged (wrong checksum)");
  return check_slots(r);
}

static sn_rt_status check_entry(reader *r, uint32_t index) {
  sn_rt_entry e;
  memcpy(&e, r->bytes + sizeof(sn_rt_header) + index * sizeof e, sizeof e);
  if (e.name[sizeof e.name - 1] != 0) return BAD(r, "the name of section %u does not end", (uint64_t)index);
  if (e.offset % SN_RT_ALIGNMENT != 0) return BAD(r, "section %s is not aligned to 64 bytes", e.name);
  if (e.offset > r->size || e.size > r->size - e.offset)
    return BAD(r, "section %s lies beyond the end of the file", e.name);
  if (sn_rt_crc32(0, r->bytes + e.offset, e.size) != e.checksum) {
    return BAD(r, "section %s is damaged (wrong checksum)", e.name);
  }
  for (int id = 0; id < SN_RT_KNOWN_SECTIONS; id++) {
    if (!sn_rt_same_text(e.name, sn_rt_section_name(id))) continue;
    if (r->model->sections[id]) return BAD(r, "there are two sections %s", e.name);
    r->model->sections[id] = r->bytes + e.offset;
    r->model->sizes[id] = e.size;
    return SN_RT_OK;
  }
  if (e.flags & SN_RT_SECTION_REQUIRED) {
    return sn_rt_fail(r->error, SN_RT_UNSUPPORTED, "the model needs section %s, which this runtime does not know",
                      e.name);
  }
  return SN_RT_OK;
}

// ---- counts: every section has exactly the size that the header's counts give --------------------------------------------

static sn_rt_status need(reader *r, sn_rt_section_id id, uint64_t size) {
  if (!r->model->sections[id]) return BAD(r, "section %s is missing", sn_rt_section_name(id));
  if (r->model->sizes[id] != size) {
    return BAD(r, "section %s has %u bytes instead of %u", sn_rt_section_name(id), r->model->sizes[id], size);
  }
  return SN_RT_OK;
}

static sn_rt_status need_if_there(reader *r, sn_rt_section_id id, uint64_t size) {
  return r->model->sections[id] ? need(r, id, size) : SN_RT_OK;
}

static uint64_t chunk_count(const sn_rt_header *h) { return ((uint64_t)h->vertex_count + h->grain - 1) / h->grain; }

static sn_rt_status check_counts(reader *r) {
  const sn_rt_header *h = &r->header;
  if (h->vertex_count > INT32_MAX) return BAD(r, "%u vertices are too many", (uint64_t)h->vertex_count);
  if (h->grain == 0 || h->grain > SN_RT_MAX_GRAIN)
    return BAD(r, "the grain is %u instead of 1 to 65536", (uint64_t)h->grain);
  if (h->joint_count > SN_RT_MAX_JOINTS || h->palette_count > SN_RT_MAX_JOINTS || h->palette_count < h->joint_count ||
      (h->palette_count == 0 && h->vertex_count > 0)) {
    return BAD(r, "%u joints and %u matrices in the palette do not fit together", (uint64_t)h->joint_count,
               (uint64_t)h->palette_count);
  }
  if (h->weight_bits != 32 && h->weight_bits != 16 && h->weight_bits != 8) {
    return BAD(r, "weights have %u bits instead of 32, 16 or 8", (uint64_t)h->weight_bits);
  }
  if (h->torque_count != (h->drive == SN_RT_DRIVE_TORQUE ? h->joint_count : 0)) {
    return BAD(r, "%u torques for %u joints", (uint64_t)h->torque_count, (uint64_t)h->joint_count);
  }
  if (h->max_influences > SN_RT_MAX_INFLUENCES || h->influence_count < h->vertex_count ||
      h->influence_count > (uint64_t)h->vertex_count * h->max_influences) {
    return BAD(r, "%u influences, at most %u each, do not fit %u vertices", h->influence_count,
               (uint64_t)h->max_influences, (uint64_t)h->vertex_count);
  }
  return SN_RT_OK;
}

// Palette entries made from joints; a drive with bones of its own has none.
static uint32_t extra_count(const sn_rt_header *h) {
  return h->drive == SN_RT_DRIVE_JOINTS ? h->palette_count - h->joint_count : 0;
}

static sn_rt_status check_rotreg_sizes(reader *r) {
  uint32_t joints = r->header.joint_count, bones = r->header.palette_count - joints;
  if (joints == 0) return BAD(r, "proxy bones without joints");
  sn_rt_status status = need(r, SN_RT_ROTREG_JOINTS, joints * sizeof(sn_rt_rotreg_joint));
  if (!status && r->header.drive == SN_RT_DRIVE_ROTREG) {
    status = need(r, SN_RT_ROTREG_KEYS, sn_rt_rotreg_blocks(bones) * sizeof(sn_rt_rotreg_block));
  }
  if (!status && r->header.drive == SN_RT_DRIVE_TORQUE) {
    status = need(r, SN_RT_TORQUE_RANGES, joints * sizeof(sn_rt_torque));
    if (!status) status = need(r, SN_RT_TORQUE_KEYS, sn_rt_rotreg_blocks(bones) * sizeof(sn_rt_torque_block));
  }
  if (!status) status = need(r, SN_RT_ROTREG_SOLVE, sn_rt_rotreg_solve_count(joints, bones) * sizeof(float));
  return status;
}

static sn_rt_status check_sizes(reader *r) {
  const sn_rt_header *h = &r->header;
  uint64_t blocks = h->block_count, extras = extra_count(h);
  sn_rt_status status = need(r, SN_RT_SKIN_CHUNKS, (chunk_count(h) + 1) * 4);
  if (!status) status = need(r, SN_RT_SKIN_GROUPS, (uint64_t)h->group_count * sizeof(sn_rt_group));
  if (!status) status = need(r, SN_RT_SKIN_LANES, blocks * SN_RT_LANES * 2);
  if (!status) status = need(r, SN_RT_SKIN_REST, blocks * SN_RT_LANES * 12);
  if (!status) {
    status =
      (h->shade == SN_RT_SHADE_TRANSFORM ? need : need_if_there)(r, SN_RT_SKIN_NORMALS, blocks * SN_RT_LANES * 12);
  }
  if (!status && sn_rt_has_proxies(h->drive)) status = check_rotreg_sizes(r);
  if (!status && h->drive == SN_RT_DRIVE_JOINTS && extras) {
    status = need(r, SN_RT_DRIVE_EXTRA, extras * sizeof(sn_rt_extra));
  }
  if (!status) status = need_if_there(r, SN_RT_JOINT_PARENTS, (uint64_t)h->joint_count * 4);
  if (!status) status = need_if_there(r, SN_RT_JOINT_REST, (uint64_t)h->joint_count * 48);
  if (!status && h->triangle_count) status = need(r, SN_RT_MESH_TRIANGLES, (uint64_t)h->triangle_count * 12);
  if (!status && h->shade == SN_RT_SHADE_RECOMPUTE) {
    status = need(r, SN_RT_SHADE_START, ((uint64_t)sn_rt_blocks_of(h->vertex_count) + 1) * 4);
    if (!status && !r->model->sections[SN_RT_SHADE_FANS]) status = need(r, SN_RT_SHADE_FANS, 0);
  }
  return status;
}

// ---- contents -------------------------------------------------------------------------------------------------------------

static sn_rt_status check_finite(reader *r, sn_rt_section_id id) {
  const uint32_t *bits = r->model->sections[id];
  uint64_t count = r->model->sizes[id] / 4;
  for (uint64_t n = 0; bits && n < count; n++) {
    if ((bits[n] & 0x7f800000u) == 0x7f800000u) {
      return BAD(r, "number %u of section %s is not finite", n, sn_rt_section_name(id));
    }
  }
  return SN_RT_OK;
}

static sn_rt_status check_names(reader *r) {
  const sn_rt_model *m = r->model;
  const uint32_t *start = m->sections[SN_RT_JOINT_NAMES];
  uint64_t size = m->sizes[SN_RT_JOINT_NAMES], joints = r->header.joint_count, head = (joints + 1) * 4;
  if (!start) return SN_RT_OK;
  if (size < head || start[0] != 0 || start[joints] != size - head) return BAD(r, "section joint.names is too short");
  const char *text = (const char *)(start + joints + 1);
  for (uint64_t j = 0; j < joints; j++) {
    if (start[j + 1] <= start[j] || start[j + 1] > size - head || text[start[j + 1] - 1] != 0) {
      return BAD(r, "the name of joint %u does not end", j);
    }
  }
  return SN_RT_OK;
}

static sn_rt_status check_joints(reader *r) {
  const sn_rt_header *h = &r->header;
  const int32_t *parents = r->model->sections[SN_RT_JOINT_PARENTS];
  for (uint32_t j = 0; parents && j < h->joint_count; j++) {
    if (parents[j] < -1 || parents[j] >= (int64_t)h->joint_count)
      return BAD(r, "joint %u has no such parent", (uint64_t)j);
  }
  if (sn_rt_has_proxies(h->drive)) {
    const char *wrong = sn_rt_rotreg_check(r->model);
    return wrong ? BAD(r, "%s is out of range", wrong) : SN_RT_OK;
  }
  const sn_rt_extra *extra = r->model->sections[SN_RT_DRIVE_EXTRA];
  for (uint32_t e = 0; e < extra_count(h); e++) {
    const sn_rt_extra *x = extra + e;
    if (x->kind != SN_RT_EXTRA_HALFWAY && x->kind != SN_RT_EXTRA_SCALING) {
      return sn_rt_fail(r->error, SN_RT_UNSUPPORTED,
                        "extra joint %u is of a kind (%u) that this runtime does not know", (uint64_t)e,
                        (uint64_t)x->kind);
    }
    if (x->parent >= h->joint_count || x->child >= h->joint_count || x->base >= h->joint_count + e) {
      return BAD(r, "extra joint %u is made from joints that do not exist", (uint64_t)e);
    }
  }
  return SN_RT_OK;
}

// Bits of the vertices of a chunk that some block writes.
typedef struct coverage {
  uint8_t bits[SN_RT_MAX_GRAIN / 8];
  uint32_t count;
} coverage;

static sn_rt_status check_lanes(reader *r, const sn_rt_group *g, uint64_t first_vertex, coverage *seen) {
  const uint16_t *lanes =
    (const uint16_t *)r->model->sections[SN_RT_SKIN_LANES] + (uint64_t)g->first_block * SN_RT_LANES;
  uint64_t left = r->header.vertex_count - first_vertex, limit = left < r->header.grain ? left : r->header.grain;
  for (uint32_t n = 0; n < (uint32_t)g->block_count * SN_RT_LANES; n++) {
    uint32_t lane = lanes[n];
    if (lane >= limit)
      return BAD(r, "block %u moves a vertex that does not exist", (uint64_t)g->first_block + n / SN_RT_LANES);
    uint8_t bit = (uint8_t)(1u << lane % 8);
    seen->count += !(seen->bits[lane / 8] & bit);
    seen->bits[lane / 8] |= bit;
  }
  return SN_RT_OK;
}

// Running totals over the groups: where the next one must begin.
typedef struct totals {
  uint64_t blocks, weights, tuples, shared;
} totals;

static sn_rt_status check_group(reader *r, uint32_t index, totals *sum) {
  const sn_rt_group *g = (const sn_rt_group *)r->model->sections[SN_RT_SKIN_GROUPS] + index;
  if (g->influences < 1 || g->influences > SN_RT_MAX_INFLUENCES || g->influences > r->header.max_influences) {
    return BAD(r, "group %u has %u influences", (uint64_t)index, (uint64_t)g->influences);
  }
  if (g->kind != SN_RT_GROUP_SHARED && g->kind != SN_RT_GROUP_LOOSE) {
    return sn_rt_fail(r->error, SN_RT_UNSUPPORTED, "group %u is of a kind (%u) that this runtime does not know",
                      (uint64_t)index, (uint64_t)g->kind);
  }
  if (g->first_block != sum->blocks || g->first_weight != sum->weights || g->first_tuple != sum->tuples) {
    return BAD(r, "group %u does not begin where the one before ends", (uint64_t)index);
  }
  sum->blocks += g->block_count, sum->weights += (uint64_t)g->block_count * (uint64_t)(g->influences - 1);
  if (g->kind == SN_RT_GROUP_LOOSE) {
    sum->tuples += (uint64_t)g->block_count * g->influences;
  } else {
    sum->shared += g->block_count;
    for (int k = 0; k < g->influences; k++) {
      if (g->joints[k] >= r->header.palette_count)
        return BAD(r, "group %u has a joint that does not exist", (uint64_t)index);
    }
  }
  if (sum->blocks > r->header.block_count)
    return BAD(r, "the groups have more than the model's %u blocks", (uint64_t)r->header.block_count);
  return SN_RT_OK;
}

static sn_rt_status check_chunk(reader *r, uint64_t chunk, totals *sum) {
  const uint32_t *start = r->model->sections[SN_RT_SKIN_CHUNKS];
  const sn_rt_group *groups = r->model->sections[SN_RT_SKIN_GROUPS];
  if (start[chunk + 1] < start[chunk] || start[chunk + 1] > r->header.group_count)
    return BAD(r, "chunk %u has no end", chunk);
  uint64_t first_vertex = chunk * r->header.grain, left = r->header.vertex_count - first_vertex;
  coverage seen;
  memset(&seen, 0, sizeof seen);
  for (uint32_t g = start[chunk]; g < start[chunk + 1]; g++) {
    sn_rt_status status = check_group(r, g, sum);
    if (!status) status = check_lanes(r, groups + g, first_vertex, &seen);
    if (status) return status;
  }
  if (seen.count != (left < r->header.grain ? left : r->header.grain)) {
    return BAD(r, "some vertices from %u on belong to no block", first_vertex);
  }
  return SN_RT_OK;
}

static sn_rt_status check_skin(reader *r) {
  const sn_rt_header *h = &r->header;
  const uint32_t *start = r->model->sections[SN_RT_SKIN_CHUNKS];
  uint64_t chunks = chunk_count(h);
  totals sum = {0, 0, 0, 0};
  if (start[0] != 0 || start[chunks] != h->group_count)
    return BAD(r, "the chunks do not hold all %u groups", (uint64_t)h->group_count);
  for (uint64_t c = 0; c < chunks; c++) {
    sn_rt_status status = check_chunk(r, c, &sum);
    if (status) return status;
  }
  if (sum.blocks != h->block_count)
    return BAD(r, "the groups have %u blocks instead of %u", sum.blocks, (uint64_t)h->block_count);
  sn_rt_status status = need(r, SN_RT_SKIN_WEIGHTS, sum.weights * SN_RT_LANES * (h->weight_bits / 8));
  if (!status && sum.tuples) status = need(r, SN_RT_SKIN_TUPLES, sum.tuples * SN_RT_LANES * 2);
  if (status) return status;
  const uint16_t *tuples = r->model->sections[SN_RT_SKIN_TUPLES];
  for (uint64_t n = 0; n < sum.tuples * SN_RT_LANES; n++) {
    if (tuples[n] >= h->palette_count) return BAD(r, "number %u of section skin.tuples is no joint", n);
  }
  r->model->info.shared_blocks = (uint32_t)sum.shared;
  return h->weight_bits == 32 ? check_finite(r, SN_RT_SKIN_WEIGHTS) : SN_RT_OK;
}

// Indices of 2 or 4 bytes.
static sn_rt_status check_indices(reader *r, sn_rt_section_id id, uint32_t bytes) {
  const void *index = r->model->sections[id];
  for (uint64_t n = 0; n < r->model->sizes[id] / bytes; n++) {
    if ((bytes == 2 ? ((const uint16_t *)index)[n] : ((const uint32_t *)index)[n]) >= r->header.vertex_count)
      return BAD(r, "number %u of section %s is no vertex", n, sn_rt_section_name(id));
  }
  return SN_RT_OK;
}

static sn_rt_status check_fans(reader *r) {
  const uint32_t *start = r->model->sections[SN_RT_SHADE_START];
  uint32_t blocks = sn_rt_blocks_of(r->header.vertex_count), bytes = sn_rt_fan_bytes(r->header.vertex_count);
  if (start[0] != 0 || (uint64_t)start[blocks] * SN_RT_LANES * bytes != r->model->sizes[SN_RT_SHADE_FANS])
    return BAD(r, "shade.start and shade.fans do not fit together");
  for (uint32_t b = 0; b < blocks; b++) {
    if (start[b + 1] < start[b]) return BAD(r, "block %u of shade.fans has no end", (uint64_t)b);
  }
  return check_indices(r, SN_RT_SHADE_FANS, bytes);
}

static sn_rt_status check_mesh(reader *r) {
  const sn_rt_header *h = &r->header;
  sn_rt_status status = h->triangle_count ? check_indices(r, SN_RT_MESH_TRIANGLES, 4) : SN_RT_OK;
  if (status || h->shade != SN_RT_SHADE_RECOMPUTE) return status;
  return check_fans(r);
}

static sn_rt_status check_contents(reader *r) {
  sn_rt_status status = check_names(r);
  if (!status) status = check_joints(r);
  if (!status) status = check_finite(r, SN_RT_JOINT_REST);
  if (!status) status = check_finite(r, SN_RT_SKIN_REST);
  if (!status) status = check_finite(r, SN_RT_SKIN_NORMALS);
  if (!status) status = check_skin(r);
  if (!status) status = check_mesh(r);
  if (!status) status = sn_rt_check_references(r->model, r->error);
  if (!status) status = sn_rt_check_correct(r->model, r->error);
  if (!status && r->header.drive == SN_RT_DRIVE_CONTROLS) status = sn_rt_check_controls(r->model, r->error);
  return status;
}

static void fill_info(reader *r) {
  const sn_rt_header *h = &r->header;
  sn_rt_model *m = r->model;
  sn_rt_info *info = &m->info;
  info->version_major = h->version_major, info->version_minor = h->version_minor;
  info->drive = (sn_rt_drive)h->drive, info->correct = (sn_rt_correct)h->correct;
  info->blend = (sn_rt_blend)h->blend, info->shade = (sn_rt_shade)h->shade;
  info->vertex_count = h->vertex_count, info->joint_count = h->joint_count;
  info->control_count = h->control_count, info->torque_count = h->torque_count;
  info->palette_count = h->palette_count, info->triangle_count = h->triangle_count;
  info->max_influences = h->max_influences, info->influence_count = h->influence_count;
  info->weight_bits = h->weight_bits, info->grain = h->grain, info->block_count = h->block_count;
  info->section_count = h->section_count, info->bytes = h->file_size;
}

static sn_rt_status open_model(reader *r) {
  sn_rt_status status = check_header(r);
  for (uint32_t s = 0; !status && s < r->header.section_count; s++) status = check_entry(r, s);
  if (!status) status = check_counts(r);
  if (!status) status = check_sizes(r);
  if (!status) fill_info(r);
  if (!status) status = check_contents(r);
  return status;
}

sn_rt_status sn_rt_open(const void *bytes, size_t size, sn_rt_model *model, sn_rt_error *error) {
  memset(model, 0, sizeof *model);
  if (error) error->status = SN_RT_OK, error->message[0] = 0;
  if (!bytes) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "there are no bytes to open");
  if ((uintptr_t)bytes % 8 != 0) {
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "the bytes of a model must be aligned to 8 bytes");
  }
  reader r = {.bytes = bytes, .size = size, .model = model, .error = error};
  sn_rt_status status = open_model(&r);
  if (status) {
    memset(model, 0, sizeof *model);
    return status;
  }
  model->bytes = bytes;
  model->path = sn_rt_best_path();
  sn_rt_count_work(model);
  return SN_RT_OK;
}
