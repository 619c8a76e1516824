// SPDX-License-Identifier: MIT
// A picture of a page: node tools/picture.mjs PAGE.html OUT.png [still] [bones|error|crowd] [width=N height=N step=N zoom=X colours=N]
// The stage with all models, in at most 255 colours: every step-th frame of the clip as an animated PNG, or the frame that tells most.
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { deflateSync, inflateSync } from 'node:zlib';
import { launch } from './browser.mjs';

const [html, out, ...words] = process.argv.slice(2), still = words.includes('still');
const number = (name, initial) => Number(words.find(w => w.startsWith(`${name}=`))?.split('=')[1] ?? initial);
const width = number('width', 840), height = number('height', still ? 320 : 400), step = number('step', 2), zoom = number('zoom', still ? 1 : 1.12);
const look = ['bones', 'error', 'crowd'].find(w => words.includes(w)) ?? 'error';
if (!out) {
  console.error('usage: node tools/picture.mjs PAGE.html OUT.png [still] [bones|error|crowd] [width=N height=N step=N zoom=X colours=N]');
  process.exit(2);
}

// ---- PNG ----------------------------------------------------------------------------------------------------------------

// Red, green and blue of an eight-bit PNG without interlacing, as Chromium writes it.
function readPng(bytes) {
  const parts = [];
  let wide, high, channels;
  for (let at = 8; at < bytes.length;) {
    const size = bytes.readUInt32BE(at), kind = bytes.toString('latin1', at + 4, at + 8), data = bytes.subarray(at + 8, at + 8 + size);
    if (kind === 'IHDR') wide = data.readUInt32BE(0), high = data.readUInt32BE(4), channels = data[9] === 6 ? 4 : 3;
    if (kind === 'IDAT') parts.push(data);
    at += 12 + size;
  }
  const raw = inflateSync(Buffer.concat(parts)), row = wide * channels, image = Buffer.alloc(high * row);
  for (let y = 0; y < high; y++) {
    const filter = raw[y * (row + 1)];
    for (let x = 0; x < row; x++) {
      const a = x >= channels ? image[y * row + x - channels] : 0, b = y ? image[(y - 1) * row + x] : 0;
      const c = x >= channels && y ? image[(y - 1) * row + x - channels] : 0, p = a + b - c;
      const [pa, pb, pc] = [Math.abs(p - a), Math.abs(p - b), Math.abs(p - c)];
      const guess = [0, a, b, (a + b) >> 1, pa <= pb && pa <= pc ? a : pb <= pc ? b : c][filter];
      image[y * row + x] = raw[y * (row + 1) + 1 + x] + guess;
    }
  }
  const pixels = new Uint32Array(wide * high);
  for (let k = 0; k < pixels.length; k++) pixels[k] = image[k * channels] << 16 | image[k * channels + 1] << 8 | image[k * channels + 2];
  return { wide, high, pixels };
}

const table = Uint32Array.from({ length: 256 }, (_, n) => { for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1; return n; });
const crc32 = data => (data.reduce((c, b) => table[(c ^ b) & 255] ^ (c >>> 8), -1) ^ -1) >>> 0; // node 18 has none

function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind, 'latin1'), data]), size = Buffer.alloc(4), sum = Buffer.alloc(4);
  size.writeUInt32BE(data.length), sum.writeUInt32BE(crc32(body));
  return Buffer.concat([size, body, sum]);
}

const big = (...values) => { const b = Buffer.alloc(4 * values.length); values.forEach((v, k) => b.writeUInt32BE(v, 4 * k)); return b; };

// ---- few colours by median cut, and one that means: as before ----------------------------------------------------------------

