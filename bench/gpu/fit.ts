// From the times of all tiles to a few tiles and the weights that choose among them.

import type {
  SharedRanking,
  SharedWeights,
} from "../../src/engine/kernels/matmul/shared_ranking.ts";
import { sharedThreads, type SharedTile } from "../../src/engine/kernels/matmul/tiled.ts";
import { sharedCost, sharedSplits } from "../../src/engine/kernels/matmul/tiles.ts";
import { uniform } from "../random.ts";

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
const MOST_TILES = 8;
/** Weights that are tried first. */
const GRID: Readonly<Record<keyof SharedWeights, readonly number[]>> = {
  units: [8, 16, 32, 64, 132, 264],
  registers: [0, 0.5, 1, 2],
  loads: [0, 8, 32],
  latency: [0.01, 0.03, 0.1, 0.3, 1],
  split: [0.1, 0.3, 1, 3, 10],
  sum: [0.01, 0.03, 0.1, 0.3],
};
/** Steps of the search that follows: each changes one weight by a random factor, mostly less than this one. */
const STEPS = 3000, FACTOR = 1.35;

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

/** Returns the loss of a ranking that takes the tile of least cost for each work. */
export function lossOf(
  work: readonly Swept[],
  ranking: SharedWeights & Pick<SharedRanking, "tiles">,
): number {
  return geometricMean(work.map((w) => {
    const costs = ranking.tiles.map((tile) => {
      const splits = sharedSplits(tile, w.extents, ranking);
      return { tile, splits, cost: sharedCost(tile, splits, w.extents, ranking) };
    });
    const { tile, splits } = costs.reduce((best, c) => (c.cost < best.cost ? c : best));
    return msOf(w, tile, splits) / bestOf(w);
  }));
}

/** All combinations of the first weights. */
function* combinations(): Generator<SharedWeights> {
  for (const units of GRID.units) {
    for (const registers of GRID.registers) {
      for (const loads of GRID.loads) {
        for (const latency of GRID.latency) {
          for (const split of GRID.split) {
            for (const sum of GRID.sum) yield { units, registers, loads, latency, split, sum };
          }
        }
      }
    }
  }
}

/** Improves weights step by step. */
function improve(work: readonly Swept[], ranking: Fitted, steps: number): Fitted {
  const next = uniform(1), names = Object.keys(GRID) as (keyof SharedWeights)[];
  let best = ranking;
  for (let step = 0; step < steps; step++) {
    const name = names[Math.floor(next() * names.length)]!;
    const value = best[name] * FACTOR ** (4 * next() - 2);
    const rounded = name === "units" ? Math.round(value) : Number(value.toPrecision(3));
    const tried = { ...best, [name]: rounded }, loss = lossOf(work, tried);
    if (loss < best.loss) best = { ...tried, loss };
  }
  return best;
}

/**
 * Finds the tiles and weights that lose least over some work: weights for all tiles, from which the least missed tile is left out
 * again and again. Throws `RangeError` where there is no work.
 */
export function fitRanking(work: readonly Swept[]): Fitted {
  if (work.length === 0) throw new RangeError("Cannot fit a ranking: no tile was timed");
  const tiles: SharedTile[] = [];
  for (const { tile } of work.flatMap(({ times }) => times)) {
    if (!tiles.some((t) => same(t, tile))) tiles.push(tile);
  }
  tiles.sort((a, b) => b.bm * b.bn - a.bm * a.bn || sharedThreads(b) - sharedThreads(a));
  const leastOf = (list: readonly Fitted[]): Fitted =>
    list.reduce((best, f) => (f.loss < best.loss ? f : best));
  const fittedOf = (ranking: SharedWeights & Pick<SharedRanking, "tiles">): Fitted => ({
    ...ranking,
    loss: lossOf(work, ranking),
  });
  let best = leastOf(Array.from(combinations(), (weights) => fittedOf({ ...weights, tiles })));
  best = improve(work, best, STEPS);
  while (best.tiles.length > MOST_TILES) {
    const { tiles } = best;
    const fewer = tiles.map((left) =>
      fittedOf({ ...best, tiles: tiles.filter((t) => t !== left) })
    );
    best = improve(work, leastOf(fewer), STEPS / 10);
  }
  return best;
}
