/** ParseExampleV2: converts records to tensors, on the host. */
import { type DType, DTYPES, makeData } from "../../core/dtype.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { isConcrete, type PartialShape, sameShape, shapeText, sizeOf } from "../../core/shape.ts";
import { decodeString } from "../../core/text.ts";
import { type FeatureColumn, scanExamples } from "../../kernels/host/text/example_message.ts";
import { refuse, textsOf, wholeArray } from "./arrays.ts";

export { type Feature, writeExample } from "../../kernels/host/text/example_message.ts";

/** A requested feature of all records. */
interface Column {
  readonly key: string;
  readonly dtype: DType;
  /** The feature's values in the records. */
  readonly found: FeatureColumn;
  /** Leading dimensions: the number of records, none for a single one. */
  readonly batch: readonly number[];
  /** Names of the records. */
  readonly names: readonly string[];
}

/** Names a record with TensorFlow's words. A single one has no name. */
function nameText({ batch, names }: Pick<Column, "batch" | "names">, row: number): string {
  return batch.length === 0 ? "" : `Name: ${names[row] ?? "<unknown>"}, `;
}
function placeText(column: Pick<Column, "batch" | "names" | "key">, row: number): string {
  const index = column.batch.length === 0 ? "" : `, Index: ${row}`;
  return `${nameText(column, row)}Key: ${column.key}${index}.`;
}

const isSingle = ({ batch }: Column): boolean => batch.length === 0;
const rowCount = ({ found }: Column): number => found.counts.length;
const most = ({ found }: Column): number => found.counts.reduce((a, b) => Math.max(a, b), 0);

/** Throws `InvalidArgumentError` for a record whose feature has another dtype. */
function checkDType(column: Column, isDense: boolean): void {
  const { dtype, found } = column;
  for (let r = 0; r < rowCount(column); r++) {
    const kind = found.kindOf(r);
    if (kind === null || kind === dtype) continue;
    const wanted = DTYPES[dtype].tfName, given = DTYPES[kind].tfName;
    refuse(
      `${placeText(column, r)}  Data types don't match. ${
        isDense
          ? `Data type: ${given} but expected type: ${wanted}`
          : `Expected type: ${wanted}, Actual type: ${given}`
      }`,
    );
  }
}

/** Returns all values of a feature, row by row. */
function joined({ dtype, found }: Column): NdArray {
  const size = found.counts.reduce((a, b) => a + b, 0), out = makeData(dtype, size);
  found.copyTo(out);
  return new NdArray(dtype, [size], out);
}

/** Returns coordinates, values and shape of a sparse feature. */
function sparseFeature(column: Column): NdArray[] {
  const at: number[] = [];
  column.found.counts.forEach((count, r) => {
    for (let k = 0; k < count; k++) isSingle(column) ? at.push(k) : at.push(r, k);
  });
  const values = joined(column), { batch } = column;
  return [
    wholeArray("int64", at, [values.size, batch.length + 1]),
    values,
    wholeArray("int64", [...batch, most(column)]),
  ];
}

/** Returns values and splits of a ragged feature; a single record has none. */
function raggedFeature(column: Column, splitsDtype: "int32" | "int64"): NdArray[] {
  const splits = new Int32Array(isSingle(column) ? 0 : rowCount(column) + 1);
  for (let r = 1; r < splits.length; r++) splits[r] = splits[r - 1] + column.found.counts[r - 1];
  return [joined(column), wholeArray(splitsDtype, splits)];
}

/** Returns a dense feature of known shape. Records without it have `fallback`. */
function fixedFeature(column: Column, shape: readonly number[], fallback: NdArray): NdArray {
  const { key, dtype, found, batch } = column, size = sizeOf(shape), n = rowCount(column);
  const out = makeData(dtype, n * size);
  for (let r = 0; r < n; r++) {
    const isAbsent = found.kindOf(r) === null;
    if (isAbsent && fallback.size !== size) {
      refuse(
        `${nameText(column, r)}Feature: ${key} (data type: ${
          DTYPES[dtype].tfName
        }) is required but could not be found.`,
      );
    }
    if (isAbsent) { for (let i = 0; i < size; i++) out[r * size + i] = fallback.data[i]; }
    else if (found.counts[r] !== size) {
      refuseCount(
        column,
        r,
        `!= expected.  Values size: ${found.counts[r]} but output shape: ${shapeText(shape)}`,
      );
    }
  }
  found.copyTo(out, size);
  return new NdArray(dtype, [...batch, ...shape], out);
}