function makePalette(frames, count) {
  const seen = new Map();
  for (const { pixels } of frames) for (const p of pixels) seen.set(p & 0xfcfcfc, (seen.get(p & 0xfcfcfc) ?? 0) + 1);
  const parts = p => [p >> 16, p >> 8 & 255, p & 255];
  let boxes = [[...seen].map(([p, n]) => [...parts(p), Math.sqrt(n)])];
  const spread = box => [0, 1, 2].map(c => { const v = box.map(e => e[c]); return v.reduce((a, b) => Math.max(a, b)) - v.reduce((a, b) => Math.min(a, b)); });
  while (boxes.length < count) {
    const scores = boxes.map(box => box.length < 2 ? 0 : Math.max(...spread(box)) * Math.sqrt(box.reduce((s, e) => s + e[3], 0)));
    const k = scores.indexOf(Math.max(...scores)), box = boxes[k], wide = spread(box), axis = wide.indexOf(Math.max(...wide));
    if (!scores[k]) break;
    box.sort((a, b) => a[axis] - b[axis]);
    const half = box.reduce((s, e) => s + e[3], 0) / 2;
    let at = 0, sum = 0;
    while (at < box.length - 1 && (sum += box[at][3]) < half) at++;
    at = Math.max(at, 1);
    boxes = [...boxes.slice(0, k), box.slice(0, at), box.slice(at), ...boxes.slice(k + 1)];
  }
  return boxes.map(box => { const n = box.reduce((s, e) => s + e[3], 0); return [0, 1, 2].map(c => Math.round(box.reduce((s, e) => s + e[c] * e[3], 0) / n)); });
}

function indexer(palette) {
  const known = new Map();
  return p => {
    const key = p & 0xfcfcfc;
    if (!known.has(key)) {
      const near = palette.map(([r, g, b]) => (r - (key >> 16)) ** 2 + (g - (key >> 8 & 255)) ** 2 + (b - (key & 255)) ** 2);
      known.set(key, near.indexOf(Math.min(...near)) + 1);
    }
    return known.get(key);
  };
}

function writeApng(frames, delay, colours) {
  const { wide, high } = frames[0], palette = makePalette(frames, colours), index = indexer(palette);
  const chunks = [chunk('IHDR', Buffer.concat([big(wide, high), Buffer.from([8, 3, 0, 0, 0])])), ...(frames.length > 1 ? [chunk('acTL', big(frames.length, 0))] : []),
    chunk('PLTE', Buffer.from([0, 0, 0, ...palette.flat()])), chunk('tRNS', Buffer.from([0]))];
  let order = 0, before = null;
  frames.forEach((frame, k) => {
    const now = Uint8Array.from(frame.pixels, index), rows = Buffer.alloc(high * (wide + 1));
    for (let y = 0; y < high; y++)
      for (let x = 0; x < wide; x++) rows[y * (wide + 1) + 1 + x] = before?.[y * wide + x] === now[y * wide + x] ? 0 : now[y * wide + x];
    before = now;
    if (frames.length > 1) chunks.push(chunk('fcTL', Buffer.concat([big(order++, wide, high, 0, 0), Buffer.from([delay >> 8, delay & 255, 3, 232, 0, k ? 1 : 0])])));
    const data = deflateSync(rows, { level: 9 });
    chunks.push(k ? chunk('fdAT', Buffer.concat([big(order++), data])) : chunk('IDAT', data));
  });
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...chunks, chunk('IEND', Buffer.alloc(0))]);
}

// ---- the page -----------------------------------------------------------------------------------------------------------------

const browser = await launch();
const page = await browser.newPage({ viewport: { width, height }, colorScheme: 'light' });
await page.goto(`file://${resolve(html)}`);
await page.evaluate(() => window.sinew.ready);
await page.addStyleTag({ content: '#panel, header, footer, #below { display: none !important } #stage { background: #fff !important }' });
const { count, first } = await page.evaluate(({ look, zoom }) => {
  const { viewer } = window.sinew, first = viewer.telling() || Math.floor(viewer.set.frame_count / 2);
  viewer.play(false);
  const view = look === 'crowd' ? 'crowd' : ['all', 'side', 'model'].find(v => viewer.viewChoices().includes(v));
  viewer.show({ colour: look === 'error' && viewer.truth ? 'error' : 'plain', view, bones: look === 'bones' });
  viewer.lookAtAll();
  viewer.stage.orbit(0, 0, 1 / zoom);
  return { count: viewer.set.frame_count, first };
}, { look, zoom });
const frames = [];
// A frame that says something comes first: some readers show no other.
for (let k = 0; k < (still ? 1 : count); k += step) {
  const f = (first + k) % count;
  await page.evaluate(f => new Promise(done => { window.sinew.viewer.goTo(f), requestAnimationFrame(() => requestAnimationFrame(done)); }), f);
  frames.push(readPng(await page.locator('#stage').screenshot()));
}
const fps = await page.evaluate(() => window.sinew.viewer.set.fps || 30);
await browser.close();
const bytes = writeApng(frames, Math.round(1000 * step / fps), number('colours', 255));
writeFileSync(out, bytes);
console.log(`${out}: ${frames.length} frames, ${bytes.length} bytes`);
