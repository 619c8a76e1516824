// SPDX-License-Identifier: MIT
// src/runtime/smallmath.h and local_rotation.h in single precision. WGSL allows its own sine and arc tangent errors of 1e-3, so these are
// polynomials. A mat3x3f has columns: m[c][r].

struct Polar { rotation: mat3x3f, stretch: mat3x3f, rigid: bool }

const identity = mat3x3f(1, 0, 0, 0, 1, 0, 0, 0, 1);

fn isRotation(a: mat3x3f) -> bool {
  let g = transpose(a) * a - identity;
  let off = max(max(abs(g[0]), abs(g[1])), abs(g[2]));
  return max(off.x, max(off.y, off.z)) < 1e-5 && determinant(a) > 0.0;
}

// One-sided Jacobi rotations: a = rotation * stretch, the rotation proper whatever a is.
fn polar(a: mat3x3f) -> Polar {
  if (isRotation(a)) { return Polar(a, identity, true); }
  var u = a;
  var v = identity;
  for (var sweep = 0; sweep < 12; sweep++) {
    var rotated = false;
    for (var pair = 0; pair < 3; pair++) {
      let p = select(0, 1, pair == 2);
      let q = select(2, 1, pair == 0);
      let xx = dot(u[p], u[p]);
      let yy = dot(u[q], u[q]);
      let xy = dot(u[p], u[q]);
      if (!(abs(xy) > 1e-7 * sqrt(xx) * sqrt(yy)) || !(abs(xy) > 1e-37)) { continue; }
      rotated = true;
      let zeta = (yy - xx) / (2.0 * xy);
      let t = select(-1.0, 1.0, zeta >= 0.0) / (abs(zeta) + sqrt(1.0 + zeta * zeta));
      let c = 1.0 / sqrt(1.0 + t * t);
      let s = c * t;
      let up = u[p];
      u[p] = c * up - s * u[q];
      u[q] = s * up + c * u[q];
      let vp = v[p];
      v[p] = c * vp - s * v[q];
      v[q] = s * vp + c * v[q];
    }
    if (!rotated) { break; }
  }
  var lengths = vec3f(length(u[0]), length(u[1]), length(u[2]));
  for (var pass_ = 0; pass_ < 2; pass_++) {
    for (var c = 0; c < 2; c++) {
      if (lengths[c] >= lengths[c + 1]) { continue; }
      let l = lengths[c];
      lengths[c] = lengths[c + 1];
      lengths[c + 1] = l;
      let a_ = u[c];
      u[c] = u[c + 1];
      u[c + 1] = a_;
      let b_ = v[c];
      v[c] = v[c + 1];
      v[c + 1] = b_;
    }
  }
  let first = select(vec3f(1, 0, 0), u[0] / lengths.x, lengths.x > 0.0);
  let least = abs(first);
  let axis = select(select(vec3f(0, 0, 1), vec3f(0, 1, 0), least.y <= least.z), vec3f(1, 0, 0), least.x <= least.y && least.x <= least.z);
  let second = select(normalize(axis - dot(axis, first) * first), u[1] / lengths.y, lengths.y > 1e-6 * lengths.x);
  let hand = select(1.0, -1.0, dot(cross(v[0], v[1]), v[2]) < 0.0);
  let third = cross(first, second);
  if (dot(u[2], third) * hand < 0.0) { lengths.z = -lengths.z; }
  let rotation = mat3x3f(first, second, hand * third) * transpose(v);
  let stretch = mat3x3f(v[0] * lengths.x, v[1] * lengths.y, v[2] * lengths.z) * transpose(v);
  return Polar(rotation, stretch, false);
}

