// SPDX-License-Identifier: MIT
// Opening a model: every offset, count and index of the file is checked here, once, so that evaluating needs no checks.
#include <string.h>

#include "runtime/check.h"
#include "runtime/drive.h"

_Static_assert(sizeof(sn_rt_header) == 128, "the header is 128 bytes in the file");
_Static_assert(sizeof(sn_rt_entry) == 40, "a table entry is 40 bytes in the file");
_Static_assert(sizeof(sn_rt_group) == 32, "a group is 32 bytes in the file");
_Static_assert(sizeof(sn_rt_extra) == 64, "an extra joint is 64 bytes in the file");
_Static_assert(sizeof(sn_rt_reference) == 20, "a reference is 20 bytes in the file");
_Static_assert(sizeof(sn_rt_correct_head) == 32, "the head of the corrections is 32 bytes in the file");
_Static_assert(sizeof(sn_rt_field) == 48, "a pose space is 48 bytes in the file");
_Static_assert(sizeof(sn_rt_terms) == 40, "a group of terms is 40 bytes in the file");
_Static_assert(sizeof(sn_rt_correct_entry) == 12, "a correction's entry is 12 bytes in the file");
_Static_assert(sizeof(sn_rt_packed_entry) == 8, "a packed correction's entry is 8 bytes in the file");
_Static_assert(sizeof(sn_rt_opened) <= sizeof(((sn_rt_model *)0)->hidden), "sn_rt_model has room for every section");

// State of the checks. `header` is a copy.
typedef struct reader {
  const uint8_t *bytes;
  uint64_t size;
  sn_rt_header header;
  sn_rt_model *model;
  sn_rt_error *error;
} reader;

static int little_endian(void) {
  uint16_t one = 1;
  return *(const uint8_t *)&one == 1;
}

static int has_magic(const sn_rt_header *h) {
  for (size_t n = 0; n < sizeof h->magic; n++)
    if (h->magic[n] != SN_RT_MAGIC[n]) return 0;
  return 1;
}

// ---- header and table --------------------------------------------------------------------------------------------------

static sn_rt_status check_version(reader *r) {
  const sn_rt_header *h = &r->header;
  if (h->version_major > SN_RT_FORMAT_MAJOR)
    return sn_rt_fail(
      r->error, SN_RT_UNSUPPORTED,
      "the model has format version %u.%u, this runtime reads versions up to %u.%u: use a newer Sinew",
      h->version_major, h->version_minor, SN_RT_FORMAT_MAJOR, SN_RT_FORMAT_MINOR);
  if (h->version_major < 1)
    return SN_RT_BAD(r, "the model has format version 0.%u, which never existed", h->version_minor);
  return SN_RT_OK;
}

static sn_rt_status check_slots(reader *r) {
  const sn_rt_header *h = &r->header;
  int basic_drive = h->drive == SN_RT_DRIVE_JOINTS || h->drive == SN_RT_DRIVE_HELPERS;
  const struct {
    const char *slot, *name;
    unsigned value;
    int known, basic; // whether the full runtime supports it; whether a basic build does
  } slots[] = {
    {"drive", sn_rt_drive_name(h->drive), h->drive, h->drive <= SN_RT_DRIVE_HELPERS, basic_drive},
    {"correct", sn_rt_correct_name(h->correct), h->correct, h->correct <= SN_RT_CORRECT_EIGEN, !h->correct},
    {"blend", sn_rt_blend_name(h->blend), h->blend, h->blend <= SN_RT_BLEND_CENTRES,
     h->blend <= SN_RT_BLEND_DUALQUAT},
    {"shade", sn_rt_shade_name(h->shade), h->shade, h->shade <= SN_RT_SHADE_RECOMPUTE, 1}};
  for (size_t s = 0; s < sizeof slots / sizeof *slots; s++) {
    if (!slots[s].known || (SN_RT_IS_BASIC && !slots[s].basic))
      return sn_rt_fail(r->error, SN_RT_UNSUPPORTED, "this runtime has no %s `%s` (choice %u of that slot)",
                        slots[s].slot, slots[s].name, slots[s].value);
  }
  return SN_RT_OK;
}

