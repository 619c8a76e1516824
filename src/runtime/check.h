// SPDX-License-Identifier: MIT
// Checks of a model's sections. A section that no check has read is an error: see sn_rt_open.
#ifndef SINEW_RUNTIME_CHECK_H
#define SINEW_RUNTIME_CHECK_H

#include <inttypes.h>

#include "runtime/internal.h"

typedef struct sn_rt_checker {
  const sn_rt_model *model; // its info is filled in, except memory and operation counts
  uint64_t used;            // bit set of the sections that checks have read
  sn_rt_error *error;
} sn_rt_checker;

#define SN_RT_BAD(c, ...) sn_rt_fail((c)->error, SN_RT_BAD_MODEL, __VA_ARGS__)

// Returns from a function that returns an sn_rt_status if the check fails.
#define SN_RT_TRY(check)                                                                                             \
  do {                                                                                                               \
    sn_rt_status tried = (check);                                                                                    \
    if (tried) return tried;                                                                                         \
  } while (0)

// The section must have exactly this size; _if_there: or be missing.
sn_rt_status sn_rt_need(sn_rt_checker *c, sn_rt_section_id id, uint64_t size);
sn_rt_status sn_rt_need_if_there(sn_rt_checker *c, sn_rt_section_id id, uint64_t size);
// The section must be present, with a whole number of items of this size.
sn_rt_status sn_rt_need_items(sn_rt_checker *c, sn_rt_section_id id, uint64_t item_size);
// The section must have this many floats, all finite; _if_there: or be missing.
sn_rt_status sn_rt_need_floats(sn_rt_checker *c, sn_rt_section_id id, uint64_t count);
sn_rt_status sn_rt_need_floats_if_there(sn_rt_checker *c, sn_rt_section_id id, uint64_t count);

// For a section of the right size, or a missing one: all floats or doubles must be finite; all numbers of `bytes` bytes
// (1, 2 or 4) must be less than `limit`, the number of `what`.
sn_rt_status sn_rt_check_floats(sn_rt_checker *c, sn_rt_section_id id);
sn_rt_status sn_rt_check_doubles(sn_rt_checker *c, sn_rt_section_id id);
sn_rt_status sn_rt_check_below(sn_rt_checker *c, sn_rt_section_id id, uint32_t bytes, uint32_t limit,
                               const char *what);
// uint32[count + 1]: starts at 0, does not decrease, ends at `total`.
sn_rt_status sn_rt_check_starts(sn_rt_checker *c, sn_rt_section_id id, uint64_t count, uint64_t total);

int sn_rt_all_finite(const float *values, uint64_t count);

// ---- the parts of a model --------------------------------------------------------------------------------------------

sn_rt_status sn_rt_check_joints(sn_rt_checker *c);     // joint.names, joint.parents, joint.rest
sn_rt_status sn_rt_check_values(sn_rt_checker *c);     // value.names, value.ranges
sn_rt_status sn_rt_check_references(sn_rt_checker *c); // joint.reference
sn_rt_status sn_rt_check_skin(sn_rt_checker *c, uint32_t group_count, uint32_t *shared_blocks);
sn_rt_status sn_rt_check_mesh(sn_rt_checker *c); // mesh.triangles, shade.start, shade.fans
sn_rt_status sn_rt_check_correct(sn_rt_checker *c);
// correct.terms, and a pose space that sums them; both add to the used numbers of correct.mix.
sn_rt_status sn_rt_check_term_group(const sn_rt_checker *c, const sn_rt_terms *t, uint32_t index, uint64_t *numbers);
sn_rt_status sn_rt_check_terms(sn_rt_checker *c, uint64_t *numbers);
sn_rt_status sn_rt_check_sum(sn_rt_checker *c, const sn_rt_field *f, uint32_t index, uint64_t *numbers);

// beside_last of a checked model: loads must not read past the last vertex.
uint64_t sn_rt_find_beside_last(const sn_rt_model *model);

#endif
