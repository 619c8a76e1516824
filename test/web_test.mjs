// SPDX-License-Identifier: MIT
// The package in Chromium: examples/three and the tutorial of docs/guide/three.md. test_web.sh makes the site.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { extname, join } from 'node:path';
import { build } from 'esbuild';
import { launch } from '../tools/browser.mjs';

const dir = process.env.SINEW_WEB_DIR, source = process.env.SINEW_SOURCE, tolerance = 1e-5;
let browser = await launch(['--js-flags=--expose-gc']);
const types = { '.html': 'text/html', '.js': 'text/javascript', '.json': 'application/json' };
const extra = {}; // files of the site that are made here
const missing = new Set(), folders = [join(dir, 'site')]; // files that the server does not have; where it looks

// A page of the site: files of `dir`/site, with three.js from this tree. No console errors but those expected, no exceptions.
async function withPage(path, body, expected = null) {
  const context = await browser.newContext({ viewport: { width: 640, height: 480 } }), page = await context.newPage(), complaints = [];
  page.on('console', m => m.type() === 'error' && !expected?.test(m.text()) && complaints.push(m.text()));
  page.on('pageerror', e => complaints.push(e.message));
  await context.route('**/*', route => {
    const name = new URL(route.request().url()).pathname.slice(1), three = 'node_modules/three/';
    if (extra[name] !== undefined) return route.fulfill({ body: extra[name], contentType: types[extname(name)] ?? 'application/octet-stream' });
    if (name === 'favicon.ico') return route.fulfill({ status: 204 });
    if (missing.has(name)) return route.fulfill({ status: 404 });
    try {
      route.fulfill({ body: readFileSync(name.startsWith(three) ? join(source, name) : join(folders[0], name)), contentType: types[extname(name)] ?? 'application/octet-stream' });
    } catch {
      route.fulfill({ status: 404 });
    }
  });
  await page.goto(`https://sinew.test/${path}`);
  await body(page);
  assert.deepEqual(complaints, [], `${path}: console`);
  await context.close();
}

