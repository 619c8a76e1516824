// SPDX-License-Identifier: MIT
// Makes the page's template: node web/build.mjs BUILD_FOLDER
// Bundles web/main.js with three.js, puts it, the runtime as WebAssembly (both deflated, as base64) and the style sheet into
// web/page.html, and writes that as BUILD_FOLDER/page_template.html and, for the tool, page_template.c.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateSync } from 'node:zlib';
import { build } from 'esbuild';

const [folder] = process.argv.slice(2);
const web = dirname(fileURLToPath(import.meta.url)), root = dirname(web);

async function bundle(entry) {
  const result = await build({
    entryPoints: [join(web, entry)], bundle: true, minify: true, write: false, format: 'iife', charset: 'utf8',
    target: ['chrome100', 'firefox113', 'safari16.4'], legalComments: 'none', absWorkingDir: root,
    nodePaths: [join(root, 'node_modules')],
    loader: { '.wgsl': 'text' },
  });
  return result.outputFiles[0].text;
}

function toC(bytes) {
  const lines = [];
  for (let k = 0; k < bytes.length; k += 64) lines.push(Array.from(bytes.subarray(k, k + 64)).join(','));
  return `#include "cli/page.h"\n\nconst unsigned char sn_page_template[] = {\n${lines.join(',\n')}};\n` +
    `const size_t sn_page_template_size = sizeof sn_page_template;\n`;
}

const packed = bytes => deflateSync(bytes, { level: 9 }).toString('base64');
const parts = {
  style: await bundle('style.css'), script: packed(await bundle('main.js')), runtime: packed(readFileSync(join(folder, 'page_runtime.wasm'))),
  licence: readFileSync(join(root, 'node_modules/three/LICENSE'), 'utf8').trim().replaceAll('--', '- -'),
};
const page = readFileSync(join(web, 'page.html'), 'utf8').replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
writeFileSync(join(folder, 'page_template.html'), page);
writeFileSync(join(folder, 'page_template.c'), toC(Buffer.from(page)));
