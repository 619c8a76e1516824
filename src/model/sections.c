// SPDX-License-Identifier: MIT
// Collects sections, then lays them out with their checksums.
#include "model/parts.h"

#include <string.h>

bool sn_section_exists(const sn_section_list *list, const char *name) {
  for (int s = 0; list && s < list->count; s++)
    if (!strcmp(list->sections[s].name, name)) return true;
  return false;
}

void sn_section_add(sn_section_list *list, const char *name, const void *bytes, uint64_t size, uint32_t flags) {
  if (list->status != SN_OK) return;
  if (strlen(name) == 0 || strlen(name) > 15) {
    list->status = sn_fail(list->ctx, SN_BAD_INPUT, "a section's name has 1 to 15 characters: '%s'", name);
  } else if (sn_section_exists(list, name)) {
    list->status = sn_fail(list->ctx, SN_BAD_INPUT, "there are two sections '%s'", name);
  } else if (list->count == SN_RT_MAX_SECTIONS) {
    list->status = sn_fail(list->ctx, SN_BAD_INPUT, "a model has at most %d sections", SN_RT_MAX_SECTIONS);
  } else {
    sn_section *s = list->sections + list->count++;
    *s = (sn_section){.bytes = bytes, .size = size, .flags = flags};
    memcpy(s->name, name, strlen(name));
  }
}

void sn_section_add_given(sn_section_list *list, const sn_model_section *given) {
  sn_section_add(list, given->name, given->bytes, given->size, given->required ? SN_RT_SECTION_REQUIRED : 0);
}

void *sn_section_alloc(sn_section_list *list, uint64_t count, size_t size) {
  void *bytes = list->status == SN_OK ? sn_arena_alloc(list->ctx, list->memory, count, size) : NULL;
  if (!bytes && list->status == SN_OK) list->status = list->ctx->error.status;
  return bytes;
}

void *sn_section_new(sn_section_list *list, sn_rt_section_id id, uint64_t count, size_t size, uint32_t flags) {
  void *bytes = sn_section_alloc(list, count, size);
  sn_section_add(list, sn_rt_section_name(id), bytes, count * size, flags);
  return list->status == SN_OK ? bytes : NULL;
}

void sn_section_pack_triangles(sn_section_list *list, const uint32_t (*triangles)[3], size_t triangle_count) {
  size_t count = 3 * triangle_count, size = 0;
  uint8_t *bytes = sn_section_alloc(list, 5 * count, 1);
  if (count == 0 || !bytes) return;
  uint32_t last = 0;
  for (size_t n = 0; n < count; n++) {
    uint32_t vertex = triangles[n / 3][n % 3], step = vertex - last, code = step << 1 ^ (0 - (step >> 31));
    for (last = vertex; code >= 0x80; code >>= 7) bytes[size++] = (uint8_t)(code | 0x80);
    bytes[size++] = (uint8_t)code;
  }
  sn_section_add(list, sn_rt_section_name(SN_SECTION_PACK_TRIANGLES), bytes, size, SN_RT_SECTION_REQUIRED);
}

sn_rt_header sn_sections_rewrite(sn_section_list *list, const sn_rt_model *model, const sn_section_rule *rules,
                                 size_t count, void *user) {
  const uint8_t *bytes = sn_rt_get_bytes(model);
  const sn_rt_entry *e = (const sn_rt_entry *)(const void *)(bytes + sizeof(sn_rt_header));
  for (uint32_t s = 0; list->status == SN_OK && s < model->info.section_count; s++, e++) {
    size_t n = 0;
    while (n < count && strcmp(e->name, sn_rt_section_name(rules[n].from)) != 0) n++;
    if (n == count && !sn_section_exists(list->instead, e->name))
      sn_section_add(list, e->name, bytes + e->offset, e->size, e->flags);
    else if (n < count && rules[n].write)
      rules[n].write(user);
  }
  return *(const sn_rt_header *)(const void *)bytes;
}

static uint64_t aligned(uint64_t n) { return (n + SN_RT_ALIGNMENT - 1) / SN_RT_ALIGNMENT * SN_RT_ALIGNMENT; }

sn_status sn_sections_assemble(const sn_section_list *list, sn_rt_header header, sn_model *out) {
  if (list->status != SN_OK) return list->status;
  uint64_t size = aligned(sizeof header + (uint64_t)list->count * sizeof(sn_rt_entry));
  for (int s = 0; s < list->count; s++) size += aligned(list->sections[s].size);
  *out = (sn_model){.memory = sn_arena_new(list->ctx), .size = size};
  out->bytes = SN_NEW(list->ctx, &out->memory, uint8_t, size);
  if (!out->bytes) return SN_NO_MEMORY;
  header.section_count = (uint32_t)list->count, header.file_size = size;
  memcpy(out->bytes, &header, sizeof header);
  sn_rt_entry *entries = (sn_rt_entry *)(void *)(out->bytes + sizeof header);
  uint64_t at = aligned(sizeof header + (uint64_t)list->count * sizeof *entries);
  for (int s = 0; s < list->count; s++) {
    const sn_section *from = list->sections + s;
    entries[s] = (sn_rt_entry){.offset = at, .size = from->size, .flags = from->flags};
    memcpy(entries[s].name, from->name, sizeof from->name);
    if (from->size) memcpy(out->bytes + at, from->bytes, from->size);
    at += aligned(from->size);
  }
  sn_model_seal(out->bytes, out->size);
  return SN_OK;
}

bool sn_model_seal(uint8_t *bytes, size_t size) {
  sn_rt_header *h = (sn_rt_header *)(void *)bytes;
  if (size < sizeof *h || h->section_count > SN_RT_MAX_SECTIONS) return false;
  uint64_t table = h->section_count * sizeof(sn_rt_entry);
  if (size - sizeof *h < table) return false;
  sn_rt_entry *entries = (sn_rt_entry *)(void *)(bytes + sizeof *h);
  for (uint32_t s = 0; s < h->section_count; s++) {
    sn_rt_entry *e = entries + s;
    if (e->offset <= size && e->size <= size - e->offset) e->checksum = sn_rt_crc32(0, bytes + e->offset, e->size);
  }
  h->checksum = 0;
  h->checksum = sn_rt_crc32(0, bytes, sizeof *h + table);
  return true;
}