async function test(name, body) {
  const start = Date.now();
  await body();
  console.log(`ok ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
}

function pc2(name) {
  const bytes = readFileSync(join(dir, name)), count = bytes.readInt32LE(16), frames = bytes.readInt32LE(28), rate = bytes.readFloatLE(24);
  const all = new Float32Array(bytes.buffer.slice(bytes.byteOffset + 32, bytes.byteOffset + 32 + 12 * count * frames));
  return { count, frames, rate, all: Array.from(all) };
}

// In the page: how far characters are from the native frames, in diagonals; character k is at frame k.
const worst = (page, truth) => page.evaluate(async ({ count, frames, all }) => {
  const { characters, gltf } = await window.example, { duration } = gltf.animations[0], low = [1e9, 1e9, 1e9], high = [-1e9, -1e9, -1e9];
  for (let k = 0; k < 3 * count; k++) low[k % 3] = Math.min(low[k % 3], all[k]), high[k % 3] = Math.max(high[k % 3], all[k]);
  const diagonal = Math.hypot(...high.map((x, k) => x - low[k]));
  let most = 0;
  characters.forEach(({ mixer, skin }, k) => {
    const f = k % frames;
    mixer.setTime(f === frames - 1 ? duration - 1e-6 : f * duration / (frames - 1)); // a loop begins anew at its end
    skin.update();
    const mine = skin.meshes.flatMap(mesh => Array.from(mesh.geometry.attributes.position.array));
    if (mine.length !== 3 * count) throw new Error(`${mine.length / 3} vertices instead of ${count}`);
    for (let i = 0; i < mine.length; i += 3) most = Math.max(most, Math.hypot(...[0, 1, 2].map(c => mine[i + c] - all[3 * count * f + i + c])));
  });
  return most / diagonal;
}, truth);

await test('60 characters of examples/three have the native vertices', () => withPage('index.html?characters=60', async page => {
  await page.evaluate(async () => { (await window.example).paused = true; });
  const off = await worst(page, pc2('character.pc2'));
  assert.ok(off <= tolerance, `${off} diagonals off`);
  const seen = await page.evaluate(async () => {
    const { characters, renderer, scene, camera } = await window.example, [first] = characters;
    renderer.render(scene, camera);
    const names = []; first.root.traverse(o => o.isBone && names.push(o.name));
    return { names, meshes: first.skin.meshes.map(m => m.name), textured: first.skin.meshes.every(m => m.material.map && m.geometry.attributes.uv), calls: renderer.info.render.calls };
  });
  assert.ok(seen.names.every(n => !/[:. ]/.test(n)), 'three.js spells the joints without colons');
  assert.ok(seen.meshes.length === 2 && seen.textured && seen.calls >= 120, JSON.stringify(seen));
  await page.evaluate(async () => { (await window.example).paused = false; });
  await page.waitForFunction(() => /60 characters/.test(document.getElementById('says').textContent), null, { timeout: 60000 });
  await page.screenshot({ path: join(process.env.SINEW_BUILD, 'view/three.png') });
  console.log(`  ${off.toExponential(1)} diagonals off; ${await page.textContent('#says')}`);
}));

await test('one character: three.js itself as the witness, morph targets, SinewMesh, other models', () => withPage('index.html', async page => {
  const off = await page.evaluate(async () => {
    const THREE = await import('three'), { loadSinew, skinCharacter, SinewMesh } = await import('sinew-skin'), { clone } = await import('three/addons/utils/SkeletonUtils.js');
    const { gltf, scene } = await window.example, model = await loadSinew('given.sinew'), plain = clone(gltf.scene), root = clone(gltf.scene), worst = {};
    for (const r of [plain, root]) r.position.set(3, -2, 5), r.rotation.set(0.4, 0.3, 0.2), scene.add(r);
    const skin = skinCharacter(model, root), mixers = [plain, root].map(r => new THREE.AnimationMixer(r));
    for (const mixer of mixers) mixer.clipAction(gltf.animations[0]).play();
    const v = new THREE.Vector3(), skinned = [];
    plain.traverse(o => o.isSkinnedMesh && skinned.push(o));
    for (const [time, weight] of [[0, 0], [0.13, 0], [0.31, 0.7], [0.31, 0]]) {
      for (const mixer of mixers) mixer.setTime(time);
      scene.updateMatrixWorld(true);
      for (const m of skinned) m.skeleton.update(), m.morphTargetInfluences[0] = weight;
      for (const m of skin.meshes) m.morphTargetInfluences[m.morphTargetDictionary.grow] = weight;
      scene.updateMatrixWorld(true);
      for (const mine of skin.meshes) {
        const theirs = skinned.find(m => m.name === mine.name), p = mine.geometry.attributes.position, size = new THREE.Box3().setFromBufferAttribute(p).getSize(new THREE.Vector3()).length();
        for (let i = 0; i < p.count; i++) {
          theirs.getVertexPosition(i, v).applyMatrix4(theirs.matrixWorld);
          worst[`${time} ${weight}`] = Math.max(worst[`${time} ${weight}`] ?? 0, v.distanceTo(new THREE.Vector3().fromBufferAttribute(p, i).applyMatrix4(mine.matrixWorld)) / size);
        }
      }
    }
    // A separate skeleton with the raw names; the character is as before once the skin is removed.
    const before = root.children.length;
    skin.dispose();
    const again = [];
    root.traverse(o => o.isSkinnedMesh && again.push(o.name));
    const raw = new THREE.Skeleton(skinned[0].skeleton.bones.map(b => Object.assign(b.clone(false), { name: b.userData.name, userData: {} })), skinned[0].skeleton.boneInverses);
    const mesh = new SinewMesh(await loadSinew('dqs.sinew'), raw, new THREE.MeshNormalMaterial());
    const affine = new SinewMesh(await loadSinew('affine.sinew'), null), rest = affine.geometry.attributes.position.array.slice();
    affine.controls[0] += 0.2, affine.update();
    const moved = affine.geometry.attributes.position.array.some((x, k) => Math.abs(x - rest[k]) > 1e-3);
    let wrong = '';
    try { skinCharacter(await loadSinew('linear.sinew'), plain); } catch (error) { wrong = error.message; }
    let numbers = '';
    try { skinCharacter(await loadSinew('character-blocks.sinew'), plain); } catch (error) { numbers = error.message; }
    return { worst, before, again, vertices: mesh.geometry.attributes.position.count, moved, wrong, numbers };
  });
  for (const [when, value] of Object.entries(off.worst)) assert.ok(value < 2e-5, `at ${when}: ${value} of the size off what three.js has`);
  assert.equal(off.again.length, 2, 'taken off, the meshes are what they were');
  assert.ok(off.vertices > 600 && off.moved);
  assert.match(off.wrong, /no joint called “joint0”/);
  assert.match(off.numbers, /--order file/, off.numbers);
}));

await test('tangents of a file that has them follow the skin', () => withPage('index.html', async page => {
  const off = await page.evaluate(async () => {
    const THREE = await import('three'), { GLTFLoader } = await import('three/addons/loaders/GLTFLoader.js'), { loadSinew, skinCharacter } = await import('sinew-skin');
    const gltf = await new GLTFLoader().loadAsync('tangents.glb'), plain = await new GLTFLoader().loadAsync('character.glb'), model = await loadSinew('tangents.sinew');
    const materials = [];
    gltf.scene.traverse(o => o.isMesh && materials.push(o.material));
    const skin = skinCharacter(model, gltf), mixer = new THREE.AnimationMixer(gltf.scene);
    mixer.clipAction(gltf.animations[0]).play();
    let most = 0, moved = 0;
    for (const weight of [0, 0.8]) {
      mixer.setTime(0.7 * gltf.animations[0].duration);
      for (const mesh of skin.meshes) mesh.morphTargetInfluences?.fill(weight);
      skin.update(true);
      for (const { geometry: { attributes: { normal, tangent } } } of skin.meshes) {
        for (let i = 0; i < normal.count; i++) {
          const n = new THREE.Vector3().fromBufferAttribute(normal, i), t = new THREE.Vector4().fromBufferAttribute(tangent, i), along = new THREE.Vector3(t.x, t.y, t.z);
          most = Math.max(most, Math.abs(n.dot(along)), Math.abs(along.length() - 1), Math.abs(t.w + 1));
          moved = Math.max(moved, Math.abs(t.z)); // at rest they are at right angles to z
        }
      }
    }
    const without = skinCharacter(model, plain); // its meshes have none: three.js goes on deriving them
    return { most, moved, same: skin.meshes.every((mesh, k) => mesh.material === materials[k]), none: without.meshes.every(mesh => !mesh.geometry.attributes.tangent) };
  });
  assert.ok(off.most < 1e-4, `${off.most} off`);
  assert.ok(off.moved > 0.05 && off.same && off.none, JSON.stringify(off));
}));

await test('1,000 load and dispose cycles leave nothing behind', () => withPage('index.html', async page => {
  const grown = await page.evaluate(async () => {
    const { loadSinew, skinCharacter, SinewMesh, sinewRuntime } = await import('sinew-skin'), { renderer, scene, camera, gltf, characters } = await window.example;
    renderer.setAnimationLoop(null);
    const { material } = characters[0].skin.meshes[0];
    characters[0].skin.dispose();
    const bytes = await (await fetch('character.sinew')).arrayBuffer(), { x } = await sinewRuntime('whole'), seen = {};
    scene.add(gltf.scene);
    const look = async () => { // the collector needs a few rounds for what lies outside its heap
      renderer.render(scene, camera);
      for (let round = 0; round < 4; round++) await new Promise(done => setTimeout(done, 100)), window.gc();
      return { wasm: x.memory.buffer.byteLength, heap: performance.memory.usedJSHeapSize, ...renderer.info.memory };
    };
    for (let k = 1; k <= 1000; k++) {
      const model = await loadSinew(bytes), skin = k % 2 ? skinCharacter(model, gltf) : new SinewMesh(model, gltf.scene, material);
      if (k % 2 === 0) gltf.scene.add(skin);
      if (k % 100 < 2) renderer.render(scene, camera);
      skin.dispose(), model.dispose();
      if (k === 200) seen.before = await look();
    }
    seen.after = await look();
    return seen;
  });
  const { before, after } = grown;
  assert.equal(after.wasm, before.wasm, `the evaluator grew from ${before.wasm} to ${after.wasm} bytes`);
  assert.deepEqual([after.geometries, after.textures], [before.geometries, before.textures], 'geometries and textures on the GPU');
  assert.ok(after.heap < before.heap + 1e6, `JavaScript's heap grew from ${before.heap} to ${after.heap} bytes`);
  console.log(`  heap ${((after.heap - before.heap) / 1000).toFixed(0)} KB more after 800 cycles`);
}));

