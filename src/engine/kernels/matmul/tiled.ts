/**
 * Tiles of the kernels for hardware GPUs, where a workgroup stages blocks of both operands in its memory and each
 * invocation sums a register tile.
 */

/**
 * A workgroup's tile of `bm` rows and `bn` columns, for which `bk` steps of `k` are staged at once, in tiles of `tm`
 * rows and `tn` columns for each invocation; all multiples of 4.
 */
export interface SharedTile {
  readonly bm: number;
  readonly bn: number;
  readonly bk: number;
  readonly tm: number;
  readonly tn: number;
}

export function sharedThreads({ bm, bn, tm, tn }: SharedTile): number {
  return (bm / tm) * (bn / tn);
}

/** Returns the bytes of both panels, whose steps may be a vector longer than the tile. */
export function sharedBytes({ bm, bn, bk }: SharedTile): number {
  return (bm + bn + 8) * bk * 4;
}
