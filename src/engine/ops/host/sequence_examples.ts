/** ParseSequenceExampleV2: converts records with feature lists to tensors, on the host. */
import { type DType, DTYPES, makeData } from "../../core/dtype.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { PartialShape } from "../../core/shape.ts";
import { shapeText, sizeOf } from "../../core/shape.ts";
import { decodeString } from "../../core/text.ts";
import { scanSequences, type Steps } from "../../kernels/host/text/sequence_message.ts";
import { refuse, textsOf, wholeArray } from "./arrays.ts";
import { ParseExampleV2 } from "./examples.ts";

/** A requested feature list of all records. */
interface List {
  readonly key: string;
  readonly dtype: DType;
  readonly steps: Steps;
  /** True for one record, whose results have no axis of records. */
  readonly isSingle: boolean;
  readonly names: readonly string[];
}

/** Throws `InvalidArgumentError` for a step whose values have another dtype. */
function check({ key, dtype, steps: { lengths, column }, names }: List): void {
  let at = 0;
  lengths.forEach((length, r) => {
    for (let t = 0; t < length; t++, at++) {
      const kind = column.kindOf(at);
      if (kind === null || kind === dtype) continue;
      refuse(
        `Name: ${
          names[r] ?? "<unknown>"
        }, Feature list: ${key}, Index: ${t}.  Data types don't match. Expected type: ${
          DTYPES[dtype].tfName
        }, Actual type: ${DTYPES[kind].tfName}`,
      );
    }
  });
}

const most = (values: Iterable<number>): number => {
  let found = 0;
  for (const v of values) if (v > found) found = v;
  return found;
};

/** Returns all values, step after step. */
function joined({ dtype, steps: { column } }: List): NdArray {
  const size = column.counts.reduce((a, b) => a + b, 0), out = makeData(dtype, size);
  column.copyTo(out);
  return new NdArray(dtype, [size], out);
}

/** Returns coordinates, values and shape of a sparse feature list. */
function sparse(list: List): NdArray[] {
  const { steps: { lengths, column }, isSingle } = list, at: number[] = [];
  let step = 0;
  lengths.forEach((length, r) => {
    for (let t = 0; t < length; t++, step++) {
      for (let k = 0; k < column.counts[step]; k++) isSingle ? at.push(t, k) : at.push(r, t, k);
    }
  });
  const values = joined(list), front = isSingle ? [] : [lengths.length];
  const rank = front.length + 2;
  return [
    wholeArray("int64", at, [values.size, rank]),
    values,
    wholeArray("int64", [...front, most(lengths), most(column.counts)]),
  ];
}

/** Returns steps of a known shape, padded with zeros to the most steps, and their numbers. */
function dense(list: List, shape: readonly number[], mayMiss: boolean): NdArray[] {
  const { key, dtype, steps: { lengths, column }, isSingle, names } = list, size = sizeOf(shape);
  const time = most(lengths), out = makeData(dtype, lengths.length * time * size);
  let step = 0;
  lengths.forEach((length, r) => {
    const name = `Name: ${names[r] ?? "<unknown>"}, `;
    if (length < 0 && !mayMiss) {
      refuse(
        `${name}Feature list '${key}' is required but could not be found.  Did you mean to include it in feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?`,
      );
    }
    for (let t = 0; t < length; t++, step++) {
      if (column.counts[step] === size) continue;
      refuse(
        `${name}Key: ${key}, Index: ${t}.  Number of ${
          DTYPES[dtype].tfName
        } values != expected.  values size: ${column.counts[step]} but output shape: ${
          shapeText(shape)
        }`,
      );
    }
  });
  const flat = joined(list).data as unknown[];
  step = 0;
  lengths.forEach((length, r) => {
    for (let i = 0; i < Math.max(0, length) * size; i++) {
      (out as unknown[])[r * time * size + i] = flat[step++];
    }
  });
  const front = isSingle ? [time] : [lengths.length, time];
  const counts = wholeArray("int64", lengths.map((n) => Math.max(0, n)), isSingle ? [] : undefined);
  return [new NdArray(dtype, [...front, ...shape], out), counts];
}

/** Returns values, and the splits of records and of steps; those of one record's steps alone. */
function ragged(list: List, dtype: "int32" | "int64"): NdArray[] {
  const splits = (counts: Iterable<number>): NdArray => {
    const all = [0];
    for (const n of counts) all.push(all.at(-1)! + Math.max(0, n));
    return wholeArray(dtype, all);
  };
  const { steps: { lengths, column }, isSingle } = list;
  const outer = isSingle ? wholeArray(dtype, []) : splits(lengths);
  return [joined(list), outer, splits(column.counts)];
}

const KEYS = [
  "context_sparse_keys",
  "context_dense_keys",
  "context_ragged_keys",
  "feature_list_sparse_keys",
  "feature_list_dense_keys",
  "feature_list_ragged_keys",
];

