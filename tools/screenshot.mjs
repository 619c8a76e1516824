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
const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' });
await page.goto(`file://${resolve(html)}`);
await page.evaluate(async name => {
  await window.sinew.ready;
  const { viewer } = window.sinew, number = viewer.entries.findIndex(e => e.name === name);
  if (number >= 0) viewer.choose(number);
  if (viewer.truth) viewer.show({ colour: 'error' });
}, model);
// Until every model has been timed and the stage has been drawn.
await page.waitForFunction(() => window.sinew.viewer.entries.every(e => !e.model || e.timed === 2));
await page.waitForTimeout(500);
await page.screenshot({ path: png });
await browser.close();
