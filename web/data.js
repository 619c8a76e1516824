// SPDX-License-Identifier: MIT
// What `sinew view` wrote into the page: blobs and frames (the other side is src/cli/page.c).

export function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let k = 0; k < bytes.length; k++) bytes[k] = binary.charCodeAt(k);
  return bytes;
}

// Byte k of every word is in plane k.
function fromPlanes(planes, word) {
  const out = new Uint8Array(planes.length), count = Math.floor(planes.length / word);
  for (let k = 0; k < word; k++) {
    for (let n = 0; n < count; n++) out[n * word + k] = planes[k * count + n];
  }
  out.set(planes.subarray(count * word), count * word);
  return out;
}

// The bytes of a blob {n, s, z}.
export async function unpack(blob) {
  const stream = new Blob([fromBase64(blob.z)]).stream().pipeThrough(new DecompressionStream('deflate'));
  const planes = new Uint8Array(blob.n);
  let size = 0;
  for (const reader = stream.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (size + value.length <= blob.n) planes.set(value, size);
    size += value.length;
  }
  if (size !== blob.n) throw new Error(`${size} bytes where ${blob.n} were expected`);
  return fromPlanes(planes, blob.s);
}

const floats = async blob => new Float32Array((await unpack(blob)).buffer);

// Example frames: 16 bits per coordinate within the frame's box, stored as differences from a prediction.
class Truth {
  constructor(boxes, offsets, error) {
    this.boxes = boxes, this.error = error;
    this.frameCount = boxes.length / 6;
    this.count = this.frameCount ? offsets.length / 3 / this.frameCount : 0;
    this.steps = this.undo(offsets);
  }

  undo(offsets) {
    const n = this.count, frame = 3 * n, steps = new Uint16Array(offsets.length);
    for (let k = 0; k < steps.length; k++) {
      let guess = 0;
      if (k % n) guess += steps[k - 1];
      if (k >= frame) guess += steps[k - frame];
      if (k % n && k >= frame) guess -= steps[k - frame - 1];
      steps[k] = guess + (offsets[k] >> 1 ^ -(offsets[k] & 1));
    }
    return steps;
  }

  // Positions of frame f in the order of the models; source[s] is the frame's vertex for vertex s.
  read(f, source, out) {
    const n = this.count;
    for (let c = 0; c < 3; c++) {
      const low = this.boxes[6 * f + c], unit = this.boxes[6 * f + 3 + c] / 65535, at = (3 * f + c) * n;
      for (let s = 0; s < out.length / 3; s++) out[3 * s + c] = low + unit * this.steps[at + (source ? source[s] : s)];
    }
  }
}

async function readModel(m) {
  const out = { ...m };
  if (m.controls) out.controls = await floats(m.controls);
  if (m.torques) out.torques = await floats(m.torques);
  return out;
}

// Models keep their packed bytes: one that cannot be unpacked must not stop the others.
async function readSet(text) {
  const raw = JSON.parse(text), set = { ...raw };
  set.triangles = new Uint32Array((await unpack(raw.triangles)).buffer);
  set.source = raw.source ? new Uint32Array((await unpack(raw.source)).buffer) : null;
  set.rest = raw.rest ? await floats(raw.rest) : new Float32Array();
  set.poses = raw.poses ? await floats(raw.poses) : new Float32Array();
  set.joints = raw.joints ?? [], set.parents = raw.parents ?? [];
  if (raw.truth) {
    const offsets = new Uint16Array((await unpack(raw.truth.coordinates)).buffer);
    set.truth = new Truth(await floats(raw.truth.boxes), offsets, raw.truth.error);
  }
  set.models = await Promise.all(raw.models.map(readModel));
  return set;
}

export const setTexts = () => Array.from(document.querySelectorAll('script.sinew-set'), e => e.textContent);
export { readSet };
