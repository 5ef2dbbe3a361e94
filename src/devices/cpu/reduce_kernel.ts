/**
 * The loops of reductions: rows into one result each, columns into one result each. Float32 sums are taken in short runs that are
 * added up in float64; products are in float64 throughout.
 * May import core and this folder.
 */
import { type DType, DTYPES } from "../../core/dtype.ts";
import { type Expr, exprKey } from "../../core/scalar.ts";
import type { Engine, WasmExports } from "./engine.ts";
import type { Heap, Pointer } from "./heap.ts";
import { LIGHT, loadGroup, loadSplat } from "./pointwise.ts";
import { simdWeight } from "./lane_functions.ts";
import { importHosts, type Lanes, printSimdGroup } from "./print_simd.ts";
import type { FunctionBuilder, Local } from "./wasm/function_builder.ts";
import { f32x4, f64x2, i32, i32x4 } from "./wasm/instructions.ts";
import type { Basic, Bits, Loads } from "./wasm/instruction_types.ts";
import { type D2, type F4, laneNumbers, Simd } from "./wasm/simd.ts";
import type { Value } from "./wasm/value.ts";

type Lane4 = "f32x4" | "i32x4";
type I = Local<"i32">;

/** How an operation combines elements, and keeps what it has so far in an array of accumulators. */
export interface Reducer<T extends Lane4 = Lane4, S extends Lane4 | "f64x2" = Lane4 | "f64x2"> {
  /** Type of four elements. */
  readonly type: T;
  /** Type of what is kept in a register. */
  readonly state: S;
  /** The result of nothing. */
  readonly identity: number;
  /** Bytes of an accumulator in memory. */
  readonly bytes: 4 | 8;
  /** Vectors that are combined in the elements' own type before they are folded. */
  readonly run: number;
  /** `quick` loses NaN: they are looked for beside it. */
  readonly watchesNaN: boolean;
  /** Sets accumulators to the result of nothing. */
  readonly fill: (heap: Heap, acc: Pointer, count: number) => void;
  /** Folds `rows` rows of `n` accumulators at `from` into the `n` at `acc`. */
  readonly foldRows: (heap: Heap, from: Pointer, rows: number, n: number, acc: Pointer) => void;
  /** Instructions on four elements. */
  readonly table: Loads<T> & Bits<T> & Basic<T>;
  /** Of two vectors. */
  readonly quick: (a: Value<T>, b: Value<T>) => Value<T>;
  /** All lanes of a vector into a register. */
  readonly take: (state: Value<S>, v: Value<T>) => Value<S>;
  /** A register into an accumulator. */
  readonly keep: (f: FunctionBuilder, acc: Value<"i32">, state: Value<S>) => void;
  /** Four columns into their accumulators. */
  readonly fold: (f: FunctionBuilder, acc: Value<"i32">, v: Value<T>) => void;
  /** The first column into its accumulator. */
  readonly foldOne: (f: FunctionBuilder, acc: Value<"i32">, v: Value<T>) => void;
}

type Scalar = (a: number, b: number) => number;

function folder(
  array: (heap: Heap) => { [i: number]: number },
  shift: number,
  scalar: Scalar,
): Reducer["foldRows"] {
  return (heap, from, rows, n, acc) => {
    const data = array(heap), source = from >>> shift, target = acc >>> shift;
    for (let i = 0; i < rows * n; i++) {
      data[target + i % n] = scalar(data[target + i % n], data[source + i]);
    }
  };
}

/** Accumulators in float64 for elements in float32. */
function wideReducer(
  identity: number,
  run: number,
  quick: (a: F4, b: F4) => F4,
  wide: (a: D2, b: D2) => D2,
  scalar: Scalar,
): Reducer<"f32x4", "f64x2"> {
  const low = (v: F4): D2 => f64x2.ofF32(v),
    high = (v: F4): D2 => f64x2.ofF32(f32x4.shuffle(v, v, [2, 3, 2, 3]));
  const view = (heap: Heap): Float64Array => new Float64Array(heap.memory.buffer);
  return {
    type: "f32x4",
    state: "f64x2",
    identity,
    bytes: 8,
    run,
    watchesNaN: false,
    fill: (heap, acc, count) => void view(heap).fill(identity, acc / 8, acc / 8 + count),
    foldRows: folder(view, 3, scalar),
    table: f32x4,
    quick,
    take: (state, v) => wide(state, wide(low(v), high(v))),
    keep: (f, acc, state) => {
      const both = wide(f64x2.load(acc), wide(state, f64x2.splat(f64x2.lane(state, 1))));
      f.storeLane(acc, both, 8, 0);
    },
    fold: (f, acc, v) => {
      f.store(acc, wide(f64x2.load(acc), low(v)));
      f.store(acc, wide(f64x2.load(acc, 16), high(v)), 16);
    },
    foldOne: (f, acc, v) => f.storeLane(acc, wide(f64x2.load(acc), low(v)), 8, 0),
  };
}