await test('in a worker', () => withPage('index.html', async page => {
  extra['worker.js'] = readFileSync(join(source, 'examples/three/worker.js'), 'utf8');
  const same = await page.evaluate(async () => {
    const { characters } = await window.example, { skin, mixer } = characters[0];
    (await window.example).paused = true;
    mixer.setTime(0.2), skin.update();
    const worker = new Worker('worker.js', { type: 'module' });
    const there = await new Promise((done, fail) => { worker.onmessage = e => done(e.data), worker.onerror = e => fail(new Error(e.message)), worker.postMessage({ url: 'character.sinew', joints: skin.follower.joints }); });
    worker.terminate();
    const here = skin.meshes.flatMap(mesh => Array.from(mesh.geometry.attributes.position.array));
    return here.length === there.length && here.every((x, k) => x === there[k]);
  });
  assert.ok(same, 'the same vertices as in the page');
}));

await browser.close();
browser = await launch(['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader']);

// Every drive that a crowd can have, for inputs that no clip has.
await test('WebGPU crowds have the vertices of WebAssembly, helper joints too', () => {
  extra['empty.html'] = readFileSync(join(dir, 'site/index.html'), 'utf8').replace(/<script type="module".*/, '');
  extra['crowd.js'] = readFileSync(join(source, 'examples/three/crowd.js'), 'utf8');
  return withPage('empty.html', async page => {
    const off = await page.evaluate(async names => {
      const { loadSinew, webgpuDevice } = await import('sinew-skin'), { makeCrowd } = await import('./crowd.js'), device = await webgpuDevice(), worst = {};
      if (!device) return null;
      for (const name of names) {
        const model = await loadSinew(`${name}.sinew`), { info } = model, input = k => ({
          joints: Float32Array.from({ length: 12 * info.jointCount }, (_, n) => (n % 12 % 5 === 0 ? 1 : 0) + 0.1 * k * Math.sin(n + k)),
          values: Float32Array.from({ length: info.valueCount }, (_, n) => 0.5 + 0.4 * Math.cos(n * k)), controls: model.restControls,
        });
        const crowd = await makeCrowd(device, model, [0, 1, 2].map(input)), { positions } = await crowd.read(), rest = model.rest().positions;
        const size = Math.max(...rest.map(Math.abs));
        worst[name] = 0;
        for (let k = 0; k < 3; k++) {
          model.load(input(k));
          model.evaluate().positions.forEach((x, n) => { worst[name] = Math.max(worst[name], Math.abs(x - positions[k][n]) / size); });
        }
        crowd.dispose(), model.dispose();
      }
      return worst;
    }, ['given', 'dqs', 'affine', 'helpers', 'face']);
    if (!off) return console.log('  skipped: this Chromium has no WebGPU');
    // Products with the kernel vector of control points cancel: another order of adding costs them a digit.
    for (const [name, value] of Object.entries(off)) assert.ok(value <= (name === 'affine' ? 2 : 1) * tolerance, `${name}: ${value} of the size off`);
    console.log(`  ${Object.entries(off).map(([name, value]) => `${name} ${value.toExponential(1)}`).join(', ')} of the size off`);
  });
});

