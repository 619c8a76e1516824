// SPDX-License-Identifier: MIT
// Values per vertex that can be shown as colours. `values` gives one number from 0 to 1 per vertex, or null where the
// model has nothing of the kind; `label` and `ends` are for the legend.

function weightsOf(entry, bone) {
  const { bones, weights } = entry.model.rest(), out = new Float32Array(weights.length / 8);
  for (let k = 0; k < weights.length; k++) if (bones[k] === bone) out[k >> 3] += weights[k];
  return out;
}

export const fields = {
  weights: {
    title: 'Weights',
    applies: () => true,
    values: (entry, state) => weightsOf(entry, Math.min(state.bone, entry.bones.length - 1)),
    label: (entry, state) => `Weight of ${entry.bones[state.bone] ?? 'the bone'}`,
    ends: ['0', '1'],
  },
};
