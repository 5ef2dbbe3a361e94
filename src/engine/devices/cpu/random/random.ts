/**
 * Random numbers: Threefry on four counters at a time, and distributions of its bits. The bits equal those of
 * `engine/kernels/host/random.ts`.
 */
import type { Distribution } from "../../../core/meaning.ts";
import type { Problem } from "../../../core/op.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { ConcreteSpec } from "../../../core/tensor_spec.ts";
import { INVERSE_ERF, TRUNCATED_MASS } from "../../../kernels/host/random.ts";
import { PARITY, ROTATIONS } from "../../../kernels/pointwise/threefry.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { FastPrepare, FastRun } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { f32x4, f64x2, i32, i32x4 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import { type D2, type F4, type I4, laneNumbers, type Simd } from "../wasm/simd.ts";
import { log, sinCos } from "../wasm/wide_math.ts";

type I = Local<"i32">;

/** Both words of four counters. */
function threefry(f: FunctionBuilder, k0: I4, k1: I4, counters: I4): [I4, I4] {
  const k2 = f.let(i32x4.xor(i32x4.xor(k0, k1), f.constant("i32x4", PARITY)));
  const keys = [k0, k1, k2];
  const x = f.variable("i32x4", i32x4.add(counters, k0)), y = f.variable("i32x4", k1);
  for (let group = 0; group < 5; group++) {
    for (let i = 0; i < 4; i++) {
      const r = ROTATIONS[(group % 2) * 4 + i];
      f.set(x, i32x4.add(x, y));
      f.set(y, i32x4.xor(i32x4.or(i32x4.shl(y, r), i32x4.shrU(y, 32 - r)), x));
    }
    f.set(x, i32x4.add(x, keys[(group + 1) % 3]));
    f.set(y, i32x4.add(i32x4.add(y, keys[(group + 2) % 3]), f.constant("i32x4", group + 1)));
  }
  return [x, y];
}

/** Converts the words of four pairs to eight elements in order. */
type Draw = (s: Simd, x: I4, y: I4) => [first: F4 | I4, second: F4 | I4];

const uniform: Draw = (s, x, y) => {
  const number = (w: I4): F4 => f32x4.mul(f32x4.ofI32(i32x4.shrU(w, 8)), s.k(2 ** -24));
  return [number(x), number(y)];
};

/** Converts a word to a number between 0 and 1, both excluded. */
function openUniform(s: Simd, word: D2): D2 {
  return s.f.let(f64x2.mul(f64x2.add(word, s.d(0.5)), s.d(2 ** -32)));
}

/** Computes two results of two words, each in f64. */
function wideWords(s: Simd, x: I4, y: I4, fn: (x: D2, y: D2) => [D2, D2]): [F4, F4] {
  const { f } = s;
  const high = (w: I4): I4 => i32x4.shuffle(w, w, [2, 3, 2, 3]);
  const halves = [[x, y], [high(x), high(y)]].map(([a, b]) => {
    const both = fn(f.let(f64x2.ofU32(a)), f.let(f64x2.ofU32(b)));
    return both.map((v) => f.let(f32x4.ofF64(v)));
  });
  const join = (k: number): F4 => f.let(f32x4.shuffle(halves[0][k], halves[1][k], [0, 1, 4, 5]));
  return [join(0), join(1)];
}

const normal: Draw = (s, x, y) =>
  wideWords(s, x, y, (a, b) => {
    const radius = s.f.let(f64x2.sqrt(f64x2.mul(log(s, openUniform(s, a)), s.d(-2))));
    const angle = sinCos(s, s.f.let(f64x2.mul(b, s.d(2 * Math.PI / 2 ** 32))));
    return [f64x2.mul(radius, angle.cos), f64x2.mul(radius, angle.sin)];
  });

function truncatedOf(s: Simd, word: D2): D2 {
  const { f } = s;
  const centered = f64x2.add(f64x2.sub(word, s.d(2 ** 31)), s.d(0.5));
  const x = f.let(f64x2.mul(f64x2.mul(centered, s.d(2 ** -31)), s.d(TRUNCATED_MASS)));
  const square = f.let(f64x2.mul(f64x2.sub(s.d(1), x), f64x2.add(s.d(1), x)));
  const w = f.let(f64x2.sub(f64x2.neg(log(s, square)), s.d(2.5)));
  const p = s.poly(w, [...INVERSE_ERF].reverse());
  return f64x2.mul(f64x2.mul(p, x), s.d(Math.SQRT2));
}

const truncated: Draw = (s, x, y) =>
  wideWords(s, x, y, (a, b) => [truncatedOf(s, a), truncatedOf(s, b)]);

