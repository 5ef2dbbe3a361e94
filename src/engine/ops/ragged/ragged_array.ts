/** Ragged and sparse tensors on the host. */
import { wantList, wantMade } from "../../core/arguments.ts";
import type { NdArray, Nested } from "../../core/nd_array.ts";

/** A ragged tensor on the host: an element of `asNumpyIterator()`. */
export class RaggedArray {
  /** The innermost values. */
  readonly flatValues: NdArray;
  /** Splits of each ragged dimension, outermost first. */
  readonly nestedRowSplits: readonly NdArray[];

  /** Keeps the arrays. */
  constructor(flatValues: NdArray, nestedRowSplits: readonly NdArray[]) {
    wantMade(flatValues, "toArray", {
      arg: "flatValues",
      fn: "new RaggedArray()",
      wanted: "an NdArray",
    });
    wantList(nestedRowSplits, "nestedRowSplits", "new RaggedArray()", "arrays");
    this.flatValues = flatValues;
    this.nestedRowSplits = nestedRowSplits;
  }

  /** Returns the rows as nested lists. */
  toList(): Nested {
    return nestRows(
      this.flatValues.toArray() as readonly Nested[],
      this.nestedRowSplits.map((s) => s.toArray() as number[]),
    );
  }
}

/**
 * A sparse tensor's three arrays on the host: an element of `asNumpyIterator()`. Follows TensorFlow
 * `SparseTensorValue`.
 */
export class SparseArray {
  /** Index of each element, of shape `[elements, rank]`. */
  readonly indices: NdArray;
  /** The elements. */
  readonly values: NdArray;
  /** Shape of the dense tensor. */
  readonly denseShape: NdArray;

  /** Keeps the arrays. */
  constructor(indices: NdArray, values: NdArray, denseShape: NdArray) {
    for (const [arg, array] of Object.entries({ indices, values, denseShape })) {
      wantMade(array, "toArray", { arg, fn: "new SparseArray()", wanted: "an NdArray" });
    }
    this.indices = indices;
    this.values = values;
    this.denseShape = denseShape;
  }
}

/** Returns rows of values, nested by the splits. */
export function nestRows(
  values: readonly Nested[],
  splits: readonly (readonly number[])[],
): Nested {
  return splits.reduceRight<readonly Nested[]>(
    (rows, ends) => ends.slice(1).map((end, i) => rows.slice(ends[i], end)),
    values,
  );
}
