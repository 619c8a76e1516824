// SPDX-License-Identifier: MIT
// The blend, correct and shade slots: src/cuda/vertex.h, one invocation per vertex.

struct Vertex { influences: u32, joints: array<u32, 8>, weights: array<f32, 8>, position: vec3f, normal: vec3f }

fn storedWeight(i: u32) -> f32 {
  if (P.weightBits == 8u) { return f32(small(P.skinWeights, i)) / 255.0; }
  if (P.weightBits == 16u) { return f32(short(P.skinWeights, i)) / 65535.0; }
  return number(P.skinWeights + i);
}

fn restPoint(section: u32, block: u32, lane: u32) -> vec3f {
  let at = section + 24u * block + lane;
  return vec3f(number(at), number(at + 8u), number(at + 16u));
}

fn loadVertex(block: u32, lane: u32) -> Vertex {
  let g = P.skinGroups + 8u * aux[2u * block];
  let own = block - file[g];
  var v: Vertex;
  v.influences = (file[g + 3u] >> 16u) & 0xffu;
  let shares = file[g + 3u] >> 24u == 0u;
  var left = 1.0;
  for (var k = 0u; k < v.influences; k++) {
    if (k > 0u) {
      v.weights[k] = storedWeight((file[g + 1u] + own * (v.influences - 1u) + k - 1u) * 8u + lane);
      left -= v.weights[k];
    }
    if (shares) { v.joints[k] = short(g + 4u, k); } else { v.joints[k] = short(P.skinTuples, (file[g + 2u] + own * v.influences + k) * 8u + lane); }
  }
  v.weights[0] = left;
  v.position = restPoint(P.skinRest, block, lane);
  if (P.skinNormals != 0u) { v.normal = restPoint(P.skinNormals, block, lane); }
  return v;
}

// ---- corrections --------------------------------------------------------------------------------------------------------------

struct Correction { shift: vec3f, turn: vec3f }

// A displacement no longer than the vertex's limit.
fn limited(shift: vec3f, block: u32, lane: u32) -> vec3f {
  if (P.correctLimits == 0u) { return shift; }
  let limit = number(P.correctLimits + 8u * block + lane);
  let size = length(shift);
  let free = limit / 1.3;
  if (size <= free) { return shift; }
  let room = limit - free;
  let beyond = size - free;
  return shift * ((free + room * beyond / (room + beyond)) / size);
}

fn correctionOf(character: u32, block: u32, lane: u32) -> Correction {
  var out: Correction;
  let values = givenAt(character) + P.valuesAt;
  for (var n = file[P.correctStart + block]; n < file[P.correctStart + block + 1u]; n++) {
    let entry = P.correctEntries + 3u * n;
    let value = given[values + (file[entry] & 0xffffu)];
    let at = 48u * n + lane;
    out.shift += value * number(entry + 1u) * vec3f(delta16(P.correctDeltas, at), delta16(P.correctDeltas, at + 8u), delta16(P.correctDeltas, at + 16u));
    out.turn += value * number(entry + 2u) * vec3f(delta16(P.correctDeltas, at + 24u), delta16(P.correctDeltas, at + 32u), delta16(P.correctDeltas, at + 40u));
  }
  if (P.limitAfter == 0u) { out.shift = limited(out.shift, block, lane); }
  return out;
}

// ---- blends -------------------------------------------------------------------------------------------------------------------

struct Moved { position: vec3f, normal: vec3f }

fn transformed(rows: array<vec4f, 3>, p: vec3f, n: vec3f) -> Moved {
  let v = vec4f(p, 1);
  let normal = vec3f(dot(cross(rows[1].xyz, rows[2].xyz), n), dot(cross(rows[2].xyz, rows[0].xyz), n), dot(cross(rows[0].xyz, rows[1].xyz), n));
  return Moved(vec3f(dot(rows[0], v), dot(rows[1], v), dot(rows[2], v)), unit(normal));
}

fn blendedRows(character: u32, v: ptr<function, Vertex>) -> array<vec4f, 3> {
  var rows: array<vec4f, 3>;
  for (var k = 0u; k < (*v).influences; k++) {
    let at = entryAt(character, (*v).joints[k]);
    for (var r = 0u; r < 3u; r++) { rows[r] += (*v).weights[k] * palette[at + r]; }
  }
  return rows;
}

fn realAt(character: u32, entry: u32) -> vec4f {
  let at = workAt(character) + P.dualquatsAt + 8u * entry;
  return vec4f(work[at], work[at + 1u], work[at + 2u], work[at + 3u]);
}

fn stretchRows(character: u32, v: ptr<function, Vertex>) -> array<vec4f, 3> {
  var rows: array<vec4f, 3>;
  for (var k = 0u; k < (*v).influences; k++) {
    let at = workAt(character) + P.stretchesAt + 12u * (*v).joints[k];
    for (var r = 0u; r < 3u; r++) { rows[r] += (*v).weights[k] * vec4f(work[at + 4u * r], work[at + 4u * r + 1u], work[at + 4u * r + 2u], work[at + 4u * r + 3u]); }
  }
  return rows;
}

fn isRigid(character: u32) -> bool { return work[workAt(character) + P.rigidAt + P.paletteCount] != 0.0; }

struct Dual { real: vec4f, dual: vec4f }

fn blendedDual(character: u32, v: ptr<function, Vertex>) -> Dual {
  let pivot = realAt(character, (*v).joints[0]);
  var out = Dual();
  for (var k = 0u; k < (*v).influences; k++) {
    let real = realAt(character, (*v).joints[k]);
    let at = workAt(character) + P.dualquatsAt + 8u * (*v).joints[k] + 4u;
    var w = (*v).weights[k];
    if (P.jointReference == 0u && dot(real, pivot) < 0.0) { w = -w; }
    out.real += w * real;
    out.dual += w * vec4f(work[at], work[at + 1u], work[at + 2u], work[at + 3u]);
  }
  return out;
}

