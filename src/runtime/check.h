// SPDX-License-Identifier: MIT
// What the checks of a model's sections share. A section that no check asks for must not be there: see sn_rt_open.
#ifndef SINEW_RUNTIME_CHECK_H
#define SINEW_RUNTIME_CHECK_H

#include <inttypes.h>

#include "runtime/internal.h"

typedef struct sn_rt_checker {
  const sn_rt_model *model; // its info is there, but for the figures of memory and work
  uint64_t used;            // a bit for every section that was asked for
  sn_rt_error *error;
} sn_rt_checker;

#define SN_RT_BAD(c, ...) sn_rt_fail((c)->error, SN_RT_BAD_MODEL, __VA_ARGS__)

// The section is there with exactly this size; _if_there: or it is missing.
sn_rt_status sn_rt_need(sn_rt_checker *c, sn_rt_section_id id, uint64_t size);
sn_rt_status sn_rt_need_if_there(sn_rt_checker *c, sn_rt_section_id id, uint64_t size);
// The section is there, a whole number of items of this size.
sn_rt_status sn_rt_need_items(sn_rt_checker *c, sn_rt_section_id id, uint64_t item_size);
// The section is there with this many floats, all of them finite; _if_there: or it is missing.
sn_rt_status sn_rt_need_floats(sn_rt_checker *c, sn_rt_section_id id, uint64_t count);
sn_rt_status sn_rt_need_floats_if_there(sn_rt_checker *c, sn_rt_section_id id, uint64_t count);

// Of a section whose size is right, or that is not there: all its floats or doubles are finite; all its numbers of
// `bytes` bytes (1, 2 or 4) are less than `limit`, the number of `what` there are.
sn_rt_status sn_rt_check_floats(sn_rt_checker *c, sn_rt_section_id id);
sn_rt_status sn_rt_check_doubles(sn_rt_checker *c, sn_rt_section_id id);
sn_rt_status sn_rt_check_below(sn_rt_checker *c, sn_rt_section_id id, uint32_t bytes, uint32_t limit,
                               const char *what);
// uint32[count + 1]: from 0 on, none less than the one before, the last is `total`.
sn_rt_status sn_rt_check_starts(sn_rt_checker *c, sn_rt_section_id id, uint64_t count, uint64_t total);

int sn_rt_all_finite(const float *values, uint64_t count);

// ---- the parts of a model --------------------------------------------------------------------------------------------

sn_rt_status sn_rt_check_joints(sn_rt_checker *c);     // joint.names, joint.parents, joint.rest
sn_rt_status sn_rt_check_values(sn_rt_checker *c);     // value.names, value.ranges
sn_rt_status sn_rt_check_references(sn_rt_checker *c); // joint.reference
sn_rt_status sn_rt_check_skin(sn_rt_checker *c, uint32_t group_count, uint32_t *shared_blocks);
sn_rt_status sn_rt_check_mesh(sn_rt_checker *c); // mesh.triangles, shade.start, shade.fans
sn_rt_status sn_rt_check_correct(sn_rt_checker *c);
// correct.terms, and a pose space that is a sum of them; both add to the numbers of correct.mix that have a use.
sn_rt_status sn_rt_check_term_group(const sn_rt_checker *c, const sn_rt_terms *t, uint32_t index, uint64_t *numbers);
sn_rt_status sn_rt_check_terms(sn_rt_checker *c, uint64_t *numbers);
sn_rt_status sn_rt_check_sum(sn_rt_checker *c, const sn_rt_field *f, uint32_t index, uint64_t *numbers);

// beside_last of a model whose sections are good: after the last vertex nothing may be read.
uint64_t sn_rt_find_beside_last(const sn_rt_model *model);

#endif
