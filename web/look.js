// SPDX-License-Identifier: MIT
// The character's own colours and textures, where the rest file has any.
import * as THREE from 'three';

// Decodes the pictures: every part gets the bitmap it has, or none.
export async function decodeLook(set) {
  const { look } = set;
  if (!look) return;
  const bitmaps = await Promise.all(look.images.map(image => image && createImageBitmap(new Blob([image.bytes], { type: image.type }),
    { premultiplyAlpha: 'none', colorSpaceConversion: 'none' }).catch(() => null)));
  for (const part of look.parts) part.bitmap = bitmaps[part.image] ?? null;
}

// Textures of three.js, one per bitmap.
export function lookTextures(look) {
  const textures = new Map();
  for (const { bitmap } of look.parts) {
    if (!bitmap || textures.has(bitmap)) continue;
    const texture = new THREE.Texture(bitmap);
    texture.flipY = false, texture.colorSpace = THREE.SRGBColorSpace, texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
    texture.needsUpdate = true;
    textures.set(bitmap, texture);
  }
  return textures;
}
