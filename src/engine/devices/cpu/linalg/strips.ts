/** Copies of matrices to and from strips of four columns, in float64: a strip has its rows one after the other, of four elements each. */
import type { Engine, WasmFunction } from "../engine.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32, f32x4, f64, f64x2, i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { Simd } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";

/** Columns of a strip. */
export const WIDTH = 4;
/** Bytes of a row of a strip. */
export const ROW_BYTES: number = 8 * WIDTH;

/** Returns the bytes from strip to strip for so many rows: no power of two, which would meet itself in the caches. */
export function stripBytes(rows: number): number {
  return ROW_BYTES * (Math.ceil(rows / WIDTH) * WIDTH + 2);
}

type Dtype = "float32" | "float64";

/**
 * Makes the function that copies lanes into strips, the last with zeros for lanes that are not there. Parameters: to, from, number of
 * lanes, rows, bytes from lane to lane and from row to row of the source, bytes from strip to strip.
 */
export function packing(engine: Engine, dtype: Dtype): WasmFunction {
  return kernel(engine, `strips pack ${dtype}`, 7, (s, p) => writePack(s, dtype, p));
}

/** Makes the function that copies strips back. Parameters: to, from, number of lanes, rows, and bytes of the target and of strips as above. */
export function unpacking(engine: Engine, dtype: Dtype): WasmFunction {
  return kernel(engine, `strips unpack ${dtype}`, 7, (s, p) => writeUnpack(s, dtype, p));
}

/** Calls `four` for each four lanes, and `some` for fewer at the end. */
function byLanes(
  f: FunctionBuilder,
  lanes: I,
  four: () => void,
  some: () => void,
): void {
  f.countDown(lanes, WIDTH, four);
  f.if(lanes, some);
}

function writePack(
  { f }: Simd,
  dtype: Dtype,
  [to, from, lanes, rows, laneStep, step, stripStep]: readonly I[],
): void {
  const isWide = dtype === "float64", bytes = isWide ? 8 : 4;
  const one = (p: I): Value<"f64"> => isWide ? f64.load(p) : f64.ofF32(f32.load(p));
  const copy = (count: number, row: (at: I, sources: readonly I[]) => void): void => {
    const at = f.variable("i32", to), left = f.variable("i32", rows);
    const sources = f.ramp(from, laneStep, count);
    f.countDown(left, 1, () => {
      row(at, sources);
      sources.forEach((p) => f.advance(p, step));
      f.advance(at, ROW_BYTES);
    });
  };
  byLanes(f, lanes, () => {
    f.if(i32.eq(laneStep, bytes), () => {
      copy(1, (at, [p]) => {
        if (isWide) { for (const h of [0, 16]) f.store(at, f64x2.load(p, h), h); }
        else {
          const four = f.let(f32x4.load(p));
          f.store(at, f64x2.ofF32(four));
          f.store(at, f64x2.ofF32(f32x4.shuffle(four, four, [2, 3, 2, 3])), 16);
        }
      });
    }, () => copy(WIDTH, (at, all) => all.forEach((p, l) => f.store(at, one(p), 8 * l))));
    f.advance(to, stripStep);
    f.advance(from, i32.mul(laneStep, WIDTH));
  }, () => {
    f.fill(to, 0, i32.mul(rows, ROW_BYTES));
    f.countDown(lanes, 1, () => {
      copy(1, (at, [p]) => f.store(at, one(p)));
      f.advance(to, 8);
      f.advance(from, laneStep);
    });
  });
}

function writeUnpack(
  { f }: Simd,
  dtype: Dtype,
  [to, from, lanes, rows, laneStep, step, stripStep]: readonly I[],
): void {
  const isWide = dtype === "float64", bytes = isWide ? 8 : 4;
  const put = (p: I, value: Value<"f64">): void => f.store(p, isWide ? value : f32.ofF64(value));
  const copy = (count: number, row: (at: I, targets: readonly I[]) => void): void => {
    const at = f.variable("i32", from), left = f.variable("i32", rows);
    const targets = f.ramp(to, laneStep, count);
    f.countDown(left, 1, () => {
      row(at, targets);
      targets.forEach((p) => f.advance(p, step));
      f.advance(at, ROW_BYTES);
    });
  };
  byLanes(f, lanes, () => {
    f.if(i32.eq(laneStep, bytes), () => {
      copy(1, (at, [p]) => {
        const [low, high] = [0, 16].map((h) => f.let(f64x2.load(at, h)));
        if (isWide) [low, high].forEach((half, i) => f.store(p, half, 16 * i));
        else f.store(p, f32x4.shuffle(f32x4.ofF64(low), f32x4.ofF64(high), [0, 1, 4, 5]));
      });
    }, () => copy(WIDTH, (at, all) => all.forEach((p, l) => put(p, f64.load(at, 8 * l)))));
    f.advance(from, stripStep);
    f.advance(to, i32.mul(laneStep, WIDTH));
  }, () => {
    f.countDown(lanes, 1, () => {
      copy(1, (at, [p]) => put(p, f64.load(at)));
      f.advance(from, 8);
      f.advance(to, laneStep);
    });
  });
}
