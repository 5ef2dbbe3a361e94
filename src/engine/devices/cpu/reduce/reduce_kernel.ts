/** The module of a reduction: its loops over rows and columns, and the nest of groups of axes around them. */
import { DTYPES } from "../../../core/dtype.ts";
import { argument, exprKey } from "../../../core/scalar/expr.ts";
import { type Engine, type WasmExports, words } from "../engine.ts";
import { importHosts } from "../pointwise/print_simd.ts";
import type { RowSource } from "../pointwise/source_row.ts";
import type { FunctionBuilder, FunctionRef, Local } from "../wasm/function_builder.ts";
import { i32 } from "../wasm/instructions.ts";
import { Simd } from "../wasm/simd.ts";
import { writeColumns, writeNarrow, writeRows } from "./reduce_loops.ts";
import type { Reducer } from "./reducer.ts";
import { writeSettle } from "./settle.ts";

type I = Local<"i32">;
type Fn = FunctionRef<readonly "i32"[], null>;

/** Columns of a block, whose accumulators stay in the nearest cache. */
const BLOCK_COLUMNS = 2048;
/** Longest rows that are reduced in lanes: as many elements as are summed in float32 elsewhere. */
const NARROW_ROWS = 32;
/** Several rows of few columns are taken as one of at most so many. */
export const JOINED_COLUMNS = 16;
/** Bytes before a table for the accumulators of such rows. */
export const TABLE_ROOM: number = 8 * JOINED_COLUMNS;

/**
 * The module of a reducer. `x` and `steps` are the operands and their bytes from row to row.
 *
 * - `rows(…x, m, n, acc, accStep, …steps)`, `columns(…x, m, n, acc, …steps)`
 * - `run(…x, acc, table, level, count)`: the nest from a level on, 0 being the innermost. The table has three words and the steps for
 *   each; `TABLE_ROOM` bytes before it are free. The words of level 0 are the elements of a row, the bytes from one row's accumulator to
 *   the next, 0 where rows go into one, and for columns how many rows are taken as one; those of the others how far accumulators move
 *   and the count of the level below.
 * - `whole(…x, out, acc, size, divisor, table, level, count)`: begins, runs and ends.
 * - `fill(acc, size)` begins; `settle(out, acc, size, divisor)` rounds accumulators in float64; `join(from, rows, n, acc)` folds rows
 *   of accumulators.
 */
export function reducerModule(
  engine: Engine,
  name: string,
  reducer: Reducer,
  source: RowSource,
): WasmExports {
  const { exprs, dtypes, moves } = source, operands = dtypes.length;
  return engine.compile(`reduce ${name} ${exprKey(...exprs)} ${dtypes} ${moves}`, (m) => {
    const hosts = importHosts(m, exprs);
    const simd = (f: FunctionBuilder): Simd => new Simd(f, engine.features.relaxed, hosts);
    const rows = m.function("rows", words(2 * operands + 4), null, (f, ...p) => {
      writeRows(simd(f), reducer, source, p);
    });
    const columns = m.function("columns", words(2 * operands + 3), null, (f, ...p) => {
      writeColumns(simd(f), reducer, source, p);
    });
    const narrow = isPlain(source)
      ? m.function(null, words(5), null, (f, ...p) => writeNarrow(simd(f), reducer, p))
      : null;
    const fill = m.function("fill", words(2), null, (f, ...p) => writeFill(f, reducer, p));
    const join = m.function("join", words(4), null, (f, ...p) => writeJoin(f, reducer, p));
    const settle = m.function("settle", ["i32", "i32", "i32", "f64"], null, writeSettle);
    // The nest calls itself, so its number is needed before it is written.
    const signature = words(operands + 4);
    const run = { index: settle.index + 1, params: signature, result: null };
    m.function("run", signature, null, (f, ...p) => {
      writeRun(f, reducer, source, { rows, columns, narrow, fill, join, run }, p);
    });
    const wholeParams = [...words(operands + 3), "f64", ...words(3)] as "i32"[];
    m.function("whole", wholeParams, null, (f, ...p) => {
      const x = p.slice(0, operands), [out, acc, size, divisor, ...nest] = p.slice(operands);
      f.run(fill, acc, size);
      f.run(run, ...x, acc, ...nest);
      if (reducer.wide) f.run(settle, out, acc, size, divisor as unknown as Local<"f64">);
    });
  });
}

