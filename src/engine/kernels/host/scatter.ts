/** Scatters of rows on the host: added, or written over. */
import type { RowLayout } from "../../core/meaning.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { DTYPES } from "../../core/dtype.ts";
import { fillNumber, wordsOf } from "./fill.ts";
import { rowsOf } from "../copy/gather_layout.ts";
import { Accumulator, addable } from "./scatter_accumulate.ts";

/** Treatment of rows that are named repeatedly, and of the initial contents. */
export interface ScatterOptions {
  /** `add` sums, `write` keeps the last. */
  readonly how: "add" | "write";
  /** The initial contents; zeros where absent. */
  readonly start?: NdArray | undefined;
  /** `negative`: rows with a negative index are skipped. */
  readonly skip?: "none" | "negative";
  /** True: the result holds already what it starts with. */
  readonly onto?: boolean;
}

/** Scatters `rows` by `indices`. Throws `InvalidArgumentError` for an index out of range. */
export function scatterCpu(
  rows: NdArray,
  indices: NdArray,
  layout: RowLayout,
  out: NdArray,
  { how, start, skip = "none", onto = start !== undefined }: ScatterOptions,
): void {
  const places = layout.batch * layout.count === 0
    ? new Int32Array(0)
    : rowsOf(indices, layout, skip);
  if (start && !isSameMemory(start, out)) copyAll(start, out);
  if (how === "write") writeRows(rows, places, layout, out);
  else addRows(rows, places, layout, out, onto);
}

function isSameMemory({ data: a }: NdArray, { data: b }: NdArray): boolean {
  if (Array.isArray(a) || Array.isArray(b)) return a === b;
  return (a as Float32Array).buffer === (b as Float32Array).buffer &&
    (a as Float32Array).byteOffset === (b as Float32Array).byteOffset;
}

function copyAll(from: NdArray, to: NdArray): void {
  if (Array.isArray(from.data)) from.data.forEach((v, i) => (to.data as unknown[])[i] = v);
  else (to.data as Float32Array).set(from.data as Float32Array);
}

function eachRow(
  { batch, outer, dims, count }: RowLayout,
  places: Int32Array,
  put: (place: number, row: number) => void,
): void {
  const extent = dims.reduce((n, d) => n * d, 1);
  if (places.length === 0) return;
  for (let b = 0, row = 0; b < batch; b++) {
    for (let o = 0; o < outer; o++) {
      const base = (b * outer + o) * extent;
      for (let j = 0; j < count; j++, row++) {
        const place = places[b * count + j];
        if (place >= 0) put(base + place, row);
      }
    }
  }
}

function writeRows(rows: NdArray, places: Int32Array, layout: RowLayout, out: NdArray): void {
  const source = wordsOf(rows.data, rows.dtype), target = wordsOf(out.data, out.dtype).words;
  const width = layout.inner * source.slots;
  eachRow(layout, places, (place, row) => {
    for (let i = 0; i < width; i++) target[place * width + i] = source.words[row * width + i];
  });
}

/** Joins bools by or, and texts one after the other, from false and empty ones on. */
function joinRows(rows: NdArray, places: Int32Array, layout: RowLayout, out: NdArray): void {
  fillNumber(out, 0);
  const isText = out.dtype === "string", to = out.data as unknown[], { inner } = layout;
  eachRow(layout, places, (place, row) => {
    for (let i = 0; i < inner; i++) {
      const p = place * inner + i, v = (rows.data as unknown[])[row * inner + i];
      to[p] = isText
        ? joined(to[p] as Uint8Array, v as Uint8Array)
        : (to[p] as number) | (v as number);
    }
  });
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  if (a.length === 0) return b;
  const all = new Uint8Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}

function addRows(
  rows: NdArray,
  places: Int32Array,
  layout: RowLayout,
  out: NdArray,
  keep: boolean,
): void {
  const { inner } = layout, { kind } = DTYPES[out.dtype];
  if (kind === "bool" || kind === "string") return joinRows(rows, places, layout, out);
  const sums = new Accumulator(out, keep), values = addable(rows);
  eachRow(layout, places, (place, row) => sums.add(place * inner, values, row * inner, inner));
  sums.finish();
}
