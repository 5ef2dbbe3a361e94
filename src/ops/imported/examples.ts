/**
 * ParseExampleV2 and DecodeRaw: records as tensors. They run on the host.
 */
import type { DType, HostData } from "../../core/dtype.ts";
import { DTYPES } from "../../core/dtype.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { defineOp } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { isConcrete, type PartialShape, sizeOf } from "../../core/shape.ts";
import { decodeString } from "../../core/text.ts";
import { type Feature, readExample } from "../../kernels/host/example_message.ts";

type Values = Feature["values"];

const OP = { op: "ParseExampleV2" };

/** The values of a feature in an example; none where it is absent. */
function valuesOf(
  example: ReadonlyMap<string, Feature>,
  { key, dtype, row }: { readonly key: string; readonly dtype: DType; readonly row: string },
): Values | null {
  const feature = example.get(key);
  if (feature === undefined) return null;
  if (feature.kind === dtype) return feature.values;
  throw new InvalidArgumentError(
    `Name: ${row}, Feature: ${key}. Data types don't match. Expected type: ${dtype} but received ${feature.kind}`,
    OP,
  );
}

function arrayOf(dtype: DType, shape: readonly number[], values: readonly unknown[]): NdArray {
  if (dtype === "string") return new NdArray(dtype, shape, values as Uint8Array[]);
  const out = NdArray.zeros(dtype, shape);
  values.forEach((v, i) => (out.data as unknown[])[i] = v);
  return out;
}

const indexArray = (shape: readonly number[], values: readonly number[]): NdArray =>
  new NdArray("int64", shape, BigInt64Array.from(values, BigInt));

/** Coordinates, values and shape of a sparse feature. */
function sparseFeature(
  dtype: DType,
  rows: readonly (Values | null)[],
  isSingle: boolean,
): NdArray[] {
  const at = rows.flatMap((row, r) => (row ?? []).flatMap((_, k) => (isSingle ? [k] : [r, k])));
  const values = rows.flatMap((row) => [...row ?? []] as unknown[]);
  const most = rows.reduce((n, row) => Math.max(n, row?.length ?? 0), 0);
  return [
    indexArray([values.length, isSingle ? 1 : 2], at),
    arrayOf(dtype, [values.length], values),
    isSingle ? indexArray([1], [most]) : indexArray([2], [rows.length, most]),
  ];
}

/** Rows of a dense feature, those of variable length filled up. */
function denseFeature(
  { key, dtype, shape, fallback, batch, names }: {
    readonly key: string;
    readonly dtype: DType;
    readonly shape: PartialShape;
    readonly fallback: NdArray;
    /** Dimensions before the feature's own. */
    readonly batch: readonly number[];
    readonly names: (row: number) => string;
  },
  rows: readonly (Values | null)[],
): NdArray {
  if (shape === null) throw new InvalidArgumentError(`Feature ${key} has no shape`, OP);
  const isVariable = !isConcrete(shape);
  const inner = sizeOf(shape.slice(1) as number[]);
  const pad = fallback.size > 0
    ? fallback.data[0]
    : dtype === "string"
    ? new Uint8Array()
    : undefined;
  const most = rows.reduce((n, row) => Math.max(n, row?.length ?? 0), 0);
  const size = isVariable ? Math.ceil(most / inner) * inner : sizeOf(shape as number[]);
  const out = rows.flatMap((row, r): unknown[] => {
    if (row === null && !isVariable) {
      if (fallback.size === size) return [...fallback.data as Iterable<unknown>];
      throw new InvalidArgumentError(
        `Name: ${
          names(r)
        }, Feature: ${key} (data type: ${dtype}) is required but could not be found`,
        OP,
      );
    }
    const given = [...row ?? []] as unknown[];
    if (isVariable ? given.length % inner !== 0 : given.length !== size) {
      throw new InvalidArgumentError(
        `Name: ${
          names(r)
        }, Key: ${key}, Index: ${r}. Number of ${dtype} values != expected. Values size: ${given.length} but output shape: [${shape}]`,
        OP,
      );
    }
    const zero = DTYPES[dtype].array === BigInt64Array ? 0n : 0;
    return [...given, ...new Array<unknown>(size - given.length).fill(pad ?? zero)];
  });
  const dims = isVariable ? [size / inner, ...shape.slice(1) as number[]] : shape as number[];
  return arrayOf(dtype, [...batch, ...dims], out);
}

