// SPDX-License-Identifier: MIT
// The drives: input to palette.

fn copyEntry(from_: u32, to: u32) {
  for (var r = 0u; r < 3u; r++) {
    let at = from_ + 4u * r;
    palette[to + r] = vec4f(given[at], given[at + 1u], given[at + 2u], given[at + 3u]);
  }
}

// x: joint
@compute @workgroup_size(64) fn joints(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= P.jointCount) { return; }
  copyEntry(givenAt(id.y) + 12u * id.x, entryAt(id.y, id.x));
}

// x: helper joint, whose matrix comes from WebAssembly
@compute @workgroup_size(64) fn helpers(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= P.paletteCount - P.jointCount) { return; }
  copyEntry(givenAt(id.y) + P.helpersAt + 12u * id.x, entryAt(id.y, P.jointCount + id.x));
}

// ---- half-way and scaling joints (Mohr and Gleicher 2003), one after the other: src/runtime/extra.h ---------------------------

fn bendOf(at: u32, parent: u32, child: u32) -> f32 {
  let d = point(at + 6u);
  let squared = dot(d, d);
  let a = polar(linearAt(parent)).rotation;
  let b = polar(linearAt(child)).rotation;
  var cosine: f32;
  if (squared > 0.0) {
    cosine = dot(a * d, b * d) / squared;
  } else {
    cosine = (dot(a[0], b[0]) + dot(a[1], b[1]) + dot(a[2], b[2]) - 1.0) / 2.0;
  }
  return (1.0 - cosine) / 2.0;
}

// y: character
@compute @workgroup_size(1) fn extras(@builtin(global_invocation_id) id: vec3u) {
  for (var e = 0u; e + P.jointCount < P.paletteCount; e++) {
    let at = P.driveExtra + 16u * e;
    let kind = short(at, 0u);
    let parent = entryAt(id.y, short(at, 1u));
    let child = entryAt(id.y, short(at, 2u));
    let base = entryAt(id.y, short(at, 3u));
    let out = entryAt(id.y, P.jointCount + e);
    let centre = point(at + 3u);
    if (kind == 1u) {
      let q = slerp(quaternionOf(polar(linearAt(parent)).rotation), quaternionOf(polar(linearAt(child)).rotation), number(at + 2u));
      storeAbout(out, rotationOf(q), centre, applyAt(child, centre));
    } else {
      let bend = bendOf(at, parent, child);
      let s0 = bend * point(at + 9u);   // xx yy zz
      let s1 = bend * point(at + 12u);  // xy xz yz
      let stretch = mat3x3f(1.0 + s0.x, s1.x, s1.y, s1.x, 1.0 + s0.y, s1.z, s1.y, s1.z, 1.0 + s0.z);
      storeAbout(out, linearAt(base) * stretch, centre, applyAt(base, centre));
    }
  }
}

// ---- rotational regression and torque: src/runtime/rotreg_joint.h, rotreg_predict.h, rotreg_template.h -------------------------

fn turnAt(character: u32, joint: u32) -> u32 { return workAt(character) + P.turnsAt + 8u * joint; }
fn quaternionAt(at: u32) -> vec4f { return vec4f(work[at], work[at + 1u], work[at + 2u], work[at + 3u]); }
fn logarithmAt(at: u32) -> vec3f { return vec3f(work[at + 4u], work[at + 5u], work[at + 6u]); }

// x: joint
@compute @workgroup_size(64) fn turns(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= P.jointCount) { return; }
  let q = quaternionOf(polar(linearAt(entryAt(id.y, id.x))).rotation);
  let at = turnAt(id.y, id.x);
  for (var n = 0u; n < 4u; n++) { work[at + n] = q[n]; }
}

fn within(x: f32) -> f32 { return clamp(x, 0.0, 1.0); }

// x: joint. Logarithms relative to the base on the branch nearest to the reference; blends by torques.
@compute @workgroup_size(64) fn logarithms(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= P.jointCount) { return; }
  let joint = P.driveJoints + 4u * id.x;
  let at = turnAt(id.y, id.x);
  let base = quaternionAt(turnAt(id.y, file[joint]));
  var q = times(vec4f(-base.xyz, base.w), quaternionAt(at));
  if (q.w < 0.0) { q = -q; }
  let size = length(q.xyz);
  let angle = 2.0 * angleOf(size, q.w);
  var factor = 2.0;
  if (size > 1e-6) {
    let along = dot(q.xyz, point(joint + 1u)) / size;
    factor = (angle + 6.28318530717958647692 * round((along - angle) / 6.28318530717958647692)) / size;
  }
  for (var n = 0u; n < 3u; n++) { work[at + 4u + n] = factor * q[n]; }
  if (P.driveTorques == 0u) { return; }
  let t = P.driveTorques + 8u * id.x;
  let range = number(t + 1u) - number(t);
  let x = select(0.0, within((given[givenAt(id.y) + P.torquesAt + id.x] - number(t)) / range), range > 0.0);
  let to = workAt(id.y) + P.blendsAt + 2u * id.x;
  for (var k = 0u; k < 2u; k++) {
    let c = point(t + 2u + 3u * k);
    var offset = 0.0;
    if (P.driveOffsets != 0u) { offset = number(P.driveOffsets + 2u * id.x + k); }
    work[to + k] = within(offset + x * (c.x + x * (c.y + x * c.z)));
  }
}

