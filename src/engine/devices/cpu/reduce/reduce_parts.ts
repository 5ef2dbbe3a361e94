/** Large reductions in parts, which threads may share. */
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall, WasmExports, WasmFunction } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import { isLight } from "../pointwise/lane_functions.ts";
import type { ReduceNest } from "./reduce_nest.ts";
import type { Reducer } from "./reducer.ts";

/** Most parts of a reduction. */
const MOST_PARTS = 32;
/** Operations of a part whose results are folded: a constant, since sums must be the same for any number of threads. */
const FOLDED_WORK = 1e6;
/** Least columns of a part. */
export const PART_COLUMNS = 128;
/** Most columns of a part, whose accumulators stay in the nearest cache. */
const MOST_COLUMNS = 2048;

export interface ReduceParts {
  readonly bytes: number;
  /** Folds all elements into `acc`; the scratch memory begins at `at`. */
  readonly run: (module: WasmExports, x: readonly Pointer[], acc: Pointer, at: Pointer) => void;
}

/** Divides the reduction into parts; null where that does not pay. */
export function partsOf(
  engine: Engine,
  nest: ReduceNest,
  reducer: Reducer,
): ReduceParts | null {
  const { m, n, isRows, work } = nest, isOne = nest.top === 0, keepsTop = nest.topAccStep > 0;
  // Light columns wait for memory, which is fastest in whole rows.
  const waits = isOne && !isRows && isLight(nest.source.exprs);
  const keepsColumns = isOne && !isRows && (m === 1 || n >= 4 * PART_COLUMNS);
  const least = keepsTop || keepsColumns ? engine.worthSharing / 4 : FOLDED_WORK;
  const parts = Math.min(MOST_PARTS, Math.floor(work / least));
  if (parts < 4 || waits || !(isOne || keepsTop)) return null;
  const share = (calls: readonly WasmCall[]): void => engine.callAll(calls, work);
  if (keepsTop) {
    const bytes = parts * nest.bytes;
    return {
      bytes,
      run: ({ run }, x, acc, at) => share(topParts(engine, nest, parts, { run, x, acc, at })),
    };
  }
  if (keepsColumns) {
    const most = Math.min(MOST_COLUMNS, Math.max(PART_COLUMNS, Math.ceil(n / parts)));
    return {
      bytes: 0,
      run: ({ columns }, x, acc) =>
        share(
          evenBlocks(n, most, 64).map(({ from, size }): WasmCall => [
            columns,
            [...columnsFrom(nest, x, from), m, size, acc + from * reducer.bytes, ...nest.steps],
          ]),
        ),
    };
  }
  const results = isRows ? 1 : n, accBytes = roundUp(parts * results * reducer.bytes);
  return {
    bytes: accBytes + parts * nest.bytes,
    run: ({ rows, run, fill, join }, x, acc, at) => {
      fill(at, parts * results);
      const one = results * reducer.bytes;
      share(
        isRows && m === 1
          ? evenBlocks(n, Math.max(PART_COLUMNS, Math.ceil(n / parts)), 64).map((
            { from, size },
            part,
          ): WasmCall => [
            rows,
            [...columnsFrom(nest, x, from), 1, size, at + part * one, 0, ...nest.steps],
          ])
          : topParts(engine, nest, parts, { run, x, acc: at, at: at + accBytes, accBytes: one }),
      );
      join(at, parts, results, acc);
    },
  };
}

function columnsFrom(nest: ReduceNest, x: readonly Pointer[], from: number): Pointer[] {
  return x.map((p, k) => p + from * nest.widths[k]);
}

interface TopParts {
  readonly run: WasmFunction;
  readonly x: readonly Pointer[];
  readonly acc: Pointer;
  /** Address of the tables of parts. */
  readonly at: Pointer;
  /** Bytes from one part's accumulators to the next, where they are not adjacent. */
  readonly accBytes?: number;
}

/** Divides the members of the outermost level into runs. */
function topParts(
  engine: Engine,
  nest: ReduceNest,
  parts: number,
  { run, x, acc, at, accBytes }: TopParts,
): WasmCall[] {
  const { count, top, topSteps, topAccStep } = nest;
  // Rows are taken four at a time.
  const multiple = top === 0 && nest.isRows ? 4 : 1;
  return evenBlocks(count, Math.ceil(count / parts), multiple).map(({ from, size }, part) => [
    run,
    [
      ...x.map((p, k) => p + from * topSteps[k]),
      acc + (accBytes === undefined ? from * topAccStep : part * accBytes),
      nest.write(engine.heap.i32, at + part * nest.bytes),
      top,
      size,
    ],
  ]);
}
