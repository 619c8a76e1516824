// SPDX-License-Identifier: MIT
// Makes the npm package: node web/package.mjs RUNTIME.wasm FOLDER
// Bundles web/skin into ES modules, and puts both builds of the runtime (RUNTIME.wasm, RUNTIME_basic.wasm) beside them as modules that
// are imported when a model needs them: every bundler, worker and Node finds those. `make web` does all of it.
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateSync } from 'node:zlib';
import { build } from 'esbuild';

const [wasm, folder] = process.argv.slice(2).map(path => resolve(path));
const web = dirname(fileURLToPath(import.meta.url)), root = dirname(web), skin = join(web, 'skin');

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
await build({
  entryPoints: ['index.js', 'core.js', 'helpers.js'].map(name => join(skin, name)), outdir: folder, bundle: true, splitting: true, format: 'esm', charset: 'utf8',
  target: ['es2022'], external: ['three', './runtime-*.js'], loader: { '.wgsl': 'text' }, absWorkingDir: root,
  legalComments: 'none', minifyWhitespace: true, minifySyntax: true,
});
for (const [name, file] of [['basic', wasm.replace(/\.wasm$/, '_basic.wasm')], ['whole', wasm]]) {
  const text = deflateSync(readFileSync(file), { level: 9 }).toString('base64');
  writeFileSync(join(folder, `runtime-${name}.js`), `// The runtime as WebAssembly, deflated, in base64.\nexport default '${text}';\n`);
}
for (const name of readdirSync(skin).filter(n => n.endsWith('.d.ts') || n === 'README.md')) copyFileSync(join(skin, name), join(folder, name));
copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
const version = readFileSync(join(root, 'include/sinew/base.h'), 'utf8').match(/SN_VERSION "([^"]+)"/)[1];
const about = JSON.parse(readFileSync(join(skin, 'package.json'), 'utf8'));
writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ ...about, version }, null, 2)}\n`);
