// SPDX-License-Identifier: MIT
// A pose that can be touched: skinning matrices (rest pose to pose, 3x4 row-major) of a tree of joints.

export class Pose {
  // parents[j] is -1 for a root; rest holds joint-to-world matrices of the rest pose.
  constructor(parents, rest) {
    this.parents = parents, this.rest = rest;
    this.count = parents.length;
    this.matrices = new Float64Array(12 * this.count);
    this.children = parents.map(() => []);
    parents.forEach((p, j) => p >= 0 && this.children[p].push(j));
  }

  restPoint(j) { return [3, 7, 11].map(k => this.rest[12 * j + k]); }

  // Where joint j takes a point of the rest pose.
  apply(j, p) {
    const m = this.matrices, o = 12 * j;
    return [0, 4, 8].map(r => m[o + r] * p[0] + m[o + r + 1] * p[1] + m[o + r + 2] * p[2] + m[o + r + 3]);
  }

  position(j) { return this.apply(j, this.restPoint(j)); }

  // The joint's own axes now, as unit vectors.
  axes(j) {
    const m = this.matrices, o = 12 * j;
    return [0, 1, 2].map(c => {
      const d = [0, 1, 2].map(k => this.rest[o + 4 * k + c]);
      const v = [0, 4, 8].map(r => m[o + r] * d[0] + m[o + r + 1] * d[1] + m[o + r + 2] * d[2]);
      const length = Math.hypot(...v) || 1;
      return v.map(x => x / length);
    });
  }

  subtree(j, out = []) {
    out.push(j);
    for (const child of this.children[j]) this.subtree(child, out);
    return out;
  }

  // Turns joint j and all below it about the joint's place.
  rotate(j, axis, angle) {
    const c = this.position(j), q = rotation(axis, angle), m = this.matrices;
    for (const k of this.subtree(j)) {
      const old = m.slice(12 * k, 12 * k + 12);
      for (let n = 0; n < 3; n++) old[4 * n + 3] -= c[n];
      for (let r = 0; r < 3; r++) {
        for (let col = 0; col < 4; col++) {
          m[12 * k + 4 * r + col] = q[3 * r] * old[col] + q[3 * r + 1] * old[4 + col] + q[3 * r + 2] * old[8 + col];
        }
        m[12 * k + 4 * r + 3] += c[r];
      }
    }
  }

  // Joints that move `end` when it is dragged: up to `most` of them, the nearest first. The root, which would rotate the
  // whole character, only where there are fewer than two others.
  chain(end, most = 3) {
    const out = [];
    for (let j = end.tip ? end.joint : this.parents[end.joint]; j >= 0 && out.length < most; j = this.parents[j]) {
      if (this.parents[j] < 0 && out.length >= 2) break;
      out.push(j);
    }
    return out;
  }

  // Cyclic coordinate descent: rotates the joints of the chain until `end` (a point of the rest pose that moves with a
  // joint) is near `target`. Small steps keep the chain from folding up.
  pull(end, target, rounds = 12, step = 0.25) {
    const chain = this.chain(end);
    for (let round = 0; round < rounds; round++) {
      for (const j of chain) {
        const c = this.position(j), e = this.apply(end.joint, end.point);
        const a = e.map((x, k) => x - c[k]), b = target.map((x, k) => x - c[k]);
        const axis = cross(a, b), sine = Math.hypot(...axis);
        const angle = Math.atan2(sine, a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
        if (sine > 1e-12) this.rotate(j, axis.map(x => x / sine), Math.min(angle, step));
      }
    }
  }
}

export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

// Rotation by `angle` about a unit axis (Rodrigues), 3x3 row-major.
function rotation([x, y, z], angle) {
  const s = Math.sin(angle), c = Math.cos(angle), d = 1 - c;
  return [c + x * x * d, x * y * d - z * s, x * z * d + y * s, y * x * d + z * s, c + y * y * d, y * z * d - x * s,
    z * x * d - y * s, z * y * d + x * s, c + z * z * d];
}
