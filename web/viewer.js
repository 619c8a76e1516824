// SPDX-License-Identifier: MIT
// The page's state and what follows from it: the set, its models, the pose, and what stands on the stage.
import * as THREE from 'three';
import { Crowd } from './crowd.js';
import { readSet, unpack } from './data.js';
import { canSkinOnGpu, ModelFigure, TruthFigure } from './figure.js';
import { controlsOf, measureErrors } from './errors.js';
import { fields } from './fields.js';
import { GpuFigure, GpuShared } from './gpufigure.js';
import { decodeLook, lookTextures } from './look.js';
import { Overlay } from './overlay.js';
import { roundUp } from './plot.js';
import { Pose } from './pose.js';
import { currentPose } from './poses.js';
import { matchJoints } from './skin/names.js';
import { SinewModel } from './skin/runtime.js';
import { Stage } from './stage.js';

const truthColour = 0xd8a25e, modelColour = 0xb8c4d4;
const motionSteps = 8; // frames that playing may skip
export const views = { model: 'Model', truth: 'Truth', side: 'Side by side', overlay: 'Overlay', all: 'All', crowd: 'Crowd' };
const undoDepth = 200, timeDepth = 60;

function note(times, value) {
  times.push(value);
  if (times.length > timeDepth) times.shift();
}

export class Viewer {
  // gpu: a GpuStage, or null.
  constructor(canvas, runtime, texts, gpu = null) {
    this.runtime = runtime, this.texts = texts, this.gpu = gpu;
    this.state = { frame: 0, chosen: 0, view: 'side', colour: 'plain', bone: 0, scale: 1, wire: false, bones: true, proxies: false,
      gpu: true, look: true, crowd: 100, tool: 'rotate', joint: -1, control: -1, edited: false, playing: false };
    this.stage = new Stage(canvas, () => this.invalidate(), gpu);
    this.crowd = new Crowd(this);
    this.overlay = new Overlay(this.stage.scene);
    this.entries = [], this.undoStack = [], this.problems = [], this.kept = [];
    this.listeners = [];
    this.frameTimes = [], this.evaluateTimes = []; // the last of them, in milliseconds
  }

  changed() {
    for (const listener of this.listeners) listener();
    this.invalidate();
  }

  // ---- the set and its models ---------------------------------------------------------------------------------------

  async openSet(number) {
    const set = await readSet(this.texts[number]);
    await decodeLook(set);
    const packed = await Promise.all(set.models.map(row => unpack(row.bytes).catch(error => error)));
    // Until here the old set is in use, by the times in the table too.
    this.crowd.close(), this.state.view = 'model'; // the page goes on playing meanwhile
    for (const entry of this.entries) this.dropFigure(entry), entry.model?.dispose();
    if (this.truth) this.stage.figures.remove(this.truth.group), this.truth.dispose();
    this.shared?.gpu?.dispose();
    for (const texture of this.shared?.textures?.values() ?? []) texture.dispose();
    this.set = set;
    this.setNumber = number, this.entries = [], this.problems = [], this.undoStack = [], this.kept = [];
    this.truthPositions = new Float32Array(3 * set.vertices);
    this.shared = { index: new THREE.BufferAttribute(set.triangles, 1), truth: new THREE.BufferAttribute(this.truthPositions, 3).setUsage(THREE.DynamicDrawUsage) };
    if (set.look && !this.gpu) this.shared.textures = lookTextures(set.look), this.shared.uv = new THREE.BufferAttribute(set.look.uv, 2);
    if (this.gpu) this.shared.gpu = new GpuShared(this.gpu, set, this.truthPositions);
    this.truth = !set.truth ? null : this.gpu ? new GpuFigure(this.shared.gpu, null, false, truthColour) : new TruthFigure(this.shared, set, truthColour);
    if (this.truth) this.stage.figures.add(this.truth.group);
    this.pose = new Pose(set.parents, set.rest);
    set.models.forEach((row, k) => {
      if (packed[k] instanceof Error) this.fail(row.name, `its bytes cannot be unpacked (${packed[k].message})`);
      else this.addModel(row.name, packed[k], row);
    });
    Object.assign(this.state, { chosen: this.best(), frame: 0, bone: 0, joint: -1, control: -1, edited: false });
    this.state.scale = this.defaultScale();
    this.state.view = ['all', 'side', 'model'].find(v => this.viewChoices().includes(v));
    this.evaluateTimes = [], this.frameTimes = [];
    this.findTips();
    for (const e of this.entries) e.model?.beginMotion();
    this.setFrame(this.telling());
    this.stage.frame(this.sample());
    this.changed();
  }

