/** Constant fills, one-hot rows, and evenly spaced numbers. */
import { type DType, DTYPES } from "../../../core/dtype.ts";
import type { MeaningOf } from "../../../core/meaning.ts";
import type { NdArray } from "../../../core/nd_array.ts";
import type { Problem } from "../../../core/op.ts";
import { normalizeAxis, sizeOf } from "../../../core/shape.ts";
import type { ConcreteSpec } from "../../../core/tensor_spec.ts";
import { oneHotLayout } from "../../../kernels/copy/number_layout.ts";
import type { Engine } from "../engine.ts";
import type { FastPrepare, FastRun } from "../fast.ts";
import type { Heap, Pointer } from "../heap.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { draw, drawInts } from "../random/random.ts";
import { f32x4, f64x2, i32, i32x4 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import { type F4, type I4, laneNumbers } from "../wasm/simd.ts";

/** Bytes written in a turn: blocks of memory may be overrun by as many. */
const TURN = 64;

/**
 * Bytes filled in turns, and then copied: the engine's own copy has wider vectors, and its source stays in the nearest
 * cache.
 */
const COPIED = 16384;

/** Fills a tensor with a word. */
function fillRun(
  engine: Engine,
  { shape, dtype }: ConcreteSpec,
): (out: Pointer, word: number) => void {
  const bytes = sizeOf(shape) * DTYPES[dtype].bytes;
  const run = kernel(engine, "fill", 3, ({ f }, [out, bytes, word]) => {
    const v = f.let(i32x4.splat(word)), first = f.variable("i32", out);
    const stored = f.variable("i32", bytes);
    f.if(i32.gtU(bytes, 2 * COPIED), () => f.set(stored, COPIED));
    const turns = f.variable("i32", i32.shrU(i32.add(stored, TURN - 1), Math.log2(TURN)));
    f.countDown(turns, 1, () => {
      for (let at = 0; at < TURN; at += 16) f.store(out, v, at);
      f.advance(out, TURN);
    });
    const left = f.variable("i32", i32.sub(bytes, stored));
    f.while(i32.gtU(left, COPIED), () => {
      f.copy(out, first, COPIED);
      f.advance(out, COPIED);
      f.advance(left, -COPIED);
    });
    f.if(left, () => f.copy(out, first, left));
  });
  const pieces = { count: bytes, work: bytes, multiple: TURN };
  return (out, word) => {
    if (engine.parts(bytes) === 1) run(out, bytes, word);
    else engine.inParts(run, pieces, (from, size) => [out + from, size, word]);
  };
}

const bits = new DataView(new ArrayBuffer(4));

/** Returns four bytes of elements of this value. */
export function wordOf(dtype: DType, value: number): number {
  if (dtype === "bool") return value === 0 ? 0 : 0x01010101;
  if (dtype === "float32") bits.setFloat32(0, value);
  else bits.setInt32(0, value);
  return bits.getInt32(0);
}

/** Returns four bytes of the element at an address, which has one or four. */
export function wordAt(heap: Heap, dtype: DType, at: Pointer): number {
  return DTYPES[dtype].bytes === 1 ? Math.imul(heap.u8[at], 0x01010101) : heap.i32[at >>> 2];
}

/** Prepares the kernel of an op whose elements follow from their positions. */
export function prepareFill(
  engine: Engine,
  problem: Problem,
  meaning: MeaningOf<"fill">,
): FastRun | null {
  const { outputs: [out], attrs } = problem;
  switch (meaning.how) {
    case "steps":
      return prepareRange(engine, problem);
    case "spaced":
      return prepareLinSpace(engine, problem);
    case "element": {
      const run = fillRun(engine, out);
      return ([o], [, value]) => run(o, wordAt(engine.heap, out.dtype, value));
    }
    case "number": {
      const run = fillRun(engine, out);
      const word = wordOf(out.dtype, meaning.number(attrs));
      return ([o]) => run(o, word);
    }
    case "integers":
      return drawInts(engine, problem);
    default:
      return draw(engine, problem, meaning.how);
  }
}

/** Indices before the axis, of a part: so many fill whole turns. */
const GROUPS = 16;

/** Bytes that are filled before they are marked, which stay in the nearest cache. */
const AT_ONCE = 16384;

/** Prepares one-hot rows, filled and marked in one pass over memory. */
export const prepareOneHot: FastPrepare = (
  engine,
  { inputs: [x], outputs: [out], hosts, attrs },
) => {
  if (x.dtype !== "int32" || DTYPES[out.dtype].bytes !== 4) return null;
  const [, depths, on, off] = hosts.map((host) => Number(host?.item()));
  const axis = normalizeAxis(attrs.axis as number, x.shape.length + 1);
  const { outer, length: depth, inner } = oneHotLayout(x.shape, depths, axis);
  const groupBytes = 4 * depth * inner, bytes = 4 * sizeOf(out.shape);
  if (bytes === 0) return () => {};
  const run = kernel(engine, "one hot", 8, ({ f }, p) => writeOneHot(f, p));
  const most = Math.max(1, Math.floor(AT_ONCE / groupBytes));
  const further = [most, depth, inner, wordOf(out.dtype, on), wordOf(out.dtype, off)];
  const pieces = { count: outer, work: bytes, multiple: GROUPS };
  return ([o], [p]) =>
    engine.inParts(run, pieces, (from, size) => {
      return [o + from * groupBytes, p + 4 * from * inner, size, ...further];
    });
};

/** Parameters: to, indices, groups, groups at once, depth, indices of a group, word for hits, word elsewhere. */
function writeOneHot(
  f: FunctionBuilder,
  [out, indices, groups, most, depth, inner, on, off]: readonly I[],
): void {
  const words = f.let(i32x4.splat(off)), at = f.variable("i32", out);
  const bytes = f.let(i32.shl(i32.mul(depth, inner), 2)), column = f.let(i32.shl(inner, 2));
  // Bytes already filled of these groups, which then include the excess: less than a turn.
  const filled = f.local("i32"), wanted = f.local("i32"), index = f.local("i32");
  f.while(i32.gt(groups, 0), () => {
    f.if(i32.gt(most, groups), () => f.set(most, groups));
    f.set(wanted, i32.mul(most, bytes));
    f.while(i32.lt(filled, wanted), () => {
      for (let u = 0; u < TURN; u += 16) f.store(at, words, u);
      f.advance(at, TURN);
      f.advance(filled, TURN);
    });
    f.set(filled, i32.sub(filled, wanted));
    f.times(most, () => {
      f.times(inner, (i) => {
        f.set(index, i32.load(indices));
        f.if(i32.ltU(index, depth), () => {
          f.store(i32.add(out, i32.add(i32.mul(index, column), i32.shl(i, 2))), on);
        });
        f.advance(indices, 4);
      });
      f.advance(out, bytes);
    });
    f.set(groups, i32.sub(groups, most));
  });
}

/** `start + i step` in `n` elements. */
type RampRun = (out: Pointer, n: number, start: number, step: number) => void;

/** Writes four elements a turn. */
function fours(f: FunctionBuilder, [out, left]: readonly I[], next: () => F4 | I4): void {
  f.while(i32.gt(left, 0), () => {
    f.store(out, next());
    f.advance(out, 16);
    f.advance(left, -4);
  });
}

function intRamp(engine: Engine): RampRun {
  return kernel(engine, "ramp i32", 4, ({ f }, [out, left, start, step]) => {
    const by = f.let(i32x4.splat(step)), lanes = laneNumbers(f);
    const at = f.variable("i32x4", i32x4.add(i32x4.splat(start), i32x4.mul(lanes, by)));
    const here = f.local("i32x4"), turn = f.let(i32x4.shl(by, 2));
    fours(f, [out, left], () => {
      f.set(here, at);
      f.set(at, i32x4.add(at, turn));
      return here;
    });
  });
}

/** Makes a ramp computed in float64, as in JavaScript, and rounded. */
function floatRamp(engine: Engine): RampRun {
  return engine.compile("ramp f32", (m) => {
    m.function("run", ["i32", "i32", "f64", "f64"], null, (f, out, left, start, step) => {
      const from = f.let(f64x2.splat(start)), by = f.let(f64x2.splat(step));
      const places = [0, 2].map((i) =>
        f.variable("f64x2", f64x2.withLane(f.constant("f64x2", i), 1, i + 1))
      );
      fours(f, [out, left], () => {
        const [low, high] = places.map((i) =>
          f.let(f32x4.ofF64(f64x2.add(from, f64x2.mul(i, by))))
        );
        for (const i of places) f.set(i, f64x2.add(i, f.constant("f64x2", 4)));
        return f32x4.shuffle(low, high, [0, 1, 4, 5]);
      });
    });
  }).run;
}

function rampOf(engine: Engine, dtype: DType): RampRun | null {
  if (dtype === "bool") return null;
  return dtype === "float32" ? floatRamp(engine) : intRamp(engine);
}

const numberOf = (host: NdArray | undefined): number => Number(host!.item());

const prepareRange: FastPrepare = (engine, { outputs: [out], hosts }) => {
  const run = rampOf(engine, out.dtype), n = sizeOf(out.shape);
  return run && (([o]) => run(o, n, numberOf(hosts[0]), numberOf(hosts[2])));
};

const prepareLinSpace: FastPrepare = (engine, { outputs: [out], hosts }) => {
  const run = rampOf(engine, out.dtype), n = sizeOf(out.shape);
  if (run === null || out.dtype !== "float32") return null;
  const start = numberOf(hosts[0]), stop = numberOf(hosts[1]);
  return ([o]) => {
    run(o, n, start, n > 1 ? (stop - start) / (n - 1) : 0);
    // The exact end, not the rounded sum.
    if (n > 1) engine.heap.f32[(o >>> 2) + n - 1] = stop;
  };
};
