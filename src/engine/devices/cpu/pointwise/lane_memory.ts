/** Elements between memory and lanes: numbers by fours, float16 as float32, booleans as bytes. */
import { type DType, DTYPES } from "../../../core/dtype.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { halfBits, ofHalves } from "../wasm/half_lanes.ts";
import { f32x4, i16x8, i32, i32x4, i8x16 } from "../wasm/instructions.ts";
import { storePart as storeLanes } from "../wasm/store_part.ts";
import type { Value } from "../wasm/value.ts";
import type { Lanes } from "./lane_printer.ts";

/** Loads one element into all lanes. */
export function loadSplat(f: FunctionBuilder, dtype: DType, p: Value<"i32">): Lanes {
  if (dtype === "float32") return f.let(f32x4.loadSplat(p));
  if (dtype === "float16") return f.let(ofHalves(f, i32x4.splat(i32.load16s(p))));
  if (dtype === "int8") return f.let(i32x4.splat(i32.load8s(p)));
  if (dtype === "uint8") return f.let(i32x4.splat(i32.load8u(p)));
  if (dtype !== "bool") return f.let(i32x4.loadSplat(p));
  return f.let(i32x4.ne(i32x4.splat(i32.load8u(p)), 0));
}

/** Loads `unroll` vectors from `p` on. Sixteen booleans are one load. */
export function loadGroup(
  f: FunctionBuilder,
  dtype: DType,
  p: Value<"i32">,
  unroll: number,
): Lanes[] {
  const each = Array.from({ length: unroll }, (_, u) => u);
  if (dtype === "float32") return each.map((u) => f.let(f32x4.load(p, 16 * u)));
  if (dtype === "float16") {
    return each.map((u) => f.let(ofHalves(f, i32x4.loadHalves(p, 8 * u))));
  }
  if (DTYPES[dtype].bytes > 1) return each.map((u) => f.let(i32x4.load(p, 16 * u)));
  const lanes = dtype === "int8" ? signedBytes(f, p, unroll) : unsignedBytes(f, p, unroll);
  if (dtype !== "bool") return lanes.map((x) => f.let(x));
  const zero = f.constant("i32x4", 0);
  return lanes.map((x) => f.let(i32x4.ne(x, zero)));
}

/** Widens bytes, sixteen of them at once. */
function unsignedBytes(f: FunctionBuilder, p: Value<"i32">, unroll: number): Value<"i32x4">[] {
  if (unroll === 4) {
    const bytes = f.let(i8x16.load(p));
    return [i16x8.ofLowU8(bytes), i16x8.ofHighU8(bytes)].map((half) => f.let(half))
      .flatMap((half) => [i32x4.ofLowU16(half), i32x4.ofHighU16(half)]);
  }
  return Array.from(
    { length: unroll },
    (_, u) => i32x4.ofLowU16(i16x8.ofLowU8(i8x16.loadFour(p, 4 * u))),
  );
}

/** Widens bytes with their signs. */
function signedBytes(f: FunctionBuilder, p: Value<"i32">, unroll: number): Value<"i32x4">[] {
  return unsignedBytes(f, p, unroll).map((x) => i32x4.shr(i32x4.shl(x, 24), 24));
}

/** Converts masks to bytes of 0 and 1, and whole numbers to their lowest bytes. */
function bytesOf(f: FunctionBuilder, dtype: DType, lanes: readonly Lanes[]): Value<"i8x16"> {
  const vectors = [0, 1, 2, 3].map((i) => i32x4.ofBits(lanes[i % lanes.length]));
  if (dtype !== "bool") {
    const low = f.constant("i32x4", 255);
    const [a, b, c, d] = vectors.map((v) => i32x4.and(v, low));
    return i8x16.narrowU(i16x8.narrow(a, b), i16x8.narrow(c, d));
  }
  const [a, b, c, d] = vectors;
  return i8x16.and(i8x16.narrow(i16x8.narrow(a, b), i16x8.narrow(c, d)), f.constant("i8x16", 1));
}

/** Converts vectors of float32 to eight halves, the second vector above the first. */
function halves(f: FunctionBuilder, low: Lanes, high: Lanes): Value<"i16x8"> {
  const bits = halfBits(f, f32x4.ofBits(low));
  return i16x8.narrowU(bits, high === low ? bits : halfBits(f, f32x4.ofBits(high)));
}

export function storeGroup(
  f: FunctionBuilder,
  dtype: DType,
  p: Value<"i32">,
  values: readonly Lanes[],
): void {
  if (dtype === "float16") {
    for (let u = 0; u < values.length; u += 2) {
      if (u + 1 < values.length) f.store(p, halves(f, values[u], values[u + 1]), 8 * u);
      else f.storeLane(p, halves(f, values[u], values[u]), 8, 0, 8 * u);
    }
  } else if (DTYPES[dtype].bytes > 1) values.forEach((v, u) => f.store(p, v, 16 * u));
  else if (values.length === 4) f.store(p, bytesOf(f, dtype, values));
  else values.forEach((v, u) => f.storeLane(p, bytesOf(f, dtype, [v]), 4, 0, 4 * u));
}

/** Stores the first one to three lanes and moves `p` past them. */
export function storePart(
  f: FunctionBuilder,
  dtype: DType,
  p: Local<"i32">,
  value: Lanes,
  count: Value<"i32">,
): void {
  if (DTYPES[dtype].bytes < 4) {
    const size = DTYPES[dtype].bytes as 1 | 2;
    const lanes = f.let<"i8x16" | "i16x8">(
      dtype === "float16" ? halves(f, value, value) : bytesOf(f, dtype, [value]),
    );
    f.storeLane(p, lanes, size, 0);
    f.if(i32.gt(count, 1), () => f.storeLane(p, lanes, size, 1, size));
    f.if(i32.gt(count, 2), () => f.storeLane(p, lanes, size, 2, 2 * size));
    f.advance(p, i32.mul(count, size));
    return;
  }
  storeLanes(f, p, f32x4.ofBits(value), count);
  f.advance(p, i32.shl(count, 2));
}
