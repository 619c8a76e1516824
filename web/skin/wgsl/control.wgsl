// SPDX-License-Identifier: MIT
// The drive `controls` (Kim, Feng and Yu 2010): src/runtime/control_bone.h and drive_controls.c.

const stretches = 1u;
const poisson = 2u;
const centred = 4u;
const leastStretch = 0.05;

// exp(x) - 1 of x <= 0, to rounding: 2^k (exp(r) - 1) + 2^k - 1 with x = k ln 2 + r.
fn lessOne(x: f32) -> f32 {
  if (x < -80.0) { return -1.0; }
  let k = round(x * 1.44269504088896341);
  let r = (x - k * 0.693359375) + k * 2.12194440e-4;
  let e = r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r / 5040.0))))));
  let two = ldexp(1.0, i32(k));
  return two * e + (two - 1.0);
}

// x: training frame; the last is the constant 1.
@compute @workgroup_size(64) fn kernels(@builtin(global_invocation_id) id: vec3u) {
  if (id.x > P.frames) { return; }
  let out = workAt(id.y) + P.kernelsAt + id.x;
  if (id.x == P.frames) {
    work[out] = 1.0;
    return;
  }
  let controls = givenAt(id.y) + P.controlsAt;
  var mean = vec3f();
  if ((P.flags & centred) != 0u) {
    for (var c = 0u; c < P.controlCount; c++) {
      mean += vec3f(given[controls + 3u * c], given[controls + 3u * c + 1u], given[controls + 3u * c + 2u]) / f32(P.controlCount);
    }
  }
  var sum = 0.0;
  for (var c = 0u; c < P.controlCount; c++) {
    let at = controls + 3u * c;
    let d = vec3f(given[at], given[at + 1u], given[at + 2u]) - mean - point(P.controlFrames + 3u * (id.x * P.controlCount + c));
    sum += d.x * d.x + d.y * d.y + d.z * d.z;
  }
  work[out] = lessOne(-bitcast<f32>(P.scale) * sum);
}

// x: output of a bone. Columns go to four sums in rotation, as in the runtime.
@compute @workgroup_size(64) fn outputs(@builtin(global_invocation_id) id: vec3u) {
  let rows = P.paletteCount * P.outputs;
  if (id.x >= rows) { return; }
  let first = id.x / 8u * 8u;
  let wide = min(rows - first, 8u);
  let columns = P.frames + 1u;
  let at = P.controlMap + first * columns + id.x % 8u;
  let x = workAt(id.y) + P.kernelsAt;
  var sums = vec4f();
  let whole = select(0u, columns / 4u * 4u, wide == 8u);
  for (var c = 0u; c < whole; c += 4u) {
    for (var k = 0u; k < 4u; k++) { sums[k] += number(at + (c + k) * wide) * work[x + c + k]; }
  }
  for (var c = whole; c < columns; c++) { sums[0] += number(at + c * wide) * work[x + c]; }
  work[workAt(id.y) + P.outputsAt + id.x] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

fn outputAt(character: u32, bone: u32, n: u32) -> f32 { return work[workAt(character) + P.outputsAt + bone * P.outputs + n]; }

// Eigenvalues below the bound are raised to it: cyclic Jacobi rotations.
fn raise(s: mat3x3f) -> mat3x3f {
  var a = s;
  var v = identity;
  for (var turn = 0; turn < 24; turn++) {
    let p = select(0, 1, turn % 3 == 2);
    let q = select(2, 1, turn % 3 == 0);
    if (!(abs(a[q][p]) > 1e-12)) { continue; }
    let zeta = (a[q][q] - a[p][p]) / (2.0 * a[q][p]);
    let t = select(-1.0, 1.0, zeta >= 0.0) / (abs(zeta) + sqrt(1.0 + zeta * zeta));
    let c = 1.0 / sqrt(1.0 + t * t);
    let d = c * t;
    let ap = a[p];
    a[p] = c * ap - d * a[q];
    a[q] = d * ap + c * a[q];
    let vp = v[p];
    v[p] = c * vp - d * v[q];
    v[q] = d * vp + c * v[q];
    for (var n = 0; n < 3; n++) {
      let x = a[n][p];
      a[n][p] = c * x - d * a[n][q];
      a[n][q] = d * x + c * a[n][q];
    }
  }
  let e = max(vec3f(a[0][0], a[1][1], a[2][2]), vec3f(leastStretch));
  return mat3x3f(v[0] * e.x, v[1] * e.y, v[2] * e.z) * transpose(v);
}

// x: bone. F = R W.
@compute @workgroup_size(64) fn gradients(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= P.paletteCount) { return; }
  var q = vec4f(outputAt(id.y, id.x, 0u), outputAt(id.y, id.x, 1u), outputAt(id.y, id.x, 2u), outputAt(id.y, id.x, 3u));
  if (!(dot(q, q) > 1e-20)) { q.w = 1.0; }
  var f = rotationOf(q);
  if ((P.flags & stretches) != 0u) {
    var w: array<f32, 6>;
    for (var n = 0u; n < 6u; n++) { w[n] = outputAt(id.y, id.x, 4u + n); }
    let full = mat3x3f(w[0], w[1], w[2], w[1], w[3], w[4], w[2], w[4], w[5]);
    let a = w[0] - leastStretch;
    let d = w[3] - leastStretch;
    let g = w[5] - leastStretch;
    let minor = a * d - w[1] * w[1];
    let det = g * minor - a * w[4] * w[4] + 2.0 * w[1] * w[2] * w[4] - d * w[2] * w[2];
    if (a > 0.0 && minor > 0.0 && det > 0.0) { f = f * full; } else { f = f * raise(full); }
  }
  let to = workAt(id.y) + P.columnsAt + 9u * id.x;
  for (var c = 0u; c < 3u; c++) { for (var r = 0u; r < 3u; r++) { work[to + 3u * c + r] = f[c][r]; } }
}

