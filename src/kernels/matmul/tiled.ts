/**
 * Tiles of the kernels for hardware GPUs, where a workgroup stages blocks of both operands in its memory and each invocation sums
 * a register tile.
 */

/** Extents of a tile, all multiples of 4. */
export interface SharedTile {
  /** Rows of a workgroup's tile. */
  readonly bm: number;
  /** Columns of a workgroup's tile. */
  readonly bn: number;
  /** Steps of `k` staged at once. */
  readonly bk: number;
  /** Rows of an invocation's tile. */
  readonly tm: number;
  /** Columns of an invocation's tile. */
  readonly tn: number;
}

export function sharedThreads({ bm, bn, tm, tn }: SharedTile): number {
  return (bm / tm) * (bn / tn);
}

export function sharedBytes({ bm, bn, bk }: SharedTile): number {
  return (bm + bn) * bk * 4;
}
