// SPDX-License-Identifier: MIT
// Tangents in terms of vectors, after kernel_template.h and shade_template.h: a pass of its own over the blocks, when their normals are
// there, so that the other loops know nothing of them.

// x y z of `width` tangents of a block, and their handedness.
static SN_RT_INLINE vf3 load_tangents(const char *block, uint32_t bits, int lane, vf *hand) {
  if (bits != SN_RT_PACKED_BITS) {
    const float *soa = (const float *)(const void *)block + lane;
    *hand = vf_load(soa + 3 * SN_RT_LANES);
    return load3(soa);
  }
  float signs[width];
  uint32_t left = ((const uint8_t *)block)[SN_RT_PACKED_NORMALS] >> lane;
  for (int l = 0; l < width; l++) signs[l] = left >> l & 1 ? -1.0f : 1.0f;
  *hand = vf_load(signs);
  return load_directions((const uint8_t *)block + 3 * lane);
}

// A group's palette entries.
typedef struct tangent_blend {
  mixture matrices, quats;
} tangent_blend;

static SN_RT_INLINE const float *tangent_matrices(const sn_rt_job *job, sn_rt_turning turning) {
  return turning == SN_RT_TURN_LINEAR ? job->scratch.matrices : job->scratch.stretches;
}

static SN_RT_INLINE void mix_tangents(const sn_rt_job *job, const sn_rt_group *g, uint32_t bits,
                                      sn_rt_turning turning, int influences, int compare, tangent_blend *out) {
  uint32_t signs[SN_RT_MAX_INFLUENCES];
  if (turning != SN_RT_TURN_RIGID)
    mix(job, g, tangent_matrices(job, turning), 16, bits, influences, NULL, &out->matrices);
  if (turning == SN_RT_TURN_LINEAR) return;
  hemispheres(job, g, compare, influences, signs);
  mix(job, g, job->scratch.dualquats, 8, bits, influences, signs, &out->quats);
}

static SN_RT_INLINE void tangent_blocks(const sn_rt_job *job, const sn_rt_group *g, uint32_t bits,
                                        sn_rt_turning turning, int loose, int influences) {
  int compare = !(*job->scratch.flags & SN_RT_SIGNED);
  tangent_blend shared;
  if (!loose) mix_tangents(job, g, bits, turning, influences, compare, &shared);
  vf total = vf_set(job->weight_total), unit_weight = vf_set(job->weight_unit);
  size_t size = sn_rt_tangent_bytes(bits == SN_RT_PACKED_BITS);
  const char *tangents = (const char *)job->skin.tangents + g->first_block * size;
  cursor block = cursor_at(job, g, bits);
  for (int left = g->block_count; left > 0; left--, advance(&block, influences, bits, loose), tangents += size) {
    for (int lane = 0; lane < SN_RT_LANES; lane += width) {
      cursor at = from_lane(block, lane, bits, loose);
      vf b[12], q[8], w[SN_RT_MAX_INFLUENCES], hand;
      float weights[SN_RT_MAX_INFLUENCES][width];
      if (loose) {
        load_all_weights(at.weights, bits, influences, total, w);
        loose_weights(unit_weight, influences, w, weights);
      } else {
        load_shares(at.weights, bits, influences, w);
      }
      vf3 t = load_tangents(tangents, bits, lane, &hand), n;
      if (turning != SN_RT_TURN_RIGID) {
        if (loose)
          blend_loose_matrices(tangent_matrices(job, turning), at.tuples, influences, weights, b);
        else
          blend_shared(&shared.matrices, 3, 3, influences, w, b);
        t = transform_vector(b, t);
      }
      if (turning != SN_RT_TURN_LINEAR) {
        if (loose)
          blend_loose(job->scratch.dualquats, 8, compare, at.tuples, influences, weights, q);
        else
          blend_shared(&shared.quats, 1, 4, influences, w, q);
        t = rotate_by(q, two_over_square(q), t);
      }
      const char *places[width];
      for (int l = 0; l < width; l++) places[l] = job->normals + at.lanes[l] * job->normal_stride;
      vf_gather(places, &n.x, &n.y, &n.z);
      vf along = dot3(n, t);
      t = unit((vf3){vf_fnma(along, n.x, t.x), vf_fnma(along, n.y, t.y), vf_fnma(along, n.z, t.z)});
      vf_scatter4(t.x, t.y, t.z, hand, job->tangents, at.lanes, job->tangent_stride);
    }
  }
}

static SN_RT_INLINE void tangent_groups(const sn_rt_job *job, uint32_t bits, sn_rt_turning turning) {
  for (uint32_t index = job->first_group; index < job->last_group; index++) {
    const sn_rt_group *g = job->skin.groups + index;
    switch (loop_of(g, turning != SN_RT_TURN_LINEAR)) {
    case 0:
      tangent_blocks(job, g, bits, turning, 1, g->influences);
      break;
    case 1:
      tangent_blocks(job, g, bits, turning, 0, 1);
      break;
    case 2:
      tangent_blocks(job, g, bits, turning, 0, 2);
      break;
    case 3:
      tangent_blocks(job, g, bits, turning, 0, 3);
      break;
    case 4:
      tangent_blocks(job, g, bits, turning, 0, 4);
      break;
    default:
      tangent_blocks(job, g, bits, turning, 0, g->influences);
      break;
    }
  }
}

// Only linear blends of floats and of packed numbers have loops of their own.
static void tangents_floats(const sn_rt_job *job) { tangent_groups(job, 32, SN_RT_TURN_LINEAR); }
static void tangents_packed(const sn_rt_job *job) { tangent_groups(job, SN_RT_PACKED_BITS, SN_RT_TURN_LINEAR); }

static void tangents(const sn_rt_job *job) {
  int kind = job->turning == SN_RT_TURN_LINEAR ? kind_of(job) : 2;
  if (kind == 0)
    tangents_floats(job);
  else if (kind == 1)
    tangents_packed(job);
  else
    tangent_groups(job, job->skin.weight_bits, job->turning);
}
