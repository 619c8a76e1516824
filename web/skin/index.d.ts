import type { Group, Material, Mesh, Object3D, Skeleton, BufferGeometry } from 'three';
import type { SinewModel } from './core.js';
export * from './core.js';

export interface SkinOptions {
  /** Follow the skeleton whenever the renderer updates the scene: true by default. */
  autoUpdate?: boolean;
  /** A WebGPURenderer: the skin runs in its WebGPU device, where it has one and the kernels can run the model. */
  renderer?: unknown;
}

/** A skin that follows a skeleton. Add it where the skeleton's root is (to gltf.scene). */
export class SinewMesh extends Mesh<BufferGeometry, Material | Material[]> {
  /** skeleton: or the root of a character, whose joints are found by name; null for a model without joints. */
  constructor(model: SinewModel, skeleton: Skeleton | Object3D | null, material?: Material | Material[], options?: SkinOptions);
  readonly isSinewMesh: true;
  readonly model: SinewModel;
  readonly backEnd: 'WebAssembly' | 'WebGPU';
  /** Follow the skeleton whenever the renderer updates the scene. */
  autoUpdate: boolean;
  /** Change them in place. */
  readonly controls: Float32Array;
  readonly torques: Float32Array;
  readonly values: Float32Array;
  /** Follow the skeleton as it is now. */
  update(force?: boolean): void;
  /** Takes the mesh from the scene and gives its geometry back; model and material stay. */
  dispose(): void;
}

/** A character whose meshes have Sinew's skin, and keep their materials, names and morph targets. */
export class SinewCharacter extends Group {
  constructor(model: SinewModel, root: Object3D, parser?: unknown, options?: SkinOptions);
  readonly isSinewMesh: true;
  readonly model: SinewModel;
  readonly backEnd: 'WebAssembly' | 'WebGPU';
  readonly meshes: Mesh[];
  autoUpdate: boolean;
  readonly controls: Float32Array;
  readonly torques: Float32Array;
  readonly values: Float32Array;
  update(force?: boolean): void;
  /** Takes the skin off: the character is again what it was. */
  dispose(): void;
}

/** Puts a model's skin on what GLTFLoader loaded, on its scene, or on a clone of that. */
export function skinCharacter(model: SinewModel, gltf: Object3D | { scene: Object3D; parser?: unknown }, options?: SkinOptions): SinewCharacter;
