// SPDX-License-Identifier: MIT
// Wrong models and wrong sets in the page, in Chromium with WebGPU: page.mjs PAGE SEED MODELS SETS. Whatever it is given, the page answers
// with a message or shows it; it throws nothing else, finds no fault with the GPU, and goes on.
import { readFileSync } from 'node:fs';
import { launch } from '../../tools/browser.mjs';

const [html, seed, modelCount, setCount] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const browser = await launch(['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader']), patience = 120000;
let page, complaints = [], failures = 0;

async function open() {
  await page?.context().close();
  page = await (await browser.newContext({ viewport: { width: 320, height: 240 } })).newPage();
  page.setDefaultTimeout(patience);
  page.on('console', m => m.type() === 'error' && complaints.push(m.text()));
  page.on('pageerror', e => complaints.push(e.message));
  page.on('crash', () => complaints.push('the page crashed'));
  await page.route('**/*', route => route.fulfill({ body: readFileSync(html), contentType: 'text/html' }));
  await page.goto('https://sinew.test/page.html');
  await page.waitForFunction(() => window.sinew.viewer);
  return page.evaluate(prepare);
}

// In the page: what makes things wrong. Everything follows from a number, so that it can be done again.
function prepare() {
  const { viewer } = window.sinew, table = Uint32Array.from({ length: 256 }, (_, n) => { for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ n >>> 1 : n >>> 1; return n >>> 0; });
  const crc = bytes => { let c = ~0; for (const b of bytes) c = table[(c ^ b) & 255] ^ c >>> 8; return ~c >>> 0; };
  const edges = [0, 1, 2, 7, 0x7f, 0xff, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 0x7f800000, 0x7fc00000, 0xff7fffff];
  const random = number => { // xorshift
    let x = (number + 1) * 2654435761 >>> 0;
    return below => { x ^= x << 13, x >>>= 0, x ^= x >>> 17, x ^= x << 5, x >>>= 0; return x % below; };
  };
  const originals = viewer.entries.filter(e => e.model).map(e => e.model.bytes()), text = viewer.texts[0];

  // One to four places of a section, or of the header and the table, are something else; checksums are right in most.
  function wrongModel(number) {
    const r = random(number), bytes = originals[r(originals.length)].slice(), view = new DataView(bytes.buffer), sections = view.getUint32(12, true);
    if (r(12) === 0) return bytes.slice(0, r(bytes.length));
    for (let n = 1 + r(4); n > 0; n--) {
      const at = 128 + 40 * r(sections), offset = Number(view.getBigUint64(at + 16, true)), size = Number(view.getBigUint64(at + 24, true));
      const head = r(4) === 0, from = head ? r(3) ? 24 : 128 : Math.min(offset, bytes.length - 4), length = head ? from === 24 ? 60 : 40 * sections : Math.min(size, bytes.length - from);
      const place = Math.min(from + (length > 4 ? 4 * r(length >> 2) : 0), bytes.length - 4);
      if (r(2)) view.setUint32(place, edges[r(edges.length)], true);
      else if (r(2)) view.setUint32(place, view.getUint32(place, true) + r(5) - 2, true);
      else bytes[place + r(4)] ^= 1 << r(8);
    }
    if (r(10) === 0) return bytes;
    for (let k = 0; k < Math.min(sections, 64); k++) {
      const at = 128 + 40 * k, offset = Number(view.getBigUint64(at + 16, true)), size = Number(view.getBigUint64(at + 24, true));
      if (offset + size <= bytes.length) view.setUint32(at + 32, crc(bytes.subarray(offset, offset + size)), true);
    }
    view.setUint32(124, 0, true);
    view.setUint32(124, crc(bytes.subarray(0, 128 + 40 * Math.min(view.getUint32(12, true), 64))), true);
    return bytes;
  }

  // One value somewhere in the set's JSON is something else: a number, a text that is cut or has another letter, nothing at all.
  function wrongSet(number) {
    const r = random(number), set = JSON.parse(text), places = [];
    if (r(15) === 0) return text.slice(0, r(text.length));
    const walk = object => { for (const key of Object.keys(object)) { places.push([object, key]); if (object[key] && typeof object[key] === 'object') walk(object[key]); } };
    walk(set);
    for (let n = 1 + r(3); n > 0; n--) {
      const [object, key] = places[r(places.length)], old = object[key], others = [null, 0, -1, 0.5, 3, 1e9, 2 ** 31, -(2 ** 40), 1e308, '', 'x', [], {}, [0], true];
      if (typeof old === 'string' && old.length > 8 && r(2)) object[key] = r(2) ? old.slice(0, r(old.length)) : old.slice(0, -9) + 'A' + old.slice(-8);
      else if (typeof old === 'number' && r(2)) object[key] = old + r(5) - 2;
      else if (r(8) === 0) delete object[key];
      else object[key] = others[r(others.length)];
    }
    return JSON.stringify(set);
  }

  const settle = async () => { viewer.render(performance.now()); await viewer.gpu.device.queue.onSubmittedWorkDone(); };
  window.attack = {
    // What the page says of a wrong model; null where it takes it.
    async model(number) {
      const before = viewer.problems.length, entry = viewer.addOther(`wrong ${number}`, wrongModel(number));
      if (entry) {
        await settle();
        if (entry.figure.skinner) await entry.figure.skinner.read();
        viewer.goTo(number % viewer.set.frame_count), viewer.show({ view: number % 3 ? 'model' : 'crowd', crowd: 3 });
        await settle();
        viewer.crowd.close(), viewer.dropFigure(entry); // its time may be measured just now: it stays open
      }
      viewer.entries.length -= 1, viewer.choose(0);
      const said = viewer.problems.splice(before);
      if (!entry && (said.length !== 1 || !/^Could not load wrong \d+: ./.test(said[0]))) throw new Error(`it says ${JSON.stringify(said)}`);
      if (entry && said.length) throw new Error(`it was taken, and: ${said}`);
      return entry ? null : said[0];
    },
    async set(number) {
      viewer.texts[0] = wrongSet(number);
      try {
        await viewer.openSet(0);
        await settle();
        for (const view of viewer.viewChoices()) viewer.show({ view, crowd: 3 }), await settle();
        return viewer.problems[0] ?? null;
      } catch (error) {
        if (!/damaged: .*Write the page again/.test(error.message)) throw error;
        return error.message;
      } finally {
        viewer.texts[0] = text;
      }
    },
  };
  return Boolean(viewer.gpu);
}

