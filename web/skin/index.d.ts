import type { Group, Material, Mesh, Object3D, Skeleton, BufferGeometry } from 'three';
import type { SinewModel } from './core.js';
export * from './core.js';

/** A skin that follows a skeleton. Add it where the skeleton's root is (to gltf.scene). */
export class SinewMesh extends Mesh<BufferGeometry, Material | Material[]> {
  /** skeleton: or the root of a character, whose joints are found by name; null for a model without joints. */
  constructor(model: SinewModel, skeleton: Skeleton | Object3D | null, material?: Material | Material[], options?: { autoUpdate?: boolean });
  readonly isSinewMesh: true;
  readonly model: SinewModel;
  /** Follow the skeleton whenever the renderer updates the scene. */
  autoUpdate: boolean;
  /** Change them in place. */
  readonly controls: Float32Array;
  readonly torques: Float32Array;
  /** Follow the skeleton as it is now. */
  update(force?: boolean): void;
  /** Takes the mesh from the scene and gives its geometry back; model and material stay. */
  dispose(): void;
}

/** A character whose meshes have Sinew's skin, and keep their materials, names and morph targets. */
export class SinewCharacter extends Group {
  constructor(model: SinewModel, root: Object3D, parser?: unknown);
  readonly isSinewMesh: true;
  readonly model: SinewModel;
  readonly meshes: Mesh[];
  autoUpdate: boolean;
  readonly controls: Float32Array;
  readonly torques: Float32Array;
  update(force?: boolean): void;
  /** Takes the skin off: the character is again what it was. */
  dispose(): void;
}

/** Puts a model's skin on what GLTFLoader loaded, on its scene, or on a clone of that. */
export function skinCharacter(model: SinewModel, gltf: Object3D | { scene: Object3D; parser?: unknown }): SinewCharacter;
