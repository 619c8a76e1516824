// SPDX-License-Identifier: MIT
// Error over the frames: one line per model, training frames marked, the current frame as a cursor that can be dragged.
import { lineColour, lineDash } from './colours.js';

const height = 150, left = 46, right = 6, top = 18, bottom = 20;

// The smallest of 1, 2, 5 times a power of ten that is not below x.
export function roundUp(x) {
  const unit = 10 ** Math.floor(Math.log10(x || 1));
  return [1, 2, 5, 10].map(k => k * unit).find(v => v >= x * 0.999999);
}

export class Plot {
  constructor(element, onFrame) {
    this.element = element, this.onFrame = onFrame;
    element.addEventListener('pointerdown', e => this.drag(e, true));
    element.addEventListener('pointermove', e => e.buttons && this.drag(e, false));
  }

  drag(event, start) {
    const svg = this.element.querySelector('svg');
    if (!svg) return;
    if (start && event.isTrusted) svg.setPointerCapture(event.pointerId);
    const box = svg.getBoundingClientRect(), { width } = svg.viewBox.baseVal, x = (event.clientX - box.left) / box.width * width;
    this.onFrame(Math.round((x - left) / (width - left - right) * (this.frames - 1)));
  }

  // rows: [{name, values, number}], values in percent of the diagonal.
  draw(rows, frames, training, chosen) {
    this.frames = frames;
    this.element.innerHTML = '';
    if (!rows.length || frames < 2) return;
    const width = Math.max(this.element.clientWidth, 300); // letters keep their size
    const most = roundUp(Math.max(...rows.flatMap(r => r.values.filter(Number.isFinite)), 1e-6));
    const x = f => left + f / (frames - 1) * (width - left - right), y = v => height - bottom - v / most * (height - top - bottom);
    const label = v => v && v < 0.001 ? v.toExponential() : Number(v.toPrecision(2));
    let svg = `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="Error of every model over the frames">`;
    for (const v of [0, most / 2, most]) {
      svg += `<line class="axis" x1="${left}" x2="${width - right}" y1="${y(v)}" y2="${y(v)}"/>`;
      svg += `<text x="${left - 4}" y="${y(v) + 4}" text-anchor="end">${label(v)}</text>`;
    }
    svg += `<text x="0" y="9">rms error, % of the diagonal</text>`;
    svg += `<text x="${left}" y="${height - 3}">0</text><text x="${width - right}" y="${height - 3}" text-anchor="end">frame ${frames - 1}</text>`;
    if (training) {
      svg += training.map(f => `<line class="key" x1="${x(f)}" x2="${x(f)}" y1="${height - bottom}" y2="${height - bottom + 4}"/>`).join('');
      svg += `<text x="${(left + width) / 2}" y="${height - 3}" text-anchor="middle">ticks: training frames</text>`;
    }
    for (const row of rows) {
      const points = row.values.map((v, f) => `${x(f).toFixed(1)},${y(Number.isFinite(v) ? v : 0).toFixed(1)}`).join(' ');
      svg += `<polyline fill="none" stroke="${lineColour(row.number)}" stroke-dasharray="${lineDash(row.number)}" stroke-width="${row.number === chosen ? 2.6 : 1.4}" points="${points}"/>`;
    }
    svg += `<line class="cursor" y1="${top}" y2="${height - bottom}"/></svg>`;
    this.element.innerHTML = svg;
    this.x = x;
  }

  setFrame(f) {
    const cursor = this.element.querySelector('.cursor');
    if (!cursor) return;
    cursor.setAttribute('x1', this.x(f)), cursor.setAttribute('x2', this.x(f));
  }
}