// Hostile models with checksums that fit, on the GPU: refused with a sentence, or evaluated to the end. What is finite in WebAssembly and moves
// no further than the model is wide has the same vertices; the device survives all of them.
await test('hostile models in WebGPU', () => {
  extra['hostile_model.js'] = readFileSync(join(source, 'test/hostile_model.mjs'), 'utf8');
  return withPage('empty.html', async page => {
    const seen = await page.evaluate(async names => {
      const { loadSinew, webgpuDevice, webgpuRefuses, SinewGpu } = await import('sinew-skin'), { hostile } = await import('./hostile_model.js'), device = await webgpuDevice();
      if (!device) return null;
      const out = { tried: 0, opened: 0, odd: [], lost: false };
      device.lost.then(() => { out.lost = true; });
      for (const name of names) {
        const good = new Uint8Array(await (await fetch(`${name}.sinew`)).arrayBuffer());
        for (let k = 0; k < 60 && !out.lost; k++, out.tried++) {
          const model = await loadSinew(hostile(good, k)).catch(error => error);
          if (model instanceof Error) { if (!/^model: \S+/.test(model.message)) out.odd.push(model.message); continue; }
          const { info } = model, joints = Float32Array.from({ length: 12 * info.jointCount }, (_, n) => n % 12 % 5 === 0 ? 1 : 0);
          const input = { joints, values: new Float32Array(info.valueCount), controls: model.restControls, torques: new Float32Array(info.torqueCount) };
          const crowd = await SinewGpu.create(device, model, 2).catch(error => error);
          if (crowd instanceof Error) { if (!webgpuRefuses(model, device)) out.odd.push(`${name} ${k}: ${crowd.message}`); model.dispose(); continue; }
          crowd.write(0, input), crowd.write(1, input);
          const { positions } = await crowd.read();
          model.load(input);
          const mine = model.evaluate().positions, size = Math.max(...model.rest().positions.map(Math.abs));
          const tame = mine.every(x => Math.abs(x) <= 2 * size), off = positions[1].reduce((most, x, n) => Math.max(most, Math.abs(x - mine[n])), 0);
          if (tame && !(off <= 1e-3 * size)) out.odd.push(`${name} ${k}: ${off / size} of the size off`);
          out.opened++, crowd.dispose(), model.dispose();
        }
      }
      return out;
    }, ['given', 'dqs', 'character', 'affine', 'helpers', 'face', 'character-packed']);
    if (!seen) return console.log('  skipped: this Chromium has no WebGPU');
    assert.deepEqual([seen.odd, seen.lost], [[], false]);
    assert.ok(seen.opened >= 50 && seen.opened < seen.tried, JSON.stringify(seen));
    console.log(`  ${seen.tried} models, ${seen.opened} evaluated`);
  });
});

