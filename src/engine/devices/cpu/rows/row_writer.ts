/** Writer of kernels over rows: each row is walked vector by vector, its last elements under a mask. */
import { highHalf, lowHalf } from "../reduce/reducer.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { f32x4, f64x2, i32, i32x4 } from "../wasm/instructions.ts";
import { type D2, type F4, type I4, laneNumbers, type Simd } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import type { Value } from "../wasm/value.ts";

/** Operations at a vector's position in the row. Pointers are named by their numbers. */
export interface Place {
  readonly address: (pointer: number) => Value<"i32">;
  /** Stores a vector, or its part that belongs to the row. */
  readonly put: (pointer: number, v: F4) => void;
  /** Adds a vector to float64 sums, one per column; past the end of the row it must hold 0. */
  readonly addTo: (pointer: number, v: F4) => void;
  /** Replaces the lanes past the end of the row by 0, or by `fill`. */
  readonly clear: (v: F4, fill?: number) => F4;
}

export interface RowSum {
  readonly parts: readonly Local<"f32x4">[];
  readonly total: Local<"f64x2">;
}

export interface RowExtreme {
  readonly parts: readonly Local<"f32x4">[];
  /** Returns the better of two in each lane: the first where one is NaN. */
  readonly best: "pmax" | "pmin";
}

/** Bytes of the runs that are summed in float32. */
const RUN_BYTES = 16 * 64;

/** A function over rows of floats. Its parameters are pointers, the number of rows, their length. */
export class RowWriter {
  readonly f: FunctionBuilder;
  readonly s: Simd;
  /** Length of a row as a float64, in both lanes. */
  readonly length: D2;
  readonly #pointers: readonly Local<"i32">[];
  readonly #rows: Local<"i32">;
  readonly #n: Local<"i32">;
  readonly #tail: Value<"i32">;
  readonly #mask: I4;
  /** Offset of the vector in the row, in bytes. */
  readonly #at: Local<"i32">;

  constructor(
    s: Simd,
    pointers: readonly Local<"i32">[],
    rows: Local<"i32">,
    n: Local<"i32">,
  ) {
    const { f } = s;
    this.f = f;
    this.s = s;
    this.#pointers = pointers;
    this.#rows = rows;
    this.#n = n;
    this.#tail = f.let(i32.and(n, 3));
    this.#mask = f.let(i32x4.lt(laneNumbers(f), i32x4.splat(this.#tail)));
    this.length = f.let(f64x2.ofI32(i32x4.splat(n)));
    this.#at = f.local("i32");
  }

  /** Address of a pointer's current row. */
  pointer(p: number): Local<"i32"> {
    return this.#pointers[p];
  }

