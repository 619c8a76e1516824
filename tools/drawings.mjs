// SPDX-License-Identifier: MIT
// Drawings of meshes as PNG, for the pages of figures: node tools/drawings.mjs FOLDER OUT NAME=PICTURE... FOLDER/NAME-meshes.svg, which
// the program `figures` writes, becomes OUT/PICTURE.png.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch } from './browser.mjs';

const [folder, out, ...names] = process.argv.slice(2);
if (!names.length) {
  console.error('usage: node tools/drawings.mjs FOLDER OUT NAME=PICTURE...');
  process.exit(2);
}
const browser = await launch(), page = await browser.newPage();
for (const [name, picture] of names.map(word => word.split('='))) {
  await page.setContent(`<body style="margin:0">${readFileSync(join(folder, `${name}-meshes.svg`), 'utf8')}`);
  await (await page.$('svg')).screenshot({ path: join(out, `${picture}.png`) });
}
await browser.close();
