// SPDX-License-Identifier: MIT
// A whole character of a glTF file with Sinew's skin: its meshes keep their materials, textures, names and morph targets.
import { BufferGeometry, Group, Matrix4, Mesh } from 'three';
import { GpuBackEnd } from './backend.js';
import { Follower } from './follow.js';
import { dynamic, fill } from './mesh.js';
import { Morphs } from './morph.js';

const own = ['position', 'normal', 'tangent', 'skinIndex', 'skinWeight'];

// The meshes of a character, in the order of the file where the loader tells it.
function meshesOf(root, parser) {
  const found = [];
  root.traverse(object => object.isMesh && !object.isSinewMesh && found.push(object));
  const node = mesh => parser?.associations.get(mesh)?.nodes ?? parser?.associations.get(mesh.parent)?.nodes ?? 0;
  return found.map((mesh, k) => ({ mesh, k, node: node(mesh) })).sort((a, b) => a.node - b.node || a.k - b.k).map(m => m.mesh);
}

const cornersOf = geometry => geometry.index ? geometry.index.count : geometry.attributes.position.count;

// Whether the triangles of a geometry are those of the model from corner `at` on, its vertices those from `first` on.
function fits(geometry, triangles, at, first) {
  const count = cornersOf(geometry), { index } = geometry;
  if (at + count > triangles.length) return false;
  for (let k = 0; k < count; k++) if (triangles[at + k] !== first + (index ? index.getX(k) : k)) return false;
  return true;
}

// [{mesh, first}]: which vertices of the model are which mesh's. The model was trained on all meshes of the file one after
// the other; its triangles tell which they are.
function assign(model, meshes) {
  if (model.order) throw new Error("the model's vertices are numbered by its blocks, not as the character's meshes: put them back with sinew pack --order file");
  const left = [...meshes], parts = [], { triangles } = model, { vertexCount } = model.info;
  let first = 0, corner = 0;
  while (first < vertexCount) {
    const k = left.findIndex(({ geometry }) => triangles.length ? fits(geometry, triangles, corner, first) : geometry.attributes.position.count <= vertexCount - first);
    if (k < 0) break;
    const [mesh] = left.splice(k, 1);
    parts.push({ mesh, first });
    first += mesh.geometry.attributes.position.count, corner += cornersOf(mesh.geometry);
  }
  if (first === vertexCount && parts.length) return parts;
  const have = meshes.map(m => `${m.name || 'unnamed'} ${m.geometry.attributes.position.count}`).join(', ');
  throw new Error(`the model has ${vertexCount} vertices that are not those of the character's meshes (${have || 'none'}): train it with --rest of this file`);
}

// The map from a mesh's own geometry to the model's rest pose (docs/reference/gltf.md: armatures carry scales).
function restMap(model, follower, mesh, space) {
  const rest = model.jointRest;
  if (mesh.isSkinnedMesh && rest) {
    for (let j = 0; j < follower.bones.length; j++) {
      const k = mesh.skeleton.bones.indexOf(follower.bones[j]);
      if (k >= 0) return follower.toJoint[j].clone().invert().multiply(mesh.skeleton.boneInverses[k]);
    }
  }
  mesh.updateWorldMatrix(true, false);
  return new Matrix4().copy(space.matrixWorld).invert().multiply(mesh.matrixWorld);
}

function partGeometry(source, tangents) {
  const geometry = new BufferGeometry(), { count } = source.attributes.position;
  geometry.setAttribute('position', dynamic(count, 3));
  geometry.setAttribute('normal', dynamic(count, 3));
  if (tangents) geometry.setAttribute('tangent', dynamic(count, 4));
  for (const [name, attribute] of Object.entries(source.attributes)) if (!own.includes(name)) geometry.setAttribute(name, attribute);
  geometry.setIndex(source.index);
  for (const group of source.groups) geometry.addGroup(group.start, group.count, group.materialIndex);
  return geometry;
}

