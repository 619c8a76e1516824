// SPDX-License-Identifier: MIT
// A crowd of characters from one .glb and one .sinew file: ?characters=60 says how many.
import * as THREE from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { clone } from 'three/addons/utils/SkeletonUtils.js';
import { loadSinew, skinCharacter } from 'sinew-skin';

const says = document.getElementById('says'), canvas = document.getElementById('canvas');
const count = Math.max(1, Number(new URLSearchParams(location.search).get('characters') ?? 1));

async function start() {
  const [gltf, model] = await Promise.all([new GLTFLoader().loadAsync('character.glb'), loadSinew('character.sinew')]);
  const renderer = new THREE.WebGLRenderer({ canvas, antialias: true }), scene = new THREE.Scene();
  scene.background = new THREE.Color(0xdfe4ea);
  scene.add(new THREE.HemisphereLight(0xffffff, 0x8a8f98, 2.2), new THREE.DirectionalLight(0xffffff, 1.6));

  // A character is a clone of the file's scene with its own skeleton and mixer; the model is shared by all.
  const size = new THREE.Box3().setFromObject(gltf.scene).getSize(new THREE.Vector3()), step = 1.1 * Math.max(size.x, size.z);
  const columns = Math.ceil(Math.sqrt(count)), characters = [];
  for (let k = 0; k < count; k++) {
    const root = clone(gltf.scene), mixer = new THREE.AnimationMixer(root);
    root.position.set((k % columns - (columns - 1) / 2) * step, 0, -Math.floor(k / columns) * step);
    scene.add(root);
    const skin = skinCharacter(model, root), clip = gltf.animations[0];
    mixer.clipAction(clip).play();
    mixer.setTime(clip.duration * k / count); // everybody at another moment
    characters.push({ root, mixer, skin });
  }

  const middle = new THREE.Vector3(0, 0.5 * size.y, -0.5 * (Math.ceil(count / columns) - 1) * step);
  const far = 1.3 * size.length() * Math.max(1, 0.8 * columns), camera = new THREE.PerspectiveCamera(35, 1, far / 100, far * 10);
  camera.position.copy(middle).add(new THREE.Vector3(0.4, 0.35, 1).normalize().multiplyScalar(far));
  camera.lookAt(middle);

  let last = performance.now(), spent = 0, frames = 0;
  const frame = now => {
    const seconds = (now - last) / 1000;
    last = now;
    const begin = performance.now();
    for (const { mixer, skin } of characters) mixer.update(example.paused ? 0 : seconds), skin.update();
    spent += performance.now() - begin, frames++;
    if (frames === 30 || says.textContent.startsWith('loading')) says.textContent = `${count} character${count > 1 ? 's' : ''} · ${(spent / frames).toFixed(2)} ms to pose and skin them all (WebAssembly)`, spent = frames = 0;
    const { clientWidth: w, clientHeight: h } = canvas;
    renderer.setSize(w, h, false), camera.aspect = w / h, camera.updateProjectionMatrix();
    renderer.render(scene, camera);
  };
  const example = { renderer, scene, camera, model, gltf, characters, frame, paused: false };
  renderer.setAnimationLoop(frame);
  return example;
}

window.example = start();
window.example.catch(error => { says.textContent = error.message; });