  // The model with the least error on the test frames; the first where nothing was measured.
  best() {
    const error = e => !e.model ? Infinity : (e.row.test ?? e.row.all)?.rms_pct_diag ?? 1e9, errors = this.entries.map(error);
    return Math.max(errors.indexOf(Math.min(...errors)), 0);
  }

  fail(name, message) {
    this.entries.push({ name, number: this.entries.length, error: message, row: {} });
    this.problems.push(`Could not load ${name}: ${message}`);
  }

  // Opens a model and gives it a place on the stage; the page shows what is wrong with it.
  addModel(name, bytes, row = {}) {
    let model;
    try {
      model = new SinewModel(this.runtime, bytes);
      const entry = this.fit(name, model, row);
      this.entries.push(entry);
      this.makeFigure(entry);
      return entry;
    } catch (error) {
      model?.dispose();
      this.fail(name, error.message);
      return null;
    }
  }

  // A model that was not there when the page was written: it gets its errors here.
  addOther(name, bytes) {
    const entry = this.addModel(name, bytes);
    if (!entry) return null;
    this.choose(entry.number);
    this.goTo(this.state.frame); // its control points and torques
    entry.measured = measureErrors(this, entry);
    return entry;
  }

  // The set's joints for the model's, by name.
  fit(name, model, row) {
    const { set } = this, { info } = model;
    if (info.vertexCount !== set.vertices) throw new Error(`it has ${info.vertexCount} vertices, the mesh of this page ${set.vertices}`);
    if (model.order) throw new Error('its vertices are numbered by its blocks: put them back with sinew pack --order file');
    const jointMap = matchJoints(model.jointNames, set.joints.map(joint => [joint]));
    if (info.controlCount && !row.controls) row.controls = controlsOf(this, model);
    if (info.torqueCount && !row.torques) row.torques = this.entries.find(e => e.row.torques && e.torques.length === info.torqueCount)?.row.torques;
    if (info.controlCount && !row.controls) throw new Error(`it needs ${info.controlCount} control points, which this page has not`);
    // The palette begins with the joints; half-way joints or proxy bones follow.
    const more = info.driveName === 'joints' ? 'extra joint' : 'bone';
    const bones = Array.from({ length: info.paletteCount }, (_, e) => model.jointNames[e] ?? `${more} ${e - info.jointCount}`);
    return { name, number: this.entries.length, model, row, jointMap, bones, joints: new Float32Array(12 * info.jointCount),
      controls: new Float32Array(3 * info.controlCount), torques: new Float32Array(info.torqueCount),
      values: new Float32Array(info.valueCount) };
  }

  makeFigure(entry) {
    this.dropFigure(entry);
    if (this.crowd.entry === entry) this.crowd.close();
    entry.figure = this.gpu ? new GpuFigure(this.shared.gpu, entry.model, this.state.gpu, modelColour)
      : new ModelFigure(this.shared, entry.model, this.state.gpu && !this.stage.blind && canSkinOnGpu(entry.model.info), modelColour);
    if (this.shared.textures) entry.figure.addLook(this.set.look, this.shared.textures, this.shared.uv);
    this.stage.figures.add(entry.figure.group);
  }

  dropFigure(entry) {
    if (!entry.figure) return;
    this.stage.figures.remove(entry.figure.group);
    entry.figure.dispose();
    entry.figure = null;
  }

