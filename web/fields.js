// SPDX-License-Identifier: MIT
// Values per vertex that can be shown as colours. `values` gives one number per vertex, 0 and 1 being the ends of the
// legend; `applies` says whether a model has any.

// Sum over a vertex's influences of weight times what `value` gives for the bone.
function blended(entry, value) {
  const { bones, weights } = entry.model.rest(), out = new Float32Array(weights.length / 8);
  for (let k = 0; k < weights.length; k++) if (weights[k]) out[k >> 3] += weights[k] * value(bones[k]);
  return out;
}

// ---- rotational regression: the angle scale u (Wang 2007, figure 6) ------------------------------------------------

// u of every proxy bone; null for other drives.
function angleScales(entry) {
  if (entry.angleScales === undefined) {
    const { info } = entry.model, bones = info.paletteCount - info.jointCount;
    entry.angleScales = ['rotreg', 'torque'].includes(info.driveName) ? Float32Array.from({ length: bones }, (_, b) => entry.model.rt.x.sw_angle_scale(entry.model.handle, b)) : null;
  }
  return entry.angleScales;
}

export const fields = {
  weights: {
    title: 'Weights',
    applies: entry => entry.bones.length > 1,
    values: (entry, state) => blended(entry, bone => bone === Math.min(state.bone, entry.bones.length - 1) ? 1 : 0),
    label: (entry, state) => `Weight of ${entry.bones[state.bone] ?? 'the bone'}`,
    ends: ['0', '1'],
  },
  angle: {
    title: 'Angles',
    applies: entry => angleScales(entry) !== null,
    values: entry => {
      const scales = angleScales(entry), { info: { jointCount }, jointParents } = entry.model;
      // A joint's skin rotates with all of its angle; that of a root has no joint to follow.
      const own = bone => jointParents[bone] < 0 ? 0 : 1;
      return scales && blended(entry, bone => bone < jointCount ? own(bone) : scales[bone - jointCount]);
    },
    label: entry => `Angle scale u: rotation of the skin over that of the joint${entry.model.info.torqueCount ? ', at the least torque' : ''}`,
    ends: ['0', '0.5', '≥ 1'],
  },
};
