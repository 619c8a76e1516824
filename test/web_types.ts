// SPDX-License-Identifier: MIT
// Uses the types of sinew-skin as a program does; nothing runs, the compiler of TypeScript checks it (test_web.sh).
import { loadSinew, skinCharacter, SinewMesh, SinewGpu, sinewRuntime, webgpuDevice, webgpuRefuses } from 'sinew-skin';
import { loadSinew as load } from 'sinew-skin/core';
import { driveHelpers } from 'sinew-skin/helpers';
import { Group, Skeleton, MeshBasicMaterial } from 'three';
const model = await loadSinew('a.sinew', { name: 'a', fetch: { cache: 'no-store' } });
const skin = skinCharacter(model, { scene: new Group() }, { autoUpdate: false });
skin.update(true); skin.values[0] = 1; skin.meshes[0].geometry.computeBoundingBox(); skin.dispose();
const mesh = new SinewMesh(model, null, new MeshBasicMaterial());
mesh.controls.fill(0);
const drive: 'helpers' | 'joints' | 'rotreg' | 'torque' | 'controls' = model.info.driveName;
const rows: Float32Array = model.bind(new Float32Array(12));
const device = await webgpuDevice();
if (device && !webgpuRefuses(model)) { const gpu = await SinewGpu.create(device, model, 3); gpu.write(0, { joints: rows }); }
await sinewRuntime('basic'); await load(new Uint8Array(3));
driveHelpers({ scene: new Group() }).update();
// @ts-expect-error
await sinewRuntime('small');
console.log(drive, new Skeleton([]));
