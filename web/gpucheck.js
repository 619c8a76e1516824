// SPDX-License-Identifier: MIT
// What the vertex shader computes, read back by transform feedback: to check it against the evaluator.
import { paletteWidth, skinning } from './shader.js';

const vertex = `#version 300 es
precision highp float; precision highp int;
in vec3 position, normal;
out vec3 moved;
${skinning}
void main() { vec3 n; sinewSkin(position, normal, moved, n); gl_Position = vec4(0.0); }`;
const fragment = '#version 300 es\nprecision highp float; out vec4 c; void main() { c = vec4(0.0); }';

function link(gl) {
  const program = gl.createProgram();
  for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, source), gl.compileShader(shader), gl.attachShader(program, shader);
  }
  gl.transformFeedbackVaryings(program, ['moved'], gl.SEPARATE_ATTRIBS);
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
  return program;
}

// Positions of a figure that is skinned on the GPU.
export function gpuPositions(renderer, figure) {
  const gl = renderer.getContext(), program = link(gl), array = gl.createVertexArray(), buffers = [];
  const { attributes } = figure.geometry, count = attributes.position.count;
  gl.useProgram(program), gl.bindVertexArray(array);
  for (const name of ['position', 'normal', 'bones0', 'bones1', 'weights0', 'weights1']) {
    const at = gl.getAttribLocation(program, name), { array: data, itemSize } = attributes[name];
    if (at < 0) continue;
    buffers.push(gl.createBuffer());
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers.at(-1)), gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, itemSize, data instanceof Uint16Array ? gl.UNSIGNED_SHORT : gl.FLOAT, false, 0, 0);
  }
  const { data, height } = figure.uniforms.palette.value.image, texture = gl.createTexture();
  gl.activeTexture(gl.TEXTURE0), gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.pixelStorei(gl.UNPACK_FLIP_Y_WEBGL, false);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, paletteWidth, height, 0, gl.RGBA, gl.FLOAT, data);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST), gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  gl.uniform1i(gl.getUniformLocation(program, 'palette'), 0);
  const out = gl.createBuffer(), result = new Float32Array(3 * count);
  gl.bindBuffer(gl.ARRAY_BUFFER, null);
  gl.bindBufferBase(gl.TRANSFORM_FEEDBACK_BUFFER, 0, out);
  gl.bufferData(gl.TRANSFORM_FEEDBACK_BUFFER, result.byteLength, gl.DYNAMIC_READ);
  gl.enable(gl.RASTERIZER_DISCARD);
  gl.beginTransformFeedback(gl.POINTS), gl.drawArrays(gl.POINTS, 0, count), gl.endTransformFeedback();
  gl.disable(gl.RASTERIZER_DISCARD);
  gl.getBufferSubData(gl.TRANSFORM_FEEDBACK_BUFFER, 0, result);
  gl.bindBufferBase(gl.TRANSFORM_FEEDBACK_BUFFER, 0, null), gl.bindVertexArray(null);
  for (const buffer of [...buffers, out]) gl.deleteBuffer(buffer);
  gl.deleteTexture(texture), gl.deleteVertexArray(array), gl.deleteProgram(program);
  renderer.resetState();
  return result;
}
