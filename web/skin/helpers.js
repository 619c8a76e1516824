// SPDX-License-Identifier: MIT
// Helper joints of a character that `sinew export --to three` wrote, driven in plain JavaScript: no model, no WebAssembly.
import { matchJoints } from './names.js';

const times = (a, b) => [
  a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
  a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]];

// The nine terms of a driver whose joint has the local rotation q: of its rotation vector minus that of the rest pose. The term of a
// value: where it is between low and high, from 0 to 1.
function termsOf(driver, q) {
  if (driver.value !== undefined) return [(Math.min(Math.max(q, driver.low), driver.high) - driver.low) / (driver.high - driver.low)];
  const r = times(times(driver.before, q), driver.after), sign = r[3] < 0 ? -1 : 1, sine = Math.hypot(r[0], r[1], r[2]);
  const factor = sign * (sine > 1e-6 ? 2 * Math.atan2(sine, Math.abs(r[3])) / sine : 2);
  const [x, y, z] = driver.rest.map((rest, c) => factor * r[c] - rest);
  return [x, y, z, x * x, x * y, x * z, y * y, y * z, z * z];
}

const rotated = (q, v) => times(times(q, [...v, 0]), [-q[0], -q[1], -q[2], q[3]]).slice(0, 3);

// What products of values add to a helper's matrix: four columns.
function addedBy(helper, terms) {
  const sum = Array(9).fill(0);
  for (const { drivers, mix } of helper.products) {
    const factor = drivers.reduce((product, d) => product * terms[d][0], 1);
    mix.forEach((x, c) => { sum[c] += factor * x; });
  }
  const [tx, ty, tz, rx, ry, rz, sx, sy, sz] = sum;
  return [[sx, rz, -ry], [-rz, sy, rx], [ry, -rx, sz], [tx, ty, tz]].map(column => rotated(helper.rotation, column));
}

// Where the helpers' nodes are in their parents': [{translation, rotation, scale, added}], for one local rotation [x, y, z, w] or value per
// driver of the table. `scale` is the same along all axes. A node with `added`, four columns of three, has the matrix of the others plus these.
export function evaluateHelpers(table, inputs) {
  const terms = table.drivers.map((driver, k) => termsOf(driver, inputs[k]));
  return table.helpers.map(helper => {
    const sum = [0, 0, 0, 0, 0, 0, 0];
    for (const { driver, mix } of helper.functions) mix.forEach((row, k) => row.forEach((x, c) => { sum[c] += terms[driver][k] * x; }));
    const [tx, ty, tz, rx, ry, rz, grown] = sum.map((x, c) => Math.min(Math.max(x, helper.low[c]), helper.high[c]));
    const length = Math.hypot(rx / 2, ry / 2, rz / 2, 1), rest = helper.rotation;
    const moved = rotated(rest, [tx, ty, tz]);
    return {
      translation: helper.translation.map((x, c) => x + moved[c]),
      rotation: times(rest, [rx / 2 / length, ry / 2 / length, rz / 2 / length, 1 / length]),
      scale: 1 + grown,
      ...(helper.products && { added: addedBy(helper, terms) }),
    };
  });
}

// The weights of the table's shapes (morph targets), for one local rotation [x, y, z, w] per driver.
export function evaluateShapes(table, rotations) {
  const vectors = table.drivers.map((driver, k) => termsOf(driver, rotations[k]));
  const terms = (table.terms ?? []).map(({ drivers, centres, width }) => {
    const [p, q] = drivers.map(d => vectors[d]);
    if (centres) return centres.map(c => Math.exp(-((p[0] - c[0]) ** 2 + (p[1] - c[1]) ** 2 + (p[2] - c[2]) ** 2) / (2 * width * width)));
    return q ? p.map((_, k) => p[Math.floor(k / 3)] * q[k % 3]) : p;
  });
  return (table.shapes ?? []).map(({ functions }) => functions.reduce((sum, f) => f.mix.reduce((s, x, k) => s + x * terms[f.terms][k], sum), 0));
}

// Drives the helper joints and shapes of a loaded character: gltf as GLTFLoader gives it, or { scene } with a clone of its scene and the table.
// Call update() after the mixer's. Named values are set in `values`.
export function driveHelpers(gltf, table = gltf.userData?.sinew) {
  if (table?.version !== 1) throw new Error('no driver table: write the character with sinew export --to three, or pass the table');
  const nodes = [];
  gltf.scene.traverse(object => nodes.push(object));
  const names = nodes.map(object => [object.userData.name, object.name].filter(name => name !== undefined));
  const find = wanted => matchJoints(wanted, names).map(k => nodes[k]);
  const drivers = table.drivers.map(({ value, joint }) => (value === undefined ? find([joint])[0] : value));
  const helpers = find(table.helpers.map(helper => helper.name));
  const values = Object.fromEntries(table.drivers.filter(d => d.value !== undefined).map(d => [d.value, Math.min(Math.max(0, d.low), d.high)]));
  const morphed = nodes.filter(object => table.shapes?.some(({ name }) => object.morphTargetDictionary?.[name] !== undefined));
  const update = () => {
    const inputs = drivers.map(joint => joint.quaternion?.toArray() ?? values[joint]);
    evaluateHelpers(table, inputs).forEach(({ translation, rotation, scale, added }, k) => {
      const node = helpers[k];
      node.position.fromArray(translation), node.quaternion.fromArray(rotation), node.scale.setScalar(scale);
      if (!added) return;
      node.matrixAutoUpdate = false, node.updateMatrix(), node.matrixWorldNeedsUpdate = true;
      added.forEach((column, c) => column.forEach((x, r) => { node.matrix.elements[4 * c + r] += x; }));
    });
    if (morphed.length) evaluateShapes(table, inputs).forEach((weight, k) => {
      for (const mesh of morphed) mesh.morphTargetInfluences[mesh.morphTargetDictionary[table.shapes[k].name]] = weight;
    });
  };
  update();
  return { table, values, update };
}