// Tangents of the rest pose are omitted where the model has none: three.js then derives them, with the other handedness, as
// GLTFLoader has it.
function partMaterial(mesh, tangents) {
  const flip = material => {
    if (tangents || !mesh.geometry.attributes.tangent || !material.normalMap) return material;
    const copy = material.clone();
    copy.normalScale.y *= -1, copy.userData.sinewOwned = true;
    return copy;
  };
  return Array.isArray(mesh.material) ? mesh.material.map(flip) : flip(mesh.material);
}

export class SinewCharacter extends Group {
  // root: gltf.scene, or a clone of it; parser: gltf.parser, where there is one. options: as of SinewMesh.
  constructor(model, root, parser = null, options = {}) {
    super();
    this.model = model, this.root = root, this.isSinewMesh = true;
    this.follower = new Follower(model, root);
    this.autoUpdate = options.autoUpdate ?? true;
    this.gpu = GpuBackEnd.for(options.renderer, model);
    root.updateWorldMatrix(true, true);
    this.parts = assign(model, meshesOf(root, parser)).map(({ mesh, first }) => this.makePart(mesh, first));
    for (const { source, mesh } of this.parts) {
      mesh.parentOfSource = source.parent, mesh.heirs = [...source.children];
      for (const child of mesh.heirs) source.parent.attach(child);
      source.removeFromParent();
      this.add(mesh);
    }
    root.add(this);
    this.update(true);
  }

  makePart(source, first) {
    const tangents = source.geometry.attributes.tangent && this.model.info.tangents && !this.gpu; // its kernels know nothing of them
    const mesh = new Mesh(partGeometry(source.geometry, tangents), partMaterial(source, tangents));
    mesh.name = source.name, mesh.userData = source.userData;
    mesh.castShadow = source.castShadow, mesh.receiveShadow = source.receiveShadow, mesh.renderOrder = source.renderOrder;
    mesh.frustumCulled = false;
    let morphs = null;
    if (source.morphTargetInfluences?.length) {
      // The same list: a mixer that was made before writes into it too.
      mesh.morphTargetInfluences = source.morphTargetInfluences, mesh.morphTargetDictionary = source.morphTargetDictionary;
      morphs = new Morphs(this.model, source, first, restMap(this.model, this.follower, source, this.root));
    }
    return { source, mesh, first, morphs };
  }

  get backEnd() { return this.gpu?.works ? 'WebGPU' : 'WebAssembly'; }

  get meshes() { return this.parts.map(part => part.mesh); }
  get controls() { return this.follower.controls; }
  get torques() { return this.follower.torques; }
  get values() { return this.follower.values; }

  update(force = false) {
    if (this.model.disposed) throw new Error('the model of a SinewCharacter was disposed of before the character');
    this.updateWorldMatrix(true, false);
    const moved = this.follower.read(this), morphed = this.parts.map(part => part.morphs?.read() ?? false);
    if (!moved && !force && !morphed.includes(true)) return;
    const morphing = this.parts.some(({ morphs }) => morphs?.active);
    if (!morphing && this.gpu?.run(this.follower, this.parts.map(({ mesh, first }) => ({ geometry: mesh.geometry, first })))) return;
    const evaluated = this.follower.evaluate();
    for (const { mesh, first } of this.parts) fill(mesh.geometry, evaluated, first);
    for (const { mesh, morphs } of this.parts) morphs?.add(mesh.geometry);
  }

  updateMatrixWorld(force) {
    super.updateMatrixWorld(force);
    if (this.autoUpdate && this.visible && this.parts && !this.model.disposed) this.update();
  }

  // Takes the skin off: the character is again what it was.
  dispose() {
    this.autoUpdate = false;
    this.gpu?.dispose();
    for (const { source, mesh } of this.parts) {
      mesh.geometry.dispose();
      for (const material of [mesh.material].flat()) if (material.userData.sinewOwned) material.dispose();
      mesh.parentOfSource.add(source);
      for (const child of mesh.heirs) source.attach(child);
    }
    this.removeFromParent();
    this.parts = [];
  }
}

// Puts a model's skin on a character: a glTF that GLTFLoader loaded, or its scene, or a clone of that.
export const skinCharacter = (model, gltf, options) => new SinewCharacter(model, gltf.scene ?? gltf, gltf.parser ?? null, options);