  get chosen() { return this.entries[this.state.chosen]?.model ? this.entries[this.state.chosen] : null; }

  choose(number) {
    if (!this.entries[number]?.model) return;
    this.state.chosen = number, this.state.control = -1;
    this.state.bone = Math.min(this.state.bone, this.chosen.bones.length - 1);
    if (this.state.view === 'truth') this.state.view = 'model';
    this.refresh();
    this.changed();
  }

  // Changes how things are shown: {view, colour, bone, scale, wire, bones, proxies, tool}.
  show(change) {
    const before = this.state.view, wider = this.state.view === 'crowd' && change.crowd !== undefined;
    Object.assign(this.state, change);
    this.refresh();
    if (wider || (before === 'crowd') !== (this.state.view === 'crowd')) this.lookAtAll();
    this.changed();
  }

  // The camera on everything that the view shows; on a crowd along its columns, from high above.
  lookAtAll() {
    if (this.state.view !== 'crowd') return this.stage.frame(this.sample());
    this.stage.frame(this.crowd.extent(), true);
    this.stage.fill(this.crowd.extent());
  }

  // Picks a joint (-1: none) and its weights, and shows the bones.
  pick(joint) {
    this.state.joint = joint;
    if (joint >= 0) this.state.bones = true;
    const bone = this.chosen?.jointMap.indexOf(joint) ?? -1;
    if (bone >= 0) this.state.bone = bone;
    this.refresh();
    this.changed();
  }

  // Picks the bone that moves the skin at (x, y) the most.
  pickBoneAt(x, y, pane) {
    const { entry } = this.stage.panes[pane];
    if (!entry) return;
    entry.model.load(this.input(entry));
    const vertex = this.stage.pointAt(entry.model.evaluate().positions, x, y, pane, 10);
    if (vertex < 0) return;
    const { bones, weights } = entry.model.rest(), own = weights.subarray(8 * vertex, 8 * vertex + 8);
    this.choose(entry.number);
    this.show({ bone: bones[8 * vertex + own.indexOf(Math.max(...own))] });
  }

  // Picks a control point of the chosen model (-1: none).
  pickControl(number) {
    this.state.control = number;
    this.drawOverlay();
    this.changed();
  }

  setGpu(gpu) {
    this.state.gpu = gpu;
    for (const entry of this.entries) if (entry.model) this.makeFigure(entry);
    this.refresh();
    this.changed();
  }

  viewChoices() {
    const several = this.entries.filter(e => e.model).length > 1;
    return Object.keys(views).filter(v => v === 'model' || (v === 'all' ? several : v === 'crowd' ? this.chosen : this.truth));
  }

  // Some points of everything that will be seen: of every frame, or of the rest pose.
  sample() {
    const { set } = this, out = [], places = new Float32Array(3 * set.vertices);
    const frames = set.truth ? set.frame_count : 1, frameStep = Math.ceil(frames / 24), step = Math.ceil(set.vertices / 400);
    for (let f = 0; f < frames; f += frameStep) {
      if (set.truth) set.truth.read(f, set.source, places);
      else if (this.chosen) places.set(this.chosen.model.rest().positions);
      for (let i = 0; i < set.vertices; i += step) out.push(Array.from(places.subarray(3 * i, 3 * i + 3)));
    }
    return out;
  }

  // A scale of the heat map that is the same for all models and hardly cuts off the worst of them.
  defaultScale() {
    const far = this.entries.map(e => e.row.p99_pct_diag ?? 3 * e.row.all?.rms_pct_diag).filter(v => v > 0);
    return far.length ? roundUp(Math.max(...far)) : 1;
  }

  // The frame that tells the most at first sight: the one that the best models find hardest.
  telling() {
    const rows = this.entries.map(e => e.row.frame_rms_pct_diag).filter(Boolean);
    if (!rows.length) return 0;
    const sums = rows[0].map((_, f) => rows.reduce((s, r) => s + (r[f] ?? 0), 0));
    return sums.indexOf(Math.max(...sums));
  }

