// SPDX-License-Identifier: MIT
// A worker that evaluates a model: postMessage({ url, joints }), and the positions come back.
import { loadSinew } from './node_modules/sinew-skin/core.js'; // workers have no import map

onmessage = async ({ data }) => {
  const model = await loadSinew(data.url);
  model.load({ joints: data.joints }); // 12 floats per joint: rest pose to pose, row by row
  const positions = model.evaluate().positions.slice(); // the next evaluation would overwrite them
  model.dispose();
  postMessage(positions, [positions.buffer]);
};
