// SPDX-License-Identifier: MIT
// Errors of a model that was added on the page, as the tool measures them (docs/reference/metrics.md), from the frames that the page holds.

// What the model gets at frame f, where the page knows it.
export function inputAt(viewer, entry, f) {
  const { set, pose } = viewer, { row, model } = entry, { info } = model;
  const joints = new Float32Array(12 * info.jointCount), part = (list, count) => list ? list.subarray(f * count, (f + 1) * count) : new Float32Array(count);
  entry.jointMap.forEach((j, k) => joints.set(set.poses.subarray(12 * (f * pose.count + j), 12 * (f * pose.count + j + 1)), 12 * k));
  return { joints, controls: part(row.controls, 3 * info.controlCount), torques: part(row.torques, info.torqueCount) };
}

// Control points are vertices of the mesh: where they are in the example frames.
export function controlsOf(viewer, model) {
  const { set } = viewer, vertices = model.section('control.points', Uint32Array);
  if (!set.truth || !vertices) return null;
  const out = new Float32Array(3 * vertices.length * set.frame_count), places = new Float32Array(3 * set.vertices);
  for (let f = 0; f < set.frame_count; f++) {
    set.truth.read(f, set.source, places);
    vertices.forEach((v, k) => out.set(places.subarray(3 * v, 3 * v + 3), 3 * (f * vertices.length + k)));
  }
  return out;
}

function summary(squares, largest, frames, set) {
  if (!frames.length) return undefined;
  const mean = frames.reduce((sum, f) => sum + squares[f], 0) / frames.length;
  return { frames: frames.length, rms_pct_diag: 100 * Math.sqrt(mean) / set.diagonal, max_pct_diag: 100 * Math.max(...frames.map(f => largest[f])) / set.diagonal };
}

// Fills entry.row with errors per frame and in all, a few frames at a time so that the page stays alive.
export async function measureErrors(viewer, entry) {
  const { set } = viewer, truth = new Float32Array(3 * set.vertices), squares = [], largest = [];
  if (!set.truth) return;
  for (let f = 0; f < set.frame_count; f++) {
    if (f % 8 === 7) await new Promise(done => setTimeout(done));
    if (viewer.set !== set || entry.model.disposed) return;
    set.truth.read(f, set.source, truth);
    entry.model.beginMotion(); // each frame by itself, and what is shown begins anew after it
    entry.model.load(inputAt(viewer, entry, f));
    const { positions } = entry.model.evaluate();
    entry.model.beginMotion();
    let sum = 0, most = 0;
    for (let i = 0; i < truth.length; i += 3) {
      const d = (positions[i] - truth[i]) ** 2 + (positions[i + 1] - truth[i + 1]) ** 2 + (positions[i + 2] - truth[i + 2]) ** 2;
      sum += d, most = Math.max(most, d);
    }
    squares.push(sum / set.vertices), largest.push(Math.sqrt(most));
  }
  const all = squares.map((_, f) => f), training = new Set(set.training ?? all);
  Object.assign(entry.row, {
    frame_rms_pct_diag: squares.map(s => 100 * Math.sqrt(s) / set.diagonal), all: summary(squares, largest, all, set),
    train: summary(squares, largest, all.filter(f => training.has(f)), set), test: summary(squares, largest, all.filter(f => !training.has(f)), set),
  });
  viewer.changed();
}
