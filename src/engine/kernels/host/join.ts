/**
 * Joining and splitting along an axis on the host: every tensor is seen as rows, of which each part holds a run of elements.
 */
import type { RowParts } from "../../core/meaning.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { type Shape, sizeOf } from "../../core/shape.ts";
import { wordsOf } from "./fill.ts";

/**
 * Describes the rows of parts that meet along an axis: part k has extent `extents[k]` there, and `inner` elements
 * beyond.
 */
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

/** Calls `copy` for each run of words of a part, with its offsets in the part and in the whole. */
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
