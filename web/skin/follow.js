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

// The skeletons that move meshes below an object, or the one that is given.
function skeletonsOf(skeleton) {
  const found = new Set();
  if (skeleton?.bones) found.add(skeleton);
  else skeleton?.traverse(object => object.isSkinnedMesh && found.add(object.skeleton));
  return found;
}

// World matrix of a joint to what it does to the rest pose. Where a skeleton knows the joint's bind pose, the model's is compared with
// it: rotated axes are corrected, another character is refused.
function toRest(model, bones, skeleton) {
  const rest = model.jointRest, out = bones.map((_, j) => fromRows(rest, j).invert());
  for (const { bones: theirs, boneInverses } of skeletonsOf(skeleton)) {
    const bind = new Float32Array(12 * bones.length), known = bones.map(bone => theirs.indexOf(bone));
    known.forEach((k, j) => k >= 0 && bind.set(boneInverses[k].clone().invert().transpose().elements.slice(0, 12), 12 * j));
    const rows = model.bind(bind);
    known.forEach((k, j) => { if (k >= 0) out[j] = fromRows(rows, j); });
  }
  return out;
}

// GLTFLoader keeps the name that a node has in the file.
const namesOf = bone => [bone.userData?.name, bone.name].filter(name => typeof name === 'string' && name !== '');

export class Follower {
  constructor(model, skeleton) {
    const bones = bonesOf(skeleton), { info } = model, rest = model.jointRest;
    this.model = model;
    this.bones = matchJoints(model.jointNames, bones.map(namesOf)).map(k => bones[k]);
    if (info.jointCount && !rest && !skeleton.boneInverses) throw new Error('the model knows no rest pose of its joints: give a Skeleton');
    this.toJoint = rest ? toRest(model, this.bones, skeleton) : this.bones.map(bone => skeleton.boneInverses[skeleton.bones.indexOf(bone)]);
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
