/**
 * Tiles of the tiled kernels and their ranking, as data, written by `deno task gpu write` from the times of all tiles
 * on an adapter.
 */
import type { SharedTile } from "./tiled.ts";

/** Weights of the cost of a tile, of which one is a million products of one multiprocessor. */
export interface SharedWeights {
  /** Multiprocessors of the GPU. */
  readonly units: number;
  /** Weight of an invocation's loads from workgroup memory, relative to its products. */
  readonly registers: number;
  /** Weight of a workgroup's loads from memory, relative to its products. */
  readonly loads: number;
  /** Cost of waiting for memory at a step of the panels. */
  readonly latency: number;
  /** Cost of the dispatch that adds the parts of sums. */
  readonly split: number;
  /** Cost of writing and adding a million parts. */
  readonly sum: number;
}

/** Tiles and the weights of their ranking. */
export interface SharedRanking extends SharedWeights {
  /** Adapter, date, and the data of the fit. */
  readonly source: string;
  /** Tiles to choose among. */
  readonly tiles: readonly SharedTile[];
}

/** The current ranking. */
export const SHARED_RANKING: SharedRanking = {
  source:
    "NVIDIA H200, 2026-11-27: 26 sweeps, without the tiles that were cut off early; the first tile takes 6.5 % longer than the best of all",
  units: 264,
  registers: 1,
  loads: 0,
  latency: 0.1,
  split: 0.1,
  sum: 0.3,
  tiles: [
    { bm: 128, bn: 128, bk: 16, tm: 8, tn: 8 },
    { bm: 64, bn: 128, bk: 16, tm: 8, tn: 8 },
    { bm: 128, bn: 64, bk: 16, tm: 8, tn: 8 },
    { bm: 64, bn: 64, bk: 16, tm: 8, tn: 8 },
    { bm: 32, bn: 64, bk: 16, tm: 4, tn: 8 },
    { bm: 32, bn: 32, bk: 16, tm: 4, tn: 4 },
    { bm: 32, bn: 32, bk: 32, tm: 4, tn: 4 },
    { bm: 16, bn: 64, bk: 32, tm: 4, tn: 4 },
  ],
};
