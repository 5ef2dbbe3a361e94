/** Chunks of HDF5 arrays: their filters, their places. */
import { inflateZlib } from "../../library/io/inflate.ts";
import { damaged } from "./hdf5_types.ts";

/** Filters by the numbers of the format. */
export const DEFLATE = 1, SHUFFLE = 2, FLETCHER = 3;

/** Undoes the filters of a chunk. */
export function unfiltered(
  packed: Uint8Array,
  wanted: number,
  size: number,
  filters: readonly number[],
  skipped: number,
): Uint8Array {
  let data = packed;
  for (let i = filters.length - 1; i >= 0; i--) {
    if (skipped >> i & 1) continue;
    if (filters[i] === DEFLATE) {
      const checked = filters.slice(0, i).filter((id) => id === FLETCHER).length;
      data = inflateZlib(data, wanted + 4 * checked);
    } else if (filters[i] === FLETCHER) data = data.subarray(0, Math.max(0, data.length - 4));
    else {
      const count = Math.floor(data.length / size), plain = new Uint8Array(data.length);
      for (let b = 0; b < size; b++) {
        for (let e = 0; e < count; e++) plain[e * size + b] = data[b * count + e];
      }
      data = plain;
    }
  }
  if (data.length !== wanted) throw damaged(`a chunk has ${data.length} bytes, wanted ${wanted}`);
  return data;
}

/** Copies a chunk to its place, row by row; what lies beyond the array's end is left out. */
export function place(
  out: Uint8Array,
  data: Uint8Array,
  { shape, chunk, origin, size }: {
    readonly shape: readonly number[];
    readonly chunk: readonly number[];
    readonly origin: readonly number[];
    readonly size: number;
  },
): void {
  if (origin.some((o, i) => o >= shape[i])) return;
  const kept = chunk.map((n, i) => Math.min(n, shape[i] - origin[i]));
  const rank = shape.length, row = kept[rank - 1] * size;
  const rows = kept.slice(0, -1).reduce((a, b) => a * b, 1);
  const index = new Array<number>(rank - 1).fill(0);
  for (let r = 0; r < rows; r++) {
    let from = 0, to = 0;
    for (let i = 0; i < rank; i++) {
      from = from * chunk[i] + (index[i] ?? 0);
      to = to * shape[i] + (index[i] ?? 0) + origin[i];
    }
    out.set(data.subarray(from * size, from * size + row), to * size);
    for (let i = rank - 2; i >= 0 && ++index[i] === kept[i]; i--) index[i] = 0;
  }
}
