/** The loops of running sums and products: along rows, and down columns. Float32 is added and multiplied in float64. */
import type { ScanOp } from "../../../core/meaning.ts";
import type { ScanOptions } from "../../../kernels/host/scan.ts";
import { type Engine, type WasmExports, words } from "../engine.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { f32x4, f64x2, i32, i32x4 } from "../wasm/instructions.ts";
import type { D2, F4, I4 } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import { highHalf, lowHalf } from "./reducer.ts";

type I = Local<"i32">;

/** The kind of a scan, without its axis. */
export interface ScanKind extends ScanOptions {
  readonly op: ScanOp;
  /** Floats, or integers that wrap. */
  readonly type: "float32" | "int32";
}

/**
 * `rows(x, y, m, n)` scans rows; `columns(x, y, outer, length, step, width)` scans blocks of `length` rows, `step`
 * bytes apart, down `width` of their columns. The last vector of columns may overlap the one before.
 */
export function scanModule(engine: Engine, kind: ScanKind): WasmExports {
  const { op, type, exclusive, reverse } = kind;
  return engine.compile(`scan ${op} ${type} ${exclusive} ${reverse}`, (m) => {
    m.function("rows", words(4), null, (f, ...p) => writeRows(f, kind, p));
    m.function("columns", words(6), null, (f, ...p) => writeColumns(f, kind, p));
  });
}

/** The carried value, in registers. */
interface Carry {
  clear(): void;
  /**
   * Combines lane by lane, of which the last two may not matter; returns the value after each element, or before it.
   */
  down(v: F4, lanes?: 2 | 4): F4;
  /** Combines one lane after another; the first two lanes carry the same. */
  along(v: F4): F4;
  /** Scans two rows of two elements, without a carry. */
  pairs(v: F4): F4;
}

function floatCarry(f: FunctionBuilder, { op, exclusive }: ScanKind): Carry {
  const [join, one] = op === "sum" ? [f64x2.add, 0] : [f64x2.mul, 1];
  const none = f.constant("f32x4", one);
  const halves = [0, 1].map(() => f.local("f64x2"));
  const narrow = ([low, high]: readonly D2[]): F4 => {
    const first = f32x4.ofF64(low);
    return f.let(high ? f32x4.shuffle(first, f32x4.ofF64(high), [0, 1, 4, 5]) : first);
  };
  const earlierOf = (v: F4): D2[] =>
    [[0, 4], [0, 6]].map(([a, b]) => f.let(lowHalf(f32x4.shuffle(none, v, [a, b, a, b]))));
  const pairsOf = (v: F4, earlier: readonly D2[]): D2[] =>
    [lowHalf(v), highHalf(v)].map((own, h) => f.let(join(own, earlier[h])));
  const last = (v: D2): D2 => f.let(f64x2.splat(f64x2.lane(v, 1)));
  return {
    clear: () => halves.forEach((h) => f.set(h, f.constant("f64x2", one))),
    down: (v, lanes = 4) => {
      const used = halves.slice(0, lanes / 2);
      const before = exclusive ? narrow(used) : null;
      used.forEach((h, i) => f.set(h, join(h, i === 0 ? lowHalf(v) : highHalf(v))));
      return before ?? narrow(used);
    },
    pairs: (v) => narrow(exclusive ? earlierOf(v) : pairsOf(v, earlierOf(v))),
    along: (v) => {
      const [carried] = halves, earlier = earlierOf(v);
      const [low, high] = pairsOf(v, earlier);
      const before = last(low), [first, second] = exclusive ? earlier : [low, high];
      const result = narrow([join(carried, first), join(carried, join(before, second))]);
      // Only this depends on the vector before.
      f.set(carried, join(carried, join(before, last(high))));
      return result;
    },
  };
}

function intCarry(f: FunctionBuilder, { op, exclusive }: ScanKind): Carry {
  const [join, one] = op === "sum" ? [i32x4.add, 0] : [i32x4.mul, 1];
  const none = f.constant("i32x4", one), carried = f.local("i32x4");
  const ofInts = (v: I4): F4 => f32x4.ofBits(v);
  return {
    clear: () => f.set(carried, none),
    down: (v) => {
      const before = exclusive ? f.variable("i32x4", carried) : null;
      f.set(carried, join(carried, i32x4.ofBits(v)));
      return ofInts(before ?? carried);
    },
    pairs: (v) => {
      const own = f.let(i32x4.ofBits(v));
      const earlier = i32x4.shuffle(none, own, [0, 4, 0, 6]);
      return f.let(ofInts(exclusive ? earlier : join(own, earlier)));
    },
    along: (v) => {
      const own = f.let(i32x4.ofBits(v));
      const two = f.let(join(own, i32x4.shuffle(none, own, [0, 4, 5, 6])));
      const four = f.let(join(two, i32x4.shuffle(none, two, [0, 1, 4, 5])));
      const taken = exclusive ? i32x4.shuffle(none, four, [0, 4, 5, 6]) : four;
      const result = f.let(join(carried, taken));
      f.set(carried, join(carried, i32x4.shuffle(four, four, [3, 3, 3, 3])));
      return ofInts(result);
    },
  };
}