defineOp({
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
    const sparse = attrs.sparse_types as readonly DType[];
    const dense = attrs.dense_shapes as readonly PartialShape[];
    const ragged = attrs.ragged_value_types as readonly DType[];
    return [
      ...sparse.map((): PartialShape => [null, rank]),
      ...sparse.map((): PartialShape => [null]),
      ...sparse.map((): PartialShape => [rank]),
      ...dense.map((s): PartialShape => (batch === null || s === null ? null : [...batch, ...s])),
      ...ragged.map((): PartialShape => [null]),
      ...ragged.map((): PartialShape => [null]),
    ];
  },
  grad: null,
  cpu: ([serialized, names, sparseKeys, denseKeys, raggedKeys, ...defaults], _, { attrs }) => {
    if (serialized.rank > 1) {
      throw new InvalidArgumentError(
        `Expected serialized to be a scalar or vector, got shape: [${serialized.shape}]`,
        OP,
      );
    }
    const texts = (a: NdArray): string[] => (a.data as Uint8Array[]).map(decodeString);
    const records = serialized.data as Uint8Array[], rowNames = texts(names);
    const nameOf = (row: number): string => rowNames[row] ?? "<unknown>";
    const examples = records.map(readExample);
    const column = (key: string, dtype: DType): (Values | null)[] =>
      examples.map((example, row) => valuesOf(example, { key, dtype, row: nameOf(row) }));
    const isSingle = serialized.rank === 0;
    const sparseTypes = attrs.sparse_types as readonly DType[];
    const sparse = texts(sparseKeys).map((key, k) =>
      sparseFeature(sparseTypes[k], column(key, sparseTypes[k]), isSingle)
    );
    const types = attrs.Tdense as readonly DType[];
    const dense = texts(denseKeys).map((key, k) =>
      denseFeature({
        key,
        dtype: types[k],
        shape: (attrs.dense_shapes as readonly PartialShape[])[k],
        fallback: defaults[k],
        batch: serialized.shape,
        names: nameOf,
      }, column(key, types[k]))
    );
    const raggedTypes = attrs.ragged_value_types as readonly DType[];
    const ragged = texts(raggedKeys).map((key, k) => {
      const rows = column(key, raggedTypes[k]).map((row) => [...row ?? []] as unknown[]);
      const values = rows.flat();
      let end = 0;
      const ends = rows.map((row) => end += row.length);
      const splits = isSingle ? [] : [0, ...ends];
      const dtype = (attrs.ragged_split_types as readonly DType[])[k];
      return [
        arrayOf(raggedTypes[k], [values.length], values),
        dtype === "int64"
          ? indexArray([splits.length], splits)
          : new NdArray("int32", [splits.length], Int32Array.from(splits)),
      ];
    });
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

defineOp({
  name: "DecodeRaw",
  inputs: ["bytes: string"],
  outputs: ["output: out_type"],
  attrs: [
    "out_type: {float16, float32, float64, int32, uint16, uint8, int16, int8, int64, bool}",
    "little_endian: bool = true",
  ],
  infer: ([x]) => [x.shape === null ? null : [...x.shape, null]],
  grad: null,
  cpu: ([x], _, { attrs }) => {
    const dtype = attrs.out_type as DType, { bytes: width, array } = DTYPES[dtype];
    const texts = x.data as Uint8Array[], length = texts[0]?.length ?? 0;
    if (length % width !== 0 || texts.some((t) => t.length !== length)) {
      throw new InvalidArgumentError(
        `DecodeRaw requires input strings to all be the same size, a multiple of ${width} bytes: received ${
          texts.map((t) => t.length).slice(0, 5)
        }`,
        { op: "DecodeRaw" },
      );
    }
    const all = new Uint8Array(length * texts.length);
    texts.forEach((t, i) => all.set(t, i * length));
    if (!attrs.little_endian) {
      for (let i = 0; i < all.length; i += width) all.subarray(i, i + width).reverse();
    }
    const shape = [...x.shape, length / width];
    return [new NdArray(dtype, shape, new array!(all.buffer) as HostData)];
  },
});
