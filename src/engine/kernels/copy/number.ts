/**
 * Numbered elements: ranges, evenly spaced numbers, one-hot rows; on both devices.
 */
import { type DType, isBigInt } from "../../core/dtype.ts";
import { f32Bits, type GpuPlan, type Profile } from "../../core/dispatch.ts";
import { accType, wgslType, wordType } from "../../core/gpu_storage.ts";
import { type ElementValue, type NdArray, setElement } from "../../core/nd_array.ts";
import { type Shape, sizeOf } from "../../core/shape.ts";
import { flatPlan } from "../dispatches.ts";
import type { Line } from "../reduce/layout.ts";
import { fillCpu, streamProgram, valueWord, wordOfParam, wordsOf } from "./fill.ts";

/** `start + i * step`; the last element is `last` where that is given. */
export function rampCpu(
  out: NdArray,
  start: ElementValue,
  step: ElementValue,
  last?: number,
): void {
  const n = out.size;
  if (isBigInt(out.dtype)) {
    const data = out.data as BigInt64Array,
      from = BigInt(start as bigint),
      by = BigInt(step as bigint);
    for (let i = 0; i < n; i++) data[i] = from + BigInt(i) * by;
    return;
  }
  for (let i = 0; i < n; i++) setElement(out, i, Number(start) + i * Number(step));
  if (last !== undefined && n > 0) setElement(out, n - 1, last);
}

/** The same on the GPU. */
export function rampGpu(
  size: number,
  dtype: DType,
  start: number,
  step: number,
  profile: Profile,
  last?: number,
): GpuPlan {
  const type = wgslType(dtype);
  const of = accType(dtype), word = of === "f32" ? f32Bits : (v: number): number => v >>> 0;
  const value = `p.start + ${of}(i) * p.step`;
  const end = last !== undefined && size > 1;
  const program = streamProgram({
    name: "ramp",
    inputs: [],
    outputs: [type],
    params: [`start:${of}`, `step:${of}`, `last:${of}`],
    body: `out0[i] = ${type}(${end ? `select(${value}, p.last, i + 1u == p.n)` : value});`,
  });
  return flatPlan({
    program,
    buffers: [{ output: 0 }],
    params: [size, word(start), word(step), word(last ?? 0)],
  }, profile);
}

/** How indices of `shape` become one-hot rows along a new axis, counted from the front. */
export function oneHotLayout(shape: Shape, length: number, axis: number): Line {
  return { outer: sizeOf(shape.slice(0, axis)), length, inner: sizeOf(shape.slice(axis)) };
}

/** The element of `on` where the index is the place along the axis, else that of `off`. */
export function oneHotCpu(
  indices: NdArray,
  on: NdArray,
  off: NdArray,
  { outer, length, inner }: Line,
  out: NdArray,
): void {
  fillCpu(out, off);
  const list = indices.data as unknown as ArrayLike<number | bigint>;
  const { words, slots } = wordsOf(out.data, out.dtype), mark = wordsOf(on.data, on.dtype).words;
  for (let o = 0; o < outer; o++) {
    for (let i = 0; i < inner; i++) {
      const d = Number(list[o * inner + i]);
      if (d < 0 || d >= length) continue;
      const at = ((o * length + d) * inner + i) * slots;
      for (let k = 0; k < slots; k++) words[at + k] = mark[k];
    }
  }
}

/** The same on the GPU, for int32 indices. */
export function oneHotGpu(
  dtype: DType,
  on: number,
  off: number,
  { outer, length, inner }: Line,
  profile: Profile,
): GpuPlan {
  const word = wordType(dtype);
  const program = streamProgram({
    name: "one_hot",
    inputs: ["i32"],
    outputs: [word],
    params: ["depth", "inner", "on", "off"],
    body: `let row = i / p.inner;
let c = i - row * p.inner;
let o = row / p.depth;
let d = row - o * p.depth;
let word = select(p.off, p.on, in0[o * p.inner + c] == i32(d));
out0[i] = ${wordOfParam(word, "word")};`,
  });
  return flatPlan({
    program,
    buffers: [{ input: 0 }, { output: 0 }],
    params: [outer * length * inner, length, inner, valueWord(on, dtype), valueWord(off, dtype)],
  }, profile);
}
