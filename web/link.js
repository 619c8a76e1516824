// SPDX-License-Identifier: MIT
// The view in the page's address, after '#': a link shows what its sender saw.
const plain = ['view', 'colour', 'tool'], numbers = ['frame', 'bone', 'scale', 'crowd', 'joint'], switches = ['wire', 'bones', 'proxies'];
const round = x => Number(x.toPrecision(5));

export function writeLink(viewer) {
  const { state, stage } = viewer, out = new URLSearchParams(), { position } = stage.camera, { target } = stage.controls;
  if (viewer.setNumber) out.set('set', viewer.setNumber);
  if (viewer.chosen) out.set('model', viewer.chosen.name);
  for (const key of [...plain, ...numbers]) out.set(key, state[key]);
  out.set('show', switches.filter(key => state[key]).join(' '));
  out.set('camera', [...position.toArray(), ...target.toArray()].map(round).join(' '));
  return `#${out}`;
}

// Settings of the address that the page has; anything else is left as it is.
export async function readLink(viewer, text) {
  const given = new URLSearchParams(text.replace(/^#/, ''));
  if (![...given.keys()].length) return;
  const set = Number(given.get('set') ?? 0);
  if (viewer.texts[set] && set !== viewer.setNumber) await viewer.openSet(set);
  const entry = viewer.entries.find(e => e.model && e.name === given.get('model')), change = {};
  if (entry) viewer.choose(entry.number);
  const number = key => given.has(key) && Number.isFinite(Number(given.get(key))) ? Number(given.get(key)) : undefined;
  if (viewer.viewChoices().includes(given.get('view'))) change.view = given.get('view');
  if (/^(plain|normals|weights|angle)$/.test(given.get('colour') ?? '') || (given.get('colour') === 'error' && viewer.truth)) change.colour = given.get('colour');
  if (/^(rotate|pull)$/.test(given.get('tool') ?? '')) change.tool = given.get('tool');
  if (number('bone') >= 0 && number('bone') < (viewer.chosen?.bones.length ?? 0)) change.bone = number('bone');
  if (number('scale') > 0) change.scale = number('scale');
  if (number('crowd') >= 1 && number('crowd') <= 1000) change.crowd = Math.floor(number('crowd'));
  if (number('joint') >= 0 && number('joint') < viewer.set.joints.length) change.joint = Math.floor(number('joint'));
  if (given.has('show')) for (const key of switches) change[key] = given.get('show').split(' ').includes(key);
  viewer.show(change);
  if (number('frame') !== undefined) viewer.goTo(Math.floor(number('frame')));
  const camera = (given.get('camera') ?? '').split(' ').map(Number);
  if (camera.length === 6 && camera.every(Number.isFinite)) viewer.stage.look(camera.slice(0, 3), camera.slice(3));
}
