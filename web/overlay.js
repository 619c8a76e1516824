// SPDX-License-Identifier: MIT
// What is drawn over the character: bones, proxy bones, control points, and the rings that rotate a joint.
import * as THREE from 'three';

const axisColours = [0xd55e00, 0x009e73, 0x0072b2];
const ringPixels = 62, ringSteps = 64;
const over = { depthTest: false, depthWrite: false, transparent: true };

function sprite(draw) {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 64;
  const g = canvas.getContext('2d');
  g.lineWidth = 9, g.strokeStyle = '#fff', g.fillStyle = '#fff';
  draw(g);
  return new THREE.CanvasTexture(canvas);
}

const round = () => sprite(g => { g.beginPath(), g.arc(32, 32, 25, 0, 7), g.fill(); });
const square = () => sprite(g => g.fillRect(9, 9, 46, 46));

function pointCloud(texture, size) {
  const material = new THREE.PointsMaterial({ size, map: texture, vertexColors: true, sizeAttenuation: false, ...over });
  const points = new THREE.Points(new THREE.BufferGeometry(), material);
  points.frustumCulled = false, points.renderOrder = 12;
  return points;
}

function fillPoints(points, places, colours) {
  points.geometry.dispose();
  points.geometry = new THREE.BufferGeometry();
  points.geometry.setAttribute('position', new THREE.Float32BufferAttribute(places.flat(), 3));
  points.geometry.setAttribute('color', new THREE.Float32BufferAttribute(colours.flatMap(c => new THREE.Color(c).toArray()), 3));
}

// A long octahedron from (0,0,0) to (0,1,0).
function boneShape() {
  const shape = new THREE.OctahedronGeometry(0.5, 0), p = shape.attributes.position;
  for (let k = 0; k < p.count; k++) {
    const y = p.getY(k);
    p.setXYZ(k, 0.16 * p.getX(k), y > 0.1 ? 1 : y < -0.1 ? 0 : 0.16, 0.16 * p.getZ(k));
  }
  shape.computeVertexNormals();
  return shape;
}

export class Overlay {
  constructor(scene) {
    this.group = new THREE.Group();
    scene.add(this.group);
    this.joints = pointCloud(round(), 11);
    this.controls = pointCloud(square(), 13);
    this.boneMaterial = new THREE.MeshLambertMaterial({ color: 0xffffff, opacity: 0.72, ...over });
    this.bones = null;
    this.axes = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ vertexColors: true, ...over }));
    this.axes.frustumCulled = false, this.axes.renderOrder = 11;
    this.rings = axisColours.map(color => {
      const ring = new THREE.Mesh(new THREE.TorusGeometry(1, 0.035, 8, ringSteps), new THREE.MeshBasicMaterial({ color, ...over, opacity: 0.95 }));
      ring.renderOrder = 14;
      return ring;
    });
    this.group.add(this.joints, this.controls, this.axes, ...this.rings);
  }

  // segments: pairs of points; selected: which of them are lit up.
  drawBones(segments, selected) {
    if (!this.bones || this.bones.count !== segments.length) {
      if (this.bones) this.group.remove(this.bones), this.bones.dispose();
      this.bones = new THREE.InstancedMesh(boneShape(), this.boneMaterial, segments.length);
      this.bones.frustumCulled = false, this.bones.renderOrder = 10;
      this.group.add(this.bones);
    }
    const up = new THREE.Vector3(0, 1, 0), turn = new THREE.Quaternion(), matrix = new THREE.Matrix4();
    segments.forEach(([a, b], k) => {
      const from = new THREE.Vector3(...a), way = new THREE.Vector3(...b).sub(from), length = way.length() || 1e-9;
      turn.setFromUnitVectors(up, way.clone().divideScalar(length));
      this.bones.setMatrixAt(k, matrix.compose(from, turn, new THREE.Vector3(length, length, length)));
      this.bones.setColorAt(k, new THREE.Color(selected.has(k) ? 0xe69f00 : 0xb9c4d2));
    });
    this.bones.instanceMatrix.needsUpdate = true;
    if (this.bones.instanceColor) this.bones.instanceColor.needsUpdate = true;
  }

  // Joints are smaller in a small pane, where they would hide the character.
  showSkeleton(visible, pane) {
    this.joints.visible = visible;
    this.joints.material.size = Math.min(11, Math.max(4, 0.045 * Math.min(pane.w, pane.h)));
    if (this.bones) this.bones.visible = visible;
  }

  drawJoints(places, colours) { fillPoints(this.joints, places, colours); }
  drawControls(places, colours) { fillPoints(this.controls, places, colours); }

  // A small tripod per proxy bone: its axes as the palette rotates and stretches them.
  drawProxies(frames, size, selected) {
    const places = [], colours = [];
    frames.forEach(({ bone, at, axes }) => axes.forEach((axis, c) => {
      const long = bone === selected ? 2.2 * size : size;
      places.push(...at, ...at.map((x, n) => x + long * axis[n]));
      const colour = new THREE.Color(axisColours[c]).toArray();
      colours.push(...colour, ...colour);
    }));
    this.axes.geometry.dispose();
    this.axes.geometry = new THREE.BufferGeometry();
    this.axes.geometry.setAttribute('position', new THREE.Float32BufferAttribute(places, 3));
    this.axes.geometry.setAttribute('color', new THREE.Float32BufferAttribute(colours, 3));
  }

  // Rings about the axes of the chosen joint; null hides them. unit: world units per pixel.
  placeRings(place, axes, unit) {
    this.rings.forEach((ring, k) => {
      ring.visible = Boolean(place);
      if (!place) return;
      ring.position.set(...place);
      ring.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), new THREE.Vector3(...axes[k]));
      ring.scale.setScalar(ringPixels * unit);
      ring.updateMatrixWorld();
    });
  }

  // The ring within `reach` pixels of (x, y): which axis, and how a drag rotates it.
  pickRing(stage, pane, x, y, reach) {
    let best = null;
    this.rings.forEach((ring, axis) => {
      if (!ring.visible) return;
      for (let k = 0; k < ringSteps; k++) {
        const at = n => {
          const angle = 2 * Math.PI * n / ringSteps, p = new THREE.Vector3(Math.cos(angle), Math.sin(angle), 0);
          return stage.project(p.applyMatrix4(ring.matrixWorld).toArray(), pane);
        };
        const here = at(k), distance = Math.hypot(here.x - x, here.y - y);
        if (distance > reach || (best && distance >= best.distance)) continue;
        const next = at(k + 1), way = [next.x - here.x, next.y - here.y], length = Math.hypot(...way);
        if (length < 1) continue; // seen edge-on: a drag would not say which way
        best = { axis, distance, way: way.map(v => v / length) };
      }
    });
    return best;
  }
}

export { ringPixels, axisColours };
