/** Crossed features that only files have: `SparseCrossHashed` and `RaggedCross`. On the host. */
import { NdArray } from "../../engine/core/nd_array.ts";
import { defineOp } from "../../engine/core/op.ts";
import { encodeString, joinBytes } from "../../engine/core/text.ts";
import { fingerprint64, sipHash } from "../../engine/kernels/host/text/string_hash.ts";
import { refuse, textsOf, wholeArray } from "../../engine/ops/host/arrays.ts";
import { hostInts } from "../../engine/ops/array/view.ts";
import {
  type Column,
  columnsOf,
  combined,
  crossed,
  featureOf,
  joined,
  LARGEST,
  textOf,
} from "../../engine/ops/host/cross_columns.ts";

/** Returns the bucket of a combination by its fingerprints. */
function bucketOf(fingerprints: readonly bigint[], buckets: bigint): bigint {
  return fingerprints.reduce(joined) % (buckets > 0n ? buckets : LARGEST);
}

const hashes = (values: readonly bigint[]): NdArray =>
  new NdArray("int64", [values.length], BigInt64Array.from(values));

defineOp({
  name: "SparseCrossHashed",
  inputs: [
    ...["indices: N * int64", "values: sparse_types", "shapes: N * int64"],
    ...["dense_inputs: dense_types", "num_buckets: int64", "strong_hash: bool", "salt: int64"],
  ],
  outputs: ["output_indices: int64", "output_values: int64", "output_shape: int64"],
  attrs: ["N: int >= 0", "sparse_types: list(type)", "dense_types: list(type)"],
  infer: () => [[null, 2], [null], [2]],
  grad: null,
  cpu: (inputs, _, { attrs }) => {
    const columns = columnsOf(inputs.slice(0, -3), attrs.sparse_types.length);
    const [count, isStrong, salt] = inputs.slice(-3);
    if (salt.size !== 2) refuse(`Salt must have 2 elements, received ${salt.size}`);
    const key = [0, 1].map((i) => BigInt.asUintN(64, salt.at(i) as bigint)) as [bigint, bigint];
    const hash = isStrong.at(0) ? (bytes: Uint8Array) => sipHash(bytes, key) : fingerprint64;
    // TensorFlow hashes the lower 4 bytes of whole numbers in sparse columns, and none of those in dense ones.
    const feature = (k: number, i: number): bigint => {
      const { values } = columns[k];
      if (values.dtype === "string") return hash(textsOf(values)[i]);
      const whole = featureOf(columns[k], i);
      return k < attrs.N ? hash(new Uint8Array(BigUint64Array.of(whole).buffer, 0, 4)) : whole;
    };
    const { indices, values, shape } = crossed(
      columns,
      (at) => bucketOf(at.map((i, k) => feature(k, i)), count.at(0) as bigint),
    );
    return [indices, hashes(values), shape];
  },
});

/** Columns of ragged tensors by their row splits. */
function raggedColumns(values: readonly NdArray[], splits: readonly NdArray[]): Column[] {
  return values.map((own, k): Column => {
    const ends = hostInts(splits[k]);
    if (ends[0] !== 0) refuse(`Invalid row_splits of ragged input ${k}: they must begin with 0`);
    if (ends.at(-1) !== own.size || ends.some((v, i) => v < (ends[i - 1] ?? 0))) {
      refuse(
        `Invalid row_splits of ragged input ${k}: they must rise up to the ${own.size} values, received [${ends}]`,
      );
    }
    const rows = ends.slice(1).map((end, i) =>
      Array.from({ length: end - ends[i] }, (_, j) => ends[i] + j)
    );
    return { rows, values: own };
  });
}

defineOp({
  name: "RaggedCross",
  inputs: [
    "ragged_values: ragged_values_types",
    "ragged_row_splits: ragged_splits_types",
    "sparse_indices: Nsparse * int64",
    "sparse_values: sparse_values_types",
    "sparse_shape: Nsparse * int64",
    "dense_inputs: dense_types",
  ],
  outputs: ["output_values: out_values_type", "output_row_splits: out_row_splits_type"],
  attrs: [
    "Nsparse: int >= 0",
    "input_order: string",
    "hashed_output: bool",
    "num_buckets: int >= 0",
    "hash_key: int",
    ...["ragged_values_types: list(type)", "ragged_splits_types: list(type)"],
    ...["sparse_values_types: list(type)", "dense_types: list(type)"],
    "out_values_type: {int64, string}",
    "out_row_splits_type: index",
  ],
  infer: ([first, ...others], { ragged_values_types: ragged, input_order: order }) => {
    const splits = ragged.length > 0 ? [first, ...others][ragged.length].shape : null;
    const dense = order.includes("D") ? others.at(-1)?.shape ?? first.shape : null;
    const rows = splits?.[0] ?? (dense?.[0] == null ? null : dense[0] + 1);
    return [[null], [rows]];
  },
  grad: null,
  cpu: (inputs, _, { attrs }) => {
    const { input_order: order, hash_key, num_buckets, out_row_splits_type: dtype } = attrs;
    const count = attrs.ragged_values_types.length;
    const ragged = raggedColumns(inputs.slice(0, count), inputs.slice(count, 2 * count));
    const others = columnsOf(inputs.slice(2 * count), attrs.Nsparse);
    const kinds: Record<string, Column[]> = {
      R: ragged,
      S: others.slice(0, attrs.Nsparse),
      D: others.slice(attrs.Nsparse),
    };
    const columns = [...order as string].map((kind) => kinds[kind]?.shift() as Column);
    if (columns.includes(undefined!) || Object.values(kinds).some((left) => left.length > 0)) {
      refuse(`Input order "${order}" does not name each input once`);
    }
    const height = columns[0]?.rows.length ?? 0;
    const odd = columns.find(({ rows }) => rows.length !== height);
    if (odd) {
      refuse(`Expected all inputs to have ${height} rows, received one with ${odd.rows.length}`);
    }
    const all = columns.length === 0
      ? []
      : Array.from({ length: height }, (_, row) => combined(columns, row));
    const ends = all.reduce<number[]>((sum, row) => [...sum, sum.at(-1)! + row.length], [0]);
    const key = BigInt.asUintN(64, BigInt(hash_key)), buckets = BigInt(num_buckets);
    const values = attrs.hashed_output
      ? hashes(
        all.flat().map((at) =>
          bucketOf([key, ...at.map((i, k) => featureOf(columns[k], i))], buckets)
        ),
      )
      : new NdArray(
        "string",
        [ends.at(-1)!],
        all.flat().map((at) => joinBytes(at.map((i, k) => textOf(columns[k], i)), SEPARATOR)),
      );
    return [values, wholeArray(dtype, ends)];
  },
});

/** The text between crossed values. */
const SEPARATOR = encodeString("_X_");
