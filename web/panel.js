// SPDX-License-Identifier: MIT
// Everything around the stage: choices, the table, the plot, sliders, and the words that say what is shown.
import { lineColour, lineDash, rampCss } from './colours.js';
import { fields } from './fields.js';
import { Plot } from './plot.js';
import { currentPose, readPoses, toGlb, toJson } from './poses.js';
import { views } from './viewer.js';

const $ = id => document.getElementById(id);
const scales = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20];
const degrees = 180 / Math.PI;

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

const percent = v => v === undefined || v === null ? '–' : v > 0 && v < 0.001 ? v.toPrecision(1) : v.toFixed(v < 1 ? 3 : v < 10 ? 2 : 1);
const kilobytes = bytes => `${(bytes / 1000).toFixed(bytes < 1e5 ? 1 : 0)}`;
// What the columns of the table mean.
const meanings = {
  'rms %': 'root mean square distance to the example meshes, in percent of the diagonal', 'max %': 'largest distance of any vertex in any frame, in percent of the diagonal',
  'norm. °': 'mean angle between the model’s normals and those of the example meshes', 'rough %': 'bumps in new poses, in percent of the mean edge',
  KB: 'size of the model file', 'µs native': 'microseconds of one evaluation, as the tool measured it', 'µs here': 'microseconds of one evaluation in this browser',
};
const hasProxies = ({ model }) => model && model.info.paletteCount > Math.max(1, model.info.jointCount);
const mean = list => list.reduce((sum, x) => sum + x, 0) / (list.length || 1);
const micro = us => us === undefined || us === null ? '–' : us.toFixed(us < 100 ? 1 : 0);

// Buttons of which one is pressed; arrow keys move between them.
function choice(element, items, current, onChange) {
  const told = JSON.stringify([items, current]); // while a clip plays, what is there stays: a click needs it
  if (element.dataset.told === told) return;
  element.dataset.told = told;
  element.replaceChildren(...items.map(([id, text]) => {
    const button = make('button', { type: 'button', textContent: text, onclick: () => onChange(id) });
    button.dataset.id = id;
    button.setAttribute('role', 'radio');
    button.setAttribute('aria-checked', id === current);
    button.tabIndex = id === current ? 0 : -1;
    return button;
  }));
  element.onkeydown = event => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault(), event.stopPropagation();
    const now = items.findIndex(([id]) => id === current), next = items[(now + step + items.length) % items.length][0];
    onChange(next);
    element.querySelector(`[data-id="${next}"]`)?.focus();
  };
}

// A name that may be broken between its options (psd:blend=dualquat,pack=1) and, where one takes more than a line, behind its punctuation.
const breakable = name => name.split(/(?<=[:,])/).map(option => make('bdi', {}, ...option.split(/(?<=[=_.])/).flatMap(part => [part, make('wbr')])));

