// SPDX-License-Identifier: MIT
// What `sinew view` wrote into the page: blobs and frames (the other side is src/cli/page.c).

function fromBase64(text) {
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

// The bytes of a blob {n, s, z}. Deflate packs at most a thousand to one.
export async function unpack(blob) {
  if (!(blob.n >= 0 && blob.n <= 1040 * blob.z.length) || !(blob.s > 0)) throw new Error('its size is wrong');
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

// Neighbours with lower numbers of every vertex, as often as they share a triangle: lower_neighbours in page.c.
function lowerNeighbours(count, triangles, source) {
  const start = new Uint32Array(count + 2), corner = t => source ? source[triangles[t]] : triangles[t];
  const pairs = take => {
    for (let t = 0; t < triangles.length; t += 3) {
      for (let k = 0; k < 6; k++) {
        const i = corner(t + (k >> 1)), j = corner(t + ((k >> 1) + 1 + (k & 1)) % 3);
        if (j < i) take(i, j);
      }
    }
  };
  pairs(i => start[i + 2]++);
  for (let i = 2; i < start.length; i++) start[i] += start[i - 1];
  const list = new Uint32Array(start[count + 1]);
  pairs((i, j) => { list[start[i + 1]++] = j; });
  return { start, list };
}

// Example frames: 16 bits per coordinate within the frame's box, stored as differences from a prediction.
class Truth {
  constructor(boxes, offsets, error, order, triangles, source) {
    this.boxes = boxes, this.error = error;
    this.frameCount = boxes.length / 6;
    this.count = this.frameCount ? offsets.length / 3 / this.frameCount : 0;
    this.steps = this.undo(offsets, order, lowerNeighbours(this.count, triangles, source));
  }

  // What predict in page.c did.
  undo(offsets, order, { start, list }) {
    const n = this.count, frame = 3 * n, steps = new Uint16Array(offsets.length), strayed = new Int32Array(n);
    for (let at = 0; at < steps.length; at += n) {
      const past = Math.min(Math.floor(at / frame), order);
      for (let i = 0; i < n; i++) {
        const k = at + i, going = past === 0 ? 0 : past === 1 ? steps[k - frame] : 2 * steps[k - frame] - steps[k - 2 * frame];
        let sum = 0;
        for (let a = start[i]; a < start[i + 1]; a++) sum += strayed[list[a]];
        const count = start[i + 1] - start[i], guess = count ? Math.floor(sum / count + 0.5) : i ? strayed[i - 1] : 0;
        steps[k] = going + guess + (offsets[k] >> 1 ^ -(offsets[k] & 1));
        strayed[i] = steps[k] - going;
      }
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
  if (m.values) out.values = await floats(m.values);
  return out;
}

const isCount = value => Number.isInteger(value) && value >= 0;
const isFigure = value => value === undefined || value === null || Number.isFinite(value);
const areFigures = list => list === undefined || list === null || typeof list === 'object' && Object.values(list).every(isFigure);

// Parents are joints, and no joint is its own ancestor.
function isTree(parents) {
  return parents.every(parent => {
    for (let steps = 0; parent !== -1; parent = parents[parent]) if (!isCount(parent) || parent >= parents.length || ++steps > parents.length) return false;
    return true;
  });
}

// What of a set is not as it should be; undefined where all is.
function faultOf(set, raw) {
  const { frame_count: frames, vertices, joints, parents, truth, models } = set, fits = (list, each) => !list || (each ? list.length % each === 0 && list.length >= frames * each : !list.length);
  const below = (list, limit) => !list || list.every(i => i < limit);
  const wellMade = { name: typeof set.name === 'string', frames: isCount(frames) && Number.isFinite(set.fps ?? 0), size: isCount(vertices) && set.diagonal >= 0,
    triangles: set.triangles.length % 3 === 0 && below(set.triangles, vertices), source: !set.source || set.source.length === vertices && (!truth || below(set.source, truth.count)),
    joints: Array.isArray(joints) && joints.every(j => typeof j === 'string') && Array.isArray(parents) && parents.length === joints.length && isTree(parents),
    rest: !raw.rest || set.rest.length === 12 * joints.length, poses: fits(set.poses, 12 * joints.length), truth: !truth || truth.frameCount === frames && isCount(truth.count) && (set.source !== null || truth.count === vertices) && isCount(raw.truth.order),
    models: models.every(m => typeof m.name === 'string' && [m.train, m.test, m.all].every(areFigures) && [m.us_per_frame, m.p99_pct_diag, m.roughness, m.joints_inside_pct].every(isFigure)),
    errors: models.every(({ frame_rms_pct_diag: list }) => areFigures(list) && Array.isArray(list ?? [])) };
  return Object.keys(wellMade).find(what => !wellMade[what]);
}

async function readSet(text) {
  try {
    const raw = JSON.parse(text), set = await unpackSet(raw), fault = faultOf(set, raw);
    if (fault) throw new Error(`its ${fault} cannot be so`);
    return set;
  } catch (error) {
    throw new Error(`The data of this page is damaged: ${error.message}. Write the page again with sinew view.`, { cause: error });
  }
}

// Models keep their packed bytes: one that cannot be unpacked must not stop the others.
async function unpackSet(raw) {
  const set = { ...raw };
  set.triangles = new Uint32Array((await unpack(raw.triangles)).buffer);
  set.source = raw.source ? new Uint32Array((await unpack(raw.source)).buffer) : null;
  set.rest = raw.rest ? await floats(raw.rest) : new Float32Array();
  set.poses = raw.poses ? await floats(raw.poses) : new Float32Array();
  set.joints = raw.joints ?? [], set.parents = raw.parents ?? [];
  if (raw.look) {
    const images = await Promise.all(raw.look.images.map(async image => image && { type: image.type, bytes: await unpack(image.bytes) }));
    set.look = { uv: await floats(raw.look.uv), parts: raw.look.parts, images };
  }
  if (raw.truth) {
    const offsets = new Uint16Array((await unpack(raw.truth.coordinates)).buffer);
    set.truth = new Truth(await floats(raw.truth.boxes), offsets, raw.truth.error, raw.truth.order, set.triangles, set.source);
  }
  set.models = await Promise.all(raw.models.map(readModel));
  return set;
}

export const setTexts = () => Array.from(document.querySelectorAll('script.sinew-set'), e => e.textContent);
export { readSet };