static sn_rt_status check_header(reader *r) {
  if (!little_endian()) return sn_rt_fail(r->error, SN_RT_UNSUPPORTED, "models need a little-endian machine");
  if (r->size < sizeof(sn_rt_header))
    return SN_RT_BAD(r, "%" PRIu64 " bytes are too few for a model: its header has %u", r->size,
                     (unsigned)sizeof(sn_rt_header));
  sn_rt_header *h = &r->header;
  memcpy(h, r->bytes, sizeof *h);
  if (!has_magic(h)) return SN_RT_BAD(r, "not a Sinew model; sinew train writes one");
  SN_RT_TRY(check_version(r));
  if (h->file_size != r->size)
    return SN_RT_BAD(r, "the model should have %" PRIu64 " bytes and has %" PRIu64 ": it was cut off or added to",
                     h->file_size, r->size);
  if (h->section_count > SN_RT_MAX_SECTIONS)
    return SN_RT_BAD(r, "%u sections are more than the %u a model can have", h->section_count, SN_RT_MAX_SECTIONS);
  uint64_t table = (uint64_t)h->section_count * sizeof(sn_rt_entry);
  if (r->size - sizeof *h < table) return SN_RT_BAD(r, "the table of %u sections is cut off", h->section_count);
  sn_rt_header zeroed = *h;
  zeroed.checksum = 0;
  uint32_t crc = sn_rt_crc32(sn_rt_crc32(0, &zeroed, sizeof zeroed), r->bytes + sizeof *h, table);
  if (crc != h->checksum) return SN_RT_BAD(r, "the header or the table of sections is damaged (wrong checksum)");
  return check_slots(r);
}

static sn_rt_status check_entry(reader *r, uint32_t index) {
  sn_rt_entry e;
  memcpy(&e, r->bytes + sizeof(sn_rt_header) + index * sizeof e, sizeof e);
  if (e.name[sizeof e.name - 1] != 0) return SN_RT_BAD(r, "the name of section %u does not end", index);
  if (e.offset % SN_RT_ALIGNMENT != 0) return SN_RT_BAD(r, "section %s is not aligned to 64 bytes", e.name);
  if (e.offset > r->size || e.size > r->size - e.offset)
    return SN_RT_BAD(r, "section %s lies beyond the end of the file", e.name);
  if (sn_rt_crc32(0, r->bytes + e.offset, e.size) != e.checksum)
    return SN_RT_BAD(r, "section %s is damaged (wrong checksum)", e.name);
  for (int id = 0; id < SN_SECTION_COUNT; id++) {
    if (!sn_rt_same_text(e.name, sn_rt_section_name(id))) continue;
    if (sn_rt_data(r->model, id)) return SN_RT_BAD(r, "there are two sections %s", e.name);
    sn_rt_change(r->model)->sections[id] = r->bytes + e.offset;
    sn_rt_change(r->model)->sizes[id] = e.size;
    return SN_RT_OK;
  }
  if (e.flags & SN_RT_SECTION_REQUIRED)
    return sn_rt_fail(r->error, SN_RT_UNSUPPORTED, "the model needs section %s, which this runtime does not know",
                      e.name);
  return SN_RT_OK;
}

// ---- counts and contents ----------------------------------------------------------------------------------------------

static sn_rt_status check_counts(reader *r) {
  const sn_rt_header *h = &r->header;
  if (h->vertex_count > INT32_MAX) return SN_RT_BAD(r, "%u vertices are too many", h->vertex_count);
  if (h->grain == 0 || h->grain > SN_RT_MAX_GRAIN)
    return SN_RT_BAD(r, "the grain is %u instead of 1 to 65536", h->grain);
  if (h->joint_count > SN_RT_MAX_JOINTS || h->palette_count > SN_RT_MAX_JOINTS || h->palette_count < h->joint_count ||
      (h->palette_count == 0 && h->vertex_count > 0))
    return SN_RT_BAD(r, "%u joints and %u matrices in the palette do not fit together", h->joint_count,
                     h->palette_count);
  if (h->weight_bits != 32 && h->weight_bits != 16 && h->weight_bits != 8 && h->weight_bits != SN_RT_PACKED_BITS)
    return SN_RT_BAD(r, "weights have %u bits instead of 32, 16, 12 or 8", h->weight_bits);
  if (h->torque_count != (h->drive == SN_RT_DRIVE_TORQUE ? h->joint_count : 0))
    return SN_RT_BAD(r, "%u torques for %u joints", h->torque_count, h->joint_count);
  if (h->control_count && h->drive != SN_RT_DRIVE_CONTROLS)
    return SN_RT_BAD(r, "%u control points, and a drive that has none", h->control_count);
  if (h->value_count > SN_RT_MAX_JOINTS ||
      (h->value_count && h->correct == SN_RT_CORRECT_NONE && h->drive != SN_RT_DRIVE_HELPERS))
    return SN_RT_BAD(r, "%u named values, and no pose space that they could span", h->value_count);
  if (h->max_influences > SN_RT_MAX_INFLUENCES || h->influence_count < h->vertex_count ||
      h->influence_count > (uint64_t)h->vertex_count * h->max_influences)
    return SN_RT_BAD(r, "%" PRIu64 " influences, at most %u each, do not fit %u vertices", h->influence_count,
                     h->max_influences, h->vertex_count);
  return SN_RT_OK;
}