// A device without enough limits, and one that is lost: a sentence, and WebAssembly goes on.
await test('WebGPU without limits, and lost', () => {
  extra['webgpu.html'] = readFileSync(join(dir, 'site/index.html'), 'utf8').replace(/<script type="module".*/, '').replace('three.module.js",', 'three.webgpu.js",\n  "three/webgpu": "./node_modules/three/build/three.webgpu.js",');
  return withPage('webgpu.html', async page => {
    const warned = [];
    page.on('console', m => m.type() === 'warning' && warned.push(m.text()));
    const seen = await page.evaluate(async () => {
      const THREE = await import('three/webgpu'), { loadSinew, webgpuDevice, webgpuRefuses, skinCharacter, SinewMesh, SinewGpu } = await import('sinew-skin');
      const { GLTFLoader } = await import('three/addons/loaders/GLTFLoader.js');
      if (!await navigator.gpu?.requestAdapter()) return null;
      const model = await loadSinew('given.sinew'), device = await webgpuDevice(), says = [];
      const limited = over => new Proxy(device, { get: (target, key) => key === 'limits' ? { maxStorageBufferBindingSize: 1 << 27, maxBufferSize: 1 << 28, maxStorageBuffersPerShaderStage: 8, ...over } : typeof target[key] === 'function' ? target[key].bind(target) : target[key] });
      for (const over of [{ maxStorageBufferBindingSize: 4096 }, { maxBufferSize: 4096 }, { maxStorageBuffersPerShaderStage: 4 }]) {
        says.push(webgpuRefuses(model, limited(over)), await SinewGpu.create(limited(over), model).catch(error => error.message));
        says.push(new SinewMesh(model, (await new GLTFLoader().loadAsync('character.glb')).scene, undefined, { renderer: { backend: { device: limited(over) } } }).backEnd);
      }
      says.push(await SinewGpu.create(limited({ maxBufferSize: model.info.bytes + 65536 }), model, 1e5).catch(error => error.message), await SinewGpu.create(device, model, 0).catch(error => error.message));
      const crowd = await SinewGpu.create(device, model, 2);
      for (const [k, input] of [[2, {}], [0, {}], [0, { joints: new Float32Array(7) }]]) try { crowd.write(k, input); } catch (error) { says.push(error.message); }
      device.destroy(), await device.lost;
      says.push(await crowd.read().catch(error => error.message));
      // In a renderer whose device goes: the next update is WebAssembly's.
      const renderer = new THREE.WebGPURenderer(), scene = new THREE.Scene(), gltf = await new GLTFLoader().loadAsync('character.glb');
      await renderer.init();
      renderer.setRenderTarget(new THREE.RenderTarget(64, 64));
      const skin = skinCharacter(model, gltf, { renderer }), before = skin.backEnd, mixer = new THREE.AnimationMixer(gltf.scene);
      scene.add(gltf.scene);
      renderer.render(scene, new THREE.PerspectiveCamera());
      mixer.clipAction(gltf.animations[0]).play();
      renderer.backend.device.destroy(), await renderer.backend.device.lost, await 0;
      const was = skin.meshes[0].geometry.attributes.position.array.slice();
      mixer.setTime(0.3 * gltf.animations[0].duration), skin.update(true);
      const moved = skin.meshes[0].geometry.attributes.position.array.some((x, k) => Math.abs(x - was[k]) > 1e-4);
      return { says, before, after: skin.backEnd, moved };
    });
    if (!seen) return console.log('  skipped: this Chromium has no WebGPU');
    const { says } = seen, needed = [/a buffer of \d+ bytes is needed, the WebGPU device allows 4096/, /a buffer of \d+ bytes is needed, the WebGPU device allows 4096/, /need 7 storage buffers, the WebGPU device allows 4/];
    needed.forEach((wanted, k) => { assert.match(says[3 * k], wanted), assert.match(says[3 * k + 1], wanted), assert.equal(says[3 * k + 2], 'WebAssembly'); });
    assert.match(says[9], /100000 characters: a buffer of \d+ bytes/), assert.match(says[10], /0 characters make no crowd/);
    assert.match(says[11], /no character 2 among 2/), assert.match(says[12], /as joints, not none/), assert.match(says[13], /as joints, not 7/);
    assert.match(says[14], /the WebGPU device was lost/);
    assert.deepEqual([seen.before, seen.after, seen.moved], ['WebGPU', 'WebAssembly', true]);
    assert.ok(warned.some(text => /sinew-skin: .*bytes is needed.*runs in WebAssembly/.test(text)) && warned.some(text => /sinew-skin: the WebGPU device was lost.*runs in WebAssembly/.test(text)), warned.join('\n'));
  }, /[Dd]evice.*lost|A valid external Instance/);
});