export class Panel {
  constructor(viewer) {
    this.viewer = viewer;
    this.plot = new Plot($('plot'), f => viewer.goTo(f));
    $('sets').replaceChildren(...viewer.texts.map((text, k) => make('option', { value: k, textContent: JSON.parse(text).name })));
    $('sets').hidden = viewer.texts.length < 2;
    $('sets').onchange = async () => { await viewer.openSet(Number($('sets').value)).catch(error => viewer.problems.push(error.message)), this.build(); };
    $('frame').oninput = () => viewer.goTo(Number($('frame').value));
    $('play').onclick = () => viewer.play(!viewer.state.playing);
    $('undo').onclick = () => viewer.undo();
    $('reset').onclick = () => viewer.reset();
    $('about').onclick = () => {
      $('help').showModal();
      $('help').scrollTop = 0;
    };
    $('keep').onclick = () => viewer.keepPose();
    $('save-glb').onclick = () => this.save('poses.glb', toGlb(viewer, this.toSave()), 'model/gltf-binary');
    $('save-json').onclick = () => this.save('poses.json', toJson(viewer, this.toSave()), 'application/json');
    $('load').onchange = () => this.loadPoses($('load').files);
    $('joint').onchange = () => viewer.pick(Number($('joint').value));
    $('control').onchange = () => viewer.pickControl(Number($('control').value));
    $('bone').onchange = () => viewer.show({ bone: Number($('bone').value) });
    $('scale').onchange = () => viewer.show({ scale: Number($('scale').value) });
    $('crowd').oninput = () => viewer.show({ crowd: Number($('crowd').value) });
    $('file').onchange = () => this.addFiles($('file').files);
    $('legend-ramp').style.background = rampCss;
    viewer.listeners.push(() => this.refresh());
    if (viewer.stage.blind) $('labels').textContent = 'This browser has neither WebGPU nor WebGL 2: there is no picture. Errors, sizes and times are in the table.';
    viewer.onRendered = () => this.stats();
    new ResizeObserver(() => viewer.set && this.labels()).observe($('canvas'));
    new ResizeObserver(() => this.fitTable()).observe($('models').parentElement);
  }

  async addFiles(files) {
    for (const file of files) {
      this.viewer.addOther(file.name.replace(/\.sinew$/, ''), new Uint8Array(await file.arrayBuffer()));
    }
    $('file').value = '';
    this.viewer.changed();
    this.build();
  }

  // The poses that were kept; the present one where there are none.
  toSave() { return this.viewer.kept.length ? this.viewer.kept : [currentPose(this.viewer)]; }