/** TensorFlow op `ParseSequenceExampleV2`: features of records, and those of their steps. */
export const ParseSequenceExampleV2: OpDef = defineOp({
  name: "ParseSequenceExampleV2",
  inputs: [
    "serialized: string",
    "debug_name: string",
    ...KEYS.map((key) => `${key}: string`),
    "feature_list_dense_missing_assumed_empty: bool",
    "context_dense_defaults: Tcontext_dense",
  ],
  outputs: [
    "context_sparse_indices: Ncontext_sparse * int64",
    "context_sparse_values: context_sparse_types",
    "context_sparse_shapes: Ncontext_sparse * int64",
    "context_dense_values: Tcontext_dense",
    "context_ragged_values: context_ragged_value_types",
    "context_ragged_row_splits: context_ragged_split_types",
    "feature_list_sparse_indices: Nfeature_list_sparse * int64",
    "feature_list_sparse_values: feature_list_sparse_types",
    "feature_list_sparse_shapes: Nfeature_list_sparse * int64",
    "feature_list_dense_values: feature_list_dense_types",
    "feature_list_dense_lengths: Nfeature_list_dense * int64",
    "feature_list_ragged_values: feature_list_ragged_value_types",
    "feature_list_ragged_outer_splits: feature_list_ragged_split_types",
    "feature_list_ragged_inner_splits: feature_list_ragged_split_types",
  ],
  attrs: [
    "Ncontext_sparse: int >= 0 = 0",
    "Tcontext_dense: list(type) = []",
    "context_sparse_types: list(type) = []",
    "context_ragged_value_types: list(type) = []",
    "context_ragged_split_types: list(type) = []",
    "context_dense_shapes: list(shape) = []",
    "Nfeature_list_sparse: int >= 0 = 0",
    "Nfeature_list_dense: int >= 0 = 0",
    "feature_list_dense_types: list(type) = []",
    "feature_list_sparse_types: list(type) = []",
    "feature_list_ragged_value_types: list(type) = []",
    "feature_list_ragged_split_types: list(type) = []",
    "feature_list_dense_shapes: list(shape) = []",
  ],
  infer: ([serialized], attrs) => {
    const batch = serialized.shape, rank = batch === null ? null : batch.length;
    const times = (list: readonly unknown[], shape: PartialShape) => list.map(() => shape);
    const more = (extra: PartialShape): PartialShape =>
      batch === null || extra === null ? null : [...batch, ...extra];
    const { context_sparse_types: few, feature_list_sparse_types: lists } = attrs;
    const { context_ragged_value_types: rows, feature_list_ragged_value_types: deep } = attrs;
    const shapes = attrs.feature_list_dense_shapes as readonly PartialShape[];
    return [
      ...times(few, [null, rank === null ? null : rank + 1]),
      ...times(few, [null]),
      ...times(few, [rank === null ? null : rank + 1]),
      ...(attrs.context_dense_shapes as readonly PartialShape[]).map(more),
      ...times(rows, [null]),
      ...times(rows, [null]),
      ...times(lists, [null, rank === null ? null : rank + 2]),
      ...times(lists, [null]),
      ...times(lists, [rank === null ? null : rank + 2]),
      ...shapes.map((s) => more(s && [null, ...s])),
      ...times(shapes, batch),
      ...times(deep, [null]),
      ...times(deep, [null]),
      ...times(deep, [null]),
    ];
  },
  grad: null,
  cpu: (inputs, outputs, problem) => {
    const [serialized, labels, sparseKeys, denseKeys, raggedKeys, ...rest] = inputs;
    const { attrs } = problem, texts = (a: NdArray) => textsOf(a).map(decodeString);
    if (serialized.rank > 1) {
      refuse(`Expected serialized to be a scalar or vector, got shape: [${serialized.shape}]`);
    }
    const context = ParseExampleV2.cpu!(
      [serialized, labels, sparseKeys, denseKeys, raggedKeys, ...rest.slice(4)],
      outputs,
      {
        ...problem,
        attrs: {
          num_sparse: attrs.Ncontext_sparse,
          sparse_types: attrs.context_sparse_types,
          Tdense: attrs.Tcontext_dense,
          dense_shapes: attrs.context_dense_shapes,
          ragged_value_types: attrs.context_ragged_value_types,
          ragged_split_types: attrs.context_ragged_split_types,
        },
      },
    ) as readonly NdArray[];
    const keys = rest.slice(0, 3).map(texts);
    const found = scanSequences(textsOf(serialized), keys.flat());
    const listed = (k: number, dtypes: readonly DType[]): List[] =>
      keys[k].map((key, i) => {
        const list = { key, dtype: dtypes[i], steps: found.get(key)!, names: texts(labels) };
        check({ ...list, isSingle: serialized.rank === 0 });
        return { ...list, isSingle: serialized.rank === 0 };
      });
    const few = listed(0, attrs.feature_list_sparse_types).map(sparse);
    const whole = listed(1, attrs.feature_list_dense_types).map((list, i) =>
      dense(list, attrs.feature_list_dense_shapes[i], Boolean(rest[3].at(i)))
    );
    const deep = listed(2, attrs.feature_list_ragged_value_types).map((list, i) =>
      ragged(list, attrs.feature_list_ragged_split_types[i])
    );
    const part = (all: readonly NdArray[][], i: number): NdArray[] => all.map((each) => each[i]);
    return [
      ...context,
      ...[0, 1, 2].flatMap((i) => part(few, i)),
      ...[0, 1].flatMap((i) => part(whole, i)),
      ...[0, 1, 2].flatMap((i) => part(deep, i)),
    ];
  },
});