// A character as people export them, in both renderers: three.js's own skinning of the same weights as the witness.
async function foreign(page, gpu) {
  return page.evaluate(async gpu => {
    const THREE = await import(gpu ? 'three/webgpu' : 'three'), { GLTFLoader } = await import('three/addons/loaders/GLTFLoader.js'), { clone } = await import('three/addons/utils/SkeletonUtils.js');
    const { loadSinew, skinCharacter } = await import('sinew-skin');
    if (gpu && !await navigator.gpu?.requestAdapter()) return null;
    const renderer = gpu ? new THREE.WebGPURenderer() : new THREE.WebGLRenderer(), scene = new THREE.Scene(), camera = new THREE.PerspectiveCamera();
    await renderer.init?.();
    renderer.setRenderTarget(new THREE.RenderTarget(64, 64));
    const gltf = await new GLTFLoader().loadAsync('foreign.glb'), model = await loadSinew('foreign.sinew'), plain = clone(gltf.scene);
    const skin = skinCharacter(model, gltf, { renderer }), mixers = [plain, gltf.scene].map(root => new THREE.AnimationMixer(root));
    scene.add(gltf.scene, plain, new THREE.AmbientLight());
    for (const mixer of mixers) mixer.clipAction(gltf.animations.at(-1)).play();
    renderer.render(scene, camera);
    const skinned = [], v = new THREE.Vector3(), w = new THREE.Vector3();
    plain.traverse(o => o.isSkinnedMesh && skinned.push(o));
    let most = 0, count = 0;
    for (const time of [0.2, 0.5]) {
      for (const mixer of mixers) mixer.setTime(time);
      scene.updateMatrixWorld(true);
      for (const m of skinned) m.skeleton.update();
      renderer.render(scene, camera);
      for (const mine of skin.meshes) {
        const theirs = skinned.find(m => m.name === mine.name), { position } = mine.geometry.attributes;
        const array = gpu ? new Float32Array(await renderer.getArrayBufferAsync(position)) : position.array;
        for (let i = 0; i < position.count; i++, count++) {
          theirs.getVertexPosition(i, v).applyMatrix4(theirs.matrixWorld);
          most = Math.max(most, v.distanceTo(w.fromArray(array, 3 * i).applyMatrix4(mine.matrixWorld)));
        }
      }
    }
    const size = new THREE.Box3().setFromObject(plain).getSize(v).length();
    return { off: most / size, count, backEnd: skin.backEnd };
  }, gpu);
}
for (const [gpu, backEnd] of [[false, 'WebAssembly'], [true, 'WebGPU']]) {
  await test(`a character of somebody else in ${gpu ? 'WebGPU' : 'WebGL'}`, async () => {
    if (!existsSync(join(dir, 'site/foreign.glb'))) return console.log('  skipped: no ../shared/data/gltf');
    extra['webgpu.html'] = readFileSync(join(dir, 'site/index.html'), 'utf8').replace(/<script type="module".*/, '').replace('three.module.js",', `three.${gpu ? 'webgpu' : 'module'}.js",\n  "three/webgpu": "./node_modules/three/build/three.webgpu.js",`);
    await withPage('webgpu.html', async page => {
      const seen = await foreign(page, gpu);
      if (!seen) return console.log('  skipped: this Chromium has no WebGPU');
      assert.ok(seen.count > 1000 && seen.backEnd === backEnd && seen.off < 2e-5, JSON.stringify(seen));
      console.log(`  ${seen.off.toExponential(1)} of the size off three.js itself`);
    });
  });
}

