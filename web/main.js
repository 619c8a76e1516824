// SPDX-License-Identifier: MIT
// Starts the page, and its keys.
import { setTexts } from './data.js';
import { gpuPositions } from './gpucheck.js';
import { GpuStage } from './gpustage.js';
import { readLink, writeLink } from './link.js';
import { Panel } from './panel.js';
import { Runtime } from './skin/runtime.js';
import { Touch } from './touch.js';
import { Viewer } from './viewer.js';

const $ = id => document.getElementById(id);

// key: [what it is called, what it does, the action]
function makeKeys(viewer) {
  const { state } = viewer, flip = key => viewer.show({ [key]: !state[key] });
  const next = (list, now, step) => list[(list.indexOf(now) + step + list.length) % list.length];
  // The chosen control point by a hundredth of the diagonal, or the chosen joint by five degrees.
  const turn = (axis, event) => {
    const sign = event.shiftKey ? -1 : 1, control = 3 * state.control + axis;
    if (state.control < 0 && state.joint < 0) return;
    viewer.remember();
    if (state.control >= 0) viewer.edit(() => { viewer.chosen.controls[control] += sign * 0.01 * viewer.set.diagonal; });
    else viewer.turn(state.joint, viewer.pose.axes(state.joint)[axis], sign * 5 * Math.PI / 180);
  };
  const step = by => {
    const points = viewer.chosen ? viewer.chosen.controls.length / 3 : 0;
    if (points) viewer.pickControl(next([-1, ...Array(points).keys()], state.control, by));
    else viewer.pick(next([-1, ...viewer.set.joints.keys()], state.joint, by));
  };
  const look = (across, up) => viewer.stage.orbit(across * Math.PI / 24, up * Math.PI / 24);
  return [
    [' ', 'Space', 'play or pause', () => viewer.play(!state.playing)],
    ['ArrowLeft', '←', 'frame before', () => viewer.goTo(state.frame - 1)],
    ['ArrowRight', '→', 'frame after', () => viewer.goTo(state.frame + 1)],
    ['v', 'v', 'next view', () => viewer.show({ view: next(viewer.viewChoices(), state.view, 1) })],
    ['e', 'e', 'error heat map on or off', () => viewer.truth && viewer.show({ colour: state.colour === 'error' ? 'plain' : 'error' })],
    ['n', 'n', 'normals on or off', () => viewer.show({ colour: state.colour === 'normals' ? 'plain' : 'normals' })],
    ['g', 'g', 'weights on or off', () => viewer.show({ colour: state.colour === 'weights' ? 'plain' : 'weights' })],
    ['w', 'w', 'wireframe', () => flip('wire')],
    ['b', 'b', 'bones', () => flip('bones')],
    ['p', 'p', 'rotate or pull', () => viewer.show({ tool: state.tool === 'pull' ? 'rotate' : 'pull' })],
    ['[', '[ ]', 'joint (or control point) before, after', () => step(-1)],
    [']', '', '', () => step(1)],
    ['x', 'x y z', 'turn the joint by 5° about its axes, or move the control point; with shift, back', e => turn(0, e)],
    ['y', '', '', e => turn(1, e)],
    ['z', '', '', e => turn(2, e)],
    ['u', 'u', 'undo (also Ctrl+Z)', () => viewer.undo()],
    ['r', 'r', 'reset to the frame', () => viewer.reset()],
    ['shift ArrowLeft', 'Shift with ← → ↑ ↓', 'look from elsewhere', () => look(-1, 0)],
    ['shift ArrowRight', '', '', () => look(1, 0)],
    ['shift ArrowUp', '', '', () => look(0, -1)],
    ['shift ArrowDown', '', '', () => look(0, 1)],
    ['+', '+ −', 'closer, farther', () => viewer.stage.orbit(0, 0, 1 / 1.1)],
    ['-', '', '', () => viewer.stage.orbit(0, 0, 1.1)],
    ['0', '0', 'back to the first view', () => viewer.stage.home()],
    ['?', '?', 'this help', () => $('about').click()],
  ];
}

function listen(viewer) {
  const keys = makeKeys(viewer);
  $('keys').innerHTML = '<dt>1 … 9</dt><dd>choose a model</dd>' + keys.filter(k => k[1]).map(([, name, what]) => `<dt>${name}</dt><dd>${what}</dd>`).join('');
  addEventListener('keydown', event => {
    if ($('help').open || event.altKey || event.metaKey) return;
    if (event.ctrlKey) {
      if (event.key === 'z') event.preventDefault(), viewer.undo();
      return;
    }
    const typing = event.target.closest?.('input, select, button');
    if (typing && (event.key === ' ' || event.key.startsWith('Arrow') || event.target.matches('select'))) return;
    if (event.key >= '1' && event.key <= '9') return viewer.choose(Number(event.key) - 1);
    const arrow = event.shiftKey && event.key.startsWith('Arrow') ? `shift ${event.key}` : event.key;
    const key = keys.find(k => k[0] === arrow) ?? keys.find(k => k[0] === event.key.toLowerCase());
    if (!key) return;
    event.preventDefault();
    key[3](event);
  });
}

// The address follows the view, when nothing has moved for a moment.
function keepLink(viewer) {
  let timer;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => viewer.state.playing || history.replaceState(null, '', writeLink(viewer)), 300);
  };
  viewer.listeners.push(later);
  viewer.stage.controls.addEventListener('change', later);
  addEventListener('hashchange', () => readLink(viewer, location.hash));
}

// web/page.html calls it with the bytes of the runtime; the page shows what it throws.
window.sinew.start = async bytes => {
  const texts = setTexts();
  if (!texts.length) throw new Error('This page holds no models.');
  let runtime;
  try {
    runtime = await Runtime.create(bytes);
  } catch (error) {
    throw new Error(`This browser cannot run the evaluator (WebAssembly with SIMD): ${error.message}`);
  }
  const gpu = new URLSearchParams(location.search).get('gpu') === 'webgl' ? null : await GpuStage.create($('gpu'));
  const viewer = new Viewer($('canvas'), runtime, texts, gpu);
  if (gpu) {
    const tell = message => { viewer.problems.push(message), panel?.problems(); };
    gpu.device.onuncapturederror = event => tell(`WebGPU: ${event.error.message}`);
    gpu.device.lost.then(info => info.reason !== 'destroyed' && tell('The GPU was lost: reload the page, or open it with ?gpu=webgl.'));
  }
  await viewer.openSet(0);
  if (viewer.truth && viewer.state.view === 'all') viewer.show({ colour: 'error', bones: false }); // several models: what tells them apart
  const panel = new Panel(viewer);
  new Touch(viewer, $('canvas'));
  listen(viewer);
  panel.build();
  await readLink(viewer, location.hash).catch(() => {}); // a link to another page
  keepLink(viewer);
  panel.build();
  if (!location.hash && !matchMedia('(prefers-reduced-motion: reduce)').matches) viewer.play(true);
  const read = async ({ figure }) => figure.skinner ? (await figure.skinner.read()).positions[0] : gpuPositions(viewer.stage.renderer, figure);
  return { viewer, panel, gpuPositions: number => read(viewer.entries[number]) };
};
