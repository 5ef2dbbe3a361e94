// From the times of all tiles to a few tiles and the weights that choose among them.

import type { SharedRanking } from "../../src/engine/kernels/matmul/shared_ranking.ts";
import { sharedThreads, type SharedTile } from "../../src/engine/kernels/matmul/tiled.ts";
import { sharedCost, sharedGroups, sharedSplits } from "../../src/engine/kernels/matmul/tiles.ts";

/** Work with the times of tiles and of parts of their sums. */
export interface Swept {
  /** Rows, columns and terms, and how many products. */
  readonly extents: readonly [m: number, n: number, k: number, batch: number];
  readonly times: readonly {
    readonly tile: SharedTile;
    readonly splits: number;
    readonly ms: number;
  }[];
}

/** A ranking and what it loses. */
export interface Fitted extends Omit<SharedRanking, "source"> {
  /** Geometric mean of the time of what it chooses by that of the best tile of all. */
  readonly loss: number;
}

/** Tiles that are kept: each is a program to compile where kernels are timed, and of more the tuner times only the first. */
const MOST_TILES = 6;
/** Weights that are tried. */
const INVOCATIONS = [2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144];
const REGISTERS = [0, 0.25, 0.5, 1, 2, 4], LOADS = [0, 2, 4, 8, 16, 32, 64];
const PARTS = [64, 128, 256, 512];

function same(a: SharedTile, b: SharedTile): boolean {
  return a.bm === b.bm && a.bn === b.bn && a.bk === b.bk && a.tm === b.tm && a.tn === b.tn;
}

/**
 * Milliseconds of a tile on some work, with so many parts or those nearest to them, or with the best; where it was not timed it
 * went out early, for being slow.
 */
function msOf({ times }: Swept, tile: SharedTile, splits?: number): number {
  const own = times.filter((t) => same(t.tile, tile));
  if (own.length === 0) return Math.max(...times.map(({ ms }) => ms));
  if (splits === undefined) return Math.min(...own.map(({ ms }) => ms));
  const far = (t: Swept["times"][number]): number => Math.abs(Math.log(t.splits / splits));
  return own.reduce((near, t) => (far(t) < far(near) ? t : near)).ms;
}

const bestOf = ({ times }: Swept): number => Math.min(...times.map(({ ms }) => ms));

function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, v) => sum + Math.log(v), 0) / values.length);
}

/** The tiles that together come nearest to the best of all, chosen one by one. */
function chooseTiles(work: readonly Swept[]): SharedTile[] {
  const all: SharedTile[] = [];
  for (const { times } of work) {
    for (const { tile } of times) if (!all.some((t) => same(t, tile))) all.push(tile);
  }
  const chosen: SharedTile[] = [];
  const least = work.map(() => Infinity);
  while (chosen.length < Math.min(MOST_TILES, all.length)) {
    const loss = (tile: SharedTile): number =>
      geometricMean(work.map((w, i) => Math.min(least[i]!, msOf(w, tile)) / bestOf(w)));
    const next = all.filter((t) => !chosen.includes(t))
      .reduce((best, tile) => (loss(tile) < loss(best) ? tile : best));
    chosen.push(next);
    work.forEach((w, i) => least[i] = Math.min(least[i]!, msOf(w, next)));
  }
  return chosen.sort((a, b) => b.bm * b.bn - a.bm * a.bn || sharedThreads(b) - sharedThreads(a));
}

/** Returns the loss of a ranking that takes the tile of least cost for each work. */
export function lossOf(work: readonly Swept[], ranking: Omit<SharedRanking, "source">): number {
  return geometricMean(work.map((w) => {
    const [m, n, k, batch] = w.extents;
    const groups = (t: SharedTile): number => sharedGroups(t, m, n, batch);
    const cost = (t: SharedTile): number => sharedCost(t, groups(t), ranking);
    const first = ranking.tiles.reduce((best, t) => (cost(t) < cost(best) ? t : best));
    return msOf(w, first, sharedSplits(first, groups(first), k, ranking)) / bestOf(w);
  }));
}

/** The tiles and weights that lose least over some work. Throws `RangeError` where there is none. */
export function fitRanking(work: readonly Swept[]): Fitted {
  if (work.length === 0) throw new RangeError("Cannot fit a ranking: no tile was timed");
  const tiles = chooseTiles(work);
  let best: Fitted | null = null;
  for (const invocations of INVOCATIONS) {
    for (const registers of REGISTERS) {
      for (const loads of LOADS) {
        for (const part of PARTS) {
          const ranking = { invocations, registers, loads, part, tiles };
          const loss = lossOf(work, ranking);
          if (best === null || loss < best.loss) best = { ...ranking, loss };
        }
      }
    }
  }
  return best!;
}
