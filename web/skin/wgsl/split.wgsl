// SPDX-License-Identifier: MIT
// Dual quaternions: every palette matrix as a rigid motion and a stretch (src/runtime/palette.c, dualquat.h).

fn centreOf(entry: u32) -> vec3f {
  if (entry >= P.jointCount) { return point(P.driveExtra + 16u * (entry - P.jointCount) + 3u); }
  if (P.jointRest == 0u) { return vec3f(); }
  let at = P.jointRest + 12u * entry;
  return vec3f(number(at + 3u), number(at + 7u), number(at + 11u));
}

fn turnOf(character: u32, joint: u32) -> vec4f {
  let at = workAt(character) + P.turnsAt + 8u * joint;
  return vec4f(work[at], work[at + 1u], work[at + 2u], work[at + 3u]);
}

// y: character. Quaternions on the side of the reference rotations, parents before children (src/runtime/local_rotations.c).
@compute @workgroup_size(1) fn signs(@builtin(global_invocation_id) id: vec3u) {
  let goesOn = given[givenAt(id.y) + P.goesOnAt] > 0.0;
  for (var n = 0u; n < P.jointCount; n++) {
    let at = P.jointReference + 5u * n;
    let joint = short(at, 0u);
    let above = short(at, 1u);
    var q = quaternionOf(polar(linearAt(entryAt(id.y, joint))).rotation);
    var parent = vec4f(0, 0, 0, 1);
    if (above != noJoint) { parent = turnOf(id.y, above); }
    let reference = vec4f(number(at + 1u), number(at + 2u), number(at + 3u), number(at + 4u));
    let relative = times(vec4f(-parent.xyz, parent.w), q);
    let last = turnOf(id.y, joint); // of the last evaluation
    if (goesOn && dot(last, last) > 0.0) {
      if (dot(q, last) < 0.0) { q = -q; }
    } else if (times(vec4f(-reference.xyz, reference.w), relative).w < 0.0) {
      q = -q;
    }
    let to = workAt(id.y) + P.turnsAt + 8u * joint;
    for (var c = 0u; c < 4u; c++) { work[to + c] = q[c]; }
  }
}

fn splitEntry(character: u32, entry: u32, share: f32) {
  let at = entryAt(character, entry);
  let centre = centreOf(entry);
  let parts = polar(linearAt(at));
  let kept = share * centre;
  var t = vec3f(palette[at].w, palette[at + 1u].w, palette[at + 2u].w);
  if (!parts.rigid) { t = applyAt(at, centre) - parts.rotation * kept; }
  var q = quaternionOf(parts.rotation);
  if (P.jointReference != 0u) {
    var joint = entry;
    if (entry >= P.jointCount) { joint = short(P.driveExtra + 16u * (entry - P.jointCount), 2u); }
    if (dot(q, turnOf(character, joint)) < 0.0) { q = -q; }
  }
  let d = 0.5 * vec4f(t * q.w + cross(t, q.xyz), -dot(t, q.xyz));
  let to = workAt(character) + P.dualquatsAt + 8u * entry;
  for (var c = 0u; c < 4u; c++) {
    work[to + c] = q[c];
    work[to + 4u + c] = d[c];
  }
  let s = workAt(character) + P.stretchesAt + 12u * entry;
  let rows = transpose(parts.stretch);
  let moved = kept - parts.stretch * centre;
  for (var r = 0u; r < 3u; r++) {
    for (var c = 0u; c < 3u; c++) { work[s + 4u * r + c] = rows[r][c]; }
    work[s + 4u * r + 3u] = moved[r];
  }
  if (share == 1.0) { work[workAt(character) + P.rigidAt + entry] = select(0.0, 1.0, parts.rigid); }
}

// x: palette entry
@compute @workgroup_size(64) fn split(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < P.paletteCount) { splitEntry(id.y, id.x, 1.0); }
}

fn meanStretch(character: u32, entry: u32) -> f32 {
  let s = workAt(character) + P.stretchesAt + 12u * entry;
  return (work[s] + work[s + 5u] + work[s + 10u]) / 3.0;
}

// y: character. Whether all entries are rigid, and the scale that more than half of them share.
@compute @workgroup_size(1) fn scales(@builtin(global_invocation_id) id: vec3u) {
  var rigid = 1.0;
  for (var e = 0u; e < P.paletteCount; e++) { rigid = min(rigid, work[workAt(id.y) + P.rigidAt + e]); }
  var scale = 1.0;
  var votes = 0u;
  var agree = 0u;
  for (var e = 0u; e < P.paletteCount && rigid == 0.0; e++) {
    let own = meanStretch(id.y, e);
    let equal = abs(own - scale) <= 1e-4 * abs(scale);
    if (votes == 0u) { scale = own; }
    votes = select(votes - 1u, votes + 1u, votes == 0u || equal);
  }
  for (var e = 0u; e < P.paletteCount; e++) { agree += select(0u, 1u, abs(meanStretch(id.y, e) - scale) <= 1e-4 * abs(scale)); }
  let at = workAt(id.y) + P.rigidAt + P.paletteCount;
  work[at] = rigid;
  work[at + 1u] = select(1.0, scale, rigid == 0.0 && agree > P.paletteCount / 2u && scale > 0.0);
}

// x: palette entry
@compute @workgroup_size(64) fn rescale(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= P.paletteCount) { return; }
  let shared_ = work[workAt(id.y) + P.rigidAt + P.paletteCount + 1u];
  if (abs(shared_ - 1.0) > 1e-4) { splitEntry(id.y, id.x, shared_); }
}