  save(name, data, type) {
    const link = make('a', { download: name, href: URL.createObjectURL(new Blob([data], { type })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  async loadPoses(files) {
    const { viewer } = this;
    for (const file of files) {
      try {
        const poses = readPoses(viewer, new Uint8Array(await file.arrayBuffer()));
        viewer.kept.push(...poses);
        if (poses.length) viewer.usePose(poses[0]);
      } catch (error) {
        viewer.problems.push(`Could not load ${file.name}: ${error.message}`);
      }
    }
    $('load').value = '';
    this.problems();
    viewer.changed();
  }

  // A button for every pose that was kept.
  keptPoses() {
    const { viewer } = this, drawn = viewer.kept.length;
    if (this.keptDrawn === viewer.kept && this.keptCount === drawn) return;
    this.keptDrawn = viewer.kept, this.keptCount = drawn;
    $('kept').replaceChildren(...viewer.kept.map((pose, k) => {
      const drop = make('button', { type: 'button', textContent: '×', className: 'drop', onclick: () => { viewer.kept.splice(k, 1), viewer.changed(); } });
      drop.setAttribute('aria-label', `Forget pose ${k + 1}`);
      return make('span', {}, make('button', { type: 'button', textContent: `Pose ${k + 1}`, onclick: () => viewer.usePose(pose) }), drop);
    }));
  }

  // What depends on the set only.
  build() {
    const { viewer } = this, { set, state } = viewer;
    document.title = set.name === 'Sinew' ? 'Sinew' : `Sinew · ${set.name}`;
    $('title').textContent = viewer.texts.length > 1 ? 'Sinew' : document.title; // the list beside it has the name
    $('sets').value = viewer.setNumber;
    $('frame').max = set.frame_count - 1;
    $('save-glb').disabled = !set.joints.length;
    $('footer').hidden = set.frame_count < 2;
    $('joint').replaceChildren(make('option', { value: -1, textContent: 'none' }), ...set.joints.map((name, j) => make('option', { value: j, textContent: name })));
    const list = scales.includes(state.scale) ? scales : [...scales, state.scale].sort((a, b) => a - b);
    $('scale').replaceChildren(...list.map(v => make('option', { value: v, textContent: `${v} % of the diagonal` })));
    const check = (key, text, apply) => {
      const box = make('input', { type: 'checkbox', checked: state[key], id: `check-${key}`, onchange: () => apply ? apply(box.checked) : viewer.show({ [key]: box.checked }) });
      return make('label', {}, box, text);
    };
    $('checks').replaceChildren(check('wire', 'Wireframe'), ...(set.joints.length ? [check('bones', 'Bones')] : []),
      ...(viewer.entries.some(hasProxies) ? [check('proxies', 'Proxy bones')] : []), check('gpu', 'Skin on the GPU', on => viewer.setGpu(on)), ...(set.look ? [check('look', 'Own colours')] : []));
    $('h-pose').hidden = !set.joints.length && !viewer.entries.some(e => e.model?.info.controlCount);
    this.turns();
    this.problems();
    this.refresh();
    this.measure();
  }

  problems() {
    const { viewer } = this;
    $('problems').replaceChildren(...viewer.problems.map(text => {
      const close = make('button', { type: 'button', textContent: '×', className: 'close', onclick: () => { viewer.problems = viewer.problems.filter(t => t !== text), this.problems(); } });
      close.setAttribute('aria-label', 'Close this message');
      return make('p', {}, make('span', { textContent: text }), close);
    }));
  }

  // Times in this browser, one model after the other so that the page stays alive; twice, because a browser may take
  // seconds until it has compiled in earnest.
  async measure() {
    const { entries } = this.viewer;
    for (let round = 1; round <= 2; round++) {
      for (const entry of entries) {
        if (!entry.model || entry.timed >= round) continue;
        await new Promise(done => setTimeout(done, 100));
        if (entries !== this.viewer.entries) return;
        entry.model.load(this.viewer.input(entry));
        entry.here = Math.min(entry.here ?? Infinity, entry.model.time());
        entry.timed = round;
        this.table();
      }
    }
  }

  slider(name, low, high, step, onInput) {
    const output = make('output'), input = make('input', { type: 'range', min: low, max: high, step });
    let sliding = false;
    input.oninput = () => {
      if (!sliding) this.viewer.remember(), sliding = true;
      onInput(Number(input.value));
    };
    input.onchange = () => { sliding = false; };
    return { label: make('label', {}, make('span', { textContent: name }), input, output), input, output };
  }

  // Sliders that rotate the chosen joint about its own axes: the same as the rings, for keyboards and small screens.
  turns() {
    this.turned = [0, 0, 0];
    this.turnSliders = ['Rotate x', 'Rotate y', 'Rotate z'].map((name, axis) => {
      const slider = this.slider(name, -180, 180, 1, value => {
        const { viewer } = this, { joint } = viewer.state, by = value - this.turned[axis];
        this.turned[axis] = value;
        this.mine = true, viewer.turn(joint, viewer.pose.axes(joint)[axis], by / degrees), this.mine = false;
      });
      return slider;
    });
    $('turns').replaceChildren(...this.turnSliders.map(s => s.label));
  }

  // Sliders for the chosen control point's place: the same as dragging it.
  controls() {
    const { chosen, set, state } = this.viewer, count = chosen ? chosen.controls.length / 3 : 0;
    $('pose-controls').hidden = !count, $('pose-joints').hidden = !set.joints.length || !this.viewer.posable();
    if (!count) return;
    if (this.controlsOf !== chosen) {
      this.controlsOf = chosen;
      $('control').replaceChildren(make('option', { value: -1, textContent: 'none' }), ...Array.from({ length: count }, (_, k) => make('option', { value: k, textContent: `point ${k + 1}` })));
      this.moveSliders = ['x', 'y', 'z'].map((name, axis) => {
        const values = chosen.row.controls.filter((_, n) => n % 3 === axis), room = 0.2 * set.diagonal;
        return this.slider(`Move ${name}`, values.reduce((a, b) => Math.min(a, b)) - room, values.reduce((a, b) => Math.max(a, b)) + room, set.diagonal / 1000,
          value => this.viewer.edit(() => { chosen.controls[3 * state.control + axis] = value; }));
      });
      $('moves').replaceChildren(...this.moveSliders.map(s => s.label));
    }
    const digits = Math.max(0, 2 - Math.floor(Math.log10(set.diagonal)));
    $('control').value = state.control;
    this.moveSliders.forEach((s, axis) => {
      const value = chosen.controls[3 * state.control + axis];
      s.input.disabled = state.control < 0, s.input.value = value ?? 0, s.output.textContent = state.control < 0 ? '' : value.toFixed(digits);
    });
  }

  torques() {
    const { chosen } = this.viewer, count = chosen?.torques.length ?? 0;
    if (this.torquesOf === chosen) return;
    this.torquesOf = chosen, this.torqueSliders = [];
    for (let j = 0; j < count; j++) {
      const range = chosen.model.torqueRange(j);
      if (!range) continue;
      const slider = this.slider(chosen.model.jointNames[j], range[0], range[1], (range[1] - range[0]) / 400, value => this.viewer.edit(() => { this.viewer.chosen.torques[j] = value; }));
      this.torqueSliders.push({ ...slider, joint: j });
    }
    $('torques').replaceChildren(...(this.torqueSliders.length ? [make('h2', { textContent: 'Torque' }), ...this.torqueSliders.map(s => s.label)] : []));
  }

  // A slider for every named value.
  values() {
    const { chosen } = this.viewer, names = chosen?.model?.valueNames ?? [];
    if (this.valuesOf === chosen) return;
    this.valuesOf = chosen;
    this.valueSliders = names.map((name, v) => {
      const [low, high] = chosen.model.valueRange(v);
      return this.slider(name, low, high, (high - low) / 400, value => this.viewer.edit(() => { this.viewer.chosen.values[v] = value; }));
    });
    $('values').replaceChildren(...(names.length ? [make('h2', { textContent: 'Values' }), ...this.valueSliders.map(s => s.label)] : []));
  }

  // What depends on the state.
  refresh() {
    const { viewer } = this, { state, set } = viewer;
    if (!set) return;
    choice($('view'), viewer.viewChoices().map(v => [v, views[v]]), state.view, v => viewer.show({ view: v }));
    const colours = [['plain', 'Plain'], ...(viewer.truth ? [['error', 'Error']] : []), ['normals', 'Normals'],
      ...Object.entries(fields).filter(([, f]) => viewer.chosen && f.applies(viewer.chosen)).map(([id, f]) => [id, f.title])];
    choice($('colour'), colours, state.colour, c => viewer.show({ colour: c }));
    choice($('tool'), [['rotate', 'Rotate'], ['pull', 'Pull']], state.tool, t => viewer.show({ tool: t }));
    for (const box of $('checks').querySelectorAll('input')) box.checked = state[box.id.slice('check-'.length)];
    const crowd = state.view === 'crowd'; // has no colours
    $('colour').hidden = crowd, $('bone-row').hidden = crowd || state.colour !== 'weights';
    if (this.bonesOf !== viewer.chosen && viewer.chosen) {
      this.bonesOf = viewer.chosen;
      $('bone').replaceChildren(...viewer.chosen.bones.map((name, e) => make('option', { value: e, textContent: name })));
    }
    $('bone').value = state.bone, $('joint').value = state.joint;
    $('scale-row').hidden = crowd || state.colour !== 'error';
    $('scale').value = state.scale;
    $('crowd-row').hidden = !crowd, $('crowd').value = state.crowd, $('crowd-text').textContent = state.crowd;
    $('frame').value = state.frame;
    $('frame-text').textContent = `frame ${state.frame} of ${set.frame_count - 1}${state.edited ? ' (posed)' : ''}`;
    $('play').textContent = state.playing ? '❚❚' : '▶';
    $('play').setAttribute('aria-label', state.playing ? 'Pause' : 'Play');
    $('undo').disabled = !viewer.undoStack.length, $('reset').disabled = !state.edited;
    if (!this.mine) this.turned = [0, 0, 0];
    this.turnSliders.forEach((s, k) => {
      s.input.disabled = state.joint < 0, s.input.value = this.turned[k], s.output.textContent = `${this.turned[k]}°`;
    });
    this.torques();
    for (const s of this.torqueSliders) s.input.value = viewer.chosen.torques[s.joint], s.output.textContent = viewer.chosen.torques[s.joint].toPrecision(3);
    this.values();
    this.valueSliders.forEach((s, v) => { const value = viewer.chosen.values[v]; s.input.value = value, s.output.textContent = value.toPrecision(3); });
    this.controls();
    this.keptPoses();
    this.table(), this.legend(), this.labels(), this.say();
    const rows = viewer.entries.filter(e => e.row.frame_rms_pct_diag).map(e => ({ name: e.name, number: e.number, values: e.row.frame_rms_pct_diag }));
    const drawn = `${viewer.setNumber} ${state.chosen} ${rows.length} ${rows.map(r => r.values.length)} ${$('plot').clientWidth}`;
    if (this.drawn !== drawn) this.plot.draw(rows, set.frame_count, set.training, state.chosen), this.drawn = drawn;
    this.plot.setFrame(state.frame);
  }

  table() {
    const { viewer } = this, test = viewer.entries.some(e => e.row.test), measured = viewer.entries.some(e => e.row.all);
    // name, value, text, and where a table without room loses it: 1 first
    const seen = e => test ? e.row.test : e.row.all;
    const columns = [
      ...(measured && test ? [['train rms %', e => e.row.train?.rms_pct_diag, percent, 3]] : []),
      ...(measured ? [[test ? 'test rms %' : 'rms %', e => seen(e)?.rms_pct_diag, percent], ['max %', e => seen(e)?.max_pct_diag, percent], ['norm. °', e => seen(e)?.normal_deg, percent, 2]] : []),
      ...(viewer.entries.some(e => e.row.roughness !== undefined) ? [['rough %', e => e.row.roughness, percent, 1]] : []),
      ['KB', e => e.model.info.bytes, kilobytes], ['µs native', e => e.row.us_per_frame, micro, 4], ['µs here', e => e.here, micro],
    ];
    const cell = (tag, k, properties) => {
      const made = make(tag, properties);
      made.dataset.lost = columns[k][3] ?? Infinity;
      return made;
    };
    const working = viewer.entries.filter(e => e.model);
    const told = JSON.stringify([viewer.setNumber, viewer.state.chosen, columns.map(c => c[0]), viewer.entries.map(e => [e.name, ...columns.map(([, get, text]) => e.model ? text(get(e)) : '')])]);
    if (this.tableTold === told) return;
    this.tableTold = told;
    const least = columns.map(([, get]) => working.length > 1 ? Math.min(...working.map(e => get(e) ?? Infinity)) : -1);
    const head = make('tr', {}, make('th', { scope: 'col', textContent: 'Model' }), ...columns.map(([name], k) => cell('th', k, { scope: 'col', textContent: name, title: meanings[name.replace(/^train |^test /, '')] })));
    const rows = viewer.entries.map(e => {
      if (!e.model) {
        const row = make('tr', { className: 'failed' }, make('td', { textContent: `${e.name}: could not be loaded`, colSpan: columns.length + 1 }));
        return row;
      }
      const button = make('button', { type: 'button', title: slots(e.model.info), onclick: () => viewer.choose(e.number) });
      button.innerHTML = `<svg width="22" height="6" aria-hidden="true"><line x2="22" y1="3" y2="3" stroke="${lineColour(e.number)}" stroke-width="3" stroke-dasharray="${lineDash(e.number)}"/></svg><span></span>`;
      button.lastElementChild.append(...breakable(e.name));
      const row = make('tr', {}, make('td', {}, button), ...columns.map(([, get, text], k) => cell('td', k, { textContent: text(get(e)), className: get(e) === least[k] ? 'best' : '' })));
      row.setAttribute('aria-selected', e === viewer.chosen);
      return row;
    });
    const focused = document.activeElement?.closest?.('#models tr')?.rowIndex;
    $('models').replaceChildren(make('thead', {}, head), make('tbody', {}, ...rows));
    if (focused !== undefined) $('models').rows[focused]?.querySelector('button')?.focus();
    this.fitTable();
  }

  // Names take several lines, an option each where there is no room; columns go until that fits. Only then an option is broken, too.
  fitTable() {
    const table = $('models'), room = table.parentElement, cells = [...table.querySelectorAll('[data-lost]')];
    table.className = '';
    for (let lost = 0; lost <= 4; lost++) {
      for (const cell of cells) cell.hidden = cell.dataset.lost <= lost;
      if (room.scrollWidth <= room.clientWidth) return;
    }
    table.className = 'tight';
  }

  legend() {
    const { viewer } = this, { state } = viewer, field = fields[state.colour];
    const error = state.colour === 'error' && viewer.hasTruth() && viewer.shown().length > 0;
    $('legend').hidden = state.view === 'crowd' || !error && !(field && viewer.chosen);
    if (error) {
      $('legend-title').textContent = 'Error, % of the diagonal';
      $('legend-ticks').innerHTML = `<span>0</span><span>${state.scale / 4}</span><span>≥ ${state.scale} %</span>`; // the ramp is of the root
    } else if (field && viewer.chosen) {
      $('legend-title').textContent = field.label(viewer.chosen, state);
      $('legend-ticks').replaceChildren(...field.ends.map(text => make('span', { textContent: text })));
    }
  }

  // A name in the corner of every pane.
  labels() {
    if (this.viewer.stage.blind) return;
    const { stage } = this.viewer, rects = stage.layout(), nodes = [];
    stage.panes.forEach((pane, k) => {
      const error = pane.entry && this.viewer.frameError(pane.entry), fixed = this.viewer.state.edited && pane.entry && !pane.entry.model.info.jointCount;
      const by = pane.entry?.model.info.valueCount ? 'driven by named values' : 'moved by its control points';
      const note = pane.note ?? (fixed ? by : error === undefined ? '' : `rms ${percent(error)} %`);
      const label = make('span', { className: rects[k].size }, ...breakable(pane.label), ' ', make('small', { textContent: note }));
      const { x, w, h, head } = rects[k], top = rects[k].y - head;
      Object.assign(label.style, { left: `${x}px`, top: `${top}px` });
      label.style.setProperty('--room', `${w}px`);
      nodes.push(label);
      if (x > 0) nodes.push(Object.assign(make('i'), { style: `left:${x}px;top:${top}px;width:1px;height:${h + head}px` }));
      if (top > 0) nodes.push(Object.assign(make('i'), { style: `left:${x}px;top:${top}px;width:${w}px;height:1px` }));
    });
    $('labels').replaceChildren(...nodes);
  }

  // In words, for everybody and for screen readers.
  say() {
    const { viewer } = this, { state, set, chosen } = viewer, parts = [];
    const kind = set.training ? (set.training.includes(state.frame) ? 'a training frame' : 'a test frame') : '';
    const still = set.frame_count < 2 && !set.truth, when = state.edited ? `your pose${still ? '' : `, from frame ${state.frame}`}` : `frame ${state.frame}${kind ? `, ${kind}` : ''}`;
    if (state.view === 'truth' || !chosen) parts.push(viewer.truth ? `The example mesh of ${when}.` : 'There is no model to show.');
    else if (state.view === 'crowd') parts.push(`${state.crowd} characters of <b>${escape(chosen.name)}</b>, each at another moment.`);
    else if (state.view === 'all') parts.push(`All models in ${when}.`);
    else parts.push(`<b>${escape(chosen.name)}</b> (${slots(chosen.model.info)})${still && !state.edited ? '' : ` in ${when}`}${{ side: ', beside the example mesh', overlay: ', with the example mesh over it in orange' }[state.view] ?? ''}.`);
    const error = chosen && !['truth', 'all', 'crowd'].includes(state.view) ? viewer.frameError(chosen) : undefined;
    if (error !== undefined && error !== null) parts.push(`Its error is ${percent(error)} % of the diagonal (rms).`);
    const colour = state.view === 'crowd' ? 'plain' : state.colour;
    if (state.edited && viewer.truth) parts.push('There is no example mesh of your pose: no errors are shown.');
    else if (colour === 'error') parts.push('Colours: distance of every vertex to the example mesh.');
    if (fields[colour] && chosen) parts.push(`Colours: ${escape(fields[colour].label(chosen, state))}.`);
    if (colour === 'normals') parts.push('Colours: directions of the normals.');
    $('caption').innerHTML = parts.join(' ');
    document.getElementById('canvas').setAttribute('aria-label', $('caption').textContent);
    const quantised = set.truth ? ` Example frames are stored with 16 bits per coordinate: at most ${(100 * set.truth.error / set.diagonal).toPrecision(1)} % of the diagonal off.` : '';
    const part = viewer.entries.map(e => e.row.joints_inside_pct).find(v => v !== undefined);
    const inside = part === undefined ? '' : ` (${part.toFixed(0)} % of those with a parent inside the mesh)`;
    $('facts').textContent = `${set.vertices} vertices, ${set.triangles.length / 3} triangles, ${set.joints.length} joints${inside}, ${set.frame_count} frames.${quantised} Written by Sinew ${set.version}.`;
  }

  stats() {
    const { viewer } = this, { chosen } = viewer, now = performance.now(), early = 200 - (now - (this.statsAt ?? -Infinity));
    if (early > 0) { // the last frame before the view rests is reported, too
      this.statsLater ??= setTimeout(() => { this.statsLater = undefined, this.stats(); }, early);
      return;
    }
    this.statsAt = now;
    const where = chosen ? `skinned in ${chosen.figure?.skinned ?? 'WebAssembly'}${viewer.stage.blind ? '' : `, drawn in ${viewer.gpu ? 'WebGPU' : 'WebGL 2'}`}` : '';
    const spent = 1000 * mean(viewer.evaluateTimes); // a browser's clock may have steps of 100 µs
    const frame = viewer.frameTimes.length ? `frame ${mean(viewer.frameTimes).toFixed(1)} ms · ` : '';
    if (viewer.state.view === 'crowd' && chosen) {
      const { pose, gpu } = viewer.crowd.times;
      $('stats').textContent = `${frame}posing ${pose.toFixed(1)} ms${gpu ? ` · GPU ${gpu.toFixed(1)} ms` : ''} · ${where}`;
      return;
    }
    $('stats').textContent = chosen ? `${frame}evaluation ${spent > 0 ? micro(spent) : '< 100'} µs · ${where}` : '';
  }
}

const escape = text => text.replace(/[&<>]/g, c => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]);

function slots(info) {
  const drive = { joints: info.jointCount || !info.valueCount ? `${info.jointCount} joints` : `${info.valueCount} named values`, rotreg: 'proxy bones by rotational regression', torque: 'proxy bones by pose and torque', controls: `${info.controlCount} control points` }[info.driveName] ?? info.driveName;
  const correct = { none: '', rbf: ', pose-space correction', eigen: ', eigen-displacement correction' }[info.correctName] ?? `, ${info.correctName}`;
  const blend = { linear: 'linear blend', dualquat: 'dual quaternions', centres: 'centres of rotation' }[info.blendName] ?? info.blendName;
  return `${drive}${correct}, ${blend}`;
}