// What is missing on the server is named.
await test('404s say so', () => {
  extra['empty.html'] = readFileSync(join(dir, 'site/index.html'), 'utf8').replace(/<script type="module".*/, '');
  return withPage('empty.html', async page => {
    missing.add('node_modules/sinew-skin/runtime-basic.js');
    const says = await page.evaluate(async () => {
      const { loadSinew } = await import('sinew-skin');
      return [await loadSinew('nowhere.sinew').catch(e => e.message), await loadSinew('given.sinew').catch(e => e.message)];
    });
    missing.clear();
    assert.match(says[0], /^nowhere.sinew: HTTP 404/);
    assert.match(says[1], /^given.sinew: runtime-basic.js of sinew-skin could not be loaded/);
  }, /404/);
});

// As a bundler makes it: esbuild, and vite where it is installed (SINEW_VITE is the folder with its node_modules).
await test('examples/vite, bundled', async () => {
  const site = join(dir, 'vite'), out = join(dir, 'bundled'), vite = process.env.SINEW_VITE ?? source;
  mkdirSync(join(site, 'public'), { recursive: true }), mkdirSync(join(out, 'esbuild'), { recursive: true });
  for (const name of ['index.html', 'main.js']) copyFileSync(join(source, 'examples/vite', name), join(site, name));
  for (const name of ['character.glb', 'character.sinew']) copyFileSync(join(dir, 'site', name), join(site, 'public', name));
  mkdirSync(join(site, 'node_modules'), { recursive: true });
  symlinkSync(join(dir, 'site/node_modules/sinew-skin'), join(site, 'node_modules/sinew-skin')), symlinkSync(join(source, 'node_modules/three'), join(site, 'node_modules/three'));
  const builds = ['esbuild'];
  await build({ entryPoints: [join(site, 'main.js')], bundle: true, splitting: true, format: 'esm', outdir: join(out, 'esbuild'), target: 'es2022', preserveSymlinks: true });
  copyFileSync(join(site, 'index.html'), join(out, 'esbuild/index.html'));
  for (const name of ['character.glb', 'character.sinew']) copyFileSync(join(site, 'public', name), join(out, 'esbuild', name));
  if (existsSync(join(vite, 'node_modules/vite'))) {
    const { build: viteBuild } = await import(join(vite, 'node_modules/vite/dist/node/index.js'));
    await viteBuild({ root: site, configFile: false, logLevel: 'error', base: './', resolve: { preserveSymlinks: true }, build: { outDir: join(out, 'vite'), target: 'es2022' } });
    builds.push('vite');
  } else console.log('  skipped: no vite (npm install --no-save vite); esbuild made the bundle');
  for (const name of builds) {
    folders.unshift(join(out, name));
    await withPage('index.html', async page => {
      await page.waitForFunction(() => window.example, null, { timeout: 30000 });
      const seen = await page.evaluate(async () => { const { skin, model } = await window.example; return [skin.meshes.length, skin.meshes.reduce((n, m) => n + m.geometry.attributes.position.count, 0) - model.info.vertexCount]; });
      assert.deepEqual(seen, [2, 0], name);
    });
    folders.shift();
    console.log(`  ${name}: ok`);
  }
});

