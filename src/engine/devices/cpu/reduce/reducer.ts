/**
 * Combining of elements by reductions: sum, product, maximum and minimum of float32 and int32. Float32 sums are taken
 * in short runs that are added up in float64; products are in float64 throughout.
 */
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import type { Bits, Comparisons, Loads } from "../wasm/instruction_kinds.ts";
import { f32x4, f64x2, i32, i32x4 } from "../wasm/instructions.ts";
import type { D2, F4 } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import type { Value } from "../wasm/value.ts";

export type Lane4 = "f32x4" | "i32x4";
type Table<T extends Lane4> = Loads<T> & Bits<T> & Comparisons<T, "i32x4">;

/** Code that combines elements of an operation and keeps intermediate results in an array of accumulators. */
export interface Reducer<T extends Lane4 = Lane4, S extends Lane4 | "f64x2" = Lane4 | "f64x2"> {
  readonly type: T;
  /** Type of the register that holds intermediate results. */
  readonly state: S;
  /** The result of an empty reduction. */
  readonly identity: number;
  readonly bytes: 4 | 8;
  /** Vectors that are combined in the elements' own type before they are folded. */
  readonly run: number;
  /** True where `quick` loses NaN, which is then tested beside it. */
  readonly watchesNaN: boolean;
  /** Combines two vectors of accumulators in float64; null where these are of the elements' own type. */
  readonly wide: ((a: D2, b: D2) => D2) | null;
  readonly table: Table<T>;
  /** Combines two vectors. */
  readonly quick: (a: Value<T>, b: Value<T>) => Value<T>;
  /** Folds all lanes of a vector into a register. */
  readonly take: (state: Value<S>, v: Value<T>) => Value<S>;
  /** Folds a register into an accumulator. */
  readonly keep: (f: FunctionBuilder, acc: Value<"i32">, state: Value<S>) => void;
  /** Folds four columns into their accumulators. */
  readonly fold: (f: FunctionBuilder, acc: Value<"i32">, v: Value<T>) => void;
  /** Folds the first one to three columns into their accumulators. */
  readonly foldPart: (
    f: FunctionBuilder,
    acc: Value<"i32">,
    v: Value<T>,
    count: Local<"i32">,
  ) => void;
  /** Folds one accumulator into another. */
  readonly join: (f: FunctionBuilder, acc: Value<"i32">, from: Value<"i32">) => void;
}

/** Makes a reducer with accumulators in float64 for elements in float32. */
function wideReducer(
  identity: number,
  run: number,
  quick: (a: F4, b: F4) => F4,
  wide: (a: D2, b: D2) => D2,
): Reducer<"f32x4", "f64x2"> {
  return {
    type: "f32x4",
    state: "f64x2",
    identity,
    bytes: 8,
    run,
    watchesNaN: false,
    wide,
    table: f32x4,
    quick,
    take: (state, v) => wide(state, wide(lowHalf(v), highHalf(v))),
    keep: (f, acc, state) => {
      const both = wide(f64x2.load(acc), wide(state, f64x2.splat(f64x2.lane(state, 1))));
      f.storeLane(acc, both, 8, 0);
    },
    fold: (f, acc, v) => {
      f.store(acc, wide(f64x2.load(acc), lowHalf(v)));
      f.store(acc, wide(f64x2.load(acc, 16), highHalf(v)), 16);
    },
    foldPart: (f, acc, v, count) => {
      const first = f.let(wide(f64x2.load(acc), lowHalf(v)));
      f.if(i32.gt(count, 1), () => {
        f.store(acc, first);
        const third = wide(f64x2.load(acc, 16), highHalf(v));
        f.if(i32.gt(count, 2), () => f.storeLane(acc, third, 8, 0, 16));
      }, () => f.storeLane(acc, first, 8, 0));
    },
    join: (f, acc, from) => f.storeLane(acc, wide(f64x2.load(acc), f64x2.load(from)), 8, 0),
  };
}

export function lowHalf(v: F4): D2 {
  return f64x2.ofF32(v);
}

export function highHalf(v: F4): D2 {
  return f64x2.ofF32(f32x4.shuffle(v, v, [2, 3, 2, 3]));
}

/** Makes a reducer with accumulators of the elements' own type. */
function ownReducer<T extends Lane4>(
  type: T,
  table: Table<T>,
  identity: number,
  combine: (a: Value<T>, b: Value<T>) => Value<T>,
  quick?: (a: Value<T>, b: Value<T>) => Value<T>,
): Reducer<T, T> {
  const foldOne = (f: FunctionBuilder, acc: Value<"i32">, v: Value<T>): void =>
    f.storeLane(acc, combine(table.loadFirst(acc), v), 4, 0);
  return {
    type,
    state: type,
    identity,
    bytes: 4,
    run: 1 << 20,
    watchesNaN: quick !== undefined,
    wide: null,
    table,
    quick: quick ?? combine,
    take: combine,
    keep: (f, acc, state) => {
      const two = f.let(combine(state, table.shuffle(state, state, [2, 3, 0, 1])));
      foldOne(f, acc, combine(two, table.shuffle(two, two, [1, 0, 3, 2])));
    },
    fold: (f, acc, v) => f.store(acc, combine(table.load(acc), v)),
    foldPart: (f, acc, v, count) => {
      storePart(f, acc, f32x4.ofBits(f.let(combine(table.load(acc), v))), count);
    },
    join: (f, acc, from) => foldOne(f, acc, table.loadFirst(from)),
  };
}

export const REDUCERS: Readonly<Record<string, Reducer>> = {
  "sum float32": wideReducer(0, 32, f32x4.add, f64x2.add),
  "prod float32": wideReducer(1, 0, f32x4.mul, f64x2.mul),
  "max float32": ownReducer("f32x4", f32x4, -Infinity, f32x4.max, f32x4.pmax),
  "min float32": ownReducer("f32x4", f32x4, Infinity, f32x4.min, f32x4.pmin),
  "sum int32": ownReducer("i32x4", i32x4, 0, i32x4.add),
  "prod int32": ownReducer("i32x4", i32x4, 1, i32x4.mul),
  "max int32": ownReducer("i32x4", i32x4, -2147483648, i32x4.max),
  "min int32": ownReducer("i32x4", i32x4, 2147483647, i32x4.min),
} as unknown as Record<string, Reducer>;
