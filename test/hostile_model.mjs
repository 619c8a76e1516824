// SPDX-License-Identifier: MIT
// Models with one number changed and checksums that fit. Runs in Node and in pages. (Node 18 has no zlib.crc32.)
const crcTable = Array.from({ length: 256 }, (_, n) => { for (let bit = 0; bit < 8; bit++) n = n & 1 ? n >>> 1 ^ 0xedb88320 : n >>> 1; return n; });
const crc32 = bytes => ~bytes.reduce((crc, byte) => crc >>> 8 ^ crcTable[(crc ^ byte) & 255], -1) >>> 0;

// The k-th of the hostile models made of `good`: a byte of a section reversed, or a count of the header or an odd number at its heads.
export function hostile(good, k) {
  const bad = Uint8Array.from(good), view = new DataView(bad.buffer), count = view.getUint32(12, true);
  const entry = 128 + 40 * (k % count), at = Number(view.getBigUint64(entry + 16, true)), size = Number(view.getBigUint64(entry + 24, true));
  const odd = [0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fc00000, 0x7f800000, 0x10000][k % 8];
  if (k % 5 === 4) view.setUint32(24 + 4 * (Math.floor(k / 5) % 20), odd, true);
  else if (k % 5 === 3 && size >= 4) view.setUint32(at + 4 * (k % Math.min(16, Math.floor(size / 4))), odd, true);
  else if (size) bad[at + k * 2654435761 % size] ^= [255, 128, 1][k % 3];
  view.setUint32(entry + 32, crc32(bad.subarray(at, at + size)), true);
  view.setUint32(124, 0, true);
  view.setUint32(124, crc32(bad.subarray(0, 128 + 40 * count)), true);
  return bad;
}
