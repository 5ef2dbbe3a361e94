/**
 * Filling with one value on both devices, and how copies see elements: as words whose meaning does not matter.
 */
import { type DType, DTYPES, type HostData, isBigInt } from "../../core/dtype.ts";
import {
  f32Bits,
  flatId,
  type GpuPlan,
  makeProgram,
  type Profile,
  type Program,
  type ProgramInit,
} from "../../core/dispatch.ts";
import { gpuBytes, wordType } from "../../core/gpu_storage.ts";
import { type NdArray, setElement } from "../../core/nd_array.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { sizeOf } from "../../core/shape.ts";
import { planPieces } from "./pieces.ts";

/** A program of invocations that each make element `i` of `p.n`. */
export function streamProgram(init: Omit<ProgramInit, "workgroup">): Program {
  return makeProgram({
    ...init,
    params: ["n", ...init.params ?? []],
    workgroup: [256, 1, 1],
    body: `let i = ${flatId(256)};\nif (i >= p.n) { return; }\n${init.body}`,
  });
}

/** The parameter word of a value of this dtype; float16 travels as float32. */
export function valueWord(value: number, dtype: DType): number {
  switch (DTYPES[dtype].kind) {
    case "float":
      return f32Bits(value);
    case "bool":
      return value ? 1 : 0;
  }
  return value >>> 0;
}

/** WGSL that turns the parameter word `text` into a word of this type. */
export function wordOfParam(word: string, text: string): string {
  return word === "f16" ? `f16(bitcast<f32>(${text}))` : text;
}

/** Fills the output with a value known now (`value`), or with the element in input `from`. */
export function fillGpu(
  out: ConcreteSpec,
  profile: Profile,
  source: { readonly value: number } | { readonly from: number },
): GpuPlan {
  const size = sizeOf(out.shape), wide = size % 4 === 0;
  const word = wordType(out.dtype), literal = "value" in source;
  const value = literal ? wordOfParam(word, "p.value") : "in0[0]";
  const program = streamProgram({
    name: "fill",
    inputs: literal ? [] : [word],
    outputs: [wide ? `vec4<${word}>` : word],
    params: literal ? ["value"] : [],
    body: `out0[i] = ${wide ? `vec4<${word}>(${value})` : value};`,
  });
  return planPieces(program, [size, gpuBytes(out.dtype)], profile, ({ count, range }) => ({
    buffers: [...(literal ? [] : [{ input: source.from }]), { output: 0, ...range }],
    params: [wide ? count / 4 : count, ...(literal ? [valueWord(source.value, out.dtype)] : [])],
  }));
}

/** Fills `out` with the only element of `value`. */
export function fillCpu(out: NdArray, value: NdArray): void {
  const slots = DTYPES[out.dtype].slots;
  if (slots === 1) {
    (out.data as unknown[]).fill((value.data as unknown[])[0]);
    return;
  }
  const to = out.data as unknown as number[], from = value.data as unknown as number[];
  for (let i = 0; i < to.length; i++) to[i] = from[i % slots];
}

/** Fills `out` with a number, in whatever dtype it has; strings become empty for 0 and "1" for 1. */
export function fillNumber(out: NdArray, value: number): void {
  if (out.size === 0) return;
  const { kind } = DTYPES[out.dtype], data = out.data as unknown[];
  if (kind === "string") data[0] = new TextEncoder().encode(value === 0 ? "" : String(value));
  else if (kind === "handle") data[0] = null;
  else setElement(out, 0, isBigInt(out.dtype) ? BigInt(value) : value);
  fillCpu(out, out);
}

/** A typed array of words over the same memory, and how many make one element; arrays of objects stay as they are. */
export function wordsOf(data: HostData, dtype: DType): { words: Int32Array; slots: number } {
  const bytes = DTYPES[dtype].bytes;
  if (bytes === 0 || Array.isArray(data)) return { words: data as unknown as Int32Array, slots: 1 };
  const d = data as Float32Array;
  if (bytes >= 4) {
    return { words: new Int32Array(d.buffer, d.byteOffset, d.byteLength / 4), slots: bytes / 4 };
  }
  const words = bytes === 2
    ? new Int16Array(d.buffer, d.byteOffset, d.length)
    : new Uint8Array(d.buffer, d.byteOffset, d.length);
  return { words: words as unknown as Int32Array, slots: 1 };
}
