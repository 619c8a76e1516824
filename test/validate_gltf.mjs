// SPDX-License-Identifier: MIT
// Runs the Khronos validator over glTF files: node validate_gltf.mjs FILE...
// Prints errors and warnings; exit status 1 where there is any error.
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import validator from "gltf-validator";

let failed = false;
for (const file of process.argv.slice(2)) {
  const report = await validator.validateBytes(new Uint8Array(await readFile(file)), {
    uri: basename(file),
    maxIssues: 100,
    externalResourceFunction: async (uri) => new Uint8Array(await readFile(join(dirname(file), decodeURIComponent(uri)))),
  });
  const { numErrors, numWarnings, messages } = report.issues;
  for (const m of messages.filter((m) => m.severity <= 1)) {
    console.log(`${basename(file)}: ${m.severity === 0 ? "error" : "warning"} ${m.code} at ${m.pointer ?? m.offset}: ${m.message}`);
  }
  console.log(`${basename(file)}: ${numErrors} errors, ${numWarnings} warnings`);
  if (numErrors > 0) failed = true;
}
process.exit(failed ? 1 : 0);
