// SPDX-License-Identifier: MIT
// A character on the stage: the ground truth, or a model, skinned on the GPU where the blend allows it.
import * as THREE from 'three';
import { rampBytes } from './colours.js';
import { extend, modes, paletteWidth } from './shader.js';

const ramp = new THREE.DataTexture(rampBytes(256), 256, 1);
ramp.colorSpace = THREE.SRGBColorSpace;
ramp.minFilter = ramp.magFilter = THREE.LinearFilter;
ramp.needsUpdate = true;

const dynamic = (count, size) => new THREE.BufferAttribute(new Float32Array(count * size), size).setUsage(THREE.DynamicDrawUsage);

export class Figure {
  // shared: {index, truth} of the set; skinned: the vertex shader moves the vertices.
  constructor(shared, vertexCount, skinned, colour) {
    this.skinned = skinned ? 'WebGL 2' : null;
    this.uniforms = { sinewMode: { value: 0 }, sinewUnit: { value: 0 }, ramp: { value: ramp } };
    const geometry = this.geometry = new THREE.BufferGeometry();
    geometry.setIndex(shared.index);
    geometry.setAttribute('position', dynamic(vertexCount, 3));
    geometry.setAttribute('normal', dynamic(vertexCount, 3));
    geometry.setAttribute('truth', shared.truth);
    geometry.setAttribute('field', dynamic(vertexCount, 1));
    const standard = { color: colour, roughness: 0.72, metalness: 0, side: THREE.DoubleSide, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 };
    this.mesh = new THREE.Mesh(geometry, extend(new THREE.MeshStandardMaterial(standard), this.uniforms, skinned));
    this.own = this.mesh.material, this.looks = null;
    this.standard = standard, this.shaded = skinned;
    const lines = new THREE.MeshBasicMaterial({ color: 0x10141a, wireframe: true, transparent: true, opacity: 0.34 });
    const plain = { ...this.uniforms, sinewMode: { value: 0 } };
    this.wire = new THREE.Mesh(geometry, extend(lines, plain, skinned));
    this.mesh.frustumCulled = this.wire.frustumCulled = false;
    this.group = new THREE.Group();
    this.group.add(this.mesh, this.wire);
    this.plain = plain;
  }

  // The character's own colours and textures. look: {parts}, textures and uv of the set.
  addLook(look, textures, uv) {
    this.geometry.setAttribute('uv', uv);
    look.parts.forEach((part, k) => this.geometry.addGroup(3 * part.first, 3 * part.count, k));
    this.looks = look.parts.map(part => {
      const material = new THREE.MeshStandardMaterial({ ...this.standard, map: textures.get(part.bitmap) ?? null });
      material.color.setRGB(...part.colour);
      return extend(material, this.uniforms, this.shaded);
    });
  }

  setLook(visible) { this.mesh.material = visible && this.looks ? this.looks : this.own; }

  setPositions(positions, normals) {
    const { position, normal } = this.geometry.attributes;
    position.array.set(positions), normal.array.set(normals);
    position.needsUpdate = normal.needsUpdate = true;
  }

  setColours(mode, unit = 0, field = null) {
    this.uniforms.sinewMode.value = modes[mode];
    this.uniforms.sinewUnit.value = unit;
    if (!field) return;
    this.geometry.attributes.field.array.set(field);
    this.geometry.attributes.field.needsUpdate = true;
  }

  // Dark lines on the plain surface, light ones on colours.
  setWire(visible) {
    const coloured = this.uniforms.sinewMode.value !== modes.plain;
    this.wire.visible = visible;
    this.wire.material.color.set(coloured ? 0xffffff : 0x10141a), this.wire.material.opacity = coloured ? 0.22 : 0.3;
  }

  // opacity: 0 for none, a solid figure.
  setGhost(opacity) {
    const { material } = this.mesh, ghost = opacity > 0;
    material.transparent = ghost, material.opacity = opacity || 1, material.depthWrite = !ghost;
    material.polygonOffsetFactor = material.polygonOffsetUnits = ghost ? -2 : 1; // where both agree, the ghost is in front
    this.mesh.renderOrder = ghost ? 1 : 0;
  }

