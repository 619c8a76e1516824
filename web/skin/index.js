// SPDX-License-Identifier: MIT
export * from './core.js';
export { SinewMesh } from './mesh.js';
export { SinewCharacter, skinCharacter } from './character.js';
