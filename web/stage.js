// SPDX-License-Identifier: MIT
// The stage: one camera, one or several panes side by side that show the same view of different figures.
import * as THREE from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';

const fieldOfView = 32;

// WebGPU's depths are 0 to 1, those of three's matrices -1 to 1.
const forGpu = camera => {
  const projection = camera.projectionMatrix.toArray();
  for (let c = 0; c < 4; c++) projection[4 * c + 2] = 0.5 * (projection[4 * c + 2] + projection[4 * c + 3]);
  return { projection, view: camera.matrixWorldInverse.toArray() };
};

export class Stage {
  // gpu: a GpuStage, which then draws the figures; null where WebGL 2 draws everything. Without either there is no picture.
  constructor(canvas, invalidate, gpu = null) {
    this.canvas = canvas, this.gpu = gpu;
    const webgl = Boolean(document.createElement('canvas').getContext('webgl2'));
    this.renderer = webgl ? new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true }) : null;
    this.blind = !webgl && !gpu;
    this.scene = new THREE.Scene();
    this.figures = new THREE.Group();
    this.camera = new THREE.PerspectiveCamera(fieldOfView, 1, 0.1, 100);
    const key = new THREE.DirectionalLight(0xffffff, 2.1), fill = new THREE.DirectionalLight(0xcfe0ff, 0.7);
    key.position.set(-0.6, 0.9, 0.9), fill.position.set(0.9, 0.1, 0.4);
    this.camera.add(key, key.target, fill, fill.target);
    key.target.position.set(0, 0, -1), fill.target.position.set(0, 0, -1);
    this.scene.add(this.figures, this.camera, new THREE.HemisphereLight(0xffffff, 0x8a8f98, 1.15));
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.addEventListener('change', invalidate);
    this.shape = 1; // width over height of what is shown
    this.panes = []; // {figures: [Group...], overlay: bool, label}
    new ResizeObserver(invalidate).observe(canvas);
  }

  // Looks at points from the front and a little above, or straight along z and from high above, so near that they just fit a pane
  // of a separate shape.
  frame(points, straight = false) {
    const box = new THREE.Box3().setFromPoints(points.map(p => new THREE.Vector3(...p)));
    const size = box.getSize(new THREE.Vector3()), tangent = Math.tan(fieldOfView * Math.PI / 360);
    this.radius = size.length() / 2 || 1;
    const deep = size.z > 1.6 * size.x; // longer in depth than in width: look from the side
    const back = straight ? new THREE.Vector3(0, 0.7, 0.7) : new THREE.Vector3(deep ? 0.92 : 0.34, 0.3, deep ? 0.34 : 0.92).normalize();
    const across = new THREE.Vector3(0, 1, 0).cross(back).normalize(), up = back.clone().cross(across);
    const seen = points.map(p => new THREE.Vector3(...p)).map(p => new THREE.Vector3(p.dot(across), p.dot(up), p.dot(back)));
    const view = new THREE.Box3().setFromPoints(seen), middle = view.getCenter(new THREE.Vector3()), half = view.getSize(new THREE.Vector3()).multiplyScalar(0.5);
    this.shape = Math.min(Math.max(half.x / (half.y || 1), 0.3), 3);
    let distance = this.radius / 10;
    for (const p of seen) distance = Math.max(distance, p.z - middle.z + Math.max(Math.abs(p.y - middle.y), Math.abs(p.x - middle.x) / this.shape) / tangent);
    this.controls.target.set(0, 0, 0).addScaledVector(across, middle.x).addScaledVector(up, middle.y).addScaledVector(back, middle.z);
    this.camera.position.copy(this.controls.target).addScaledVector(back, 1.05 * distance);
    this.camera.near = this.radius / 50, this.camera.far = this.radius * 60;
    this.controls.minDistance = this.radius / 20, this.controls.maxDistance = this.radius * 25;
    this.controls.update();
    this.controls.saveState();
  }

  // Comes as near, and moves as far aside, as lets the points fill the first pane.
  fill(points) {
    const { camera, controls } = this, across = new THREE.Vector3(), up = new THREE.Vector3(), v = new THREE.Vector3();
    for (let round = 0; round < 8; round++) {
      this.aim(this.layout()[0]);
      const box = new THREE.Box2();
      for (const p of points) v.set(...p).project(camera), box.expandByPoint(new THREE.Vector2(v.x, v.y));
      const middle = box.getCenter(new THREE.Vector2()), half = box.getSize(new THREE.Vector2()).multiplyScalar(0.5);
      const distance = camera.position.distanceTo(controls.target), tall = distance * Math.tan(camera.fov * Math.PI / 360);
      camera.matrixWorld.extractBasis(across, up, v);
      const shift = across.multiplyScalar(middle.x * tall * camera.aspect).addScaledVector(up, middle.y * tall);
      camera.position.add(shift), controls.target.add(shift);
      this.orbit(0, 0, Math.min(Math.max(Math.max(half.x, half.y) / 0.94, 0.5), 2));
    }
    controls.saveState();
  }

  // For keyboards: orbits the camera, or comes closer (factor below 1).
  orbit(across, up, factor = 1) {
    const { controls, camera } = this, way = new THREE.Spherical().setFromVector3(camera.position.clone().sub(controls.target));
    way.theta += across, way.phi += up, way.radius *= factor;
    camera.position.setFromSpherical(way.makeSafe()).add(controls.target);
    controls.update();
  }

  home() { this.controls.reset(); }

  look(from, at) {
    this.camera.position.set(...from), this.controls.target.set(...at);
    this.controls.update();
  }

  // Rectangles of the panes in CSS pixels: in the fewest rows, unless more of them show the character clearly larger. Of
  // several, each has its label above it, `head` high.
  layout() {
    const width = Math.max(1, this.canvas.clientWidth), height = Math.max(1, this.canvas.clientHeight), count = this.panes.length || 1; // a window may leave no room
    let best = { size: 0 };
    for (let rows = 1; rows <= count; rows++) {
      const columns = Math.ceil(count / rows), w = width / columns, h = height / rows, size = Math.min(w / this.shape, h);
      if (size > 1.15 * best.size) best = { size, columns, w, h };
    }
    const size = Math.min(best.w, best.h) < 150 ? 'small' : best.w < 230 ? 'tight' : '', head = count > 1 ? Math.min({ small: 16, tight: 24 }[size] ?? 30, best.h / 2) : 0;
    return this.panes.map((pane, k) => ({ x: best.w * (k % best.columns), y: best.h * Math.floor(k / best.columns) + head, w: best.w, h: best.h - head, head, size }));
  }

  // A pane narrower than the character shows more above and below instead of cutting it off at the sides.
  aim(rect) {
    const aspect = rect.w / rect.h, tangent = Math.tan(fieldOfView * Math.PI / 360) * Math.max(1, this.shape / aspect);
    this.camera.aspect = aspect;
    this.camera.fov = 2 * Math.atan(tangent) * 180 / Math.PI;
    this.camera.updateProjectionMatrix();
    this.camera.updateMatrixWorld();
  }

  paneAt(x, y) {
    return this.layout().findIndex(r => x >= r.x && x < r.x + r.w && y >= r.y - r.head && y < r.y + r.h);
  }

  // A point of the world in CSS pixels of the canvas, as seen in pane `k`; z is the depth from -1 to 1.
  project(point, k) {
    const rect = this.layout()[k];
    this.aim(rect);
    const v = new THREE.Vector3(...point).project(this.camera);
    return { x: rect.x + (v.x + 1) / 2 * rect.w, y: rect.y + (1 - v.y) / 2 * rect.h, z: v.z };
  }

  // Which of the points (x y z, one after the other) is seen at (x, y): the one in front of those within `reach` pixels; or -1.
  pointAt(points, x, y, k, reach) {
    const rect = this.layout()[k], v = new THREE.Vector3();
    this.aim(rect);
    let best = -1, depth = 1;
    for (let i = 0; i < points.length / 3; i++) {
      v.fromArray(points, 3 * i).project(this.camera);
      const across = rect.x + (v.x + 1) / 2 * rect.w - x, down = rect.y + (1 - v.y) / 2 * rect.h - y;
      if (v.z < depth && Math.hypot(across, down) <= reach) best = i, depth = v.z;
    }
    return best;
  }

  // The point under (x, y) in the plane through `through` that faces the camera.
  unproject(x, y, through, k) {
    const rect = this.layout()[k];
    this.aim(rect);
    const depth = new THREE.Vector3(...through).project(this.camera).z;
    return new THREE.Vector3((x - rect.x) / rect.w * 2 - 1, 1 - (y - rect.y) / rect.h * 2, depth).unproject(this.camera).toArray();
  }

  // World units per CSS pixel at a point.
  pixel(point, k) {
    const rect = this.layout()[k];
    this.aim(rect);
    return 2 * this.camera.position.distanceTo(new THREE.Vector3(...point)) * Math.tan(this.camera.fov * Math.PI / 360) / rect.h;
  }

  // What is drawn in WebGPU: the figures of all panes, or a crowd.
  renderGpu(rects, crowd) {
    const matrices = rect => { this.aim(rect); return forGpu(this.camera); };
    if (crowd) {
      if (crowd.skinner) return crowd.renderGpu(rects[0], matrices(rects[0]));
      const [rect] = rects, at = matrices(rect), offsets = this.gpu.buffer(12 * crowd.count, GPUBufferUsage.VERTEX | GPUBufferUsage.COPY_DST, crowd.places);
      crowd.renderEach(k => {
        const draws = crowd.entry.figure.draws().map(draw => ({ ...draw, first: k, offsets }));
        this.gpu.render([{ rect, ...at, draws }], undefined, k === 0, k === crowd.count - 1);
      });
      return offsets.destroy();
    }
    const figures = this.panes.map(pane => pane.figures.map(group => group.userData.figure));
    const panes = rects.map((rect, k) => ({ rect, ...matrices(rect), draws: figures[k].flatMap(figure => figure.draws()) }));
    this.gpu.render(panes, encoder => { for (const figure of new Set(figures.flat())) figure.evaluate(encoder); });
  }

  resize() {
    const { renderer, canvas } = this, ratio = Math.min(devicePixelRatio || 1, 2), size = renderer.getSize(new THREE.Vector2());
    if (size.x === canvas.clientWidth && size.y === canvas.clientHeight && renderer.getPixelRatio() === ratio) return;
    renderer.setPixelRatio(ratio);
    renderer.setSize(canvas.clientWidth, canvas.clientHeight, false);
  }

  render(beforePane, crowd = null) {
    const { renderer, canvas } = this, rects = this.layout();
    if (this.gpu && rects.length) this.renderGpu(rects, crowd);
    if (!renderer) return;
    this.resize();
    renderer.setScissorTest(true);
    rects.forEach((rect, k) => {
      for (const figure of this.figures.children) figure.visible = !this.gpu && this.panes[k].figures.includes(figure);
      beforePane(this.panes[k], k);
      this.aim(rect);
      const bottom = canvas.clientHeight - rect.y - rect.h;
      renderer.setViewport(rect.x, bottom, rect.w, rect.h);
      renderer.setScissor(rect.x, bottom, rect.w, rect.h);
      renderer.autoClear = true;
      if (crowd && !this.gpu) this.renderCrowd(crowd);
      else renderer.render(this.scene, this.camera);
    });
  }

  // In WebGL 2, one character after the other.
  renderCrowd(crowd) {
    const { renderer } = this;
    renderer.clear();
    renderer.autoClear = false;
    crowd.entry.figure.group.visible = true;
    crowd.renderEach(() => renderer.render(this.scene, this.camera));
  }
}
