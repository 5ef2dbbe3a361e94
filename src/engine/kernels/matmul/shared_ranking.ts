/**
 * Tiles of the tiled kernels and their ranking, as data, written by `deno task gpu write` from the times of all tiles
 * on an adapter.
 */
import type { SharedTile } from "./tiled.ts";

/** Tiles and the weights of their ranking. */
export interface SharedRanking {
  /** Adapter, date, and the data of the fit. */
  readonly source: string;
  /** Invocations that keep the GPU busy. */
  readonly invocations: number;
  /** Weight of an invocation's loads from workgroup memory, relative to its products. */
  readonly registers: number;
  /** Weight of a workgroup's loads from memory, relative to its products. */
  readonly loads: number;
  /** Least terms of a part, where several workgroups share a sum. */
  readonly part: number;
  /** Tiles to choose among. */
  readonly tiles: readonly SharedTile[];
}

/** The current ranking. */
export const SHARED_RANKING: SharedRanking = {
  source: "no GPU was measured yet: by hand, after the tiles of other WebGPU libraries",
  invocations: 8192,
  registers: 1,
  loads: 8,
  part: 256,
  tiles: [
    { bm: 128, bn: 128, bk: 16, tm: 8, tn: 8 },
    { bm: 128, bn: 64, bk: 16, tm: 8, tn: 8 },
    { bm: 64, bn: 64, bk: 16, tm: 8, tn: 8 },
    { bm: 32, bn: 64, bk: 16, tm: 4, tn: 8 },
    { bm: 32, bn: 32, bk: 32, tm: 4, tn: 4 },
    { bm: 16, bn: 64, bk: 32, tm: 4, tn: 4 },
  ],
};