fn quaternionOf(m: mat3x3f) -> vec4f {
  let trace = m[0][0] + m[1][1] + m[2][2];
  let yz = m[1][2] - m[2][1];
  let zx = m[2][0] - m[0][2];
  let xy = m[0][1] - m[1][0];
  var q: vec4f;
  if (trace > 0.0) {
    q = vec4f(yz, zx, xy, 1.0 + trace);
  } else if (m[0][0] >= m[1][1] && m[0][0] >= m[2][2]) {
    q = vec4f(1.0 + m[0][0] - m[1][1] - m[2][2], m[1][0] + m[0][1], m[2][0] + m[0][2], yz);
  } else if (m[1][1] >= m[2][2]) {
    q = vec4f(m[1][0] + m[0][1], 1.0 - m[0][0] + m[1][1] - m[2][2], m[2][1] + m[1][2], zx);
  } else {
    q = vec4f(m[2][0] + m[0][2], m[2][1] + m[1][2], 1.0 - m[0][0] - m[1][1] + m[2][2], xy);
  }
  return q / sqrt(dot(q, q));
}

fn rotationOf(q: vec4f) -> mat3x3f {
  let s = 2.0 / dot(q, q);
  let x = q.x; let y = q.y; let z = q.z; let w = q.w;
  return mat3x3f(1.0 - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y),
                 s * (x * y - w * z), 1.0 - s * (x * x + z * z), s * (y * z + w * x),
                 s * (x * z + w * y), s * (y * z - w * x), 1.0 - s * (x * x + y * y));
}

fn times(a: vec4f, b: vec4f) -> vec4f {
  return vec4f(a.w * b.xyz + b.w * a.xyz + cross(a.xyz, b.xyz), a.w * b.w - dot(a.xyz, b.xyz));
}

// atan2 of y, x >= 0.
fn angleOf(y: f32, x: f32) -> f32 {
  if (x <= 0.0) { return select(0.0, 1.5707963267948966, y > 0.0); }
  var t = y / x;
  var base = 0.0;
  if (t > 2.414213562373095) {
    base = 1.5707963267948966;
    t = -x / y;
  } else if (t > 0.4142135623730950) {
    base = 0.7853981633974483;
    t = (y - x) / (y + x);
  }
  let z = t * t;
  return base + ((((8.05374449538e-2 * z - 1.38776856032e-1) * z + 1.99777106478e-1) * z - 3.33329491539e-1) * z * t + t);
}

// Of 0 to pi / 2.
fn sine(x: f32) -> f32 {
  let z = x * x;
  return x * (1.0 + z * (-1.0 / 6.0 + z * (1.0 / 120.0 + z * (-1.0 / 5040.0 + z * (1.0 / 362880.0 - z / 39916800.0)))));
}

// The short way from a to b.
fn slerp(a: vec4f, b: vec4f, t: f32) -> vec4f {
  let side = select(1.0, -1.0, dot(a, b) < 0.0);
  let difference = side * b - a;
  let sum = side * b + a;
  let angle = 2.0 * angleOf(length(difference), length(sum));
  let s = sine(angle);
  let wa = select(1.0 - t, sine((1.0 - t) * angle) / s, s > 1e-4);
  let wb = select(t, sine(t * angle) / s, s > 1e-4);
  return wa * a + side * wb * b;
}

// Palette rows to columns and back.
fn linearAt(at: u32) -> mat3x3f { return transpose(mat3x3f(palette[at].xyz, palette[at + 1u].xyz, palette[at + 2u].xyz)); }

fn applyAt(at: u32, p: vec3f) -> vec3f {
  let v = vec4f(p, 1);
  return vec3f(dot(palette[at], v), dot(palette[at + 1u], v), dot(palette[at + 2u], v));
}

// p -> m (p - centre) + to
fn storeAbout(at: u32, m: mat3x3f, centre: vec3f, to: vec3f) {
  let rows = transpose(m);
  let t = to - m * centre;
  palette[at] = vec4f(rows[0], t.x);
  palette[at + 1u] = vec4f(rows[1], t.y);
  palette[at + 2u] = vec4f(rows[2], t.z);
}