// What is wrong with one attack: an exception, silence, a complaint of the GPU or the console.
async function tryOne(kind, number, told) {
  const limit = new Promise((_, reject) => setTimeout(reject, patience, new Error('it hangs')).unref());
  let said;
  try {
    said = await Promise.race([page.evaluate(([k, n]) => window.attack[k](n), [kind, number]), limit]);
  } catch (error) {
    complaints.push(error.message.split('\n')[0]);
  }
  told[said === null ? 'shown' : 'refused']++;
  if (!complaints.length) return;
  console.log(`FAILED: ${kind} ${number}: ${complaints.join('; ').slice(0, 500)}`);
  failures++, complaints = [];
  await open();
}

if (!await open()) {
  console.log('skipped: this Chromium has no WebGPU');
  process.exit(77);
}
const told = { model: { shown: 0, refused: 0 }, set: { shown: 0, refused: 0 } };
for (let k = 0; k < modelCount; k++) {
  await tryOne('model', 1e6 * seed + k, told.model);
  if (k % 100 === 99) await open();
}
for (let k = 0; k < setCount; k++) {
  await tryOne('set', 1e6 * seed + k, told.set);
}
await browser.close();
console.log(`models: ${told.model.shown} shown, ${told.model.refused} refused; sets: ${told.set.shown} shown, ${told.set.refused} refused; ${failures} failures`);
process.exit(failures ? 1 : 0);
