/** Layouts of row indices, shared by gathers and scatters. */
import { isBigInt } from "../../core/dtype.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import type { RowLayout } from "../../core/meaning.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { Problem } from "../../core/op.ts";
import { type Shape, sizeOf } from "../../core/shape.ts";

export function axisLayout(
  table: Shape,
  indices: Shape,
  axis: number,
  batchDims: number,
): RowLayout {
  return {
    batch: sizeOf(table.slice(0, batchDims)),
    outer: sizeOf(table.slice(batchDims, axis)),
    dims: [table[axis]],
    inner: sizeOf(table.slice(axis + 1)),
    count: sizeOf(indices.slice(batchDims)),
  };
}

/** Makes the layout where the last axis of `indices` runs through the leading axes of the table. */
export function vectorLayout(table: Shape, indices: Shape): RowLayout {
  const depth = indices[indices.length - 1];
  return {
    batch: 1,
    outer: 1,
    dims: table.slice(0, depth),
    inner: sizeOf(table.slice(depth)),
    count: sizeOf(indices.slice(0, -1)),
  };
}

/** Layout where a vector of indices, input 0, names rows of the output. */
export function ontoLayout({ inputs: [indices], outputs: [out] }: Problem): RowLayout {
  const [rows, ...row] = out.shape;
  return { batch: 1, outer: 1, dims: [rows], inner: sizeOf(row), count: sizeOf(indices.shape) };
}

/**
 * Returns the rows that the indices name, -1 for those out of range that `skip` allows. Throws `InvalidArgumentError`
 * for others.
 */
export function rowsOf(
  indices: NdArray,
  { dims }: RowLayout,
  skip: "none" | "negative",
): Int32Array {
  const depth = dims.length;
  if (depth === 0) return new Int32Array(sizeOf(indices.shape.slice(0, -1)));
  const rows = new Int32Array(indices.data.length / depth);
  const data = isBigInt(indices.dtype)
    ? Float64Array.from(indices.data as unknown as ArrayLike<bigint>, Number)
    : indices.data as Int32Array;
  for (let j = 0, i = 0; j < rows.length; j++, i += depth) {
    let row = 0;
    for (let k = 0; k < depth; k++) {
      const v = data[i + k], extent = dims[k];
      if (v < 0 && skip === "negative") {
        row = -1;
        break;
      }
      if (v < 0 || v >= extent) throw outOfRange(indices, j, { dims });
      row = row * extent + v;
    }
    rows[j] = row;
  }
  return rows;
}

/** Makes the error of index vector `j`, which names no row. */
export function outOfRange(
  indices: NdArray,
  j: number,
  { dims }: Pick<RowLayout, "dims">,
): InvalidArgumentError {
  const depth = dims.length;
  const vector = Array.from(
    { length: depth },
    (_, k) => Number((indices.data as Int32Array)[j * depth + k]),
  );
  if (depth === 1) {
    return new InvalidArgumentError(`indices[${j}] = ${vector[0]} is not in [0, ${dims[0]})`);
  }
  return new InvalidArgumentError(
    `indices[${j}] = [${vector.join(", ")}] does not index into shape [${dims.join(",")}]`,
  );
}
