// SPDX-License-Identifier: MIT
// One character with Sinew's skin, for a bundler: character.glb and character.sinew are in public/ (examples/three/character.sh makes such files).
import { AnimationMixer, Box3, HemisphereLight, PerspectiveCamera, Scene, Vector3, WebGLRenderer } from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { loadSinew, skinCharacter } from 'sinew-skin';

async function start() {
  const [gltf, model] = await Promise.all([new GLTFLoader().loadAsync('character.glb'), loadSinew('character.sinew')]);
  const canvas = document.getElementById('canvas'), renderer = new WebGLRenderer({ canvas, antialias: true }), scene = new Scene();
  const skin = skinCharacter(model, gltf), mixer = new AnimationMixer(gltf.scene);
  let before = 0; // milliseconds
  mixer.clipAction(gltf.animations[0]).play();
  scene.add(gltf.scene, new HemisphereLight(0xffffff, 0x888888, 3));
  const box = new Box3().setFromObject(gltf.scene), size = box.getSize(new Vector3()).length(), camera = new PerspectiveCamera(40, 1, size / 100, 10 * size);
  camera.position.copy(box.getCenter(new Vector3())).add(new Vector3(0, 0, 1.5 * size));
  renderer.setAnimationLoop(now => {
    mixer.update((now - before) / 1000), before = now;
    renderer.setSize(canvas.clientWidth, canvas.clientHeight, false);
    camera.aspect = canvas.clientWidth / canvas.clientHeight, camera.updateProjectionMatrix();
    renderer.render(scene, camera);
  });
  return { skin, model };
}

window.example = start();
