// SPDX-License-Identifier: MIT
// Part of kernel_template.h: tangents, in a separate pass over the blocks after the normals, so that they do not slow down the
// other loops.

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

static SN_RT_INLINE void tangent_blocks(const sn_rt_job *job, const sn_rt_group *g, form f) {
  sn_rt_rotating rotation = f.any ? job->tangent_rotation : SN_RT_ROTATE_LINEAR;
  mixture mixed, rotations;
  const float *palette = rotation == SN_RT_ROTATE_LINEAR ? job->scratch.matrices : job->scratch.stretches;
  source matrices = {palette, 16, 3, 3, 0, &mixed}, quats = quats_of(job, 1, &rotations);
  if (rotation != SN_RT_ROTATE_RIGID) mix(job, g, f, matrices, &mixed);
  if (rotation != SN_RT_ROTATE_LINEAR) mix(job, g, f, quats, &rotations);
  vf total = vf_set(job->weight_total), unit_weight = vf_set(job->weight_unit);
  size_t size = sn_rt_tangent_bytes(f.bits == SN_RT_PACKED_BITS);
  const char *tangents = (const char *)job->skin.tangents + g->first_block * size;
  cursor block = cursor_at(job, g, f.bits);
  for (int left = g->block_count; left > 0; left--, advance(&block, f), tangents += size) {
    for (int lane = 0; lane < SN_RT_LANES; lane += width) {
      cursor at = from_lane(block, lane, f);
      vf b[12], q[4], w[SN_RT_MAX_INFLUENCES], hand;
      float weights[SN_RT_MAX_INFLUENCES][width];
      load_lane_weights(at.weights, f, total, unit_weight, w, weights);
      vf3 t = load_tangents(tangents, f.bits, lane, &hand), n;
      if (rotation != SN_RT_ROTATE_RIGID) {
        blend(matrices, f, at.tuples, w, weights, b);
        t = transform_vector(b, t);
      }
      if (rotation != SN_RT_ROTATE_LINEAR) {
        blend(quats, f, at.tuples, w, weights, q);
        t = rotate_by(q, two_over_square(q), t);
      }
      const char *places[width];
      for (int l = 0; l < width; l++) places[l] = job->normals + at.lanes[l] * job->normal_stride;
      vf_gather(places, &n.x, &n.y, &n.z);
      vf along = dot3(n, t);
      t = normalise((vf3){vf_fnma(along, n.x, t.x), vf_fnma(along, n.y, t.y), vf_fnma(along, n.z, t.z)});
      vf_scatter4((vf[4]){t.x, t.y, t.z, hand}, job->tangents, at.lanes, job->tangent_stride);
    }
  }
}