// A quaternion of any length, and with a dual part also its translation.
fn turned(q: vec4f, d: vec4f, p: vec3f) -> vec3f {
  return p + 2.0 / dot(q, q) * (cross(q.xyz, cross(q.xyz, p) + q.w * p + d.xyz) + q.w * d.xyz - d.w * q.xyz);
}

fn dualBlend(character: u32, v: ptr<function, Vertex>) -> Moved {
  let q = blendedDual(character, v);
  var from_ = Moved((*v).position, (*v).normal);
  if (!isRigid(character)) { from_ = transformed(stretchRows(character, v), (*v).position, (*v).normal); }
  return Moved(turned(q.real, q.dual, from_.position), turned(q.real, vec4f(), from_.normal));
}

// The blended rotation about the vertex's centre, which goes where the blended matrix takes it (Le and Hodgins 2016).
fn centreBlend(character: u32, v: ptr<function, Vertex>, centre: vec3f) -> Moved {
  let q = blendedDual(character, v).real;
  var rows = blendedRows(character, v);
  var arm = (*v).position - centre;
  var n = (*v).normal;
  if (!isRigid(character)) {
    var s = stretchRows(character, v);
    n = transformed(s, arm, n).normal;
    arm = vec3f(dot(s[0].xyz, arm), dot(s[1].xyz, arm), dot(s[2].xyz, arm));
  }
  return Moved(transformed(rows, centre, n).position + turned(q, vec4f(), arm), turned(q, vec4f(), n));
}

fn store(character: u32, vertex: u32, moved: Moved) {
  let at = 3u * (character * P.vertexCount + vertex);
  for (var r = 0u; r < 3u; r++) { positions[at + r] = moved.position[r]; }
  if (P.shade == 0u) { for (var r = 0u; r < 3u; r++) { normals[at + r] = moved.normal[r]; } }
}

// x: lane of a block
@compute @workgroup_size(64) fn skin(@builtin(global_invocation_id) id: vec3u) {
  let block = id.x / 8u;
  let lane = id.x % 8u;
  if (block >= P.blockCount) { return; }
  var v = loadVertex(block, lane);
  var c: Correction;
  if (P.correctStart != 0u) {
    c = correctionOf(id.y, block, lane);
    if (P.forward == 0u) {
      if (P.limitAfter == 0u) { v.position += c.shift; }
      v.normal += c.turn;
    }
  }
  var moved: Moved;
  if (P.blend == 0u) {
    var rows = blendedRows(id.y, &v);
    moved = transformed(rows, v.position, v.normal);
    if (P.limitAfter != 0u) {
      moved.position += limited(vec3f(dot(rows[0].xyz, c.shift), dot(rows[1].xyz, c.shift), dot(rows[2].xyz, c.shift)), block, lane);
    }
  } else if (P.blend == 1u) {
    moved = dualBlend(id.y, &v);
  } else {
    moved = centreBlend(id.y, &v, restPoint(P.skinCentres, block, lane));
  }
  if (P.correctStart != 0u) {
    if (P.forward != 0u) {
      moved.position += c.shift;
      moved.normal = unit(moved.normal) + c.turn;
    }
    moved.normal = unit(moved.normal);
  }
  store(id.y, aux[2u * block + 1u] + short(P.skinLanes, 8u * block + lane), moved);
}

// ---- normals from the deformed triangles around a vertex (Wang 2007, section 6) -----------------------------------------------

fn positionAt(character: u32, vertex: u32) -> vec3f {
  let at = 3u * (character * P.vertexCount + vertex);
  return vec3f(positions[at], positions[at + 1u], positions[at + 2u]);
}

fn neighbour(character: u32, step: u32, lane: u32) -> vec3f {
  let i = 8u * step + lane;
  if (P.fanBytes == 2u) { return positionAt(character, short(P.shadeFans, i)); }
  return positionAt(character, file[P.shadeFans + i]);
}

// x: vertex
@compute @workgroup_size(64) fn shade(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= P.vertexCount) { return; }
  let block = id.x / 8u;
  let lane = id.x % 8u;
  let start = file[P.shadeStart + block];
  let end = file[P.shadeStart + block + 1u];
  let p = positionAt(id.y, id.x);
  var sum = vec3f();
  var edge = vec3f();
  if (start < end) {
    let first = neighbour(id.y, start, lane);
    edge = first - p;
    var u = first;
    for (var step = start; step < end; step += 2u) {
      var v = u;
      if (step + 1u < end) { v = neighbour(id.y, step + 1u, lane); }
      var w = first;
      if (step + 2u < end) { w = neighbour(id.y, step + 2u, lane); }
      sum += cross(v - p, w - u);
      u = w;
    }
  }
  let squared = dot(sum, sum);
  var n = select(vec3f(0, 0, 1), sum * inverseSqrt(max(squared, 1e-37)), squared >= 1e-37);
  if (P.shadeOwn != 0u && start < end) {
    let at = 24u * block + lane;
    let own = vec3f(delta16(P.shadeOwn, at), delta16(P.shadeOwn, at + 8u), delta16(P.shadeOwn, at + 16u)) / 32767.0;
    let t = unit(edge - dot(n, edge) * n);
    n = unit(own.x * n + own.y * t + own.z * cross(n, t));
  }
  let at = 3u * (id.y * P.vertexCount + id.x);
  for (var r = 0u; r < 3u; r++) { normals[at + r] = n[r]; }
}
