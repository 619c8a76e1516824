// SPDX-License-Identifier: MIT
// Makes the README's picture of a page: node tools/screenshot.mjs PAGE.html OUT.png [MODEL]
// All models of the page on its most telling frame, as error heat maps; MODEL is the one to highlight.
import { resolve } from 'node:path';
import { launch } from './browser.mjs';

const [html, png, model] = process.argv.slice(2);
if (!png) {
  console.error('usage: node tools/screenshot.mjs PAGE.html OUT.png [MODEL]');
  process.exit(2);
}
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1200, height: 750 }, colorScheme: 'light' });
await page.goto(`file://${resolve(html)}`);
await page.evaluate(() => window.sinew.ready);
// Until every model has been timed: then the browser has compiled, and the times shown are what they will be.
await page.waitForFunction(() => window.sinew.viewer.entries.every(e => !e.model || e.timed === 2));
await page.evaluate(name => {
  const { viewer } = window.sinew, { frame } = viewer.state, number = viewer.entries.findIndex(e => e.name === name);
  if (number >= 0) viewer.choose(number);
  viewer.show({ colour: viewer.truth ? 'error' : 'plain', bones: false, proxies: false });
  viewer.evaluateTimes = [];
  for (let f = 0; f < viewer.set.frame_count; f++) viewer.setFrame(f);
  viewer.goTo(frame);
  // As large as this frame allows; on the page there is room for all of them.
  const points = viewer.truth ? viewer.truthPositions : viewer.chosen.model.rest().positions;
  viewer.stage.frame(Array.from({ length: points.length / 3 }, (_, i) => Array.from(points.subarray(3 * i, 3 * i + 3))));
  viewer.stage.orbit(0, 0, 1.12);
  viewer.frameTimes = []; // of a browser without a GPU
  viewer.changed();
}, model);
await page.waitForTimeout(1000);
await page.screenshot({ path: png });
await browser.close();
