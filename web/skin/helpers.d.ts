// SPDX-License-Identifier: MIT
import type { Object3D } from 'three';

/** docs/reference/driver-table.md. Quaternions are [x, y, z, w]. */
export interface DriverTable {
  version: 1;
  drivers: ({ joint: string; value?: undefined; before: number[]; after: number[]; rest: number[] }
    | { value: string; joint?: undefined; low: number; high: number })[];
  helpers: {
    name: string; parent: string | null; translation: number[]; rotation: number[]; low: number[]; high: number[];
    functions: { driver: number; mix: number[][] }[];
    products?: { drivers: number[]; mix: number[] }[];
  }[];
  terms?: { drivers: number[]; centres?: number[][]; width?: number }[];
  shapes?: { name: string; functions: { terms: number; mix: number[] }[] }[];
}
/** With `added`, four columns, the node's matrix is that of the others plus these. */
export interface HelperPlace { translation: number[]; rotation: number[]; scale: number; added?: number[][] }

/** Where the helpers' nodes are in their parents', for one local rotation or value per driver of the table. */
export function evaluateHelpers(table: DriverTable, inputs: (number[] | number)[]): HelperPlace[];

/** The weights of the table's shapes (morph targets), for one local rotation per driver. */
export function evaluateShapes(table: DriverTable, rotations: number[][]): number[];

/** Drives the helper joints and shapes of what GLTFLoader loaded, by its joints and by `values`; the table is that of the file unless given. Call
 *  update() after the mixer's. */
export function driveHelpers(gltf: { scene: Object3D; userData?: Record<string, any> }, table?: DriverTable):
  { table: DriverTable; values: Record<string, number>; update(): void };