/** Accumulators of the elements' own type. */
function ownReducer<T extends Lane4>(
  type: T,
  table: Loads<T> & Bits<T> & Basic<T>,
  identity: number,
  combine: (a: Value<T>, b: Value<T>) => Value<T>,
  scalar: Scalar,
  quick?: (a: Value<T>, b: Value<T>) => Value<T>,
): Reducer<T, T> {
  const view = (heap: Heap): Float32Array | Int32Array => (type === "f32x4" ? heap.f32 : heap.i32);
  const foldOne: Reducer<T, T>["foldOne"] = (f, acc, v) =>
    f.storeLane(acc, combine(table.loadFirst(acc), v), 4, 0);
  return {
    type,
    state: type,
    identity,
    bytes: 4,
    run: 1 << 20,
    watchesNaN: quick !== undefined,
    fill: (heap, acc, count) => void view(heap).fill(identity, acc >>> 2, (acc >>> 2) + count),
    foldRows: folder(view, 2, scalar),
    table,
    quick: quick ?? combine,
    take: combine,
    keep: (f, acc, state) => {
      const two = f.let(combine(state, table.shuffle(state, state, [2, 3, 0, 1])));
      foldOne(f, acc, combine(two, table.shuffle(two, two, [1, 0, 3, 2])));
    },
    fold: (f, acc, v) => f.store(acc, combine(table.load(acc), v)),
    foldOne,
  };
}

/** The reducers by operation and dtype. */
export const REDUCERS: Readonly<Record<string, Reducer>> = {
  "sum float32": wideReducer(0, 32, f32x4.add, f64x2.add, (a, b) => a + b),
  "prod float32": wideReducer(1, 0, f32x4.mul, f64x2.mul, (a, b) => a * b),
  "max float32": ownReducer("f32x4", f32x4, -Infinity, f32x4.max, Math.max, f32x4.pmax),
  "min float32": ownReducer("f32x4", f32x4, Infinity, f32x4.min, Math.min, f32x4.pmin),
  "sum int32": ownReducer("i32x4", i32x4, 0, i32x4.add, (a, b) => a + b),
  "prod int32": ownReducer("i32x4", i32x4, 1, i32x4.mul, Math.imul),
  "max int32": ownReducer("i32x4", i32x4, -2147483648, i32x4.max, Math.max),
  "min int32": ownReducer("i32x4", i32x4, 2147483647, i32x4.min, Math.min),
} as unknown as Record<string, Reducer>;

/** Where elements come from: an expression over operands, read row by row. */
export interface ReduceSource {
  /** The expression; argument 0 alone for one array as it is. */
  readonly expr: Expr;
  /** Element types of the operands. */
  readonly dtypes: readonly DType[];
  /** Whether each operand moves along a row, or is the same for all of it. */
  readonly moves: readonly boolean[];
}

/**
 * The module of a reducer: `rows(…x, m, n, acc, accStep, …steps)`, `columns(…x, m, n, acc, …steps)`, where `x` and `steps` are the
 * operands and their bytes from row to row; and `settle(out, acc, n, divisor)`, which rounds float64 accumulators to float32.
 */
