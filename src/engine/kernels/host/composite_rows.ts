/** Rows and batches of ragged and sparse tensors on the host, as their components. */
import { concatRows, putAt, spanOf } from "../../core/arrays/rows.ts";
import { type HostData, makeData } from "../../core/dtype.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { sizeOf } from "../../core/shape.ts";

type Parts = readonly NdArray[];

/** Returns the splits of rows of these lengths. */
function splitsOf(lengths: readonly number[]): NdArray {
  const splits = new Int32Array(lengths.length + 1);
  lengths.forEach((n, i) => splits[i + 1] = splits[i] + n);
  return new NdArray("int32", [splits.length], splits);
}

function lengthsOf(splits: NdArray): number[] {
  const ends = splits.data as Int32Array;
  return Array.from({ length: ends.length - 1 }, (_, i) => ends[i + 1] - ends[i]);
}

/** Converts an array to a ragged tensor of equal rows: its values, then the splits of so many dimensions. */
export function raggedOfArray(array: NdArray, raggedRank: number): NdArray[] {
  const { shape } = array;
  if (raggedRank === 0) return [array];
  const splits = Array.from(
    { length: raggedRank },
    (_, k) => splitsOf(new Array<number>(sizeOf(shape.slice(0, k + 1))).fill(shape[k + 1])),
  );
  const rows = sizeOf(shape.slice(0, raggedRank + 1));
  return [array.reshape([rows, ...shape.slice(raggedRank + 1)]), ...splits];
}

/** Returns the rows of a ragged tensor of values and splits: rows without splits of their own are plain values. */
export function raggedRows([values, outer, ...inner]: Parts): NdArray[][] {
  const ends = outer.data as Int32Array;
  return Array.from({ length: ends.length - 1 }, (_, i) => {
    let from = ends[i], to = ends[i + 1];
    const splits = inner.map((s) => {
      const whole = s.data as Int32Array, part = whole.slice(from, to + 1);
      const begin = part[0];
      [from, to] = [whole[from], whole[to]];
      return new NdArray("int32", [part.length], part.map((end) => end - begin));
    });
    return [spanOf(values, from, to), ...splits];
  });
}

/** Makes a ragged tensor of rows: of tensors, or of ragged tensors of one rank. */
export function raggedOfRows(rows: readonly Parts[]): NdArray[] {
  const [first] = rows;
  const counts = rows.map((r) => r.length === 1 ? r[0].shape[0] : r[1].shape[0] - 1);
  const inner = first.slice(1).map((_, k) => splitsOf(rows.flatMap((r) => lengthsOf(r[k + 1]))));
  return [concatRows(rows.map(([values]) => values)), splitsOf(counts), ...inner];
}

/** Returns the rows of a sparse tensor of indices, values and dense shape, each of one dimension less. */
export function sparseRows([indices, values, denseShape]: Parts): NdArray[][] {
  const dims = Array.from(denseShape.data as ArrayLike<number>, Number), rank = dims.length;
  const at = indices.data as Int32Array;
  const places: number[][] = Array.from({ length: dims[0] }, () => []);
  for (let i = 0; i < values.shape[0]; i++) {
    const row = places[at[i * rank]];
    if (row === undefined) {
      throw new InvalidArgumentError(
        `Received unexpected index ${at[i * rank]} of a sparse tensor with ${dims[0]} rows`,
      );
    }
    row.push(i);
  }
  return places.map((row) => {
    const own = new Int32Array(row.length * (rank - 1));
    const data = makeData(values.dtype, row.length), step = values.data.length / values.shape[0];
    row.forEach((i, k) => {
      own.set(at.subarray(i * rank + 1, (i + 1) * rank), k * (rank - 1));
      putAt(data, values.data.slice(i * step, (i + 1) * step) as HostData, k * step);
    });
    return [
      new NdArray("int32", [row.length, rank - 1], own),
      new NdArray(values.dtype, [row.length], data),
      new NdArray("int32", [rank - 1], Int32Array.from(dims.slice(1))),
    ];
  });
}

/** Makes a sparse tensor of rows, as large as the largest of them. Throws `InvalidArgumentError` where ranks differ. */
export function sparseOfRows(rows: readonly Parts[]): NdArray[] {
  const rank = rows[0][2].shape[0];
  const other = rows.find(([, , dims]) => dims.shape[0] !== rank);
  if (other) {
    throw new InvalidArgumentError(
      `Inconsistent rank across SparseTensors: rank ${rank} is followed by ${other[2].shape[0]}`,
    );
  }
  const indices = new Int32Array(
    rows.reduce((n, [, { shape }]) => n + shape[0], 0) * (rank + 1),
  );
  const dims = new Int32Array(rank + 1);
  dims[0] = rows.length;
  let to = 0;
  rows.forEach(([at, { shape: [count] }, own], row) => {
    for (let d = 0; d < rank; d++) dims[d + 1] = Math.max(dims[d + 1], Number(own.data[d]));
    for (let i = 0; i < count; i++, to += rank + 1) {
      indices[to] = row;
      indices.set((at.data as Int32Array).subarray(i * rank, (i + 1) * rank), to + 1);
    }
  });
  const values = concatRows(rows.map(([, v]) => v));
  return [
    new NdArray("int32", [values.shape[0], rank + 1], indices),
    values,
    new NdArray("int32", [rank + 1], dims),
  ];
}