// Number n of the right-hand side: three columns of every bone, then the control points.
fn rightHand(character: u32, n: u32) -> vec3f {
  if (n < 3u * P.paletteCount) {
    let at = workAt(character) + P.columnsAt + 3u * n;
    return vec3f(work[at], work[at + 1u], work[at + 2u]);
  }
  let at = givenAt(character) + P.controlsAt + 3u * (n - 3u * P.paletteCount);
  return vec3f(given[at], given[at + 1u], given[at + 2u]);
}

fn solvedPlace(character: u32, bone: u32) -> vec3f {
  let first = bone / 8u * 8u;
  let wide = min(P.paletteCount - first, 8u);
  let columns = 3u * P.paletteCount + P.controlCount;
  let at = P.controlSolve + first * columns + bone % 8u;
  var sums = mat2x3f();
  let whole = select(0u, columns / 2u * 2u, wide == 8u);
  for (var c = 0u; c < whole; c += 2u) {
    sums[0] += number(at + c * wide) * rightHand(character, c);
    sums[1] += number(at + (c + 1u) * wide) * rightHand(character, c + 1u);
  }
  for (var c = whole; c < columns; c++) { sums[0] += number(at + c * wide) * rightHand(character, c); }
  return sums[0] + sums[1];
}

fn predictedPlace(character: u32, bone: u32, centre: vec3f) -> vec3f {
  if ((P.flags & stretches) != 0u) {
    return centre + vec3f(outputAt(character, bone, 10u), outputAt(character, bone, 11u), outputAt(character, bone, 12u));
  }
  var d: array<f32, 8>;
  for (var n = 0u; n < 8u; n++) { d[n] = outputAt(character, bone, n); }
  let size = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[3] * d[3];
  let s = select(0.0, 2.0 / size, size > 1e-20);
  return centre + s * vec3f(d[4] * d[3] - d[7] * d[0] - d[5] * d[2] + d[6] * d[1], d[5] * d[3] - d[7] * d[1] - d[6] * d[0] + d[4] * d[2],
                            d[6] * d[3] - d[7] * d[2] - d[4] * d[1] + d[5] * d[0]);
}

// x: bone
@compute @workgroup_size(64) fn places(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= P.paletteCount) { return; }
  let centre = point(P.controlCentres + 3u * id.x);
  var place: vec3f;
  if ((P.flags & poisson) != 0u) { place = solvedPlace(id.y, id.x); } else { place = predictedPlace(id.y, id.x, centre); }
  let at = workAt(id.y) + P.columnsAt + 9u * id.x;
  var f: mat3x3f;
  for (var c = 0u; c < 3u; c++) { f[c] = vec3f(work[at + 3u * c], work[at + 3u * c + 1u], work[at + 3u * c + 2u]); }
  storeAbout(entryAt(id.y, id.x), f, centre, place);
}
