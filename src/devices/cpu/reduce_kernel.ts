/**
 * The loops of reductions: rows into one result each, columns into one result each. Float32 sums are taken in short runs that are
 * added up in float64; products are in float64 throughout.
 * May import this folder.
 */
import type { Engine, WasmExports } from "./engine.ts";
import type { Heap, Pointer } from "./heap.ts";
import type { FunctionBuilder, Local } from "./wasm/function_builder.ts";
import { f32x4, f64x2, i32, i32x4 } from "./wasm/instructions.ts";
import type { Basic, Bits, Loads } from "./wasm/instruction_types.ts";
import type { D2, F4 } from "./wasm/simd.ts";
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

/**
 * The module of a reducer: `rows(x, m, n, acc)`, `columns(x, m, n, step, acc)`, and `settle(out, acc, n, divisor)`, which rounds
 * float64 accumulators to float32.
 */
export function reducerModule(engine: Engine, name: string, reducer: Reducer): WasmExports {
  return engine.compile(`reduce ${name}`, (m) => {
    m.function("rows", ["i32", "i32", "i32", "i32"], null, (f, ...p) => writeRows(f, reducer, p));
    m.function(
      "columns",
      ["i32", "i32", "i32", "i32", "i32"],
      null,
      (f, ...p) => writeColumns(f, reducer, p),
    );
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

/** Folds each row of `n` elements into one accumulator. */
function writeRows<T extends Lane4, S extends Lane4 | "f64x2">(
  f: FunctionBuilder,
  r: Reducer<T, S>,
  [x, m, n, acc]: readonly I[],
): void {
  const left = f.local("i32"), run = f.local("i32");
  const width = r.run > 0 ? 4 : 1;
  const state = f.local(r.state), bad = f.local("i32x4");
  const sums = Array.from({ length: width }, () => f.local(r.type));
  const identity = f.constant(r.type, r.identity);
  const tail = f.let(i32.and(n, 3));
  const lanes = f.let(laneNumbers(f));
  const mask = f.let(i32x4.lt(lanes, i32x4.splat(tail)));
  const next = (): void => {
    f.advance(x, 16 * width);
    f.advance(left, -4 * width);
  };
  const watch = (v: Value<T>): Value<T> => {
    if (r.watchesNaN) f.set(bad, i32x4.or(bad, f32x4.ne(v as unknown as F4, v as unknown as F4)));
    return v;
  };
  const both = (a: Value<T>, b: Value<T>): Value<T> => f.let(r.quick(a, b));
  const take = (v: Value<T>): void => f.set(state, r.take(state, v));
  f.while(i32.gt(m, 0), () => {
    f.set(left, n);
    f.set(state, f.constant(r.state, r.identity));
    if (r.watchesNaN) f.set(bad, f.constant("i32x4", 0));
    f.while(i32.ge(left, 4 * width), () => {
      sums.forEach((s, u) => f.set(s, r.table.load(x, 16 * u)));
      sums.forEach(watch);
      next();
      if (r.run > 1) {
        f.set(run, r.run - 1);
        f.while(i32.and(i32.gt(run, 0), i32.ge(left, 4 * width)), () => {
          sums.forEach((s, u) => f.set(s, r.quick(s, watch(f.let(r.table.load(x, 16 * u))))));
          next();
          f.advance(run, -1);
        });
      }
      take(width === 1 ? sums[0] : both(both(sums[0], sums[1]), both(sums[2], sums[3])));
    });
    if (width > 1) {
      f.while(i32.ge(left, 4), () => {
        take(f.let(r.table.load(x)));
        f.advance(x, 16);
        f.advance(left, -4);
      });
    }
    f.if(tail, () => {
      take(f.let(r.table.select(r.table.load(x), identity, mask)));
      f.advance(x, i32.shl(tail, 2));
    });
    if (r.watchesNaN) f.if(i32.anyTrue(bad), () => f.set(state, f.constant(r.state, NaN)));
    r.keep(f, acc, state);
    f.advance(acc, r.bytes);
    f.advance(m, -1);
  });
}

/** 0, 1, 2, 3. */
function laneNumbers(f: FunctionBuilder): Value<"i32x4"> {
  return [1, 2, 3].reduce<Value<"i32x4">>(
    (v, i) => i32x4.withLane(v, i, i),
    f.constant("i32x4", 0),
  );
}

/** Folds `m` rows, `step` bytes apart, into `n` accumulators. */
function writeColumns<T extends Lane4, S extends Lane4 | "f64x2">(
  f: FunctionBuilder,
  r: Reducer<T, S>,
  [x, m, n, step, acc]: readonly I[],
): void {
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
    const rows = Array.from({ length: count }, () => f.local("i32"));
    rows.forEach((p, i) => f.set(p, i === 0 ? x : i32.add(rows[i - 1], step)));
    f.set(to, acc);
    f.set(left, n);
    f.while(i32.ge(left, 4), () => {
      r.fold(f, to, join(rows.map((p) => f.let(r.table.load(p)))));
      rows.forEach((p) => f.advance(p, 16));
      f.advance(to, 4 * r.bytes);
      f.advance(left, -4);
    });
    f.while(i32.gt(left, 0), () => {
      r.foldOne(f, to, join(rows.map((p) => f.let(r.table.loadFirst(p)))));
      rows.forEach((p) => f.advance(p, 4));
      f.advance(to, r.bytes);
      f.advance(left, -1);
    });
    f.advance(x, i32.mul(step, count));
    f.advance(m, -count);
  };
  // Short runs: eight rows before they are folded.
  if (r.run > 0) f.while(i32.ge(m, 8), () => pass(8));
  f.while(i32.gt(m, 0), () => pass(1));
}