// Rejects sections that no check has read: their contents are unverified.
static sn_rt_status check_unused(const sn_rt_checker *c) {
  for (int id = 0; id < SN_SECTION_COUNT; id++)
    if (sn_rt_data(c->model, id) && !(c->used >> id & 1))
      return SN_RT_BAD(c, "section %s has no use in this model", sn_rt_section_name(id));
  return SN_RT_OK;
}

static sn_rt_status check_contents(reader *r) {
  sn_rt_checker c = {.model = r->model, .error = r->error};
  SN_RT_TRY(sn_rt_check_joints(&c));
  SN_RT_TRY(sn_rt_check_values(&c));
  SN_RT_TRY(sn_rt_check_skin(&c, r->header.group_count, &r->model->info.shared_blocks));
  SN_RT_TRY(sn_rt_check_mesh(&c));
  SN_RT_TRY(sn_rt_check_references(&c));
  SN_RT_TRY(sn_rt_driver_of(r->model)->check(&c));
  SN_RT_TRY(sn_rt_check_correct(&c));
  return check_unused(&c);
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
  info->value_count = h->value_count;
  info->section_count = h->section_count, info->bytes = h->file_size;
}

// Limits scratch memory to a multiple of the file size, so that a small hostile file cannot request a large allocation.
enum { most_scratch_ratio = 64, scratch_allowance = 1 << 16 };

static sn_rt_status check_scratch(reader *r) {
  uint64_t need = sn_rt_scratch_need(r->model);
  if (need <= most_scratch_ratio * r->size + scratch_allowance && need <= SIZE_MAX) return SN_RT_OK;
  return SN_RT_BAD(r, "evaluating would need %" PRIu64 " bytes, too many for a model of %" PRIu64, need, r->size);
}

static sn_rt_status open_model(reader *r) {
  sn_rt_opened *opened = sn_rt_change(r->model);
  SN_RT_TRY(check_header(r));
  for (uint32_t s = 0; s < r->header.section_count; s++) SN_RT_TRY(check_entry(r, s));
  SN_RT_TRY(check_counts(r));
  fill_info(r);
  SN_RT_TRY(check_contents(r));
  opened->work_count = sn_rt_find_work_count(r->model);
  opened->term_count = sn_rt_find_term_count(r->model);
  opened->rotation_count = sn_rt_find_rotation_count(r->model);
  SN_RT_TRY(check_scratch(r));
  sn_rt_count_work(r->model);
  opened->beside_last = sn_rt_find_beside_last(r->model);
  r->model->info.tangents = sn_rt_stored_of(r->model).tangents != NULL;
  opened->bytes = r->bytes, opened->path = sn_rt_best_path(), opened->wide_units = (uint32_t)sn_rt_has_wide_units();
  return SN_RT_OK;
}

sn_rt_status sn_rt_open(const void *bytes, size_t size, sn_rt_model *model, sn_rt_error *error) {
  memset(model, 0, sizeof *model);
  if (error) error->status = SN_RT_OK, error->message[0] = 0;
  if (!bytes) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "there are no bytes to open");
  if ((uintptr_t)bytes % 8 != 0)
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "the bytes of a model must be aligned to 8 bytes");
  reader r = {.bytes = bytes, .size = size, .model = model, .error = error};
  sn_rt_status status = open_model(&r);
  if (status) memset(model, 0, sizeof *model);
  return status;
}
