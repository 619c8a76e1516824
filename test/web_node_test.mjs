// SPDX-License-Identifier: MIT
// The package without a browser: what it exports, what it says about bad models, names of joints. test_web.sh makes what it uses.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { hostile } from './hostile_model.mjs';

const dir = process.env.SINEW_WEB_DIR, at = join(dir, 'site/node_modules/sinew-skin');
const core = await import(join(at, 'core.js')), { loadSinew, matchJoints, sanitiseName, webgpuRefuses } = core;

// Everything that the modules export has a type, and the other way round.
const typed = file => [...readFileSync(join(at, file), 'utf8').matchAll(/^export (?:class|function) (\w+)/gm)].map(m => m[1]).sort();
assert.deepEqual(Object.keys(core).sort(), typed('core.d.ts'));
const exported = readFileSync(join(at, 'index.js'), 'utf8').match(/export ?\{([^}]*)\}/)[1].split(',').map(n => n.trim()).filter(Boolean).sort();
assert.deepEqual(exported, [...typed('core.d.ts'), ...typed('index.d.ts')].sort());

// Helpers need no WebAssembly: they and what they import are a few kilobytes.
const helpers = readFileSync(join(at, 'helpers.js'), 'utf8'), imported = [...helpers.matchAll(/from ?"(\.\/[^"]+)"/g)].map(m => readFileSync(join(at, m[1]), 'utf8'));
assert.deepEqual(Object.keys(await import(join(at, 'helpers.js'))).sort(), typed('helpers.d.ts'));
assert.ok([helpers, ...imported].join('').length < 10000);

