/** The copy kernel of the host: a contiguous output gathered from an input by a CopyMap, any dtype. */
import type { AxisMap, CopyMap } from "../../core/meaning.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { inWords, mergeAxes, stepOf } from "../copy/map.ts";
import { wordsOf } from "./fill.ts";

/** Side of the square blocks in which transposes run. */
const BLOCK = 16;

/** Runs the copy; places without a source get `fill`, or zero. */
export function copyCpu(map: CopyMap, from: NdArray, to: NdArray, fill?: NdArray): void {
  const source = wordsOf(from.data, from.dtype), target = wordsOf(to.data, to.dtype);
  const { axes, base } = mergeAxes(inWords(mergeAxes(map), source.slots));
  if (axes.some((a) => a.dim === 0)) return;
  if (axes.some((a) => a.rule === "window")) fillWords(target.words, source.slots, to, fill);
  copyWords(axes, base, source.words, target.words);
}

function fillWords(words: Int32Array, slots: number, to: NdArray, fill: NdArray | undefined): void {
  if (fill) {
    const value = wordsOf(fill.data, fill.dtype).words;
    for (let i = 0; i < words.length; i++) words[i] = value[i % slots];
  } else if (to.dtype !== "string" && to.dtype !== "resource" && to.dtype !== "variant") {
    words.fill(0);
  }
}

function copyWords(axes: readonly AxisMap[], base: number, from: Int32Array, to: Int32Array): void {
  const last = axes.length - 1;
  const { dim, stride, rule } = axes[last];
  const sizes = new Array<number>(axes.length);
  for (let d = last, n = 1; d >= 0; d--) {
    sizes[d] = n;
    n *= axes[d].dim;
  }
  const table = rule !== "plain"
    ? Int32Array.from({ length: dim }, (_, c) => stepOf(axes[last], c))
    : null;
  const row = (o: number, place: number): void => {
    if (table) {
      for (let c = 0; c < dim; c++) {
        const t = table[c];
        if (t >= 0) to[o + c] = from[place + t * stride];
      }
    } else if (stride === 1 && dim > 32 && !Array.isArray(from)) {
      to.set(from.subarray(place, place + dim), o);
    } else for (let c = 0, s = place; c < dim; c++, s += stride) to[o + c] = from[s];
  };
  const walk = (d: number, o: number, place: number): void => {
    if (d === last) return row(o, place);
    const axis = axes[d];
    if (
      d === last - 1 && axis.rule === "plain" && !table && axis.stride === 1 && stride !== 1 &&
      dim >= BLOCK
    ) {
      return transposeBlocks(axis.dim, dim, stride, from, place, to, o);
    }
    for (let c = 0; c < axis.dim; c++) {
      const t = axis.rule !== "plain" ? stepOf(axis, c) : c;
      if (t >= 0) walk(d + 1, o + c * sizes[d], place + t * axis.stride);
    }
  };
  walk(0, 0, base);
}

/** `to[r][c] = from[r + c * stride]`, in blocks that stay in the cache. */
function transposeBlocks(
  rows: number,
  columns: number,
  stride: number,
  from: Int32Array,
  place: number,
  to: Int32Array,
  o: number,
): void {
  for (let r0 = 0; r0 < rows; r0 += BLOCK) {
    const r1 = Math.min(rows, r0 + BLOCK);
    for (let c0 = 0; c0 < columns; c0 += BLOCK) {
      const c1 = Math.min(columns, c0 + BLOCK);
      for (let r = r0; r < r1; r++) {
        const line = o + r * columns;
        for (let c = c0; c < c1; c++) to[line + c] = from[place + r + c * stride];
      }
    }
  }
}