  // Ends of chains: for a joint without children, twice as far as the middle of what it moves.
  findTips() {
    const entry = this.entries.find(e => e.model?.info.driveName === 'joints') ?? this.entries.find(e => e.model);
    this.tips = [];
    if (!entry) return;
    const centres = this.centres(entry);
    entry.jointMap.forEach((j, k) => {
      if (this.pose.children[j].length || !centres[k]) return;
      const from = this.pose.restPoint(j);
      this.tips.push({ joint: j, tip: true, point: from.map((x, c) => x + 1.9 * (centres[k][c] - x)) });
    });
  }

  // Middle of the vertices that each palette entry moves, in the rest pose; null for one without any.
  centres(entry) {
    if (entry.centres) return entry.centres;
    const { bones, weights, positions } = entry.model.rest(), sums = entry.bones.map(() => [0, 0, 0, 0]);
    for (let k = 0; k < weights.length; k++) {
      const sum = sums[bones[k]], w = weights[k], i = 3 * (k >> 3);
      if (w <= 0) continue;
      for (let c = 0; c < 3; c++) sum[c] += w * positions[i + c];
      sum[3] += w;
    }
    entry.centres = sums.map(s => s[3] > 1e-6 ? [s[0] / s[3], s[1] / s[3], s[2] / s[3]] : null);
    return entry.centres;
  }

  // ---- frames and poses -------------------------------------------------------------------------------------------------

  setFrame(f) {
    const { set, state } = this, shown = this.shown();
    // What was not evaluated at a frame nearby does not know how far its joints have rotated.
    for (const e of this.entries) if (e.model && (Math.abs(f - state.frame) > motionSteps || !shown.includes(e))) e.model.beginMotion();
    state.frame = Math.min(Math.max(f, 0), set.frame_count - 1);
    state.edited = false;
    const size = 12 * this.pose.count;
    this.pose.matrices.set(set.poses.subarray(state.frame * size, (state.frame + 1) * size));
    for (const { row, controls, torques, values } of this.entries) {
      if (controls?.length) controls.set(row.controls.subarray(state.frame * controls.length, (state.frame + 1) * controls.length));
      if (torques?.length && row.torques) torques.set(row.torques.subarray(state.frame * torques.length, (state.frame + 1) * torques.length));
      if (values?.length) values.set(row.values ? row.values.subarray(state.frame * values.length, (state.frame + 1) * values.length) : values.map(() => 0));
    }
    if (set.truth) {
      set.truth.read(state.frame, set.source, this.truthPositions);
      this.shared.truth.needsUpdate = true;
      this.shared.gpu?.setTruth(this.truthPositions);
      this.truth.update(this.truthPositions);
    }
    this.refresh();
  }

  goTo(f) {
    if (this.state.edited) this.remember();
    this.setFrame(f);
    this.changed();
  }

  remember() {
    const copy = this.entries.map(e => e.model && { controls: e.controls.slice(), torques: e.torques.slice(), values: e.values.slice() });
    this.undoStack.push({ frame: this.state.frame, edited: this.state.edited, matrices: this.pose.matrices.slice(), copy });
    if (this.undoStack.length > undoDepth) this.undoStack.shift();
  }

  undo() {
    const last = this.undoStack.pop();
    if (!last) return;
    this.setFrame(last.frame);
    this.state.edited = last.edited;
    this.pose.matrices.set(last.matrices);
    last.copy.forEach((c, k) => c && (this.entries[k].controls.set(c.controls), this.entries[k].torques.set(c.torques), this.entries[k].values.set(c.values)));
    this.refresh();
    this.changed();
  }

  reset() {
    if (!this.state.edited) return;
    this.remember();
    this.setFrame(this.state.frame);
    this.changed();
  }

  // ---- poses that are kept -----------------------------------------------------------------------------------------------------

  keepPose() {
    this.kept.push(currentPose(this));
    this.changed();
  }