function carryOf(f: FunctionBuilder, kind: ScanKind): Carry {
  return kind.type === "float32" ? floatCarry(f, kind) : intCarry(f, kind);
}

function writeRows(f: FunctionBuilder, kind: ScanKind, [x, y, m, n]: readonly I[]): void {
  const { reverse } = kind;
  const from = f.local("i32"), to = f.local("i32"), left = f.local("i32");
  const carry = carryOf(f, kind), bytes = f.let(i32.shl(n, 2));
  const turned = (v: F4): F4 => f.let(reverse ? f32x4.shuffle(v, v, [3, 2, 1, 0]) : v);
  /** Backwards, pointers stand after the next elements. */
  const step = (elements: number, body: () => void): void => {
    const go = (): void => [from, to].forEach((p) => f.advance(p, (reverse ? -4 : 4) * elements));
    f.while(i32.ge(left, elements), () => {
      if (reverse) go();
      body();
      if (!reverse) go();
      f.advance(left, -elements);
    });
  };
  f.if(i32.eq(n, 2), () => {
    f.countDown(m, 2, () => {
      f.store(y, turned(carry.pairs(turned(f32x4.load(x)))));
      [x, y].forEach((p) => f.advance(p, 16));
    });
  });
  f.countDown(m, 1, () => {
    f.set(from, reverse ? i32.add(x, bytes) : x);
    f.set(to, reverse ? i32.add(y, bytes) : y);
    f.set(left, n);
    carry.clear();
    step(4, () => f.store(to, turned(carry.along(turned(f32x4.load(from))))));
    step(1, () => f.storeLane(to, carry.down(f.let(f32x4.loadSplat(from)), 2), 4, 0));
    [x, y].forEach((p) => f.advance(p, bytes));
  });
}

function writeColumns(
  f: FunctionBuilder,
  kind: ScanKind,
  [x, y, outer, length, step, width]: readonly I[],
): void {
  const from = f.local("i32"), to = f.local("i32"), left = f.local("i32");
  const source = f.local("i32"), target = f.local("i32"), row = f.local("i32");
  const carries = [0, 1, 2, 3].map(() => carryOf(f, kind));
  const { reverse } = kind, block = f.let(i32.mul(length, step));
  const begin = f.let(reverse ? i32.sub(block, step) : i32.const(0));
  const stride = f.let(reverse ? i32.sub(0, step) : step);
  const strip = (vectors: number, down: (carry: Carry, offset: number) => void): void => {
    const used = carries.slice(0, vectors);
    f.set(source, from);
    f.set(target, to);
    f.set(row, length);
    used.forEach((carry) => carry.clear());
    f.countDown(row, 1, () => {
      used.forEach((carry, u) => down(carry, 16 * u));
      [source, target].forEach((p) => f.advance(p, stride));
    });
    [from, to].forEach((p) => f.advance(p, 16 * vectors));
    f.advance(left, -4 * vectors);
  };
  const whole = (vectors: number): void =>
    strip(vectors, (carry, offset) => {
      f.store(target, carry.down(f.let(f32x4.load(source, offset))), offset);
    });
  const part = (lanes: 2 | 4): void =>
    strip(1, (carry) => {
      storePart(f, target, carry.down(f.let(f32x4.load(source)), lanes), width);
    });
  f.countDown(outer, 1, () => {
    f.set(from, i32.add(x, begin));
    f.set(to, i32.add(y, begin));
    f.set(left, width);
    f.while(i32.ge(left, 16), () => whole(4));
    f.if(i32.ge(width, 4), () => {
      f.while(i32.gt(left, 0), () => {
        f.if(i32.lt(left, 4), () => {
          const back = f.let(i32.sub(16, i32.shl(left, 2)));
          [from, to].forEach((p) => f.set(p, i32.sub(p, back)));
        });
        whole(1);
      });
    }, () => f.if(i32.gt(width, 2), () => part(4), () => part(2)));
    [x, y].forEach((p) => f.advance(p, block));
  });
}