  /**
   * Runs `body` for each row. Pointers then advance by a row; those in `single` by one element, those in `still` not at
   * all.
   */
  each(body: () => void, single: readonly number[] = [], still: readonly number[] = []): void {
    const { f } = this;
    f.countDown(this.#rows, 1, () => {
      body();
      this.#pointers.forEach((p, i) => {
        if (single.includes(i)) f.advance(p, 4);
        else if (!still.includes(i)) f.advance(p, i32.shl(this.#n, 2));
      });
    });
  }

  /**
   * Walks the row. `body` gets a vector of each of these pointers; past the end of the row they hold `fill`. Light
   * bodies are best unrolled twice.
   */
  vectors(
    pointers: readonly number[],
    body: (v: F4[], place: Place) => void,
    { fill = 0, unroll = 1 }: { fill?: number; unroll?: number } = {},
  ): void {
    const { f } = this;
    const end = f.let(i32.shl(i32.and(this.#n, -4), 2)), runEnd = f.local("i32");
    const whole = (copies: number, to: Value<"i32">): void =>
      f.until(this.#at, to, 16 * copies, () => {
        for (let copy = 0; copy < copies; copy++) this.#vector(pointers, body, { copy });
      });
    f.set(this.#at, 0);
    this.#open.clear();
    f.until(this.#at, end, 0, () => {
      f.set(runEnd, i32.add(this.#at, RUN_BYTES));
      f.if(i32.gt(runEnd, end), () => f.set(runEnd, end));
      if (unroll > 1) whole(unroll, f.let(i32.sub(runEnd, 16 * (unroll - 1))));
      whole(1, runEnd);
      this.#closeSums();
    });
    f.if(this.#tail, () => {
      this.#vector(pointers, body, { fill });
      this.#closeSums();
    });
  }

  #address(p: number): Value<"i32"> {
    return i32.add(this.#pointers[p], this.#at);
  }

  /** Runs the body for a whole vector, `copy` vectors further on, or with `fill` for the last one to three elements. */
  #vector(
    pointers: readonly number[],
    body: (v: F4[], place: Place) => void,
    { copy = 0, fill }: { copy?: number; fill?: number },
  ): void {
    const { f } = this;
    const clear = (v: F4, fill = 0): F4 =>
      fill === 0
        ? f32x4.and(v, f32x4.ofBits(this.#mask))
        : f32x4.select(v, this.s.k(fill), this.#mask);
    const load = (p: number): F4 => f32x4.load(this.#address(p), 16 * copy);
    const isWhole = fill === undefined;
    this.#copy = copy;
    body(pointers.map((p) => f.let(isWhole ? load(p) : clear(load(p), fill))), {
      address: (p) => i32.add(this.#address(p), 16 * copy),
      put: (p, v) =>
        isWhole
          ? f.store(this.#address(p), v, 16 * copy)
          : storePart(f, this.#address(p), f.let(v), this.#tail),
      addTo: (p, v) => {
        const to = f.let(i32.add(this.#pointers[p], i32.shl(this.#at, 1)));
        [lowHalf(v), highHalf(v)].forEach((half, h) => {
          const offset = 32 * copy + 16 * h;
          f.store(to, f64x2.add(f64x2.load(to, offset), half), offset);
        });
      },
      clear: isWhole ? (v) => v : clear,
    });
    this.#copy = 0;
  }

  /** Stores lane 0 at a pointer. */
  putOne(p: number, v: F4): void {
    this.f.storeLane(this.#pointers[p], v, 4, 0);
  }

  /** Begins a sum: float32 over short runs, float64 over them. */
  sum(): RowSum {
    const { f, s } = this;
    const parts = [0, 1].map(() => f.variable("f32x4", s.k(0)));
    return { parts, total: f.variable("f64x2", s.d(0)) };
  }
  add(sum: RowSum, v: F4): void {
    const part = sum.parts[this.#copy];
    this.f.set(part, f32x4.add(part, v));
    this.#open.add(sum);
  }
  total({ total }: RowSum): D2 {
    return this.f.let(
      f64x2.add(f64x2.splat(f64x2.lane(total, 0)), f64x2.splat(f64x2.lane(total, 1))),
    );
  }

  /** Adds the parts to the totals. */
  #closeSums(): void {
    const { f } = this;
    for (const { parts, total } of this.#open) {
      const both = f.let(f32x4.add(parts[0], parts[1]));
      f.set(total, f64x2.add(total, f64x2.add(lowHalf(both), highHalf(both))));
      parts.forEach((p) => f.set(p, this.s.k(0)));
    }
  }
  readonly #open = new Set<RowSum>();
  #copy = 0;

  /** Rounds a number in both lanes, to four lanes. */
  narrow(x: D2): F4 {
    const { f } = this;
    const low = f.let(f32x4.ofF64(x));
    return f.let(f32x4.shuffle(low, low, [0, 0, 0, 0]));
  }
  extreme(best: RowExtreme["best"]): RowExtreme {
    const none = this.s.k(best === "pmax" ? -Infinity : Infinity);
    // One for each copy of the body: else each comparison would wait for the one before.
    return { parts: [0, 1].map(() => this.f.variable("f32x4", none)), best };
  }
  /** Takes all lanes of a vector; NaN is ignored. */
  take({ parts, best }: RowExtreme, v: F4): void {
    const part = parts[this.#copy];
    this.f.set(part, f32x4[best](part, v));
  }
  found({ parts: [a, b], best }: RowExtreme): F4 {
    const { f } = this;
    const one = f.let(f32x4[best](a, b));
    const two = f.let(f32x4[best](one, f32x4.shuffle(one, one, [2, 3, 0, 1])));
    return f.let(f32x4[best](two, f32x4.shuffle(two, two, [1, 0, 3, 2])));
  }
  /** Returns the largest element of the row, in all lanes; NaN is ignored. */
  greatest(p: number): F4 {
    const top = this.extreme("pmax");
    this.vectors([p], ([v]) => this.take(top, v), { fill: -Infinity, unroll: 2 });
    return this.found(top);
  }
}