export function reducerModule(
  engine: Engine,
  name: string,
  reducer: Reducer,
  source: ReduceSource,
): WasmExports {
  const { expr, dtypes, moves } = source;
  return engine.compile(`reduce ${name} ${exprKey(expr)} ${dtypes} ${moves}`, (m) => {
    const hosts = importHosts(m, [expr]), operands = dtypes.length;
    const simd = (f: FunctionBuilder): Simd => new Simd(f, engine.features.relaxed, hosts);
    const params = (count: number): "i32"[] => new Array<"i32">(2 * operands + count).fill("i32");
    m.function("rows", params(4), null, (f, ...p) => {
      writeRows(simd(f), reducer, source, p as I[]);
    });
    m.function("columns", params(3), null, (f, ...p) => {
      writeColumns(simd(f), reducer, source, p as I[]);
    });
    m.function("settle", ["i32", "i32", "i32", "f64"], null, (f, out, acc, n, divisor) => {
      const by = f.let(f64x2.splat(divisor));
      f.while(i32.gt(n, 0), () => {
        const [low, high] = [0, 16].map((o) => f32x4.ofF64(f64x2.div(f64x2.load(acc, o), by)));
        f.store(out, f32x4.shuffle(low, high, [0, 1, 4, 5]));
        f.advance(out, 16);
        f.advance(acc, 32);
        f.advance(n, -4);
      });
    });
  });
}

/** The elements of one row, as they are computed. */
class SourceRow<T extends Lane4> {
  readonly #s: Simd;
  readonly #source: ReduceSource;
  readonly #at: readonly I[];
  #still: readonly (Lanes | null)[] = [];

  /** `at` are variables: where each operand is read next. */
  constructor(s: Simd, source: ReduceSource, at: readonly I[]) {
    this.#s = s;
    this.#source = source;
    this.#at = at;
  }

  /** Reads what is the same for the whole row. */
  begin(): void {
    const { dtypes, moves } = this.#source;
    this.#still = this.#at.map((p, k) => moves[k] ? null : loadSplat(this.#s.f, dtypes[k], p));
  }

  /** The next `count` vectors, 1 or 4. */
  load(count: number): Value<T>[] {
    const { expr, dtypes } = this.#source;
    const args = this.#at.map((p, k) => {
      const fixed = this.#still[k];
      return fixed
        ? new Array<Lanes>(count).fill(fixed)
        : loadGroup(this.#s.f, dtypes[k], p, count);
    });
    return printSimdGroup(this.#s, [expr], dtypes, args, count)[0] as Value<T>[];
  }

  /** Goes on by so many elements. */
  advance(elements: number): void {
    const { dtypes, moves } = this.#source;
    this.#at.forEach((p, k) => {
      if (moves[k]) this.#s.f.advance(p, elements * DTYPES[dtypes[k]].bytes);
    });
  }
}

/** True where the expression is cheap enough to be written several times. */
export function isLight({ expr }: Pick<ReduceSource, "expr">): boolean {
  return simdWeight([expr]) <= LIGHT;
}

/** Folds each row of `n` elements into one accumulator. */
function writeRows<T extends Lane4, S extends Lane4 | "f64x2">(
  simd: Simd,
  r: Reducer<T, S>,
  source: ReduceSource,
  p: readonly I[],
): void {
  const { f } = simd, operands = source.dtypes.length;
  const starts = p.slice(0, operands), steps = p.slice(operands + 4);
  const [m, n, acc, accStep] = p.slice(operands, operands + 4);
  const at = starts.map(() => f.local("i32"));
  const row = new SourceRow<T>(simd, source, at);
  const left = f.local("i32"), again = f.local("i32");
  const run = isLight(source) ? r.run : Math.min(r.run, 1);
  const width = run > 1 ? 4 : 1;
  const state = f.local(r.state), bad = f.local("i32x4");
  const sums = Array.from({ length: width }, () => f.local(r.type));
  const identity = f.constant(r.type, r.identity);
  const tail = f.let(i32.and(n, 3));
  const lanes = f.let(laneNumbers(f));
  const mask = f.let(i32x4.lt(lanes, i32x4.splat(tail)));
  const next = (): void => {
    row.advance(4 * width);
    f.advance(left, -4 * width);
  };
  const watch = (v: Value<T>): Value<T> => {
    if (r.watchesNaN) f.set(bad, i32x4.or(bad, f32x4.ne(v as unknown as F4, v as unknown as F4)));
    return v;
  };
  const both = (a: Value<T>, b: Value<T>): Value<T> => f.let(r.quick(a, b));
  const take = (v: Value<T>): void => f.set(state, r.take(state, v));
  f.while(i32.gt(m, 0), () => {
    starts.forEach((x, k) => f.set(at[k], x));
    row.begin();
    f.set(left, n);
    f.set(state, f.constant(r.state, r.identity));
    if (r.watchesNaN) f.set(bad, f.constant("i32x4", 0));
    f.while(i32.ge(left, 4 * width), () => {
      row.load(width).forEach((v, u) => f.set(sums[u], v));
      sums.forEach(watch);
      next();
      if (run > 1) {
        f.set(again, run - 1);
        f.while(i32.and(i32.gt(again, 0), i32.ge(left, 4 * width)), () => {
          row.load(width).forEach((v, u) => f.set(sums[u], r.quick(sums[u], watch(f.let(v)))));
          next();
          f.advance(again, -1);
        });
      }
      take(width === 1 ? sums[0] : both(both(sums[0], sums[1]), both(sums[2], sums[3])));
    });
    if (width > 1) {
      f.while(i32.ge(left, 4), () => {
        take(f.let(row.load(1)[0]));
        row.advance(4);
        f.advance(left, -4);
      });
    }
    f.if(tail, () => take(f.let(r.table.select(row.load(1)[0], identity, mask))));
    if (r.watchesNaN) f.if(i32.anyTrue(bad), () => f.set(state, f.constant(r.state, NaN)));
    r.keep(f, acc, state);
    f.advance(acc, accStep);
    starts.forEach((x, k) => f.advance(x, steps[k]));
    f.advance(m, -1);
  });
}

