// SPDX-License-Identifier: MIT
// Helper joints of a character that `sinew export --to three` wrote, driven in plain JavaScript: no model, no WebAssembly.
import { matchJoints } from './names.js';

const times = (a, b) => [
  a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
  a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]];

// The nine terms of a driver whose joint has the local rotation q: of its rotation vector minus that of the rest pose.
function termsOf(driver, q) {
  const r = times(times(driver.before, q), driver.after), sign = r[3] < 0 ? -1 : 1, sine = Math.hypot(r[0], r[1], r[2]);
  const factor = sign * (sine > 1e-6 ? 2 * Math.atan2(sine, Math.abs(r[3])) / sine : 2);
  const [x, y, z] = driver.rest.map((rest, c) => factor * r[c] - rest);
  return [x, y, z, x * x, x * y, x * z, y * y, y * z, z * z];
}

// Where the helpers' nodes are in their parents': [{translation, rotation, scale}], for one local rotation [x, y, z, w] per driver of
// the table. `scale` is the same along all axes.
export function evaluateHelpers(table, rotations) {
  const terms = table.drivers.map((driver, k) => termsOf(driver, rotations[k]));
  return table.helpers.map(helper => {
    const sum = [0, 0, 0, 0, 0, 0, 0];
    for (const { driver, mix } of helper.functions) mix.forEach((row, k) => row.forEach((x, c) => { sum[c] += terms[driver][k] * x; }));
    const [tx, ty, tz, rx, ry, rz, grown] = sum.map((x, c) => Math.min(Math.max(x, helper.low[c]), helper.high[c]));
    const length = Math.hypot(rx / 2, ry / 2, rz / 2, 1), rest = helper.rotation;
    const moved = times(times(rest, [tx, ty, tz, 0]), [-rest[0], -rest[1], -rest[2], rest[3]]);
    return {
      translation: helper.translation.map((x, c) => x + moved[c]),
      rotation: times(rest, [rx / 2 / length, ry / 2 / length, rz / 2 / length, 1 / length]),
      scale: 1 + grown,
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
// Call update() after the mixer's.
export function driveHelpers(gltf, table = gltf.userData?.sinew) {
  if (table?.version !== 1) throw new Error('no driver table: write the character with sinew export --to three, or pass the table');
  const nodes = [];
  gltf.scene.traverse(object => nodes.push(object));
  const names = nodes.map(object => [object.userData.name, object.name].filter(name => name !== undefined));
  const find = wanted => matchJoints(wanted, names).map(k => nodes[k]);
  const drivers = find(table.drivers.map(driver => driver.joint)), helpers = find(table.helpers.map(helper => helper.name));
  const morphed = nodes.filter(object => table.shapes?.some(({ name }) => object.morphTargetDictionary?.[name] !== undefined));
  const update = () => {
    const rotations = drivers.map(joint => joint.quaternion.toArray());
    evaluateHelpers(table, rotations).forEach(({ translation, rotation, scale }, k) => {
      helpers[k].position.fromArray(translation), helpers[k].quaternion.fromArray(rotation), helpers[k].scale.setScalar(scale);
    });
    if (morphed.length) evaluateShapes(table, rotations).forEach((weight, k) => {
      for (const mesh of morphed) mesh.morphTargetInfluences[mesh.morphTargetDictionary[table.shapes[k].name]] = weight;
    });
  };
  update();
  return { table, update };
}
