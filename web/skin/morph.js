// SPDX-License-Identifier: MIT
// Morph targets over a skin: displacements in the rest pose, rotated as the palette rotates the vertices that they move.
import { Matrix4, Vector3 } from 'three';

const influences = 8;

// Rows of the vertices that a target moves: [{vertices, moves, turns}], in the model's rest space.
function readTargets(geometry, toRest) {
  const { position: moves = [], normal: turns } = geometry.morphAttributes, { position, normal } = geometry.attributes, v = new Vector3();
  const delta = (target, base, i) => {
    v.fromBufferAttribute(target, i);
    if (!geometry.morphTargetsRelative) v.sub(new Vector3().fromBufferAttribute(base, i));
    return v.applyMatrix3(toRest.linear).toArray();
  };
  return moves.map((target, t) => {
    const out = { vertices: [], moves: [], turns: [] };
    for (let i = 0; i < target.count; i++) {
      const move = delta(target, position, i), turn = turns?.[t] && normal ? delta(turns[t], normal, i).map(x => x / toRest.scale) : [0, 0, 0];
      if ([...move, ...turn].every(x => x === 0)) continue;
      out.vertices.push(i), out.moves.push(...move), out.turns.push(...turn);
    }
    return out;
  });
}

export class Morphs {
  // mesh: has morphTargetInfluences; its vertices are those of `model` from `first` on. map: from its geometry to the rest pose.
  constructor(model, mesh, first, map) {
    const scale = Math.cbrt(Math.abs(new Matrix4().copy(map).determinant())) || 1;
    this.model = model, this.first = first;
    this.weights = mesh.morphTargetInfluences;
    this.targets = readTargets(mesh.geometry, { linear: linearPart(map), scale });
    this.seen = null;
  }

  // True where a weight changed since the last time.
  read() {
    const same = this.seen?.every((w, k) => w === this.weights[k]);
    if (!same) this.seen = Array.from(this.weights);
    return !same;
  }

  get active() { return this.weights.some(w => w !== 0); }

  // Adds the displacements to what was evaluated last.
  add(geometry) {
    if (!this.active) return;
    const { bones, weights } = this.model.rest(), palette = this.model.palette(), turned = new Map();
    const linear = i => { // sum_k w_k M_k of the vertex
      if (turned.has(i)) return turned.get(i);
      const m = new Float64Array(9), at = influences * (this.first + i);
      for (let k = at; k < at + influences; k++) {
        for (let n = 0; weights[k] && n < 9; n++) m[n] += weights[k] * palette[12 * bones[k] + 4 * Math.floor(n / 3) + n % 3];
      }
      turned.set(i, m);
      return m;
    };
    const { position, normal, tangent } = geometry.attributes;
    this.targets.forEach(({ vertices, moves, turns }, t) => {
      const w = this.weights[t];
      for (let k = 0; w && k < vertices.length; k++) {
        const m = linear(vertices[k]), at = 3 * vertices[k];
        for (let r = 0; r < 3; r++) {
          position.array[at + r] += w * (m[3 * r] * moves[3 * k] + m[3 * r + 1] * moves[3 * k + 1] + m[3 * r + 2] * moves[3 * k + 2]);
          normal.array[at + r] += w * (m[3 * r] * turns[3 * k] + m[3 * r + 1] * turns[3 * k + 1] + m[3 * r + 2] * turns[3 * k + 2]);
        }
      }
    });
    for (const i of turned.keys()) {
      const n = normal.array.subarray(3 * i, 3 * i + 3), length = Math.hypot(...n) || 1;
      for (let r = 0; r < 3; r++) n[r] /= length;
      if (tangent) straighten(n, tangent.array.subarray(4 * i, 4 * i + 3));
    }
  }
}

// A tangent at right angles to the normal, of unit length.
function straighten(n, t) {
  const along = n[0] * t[0] + n[1] * t[1] + n[2] * t[2];
  for (let r = 0; r < 3; r++) t[r] -= along * n[r];
  const length = Math.hypot(...t) || 1;
  for (let r = 0; r < 3; r++) t[r] /= length;
}

// Column by column, as Matrix3 keeps it.
function linearPart({ elements: e }) {
  return { elements: [e[0], e[1], e[2], e[4], e[5], e[6], e[8], e[9], e[10]] };
}
