/** The choice of a tile for a product of `m` rows and `n` columns, and the grid that covers it. */
import type { Dispatch, Profile } from "../../core/dispatch.ts";
import { SHARED_RANKING, type SharedWeights } from "./shared_ranking.ts";
import { sharedBytes, sharedThreads, type SharedTile } from "./tiled.ts";

/** Rows and vectors of columns that one invocation sums. */
export interface RegisterTile {
  /** Rows; a multiple of 4 where rows are read four at a time. */
  readonly rows: number;
  /** Vectors of 4 columns. */
  readonly vecs: number;
  /** Lanes side by side that load their rows together, by subgroup operations. Absent: each loads its own. */
  readonly across?: number;
}

/** Processor threads to give work to on a software adapter. */
const WANTED_THREADS = 4;

/** Rows, columns and terms of products, and how many there are. */
type Extents = readonly [m: number, n: number, k: number, batch: number];

/** Threads that a multiprocessor holds, and those with many registers. */
const RESIDENT = 2048, RESIDENT_LARGE = 1024;
/** Least sums of an invocation that take many registers. */
const LARGE = 64;
/** Least threads that a workgroup counts as. */
const LEAST_THREADS = 64;
/** Of the shorter one of computing and waiting, what does not run beside the longer one. */
const NOT_HIDDEN = 0.3;

/**
 * Returns the estimated cost of tiles of sums in `splits` parts: in millions of products of one multiprocessor, which holds some
 * workgroups at once, computes for all of them and waits for memory at each of their steps.
 */
export function sharedCost(
  tile: SharedTile,
  splits: number,
  [m, n, k, batch]: Extents,
  { units, registers, loads, latency, split, sum }: SharedWeights,
): number {
  const { bm, bn, bk, tm, tn } = tile;
  const groups = Math.ceil(m / bm) * Math.ceil(n / bn) * batch * splits;
  const steps = Math.ceil(k / splits / bk), each = Math.ceil(groups / units);
  const loaded = registers * (1 / tm + 1 / tn) + loads * (1 / bm + 1 / bn);
  const computing = each * bm * bn * steps * bk * (1 + loaded) / 1e6;
  const threads = Math.max(LEAST_THREADS, sharedThreads(tile));
  const resident = (tm * tn >= LARGE ? RESIDENT_LARGE : RESIDENT) / threads;
  const waiting = Math.ceil(each / Math.max(1, Math.floor(resident))) * steps * latency;
  const adding = splits > 1 ? split + sum * splits * m * n * batch / 1e6 : 0;
  return Math.max(computing, waiting) + NOT_HIDDEN * Math.min(computing, waiting) + adding;
}

/** Numbers of parts of a sum that are considered, and the least terms of one. */
const SPLITS = [1, 2, 4, 8, 16, 32], LEAST_PART = 64;

/** Returns the parts of a tile's sums of least cost; one where there are two workgroups for each multiprocessor anyway. */
export function sharedSplits(tile: SharedTile, extents: Extents, weights: SharedWeights): number {
  const [m, n, k, batch] = extents;
  const isBusy = Math.ceil(m / tile.bm) * Math.ceil(n / tile.bn) * batch >= 2 * weights.units;
  let best = 1, least = Infinity;
  for (const splits of SPLITS) {
    if (splits > 1 && (isBusy || k < splits * LEAST_PART)) break;
    const cost = sharedCost(tile, splits, extents, weights);
    if (cost < least) [best, least] = [splits, cost];
  }
  return best;
}

/** Ranks shared tiles, the fastest first, each with the number of parts of its sums. */
export function rankSharedTiles(
  extents: Extents,
  profile: Profile,
): { tile: SharedTile; splits: number }[] {
  return SHARED_RANKING.tiles.filter((t) =>
    sharedThreads(t) <= profile.maxInvocations && sharedBytes(t) <= profile.maxWorkgroupBytes
  ).map((tile) => {
    const splits = sharedSplits(tile, extents, SHARED_RANKING);
    return { tile, splits, cost: sharedCost(tile, splits, extents, SHARED_RANKING) };
  }).sort((a, b) => a.cost - b.cost);
}