// lbs, dqs and helpers need the basic runtime alone, which has the same bits as the whole one: 150 kB gzipped with all the modules.
const modules = name => [name, ...[...readFileSync(join(at, name), 'utf8').matchAll(/from ?"\.\/([^"]+)"/g)].flatMap(m => modules(m[1]))];
const sizes = [...new Set([...modules('index.js'), 'runtime-basic.js'])].map(name => gzipSync(readFileSync(join(at, name)), { level: 9 }).length);
const gzipped = sizes.reduce((sum, size) => sum + size, 0);
assert.ok(gzipped <= 150000, `${gzipped} bytes gzipped`);
const basic = await core.sinewRuntime('basic'), wholeRuntime = await core.sinewRuntime('whole');
const move = model => ({
  joints: Float32Array.from({ length: 12 * model.info.jointCount }, (_, k) => (k % 12 % 5 === 0 ? 1 : 0) + 0.05 * Math.sin(k)),
  values: Float32Array.from({ length: model.info.valueCount }, (_, k) => 0.5 + 0.4 * Math.cos(k)),
});
for (const name of ['given', 'dqs', 'helpers', 'face', 'tangents']) {
  const bytes = readFileSync(join(dir, 'site', `${name}.sinew`)), model = await loadSinew(bytes), same = new core.SinewModel(wholeRuntime, bytes);
  assert.ok(model.rt === basic, `${name} runs in the basic runtime`);
  model.load(move(model)), same.load(move(model));
  assert.deepEqual(model.evaluate(), same.evaluate(), name);
  model.dispose(), same.dispose();
}
for (const [name, reason] of [['character', 'drive `rotreg`'], ['affine', 'drive `controls`'], ['terms', 'correct `rbf`']]) {
  const bytes = readFileSync(join(dir, 'site', `${name}.sinew`)), model = await loadSinew(bytes);
  assert.ok(model.rt === wholeRuntime, `${name} needs the whole runtime`);
  assert.throws(() => new core.SinewModel(basic, bytes), error => error.message.includes(reason));
  model.dispose();
}
assert.throws(() => core.sinewRuntime('small'), /basic or whole/);
// A file that is missing: status 404, or the page that servers of single-page applications send instead.
await assert.rejects(loadSinew(new Response('', { status: 404, statusText: 'Not Found' }), { name: 'a.sinew' }), /^Error: a.sinew: HTTP 404 Not Found: there is no such file/);
await assert.rejects(loadSinew(new Response('<!DOCTYPE html><title>App</title>'), { name: 'a.sinew' }), /a.sinew: the server sent a page of HTML/);
console.log(`ok in Node: lbs, dqs and helpers need ${(gzipped / 1000).toFixed(0)} kB gzipped`);

// Evaluations are those that are in the golden models.
for (const name of readdirSync(join(process.env.SINEW_SOURCE, 'test/golden')).filter(n => n.endsWith('.sinew'))) {
  const model = await loadSinew(readFileSync(join(dir, 'site', name)));
  model.load({ joints: model.section('test.joints', Float32Array) });
  const { positions } = model.evaluate(), wanted = model.section('test.positions', Float32Array);
  const off = positions.reduce((most, x, k) => Math.max(most, Math.abs(x - wanted[k])), 0);
  assert.ok(positions.length === wanted.length && off < 1e-5, `${name}: ${off} off`);
  assert.equal(model.evaluate().tangents, null);
  model.dispose();
  assert.throws(() => model.evaluate(), /disposed/);
}

// A packed model has the same triangles and nearly the same rest pose; the WebGPU kernels refuse it by name.
const [whole, packed] = await Promise.all(['character', 'character-packed'].map(name => loadSinew(readFileSync(join(dir, 'site', `${name}.sinew`)))));
assert.deepEqual(packed.triangles, whole.triangles);
assert.ok(packed.rest().positions.every((x, k) => Math.abs(x - whole.rest().positions[k]) < 1e-2), 'packed positions');
assert.equal(webgpuRefuses(whole), null);
assert.match(webgpuRefuses(packed), /pack\.\w+ is not known/);
whole.dispose(), packed.dispose();

// A renumbered model gives the same vertices in other places; its control points are vertices of the file.
const [asFile, blocks] = await Promise.all(['packed', 'blocks'].map(name => loadSinew(readFileSync(join(dir, 'site', `affine-${name}.sinew`))))), { order } = blocks;
assert.equal(asFile.order, null);
assert.deepEqual(Array.from(order).sort((a, b) => a - b), Array.from(order.keys()));
assert.ok(order.some((v, k) => v !== k), 'nothing was renumbered');
assert.deepEqual(blocks.restControls, asFile.restControls);
for (const model of [asFile, blocks]) model.load({ controls: asFile.restControls.map((x, k) => x + 0.01 * (k % 5)) });
const places = asFile.evaluate().positions.slice(), corners = asFile.triangles;
assert.ok(blocks.evaluate().positions.every((x, n) => x === places[3 * order[Math.floor(n / 3)] + n % 3]), 'positions of a renumbered model');
assert.ok(blocks.triangles.every((v, n) => order[v] === corners[n]), 'triangles of a renumbered model');
asFile.dispose(), blocks.dispose();

// Tangents: those of the file in the rest pose, at right angles to the normals in another; null where a model has none.
const turned = await loadSinew(readFileSync(join(dir, 'site/tangents.sinew'))), angle = 0.7, c = Math.cos(angle), s = Math.sin(angle);
const joints = [[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0], [c, -s, 0, 0, s, c, 0, 0, 0, 0, 1, 0]];
const atRest = turned.rest().tangents, pose = k => ({ joints: Float32Array.from({ length: 12 * turned.info.jointCount }, (_, n) => joints[k && n >= 12 ? 1 : 0][n % 12]) });
for (const k of [0, 1]) {
  turned.load(pose(k));
  const { normals: n, tangents: t } = turned.evaluate();
  assert.equal(t.length, 4 * turned.info.vertexCount);
  for (let i = 0; i < turned.info.vertexCount; i++) {
    assert.ok(Math.abs(Math.hypot(t[4 * i], t[4 * i + 1], t[4 * i + 2]) - 1) < 1e-4 && t[4 * i + 3] === -1, `tangent ${i}`);
    assert.ok(Math.abs(n[3 * i] * t[4 * i] + n[3 * i + 1] * t[4 * i + 1] + n[3 * i + 2] * t[4 * i + 2]) < 1e-4, `tangent ${i} and its normal`);
    assert.ok(k || [0, 1, 2].every(r => Math.abs(t[4 * i + r] - atRest[4 * i + r]) < 1e-4), `tangent ${i} at rest`);
  }
}
turned.dispose();

// Hostile models: cut off anywhere, or with any byte changed, they are refused with a message; nothing traps. What opens answers everything.
const hostileInput = ({ jointCount, controlCount, torqueCount, valueCount }) => ({ joints: new Float32Array(12 * jointCount), controls: new Float32Array(3 * controlCount), torques: new Float32Array(torqueCount), values: new Float32Array(valueCount) });
let refused = 0, tried = 0;
const attempt = async bytes => {
  tried++;
  try {
    const model = await loadSinew(bytes, { name: 'hostile' });
    model.load(hostileInput(model.info));
    model.evaluate(), model.palette(), model.values(), model.rest(), model.bytes(), webgpuRefuses(model);
    assert.ok(model.triangles.length === 3 * model.info.triangleCount && model.restControls.length === 3 * model.info.controlCount);
    assert.ok([model.jointRest, model.order].every(list => list === null || list.length > 0));
    for (let k = 0; k < model.info.valueCount; k++) model.valueRange(k);
    for (let k = 0; k < model.info.torqueCount; k++) model.torqueRange(k);
    model.dispose();
  } catch (error) {
    assert.match(error.message, /^hostile: \S+/, error.stack);
    assert.ok(!(error.cause instanceof WebAssembly.RuntimeError), error.message);
    refused++;
  }
};
const good = readFileSync(join(dir, 'site/character.sinew'));
for (let k = 0; k < 60; k++) await attempt(good.subarray(0, Math.floor(good.length * k / 60)));
const sections = Array.from({ length: good.readUInt32LE(12) }, (_, n) => [16, 24].map(o => Number(good.readBigUInt64LE(128 + 40 * n + o))));
const read = place => place < 128 + 40 * sections.length || sections.some(([at, size]) => place >= at && place < at + size);
for (let k = 0; k < 300; k++) {
  let place = k < 200 ? k : Math.floor(good.length * (k - 200) / 100);
  while (!read(place)) place--; // between sections there are unused bytes
  const bad = Buffer.from(good);
  bad[place] ^= 1 + k % 255;
  await attempt(bad);
}
assert.equal(refused, tried, `${tried - refused} of ${tried} hostile models were taken`); // every byte that is read is under a checksum
// The same with checksums that fit: refused, or harmless. Models of every kind, packed ones, helpers and values among them.
for (const [name, rounds] of [['character', 300], ...['character-packed', 'affine', 'affine-blocks', 'dqs', 'helpers', 'face', 'tangents', 'terms'].map(other => [other, 100])]) {
  const bytes = readFileSync(join(dir, `site/${name}.sinew`));
  for (let k = 0; k < rounds; k++) await attempt(hostile(bytes, k));
}
assert.ok(refused < tried, 'checksums that fit are taken');
// Input of another size, and none, is refused by name.
const whole2 = await loadSinew(good), { jointCount } = whole2.info;
for (const input of [undefined, {}, { joints: [] }, { joints: new Float32Array(12 * jointCount + 1) }, { joints: new Float32Array(12 * jointCount - 12) }]) {
  assert.throws(() => whole2.load(input), new RegExp(`takes ${12 * jointCount} numbers as joints, not`));
}
assert.throws(() => whole2.bind([1, 2, 3]), /numbers as joints, not 3/);
whole2.dispose();
for (const source of [null, undefined, 42, {}, new Uint8Array(), new ArrayBuffer(200)]) await assert.rejects(loadSinew(source), error => /^[^:]+: \S+/.test(error.message));
await assert.rejects(loadSinew('data:text/plain,not a model, but long enough to be one if it began like one'), /too few for a model/);

assert.equal(sanitiseName('mixamorig:Left Arm.001'), 'mixamorigLeft_Arm001');
assert.deepEqual(matchJoints(['a:b', 'c'], [['c'], ['ab']]), [1, 0]);
assert.deepEqual(matchJoints(['ab', 'c'], [['c'], ['a:b']]), [1, 0]);
assert.deepEqual(matchJoints(['a:b', 'ab'], [['ab'], ['a:b', 'ab_1']]), [1, 0], 'the own spelling first');
assert.throws(() => matchJoints(['a', 'b'], [['a']]), /no joint called “b”; it has “a”/);
assert.throws(() => matchJoints(['a:b', 'a.b'], [['ab']]), /differ only in characters/);
console.log(`ok in Node: types, golden models, ${refused} of ${tried} hostile models refused, the others harmless, names`);

// The table of docs/guide/three.md has everything that the types have.
const guide = readFileSync(join(process.env.SINEW_SOURCE, 'docs/guide/three.md'), 'utf8').split('## The interface')[1].split('\n').filter(line => line.startsWith('|')).join('\n');
const members = file => [...readFileSync(join(at, file), 'utf8').matchAll(/^export (?:class|function) (\w+)|^ {2}(?:readonly |static )?(\w+)(?:\??:|\()/gm)]
  .map(m => m[1] ?? m[2]).filter(name => !/^(constructor|create|isSinewMesh|positions|normals|tangents|batch|joints|\w+(Count|Name)|shade|maxInfluences|weightBits|name|fetch|wasm|version|drivers|helpers|terms|shapes)$/.test(name));
for (const file of ['core.d.ts', 'index.d.ts', 'helpers.d.ts']) {
  for (const name of members(file)) assert.ok(new RegExp(`\\b${name}\\b`).test(guide), `docs/guide/three.md has no ${name}, which ${file} has`);
}