/** Writes `run(out, count, k0, k1, …)`. */
function writeDraw(s: Simd, draw: Draw, [out, count, k0, k1]: readonly I[]): void {
  const { f } = s, key0 = f.let(i32x4.splat(k0)), key1 = f.let(i32x4.splat(k1));
  const counters = f.variable("i32x4", laneNumbers(f));
  // Whole steps of eight: blocks of memory are longer than their contents.
  f.while(i32.gt(count, 0), () => {
    const [a, b] = draw(s, ...threefry(f, key0, key1, counters)).map((v) => f.let(f32x4.ofBits(v)));
    f.store(out, f32x4.shuffle(a, b, [0, 4, 1, 5]));
    f.store(out, f32x4.shuffle(a, b, [2, 6, 3, 7]), 16);
    f.set(counters, i32x4.add(counters, s.i(4)));
    f.advance(out, 32);
    f.advance(count, -8);
  });
}

function drawRun(engine: Engine, name: string, draw: Draw): WasmFunction {
  return kernel(engine, `random ${name}`, 4, (s, p) => writeDraw(s, draw, p));
}

/** Fills with numbers from 0 to below 1: `run(out, count, k0, k1)`, which may write seven more. */
export function uniformRun(engine: Engine): WasmFunction {
  return drawRun(engine, "uniform", uniform);
}

const DRAWS: Readonly<Record<Distribution, Draw>> = { uniform, normal, truncated };

/** Both words of a seed. */
export function keyAt({ heap: { i32 } }: Engine, seed: Pointer): [number, number] {
  return [i32[seed >>> 2], i32[(seed >>> 2) + 1]];
}

export function draw(
  engine: Engine,
  { inputs, outputs: [out], hosts }: Problem,
  distribution: Distribution,
): FastRun | null {
  if (out.dtype !== "float32" || inputs[1].dtype !== "int32" || hosts[1] !== undefined) return null;
  const run = drawRun(engine, distribution, DRAWS[distribution]);
  return inRows(engine, { seed: inputs[1], out }, run);
}

/**
 * Runs a kernel with the key of each row. What it writes behind a row the next one writes anew; where that would lie behind the block,
 * the row is drawn in scratch memory.
 */
function inRows(
  engine: Engine,
  { seed, out }: { readonly seed: ConcreteSpec; readonly out: ConcreteSpec },
  run: WasmFunction,
  more: readonly number[] = [],
): FastRun {
  const rows = seed.shape.length > 1 ? seed.shape[0] : 1, size = sizeOf(out.shape) / rows;
  const rowBytes = 4 * size, end = wholeSteps(rows * rowBytes), { heap } = engine;
  return ([o], ins) => {
    for (let row = 0; row < rows; row++) {
      const at = row * rowBytes, key = keyAt(engine, ins[1] + 8 * row);
      if (at + wholeSteps(rowBytes) <= end) run(o + at, size, ...key, ...more);
      else {
        const own = engine.scratch(wholeSteps(rowBytes));
        run(own, size, ...key, ...more);
        heap.u8.copyWithin(o + at, own, own + rowBytes);
      }
    }
  };
}

/** Bytes that a kernel writes for as many: eight elements at a time. */
function wholeSteps(bytes: number): number {
  return Math.ceil(bytes / 32) * 32;
}

/** Draws integers of 32 bits: `low + word mod range`, or all bits where the range is 0. */
export const drawInts: FastPrepare = (engine, { inputs, outputs: [out], hosts }) => {
  const isInt = out.dtype === "int32" || out.dtype === "uint32";
  if (!isInt || inputs[1].dtype !== "int32" || hosts[1] !== undefined) return null;
  const low = hosts[2] ? Number(hosts[2].item()) : 0;
  const range = hosts[3] ? (Number(hosts[3].item()) - low) >>> 0 : 0;
  const run = kernel(
    engine,
    `random ints ${range === 0}`,
    6,
    (s, [out, count, k0, k1, from, by]) => {
      const { f } = s, least = f.let(i32x4.splat(from)), step = f.let(i32x4.splat(by));
      const divisor = f.let(f64x2.ofU32(step));
      const within = (w: I4): I4 => {
        if (range === 0) return w;
        const quotient = s.wideInts(w, w, false, (x) => f64x2.floor(f64x2.div(x, divisor)));
        return i32x4.add(i32x4.sub(w, i32x4.mul(quotient, step)), least);
      };
      writeDraw(s, (_, x, y) => [within(x), within(y)], [out, count, k0, k1]);
    },
  );
  return inRows(engine, { seed: inputs[1], out }, run, [low, range]);
};