// The quaternion of exp(r): that of r / 4 by series, squared twice.
fn exponential(r: vec3f) -> vec4f {
  let x = dot(r, r) / 64.0;
  let c = (((((2.0876757e-9 * x - 2.7557319e-7) * x + 2.4801587e-5) * x - 1.3888889e-3) * x + 4.1666667e-2) * x - 0.5) * x + 1.0;
  let s = (((((1.6059044e-10 * x - 2.5052108e-8) * x + 2.7557319e-6) * x - 1.9841270e-4) * x + 8.3333333e-3) * x - 1.6666667e-1) * x + 1.0;
  var q = vec4f(0.125 * s * r, c);
  for (var twice = 0; twice < 2; twice++) { q = vec4f(2.0 * q.w * q.xyz, q.w * q.w - dot(q.xyz, q.xyz)); }
  return q;
}

struct Parts { q: vec4f, diagonal: vec3f, off: vec3f }

fn row7(at: u32, lane: u32, a: vec3f, b: vec3f) -> f32 {
  var sum = number(at + 48u + lane);
  for (var n = 0u; n < 3u; n++) { sum += number(at + 8u * n + lane) * a[n] + number(at + 24u + 8u * n + lane) * b[n]; }
  return sum;
}

// Rotation and scale/shear of one predictor: `block` is a sn_rt_rotreg_block.
fn predictor(block: u32, lane: u32, character: u32) -> Parts {
  var q = quaternionAt(turnAt(character, short(block, lane)));
  let count = file[block + 24u];
  for (var k = 0u; k < count; k++) {
    let theta = logarithmAt(turnAt(character, short(block + 4u, 8u * k + lane)));
    let map = block + 40u + 72u * k + lane;
    var r: vec3f;
    for (var n = 0u; n < 3u; n++) {
      r[n] = number(map + 24u * n) * theta.x + number(map + 24u * n + 8u) * theta.y + number(map + 24u * n + 16u) * theta.z;
    }
    q = times(q, exponential(r));
  }
  let a = logarithmAt(turnAt(character, short(block + 16u, lane)));
  let b = logarithmAt(turnAt(character, short(block + 16u, 8u + lane)));
  var tilt: vec3f;
  var out: Parts;
  for (var n = 0u; n < 3u; n++) {
    tilt[n] = row7(block + 592u + 56u * n, lane, a, b);
    out.diagonal[n] = row7(block + 256u + 56u * n, lane, a, b);
    out.off[n] = row7(block + 256u + 56u * (n + 3u), lane, a, b);
  }
  out.q = times(q, exponential(tilt));
  return out;
}

// sin(t a) / sin(a) for cos(a) = 1 + x (Eberly 2011)
fn slerpShare(t: f32, x: f32) -> f32 {
  var sum = 1.0;
  for (var k = 12; k >= 1; k--) {
    let n = f32(k);
    sum = (t * t / (n * (2.0 * n + 1.0)) - n / (2.0 * n + 1.0)) * x * sum + 1.0;
  }
  return t * sum;
}

// x: proxy bone. Its key gradient into the right-hand side.
@compute @workgroup_size(64) fn predict(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= P.paletteCount - P.jointCount) { return; }
  let lane = id.x % 8u;
  var parts: Parts;
  if (P.drivePairs != 0u) {
    let block = P.drivePairs + 1536u * (id.x / 8u);
    let load = short(block + 1520u, lane);
    parts = predictor(block, lane, id.y);
    let other = predictor(block + 760u, lane, id.y);
    var f = vec2f();
    if (load < P.jointCount) {
      let at = workAt(id.y) + P.blendsAt + 2u * load;
      f = vec2f(work[at], work[at + 1u]);
    }
    let cosine = dot(parts.q, other.q);
    let side = select(1.0, -1.0, cosine < 0.0);
    let x = side * cosine - 1.0;
    parts.q = slerpShare(1.0 - f.x, x) * parts.q + side * slerpShare(f.x, x) * other.q;
    parts.diagonal = (1.0 - f.y) * parts.diagonal + f.y * other.diagonal;
    parts.off = (1.0 - f.y) * parts.off + f.y * other.off;
  } else {
    parts = predictor(P.driveKeys + 760u * (id.x / 8u), lane, id.y);
  }
  let d = parts.diagonal;
  let o = parts.off;
  let gradient = rotationOf(parts.q) * mat3x3f(d.x, o.x, o.y, o.x, d.y, o.z, o.y, o.z, d.z);
  let to = workAt(id.y) + P.columnsAt + 9u * id.x;
  for (var c = 0u; c < 3u; c++) { for (var r = 0u; r < 3u; r++) { work[to + 3u * c + r] = gradient[c][r]; } }
}

// x: proxy bone. T' = C X (4.3, 5).
@compute @workgroup_size(64) fn solve(@builtin(global_invocation_id) id: vec3u) {
  let bones = P.paletteCount - P.jointCount;
  if (id.x >= bones) { return; }
  var at = P.driveSolve + (id.x / 8u) * 32u * (3u * bones + 4u * P.jointCount) + 4u * (id.x % 8u);
  var rows = mat3x4f();
  let x = workAt(id.y) + P.columnsAt;
  for (var k = 0u; k < 3u * bones; k++) {
    let c = vec4f(number(at), number(at + 1u), number(at + 2u), number(at + 3u));
    rows[0] += c * work[x + 3u * k];
    rows[1] += c * work[x + 3u * k + 1u];
    rows[2] += c * work[x + 3u * k + 2u];
    at += 32u;
  }
  for (var j = 0u; j < P.jointCount; j++) {
    let m = entryAt(id.y, j);
    for (var column = 0u; column < 4u; column++) {
      let c = vec4f(number(at), number(at + 1u), number(at + 2u), number(at + 3u));
      rows[0] += c * palette[m][column];
      rows[1] += c * palette[m + 1u][column];
      rows[2] += c * palette[m + 2u][column];
      at += 32u;
    }
  }
  let out = entryAt(id.y, P.jointCount + id.x);
  palette[out] = rows[0];
  palette[out + 1u] = rows[1];
  palette[out + 2u] = rows[2];
}
