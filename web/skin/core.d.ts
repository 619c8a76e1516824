/** An evaluator in WebAssembly; one per thread serves all models. */
export class Runtime {
  static create(bytes: BufferSource): Promise<Runtime>;
}

/** The evaluator that models of this thread share: 'basic' has lbs, dqs and helpers, 'whole' ('whole' by default) every method; or bytes that do
 * not come with the package. loadSinew() takes the one that a model needs. */
export function sinewRuntime(source?: 'basic' | 'whole' | BufferSource): Promise<Runtime>;

export interface SinewInfo {
  driveName: 'joints' | 'rotreg' | 'torque' | 'controls' | 'helpers';
  correctName: 'none' | 'rbf' | 'eigen';
  blendName: string;
  pathName: string;
  /** 0: normals go by the blended matrix; 1: they are computed from the deformed triangles. */
  shade: 0 | 1;
  vertexCount: number;
  jointCount: number;
  controlCount: number;
  torqueCount: number;
  valueCount: number;
  paletteCount: number;
  triangleCount: number;
  maxInfluences: number;
  weightBits: number;
  /** 1: it was trained with tangents=1. */
  tangents: 0 | 1;
  bytes: number;
}

export interface SinewInput {
  /** 12 floats per joint: rest pose to pose, 3x4 row by row. */
  joints?: ArrayLike<number>;
  /** 3 floats per control point. */
  controls?: ArrayLike<number>;
  /** One float per joint. */
  torques?: ArrayLike<number>;
  /** Named values, in the order of `valueNames`. */
  values?: ArrayLike<number>;
}

export interface SinewResult {
  /** x y z of every vertex. Good until the next evaluation of any model: copy what you keep. */
  positions: Float32Array;
  normals: Float32Array;
  /** x y z and a handedness of 1 or -1, as glTF has them; null where the model has none. */
  tangents: Float32Array | null;
}

/** An opened model. Any number of characters may share one. */
export class SinewModel {
  /** Throws an Error that says what is wrong with the bytes. */
  constructor(runtime: Runtime, bytes: Uint8Array);
  readonly info: SinewInfo;
  readonly jointNames: string[];
  /** -1 for a root. */
  readonly jointParents: number[];
  /** Joint to world in the rest pose, 12 floats per joint, row by row. */
  readonly jointRest: Float32Array | null;
  /** Three vertices per triangle. */
  readonly triangles: Uint32Array;
  /** The rest file's number of every vertex, where the model was renumbered (sinew pack --order blocks). */
  readonly order: Uint32Array | null;
  /** Where the control points are in the rest pose. */
  readonly restControls: Float32Array;
  readonly disposed: boolean;
  load(input: SinewInput): void;
  /** What the displacement fields of corrections are multiplied with, for what load() was given. */
  values(): Float32Array;
  /** For what load() was given. */
  evaluate(): SinewResult;
  /** Joints continue to rotate from one evaluation to the next, from the pose evaluated next. */
  beginMotion(): void;
  /** The palette for what load() was given: 12 floats per entry, row by row. */
  palette(): Float32Array;
  /** What world matrices of a character's joints are multiplied with, for its bind pose (12 floats per joint, row by row; zeros where unknown).
   * Throws where a joint is elsewhere than the model's. */
  bind(matrices: ArrayLike<number>): Float32Array;
  /** The rest pose, and eight bones and weights per vertex. */
  rest(): { positions: Float32Array; normals: Float32Array; bones: Uint16Array; weights: Float32Array; tangents: Float32Array | null };
  readonly valueNames: string[];
  /** The least and the largest of a named value: beyond them the nearest counts. */
  valueRange(value: number): [number, number];
  /** The least and the largest torque of a joint that make a difference. */
  torqueRange(joint: number): [number, number] | null;
  /** Microseconds of one evaluation. */
  time(milliseconds?: number, quantile?: number): number;
  /** A copy of the file. */
  bytes(): Uint8Array;
  dispose(): void;
}

export interface LoadOptions {
  /** What error messages call the model. */
  name?: string;
  /** Passed on to fetch(). */
  fetch?: RequestInit;
  /** The evaluator's bytes, where they do not come with the package; use the same object for every model. */
  wasm?: BufferSource;
}

/** A model from a URL, a Request, a Response or bytes. The error's message says what is wrong. */
export function loadSinew(source: string | URL | Request | Response | ArrayBuffer | ArrayBufferView, options?: LoadOptions): Promise<SinewModel>;

/** A joint's name as three.js spells it. */
export function sanitiseName(name: string): string;

/** For every joint of `wanted` the number of its namesake in `given`, a list of the names that each goes by. */
export function matchJoints(wanted: string[], given: string[][]): number[];

/** A WebGPU device; null where there is none. */
export function webgpuDevice(gpu?: unknown): Promise<any>;

/** Why the WebGPU kernels cannot run a model, or not on this device; null where they can. */
export function webgpuRefuses(model: SinewModel, device?: any): string | null;

/** Many characters of one model in WebGPU. Types of WebGPU are those of @webgpu/types, if you have them. */
export class SinewGpu {
  /** Throws where the device finds fault with anything. */
  static create(device: any, model: SinewModel, characters?: number): Promise<SinewGpu>;
  constructor(device: any, model: SinewModel, characters?: number);
  readonly batch: number;
  /** GPUBuffers with x y z of every vertex of every character of the last batch. */
  readonly positions: any;
  readonly normals: any;
  /** The input of one character. goesOn: its joints continue to rotate from its last evaluation, where all characters are one batch. */
  write(character: number, input: SinewInput, goesOn?: boolean): void;
  /** Sends what write() was given. */
  upload(count?: number): void;
  /** Evaluates batch k: characters k * batch and on. */
  encode(encoder: any, k?: number, count?: number): void;
  /** Evaluates all, and brings the vertices back. */
  read(): Promise<{ positions: Float32Array[]; normals: Float32Array[] }>;
  dispose(): void;
}