  dispose() {
    for (const material of [this.own, this.wire.material, ...(this.looks ?? [])]) material.dispose();
    this.uniforms.palette?.value.dispose();
    for (const name of ['position', 'normal', 'field', 'uv', 'bones0', 'bones1', 'weights0', 'weights1', 'truth']) this.geometry.deleteAttribute(name);
    this.geometry.dispose();
  }
}

// Linear blends without corrections in the rest pose, and with normals by the blended matrix, are a matrix palette.
export const canSkinOnGpu = info => info.blendName === 'linear' && info.correctName === 'none' && info.shade === 0;

export class ModelFigure extends Figure {
  constructor(shared, model, gpu, colour) {
    super(shared, model.info.vertexCount, gpu, colour);
    this.model = model;
    if (gpu) this.uploadSkin();
  }

  uploadSkin() {
    const rest = this.model.rest(), n = this.model.info.vertexCount;
    this.setPositions(rest.positions, rest.normals);
    for (let half = 0; half < 2; half++) {
      const bones = new Uint16Array(4 * n), weights = new Float32Array(4 * n);
      for (let k = 0; k < 4 * n; k++) {
        const at = 8 * (k >> 2) + 4 * half + (k & 3);
        bones[k] = rest.bones[at], weights[k] = rest.weights[at];
      }
      this.geometry.setAttribute('bones' + half, new THREE.BufferAttribute(bones, 4));
      this.geometry.setAttribute('weights' + half, new THREE.BufferAttribute(weights, 4));
    }
    const height = Math.ceil(3 * this.model.info.paletteCount / paletteWidth) || 1;
    const texture = new THREE.DataTexture(new Float32Array(4 * paletteWidth * height), paletteWidth, height, THREE.RGBAFormat, THREE.FloatType);
    this.uniforms.palette = this.plain.palette = { value: texture };
  }

  // Evaluates for `input`; what the stage needs goes to the GPU.
  update(input) {
    this.model.load(input);
    if (this.skinned) {
      const texture = this.uniforms.palette.value;
      texture.image.data.set(this.model.palette());
      texture.needsUpdate = true;
    } else {
      const { positions, normals } = this.model.evaluate();
      this.setPositions(positions, normals);
    }
  }
}

// Normals of the example frames. Vertices in one place share one, so that seams of the texture do not show.
export class TruthNormals {
  constructor(set) {
    this.set = set, this.weld = set.source ?? null;
  }

  weldMap(positions) {
    const seen = new Map();
    return Uint32Array.from({ length: positions.length / 3 }, (_, i) => {
      const key = `${positions[3 * i]},${positions[3 * i + 1]},${positions[3 * i + 2]}`;
      if (!seen.has(key)) seen.set(key, i);
      return seen.get(key);
    });
  }

  of(positions) {
    this.weld ??= this.weldMap(positions);
    const { triangles } = this.set, sums = new Float32Array(positions.length), normals = new Float32Array(positions.length);
    for (let t = 0; t < triangles.length; t += 3) {
      const a = 3 * triangles[t], b = 3 * triangles[t + 1], c = 3 * triangles[t + 2];
      const ux = positions[b] - positions[a], uy = positions[b + 1] - positions[a + 1], uz = positions[b + 2] - positions[a + 2];
      const vx = positions[c] - positions[a], vy = positions[c + 1] - positions[a + 1], vz = positions[c + 2] - positions[a + 2];
      const x = uy * vz - uz * vy, y = uz * vx - ux * vz, z = ux * vy - uy * vx;
      for (const i of [a, b, c]) {
        const w = 3 * this.weld[i / 3];
        sums[w] += x, sums[w + 1] += y, sums[w + 2] += z;
      }
    }
    for (let i = 0; i < positions.length; i += 3) {
      const w = 3 * this.weld[i / 3], length = Math.hypot(sums[w], sums[w + 1], sums[w + 2]) || 1;
      for (let c = 0; c < 3; c++) normals[i + c] = sums[w + c] / length;
    }
    return normals;
  }
}

export class TruthFigure extends Figure {
  constructor(shared, set, colour) {
    super(shared, set.vertices, false, colour);
    this.normals = new TruthNormals(set);
  }

  update(positions) { this.setPositions(positions, this.normals.of(positions)); }
}