/** Expressions of more instructions than this are written as seldom as can be. */
const HEAVY = 60;

/** Rows that are combined before they are folded, at most; pointers of more of them would not stay in registers. */
function rowsAtOnce(r: Reducer, source: ReduceSource): number {
  if (r.run === 0 || simdWeight([source.expr]) > HEAVY) return 1;
  return isLight(source) && source.dtypes.length <= 2 ? 8 : 4;
}

/** Folds `m` rows into `n` accumulators. */
function writeColumns<T extends Lane4, S extends Lane4 | "f64x2">(
  simd: Simd,
  r: Reducer<T, S>,
  source: ReduceSource,
  p: readonly I[],
): void {
  const { f } = simd, operands = source.dtypes.length;
  const starts = p.slice(0, operands), steps = p.slice(operands + 3);
  const [m, n, acc] = p.slice(operands, operands + 3);
  const left = f.local("i32"), to = f.local("i32");
  const joined = (values: readonly Value<T>[]): Value<T> => {
    if (values.length === 1) return values[0];
    return joined(values.flatMap((v, i) => (i % 2 ? [] : [f.let(r.quick(v, values[i + 1]))])));
  };
  const join = (values: readonly Value<T>[]): Value<T> => {
    if (!r.watchesNaN || values.length === 1) return joined(values);
    const floats = values as unknown as readonly F4[];
    const bad = floats.slice(1).reduce(
      (b, v) => i32x4.or(b, f32x4.ne(v, v)),
      f32x4.ne(floats[0], floats[0]),
    );
    return f.let(r.table.select(f.constant(r.type, NaN), joined(values), bad));
  };
  const pass = (count: number): void => {
    const at = Array.from({ length: count }, () => starts.map(() => f.local("i32")));
    at.forEach((row, i) =>
      row.forEach((x, k) => f.set(x, i === 0 ? starts[k] : i32.add(at[i - 1][k], steps[k])))
    );
    const rows = at.map((pointers) => new SourceRow<T>(simd, source, pointers));
    rows.forEach((row) => row.begin());
    f.set(to, acc);
    f.set(left, n);
    const turn = (
      elements: number,
      fold: (f: FunctionBuilder, acc: Value<"i32">, v: Value<T>) => void,
    ): void => {
      fold(f, to, join(rows.map((row) => f.let(row.load(1)[0]))));
      rows.forEach((row) => row.advance(elements));
      f.advance(to, elements * r.bytes);
      f.advance(left, -elements);
    };
    f.while(i32.ge(left, 4), () => turn(4, r.fold));
    f.while(i32.gt(left, 0), () => turn(1, r.foldOne));
    starts.forEach((x, k) => f.advance(x, i32.mul(steps[k], count)));
    f.advance(m, -count);
  };
  const most = rowsAtOnce(r as unknown as Reducer, source);
  if (most > 1) f.while(i32.ge(m, most), () => pass(most));
  f.while(i32.gt(m, 0), () => pass(1));
}
