// SPDX-License-Identifier: MIT
// A model's input from a skeleton: what each joint does to the rest pose, in the space of the character's root.
import { Matrix4 } from 'three';
import { matchJoints } from './names.js';

const fromRows = (rows, j) => {
  const m = Array.from(rows.subarray(12 * j, 12 * j + 12));
  return new Matrix4().set(...m, 0, 0, 0, 1);
};

// A skeleton, or everything below an object.
function bonesOf(skeleton) {
  if (!skeleton) return [];
  if (skeleton.bones) return skeleton.bones;
  const all = [];
  skeleton.traverse(object => all.push(object));
  return all;
}

// GLTFLoader keeps the name that a node has in the file.
const namesOf = bone => [bone.userData?.name, bone.name].filter(name => typeof name === 'string' && name !== '');

export class Follower {
  constructor(model, skeleton) {
    const bones = bonesOf(skeleton), { info } = model, rest = model.jointRest;
    this.model = model;
    this.bones = matchJoints(model.jointNames, bones.map(namesOf)).map(k => bones[k]);
    if (info.jointCount && !rest && !skeleton.boneInverses) throw new Error('the model knows no rest pose of its joints: give a Skeleton');
    this.toJoint = this.bones.map((bone, j) => rest ? fromRows(rest, j).invert() : skeleton.boneInverses[skeleton.bones.indexOf(bone)]);
    this.roots = this.bones.filter(bone => !this.bones.includes(bone.parent));
    this.joints = new Float32Array(12 * info.jointCount);
    this.controls = info.controlCount ? model.restControls : new Float32Array();
    this.torques = new Float32Array(info.torqueCount);
    this.values = new Float32Array(info.valueCount);
    this.seen = null;
    this.toSpace = new Matrix4(), this.product = new Matrix4();
  }

  // Reads the bones' places now, as seen from `space`, an Object3D. True where anything changed since the last time.
  read(space) {
    for (const root of this.roots) root.updateWorldMatrix(true, false), updateBelow(root);
    this.toSpace.copy(space.matrixWorld).invert();
    this.bones.forEach((bone, j) => {
      const { elements: e } = this.product.multiplyMatrices(this.toSpace, bone.matrixWorld).multiply(this.toJoint[j]), out = this.joints, at = 12 * j;
      for (let r = 0; r < 3; r++) out[at + 4 * r] = e[r], out[at + 4 * r + 1] = e[4 + r], out[at + 4 * r + 2] = e[8 + r], out[at + 4 * r + 3] = e[12 + r];
    });
    const now = [this.joints, this.controls, this.torques, this.values];
    const same = this.seen?.every((old, k) => old.every((x, n) => x === now[k][n]));
    if (!same) this.seen = now.map(list => list.slice());
    return !same;
  }

  evaluate() {
    this.model.load(this);
    return this.model.evaluate();
  }
}

// World matrices of the joints below one; other things that hang on the skeleton are none of ours.
function updateBelow(bone) {
  for (const child of bone.children) {
    if (child.isMesh && child.isSinewMesh) continue;
    if (child.matrixAutoUpdate) child.updateMatrix();
    child.matrixWorld.multiplyMatrices(bone.matrixWorld, child.matrix);
    updateBelow(child);
  }
}