  usePose(pose) {
    this.remember();
    this.edit(() => {
      this.pose.matrices.set(pose.joints);
      for (const entry of this.entries) {
        const input = pose.inputs[entry.name];
        for (const key of ['controls', 'torques']) if (entry.model && input?.[key].length === entry[key].length) entry[key].set(input[key]);
      }
    });
  }

  // A change of the pose by hand; remember() comes before the first of a drag.
  edit(change) {
    change();
    this.state.edited = true, this.state.playing = false;
    this.refresh();
    this.changed();
  }

  turn(joint, axis, angle) { this.edit(() => this.pose.rotate(joint, axis, angle)); }

  // What the runtime gets for a model now.
  input(entry) {
    entry.jointMap.forEach((j, k) => entry.joints.set(this.pose.matrices.subarray(12 * j, 12 * j + 12), 12 * k));
    return { joints: entry.joints, controls: entry.controls, torques: entry.torques, values: entry.values };
  }

  // ---- the stage ------------------------------------------------------------------------------------------------------

  hasTruth() { return Boolean(this.truth) && !this.state.edited && this.state.view !== 'crowd'; }

  shown() {
    if (this.state.view === 'truth') return [];
    if (this.state.view === 'all') return this.entries.filter(e => e.model);
    return this.chosen ? [this.chosen] : [];
  }

  frameError(entry) {
    return this.hasTruth() ? entry.row.frame_rms_pct_diag?.[this.state.frame] : undefined;
  }

  makePanes() {
    const { view } = this.state, truth = this.truth && { figures: [this.truth.group], label: 'Truth', note: this.state.edited ? 'of the frame, not of your pose' : '' };
    const models = this.shown().map(e => ({ figures: [e.figure.group], label: e.name, entry: e }));
    if (view === 'truth') return [truth];
    if (view === 'crowd') return [{ figures: [], crowd: true, label: `${this.state.crowd} × ${this.chosen.name}` }];
    if (view === 'side') return [truth, ...models];
    if (view === 'all') return truth ? [truth, ...models] : models;
    if (view === 'overlay' && models.length) return [{ ...models[0], figures: [...models[0].figures, this.truth.group], label: `${models[0].label} over the truth` }];
    return models;
  }

  // Evaluates what is shown, and everything that depends on the pose.
  refresh() {
    const shown = this.shown(), start = performance.now();
    for (const entry of shown) entry.figure.update(this.input(entry));
    if (shown.length && shown.every(e => e.warm)) note(this.evaluateTimes, (performance.now() - start) / shown.length);
    for (const entry of shown) entry.warm = true; // the first evaluation has the browser compile
    this.colour();
    this.drawOverlay();
    this.stage.panes = this.makePanes();
    if (this.state.view === 'crowd') this.crowd.open(this.chosen, this.state.crowd), this.crowd.pose();
    if (this.truth) {
      this.truth.setGhost(this.state.view === 'overlay' ? (this.state.colour === 'plain' ? 0.45 : 0.22) : 0);
      this.truth.setColours(this.state.colour === 'normals' ? 'normals' : 'plain');
      this.truth.setWire(this.state.wire && this.state.view !== 'overlay');
    }
  }

  colour() {
    const { state, set } = this;
    for (const entry of this.shown()) {
      const field = fields[state.colour]?.values(entry, state);
      if (field) entry.figure.setColours('field', 0, field);
      else if (state.colour === 'error' && this.hasTruth()) entry.figure.setColours('error', 100 / (state.scale * set.diagonal));
      else entry.figure.setColours(state.colour === 'normals' ? 'normals' : 'plain');
      entry.figure.setWire(state.wire);
      entry.figure.setLook(state.look);
    }
  }