/** Returns a dense feature of any number of equal parts, padded to the longest with `fallback`. */
function sequenceFeature(column: Column, part: readonly number[], fallback: NdArray): NdArray {
  const { dtype, batch, found: { counts } } = column, stride = sizeOf(part);
  const wrong = counts.findIndex((count) => count % stride !== 0);
  if (wrong >= 0) {
    const shown = shapeText([null, ...part]);
    refuseCount(
      column,
      wrong,
      `is not a multiple of stride length. Saw ${
        counts[wrong]
      } values but output shape is: ${shown}`,
    );
  }
  const size = most(column), out = makeData(dtype, counts.length * size);
  if (fallback.size > 0) (out as unknown[]).fill(fallback.data[0]);
  column.found.copyTo(out, size);
  return new NdArray(dtype, [...batch, size / stride, ...part], out);
}

function refuseCount(column: Column, row: number, how: string): never {
  const { tfName } = DTYPES[column.dtype], what = tfName === "string" ? "bytes" : tfName;
  refuse(`${placeText(column, row)}  Number of ${what} values ${how}`);
}

/** TensorFlow op `ParseExampleV2`: sparse, dense and ragged features of records. */
export const ParseExampleV2: OpDef = defineOp({
  name: "ParseExampleV2",
  inputs: [
    "serialized: string",
    "names: string",
    "sparse_keys: string",
    "dense_keys: string",
    "ragged_keys: string",
    "dense_defaults: Tdense",
  ],
  outputs: [
    "sparse_indices: num_sparse * int64",
    "sparse_values: sparse_types",
    "sparse_shapes: num_sparse * int64",
    "dense_values: Tdense",
    "ragged_values: ragged_value_types",
    "ragged_row_splits: ragged_split_types",
  ],
  attrs: [
    "Tdense: list(type)",
    "num_sparse: int >= 0",
    "sparse_types: list(type)",
    "ragged_value_types: list(type)",
    "ragged_split_types: list(type)",
    "dense_shapes: list(shape)",
  ],
  infer: ([serialized], attrs) => {
    const batch = serialized.shape;
    const rank = batch === null ? null : batch.length + 1;
    const times = (list: readonly DType[], shape: PartialShape) => list.map(() => shape);
    const { sparse_types: sparse, ragged_value_types: ragged } = attrs;
    const dense = attrs.dense_shapes as readonly PartialShape[];
    return [
      ...times(sparse, [null, rank]),
      ...times(sparse, [null]),
      ...times(sparse, [rank]),
      ...dense.map((s) => (batch === null || s === null ? null : [...batch, ...s])),
      ...times(ragged, [null]),
      ...times(ragged, [null]),
    ];
  },
  grad: null,
  cpu: ([serialized, names, sparseKeys, denseKeys, raggedKeys, ...defaults], _, { attrs }) => {
    if (serialized.rank > 1) {
      refuse(`Expected serialized to be a scalar or vector, got shape: [${serialized.shape}]`);
    }
    const batch = serialized.shape,
      texts = (a: NdArray) => textsOf(a).map(decodeString);
    const labels = texts(names);
    if (labels.length > 0 && !sameShape(names.shape, batch)) {
      refuse(
        `Expected names have the same shape as serialized: name.shape=${
          shapeText(names.shape)
        }, serialized.shape=${shapeText(batch)}`,
      );
    }
    const keys = [sparseKeys, denseKeys, raggedKeys].map(texts);
    const found = scanExamples(textsOf(serialized), keys.flat());
    const columns = (k: number, dtypes: readonly DType[]): Column[] => {
      const shared = { batch, names: labels };
      const list = keys[k].map((key, i) => ({
        key,
        dtype: dtypes[i],
        found: found.get(key)!,
        ...shared,
      }));
      for (const column of list) checkDType(column, k === 1);
      return list;
    };
    const sparse = columns(0, attrs.sparse_types as readonly DType[]).map(sparseFeature);
    const dense = columns(1, attrs.Tdense as readonly DType[]).map((column, k) => {
      const shape = attrs.dense_shapes[k] as PartialShape;
      if (shape === null) refuse(`Feature ${column.key} has no shape`);
      return isConcrete(shape)
        ? fixedFeature(column, shape, defaults[k])
        : sequenceFeature(column, shape.slice(1) as number[], defaults[k]);
    });
    const splits = attrs.ragged_split_types as readonly ("int32" | "int64")[];
    const ragged = columns(2, attrs.ragged_value_types as readonly DType[])
      .map((column, k) => raggedFeature(column, splits[k]));
    return [
      ...sparse.map(([indices]) => indices),
      ...sparse.map(([, values]) => values),
      ...sparse.map(([, , shape]) => shape),
      ...dense,
      ...ragged.map(([values]) => values),
      ...ragged.map(([, splits]) => splits),
    ];
  },
});