/** Properties that the number of a register tile's loads depends on. */
interface TileLoads {
  /** Rows are read four at a time. */
  readonly wideA: boolean;
  /** Columns are read four at a time. */
  readonly wideB: boolean;
  /** Columns are read four at a time, though their rows begin anywhere. */
  readonly skewed?: boolean;
  /** Columns are read along the sums. */
  readonly transB: boolean;
  /** Rows are read across the sums, so that a tile has a multiple of 4. */
  readonly quads: boolean;
  /** Sums can be cut into parts. */
  readonly splits?: boolean;
  /** Characters of the functions that an epilogue calls for a sum. */
  readonly helpers?: number;
}

/** Nanoseconds of a load, however many lanes it serves, and of a multiply and add of all lanes: on llvmpipe. */
const LOAD = 50, PRODUCT = 0.55;
/** Relative cost of a load of one element to one of four. */
const NARROW = 0.6;
/**
 * Nanoseconds of each run that a vector of sums in the kernel's text must save: its compilation takes llvmpipe (8
 * lanes) 1 ms and SwiftShader (4 lanes) 9 ms, which a small product seldom regains in less than 500 runs.
 */
const textCost = (lanes: number): number => lanes > 4 ? 2000 : 18000;

/**
 * Nanoseconds of each run that a character of a function for a vector of sums must save: llvmpipe takes 10 µs to compile one, which
 * stands there for each of four sums, and the layers of a network, which share the kernel, regain that in some 2,000 of their runs.
 */
const HELPER_COST = 4 * 5;

/** Products of elements in a small product. */
const SMALL = 2 ** 20;

/** Returns the nanoseconds of four terms of a tile's sums. */
function tileCost(
  { rows, vecs, across }: RegisterTile,
  { wideA, wideB, skewed, transB }: TileLoads,
): number {
  const rowLoads = (wideA ? rows : 4 * NARROW * rows) / (across ?? 1);
  const columnLoads = skewed ? 4 * vecs + 3 : (wideB ? 4 : transB ? 16 : 16 * NARROW) * vecs;
  return rows * vecs * 16 * PRODUCT + (Math.max(1, rowLoads) + columnLoads) * LOAD + 2 * LOAD;
}

/** Ranks register tiles for sums of `k` terms, the fastest first, with the workgroups of each. */
function rankRegisterTiles(
  [m, n, k, batch]: readonly [number, number, number, number],
  loads: TileLoads,
  { lanes, subgroup }: Pick<Profile, "lanes" | "subgroup">,
): { tile: RegisterTile; groups: number; cost: number }[] {
  const tiles: RegisterTile[] = [];
  for (const rows of loads.quads ? [4, 8] : [1, 2, 4, 8]) {
    for (const vecs of [1, 2, 4]) tiles.push({ rows, vecs });
  }
  if (subgroup === lanes) {
    for (let across = lanes; across > 1; across /= 2) {
      for (const rows of [4, 8, 16, 32]) {
        for (const vecs of [1, 2]) tiles.push({ rows, vecs, across });
      }
    }
  }
  // Small products that differ little should share a kernel: another one would cost more than it saves.
  const isSmall = m * n * k * batch <= SMALL;
  const [rows, columns, terms] = isSmall ? [m, n, k].map(nextPower) : [m, n, k];
  return tiles.map((tile) => {
    const groups = registerGroups(rows, columns, tile, lanes).groups * batch;
    // Sums that can be cut into parts keep every thread busy.
    const waves = loads.splits ? groups / WANTED_THREADS : Math.ceil(groups / WANTED_THREADS);
    const time = waves * tileCost(tile, loads) * terms / 4;
    return { tile, groups, cost: time + tile.rows * tile.vecs * textCost(lanes) };
  }).sort((a, b) => a.cost - b.cost);
}