/** True where the elements are those of one array. */
function isPlain({ exprs, dtypes, moves }: RowSource): boolean {
  return dtypes.length === 1 && moves[0] && exprKey(...exprs) === exprKey(argument(0));
}

function writeFill(f: FunctionBuilder, r: Reducer, [acc, size]: readonly I[]): void {
  const identity = f.constant(r.state, r.identity);
  f.while(i32.gt(size, 0), () => {
    f.store(acc, identity);
    f.advance(acc, 16);
    f.advance(size, -16 / r.bytes);
  });
}

function writeJoin(f: FunctionBuilder, r: Reducer, [from, rows, n, acc]: readonly I[]): void {
  const to = f.local("i32"), left = f.local("i32");
  f.countDown(rows, 1, () => {
    f.set(to, acc);
    f.set(left, n);
    f.countDown(left, 1, () => {
      r.join(f, to, from);
      [to, from].forEach((p) => f.advance(p, r.bytes));
    });
  });
}

type Parts = Readonly<Record<"rows" | "columns" | "fill" | "join" | "run", Fn>>;

function writeRun(
  f: FunctionBuilder,
  r: Reducer,
  { dtypes, moves }: RowSource,
  { rows, columns, narrow, fill, join, run }: Parts & { readonly narrow: Fn | null },
  p: readonly I[],
): void {
  const operands = dtypes.length, x = p.slice(0, operands);
  const [acc, table, level, count] = p.slice(operands);
  const own = f.let(i32.add(table, i32.mul(level, 4 * (3 + operands))));
  const word = (k: number) => f.let(i32.load(own, 4 * k));
  const steps = x.map((_, k) => word(3 + k));
  f.if(level, () => {
    const accStep = word(0), inner = word(1);
    f.countDown(count, 1, () => {
      f.run(run, ...x, acc, table, i32.sub(level, 1), inner);
      x.forEach((at, k) => f.advance(at, steps[k]));
      f.advance(acc, accStep);
    });
    f.return();
  });
  const n = f.variable("i32", word(0)), accStep = word(1), joined = word(2);
  /** Advances to the remaining rows. */
  const skip = (done: Local<"i32">): void => {
    x.forEach((at, k) => f.advance(at, i32.mul(done, steps[k])));
    f.set(count, i32.sub(count, done));
  };
  f.if(joined, () => {
    f.if(i32.gt(joined, 1), () => {
      const spare = f.let(i32.sub(table, TABLE_ROOM)), width = f.let(i32.mul(n, joined));
      const taken = f.variable("i32", i32.divU(count, joined));
      f.run(fill, spare, width);
      f.run(columns, ...x, taken, width, spare, ...steps.map((s) => i32.mul(s, joined)));
      f.run(join, spare, joined, n, acc);
      f.set(taken, i32.mul(taken, joined));
      skip(taken);
    });
    const width = f.local("i32");
    f.while(i32.gt(n, 0), () => {
      f.set(width, n);
      f.if(i32.gt(n, BLOCK_COLUMNS), () => f.set(width, i32.const(BLOCK_COLUMNS)));
      f.run(columns, ...x, count, width, acc, ...steps);
      x.forEach((at, k) => {
        if (moves[k]) f.advance(at, BLOCK_COLUMNS * DTYPES[dtypes[k]].bytes);
      });
      f.advance(acc, BLOCK_COLUMNS * r.bytes);
      f.advance(n, -BLOCK_COLUMNS);
    });
    f.return();
  });
  if (narrow) {
    const isNarrow = i32.and(i32.le(n, NARROW_ROWS), i32.ge(count, 4));
    f.if(i32.and(isNarrow, i32.gt(accStep, 0)), () => {
      const taken = f.variable("i32", i32.and(count, -4));
      f.run(narrow, x[0], steps[0], taken, n, acc);
      skip(taken);
      f.advance(acc, i32.mul(taken, r.bytes));
    });
  }
  f.run(rows, ...x, count, n, acc, accStep, ...steps);
}