  drawOverlay() {
    const { overlay, pose, state, chosen } = this, picked = state.joint, segments = [], lit = new Set();
    const place = j => pose.position(j);
    if (state.bones && this.posable()) {
      pose.parents.forEach((p, j) => {
        if (p < 0) return;
        if (p === picked) lit.add(segments.length);
        segments.push([place(p), place(j)]);
      });
      for (const tip of this.tips) {
        if (tip.joint === picked) lit.add(segments.length);
        segments.push([place(tip.joint), pose.apply(tip.joint, tip.point)]);
      }
    }
    overlay.drawBones(segments, lit);
    const handles = state.bones ? this.handles() : [];
    overlay.drawJoints(handles.map(h => h.at), handles.map(h => h.joint === picked && !h.tip ? 0xe69f00 : h.tip ? 0xcc79a7 : 0x0072b2));
    const points = this.controlPoints();
    overlay.drawControls(points, points.map((_, k) => k === state.control ? 0xe69f00 : 0xd55e00));
    const frames = [];
    if (state.proxies && chosen && state.view !== 'truth') {
      const centres = this.centres(chosen), palette = chosen.model.palette();
      for (let e = chosen.model.info.jointCount; e < chosen.bones.length; e++) {
        if (!centres[e]) continue;
        const m = palette.subarray(12 * e, 12 * e + 12), p = centres[e];
        frames.push({ bone: e, at: [0, 4, 8].map(r => m[r] * p[0] + m[r + 1] * p[1] + m[r + 2] * p[2] + m[r + 3]), axes: [0, 1, 2].map(c => [m[c], m[4 + c], m[8 + c]]) });
      }
    }
    overlay.drawProxies(frames, 0.03 * this.set.diagonal * Math.min(1, Math.sqrt(12 / frames.length)), state.colour === 'weights' ? state.bone : -1);
  }

  // Whether joints move anything that is shown: control points alone drive some models.
  posable() { return !this.shown().length || this.shown().some(e => e.model.info.jointCount > 0); }

  // Whether joints are shown and taken hold of in a pane: not beside a truth that has another pose.
  jointed(pane) { return pane.crowd ? false : pane.entry ? pane.entry.model.info.jointCount > 0 : this.posable() && !this.state.edited; }

  // Joints and ends of chains that can be taken hold of.
  handles() {
    if (!this.posable()) return [];
    const joints = this.pose.parents.map((_, j) => ({ joint: j, tip: false, point: this.pose.restPoint(j), at: this.pose.position(j) }));
    return [...joints, ...this.tips.map(t => ({ ...t, at: this.pose.apply(t.joint, t.point) }))];
  }

  controlPoints() {
    const controls = this.chosen?.controls ?? [], out = [];
    for (let k = 0; k < controls.length; k += 3) out.push(Array.from(controls.subarray(k, k + 3)));
    return out;
  }

  invalidate() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(now => {
      this.scheduled = false;
      this.render(now);
    });
  }

  render(now) {
    if (this.lastRender && now - this.lastRender < 250) note(this.frameTimes, now - this.lastRender);
    this.lastRender = now;
    if (!this.set) return;
    if (this.state.playing) this.step(now);
    const { joint, tool, bones } = this.state;
    this.stage.render((pane, k) => {
      const jointed = this.jointed(pane);
      const rings = jointed && joint >= 0 && tool === 'rotate' && bones;
      this.overlay.showSkeleton(jointed, this.stage.layout()[k]);
      const at = rings && this.pose.position(joint);
      this.overlay.placeRings(at || null, rings ? this.pose.axes(joint) : null, rings ? this.stage.pixel(at, k) : 0);
      this.overlay.axes.visible = pane.entry === this.chosen;
      this.overlay.controls.visible = pane.entry === this.chosen;
    }, this.state.view === 'crowd' ? this.crowd : null);
    this.onRendered?.();
    if (this.state.playing) this.invalidate();
  }

  play(playing) {
    this.state.playing = playing && this.set.frame_count > 1;
    if (playing && this.state.edited) this.goTo(this.state.frame);
    this.clock = { from: this.state.frame, at: performance.now() };
    this.changed();
  }

  step(now) {
    const f = (this.clock.from + Math.floor(Math.max(now - this.clock.at, 0) / 1000 * (this.set.fps || 30))) % this.set.frame_count;
    if (f === this.state.frame) return;
    this.setFrame(f);
    for (const listener of this.listeners) listener();
  }
}
