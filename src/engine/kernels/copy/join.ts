/**
 * Joining and splitting along an axis: every tensor is seen as rows, of which each part holds a run of elements.
 */
import type { BufferRef, Dispatch, GpuPlan, Profile, Program } from "../../core/dispatch.ts";
import { vec, wordType } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { RowParts } from "../../core/meaning.ts";
import { type Shape, sizeOf } from "../../core/shape.ts";
import { flatDispatch } from "../dispatches.ts";
import { streamProgram, wordsOf } from "./fill.ts";

/** The rows of parts that meet along an axis: part k has extent `extents[k]` there, and `inner` elements beyond. */
export function rowParts(shape: Shape, axis: number, extents: readonly number[]): RowParts {
  const inner = sizeOf(shape.slice(axis + 1));
  return { rows: sizeOf(shape.slice(0, axis)), widths: extents.map((e) => e * inner) };
}

/** Copies the parts into the rows of `whole`. */
export function joinCpu(parts: readonly NdArray[], whole: NdArray, layout: RowParts): void {
  const { words: to } = wordsOf(whole.data, whole.dtype);
  eachRun(parts, layout, (part, begin, at, width) => copyRun(part, begin, to, at, width));
}

/** Copies the rows of `whole` into the parts. */
export function splitCpu(whole: NdArray, parts: readonly NdArray[], layout: RowParts): void {
  const { words: from } = wordsOf(whole.data, whole.dtype);
  eachRun(parts, layout, (part, begin, at, width) => copyRun(from, at, part, begin, width));
}

/** Calls `copy` for each run of words of a part: where it begins in the part, and where in the whole. */
function eachRun(
  parts: readonly NdArray[],
  { rows, widths }: RowParts,
  copy: (part: Int32Array, begin: number, at: number, width: number) => void,
): void {
  const runs = parts.map(({ data, dtype }, k) => {
    const { words, slots } = wordsOf(data, dtype);
    return { words, width: widths[k] * slots };
  });
  let at = 0;
  for (let r = 0; r < rows; r++) {
    for (const { words, width } of runs) {
      copy(words, r * width, at, width);
      at += width;
    }
  }
}

function copyRun(
  from: Int32Array,
  begin: number,
  to: Int32Array,
  at: number,
  width: number,
): void {
  if (width > 32 && !Array.isArray(from)) to.set(from.subarray(begin, begin + width), at);
  else for (let i = 0; i < width; i++) to[at + i] = from[begin + i];
}

/** Dispatches that join: as many parts in each as the adapter can bind. */
export function joinGpu(parts: RowParts, dtype: DType, profile: Profile): GpuPlan {
  return plan("join", parts, dtype, profile);
}

/** Dispatches that split input `from`. */
export function splitGpu(parts: RowParts, dtype: DType, profile: Profile, from = 0): GpuPlan {
  return plan("split", parts, dtype, profile, from);
}

function plan(
  way: "join" | "split",
  { rows, widths }: RowParts,
  dtype: DType,
  profile: Profile,
  from = 0,
): GpuPlan {
  const unit = widths.every((w) => w % 4 === 0) ? 4 : 1, type = vec(wordType(dtype), unit);
  const total = widths.reduce((n, w) => n + w, 0) / unit;
  const starts: number[] = [];
  widths.reduce((at, w) => (starts.push(at / unit), at + w), 0);
  const used = widths.flatMap((w, k) => (w > 0 && rows > 0 ? [k] : []));
  const room = Math.min(profile.maxBuffers, 8) - 1;
  const dispatches: Dispatch[] = [];
  for (let i = 0; i < used.length; i += room) {
    const chunk = used.slice(i, i + room);
    const start = starts[chunk[0]];
    const sizes = chunk.map((k) => widths[k] / unit);
    const width = sizes.reduce((n, w) => n + w, 0);
    const ends = chunk.map((_, c) => sizes.slice(0, c + 1).reduce((a, b) => a + b, 0));
    const buffers: BufferRef[] = way === "join"
      ? [...chunk.map((input) => ({ input })), { output: 0 }]
      : [{ input: from }, ...chunk.map((output) => ({ output }))];
    dispatches.push(flatDispatch({
      program: joinProgram(way, chunk.length, type),
      buffers,
      params: [rows * width, width, total, start, ...sizes, ...ends],
    }, profile));
  }
  return { dispatches };
}

function joinProgram(way: "join" | "split", parts: number, type: string): Program {
  const list = Array.from({ length: parts }, (_, k) => k);
  const at = (k: number): string => `row * p.w${k} + j${k === 0 ? "" : ` - p.e${k - 1}`}`;
  const branches = list.map((k) => {
    const then = way === "join" ? `v = in${k}[${at(k)}];` : `out${k}[${at(k)}] = v;`;
    return k === parts - 1 ? `{ ${then} }` : `if (j < p.e${k}) { ${then} }`;
  }).join(" else ");
  const place = "row * p.total + p.start + j";
  return streamProgram({
    name: way,
    inputs: way === "join" ? list.map(() => type) : [type],
    outputs: way === "join" ? [type] : list.map(() => type),
    params: [
      ...["width", "total", "start"],
      ...list.map((k) => `w${k}`),
      ...list.map((k) => `e${k}`),
    ],
    body: `let row = i / p.width;
let j = i - row * p.width;
${
      way === "join"
        ? `var v: ${type};\n${branches}\nout0[${place}] = v;`
        : `let v = in0[${place}];\n${branches}`
    }`,
  });
}
