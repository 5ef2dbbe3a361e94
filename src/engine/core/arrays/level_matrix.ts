/** Matrices of levels of 8 bits that arrays are computed from: devices that multiply by them need not hold the numbers. */
import type { NdArray } from "../nd_array.ts";

/** Numbers `scale * (level - zero)`, in columns along the last axis of an array and rows along all others. */
export interface LevelMatrix {
  /** Levels, each a byte. */
  readonly levels: Int8Array | Uint8Array;
  /** Places among the levels of the elements of the first column: one for each row. */
  readonly rows: () => Int32Array;
  /** Number of columns, and the distance from one to the next among the levels. */
  readonly columns: number;
  readonly stride: number;
  /** Scales: one, or one for each column. */
  readonly scales: Float32Array;
  /** Zero points: one, or one for each column. */
  readonly zeros: Int32Array;
}

const matrices = new WeakMap<NdArray, LevelMatrix>();

/** Notes the levels that an array is computed from. */
export function noteLevels(array: NdArray, matrix: LevelMatrix): void {
  matrices.set(array, matrix);
}

/** Returns the levels that an array is computed from; undefined where it is not. */
export function levelsBehind(array: NdArray): LevelMatrix | undefined {
  return matrices.get(array);
}