// Into a texture: Chromium's software adapter cannot show a canvas.
await test('in the WebGPURenderer of three.js the vertices are the native ones', () => {
  extra['webgpu.html'] = readFileSync(join(dir, 'site/index.html'), 'utf8').replace(/<script type="module".*/, '').replace('three.module.js",', 'three.webgpu.js",\n  "three/webgpu": "./node_modules/three/build/three.webgpu.js",');
  return withPage('webgpu.html', async page => {
    const truth = pc2('character.pc2'), off = await page.evaluate(async ({ count, frames, all }) => {
      const THREE = await import('three/webgpu'), { GLTFLoader } = await import('three/addons/loaders/GLTFLoader.js'), { loadSinew, skinCharacter } = await import('sinew-skin');
      if (!await navigator.gpu?.requestAdapter()) return null;
      const renderer = new THREE.WebGPURenderer(), target = new THREE.RenderTarget(64, 64), scene = new THREE.Scene(), camera = new THREE.PerspectiveCamera();
      await renderer.init();
      renderer.setRenderTarget(target);
      const gltf = await new GLTFLoader().loadAsync('character.glb'), model = await loadSinew('character.sinew'), { duration } = gltf.animations[0];
      const skin = skinCharacter(model, gltf, { renderer }), mixer = new THREE.AnimationMixer(gltf.scene);
      scene.add(gltf.scene, new THREE.AmbientLight());
      mixer.clipAction(gltf.animations[0]).play();
      renderer.render(scene, camera); // makes the buffers
      const low = [0, 1, 2].map(c => Math.min(...all.filter((_, k) => k < 3 * count && k % 3 === c))), high = [0, 1, 2].map(c => Math.max(...all.filter((_, k) => k < 3 * count && k % 3 === c)));
      let most = 0;
      for (const f of [2, 7]) {
        mixer.setTime(f * duration / (frames - 1));
        renderer.render(scene, camera);
        let at = 3 * count * f;
        for (const mesh of skin.meshes) {
          const mine = new Float32Array(await renderer.getArrayBufferAsync(mesh.geometry.attributes.position));
          for (let k = 0; k < mine.length; k++) most = Math.max(most, Math.abs(mine[k] - all[at + k]));
          at += mine.length;
        }
      }
      skin.dispose(), model.dispose();
      return { off: most / Math.hypot(...high.map((x, c) => x - low[c])), backEnd: skin.backEnd };
    }, truth);
    if (!off) return console.log('  skipped: this Chromium has no WebGPU');
    assert.ok(off.backEnd === 'WebGPU' && off.off <= tolerance, JSON.stringify(off));
    console.log(`  ${off.off.toExponential(1)} diagonals off`);
  });
});

// The tutorial: its HTML, with its JavaScript blocks one after the other as the script.
await test('the code of docs/guide/three.md runs', async () => {
  const text = readFileSync(join(source, 'docs/guide/three.md'), 'utf8'), blocks = kind => [...text.matchAll(new RegExp(`^\`\`\`${kind}\\n(.*?)^\`\`\``, 'gms'))].map(m => m[1]);
  const html = blocks('html'), js = blocks('js');
  assert.ok(html.length === 1 && js.length >= 4, 'the tutorial has its blocks');
  extra['tutorial.html'] = html[0];
  extra['main.js'] = `${js.join('\n')}\nwindow.tutorial = { skin, model, mixer, renderer, positions };`;
  await withPage('tutorial.html', async page => {
    await page.waitForFunction(() => window.tutorial, null, { timeout: 30000 });
    const seen = await page.evaluate(() => ({ vertices: window.tutorial.skin.meshes.reduce((n, m) => n + m.geometry.attributes.position.count, 0), model: window.tutorial.model.info.vertexCount, there: window.tutorial.positions.length }));
    assert.ok(seen.vertices === seen.model && seen.there === 3 * seen.model, JSON.stringify(seen));
  });
  delete extra['main.js'];
});

await browser.close();
