// SPDX-License-Identifier: MIT
// A skin that follows a skeleton of three.js.
import { BufferAttribute, BufferGeometry, DynamicDrawUsage, Mesh } from 'three';
import { GpuBackEnd } from './backend.js';
import { Follower } from './follow.js';

export const dynamic = (count, size) => new BufferAttribute(new Float32Array(count * size), size).setUsage(DynamicDrawUsage);

// Vertices first .. first + count - 1 of an evaluation into a geometry.
export function fill(geometry, { positions, normals, tangents }, first) {
  const { position, normal, tangent } = geometry.attributes, end = first + position.count;
  position.array.set(positions.subarray(3 * first, 3 * end)), normal.array.set(normals.subarray(3 * first, 3 * end));
  position.needsUpdate = normal.needsUpdate = true;
  if (tangent && tangents) tangent.array.set(tangents.subarray(4 * first, 4 * end)), tangent.needsUpdate = true;
  geometry.boundingSphere = geometry.boundingBox = null; // three.js computes them for this pose when needed
}

export class SinewMesh extends Mesh {
  // model: of loadSinew, shared by any number of meshes. skeleton: a Skeleton, or the root of a character, whose joints are found
  // by name; null for a model without joints. Add the mesh where the skeleton's root is (to gltf.scene). options.renderer: a
  // WebGPURenderer, in which the skin then runs.
  constructor(model, skeleton, material, options = {}) {
    const geometry = new BufferGeometry(), { vertexCount } = model.info;
    geometry.setAttribute('position', dynamic(vertexCount, 3));
    geometry.setAttribute('normal', dynamic(vertexCount, 3));
    const gpu = GpuBackEnd.for(options.renderer, model); // whose kernels know nothing of tangents
    if (model.info.tangents && !gpu) geometry.setAttribute('tangent', dynamic(vertexCount, 4));
    if (model.info.triangleCount) geometry.setIndex(new BufferAttribute(model.triangles, 1));
    super(geometry, material);
    this.isSinewMesh = true;
    this.model = model;
    this.follower = new Follower(model, skeleton);
    this.autoUpdate = options.autoUpdate ?? true;
    this.gpu = gpu;
    this.frustumCulled = false; // it may be anywhere: its vertices say where, not its place
    this.update(true);
  }

  get backEnd() { return this.gpu?.works ? 'WebGPU' : 'WebAssembly'; }

  // Control points (x y z, one after the other) and torques (one per joint) and named values of models that have them: change them in place.
  get controls() { return this.follower.controls; }
  get torques() { return this.follower.torques; }
  get values() { return this.follower.values; }

  // Follows the skeleton as it is now; the renderer does so by itself unless autoUpdate is false.
  update(force = false) {
    if (this.model.disposed) throw new Error('the model of a SinewMesh was disposed of before the mesh');
    this.updateWorldMatrix(true, false);
    if (!this.follower.read(this) && !force) return;
    if (!this.gpu?.run(this.follower, [{ geometry: this.geometry, first: 0 }])) fill(this.geometry, this.follower.evaluate(), 0);
  }

  updateMatrixWorld(force) {
    super.updateMatrixWorld(force);
    if (this.autoUpdate && this.visible && this.follower && !this.model.disposed) this.update();
  }

  // The geometry is this mesh's own; model and material stay.
  dispose() {
    this.removeFromParent();
    this.geometry.dispose();
    this.gpu?.dispose();
    this.autoUpdate = false;
  }
}
