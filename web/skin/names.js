// SPDX-License-Identifier: MIT
// Joints by name. three.js takes the characters of its track syntax out of names ("mixamorig:Hips" becomes "mixamorigHips"), so a
// model and a skeleton may spell the same joint in two ways.

export const sanitiseName = name => name.replace(/\s/g, '_').replace(/[[\].:/]/g, '');

const quoted = (list, most = 6) => list.slice(0, most).map(n => `“${n}”`).join(', ') + (list.length > most ? `, … (${list.length} in all)` : '');

// For every joint of `wanted` the number of its namesake in `given`, where each item is a list of the names it goes by, the
// best first. An exact spelling comes before one that is the same when sanitised. Throws where a joint has none.
export function matchJoints(wanted, given) {
  const spelt = new Map(), plain = new Map();
  const note = (map, name, k) => { if (!map.has(name)) map.set(name, k); };
  const most = given.reduce((n, names) => Math.max(n, names.length), 0);
  for (let rank = 0; rank < most; rank++) given.forEach((names, k) => names[rank] !== undefined && note(spelt, names[rank], k));
  for (let rank = 0; rank < most; rank++) given.forEach((names, k) => names[rank] !== undefined && note(plain, sanitiseName(names[rank]), k));
  const found = wanted.map(name => spelt.get(name) ?? plain.get(sanitiseName(name)));
  const missing = wanted.filter((_, k) => found[k] === undefined);
  if (missing.length) {
    throw new Error(`the skeleton has no joint called ${quoted(missing)}; it has ${given.length ? quoted(given.map(names => names[0])) : 'none'}`);
  }
  const twice = wanted.find((_, k) => found.indexOf(found[k]) !== k);
  if (twice !== undefined) throw new Error(`two joints of the model are ${quoted([twice])} of the skeleton: their names differ only in characters that three.js drops`);
  return found;
}
