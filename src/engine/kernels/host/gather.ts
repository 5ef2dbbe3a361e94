/** Gathers of rows on the host, any dtype. */
import type { RowLayout } from "../../core/meaning.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { wordsOf } from "./fill.ts";
import { rowsOf } from "../copy/gather_layout.ts";

/** Copies the rows that `indices` name. Throws `InvalidArgumentError` for an index out of range. */
export function gatherCpu(table: NdArray, indices: NdArray, layout: RowLayout, out: NdArray): void {
  const source = wordsOf(table.data, table.dtype), target = wordsOf(out.data, out.dtype).words;
  const { batch, outer, count } = layout;
  const width = layout.inner * source.slots;
  if (width === 0 || batch * outer * count === 0) return;
  const rows = rowsOf(indices, layout, "none");
  const extent = layout.dims.reduce((n, d) => n * d, 1);
  const long = width > 32 && !Array.isArray(source.words);
  let at = 0;
  for (let b = 0; b < batch; b++) {
    for (let o = 0; o < outer; o++) {
      const base = (b * outer + o) * extent;
      for (let j = 0; j < count; j++, at += width) {
        const from = (base + rows[b * count + j]) * width;
        if (long) target.set(source.words.subarray(from, from + width), at);
        else for (let i = 0; i < width; i++) target[at + i] = source.words[from + i];
      }
    }
  }
}