/** A kernel with a tile, and the parts that sums are cut into. */
export type TileChoice =
  | { readonly kind: "register"; readonly tile: RegisterTile; readonly splits: number }
  | { readonly kind: "shared"; readonly tile: SharedTile; readonly splits: number };

/**
 * Returns kernels for sums on this adapter, the likely best first; `splits` returns the parts of sums for so many
 * workgroups of register tiles.
 */
export function tileCandidates(
  extents: readonly [number, number, number, number],
  loads: TileLoads,
  profile: Profile,
  splits: (groups: number) => number,
): TileChoice[] {
  if (profile.barriers) {
    return rankSharedTiles(extents, profile)
      .map(({ tile, splits }) => ({ kind: "shared", tile, splits }));
  }
  const ranked = rankRegisterTiles(extents, loads, profile)
    .map((choice) => ({ ...choice, splits: splits(choice.groups) }));
  const { helpers = 0 } = loads, [{ splits: parts }] = ranked;
  const costOf = ({ tile: { rows, vecs }, cost }: typeof ranked[number]): number =>
    cost + rows * vecs * helpers * HELPER_COST;
  // Sums have the same parts, and so the same bits, as without an epilogue.
  const fitting = helpers === 0 ? ranked : ranked.filter((choice) => choice.splits === parts)
    .sort((a, b) => costOf(a) - costOf(b));
  return fitting.map(({ tile, splits }) => ({ kind: "register", tile, splits }));
}

/** Returns the uniform fields by which the workgroups of a tile cover rows and columns. */
export function tileFields(
  tile: RegisterTile | SharedTile,
  m: number,
  n: number,
  { lanes }: Profile,
): Readonly<Record<"groups" | "rowgroups" | "lanemask" | "laneshift", number>> {
  if ("bm" in tile) {
    const rowgroups = Math.ceil(m / tile.bm);
    return { groups: rowgroups * Math.ceil(n / tile.bn), rowgroups, lanemask: 0, laneshift: 0 };
  }
  const { groups, rowgroups, across } = registerGroups(m, n, tile, lanes);
  return { groups, rowgroups, lanemask: across - 1, laneshift: Math.log2(across) };
}

/** Returns the least power of two that is not below a number. */
export function nextPower(n: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, n)));
}

/** Arranges a workgroup's lanes over rows and columns, and returns the number of workgroups. */
function registerGroups(
  m: number,
  n: number,
  { rows, vecs, across: fixed }: RegisterTile,
  lanes: number,
): { groups: number; rowgroups: number; across: number } {
  let best = { groups: Infinity, rowgroups: 1, across: lanes };
  for (let across = fixed ?? lanes; across >= (fixed ?? 1); across /= 2) {
    const rowgroups = Math.ceil(m / (rows * lanes / across));
    const groups = rowgroups * Math.ceil(n / (vecs * 4 * across));
    if (groups < best.groups) best = { groups, rowgroups, across };
  }
  return best;
}

/**
 * Returns the number of parts of sums of `terms` where there would be fewer than `wanted` workgroups; each has at least
 * `least` terms.
 */
export function splitsFor(groups: number, terms: number, least: number, wanted: number): number {
  if (groups >= wanted || terms < 2 * least) return 1;
  return Math.max(1, Math.min(64, Math.floor(terms / least), Math.ceil(wanted / groups)));
}

/** Returns a grid of `groups` workgroups, folded to two axes above the limit. */
export function foldGrid(groups: number, { maxGrid }: Profile): [number, number] {
  if (groups <= maxGrid) return [Math.max(1, groups), 1];
  const y = Math.ceil(groups / maxGrid);
  return [Math.ceil(groups / y), y];
}

/** Returns the layers of dispatches for a third axis that may exceed the grid's. */
export function gridLayers(
  total: number,
  { maxGrid }: Profile,
  make: (zbase: number, depth: number) => Dispatch,
): Dispatch[] {
  const list: Dispatch[] = [];
  for (let z = 0; z < total; z += maxGrid) list.push(make(z, Math.min(maxGrid, total - z)));
  return list;
}
